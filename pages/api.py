"""The reference of the code, from its docstrings: a page of Markdown for every public name.

griffe reads the sources, and imports nothing. What a docstring refers to (``:class:`~rothko.…```) becomes a link where
it has a place in the reference, and plain code where it is of no use to a reader who does not change the code.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import griffe

import rothko

SOURCE = Path(rothko.__file__).parent.parent
ROLE = re.compile(r":(?:mod|func|class|data|meth|attr|exc):`[~!]?([^`]+)`")
SHOWN = ("rothko.",)
"""Members that a class has from elsewhere (pydantic, scikit-learn) are told of there."""


def pages() -> dict[str, str]:
    """The name of each page below ``reference/api``, and its text; ``index.md`` lists them."""
    logging.getLogger("griffe").setLevel(logging.ERROR)  # it would have a type for words that ``**words`` takes
    package = griffe.load(
        "rothko", search_paths=[str(SOURCE)], docstring_parser="numpy", resolve_aliases=True, resolve_external=False
    )
    found = {name: _target(package[name]) for name in rothko.__all__}
    places = {path: place for name, one in found.items() for path, place in _places(name, one)}
    made = {f"{name}.md": _page(name, one, places) for name, one in found.items()}
    rows = [f"| [`{name}`]({name}.md) | {_first(one, places)} |" for name, one in found.items()]
    about = "Every public name with its parameters, from the docstrings. [Python](../python.md) has them with examples."
    made["index.md"] = "\n".join(["# API", "", about, "", "| name | |", "|---|---|", *rows, ""])
    return made


def _target(one: griffe.Object | griffe.Alias) -> griffe.Object:
    return one.final_target if isinstance(one, griffe.Alias) else one


def _inner(module: griffe.Object) -> Iterator[griffe.Object]:
    """What a public module offers: its ``__all__``, or the classes that are its own."""
    named = [str(name) for name in module.exports] if module.exports else []
    for name in named or [name for name, one in module.members.items() if one.kind is griffe.Kind.CLASS]:
        if name in module.members:
            one = _target(module.members[name])
            if one.kind in (griffe.Kind.CLASS, griffe.Kind.FUNCTION):
                yield one


def _members(cls: griffe.Object) -> Iterator[griffe.Object]:
    """The public methods and properties of a class with something to say, its own and those that it has from ours."""
    for name, one in {**cls.inherited_members, **cls.members}.items():
        if not name.startswith("_") and _target(one).path.startswith(SHOWN) and _target(one).docstring:
            yield _target(one)


def _places(page: str, one: griffe.Object) -> Iterator[tuple[str, str]]:
    """Where in the reference an object, and what is in it, stands."""
    yield one.path, f"{page}.md"
    if one.kind is griffe.Kind.MODULE:
        for inner in _inner(one):
            yield inner.path, f"{page}.md#{_anchor(inner.name)}"
    if one.kind is griffe.Kind.CLASS:
        for member in _members(one):
            called = member.kind is griffe.Kind.FUNCTION
            yield f"{one.path}.{member.name}", f"{page}.md#{_anchor(member.name)}" if called else f"{page}.md"


def _anchor(title: str) -> str:
    return title.lower()


def _page(name: str, one: griffe.Object, places: dict[str, str]) -> str:
    parts = [f"# {name}", *_told(one, places, f"rk.{name}", level=2)]
    if one.kind is griffe.Kind.MODULE:
        for inner in _inner(one):
            parts += [f"## {inner.name}", *_told(inner, places, f"rk.{name}.{inner.name}", level=3)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _told(one: griffe.Object, places: dict[str, str], call: str, *, level: int) -> Iterator[str]:
    """An object in Markdown: how it is called, what its docstring says, and what is in it."""
    if signature := _signature(one, call):
        yield f"```text\n{signature}\n```"
    if one.docstring:
        for section in one.docstring.parsed:
            yield _section(section, places)
    if one.kind is griffe.Kind.CLASS:
        members = list(_members(one))
        said = one.docstring.value if one.docstring and "\nAttributes\n" in one.docstring.value else ""
        held = [member for member in members if member.kind is griffe.Kind.ATTRIBUTE]
        rows = [(f"`{member.name}`", _text(member)) for member in held if f"\n{member.name}" not in said]
        yield _table("attributes" if not said else "also", rows, places)
        for member in members:
            if member.kind is griffe.Kind.FUNCTION:
                yield f"{'#' * level} {member.name}"
                yield from _told(member, places, f".{member.name}", level=level + 1)


def _text(one: griffe.Object) -> str:
    return one.docstring.value.partition("\n>>>")[0] if one.docstring else ""


def _signature(one: griffe.Object, call: str) -> str:
    """As it is called: on one line, or with a line for each parameter; nothing where nobody is to call it."""
    taken = [*(getattr(one, "parameters", None) or [])]
    if one.kind is griffe.Kind.MODULE or any(parameter.name.startswith("_") for parameter in taken):
        return ""
    if one.kind is griffe.Kind.CLASS and not taken:
        return ""
    parameters: list[str] = []
    starred = False
    for parameter in taken:
        if parameter.name in ("self", "cls"):
            continue
        kind = parameter.kind
        if kind is griffe.ParameterKind.keyword_only and not starred:
            parameters.append("*")
        starred = starred or kind in (griffe.ParameterKind.keyword_only, griffe.ParameterKind.var_positional)
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}.get(kind, "")
        text = f"{stars}{parameter.name}" + (f": {parameter.annotation}" if parameter.annotation else "")
        if parameter.default is not None and not stars:
            text += f" = {parameter.default}" if parameter.annotation else f"={parameter.default}"
        parameters.append(text)
    returns = getattr(one, "returns", None)
    end = f") -> {returns}" if returns is not None and one.kind is griffe.Kind.FUNCTION else ")"
    line = f"{call}({', '.join(parameters)}{end}"
    if len(line) <= 100:
        return line
    return "\n".join([f"{call}(", *(f"    {parameter}," for parameter in parameters), end])


def _section(section: griffe.DocstringSection, places: dict[str, str]) -> str:
    """A part of a docstring."""
    value = section.value
    if isinstance(section, griffe.DocstringSectionText):
        return _marked(value, places)
    if isinstance(section, griffe.DocstringSectionExamples):
        return "\n\n".join(
            f"```python\n{text}\n```" if kind is griffe.DocstringSectionKind.examples else _marked(text, places)
            for kind, text in value
        )
    if isinstance(section, griffe.DocstringSectionParameters | griffe.DocstringSectionAttributes):
        return _table(section.kind.value, [(f"`{one.name}`", one.description) for one in value], places)
    if isinstance(section, griffe.DocstringSectionRaises):
        return _table("raises", [(f"`{one.annotation}`", one.description) for one in value], places)
    if isinstance(section, griffe.DocstringSectionReturns | griffe.DocstringSectionYields):
        return "\n\n".join(f"Returns: {_marked(one.description, places)}" for one in value if one.description)
    raise TypeError(f"the reference has no form for {section.kind.value!r} of a docstring")


def _table(title: str, rows: Sequence[tuple[str, str]], places: dict[str, str]) -> str:
    """Names and what is said of them; those of which the same is said share a row."""
    if not rows:
        return ""
    cells = [
        f"| {', '.join(name for name, _ in group)} | {_cell(_marked(text, places))} |"
        for text, group in groupby(rows, key=lambda row: row[1])
    ]
    return "\n".join([f"| {title} | |", "|---|---|", *cells])


def _cell(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip()).replace("|", "\\|")


def _marked(text: str, places: dict[str, str]) -> str:
    """The roles of a docstring as links and code."""

    def told(role: re.Match[str]) -> str:
        name = role[1].rpartition(".")[2]
        place = places.get(role[1]) or next((at for path, at in places.items() if path.endswith(f".{role[1]}")), None)
        return f"[`{name}`]({place})" if place else f"`{name}`"

    text = ROLE.sub(told, text)
    text = re.sub(r"^::$", "", text, flags=re.MULTILINE).replace("::\n", ":\n")
    return re.sub(
        r"^>>> (?:.+\n?)+", lambda block: f"```python\n{block[0].strip()}\n```", text, flags=re.MULTILINE
    ).strip()


def _first(one: griffe.Object, places: dict[str, str]) -> str:
    """The first sentence of a docstring."""
    text = one.docstring.value if one.docstring else ""
    return _cell(_marked(text.partition("\n\n")[0], places))

"""Mistakes in what a person wrote: what is wrong, where, and what to write instead, as one sentence.

Whatever reads a parameter tells its mistakes with the path to it; a policy file adds the line. What to write is said in
the words of whoever asked: options on the command line, keywords in Python (:func:`said`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from rothko.errors import PolicyError, nearest

KeyPath = tuple[str | int, ...]
"""Keys and list positions from the root of a document to one entry."""


class Text(Protocol):
    """What was written, as far as it is needed to tell a line of it."""

    @property
    def where(self) -> str:
        """What the text is called in messages."""
        ...

    def line(self, path: KeyPath) -> int:
        """The line of an entry, or of the nearest one around it."""
        ...


class Mistake(NamedTuple):
    """One thing that is wrong, and where.

    Attributes
    ----------
    path
        The entry that the message is about.
    message
        What is wrong and what to write instead.
    key
        A key below `path` that the message names itself; only the line is taken from it.
    """

    path: KeyPath
    message: str
    key: str | None = None


class MistakeError(PolicyError, ValueError):
    """Mistakes in a part of a policy; also a ValueError, so that pydantic carries them up to the whole."""

    def __init__(
        self, message: str = "", *, at: KeyPath = (), key: str | None = None, mistakes: Sequence[Mistake] = ()
    ) -> None:
        self.mistakes = tuple(mistakes) or (Mistake(at, message, key),)
        super().__init__(sentence(self.mistakes))


def sentence(mistakes: Sequence[Mistake], document: Text | None = None) -> str:
    """Tell the first mistake, with its line where there is a document, and how many more there are.

    >>> sentence([Mistake(("privacy", 0, "k-anonymity"), "k is missing"), Mistake((), "no columns")])
    'privacy[0].k-anonymity: k is missing (and 1 more mistake)'
    """
    place = []
    first = mistakes[0]
    if document is not None:
        lines = {m: document.line(m.path if m.key is None else (*m.path, m.key)) for m in mistakes}
        # What is missing has no line of its own; a wrong key further down is often the reason.
        first = min(mistakes, key=lambda m: ("is missing" in m.message and not m.path, lines[m]))
        place = [document.where, f"line {lines[first]}"]
    if first.path:
        place.append(_dotted(first.path))
    more = len(mistakes) - 1
    rest = f" (and {more} more mistake{'s' if more > 1 else ''})" if more else ""
    return (f"{', '.join(place)}: " if place else "") + first.message + rest


def hint(name: object, known: Iterable[str]) -> str:
    """End a message about an unknown name as :func:`~rothko.errors.nearest` does; a beginning counts as near.

    >>> hint("quasi", ["identifier", "quasi-identifier"])
    "did you mean 'quasi-identifier'?"
    """
    names = list(known)
    begun = [candidate for candidate in names if candidate.startswith(str(name))] if name else []
    return nearest(begun[0] if len(begun) == 1 else str(name), names)


def some_of(names: Sequence[str], most: int = 8) -> str:
    """Names of columns, as many as a sentence takes.

    >>> some_of(["age", "sex"]), some_of(["a", "b", "c"], most=2)
    ("'age', 'sex'", "'a', 'b' and 1 more")
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


OF_FILES = ("delimiter", "quote", "encoding", "header", "decimal", "thousands", "sheet", "input_format")
"""Options that say how a file is written."""
_IN_PYTHON = {
    **{f"--{name.replace('_', '-')}": f"csv=CsvOptions({name.removeprefix('input_')}={{}})" for name in OF_FILES},
    "--show-values": "`values` of this error",
    "--force": "method={{'topdown': {{'force': {}}}}}",
}
"""Options that are not simply a keyword of the same name."""
_options = False
"""Whether this process speaks of options: it was started from the command line."""
_fields: Mapping[str, str] | None = None
"""Option → what its field in a page is called, where this process speaks to somebody who looks at pages."""


@contextmanager
def speaking_of_options() -> Iterator[None]:
    """Say what to write as options of the command line, not as keywords of Python."""
    global _options  # not of a context: the threads of a run speak as it does
    before, _options = _options, True
    try:
        yield
    finally:
        _options = before


@contextmanager
def speaking_of_fields(fields: Mapping[str, str]) -> Iterator[None]:
    """Say what to write as fields of a page; what has none is said to be an option of the command line."""
    global _fields
    before, _fields = _fields, fields
    try:
        yield
    finally:
        _fields = before


def said(option: str, value: object = None, *, within: str = "") -> str:
    """How a person gives an option: as such on the command line, as a keyword in Python, as a field of a page.

    Parameters
    ----------
    option
        Its name on the command line.
    value
        What to give; True and False switch it on and off, None leaves the value open.
    within
        The keyword and the class that has it in Python, where it is not simply a keyword.

    Examples
    --------
    >>> said("--spill-dir"), said("--keep", ["age", "sex"]), said("--header", False)
    ('spill_dir=…', "keep=['age', 'sex']", 'csv=CsvOptions(header=False)')
    >>> with speaking_of_options():
    ...     said("--spill-dir"), said("--keep", ["age", "sex"]), said("--header", False)
    ('--spill-dir', '--keep age,sex', '--no-header')
    >>> with speaking_of_fields({"--encoding": "Encoding"}):
    ...     said("--encoding", "latin-1"), said("--show-values")
    ('“Encoding”: latin-1', '--show-values on the command line')
    """
    if _fields is not None and option in _fields:
        shown = {None: "", True: ": yes", False: ": no"}.get(value) if isinstance(value, bool | None) else f": {value}"
        return f"“{_fields[option]}”{shown}"
    if _fields is not None:
        return f"{option} on the command line"
    if _options:
        if value is None or value is True:
            return option
        if value is False:
            return f"--no-{option.removeprefix('--')}"
        text = ",".join(value) if isinstance(value, list) else str(value)
        return f"{option} {shlex.quote(text)}"
    keyword = option.removeprefix("--").replace("-", "_")
    form = f"{within}({keyword}={{}})" if within else _IN_PYTHON.get(option, f"{keyword}={{}}")
    return form.format("…" if value is None else repr(value))


def said_together(options: Mapping[str, object]) -> str:
    """How a person gives several options at once."""
    return (" " if _options else ", ").join(said(option, value) for option, value in options.items())


def show(value: object) -> str:
    """Show a value of the policy in a message, as YAML would have it and no longer than a glance.

    >>> show("quasi"), show(None), show([1, 2])
    ("'quasi'", 'null', 'a list')
    """
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _dotted(path: KeyPath) -> str:
    """Write a path as ``columns.age.role``, with the names that need it in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += "." * bool(text) + (step if re.fullmatch(r"[\w-]+", step) else repr(step))
    return text

"""What can be said of a requirement: its numbers, of what and over what it is asked, and groups of sensitive values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, get_args

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.spec import HierarchySpec
from rothko.errors import InputError
from rothko.privacy import KAnonymity, PAlpha, Requirement, TCloseness
from rothko.privacy.closeness import Distance
from rothko.report.page import Html, text
from rothko.report.sentences import listed
from rothko.studio.desk import Desk, Fact
from rothko.studio.jobs.trees import Values
from rothko.studio.markup import button, chosen, element, field, form, hidden, part, problem, waiting
from rothko.studio.views.view import Given

SLIDERS: dict[str, tuple[float, float, float]] = {
    "k": (2, 100, 1),
    "l": (2, 20, 1),
    "p": (2, 20, 1),
    "c": (0.5, 10, 0.5),
    "t": (0.01, 1, 0.01),
    "alpha": (0.01, 1, 0.01),
}
"""Parameter → from where to where it is slid, and in which steps; beyond that it is written."""
FIRST = {"k": 10, "l": 3, "p": 3, "c": 3, "t": 0.2, "alpha": 0.5, "v": 1.0, "error": 1.0}
"""Number → what is asked for where a requirement is added."""
LETTERS = {
    "k": "k: records of a class",
    "l": "l: values",
    "p": "p: values",
    "c": "c: how much more frequent",
    "t": "t: distance",
    "alpha": "alpha: share of a class",
    "v": "v: variance",
    "error": "error: squared error",
}
"""Number → what it is of."""
DISTANCES = {
    "equal": "all values are as far apart",
    "ordered": "values lie in their order",
    "hierarchy": "values of one group are nearer",
}
"""Distance of t-closeness → what it means."""
MANY = 40
"""Quasi-identifiers that are ticked one by one; of more, names are written."""


def letters(one: Requirement | type[Requirement]) -> list[str]:
    """The numbers of a requirement."""
    known = {field.name for field in fields(one)}
    return [name for name in LETTERS if name in known]


def needs_column(kind: type[Requirement]) -> bool:
    """Whether it is asked of a sensitive column."""
    return any(field.name == "of" for field in fields(kind)) and kind is not KAnonymity


def begun(kind: type[Requirement], of: str, over: tuple[str, ...] | None, values: Sequence[str]) -> Requirement:
    """A requirement as it is first asked for.

    Parameters
    ----------
    values
        Those of the sensitive column; each is a group of its own until somebody says more.
    """
    given: dict[str, Any] = {letter: FIRST[letter] for letter in letters(kind)}
    if needs_column(kind):
        given["of"] = of
    if kind is PAlpha:
        given["categories"] = {value: value for value in values}
    return kind(**given, over=over)


# ── numbers and choices ──────────────────────────────────────────────────────────────────────────


def controls(desk: Desk, at: int, one: Requirement) -> list[Html]:
    """Sliders, and what is chosen from a list."""
    found = [_slider(desk, at, one, name) for name in letters(one)]
    if isinstance(one, KAnonymity) and (desk.policy.identifiers or one.of):
        owners = [("", "records"), *((name, f"people, told apart by {name}") for name in desk.policy.identifiers)]
        found.append(chosen("of", owners, one.of or "", label="k is a number of", shown=True, id_=f"of-{at}"))
    if isinstance(one, TCloseness):
        found.append(
            chosen(
                "distance",
                [(name, DISTANCES[name]) for name in get_args(Distance)],
                one.distance,
                label="How far apart values are",
                shown=True,
                id_=f"distance-{at}",
            )
        )
    return found


def _slider(desk: Desk, at: int, one: Requirement, name: str) -> Html:
    value = getattr(one, name)
    label = "p: categories" if isinstance(one, PAlpha) else LETTERS[name]
    if name not in SLIDERS:
        return field(name, f"{value:g}", label=label, kind="number", step="any", min=0, id=f"{name}-{at}")
    low, high, step = SLIDERS[name]
    if name == "k":
        high = max(min(high, desk.seen.draft.rows), 2)
    low, high = min(low, value), max(high, value)
    written = element(
        "input",
        type="number",
        name=name,
        value=f"{value:.12g}",
        min=low,
        step="any" if step < 1 else step,
        aria_label=label,
        data_with=f"{name}-{at}-range",
        id=f"{name}-{at}",
    )
    slid = element(
        "input",
        type="range",
        value=f"{value:.12g}",
        min=low,
        max=high,
        step=step,
        aria_label=f"{label}, slid",
        data_with=f"{name}-{at}",
        id=f"{name}-{at}-range",
    )
    return element("div", element("span", label), slid, written, class_="slider")


def changes(one: Requirement, given: Given, values: Sequence[str]) -> dict[str, Any]:
    """What a form says of a requirement."""
    told: dict[str, Any] = {name: given.number(name) for name in letters(one) if given.get(name)}
    if isinstance(one, KAnonymity) and "of" in given:
        told["of"] = given.one("of") or None
    if isinstance(one, TCloseness) and "distance" in given:
        told["distance"] = given.one("distance")
        if told["distance"] != "hierarchy":
            told["hierarchy"] = None
        elif one.hierarchy is None:
            told["hierarchy"] = _tree(Hierarchy.flat(list(values)))
    return told


def wants_values(one: Requirement, given: Given) -> bool:
    """Whether what a form says needs the values of the sensitive column."""
    return isinstance(one, TCloseness) and given.one("distance") == "hierarchy" and one.hierarchy is None


# ── over which quasi-identifiers ─────────────────────────────────────────────────────────────────


def over_of(desk: Desk, at: int, one: Requirement) -> Html:
    """Over what it is asked, to be changed."""
    words = "all quasi-identifiers" if one.over is None else listed(one.over)
    return element(
        "details",
        element("summary", f"Over {words} together"),
        form(
            "requirements/over",
            hidden(at=at, name=one.name),
            over_boxes(desk, one.over),
            button("Set", kind="small"),
            class_="over",
        ),
        id=f"over-{at}",
    )


def over_boxes(desk: Desk, over: tuple[str, ...] | None) -> Html:
    """Quasi-identifiers, of which some are chosen."""
    names = desk.policy.quasi_identifiers
    if len(names) > MANY:
        written = "" if over is None else ", ".join(over)
        return field("over", written, label="Over, with commas between names", placeholder="all of them")
    boxes = [
        element(
            "label",
            element("input", type="checkbox", name="over", value=name, checked=over is not None and name in over),
            name,
            class_="box",
        )
        for name in names
    ]
    return element("fieldset", element("legend", "Over these together; all where none is chosen"), *boxes)


def over_in(desk: Desk, given: Given) -> tuple[str, ...] | None:
    """Over what a form says it is asked."""
    names = desk.policy.quasi_identifiers
    said = given.many("over")
    if len(names) > MANY:
        said = [word.strip() for one in said for word in one.split(",") if word.strip()]
    if unknown := [name for name in said if name not in names]:
        raise InputError(f"{unknown[0]!r} is no quasi-identifier; a requirement is asked over these alone.")
    found = tuple(name for name in names if name in said)
    return found if found and len(found) < len(names) else None


# ── groups of sensitive values ───────────────────────────────────────────────────────────────────


def groups(one: Requirement) -> Mapping[str, str] | None:
    """Value → its group, where a requirement has groups; deeper trees by what stands below their root."""
    if isinstance(one, PAlpha):
        return one.categories
    if isinstance(one, TCloseness) and one.hierarchy is not None and one.hierarchy.kind == "tree":
        rows = Hierarchy.from_nested(one.hierarchy.nested).to_rows()
        return {row[0]: row[-2] if len(row) > 2 else "" for row in rows}
    return None


def groups_of(desk: Desk, at: int, one: Requirement) -> Html | None:
    """Sensitive values with the group of each, to be changed."""
    now = groups(one)
    if now is None:
        return None
    word, count = _word(one), len({group for group in now.values() if group})
    return element(
        "details",
        element("summary", f"{len(now):,} values in {count:,} {word if count == 1 else _plural(word)}"),
        editor(desk, at),
        element(
            "label",
            element("input", type="file", data_drop=f"groups:{at}", accept=".csv,.yaml,.yml", class_="file"),
            element("b", "Import"),
            element("span", f" a file: value;{word};* or a tree in YAML", class_="faint"),
            class_="drop small",
            data_drop=f"groups:{at}",
        ),
        id=f"groups-of-{at}",
    )


def _word(one: Requirement) -> str:
    return "category" if isinstance(one, PAlpha) else "group"


def editor(desk: Desk, at: int) -> Html:
    """The values of a sensitive column with the group of each."""
    name = f"groups-{at}"
    one = desk.policy.privacy[at] if at < len(desk.policy.privacy) else None
    now = None if one is None else groups(one)
    if one is None or now is None:  # changed in another tab
        return part(name)
    if _is_deep(one):
        return part(name, text("Groups stand in groups here: import another file to change them.", faint=True))
    also = _values_name(desk, str(one.column))
    fact = values_fact(desk, str(one.column))
    if fact.error:
        return part(name, problem(fact.error), data_also=also)
    if not fact.fresh:
        return part(name, waiting("Reading the values."), data_also=also)
    if fact.value.distinct > len(fact.value.values):
        told = f"{one.column} has {fact.value.distinct:,} values, too many to write each {_word(one)}: import a file."
        return part(name, text(told), data_also=also)
    return part(name, _editor(at, one, now, fact.value), data_also=also)


def _is_deep(one: Requirement) -> bool:
    return (
        isinstance(one, TCloseness)
        and one.hierarchy is not None
        and max(map(len, Hierarchy.from_nested(one.hierarchy.nested).to_rows())) > 3
    )


def _editor(at: int, one: Requirement, now: Mapping[str, str], seen: Values) -> Html:
    word = _word(one)
    names = sorted({group for group in now.values() if group})
    rows = [
        element(
            "tr",
            element("th", value, hidden(value=value), scope="row"),
            element("td", f"{count:,}", class_="n"),
            element(
                "td",
                field(
                    "group",
                    now.get(value, ""),
                    label=f"{word} of {value}",
                    shown=False,
                    list=f"names-{at}",
                    size=14,
                    id=f"group-{at}-{row}",
                ),
            ),
        )
        for row, (value, count) in enumerate(zip(seen.values, seen.counts, strict=True))
    ]
    head = element(
        "tr",
        element("th", "value", scope="col"),
        element("th", "records", scope="col", class_="n"),
        element("th", word, scope="col"),
    )
    label = f"Values of {one.column}, for {one.name}"
    table = element("table", element("thead", head), element("tbody", *rows), aria_label=label)
    return form(
        "requirements/groups",
        hidden(at=at, name=one.name),
        element("datalist", *(element("option", value=name) for name in names[:100]), id=f"names-{at}"),
        element("div", table, class_="scroll tall", tabindex="0", role="region", aria_label=label),
        button(f"Set the {_plural(word)}", kind="small"),
    )


def _plural(word: str) -> str:
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def values_fact(desk: Desk, column: str) -> Fact:
    """The values of a sensitive column, as far as they are known."""
    about = desk.policy.columns[column]
    key = (desk.table, column, str(about.type), about.fold, desk.policy.missing, repr(desk.policy.input))
    return desk.fact(_values_name(desk, column), "values", key, lane="slow", **asks_values(desk, column))


def _values_name(desk: Desk, column: str) -> str:
    return f"values-{list(desk.policy.columns).index(column)}"


def asks_values(desk: Desk, column: str) -> dict[str, Any]:
    """What the job takes that finds the values of a column."""
    assert desk.table is not None
    return {"data": desk.table.data, "policy": desk.policy, "column": column, "csv": desk.table.csv}


def grouped(one: Requirement, said: Mapping[str, str]) -> dict[str, Any]:
    """A requirement's groups as a form says them; a value that has none is a group of its own."""
    if isinstance(one, PAlpha):
        return {"categories": {value: group or value for value, group in said.items()}}
    below: dict[str, list[str]] = {}
    for value, group in said.items():
        below.setdefault(group, []).append(value)
    alone = below.pop("", [])
    return {"hierarchy": _tree(Hierarchy.from_nested([*({name: some} for name, some in below.items()), *alone]))}


def grouped_by(one: Requirement, tree: Hierarchy) -> dict[str, Any]:
    """A requirement's groups from a file: a tree, of whose topmost labels categories are made."""
    if isinstance(one, PAlpha):
        return {"categories": {row[0]: row[-2] for row in tree.to_rows()}}
    return {"hierarchy": _tree(tree), "distance": "hierarchy"}


def _tree(tree: Hierarchy) -> HierarchySpec:
    return HierarchySpec.of({"tree": tree.to_nested()})

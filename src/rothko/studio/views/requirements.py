"""Requirements: what every class must hold, in sentences with sliders, and what the table holds of it as it is."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from rothko.data.schema import Role
from rothko.errors import InputError
from rothko.privacy import REQUIREMENTS
from rothko.report.page import Html, text
from rothko.report.sentences import asked
from rothko.studio.desk import Desk
from rothko.studio.markup import act, button, chosen, element, field, form, hidden, joined, part, problem, waiting
from rothko.studio.views.view import Fragments, Given, View

SLIDERS: dict[str, tuple[float, float, float]] = {
    "k": (2, 100, 1),
    "l": (2, 20, 1),
    "p": (2, 20, 1),
    "c": (0.5, 10, 0.5),
    "t": (0.01, 1, 0.01),
    "alpha": (0.01, 1, 0.01),
}
"""Parameter → from where to where it is slid, and in which steps; beyond that it is written."""
PROTECTS = {
    "k-anonymity": "Against being found: whoever knows somebody's quasi-identifiers finds a class of at least k "
    "records, not one.",
    "distinct-l-diversity": "Against learning a sensitive value without finding the record, where a whole class "
    "shares it.",
    "entropy-l-diversity": "Against guessing a sensitive value, where some values of a class are far more "
    "frequent than others.",
    "recursive-l-diversity": "Against guessing a sensitive value, even when some others can be ruled out.",
    "frequency-l-diversity": "Against guessing a sensitive value: the best guess is right in at most 1 of l cases.",
    "alpha-k": "Against being found, and against one value filling a class.",
    "p-sensitive": "Against being found, and against classes that share one value.",
    "p-alpha": "Against learning the kind of a value, where different values mean the same.",
    "t-closeness": "Against learning anything new about the people of a class beside what is true of the whole table.",
    "variance-diversity": "Against learning a number closely, where different numbers lie near each other.",
    "squared-error-diversity": "Against learning a number closely, counted over all records of a class.",
}
"""Requirement → what it protects from."""
FIRST = {"k": 10, "l": 3, "p": 3, "c": 3, "t": 0.2, "alpha": 0.5, "v": 1.0, "error": 1.0}
"""What is asked for where one is added."""
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


def body(desk: Desk) -> Html:
    """The view."""
    cards = [_card(desk, at, one) for at, one in enumerate(desk.policy.privacy)]
    return joined(
        [
            element("h1", "Requirements"),
            element(
                "p",
                "Every class of the release must hold all of these. They are computed again from the bytes that "
                "are released.",
                class_="lead",
            ),
            element("div", *cards, id="cards", class_="cards"),
            _add(desk),
            _unprotected(desk),
            _suppression(desk),
            element("p", element("a", "Next: what the release is for", href="/purpose", class_="go")),
        ]
    )


def _card(desk: Desk, at: int, one: Any) -> Html:
    sliders = [_slider(desk, at, one, name) for name in _letters(one)]
    column = one.owner or one.column
    about = element("span", f"of {column}", class_="tag") if column else None
    return element(
        "section",
        element("h2", one.name, " ", about),
        element("p", asked(one), class_="sentence"),
        form("requirements/set", hidden(at=at, name=one.name), *sliders, live=True, class_="sliders", id=f"asked-{at}"),
        element("p", PROTECTS[one.name], class_="faint"),
        _over(desk, at, one),
        satisfied(desk, at),
        act(
            "requirements/remove",
            "Remove",
            about=f"Remove {one.describe()}",
            kind="small",
            values={"at": at, "name": one.name},
        )
        if len(desk.policy.privacy) > 1
        else None,
        class_="card",
        aria_label=one.describe(),
    )


def _letters(one: Any) -> list[str]:
    return [name for name in LETTERS if hasattr(one, name)]


def _slider(desk: Desk, at: int, one: Any, name: str) -> Html:
    value = getattr(one, name)
    label = LETTERS[name]
    if name not in SLIDERS:
        return field(name, f"{value:g}", label=label, kind="number", step="any", min=0, id=f"{name}-{at}")
    low, high, step = SLIDERS[name]
    rows = desk.seen.draft.rows
    if name == "k":
        high = max(min(high, rows), value, 2)
    high = max(high, value)
    written = element(
        "input",
        type="number",
        name=name,
        value=f"{value:g}",
        min=low,
        step="any" if step < 1 else step,
        aria_label=label,
        data_with=f"{name}-{at}-range",
        id=f"{name}-{at}",
    )
    slid = element(
        "input",
        type="range",
        value=f"{value:g}",
        min=low,
        max=high,
        step=step,
        aria_label=f"{label}, slid",
        data_with=f"{name}-{at}",
        id=f"{name}-{at}-range",
    )
    return element("div", element("span", label), slid, written, class_="slider")


def _over(desk: Desk, at: int, one: Any) -> Html | None:
    if one.over is None:
        return None
    return element("p", f"Asked of {', '.join(one.over)} together.", class_="faint")


def satisfied(desk: Desk, at: int) -> Html:
    """What the table holds of a requirement, as it is."""
    assert desk.table is not None
    name = f"satisfied-{at}"
    also = {"data_also": "satisfies"}
    if not desk.seen.exact:
        return part(name, waiting("All records are being read."), **also)
    fact = desk.fact(
        "satisfies",
        "satisfies",
        (desk.table, desk.policy.digest),
        lane="slow",
        data=desk.table.data,
        policy=desk.policy,
        csv=desk.table.csv,
    )
    if fact.error:
        return part(name, problem(fact.error), **also)
    if not fact.fresh:
        return part(name, waiting("Asking the table as it is."), **also)
    wanted = desk.policy.privacy[at]
    found = [
        one for one in fact.value if one.requirement.name == wanted.name and one.requirement.column == wanted.column
    ]
    if not found:
        found = list(fact.value[at : at + 1])
    lines = []
    for one in found[:1]:
        if one.holds:
            lines.append(
                element(
                    "p", element("b", "Holds already. ", class_="yes"), f"As it is, the table reaches {one.achieved:g}."
                )
            )
        else:
            lines.append(
                element(
                    "p",
                    element("b", "Does not hold yet. ", class_="no"),
                    f"As it is, the table reaches {one.achieved:g} of {one.asked:g}: {one.violating_records:,} "
                    f"records in "
                    f"{one.violating_classes:,} classes fall short.",
                )
            )
    return part(name, *lines, **also)


def _add(desk: Desk) -> Html:
    kinds = [(name, name) for name in REQUIREMENTS if name not in ("p-alpha",)]
    sensitive = [(name, name) for name in desk.policy.sensitive]
    of = chosen("of", sensitive, None, label="of", shown=True) if sensitive else hidden(of="")
    return element(
        "section",
        element("h2", "Ask for more"),
        form(
            "requirements/add",
            chosen(
                "name", kinds, "distinct-l-diversity" if sensitive else "k-anonymity", label="Requirement", shown=True
            ),
            of,
            button("Add"),
            class_="row",
        ),
        None if sensitive else text("No column is sensitive, so all that can be asked for is k-anonymity.", faint=True),
    )


def _unprotected(desk: Desk) -> Html | None:
    """Sensitive columns that nothing is asked of."""
    left = [name for name in desk.policy.sensitive if all(one.column != name for one in desk.policy.privacy)]
    if not left:
        return None
    lines = [
        element(
            "li",
            f"Nothing is asked of {name}: all records of a class may have the same value. ",
            act(
                "requirements/add",
                "Ask for 3 different values",
                kind="small",
                values={"name": "distinct-l-diversity", "of": name},
            ),
        )
        for name in left
    ]
    return element("section", element("ul", *lines, class_="plain"), class_="note")


def _suppression(desk: Desk) -> Html:
    now = desk.policy.suppress
    records = "" if now is None else f"{now.records:g}"
    becomes = "star" if now is None else now.becomes
    return element(
        "section",
        element("h2", "Suppression"),
        text(
            "Some records are hard to put with others. If a few of them may show nothing, all others lose less.",
            faint=True,
        ),
        form(
            "requirements/suppress",
            field(
                "records",
                records,
                label="Records that may be suppressed, a share or a number",
                placeholder="none",
                size=8,
            ),
            chosen(
                "becomes",
                [("star", "they show *"), ("left-out", "they are left out")],
                becomes,
                label="What becomes of them",
                shown=True,
            ),
            button("Set"),
            class_="row",
        ),
    )


def change(desk: Desk, given: Given) -> Fragments:
    """Another number of a requirement."""
    at, before = _asked(desk, given)
    letters = {name: given.number(name) for name in _letters(before) if given.get(name)}
    changed = replace(before, **letters)
    _put(desk, at, changed, changed.describe())
    return [_card_again(desk, at)]


def _card_again(desk: Desk, at: int) -> Html:
    return element(
        "div", *(_card(desk, i, one) for i, one in enumerate(desk.policy.privacy)), id="cards", class_="cards"
    )


def _asked(desk: Desk, given: Given) -> tuple[int, Any]:
    """The requirement that a form is about; another tab may have changed them since."""
    at, name = given.whole("at", least=0), given.one("name")
    if at >= len(desk.policy.privacy) or desk.policy.privacy[at].name != name:
        raise InputError("The requirements have changed since this page was made; look at them again.")
    return at, desk.policy.privacy[at]


def _put(desk: Desk, at: int, changed: Any, done: str) -> None:
    privacy = list(desk.policy.privacy)
    privacy[at] = changed
    desk.edit(desk.policy.but(privacy=tuple(privacy)), done)


def add(desk: Desk, given: Given) -> Fragments:
    """Ask for one more."""
    name, of = given.one("name"), given.one("of")
    if name not in REQUIREMENTS:
        raise InputError(f"{name!r} is no requirement; there are {', '.join(REQUIREMENTS)}.")
    known = {one.name for one in fields(REQUIREMENTS[name])}
    values: dict[str, Any] = {letter: value for letter, value in FIRST.items() if letter in known}
    if name != "k-anonymity":
        if of not in desk.policy.columns or desk.policy.columns[of].role is not Role.SENSITIVE:
            raise InputError(f"{name} is asked of a sensitive column; give the role to one first.")
        values["of"] = of
    made = REQUIREMENTS[name](**values)
    if any(one.name == name and one.column == made.column for one in desk.policy.privacy):
        raise InputError(f"{made.name}{f' of {of}' if made.column else ''} is asked for already; change its numbers.")
    desk.edit(desk.policy.but(privacy=(*desk.policy.privacy, made)), f"ask for {made.describe()}")
    return None


def remove(desk: Desk, given: Given) -> Fragments:
    """Ask for one less."""
    at, gone = _asked(desk, given)
    left = tuple(one for i, one in enumerate(desk.policy.privacy) if i != at)
    desk.edit(desk.policy.but(privacy=left), f"no {gone.describe()}")
    return None


def suppress(desk: Desk, given: Given) -> Fragments:
    """How many records may be suppressed."""
    if not given.one("records"):
        desk.edit(desk.policy.but(suppress=None), "no suppression")
        return None
    asked_for = {"records": given.number("records"), "as": given.one("becomes", "star")}
    desk.edit(desk.policy.but(suppress=asked_for), "suppression")
    return None


VIEW = View(
    "requirements",
    "Requirements",
    body,
    actions={"set": change, "add": add, "remove": remove, "suppress": suppress},
    parts={f"satisfied-{at}": lambda desk, at=at: satisfied(desk, at) for at in range(20)},  # type: ignore[misc]
)

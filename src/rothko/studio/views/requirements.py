"""Requirements: what every class must hold, in sentences with sliders, and what the table holds of it as it is."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from rothko.errors import InputError, RothkoError
from rothko.policy.decided import method_for
from rothko.policy.hierarchy_file import read_hierarchy
from rothko.privacy import REQUIREMENTS, PAlpha, Requirement
from rothko.report.page import Html, text
from rothko.report.sentences import asked
from rothko.studio.desk import Desk
from rothko.studio.markup import act, button, chosen, element, field, form, hidden, joined, part, problem, waiting
from rothko.studio.views import parameters
from rothko.studio.views.view import Fragments, Given, View

MOST = 200
"""Requirements whose cards are made anew when something was found."""
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


def body(desk: Desk) -> Html:
    """The view."""
    return joined(
        [
            element("h1", "Requirements"),
            element(
                "p",
                "Every class of the release must hold all of these. They are computed again from the bytes that "
                "are released.",
                class_="lead",
            ),
            cards(desk),
            _add(desk),
            _unprotected(desk),
            _suppression(desk),
            element("p", element("a", "Next: what the release is for", href="/purpose", class_="go")),
        ]
    )


def _card(desk: Desk, at: int, one: Requirement) -> Html:
    column = one.owner or one.column
    about = element("span", f"of {column}", class_="tag") if column else None
    return element(
        "section",
        element("h2", one.name, " ", about),
        element("p", asked(one), class_="sentence"),
        form(
            "requirements/set",
            hidden(at=at, name=one.name),
            *parameters.controls(desk, at, one),
            live=True,
            class_="sliders",
            id=f"asked-{at}",
        ),
        element("p", PROTECTS[one.name], class_="faint"),
        parameters.groups_of(desk, at, one),
        parameters.over_of(desk, at, one),
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


def satisfied(desk: Desk, at: int) -> Html:
    """What the table holds of a requirement, as it is."""
    assert desk.table is not None
    name = f"satisfied-{at}"
    also = {"data_also": "satisfies"}
    if at >= len(desk.policy.privacy):  # removed in another tab
        return part(name, **also)
    if not desk.seen.exact:
        return part(name, waiting("All records are being read."), **also)
    fact = desk.fact(
        "satisfies",
        "satisfies",
        (desk.table, desk.policy),
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
    # Where k is a number of people, both they and their records are told of, what is asked for first.
    found = [one for one in fact.value if one.requirement == wanted] or list(fact.value[at : at + 1])
    lines = []
    for one in found[:1]:
        if one.holds:
            lines.append(
                element(
                    "p",
                    element("b", "Holds already. ", class_="yes"),
                    f"As it is, the table reaches {_number(one.achieved)}.",
                )
            )
        else:
            lines.append(
                element(
                    "p",
                    element("b", "Does not hold yet. ", class_="no"),
                    f"As it is, the table reaches {_number(one.achieved)} of {_number(one.asked)}: "
                    f"{one.violating_records:,} records in {one.violating_classes:,} classes fall short.",
                )
            )
    records = desk.seen.records
    if records is not None and wanted.least > records:
        told = f"The table has {records:,} records: no release of it can hold this."
        lines = [element("p", element("b", "Cannot hold. ", class_="no"), told)]
    return part(name, *lines, **also)


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.4g}"


def _add(desk: Desk) -> Html:
    sensitive = [(name, name) for name in desk.policy.sensitive]
    kinds = [(name, name) for name, kind in REQUIREMENTS.items() if sensitive or not parameters.needs_column(kind)]
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
            element(
                "details",
                element("summary", "Over some quasi-identifiers alone"),
                text(
                    "Several requirements over different ones are kept each by itself by the method refine.", faint=True
                ),
                parameters.over_boxes(desk, None),
                id="over-new",
            ),
            class_="row",
        ),
        None if sensitive else text("No column is sensitive, so all that can be asked for is k-anonymity.", faint=True),
    )


def _unfit(desk: Desk) -> Html | None:
    """Why the method cannot hold what is asked for, where it cannot."""
    try:
        method_for(desk.policy, None, recoding=False).check(desk.policy)
    except RothkoError as error:
        return element("p", f"{error} ", element("a", "Choose another method", href="/purpose"), class_="note")
    return None


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


def change(desk: Desk, given: Given) -> Fragments | Awaitable[Fragments]:
    """Another number of a requirement, or another choice."""
    at, before = _asked(desk, given)
    if parameters.wants_values(before, given):
        return _change_by_values(desk, given, before)
    _put(desk, at, replace(before, **parameters.changes(before, given, ())))
    return [cards(desk)]


async def _change_by_values(desk: Desk, given: Given, before: Requirement) -> Fragments:
    values = await _values(desk, str(before.column))
    at, before = _asked(desk, given)
    _put(desk, at, replace(before, **parameters.changes(before, given, values)))
    return [cards(desk)]


async def _values(desk: Desk, column: str) -> tuple[str, ...]:
    """The values of a sensitive column; refused where there are too many to write something beside each."""
    found = await desk.looks.ask("values", lane="slow", **parameters.asks_values(desk, column))
    if found.distinct > len(found.values):
        raise InputError(
            f"{column} has {found.distinct:,} values, too many to group here; write the groups into the policy, and "
            "load it in Open."
        )
    values: tuple[str, ...] = found.values
    return values


def cards(desk: Desk) -> Html:
    """Everything that is asked for."""
    return element(
        "div",
        _unfit(desk),
        element("div", *(_card(desk, i, one) for i, one in enumerate(desk.policy.privacy)), class_="cards"),
        id="cards",
    )


def over(desk: Desk, given: Given) -> Fragments:
    """Ask over other quasi-identifiers."""
    at, before = _asked(desk, given)
    _put(desk, at, replace(before, over=parameters.over_in(desk, given)))
    return [cards(desk)]


def groups(desk: Desk, given: Given) -> Fragments:
    """Other groups of sensitive values."""
    at, before = _asked(desk, given)
    said = dict(zip(given.many("value"), (one.strip() for one in given.many("group")), strict=True))
    _put(desk, at, replace(before, **parameters.grouped(before, said)))
    return [cards(desk)]


def take_groups(desk: Desk, rest: str, path: Path) -> None:
    """Groups of sensitive values from a file that was dropped on the page."""
    try:
        at = Given(at=[rest]).whole("at", least=0)
        if at >= len(desk.policy.privacy) or parameters.groups(desk.policy.privacy[at]) is None:
            raise InputError("The requirements have changed since this page was made; look at them again.")
        before = desk.policy.privacy[at]
        _put(desk, at, replace(before, **parameters.grouped_by(before, read_hierarchy(path))))
    finally:
        path.unlink(missing_ok=True)


def _asked(desk: Desk, given: Given) -> tuple[int, Requirement]:
    """The requirement that a form is about; another tab may have changed them since."""
    at, name = given.whole("at", least=0), given.one("name")
    if at >= len(desk.policy.privacy) or desk.policy.privacy[at].name != name:
        raise InputError("The requirements have changed since this page was made; look at them again.")
    return at, desk.policy.privacy[at]


def _put(desk: Desk, at: int, changed: Requirement) -> None:
    privacy = list(desk.policy.privacy)
    privacy[at] = changed
    desk.edit(desk.policy.but(privacy=tuple(privacy)), changed.describe())


def add(desk: Desk, given: Given) -> Fragments | Awaitable[Fragments]:
    """Ask for one more."""
    name, of = given.one("name"), given.one("of")
    if name not in REQUIREMENTS:
        raise InputError(f"{name!r} is no requirement; there are {', '.join(REQUIREMENTS)}.")
    kind = REQUIREMENTS[name]
    if parameters.needs_column(kind) and of not in desk.policy.sensitive:
        raise InputError(f"{name} is asked of a sensitive column; give the role to one first.")
    return _add_by_values(desk, given, of) if kind is PAlpha else _added(desk, given, of, ())


async def _add_by_values(desk: Desk, given: Given, of: str) -> Fragments:
    return _added(desk, given, of, await _values(desk, of))


def _added(desk: Desk, given: Given, of: str, values: Sequence[str]) -> Fragments:
    made = parameters.begun(REQUIREMENTS[given.one("name")], of, parameters.over_in(desk, given), values)
    if any((one.name, one.column, one.over) == (made.name, made.column, made.over) for one in desk.policy.privacy):
        raise InputError(
            f"{made.name}{f' of {of}' if made.column else ''} is asked for already; change its numbers, or ask for it "
            "over other quasi-identifiers."
        )
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


PARTS = {"satisfied": satisfied, "groups": parameters.editor}
"""Of each requirement."""
VIEW = View(
    "requirements",
    "Requirements",
    body,
    actions={
        "set": change,
        "over": over,
        "groups": groups,
        "add": add,
        "remove": remove,
        "suppress": suppress,
    },
    takes={"groups": ((".csv", ".yaml", ".yml"), take_groups)},
    parts={f"{name}-{at}": partial(made, at=at) for name, made in PARTS.items() for at in range(MOST)},
    about="Here you say in sentences what every class of the release must hold.",
)

"""Roles: what each column is to somebody who looks for a person, and how many could be found as things stand."""

from __future__ import annotations

from typing import Any

from rothko.data.schema import Role
from rothko.errors import InputError
from rothko.report.page import Html, tiles
from rothko.studio.desk import Desk
from rothko.studio.edits import with_role
from rothko.studio.jobs.looking import Numbers
from rothko.studio.markup import act, chosen, element, form, hidden, joined, part, problem, waiting
from rothko.studio.sparks import share, spark
from rothko.studio.views.view import Fragments, Given, View

ROLES = {
    Role.IDENTIFIER: "tells who somebody is, and is dropped",
    Role.QUASI_IDENTIFIER: "may be known from elsewhere, and is generalised",
    Role.SENSITIVE: "must not be learnt about anybody, and leaves as it is",
    Role.KEEP: "leaves as it is, and is not protected",
}
MOST = 8
"""Columns that are told of beside the numbers."""


def body(desk: Desk) -> Html:
    """The view."""
    legend = element(
        "dl",
        *(
            piece
            for role, words in ROLES.items()
            for piece in (element("dt", role.value, class_=f"role {role.value}"), element("dd", words))
        ),
        class_="legend",
    )
    rows = [row(desk, one) for one in desk.seen.draft.proposals]
    heads = ["column", "role", "values", "distinct", "why this is proposed"]
    head = element("tr", *(element("th", one, scope="col", class_="n" if one == "distinct" else None) for one in heads))
    table = element(
        "table",
        element("caption", "Columns and their roles"),
        element("thead", head),
        element("tbody", *rows),
        class_="roles unseen",
    )
    return joined(
        [
            element("h1", "Roles"),
            waiting_line(desk),
            element(
                "div",
                element(
                    "div",
                    element(
                        "div", table, class_="scroll", tabindex="0", role="region", aria_label="Columns and their roles"
                    ),
                    legend,
                ),
                element("aside", numbers(desk), aria_label="How far people can be told apart"),
                class_="beside",
            ),
            element("p", element("a", "Next: hierarchies", href="/hierarchies", class_="go")),
        ]
    )


def waiting_line(desk: Desk) -> Html:
    """What waits for a person."""
    waits = len(desk.policy.confirm)
    if not waits:
        return element("div", element("p", "Every role is agreed to.", class_="lead"), id="waits")
    columns = len(desk.policy.columns)
    if waits == 1:  # its own button says the same
        told = f"1 of {columns} columns waits for you: look at it, and agree or choose another role."
        return element("div", element("p", told, class_="lead"), id="waits")
    told = f"{waits} of {columns} columns wait for you: look at them, and agree or choose other roles."
    about = "Agree to all: every role is right"
    agrees = act("roles/agree", "Agree to all", about=about, values={"column": "*"}, kind="quiet")
    return element("div", element("p", told, class_="lead"), agrees, id="waits")


def row(desk: Desk, proposal: Any) -> Html:
    """A column."""
    name = proposal.name
    now = desk.policy.columns[name]
    number = _number(desk, name)
    waits = name in desk.policy.confirm
    options = [(role.value, role.value) for role in Role]
    pick = form(
        "roles/role",
        hidden(column=name),
        chosen("role", options, now.role.value, label=f"Role of {name}", id_=f"role-{number}", class_=now.role.value),
        live=True,
    )
    agree = (
        act("roles/agree", "Agree", about=f"Agree to the role of {name}", kind="small", values={"column": name})
        if waits
        else None
    )
    other = now.role is not proposal.column.role
    why = element("span", f"Proposed as {proposal.column.role.value}: ", class_="faint") if other else None
    return element(
        "tr",
        element("th", element("span", name, class_="name"), spark(desk.seen.bars.get(name)), scope="row"),
        element("td", pick, agree, class_="pick"),
        element("td", proposal.type),
        element("td", f"{proposal.distinct:,}", class_="n"),
        element("td", why, proposal.why, class_="why"),
        id=f"row-{number}",
        class_="waits" if waits else None,
    )


def _number(desk: Desk, name: str) -> int:
    return list(desk.policy.columns).index(name)


def numbers(desk: Desk) -> Html:
    """How far people can be told apart by what is a quasi-identifier now: exact, or from a sample until then."""
    assert desk.table is not None
    policy = desk.policy
    key = (
        desk.table,
        policy.quasi_identifiers,
        tuple(str(policy.columns[n].type) for n in policy.quasi_identifiers),
        policy.missing,
        repr(policy.input),
    )
    given: dict[str, Any] = {"data": desk.table.data, "policy": policy, "csv": desk.table.csv}
    exact = desk.fact("numbers", "numbers", key, lane="slow", exact=True, **given) if desk.seen.exact else None
    if exact is not None and exact.fresh:
        return part("numbers", *_told(desk, exact.value))
    sampled = desk.fact("numbers-sample", "numbers", key, exact=False, **given)
    wrong = (exact.error if exact is not None else None) or sampled.error
    if wrong:
        return part("numbers", element("h2", "People who can be told apart"), problem(wrong))
    if sampled.fresh:
        return part("numbers", *_told(desk, sampled.value), data_also="numbers-sample")
    before = sampled.value or (exact.value if exact is not None else None)
    inner = _told(desk, before) if before is not None else [element("h2", "People who can be told apart")]
    return part("numbers", *inner, waiting("Counting."), data_also="numbers-sample", class_="stale")


def asked_k(desk: Desk) -> int:
    """The largest k that is asked for."""
    return max((one.k for one in desk.policy.privacy if hasattr(one, "k")), default=2)


def _told(desk: Desk, found: Numbers) -> list[Html]:
    k = asked_k(desk)
    classes, records = found.below(k)
    where = (
        f"Counted in all {found.records:,} records."
        if found.exact
        else f"From the first {found.records:,} records; all are being counted."
    )
    told = [
        element("h2", "People who can be told apart"),
        tiles(
            [
                (f"{found.unique:.1%}", "of records are unique by their quasi-identifiers"),
                (f"{classes:,}", f"classes below k = {k:,}, with {records:,} records"),
                (f"{found.classes:,}", "classes, if nothing is generalised"),
            ]
        ),
        element("p", where, class_="faint" if found.exact else "waiting"),
    ]
    if found.alone:
        ranked = sorted(found.alone, key=lambda name: (-found.adds.get(name, 0.0), -found.alone[name]))[:MOST]
        top = max([*found.adds.values(), 1e-9])
        lines = [
            element(
                "tr",
                element("th", name, scope="row"),
                element("td", share(found.adds.get(name, 0.0) / top, f"{found.adds.get(name, 0.0):.1%}", tone="warm")),
                element("td", f"{found.alone[name]:.1%}", class_="n"),
            )
            for name in ranked
        ]
        head = element(
            "tr",
            element("th", "column", scope="col"),
            element("th", "fewer unique without it", scope="col"),
            element("th", "unique by it alone", scope="col", class_="n"),
        )
        told.append(element("h3", "The most identifying columns"))
        told.append(
            element(
                "table",
                element("thead", head),
                element("tbody", *lines),
                class_="identifying",
                aria_label="The most identifying columns",
            )
        )
    return told


def role(desk: Desk, given: Given) -> Fragments:
    """Give a column another role."""
    name, asked = given.one("column"), given.one("role")
    if name not in desk.policy.columns:
        raise InputError(f"There is no column {name!r}.")
    if asked not in {one.value for one in Role}:
        raise InputError(f"{asked!r} is no role; there are {', '.join(one.value for one in Role)}.")
    changed = with_role(desk.policy, name, Role(asked), desk.seen.draft.policy, rows=desk.seen.draft.rows)
    if not desk.seen.exact:
        desk.roles[name] = Role(asked)
    desk.edit(changed, f"{name}: {asked}")
    return _after(desk, name)


def _after(desk: Desk, name: str) -> Fragments:
    proposal = next(one for one in desk.seen.draft.proposals if one.name == name)
    return [row(desk, proposal), waiting_line(desk), numbers(desk)]


def agree(desk: Desk, given: Given) -> Fragments:
    """Agree to what is proposed for a column, or for all."""
    name = given.one("column")
    left = () if name == "*" else tuple(one for one in desk.policy.confirm if one != name)
    desk.edit(desk.policy.but(confirm=left), "agree to all roles" if name == "*" else f"agree to {name}")
    return None if name == "*" else _after(desk, name)


VIEW = View(
    "roles",
    "Roles",
    body,
    actions={"role": role, "agree": agree},
    parts={"numbers": numbers},
    about="Here each column gets its role, and you see how many people those that others may know tell apart.",
)

"""How a table is read: what can be read in several ways is asked for, and a text file can be read anew."""

from __future__ import annotations

import re
from typing import Any

from rothko.data.schema import WrittenType
from rothko.data.source.csv import CsvOptions
from rothko.data.source.formats import CSV, SPREADSHEET, format_of
from rothko.errors import InputError
from rothko.policy.input import InputForm
from rothko.policy.spelling import COMMA, POINT
from rothko.report.page import Html
from rothko.studio.desk import Desk, Table
from rothko.studio.edits import said_of
from rothko.studio.field_names import FIELDS
from rothko.studio.markup import button, chosen, element, field, form, hidden, joined
from rothko.studio.views.view import Fragments, Given

FORMED = re.compile(r"type: \{(date|timestamp): '([^']+)'\}")
"""A reading of dates, as the reason of a proposal offers it."""
ENCODINGS = {
    "utf-8": "utf-8",
    "latin-1": "latin-1: western Europe",
    "cp1252": "cp1252: western Europe, Windows",
    "iso8859-15": "iso8859-15: western Europe with €",
    "cp1250": "cp1250: central Europe, Windows",
    "utf-16": "utf-16",
}
"""Encoding that is offered → what it is."""
SIGNS = {"%d": "day", "%m": "month", "%Y": "year", "%H": "hour", "%M": "minute", "%S": "second"}


def asks(desk: Desk) -> Html | None:
    """Forms that can be read in several ways, to be settled here."""
    asked = []
    for one in desk.seen.draft.proposals:
        forms = FORMED.findall(one.why)
        now = desk.policy.columns[one.name].type
        if forms:
            options = [("", "leave it as text"), *((f"{kind}|{how}", _spelled(how)) for kind, how in forms)]
            value = f"{now}|{now.form}" if isinstance(now, WrittenType) else ""
            asked.append(
                form(
                    "open/dates",
                    hidden(column=one.name),
                    chosen("form", options, value, label=f"How the dates of {one.name} are written", shown=True),
                    live=True,
                    class_="row",
                )
            )
    numbers = [one.name for one in desk.seen.draft.proposals if COMMA in one.why or POINT in one.why]
    if numbers:
        options = [
            ("", "leave them as they are read"),
            (",|", "a comma before decimals: 1,5"),
            (".|,", "a comma between thousands: 1,500"),
            (",|.", "a point between thousands: 1.500"),
        ]
        now_form = desk.policy.input
        value = f"{now_form.decimal or '.'}|{now_form.thousands or ''}"
        asked.append(
            form(
                "open/numbers",
                joined(hidden(column=name) for name in numbers),
                chosen(
                    "form",
                    options,
                    value if value != ".|" else "",
                    label=f"How the numbers of {', '.join(numbers[:4])} are written",
                    shown=True,
                ),
                live=True,
                class_="row",
            )
        )
    if not asked:
        return None
    return element("section", element("h2", "How are these written?"), *asked, class_="note asks")


def _spelled(how: str) -> str:
    """A form of dates in words: day.month.year."""
    return re.sub("%[dmYHMS]", lambda found: SIGNS[found[0]], how)


def reading(desk: Desk) -> Html | None:
    """How a text file is read, where the sniffer errs."""
    assert desk.table is not None
    now = desk.table.csv or CsvOptions()
    header = "" if now.header is None else "yes" if now.header else "no"
    path = desk.table.path
    form_of = None if path is None else format_of(path)
    if form_of not in (CSV, SPREADSHEET):
        return None  # it says itself how it is read
    inner = form(
        "open/read",
        *(_of_texts(now) if form_of is CSV else _of_sheets(now)),
        chosen("header", [("", "found"), ("yes", "yes"), ("no", "no")], header, label=FIELDS["--header"], shown=True),
        button("Read it again"),
        class_="row",
    )
    return element(
        "details",
        element("summary", "How the file is read"),
        inner,
        class_="more",
        open=desk.open_error is not None or None,
        id="how-read",
    )


def missing(desk: Desk) -> Html:
    """Words that count as missing, beside the empty field."""
    now = desk.policy.missing
    told = {0: "Words that count as missing", 1: "1 word counts as missing"}.get(
        len(now), f"{len(now):,} words count as missing"
    )
    return element(
        "details",
        element("summary", told),
        form(
            "open/missing",
            field(
                "words",
                ", ".join(now),
                label="Beside the empty field, with commas between them",
                placeholder="n/a, ?, -9",
            ),
            button("Set"),
            class_="row",
        ),
        class_="more",
        id="missing",
    )


def set_missing(desk: Desk, given: Given) -> Fragments:
    """Let words count as missing."""
    words = tuple(dict.fromkeys(word.strip() for word in given.one("words").split(",") if word.strip()))
    desk.edit(desk.policy.but(missing=words), "words that count as missing")
    return None


def _of_texts(now: CsvOptions) -> list[Html]:
    known = dict.fromkeys(("", *ENCODINGS, now.encoding or ""))
    return [
        field(
            "delimiter",
            "tab" if now.delimiter == "\t" else now.delimiter or "",
            label=FIELDS["--delimiter"],
            placeholder="found",
            size=6,
        ),
        field("quote", now.quote or "", label=FIELDS["--quote"], placeholder="found", size=6),
        chosen(
            "encoding",
            [(one, ENCODINGS.get(one, one) or "found") for one in known],
            now.encoding or "",
            label=FIELDS["--encoding"],
            shown=True,
        ),
        chosen(
            "decimal",
            [("", "found"), (".", "point"), (",", "comma")],
            now.decimal or "",
            label=FIELDS["--decimal"],
            shown=True,
        ),
    ]


def _of_sheets(now: CsvOptions) -> list[Html]:
    return [field("sheet", now.sheet or "", label=FIELDS["--sheet"], placeholder="first", size=12)]


def read(desk: Desk, given: Given) -> Fragments:
    """Read the file in another form."""
    if desk.table is None:
        raise InputError("There is no table yet; open one first.")
    said: dict[str, Any] = {
        name: given.one(name) or None for name in ("delimiter", "quote", "encoding", "decimal", "sheet")
    }
    header = {"yes": True, "no": False}.get(given.one("header"))
    form_of = InputForm(**{**said, "header": header})
    desk.open(Table(desk.table.data, desk.table.shown, desk.table.dropped, form_of.options()))
    return None


def dates(desk: Desk, given: Given) -> Fragments:
    """Settle how the dates of a column are written."""
    name = given.one("column")
    kind, _, how = given.one("form").partition("|")
    if name not in desk.policy.columns:
        raise InputError(f"There is no column {name!r}.")
    column = desk.policy.columns[name]
    changed = type(column)(**{**said_of(column), "type": {kind: how} if how else "text"})
    confirm = tuple(one for one in desk.policy.confirm if one != name)
    desk.edit(desk.policy.but(columns=desk.policy.columns | {name: changed}, confirm=confirm), f"dates of {name}")
    return None


def numbers(desk: Desk, given: Given) -> Fragments:
    """Settle how numbers are written."""
    decimal, _, thousands = given.one("form").partition("|")
    policy = desk.policy
    columns = dict(policy.columns)
    for name in given.many("column"):
        before = said_of(columns[name])
        columns[name] = type(columns[name])(**{**before, "type": "number" if given.one("form") else "auto"})
    told = {**{key: getattr(policy.input, key) for key in InputForm.model_fields}, "thousands": thousands or None}
    told["decimal"] = "," if decimal == "," else None
    confirm = tuple(one for one in policy.confirm if one not in given.many("column"))
    desk.edit(policy.but(columns=columns, input=InputForm(**told), confirm=confirm), "how numbers are written")
    return None

"""What columns look like: of what kind their values are, and what role that and the words of their names suggest.

It fails closed: a column that nothing is known about looks like a quasi-identifier. Reasons carry names and counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import NUMBER
from rothko.data.fold import folded, look_alikes
from rothko.data.line import as_text
from rothko.data.plain import as_plain
from rothko.data.schema import Role
from rothko.data.survey.distinct import as_stored
from rothko.data.typed import read_as
from rothko.errors import InputError
from rothko.policy.column_names import (
    ABOUT,
    IDENTIFIERS,
    KNOWN,
    MEASURES,
    NOMINAL,
    POSTAL,
    SENSITIVE,
    WEIGHTS,
    named,
    words,
)
from rothko.policy.telling import Told, told_by

TOKENS = ("?", "NA", "N/A", "n/a", "#N/A", "k.A.", "k. A.", "NULL", "null", "NaN", "nan", ".", "-", "*", "")
"""Taken for missing in any text; blanks around them do not count."""
TOKENS_AMONG_NUMBERS = (
    *map(str.lower, TOKENS), "none", "unknown", "missing", "n", "--", "n.a.", "keine angabe", "unbekannt",
)  # fmt: skip
"""Taken for missing where all else is numbers or dates, in capitals or not."""
READINGS = {
    "number": NUMBER,
    "date": r"^\d{4}-\d{2}-\d{2}$",
    "timestamp": r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?$",
}
"""What text may be in truth."""
PERIODS = {"date": ["month", "year", "decade"], "timestamp": ["day", "month", "year"]}
NEARLY = 0.95
"""From this share of distinct values on, a column is nearly unique."""
ENOUGH = 50
"""Fewer values than this say nothing about uniqueness, and fewer dates need no calendar."""
READABLE = 12
"""The most labels that a person reads in a set, and letters in a token."""
MOST_LABELS = 100
"""The most whole numbers that are taken for labels: states, counties of a state, branches of industry."""
NOT_LABELS = r"age|year|number of|no of|num"
"""Words beside which a number is one, whatever it is of: `years in state`."""
FEW_WORDS = 4
"""The most words of a label that says what a column is; longer ones are questions, about anything."""
UNKNOWN = "not recognised, so generalised to be on the safe side"


def default_k(rows: int) -> int:
    """The k that is asked for where nobody says one."""
    return min(10, max(2, rows // 20))


@dataclass(frozen=True, slots=True)
class Look:
    """What the values of one column are."""

    name: str
    kind: str
    """number, text, date, timestamp, time or truth; empty for what cannot be ranked."""
    column: pa.ChunkedArray
    """Typed, with null for every missing value."""
    values: pa.Array
    """The distinct ones, without the missing one."""
    constant: bool = False
    """Whether all records are alike as they stand, before anything is taken for missing."""
    tokens: tuple[str, ...] = ()
    """The words that stand for a missing value."""
    odd: tuple[str, ...] = ()
    """Those of them that are tokens only because all else is numbers or dates."""
    puzzling: int = 0
    """How many words keep text from being read as numbers or dates."""
    stored_as_text: bool = False
    """Whether the table has numbers or dates as text, so that the policy must say what they are."""
    title: str = ""
    """What the file calls it beside its name, where the name says nothing and that does."""

    @property
    def called(self) -> str:
        """What tells what it is about."""
        return self.title or self.name

    @property
    def present(self) -> int:
        """How many records have a value."""
        return len(self.column) - int(self.column.null_count)

    @property
    def folds(self) -> bool:
        """Whether some of its texts look alike, so that as a sensitive column it is folded."""
        return self.kind == "text" and look_alikes(self.values) > 0

    @property
    def counted(self) -> int:
        """How many values it has as a sensitive column."""
        return len(folded(self.values).unique()) if self.folds else len(self.values)

    @property
    def whole(self) -> bool:
        """Whether these are whole numbers, however they are stored: one missing value makes floats of all ids."""
        kind = self.values.type
        if pa.types.is_floating(kind):
            return bool(pc.all(pc.equal(pc.floor(self.values), self.values), min_count=0).as_py())
        return self.kind == "number" and (pa.types.is_integer(kind) or kind.scale <= 0)

    @property
    def type(self) -> str:
        """What the values are, for a person to read."""
        if self.kind and not len(self.values):
            return "no values"
        plural = {"date": "dates", "timestamp": "timestamps", "time": "times of day", "truth": "true or false"}
        plural |= {"number": "whole numbers" if self.whole else "numbers", "": "nested or binary values"}
        return plural.get(self.kind, self.kind) + " stored as text" * self.stored_as_text


def look_at_all(table: pa.Table, given: Sequence[str] = ()) -> list[Look]:
    """Look at each column alone, then at text again: a token holds for all columns, so they must agree on it."""
    looks = [_look_at_one(name, table[name], given) for name in table.column_names]
    signs = any(look.kind == "text" and pc.is_in(pa.scalar("+"), value_set=look.values).as_py() for look in looks)
    tokens = [token for token in TOKENS if not (signs and token == "-")]  # beside a plus it is a minus
    read = [_read_text(look, tokens) if look.kind == "text" else look for look in looks]
    labels = [look.values for look in read if look.kind == "text"]
    return [
        replace(_without(look, tokens), puzzling=len(again.odd))
        if again.odd and any(pc.any(pc.is_in(pa.array(again.odd), value_set=words)).as_py() for words in labels)
        else again
        for look, again in zip(looks, read, strict=True)
    ]


def _look_at_one(name: str, raw: pa.ChunkedArray, given: Sequence[str]) -> Look:
    """Take a column as its type says; infinite numbers, which no range can hold, are missing."""
    column = _read(name, raw, missing=given)
    if column is None:
        return Look(name, "", raw, pa.nulls(0))
    values = _distinct(column)
    tests = {
        "text": pa.types.is_string, "truth": pa.types.is_boolean, "date": pa.types.is_date,
        "timestamp": pa.types.is_timestamp, "time": pa.types.is_time,
    }  # fmt: skip
    kind = next((kind for kind, test in tests.items() if test(values.type)), "number")
    constant = len(values) <= 1 and len(as_stored(as_plain(raw)).unique()) <= 1
    look = Look(name, kind, column, values, constant)
    infinite = pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py()
    return _without(look, ["inf", "-inf"]) if infinite else look


def _read_text(look: Look, tokens: Sequence[str]) -> Look:
    """Read text without its tokens, and as numbers or dates where it holds nothing else."""
    text = _without(look, tokens)
    if named(POSTAL, look.name) or are_codes(text.values):
        return text
    for kind, pattern in READINGS.items():
        fits = pc.match_substring_regex(pc.utf8_trim_whitespace(text.values), pattern)
        odd = text.values.filter(pc.invert(fits))
        if not fits.true_count or (len(odd) and not (fits.true_count > 1 and _stand_for_missing(text, odd))):
            if fits.true_count >= 10 * len(odd):  # worth telling; half and half is just text
                text = replace(text, puzzling=len(odd))
            continue
        words = tuple(odd.to_pylist())
        column = _read(look.name, text.column, kind, words)
        # None: a 30th of February; infinite: 1e999. Both are as good as labels.
        if column is not None and not (pa.types.is_floating(column.type) and pc.any(pc.is_inf(column)).as_py()):
            parsed = replace(text, kind=kind, column=column, values=_distinct(column), stored_as_text=True)
            return replace(parsed, tokens=(*text.tokens, *words), odd=words, puzzling=0)
    return text


def _stand_for_missing(text: Look, odd: pa.Array) -> bool:
    """Tell whether words among numbers are tokens: usual ones, and one more if it cannot be anybody's own value."""
    usual = pc.is_in(pc.utf8_lower(pc.utf8_trim_whitespace(odd)), value_set=pa.array(TOKENS_AMONG_NUMBERS))
    strange = odd.filter(pc.invert(usual))
    if len(strange) != 1:
        return not len(strange)
    [word] = strange.to_pylist()
    if not re.fullmatch(rf"\D{{1,{READABLE}}}", word):  # "90+" is a value
        return False
    shared = replace(text, column=_read(text.name, text.column, missing=[word])).present
    return text.present - shared >= default_k(len(text.column))


def are_codes(words: pa.Array) -> bool:
    """Tell whether text is codes and no numbers: of one length, with zeros in front or letters; or far too long."""
    lengths = pc.min_max(pc.utf8_length(words)).as_py()
    if pc.any(pc.match_substring_regex(words, r"^\s*\d{16,}"), min_count=0).as_py():
        return True
    if len(words) < 20 or lengths["min"] != lengths["max"] or not 4 <= lengths["max"] <= 10:
        return False
    alike = pc.match_substring_regex(words, r"^[0-9A-Za-z]*[0-9][0-9A-Za-z]*$")
    telling = pc.match_substring_regex(words, r"^0|[A-Za-z]")
    return bool(alike.true_count == len(words) and telling.true_count)


def _without(look: Look, tokens: Sequence[str]) -> Look:
    """Take the tokens that occur for missing values, as they are written."""
    texts = as_text(look.values)
    found = texts.filter(pc.is_in(pc.utf8_trim_whitespace(texts), value_set=pa.array(tokens, pa.string()))).to_pylist()
    column = _read(look.name, look.column, missing=found) if found else None
    return look if column is None else replace(look, column=column, values=_distinct(column), tokens=tuple(found))


def _read(
    name: str, column: pa.ChunkedArray, kind: str = "auto", missing: Sequence[str] = ()
) -> pa.ChunkedArray | None:
    """Read a column as a release would; None where it cannot be read so."""
    try:
        found = read_as(name, column, kind, missing)
        pc.unique(found.slice(0, 0))  # a few types can be held and not compared
    except (InputError, pa.ArrowException):
        return None
    return found


def _distinct(column: pa.ChunkedArray) -> pa.Array:
    values = pc.drop_null(column.unify_dictionaries().unique())
    return values.cast(pa.string()) if pa.types.is_dictionary(values.type) else values


def names_one_person(name: str) -> str | None:
    """Why a column is an identifier by its name alone, or None."""
    if named(WEIGHTS, name):
        return "a survey weight, by its name, may tell records apart; keep it if nobody else has it"
    what = named(IDENTIFIERS, name)
    return f"{what}, by its name" if what and not named(ABOUT, name) else None


def entitled(look: Look, title: str) -> Look:
    """A column with the label that a file has for it, if that is a few words which tell more than its name does."""
    telling = (WEIGHTS, IDENTIFIERS, SENSITIVE, KNOWN, MEASURES, "id")
    few = 0 < len(words(title).split()) <= FEW_WORDS
    if not few or any(named(one, look.name) for one in telling) or not any(named(one, title) for one in telling):
        return look
    return replace(look, title=title)


class Suggested(NamedTuple):
    """The role that a column looks like."""

    role: Role
    why: str
    doubt: str = ""
    """What a few of its values tell against it."""


def role_of(look: Look) -> Suggested:
    """Choose a role, and say why."""
    by_values = look.kind == "text" or (look.kind == "number" and look.whole)
    told = told_by(look.column, text=look.kind == "text", distinct=len(look.values)) if by_values else None
    role, why = _role(look, told)
    why = why.replace("by its name", "by its label") if look.title else why
    doubtful = told is not None and not told.leads and role is not Role.IDENTIFIER
    return Suggested(role, why, told.why if told is not None and doubtful else "")


def _role(look: Look, told: Told | None) -> tuple[Role, str]:
    """The first rule that fits. Names say more than values, so they go first."""
    name, distinct, text = look.called, len(look.values), look.kind == "text"
    share = distinct / max(look.present, 1)
    unique = look.present >= ENOUGH and share >= NEARLY and (text or (look.whole and not named(MEASURES, name)))
    if not look.kind:
        return Role.IDENTIFIER, "its values cannot be generalised; turn them into text or numbers to release them"
    if why := names_one_person(name):
        return Role.IDENTIFIER, why
    if told is not None and told.leads:
        return Role.IDENTIFIER, told.why
    if look.constant:
        return Role.KEEP, "says nothing about anybody: all records are alike"
    if named("id", name) and share >= 0.5:
        return Role.IDENTIFIER, "an id, by its name, that differs between most records"
    if (what := named(SENSITIVE, name)) and look.kind not in PERIODS and not (text and unique):
        return Role.SENSITIVE, f"{what}, by its name; must not be learnt about a person"
    if what := named(KNOWN, name):
        return Role.QUASI_IDENTIFIER, f"{what}, by its name; may be known from elsewhere"
    if look.whole and distinct == len(look.column) >= 10 and _number_records(look.values):
        return Role.IDENTIFIER, "numbers the records"
    if unique:
        return Role.IDENTIFIER, f"differs between nearly all records ({share:.0%} distinct), so it leads to one person"
    return Role.QUASI_IDENTIFIER, UNKNOWN


def are_labels(look: Look) -> bool:
    """Tell whether whole numbers stand for labels without an order: few of them, of what has none by its name."""
    counts = named(MEASURES, look.called) or named(NOT_LABELS, look.called)
    return look.whole and len(look.values) <= MOST_LABELS and bool(named(NOMINAL, look.called)) and not counts


def _number_records(numbers: pa.Array) -> bool:
    span = pc.min_max(numbers).as_py()
    return span["min"] in (0, 1) and span["max"] - span["min"] == len(numbers) - 1

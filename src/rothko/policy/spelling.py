"""How the values of a table are written, as far as that is clear: what stands before decimals, the order of dates.

Clear is what can be read in one way only. 1,234 may be a thousand, 03/04/2024 two days: such columns stay text, and a
note says what to write. One 0,5 settles the comma of a table, one 13/04/2024 the dates of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import NUMBER
from rothko.data.plain import as_plain, is_text_type
from rothko.data.schema import WrittenType
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.source.written import COMMA_NUMBER, Written
from rothko.data.typed import LEADING_ZERO, with_one_missing
from rothko.policy.appearance import TOKENS_AMONG_NUMBERS
from rothko.policy.column_names import POSTAL, named

DAYS = ("%d.%m.%Y", "%m.%d.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d")
FORMS = [WrittenType("date", day) for day in DAYS]
FORMS += [WrittenType("timestamp", f"{day} {time}") for day in DAYS for time in ("%H:%M", "%H:%M:%S")]
"""How dates are written, beside 2024-02-29."""
THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$"
"""Numbers whose comma may part thousands."""

DATED = r"^\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}( \d{1,2}:\d{1,2}(:\d{1,2})?)?\s*$"
MAYBE = r"^\s*[+-]?\d[\d\s.,:/+-]*(e[\d+-]*)?\s*$"
"""What may be a number or a date, in whichever form."""
SOME = 1000
"""Texts of a column that tell whether it is worth a look."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A table, read, and how it is written."""

    source: Source
    table: pa.Table
    """Its values written as in a release."""
    decimal: str | None = None
    types: dict[str, str] = field(default_factory=dict)
    """Columns that are numbers or dates, written otherwise than in a release → their type."""
    notes: tuple[str, ...] = ()
    """What is not clear."""


def read_spelled(data: Any, csv: CsvOptions | None, missing: Sequence[str]) -> Spelling:
    """Read a table and find how it is written."""
    source, said = open_source(data, csv=csv), csv or CsvOptions()
    table = _read(source)
    words = _words(table, missing)
    commas = [name for name in words if _has_commas(words[name])]
    decimal = said.decimal if source.text else None
    notes = []
    if decimal is None and commas:
        clear = any(not _all(words[name], THOUSANDS + "|^[^,]*$") for name in commas)
        typed = source.text
        points = [name for name in table.column_names if _has_points(table[name], words.get(name), typed=typed)]
        if clear and not points:
            decimal = ","
            if source.text:
                source = open_source(data, csv=replace(said, decimal=decimal))
                table = _read(source)
        else:
            listed = ", ".join(map(repr, commas[:8]))
            why = f"there are numbers with a point in {points[0]!r}" if points else "it may part thousands"
            notes.append(
                f"A comma stands in the numbers of {listed}, and {why}: they are left as text. If it stands before "
                "decimals throughout, write input: {decimal: ','} and their type: number."
            )
    types: dict[str, str] = {}
    if decimal == ",":
        fractions = [name for name in table.column_names if pa.types.is_floating(table[name].type)]
        types = dict.fromkeys([*commas, *(fractions if source.text else ())], "number")
    for name in words:
        dated = name not in types and _all(words[name], DATED)
        forms = [form for form in FORMS if dated and _reads(words[name], form)]
        if len(forms) == 1:
            types[name] = forms[0]
        elif forms:
            told = " or ".join(f"type: {{{form}: {form.form!r}}}" for form in forms)
            notes.append(f"{name!r} holds dates that can be read in several ways, and is left as text; write {told}.")
    dates = {name: (str(kind), kind.form) for name, kind in types.items() if isinstance(kind, WrittenType)}
    written = Written(dates, frozenset(types) - frozenset(dates), decimal, missing=tuple(missing))
    return Spelling(source, written.table(table), decimal, types, tuple(notes))


def _read(source: Source) -> pa.Table:
    # Postal codes may begin with zeros; under the hierarchy that is proposed they are read as text, too.
    return source.read(as_text=[name for name in source.names if named(POSTAL, name)])


def _words(table: pa.Table, missing: Sequence[str]) -> dict[str, pa.Array]:
    """The distinct texts of each column that may hold numbers or dates as text, without those that mean missing."""
    found = {}
    for name, raw in zip(table.column_names, table.columns, strict=True):
        if is_text_type(raw.type) and not named(POSTAL, name) and _any(_some(raw), MAYBE):
            column = with_one_missing(name, raw, missing)
            texts = column.cast(pa.string()).unique().drop_null()
            plain = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
            texts = texts.filter(pc.invert(pc.is_in(plain, value_set=pa.array(TOKENS_AMONG_NUMBERS))))
            found[name] = texts
    return found


def _some(column: pa.ChunkedArray) -> pa.Array:
    """Some texts from all over a column."""
    present = as_plain(column).drop_null()
    return present.take(pa.array(np.linspace(0, len(present) - 1, min(SOME, len(present)), dtype=np.int64)))


def _has_commas(words: pa.Array) -> bool:
    """Whether texts are numbers, and there is a comma in some; what begins with a zero and a digit is a code."""
    return _any(words, r",\d") and _all(words, COMMA_NUMBER) and not _any(words, LEADING_ZERO)


def _has_points(column: pa.ChunkedArray, words: pa.Array | None, *, typed: bool) -> bool:
    """Whether a column was written with points in its numbers; one that is no text tells so where it was typed here."""
    if words is None:
        return typed and bool(pa.types.is_floating(column.type))
    return _any(words, r"\.\d") and _all(words, NUMBER)


def _reads(words: pa.Array, form: WrittenType) -> bool:
    """Whether all texts are dates in a form; where they are not, the first texts tell as a rule."""
    written = Written({"": (str(form), form.form)})
    for some in (words.slice(0, SOME), words):
        column = pa.chunked_array([some])
        if pc.any(pc.equal(written.table(pa.table({"": column}))[""], column), min_count=0).as_py():
            return False
    return True


def _all(words: pa.Array, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(words, pattern), min_count=0).as_py())


def _any(words: pa.Array, pattern: str) -> bool:
    return bool(pc.any(pc.match_substring_regex(words, pattern), min_count=0).as_py())

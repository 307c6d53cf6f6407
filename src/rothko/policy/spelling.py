"""How the values of a table are written, as far as that is clear: what stands before decimals, the order of dates.

Clear is what can be read in one way only. 1,234 may be a thousand, 03/04/2024 two days: such columns stay text, and
a person is asked, with what to write for each reading. One 0,5 settles the comma of a table, one 13/04/2024 the dates
of a column.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import NUMBER
from rothko.data.plain import as_plain, is_text_type
from rothko.data.schema import WrittenType
from rothko.data.source.csv import CsvOptions, opened, texts, wide_encoding
from rothko.data.source.formats import is_text
from rothko.data.source.listing import files_named, paths_at
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.source.written import COMMA_NUMBER, SIGNS, Written, grouped
from rothko.data.typed import LEADING_ZERO, with_one_missing
from rothko.errors import InputError
from rothko.mistakes import said as as_option
from rothko.policy.appearance import TOKENS_AMONG_NUMBERS
from rothko.policy.column_names import POSTAL, named

DAYS = ("%d.%m.%Y", "%m.%d.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d")
FORMS = [WrittenType("date", day) for day in DAYS]
FORMS += [WrittenType("timestamp", f"{day} {time}") for day in DAYS for time in ("%H:%M", "%H:%M:%S")]
"""How dates are written, beside 2024-02-29."""
THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2}(,\d{3})+\s*$"
"""Numbers whose comma may part thousands."""

WESTERN = "cp1252"
"""What a text of Western Europe is in that is not UTF-8: Latin-1 with the signs that Windows adds."""
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a text begins that says its encoding."""
DATED = r"^\s*\d{1,4}[./-]\d{1,2}[./-]\d{1,4}( \d{1,2}:\d{1,2}(:\d{1,2})?)?\s*$"
MAYBE = r"^\s*[+-]?\d[\d\s.,:/+'’  -]*(e[\d+-]*)?\s*$"
"""What may be a number or a date, in whichever form."""
COMMA = (
    "left as text, for its comma may stand before decimals or part thousands: input: {decimal: ','} or {thousands: "
    "','}, with type: number?"
)
POINT = (
    "its point is taken to stand before decimals and may part thousands: input: {decimal: ',', thousands: '.'}, with "
    "type: number?"
)
"""What is asked of numbers that can be read in two ways."""
SOME = 1000
"""Texts of a column that tell whether it is worth a look."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """A table, read, and how it is written."""

    source: Source
    table: pa.Table
    """Its values written as in a release."""
    decimal: str | None = None
    thousands: str | None = None
    types: dict[str, str] = field(default_factory=dict)
    """Columns that are numbers or dates, written otherwise than in a release → their type."""
    notes: tuple[str, ...] = ()
    """What is not clear."""
    asks: dict[str, str] = field(default_factory=dict)
    """Columns that can be read in several ways → these, for a person to settle."""


def read_spelled(data: Any, csv: CsvOptions | None, missing: Sequence[str]) -> Spelling:
    """Read a table and find how it is written."""
    said, notes = encoded(data, csv or CsvOptions())
    asks: dict[str, str] = {}
    source = open_source(data, csv=said)
    table = _read(source)
    words = _words(table, missing)
    commas = [name for name in words if _has_commas(words[name])]
    decimal = said.decimal if source.text else None
    with_points = _with_points(source, table, missing)
    thousands, parted = said.thousands, None
    if thousands is None:
        parted = _parted(words | with_points, decimal)
    if parted is not None:
        thousands, decimal = parted
    if thousands is not None:
        decimal = decimal or "."
        words |= with_points
        decimals = commas if decimal == "," else []  # numbers too small for thousands
        commas = [name for name in words if name in decimals or _is_parted(words[name], thousands, decimal)]
    elif decimal is None and commas:
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
                "decimals throughout, write input: {decimal: ','} and their type: number; if it parts thousands, "
                "input: {thousands: ','}."
            )
            asks |= dict.fromkeys(commas, COMMA)
    pointed = grouped(".", ",")
    doubtful = [n for n, some in with_points.items() if _any(some, pointed) and _all(some, rf"{pointed}|^[^.]*$")]
    if thousands is None and decimal is None and doubtful:
        listed = ", ".join(map(repr, doubtful[:8]))
        notes.append(
            f"Three digits follow each point in {listed}: it is taken to stand before decimals. If it parts thousands, "
            "write input: {decimal: ',', thousands: '.'} and their type: number."
        )
        asks |= dict.fromkeys(doubtful, POINT)
    types: dict[str, str] = {}
    if thousands is not None:
        types = dict.fromkeys(commas, "number")
        if source.text and decimal == "," and said.decimal is None:
            source = open_source(data, csv=replace(said, decimal=decimal))
            table = _read(source)
    decimal = None if decimal == "." else decimal
    if decimal == ",":
        fractions = [name for name in table.column_names if pa.types.is_floating(table[name].type)]
        types |= dict.fromkeys([*commas, *(fractions if source.text else ())], "number")
    for name in words:
        dated = name not in types and _all(words[name], DATED)
        forms = [form for form in FORMS if dated and _reads(words[name], form)]
        if len(forms) == 1:
            types[name] = forms[0]
        elif forms:
            told = " or ".join(f"type: {{{form}: {form.form!r}}}" for form in forms)
            notes.append(f"{name!r} holds dates that can be read in several ways, and is left as text; write {told}.")
            asks[name] = f"left as text, for its dates can be read in several ways: {told}?"
    dates = {name: (str(kind), kind.form) for name, kind in types.items() if isinstance(kind, WrittenType)}
    written = Written(dates, frozenset(types) - frozenset(dates), decimal, missing=tuple(missing), thousands=thousands)
    return Spelling(source, written.table(table), decimal, thousands, types, tuple(notes), asks)


def _read(source: Source) -> pa.Table:
    # Postal codes may begin with zeros; under the hierarchy that is proposed they are read as text, too.
    read = [name for name in source.names if name not in source.unread]
    table = source.read(read, as_text=[name for name in read if named(POSTAL, name)])
    for name in source.unread:  # what it holds cannot be told, but that it is nothing to generalise
        table = table.append_column(name, pa.array([[]] * table.num_rows, pa.list_(pa.null())))
    return table.select(source.names)


def encoded(data: Any, said: CsvOptions) -> tuple[CsvOptions, list[str]]:
    """How a text file is read, with its encoding where it is not UTF-8; what is guessed is told."""
    at = files_named(data)
    paths = () if at is None or said.encoding is not None else paths_at(at)
    if not paths or not all((is_text(one) or said.format in ("csv", "tsv")) and one.is_file() for one in paths):
        return said, []
    with opened(paths[0]) as file:
        start = file.read(1 << 12)
    if start.startswith(MARKS):
        return said, []
    found = wide_encoding(start)
    if found is None and all(_decodes(path, "utf-8") for path in paths):
        return said, []
    if found is None and not all(_decodes(path, WESTERN) for path in paths):
        return said, []  # the reader says in which line it stumbles
    found = found or WESTERN
    told = f"The text is not UTF-8, and is read as {found}; if letters look wrong, name what it is with "
    return replace(said, encoding=found), [f"{told}{as_option('--encoding')}."]


def _decodes(path: Path, encoding: str) -> bool:
    try:
        return all("\0" not in block for block in texts(path, encoding))
    except InputError:
        return False


def _with_points(source: Source, table: pa.Table, missing: Sequence[str]) -> dict[str, pa.Array]:
    """The texts of columns that were read as numbers with a point, which may part thousands after all."""
    names = [name for name in table.column_names if source.text and pa.types.is_floating(table[name].type)]
    return _words(source.read(names, as_text=names), missing) if names else {}


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


def _parted(words: Mapping[str, pa.Array], decimal: str | None) -> tuple[str, str] | None:
    """What parts thousands and what stands before decimals, where it is clear: the only pair that all numbers fit.

    Clear is 1.234,5 or 1.234.567, which can be read in one way only, and a blank or an apostrophe.
    """
    pairs = [(sign, point) for sign in SIGNS for point in ".," if sign != point and point == (decimal or point)]
    clear = []
    for sign, point in pairs:
        both = rf"{SIGNS[sign]}\d{{3}}(?:{SIGNS[sign]}\d{{3}}|{re.escape(point)}\d)"
        sure = grouped(sign, point) if sign in " '" else both
        fit = [name for name, some in words.items() if _is_parted(some, sign, point)]
        # A pair that another column speaks against is none.
        other = re.escape("," if point == "." else ".")
        against = any(_any(some, rf"^\s*[+-]?\d+{other}\d{{1,2}}\s*$") for some in words.values())
        if any(_any(words[name], sure) for name in fit) and not against:
            clear.append((sign, point))
    # Without decimals a blank goes with either point; the table has none, so it does not matter.
    signs = {sign for sign, _ in clear}
    return clear[0] if len(signs) == 1 and clear else None


def _is_parted(words: pa.Array, thousands: str, decimal: str) -> bool:
    """Whether texts are numbers, and thousands are parted in some."""
    plain = COMMA_NUMBER if decimal == "," else NUMBER
    pattern = grouped(thousands, decimal)
    return _any(words, pattern) and _all(words, f"{pattern}|{plain}") and not _any(words, LEADING_ZERO)


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

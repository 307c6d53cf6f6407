"""Values that are written otherwise than in a release: a comma before the decimals, dates in another order.

They are written anew as they are read, 1,50 as 1.50 and 29.02.2024 as 2024-02-29, so that whatever comes later knows
one form. Only characters change: nothing is rounded, and zeros stay. What is not written as it is said to be is left as
it stands, and refused by whoever reads the column as a date or a number.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import NUMBER
from rothko.data.plain import as_plain, is_text_type
from rothko.data.source.source import Source
from rothko.errors import InputError

COMMA_NUMBER = NUMBER.replace(r"\.", ",")
"""A number with a comma before its decimals."""
PARTS = {"%Y": r"(?P<Y>\d{4})", "%m": r"(?P<m>\d{1,2})", "%d": r"(?P<d>\d{1,2})"}
SIGNS = {".": r"\.", ",": ",", " ": "[ \u00a0\u202f]", "'": "['\u2019]"}
"""What may part thousands; blanks that do not break a line among them."""
TIMES = {"%H": r"(?P<H>\d{1,2})", "%M": r"(?P<M>\d{1,2})", "%S": r"(?P<S>\d{1,2})"}
"""What a form of dates is made of, and of the time beside one."""


def pattern_of(kind: str, form: str) -> str:
    r"""The pattern of dates or timestamps that are written in a form; a ValueError says what is wrong with one.

    Parts that stand side by side have all their digits: ``%d%m%Y`` takes no 1112024, which would be two dates.

    >>> pattern_of("date", "%d.%m.%Y")
    '^\\s*(?P<d>\\d{1,2})\\.(?P<m>\\d{1,2})\\.(?P<Y>\\d{4})\\s*$'
    """
    known = PARTS | (TIMES if kind == "timestamp" else {})
    parts = re.findall(r"%.?|[^%]", form, re.DOTALL)
    said = [part for part in parts if part.startswith("%")]
    if "%y" in said:
        raise ValueError("%y does not tell the century; dates need years of four digits, %Y")
    if unknown := [part for part in said if part not in known]:
        raise ValueError(f"{unknown[0]} is not a part of a {kind}; there are {', '.join(known)}")
    needed = [*PARTS, *(["%H"] if kind == "timestamp" else [])]
    if missing := [part for part in needed if said.count(part) != 1]:
        raise ValueError(f"a {kind} has {', '.join(needed)}, each once, and not {missing[0]}")
    if len({*said}) < len(said) or ("%S" in said and "%M" not in said):
        raise ValueError(f"a {kind} has each of its parts once, and no seconds without minutes")
    if "%Y-%d-%m" in form:
        raise ValueError("%Y-%d-%m would be taken for %Y-%m-%d, as dates are released; write such dates otherwise")
    fixed = any(one.startswith("%") and two.startswith("%") for one, two in itertools.pairwise(parts))
    taken = "".join(known[part] if part in known else re.escape(part) for part in parts)
    return rf"^\s*{taken.replace('{1,2}', '{2}') if fixed else taken}\s*$"


@dataclass(frozen=True, slots=True)
class Written:
    """How some columns of a table are written."""

    dates: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Column → whether it holds dates or timestamps, and their form."""
    numbers: frozenset[str] = frozenset()
    """Columns that are said to hold numbers."""
    decimal: str | None = None
    """What stands before their decimals; a point where it is None."""
    missing: tuple[str, ...] = ()
    """Texts that stand for a missing value, and stay as they are."""
    or_released: bool = False
    """Whether the table may be a release, whose numbers have a point."""
    thousands: str | None = None
    """What parts the thousands of numbers; nothing where it is None."""
    absent: tuple[str, ...] = ()
    """Texts that stand for a missing value in any column, and become one."""
    absent_in: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same of single columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Those whose values may have to be written anew."""
        return (*self.dates, *(self.numbers if self.decimal == "," or self.thousands else ()))

    @property
    def changes(self) -> bool:
        """Whether anything may have to be written anew."""
        return bool(self.columns or self.absent or self.absent_in)

    def opened(self, source: Source) -> Source:
        """The same table, written as in a release."""
        if not self.changes:
            return source
        read, pieces, first = source._read, source._pieces, source._first

        def as_text(names: Collection[str]) -> set[str]:
            return {*names, *self.dates}  # 20240229 would be a number

        def all_read(columns: Sequence[str], text: Collection[str]) -> pa.Table:
            return next(self._anew([read(columns, as_text(text))]))

        def some_read(columns: Sequence[str], text: Collection[str], rows: int, threads: int) -> Iterator[pa.Table]:
            assert pieces is not None
            return self._anew(pieces(columns, as_text(text), rows, threads))

        return replace(
            source,
            _read=all_read,
            _pieces=None if pieces is None else some_read,
            _first=None if first is None else lambda columns: self._anew(first(columns)),
        )

    def table(self, table: pa.Table) -> pa.Table:
        """A table written anew."""
        return next(self._anew([table]))

    def _anew(self, pieces: Iterable[pa.Table | pa.RecordBatch]) -> Iterator[pa.Table]:
        signs: dict[str, set[str]] = {}
        for piece in pieces:
            table = piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece])
            for i, name in enumerate(table.column_names):
                column = _without(table.column(i), (*self.absent, *self.absent_in.get(name, ())))
                if column is not table.column(i):
                    table = table.set_column(i, name, column)
                if name in self.columns and is_text_type(column.type):
                    rewrite = self._rewriting(name, signs.setdefault(name, set()))
                    table = table.set_column(i, name, _by_word(as_plain(column), rewrite, self.missing))
            yield table

    def _rewriting(self, name: str, signs: set[str]) -> Callable[[pa.Array], pa.Array]:
        if name in self.dates:
            return lambda words: _dates(words, pattern_of(*self.dates[name]))
        return lambda words: self._numbers(name, words, signs)

    def _in_one(self, words: pa.Array) -> pa.Array:
        """Numbers without what parts their thousands; of what may be a release, only where all of them have groups."""
        assert self.thousands is not None
        fits = pc.match_substring_regex(words, grouped(self.thousands, self.decimal or "."))
        if self.or_released and self.thousands == ".":
            points = pc.and_(pc.match_substring(words, "."), pc.match_substring_regex(words, NUMBER))
            if pc.any(pc.and_not(points, fits), min_count=0).as_py():
                return words
        return pc.if_else(fits, pc.replace_substring_regex(words, SIGNS[self.thousands], ""), words)

    def _numbers(self, name: str, words: pa.Array, signs: set[str]) -> pa.Array:
        """Numbers with a point; refused where a point stands in them already, which may part thousands."""
        if self.thousands is not None:
            words = self._in_one(words)
        if self.decimal != ",":
            return words
        commas = pc.and_(pc.match_substring(words, ","), pc.match_substring_regex(words, COMMA_NUMBER))
        points = pc.and_(pc.match_substring(words, "."), pc.match_substring_regex(words, NUMBER))
        signs |= {sign for sign, found in ((",", commas), (".", points)) if pc.any(found, min_count=0).as_py()}
        if "." in signs and (not self.or_released or "," in signs):
            raise InputError(
                f"Column {name!r} has numbers with a point, and 'input' says decimal: ','; if it parts thousands, take "
                "it out before, and if it stands before the decimals, correct 'input'.",
                values=words.filter(points).to_pylist(),
            )
        return pc.if_else(commas, pc.replace_substring(words, ",", "."), words)


def grouped(thousands: str, decimal: str) -> str:
    r"""The pattern of numbers whose thousands are parted; in groups of three, or they are none.

    >>> [bool(re.match(grouped(".", ","), text)) for text in ("1.234.567,5", "1.23", "12.3456", "1234")]
    [True, False, False, False]
    """
    return rf"^\s*[+-]?[1-9]\d{{0,2}}(?:{SIGNS[thousands]}\d{{3}})+(?:{re.escape(decimal)}\d*)?\s*$"


def _without(column: pa.ChunkedArray, absent: Sequence[str]) -> pa.ChunkedArray:
    """A column with nothing where a word stands for it; of a number, where the word is written as one."""
    if not absent:
        return column
    plain = as_plain(column)
    if is_text_type(plain.type):
        words = pa.array(absent, plain.type)
    elif pa.types.is_integer(plain.type) or pa.types.is_floating(plain.type):
        numbers = [word for word in absent if re.fullmatch(NUMBER, word)]
        found = pc.cast(pa.array(numbers, pa.string()), pa.float64())
        words = found.cast(plain.type, safe=False)
        if pa.types.is_integer(plain.type):  # -99 is no number of eight bits without a sign, though 157 is
            words = words.filter(pc.equal(words.cast(pa.float64()), found))
    else:
        return column
    hit = pc.is_in(plain, value_set=words) if len(words) else None
    if hit is None or not pc.any(hit, min_count=0).as_py():
        return column
    return pc.if_else(hit, pa.scalar(None, plain.type), plain)


def _by_word(
    column: pa.ChunkedArray, rewrite: Callable[[pa.Array], pa.Array], missing: Sequence[str]
) -> pa.ChunkedArray:
    """A column of text written anew, once for each distinct text; those that stand for a missing value stay."""
    coded = pc.dictionary_encode(column.cast(pa.string())).unify_dictionaries()
    if coded.num_chunks == 0:
        return column.cast(pa.string())
    words = coded.chunk(0).dictionary
    stays = pc.is_in(words, value_set=pa.array(missing, pa.string()))
    anew = rewrite(pc.if_else(stays, pa.scalar(None, pa.string()), words))
    anew = pc.if_else(stays, words, anew)
    return pa.chunked_array([anew.take(chunk.indices) for chunk in coded.chunks], pa.string())


def _dates(words: pa.Array, pattern: str) -> pa.Array:
    """Dates and timestamps as they are released, 2024-02-29 13:05; what is none, a 30th of February among it, stays."""
    fields = pc.extract_regex(words, pattern)
    parts = {field.name: pc.struct_field(fields, i) for i, field in enumerate(fields.type)}
    at = {name: _whole(part) for name, part in parts.items()}
    longest = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    leap = (at["Y"] % 4 == 0) & ((at["Y"] % 100 != 0) | (at["Y"] % 400 == 0))
    days = longest[np.clip(at["m"], 0, 12)] - ((at["m"] == 2) & ~leap)
    real = (at["Y"] > 0) & (at["m"] >= 1) & (at["m"] <= 12) & (at["d"] >= 1) & (at["d"] <= days)
    for name, end in (("H", 24), ("M", 60), ("S", 60)):
        real &= at[name] < end if name in at else True
    two = {name: pc.utf8_lpad(part, 2, "0") for name, part in parts.items()}
    anew = pc.binary_join_element_wise(parts["Y"], two["m"], two["d"], "-")
    if "H" in parts:
        hour = [two[name] if name in two else pa.scalar("00") for name in ("H", "M")]
        time = pc.binary_join_element_wise(*hour, *([two["S"]] if "S" in two else []), ":")
        anew = pc.binary_join_element_wise(anew, time, " ")
    return pc.if_else(pc.and_(pc.is_valid(anew), pa.array(real)), anew, words)


def _whole(part: pa.Array) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.asarray(pc.fill_null(part.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))

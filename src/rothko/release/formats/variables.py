"""Rows for files of statistics programs (.dta, .sav): what each variable is hangs on all of its values.

A variable has one type, one width and one set of labels, and they stand before the first record. So rows are kept
aside, in a file that has no name, until all of them are known: memory does not grow with their number.

Numbers are numbers where a program has them exactly, else text: whole numbers beyond 2⁵³, decimals of more than 15
digits, infinities, times finer than the program's. A kept column that was read as labels gets the codes of these back,
and with them the labels of the values that occur, and no others. What classes publish has no labels: ranges, sets and
nodes are texts. Nothing and an empty text are the same in these files.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc as ipc
from numpy.typing import NDArray

from rothko.data.source.statistics_file import needs_reader
from rothko.errors import OutputError
from rothko.mistakes import some_of
from rothko.release.formats.format import Labels
from rothko.release.kinds import cell_texts
from rothko.release.rows import Rows, decoded

LARGE = pa.large_string()
BLOCK = 1 << 16
"""Rows that are put together at a time, at most."""
BLOCK_BYTES = 1 << 24
"""Bytes of records that are put together at a time."""
WHOLE = 1 << 53
"""Whole numbers up to here are doubles."""
HUGE = 2.0**1023
"""From here on, doubles stand for what is missing."""
DIGITS = 15
"""Decimals of so many digits come back from a double."""
TEXT, NUMBER, DAY, MOMENT, TRUTH = "text", "number", "day", "moment", "truth"
TRUTHS = {0.0: "false", 1.0: "true"}
OPTIONS = ipc.IpcWriteOptions(compression="zstd")


@dataclass(frozen=True, slots=True)
class Variable:
    """A column of the file, as all its values have settled it."""

    name: str
    form: str
    """What its numbers are, or that it is text."""
    width: int = 0
    """Of text: the most bytes."""
    whole: bool = False
    low: float = 0
    high: float = 0
    """Of numbers: the least and the largest."""
    labels: Mapping[float, str] = field(default_factory=dict)
    """Codes that occur → their labels."""
    coded: bool = False
    """Whether its values are labels, and leave as their codes."""


class Program(Protocol):
    """What a file of a program can hold, and how it is written."""

    ending: str
    unit: str
    """The finest part of a time, as Arrow calls it."""
    most_columns: int
    most_bytes: int
    """Of a text."""
    most_label: int
    """Bytes of a label."""
    trims: bool
    """Whether blanks at the end of a text are lost."""

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse names that it does not allow."""
        ...

    def has_code(self, code: float) -> bool:
        """Whether a value can have a label."""
        ...

    def write(self, file: IO[bytes], variables: Sequence[Variable], rows: int, tables: Iterator[pa.Table]) -> None:
        """Write all of a file."""
        ...


class VariablesWriter:
    """Rows are kept aside as they come, and written when all of them are known."""

    def __init__(self, path: Path, program: Program, *, threads: int, labels: Labels) -> None:
        needs_reader(path)
        self.escaped: set[str] = set()
        self._path, self._program, self._threads, self._labels = path, program, threads, labels
        self._seen: list[_Seen] = []
        self._spool: IO[bytes] | None = None
        self._aside: ipc.RecordBatchStreamWriter | None = None
        self._rows = 0

    def write(self, rows: Rows) -> None:
        """Keep rows aside."""
        kept = rows.kept.column_names
        for some in rows.slices(BLOCK):
            table = decoded(some.to_arrow(threads=self._threads))
            if self._aside is None:
                self._begin(table.schema, {name: self._labels[name] for name in kept if name in self._labels})
            assert self._aside is not None
            table = table.cast(self._schema)
            for seen in self._seen:
                seen.look(table[seen.name])
            self._aside.write_table(table)
            self._rows += table.num_rows

    def _begin(self, schema: pa.Schema, labels: Labels) -> None:
        program = self._program
        if len(schema) > program.most_columns:
            raise OutputError(
                f"A {program.ending} file has at most {program.most_columns:,} variables, and the release has "
                f"{len(schema):,} columns; write .csv or .parquet."
            )
        program.check_names(schema.names)
        self._schema = schema
        self._seen = [_Seen(program, one.name, form_of(one.type), labels.get(one.name, {})) for one in schema]
        self._spool = tempfile.TemporaryFile(dir=self._path.parent)  # noqa: SIM115 - closed with this
        self._aside = ipc.new_stream(pa.PythonFile(self._spool, "w"), schema, options=OPTIONS)

    def close(self) -> None:
        """Settle what the variables are, and write all rows."""
        if self._aside is None or self._spool is None:
            return
        self._aside.close()
        try:
            inexact = [seen for seen in self._seen if not seen.exact]
            for table in self._tables() if inexact else ():
                for seen in inexact:
                    seen.look_at_texts(table[seen.name])
            variables = [seen.settled() for seen in self._seen]
            with self._path.open("wb") as file:
                self._program.write(file, variables, self._rows, self._tables())
        finally:
            self._spool.close()
            self._aside = self._spool = None

    def _tables(self) -> Iterator[pa.Table]:
        assert self._spool is not None
        self._spool.seek(0)
        with ipc.open_stream(pa.PythonFile(self._spool, "r")) as stream:
            for batch in stream:
                yield pa.Table.from_batches([batch])


@dataclass(slots=True)
class _Seen:
    """What the values of a column are, as far as they were seen."""

    program: Program
    name: str
    form: str
    labels: Mapping[float, str]
    exact: bool = True
    """Whether numbers are numbers in the file."""
    width: int = 0
    whole: bool = True
    low: float = np.inf
    high: float = -np.inf
    others: bool = False
    """Whether some value has no label."""
    found: set[float] = field(default_factory=set)
    """Codes whose labels occur."""

    def __post_init__(self) -> None:
        if self.form == TRUTH:
            self.labels = TRUTHS

    def look(self, column: pa.ChunkedArray) -> None:
        """Look at more values."""
        values = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        if self.form in (TEXT, TRUTH):
            self._look_at_words(values)
        elif self.exact and is_exact(values, self.form, self.program.unit):
            self._look_at_numbers(values)
        else:
            self.exact = False

    def _look_at_words(self, values: pa.Array) -> None:
        texts = cell_texts(values).cast(LARGE)
        if self.labels and not self.others:
            distinct = texts.unique().drop_null()
            places = pc.index_in(distinct, value_set=pa.array(list(self.labels.values()), LARGE))
            self.others = places.null_count > 0
            codes = list(self.labels)
            self.found |= {codes[i] for i in places.drop_null().to_pylist()}
        self._widen(texts)

    def _look_at_numbers(self, values: pa.Array) -> None:
        numbers = as_numbers(values, self.form)
        present = numbers[~np.isnan(numbers)]
        if len(present) == 0:
            return
        self.low, self.high = min(self.low, float(present.min())), max(self.high, float(present.max()))
        self.whole = self.whole and bool((np.floor(present) == present).all() and (np.abs(present) < WHOLE).all())
        if self.labels:
            hit = np.isin(present, list(self.labels))
            self.others |= not bool(hit.all())
            self.found |= {float(code) for code in np.unique(present[hit])}

    def look_at_texts(self, column: pa.ChunkedArray) -> None:
        """Look at numbers that must be text."""
        for chunk in column.chunks:
            self._widen(texts_of_numbers(chunk))

    def _widen(self, texts: pa.Array) -> None:
        self.width = max(self.width, pc.max(pc.binary_length(texts)).as_py() or 0)
        odd = pc.any(pc.match_substring(texts, "\0"), min_count=0).as_py()
        if odd:
            self._refuse("texts with a character NUL, which ends a text there")
        if self.program.trims and pc.any(pc.ends_with(texts, " "), min_count=0).as_py():
            self._refuse("texts with blanks at their end, which are lost there")

    def settled(self) -> Variable:
        """What all values together make of it."""
        codes = {code: self.labels[code] for code in sorted(self.found)}
        fit = all(map(self.program.has_code, codes))
        fit = fit and all(0 < len(word.encode()) <= self.program.most_label for word in codes.values())
        if self.form in (TEXT, TRUTH):
            if codes and fit and not self.others:
                return Variable(self.name, NUMBER, 0, _all_whole(codes), min(codes), max(codes), codes, coded=True)
            return self._text()
        if not self.exact:
            return self._text()
        low, high = (self.low, self.high) if self.low <= self.high else (0.0, 0.0)
        # Where every value that is left has a label, a reader would take labels for the values.
        kept = codes if self.others and fit else {}
        return Variable(self.name, self.form, 0, self.whole, low, high, kept)

    def _text(self) -> Variable:
        if self.width > self.program.most_bytes:
            self._refuse(f"texts of more than {self.program.most_bytes:,} bytes, the most that a variable has there")
        return Variable(self.name, TEXT, max(self.width, 1))

    def _refuse(self, what: str) -> None:
        raise OutputError(
            f"Column {self.name!r} has {what}: a {self.program.ending} file cannot hold it; write .csv or .parquet."
        )


def _all_whole(codes: Mapping[float, str]) -> bool:
    return all(float(code).is_integer() for code in codes)


def form_of(kind: pa.DataType) -> str:
    """What the numbers of a variable are, by the type of the values; text for all others."""
    types = pa.types
    if types.is_boolean(kind):
        return TRUTH
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal128(kind):
        return NUMBER
    if types.is_date(kind):
        return DAY
    return MOMENT if types.is_timestamp(kind) and kind.tz is None else TEXT


def is_exact(values: pa.Array, form: str, unit: str) -> bool:
    """Whether a variable of numbers has all of these values as they are."""
    kind, types = values.type, pa.types
    if form == MOMENT:
        cut = values.cast(pa.timestamp(unit), safe=False).cast(kind, safe=False)
        return bool(pc.all(pc.equal(cut, values), min_count=0).as_py())
    if types.is_integer(kind):
        if kind.bit_width < 64:
            return True
        ends = pc.min_max(values).as_py()
        return ends["min"] is None or bool(ends["min"] >= -WHOLE and ends["max"] <= WHOLE)
    if types.is_floating(kind):
        numbers = values.cast(pa.float64())
        # What is no number compares as false, and is missing.
        return not pc.any(pc.greater_equal(pc.abs(numbers), HUGE), min_count=0).as_py()
    if types.is_decimal(kind):
        digits = pc.utf8_length(pc.utf8_ltrim(pc.replace_substring_regex(values.cast(LARGE), r"\D", ""), "0"))
        return bool(pc.all(pc.less_equal(digits, DIGITS), min_count=0).as_py())
    return True


def as_numbers(values: pa.Array, form: str) -> NDArray[np.float64]:
    """Values as doubles: days and milliseconds are counted from 1970; NaN for what is missing."""
    kind, types = values.type, pa.types
    if form == DAY:
        values = values.cast(pa.date32()).cast(pa.int32())
    elif form == MOMENT:
        values = values.cast(pa.timestamp("ms"), safe=False).cast(pa.int64())
    elif types.is_decimal(kind) or types.is_float32(kind) or types.is_float16(kind):
        values = cell_texts(values)  # the number that is written so, not the one that lies next to it
    found = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(found, dtype=np.float64)


def texts_of_numbers(values: pa.Array) -> pa.Array:
    """Numbers as text; what is no number is nothing."""
    texts = cell_texts(values).cast(LARGE)
    if pa.types.is_floating(values.type):
        texts = pc.if_else(pc.is_nan(values.cast(pa.float64())), pa.scalar(None, LARGE), texts)
    return texts


def codes_of(variable: Variable, values: pa.Array) -> NDArray[np.float64]:
    """The numbers of a variable, NaN for what is missing."""
    if not variable.coded:
        return as_numbers(values, variable.form)
    words = pa.array(list(variable.labels.values()), LARGE)
    codes = pa.array(list(variable.labels), pa.float64())
    places = pc.index_in(cell_texts(values).cast(LARGE), value_set=words)
    return np.asarray(codes.take(places).to_numpy(zero_copy_only=False), dtype=np.float64)


def padded(values: pa.Array, width: int, fill: bytes) -> NDArray[np.uint8]:
    """Texts as rows of so many bytes, filled up.

    >>> padded(pa.array(["ab", None]), 3, b".").tobytes()
    b'ab....'
    """
    texts = pc.fill_null(texts_of_numbers(values), "")
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int64)[texts.offset : texts.offset + len(texts) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)[offsets[0] : offsets[-1]]
    lengths = np.diff(offsets)
    found = np.full((len(texts), width), fill[0], dtype=np.uint8)
    shift = np.arange(len(texts)) * width - (offsets[:-1] - offsets[0])
    found.reshape(-1)[np.repeat(shift, lengths) + np.arange(len(data))] = data
    return found


def write_records(
    file: IO[bytes],
    record: np.dtype[np.void],
    tables: Iterator[pa.Table],
    fill: Callable[[str, pa.Array], NDArray[np.generic]],
) -> None:
    """Write all records, some at a time: a field of ``record`` has what ``fill`` makes of the column of its name."""
    step = max(BLOCK_BYTES // max(record.itemsize, 1), 1)
    for table in tables:
        for begin in range(0, table.num_rows, step):
            some = table.slice(begin, step).combine_chunks()
            held = np.zeros(some.num_rows, dtype=record)
            for place, name in enumerate(some.column_names):
                held[f"c{place}"] = fill(name, some[name].combine_chunks())
            file.write(held.tobytes())


def refuse_names(wrong: Sequence[str], ending: str, rule: str) -> None:
    """Refuse columns whose names a program does not allow: another name would be another column."""
    if wrong:
        raise OutputError(
            f"{some_of(wrong)}: no name of a variable in a {ending} file, where {rule}; rename the column in the "
            "input, or write .csv or .parquet."
        )

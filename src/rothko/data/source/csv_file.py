"""Reading a CSV file: all of it as text first, and its columns typed by what all their values are.

A line that does not fit is an error that names it and does not quote it.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from rothko.data.address import is_store
from rothko.data.source.csv import BLOCK_BYTES, CsvDialect, CsvOptions, not_in, packing, texts, unpacked_bytes
from rothko.data.source.file_bytes import SMALL, in_order, size_of, unread
from rothko.data.source.guess import Guess, typed_text
from rothko.data.source.mapped import by_block
from rothko.data.source.source import Source, Taken
from rothko.errors import InputError
from rothko.mistakes import said
from rothko.progress import ahead, count_threads, each

Records = TypeVar("Records", pa.Table, pa.RecordBatch)


def open_csv(path: Path, options: CsvOptions) -> Source:
    """Open a text file in the dialect that its first lines are written in."""
    file = CsvFile(path, CsvDialect.sniff(path, options))
    return replace(open_texts([file], path.name, options), path=path)


def open_texts(files: Sequence[CsvFile], label: str, options: CsvOptions) -> Source:
    """Open text files with the same columns as one table."""
    sizes = tuple(size_of(file.path) for file in files)
    text = CsvFiles(tuple(files), sizes)
    first = files[0].dialect
    settled: dict[tuple[str, bool], CsvTypes] = {}
    size, taken = sum(sizes), Taken()

    def pieces(columns: Sequence[str], as_text: Collection[str], _: int, threads: int) -> Iterator[pa.RecordBatch]:
        # Settled once: a later pass may read fewer of the columns and must find the same types.
        keys = [(name, name in as_text) for name in columns]
        types = settled.get(keys[0])
        if types is None or any(settled.get(key) is not types for key in keys):
            types = text.settle(columns, as_text, threads)
            taken.add(2 * size, passes=2)  # one for quotes, one for types
            settled.update(dict.fromkeys(keys, types))
        return text.stream(columns, types, threads)

    return Source(
        label,
        files[0].names,
        None,
        text.read,
        notes=first.notes,
        _pieces=pieces,
        bytes=size,
        named=all(file.dialect.named for file in files),
        _text_bytes=text.table_bytes,
        _first=text.first,
        text=True,
        taken=taken,
        form=first.told(files[0].path, options),
    )


@dataclass(frozen=True, slots=True)
class CsvTypes:
    """What all values of some columns are, known from one pass over the files."""

    kinds: Mapping[str, pa.DataType]
    rows: tuple[int, ...]
    """By file."""
    quoted: tuple[bool, ...]
    """By file: whether a line end may stand inside a field."""


@dataclass(frozen=True, slots=True)
class CsvFiles:
    """Text files that hold one table: a column has the type that all its values in all of them have."""

    files: tuple[CsvFile, ...]
    sizes: tuple[int, ...]
    """Their bytes."""

    def table_bytes(self, columns: Sequence[str]) -> int:
        """About how many bytes the columns take as an Arrow table."""
        return sum(file.table_bytes(columns) for file in self.files)

    def read(self, columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        """Read the columns; a line that does not fit is an error that names it and does not quote it."""
        found = each(CsvFile.survey, self.files, count_threads(None))
        quoted, codes = [quotes for quotes, _ in found], any(zeros for _, zeros in found)
        table = None
        if not codes:
            # No field begins with a zero and a digit, so a whole number is written in one way only, and the
            # reader may turn it into one: twice as fast as by way of text.
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
                table = self._parsed(columns, quoted, self._numbers(as_text))
        if table is None:
            table = self._parsed(columns, quoted, {}, explain=True)
        done = {name for name in columns if name in as_text or table[name].type != pa.string()}
        with ThreadPoolExecutor() as pool:
            read = pool.map(lambda name: table[name] if name in done else self._typed(table[name]), columns)
            return pa.table(dict(zip(columns, read, strict=True)))

    def _parsed(
        self, columns: Sequence[str], quoted: Sequence[bool], kinds: Mapping[str, pa.DataType], *, explain: bool = False
    ) -> pa.Table:
        def parsed(file: CsvFile, quotes: bool) -> pa.Table:
            try:
                return file.parse(columns, quotes, kinds)
            except (pa.ArrowInvalid, OSError, UnicodeError):
                if not explain:
                    raise
                raise file.explained(columns, quotes) from None

        files = zip(self.files, quoted, strict=True)
        return pa.concat_tables(each(lambda one: parsed(*one), files, count_threads(None)))

    def _typed(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return typed_text(column, self.files[0].dialect.decimal)

    def _numbers(self, as_text: Collection[str]) -> dict[str, pa.DataType]:
        """The columns that are whole numbers as far as the first rows of all files tell."""
        whole = set.intersection(*(set(file.whole) for file in self.files))
        return {name: pa.int64() for name in self.files[0].names if name in whole and name not in as_text}

    def settle(self, columns: Sequence[str], as_text: Collection[str], threads: int) -> CsvTypes:
        """The types that :meth:`read` gives the columns, from one pass over the files that holds a block at a time."""
        found = each(CsvFile.survey, self.files, threads)
        quoted = tuple(quotes for quotes, _ in found)
        if not any(codes for _, codes in found):
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
                return self._settled(columns, as_text, quoted, self._numbers(as_text), threads)
        return self._settled(columns, as_text, quoted, {}, threads, explain=True)

    def _settled(
        self,
        columns: Sequence[str],
        as_text: Collection[str],
        quoted: tuple[bool, ...],
        kinds: Mapping[str, pa.DataType],
        threads: int,
        *,
        explain: bool = False,
    ) -> CsvTypes:
        decimal = self.files[0].dialect.decimal
        guesses = {name: Guess(decimal) for name in columns if name not in as_text and name not in kinds}
        rows = [0] * len(self.files)
        for i, block in self._blocks(columns, quoted, kinds, threads, explain=explain):
            rows[i] += block.num_rows
            for name, guess in guesses.items():
                guess.look(pa.chunked_array([block[name]]))
        found = {name: guess.kind or pa.string() for name, guess in guesses.items()}
        asked = {name: pa.string() if name in as_text else kinds.get(name) for name in columns}
        return CsvTypes({name: found.get(name, asked[name]) for name in columns}, tuple(rows), quoted)

    def first(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The first records as text, a block of lines at a time; none where they cannot be read."""
        with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
            for file in self.files:
                yield from file.blocks(columns, True, {})

    def stream(self, columns: Sequence[str], types: CsvTypes, threads: int) -> Iterator[pa.RecordBatch]:
        """The columns as :meth:`read` gives them, a block of lines at a time."""
        seen = [0] * len(self.files)
        for i, block in self._blocks(columns, types.quoted, types.kinds, threads, explain=True):
            seen[i] += block.num_rows
            yield block
        for file, rows, found in zip(self.files, types.rows, seen, strict=True):
            if found != rows:
                raise InputError(f"{file.label} has changed while it was read; start again.")

    def _blocks(
        self,
        columns: Sequence[str],
        quoted: Sequence[bool],
        kinds: Mapping[str, pa.DataType],
        threads: int,
        *,
        explain: bool,
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The blocks of all files, each with the number of its file; small files are read a few ahead."""

        def blocks(i: int) -> Iterator[pa.RecordBatch]:
            try:
                yield from self.files[i].blocks(columns, quoted[i], kinds)
            except (pa.ArrowInvalid, OSError, UnicodeError):
                if not explain:
                    raise
                raise self.files[i].explained(columns, quoted[i]) from None

        def is_small(i: int) -> bool:
            return packing(self.files[i].path) is None and self.sizes[i] <= SMALL

        for small, some in itertools.groupby(range(len(self.files)), key=is_small):
            numbers = [*some]
            read = ahead(lambda i: [*blocks(i)], numbers, threads) if small else map(blocks, numbers)
            for i, found in zip(numbers, read, strict=True):
                for block in found:
                    yield i, block


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A text file whose dialect is settled."""

    path: Path
    dialect: CsvDialect
    same: Mapping[str, str | None] = field(default_factory=dict)
    """Columns that it has not, and their value in all its records: what the names of its folders say."""
    called: str = ""
    """What messages call it, where its name is not enough."""

    @property
    def label(self) -> str:
        """What messages call it."""
        return self.called or self.path.name

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""
        return (*self.dialect.names, *self.same)

    @property
    def whole(self) -> tuple[str, ...]:
        """The columns that are whole numbers as far as the first rows tell."""
        return self.dialect.whole

    def table_bytes(self, columns: Sequence[str]) -> int:
        """About how many bytes the columns take as an Arrow table, by the first lines and the length of the text."""
        weight = sum(self.dialect.weights[self.dialect.names.index(name)] for name in columns if name not in self.same)
        return int(weight * unpacked_bytes(self.path))

    def parse(self, columns: Sequence[str], quoted: bool, kinds: Mapping[str, pa.DataType]) -> pa.Table:
        """The columns as text, or as what is said of them."""
        options = self._options(columns, quoted, kinds)
        with self._bytes() as stream:
            return self._with_same(pcsv.read_csv(stream, *options), columns, kinds)

    def blocks(
        self,
        columns: Sequence[str],
        quoted: bool,
        kinds: Mapping[str, pa.DataType],
        *,
        threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """The same, a block at a time."""
        options = self._options(columns, quoted, kinds, threads=threads)
        with self._bytes() as stream, pcsv.open_csv(stream, *options) as reader:
            for block in reader:
                yield self._with_same(block, columns, kinds)

    def _with_same(self, read: Records, columns: Sequence[str], kinds: Mapping[str, pa.DataType]) -> Records:
        """What was read under its names, with the columns that are the same in all records."""
        own = [name for name in columns if name not in self.same]
        if len(own) == len(columns):
            return read.rename_columns(own)
        arrays = dict(zip(own, read.columns, strict=False))
        for name in columns:
            if name in self.same:
                arrays[name] = _repeated(self.same[name], read.num_rows, kinds.get(name), self.dialect.decimal)
        return type(read).from_arrays([arrays[name] for name in columns], names=list(columns))

    def _options(
        self,
        columns: Sequence[str],
        quoted: bool,
        kinds: Mapping[str, pa.DataType],
        *,
        threads: bool = True,
    ) -> tuple[pcsv.ReadOptions, pcsv.ParseOptions, pcsv.ConvertOptions]:
        # By number: names may repeat or differ in case alone.
        numbers = [f"{i}" for i in range(len(self.dialect.names))]
        read = pcsv.ReadOptions(
            column_names=numbers,
            skip_rows=self.dialect.lead,
            skip_rows_after_names=int(self.dialect.header),
            encoding=self.dialect.encoding,
            use_threads=threads,
            block_size=BLOCK_BYTES,
        )
        parse = pcsv.ParseOptions(
            delimiter=self.dialect.delimiter, quote_char=self.dialect.quote, newlines_in_values=quoted
        )
        convert = pcsv.ConvertOptions(
            column_types={
                number: kinds.get(name, pa.string()) for number, name in zip(numbers, self.dialect.names, strict=True)
            },
            # One at least, which tells how many records there are.
            include_columns=[numbers[self.dialect.names.index(name)] for name in columns if name not in self.same]
            or numbers[:1],
            null_values=["", *self.dialect.missing],
            decimal_point=self.dialect.decimal,
            strings_can_be_null=True,
        )
        return read, parse, convert

    def survey(self) -> tuple[bool, bool]:
        """Whether the file may have quotes, and whether numbers in it may be codes such as 007.

        A file without quotes is read faster, since no line end can stand inside a field.
        """
        plain = codecs.lookup(self.dialect.encoding).name in ("utf-8", "ascii", "iso8859-1", "cp1252")
        if plain and packing(self.path) is None and not is_store(self.path):
            quotes, codes = self._survey_mapped()
        else:
            quote, blocks = self.dialect.quote, texts(self.path, self.dialect.encoding)
            quotes, codes = sum(block.count(quote) for block in blocks), True
        if quotes % 2:
            raise InputError(
                f"{self.label}: a quoted field does not end where it should (the file has an odd number of "
                f"quotes); if quotes mean nothing in it, name another with {said('--quote')}."
            )
        return quotes > 0, codes

    def _survey_mapped(self) -> tuple[int, bool]:
        """How many quotes there are, and whether a field may be a code, from the bytes as they lie in the file."""
        from rothko.kernels.text import survey

        marks = np.uint8(ord(self.dialect.delimiter)), np.uint8(ord(self.dialect.quote))
        found = by_block(self.path, lambda data, begin, end: survey(data, np.uint64(begin), np.uint64(end), *marks))
        return sum(quotes for quotes, _ in found), any(zeros for _, zeros in found)

    def explained(self, columns: Sequence[str], quoted: bool) -> InputError:
        """What went wrong and in which line, without the line itself: found by reading once more, in order."""
        try:
            for _ in self.blocks(columns, quoted, {}, threads=False):
                pass
        except UnicodeError:
            return not_in(self.dialect.encoding, self.path)
        except OSError:
            return unread(self.path, f"{self.label} cannot be read to its end: it is damaged or cut short.")
        except pa.ArrowInvalid as error:
            text = str(error)
            if "invalid UTF8" in text:
                return not_in(self.dialect.encoding, self.path)
            counted = re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", text)
            if counted:
                return InputError(
                    f"{self.label}, line {counted[1]}: the line has {counted[3]} fields and the header has "
                    f"{counted[2]}."
                )
            if "straddling" in text:
                return InputError(
                    f"{self.label}: a line is longer than the reader takes; perhaps a quote was left open."
                )
        return InputError(
            f"{self.label} cannot be read as CSV with the delimiter {self.dialect.delimiter!r}; see "
            f"{said('--delimiter')}."
        )

    def _bytes(self) -> pa.NativeFile:
        return in_order(self.path, packing(self.path))


def _repeated(value: str | None, times: int, kind: pa.DataType | None, decimal: str) -> pa.Array:
    """A value of a text file, so many times, as what is said of its column."""
    text = pa.array([value], pa.string())
    if kind == pa.float64():
        text = pc.replace_substring(text, decimal, ".")
    return pa.repeat(text.cast(kind or pa.string())[0], times)

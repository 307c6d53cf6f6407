"""Reading a CSV file: all of it as text first, and its columns typed by what all their values are.

A line that does not fit is an error that names it and does not quote it.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv

from rothko.data.source.csv import BLOCK_BYTES, CsvDialect, CsvOptions, is_packed, not_in, texts, unpacked_bytes
from rothko.data.source.guess import Guess, typed_text
from rothko.data.source.mapped import by_block
from rothko.data.source.source import Source, Taken
from rothko.errors import InputError
from rothko.mistakes import said


def open_csv(path: Path, options: CsvOptions) -> Source:
    """Open a text file in the dialect that its first lines are written in."""
    file = CsvFile(path, CsvDialect.sniff(path, options))
    settled: dict[tuple[str, bool], CsvTypes] = {}
    size, taken = path.stat().st_size, Taken()

    def pieces(columns: Sequence[str], as_text: Collection[str], _: int, __: int) -> Iterator[pa.RecordBatch]:
        # Settled once: a later pass may read fewer of the columns and must find the same types.
        keys = [(name, name in as_text) for name in columns]
        types = settled.get(keys[0])
        if types is None or any(settled.get(key) is not types for key in keys):
            types = file.settle(columns, as_text)
            taken.add(2 * size, passes=2)  # one for quotes, one for types
            settled.update(dict.fromkeys(keys, types))
        return file.stream(columns, types)

    return Source(
        path.name,
        file.dialect.names,
        path,
        file.read,
        notes=file.dialect.notes,
        _pieces=pieces,
        bytes=size,
        named=file.dialect.named,
        _text_bytes=file.table_bytes,
        _first=file.first,
        taken=taken,
        form=file.dialect.told(path, options),
    )


@dataclass(frozen=True, slots=True)
class CsvTypes:
    """What all values of some columns are, known from one pass over the file."""

    kinds: Mapping[str, pa.DataType]
    rows: int
    quoted: bool
    """Whether a line end may stand inside a field."""


@dataclass(frozen=True, slots=True)
class CsvFile:
    """A text file whose dialect is settled."""

    path: Path
    dialect: CsvDialect

    def table_bytes(self, columns: Sequence[str]) -> int:
        """About how many bytes the columns take as an Arrow table, by the first lines and the length of the text."""
        weight = sum(self.dialect.weights[self.dialect.names.index(name)] for name in columns)
        return int(weight * unpacked_bytes(self.path))

    def read(self, columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        """Read the columns; a line that does not fit is an error that names it and does not quote it."""
        quoted, codes = self._survey()
        table = None
        if not codes:
            # No field begins with a zero and a digit, so a whole number is written in one way only, and the
            # reader may turn it into one: twice as fast as by way of text.
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
                table = self._parse(columns, quoted, self._numbers(as_text))
        if table is None:
            try:
                table = self._parse(columns, quoted)
            except (pa.ArrowInvalid, OSError, UnicodeError):
                raise self._explained(columns, quoted) from None
        done = {name for name in columns if name in as_text or table[name].type != pa.string()}
        with ThreadPoolExecutor() as pool:
            read = pool.map(lambda name: table[name] if name in done else self._typed(table[name]), columns)
            return pa.table(dict(zip(columns, read, strict=True)))

    def _typed(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return typed_text(column, self.dialect.decimal)

    def settle(self, columns: Sequence[str], as_text: Collection[str]) -> CsvTypes:
        """The types that :meth:`read` gives the columns, from one pass over the file that holds a block at a time."""
        quoted, codes = self._survey()
        if not codes:
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
                return self._settled(columns, as_text, quoted, self._numbers(as_text))
        try:
            return self._settled(columns, as_text, quoted, {})
        except (pa.ArrowInvalid, OSError, UnicodeError):
            raise self._explained(columns, quoted) from None

    def _settled(
        self,
        columns: Sequence[str],
        as_text: Collection[str],
        quoted: bool,
        kinds: Mapping[str, pa.DataType],
    ) -> CsvTypes:
        guesses = {name: Guess(self.dialect.decimal) for name in columns if name not in as_text and name not in kinds}
        rows = 0
        for block in self._blocks(columns, quoted, kinds):
            rows += block.num_rows
            for name, guess in guesses.items():
                guess.look(pa.chunked_array([block[name]]))
        found = {name: guess.kind or pa.string() for name, guess in guesses.items()}
        asked = {name: pa.string() if name in as_text else kinds.get(name) for name in columns}
        return CsvTypes({name: found.get(name, asked[name]) for name in columns}, rows, quoted)

    def first(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The first records as text, a block of lines at a time; none where they cannot be read."""
        with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
            yield from self._blocks(columns, True, {})

    def stream(self, columns: Sequence[str], types: CsvTypes) -> Iterator[pa.RecordBatch]:
        """The columns as :meth:`read` gives them, a block of lines at a time."""
        seen = 0
        try:
            for block in self._blocks(columns, types.quoted, types.kinds):
                seen += block.num_rows
                yield block
        except (pa.ArrowInvalid, OSError, UnicodeError):
            raise self._explained(columns, types.quoted) from None
        if seen != types.rows:
            raise InputError(f"{self.path.name} has changed while it was read; start again.")

    def _numbers(self, as_text: Collection[str]) -> dict[str, pa.DataType]:
        """The columns that are whole numbers as far as the first rows tell."""
        return {name: pa.int64() for name in self.dialect.whole if name not in as_text}

    def _parse(self, columns: Sequence[str], quoted: bool, kinds: Mapping[str, pa.DataType] | None = None) -> pa.Table:
        """The columns as text, or as what is said of them."""
        options = self._options(columns, quoted, kinds or {})
        with self._bytes() as stream:
            return pcsv.read_csv(stream, *options).rename_columns(list(columns))

    def _blocks(
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
                yield block.rename_columns(list(columns))

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
            include_columns=[numbers[self.dialect.names.index(name)] for name in columns],
            null_values=[""],
            decimal_point=self.dialect.decimal,
            strings_can_be_null=True,
        )
        return read, parse, convert

    def _survey(self) -> tuple[bool, bool]:
        """Whether the file may have quotes, and whether numbers in it may be codes such as 007.

        A file without quotes is read faster, since no line end can stand inside a field.
        """
        plain = codecs.lookup(self.dialect.encoding).name in ("utf-8", "ascii", "iso8859-1", "cp1252")
        if plain and not is_packed(self.path):
            quotes, codes = self._survey_mapped()
        else:
            quote, blocks = self.dialect.quote, texts(self.path, self.dialect.encoding)
            quotes, codes = sum(block.count(quote) for block in blocks), True
        if quotes % 2:
            raise InputError(
                f"{self.path.name}: a quoted field does not end where it should (the file has an odd number of "
                f"quotes); if quotes mean nothing in it, name another with {said('--quote')}."
            )
        return quotes > 0, codes

    def _survey_mapped(self) -> tuple[int, bool]:
        """How many quotes there are, and whether a field may be a code, from the bytes as they lie in the file."""
        from rothko.kernels.text import survey

        marks = np.uint8(ord(self.dialect.delimiter)), np.uint8(ord(self.dialect.quote))
        found = by_block(self.path, lambda data, begin, end: survey(data, np.uint64(begin), np.uint64(end), *marks))
        return sum(quotes for quotes, _ in found), any(zeros for _, zeros in found)

    def _explained(self, columns: Sequence[str], quoted: bool) -> InputError:
        """What went wrong and in which line, without the line itself: found by reading once more, in order."""
        try:
            for _ in self._blocks(columns, quoted, {}, threads=False):
                pass
        except UnicodeError:
            return not_in(self.dialect.encoding, self.path)
        except OSError:
            return InputError(f"{self.path.name} cannot be read to its end: it is damaged or cut short.")
        except pa.ArrowInvalid as error:
            text = str(error)
            if "invalid UTF8" in text:
                return not_in(self.dialect.encoding, self.path)
            counted = re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", text)
            if counted:
                return InputError(
                    f"{self.path.name}, line {counted[1]}: the line has {counted[3]} fields and the header has "
                    f"{counted[2]}."
                )
            if "straddling" in text:
                return InputError(
                    f"{self.path.name}: a line is longer than the reader takes; perhaps a quote was left open."
                )
        return InputError(
            f"{self.path.name} cannot be read as CSV with the delimiter {self.dialect.delimiter!r}; see "
            f"{said('--delimiter')}."
        )

    def _bytes(self) -> pa.NativeFile:
        # Said, not left to the reader's guess at the ending, which takes .GZ for text.
        return pa.input_stream(str(self.path), compression="gzip" if is_packed(self.path) else None)

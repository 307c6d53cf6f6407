"""CSV files: the dialect, sniffed or given, and the columns, typed by what all their values are.

Everything is read as text first. A column becomes numbers or dates only if every one of its values can be
written back as it stood: types guessed from the first rows turn a later 1.5 into 2, and 02139 into 2139.
The delimiter is settled from the first lines before anything else; a sniffer that weighs delimiter and
types together takes a ragged file for a table with a single column.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import itertools
import mmap
import re
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from rothko.errors import InputError

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_BYTES = 1 << 16
BLOCK_BYTES = 1 << 20
"""How much of a file is parsed at a time, and the longest line."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|nan|NaN|[+-]?(inf|Infinity|Inf)")
WHOLE = re.compile(r"-?\d{1,18}")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
NOT_NAMES = {"na", "n/a", "n.a.", "nan", "null", "none", "missing", "unknown"}
"""What stands in the place of a number that is missing, and is not the name of its column."""
TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?")


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """What a person says about a CSV file; None leaves it to the sniffer."""

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that is not known."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(f"The encoding {encoding!r} is not known; try utf-8, utf-16, latin-1 or cp1252.") from None


@dataclass(frozen=True, slots=True)
class CsvTypes:
    """What all values of some columns are, known from one pass over the file."""

    kinds: Mapping[str, pa.DataType]
    rows: int
    quoted: bool
    """Whether a line end may stand inside a field."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a CSV file is read."""

    delimiter: str
    quote: str
    encoding: str
    header: bool
    names: tuple[str, ...]
    whole: tuple[str, ...] = ()
    """The columns that hold whole numbers in the first rows."""
    notes: tuple[str, ...] = ()
    named: bool = True
    """Whether the names are surely names; what is taken for the header may be a record."""
    weights: tuple[float, ...] = ()
    """By column: the bytes that it takes in an Arrow table for each byte of the file, in the first rows."""

    @classmethod
    def sniff(cls, path: Path, options: CsvOptions) -> CsvDialect:
        """Look at the beginning of a file."""
        encoding = options.encoding or _byte_order_mark(path) or "utf-8"
        check_encoding(encoding)
        start, whole = _first_lines(path, encoding)
        quote = options.quote or '"'
        if len(quote) != 1 or (options.delimiter is not None and len(options.delimiter) != 1):
            raise InputError("The delimiter and the quote must be one character each.")
        tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
        delimiter = options.delimiter or ("\t" if tabs else _delimiter(start, quote))
        try:
            rows = csv.reader(io.StringIO(start, newline=""), delimiter=delimiter, quotechar=quote)
            first, sample = next(rows, []), list(itertools.islice(rows, 100))
        except csv.Error:
            raise InputError(f"{path.name}: the first line cannot be read as CSV.") from None
        if not any(cell.strip() for cell in first):
            raise InputError(f"{path.name} has no header in its first line.")
        header = options.header
        if header is None:
            header = not any(NUMBER.fullmatch(cell.strip()) for cell in first)
        names = tuple(first) if header else tuple(f"column{i}" for i in range(len(first)))
        if not all(name.strip() for name in names):
            raise InputError(f"{path.name}: column {1 + [bool(n.strip()) for n in names].index(False)} has no name.")
        if header and not sample and whole:
            raise InputError(f"{path.name} has columns but no records.")
        notes: tuple[str, ...] = ()
        if not header and options.header is None:
            last = len(names) - 1
            notes = (f"The file has no header, it seems; its columns are called column0 to column{last}.",)
        numbers = tuple(
            name
            for i, name in enumerate(names)
            if all(len(row) > i and (not row[i] or WHOLE.fullmatch(row[i])) for row in sample)
        )
        named = not header or bool(options.header) or _are_names(first, sample)
        return cls(delimiter, quote, encoding, header, names, numbers, notes, named, _weights(sample, len(names)))

    def table_bytes(self, path: Path, columns: Sequence[str]) -> int:
        """About how many bytes the columns take as an Arrow table, by the first lines and the length of the text."""
        weight = sum(self.weights[self.names.index(name)] for name in columns)
        return int(weight * _unpacked_bytes(path))

    def read(self, path: Path, columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        """Read the columns; a line that does not fit is an error that names it and does not quote it."""
        quoted, codes = self._survey(path)
        table = None
        if not codes:
            # No field begins with a zero and a digit, so a whole number is written in one way only, and the
            # reader may turn it into one: twice as fast as by way of text.
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
                table = self._parse(path, columns, quoted, self._numbers(as_text))
        if table is None:
            try:
                table = self._parse(path, columns, quoted)
            except (pa.ArrowInvalid, OSError, UnicodeError):
                raise self._explained(path, columns, quoted) from None
        done = {name for name in columns if name in as_text or table[name].type != pa.string()}
        with ThreadPoolExecutor() as pool:
            read = pool.map(lambda name: table[name] if name in done else typed_text(table[name]), columns)
            return pa.table(dict(zip(columns, read, strict=True)))

    def settle(self, path: Path, columns: Sequence[str], as_text: Collection[str]) -> CsvTypes:
        """The types that :meth:`read` gives the columns, from one pass over the file that holds a block at a time."""
        quoted, codes = self._survey(path)
        if not codes:
            with contextlib.suppress(pa.ArrowInvalid, OSError, UnicodeError):
                return self._settled(path, columns, as_text, quoted, self._numbers(as_text))
        try:
            return self._settled(path, columns, as_text, quoted, {})
        except (pa.ArrowInvalid, OSError, UnicodeError):
            raise self._explained(path, columns, quoted) from None

    def _settled(
        self,
        path: Path,
        columns: Sequence[str],
        as_text: Collection[str],
        quoted: bool,
        kinds: Mapping[str, pa.DataType],
    ) -> CsvTypes:
        guesses = {name: _Guess() for name in columns if name not in as_text and name not in kinds}
        rows = 0
        for block in self._blocks(path, columns, quoted, kinds):
            rows += block.num_rows
            for name, guess in guesses.items():
                guess.look(pa.chunked_array([block[name]]))
        found = {name: guess.kind or pa.string() for name, guess in guesses.items()}
        asked = {name: pa.string() if name in as_text else kinds.get(name) for name in columns}
        return CsvTypes({name: found.get(name, asked[name]) for name in columns}, rows, quoted)

    def stream(self, path: Path, columns: Sequence[str], types: CsvTypes) -> Iterator[pa.RecordBatch]:
        """The columns as :meth:`read` gives them, a block of lines at a time."""
        seen = 0
        try:
            for block in self._blocks(path, columns, types.quoted, types.kinds):
                seen += block.num_rows
                yield block
        except (pa.ArrowInvalid, OSError, UnicodeError):
            raise self._explained(path, columns, types.quoted) from None
        if seen != types.rows:
            raise InputError(f"{path.name} has changed while it was read; start again.")

    def _numbers(self, as_text: Collection[str]) -> dict[str, pa.DataType]:
        """The columns that are whole numbers as far as the first rows tell."""
        return {name: pa.int64() for name in self.whole if name not in as_text}

    def _parse(
        self, path: Path, columns: Sequence[str], quoted: bool, kinds: Mapping[str, pa.DataType] | None = None
    ) -> pa.Table:
        """The columns as text, or as what is said of them."""
        options = self._options(columns, quoted, kinds or {})
        with _stream(path) as stream:
            return pcsv.read_csv(stream, *options).rename_columns(list(columns))

    def _blocks(
        self,
        path: Path,
        columns: Sequence[str],
        quoted: bool,
        kinds: Mapping[str, pa.DataType],
        *,
        threads: bool = True,
    ) -> Iterator[pa.RecordBatch]:
        """The same, a block at a time."""
        options = self._options(columns, quoted, kinds, threads=threads)
        with _stream(path) as stream, pcsv.open_csv(stream, *options) as reader:
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
        numbers = [f"{i}" for i in range(len(self.names))]
        read = pcsv.ReadOptions(
            column_names=numbers,
            skip_rows_after_names=int(self.header),
            encoding=self.encoding,
            use_threads=threads,
            block_size=BLOCK_BYTES,
        )
        parse = pcsv.ParseOptions(delimiter=self.delimiter, quote_char=self.quote, newlines_in_values=quoted)
        convert = pcsv.ConvertOptions(
            column_types={
                number: kinds.get(name, pa.string()) for number, name in zip(numbers, self.names, strict=True)
            },
            include_columns=[numbers[self.names.index(name)] for name in columns],
            null_values=[""],
            strings_can_be_null=True,
        )
        return read, parse, convert

    def _survey(self, path: Path) -> tuple[bool, bool]:
        """Whether the file may have quotes, and whether numbers in it may be codes such as 007.

        A file without quotes is read faster, since no line end can stand inside a field.
        """
        plain = codecs.lookup(self.encoding).name in ("utf-8", "ascii", "iso8859-1", "cp1252")
        if plain and not is_packed(path):
            quotes, codes = self._survey_mapped(path)
        else:
            quotes, codes = sum(text.count(self.quote) for text in _texts(path, self.encoding)), True
        if quotes % 2:
            raise InputError(
                f"{path.name}: a quoted field does not end where it should (the file has an odd number of quotes); "
                "if quotes mean nothing in it, name another with --quote."
            )
        return quotes > 0, codes

    def _survey_mapped(self, path: Path) -> tuple[int, bool]:
        """How many quotes there are, and whether a field may be a code, from the bytes as they lie in the file."""
        from rothko.kernels.text import survey

        marks = np.uint8(ord(self.delimiter)), np.uint8(ord(self.quote))
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        data = np.frombuffer(mapped, dtype=np.uint8)

        def look(begin: int) -> tuple[int, bool]:
            end = min(begin + BLOCK_BYTES, len(data))
            found: tuple[int, bool] = survey(data, np.uint64(begin), np.uint64(end), *marks)
            if hasattr(mapped, "madvise"):  # pages that were looked at would count as memory of this process
                mapped.madvise(mmap.MADV_DONTNEED, begin, end - begin)
            return found

        with ThreadPoolExecutor() as pool:
            found = list(pool.map(look, range(0, len(data), BLOCK_BYTES)))
        return sum(quotes for quotes, _ in found), any(zeros for _, zeros in found)

    def _explained(self, path: Path, columns: Sequence[str], quoted: bool) -> InputError:
        """What went wrong and in which line, without the line itself: found by reading once more, in order."""
        try:
            for _ in self._blocks(path, columns, quoted, {}, threads=False):
                pass
        except UnicodeError:
            return _not_in(self.encoding, path)
        except OSError:
            return InputError(f"{path.name} cannot be read to its end: it is damaged or cut short.")
        except pa.ArrowInvalid as error:
            text = str(error)
            if "invalid UTF8" in text:
                return _not_in(self.encoding, path)
            counted = re.match(r"CSV parse error: Row #(\d+): Expected (\d+) columns, got (\d+)", text)
            if counted:
                return InputError(
                    f"{path.name}, line {counted[1]}: the line has {counted[3]} fields and the header has {counted[2]}."
                )
            if "straddling" in text:
                return InputError(
                    f"{path.name}: a line is longer than the reader takes; perhaps a quote was left open."
                )
        return InputError(f"{path.name} cannot be read as CSV with the delimiter {self.delimiter!r}; see --delimiter.")


def typed_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column as whole numbers, numbers, dates or timestamps where all its values are that; else as it is.

    >>> [str(typed_text(pa.chunked_array([words])).type) for words in (["1", "20"], ["1.5", "2"], ["01", "2"])]
    ['int64', 'double', 'string']
    """
    return _Guess().look(column)


class _Guess:
    """What a column of text holds, as far as it was looked at; the first 100 values decide what it may be at all."""

    def __init__(self) -> None:
        self.kind: pa.DataType | None = None
        """The type so far; None while every value is missing."""
        self._pattern: re.Pattern[str] | None = None
        self._seen = 0

    def look(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Look at more of the column; it comes back as the type that fits all so far."""
        if self._seen < 100:
            self._sample(column)
        if self.kind is None or self.kind == pa.string():
            return column
        if self.kind == pa.int64():
            found = _as_integers(column)
            if found is not None:
                return found
            self.kind = pa.float64()
        found = _as_numbers(column) if self.kind == pa.float64() else _cast(column, self.kind)
        if found is None:
            self.kind = pa.string()
        return column if found is None else found

    def _sample(self, column: pa.ChunkedArray) -> None:
        first = column.slice(0, 100)
        values = (first if first.null_count == 0 else column.drop_null()).slice(0, 100 - self._seen).to_pylist()
        self._seen += len(values)
        if values and self._pattern is None:
            kinds = {NUMBER: pa.int64(), DATE: pa.date32(), TIMESTAMP: pa.timestamp("us")}
            fits = [pattern for pattern in kinds if pattern.fullmatch(values[0])]
            self._pattern = fits[0] if fits else NUMBER
            self.kind = kinds[self._pattern] if fits else pa.string()
        if self._pattern is not None and not all(self._pattern.fullmatch(text) for text in values):
            self.kind = pa.string()


def _as_integers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    from rothko.kernels.text import parse_integers

    chunks = []
    for chunk in column.chunks:
        out = np.empty(len(chunk), dtype=np.int64)
        offsets = np.frombuffer(chunk.buffers()[1], dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
        data = np.frombuffer(chunk.buffers()[2] or b"\0", dtype=np.uint8)
        present = chunk.is_valid().to_numpy(zero_copy_only=False)
        if not parse_integers(offsets, data, present, out):
            return None
        chunks.append(pa.array(out, mask=~present) if chunk.null_count else pa.array(out))
    return pa.chunked_array(chunks, pa.int64())


def _as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Decimal numbers; texts with a plus, leading zeros or more digits than a number keeps are codes, and stay text."""
    if pc.any(pc.match_substring_regex(column, r"^(\+|-?0\d|-?\d{19})"), min_count=0).as_py():
        return None
    return _cast(column, pa.float64())


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return None


def is_packed(path: Path) -> bool:
    """Whether a file is compressed by gzip, as its ending says."""
    return path.name.lower().endswith(".gz")


def _stream(path: Path) -> pa.NativeFile:
    # Said, not left to the reader's guess at the ending, which takes .GZ for text.
    return pa.input_stream(str(path), compression="gzip" if is_packed(path) else None)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked."""
    try:
        with gzip.open(path) if is_packed(path) else path.open("rb") as file:
            yield cast(BinaryIO, file)
    except (OSError, EOFError, zlib.error):
        what = "is not a gzip file, or it is damaged or cut short" if is_packed(path) else "cannot be read"
        raise InputError(f"{path.name} {what}.") from None


def _unpacked_bytes(path: Path) -> int:
    if not is_packed(path):
        return path.stat().st_size
    with _opened(path) as file:
        return sum(len(block) for block in iter(lambda: file.read(BLOCK_BYTES), b""))


def _texts(path: Path, encoding: str) -> Iterator[str]:
    """The text, a block at a time."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with _opened(path) as file:
            while raw := file.read(BLOCK_BYTES):
                yield decoder.decode(raw)
    except UnicodeError:
        raise _not_in(encoding, path) from None


def _byte_order_mark(path: Path) -> str | None:
    with _opened(path) as file:
        start = file.read(2)
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else None


def _first_lines(path: Path, encoding: str) -> tuple[str, bool]:
    """The text at the start of the file, cut at the last whole line, and whether that is all of it."""
    with _opened(path) as file:
        raw = file.read(SAMPLE_BYTES)
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)()
    try:
        text = decoder.decode(raw)
    except UnicodeError:
        raise _not_in(encoding, path) from None
    if "\0" in text:
        raise InputError(f"{path.name} is not a text file: it has null bytes.")
    if len(raw) < SAMPLE_BYTES:
        return text, True
    return text[: text.rfind("\n") + 1] or text, False


def _not_in(encoding: str, path: Path) -> InputError:
    """The text is in another encoding: say from which line on."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with _opened(path) as file:
        try:
            while raw := file.read(SAMPLE_BYTES):
                line += decoder.decode(raw).count("\n")
        except UnicodeDecodeError as error:
            line += raw[: error.start].count(b"\n")
    return InputError(
        f"{path.name}, line {line}: the text is not {encoding.upper()}; say what it is, for example --encoding latin-1."
    )


def _are_names(first: Sequence[str], sample: Sequence[Sequence[str]]) -> bool:
    """Whether the first line surely holds names: there are numbers or dates below one, and none stands below itself."""
    found = False
    for i, cell in enumerate(map(str.strip, first)):
        below = [row[i].strip() for row in sample if len(row) > i and row[i].strip()]
        if cell in below or any(kind.fullmatch(cell) for kind in (DATE, TIMESTAMP)):
            return False
        values = below and all(any(kind.fullmatch(text) for kind in (NUMBER, DATE, TIMESTAMP)) for text in below)
        found |= bool(values) and cell[:1].isalpha() and cell.lower() not in NOT_NAMES
    return found


def _weights(sample: Sequence[Sequence[str]], columns: int) -> tuple[float, ...]:
    """By column: the bytes in an Arrow table for each byte of text; eight of a number, of text four beside its own."""
    length = sum(sum(len(cell.encode()) + 1 for cell in row) for row in sample)
    sizes = [sum(max(len(row[i].encode()) + 4, 8) for row in sample if len(row) > i) for i in range(columns)]
    return tuple(size / max(length, 1) for size in sizes)


def _delimiter(text: str, quote: str) -> str:
    """The candidate that cuts the first lines most evenly, and among those most often."""

    def evidence(delimiter: str) -> tuple[int, int]:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote))[:100]
        width = len(rows[0]) if rows else 0
        same = sum(len(row) == width for row in rows)
        return (same if width > 1 else 0, width)

    try:
        best = max(DELIMITERS, key=evidence)
        return best if evidence(best)[1] > 1 else ","
    except csv.Error:
        return ","

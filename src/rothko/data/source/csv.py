"""CSV files: how one is written, sniffed from its first lines or given, and its text.

The delimiter is settled before anything else; a sniffer that weighs delimiter and types together takes a ragged file
for a table with a single column.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rothko.data.source.file_bytes import in_order, size_of, unread
from rothko.data.source.guess import DATE, NUMBER, TIMESTAMP, WHOLE
from rothko.errors import InputError
from rothko.mistakes import said

DELIMITERS = (",", ";", "\t", "|")
DECIMALS = (".", ",")
"""What may stand before the decimals of a number."""
SAMPLE_BYTES = 1 << 16
SAMPLE_RECORDS = 100
BLOCK_BYTES = 1 << 20
"""How much of a file is parsed at a time, and the longest line."""
PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Endings of files that are compressed, and what Arrow calls that."""
LEAD = re.compile(r"sep=(.)\r?\n")
"""A line before the header that tells spreadsheets the delimiter, and is no part of the table."""
OTHERS = {
    b"PAR1": "a Parquet file", b"ARROW1": "an Arrow file", b"\x1f\x8b": "packed by gzip", b"BZh": "packed by bzip2",
    b"\x28\xb5\x2f\xfd": "packed by zstd", b"PK\x03\x04": "a workbook or another zip archive",
    b"\xd0\xcf\x11\xe0": "an old workbook", b"%PDF": "a PDF document", b"SQLite format 3": "a database of SQLite",
    b"$FL2": "a file of SPSS", b"$FL3": "a file of SPSS", b"<stata_dta>": "a file of Stata",
}  # fmt: skip
"""How files begin that are no text, whatever they are called; a text may begin with a column PAR1,"""
NO_TEXT = re.compile(rb"[\0-\x08\x0e-\x1f]")
"""but has none of these bytes."""
MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""How a text in UTF-16 begins, mostly."""
NOT_NAMES = {"na", "n/a", "n.a.", "nan", "null", "none", "missing", "unknown"}
"""What stands in the place of a number that is missing, and is not the name of its column."""


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """What a person says about a CSV file; None leaves it to the sniffer."""

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None
    decimal: str | None = None
    """What stands before the decimals of numbers, a point or a comma; a point where it is None."""
    thousands: str | None = None
    """What parts the thousands of numbers, in columns that are said to hold some."""
    missing: tuple[str, ...] | None = None
    """Words that stand for a missing value: read as nothing."""
    sheet: str | None = None
    """Of a workbook: the sheet that is read; the only one where it is None."""
    format: str | None = None
    """What a file is whose ending does not say it: csv, tsv, parquet or arrow."""


def check_encoding(encoding: str) -> None:
    """Refuse an encoding that is not known."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(f"The encoding {encoding!r} is not known; try utf-8, utf-16, latin-1 or cp1252.") from None


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
    decimal: str = "."
    """What stands before the decimals of its numbers."""
    missing: tuple[str, ...] = ()
    """Words that are read as nothing."""
    lead: int = 0
    """Lines before the first: one that names the delimiter to spreadsheets, ``sep=;``."""

    def told(self, path: Path, said: CsvOptions) -> CsvOptions:
        """What must be said of a file again: all that is not as most files are written, and whether it has a header."""
        usual = "\t" if _has_tabs(path) else ","
        return CsvOptions(
            delimiter=None if self.delimiter == usual else self.delimiter,
            quote=None if self.quote == '"' else self.quote,
            encoding=None if codecs.lookup(self.encoding).name in ("utf-8", "ascii") else self.encoding,
            header=said.header if self.header else False,
            decimal=None if self.decimal == "." else self.decimal,
            thousands=said.thousands,
            missing=said.missing,
        )

    @classmethod
    def sniff(
        cls, path: Path, options: CsvOptions, *, may_be_empty: bool = False, records: int = SAMPLE_RECORDS
    ) -> CsvDialect:
        """Look at the beginning of a file.

        Parameters
        ----------
        records
            How many are looked at, to tell how large the table is and which columns hold numbers.
        may_be_empty
            Whether it may have no records: there are others with the same columns.
        """
        mark = _byte_order_mark(path)
        encoding = options.encoding or mark or "utf-8"
        check_encoding(encoding)
        if mark and codecs.lookup(encoding).name in ("utf-16-le", "utf-16-be"):
            encoding = mark  # by those the mark would be the beginning of the first name
        decimal = options.decimal or "."
        if decimal not in DECIMALS:
            raise InputError("What stands before the decimals must be a point or a comma.")
        start, whole = _first_lines(path, encoding)
        lead = LEAD.match(start)
        start = start[lead.end() :] if lead else start
        quote = options.quote or '"'
        if len(quote) != 1 or (options.delimiter is not None and len(options.delimiter) != 1):
            raise InputError("The delimiter and the quote must be one character each.")
        usual = lead[1] if lead else "\t" if _has_tabs(path) else None
        delimiter = options.delimiter or usual or _delimiter(start, quote)
        try:
            rows = csv.reader(io.StringIO(start, newline=""), delimiter=delimiter, quotechar=quote)
            first, sample = next(rows, []), list(itertools.islice(rows, records))
        except csv.Error:
            raise InputError(f"{path.name}: the first line cannot be read as CSV.") from None
        if not any(cell.strip() for cell in first):
            raise InputError(f"{path.name} has no header in its first line.")
        header = options.header
        if header is None:
            header = not any(NUMBER.fullmatch(cell.strip().replace(decimal, ".")) for cell in first)
        names = tuple(first) if header else tuple(f"column{i}" for i in range(len(first)))
        if not all(name.strip() for name in names):
            number = 1 + [bool(name.strip()) for name in names].index(False)
            raise InputError(f"{path.name}: column {number} has no name; give it one in the first line.")
        if header and not sample and whole and not may_be_empty:
            raise InputError(f"{path.name} has columns but no records.")
        notes: tuple[str, ...] = ()
        if not header and options.header is None:
            last = len(names) - 1
            notes = (f"The file has no header, it seems; its columns are called column0 to column{last}.",)
        absent = {"", *(options.missing or ())}
        numbers = tuple(
            name
            for i, name in enumerate(names)
            if all(len(row) > i and (row[i] in absent or WHOLE.fullmatch(row[i])) for row in sample)
        )
        named = not header or bool(options.header) or _are_names(first, sample, decimal)
        weights = _weights(sample, len(names))
        return cls(
            delimiter, quote, encoding, header, names, numbers, notes, named, weights, decimal, options.missing or (),
            lead=int(bool(lead)),
        )  # fmt: skip


def _has_tabs(path: Path) -> bool:
    """Whether its ending says that a file has tabs between its fields."""
    name = path.name.lower()
    return name.removesuffix(next((ending for ending in PACKED if name.endswith(ending)), "")).endswith(".tsv")


def packing(path: Path) -> str | None:
    """How a file is compressed, as its ending says.

    >>> packing(Path("People.CSV.GZ")), packing(Path("people.csv"))
    ('gzip', None)
    """
    return next((kind for ending, kind in PACKED.items() if path.name.lower().endswith(ending)), None)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The bytes of a file, unpacked."""
    packed = packing(path)
    try:
        with in_order(path, packed) as file:
            yield file
    except OSError:
        what = f"is not a {packed} file, or it is damaged or cut short" if packed else "cannot be read"
        raise unread(path, f"{path.name} {what}.") from None


def unpacked_bytes(path: Path) -> int:
    """How long the text is."""
    if packing(path) is None:
        return size_of(path)
    with opened(path) as file:
        return sum(len(block) for block in iter(lambda: file.read(BLOCK_BYTES), b""))


def texts(path: Path, encoding: str) -> Iterator[str]:
    """The text, a block at a time."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with opened(path) as file:
            while raw := file.read(BLOCK_BYTES):
                yield decoder.decode(raw)
    except UnicodeError:
        raise not_in(encoding, path) from None


def _byte_order_mark(path: Path) -> str | None:
    with opened(path) as file:
        start = file.read(2)
    return "utf-16" if start in MARKS else None


def wide_encoding(start: bytes) -> str | None:
    """What a text in UTF-16 is encoded in, by its mark or by where its zeros are; None where it is not.

    >>> wide_encoding("age".encode("utf-16")), wide_encoding("age".encode("utf-16-be")), wide_encoding(b"age")
    ('utf-16', 'utf-16-be', None)
    """
    if start.startswith(MARKS):
        return "utf-16"
    zeros = [start[side::2].count(0) / max(len(start) // 2, 1) for side in (0, 1)]
    return "utf-16-be" if zeros[0] > 0.5 > zeros[1] else "utf-16-le" if zeros[1] > 0.5 > zeros[0] else None


def _first_lines(path: Path, encoding: str) -> tuple[str, bool]:
    """The text at the start of the file, cut at the last whole line, and whether that is all of it."""
    with opened(path) as file:
        raw = file.read(SAMPLE_BYTES)
    other = next((kind for magic, kind in OTHERS.items() if raw.startswith(magic)), None)
    if other is not None and NO_TEXT.search(raw):
        raise InputError(f"{path.name} is {other}, not text; give it the ending that says so.")
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)()
    try:
        text = decoder.decode(raw)
    except UnicodeError:
        raise not_in(encoding, path) from None
    if "\0" in text:
        wide = wide_encoding(raw)
        hint = "" if wide is None else f" If it is UTF-16, say so: {said('--encoding', wide)}."
        raise InputError(f"{path.name} is not a text file: it has null bytes.{hint}")
    if len(raw) < SAMPLE_BYTES:
        return text, True
    return text[: text.rfind("\n") + 1] or text, False


def not_in(encoding: str, path: Path) -> InputError:
    """The text is in another encoding: say from which line on."""
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with opened(path) as file:
        try:
            while raw := file.read(SAMPLE_BYTES):
                line += decoder.decode(raw).count("\n")
        except UnicodeDecodeError as error:
            line += raw[: error.start].count(b"\n")
    return InputError(
        f"{path.name}, line {line}: the text is not {encoding.upper()}; say what it is, for example "
        f"{said('--encoding', 'latin-1')}."
    )


def _are_names(first: Sequence[str], sample: Sequence[Sequence[str]], decimal: str) -> bool:
    """Whether the first line surely holds names: there are numbers or dates below one, and none stands below itself."""
    found = False
    for i, cell in enumerate(map(str.strip, first)):
        below = [row[i].strip() for row in sample if len(row) > i and row[i].strip()]
        if cell in below or any(kind.fullmatch(cell) for kind in (DATE, TIMESTAMP)):
            return False
        plain = [text.replace(decimal, ".") for text in below]
        values = plain and all(any(kind.fullmatch(text) for kind in (NUMBER, DATE, TIMESTAMP)) for text in plain)
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

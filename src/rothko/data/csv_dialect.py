"""The dialect of a CSV file: delimiter, quote, encoding, header and types, sniffed or given.

The delimiter is settled from the first lines before any type is guessed. A sniffer that weighs both at
once takes a ragged file for a table with a single column; here it stays what it is, an error with a line.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from rothko.data.sql import connect, exact_path, quoted
from rothko.errors import InputError, nearest

DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = ("utf-8", "utf-16", "latin-1")
"""Those that DuckDB decodes by itself."""
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 20_480
TYPES = ("BIGINT", "DOUBLE", "DATE", "TIMESTAMP")
"""Types that are taken over from the sniffer; all others stay text, as they are written."""


@dataclass(frozen=True, slots=True)
class CsvOptions:
    """What a person says about a CSV file; None leaves it to the sniffer."""

    delimiter: str | None = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """How a CSV file is read."""

    delimiter: str
    quote: str
    encoding: str
    header: bool
    names: tuple[str, ...]
    types: tuple[str, ...]
    """A DuckDB type per column, from the first rows."""
    formats: tuple[tuple[str, str], ...]
    """How dates and timestamps are written, where they are not ISO."""
    notes: tuple[str, ...] = ()

    @classmethod
    def sniff(cls, path: Path, options: CsvOptions) -> CsvDialect:
        """Look at the beginning of a file."""
        encoding = (options.encoding or _byte_order_mark(path) or "utf-8").lower()
        encoding = {"utf8": "utf-8", "utf16": "utf-16", "latin1": "latin-1", "iso-8859-1": "latin-1"}.get(
            encoding, encoding
        )
        if encoding not in ENCODINGS:
            raise InputError(f"The encoding {encoding!r} is not supported; {nearest(encoding, ENCODINGS)}.")
        start = _first_lines(path, encoding)
        quote = options.quote or '"'
        if options.delimiter is not None and len(options.delimiter) != 1:
            raise InputError("The delimiter must be one character.")
        delimiter = options.delimiter or _delimiter(start, quote)
        try:
            first = next(csv.reader(io.StringIO(start), delimiter=delimiter, quotechar=quote), [])
        except csv.Error:
            raise InputError(f"{path.name}: the first line cannot be read as CSV.") from None
        if not any(cell.strip() for cell in first):
            raise InputError(f"{path.name} has no header in its first line.")
        guess = _guess(path, delimiter, quote, encoding, options.header)
        if guess is None or len(guess[1]) != len(first):
            # The rows do not fit the first line: let the strict reader say where.
            guess = options.header is not False, ("VARCHAR",) * len(first), ()
        header, types, formats = guess
        names = tuple(first) if header else tuple(f"column{i}" for i in range(len(first)))
        if header and not all(name.strip() for name in names):
            raise InputError(f"{path.name}: column {1 + [bool(n.strip()) for n in names].index(False)} has no name.")
        notes = (
            ()
            if header or options.header is False
            else (f"{path.name} has no header; its columns are called column0 … column{len(names) - 1}.",)
        )
        return cls(delimiter, quote, encoding, header, names, types, formats, notes)

    def read(self, path: Path, columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        """Read the columns; a line that does not fit is an error that names it and does not quote it."""
        try:
            return self._query(path, columns, as_text, self.types)
        except duckdb.ConversionException:
            # A value further down does not fit the type of the first rows: look at them all.
            guess = _guess(path, self.delimiter, self.quote, self.encoding, self.header, rows=-1)
            types = (
                guess[1] if guess is not None and len(guess[1]) == len(self.names) else ("VARCHAR",) * len(self.names)
            )
        except duckdb.Error as error:
            raise _explained(path, error) from None
        try:
            return self._query(path, columns, as_text, types)
        except duckdb.Error as error:
            raise _explained(path, error) from None

    def _query(self, path: Path, columns: Sequence[str], as_text: Collection[str], types: Sequence[str]) -> pa.Table:
        spec = {n: "VARCHAR" if n in as_text else t for n, t in zip(self.names, types, strict=True)}
        if not columns:
            return pa.table({})
        parameters: dict[str, object] = {
            "path": exact_path(path),
            "delim": self.delimiter,
            "quote": self.quote,
            "encoding": self.encoding,
            "header": self.header,
            "columns": spec,
            **dict(self.formats),
        }
        chosen = ", ".join(quoted(name) for name in columns)
        options = ", ".join(f"{key} = ${key}" for key in parameters if key != "path")
        with connect() as connection:
            return connection.sql(
                f"SELECT {chosen} FROM read_csv($path, {options}, escape = $quote, auto_detect = false, "
                "strict_mode = true)",
                params=parameters,
            ).to_arrow_table()


def _byte_order_mark(path: Path) -> str | None:
    with path.open("rb") as file:
        start = file.read(2)
    return "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else None


def _first_lines(path: Path, encoding: str) -> str:
    """The text at the start of the file, cut at the last whole line."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            raw = file.read(SAMPLE_BYTES)
    except (OSError, EOFError):
        raise InputError(f"{path.name} cannot be read, or is not a gzip file.") from None
    decoder = codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)()
    try:
        text = decoder.decode(raw)
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InputError(
            f"{path.name}, line {line}: the text is not {encoding.upper()}; say what it is, "
            "for example --encoding latin-1."
        ) from None
    if "\0" in text:
        raise InputError(f"{path.name} is not a text file: it has null bytes.")
    return text if len(raw) < SAMPLE_BYTES else text[: text.rfind("\n") + 1] or text


def _delimiter(text: str, quote: str) -> str:
    """The candidate that cuts the first lines most evenly, and among those most often."""

    def evidence(delimiter: str) -> tuple[int, int]:
        rows = list(csv.reader(io.StringIO(text), delimiter=delimiter, quotechar=quote))[:100]
        width = len(rows[0]) if rows else 0
        same = sum(len(row) == width for row in rows)
        return (same if width > 1 else 0, width)

    try:
        best = max(DELIMITERS, key=evidence)
    except csv.Error:
        return ","
    return best if evidence(best)[1] > 1 else ","


def _guess(
    path: Path, delimiter: str, quote: str, encoding: str, header: bool | None, rows: int = SAMPLE_ROWS
) -> tuple[bool, tuple[str, ...], tuple[tuple[str, str], ...]] | None:
    """Header, types and date formats as DuckDB's sniffer sees them; None where it cannot make sense of the file."""
    known = "" if header is None else f", header = {str(header).lower()}"
    with connect() as connection:
        try:
            found = connection.execute(
                "SELECT HasHeader, Columns, DateFormat, TimestampFormat FROM sniff_csv($path, delim = $delim, "
                f"quote = $quote, escape = $quote, encoding = $encoding, strict_mode = true, sample_size = {rows}"
                f"{known})",
                {"path": exact_path(path), "delim": delimiter, "quote": quote, "encoding": encoding},
            ).fetchone()
        except duckdb.Error:
            return None
    assert found is not None
    has_header, columns, date, timestamp = found
    types = tuple(c["type"] if c["type"] in TYPES else "VARCHAR" for c in columns)
    formats = (("dateformat", date), ("timestampformat", timestamp))
    return has_header, types, tuple((key, value) for key, value in formats if value)


def _explained(path: Path, error: duckdb.Error) -> InputError:
    """What went wrong and in which line, without the line itself."""
    text = str(error)
    found = re.search(r"Line: (\d+)", text)
    where = f"{path.name}, line {found[1]}" if found else path.name
    if "unicode" in text or "utf-8" in text:
        return InputError(f"{where}: the text is not UTF-8; say what it is, for example --encoding latin-1.")
    counted = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", text)
    if counted:
        return InputError(f"{where}: the line has {counted[2]} fields and the header has {counted[1]}.")
    if "quote" in text:
        return InputError(f"{where}: a quoted field does not end where it should.")
    if "Maximum line size" in text:
        return InputError(f"{where}: the line is longer than the reader takes; is a quote left open?")
    return InputError(f"{where}: the file cannot be read as CSV with the delimiter it seems to have; see --delimiter.")

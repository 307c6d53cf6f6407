"""Workbooks (.xlsx) with one sheet: numbers, dates and truth values as such where a sheet has them exactly, else text.

Written here and not by a library: a cell is put together once for each distinct value, as in CSV, and a file holds
nothing but its cells: no author, no time, no list of shared strings in the order of the input. Strings stand in their
cells. What looks like a formula is a text cell marked as such, and stays one when somebody edits it.

A sheet has doubles only, of which programs show fifteen digits, and days since 1900. A number with more digits, a day
before March 1900 (some programs count a 29th of February 1900) and a time finer than milliseconds are text. So every
value is read again as it was: the verifier reads all cells by calamine, as texts.
"""

from __future__ import annotations

import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import IO
from xml.sax.saxutils import quoteattr

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.source.spreadsheet import needs_reader, texts_of
from rothko.errors import OutputError
from rothko.progress import each
from rothko.release.formats.format import Labels, Untyped
from rothko.release.formulas import BEGINS
from rothko.release.kinds import cell_texts
from rothko.release.rows import Rows

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 1 << 20, 1 << 14, 32_767
"""What a sheet holds, and a cell of it."""
LARGE = pa.large_string()
BLOCK = 1 << 15
"""Rows that are joined at a time."""
EPOCH = 25_569
"""The day 1970-01-01 of a sheet."""
MARCH_1900 = 61
LAST_DAY = 2_958_465
"""The 31st of December 9999."""
DIGITS = 10**15
"""Whole numbers below this are shown with all their digits."""
DAY_MS = 86_400_000
DATE, TIMESTAMP, QUOTED = 1, 2, 3
"""Styles of cells, by their place in the list of :data:`STYLES`."""

SPECIAL = r"[&<>\x00-\x08\x0b-\x1f]|_x[0-9A-Fa-f]{4}"
"""What cannot stand in the XML of a text as it is; ``_x0041`` could end in a ``_`` that begins another one."""
NOWHERE = r"[\x{fffe}\x{ffff}]"
"""What XML has no character for, and readers of workbooks none that is escaped."""

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
STYLES = (
    f'{HEAD}<styleSheet xmlns="{MAIN}"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/>'
    '<numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd\\ hh:mm:ss.000"/></numFmts>'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs><cellXfs count="4">'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)
PARTS = {
    "[Content_Types].xml": f'{HEAD}<Types xmlns="{PACKAGE}/content-types">'
    f'<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{KIND}.styles+xml"/></Types>',
    "_rels/.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="release" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>',
    "xl/styles.xml": STYLES,
}
"""All of a workbook but its sheet."""


class Xlsx(Untyped):
    """Cells with a kind each; columns have no types."""

    def writer(self, path: Path, *, threads: int, escape: bool, labels: Labels) -> _Writer:
        """A new file; nothing needs an apostrophe, for a text cell is none that is computed."""
        needs_reader(path)
        return _Writer(path, threads)

    def view(
        self, connection: duckdb.DuckDBPyConnection, path: Path, used: Collection[str], table: str, longest: int
    ) -> tuple[str, ...]:
        """Let a sheet be a table of texts."""
        read = texts_of(path)
        names = tuple(read.column_names)
        connection.register(table, read.rename_columns([f"c{i}" for i in range(len(names))]))
        return names


class _Writer:
    """Rows go into the packed sheet as they come."""

    def __init__(self, path: Path, threads: int) -> None:
        self.escaped: set[str] = set()
        self._path, self._threads, self._rows = path, threads, 1
        self._file: zipfile.ZipFile | None = None
        self._sheet: IO[bytes] | None = None

    def write(self, rows: Rows) -> None:
        self._rows += len(rows.classes)
        if self._rows > MOST_ROWS:
            raise OutputError(
                f"A sheet has at most {MOST_ROWS:,} rows, one of them the head, and the release has more records; "
                "write .csv or .parquet."
            )
        if self._sheet is None:
            self._begin(rows.columns)
        assert self._sheet is not None
        for some in rows.slices():
            table = some.to_arrow(threads=self._threads)
            cells = each(lambda name: _cells(name, table[name]), table.column_names, self._threads)  # noqa: B023
            for begin in range(0, table.num_rows, BLOCK):
                self._sheet.write(_lines([column.slice(begin, BLOCK) for column in cells]))

    def _begin(self, names: Collection[str]) -> None:
        if len(names) > MOST_COLUMNS:
            raise OutputError(f"A sheet has at most {MOST_COLUMNS:,} columns, and the release has {len(names):,}.")
        self._file = zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED)
        for name, text in PARTS.items():
            self._file.writestr(_part(name), text)
        self._sheet = self._file.open(_part("xl/worksheets/sheet1.xml"), "w", force_zip64=True)
        heads = "".join(_text_cells("a name of a column", pa.array(list(names), LARGE)).to_pylist())
        self._sheet.write(f"{HEAD}<worksheet xmlns={quoteattr(MAIN)}><sheetData><row>{heads}</row>".encode())

    def close(self) -> None:
        sheet, file = self._sheet, self._file
        self._sheet = self._file = None  # whoever streams closes twice
        if sheet is not None:
            sheet.write(b"</sheetData></worksheet>")
            sheet.close()
        if file is not None:
            file.close()


def _part(name: str) -> zipfile.ZipInfo:
    """A part of the file, at the time at which all of them are."""
    part = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    part.compress_type = zipfile.ZIP_DEFLATED
    part.create_system, part.external_attr = 0, 0
    return part


def _cells(name: str, column: pa.ChunkedArray) -> pa.Array:
    """The cells of a column, put together once for each distinct value where they repeat: then a dictionary."""
    array = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(array.type) and _repeats(array.type):
        array = pc.dictionary_encode(array)
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _cells_of(name, array.dictionary))
    return _cells_of(name, array)


def _lines(cells: list[pa.Array]) -> memoryview:
    """The bytes of some rows: joined, their texts lie one after the other."""
    texts = [one.dictionary.take(one.indices) if pa.types.is_dictionary(one.type) else one for one in cells]
    full = [pc.fill_null(one, "<c/>") for one in texts]
    begin, end = pa.scalar("<row>", LARGE), pa.scalar("</row>", LARGE)
    lines = pc.binary_join_element_wise(begin, *full, end, pa.scalar("", LARGE))
    at = np.frombuffer(lines.buffers()[1], dtype=np.int64)
    return memoryview(lines.buffers()[2])[at[0] : at[len(lines)]]


def _repeats(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_integer(kind) or types.is_date(kind))


def _cells_of(name: str, values: pa.Array) -> pa.Array:
    """Cells of values, null for none."""
    kind, types = values.type, pa.types
    texts = cell_texts(values).cast(LARGE)
    if types.is_boolean(kind):
        return _joined('<c t="b"><v>', pc.if_else(values, "1", "0").cast(LARGE), "</v></c>")
    if types.is_integer(kind) or types.is_decimal128(kind) or types.is_floating(kind):
        return pc.if_else(
            _is_exact(values), _joined("<c><v>", texts, "</v></c>"), _numbers_as_text(name, values, texts)
        )
    if types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32())
        return _dated(name, days.cast(pa.int64()), DATE, pc.is_valid(days), texts)
    if types.is_timestamp(kind) and kind.tz is None:
        return _timed(name, values, texts)
    return _text_cells(f"column {name!r}", texts)


def _is_exact(numbers: pa.Array) -> pa.Array:
    """Whether a sheet shows numbers with all their digits."""
    if pa.types.is_floating(numbers.type):
        return pc.is_finite(numbers)
    limit = pa.scalar(DIGITS, pa.int64())
    if pa.types.is_integer(numbers.type):
        wide = numbers.cast(pa.decimal128(20, 0)) if pa.types.is_uint64(numbers.type) else numbers.cast(pa.int64())
        return pc.and_(pc.less(wide, limit.cast(wide.type)), pc.greater(wide, pa.scalar(-DIGITS).cast(wide.type)))
    digits = pc.utf8_length(pc.utf8_ltrim(pc.replace_substring_regex(numbers.cast(LARGE), r"\D", ""), "0"))
    return pc.less_equal(digits, 15)


def _numbers_as_text(name: str, numbers: pa.Array, texts: pa.Array) -> pa.Array:
    """Those that no cell holds; what is no number is nothing."""
    if pa.types.is_floating(numbers.type):
        texts = pc.if_else(pc.is_nan(numbers), pa.scalar(None, LARGE), texts)
    return _text_cells(f"column {name!r}", texts)


def _dated(
    name: str, days: pa.Array, style: int, exact: pa.Array, texts: pa.Array, part: pa.Array | None = None
) -> pa.Array:
    """Days of a sheet, and the part of a day; as text those that no sheet has."""
    serial = pc.add(days, EPOCH)
    there = pc.and_(pc.greater_equal(serial, MARCH_1900), pc.less_equal(serial, LAST_DAY))
    numbers = serial.cast(LARGE)
    if part is not None:
        numbers = pc.binary_join_element_wise(numbers, part, pa.scalar("", LARGE))
    cells = _joined(f'<c s="{style}"><v>', numbers, "</v></c>")
    return pc.if_else(pc.and_(there, exact), cells, _text_cells(f"column {name!r}", texts))


def _timed(name: str, values: pa.Array, texts: pa.Array) -> pa.Array:
    """Timestamps as days and a part of one, to 11 digits: a millisecond is 1.2e-8 of a day."""
    whole = values.cast(pa.timestamp("ms"), safe=False)
    exact = pc.equal(whole.cast(values.type, safe=False), values)
    ms = whole.cast(pa.int64()).to_numpy(zero_copy_only=False)
    present = pc.is_valid(values).to_numpy(zero_copy_only=False)
    ms = np.where(present, ms, 0).astype(np.int64)
    days, rest = np.divmod(ms, DAY_MS)
    parts = (rest * 10**11 + DAY_MS // 2) // DAY_MS
    part = pc.utf8_lpad(pa.array(parts).cast(pa.string()), 11, "0").cast(LARGE)
    part = pc.binary_join_element_wise(pa.scalar(".", LARGE), part, pa.scalar("", LARGE))
    days = pa.array(days, mask=~present)
    return _dated(name, days, TIMESTAMP, exact, texts, part)


def _text_cells(where: str, texts: pa.Array) -> pa.Array:
    """Texts in their cells; what looks like a formula is marked, so that it stays text when it is edited."""
    longest = pc.max(pc.utf8_length(texts)).as_py() or 0
    if longest > MOST_CHARACTERS:
        raise OutputError(
            f"A cell of a sheet has at most {MOST_CHARACTERS:,} characters, and {where} has longer texts; write .csv "
            "or .parquet."
        )
    if pc.any(pc.match_substring_regex(texts, NOWHERE), min_count=0).as_py():
        raise OutputError(
            f"No workbook holds the characters U+FFFE and U+FFFF, and {where} has texts with them; write .csv or "
            ".parquet."
        )
    begins = pc.match_substring_regex(texts, f"^{BEGINS}")
    plain = _joined('<c t="inlineStr"><is><t xml:space="preserve">', _in_xml(texts), "</t></is></c>")
    if not pc.any(begins, min_count=0).as_py():
        return plain
    marked = pc.replace_substring(plain, "<c ", f'<c s="{QUOTED}" ', max_replacements=1)
    return pc.if_else(begins, marked, plain)


def _in_xml(texts: pa.Array) -> pa.Array:
    """Texts as XML has them; what XML has no character for as workbooks escape it, ``_x0001_``."""
    if not pc.any(pc.match_substring_regex(texts, SPECIAL), min_count=0).as_py():
        return texts
    texts = pc.replace_substring_regex(texts, r"_(x[0-9A-Fa-f]{4})", r"_x005F_\1")
    for sign, word in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, sign, word)
    for code in (*range(9), 11, 12, *range(14, 32)):
        texts = pc.replace_substring(texts, chr(code), f"_x{code:04X}_")
    return texts


def _joined(before: str, texts: pa.Array, after: str) -> pa.Array:
    return pc.binary_join_element_wise(pa.scalar(before, LARGE), texts, pa.scalar(after, LARGE), pa.scalar("", LARGE))

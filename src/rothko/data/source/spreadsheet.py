"""Sheets of workbooks: .xlsx, .xlsm, .ods and .xls, by calamine, which reads the very numbers that a file has.

A sheet is read once, as a whole, for its cells cannot be found otherwise; a million rows are the most that one has.
What a person may not see who looks at it (hidden rows and columns, errors, columns of several kinds) is told.
Messages name cells by their address and never say what is in them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.source.cells import TEXT, Column, column_of, released, together
from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import Source
from rothko.data.source.workbook import Beside, check_workbook, damaged, letters, look_beside
from rothko.errors import InputError, MissingExtraError, nearest
from rothko.mistakes import said

PIECE = 1 << 14
"""Rows that are turned into columns at a time."""
NEEDS = "needs python-calamine; pip install 'rothko[excel]'."


def open_spreadsheet(path: Path, options: CsvOptions) -> Source:
    """Open a sheet of a workbook."""
    calamine = _calamine(path)
    check_workbook(path)
    try:
        book = calamine.load_workbook(str(path))
        sheets = book.sheets_metadata
    except BaseException as error:
        raise _told(error, path) from None
    number, others = _chosen(path, sheets, options.sheet, calamine)
    name = sheets[number].name
    beside = look_beside(path, number, name)
    try:
        sheet = book.get_sheet_by_index(number)
        merged = list(sheet.merged_cell_ranges or ())
        corner = sheet.start or (0, 0)
        rows = sheet.iter_rows() if sheet.start is not None else iter(())
        read = _table(_Where(path.name, name, others), corner, _skipped(rows, corner[0]), merged, options, beside)
    except InputError:
        raise
    except BaseException as error:
        raise _told(error, path) from None
    table = read.table
    return Source(
        path.name,
        tuple(table.column_names),
        path,
        lambda columns, _: table.select(list(columns)),
        notes=read.notes,
        _pieces=lambda columns, _, __, ___: _pieces(table, columns),
        rows=table.num_rows,
        bytes=path.stat().st_size,
        named=read.named,
        form=CsvOptions(sheet=name if others else None, header=options.header),
    )


def texts_of(path: Path) -> pa.Table:
    """The first sheet of a workbook, every cell as text: what the verifier reads of a release."""
    calamine = _calamine(path)
    try:
        sheet = calamine.load_workbook(str(path)).get_sheet_by_index(0)
        rows = _skipped(sheet.iter_rows(), (sheet.start or (0, 0))[0])
        names = [str(cell) for cell in next(rows, [])]
        read = _read_columns(rows, len(names))
    except BaseException as error:
        raise _told(error, path) from None
    return pa.Table.from_arrays([released(column.values) for column in read], names=names)


def _pieces(table: pa.Table, columns: Sequence[str]) -> Iterator[pa.Table]:
    yield table.select(list(columns))


def needs_reader(path: Path) -> None:
    """Say at once where what reads workbooks is not installed."""
    _calamine(path)


def _calamine(path: Path) -> Any:
    try:
        import python_calamine
    except ImportError:
        raise MissingExtraError(f"{path.name} {NEEDS}") from None
    return python_calamine


def _told(error: BaseException, path: Path) -> BaseException:
    """What became of a workbook; a panic of the reader is no error to Python, and an interrupt none of a workbook."""
    kind = type(error).__name__
    if kind == "PasswordError":
        return InputError(f"{path.name} is protected by a password; save it without one, and start again.")
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit | MemoryError):
        return error
    return damaged(path)


def _chosen(path: Path, sheets: Sequence[Any], asked: str | None, calamine: Any) -> tuple[int, list[str]]:
    """The number of the sheet that is asked for, and the names of the others; the only one that is seen by default."""
    seen = calamine.SheetVisibleEnum.Visible
    there = {one.name: i for i, one in enumerate(sheets) if one.typ == calamine.SheetTypeEnum.WorkSheet}
    if asked is not None:
        if asked not in there:
            raise InputError(f"{path.name} has no sheet {asked!r}; {nearest(asked, list(there))}")
        return there[asked], [name for name in there if name != asked]
    visible = [name for name in there if sheets[there[name]].visible == seen]
    if not visible:
        raise InputError(f"{path.name} has no sheet that is not hidden; name one with {said('--sheet')}.")
    if len(visible) > 1:
        listed = ", ".join(repr(name) for name in visible[:8]) + (" …" if len(visible) > 8 else "")
        raise InputError(f"{path.name} has {len(visible)} sheets: {listed}; name one with {said('--sheet')}.")
    return there[visible[0]], [name for name in there if name != visible[0]]


@dataclass(frozen=True, slots=True)
class _Where:
    file: str
    sheet: str
    others: list[str]

    def __str__(self) -> str:
        return f"{self.file}, sheet {self.sheet!r}" if self.others else self.file


@dataclass(frozen=True, slots=True)
class _Read:
    table: pa.Table
    named: bool
    notes: tuple[str, ...]


def _skipped(rows: Iterator[list[Any]], first: int) -> Iterator[list[Any]]:
    """The rows from the first that has a cell: the reader begins at the top of the sheet, at the first column."""
    return itertools.islice(rows, first, None)


def _table(
    where: _Where,
    corner: tuple[int, int],
    rows: Iterator[list[Any]],
    merged: Sequence[tuple[tuple[int, int], tuple[int, int]]],
    options: CsvOptions,
    beside: Beside,
) -> _Read:
    """A sheet as a table, and what is told of it."""
    top, left = corner
    if beside.uncomputed:
        at = f"; the first is {beside.first}" if beside.first else ""
        raise InputError(
            f"{where}: {beside.uncomputed:,} cell(s) hold a formula that was never computed{at}; open the workbook in "
            "a spreadsheet program, save it, and start again."
        )
    first = next(rows, [])
    if not any(cell != "" for cell in first):
        raise InputError(f"{where} is empty.")
    if options.header is False:
        rows, names = itertools.chain([first], rows), [f"column{i}" for i in range(len(first))]
    else:
        _check_heads(where, corner, first, merged, options)
        names = [_name(cell) for cell in first]
    columns = _read_columns(rows, len(names))
    kept = [i for i, name in enumerate(names) if name.strip() or columns[i].counts]
    unnamed = next((i for i in kept if not names[i].strip()), None)
    if unnamed is not None:
        raise InputError(
            f"{where}: the head of column {letters(left + unnamed)} (cell {letters(left + unnamed)}{top + 1}) is "
            "empty, and there are values below it; name it, or delete the column and rows above the names."
        )
    if not columns or len(columns[0].values) == 0:
        raise InputError(f"{where} has columns but no records.")
    table = pa.Table.from_arrays([columns[i].values for i in kept], names=[names[i] for i in kept])
    table, empty = _without_empty(table)
    told = list(_hidden(where, names, left, beside))
    told += _kinds({names[i]: columns[i] for i in kept})
    told += _errors(names, left, beside)
    below = [one for one in merged if one[0][0] > top or options.header is False]
    if below:
        (row, column), _ = min(below)
        told.append(
            f"{len(below):,} group(s) of cells are merged, the first at {letters(column)}{row + 1}: only the first "
            "cell of each has a value, the others are missing."
        )
    if empty:
        told.append(f"{empty:,} row(s) without any value are left out.")
    named = bool(options.header) or any(not pa.types.is_string(kind) for kind in table.schema.types)
    return _Read(table, options.header is False or named, tuple(told))


def _name(cell: Any) -> str:
    return cell if isinstance(cell, str) else str(column_of([cell, "x"]).values[0].as_py())


def _check_heads(
    where: _Where,
    corner: tuple[int, int],
    first: Sequence[Any],
    merged: Sequence[tuple[tuple[int, int], tuple[int, int]]],
    options: CsvOptions,
) -> None:
    """Refuse a first row that cannot be one of names."""
    top, left = corner
    for (row, column), (last_row, last) in merged:
        if row <= top <= last_row and (last > column or last_row > row):
            raise InputError(
                f"{where}: the cells {letters(column)}{row + 1}:{letters(last)}{last_row + 1} in the head are merged; "
                "give every column a name of its own in one row, and delete what stands above it."
            )
    odd = next((i for i, cell in enumerate(first) if not isinstance(cell, str)), None)
    if odd is not None and options.header is None:
        raise InputError(
            f"{where}: the head of column {letters(left + odd)} (cell {letters(left + odd)}{top + 1}) is no text; if "
            f"the first row is a record, use {said('--header', False)}, if it holds names, {said('--header', True)}."
        )


def _read_columns(rows: Iterator[Sequence[Any]], width: int) -> list[Column]:
    """The columns of a sheet; some rows at a time, for as objects they take ten times the memory."""
    parts: list[list[Column]] = [[] for _ in range(width)]
    while some := list(itertools.islice(rows, PIECE)):
        for held, cells in zip(parts, zip(*some, strict=True), strict=True):
            held.append(column_of(cells))
    return [together(held) for held in parts]


def _without_empty(table: pa.Table) -> tuple[pa.Table, int]:
    """A table without the rows that have no value, and how many these are."""
    there = None
    for column in table.columns:
        if column.null_count == 0:
            return table, 0
        there = column.is_valid() if there is None else pc.or_(there, column.is_valid())
    left = table.filter(there)
    return left, table.num_rows - left.num_rows


def _hidden(where: _Where, names: Sequence[str], left: int, beside: Beside) -> Iterator[str]:
    """A hidden column is data: it is read, and told."""
    hidden = [names[i - left] for i in sorted({*beside.hidden_columns}) if left <= i < left + len(names)]
    if hidden:
        listed = ", ".join(map(repr, hidden[:8])) + (f" and {len(hidden) - 8} more" if len(hidden) > 8 else "")
        yield f"{listed}: hidden in the sheet, and read like the others."
    elif beside.some_hidden:
        yield "The sheet has hidden columns, which are read like the others."
    if beside.hidden_rows:
        yield f"The sheet has {beside.hidden_rows:,} hidden row(s) or groups of rows, which are read like the others."
    if where.others:
        yield f"The workbook has {len(where.others):,} more sheet(s), which are not read."


def _kinds(columns: dict[str, Column]) -> Iterator[str]:
    for name, column in columns.items():
        kinds = column.counts
        if len(kinds) > 1 and pa.types.is_string(column.values.type):
            told = " and ".join(f"{count:,} of {kind}" for kind, count in sorted(kinds.items()))
            zeros = "; numbers may have lost zeros before them" if TEXT in kinds and "number" in kinds else ""
            yield f"{name!r} has cells of several kinds, {told}: it is read as text{zeros}."


def _errors(names: Sequence[str], left: int, beside: Beside) -> Iterator[str]:
    by_letters = {letters(left + i): name for i, name in enumerate(names)}
    for at, count in sorted(beside.errors.items()):
        which = f"{by_letters[at]!r} has" if at in by_letters else "The sheet has"
        yield f"{which} {count:,} cell(s) with an error such as #N/A, which are taken for missing."

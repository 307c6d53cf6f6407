"""Set-valued records from files, and from whatever a caller has in memory.

Text has a record on each line, an empty line for one without items; items are separated by blanks or by a delimiter.
Other files are tables, of which the form says how to read them (:mod:`rothko.sets.records`).
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.source.csv import CsvOptions, check_encoding
from rothko.data.source.formats import check_file
from rothko.data.source.open import open_source
from rothko.data.source.source import PIECE_ROWS, Source, of_size
from rothko.data.source.spark import brought
from rothko.errors import InputError, nearest
from rothko.mistakes import said
from rothko.sets import records as sets
from rothko.sets import tables
from rothko.sets.records import Records

LINES = (".txt", ".dat", ".basket", ".txt.gz", ".dat.gz", ".basket.gz")
"""Endings of files with a record on each line."""
BLOCK = 1 << 25
"""Bytes of a text file that are taken apart at a time."""
CELLS = 1 << 22
"""Cells of a table that are read at a time."""
Utility = Mapping[str, float] | str | Path | None
"""Item → utility, a CSV file of both, or None for 1 each."""
FORMS = ("auto", "lines", "list", "long", "boolean", "table")
"""How records lie in a file or a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How to read records, as a caller or a command line says it."""

    form: str = "auto"
    """lines, list, long, boolean, table; ``auto`` finds out where there is no doubt."""
    delimiter: str | None = None
    """What separates the items of a line; blanks by default. Of a table: what separates its columns."""
    encoding: str | None = None
    """Of text, and of a file of utilities: such as utf-16 or latin-1; utf-8 by default."""
    column: str | None = None
    """The list column."""
    record: str | None = None
    """The column of long form that tells the record."""
    item: str | None = None
    """The column of long form that tells the item."""
    worth: str | None = None
    """The column of long form that tells the utility of the item."""
    columns: Sequence[str] | None = None
    """The columns of a table, or the boolean ones; all by default."""
    bins: Mapping[str, float] = field(default_factory=dict)
    """Column of numbers → width of its bins."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Column of a table → its hierarchy."""
    hierarchy: Hierarchy | None = None
    """A hierarchy of the items themselves; its ancestors become items."""

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise InputError(
                f"The form must be one of {', '.join(FORMS)}, not {self.form!r}; {nearest(self.form, FORMS)}"
            )
        if self.delimiter is not None and (not self.delimiter or set(self.delimiter) & set("\r\n")):
            raise InputError("The delimiter must be a character that does not end a line.")
        if self.encoding is not None:
            check_encoding(self.encoding)
        if (self.record is None) != (self.item is None):
            raise InputError("Long form needs both columns: the one of the record and the one of the item.")


def read_records(data: Any, reading: Reading | None = None, *, utility: Utility = None) -> Records:
    """Records from a path, a table or dataframe, an Arrow list array, a SciPy matrix, lists, or as they are.

    >>> read_records([["tea", "milk"], ["tea"]]).count
    2
    """
    how = reading or Reading()
    return completed(_read(data, how), how, utility)


def completed(records: Records, how: Reading, utility: Utility) -> Records:
    """Records as they were read, with the ancestors of their items and with utilities."""
    if how.hierarchy is not None:
        records = sets.with_ancestors(records, how.hierarchy)
    if isinstance(utility, str | Path):
        utility = read_utility(utility, encoding=how.encoding)
    if utility is not None:
        records = sets.with_utility(records, utility)
    return records


def _read(data: Any, how: Reading) -> Records:
    if isinstance(data, Records):
        return data
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return sets.from_list_column(data)
    if hasattr(data, "tocsr"):
        return sets.from_csr(data, names=how.columns)
    if isinstance(data, list | tuple):
        return sets.from_lists(data)
    if isinstance(data, str | Path) and (how.form == "lines" or has_lines(Path(data).name, how)):
        return read_lines(Path(data), delimiter=how.delimiter, encoding=how.encoding)
    csv = CsvOptions(delimiter=how.delimiter, encoding=how.encoding)
    named = (how.column, how.record, how.item, how.worth, *(how.columns or ()), *how.bins, *how.hierarchies)
    return _from_source(open_source(data, csv=csv, asked=[name for name in named if name is not None]), how)


def has_lines(name: str, how: Reading) -> bool:
    """Whether a file has a record on each line, as its ending says and nothing else contradicts."""
    other = how.columns is not None or how.record is not None or how.column is not None
    return how.form == "auto" and not other and name.lower().endswith(LINES)


@dataclass(frozen=True, slots=True)
class Pieces:
    """How the records of a table are read, some rows at a time."""

    columns: list[str]
    read: Callable[[pa.Table], Records]
    """Some rows → their records, with the items that these have."""
    as_text: Collection[str] = ()
    """Columns of a text file that are left as they are written."""
    rows: int = PIECE_ROWS
    """How many are read at a time."""
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    """Of columns, whose ancestors become items when all are known: so what has none is counted over all records."""


def _from_source(source: Source, how: Reading) -> Records:
    form = form_of(source, how)
    if form == "long":
        wanted = long_columns(source, how)
        pieces = _batches(source, wanted, wanted[:2])
        return tables.from_long(pieces, record=wanted[0], item=wanted[1], worth=how.worth)
    reader = pieces_of(source, how, form)
    records = _in_pieces(_batches(source, reader.columns, reader.as_text, reader.rows), reader.read)
    return with_columns_above(records, reader)


def _batches(source: Source, columns: list[str], as_text: Collection[str], rows: int = PIECE_ROWS) -> (
    Iterable[pa.Table]
):  # fmt: skip
    """The records, some at a time; those of a cluster are brought here as a whole."""
    if source.frame is not None:
        return of_size([source.read(columns)], rows)
    return source.batches(columns, as_text=as_text, rows=rows)


def with_columns_above(records: Records, reader: Pieces) -> Records:
    """The records with the ancestors of items of columns."""
    for name, hierarchy in reader.hierarchies.items():
        records = sets.with_ancestors(records, hierarchy, prefix=f"{name}=")
    return records


def long_columns(source: Source, how: Reading) -> list[str]:
    """The columns of long form: of the record, of the item, and of its utility where there is one."""
    if how.record is None or how.item is None:
        raise InputError(
            "Long form needs the column of the record and the one of the item "
            f"({said('--record', within='reading=Reading')}, {said('--item', within='reading=Reading')})."
        )
    return [_column(name, source) for name in (how.record, how.item, how.worth) if name is not None]


def pieces_of(source: Source, how: Reading, form: str) -> Pieces:
    """How a table is read, in a form in which a row is a record."""
    if form == "list":
        return Pieces([_column(how.column or _list_column(source), source)], _from_lists)
    chosen = _chosen(how.columns, source)
    if form == "boolean":
        return Pieces(chosen, tables.from_booleans, rows=_rows(chosen))
    for name in (*how.bins, *how.hierarchies):
        _check_column(name, chosen)
    plain = [name for name in chosen if name not in how.bins]
    return Pieces(chosen, partial(tables.from_table, bins=how.bins), plain, _rows(chosen), how.hierarchies)


def _from_lists(piece: pa.Table) -> Records:
    return sets.from_list_column(piece.column(0))


def form_of(source: Source, how: Reading) -> str:
    """The form that is asked for, or the only one that fits."""
    if how.form == "lines":
        raise InputError("Only a file can have a record on each line.")
    return _found(source, how) if how.form == "auto" else how.form


def _found(source: Source, how: Reading) -> str:
    """The form, where there is only one that fits."""
    if how.column is not None:
        return "list"
    if how.record is not None:
        return "long"
    if how.bins or how.hierarchies or how.columns is not None:
        return "table"
    if len(_list_columns(source)) == 1:
        return "list"
    raise InputError(
        f"{source.label} may be read in several ways; say which with a form: long (record and item columns), boolean "
        "(a column for each item), table (cells become items), list (a list column) or lines "
        f"({said('--form', within='reading=Reading')})."
    )


def _list_column(source: Source) -> str:
    """The column of lists, where there is one."""
    found = _list_columns(source)
    if len(found) != 1:
        raise InputError(
            f"{source.label} has {len(found) or 'no'} columns of lists; "
            + (f"name one of them ({said('--column', within='reading=Reading')})." if found else "choose another form.")
        )
    return found[0]


def _list_columns(source: Source) -> list[str]:
    if source.text:
        return []
    first = brought(source.frame.limit(0)) if source.frame is not None else next(iter(source.batches(rows=1)))
    return [one.name for one in first.schema if sets.is_list(one.type)]


def _column(name: str, source: Source) -> str:
    if name not in source.names:
        raise InputError(f"{source.label} has no column {name!r}; {nearest(name, source.names)}")
    return name


def _check_column(name: str, names: Sequence[str]) -> None:
    """Refuse a column that is not there."""
    if name not in names:
        raise InputError(f"There is no column {name!r}; {nearest(name, names)}")


def _chosen(columns: Sequence[str] | None, source: Source) -> list[str]:
    return list(source.names) if columns is None else [_column(name, source) for name in columns]


def _rows(columns: Sequence[str]) -> int:
    """Records that are read at a time: fewer of a wide table, since readers hold cells of all its columns."""
    return max(CELLS // max(len(columns), 1), 1)


def _in_pieces(pieces: Iterable[pa.Table], read: Callable[[pa.Table], Records]) -> Records:
    """Some records at a time: the cells of all take several times the memory of the records."""
    numbers: dict[str, int] = {}
    items: list[NDArray[np.int32]] = []
    lengths: list[NDArray[np.int64]] = []
    for piece in pieces:
        some = read(piece)
        items.append(sets.renumbered(some.items, some.names, numbers))
        lengths.append(np.diff(some.starts))
    return _put_together(items, lengths, numbers)


# ── Utilities


def read_utility(path: str | Path, *, encoding: str | None = None) -> dict[str, float]:
    """Utilities from a file with the columns ``item`` and ``utility``, or with an item and a number in each row."""
    source = open_source(path, csv=CsvOptions(encoding=encoding))
    if len(source.names) != 2 and not {"item", "utility"} <= set(source.names):
        raise InputError(f"{source.label} has {len(source.names)} columns; utilities need 'item' and 'utility'.")
    columns = ("item", "utility") if {"item", "utility"} <= set(source.names) else source.names
    table = source.read(columns, as_text=[columns[0]])
    items = tables.cells(table.column(0), "item")  # by this name: without a header, what is taken for one is an item
    if items.null_count:
        raise InputError(f"{source.label} has {items.null_count:,} rows without an item; remove them.")
    names = items.to_pylist()
    values = tables.numbers_of(table.column(1), "utility")
    again = [name for name, times in Counter(names).items() if times > 1]
    if again:
        raise InputError(
            f"{source.label} tells the utility of {len(again):,} items more than once; leave one row for each "
            f"({said('--show-values')} lists them).",
            values=again,
        )
    return dict(zip(names, values.tolist(), strict=True))


# ── A record a line


def read_lines(path: Path, *, delimiter: str | None = None, encoding: str | None = None) -> Records:
    """Records from a text file, also compressed by gzip.

    Parameters
    ----------
    delimiter
        What separates the items; blanks and tabs by default. Blanks around an item are dropped, an empty item too.
    """
    check_file(path)
    numbers: dict[str, int] = {}
    items: list[NDArray[np.int32]] = []
    lengths: list[NDArray[np.int64]] = []
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        unpacked = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file
        if encoding is not None:
            unpacked = cast(BinaryIO, codecs.EncodedFile(unpacked, "utf-8", encoding))
        for lines in _blocks(unpacked, path.name):
            some, counts = split_lines(pa.array(lines, pa.large_string()), delimiter, numbers)
            items.append(some)
            lengths.append(counts)
    return _put_together(items, lengths, numbers)


def _put_together(items: list[NDArray[np.int32]], lengths: list[NDArray[np.int64]], numbers: dict[str, int]) -> Records:
    starts = np.concatenate([np.zeros(1, dtype=np.int64), *lengths])
    np.cumsum(starts, out=starts)
    return sets.from_arrays(starts, sets.joined(items), list(numbers))


def _blocks(file: BinaryIO, name: str) -> Iterator[list[str]]:
    """The lines, some megabytes at a time."""
    rest, seen = b"", 0
    while True:
        try:
            block = file.read(BLOCK)
        except (OSError, EOFError, zlib.error):
            raise InputError(f"{name} is not a gzip file, or it is cut short.") from None
        except UnicodeDecodeError as error:
            raise InputError(
                f"{name} is not {error.encoding.upper()}; say what it is with "
                f"{said('--encoding', within='reading=Reading')}."
            ) from None
        whole = rest + block
        if seen == 0:
            whole = whole.removeprefix(b"\xef\xbb\xbf")
        cut = whole.rfind(b"\n") + 1 if block else len(whole)
        rest = whole[cut:]
        lines = _text(whole[:cut], name, seen).split("\n")
        if lines[-1] == "":  # what follows the last end of a line is no record
            lines.pop()
        if lines:
            yield lines
        seen += len(lines)
        if not block:
            return


def _text(block: bytes, name: str, lines: int) -> str:
    """Text from bytes; anything else is refused by the line where it is."""

    def line(end: int) -> int:
        return lines + block.count(b"\n", 0, end) + 1

    zero = block.find(b"\x00")
    if zero >= 0:
        raise InputError(f"{name}, line {line(zero):,}: there are zero bytes, so this is no text, or text in UTF-16.")
    try:
        return block.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{name}, line {line(error.start):,}: the text is not UTF-8; say what it is, for example "
            f"{said('--encoding', 'latin-1', within='reading=Reading')}."
        ) from None


def split_lines(
    lines: pa.Array, delimiter: str | None, numbers: dict[str, int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The items of each line as numbers, and how many each has; names that are new get the next numbers."""
    parts = (
        pc.utf8_split_whitespace(pc.utf8_trim_whitespace(lines))
        if delimiter is None
        else pc.split_pattern(lines, delimiter)
    )
    texts = pc.utf8_trim_whitespace(parts.flatten())
    encoded = pc.dictionary_encode(texts)
    code = np.array(
        [numbers.setdefault(text, len(numbers)) if text else -1 for text in encoded.dictionary.to_pylist()],
        dtype=np.int32,
    )
    items = code[encoded.indices.to_numpy()]
    kept = np.concatenate(([0], np.cumsum(items >= 0)))
    offsets = parts.offsets.to_numpy()
    return items[items >= 0], np.diff(kept[offsets]).astype(np.int64)

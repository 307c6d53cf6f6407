"""A table that lies in several files: read as if they were one, whichever order they come in.

Text files have the types that all values in all of them have, as one file of all their lines would. Columns of files
with types must be of one type, or of types that one holds without loss: whole numbers of several sizes, texts, and
columns of which a file knows no value. Anything else is refused, with the names of the file and of the column.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa

from rothko.data.plain import as_plain, is_text_type
from rothko.data.source.csv import SAMPLE_RECORDS, CsvDialect, CsvOptions
from rothko.data.source.csv_file import CsvFile, open_texts
from rothko.data.source.file_bytes import SMALL, at_once, stamps
from rothko.data.source.guess import typed_text
from rothko.data.source.listing import Files, Listing, Member, listed, paths_below
from rothko.data.source.source import DAMAGED, PIECE_ROWS, Source
from rothko.errors import InputError
from rothko.mistakes import said
from rothko.progress import ahead, count_threads, each

SOME = 10
"""Records that are looked at of each further text file."""
UNITS = ("s", "ms", "us", "ns")


def open_several(path: Files, csv: CsvOptions) -> Source:
    """Open all files of a list, a folder or a pattern as one table."""
    if csv.format is not None:
        raise InputError(f"{said('--input-format')} is for one file; where there are several, they have endings.")
    found = listed(path)
    before = dict(zip(found.paths, stamps(found.paths), strict=True))
    source = _open_texts(found, csv) if found.form.text else _open_typed(found, csv)
    return replace(
        source,
        label=found.label,
        path=path,
        notes=(*source.notes, *found.notes),
        _stamps=before,
        _others=found.others,
        _listed=lambda: paths_below(path),
    )


def _open_texts(found: Listing, said: CsvOptions) -> Source:
    """Text files, all written as the first one is."""
    first = _sniffed(found.members[0], said)
    alike = replace(said, delimiter=first.delimiter, quote=first.quote, header=first.header)
    others = each(lambda member: _sniffed(member, alike, SOME), found.members[1:], at_once(found.members[0].path))
    dialects = [first, *others]
    files = []
    for member, dialect in zip(found.members, dialects, strict=True):
        if dialect.names != first.names:
            raise _other_columns(found.members[0], member, first, dialect, said)
        same = {name: value for name, value in member.told.items() if name not in dialect.names}
        files.append(CsvFile(member.path, replace(dialect, notes=()), same, member.label))
    return replace(open_texts(files, found.label, said), notes=first.notes)


def _sniffed(member: Member, options: CsvOptions, records: int = SAMPLE_RECORDS) -> CsvDialect:
    with _called(member):
        return CsvDialect.sniff(member.path, options, may_be_empty=True, records=records)


def _other_columns(usual: Member, member: Member, first: CsvDialect, other: CsvDialect, said: CsvOptions) -> InputError:
    """What is said of a text file with other columns; what stands in its first line may be cells, and is not shown."""
    alone = CsvDialect.sniff(member.path, said, may_be_empty=True)
    beside = f"{member.label} is not written as {usual.label}: "
    if first.header and not alone.header:
        return InputError(f"{beside}it has no header, it seems.")
    if {*alone.names} == {*first.names} and alone.delimiter != first.delimiter:
        return InputError(f"{beside}its delimiter is {alone.delimiter!r}, and there it is {first.delimiter!r}.")
    if {*other.names} == {*first.names}:
        return InputError(f"{beside}its columns come in another order; write all files alike.")
    missing = [i for i, name in enumerate(first.names) if name not in other.names]
    if not missing:
        return InputError(f"{beside}it has {len(other.names)} columns, and there are {len(first.names)}.")
    which = repr(first.names[missing[0]]) if first.named else str(missing[0] + 1)
    return InputError(f"{beside}it lacks the column {which}.")


# ── Files whose columns have types


@dataclass(frozen=True, slots=True)
class _Part:
    """A file, and what it has to be given to be one of several."""

    source: Source
    label: str
    told: dict[str, tuple[pa.Scalar, pa.Scalar]]
    """Columns that are the same in all its records: their value, and how it is written."""
    types: dict[str, pa.DataType]
    """Columns that it has with another type than the table."""

    def read(self, columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        return self._whole(self.source._read(self._own(columns), as_text), columns, as_text)

    def pieces(self, columns: Sequence[str], as_text: Collection[str], rows: int, threads: int) -> Iterator[pa.Table]:
        assert self.source._pieces is not None
        for piece in self.source._pieces(self._own(columns), as_text, rows, threads):
            table = piece if isinstance(piece, pa.Table) else pa.Table.from_batches([piece])
            yield self._whole(table, columns, as_text)

    def _own(self, columns: Sequence[str]) -> list[str]:
        """What is read of the file: a column at least, which tells how many records there are."""
        return [name for name in columns if name not in self.told] or [self.source.names[0]]

    def _whole(self, table: pa.Table, columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        if not self.told and self.types.keys().isdisjoint(columns):
            return table
        arrays = {}
        for name in columns:
            if name in self.told:
                arrays[name] = pa.repeat(self.told[name][name in as_text], table.num_rows)
            elif name in self.types:
                arrays[name] = self._as(name, table[name])
            else:
                arrays[name] = table[name]
        return pa.table(arrays)

    def _as(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        kind = self.types[name]
        try:
            if is_text_type(column.type) and not pa.types.is_dictionary(kind):
                column = as_plain(column)
            return column.cast(kind)
        except DAMAGED:
            raise InputError(
                f"{self.label}: the column {name!r} holds {column.type}, and some of its values cannot be "
                f"{kind}, as in other files; write all files with one type."
            ) from None


def _open_typed(found: Listing, options: CsvOptions) -> Source:
    """Files whose columns have types."""

    def opened(member: Member) -> Source:
        with _called(member):
            return found.form.open(member.path, options)

    sources = each(opened, found.members, at_once(found.members[0].path))
    kinds = _kinds(found.members, sources)
    told = _said_by_folders([{n: v for n, v in one.told.items() if n not in kinds} for one in found.members])
    usual = pa.schema(kinds.items())
    parts = [
        _Part(source, member.label, same, _others(source.schema, usual))
        for member, source, same in zip(found.members, sources, told, strict=True)
    ]

    def read(columns: Sequence[str], as_text: Collection[str]) -> pa.Table:
        tables = each(lambda run: [part.read(columns, as_text) for part in run], _runs(parts), count_threads(None))
        return pa.concat_tables(itertools.chain.from_iterable(tables)).combine_chunks()

    def pieces(columns: Sequence[str], as_text: Collection[str], rows: int, threads: int) -> Iterator[pa.Table]:
        def together(run: Sequence[_Part]) -> pa.Table:
            # As a whole, however few records are asked for: a piece for each would take longer than all of them.
            tables = itertools.chain.from_iterable(part.pieces(columns, as_text, PIECE_ROWS, 1) for part in run)
            return pa.concat_tables(tables).combine_chunks()

        for small, some in itertools.groupby(parts, key=lambda part: is_small(part.source)):
            if small:
                # One thread reads them, so several of them are read at a time.
                yield from ahead(together, _runs(some, rows), threads)
            else:
                yield from itertools.chain.from_iterable(part.pieces(columns, as_text, rows, threads) for part in some)

    return Source(
        found.label,
        (*sources[0].names, *told[0]),
        None,
        read,
        _pieces=pieces,
        rows=sum(source.rows or 0 for source in sources),
        bytes=sum(source.bytes for source in sources),
    )


def is_small(source: Source) -> bool:
    """Whether a file may be in memory as a whole, beside others: few bytes may hold many records that are alike."""
    return source.bytes <= SMALL and _values(source) <= SMALL


def _values(source: Source) -> int:
    return (source.rows or 0) * len(source.names)


def _runs(parts: Iterable[_Part], rows: int = PIECE_ROWS) -> Iterator[list[_Part]]:
    """Files that follow each other and are read at a time, for what is done by file and not by record takes a while.

    Together they are no larger than one small file may be, and end with the one that makes them so many records.
    """
    run: list[_Part] = []
    size, values, there = 0, 0, 0
    for part in parts:
        source = part.source
        size, values, there = size + source.bytes, values + _values(source), there + (source.rows or 0)
        if run and (size > SMALL or values > SMALL):
            yield run
            run, size, values, there = [], source.bytes, _values(source), source.rows or 0
        run.append(part)
        if there >= rows:
            yield run
            run, size, values, there = [], 0, 0, 0
    if run:
        yield run


def _others(schema: pa.Schema | None, usual: pa.Schema) -> dict[str, pa.DataType]:
    """Columns that have another type in a file than in the table → their type in the table."""
    assert schema is not None
    if schema.equals(usual):
        return {}
    return {one.name: usual.field(one.name).type for one in schema if one.type != usual.field(one.name).type}


def _kinds(members: Sequence[Member], sources: Sequence[Source]) -> dict[str, pa.DataType]:
    """The type of each column, which holds those of all files without loss."""
    first, usual = sources[0], members[0]
    assert first.schema is not None
    kinds = {field.name: _roomy(field.type) for field in first.schema}
    seen = [first.schema]
    for member, source in zip(members, sources, strict=True):
        assert source.schema is not None
        if any(source.schema.equals(one) for one in seen[:8]):
            continue
        seen.append(source.schema)
        for name in first.names:
            if name not in source.names:
                raise InputError(f"{member.label} lacks the column {name!r} of {usual.label}.")
        for field in source.schema:
            if field.name not in kinds:
                raise InputError(f"{member.label} has the column {field.name!r}, which {usual.label} has not.")
            joint = _joint(kinds[field.name], _roomy(field.type))
            if joint is None:
                raise InputError(
                    f"{member.label}: the column {field.name!r} holds {field.type}, and in other files "
                    f"{kinds[field.name]}; write all files with one type."
                )
            kinds[field.name] = joint
    return kinds


def _roomy(kind: pa.DataType) -> pa.DataType:
    """The type of a column of several files: codes that count the labels of one file may be too few for those of all.

    >>> str(_roomy(pa.dictionary(pa.int8(), pa.string())))
    'dictionary<values=string, indices=int32, ordered=0>'
    """
    return pa.dictionary(pa.int32(), kind.value_type, kind.ordered) if pa.types.is_dictionary(kind) else kind


def _joint(one: pa.DataType, two: pa.DataType) -> pa.DataType | None:
    """The type that holds the values of both as they are; None where there is none.

    >>> str(_joint(pa.int32(), pa.int64())), _joint(pa.int64(), pa.float64())
    ('int64', None)
    """
    types = pa.types
    if one == two or types.is_null(two):
        return one
    if types.is_null(one):
        return two
    if types.is_integer(one) and types.is_integer(two):
        return _whole_number(one, two)
    if is_text_type(one) and is_text_type(two):
        return pa.large_string() if types.is_large_string(one) or types.is_large_string(two) else pa.string()
    if types.is_timestamp(one) and types.is_timestamp(two) and one.tz == two.tz:
        return max(one, two, key=lambda kind: UNITS.index(kind.unit))
    if types.is_decimal(one) and types.is_decimal(two) and one.scale == two.scale:
        return max(one, two, key=lambda kind: kind.precision)
    return None


def _whole_number(one: pa.DataType, two: pa.DataType) -> pa.DataType | None:
    signed, other = pa.types.is_signed_integer(one), pa.types.is_signed_integer(two)
    if signed == other:
        return max(one, two, key=lambda kind: kind.bit_width)
    width = max(one.bit_width * (1 if signed else 2), two.bit_width * (1 if other else 2))
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(width)


def _said_by_folders(told: Sequence[dict[str, str | None]]) -> list[dict[str, tuple[pa.Scalar, pa.Scalar]]]:
    """What the names of folders say of each file, of one type by column: numbers where all are, and are written so."""
    words = {name: pa.chunked_array([pa.array([one[name] for one in told], pa.string())]) for name in told[0]}
    values = {name: typed_text(column) for name, column in words.items()}
    return [{name: (values[name][i], words[name][i]) for name in words} for i in range(len(told))]


@contextmanager
def _called(member: Member) -> Iterator[None]:
    """Call a file in messages as it is called below its folder: names of files may be the same in several."""
    try:
        yield
    except InputError as error:
        if str(error).startswith(member.path.name):
            raise InputError(member.label + str(error).removeprefix(member.path.name)) from None
        raise

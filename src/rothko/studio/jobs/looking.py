"""What is found out about the table as it is: a draft of its policy, and how far its records can be told apart.

Columns stay here as codes once they were read, so that another role of one column takes a count and no reading. First
a sample is looked at, the records at the beginning of the table; then all of it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import rank
from rothko.data.line import as_text
from rothko.data.schema import Role
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.typed import read_as
from rothko.errors import InputError, RothkoError
from rothko.metrics.uniqueness import class_sizes, unique_share
from rothko.policy.column import Column
from rothko.policy.draft import Draft, Proposal, draft
from rothko.policy.input import InputForm
from rothko.policy.opened import opened
from rothko.policy.policy import Policy
from rothko.policy.spelling import encoded
from rothko.release.check import check
from rothko.release.verify import Finding
from rothko.studio.jobs import Telling

SAMPLE = 20_000
"""Records that are looked at first."""
SHOWN = 12
"""Records that a person sees of the table."""
PARTS = 16
"""Bars of a small histogram, at most."""
LARGEST = 1000
"""Sizes of classes that are told one by one."""
MANY = 40
"""Of more quasi-identifiers than these it is not counted what each of them adds."""
ALL = 64
"""Of so many columns all are read at once; of more, those that are asked for."""


@dataclass(frozen=True, slots=True)
class Bars:
    """A small histogram: records by value, or by stretch of values."""

    counts: tuple[int, ...]
    ends: tuple[str, str]
    """The first value and the last; or the most frequent one and how many there are."""
    ordered: bool
    """Whether they stand in the order of the values; otherwise the most frequent stands first."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A table as it was looked at."""

    draft: Draft
    label: str
    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    """The first records, as text."""
    bars: dict[str, Bars]
    exact: bool
    """Whether all records were looked at."""
    records: int | None
    """How many there are; None where that is not known yet."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """How far records are told apart by some quasi-identifiers."""

    records: int
    exact: bool
    classes: int
    by_size: tuple[int, ...]
    """Records in classes of one record, of two, …; in the last, of all larger ones."""
    smallest: int
    alone: dict[str, float] = field(default_factory=dict)
    """Share of records that are unique by one quasi-identifier."""
    adds: dict[str, float] = field(default_factory=dict)
    """How much the share that is unique by all falls without it."""

    @property
    def unique(self) -> float:
        """The share of records that are alone with what they show."""
        return self.by_size[0] / max(self.records, 1)

    def below(self, k: int) -> tuple[int, int]:
        """Classes and records below k; as far as sizes are told one by one."""
        few = self.by_size[: min(k, LARGEST) - 1]
        return sum(n // (size + 1) for size, n in enumerate(few)), sum(few)


def ready(telling: Telling) -> None:
    """Look at a few records, so that what it takes is loaded when it is needed."""
    table = pa.table({"age": [30, 40] * 30, "name": [f"n{i}" for i in range(60)], "ill": ["a", "b", "c"] * 20})
    codes = _codes(table, Policy.quick(["age"], qi=["age"], k=2), ["age"])
    _counted(Columns({"age": next(iter(codes.values()))}), exact=False)
    draft(table)


def sample(telling: Telling, *, data: Any, csv: CsvOptions | None = None) -> Seen:
    """Look at the first records; where they are not UTF-8, in the encoding that the draft of all of them takes."""
    try:
        source, first = _first(data, csv)
    except InputError:
        read, _ = encoded(data, csv or CsvOptions())
        if read.encoding is None or read == csv:
            raise
        source, first = _first(data, read)
        found = draft(first)
        form = InputForm.of(replace(found.policy.input.options(), encoding=read.encoding))
        found = replace(found, policy=found.policy.but(input=form))
    else:
        found = draft(first)
    return _seen(source.label, first, found, exact=False, records=source.rows)


def _first(data: Any, csv: CsvOptions | None) -> tuple[Source, pa.Table]:
    source = open_source(data, csv=csv)
    first = source.peek(source.names, rows=SAMPLE)
    if first is None:
        source.read()  # which says what is wrong
        raise InputError(f"{source.label} has columns but no records.")
    return source, first.slice(0, SAMPLE)


def whole(telling: Telling, *, data: Any, csv: CsvOptions | None = None) -> Seen:
    """Look at all records."""
    telling.stage("read", 0, 1)
    found = draft(data, csv=csv)
    source = opened(data, found.policy)
    first = source.peek(source.names, rows=SAMPLE)
    assert first is not None, "a table that a draft was made of has records"
    telling.stage("read", 1, 1)
    return _seen(source.label, first.slice(0, SAMPLE), found, exact=True, records=found.rows)


def _seen(label: str, first: pa.Table, found: Draft, *, exact: bool, records: int | None) -> Seen:
    bars = {}
    for proposal in found.proposals:
        drawn = _bars(first[proposal.name], proposal, found.policy)
        if drawn is not None:
            bars[proposal.name] = drawn
    head = first.slice(0, SHOWN)
    columns = [[_short(value) for value in _texts(column)] for column in head.columns]
    return Seen(
        found,
        label,
        tuple(first.column_names),
        tuple(zip(*columns, strict=True)),
        bars,
        exact,
        records,
    )


def _texts(column: pa.ChunkedArray) -> list[Any]:
    return [None if value is None else str(value) for value in column.to_pylist()]


def _short(value: str | None, most: int = 60) -> str | None:
    return value if value is None or len(value) <= most else f"{value[: most - 1]}…"


KINDS = {"numbers": "number", "whole numbers": "number", "dates": "date", "timestamps": "timestamp"}
"""What the values of a column are, as a proposal says it → the type that they are read as."""


def _bars(column: pa.ChunkedArray, proposal: Proposal, policy: Policy) -> Bars | None:
    kind: str = policy.columns[proposal.name].type
    if kind == "auto":  # the first records of a text file are texts
        kind = KINDS.get(proposal.type.removesuffix(" stored as text"), kind)
    try:
        typed = read_as(proposal.name, column, kind, policy.missing)
        codes = np.empty(len(typed), dtype=np.int32)
        values = rank(typed, codes)
    except (RothkoError, pa.ArrowException):  # neither numbers nor labels: nothing to draw
        return None
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if not len(values):
        return None
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        order = np.argsort(-counts, kind="stable")[:PARTS]
        most = str(_short(values[int(order[0])].as_py(), 24))
        return Bars(tuple(counts[order].tolist()), (most, f"{len(values):,} values"), ordered=False)
    texts = as_text(values.take(pa.array([0, len(values) - 1])))
    if len(values) > PARTS:
        numbers = _as_numbers(values)
        if numbers is None:
            return None
        counts, _ = np.histogram(numbers, bins=PARTS, weights=counts)
    return Bars(tuple(int(n) for n in counts), (texts[0].as_py(), texts[-1].as_py()), ordered=True)


def _as_numbers(values: pa.Array) -> NDArray[np.float64] | None:
    kind = values.type
    if pa.types.is_date(kind):
        values = values.cast(pa.date32()).cast(pa.int32())
    elif pa.types.is_timestamp(kind) or pa.types.is_time64(kind):
        values = values.cast(pa.int64())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    numbers = pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers[np.isfinite(numbers)]) if np.isfinite(numbers).all() else None


# ── how far records are told apart ───────────────────────────────────────────────────────────────


@dataclass(slots=True)
class _Held:
    """Columns of one table as codes, by what says how they are read."""

    of: Any = None
    lock: Any = field(default_factory=threading.Lock)
    columns: dict[tuple[Any, ...], NDArray[np.int32]] = field(default_factory=dict)


_HELD = {True: _Held(), False: _Held()}
"""Of all records, and of the sample."""


def numbers(
    telling: Telling, *, data: Any, policy: Policy, csv: CsvOptions | None = None, exact: bool = True
) -> Numbers:
    """Count how far the records are told apart by the quasi-identifiers of a policy; the whole first, then each."""
    columns = columns_of(data, policy, csv, exact=exact)
    found = _counted(columns, exact=exact)
    telling.partial(found)
    return _by_column(columns, found)


class Columns(list[NDArray[np.int32]]):
    """Columns that lie apart, as counts take them: a matrix would be a copy of them all."""

    def __init__(self, columns: Mapping[str, NDArray[np.int32]]) -> None:
        super().__init__(columns.values())
        self.names = tuple(columns)
        self.sizes = [int(codes.max(initial=0)) + 1 for codes in self]

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and records."""
        return len(self), len(self[0])

    def __getitem__(self, at: Any) -> Any:
        """A column by its place or by its name."""
        return super().__getitem__(self.names.index(at) if isinstance(at, str) else at)

    def with_column(self, name: str, codes: NDArray[np.int32]) -> Columns:
        """The same with another column under a name."""
        return Columns(dict(zip(self.names, self, strict=True)) | {name: codes})


def columns_of(data: Any, policy: Policy, csv: CsvOptions | None, *, exact: bool = True) -> Columns:
    """The quasi-identifiers of a policy as codes; what is not here yet is read."""
    held = _HELD[exact]
    with held.lock:
        if held.of != (data, csv):
            held.of, held.columns = (data, csv), {}
        names = policy.quasi_identifiers
        if missing := [name for name in names if _key(name, policy) not in held.columns]:
            table = _read(data, policy, csv, missing, exact=exact)
            some = [name for name in table.column_names if name in missing or len(policy.columns) <= ALL]
            held.columns |= _codes(table, policy, some)
        return Columns({name: held.columns[_key(name, policy)] for name in names})


def _read(data: Any, policy: Policy, csv: CsvOptions | None, names: Sequence[str], *, exact: bool) -> pa.Table:
    """The columns that are not known yet; all that can be, where there are not too many."""
    everything = len(policy.columns) <= ALL
    wanted = (
        [name for name, column in policy.columns.items() if column.role is not Role.IDENTIFIER] if everything else names
    )
    asked = list(dict.fromkeys([*wanted, *names]))
    if exact:
        source = opened(data, policy, csv=csv)
        as_written = [name for name in asked if policy.columns[name].type == "text" or policy.columns[name].hierarchy]
        return source.read(asked, as_text=as_written)
    first = open_source(data, csv=policy.input.options(csv)).peek(asked, rows=SAMPLE)
    assert first is not None, "the table was looked at before"
    return first.slice(0, SAMPLE)


def _key(name: str, policy: Policy) -> tuple[Any, ...]:
    return name, str(policy.columns[name].type), policy.missing, repr(policy.input)


def _codes(table: pa.Table, policy: Policy, names: Sequence[str]) -> dict[tuple[Any, ...], NDArray[np.int32]]:
    """Codes from 0 on; a missing value is one of its own."""
    found = {}
    for name in names:
        column = policy.columns.get(name, Column(role=Role.QUASI_IDENTIFIER))
        codes = np.empty(table.num_rows, dtype=np.int32)
        try:
            rank(read_as(name, table[name], column.type, policy.missing), codes)
        except (RothkoError, pa.ArrowException):
            if column.role is Role.QUASI_IDENTIFIER:
                raise
            continue  # what cannot be ranked cannot become a quasi-identifier, and says so when it is asked to
        codes += 1
        found[_key(name, policy)] = codes
    return found


def _counted(columns: Columns, *, exact: bool) -> Numbers:
    matrix: Any = columns
    found = class_sizes(matrix, columns.sizes, range(len(columns)))
    records = columns.shape[1]
    by_size = np.bincount(np.minimum(found, LARGEST), weights=found, minlength=LARGEST + 1)[1:]
    return Numbers(records, exact, len(found), tuple(int(n) for n in by_size), int(found.min(initial=records)))


def _by_column(columns: Columns, found: Numbers) -> Numbers:
    """The same with what each column tells."""
    matrix: Any = columns
    every = range(len(columns))
    alone = {name: unique_share(matrix, columns.sizes, [at]) for at, name in enumerate(columns.names)}
    adds = {}
    if 1 < len(columns) <= MANY:
        for at, name in enumerate(columns.names):
            adds[name] = found.unique - unique_share(matrix, columns.sizes, [i for i in every if i != at])
    return replace(found, alone=alone, adds=adds)


def satisfies(telling: Telling, *, data: Any, policy: Policy, csv: CsvOptions | None = None) -> tuple[Finding, ...]:
    """What the table holds of each requirement, as it is."""
    return check(data, policy, csv=csv).verification.findings

"""How well a release answers group-by queries: the data cube of the quasi-identifiers.

Ghinita, Karras, Kalnis, Mamoulis, *Fast Data Anonymization with Low Information Loss*, VLDB 2007, section 6.3. A
group-by over some quasi-identifiers counts the records by their values and by a sensitive value. P is the share of the
original's records in each cell, Q the share that the release lets one expect, and the error is their Kullback-Leibler
divergence Σ P log (P ÷ Q), with natural logarithms. Level i of the lattice has all group-bys over i of the
quasi-identifiers.

Q takes the records of a class to be uniform over what the class shows, independently in each quasi-identifier and of
the sensitive value: over the leaves of a tree label, the values of a set, the values in a range, all values for ``*``.
These are always the values that occur in the original: they are the cells of the cube, and a number between two of them
would be in none. So Q sums to 1 over the cells, and the divergence is never negative. A release by Anatomy tells the
values exactly; its records have each sensitive value with the share that their group has of it.

Cells with P = 0 add nothing (0 · log 0 = 0), whatever Q is there, so Q is only computed where P > 0. Where P > 0 and
Q = 0 the divergence is infinite, and `uncovered` counts such cells: a release that covers its original has none.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.source.csv import CsvOptions
from rothko.errors import InputError, PolicyError
from rothko.metrics.extent import Extent
from rothko.metrics.pair import Beside, Pair, brought, first_rows, read_pair
from rothko.metrics.workload import combined
from rothko.mistakes import said
from rothko.policy.draft import as_policy
from rothko.progress import count_threads, each
from rothko.release.loss import digits

MOST_GROUP_BYS = 10_000
"""Of one level: more than these nobody waits for."""


@dataclass(frozen=True, slots=True)
class GroupBy:
    """How far the release's answer is from the original's, for one group-by."""

    columns: tuple[str, ...]
    divergence: float
    """Kullback-Leibler divergence in nats, 0 where the answers are the same."""
    cells: int
    """Combinations of values, the sensitive one included, that occur in the original."""
    uncovered: int
    """Those of them where the release expects no record: the divergence is infinite where there are any."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"columns": list(self.columns), "divergence": digits(self.divergence)}


@dataclass(frozen=True, slots=True)
class Level:
    """All group-bys over so many quasi-identifiers."""

    level: int
    divergence: float
    """The mean over the group-bys."""
    group_bys: tuple[GroupBy, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "level": self.level,
            "divergence": digits(self.divergence),
            "group_bys": [one.to_dict() for one in self.group_bys],
        }


@dataclass(frozen=True, slots=True)
class Cube:
    """Levels of the lattice of group-bys."""

    of: str
    """The sensitive column."""
    levels: tuple[Level, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"of": self.of, "levels": [level.to_dict() for level in self.levels]}


def cube_divergence(
    original: Any,
    release: Any,
    policy: Any = None,
    *,
    levels: Iterable[int] = (1, 2),
    of: str | None = None,
    threads: int | None = None,
    csv: CsvOptions | None = None,
) -> Cube:
    """How far the group-by cube of a release is from that of its original.

    Parameters
    ----------
    original
        The table that was released.
    release
        What :func:`~rothko.metrics.pair.read_pair` takes.
    policy
        Roles and hierarchies; a Release brings its own.
    levels
        Over how many quasi-identifiers to group.
    of
        The sensitive column, or one that is kept; needed where there are several sensitive ones.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [20, 30, 40, 60], "disease": ["flu", "cold", "flu", "cold"]}
    >>> policy = rk.Policy.quick(people, qi=["age"], sensitive=["disease"], k=2)
    >>> release = rk.anonymize(people, policy)
    >>> [level] = cube_divergence(people, release, levels=[1]).levels
    >>> round(level.divergence, 4), level.group_bys[0].cells
    (0.6931, 4)
    """
    policy = brought(release, policy)
    column = sensitive_column(policy, of)
    pair = read_pair(original, release, policy, beside=[column], threads=threads, csv=csv)
    return cube_of(pair, pair.beside[column], levels, threads=threads)


def sensitive_column(policy: Any, of: str | None) -> str:
    """The column that is meant where none is named: the only sensitive one."""
    if of is not None:
        return of
    if policy is None:
        raise InputError("a cube needs the policy that tells roles and hierarchies; give policy=.")
    found = as_policy(policy).sensitive
    if len(found) != 1:
        raise PolicyError(
            f"The policy has {len(found)} sensitive columns; a cube is about one column: say which with {said('--of')}."
        )
    return found[0]


def cube_of(pair: Pair, beside: Beside, levels: Iterable[int], *, threads: int | None = None) -> Cube:
    """The same once the release is read beside its original."""
    assert beside.name is not None
    extents, most = pair.known_extents(), len(pair.lines)
    workers = count_threads(threads)
    found = []
    for level in dict.fromkeys(levels):
        if not 1 <= level <= most:
            raise InputError(f"A level of the cube is from 1 to {most}, the quasi-identifiers, not {level}.")
        if math.comb(most, level) > MOST_GROUP_BYS:
            raise InputError(
                f"Level {level} of {most} quasi-identifiers has {math.comb(most, level):,} group-bys, more than "
                f"{MOST_GROUP_BYS:,}; ask for a lower level."
            )
        # The sensitive values of one group-by are shared among the threads, or the group-bys of a level are.
        inner = workers if math.comb(most, level) < workers else 1

        def one(columns: tuple[int, ...], inner: int = inner) -> GroupBy:
            return _group_by(pair, extents, beside, columns, inner)

        group_bys = tuple(each(one, itertools.combinations(range(most), level), workers if inner == 1 else 1))
        mean = sum(group_by.divergence for group_by in group_bys) / len(group_bys)
        found.append(Level(level, mean, group_bys))
    return Cube(beside.name, tuple(found))


def _group_by(pair: Pair, extents: Sequence[Extent], beside: Beside, columns: tuple[int, ...], threads: int) -> GroupBy:
    codes = pair.encoded.codes[list(columns)]
    cell_of = combined([*codes, beside.codes])
    counts = np.bincount(cell_of)
    first = first_rows(cell_of)
    cells, values = codes[:, first], beside.codes[first]
    order = np.lexsort((interleaved(cells, [pair.lines[i].size for i in columns]), values))
    counts = counts[order]
    estimates = expected(
        np.ascontiguousarray(cells[:, order]), values[order], [extents[i] for i in columns], beside, threads
    )
    uncovered = int(np.count_nonzero(estimates == 0))
    divergence = math.inf
    if not uncovered:
        # Rounding may leave a hair less than 0 of sums that are the same.
        divergence = max(float(np.sum(counts * np.log(counts / estimates))) / len(cell_of), 0.0)
    return GroupBy(tuple(pair.lines[i].name for i in columns), divergence, len(counts), uncovered)


def expected(
    cells: NDArray[np.int32],
    values: NDArray[np.integer[Any]],
    extents: Sequence[Extent],
    beside: Beside,
    threads: int = 1,
) -> NDArray[np.float64]:
    """How many records the release lets one expect in each cell.

    Parameters
    ----------
    cells
        (columns, cells): the codes of each cell.
    values
        The value of each cell in the column beside, rising; where it is the same, near cells are best side by side.
    extents
        What the classes may have in each of the columns.
    """
    from rothko.kernels.cube import spread

    sizes = [len(extent.low) for extent in extents]
    offsets = np.cumsum([0, *sizes[:-1]])
    run_starts = np.stack([extent.starts + offset for extent, offset in zip(extents, offsets, strict=True)])
    run_low = np.concatenate([extent.low for extent in extents])
    run_high = np.concatenate([extent.high for extent in extents])
    density = np.prod([1 / np.maximum(extent.count, 1) for extent in extents], axis=0)
    estimates = np.zeros(cells.shape[1])
    cell_starts = np.searchsorted(values, np.arange(beside.size + 1))
    entry_starts = np.searchsorted(beside.value, np.arange(beside.size + 1))

    def some(part: slice) -> None:
        spread(
            cells, cell_starts[part], run_starts, run_low, run_high, density,
            entry_starts[part], beside.of_class, beside.records, estimates,
        )  # fmt: skip

    ends = _shares(np.diff(cell_starts) * np.diff(entry_starts), threads)
    each(some, [slice(a, b + 1) for a, b in itertools.pairwise(ends)], threads)
    return estimates


def _shares(work: NDArray[np.integer[Any]], threads: int) -> list[int]:
    """Where to cut a row of pieces of work, so that each of the threads has about the same.

    >>> _shares(np.array([1, 1, 2, 4]), 2)
    [0, 3, 4]
    """
    before = np.cumsum(work)
    cuts = np.searchsorted(before, before[-1] * np.arange(1, threads) / threads, side="left") + 1
    return sorted({0, *cuts.tolist(), len(work)})


def interleaved(cells: NDArray[np.int32], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Numbers in whose order cells that lie near each other come near each other: their bits in turn (Morton 1966).

    >>> interleaved(np.array([[0, 1, 0, 1], [0, 0, 1, 1]], dtype=np.int32), [2, 2]).tolist()
    [0, 2, 1, 3]
    """
    need = [max(int(size - 1).bit_length(), 1) for size in sizes]
    room = max(62 // len(sizes), 1)
    found = np.zeros(cells.shape[1], dtype=np.int64)
    for bit in range(1, min(max(need), room) + 1):  # the highest bit of each line first
        for codes, bits in zip(cells[:62], need, strict=False):
            if bit <= bits:
                found = found << 1 | (codes >> (bits - bit) & 1)
    return found

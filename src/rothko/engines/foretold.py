"""What is to be expected of every engine for a table, before there is any data.

For Mondrian by the model of LeFevre, DeWitt and Ramakrishnan (:mod:`rothko.engines.plan`). What is read and written for
methods that are not cut by a tree is told in its words: passes over the table, without the first, which learns its
values. Both engines on disk do the same for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rothko.data.encode import Encoded
from rothko.engines.options import RothkoS, RothkoT
from rothko.engines.plan import SAFE, Budget, Cost, available_memory, budget, choose_engine, cost_s, cost_t, height
from rothko.errors import PolicyError, nearest
from rothko.methods import METHODS, Mondrian
from rothko.methods.method import Method
from rothko.privacy import KAnonymity
from rothko.privacy.requirement import Requirement

VALUE_BYTES = 8
"""Of a frequency group: one count for each value of each attribute."""

ALONG = 2
"""Reads along a curve: the source, and what was written of it."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be expected of each engine for one table."""

    rows: int
    columns: int
    row_bytes: int
    k: int
    method: str
    budget: Budget
    group_bytes: int
    """The size of a frequency group of the whole table."""
    cache: int
    """Frequency groups that fit in memory (F_CACHE)."""
    height: int
    """Levels of cuts until every part fits in memory."""
    sample: int
    """Records of the first sample of Rothko-S."""
    costs: tuple[Cost, ...]
    engine: str
    """What ``auto`` chooses."""
    reason: str

    @property
    def size(self) -> int:
        """Bytes of the table."""
        return self.rows * self.row_bytes

    @property
    def by_tree(self) -> bool:
        """Whether its classes are cut by a tree."""
        return self.method == Mondrian.name

    @property
    def timed(self) -> bool:
        """Whether time grows with the records as it does for Mondrian: not where classes are searched for."""
        method = METHODS[self.method]
        return method.by_counts or not method.needs_all_records or method.in_segments == "exactly"


def plan(
    rows: int,
    *,
    columns: int,
    k: int,
    memory: int | None = None,
    row_bytes: int | None = None,
    distinct: int | None = None,
    options: RothkoS | None = None,
    method: str = Mondrian.name,
) -> Plan:
    """Foretell passes, reads and writes of every engine.

    Parameters
    ----------
    columns
        Quasi-identifiers.
    memory
        The limit in bytes; without one, a safe share of what is free.
    row_bytes
        Bytes of a record; four for each column and eight beside them where it is not given.
    distinct
        Distinct values of all quasi-identifiers together; 100,000 for each where it is not given.
    options
        The test of Rothko-S, and its level.
    method
        How classes are made, with its usual options.

    Examples
    --------
    >>> found = plan(10**9, columns=9, k=100, memory=2 * 10**9)
    >>> [(cost.engine, cost.works, cost.reads, cost.writes) for cost in found.costs]
    [('memory', False, 1, 0), ('rothko-t', True, 12, 2), ('rothko-s', True, 3, 1)]
    >>> found = plan(10**9, columns=9, k=100, memory=2 * 10**9, method="hilbert-fast")
    >>> [(cost.engine, cost.works, cost.reads, cost.writes) for cost in found.costs]
    [('memory', False, 1, 0), ('rothko-t', True, 2, 1), ('rothko-s', True, 2, 1)]
    """
    options = options or RothkoS()
    if method not in METHODS:
        raise PolicyError(f"{method!r} is not a method; {nearest(method, METHODS)}")
    limit = int(SAFE * available_memory()) if memory is None else memory
    row_bytes = 4 * columns + 8 if row_bytes is None else row_bytes
    distinct = columns * min(rows, 100_000) if distinct is None else distinct
    group = VALUE_BYTES * distinct
    shares = budget(limit, row_bytes=row_bytes).beside(METHODS[method]().keeps)
    engine, reason = choose_engine(rows, rows * row_bytes, memory=limit)
    on_disk = (cost_t(rows, shares, group), cost_s(rows, shares, k, options))
    if method != Mondrian.name:
        codes = 4 * columns
        one = cost_of(METHODS[method](), rows, shares, (KAnonymity(k=k),), codes=codes)
        on_disk = (replace(one, engine=RothkoT.name), replace(one, engine=RothkoS.name))
    return Plan(
        rows=rows,
        columns=columns,
        row_bytes=row_bytes,
        k=k,
        method=method,
        budget=shares,
        group_bytes=group,
        cache=shares.cache(group),
        height=height(rows, shares.tuples),
        sample=min(rows, shares.tuples),
        costs=(Cost("memory", engine == "memory", 1, 1, 0, "" if engine == "memory" else reason), *on_disk),
        engine=engine,
        reason=reason,
    )


def cost_of(method: Method, rows: int, shares: Budget, requirements: tuple[Requirement, ...], *, codes: int) -> Cost:
    """What is read and written for a method; that it cannot be, where it cannot.

    Parameters
    ----------
    codes
        Bytes of a record without the columns that are released as they are.
    """
    if method.by_counts:
        return _by_counts(rows, shares, codes)
    if method.in_segments == "no":
        return Cost("disk", False, 1, 1, 0, f"{method.name} sees all records at once, in memory")
    if method.in_segments == "nearly":
        return Cost("disk", True, ALONG, 1, 1, "classes are made within ranges that fit in memory")
    return _along(method, rows, shares, requirements, codes)


def _along(method: Method, rows: int, shares: Budget, requirements: tuple[Requirement, ...], codes: int) -> Cost:
    """An external sort by the keys of a curve; see :mod:`rothko.engines.disk.along`."""
    most = method.longest(Encoded((), np.empty((0, 0), dtype=np.int32), {}), requirements)
    segment = rows if most is None else min(rows, most)
    reads, source, writes, note = ALONG, 1, 1, ""
    if method.sampled(rows):  # equal records are brought together on disk, draw there, and go on from there
        reads, writes = reads + 2, writes + 1
    if segment > shares.tuples:  # grouped by codes, then written once more in windows
        reads, writes = reads + 2, writes + 1
        note = f"segments of {segment:,} records are grouped by their codes, and published in windows"
    fit = max(budget(shares.memory, row_bytes=codes).tuples, shares.tuples)
    if segment > fit:
        note = f"{method.name} must see {segment:,} neighbours together, and memory holds {fit:,}"
    return Cost("disk", segment <= fit, reads, source, writes, note)


def _by_counts(rows: int, shares: Budget, codes: int) -> Cost:
    """Passes that count, and one that recodes; see :mod:`rothko.engines.disk.counting_passes`."""
    fit = budget(shares.memory, row_bytes=codes).tuples
    note = "" if rows <= fit else f"at least: a count looks as far ahead as {fit:,} different records allow"
    # The source, the count of what was written of it, what is recoded, and the rows in the order in which they leave.
    return Cost("disk", True, 4, 1, 2, note)

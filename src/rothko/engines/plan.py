"""Which engine, within how much memory, and what it will read and write.

The model is that of LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 5.3: k-anonymity, binary cuts at the median,
balanced trees. Its words: ‖R‖ records (``rows``), TM of them fit in memory (``tuples``), and so do F_CACHE frequency
groups (``cache``). Reads and writes are counted in passes over the table. What every engine does besides is left out:
the first pass, which learns the values of each column, and writing and verifying the release.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from rothko import environment
from rothko.engines.options import RothkoS
from rothko.errors import InputError, PolicyError, TooLargeError, nearest
from rothko.mistakes import said
from rothko.privacy.confidence import Test, fewest, least_share

BASELINE = 340_000_000
"""Bytes of a process that has made a release of hardly any records (measured: 333 MB): Python, NumPy, Numba with the
compiled kernels, PyArrow, DuckDB."""
WORKING = 6
"""Bytes that a table takes while it becomes a release, for each byte of it (measured): codes, the copy that is
reordered, what is published."""
SAFE = 0.75
"""Share of the free memory that a run without a limit may take."""
MOST_RECORDS = 2**31 - 1
"""The memory engine numbers records in 32 bits."""
LEAST_RECORDS = 1_000
LEAST_WORK = 48_000_000
"""Bytes beside the baseline and a frequency group without which batches would be a few records each."""


# ── memory


@dataclass(frozen=True, slots=True)
class Budget:
    """What an engine on disk may take of the memory limit. Engines keep to it; their phases do not overlap fully."""

    memory: int
    """The limit, in bytes."""
    baseline: int
    """What the process takes before it does anything."""
    frequency: int
    """Bytes for frequency groups."""
    buffers: int
    """Bytes for records on their way from or to disk."""
    tuples: int
    """Records that fit in memory while classes are made of them (TM)."""

    def cache(self, group_bytes: int) -> int:
        """How many frequency groups of a size fit (F_CACHE, at least 1)."""
        return max(1, self.frequency // max(group_bytes, 1))

    def room(self, wanted: int) -> int:
        """How many bytes a method may keep beside its records, of those that it wants: half of what is free at most.

        >>> budget(540_000_000, row_bytes=44).room(10**9)
        100000000
        """
        return min(wanted, (self.memory - self.baseline) // 2)

    def beside(self, wanted: int) -> Budget:
        """The same with the fewer records, the more of what is free a method keeps beside them.

        What is set aside for frequency groups and buffers is not asked for while classes are made, but records of a
        method that searches take that: with each are its entries in the best classes so far.
        """
        share = self.room(wanted) / max(self.memory - self.baseline, 1)
        return replace(self, tuples=int(self.tuples * (1 - share)))

    def within(self, most: int | None) -> Budget:
        """The same with no more records at once than an engine may take."""
        return self if most is None else replace(self, tuples=min(self.tuples, most))


def budget(memory: int, *, row_bytes: int, group_bytes: int = 0, baseline: int = BASELINE) -> Budget:
    """Divide a memory limit among frequency groups, buffers and records.

    Of what the process itself leaves, a quarter goes to each of the former and half to the records.

    Parameters
    ----------
    row_bytes
        What one record takes, as codes and as columns that are released as they are.
    group_bytes
        The frequency group of the whole table, where one must fit (Rothko-T); it may take more than a quarter.

    Raises
    ------
    InputError
        If the limit is too small to work with; it names the least.

    Examples
    --------
    >>> budget(2_000_000_000, row_bytes=44)
    Budget(memory=2000000000, baseline=340000000, frequency=415000000, buffers=415000000, tuples=3143939)
    """
    row = WORKING * max(row_bytes, 1)
    work = max(LEAST_WORK, -(-3 * LEAST_RECORDS * row // 2))
    least = baseline + max(-(-4 * work // 3), group_bytes + work)
    if memory < least:
        raise InputError(
            f"A memory limit of {written_bytes(memory)} is too small: an engine on disk needs "
            f"{math.ceil(least / 1e6)} MB at least for this table; raise {said('--memory')}."
        )
    free = memory - baseline
    frequency = max(free // 4, group_bytes)
    buffers = (free - frequency) // 3
    return Budget(memory, baseline, frequency, buffers, (free - frequency - buffers) // row)


def in_memory(size: int) -> int:
    """The bytes that a run of the memory engine takes for a table of ``size`` bytes."""
    return WORKING * size + BASELINE


def as_bytes(memory: int | str | None, option: str = "--memory") -> int | None:
    """A number of bytes, also as a size such as 512MB or 2GiB; of memory what the environment says where it is None.

    >>> as_bytes("1.5GB"), as_bytes("2 KiB"), as_bytes(10**9), as_bytes(None)
    (1500000000, 2048, 1000000000, None)
    """
    name = said(option)
    if memory is None and option == "--memory" and (memory := environment.said(environment.MEMORY)) is not None:
        name = environment.MEMORY
    if memory is None or (isinstance(memory, int) and not isinstance(memory, bool) and memory > 0):
        return memory
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", str(memory).strip().lower())
    if not found or isinstance(memory, bool):
        raise InputError(f"{name} must be a size such as 512MB or 2GiB, not {memory!r}.")
    number, prefix, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix or " "))


def available_memory() -> int:
    """The bytes that are free on this machine, or within what its container grants."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    free = re.search(r"^MemAvailable:\s+(\d+) kB", _text("/proc/meminfo"), re.MULTILINE)
    found += [int(free[1]) * 1024] if free else []
    for folder, limit, used in _control_groups():
        most, taken = _text(folder / limit).strip(), _text(folder / used).strip()
        # Files that were read are counted too, and given back when memory is short.
        cached = re.search(r"^(?:total_)?inactive_file (\d+)", _text(folder / "memory.stat"), re.MULTILINE)
        if most.isdigit() and taken.isdigit():
            found.append(int(most) - max(int(taken) - int(cached[1] if cached else 0), 0))
    return max(min(found), 0)


def _control_groups() -> Iterator[tuple[Path, str, str]]:
    """The folders of the control groups of this process, and the files of their limit and of what is taken."""
    root = Path("/sys/fs/cgroup")
    yield root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
    own = re.search(r"^0::/(.*)$", _text("/proc/self/cgroup"), re.MULTILINE)
    folder = root / (own[1] if own else "")
    for one in (folder, *folder.parents):
        if one.is_relative_to(root):
            yield one, "memory.max", "memory.current"


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text("ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def check_engine(name: str) -> None:
    """Refuse the name of an engine that there is not."""
    from rothko.engines import ENGINES

    if name not in ENGINES:
        raise PolicyError(f"{name!r} is not an engine; {nearest(name, ENGINES)}")


def choose_engine(rows: int, size: int, *, memory: int | None = None, asked: str = "auto") -> tuple[str, str]:
    """The engine for a table of so many records and bytes, and the reason for it.

    Parameters
    ----------
    memory
        The limit in bytes; without one, a safe share of what is free.
    asked
        The name of an engine, or ``auto``.

    Raises
    ------
    TooLargeError
        If the memory engine is asked for and the table does not fit there.

    Examples
    --------
    >>> choose_engine(1000, 44_000, memory=10**9)
    ('memory', 'the table fits in memory')
    >>> choose_engine(10**8, 44 * 10**8, memory=2 * 10**9)
    ('rothko-s', 'the table needs about 26.7 GB in memory and the limit is 2.0 GB')
    """
    check_engine(asked)
    if asked == "memory":
        check_fits(rows, size, memory=memory)
    if asked != "auto":
        return asked, "asked for"
    why = _too_large(rows, size, memory)
    return ("memory", "the table fits in memory") if why is None else (RothkoS.name, why)


def check_fits(rows: int, size: int, *, memory: int | None = None) -> None:
    """Refuse a table that does not fit in memory within a limit; without one, what is free is a guess, and it may try.

    Raises
    ------
    TooLargeError
        With the reason.
    """
    if memory is not None or rows > MOST_RECORDS:
        why = _too_large(rows, size, memory)
        if why is not None:
            raise TooLargeError(why, f"raise {said('--memory')}, or use engine: auto.")


def _too_large(rows: int, size: int, memory: int | None) -> str | None:
    """Why a table does not fit in memory, if it does not."""
    if rows > MOST_RECORDS:
        return f"the table has {rows:,} records and the memory engine takes {MOST_RECORDS:,}"
    # A limit is for the whole process; what is free is beside what it takes already.
    limit = int(SAFE * available_memory()) if memory is None else memory
    needed = WORKING * size if memory is None else in_memory(size)
    if needed <= limit:
        return None
    granted = "{} of what is free may be taken" if memory is None else "the limit is {}"
    return f"the table needs about {written_bytes(needed)} in memory and {granted.format(written_bytes(limit))}"


# ── section 5.3


def height(rows: int, tuples: int) -> int:
    """How many levels of cuts it takes until every part fits in memory.

    >>> height(50_000_000, 2_000_000)
    5
    """
    return max(0, math.ceil(math.log2(rows / tuples))) if rows else 0


def repartitions_t(rows: int, tuples: int, cache: int) -> int:
    """How often Rothko-T writes the whole table.

    >>> [repartitions_t(50_000_000, 2_000_000, cache) for cache in (1, 2, 4, 8, 16)]
    [5, 3, 2, 2, 1]
    """
    return math.ceil(height(rows, tuples) / (int(math.log2(cache)) + 1))


def reads_t(rows: int, tuples: int, cache: int) -> int:
    """How often Rothko-T reads the whole table."""
    return height(rows, tuples) + repartitions_t(rows, tuples, cache) + 1


def levels_s(rows: int, sample: int, k: int, *, alpha: float = 0.05, test: Test = "normal") -> int:
    """How many levels of cuts a sample allows with confidence.

    >>> levels_s(50_000_000, 2_000_000, 1000)
    15
    """
    if test == "normal":
        least = least_share(k, sample, rows, alpha / 2)
    else:
        least = fewest(k, sample, rows, alpha / 2, test) / sample
    return int(-math.log2(least)) if least < 1 else 0


def repartitions_s(rows: int, tuples: int, k: int, *, alpha: float = 0.05, test: Test = "normal") -> tuple[int, bool]:
    """How often Rothko-S writes the whole table, and whether it gets to parts that fit in memory.

    Where a sample allows no cut at all it stops early, and the classes may be larger than they need be (5.2.2).

    >>> repartitions_s(50_000_000, 2_000_000, 1000), repartitions_s(50_000_000, 100, 1000)
    ((1, True), (3, False))
    """
    found = 0
    part: float = rows
    while part > tuples:
        levels = levels_s(math.ceil(part), tuples, k, alpha=alpha, test=test)
        if levels == 0:
            return found, False
        found, part = found + 1, part / 2**levels
    return found, True


def reads_s(repartitions: int) -> int:
    """How often Rothko-S reads the whole table: once for the first sample, twice for each time it is written."""
    return 2 * repartitions + 1


@dataclass(frozen=True, slots=True)
class Cost:
    """What one engine does with a table."""

    engine: str
    works: bool
    """Whether it can: the memory engine where the table fits, one on disk where its least memory is there."""
    reads: int
    """Passes over the table."""
    source: int
    """Those of them that go over the source and code its values anew; the others read codes that were written."""
    writes: int
    """How often the table is written to disk, in parts (repartitions)."""
    note: str = ""


def cost_t(rows: int, shares: Budget, group: int) -> Cost:
    """What Rothko-T does with a table whose frequency group takes so many bytes."""
    cache, levels = shares.cache(group), height(rows, shares.tuples)
    works = group <= shares.frequency
    note = f"a frequency group takes {written_bytes(group)} and may take {written_bytes(shares.frequency)}"
    return Cost(
        engine="rothko-t",
        works=works,
        reads=reads_t(rows, shares.tuples, cache),
        source=min(levels, int(math.log2(cache)) + 1) + 1,
        writes=repartitions_t(rows, shares.tuples, cache),
        note="" if works else note,
    )


def cost_s(rows: int, shares: Budget, k: int, options: RothkoS) -> Cost:
    """What Rothko-S does with a table."""
    writes, complete = repartitions_s(rows, shares.tuples, k, alpha=options.alpha, test=options.test)
    return Cost(
        engine="rothko-s",
        works=True,
        reads=reads_s(writes),
        source=min(writes, 1) + 1,
        writes=writes,
        note="" if complete else "a sample allows no cut with confidence; such parts go on with rothko-t",
    )


def written_bytes(number: float) -> str:
    """A number of bytes as a person reads it.

    >>> written_bytes(2_000_000_000), written_bytes(44_000), written_bytes(512)
    ('2.0 GB', '44.0 KB', '512 bytes')
    """
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number:.0f} bytes"

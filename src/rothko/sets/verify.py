"""Verification of published sets: other code on other data, from the written bytes alone.

The sets are read back as text and grouped by SQL. For k-anonymity the records that publish each of them are counted,
for (k,1)-anonymity the original records that contain it.
"""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.errors import VerificationError
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.privacy.statistics import Statistics
from rothko.progress import each
from rothko.release.names import LINE_ENDINGS
from rothko.release.sql import connect
from rothko.release.verify import Finding, Verification, open_table, with_long_lines
from rothko.sets.publish import Shown
from rothko.sets.records import Records, one_array
from rothko.sets.write import LONG_ENDINGS, data_ending

MANY = 4096
"""Sets with another item in common that are looked for by themselves: fewer do not earn what their records cost."""
PARTS = 16
"""Parts of the published sets, for threads."""
MARK = "(hash(list_sort(items)) >> 16)"
"""SQL of a number of a set that does not depend on the order of its items."""


def verified_sets(
    data: Path | Records,
    original: Records,
    asked: KAnonymity | K1Anonymity,
    *,
    shown: Shown,
    delimiter: str = " ",
    threads: int = 1,
) -> Verification:
    """Verify a release, and fail closed.

    Parameters
    ----------
    data
        The written file, or the rows in memory.
    shown
        The sets that must be there, as often as they are.
    """
    sets, times = read_back(data, delimiter=delimiter, threads=threads)
    rows = int(times.sum())
    if rows != original.count:
        raise _other_rows(rows, original.count)
    counted = times if isinstance(asked, KAnonymity) else np.array([_fewest_containing(sets, original, threads)])
    achieved = asked.achieved(Statistics(counted, {}, {}, {}))
    meant = pa.LargeListArray.from_arrays(pa.array(shown.starts), shown.names.take(pa.array(shown.items)))
    found = Found(rows, len(times), achieved, fingerprint_of(sets, times, threads))
    return accepted(found, asked, original.count, fingerprint_of(meant, shown.times, threads))


class Found(NamedTuple):
    """What written sets hold."""

    rows: int
    classes: int
    """Different sets."""
    achieved: float
    """The k that the weakest of them reaches."""
    total: int
    """What :func:`fingerprint_of` says of them."""


def accepted(found: Found, asked: KAnonymity | K1Anonymity, rows: int, total: int) -> Verification:
    """What was found, if it is all that was asked, of so many records and with the fingerprint that they must have."""
    if found.rows != rows:
        raise _other_rows(found.rows, rows)
    if found.achieved < asked.k:
        raise VerificationError(
            f"Verification failed: {asked.name} holds for k = {found.achieved:,.0f} and not for {asked.k:,}; nothing "
            "was released. Please report this."
        )
    if found.total != total:
        raise VerificationError(
            "Verification failed: the written sets are not those that records have in common; nothing was released. "
            "Please report this."
        )
    finding = Finding(asked, asked.k, found.achieved, True, found.classes, 0, 0)
    return Verification(rows, ("items",), found.classes, (finding,), true=True)


def _other_rows(found: int, meant: int) -> VerificationError:
    return VerificationError(
        f"Verification failed: {found:,} records were written and not {meant:,}; nothing was released."
    )


def unknown_items() -> VerificationError:
    """What is said of items in a release that the original does not have."""
    return VerificationError("Verification failed: items are published that no record has; nothing was released.")


def read_back(data: Path | Records, *, delimiter: str = " ", threads: int = 1) -> tuple[pa.Array, NDArray[np.int64]]:
    """The different sets of a release as lists of texts, and how many records publish each."""
    if isinstance(data, Path) and data_ending(data) in LINE_ENDINGS:
        return _count_lines(data, delimiter)
    if isinstance(data, Records):
        lists = pa.LargeListArray.from_arrays(pa.array(data.starts), pa.array(data.items))
        numbers, times = _count_rows(pa.table({"items": lists}), "SELECT c0 AS items FROM released", threads)
        texts = data.names.take(numbers.values)
        return pa.LargeListArray.from_arrays(numbers.offsets.cast(pa.int64()), texts), times
    if data_ending(data) in LONG_ENDINGS:
        in_long_form = "coalesce(list(c1 ORDER BY c1) FILTER (c1 IS NOT NULL), [])"
        return _count_rows(data, f"SELECT {in_long_form} AS items FROM released GROUP BY c0", threads)
    return _count_rows(data, "SELECT list_sort(c0) AS items FROM released", threads)


def _count_rows(data: Path | pa.Table, rows: str, threads: int) -> tuple[Any, NDArray[np.int64]]:
    """The different ``items`` of a query on the table ``released``, and how often each is there."""

    def work(longest: int) -> pa.Table:
        with connect(threads) as connection:
            open_table(connection, data, ("items", "record", "item"), longest=longest)
            return connection.sql(f"SELECT items, count(*) AS times FROM ({rows}) GROUP BY items").to_arrow_table()

    found = with_long_lines(work)
    return one_array(found.column("items")), cast("NDArray[np.int64]", found.column("times").to_numpy())


def _count_lines(path: Path, delimiter: str) -> tuple[pa.Array, NDArray[np.int64]]:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        counts = Counter(line.rstrip(b"\n") for line in file)
    sets = [sorted(line.decode().split(delimiter)) if line else [] for line in counts]
    return pa.array(sets, pa.list_(pa.string())), np.fromiter(counts.values(), dtype=np.int64, count=len(counts))


def fingerprint_of(sets: Any, times: NDArray[np.int64], threads: int = 1) -> int:
    """A sum over sets, as often as they are there, that does not depend on their order, nor on that of their items."""
    with connect(threads) as connection:
        connection.register("sets", pa.table({"items": sets, "times": times}))
        summed = connection.execute(f"SELECT sum(times * {MARK}::HUGEINT) FROM sets")
        return int(summed.fetchall()[0][0] or 0)


def marks_of(sets: Any) -> NDArray[np.int64]:
    """The number of each set that :func:`fingerprint_of` adds up."""
    with connect(1) as connection:
        connection.register("sets", pa.table({"items": sets}))
        return cast("NDArray[np.int64]", connection.sql(f"SELECT {MARK}::BIGINT AS m FROM sets").fetchnumpy()["m"])


def _fewest_containing(sets: Any, original: Records, threads: int) -> int:
    """How many original records contain the published set that fewest contain."""
    from rothko.kernels.sets.contained import fewest_containing
    from rothko.kernels.sets.records import by_item, spread, tidy

    texts = sets.flatten().cast(pa.large_string())
    numbers = pc.index_in(texts, value_set=original.names.cast(pa.large_string()))
    if numbers.null_count:
        raise unknown_items()
    lengths = pc.list_value_length(sets).to_numpy(zero_copy_only=False).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths)))
    # A set begins with its rarest item, and sets that begin alike lie side by side.
    rarest = np.argsort(original.frequencies(), kind="stable").astype(np.int32)
    rarity = np.empty(original.size, dtype=np.int32)
    rarity[rarest] = np.arange(original.size, dtype=np.int32)
    asked = rarity[numbers.to_numpy()]
    tidy(starts, asked)
    filled = np.flatnonzero(lengths)
    first = asked[starts[filled]]
    asked_starts, asked = spread(filled[np.argsort(first, kind="stable")], starts, rarest[asked])
    sizes = np.bincount(first)
    ends = np.cumsum(sizes)
    groups = np.stack((ends - sizes, ends))[:, sizes > 0]
    holders = by_item(original.starts, original.items, original.size)

    def fewest(part: int) -> int:
        begins, ends = np.ascontiguousarray(groups[:, part::PARTS])
        return int(
            fewest_containing(
                begins, ends, asked_starts, asked, original.starts, original.items, *holders, MANY, original.count
            )
        )  # fmt: skip

    return min(each(fewest, range(PARTS), threads))

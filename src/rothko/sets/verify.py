"""Releases of set-valued records: published, written, read back and verified.

The rows leave in random order. It is drawn from the published sets and the seed alone: whoever knows both can draw it
again and learns nothing about the order of the input. Verification is other code on other data: the sets are read back
from the written bytes as text, and grouped.
"""

from __future__ import annotations

import gzip
import itertools
from collections import Counter
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rothko.errors import InputError, OutputError, VerificationError
from rothko.release.formats.arrow import OPTIONS
from rothko.release.formats.csv import AS_WRITTEN
from rothko.release.place import LINE_ENDINGS, Place
from rothko.release.sql import connect, file_literal, literal, parquet_rows
from rothko.release.write import explained
from rothko.sets.records import Records

LIST_ENDINGS = (".parquet", ".arrow", ".feather")
LONG_ENDINGS = (".csv", ".tsv")
ENDINGS = (*LINE_ENDINGS, *LIST_ENDINGS, *LONG_ENDINGS)
"""A record a line; a list column; long form."""
ROWS = 1 << 18
"""Records that are written at a time."""


@dataclass(frozen=True, slots=True)
class SetMetrics:
    """What a release keeps, by the definitions of Podgursky, chapter III."""

    utility: float
    """Σ over records of the utilities published."""
    utility_kept: float
    """Its share of the utility of the original; 1 where that has none."""
    instances: int
    """Σ over records of the items published."""
    instances_kept: float
    """Their share of those of the original."""
    items: int
    """Items that are published for somebody."""
    items_kept: float
    """Their share of the items of the original."""
    classes: int
    """Different sets that are published."""
    average_class_size: float
    """Records for each of them."""
    empty: int
    """Records that publish no item."""

    def to_dict(self) -> dict[str, float | int]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The sets that records must be shown as."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    """Sets as CSR."""
    times: NDArray[np.int64]
    """How many records show each of them."""
    names: pa.Array
    """The texts of the items."""


def in_random_order(
    starts: NDArray[np.int64], items: NDArray[np.int32], times: NDArray[np.int64] | None, names: pa.Array, seed: int
) -> Records:
    """Published rows without a trace of the original: only the items that are left, in an order that tells nothing.

    Parameters
    ----------
    starts, items
        Sets as CSR.
    times
        How many records publish each set; None for one.
    """
    from rothko.kernels.sets.records import count_items, hashes, spread

    left = np.flatnonzero(count_items(items, len(names)))
    number = np.full(len(names), -1, dtype=np.int32)
    number[left] = np.arange(len(left), dtype=np.int32)
    items = number[items]
    random = np.random.default_rng(0)
    marks = random.integers(1 << 63, size=(2, len(left)), dtype=np.uint64)
    keys = hashes(starts, items, *marks)
    rows = np.lexsort((keys[:, 1], keys[:, 0]))
    if times is not None:
        rows = np.repeat(rows, times[rows])
    drawn_starts, drawn = spread(np.random.default_rng(seed).permutation(rows), starts, items)
    return Records(drawn_starts, drawn, names.take(pa.array(left)), np.ones(len(left)))


def measure_sets(original: Records, published: Records, worth: float, classes: int) -> SetMetrics:
    """What is left of the original.

    Parameters
    ----------
    worth
        The utility published.
    classes
        Different sets that are published.
    """
    frequencies = original.frequencies()
    total, instances, items = float(frequencies @ original.utility), len(original.items), int((frequencies > 0).sum())
    return SetMetrics(
        utility=worth,
        utility_kept=worth / total if total else 1.0,
        instances=len(published.items),
        instances_kept=len(published.items) / instances if instances else 1.0,
        items=published.size,
        items_kept=published.size / items if items else 1.0,
        classes=classes,
        average_class_size=published.count / classes,
        empty=int((np.diff(published.starts) == 0).sum()),
    )


# ── Writing


def data_ending(path: Path) -> str:
    """The ending of a file that can be written, which tells the format."""
    name = path.name.lower()
    found = [ending for ending in ENDINGS if name.endswith(ending)]
    if not found:
        raise OutputError(
            f"{path.name} has an ending that sets are not written to; there are {', '.join(LINE_ENDINGS)} (a record a "
            f"line), {', '.join(LIST_ENDINGS)} (a list column) and {', '.join(LONG_ENDINGS)} (record, item)."
        )
    return max(found, key=len)


def free_place(out: Path, *, inputs: Iterable[Path] = (), overwrite: bool = False) -> Place:
    """Where the sets and their certificate go, checked before any work is done."""
    data_ending(out)
    return Place.of_file(out, inputs=inputs, overwrite=overwrite)


def write_sets(published: Records, path: Path, *, delimiter: str = " ") -> None:
    """Write published rows in the format of the path's ending, some at a time."""
    ending = data_ending(path)
    with explained(path):
        if ending in LINE_ENDINGS:
            _write_lines(published, path, delimiter)
        elif ending in LIST_ENDINGS:
            _write_lists(published, path, ending)
        else:
            _write_long(published, path, "\t" if ending == ".tsv" else ",")


def _parts(published: Records) -> list[tuple[int, int]]:
    return [(begin, min(begin + ROWS, published.count)) for begin in range(0, published.count, ROWS)]


def _write_lines(published: Records, path: Path, delimiter: str) -> None:
    names: list[str] = published.names.to_pylist()
    # What reads it back drops blanks around items, and splits at any blank where no delimiter is told.
    broken = [
        name
        for name in names
        if delimiter in name
        or name.strip() != name
        or {*"\r\n"} & {*name}
        or (delimiter == " " and len(name.split()) > 1)
    ]
    if broken:
        raise InputError(
            f"{len(broken):,} of {len(names):,} items contain what separates items or lines of text; choose another "
            "delimiter, or write .parquet (--show-values lists them).",
            values=broken,
        )
    with path.open("wb") as raw, _packed(raw, path) as file:
        for begin, end in _parts(published):
            bounds = published.starts[begin : end + 1].tolist()
            texts = [names[item] for item in published.items[bounds[0] : bounds[-1]].tolist()]
            lines = [delimiter.join(texts[a - bounds[0] : b - bounds[0]]) for a, b in itertools.pairwise(bounds)]
            file.write(("\n".join(lines) + "\n").encode())


def _packed(raw: BinaryIO, path: Path) -> AbstractContextManager[Any]:
    """A gzip file by its ending, which says neither its name nor when it was written."""
    return gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if path.name.lower().endswith(".gz") else nullcontext(raw)


def _lists(published: Records, begin: int, end: int) -> pa.Table:
    bounds = published.starts[begin : end + 1]
    texts = pa.DictionaryArray.from_arrays(pa.array(published.items[bounds[0] : bounds[-1]]), published.names)
    column = pa.LargeListArray.from_arrays(pa.array(bounds - bounds[0]), texts.cast(pa.large_string()))
    return pa.table({"items": column})


def _write_lists(published: Records, path: Path, ending: str) -> None:
    schema = pa.schema({"items": pa.large_list(pa.large_string())})
    writer: Any = (
        pq.ParquetWriter(path, schema, write_statistics=False, store_schema=False)
        if ending == ".parquet"
        else ipc.new_file(str(path), schema, options=OPTIONS)
    )
    with writer:
        for begin, end in _parts(published):
            writer.write_table(_lists(published, begin, end))


def _write_long(published: Records, path: Path, delimiter: str) -> None:
    """Rows of a record number and an item; a record without items has one row with no item."""
    schema = pa.schema({"record": pa.int64(), "item": pa.large_string()})
    options = pcsv.WriteOptions(delimiter=delimiter)
    with pcsv.CSVWriter(path, schema, write_options=options) as writer:
        for begin, end in _parts(published):
            bounds = published.starts[begin : end + 1]
            lengths = np.diff(bounds)
            rows = np.maximum(lengths, 1)
            numbers = np.full(rows.sum(), -1, dtype=np.int32)
            present = np.repeat(lengths > 0, rows)
            numbers[present] = published.items[bounds[0] : bounds[-1]]
            texts = published.names.take(pa.array(np.where(present, numbers, 0), mask=~present)).cast(pa.large_string())
            writer.write_table(pa.table({"record": np.repeat(np.arange(begin, end), rows), "item": texts}))


# ── Verification


@dataclass(frozen=True, slots=True)
class SetFinding:
    """What was found in a release: asked, achieved, holds."""

    model: str
    asked: int
    achieved: int
    rows: int
    classes: int

    @property
    def holds(self) -> bool:
        """Whether the release is what it should be."""
        return self.achieved >= self.asked

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.model, "asked": self.asked, "achieved": self.achieved, "holds": self.holds}


def read_back(data: Path | Records, *, delimiter: str = " ", threads: int = 1) -> tuple[Any, NDArray[np.int64]]:
    """The different sets of a release, in a form of its own, and how many records publish each."""
    if isinstance(data, Path) and data_ending(data) in LINE_ENDINGS:
        return _count_lines(data, delimiter)
    with connect(threads) as connection:
        if isinstance(data, Records):
            rows = pa.table({"items": pa.LargeListArray.from_arrays(pa.array(data.starts), pa.array(data.items))})
            connection.register("rows", rows)
        elif data.name.lower().endswith(".parquet"):
            connection.execute(f"CREATE TEMP VIEW rows AS SELECT list_sort(items) AS items FROM {parquet_rows(data)}")
        elif data_ending(data) in LIST_ENDINGS:
            connection.register("stored", feather.read_table(data))
            connection.execute("CREATE TEMP VIEW rows AS SELECT list_sort(items) AS items FROM stored")
        else:
            comma = "\t" if data.name.lower().endswith(".tsv") else ","
            connection.execute(
                "CREATE TEMP VIEW rows AS "
                "SELECT coalesce(list(item ORDER BY item) FILTER (item IS NOT NULL), []) AS items "
                f"FROM read_csv({file_literal(data)}, header = true, {AS_WRITTEN}, delim = {literal(comma)}, "
                "quote = '\"', escape = '\"', auto_detect = false, columns = {'record': 'BIGINT', 'item': 'VARCHAR'}) "
                "GROUP BY record"
            )
        found = connection.sql("SELECT items, count(*) AS times FROM rows GROUP BY items").to_arrow_table()
    times = cast("NDArray[np.int64]", found.column("times").to_numpy())
    return found.column("items").combine_chunks(), times


def _count_lines(path: Path, delimiter: str) -> tuple[pa.Array, NDArray[np.int64]]:
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        counts = Counter(line.rstrip(b"\n") for line in file)
    sets = [sorted(line.decode().split(delimiter)) if line else [] for line in counts]
    return pa.array(sets, pa.list_(pa.string())), np.fromiter(counts.values(), dtype=np.int64, count=len(counts))


def verified_sets(
    data: Path | Records,
    original: Records,
    model: str,
    k: int,
    *,
    told: Shown,
    delimiter: str = " ",
    threads: int = 1,
) -> SetFinding:
    """Verify a release, and fail closed.

    Parameters
    ----------
    data
        The written file, or the rows in memory.
    model
        k-anonymity: at least k records publish each set. k1-anonymity: at least k original records contain each.
    told
        The sets that must be there, as often as they are.
    """
    sets, times = read_back(data, delimiter=delimiter, threads=threads)
    rows = int(times.sum())
    if rows != original.count:
        raise VerificationError(
            f"Verification failed: {rows:,} records were written and not {original.count:,}; nothing was released."
        )
    texts = sets if isinstance(data, Path) else _as_texts(sets, data.names)
    achieved = int(times.min()) if model == "k-anonymity" else _fewest_containing(texts, original)
    found = SetFinding(model, k, achieved, rows, len(times))
    if not found.holds:
        raise VerificationError(
            f"Verification failed: {model} holds for k = {achieved:,} and not for {k:,}; nothing was released. Please "
            "report this."
        )
    meant = pa.LargeListArray.from_arrays(pa.array(told.starts), told.names.take(pa.array(told.items)))
    if _fingerprint(texts, times, threads) != _fingerprint(meant, told.times, threads):
        raise VerificationError(
            "Verification failed: the written sets are not those that records have in common; nothing was released. "
            "Please report this."
        )
    return found


def _fingerprint(sets: Any, times: NDArray[np.int64], threads: int) -> int:
    """A sum over sets, as often as they are there, that does not depend on their order, nor on that of their items."""
    with connect(threads) as connection:
        connection.register("sets", pa.table({"items": sets, "times": times}))
        summed = connection.execute("SELECT sum(times * (hash(list_sort(items)) >> 16)::HUGEINT) FROM sets")
        return int(summed.fetchall()[0][0])


def _as_texts(sets: Any, names: pa.Array) -> pa.Array:
    lists = sets.chunk(0) if isinstance(sets, pa.ChunkedArray) else sets
    return pa.LargeListArray.from_arrays(lists.offsets.cast(pa.int64()), names.take(lists.values))


def _fewest_containing(sets: Any, original: Records) -> int:
    """How many original records contain the published set that fewest contain."""
    from rothko.kernels.sets.records import by_item, fewest_containing, spread, tidy

    lists = sets.chunk(0) if isinstance(sets, pa.ChunkedArray) else sets
    texts = lists.flatten().cast(pa.large_string())
    numbers = pc.index_in(texts, value_set=original.names.cast(pa.large_string()))
    if numbers.null_count:
        raise VerificationError("Verification failed: items are published that no record has; nothing was released.")
    starts = np.concatenate(([0], np.cumsum(pc.list_value_length(lists).to_numpy(zero_copy_only=False)))).astype(
        np.int64
    )
    items = numbers.to_numpy().astype(np.int32)
    order = np.argsort(-np.diff(starts), kind="stable")
    asked_starts, asked = spread(order, starts, items)
    tidy(asked_starts, asked)
    holders = by_item(original.starts, original.items, original.size)
    return int(fewest_containing(asked_starts, asked, original.starts, original.items, *holders, original.count))

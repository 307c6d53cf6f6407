"""The public files of a release of sets, read for those who look at it: its certificate and its sets, nothing else."""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.errors import InputError
from rothko.mistakes import said
from rothko.progress import count_threads
from rothko.release.certificate import SET_FORMAT
from rothko.release.names import LINE_ENDINGS
from rothko.release.save import Staged
from rothko.release.sql import connect
from rothko.release.verify import open_table, with_long_lines
from rothko.report.released import FEW, check_bytes, files_of, find_release
from rothko.sets.records import Records, one_array
from rothko.sets.verify import read_back
from rothko.sets.write import LONG_ENDINGS, data_ending


@dataclass(frozen=True, slots=True, eq=False)
class ToldSets:
    """A release of sets, as anybody can read it."""

    file: str
    """The name of its data file."""
    ending: str
    certificate: Mapping[str, Any]
    times: NDArray[np.int64]
    """How many records publish each of the different sets; the most frequent first."""
    starts: NDArray[np.int64]
    items: NDArray[np.int64]
    """The different sets as CSR; the most frequent item of a set first."""
    names: list[str]
    """The texts of the items, the most frequent first."""
    frequencies: NDArray[np.int64]
    """How many records publish each item."""
    rows: list[list[str]]
    """The first few records."""
    parts: str = ""
    """The names of its files, with a star, where it is a folder of several."""

    @property
    def records(self) -> int:
        """All of them."""
        return int(self.times.sum())

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Items of each different set."""
        return np.diff(self.starts)

    def set_at(self, at: int) -> list[str]:
        """The items of one of the different sets."""
        return [self.names[item] for item in self.items[self.starts[at] : self.starts[at + 1]]]


class HeldInMemory(NamedTuple):
    """A release that is in memory."""

    records: Records
    certificate: Mapping[str, Any]


def read_sets(release: Any, *, delimiter: str | None = None, threads: int | None = None) -> ToldSets:
    """Read a release of sets: its data file, its certificate, their folder, or one that is in memory.

    Parameters
    ----------
    delimiter
        What separates the items of a line, where they are in lines and it is no blank.
    """
    cores, between = count_threads(threads), " " if delimiter is None else delimiter
    if isinstance(release, HeldInMemory):
        told = release.certificate
        first = release.records.to_arrow().slice(0, FEW).to_pylist()
        return _told(told["file"] or "release.txt", told, *read_back(release.records, threads=cores), first)
    if isinstance(release, Staged):
        data, certificate = release.data, release.certificate
    else:
        data, certificate = find_release(release)
        if certificate["format"] != SET_FORMAT:
            raise InputError(f"{data.name} has a table, and no records which are sets.")
        check_bytes(data, certificate)
    files = files_of(data)
    read = [read_back(one, delimiter=between, threads=cores) for one in files]
    sets, times = read[0] if len(read) == 1 else _joined(read)
    parts = "" if data.is_file() else f"{certificate['file']}/part-*"
    found = _told(certificate["file"], certificate, sets, times, _first(files[0], between), parts)
    if len(found.names) != certificate["metrics"]["items"]:
        raise InputError(
            f"{found.file} has {len(found.names):,} items, and {certificate['metrics']['items']:,} were certified; say "
            f"with {said('--delimiter')} what separates them."
        )
    return found


def _joined(read: list[tuple[pa.Array, NDArray[np.int64]]]) -> tuple[pa.Array, NDArray[np.int64]]:
    """The different sets of several files."""
    tables = [pa.table({"items": sets.cast(pa.large_list(pa.large_string())), "times": n}) for sets, n in read]
    with connect(1) as connection:
        connection.register("sets", pa.concat_tables(tables))
        found = connection.sql("SELECT items, sum(times)::BIGINT AS times FROM sets GROUP BY items").to_arrow_table()
    return one_array(found["items"]), np.asarray(found["times"].to_numpy())


def _first(data: Path, delimiter: str) -> list[list[str]]:
    """The first records of a file, as they stand in it."""
    ending = data_ending(data)
    if ending in LINE_ENDINGS:
        opened: Any = gzip.open if ending.endswith(".gz") else open
        with opened(data, "rt", encoding="utf-8", newline="\n") as file:
            lines = [line.rstrip("\n") for line in itertools.islice(file, FEW)]
        return [line.split(delimiter) if line else [] for line in lines]
    query = f"SELECT c0 AS items FROM released LIMIT {FEW}"
    if ending in LONG_ENDINGS:
        numbered = "SELECT c0::BIGINT AS record, c1 FROM released"
        few = f"SELECT DISTINCT record FROM ({numbered}) ORDER BY record LIMIT {FEW}"
        query = (
            f"SELECT list(c1 ORDER BY c1) FILTER (c1 IS NOT NULL) FROM ({numbered}) WHERE record IN ({few}) "
            "GROUP BY record ORDER BY record"
        )

    def work(longest: int) -> list[list[str]]:
        with connect(1) as connection:
            connection.execute("SET preserve_insertion_order = true")
            open_table(connection, data, ("items", "record", "item"), longest=longest)
            return [list(row or []) for (row,) in connection.execute(query).fetchall()]

    return with_long_lines(work)


def _told(
    file: str, certificate: Mapping[str, Any], sets: Any, times: NDArray[np.int64], rows: list[list[str]],
    parts: str = "",
) -> ToldSets:  # fmt: skip
    """Sets in an order that says nothing: by how often they are there, then by their items."""
    lengths = np.asarray(pc.fill_null(pc.list_value_length(sets), 0).to_numpy(zero_copy_only=False), dtype=np.int64)
    coded = pc.dictionary_encode(sets.flatten())
    names, codes = coded.dictionary.to_pylist(), np.asarray(coded.indices.to_numpy(), dtype=np.int64)
    frequencies = np.bincount(codes, np.repeat(times, lengths), len(names)).astype(np.int64)
    by_text = np.argsort(np.array(names, dtype=object), kind="stable")
    order = by_text[np.argsort(-frequencies[by_text], kind="stable")]
    rank = np.empty(len(names), dtype=np.int64)
    rank[order] = np.arange(len(names))
    owner = np.repeat(np.arange(len(lengths)), lengths)
    items = rank[codes]
    within = np.lexsort((items, owner))
    items, starts = items[within], np.concatenate([[0], np.cumsum(lengths)])
    # Sets that are as frequent come by a number of their items: readers bring them in any order.
    marks = np.random.default_rng(0).integers(1 << 63, size=len(names), dtype=np.uint64)[items]
    below = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(marks, dtype=np.uint64)])
    placed = np.lexsort((below[starts[1:]] - below[starts[:-1]], -times))
    taken = np.repeat(starts[placed], lengths[placed]) + _within(lengths[placed])
    return ToldSets(
        file, data_ending(Path(file)), certificate, times[placed], np.concatenate([[0], np.cumsum(lengths[placed])]),
        items[taken], [names[i] for i in order], frequencies[order], rows, parts,
    )  # fmt: skip


def _within(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each item in its set."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)

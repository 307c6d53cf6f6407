"""Set-valued records: the experiments of Podgursky, Vanderbilt 2011, chapter V.

"Practical k-Anonymity on Large Datasets": Figs. 7 to 18 on Adult, Figs. 20 and 21 on synthetic records with a long
tail, Tables 13 to 15 on records of the shape of its targeting data, with rothko's own methods beside the thesis's. Two
figures, and the three tables, are one here: what is kept and time of the same runs. Times are processor times of
grouping the records alone, on one thread, of a single run; the load of the machine is kept with the results.

The time of (k,1) with all records grows with the square of the records, and with k besides. It gets at most
``slow_rows`` of Adult's records, drawn at random, and so do the methods that it is compared with.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq

from experiments.runs import Keep, Results, Running, Show, keep_nothing, with_load
from rothko.generate.longtail import TARGETING, LongTail, longtail
from rothko.sets.files import Reading, read_records
from rothko.sets.methods.cluster import SetCluster, SetIterative
from rothko.sets.methods.k1 import SetK1
from rothko.sets.methods.method import SetK1Method, SetMethod
from rothko.sets.methods.mondrian import SetMondrian
from rothko.sets.methods.two_phase import SetTwoPhase
from rothko.sets.records import Common, Records

METHODS: dict[str, SetMethod] = {
    "cluster-all": SetCluster(search="all"),
    "cluster-random": SetCluster(search="random"),
    "cluster-lsh": SetCluster(search="lsh"),
    "cluster-lsh-shared": SetCluster(search="lsh", query="shared"),
    "cluster-lsh-thesis": SetCluster(search="lsh", reading="paper"),
    "iterative-all": SetIterative(search="all"),
    "iterative-lsh": SetIterative(search="lsh"),
    "iterative-all-thesis": SetIterative(search="all", reading="paper"),
    "iterative-lsh-thesis": SetIterative(search="lsh", reading="paper"),
    "mondrian-even": SetMondrian(criterion="even"),
    "mondrian-entropy": SetMondrian(criterion="entropy"),
    "mondrian-utility": SetMondrian(criterion="utility"),
    "two-phase": SetTwoPhase(close="once"),
    "two-phase-closed": SetTwoPhase(close="always"),
    "k1-all": SetK1(search="all", noise=0),
    "k1-lsh": SetK1(search="lsh", noise=0),
    "k1-lsh-thesis": SetK1(search="lsh", noise=0, reading="paper"),
    "k1-topdown": SetK1(search="topdown"),
}
"""The thesis's names in small letters → method. Its (k,1) has no noise, its two-phase closes classes once. Beside them
stand ours, and LSH asked by what a class shares so far rather than by its first record. What ends in ``thesis`` is the
thesis to the letter where ours leaves it."""
COLUMNS = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "age",
    "hours-per-week",
)  # fmt: skip
BINS = {"age": 5, "hours-per-week": 10}
SHOWN: dict[str, tuple[str, ...]] = {
    "7": ("cluster-all", "cluster-random", "cluster-lsh", "cluster-lsh-shared", "cluster-lsh-thesis"),
    "9": ("cluster-all", "iterative-all", "iterative-all-thesis"),
    "11": ("cluster-lsh", "cluster-lsh-thesis", "iterative-lsh", "iterative-lsh-thesis"),
    "13": ("mondrian-even", "mondrian-entropy"),
    "15": (
        "k1-all", "k1-lsh", "k1-lsh-thesis", "k1-topdown", "cluster-all", "cluster-lsh", "cluster-lsh-thesis",
        "mondrian-even", "mondrian-utility", "two-phase",
    ),
    "17": (
        "cluster-lsh", "cluster-lsh-thesis", "iterative-lsh", "iterative-lsh-thesis", "mondrian-even",
        "mondrian-utility", "two-phase", "two-phase-closed", "k1-lsh", "k1-lsh-thesis", "k1-topdown",
    ),
    "20": (
        "cluster-lsh", "cluster-lsh-thesis", "mondrian-even", "mondrian-utility", "two-phase", "two-phase-closed",
        "k1-lsh", "k1-lsh-thesis", "k1-topdown",
    ),
    "tables": ("mondrian-even", "mondrian-utility", "two-phase", "two-phase-closed"),
}  # fmt: skip
"""First figure of a pair → what it shows."""
SLOW = ("15",)
"""Figures with (k,1) among all records."""


@dataclass(frozen=True, slots=True)
class Sets:
    """How much is run."""

    data: Path | None = None
    more_k: tuple[int, ...] = (5, 10, 20, 30, 50, 100, 150, 195)
    """On Adult."""
    synthetic_k: tuple[int, ...] = (2, 5, 10, 20, 40, 80)
    slow_rows: int = 10_000
    rows: int = 100_000
    """Synthetic records."""
    targeting_k: tuple[int, ...] = (2, 10, 20, 40)
    targeting: int = 1_000_000
    """Records of the shape of the targeting data."""

    @classmethod
    def quick(cls, data: Path | None = None) -> Sets:
        """Enough to see that everything runs."""
        return cls(data, more_k=(5, 20), synthetic_k=(2, 10), slow_rows=200, rows=400, targeting=500)


def adult(folder: Path) -> Records:
    """Adult as the thesis has it: ten columns, age by 5 years and hours by 10; what is missing is no item."""
    table = pq.read_table(folder / "adult/adult_uci.parquet", columns=list(COLUMNS))
    return read_records(table, Reading(form="table", columns=COLUMNS, bins=BINS))


def some_of(records: Records, count: int) -> Records:
    """So many of the records, drawn at random."""
    if records.count <= count:
        return records
    from rothko.kernels.sets.records import spread

    rows = np.sort(np.random.default_rng(0).choice(records.count, count, replace=False))
    return Records(*spread(rows, records.starts, records.items), records.names, records.utility)


class Kept(NamedTuple):
    """What a run keeps, as shares, and its seconds of processor time."""

    utility: float
    instances: float
    seconds: float


def trial(records: Records, k: int, method: SetMethod) -> Kept:
    """Run a method."""
    begun = time.process_time()
    if isinstance(method, SetK1Method):
        _, items = method.publish(records, k, 0)
        seconds = time.process_time() - begun
        kept, instances = float(records.utility[items].sum()), len(items)
    else:
        classes = method.group(records, k, seed=0, threads=1, progress=lambda _: None)
        seconds = time.process_time() - begun
        sizes, _, _, starts, items = Common.of(classes, records.starts, records.items, records.size)
        times = np.repeat(sizes, np.diff(starts))
        kept, instances = float(times @ records.utility[items]), int(times.sum())
    return Kept(kept / records.total_utility(), instances / max(len(records.items), 1), seconds)


class Bench:
    """Runs, each done once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, str], Kept] = {}

    def __call__(
        self,
        name: str,
        records: Records,
        values: Sequence[int],
        methods: Sequence[str],
        show: Show,
    ) -> Results:
        """What methods keep, and their seconds, against k."""
        found: dict[str, Any] = {part: {} for part in Kept._fields}
        found |= {"records": records.count, "items": records.size}
        for i, k in enumerate(values):
            for method in methods:
                key = (name, records.count, k, method)
                if key not in self._known:
                    self._known[key] = trial(records, k, METHODS[method])
                for part, value in self._known[key]._asdict().items():
                    found[part].setdefault(method, {})[str(k)] = round(value, 6)
            show(i + 1, len(values))
        return found

    def figure(self, settings: Sets, number: str, show: Show) -> Results:
        """A figure, or the tables."""
        if number == "tables":
            records = longtail(settings.targeting, LongTail(items=TARGETING[1]))
            return self("targeting", records, settings.targeting_k, SHOWN[number], show)
        if settings.data is None or number == "20":
            return self("longtail", longtail(settings.rows), settings.synthetic_k, SHOWN[number], show)
        records = adult(settings.data)
        records = some_of(records, settings.slow_rows) if number in SLOW else records
        return self("adult", records, settings.more_k, SHOWN[number], show)


FIGURES: dict[str, str] = {
    "7": "Adult: random, LSH, all",
    "9": "Adult: iterative, all",
    "11": "Adult: iterative, LSH",
    "13": "Adult: entropy, even",
    "15": "Adult: (k,1)",
    "17": "Adult: all methods",
    "20": "synthetic: all methods",
    "tables": "targeting: Mondrian, two-phase",
}
"""First figure of a pair (utility; the next one has the times) → what it shows."""
NEED_DATA = tuple(number for number in FIGURES if number not in ("20", "tables"))


def run(settings: Sets, figures: Iterable[str] = FIGURES, *, keep: Keep = keep_nothing) -> Results:
    """Run figures, one run at a time; the results are plain data. ``keep`` is called with what there is after each."""
    runs = Running(settings, keep)
    warm_up()
    bench = Bench()
    for number in figures:
        named = "Tables 13 to 15" if number == "tables" else f"Figs. {number}, {int(number) + 1}"
        runs.figure(
            number,
            f"{named} {FIGURES[number]}",
            with_load(lambda show, number=number: bench.figure(settings, number, show)),
            needs_data=number in NEED_DATA,
        )
    return runs.results


def warm_up() -> None:
    """Run every method once on a few records, so that no time has compilation in it."""
    few = longtail(300)
    for method in METHODS.values():
        trial(few, 5, method)

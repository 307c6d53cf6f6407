"""Set-valued records: the experiments of Podgursky, Vanderbilt 2011, chapter V.

"Practical k-Anonymity on Large Datasets": Figs. 7 to 18 on Adult, Figs. 20 and 21 on synthetic records with a long
tail, with rothko's own methods beside the thesis's. Two figures are one here: utility and time of the same runs. Times
are processor times of grouping the records alone, on one thread, of a single run; the load of the machine is kept with
the results.

The time of (k,1) with all records grows with the square of the records, and with k besides. It gets at most
``slow_rows`` of Adult's records, drawn at random, and so do the methods that it is compared with.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from experiments.workload import progress_of
from rothko.data.longtail import longtail
from rothko.data.sets import Records, from_table
from rothko.kernels.sets_records import shared
from rothko.methods.set_method import SetK1Method, SetMethod
from rothko.methods.sets_cluster import SetCluster, SetIterative
from rothko.methods.sets_k1 import SetK1
from rothko.methods.sets_mondrian import SetMondrian
from rothko.methods.sets_two_phase import SetTwoPhase

METHODS: dict[str, SetMethod] = {
    "cluster-all": SetCluster(search="all"),
    "cluster-random": SetCluster(search="random"),
    "cluster-lsh": SetCluster(search="lsh"),
    "iterative-all": SetIterative(search="all"),
    "iterative-lsh": SetIterative(search="lsh"),
    "mondrian-even": SetMondrian(criterion="even"),
    "mondrian-entropy": SetMondrian(criterion="entropy"),
    "mondrian-utility": SetMondrian(criterion="utility"),
    "two-phase": SetTwoPhase(),
    "k1-all": SetK1(search="all", noise=0),
    "k1-lsh": SetK1(search="lsh", noise=0),
    "k1-topdown": SetK1(search="topdown"),
}
"""The thesis's names in small letters → method. Its (k,1) has no noise."""
COLUMNS = (
    "workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "native-country", "age",
    "hours-per-week",
)  # fmt: skip
BINS = {"age": 5, "hours-per-week": 10}
SHOWN: dict[str, tuple[str, ...]] = {
    "7": ("cluster-all", "cluster-random", "cluster-lsh"),
    "9": ("cluster-all", "iterative-all"),
    "11": ("cluster-lsh", "iterative-lsh"),
    "13": ("mondrian-even", "mondrian-entropy"),
    "15": ("k1-all", "k1-lsh", "k1-topdown", "cluster-all", "cluster-lsh", "mondrian-utility"),
    "17": ("cluster-lsh", "iterative-lsh", "mondrian-even", "mondrian-utility", "two-phase", "k1-lsh", "k1-topdown"),
    "20": ("cluster-lsh", "mondrian-even", "mondrian-utility", "two-phase", "k1-lsh", "k1-topdown"),
}
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

    @classmethod
    def quick(cls, data: Path | None = None) -> Sets:
        """Enough to see that everything runs."""
        return cls(data, more_k=(5, 20), synthetic_k=(2, 10), slow_rows=200, rows=400)


def adult(folder: Path) -> Records:
    """Adult as the thesis has it: ten columns, age by 5 years and hours by 10; what is missing is no item."""
    table = pq.read_table(folder / "adult/adult_uci.parquet", columns=list(COLUMNS))
    return from_table(table, columns=COLUMNS, bins=BINS)


def some_of(records: Records, count: int) -> Records:
    """So many of the records, drawn at random."""
    if records.count <= count:
        return records
    from rothko.kernels.sets_records import spread

    rows = np.sort(np.random.default_rng(0).choice(records.count, count, replace=False))
    return Records(*spread(rows, records.starts, records.items), records.names, records.utility)


def trial(records: Records, k: int, method: SetMethod) -> tuple[float, float]:
    """The share of the utility that a method keeps, and its seconds of processor time."""
    begun = time.process_time()
    if isinstance(method, SetK1Method):
        _, items = method.publish(records, k, 0)
        seconds = time.process_time() - begun
        kept = float(records.utility[items].sum())
    else:
        classes = method.group(records, k, seed=0, threads=1, progress=lambda _: None)
        seconds = time.process_time() - begun
        sizes = np.bincount(classes)
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        order = np.argsort(classes, kind="stable")
        starts, items = shared(order, bounds, records.starts, records.items, records.size)
        kept = float(np.repeat(sizes, np.diff(starts)) @ records.utility[items])
    return kept / records.total_utility(), seconds


class Bench:
    """Runs, each done once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, str], tuple[float, float]] = {}

    def __call__(
        self,
        name: str,
        records: Records,
        values: Sequence[int],
        methods: Sequence[str],
        show: Callable[[int, int], None],
    ) -> dict[str, Any]:
        """Utility and seconds of methods against k."""
        found: dict[str, Any] = {"utility": {}, "seconds": {}, "records": records.count, "items": records.size}
        for i, k in enumerate(values):
            for method in methods:
                key = (name, records.count, k, method)
                if key not in self._known:
                    self._known[key] = trial(records, k, METHODS[method])
                utility, seconds = self._known[key]
                found["utility"].setdefault(method, {})[str(k)] = round(utility, 6)
                found["seconds"].setdefault(method, {})[str(k)] = round(seconds, 4)
            show(i + 1, len(values))
        return found


FIGURES: dict[str, str] = {
    "7": "Adult: random, LSH, all",
    "9": "Adult: iterative, all",
    "11": "Adult: iterative, LSH",
    "13": "Adult: entropy, even",
    "15": "Adult: (k,1)",
    "17": "Adult: all methods",
    "20": "synthetic: all methods",
}
"""First figure of a pair (utility; the next one has the times) → what it shows."""
NEED_DATA = tuple(number for number in FIGURES if number != "20")


def run(
    settings: Sets,
    figures: Iterable[str] = FIGURES,
    *,
    keep: Callable[[dict[str, Any]], object] = lambda results: None,
) -> dict[str, Any]:
    """Run figures, one run at a time; the results are plain data. ``keep`` is called with what there is after each."""
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(settings).items()}
    results: dict[str, Any] = {
        "settings": plain | {"data": settings.data is not None}, "figures": {}, "seconds": {}
    }  # fmt: skip
    warm_up()
    bench = Bench()
    for number in figures:
        name = f"Figs. {number}, {int(number) + 1} {FIGURES[number]}"
        if number in NEED_DATA and settings.data is None:
            print(f"{name:<40} left out: it needs --data", flush=True)
            continue
        begun, load = time.perf_counter(), os.getloadavg()[0]
        if settings.data is None or number == "20":
            found = bench("longtail", longtail(settings.rows), settings.synthetic_k, SHOWN[number], progress_of(name))
        else:
            records = adult(settings.data)
            records = some_of(records, settings.slow_rows) if number in SLOW else records
            found = bench("adult", records, settings.more_k, SHOWN[number], progress_of(name))
        # What others did at the time: 1 is this process.
        found["load"] = [round(load, 1), round(os.getloadavg()[0], 1)]
        results["figures"][number] = found
        results["seconds"][number] = round(time.perf_counter() - begun, 1)
        keep(results)
        back = "\r" if sys.stdout.isatty() else ""
        print(f"{back}{name:<40} {results['seconds'][number]:8.1f} s", flush=True)
    return results


def warm_up() -> None:
    """Run every method once on a few records, so that no time has compilation in it."""
    few = longtail(300)
    for method in METHODS.values():
        trial(few, 5, method)

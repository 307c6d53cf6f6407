"""Tables larger than memory: the experiments of LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 6.

Figs. 17 to 24. In Figs. 18 to 21, 50,000 records fit in memory (TM) where the paper has 2 million, and tables have up
to 40 times as many. Figs. 17 to 21 are run one after the other in processes of their own, on one thread
(:mod:`experiments.disk_runs`); Figs. 22 to 24 side by side, those that the paper tells of its Census table, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments import disk_runs
from experiments.data import SURVEY_RECORDS
from experiments.disk_runs import Run
from experiments.protocol import gather, spread_over
from experiments.runs import Keep, Results, Running, keep_nothing, processes
from experiments.sampling import INCOME, LOW_INCOME, REQUIRED, pruned, quality, quality_of_census

ENGINES = {"T, F_CACHE = 1": ("rothko-t", 1), "T, F_CACHE = 8": ("rothko-t", 8), "S": ("rothko-s", 1)}
GUIDED_ENGINES = {"T, F_CACHE = 1": ("rothko-t", 1), "T, F_CACHE = 4": ("rothko-t", 4), "S": ("rothko-s", 1)}


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is run."""

    data: Path | None = None
    rows: tuple[int, ...] = (500_000, 1_000_000, 2_000_000)
    tuples: int = 50_000
    """Records that fit in memory (TM)."""
    k: int = 1000
    more_k: tuple[int, ...] = (10, 100, 1000)
    """Of Fig. 20."""
    caches: tuple[int, ...] = (1, 2, 4, 8)
    samples: tuple[int, ...] = (12_500, 25_000, 50_000, 100_000)
    """Of Fig. 18."""
    memory: int = 512_000_000
    """The limit of Fig. 17."""
    records: int = 100_000
    """Of a table of Figs. 22 to 24."""
    seeds: int = 10
    """Tables of Figs. 22 and 23; of the Census table, which is one, samples."""
    census: int = SURVEY_RECORDS
    """Records of the Census table of Figs. 22 and 23."""
    quality_k: tuple[int, ...] = (50, 250, 1000)
    quality_samples: tuple[int, ...] = (1000, 5000, 25_000, 100_000)
    pruned_samples: tuple[int, ...] = (1000, 5000, 25_000)
    pruned_small: tuple[int, ...] = (100, 250, 500)
    """More sample sizes, for k-anonymity alone."""

    @classmethod
    def quick(cls, data: Path | None = None) -> Scale:
        """Enough to see that everything runs."""
        return cls(
            data, rows=(10_000, 20_000), tuples=2_000, k=100, more_k=(50, 100), caches=(1, 8),
            samples=(1_000, 2_000), records=2_000, seeds=1, census=2_000, quality_k=(50, 250),
            quality_samples=(1000, 2000), pruned_samples=(1000,), pruned_small=(),
        )  # fmt: skip

    @property
    def middle(self) -> int:
        """The table of experiments in which rows do not grow."""
        return self.rows[len(self.rows) // 2]


class Bench:
    """Runs of engines, each done once, on tables in a folder."""

    def __init__(self, folder: Path, measure: Callable[[Run], dict[str, Any]] = disk_runs.measure) -> None:
        self._folder = folder
        self._measure = measure
        self._known: dict[tuple[int, Run], dict[str, Any]] = {}

    def __call__(self, rows: int, **options: Any) -> dict[str, Any]:
        """What a run on so many records takes."""
        path = self._folder / f"people-{rows}.parquet"
        if not path.exists():
            disk_runs.write_people(path, rows)
        run = Run(str(path), **options)
        if (rows, run) not in self._known:
            self._known[rows, run] = self._measure(run)
        return self._known[rows, run]


def figure_17(settings: Scale, bench: Bench) -> dict[str, Any]:
    """The memory engine on tables beyond a limit, beside engines on disk that are given it: the whole flow."""
    limits = {"memory": None, "rothko-t": settings.memory, "rothko-s": settings.memory}
    found = {
        engine: {str(rows): bench(rows, engine=engine, k=settings.k, memory=limit) for rows in settings.rows}
        for engine, limit in limits.items()
    }
    return {"limit": settings.memory, "runs": found}


def figure_18(settings: Scale, bench: Bench) -> dict[str, Any]:
    """Bytes read and written beside those of the model: by F_CACHE, by sample size, by rows."""
    fixed = {"k": settings.k}
    return {
        "cache": {
            str(cache): bench(settings.middle, engine="rothko-t", cache=cache, tuples=settings.tuples, **fixed)
            for cache in settings.caches
        },
        "sample": {
            str(sample): bench(settings.middle, engine="rothko-s", tuples=sample, **fixed)
            for sample in settings.samples
        },
        "rows": figure_19(settings, bench),
    }


def figure_19(settings: Scale, bench: Bench) -> dict[str, Any]:
    """Median: time against rows."""
    return _grown(settings, bench, ENGINES, guided=False)


def figure_20(settings: Scale, bench: Bench) -> dict[str, Any]:
    """Median: time against k."""
    return {
        name: {
            str(k): bench(settings.middle, engine=engine, cache=cache, tuples=settings.tuples, k=k)
            for k in settings.more_k
        }
        for name, (engine, cache) in ENGINES.items()
    }


def figure_21(settings: Scale, bench: Bench) -> dict[str, Any]:
    """InfoGain: time against rows."""
    return _grown(settings, bench, GUIDED_ENGINES, guided=True)


def _grown(
    settings: Scale, bench: Bench, engines: dict[str, tuple[str, int]], *, guided: bool
) -> dict[str, dict[str, Any]]:
    return {
        name: {
            str(rows): bench(
                rows, engine=engine, cache=cache, tuples=settings.tuples, k=settings.k, guided=guided
            )
            for rows in settings.rows
        }
        for name, (engine, cache) in engines.items()
    }  # fmt: skip


def _quality(
    targets: tuple[str, ...], settings: Scale, pool: Executor | None, show: Callable[[int, int], None]
) -> dict[str, Any]:
    """Quality of the classes against the sample size, for some k."""
    asked = [
        (target, k, sample, settings.records, seed)
        for target in targets
        for seed in range(settings.seeds)
        for k in settings.quality_k
        for sample in settings.quality_samples
    ]
    return gather(spread_over(pool, show)(quality, asked))


def _quality_of_census(
    target: str, settings: Scale, pool: Executor | None, show: Callable[[int, int], None]
) -> dict[str, Any]:
    """The same on the Census table: samples of the sizes that it has records for, and all of its records."""
    sizes = [size for size in settings.quality_samples if size < settings.census]
    asked = [
        (target, k, sample, settings.data, settings.census, seed)
        for k in settings.quality_k
        for sample in [*sizes, settings.census]
        for seed in range(settings.seeds if sample < settings.census else 1)
    ]
    return gather(spread_over(pool, show)(quality_of_census, asked))


def figure_24(settings: Scale, pool: Executor | None, show: Callable[[int, int], None]) -> dict[str, Any]:
    """Nodes that were undone, by sample size and test."""
    asked: list[tuple[Any, ...]] = [
        (part, bound, sample, test, settings.records, 0)
        for part, (_, bounds) in REQUIRED.items()
        for sample in (*(settings.pruned_small if part == "k" else ()), *settings.pruned_samples)
        for bound in bounds
        for test in (("exact", "normal", "naive") if part == "k" else ("normal", "naive"))
    ]
    return gather(spread_over(pool, show)(pruned, asked))


TIMED: dict[str, tuple[str, Callable[[Scale, Bench], dict[str, Any]]]] = {
    "17": ("memory engine past its limit", figure_17),
    "18": ("bytes read and written", figure_18),
    "19": ("time, Median", figure_19),
    "20": ("time by k", figure_20),
    "21": ("time, InfoGain", figure_21),
}
SAMPLED: dict[str, tuple[str, Callable[[Scale, Executor | None, Callable[[int, int], None]], dict[str, Any]]]] = {
    "22": ("samples, conditional entropy", partial(_quality, ("C2",))),
    "23": ("samples, squared error", partial(_quality, ("R7", "R10"))),
    "22-census": ("samples, entropy, Census", partial(_quality_of_census, LOW_INCOME)),
    "23-census": ("samples, error, Census", partial(_quality_of_census, INCOME)),
    "24": ("samples, nodes undone", figure_24),
}
NEED_DATA = {"22-census", "23-census"}
FIGURES = (*TIMED, *SAMPLED)


def run(settings: Scale, figures: Iterable[str] = FIGURES, *, workers: int = 0, keep: Keep = keep_nothing) -> Results:
    """Run figures; the results are plain data. ``keep`` is called with what there is after each figure."""
    asked = list(figures)
    runs = Running(settings, keep)
    with TemporaryDirectory(prefix="rothko-scale-") as folder:
        bench = Bench(Path(folder))
        for number in (one for one in asked if one in TIMED):
            title, timed = TIMED[number]
            runs.figure(number, f"Fig. {number:<3} {title}", lambda _, timed=timed: timed(settings, bench))
    with processes(workers) as pool:
        for number in (one for one in asked if one in SAMPLED):
            title, spread = SAMPLED[number]
            runs.figure(
                number,
                f"Fig. {number:<3} {title}",
                lambda show, spread=spread: spread(settings, pool, show),
                needs_data=number in NEED_DATA,
            )
    return runs.results

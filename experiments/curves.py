"""Low information loss: the experiments of Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, section 6.

Figs. 12 to 20: k-anonymity and l-diversity along curves against Mondrian, TopDown and Anatomy, on Adult and on a census
of 50,000 to 400,000 records, with rothko's own ``cluster`` beside the paper's methods. The paper's census is not at
hand; :mod:`rothko.generate.census` and a survey (:mod:`experiments.survey`) stand for it. Times are those of grouping
the records alone, on one thread, the best of three runs, in processor time; the load of the machine is kept with the
results. The paper's Mondrian is :mod:`experiments.widest`; its own methods to the letter (``reading: paper``) stand
beside rothko's in Figs. 12, 13 and 16.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from experiments import survey
from experiments.runs import Keep, Results, Running, keep_nothing, with_load
from experiments.widest import WIDEST, Widest
from rothko.comparison.compare import TableBench, TableTrial, empty
from rothko.data.encode import rank
from rothko.data.source.open import open_source
from rothko.generate.census import QUASI_IDENTIFIERS, TREES, census
from rothko.in_memory import in_memory
from rothko.methods import Hilbert, IDistance, TopDown
from rothko.methods.anatomy import anatomize
from rothko.methods.classes import Classes
from rothko.metrics.cube import cube_divergence
from rothko.metrics.pair import Anatomy
from rothko.policy.policy import Policy
from rothko.privacy import FrequencyLDiversity, KAnonymity
from rothko.secret import Secret

SENSITIVE = "occupation"
ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation")
"""The quasi-identifiers of Adult: age is a number, the others have hierarchies."""
ALL = (WIDEST, "mondrian", "topdown", "hilbert", "hilbert-fast", "idistance", "idistance-fast", "cluster")
DIVERSE = (WIDEST, "mondrian", "hilbert", "idistance", "cluster")
BY_PAPER = ("hilbert-paper", "idistance-paper")
"""The paper's methods to its letter, where rothko's leave it."""
OPTIONS: dict[str, Any] = {
    "cluster": {"cluster": {"effort": "fast"}},
    "topdown": TopDown(force=True),
    WIDEST: Widest(),
    "hilbert-paper": Hilbert(reading="paper"),
    "idistance-paper": IDistance(reading="paper"),
}
"""Methods that do not run as they do by default: a search that goes on is not compared by its time."""
UNTIMED = (WIDEST, *BY_PAPER)
"""Methods whose times are not kept: the loop of the first is plain Python, the others differ in coordinates alone."""
QUERIED = (*DIVERSE, "anatomy")
SLOW = ("topdown", "cluster")
"""Methods that are run once: they take so long that chance does little to it."""


@dataclass(frozen=True, slots=True)
class Curves:
    """How much is run."""

    data: Path | None = None
    census: str = "made up"
    """Whose records they are: made up, or of the survey among the real tables."""
    repeat: int = 3
    adult_k: tuple[int, ...] = (5, 10, 15, 20, 25, 30, 40, 50)
    more_k: tuple[int, ...] = (10, 25, 50, 75, 100)
    k: int = 50
    rows: tuple[int, ...] = (50_000, 100_000, 200_000, 400_000)
    middle: int = 200_000
    """Records where their number does not vary."""
    dimensions: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    more_l: tuple[int, ...] = (2, 3, 5, 7, 9, 11, 13)
    l: int = 5  # noqa: E741 (the literature's letter)
    values: tuple[int, ...] = (10, 20, 30, 40, 50)
    """Sensitive values, of Fig. 19."""
    levels: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    """Of the lattice, in Fig. 20."""
    queried_l: tuple[int, ...] = (2, 3, 5, 9, 13)
    level_rows: int = 50_000
    """Records where levels of the lattice vary: there are 127 group-bys in all."""
    slow_classes: int = 8_000
    """For how many classes of k records TopDown is given a table, at most: its time grows with them, too."""

    @classmethod
    def quick(cls, data: Path | None = None) -> Curves:
        """Enough to see that everything runs."""
        return cls(
            data, repeat=1, adult_k=(5, 20), more_k=(5, 20), k=10, rows=(200, 500), middle=300,
            dimensions=(1, 4, 7), more_l=(2, 5), values=(10, 50), levels=(1, 2), queried_l=(2, 5), level_rows=200,
            slow_classes=300,
        )  # fmt: skip

    @classmethod
    def on_survey(cls, data: Path | None = None) -> Curves:
        """As much of the survey as there is."""
        return cls(data, census="survey", rows=(50_000, 100_000, 200_000, 295_243))


# ── tables and policies


class Census(NamedTuple):
    """A table of people with seven quasi-identifiers and an occupation."""

    people: Callable[[int], pa.Table]
    """So many records; fewer are the first of more."""
    trees: Mapping[str, Any]
    """Quasi-identifier → its hierarchy, as a policy has it."""

    def policy(self, dimensions: int = len(QUASI_IDENTIFIERS), **privacy: int) -> Policy:
        """The first so many quasi-identifiers, under k-anonymity or l-diversity of the occupation."""
        quasi = QUASI_IDENTIFIERS[:dimensions]
        trees = {name: tree for name, tree in self.trees.items() if name in quasi}
        made = Policy.quick(
            (*QUASI_IDENTIFIERS, SENSITIVE), qi=quasi, sensitive=[SENSITIVE],
            drop=QUASI_IDENTIFIERS[dimensions:], k=2, hierarchies=trees,
        )  # fmt: skip
        return required(made, **privacy)


@lru_cache(maxsize=1)
def _made_up(rows: int) -> pa.Table:
    return census(rows).drop_columns(["salary_class"])


MADE_UP = Census(_made_up, TREES)


def census_of(settings: Curves) -> Census:
    """The table that figures are about."""
    if settings.census == "made up":
        return MADE_UP
    assert settings.data is not None
    whole = survey.whole(settings.data)
    return Census(lambda rows: whole.slice(0, rows), survey.trees(settings.data))


def required(policy: Policy, *, k: int | None = None, l: int | None = None) -> Policy:  # noqa: E741
    """The policy under k-anonymity, or under frequency-l-diversity alone."""
    if l is not None:
        return policy.but(privacy=(FrequencyLDiversity(l=l, of=SENSITIVE),))
    return policy if k is None else policy.but(privacy=(KAnonymity(k=k),))


def adult(folder: Path) -> tuple[pa.Table, Policy]:
    """Adult without records that have missing values, as the paper has it."""
    table = csv.read_csv(folder / "adult/adult_arx.csv")
    trees = {n: str(folder / f"adult/hierarchies/adult_hierarchy_{n}.csv") for n in ADULT if n != "age"}
    made = Policy.quick(table.column_names, qi=ADULT, sensitive="salary-class", keep_rest=True, k=2, hierarchies=trees)
    return table, made


# ── trials


class Runs:
    """Trials along one parameter, as plain data."""

    def __init__(self, repeat: int, slow_classes: int) -> None:
        self.repeat, self.slow_classes = repeat, slow_classes
        self.found: dict[str, Any] = {part: {} for part in ("gcp", "dm", "seconds", "smallest", "largest", "refused")}

    def __call__(self, x: int, table: pa.Table, policy: Policy, methods: Sequence[str]) -> None:
        """Run methods on a table, which is encoded once; ``x`` is the parameter's value."""
        bench = TableBench.of(table, policy, threads=1, repeat=self.repeat)
        times: list[float] = []
        bench.group = _timed(bench.group, times)
        for method in methods:
            times.clear()
            bench.repeat = 1 if method in SLOW else self.repeat
            self._add(method, str(x), self._trial(bench, policy, method), times)

    def _trial(self, bench: TableBench, policy: Policy, method: str) -> TableTrial:
        k = max((one.k for one in policy.privacy if isinstance(one, KAnonymity)), default=1)
        if method == "topdown" and bench.rows > self.slow_classes * k:
            return TableTrial(method=method, reason=f"its time grows with the square of {bench.rows:,} records, over k")
        asked = policy.but(method=OPTIONS.get(method, method))
        return bench.trial(empty(method, asked), asked)

    def _add(self, method: str, x: str, trial: TableTrial, times: Sequence[float]) -> None:
        if trial.loss is None:
            self.found["refused"].setdefault(method, {})[x] = trial.reason
            return
        numbers: dict[str, float] = {
            "gcp": round(trial.loss.gcp, 6),
            "dm": trial.loss.discernibility,
            "smallest": trial.loss.smallest_class,
            "largest": trial.loss.largest_class,
        }
        if method not in UNTIMED:
            numbers["seconds"] = round(min(times), 4)
        for part, number in numbers.items():
            self.found[part].setdefault(method, {})[x] = number


def _timed(group: Callable[..., Classes], times: list[float]) -> Callable[..., Classes]:
    """The same, with the processor time that each call takes: the machine may have other things to do."""

    def timed(*asked: Any) -> Classes:
        begun = time.process_time()
        made = group(*asked)
        times.append(time.process_time() - begun)
        return made

    return timed


Show = Callable[[int, int], None]


def _along(settings: Curves) -> Runs:
    return Runs(settings.repeat, settings.slow_classes)


def figure_12(settings: Curves, show: Show) -> dict[str, Any]:
    """Adult: loss and discernibility against k."""
    assert settings.data is not None
    table, policy = adult(settings.data)
    runs = Runs(settings.repeat, table.num_rows)
    for i, k in enumerate(settings.adult_k):
        runs(k, table, required(policy, k=k), (*ALL, *BY_PAPER))
        show(i + 1, len(settings.adult_k))
    return runs.found | {"records": table.num_rows}


def figure_13(settings: Curves, show: Show) -> dict[str, Any]:
    """Census: loss and time against k."""
    return _by_privacy(settings, show, "k", settings.more_k, (*ALL, *BY_PAPER))


def figure_14(settings: Curves, show: Show) -> dict[str, Any]:
    """Census: loss and time against the number of records."""
    return _by_rows(settings, show, ALL, k=settings.k)


def figure_15(settings: Curves, show: Show) -> dict[str, Any]:
    """Census: loss and time against the number of quasi-identifiers; TopDown would be run seven times more."""
    return _by_dimensions(settings, show, [method for method in ALL if method != "topdown"], k=settings.k)


def figure_16(settings: Curves, show: Show) -> dict[str, Any]:
    """Census: loss and time against l."""
    return _by_privacy(settings, show, "l", settings.more_l, (*DIVERSE, *BY_PAPER))


def figure_17(settings: Curves, show: Show) -> dict[str, Any]:
    """Census under l-diversity: loss and time against the number of records."""
    return _by_rows(settings, show, DIVERSE, l=settings.l)


def figure_18(settings: Curves, show: Show) -> dict[str, Any]:
    """Census under l-diversity: loss and time against the number of quasi-identifiers."""
    return _by_dimensions(settings, show, DIVERSE, l=settings.l)


def figure_19(settings: Curves, show: Show) -> dict[str, Any]:
    """Census under l-diversity: loss and time against the number of sensitive values."""
    runs, one = _along(settings), census_of(settings)
    for i, values in enumerate(settings.values):
        runs(values, survey.grouped(one.people(settings.middle), values), one.policy(l=settings.l), DIVERSE)
        show(i + 1, len(settings.values))
    return runs.found


def _by_privacy(
    settings: Curves, show: Show, letter: str, values: Sequence[int], methods: Sequence[str]
) -> dict[str, Any]:
    runs, one = _along(settings), census_of(settings)
    for i, value in enumerate(values):
        runs(value, one.people(settings.middle), one.policy(**{letter: value}), methods)
        show(i + 1, len(values))
    return runs.found


def _by_rows(settings: Curves, show: Show, methods: Sequence[str], **privacy: int) -> dict[str, Any]:
    runs, one = _along(settings), census_of(settings)
    for i, rows in enumerate(settings.rows):
        runs(rows, one.people(rows), one.policy(**privacy), methods)
        show(i + 1, len(settings.rows))
    return runs.found


def _by_dimensions(settings: Curves, show: Show, methods: Sequence[str], **privacy: int) -> dict[str, Any]:
    runs, one = _along(settings), census_of(settings)
    for i, dimensions in enumerate(settings.dimensions):
        runs(dimensions, one.people(settings.middle), one.policy(dimensions, **privacy), methods)
        show(i + 1, len(settings.dimensions))
    return runs.found


# ── Fig. 20: queries


def figure_20(settings: Curves, show: Show) -> dict[str, Any]:
    """Divergence of the group-by cube: by l, by level of the lattice, by quasi-identifiers, by records."""
    second, one = [2], census_of(settings)
    asked: list[tuple[str, int, int, Policy, list[int]]] = [
        *(("l", x, settings.middle, one.policy(l=x), second) for x in settings.queried_l),
        ("level", 0, settings.level_rows, one.policy(l=settings.l), list(settings.levels)),
        *(("d", d, settings.middle, one.policy(d, l=settings.l), second) for d in settings.dimensions if d > 1),
        *(("rows", rows, rows, one.policy(l=settings.l), second) for rows in settings.rows),
    ]
    found: dict[str, Any] = {part: {} for part in ("l", "level", "d", "rows")}
    known: dict[tuple[Any, ...], dict[int, float]] = {}
    for i, (part, x, rows, policy, levels) in enumerate(asked):
        for method in QUERIED:
            key = (rows, policy, method, tuple(levels))
            if key not in known:
                known[key] = divergence(one.people(rows), policy.but(method=OPTIONS.get(method, method)), levels)
            by_method = found[part].setdefault(method, {})
            by_method.update({str(x or level): round(number, 6) for level, number in known[key].items()})
        show(i + 1, len(asked))
    return found


def divergence(table: pa.Table, policy: Policy, levels: Sequence[int]) -> dict[int, float]:
    """Level of the lattice → the mean divergence of its group-bys."""
    two = policy.method.name == "anatomy"
    released: Any = anatomised(table, policy) if two else in_memory(open_source(table), policy)
    cube = cube_divergence(table, released, policy, levels=levels, of=SENSITIVE)
    return {level.level: level.divergence for level in cube.levels}


def anatomised(table: pa.Table, policy: Policy) -> Anatomy:
    """The two tables of Anatomy: exact quasi-identifiers with a group, and the sensitive values of each group."""
    [requirement] = policy.privacy
    assert isinstance(requirement, FrequencyLDiversity)
    codes = np.empty(table.num_rows, dtype=np.int32)
    rank(table[SENSITIVE], codes)
    group = anatomize(codes, int(requirement.l), Secret(bytes(16)))
    records = table.select(list(policy.quasi_identifiers)).append_column("group", pa.array(group))
    both = pa.table({"group": group, SENSITIVE: table[SENSITIVE]})
    counted = both.group_by(["group", SENSITIVE]).aggregate([([], "count_all")])
    return Anatomy(records, counted.rename_columns(["group", SENSITIVE, "count"]))


FIGURES: dict[str, tuple[str, Callable[[Curves, Show], dict[str, Any]]]] = {
    "12": ("Adult by k", figure_12),
    "13": ("census by k", figure_13),
    "14": ("census by records, k", figure_14),
    "15": ("census by dimensions, k", figure_15),
    "16": ("census by l", figure_16),
    "17": ("census by records, l", figure_17),
    "18": ("census by dimensions, l", figure_18),
    "19": ("census by sensitive values", figure_19),
    "20": ("group-by queries", figure_20),
}
"""Number in the paper → what it shows, and what runs it."""
NEED_DATA = {"12"}
SURVEYED = tuple(number for number in FIGURES if number not in NEED_DATA)
"""Those on a census, which is real in the end."""


def run(settings: Curves, figures: Iterable[str] = FIGURES, *, keep: Keep = keep_nothing) -> Results:
    """Run figures, one run at a time; the results are plain data. ``keep`` is called with what there is after each."""
    runs = Running(settings, keep)
    warm_up()
    for number in figures:
        title, figure = FIGURES[number]
        runs.figure(
            number,
            f"Fig. {number:<3} {title}",
            with_load(lambda show, figure=figure: figure(settings, show)),
            needs_data=number in NEED_DATA or settings.census != "made up",
        )
    return runs.results


def warm_up() -> None:
    """Run every method once on a small table, so that no time has compilation in it."""
    for policy in (MADE_UP.policy(k=10), MADE_UP.policy(l=5)):
        Runs(1, 300)(0, MADE_UP.people(300), policy, ALL)

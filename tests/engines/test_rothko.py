"""Rothko-T makes the classes of the memory engine; Rothko-S makes classes that hold, and leaves no allowable cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.candidates import Cut
from rothko.engines.crowd import Spans, Zone, collect
from rothko.engines.disk.spill import Spill
from rothko.engines.disk.store import DiskStore, gathered
from rothko.engines.driver import Driver, grow
from rothko.engines.frequency import Wanted, count, sizes
from rothko.engines.frequency_set import FrequencyGroup
from rothko.engines.options import Grow, RothkoS
from rothko.engines.part import LargeClass, Part
from rothko.engines.rothko_s import Sampling, prune
from rothko.engines.rothko_t import Exhaustive
from rothko.engines.store import Job, Store
from rothko.engines.tree import Tree
from rothko.methods import Mondrian
from rothko.methods.classes import TreeClasses
from rothko.privacy import KAnonymity
from rothko.privacy.statistics import Statistics
from rothko.workload import Select, Task
from tests.strategies.tables import Case, cases, unhurried
from tests.strategies.tables import records as records_of
from tests.strategies.workloads import encoded_with, tasks
from tests.twins import mondrian as plain


@dataclass(frozen=True)
class Batches:
    """Records in memory, as the engines go through them."""

    coded: Coded
    size: int = 7

    @property
    def rows(self) -> int:
        return self.coded.rows

    def batches(self) -> Iterator[Coded]:
        for begin in range(0, self.rows, self.size):
            yield self.coded.take(np.arange(begin, min(begin + self.size, self.rows)))


def as_batches(encoded: Encoded) -> tuple[Outline, Batches]:
    """A table whose kept column is the number of each record."""
    columns = encoded.sensitive | encoded.targets
    outline = Outline(
        encoded.rows,
        encoded.lines,
        {name: column.domain for name, column in columns.items()},
        tuple(encoded.sensitive),
        tuple(encoded.targets),
    )
    values = {name: column.codes for name, column in columns.items()}
    kept = pa.table({"record": np.arange(encoded.rows)})
    return outline, Batches(Coded(encoded.codes, values, kept))


def loaded(part: Part | LargeClass) -> Part:
    """A part in memory, before the next is asked for; a class that does not fit there is one whatever its records."""
    if isinstance(part, Part):
        return part
    coded = gathered(list(part.batches()))
    assert coded.rows == part.rows > part.at_once
    order, starts = np.arange(part.rows, dtype=np.int32), np.array([0, part.rows])
    low, high = coded.codes.min(axis=1)[None], coded.codes.max(axis=1)[None]
    cuts = replace(Tree.over(part.outline.lines, 0, part.rows).cuts(part.outline.lines), root=(part.low, part.high))
    encoded = part.outline.encoded(coded)
    return Part(encoded, TreeClasses(order, starts, low, high, cuts), coded.kept, part.leaf)


def classes_of(parts: list[Part]) -> set[frozenset[int]]:
    found = set()
    for part in parts:
        numbers = part.kept["record"].to_numpy()[part.partition.order]
        found |= {frozenset(some.tolist()) for some in np.split(numbers, part.partition.starts[1:-1])}
    return found


def regions_of(result: TreeClasses) -> set[tuple[tuple[int, ...], ...]]:
    """The regions of φ, as first and last codes."""
    low, high = result.cuts.regions()
    return {(tuple(a), tuple(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)}


def classes_in_memory(result: TreeClasses) -> set[frozenset[int]]:
    return {frozenset(some.tolist()) for some in np.split(result.order, result.starts[1:-1])}


@dataclass(frozen=True)
class ToyStore:
    """The least that an engine must bring: records in a list of batches, counted, split and finished where they lie."""

    job: Job
    batches: tuple[Coded, ...]

    @property
    def rows(self) -> int:
        return sum(coded.rows for coded in self.batches)

    def sample(self, size: int, seed: int) -> Coded:
        chosen = np.random.default_rng(seed).choice(self.rows, min(size, self.rows), replace=False)
        return gathered(self.batches).take(np.sort(chosen))

    def count(self, tree: Tree, nodes: Sequence[int], wanted: Wanted) -> list[FrequencyGroup]:
        route = tree.route({node: i for i, node in enumerate(nodes)})
        return count(self.batches, route, *tree.regions(nodes), wanted)

    def people(
        self, tree: Tree, nodes: Sequence[int], owner: str, wanted: Sequence[Sequence[Spans]]
    ) -> list[list[Zone]]:
        return collect(self.batches, tree.route({node: i for i, node in enumerate(nodes)}), owner, wanted)

    def split(self, tree: Tree, leaves: Sequence[int], wanted: Wanted | None) -> tuple[list[ToyStore], Statistics]:
        route = tree.route({leaf: i for i, leaf in enumerate(leaves)})
        routed = [(coded, route(coded)) for coded in self.batches]
        stores = [
            replace(self, batches=tuple(coded.take(np.flatnonzero(place == i)) for coded, place in routed))
            for i in range(len(leaves))
        ]
        if wanted is None:
            return stores, tree.counted(leaves)
        sums = [wanted.statistics(place, len(leaves), coded, self.job.outline.domains) for coded, place in routed]
        return stores, reduce(add, sums)

    def join(self, others: Sequence[ToyStore]) -> ToyStore:
        return replace(self, batches=self.batches + tuple(coded for other in others for coded in other.batches))

    def finish(self, tree: Tree, node: int) -> Part | LargeClass:
        # One class or many, it is finished as it is: this store knows no memory that is too small.
        return self.job.finish(gathered(self.batches), tree, node)

    def remove(self) -> None:
        pass


KINDS = ("disk", "toy")


@contextmanager
def store_of(kind: str, job: Job, batches: Batches, tuples: int) -> Iterator[Store]:
    """The same records in a store of each kind."""
    if kind == "toy":
        yield ToyStore(job, tuple(batches.batches()))
    else:
        with Spill.open() as spill:
            yield DiskStore(job, spill, tuples, 1 << 20, batches)


def known(workload: tuple[Task, ...], case: Case) -> tuple[Task, ...]:
    """Without features beyond the quasi-identifiers, which only the memory engine looks at."""
    return tuple(
        type(task)(task.target, tuple(f for f in task.features if f in case.specs) or None)  # type: ignore[attr-defined,call-arg]
        if getattr(task, "features", None)
        else task
        for task in workload
    )


@st.composite
def selections(draw: st.DrawFn, case: Case) -> tuple[Task, ...]:
    """Queries about numbers, and about leaves of hierarchies."""
    numeric = [
        name
        for name, spec in case.specs.items()
        if "hierarchy" not in spec and any(isinstance(value, int) for value in case.columns[name])
    ]
    leaves = [
        (name, value)
        for name, spec in case.specs.items()
        if "hierarchy" in spec
        for value in sorted({value for value in case.columns[name] if isinstance(value, str)})
    ]
    some = []
    if leaves and draw(st.booleans()):
        name, leaf = draw(st.sampled_from(leaves))
        some.append(Select(f"{name} = '{leaf}'"))
    if not numeric or draw(st.booleans()):
        return tuple(some)
    for name in draw(st.lists(st.sampled_from(numeric), min_size=1, max_size=2)):
        held = sorted({value for value in case.columns[name] if value is not None})
        low, high = sorted((draw(st.sampled_from(held)), draw(st.sampled_from(held))))
        some.append(Select(f"{name} between {low} and {high}", draw(st.sampled_from([1, 2]))))
    return tuple(some)


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases(), data=st.data())
@unhurried
def test_rothko_t_makes_the_classes_of_the_memory_engine(kind: str, case: Case, data: st.DataObject) -> None:
    columns, workload = data.draw(tasks(case))
    workload = (*known(workload, case), *data.draw(selections(case)))
    encoded = encoded_with(case, columns, workload)
    by = data.draw(st.sampled_from([{"minimum_gain": 0}, {}, {"minimum_gain": 0.3}, {"reading": "paper"}]))
    method = Mondrian(**by)
    outline, batches = as_batches(encoded)
    job, tuples = Job(outline, case.requirements, method, workload), data.draw(st.integers(1, 12))
    chooser, wanted = job.chooser()
    tree = Tree.over(outline.lines, chooser.first_phase(), encoded.rows)
    # Room for the frequency group of the whole table, and for a few or all of those below it.
    [whole] = sizes(wanted, *tree.regions([0]))
    driver = Driver(job, tuples, int(whole * data.draw(st.sampled_from([1, 1.5, 3, 1000]))))
    with store_of(kind, job, batches, tuples) as store:
        parts = [loaded(part) for part in driver.parts(Exhaustive(driver), store, tree)]
    expected = method.partition(encoded, case.requirements, workload=workload, threads=1)
    assert classes_of(parts) == classes_in_memory(expected)
    boxes = {
        (tuple(low), tuple(high))
        for part in parts
        for low, high in zip(part.partition.low.tolist(), part.partition.high.tolist(), strict=True)
    }
    assert boxes == {(tuple(a), tuple(b)) for a, b in zip(expected.low.tolist(), expected.high.tolist(), strict=True)}
    assert set().union(*(regions_of(part.partition) for part in parts)) == regions_of(expected)


def test_pruning_counts_the_cuts_that_are_undone() -> None:
    """As the paper's Fig. 24: not the leaves that become one, nor what was undone before."""
    tree = Tree(np.array([0], dtype=np.int32), np.array([7], dtype=np.int32), 0, 100)
    tree.cut(0, Cut(0, (0, 4), (50, 50), 0))
    tree.cut(1, Cut(0, (0, 2), (45, 5), 0))
    tree.cut(2, Cut(0, (4, 6, 7), (40, 8, 2), 0))
    tree.cut(5, Cut(0, (4, 5), (20, 20), 0))
    leaves = tree.leaves()
    assert [tree.rows[leaf] for leaf in leaves] == [45, 5, 20, 20, 8, 2]
    left, undone = prune([KAnonymity(k=10)], tree, leaves, tree.counted(leaves))
    # The part of 5 undoes one cut; those of 8 and 2 the cut that made them, and the cut below it.
    assert undone == 1 + 2
    assert [tree.rows[leaf] for leaf in left] == [50, 50]
    assert sorted(len(old) for old in left.values()) == [2, 4]


@pytest.mark.parametrize("kind", KINDS)
@given(case=cases(), data=st.data())
@unhurried
def test_rothko_s_leaves_no_allowable_cut_and_every_requirement_holds(
    kind: str, case: Case, data: st.DataObject
) -> None:
    columns, workload = data.draw(tasks(case))
    workload = known(workload, case)
    encoded = encoded_with(case, columns, workload)
    outline, batches = as_batches(encoded)
    allowed = case.allowed()
    if not allowed(list(range(encoded.rows))):
        return
    test, how = data.draw(st.sampled_from(["exact", "normal", "naive"])), data.draw(st.sampled_from(get_args(Grow)))
    options = RothkoS(test=test, alpha=0.3, grow=how)
    letter = data.draw(st.booleans())
    method = Mondrian(reading="paper" if letter else "rothko")
    job, tuples = Job(outline, case.requirements, method, workload), data.draw(st.integers(4, 12))
    tree = Tree.over(outline.lines, job.chooser()[0].first_phase(), encoded.rows)
    driver = Driver(job, tuples, 10**9)
    with store_of(kind, job, batches, tuples) as store:
        parts = [loaded(part) for part in driver.parts(Sampling(driver, options), store, tree)]
    assert driver.counters.finished == encoded.rows
    rows = records_of(encoded)
    found = classes_of(parts)
    assert sorted(i for some in found for i in some) == list(range(encoded.rows))
    for some in found:
        numbers = sorted(some)
        assert allowed(numbers)
        for a, line in enumerate(encoded.lines):
            codes = {i: rows[i][a] for i in numbers}
            if letter and not workload:
                assert plain.cut_after_the_median(line, codes, allowed) is None
            else:
                assert plain.allowable_cuts(line, codes, allowed, False) == []


def test_growth_by_confidence_goes_on_where_that_to_memory_ends() -> None:
    """To parts that memory has room for the cuts are the same; below them there are more."""
    random = np.random.default_rng(7)
    columns = {name: random.integers(0, 200, 3_000).tolist() for name in ("a", "b")}
    encoded = Case(columns, {"a": {}, "b": {}}, (KAnonymity(k=5),)).encoded()
    outline, batches = as_batches(encoded)
    job, tuples = Job(outline, (KAnonymity(k=5),), Mondrian(), ()), 1_000
    trees, classes = {}, {}
    for how in get_args(Grow):
        store = ToyStore(job, tuple(batches.batches()))
        driver = Driver(job, tuples, 10**9)
        growth = Sampling(driver, RothkoS(grow=how))
        top = Tree.over(outline.lines, job.chooser()[0].first_phase(), encoded.rows)
        grow(top, growth.counter(store, top))
        trees[how] = {(tuple(low), tuple(high)): i for i, (low, high) in enumerate(zip(top.low, top.high, strict=True))}
        largest = max(top.rows[leaf] for leaf in top.leaves())
        assert largest <= tuples // 2 if how == "memory" else largest < 50
        tree = Tree.over(outline.lines, top.phase[0], encoded.rows)
        classes[how] = classes_of([loaded(part) for part in driver.parts(growth, store, tree)])
    assert trees["memory"].keys() < trees["confidence"].keys()
    for found in classes.values():
        assert sorted(i for some in found for i in some) == list(range(encoded.rows))
        assert min(map(len, found)) >= 5

"""Refining by counts, in passes over records that lie elsewhere, is refining in memory."""

from __future__ import annotations

import random
import tracemalloc
import weakref
from collections import Counter as Times
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind, Line
from rothko.data.survey.coded import Coded, Outline
from rothko.data.typed import typed
from rothko.engines.refine import RefinedByCounts, refine_by_counts
from rothko.errors import InputError
from rothko.methods.refine.counts import Tally
from rothko.methods.refine.foresight import FAR, Asked, Cells, Counted, Foresight, _after, depths_of
from rothko.methods.refine.refine import Refine, refine
from rothko.methods.refine.standing import Problem, Step, labels_asked
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from rothko.workload.tasks import Classify
from tests.strategies.labelled import Asked as Table
from tests.strategies.labelled import as_suppressed, tables
from tests.strategies.tables import unhurried
from tests.twins import refine_ahead as plain


@dataclass
class PlainCounter:
    """Counts records in a list, some at a time."""

    encoded: Encoded
    outline: Outline
    at_once: int
    counted: list[int] = field(default_factory=list)
    """How many different records each pass has found."""

    def parts(self) -> list[Encoded]:
        places = np.array_split(np.arange(self.encoded.rows), max(1, self.encoded.rows // self.at_once))
        coded = coded_of(self.encoded)
        return [self.outline.encoded(coded.take(some)) for some in places]

    def tally(self, tasks: Sequence[Classify]) -> Tally:
        first, *others = (Tally.of(part, tasks) for part in self.parts())
        for other in others:
            first += other
        return first

    def tuples(self, asked: Sequence[Asked], most: int) -> list[Counted] | None:
        found = []
        for one in asked:
            times: Times[tuple[int, ...]] = Times()
            for part in self.parts():
                counted = one.count(part)
                for key, count in zip(counted.words.T.tolist(), counted.times.tolist(), strict=True):
                    times[tuple(key)] += count
            words = np.array(sorted(times), dtype=np.uint64).reshape(len(times), one.words).T
            found.append(Counted(words, np.array([times[key] for key in sorted(times)], dtype=np.int64)))
        self.counted.append(sum(len(one.times) for one in found))
        return None if self.counted[-1] > most else found


def coded_of(encoded: Encoded) -> Coded:
    held = {**encoded.sensitive, **encoded.targets}
    return Coded(encoded.codes, {name: one.codes for name, one in held.items()}, pa.table({"n": range(encoded.rows)}))


def outline_of(encoded: Encoded) -> Outline:
    held = {**encoded.sensitive, **encoded.targets}
    domains = {name: one.domain for name, one in held.items()}
    return Outline(encoded.rows, encoded.lines, domains, tuple(encoded.sensitive), tuple(encoded.targets))


def by_counts(
    asked: Table, most: int, *, sampled: int, at_once: int = 7, seed: int = 0
) -> tuple[RefinedByCounts, PlainCounter]:
    encoded = asked.encoded()
    outline = outline_of(encoded)
    counter = PlainCounter(encoded, outline, at_once)
    places = random.Random(seed).sample(range(encoded.rows), min(sampled, encoded.rows))
    found = refine_by_counts(
        outline, counter, asked.method(), asked.case.requirements, asked.policy().workload,
        sample=coded_of(encoded).take(np.array(places)), most=most,
    )  # fmt: skip
    return found, counter


@given(asked=tables(), most=st.integers(1, 60), sampled=st.integers(1, 30), seed=st.integers(0, 99))
@settings(unhurried, max_examples=100)
def test_the_same_refinements_as_in_memory(asked: Table, most: int, sampled: int, seed: int) -> None:
    if not asked.feasible():
        return
    expected = list(asked.run().steps())
    for room in (most, 10**6):
        try:
            found = by_counts(asked, room, sampled=sampled, seed=seed)[0]
        except InputError:
            assert room == most, "what cannot be told apart within so few is refused, and never refined otherwise"
            continue
        assert list(found.refined.steps()) == expected
        assert as_suppressed(found.refined) == as_suppressed(asked.run())
        assert found.refined.notes == asked.run().notes
        assert found.largest <= room


@given(asked=tables(), levels=st.integers(1, 4))
@settings(unhurried, max_examples=60)
def test_cells_are_those_of_the_plain_twin(asked: Table, levels: int) -> None:
    if not asked.feasible():
        return
    encoded, twin, workload = asked.encoded(), asked.twin(), asked.policy().workload
    domains = {name: target.domain for name, target in encoded.targets.items()}
    problem = Problem.of(
        encoded.rows, encoded.lines, domains, Tally.of(encoded, labels_asked(workload)), asked.case.requirements,
        workload, criterion="score", reading=asked.method().reading,
    )  # fmt: skip
    depths, begin = depths_of(problem), problem.begin()
    for ahead in (levels, FAR):
        found = Cells.ahead(problem, depths, begin, ahead)
        for a, line in enumerate(encoded.lines):
            of_code = found.of_code[a]
            as_sets = {frozenset(np.flatnonzero(of_code == cell).tolist()) for cell in range(len(found.first[a]))}
            assert as_sets == plain.cells(twin, a, twin.most_masked(line), min(ahead, 100))
            np.testing.assert_array_equal(of_code[found.first[a]], np.arange(len(found.first[a])))
    # From what parts have become, it is as far as from the whole.
    near, parts = Cells.ahead(problem, depths, begin, levels), []
    for a, line in enumerate(encoded.lines):
        if line.kind is Kind.NOMINAL:
            parts += begin.parts[begin.parts[:, 0] == a].tolist()
        else:
            ends = [*near.first[a][1:].tolist(), line.size]
            parts += [[a, low, end - 1, 0, 0] for low, end in zip(near.first[a].tolist(), ends, strict=True)]
    further = Cells.ahead(problem, depths, begin, 2, np.array(parts, dtype=np.int32))
    np.testing.assert_array_equal(further.apart, Cells.ahead(problem, depths, begin, levels + 2).apart)


def test_what_was_counted_corrects_what_a_sample_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A two-hundredth of a table of even values tells of too few different records, in every round anew."""
    draws = np.random.default_rng(5)
    table = pa.table({name: draws.integers(0, 256, 60_000) for name in "abc"})
    policy = Policy(columns={name: {"role": "quasi-identifier"} for name in "abc"}, privacy=[KAnonymity(k=30)])
    encoded = encode(typed(table, policy), policy)
    outline, sample = outline_of(encoded), coded_of(encoded).take(draws.choice(60_000, 300, replace=False))

    def refined() -> tuple[list[Step], list[int]]:
        counter = PlainCounter(encoded, outline, encoded.rows)
        found = refine_by_counts(outline, counter, Refine(), tuple(policy.privacy), (), sample=sample, most=6_000)
        return list(found.refined.steps()), counter.counted

    steps, counted = refined()
    with monkeypatch.context() as unlearned:
        unlearned.setattr(Foresight, "learn", lambda *_: None)
        same, more = refined()
    assert steps == same == list(refine(encoded, policy.privacy, Refine(), ()).steps())
    assert 2 * len(counted) < len(more)


def many_codes(size: int) -> tuple[Encoded, Problem]:
    """Two lines of very many codes, each of which as many records have, and what is asked of them."""
    places = np.arange(size, dtype=np.float64)
    lines = tuple(Line(name, Kind.ORDERED, pa.array(places), places, False) for name in "ab")
    encoded = Encoded(lines, np.tile(np.arange(size, dtype=np.int32), (2, 1)), {})
    requirements = (KAnonymity(k=size // 8),)
    problem = Problem.of(
        size, lines, {}, Tally.of(encoded, ()), requirements, (), criterion="score", reading="rothko"
    )  # fmt: skip
    return encoded, problem


def test_counts_by_code_are_held_once() -> None:
    """Of very many distinct values they are the largest thing that there is while records are counted."""
    size = 200_000
    encoded, problem = many_codes(size)
    tally = Tally.of(encoded, ())
    tracemalloc.start()
    problem.columns.before[:] = tally.columns(problem.lines, problem.columns.least, letter=False).before
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * size * (8 + 8 + 8) + (1 << 18), "counts, places, and what brings them together"
    for counts, expected in zip(problem.counts(), tally.records, strict=True):
        np.testing.assert_array_equal(counts, expected)


def test_a_tally_is_gone_when_records_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(3)
    table = pa.table({name: draws.integers(0, 16, 5_000) for name in "ab"})
    policy = Policy(columns={name: {"role": "quasi-identifier"} for name in "ab"}, privacy=[KAnonymity(k=30)])
    encoded = encode(typed(table, policy), policy)
    told: list[weakref.ref[object]] = []
    tally, tuples = PlainCounter.tally, PlainCounter.tuples

    def noted(self: PlainCounter, tasks: Sequence[Classify]) -> Tally:
        found = tally(self, tasks)
        told.extend(weakref.ref(counts) for counts in found.records)
        return found

    def counted(self: PlainCounter, asked: Sequence[Asked], most: int) -> list[Counted] | None:
        assert [one() for one in told] == [None, None]
        return tuples(self, asked, most)

    monkeypatch.setattr(PlainCounter, "tally", noted)
    monkeypatch.setattr(PlainCounter, "tuples", counted)
    sample = coded_of(encoded).take(draws.choice(5_000, 300, replace=False))
    outline, counter = outline_of(encoded), PlainCounter(encoded, outline_of(encoded), 2_000)
    found = refine_by_counts(outline, counter, Refine(), tuple(policy.privacy), (), sample=sample, most=6_000)
    assert told
    for counts, codes in zip(found.counts, encoded.codes, strict=True):
        np.testing.assert_array_equal(counts, np.bincount(codes, minlength=len(counts)))


def test_a_table_of_few_records_does_not_grow_with_the_codes() -> None:
    """It is made of cells: of codes it takes one line at a time."""
    size = 400_000
    encoded, problem = many_codes(size)
    outline = outline_of(encoded)
    depths, standing = depths_of(problem), problem.begin()
    cells = Cells.ahead(problem, depths, standing, 2)
    [asked] = cells.asked(problem, outline)
    counted = asked.count(Encoded(encoded.lines, encoded.codes[:, :1_000], {}))
    asked.table(problem, outline, standing, cells, counted)  # compiles
    tracemalloc.start()
    asked.table(problem, outline, standing, cells, counted)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.5 * 4 * size


def test_parts_lie_in_memory_in_one_order() -> None:
    """Kernels are compiled for the order of an array: another one would be compiled in the middle of a run."""
    encoded, problem = many_codes(4_000)
    outline, standing = outline_of(encoded), problem.begin()
    foresight = Foresight.of(problem, outline, encoded)
    every = Cells.ahead(problem, foresight.depths, standing, FAR)
    foretold = foresight._run(standing, every, 5)
    assert len(foretold.performed) == 5
    for steps in range(6):
        assert _after(standing, foretold, steps).flags.c_contiguous

"""Along a curve, records on a cluster come to the segments and classes that they come to in memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rothko.data.source.spark import open_spark
from rothko.engines import along as keys
from rothko.engines.options import Spark
from rothko.engines.spark import along
from rothko.engines.spark.along import divide
from rothko.engines.spark.run import Grown, look
from rothko.errors import PolicyError
from rothko.methods import METHODS, Cluster, Hilbert
from rothko.methods.classes import Classes
from rothko.methods.curve.sample import draw
from rothko.methods.ties import with_hidden_ties
from rothko.policy.policy import Policy
from rothko.privacy import DistinctLDiversity, KAnonymity
from rothko.secret import Secret
from tests.strategies.tables import Case, boxes, cases, classes, unhurried
from tests.twins.spark_cluster import PlainCluster, PlainFrame, spread

SECRET = Secret(bytes(16))
some_cases = settings(unhurried, max_examples=25)
names = pytest.mark.parametrize("name", ["hilbert", "hilbert-fast", "idistance", "idistance-fast"])


def divided(
    case: Case, method: Any, *, parts: int = 3, seed: int = 0, fits: int | None = None, memory: int | None = None
) -> tuple[Grown, PlainFrame]:
    specs = {name: {"role": "quasi-identifier", **spec} for name, spec in case.specs.items()}
    others = {name: {"role": "sensitive"} for name in case.columns if name not in case.specs}
    columns = {**specs, **others, "record": {"role": "keep"}}
    policy = Policy(columns=columns, privacy=case.requirements, method=method)
    numbered = pa.table({**case.columns, "record": np.arange(len(next(iter(case.columns.values()))))})
    frame = spread(numbered, parts, seed)
    engine = Spark(records_at_once=fits)
    engine.check(policy, "asked for")
    table = look(engine, PlainCluster(), open_spark(frame), policy, check=lambda _: None, memory=memory)
    return divide(table, policy, secret=SECRET), frame


def finished(found: Grown, frame: PlainFrame) -> list[tuple[Classes, NDArray[np.int64]]]:
    """The classes of each segment, and the numbers of its records."""
    coded = found.coder.code(frame.toArrow())
    place = found.divided.route({leaf.node: i for i, leaf in enumerate(found.leaves)})(coded)
    made = []
    for i, leaf in enumerate(found.leaves):
        some = coded.take(np.flatnonzero(place == i))
        assert some.rows == leaf.rows
        part = found.divided.finish(some, leaf.node)
        made.append((part.partition, part.kept["record"].to_numpy()))
    return made


def in_memory(case: Case, method: Any) -> Classes:
    encoded = case.encoded()
    return with_hidden_ties(encoded, SECRET, lambda some: method.partition(some, case.requirements))


@names
@given(cases(), st.integers(1, 5), st.integers(0, 99), st.integers(2, 20))
@some_cases
def test_records_that_differ_come_to_the_classes_of_the_memory_engine(
    name: str, case: Case, parts: int, seed: int, segment: int
) -> None:
    rows = len(case.columns["q0"])
    number = np.random.default_rng(seed).permutation(rows).tolist()
    told = Case({**case.columns, "number": number}, {**case.specs, "number": {}}, case.requirements)
    method = METHODS[name](segment=segment)
    found, frame = divided(told, method, parts=parts, seed=seed)
    wanted = in_memory(told, method)
    made = [sorted(numbers[of].tolist()) for made, numbers in finished(found, frame) for of in classes(made)]
    assert sorted(made) == sorted(classes(wanted))


@names
@given(cases(), st.integers(1, 5), st.integers(0, 99), st.integers(2, 20), st.integers(2, 5))
@some_cases
def test_records_that_are_alike_come_to_the_same_boxes(
    name: str, case: Case, parts: int, seed: int, segment: int, k: int
) -> None:
    alike = replace(case, requirements=(KAnonymity(k=k),))
    encoded, method = alike.encoded(), METHODS[name](segment=segment)
    found, frame = divided(alike, method, parts=parts, seed=seed)
    made: Counter[Any] = Counter()
    for partition, numbers in finished(found, frame):
        made += boxes(encoded.take(numbers), partition)
    assert made == boxes(encoded, in_memory(alike, method))


@names
@given(cases(), st.integers(1, 5), st.integers(0, 99), st.integers(2, 20))
@some_cases
def test_by_the_paper_boxes_are_the_same(name: str, case: Case, parts: int, seed: int, segment: int) -> None:
    alike = replace(case, requirements=(KAnonymity(k=3),))
    encoded, method = alike.encoded(), METHODS[name](segment=segment, reading="paper")
    found, frame = divided(alike, method, parts=parts, seed=seed)
    made: Counter[Any] = Counter()
    for partition, numbers in finished(found, frame):
        made += boxes(encoded.take(numbers), partition)
    assert made == boxes(encoded, in_memory(alike, method))


@given(cases(), st.integers(1, 5), st.integers(0, 99), st.integers(1, 40))
@some_cases
def test_the_sample_is_that_of_the_memory_engine(case: Case, parts: int, seed: int, size: int) -> None:
    found, _ = divided(case, Hilbert(), parts=parts, seed=seed)
    encoded = case.encoded()
    wanted = draw(encoded, min(size, encoded.rows), seed, threads=1)
    again = along.sampled(found.records, found.outline, min(size, encoded.rows), seed)
    np.testing.assert_array_equal(again.codes, wanted.codes)


@given(cases(), st.integers(1, 4), st.integers(0, 99))
@some_cases
def test_cluster_makes_classes_within_ranges_that_a_task_holds(case: Case, parts: int, seed: int) -> None:
    encoded, allowed = case.encoded(), case.allowed()
    try:
        found, frame = divided(case, Cluster(), parts=parts, seed=seed, fits=16)
    except PolicyError:  # only more than a task holds meet what is asked
        reject()
    made = [sorted(numbers[of].tolist()) for made, numbers in finished(found, frame) for of in classes(made)]
    assert sorted(i for numbers in made for i in numbers) == list(range(encoded.rows))
    if allowed(list(range(encoded.rows))):
        assert all(map(allowed, made))
    assert (len(found.leaves) > 1) == any("none crosses" in note for note in found.notes)


def test_however_keys_are_counted_segments_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    case = Case(
        {"q0": random.integers(0, 9, 400).tolist(), "q1": random.integers(0, 9, 400).tolist()},
        {"q0": {}, "q1": {}},
        (KAnonymity(k=3),),
    )
    found, jobs = [], []
    for step, chunk, parts in ((16, 1 << 16, 1), (1, 2, 4), (3, 4, 2)):
        monkeypatch.setattr(keys, "STEP", step)
        monkeypatch.setattr(along, "CHUNK", chunk)
        grown, frame = divided(case, METHODS["hilbert-fast"](segment=20), parts=parts, seed=parts)
        found.append((grown.leaves, sum(len(made.sizes) for made, _ in finished(grown, frame))))
        jobs.append(grown.records.cluster.collected.jobs)
    assert found[0] == found[1] == found[2]
    assert len(found[0][0]) > 10
    assert jobs[0] < jobs[2] < jobs[1]


def test_what_cannot_be_done_is_refused_with_what_can() -> None:
    column = {"q0": list(range(100)), "s0": [1.0, 2.0] * 50}
    k = Case(column, {"q0": {}}, (KAnonymity(k=2),))
    with pytest.raises(PolicyError, match=r"topdown sees all records at once.*use mondrian, hilbert-fast or cluster"):
        divided(k, "topdown")
    with pytest.raises(PolicyError, match=r"repair of hilbert sees all records at once.*leave it out, or use cluster"):
        divided(k, {"hilbert": {"repair": True}})
    with pytest.raises(
        PolicyError, match=r"see 100 neighbours .* a task holds 30 records; raise memory=…, set segment"
    ):
        divided(k, "hilbert-fast", fits=30)
    numbers = list(range(4_000))
    many = Case({"q0": numbers, "s0": numbers}, {"q0": {}}, (DistinctLDiversity(l=2, of="s0"),))
    with pytest.raises(PolicyError, match=r"'s0' has 4,001 values, too many to count in each of 1,\d+ segments"):
        divided(many, {"hilbert-fast": {"segment": 2}}, memory=405_000_000)
    lonely = replace(k, columns={"q0": list(range(100)), "s0": [*[1.0] * 50, *[2.0] * 50]})
    asked = replace(lonely, requirements=(DistinctLDiversity(l=2, of="s0"),))
    with pytest.raises(PolicyError, match=r"cluster must see \d+ neighbours .* raise memory=…, or use mondrian"):
        divided(asked, "cluster", fits=30)

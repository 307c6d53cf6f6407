"""Over records on a cluster the tree grows as it does over records in memory, however they are spread."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.source.spark import open_spark
from rothko.data.survey.coded import Coded
from rothko.engines.options import Grow, Spark
from rothko.engines.spark.run import Grown, grow, look
from rothko.methods import Mondrian
from rothko.methods.classes import TreeClasses
from rothko.policy.policy import Policy
from tests.engines.test_rothko import classes_in_memory
from tests.strategies.tables import Case, cases, unhurried
from tests.twins.spark_cluster import PlainCluster, PlainFrame, spread


def grown(
    case: Case, engine: Spark, *, parts: int, seed: int, workload: Any = (), method: Mondrian | None = None
) -> tuple[Grown, PlainFrame]:
    specs = {name: {"role": "quasi-identifier", **spec} for name, spec in case.specs.items()}
    others = {name: {"role": "sensitive"} for name in case.columns if name not in case.specs}
    policy = Policy(
        columns={**specs, **others, "record": {"role": "keep"}},
        privacy=case.requirements,
        workload=workload,
        method=method or Mondrian(),
    )
    numbered = pa.table({**case.columns, "record": np.arange(len(next(iter(case.columns.values()))))})
    frame = spread(numbered, parts, seed)
    table = look(engine, PlainCluster(), open_spark(frame), policy, check=lambda _: None, seed=seed)
    return grow(engine, table, policy, seed=seed), frame


def classes_of(found: Grown, frame: PlainFrame) -> set[frozenset[int]]:
    """What becomes of the leaves when each is finished."""
    classes = set()
    coded = found.coder.code(frame.toArrow())
    place = found.divided.route({leaf.node: i for i, leaf in enumerate(found.leaves)})(coded)
    for i, leaf in enumerate(found.leaves):
        some = coded.take(np.flatnonzero(place == i))
        assert some.rows == leaf.rows
        if leaf.whole:
            classes.add(frozenset(some.kept["record"].to_pylist()))
        else:
            classes |= _finished(found, some, leaf.node)
    return classes


def _finished(found: Grown, some: Coded, node: int) -> set[frozenset[int]]:
    part = found.divided.finish(some, node)
    numbers = part.kept["record"].to_numpy()[part.partition.order]
    return {frozenset(one.tolist()) for one in np.split(numbers, part.partition.starts[1:-1])}


@unhurried
@given(cases(), st.integers(1, 5), st.integers(0, 99), st.integers(1, 20), st.sampled_from(["rothko", "paper"]))
def test_rothko_t_makes_the_classes_of_the_memory_engine(
    case: Case, parts: int, seed: int, fits: int, reading: Literal["rothko", "paper"]
) -> None:
    encoded, method = case.encoded(), Mondrian(reading=reading)
    in_memory = method.partition(encoded, case.requirements)
    assert isinstance(in_memory, TreeClasses)
    found, frame = grown(case, Spark(records_at_once=fits), parts=parts, seed=seed, method=method)
    assert classes_of(found, frame) == classes_in_memory(in_memory)


@unhurried
@given(cases(), st.integers(1, 5), st.integers(0, 99), st.integers(1, 20), st.sampled_from(get_args(Grow)))
def test_rothko_s_divides_the_records(case: Case, parts: int, seed: int, fits: int, how: Grow) -> None:
    found, frame = grown(case, Spark(algorithm="rothko-s", records_at_once=fits, grow=how), parts=parts, seed=seed)
    members = sorted(record for one in classes_of(found, frame) for record in one)
    assert members == list(range(frame.count()))

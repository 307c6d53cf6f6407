"""The criteria of a workload against their plain twin in `tests/twins`, with every kind of requirement and line."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.generate.agrawal import agrawal
from rothko.methods import Mondrian
from rothko.methods.mondrian.grow import grow_tree
from rothko.methods.mondrian.problem import Problem
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from rothko.workload import Classify, Regress, Task
from tests.strategies.tables import Case, cases, classes, records, regions, unhurried
from tests.strategies.workloads import encoded_with, tasks
from tests.twins import mondrian as plain


def as_plain(arrays: Problem, table: np.ndarray) -> plain.Workload:
    """The workload as the twin takes it, from the arrays of the kernel."""
    c = arrays.criteria
    assert c is not None
    targets = []
    for t, (kind, row, labels, groups, group_row, begins, _, _) in enumerate(c.targets.tolist()):
        codes = [None if code >= labels else code for code in table[row].tolist()]
        held = codes if kind == 0 else [None if code is None else int(c.numbers[begins + code]) for code in codes]
        group = table[group_row].tolist() if groups > 1 else [0] * table.shape[1]
        seen = {a for a in range(len(arrays.lines.spec)) if c.features[t, a]}
        targets.append(plain.Target(kind == 0, held, group, float(c.factors[t]), seen))
    boxes = [tuple(zip(*box, strict=True)) for box in zip(c.box_low.tolist(), c.box_high.tolist(), strict=True)]
    queries = [plain.Query(box, weight) for box, weight in zip(boxes, c.weights.tolist(), strict=True)]
    return plain.Workload(queries, targets, c.minimum_gain)


@pytest.mark.parametrize("relaxed", [False, True])
@given(case=cases(), data=st.data())
@unhurried
def test_models_equal_their_plain_twin(relaxed: bool, case: Case, data: st.DataObject) -> None:
    columns, workload = data.draw(tasks(case))
    if not workload:
        return
    encoded = encoded_with(case, columns, workload)
    method = Mondrian(relaxed=relaxed, minimum_gain=data.draw(st.sampled_from([0, 0.01, 0.3])))
    asked_for = plain.mondrian(
        encoded.lines, records(encoded), case.allowed(), relaxed=relaxed,
        workload=as_plain(*method.problem(encoded, case.requirements, workload)),
    )  # fmt: skip
    for threads in (1, 2):
        result = method.partition(encoded, case.requirements, workload=workload, threads=threads)
        assert classes(result) == [c.records for c in asked_for]
        if not relaxed:
            assert regions(result) == [c.region for c in asked_for]


@given(case=cases(), data=st.data())
@unhurried
def test_the_letter_of_models_equals_its_plain_twin_and_leaves_no_cut(case: Case, data: st.DataObject) -> None:
    columns, workload = data.draw(tasks(case))
    if not workload:
        return
    encoded = encoded_with(case, columns, workload)
    rows, allowed = records(encoded), case.allowed()
    method = Mondrian(reading="paper")
    arrays, table = method.problem(encoded, case.requirements, workload)
    expected = plain.mondrian(encoded.lines, rows, allowed, workload=as_plain(arrays, table), letter=True)
    for threads in (1, 2):
        result = method.partition(encoded, case.requirements, workload=workload, threads=threads)
        assert classes(result) == [c.records for c in expected]
        assert regions(result) == [c.region for c in expected]
    for numbers in classes(result):
        for a, line in enumerate(encoded.lines):
            assert plain.allowable_cuts(line, {i: rows[i][a] for i in numbers}, allowed, False) == []


@pytest.mark.parametrize("reading", ["rothko", "paper"])
@given(case=cases(), data=st.data())
@unhurried
def test_queries_equal_their_plain_twin(reading: Literal["rothko", "paper"], case: Case, data: st.DataObject) -> None:
    columns, workload = data.draw(tasks(case))
    encoded = encoded_with(case, columns, workload)
    arrays, table = Mondrian(reading=reading).problem(encoded, case.requirements, workload)
    random_boxes = np.array(
        data.draw(
            st.lists(
                st.tuples(*(st.tuples(*[st.integers(0, line.size - 1)] * 2).map(sorted) for line in encoded.lines)),
                min_size=1,
                max_size=3,
            )
        ),
        dtype=np.int32,
    )
    empty = Mondrian().problem(encoded, case.requirements, (Classify("x"),)[:0])[0].criteria
    assert empty is None
    weights = np.array([data.draw(st.sampled_from([1.0, 2.0, 0.5])) for _ in random_boxes])
    _check_queries(case, encoded, arrays, table, random_boxes, weights)


def _check_queries(
    case: Case, encoded: Encoded, arrays: Problem, table: np.ndarray, boxes: np.ndarray, weights: np.ndarray
) -> None:
    from rothko.kernels.mondrian.nodes import ATTRIBUTE, LEAF, START
    from rothko.workload.criteria import Criteria, logarithms

    low, high = np.ascontiguousarray(boxes[:, :, 0]), np.ascontiguousarray(boxes[:, :, 1])
    none = Criteria(
        np.empty((0, 8), dtype=np.int64), np.empty(0), np.empty((0, len(encoded.lines)), dtype=np.uint8),
        np.empty(0, dtype=np.int64), logarithms(0), 0.01, True, low, high, weights,
    )  # fmt: skip
    criteria = (
        none if arrays.criteria is None else replace(arrays.criteria, box_low=low, box_high=high, weights=weights)
    )
    arrays = replace(arrays, criteria=criteria)
    workload = as_plain(arrays, table)
    expected = plain.mondrian(encoded.lines, records(encoded), case.allowed(), workload=workload, letter=arrays.letter)
    nodes, _, _ = grow_tree(table, arrays, arrays.first_phase, 1, lambda _: None)
    leaves = nodes[nodes[:, ATTRIBUTE] == LEAF]
    starts = [*sorted(leaves[:, START].tolist()), encoded.rows]
    order = table[len(encoded.lines)].tolist()
    found = [sorted(order[a:b]) for a, b in itertools.pairwise(starts)]
    assert found == [c.records for c in expected]


# ── the size at which lines are ranked anew and threads share the work ────────────────────────────


@pytest.mark.parametrize(
    "task", [Classify("class"), Regress("hyears"), Classify("class", ("salary", "loan", "hyears"))]
)
def test_threads_and_ranks_do_not_change_the_cuts(task: Task) -> None:
    table = agrawal(60_000, function=2, noise=0.1, seed=3)
    names = table.column_names
    policy = Policy.quick(names, qi=["salary", "age", "loan", "hvalue"], keep_rest=True, k=40).but(workload=(task,))
    encoded = encode(typed(table, policy), policy)
    results = [
        Mondrian(minimum_gain=0).partition(encoded, policy.privacy, workload=(task,), threads=n) for n in (1, 2, 3)
    ]
    for other in results[1:]:
        assert classes(other) == classes(results[0])
        assert np.array_equal(other.low, results[0].low)
        assert np.array_equal(other.high, results[0].high)
    one = results[0]
    for a in range(len(encoded.lines)):
        codes = encoded.codes[a][one.order]
        assert np.array_equal(np.minimum.reduceat(codes, one.starts[:-1]), one.low[:, a])
        assert np.array_equal(np.maximum.reduceat(codes, one.starts[:-1]), one.high[:, a])


def test_the_first_cut_is_that_of_a_decision_tree() -> None:
    tree = pytest.importorskip("sklearn.tree")
    table = agrawal(20_000, function=2, noise=0.1, seed=1)
    names = ["salary", "age", "loan", "elevel"]
    policy = Policy.quick(table.column_names, qi=names, keep_rest=True, k=50).but(workload=(Classify("class"),))
    encoded = encode(typed(table, policy), policy)
    result = Mondrian(minimum_gain=0).partition(encoded, (KAnonymity(k=50),), workload=policy.workload, threads=1)
    model = tree.DecisionTreeClassifier(criterion="entropy", min_samples_leaf=50, max_depth=1)
    x = np.column_stack([table[name].to_numpy() for name in names])
    model.fit(x, table["class"].to_numpy(zero_copy_only=False))
    assert result.cuts is not None
    a = int(result.cuts.attribute[0])
    assert a == model.tree_.feature[0]
    values = encoded.lines[a].values.to_pylist()
    cut = int(result.cuts.begins[result.cuts.child[0] + 1])
    assert values[cut - 1] <= model.tree_.threshold[0] < values[cut]

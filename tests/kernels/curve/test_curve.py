"""The kernels of the methods along a curve against their twins, in NumPy or plain Python (`tests/twins`)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.kernels import boxes
from rothko.kernels import order as ko
from rothko.kernels.curve import diverse, hilbert, idistance, merge, onedim
from rothko.kernels.curve.hilbert import BLOCK
from rothko.kernels.order import FEW, MANY
from rothko.methods.curve.onedim import NOTHING, in_steps
from rothko.methods.layout import lay_out, rules_of
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from tests.strategies.tables import Case, cases, listed, unhurried
from tests.twins import curve as plain_curves

# ── the Hilbert curve ────────────────────────────────────────────────────────────────────────────


def keys_of(points: np.ndarray, bits: int, pieces: int = 1) -> list[int]:
    """The keys of (dimensions, records) as whole numbers."""
    d, n = points.shape
    same = np.arange(1 << bits, dtype=np.uint16)
    words = np.zeros((-(-d * bits // 64), n), dtype=np.uint64)
    for piece in range(pieces):
        first, last = piece * n // pieces, (piece + 1) * n // pieces
        hilbert.hilbert_keys(points, np.arange(d), same, np.zeros(d, dtype=np.int64), bits, first, last, words)
    spare = 64 * len(words) - d * bits
    numbers = [sum(int(word) << 64 * (len(words) - 1 - w) for w, word in enumerate(key)) for key in words.T]
    assert all(number % (1 << spare) == 0 for number in numbers)
    return [number >> spare for number in numbers]


@pytest.mark.parametrize(("dimensions", "bits"), [(1, 3), (2, 1), (2, 4), (3, 3), (4, 2), (5, 2), (7, 1)])
def test_the_hilbert_curve_visits_every_cell_in_steps_of_one(dimensions: int, bits: int) -> None:
    cells = np.array(list(itertools.product(range(1 << bits), repeat=dimensions)), dtype=np.int32).T
    keys = keys_of(cells, bits)
    assert sorted(keys) == list(range(len(keys)))
    steps = np.abs(np.diff(cells[:, np.argsort(keys)], axis=1)).sum(axis=0)
    assert set(steps) == {1}


@pytest.mark.parametrize("bits", [1, 2, 12, 16])
@pytest.mark.parametrize("dimensions", [1, 2, 5, 7, 16, 65, 90])
def test_hilbert_keys_equal_their_twin(dimensions: int, bits: int) -> None:
    chosen = np.random.default_rng(dimensions * 100 + bits)
    points = chosen.integers(0, 1 << bits, (dimensions, BLOCK + 3)).astype(np.int32)
    expected = [plain_curves.hilbert_index(point, bits) for point in points.T.tolist()]
    assert keys_of(points, bits) == expected
    assert keys_of(points, bits, pieces=5) == expected


def test_a_dimension_takes_its_coordinates_from_its_own_line_and_table() -> None:
    codes = np.array([[0, 1, 2], [1, 0, 1]], dtype=np.int32)
    tables = np.array([5, 0, 1, 7, 4], dtype=np.uint16)  # line 1 has two codes, and comes first
    words = np.zeros((1, 3), dtype=np.uint64)
    hilbert.hilbert_keys(codes, np.array([1, 0]), tables, np.array([0, 2]), 3, 0, 3, words)
    expected = [plain_curves.hilbert_index(point, 3) for point in ((0, 1), (5, 7), (0, 4))]
    assert (words[0] >> np.uint64(58)).tolist() == expected


def test_gaps_are_differences_of_keys() -> None:
    chosen = np.random.default_rng(1)
    for words in (1, 2, 3):
        keys = chosen.integers(0, 2**64, (words, 50), dtype=np.uint64)
        keys[:-1, 25:] = keys[:-1, [25]]  # the same words at first: differences in the last one only
        keys[0, :5] = 2**64 - 1
        numbers = [sum(int(word) << 64 * (words - 1 - w) for w, word in enumerate(key)) for key in keys.T]
        order = np.array(sorted(range(50), key=numbers.__getitem__), dtype=np.int32)
        gaps = np.zeros(50)
        for first, last in ((0, 20), (20, 50)):
            hilbert.gaps_between(keys, order, first, last, gaps)
        expected = [(numbers[b] - numbers[a]) / 2 ** (64 * words) for a, b in itertools.pairwise(order)]
        np.testing.assert_allclose(gaps[1:], expected, rtol=1e-15)
        assert gaps[0] == 0


# ── sorting ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("size", [0, 1, 2, FEW, FEW + 1, 300, MANY - 1, MANY, 3 * MANY])
@pytest.mark.parametrize("most", [1, 2, 300, 2**40, 2**64])
def test_sorting_by_words_is_stable_and_lexicographic(size: int, most: int) -> None:
    chosen = np.random.default_rng(size + most % 1000)
    for words in (1, 2, 3):
        keys = chosen.integers(0, most, (words, size + 5), dtype=np.uint64)
        keys[0] %= np.uint64(max(most // 50, 1) if words > 1 else most - 1 or 1)  # ties that the next word decides
        order = np.sort(chosen.choice(size + 5, size, replace=False)).astype(np.int32)
        expected = order[np.lexsort(keys[::-1, order])]
        np.testing.assert_array_equal(ko.sort_by_words(keys, order.copy()), expected)


def test_records_are_shared_out_by_their_first_word() -> None:
    keys = np.random.default_rng(3).integers(0, 100, (2, 1000), dtype=np.uint64)
    for cuts in ([], [50], [0, 7, 7 + 1, 99], [100]):
        part = np.empty(1000, dtype=np.int32)
        ko.share_out(keys, np.array(cuts, dtype=np.uint64), part)
        order, starts = ko.arrange(part, len(cuts) + 1)
        expected = np.searchsorted(np.array(cuts, dtype=np.uint64), keys[0], side="right")
        np.testing.assert_array_equal(part, expected)
        np.testing.assert_array_equal(np.diff(starts), np.bincount(expected, minlength=len(cuts) + 1))
        np.testing.assert_array_equal(order, np.argsort(expected, kind="stable"))


# ── boxes ────────────────────────────────────────────────────────────────────────────────────────


def in_a_row(encoded: Encoded, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The codes of the records in some order that keeps many equal ones together, and the order."""
    order = np.random.default_rng(seed).permutation(encoded.rows).astype(np.int32)
    if seed % 2:
        order = order[np.lexsort(encoded.codes[:, order])]
    rows = np.empty((encoded.rows, len(encoded.lines)), dtype=np.int32)
    half = encoded.rows // 2
    for first, last in ((0, half), (half, encoded.rows)):
        onedim.gather(encoded.codes, order, first, last, rows)
    np.testing.assert_array_equal(rows, encoded.codes[:, order].T)
    return rows, order


@given(case=cases(), seed=st.integers(0, 99))
@unhurried
def test_the_box_of_some_records_is_what_they_have(case: Case, seed: int) -> None:
    encoded = case.encoded()
    rows, _ = in_a_row(encoded, seed)
    n, layout = encoded.rows, lay_out(encoded.lines)
    chosen = random.Random(seed)
    members = np.array(chosen.sample(range(n), n))
    inner = chosen.sample(range(1, n), chosen.randint(0, n - 1))
    starts = np.array(sorted({0, n, *inner}))
    groups = [members[a:b].tolist() for a, b in itertools.pairwise(starts.tolist())]
    expected = [plain_curves.ncp(encoded.lines, rows[group].tolist()) for group in groups]
    state = boxes.room(layout)
    for g, (a, b) in enumerate(itertools.pairwise(starts.tolist())):
        assert boxes.ncp_of(rows, members, a, b, g, layout, state) == expected[g]
    lost = sum(len(group) * penalty for group, penalty in zip(groups, expected, strict=True))
    assert boxes.loss_of(rows, members, starts, layout) == pytest.approx(lost)
    low, high = (np.full((len(groups), len(encoded.lines)), -1, dtype=np.int32) for _ in range(2))
    boxes.bounds_of(rows, members, starts, 0, len(groups), low, high)
    assert low.tolist() == [rows[group].min(axis=0).tolist() for group in groups]
    assert high.tolist() == [rows[group].max(axis=0).tolist() for group in groups]
    for a, line in enumerate(encoded.lines):
        begins, codes = boxes.members_of(rows, a, line.size, members, starts)
        found = [codes[i:j].tolist() for i, j in itertools.pairwise(begins.tolist())]
        assert found == [sorted(set(rows[group, a].tolist())) for group in groups]


# ── optimal groups ───────────────────────────────────────────────────────────────────────────────


def check_groups_in_boxes(encoded: Encoded, rows: np.ndarray, k: int) -> None:
    """The best last group of the first records, however many, is that of trying all groups, to the last bit."""
    n = len(rows)
    losses = plain_curves.losses_of_boxes(encoded.lines, rows.tolist(), k)
    expected = plain_curves.last_groups(n, k, lambda b, e: losses[b, e])
    best, back = np.full(n + 1, np.inf), np.full(n + 1, -1, dtype=np.int32)
    best[0] = 0
    onedim.group_in_boxes(rows, lay_out(encoded.lines), k, best, back)
    assert {i: (best[i], back[i]) for i in np.flatnonzero(back >= 0).tolist()} == {
        i: last for i, last in expected.items() if i > 0
    }


@given(case=cases(), seed=st.integers(0, 99), k=st.integers(1, 15))
@unhurried
def test_groups_in_boxes_are_those_of_trying_all(case: Case, seed: int, k: int) -> None:
    encoded = case.encoded()
    rows, _ = in_a_row(encoded, seed)
    check_groups_in_boxes(encoded, rows, k)


COLUMNS: dict[str, Callable[[np.random.Generator, int], list[Any]]] = {
    "even": lambda _, n: [i / 10 for i in range(n)],  # groups lose the same but for what is rounded
    "two": lambda chosen, n: chosen.integers(0, 2, n).tolist(),
    "few": lambda chosen, n: chosen.integers(0, 5, n).tolist(),
    "many": lambda chosen, n: np.cumsum(chosen.normal(size=n)).round(3).tolist(),
    "far": lambda chosen, n: np.sort(chosen.lognormal(0, 4, n)).tolist(),
    "runs": lambda chosen, n: np.repeat(chosen.integers(0, 9, n), chosen.integers(1, 30, n))[:n].tolist(),
    "gaps": lambda chosen, n: [None if i and chosen.random() < 0.02 else i % 7 for i in range(n)],
    "labels": lambda chosen, n: ["abcdefg"[v] if v < 7 else None for v in (0, *chosen.integers(0, 8, n - 1))],
    "flat": lambda chosen, n: ["abcdefg"[v] for v in chosen.integers(0, 7, n)],
    "tree": lambda chosen, n: ["abcdefg"[v] for v in chosen.integers(0, 7, n) * (np.arange(n) // 40 % 2)],
}  # fmt: skip
HIERARCHIES: dict[str, Any] = {
    "flat": "flat",
    "tree": {"tree": {"A": ["a", "b"], "B": ["c", "d"], "C": ["e", "f", "g"]}},
}


@pytest.mark.parametrize("k", [2, 7, 40, 110])
@pytest.mark.parametrize(
    "columns",
    [
        ("even",),
        ("even", "even"),
        ("two", "two", "two"),
        ("two", "even"),
        ("few", "flat"),
        ("many", "far"),
        ("many", "runs", "few", "gaps"),
        ("labels",),
        ("labels", "many"),
        ("tree", "runs", "labels"),
        ("flat", "flat", "two"),
        ("gaps", "tree", "many", "labels", "few"),
    ],
    ids="-".join,
)
@pytest.mark.parametrize("weights", [(1,), (0.3, 1, 7), (1e-9, 1e9, 0.1)])
def test_groups_that_are_not_tried_are_no_better(columns: tuple[str, ...], k: int, weights: tuple[float, ...]) -> None:
    n, chosen = 250, np.random.default_rng(k + len(columns))
    table = {f"{a}": COLUMNS[name](chosen, n) for a, name in enumerate(columns)}
    specs: dict[str, Any] = {
        f"{a}": {"role": "quasi-identifier", "weight": weights[a % len(weights)]}
        | ({"hierarchy": listed(HIERARCHIES[name])} if name in HIERARCHIES else {})
        for a, name in enumerate(columns)
    }
    policy = Policy(columns=specs, privacy=[KAnonymity(k=2)])
    encoded = encode(typed(pa.table(table), policy), policy)
    check_groups_in_boxes(encoded, np.ascontiguousarray(encoded.codes.T), k)


@given(n=st.integers(1, 90), k=st.integers(1, 12), seed=st.integers(0, 2**32))
@unhurried
def test_groups_along_the_curve_are_the_best(n: int, k: int, seed: int) -> None:
    chosen = np.random.default_rng(seed)
    k = min(k, n)
    gaps = chosen.integers(0, 4, n)
    gaps[0] = 0
    least, starts = plain_curves.optimal_groups(n, k, lambda b, e: float((e - b) * gaps[b + 1 : e].sum()))
    best, back = np.full(n + 1, NOTHING), np.full(n + 1, -1, dtype=np.int32)
    best[0] = 0
    onedim.group_along(gaps, k, best, back)
    assert best[n] == least
    assert onedim.groups_of(back, n).tolist() == starts


@pytest.mark.parametrize("k", [1, 3, 40, 300, 1_300])
@pytest.mark.parametrize("spread", [0.0, 1.0, 6.0])
def test_first_records_that_are_not_tried_are_no_better(k: int, spread: float) -> None:
    n, chosen = 2_500, np.random.default_rng(k)
    gaps = chosen.lognormal(2.0, spread, n)
    gaps[0] = 0
    gaps[chosen.random(n) < 0.3] = 0
    steps = in_steps(gaps, k)
    reach, best, back = np.cumsum(steps), np.full(n + 1, NOTHING), np.full(n + 1, -1, dtype=np.int32)
    best[0] = 0
    plain, origins = best.copy(), back.copy()
    for end in range(k, n + 1):
        starts = np.arange(end - k, max(end - 2 * k, -1), -1)
        losses = plain[starts] + (end - starts) * (reach[end - 1] - reach[starts])
        plain[end], origins[end] = losses.min(), starts[losses.argmin()]
    onedim.group_along(steps, k, best, back)
    np.testing.assert_array_equal(best, plain)
    np.testing.assert_array_equal(back, origins)


@given(case=cases(), seed=st.integers(0, 99), k=st.integers(1, 12))
@unhurried
def test_groups_are_joined_in_the_best_way(case: Case, seed: int, k: int) -> None:
    encoded = case.encoded()
    rows, _ = in_a_row(encoded, seed)
    n, layout = encoded.rows, lay_out(encoded.lines)
    k = min(k, n)
    chosen = random.Random(seed)
    members = np.array(chosen.sample(range(n), n) if seed % 3 else range(n))
    starts = np.array(sorted({0, n, *chosen.sample(range(1, n), min(n - 1, chosen.randint(0, 12)))}))

    def loss(b: int, e: int) -> float:
        group = members[starts[b] : starts[e]]
        return len(group) * plain_curves.ncp(encoded.lines, rows[group].tolist())

    found = onedim.join_groups(rows, members, starts, k, layout)
    assert set(found.tolist()) <= set(starts.tolist())
    assert (np.diff(found) >= k).all()
    expected = plain_curves.joined(np.diff(starts).tolist(), k, loss)
    assert boxes.loss_of(rows, members, found, layout) == pytest.approx(expected)


# ── diverse groups ───────────────────────────────────────────────────────────────────────────────


def nowhere(n: int) -> tuple[np.ndarray, boxes.Lines]:
    """Records without quasi-identifiers, for what needs none."""
    return np.zeros((n, 0), dtype=np.int32), lay_out([])


@st.composite
def histograms(draw: st.DrawFn) -> tuple[list[int], int]:
    """Values in a row that are eligible for an l, often only just."""
    size = draw(st.integers(2, 6))
    chosen = random.Random(draw(st.integers(0, 2**32)))
    n = draw(st.integers(size, 80))
    most = n // size
    counts: list[int] = []
    shape = draw(st.sampled_from(["all on the bound", "one on the bound", "any"]))
    while sum(counts) < n:
        wanted = most if shape == "all on the bound" or (shape == "one on the bound" and not counts) else 1
        if shape == "any":
            wanted = chosen.randint(1, most)
        counts.append(min(wanted, n - sum(counts)))
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    if draw(st.booleans()):
        chosen.shuffle(values)  # otherwise one value after the other along the curve
    elif draw(st.booleans()):
        values.reverse()
    return values, size


def check_diverse(groups: list[list[int]], values: list[int], size: int) -> None:
    assert sorted(place for group in groups for place in group) == list(range(len(values)))
    for group in groups:
        held = [values[place] for place in group]
        assert len(set(held)) == len(held) >= size


def as_groups(found: tuple[np.ndarray, np.ndarray]) -> list[list[int]]:
    members, starts = found
    return [members[a:b].tolist() for a, b in itertools.pairwise(starts.tolist())]


@given(drawn=histograms(), seed=st.integers(0, 2**32))
@unhurried
def test_diverse_groups_equal_their_twin_along_the_curve(drawn: tuple[list[int], int], seed: int) -> None:
    values, size = drawn
    reach = np.cumsum(np.random.default_rng(seed).integers(0, 9, len(values))).astype(np.float64)
    found = diverse.diverse_groups(
        np.array(values, dtype=np.int32), max(values) + 1, size, reach, False, *nowhere(len(values))
    )

    def extent(group: list[int]) -> float:
        return float(max(reach[group]) - min(reach[group]))

    # The paper measures both sides from the record that may join: it is the last of its group, the first of the next.
    def wide(group: list[int]) -> float:
        return extent(group) if len(group) <= size else float(reach[group[-1]] - min(reach[group]))

    groups = as_groups(found)
    check_diverse(groups, values, size)
    assert groups == plain_curves.diverse_groups(values, size, wide)


@given(drawn=histograms(), seed=st.integers(0, 2**32))
@unhurried
def test_diverse_groups_by_the_paper_equal_their_twin(drawn: tuple[list[int], int], seed: int) -> None:
    values, size = drawn
    reach = np.cumsum(np.random.default_rng(seed).integers(0, 9, len(values))).astype(np.float64)
    found = diverse.diverse_groups(
        np.array(values, dtype=np.int32), max(values) + 1, size, reach, True, *nowhere(len(values))
    )

    def wide(group: list[int]) -> float:
        """From the record that may join to the leftmost of its group; of the next group, from end to end."""
        *others, last = group
        if len(group) <= size:
            return float(max(reach[group]) - min(reach[group]))
        return float(abs(reach[last] - min(reach[others])))

    groups = as_groups(found)
    check_diverse(groups, values, size)
    assert groups == plain_curves.diverse_groups(values, size, wide, once=True)


@given(case=cases(), seed=st.integers(0, 99), size=st.integers(2, 5))
@unhurried
def test_diverse_groups_equal_their_twin_in_space(case: Case, seed: int, size: int) -> None:
    encoded = case.encoded()
    rows, _ = in_a_row(encoded, seed)
    chosen = random.Random(seed)
    n = encoded.rows
    values = [place % (size + chosen.randint(0, 3)) for place in range(n)]
    chosen.shuffle(values)
    if max(values.count(value) for value in values) * size > n:
        return
    layout = lay_out(encoded.lines)
    asked = np.array(values, dtype=np.int32), max(values) + 2, size, np.empty(0), False
    found = diverse.diverse_groups(*asked, rows, layout)
    groups = as_groups(found)
    check_diverse(groups, values, size)
    assert groups == plain_curves.diverse_groups(
        values, size, lambda group: plain_curves.ncp(encoded.lines, rows[group].tolist())
    )


def test_diverse_groups_of_many_values_do_not_take_a_step_for_each_of_them() -> None:
    n, size = 200_000, 2
    # Half of the records have one value and lie at the end, so that every group needs the fall-back step.
    values = np.concatenate([np.arange(1, n // 2 + 1), np.zeros(n // 2)]).astype(np.int32)
    found = diverse.diverse_groups(values, n // 2 + 1, size, np.arange(n, dtype=np.float64), False, *nowhere(n))
    assert np.diff(found[1]).tolist() == [2] * (n // 2)


# ── merging ──────────────────────────────────────────────────────────────────────────────────────


@given(case=cases(), seed=st.integers(0, 99))
@unhurried
def test_merging_equals_its_twin(case: Case, seed: int) -> None:
    encoded = case.encoded()
    rows, order = in_a_row(encoded, seed)
    n, layout = encoded.rows, lay_out(encoded.lines)
    chosen = random.Random(seed)
    members = np.array(chosen.sample(range(n), n) if seed % 3 else range(n))
    starts = np.array(sorted({0, n, *chosen.sample(range(1, n), chosen.randint(0, n - 1))}))
    columns: list[np.ndarray] = []

    def add_row(_: str, codes: np.ndarray) -> int:
        columns.append(codes[order])
        return len(columns) - 1

    rules = rules_of(encoded, case.requirements, add_row)
    if not len(rules.spec):
        return
    found = merge.merge_groups(np.stack(columns), members, starts, rules, rows, layout)
    asked = [r for r in case.requirements if r.column is not None and r.rule(encoded.sensitive[r.column].domain)]
    about = plain_curves.about_values(asked, case.columns)

    def loss(begin: int, end: int) -> float:
        return (end - begin) * plain_curves.ncp(encoded.lines, rows[members[begin:end]].tolist())

    numbers = [int(order[place]) for place in members]
    assert found.tolist() == plain_curves.merged(starts.tolist(), about, loss, numbers)


# ── iDistance ────────────────────────────────────────────────────────────────────────────────────


def points_of(n: int, dimensions: int, seed: int) -> np.ndarray:
    """Points with many equal ones."""
    return np.random.default_rng(seed).integers(0, 5, (n, dimensions)).astype(np.float32) / 4


@pytest.mark.parametrize(("n", "dimensions"), [(1, 1), (7, 1), (200, 3), (300, 5), (500, 9)])
def test_the_nearest_centre_is_the_first_of_the_nearest(n: int, dimensions: int) -> None:
    points = points_of(n, dimensions, 1)
    for count in (1, 2, 3, 4, 30):
        centres = points_of(count, dimensions, 2)
        given = np.ascontiguousarray(points.T), np.ascontiguousarray(centres.T)
        owner, distance = np.full(n, -1), np.full(n, -1, dtype=np.float32)
        for first, last in ((0, n // 3), (n // 3, n)):
            idistance.nearest_centres(*given, first, last, owner, distance)
        apart = np.sqrt(((points[:, None].astype(np.float64) - centres[None]) ** 2).sum(axis=2))
        np.testing.assert_array_equal(owner, apart.argmin(axis=1))
        np.testing.assert_allclose(distance, apart.min(axis=1), rtol=1e-6)


@pytest.mark.parametrize(("count", "dimensions"), [(1, 1), (6, 2), (7, 4), (512, 9)])
def test_distances_are_added_dimension_after_dimension_in_single_precision(count: int, dimensions: int) -> None:
    """So they are the same to the bit however many centres are gone through together."""
    random = np.random.default_rng(count)
    points, centres = (random.random((dimensions, n), dtype=np.float32) for n in (300, count))
    owner, distance = np.empty(300, dtype=np.int64), np.empty(300, dtype=np.float32)
    idistance.nearest_centres(points, centres, 0, 300, owner, distance)
    away = np.zeros((count, 300), dtype=np.float32)
    for point, centre in zip(points, centres, strict=True):
        away += (point - centre[:, None]) ** 2
    np.testing.assert_array_equal(owner, away.argmin(axis=0))
    np.testing.assert_array_equal(distance, np.sqrt(away.min(axis=0)))


def test_centres_move_to_the_mean_of_their_points() -> None:
    points, owner = points_of(100, 3, 4), np.random.default_rng(5).integers(0, 6, 100)
    centres = np.full((3, 8), 9, dtype=np.float32)
    idistance.move_centres(np.ascontiguousarray(points.T), owner, centres)
    for c in range(6):
        np.testing.assert_allclose(centres[:, c], points[owner == c].mean(axis=0), rtol=1e-6)
    assert (centres[:, 6:] == 9).all(), "a centre without points stays"


def test_seeds_are_different_points_drawn_by_their_squared_distance() -> None:
    points = points_of(60, 2, 6)
    draws = np.random.default_rng(7).random(40)
    chosen = idistance.seed_centres(np.ascontiguousarray(points.T), draws)
    different = {tuple(point) for point in points.tolist()}
    assert {tuple(point) for point in points[chosen].tolist()} == different
    assert len(chosen) == len(different) < 40
    expected = [int(draws[0] * 60)]
    for draw in draws[1 : len(chosen)]:
        nearest = ((points[:, None].astype(np.float64) - points[expected][None]) ** 2).sum(axis=2).min(axis=1)
        expected.append(int(np.flatnonzero(np.cumsum(nearest) > draw * nearest.sum())[0]))
    assert chosen.tolist() == expected


def test_points_are_the_coordinates_of_codes() -> None:
    codes = np.array([[0, 1, 2], [1, 0, 1]], dtype=np.int32)
    tables = np.array([0.0, 0.5, 1.0, 0.25, 0.75], dtype=np.float32)
    points = np.full((2, 3), -1, dtype=np.float32)
    idistance.place_points(codes, tables, np.array([0, 3, 5]), 1, 3, points)
    assert points.tolist() == [[-1, 0.5, 1.0], [-1, 0.25, 0.75]]

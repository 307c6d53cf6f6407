"""Kernels for sets equal their plain twins."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.kernels.sets import by_sum as sets_by_sum
from rothko.kernels.sets import contained as sets_contained
from rothko.kernels.sets import counted as sets_counted
from rothko.kernels.sets import mondrian as sets_mondrian
from rothko.kernels.sets import reassign as sets_reassign
from rothko.kernels.sets import records as sets_records
from rothko.kernels.sets import two_phase as sets_two_phase
from rothko.sets.methods.mondrian import CRITERIA, NO_BITS, _lexicographic, improve, item_marks
from tests.compiled import Called
from tests.twins import sets as plain

sets_by_sum, sets_mondrian, sets_two_phase = Called(sets_by_sum), Called(sets_mondrian), Called(sets_two_phase)

ITEMS = 7
Sets = list[frozenset[int]]

some_sets = st.lists(st.frozensets(st.integers(0, ITEMS - 1)), min_size=4, max_size=40)
some_worth = st.lists(st.integers(0, 9).map(float), min_size=ITEMS, max_size=ITEMS)
some_k = st.integers(2, 4)


def csr(sets: Sets) -> tuple[np.ndarray, np.ndarray]:
    starts = np.cumsum([0, *map(len, sets)]).astype(np.int64)
    return starts, np.array([a for s in sets for a in sorted(s)], dtype=np.int32)


def rows(starts: np.ndarray, items: np.ndarray) -> list[list[int]]:
    return [items[a:b].tolist() for a, b in pairwise(starts)]


def parted(class_of: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(class_of == c).tolist()) for c in set(class_of.tolist())}


def same(classes: list[list[int]]) -> set[frozenset[int]]:
    return {frozenset(members) for members in classes}


# ── records


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 60), max_size=50), max_size=8))
def test_tidy_sorts_and_drops_repetitions(lists: list[list[int]]) -> None:
    starts = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    items = np.array([a for record in lists for a in record], dtype=np.int32)
    kept = sets_records.tidy(starts, items)
    assert rows(starts, items[:kept]) == [sorted(set(record)) for record in lists]


@settings(deadline=None)
@given(some_sets, st.data())
def test_shared_items_are_the_intersection(sets: Sets, data: Any) -> None:
    class_of = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(sets), max_size=len(sets))))
    bounds = np.concatenate(([0], np.cumsum(np.bincount(class_of, minlength=3))))
    starts, items = sets_records.shared(np.argsort(class_of, kind="stable"), bounds, *csr(sets), ITEMS)
    for c in range(3):
        members = np.flatnonzero(class_of == c).tolist()
        expected = sorted(plain.closure(members, sets)) if members else []
        assert rows(starts, items)[c] == expected


def test_shared_items_need_more_room_than_was_guessed() -> None:
    sets = [frozenset(range(3000))] * 2
    starts, items = sets_records.shared(np.arange(2), np.array([0, 1, 2]), *csr(sets), 3000)
    assert rows(starts, items) == [list(range(3000))] * 2


def fewest(sets: Sets, asked: Sets, *, many: int, size: int = ITEMS) -> int:
    """By the kernel: sets that begin with the same rarest item side by side."""
    starts, items = csr(sets)
    often = sets_records.count_items(items, size)
    lists = sorted((sorted(one, key=lambda item: (often[item], item)) for one in asked if one), key=lambda one: one[0])
    asked_items = np.array([item for one in lists for item in one], dtype=np.int32)
    begins = [i for i, one in enumerate(lists) if i == 0 or lists[i - 1][0] != one[0]]
    bounds = np.array([*begins, len(lists)], dtype=np.int64)
    return sets_contained.fewest_containing(
        bounds[:-1].copy(), bounds[1:].copy(), np.cumsum([0, *map(len, lists)]), asked_items, starts, items,
        *sets_records.by_item(starts, items, size), many, len(sets),
    )  # fmt: skip


@settings(deadline=None)
@given(some_sets, some_sets, st.integers(1, 6))
def test_fewest_containing_is_the_smallest_count(sets: Sets, asked: Sets, many: int) -> None:
    assert fewest(sets, asked, many=many) == plain.fewest_containing(asked, sets)


@pytest.mark.parametrize("many", [1, 3, 20, 1000])
@pytest.mark.parametrize("rare", [0, 1, 63, 64, 4095, 4096, 4097, 8000])
def test_fewest_containing_counts_over_blocks_of_bits(many: int, rare: int) -> None:
    """All records have items 0 and 1, so many have 2 as well, the last ones; some sets are asked about twice."""
    random = np.random.default_rng(rare)
    n = 9000
    sets = [frozenset({0, 1, *({2} if i >= n - rare else ()), *(3 + random.choice(30, 20)).tolist()}) for i in range(n)]
    others = [frozenset((3 + random.choice(30, 2)).tolist()) for _ in range(60)]
    asked = [*others, *others, frozenset({0, 1}), frozenset({0, 1, 2}), frozenset()]
    assert fewest(sets, asked, many=many, size=33) == min(rare, plain.fewest_containing(others, sets))


@settings(deadline=None)
@given(some_sets)
def test_counts_and_hashes(sets: Sets) -> None:
    starts, items = csr(sets)
    assert sets_records.count_items(items, ITEMS).tolist() == [sum(a in s for s in sets) for a in range(ITEMS)]
    keys = sets_records.hashes(starts, items, item_marks(ITEMS), item_marks(ITEMS))[:, 0].tolist()
    assert len(set(keys)) == len(set(sets))
    order = np.arange(len(sets))[::-1]
    assert rows(*sets_records.spread(order, starts, items)) == [sorted(s) for s in reversed(sets)]


# ── set-mondrian


@pytest.mark.parametrize(
    ("criterion", "score"), [("even", plain.even), ("entropy", plain.less_entropy), ("utility", plain.per_bit)]
)
@settings(max_examples=60, deadline=None)
@given(sets=some_sets, worth=some_worth, k=some_k, dense=st.booleans())
def test_mondrian_equals_its_twin(
    criterion: str, score: Callable[..., float], sets: Sets, worth: list[float], k: int, dense: bool
) -> None:
    order = np.arange(len(sets), dtype=np.int32)
    records = csr(sets)
    bits = sets_mondrian.as_bits(*records, len(worth)) if dense else NO_BITS
    bounds = sets_mondrian.grow(order, 0, len(sets), *records, bits, np.array(worth), k, CRITERIA.index(criterion), 0)
    assert bounds[0] == 0
    assert bounds[-1] == len(sets)
    found = {frozenset(order[a:b].tolist()) for a, b in pairwise(bounds)}
    assert found == same(plain.mondrian(range(len(sets)), sets, worth, k, score))


@settings(deadline=None)
@given(sets=some_sets)
def test_bits_say_what_records_have(sets: Sets) -> None:
    starts, items = csr(sets)
    size = 70  # more than two words
    bits = sets_mondrian.as_bits(starts, items, size)
    expected = [[item in one for item in range(size)] for one in sets]
    for held in (bits, NO_BITS):
        found = [[sets_mondrian.has(i, starts, items, held, item) for item in range(size)] for i in range(len(sets))]
        assert found == expected


def test_a_large_tree_can_be_grown_in_pieces() -> None:
    random = np.random.default_rng(3)
    sets = [frozenset(np.flatnonzero(random.random(12) < 0.4).tolist()) for _ in range(500)]
    starts, items = csr(sets)
    worth = random.integers(1, 9, 12).astype(float)
    whole = np.arange(500, dtype=np.int32)
    at_once = sets_mondrian.grow(whole, 0, 500, starts, items, NO_BITS, worth, 5, 2, 0)
    order = np.arange(500, dtype=np.int32)
    pieces = sets_mondrian.grow(order, 0, 500, starts, items, NO_BITS, worth, 5, 2, 60)
    assert len(pieces) > 5
    found = set()
    for a, b in pairwise(pieces):
        inner = sets_mondrian.grow(order, a, b, starts, items, NO_BITS, worth, 5, 2, 0)
        found |= {frozenset(order[x:y].tolist()) for x, y in pairwise(inner)}
    assert found == {frozenset(whole[x:y].tolist()) for x, y in pairwise(at_once)}


@pytest.mark.parametrize(("criterion", "score"), [("even", plain.even), ("utility", plain.per_bit)])
@settings(max_examples=60, deadline=None)
@given(sets=some_sets, worth=some_worth, k=some_k)
def test_counts_choose_the_cut_that_records_do(
    criterion: str, score: Callable[..., float], sets: Sets, worth: list[float], k: int
) -> None:
    n, having = len(sets), np.array([sum(a in s for s in sets) for a in range(ITEMS)])
    allowed = [a for a in range(ITEMS) if k <= having[a] <= n - k]
    found, counts = np.arange(ITEMS, dtype=np.int32), having.copy()
    kept, best = sets_counted.choose_cut(found, counts, n, k, np.array(worth), CRITERIA.index(criterion))
    assert found[:kept].tolist() == allowed
    assert counts[:kept].tolist() == having[allowed].tolist()
    if allowed:
        cut = {frozenset(i for i in range(n) if (found[best] in sets[i]) is there) for there in (True, False)}
        scores = {a: score(range(n), a, sets, worth) for a in allowed}
        first = next(a for a in allowed if scores[a] >= max(scores.values()) * (1 - 1e-9))
        assert cut == {frozenset(i for i in range(n) if (first in sets[i]) is there) for there in (True, False)}
    else:
        assert best == -1


@settings(max_examples=60, deadline=None)
@given(sets=some_sets, cuts=st.lists(st.integers(0, ITEMS - 1), min_size=3, max_size=3))
def test_nodes_and_what_is_counted_in_them(sets: Sets, cuts: list[int]) -> None:
    """A tree of three cuts: the root, the part with its item, and the part without."""
    item = np.array([*cuts, -1, -1, -1, -1], dtype=np.int32)
    below = np.array([1, 3, 5, -1, -1, -1, -1], dtype=np.int32)
    records = csr(sets)
    node = [(3 if cuts[1] in s else 4) if cuts[0] in s else (5 if cuts[2] in s else 6) for s in sets]
    assert sets_counted.find_nodes(*records, item, below).tolist() == node
    group = np.array([{3: 0, 6: 1}.get(one, -1) for one in node], dtype=np.int32)
    counts = np.zeros((2, ITEMS), dtype=np.int64)
    sets_counted.count_groups(*records, group, counts)
    members = [[s for s, g in zip(sets, group, strict=True) if g == i] for i in (0, 1)]
    assert counts.tolist() == [[sum(a in s for s in some) for a in range(ITEMS)] for some in members]
    place = np.full((2, ITEMS), -1, dtype=np.int32)
    place[0, 2], place[1, 5], place[1, 0] = 0, 1, 2
    pairs = np.zeros((3, ITEMS), dtype=np.int64)
    sets_counted.count_pairs(*records, group, place, pairs)
    rows_of = [(0, 2), (1, 5), (1, 0)]
    assert pairs.tolist() == [[sum({a, b} <= s for s in members[g]) for b in range(ITEMS)] for g, a in rows_of]


@settings(max_examples=60, deadline=None)
@given(sets=some_sets, item=st.integers(0, ITEMS - 1))
def test_the_entropy_of_parts_from_counts(sets: Sets, item: int) -> None:
    n, having = len(sets), sum(item in s for s in sets)
    if 0 < having < n:
        seen = np.array([sum(b in s for s in sets) for b in range(ITEMS)])
        row = np.array([sum({item, b} <= s for s in sets) for b in range(ITEMS)])
        expected = -plain.less_entropy(range(n), item, sets, [1.0] * ITEMS)
        assert sets_counted.entropy_of_parts(row, seen, n, having) == pytest.approx(expected)


# ── set-two-phase


def lists_of(class_of: list[int], k: int) -> tuple[np.ndarray, ...]:
    room = max(len(class_of) // k, max(class_of) + 1)
    return sets_reassign.as_lists(np.array(class_of, dtype=np.int32), room)


def merged(sets: Sets, worth: list[float], k: int) -> tuple[Any, ...]:
    starts, items = csr(sets)
    following, last, size = sets_two_phase.merge(starts, items, np.array(worth), item_marks(ITEMS), k)
    first = np.where(size > 0, np.arange(len(sets), dtype=np.int32), np.int32(-1))
    return first, following, last, size, starts, items, np.array(worth)


@settings(max_examples=150, deadline=None)
@given(sets=some_sets, worth=some_worth, k=some_k)
def test_merge_equals_its_twin(sets: Sets, worth: list[float], k: int) -> None:
    ranked, values = plain.by_worth(sets, worth)
    first, following, _, size, starts, items, w = merged(ranked, values, k)
    class_of, _ = sets_two_phase.class_numbers(first, following, size, starts, items, w)
    assert parted(class_of) == same(plain.merge(ranked, values, k))
    assert min(np.bincount(class_of)) >= min(k, len(sets))


@settings(max_examples=150, deadline=None)
@given(sets=some_sets, worth=some_worth, k=some_k, again=st.booleans())
def test_two_phases_equal_their_twins(sets: Sets, worth: list[float], k: int, again: bool) -> None:
    ranked, values = plain.by_worth(sets, worth)
    first, following, last, size, starts, items, w = merged(ranked, values, k)
    sets_two_phase.split_back(first, following, last, size, starts, items, w, item_marks(ITEMS), k, again)
    class_of, kept = sets_two_phase.class_numbers(first, following, size, starts, items, w)
    classes = plain.split_back(plain.merge(ranked, values, k), ranked, values, k, again)
    assert parted(class_of) == same(classes)
    assert kept == plain.utility(classes, ranked, values)
    assert kept >= plain.utility(plain.merge(ranked, values, k), ranked, values)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40)), max_size=60))
def test_the_table_of_sets_is_a_dict(steps: list[tuple[bool, int]]) -> None:
    keys, owners = sets_by_sum.table_for(41)
    keys, owners = keys[:64], owners[:64]  # crowded: 41 keys at most
    known: dict[int, int] = {}
    for number, (add, text) in enumerate(steps):
        key = np.uint64(text * 64)  # all have one home
        if add and text not in known:
            at = sets_by_sum.look_up(keys, owners, key)
            keys[at], owners[at] = key, number
            known[text] = number
        elif not add and text in known:
            sets_by_sum.remove(keys, owners, key)
            del known[text]
    for text in range(41):
        assert owners[sets_by_sum.look_up(keys, owners, np.uint64(text * 64))] == known.get(text, -1)


@pytest.mark.parametrize("count", [1, 2000, 300_000])
def test_a_sieve_holds_what_was_let_in_and_hardly_anything_else(count: int) -> None:
    keys = np.random.default_rng(count).integers(1 << 63, size=2 * count, dtype=np.uint64)
    following = np.append(np.arange(1, count, dtype=np.int32), np.int32(-1))
    sieve = sets_by_sum.sieve_for(count)
    sieve[:] = np.uint64(2**64 - 1)
    mask = sets_by_sum.empty(sieve, count)
    assert int(mask) < 64 * len(sieve)
    sets_by_sum.let_in(sieve, mask, keys, 0, following)

    def held(some: np.ndarray) -> np.ndarray:
        hole = (some >> np.uint64(16)) & mask
        return (sieve[hole >> np.uint64(6)] >> (hole & np.uint64(63))) & np.uint64(1) == 1

    assert held(keys[:count]).all()
    assert held(keys[count:]).mean() < 0.1
    some = keys[:: max(1, count // 20)]
    assert [sets_by_sum.may_hold(sieve, mask, key) for key in some] == held(some).tolist()


# ── records that leave


@settings(max_examples=80, deadline=None)
@given(sets=some_sets, published=st.sets(st.frozensets(st.integers(0, ITEMS - 1)), min_size=1), worth=some_worth)
def test_the_most_valuable_set_is_found(sets: Sets, published: set[frozenset[int]], worth: list[float]) -> None:
    known = sorted(published, key=sorted)
    starts, items = csr(known)
    trie = sets_reassign.plant(starts, items, _lexicographic(starts, items), np.array(worth))
    own = np.arange(len(sets), dtype=np.int32) % len(known)
    found, value = sets_reassign.most_valuable(*csr(sets), ITEMS, own, *trie)
    for i, record in enumerate(sets):
        choices = [sum(worth[a] for a in s) for c, s in enumerate(known) if s <= record and c != own[i]]
        assert value[i] == max(choices, default=-1.0)
        if choices:
            assert known[found[i]] <= record
            assert found[i] != own[i]
            assert sum(worth[a] for a in known[found[i]]) == value[i]
        else:
            assert found[i] == -1


@settings(max_examples=80, deadline=None)
@given(sets=some_sets, worth=some_worth, k=some_k)
def test_classes_are_only_improved(sets: Sets, worth: list[float], k: int) -> None:
    before = plain.mondrian(range(len(sets)), sets, worth, k, plain.per_bit)
    class_of = np.empty(len(sets), dtype=np.int32)
    for c, members in enumerate(before):
        class_of[members] = c
    after = improve(*csr(sets), np.array(worth), class_of, k)
    classes = [sorted(members) for members in parted(after)]
    assert sorted(i for members in classes for i in members) == list(range(len(sets)))
    assert min(map(len, classes)) >= min(k, len(sets))
    assert plain.utility(classes, sets, worth) >= plain.utility(before, sets, worth)


def test_records_leave_only_what_keeps_k_or_is_given_up() -> None:
    sets = [frozenset(s) for s in ({0, 1}, {0, 1}, {0}, {0, 1}, {0})]
    order, bounds = np.arange(5, dtype=np.int32), np.array([0, 2, 5])
    found, worth = np.array([1, 1, -1, 0, -1], dtype=np.int32), np.array([1.0, 1.0, -1.0, 4.0, -1.0])
    class_of, gained = sets_reassign.settle(order, bounds, np.array([4.0, 1.0]), found, worth, 2, np.array([1, 0]))
    assert sets[3] == {0, 1}
    assert class_of.tolist() == [0, 0, 1, 0, 1]
    assert gained == 3.0
    class_of, gained = sets_reassign.settle(order, bounds, np.array([4.0, 1.0]), found, worth, 3, np.array([1, 0]))
    assert class_of.tolist() == [0, 0, 1, 1, 1]
    assert gained == 0.0

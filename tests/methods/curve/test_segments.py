"""Long rows of records are grouped segment by segment, and the segments follow from keys and counts alone."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rothko.data.domain import Sensitive
from rothko.data.encode import encode
from rothko.data.typed import typed
from rothko.errors import PolicyError
from rothko.generate.census import census, census_policy
from rothko.methods import Hilbert, HilbertFast, IDistance, IDistanceFast
from rothko.methods.curve.curve import curve_of
from rothko.methods.curve.method import CurveMethod
from rothko.methods.curve.sample import draw
from rothko.methods.curve.segments import Cell, Counts, Segment, as_words, bits_at, cut, held, place, sorted_counts
from rothko.privacy import DistinctLDiversity, KAnonymity
from rothko.privacy.statistics import Statistics
from tests.strategies.columns import encoded_of, heaped
from tests.strategies.tables import Case, cases, classes, unhurried
from tests.twins import segments as plain

BITS = 70
"""Of the keys below: two words, the second not full."""
rows_of_keys = st.lists(st.one_of(st.integers(0, 40), st.integers(0, 2**BITS - 1)), min_size=1, max_size=60)


def words_of(keys: Sequence[int]) -> NDArray[np.uint64]:
    return np.stack([as_words(key, BITS, 2) for key in keys], axis=1)


def in_steps(words: NDArray[np.uint64], step: int) -> Counts:
    """Counts as one has them who goes through records in any order, several bits at a time."""

    def count(active: Sequence[Cell]) -> list[NDArray[np.int64]]:
        found = []
        for cell in active:
            bits = min(step, BITS - cell.depth, 64 - cell.depth % 64)
            ends = [cell.first(BITS), (cell.prefix + 1) << (BITS - cell.depth)]
            firsts = np.stack([as_words(min(end, 2**BITS - 1), BITS, 2) for end in ends], axis=1)
            inside = place(words, firsts) == 0
            if ends[1] == 2**BITS:  # there is no key behind the last
                inside = place(words, firsts[:, :1]) == 0
            found.append(np.bincount(bits_at(words[:, inside], cell.depth, bits), minlength=1 << bits))
        return found

    return count


@unhurried
@given(rows_of_keys, st.integers(1, 20), st.integers(1, 7))
def test_segments_are_those_of_the_plain_twin_however_they_are_counted(keys: list[int], most: int, step: int) -> None:
    words = words_of(keys)
    order = np.lexsort(words[::-1])
    wanted = plain.segments(keys, most, BITS)
    for counts in (sorted_counts(words, order, BITS), in_steps(words, step)):
        found = cut(len(keys), most, BITS, counts)
        assert [one.rows for one in found] == [len(one) for one in wanted]
        assert [one.alike for one in found] == [len(one) > most for one in wanted]
        firsts = [one.first for one in found]
        assert firsts == sorted(firsts)
        for first, after, one in zip(firsts, [*firsts[1:], 2**BITS], wanted, strict=True):
            assert first <= min(one)
            assert max(one) < after


@unhurried
@given(rows_of_keys, rows_of_keys)
def test_the_place_of_a_key(keys: list[int], others: list[int]) -> None:
    firsts = sorted(set(others))
    assert place(words_of(keys), words_of(firsts)).tolist() == [bisect_right(firsts, key) - 1 for key in keys]


@unhurried
@given(st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=8), st.integers(2, 4))
def test_segments_are_joined_until_they_hold(some: list[list[int]], l: int) -> None:  # noqa: E741
    values = [value for one in some for value in one]
    domain = heaped([1] * 5, 0).sensitive["disease"].domain
    counts = [len(one) for one in some]
    column = Sensitive(np.array(values, dtype=np.int32), domain)
    asked = [KAnonymity(k=3), DistinctLDiversity(l=l, of="disease")]
    stats = Statistics.count(np.repeat(np.arange(len(some)), counts), len(some), {"disease": column}, asked)
    firsts = np.cumsum([0, *counts[:-1]]).tolist()
    given_ = [Segment(first, rows) for first, rows in zip(firsts, counts, strict=True)]
    found = held(given_, stats, asked)
    wanted = plain.held(some, lambda one: len(one) >= 3 and len(set(one)) >= l)
    assert [one.rows for one in found] == [len(one) for one in wanted]
    assert [one.first for one in found] == np.cumsum([0, *map(len, wanted[:-1])]).tolist()


@pytest.mark.parametrize("method", [Hilbert, HilbertFast, IDistance, IDistanceFast], ids=lambda method: method.name)
@given(case=cases(), segment=st.integers(2, 12))
@settings(unhurried, max_examples=20)
def test_each_segment_is_grouped_as_a_table_of_its_own(method: type[CurveMethod], case: Case, segment: int) -> None:
    asked, encoded = method(segment=segment), case.encoded()
    found = asked.partition(encoded, case.requirements, threads=2)
    assert sorted(found.order.tolist()) == list(range(encoded.rows))
    size = asked.sampled(encoded.rows)
    mapping = asked.mapping(draw(encoded, size, 0, threads=1) if size else encoded, seed=0, threads=1)
    keys, curve = curve_of(mapping, encoded, threads=1)
    segments = asked._segments(encoded, keys, curve, case.requirements)
    ends = np.cumsum([0, *(one.rows for one in segments)]).tolist()
    wanted = []
    for one, (begin, end) in zip(segments, pairwise(ends), strict=True):
        # As whoever has its records, and no others, makes classes of them.
        records = np.sort(curve.order[begin:end])
        some = encoded.take(records)
        alone = asked.within(some, mapping, case.requirements, segments=[one], seed=0)
        wanted += [records[numbers].tolist() for numbers in classes(alone)]
    assert [sorted(numbers) for numbers in classes(found)] == [sorted(numbers) for numbers in wanted]


def test_every_class_holds_and_few_are_made_larger() -> None:
    policy = census_policy()
    encoded = encode(typed(census(4_000), policy), policy)
    asked = [KAnonymity(k=5), DistinctLDiversity(l=3, of="occupation")]
    for method in (Hilbert, HilbertFast):
        whole = method().partition(encoded, asked)
        found = method(segment=500).partition(encoded, asked)
        assert found.sizes.min() >= 5
        assert found.gcp(encoded.lines) < 1.02 * whole.gcp(encoded.lines)
        assert found.notes == whole.notes
        assert len(found.notes) == 1


def test_more_equal_records_than_a_segment_has_are_one_class() -> None:
    encoded = encoded_of({"age": [*range(20), *[50] * 90, *range(60, 80)]})
    found = HilbertFast(segment=30).partition(encoded, [KAnonymity(k=3)])
    assert found.sizes.max() == 90
    assert np.sort(found.sizes)[-2] <= 5
    assert sorted(found.order.tolist()) == list(range(130))


def test_a_segment_that_is_no_number_is_refused() -> None:
    with pytest.raises(PolicyError, match="hilbert: segment must be a whole number of at least 2, not 1"):
        Hilbert(segment=1)
    with pytest.raises(PolicyError, match="idistance-fast: segment must be a whole number"):
        IDistanceFast(segment="many")  # type: ignore[arg-type]

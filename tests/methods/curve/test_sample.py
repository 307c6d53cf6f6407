"""A sample that hangs on the records and the seed alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rothko.methods.curve.sample import bar_for, code_words, codes_in, draw, drawn, in_question, smallest, summed
from tests.strategies.columns import encoded_of
from tests.strategies.tables import Case, cases, unhurried


@unhurried
@given(cases(), st.integers(1, 40), st.integers(0, 9))
def test_it_does_not_hang_on_the_order_of_the_records(case: Case, size: int, seed: int) -> None:
    encoded = case.encoded()
    size = min(size, encoded.rows)
    found = draw(encoded, size, seed, threads=1)
    assert found.rows == size
    turned = encoded.take(np.random.default_rng(seed).permutation(encoded.rows))
    np.testing.assert_array_equal(found.codes, draw(turned, size, seed, threads=2).codes)
    np.testing.assert_array_equal(codes_in(code_words(found), encoded), found.codes)
    # No record is there more often than in the table.
    have, drew = ([tuple(record) for record in some.codes.T.tolist()] for some in (encoded, found))
    assert all(drew.count(record) <= have.count(record) for record in set(drew))


def test_every_record_has_the_same_chance() -> None:
    encoded = encoded_of({"age": [1] * 500 + list(range(2, 502))})
    shares = []
    for seed in range(40):
        found = draw(encoded, 100, seed, threads=1).codes[0]
        shares.append(np.count_nonzero(found == 0))
    # Half of the records are alike, and so are half of those that are drawn: 50 ± 4.7 in each sample.
    assert abs(np.mean(shares) - 50) < 3
    assert 3 < np.std(shares) < 7


def test_those_below_a_bar_have_the_sample_among_them() -> None:
    encoded = encoded_of({"age": [1] * 3_000 + [2] * 2_000 + list(range(3, 5_003))})
    words, times = np.unique(code_words(encoded)[0], return_counts=True)
    near, chances = drawn(words[None], times, bar_for(400, 10_000), seed=3)
    assert 400 <= len(chances) < 700
    best = np.sort(smallest(chances, 400))
    np.testing.assert_array_equal(codes_in(near[:, best], encoded), draw(encoded, 400, 3, threads=1).codes)


@given(st.lists(st.integers(0, 60), min_size=1, max_size=80), st.integers(0, 9), st.sampled_from([0.0, 0.05, 0.5, 1.0]))
def test_who_is_surely_there_once_and_above_the_bar_is_in_no_sample(codes: list[int], seed: int, share: float) -> None:
    words, bar = np.array([codes], dtype=np.uint64), np.uint64(min(int(share * 2.0**64), 2**64 - 1))
    asked = in_question(words, bar, seed)
    for some, all_of_them in zip(drawn(*summed(asked), bar, seed), drawn(*summed(words), bar, seed), strict=True):
        np.testing.assert_array_equal(some, all_of_them)
    # Whoever is there several times is in question every time.
    assert all(np.count_nonzero(asked == code) == codes.count(code) for code in codes if codes.count(code) > 1)


def test_few_of_many_different_records_are_in_question() -> None:
    words = np.arange(20_000, dtype=np.uint64)[None]
    assert in_question(words, bar_for(100, 20_000), 3).shape[1] < 1_500

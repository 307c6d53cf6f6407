"""The methods along a curve to the letter of the paper (``reading: paper``), against plain twins."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.generate.census import census, census_policy
from rothko.methods import Hilbert, HilbertFast, IDistance, IDistanceFast
from rothko.methods.curve.curve import BITS, Curve, HilbertMapping, curve_of, numbers_of
from rothko.methods.curve.idistance import MOST_SAMPLED, HilbertValueMapping
from rothko.methods.curve.method import SEGMENT, CurveMethod
from rothko.privacy import FrequencyLDiversity, KAnonymity
from tests.strategies.columns import encoded_of, heaped
from tests.strategies.tables import Case, cases, classes, records, unhurried
from tests.twins import curve as plain

FOUR: list[CurveMethod] = [
    Hilbert(reading="paper"),
    HilbertFast(reading="paper"),
    IDistance(reading="paper", centres=4),
    IDistanceFast(reading="paper", centres=4),
]
names = pytest.mark.parametrize("method", FOUR, ids=lambda method: method.name)


@unhurried
@given(cases(), st.sampled_from([3, 12, 16]))
def test_numbers_are_those_of_the_twin(case: Case, bits: int) -> None:
    lines = case.encoded().lines
    most = max(plain.number(line, line.size - 1) for line in lines)
    factor = ((1 << bits) - 1) / most if most > (1 << bits) - 1 else 1.0
    for line, found in zip(lines, numbers_of(lines, bits), strict=True):
        wanted = [plain.number(line, code) * factor for code in range(line.size)]
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
        assert found.max() < 1 << bits


@pytest.mark.parametrize("bits", [3, 12])
def test_records_lie_along_the_curve_by_their_numbers(bits: int) -> None:
    chosen = random.Random(2)
    encoded = encoded_of({"age": chosen.choices([0, 1, 2, 3, 90], k=300), "city": chosen.choices("abcdefghi", k=300)})
    rows = records(encoded)
    keys = [plain.hilbert_index([round(x) for x in plain.point(encoded.lines, row, bits)], bits) for row in rows]
    expected = sorted(range(300), key=lambda i: (keys[i], rows[i], i))
    _, curve = curve_of(HilbertMapping(bits, reading="paper"), encoded, threads=1)
    assert curve.order.tolist() == expected
    np.testing.assert_allclose(curve.gaps[1:], np.diff([keys[i] for i in expected]) / 2.0 ** (2 * bits))


@pytest.mark.parametrize("dimensions", [1, 2, 5, 9])
@pytest.mark.parametrize("widest", [30, 4_000])
def test_a_place_is_the_value_of_the_centre_plus_the_distance(dimensions: int, widest: int) -> None:
    stream = np.random.default_rng(dimensions)
    columns = stream.integers(0, widest, (dimensions, 400))
    columns[:, 0], columns[:, 1] = 0, widest
    encoded = encoded_of({f"q{a}": column.tolist() for a, column in enumerate(columns)})
    centres = stream.integers(0, widest, (dimensions, 12))
    mapping = HilbertValueMapping.of(centres.astype(np.float32))
    keys = mapping.keys(encoded, threads=2)
    fixed = [int("".join(f"{word:064b}" for word in key), 2) for key in keys.words[: keys.count].T.tolist()]
    points = [plain.point(encoded.lines, row, BITS) for row in records(encoded)]
    wanted = [plain.place_by_centre(centres.T.tolist(), point, BITS) for point in points]
    # Distances have 24 bits, and so have the sums that the twin makes, or 53.
    for found, place in zip(fixed, wanted, strict=True):
        assert found / 2**32 == pytest.approx(place, rel=1e-15, abs=widest * dimensions * 2.0**-22)
    _, curve = curve_of(mapping, encoded, threads=2)
    rows = records(encoded)
    assert curve.order.tolist() == sorted(range(400), key=lambda i: (fixed[i], rows[i], i))
    steps = [fixed[b] - fixed[a] for a, b in itertools.pairwise(curve.order.tolist())]
    np.testing.assert_allclose(curve.gaps[1:], [step / 2 ** (64 * keys.count) for step in steps])


def test_records_of_two_centres_may_lie_between_each_other() -> None:
    encoded = encoded_of({"age": list(range(41))})
    mapping = HilbertValueMapping.of(np.array([[10, 14]], dtype=np.float32))
    _, curve = curve_of(mapping, encoded, threads=1)
    nearer = [int(abs(i - 14) < abs(i - 10)) for i in curve.order.tolist()]
    assert sum(a != b for a, b in itertools.pairwise(nearer)) > 1


@names
def test_weights_do_not_turn_the_line(method: CurveMethod) -> None:
    policy = census_policy()
    heavy = policy.but(columns={**policy.columns, "age": policy.columns["age"].model_copy(update={"weight": 9.0})})
    orders = []
    for asked in (policy, heavy):
        encoded = encode(typed(census(800), asked), asked)
        mapping = method.mapping(encoded, seed=1, threads=1)
        orders.append(curve_of(mapping, encoded, threads=1)[1].order.tolist())
    assert orders[0] == orders[1]


@pytest.mark.parametrize("name", ["hilbert", "idistance"])
def test_groups_for_l_are_those_of_the_heuristic_along_the_line(name: str) -> None:
    encoded = heaped([14, 12, 9, 9, 5, 3], 4)
    method = next(one for one in FOUR if one.name == name)
    found = method.partition(encoded, [FrequencyLDiversity(l=3, of="disease")], threads=1)
    curve = curve_along(method, encoded)
    reach = np.cumsum(curve.gaps)
    values = encoded.sensitive["disease"].codes[curve.order].tolist()

    def wide(group: list[int]) -> float:
        *others, last = group
        return float(
            reach[max(group)] - reach[min(group)] if len(group) <= 3 else abs(reach[last] - reach[min(others)])
        )

    wanted = plain.diverse_groups(values, 3, wide, once=True)
    assert sorted(map(sorted, classes(found))) == sorted(sorted(curve.order[group].tolist()) for group in wanted)


def curve_along(method: CurveMethod, encoded: Encoded) -> Curve:
    """The line that a method groups the records of a table along."""
    from rothko.methods.curve.sample import draw

    size = method.sampled(encoded.rows)
    sample = draw(encoded, size, 0, threads=1) if size else encoded
    return curve_of(method.mapping(sample, seed=0, threads=1), encoded, threads=1)[1]


@names
def test_all_records_are_one_row_unless_somebody_says_otherwise(method: CurveMethod) -> None:
    encoded = encoded_of({"age": [1, 2]})
    assert method.longest(encoded, [KAnonymity(k=2)]) is None
    assert type(method)().longest(encoded, [KAnonymity(k=2)]) == SEGMENT
    assert type(method)(segment=90, reading="paper").longest(encoded, [KAnonymity(k=2)]) == 90


def test_a_tenth_of_the_records_is_sampled_however_many_they_are() -> None:
    assert IDistance(reading="paper").sampled(50_000_000) == 5_000_000
    assert IDistance().sampled(50_000_000) == MOST_SAMPLED
    assert IDistance(reading="paper").sampled(1_001) == IDistance().sampled(1_001) == 101
    assert Hilbert(reading="paper").sampled(1_001) == 0

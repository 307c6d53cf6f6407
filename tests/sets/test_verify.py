"""(k,1)-anonymity is verified by counting: in how many original records each published set is contained."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rothko.errors import VerificationError
from rothko.sets import verify
from rothko.sets.records import from_lists
from tests.twins import sets as plain


@pytest.mark.parametrize("many", [2, 4096])
@pytest.mark.parametrize("size", [6, 40])
def test_the_fewest_records_with_a_set_are_counted(size: int, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "MANY", many)
    random = np.random.default_rng(size)
    for often in (0.2, 0.5, 0.8):
        share = often * random.random(size)
        sets = [frozenset(np.flatnonzero(random.random(size) < share).tolist()) for _ in range(300)]
        original = from_lists([f"item {item}" for item in one] for one in sets)
        known = [one for one in sets if one]
        asked = [frozenset(random.permutation(sorted(one))[: random.integers(5)].tolist()) for one in known]
        # In any order, and some items twice, as a file may have them.
        texts = pa.array([[f"item {item}" for item in [*one, *list(one)[:1]]] for one in asked], pa.list_(pa.string()))
        expected = plain.fewest_containing(asked, sets)
        assert [verify._fewest_containing(texts, original, threads) for threads in (1, 3)] == [expected] * 2


def test_every_record_contains_the_empty_set() -> None:
    original = from_lists([["a"], ["b"], []])
    assert verify._fewest_containing(pa.array([[], []], pa.list_(pa.string())), original, 1) == 3


def test_an_item_that_no_record_has_is_not_counted() -> None:
    with pytest.raises(VerificationError, match="items are published that no record has"):
        verify._fewest_containing(pa.array([["a", "z"]]), from_lists([["a"], ["a"]]), 1)

"""The order of rows, which tells nothing of that of the records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from rothko.release.publish import Published
from rothko.release.rows import random_order, row_keys

KEPT = pa.table(
    {
        "text": pa.chunked_array([["a", None], [""], ["ä", "a", "b", "c"]]),
        "number": pa.array([1, 2, None, 2, 1, 0, 7]),
        "word": pa.array(["x", "y", None, "x", "x", "x", "x"]).dictionary_encode(),
    }
)
CLASSES = np.array([0, 1, 0, 1, 0, 1, 1], dtype=np.int32)
SHOWN = [Published("age", pa.array(["[1, 2]", "3"]), np.array([0, 1], dtype=np.int32))]


def test_rows_are_hashed_alike_however_many_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    keys, order = row_keys(KEPT, 5), random_order(KEPT, 5, shown=SHOWN, classes=CLASSES)
    monkeypatch.setattr("rothko.release.rows.BLOCK", 2)
    assert row_keys(KEPT, 5).tolist() == keys.tolist()
    assert random_order(KEPT, 5, shown=SHOWN, classes=CLASSES).tolist() == order.tolist()
    assert len({*keys.tolist()}) == 6  # the first and the fifth keep the same


def test_rows_leave_in_the_same_order_however_they_came() -> None:
    order = random_order(KEPT, 5, shown=SHOWN, classes=CLASSES)
    came = np.array([3, 0, 6, 2, 5, 1, 4])
    again = random_order(KEPT.take(came), 5, shown=SHOWN, classes=CLASSES[came])
    assert KEPT.take(order).equals(KEPT.take(came).take(again))

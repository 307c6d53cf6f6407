"""Equal records: which of them goes to which class, neither the input's order nor the seed may tell."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind, Line
from rothko.in_memory import grouped
from rothko.methods.curve.curve import fields_for, pack_codes
from rothko.methods.ties import hidden_order, ties_of
from rothko.secret import Secret

LOCAL: list[Any] = [
    "hilbert", "hilbert-fast", "idistance", "idistance-fast", "cluster", "topdown",
    {"mondrian": {"relaxed": True}},
]  # fmt: skip


def encoded_of(codes: np.ndarray[Any, Any], sizes: list[int]) -> Encoded:
    lines = [
        Line(str(i), Kind.ORDERED, pa.array(range(size)), np.arange(float(size)), missing=False)
        for i, size in enumerate(sizes)
    ]
    return Encoded(tuple(lines), codes.astype(np.int32), {})


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_records_stand_by_their_codes(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 5, 300, 70_000, 2**31 - 1]), min_size=1, max_size=12))
    rows = data.draw(st.integers(1, 30))
    codes = np.array([[data.draw(st.integers(0, min(size - 1, 3))) for _ in range(rows)] for size in sizes])
    codes = np.where(codes == 3, np.array(sizes)[:, None] - 1, codes)  # the last codes of wide lines, too
    encoded = Encoded((), codes.astype(np.int32), {})
    fields, count = fields_for(sizes)
    words = np.zeros((count, rows), dtype=np.uint64)
    pack_codes(encoded, range(len(sizes)), fields, words)
    by_codes = sorted(range(rows), key=lambda i: tuple(codes[:, i]))
    by_words = sorted(range(rows), key=lambda i: tuple(words[:, i].tolist()))
    assert codes[:, by_codes].tolist() == codes[:, by_words].tolist()
    same = {tuple(codes[:, i].tolist()): tuple(words[:, i].tolist()) for i in range(rows)}
    assert len(set(same.values())) == len(same)


def test_equal_records_stand_in_an_order_of_the_secret() -> None:
    codes = np.array([[1, 0, 1, 1, 0, 1]])
    encoded = encoded_of(codes, [2])
    drawn = (ties_of(Secret(i.to_bytes(16)), encoded.rows) for i in range(1000))
    seen = Counter(tuple(hidden_order(encoded, ties).tolist()) for ties in drawn)
    assert {frozenset(order[:2]) for order in seen} == {frozenset({1, 4})}
    assert len(seen) == 48  # 2! times 4!
    assert max(seen.values()) < 60  # 21 on average


@pytest.mark.parametrize("method", LOCAL, ids=str)
def test_equal_records_are_parted_by_chance(method: Any) -> None:
    """Ten people of 30 stand between some of 20 and some of 40: each of the ten is in each class as often."""
    others = 1 if method == "idistance-fast" else 3  # whose groups of people of 30 would all show the same
    table = pa.table({"age": [*[20] * others, *[30] * 10, *[40] * others]})
    policy = rk.Policy.quick(table.column_names, qi=["age"], k=4, method=method)
    encoded = encode(table, policy)
    runs = 200
    shows: Counter[tuple[int, int, int]] = Counter()
    for i in range(runs):
        found = grouped(encoded, policy, seed=0, secret=Secret(i.to_bytes(16)), threads=1)
        classes = found.class_of()[others : others + 10]
        shows.update(zip(range(10), found.low[classes, 0].tolist(), found.high[classes, 0].tolist(), strict=True))
    boxes = {(low, high) for _, low, high in shows}
    assert len(boxes) > 1
    for box in boxes:
        times = [shows[i, *box] for i in range(10)]
        assert all(abs(count - np.mean(times)) < 5 * np.sqrt(runs / 4) for count in times)


@pytest.mark.parametrize("method", ["hilbert", "idistance-fast", {"mondrian": {"relaxed": True}}], ids=str)
def test_the_input_s_order_has_no_influence_on_what_is_published(method: Any) -> None:
    """k alone: the boxes are the same however the records came, and with any secret."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"age": random.integers(20, 60, 400), "zip": random.integers(0, 9, 400)})
    table["note"] = [f"n{i}" for i in range(400)]
    policy = rk.Policy.quick(table.columns, qi=["age", "zip"], keep="note", k=5, method=method)
    shown = [
        rk.anonymize(table.iloc[random.permutation(400)].reset_index(drop=True), policy, threads=1)
        .table.groupby(["age", "zip"])
        .size()
        .to_dict()
        for _ in range(3)
    ]
    assert shown[0] == shown[1] == shown[2]

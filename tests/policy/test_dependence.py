"""Columns that determine another one."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

import rothko as rk
from rothko.policy import dependence
from rothko.policy.dependence import dependences


def twin(columns: dict[str, list[object]]) -> set[tuple[str, str]]:
    """Every pair, counted in plain Python."""
    found = set()
    for by, of in itertools.permutations(columns, 2):
        rows = len(columns[by])
        groups: dict[object, list[object]] = {}
        for key, value in zip(columns[by], columns[of], strict=True):
            groups.setdefault(key, []).append(value)
        most = sum(max(map(group.count, group)) for group in groups.values()) / rows
        commonest = max(map(columns[of].count, columns[of])) / rows
        sizes = [len({*columns[name]} - {None}) for name in (by, of)]
        possible = all(2 <= size <= rows / 5 for size in sizes) and sizes[0] >= sizes[1]
        if possible and most >= 0.99 and most > (1 + commonest) / 2:
            found.add((by, of))
    return found


@pytest.mark.parametrize("sampled", [2_000, 150])
def test_pairs_are_those_of_plain_python(sampled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependence, "SAMPLED", sampled)
    rng = np.random.default_rng(3)
    zips = rng.integers(0, 40, 600)
    nearly = np.where(rng.random(600) < 0.004, 9, zips // 10)
    columns: dict[str, list[object]] = {
        "zip": zips.tolist(),
        "town": (zips // 4).tolist(),
        "land": [None if z < 10 else f"land {z // 10}" for z in zips],
        "nearly": nearly.tolist(),
        "other": rng.integers(0, 12, 600).tolist(),
        "number": list(range(600)),
        "mostly": [int(i == 3) for i in range(600)],
    }
    found = dependences([(name, pa.chunked_array([v]), len({*v} - {None})) for name, v in columns.items()])
    assert {(one.by, one.of) for one in found} == twin(columns)
    assert ("zip", "town") in twin(columns)
    assert ("zip", "nearly") in twin(columns)
    assert 0.99 <= next(one.share for one in found if (one.by, one.of) == ("zip", "nearly")) < 1


def test_a_draft_says_what_follows() -> None:
    zips = [i * 7 % 40 for i in range(800)]
    table = {
        "zip": [f"{10000 + z}" for z in zips],
        "town": [f"t{z // 4}" for z in zips],
        "salary": [1000 + z for z in zips],
        "age": [i % 31 for i in range(800)],
    }
    found = rk.draft(table)
    why = {p.name: p.why for p in found.proposals}
    assert "determines 'town', 'salary' (100% of records)" in why["zip"]
    assert any(note.startswith("'zip' determines 'town' in 100% of records: drop 'town'") for note in found.notes)
    assert any(note.startswith("'salary' determines 'zip' in 100% of records and leaves") for note in found.notes)


def test_of_two_that_determine_each_other_one_is_enough() -> None:
    codes = [i * 7 % 12 for i in range(600)]
    found = rk.draft({"school": codes, "degree": [f"d{c}" for c in codes], "age": [i % 31 for i in range(600)]})
    notes = [note for note in found.notes if "determine" in note]
    assert notes == ["'degree' and 'school' determine each other: drop one, and the release keeps more of others."]


def test_one_column_and_no_records_to_compare() -> None:
    assert dependences([]) == []
    assert dependences([("age", pa.chunked_array([[1, 2] * 9]), 2)]) == []

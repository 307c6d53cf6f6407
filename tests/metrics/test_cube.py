"""The group-by cube against brute force over every cell and class."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import rothko as rk
from rothko.errors import InputError, PolicyError, PrivacyWarning
from rothko.metrics.cube import Cube, cube_divergence, interleaved
from rothko.metrics.pair import Anatomy
from tests.strategies.released import POLICY, QUASI, Released, exact, one_class, releases

LEVELS = (1, 2, 3)


def divergence(original: Counter[Any], expected: dict[Any, float]) -> float:
    """Σ P log (P ÷ Q) over cells with P > 0."""
    n = original.total()
    return sum(c / n * math.log((c / n) / (expected[cell] / n)) for cell, c in original.items())


def cells_of(case: Released, columns: tuple[str, ...]) -> Counter[Any]:
    return Counter(zip(*(case.table[name] for name in (*columns, "disease")), strict=True))


def all_cells(case: Released, columns: tuple[str, ...]) -> list[Any]:
    return list(itertools.product(*(case.domain(name) for name in (*columns, "disease"))))


def spread(case: Released, columns: tuple[str, ...]) -> dict[Any, float]:
    """What a release by generalization lets one expect in each cell."""
    found: Counter[Any] = Counter()
    for records in case.classes:
        sets = [case.stands_for(name, records) for name in columns]
        diseases = Counter(case.table["disease"][i] for i in records)
        for cell in all_cells(case, columns):
            if all(value in among for value, among in zip(cell, sets, strict=False)):
                found[cell] += diseases[cell[-1]] / math.prod(len(among) for among in sets)
    return found


def shared(case: Released, columns: tuple[str, ...]) -> dict[Any, float]:
    """What a release by Anatomy lets one expect."""
    found: Counter[Any] = Counter()
    for records in case.classes:
        diseases = Counter(case.table["disease"][i] for i in records)
        for i in records:
            for disease, times in diseases.items():
                found[(*(case.table[name][i] for name in columns), disease)] += times / len(records)
    return found


def two_tables(case: Released) -> Anatomy:
    entries = Counter(zip(case.groups, case.table["disease"], strict=True))
    records = {name: case.table[name] for name in QUASI} | {"group": list(case.groups)}
    values = {"group": [g for g, _ in entries], "disease": [d for _, d in entries], "count": list(entries.values())}
    return Anatomy(records, values)


def holds(cube: Cube, case: Released, estimate: Any) -> None:
    assert [level.level for level in cube.levels] == list(LEVELS)
    for level in cube.levels:
        wanted = list(itertools.combinations(QUASI, level.level))
        assert [one.columns for one in level.group_bys] == wanted
        for one in level.group_bys:
            original, expected = cells_of(case, one.columns), estimate(case, one.columns)
            assert sum(expected.values()) == pytest.approx(case.rows), "nothing is spread beyond the cells"
            assert one.cells == len(original)
            assert one.uncovered == 0
            assert one.divergence == pytest.approx(divergence(original, expected), abs=1e-9)
            assert one.divergence >= 0
        mean = sum(one.divergence for one in level.group_bys) / len(wanted)
        assert level.divergence == pytest.approx(mean)


@given(releases())
@settings(deadline=None, max_examples=50)
def test_generalization_equals_brute_force(case: Released) -> None:
    holds(cube_divergence(case.table, case.shown(), POLICY, levels=LEVELS, threads=1), case, spread)


@given(releases())
@settings(deadline=None, max_examples=50)
def test_anatomy_equals_brute_force(case: Released) -> None:
    holds(cube_divergence(case.table, two_tables(case), POLICY, levels=LEVELS, threads=2), case, shared)


@given(releases())
@settings(deadline=None, max_examples=30)
def test_exact_data_does_not_diverge(case: Released) -> None:
    for release in (exact(case).shown(), two_tables(exact(case))):
        cube = cube_divergence(case.table, release, POLICY, levels=LEVELS, threads=1)
        assert [level.divergence for level in cube.levels] == [0, 0, 0]


@given(releases())
@settings(deadline=None, max_examples=30)
def test_one_class_is_the_uniform_distribution(case: Released) -> None:
    """Its expectation does not depend on the records but for the sensitive value, where sets are whole."""
    coarse = one_class(case)
    cube = cube_divergence(case.table, coarse.shown(), POLICY, levels=[1], threads=1)
    for one in cube.levels[0].group_bys:
        diseases, size = Counter(case.table["disease"]), len(case.domain(one.columns[0]))
        uniform = {cell: diseases[cell[-1]] / size for cell in all_cells(case, one.columns)}
        assert one.divergence == pytest.approx(divergence(cells_of(case, one.columns), uniform), abs=1e-9)


def test_a_larger_table_on_any_number_of_threads() -> None:
    random = np.random.default_rng(0)
    n = 3000
    table = {
        "age": random.integers(18, 90, n).tolist(),
        "height": np.round(random.normal(170, 9, n)).astype(int).tolist(),
        "town": [f"t{i}" for i in random.integers(0, 40, n)],
        "disease": [f"d{i}" for i in np.minimum(random.geometric(0.3, n), 9)],
    }
    policy = rk.Policy.quick(table, qi=["age", "height", "town"], sensitive=["disease"], k=10, l=3)
    release = rk.anonymize(table, policy)
    one, two = (cube_divergence(table, release, levels=LEVELS, threads=threads) for threads in (1, 2))
    assert one.to_dict() == two.to_dict()
    low, middle, high = (level.divergence for level in one.levels)
    assert 0 < low < middle < high
    assert json.dumps(one.to_dict(), allow_nan=False)


def test_cells_that_the_release_excludes_are_told() -> None:
    table = {"age": [20, 30, 40], "disease": ["flu", "flu", "cold"]}
    policy = rk.Policy.quick(table, qi=["age"], sensitive=["disease"], k=2)
    wrong = {"age": ["20", "20", "40"], "disease": ["flu", "flu", "cold"]}
    [one] = cube_divergence(table, wrong, policy, levels=[1]).levels[0].group_bys
    assert (one.uncovered, one.divergence) == (1, math.inf)
    assert one.to_dict()["divergence"] is None


def test_a_sensitive_value_of_its_own_and_missing_ones() -> None:
    table = {"age": [20, 20, 40, 40], "disease": ["flu", None, "", "cold"]}
    policy = rk.Policy.quick(table, qi=["age"], sensitive=["disease"], k=2)
    [one] = cube_divergence(table, table, policy, levels=[1]).levels[0].group_bys
    assert (one.cells, one.divergence) == (4, 0), "what is missing is one value"
    strange = table | {"disease": ["flu", None, "gout", "cold"]}
    [one] = cube_divergence(table, strange, policy, levels=[1]).levels[0].group_bys
    assert one.uncovered == 1


def test_kept_columns_may_be_asked_for() -> None:
    table = {"age": [20, 30, 40, 60], "disease": list("aabb"), "pay": [1.5, 2.5, 1.5, 2.5]}
    policy = rk.Policy.quick(table, qi=["age"], sensitive=["disease"], keep="pay", k=2)
    cube = cube_divergence(table, rk.anonymize(table, policy), levels=[1], of="pay")
    assert cube.of == "pay"
    assert cube.levels[0].divergence == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"levels": [0]}, InputError, "from 1 to 2, the quasi-identifiers, not 0"),
        ({"levels": [3]}, InputError, "from 1 to 2"),
        ({"of": "age"}, PolicyError, "released as it is"),
        ({"of": "deseas"}, PolicyError, "disease"),
    ],
)
def test_bad_questions(arguments: dict[str, Any], error: type[Exception], says: str) -> None:
    table = {"age": [20, 30, 40, 60], "sex": list("ffmm"), "disease": list("aabb")}
    policy = rk.Policy.quick(table, qi=["age", "sex"], sensitive=["disease"], k=2)
    with pytest.raises(error, match=says):
        cube_divergence(table, table, policy, **arguments)


def test_no_column_several_and_too_many_group_bys() -> None:
    table = {f"q{i}": [1, 2, 3] for i in range(30)} | {"a": list("xyz"), "b": list("xyz")}
    quasi = [name for name in table if name.startswith("q")]
    policy = rk.Policy.quick(table, qi=quasi, sensitive=["a", "b"], k=2)
    with pytest.raises(PolicyError, match="2 sensitive columns"):
        cube_divergence(table, table, policy)
    with pytest.raises(InputError, match="group-bys, more than"):
        cube_divergence(table, table, policy, of="a", levels=[15])
    with pytest.raises(InputError, match="give policy="):
        cube_divergence(table, table)


def test_means_have_no_place() -> None:
    table = {"age": [20, 30, 40, 60], "disease": list("abab")}
    policy = rk.Policy.quick(table, qi=["age"], sensitive=["disease"], k=2, publish="mean")
    with pytest.raises(InputError, match="published as a mean"):
        cube_divergence(table, rk.anonymize(table, policy))


def test_a_release_by_anatomy_is_read_as_its_two_tables(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    people = {
        "age": random.integers(20, 60, 200).tolist(),
        "sex": random.choice(["f", "m"], 200).tolist(),
        "disease": random.choice(["flu", "cold", "gout", "none"], 200).tolist(),
    }
    policy = rk.Policy.quick(people, qi=["age", "sex"], sensitive=["disease"], k=2).but(
        privacy=[{"frequency-l-diversity": {"l": 3, "of": "disease"}}], method="anatomy"
    )
    with pytest.warns(PrivacyWarning, match="exact quasi-identifiers"):
        release = rk.anonymize(people, policy)
    saved = release.save(tmp_path / "two.parquet")
    files = Anatomy(saved.data, tmp_path / "two_sensitive.parquet")
    assert cube_divergence(people, release).levels == cube_divergence(people, files, policy).levels


def test_two_tables_must_fit_each_other() -> None:
    table = {"age": [20, 30, 40, 60], "disease": list("abab")}
    policy = rk.Policy.quick(table, qi=["age"], sensitive=["disease"], k=2)
    records = {"age": table["age"], "group": [1, 1, 2, 2]}
    for counts in ([1, 1, 1, 2], [1, 1, 2, 2]):
        values = {"group": [1, 1, 2, 2], "disease": list("abab"), "count": counts}
        with pytest.raises(InputError, match="1 of 2 groups do not have as many records"):
            cube_divergence(table, Anatomy(records, values), policy)
    with pytest.raises(InputError, match="no column 'disease'"):
        cube_divergence(table, Anatomy(records, {"group": [1], "count": [4]}), policy)


@pytest.mark.parametrize("sizes", [[1], [2, 3], [100_000, 2, 70], [5] * 70])
def test_neighbours_are_told_apart(sizes: list[int]) -> None:
    random = np.random.default_rng(1)
    cells = np.stack([random.integers(0, size, 500) for size in sizes]).astype(np.int32)
    keys = interleaved(cells, sizes)
    assert keys.min() >= 0
    if len(sizes) < 4:
        assert len(np.unique(keys)) == len(np.unique(cells, axis=1).T)

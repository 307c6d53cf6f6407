"""The Agrawal generator against a twin that reads like the papers, one record at a time, in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rothko.errors import InputError
from rothko.generate.agrawal import BLOCK, CONSTANTS, AgeGroups, Disposable, agrawal, agrawal_batches, random_constants

K = 1_000
ATTRIBUTES = ["salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan"]
FUNCTIONS = list(range(1, 11))


# ── The twin: whole tables of the papers, typed again, with exact fractions instead of floats


def twin_1(r: Any) -> bool:
    return r.age < 40 or r.age >= 60


def twin_2(r: Any) -> bool:
    if r.age < 40:
        return 50 * K <= r.salary <= 100 * K
    if r.age < 60:
        return 75 * K <= r.salary <= 125 * K
    return 25 * K <= r.salary <= 75 * K


def twin_3(r: Any) -> bool:
    if r.age < 40:
        return r.elevel in {0, 1}
    if r.age < 60:
        return r.elevel in {1, 2, 3}
    return r.elevel in {2, 3, 4}


def twin_4(r: Any) -> bool:
    if r.age < 40:
        return 25 * K <= r.salary <= 75 * K if r.elevel in {0, 1} else 50 * K <= r.salary <= 100 * K
    if r.age < 60:
        return 50 * K <= r.salary <= 100 * K if r.elevel in {1, 2, 3} else 75 * K <= r.salary <= 125 * K
    return 50 * K <= r.salary <= 100 * K if r.elevel in {2, 3, 4} else 25 * K <= r.salary <= 75 * K


def twin_5(r: Any) -> bool:
    if r.age < 40:
        return 100 * K <= r.loan <= 300 * K if 50 * K <= r.salary <= 100 * K else 200 * K <= r.loan <= 400 * K
    if r.age < 60:
        return 200 * K <= r.loan <= 400 * K if 75 * K <= r.salary <= 125 * K else 300 * K <= r.loan <= 500 * K
    return 300 * K <= r.loan <= 500 * K if 25 * K <= r.salary <= 75 * K else 100 * K <= r.loan <= 300 * K


def twin_6(r: Any) -> bool:
    income = r.salary + r.commission
    if r.age < 40:
        return 50 * K <= income <= 100 * K
    if r.age < 60:
        return 75 * K <= income <= 125 * K
    return 25 * K <= income <= 75 * K


def take_home(r: Any) -> Fraction:
    return Fraction(67, 100) * (r.salary + r.commission)


def equity(r: Any) -> Fraction:
    return Fraction(0) if r.hyears < 20 else Fraction(1, 10) * r.hvalue * (r.hyears - 20)


def disposable_7(r: Any) -> Fraction:
    return take_home(r) - Fraction(1, 5) * r.loan - 20 * K


def disposable_8(r: Any) -> Fraction:
    return take_home(r) - 5000 * r.elevel - 20 * K


def disposable_9(r: Any) -> Fraction:
    return take_home(r) - 5000 * r.elevel - Fraction(1, 5) * r.loan - 10 * K


def disposable_10(r: Any) -> Fraction:
    return take_home(r) - 5000 * r.elevel + Fraction(1, 5) * equity(r) - 10 * K


TWINS: dict[int, Callable[[Any], bool]] = {
    1: twin_1,
    2: twin_2,
    3: twin_3,
    4: twin_4,
    5: twin_5,
    6: twin_6,
    7: lambda r: disposable_7(r) > 0,
    8: lambda r: disposable_8(r) > 0,
    9: lambda r: disposable_9(r) > 0,
    10: lambda r: disposable_10(r) > 0,
}


def records(table: pa.Table) -> list[Any]:
    return [SimpleNamespace(**row) for row in table.to_pylist()]


def labels(table: pa.Table) -> np.ndarray:
    return np.asarray(table["class"].to_pylist())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_class_equals_the_twin(function):
    table = agrawal(4_000, function=function, seed=11)
    expected = ["A" if TWINS[function](r) else "B" for r in records(table)]
    assert table["class"].to_pylist() == expected
    assert {"A", "B"} == set(expected)


@pytest.mark.parametrize(("target", "twin"), [("R7", disposable_7), ("R10", disposable_10)])
def test_target_is_the_twin_in_whole_dollars(target, twin):
    table = agrawal(4_000, target=target, seed=11)
    for r in records(table):
        # Half a dollar exactly may go either way in floating point.
        assert abs(r.target - twin(r)) <= Fraction(1, 2)


def test_columns_and_types():
    table = agrawal(10, target="R10")
    assert table.column_names == [*ATTRIBUTES, "class", "target"]
    assert all(table.schema.field(name).type == pa.int32() for name in [*ATTRIBUTES, "target"])
    assert table.schema.field("class").type == pa.string()
    assert table.schema.metadata is None
    assert agrawal(10, function=None).column_names == ATTRIBUTES


def test_ranges_and_distributions_of_table_one():
    table = agrawal(200_000, function=None, seed=3)
    column = {name: table[name].to_numpy().astype(np.int64) for name in ATTRIBUTES}

    # Small domains are covered from end to end, about evenly.
    for name, low, high in [
        ("age", 20, 80),
        ("elevel", 0, 4),
        ("car", 1, 20),
        ("zipcode", 0, 9),
        ("hyears", 1, 30),
    ]:
        values, counts = np.unique(column[name], return_counts=True)
        assert values.tolist() == list(range(low, high + 1)), name
        assert np.abs(counts * len(values) / table.num_rows - 1).max() < 0.1, name
    # Wide domains: within the ends, nearly touching them, with the mean and spread of a uniform.
    for name, low, high in [("salary", 20_000, 150_000), ("loan", 0, 500_000)]:
        x, width = column[name], high - low
        assert low <= x.min() < low + width / 1000
        assert high - width / 1000 < x.max() <= high
        assert abs(x.mean() - (low + high) / 2) < width / 200
        assert abs(x.std() - width / np.sqrt(12)) < width / 200

    earns = column["salary"] < 75_000
    assert not column["commission"][~earns].any()
    assert column["commission"][earns].min() >= 10_000
    assert column["commission"][earns].max() <= 75_000
    assert abs(column["commission"][earns].mean() - 42_500) < 300

    value, zipcode = column["hvalue"], column["zipcode"]
    assert (50_000 * zipcode <= value).all()
    assert (value <= 150_000 * zipcode).all()
    h = value[zipcode > 0] / zipcode[zipcode > 0] / 100_000
    assert abs(h.mean() - 1) < 0.01
    assert h.min() < 0.51
    assert h.max() > 1.49


def test_attributes_are_independent_of_each_other():
    table = agrawal(100_000, function=None, seed=5)
    free = ["salary", "age", "elevel", "car", "zipcode", "hyears", "loan"]
    correlation = np.corrcoef([table[name].to_numpy() for name in free])
    assert np.abs(correlation - np.eye(len(free))).max() < 0.02


@pytest.mark.parametrize("noise", [0.05, 0.5])
def test_noise_gives_its_share_the_other_class_and_touches_nothing_else(noise):
    clean, noisy = agrawal(100_000, seed=2), agrawal(100_000, noise=noise, seed=2)
    assert clean.drop_columns("class") == noisy.drop_columns("class")
    assert abs((labels(clean) != labels(noisy)).mean() - noise) < 0.01


def test_perturbation_moves_each_quantity_by_up_to_half_its_part_of_the_span():
    """Agrawal et al. 1993: v + r p a, r uniform in -0.5 to 0.5; in whole numbers, and not beyond the range."""
    part = 0.05
    asked = {"function": 7, "target": "R10", "seed": 3}
    before, after = agrawal(20_000, **asked), agrawal(20_000, perturb=part, **asked)
    for name in ("elevel", "car", "zipcode", "class", "target"):
        assert before[name] == after[name]
    zipcode = before["zipcode"].to_numpy()
    ranges = {
        "salary": (20_000, 150_000), "commission": (10_000, 75_000), "age": (20, 80), "hyears": (1, 30),
        "loan": (0, 500_000), "hvalue": (zipcode * 50_000, zipcode * 150_000),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        old, new = (table[name].to_numpy().astype(np.int64) for table in (before, after))
        half = part * (high - np.asarray(low)) / 2
        assert (np.abs(new - old) <= np.rint(half) + (half % 1 == 0.5)).all()
        changed = old != 0 if name == "commission" else np.ones(len(old), dtype=bool)
        assert (new[~changed] == 0).all()
        inside = changed & (old - low > half) & (high - old > half) & (half > 0)
        assert (((new >= low) & (new <= high)) | ~changed).all()
        steps = ((new - old) / np.maximum(half, 1e-9))[inside]
        assert abs(steps.mean()) < 0.05
        assert abs(steps.std() - 1 / np.sqrt(3)) < (0.05 if name not in {"age", "hyears"} else 0.35)


def test_perturbed_records_do_not_hang_on_how_many_there_are():
    assert agrawal(70_000, perturb=0.05).slice(0, 66_000) == agrawal(66_000, perturb=0.05)
    assert agrawal(100, perturb=0.05, function=None) == agrawal(100, perturb=0.05).select(ATTRIBUTES)


def test_noise_of_one_turns_every_label():
    assert (labels(agrawal(1_000)) != labels(agrawal(1_000, noise=1.0))).all()


def test_same_seed_same_table_other_seed_other_table():
    options = {"function": 5, "target": "R7", "noise": 0.1, "constants": "random"}
    assert agrawal(2_000, seed=8, **options) == agrawal(2_000, seed=8, **options)
    assert agrawal(2_000, seed=8, function=None) != agrawal(2_000, seed=9, function=None)


def test_blocks_differ_from_each_other():
    table = agrawal(2 * BLOCK, function=None)
    assert table.slice(0, BLOCK) != table.slice(BLOCK)


@pytest.mark.parametrize("m", [1, 777, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK])
def test_a_shorter_table_is_a_prefix_of_a_longer_one(m):
    options = {"function": 4, "target": "R10", "noise": 0.1, "constants": "random", "seed": 4}
    shorter = agrawal(m, **options)
    assert shorter.num_rows == m
    assert agrawal(2 * BLOCK + 5, **options).slice(0, m) == shorter


def test_attributes_do_not_depend_on_what_is_computed_from_them():
    bare = agrawal(500, function=None, seed=6)
    assert agrawal(500, function=9, target="R7", noise=0.3, constants="random", seed=6).select(ATTRIBUTES) == bare


@pytest.mark.parametrize("batch", [999, BLOCK, BLOCK + 1, 100_000, 10**6])
def test_batches_make_the_whole_table(batch):
    options = {"function": 7, "target": "R7", "noise": 0.1, "seed": 12}
    n = 2 * BLOCK + 17
    batches = list(agrawal_batches(n, batch=batch, **options))
    assert [b.num_rows for b in batches[:-1]] == [batch] * (n // batch if n % batch else n // batch - 1)
    assert pa.Table.from_batches(batches) == agrawal(n, **options)


def test_batches_are_drawn_only_when_taken():
    first = next(agrawal_batches(10**12, batch=100))
    assert pa.Table.from_batches([first]) == agrawal(100)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_random_constants_change_the_labels_and_can_be_had_again(function):
    by_paper, by_chance = agrawal(5_000, function=function), agrawal(5_000, function=function, constants="random")
    assert (labels(by_paper) != labels(by_chance)).any()
    assert by_chance == agrawal(5_000, function=function, constants="random")
    assert by_chance == agrawal(5_000, function=function, constants=random_constants(function, seed=0))
    assert by_paper == agrawal(5_000, function=function, constants=CONSTANTS[function])
    drawn = {random_constants(function, seed=seed) for seed in range(20)}
    assert len(drawn) == 20


@pytest.mark.parametrize("function", FUNCTIONS)
def test_random_constants_stay_in_range(function):
    for seed in range(200):
        drawn, paper = random_constants(function, seed=seed), CONSTANTS[function]
        if isinstance(drawn, AgeGroups):
            assert isinstance(paper, AgeGroups)
            assert len(drawn.income) == len(paper.income)
            assert len(drawn.loan) == len(paper.loan)
            bottom = 30_000 if function == 6 else 20_000
            assert 20 <= drawn.ages[0] < drawn.ages[1] <= 80
            assert all(bottom <= low < high <= 150_000 for low, high in drawn.income)
            assert all(0 <= low < high <= 500_000 for low, high in drawn.loan)
        else:
            assert isinstance(paper, Disposable)
            for name in ("income", "elevel", "loan", "equity", "fixed"):
                was, now = getattr(paper, name), getattr(drawn, name)
                assert 0.75 * was <= now <= 1.25 * was
                assert (now != was) == (was != 0)


def test_random_constants_reach_over_the_whole_range():
    ends = np.array([random_constants(2, seed=seed).income for seed in range(300)]).ravel()
    assert ends.min() < 22_000
    assert ends.max() > 148_000
    assert abs(np.mean(ends) - 85_000) < 5_000


def test_given_constants_are_used():
    middle_aged = AgeGroups(ages=(30, 31))
    table = agrawal(3_000, function=1, constants=middle_aged)
    assert [r.age != 30 for r in records(table)] == (labels(table) == "A").tolist()


def test_the_target_keeps_its_constants_when_those_of_the_class_vary():
    by_paper = agrawal(1_000, function=7, target="R7")
    by_chance = agrawal(1_000, function=7, target="R7", constants="random")
    assert by_paper["target"] == by_chance["target"]


@pytest.mark.parametrize(
    ("n", "options", "message"),
    [
        (0, {}, "n must be .* not 0"),
        (-5, {}, "n must be .* not -5"),
        (2.5, {}, "n must be a whole number"),
        (10, {"function": 0}, "no classification function 0"),
        (10, {"function": 11}, "no classification function 11.* 1 to 10"),
        (10, {"target": "R8"}, "'R8'.* R7 or R10"),
        (10, {"noise": -0.1}, "noise .* -0.1"),
        (10, {"noise": 1.5}, "noise .* 1.5"),
        (10, {"perturb": -0.1}, "perturb .* -0.1"),
        (10, {"perturb": float("nan")}, "perturb .* nan"),
        (10, {"noise": float("nan")}, "noise .* nan"),
        (10, {"seed": -1}, "seed .* -1"),
        (10, {"constants": "any"}, "constants .* 'any'"),
        (10, {"constants": CONSTANTS[7]}, "not for function 2"),
        (10, {"constants": CONSTANTS[1]}, "not for function 2"),
        (10, {"function": 9, "constants": CONSTANTS[2]}, "not for function 9"),
        (10, {"function": None, "noise": 0.1}, "need a function"),
        (10, {"function": None, "constants": "random"}, "need a function"),
    ],
)
def test_bad_input_is_one_sentence_before_anything_is_drawn(n, options, message):
    for make in (agrawal, agrawal_batches):
        with pytest.raises(InputError, match=message) as caught:
            make(n, **options)
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)


def test_bad_batch_and_bad_function_for_constants():
    with pytest.raises(InputError, match=r"batch must be .* not 0"):
        agrawal_batches(10, batch=0)
    with pytest.raises(InputError, match="no classification function 12"):
        random_constants(12)
    with pytest.raises(InputError, match="seed"):
        random_constants(2, seed=-3)


def test_constants_are_frozen():
    with pytest.raises(AttributeError):
        CONSTANTS[1].ages = (1, 2)
    assert replace(CONSTANTS[1], ages=(1, 2)) != CONSTANTS[1]

"""What tasks make of the choice of cuts: units, errors about the data, features beyond the quasi-identifiers."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.errors import InputError, PolicyError, WorkloadWarning
from rothko.methods import Mondrian
from rothko.metrics.prediction import conditional_entropy
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from rothko.workload import Classify, Regress, Select, Task
from rothko.workload.criteria import Criteria, fixed_point, logarithms

PEOPLE = {
    "age": [20, 30, 40, 50, 60, 70, 80, 90],
    "sex": ["m", "f", "m", "f", "m", "f", "m", "f"],
    "ill": ["no", "no", "no", "yes", "yes", "no", "yes", "yes"],
    "pay": [1.5, 2.0, 2.5, 4.0, 8.5, 8.0, 7.5, 9.0],
}


def encoded(columns: dict[str, Any], workload: Sequence[Task], qi: Sequence[str] = ("age", "sex")) -> Encoded:
    policy = Policy.quick(columns, qi=qi, keep=[name for name in columns if name not in qi], k=2).but(
        workload=tuple(workload)
    )
    return encode(typed(pa.table(columns), policy), policy)


def criteria(columns: dict[str, Any], *workload: Task) -> Criteria:
    arrays, _ = Mondrian().problem(encoded(columns, workload), (KAnonymity(k=2),), workload)
    assert arrays.criteria is not None
    return arrays.criteria


def entropy(labels: Sequence[str]) -> float:
    shares = [labels.count(label) / len(labels) for label in set(labels)]
    return -sum(share * math.log2(share) for share in shares)


# ── units ────────────────────────────────────────────────────────────────────────────────────────


def test_class_labels_alone_count_in_bits() -> None:
    assert criteria(PEOPLE, Classify("ill")).factors.tolist() == [2.0**-24]


def test_numbers_alone_count_in_shares_of_their_variance_together() -> None:
    more = {**PEOPLE, "cost": [3, 1, 4, 1, 5, 9, 2, 6]}
    found = criteria(more, Regress("pay"), Regress("cost"))
    variance = statistics.pvariance(more["pay"]) + statistics.pvariance(more["cost"])
    scale = 2.0 ** (2 * fixed_point(encoded(more, [Regress("pay")]).targets["pay"].domain, 8)[1])
    assert found.factors[0] == pytest.approx(1 / variance / scale)
    assert found.factors[1] == pytest.approx(1 / variance)  # whole numbers stay what they are


def test_labels_and_numbers_together_count_in_shares_of_their_own_impurity() -> None:
    more = {**PEOPLE, "cost": [3, 1, 4, 1, 5, 9, 2, 6]}
    found = criteria(more, Classify("ill"), Regress("cost"))
    assert found.factors[0] == pytest.approx(2.0**-24 / entropy(PEOPLE["ill"]))
    assert found.factors[1] == pytest.approx(1 / statistics.pvariance(more["cost"]))


def test_logarithms_are_rounded_once() -> None:
    found = logarithms(1000)
    assert len(found) == 1001
    for count in (0, 1, 2, 3, 8, 1000):
        assert found[count] == round((count * math.log2(count) if count else 0) * 2**24)


@pytest.mark.parametrize("scale", [1e-310, 1e-300, 1e-9, 1, 1e9, 1e300])
def test_sums_of_numbers_do_not_overflow_and_lose_little(scale: float) -> None:
    numbers = (np.random.default_rng(0).normal(size=8) * scale).tolist()
    tasks = (Regress("pay"), Regress("cost"))
    more = {**PEOPLE, "pay": numbers, "cost": [3, 1, 4, 1, 5, 9, 2, 6]}
    assert np.isfinite(criteria(more, *tasks).factors).all()
    assert np.isfinite(criteria(more, Regress("pay")).factors).all()
    domain = encoded(more, tasks).targets["pay"].domain
    rows = 10**9
    whole, power = fixed_point(domain, rows)
    assert int(np.abs(whole).max()) * rows < 2**62
    assert np.ldexp(whole.astype(float), -power) == pytest.approx(domain.deviations[:-1], rel=1e-6, abs=0)


# ── what the data must have ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("column", "task", "message"),
    [
        (["no"] * 8, Classify("ill"), "classify ill: the column has one value throughout"),
        ([None] * 8, Classify("ill"), "classify ill: all 8 values are missing"),
        ([1.0] * 8, Regress("ill"), "regress ill: the column has one value throughout"),
        (["1", "1.0"] * 4, Regress("ill"), "regress ill: its numbers are all the same"),
        (
            ["1e0", "1.00000000000000000001"] * 4,
            Regress("ill"),
            "regress ill: its numbers are all the same, or too close",
        ),
        ([None] * 7 + ["no"], Classify("ill"), "classify ill: the column has one value throughout"),
    ],
)
def test_a_target_with_nothing_to_learn_is_refused(column: list[Any], task: Task, message: str) -> None:
    policy = Policy.quick(PEOPLE, qi=["age", "sex"], keep_rest=True, k=2).but(workload=(task,))
    with pytest.raises(InputError, match=message):
        rk.anonymize(pa.table({**PEOPLE, "ill": pa.array(column)}), policy)


def test_a_number_to_predict_must_be_one() -> None:
    policy = Policy.quick(PEOPLE, qi=["age", "sex"], keep_rest=True, k=2).but(workload=(Regress("ill"),))
    with pytest.raises(PolicyError, match=r"Column 'ill' must hold numbers for what is asked of it"):
        rk.anonymize(pa.table(PEOPLE), policy)


def test_thousands_of_classes_are_warned_about() -> None:
    many = {"age": list(range(2002)), "name": [f"p{i // 2}" for i in range(2002)]}
    policy = Policy.quick(many, qi=["age"], keep="name", k=2).but(workload=(Classify("name"),))
    with pytest.warns(WorkloadWarning, match="classify name: the column has 1,001 classes"):
        release = rk.anonymize(pa.table(many), policy)
    assert release.certificate.verification.holds


def test_a_predicate_that_no_record_meets_is_refused() -> None:
    policy = Policy.quick(PEOPLE, qi=["age", "sex"], keep_rest=True, k=2).but(workload=(Select("age > 90"),))
    with pytest.raises(InputError, match=r"select age > 90: no value of this table satisfies it"):
        rk.anonymize(pa.table(PEOPLE), policy)


# ── labels in the order of the target ────────────────────────────────────────────────────────────


def test_labels_stand_in_the_order_of_the_target() -> None:
    columns = {"city": ["a", "a", "b", "b", "c", "c", None], "pay": [5, 7, 1, 1, 9, None, 3]}
    line = encoded(columns, [Regress("pay")], qi=["city"]).lines[0]
    assert line.values.to_pylist() == ["b", "a", "c"]
    assert line.missing_code == 3
    assert encoded(columns, (), qi=["city"]).lines[0].values.to_pylist() == ["a", "b", "c"]


def test_a_set_is_published_in_the_order_of_its_labels() -> None:
    columns = {"city": ["a", "a", "b", "b", "c", "c"], "pay": [5, 5, 9, 9, 1, 1]}
    policy = Policy.quick(columns, qi=["city"], keep="pay", k=4).but(workload=(Regress("pay"),))
    assert set(rk.anonymize(columns, policy).table["city"].tolist()) == {"*"}
    policy = Policy.quick(columns, qi=["city"], keep="pay", k=2).but(workload=(Regress("pay"),))
    more = {"city": [*columns["city"], "d", "d"], "pay": [*columns["pay"], 30, 40]}
    shown = rk.anonymize(more, policy.but(privacy=(KAnonymity(k=4),))).table["city"].tolist()
    assert set(shown) == {"{a, c}", "{b, d}"}


# ── features beyond the quasi-identifiers ────────────────────────────────────────────────────────


def test_a_sensitive_target_stays_diverse_and_is_yet_predicted_within_its_features() -> None:
    """The situation of figure 3: x alone tells next to nothing, nor does y, and both together tell all."""
    random = np.random.default_rng(2)
    x, y = random.integers(0, 100, (2, 4000))
    label = np.where((x < 37) == (y < 50), "plus", "minus")
    table = pa.table({"x": x, "y": y, "s": label.tolist()})
    columns: dict[str, Any] = {
        "x": {"role": "quasi-identifier"}, "y": {"role": "keep"}, "s": {"role": "sensitive"},
    }  # fmt: skip
    privacy = [{"k-anonymity": {"k": 1200}}, {"entropy-l-diversity": {"l": 1.9, "of": "s"}}]

    def within(task: Task) -> tuple[float, float]:
        """Entropy of the label over classes, and over classes and halves of y."""
        policy = Policy(columns=columns, privacy=privacy, workload=(task,))
        release = rk.anonymize(table, policy)
        shown = release.arrow
        _, classes = np.unique(shown["x"].cast(pa.string()).to_numpy(zero_copy_only=False), return_inverse=True)
        labels = (shown["s"].to_numpy(zero_copy_only=False) == "plus").astype(np.int64)
        halves = classes * 2 + (shown["y"].to_numpy() < 50)
        return conditional_entropy(classes, labels), conditional_entropy(halves, labels)

    over_x, over_both = within(Classify("s", ("x", "y")))
    assert over_x > 0.9
    assert over_both < 0.1
    assert within(Classify("s"))[1] > 0.3, "a cut at 37 gains nothing as long as y is not looked at"


def test_what_a_model_does_not_look_at_is_not_cut_for_it() -> None:
    random = np.random.default_rng(4)
    age, height = random.integers(0, 60, (2, 2000))
    table = pa.table({"age": age, "height": height, "ill": (height > 30).astype(int)})
    policy = Policy.quick(table.column_names, qi=["age", "height"], keep="ill", k=20)
    release = rk.anonymize(table, policy.but(workload=(Classify("ill", ("height",)),)))
    seen = rk.anonymize(table, policy.but(workload=(Classify("ill", ("age",)),)))
    assert release.recoding is not None
    assert seen.recoding is not None
    assert release.recoding.tree["attribute"][0] == 1
    assert release.certificate.loss.workload[0].conditional_entropy == 0.0
    assert seen.certificate.loss.workload[0].conditional_entropy > 0.3


def test_a_column_may_be_predicted_by_one_model_and_looked_at_by_another() -> None:
    tasks = (Classify("ill"), Regress("pay", ("age", "ill")))
    found = encoded(PEOPLE, tasks)
    assert found.features is not None
    assert [line.name for line in found.features.lines] == ["ill"]
    assert list(found.targets) == ["ill", "pay"]

"""Methods side by side: trials are what a release would be, and no failure hides another trial."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rothko as rk
from rothko.comparison import compare as comparison
from rothko.comparison import tabular
from rothko.comparison.compare import (
    TableBench,
    TableFrontier,
    TableTrial,
    asking,
    bisect,
    compare,
    most_private,
)
from rothko.comparison.trials import as_csv
from rothko.errors import InputError, MissingExtraError, OutputError, PolicyError
from rothko.generate.census import census, census_policy
from rothko.methods import METHODS
from rothko.methods import unmet as unmet_module
from rothko.methods.classes import LocalClasses
from rothko.methods.method import LocalMethod
from rothko.methods.unmet import unmet
from rothko.privacy import AlphaK, EntropyLDiversity, FrequencyLDiversity, KAnonymity
from rothko.release.loss import Loss

N = 600
PEOPLE = census(N, seed=3)
POLICY = census_policy(k=2)


def policy_of(*requirements: Any) -> rk.Policy:
    return POLICY.but(privacy=requirements)


# ── trials


@pytest.mark.parametrize("method", ["mondrian", "hilbert"])
def test_a_trial_loses_what_a_release_loses(method: str) -> None:
    found = compare(PEOPLE, POLICY, methods=[method], k=[3, 20], seed=5)
    for trial in found.trials:
        assert trial.loss is not None
        release = rk.anonymize(PEOPLE, asking(POLICY, "k", int(trial.at("k"))).but(method=method), seed=5)
        assert replace(trial.loss, workload=()) == release.certificate.loss
        assert trial.loss.smallest_class >= trial.at("k")
        assert 0 < trial.partition_seconds < trial.seconds  # type: ignore[operator]


def test_methods_by_k_each_once_and_in_order() -> None:
    found = compare(PEOPLE, POLICY, methods=["hilbert", "mondrian", "hilbert"], k=[10, 2, 10, 5])
    assert [(trial.k, trial.method) for trial in found.trials] == [
        (k, method) for k in (2, 5, 10) for method in ("hilbert", "mondrian")
    ]
    assert found.methods == ("hilbert", "mondrian")
    assert (found.records, found.by) == (N, "k")


def test_the_table_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    whole = comparison.read_encoded
    monkeypatch.setattr(comparison, "read_encoded", lambda *a, **b: calls.append(1) or whole(*a, **b))
    compare(PEOPLE, POLICY, methods=["mondrian", "hilbert"], k=[2, 5, 10])
    assert calls == [1]


def test_the_same_seed_gives_the_same_numbers() -> None:
    def numbers(seed: int) -> list[dict[str, Any]]:
        trials = compare(PEOPLE, POLICY, methods=["mondrian", "idistance"], k=[5], seed=seed).to_dict()["trials"]
        return [{name: value for name, value in trial.items() if "seconds" not in name} for trial in trials]

    assert numbers(1) == numbers(1)


def test_by_l_beside_a_fixed_k() -> None:
    found = compare(PEOPLE, POLICY, methods=["mondrian"], k=[8], l=[2, 4])
    assert found.by == "l"
    assert [(trial.k, trial.l) for trial in found.trials] == [(8, 2), (8, 4)]
    assert all(trial.loss is not None and trial.loss.smallest_class >= 8 for trial in found.trials)


def test_options_of_the_policys_method_stay_and_are_shown() -> None:
    policy = POLICY.but(method={"mondrian": {"relaxed": True}})
    found = compare(PEOPLE, policy, methods=["mondrian", {"mondrian": {"relaxed": False}}], k=[5])
    assert found.methods == ("mondrian relaxed=True", "mondrian")
    relaxed, strict = found.trials
    assert relaxed.loss is not None
    assert strict.loss is not None
    assert relaxed.loss.gcp != strict.loss.gcp


def test_results_have_no_cell_values() -> None:
    secret = {"age": [31, 47, 52, 60] * 5, "town": ["Xyzzyville", "Plughton", "Quuxham", "Fredburg"] * 5}
    policy = rk.Policy.quick(secret, qi=["age"], sensitive=["town"], k=2)
    found = compare(secret, policy, methods=["mondrian"], k=[2, 30], l=[])
    text = json.dumps(found.to_dict()) + as_csv(found.trials)
    assert not any(word in text for word in secret["town"])


# ── what cannot run


def test_a_k_that_the_table_does_not_allow_is_a_row_with_the_reason() -> None:
    found = compare(PEOPLE, POLICY, methods=["mondrian", "hilbert"], k=[2, N, N + 1])
    assert [trial.loss is None for trial in found.trials] == [False] * 4 + [True] * 2
    assert found.trials[-1].reason is not None
    assert f"k = {N + 1}" in found.trials[-1].reason
    assert found.trials[-1].exit_code == 3
    whole = found.trials[2].loss
    assert whole is not None
    assert (whole.classes, whole.smallest_class) == (1, N)


def test_a_workload_that_a_method_refuses_is_a_row_with_the_reason() -> None:
    policy = POLICY.but(workload=[{"classify": {"target": "salary_class"}}])
    mondrian, hilbert = compare(PEOPLE, policy, methods=["mondrian", "hilbert"], k=[5]).trials
    assert mondrian.loss is not None
    assert hilbert.reason is not None
    assert "use cluster or mondrian" in hilbert.reason


def test_anatomy_has_no_classes_to_compare() -> None:
    policy = policy_of(FrequencyLDiversity(l=2, of="occupation"))
    anatomy, mondrian = compare(PEOPLE, policy, methods=["anatomy", "mondrian"], l=[3]).trials
    assert anatomy.reason is not None
    assert anatomy.reason.startswith("compare needs generalised quasi-identifiers")
    assert anatomy.exit_code == 2
    assert mondrian.loss is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken(LocalMethod):
    name: ClassVar[str] = "broken"

    def group(self, encoded: Any, requirements: Any, *, seed: int, threads: int, progress: Any) -> LocalClasses:
        raise ValueError("the patient is Ada Lovelace")


@dataclass(frozen=True, slots=True, kw_only=True)
class Careless(LocalMethod):
    """Every record is a class of its own."""

    name: ClassVar[str] = "careless"

    def group(self, encoded: Any, requirements: Any, *, seed: int, threads: int, progress: Any) -> LocalClasses:
        return LocalClasses.of(encoded, np.arange(encoded.rows), encoded.rows)


@pytest.fixture
def defects(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in (Broken, Careless):
        monkeypatch.setitem(METHODS, method.name, method)


@pytest.mark.usefixtures("defects")
def test_a_bug_in_one_method_hides_no_other_and_tells_no_values() -> None:
    broken, mondrian = compare(PEOPLE, POLICY, methods=["broken", "mondrian"], k=[5]).trials
    assert broken.reason == "Internal error (ValueError): a bug in rothko."
    assert broken.exit_code == 1
    assert mondrian.loss is not None


@pytest.mark.usefixtures("defects")
def test_a_method_that_does_not_keep_its_promise_has_no_loss() -> None:
    careless = compare(PEOPLE, POLICY, methods=["careless"], k=[5]).trials[0]
    assert careless.loss is None
    assert careless.reason is not None
    assert "do not satisfy k-anonymity with k = 5" in careless.reason


def test_classes_are_checked_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = asking(POLICY, "l", 3)
    bench = TableBench.of(PEOPLE, policy)
    made = bench.group(policy, lambda _: None)
    monkeypatch.setattr(unmet_module, "CELLS", 60)
    assert unmet(bench.encoded, made, policy.privacy) == []
    # The last class has one record too few for a k of its size and one more.
    smallest = int(made.sizes.min())
    assert unmet(bench.encoded, made, [KAnonymity(k=smallest)]) == []
    assert unmet(bench.encoded, made, [KAnonymity(k=smallest + 1)]) == [KAnonymity(k=smallest + 1)]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"k": [1, 5]}, "k must be a whole number of at least 2, not 1"),
        ({"l": [1]}, "l must be a"),
        ({}, "Nothing varies"),
        ({"k": [2, 5], "l": [2, 3]}, "give one k, or one l"),
        ({"k": [2], "methods": ["mondrain"]}, "mondrian"),
        ({"k": [2], "methods": []}, "Name the methods"),
        ({"k": [2], "methods": "mondrian"}, "in a list"),
    ],
)
def test_what_is_wrong_is_refused_before_the_table_is_read(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        compare("no-such-file.csv", POLICY, **asked)


# ── other requirements


def test_another_k_and_another_l() -> None:
    asked = policy_of(KAnonymity(k=2), EntropyLDiversity(l=2.5, of="occupation"))
    assert asking(asked, "k", 9).privacy == (KAnonymity(k=9), EntropyLDiversity(l=2.5, of="occupation"))
    assert asking(asked, "l", 4).privacy == (KAnonymity(k=2), EntropyLDiversity(l=4, of="occupation"))


def test_k_of_another_requirement_varies_where_k_anonymity_is_not_asked_for() -> None:
    alpha = AlphaK(alpha=0.5, k=3, of="occupation")
    assert asking(policy_of(alpha), "k", 7).privacy == (AlphaK(alpha=0.5, k=7, of="occupation"),)
    assert asking(policy_of(alpha, KAnonymity(k=4)), "k", 7).privacy == (alpha, KAnonymity(k=7))


def test_what_varies_is_added_where_it_is_not_asked_for() -> None:
    assert asking(policy_of(FrequencyLDiversity(l=2, of="occupation")), "k", 7).privacy[1] == KAnonymity(k=7)
    assert asking(POLICY, "l", 3).privacy[1:] == (
        FrequencyLDiversity(l=3, of="occupation"),
        FrequencyLDiversity(l=3, of="salary_class"),
    )
    bare = rk.Policy.quick(["age"], qi=["age"], k=2)
    with pytest.raises(PolicyError, match="needs a sensitive column"):
        asking(bare, "l", 3)


# ── the frontier


NOTHING = Loss(0.0, {}, 1, 2.0, 4, 2, 2, {"2-3": 1})


def frontier(points: Sequence[tuple[int, float]]) -> TableFrontier:
    trials = tuple(
        TableTrial(method=f"m{i}", k=k, loss=replace(NOTHING, gcp=gcp), partition_seconds=0.1, seconds=0.2)
        for i, (k, gcp) in enumerate(points)
    )
    timings = {"read": 0.0, "encode": 0.0}
    return TableFrontier(records=2, quasi_identifiers=("a",), trials=trials, timings=timings, seed=0, threads=1)


@given(st.lists(st.tuples(st.integers(2, 6), st.sampled_from([0.1, 0.2, 0.3, 0.4])), max_size=8))
def test_the_best_are_those_that_nothing_beats(points: list[tuple[int, float]]) -> None:
    best = {trial.method for trial in frontier(points).best}
    for i, (k, gcp) in enumerate(points):
        beaten = any((a >= k and b < gcp) or (a > k and b <= gcp) for a, b in points)
        assert (f"m{i}" in best) is not beaten


def test_csv_has_a_row_for_each_trial() -> None:
    found = compare(PEOPLE, POLICY, methods=["mondrian"], k=[2, N + 1])
    rows = list(csv.DictReader(io.StringIO(as_csv(found.trials))))
    assert [row["k"] for row in rows] == ["2", str(N + 1)]
    assert float(rows[0]["gcp"]) == pytest.approx(found.trials[0].loss.gcp, abs=1e-6)  # type: ignore[union-attr]
    assert rows[1]["gcp"] == ""
    assert rows[1]["reason"]


# ── the dual problem


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_bisection_finds_the_largest_that_holds_in_few_steps(last: int, most: int) -> None:
    asked: list[int] = []

    def holds(value: int) -> bool:
        asked.append(value)
        assert 2 <= value <= most
        return value <= last

    found = bisect(holds, most)
    assert found == (min(last, most) if min(last, most) >= 2 else None)
    assert len(asked) == len(set(asked)) <= 2 * most.bit_length()


def test_the_largest_k_within_a_bound_and_the_one_above_it() -> None:
    found = most_private(PEOPLE, POLICY, methods=["mondrian", "hilbert"], max_loss=0.3)
    for one in found.largest:
        assert one.value is not None
        assert one.above == one.value + 1
        tried = {trial.k: trial for trial in found.trials if trial.method == one.method}
        at, above = tried[one.value].loss, tried[one.above].loss
        assert at is not None
        assert above is not None
        assert at.gcp == one.gcp <= 0.3 < above.gcp
        again = compare(PEOPLE, POLICY, methods=[one.method], k=[one.value]).trials[0].loss
        assert again is not None
        assert again.gcp == one.gcp
    plain = found.to_dict()
    assert plain["max_loss"] == 0.3
    assert "bisection" in plain["found_by"]
    assert [row["method"] for row in plain["largest"]] == ["mondrian", "hilbert"]


def test_no_k_within_a_bound_says_so() -> None:
    found = most_private(PEOPLE, POLICY, methods=["mondrian"], max_loss=0.001)
    [one] = found.largest
    assert one.value is None
    assert one.gcp is None
    assert one.above == 2
    assert one.reason is not None
    assert one.reason.startswith("at k = 2 the loss is")


def test_all_is_lost_at_most_and_k_is_all_records() -> None:
    assert most_private(PEOPLE, POLICY, methods=["mondrian"], max_loss=1).largest[0].value == N


def test_the_largest_l_is_no_more_than_the_table_allows() -> None:
    policy = policy_of(FrequencyLDiversity(l=2, of="occupation"))
    found = most_private(PEOPLE, policy, methods=["mondrian"], max_loss=1, by="l")
    counts = PEOPLE["occupation"].value_counts().field("counts").to_pylist()
    assert found.largest[0].value == N // max(counts)
    assert any(trial.loss is None for trial in found.trials)


@pytest.mark.usefixtures("defects")
def test_a_method_that_fails_hides_no_other() -> None:
    broken, mondrian = most_private(PEOPLE, POLICY, methods=["broken", "mondrian"], max_loss=0.3).largest
    assert broken.value is None
    assert broken.reason is not None
    assert "bug" in broken.reason
    assert mondrian.value is not None


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"max_loss": 1.5}, "at most 1"),
        ({"max_loss": float("nan")}, "must be a number"),
        ({"max_loss": 0.1, "by": "t"}, "k or l"),
        ({"max_loss": 0.1, "k": 5}, "no k can be asked for"),
        ({"max_loss": 0.1, "by": "l", "k": 1}, "at least 2"),
    ],
)
def test_bad_bounds_are_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        most_private("no-such-file.csv", POLICY, **asked)


# ── edge tables


@pytest.mark.parametrize(
    ("ages", "k", "gcp"),
    [([30], 2, None), ([30] * 6, 3, 0.0), ([None] * 6, 3, 0.0), ([20, 30, 40, 50, None, None], 2, 2 / 9)],
)
def test_edge_tables(ages: list[int | None], k: int, gcp: float | None) -> None:
    import pyarrow as pa

    table = pa.table({"age": pa.array(ages, pa.int64())})
    [trial] = compare(table, rk.Policy.quick(["age"], qi=["age"], k=2), methods=["mondrian"], k=[k]).trials
    assert (trial.loss is None) is (gcp is None)
    if trial.loss is not None:
        assert trial.loss == loss_of(table, k)
        assert trial.loss.gcp == pytest.approx(gcp)


def loss_of(table: Any, k: int) -> Any:
    return rk.anonymize(table, rk.Policy.quick(["age"], qi=["age"], k=k)).certificate.loss


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow", None])
def test_trials_as_a_table(backend: Any) -> None:
    found = compare({"age": [20, 21, 40, 41]}, qi="age", methods=["mondrian"], k=[2, 9])
    frame = found.to_frame(backend)
    assert type(frame).__module__.partition(".")[0] == (backend or "pandas")
    table = pa.table(frame)
    assert table["k"].to_pylist() == [2, 9]
    assert table["best"].to_pylist() == [True, False]
    assert table["gcp"].to_pylist()[0] == pytest.approx(found.trials[0].loss.gcp)  # type: ignore[union-attr]
    assert table["gcp"].null_count == 1


def test_tables_and_plots_that_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    found = compare({"age": [20, 21, 40, 41]}, qi="age", methods=["mondrian"], k=[2])
    with pytest.raises(InputError, match="did you mean 'polars'"):
        found.to_frame("polar")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean 'loss'"):
        found.plot("los")  # type: ignore[arg-type]
    monkeypatch.setattr(tabular, "find_spec", lambda name: None if name != "pyarrow" else object())
    assert isinstance(found.to_frame(), pa.Table)
    with pytest.raises(MissingExtraError, match="pip install polars"):
        found.to_frame("polars")


def test_a_plot_shows_itself_and_saves_itself(tmp_path: Path) -> None:
    found = compare({"age": [20, 21, 40, 41]}, qi="age", methods=["mondrian"], k=[2, 4])
    drawing = found.plot()
    assert drawing.picture.name == "frontier"
    html = drawing._repr_html_()
    assert html.count("<svg") == 1
    assert "mondrian at k = 2" in html
    assert ":root" not in html  # the notebook's own colours stay as they are
    assert repr(drawing) == "Drawing(frontier: Privacy against loss)"
    for name in ("plot.svg", "plot.png", "plot.html", "plot.json"):
        assert found.plot("loss").save(tmp_path / name).stat().st_size > 500
    with pytest.raises(OutputError, match="exists; use overwrite=True"):
        drawing.save(tmp_path / "plot.svg")
    assert drawing.save(tmp_path / "plot.svg", overwrite=True).read_text() == f"{drawing.svg}\n"

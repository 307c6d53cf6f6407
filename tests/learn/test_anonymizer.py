"""The transformer: scikit-learn's own checks, pipelines, every kind of table, policies."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import rothko as rk
from rothko.generate.agrawal import agrawal
from rothko.learn.anonymizer import Anonymizer

ORDER = "a point is drawn for every row, in the order of the rows"
EXPECTED = {
    "sample": {"check_methods_sample_order_invariance": ORDER, "check_methods_subset_invariance": ORDER},
}


@parametrize_with_checks(
    [Anonymizer(threads=1, verify=False), Anonymizer(threads=1, regions="sample", verify=False)],
    expected_failed_checks=lambda estimator: EXPECTED.get(estimator.regions, {}),
    xfail_strict=True,
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        "check_dataframe_column_names_consistency",
        "check_transformer_get_feature_names_out",
        "check_transformer_get_feature_names_out_pandas",
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_global_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_set_output_transform_polars",
    ],
)
@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names:UserWarning")  # the checks mix both
def test_scikit_learns_checks_of_names_and_output(check: str) -> None:
    """Those that scikit-learn runs for its own estimators only."""
    getattr(estimator_checks, check)("Anonymizer", Anonymizer(threads=1, verify=False))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return agrawal(400, function=2, seed=1).to_pandas()


@pytest.fixture(scope="module")
def mixed() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": draw.integers(20, 80, 200),
            "height": draw.normal(170, 10, 200).round(1),
            "sex": draw.choice(["f", "m"], 200),
            "born": pd.to_datetime("1990-01-01") + pd.to_timedelta(draw.integers(0, 3000, 200), unit="D"),
        },
        index=pd.Index(range(1000, 1200)),
    )


def test_a_pipeline_learns_from_regions(frame: pd.DataFrame) -> None:
    X, y = frame.drop(columns="class"), frame["class"]
    model = make_pipeline(Anonymizer(k=10, threads=1), DecisionTreeClassifier(random_state=0)).fit(X, y)
    assert set(model.predict(X)) == {"A", "B"}
    certificate = model[0].certificate_
    assert certificate.verification.holds
    assert certificate.verification.findings[0].achieved >= 10
    # Workload-aware or not, all records of a region get one answer.
    regions = model[0].recoding_.place(pa.Table.from_pandas(X, preserve_index=False))
    answers = pd.DataFrame({"region": regions, "answer": model.predict(X)}).drop_duplicates()
    assert len(answers) == model[0].recoding_.classes


def test_grid_search_over_k(frame: pd.DataFrame) -> None:
    X, y = frame.drop(columns="class"), frame["class"]
    pipeline = make_pipeline(Anonymizer(threads=1, verify=False), DecisionTreeClassifier(random_state=0))
    search = GridSearchCV(pipeline, {"anonymizer__k": np.array([5, 100])}, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["anonymizer__k"] in (5, 100)
    classes = [clone(pipeline).set_params(anonymizer__k=k).fit(X, y)[0].recoding_.classes for k in (5, 100)]
    assert classes[0] > classes[1]


def test_numbers_as_target_are_regressed_and_labels_classified(frame: pd.DataFrame) -> None:
    X = frame.drop(columns="class")
    assert Anonymizer(threads=1).fit(X, frame["class"]).policy_.workload == (rk.workload.Classify("target"),)
    assert Anonymizer(threads=1).fit(X, X["loan"] / 3).policy_.workload == (rk.workload.Regress("target"),)
    asked = Anonymizer(threads=1, task="regress").fit(X, X["loan"])
    assert asked.policy_.workload == (rk.workload.Regress("target"),)
    assert Anonymizer(threads=1, task=None).fit(X, X["loan"]).policy_.workload == ()
    both = Anonymizer(threads=1).fit(X, np.column_stack([X["car"], X["elevel"]]))
    assert [task.target for task in both.policy_.workload] == ["target0", "target1"]
    make_pipeline(Anonymizer(threads=1), DecisionTreeRegressor()).fit(X, X["loan"] / 3).predict(X)


def test_every_kind_of_table_gives_the_same_regions(mixed: pd.DataFrame) -> None:
    arrow = pa.Table.from_pandas(mixed, preserve_index=False)
    expected = Anonymizer(k=5, threads=1).fit_transform(mixed)
    assert expected.shape == (200, 8)
    for X in (pl.from_pandas(mixed), arrow, mixed.to_numpy(dtype=object)):
        assert (Anonymizer(k=5, threads=1).fit_transform(X) == expected).all(), type(X)


def test_names_may_be_there_in_fit_or_in_transform_only(mixed: pd.DataFrame) -> None:
    array = mixed.to_numpy(dtype=object)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named = Anonymizer(k=5, threads=1).fit(mixed).transform(array)
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        unnamed = Anonymizer(k=5, threads=1).fit(array).transform(mixed)
    assert (named == unnamed).all()


def test_set_output_gives_named_columns(mixed: pd.DataFrame) -> None:
    fitted = Anonymizer(k=5, threads=1).set_output(transform="pandas").fit(mixed)
    shown = fitted.transform(mixed)
    names = ["age_min", "age_max", "height_min", "height_max", "sex_min", "sex_max", "born_min", "born_max"]
    assert shown.columns.tolist() == names
    assert shown.index.equals(mixed.index)
    assert (shown["age_min"] <= mixed["age"]).all()
    assert (shown["age_max"] >= mixed["age"]).all()
    assert isinstance(fitted.set_output(transform="polars").transform(mixed), pl.DataFrame)
    with pytest.raises(ValueError, match="input_features"):
        fitted.get_feature_names_out(["a", "b"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "numpy"])
def test_published_regions_come_in_the_kind_of_the_input(mixed: pd.DataFrame, kind: str) -> None:
    X = {"pandas": mixed, "polars": pl.from_pandas(mixed), "numpy": mixed.to_numpy(dtype=object)}[kind]
    fitted = Anonymizer(k=5, threads=1, regions="published").fit(X)
    shown = fitted.transform(X)
    assert type(shown) is type(X)
    assert shown.shape == X.shape
    rows = shown if kind == "numpy" else shown.to_numpy()
    counts = pd.Series(["|".join(map(str, row)) for row in rows]).value_counts()
    assert counts.min() >= 5
    assert len(counts) == fitted.recoding_.classes
    assert list(fitted.get_feature_names_out()) == (
        list(mixed.columns) if kind != "numpy" else ["x0", "x1", "x2", "x3"]
    )
    if kind == "pandas":
        assert shown.index.equals(mixed.index)


def test_records_that_cannot_be_placed_stay_and_are_marked(mixed: pd.DataFrame) -> None:
    strange = mixed.head(3).assign(sex=["f", "x", None])
    shown = Anonymizer(k=5, threads=1, regions="published").fit(mixed).transform(strange)
    assert (shown.iloc[1:] == "*").all(axis=None)
    assert (shown.iloc[0] != "*").any()
    corners = Anonymizer(k=5, threads=1).fit(mixed).transform(strange)
    assert corners[1].tolist() == corners[2].tolist()
    assert corners[1, :2].tolist() == [mixed["age"].min(), mixed["age"].max()]


def test_missing_values_are_no_error() -> None:
    X = np.array([[float(i % 9), np.nan if i % 4 == 0 else 1.0] for i in range(80)])
    numbers = Anonymizer(k=5, threads=1).fit_transform(X)
    assert numbers.shape == (80, 4)
    assert np.isfinite(numbers).all()


@pytest.mark.parametrize(
    ("cells", "task"),
    [
        (["a", None, "b", float("nan")], "classify"),
        ([1.5, float("nan"), 2.0, 3.0], "regress"),
        ([1, pd.NA, 2, 3], "classify"),
        ([1.0, 2.0, float("nan"), 1.0], "classify"),
        ([True, False, None, True], "classify"),
    ],
)
def test_records_without_y_do_not_count(cells: list[Any], task: str) -> None:
    X = np.arange(80).reshape(-1, 1)
    fitted = Anonymizer(k=5, threads=1).fit(X, pd.Series(cells * 20, dtype=object))
    assert [one.name for one in fitted.policy_.workload] == [task]
    assert fitted.certificate_.verification.holds


def test_columns_of_y_may_be_of_different_kinds(mixed: pd.DataFrame) -> None:
    fitted = Anonymizer(k=5, threads=1).fit(mixed[["age"]], mixed[["height", "sex"]])
    assert fitted.policy_.workload == (rk.workload.Regress("target0"), rk.workload.Classify("target1"))


def test_what_is_said_about_y_has_no_value_of_it() -> None:
    with pytest.raises(rk.errors.InputError, match=r"^y cannot be turned into a column: it mixes types\.$"):
        Anonymizer(k=5).fit(np.arange(80).reshape(-1, 1), np.array(["a", 77] * 40, dtype=object))


POLICY = {
    "columns": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier"},
        "height": {"role": "quasi-identifier"},
        "sex": {"role": "keep"},
        "ill": {"role": "sensitive"},
    },
    "privacy": [{"k-anonymity": {"k": 5}}, {"distinct-l-diversity": {"l": 2, "of": "ill"}}],
    "workload": [{"classify": {"target": "ill", "features": ["age", "height", "sex"]}}],
}


def test_a_policy_takes_its_target_from_y(mixed: pd.DataFrame) -> None:
    X = mixed[["age", "height", "sex"]]
    y = np.where(mixed["age"] > 50, "yes", "no")
    fitted = Anonymizer(POLICY, threads=1).fit(X, y)
    assert fitted.certificate_.verification.holds
    assert [finding.requirement.name for finding in fitted.certificate_.verification.findings] == [
        "k-anonymity",
        "distinct-l-diversity",
    ]
    assert list(fitted.get_feature_names_out()) == ["age_min", "age_max", "height_min", "height_max", "sex"]
    assert set(fitted.transform(X)[:, 4]) == {0.0, 1.0}
    shown = clone(fitted).set_params(regions="published").fit(X, y).transform(X)
    assert list(shown.columns) == ["age", "height", "sex"]
    assert shown["sex"].tolist() == X["sex"].tolist()
    with pytest.raises(rk.errors.PolicyError, match="target 'ill' is not a column of X; give 1"):
        Anonymizer(POLICY).fit(X)


def test_k_and_l_override_the_policy(mixed: pd.DataFrame) -> None:
    X, y = mixed[["age", "height", "sex"]], np.where(mixed["age"] > 50, "yes", "no")
    asked = Anonymizer(POLICY, k=20, l=2, threads=1).fit(X, y).policy_.privacy
    assert asked == (rk.privacy.KAnonymity(k=20), rk.privacy.DistinctLDiversity(l=2, of="ill"))
    only = {**POLICY, "privacy": [{"entropy-l-diversity": {"l": 1.5, "of": "ill"}}]}
    assert Anonymizer(only, k=7, threads=1).fit(X, y).policy_.privacy[-1] == rk.privacy.KAnonymity(k=7)
    with pytest.raises(rk.errors.PolicyError, match="no requirement of the policy has an l"):
        Anonymizer(l=2).fit(X)


def test_what_cannot_be_done_is_said(mixed: pd.DataFrame) -> None:
    X = mixed[["age", "height"]]
    with pytest.raises(rk.errors.InfeasibleError, match="k = 500"):
        Anonymizer(k=500).fit(X)
    with pytest.raises(rk.errors.InputError, match="regions must be one of 'corners'"):
        Anonymizer(regions="sides").fit(X)  # type: ignore[arg-type]
    with pytest.raises(rk.errors.InputError, match="task must be"):
        Anonymizer(task="rank").fit(X, mixed["sex"])  # type: ignore[arg-type]
    local = rk.Policy.quick(X.columns, qi=X.columns, k=5, method={"mondrian": {"relaxed": True}})
    with pytest.raises(rk.errors.PolicyError, match="has no recoding"):
        Anonymizer(local).fit(X)
    with pytest.raises(ValueError, match="feature names"):
        Anonymizer(k=5).fit(X).transform(mixed[["height", "age"]])


def test_what_is_fitted_holds_no_original_value(mixed: pd.DataFrame) -> None:
    """Not the records, nor the list of values that occur: only what the release publishes, and the edges of cuts."""
    secret = mixed.assign(height=mixed["height"] + draw_digits(len(mixed)))
    fitted = Anonymizer(k=50, threads=1).fit(secret, secret["sex"])
    saved = pickle.dumps(fitted)
    held = sum(np.float64(value).tobytes() in saved for value in secret["height"])
    assert held <= 3 * fitted.recoding_.classes
    again = pickle.loads(saved)
    assert (again.transform(secret) == fitted.transform(secret)).all()


def draw_digits(count: int) -> Any:
    return np.random.default_rng(1).random(count)


def test_importing_rothko_does_not_import_scikit_learn() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "import sys, rothko, rothko.cli; print('sklearn' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "False"


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("rothko.learn", "sklearn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    monkeypatch.delitem(vars(rk), "Anonymizer", raising=False)
    monkeypatch.delattr(rk, "learn", raising=False)
    with pytest.raises(rk.errors.MissingExtraError, match=r'pip install "rothko\[learn\]"'):
        rk.Anonymizer  # noqa: B018

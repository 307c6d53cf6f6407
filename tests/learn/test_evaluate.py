"""The protocol of the evaluation, its scores and its t-tests, and the command."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from scipy.stats import ttest_rel
from sklearn.metrics import accuracy_score, roc_auc_score

import rothko as rk
from rothko.data.source.source import Source
from rothko.generate.agrawal import agrawal
from rothko.learn import folds
from rothko.learn.evaluate import evaluate, recode
from rothko.learn.folds import deal
from rothko.learn.models import MODELS
from rothko.learn.regions import Original
from rothko.learn.scores import paired_t_test
from rothko.workload import Classify, Regress

QUASI = [name for name in agrawal(1).column_names if name != "class"]


def people(rows: int = 300, *, seed: int = 0) -> pa.Table:
    return agrawal(rows, function=2, target="R7", seed=seed)


def policy(*tasks: Any, k: int = 10) -> rk.Policy:
    asked = rk.Policy.quick([*QUASI, "class", "target"], qi=QUASI, keep=["class", "target"], k=k)
    return asked.but(workload=tasks or (Classify("class"),))


# ── the protocol


def test_the_recoding_never_sees_the_test_part(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[pa.Table] = []

    def watched(source: Source, *arguments: Any, **more: Any) -> Any:
        seen.append(source.read())
        return in_memory(source, *arguments, **more)

    in_memory = folds.in_memory
    monkeypatch.setattr(folds, "in_memory", watched)
    table = people().append_column("number", pa.array(range(300)))
    asked = policy()
    asked = asked.but(columns={**asked.columns, "number": {"role": "keep"}})
    evaluate(table, asked, models=["tree"], folds=3, threads=1)
    fold = deal(_codes(table["class"]), 300, 3, seed=0)
    assert len(seen) == 6  # three folds, the release and the median
    for i, trained in enumerate(seen):
        assert trained["number"].to_pylist() == np.flatnonzero(fold != i // 2).tolist()


def test_other_test_records_leave_the_recoding_as_it_is() -> None:
    train, test, other = people(seed=1), people(seed=2), people(seed=3)
    first, second = recode(train, test, policy()), recode(train, other, policy())
    assert (first[0] == second[0]).all()
    assert (first[1] != second[1]).any()
    again = recode(train, train, policy())
    assert (again[0] == again[1]).all()


def test_test_records_get_the_regions_of_the_training_part() -> None:
    train, test = people(seed=1), people(seed=2)
    known, asked, unplaced = recode(train, test, policy())
    assert unplaced == 0
    assert known.shape == asked.shape == (300, 18)
    assert {tuple(row) for row in asked} <= {tuple(row) for row in known}
    release = rk.anonymize(train, policy(), threads=1)
    assert len(np.unique(known, axis=0)) == release.certificate.verification.classes
    assert release.recoding is not None
    ages = [text.strip("[]").split(", ") for text in release.recoding.apply(test)["age"].to_pylist()]
    at = 2 * QUASI.index("age")
    assert asked[:, at : at + 2].tolist() == [[float(ends[0]), float(ends[-1])] for ends in ages]


def test_scores_are_those_of_a_protocol_by_hand() -> None:
    """Fold by fold, with nothing of the evaluation but its folds and its numbers."""
    table, asked = people(200), policy()
    found = evaluate(table, asked, models=["forest"], folds=4, seed=3, threads=1)[0]
    truth = np.array(table["class"].to_pylist())
    fold = deal(_codes(table["class"]), 200, 4, seed=3)
    for i in range(4):
        train, test = (table.take(np.flatnonzero(part)) for part in (fold != i, fold == i))
        y, z = truth[fold != i], truth[fold == i]
        original = Original.of(train, asked, QUASI)
        numbers = {
            "original": (original.numbers(train), original.numbers(test)),
            "release": recode(train, test, asked)[:2],
            "median": recode(train, test, asked.but(workload=()))[:2],
        }
        assert (numbers["original"][1] == np.column_stack([test[name].to_numpy() for name in QUASI])).all()
        for method, (known, unknown) in numbers.items():
            make = MODELS["forest"].classify
            assert make is not None
            model = make(3, 1).fit(known, y)
            scores = {metric: found.scores["forest", method, metric][i] for metric in found.metrics}
            assert scores["accuracy"] == accuracy_score(z, model.predict(unknown))
            assert scores["AUC"] == pytest.approx(roc_auc_score(z == "B", model.predict_proba(unknown)[:, 1]))


def test_folds_are_even_and_stratified() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 7])
    fold = deal(labels, 87, 5, seed=0)
    assert np.bincount(fold).max() - np.bincount(fold).min() <= 1
    for label in range(3):
        counts = np.bincount(fold[labels == label], minlength=5)
        assert counts.max() - counts.min() <= 1
    assert (deal(labels, 87, 5, seed=0) == fold).all()
    assert (deal(labels, 87, 5, seed=1) != fold).any()


def test_the_same_seed_gives_the_same_scores() -> None:
    first, second = (
        evaluate(people(120), policy(), models=["tree", "forest"], folds=3, regions="sample", threads=1)[0].to_dict()
        for _ in range(2)
    )
    assert first == second


# ── the t-test


def test_the_t_test_is_the_one_of_the_books() -> None:
    a, b = np.array([0.9, 0.85, 0.8, 0.95]), np.array([0.8, 0.8, 0.82, 0.85])
    difference, p = paired_t_test(a, b)
    # By hand: differences 0.1, 0.05, −0.02, 0.1; mean 0.0575, sd 0.05678908, t = 2.02504 with 3 degrees of freedom.
    assert difference == pytest.approx(0.0575)
    assert p == pytest.approx(0.13598, abs=1e-4)
    assert p == pytest.approx(ttest_rel(a, b).pvalue)


def test_scores_that_do_not_vary_are_equal_or_differ_for_sure() -> None:
    a = np.array([0.9, 0.8, 0.7])
    assert paired_t_test(a, a) == (0.0, 1.0)
    assert paired_t_test(a, a - 0.1) == (pytest.approx(0.1), 0.0)
    assert paired_t_test(np.zeros(3), np.zeros(3)) == (0.0, 1.0)


# ── what is asked for


def test_every_target_of_the_workload_is_evaluated() -> None:
    asked = policy(Classify("class"), Regress("target", features=("salary", "class")))
    label, number = evaluate(people(120), asked, folds=2, threads=1)
    assert (label.task, label.models) == ("classify", ("tree", "bayes", "forest", "svm", "linear", "boosting"))
    assert (number.task, number.models) == ("regress", ("tree", "forest", "linear", "boosting"))
    assert number.metrics == ("MAE", "R²")
    assert all(np.isfinite(scores).all() for one in (label, number) for scores in one.scores.values())
    only = evaluate(people(120), asked, models=["linear"], target="target", folds=2, threads=1)
    assert [one.target for one in only] == ["target"]
    assert len(number.comparisons()) == 4 * 2 * 3


def test_policies_may_be_compared_by_name() -> None:
    methods = {f"k = {k}": policy(k=k) for k in (5, 50)}
    found = evaluate(people(), policy(), models=["tree"], folds=2, methods=methods, threads=1)[0]
    assert found.methods == ("original", "k = 5", "k = 50")
    assert found.mean("tree", "original", "accuracy") > found.mean("tree", "k = 50", "accuracy")


def test_identifiers_missing_values_and_unknown_labels_are_no_obstacle() -> None:
    draw = np.random.default_rng(0)
    rows = 90
    table = pa.table(
        {
            "name": [f"n{i}" for i in range(rows)],
            "age": pa.array([None if i % 11 == 0 else int(i) for i in draw.integers(0, 50, rows)], pa.int64()),
            "job": [f"job {i}" if i < 5 else "clerk" for i in range(rows)],
            "class": [None if i % 30 == 0 else "abc"[i % 3] for i in range(rows)],
        }
    )
    asked = rk.Policy(
        columns={
            "name": {"role": "identifier"},
            "age": {"role": "quasi-identifier"},
            "job": {"role": "quasi-identifier"},
            "class": {"role": "sensitive"},
        },
        privacy=[{"k-anonymity": {"k": 5}}],
        workload=[Classify("class")],
        order="keep",
        publish="bounds",
    )
    found = evaluate(table, asked, folds=3, threads=1)[0]
    assert (found.records, found.left_out) == (87, 3)
    assert found.unplaced["release"] > 0
    assert all(np.isfinite(scores).all() for scores in found.scores.values())


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"policy": policy().but(workload=())}, rk.errors.PolicyError, "nothing to predict; say what with classify="),
        ({"target": "clas"}, rk.errors.PolicyError, "'clas' is not a target of the policy; did you mean 'class'?"),
        ({"models": ["j48"]}, rk.errors.InputError, "'j48' is not a model; there are 'tree'"),
        ({"policy": policy(Regress("target")), "models": ["svm"]}, rk.errors.InputError, "can regress target; there"),
        ({"policy": policy(Regress("class"))}, rk.errors.PolicyError, "'class' must hold numbers for what is asked of"),
        ({"folds": 1}, rk.errors.InputError, "folds must be a whole number of at least 2, not 1"),
        ({"folds": 40}, rk.errors.InputError, "40 folds need at least 80 records, and there are 60"),
        ({"regions": "sides"}, rk.errors.InputError, "'sides' is not a form of regions"),
        ({"policy": policy(k=50)}, rk.errors.InfeasibleError, "Fold 1 of 3, with 40 training records: .* k = 50"),
        ({"rows": 0}, rk.errors.InputError, "rows must be a whole number of at least 1"),
        (
            {"policy": policy().but(method={"mondrian": {"relaxed": True}}), "protocol": "regions"},
            rk.errors.PolicyError,
            "has no recoding, and test records cannot be placed",
        ),
    ],
)
def test_what_cannot_be_evaluated_is_said(changes: dict[str, Any], error: type[Exception], message: str) -> None:
    asked = {"policy": policy(), "models": ["tree"], "folds": 3, "threads": 1} | changes
    if "Regress" in repr(asked["policy"].workload) and "models" not in changes:
        asked["models"] = None
    with pytest.raises(error, match=message):
        evaluate(people(60), asked.pop("policy"), **asked)


def test_numbers_to_predict_may_be_written_as_text() -> None:
    """The numbers that `anonymize` makes the release for."""
    table = people(60)
    asked = policy(Regress("target"))
    numbers = table["target"].to_pylist()
    as_text = table.set_column(table.column_names.index("target"), "target", pa.array([f"{x:012}" for x in numbers]))
    found, same = (evaluate(t, asked, models=["tree"], folds=3, threads=1)[0] for t in (table, as_text))
    assert found.mean("tree", "original", "MAE") == same.mean("tree", "original", "MAE")


@pytest.mark.parametrize("largest", [np.inf, 1e300])
def test_numbers_that_have_no_square_are_said(largest: float) -> None:
    table = people(60)
    numbers = pa.array([largest, *np.arange(59.0)])
    table = table.set_column(table.column_names.index("target"), "target", numbers)
    with pytest.raises(rk.errors.RothkoError, match=r"'target' has (infinite )?numbers"):
        evaluate(table, policy(Regress("target")), models=["tree"], folds=3, threads=1)


def test_a_label_that_is_too_rare_or_alone_is_said() -> None:
    rare = people(60).set_column(9, "class", pa.array(["A"] * 58 + ["B"] * 2))
    with pytest.raises(rk.errors.InputError, match=r"has one label only, since all labels .* have 2 records together"):
        evaluate(rare, policy(), models=["tree"], folds=3, threads=1)
    alone = people(60).set_column(9, "class", pa.array(["A"] * 60))
    with pytest.raises(rk.errors.InputError, match="'class' has one label only; there is nothing to predict"):
        evaluate(alone, policy(), models=["tree"], folds=3, threads=1)


def _codes(column: pa.ChunkedArray) -> Any:
    return np.unique(column.to_pylist(), return_inverse=True)[1]


# ── the command


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Any]:
    from rothko.cli import main

    pa.csv.write_csv(people(200), tmp_path / "people.csv")
    policy().save(tmp_path / "policy.yaml")
    monkeypatch.chdir(tmp_path)

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(
            sys, "argv", ["rothko", "evaluate", "people.csv", "--policy", "policy.yaml", "--threads", "1", *words]
        )
        monkeypatch.setattr("warnings.showwarning", lambda *_: None)
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


def test_the_command_prints_a_table(run: Callable[..., Any]) -> None:
    code, out, _ = run("--models", "tree,bayes", "--folds", "3")
    lines = out.splitlines()
    assert code == 0
    assert lines[0] == "classify class: 3 folds of 200 records, regions as corners"
    assert lines[1].split() == ["metric", "model", "original", "release", "median"]
    assert [line.split()[:2] for line in lines[2:8:2]] == [["accuracy", "tree"], ["macro-F1", "tree"], ["AUC", "tree"]]
    assert lines[2].count("±") == 3
    assert lines[-1] == "differs, p < 0.05 (paired t-test over the folds): * from original; † from release"


def test_the_command_gives_json_and_takes_a_task(run: Callable[..., Any]) -> None:
    code, out, _ = run("--regress", "target", "--models", "linear", "--folds", "2", "--rows", "150", "--json")
    assert code == 0
    (found,) = json.loads(out)["tasks"]
    assert (found["task"], found["target"], found["records"]) == ("regress", "target", 150)
    assert {(s["model"], s["method"]) for s in found["scores"]} == {
        ("linear", "original"),
        ("linear", "release"),
        ("linear", "median"),
    }
    assert {"model", "metric", "method", "against", "difference", "p"} == set(found["comparisons"][0])


def test_the_command_says_what_is_wrong(run: Callable[..., Any]) -> None:
    assert run("--models", "j48")[::2] == (
        2,
        "Error: 'j48' is not a model; there are 'tree', 'bayes', 'forest', 'svm', 'linear', 'boosting'.\n",
    )
    assert run("--classify", "class", "--target", "class")[0] == 2

"""The rows of a release as a model is shown them, and the second protocol: every method, trained on its release."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import rothko as rk
from rothko.data.source.source import Source
from rothko.learn import folds
from rothko.learn.encoding import Encoding, Labels, Numbers
from rothko.learn.evaluate import evaluate
from rothko.learn.folds import deal
from rothko.learn.recipient import Released
from rothko.learn.regions import Original
from rothko.methods import METHODS
from tests.command import Rothko

CITIES = {"north": ["Oslo", "Umea"], "south": ["Bari", "Nice", "Rome"]}
LINE = [city for cities in CITIES.values() for city in cities]


def people(rows: int = 240, *, seed: int = 0) -> pa.Table:
    """Whoever is from Oslo or Rome, and above 40, is ill, most of the time."""
    draw = np.random.default_rng(seed)
    ages, cities = draw.integers(20, 60, rows), np.array(LINE)[draw.integers(0, 5, rows)]
    ill = np.isin(cities, ["Oslo", "Rome"]) & (ages >= 40) ^ (draw.random(rows) < 0.05)
    return pa.table(
        {
            "age": ages,
            "city": cities,
            "blood": np.array(["0", "A", "AB", "B"])[draw.integers(0, 4, rows)],
            "number": np.arange(rows),
            "ill": np.where(ill, "yes", "no"),
            "cost": ages * 10.0 + draw.random(rows),
        }
    )


def policy(method: Any = "mondrian", k: int = 5, **more: Any) -> rk.Policy:
    return rk.Policy(
        columns={
            "age": {"role": "quasi-identifier"},
            "city": {"role": "quasi-identifier", "hierarchy": {"tree": CITIES}},
            "blood": {"role": "quasi-identifier"},
            "number": {"role": "keep"},
            "ill": {"role": "sensitive"},
            "cost": {"role": "keep"},
        },
        privacy=[{"k-anonymity": {"k": k}}],
        workload=more.pop("workload", [{"classify": {"target": "ill"}}]),
        method=method,
        **more,
    )


def test_rows_are_read_as_a_person_reads_them() -> None:
    """Ranges by their ends, nodes of a hierarchy by the leaves below, sets by their members."""
    table, asked = people(), policy("cluster", k=7, workload=[])
    original = Original.of(table, asked, ["age", "city", "blood"])
    rows = rk.anonymize(table, asked, threads=1).arrow
    age, city, blood = Released(original, "corners").view(rows)
    assert isinstance(age, Numbers)
    assert isinstance(city, Labels)
    assert isinstance(blood, Labels)
    shares = [feature.mean(np.eye(feature.size)) for feature in (city, blood)]
    for i, row in enumerate(rows.to_pylist()):
        ends = row["age"].strip("[]").split(", ")
        assert age.values[i].tolist() == [float(ends[0]), float(ends[-1])]
        cities = CITIES.get(row["city"], LINE if row["city"] == "*" else [row["city"]])
        assert shares[0][i] == pytest.approx([(name in cities) / len(cities) for name in LINE])
        groups = row["blood"].strip("{}").split(", ") if row["blood"] != "*" else ["0", "A", "AB", "B"]
        assert shares[1][i] == pytest.approx([(name in groups) / len(groups) for name in ["0", "A", "AB", "B"]])


def test_the_forms_of_a_range() -> None:
    table, asked = people(), policy("hilbert", workload=[])
    original = Original.of(table, asked, ["age"])
    rows = rk.anonymize(table, asked, threads=1).arrow
    ends, half, drawn = (Released(original, form).view(rows)[0] for form in ("corners", "midpoint", "sample"))
    assert isinstance(ends, Numbers)
    assert isinstance(half, Numbers)
    assert isinstance(drawn, Numbers)
    assert (half.values[:, 0] == ends.values.mean(axis=1)).all()
    assert ((drawn.values[:, 0] >= ends.values[:, 0]) & (drawn.values[:, 0] <= ends.values[:, 1])).all()
    exact, unknown = original.view(table, corners=True)
    assert isinstance(exact[0], Numbers)
    assert (exact[0].values == table["age"].to_numpy()[:, None]).all()
    assert unknown == 0


def test_missing_values_are_a_label_of_their_own_and_stars_are_any() -> None:
    table = people().set_column(2, "blood", pa.array([None if i % 3 == 0 else "AB"[i % 2] for i in range(240)]))
    asked = policy("cluster", k=40, workload=[])
    original = Original.of(table, asked, ["blood"])
    exact = original.view(table)[0][0]
    assert isinstance(exact, Labels)
    assert exact.size == 3
    assert exact.mean(np.eye(3))[0].tolist() == [0, 0, 1]
    rows = rk.anonymize(table, asked, threads=1).arrow
    shown = Released(original, "midpoint").view(rows)[0]
    assert isinstance(shown, Labels)
    shares = {text: tuple(row) for text, row in zip(rows["blood"].to_pylist(), shown.mean(np.eye(3)), strict=True)}
    told = {None: (0, 0, 1), "A": (1, 0, 0), "B": (0, 1, 0), "{A, B}": (0.5, 0.5, 0), "*": (1 / 3, 1 / 3, 1 / 3)}
    assert shares == {text: pytest.approx(told[text]) for text in shares}


@pytest.mark.parametrize("method", [name for name in METHODS if name != "anatomy"])
def test_every_method_can_be_learned_from(method: str) -> None:
    asked = policy({"cluster": {"effort": "fast"}} if method == "cluster" else method)
    found = evaluate(people(), asked, models=["tree", "linear"], folds=3, protocol="release", threads=1)[0]
    assert (found.protocol, found.regions) == ("release", "midpoint")
    assert found.methods == ("original", "release", "plain" if method == "cluster" else "median")
    assert found.mean("tree", "original", "accuracy") > 0.85
    for model in ("tree", "linear"):
        assert 0.5 < found.mean(model, "release", "accuracy") <= 1


def test_a_method_without_recoding_is_trained_on_its_release_unasked() -> None:
    found = evaluate(people(), policy("hilbert"), models=["tree"], folds=2, threads=1)[0]
    assert found.protocol == "release"
    found = evaluate(people(), policy(), models=["tree"], folds=2, threads=1)[0]
    assert (found.protocol, found.regions) == ("regions", "corners")
    found = evaluate(people(), policy("auto"), models=["tree"], folds=2, protocol="regions", threads=1)[0]
    assert found.methods[-1] == "median"


def test_the_release_never_sees_the_test_part(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[pa.Table] = []

    def watched(source: Source, *arguments: Any, **more: Any) -> Any:
        seen.append(source.read())
        return in_memory(source, *arguments, **more)

    in_memory = folds.in_memory
    monkeypatch.setattr(folds, "in_memory", watched)
    table = people()
    evaluate(table, policy("hilbert"), models=["tree"], folds=3, threads=1)
    fold = deal(np.unique(table["ill"].to_pylist(), return_inverse=True)[1], 240, 3, seed=0)
    assert len(seen) == 6  # three folds, the release and the median
    for i, trained in enumerate(seen):
        assert trained["number"].to_pylist() == np.flatnonzero(fold != i // 2).tolist()


def test_where_nothing_is_lost_rows_are_those_of_the_original_with_their_target() -> None:
    """Everybody is there twice, and k = 2: the release is the table in another order."""
    table = pa.concat_tables([people(120), people(120)])
    asked = policy("hilbert", k=2, workload=[])
    original = Original.of(table, asked, ["age", "city", "blood"])
    release = rk.anonymize(table, asked, threads=1)
    assert release.certificate.loss.gcp == 0
    views = original.view(table)[0], Released(original, "midpoint").view(release.arrow)
    rows = []
    for view, own in zip(views, (table, release.arrow), strict=True):
        target = np.array(own["ill"].to_pylist()) == "yes"
        numbers = Encoding.learned(view, target.astype(int), "effects", labels=True).numbers(view)
        rows.append(sorted(map(tuple, np.column_stack([numbers, target]).round(9).tolist())))
    assert rows[0] == rows[1]


def test_numbers_are_predicted_from_a_release_too() -> None:
    asked = policy({"cluster": {"effort": "fast"}}, workload=[{"regress": {"target": "cost"}}])
    found = evaluate(people(), asked, models=["linear", "boosting"], folds=3, threads=1)[0]
    assert found.mean("linear", "original", "R²") > 0.99
    assert found.mean("linear", "release", "R²") > 0.9
    assert found.mean("boosting", "release", "R²") > 0.8


def test_labels_that_were_not_there_in_training_are_counted() -> None:
    table = people().set_column(2, "blood", pa.array([f"rare {i}" if i < 4 else "A" for i in range(240)]))
    found = evaluate(table, policy("hilbert"), models=["tree"], folds=3, threads=1)[0]
    assert found.unplaced == {"release": 4, "median": 4}


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(rk.errors.InputError, match="'exact' is not a protocol; there are 'regions', 'release'"):
        evaluate(people(), policy(), protocol="exact")  # type: ignore[arg-type]
    with pytest.raises(rk.errors.InputError, match="which a recipient of ranges does not have"):
        evaluate(people(), policy(), protocol="release", regions="mean")
    with pytest.raises(rk.errors.InputError, match="edges needs the cuts of the recoding"):
        evaluate(people(), policy(), protocol="release", regions="edges")
    with pytest.raises(rk.errors.PolicyError, match=r"hilbert .*has no recoding.*\(protocol='release'\)"):
        evaluate(people(), policy("hilbert"), models=["tree"], folds=2, protocol="regions", threads=1)
    with pytest.raises(rk.errors.PolicyError, match="anatomy"):
        evaluate(people(), policy("anatomy"), models=["tree"], folds=2, threads=1)


def test_the_command_takes_a_protocol(rothko: Rothko, folder: Any) -> None:
    pa.csv.write_csv(people(), folder / "people.csv")
    policy("hilbert").save(folder / "policy.yaml")
    words = ("evaluate", "people.csv", "--policy", "policy.yaml", "--models", "tree", "--folds", "2", "--threads", "1")
    told = rothko(*words)
    first = told.out.splitlines()[0]
    assert first == (
        "classify ill: 2 folds of 240 records, trained on the release, tested on exact records, ranges as midpoint"
    )
    (found,) = json.loads(rothko(*words, "--protocol", "release", "--regions", "corners", "--json").out)["tasks"]
    assert (found["protocol"], found["regions"]) == ("release", "corners")
    assert rothko(*words, "--protocol", "region").code == 2
    assert ", regions as corners" in rothko(*words, "--method", "mondrian").out.splitlines()[0]
    assert rothko(*words, "--method", "mondrian,hilbert").code == 2
    unfiled = ("evaluate", "people.csv", "--qi", "age,city", "--k", "5", "--classify", "ill", *words[4:])
    told = rothko(*unfiled).out.splitlines()
    assert "trained on the release" in told[0]
    assert told[1].split() == ["metric", "model", "original", "release", "plain"]
    told = rothko(*unfiled, "--method", "cluster effort=fast repair=true").out.splitlines()
    assert told[1].split() == ["metric", "model", "original", "release", "plain"]

"""What a release is worth for its workload: read back from its rows, against plain loops over the same rows.

The loops see the table that was released and the original, as a reader of the release and its steward do.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.typed import typed
from rothko.release.loss import AggregateLoss, Answer, ClassifyLoss, RegressLoss, SelectLoss
from rothko.release.recoding import recoding as recoding_module

unhurried = settings(deadline=None, max_examples=60)
FORMS = ("range", "region", "bounds", "mean")
PARTS = {"north": ["a", "b"], "south": ["c", "d"]}
FUNCTIONS = ("count", "sum", "avg", "min", "max")

Row = dict[str, Any]


def policy(publish: str, workload: list[dict[str, Any]], **changes: Any) -> rk.Policy:
    return rk.Policy(
        columns={
            "age": {"role": "quasi-identifier"},
            "city": {"role": "quasi-identifier"},
            "part": {"role": "quasi-identifier", "hierarchy": {"tree": PARTS}},
            "label": {"role": "keep"},
            "pay": {"role": "sensitive"},
        },
        privacy=[{"k-anonymity": {"k": 2}}],
        publish=publish,
        workload=workload,
        **changes,
    )


@st.composite
def tables(draw: st.DrawFn, *, missing: bool = True) -> pa.Table:
    n = draw(st.integers(4, 24))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        values = st.one_of(values, st.none()) if missing and draw(st.booleans()) else values
        return draw(st.lists(values, min_size=n, max_size=n))

    table = {
        "age": pa.array(column(st.integers(20, 30)), pa.int64()),
        "city": pa.array(column(st.sampled_from(["Oslo", "Rome", "Bern", "{x, y}"])), pa.string()),
        "part": pa.array(column(st.sampled_from("abcd")), pa.string()),
        "label": pa.array(column(st.sampled_from(["no", "yes", "who knows"])), pa.string()),
        "pay": pa.array(column(st.integers(-3, 9)), pa.int64()),
    }
    for name, values in table.items():
        assume(len(set(values.to_pylist()) - {None}) > (name in ("label", "pay")))
    return pa.table(table)


@st.composite
def queries(draw: st.DrawFn, table: pa.Table) -> tuple[str, Callable[[Row], bool], list[dict[str, Callable]]]:
    """A predicate, what it says of a record, and as alternatives what it says of each column."""
    ages = sorted(set(table["age"].to_pylist()) - {None})
    cities = sorted(set(table["city"].to_pylist()) - {None})
    age, city = draw(st.sampled_from(ages)), draw(st.sampled_from(cities))
    by_age = lambda value: value is not None and value >= age  # noqa: E731
    by_city = lambda value: value == city  # noqa: E731
    by_part = lambda value: value in ("a", "b")  # noqa: E731
    asked = draw(st.sampled_from(["age", "city", "both", "either", "part"]))
    if asked == "part":
        assume({"a", "b"} & set(table["part"].to_pylist()))
    where, alternatives = {
        "age": (f"age >= {age}", [{"age": by_age}]),
        "city": (f"city = '{city}'", [{"city": by_city}]),
        "both": (f"age >= {age} and city = '{city}'", [{"age": by_age, "city": by_city}]),
        "either": (f"age >= {age} or city = '{city}'", [{"age": by_age}, {"city": by_city}]),
        "part": ("part = 'north'", [{"part": by_part}]),
    }[asked]
    return where, lambda row: any(all(test(row[c]) for c, test in one.items()) for one in alternatives), alternatives


# ── the release, read by a person ────────────────────────────────────────────────────────────────


def possible(row: Row, name: str, original: list[Row], publish: str) -> set[Any] | None:
    """The values of the original that a released row may stand for; None where a mean is all it shows."""
    values = {other[name] for other in original}
    if f"{name}_min" in row:
        low, high = row[f"{name}_min"], row[f"{name}_max"]
        if low is not None:
            return {v for v in values if v is not None and low <= v <= high}
        return values if publish in ("bounds", "mean") else possible_by(row[name], values, name)
    return possible_by(row[name], values, name)


def possible_by(label: Any, values: set[Any], name: str) -> set[Any] | None:
    if isinstance(label, float):
        return None
    if label is None:
        return {None}
    if label == "*":
        return values
    if name == "part":
        return {v for v in values if v in PARTS.get(label, [label])}
    if name == "city":
        words = re.findall(r'"[^"]*"|[^,{} ]+', label)
        return {v for v in values if v in [word.strip('"') for word in words]}
    if label[0] not in "[(":
        return {int(label)}
    low, high = (float(end) for end in label[1:-1].split(", "))
    return {v for v in values if v is not None and low <= v and (v <= high if label[-1] == "]" else v < high)}


def returned(row: Row, alternatives: list[dict[str, Callable]], original: list[Row], publish: str) -> bool:
    return any(
        all(any(map(test, possible(row, name, original, publish) or ())) for name, test in one.items())
        for one in alternatives
    )


def rows_of(release: rk.Release) -> list[Row]:
    return release.table.to_pylist()


def key(row: Row) -> tuple[Any, ...]:
    return tuple(value for name, value in row.items() if name not in ("label", "pay"))


# ── models ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("publish", FORMS)
@given(table=tables())
@unhurried
def test_models(publish: str, table: pa.Table) -> None:
    asked = policy(publish, [{"classify": {"target": "label"}}, {"regress": {"target": "pay"}}])
    release = rk.anonymize(table, asked, threads=1)
    label, pay = rk.measure(table, release, threads=1).workload
    rows = rows_of(release)
    labelled = [(key(row), row["label"]) for row in rows if row["label"] is not None]
    sizes, pairs = Counter(k for k, _ in labelled), Counter(labelled)
    entropy = -sum(n * math.log2(n / sizes[k]) for (k, _), n in pairs.items()) / len(labelled)
    most = sum(max(n for (other, _), n in pairs.items() if other == k) for k in sizes)
    assert isinstance(label, ClassifyLoss)
    assert label.conditional_entropy == pytest.approx(entropy, abs=1e-9)
    assert -1e-12 <= label.conditional_entropy <= label.entropy + 1e-12
    assert label.classification_metric == pytest.approx(1 - most / len(labelled))
    paid = [(key(row), row["pay"]) for row in rows if row["pay"] is not None]
    sums, counts = Counter(), Counter(k for k, _ in paid)
    for k, x in paid:
        sums[k] += x
    assert isinstance(pay, RegressLoss)
    assert pay.wmse == pytest.approx(sum((x - sums[k] / counts[k]) ** 2 for k, x in paid) / len(paid), abs=1e-9)
    assert pay.wmse <= pay.variance + 1e-9
    if not any(None in table[name].to_pylist() for name in ("age", "city", "part")):
        # Where two classes show the same, the release has fewer classes than the method made.
        certified = release.certificate.loss.workload
        assert [task.to_dict() for task in certified] == [label.to_dict(), pay.to_dict()]


def test_a_model_sees_its_features_only() -> None:
    table = {"age": [1, 1, 2, 2], "city": ["a", "b", "a", "b"], "label": ["x", "y", "x", "y"]}
    table = {name: values * 2 for name, values in table.items()}

    def entropy(features: list[str] | None) -> float:
        spec = {"target": "label"} if features is None else {"target": "label", "features": features}
        asked = rk.Policy.quick(table, qi=["age", "city"], keep_rest=True, k=2).but(workload=[{"classify": spec}])
        exact = {name: [str(value) for value in values] for name, values in table.items()}
        return rk.measure(table, exact, asked).workload[0].conditional_entropy

    assert entropy(None) == 0
    assert entropy(["city"]) == 0
    assert entropy(["age"]) == 1


# ── queries ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("publish", FORMS)
@given(data=st.data())
@unhurried
def test_selection(publish: str, data: st.DataObject) -> None:
    table = data.draw(tables())
    where, says, alternatives = data.draw(queries(table))
    # The label puts the cities in the order of its mean; selecting must not depend on it.
    tasks = data.draw(st.sampled_from([[], [{"classify": {"target": "label"}}]]))
    release = rk.anonymize(table, policy(publish, [*tasks, {"select": {"where": where}}]), threads=1)
    found = rk.measure(table, release, threads=1).workload[-1]
    certified = release.certificate.loss.workload[-1]
    assert isinstance(found, SelectLoss)
    original = table.to_pylist()
    matching = sum(map(says, original))
    assert found.matching == matching
    if publish == "mean" and any("age" in one for one in alternatives):
        assert (found.returned, found.imprecision) == (None, None)
        assert "age is published as a mean" in found.why
        return
    assert found.returned == sum(returned(row, alternatives, original, publish) for row in rows_of(release))
    assert found.imprecision == found.returned - found.matching >= 0
    smallest = release.certificate.loss.smallest_class
    if certified.matching is None:
        assert (certified.returned, certified.imprecision) == (found.returned, None)
        return
    assert certified == found
    assert found.imprecision == 0 or min(matching, len(original) - matching, found.imprecision) >= smallest


@pytest.mark.parametrize("publish", FORMS)
@given(data=st.data())
@unhurried
def test_aggregates(publish: str, data: st.DataObject) -> None:
    table = data.draw(tables())
    where, says, alternatives = data.draw(queries(table))
    asked = policy(publish, [{"aggregate": {"of": "age"}}, {"select": {"where": where}}])
    release = rk.anonymize(table, asked, threads=1)
    assert release.certificate.verification.holds
    found = rk.measure(table, release, threads=1).workload[0]
    assert isinstance(found, AggregateLoss)
    assert [(one.function, one.where) for one in found.answers] == [(f, w) for w in (None, where) for f in FUNCTIONS]
    original, rows = table.to_pylist(), rows_of(release)
    for one in found.answers:
        some = [row for row in original if one.where is None or says(row)]
        few = [row for row in rows if one.where is None or returned(row, alternatives, original, publish)]
        ages = [row["age"] for row in some if row["age"] is not None]
        assert one.truth == (len(some) if one.function == "count" else pytest.approx(plain(one.function, ages)))
        check_answer(one, few, publish)


def plain(function: str, numbers: list[float]) -> float | None:
    if not numbers:
        return None
    return {"sum": sum, "avg": lambda x: sum(x) / len(x), "min": min, "max": max}[function](numbers)


def check_answer(one: Answer, rows: list[Row], publish: str) -> None:
    """From the rows that a selection returns, each with the statistics of its class."""
    if one.function == "count":
        assert (one.answer, one.unanswered) == (len(rows), 0)
        return
    if one.function in ("sum", "avg"):
        shown = [row["age" if publish == "mean" else "age_mean"] for row in rows]
    elif publish == "range":
        index = 0 if one.function == "min" else -1
        shown = [None if row["age"] in ("*", None) else int(re.findall(r"\d+", row["age"])[index]) for row in rows]
    else:
        shown = [row[f"age_{one.function}"] for row in rows]
    assert one.answer == pytest.approx(plain(one.function, [x for x in shown if x is not None]))
    labels = [row.get("age") for row in rows] if publish in ("range", "region") else ["?"] * len(rows)
    assert one.unanswered == sum(x is None and label is not None for x, label in zip(shown, labels, strict=True))


@pytest.mark.parametrize("publish", FORMS)
@given(table=tables(missing=False))
@unhurried
def test_whole_table_aggregates_are_exact(publish: str, table: pa.Table) -> None:
    release = rk.anonymize(table, policy(publish, [{"aggregate": {"of": "age"}}]), threads=1)
    for one in rk.measure(table, release, threads=1).workload[0].answers:
        assert one.answer == pytest.approx(one.truth, rel=1e-12)
        assert one.unanswered == 0


def test_a_release_of_exact_data_answers_exactly() -> None:
    table = {"age": [20, 20, 30, 40], "city": ["a", "b", "a", "b"]}
    asked = rk.Policy.quick(table, qi=["age", "city"], k=2).but(
        workload=[
            {"select": {"where": "age >= 30 and city = 'a'"}},
            {"aggregate": {"of": "age", "functions": ["count", "min", "max", "avg"]}},
        ]
    )
    exact = {"age": ["20", "20", "30", "40"], "age_mean": [20.0, 20.0, 30.0, 40.0], "city": table["city"]}
    select, aggregate = rk.measure(table, exact, asked).workload
    assert (select.returned, select.matching, select.imprecision) == (1, 1, 0)
    assert all(one.answer == one.truth and one.error == 0 for one in aggregate.answers)


def test_a_release_without_the_statistics_has_no_answer() -> None:
    table = {"age": [20, 30, 40, 60]}
    asked = rk.Policy.quick(table, qi=["age"], k=2, publish="region").but(workload=[{"aggregate": {"of": "age"}}])
    bare = {"age": ["(-inf, 40)"] * 2 + ["[40, inf)"] * 2}
    by_function = {one.function: one for one in rk.measure(table, bare, asked).workload[0].answers}
    assert by_function["count"].answer == 4
    for function in ("sum", "avg", "min", "max"):
        assert (by_function[function].answer, by_function[function].unanswered) == (None, 4)


def test_a_mean_alone_has_no_width() -> None:
    table = pa.table({"age": [20, 30, 40, 60], "city": ["a", "b", "a", "b"]})
    asked = rk.Policy.quick(table.column_names, qi=["age", "city"], k=2, publish="mean")
    lost = rk.measure(table, rk.anonymize(table, asked, threads=1))
    assert math.isnan(lost.ncp["age"])
    assert not math.isnan(lost.ncp["city"])
    assert lost.to_dict()["gcp"] is None
    ranged = asked.but(workload=[{"aggregate": {"of": "age", "functions": ["max"]}}])
    release = rk.anonymize(table, ranged, threads=1)
    assert rk.measure(table, release).gcp == pytest.approx(release.certificate.loss.gcp)


# ── what goes with the release ───────────────────────────────────────────────────────────────────


def test_the_certificate_has_no_answer_of_the_original() -> None:
    """Nor an error: with the release's own answer it would give the true one."""
    table = pa.table({"age": [20, 30, 40, 61, 75, None], "city": list("abcabc")})
    asked = rk.Policy.quick(table.column_names, qi=["age", "city"], k=2).but(
        workload=[{"select": {"where": "age = 75"}}, {"aggregate": {"of": "age"}}]
    )
    release = rk.anonymize(table, asked, threads=1)
    select, aggregate = release.certificate.to_dict()["loss"]["workload"]
    assert (select["matching"], select["imprecision"]) == (None, None), "one record has that age"
    assert {(one["truth"], one["answer"], one["error"]) for one in aggregate["answers"]} == {(None, None, None)}
    assert release.certificate.loss.workload[1].is_public
    told = rk.measure(table, release).to_dict()["workload"]
    assert told[0]["matching"] == 1
    assert told[1]["answers"][4]["truth"] == 75
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("publish", FORMS)
def test_files_are_measured_as_tables_are(publish: str, ending: str, tmp_path: Path) -> None:
    table = pa.table(
        {
            "age": [20, 20, 25, 31, 31, 44, 44, 60, None, None],
            "city": ["a", "b"] * 5,
            "part": list("abcdabcdab"),
            "label": ["x", "y", "x", "x", "y"] * 2,
            "pay": [1.5, 2, 3, None, 5, 6, 7, 8, 9, 10],
        }
    )
    pq.write_table(table, tmp_path / "table.parquet")
    asked = policy(
        publish,
        [
            {"classify": {"target": "label"}},
            {"regress": {"target": "pay"}},
            {"select": {"where": "part = 'north'"}},
            {"aggregate": {"of": "age"}},
        ],
    )
    release = rk.anonymize(tmp_path / "table.parquet", asked, threads=1)
    saved = release.save(tmp_path / f"release{ending}")
    from_file = rk.measure(tmp_path / "table.parquet", saved.data, asked)
    assert from_file.to_dict() == rk.measure(table, release).to_dict()
    assert rk.check(saved.data, asked).holds


# ── statistics in the rest of the release ────────────────────────────────────────────────────────


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("publish", FORMS)
@given(table=tables())
@settings(deadline=None, max_examples=25)
def test_a_recoding_brings_the_statistics_of_the_class(publish: str, large: bool, table: pa.Table) -> None:
    import tempfile

    tasks = [{"classify": {"target": "label"}}, {"aggregate": {"of": "age"}}]
    release = rk.anonymize(table, policy(publish, tasks), threads=1)
    classes = release.recoding.place(typed(table, release.certificate.policy))
    names = [name for name in release.classes.column_names if name != "records"]
    expected = release.classes.select(names).take(pa.array(classes)).to_pylist()
    assert release.recoding.apply(table).select(names).to_pylist() == expected
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recoding_module, "LARGE", 0 if large else 1000)
        release.recoding.save(Path(folder, "recoding.json"))
        loaded = rk.Recoding.load(Path(folder, "recoding.json"))
    assert loaded.apply(table).equals(release.recoding.apply(table))


def test_statistics_tell_classes_apart_for_the_checker() -> None:
    """Two classes with the same range and other means: who reads the file can tell them apart."""
    asked = rk.Policy.quick(["age"], qi=["age"], k=4).but(workload=[{"aggregate": {"of": "age"}}])
    shown = {"age": ["[20, 30]"] * 6, "age_mean": [22.0] * 3 + [27.0] * 3}
    [finding] = rk.check(shown, asked).verification.findings
    assert (finding.classes, finding.achieved, finding.holds) == (2, 3, False)


@pytest.mark.parametrize("publish", FORMS)
def test_a_column_that_is_called_like_a_statistic_is_refused(publish: str) -> None:
    name = "age_max" if publish in ("bounds", "region", "mean") else "age_mean"
    table = pa.table({"age": [1, 1, 2, 2], name: [5, 6, 7, 8]})
    asked = rk.Policy.quick(table.column_names, qi=["age"], keep=name, k=2, publish=publish).but(
        workload=[{"aggregate": {"of": "age"}}]
    )
    with pytest.raises(rk.errors.PolicyError, match=f"two columns '{name}'"):
        rk.anonymize(table, asked, threads=1)


@pytest.mark.parametrize(
    ("column", "spec", "message"),
    [
        (["a", "b"] * 2, {}, "needs numbers, and 'q' holds string"),
        ([1, 2] * 2, {"hierarchy": {"mask": "right"}}, "hierarchy is all that its classes show"),
        ([1, 2] * 2, {"order": ["1", "2"]}, "needs numbers, and 'q' holds string"),
        ([True, False] * 2, {}, "needs numbers, and 'q' holds bool"),
    ],
)
def test_aggregates_need_numbers(column: list[Any], spec: dict[str, Any], message: str) -> None:
    asked = rk.Policy(
        columns={"q": {"role": "quasi-identifier", **spec}},
        privacy=[{"k-anonymity": {"k": 2}}],
        workload=[{"aggregate": {"of": "q"}}],
    )
    with pytest.raises(rk.errors.PolicyError, match=message):
        rk.anonymize(pa.table({"q": column}), asked, threads=1)


def test_every_field_is_described() -> None:
    table = {"age": [1, 2, 3, 4], "pay": [1, 2, 3, 4]}
    tasks = [{"classify": {"target": "pay"}}, {"regress": {"target": "pay"}}]
    tasks += [{"select": {"where": "age > 2"}}, {"aggregate": {"of": "age"}}]
    release = rk.anonymize(table, rk.Policy.quick(table, qi=["age"], keep="pay", k=2).but(workload=tasks))
    docs = Path(__file__).parents[2] / "docs/reference/certificate.md"
    described = set(re.findall(r"`(\w+)`", docs.read_text("utf-8").split("### workload")[1].split("## recoding")[0]))
    entries = [task.to_dict() for task in release.certificate.loss.workload]
    fields = {field for entry in [*entries, *entries[3]["answers"]] for field in entry}
    assert fields | {entry["task"] for entry in entries} == described

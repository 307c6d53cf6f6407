"""Recodings of every column by itself: from a table to a verified file, to new rows, to SQL and to hierarchies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.errors import PolicyError
from rothko.release.recoding import recoding as recoding_module
from rothko.release.recoding.recoding import ColumnRecoding, Recoding
from tests.strategies.kinds import KINDS, of_kind
from tests.strategies.labelled import Asked, tables
from tests.strategies.tables import unhurried

FORMS = ("range", "region", "mean", "bounds")


def rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return sorted(tuple(map(repr, row.values())) for row in table.to_pylist())


def by_sql(recoding: Recoding, table: pa.Table) -> pa.Table:
    with duckdb.connect() as connection:
        connection.register("records", table)
        return connection.sql(recoding.to_sql()).to_arrow_table()


def release_of(asked: Asked, form: str) -> tuple[pa.Table, rk.Policy]:
    policy = asked.policy().but(method={"refine": {"criterion": asked.criterion}}, publish=form)
    return pa.table({**asked.case.columns, **asked.labels}), policy


@given(asked=tables(), form=st.sampled_from(FORMS))
@settings(unhurried, max_examples=80)
def test_a_release_holds_is_consistent_and_is_what_apply_and_sql_make(
    tmp_path_factory: pytest.TempPathFactory, asked: Asked, form: str
) -> None:
    if not asked.feasible():
        return
    table, policy = release_of(asked, form)
    release = rk.anonymize(table, policy)  # verified in memory
    folder = tmp_path_factory.mktemp("release")
    saved = release.save(folder / "out.csv")  # verified as written
    assert saved.certificate.verification.holds
    assert saved.recoding_path is not None
    recoding = rk.Recoding.load(saved.recoding_path)
    assert isinstance(recoding, ColumnRecoding)
    assert recoding.policy == policy
    # φ of the original is the release.
    applied, suppressed = recoding.apply_table(table)
    assert suppressed == 0
    shown = release.arrow
    assert applied.column_names == shown.column_names
    assert rows(applied) == rows(shown)
    # A value shows the same in every row.
    for name in asked.case.specs:
        for column in recoding.published[name]:
            seen: dict[Any, Any] = {}
            for value, text in zip(table[name].to_pylist(), applied[column.name].to_pylist(), strict=True):
                assert seen.setdefault(value, text) == text
    # What SQL makes of it is the same, row for row.
    assert by_sql(recoding, table).to_pylist() == applied.to_pylist()
    # Measured from what is published, it lost what the certificate says.
    if form == "range":
        assert rk.measure(table, release).gcp == pytest.approx(release.certificate.loss.gcp)


# ── every kind of column ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", KINDS)
def test_hierarchies_lead_from_every_value_to_what_it_shows(kind: str, tmp_path: Path) -> None:
    table, policy = of_kind(kind, 30)
    if kind == "labels":  # a label that is what suppressed values show, or the root, has two places in a hierarchy
        table = table.filter(pc.invert(pc.is_in(table["x"], pa.array(["⊥", "*"]))))
    release = rk.anonymize(table, policy)
    assert release.recoding is not None
    [path] = release.recoding.to_hierarchies(tmp_path / "hierarchies", table)
    assert path.name == "x.csv"
    above = {row[0]: row[1] for row in Hierarchy.from_csv(path, delimiter=";").to_rows()}
    shown = release.recoding.apply(table)["x"].to_pylist()
    texts = pa.array(table["x"]).cast(pa.string()).to_pylist() if kind != "truth" else None
    for value, text in zip(texts or [], shown, strict=bool(texts)):
        if value not in (None, "", "nan") and text is not None and not text.startswith('"'):
            assert above.get(value.rstrip()) in (text, "*"), value


def test_a_recoding_of_many_classes_keeps_them_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, policy = of_kind("whole numbers", 5)
    recoding = rk.anonymize(table, policy).recoding
    assert recoding is not None
    monkeypatch.setattr(recoding_module, "LARGE", 2)
    recoding.save(tmp_path / "r.json")
    assert (tmp_path / "r.classes.parquet").exists()
    again = rk.Recoding.load(tmp_path / "r.json")
    assert again.rules().equals(recoding.rules())
    assert again.classes == recoding.classes
    assert again.apply(table).equals(recoding.apply(table))


def test_the_file_says_what_kind_it_is_and_keeps_no_values(tmp_path: Path) -> None:
    table, policy = of_kind("dates", 100)
    recoding = rk.anonymize(table, policy).recoding
    assert recoding is not None
    recoding.save(tmp_path / "r.json")
    about = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert about["kind"] == "columns"
    assert len(about["attributes"][0]["edges"]) < 4


def test_records_that_cannot_be_placed_are_suppressed_throughout() -> None:
    people = pa.table({"age": [1, 1, 2, 2], "city": ["a", "a", "b", "b"]})
    policy = rk.Policy.quick(["age", "city"], qi=["age", "city"], k=2, method="refine")
    recoding = rk.anonymize(people, policy).recoding
    assert recoding is not None
    new = pa.table({"age": [1, 2, 2], "city": ["a", "a", "c"]})
    found, suppressed = recoding.apply_table(new)
    # The second shows a combination that no record of the release shows; the third has a city that is not known.
    assert found.to_pylist() == [
        {"age": "1", "city": "a"}, {"age": "2", "city": "a"}, {"age": "*", "city": "*"},
    ]  # fmt: skip
    assert suppressed == 1
    assert recoding.place(new).tolist() == [0, -1, -1]
    assert (recoding.classes, recoding.regions) == (2, 4)


def test_other_recodings_are_no_hierarchies(tmp_path: Path) -> None:
    table, policy = of_kind("whole numbers", 5)
    recoding = rk.anonymize(table, policy.but(method="mondrian")).recoding
    assert recoding is not None
    with pytest.raises(PolicyError, match=r"mondrian looks at several columns at once .* use refine"):
        recoding.to_hierarchies(tmp_path, table)


# ── ways in ──────────────────────────────────────────────────────────────────────────────────────


def people(n: int = 2000) -> tuple[pa.Table, rk.Policy]:
    cells = np.random.default_rng(3)
    age, city = cells.integers(18, 80, n), cells.choice(["Rome", "Lyon", "Kyoto", "Osaka"], n)
    pay = np.where((age > 50) ^ (city == "Rome"), "high", "low")
    table = pa.table({"age": age, "city": city.tolist(), "pay": pay.tolist()})
    policy = rk.Policy.parse(
        """
        columns:
          age: {role: quasi-identifier}
          city: {role: quasi-identifier}
          pay: {role: keep}
        privacy:
          - k-anonymity: {k: 50, over: [age]}
          - k-anonymity: {k: 10}
        workload: [{classify: {target: pay}}]
        method: refine
        """
    )
    return table, policy


def test_the_command_line_makes_and_applies_it(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from rothko.cli import application

    table, policy = people()
    pcsv.write_csv(table, tmp_path / "people.csv")
    policy.save(tmp_path / "policy.yaml")
    run = CliRunner().invoke
    made = run(application(), ["anonymize", str(tmp_path / "people.csv"), "--policy", str(tmp_path / "policy.yaml"),
                     "--out", str(tmp_path / "out.csv")])  # fmt: skip
    assert made.exit_code == 0, made.output
    done = run(application(), ["apply", str(tmp_path / "out-recoding"), str(tmp_path / "people.csv"),
                     "--out", str(tmp_path / "again.csv")])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert sorted((tmp_path / "again.csv").read_text().splitlines()) == sorted(
        (tmp_path / "out.csv").read_text().splitlines()
    )
    few = pcsv.write_csv(table.slice(0, 30), tmp_path / "few.csv")
    assert few is None
    done = run(application(), ["apply", str(tmp_path / "out-recoding"), str(tmp_path / "few.csv"),
                     "--out", str(tmp_path / "few-again.csv")])  # fmt: skip
    assert "By itself this file is not 50-anonymous" in " ".join(done.output.split())


@pytest.mark.parametrize("method", ["mondrian", "hilbert", "idistance-fast", "cluster"])
def test_other_methods_refuse_several_sets_and_name_refine(method: str) -> None:
    table, policy = people()
    privacy = [{"k-anonymity": {"k": 5, "over": ["age"]}}, {"k-anonymity": {"k": 5, "over": ["city"]}}]
    with pytest.raises(PolicyError, match=r"2 different sets .* use refine"):
        rk.anonymize(table, policy.but(privacy=privacy, method=method, workload=()))
    one = rk.anonymize(table, policy.but(method=method, workload=()))
    assert one.certificate.verification.holds, "one set is kept to over all quasi-identifiers"


def test_as_a_transformer() -> None:
    table, policy = people()
    frame = table.drop_columns(["pay"]).to_pandas()
    anonymizer = rk.Anonymizer(policy).fit(frame, table["pay"].to_pylist())
    numbers = anonymizer.transform(frame)
    assert anonymizer.get_feature_names_out().tolist() == ["age_min", "age_max", "city_min", "city_max"]
    ages = frame["age"].to_numpy()
    assert ((numbers[:, 0] <= ages) & (ages <= numbers[:, 1])).all()
    shown = rk.Anonymizer(policy, regions="published").fit(frame, table["pay"].to_pylist()).transform(frame)
    assert shown["age"].tolist() == anonymizer.recoding_.apply(table)["age"].to_pylist()


def test_a_transformer_knows_combinations_that_were_not_there() -> None:
    X = np.array([[1, 1], [1, 1], [2, 2], [2, 2]])
    policy = rk.Policy.quick(["x0", "x1"], qi=["x0", "x1"], k=2, method="refine")
    found = rk.Anonymizer(policy).fit(X).transform([[1, 2], [2, 1]])
    assert found.tolist() == [[1, 1, 2, 2], [2, 2, 1, 1]]


def test_aggregates_are_answered_from_the_parts() -> None:
    table, policy = people()
    policy = policy.but(workload=[*policy.workload, {"aggregate": {"of": "age", "functions": ["sum", "min", "max"]}}])
    release = rk.anonymize(table, policy)
    *_, task = rk.measure(table, release).workload
    assert [(one.function, one.error) for one in task.answers] == [
        ("sum", pytest.approx(0, abs=1e-12)), ("min", 0), ("max", 0),
    ]  # fmt: skip

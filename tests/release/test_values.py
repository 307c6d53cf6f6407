"""Which sensitive values are one: the encoder, the verifier and `check` count alike, by what the policy says."""

from __future__ import annotations

import json
import unicodedata
import warnings
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import rothko as rk
from rothko.data.fold import folded, look_alikes
from rothko.data.typed import typed_column
from rothko.errors import InfeasibleError, InputError, PolicyError, PrivacyWarning
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.privacy import DistinctLDiversity
from rothko.release.value_sql import _folded
from rothko.release.verify import verify
from rothko.release.write import write_table


def distinct(table: pa.Table | Path, missing: tuple[str, ...] = (), **spec: Any) -> float:
    """How many values of ``s`` the verifier finds."""
    column = {"s": Column(role="sensitive", **spec)}
    found = verify(table, [DistinctLDiversity(l=2, of="s")], {"q": ["q"]}, missing=missing, values=column)
    return found.findings[0].achieved


def encoded(values: list[Any], missing: tuple[str, ...] = (), **spec: Any) -> int:
    """How many the encoder finds."""
    policy = Policy(
        columns={"q": {"role": "quasi-identifier"}, "s": {"role": "sensitive", **spec}},
        privacy=[{"k-anonymity": {"k": 2}}],
        missing=missing,
    )
    return len(typed_column("s", pa.chunked_array([values]), policy).unique())


CASES = [
    ("number", ["1", "1.0", "1e0", " 1", "+1"], (), 1),
    ("number", ["1", "1.", "2"], (), 2),
    ("number", ["123456789012345678", "123456789012345679"], (), 2),
    ("number", ["0.1", ".1", "1e-1", "-0", "0.0"], (), 2),
    ("number", ["-9", "-9.0", "", "1"], ("-9",), 3),  # a token is a text, as for the encoder
    ("date", ["2024-02-29", " 2024-02-29 ", "2024-03-01"], (), 2),
    ("timestamp", ["2024-02-29", "2024-02-29 00:00", "2024-02-29T00:00:00Z"], (), 1),
    ("text", ["1", "1.0"], (), 2),
    ("auto", ["1", "1.0"], (), 2),
]


@pytest.mark.parametrize("ending", [None, ".csv", ".tsv", ".parquet", ".arrow"])
@pytest.mark.parametrize(("kind", "values", "missing", "expected"), CASES)
def test_values_are_counted_by_their_type(
    tmp_path: Path, ending: str | None, kind: str, values: list[str], missing: tuple[str, ...], expected: int
) -> None:
    data: Any = pa.table({"q": ["x"] * len(values), "s": values})
    if ending is not None:
        write_table(data, tmp_path / f"release{ending}")
        data = tmp_path / f"release{ending}"
    assert distinct(data, missing, type=kind) == expected
    assert encoded(values, missing, type=kind) == expected


def test_the_day_of_a_time_is_the_value_of_a_date() -> None:
    times = pa.array([0, 3_600_000_000, 86_400_000_000], pa.timestamp("us"))
    assert distinct(pa.table({"q": ["x"] * 3, "s": times}), type="date") == 2
    with pytest.raises(InputError, match="zone"):
        encoded(times.cast(pa.timestamp("us", "Asia/Tokyo")), type="date")


def test_a_text_that_is_no_number_is_told_without_it() -> None:
    with pytest.raises(InputError, match=r"1 distinct value.* cannot be read as a number") as told:
        distinct(pa.table({"q": ["x", "x"], "s": ["1", "secret"]}), type="number")
    assert "secret" not in str(told.value)


@pytest.mark.parametrize("as_file", [False, True])
def test_check_counts_numbers_by_value(tmp_path: Path, as_file: bool) -> None:
    people: Any = {"age": ["20"] * 4, "pay": ["1", "1.0", "1e0", " 1"]}
    policy = Policy(
        columns={"age": {"role": "quasi-identifier"}, "pay": {"role": "sensitive", "type": "number"}},
        privacy=[{"distinct-l-diversity": {"l": 2, "of": "pay"}}],
    )
    if as_file:
        write_table(pa.table(people), tmp_path / "people.csv")
        people = tmp_path / "people.csv"
    found = rk.check(people, policy)
    assert not found.holds
    assert found.verification.findings[0].achieved == 1


@pytest.mark.parametrize("as_file", [False, True])
def test_check_refuses_a_column_that_the_policy_does_not_name(tmp_path: Path, as_file: bool) -> None:
    people: Any = {"age": [20] * 4, "disease": ["a", "b", "a", "b"], "ssn": ["1", "2", "3", "4"]}
    policy = Policy.quick(["age", "disease"], qi=["age"], sensitive=["disease"], k=2)
    if as_file:
        write_table(pa.table(people), tmp_path / "people.parquet")
        people = tmp_path / "people.parquet"
    with pytest.raises(PolicyError, match="does not name: 'ssn'"):
        rk.check(people, policy)


def test_check_knows_the_columns_that_a_release_adds(tmp_path: Path) -> None:
    people = {"age": list(range(20)), "disease": ["a", "b"] * 10, "name": [str(i) for i in range(20)]}
    policy = Policy.quick(people, qi=["age"], sensitive=["disease"], drop=["name"], k=5).but(
        workload=[{"aggregate": {"of": "age"}}]
    )
    for publish in ("range", "mean", "bounds", "region"):
        release = rk.anonymize(people, policy.but(publish=publish)).save(tmp_path / publish)
        assert rk.check(release.data, policy).holds


LOOK_ALIKES = ["HIV", "HIV ", "hiv", "H\u200bIV", "hiv\u00a0", "flu", "Cafe\u0301", "CAF\u00c9"]


@pytest.mark.parametrize("ending", [None, ".csv", ".parquet", ".arrow"])
def test_folded_values_are_one(tmp_path: Path, ending: str | None) -> None:
    data: Any = pa.table({"q": ["x"] * 11, "s": [*LOOK_ALIKES, "n/a ", " ", None]})
    if ending is not None:
        write_table(data, tmp_path / f"release{ending}")
    path = data if ending is None else tmp_path / f"release{ending}"
    assert distinct(path, ("N/A",), fold=True) == 4
    assert encoded(data["s"].to_pylist(), ("N/A",), fold=True) == 4
    assert distinct(path, ("N/A",)) == 11


def test_the_verifier_folds_every_letter_that_it_knows_as_the_encoder_does() -> None:
    """Where the two libraries know different versions of Unicode, the verifier leaves a letter as it is."""
    letters = [chr(i) for i in range(1, 0x20000) if not 0xD800 <= i <= 0xDFFF]
    texts = pa.array([f"a{letter}b" for letter in letters])
    with duckdb.connect(config={"temp_directory": ""}) as connection:
        connection.register("letters", pa.table({"t": texts}))
        by_sql = connection.sql(f"SELECT {_folded('t')} AS f FROM letters").to_arrow_table()["f"].to_pylist()
    for letter, mine, theirs in zip(letters, folded(texts).to_pylist(), by_sql, strict=True):
        assert mine == theirs or theirs == f"a{letter}b", hex(ord(letter))
    young = [
        unicodedata.name(a, "") for a, m, t in zip(letters, folded(texts).to_pylist(), by_sql, strict=True) if m != t
    ]
    assert len(young) < 200


def test_a_release_holds_what_is_asked_of_folded_values(tmp_path: Path, engine: str) -> None:
    spellings = ["HIV", "hiv ", "Hiv", "flu", "FLU", "cold"]
    people = {"age": [i // 6 for i in range(240)], "disease": [spellings[i % 6] for i in range(240)]}
    policy = Policy(
        columns={"age": {"role": "quasi-identifier"}, "disease": {"role": "sensitive", "fold": True}},
        privacy=[{"k-anonymity": {"k": 3}}, {"distinct-l-diversity": {"l": 3, "of": "disease"}}],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        saved = rk.anonymize(people, policy, engine=engine).save(tmp_path / "out")
    [_, found] = saved.certificate.verification.findings
    assert found.achieved == 3
    released = rk.anonymize(people, policy, engine=engine).table
    assert sorted(released["disease"].tolist()) == sorted(people["disease"])
    with pytest.raises(InfeasibleError):
        rk.anonymize(people, policy.but(privacy=[{"distinct-l-diversity": {"l": 4, "of": "disease"}}]), engine=engine)


def test_look_alikes_are_told_by_number(engine: str) -> None:
    people = {"age": [20, 21] * 20, "disease": ["HIV", "hiv", "flu", "cold"] * 10}
    policy = Policy.quick(people, qi=["age"], sensitive=["disease"], k=5)
    with pytest.warns(PrivacyWarning, match="2 of the 4 values of 'disease'") as told:
        rk.anonymize(people, policy, engine=engine)
    assert not any("HIV" in str(one.message) for one in told)
    with pytest.warns(PrivacyWarning, match="2 of the 4 values"):
        rk.check(people, policy)
    assert look_alikes(pa.array(["flu", "cold"])) == 0


def test_anatomy_tells_look_alikes_too() -> None:
    people = {"age": [20, 21] * 20, "disease": ["HIV", "hiv", "flu", "cold"] * 10}
    policy = Policy.quick(people, qi=["age"], sensitive=["disease"], k=5)
    hidden = policy.but(method="anatomy", privacy=[{"frequency-l-diversity": {"l": 2, "of": "disease"}}])
    with pytest.warns(PrivacyWarning, match="2 of the 4 values"), pytest.warns(PrivacyWarning, match="exact"):
        rk.anonymize(people, hidden)


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ({"role": "keep", "fold": True}, "only for role: sensitive"),
        ({"role": "sensitive", "fold": "yes"}, "must be true or false"),
        ({"role": "sensitive", "fold": True, "type": "number"}, "only text takes 'fold'"),
    ],
)
def test_fold_is_for_sensitive_texts(column: dict[str, Any], told: str) -> None:
    with pytest.raises(PolicyError, match=told):
        Policy(columns={"q": {"role": "quasi-identifier"}, "s": column}, privacy=[{"k-anonymity": {"k": 2}}])


def test_fold_and_categories_exclude_each_other() -> None:
    with pytest.raises(PolicyError, match="folded"):
        Policy(
            columns={"q": {"role": "quasi-identifier"}, "s": {"role": "sensitive", "fold": True}},
            privacy=[{"p-alpha": {"p": 2, "categories": {"a": "x", "b": "y"}, "of": "s"}}],
        )


def test_the_json_schema_knows_fold() -> None:
    assert "fold" in json.dumps(Policy.json_schema()["$defs"]["column"])

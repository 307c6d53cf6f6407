"""A release of two tables: what leaves, what is verified on the written bytes, and what is refused."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import InfeasibleError, OutputError, PolicyError, PrivacyWarning, VerificationError
from rothko.policy.policy import Policy
from rothko.release import anatomy as module
from rothko.release.anatomy import AnatomyRelease, requirements_of, verified_pair
from rothko.release.digest import sha256

ENDINGS = (".csv", ".tsv", ".parquet", ".arrow")


def people(n: int = 203) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    disease = rng.choice(["flu", "cold", "ulcer", "asthma", "?", ""], n)
    return pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "zip": [f"0{z}" for z in rng.integers(1000, 1999, n)],
            "disease": np.where(disease == "", None, disease),
            "note": [f"n{i}" for i in range(n)],
        }
    )


def policy(wanted: int = 2, **rest: Any) -> Policy:
    roles = {"age": "quasi-identifier", "zip": "quasi-identifier", "disease": "sensitive", "note": "keep"}
    return Policy(
        columns={name: {"role": role} for name, role in {"name": "identifier", **roles}.items()},
        privacy=[{"frequency-l-diversity": {"l": wanted, "of": "disease"}}],
        method="anatomy",
        missing=["?"],
        **rest,
    )


def released(data: Any, asked: Policy | None = None, **rest: Any) -> AnatomyRelease:
    with pytest.warns(PrivacyWarning, match="exact quasi-identifiers.*not k-anonymous"):
        release = rk.anonymize(data, asked or policy(), **rest)
    assert isinstance(release, AnatomyRelease)
    return release


def test_two_tables_tell_the_records_but_not_the_link() -> None:
    table = people()
    release = released(table)
    exact, hidden = release.table, release.sensitive
    assert isinstance(exact, pd.DataFrame)
    assert list(exact.columns) == ["age", "zip", "note", "group"]
    assert list(hidden.columns) == ["group", "disease", "count"]
    rows = ["age", "zip", "note"]
    assert sorted(exact[rows].itertuples(index=False)) == sorted(table[rows].itertuples(index=False))
    said = Counter(hidden["disease"].fillna("missing"))
    assert said == Counter(table["disease"].fillna("missing"))
    sizes = Counter(exact["group"])
    held = defaultdict(list)
    for group, value, count in hidden.itertuples(index=False):
        held[group] += [None if value == "?" or pd.isna(value) else value] * count
    assert {group: len(values) for group, values in held.items()} == dict(sizes)
    assert all(len(set(values)) == len(values) >= 2 for values in held.values())
    assert release.recoding is None
    assert release.classes["records"].to_pylist() == [sizes[g] for g in release.classes["group"].to_pylist()]
    assert release.certificate.verification.holds
    assert "not k-anonymous" in release.certificate.notes[0]
    assert "203 records" in repr(release)


def test_missing_counts_as_one_value() -> None:
    table = pd.DataFrame({"age": range(6), "s": ["?", None, "", "a", "b", "c"]})
    asked = Policy.quick(table, qi=["age"], sensitive=["s"], l=2, method="anatomy", missing=["?"])
    assert released(table, asked).certificate.verification.findings[-1].achieved == 2
    with (
        pytest.warns(PrivacyWarning),
        pytest.raises(InfeasibleError, match=r"has 3 of 6 records, more than 1/3; ask for l = 2 at most"),
    ):
        rk.anonymize(table, asked.but(privacy=[{"distinct-l-diversity": {"l": 3, "of": "s"}}]))


def test_the_rows_follow_neither_the_input_nor_each_other() -> None:
    table = people(2000)
    key = bytes(range(32))
    release = released(table, key=key)
    place = release.table["note"].str[1:].astype(int).to_numpy()
    shuffled = abs(np.corrcoef(np.arange(len(place)), place)[0, 1])
    assert shuffled < 0.1
    assert abs(np.corrcoef(place, release.table["group"])[0, 1]) < 0.1
    groups = release.sensitive["group"].to_numpy()
    assert abs(np.corrcoef(np.arange(len(groups)), groups)[0, 1]) < 0.1
    again = released(table, key=key, threads=2)
    assert again.arrow.equals(release.arrow)
    assert again.sensitive_arrow.equals(release.sensitive_arrow)
    assert again.certificate.key == "given"
    other = released(table)
    assert not other.arrow.equals(release.arrow)  # the same seed, and a secret that nobody has
    assert other.certificate.key == "drawn for this run"


def test_order_keep_keeps_the_rows_but_not_the_values() -> None:
    table = people()
    with pytest.warns(PrivacyWarning, match="order: keep"):
        release = released(table, policy(order="keep"))
    assert release.table["note"].tolist() == table["note"].tolist()
    assert release.sensitive["disease"].tolist() != table["disease"].tolist()


@pytest.mark.parametrize("ending", ENDINGS)
def test_both_tables_are_saved_verified(ending: str, tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    people().to_csv(source, index=False)
    release = released(source)
    saved = release.save(tmp_path / f"out{ending}")
    assert saved.sensitive_path == tmp_path / f"out_sensitive{ending}"
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        [source.name, f"out{ending}", f"out_sensitive{ending}", "out.certificate.json"]
    )
    certificate = json.loads(saved.certificate_path.read_text("utf-8"))
    assert certificate["verified"]
    assert certificate["file_sha256"] == sha256(saved.data)
    assert certificate["files"] == {path.name: sha256(path) for path in (saved.data, saved.sensitive_path)}
    assert certificate["loss"]["gcp"] is None
    if ending == ".parquet":
        assert pq.read_table(saved.data)["age"].type == pa.int64()
        assert pq.read_table(saved.data)["zip"].type == pa.string()
    if ending == ".csv":
        assert sorted(pd.read_csv(saved.data, dtype=str)["zip"]) == sorted(people()["zip"])
    assert verify_again(release, saved.data, saved.sensitive_path).holds
    with pytest.raises(OutputError, match="exists"):
        release.save(tmp_path / f"out{ending}")
    saved.data.unlink()
    saved.certificate_path.unlink()
    with pytest.raises(OutputError, match=r"out_sensitive.* exists"):
        release.save(tmp_path / f"out{ending}")
    assert release.save(tmp_path / f"out{ending}", overwrite=True).certificate.verification.holds


def test_a_folder_gets_all_three_files(tmp_path: Path) -> None:
    release = released(people())
    release.save(tmp_path / "out")
    names = ["certificate.json", "release.parquet", "release_sensitive.parquet", "report.html", "report.json"]
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == names


def verify_again(release: AnatomyRelease, data: Path, sensitive: Path) -> Any:
    asked = release.certificate.policy
    columns = release.arrow.column_names, release.sensitive_arrow.column_names
    return verified_pair(data, sensitive, columns, release.arrow.num_rows, requirements_of(asked), asked.missing)


def same_value(rows: list[list[str]]) -> None:
    """All records of one group get the same value."""
    group = rows[1][0]
    for row in rows[1:]:
        if row[0] == group:
            row[1] = "flu"


def other_count(rows: list[list[str]]) -> None:
    rows[1][2] = "2"


def other_group(rows: list[list[str]]) -> None:
    rows[1][0] = next(row[0] for row in rows[1:] if row[0] != rows[1][0])


def unknown_group(rows: list[list[str]]) -> None:
    rows[1][0] = "999999"


def no_number(rows: list[list[str]]) -> None:
    rows[1][2] = "one"


def negative_count(rows: list[list[str]]) -> None:
    rows[1][2], rows[2][2], rows[2][0] = "-1", "3", rows[1][0]


def lost_row(rows: list[list[str]]) -> None:
    rows.pop()


def other_column(rows: list[list[str]]) -> None:
    rows[0][1] = "illness"


def quasi_swapped(rows: list[list[str]]) -> None:
    """In the table of quasi-identifiers: a record moves to another group."""
    rows[1][-1] = next(row[-1] for row in rows[1:] if row[-1] != rows[1][-1])


SENSITIVE_TAMPERS = (
    same_value,
    other_count,
    other_group,
    unknown_group,
    no_number,
    negative_count,
    lost_row,
    other_column,
)


def tampered(path: Path, tamper: Callable[[list[list[str]]], None]) -> None:
    rows = [line.split(",") for line in path.read_text("utf-8").splitlines()]
    tamper(rows)
    path.write_text("\n".join(",".join(row) for row in rows) + "\n", "utf-8")


@pytest.mark.parametrize("tamper", [*SENSITIVE_TAMPERS, quasi_swapped])
def test_tampered_tables_fail(tamper: Callable[[list[list[str]]], None], tmp_path: Path) -> None:
    release = released(people())
    saved = release.save(tmp_path / "out.csv")
    assert saved.sensitive_path is not None
    assert verify_again(release, saved.data, saved.sensitive_path).holds
    tampered(saved.data if tamper is quasi_swapped else saved.sensitive_path, tamper)
    with pytest.raises(VerificationError, match="nothing was released"):
        verify_again(release, saved.data, saved.sensitive_path)


@pytest.mark.parametrize("tamper", [same_value, lost_row])
def test_nothing_is_in_place_where_the_written_bytes_fail(
    tamper: Callable[[list[list[str]]], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = released(people())
    write = module.write_table

    def broken(table: pa.Table, path: Path, **options: Any) -> set[str]:
        escaped = write(table, path, **options)
        if path.name == "out_sensitive.csv":
            tampered(path, tamper)
        return escaped

    monkeypatch.setattr(module, "write_table", broken)
    with pytest.raises(VerificationError):
        release.save(tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["group", "count"])
def test_columns_that_are_added_must_not_be_there(name: str) -> None:
    table = pd.DataFrame({"age": [1, 2, 3, 4], name: ["a", "b", "a", "b"]})
    asked = Policy.quick(table, qi=["age"], sensitive=[name], l=2, method="anatomy")
    with pytest.warns(PrivacyWarning), pytest.raises(PolicyError, match=f"adds a column '{name}'"):
        rk.anonymize(table, asked)


def test_what_needs_boxes_is_refused() -> None:
    table = people()
    release = released(table)
    with pytest.raises(PolicyError, match=r"measure needs generalised.*anatomy"):
        rk.measure(table, release)
    with pytest.raises(PolicyError, match=r"measure needs generalised.*anatomy"):
        rk.measure(table, release.table, policy())
    with pytest.raises(PolicyError, match="anatomy"):
        rk.Anonymizer(policy()).fit(table)
    with pytest.raises(PolicyError, match="sees all records at once"):
        rk.anonymize(table, policy(), engine="rothko-t")

"""``rothko compare`` and ``rothko generate census``."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rothko.cli.compare import FILES, PLOTS
from rothko.policy.policy import Policy


@pytest.fixture
def census(rothko: Callable[..., Any], folder: Path) -> Path:
    ran = rothko("generate", "census", "-n", "500", "-o", "census.parquet", "--policy", "census.yaml")
    assert ran.code == 0, ran.err
    assert "500 records: census.parquet" in ran.out
    return folder


def test_the_census_comes_with_a_policy(census: Path, rothko: Callable[..., Any]) -> None:
    policy = Policy.load("census.yaml")
    assert list(policy.columns) == pq.read_schema("census.parquet").names
    ran = rothko("anonymize", "census.parquet", "--policy", "census.yaml", "--out", "out.parquet")
    assert ran.code == 0, ran.err
    again = rothko("generate", "census", "-n", "500", "-o", "new.csv", "--policy", "census.yaml")
    assert again.code == 2
    assert "--overwrite" in again.err
    assert not Path("new.csv").exists()


def test_table_json_and_files(census: Path, rothko: Callable[..., Any]) -> None:
    asked = ("compare", "census.parquet", "--policy", "census.yaml", "--method", "mondrian,hilbert", "--k", "5,2,5,900")
    ran = rothko(*asked, "--out", "found")
    assert ran.code == 0, ran.err
    header, *rows = ran.out.splitlines()[2:9]
    assert header.split()[:3] == ["method", "k", "GCP"]
    assert [row.split()[:2] for row in rows] == [[m, k] for k in ("2", "5", "900") for m in ("mondrian", "hilbert")]
    assert "mondrian at k = 900, hilbert at k = 900: This table cannot meet k-anonymity with k = 900" in ran.out
    assert {path.name for path in Path("found").iterdir()} == {*FILES, *PLOTS}
    saved = json.loads(Path("found/results.json").read_text("utf-8"))
    with Path("found/results.csv").open(newline="", encoding="utf-8") as file:
        assert [row["method"] for row in csv.DictReader(file)] == [trial["method"] for trial in saved["trials"]]
    printed = json.loads(rothko(*asked, "--json").out)
    assert [t["gcp"] for t in printed["trials"]] == [t["gcp"] for t in saved["trials"]]

    assert rothko(*asked, "--out", "found").code == 2
    again = rothko(*asked, "--out", "found", "--no-plots", "--overwrite")
    assert again.code == 0, again.err
    assert {path.name for path in Path("found").iterdir()} == set(FILES)  # plots of other results are gone


def test_without_a_policy(census: Path, rothko: Callable[..., Any]) -> None:
    quick = ("compare", "census.parquet", "--qi", "age,education", "--sensitive", "occupation", "--method", "mondrian")
    by_l = json.loads(rothko(*quick, "--l", "2,4", "--json").out)
    assert [(trial["k"], trial["l"]) for trial in by_l["trials"]] == [(None, 2), (None, 4)]
    both = json.loads(rothko(*quick, "--l", "2,4", "--k", "9", "--json").out)
    assert [(trial["k"], trial["l"]) for trial in both["trials"]] == [(9, 2), (9, 4)]
    assert min(trial["smallest_class"] for trial in both["trials"]) >= 9


def test_options_of_a_method_stand_after_its_name(census: Path, rothko: Callable[..., Any]) -> None:
    quick = ("compare", "census.parquet", "--qi", "age,education", "--k", "5", "--json")
    ran = rothko(*quick, "--method", "mondrian, mondrian relaxed=true")
    assert ran.code == 0, ran.err
    plain, relaxed = json.loads(ran.out)["trials"]
    assert (plain["method"], relaxed["method"]) == ("mondrian", "mondrian relaxed=True")
    assert relaxed["classes"] != plain["classes"]
    assert json.loads(rothko(*quick, "--method", relaxed["method"]).out)["trials"][0]["gcp"] == relaxed["gcp"]
    assert "relaxd" in rothko(*quick, "--method", "mondrian relaxd=true").out


def test_the_largest_k_and_l_within_a_bound(census: Path, rothko: Callable[..., Any]) -> None:
    quick = ("compare", "census.parquet", "--qi", "age,education", "--sensitive", "occupation", "--method", "mondrian")
    ran = rothko(*quick, "--max-loss", "0.2")
    assert ran.code == 0, ran.err
    assert "largest k" in ran.out
    assert "by bisection" in ran.out
    found = json.loads(rothko(*quick, "--max-loss", "0.2", "--by", "l", "--json").out)
    [one] = found["largest"]
    assert one["gcp"] <= 0.2
    assert {trial["l"] for trial in found["trials"]} >= {2, one["l"], one["above"]}
    assert {trial["k"] for trial in found["trials"]} == {None}


def test_nothing_that_could_run_gives_the_code_of_the_reason(census: Path, rothko: Callable[..., Any]) -> None:
    ran = rothko("compare", "census.parquet", "--policy", "census.yaml", "--method", "mondrian", "--k", "501,600")
    assert ran.code == 3
    assert ran.out.count("cannot meet") == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--k", "1,5"), "--k must be a whole number of at least 2"),
        (("--k", "2,x"), "--k must be a whole number"),
        (("--l", "1"), "--l must be a whole number of at least 2"),
        ((), "give several k"),
        (("--k", "2,5", "--l", "2,3"), "give one k, or one l"),
        (("--k", "2", "--method", "mondrain"), "mondrian"),
        (("--max-loss", "nan"), "--max-loss must be a number"),
        (("--max-loss", "3"), "at most 1"),
        (("--max-loss", "0.1", "--by", "t"), "--by must be k or l"),
        (("--max-loss", "0.1", "--by", "l", "--k", "2,3"), "holds one number fixed"),
        (("--max-loss", "0.1", "--k", "3"), "no k can be asked for"),
        (("--k", "2", "--qi", "age"), "not both"),
        (("--k", "2", "--out", "census.yaml"), "is a file"),
    ],
)
def test_bad_input_is_one_sentence(
    options: tuple[str, ...], words: str, census: Path, rothko: Callable[..., Any]
) -> None:
    ran = rothko("compare", "census.parquet", "--policy", "census.yaml", *options)
    assert ran.code == 2
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_a_missing_library_for_plots_is_told_before_any_work(
    census: Path, rothko: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    asked = ("compare", "census.parquet", "--policy", "census.yaml", "--method", "mondrian", "--k", "2")
    ran = rothko(*asked, "--out", "found")
    assert ran.code == 2
    assert 'pip install "rothko[report]"' in ran.err
    assert not Path("found").exists()
    assert rothko(*asked, "--out", "found", "--no-plots").code == 0

"""``rothko sets`` and ``rothko generate longtail``."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

BASKETS = "tea milk\ntea milk gin\ntea\ntea bread\n\ngin\n"


@pytest.fixture
def baskets(tmp_path: Path) -> Path:
    path = tmp_path / "baskets.txt"
    path.write_text(BASKETS, "utf-8")
    return path


def test_generated_records_are_released(rothko: Callable[..., Any], tmp_path: Path) -> None:
    data, utility, out = tmp_path / "in.parquet", tmp_path / "utility.csv", tmp_path / "out.txt"
    shape = ["--items", 60, "--mean", 9, "--deviation", 6, "--least", 0.01]
    ran = rothko("generate", "longtail", "-n", 500, *shape, "--out", data, "--utility", utility)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("500 records")
    assert pq.read_metadata(data).num_rows == 500
    ran = rothko("sets", data, "--utility", utility, "--k", 5, "--method", "set-mondrian", "--out", out)
    assert ran.code == 0, ran.err
    assert "verified on the written bytes (set-mondrian)" in ran.out
    assert "utility kept" in ran.out
    assert min(Counter(out.read_text("utf-8").splitlines()).values()) >= 5
    certificate = json.loads((tmp_path / "out.certificate.json").read_text("utf-8"))
    assert certificate["method"] == {"name": "set-mondrian", "criterion": "utility"}
    ran = rothko("generate", "longtail", "-n", 500, *shape, "--out", tmp_path / "in.txt")
    assert (tmp_path / "in.txt").read_text("utf-8").splitlines() == [
        " ".join(record) for record in pq.read_table(data).column(0).to_pylist()
    ]


def test_json_and_options_of_a_method(rothko: Callable[..., Any], baskets: Path, tmp_path: Path) -> None:
    ran = rothko(
        "sets", baskets, "--k", 2, "--method", "set-mondrian", "--option", "criterion=even", "--out",
        tmp_path / "out.parquet", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    certificate = json.loads(ran.out)
    assert certificate["requirement"] == {"name": "k-anonymity", "asked": 2, "achieved": 2, "holds": True}
    assert certificate["method"]["criterion"] == "even"


def test_other_forms(rothko: Callable[..., Any], tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text("age,job,name\n31,cook,A\n33,cook,B\n58,nurse,C\n57,cook,D\n", "utf-8")
    jobs = tmp_path / "jobs.csv"
    jobs.write_text("cook;service;*\nnurse;health;*\n", "utf-8")
    ran = rothko(
        "sets", table, "--k", 2, "--columns", "age,job", "--bin", "age=5", "--hierarchy", f"job={jobs}", "--out",
        tmp_path / "out.parquet",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert sorted(pq.read_table(tmp_path / "out.parquet").column(0).to_pylist()) == [
        *[["age=[30, 35)", "job=cook", "job=service"]] * 2,
        *[["age=[55, 60)"]] * 2,
    ]
    lines = tmp_path / "lines.txt"
    lines.write_text("green tea,cook\ngreen tea\n", "utf-8")
    ran = rothko("sets", lines, "--k", 2, "--delimiter", ",", "--hierarchy", jobs, "--out", tmp_path / "tea.txt")
    assert ran.code == 0, ran.err
    assert (tmp_path / "tea.txt").read_text("utf-8") == "green tea\n" * 2


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--k", "7"], 3, "there are 6"),
        (["--k", "1"], 2, "--k must be a whole number of at least 2"),
        (["--method", "mondrian"], 2, "did you mean 'set-mondrian'"),
        (["--option", "criterion"], 2, "must be a name and a value"),
        (["--option", "criterion=even"], 2, "set-two-phase has no option"),
        (["--form", "wide"], 2, "The form must be one of"),
        (["--form", "long"], 2, "--record"),
        (["--bin", "age=x", "--form", "table"], 2, "--bin must be a number"),
        (["--utility", "nowhere.csv"], 2, "There is no file"),
        (["--threads", "0"], 2, ""),
    ],
)
def test_bad_input(
    rothko: Callable[..., Any], baskets: Path, tmp_path: Path, options: list[str], code: int, message: str
) -> None:
    ran = rothko("sets", baskets, "--k", "2", "--out", tmp_path / "out.txt", *options)
    assert ran.code == code, ran.err
    assert message in ran.err
    assert "milk" not in ran.err
    assert [path.name for path in tmp_path.iterdir()] == ["baskets.txt"]


def test_unknown_items_are_shown_when_asked_for(rothko: Callable[..., Any], baskets: Path, tmp_path: Path) -> None:
    utility = tmp_path / "utility.csv"
    utility.write_text("item,utility\nrum,3\n", "utf-8")
    ran = rothko("sets", baskets, "--k", 2, "--utility", utility, "--out", tmp_path / "out.txt")
    assert ran.code == 2
    assert "rum" not in ran.err
    ran = rothko("sets", baskets, "--k", 2, "--utility", utility, "--out", tmp_path / "out.txt", "--show-values")
    assert "  rum" in ran.err


def test_the_output_is_checked_first(rothko: Callable[..., Any], baskets: Path, tmp_path: Path) -> None:
    ran = rothko("sets", baskets, "--k", 2, "--out", baskets, "--overwrite")
    assert ran.code == 2
    assert "The output is the input" in ran.err
    assert baskets.read_text("utf-8") == BASKETS
    ran = rothko("generate", "longtail", "--out", tmp_path / "x.csv")
    assert ran.code == 2
    assert "writes .parquet or .txt" in ran.err

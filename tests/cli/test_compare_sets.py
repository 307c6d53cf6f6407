"""``rothko compare`` on records that are sets."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rothko.cli.compare import FILES, PLOTS

SHAPE = ("--items", 60, "--mean", 9, "--deviation", 6, "--least", 0.01)


@pytest.fixture
def baskets(rothko: Callable[..., Any], folder: Path) -> Path:
    ran = rothko("generate", "longtail", "-n", 500, *SHAPE, "-o", "baskets.txt", "--utility", "utility.csv")
    assert ran.code == 0, ran.err
    return folder


def test_table_json_and_files(baskets: Path, rothko: Callable[..., Any]) -> None:
    asked = (
        "compare", "baskets.txt", "--utility", "utility.csv", "--method",
        "set-mondrian criterion=even,set-mondrian,set-k1", "--k", "9,3,9,600",
    )  # fmt: skip
    ran = rothko(*asked, "--out", "found")
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0].startswith("500 records, 60 items, ")
    assert lines[2].split()[:2] == ["method", "requirement"]
    assert all(title in lines[2] for title in ("utility kept", "instances kept", "items kept", "average", "partition"))
    rows = lines[3:12]
    assert [row.split(" k")[0].strip() for row in rows] == [
        name for _ in range(3) for name in ("set-mondrian criterion=even", "set-mondrian", "set-k1")
    ]
    assert "–" in rows[-1]
    assert "set-k1 at k = 600: These records cannot meet k1-anonymity with k = 600" in ran.out
    assert "k1-anonymity: Weaker than k-anonymity." in ran.out
    assert {path.name for path in Path("found").iterdir()} == {*FILES, *PLOTS}
    saved = json.loads(Path("found/results.json").read_text("utf-8"))
    with Path("found/results.csv").open(newline="", encoding="utf-8") as file:
        assert [row["method"] for row in csv.DictReader(file)] == [trial["method"] for trial in saved["trials"]]
    printed = json.loads(rothko(*asked, "--json").out)
    kept = [trial["utility_kept"] for trial in printed["trials"]]
    assert kept == [trial["utility_kept"] for trial in saved["trials"]]
    assert list(printed["adversaries"]) == ["k-anonymity", "k1-anonymity"]
    even, utility, k1 = kept[:3]
    assert even < utility <= k1  # the utilities were read, and the methods are those that were asked for


def test_no_word_of_a_weaker_promise_where_there_is_none(baskets: Path, rothko: Callable[..., Any]) -> None:
    ran = rothko("compare", "baskets.txt", "--sets", "--k", "5")
    assert ran.code == 0, ran.err
    assert [line.split()[0] for line in ran.out.splitlines()[3:]] == ["set-mondrian", "set-two-phase"]


def test_the_numbers_are_those_of_the_release(baskets: Path, rothko: Callable[..., Any]) -> None:
    common = ("baskets.txt", "--utility", "utility.csv", "--method", "set-two-phase", "--k", 7, "--json")
    [trial] = json.loads(rothko("compare", *common).out)["trials"]
    released = json.loads(rothko("sets", *common, "--out", "out.txt").out)
    for name, value in released["metrics"].items():
        assert trial[name] == pytest.approx(value, abs=1e-6), name
    assert trial["achieved"] == released["requirement"]["achieved"]


def test_other_forms(folder: Path, rothko: Callable[..., Any]) -> None:
    Path("people.csv").write_text("age;job\n31;cook\n33;cook\n58;nurse\n57;cook\n", "utf-8")
    Path("jobs.csv").write_text("cook;service;*\nnurse;health;*\n", "utf-8")
    ran = rothko(
        "compare", "people.csv", "--sets", "--form", "table", "--delimiter", ";", "--bin", "age=5", "--hierarchy",
        "job=jobs.csv", "--k", "2", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert (found["items"], found["instances"]) == (6, 12)
    assert [trial["instances"] for trial in found["trials"]] == [8, 8]
    Path("long.csv").write_text("who,what,worth\n1,tea,2\n1,gin,1\n2,tea,2\n", "utf-8")
    long = ("--record", "who", "--item", "what", "--worth", "worth")
    found = json.loads(rothko("compare", "long.csv", "--sets", *long, "--k", "2", "--json").out)
    assert found["utility"] == 5
    assert [trial["utility"] for trial in found["trials"]] == [4, 4]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ((), 2, "give several k"),
        (("--k", "1,5"), 2, "--k must be a whole number of at least 2"),
        (("--k", "501,600"), 3, ""),
        (("--k", "2", "--method", "set-mondrian,mondrian"), 2, "There is no method 'mondrian' for sets"),
        (("--k", "2", "--method", "set-mondrian criterion"), 2, "--method must be a name and a value"),
        (("--k", "2", "--method", "set-mondrian criterion=evn"), 2, "did you mean 'even'"),
        (("--k", "2", "--qi", "age"), 2, "--qi is for tables"),
        (("--k", "2", "--policy", "p.yaml"), 2, "--policy is for tables"),
        (("--l", "2"), 2, "--l is for tables"),
        (("--max-loss", "0.5"), 2, "--max-loss is for tables"),
        (("--k", "2", "--utility", "none.csv"), 2, "There is no file"),
    ],
)
def test_bad_input_is_one_sentence(
    options: tuple[str, ...], code: int, words: str, baskets: Path, rothko: Callable[..., Any]
) -> None:
    ran = rothko("compare", "baskets.txt", "--sets", *options)
    assert ran.code == code, ran.err
    assert words in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("option", ["--utility", "--form", "--record", "--columns", "--bin", "--hierarchy"])
def test_options_of_sets_are_refused_for_tables(option: str, rothko: Callable[..., Any]) -> None:
    ran = rothko("compare", "people.csv", "--qi", "age", "--k", "2", option, "x")
    assert ran.code == 2
    assert f"{option} is for records that are sets; add --sets" in ran.err


def test_verification_that_fails_is_the_exit_code(
    baskets: Path, rothko: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rothko.sets.verify._fewest_containing", lambda *_: 1)
    ran = rothko("compare", "baskets.txt", "--method", "set-two-phase,set-k1", "--k", "5")
    assert ran.code == 4
    assert "set-k1 at k = 5: Verification failed: k1-anonymity holds for k = 1 and not for 5" in ran.out

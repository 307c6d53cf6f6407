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
        (["--k", "7"], 3, "there are 6; choose a smaller k"),
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


UTILITIES = {
    "unknown": ("item,utility\nrum,3\ntea,1\n", "1 of 2 items with a utility are in no record", ["rum"]),
    "negative": ("item,utility\ngin,-3\ntea,1\n", "1 of 2 utilities are negative", ["gin"]),
    "missing": ("item,utility\ngin,\ntea,1\n", "1 of 2 utilities are negative, missing", ["gin"]),
    "infinite": ("item,utility\ngin,inf\ntea,1\n", "missing, infinite or no number", ["gin"]),
    "text": ("item,utility\ngin,much\ntea,1\n", "'utility' has cells that are no numbers", []),
    "twice": ("item,utility\ngin,1\ngin,2\n", "tells the utility of 1 items more than once", ["gin"]),
    "no item": ("item,utility\n,1\nrum,2\n", "has 1 rows without an item", []),
    "three columns": ("a,b,c\ngin,1,2\n", "has 3 columns; utilities need 'item' and 'utility'", []),
}


@pytest.mark.parametrize(("text", "words", "items"), UTILITIES.values(), ids=UTILITIES)
@pytest.mark.parametrize("command", [("sets", "--out", "out.txt"), ("compare", "--sets")], ids=lambda c: c[0])
def test_bad_utilities_are_one_sentence(
    command: tuple[str, ...], text: str, words: str, items: list[str], rothko: Callable[..., Any], folder: Path
) -> None:
    Path("baskets.txt").write_text(BASKETS, "utf-8")
    Path("utility.csv").write_text(text, "utf-8")
    name, *rest = command
    asked = (name, "baskets.txt", *rest, "--k", 2, "--utility", "utility.csv")
    ran = rothko(*asked)
    assert ran.code == 2
    assert ran.err.startswith("Error: ")
    assert ran.err.count("\n") == 1
    assert words in ran.err
    assert not any(item in ran.err for item in ("gin", "rum", "tea"))
    shown = rothko(*asked, "--show-values").err.splitlines()[1:]
    assert [line.strip() for line in shown] == items
    assert not Path("out.txt").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("junk.txt", b"tea\n\x00\x01\xff\n", "junk.txt, line 2: there are zero bytes"),
        ("junk.txt", b"tea\ncaf\xe9\n", "junk.txt, line 2: the text is not UTF-8; say what it is"),
        ("junk.csv", b"who,what\n1,caf\xe9\n", "junk.csv, line 2: the text is not UTF-8"),
        ("junk.parquet", b"\x00\x01\xff", "junk.parquet is not a Parquet file"),
        ("junk.txt.gz", b"\x1f\x8b\x00\x01\xff", "is not a gzip file, or it is cut short"),
        ("empty.txt", b"", "empty.txt is empty"),
    ],
)
def test_junk_is_one_sentence(name: str, content: bytes, words: str, rothko: Callable[..., Any], folder: Path) -> None:
    Path(name).write_bytes(content)
    form = ("--record", "who", "--item", "what") if name.endswith(".csv") else ()
    ran = rothko("sets", name, "--k", 2, "--out", "out.txt", *form)
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == [name]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8"])
def test_other_encodings(encoding: str, rothko: Callable[..., Any], folder: Path) -> None:
    Path("cafes.txt").write_bytes("café tea\ncafé\n".encode(encoding))
    Path("utility.csv").write_bytes("item,utility\ncafé,3\n".encode(encoding))
    asked = ("sets", "cafes.txt", "--k", 2, "--utility", "utility.csv", "--out", "out.txt", "--json")
    ran = rothko(*asked, "--encoding", encoding)
    assert ran.code == 0, ran.err
    assert Path("out.txt").read_text("utf-8") == "café\n" * 2
    assert json.loads(ran.out)["metrics"]["utility"] == 6
    wrong = rothko(*asked, "--encoding", "ascii", "--overwrite")
    assert wrong.code == 2
    assert "cafes.txt is not ASCII; say what it is with --encoding" in wrong.out
    assert "is not known; try utf-8" in rothko(*asked, "--encoding", "klingon", "--overwrite").out


def test_empty_records_are_published_empty_and_repeated_items_count_once(
    rothko: Callable[..., Any], folder: Path
) -> None:
    Path("baskets.txt").write_text("tea tea gin\n\ngin tea\n\n", "utf-8")
    ran = rothko("sets", "baskets.txt", "--k", 2, "--out", "out.txt", "--json")
    assert ran.code == 0, ran.err
    assert Counter(Path("out.txt").read_text("utf-8").splitlines()) == {"gin tea": 2, "": 2}
    metrics = json.loads(ran.out)["metrics"]
    assert (metrics["instances"], metrics["instances_kept"], metrics["empty"]) == (4, 1, 2)


def test_the_output_is_checked_first(rothko: Callable[..., Any], baskets: Path, tmp_path: Path) -> None:
    ran = rothko("sets", baskets, "--k", 2, "--out", baskets, "--overwrite")
    assert ran.code == 2
    assert "The output is the input" in ran.err
    assert baskets.read_text("utf-8") == BASKETS
    ran = rothko("generate", "longtail", "--out", tmp_path / "x.csv")
    assert ran.code == 2
    assert "it writes .txt, .parquet" in ran.err

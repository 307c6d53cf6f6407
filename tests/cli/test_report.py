"""``rothko report`` and ``rothko paint``, and what ``anonymize`` writes beside the data."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Any

import pytest

from rothko.plots.model import parse
from rothko.report import forms
from tests.command import Rothko

PEOPLE = "age,zip,illness\n" + "".join(
    f"{20 + i % 37},{2000 + i * 7 % 90:05d},{['flu', 'cold', 'gout'][i % 3]}\n" for i in range(120)
)
WORDS = ("--qi", "age,zip", "--sensitive", "illness", "--k", "5")


@pytest.fixture
def people(folder: Path) -> Path:
    Path("people.csv").write_text(PEOPLE)
    return folder


@pytest.fixture
def release(people: Path, rothko: Rothko) -> Path:
    assert rothko("anonymize", "people.csv", *WORDS, "--out", "out").code == 0
    return Path("out")


def names(place: Any = ".") -> set[str]:
    return {path.name for path in Path(place).iterdir()}


def test_a_folder_has_a_report_and_a_file_has_one_on_demand(people: Path, rothko: Rothko) -> None:
    ran = rothko("anonymize", "people.csv", *WORDS, "--out", "folder")
    assert "folder/report.html" in ran.out
    assert names("folder") == {"release.csv", "certificate.json", "report.html", "report.json"}
    rothko("anonymize", "people.csv", *WORDS, "--out", "bare", "--no-report")
    assert names("bare") == {"release.csv", "certificate.json"}
    rothko("anonymize", "people.csv", *WORDS, "--out", "file.csv", "--no-recoding")
    assert not Path("file.report.html").exists()
    rothko("anonymize", "people.csv", *WORDS, "--out", "told.csv", "--report")
    assert Path("told.report.html").exists()


@pytest.mark.parametrize("engine", ["rothko-t", "rothko-s"])
def test_engines_on_disk_make_a_report_as_memory_does(people: Path, rothko: Rothko, engine: str) -> None:
    assert rothko("anonymize", "people.csv", *WORDS, "--out", "a", "--engine", engine).code == 0
    assert names("a") == {"release.csv", "certificate.json", "report.html", "report.json"}
    assert rothko("anonymize", "people.csv", *WORDS, "--out", "b", "--engine", engine, "--no-report").code == 0
    assert names("b") == {"release.csv", "certificate.json"}


def test_a_report_is_made_of_a_release_at_any_time(release: Path, rothko: Rothko) -> None:
    before = Path("out/report.html").read_bytes()
    assert rothko("report", "out").code == 2
    ran = rothko("report", "out", "--overwrite")
    assert (ran.code, ran.out.strip()) == (0, "out/report.html")
    assert Path("out/report.html").read_bytes() == before
    shutil.copytree("out", "copy", ignore=shutil.ignore_patterns("report*"))
    assert rothko("report", "copy", "out/release.csv").out.split() == ["copy/report.html", "out/release.report.html"]
    assert rothko("report", "out", "--threshold", "0.5", "--x", "zip", "-o", "page.html").code == 0
    assert Path("page.json").exists()


def test_that_of_the_steward_lies_where_nobody_else_looks(release: Path, rothko: Rothko) -> None:
    ran = rothko("report", "out", "--for", "steward", "--original", "people.csv")
    assert ran.out.strip() == "out-steward/report.html"
    assert Path("out-steward").stat().st_mode & 0o077 == 0
    assert "not for publication" in Path("out-steward/report.html").read_text("utf-8")
    assert names("out") == {"release.csv", "certificate.json", "report.html", "report.json"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("report", "nowhere"), "no release"),
        (("report", "people.csv"), "no certificate"),
        (("report", "sqlite:///o.db?table=t"), "a table in a database has none"),
        (("report", "out", "--for", "boss"), "--for must be public or steward"),
        (("report", "out", "--for", "steward", "-o", "x.html"), "--original"),
        (("report", "out", "--original", "people.csv", "-o", "x.html"), "not for the public"),
        (("report", "out", "out", "-o", "x.html"), "one page"),
        (("report", "out", "-o", "x.pdf"), "ending"),
        (("report", "out", "--threshold", "2", "-o", "x.html"), "between 0 and 1"),
        (("report", "out", "--x", "agee", "-o", "x.html"), "no quasi-identifier"),
        (("paint", "out", "-o", "x.gif"), "ending"),
        (("paint", "out", "--by", "age"), "as it is"),
        (("paint", "out", "--x", "age", "--y", "age"), "Both sides"),
        (("paint", "nowhere"), "no release"),
    ],
)
def test_mistakes_are_one_sentence(release: Path, rothko: Rothko, words: tuple[str, ...], told: str) -> None:
    there = names()
    ran = rothko(*words)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert names() == there


def test_a_file_that_was_changed_is_refused(release: Path, rothko: Rothko) -> None:
    with Path("out/release.csv").open("a") as file:
        file.write("1,2,flu\n")
    for command in ("report", "paint"):
        ran = rothko(command, "out", "--overwrite")
        assert ran.code == 2
        assert "other bytes" in ran.err


def test_a_painting_in_every_form(release: Path, rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "png", functools.partial(forms.png, zoom=0.1))  # a large one takes seconds
    for name, begins in (("p.svg", b"<svg"), ("p.png", b"\x89PNG"), ("p.html", b"<!doctype html>")):
        assert rothko("paint", "out", "--x", "age", "--y", "zip", "--by", "illness", "-o", name).code == 0
        assert Path(name).read_bytes().startswith(begins)
    assert rothko("paint", "out", "-o", "p.json").code == 0
    [painting] = parse(Path("p.json").read_text("utf-8"))
    assert "120 records" in painting.title
    assert rothko("paint", "out").out.strip() == "painting.svg"
    assert rothko("paint", "out").code == 2  # it is there

"""What ``--out`` may be: a file, a folder whatever its name, and never a folder called ``-``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import rothko as rk
from tests.command import Rothko

PEOPLE = "age,city\n" + "".join(f"{20 + i % 9},{'ab'[i % 2]}\n" for i in range(60))
ANONYMIZE = "anonymize people.csv --qi age,city --k 3"
COMMANDS = {
    "anonymize": f"{ANONYMIZE} --out",
    "recoding": f"{ANONYMIZE} --out out.csv --recoding",
    "apply": "apply fine-recoding people.csv --out",
    "sets": "sets baskets.txt --k 2 --out",
    "compare": "compare people.csv --qi age,city --method mondrian --k 3 --no-plots --out",
    "agrawal": "generate agrawal -n 10 --out",
    "census": "generate census -n 10 --out",
    "patients": "generate patients -n 10 --out",
    "longtail": "generate longtail -n 10 --out",
    "policy": "generate census -n 10 --out census.csv --policy",
}
FILES = ("apply", "sets", "agrawal", "census", "patients", "longtail")


@pytest.fixture(autouse=True)
def _people(folder: Path, rothko: Rothko) -> None:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "baskets.txt").write_text("a b\nb c\na b c\n" * 4)
    assert rothko(*ANONYMIZE.split(), "--out", "fine.csv").code == 0


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"anonymize", "apply"}))
def test_standard_output_is_refused_before_the_work(name: str, rothko: Rothko, folder: Path) -> None:
    before = sorted(os.listdir(folder))
    ran = rothko(*COMMANDS[name].split(), "-")
    assert (ran.code, ran.out) == (2, "")
    assert "Nothing is written to standard output (-)" in ran.err
    assert sorted(os.listdir(folder)) == before


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_an_address_that_nothing_is_written_to_is_refused_and_not_shown(
    name: str, rothko: Rothko, folder: Path
) -> None:
    """A path drops a slash: what was meant for a server became folders here, with the password for a name."""
    before = sorted(os.listdir(folder))
    for address in ("mysql://ann:hunter2@host/db?table=t", "https://ann:hunter2@host/out.csv"):
        ran = rothko(*COMMANDS[name].split(), address)
        assert (ran.code, ran.out) == (2, "")
        assert f"Nothing is written to {address.partition(':')[0]}:// here" in ran.err
        assert "hunter2" not in ran.err
    assert sorted(os.listdir(folder)) == before


def test_what_is_no_release_does_not_go_to_an_object_store(rothko: Rothko, folder: Path) -> None:
    before = sorted(os.listdir(folder))
    for name in ("compare", "agrawal"):
        ran = rothko(*COMMANDS[name].split(), "s3://bucket/out.csv")
        assert (ran.code, "To an object store goes a release" in ran.err) == (2, True), ran.err
    assert sorted(os.listdir(folder)) == before


def test_a_folder_may_be_called_as_an_address_begins(rothko: Rothko, folder: Path) -> None:
    (folder / "ftp:").mkdir()
    assert rothko(*COMMANDS["anonymize"].split(), "ftp:/out.csv").code == 0
    assert (folder / "ftp:" / "out.csv").exists()


@pytest.mark.parametrize("name", FILES)
def test_a_slash_at_the_end_is_a_folder_where_a_file_is_needed(name: str, rothko: Rothko, folder: Path) -> None:
    before = sorted(os.listdir(folder))
    ran = rothko(*COMMANDS[name].split(), "new/")
    assert (ran.code, "'new/' is a folder; name a file in it." in ran.err) == (2, True), ran.err
    assert sorted(os.listdir(folder)) == before


def test_a_draft_is_printed(rothko: Rothko, folder: Path) -> None:
    assert rothko("draft", "people.csv", "--out", "-").out == rothko("draft", "people.csv").out != ""
    assert not (folder / "-").exists()


@pytest.mark.parametrize("name", ["out.v2", "out.csv", "out.v2.tar.gz"])
def test_a_folder_with_a_dot_is_a_folder(name: str, rothko: Rothko, folder: Path) -> None:
    assert rothko(*ANONYMIZE.split(), "--out", f"{name}/").code == 0
    assert sorted(os.listdir(name)) == ["certificate.json", "release.csv", "report.html", "report.json"]
    again = rothko(*ANONYMIZE.split(), "--out", name, "--overwrite")  # it is there now
    assert again.code == (2 if name == "out.csv" else 0)  # but a name of a file means a file
    assert sorted(os.listdir(name)) == ["certificate.json", "release.csv", "report.html", "report.json"]


def test_a_new_name_with_an_unknown_ending_is_told_how_to_be_a_folder(rothko: Rothko, folder: Path) -> None:
    ran = rothko(*ANONYMIZE.split(), "--out", "out.v2")
    assert (ran.code, "ends in a slash: 'out.v2/'" in ran.err) == (2, True), ran.err


def test_a_file_is_no_folder(rothko: Rothko, folder: Path) -> None:
    ran = rothko(*ANONYMIZE.split(), "--out", "people.csv/")
    assert (ran.code, "'people.csv' is a file; name a folder" in ran.err) == (2, True), ran.err


def test_python_has_the_same_places(folder: Path) -> None:
    release = rk.anonymize("people.csv", rk.Policy.quick(["age", "city"], qi=["age", "city"], k=3))
    with pytest.raises(rk.errors.OutputError, match="standard output"):
        release.save("-")
    assert release.save("out.v2/").data == Path("out.v2/release.csv")

"""A terminal that has not all characters: what is printed suffers, what is done does not."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import rothko as rk
from tests.command import Ran, Rothko

STREETS = ("Ölgäßchen", "Łódź", "東京", "Nord—Süd")
ILLNESSES = ("Grippe", "Röteln", "“x”")
QUICK = ("--qi", "größe,straße", "--sensitive", "krankheit €", "--k", "4")
COMMANDS = {
    "help": ("anonymize", "--help"),
    "no such column": ("anonymize", "leute.csv", "--qi", "größe,strase", "--k", "4", "--out", "out"),
    "no such file": ("check", "lüte.csv", *QUICK),
    "no such option": ("anonymize", "leute.csv", "--größe"),
    "release": ("anonymize", "leute.csv", *QUICK, "--l", "2", "--out", "frei–gabe"),
    "certificate": ("anonymize", "leute.csv", *QUICK, "--l", "2", "--out", "frei–gabe.csv", "--json"),
    "infeasible": ("anonymize", "leute.csv", *QUICK[:4], "--k", "400", "--out", "out"),
    "check": ("check", "leute.csv", *QUICK),
    "draft": ("draft", "leute.csv", "--out", "entwürfe.yaml"),
    "sets": ("sets", "körbe.txt", "--k", "3", "--out", "gefüllt.txt"),
    "compare": ("compare", "leute.csv", "--qi", "größe", "--k", "4", "--method", "mondrian", "--no-plots"),
}


@pytest.fixture
def people(folder: Path) -> Path:
    lines = [f"{150 + i % 40},{STREETS[i % 4]},{ILLNESSES[i % 3]}" for i in range(60)]
    (folder / "leute.csv").write_text("\n".join(["größe,straße,krankheit €", *lines]) + "\n", "utf-8")
    (folder / "körbe.txt").write_text("äpfel birnen\nbirnen nüsse\näpfel birnen nüsse\n" * 6, "utf-8")
    return folder


Printing = Callable[..., Ran]


@pytest.fixture
def printing(rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> Printing:
    """Run a command with streams of an encoding, which fail on what that does not have."""

    def run(encoding: str, *arguments: str) -> Ran:
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict") for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            code = rothko(*arguments).code
        for stream in streams:
            stream.seek(0)
        return Ran(code, streams[0].read(), streams[1].read())

    return run


def files(folder: Path) -> dict[str, int]:
    """Which files there are, and how large; certificates and recodings tell times and keys, which differ."""
    return {str(path.relative_to(folder)): path.stat().st_size for path in folder.rglob("*.[cty][sx]*")}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_run_does_not_hang_on_what_can_be_printed(command: tuple[str, ...], people: Path, printing: Printing) -> None:
    overwrite = [] if "--out" not in command else ["--overwrite"]
    all_of_it = printing("utf-8", *command)
    there = files(people)
    for encoding in ("ascii", "cp1252"):
        ran = printing(encoding, *command, *overwrite)
        assert ran.code == all_of_it.code
        assert files(people) == there
        assert "Internal error" not in ran.err
        assert len(ran.out.splitlines()) == len(all_of_it.out.splitlines())
        assert len(ran.err.splitlines()) == len(all_of_it.err.splitlines())
        if "--json" in command:
            assert json.loads(ran.out)["columns"] == json.loads(all_of_it.out)["columns"]


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_signs_of_rothko_have_plain_ones(encoding: str, people: Path, printing: Printing) -> None:
    told = printing(encoding, *COMMANDS["release"]).out
    assert ("0 exact … 1" in told) == (encoding == "cp1252")
    assert "0 exact ... 1" in told or encoding == "cp1252"
    assert "sum of squared class sizes" in told


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_a_policy_that_is_printed_and_saved_is_the_one_that_is_written(
    encoding: str, people: Path, printing: Printing
) -> None:
    assert printing("utf-8", *COMMANDS["draft"]).code == 0
    printed = printing(encoding, "draft", "leute.csv")
    assert printed.code == 0
    (people / "saved.yaml").write_bytes(printed.out.encode(encoding))
    assert rk.Policy.load("saved.yaml") == rk.Policy.load("entwürfe.yaml")


def test_a_locale_without_letters(people: Path) -> None:
    """A real process: arguments arrive as bytes that are no text there."""

    def ran(*arguments: str | bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-c", "from rothko.cli import main; main()", *arguments],
            env={**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0"},
            capture_output=True,
            timeout=120,
            check=False,
        )

    done = ran("anonymize", "leute.csv", "--qi", "größe,straße", "--sensitive", "krankheit €", "--k", "4", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert (people / "out/release.csv").read_text("utf-8").startswith("größe,straße,krankheit €\n")
    refused = ran("anonymize", "leute.csv", "--qi", "größe", "--k", "4", "-o", "frei–gabe")
    assert (refused.returncode, b"set PYTHONUTF8=1" in refused.stderr) == (2, True), refused.stderr


@pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="names of files are texts there")
def test_names_of_files_that_are_no_text_are_refused(people: Path, rothko: Rothko) -> None:
    (people / "leute.csv").rename(os.fsdecode(b"l\xff.csv"))
    ran = rothko("check", os.fsdecode(b"l\xff.csv"), *QUICK)
    assert (ran.code, "is not in the encoding of this system" in ran.err) == (2, True)

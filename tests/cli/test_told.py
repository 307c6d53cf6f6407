"""What a command says, and its exit code, follow the state of its files."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

ENDING = """
import os, signal, sys
import rothko.release.commit as commit
from rothko.cli import main
number = int(sys.argv.pop(1))
move = commit.move
def then_stopped(*args):
    move(*args)
    os.kill(os.getpid(), number)
if number:
    import rothko.release.staging as staging
    staging.move = then_stopped
main()
"""


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = pa.table({"age": list(range(40)), "größe…": ["flu", "cold", "gout", "cough"] * 10})
    pcsv.write_csv(table, "people.csv")
    return tmp_path


def ran(
    *arguments: str, number: int = 0, before: str = "", shell: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-c", ENDING, str(number), *arguments]
    if shell:
        words = ["sh", "-c", f'{before}"$@" {shell}', "sh", *words]
    return subprocess.run(
        words,
        capture_output=True,
        encoding=environment.get("PYTHONIOENCODING", "utf-8"),
        timeout=120,
        check=False,
        env={**os.environ, **environment},
    )


ANONYMIZE = tuple(shlex.split("anonymize people.csv --method mondrian --qi age --keep-rest --k 2 --out out"))
IN_PLACE = "complete and in place"


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("command", "written"),
    [
        (ANONYMIZE, "out/release.csv"),
        (("draft", "people.csv", "--out", "policy.yaml"), "policy.yaml"),
        (("generate", "agrawal", "-n", "10", "--out", "g.csv"), "g.csv"),
        (("compare", "people.csv", "--qi", "age", "--method", "mondrian", "--k", "2", "--no-plots", "--out", "c"),
         "c/results.json"),
    ],
)  # fmt: skip
def test_what_is_in_place_is_done_though_nothing_can_be_printed(command: tuple[str, ...], written: str) -> None:
    ended = ran(*command, shell="> /dev/full")
    assert Path(written).exists()
    assert IN_PLACE in ended.stderr
    assert "nothing was released" not in ended.stderr
    assert ended.returncode == 0
    assert "Traceback" not in ended.stderr


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("shell", ["2> /dev/full > /dev/full", ">&- 2>&-", "| head -c 0; exit 0"])
def test_nobody_need_hear_of_it(shell: str) -> None:
    ended = ran(*ANONYMIZE, shell=shell)
    assert ended.returncode == 0
    assert Path("out/release.csv").exists()
    assert "Traceback" not in ended.stderr


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_after_the_last_move_does_not_undo_it(number: int) -> None:
    ended = ran(*ANONYMIZE, number=number)
    assert (ended.returncode, IN_PLACE in ended.stderr) == (0, True), ended.stderr
    assert "stopped after that" in ended.stderr
    assert sorted(os.listdir("out")) == ["certificate.json", "release.csv", "report.html", "report.json"]
    assert os.listdir("out-recoding") == ["recoding.json"]


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_terminal_that_cannot_show_every_character(encoding: str) -> None:
    ended = ran(*ANONYMIZE, PYTHONIOENCODING=encoding)
    assert ended.returncode == 0, ended.stderr
    assert "GCP" in ended.stdout
    ended = ran(*ANONYMIZE, "--json", "--overwrite", PYTHONIOENCODING=encoding)
    assert "größe…" in json.loads(ended.stdout)["columns"]


@pytest.mark.usefixtures("people")
def test_a_result_that_is_only_printed_fails_where_it_cannot_be() -> None:
    ended = ran("check", "people.csv", "--qi", "age", "--keep-rest", "--k", "2", shell="> /dev/full")
    assert ended.returncode == 2
    assert ended.stderr == "Error: The result cannot be printed: the disk is full.\n"


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("check", "people.csv", "--qi", "age", "--keep-rest", "--k", "2"), 4),
        (("draft", "people.csv"), 0),
        (("--help",), 0),
    ],
)
def test_a_reader_that_has_seen_enough_is_no_error(command: tuple[str, ...], code: int) -> None:
    """``rothko … | head``: the exit code is what it would be, and nothing is said about it."""
    ended = ran(*command, shell="; echo $? >&3) 3>&2 | (exec <&-)", before="(")
    assert ended.stderr.splitlines()[-1] == str(code)
    assert "Traceback" not in ended.stderr
    assert "rror" not in ended.stderr

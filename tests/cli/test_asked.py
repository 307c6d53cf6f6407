"""What every command understands: ``--quiet``, ``--verbose``, ``--json`` of errors, ``-h``; and what a shell asks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import Rothko

PEOPLE = "age,city\n" + "".join(f"{20 + i % 9},{'ab'[i % 2]}\n" for i in range(60))
QUICK = ("--qi", "age,city", "--k", "3")
ANONYMIZE = ("anonymize", "people.csv", *QUICK, "--out", "out")
STAGES = ["reading", "encoding", "partitioning", "publishing", "writing and verifying"]


@pytest.fixture(autouse=True)
def _people(folder: Path) -> None:
    (folder / "people.csv").write_text(PEOPLE)
    (folder / "baskets.txt").write_text("a b\nb c\na b c\n" * 4)


# ── quiet and verbose


@pytest.mark.parametrize("words", [(*ANONYMIZE, "--quiet"), ("-q", *ANONYMIZE)])
def test_quiet_is_quiet(words: tuple[str, ...], rothko: Rothko) -> None:
    ran = rothko(*words)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert Path("out/release.csv").exists()
    assert rothko(*ANONYMIZE, "--overwrite").out  # it is asked for anew


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("check", "people.csv", "--qi", "age,city", "--k", "4"), 4),
        (("draft", "people.csv", "--out", "policy.yaml"), 0),
        (("sets", "baskets.txt", "--k", "3", "--out", "out.txt"), 0),
        (("generate", "patients", "-n", "10", "--out", "p.csv"), 0),
        (("compare", "people.csv", *QUICK, "--method", "mondrian", "--no-plots", "--out", "c"), 0),
    ],
)
def test_every_report_can_be_quiet(command: tuple[str, ...], code: int, rothko: Rothko) -> None:
    ran = rothko(*command, "--quiet")
    assert (ran.code, ran.out, ran.err) == (code, "", "")


def test_quiet_leaves_errors_warnings_and_what_is_asked_for(rothko: Rothko) -> None:
    assert rothko("anonymize", "people.csv", "--qi", "none", "--k", "3", "--out", "out", "-q").err.startswith("Error: ")
    Path("policy.yaml").write_text(
        "columns: {age: {role: quasi-identifier}, city: {role: keep}}\nprivacy: [{k-anonymity: {k: 3}}]\norder: keep\n"
    )
    ran = rothko("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out", "-q", "--json")
    assert ran.err.startswith("Warning: ")
    assert json.loads(ran.out)["rows"] == 60
    assert rothko("draft", "people.csv", "-q").out.startswith("# A draft")


def test_verbose_is_a_line_for_each_stage_where_there_is_no_terminal(rothko: Rothko) -> None:
    told = [line.split(" s  ")[1] for line in rothko(*ANONYMIZE, "-v").err.splitlines() if " s  " in line]
    assert told == STAGES
    assert not any(stage in rothko(*ANONYMIZE, "--overwrite").err for stage in STAGES)
    assert not rothko(*ANONYMIZE, "--overwrite", "-v", "-q").err


# ── for machines


@pytest.mark.parametrize(
    ("command", "kind", "code"),
    [
        (("anonymize", "nobody.csv", *QUICK, "--out", "out"), "InputError", 2),
        (("anonymize", "people.csv", *QUICK, "--out", "out.doc"), "OutputError", 2),
        (("anonymize", "people.csv", "--qi", "age,city", "--k", "400", "--out", "out"), "InfeasibleError", 3),
        (("check", "people.csv", "--policy", "people.csv"), "PolicyError", 2),
        (("apply", "nothing", "people.csv", "--out", "x.csv"), "InputError", 2),
        (("sets", "baskets.txt", "--k", "400", "--out", "x.txt"), "InfeasibleError", 3),
        (("anonymize", "people.csv", *QUICK), "UsageError", 2),
        (("check", "people.csv", "--nonsense"), "UsageError", 2),
        (("draft", "people.csv", "--json", "--k"), "UsageError", 2),
    ],
)
def test_errors_are_json_where_results_are(command: tuple[str, ...], kind: str, code: int, rothko: Rothko) -> None:
    told = rothko(*command)
    ran = rothko(*command[:2], "--json", *command[2:])
    document = json.loads(ran.out)
    error = document.pop("error")
    assert (ran.code, ran.err, document) == (code, "", {"format": "rothko error 1"})
    assert (error["kind"], error["exit_code"]) == (kind, code)
    assert error["message"].split(";")[0] in told.err.replace("Error: ", "") or kind == "UsageError"


def test_bugs_and_values_are_json_too(rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("policy.yaml").write_text(
        "columns: {age: {role: quasi-identifier}, city: {role: quasi-identifier, order: [a]}}\n"
        "privacy: [{k-anonymity: {k: 2}}]\n"
    )
    command = ("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out", "--json")
    assert "values" not in json.loads(rothko(*command).out)["error"]
    told = json.loads(rothko(*command, "--show-values").out)["error"]
    assert (told["values"], told["values_in_all"]) == (["b"], 1)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a cell")

    monkeypatch.setattr("rothko.policy.draft.draft", fail)
    ran = rothko("draft", "people.csv", "--json")
    assert (ran.code, json.loads(ran.out)["error"]["kind"]) == (1, "InternalError")
    assert "a cell" not in ran.out + ran.err


def test_a_word_after_two_dashes_is_no_option(rothko: Rothko) -> None:
    ran = rothko("check", "--nonsense", "--", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert "No such option" in ran.err


def test_apply_has_json(rothko: Rothko) -> None:
    assert rothko(*ANONYMIZE, "--recoding", "out-recoding").code == 0
    told = json.loads(rothko("apply", "out-recoding", "people.csv", "--out", "new.csv", "--json").out)
    assert (told["path"], told["rows"], told["suppressed"], told["k"]) == ("new.csv", 60, 0, 3)


# ── starting it


@pytest.mark.parametrize("words", [("-h",), ("anonymize", "-h"), ("generate", "-h"), ("generate", "patients", "-h")])
def test_help_has_a_short_name(words: tuple[str, ...], rothko: Rothko) -> None:
    ran = rothko(*words)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == rothko(*words[:-1], "--help").out
    assert ran.out.startswith("Usage: rothko ")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ano", {"anonymize"}),
        ("generate pat", {"patients"}),
        ("anonymize people.csv --quie", {"--quiet"}),
        ("anonymize people.csv --method hil", {"hilbert", "hilbert-fast"}),
        ("anonymize people.csv --publish me", {"mean"}),
        ("sets baskets.txt --method set-t", {"set-two-phase"}),
    ],
)
def test_a_shell_completes(typed: str, offered: set[str], rothko: Rothko, monkeypatch: pytest.MonkeyPatch) -> None:
    """As bash asks: the words so far, and the one that the cursor is in."""
    monkeypatch.setenv("_ROTHKO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"rothko {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split())))
    assert set(rothko().out.split()) == offered


def test_as_a_module_and_for_a_shell() -> None:
    """Real processes: ``python -m rothko``, and what bash is to evaluate."""
    words = [sys.executable, "-m", "rothko"]
    ran = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("rothko ")
    script = subprocess.run(
        words, env={**os.environ, "_ROTHKO_COMPLETE": "source_bash"}, capture_output=True, text=True
    )
    assert "complete -o default -F _rothko_completion rothko" in script.stdout

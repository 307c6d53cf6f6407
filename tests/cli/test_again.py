"""The page of ``rothko compare``: what it says to type makes the release that was compared."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

ENTRY = re.compile(r'<div class="entry" id="trial-(\d+)">(.*?)</div>', re.DOTALL)


@pytest.fixture
def census(rothko: Callable[..., Any], folder: Path) -> Path:
    ran = rothko("generate", "census", "-n", "300", "-o", "census.csv", "--policy", "census.yaml")
    assert ran.code == 0, ran.err
    return folder


def entries(page: str) -> dict[int, list[str]]:
    """Number of a trial → what stands in its entry: a command, and a policy where it needs one."""
    html = Path(page).read_text("utf-8")
    assert html.count('id="chosen"') == 1
    return {int(at): [unescape(one) for one in re.findall(r"<code>(.*?)</code>", inner, re.DOTALL)]
            for at, inner in ENTRY.findall(html)}  # fmt: skip


def check(page: str, trials: list[dict[str, Any]], rothko: Callable[..., Any], *, policies: bool) -> None:
    """Every command is run, and its certificate has the numbers of the trial."""
    found = entries(page)
    assert len(found) == len(trials)
    for at, (command, *policy) in found.items():
        rothko_, *arguments = shlex.split(command)
        assert rothko_ == "rothko"
        assert bool(policy) == policies
        if policy:
            Path(arguments[arguments.index("--policy") + 1]).write_text(policy[0], encoding="utf-8")
        ran = rothko(*arguments, "--no-report", "--json")
        assert ran.code == 0, ran.err
        certificate, trial = json.loads(ran.out), trials[at - 1]
        assert certificate["loss"]["gcp"] == pytest.approx(trial["gcp"], abs=1e-5)
        assert certificate["classes"] == trial["classes"]
        assert certificate["seed"] == 3


@pytest.mark.parametrize(
    ("asked", "policies"),
    [
        ("--policy census.yaml --method mondrian,'idistance centres=9' --k 5,20", False),
        ("--qi age,education --method mondrian,hilbert --k 3,9 --delimiter ,", False),
        ("--qi age,education --sensitive occupation --method mondrian --l 2,3 --k 4", True),
    ],
)
def test_each_command_makes_the_release_of_its_trial(
    census: Path, rothko: Callable[..., Any], asked: str, policies: bool
) -> None:
    line = ("compare", "census.csv", *shlex.split(asked), "--seed", "3")
    ran = rothko(*line, "--out", "page.html", "--json")
    assert ran.code == 0, ran.err
    assert [path.name for path in census.glob("*.html")] == ["page.html"]
    check("page.html", json.loads(ran.out)["trials"], rothko, policies=policies)
    again = rothko(*line, "--out", "page.html")
    assert again.code == 2
    assert "--overwrite" in again.err


def test_the_commands_of_sets(rothko: Callable[..., Any], folder: Path) -> None:
    Path("baskets.txt").write_text("tea milk\ntea milk gin\ntea\ntea bread\n" * 3, encoding="utf-8")
    Path("worth.csv").write_text("item,utility\nmilk,3\n", encoding="utf-8")
    ran = rothko(
        "compare", "baskets.txt", "--utility", "worth.csv", "--method", "set-mondrian criterion=even,set-two-phase",
        "--k", "2,4,99", "--out", "page.html", "--json",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    trials = json.loads(ran.out)["trials"]
    found = entries("page.html")
    assert sorted(found) == [at for at, trial in enumerate(trials, 1) if trial["reason"] is None]
    for at, (command,) in found.items():
        ran = rothko(*shlex.split(command)[1:], "--json")
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["metrics"]["utility_kept"] == pytest.approx(trials[at - 1]["utility_kept"], abs=1e-5)


def test_a_page_of_trials_none_of_which_could_be_run(census: Path, rothko: Callable[..., Any]) -> None:
    ran = rothko("compare", "census.csv", "--qi", "age", "--method", "mondrian", "--k", "999", "--out", "page.html")
    assert ran.code == 3
    html = Path("page.html").read_text("utf-8")
    assert "What could not be run" in html
    assert 'class="entry"' not in html

"""Bars stand beside numbers on a terminal alone, in letters that it has, and change no number."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rothko.cli import console
from rothko.cli.console import Talk

BARS = "▏▎▍▌▋▊▉█▁▂▃▄▅▆▇"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A terminal of an encoding; what it shows is kept."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, encoding: str, width: int) -> None:
        self._bytes = io.BytesIO()
        file = io.TextIOWrapper(self._bytes, encoding=encoding, newline="\n")
        for name in ("out", "err"):
            monkeypatch.setattr(console, name, Talk(file=file, force_terminal=True, highlight=False, width=width))
        self._file = file

    def shown(self) -> str:
        self._file.flush()
        text = ESCAPES.sub("", self._bytes.getvalue().decode(self._file.encoding))
        self._bytes.seek(0)
        self._bytes.truncate()
        return text


COMMANDS = {
    "anonymize": "anonymize people.csv --qi age,zip --sensitive sick --k 5 --out out --overwrite",
    "check": "check people.csv --qi age,zip --sensitive sick --k 3",
    "draft": "draft people.csv -o policy.yaml --overwrite",
    "compare": "compare people.csv --qi age,zip --method mondrian,hilbert --k 2,4,8",
    "measure": "measure people.csv out/release.csv --policy measured.yaml --cube 1,2",
    "sets": "sets baskets.txt --k 3 --out shared.txt --overwrite",
}
MEASURED = """
columns:
  age: {role: quasi-identifier}
  zip: {role: quasi-identifier}
  sick: {role: sensitive}
privacy:
  - k-anonymity: {k: 5}
"""
TIMES = re.compile(r"\d+\.\d+ s\b")


@pytest.fixture
def people(folder: Path, rothko: Callable[..., Any]) -> Path:
    rows = [f"{20 + i % 13},{1000 + i % 3},{'yes' if i % 3 else 'no'}" for i in range(80)]
    Path("people.csv").write_text("\n".join(["age,zip,sick", *rows]) + "\n", encoding="utf-8")
    Path("baskets.txt").write_text("tea milk\ntea milk gin\ntea\ntea bread\n" * 3, encoding="utf-8")
    Path("measured.yaml").write_text(MEASURED, encoding="utf-8")
    assert rothko(*COMMANDS["anonymize"].split()).code == 0
    return folder


def numbers(text: str) -> list[str]:
    """All words but bars; times differ from run to run."""
    return [word for word in TIMES.sub("", text).split() if not set(word) <= set(BARS)]


@pytest.mark.parametrize("command", COMMANDS)
def test_bars_are_for_terminals(
    people: Path, rothko: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    line = COMMANDS[command].split()
    ran = rothko(*line)
    piped = ran.out
    assert not set(piped) & set(BARS)
    assert "\x1b" not in piped
    terminal = Terminal(monkeypatch, "utf-8", 140)
    rothko(*line)
    shown = terminal.shown()
    assert set(shown) & set(BARS)
    if command == "compare":
        shown = shown.replace("lost", "")
        shown = "\n".join(row for row in shown.splitlines() if ", k = " not in row)
    assert numbers(shown) == numbers(piped)


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_terminal_without_blocks_has_plain_signs(
    people: Path, rothko: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    terminal = Terminal(monkeypatch, encoding, 140)
    for command in ("check", "compare"):
        rothko(*COMMANDS[command].split())
        shown = terminal.shown()
        assert "#" in shown
        assert "?" not in shown


def test_a_narrow_terminal_keeps_its_room_for_numbers(
    people: Path, rothko: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(monkeypatch, "utf-8", 92)
    rothko(*COMMANDS["compare"].split())
    table = [row for row in terminal.shown().splitlines() if row.startswith(("method", "mondrian", "hilbert"))]
    assert len(table) == 7
    assert not set("".join(table)) & set(BARS)


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_cuts_no_number(
    people: Path, rothko: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    line = COMMANDS["measure"].split()
    told = rothko(*line).out.partition("lower is better")[2]
    terminal = Terminal(monkeypatch, "utf-8", width)
    rothko(*line)
    shown = terminal.shown()
    assert "…" not in shown.partition("lower")[2]
    assert set(numbers(told)) <= set(numbers(shown))


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_narrow_terminal_breaks_no_name(
    tmp_path: Path, rothko: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Reasons stand below where there is no room beside."""
    names = ["Schulabschluss", "Nettoeinkommen"]
    rows = "\n".join(f"{i % 5},{i * 37 % 211}" for i in range(60))
    (tmp_path / "people.csv").write_text(f"{','.join(names)}\n{rows}\n")
    terminal = Terminal(monkeypatch, "utf-8", width)
    rothko("draft", tmp_path / "people.csv", "--out", tmp_path / "policy.yaml")
    shown = terminal.shown().partition("unique on")[0]
    assert all(name in shown for name in names)
    assert shown.count("quasi-identifier") + shown.count("keep") >= 2
    assert "5 distinct" in shown

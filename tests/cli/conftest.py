"""The command line, run in this process."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rothko.cli import main
from rothko.errors import PrivacyWarning


@dataclass(frozen=True)
class Ran:
    """What a command left behind: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture
def rothko(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command as a shell would, without starting Python anew."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["rothko", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # main() puts its own there
        capsys.readouterr()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("always", category=PrivacyWarning)  # shown, not raised
            with pytest.raises(SystemExit) as stopped:
                main()
        printed = capsys.readouterr()
        return Ran(int(stopped.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

"""The command line, run in this process."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import typer

from rothko.cli import main
from rothko.errors import PrivacyWarning


@dataclass(frozen=True)
class Ran:
    """What a command left behind: its exit code and what it printed."""

    code: int
    out: str
    err: str


Rothko = Callable[..., Ran]
built = functools.cache(typer.main.get_command)
"""Typer builds all commands anew for each that is run, which takes longer than most of them."""


@pytest.fixture
def rothko(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Rothko:
    """Run a command as a shell would, without starting Python anew."""

    def run(*arguments: object) -> Ran:
        monkeypatch.setattr(typer.main, "get_command", built)
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

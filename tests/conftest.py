"""What every test may use: the profiles of Hypothesis, the command line, an empty folder to work in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.command import rothko

__all__ = ["folder", "rothko"]

# The same examples in every run, so that a run means the same for everybody; `--hypothesis-profile=explore` looks for
# new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("explore", derandomize=False)
settings.load_profile("same")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path

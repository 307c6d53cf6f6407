"""What every test may use: every engine, the command line, an empty folder to work in."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests import compiled
from tests.browser import CHROMIUM, LEFT_OUT
from tests.command import rothko
from tests.databases import in_postgres, postgres
from tests.engine import disk_engine, engine

__all__ = ["disk_engine", "engine", "folder", "in_postgres", "postgres", "rothko"]

# The same examples in every run, so that a run means the same for everybody; `--hypothesis-profile=explore` looks for
# new ones, and longer.
settings.register_profile("same", derandomize=True, max_examples=60)
settings.register_profile("explore", derandomize=False, max_examples=300)
settings.load_profile("same")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """What a worker is told at its start: whether to compile its share of the kernels, of a run of all tests."""
    everything = node.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    node.workerinput["compile"] = everything and compiled.nothing_is()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Workers share the cores: if each took all of them for every small table, it would wait for the others."""
    told = getattr(session.config, "workerinput", None)
    if told is None:
        return
    worker, workers = int(told["workerid"].removeprefix("gw")), told["workercount"]
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[worker::workers] or cores)
    if told["compile"]:
        compiled.share(worker, workers)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what a machine could not test."""
    if CHROMIUM is None:
        terminalreporter.write_line(LEFT_OUT)


def pytest_collection_finish() -> None:
    """What is imported and collected stays until the end: the garbage collector need not look at it again and again."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish() -> None:
    gc.unfreeze()

"""What every test may use: every engine, the command line, an empty folder to work in."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from tests import compiled
from tests.browser import CHROMIUM, LEFT_OUT, Browser, running
from tests.command import rothko
from tests.databases import in_postgres, postgres
from tests.engine import disk_engine, engine

__all__ = ["disk_engine", "engine", "folder", "in_postgres", "postgres", "rothko"]

# The same examples in every run, so that a run means the same for everybody; `--hypothesis-profile=explore` looks for
# new ones, and longer.
settings.register_profile("same", derandomize=True, max_examples=60)
settings.register_profile("explore", derandomize=False, max_examples=60)
settings.load_profile("same")
# What a shell starts in the background ignores Ctrl-C, and so does all that it starts; tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

FEW = 30
"""Examples that every run tries of a property, and a third of what its test asks for beyond them; see ``many``."""

SHARED = {"browser", "postgres"}
"""Fixtures that start a program, for one worker to start."""
CLAIMS = pytest.StashKey[str]()
"""The folder in which workers claim methods to compile for."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all who open pages."""
    if CHROMIUM is None:
        pytest.skip(LEFT_OUT)
    with running(tmp_path_factory.mktemp("browser")) as started:
        yield started


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """What a worker is told at its start: of a run of all tests where nothing is compiled, how to share in that."""
    everything = node.config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if everything and CLAIMS not in node.config.stash and compiled.nothing_is():
        node.config.stash[CLAIMS] = folder = tempfile.mkdtemp()
        node.config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    node.workerinput["claims"] = node.config.stash.get(CLAIMS, None)


def pytest_sessionstart(session: pytest.Session) -> None:
    """Workers share the cores: if each took all of them for every small table, it would wait for the others."""
    told = getattr(session.config, "workerinput", None)
    if told is None:
        return
    worker, workers = int(told["workerid"].removeprefix("gw")), told["workercount"]
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[worker::workers] or cores)
    if told["claims"] is not None:
        compiled.share(Path(told["claims"]))


def many(asked: int, *, explore: bool) -> int:
    """How many examples are tried of a property whose test asks for so many: five times as many by who explores.

    The same examples in every run find something the first time; what they cost is every run's. All that tests ask for
    took minutes more than a run may take.
    """
    return 5 * asked if explore else min(asked, FEW + max(asked - FEW, 0) // 3)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Every test is given its number of examples, once for all that it is tried with, and no clock.

    By Hypothesis' clock a property fails where drawing examples, or trying one, takes long: on a machine that others
    use, too, that says nothing of the code. What things take, benchmarks measure.
    """
    test = getattr(item, "obj", None)
    if is_hypothesis_test(test) and not hasattr(test, "asked_for"):
        known = test._hypothesis_internal_use_settings
        test.asked_for = known.max_examples
        explore = settings.get_current_profile_name() == "explore"
        test._hypothesis_internal_use_settings = settings(
            known,
            max_examples=many(known.max_examples, explore=explore),
            deadline=None,
            suppress_health_check={*known.suppress_health_check, HealthCheck.too_slow},
        )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long is begun first, so that at the end no worker waits for the other.

    Each worker begins with an equal share of the list, and takes from the end of the others' when it is through. The
    first begins with all tests on Spark, whose session it then makes alone; the next one with modules that have tests
    which are marked as long, or that share a browser or a database.
    """
    told = getattr(config, "workerinput", None)
    if told is None:
        return
    on_spark = [item for item in items if "spark" in _fixtures(item)]
    rest = [item for item in items if "spark" not in _fixtures(item)]
    early = {item.path for item in rest if item.get_closest_marker("long") or SHARED & _fixtures(item)}
    others = [item for item in rest if item.path not in early]
    begun = max(len(items) // told["workercount"] - len(on_spark), 0)
    items[:] = [*on_spark, *others[:begun], *(item for item in rest if item.path in early), *others[begun:]]


def _fixtures(item: pytest.Item) -> set[str]:
    """What a test takes; a doctest takes nothing."""
    return set(getattr(item, "fixturenames", ()))


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

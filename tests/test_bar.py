"""``progress=True`` is a bar, of everything that takes its time, in a terminal and in notebooks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import rothko as rk
from rothko import bar
from rothko.kernels import compiling
from rothko.progress import Progress, remark

PEOPLE = {"age": [20 + i % 30 for i in range(120)], "sick": ["yes", "no", "no"] * 40}
BASKETS = [["tea", "milk"], ["tea"], ["tea", "gin"], ["milk", "tea"]]
RUNS: dict[str, tuple[str, Callable[..., Any]]] = {
    "anonymize": ("partition", lambda **bar: rk.anonymize(PEOPLE, qi="age", sensitive="sick", k=5, **bar)),
    "compare": ("compare", lambda **bar: rk.compare(PEOPLE, qi="age", k=[2, 4], methods=["mondrian"], **bar)),
    "evaluate": (
        "evaluate",
        lambda **bar: rk.evaluate(PEOPLE, qi="age", keep="sick", k=5, classify="sick", models=["tree"], folds=2, **bar),
    ),
    "sets": ("partition", lambda **bar: rk.sets.anonymize(BASKETS, k=2, **bar)),
    "sets compared": ("compare", lambda **bar: rk.sets.compare(BASKETS, k=[2], **bar)),
}


@pytest.mark.parametrize("name", RUNS)
def test_true_is_a_bar_and_false_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int]] = []

    @contextmanager
    def drawn() -> Iterator[Progress]:
        yield lambda *step: told.append(step)

    monkeypatch.setattr(compiling, "drawn", drawn)
    stage, run = RUNS[name]
    run(progress=False)
    assert told == []
    run(progress=True)
    last = [step for step in told if step[0] == stage][-1]
    assert last[1] == last[2] > 0, "told to its end"


def test_what_work_says_of_itself_stands_beside_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[tuple[str, str]] = []

    class Screen:
        def told(self, stage: str, words: str, done: int, total: int) -> None:
            lines.append((stage, words))

        def close(self) -> None:
            pass

    monkeypatch.setattr(bar, "in_notebook", Screen)
    with bar.drawn() as report:
        remark("nobody works yet")
        report("partition", 0, 10)
        remark("loss 0.25")
        report("partition", 5, 10)
        report("publish", 0, 10)
    remark("nobody listens")
    assert lines == [
        ("partition", "partitioning"),
        ("partition", "partitioning, loss 0.25"),
        ("partition", "partitioning, loss 0.25"),
        ("publish", "publishing"),
    ]


def run_in(patience: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that tells of itself from another thread, as compiled loops are watched."""
    monkeypatch.setattr(bar, "PATIENCE", patience)
    monkeypatch.setattr(bar, "EVERY", 0.01)
    with bar.drawn() as report:
        teller = threading.Thread(target=lambda: report("encode", 3, 12))
        teller.start()
        teller.join()
        time.sleep(0.15)


class Notebook:
    """A stand-in for marimo: what its cell shows, one after the other."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.shown: list[str | None] = []
        self.threads: list[type] = []
        output = SimpleNamespace(replace=self.shown.append)
        self.module = SimpleNamespace(
            output=output, Html=lambda html: html, Thread=self._thread, running_in_notebook=lambda: True
        )
        monkeypatch.setitem(sys.modules, "marimo", self.module)

    def _thread(self, **given: Any) -> threading.Thread:
        self.threads.append(threading.Thread)
        return threading.Thread(**given)


def test_a_bar_in_marimo(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch)
    run_in(0.01, monkeypatch)
    *bars, last = notebook.shown
    assert last is None, "nothing is left of it"
    assert len(bars) > 1
    assert all(html is not None and '<progress value="0.250"></progress> encoding' in html for html in bars)
    assert len(notebook.threads) == 1, "drawn by a thread that marimo listens to"


def test_what_is_quick_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch)
    run_in(30, monkeypatch)
    assert notebook.shown == []


def test_marimo_that_is_only_imported_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook(monkeypatch)
    notebook.module.running_in_notebook = lambda: False
    assert bar.in_notebook() is None


IN_A_KERNEL = """
import time
from IPython.display import DisplayHandle
from rothko import bar

bar.PATIENCE = bar.EVERY = 0.02
update, shown = DisplayHandle.update, []
DisplayHandle.update = lambda self, html: (shown.append(html.data), update(self, html))
with bar.drawn() as report:
    report("partition", 5, 10)
    time.sleep(0.2)
print(len(shown) > 2, '<progress value="0.500">' in shown[0], shown[-1] == "")
"""


def test_a_bar_in_jupyter() -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(IN_A_KERNEL)])
    NotebookClient(notebook, timeout=60).execute()
    printed = "".join(one.text for one in notebook.cells[0].outputs if one.output_type == "stream")
    assert printed == "True True True\n"

"""``progress=True`` is a bar, of everything that takes its time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import rothko as rk
from rothko.kernels import compiling
from rothko.progress import Progress

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

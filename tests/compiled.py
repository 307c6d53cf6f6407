"""Kernels are compiled by their first call, minutes of it in all. Where nothing is compiled yet, each of the workers
that share the tests begins with other kernels; else all would compile the same ones at the same time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rothko as rk


def nothing_is() -> bool:
    """Whether no kernel was compiled since one of them last changed."""
    from rothko import kernels  # removes what was compiled before

    return not any(Path(kernels.__file__).parent.rglob("__pycache__/*.nbi"))


def release(method: Any = "mondrian", engine: str = "memory", **more: Any) -> None:
    """A small table, by k and by diversity."""
    from rothko.generate.census import census, census_policy

    for privacy in ([{"k-anonymity": {"k": 5}}], [{"frequency-l-diversity": {"l": 2, "of": "occupation"}}]):
        rk.anonymize(census(400), census_policy(k=5).but(method=method, privacy=privacy, **more), engine=engine)


def mondrian() -> None:
    release()
    release({"mondrian": {"relaxed": True}})
    release(engine="rothko-t")
    release(engine="rothko-s")


def workload() -> None:
    tasks = [{"classify": {"target": "salary_class"}}, {"select": {"where": "age between 30 and 50"}}]
    release(workload=tasks)
    release(engine="rothko-t", workload=tasks)


def sets(*methods: str) -> Callable[[], None]:
    records = [["a", "b"], ["a", "c"], ["b", "c", "d"], ["d", "e"], ["a", "e", "f"]] * 12

    def made() -> None:
        for method in methods:
            rk.sets.anonymize(records, k=3, method=method)

    return made


FAMILIES: tuple[Callable[[], None], ...] = (
    lambda: release("refine", workload=[{"classify": {"target": "salary_class"}}]),
    lambda: release("cluster"),
    mondrian,
    workload,
    lambda: [release(f"idistance{fast}") or release(f"hilbert{fast}") for fast in ("", "-fast")],
    sets("set-two-phase", "set-k1"),
    lambda: release("topdown"),
    sets("set-mondrian", "set-cluster", "set-iterative"),
)
"""In turn one for each worker: the first take longest."""


def share(worker: int, workers: int) -> None:
    """Compile what falls to one of so many workers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for family in FAMILIES[worker::workers]:
            family()

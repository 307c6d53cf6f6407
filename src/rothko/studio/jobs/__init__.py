"""What a worker can do: functions that take and give what can be pickled, by their names.

They are imported when they are first asked for: a process that only makes releases loads no plots.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

PLACES = {
    "ready": "looking",
    "sample": "looking",
    "whole": "looking",
    "numbers": "looking",
    "satisfies": "looking",
    "hierarchy": "trees",
    "values": "trees",
    "loaded": "making",
    "make": "making",
    "compare": "making",
    "told": "made",
    "painting": "made",
    "rows": "made",
    "before": "made",
}
"""Job → its module here; the function has its name."""


class Telling(Protocol):
    """What a job tells on its way."""

    @property
    def warnings(self) -> list[str]:
        """What weakens the protection, as it was said while the job ran."""
        ...

    def stage(self, stage: str, done: int, total: int) -> None:
        """How far a stage is."""
        ...

    def partial(self, found: Any) -> None:
        """What is known already."""
        ...


class _Jobs(Mapping[str, Callable[..., Any]]):
    def __getitem__(self, name: str) -> Callable[..., Any]:
        module = importlib.import_module(f"rothko.studio.jobs.{PLACES[name]}")
        found: Callable[..., Any] = getattr(module, name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)


JOBS: Mapping[str, Callable[..., Any]] = _Jobs()

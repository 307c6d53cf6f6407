"""A progress bar: on the command line, and in Python for ``progress=True``."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rothko.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

STAGES = {
    "survey": "learning the values",
    "sample": "drawing a sample",
    "count": "counting values",
    "repartition": "writing parts",
    "load": "partitioning parts",
    "read": "reading",
    "encode": "encoding",
    "partition": "partitioning",
    "publish": "publishing",
    "save": "writing and verifying",
    "evaluate": "training and scoring",
    "compare": "comparing",
    "compile": "compiling for this machine, once",
}
PATIENCE = 1.0
"""Seconds that a run may take before there is a bar."""


@contextmanager
def drawn(
    console: Console | None = None, *, shown: bool = True, begun: Callable[[str], None] = lambda stage: None
) -> Iterator[Progress]:
    """A progress bar for runs of more than a second.

    Parameters
    ----------
    console
        Where it is drawn; standard error by default, or the notebook.
    begun
        Told of each stage as it begins.
    """
    bar = _bar(console) if shown else None
    tasks: dict[str, Any] = {}
    passes: Counter[str] = Counter()
    last = ""

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last
        passes[stage] += done == 0
        finished = done >= total
        description = STAGES[stage]
        if stage != "compile" and passes[stage] > 1:
            description += f", pass {passes[stage]}"
        if description != last:
            last = description
            begun(description)
        if bar is None:
            return
        if stage not in tasks:
            tasks[stage] = bar.add_task(STAGES[stage], total=total if total > 1 else None)
        bar.update(
            tasks[stage],
            description=f"{description} ({done} of {total})" if stage == "compile" else description,
            completed=1 if finished and total <= 1 else done,
            total=1 if finished and total <= 1 else None if total <= 1 else total,
        )

    if bar is None:
        yield report
        return
    timer = threading.Timer(PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        if bar.live.is_started:
            bar.stop()


def _bar(console: Console | None) -> Bar:
    """A bar that waits to be started; what draws it is loaded only where somebody sees it."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console or Console(stderr=True),
        transient=True,
    )

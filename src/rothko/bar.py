"""A progress bar: on the command line, and in Python for ``progress=True``, there in a notebook, too."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from rothko.progress import Progress, remarks

if TYPE_CHECKING:
    from rich.console import Console

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
EVERY = 0.25
"""Seconds from one look of a bar in a notebook to the next."""


class Screen(Protocol):
    """Where a bar is drawn."""

    def told(self, stage: str, words: str, done: int, total: int) -> None:
        """How far a stage has come, and what it is called."""

    def close(self) -> None:
        """Nothing is left of it."""


@contextmanager
def drawn(
    console: Console | None = None, *, shown: bool = True, begun: Callable[[str], None] = lambda stage: None
) -> Iterator[Progress]:
    """A progress bar for runs of more than a second.

    Parameters
    ----------
    console
        Where it is drawn; by default the cell of the notebook that this runs in, or standard error.
    begun
        Told of each stage as it begins.
    """
    screen: Screen | None = None
    if shown:
        screen = (None if console is not None else in_notebook()) or _Terminal(console)
    passes: Counter[str] = Counter()
    last, said = "", ""
    going_on = ("", "", 0, 0)

    def show() -> None:
        stage, words, done, total = going_on
        if screen is not None and stage:
            screen.told(stage, f"{words}, {said}" if said else words, done, total)

    def remarked(words: str) -> None:
        nonlocal said
        said = words
        show()

    def report(stage: str, done: int, total: int) -> None:
        nonlocal last, said, going_on
        passes[stage] += done == 0
        description = STAGES[stage]
        if stage != "compile" and passes[stage] > 1:
            description += f", pass {passes[stage]}"
        if description != last:
            last = description
            begun(description)
        words = f"{description} ({done} of {total})" if stage == "compile" else description
        if stage != going_on[0]:
            said = ""
        going_on = (stage, words, done, total)
        show()

    try:
        with remarks(remarked):
            yield report
    finally:
        if screen is not None:
            screen.close()


class _Terminal:
    """A line for each stage."""

    def __init__(self, console: Console | None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        self._bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console or Console(stderr=True),
            transient=True,
        )
        self._tasks: dict[str, Any] = {}
        self._timer = threading.Timer(PATIENCE, self._bar.start)
        self._timer.daemon = True
        self._timer.start()

    def told(self, stage: str, words: str, done: int, total: int) -> None:
        if stage not in self._tasks:
            self._tasks[stage] = self._bar.add_task(STAGES[stage], total=total if total > 1 else None)
        finished = done >= total
        self._bar.update(
            self._tasks[stage],
            description=words,
            completed=1 if finished and total <= 1 else done,
            total=1 if finished and total <= 1 else None if total <= 1 else total,
        )

    def close(self) -> None:
        self._timer.cancel()
        if self._bar.live.is_started:
            self._bar.stop()


class Cell:
    """A bar in the output of a cell, of the stage that is going on.

    It is drawn by a thread of its own: work tells of itself from any thread, and a notebook listens to few.

    Parameters
    ----------
    show
        Puts HTML in the place of what was shown before.
    clear
        Takes it away.
    thread
        The class of the thread that draws.
    """

    def __init__(self, show: Callable[[str], None], clear: Callable[[], None], thread: type[threading.Thread]) -> None:
        self._show, self._clear = show, clear
        self._now: tuple[str, int, int] | None = None
        self._over = threading.Event()
        self._began = time.monotonic()
        self._drawing = thread(target=self._draw, daemon=True)
        self._drawing.start()

    def told(self, stage: str, words: str, done: int, total: int) -> None:
        """How far a stage has come, and what it is called."""
        self._now = words, done, total

    def close(self) -> None:
        """Nothing is left of it."""
        self._over.set()
        self._drawing.join()

    def _draw(self) -> None:
        shown = False
        while not self._over.wait(EVERY if shown else PATIENCE):
            if self._now is not None:
                self._show(in_html(*self._now, time.monotonic() - self._began))
                shown = True
        if shown:
            self._clear()


def in_html(words: str, done: int, total: int, seconds: float) -> str:
    """A bar as a notebook shows it; a stage that does not tell how far it is has one that only moves.

    >>> in_html("encoding", 30, 120, 2.4)
    '<label class="rothko"><progress value="0.250"></progress> encoding, 2 s</label>'
    """
    share = f' value="{min(done / total, 1):.3f}"' if total > 1 else ""
    return f'<label class="rothko"><progress{share}></progress> {escape(words)}, {seconds:.0f} s</label>'


def in_notebook() -> Cell | None:
    """A bar in the cell of the notebook that this runs in, Jupyter's or marimo's; None where there is none.

    What is not loaded yet does not run this.
    """
    marimo, ipython = sys.modules.get("marimo"), sys.modules.get("IPython")
    if marimo is not None and marimo.running_in_notebook():
        return Cell(
            lambda html: marimo.output.replace(marimo.Html(html)), lambda: marimo.output.replace(None), marimo.Thread
        )
    if ipython is None or getattr(ipython.get_ipython(), "kernel", None) is None:
        return None
    place, as_html = ipython.display.DisplayHandle(), ipython.display.HTML
    place.display(as_html(""))
    return Cell(lambda html: place.update(as_html(html)), lambda: place.update(as_html("")), threading.Thread)

"""A process that works while the page stays awake: its end in the server, and its own.

Jobs go through a pipe by name and come back as progress, partial results, and a result or a sentence that says what
went wrong. A worker has lanes, threads that take their jobs one after the other, so that what is quick need not wait
for what is not. It is never asked to stop: it is killed, and what it wrote, all of it in one folder, is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import queue
import shutil
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rothko.errors import PrivacyWarning, RothkoError, lacks_memory
from rothko.mistakes import speaking_of_fields
from rothko.studio.field_names import FIELDS
from rothko.studio.jobs import JOBS, Telling

OFTEN = 0.1
"""Seconds between two messages about the same stage."""


class WorkError(RothkoError):
    """What a job says went wrong; the kind is the name of the error."""

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class StoppedError(WorkError):
    """The worker was ended before the job was done."""


@dataclass(slots=True)
class _Job:
    future: asyncio.Future[Any]
    hears: Callable[[str, Any], None]


@dataclass(slots=True)
class Worker:
    """The server's end: starts the process when there is something to do, and again after it has ended."""

    folder: Path
    """What the process may write to; removed when it is ended."""
    polite: int = 0
    """How far it stands back from others: nobody waits for each moment of what takes minutes."""
    _jobs: dict[int, _Job] = field(default_factory=dict)
    _process: Any = None
    _pipe: Connection | None = None
    _last: int = 0

    @property
    def pid(self) -> int | None:
        """The process, while there is one."""
        return None if self._process is None else int(self._process.pid)

    @property
    def memory(self) -> int | None:
        """The bytes that it takes now, where the system tells."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        return None

    def start(self) -> None:
        """Start the process, so that it is there when it is needed."""
        if self._process is not None and self._process.is_alive():
            return
        if self._pipe is not None:  # it is gone, and nobody has heard of it yet: who waits for it must be told
            self._ended(self._pipe)
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, str(self.folder), self.polite), daemon=True)
        self._process.start()
        theirs.close()
        self._pipe = ours
        loop = asyncio.get_running_loop()
        threading.Thread(target=self._listen, args=(loop, ours), daemon=True).start()

    def ask(
        self, job: str, /, *, lane: str = "", hears: Callable[[str, Any], None] = lambda kind, told: None, **given: Any
    ) -> asyncio.Future[Any]:
        """Have a job done.

        Parameters
        ----------
        lane
            Jobs of one lane are done one after the other.
        hears
            Told of progress (``stage``) and of partial results (``partial``).
        """
        try:
            self.start()
        except OSError as error:  # no memory, or no room, for another process
            raise WorkError(f"No process could be started to work in ({error.strerror}).") from None
        assert self._pipe is not None
        self._last += 1
        future = asyncio.get_running_loop().create_future()
        self._jobs[self._last] = _Job(future, hears)
        try:
            self._pipe.send((self._last, lane, job, given))
        except OSError:  # it was killed a moment ago, and nobody has heard of it yet
            self._ended(self._pipe)
        return future

    def _listen(self, loop: asyncio.AbstractEventLoop, pipe: Connection) -> None:
        """In a thread of its own: hand what comes through the pipe to the server's loop."""
        with contextlib.suppress(Exception):  # the process has ended, or the loop has; or it says what nobody can read
            while True:
                loop.call_soon_threadsafe(self._heard, *pipe.recv())
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(self._ended, pipe)

    def _heard(self, number: int, kind: str, told: Any) -> None:
        job = self._jobs.get(number)
        if job is None:
            return
        if kind in ("stage", "partial"):
            job.hears(kind, told)
            return
        del self._jobs[number]
        if job.future.cancelled():
            return
        if kind == "done":
            job.future.set_result(told)
        else:
            job.future.set_exception(WorkError(*told))

    def _ended(self, pipe: Connection) -> None:
        """The process is gone: whoever waits for it is told, and the next job starts another one."""
        if pipe is not self._pipe:
            return
        self._pipe = self._process = None
        shutil.rmtree(self.folder, ignore_errors=True)
        jobs, self._jobs = self._jobs, {}
        for job in jobs.values():
            if not job.future.done():
                job.future.set_exception(StoppedError("The work was stopped; nothing was released.", "Stopped"))

    def end(self) -> None:
        """Kill the process and remove what it left."""
        process, pipe = self._process, self._pipe
        if process is not None:
            process.kill()
            process.join(5)
        if pipe is not None:
            self._ended(pipe)
            pipe.close()


# ── in the process ───────────────────────────────────────────────────────────────────────────────


def serve(pipe: Connection, folder: str, polite: int) -> None:
    """The process: take jobs until the server is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server is told of Ctrl-C, and ends us
    with contextlib.suppress(OSError, AttributeError):
        os.nice(polite)
    os.environ["TMPDIR"] = folder  # whatever a library writes goes where it is removed
    warnings.simplefilter("always", PrivacyWarning)
    warnings.showwarning = _noted
    lock = threading.Lock()

    def send(*message: Any) -> None:
        with lock:
            pipe.send(message)

    lanes: dict[str, queue.SimpleQueue[tuple[int, str, dict[str, Any]]]] = {}
    with speaking_of_fields(FIELDS):
        while True:
            try:
                number, lane, job, given = pipe.recv()
            except (EOFError, OSError):
                os._exit(0)
            if lane not in lanes:
                lanes[lane] = queue.SimpleQueue()
                threading.Thread(target=_lane, args=(lanes[lane], send), daemon=True).start()
            lanes[lane].put((number, job, given))


_SAID = threading.local()


def _noted(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    if issubclass(category, PrivacyWarning) and hasattr(_SAID, "warnings"):
        _SAID.warnings.append(str(message))


def _lane(jobs: queue.SimpleQueue[tuple[int, str, dict[str, Any]]], send: Callable[..., None]) -> None:
    while True:
        number, job, given = jobs.get()
        _SAID.warnings = []
        try:
            send(number, "done", JOBS[job](Told(number, send, _SAID.warnings), **given))
        except RothkoError as error:
            send(number, "error", (str(error), type(error).__name__))
        except Exception as error:  # messages of other libraries quote cells, so only the kind is told
            if lacks_memory(error):
                send(number, "error", ("The table does not fit in memory; nothing was released.", "MemoryError"))
            else:
                kind = type(error).__name__
                place = place_of(error)
                send(number, "error", (f"Internal error ({kind}{place}); this is a bug in rothko.", "InternalError"))


def place_of(error: BaseException) -> str:
    """Where in the package an error came up: a file and a line, and no values."""
    at = ""
    trace = error.__traceback__
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if "rothko" in file.parts:
            at = f", {file.name} line {trace.tb_lineno}"
        trace = trace.tb_next
    return at


@dataclass(slots=True)
class Told(Telling):
    """What a job tells the server on its way."""

    number: int
    send: Callable[..., None]
    warnings: list[str]
    _when: dict[str, float] = field(default_factory=dict)

    def stage(self, stage: str, done: int, total: int) -> None:
        """How far a stage is; not more often than a person sees."""
        now = time.monotonic()
        if 0 < done < total and now - self._when.get(stage, 0.0) < OFTEN:
            return
        self._when[stage] = now
        self.send(self.number, "stage", (stage, done, total))

    def partial(self, found: Any) -> None:
        """What is known already."""
        self.send(self.number, "partial", found)

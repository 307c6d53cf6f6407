"""The state of a studio: the table, its policy with its history, what was found out, and what was made.

All of it is in the memory of the server, and belongs to no tab. Nothing here waits: what is not known is asked of a
worker, and whoever listens is told when it is there.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from rothko.data.schema import Role
from rothko.data.source.csv import CsvOptions
from rothko.errors import InputError, OutputError, RothkoError
from rothko.policy.policy import Policy
from rothko.studio.edits import with_role
from rothko.studio.history import History
from rothko.studio.unsaved import Found, Kept
from rothko.studio.worker import StoppedError, Worker, WorkError

POLITE = 5
"""How far the worker that makes stands back from the server, which must answer at once."""
SOON = 1.0
"""Seconds after a change until the policy is kept for the next time."""
REMEMBERED = 500
"""Changes of which it is known what they changed; a page that is further behind is made anew."""


@dataclass(frozen=True, slots=True)
class Table:
    """What is being worked on."""

    data: str
    """A path or an address, as the library takes it."""
    shown: str
    """What a person calls it, in commands too."""
    dropped: bool = False
    """Whether it came through the page, and lies in the private folder."""
    csv: CsvOptions | None = None

    @property
    def path(self) -> Path | None:
        """The file, where it is one."""
        return Path(self.data) if "://" not in self.data else None


@dataclass(slots=True)
class Fact:
    """Something that is found out by a worker."""

    key: Any = None
    """What it hangs on."""
    value: Any = None
    of: Any = None
    """What the value hung on: another key than that of the fact while this is being found out."""
    error: str | None = None
    waiting: bool = False
    stages: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def fresh(self) -> bool:
        """Whether the value is that of the present."""
        return self.value is not None and self.of == self.key


@dataclass(slots=True)
class Run:
    """A release on its way, or made; or one that was stopped or could not be made."""

    number: int
    policy: Policy
    table: Table
    folder: Path
    options: dict[str, Any]
    """Seed, engine and memory, as they were asked for."""
    why: str = ""
    """What it was made for, where it is not the policy as it stands: k = 20."""
    stages: dict[str, tuple[int, int]] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    made: Any = None
    error: str | None = None
    stopped: bool = False
    """Whether its process was ended."""
    cancelled: bool = False
    """Whether a person asked for that."""

    @property
    def going(self) -> bool:
        """Whether it is being made."""
        return self.made is None and self.error is None and not self.stopped

    @property
    def release(self) -> Path:
        """Where its files are."""
        return self.folder / "release"

    @property
    def for_steward(self) -> Path:
        """Where the report for the steward is, once it is made."""
        return self.folder / "steward.html"


class Desk:
    """Everything that a studio knows.

    Parameters
    ----------
    root
        Where it was started: files are offered and opened from below, and saved below.
    folder
        Private, for what came through the page and what was not taken away yet.
    writes
        Whether anything may be saved outside of the private folder.
    kept
        Where the policy is kept that is being edited; None keeps it nowhere.
    """

    def __init__(self, root: Path, folder: Path, *, writes: bool = True, kept: Kept | None = None) -> None:
        self.root, self.folder, self.writes = root.resolve(), folder, writes
        self.table: Table | None = None
        self.seen: Any = None
        """The table as it was looked at, :class:`rothko.studio.jobs.looking.Seen`."""
        self.open_error: str | None = None
        self.history = History()
        self.kept = kept if writes else None
        self.offered: Found | None = None
        """A policy for this table that was being edited when the studio ended."""
        self._unkept = False
        self.roles: dict[str, Role] = {}
        """What a person said before all records were looked at."""
        self.looks = Worker(folder / "looks")
        self.makes = Worker(folder / "makes", polite=POLITE)
        self.runs: list[Run] = []
        self.saved: dict[int, Path] = {}
        self._numbers = 0  # of runs; none has the number, nor the folder, of one before
        self.notes: dict[str, Any] = {}
        """What views remember between two requests: which column is looked at, what is filtered."""
        self._facts: dict[str, Fact] = {}
        self.version = 0
        """How often anything was told; a page knows of which version it is, and what it missed since can be told."""
        self._told: deque[tuple[str, ...]] = deque(maxlen=REMEMBERED)
        self._listeners: set[asyncio.Event] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    # ── who listens ──────────────────────────────────────────────────────────────────────────────

    @contextlib.contextmanager
    def listening(self) -> Iterator[asyncio.Event]:
        """A bell that is rung when something has changed, as long as somebody listens."""
        bell = asyncio.Event()
        self._listeners.add(bell)
        try:
            yield bell
        finally:
            self._listeners.discard(bell)

    def tell(self, *names: str) -> None:
        """Tell every page which parts of it have changed."""
        self.version += 1
        self._told.append(names)
        for bell in self._listeners:
            bell.set()

    def changed_since(self, version: int) -> set[str]:
        """Parts that have changed since a version; the whole page where that is too long ago to know."""
        missed = self.version - version
        if not 0 <= missed <= len(self._told):
            return {"page"}
        return {name for names in islice(reversed(self._told), missed) for name in names}

    def begin(self, work: Any) -> None:
        """Let something go on by itself."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # ── the table ────────────────────────────────────────────────────────────────────────────────

    def below(self, path: str) -> Path:
        """A path that lies below the folder where the studio was started; all others are refused."""
        found = (self.root / path).resolve()
        if not found.is_relative_to(self.root):
            raise InputError(
                f"{path!r} lies outside of the folder where the studio was started; start it there, or drop the "
                f"file here."
            )
        return found

    def dropped(self, name: str) -> Path:
        """Where a file that comes through the page is kept."""
        folder = self.folder / "dropped"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / name

    def open(self, table: Table) -> None:
        """Begin with a table: look at its first records, then at all of them."""
        self.keep()
        self.table, self.seen, self.open_error, self.offered = table, None, None, None
        self.history, self.roles = History(), {}
        if self.makes_now:
            self.cancel()
        for run in self.runs:
            shutil.rmtree(run.folder, ignore_errors=True)
        self.runs, self.saved = [], {}
        self._facts.clear()
        self.notes.clear()
        self.begin(self._look(table))
        self.tell("page")

    async def _look(self, table: Table) -> None:
        for job, lane in (("sample", ""), ("whole", "slow")):
            try:
                seen = await self.looks.ask(job, lane=lane, data=table.data, csv=table.csv)
            except WorkError as error:
                if table is self.table:
                    self.open_error = str(error)
                    self.tell("page")
                return
            if table is not self.table:
                return
            self._proposed(seen)

    def _proposed(self, seen: Any) -> None:
        """Take a draft for the policy; what a person said of the draft of the sample is said of this one, too."""
        proposed = seen.draft.policy
        if self.seen is None and self.kept is not None and self.table is not None:
            self.offered = self.kept.find(self.table.data, seen.names)
        self.seen = seen
        if not self.history.steps or (len(self.history.steps) == 1 and not self.roles):
            self.history.begin(proposed, "draft")
        elif self.roles and len(self.history.steps) <= len(self.roles) + 1:
            policy = proposed
            for name, role in self.roles.items():
                with contextlib.suppress(RothkoError):
                    policy = with_role(policy, name, role, None, rows=seen.draft.rows)
            self.history.begin(proposed, "draft")
            self.history.add(policy, "roles")
        self.roles = {}
        self.tell("page")

    @property
    def policy(self) -> Policy:
        """The policy as it stands; an error where there is no table yet."""
        found = self.history.policy
        if found is None:
            raise InputError("There is no table yet; open one first.")
        return found

    def edit(self, policy: Policy, done: str) -> None:
        """Go on to another policy, unless it is the same."""
        if policy != self.policy:
            self.history.add(policy, done)
            self._changed()

    def move(self, by: int) -> None:
        """One step back, or forward."""
        self.history.move(by)
        self._changed()

    def _changed(self) -> None:
        self.tell("policy")
        if self.kept is not None and not self._unkept:
            self._unkept = True
            self.begin(self._keep_soon())

    async def _keep_soon(self) -> None:
        await asyncio.sleep(SOON)
        while self._unkept:
            policy = self.policy
            text = await asyncio.to_thread(policy.dump)  # one of a hundred thousand labels takes most of a second
            if policy is self.history.policy:
                self.keep(text)

    def keep(self, text: str | None = None) -> None:
        """Keep the policy for the next time, where it has changed; a draft as it was proposed is made anew."""
        if not self._unkept or self.kept is None or self.table is None or self.history.policy is None:
            return
        self._unkept = False
        if self.seen is not None and self.policy == self.seen.draft.policy:
            self.kept.forget(self.table.data)
        else:
            self.kept.keep(self.table.data, text or self.policy.dump(), dropped=self.table.dropped)

    def forget_kept(self) -> None:
        """Keep nothing for this table: what was kept is saved, or not wanted."""
        self.offered, self._unkept = None, False
        if self.kept is not None and self.table is not None:
            self.kept.forget(self.table.data)
        self.tell("page")

    # ── what is found out ────────────────────────────────────────────────────────────────────────

    def fact(self, name: str, job: str, key: Any, /, *, lane: str = "", **given: Any) -> Fact:
        """What a job finds, as far as it is known; where it is not, the job is given to the worker that looks.

        Parameters
        ----------
        name
            Of the part of a page that shows it, which is told when it is there.
        key
            What it hangs on: another key is another question.
        """
        fact = self._facts.setdefault(name, Fact())
        if fact.key != key:
            fact.key, fact.error, fact.waiting, fact.stages = key, None, True, {}
            self.begin(self._find(name, fact, job, key, lane, given))
        return fact

    def forget(self, name: str) -> None:
        """Ask again when it is next looked at."""
        self._facts.pop(name, None)

    async def _find(self, name: str, fact: Fact, job: str, key: Any, lane: str, given: dict[str, Any]) -> None:
        await asyncio.sleep(0.02)  # whoever clicks five times wants the fifth
        if fact.key != key:
            return

        def hears(kind: str, told: Any) -> None:
            if kind == "partial" and fact.key == key:
                fact.value, fact.of = told, key
            elif kind == "stage":
                fact.stages[told[0]] = told[1:]
            self.tell(name)

        for again in (True, False):
            try:
                found = await self.looks.ask(job, lane=lane, hears=hears, **given)
            except StoppedError:
                if again:  # the worker was killed: another one knows nothing yet, and finds it out
                    continue
                if fact.key == key:
                    fact.error, fact.waiting = "The worker ended twice; the table may be too large to look at.", False
            except WorkError as error:
                if fact.key == key:
                    fact.error, fact.waiting = str(error), False
            else:
                if fact.key == key:
                    fact.value, fact.of, fact.waiting = found, key, False
            break
        self.tell(name)

    # ── what is made ─────────────────────────────────────────────────────────────────────────────

    @property
    def run(self) -> Run | None:
        """The last run that is of the policy itself."""
        return next((run for run in reversed(self.runs) if not run.why), None)

    @property
    def going(self) -> Run | None:
        """The run that is being made."""
        return next((run for run in self.runs if run.going), None)

    @property
    def made(self) -> Run | None:
        """The last release that was made."""
        return next((run for run in reversed(self.runs) if run.made is not None and not run.why), None)

    def make(self, policy: Policy, options: dict[str, Any], *, why: str = "") -> Run:
        """Begin to make a release."""
        if self.table is None:
            raise InputError("There is no table yet; open one first.")
        if self.makes_now:
            raise InputError("Something is being made already; wait for it, or cancel it.")
        self._numbers += 1
        number = self._numbers
        run = Run(number, policy, self.table, self.folder / "runs" / str(number), options, why)
        run.folder.mkdir(parents=True, mode=0o700)
        self.runs.append(run)
        self.begin(self._make(run))
        self.tell("run", "bar")
        return run

    async def _make(self, run: Run) -> None:
        def hears(kind: str, told: Any) -> None:
            run.stages.pop(told[0], None)  # the last one stands last
            run.stages[told[0]] = told[1:]
            self.tell("run")

        try:
            run.made = await self.makes.ask(
                "make",
                hears=hears,
                data=run.table.data,
                policy=run.policy,
                out=run.release,
                csv=run.table.csv,
                **run.options,
            )
        except (StoppedError, WorkError) as error:
            shutil.rmtree(run.folder, ignore_errors=True)  # before anybody is told that nothing is left
            if isinstance(error, StoppedError):
                run.stopped = True
            else:
                run.error = str(error)
        run.seconds = time.monotonic() - run.began
        self.tell("run", "bar", "result", "page" if run.made else "run")

    @property
    def makes_now(self) -> bool:
        """Whether the worker that makes is at work."""
        return self.going is not None or self.comparison.waiting

    @property
    def comparison(self) -> Fact:
        """Methods side by side: the last comparison."""
        return self._facts.setdefault("comparison", Fact())

    def compare(self, **given: Any) -> None:
        """Begin to compare methods."""
        if self.makes_now:
            raise InputError("Something is being made already; wait for it, or cancel it.")
        fact = self.comparison
        fact.key, fact.error, fact.waiting, fact.stages = (self.policy.digest, repr(given)), None, True, {}
        self.begin(self._compare(fact, given))
        self.tell("comparison")

    async def _compare(self, fact: Fact, given: dict[str, Any]) -> None:
        assert self.table is not None
        key = fact.key

        def hears(kind: str, told: Any) -> None:
            fact.stages[told[0]] = told[1:]
            self.tell("comparison")

        try:
            fact.value = await self.makes.ask(
                "compare", hears=hears, data=self.table.data, policy=self.policy, csv=self.table.csv, **given
            )
            fact.of = key
        except WorkError as error:
            fact.error = str(error)
        fact.waiting = False
        self.tell("comparison")

    def cancel(self) -> None:
        """Stop whatever is being made; nothing of it stays."""
        if self.going is not None:
            self.going.cancelled = True
        self.makes.end()
        self.makes.start()

    def refuse_writing(self) -> None:
        """Where nothing may be saved, say so."""
        if not self.writes:
            raise OutputError("The studio was started with --no-write: nothing is saved outside of it.")

    def end(self) -> None:
        """End the workers."""
        self.keep()
        self.looks.end()
        self.makes.end()

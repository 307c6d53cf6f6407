"""The engines on disk, from a source to finished parts under a memory limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Protocol

from rothko.data.source.source import Source
from rothko.data.survey.coded import Coded, Outline
from rothko.data.survey.survey import survey
from rothko.engines.disk.along import Ranges
from rothko.engines.disk.counting_passes import Refining
from rothko.engines.disk.spill import Spill
from rothko.engines.disk.store import DiskStore
from rothko.engines.driver import Counters, Driver, Growth
from rothko.engines.engine import Io, Request, Run
from rothko.engines.foretold import cost_of
from rothko.engines.frequency import sizes
from rothko.engines.options import OnDisk, RothkoS
from rothko.engines.packing import record_bytes
from rothko.engines.part import AnyPart
from rothko.engines.plan import SAFE, Budget, Cost, available_memory, budget, cost_s, cost_t
from rothko.engines.rothko_s import Sampling
from rothko.engines.rothko_t import Exhaustive
from rothko.engines.store import Job
from rothko.engines.tree import Tree
from rothko.privacy import KAnonymity
from rothko.progress import Progress, silent
from rothko.secret import Secret
from rothko.trim import give_back, keep_together

GRID = 100_000
"""Records that Rothko-T samples: what grids are laid by, should any column need one."""
LEAST_SQL = 100_000_000
"""What DuckDB needs at least to verify."""


def run(
    engine: OnDisk,
    source: Source,
    policy: Request,
    *,
    check: Callable[[Outline], None],
    memory: int | None = None,
    spill_dir: Path | None = None,
    secret: Secret,
    seed: int = 0,
    threads: int = 1,
    progress: Progress = silent,
) -> Run:
    """Survey a source, and get ready to take it apart; see :class:`rothko.engines.engine.Runs`."""
    keep_together()
    limit = int(SAFE * available_memory()) if memory is None else memory
    record = row_bytes(source, policy)
    shares = budget(limit, row_bytes=record).beside(policy.method.keeps).within(engine.records_at_once)
    along = policy.method.needs_all_records
    sampled = engine.samples and not along
    spill = Spill.open(spill_dir)
    try:
        spill.keep_open()
        found = survey(
            source, policy, sample=shares.tuples if sampled else min(shares.tuples, GRID), seed=seed,
            memory=shares.frequency + shares.buffers, threads=threads, progress=progress,
        )  # fmt: skip
        # Not held beyond its use: the sample takes as much memory as a part.
        outline, records, first, notes = found.outline, found.stream, [found.sample], found.notes
        del found
        give_back()
        check(outline)
        spill.require(outline.rows * record_bytes(outline))
        if policy.method.by_counts:
            # A record that is counted has neither the columns that are kept nor those of other sets.
            codes = 4 * (len(outline.lines) + len(outline.domains) + 1)
            most = budget(limit, row_bytes=codes).within(engine.records_at_once).tuples
            refining = Refining(
                [records], outline, policy, [first.pop()], shares, most, spill, threads, progress=progress
            )  # fmt: skip
            return _without_tree(refining, limit, source, policy, notes)
        if along:
            ranges = Ranges.of(
                records, outline, policy, first.pop(), shares, spill, secret=secret, seed=seed, threads=threads,
                progress=progress,
            )  # fmt: skip
            return _without_tree(ranges, limit, source, policy, notes)
        job = Job(outline, tuple(policy.privacy), policy.method, tuple(policy.workload), seed, threads)
        chooser, wanted = job.chooser()
        tree = Tree.over(outline.lines, chooser.first_phase(), outline.rows)
        [group] = sizes(wanted, *tree.regions([0])).tolist()
        if not engine.samples:
            shares = budget(limit, row_bytes=record, group_bytes=group).within(engine.records_at_once)
        store = DiskStore(job, spill, shares.tuples, shares.buffers, records, progress=progress)
        driver = Driver(job, shares.tuples, shares.frequency, progress)
        parts = driver.parts(growth_of(engine, driver, first), store, tree)
    except BaseException:
        spill.close()
        raise
    return Run(
        outline=outline,
        parts=parts,
        top=lambda: tree.cuts(outline.lines),
        io=partial(measured, engine, policy, shares, group, outline, source, spill, driver.counters),
        spill=spill,
        memory=max(LEAST_SQL, (limit - shares.baseline) // 2),
        notes=lambda: notes,
    )


class _Made(Protocol):
    """A table that is taken apart otherwise than by the leaves of a tree."""

    @property
    def outline(self) -> Outline:
        """What is known of it."""
        ...

    @property
    def shares(self) -> Budget:
        """What it may take of memory."""
        ...

    @property
    def spill(self) -> Spill:
        """Where it writes to."""
        ...

    @property
    def notes(self) -> list[str]:
        """What a person should know, when all parts are there."""
        ...

    def parts(self) -> Iterator[AnyPart]:
        """What it becomes."""
        ...


def _without_tree(made: _Made, limit: int, source: Source, policy: Request, notes: tuple[str, ...]) -> Run:
    """The run of a method whose classes are made segment by segment of a curve, or by counts."""
    spill, outline = made.spill, made.outline
    codes = 4 * (len(outline.lines) + len(outline.domains)) + 8
    cost = cost_of(policy.method, outline.rows, made.shares, tuple(policy.privacy), codes=codes)

    def io() -> Io:
        read = source.taken.bytes + spill.read
        return Io(source.taken.passes, cost.writes, read, spill.written, *predicted(cost, source, outline, 1))

    return Run(
        outline=outline,
        parts=made.parts(),
        top=lambda: None,
        io=io,
        spill=spill,
        memory=max(LEAST_SQL, (limit - made.shares.baseline) // 2),
        notes=lambda: (*notes, *made.notes),
    )


def growth_of(options: OnDisk, driver: Driver, first: list[Coded]) -> Growth:
    """How an engine grows trees; the first sample is taken out of its list, so that nobody else holds it."""
    sample = first.pop()
    return Sampling(driver, options, sample) if isinstance(options, RothkoS) else Exhaustive(driver)


def row_bytes(source: Source, policy: Request) -> int:
    """What a record takes, as codes and as columns that are released as they are."""
    kept = [name for name in source.names if name in policy.sensitive + policy.kept]
    codes = 4 * (len(policy.quasi_identifiers) + len(policy.sensitive) + len(policy.workload))
    codes += 0 if policy.owner is None else 4
    first = source.peek(kept) if kept else None
    return codes + (0 if first is None else -(-first.nbytes // first.num_rows))


def measured(
    options: OnDisk,
    policy: Request,
    shares: Budget,
    group: int,
    outline: Outline,
    source: Source,
    spill: Spill,
    counters: Counters,
) -> Io:
    """What was read and written, beside what the model of section 5.3 predicts for k-anonymity and balanced cuts.

    The model's passes over the source do not count the first, which learns the values; Rothko-S draws its sample there.
    """
    k = max((r.k for r in policy.privacy if isinstance(r, KAnonymity)), default=1)
    if isinstance(options, RothkoS):
        cost, first = cost_s(outline.rows, shares, k, options), 0
    else:
        cost, first = cost_t(outline.rows, shares, group), 1
    reads, writes = predicted(cost, source, outline, first)
    return Io(
        passes=source.taken.passes,
        repartitions=counters.repartitions,
        reads=source.taken.bytes + spill.read,
        writes=spill.written,
        predicted_reads=reads,
        predicted_writes=writes,
        sample=counters.sampled or None,
        pruned=counters.pruned if options.samples else None,
    )


def predicted(cost: Cost, source: Source, outline: Outline, first: int) -> tuple[int, int]:
    """Bytes that are to be read and written, with so many passes over the source before those that a model counts."""
    table = outline.rows * record_bytes(outline)
    return (cost.source + first) * source.bytes + (cost.reads - cost.source) * table, cost.writes * table

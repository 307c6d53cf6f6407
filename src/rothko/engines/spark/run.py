"""The engine on a cluster, from a frame to the leaves that its executors finish.

Leaves of a tree here, for methods that cut; segments of a curve in :mod:`rothko.engines.spark.along`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rothko.data.schema import columns_read
from rothko.data.source.source import Source
from rothko.data.source.written import Written
from rothko.data.survey.coded import Coded, Outline
from rothko.data.survey.coder import Coder
from rothko.engines.divided import ByTree, Divided
from rothko.engines.driver import Driver
from rothko.engines.engine import Io, Request
from rothko.engines.options import Spark
from rothko.engines.packing import Packing
from rothko.engines.plan import Budget, budget
from rothko.engines.refine import SAMPLED
from rothko.engines.rothko_s import Sampling
from rothko.engines.rothko_t import Exhaustive
from rothko.engines.spark.cluster import Cluster
from rothko.engines.spark.input_rows import rows_of
from rothko.engines.spark.records import Records
from rothko.engines.spark.store import Leaf, SparkStore
from rothko.engines.spark.survey import Surveyed, survey
from rothko.engines.store import Job
from rothko.engines.tree import Tree
from rothko.progress import Progress, silent

TASK = 1_000_000_000
"""Bytes that the Python of a task may take, where nobody says."""
MOST_SAMPLED = 1_000_000
"""Records of a sample on the driver, at most."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A table on a cluster that is divided: what executors need to know to finish it."""

    records: Records
    coder: Coder
    outline: Outline
    divided: Divided
    leaves: tuple[Leaf, ...]
    tuples: int
    """Records that an executor can hold while classes are made of them."""
    io: Callable[[], Io]
    notes: tuple[str, ...]
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a cluster that was surveyed."""

    records: Records
    found: Surveyed
    shares: Budget

    @property
    def outline(self) -> Outline:
        """What is known of it."""
        return self.found.settled.outline

    def divided(
        self, divided: Divided, leaves: tuple[Leaf, ...], io: Callable[[], Io], notes: tuple[str, ...], seed: int
    ) -> Grown:
        """The table as its executors finish it."""
        outline, coder, before = self.found.settled
        return Grown(
            self.records, coder, outline, divided, leaves, self.shares.tuples, io, (*before, *notes), seed
        )  # fmt: skip


def look(
    engine: Spark,
    cluster: Cluster,
    source: Source,
    policy: Request,
    *,
    check: Callable[[Outline], None],
    written: Written | None = None,
    memory: int | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Table:
    """Survey a table that was opened by Spark.

    Parameters
    ----------
    check
        Called with what the survey has found: refuses a table that cannot be released as asked.
    written
        How some of its columns are written, where that is otherwise than in a release.
    memory
        The most bytes that the Python of a task, or of the driver, may take.
    """
    limit = memory or TASK
    rows = rows_of(cluster, source, columns_read(source.names, policy), written or Written())
    codes = 4 * (len(policy.quasi_identifiers) + len(policy.sensitive) + len(policy.workload) + 1)
    for_sample = budget(limit, row_bytes=codes)
    sampled = 0
    if policy.method.by_counts:
        sampled = min(for_sample.within(engine.records_at_once).tuples, SAMPLED)
    elif engine.samples and not policy.method.needs_all_records:
        sampled = min(for_sample.tuples, MOST_SAMPLED)
    progress("survey", 0, 1)
    found = survey(
        cluster, rows, source.label, policy, text=source.text, seed=seed, memory=for_sample.frequency, sample=sampled
    )
    progress("survey", 1, 1)
    outline, coder, _ = found.settled
    check(outline)
    record = codes + -(-found.size.bytes // found.size.rows)
    records = Records.of(cluster, rows, coder, Packing(outline, found.kept))
    shares = budget(limit, row_bytes=record).beside(policy.method.keeps).within(engine.records_at_once)
    return Table(records, found, shares)


def grow(engine: Spark, table: Table, policy: Request, *, seed: int = 0, progress: Progress = silent) -> Grown:
    """Grow the tree over a table, down to leaves that an executor can hold."""
    outline, shares = table.outline, table.shares
    job = Job(outline, tuple(policy.privacy), policy.method, tuple(policy.workload), seed, 1)
    chooser, _ = job.chooser()
    tree = Tree.over(outline.lines, chooser.first_phase(), outline.rows)
    store = SparkStore(job, table.records, outline.rows, shares.tuples, progress=progress)
    driver = Driver(job, shares.tuples, shares.frequency)
    first: Coded | None = table.found.sample
    growth = Sampling(driver, engine.sampling, first) if engine.samples else Exhaustive(driver)
    leaves = tuple(driver.parts(growth, store, tree))

    def io() -> Io:
        counters = driver.counters
        return Io(
            passes=table.records.cluster.collected.jobs,
            repartitions=1,
            reads=None,
            writes=None,
            sample=counters.sampled or None,
            pruned=counters.pruned if engine.samples else None,
        )

    return table.divided(ByTree(job, tree), leaves, io, (), seed)

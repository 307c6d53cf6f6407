"""The engines on disk, from a source to a stream of finished parts under a memory limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rothko.data.source.source import Source
from rothko.data.survey.coded import Outline
from rothko.data.survey.survey import survey
from rothko.engines.disk.spill import Spill, record_bytes
from rothko.engines.disk.trim import give_back
from rothko.engines.driver import Counters, Job
from rothko.engines.frequency import sizes
from rothko.engines.options import RothkoS, RothkoT
from rothko.engines.plan import SAFE, Budget, available_memory, budget, cost_s, cost_t
from rothko.engines.rothko_s import rothko_s
from rothko.engines.rothko_t import rothko_t
from rothko.engines.tree import Tree
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from rothko.progress import Progress, silent
from rothko.release.certificate import Certificate, Io
from rothko.release.loss import Loss
from rothko.release.measured import NewMeter
from rothko.release.stream import Stream
from rothko.release.verify import Verification

Check = Callable[[Outline], None]
"""Refuses a table that cannot be released as asked, before any cut is made."""
PEEK = 10_000
"""Records that are looked at to tell how many bytes one takes."""
GRID = 100_000
"""Records that Rothko-T samples: what grids are laid by, should any column need one."""
LEAST_SQL = 100_000_000
"""What DuckDB needs at least to verify."""


def stream(
    source: Source,
    policy: Policy,
    options: RothkoT | RothkoS,
    reason: str,
    *,
    check: Check,
    meter: NewMeter,
    memory: int | None = None,
    spill_dir: Path | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Progress = silent,
) -> Stream:
    """Survey a source, and get ready to cut it part by part.

    Parameters
    ----------
    check
        Called with what the survey has found.
    meter
        Makes what adds up the loss of the parts.
    memory
        The limit in bytes; without one, a safe share of what is free.
    spill_dir
        Where the private folder is made.
    """
    limit = int(SAFE * available_memory()) if memory is None else memory
    shares = budget(limit, row_bytes=row_bytes(source, policy))
    sample = shares.tuples if isinstance(options, RothkoS) else min(shares.tuples, GRID)
    spill = Spill.open(spill_dir)
    try:
        spill.keep_open()
        found = survey(
            source, policy, sample=sample, seed=seed, memory=shares.frequency + shares.buffers, threads=threads,
            progress=progress,
        )  # fmt: skip
        # Not held beyond its use: the sample takes as much memory as a part.
        outline, records, sampled, notes = found.outline, found.stream, found.sample, found.notes
        del found
        give_back()
        check(outline)
        job = Job(
            outline, policy.privacy, policy.method, policy.workload, shares, spill,
            threads=threads, seed=seed, progress=progress,
        )  # fmt: skip
        job.counters.passes = 1
        chooser, wanted = job.chooser()
        tree = Tree.over(outline.lines, chooser.first_phase(), outline.rows)
        [group] = sizes(wanted, tree.low[0][None], tree.high[0][None]).tolist()
        if isinstance(options, RothkoT):
            shares = budget(limit, row_bytes=row_bytes(source, policy), group_bytes=group)
            job = Job(
                outline, policy.privacy, policy.method, policy.workload, shares, spill,
                threads=threads, seed=seed, progress=progress, counters=job.counters,
            )  # fmt: skip
            parts = rothko_t(job, records, tree)
        else:
            parts = rothko_s(job, options, records, tree, sample=sampled)
        del sampled
        spill.require(outline.rows * record_bytes(outline))
    except BaseException:
        spill.close()
        raise

    def certify(checked: Verification, lost: Loss) -> Certificate:
        io = measured(policy, options, shares, group, outline, source, spill, job.counters)
        return Certificate(policy, checked, lost, seed, options.name, reason, notes=(*source.notes, *notes), io=io)

    return Stream(
        parts=parts,
        top=lambda: tree.cuts(outline.lines),
        policy=policy,
        outline=outline,
        source=source,
        certify=certify,
        spill=spill,
        meter=meter,
        seed=seed,
        threads=threads,
        memory=max(LEAST_SQL, (limit - shares.baseline) // 2),
    )


def row_bytes(source: Source, policy: Policy) -> int:
    """What a record takes, as codes and as columns that are released as they are."""
    kept = [name for name in source.names if name in policy.sensitive + policy.kept]
    codes = 4 * (len(policy.quasi_identifiers) + len(policy.sensitive) + len(policy.workload))
    first = next(iter(source.batches(kept, as_text=kept, rows=PEEK)), None) if kept else None
    held = 0 if first is None or not first.num_rows else -(-first.nbytes // first.num_rows)
    return codes + held


def measured(
    policy: Policy,
    options: RothkoT | RothkoS,
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
    if isinstance(options, RothkoT):
        cost, first = cost_t(outline.rows, shares, group), 1
    else:
        cost, first = cost_s(outline.rows, shares, k, options), 0
    table = outline.rows * record_bytes(outline)
    return Io(
        passes=counters.passes,
        repartitions=counters.repartitions,
        reads=counters.passes * source.bytes + spill.read,
        writes=spill.written,
        predicted_reads=(cost.source + first) * source.bytes + (cost.reads - cost.source) * table,
        predicted_writes=cost.writes * table,
        sample=counters.sampled or None,
        pruned=counters.pruned if isinstance(options, RothkoS) else None,
    )

"""The one flow: source → schema → encode → partition → recode → publish → verify → measure.

``anonymize`` runs it and returns a verified :class:`Release`. Saving writes to temporary names, verifies
the written bytes again, and only then moves them into place. A table that fits in memory goes the way of
:mod:`rothko.in_memory`; one that does not goes the same way in parts (:mod:`rothko.engines.driver`), and its release is
kept in a file.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rothko.data.schema import columns_read, match
from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import Source
from rothko.data.source.spark_errors import understood
from rothko.data.survey.coded import Outline
from rothko.engines import ENGINES, Engine
from rothko.engines.options import RothkoS, Spark
from rothko.engines.plan import as_bytes, choose_engine
from rothko.errors import InputError, PrivacyWarning, TooLargeError
from rothko.in_memory import anatomized, feasible, made, warn_of_alike
from rothko.methods.anatomy import WARNING
from rothko.metrics.loss import recounted
from rothko.metrics.meter import LossMeter
from rothko.mistakes import said
from rothko.policy.asked import AnyPolicy, Asked
from rothko.policy.confirm import refuse_unconfirmed, said_of_draft
from rothko.policy.decided import decided, refuse_suppression
from rothko.policy.draft import as_policy
from rothko.policy.opened import not_in_memory, where_it_lies, written_by
from rothko.policy.policy import Policy
from rothko.policy.repeated import repeated
from rothko.policy.words import Words, takes
from rothko.progress import Progress, count_threads, silent
from rothko.release.anatomy import AnatomyRelease
from rothko.release.certificate import Certificate
from rothko.release.loss import Loss
from rothko.release.people import said_of_people
from rothko.release.place import Reported
from rothko.release.publish import check_statistics, statistics_asked
from rothko.release.release import Release, TableRelease
from rothko.release.stored import StoredRelease
from rothko.release.stream import Stream
from rothko.release.verify import Verification
from rothko.secret import Secret

if TYPE_CHECKING:
    from rothko.release.spark.release import Spread, SpreadRelease


def reported(release: Any, /, **options: Any) -> Reported:
    """A report of a release; what draws it is loaded when one is asked for."""
    from rothko.report.report import report

    return report(release, **options)


TableRelease.reporter = staticmethod(reported)


@takes(Words)
def anonymize(
    data: Any,
    policy: AnyPolicy | None = None,
    *,
    engine: str | None = None,
    seed: int = 0,
    key: bytes | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    spill_dir: str | Path | None = None,
    spark_master: str | None = None,
    csv: CsvOptions | None = None,
    accept_draft: bool = False,
    progress: Progress | bool = silent,
    **words: Unpack[Words],
) -> Release | StoredRelease | SpreadRelease | AnatomyRelease:
    """Make a release of a table and verify it.

    Parameters
    ----------
    data
        A path (CSV, TSV, Parquet, Arrow), a folder or a pattern of such files, or a list of them, here or in an object
        store (``"s3://bucket/visits/2026-*.parquet"``), the address of a table in a database
        (``"postgresql://ann@host/clinic?table=visits"``), a pandas, Polars or Arrow table, a DuckDB relation, a dict of
        arrays, a Spark DataFrame; with ``engine="spark"`` also an address or the name of a table that Spark reads.
    policy
        A policy, a path to one, its text (YAML), the same as plain data, or a draft. Or none, and in its place:
    qi, sensitive, drop, keep, keep_rest, k, l, missing, types, hierarchies
        What :meth:`rothko.Policy.quick` takes: ``qi=["age", "zip"], sensitive="disease", drop="name", k=10``. Every
        column must be named, or ``keep_rest=True`` be said.
    classify, regress, select, aggregate, workload, method, suppress, publish
        The same; they go with a policy, too: tasks are added to its own, the others take the place of its own.
    engine
        Overrides the policy's engine.
    seed
        For what is drawn at random and hides nothing, such as samples. The same data, policy and seed give the same
        bytes, but for methods that part equal records (see ``key``).
    key
        At least 16 secret bytes. Which of several equal records goes to which class, and the groups of anatomy, hang on
        a secret that is drawn for each run; with a key they hang on that, and the same key gives the same bytes.
    threads
        All cores where it is None.
    memory
        The most bytes that the process may take, such as ``2_000_000_000`` or ``"2GB"``; a table that needs more goes
        to an engine on disk.
    spill_dir
        Where engines on disk make their private folder; the system's folder for temporary files by default. The
        executors of Spark must reach it.
    spark_master
        Where Spark runs, such as ``"local[*]"`` or ``"sc://host"``; the active session by default.
    accept_draft
        Release by a draft as it is, though it has roles that nobody has agreed to;
        :meth:`rothko.policy.draft.Draft.confirm` agrees.
    progress
        True for a bar on standard error or in the notebook, or a function of a stage, how much of it is done, and how
        much there is.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [23, 27, 31, 35], "disease": ["flu", "cold", "flu", "asthma"]}
    >>> release = rk.anonymize(people, qi="age", sensitive="disease", k=2)
    >>> sorted(set(release.table["age"].tolist()))
    ['[23, 27]', '[31, 35]']
    """
    from rothko.kernels.compiling import told

    with told(progress) as report:
        release = prepare(
            data, policy, engine=engine, seed=seed, key=key, threads=threads, memory=memory, spill_dir=spill_dir,
            spark_master=spark_master, csv=csv, accept_draft=accept_draft, progress=report, **words,
        )  # fmt: skip
        if isinstance(release, Release | AnatomyRelease):
            return release.verified()
        return release.store()


@takes(Words)
def prepare(
    data: Any,
    policy: AnyPolicy | None = None,
    *,
    engine: str | None = None,
    seed: int = 0,
    key: bytes | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    spill_dir: str | Path | None = None,
    spark_master: str | None = None,
    csv: CsvOptions | None = None,
    accept_draft: bool = False,
    progress: Progress = silent,
    recoding: bool = False,
    **words: Unpack[Words],
) -> Release | Stream | Spread | AnatomyRelease:
    """The flow up to verification: what comes back must be saved, which verifies it, before it is released.

    With ``recoding``, ``method: auto`` chooses one that has a recoding.
    """
    threads, memory = count_threads(threads), as_bytes(memory)
    secret = Secret.of(key)
    given, policy = policy, None if policy is None else as_policy(policy)
    if policy is not None and not accept_draft:
        refuse_unconfirmed(policy, given)
    data = where_it_lies(data, policy, engine, spark_master=spark_master, csv=csv)
    data = not_in_memory(data, policy, engine, memory=memory, spill_dir=spill_dir)
    table = Asked.of(data, policy, words, csv=csv)
    table.policy.method.check(table.policy)
    source, policy = table.source, table.settled()
    if policy.order == "keep":
        warnings.warn(
            "order: keep leaves the rows in the order of the input, which may tell who is who.",
            PrivacyWarning,
            stacklevel=3,
        )
    match(source.names, policy, source.label)
    source = replace(source, notes=(*source.notes, *said_of_draft(policy)))
    if told := repeated(source, policy):
        warnings.warn(told, PrivacyWarning, stacklevel=3)
        source = replace(source, notes=(*source.notes, told))
    asked = engine or policy.engine.name
    if source.frame is not None and asked == "auto":
        with understood():
            source = replace(source, rows=source.frame.count())
    name, reason = _engine(source, policy, asked, memory)
    undecided = (policy, source)
    policy, source = decided(*undecided, name, recoding=recoding)
    refuse_suppression(policy, name, reason)
    if ENGINES[name].in_memory:
        try:
            if policy.method.two_tables:
                warnings.warn(WARNING, PrivacyWarning, stacklevel=3)
                return anatomized(source, policy, reason, seed, secret, threads, memory, progress)
            return made(source, policy, reason, seed, secret, threads, memory, progress)
        except TooLargeError as error:
            # The size of a text file is a guess until it is read.
            if asked != "auto":
                raise
            name, reason = RothkoS.name, error.why
            policy, source = decided(*undecided, name, recoding=recoding)
            refuse_suppression(policy, name, reason)
    chosen: Engine = policy.engine if policy.engine.name == name else ENGINES[name]()
    chosen.check(policy, reason)
    where = None if spill_dir is None else Path(spill_dir)
    if isinstance(chosen, Spark):
        return _spread(source, policy, chosen, reason, memory, where, seed, secret, progress)
    if source.written_by:
        raise InputError(
            f"{source.label} is a query, whose result is collected in memory, and engine {name} is for what does not "
            f"fit there: give {said('--memory')}, and it goes to disk as it comes, or write it to a Parquet file with "
            f".{source.written_by}(path)."
        )
    return _streamed(source, policy, chosen, reason, memory, where, seed, secret, threads, progress)


def _engine(source: Source, policy: Policy, asked: str, memory: int | None) -> tuple[str, str]:
    """The engine, and why."""
    size = _size(source, policy) if asked in ("auto", "memory") else 0
    name, reason = choose_engine(source.rows or 0, size, memory=memory, asked=asked)
    if source.frame is not None and asked == "auto" and not ENGINES[name].in_memory:
        name = Spark.name
    return name, reason


def _spread(
    source: Source, policy: Policy, engine: Spark, reason: str, memory: int | None, spill_dir: Path | None, seed: int,
    secret: Secret, progress: Progress,
) -> Spread:  # fmt: skip
    """The flow up to verification of a table on a cluster."""
    from rothko.engines.disk.spill import Spill
    from rothko.engines.spark.along import divide
    from rothko.engines.spark.cluster import Cluster
    from rothko.engines.spark.refine import refine_on
    from rothko.engines.spark.run import grow, look
    from rothko.engines.spark.session import session_of
    from rothko.release.spark.release import OnCluster, Spread, by_column, by_leaf

    cluster = Cluster(session_of(source.frame))
    cluster.check()
    table = look(
        engine, cluster, source, policy, check=partial(_possible, policy=policy),
        written=written_by(policy), memory=memory, seed=seed, progress=progress,
    )  # fmt: skip
    spill = Spill.open(spill_dir)
    spill.keep_open()
    with_these = (policy, source.names, LossMeter, spill)
    grown: OnCluster
    if policy.method.by_counts:
        grown = refined = refine_on(engine, table, policy, seed=seed, progress=progress)
        make = by_column(refined, *with_these)
    elif policy.method.in_segments != "no":
        grown = divided = divide(table, policy, secret=secret, seed=seed, progress=progress)
        make = by_leaf(divided, *with_these)
    else:
        grown = divided = grow(engine, table, policy, seed=seed, progress=progress)
        make = by_leaf(divided, *with_these)
    key = None if policy.method.recodes else secret.origin

    def certify(checked: Verification, lost: Loss) -> Certificate:
        notes = (*source.notes, *grown.notes)
        lost = recounted(lost, checked.sizes)
        return Certificate(policy, checked, lost, seed, engine.name, reason, notes=notes, io=grown.io(), key=key)

    return Spread(grown, policy, source, certify, make, spill)


def _streamed(
    source: Source, policy: Policy, engine: Engine, reason: str, memory: int | None, spill_dir: Path | None, seed: int,
    secret: Secret, threads: int, progress: Progress,
) -> Stream:  # fmt: skip
    """The flow up to verification of a table that does not fit in memory."""
    from rothko.engines.runs import RUNS

    run = RUNS[engine.name](
        engine, source, policy, check=partial(_possible, policy=policy), memory=memory, spill_dir=spill_dir,
        secret=secret, seed=seed, threads=threads, progress=progress,
    )  # fmt: skip
    key = None if policy.method.recodes else secret.origin

    def certify(checked: Verification, lost: Loss) -> Certificate:
        notes = (*source.notes, *run.notes(), *said_of_people(policy))
        lost = recounted(lost, checked.sizes)
        return Certificate(policy, checked, lost, seed, engine.name, reason, notes=notes, io=run.io(), key=key)

    return Stream(
        parts=run.parts,
        top=run.top,
        policy=policy,
        outline=run.outline,
        source=source,
        certify=certify,
        spill=run.spill,
        meter=LossMeter,
        seed=seed,
        threads=threads,
        memory=run.memory,
    )


def _size(source: Source, policy: Policy) -> int:
    """About how many bytes the table takes as an Arrow table; nothing for one that is in memory already."""
    if source.in_memory:
        return 0
    return source.size(columns_read(source.names, policy))


def _possible(outline: Outline, *, policy: Policy) -> None:
    """Refuse what cannot be released as asked, from what is known of the whole table."""
    nobody = outline.encoded(outline.nobody())
    feasible(nobody, outline.rows, policy)
    warn_of_alike(nobody, policy)
    check_statistics(outline.lines, statistics_asked(policy.workload))

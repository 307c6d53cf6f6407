"""The one flow: source → schema → encode → partition → recode → publish → verify → measure.

``anonymize`` runs it and returns a verified :class:`Release`. Saving writes to temporary names, verifies
the written bytes again, and only then moves them into place. A table that does not fit in memory goes the
same way in parts (:mod:`rothko.engines.driver`), and its release is kept in a file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import pyarrow as pa

from rothko.data.encode import Encoded, encode
from rothko.data.fold import look_alikes, warn_of_look_alikes
from rothko.data.schema import columns_read, counts_texts, left_as_text, match, written_as_text
from rothko.data.source.csv import CsvOptions
from rothko.data.source.source import Source
from rothko.data.source.spark_errors import understood
from rothko.data.survey.coded import Outline
from rothko.data.typed import typed
from rothko.engines import ENGINES, Engine
from rothko.engines.options import Memory, RothkoS, Spark
from rothko.engines.plan import as_bytes, check_fits, choose_engine
from rothko.errors import InfeasibleError, InputError, PrivacyWarning, TooLargeError
from rothko.methods.anatomy import WARNING
from rothko.methods.anatomy import refuse as refuse_anatomy
from rothko.methods.classes import Classes
from rothko.methods.method import Method
from rothko.methods.suppress import Spared, spare
from rothko.methods.ties import with_hidden_ties
from rothko.metrics.loss import loss_of_groups, recounted
from rothko.metrics.meter import LossMeter, Lost
from rothko.mistakes import said
from rothko.policy.asked import AnyPolicy, Asked
from rothko.policy.confirm import refuse_unconfirmed, said_of_draft
from rothko.policy.decided import decided, refuse_suppression
from rothko.policy.draft import as_policy
from rothko.policy.opened import not_in_memory, where_it_lies, written_by
from rothko.policy.policy import Policy
from rothko.policy.repeated import repeated
from rothko.policy.words import Words, takes
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, count_threads, silent
from rothko.release.anatomy import AnatomyRelease, two_tables
from rothko.release.certificate import Certificate
from rothko.release.coverage import Values
from rothko.release.kinds import refuse_unions
from rothko.release.loss import Loss
from rothko.release.people import People, said_of_people, shown_with
from rothko.release.place import Reported
from rothko.release.publish import check_statistics, statistics_asked
from rothko.release.recoding.behind import recoding_behind
from rothko.release.release import Release, TableRelease
from rothko.release.save import timed
from rothko.release.shares import with_shares
from rothko.release.stored import StoredRelease
from rothko.release.stream import Stream, published_classes, released_rows
from rothko.release.truth import Told, Truth
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
        A path (CSV, TSV, Parquet, Arrow), a folder or a pattern of such files, here or in an object store
        (``"s3://bucket/visits/2026-*.parquet"``), the address of a table in a database
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
                return _anatomized(source, policy, reason, seed, secret, threads, memory, progress)
            return _made(source, policy, reason, seed, secret, threads, memory, progress)
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


def _anatomized(
    source: Source, policy: Policy, reason: str, seed: int, secret: Secret, threads: int, memory: int | None,
    progress: Progress,
) -> AnatomyRelease:  # fmt: skip
    """The flow up to verification of the method that releases two tables."""
    timings: dict[str, float] = {}
    with timed(timings, "read"):
        progress("read", 0, 1)
        columns = [name for name in source.names if name not in policy.identifiers]
        # Everything is released as it is, and keeps its very characters.
        table = source.read(columns, as_text=set(columns) if source.text else set())
        check_fits(table.num_rows, table.nbytes, memory=memory)
        progress("read", 1, 1)
    return two_tables(
        table,
        source.names,
        policy,
        source,
        reason=reason,
        seed=seed,
        secret=secret,
        threads=threads,
        timings=timings,
        lost=partial(loss_of_groups, policy.quasi_identifiers),
    )


def in_memory(source: Source, policy: Policy, *, seed: int = 0, threads: int = 1, recoding: bool = True) -> Release:
    """The flow up to verification by the engine ``memory``, whichever the policy asks for.

    With ``recoding``, ``method: auto`` chooses one that has a recoding.
    """
    refuse_anatomy(policy.method, "This")
    policy, source = decided(policy, source, Memory.name, recoding=recoding)
    refuse_suppression(policy, Memory.name, "asked for")
    match(source.names, policy, source.label)
    return _made(source, policy, "asked for", seed, Secret.of(None), threads, None, silent)


def _made(
    source: Source, policy: Policy, reason: str, seed: int, secret: Secret, threads: int, memory: int | None,
    progress: Progress,
) -> Release:  # fmt: skip
    """The flow up to verification of a table that fits in memory."""
    timings: dict[str, float] = {}
    table, values, encoded = read_encoded(source, policy, timings, threads=threads, memory=memory, progress=progress)
    feasible(encoded, encoded.rows, policy)
    _look_alike(encoded, policy)
    check_statistics(encoded.lines, statistics_asked(policy.workload))
    with timed(timings, "partition"):
        spared = _partition(encoded, policy, seed, secret, threads, progress)
    partition, left_out, silent = spared.classes, 0, None
    if len(spared.stay) < encoded.rows:
        silent = partition.classes if spared.starred else None
        if not spared.starred:
            left_out = encoded.rows - len(spared.stay)
            table, values = table.take(spared.stay), values.take(spared.stay)
    with timed(timings, "publish"):
        progress("publish", 0, 1)
        kept = table.select([n for n in source.names if n in policy.sensitive + policy.kept])
        refuse_unions(kept.schema)
        shown, classes = published_classes(spared.encoded, partition, kept, policy, threads=threads)
        published, sizes = shown, partition.sizes
        if silent is not None:
            published = {name: tuple(one.with_silence() for one in columns) for name, columns in shown.items()}
            classes = spared.with_silent(classes, encoded.rows)
            sizes = np.append(sizes, encoded.rows - len(spared.stay))
        held = {line.name: Values.of(values[line.name]) for line in encoded.lines}
        told = Told.of(source.names, published, kept, classes)
        truth = Truth(
            told, held, encoded.lines, published, by_column=partition.by_column, silent=silent, threads=threads
        )
        rows = released_rows(published, classes, kept, source.names, policy, seed=seed, threads=threads)
        progress("publish", 1, 1)
    with timed(timings, "measure"):
        recoding = recoding_behind(partition, spared.encoded, shown, policy)
        if len(spared.stay) < encoded.rows:
            lost = Lost.with_suppressed(encoded, partition, sizes, published, left_out)
        else:
            lost = Lost.by(encoded, partition, classes, rows.published, policy).public()
    people = None
    if policy.owner is not None:
        people = People(*shown_with(values[policy.owner], published, kept, classes, policy))
    notes = (*source.notes, *partition.notes, *said_of_people(policy))
    if policy.suppress is not None:
        notes += (policy.suppress.told(encoded.rows, encoded.rows - len(spared.stay), starred=spared.starred),)
    unchecked = Verification(len(classes), tuple(rows.columns), len(sizes), ())
    key = None if policy.method.recodes else secret.origin
    certificate = Certificate(
        policy, unchecked, lost, seed, "memory", reason, notes=notes, timings=timings, left_out=left_out, key=key
    )
    return Release(certificate, recoding, rows, truth, sizes, source, threads, people)


def read_encoded(
    source: Source,
    policy: Policy,
    timings: dict[str, float],
    *,
    threads: int = 1,
    memory: int | None = None,
    progress: Progress = silent,
) -> tuple[pa.Table, pa.Table, Encoded]:
    """The whole table, as it is, with the types that the policy says, and as codes; what it takes goes to ``timings``.

    Neither depends on the policy's requirements and method.
    """
    with timed(timings, "read"):
        progress("read", 0, 1)
        table = _read(source, policy)
        check_fits(table.num_rows, table.nbytes, memory=memory)
        progress("read", 1, 1)
    with timed(timings, "encode"):
        progress("encode", 0, 1)
        values = typed(table, policy)
        encoded = encode(values, policy, threads=threads)
        progress("encode", 1, 1)
    return table, values, encoded


def _read(source: Source, policy: Policy) -> pa.Table:
    # What is released as it is keeps its very characters.
    as_text = left_as_text(policy) if source.text else written_as_text(policy)
    return source.read(columns_read(source.names, policy), as_text=as_text)


def _size(source: Source, policy: Policy) -> int:
    """About how many bytes the table takes as an Arrow table; nothing for one that is in memory already."""
    if source.in_memory:
        return 0
    return source.size(columns_read(source.names, policy))


def _possible(outline: Outline, *, policy: Policy) -> None:
    """Refuse what cannot be released as asked, from what is known of the whole table."""
    nobody = outline.encoded(outline.nobody())
    feasible(nobody, outline.rows, policy)
    _look_alike(nobody, policy)
    check_statistics(outline.lines, statistics_asked(policy.workload))


def _look_alike(encoded: Encoded, policy: Policy) -> None:
    """Warn of sensitive values, and of people, that are told apart though they look alike."""
    unfolded = {n: column.domain.values for n, column in encoded.sensitive.items() if counts_texts(policy.columns[n])}
    warn_of_look_alikes(unfolded, stacklevel=5)
    owner = encoded.owner
    if (
        owner is not None
        and pa.types.is_string(owner.domain.values.type)
        and (alike := look_alikes(owner.domain.values))
    ):
        warnings.warn(
            f"{alike:,} of the {len(owner.domain.values):,} people of {owner.domain.column!r} are called as others but "
            "for case, blanks or Unicode form, and count as different ones; write one name for each before.",
            PrivacyWarning,
            stacklevel=5,
        )


def feasible(encoded: Encoded, rows: int, policy: Policy) -> None:
    """Refuse what the whole table, as one class, does not satisfy: no partition of it can."""
    whole = Statistics.whole(rows, encoded.sensitive, policy.privacy, encoded.owner)
    for requirement in policy.privacy:
        for part in reversed(requirement.parts(policy.owner)):
            if not part.satisfied(whole)[0]:
                raise InfeasibleError(f"This table cannot meet {requirement.describe()}: {part.infeasible(whole)}.")


def _partition(encoded: Encoded, policy: Policy, seed: int, secret: Secret, threads: int, progress: Progress) -> Spared:
    """The classes, and the records that are suppressed."""
    done = 0

    def report(records: int) -> None:
        nonlocal done
        done += records
        progress("partition", min(done, encoded.rows), encoded.rows)

    def group(some: Encoded) -> Classes:
        nonlocal done
        done = 0
        return grouped(some, policy, seed=seed, secret=secret, threads=threads, progress=report)

    progress("partition", 0, encoded.rows)
    if policy.suppress is None:
        return Spared.none(encoded, group(encoded))
    most = policy.suppress.limit(encoded.rows)
    return spare(encoded, policy.privacy, group, most=most, starred=policy.suppress.becomes == "star")


def grouped(
    encoded: Encoded,
    policy: Policy,
    *,
    seed: int,
    secret: Secret,
    threads: int,
    progress: Callable[[int], None] = lambda _: None,
) -> Classes:
    """The classes of a table in memory; where the method may part equal records, none can tell how."""
    method: Method = policy.method

    def group(encoded: Encoded) -> Classes:
        found = method.partition(
            encoded, policy.privacy, workload=policy.workload, seed=seed, threads=threads, progress=progress
        )
        return with_shares(encoded, found, policy, threads=threads)

    return group(encoded) if method.recodes else with_hidden_ties(encoded, secret, group, threads=threads)

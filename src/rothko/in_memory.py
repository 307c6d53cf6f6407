"""The flow of a table that fits in memory: read → encode → partition → publish → measure.

What comes of it is verified when it is saved, or by ``verified``; :mod:`rothko.flow` says which tables go this way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rothko.data.encode import Encoded, encode
from rothko.data.fold import look_alikes, warn_of_look_alikes
from rothko.data.schema import columns_read, counts_texts, left_as_text, match, written_as_text
from rothko.data.source.source import Source
from rothko.data.typed import typed
from rothko.engines.options import Memory
from rothko.engines.plan import check_fits
from rothko.engines.plan import in_memory as taken
from rothko.errors import InfeasibleError, PrivacyWarning
from rothko.methods.anatomy import refuse as refuse_anatomy
from rothko.methods.classes import Classes
from rothko.methods.method import Method
from rothko.methods.suppress import Spared, spare
from rothko.methods.ties import with_hidden_ties
from rothko.metrics.loss import loss_of_groups
from rothko.metrics.meter import Lost
from rothko.policy.decided import decided, refuse_suppression
from rothko.policy.policy import Policy
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, silent
from rothko.release.anatomy import AnatomyRelease, two_tables
from rothko.release.certificate import Certificate
from rothko.release.coverage import Values
from rothko.release.kinds import refuse_unions
from rothko.release.people import People, said_of_people, shown_with
from rothko.release.publish import check_statistics, statistics_asked
from rothko.release.recoding.behind import recoding_behind
from rothko.release.release import Release
from rothko.release.save import timed
from rothko.release.shares import with_shares
from rothko.release.stream import published_classes, released_rows
from rothko.release.truth import Told, Truth
from rothko.release.verify import Verification
from rothko.secret import Secret

if TYPE_CHECKING:
    pass


def anatomized(
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
    return made(source, policy, "asked for", seed, Secret.of(None), threads, None, silent)


def made(
    source: Source, policy: Policy, reason: str, seed: int, secret: Secret, threads: int, memory: int | None,
    progress: Progress,
) -> Release:  # fmt: skip
    """The flow up to verification of a table that fits in memory."""
    timings: dict[str, float] = {}
    table, values, encoded = read_encoded(source, policy, timings, threads=threads, memory=memory, progress=progress)
    feasible(encoded, encoded.rows, policy)
    warn_of_alike(encoded, policy)
    check_statistics(encoded.lines, statistics_asked(policy.workload))
    with timed(timings, "partition"):
        room = None if memory is None else max(memory - taken(table.nbytes), 0)
        spared = _partition(encoded, policy, seed, secret, threads, room, progress)
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
    return Release(certificate, recoding, rows, truth, sizes, source.let_go(), threads, people)


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


def warn_of_alike(encoded: Encoded, policy: Policy) -> None:
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


def _partition(
    encoded: Encoded, policy: Policy, seed: int, secret: Secret, threads: int, room: int | None, progress: Progress
) -> Spared:
    """The classes, and the records that are suppressed."""
    done = 0

    def report(records: int) -> None:
        nonlocal done
        done += records
        progress("partition", min(done, encoded.rows), encoded.rows)

    def group(some: Encoded) -> Classes:
        nonlocal done
        done = 0
        return grouped(some, policy, seed=seed, secret=secret, threads=threads, progress=report, room=room)

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
    room: int | None = None,
) -> Classes:
    """The classes of a table in memory; where the method may part equal records, none can tell how."""
    method: Method = policy.method

    def group(encoded: Encoded) -> Classes:
        found = method.partition(
            encoded, policy.privacy, workload=policy.workload, seed=seed, threads=threads, progress=progress, room=room
        )
        return with_shares(encoded, found, policy, threads=threads)

    return group(encoded) if method.recodes else with_hidden_ties(encoded, secret, group, threads=threads)

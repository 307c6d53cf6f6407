"""The one flow: source → schema → encode → partition → recode → publish → verify → measure.

``anonymize`` runs it and returns a verified :class:`Release`. Saving writes to temporary names, verifies
the written bytes again, and only then moves them into place. A table that does not fit in memory goes the
same way in parts (:mod:`rothko.engines.disk`), and its release is kept in a file.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.coded import Outline
from rothko.data.csv_dialect import CsvOptions, typed_text
from rothko.data.draft import Draft
from rothko.data.encode import Encoded, encode
from rothko.data.fold import warn_of_look_alikes
from rothko.data.schema import counts_texts, match, typed, written_as_text
from rothko.data.source import Source, open_source
from rothko.engines import ENGINES
from rothko.engines.plan import choose_engine
from rothko.errors import InfeasibleError, PolicyError, PrivacyWarning
from rothko.methods.anatomy import WARNING, Anatomy
from rothko.methods.anatomy import refuse as refuse_anatomy
from rothko.methods.method import LocalMethod
from rothko.methods.partition import Partition
from rothko.methods.refine import Refine
from rothko.policy import Policy
from rothko.privacy.statistics import Sensitive, Statistics
from rothko.release.anatomy import AnatomyRelease, two_tables
from rothko.release.certificate import Certificate
from rothko.release.publish import check_statistics, statistics_asked
from rothko.release.recoding import Recoding, columns_of, large_files
from rothko.release.rows import Rows
from rothko.release.save import Saved as Saved
from rothko.release.save import is_text, sha256, stage_files, suffix_like, timed, verified
from rothko.release.stored import StoredRelease
from rothko.release.stream import Stream, lost_by, public, released_rows
from rothko.release.verify import Verification
from rothko.release.write import Staging, companions, decoded, output_place, said_of, staging, write_rows
from rothko.threads import count_threads

if TYPE_CHECKING:
    from rothko.engines.options import RothkoS, RothkoT

PEEK = 10_000
"""Records that are looked at to tell how many bytes a table takes."""
PACKED = 6
"""How many times larger a compressed text file is than its bytes, about."""

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""


def _silent(stage: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """A table that may be released, with what vouches for it."""

    certificate: Certificate
    recoding: Recoding | None
    """φ, for methods that have one."""
    _rows: Rows
    _sizes: NDArray[np.int64]
    _source: Source
    _threads: int = 1

    def __repr__(self) -> str:
        found = self.certificate.verification
        return f"Release({found.rows:,} records in {found.classes:,} classes, verified: {found.holds})"

    @property
    def arrow(self) -> pa.Table:
        """The released rows as an Arrow table; published texts are dictionaries of what is shown."""
        return self._rows.to_arrow(threads=self._threads)

    @property
    def table(self) -> Any:
        """The released rows, in the kind of table that came in."""
        return self._source.restore(decoded(self.arrow))

    @property
    def classes(self) -> pa.Table:
        """What each class publishes, and how many records it has."""
        columns = [column for shown in self._rows.published.values() for column in shown]
        shown = {column.name: column.values.take(pa.array(column.of_class)) for column in columns}
        return pa.table({**shown, "records": self._sizes})

    def verified(self) -> Release:
        """The same release, verified as it is in memory; an error where it does not hold what was asked."""
        timings = dict(self.certificate.timings)
        with timed(timings, "verify"):
            checked = self._verified(self.arrow)
        return replace(self, certificate=replace(self.certificate, verification=checked, timings=timings))

    def save(self, out: str | Path, *, overwrite: bool = False) -> Saved:
        """Write data, certificate and recoding to a folder, or beside a file under its name; verify what was written.

        Nothing is in place before it is verified, and nothing stays if it fails.
        """
        suffix = suffix_like(self._source.path)
        data, folder = output_place(Path(out), source=self._source.path, overwrite=overwrite, suffix=suffix)
        certificate_path, recoding_path = companions(data, folder)
        timings = dict(self.certificate.timings)
        with staging(folder) as stage, ThreadPoolExecutor(2) as pool:
            temporary = stage.place_for(data)
            # Writing and verifying leave the interpreter free: the recoding is put together beside them.
            recoded = pool.submit(self._stage_recoding, recoding_path, stage)
            with timed(timings, "write"):
                escape = self.certificate.policy.csv.escape_formulas
                escaped = write_rows(self._as_written(data), temporary, escape=escape, threads=self._threads)
            with timed(timings, "verify"):
                hashed = pool.submit(sha256, temporary)
                checked = self._verified(temporary)
            certificate = replace(
                self.certificate,
                verification=checked,
                timings=timings,
                file=data.name,
                sha256=hashed.result(),
                notes=(*self.certificate.notes, *said_of(escaped)),
            )
            recoded.result()
            stage.write(certificate_path, certificate.to_json())
            stage.commit(stale=(recoding_path, *large_files(recoding_path)))
        return Saved(data, certificate_path, None if self.recoding is None else recoding_path, certificate)

    def _stage_recoding(self, path: Path, stage: Staging) -> None:
        stage_files({} if self.recoding is None else self.recoding.files(path), stage)

    def _verified(self, data: Path | pa.Table) -> Verification:
        names = {name: [column.name for column in shown] for name, shown in self._rows.published.items()}
        return verified(
            data, len(self._rows.classes), self._rows.columns, names, self.certificate.policy, threads=self._threads
        )

    def _as_written(self, data: Path) -> Rows:
        """The rows; kept columns of a text file get their types back in a file that has types."""
        if is_text(data) or not is_text(self._source.path):
            return self._rows
        kept = {name: typed_text(column) for name, column in columns_of(self._rows.kept)}
        return replace(self._rows, kept=pa.table(kept))


def anonymize(
    data: Any,
    policy: Policy | Draft | str | Path | Mapping[str, Any],
    *,
    engine: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    spill_dir: str | Path | None = None,
    csv: CsvOptions | None = None,
    progress: Progress = _silent,
) -> Release | StoredRelease | AnatomyRelease:
    """Make a release of a table and verify it.

    Parameters
    ----------
    data
        A path (CSV, TSV, Parquet, Arrow), a pandas, Polars or Arrow table, a DuckDB relation, a dict of arrays.
    policy
        A policy, a path to one, the same as plain data, or a draft.
    engine
        Overrides the policy's engine.
    seed
        The same data, policy and seed give the same bytes.
    threads
        All cores where it is None.
    memory
        The most bytes that the process may take; a table that needs more goes to an engine on disk.
    spill_dir
        Where engines on disk make their private folder; the system's folder for temporary files by default.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [23, 27, 31, 35], "disease": ["flu", "cold", "flu", "asthma"]}
    >>> policy = rk.Policy.quick(people, qi=["age"], sensitive=["disease"], k=2)
    >>> sorted(set(rk.anonymize(people, policy).table["age"].tolist()))
    ['[23, 27]', '[31, 35]']
    """
    release = prepare(
        data, policy, engine=engine, seed=seed, threads=threads, memory=memory, spill_dir=spill_dir, csv=csv,
        progress=progress,
    )  # fmt: skip
    if isinstance(release, Stream):
        return release.store()
    return release.verified()


def prepare(
    data: Any,
    policy: Policy | Draft | str | Path | Mapping[str, Any],
    *,
    engine: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    spill_dir: str | Path | None = None,
    csv: CsvOptions | None = None,
    progress: Progress = _silent,
) -> Release | Stream | AnatomyRelease:
    """The flow up to verification: what comes back must be saved, which verifies it, before it is released."""
    policy = as_policy(policy)
    threads = count_threads(threads)
    if policy.order == "keep":
        warnings.warn(
            "order: keep leaves the rows in the order of the input, which may tell who is who.",
            PrivacyWarning,
            stacklevel=3,
        )
    check_method(policy)
    source = open_source(data, csv=csv)
    match(source.names, policy, source.label)
    asked = engine or policy.engine.name
    name, reason = choose_engine(source.rows or 0, _size(source, policy), memory=memory, asked=asked)
    if name != "memory":
        if isinstance(policy.method, LocalMethod | Refine | Anatomy):
            raise PolicyError(
                f"{policy.method.name} sees all records at once, in memory, and engine {name} was "
                f"{reason if reason == 'asked for' else 'chosen: ' + reason}; raise --memory, or use mondrian."
            )
        from rothko.engines.disk import stream

        options = policy.engine if policy.engine.name == name else ENGINES[name]()
        return stream(
            source, policy, cast("RothkoT | RothkoS", options), reason, check=partial(_possible, policy=policy),
            memory=memory, spill_dir=None if spill_dir is None else Path(spill_dir), seed=seed, threads=threads,
            progress=progress,
        )  # fmt: skip
    if isinstance(policy.method, Anatomy):
        warnings.warn(WARNING, PrivacyWarning, stacklevel=3)
        return _anatomized(source, policy, reason, seed, threads, memory, progress)
    return in_memory(source, policy, reason=reason, seed=seed, threads=threads, memory=memory, progress=progress)


def _anatomized(
    source: Source, policy: Policy, reason: str, seed: int, threads: int, memory: int | None, progress: Progress
) -> AnatomyRelease:
    """The flow up to verification of the method that releases two tables."""
    timings: dict[str, float] = {}
    with timed(timings, "read"):
        progress("read", 0, 1)
        columns = [name for name in source.names if name not in policy.identifiers]
        # Everything is released as it is, and keeps its very characters.
        table = source.read(columns, as_text=set(columns) if is_text(source.path) else set())
        choose_engine(table.num_rows, table.nbytes, memory=memory, asked="memory")
        progress("read", 1, 1)
    return two_tables(table, source.names, policy, source, reason=reason, seed=seed, threads=threads, timings=timings)


def in_memory(
    source: Source,
    policy: Policy,
    *,
    reason: str = "asked for",
    seed: int = 0,
    threads: int = 1,
    memory: int | None = None,
    progress: Progress = _silent,
) -> Release:
    """The flow up to verification by the engine ``memory``, whichever the policy asks for."""
    refuse_anatomy(policy.method, "This")
    match(source.names, policy, source.label)
    timings: dict[str, float] = {}
    table, encoded = read_encoded(source, policy, timings, threads=threads, memory=memory, progress=progress)
    feasible(encoded, encoded.rows, policy)
    _look_alike(encoded.sensitive, policy)
    check_statistics(encoded.lines, statistics_asked(policy.workload))
    with timed(timings, "partition"):
        partition = _partition(encoded, policy, seed, threads, progress)
    with timed(timings, "publish"):
        progress("publish", 0, 1)
        kept = table.select([n for n in source.names if n in policy.sensitive + policy.kept])
        rows, classes = released_rows(encoded, partition, kept, source.names, policy, seed=seed, threads=threads)
        progress("publish", 1, 1)
    with timed(timings, "measure"):
        recoding = Recoding.of(encoded, partition, rows.published, policy)
        lost = public(lost_by(encoded, partition, classes, rows.published, policy))
    notes = (*source.notes, *partition.notes)
    unchecked = Verification(encoded.rows, tuple(rows.columns), partition.classes, ())
    certificate = Certificate(policy, unchecked, lost, seed, "memory", reason, notes=notes, timings=timings)
    return Release(certificate, recoding, rows, partition.sizes, source, threads)


def read_encoded(
    source: Source,
    policy: Policy,
    timings: dict[str, float],
    *,
    threads: int = 1,
    memory: int | None = None,
    progress: Progress = _silent,
) -> tuple[pa.Table, Encoded]:
    """The whole table, as it is and as codes; what it takes goes to ``timings``.

    Neither depends on the policy's requirements and method.
    """
    with timed(timings, "read"):
        progress("read", 0, 1)
        table = _read(source, policy)
        choose_engine(table.num_rows, table.nbytes, memory=memory, asked="memory")
        progress("read", 1, 1)
    with timed(timings, "encode"):
        progress("encode", 0, 1)
        encoded = encode(typed(table, policy), policy, threads=threads)
        progress("encode", 1, 1)
    return table, encoded


def as_policy(policy: Policy | Draft | str | Path | Mapping[str, Any]) -> Policy:
    """A policy from a path, plain data or a draft."""
    if isinstance(policy, Draft):
        return policy.policy
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return Policy.load(policy)
    return Policy.model_validate(dict(policy))


def _read(source: Source, policy: Policy) -> pa.Table:
    columns = [name for name in source.names if name not in policy.identifiers]
    as_text = written_as_text(policy)
    if is_text(source.path):
        # What is released as it is keeps its very characters.
        as_text |= set(policy.kept + policy.sensitive)
    return source.read(columns, as_text=as_text)


def _size(source: Source, policy: Policy) -> int:
    """About how many bytes the table takes as an Arrow table; nothing for one that is in memory already."""
    if source.path is None:
        return 0
    if source.rows is None:
        return source.bytes * (PACKED if source.path.name.lower().endswith(".gz") else 1)
    columns = [name for name in source.names if name not in policy.identifiers]
    first = next(iter(source.batches(columns, rows=PEEK)))
    return int(-(-first.nbytes * source.rows // first.num_rows))


def _possible(outline: Outline, *, policy: Policy) -> None:
    """Refuse what cannot be released as asked, from what is known of the whole table."""
    nobody = outline.encoded(outline.nobody())
    feasible(nobody, outline.rows, policy)
    _look_alike(nobody.sensitive, policy)
    check_statistics(outline.lines, statistics_asked(policy.workload))


def _look_alike(sensitive: Mapping[str, Sensitive], policy: Policy) -> None:
    """Warn of sensitive values that are told apart though they look alike."""
    unfolded = {name: column.domain.values for name, column in sensitive.items() if counts_texts(policy.columns[name])}
    warn_of_look_alikes(unfolded, stacklevel=5)


def feasible(encoded: Encoded, rows: int, policy: Policy) -> None:
    """Refuse what the whole table, as one class, does not satisfy: no partition of it can."""
    whole = Statistics.whole(rows, encoded.sensitive, policy.privacy)
    for requirement in policy.privacy:
        for part in reversed(requirement.parts):
            if not part.satisfied(whole)[0]:
                raise InfeasibleError(f"This table cannot meet {requirement.describe()}: {part.infeasible(whole)}.")


def check_method(policy: Policy) -> None:
    """Refuse what a method cannot do."""
    if policy.publish == "region" and policy.method.local:
        relaxed = policy.method.name == "mondrian"
        raise PolicyError(
            f"publish: region needs a global recoding, and {'relaxed Mondrian' if relaxed else policy.method.name} "
            f"has none; publish a range, or {'set relaxed: false' if relaxed else 'use mondrian'}."
        )
    if isinstance(policy.method, LocalMethod | Refine):
        policy.method.refuse(policy.workload)
    over = {frozenset(asked.over) for asked in policy.privacy if asked.over is not None}
    if len(over) > 1 and not isinstance(policy.method, Refine):
        raise PolicyError(
            f"requirements are over {len(over)} different sets of quasi-identifiers, and {policy.method.name} makes "
            "classes over all of them together; use refine, which keeps to each set by itself, or remove 'over'."
        )
    if isinstance(policy.method, Anatomy):
        policy.method.asked(policy)


def _partition(encoded: Encoded, policy: Policy, seed: int, threads: int, progress: Progress) -> Partition:
    from rothko.engines import memory

    done = 0

    def report(records: int) -> None:
        nonlocal done
        done += records
        progress("partition", done, encoded.rows)

    progress("partition", 0, encoded.rows)
    return memory.partition(
        encoded, policy.privacy, policy.method, workload=policy.workload, seed=seed, threads=threads, progress=report
    )

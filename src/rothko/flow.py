"""The one flow: source → schema → encode → partition → recode → publish → verify → measure.

``anonymize`` runs it and returns a verified :class:`Release`. Saving writes to temporary names, verifies
the written bytes again, and only then moves them into place.
"""

from __future__ import annotations

import hashlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.csv_dialect import CsvOptions, typed_text
from rothko.data.draft import Draft
from rothko.data.encode import Encoded, encode
from rothko.data.schema import match, typed, written_as_text
from rothko.data.source import Source, open_source
from rothko.errors import InfeasibleError, InputError, PolicyError, PrivacyWarning, VerificationError
from rothko.methods.partition import Partition
from rothko.metrics.loss import Loss, box_widths, loss
from rothko.metrics.workload import View, workload_loss
from rothko.policy import Policy
from rothko.privacy.statistics import Statistics
from rothko.release.certificate import Certificate
from rothko.release.publish import Published, check_statistics, publish, statistics_asked
from rothko.release.recoding import Recoding, columns_of, large_files
from rothko.release.rows import Rows, assemble, random_order
from rothko.release.verify import Verification, verify
from rothko.release.write import Staging, companions, decoded, output_place, staging, write_rows
from rothko.threads import count_threads

Progress = Callable[[str, int, int], None]
"""Called with a stage, how much of it is done, and how much there is."""


def _silent(stage: str, done: int, total: int) -> None:
    pass


class Saved(NamedTuple):
    """Where a release was written, and the certificate of the written bytes."""

    data: Path
    certificate_path: Path
    recoding_path: Path | None
    certificate: Certificate


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

    def save(self, out: str | Path, *, overwrite: bool = False) -> Saved:
        """Write data, certificate and recoding to a folder, or beside a file under its name; verify what was written.

        Nothing is in place before it is verified, and nothing stays if it fails.
        """
        suffix = ".parquet" if self._source.path is None else _suffix_like(self._source.path)
        data, folder = output_place(Path(out), source=self._source.path, overwrite=overwrite, suffix=suffix)
        certificate_path, recoding_path = companions(data, folder)
        timings = dict(self.certificate.timings)
        with staging(folder) as stage, ThreadPoolExecutor(2) as pool:
            temporary = stage.place_for(data)
            # Writing and verifying leave the interpreter free: the recoding is put together beside them.
            recoded = pool.submit(_stage_recoding, self.recoding, recoding_path, stage)
            with _timed(timings, "write"):
                write_rows(self._as_written(data), temporary, threads=self._threads)
            with _timed(timings, "verify"):
                hashed = pool.submit(_sha256, temporary)
                checked = _verified(temporary, self._rows, self.certificate.policy, self._threads)
            certificate = replace(
                self.certificate, verification=checked, timings=timings, file=data.name, sha256=hashed.result()
            )
            recoded.result()
            stage.write(certificate_path, certificate.to_json())
            stage.commit(stale=(recoding_path, *large_files(recoding_path)))
        return Saved(data, certificate_path, None if self.recoding is None else recoding_path, certificate)

    def _as_written(self, data: Path) -> Rows:
        """The rows; kept columns of a text file get their types back in a file that has types."""
        text = (".csv", ".tsv")
        if self._source.path is None or data.suffix in text or _suffix_like(self._source.path) not in text:
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
    csv: CsvOptions | None = None,
    progress: Progress = _silent,
) -> Release:
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
        The most bytes that the run may take; refused beforehand where the table needs more.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [23, 27, 31, 35], "disease": ["flu", "cold", "flu", "asthma"]}
    >>> policy = rk.Policy.quick(people, qi=["age"], sensitive=["disease"], k=2)
    >>> sorted(set(rk.anonymize(people, policy).table["age"].tolist()))
    ['[23, 27]', '[31, 35]']
    """
    release = prepare(
        data, policy, engine=engine, seed=seed, threads=threads, memory=memory, csv=csv, progress=progress
    )
    timings = dict(release.certificate.timings)
    with _timed(timings, "verify"):
        checked = _verified(release.arrow, release._rows, release.certificate.policy, release._threads)
    return replace(release, certificate=replace(release.certificate, verification=checked, timings=timings))


def prepare(
    data: Any,
    policy: Policy | Draft | str | Path | Mapping[str, Any],
    *,
    engine: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    csv: CsvOptions | None = None,
    progress: Progress = _silent,
) -> Release:
    """The flow up to verification: what comes back must be saved, which verifies it, before it is released."""
    policy = as_policy(policy)
    threads = count_threads(threads)
    name, reason = _choose_engine(engine or policy.engine)
    if policy.order == "keep":
        warnings.warn(
            "order: keep leaves the rows in the order of the input, which may tell who is who.",
            PrivacyWarning,
            stacklevel=3,
        )
    if policy.publish == "region" and getattr(policy.method, "relaxed", False):
        raise PolicyError(
            "publish: region needs a global recoding, and relaxed Mondrian has none; "
            "publish a range, or set relaxed: false."
        )
    timings: dict[str, float] = {}
    source = open_source(data, csv=csv)
    match(source.names, policy, source.label)
    with _timed(timings, "read"):
        progress("read", 0, 1)
        table = _read(source, policy)
        _fits(table, memory)
        progress("read", 1, 1)
    with _timed(timings, "encode"):
        progress("encode", 0, 1)
        encoded = encode(typed(table, policy), policy, threads=threads)
        _feasible(encoded, policy)
        check_statistics(encoded.lines, statistics_asked(policy.workload))
        progress("encode", 1, 1)
    with _timed(timings, "partition"):
        partition = _partition(encoded, policy, threads, progress)
    with _timed(timings, "publish"):
        progress("publish", 0, 1)
        kept = table.select([n for n in source.names if n in policy.sensitive + policy.kept])
        classes = partition.class_of()
        order = random_order(classes, kept, seed, threads=threads) if policy.order == "random" else None
        published = publish(encoded, partition, policy.publish, workload=policy.workload, threads=threads)
        _no_clash(published, kept)
        rows = assemble(source.names, published, kept, classes, order, threads=threads)
        progress("publish", 1, 1)
    with _timed(timings, "measure"):
        recoding = Recoding.of(encoded, partition, published, policy)
        lost = _lost(encoded, partition, classes, published, policy)
    unchecked = Verification(encoded.rows, tuple(rows.columns), partition.classes, ())
    certificate = Certificate(policy, unchecked, lost, seed, name, reason, notes=source.notes, timings=timings)
    return Release(certificate, recoding, rows, partition.sizes, source, threads)


def as_policy(policy: Policy | Draft | str | Path | Mapping[str, Any]) -> Policy:
    """A policy from a path, plain data or a draft."""
    if isinstance(policy, Draft):
        return policy.policy
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, str | Path):
        return Policy.load(policy)
    return Policy.model_validate(dict(policy))


def _choose_engine(asked: str) -> tuple[str, str]:
    if asked == "auto":
        return "memory", "the table fits in memory"
    if asked != "memory":
        raise PolicyError(f"{asked!r} is not an engine; there are 'auto', 'memory'.")
    return asked, "asked for"


def _read(source: Source, policy: Policy) -> pa.Table:
    columns = [name for name in source.names if name not in policy.identifiers]
    as_text = written_as_text(policy)
    if source.path is not None and _suffix_like(source.path) in (".csv", ".tsv"):
        # What is released as it is keeps its very characters.
        as_text |= set(policy.kept + policy.sensitive)
    return source.read(columns, as_text=as_text)


def _suffix_like(path: Path) -> str:
    name = path.name.lower().removesuffix(".gz")
    endings = {
        ".tsv": ".tsv",
        ".csv": ".csv",
        ".txt": ".csv",
        ".arrow": ".arrow",
        ".feather": ".feather",
        ".ipc": ".arrow",
    }
    return endings.get(Path(name).suffix, ".parquet")


def _fits(table: pa.Table, memory: int | None) -> None:
    """Refuse a table that needs more than the limit: six times its size, as measured, and the program itself."""
    needed = 6 * table.nbytes + 300_000_000
    if memory is not None and needed > memory:
        raise InputError(
            f"The table needs about {needed / 1e9:.1f} GB in memory and the limit is {memory / 1e9:.1f} GB; "
            "raise --memory, or release it in parts."
        )


def _feasible(encoded: Encoded, policy: Policy) -> None:
    """Refuse what the whole table, as one class, does not satisfy: no partition of it can."""
    whole = Statistics.whole(encoded.rows, encoded.sensitive, policy.privacy)
    for requirement in policy.privacy:
        for part in reversed(requirement.parts):
            if not part.satisfied(whole)[0]:
                raise InfeasibleError(f"This table cannot meet {requirement.describe()}: {part.infeasible(whole)}.")


def _partition(encoded: Encoded, policy: Policy, threads: int, progress: Progress) -> Partition:
    from rothko.engines import memory

    done = 0

    def report(records: int) -> None:
        nonlocal done
        done += records
        progress("partition", done, encoded.rows)

    progress("partition", 0, encoded.rows)
    return memory.partition(
        encoded, policy.privacy, policy.method, workload=policy.workload, threads=threads, progress=report
    )


def _lost(
    encoded: Encoded,
    partition: Partition,
    classes: NDArray[np.int32],
    published: Mapping[str, Sequence[Published]],
    policy: Policy,
) -> Loss:
    """What the release loses, as it may stand in its certificate."""
    lost = loss(encoded.lines, box_widths(encoded.lines, partition.low, partition.high), partition.sizes)
    if not policy.workload:
        return lost
    view = View.of(encoded, partition, classes, published, policy)
    told = tuple(task.public(lost.smallest_class) for task in workload_loss(view, policy.workload))
    return replace(lost, workload=told)


def _no_clash(published: Mapping[str, Sequence[Published]], kept: pa.Table) -> None:
    """Refuse to publish two columns under one name: age_min beside a column that is called so already."""
    names = [column.name for shown in published.values() for column in shown] + kept.column_names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PolicyError(
            f"The release would have two columns {twice!r}: bounds and means of a class are called so, "
            "and there is a column of that name already; rename it."
        )


def _verified(data: Path | pa.Table, rows: Rows, policy: Policy, threads: int) -> Verification:
    """Verify, and fail closed: also when rows or columns are not those that were meant to leave."""
    names = {name: [column.name for column in shown] for name, shown in rows.published.items()}
    found = verify(data, policy.privacy, names, missing=policy.missing, threads=threads)
    if found.columns != tuple(rows.columns) or found.rows != len(rows.classes):
        raise VerificationError(
            "Verification failed: the written table has other rows or columns than it should; nothing was released."
        )
    for finding in found.findings:
        if not finding.holds:
            raise VerificationError(
                f"Verification failed: {finding.requirement.describe()} does not hold in {finding.violating_classes} "
                f"of {finding.classes} classes; nothing was released. Please report this."
            )
    return found


def _stage_recoding(recoding: Recoding | None, path: Path, stage: Staging) -> None:
    for target, content in ({} if recoding is None else recoding.files(path)).items():
        stage.write(target, content)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    begun = time.perf_counter()
    yield
    timings[stage] = timings.get(stage, 0.0) + time.perf_counter() - begun

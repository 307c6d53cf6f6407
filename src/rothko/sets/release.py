"""Releases of set-valued records: read, grouped by a method, published in random order, verified, written.

After Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011).
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rothko.engines.engine import Engine
from rothko.engines.options import Auto, Memory, Spark
from rothko.errors import InputError, PrivacyWarning
from rothko.mistakes import said
from rothko.policy.entries import Said, read
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.progress import Progress, count_threads, counted, silent
from rothko.release.place import Place, Reported
from rothko.release.save import Outgoing, Unverified, save, timed
from rothko.release.verify import Verification
from rothko.sets.certificate import SavedSets, SetCertificate
from rothko.sets.files import Reading, Utility, read_records
from rothko.sets.methods import SetK1Method, SetMethod, as_method
from rothko.sets.publish import SetMetrics, Shown, check_feasible, group, publish
from rothko.sets.records import Records
from rothko.sets.verify import verified_sets
from rothko.sets.write import free_place, write_sets

if TYPE_CHECKING:
    from rothko.sets.spark.release import HeldSets, SpreadSets

_SAID = Said(
    "Give one engine: its name, or {{name: {{option: value}}}}.",
    "There is no engine {name} for sets; {hint}",
    "engine {of} has no option {parameter}; {hint}",
    within=False,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetRelease:
    """Published sets, one for each record, in random order."""

    records: Records
    """The published sets; their utilities are 1."""
    _certificate: SetCertificate
    _original: Records
    _shown: Shown
    """What the rows must be."""
    _threads: int
    _source: Path | None

    def __repr__(self) -> str:
        found = self._certificate.verification
        verified = bool(found.findings) and found.holds
        return f"SetRelease({found.rows:,} records in {found.classes:,} classes, verified: {verified})"

    @property
    def certificate(self) -> dict[str, Any]:
        """What was asked, what was verified, what was lost; plain data without item texts."""
        return self._certificate.to_dict()

    @property
    def metrics(self) -> SetMetrics:
        """What is kept."""
        return self._certificate.metrics

    @property
    def classes(self) -> NDArray[np.int64]:
        """The sizes of the classes; empty where every record has a set of its own, as (k,1)-anonymity allows."""
        return self._shown.times[:0] if isinstance(self._certificate.method, SetK1Method) else self._shown.times

    def to_lists(self) -> list[list[str]]:
        """The published sets as lists of texts."""
        return self.records.to_lists()

    def verified(self) -> SetRelease:
        """The same release, verified as it is in memory; an error where it does not hold what was asked."""
        timings = dict(self._certificate.timings)
        with timed(timings, "verify"):
            checked = self._verified(self.records)
        return replace(self, _certificate=replace(self._certificate, verification=checked, timings=timings))

    def save(self, out: str | Path | Place, *, delimiter: str = " ", overwrite: bool = False) -> SavedSets:
        """Write the sets, and the certificate beside them; verify what was written before it is in place.

        Parameters
        ----------
        out
            ``.txt``: a record a line; ``.parquet``, ``.arrow``: a list column; ``.csv``, ``.tsv``: long form.
        delimiter
            What separates the items of a line.
        """
        inputs = [] if self._source is None else [self._source]
        place = out if isinstance(out, Place) else free_place(out, inputs=inputs, overwrite=overwrite)

        def write(outgoing: Outgoing) -> Unverified[SetCertificate]:
            [data] = outgoing.files
            with timed(outgoing.timings, "write"):
                write_sets(self.records, data, delimiter=delimiter)
            return Unverified(
                verify=lambda: self._verified(data, delimiter),
                certify=lambda checked: replace(self._certificate, verification=checked),
            )

        return SavedSets.of(save(place, write))

    def report(self, **options: Any) -> Reported:
        """A report: ``.html`` is the page, ``.save("report.html")`` writes it, with the JSON of its pictures beside it.

        Parameters
        ----------
        audience
            ``"public"`` (the default): nothing that certificate and release do not tell; ``"steward"``: how records
            could be told apart before, too, which is not for publication.
        original, reading, utility
            The records that were released, for the steward, and how to read them.
        threshold
            A risk above which records are counted: 0.09.
        """
        from rothko.sets.readable import HeldInMemory
        from rothko.sets.report import report

        return report(HeldInMemory(self.records, self.certificate), **options)

    def _verified(self, data: Path | Records, delimiter: str = " ") -> Verification:
        return verified_sets(
            data, self._original, self._certificate.asked, shown=self._shown, delimiter=delimiter,
            threads=self._threads,
        )  # fmt: skip


def anonymize(
    data: Any,
    *,
    k: int = 10,
    method: str | SetMethod | Mapping[str, Mapping[str, Any]] = "set-two-phase",
    utility: Utility = None,
    reading: Reading | None = None,
    of: str | None = None,
    seed: int | None = None,
    engine: str | Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    spill_dir: str | Path | None = None,
    spark_master: str | None = None,
    progress: Progress | bool = silent,
) -> SetRelease | HeldSets:
    """Publish for every record a set that k records have in common, and verify it.

    Parameters
    ----------
    data
        Lists of items, a path, an Arrow list array, a table or dataframe, a SciPy sparse matrix, or
        :class:`Records`. With ``engine="spark"`` a Spark DataFrame, or a file, a folder, an address or the name of a
        table that Spark reads.
    method
        A name of :data:`rothko.sets.methods.SET_METHODS`, with its options as ``{name: {option: value}}``, or a method.
    utility
        Item → what publishing it once is worth, or a CSV file of both; 1 by default.
    reading
        How to read the data, where that is not plain.
    of
        Refused: records that are sets have no column that says whose they are. In long form the column of the person,
        as ``record`` of the reading, makes one record of all that a person has.
    seed
        The same data, method and seed give the same bytes. None is 0 for k-anonymity, and a secret one for
        (k,1)-anonymity: whoever knows it and the original records can make the release again, and see whose set is
        whose.
    engine
        ``memory``, where all records are, or ``spark``, for set-mondrian on a cluster: the same sets, in a folder of
        files; its options as ``{"spark": {"records_at_once": 100_000}}``.
    threads
        All cores where it is None.
    memory
        With engine spark, the most bytes that the Python of a task, or of the driver, may take: ``"1GB"`` by default.
    spill_dir
        With engine spark, where the private folder is made that the release lies in until it is saved; executors must
        reach it.
    spark_master
        Where Spark runs, such as ``"local[*]"`` or ``"sc://host"``; the active session by default.

    Examples
    --------
    >>> release = anonymize([["a", "b"], ["a", "b", "c"], ["c"], ["c"]], k=2, method="set-mondrian")
    >>> sorted(release.to_lists())
    [['a', 'b'], ['a', 'b'], ['c'], ['c']]
    >>> release.certificate["requirement"]
    {'name': 'k-anonymity', 'asked': 2, 'achieved': 2, 'holds': True}
    """
    from rothko.kernels.compiling import told

    with told(progress) as report:
        release = prepare(
            data, k=k, method=method, utility=utility, reading=reading, of=of, seed=seed, engine=engine,
            threads=threads, memory=memory, spill_dir=spill_dir, spark_master=spark_master, progress=report,
        )  # fmt: skip
        return release.verified() if isinstance(release, SetRelease) else release.store()


def prepare(
    data: Any,
    *,
    k: int = 10,
    method: str | SetMethod | Mapping[str, Mapping[str, Any]] = "set-two-phase",
    utility: Utility = None,
    reading: Reading | None = None,
    of: str | None = None,
    seed: int | None = None,
    engine: str | Mapping[str, Mapping[str, Any]] | None = None,
    threads: int | None = None,
    memory: int | str | None = None,
    spill_dir: str | Path | None = None,
    spark_master: str | None = None,
    progress: Progress = silent,
) -> SetRelease | SpreadSets:
    """The flow up to verification: what comes back must be saved, which verifies it, before it is released."""
    if of is not None:
        raise InputError(
            f"Records that are sets are counted, not people: no column says whose they are, so {said('--of', of)} "
            "cannot be kept. Where a person has several, make one of them: in long form with "
            f"{said('--record', of, within='reading=Reading')}."
        )
    chosen = as_method(method)
    asked = chosen.meeting(k)
    where = as_engine(engine)
    if isinstance(where, Spark):
        from rothko.sets.spark.release import prepare_spread

        return prepare_spread(
            data, asked, chosen, where, reading=reading, utility=utility, seed=seed or 0, memory=memory,
            spill_dir=spill_dir, spark_master=spark_master, progress=progress,
        )  # fmt: skip
    cores = count_threads(threads)
    drawn = _seed(chosen, seed)
    timings: dict[str, float] = {}
    with timed(timings, "read"):
        progress("read", 0, 1)
        records = read_records(data, reading, utility=utility)
        progress("read", 1, 1)
    check_feasible(records.count, asked)
    with timed(timings, "partition"):
        shown = group(
            chosen, records, k, seed=drawn, threads=cores, progress=counted(progress, "partition", records.count)
        )
        progress("partition", records.count, records.count)
    source = Path(data) if isinstance(data, str | Path) else None
    return released(records, chosen, asked, shown, seed=drawn, threads=cores, timings=timings, source=source)


def as_engine(engine: str | Mapping[str, Mapping[str, Any]] | None) -> Engine:
    """An engine by its name, or by its name with options; memory where none is named.

    >>> as_engine({"spark": {"records_at_once": 500}}).name
    'spark'
    """
    known = {one.name: one for one in (Auto, Memory, Spark)}
    chosen: Engine = read("auto" if engine is None else engine, known, "engine", _SAID)
    return chosen


def released(
    records: Records,
    method: SetMethod,
    asked: KAnonymity | K1Anonymity,
    shown: Shown,
    *,
    seed: int,
    threads: int,
    timings: Mapping[str, float],
    source: Path | None = None,
) -> SetRelease:
    """What a method made of records, published and not yet verified.

    Parameters
    ----------
    timings
        Seconds of the stages before this one.
    source
        The file of the records, which nothing may be written over.
    """
    taken = dict(timings)
    with timed(taken, "publish"):
        published, metrics = publish(records, shown, seed)
    certificate = SetCertificate(
        method=method, asked=asked, verification=Verification(records.count, ("items",), metrics.classes, ()),
        metrics=metrics, seed=None if isinstance(method, SetK1Method) else seed, notes=records.notes, timings=taken,
    )  # fmt: skip
    return SetRelease(published, certificate, records, shown, threads, source)


def _seed(method: SetMethod, asked: int | None) -> int:
    """The seed, a secret one where the draw must not be made again."""
    if not isinstance(method, SetK1Method):
        return asked or 0
    if asked is None:
        return secrets.randbits(128)
    warnings.warn(
        f"{method.name} with a seed that others may learn or guess: whoever knows it and the original records can tell "
        "whose set is whose; leave it out for a secret one.",
        PrivacyWarning,
        stacklevel=4,
    )
    return asked

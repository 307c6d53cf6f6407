"""Releases of set-valued records: read, grouped by a method, published in random order, verified, written.

After Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011).
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.errors import InputError, PrivacyWarning
from rothko.mistakes import said
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.privacy.k1anonymity import ADVERSARIES
from rothko.progress import Progress, count_threads, counted, silent
from rothko.release.certificate import Sealed
from rothko.release.place import Place
from rothko.release.save import Outgoing, Unverified, save, timed
from rothko.release.verify import Verification
from rothko.sets.files import Reading, Utility, read_records
from rothko.sets.methods import SetK1Method, SetMethod, as_method
from rothko.sets.publish import SetMetrics, Shown, check_feasible, group, publish
from rothko.sets.records import Records
from rothko.sets.verify import verified_sets
from rothko.sets.write import free_place, write_sets


class SavedSets(NamedTuple):
    """Where a release was written, and the certificate of the written bytes."""

    data: Path
    certificate_path: Path
    certificate: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCertificate(Sealed):
    """A record of one release of sets; nothing in it tells an item."""

    method: SetMethod
    asked: KAnonymity | K1Anonymity
    verification: Verification
    """Without findings until it is verified."""
    metrics: SetMetrics
    seed: int | None
    """None where it is a secret."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        found = [finding.to_dict() for finding in self.verification.findings]
        reached = {name: found[0][name] if found else None for name in ("achieved", "holds")}
        return {
            "format": "rothko sets certificate 1",
            "verified": bool(found) and self.verification.holds,
            "true_to_original": self.verification.true,
            "requirement": {"name": self.asked.name, "asked": self.asked.k, **reached},
            "adversary": ADVERSARIES[self.asked.name],
            "rows": self.verification.rows,
            "classes": self.verification.classes,
            "metrics": self.metrics.to_dict(),
            "method": {"name": self.method.name}
            | {option.name: getattr(self.method, option.name) for option in fields(self.method)},
            "seed": self.seed,
            "notes": list(self.notes),
            **self._files,
            **self._making,
        }


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

        saved = save(place, write)
        return SavedSets(saved.data, saved.certificate_path, saved.certificate.to_dict())

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
    threads: int | None = None,
    progress: Progress | bool = silent,
) -> SetRelease:
    """Publish for every record a set that k records have in common, and verify it.

    Parameters
    ----------
    data
        Lists of items, a path, an Arrow list array, a table or dataframe, a SciPy sparse matrix, or
        :class:`Records`.
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
    threads
        All cores where it is None.

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
        return prepare(
            data, k=k, method=method, utility=utility, reading=reading, of=of, seed=seed, threads=threads,
            progress=report,
        ).verified()  # fmt: skip


def prepare(
    data: Any,
    *,
    k: int = 10,
    method: str | SetMethod | Mapping[str, Mapping[str, Any]] = "set-two-phase",
    utility: Utility = None,
    reading: Reading | None = None,
    of: str | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> SetRelease:
    """The flow up to verification: what comes back must be saved, which verifies it, before it is released."""
    if of is not None:
        raise InputError(
            f"Records that are sets are counted, not people: no column says whose they are, so {said('--of', of)} "
            "cannot be kept. Where a person has several, make one of them: in long form with "
            f"{said('--record', of, within='reading=Reading')}."
        )
    chosen = as_method(method)
    asked = chosen.meeting(k)
    cores = count_threads(threads)
    drawn = _seed(chosen, seed)
    timings: dict[str, float] = {}
    with timed(timings, "read"):
        progress("read", 0, 1)
        records = read_records(data, reading, utility=utility)
        progress("read", 1, 1)
    check_feasible(records, asked)
    with timed(timings, "partition"):
        shown = group(
            chosen, records, k, seed=drawn, threads=cores, progress=counted(progress, "partition", records.count)
        )
        progress("partition", records.count, records.count)
    source = Path(data) if isinstance(data, str | Path) else None
    return released(records, chosen, asked, shown, seed=drawn, threads=cores, timings=timings, source=source)


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

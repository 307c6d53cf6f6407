"""The flow of set-valued records: read, grouped by a method, published in random order, verified, written.

After Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011).
"""

from __future__ import annotations

import secrets
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko import json_text
from rothko.errors import InfeasibleError, InputError, PolicyError, PrivacyWarning, VerificationError, nearest
from rothko.progress import Progress, count_threads, silent
from rothko.release.certificate import LIBRARIES
from rothko.release.place import Place
from rothko.release.save import timed
from rothko.release.staging import sha256
from rothko.sets.files import Reading, read_records
from rothko.sets.methods import SET_METHODS, SetK1Method, SetMethod
from rothko.sets.records import Records
from rothko.sets.utility import Utility
from rothko.sets.verify import (
    SetFinding,
    SetMetrics,
    Shown,
    free_place,
    in_random_order,
    measure_sets,
    verified_sets,
    write_sets,
)

ADVERSARIES = {
    "k-anonymity": "Whoever sees a published set and knows the original records finds at least k that it may be of.",
    "k1-anonymity": (
        "Weaker than k-anonymity. At least k original records contain each published set. So someone who sees the set "
        "of one person and knows all original records, but not what was published for the others, cannot tell which of "
        "at least k people it belongs to. It does not protect against someone who also learns what was published for "
        "other people, who compares several releases of the same records, or who knows the method and rules out people "
        "for whom it would have published something else: fewer than k people may publish the same set, and then "
        "little may be left to hide among. Where such a person must be reckoned with, use a method that meets "
        "k-anonymity."
    ),
}
"""What a release protects against, in words."""


class SavedSets(NamedTuple):
    """Where a release was written, and the certificate of the written bytes."""

    data: Path
    certificate_path: Path
    certificate: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SetRelease:
    """Published sets, one for each record, in random order."""

    records: Records
    """The published sets; their utilities are 1."""
    metrics: SetMetrics
    certificate: dict[str, Any]
    """What was asked, what was verified, what was lost; plain data without item texts."""
    classes: NDArray[np.int64]
    """The sizes of the classes; empty where every record has a set of its own, as (k,1)-anonymity allows."""
    _original: Records
    _told: Shown
    """What the rows must be."""
    _k: int
    _threads: int
    _source: Path | None

    def __repr__(self) -> str:
        rows, classes = self.certificate["rows"], self.certificate["classes"]
        return f"SetRelease({rows:,} records in {classes:,} classes, verified: {self.certificate['verified']})"

    def to_lists(self) -> list[list[str]]:
        """The published sets as lists of texts."""
        return self.records.to_lists()

    def verified(self) -> SetRelease:
        """The same release, verified as it is in memory; an error where it does not hold what was asked."""
        timings: dict[str, float] = {}
        with timed(timings, "verify"):
            found = verified_sets(
                self.records, self._original, self._model, self._k, told=self._told, threads=self._threads
            )
        return replace(self, certificate=self._certified(found, timings))

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
        place = out if isinstance(out, Place) else free_place(Path(out), inputs=inputs, overwrite=overwrite)
        timings: dict[str, float] = {}
        with place.staging() as stage:
            temporary = stage.place_for(place.data)
            with timed(timings, "write"):
                write_sets(self.records, temporary, delimiter=delimiter)
            with timed(timings, "verify"):
                found = verified_sets(
                    temporary, self._original, self._model, self._k, told=self._told, delimiter=delimiter,
                    threads=self._threads,
                )  # fmt: skip
            name, digest = place.data.name, sha256(temporary)
            written = {"file": name, "file_sha256": digest, "files": {name: digest}}
            certificate = self._certified(found, timings) | written
            stage.write(place.certificate, json_text.dump(certificate) + "\n")
            stage.commit()
        return SavedSets(place.data, place.certificate, certificate)

    @property
    def _model(self) -> str:
        return str(self.certificate["requirement"]["name"])

    def _certified(self, found: SetFinding, timings: Mapping[str, float]) -> dict[str, Any]:
        seconds = {stage: round(taken, 4) for stage, taken in timings.items()}
        return self.certificate | {
            "verified": True,
            "true_to_original": True,
            "requirement": found.to_dict(),
            "classes": found.classes,
            "seconds": self.certificate["seconds"] | seconds,
        }


def anonymize(
    data: Any,
    *,
    k: int = 10,
    method: str | SetMethod | Mapping[str, Mapping[str, Any]] = "set-two-phase",
    utility: Utility = None,
    reading: Reading | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
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
    return prepare(
        data, k=k, method=method, utility=utility, reading=reading, seed=seed, threads=threads, progress=progress
    ).verified()


def prepare(
    data: Any,
    *,
    k: int = 10,
    method: str | SetMethod | Mapping[str, Mapping[str, Any]] = "set-two-phase",
    utility: Utility = None,
    reading: Reading | None = None,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = silent,
) -> SetRelease:
    """The flow up to verification: what comes back must be saved, which verifies it, before it is released."""
    chosen = as_method(method)
    check_k(k)
    cores = count_threads(threads)
    drawn = _seed(chosen, seed)
    timings: dict[str, float] = {}
    with timed(timings, "read"):
        progress("read", 0, 1)
        records = read_records(data, reading, utility=utility)
        progress("read", 1, 1)
    source = Path(data) if isinstance(data, str | Path) else None
    return publish(records, chosen, k, seed=drawn, threads=cores, timings=timings, progress=progress, source=source)


def check_k(k: object) -> None:
    """Refuse what is no k."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 2:
        raise PolicyError(f"k must be a whole number of at least 2, not {k!r}.")


def publish(
    records: Records,
    method: SetMethod,
    k: int,
    *,
    seed: int,
    threads: int,
    timings: Mapping[str, float] | None = None,
    progress: Progress = silent,
    source: Path | None = None,
) -> SetRelease:
    """What a method makes of records, not yet verified.

    Parameters
    ----------
    timings
        Seconds of the stages before this one.
    source
        The file of the records, which nothing may be written over.
    """
    if records.count == 0:
        raise InputError("There are no records.")
    if records.count < k:
        raise InfeasibleError(
            f"These records cannot meet {method.model} with k = {k:,}: there are {records.count:,}; choose a smaller k."
        )
    taken = dict(timings or {})
    with timed(taken, "partition"):
        sizes, starts, items = _partition(method, records, k, seed, threads, progress)
    with timed(taken, "publish"):
        lengths = np.diff(starts)
        times = sizes if len(sizes) else np.ones(len(lengths), dtype=np.int64)
        worth = float((records.utility[items] * np.repeat(times, lengths)).sum())
        published = in_random_order(starts, items, sizes if len(sizes) else None, records.names, seed)
    metrics = measure_sets(records, published, worth, _different(starts, items, records.size))
    shown = None if isinstance(method, SetK1Method) else seed
    certificate = _certificate(method, records, metrics, k=k, seed=shown, timings=taken)
    told = Shown(starts, items, times, records.names)
    return SetRelease(published, metrics, certificate, sizes, records, told, k, threads, source)


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


def _partition(
    method: SetMethod, records: Records, k: int, seed: int, threads: int, progress: Progress
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
    """The sizes of the classes (none where records stand by themselves), and what each publishes."""
    from rothko.kernels.sets.records import count_uncovered, shared

    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress("partition", min(done, records.count), records.count)

    progress("partition", 0, records.count)
    if isinstance(method, SetK1Method):
        starts, items = method.publish(records, k, seed, threads=threads, progress=report)
        sizes, class_of = np.empty(0, dtype=np.int64), np.arange(records.count, dtype=np.int32)
    else:
        class_of = method.group(records, k, seed=seed, threads=threads, progress=report)
        sizes = np.bincount(class_of)
        bounds = np.concatenate(([0], np.cumsum(sizes)))
        starts, items = shared(np.argsort(class_of, kind="stable"), bounds, records.starts, records.items, records.size)
    wrong = count_uncovered(class_of.astype(np.int64), starts, items, records.starts, records.items)
    if wrong:
        raise VerificationError(
            f"Verification failed: {wrong:,} records would show items that they do not have; nothing was released. "
            "Please report this."
        )
    progress("partition", records.count, records.count)
    return sizes, starts, items


def _different(starts: NDArray[np.int64], items: NDArray[np.int32], size: int) -> int:
    """How many different sets there are."""
    from rothko.kernels.sets.records import hashes

    marks = np.random.default_rng(0).integers(1 << 63, size=(2, size), dtype=np.uint64)
    return len(np.unique(hashes(starts, items, *marks), axis=0))


def as_method(method: str | SetMethod | Mapping[str, Mapping[str, Any]]) -> SetMethod:
    """A method by its name, by its name with options, or as it is.

    >>> as_method({"set-mondrian": {"criterion": "entropy"}}).criterion
    'entropy'
    """
    if isinstance(method, SetMethod):
        return method
    asked = {method: {}} if isinstance(method, str) else dict(method)
    if len(asked) != 1:
        raise PolicyError("Give one method: its name, or {name: {option: value}}.")
    ((name, options),) = asked.items()
    if name not in SET_METHODS:
        raise PolicyError(f"There is no method {name!r} for sets; {nearest(name, SET_METHODS)}")
    known = [option.name for option in fields(SET_METHODS[name])]
    for option in options:
        if option not in known:
            raise PolicyError(f"{name} has no option {option!r}; {nearest(option, known)}")
    return SET_METHODS[name](**options)


def _certificate(
    method: SetMethod, records: Records, metrics: SetMetrics, *, k: int, seed: int | None, timings: Mapping[str, float]
) -> dict[str, Any]:
    return {
        "format": "rothko sets certificate 1",
        "verified": False,
        "true_to_original": False,
        "requirement": {"name": method.model, "asked": k, "achieved": None, "holds": None},
        "adversary": ADVERSARIES[method.model],
        "rows": records.count,
        "classes": metrics.classes,
        "metrics": metrics.to_dict(),
        "method": {"name": method.name} | {one.name: getattr(method, one.name) for one in fields(method)},
        "seed": seed,
        "notes": list(records.notes),
        "file": None,
        "file_sha256": None,
        "files": {},
        "versions": {name: version(name) for name in LIBRARIES},
        "seconds": {stage: round(taken, 4) for stage, taken in timings.items()},
    }

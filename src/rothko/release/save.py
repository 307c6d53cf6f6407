"""One way out for every release: place → stage → write → verify beside hash → certify → commit.

Releases differ in what they write and in the query that verifies it, and in nothing else. So a release gives
:func:`save` its place, which was looked at before any work, and one function, which writes to the files that it is
handed and says how these are verified and certified::

    def save(self, out, *, overwrite=False):
        place = out if isinstance(out, Place) else Place.of_file(Path(out), overwrite=overwrite)
        return save(place, self._write)

    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        [data] = out.files  # more, where the place has more
        with timed(out.timings, "write"):
            escaped = write_my_rows(data)
        return Unverified(
            verify=lambda: my_query(data),  # a Verification; raises VerificationError where the bytes fail
            certify=lambda checked: replace(self.certificate, verification=checked),
            escaped=escaped,
        )

A certificate is a :class:`rothko.release.certificate.Sealed`: it is told the names and hashes of what was written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from rothko.release.certificate import Seal, Sealed
from rothko.release.parts import MANIFEST
from rothko.release.place import Place
from rothko.release.staging import Staging
from rothko.release.verify import Verification
from rothko.release.write import Content, said_of

Certified = TypeVar("Certified", bound=Sealed)


class Saved(NamedTuple, Generic[Certified]):
    """Where a release was written, and the certificate of the written bytes."""

    data: Path
    certificate_path: Path
    recoding_path: Path | None
    certificate: Certified
    sensitive_path: Path | None = None
    """The second table, where the method releases two."""
    report_path: Path | None = None
    """The page of the report, where there is one."""
    report_failed: str | None = None
    """The kind of error, where there should be a report and it could not be made."""

    @property
    def recoding_files(self) -> tuple[Path, ...]:
        """All files of the recoding, the one that is loaded first; a large one has several."""
        if self.recoding_path is None:
            return ()
        return tuple(self.recoding_path.with_name(name) for name in self.certificate.recoding)


class Staged(NamedTuple):
    """A release on its way out, as its report is made of it."""

    data: Path
    certificate: Mapping[str, Any]
    memory: int | None = None
    """What may be taken to read it."""


@dataclass(slots=True)
class Outgoing:
    """The files of a release on their way out, handed to it to be written."""

    files: tuple[Path, ...]
    """Where to write, the data first."""
    timings: dict[str, float]
    """Seconds by stage, to add to."""
    _stage: Staging
    _recoding: Path | None
    _pool: ThreadPoolExecutor
    parts: int | None = None
    """How many bytes the files may have that the data is written to, where it is to be several."""
    _recoded: list[Future[dict[str, str]]] = field(default_factory=list)

    def recode(self, files: Callable[[Path], Mapping[Path, Content]]) -> None:
        """Write what the recoding consists of under a path, if it is asked for, beside whatever comes next."""
        if self._recoding is not None:
            self._recoded.append(self._pool.submit(self._write_hidden, files, self._recoding))

    def _write_hidden(self, files: Callable[[Path], Mapping[Path, Content]], path: Path) -> dict[str, str]:
        return {target.name: self._stage.write_hidden(target, content) for target, content in files(path).items()}

    def recoded(self) -> dict[str, str]:
        """The files of the recoding → their hashes, when they are written."""
        return {name: digest for one in self._recoded for name, digest in one.result().items()}


@dataclass(frozen=True, slots=True)
class Unverified(Generic[Certified]):
    """What was written, with what it takes to vouch for it."""

    verify: Callable[[], Verification]
    """The query on the written bytes; an error where they are not what they should be."""
    certify: Callable[[Verification], Certified]
    """The certificate of what was found, but for the files."""
    escaped: Collection[str] = ()
    """Columns of a text file with cells that were escaped."""
    hashes: Mapping[Path, str] = field(default_factory=dict)
    """Of folders, which are written in parts: the hash of the list of these."""
    memory: int | None = None
    """What may be taken to read it again."""
    shared: Sequence[str] = ()
    """Columns in which all records of a class show the same, where that is known."""


def save(place: Place, write: Callable[[Outgoing], Unverified[Certified]]) -> Saved[Certified]:
    """Write, verify and certify a release; nothing is in place before that, and nothing stays if any of it fails."""
    timings: dict[str, float] = {}
    with place.staging() as stage, ThreadPoolExecutor(2) as pool:
        files = tuple(stage.place_for(target) for target in place.tables)
        out = Outgoing(files, timings, stage, place.recoding, pool, place.parts)
        written = write(out)
        with timed(timings, "write"):
            stage.settle(files, written.shared)
        with timed(timings, "verify"):
            # Of several files, the list of their hashes.
            lists = {file: file if place.parts is None else file / MANIFEST for file in files}
            hashed = {file: pool.submit(stage.digest, lists[file]) for file in files if file not in written.hashes}
            checked = written.verify()
        recoded = out.recoded()
        found = dict(written.hashes) | {file: one.result() for file, one in hashed.items()}
        hashes = {target.name: found[file] for target, file in zip(place.tables, files, strict=True)}
        seal = Seal(hashes, recoded, said_of(written.escaped), timings)
        certificate = written.certify(checked).sealed(seal)
        stage.write(place.certificate, certificate.to_json())
        failed = _report(place, stage, Staged(files[0], certificate.to_dict(), written.memory))
        stage.commit()
    return Saved(
        place.data, place.certificate, place.recoding if recoded else None, certificate,
        place.tables[1] if len(place.tables) > 1 else None,
        None if place.report is None or failed else place.report.page, failed,
    )  # fmt: skip


def _report(place: Place, stage: Staging, staged: Staged) -> str | None:
    """Write the report, where there is to be one; the kind of error where it cannot be made.

    A release that is verified does not fail for that: the report is made of its files, now or at any time after.
    """
    if place.report is None:
        return None
    try:
        told = place.report.make(staged)
    except Exception as error:
        return type(error).__name__
    stage.write(place.report.page, told.html)
    stage.write(place.report.pictures, told.json)
    return None


@contextmanager
def timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time that something takes to a stage."""
    begun = time.perf_counter()
    yield
    timings[stage] = timings.get(stage, 0.0) + time.perf_counter() - begun

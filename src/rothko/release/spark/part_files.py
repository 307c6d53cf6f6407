"""The files of a release of a table that tasks write, and what is known of all of them together."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from rothko.data.source.source import Source
from rothko.data.source.spark_errors import understood
from rothko.data.survey.coded import Outline
from rothko.engines.growing import Tables
from rothko.engines.spark.cluster import as_message, read_message
from rothko.engines.spark.records import Records
from rothko.methods.classes import Cuts
from rothko.policy.policy import Policy
from rothko.release.measured import Meter, NewMeter
from rothko.release.parts import PartFile, write_manifest, write_part
from rothko.release.stored import Written
from rothko.release.stream import Branch, Sink, Stream
from rothko.release.verify import Fingerprint


@dataclass(frozen=True, slots=True)
class File:
    """What a task has written."""

    written: Written
    part: PartFile


@dataclass(frozen=True, slots=True)
class Joined:
    """What all tasks have made, in short."""

    written: Written
    """As of the first, with the fingerprint of all."""
    measured: Any
    manifest: str
    """The hash of the list of files."""
    notes: tuple[str, ...] = ()


def stream_of(
    policy: Policy, outline: Outline, names: tuple[str, ...], spill: Tables, meter: NewMeter, seed: int
) -> Stream:
    """What the sink of a task must know, given the columns of the source."""
    return Stream(
        parts=(), top=_no_top, policy=policy, outline=outline, source=_source(names), certify=_no_certificate,
        spill=spill, meter=meter, seed=seed,
    )  # fmt: skip


def write_file(
    stream: Stream, folder: Path, name: str, put: Callable[[Sink], None], branch: Branch
) -> tuple[File, Meter]:
    """Write a file; what was written, and what has measured it."""

    def write(path: Path) -> tuple[Written, Meter]:
        with Sink(stream, path, branch, private=False) as sink:
            put(sink)
            return sink.finish(), sink.meter

    part, (written, meter) = write_part(folder, name, write)
    return File(written, part), meter


def _no_top() -> Cuts:
    raise AssertionError("a part has no top")


def _no_certificate(*_: Any) -> Any:
    raise AssertionError("a part has no certificate")


def _source(names: tuple[str, ...]) -> Source:
    """A table of some columns that is not read."""
    return Source("", names, None, lambda *_: pa.table({}))


def joined_by(records: Records, jobs: Callable[[], Any]) -> Joined:
    """What a last task has joined, given the jobs up to it; the records are given up, whatever comes of them."""
    cluster = records.cluster
    with closing(records):
        with understood():
            frame = jobs()
        [row] = cluster.collect(frame)["found"].to_pylist()
    cluster.collected.jobs += 1
    return read_message(row)  # type: ignore[no-any-return]


class Files:
    """All files, in the order of their numbers."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._first: Written | None = None
        self._total, self._escaped, self._parts = Fingerprint(), set[str](), list[PartFile]()

    @property
    def rows(self) -> int:
        """How many they have together."""
        return self._total.rows

    def add(self, number: int, file: File) -> None:
        """Take note of one."""
        self.numbers.append(number)
        self._first = self._first or file.written
        self._total += file.written.meant.fingerprint
        self._escaped |= file.written.escaped
        self._parts.append(file.part)

    def joined(self, folder: Path, measured: Any, notes: tuple[str, ...] = ()) -> pa.RecordBatch:
        """Write their list, and say in short what they are."""
        assert self._first is not None
        assert self.numbers == sorted(set(self.numbers)), "two tasks have made the same"
        manifest = write_manifest(folder, self._parts)
        meant = replace(self._first.meant, fingerprint=self._total, rows=self._total.rows)
        written = replace(self._first, meant=meant, escaped=frozenset(self._escaped))
        found = Joined(written, measured, manifest, notes)
        return pa.record_batch({"found": pa.array([as_message(found)], pa.binary())})

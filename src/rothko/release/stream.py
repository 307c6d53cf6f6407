"""The release of a table that is never whole in memory: part by part into one file, then verified as any other.

A part is what one leaf of the top of the tree became. Its rows are appended to the file as soon as it is there; what it
lost adds up to what the release lost; its branch of the tree goes to disk (:mod:`rothko.release.recoding.branches`).
The rows of a part stand together, in an order that depends on what they show and the seed; the parts come in an order
that the driver fixes by the cuts. So the order of the input has no influence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.source.formats import in_cells, is_text
from rothko.data.source.guess import Guess
from rothko.data.source.source import Source
from rothko.data.survey.coded import Outline
from rothko.engines.growing import Tables
from rothko.engines.part import AnyPart, LargeClass, RecodedTable
from rothko.errors import PolicyError
from rothko.methods.classes import Classes, Cuts, TreeClasses
from rothko.mistakes import said
from rothko.policy.policy import Policy
from rothko.release.certificate import Certificate
from rothko.release.coverage import Values, check_coverage
from rothko.release.formats.table import refuse_kinds
from rothko.release.large_class import Shuffle, Sums, add_up, publish_class
from rothko.release.loss import Loss
from rothko.release.meant import Meant
from rothko.release.measured import NewMeter
from rothko.release.names import RECODING
from rothko.release.people import Growing
from rothko.release.place import Place, place_of
from rothko.release.publish import Published, publish
from rothko.release.recoder import Recoder
from rothko.release.recoding.branches import Branches
from rothko.release.rows import Rows, assemble, columns_of, random_order
from rothko.release.save import Outgoing, Saved, Unverified, save, timed
from rothko.release.sql import Limits
from rothko.release.stored import StoredRelease, Written, rewrite
from rothko.release.truth import Told, ToldHashes
from rothko.release.verify import Fingerprint, Verification
from rothko.release.write import Content, RowsFile, write_content

Branch = Callable[[int, Cuts, Mapping[str, Sequence[Published]]], None]
RecodingFiles = Callable[[Path], dict[Path, Content]]
"""Where the recoding goes → path and content of each of its files; asked for once."""
Certify = Callable[[Verification, Loss], Certificate]
"""Makes the certificate of what was verified and lost; called when all parts are there."""


def published_classes(
    encoded: Encoded, partition: Classes, kept: pa.Table, policy: Policy, *, threads: int
) -> tuple[dict[str, tuple[Published, ...]], NDArray[np.int32]]:
    """What some classes publish, and the class of each record."""
    published = publish(encoded, partition, policy.publish, workload=policy.workload, threads=threads)
    no_clash(published, kept)
    return published, partition.class_of()


def released_rows(
    published: Mapping[str, Sequence[Published]],
    classes: NDArray[np.int32],
    kept: pa.Table,
    names: Sequence[str],
    policy: Policy,
    *,
    seed: int,
    threads: int,
) -> Rows:
    """The rows of some classes as they leave."""
    order = None
    if policy.order == "random":
        shown = [column for columns in published.values() for column in columns]
        order = random_order(kept, seed, shown=shown, classes=classes, threads=threads)
    return assemble(names, published, kept, classes, order, threads=threads)


@dataclass(frozen=True, slots=True)
class Stream:
    """A release that comes part by part. It can be taken once: saved where it was asked for, or stored to be asked."""

    parts: Iterable[AnyPart]
    """Taken one at a time; each is given up before the next is asked for."""
    top: Callable[[], Cuts | None]
    """The top of the tree, asked for when all parts are there; None where no recoding is behind the classes."""
    policy: Policy
    outline: Outline
    source: Source
    certify: Certify
    spill: Tables
    """A private folder for what does not fit in memory."""
    meter: NewMeter
    seed: int = 0
    threads: int = 1
    memory: int | None = None
    """The most bytes for what is counted by SQL."""

    def save(
        self,
        out: str | Path | Place,
        *,
        recoding: str | Path | bool = True,
        overwrite: bool = False,
        certificate: str | Path | None = None,
    ) -> Saved[Certificate]:
        """Write, verify and certify it; see :meth:`rothko.release.release.TableRelease.save`.

        Nothing stays if anything fails, a part as well.
        """
        recoding = recoding if self.policy.method.recodes else False
        place = place_of(
            out, self.source.path, self.policy, recoding=recoding, overwrite=overwrite, certificate=certificate
        )
        with self._taken():
            saved = save(place, self._write)
        self.spill.close()  # now, and not when the last that knows of it is collected
        return saved

    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        [data] = out.files
        # Columns that are text in the source get types in a file that has them; which, all parts together tell.
        typing = self.source.text and not is_text(data)
        refuse_kinds(self._kept(), data)
        untyped = self.spill.folder / "untyped.parquet"
        parts = out.parts
        written, recoding = self._put(
            untyped if typing else data, out.timings, private=typing, parts=None if typing else parts
        )
        with timed(out.timings, "write"):
            if typing:
                escape = self.policy.csv.escape_formulas
                written = rewrite(untyped, data, written, typed=True, limits=self.limits, escape=escape, parts=parts)
                untyped.unlink()
            if recoding is not None:
                out.recode(recoding)
                out.recoded()
        return Unverified(
            lambda: written.meant.verified(data, self.policy, self.limits),
            lambda checked: self.certify(checked, written.loss),
            written.escaped,
            memory=self.limits.memory,
            shared=written.meant.shared,
        )

    def store(self) -> StoredRelease:
        """Write and verify everything in the private folder, which the release then holds."""
        timings: dict[str, float] = {}
        data, recoding = self.spill.folder / "release.parquet", self.spill.folder / RECODING
        with self._taken():
            refuse_kinds(self._kept(), data, private=True)
            written, behind = self._put(data, timings, private=True)
            with timed(timings, "write"):
                for path, content in ({} if behind is None else behind(recoding)).items():
                    write_content(content, path)
            with timed(timings, "verify"):
                checked = written.meant.verified(data, self.policy, self.limits)
            certificate = self.certify(checked, written.loss)
            certificate = replace(certificate, timings=certificate.timings | timings)
        where = None if behind is None else recoding
        return StoredRelease(certificate, where, data, self.source, self.spill, written, self.limits)

    @property
    def limits(self) -> Limits:
        """What SQL may take."""
        return Limits(self.threads, self.memory, self.spill.folder)

    def _kept(self) -> pa.Schema:
        """The columns that are released as they are, with their types; a text file has none."""
        names = [name for name in self.source.names if name in self.policy.sensitive + self.policy.kept]
        first = self.source.peek(names, rows=1) if names else None
        return pa.schema([]) if first is None else first.schema

    @contextmanager
    def _taken(self) -> Iterator[None]:
        """Remove the private folder at once where anything fails: an error that is kept would keep it, too."""
        try:
            yield
        except BaseException:
            self.spill.close()
            raise

    def _put(
        self, path: Path, timings: dict[str, float], *, private: bool, parts: int | None = None
    ) -> tuple[Written, RecodingFiles | None]:
        """Put every part into a file, or into files of about so many bytes; and what the recoding consists of."""
        branches = Branches(self.outline.lines, self.policy, self.spill)
        with Sink(self, path, branches.add, private=private, parts=parts) as sink:
            coming = iter(self.parts)
            while True:
                with timed(timings, "partition"):
                    part = next(coming, None)
                if part is None:
                    break
                sink.add(part)
                del part  # it must not be in memory while the next is made
            written = sink.finish()
        timings |= sink.timings
        if sink.recoder is not None:
            return written, sink.recoder.files
        top = self.top()
        return written, None if top is None else partial(branches.files, top=top)


class Sink:
    """The file that the parts of a stream go to; its format follows from the ending of its name.

    Parameters
    ----------
    branch
        Takes the branch that hangs from a leaf of the top, and what its classes publish, where there is a recoding.
    private
        The file does not leave, and has no types yet for kept columns of a text file: they are found out.
    parts
        Make it a folder of files of about so many bytes.
    """

    def __init__(self, stream: Stream, path: Path, branch: Branch, *, private: bool, parts: int | None = None) -> None:
        policy = stream.policy
        if policy.order == "keep":
            raise PolicyError(
                "order: keep needs the engine memory: a larger table leaves part by part; remove it, or raise "
                f"{said('--memory')}."
            )
        self.timings: dict[str, float] = {}
        """Seconds spent on ``publish``, ``write``, ``verify`` and ``measure``."""
        self.recoder: Recoder | None = None
        """Of a table whose columns are recoded by themselves, when it is there."""
        self._of, self._branch = stream, branch
        self._file = RowsFile(
            path, escape=policy.csv.escape_formulas, private=private, threads=stream.threads, parts=parts,
            labels=stream.source.labels,
        )  # fmt: skip
        self.meter = stream.meter(
            policy, stream.outline, stream.spill, threads=stream.threads, memory=stream.memory
        )  # fmt: skip
        self._first: Rows | None = None
        """Some of the rows: their columns are those of all parts."""
        self._told: Told | None = None
        self._fingerprint = Fingerprint()
        self._people = None if policy.owner is None else Growing(stream.spill, policy)
        self._open = ExitStack()
        self._sql = self._open.enter_context(stream.limits.connect())
        self._beside = self._open.enter_context(ThreadPoolExecutor(1))
        self._typing = private and stream.source.text
        self._types: dict[str, Guess] = {}

    def add(self, part: AnyPart) -> None:
        """Publish a part, and append its rows to the file."""
        if isinstance(part, LargeClass):
            self.add_class(part)
            return
        if isinstance(part, RecodedTable):
            self.add_recoded(part)
            return
        of, partition = self._of, part.partition
        with timed(self.timings, "publish"):
            published, classes = published_classes(part.encoded, partition, part.kept, of.policy, threads=of.threads)
        self.add_rows(part.encoded, part.kept, published, classes)
        with timed(self.timings, "measure"):
            self.meter.add(part.encoded, partition, classes, published)
            if isinstance(partition, TreeClasses):
                self._branch(part.leaf, partition.cuts, published)

    def add_rows(
        self,
        encoded: Encoded,
        kept: pa.Table,
        published: Mapping[str, Sequence[Published]],
        classes: NDArray[np.int32],
        *,
        covered: bool = False,
    ) -> None:
        """Append the rows of some records to the file; neither what they lose nor a branch of theirs is taken note of.

        Parameters
        ----------
        covered
            Numbers that their classes publish are about other records, too, and known to hold: labels are looked at.
        """
        of = self._of
        with timed(self.timings, "publish"):
            rows = released_rows(published, classes, kept, of.source.names, of.policy, seed=of.seed, threads=of.threads)
        # Beside the writing, which leaves a core free; what is not done by then is waited for.
        noted = self._beside.submit(self._note_truth, published, kept, classes, encoded, covered=covered)
        with timed(self.timings, "write"):
            self._append(rows)
        with timed(self.timings, "verify"):
            noted.result()

    def add_class(self, part: LargeClass, known: Sums | None = None) -> None:
        """Publish a class that does not fit in memory, and append its rows to the file some at a time.

        Parameters
        ----------
        known
            What is known of the whole class, where these are some of its records, and others are elsewhere.
        """
        of = self._of
        shuffle = Shuffle(of.spill, part.rows, part.at_once, seed=of.seed, threads=of.threads)
        with timed(self.timings, "publish"):
            added = add_up(part, of.policy, shuffle)
            found = known or added
            published = publish_class(part, found, of.policy)
        with timed(self.timings, "write"):
            for kept, order, count in shuffle.pieces():
                no_clash(published, kept)
                classes = np.zeros(count, dtype=np.int32)
                self._append(assemble(of.source.names, published, kept, classes, order, threads=of.threads))
        with timed(self.timings, "verify"):
            for coded in part.batches():
                classes = np.zeros(coded.rows, dtype=np.int32)
                self._note_truth(published, coded.kept, classes, part.outline.encoded(coded))
        with timed(self.timings, "measure"):
            (self.meter.add_class if known is None else self.meter.add_piece)(part, found, published)
            if of.policy.method.recodes:
                _, partition = found.box_of(part, part.outline.nobody())
                self._branch(part.leaf, partition.cuts, published)

    def add_recoded(self, part: RecodedTable) -> None:
        """Publish all records of a table whose columns are recoded by themselves, some at a time."""
        of = self._of
        with timed(self.timings, "publish"):
            recoder = Recoder(part, of.policy, of.spill, seed=of.seed, threads=of.threads)
        for coded in part.batches():
            with timed(self.timings, "publish"):
                encoded, published, classes = recoder.take(coded)
                no_clash(published, coded.kept)
            with timed(self.timings, "verify"):
                self._note_truth(published, coded.kept, classes, encoded, covered=True)
        with timed(self.timings, "write"):
            for published, kept, classes, order in recoder.pieces():
                self._append(assemble(of.source.names, published, kept, classes, order, threads=of.threads))
        with timed(self.timings, "measure"):
            recoder.measure(self.meter)
        self.recoder = recoder

    def _append(self, rows: Rows) -> None:
        self._first = self._first or rows.of_nobody()
        self._file.write(rows)
        if self._typing:
            self._note_types(rows.kept)

    def _note_truth(
        self,
        published: Mapping[str, Sequence[Published]],
        kept: pa.Table,
        classes: NDArray[np.int32],
        encoded: Encoded,
        *,
        covered: bool = False,
    ) -> None:
        """Take note of what the rows of some records must be, and refuse classes that do not cover them."""
        told = Told.of(self._of.source.names, published, kept, classes)
        values = {line.name: Values.at(line, codes) for line, codes in zip(encoded.lines, encoded.codes, strict=True)}
        looked_at = labels_alone(published) if covered else published
        check_coverage(values, classes, encoded.lines, looked_at, connection=self._sql)
        self._fingerprint += ToldHashes(told, in_cells(self._file.path)).expected(self._sql)
        self._told = self._told or told.of_nobody()
        if self._people is not None:
            assert encoded.owner is not None
            self._people.add(encoded.owner.codes, published, kept, classes)

    def _note_types(self, kept: pa.Table) -> None:
        """What the texts of a kept column are so far: a type that all of them have."""
        for name, column in columns_of(kept):
            words = column.chunk(0).dictionary if pa.types.is_dictionary(column.type) else column
            if pa.types.is_string(words.type):
                whole = words if isinstance(words, pa.ChunkedArray) else pa.chunked_array([words])
                self._types.setdefault(name, Guess()).look(whole)

    def finish(self) -> Written:
        """Close the file; all parts are there."""
        with timed(self.timings, "write"):
            self._file.close()
        with timed(self.timings, "measure"):
            lost = self.meter.finish()
        found = {name: guess.kind for name, guess in self._types.items()}
        types = {name: kind for name, kind in found.items() if kind is not None and not pa.types.is_string(kind)}
        self._open.close()
        first, told = self._first, self._told
        assert first is not None
        assert told is not None
        meant = Meant(
            self._fingerprint.rows, tuple(first.columns), told, self._fingerprint, first.published_names, first.schema,
            people=None if self._people is None else self._people.people(),
        )  # fmt: skip
        kinds = dict(zip(first.kept.column_names, first.kept.schema.types, strict=True))
        return Written(meant, lost, types, kinds, frozenset(self._file.escaped))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._file.close()


def labels_alone(published: Mapping[str, Sequence[Published]]) -> dict[str, list[Published]]:
    """What is published as text."""
    return {
        name: [column for column in columns if pa.types.is_string(column.values.type)]
        for name, columns in published.items()
    }


def no_clash(published: Mapping[str, Sequence[Published]], kept: pa.Table) -> None:
    """Refuse to publish two columns under one name: age_min beside a column that is called so already."""
    names = [column.name for shown in published.values() for column in shown] + kept.column_names
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PolicyError(
            f"The release would have two columns {twice!r}: bounds and means of a class are called so, "
            "and there is a column of that name already; rename it."
        )

"""What is spilled: the records of parts, and tables that grow.

A file is a row of Arrow record batches as messages, without a schema (:mod:`rothko.engines.packing`). Nothing is
compressed: on Agrawal's data LZ4 took 15% off the size, and made writing 8 times and reading twice as slow.

Records are brought to their parts as in a radix sort. A piece of a batch that fits in the cache is put in the order of
its parts, and held until the buffers are full; then the slices of each part are joined and written, one part after the
other. So there are about parts × (bytes ÷ memory + 1) writes, however unevenly the records are spread.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline
from rothko.engines.kept import Stored
from rothko.engines.packing import Packed, Packing, by_part, record_bytes

CHUNK = 1 << 20
"""Bytes that are sorted, written or read at a time: within a core's cache, and sequential for any disk."""
SLICE = 1 << 13
"""Bytes of each part in a sorted piece, if memory allows: with less, handling slices outweighs copying them."""


class Folder(Protocol):
    """Where files go: :class:`rothko.engines.disk.spill.Spill`."""

    def place(self) -> Path:
        """A name for one more file."""
        ...

    def count(self, *, read: int = 0, written: int = 0) -> None:
        """Add to the bytes read and written."""
        ...

    def explained(self) -> AbstractContextManager[None]:
        """Turn what the file system says into an error with what to do."""
        ...


class Writer:
    """Distributes records over parts, each to a file of its own; made by a spill."""

    def __init__(self, spill: Folder, outline: Outline, parts: int, memory: int) -> None:
        self.buffered = 0
        """Bytes that are held in memory, not yet written."""
        self._spill = spill
        self._outline = outline
        self._parts = parts
        self._packing = Packing(outline, pa.schema([]))
        self._width = record_bytes(outline)
        # Beside what is held there are a piece before it is sorted, slices when they are joined, and their message.
        self._piece = max(min(max(CHUNK, SLICE * parts), memory // 8), 1)
        self._room = memory - 3 * self._piece
        self._held: list[_Piece] = []
        self._spilled: list[Spilled] = []

    def write(self, part_of: NDArray[np.int32], coded: Coded) -> None:
        """Take over records, each for its part (−1: for none), after all that the part has already."""
        if not self._spilled:
            self._packing = Packing(self._outline, coded.kept.schema)
            self._spilled = self._files()
        size = self._width + coded.kept.nbytes // max(coded.rows, 1)
        step = max(self._piece // max(size, 1), 1)
        for begin in range(0, coded.rows, step):
            self._hold(part_of[begin : begin + step], self._packing.pack(coded.slice(begin, step)))

    def close(self) -> list[Spilled]:
        """Write what is still held; the records of each part."""
        self._flush()
        return self._spilled or self._files()

    def _files(self) -> list[Spilled]:
        return [Spilled(self._spill, self._packing) for _ in range(self._parts)]

    def _hold(self, part_of: NDArray[np.int32], packed: Packed) -> None:
        """Put records in the order of their parts, and hold them until they are written."""
        if self._bytes(packed) > self._piece and packed.rows > 1:  # some texts are much longer than others
            half = packed.rows // 2
            self._hold(part_of[:half], packed.slice(0, half))
            self._hold(part_of[half:], packed.slice(half))
            return
        some, begins = by_part(packed, part_of, self._parts)
        size = self._bytes(some) + begins.nbytes
        if self.buffered + size > self._room:
            self._flush()
        self._held.append(_Piece(some, begins))
        self.buffered += size
        if self.buffered > self._room:  # a single record may need more than there is
            self._flush()

    def _bytes(self, packed: Packed) -> int:
        return packed.rows * self._width + (0 if packed.kept is None else int(packed.kept.nbytes))

    def _flush(self) -> None:
        """Write everything that is held, one part after the other."""
        if self._held:
            begins = np.stack([piece.begins for piece in self._held], axis=1)
            width = self.buffered / max(int(begins[-1].sum()), 1)
            for part, spilled in enumerate(self._spilled):
                slices: list[tuple[_Piece, int, int]] = []
                rows = 0
                for piece, begin, end in zip(self._held, begins[part].tolist(), begins[part + 1].tolist(), strict=True):
                    if slices and (rows + end - begin) * width > self._piece:
                        _write_slices(spilled, slices)
                        slices, rows = [], 0
                    if end > begin:
                        slices.append((piece, begin, end - begin))
                        rows += end - begin
                if slices:
                    _write_slices(spilled, slices)
        self._held.clear()
        self.buffered = 0


@dataclass(frozen=True, slots=True)
class _Piece:
    """Some records in the order of their parts."""

    packed: Packed
    begins: NDArray[np.int32]
    """Where each part begins, and the last one ends."""


def _write_slices(spilled: Spilled, slices: Sequence[tuple[_Piece, int, int]]) -> None:
    some = [piece.packed.slice(begin, rows) for piece, begin, rows in slices]
    kept = [one.kept for one in some if one.kept is not None]
    spilled.append(Packed(_joined([one.codes for one in some]), _joined(kept) if kept else None))


class Spilled:
    """The records of one part on disk, as :class:`rothko.data.survey.coded.Records`."""

    def __init__(self, spill: Folder, packing: Packing) -> None:
        self.rows = 0
        """Number of records."""
        self._file = _File(spill)
        self._blocks: list[tuple[int, int]] = []
        """Records and bytes of each write."""
        self._packing = packing

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return self._file.bytes

    def batches(self, size: int = CHUNK) -> Iterator[Coded]:
        """One pass over the records, about a megabyte of the file at a time, or so many bytes."""
        messages = self._file.messages()
        for blocks in _grouped(self._blocks, size):
            yield self._decode(blocks, messages, self._packing.kept)

    def codes(self, size: int = CHUNK) -> Iterator[Coded]:
        """The same without the columns that are kept, which are not read."""
        messages = self._file.messages(1 if self._packing.kept is None else 2)
        for blocks in _grouped(self._blocks, size):
            yield self._decode(blocks, messages, None)

    def load(self) -> Coded:
        """All records at once."""
        return self._decode([rows for rows, _ in self._blocks], self._file.messages(), self._packing.kept)

    def remove(self) -> None:
        """Delete the file; the records are gone."""
        self._file.remove()

    def append(self, packed: Packed) -> None:
        """Write some more records."""
        size = sum(self._file.append(batch) for batch in packed if batch is not None)
        self._blocks.append((packed.rows, size))
        self.rows += packed.rows

    def _decode(self, blocks: Sequence[int], messages: Iterator[pa.Buffer], kept: pa.Schema | None) -> Coded:
        def packed() -> Iterator[Packed]:
            for _ in blocks:
                codes = pa.ipc.read_record_batch(next(messages), self._packing.codes)
                yield Packed(codes, None if kept is None else pa.ipc.read_record_batch(next(messages), kept))

        return self._packing.unpack(sum(blocks), packed())


class TableFile:
    """A table on disk that grows at its end; made by a spill."""

    def __init__(self, spill: Folder, schema: pa.Schema, most: int) -> None:
        self.rows = 0
        """Number of rows."""
        self._file = _File(spill)
        self._most = most
        self._stored = Stored(schema)
        self._held: list[pa.RecordBatch] = []
        self._buffered = 0
        self._blocks: list[tuple[int, int]] = []

    @property
    def bytes(self) -> int:
        """Bytes on disk."""
        return self._file.bytes

    def write(self, table: pa.Table) -> None:
        """Append some rows; they are written once as many are held as may be, or when they are read."""
        if table.num_rows:
            self._held.append(self._stored.store(table))
            self._buffered += self._held[-1].nbytes
            self.rows += table.num_rows
            if self._buffered >= self._most:
                self._flush()

    def batches(self) -> Iterator[pa.Table]:
        """One pass over the rows, about a megabyte of the file at a time."""
        self._flush()
        messages = self._file.messages()
        for blocks in _grouped(self._blocks):
            yield self._stored.restore([pa.ipc.read_record_batch(next(messages), self._stored.stored) for _ in blocks])

    def remove(self) -> None:
        """Delete the file; the rows are gone."""
        self._file.remove()

    def _flush(self) -> None:
        if self._held:
            batch = _joined(self._held)
            self._blocks.append((batch.num_rows, self._file.append(batch)))
            self._held.clear()
            self._buffered = 0


def _joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    (batch,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return batch


def _grouped(blocks: Sequence[tuple[int, int]], most: int = CHUNK) -> Iterator[list[int]]:
    """The rows of blocks that are read together."""
    group: list[int] = []
    size = 0
    for rows, more in blocks:
        if group and size + more > most:
            yield group
            group, size = [], 0
        group.append(rows)
        size += more
    if group:
        yield group


class _File:
    """Messages in a private file. It is open only while it is used: there may be more parts than open files."""

    def __init__(self, spill: Folder) -> None:
        self.bytes = 0
        self._spill = spill
        self._path = spill.place()
        self._sizes: list[int] = []

    def append(self, batch: pa.RecordBatch) -> int:
        """Write a batch; the bytes that it takes."""
        message = batch.serialize()
        left = memoryview(message)
        with self._spill.explained(), FileIO(self._path, "a", opener=_private) as file:
            while left:
                done = file.write(left)
                self._spill.count(written=done)
                left = left[done:]
        self._sizes.append(message.size)
        self.bytes += message.size
        return int(message.size)

    def messages(self, one_in: int = 1) -> Iterator[pa.Buffer]:
        """The first of so many messages each, and no other is read; all of them by default."""
        if not self._sizes:
            return
        with self._spill.explained():
            file = FileIO(self._path)
        with file:
            for i, size in enumerate(list(self._sizes)):
                if i % one_in:
                    with self._spill.explained():
                        file.seek(size, os.SEEK_CUR)
                    continue
                message = pa.allocate_buffer(size)
                left = memoryview(message)
                with self._spill.explained():
                    while left:
                        done = file.readinto(left)
                        if not done:
                            raise OSError(errno.EIO, "the file is shorter than it was written")
                        left = left[done:]
                self._spill.count(read=size)
                yield message

    def remove(self) -> None:
        with self._spill.explained():
            self._path.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)

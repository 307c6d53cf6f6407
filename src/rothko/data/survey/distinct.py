"""The distinct values of a column and how many records have each, collected a batch at a time.

Values are collected as the source stores them: what they are, which stand for a missing one and in which order they
come is worked out once for each distinct value, when all have been seen (:func:`rothko.data.typed.typed_column`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import from_whole_numbers, one_chunk, whole_numbers

LEAST_PENDING = 1 << 16
"""How many values are collected at least before they are merged with those that are known."""
COUNT_BYTES = 16
"""What a distinct value takes beside its own bytes: its count, and its entry in the lookup of later passes."""


def as_stored(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece, in one of few types, which can be counted: text of any kind is a string."""
    array = one_chunk(column)
    kind = array.type
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return array.cast(pa.string())
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return array.cast(pa.decimal128(kind.precision, kind.scale))
    return array


def is_whole(kind: pa.DataType) -> bool:
    """Whether the values are whole numbers that a table can count."""
    integer = pa.types.is_integer(kind) and not pa.types.is_uint64(kind)
    return bool(integer or pa.types.is_boolean(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def stored_numbers(array: pa.Array) -> NDArray[np.integer]:
    """Whole numbers as they lie in memory, in as few bytes as they are stored in; anything where there is none."""
    integer = pa.types.is_integer(array.type) or pa.types.is_date32(array.type)
    if array.null_count or not integer:
        return whole_numbers(array)
    return np.asarray((array if pa.types.is_integer(array.type) else array.view(pa.int32())).to_numpy())


def presence(array: pa.Array) -> NDArray[np.bool_]:
    """Which values are there; empty where all are."""
    if array.null_count == 0:
        return np.empty(0, dtype=np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


class Distinct:
    """What a column holds, as far as it was gone through.

    Whole numbers of a narrow range are counted in a table of the range, all others by hashing the values of a batch and
    merging these now and then.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        """The most bytes that the distinct values may take."""
        self.full = False
        """Whether there are more of them; they are then forgotten."""
        self.nulls = 0
        self._values: pa.Array | None = None
        self._counts = np.empty(0, dtype=np.int64)
        self._pending: list[tuple[pa.Array, NDArray[np.int64]]] = []
        self._waiting = 0
        self._table: NDArray[np.int64] | None = np.empty(0, dtype=np.int64)
        self._low = 0
        self._range: tuple[int, int] | None = None  # the smallest and the largest number that was counted there
        self._kind: pa.DataType | None = None

    def add(self, column: pa.ChunkedArray) -> None:
        """Take in more records."""
        array = as_stored(column)
        if self.full:
            return
        self.nulls += array.null_count
        if self._table is not None and is_whole(array.type):
            self._kind = array.type
            if self._count_in_table(array):
                return
        self._count_by_hashing(array)

    def take_in(self, other: Distinct) -> None:
        """Add what was found in other records, all of which have been taken in there."""
        self._drop_table()
        self.nulls += other.nulls
        if self.full or other.full:
            self.give_up()
        else:
            self._wait(other.values, other.counts)

    @property
    def bytes(self) -> int:
        """What the values take that are known: those of all records once they are merged, however they came."""
        if self._table is not None:
            return 0 if self._range is None else COUNT_BYTES * (self._range[1] - self._range[0] + 1)
        return 0 if self._values is None else _held_bytes(self._values)

    @property
    def most_bytes(self) -> int:
        """What the values take at most, those counted twice that are known and come again."""
        return self.bytes + sum(_held_bytes(values) for values, _ in self._pending)

    def give_up(self) -> None:
        """Forget the values, for they are too many."""
        self.full = True
        self._table, self._pending, self._waiting = None, [], 0
        self._values, self._counts = None if self._values is None else self._values[:0], self._counts[:0]

    def finish(self) -> None:
        """Work out the distinct values, once all records have been taken in."""
        self._drop_table()
        self.merge()

    @property
    def values(self) -> pa.Array:
        """The distinct values, none of them null."""
        assert self._values is not None
        return self._values

    @property
    def counts(self) -> NDArray[np.int64]:
        """How many records have each."""
        return self._counts

    def _count_in_table(self, array: pa.Array) -> bool:
        from rothko.kernels.lookup import count_values

        numbers, present = stored_numbers(array), presence(array)
        held = numbers[present] if present.size else numbers
        if held.size == 0:
            return True
        if not self._reach(int(held.min()), int(held.max())):
            self._drop_table()
            return False
        count_values(numbers, present, self._low, self._table)
        return True

    def _reach(self, low: int, high: int) -> bool:
        """Make the table cover a range; False where it would be too long."""
        assert self._table is not None
        known = self._range or (low, high)
        first, last = min(low, known[0]), max(high, known[1])
        longest = max(self.limit // 16, LEAST_PENDING)
        if last - first >= longest:
            return False
        if self._range is None or first < self._low or last >= self._low + len(self._table):
            # Half as much again where it grows, so that numbers that rise all along do not copy it for every batch.
            room = min(len(self._table) // 2, longest - (last - first + 1))
            begin = max(first - (room if first < known[0] else 0), -(2**63))
            table = np.zeros(last + (room if last > known[1] else 0) - begin + 1, dtype=np.int64)
            if self._range is not None:
                held = self._table[known[0] - self._low : known[1] - self._low + 1]
                table[known[0] - begin : known[0] - begin + len(held)] = held
            self._table, self._low = table, begin
        self._range = first, last
        return True

    def _drop_table(self) -> None:
        """Go on by hashing, with what the table has counted."""
        if self._table is not None and self._kind is not None:
            places = np.flatnonzero(self._table)
            self._wait(from_whole_numbers(places + self._low, self._kind), self._table[places])
        self._table = None

    def _count_by_hashing(self, array: pa.Array) -> None:
        self._table = None
        if pa.types.is_dictionary(array.type):
            used = np.bincount(array.indices.drop_null().to_numpy(), minlength=len(array.dictionary))
            places = np.flatnonzero(used)
            values, counts = as_stored(array.dictionary.take(pa.array(places))), used[places]
        else:
            found = pc.value_counts(array)
            values, counts = found.field(0), found.field(1).to_numpy()
        if values.null_count:
            there = values.is_valid()
            self.nulls += int(counts[~presence(values)].sum()) if pa.types.is_dictionary(array.type) else 0
            values, counts = values.filter(there), counts[there.to_numpy(zero_copy_only=False)]
        self._wait(values, counts)

    def _wait(self, values: pa.Array, counts: NDArray[np.int64]) -> None:
        self._pending.append((values, counts))
        self._waiting += len(values)
        if self._waiting > max(len(self._counts), LEAST_PENDING):
            self.merge()

    def merge(self) -> None:
        """Bring together what was collected; the values are forgotten where they take more than the limit."""
        if not self._pending:
            return
        known = [] if self._values is None else [(self._values, self._counts)]
        arrays, counts = zip(*known, *self._pending, strict=True)
        values, sums = arrays[0], counts[0]
        if len(arrays) > 1:
            together = pa.concat_arrays(arrays).dictionary_encode()
            values, sums = together.dictionary, np.zeros(len(together.dictionary), dtype=np.int64)
            np.add.at(sums, together.indices.to_numpy(), np.concatenate(counts))
        self._values, self._counts = values, sums
        self._pending, self._waiting = [], 0
        if self.bytes > self.limit:
            self.give_up()


def _held_bytes(values: pa.Array) -> int:
    """Bytes of some values and of what is kept beside each; whether a null would have room among them is left out."""
    validity = values.buffers()[0]
    return int(values.nbytes) - (0 if validity is None else -(-len(values) // 8)) + COUNT_BYTES * len(values)

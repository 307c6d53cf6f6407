"""Records along a curve: quasi-identifiers of many dimensions mapped to one.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, section 5. Records that
are near on the curve are near in space, mostly. Two mappings: the Hilbert curve with so many bits for each dimension,
here, and iDistance (:mod:`rothko.methods.curve.idistance`).

Ordered values are placed by value, leaves of a hierarchy and labels by their in-order number, both over the whole range
of the bits. Missing values come after all others. By the paper they are placed by value and by number as these are
(:func:`numbers_of`), and weights do not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.methods.letter import Reading
from rothko.progress import each

BITS = 12
"""Bits for each dimension, as in the paper."""


PART = 20_000
"""About how many records are mapped or sorted in one piece of work."""


@dataclass(frozen=True, slots=True)
class Curve:
    """The records in the order of a curve."""

    order: NDArray[np.int32]
    """Record numbers."""
    gaps: NDArray[np.float64]
    """How far each record lies from the one before it along the curve; 0 for the first."""

    def piece(self, begin: int, end: int) -> Curve:
        """Some neighbours, as a curve of their own."""
        gaps = self.gaps[begin:end].copy()
        gaps[:1] = 0.0
        return Curve(self.order[begin:end], gaps)


@dataclass(frozen=True, slots=True)
class Keys:
    """Where records lie on a curve, and what tells those apart that lie at the same place."""

    words: NDArray[np.uint64]
    """(words, records), the first word counting most, from its top bit on: the place, then codes."""
    count: int
    """How many words are the place."""
    bits: int
    """How many bits of the words are used, from the first on."""


Between = tuple[int, int]
"""The first and the last key that some records may have."""


class Keyed(Protocol):
    """Knows where the records of some lines lie: what it takes to tell that is made once for all of them."""

    def __call__(self, encoded: Encoded, threads: int, between: Between | None = None) -> Keys:
        """Where each record lies; less is looked at where it is known between which keys all of them do."""
        ...


class Mapping(Protocol):
    """Maps records to one dimension. Plain data: it can be sent to where they lie."""

    def on(self, lines: Sequence[Line]) -> Keyed:
        """What knows where records lie that come some at a time, on these lines."""
        ...

    def keys(self, encoded: Encoded, *, threads: int) -> Keys:
        """Where each record lies: what one record's key is does not hang on the others."""
        ...

    def gaps(self, keys: Keys, order: NDArray[np.int32], *, threads: int) -> NDArray[np.float64]:
        """How far each record lies from the one before it, given the order of the keys; 0 for the first."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class OnLines:
    """A mapping that knows where the records of some lines lie: for those who ask again and again."""

    mapping: Mapping
    lines: tuple[Line, ...]
    keyed: Keyed
    between: Between | None = None
    """The keys that all records on these lines lie between, where that is known."""

    @classmethod
    def of(cls, mapping: Mapping, lines: tuple[Line, ...], between: Between | None = None) -> OnLines:
        """The same mapping, with what it takes for these lines."""
        return cls(mapping, lines, mapping.on(lines), between)

    def on(self, lines: Sequence[Line]) -> Keyed:
        """What was made already, for the lines that it was made for."""
        return self.keyed if lines is self.lines else self.mapping.on(lines)

    def keys(self, encoded: Encoded, *, threads: int) -> Keys:
        """Where each record lies."""
        return self.on(encoded.lines)(encoded, threads, self.between if encoded.lines is self.lines else None)

    def gaps(self, keys: Keys, order: NDArray[np.int32], *, threads: int) -> NDArray[np.float64]:
        """Those of the mapping."""
        return self.mapping.gaps(keys, order, threads=threads)


def curve_of(mapping: Mapping, encoded: Encoded, *, threads: int) -> tuple[Keys, Curve]:
    """The records in the order of a mapping.

    Equal keys are put in the order of the codes, so that which records lie side by side does not depend on the order in
    which they came; equal records are in that order.
    """
    keys = mapping.keys(encoded, threads=threads)
    order = sort_records(keys.words, threads)
    return keys, Curve(order, mapping.gaps(keys, order, threads=threads))


def places_on(line: Line) -> NDArray[np.float64]:
    """Where each code of a line lies between 0 and 1: ordered values by value, others by their number.

    >>> import pyarrow as pa
    >>> places_on(Line("age", Kind.ORDERED, pa.array([20, 30, 60]), np.array([0.0, 10, 40]), missing=True)).tolist()
    [0.0, 0.1875, 0.75, 1.0]
    """
    count = len(line.values)
    by_value = line.kind is Kind.ORDERED and count > 0
    shares = line.places / line.span if by_value else np.arange(count) / max(count - 1, 1)
    if not line.missing:
        return shares
    # As far behind the last value as values lie apart, if evenly.
    return np.append(shares * (count / (count + 1)), 1.0)


def coordinates(lines: Sequence[Line]) -> list[NDArray[np.float64]]:
    """The coordinate of each code of some lines: between 0 and 1, and less where others have a larger weight."""
    most = max(line.weight for line in lines)
    return [places_on(line) * (line.weight / most) for line in lines]


def numbers_of(lines: Sequence[Line], bits: int) -> list[NDArray[np.float64]]:
    """The number of each code of some lines, as the paper has it: by value from the smallest one on, leaves from 0 on.

    Where the widest line needs more bits than there are, all lines shrink by one factor.

    >>> import pyarrow as pa
    >>> age = Line("age", Kind.ORDERED, pa.array([20, 30, 60]), np.array([0.0, 10, 40]), missing=False)
    >>> city = Line("city", Kind.NOMINAL, pa.array(["Bonn", "Rome"]), np.zeros(0), missing=True)
    >>> [line.tolist() for line in numbers_of([age, city], 12)]
    [[0.0, 10.0, 40.0], [0.0, 1.0, 2.0]]
    >>> [line.tolist() for line in numbers_of([age, city], 5)]
    [[0.0, 7.75, 31.0], [0.0, 0.775, 1.55]]
    """
    found = [_numbers_on(line) for line in lines]
    most, room = max((line[-1] for line in found if len(line)), default=0.0), (1 << bits) - 1
    return [line / most * room for line in found] if most > room else found


def _numbers_on(line: Line) -> NDArray[np.float64]:
    count = len(line.values)
    by_value = line.kind is Kind.ORDERED and count > 0
    found = np.asarray(line.places, dtype=np.float64) if by_value else np.arange(count, dtype=np.float64)
    # What is missing lies as far behind the last value as values lie apart, if evenly.
    step = line.span / count if by_value else 1.0
    return np.append(found, found[-1] + step if count else 0.0) if line.missing else found


def pieces(rows: int) -> list[tuple[int, int]]:
    """The records in pieces of work: first, and one after the last."""
    return [(i, min(i + PART, rows)) for i in range(0, rows, PART)]


@dataclass(frozen=True, slots=True)
class HilbertMapping:
    """Places along the Hilbert curve."""

    bits: int = BITS
    """For each dimension."""
    shift: Sequence[float] | NDArray[np.float64] | None = None
    """For another curve: how far, as a share of its range, each attribute is moved in a space twice as wide."""
    attributes: Sequence[int] | NDArray[np.integer] | None = None
    """The lines to map, in the order in which the curve takes them; all by default."""
    reading: Reading = "rothko"
    """Whether a dimension fills the range of its bits, or has the numbers of its values, as in the paper."""

    def keys(self, encoded: Encoded, *, threads: int) -> Keys:
        """The keys; codes that share a coordinate, and those of lines that are not taken, decide between equal ones."""
        return self.on(encoded.lines)(encoded, threads)

    def on(self, lines: Sequence[Line]) -> Keyed:
        """The cell of each code of each line, looked up."""
        bits = self.bits
        taken = list(range(len(lines))) if self.attributes is None else [int(a) for a in self.attributes]
        moved = np.zeros(len(taken)) if self.shift is None else np.asarray(self.shift, dtype=np.float64)
        scale = ((1 << bits) - 1) * (1.0 if self.shift is None else 0.5)
        some = [lines[a] for a in taken]
        if self.reading == "paper":
            tables = [np.rint(line).astype(np.uint16) for line in numbers_of(some, bits)]
        else:
            shares = zip(coordinates(some), moved, strict=True)
            tables = [np.rint((share + move) * scale).astype(np.uint16) for share, move in shares]
        starts = np.cumsum([0, *map(len, tables)])
        told = {a for a, table in zip(taken, tables, strict=True) if len(np.unique(table)) == len(table)}
        blurred = [a for a in range(len(lines)) if a not in told]
        count = -(-len(taken) * bits // 64)
        fields, below = fields_for([lines[a].size for a in blurred])
        joined, numbers = np.concatenate(tables), np.array(taken)

        def keyed(encoded: Encoded, threads: int, between: Between | None = None) -> Keys:
            from rothko.kernels.curve.hilbert import hilbert_keys

            words = np.zeros((count + below, encoded.rows), dtype=np.uint64)

            def compute(piece: tuple[int, int]) -> None:
                hilbert_keys(encoded.codes, numbers, joined, starts, bits, *piece, words[:count])

            each(compute, pieces(encoded.rows), threads)
            pack_codes(encoded, blurred, fields, words[count:])
            return Keys(words, count, 64 * len(words) if below else len(taken) * bits)

        return keyed

    def gaps(self, keys: Keys, order: NDArray[np.int32], *, threads: int) -> NDArray[np.float64]:
        """Differences of keys, as shares of the curve."""
        return gaps_of_keys(keys, order, threads)


def gaps_of_keys(keys: Keys, order: NDArray[np.int32], threads: int) -> NDArray[np.float64]:
    """How far the place of each record lies behind the one before it, as a share of what the words hold."""
    from rothko.kernels.curve.hilbert import gaps_between

    gaps = np.zeros(len(order))
    each(lambda piece: gaps_between(keys.words[: keys.count], order, *piece, gaps), pieces(len(order)), threads)
    return gaps


def hilbert_order(
    encoded: Encoded,
    *,
    threads: int,
    bits: int = BITS,
    shift: Sequence[float] | NDArray[np.float64] | None = None,
    attributes: Sequence[int] | NDArray[np.integer] | None = None,
) -> NDArray[np.int32]:
    """Record numbers in the order of the Hilbert curve; see :class:`HilbertMapping`."""
    return sort_records(HilbertMapping(bits, shift, attributes).keys(encoded, threads=threads).words, threads)


def fields_for(sizes: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Where lines of so many codes have their fields when packed: word and lowest bit, the first on top; and the words.

    >>> fields_for([101, 2, 1 << 60])
    ([(0, 57), (0, 56), (1, 4)], 2)
    """
    fields, words, free = [], 0, 0
    for size in sizes:
        bits = max((size - 1).bit_length(), 1)
        if bits > free:
            words, free = words + 1, 64
        free -= bits
        fields.append((words - 1, free))
    return fields, words


def pack_codes(
    encoded: Encoded, lines: Sequence[int], fields: Sequence[tuple[int, int]], words: NDArray[np.uint64]
) -> None:
    """Write the codes of some lines into their fields of (words, records) that are zero."""
    from rothko.kernels.curve.fields import pack

    word_of, shift_of = np.array(fields, dtype=np.int64).reshape(-1, 2).T.copy()
    pack(encoded.codes, np.array(lines, dtype=np.int64), word_of, shift_of, words)


def sort_records(words: NDArray[np.uint64], threads: int) -> NDArray[np.int32]:
    """Record numbers in the order of (words, records) keys, the first word counting most; equal ones by number."""
    from rothko.kernels.order import arrange, share_out, sort_by_words

    rows = words.shape[1]
    if threads == 1 or rows < 2 * PART:
        return np.asarray(sort_by_words(words, np.arange(rows, dtype=np.int32)))
    parts = 4 * threads
    sample = np.sort(words[0, :: max(rows // 4096, 1)])
    cuts = np.unique(sample[np.arange(1, parts) * len(sample) // parts])
    part = np.empty(rows, dtype=np.int32)
    share_out(words, cuts, part)
    order, starts = arrange(part, len(cuts) + 1)
    each(lambda span: sort_by_words(words, order[slice(*span)]), list(pairwise(starts)), threads)
    return np.asarray(order)

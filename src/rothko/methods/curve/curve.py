"""Records along a curve: quasi-identifiers of many dimensions mapped to one.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, section 5. Records that
are near on the curve are near in space, mostly. Two mappings: the Hilbert curve with so many bits for each dimension,
here, and iDistance (:mod:`rothko.methods.curve.idistance`).

Ordered values are placed by value, leaves of a hierarchy and labels by their in-order number, both over the whole range
of the bits. Missing values come after all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
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


def pieces(rows: int) -> list[tuple[int, int]]:
    """The records in pieces of work: first, and one after the last."""
    return [(i, min(i + PART, rows)) for i in range(0, rows, PART)]


def hilbert_curve(
    encoded: Encoded,
    *,
    threads: int,
    bits: int = BITS,
    shift: Sequence[float] | NDArray[np.float64] | None = None,
    attributes: Sequence[int] | NDArray[np.integer] | None = None,
) -> Curve:
    """Put the records in the order of the Hilbert curve, with their distances along it.

    Equal keys are put in the order of the codes, so that which records lie side by side does not depend on the order in
    which they came; equal records are in that order.

    Parameters
    ----------
    bits
        For each dimension.
    shift
        For another curve: how far, as a share of its range, each attribute is moved in a space twice as wide.
    attributes
        The lines to map, in the order in which the curve takes them; all by default.
    """
    from rothko.kernels.curve.hilbert import gaps_between

    keys, words = _keys(encoded, threads, bits, shift, attributes)
    order = sort_records(words, threads)
    gaps = np.zeros(len(order))
    each(lambda piece: gaps_between(keys, order, *piece, gaps), pieces(len(order)), threads)
    return Curve(order, gaps)


def hilbert_order(
    encoded: Encoded,
    *,
    threads: int,
    bits: int = BITS,
    shift: Sequence[float] | NDArray[np.float64] | None = None,
    attributes: Sequence[int] | NDArray[np.integer] | None = None,
) -> NDArray[np.int32]:
    """Record numbers in the order of the Hilbert curve; see :func:`hilbert_curve`."""
    return sort_records(_keys(encoded, threads, bits, shift, attributes)[1], threads)


def _keys(
    encoded: Encoded,
    threads: int,
    bits: int,
    shift: Sequence[float] | NDArray[np.float64] | None,
    attributes: Sequence[int] | NDArray[np.integer] | None,
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The words of the keys, and the same with what tells records of equal keys apart below them."""
    from rothko.kernels.curve.hilbert import hilbert_keys

    taken = list(range(len(encoded.lines))) if attributes is None else [int(a) for a in attributes]
    moved = np.zeros(len(taken)) if shift is None else np.asarray(shift, dtype=np.float64)
    scale = ((1 << bits) - 1) * (1.0 if shift is None else 0.5)
    shares = coordinates([encoded.lines[a] for a in taken])
    tables = [np.rint((share + move) * scale).astype(np.uint16) for share, move in zip(shares, moved, strict=True)]
    starts = np.cumsum([0, *map(len, tables)])
    # Codes that share a coordinate, and those of lines that are not taken, decide between equal keys.
    told = {a for a, table in zip(taken, tables, strict=True) if len(np.unique(table)) == len(table)}
    blurred = [a for a in range(len(encoded.lines)) if a not in told]
    count = -(-len(taken) * bits // 64)
    fields, below = fields_for([encoded.lines[a].size for a in blurred])
    words = np.zeros((count + below, encoded.rows), dtype=np.uint64)
    keys, joined, numbers = words[:count], np.concatenate(tables), np.array(taken)

    def compute(piece: tuple[int, int]) -> None:
        hilbert_keys(encoded.codes, numbers, joined, starts, bits, *piece, keys)

    each(compute, pieces(encoded.rows), threads)
    pack_codes(encoded, blurred, fields, words[count:])
    return keys, words


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
    for a, (word, shift) in zip(lines, fields, strict=True):
        words[word] |= encoded.codes[a].astype(np.uint64) << np.uint64(shift)


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

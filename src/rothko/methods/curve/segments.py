"""Segments of a curve: a long row of records is cut at places that its keys tell, and each piece is grouped by itself.

What groups records along a curve looks at them in a row, from one end to the other: it cannot be done in pieces unless
the pieces are the same for everyone who does it. So a row of more records than a segment has is cut by its keys and by
counts alone. The range of keys is halved, and every half that has more records than a segment again, as in a trie; the
cells that are left, each of them a cube of the space or part of one, are put together along the curve while a segment
has room. Records that are all alike, and more than a segment has room for, are one of their own, and one class.

Counts add up: whoever holds the records in memory, on disk or on a cluster comes to the same segments, and so to the
same classes. A segment that does not meet the requirements as a whole joins the next ones until they do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics

WORD = 64


class Cell(NamedTuple):
    """The keys that begin with some bits."""

    prefix: int
    depth: int
    """How many bits these are."""
    rows: int
    """Records that have such a key."""

    def first(self, bits: int) -> int:
        """The smallest of the keys."""
        return self.prefix << (bits - self.depth)


Counts = Callable[[Sequence[Cell]], Sequence[NDArray[np.int64]]]
"""Of each of some cells: how many records lie in its parts, 2^s of them in their order, by the next s bits."""


class Segment(NamedTuple):
    """Neighbouring cells that are grouped together."""

    first: int
    """The smallest key that it may have."""
    rows: int
    alike: bool = False
    """Whether it is one class: its records are equal, and more than a segment has room for."""


def cut(rows: int, most: int, bits: int, counts: Counts) -> list[Segment]:
    """The segments of a row of records, none of which has more than ``most`` unless its records are alike.

    Parameters
    ----------
    bits
        Of a key.
    """
    found: list[Segment] = []
    for cell in sorted(_cells(rows, most, bits, counts), key=lambda cell: cell.first(bits)):
        if found and found[-1].rows + cell.rows <= most:
            found[-1] = found[-1]._replace(rows=found[-1].rows + cell.rows)
        else:
            found.append(Segment(cell.first(bits) if found else 0, cell.rows, cell.rows > most))
    return found


def _cells(rows: int, most: int, bits: int, counts: Counts) -> list[Cell]:
    """The largest cells that have no more than so many records, and those whose records are alike."""
    done: list[Cell] = []
    active = [Cell(0, 0, rows)]

    def divide(cell: Cell, parts: NDArray[np.int64]) -> list[Cell]:
        """Take note of what is done within a cell; returns what must be counted."""
        if not cell.rows:
            return []
        if cell.rows <= most or cell.depth == bits:
            done.append(cell)
            return []
        if len(parts) == 1:
            return [cell]
        half = len(parts) // 2
        low = Cell(2 * cell.prefix, cell.depth + 1, int(parts[:half].sum()))
        high = Cell(2 * cell.prefix + 1, cell.depth + 1, cell.rows - low.rows)
        return divide(low, parts[:half]) + divide(high, parts[half:])

    active = divide(active[0], np.array([rows]))
    while active:
        active = [below for cell, parts in zip(active, counts(active), strict=True) for below in divide(cell, parts)]
    return done


def sorted_counts(words: NDArray[np.uint64], order: NDArray[np.integer], bits: int) -> Counts:
    """Counts in the sorted keys of all records: (words, records), the first word counting most."""

    @cache
    def rank(key: int) -> int:
        """How many records have a smaller key."""
        wanted = tuple(as_words(key, bits, len(words)).tolist())
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) // 2
            if tuple(words[:, order[middle]].tolist()) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def count(cells: Sequence[Cell]) -> list[NDArray[np.int64]]:
        found = []
        for cell in cells:
            first = rank(cell.first(bits))
            middle = rank((2 * cell.prefix + 1) << (bits - cell.depth - 1))
            found.append(np.array([middle - first, cell.rows - (middle - first)]))
        return found

    return count


def as_words(key: int, bits: int, words: int) -> NDArray[np.uint64]:
    """A key of so many bits in words, from the top bit of the first on.

    >>> [hex(word) for word in as_words(0b101, 3, 2)]
    ['0xa000000000000000', '0x0']
    """
    whole = key << (words * WORD - bits)
    return np.array([whole >> (WORD * (words - 1 - i)) & (2**WORD - 1) for i in range(words)], dtype=np.uint64)


def place(words: NDArray[np.uint64], firsts: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Of (words, records) keys the last of some rising (words, others) ones that is not larger; −1 before all.

    >>> firsts = np.array([[0, 5, 5], [0, 2, 7]], dtype=np.uint64)
    >>> place(np.array([[4, 5, 5, 5], [9, 1, 2, 8]], dtype=np.uint64), firsts).tolist()
    [0, 0, 1, 2]
    """
    from rothko.kernels.curve.place_keys import place_keys

    found = np.empty(words.shape[1], dtype=np.int64)
    place_keys(words, firsts, found)
    return found


def bits_at(words: NDArray[np.uint64], depth: int, count: int) -> NDArray[np.int64]:
    """Some bits of each key after the first ``depth``, all of one word.

    >>> bits_at(np.array([[0xA << 60]], dtype=np.uint64), 1, 2).tolist()
    [1]
    """
    word, after = divmod(depth, WORD)
    return np.asarray(words[word] << np.uint64(after) >> np.uint64(WORD - count), dtype=np.int64)


def held(segments: Sequence[Segment], stats: Statistics, requirements: Sequence[Requirement]) -> list[Segment]:
    """The segments, joined with those after them until each meets all requirements as one class.

    What is left at the end joins those before it until they do, as all records together do.

    Parameters
    ----------
    stats
        The sums of each segment.
    """

    def holds(sums: Statistics) -> bool:
        return all(bool(requirement.satisfied(sums)[0]) for requirement in requirements)

    found: list[tuple[Segment, Statistics]] = []
    pending: list[tuple[Segment, Statistics]] = []
    for i, segment in enumerate(segments):
        pending.append((segment, stats.row(i)))
        together = _together(pending)
        pending = [together]
        if holds(together[1]):
            found.append(together)
            pending = []
    while pending and found:
        pending = [_together([found.pop(), *pending])]
        if holds(pending[0][1]):
            found += pending
            pending = []
    return [segment for segment, _ in (*found, *pending)]


def _together(some: Sequence[tuple[Segment, Statistics]]) -> tuple[Segment, Statistics]:
    if len(some) == 1:
        return some[0]
    rows = sum(segment.rows for segment, _ in some)
    return Segment(some[0][0].first, rows), reduce(lambda a, b: a + b, (sums for _, sums in some))

"""Classes by the cheapest generalization first.

All vectors of levels, one for each line, are put in the order of their mean NCP over the records. At each, every group
of records that agree in it, is large enough and meets the requirements becomes a class, and leaves; so on until none is
left (:mod:`rothko.kernels.cluster.peel`). What full-domain generalization does with all records at once, this does with
those that no cheaper vector could serve, which is the idea of local recoding in ARX (Prasser, Kohlmayer, Kuhn, 2016).

The levels of a hierarchy are its own. A line without one, of numbers or labels, is cut into 32 pieces, 16, 8 and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rothko.data.line import Kind, Line
from rothko.methods.cluster.room import UNLIMITED, Room, of_peeling
from rothko.methods.cluster.tuples import Entries, Tuples

if TYPE_CHECKING:
    from rothko.kernels.cluster.peel import Levels

PIECES = (32, 16, 8, 4, 2)
"""Into how many pieces a line without hierarchy is cut, level by level."""
MOST_VECTORS = 200_000
"""Lines have fewer levels where all of them together would make more vectors."""
LARGE = 100_000
"""From so many tuples on peeling is given up where it leads nowhere:"""
TRIED, SERVED = 0.1, 0.02
"""after this share of all that is to be looked at, this share of the tuples must be in classes."""
A_WHILE = 20_000_000
"""Tuples that are looked at before somebody is asked whether to go on: about a third of a second."""
SOME = 1 << 15
"""Of more tuples than this a part, chosen by groups, tells whether any group is large enough."""


@dataclass(frozen=True, slots=True)
class Level:
    """The codes of a line in groups."""

    groups: NDArray[np.int64]
    """The group of each code."""
    widths: NDArray[np.float64]
    """NCP of each group."""
    ncp: float
    """What it costs to publish them, over all records."""


def levels_of(line: Line, counts: NDArray[np.int64]) -> list[Level]:
    """The levels of a line of which each code has so many records: from the codes themselves up to all of them."""
    codes = np.arange(line.size)
    found = [_level(line, codes, counts)]
    if line.tree is not None:
        node, parent = line.tree.leaf.astype(np.int64), line.tree.parent
        while (up := np.where(parent[node] >= 0, parent[node], node)).tolist() != node.tolist():
            node = up
            found.append(_level(line, node, counts))
    else:
        for pieces in PIECES:
            if pieces < len(line.values):
                cut = _pieces(line, pieces)
                found.append(_level(line, np.append(cut, pieces) if line.missing else cut, counts))
        if line.size > 1:
            found.append(_level(line, np.zeros(line.size, dtype=np.int64), counts))
    return found


def _pieces(line: Line, pieces: int) -> NDArray[np.int64]:
    """The piece of each value: of equal length on ordered lines, of equally many labels on others."""
    if line.kind is Kind.ORDERED:
        return np.minimum((line.places / line.span * pieces).astype(np.int64), pieces - 1)
    return np.arange(len(line.values)) * pieces // len(line.values)


def _level(line: Line, groups: NDArray[np.int64], counts: NDArray[np.int64]) -> Level:
    _, groups = np.unique(groups, return_inverse=True)
    low, high = np.full(groups.max() + 1, line.size), np.full(groups.max() + 1, -1)
    codes = np.arange(line.size)
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    widths = line.width(low, high)
    return Level(groups, widths, float((widths[groups] * counts).sum() / max(int(counts.sum()), 1)))


def thinned(levels: Sequence[list[Level]], most: int) -> list[list[Level]] | None:
    """The levels without some, so that there are at most so many vectors: those go whose neighbours cost nearly alike.

    None where that cannot be.
    """
    kept = [list(some) for some in levels]
    while np.prod([float(len(some)) for some in kept]) > most:
        line = max(kept, key=len)
        if len(line) < 3:
            return None
        gaps = [above.ncp - below.ncp for below, above in zip(line, line[2:], strict=False)]
        del line[1 + int(np.argmin(gaps))]
    return kept


def vectors(lines: Sequence[Line], levels: Sequence[list[Level]]) -> tuple[Levels, NDArray[np.int64]]:
    """The levels as the kernel takes them, and all vectors as numbers, in the order of what they cost."""
    from rothko.kernels.cluster.peel import Levels

    random = np.random.default_rng(0)  # numbers for groups, which need only differ
    keys: list[NDArray[np.uint64]] = []
    begin = np.zeros((len(levels), max(map(len, levels))), dtype=np.int64)
    costs, at = np.zeros(1), 0
    whole = sum(line.weight for line in lines) or 1.0
    for a, (line, some) in enumerate(zip(lines, levels, strict=True)):
        for j, level in enumerate(some):
            numbers = random.integers(0, 1 << 64, level.groups.max() + 1, dtype=np.uint64)
            keys.append(numbers[level.groups])
            begin[a, j] = at
            at += line.size
        costs = (np.array([level.ncp for level in some])[:, None] * line.weight / whole + costs).ravel()
    sizes = np.array([len(some) for some in levels], dtype=np.int64)
    step = np.cumprod(np.append(1, sizes[:-1]))
    return Levels(np.concatenate(keys), begin, sizes - 1, step), np.argsort(costs, kind="stable")


def _most_left(share: float) -> float:
    """The share of the tuples that may be left after a share of what is to be looked at.

    Values that are spread evenly over many lines agree in vectors that cost much, and hardly before: growing is better
    there, and by far cheaper.
    """
    return 1.0 if share < TRIED else 1 - SERVED if share < 1 else 0.5


def peeled(
    tuples: Tuples,
    *,
    patience: float,
    over: Callable[[], bool] = lambda: False,
    room: Room = UNLIMITED,
) -> Entries | None:
    """Classes of the tuples; those that no vector served are in none.

    Parameters
    ----------
    patience
        How often each tuple is looked at, about; beyond that only every second vector is tried, then every fourth.
    over
        Asked now and then: whether time is up.
    room
        What it may take.

    Returns
    -------
    None where there are too many lines or too little room, time was up before the end, or so few records are served
    that it leads nowhere.
    """
    from rothko.kernels.cluster.peel import CLASSES, LEFT, NEXT, SEEN, Left, peel

    lines = tuples.encoded.lines
    if not room.fits(of_peeling(tuples.count, lines)):
        return None
    first = tuples.records[tuples.starts[:-1]]
    codes = np.ascontiguousarray(tuples.encoded.codes[:, first].T)
    counts = [
        np.bincount(codes[:, a], weights=tuples.counts, minlength=line.size).astype(np.int64)
        for a, line in enumerate(lines)
    ]
    levels = thinned([levels_of(line, some) for line, some in zip(lines, counts, strict=True)], MOST_VECTORS)
    if levels is None:
        return None
    laid, order = vectors(lines, levels)
    left = Left(codes, tuples.counts, tuples.values.copy(), np.arange(tuples.count))
    found, barren = np.full(tuples.count, -1, dtype=np.int64), np.zeros(len(order), dtype=np.bool_)
    state = np.array([0, tuples.count, 0, 0], dtype=np.int64)
    while state[NEXT] < len(order) and state[LEFT] > 0:
        if over():
            return None
        peel(laid, order, barren, left, tuples.k, tuples.rules.asked, found, state, A_WHILE, SOME)
        share = state[SEEN] / (patience * tuples.count) if patience else 1.0
        if tuples.count > LARGE and state[LEFT] > _most_left(share) * tuples.count:
            return None
        if state[SEEN] > patience * tuples.count:
            # Among them the last, which is all records together.
            order = np.ascontiguousarray(order[::-1][: len(order) - state[NEXT] : 2][::-1])
            state[NEXT] = state[SEEN] = 0
    return Entries(np.arange(tuples.count), found, tuples.counts, int(state[CLASSES]))

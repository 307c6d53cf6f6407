"""A table that is divided by the segments of a curve: what those who count its keys have in common.

What the segments are follows from keys and counts (:mod:`rothko.methods.curve.segments`). Records on disk are counted
in passes over a source (:mod:`rothko.engines.disk.along`), those of a cluster by its executors
(:mod:`rothko.engines.spark.along`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.data.survey.coded import Coded, Outline
from rothko.engines.divided import Along
from rothko.engines.plan import Budget
from rothko.errors import PolicyError
from rothko.methods.curve.curve import Mapping
from rothko.methods.curve.idistance import MOST_SAMPLED
from rothko.methods.curve.segments import WORD, Cell, Segment, as_words, bits_at, place
from rothko.methods.layout import fewest
from rothko.methods.method import Method
from rothko.mistakes import said
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics
from rothko.workload.tasks import Task, models

STEP = 16
"""Bits of a key by which a cell is divided in one count, at most,"""
BINS = 1 << 20
"""and into how many parts all cells are together."""
SAMPLED = 2
"""How many records as they are loaded take the room of one of the sample that a curve is laid by."""
OF_VALUE = 32
"""Bytes that are known of each distinct value: itself, where it lies on its line, and that again for kernels."""
FILLED = 0.75
"""How much of what fits a segment is to have, where that is free: those that do not hold join the next."""


def longest(method: Method, nobody: Encoded, requirements: Sequence[Requirement], tuples: int) -> int | None:
    """Records of a segment, at most; None where all of them are one."""
    if method.in_segments == "exactly":
        return method.longest(nobody, requirements)
    return max(int(FILLED * tuples), 2 * fewest(requirements))


def room_for(method: Method, outline: Outline, shares: Budget) -> int | None:
    """How many bytes a method may keep while it makes classes of some records; None where it keeps nothing."""
    if not method.keeps:
        return None
    return max(shares.room(method.keeps) - OF_VALUE * sum(line.size for line in outline.lines), 0)


def check_sizes(method: Method, segments: Sequence[Segment], tuples: int, who: str) -> None:
    """Refuse segments that are larger than whoever makes classes of them holds, unless they are one class each."""
    rows = max((one.rows for one in segments if not one.alike), default=0)
    if rows > tuples:
        smaller = f"set segment of {method.name} to less, " if method.in_segments == "exactly" else ""
        raise PolicyError(
            f"{method.name} must see {rows:,} neighbours along its curve together to meet what is asked, and {who} "
            f"{tuples:,} records; raise {said('--memory')}, {smaller}or use mondrian."
        )


def check_sample(method: Method, size: int, tuples: int, who: str) -> None:
    """Refuse a sample that is larger than whoever draws it holds; the usual one always fits."""
    if size > max(tuples // SAMPLED, MOST_SAMPLED):
        raise PolicyError(
            f"{method.name} with reading: paper looks at a tenth of the records together, here {size:,}, and {who} "
            f"{tuples // SAMPLED:,}; raise {said('--memory')}, or use reading: rothko, which looks at "
            f"{MOST_SAMPLED:,} at most."
        )


def sums_of(
    records: Iterable[Coded], outline: Outline, route: Along, segments: int, requirements: Sequence[Requirement]
) -> Statistics | None:
    """What each segment holds of some records, without the domains; None where there are none."""
    total: Statistics | None = None
    for coded in records:
        stats = Statistics.count(route(coded), segments, outline.encoded(coded).sensitive, requirements)
        total = replace(stats, domains={}) if total is None else total + stats
    return total


def check_room(outline: Outline, segments: int, requirements: Sequence[Requirement], room: int) -> None:
    """Refuse to count more of each segment than may be held."""
    asked = dict.fromkeys(str(one.column) for one in requirements if one.needs == "histogram" and one.column)
    for name in asked:
        values = outline.domains[name].size
        if 8 * segments * values > room:
            raise PolicyError(
                f"{name!r} has {values:,} values, too many to count in each of {segments:,} segments of the curve; "
                f"raise {said('--memory')}, or use mondrian."
            )


def told(
    method: Method, segments: Sequence[Segment], large: str, seams: str = "none crosses from one to the next"
) -> tuple[str, ...]:
    """What a person should know of classes that were made within segments, each as large as something."""
    if method.in_segments != "nearly" or len(segments) < 2:
        return ()
    return (
        f"{method.name} made its classes within {len(segments):,} ranges of the Hilbert curve, each as large as "
        f"{large}; {seams}.",
    )


def weighed_by(method: Method, sampled: int, rows: int, workload: Sequence[Task]) -> str:
    """What a person should know of columns that were weighed by some of the records, where all would be in memory."""
    targets = dict.fromkeys(repr(task.target) for task in models(workload))
    return (
        f"{method.name} weighed the quasi-identifiers by what {sampled:,} of {rows:,} records, drawn at random, tell "
        f"about {' and '.join(targets)}."
    )


def finely(words: NDArray[np.uint64], bits: int, most: int) -> list[Cell]:
    """Cells that cover the curve, in their order, none with more than so many of some sorted keys unless all are alike.

    What a cell counts is these keys. Where they are a sample of more, their cells have about as many of those, each.
    """

    def before(keys: Sequence[int]) -> NDArray[np.int64]:
        """How many keys are smaller than each of some others, none of which is 0."""
        wanted = np.stack([as_words(key - 1, bits, len(words)) for key in keys], axis=1)
        return place(wanted, words) + 1

    done: list[Cell] = []
    active = [(Cell(0, 0, words.shape[1]), 0)]
    while active:
        below = []
        divided = [one for one in active if one[0].rows > most and one[0].depth < bits]
        done += [cell for cell, _ in active if cell.rows <= most or cell.depth == bits]
        if divided:
            middles = before([(2 * cell.prefix + 1) << (bits - cell.depth - 1) for cell, _ in divided]).tolist()
            for (cell, begin), middle in zip(divided, middles, strict=True):
                low = Cell(2 * cell.prefix, cell.depth + 1, middle - begin)
                below += [(low, begin), (Cell(low.prefix + 1, low.depth, cell.rows - low.rows), middle)]
        active = below
    return sorted(done, key=lambda cell: cell.first(bits))


@dataclass(frozen=True, slots=True)
class Bins:
    """Cells, divided into parts by the next bits of their keys."""

    route: Along
    """To the number of a cell; −1 for records of none."""
    depths: NDArray[np.int64]
    """Of the cells."""
    steps: NDArray[np.int64]
    """By how many bits each is divided."""
    starts: NDArray[np.int64]
    """Where the parts of each cell begin, and how many there are."""

    @classmethod
    def of(cls, cells: Sequence[Cell], bits: int, lines: Sequence[Line], mapping: Mapping) -> Bins:
        """Cells in the order of their keys, divided as finely as there is room."""
        step = max(1, min(STEP, (BINS // len(cells)).bit_length() - 1))
        firsts, numbers = list[int](), dict[int, int]()
        for i in sorted(range(len(cells)), key=lambda i: cells[i].first(bits)):
            first, behind = cells[i].first(bits), (cells[i].prefix + 1) << (bits - cells[i].depth)
            if firsts and firsts[-1] == first:
                firsts.pop()
            numbers[len(firsts)] = i
            firsts += [first] if behind == 1 << bits else [first, behind]
        depths = np.array([cell.depth for cell in cells])
        # All of them in one word of the key.
        steps = np.minimum(np.minimum(step, bits - depths), WORD - depths % WORD)
        starts = np.concatenate([[0], np.cumsum(1 << steps)])
        return cls(Along(lines, mapping, firsts, bits, numbers), depths, steps, starts)

    def places(self, words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The part of each key that is in a cell."""
        cell = self.route.of(words)
        found = []
        for depth in np.unique(self.depths).tolist():
            some = np.flatnonzero((cell >= 0) & (self.depths[cell] == depth))
            if len(some):
                step = int(self.steps[cell[some[0]]])
                found.append(self.starts[cell[some]] + bits_at(words[:, some], depth, step))
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

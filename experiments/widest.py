"""Mondrian as Ghinita, Karras, Kalnis and Mamoulis seem to have had it to compare with (VLDB 2007): the baseline.

A part is cut along its attribute of the widest normalised range, at the median, and where that cut is not allowable the
part is not cut at all; rothko's Mondrian goes on to the next widest attribute. Their text leaves open which theirs did,
and LeFevre, DeWitt and Ramakrishnan, whose method it is, go on. But the discernibility that they print on Adult, an
order of magnitude above that of their own methods, is met by the widest attribute alone, and not by one that goes on to
others. It is a method for experiments alone,
and no option of ``mondrian``: nobody would ask for it in a policy, and every engine would have to honour it. What it
takes to run is not compared, since its loop over parts is plain Python.

Where that paper is silent, it is LeFevre's Mondrian: a hierarchy is cut into the children of the lowest node that
covers the part, numbers beside the median at the nearer end of the run of equal values, and among attributes that are
as wide the first one is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.hierarchy.numbered import Tree
from rothko.methods import Mondrian
from rothko.methods.classes import LocalClasses
from rothko.methods.method import Progress, silent
from rothko.privacy import FrequencyLDiversity, KAnonymity
from rothko.privacy.requirement import Requirement
from rothko.workload.tasks import Task

WIDEST = "mondrian-widest"
Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Widest(Mondrian):
    """Mondrian that tries its widest attribute only."""

    name: ClassVar[str] = WIDEST
    needs_all_records: ClassVar[bool] = True

    @property
    def recodes(self) -> bool:
        """What it releases here are boxes around records."""
        return False

    def partition(
        self,
        encoded: Encoded,
        requirements: Sequence[Requirement],
        *,
        workload: Sequence[Task] = (),
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
        room: int | None = None,
        phase: int | None = None,
    ) -> LocalClasses:
        """Cut the table, and its parts, while the cut along the widest attribute is allowable."""
        asked = _Asked.of(encoded, requirements)
        class_of = np.empty(encoded.rows, dtype=np.int32)
        classes, left = 0, [np.arange(encoded.rows)]
        while left:
            rows = left.pop()
            parts = _cut(encoded, rows)
            if len(parts) > 1 and all(map(asked.allows, parts)):
                left += parts
            else:
                class_of[rows] = classes
                classes += 1
        progress(encoded.rows)
        return LocalClasses.of(encoded, class_of, classes)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a class must have: k-anonymity and frequency-l-diversity, which are all that the paper asks for."""

    least: int
    shares: tuple[tuple[float, NDArray[np.int32]], ...]
    """For each l-diversity its l, and the sensitive value of each record."""

    @classmethod
    def of(cls, encoded: Encoded, requirements: Sequence[Requirement]) -> _Asked:
        least, shares = 1, []
        for one in requirements:
            if isinstance(one, FrequencyLDiversity):
                shares.append((one.l, encoded.sensitive[one.of].codes))
            else:
                assert isinstance(one, KAnonymity), one
                least = max(least, one.k)
        return cls(least, tuple(shares))

    def allows(self, rows: Rows) -> bool:
        """Whether records may be a class."""
        if len(rows) < self.least:
            return False
        return all(np.bincount(codes[rows]).max() * l <= len(rows) for l, codes in self.shares)  # noqa: E741


def _cut(encoded: Encoded, rows: Rows) -> list[Rows]:
    """The parts along the widest attribute; one where there is nothing to cut."""
    codes = encoded.codes[:, rows]
    low, high = codes.min(axis=1), codes.max(axis=1)
    widths = [float(line.width(a, b)) for line, a, b in zip(encoded.lines, low, high, strict=True)]
    widest = int(np.argmax(widths))
    if widths[widest] == 0:
        return [rows]
    line, along = encoded.lines[widest], codes[widest]
    if line.tree is None:
        return [rows[side] for side in _halves(along)]
    node = int(line.tree.lowest(low[widest], high[widest]))
    return [rows[part] for part in _children(line.tree, node, along)]


def _halves(along: NDArray[np.int32]) -> list[NDArray[np.bool_]]:
    """Both sides of the cut nearest the median that parts no equal values."""
    n = len(along)
    median = np.partition(along, n // 2)[n // 2]
    below, upto = int(np.count_nonzero(along < median)), int(np.count_nonzero(along <= median))
    lower = below > 0 and (upto == n or n - 2 * below <= 2 * upto - n)
    left = along < median if lower else along <= median
    return [left, ~left]


def _children(tree: Tree, node: int, along: NDArray[np.int32]) -> list[NDArray[np.bool_]]:
    """The records under each child of a node that has any."""
    children = range(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
    parts = [(along >= tree.low[child]) & (along <= tree.high[child]) for child in children]
    return [part for part in parts if part.any()]

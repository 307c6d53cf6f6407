"""Mondrian: greedy multidimensional partitioning (LeFevre, DeWitt, Ramakrishnan, TODS 2008, sections 2.2 and 3).

Cut the table by the criterion of the workload, repeat in every part until no allowable cut is left. Without a workload
that is Median: the allowable attribute with the widest normalised range, numbers and sets at the median, hierarchies
into the children of the current node. Selections, class labels and numeric targets bring criteria of their own
(:mod:`rothko.workload.criteria`), after which Median goes on. The loop itself is :mod:`rothko.kernels.mondrian.grow`;
here are its options and the arrays that it works on.

Where the papers are silent: ties between attributes go to the first in the policy; a cut beside the
median that falls in a run of equal values moves to the nearer end of the run, the lower one when
both are as near; missing values are split from present ones first, where that is allowable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.layout import Layout, fewest, lay_out, rules_of
from rothko.methods.method import Method, flag
from rothko.privacy.requirement import Requirement, number
from rothko.workload.criteria import Criteria, criteria
from rothko.workload.features import Groups
from rothko.workload.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian(Method):
    """Options of Mondrian.

    >>> Mondrian(relaxed=True).name
    'mondrian'
    """

    name: ClassVar[str] = "mondrian"

    relaxed: bool = False
    """Split equal values between the two sides of a cut (a local recoding: there is no φ)."""

    minimum_gain: float = 0.01
    """Where the best cut for the models of the workload gains less than this for each record, go on with the median:
    in bits for class labels, in shares of the table's variance for numbers. 0 goes on to the last gain."""

    def __post_init__(self) -> None:
        flag(self.name, "relaxed", self.relaxed)
        number(self.name, "minimum_gain", self.minimum_gain, least=0)

    @property
    def local(self) -> bool:
        """Relaxed cuts part equal values, so there is no recoding then."""
        return self.relaxed


@dataclass(frozen=True, slots=True)
class Problem:
    """The arrays that the kernel takes beside the table; see :func:`rothko.kernels.mondrian.grow.grow`."""

    layout: Layout
    least: int
    rules: NDArray[np.int64]
    facts: NDArray[np.float64]
    relaxed: bool
    criteria: Criteria | None

    @property
    def first_phase(self) -> int:
        """The criterion that begins."""
        from rothko.kernels.mondrian.nodes import MEDIAN

        return MEDIAN if self.criteria is None else self.criteria.first_phase

    def arguments(self) -> tuple[Any, ...]:
        """The arrays in the order in which the kernel takes them."""
        chosen = None if self.criteria is None else self.criteria.arguments()
        return (*self.layout, self.least, self.rules, self.facts, self.relaxed, chosen)


def problem(
    encoded: Encoded,
    requirements: Sequence[Requirement],
    method: Mondrian,
    workload: Sequence[Task] = (),
    *,
    within: Groups | None = None,
    threads: int = 1,
) -> tuple[Problem, NDArray[np.int32]]:
    """Lay out lines, requirements and workload for the kernel, with the table that it reorders.

    The table has a row per column: codes, record numbers, and the codes that a rule or a target needs.
    """
    rows: list[NDArray[np.int32]] = [*encoded.codes, np.arange(encoded.rows, dtype=np.int32)]
    place: dict[str, int] = {}

    def add_row(name: str, codes: NDArray[np.int32]) -> int:
        """Columns that several requirements or tasks look at share a row."""
        if name not in place:
            place[name] = len(rows)
            rows.append(codes)
        return place[name]

    rules, facts = rules_of(encoded, requirements, add_row)
    arrays = Problem(
        layout=lay_out(encoded.lines),
        least=fewest(requirements),
        rules=rules,
        facts=facts,
        relaxed=method.relaxed,
        criteria=criteria(encoded, workload, add_row, minimum_gain=method.minimum_gain, within=within, threads=threads),
    )
    return arrays, np.stack(rows)

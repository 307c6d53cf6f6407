"""What Mondrian asks of its kernel: lines, requirements and criteria as arrays, and the table that it reorders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.layout import Layout, fewest, lay_out, rules_of
from rothko.privacy.requirement import Requirement
from rothko.workload.criteria import Criteria, Groups, criteria
from rothko.workload.tasks import Task


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
    workload: Sequence[Task] = (),
    *,
    groups: Sequence[Groups | None] | None = None,
    minimum_gain: float = 0.0,
    then_median: bool = True,
    relaxed: bool = False,
) -> tuple[Problem, NDArray[np.int32]]:
    """Lay out lines, requirements and workload for the kernel, with the table that it reorders.

    The table has a row per column: codes, record numbers, and the codes that a rule or a target needs. For ``groups``
    and ``then_median`` see :func:`rothko.workload.criteria.criteria`.
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
    chosen = criteria(encoded, workload, add_row, minimum_gain=minimum_gain, groups=groups, then_median=then_median)
    return Problem(lay_out(encoded.lines), fewest(requirements), rules, facts, relaxed, chosen), np.stack(rows)

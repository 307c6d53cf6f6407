"""What Mondrian asks of its kernel: lines, requirements and criteria as arrays, and the table that it reorders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.layout import Rows, fewest, lay_out, rules_of
from rothko.privacy.requirement import Requirement
from rothko.workload.criteria import Criteria, Groups, criteria
from rothko.workload.tasks import Task

if TYPE_CHECKING:
    from rothko.kernels.boxes import Lines
    from rothko.kernels.rules import Rules


Region = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The first and the last codes that the cuts above leave to some records."""


@dataclass(frozen=True, slots=True)
class Problem:
    """The arrays that the kernel takes beside the table; see :func:`rothko.kernels.mondrian.grow.grow`."""

    lines: Lines
    least: int
    rules: Rules
    relaxed: bool
    letter: bool
    """Whether every criterion goes by the letter of the paper."""
    around: NDArray[np.int32]
    """The region of the records: its first and its last codes."""
    criteria: Criteria | None

    @property
    def first_phase(self) -> int:
        """The criterion that begins."""
        from rothko.kernels.mondrian.nodes import MEDIAN

        return MEDIAN if self.criteria is None else self.criteria.first_phase

    def arguments(self) -> tuple[Any, ...]:
        """The arrays in the order in which the kernel takes them."""
        chosen = None if self.criteria is None else self.criteria.arguments()
        return (self.lines, self.least, self.rules.asked, self.relaxed, self.letter, self.around, chosen)


def problem(
    encoded: Encoded,
    requirements: Sequence[Requirement],
    workload: Sequence[Task] = (),
    *,
    groups: Sequence[Groups | None] | None = None,
    minimum_gain: float = 0.0,
    then_median: bool = True,
    relaxed: bool = False,
    letter: bool = False,
    region: Region | None = None,
) -> tuple[Problem, NDArray[np.int32]]:
    """Lay out lines, requirements and workload for the kernel, with the table that it reorders.

    The table has a row per column: codes, record numbers, and the codes that a rule or a target needs. For ``groups``
    and ``then_median`` see :func:`rothko.workload.criteria.criteria`; ``region`` is that of the records, where it is
    not the whole.
    """
    rows = Rows([*encoded.codes, np.arange(encoded.rows, dtype=np.int32)])
    rules = rules_of(encoded, requirements, rows.add)
    chosen = criteria(encoded, workload, rows.add, minimum_gain=minimum_gain, groups=groups, then_median=then_median)
    whole = np.zeros(len(encoded.lines)), np.array([line.size - 1 for line in encoded.lines])
    around = np.stack(whole if region is None else region).astype(np.int32)
    found = Problem(lay_out(encoded.lines), fewest(requirements), rules, relaxed, letter, around, chosen)
    return found, np.stack(rows)

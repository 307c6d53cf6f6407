"""Mondrian: greedy multidimensional partitioning (LeFevre, DeWitt, Ramakrishnan, TODS 2008, sections 2.2 and 3).

Cut the table by the criterion of the workload, repeat in every part until no allowable cut is left. Without a workload
that is Median: the allowable attribute with the widest normalised range, numbers and sets at the median, hierarchies
into the children of the current node. Selections, class labels and numeric targets bring criteria of their own
(:mod:`rothko.workload.criteria`), after which Median goes on. The loop itself is :mod:`rothko.kernels.mondrian.grow`,
what takes it over all cores :mod:`rothko.methods.mondrian.grow`.

``reading: paper`` follows the TODS paper to the letter where we leave it: the cut after the median is the only one of a
line, models go on until no cut is allowable, and queries are asked of the regions of φ.

Where the papers are silent: ties between attributes go to the first in the policy; a cut beside the
median that falls in a run of equal values moves to the nearer end of the run, the lower one when
both are as near; missing values are split from present ones first, where that is allowable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.errors import PolicyError
from rothko.methods.classes import Classes
from rothko.methods.letter import Reading, check_reading
from rothko.methods.method import Method, Progress, flag, silent
from rothko.methods.mondrian.features import groups_of
from rothko.methods.mondrian.grow import cut
from rothko.methods.mondrian.problem import Problem, Region, problem
from rothko.privacy.requirement import Requirement, number
from rothko.workload.tasks import Task, models

MINIMUM_GAIN = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Mondrian(Method):
    """Options of Mondrian.

    >>> Mondrian(relaxed=True).name
    'mondrian'
    """

    name: ClassVar[str] = "mondrian"
    needs_all_records: ClassVar[bool] = False

    relaxed: bool = False
    """Split equal values between the two sides of a cut (a local recoding: there is no φ)."""

    minimum_gain: float = MINIMUM_GAIN
    """Where the best cut for the models of the workload gains less than this for each record, go on with the median:
    in bits for class labels, in shares of the table's variance for numbers. 0 goes on to the last gain."""

    reading: Reading = "rothko"
    """``paper``: to the letter of the TODS 2008 paper where we leave it."""

    def __post_init__(self) -> None:
        flag(self.name, "relaxed", self.relaxed)
        number(self.name, "minimum_gain", self.minimum_gain, least=0)
        check_reading(self.name, self.reading)
        if self.by_the_letter and self.minimum_gain != MINIMUM_GAIN:
            raise PolicyError(
                f"{self.name}: minimum_gain ({self.minimum_gain:g}) has no meaning with reading: paper, by which "
                "models go on until there is no allowable cut; remove one of them."
            )
        if self.by_the_letter and self.relaxed:
            raise PolicyError(
                f"{self.name}: relaxed cuts are not in the paper that reading: paper follows (TODS 2008, which has "
                "strict ones); set relaxed: false, or remove reading."
            )

    @property
    def by_the_letter(self) -> bool:
        """Whether the paper is followed where we leave it."""
        return self.reading == "paper"

    @property
    def recodes(self) -> bool:
        """Relaxed cuts part equal values, so there is no recoding then."""
        return not self.relaxed

    @property
    def needs_order(self) -> bool:
        """Relaxed cuts part equal values by the order of records."""
        return self.relaxed

    @property
    def without_recoding(self) -> str:
        """That it has no recoding, and what to do."""
        return "relaxed Mondrian has none; publish a range, or set relaxed: false."

    def problem(
        self,
        encoded: Encoded,
        requirements: Sequence[Requirement],
        workload: Sequence[Task] = (),
        *,
        threads: int = 1,
        region: Region | None = None,
    ) -> tuple[Problem, NDArray[np.int32]]:
        """What the kernel is asked, with the table that it reorders."""
        return problem(
            encoded,
            requirements,
            workload,
            groups=[groups_of(encoded, task, threads=threads) for task in models(workload)],
            minimum_gain=self.minimum_gain,
            relaxed=self.relaxed,
            letter=self.by_the_letter,
            region=region,
        )

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
        region: Region | None = None,
    ) -> Classes:
        """Cut the table, and its parts, while a cut is allowable. Nothing is drawn by chance.

        Parameters
        ----------
        phase
            The criterion to go on with, for a part that others have cut before.
        region
            What their cuts left it: its first and its last codes.
        """
        arrays, table = self.problem(encoded, requirements, workload, threads=threads, region=region)
        return cut(encoded, arrays, table, phase=phase, threads=threads, progress=progress)

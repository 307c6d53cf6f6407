"""Top-Down Refinement over records that lie elsewhere: what decides it is counted there, in passes over all of them.

Fung, Wang, Yu, TKDE 2007. A first pass counts every column by itself, with the class labels, from which follows all
that refinements gain, and where intervals are split. Each further pass counts the different records of every set of
quasi-identifiers, in cells that look so many refinements ahead that they fit in memory
(:mod:`rothko.methods.refine.foresight`). The refinements that these allow are performed by the very kernel that has all
records in memory, so they are the same, whatever is counted at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline
from rothko.errors import InputError
from rothko.methods.refine.counts import Tally
from rothko.methods.refine.foresight import Asked, Counted, Foresight
from rothko.methods.refine.refine import Refine, Refined
from rothko.methods.refine.standing import Performed, Problem, labels_asked
from rothko.mistakes import said
from rothko.privacy.requirement import Requirement
from rothko.progress import Progress, silent
from rothko.trim import give_back
from rothko.workload.tasks import Classify, Task

SAMPLED = 100_000
"""Records of the sample that says how far one looks ahead, at most."""


class Counter(Protocol):
    """Counts records where they lie. What it answers must not depend on how they are spread over files or machines."""

    def tally(self, tasks: Sequence[Classify]) -> Tally:
        """All records by the codes of each line, in one pass."""
        ...

    def tuples(self, asked: Sequence[Asked], most: int) -> list[Counted] | None:
        """The different records of every set, in one pass; None where they are more than ``most`` together."""
        ...


@dataclass(frozen=True, slots=True)
class RefinedByCounts:
    """What was found, and what it was found from."""

    refined: Refined
    counts: tuple[NDArray[np.int64], ...]
    """Of each line: how many records have each code."""
    largest: int
    """The most different records that were held at a time."""


def refine_by_counts(
    outline: Outline,
    counter: Counter,
    method: Refine,
    requirements: Sequence[Requirement],
    workload: Sequence[Task],
    *,
    sample: Coded,
    most: int,
    progress: Progress = silent,
) -> RefinedByCounts:
    """Refine a table that is counted in passes: the same refinements as :func:`rothko.methods.refine.refine.refine`.

    Parameters
    ----------
    sample
        Some records, drawn at random, by which one looks ahead.
    most
        How many different records fit in memory.

    Raises
    ------
    InputError
        If there are more different records than that where one looks a single refinement ahead.
    """
    problem = Problem.of(
        outline.rows, outline.lines, outline.domains, counter.tally(labels_asked(workload)), requirements, workload,
        criterion=method.criterion, reading=method.reading,
    )  # fmt: skip
    give_back()  # what it took to add them up
    foresight = Foresight.of(problem, outline, outline.encoded(sample))
    standing, rounds, largest = problem.begin(), list[Performed](), 0
    while not rounds or not rounds[-1].finished:
        for cells in foresight.nearer_and_nearer(standing, most):
            progress("count", 0, 1)
            asked = cells.asked(problem, outline)
            counted = counter.tuples(asked, most)
            progress("count", 1, 1)
            if counted is not None:
                break
        else:
            sets = "; ".join(", ".join(one.names) for one in problem.over)
            raise InputError(
                f"To refine this table further, more than {most:,} different records over {sets} must be told apart "
                f"at a time; raise {said('--memory')}, ask for a larger k or over fewer quasi-identifiers, or use "
                "mondrian."
            )
        found = sum(len(one.times) for one in counted)
        foresight.learn(cells, found)
        largest = max(largest, found)
        tables = [
            one.table(problem, outline, standing, cells, those) for one, those in zip(asked, counted, strict=True)
        ]
        del asked, counted
        rounds.append(problem.run(tables, standing, cells.apart))
        assert rounds[-1].finished or len(rounds[-1].performed), "cells tell less apart than a refinement needs"
        standing = rounds[-1].standing
    return RefinedByCounts(Refined.by(problem, rounds), problem.counts(), largest)

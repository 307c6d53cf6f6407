"""Features beyond the quasi-identifiers (LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3.1.3).

A feature that is released as it is stays known to the model whatever the cuts do. So the statistics of a target are
kept within groups of records that these features tell apart: a cut is as good as the parts are pure within each group.
A sensitive target may then stay diverse over the quasi-identifiers and yet be predictable.

The groups are the leaves of a tree that InfoGain (or Regression) Mondrian grows over those features alone, which also
discretises numbers. A leaf has at least a hundredth of the records: a hundred groups at most, each with counts to rely
on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.workload.tasks import Model

SMALLEST = 100
"""A group has at least one of this many records."""
LEAST_GAIN = 0.01


def groups_of(encoded: Encoded, task: Model, *, threads: int = 1) -> tuple[NDArray[np.int32] | None, int]:
    """The group of each record and how many there are; None and 1 where all features are quasi-identifiers."""
    from rothko.engines import memory
    from rothko.methods.mondrian import Mondrian
    from rothko.privacy import KAnonymity

    beyond = encoded.features
    if beyond is None or task.features is None:
        return None, 1
    used = [i for i, line in enumerate(beyond.lines) if line.name in task.features]
    if not used:
        return None, 1
    lines, codes = tuple(beyond.lines[i] for i in used), beyond.codes[used]
    plain = Encoded(lines, codes, {}, {task.target: encoded.targets[task.target]})
    least = max(2, -(-encoded.rows // SMALLEST))
    found = memory.partition(
        plain,
        (KAnonymity(k=least),),
        Mondrian(minimum_gain=LEAST_GAIN),
        workload=(type(task)(task.target),),
        then_median=False,
        threads=threads,
    )
    return found.class_of(), found.classes

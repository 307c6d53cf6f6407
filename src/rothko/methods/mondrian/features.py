"""Features beyond the quasi-identifiers (LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3.1.3).

A feature that is released as it is stays known to the model whatever the cuts do. So the statistics of a target are
kept within groups of records that these features tell apart: a cut is as good as the parts are pure within each group.
A sensitive target may then stay diverse over the quasi-identifiers and yet be predictable.

The groups are the leaves of a tree that InfoGain (or Regression) Mondrian grows over those features, which also
discretises numbers. What a feature tells may show only together with a quasi-identifier (one label where both are
low or both high, the other elsewhere), so its gain is taken within cells of the quasi-identifiers, made by the median.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.mondrian.grow import cut
from rothko.methods.mondrian.problem import Problem, problem
from rothko.privacy import KAnonymity
from rothko.workload.criteria import Groups
from rothko.workload.tasks import Model

CELLS = 32
"""At most this many cells of the quasi-identifiers: enough to see an interaction, with records enough in each."""
MOST = 100
"""At most this many groups."""
LEAST_GAIN = 0.01


def groups_of(encoded: Encoded, task: Model, *, threads: int = 1) -> Groups | None:
    """The groups that a model's features beyond the quasi-identifiers tell apart; None where it has none."""
    features = task.features or ()
    if encoded.features is None or not any(line.name in features for line in encoded.features.lines):
        return None
    beyond, seen = _only(encoded.features, features), _only(encoded, features)
    cells = Groups(np.zeros(encoded.rows, dtype=np.int32), 1)
    if seen.lines:
        cells = _cut(seen, *problem(seen, _in_about(encoded, CELLS)), threads)
    known = Encoded(beyond.lines, beyond.codes, {}, {task.target: encoded.targets[task.target]})
    arrays, table = problem(
        known,
        _in_about(encoded, MOST),
        (type(task)(task.target),),
        groups=[cells],
        minimum_gain=LEAST_GAIN,
        then_median=False,
    )
    return _cut(known, arrays, table, threads)


def _in_about(encoded: Encoded, groups: int) -> tuple[KAnonymity]:
    """What leaves so many groups of the records at most."""
    return (KAnonymity(k=max(2, -(-encoded.rows // groups))),)


def _cut(encoded: Encoded, arrays: Problem, table: NDArray[np.int32], threads: int) -> Groups:
    found = cut(encoded, arrays, table, threads=threads)
    return Groups(found.class_of(), found.classes)


def _only(encoded: Encoded, names: tuple[str, ...]) -> Encoded:
    """The lines of some columns."""
    kept = [i for i, line in enumerate(encoded.lines) if line.name in names]
    return Encoded(tuple(encoded.lines[i] for i in kept), encoded.codes[kept], {})

"""Top-Down Refinement: what is kept while a table is refined (Fung, Wang, Yu, TKDE 2007, sections 4.3 and 4.4).

Parts and steps are rows of tables, whose columns are named here; groups, candidates and room to work in are tuples of
arrays. See :mod:`rothko.kernels.refine.refine` for the words.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.kernels import inlined, linked
from rothko.kernels.boxes import NOMINAL
from rothko.kernels.rules import Rules, widest_but_distinct
from rothko.kernels.rules import widest as most_values

# Columns of the table of parts: line, first and last code, what can become of it, its first candidate, slots,
# candidates left, the first code of the second of two children (otherwise -1), whether its values are suppressed.
LINE, LOW, HIGH, BECOMES, FIRST, SLOTS, LEFT, CUT, SUPPRESSED = range(9)
PART_WIDTH = 9

NOTHING, SPLIT, DISCLOSE, GONE = range(4)
"""What can become of a part: nothing any more, its children, or one of its values by itself; or it was refined."""

# Columns of the table of steps: the part that was refined, the value that was disclosed (otherwise -1), the first of
# the new parts, and their number.
STEP_PART, STEP_VALUE, STEP_CHILD, STEP_CHILDREN = range(4)

NEVER_LOST = np.iinfo(np.int64).max


class Sets(NamedTuple):
    """The sets of quasi-identifiers that requirements are about, with their distinct records."""

    table: NDArray[np.int32]
    """The rows of all tables one after the other: set s begins at ``base[s]``, and a row has ``records[s]``."""
    base: NDArray[np.int64]
    records: NDArray[np.int64]
    rows: NDArray[np.int64]
    """How many rows each table has: lines, weights, what rules look at."""
    weighted: NDArray[np.bool_]
    """Whether there are weights other than 1."""
    widths: NDArray[np.int64]
    """How many lines each set has."""
    members: NDArray[np.int64]
    """(sets, lines): the line at each place of a set, -1 beyond."""
    place: NDArray[np.int64]
    """(sets, lines): the place of each line in a set, -1 where it is not in it."""
    least: NDArray[np.int64]
    """The fewest records that a group can have."""
    groups_at: NDArray[np.int64]
    """Where the groups of each set begin, and the end."""
    rules: Rules | None
    """Those of all sets, one after the other; where those of each begin, and the end."""
    rules_at: NDArray[np.int64]
    anonymity: NDArray[np.int64]
    """The records of the smallest group of each set, A(QID)."""


class Start(NamedTuple):
    """How far a table is refined when its refinement begins, or goes on."""

    parts: NDArray[np.int32]
    """Line, first and last code, whether the values are suppressed, and whether nothing can become of it any more."""
    spans: NDArray[np.int64]
    shows: NDArray[np.int32]
    """The groups of all sets one after the other, as in :class:`Groups`."""
    groups_at: NDArray[np.int64]
    """Where those of each set begin, and the end."""
    hidden: NDArray[np.int32]
    hiding: NDArray[np.int64]
    never: NDArray[np.bool_]
    """As in :class:`Candidates`."""
    apart: NDArray[np.bool_]
    """By code: whether the sets tell records with it from those with codes below, or, of a nominal line, from all
    others. Where they do not, what a refinement leaves of groups is not known."""


class Groups(NamedTuple):
    """Records that show the same on all quasi-identifiers of a set."""

    spans: NDArray[np.int64]
    shows: NDArray[np.int32]
    """(groups, places): parts."""
    following: NDArray[np.int32]
    """(groups, places): the next group that shows the same part, -1 at the end."""
    head: NDArray[np.int32]
    """(sets, parts): the first group that shows a part."""
    count: NDArray[np.int64]
    """Of each set."""


class Candidates(NamedTuple):
    """A part that may be split has the number of the part; values come after all parts, line by line."""

    gain: NDArray[np.float64]
    code: NDArray[np.int32]
    owner: NDArray[np.int32]
    """Its part."""
    dead: NDArray[np.bool_]
    fewest: NDArray[np.int64]
    """(sets, candidates): the smallest child that it leaves in any group."""
    values_at: NDArray[np.int64]
    slot: NDArray[np.int32]
    """Of each code."""
    hidden: NDArray[np.int32]
    """Line by line, as far as ``hiding`` says: the codes that are suppressed, in their order."""
    hiding: NDArray[np.int64]
    never: NDArray[np.bool_]
    """Values that were found not to be disclosed validly: they never will be."""


class Heap(NamedTuple):
    """Candidates by bounds of their scores; see :mod:`rothko.kernels.refine.heap`."""

    key: NDArray[np.float64]
    rank: NDArray[np.int64]
    """Decides between equal keys: the line that comes first, then the lower code."""
    candidate: NDArray[np.int32]
    owner: NDArray[np.int32]
    size: NDArray[np.int64]


class Room(NamedTuple):
    """Arrays to work in."""

    gains: NDArray[np.float64]
    whole: NDArray[np.int64]
    side: NDArray[np.int64]
    counts: NDArray[np.int64]
    histograms: NDArray[np.int64]
    marks: NDArray[np.int32]
    """By value, where different ones are counted; zero when not in use."""
    sums: NDArray[np.float64]
    child: NDArray[np.int32]
    order: NDArray[np.uint32]
    spare: NDArray[np.int32]
    child_of: NDArray[np.int32]
    sizes: NDArray[np.int64]
    places: NDArray[np.int64]
    touched: NDArray[np.int64]


@linked
def rooms(columns, labels, sets, most_parts):
    """Arrays to work in."""
    count, codes, most_sets = columns.lines.spec.shape[0], columns.at[-1], sets.base.size
    values_at = np.zeros(count + 1, dtype=np.int64)
    values_at[0] = most_parts
    longest, most_children = np.int64(1), np.int64(2)
    for i in range(count):
        values_at[i + 1] = values_at[i] + (columns.lines.spec[i, 1] if columns.lines.spec[i, 0] == NOMINAL else 0)
        longest = max(longest, columns.lines.spec[i, 1])
    for node in range(columns.lines.tree.shape[0]):
        most_children = max(most_children, np.int64(columns.lines.tree[node, 4]))
    most, most_records, most_labels, widest = values_at[-1], np.int64(1), np.int64(1), np.int64(1)
    for t in range(labels.counts.size):
        most_labels = max(most_labels, labels.counts[t])
    for s in range(most_sets):
        most_records = max(most_records, sets.records[s])
        widest = max(widest, sets.widths[s])
    slots = most_children
    for i in range(count):
        able = np.int64(0)  # values that could be disclosed; what is disclosed makes them fewer
        for code in range(columns.at[i] + i, columns.at[i + 1] + i):
            able += columns.before[code + 1] - columns.before[code] >= columns.least[i]
        if columns.lines.spec[i, 0] == NOMINAL:
            slots = max(slots, able + 1)
    ruled = slots + 3 if sets.rules is not None else np.int64(1)
    most_groups = sets.groups_at[-1]
    groups = Groups(
        np.empty((most_groups, 2), dtype=np.int64),
        np.empty((most_groups, widest), dtype=np.int32),
        np.empty((most_groups, widest), dtype=np.int32),
        np.full((most_sets, most_parts), -1, dtype=np.int32),
        np.zeros(most_sets, dtype=np.int64),
    )
    candidates = Candidates(
        np.zeros(most),
        np.zeros(most, dtype=np.int32),
        np.full(most, -1, dtype=np.int32),
        np.ones(most, dtype=np.bool_),
        np.empty((most_sets, most), dtype=np.int64),
        values_at,
        np.zeros(codes, dtype=np.int32),
        np.empty(codes, dtype=np.int32),
        np.zeros(count, dtype=np.int64),
        np.zeros(codes, dtype=np.bool_),
    )
    heap = Heap(
        np.empty(2 * most),
        np.empty(2 * most, dtype=np.int64),
        np.empty(2 * most, dtype=np.int32),
        np.empty(2 * most, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )
    room = Room(
        np.empty(longest),
        np.empty(most_labels, dtype=np.int64),
        np.empty(most_labels, dtype=np.int64),
        np.zeros(slots, dtype=np.int64),
        np.zeros((ruled, widest_but_distinct(sets.rules)), dtype=np.int64),
        np.zeros(most_values(sets.rules), dtype=np.int32),
        np.zeros((ruled, 3)),
        np.empty(most_records, dtype=np.int32),
        np.empty(most_records, dtype=np.uint32),
        np.empty(most_records, dtype=np.int32),
        np.zeros(slots, dtype=np.int32),
        np.empty(most_children, dtype=np.int64),
        np.empty(most_children, dtype=np.int64),
        np.empty(max(most_groups, np.int64(1)), dtype=np.int64),
    )
    return groups, candidates, heap, room


@linked
def open_candidate(candidates, c, part, code, gain):
    """Open a candidate."""
    candidates.gain[c], candidates.code[c], candidates.owner[c], candidates.dead[c] = gain, code, part, False
    for s in range(candidates.fewest.shape[0]):
        candidates.fewest[s, c] = NEVER_LOST


@inlined
def kill(parts, candidates, c):
    """A candidate that is not valid, and never will be."""
    if not candidates.dead[c]:
        candidates.dead[c] = True
        part = candidates.owner[c]
        parts[part, LEFT] -= 1
        if parts[part, LEFT] == 0:
            parts[part, BECOMES] = NOTHING


@inlined
def candidates_of(parts, part):
    """How many candidates a part has, dead ones included."""
    return 1 if parts[part, BECOMES] == SPLIT else parts[part, SLOTS] - 1 if parts[part, BECOMES] == DISCLOSE else 0

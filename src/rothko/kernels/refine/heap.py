"""Top-Down Refinement: the candidate with the best score, on a heap of bounds (Fung, Wang, Yu, TKDE 2007, section 3).

What a candidate loses of anonymity only ever grows until the smallest group of a set becomes smaller, so that a score
only falls until then: a key is a bound from above, and the candidate on top is asked again before it is taken. All
keys are set anew when a smallest group shrinks; by the score of TDS after every refinement, since it rises where a loss
of none becomes one that is, on the average of several sets, below one.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import inlined, linked
from rothko.kernels.refine.state import FIRST, LINE, candidates_of

BY_SCORE, BY_INFOGAIN, BY_TDS = range(3)
"""What the best candidate has most of, in the order of :data:`rothko.methods.refine.standing.Criterion`."""


@linked
def _score(parts, sets, candidates, c, criterion):
    """InfoGain ÷ (AnonyLoss + 1), AnonyLoss on the average of the sets that the attribute is in.

    That of TDS is InfoGain ÷ AnonyLoss, and InfoGain where nothing is lost.
    """
    gain = candidates.gain[c]
    if criterion == BY_INFOGAIN:
        return gain
    line = parts[candidates.owner[c], LINE]
    lost, about = np.int64(0), np.int64(0)
    for s in range(sets.base.size):
        if sets.place[s, line] >= 0:
            about += 1
            lost += max(sets.anonymity[s] - candidates.fewest[s, c], np.int64(0))
    loss = lost / max(about, np.int64(1))
    if criterion == BY_SCORE:
        return gain / (loss + 1.0)
    return gain / loss if loss > 0 else gain


@linked
def enter(parts, part, sets, candidates, heap, criterion):
    """Put the candidates of a part on the heap."""
    first, many = parts[part, FIRST], candidates_of(parts, part)
    if heap.size[0] + many > heap.key.size:
        set_anew(parts, sets, candidates, heap, criterion)
    for c in range(first, first + many):
        if not candidates.dead[c]:
            at = heap.size[0]
            heap.key[at] = _score(parts, sets, candidates, c, criterion)
            heap.rank[at] = (np.int64(parts[part, LINE]) << 32) + candidates.code[c]
            heap.candidate[at], heap.owner[at] = c, part
            heap.size[0] += 1
            while at > 0 and _before(heap, at, (at - 1) // 2):
                _swap(heap, at, (at - 1) // 2)
                at = (at - 1) // 2


@linked
def take(parts, sets, candidates, heap, criterion):
    """The candidate with the best score, from the heap; -1 where none is left."""
    while heap.size[0] > 0:
        c = heap.candidate[0]
        if not candidates.dead[c] and candidates.owner[c] == heap.owner[0]:
            score = _score(parts, sets, candidates, c, criterion)
            if score == heap.key[0]:
                return np.int64(c)
            heap.key[0] = score
        else:
            heap.size[0] -= 1
            _swap(heap, 0, heap.size[0])
        _sink(heap, 0)
    return np.int64(-1)


@linked
def set_anew(parts, sets, candidates, heap, criterion):
    """Set all keys anew, and drop candidates that there are no more."""
    kept = 0
    for at in range(heap.size[0]):
        c = heap.candidate[at]
        if candidates.dead[c] or candidates.owner[c] != heap.owner[at]:
            continue
        heap.key[kept] = _score(parts, sets, candidates, c, criterion)
        heap.rank[kept], heap.candidate[kept], heap.owner[kept] = heap.rank[at], c, heap.owner[at]
        kept += 1
    heap.size[0] = kept
    for at in range(kept // 2 - 1, -1, -1):
        _sink(heap, at)


@linked
def _sink(heap, at):
    """Let an entry of the heap sink to its place."""
    while True:
        best = at
        for below in range(2 * at + 1, min(2 * at + 3, heap.size[0])):
            if _before(heap, below, best):
                best = below
        if best == at:
            return
        _swap(heap, at, best)
        at = best


@inlined
def _before(heap, a, b):
    """Whether entry a comes before b."""
    return heap.key[a] > heap.key[b] or (heap.key[a] == heap.key[b] and heap.rank[a] < heap.rank[b])


@inlined
def _swap(heap, a, b):
    heap.key[a], heap.key[b] = heap.key[b], heap.key[a]
    heap.rank[a], heap.rank[b] = heap.rank[b], heap.rank[a]
    heap.candidate[a], heap.candidate[b] = heap.candidate[b], heap.candidate[a]
    heap.owner[a], heap.owner[b] = heap.owner[b], heap.owner[a]

"""Anatomy's group creation: again and again one record from each of the l largest buckets.

Paper: Xiao, Tao, VLDB 2006, Figure 3.
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled
from rothko.kernels.order import order_of


@compiled
def create_groups(records, starts, l, chances):  # noqa: E741 (the literature's letter)
    """The group of each record, -1 for those that are left when fewer than l buckets are not empty.

    Bucket b holds ``records[starts[b]:starts[b + 1]]``, in a random order. Among buckets of one size chance decides:
    ``chances`` are numbers from 0 to 1, as many as records.

    The buckets stand by falling size. Of those as large as the l-th, the ones that are taken from move to the end of
    their run: less one record each, they still stand by falling size, and nothing is sorted again.
    """
    buckets = starts.size - 1
    size = starts[1:] - starts[:-1]
    order = order_of(size, buckets, True)
    group = np.full(records.size, -1, dtype=np.int32)
    made, used = 0, 0
    while buckets >= l and size[order[l - 1]] > 0:
        last = size[order[l - 1]]
        first = l - 1
        while first > 0 and size[order[first - 1]] == last:
            first -= 1
        low, high = l, buckets  # the run of equal buckets ends in between
        while low < high:
            middle = (low + high) // 2
            if size[order[middle]] == last:
                low = middle + 1
            else:
                high = middle
        for i in range(l):
            at = i
            if i >= first:
                # One of the run, of which those at its end are taken already.
                at = low - 1 - (i - first)
                chosen = first + np.int64(chances[used] * (at - first + 1))
                used += 1
                order[chosen], order[at] = order[at], order[chosen]
            b = order[at]
            size[b] -= 1
            group[records[starts[b] + size[b]]] = made
        made += 1
    return group, made

"""Sending records down a tree of cuts."""

from __future__ import annotations

from rothko.kernels import compiled


@compiled
def descend(places, attribute, begins, child, children, leaf, out):
    """The class of each record, -1 for one with a place of -1 on a line that decides.

    ``places[a, i]`` is where record i lies on line a; a part holds the places from its own
    ``begins`` up to the next part's, the first part everything below as well.
    """
    for i in range(places.shape[1]):
        node = 0
        while attribute[node] >= 0:
            place = places[attribute[node], i]
            if place < 0:
                node = -1
                break
            low, high = child[node], child[node] + children[node] - 1
            while low < high:
                middle = (low + high + 1) >> 1
                if begins[middle] <= place:
                    low = middle
                else:
                    high = middle - 1
            node = low
        out[i] = leaf[node] if node >= 0 else -1

"""Keys along a curve, of one word or several, looked for among others."""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled

HEAD = 12
"""Bits of the first word by which keys are told apart before any is looked at."""


@compiled
def place_keys(words, firsts, places):
    """Write the place of the last of some rising keys that is not larger than each of others; −1 before all.

    A table of the upper bits says among which few a key is looked for: in place of a search among 1,500, whose every
    other step the processor guesses wrong, most often one comparison or two.

    Parameters
    ----------
    words, firsts
        (words, keys), the first word counting most.
    """
    count, others = words.shape[0], firsts.shape[1]
    shift = np.uint64(64 - HEAD)
    heads = np.zeros((1 << HEAD) + 1, dtype=np.int64)
    for i in range(others):
        heads[np.int64(firsts[0, i] >> shift) + 1] += 1
    for head in range(1 << HEAD):
        heads[head + 1] += heads[head]
    for i in range(places.size):
        key = words[0, i]
        head = np.int64(key >> shift)
        low, high = heads[head], heads[head + 1]
        while low < high:
            middle = (low + high) >> 1
            larger = firsts[0, middle] > key
            if firsts[0, middle] == key:
                w = 1
                while w < count and firsts[w, middle] == words[w, i]:
                    w += 1
                larger = w < count and firsts[w, middle] > words[w, i]
            if larger:
                high = middle
            else:
                low = middle + 1
        places[i] = low - 1

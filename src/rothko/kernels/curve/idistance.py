"""iDistance: centres of a sample, and the nearest of them for each record.

Yu, Ooi, Tan, Jagadish: Indexing the Distance. VLDB 2001. Centres by k-means (Lloyd 1982), begun as k-means++ does
(Arthur and Vassilvitskii 2007).
"""

from __future__ import annotations

import numpy as np

from rothko.kernels import compiled


@compiled
def place_points(codes, tables, starts, chosen, first, last, points):
    """Write the coordinates of the chosen records to ``points``, record by record."""
    for a in range(codes.shape[0]):
        for i in range(first, last):
            points[i, a] = tables[starts[a] + codes[a, chosen[i]]]


@compiled
def seed_centres(points, draws):
    """Choose centres among (dimensions, points), each with a chance as its squared distance to the nearest before it.

    ``draws`` has a number between 0 and 1 for each; fewer are chosen where there are no more different points.
    """
    d, n = points.shape
    chosen = np.empty(draws.size, dtype=np.int64)
    distance, away = np.full(n, np.inf, dtype=np.float32), np.empty(n, dtype=np.float32)
    at = min(np.int64(draws[0] * n), n - 1)
    for c in range(draws.size):
        chosen[c] = at
        away[:] = 0
        for a in range(d):
            x, row = points[a, at], points[a]
            for i in range(n):
                step = row[i] - x
                away[i] += step * step
        for i in range(n):
            distance[i] = away[i] if away[i] < distance[i] else distance[i]
        total = 0.0
        for i in range(n):
            total += distance[i]
        if total == 0.0:
            return chosen[: c + 1].copy()
        if c + 1 == draws.size:
            break
        mark, upto = draws[c + 1] * total, 0.0
        for i in range(n):
            if distance[i] > 0:
                at = i
                upto += distance[i]
                if upto > mark:
                    break
    return chosen


@compiled
def nearest_centres(points, centres, first, last, owner, distance):
    """The nearest centre of the points ``first`` to ``last``, the first of several, and how far it is.

    ``centres`` is (dimensions, centres): the distances to all of them grow together, dimension by dimension.
    """
    d, count = centres.shape
    away = np.empty(count, dtype=np.float32)
    bits = away.view(np.int32)
    for i in range(first, last):
        away[:] = 0
        for a in range(d):
            x, row = points[i, a], centres[a]
            for c in range(count):
                step = x - row[c]
                away[c] += step * step
        # As whole numbers, which positive numbers are in the order of: their smallest is found many at a time.
        best = bits[0]
        for c in range(count):
            best = min(best, bits[c])
        at = 0
        while bits[at] != best:
            at += 1
        owner[i] = at
        distance[i] = np.sqrt(away[at])


@compiled
def move_centres(points, owner, centres):
    """Move each centre to the mean of the points that it is the nearest of; one without points stays."""
    d, count = centres.shape
    sums, sizes = np.zeros((count, d)), np.zeros(count, dtype=np.int64)
    for i in range(owner.size):
        sizes[owner[i]] += 1
        for a in range(d):
            sums[owner[i], a] += points[i, a]
    for c in range(count):
        if sizes[c] > 0:
            for a in range(d):
                centres[a, c] = np.float32(sums[c, a] / sizes[c])

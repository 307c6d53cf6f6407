"""What a model is shown, by the book: one record after the other, no arrays."""

from __future__ import annotations

from collections.abc import Sequence

from rothko.learn.encoding import DRAWN, MOST_KINDS


def shares(regions: Sequence[frozenset[int]], size: int) -> list[list[float]]:
    """One number for each label: 1 ÷ labels that are open."""
    return [[1 / len(region) if label in region else 0.0 for label in range(size)] for region in regions]


def wanted(target: Sequence[float], *, labels: bool) -> list[list[float]]:
    """What effects are means of: the number, or whether it is a label; of two labels, the second."""
    if not labels:
        return [[float(value)] for value in target]
    kinds = sorted(set(target))
    if len(kinds) == 2:
        return [[float(value == kinds[1])] for value in target]
    frequent = sorted(sorted(kinds, key=lambda kind: -list(target).count(kind))[:MOST_KINDS])
    return [[float(value == kind) for kind in frequent] for value in target]


def effects(
    regions: Sequence[frozenset[int]], size: int, numbers: Sequence[Sequence[float]], asked: Sequence[frozenset[int]]
) -> list[list[float]]:
    """The mean of what the labels that are open tell, each by the records that may have it."""
    columns = list(zip(*numbers, strict=True))
    told = []
    for label in range(size):
        weights = [1 / len(region) if label in region else 0.0 for region in regions]
        row = []
        for column in columns:
            everybody = sum(column) / len(column)
            total = sum(weight * number for weight, number in zip(weights, column, strict=True))
            row.append((total + DRAWN * everybody) / (sum(weights) + DRAWN))
        told.append(row)
    return [[sum(told[label][i] for label in region) / len(region) for i in range(len(columns))] for region in asked]

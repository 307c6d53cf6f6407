"""What a model is shown of records, as the numbers that it takes: the one place where that is settled.

A feature is a number or a label. *Numbers* (also dates, and text with an order, which counts its place) go to the model
as they are; of a region, as :mod:`rothko.learn.regions` says. *Labels* have no order, and a region leaves several of
them open: a node of a hierarchy all leaves below it, a set its members, ``*`` all there are. There are two ways:

``shares``   one number for each label: its share of the region, 1 ÷ labels that are open. Of an exact value that is the
             well-known one-hot encoding. For models that weigh sums, such as a linear one.
``effects``  one number: the mean of what the labels that are open tell about the target. What a label tells is its mean
             in the training part, drawn towards that of all records where it has few; a record whose region leaves n
             labels open counts 1 ÷ n for each. For models that cut: of two labels to predict, the best cut is among
             neighbours in this order (Breiman et al. 1984, section 4.2.2). Of more, there is a number for each.

A column with more than :data:`MOST_LABELS` labels has effects for every model. Everything is learned from the training
part alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rothko.methods.classes import Members

Floats = NDArray[np.float64]
Way = Literal["shares", "effects"]

MOST_LABELS = 100
"""Columns with more labels have effects, whatever the model."""
MOST_KINDS = 10
"""Of a label that is predicted: effects are about so many of its values, the most frequent ones."""
DRAWN = 10.0
"""Records that a label needs for its mean to count as much as that of all records."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A feature that is one number for each record, or several."""

    values: Floats
    """(records, numbers)."""


@dataclass(frozen=True, slots=True)
class Labels:
    """A feature that is one of so many labels, of which a record may leave several open."""

    size: int
    """How many labels there are."""
    open: Members
    """The labels of each region."""
    region: NDArray[np.integer]
    """The region of each record."""

    @classmethod
    def between(cls, size: int, low: NDArray[np.integer], high: NDArray[np.integer]) -> Labels:
        """Records with all labels from one to another, both included.

        >>> Labels.between(3, np.array([0, 1, 0]), np.array([0, 2, 0])).open.codes.tolist()
        [0, 1, 2]
        """
        pairs, region = np.unique(low.astype(np.int64) * size + high, return_inverse=True)
        first, last = pairs // size, pairs % size
        sizes = last - first + 1
        starts = np.concatenate([[0], np.cumsum(sizes)])
        codes = np.arange(starts[-1]) - np.repeat(starts[:-1] - first, sizes)
        return cls(size, Members(starts, codes.astype(np.int32)), region)

    def mean(self, numbers: Floats) -> Floats:
        """(records, n): of a table with a row for each label, the mean over the labels that are open."""
        sizes = self.open.sizes
        owner = np.repeat(np.arange(len(sizes)), sizes)
        found = np.zeros((len(sizes), numbers.shape[1]))
        np.add.at(found, owner, numbers[self.open.codes])
        return np.asarray((found / np.maximum(sizes, 1)[:, None])[self.region])

    def share(self, amounts: Floats) -> Floats:
        """(labels, n): amounts of records, spread evenly over the labels that each leaves open."""
        sizes = self.open.sizes
        held = np.zeros((len(sizes), amounts.shape[1]))
        np.add.at(held, self.region, amounts)
        found = np.zeros((self.size, amounts.shape[1]))
        np.add.at(found, self.open.codes, np.repeat(held / np.maximum(sizes, 1)[:, None], sizes, axis=0))
        return found


Feature = Numbers | Labels
View = Sequence[Feature]
"""What is shown of some records, feature by feature."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How the features of records become numbers, as it was learned from a training part."""

    effects: tuple[Floats | None, ...]
    """Of each feature: what its labels tell, a row for each; None where it has shares, or is a number."""

    @classmethod
    def learned(cls, view: View, target: NDArray[np.number], way: Way, *, labels: bool) -> Encoding:
        """Learn it from a training part and its target: codes of labels, or numbers."""
        wanted = _wanted(target, labels=labels)
        return cls(tuple(_effects(feature, wanted, way) for feature in view))

    def numbers(self, view: View) -> Floats:
        """(records, numbers): what a model takes."""
        found = [_numbers(feature, effects) for feature, effects in zip(view, self.effects, strict=True)]
        return np.concatenate(found, axis=1)


def _wanted(target: NDArray[np.number], *, labels: bool) -> Floats:
    """(records, n): what effects are means of. The number itself; whether it is the label, of two labels for one."""
    if not labels:
        return np.asarray(target, dtype=np.float64)[:, None]
    kinds, counts = np.unique(target, return_counts=True)
    frequent = np.sort(kinds[np.argsort(-counts, kind="stable")[:MOST_KINDS]])
    return np.asarray(target[:, None] == (frequent[1:] if len(kinds) == 2 else frequent), dtype=np.float64)


def _effects(feature: Feature, wanted: Floats, way: Way) -> Floats | None:
    if isinstance(feature, Numbers) or (way == "shares" and feature.size <= MOST_LABELS):
        return None
    everybody = wanted.mean(axis=0)
    records = feature.share(np.ones((len(wanted), 1)))
    return np.asarray((feature.share(wanted) + DRAWN * everybody) / (records + DRAWN))


def _numbers(feature: Feature, effects: Floats | None) -> Floats:
    if isinstance(feature, Numbers):
        return feature.values
    return feature.mean(np.eye(feature.size) if effects is None else effects)

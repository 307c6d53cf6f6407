"""Records as keys: the codes of several columns as whole numbers, in as few words as hold them.

A code is a digit, that of the first column counts most. So equal records have equal keys, keys rise as records do, and
what a key stands for is computed: to look it up, in every column, would be to walk at random through all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

STRIDE = 1 << 15
"""Records that are gone through at a time: they stay in the cache."""
SAMPLED = 1 << 16
"""From so many records on, the different ones are counted in a sample."""
ONE_IN = 6
"""Bits of a hash that are all zero for the keys of the sample."""


class Keys(NamedTuple):
    """The keys of records."""

    words: NDArray[np.uint64]
    """(words, records): the first counts most."""
    sizes: tuple[tuple[int, ...], ...]
    """Of each word: below what the codes of each of its columns are."""

    def direct(self) -> bool:
        """Whether there are so few keys that are possible that each can have a counter."""
        return len(self.sizes) == 1 and math.prod(self.sizes[0]) <= max(self.words.shape[1], STRIDE)


def keys_of(
    columns: Sequence[NDArray[np.int32]], sizes: Sequence[int], shown: Sequence[NDArray[np.int32]] | None = None
) -> Keys:
    """The keys of the records of some columns, whose codes are below ``sizes``.

    Where ``shown`` tells what each code of each column shows, that is what keys are made of, and it is below ``sizes``.
    """
    words: list[list[int]] = [[]]
    for c, size in enumerate(sizes):
        if math.prod(sizes[b] for b in words[-1]) * size >= 2**63:
            words.append([])
        words[-1].append(c)
    rows = len(columns[0])
    keys = np.zeros((len(words), rows), dtype=np.uint64)
    for begin in range(0, rows, STRIDE):
        for word, held in zip(keys, words, strict=True):
            some = word[begin : begin + STRIDE]
            for c in held:
                codes = columns[c][begin : begin + STRIDE]
                some *= np.uint64(sizes[c])
                some += (codes if shown is None else shown[c][codes]).view(np.uint32)
    return Keys(keys, tuple(tuple(sizes[c] for c in held) for held in words))


def codes_of(keys: Keys) -> NDArray[np.int32]:
    """(columns, keys): the codes that keys were made of.

    >>> columns = [np.array([0, 1, 0], dtype=np.int32), np.array([2, 1, 2], dtype=np.int32)]
    >>> codes_of(keys_of(columns, [2, 3])).tolist()
    [[0, 1, 0], [2, 1, 2]]
    """
    count = keys.words.shape[1]
    codes = np.empty((sum(map(len, keys.sizes)), count), dtype=np.int32)
    for begin in range(0, count, STRIDE):
        column = len(codes)
        for word, sizes in zip(keys.words[::-1], keys.sizes[::-1], strict=True):
            some = word[begin : begin + STRIDE]
            for size in reversed(sizes):
                column -= 1
                above = some // np.uint64(size)
                codes[column, begin : begin + STRIDE] = some - above * np.uint64(size)
                some = above
    return codes


def share_distinct(keys: Keys) -> float:
    """How many keys are different, to their number.

    In a large table that is told by a sample: all records whose keys have some hashes, so that equal ones are in it
    together, however many there are of them.
    """
    from rothko.kernels.order import MIX, number

    rows = keys.words.shape[1]
    bits = ONE_IN if rows >= SAMPLED else 0
    sample = []
    for begin in range(0, rows, STRIDE):
        hashes = np.zeros(len(keys.words[0, begin : begin + STRIDE]), dtype=np.uint64)
        for word in keys.words:
            hashes ^= word[begin : begin + STRIDE]
            hashes *= MIX
            hashes ^= hashes >> np.uint64(32)
        sample.append(hashes[hashes & np.uint64((1 << bits) - 1) == 0])
    _, first = number(np.concatenate(sample))
    return float((len(first) << bits) / rows)


def distinct(keys: Keys) -> tuple[Keys, NDArray[np.int64]]:
    """The different keys, and how many records have each.

    >>> columns = [np.array([1, 0, 1], dtype=np.int32), np.array([2, 2, 2], dtype=np.int32)]
    >>> different, times = distinct(keys_of(columns, [2, 3]))
    >>> codes_of(different).tolist(), times.tolist()
    ([[0, 1], [2, 2]], [1, 2])
    """
    from rothko.kernels.order import number

    if keys.direct():
        times = np.bincount(keys.words[0].view(np.int64))
        there = np.flatnonzero(times)
        return Keys(there[None].astype(np.uint64), keys.sizes), times[there]
    numbers, first = number(keys.words[0])
    for word in keys.words[1:]:
        others, different = number(word)
        numbers, first = number(numbers.astype(np.uint64) * np.uint64(len(different)) + others.astype(np.uint64))
    return Keys(keys.words[:, first], keys.sizes), np.bincount(numbers, minlength=len(first))


def in_order(keys: Keys) -> tuple[NDArray[np.int32], NDArray[np.int64], Keys]:
    """The records as their keys rise, equal ones as they stand; where each key begins, with the end; different keys.

    >>> order, starts, _ = in_order(keys_of([np.array([4, 0, 4], dtype=np.int32)], [5]))
    >>> order.tolist(), starts.tolist()
    ([1, 0, 2], [0, 1, 3])
    """
    from rothko.kernels.order import arrange, sort_by_words

    rows = keys.words.shape[1]
    if keys.direct():
        order, starts = arrange(keys.words[0].astype(np.int32), math.prod(keys.sizes[0]))
        there = np.flatnonzero(starts[1:] > starts[:-1])
        return order, np.append(starts[there], rows), Keys(there[None].astype(np.uint64), keys.sizes)
    order = sort_by_words(keys.words, np.arange(rows, dtype=np.int32))
    risen = keys.words[:, order]
    begins = np.ones(rows, dtype=np.bool_)
    begins[1:] = (risen[:, 1:] != risen[:, :-1]).any(axis=0)
    first = np.flatnonzero(begins)
    return order, np.append(first, rows), Keys(risen[:, first], keys.sizes)

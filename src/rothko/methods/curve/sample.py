"""A simple random sample of records that hangs on the records and the seed alone: not on their order, nor on who draws.

Every record draws a number by a hash of its codes, of how many equal records have drawn before it, and of the seed; the
smallest are the sample. Which of several equal records are drawn makes no difference. So whoever knows each different
record once, and how often it is there, draws the same, some of them here and others elsewhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.curve.curve import fields_for, pack_codes, sort_records

SIGMAS = 6
"""By how many standard deviations more are drawn than are asked for, where not all draw in one place."""
SPREAD = 4
"""How many places of a hash there are for each record, where those are looked for that are there once,"""
LOOKS = 2
"""and how often they are looked for, each time among those that are left."""

Words = NDArray[np.uint64]
Different = tuple[Words, NDArray[np.int64]]
"""Different records, and how often each is there."""


def draw(encoded: Encoded, size: int, seed: int, *, threads: int) -> Encoded:
    """So many of the records, in the order of their codes."""
    words = code_words(encoded)
    order = sort_records(words, threads)
    rows = words[:, order]
    new = np.append(True, (rows[:, 1:] != rows[:, :-1]).any(axis=0))
    first = np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
    chances = chances_of(rows, np.arange(len(new)) - first, seed)
    return encoded.take(order[np.sort(smallest(chances, size))])


def code_words(encoded: Encoded) -> Words:
    """(words, records): the codes of each record."""
    fields, count = fields_for([line.size for line in encoded.lines])
    words = np.zeros((count, encoded.rows), dtype=np.uint64)
    pack_codes(encoded, range(len(fields)), fields, words)
    return words


def codes_in(words: Words, encoded: Encoded) -> NDArray[np.int32]:
    """The codes behind some words, on the lines of a table."""
    sizes = [line.size for line in encoded.lines]
    codes = np.empty((len(sizes), words.shape[1]), dtype=np.int32)
    for out, size, (word, shift) in zip(codes, sizes, fields_for(sizes)[0], strict=True):
        bits = max((size - 1).bit_length(), 1)
        out[:] = (words[word] >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
    return codes


def summed(words: Words, times: NDArray[np.int64] | None = None) -> Different:
    """The different ones of some records, each once or so often, in their order."""
    times = np.ones(words.shape[1], dtype=np.int64) if times is None else times
    order = sort_records(words, 1)
    words, times = words[:, order], times[order]
    new = np.append(True, (words[:, 1:] != words[:, :-1]).any(axis=0))[: len(order)]
    firsts = np.flatnonzero(new)
    return words[:, firsts], np.add.reduceat(times, firsts) if len(firsts) else times


def in_codes(words: Words, chances: Words, size: int, encoded: Encoded) -> Encoded:
    """The sample, on the lines of a table: those of some records that have drawn least, in the order of their codes."""
    order = sort_records(words, 1)
    places = np.sort(smallest(chances[order], size))
    return Encoded(encoded.lines, codes_in(words[:, order[places]], encoded), {})


def drawn(words: Words, times: NDArray[np.int64], bar: np.uint64, seed: int) -> tuple[Words, Words]:
    """Of different records, each there so often: those that have drawn no more than a bar, and what they have drawn."""
    whole = np.repeat(np.arange(len(times)), times)
    numbers = np.arange(len(whole)) - np.repeat(np.cumsum(times) - times, times)
    chances = chances_of(words[:, whole], numbers, seed)
    near = np.flatnonzero(chances <= bar)
    return words[:, whole[near]], chances[near]


def in_question(words: Words, bar: np.uint64, seed: int) -> Words:
    """Some records without those that are surely there once, and have drawn more than a bar.

    A hash tells nearly all that are there once, so that few are left to be sorted; of those that share a place with
    others by chance, its next bits tell nearly all.
    """
    chances = chances_of(words, np.zeros(words.shape[1], dtype=np.int64), seed)
    left, near = np.arange(len(chances)), chances <= bar
    for _ in range(LOOKS):
        bits = max((SPREAD * len(left)).bit_length(), 1)
        place = (chances[left] >> np.uint64(64 - bits)).astype(np.int64)
        left = left[(np.bincount(place)[place] > 1) | near[left]]
        chances <<= np.uint64(bits)
    return words[:, left]


def bar_for(size: int, rows: int, more: int = 1) -> np.uint64:
    """What so many of all records draw at most, or some more of them."""
    share = more * (size + SIGMAS * math.sqrt(size) + SIGMAS) / max(rows, 1)
    return np.uint64(min(int(min(share, 1.0) * 2.0**64), 2**64 - 1))


def smallest(chances: Words, size: int) -> NDArray[np.int64]:
    """The places of so many of the smallest numbers."""
    return np.argsort(chances, kind="stable")[:size]


def chances_of(words: Words, numbers: NDArray[np.int64], seed: int) -> Words:
    """What records draw: their words, their numbers among equal ones and the seed through the mixer of splitmix64.

    >>> chances_of(np.array([[7, 7, 8]], dtype=np.uint64), np.array([0, 1, 0]), 0).tolist()[0] >> 56
    184
    """
    from rothko.kernels.curve.chances import fold_words

    found = np.full(len(numbers), np.uint64(seed & (2**64 - 1)))
    fold_words(words, found)
    fold_words(numbers.astype(np.uint64)[None], found)
    return found

"""Which quasi-identifiers, alone and together, tell records of the original apart.

Facts of the original: they are for whoever may see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.metrics.risk import THRESHOLD, Risk, risk
from rothko.progress import count_threads, each

EXTENDED = 4
"""Pairs that triples are looked for beyond, where there are too many triples to look at all."""
MIXED = np.uint64(0x9E3779B97F4A7C15)
"""The golden ratio, by which multiplicative hashing spreads keys (Knuth, TAOCP 3, 6.4)."""
ALL_TRIPLES = 35
"""Of seven columns: no more triples than these are all looked at."""


@dataclass(frozen=True, slots=True)
class Combination:
    """Some quasi-identifiers, and the share of records that are unique by them."""

    names: tuple[str, ...]
    unique: float


@dataclass(frozen=True, slots=True)
class Uniqueness:
    """How records of the original are told apart."""

    whole: Risk
    """By all quasi-identifiers."""
    alone: dict[str, float]
    """Share of records that are unique by one quasi-identifier."""
    adds: dict[str, float]
    """How much the share that is unique by all falls without it."""
    pairs: tuple[Combination, ...]
    """The most identifying first."""
    triples: tuple[Combination, ...]
    """The same; beyond the most identifying pairs, where there are many quasi-identifiers."""


def uniqueness(
    encoded: Encoded, *, threshold: float = THRESHOLD, most: int = 5, threads: int | None = None
) -> Uniqueness:
    """How many records are unique by which quasi-identifiers.

    >>> import pyarrow as pa
    >>> from rothko.data.encode import encode
    >>> from rothko.policy.policy import Policy
    >>> people = pa.table({"age": [20, 20, 30, 30], "sex": ["f", "m", "m", "m"]})
    >>> found = uniqueness(encode(people, Policy.quick(["age", "sex"], qi=["age", "sex"], k=2)))
    >>> found.whole.unique, found.alone, found.adds, found.pairs
    (2, {'age': 0.0, 'sex': 0.25}, {'age': 0.25, 'sex': 0.5}, (Combination(names=('age', 'sex'), unique=0.5),))
    """
    names = [line.name for line in encoded.lines]
    sizes = [line.size for line in encoded.lines]
    everything = tuple(range(len(names)))
    cores = count_threads(threads)
    known: dict[tuple[int, ...], NDArray[np.int64]] = {}

    def among(some: tuple[int, ...]) -> NDArray[np.int64] | None:
        """The fewest records known of which all others are unique by some of these columns, and so by all of them."""
        fitting = (found for pair, found in known.items() if set(pair) <= set(some))
        return min(fitting, key=len, default=None)

    def shares(sets: Sequence[tuple[int, ...]]) -> list[float]:
        return each(lambda some: unique_share(encoded.codes, sizes, some, among(some)), sets, cores)

    alone = shares([(i,) for i in everything])
    pairs = _ranked([*combinations(everything, 2)], shares)
    best = [pair for pair, _ in pairs[:EXTENDED]]
    known.update(zip(best, each(lambda some: shared(encoded.codes, sizes, some), best, cores), strict=True))
    whole = risk(class_sizes(encoded.codes, sizes, everything, among(everything)), threshold)
    without = shares([tuple(i for i in everything if i != one) for one in everything])
    triples: list[tuple[int, ...]] = [*combinations(everything, 3)]
    if len(triples) > ALL_TRIPLES:
        beyond = {tuple(sorted({*pair, i})) for pair in best for i in everything if i not in pair}
        triples = sorted(beyond)
    found = _ranked(triples, shares)
    return Uniqueness(
        whole,
        dict(zip(names, alone, strict=True)),
        {name: whole.share_unique - share for name, share in zip(names, without, strict=True)},
        tuple(Combination(tuple(names[i] for i in some), share) for some, share in pairs[:most]),
        tuple(Combination(tuple(names[i] for i in some), share) for some, share in found[:most]),
    )


def _ranked(
    sets: list[tuple[int, ...]], shares: Callable[[Sequence[tuple[int, ...]]], list[float]]
) -> list[tuple[tuple[int, ...], float]]:
    found = list(zip(sets, shares(sets), strict=True))
    return sorted(found, key=lambda one: (-one[1], one[0]))


def unique_share(
    codes: NDArray[np.int32], sizes: Sequence[int], columns: Sequence[int], among: NDArray[np.int64] | None = None
) -> float:
    """The share of records that no other shares all these columns with.

    Parameters
    ----------
    among
        Records outside of which all are known to be unique.

    Examples
    --------
    >>> unique_share(np.array([[0, 0, 1], [2, 2, 2]], dtype=np.int32), [2, 3], [0, 1])
    0.3333333333333333
    """
    rows = codes.shape[1]
    key, room = _keys(codes, sizes, columns, among)
    outside = rows - len(key)
    if room <= _few(len(key)):
        return float((outside + np.count_nonzero(np.bincount(key) == 1)) / max(rows, 1))
    # Whoever is alone in a bucket is unique, and most are: the others alone are sorted, which takes four times as long.
    alone = ~_crowded(key)
    others = _runs(key[~alone])
    return float((outside + np.count_nonzero(alone) + np.count_nonzero(others == 1)) / max(rows, 1))


def shared(codes: NDArray[np.int32], sizes: Sequence[int], columns: Sequence[int]) -> NDArray[np.int64]:
    """The records that share all these columns with another one.

    >>> shared(np.array([[0, 0, 1], [2, 2, 2]], dtype=np.int32), [2, 3], [0, 1]).tolist()
    [0, 1]
    """
    key, room = _keys(codes, sizes, columns, None)
    if room <= _few(len(key)):
        return np.flatnonzero(np.bincount(key)[key] > 1)
    records = np.flatnonzero(_crowded(key))
    keys, back, count = np.unique(key[records], return_inverse=True, return_counts=True)
    return records[count[back] > 1] if len(keys) else records


def class_sizes(
    codes: NDArray[np.int32], sizes: Sequence[int], columns: Sequence[int], among: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """How many records share each combination of values of these columns.

    Parameters
    ----------
    among
        Records outside of which all are known to be unique.

    Examples
    --------
    >>> class_sizes(np.array([[0, 0, 1], [2, 2, 2]], dtype=np.int32), [2, 3], [0, 1]).tolist()
    [2, 1]
    """
    key, room = _keys(codes, sizes, columns, among)
    if room <= _few(len(key)):
        counts = np.bincount(key).astype(np.int64)
        counts = counts[counts > 0]
    else:
        counts = _runs(key)
    return np.append(counts, np.ones(codes.shape[1] - len(key), dtype=np.int64))


def _keys(
    codes: NDArray[np.int32], sizes: Sequence[int], columns: Sequence[int], among: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], int]:
    """A number for the values that each record has in these columns, and how many such numbers there may be."""
    rows = codes.shape[1] if among is None else len(among)
    room = math.prod(sizes[i] for i in columns)
    key = np.zeros(rows, dtype=np.int64)
    for at, i in enumerate(columns):
        code = codes[i] if among is None else codes[i][among]
        if room < 1 << 62:
            key *= sizes[i]
            key += code
        else:
            # Too many combinations for a number: sums of 64 mixed bits for each value, which two of a million
            # combinations share once in ten million tables.
            key += _mixed(np.arange(int(code.max(initial=0)) + 1, dtype=np.uint64) + np.uint64(at << 32))[code]
    return key, room


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Numbers whose bits hang on all bits of those that are given (SplitMix64: Steele, Lea, Flood, OOPSLA 2014)."""
    mixed = (numbers + np.uint64(1)) * MIXED
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed ^ (mixed >> np.uint64(31))).view(np.int64)


def _crowded(key: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether there is another record in the bucket of each: of four times as many buckets as there are records."""
    bits = max(len(key), 2).bit_length() + 2
    bucket = (key.astype(np.uint64) * MIXED >> np.uint64(64 - bits)).astype(np.int64)
    return np.asarray(np.bincount(bucket)[bucket] > 1)


def _few(rows: int) -> int:
    """So many numbers are counted one by one."""
    return 4 * rows + 1024


def _runs(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """How often each key is there."""
    keys = np.sort(keys)
    starts = np.flatnonzero(np.concatenate([[len(keys) > 0], keys[1:] != keys[:-1]]))
    return np.diff(np.append(starts, len(keys)))

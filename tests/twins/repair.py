"""Plain twins of the methods for sets that look for near records, sharing no code with the compiled ones.

Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), Algorithms 4, 5, 9 and 10 to 13, and our own
top-down (k,1). A record is a frozenset of item numbers. Sums of utilities are exact where utilities are whole numbers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

Record = frozenset[int]
WORD = 2**64


class Random:
    """The random numbers of the kernels."""

    def __init__(self, state: int) -> None:
        self.state = state

    def __call__(self, n: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % WORD
        return (self.state >> 33) % n


def mixed(a: int, b: int) -> int:
    z = (a + b * 0x9E3779B97F4A7C15 + 0x632BE59BD9B4E019) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)


def jitter(seed: int, a: int, b: int, noise: float) -> float:
    return 1.0 + noise * ((mixed(mixed(seed, a), b) >> 11) / 2**53)


@dataclass
class Data:
    records: list[Record]
    utility: list[float]

    def u(self, items: Iterable[int]) -> float:
        """The utility of a set."""
        return sum(self.utility[item] for item in items)

    def common(self, members: Iterable[int]) -> Record:
        """What some records share."""
        return frozenset.intersection(*(self.records[r] for r in members))


# ── Locality-sensitive hashing


class Buckets:
    """Algorithms 10, 11 and 13, with bit sets that are given: for each table a list of sets of items."""

    def __init__(self, data: Data, tables: Sequence[Sequence[set[int]]]) -> None:
        self.bits = tables
        self.keys = [[_hash_record(record, bits) for record in data.records] for bits in tables]
        self.tables: list[dict[int, list[int]]] = []
        for keys in self.keys:
            table: dict[int, list[int]] = defaultdict(list)
            for r, key in enumerate(keys):
                table[key].append(r)
            self.tables.append(table)

    def near(self, query: Record, most: int, random: Random, left_out: set[int]) -> list[int]:
        """Those in the buckets of a set, at most so many of each."""
        found: list[int] = []
        for bits, table in zip(self.bits, self.tables, strict=True):
            bucket = table[_hash_record(query, bits)]
            if len(bucket) > most:
                at = random(len(bucket))
                bucket = [*bucket[at:], *bucket[:at]][:most]
            for p in bucket:
                if p not in left_out and p not in found:
                    found.append(p)
        return found

    def remove(self, r: int) -> None:
        for keys, table in zip(self.keys, self.tables, strict=True):
            _drop(table[keys[r]], r)


def _hash_record(record: Record, bits: Sequence[set[int]]) -> int:
    return sum(1 << i for i, some in enumerate(bits) if some & record)


def _drop(some: list[int], r: int) -> None:
    some[some.index(r)] = some[-1]
    some.pop()


def bit_sets(masks: np.ndarray) -> list[list[set[int]]]:
    """For each table the sets of items of its bits."""
    width = max(int(masks.max(initial=0)).bit_length(), 0)
    return [[{i for i, mask in enumerate(row) if mask >> b & 1} for b in range(width)] for row in masks.tolist()]


# ── Algorithm 4


def cluster(
    data: Data, k: int, *, exact: bool, by_shared: bool, sample: int, most: int, buckets: Buckets, random: Random,
    thesis: bool = False,
) -> list[set[int]]:  # fmt: skip
    """Classes of at least k records."""
    left, made = list(range(len(data.records))), []
    own = [data.u(record) for record in data.records]

    def take(r: int) -> None:
        _drop(left, r)
        buckets.remove(r)

    old = random(len(left))
    while len(left) >= k:
        far = left if exact else [left[random(len(left))] for _ in range(sample)]
        first = min(far, key=lambda r: (-data.u(data.records[r] ^ data.records[old]), r))
        take(first)
        members, shares = {first}, data.records[first]
        while len(members) < k:
            query = shares if by_shared else data.records[first]
            near = buckets.near(query, len(data.records), random, set()) if thesis else []
            pool = left if exact else near or _sample(query, left, sample, most, buckets, random)
            r = min(pool, key=lambda r: (-data.u(data.records[r] & shares), own[r], r))
            take(r)
            members.add(r)
            shares &= data.records[r]
        made.append(members)
        old = first
    while left:
        r = left[random(len(left))]
        take(r)
        made[best_class(data, made, range(len(made)), r, thesis)].add(r)
    return made


def _sample(query: Record, left: list[int], sample: int, most: int, buckets: Buckets, random: Random) -> list[int]:
    pool = buckets.near(query, most, random, set())
    if 2 * sample >= len(left):
        return list(left)
    while len(pool) < sample:
        r = left[random(len(left))]
        if r not in pool:
            pool.append(r)
    return pool


def best_class(data: Data, made: list[set[int]], some: Iterable[int], r: int, thesis: bool) -> int:
    """The class whose utility rises most, or falls least, with a record; in the thesis: is highest with it."""

    def rise(c: int) -> float:
        shares = data.common(made[c])
        after = (len(made[c]) + 1) * data.u(shares & data.records[r])
        return after if thesis else after - len(made[c]) * data.u(shares)

    return min(some, key=lambda c: (-rise(c), c))


# ── Algorithm 5


def distance(data: Data, members: set[int]) -> float:
    """The mean distance of two members, as a fraction."""
    pairs = list(combinations(sorted(members), 2))
    apart = sum(data.u(data.records[p] ^ data.records[q]) for p, q in pairs)
    return apart / max(1, len(pairs))


def iterate(
    data: Data,
    k: int,
    rounds: int,
    *,
    exact: bool,
    sample: int,
    most: int,
    buckets: Buckets,
    stream: np.random.Generator,
    thesis: bool = False,
) -> list[set[int]]:
    """Classes of the highest utility that was found."""
    random = Random(int(stream.integers(0, 2**63, 1, dtype=np.uint64)[0]))
    everyone = range(len(data.records))
    made: list[set[int]] = []
    best, highest, before = made, -1.0, -1.0

    def loose() -> list[int]:
        within = set().union(*made)
        return [int(r) for r in stream.permutation([r for r in everyone if r not in within])]

    def join() -> None:
        for r in loose():
            some: Iterable[int] = range(len(made))
            if not exact and (thesis or len(made) > sample):
                some = _some_classes(data, made, r, sample, most, buckets, random, thesis)
            made[best_class(data, made, some, r, thesis)].add(r)

    def good(c: int) -> float:
        return -distance(data, made[c]) if thesis else data.u(data.common(made[c]))

    for parts in range(rounds - 1, 0, -1):
        while True:
            worst = sorted(range(len(made)), key=lambda c: (good(c), c))
            gone = worst[: round(parts / rounds * len(made))]
            made = [members for c, members in enumerate(made) if c not in gone]
            made += [{r} for r in loose()[: max(0, len(data.records) // k - len(made))]]
            join()
            largest = max(range(len(made)), key=lambda c: (len(made[c]), -c))
            made = [members for c, members in enumerate(made) if len(members) >= k or c == largest]
            join()
            total = sum(len(members) * data.u(data.common(members)) for members in made)
            if total > highest:
                best, highest = [set(members) for members in made], total
            if total <= before:
                break
            before = total
        before = total
        if not thesis:
            made, before = [set(members) for members in best], highest
    return best


def _some_classes(
    data: Data, made: list[set[int]], r: int, sample: int, most: int, buckets: Buckets, random: Random, thesis: bool
) -> list[int]:
    of = {p: c for c, members in enumerate(made) for p in members}
    seen: list[int] = []
    for p in buckets.near(data.records[r], len(data.records) if thesis else most, random, set()):
        if p in of and of[p] not in seen:
            seen.append(of[p])
    if thesis and seen:
        return seen
    for _ in range(sample):
        if len(seen) >= sample:
            break
        c = random(len(made))
        if c not in seen:
            seen.append(c)
    return seen


# ── (k,1)


def gather_k(
    data: Data, k: int, *, exact: bool, by_shared: bool, sample: int, most: int, noise: float, buckets: Buckets,
    seed: int,
) -> list[Record]:  # fmt: skip
    """Algorithm 9: what k records around each one share."""
    n = len(data.records)
    exact = exact or 2 * max(sample, 2 * k) >= n
    found = []
    for r in range(n):
        random = Random(mixed(seed, r))
        pool = [p for p in range(n) if p != r] if exact else []
        looked_at, missing, shares = {r}, k - 1, data.records[r]
        while missing and shares:
            equals = _take_equals(data, pool, 0, shares, missing)
            shares = data.common([r, *equals]) & shares
            missing -= len(equals)
            if missing and not exact:
                before = len(pool)
                pool += buckets.near(shares if by_shared else data.records[r], most, random, looked_at)
                looked_at |= set(pool)
                while len(pool) - before < sample and 2 * len(pool) < n:
                    p = random(n)
                    if p not in looked_at:
                        looked_at.add(p)
                        pool.append(p)
                equals = _take_equals(data, pool, before, shares, missing)
                shares = data.common([r, *equals]) & shares
                missing -= len(equals)
            if missing and pool:
                p = min(pool, key=lambda p: (-data.u(data.records[p] & shares) * jitter(seed, r, p, noise), p))
                shares &= data.records[p]
                _drop(pool, p)
                missing -= 1
        found.append(shares)
    return found


def gather_anew(
    data: Data, k: int, *, by_shared: bool, sample: int, noise: float, buckets: Buckets, seed: int
) -> list[Record]:
    """Algorithm 9 with Algorithm 11: what k records around each one share; the buckets are asked for every one of them.

    Of records that have all that is shared, it does not matter which is taken, but for items without utility.
    """
    found = []
    for r, record in enumerate(data.records):
        random, members, shares = Random(mixed(seed, r)), {r}, record
        drawn: list[int] = []
        while len(members) < k and shares:
            pool = buckets.near(shares if by_shared else record, len(data.records), random, members)
            if not pool:
                drawn = [random(len(data.records)) for _ in range(sample)]
                while not (pool := [p for p in drawn if p not in members]):
                    drawn.append(random(len(data.records)))
            equals = [p for p in dict.fromkeys(pool) if data.u(data.records[p] & shares) == data.u(shares)]
            joining = equals[: k - len(members)] or [
                min(pool, key=lambda p: (-data.u(data.records[p] & shares) * jitter(seed, r, p, noise), p))
            ]
            members |= set(joining)
            shares &= data.common(joining)
        found.append(shares)
    return found


def _take_equals(data: Data, pool: list[int], first: int, shares: Record, most: int) -> list[int]:
    """Take those out of the pool who have all utility that is shared, at most so many."""
    i, taken = first, list[int]()
    while i < len(pool) and len(taken) < most:
        if data.u(data.records[pool[i]] & shares) == data.u(shares):
            taken.append(pool[i])
            _drop(pool, pool[i])
        else:
            i += 1
    return taken


def descend(data: Data, k: int, *, ratio: int, cap: int, noise: float, seed: int) -> list[Record]:
    """Our top-down (k,1): sets that grow item by item while at least k records contain them."""
    n = len(data.records)
    positive = [u for u in data.utility if u > 0]
    worth = [max(u, min([*positive, 1.0]) * 1e-6) for u in data.utility]
    sets: list[set[int]] = [set() for _ in range(n)]

    def step(r: int, there: set[int], key: int) -> int | None:
        """Add what all supporting records have; the best item to add next."""
        top, best = -1.0, None
        for item in sorted(data.records[r] - sets[r]):
            now = sum(item in data.records[p] for p in there)
            if now == len(there):
                sets[r].add(item)
            elif now >= k:
                good = worth[item] * jitter(seed, key, item, noise) / math.log(len(there) / now)
                if good > top:
                    top, best = good, item
        return best

    def alone(r: int, support: list[int]) -> None:
        there = set(support)
        while (item := step(r, there, r)) is not None:
            sets[r].add(item)
            there = {p for p in there if item in data.records[p]}

    def branched(group: list[int], there: set[int], key: int) -> dict[int, list[int]]:
        children: dict[int, list[int]] = defaultdict(list)
        for r in group:
            item = step(r, there, key)
            if item is not None:
                sets[r].add(item)
                children[item].append(r)
        return children

    if n <= cap:
        for r in range(n):
            alone(r, list(range(n)))
        return [frozenset(items) for items in sets]
    for root, first in sorted(branched(list(range(n)), set(range(n)), 0).items()):
        support = [r for r in range(n) if root in data.records[r]]
        random = Random(mixed(seed, root + 1))
        stack = [(len(support), -1, first, random.state)]
        while stack:
            have, item, group, path = stack.pop()
            if item >= 0:
                have = _to_front(data, support, have, item)
            limit = max(cap, ratio * len(group))
            if have > limit:
                for i in range(limit):
                    j = i + random(have - i)
                    support[i], support[j] = support[j], support[i]
                have = limit
            if have <= cap:
                for r in group:
                    alone(r, support[:have])
            else:
                children = branched(group, set(support[:have]), path)
                stack += [(have, child, some, mixed(path, child)) for child, some in sorted(children.items())]
    return [frozenset(items) for items in sets]


def _to_front(data: Data, support: list[int], have: int, item: int) -> int:
    kept = 0
    for i in range(have):
        r = support[i]
        if item in data.records[r]:
            support[i], support[kept] = support[kept], r
            kept += 1
    return kept

"""Methods for sets as the thesis writes them: plain, slow, one rule a line."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from functools import reduce

Sets = Sequence[frozenset[int]]


def closure(members: Sequence[int], sets: Sets) -> frozenset[int]:
    return reduce(frozenset.intersection, (sets[i] for i in members))


def utility(classes: Sequence[Sequence[int]], sets: Sets, worth: Sequence[float]) -> float:
    return sum(len(members) * sum(worth[a] for a in closure(members, sets)) for members in classes)


def fewest_containing(asked: Sets, sets: Sets) -> int:
    return min(sum(one <= record for record in sets) for one in asked)


# ── Algorithm 3


def even(members: Sequence[int], item: int, sets: Sets, worth: Sequence[float]) -> float:
    return sum(item in sets[i] for i in members)


def per_bit(members: Sequence[int], item: int, sets: Sets, worth: Sequence[float]) -> float:
    p = even(members, item, sets, worth) / len(members)
    return worth[item] * p / -(p * math.log2(p) + (1 - p) * math.log2(1 - p))


def less_entropy(members: Sequence[int], item: int, sets: Sets, worth: Sequence[float]) -> float:
    def entropy(some: Sequence[int]) -> float:
        total = 0.0
        for b in range(len(worth)):
            p = sum(b in sets[i] for i in some) / len(some)
            total -= len(some) * sum(q * math.log(q) for q in (p, 1 - p) if q > 0)
        return total

    return -entropy([i for i in members if item in sets[i]]) - entropy([i for i in members if item not in sets[i]])


def mondrian(
    members: Sequence[int],
    sets: Sets,
    worth: Sequence[float],
    k: int,
    score: Callable[[Sequence[int], int, Sets, Sequence[float]], float],
) -> list[list[int]]:
    allowed = [a for a in range(len(worth)) if k <= sum(a in sets[i] for i in members) <= len(members) - k]
    if not allowed:
        return [sorted(members)]
    scores = {a: score(members, a, sets, worth) for a in allowed}
    best = max(scores.values())
    cut = next(a for a in allowed if scores[a] >= best - 1e-9 * abs(best))
    with_it = [i for i in members if cut in sets[i]]
    without = [i for i in members if cut not in sets[i]]
    return [*mondrian(with_it, sets, worth, k, score), *mondrian(without, sets, worth, k, score)]


# ── Algorithms 6 to 8


def by_worth(sets: Sets, worth: Sequence[float]) -> tuple[list[frozenset[int]], list[float]]:
    """Items numbered by utility × frequency, falling."""
    order = sorted(range(len(worth)), key=lambda a: -worth[a] * sum(a in s for s in sets))
    rank = {a: r for r, a in enumerate(order)}
    return [frozenset(rank[a] for a in s) for s in sets], [worth[a] for a in order]


def merge(sets: Sets, worth: Sequence[float], k: int) -> list[list[int]]:
    """Algorithm 7; items are numbered by worth. Classes in the order of the records that founded them."""
    members: dict[frozenset[int], list[int]] = {}
    for i, s in enumerate(sets):
        members.setdefault(s, []).append(i)
    arrived = {s: of[0] for s, of in members.items()}
    clock = len(sets)
    while small := [s for s, of in members.items() if len(of) < k and s]:
        smallest = min(small, key=lambda s: (len(members[s]), -max(s), -arrived[s]))
        mine = members.pop(smallest)
        reachable = [a for a in sorted(smallest, reverse=True) if smallest - {a} in members]
        if reachable:
            best = max(
                reachable,
                key=lambda a: (len(members[smallest - {a}]) + len(mine)) * sum(worth[b] for b in smallest - {a}),
            )
            there = smallest - {best}
            members[there].extend(mine)
            arrived[there] = members[there][0]
        else:
            there = smallest - {max(smallest)}
            members[there] = mine
            arrived[there] = clock
            clock += 1
    return fill_up(members, worth, k)


def fill_up(members: dict[frozenset[int], list[int]], worth: Sequence[float], k: int) -> list[list[int]]:
    """Fewer than k records that have nothing left to drop are joined by the cheapest others."""
    value = {s: sum(worth[a] for a in s) for s in members}
    nothing: frozenset[int] = frozenset()
    while nothing in members and len(members[nothing]) < k:
        others = sorted((s for s in members if s), key=lambda s: members[s][0])
        donors = [s for s in others if len(members[s]) > k]
        if donors:
            donor = members[min(donors, key=value.__getitem__)]
            count = min(len(donor) - k, k - len(members[nothing]))
            members[nothing].extend(donor[1 : 1 + count])
            del donor[1 : 1 + count]
        else:
            whole = min(others, key=lambda s: value[s] * len(members[s]))
            members[nothing].extend(members.pop(whole))
    return sorted(members.values(), key=lambda of: of[0])


def split_back(
    classes: Sequence[Sequence[int]], sets: Sets, worth: Sequence[float], k: int, again: bool
) -> list[list[int]]:
    """Algorithm 8; closed again whenever records came or left, or only once."""
    members: dict[frozenset[int], list[int]] = {}
    to_check: deque[frozenset[int]] = deque()
    for some in classes:
        closed = closure(some, sets)
        if closed not in members:
            to_check.append(closed)
        members.setdefault(closed, []).extend(some)
    while to_check:
        c = to_check.popleft()
        if c not in members:
            continue
        while True:
            closed = closure(members[c], sets)
            if again and closed != c:
                mine = members.pop(c)
                if closed in members:
                    members[closed].extend(mine)
                    if closed not in to_check:
                        to_check.append(closed)
                    break
                members[closed] = mine
                c = closed
            mine = members[c]
            gains = {}
            for a in range(len(worth)):
                having = sum(a in sets[i] for i in mine)
                exists = c | {a} in members and len(mine) > k
                if a not in c and a not in closed and having and (exists or (len(mine) >= 2 * k and having >= k)):
                    gains[a] = worth[a] * min(having, len(mine) - k)
            if not gains or max(gains.values()) <= 0:
                break
            item = max(gains, key=gains.__getitem__)
            moved = [i for i in mine if item in sets[i]][: len(mine) - k]
            members[c] = [i for i in mine if i not in moved]
            members.setdefault(c | {item}, []).extend(moved)
            if c | {item} not in to_check:
                to_check.append(c | {item})
    return list(members.values())

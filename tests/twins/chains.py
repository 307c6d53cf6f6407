"""Plain twin of chains: one record at a time, along any way from a class that can spare one to a cheaper class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tests.twins.cluster import Boxes, Group
from tests.twins.facility import contains
from tests.twins.mondrian import Record


def least_cost(boxes: Boxes, codes: Sequence[Record], k: int, given: Sequence[Group]) -> int:
    """The least that classes of k records or more can lose whose boxes stay as they are.

    Where nothing goes from a class that can spare it to one that costs less any more, no other records do better:
    a circle of classes that pass records on saves nothing.
    """
    members = [[codes[t] for t, _ in group] for group in given]
    cost = [boxes.ncp(some) for some in members]
    room = [[contains(boxes, some, one) for one in codes] for some in members]
    held = [Counter(dict(group)) for group in given]
    while chain := _chain(held, room, cost, k):
        for t, c, to in chain:
            held[c][t] -= 1
            held[to][t] += 1
    return sum(some.total() * cost[c] for c, some in enumerate(held))


def _chain(
    held: Sequence[Counter[int]], room: Sequence[Sequence[bool]], cost: Sequence[int], k: int
) -> list[tuple[int, int, int]]:
    """Which records go from which class to which, so that one more is in a class that costs less; nothing where none
    can."""
    for source, some in enumerate(held):
        if some.total() <= k:
            continue
        ways: dict[int, list[tuple[int, int, int]]] = {source: []}
        for c in (waiting := [source]):
            for to in (b for b in range(len(held)) if b not in ways):
                t = next((t for t, n in held[c].items() if n and room[to][t]), None)
                if t is None:
                    continue
                ways[to] = [*ways[c], (t, c, to)]
                waiting.append(to)
                if cost[to] < cost[source]:
                    return ways[to]
    return []

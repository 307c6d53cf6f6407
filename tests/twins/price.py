"""Plain twins of prices: boxes by trying all vectors of levels, prices and classes over lists and dictionaries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import product

from tests.twins.cluster import Group
from tests.twins.mondrian import Record

Nodes = Sequence[Sequence[Sequence[int]]]
"""For each line, level by level, the node of each code."""


def dearest(prices: Sequence[int], left: Sequence[int], box: Sequence[int], k: int) -> Group:
    """The k dearest records of a box: of equal ones the first; nothing where there are fewer."""
    some: Group = []
    for t in sorted(box, key=lambda t: (-prices[t], t)):
        amount = min(left[t], k - sum(n for _, n in some))
        if amount > 0:
            some.append((t, amount))
    return some if sum(n for _, n in some) == k else []


def paid(prices: Sequence[int], some: Group) -> int:
    """What records pay."""
    return sum(prices[t] * n for t, n in some)


def boxes_plainly(
    codes: Sequence[Record],
    counts: Sequence[int],
    prices: Sequence[int],
    nodes: Nodes,
    cost: Callable[[int, int], int],
    k: int,
    reach: float,
) -> set[tuple[int, ...]]:
    """The tuples of all boxes in which their k dearest records cost no more than now, times ``reach``."""
    found = set()
    for vector in product(*(range(len(levels)) for levels in nodes)):
        together: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for t, code in enumerate(codes):
            together[tuple(nodes[a][level][code[a]] for a, level in enumerate(vector))].append(t)
        for where, box in together.items():
            lower = [{nodes[a][level - 1][codes[t][a]] for t in box} for a, level in enumerate(vector) if level > 0]
            some = dearest(prices, counts, box, k)
            costs = sum(cost(a, node) for a, node in enumerate(where))
            if some and all(len(below) > 1 for below in lower) and paid(prices, some) * reach >= k * costs:
                found.add(tuple(box))
    return found


class Dive:
    """Prices and classes of boxes that are asked in an order."""

    def __init__(self, boxes: Sequence[Sequence[int]], costs: Sequence[int], counts: Sequence[int], k: int) -> None:
        self.boxes, self.costs, self.left, self.k = boxes, costs, list(counts), k
        self.lowered = [0] * len(boxes)

    def sweep(self, prices: list[int], order: Sequence[int], rise: int) -> None:
        """All prices rise; boxes whose records pay too much lower theirs."""
        for t in range(len(prices)):
            prices[t] += rise
        for b in order:
            some = dearest(prices, self.left, self.boxes[b], self.k)
            above = paid(prices, some) // self.k - self.costs[b]
            if some and above > 0:
                self.lowered[b] += above
                for t, n in some:
                    prices[t] -= above * n // self.left[t]

    def customers(self, prices: Sequence[int], b: int) -> Group:
        """Who would be in the class of a box: the k dearest, and all that pay more than it costs."""
        some = dict(dearest(prices, self.left, self.boxes[b], self.k))
        if some:
            some |= {t: self.left[t] for t in self.boxes[b] if self.left[t] and prices[t] > self.costs[b]}
        return sorted(some.items())

    def open(self, prices: list[int], order: Sequence[int], share: float, fair: float, good: float) -> list[Group]:
        """The classes of a round."""
        made: list[Group] = []
        goal, taken = share * sum(self.left), 0
        for b in sorted(order, key=lambda b: (-self.lowered[b], order.index(b))):
            if not self.lowered[b] or (made and taken >= goal):
                break
            some = self.customers(prices, b)
            have = sum(n for _, n in some)
            if some and paid(prices, some) >= (max(good, fair) if made else fair) * self.costs[b] * have:
                made.append(some)
                taken += have
                for t, n in some:
                    self.left[t] -= n
        return made

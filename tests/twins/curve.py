"""Plain twins of the methods along a curve, as the papers tell them: slow, readable, sharing no code with the kernels.

Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007: Fig. 3 (optimal k-anonymity), Fig. 8 with Fig. 9 (l-diversity). Skilling
2004 for the Hilbert curve. A record is a tuple of codes; the records of a row are in the order of the curve.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from rothko.data.line import Kind, Line
from rothko.privacy import AlphaK, PSensitive, Requirement
from tests.twins.mondrian import Allowed, Record, lowest_common_node, missing_code, path, satisfies

Loss = Callable[[int, int], float]
"""The loss of the group of the records from one to before another."""


def hilbert_index(point: Sequence[int], bits: int) -> int:
    """The place of a point on the Hilbert curve (AxestoTranspose of the paper, bit by bit)."""
    x = list(point)
    last = len(x) - 1
    q = 1 << (bits - 1)
    while q > 1:
        p = q - 1
        for i in range(len(x)):
            if x[i] & q:
                x[0] ^= p
            else:
                t = (x[0] ^ x[i]) & p
                x[0] ^= t
                x[i] ^= t
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    t = 0
    q = 1 << (bits - 1)
    while q > 1:
        if x[last] & q:
            t ^= q - 1
        q >>= 1
    index = 0
    for bit in range(bits - 1, -1, -1):
        for number in x:
            index = index << 1 | ((number ^ t) >> bit) & 1
    return index


def number(line: Line, code: int) -> float:
    """The number of a code by section 5 of the paper: the value, from the smallest one on, or the place in the walk."""
    count = len(line.values)
    if line.kind is not Kind.ORDERED or count == 0:
        return float(code)
    if code < count:
        return float(line.places[code])
    return float(line.places[-1]) + (float(line.places[-1]) or 1.0) / count


def point(lines: Sequence[Line], record: Record, bits: int) -> list[float]:
    """The numbers of a record, shrunk by one factor where the widest line needs more bits."""
    most = max(number(line, line.size - 1) for line in lines)
    factor = ((1 << bits) - 1) / most if most > (1 << bits) - 1 else 1.0
    return [number(line, code) * factor for line, code in zip(lines, record, strict=True)]


def place_by_centre(centres: Sequence[Sequence[int]], numbers: Sequence[float], bits: int) -> float:
    """iDistance: the Hilbert value of the nearest centre, the first of several, plus the distance to it."""
    distance, nearest = min((math.dist(centre, numbers), c) for c, centre in enumerate(centres))
    return hilbert_index(centres[nearest], bits) + distance


def width(line: Line, codes: set[int]) -> float:
    """NCP of some codes of a line as a local recoding publishes them: a range, a node, a set."""
    size = len(line.values) + line.missing
    if len(codes) == 1:
        return 0.0
    if missing_code(line) in codes:
        return 1.0
    if line.kind is Kind.ORDERED:
        return float((line.places[max(codes)] - line.places[min(codes)]) / line.span)
    if line.kind is Kind.NOMINAL:
        return len(codes) / size
    top = lowest_common_node(line, codes)
    return sum(top in path(line, code) for code in range(size)) / size


def ncp(lines: Sequence[Line], records: Sequence[Record]) -> float:
    """Weighted NCP of a group of records."""
    return sum(line.weight * width(line, {record[a] for record in records}) for a, line in enumerate(lines))


def last_groups(n: int, k: int, loss: Loss) -> dict[int, tuple[float, int]]:
    """Fig. 3: of the first records, as many as can be grouped, the least loss, and where the last group begins."""
    best: dict[int, tuple[float, int]] = {0: (0.0, 0)}
    for i in range(k, n + 1):
        tried = [(best[j][0] + loss(j, i), -j) for j in range(max(i - 2 * k + 1, 0), i - k + 1) if j in best]
        if tried:
            least, j = min(tried)
            best[i] = least, -j
    return best


def optimal_groups(n: int, k: int, loss: Loss) -> tuple[float, list[int]]:
    """The least loss of all records, and where its groups begin, with n at the end."""
    best = last_groups(n, k, loss)
    starts = [n]
    while starts[0] > 0:
        starts.insert(0, best[starts[0]][1])
    return best[n][0], starts


def losses_of_boxes(lines: Sequence[Line], records: Sequence[Record], k: int) -> dict[tuple[int, int], float]:
    """Size · NCP of all groups of k to 2k − 1 records in a row, each from where to before where."""
    found: dict[tuple[int, int], float] = {}
    for begin in range(len(records)):
        codes: list[set[int]] = [set() for _ in lines]
        widths = [0.0] * len(lines)
        for end in range(begin + 1, min(begin + 2 * k, len(records) + 1)):
            for a, (line, code) in enumerate(zip(lines, records[end - 1], strict=True)):
                if code not in codes[a]:
                    codes[a].add(code)
                    widths[a] = line.weight * width(line, codes[a])
            if end - begin >= k:
                found[begin, end] = (end - begin) * sum(widths)
    return found


def all_groupings(n: int, k: int) -> Iterator[list[int]]:
    """Every way to part n records in a row into groups of at least k, as the places at which they begin, and n."""
    if n >= k:
        yield [0, n]
    for last in range(k, n - k + 1):
        for starts in all_groupings(last, k):
            yield [*starts, n]


def eligible(left: Counter[int], size: int) -> bool:
    """EG: no value has more than 1/l of what is left."""
    return max(left.values(), default=0) * size <= left.total()


def diverse_groups(
    values: Sequence[int], size: int, wide: Callable[[list[int]], float], *, once: bool = False
) -> list[list[int]]:
    """Figs. 8 and 9 with l = ``size``; ``wide`` tells how wide a group of places is.

    By the paper the optimisation is tried ``once`` for each group; else as long as it does not have 2l − 1 records.
    """
    buckets: dict[int, list[int]] = {}
    for place, value in enumerate(values):
        buckets.setdefault(value, []).append(place)
    groups: list[list[int]] = []

    def frontier() -> list[int]:
        return sorted(places[0] for places in buckets.values() if places)

    def left_without(group: Sequence[int]) -> Counter[int]:
        left = Counter({value: len(places) for value, places in buckets.items()})
        left.subtract(values[place] for place in group)
        return left

    def first_eligible(candidates: list[int]) -> list[int] | None:
        for count in range(size, len(candidates) + 1):
            if eligible(left_without(candidates[:count]), size):
                return candidates[:count]
        return None

    def take(place: int) -> None:
        buckets[values[place]].remove(place)

    while nearest := frontier():
        largest = sorted(nearest, key=lambda place: (-len(buckets[values[place]]), place))
        group = first_eligible(nearest) or first_eligible(largest)
        assert group is not None, "the fall-back step always succeeds"
        for place in group:
            take(place)
        most = len(group) + 1 if once else 2 * size - 1
        while (nearest := frontier()) and len(group) < most:
            following = nearest[0]
            if values[following] in [values[place] for place in group]:
                break
            if wide([*group, following]) >= wide(nearest[:size]) or not eligible(left_without([following]), size):
                break
            group.append(following)
            take(following)
        groups.append(group)
    return groups


def joined(sizes: Sequence[int], k: int, loss: Loss) -> float:
    """The least loss of joining groups in a row to at least k records each; ``loss`` is of groups from … to."""
    best = {0: 0.0}
    for e in range(1, len(sizes) + 1):
        tried = [best[b] + loss(b, e) for b in range(e) if b in best and sum(sizes[b:e]) >= k]
        if tried:
            best[e] = min(tried)
    return best[len(sizes)]


def merged(starts: Sequence[int], allowed: Allowed, loss: Loss, members: Sequence[int]) -> list[int]:
    """Where classes begin after merging groups in a row until each is allowed, and the number of records."""

    def holds(begin: int, end: int) -> bool:
        return allowed([members[i] for i in range(begin, end)])

    found: list[int] = []
    begin = 0
    for g, end in enumerate(starts[1:]):
        if holds(begin, end):
            found.append(begin)
            begin = end
        elif found and begin == starts[g] and g + 2 < len(starts) and begin - found[-1] <= 8 * (end - begin):
            before, after = found[-1], starts[g + 2]
            back, on = loss(before, end) - loss(before, begin), loss(begin, after) - loss(end, after)
            if back < on and holds(before, end):
                begin = end
    n = starts[-1]
    while begin < n and found:
        begin = found.pop()
        if holds(begin, n):
            found.append(begin)
            begin = n
    return [*(found if begin == n else [0]), n]


def about_values(requirements: Sequence[Requirement], sensitive: dict[str, list[Any]]) -> Allowed:
    """Whether records meet requirements as far as these are about values, not about the number of records."""
    without = [replace(r, k=2) if isinstance(r, (AlphaK, PSensitive)) else r for r in requirements]

    def allowed(numbers: list[int]) -> bool:
        twice = list(numbers) * 2  # as diverse, and at least two records
        return all(satisfies(r, twice if isinstance(r, (AlphaK, PSensitive)) else numbers, sensitive) for r in without)

    return allowed

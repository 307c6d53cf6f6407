"""The cheapest box around a record that holds k records, by trying them all."""

from __future__ import annotations

from itertools import combinations, product

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line

Sides = list[tuple[set[int], float]]
"""Codes that a box may have on a line, and what they cost."""


def cheapest_box(encoded: Encoded, k: int, record: int) -> float:
    """What it costs."""
    choices = [sides(line, int(codes[record])) for line, codes in zip(encoded.lines, encoded.codes, strict=True)]
    records = encoded.codes.T.tolist()
    weights = sum(line.weight for line in encoded.lines)
    best = float("inf")
    for box in product(*choices):
        cost = sum(line.weight * wide for line, (_, wide) in zip(encoded.lines, box, strict=True)) / weights
        inside = (all(code in some for code, (some, _) in zip(codes, box, strict=True)) for codes in records)
        if cost < best and sum(inside) >= k:
            best = cost
    return best


def sides(line: Line, own: int) -> Sides:
    """All that a box around a code can have on a line."""
    found: Sides = [({own}, 0.0), (set(range(line.size)), 1.0)]
    if own == line.missing_code:
        return found
    present = range(len(line.values))
    if line.kind is Kind.ORDERED:
        found += [
            (set(range(a, b + 1)), float(line.places[b] - line.places[a]) / line.span)
            for a in range(own + 1)
            for b in range(own, len(present))
        ]
    elif line.kind is Kind.NOMINAL:
        others = [code for code in present if code != own]
        found += [
            ({own, *some}, (n + 1) / line.size) for n in range(1, len(others) + 1) for some in combinations(others, n)
        ]
    else:
        assert line.tree is not None
        node = int(line.tree.leaf[own])
        while node >= 0:
            low, high = int(line.tree.low[node]), int(line.tree.high[node])
            found.append((set(range(low, high + 1)), 0.0 if low == high else (high - low + 1) / line.size))
            node = int(line.tree.parent[node])
    return found

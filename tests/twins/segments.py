"""Plain twin of the segments of a curve: keys as whole numbers, halved one bit at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def cells(keys: Sequence[int], most: int, bits: int, depth: int = 0) -> list[list[int]]:
    """The keys in the largest cells that have no more than so many, or whose keys are all the same."""
    if not keys:
        return []
    if len(keys) <= most or depth == bits:
        return [list(keys)]
    upper = 1 << (bits - depth - 1)
    return [
        cell
        for side in (0, upper)
        for cell in cells([key for key in keys if key & upper == side], most, bits, depth + 1)
    ]


def segments(keys: Sequence[int], most: int, bits: int) -> list[list[int]]:
    """The keys of each segment."""
    found: list[list[int]] = []
    for cell in cells(sorted(keys), most, bits):
        if found and len(found[-1]) + len(cell) <= most:
            found[-1] += cell
        else:
            found.append(cell)
    return found


def held(some: Sequence[list[int]], holds: Callable[[list[int]], bool]) -> list[list[int]]:
    """Segments joined with those after them until each holds, and what is left with those before it."""
    found: list[list[int]] = []
    rest: list[int] = []
    for one in some:
        rest = rest + one
        if holds(rest):
            found.append(rest)
            rest = []
    while rest and found and not holds(rest):
        rest = found.pop() + rest
    return [*found, rest] if rest else found

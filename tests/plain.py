"""Plain twins: the algorithms as the papers tell them, slow and readable, sharing no code with the compiled ones.

A record is a tuple of codes, one per line. Of a :class:`~rothko.data.line.Line` only its kind, values,
weight and whether it has missing values are used, and of its tree only who is whose parent.

Median Mondrian: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 2.2, and the figure of KDD 2006:

    Anonymize(partition)
        if no allowable multidimensional cut for partition: return it
        dim ← choose_dimension()            the widest normalised range that has an allowable cut
        split at the median                  or into the children of the hierarchy's node
        return Anonymize(parts)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from rothko.data.line import Kind, Line
from rothko.privacy import (
    AlphaK,
    DistinctLDiversity,
    EntropyLDiversity,
    FrequencyLDiversity,
    KAnonymity,
    PAlpha,
    PSensitive,
    RecursiveLDiversity,
    Requirement,
    SquaredErrorDiversity,
    TCloseness,
    VarianceDiversity,
)

Record = tuple[int, ...]
Allowed = Callable[[list[int]], bool]
"""Whether a list of record numbers meets every requirement."""


class Class(NamedTuple):
    """A class of the partition."""

    records: list[int]
    """Record numbers, sorted."""
    region: tuple[tuple[int, int], ...]
    """First and last code per line of the region that the cuts left it (only meaningful when strict)."""


# ── requirements, by their definitions ───────────────────────────────────────────────────────────


def satisfies(requirement: Requirement, numbers: Sequence[int], sensitive: dict[str, list[Any]]) -> bool:
    """Whether the records with these numbers meet the requirement, in exact arithmetic."""
    if isinstance(requirement, KAnonymity):
        return len(numbers) >= requirement.k
    column = sensitive[str(requirement.column)]
    values = [column[i] for i in numbers]
    falling = sorted(Counter(values).values(), reverse=True)
    match requirement:
        case DistinctLDiversity():
            return len(falling) >= requirement.l
        case EntropyLDiversity():
            return entropy_reaches(falling, as_fraction(requirement.l))
        case RecursiveLDiversity():
            return requirement.l == 1 or falling[0] < as_fraction(requirement.c) * sum(falling[requirement.l - 1 :])
        case FrequencyLDiversity():
            return falling[0] * as_fraction(requirement.l) <= len(values)
        case AlphaK():
            return falling[0] <= as_fraction(requirement.alpha) * len(values) and len(values) >= requirement.k
        case PSensitive():
            return len(falling) >= requirement.p and len(values) >= requirement.k
        case PAlpha():
            return len(categories(requirement, values)) >= requirement.p
        case TCloseness():
            return distance(requirement, values, column) <= as_fraction(requirement.t)
        case VarianceDiversity():
            return spread(values) >= as_fraction(requirement.v) * max(present(values), 1)
        case SquaredErrorDiversity():
            return spread(values) >= as_fraction(requirement.error)
    raise NotImplementedError(requirement)


def reaches(requirement: Requirement, values: Sequence[Any], column: Sequence[Any]) -> float:
    """What a class with these values reaches; ``column`` has the values of the whole table."""
    falling = sorted(Counter(values).values(), reverse=True)
    n = len(values)
    match requirement:
        case KAnonymity():
            return n
        case DistinctLDiversity() | PSensitive():
            return len(falling)
        case EntropyLDiversity():
            return math.exp(-sum(c / n * math.log(c / n) for c in falling))
        case RecursiveLDiversity():
            c = as_fraction(requirement.c)
            return max([1, *(i + 1 for i in range(1, len(falling)) if falling[0] < c * sum(falling[i:]))])
        case FrequencyLDiversity():
            return n / falling[0]
        case AlphaK():
            return falling[0] / n
        case PAlpha():
            return len(categories(requirement, values))
        case TCloseness():
            return float(distance(requirement, values, column))
        case VarianceDiversity():
            return float(spread(values) / max(present(values), 1))
        case SquaredErrorDiversity():
            return float(spread(values))
    raise NotImplementedError(requirement)


def as_fraction(number: float) -> Fraction:
    return Fraction(str(number))


def entropy_reaches(counts: list[int], bound: Fraction) -> bool:
    """−Σ p log p ≥ log l means n^n ≥ l^n · Π c^c. The project passes a class that is exactly on the bound only where
    its values are equally frequent: other ones cannot be told from those that are just below it.
    """
    n = sum(counts)
    left = Fraction(n) ** n
    right = bound**n * math.prod(c**c for c in counts)
    return left > right or (left == right and len(set(counts)) == 1)


def categories(requirement: PAlpha, values: Sequence[Any]) -> set[str | None]:
    return {None if value is None else requirement.categories[str(value)] for value in values}


def present(values: Sequence[Any]) -> int:
    return sum(value is not None for value in values)


def spread(values: Sequence[Any]) -> Fraction:
    """Σ (s − mean)² of the numbers that are there."""
    numbers = [Fraction(value) for value in values if value is not None]
    mean = sum(numbers, Fraction(0)) / max(len(numbers), 1)
    return sum(((x - mean) ** 2 for x in numbers), Fraction(0))


def distance(requirement: TCloseness, values: Sequence[Any], column: Sequence[Any]) -> Fraction:
    """The earth mover's distance between the values of a class and those of the table (Li et al. 2007)."""

    def share(of: Sequence[Any], held: Any) -> Fraction:
        return Fraction(sum(value in held for value in of), len(of))

    def difference(held: Any) -> Fraction:
        return abs(share(values, held) - share(column, held))

    domain = sorted({value for value in column if value is not None}) + [None] * (None in column)
    if requirement.distance == "equal":
        return sum((difference([value]) for value in domain), Fraction(0)) / 2
    if requirement.distance == "ordered":
        steps = [difference(domain[:i]) for i in range(1, len(domain))]
        return sum(steps, Fraction(0)) / max(len(steps), 1)
    # A hierarchy is a road map: the road between a node and the one above it is half as long as the difference of
    # their heights, so that two leaves are as far apart as their lowest common node is high.
    assert requirement.hierarchy is not None
    roads: list[tuple[int, list[Any]]] = []

    def height(below: Any) -> tuple[int, list[Any]]:
        """How high a node is, and its leaves; notes the roads to its children."""
        below = [below] if isinstance(below, dict) else below
        children = [(0, [child]) for child in below if isinstance(child, str)]
        children += [height(under) for child in below if isinstance(child, dict) for under in child.values()]
        high = 1 + max(h for h, _ in children)
        roads.extend((high - h, leaves) for h, leaves in children)
        return high, [leaf for _, leaves in children for leaf in leaves]

    top, _ = height(requirement.hierarchy.nested)
    roads.append((top, [None]))
    texts = [[None if value is None else str(value) for value in of] for of in (values, column)]
    values, column = texts
    return sum((length * difference(leaves) for length, leaves in roads), Fraction(0)) / (2 * top)


def all_of(requirements: Sequence[Requirement], sensitive: dict[str, list[Any]]) -> Allowed:
    return lambda numbers: all(satisfies(requirement, numbers, sensitive) for requirement in requirements)


# ── lines ────────────────────────────────────────────────────────────────────────────────────────


def missing_code(line: Line) -> int | None:
    return len(line.values) if line.missing else None


def path(line: Line, code: int) -> list[int]:
    """The nodes above a leaf, itself first and the root last."""
    node, nodes = int(line.tree.leaf[code]), []
    while node >= 0:
        nodes.append(node)
        node = int(line.tree.parent[node])
    return nodes


def lowest_common_node(line: Line, codes: set[int]) -> int:
    paths = [path(line, code) for code in codes]
    return next(node for node in paths[0] if all(node in other for other in paths))


def width(line: Line, codes: set[int]) -> Fraction:
    """Normalised width of the smallest interval around the codes (Ghinita et al. 2007, section 2.1), exactly."""
    size = len(line.values) + line.missing
    if len(codes) == 1:
        return Fraction(0)
    if missing_code(line) in codes:
        return Fraction(1)
    if line.kind is Kind.ORDERED:
        values = [Fraction(value) for value in line.values.to_pylist()]
        return (values[max(codes)] - values[min(codes)]) / (values[-1] - values[0])
    if line.kind is Kind.NOMINAL:
        return Fraction(max(codes) - min(codes) + 1, size)
    top = lowest_common_node(line, codes)
    return Fraction(sum(top in path(line, code) for code in range(size)), size)


# ── cuts ─────────────────────────────────────────────────────────────────────────────────────────


class Part(NamedTuple):
    """One part of a cut."""

    records: list[int]
    begins: int
    """The first code that belongs to the part; that of the first part is not used."""


def line_cuts(codes: dict[int, int], relaxed: bool) -> Iterator[tuple[Part, Part]]:
    """Every cut of a line in two, from left to right; relaxed ones may divide equal codes, in the records' order."""
    in_order = sorted(codes, key=codes.__getitem__)
    for p in range(1, len(in_order)):
        cut = codes[in_order[p]]
        if relaxed or codes[in_order[p - 1]] < cut:
            left = set(in_order[:p])
            yield Part([i for i in codes if i in left], 0), Part([i for i in codes if i not in left], cut)


def tree_cut(line: Line, codes: dict[int, int]) -> list[Part]:
    """One part per child of the lowest common node; children without records are left out."""
    top = lowest_common_node(line, set(codes.values()))
    children: dict[int, list[int]] = {}
    for i, code in codes.items():
        nodes = path(line, code)
        children.setdefault(nodes[nodes.index(top) - 1], []).append(i)
    size = len(line.values) + line.missing
    begins = {child: min(code for code in range(size) if child in path(line, code)) for child in children}
    return [Part(children[child], begins[child]) for child in sorted(children, key=begins.__getitem__)]


def allowable_cuts(line: Line, codes: dict[int, int], allowed: Allowed, relaxed: bool) -> list[Sequence[Part]]:
    """All cuts of a class on one line after which every part meets the requirements."""
    if len(set(codes.values())) == 1:
        return []
    cuts = [tree_cut(line, codes)] if line.kind is Kind.TREE else line_cuts(codes, relaxed)
    return [cut for cut in cuts if all(allowed(part.records) for part in cut)]


def best_cut(line: Line, codes: dict[int, int], allowed: Allowed, relaxed: bool) -> Sequence[Part] | None:
    """Missing from present if that is allowable, else the allowable cut nearest the median, the lower of two."""
    cuts = allowable_cuts(line, codes, allowed, relaxed)
    if not cuts or line.kind is Kind.TREE:
        return cuts[0] if cuts else None
    absent = [i for i in codes if codes[i] == missing_code(line)]
    for cut in cuts:
        if absent and cut[1].records == absent:
            return cut
    return min(cuts, key=lambda cut: abs(2 * len(cut[0].records) - len(codes)))


# ── the recursion ────────────────────────────────────────────────────────────────────────────────


def mondrian(
    lines: Sequence[Line], records: Sequence[Record], allowed: Allowed, *, relaxed: bool = False
) -> list[Class]:
    """The classes from left to right."""
    whole = tuple((0, len(line.values) + line.missing - 1) for line in lines)
    return list(_anonymize(lines, records, list(range(len(records))), whole, allowed, relaxed))


def _anonymize(
    lines: Sequence[Line],
    records: Sequence[Record],
    numbers: list[int],
    region: tuple[tuple[int, int], ...],
    allowed: Allowed,
    relaxed: bool,
) -> Iterator[Class]:
    widths = [
        Fraction(line.weight) * width(line, {records[i][a] for i in numbers}) if numbers else Fraction(0)
        for a, line in enumerate(lines)
    ]
    for a in sorted(range(len(lines)), key=lambda a: -widths[a]):  # stable: ties to the first
        cut = best_cut(lines[a], {i: records[i][a] for i in numbers}, allowed, relaxed)
        if cut is None:
            continue
        edges = [region[a][0], *(part.begins for part in cut[1:]), region[a][1] + 1]
        for part, first, after in zip(cut, edges, edges[1:], strict=False):
            yield from _anonymize(
                lines, records, part.records, (*region[:a], (first, after - 1), *region[a + 1 :]), allowed, relaxed
            )
        return
    yield Class(sorted(numbers), region)

"""Plain twins: the algorithms as the papers tell them, slow and readable, sharing no code with the compiled ones.

A record is a tuple of codes, one per line. Of a :class:`~rothko.data.line.Line` only its kind, values,
weight and whether it has missing values are used, and of its tree only who is whose parent.

Median Mondrian: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 2.2, and the figure of KDD 2006:

    Anonymize(partition)
        if no allowable multidimensional cut for partition: return it
        dim ← choose_dimension()            the widest normalised range that has an allowable cut
        split at the median                  or into the children of the hierarchy's node
        return Anonymize(parts)

With a workload (section 3 of the same paper) the split is chosen among all allowable ones: first the one that lowers
the imprecision of the queries most (equation 7), when none does the one with the lowest impurity of the targets
(equations 3 to 6), when that gains too little the median.

By the ``letter`` of that paper the left side of a median cut has the values up to the median, and a line has no other
cut; queries overlap the regions of the cuts; models cut until there is no allowable cut.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
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
Region = tuple[tuple[int, int], ...]
"""The first and the last code of each line."""
Allowed = Callable[[list[int]], bool]
"""Whether a list of record numbers meets every requirement."""


class Class(NamedTuple):
    """A class of the partition."""

    records: list[int]
    """Record numbers, sorted."""
    region: Region
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


def cut_after_the_median(line: Line, codes: dict[int, int], allowed: Allowed) -> Sequence[Part] | None:
    """To the letter: values up to the median (the lower of two) on the left, if that is allowable; missing first."""
    cuts = allowable_cuts(line, codes, allowed, False)
    if line.kind is Kind.TREE:
        return cuts[0] if cuts else None
    for cut in cuts:
        if cut[1].begins == missing_code(line):
            return cut
    median = sorted(codes.values())[(len(codes) - 1) // 2]
    for left, right in cuts:
        if max(codes[i] for i in left.records) == median:
            return left, right._replace(begins=median + 1)
    return None


# ── workload ─────────────────────────────────────────────────────────────────────────────────────


class Query(NamedTuple):
    """A box of codes and its weight."""

    box: tuple[tuple[int, int], ...]
    weight: float


class Target(NamedTuple):
    """What a model predicts; everything by record."""

    is_label: bool
    values: list[int | None]
    """Labels, or numbers in multiples of some unit."""
    groups: list[int]
    """The group of the features beyond the quasi-identifiers."""
    factor: float
    seen: set[int]
    """The lines that the model looks at."""


class Workload(NamedTuple):
    """Queries and models."""

    queries: Sequence[Query] = ()
    targets: Sequence[Target] = ()
    minimum_gain: float = 0.0


def saved(
    lines: Sequence[Line], records: Sequence[Record], queries: Sequence[Query], a: int, cut: Sequence[Part]
) -> float:
    """By how much the cut lowers the weighted imprecision (equation 7), judged on the smallest boxes of the node and,
    on the line of the cut, of each part; a part of a tree reaches over its whole node.
    """

    def overlaps(query: Query, numbers: list[int], lines_of: Iterable[int]) -> bool:
        held = [[records[i][b] for i in numbers] for b in lines_of]
        return all(
            max(codes) >= query.box[b][0] and min(codes) <= query.box[b][1]
            for b, codes in zip(lines_of, held, strict=True)
        )

    def apart(query: Query, part: Part) -> bool:
        line = lines[a]
        if line.kind is not Kind.TREE:
            return not overlaps(query, part.records, [a])
        child = next(n for n in reversed(path(line, records[part.records[0]][a])) if n not in above)
        codes = [code for code in range(len(line.values) + line.missing) if child in path(line, code)]
        return not any(query.box[a][0] <= code <= query.box[a][1] for code in codes)

    everyone = [i for part in cut for i in part.records]
    above: set[int] = set()
    if lines[a].kind is Kind.TREE:
        top = lowest_common_node(lines[a], {records[i][a] for i in everyone})
        nodes = path(lines[a], records[everyone[0]][a])
        above = set(nodes[nodes.index(top) :])
    hit = [query for query in queries if overlaps(query, everyone, range(len(lines)))]
    return sum(query.weight * len(part.records) for part in cut for query in hit if apart(query, part))


def at_the_edge(
    lines: Sequence[Line], records: Sequence[Record], queries: Sequence[Query], a: int, cut: Sequence[Part]
) -> Sequence[Part]:
    """The cut between the same records whose regions save most, of all where it can lie; of equals the highest."""
    if lines[a].kind is Kind.TREE or cut[1].begins == missing_code(lines[a]):
        return cut
    left, right = cut
    everyone = [records[i] for part in cut for i in part.records]
    hit = [
        query
        for query in queries
        if all(
            max(record[b] for record in everyone) >= query.box[b][0]
            and min(record[b] for record in everyone) <= query.box[b][1]
            for b in range(len(lines))
        )
    ]

    def saves(edge: int) -> float:
        before = sum(query.weight for query in hit if query.box[a][0] >= edge)
        behind = sum(query.weight for query in hit if query.box[a][1] < edge)
        return before * len(left.records) + behind * len(right.records)

    last = max(records[i][a] for i in left.records)
    return left, right._replace(begins=max(range(last + 1, right.begins + 1), key=lambda edge: (saves(edge), edge)))


def saved_by_regions(
    lines: Sequence[Line], queries: Sequence[Query], region: Region, a: int, cut: Sequence[Part]
) -> float:
    """The same by the regions of the node and of the parts."""

    def overlaps(query: Query, box: Region) -> bool:
        return all(low <= last and high >= first for (first, last), (low, high) in zip(query.box, box, strict=True))

    hit = [query for query in queries if overlaps(query, region)]
    boxes = zip(cut, regions_of(region, a, cut), strict=True)
    return sum(query.weight * len(part.records) for part, box in boxes for query in hit if not overlaps(query, box))


def wherever(line: Line, codes: dict[int, int], cut: Sequence[Part]) -> list[Sequence[Part]]:
    """The cut between the same records at every code where it can lie, from the highest on."""
    if line.kind is Kind.TREE or cut[1].begins == missing_code(line):
        return [cut]
    last = max(codes[i] for i in cut[0].records)
    return [(cut[0], cut[1]._replace(begins=edge)) for edge in range(cut[1].begins, last, -1)]


def regions_of(region: Region, a: int, cut: Sequence[Part]) -> list[Region]:
    """The regions of the parts: each reaches to where the next begins."""
    edges = [region[a][0], *(part.begins for part in cut[1:]), region[a][1] + 1]
    return [(*region[:a], (first, after - 1), *region[a + 1 :]) for first, after in itertools.pairwise(edges)]


def logarithm(count: int) -> int:
    """c·log₂ c in multiples of 2^−24."""
    return round(count * math.log2(count) * 2**24) if count else 0


def impurity(target: Target, parts: Sequence[list[int]]) -> float:
    """Entropy times records (equation 3), or squared error less what no cut changes (equation 4), over all parts."""
    held = [[i for i in part if target.values[i] is not None] for part in parts]
    if target.is_label:
        total = 0
        for part in held:
            total += sum(map(logarithm, Counter(target.groups[i] for i in part).values()))
            total -= sum(map(logarithm, Counter((target.groups[i], target.values[i]) for i in part).values()))
        return target.factor * total
    by_group = [(g, part) for part in held for g in range(max(target.groups) + 1)]
    if len(parts) == 2:  # floating-point sums in the order of the kernel, so that ties are ties
        by_group.sort(key=lambda pair: pair[0])
    squares, pair = 0.0, []
    for g, part in by_group:
        numbers = [target.values[i] for i in part if target.groups[i] == g]
        pair.append(float(sum(numbers)) * float(sum(numbers)) / len(numbers) if numbers else 0.0)
        if len(parts) != 2 or len(pair) == 2:
            squares += sum(pair)
            pair = []
    return target.factor * -squares


def score(targets: Sequence[Target], a: int, cut: Sequence[Part]) -> float:
    """The impurity after a cut; a model that does not look at the line sees none (equations 5 and 6)."""
    everyone = [[i for part in cut for i in part.records]]
    seen = [impurity(target, [part.records for part in cut]) for target in targets if a in target.seen]
    unseen = [impurity(target, everyone) for target in targets if a not in target.seen]
    return sum(seen) + sum(unseen)


def evenness(cut: Sequence[Part]) -> int:
    sizes = [len(part.records) for part in cut]
    return 2 * max(sizes) - sum(sizes)


# ── the recursion ────────────────────────────────────────────────────────────────────────────────


def mondrian(
    lines: Sequence[Line],
    records: Sequence[Record],
    allowed: Allowed,
    *,
    relaxed: bool = False,
    workload: Workload | None = None,
    letter: bool = False,
) -> list[Class]:
    """The classes from left to right."""
    whole = tuple((0, len(line.values) + line.missing - 1) for line in lines)
    return list(_anonymize(lines, records, list(range(len(records))), whole, allowed, relaxed, workload, letter))


def _anonymize(
    lines: Sequence[Line],
    records: Sequence[Record],
    numbers: list[int],
    region: Region,
    allowed: Allowed,
    relaxed: bool,
    workload: Workload | None,
    letter: bool,
) -> Iterator[Class]:
    if letter:
        chosen, workload = choose_by_the_letter(lines, records, numbers, region, allowed, workload)
    else:
        chosen, workload = choose(lines, records, numbers, allowed, relaxed, workload)
    if chosen is None:
        yield Class(sorted(numbers), region)
        return
    a, cut = chosen
    for part, box in zip(cut, regions_of(region, a, cut), strict=True):
        yield from _anonymize(lines, records, part.records, box, allowed, relaxed, workload, letter)


def choose_by_the_letter(
    lines: Sequence[Line],
    records: Sequence[Record],
    numbers: list[int],
    region: Region,
    allowed: Allowed,
    workload: Workload | None,
) -> tuple[tuple[int, Sequence[Part]] | None, Workload | None]:
    """The line and the parts of the next cut as the paper has them, and what is left of the workload for the parts."""
    if not numbers:
        return None, None
    codes = [{i: records[i][a] for i in numbers} for a in range(len(lines))]
    cuts = [(a, cut) for a, line in enumerate(lines) for cut in allowable_cuts(line, codes[a], allowed, False)]
    if workload is not None and workload.queries:
        everywhere = [(a, one) for a, cut in cuts for one in wherever(lines[a], codes[a], cut)]
        good = [(saved_by_regions(lines, workload.queries, region, a, cut), a, cut) for a, cut in everywhere]
        good = [found for found in good if found[0] > 0]
        if good:
            _, a, cut = min(good, key=lambda found: (-found[0], evenness(found[2])))  # stable: ties to the first
            return (a, cut), workload
        workload = workload._replace(queries=())
    if workload is not None and workload.targets:
        scored = [(score(workload.targets, a, cut), evenness(cut), a, cut) for a, cut in cuts]
        return (min(scored, key=lambda found: found[:2])[2:] if scored else None), workload
    widths = [Fraction(line.weight) * width(line, set(codes[a].values())) for a, line in enumerate(lines)]
    for a in sorted(range(len(lines)), key=lambda a: -widths[a]):
        median = cut_after_the_median(lines[a], codes[a], allowed)
        if median is not None:
            return (a, median), None
    return None, None


def choose(
    lines: Sequence[Line],
    records: Sequence[Record],
    numbers: list[int],
    allowed: Allowed,
    relaxed: bool,
    workload: Workload | None,
) -> tuple[tuple[int, Sequence[Part]] | None, Workload | None]:
    """The line and the parts of the next cut, and what is left of the workload for the parts."""
    if not numbers:
        return None, None
    codes = [{i: records[i][a] for i in numbers} for a in range(len(lines))]
    if workload is not None:
        cuts = [(a, cut) for a, line in enumerate(lines) for cut in allowable_cuts(line, codes[a], allowed, False)]
        if workload.queries:
            good = [(saved(lines, records, workload.queries, a, cut), a, cut) for a, cut in cuts]
            good = [found for found in good if found[0] > 0]
            if good:
                _, a, cut = min(good, key=lambda found: (-found[0], evenness(found[2])))  # stable: ties to the first
                return (a, at_the_edge(lines, records, workload.queries, a, cut)), workload
            workload = workload._replace(queries=())
        if workload.targets:
            uncut = sum(impurity(target, [numbers]) for target in workload.targets)
            looked_at = [(a, cut) for a, cut in cuts if any(a in target.seen for target in workload.targets)]
            if looked_at:
                scored = [(score(workload.targets, a, cut), evenness(cut), a, cut) for a, cut in looked_at]
                best, _, a, cut = min(scored, key=lambda found: found[:2])
                gain = uncut - best
                gain = 0.0 if gain <= 2.0**-44 * abs(uncut) else gain / len(numbers)
                if gain > 0 and gain >= workload.minimum_gain:
                    return (a, cut), workload
    widths = [Fraction(line.weight) * width(line, set(codes[a].values())) for a, line in enumerate(lines)]
    for a in sorted(range(len(lines)), key=lambda a: -widths[a]):  # stable: ties to the first
        cut = best_cut(lines[a], codes[a], allowed, relaxed)
        if cut is not None:
            return (a, cut), None
    return None, None

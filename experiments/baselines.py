"""What Top-Down Refinement is compared with: a genetic algorithm, and the best of all full-domain recodings.

V. S. Iyengar, Transforming Data to Satisfy Privacy Constraints, KDD 2002: a solution is a string of bits, one for each
place between two neighbouring values of a column, set where the values are told apart; columns with a hierarchy are cut
at its nodes, and a child that is not is put right: a node is opened where two of its children are told apart. Solutions
are bred as in Genitor (Whitley, ICGA 1989): two parents by rank, two points of crossover, a bit or so flipped, and the
child takes the place of the worst, unless it is worse itself. Ours has far fewer solutions and children than his.

*Full-domain* recoding takes one level of its hierarchy for each column (Samarati, TKDE 2001; LeFevre, DeWitt,
Ramakrishnan, Incognito, SIGMOD 2005); all combinations are tried, so that nothing is cut short, and nothing is better.
Bayardo and Agrawal, ICDE 2005, search a larger space: every cut of the values in an order that somebody gave them. That
space is the one of the genetic algorithm but for the hierarchies; of it the optimum is not known here.

Both suppress groups of fewer than k records. Costs are those of the papers: the *classification metric* (Iyengar)
counts records that are suppressed or have not the most frequent label of their group; *discernibility* (Bayardo,
Agrawal) adds up the squared sizes of groups, and counts a suppressed record as often as there are records.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.hierarchy.numbered import Tree
from rothko.data.line import Line

Recoding = tuple[NDArray[np.int64], ...]
"""The part of each code, for each line."""
BIAS = 1.5
"""How much likelier the best solution is chosen than the median one."""


@dataclass(frozen=True, slots=True)
class Counted:
    """Distinct records with how often they occur with each label."""

    codes: NDArray[np.int32]
    """(lines, distinct records)."""
    labels: NDArray[np.int64]
    """(distinct records, labels)."""

    @classmethod
    def of(cls, codes: NDArray[np.int32], labels: NDArray[np.integer]) -> Counted:
        """Count records by what they show."""
        distinct, place = np.unique(codes, axis=1, return_inverse=True)
        count = int(labels.max()) + 1
        counts = np.bincount(place.ravel() * count + labels, minlength=distinct.shape[1] * count)
        return cls(distinct, counts.reshape(-1, count))

    def groups(self, recoding: Recoding) -> NDArray[np.int64]:
        """Records by label, (groups, labels), of records that show the same."""
        place, count = grouped(self.codes, recoding), self.labels.shape[1]
        found = [np.bincount(place, weights=self.labels[:, label]) for label in range(count)]
        return np.stack(found, axis=1).astype(np.int64)


def grouped(codes: NDArray[np.int32], recoding: Recoding) -> NDArray[np.int32]:
    """The group of each record, numbered as they are met."""
    keys = np.zeros(codes.shape[1], dtype=np.int64)
    for line, parts in zip(codes, recoding, strict=True):
        keys = keys * (int(parts[-1]) + 1) + parts[line]
    return np.asarray(pa.array(keys).dictionary_encode().indices)


def classification_metric(groups: NDArray[np.int64], k: int) -> int:
    """Records that are suppressed, or have not the most frequent label of their group."""
    sizes = groups.sum(axis=1)
    return int(sizes.sum() - groups.max(axis=1)[sizes >= k].sum())


def discernibility(groups: NDArray[np.int64], k: int) -> int:
    """From how many records each cannot be told apart, in all; a suppressed one from all of them."""
    sizes = groups.sum(axis=1)
    return int((sizes * np.where(sizes >= k, sizes, sizes.sum())).sum())


METRICS = {"classification metric": classification_metric, "discernibility": discernibility}


# ── the best of all full-domain recodings


def full_domains(levels: Sequence[Sequence[NDArray[np.int64]]]) -> Iterator[Recoding]:
    """All combinations of levels."""
    yield from product(*levels)


def optimal(
    records: Counted, levels: Sequence[Sequence[NDArray[np.int64]]], ks: Sequence[int]
) -> dict[tuple[str, int], Recoding]:
    """The full-domain recoding that costs least, by each metric and for each k; of equal ones the first."""
    best: dict[tuple[str, int], tuple[int, Recoding]] = {}
    for recoding in full_domains(levels):
        groups = records.groups(recoding)
        for name, metric in METRICS.items():
            for k in ks:
                cost = metric(groups, k)
                if (name, k) not in best or cost < best[name, k][0]:
                    best[name, k] = cost, recoding
    return {asked: recoding for asked, (_, recoding) in best.items()}


def levels_of(tree: Tree) -> list[NDArray[np.int64]]:
    """The part of each leaf at each level of a hierarchy, from the values themselves to the root."""
    paths = []
    for leaf in tree.leaf.tolist():
        path = [leaf]
        while tree.parent[path[-1]] >= 0:
            path.append(int(tree.parent[path[-1]]))
        paths.append(path)
    height = max(map(len, paths))
    found = []
    for level in range(height):
        nodes = np.array([path[min(level, len(path) - 1)] for path in paths])
        found.append(np.concatenate([[0], np.cumsum(nodes[1:] != nodes[:-1])]))
    return found


# ── the genetic algorithm


@dataclass(frozen=True, slots=True)
class Genetic:
    """How much is bred."""

    population: int = 200
    children: int = 5_000


def evolve(
    records: Counted, lines: Sequence[Line], k: int, random: np.random.Generator, much: Genetic | None = None
) -> Recoding:
    """The recoding with the lowest classification metric that was bred."""
    much = much or Genetic()
    sizes = [line.size - 1 for line in lines]
    ends = np.cumsum([0, *sizes])
    length = int(ends[-1])
    met = 0
    people: list[tuple[int, int, Any, Recoding]] = []

    def bear(bits: NDArray[np.bool_]) -> None:
        nonlocal met
        cut = [allowed(line, bits[a:b]) for line, a, b in zip(lines, ends[:-1], ends[1:], strict=True)]
        recoding = tuple(np.concatenate([[0], np.cumsum(one)]) for one in cut)
        cost = classification_metric(records.groups(recoding), k)
        insort(people, (cost, met, np.concatenate(cut), recoding))  # of equal ones the older is the better
        met += 1

    for _ in range(much.population):
        bear(random.random(length) < random.random() ** 3)
    for _ in range(much.children):
        one, other = (people[_by_rank(random.random(), much.population)][2] for _ in range(2))
        first, last = np.sort(random.integers(length + 1, size=2))
        child = one.copy()
        child[first:last] = other[first:last]
        bear(child ^ (random.random(length) < 1 / max(length, 1)))
        people.pop()
    return people[0][3]


def _by_rank(chance: float, count: int) -> int:
    """Whose turn it is, 0 being the best: a linear bias (Whitley, ICGA 1989)."""
    return int(count * (BIAS - (BIAS**2 - 4 * (BIAS - 1) * chance) ** 0.5) / 2 / (BIAS - 1))


def allowed(line: Line, bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The cuts of a line that its hierarchy allows: a node is opened where two of its children are told apart."""
    if line.tree is None:
        return bits
    tree, found, todo = line.tree, np.zeros_like(bits), [0]
    while todo:
        node = todo.pop()
        first = int(tree.first_child[node])
        children = range(first, first + int(tree.n_children[node]))
        between = [int(tree.low[child]) - 1 for child in children[1:]]
        if len(children) == 1 or bits[between].any():
            found[between] = True
            todo += children
    return found

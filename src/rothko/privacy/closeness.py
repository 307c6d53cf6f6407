"""t-closeness: what is learnt about a class is close to what is known about everybody.

Li, Li, Venkatasubramanian, ICDE 2007: the earth mover's distance between the distribution of a sensitive
column in a class and in the whole table is at most t. Three ground distances (their section 4):

- equal: any two values are 1 apart; the distance is half the sum of the differences of the shares;
- ordered: values are as far apart as their ranks, the first and the last 1; numbers and dates;
- hierarchy: two values are as far apart as the lowest node above both is high, the root 1.

A distance along a tree is the sum over its roads of what must pass over them: what a class has too much or too
little of below the road, times its length. All three are such trees. Equal: a road of ½ from each value to the
root. Ordered: each value hangs on the one before it. Hierarchy: a road is half as long as the heights of its ends
differ, so that two leaves are as far apart as their lowest common node is high (this is the sum of their section 4.3
in other words).

All three are differences of counts: with c of n records of a class and C of N of the table they are sums of
c·N − C·n, whole numbers, divided by n·N once. So they are compared without rounding while these sums stay below
2^53, and beyond that on the strict side; SQL compares them in 128 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.domain import Domain
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.spec import HierarchySpec
from rothko.errors import PolicyError
from rothko.privacy.confidence import Sampling
from rothko.privacy.requirement import Requirement, Rule, as_written, kernel_ratio, number
from rothko.privacy.statistics import Statistics

Distance = Literal["equal", "ordered", "hierarchy"]
EXACT = 2.0**53
STRICT = 1 + 1e-9
"""Factor on a sum that may have been rounded."""
DATE = r"^\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?Z?)?$"


class Ground(NamedTuple):
    """Where the codes of a column lie: the nodes of a tree, parents before children."""

    bins: NDArray[np.int32]
    """The node of each code."""
    counts: NDArray[np.int64]
    """How many records of the table each node has itself."""
    parent: NDArray[np.int64]
    """Of each node; −1 for none."""
    road: NDArray[np.int64]
    """How far the parent is, in halves or other parts of which…"""
    longest: int
    """…so many are the longest distance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TCloseness(Requirement):
    """The distribution of a sensitive column in every class is at most ``t`` from that in the table.

    >>> TCloseness(t=0.2, of="disease").describe()
    't-closeness of disease with t = 0.2, distance = equal'
    """

    name: ClassVar[str] = "t-closeness"
    falling: ClassVar[bool] = True

    t: float
    """The largest distance; from 0 to 1."""
    of: str
    """The sensitive column."""
    distance: Distance = "equal"
    """How far apart two values are."""
    hierarchy: HierarchySpec | None = None
    """For distance: hierarchy, a tree or a csv file over the values, as for a quasi-identifier."""

    def _validate(self) -> None:
        number(self.name, "t", self.t, least=0, most=1)
        if self.distance not in get_args(Distance):
            raise PolicyError(f"{self.name}: distance must be equal, ordered or hierarchy, not {self.distance!r}.")
        if self.hierarchy is not None:
            spec = HierarchySpec.of(self.hierarchy)
            if spec.kind not in ("tree", "csv"):
                raise PolicyError(f"{self.name}: hierarchy must be a tree or a csv file, not {spec.kind!r}.")
            object.__setattr__(self, "hierarchy", spec)
        if (self.distance == "hierarchy") != (self.hierarchy is not None):
            raise PolicyError(f"{self.name}: hierarchy goes with distance: hierarchy, and is needed there.")

    @property
    def asked(self) -> float:
        """The t asked for."""
        return self.t

    def scores(self, stats: Statistics) -> NDArray[np.float64]:
        """The distance of each class."""
        ground = self.ground(stats.domains[self.of])
        moved = self._moved(stats, ground)
        return np.asarray(moved / np.maximum(self._full(stats, ground), 1.0), dtype=np.float64)

    def satisfied(self, stats: Statistics) -> NDArray[np.bool_]:
        """In whole numbers where they fit."""
        ground = self.ground(stats.domains[self.of])
        p, q = kernel_ratio(as_written(self.t))
        moved, full = self._moved(stats, ground), self._full(stats, ground)
        exact = full < EXACT
        whole = np.where(exact, full, 0).astype(np.int64)
        most = np.where(exact, whole // q * p + whole % q * p // q, full * (p / q))
        return np.asarray(np.where(exact, moved, moved * STRICT) <= most)

    def _confident(self, stats: Statistics, sampling: Sampling) -> NDArray[np.bool_]:
        """Ours, since the paper has none: the distance of the sample is within t by a margin.

        Another value of one of n records moves the distance by 1/n at most, whichever the ground distance; so its
        variance is at most 1/4n (the bound of Efron and Stein). A sample lies further from the table than the class
        that it came from, the more so the more values there are: an error on the strict side.
        """
        if self.t == 1:
            return self.satisfied(stats)
        return np.asarray(self.scores(stats) <= self.t - sampling.margin(0.25, stats.size))

    def _full(self, stats: Statistics, ground: Ground) -> NDArray[np.float64]:
        return np.asarray(stats.counted(self.of) * (float(ground.counts.sum()) * ground.longest))

    def _moved(self, stats: Statistics, ground: Ground) -> NDArray[np.float64]:
        """The distance of each class times n · N · longest."""
        counts = stats.histograms[self.of]
        binned = np.zeros((len(counts), len(ground.counts)), dtype=np.int64)
        np.add.at(binned.T, ground.bins, counts.T)
        extra = binned * int(ground.counts.sum()) - ground.counts * stats.counted(self.of)[:, None]
        if self.distance == "ordered":
            # A chain has as many levels as values: its running sums at once.
            return np.asarray(np.sum(np.abs(np.cumsum(extra, axis=1)), axis=1, dtype=np.float64))
        for node in range(len(ground.parent) - 1, -1, -1):
            if ground.parent[node] >= 0:
                extra[:, ground.parent[node]] += extra[:, node]
        return np.asarray(np.sum(np.abs(extra) * ground.road, axis=1, dtype=np.float64))

    def ground(self, domain: Domain) -> Ground:
        """Where the values of a column lie."""
        if self.distance == "hierarchy":
            bins, parent, height = self._tree(domain)
            road, longest = np.append(0, height[parent[1:]] - height[1:]), 2 * int(height[0])
        elif self.distance == "ordered":
            bins, size = _ranks(domain)
            parent, road, longest = np.arange(size) - 1, np.minimum(np.arange(size), 1), max(size - 1, 1)
        else:
            bins, parent = np.arange(domain.size, dtype=np.int32), np.full(domain.size, -1)
            road, longest = np.ones(domain.size, dtype=np.int64), 2
        counts = np.bincount(bins, weights=domain.counts, minlength=len(parent)).astype(np.int64)
        return Ground(bins, counts, parent, road, longest)

    def _tree(self, domain: Domain) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """The node of each code, and the parent and height of each node.

        It is the whole hierarchy, whatever part of it occurs; missing is a leaf directly under the root.
        """
        spec = self.hierarchy
        assert spec is not None
        builders: dict[str, Callable[[], Hierarchy]] = {
            "tree": lambda: Hierarchy.from_nested(spec.nested, where=f"the hierarchy of {self.of!r}"),
            "csv": lambda: Hierarchy.from_csv(spec.file, delimiter=spec.delimiter, encoding=spec.encoding),
        }
        hierarchy = builders[spec.kind]()
        hierarchy.restrict(domain.texts, column=self.of, missing=False)  # refuses values without a leaf
        parent = np.append(hierarchy.parents.astype(np.int64), 0)
        height = np.zeros(len(parent), dtype=np.int64)
        for node in range(len(parent) - 1, 0, -1):
            height[parent[node]] = max(height[parent[node]], height[node] + 1)
        places = pc.index_in(domain.texts, value_set=pa.array(hierarchy.labels, pa.string())).to_numpy()
        return np.append(places, len(parent) - 1).astype(np.int32), parent, height

    def rule(self, domain: Domain) -> Rule | None:
        """Takes the distance anew where it can have come within t."""
        if self.t == 1:
            return None
        from rothko.kernels.rules import CLOSE

        ground = self.ground(domain)
        return Rule(
            CLOSE,
            len(ground.counts),
            bins=None if self.distance == "equal" else ground.bins,
            ratio=kernel_ratio(as_written(self.t)),
            depth=ground.longest,
            total=int(ground.counts.sum()),
            facts=np.concatenate([ground.counts, ground.parent, ground.road]).astype(np.float64),
        )

    def lookup(self, domain: Domain) -> dict[str, pa.Table]:
        """The place of each value: its rank, or the nodes above it; missing is the empty text."""
        if self.distance == "equal":
            return {}
        values = pa.concat_arrays([domain.texts.cast(pa.string()), pa.array([""])])
        if self.distance == "ordered":
            return {"place": pa.table({"value": values, "place": _ranks(domain)[0] + 1})}
        bins, parent, height = self._tree(domain)
        above, node = [values], [bins.astype(np.int64)]
        while True:
            going = parent[node[-1]] >= 0
            if not going.any():
                break
            above.append(above[-1].filter(pa.array(going)))
            node.append(parent[node[-1][going]])
        path = pa.table({"value": pa.concat_arrays(above), "node": np.concatenate(node)})
        return {"path": path, "tree": pa.table({"node": np.arange(len(parent)), "parent": parent, "height": height})}

    def sql(self) -> str:
        """In whole numbers of any size."""
        return {"equal": _EQUAL, "ordered": _ORDERED, "hierarchy": _HIERARCHY}[self.distance].format(
            p=as_written(self.t).numerator, q=as_written(self.t).denominator
        )

    def describe(self) -> str:
        """Name, column, t and distance."""
        return f"{self.name} of {self.of} with t = {self.t:g}, distance = {self.distance}"


def _ranks(domain: Domain) -> tuple[NDArray[np.int32], int]:
    """The rank of each code among numbers or dates; missing, where it occurs, comes last."""
    kind = domain.values.type
    words = pc.utf8_trim_whitespace(domain.texts)
    if pa.types.is_temporal(kind) or (
        len(words) > 0 and pc.all(pc.match_substring_regex(words, DATE), min_count=0).as_py()
    ):
        # Dates as they are written in ISO 8601 are in order as texts.
        ranks = np.unique(np.asarray(words.to_pylist(), dtype=np.str_), return_inverse=True)[1]
    else:
        ranks = domain.ranks
    found = int(ranks.max(initial=-1)) + 1
    size = found + int(domain.counts[-1] > 0 or found == 0)
    return np.minimum(np.append(ranks, found), size - 1).astype(np.int32), size


_SIZES = """
    WITH sizes AS (SELECT class, sum(c) AS n, max(size) AS size FROM counted GROUP BY class),
         whole AS (SELECT sum(c) AS total FROM everyone),"""

_EQUAL = (
    _SIZES
    + """
         known AS (SELECT value, c AS known FROM everyone),
         moved AS (SELECT class, n, sizes.size, sum(greatest(c * total - known * n, 0)) AS moved
                   FROM counted JOIN known USING (value) JOIN sizes USING (class), whole
                   GROUP BY class, n, sizes.size)
    SELECT size, moved / (n * total) AS score, moved * {q} <= n * total * {p} AS holds FROM moved, whole"""
)

# Between two values of a class the share up to there stays, and that of the table rises. With S the sum of the
# table's running counts, the differences from one value to the next are two terms: before the rise passes the
# share (at `mid`), and after it. So there is one row per value of a class, and none for those it does not have.
_ORDERED = (
    _SIZES
    + """
         upto AS (SELECT place, sum(known) OVER (ORDER BY place) AS upto
                  FROM (SELECT place, sum(c) AS known FROM everyone JOIN place USING (value) GROUP BY place)),
         summed AS (SELECT place, upto, sum(upto) OVER (ORDER BY place) AS s FROM upto
                    UNION ALL SELECT 0, 0, 0),
         last AS (SELECT max(place) AS m, greatest(max(place) - 1, 1) AS longest FROM summed),
         held AS (SELECT class, place, sum(c) AS c FROM counted JOIN place USING (value) GROUP BY class, place
                  UNION ALL SELECT class, 0, 0 FROM sizes),
         runs AS (SELECT class, n, place AS a, lead(place, 1, m) OVER (PARTITION BY class ORDER BY place) - 1 AS b,
                         sum(c) OVER (PARTITION BY class ORDER BY place) * total AS f
                  FROM held JOIN sizes USING (class), whole, last),
         crossed AS (SELECT runs.*, least(greatest(summed.place, a - 1), b) AS mid
                     FROM runs ASOF JOIN summed ON f // n >= summed.upto),
         moved AS (SELECT class, n, sum(f * (mid - a + 1) - n * (h.s - coalesce(g.s, 0))
                                        + n * (i.s - h.s) - f * (b - mid)) AS moved
                   FROM crossed LEFT JOIN summed g ON g.place = a - 1
                   LEFT JOIN summed h ON h.place = mid JOIN summed i ON i.place = b
                   WHERE b >= a GROUP BY class, n)
    SELECT size, coalesce(moved, 0) / (n * total * longest) AS score,
           coalesce(moved, 0) * {q} <= n * total * longest * {p} AS holds
    FROM sizes LEFT JOIN moved USING (class, n), whole, last"""
)

# What a class has too much of below a node goes to what it lacks there, as far as it reaches; the rest goes up.
# Nodes that a class does not have lack all their records, which the node above them shows.
_HIERARCHY = (
    _SIZES
    + """
         held AS (SELECT class, node, sum(c) AS c FROM counted JOIN path USING (value) GROUP BY class, node),
         known AS (SELECT node, sum(c) AS known FROM everyone JOIN path USING (value) GROUP BY node),
         extra AS (SELECT class, n, node, c * total - known * n AS extra
                   FROM held JOIN known USING (node) JOIN sizes USING (class), whole),
         below AS (SELECT class, parent AS node, sum(greatest(extra, 0)) AS positive
                   FROM extra JOIN tree USING (node) WHERE parent >= 0 GROUP BY class, parent),
         moved AS (SELECT class, n, sum(height * least(positive, positive - extra)) AS moved
                   FROM below JOIN extra USING (class, node) JOIN tree USING (node) GROUP BY class, n),
         last AS (SELECT max(height) AS longest FROM tree)
    SELECT size, moved / (n * total * longest) AS score, moved * {q} <= n * total * longest * {p} AS holds
    FROM moved JOIN sizes USING (class, n), whole, last"""
)

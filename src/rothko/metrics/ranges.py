"""How well a release answers random range-count queries.

LeFevre, DeWitt, Ramakrishnan, *Mondrian Multidimensional k-Anonymity*, ICDE 2006, and Xiao and Tao, *Anatomy*, VLDB
2006: ``SELECT COUNT(*) WHERE pred(A1) AND … AND pred(Aq)``. For an expected selectivity s each of the q predicates
holds for a share s^(1/q) of the values of its column, rounded up: a range of consecutive values of an ordered column or
of the leaves of a hierarchy, any values at random of a column without order. Columns are drawn at random as well.

The release answers by spreading the records of a class uniformly over what it shows, as :mod:`rothko.metrics.cube`
does. The error is |answer − truth| ÷ max(truth, bound). The sanity bound keeps queries that hardly any record satisfies
from deciding the mean: 0.1 % of the records, as is the custom (Xiao, Wang, Gehrke, *Differential Privacy via Wavelet
Transforms*, ICDE 2010).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.line import Kind, Line
from rothko.data.source.csv import CsvOptions
from rothko.errors import InputError
from rothko.metrics.extent import Extent
from rothko.metrics.pair import Beside, Pair, read_pair
from rothko.progress import count_threads, each

SANITY = 0.001
"""Share of the records below which a true count is taken to be this."""
SELECTIVITY = 0.05
"""Share of the records that a query is drawn to select."""


@dataclass(frozen=True, slots=True)
class RangeCounts:
    """How well random range-count queries are answered."""

    queries: int
    median: float
    """The median of the relative errors."""
    mean: float
    """Their mean."""
    largest: float
    """The largest of them."""
    empty: int
    """Queries that no record of the original satisfies."""
    selectivity: float
    """The share of records that queries were drawn to select; what they do select depends on the data."""
    sanity: float
    """Share of the records below which a true count is taken to be this."""
    of: str | None
    """The column beside the quasi-identifiers that queries ask about as well."""
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {error: round(getattr(self, error), 6) for error in ("median", "mean", "largest")}


class Query(NamedTuple):
    """A conjunction of predicates, each as the codes that it allows."""

    predicates: tuple[tuple[int, NDArray[np.bool_]], ...]
    """Lines, and for each of their codes whether it will do."""
    values: NDArray[np.bool_] | None
    """The same for the column beside, where it is asked about."""


class Shares(NamedTuple):
    """What classes may have on one line; those that show the same are looked at once."""

    extent: Extent
    """Of whatever is shown."""
    values: NDArray[np.int64]
    """How many values that is; at least 1."""
    of_class: NDArray[np.intp]
    """Which of these each class shows."""

    @classmethod
    def of(cls, pair: Pair) -> list[Shares]:
        """Line by line."""
        found = []
        for line, extent in zip(pair.lines, pair.known_extents(), strict=True):
            _, first, of_class = np.unique(pair.keys[line.name], return_index=True, return_inverse=True)
            few = extent.take(first)
            found.append(cls(few, np.maximum(few.count, 1), of_class))
        return found

    def within(self, allowed: NDArray[np.bool_]) -> NDArray[np.float64]:
        """The share of each class's values that a predicate allows."""
        share = self.extent.total(allowed.astype(np.int64)) / self.values
        return np.asarray(share[self.of_class])


def range_counts(
    original: Any,
    release: Any,
    policy: Any = None,
    *,
    queries: int = 1000,
    of: str | None = None,
    dimensions: int | None = None,
    selectivity: float = SELECTIVITY,
    sanity: float = SANITY,
    seed: int = 0,
    threads: int | None = None,
    csv: CsvOptions | None = None,
) -> RangeCounts:
    """Ask random range-count queries of an original and of its release.

    Parameters
    ----------
    original
        The table that was released.
    release
        A :class:`~rothko.release.release.Release`, an :class:`~rothko.metrics.pair.Anatomy`, or any table that
        publishes values, ranges, sets or tree labels.
    policy
        Roles and hierarchies; a Release brings its own.
    queries
        How many.
    of
        A sensitive or kept column that every query asks about as well.
    dimensions
        How many quasi-identifiers each query asks about; by default any number, drawn anew.
    selectivity
        The share of records that a query is to select, were values uniform and independent.
    sanity
        Share of the records below which a true count is taken to be this, where it divides an error.
    seed
        The same seed draws the same queries.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [20, 20, 20, 30]}
    >>> policy = rk.Policy.quick(people, qi=["age"], k=4)
    >>> range_counts(people, people, policy, queries=50).largest
    0.0
    >>> range_counts(people, rk.anonymize(people, policy), queries=50).largest  # for 30: 2 are expected, 1 is there
    1.0
    """
    pair = read_pair(original, release, policy, beside=[] if of is None else [of], threads=threads, csv=csv)
    return ranges_of(
        pair,
        None if of is None else pair.beside[of],
        queries=queries,
        dimensions=dimensions,
        selectivity=selectivity,
        sanity=sanity,
        seed=seed,
        threads=threads,
    )


def ranges_of(
    pair: Pair,
    beside: Beside | None,
    *,
    queries: int,
    dimensions: int | None = None,
    selectivity: float = SELECTIVITY,
    sanity: float = SANITY,
    seed: int = 0,
    threads: int | None = None,
) -> RangeCounts:
    """The same once the release is read beside its original; ``beside`` is a column to ask about as well."""
    most = len(pair.lines)
    if queries < 1:
        raise InputError(f"queries must be at least 1, not {queries}.")
    if not 0 < selectivity <= 1:
        raise InputError(f"selectivity must be above 0 and at most 1, not {selectivity}.")
    if not 0 < sanity <= 1:
        raise InputError(f"sanity must be above 0 and at most 1, not {sanity}.")
    if dimensions is not None and not 1 <= dimensions <= most:
        raise InputError(f"dimensions must be from 1 to {most}, the quasi-identifiers, not {dimensions}.")
    shares, random = Shares.of(pair), np.random.default_rng(seed)
    known = pair.nothing_beside() if beside is None else beside
    asked = [draw(pair.lines, beside, dimensions, selectivity, random) for _ in range(queries)]
    least = sanity * pair.encoded.rows

    def error(query: Query) -> tuple[int, float]:
        truth = true_count(query, pair.encoded.codes, known)
        return truth, abs(expected_count(query, shares, known) - truth) / max(truth, least)

    answered = each(error, asked, count_threads(threads))
    errors = np.array([one for _, one in answered])
    return RangeCounts(
        queries=queries,
        median=float(np.median(errors)),
        mean=float(errors.mean()),
        largest=float(errors.max()),
        empty=sum(truth == 0 for truth, _ in answered),
        selectivity=selectivity,
        sanity=sanity,
        of=known.name,
        seed=seed,
    )


def draw(
    lines: Sequence[Line],
    beside: Beside | None,
    dimensions: int | None,
    selectivity: float,
    random: np.random.Generator,
) -> Query:
    """A random query: its columns, and for each the values that it allows."""
    count = int(random.integers(1, len(lines) + 1)) if dimensions is None else dimensions
    share = selectivity ** (1 / (count + (beside is not None)))
    predicates = []
    for i in np.sort(random.choice(len(lines), count, replace=False)).tolist():
        line = lines[i]
        allowed = np.zeros(line.size, dtype=np.bool_)
        values = max(len(line.values), 1)  # a range has no missing value in it
        width = math.ceil(values * share)
        if line.kind is Kind.NOMINAL:
            allowed[random.choice(values, width, replace=False)] = True
        else:
            begin = int(random.integers(0, values - width + 1))
            allowed[begin : begin + width] = True
        predicates.append((i, allowed))
    if beside is None:
        return Query(tuple(predicates), None)
    present = np.flatnonzero(np.bincount(beside.codes, minlength=beside.size))
    allowed = np.zeros(beside.size, dtype=np.bool_)
    allowed[random.choice(present, math.ceil(len(present) * share), replace=False)] = True
    return Query(tuple(predicates), allowed)


def true_count(query: Query, codes: NDArray[np.int32], beside: Beside) -> int:
    """How many records of the original satisfy a query."""
    found = np.ones(codes.shape[1], dtype=np.bool_) if query.values is None else query.values[beside.codes]
    for i, allowed in query.predicates:
        found = found & allowed[codes[i]]
    return int(np.count_nonzero(found))


def expected_count(query: Query, shares: Sequence[Shares], beside: Beside) -> float:
    """How many records the release lets one expect to satisfy a query."""
    from rothko.kernels.cube import weigh

    share = np.ones(len(shares[0].of_class))
    for i, allowed in query.predicates:
        share *= shares[i].within(allowed)
    values = np.ones(beside.size, dtype=np.bool_) if query.values is None else query.values
    return float(weigh(beside.of_class, beside.value, beside.records, values, share))

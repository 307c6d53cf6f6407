"""Groups of records that lie along a curve.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007. k-anonymity by dynamic
programming over groups of k to 2k − 1 neighbours (section 3, :mod:`rothko.kernels.curve.onedim`), frequency l-diversity
by the heuristic of section 4.2 (:mod:`rothko.kernels.curve.diverse`).

Beyond the paper: for k together with l, of which it says nothing, two ways are gone, and the one that loses less is
taken. Either the l-diverse groups are joined to groups of at least k, in the best way; or the groups of k are merged
until they are l-diverse. All other requirements, and several at once, are met by merging neighbours
(:mod:`rothko.kernels.curve.merge`). An l that is not whole, say 5/2, becomes groups of five in which a value occurs
twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind
from rothko.methods.classes import LocalClasses, Members
from rothko.methods.curve.curve import Curve, pieces
from rothko.methods.layout import Rows, fewest, lay_out, rules_of
from rothko.privacy.requirement import Requirement, Rule
from rothko.progress import each

if TYPE_CHECKING:
    from rothko.kernels.boxes import Lines

NOTHING = np.int64(1 << 62)
"""The loss of a row that cannot be grouped,"""
STEPS = 60
"""and the bits of that of any other: room for what was rounded up, and for the sum of two."""
OFTEN = 8
"""How often a value may occur in a group of the l-diversity heuristic, where l is not whole."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """The records as they lie along a curve."""

    encoded: Encoded
    curve: Curve
    codes: NDArray[np.int32]
    """(records, lines), in the order of the curve."""
    lines: Lines

    @classmethod
    def of(cls, encoded: Encoded, curve: Curve, *, threads: int = 1) -> Row:
        """The codes of the records in the order of the curve."""
        from rothko.kernels.curve.onedim import gather

        rows = len(curve.order)
        codes = np.empty((rows, len(encoded.lines)), dtype=np.int32)
        each(lambda piece: gather(encoded.codes, curve.order, *piece, codes), pieces(rows), threads)
        return cls(encoded, curve, codes, lay_out(encoded.lines))


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of records, by their places on the curve."""

    members: NDArray[np.int64]
    """The places, group by group."""
    starts: NDArray[np.int64]
    """Where each group begins, and the number of records at the end."""


@dataclass(frozen=True, slots=True, eq=False)
class Buckets:
    """What the l-diversity heuristic works on."""

    requirement: Requirement
    """The one that it meets."""
    values: NDArray[np.int32]
    """The bucket of each record, in the order of the curve."""
    count: int
    """How many buckets there are."""
    least: int
    """The fewest records of a group, all from different buckets."""


def group(
    encoded: Encoded,
    curve: Curve,
    requirements: Sequence[Requirement],
    *,
    name: str,
    exact: bool,
    by_paper: bool = False,
    threads: int,
) -> LocalClasses:
    """Group the records along a curve, all or some of a table, into classes that satisfy every requirement.

    Parameters
    ----------
    name
        The method, for the notes.
    exact
        Whether the loss of a group is that of its box; else it is how far the group reaches along the curve.
    by_paper
        Whether the groups for l are optimised as in the paper: once each, by distance along the curve.
    """
    row = Row.of(encoded, curve, threads=threads)
    k = fewest(requirements)
    ways: list[tuple[Groups, Sequence[Requirement]]] = []
    buckets = _buckets(row, requirements)
    if buckets is not None:
        others = [r for r in requirements if r is not buckets.requirement]
        diverse = joined(row, diverse_groups(row, buckets, exact=exact, by_paper=by_paper), k)
        ways.append((merged(row, diverse, others), others))
    if buckets is None or k > buckets.least:
        large = optimal_groups(row, k, exact=exact)
        ways.append((merged(row, large, requirements), requirements))
    found, by_merging = min(ways, key=lambda way: _loss(row, way[0])) if len(ways) > 1 else ways[0]
    asked = [requirement.describe() for requirement in by_merging if _rule(encoded, requirement) is not None]
    notes = (
        [f"{name} merged neighbouring groups along the curve until they met {' and '.join(asked)}."] if asked else []
    )
    return _partition(row, found, tuple(notes), threads)


def one_class(encoded: Encoded, curve: Curve, *, threads: int) -> LocalClasses:
    """All records along a curve as one class."""
    rows = len(curve.order)
    return _partition(
        Row.of(encoded, curve, threads=threads), Groups(np.arange(rows), np.array([0, rows])), (), threads
    )


def optimal_groups(row: Row, k: int, *, exact: bool) -> Groups:
    """The groups of k to 2k − 1 neighbours with the least loss; one group where there are fewer than 2k records."""
    from rothko.kernels.curve.onedim import group_in_boxes, groups_of

    n = len(row.codes)
    if n < 2 * k:
        return Groups(np.arange(n), np.array([0, n]))
    if not exact:
        return Groups(np.arange(n), _along(row.curve.gaps, k))
    best, back = np.full(n + 1, np.inf), np.full(n + 1, -1, dtype=np.int32)
    best[0] = 0.0
    group_in_boxes(row.codes, row.lines, k, best, back)
    return Groups(np.arange(n), groups_of(back, n))


def _along(gaps: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Where the groups begin that reach least far along the curve."""
    from rothko.kernels.curve.onedim import group_along, groups_of

    n = len(gaps)
    best, back = np.full(n + 1, NOTHING), np.full(n + 1, -1, dtype=np.int32)
    best[0] = 0
    group_along(in_steps(gaps, k), k, best, back)
    return np.asarray(groups_of(back, n))


def in_steps(gaps: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Gaps in whole steps that are so small beside all of them together that hardly anything changes.

    The losses of groups of fewer than 2k records are whole numbers, then, and so are their sums, which all stay below
    :data:`NOTHING`.

    >>> in_steps(np.array([0.0, 1.0, 2.0**-60]), 4).tolist()
    [0, 36028797018963968, 0]
    """
    step = np.ldexp(1.0, int(np.frexp(gaps.sum())[1]) - (STEPS - int(2 * k).bit_length()))
    return np.asarray(np.rint(gaps / step), dtype=np.int64)


def diverse_groups(row: Row, buckets: Buckets, *, exact: bool, by_paper: bool = False) -> Groups:
    """Groups of records from different buckets, by the 1-D l-diversity heuristic."""
    from rothko.kernels.curve import diverse

    reach = np.empty(0) if exact and not by_paper else np.cumsum(row.curve.gaps)
    return Groups(
        *diverse.diverse_groups(buckets.values, buckets.count, buckets.least, reach, by_paper, row.codes, row.lines)
    )


def joined(row: Row, groups: Groups, k: int) -> Groups:
    """Neighbouring groups joined so that each has at least k records, with the least loss."""
    from rothko.kernels.curve.onedim import join_groups

    if np.diff(groups.starts).min() >= k:
        return groups
    return Groups(groups.members, join_groups(row.codes, groups.members, groups.starts, k, row.lines))


def merged(row: Row, groups: Groups, requirements: Sequence[Requirement]) -> Groups:
    """Neighbouring groups merged until they satisfy what is asked of sensitive values."""
    from rothko.kernels.curve.merge import merge_groups

    rows = Rows()
    rules = rules_of(row.encoded, requirements, rows.add)
    if not len(rules.spec):
        return groups
    table = np.stack([codes[row.curve.order] for codes in rows])
    return Groups(groups.members, merge_groups(table, groups.members, groups.starts, rules, row.codes, row.lines))


def _buckets(row: Row, requirements: Sequence[Requirement]) -> Buckets | None:
    """The buckets for the smallest share that is asked for; None where there is none, or the heuristic cannot meet it.

    For at most q records of a value in p, each value has q buckets, which its records enter in turn.
    """
    asked = shares_of(row.encoded, requirements)
    if not asked:
        return None
    requirement, rule = min(asked, key=lambda pair: pair[1].ratio[0] / pair[1].ratio[1])
    codes, domain = row.encoded.sensitive[str(requirement.column)]
    values = codes[row.curve.order]
    share, of = rule.ratio
    most = int(np.bincount(values).max())
    for often in range(1, OFTEN + 1):
        least = -(-often * of // share)
        if -(-most // often) * least <= len(values):
            if often > 1:
                values = values * np.int32(often) + _turns(values) % np.int32(often)
            return Buckets(requirement, values, domain.size * often, least)
    return None


def shares_of(encoded: Encoded, requirements: Sequence[Requirement]) -> list[tuple[Requirement, Rule]]:
    """What is asked of the share of each sensitive value, which groups of records from different buckets meet."""
    from rothko.kernels.rules import SHARE

    if encoded.owner is not None:  # several records of a group may be of one person
        return []
    rules = [(requirement, _rule(encoded, requirement)) for requirement in requirements]
    return [
        (requirement, rule)
        for requirement, rule in rules
        if rule is not None and rule.kind == SHARE and rule.ratio[0] < rule.ratio[1]
    ]


def _turns(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """How many records before each have its value.

    >>> _turns(np.array([7, 3, 7, 7], dtype=np.int32)).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(values, kind="stable")
    counts = np.bincount(values)
    firsts = np.cumsum(counts) - counts
    turns = np.empty_like(values)
    turns[order] = np.arange(len(values)) - firsts[values[order]]
    return turns


def _rule(encoded: Encoded, requirement: Requirement) -> Rule | None:
    """What is asked of sensitive values, or of people."""
    if encoded.owner is not None and not requirement.counts_alike:
        return None
    about = encoded.owner if requirement.owner is not None else encoded.sensitive.get(requirement.column or "")
    return None if about is None else requirement.rule(about.domain)


def _loss(row: Row, groups: Groups) -> float:
    from rothko.kernels.boxes import loss_of

    return float(loss_of(row.codes, groups.members, groups.starts, row.lines))


def _partition(row: Row, groups: Groups, notes: tuple[str, ...], threads: int) -> LocalClasses:
    """The groups as classes of records."""
    from rothko.kernels.boxes import bounds_of, members_of

    lines, classes = row.encoded.lines, len(groups.starts) - 1
    low, high = (np.empty((classes, len(lines)), dtype=np.int32) for _ in range(2))

    def bound(piece: tuple[int, int]) -> None:
        bounds_of(row.codes, groups.members, groups.starts, *piece, low, high)

    def members(a: int) -> Members:
        return Members(*members_of(row.codes, a, lines[a].size, groups.members, groups.starts))

    each(bound, pieces(classes), threads)
    nominal = [a for a, line in enumerate(lines) if line.kind is Kind.NOMINAL]
    sets = dict(zip(nominal, each(members, nominal, threads), strict=True))
    return LocalClasses(row.curve.order[groups.members], groups.starts, low, high, sets=sets, notes=notes)

"""What two predicates have to do with each other by definition, whatever a table holds.

``age < 30`` implies ``age < 50``, and ``age < 30`` and ``age >= 30`` exclude each other: nobody needs the data to know.
That ``age < 97`` and ``age < 98`` select the same records is a fact about a table. What is not certain here counts as
unknown; a hierarchy and an order of labels are not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import NamedTuple

from rothko.workload.predicate import Comparison, Conjunction, Predicate


class _Interval(NamedTuple):
    """Numbers from one end to the other; an end that is open has a 1 (low) or a −1 (high) beside it."""

    low: tuple[Decimal, int]
    high: tuple[Decimal, int]

    def meets(self, other: _Interval) -> bool:
        return self.low <= other.high and other.low <= self.high

    def within(self, other: _Interval) -> bool:
        return other.low <= self.low and self.high <= other.high


EVERYTHING = _Interval((Decimal("-Infinity"), 0), (Decimal("Infinity"), 0))


def implies(one: Predicate, other: Predicate, numeric: Collection[str]) -> bool:
    """Whether every record that satisfies one predicate satisfies the other.

    Parameters
    ----------
    numeric
        The columns that are compared as numbers.

    Examples
    --------
    >>> from rothko.workload.predicate import parse
    >>> implies(parse("age < 30 and sex = 'M'"), parse("age < 50"), {"age"})
    True
    """
    return all(
        any(all(_narrows(a, comparison, numeric) for comparison in b) for b in other.alternatives)
        for a in one.alternatives
    )


def excludes(one: Predicate, other: Predicate, numeric: Collection[str], flat: Collection[str]) -> bool:
    """Whether no record satisfies both.

    Parameters
    ----------
    flat
        The columns of labels in which no label stands for others.

    Examples
    --------
    >>> from rothko.workload.predicate import parse
    >>> excludes(parse("age < 30"), parse("age >= 30"), {"age"}, ())
    True
    """
    return all(_apart(a, b, numeric, flat) for a in one.alternatives for b in other.alternatives)


def _narrows(comparisons: Conjunction, wanted: Comparison, numeric: Collection[str]) -> bool:
    """Whether comparisons leave nothing that does not meet another one."""
    same = [c for c in comparisons if c.column == wanted.column]
    if any(c.operator == wanted.operator == "in" and set(c.values) <= set(wanted.values) for c in same):
        return True
    if any(c.operator == wanted.operator and c.values == wanted.values for c in same):
        return True
    interval = _interval(same) if wanted.column in numeric and wanted.operator != "in" else None
    return interval is not None and interval.within(_interval([wanted]))


def _apart(one: Conjunction, other: Conjunction, numeric: Collection[str], flat: Collection[str]) -> bool:
    for column in {c.column for c in one} & {c.column for c in other}:
        mine, theirs = ([c for c in comparisons if c.column == column] for comparisons in (one, other))
        if column in numeric and not _interval(mine).meets(_interval(theirs)):
            return True
        labels = [[{value.text for value in c.values} for c in some if c.operator == "in"] for some in (mine, theirs)]
        if column in flat and any(a.isdisjoint(b) for a in labels[0] for b in labels[1]):
            return True
    return False


def _interval(comparisons: Iterable[Comparison]) -> _Interval:
    """The numbers that meet some comparisons, and perhaps others between them."""
    low, high = EVERYTHING
    for comparison in comparisons:
        numbers = [value.number for value in comparison.values if value.number is not None]
        if len(numbers) < len(comparison.values):
            continue  # a date: not looked at
        if comparison.operator in ("in", ">", ">="):
            low = max(low, (min(numbers), int(comparison.operator == ">")))
        if comparison.operator in ("in", "<", "<="):
            high = min(high, (max(numbers), -int(comparison.operator == "<")))
    return _Interval(low, high)

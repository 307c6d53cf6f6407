"""Suppression: the records whose withholding spares the others most.

A record at the rim of its class widens it for all others. Take a class of m records that lose c each, and a tail of it
on one line: its t first or last records there, without which they would lose c′. To withhold the tail spares
(m − t)(c − c′) and costs t(1 − c), since a suppressed record loses everything. A tail of one is the outlier; trees ask
for tails of several, for a node is left behind when the last record outside is gone. Ours; a limit of suppressed
records is ARX's idea (Prasser, Kohlmayer, Kuhn), whose recoding suppresses the classes that stay too small.

The method makes classes of all records first. From these, tails are peeled, the best of each class again and again, as
long as one spares more than it costs. What is left are classes, which may be released as they are. Then the method is
run again on the records that are left, which may lie closer together, and so on a few times. The best that was found is
kept, also if it is what there was without suppression: never is more lost than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line
from rothko.methods.classes import Classes, LocalClasses
from rothko.methods.unmet import unmet, violating
from rothko.privacy.requirement import Requirement
from rothko.privacy.statistics import Statistics

RUNS = 2
"""How often the method is run again on what is left."""
ROUNDS = 12
"""How many tails of a class are peeled, at most, before the method is run again."""

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Spared:
    """Classes of the records that are not suppressed."""

    stay: Numbers
    """The records that are in classes, rising."""
    classes: Classes
    """Theirs, by the place of each among them."""
    encoded: Encoded
    """They alone."""
    starred: bool
    """Whether the others leave, as one class that shows nothing; otherwise they are left out."""
    lost: float
    """What a record loses on average; a suppressed one 1."""

    @classmethod
    def none(cls, encoded: Encoded, classes: Classes) -> Spared:
        """The classes of all records."""
        return cls(np.arange(encoded.rows), classes, encoded, True, classes.gcp(encoded.lines))

    def with_silent(self, classes: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
        """The class of every record of a table, from those that stay; the others are in one more, the last."""
        found = np.full(rows, self.classes.classes, dtype=np.int32)
        found[self.stay] = classes
        return found


def spare(
    encoded: Encoded, requirements: Sequence[Requirement], group: Callable[[Encoded], Classes], *, most: int,
    starred: bool,
) -> Spared:  # fmt: skip
    """The classes of a table, and the records to suppress so that least is lost.

    Parameters
    ----------
    group
        The method.
    most
        Records that may be suppressed.
    starred
        Whether they are to leave as a class of their own. Where they do not meet the requirements, they are left out.
    """
    best = Spared.none(encoded, group(encoded))
    now: Spared | None = best
    for _ in range(RUNS):
        if now is None:
            break
        room = most - (encoded.rows - len(now.stay))
        gone = _peeled(now, requirements, room)
        if gone.any():
            left = np.flatnonzero(~gone)
            best = min(best, *_told(encoded, now.stay[left], _shrunk(now, left), requirements, starred), key=_lost)
        else:  # what is left of a class may be too small for one, and goes to others when the method is run again
            gone = _tails_of(now, room, 1)
            left = np.flatnonzero(~gone)
        if not gone.any():
            break
        now = _run(encoded, now.stay[left], requirements, group, starred)
        best = best if now is None else min(best, now, key=_lost)
    return best


def _lost(one: Spared) -> float:
    return one.lost


def _run(
    encoded: Encoded, stay: Numbers, requirements: Sequence[Requirement], group: Callable[[Encoded], Classes],
    starred: bool,
) -> Spared | None:  # fmt: skip
    """The method on what is left; None where that cannot be released."""
    whose = _stars(encoded, stay, requirements) if starred else False
    rest = encoded.take(stay) if whose else encoded.alone(stay)
    if not _meets(rest, requirements):
        return None
    return next(_told(encoded, stay, group(rest), requirements, starred), None)


def _told(
    encoded: Encoded, stay: Numbers, classes: Classes, requirements: Sequence[Requirement], starred: bool
) -> Iterator[Spared]:
    """The classes of the records that stay, if they meet the requirements in what is released."""
    stars = starred and _stars(encoded, stay, requirements)
    rest = encoded.take(stay) if stars else encoded.alone(stay)
    if not unmet(rest, classes, requirements):
        away = encoded.rows - len(stay)
        lost = (classes.gcp(encoded.lines) * len(stay) + away) / encoded.rows
        yield Spared(stay, classes, rest, stars, lost)


def _stars(encoded: Encoded, stay: Numbers, requirements: Sequence[Requirement]) -> bool:
    """Whether the records that do not stay meet the requirements as a class."""
    away = np.setdiff1d(np.arange(encoded.rows), stay, assume_unique=True)
    return _meets(encoded.take(away), requirements)


def _meets(encoded: Encoded, requirements: Sequence[Requirement]) -> bool:
    """Whether some records meet the requirements as one class."""
    parts = [part for requirement in requirements for part in requirement.parts(None)]
    one = Statistics.count(np.zeros(encoded.rows, dtype=np.int64), 1, encoded.sensitive, parts)
    return all(bool(part.satisfied(one)[0]) for part in parts)


def _shrunk(now: Spared, left: Numbers) -> Classes:
    """The same classes of fewer records, none of which is empty: each shows its smallest box."""
    made = now.classes
    local = LocalClasses.of(now.encoded.take(left), made.class_of()[left], made.classes)
    if isinstance(made, LocalClasses):
        return replace(local, notes=made.notes)
    return replace(made, order=local.order, starts=local.starts, low=local.low, high=local.high)


def _tails_of(now: Spared, most: int, least: int) -> Mask:
    """Which records to withhold, so that so many are left of each class."""
    made, of = now.classes, now.classes.class_of().astype(np.int64)
    return peel(now.encoded, of, made.classes, most=most, least=least, sets=isinstance(made, LocalClasses))


def _peeled(now: Spared, requirements: Sequence[Requirement], most: int) -> Mask:
    """Which records to withhold, so that what is left of each class meets the requirements, and shows less."""
    made = now.classes
    if made.by_column:  # what a value shows does not hang on the records of a class
        return np.zeros(len(now.stay), dtype=np.bool_)
    gone = _tails_of(now, most, max(requirement.least for requirement in requirements))
    parts = [part for requirement in requirements for part in requirement.parts(None)]
    left, of = np.flatnonzero(~gone), made.class_of()
    bad = np.any(violating(now.encoded.take(left), of[left], made.classes, parts), axis=0)
    return np.asarray(gone & ~bad[of])


def peel(encoded: Encoded, of: Numbers, classes: int, *, most: int, least: int, sets: bool) -> Mask:
    """Which records to withhold: the best tail of each class, round by round, those first that spare most for each.

    Parameters
    ----------
    of
        The class of each record.
    most
        Records that may be withheld.
    least
        Records that must be left of a class.
    sets
        Whether a nominal line publishes the very values of a class, and not an interval of them.
    """
    gone = np.zeros(len(of), dtype=np.bool_)
    active = np.arange(classes)
    for _ in range(ROUNDS):
        number = np.full(classes, -1, dtype=np.int64)
        number[active] = np.arange(len(active))
        records = np.flatnonzero(~gone & (number[of] >= 0))
        records = records[np.argsort(number[of[records]], kind="stable")]
        mine = number[of[records]]
        gain, tail = tails(encoded, records, mine, least=least, sets=sets)
        count = np.bincount(mine[tail], minlength=len(active))
        ranked = np.flatnonzero(gain > 0)
        ranked = ranked[np.argsort(-gain[ranked] / count[ranked], kind="stable")]
        ranked = ranked[np.cumsum(count[ranked]) <= most - np.count_nonzero(gone)]
        if not len(ranked):
            break
        chosen = np.zeros(len(active), dtype=np.bool_)
        chosen[ranked] = True
        gone[records[tail & chosen[mine]]] = True
        active = active[chosen]
    return gone


def tails(encoded: Encoded, records: Numbers, of: Numbers, *, least: int, sets: bool) -> tuple[Floats, Mask]:
    """What the best tail of each class spares, 0 where none spares anything; and the records that are in it.

    Parameters
    ----------
    records
        Those of some classes, class by class.
    of
        The class of each, from 0 on, none of them empty.
    """
    sizes = np.bincount(of)
    starts = np.cumsum(sizes) - sizes
    weights = np.array([line.weight for line in encoded.lines])
    cut = [
        _sorted(line, encoded.codes[i][records], of, starts, sets=sets and line.kind is Kind.NOMINAL)
        for i, line in enumerate(encoded.lines)
    ]
    weights = weights / weights.sum()
    cost = 1 - sum(weight * one.whole for weight, one in zip(weights, cut, strict=True))
    gain, tail = np.zeros(len(sizes)), np.zeros(len(records), dtype=np.bool_)
    for weight, one in zip(weights, cut, strict=True):
        classes, goes, first, spared = one.best(weight, cost, sizes, least)
        better = spared > gain[classes]
        classes, goes, first = classes[better], goes[better], first[better]
        gain[classes] = spared[better]
        until = np.full(len(sizes), -1, dtype=np.int64)
        until[classes] = goes
        below = np.zeros(len(sizes), dtype=np.bool_)
        below[classes] = first
        inside = until[of] >= 0
        place = np.arange(len(records)) - starts[of]
        taken = np.where(below[of], place < until[of], place >= (sizes - until)[of])
        tail[one.order[inside]] = taken[inside]
    return gain, tail


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The records of classes along a line, and what every tail of them leaves."""

    order: Numbers
    """Places of the records, class by class, each along the line; of a set, rare values first."""
    whole: Floats
    """The NCP of each class."""
    of: Numbers
    """The class of each place at which a tail may end: that before it goes, or what comes from there on."""
    place: Numbers
    """How many records of the class lie before it."""
    without_first: Floats
    """The NCP of the class without these."""
    without_last: Floats
    """Without the others."""

    def best(self, weight: float, cost: Floats, sizes: Numbers, least: int) -> tuple[Numbers, Numbers, Mask, Floats]:
        """Of each class the tail that spares most: its class, how many go, whether they come first, what it spares."""
        of, m = np.tile(self.of, 2), np.tile(sizes[self.of], 2)
        goes = np.concatenate([self.place, sizes[self.of] - self.place])
        left = np.concatenate([self.without_first, self.without_last])
        spared = (m - goes) * weight * (self.whole[of] - left) - goes * cost[of]
        allowed = np.flatnonzero(m - goes >= least)
        allowed = allowed[np.lexsort((goes[allowed], -spared[allowed], of[allowed]))]
        best = allowed[np.append(True, np.diff(of[allowed]) > 0)] if len(allowed) else allowed
        return of[best], goes[best], best < len(self.of), spared[best]


def _sorted(line: Line, codes: NDArray[np.int32], of: Numbers, starts: Numbers, *, sets: bool) -> _Sorted:
    by = codes.astype(np.int64)
    if sets:
        _, back, times = np.unique(of * line.size + codes, return_inverse=True, return_counts=True)
        by = times[back] * line.size + codes
    order = np.lexsort((by, of))
    x, by = codes[order], by[order]
    new = np.append(True, (by[1:] != by[:-1]) | (of[1:] != of[:-1]))
    place = np.arange(len(x)) - starts[of]
    cut = np.flatnonzero(new & (place > 0))
    here = of[cut]
    if not sets:
        low, high = x[starts], x[np.append(starts[1:], len(x)) - 1]
        first, last = line.width(x[cut], high[here]), line.width(low[here], x[cut - 1])
        return _Sorted(order, line.width(low, high), here, place[cut], first, last)
    values = np.bincount(of[new], minlength=len(starts))
    before = (np.cumsum(new) - 1)[cut] - (np.cumsum(values) - values)[here]
    absent = np.full(len(starts), -1, dtype=np.int64)
    missing = new & (x == line.missing_code)
    absent[of[missing]] = place[missing]
    whole = _set_width(line, values, absent >= 0)
    first = _set_width(line, values[here] - before, absent[here] >= place[cut])
    return _Sorted(order, whole, here, place[cut], first, np.full(len(cut), np.inf))


def _set_width(line: Line, values: NDArray[np.integer], absent: Mask) -> Floats:
    """The NCP of sets of so many values, some of which have the missing one."""
    return np.where(values <= 1, 0.0, np.where(absent, 1.0, values / line.size))

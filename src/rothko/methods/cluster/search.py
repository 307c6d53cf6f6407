"""The search for classes of little loss: several starts, the better of them repaired, then made anew by prices.

Each start is repaired first, since repair gains more on some than on others; the one that then loses least goes on.
What is grown is repaired as ``effort: fast`` does, so that more effort never loses more. What the best classes cost
is where prices begin (:mod:`rothko.methods.cluster.price`): other classes come of them, boxes are opened that draw on
many, and all is taken where it loses less, and repaired; then some near classes at a time are made anew by prices of
their own, and at last what dear classes can spare goes to cheap ones through others. Nothing of it raises the loss, so
the search may end at any time with what it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from rothko.methods.classes import LocalClasses
from rothko.methods.cluster.price import BLOCK, dearest, may_price, near_anew, priced
from rothko.methods.cluster.repair import ALL, COMPARED, LARGE, NEAREST, Effort, chained, joined, repair_pass
from rothko.methods.cluster.room import OF_BEST, UNLIMITED, Room
from rothko.methods.cluster.tuples import Entries, Tuples
from rothko.progress import Ending, each, remark

EFFORTS = ("fast", "default", "thorough")

USUAL = 100_000
"""Records of a table that efforts are measured by: larger ones get less for each record, smaller ones more."""
WIDER = 4
"""After so many passes, or rounds of prices, without an end blocks are twice as large."""
IN_VAIN = 4
"""So many rounds of prices in a row that gain nothing end a search that has time left."""
ENDLESS = 1 << 30
TRIED = 0.1
"""The share of near classes that are made anew to see whether it gains anything, where boxes have no end."""
NEAR_WORTH, SMALL = 0.0002, 25_000
"""The share of the loss that a pass over near classes must gain for another one to follow, up to so many records: in
larger tables, where it takes longer, the more, by their number to the power of 1.25."""


class Start(NamedTuple):
    """One way to begin."""

    make: Callable[[int], Entries | None]
    """Makes classes with so many threads; None where it cannot."""
    repairs: Sequence[Effort]
    """The passes after which it is compared with others."""


class Best(NamedTuple):
    """Classes, and what they lose."""

    loss: float
    entries: Entries
    found: LocalClasses

    @classmethod
    def of(cls, tuples: Tuples, entries: Entries) -> Best:
        """What classes lose."""
        found = tuples.partition(entries)
        return cls(found.gcp(tuples.encoded.lines), entries, found)


@dataclass(frozen=True, slots=True)
class Plan:
    """How much a search spends."""

    repair: Effort
    """What each pass does, and how many there are at most."""
    patience: float
    """How often a tuple is looked at for the cheapest generalization."""
    worth: float
    """The share of the loss that a pass must gain for another one to follow."""
    rounds: int
    """How often classes are made anew by prices,"""
    priced: int
    """and of how many records, the dearest of a larger table."""
    near: int
    """In how many passes near classes of so many records are then made anew by prices, at most,"""
    near_worth: float
    """and the share of the loss that such a pass must gain."""
    vain: int
    """So many rounds in a row that gain nothing are the last, and so many passes over near classes that gain little."""
    room: Room
    """What may be kept beside the records and the best classes."""

    @classmethod
    def for_table(
        cls,
        tuples: Tuples,
        effort: Literal["fast", "default", "thorough"],
        seconds: float | None,
        room: Room = UNLIMITED,
    ) -> Plan:
        """What suits a table; it grows and falls smoothly with its records."""
        rows, k, lines = len(tuples.records), tuples.k, len(tuples.encoded.lines)
        more = 3 if effort == "thorough" else 1
        less = (USUAL / max(rows, 1)) ** 0.5
        # Some near classes of k records each are clustered anew at a time: their tuples are all compared.
        bearable = 20 * COMPARED / (NEAREST * NEAREST / 4 * max(rows, 1) * k * lines)
        block = more * max(round(8_000 * min(1.0, less**0.5)), 40 * k)
        # Where classes are small, most of the time goes to looking at all of a block for those that are near.
        bearable = min(bearable, 2 * COMPARED * k * k / (block * max(rows, 1) * lines))
        repair = Effort(
            block=block,
            passes=max(2, round(more * min(10.0, 5 * less**0.5))),
            tries=ALL,
            steps=more * min(10.0, 3 * less, bearable),
        )
        worth, near_worth = 0.001 / more**2, NEAR_WORTH * max(1.0, rows / SMALL) ** 1.25 / more**2
        rounds, vain, near = more, more, repair.passes
        if seconds is not None:
            worth, near_worth, rounds, vain, near = 0.0, 0.0, ENDLESS, IN_VAIN, ENDLESS
        return cls(
            repair, more * 4_000 * min(1.0, less**1.5), worth, rounds, more * BLOCK, near, near_worth, vain,
            room.without(OF_BEST * rows),
        )  # fmt: skip

    def turn(self, number: int) -> Effort:
        """What the passes of a round do: in blocks that grow."""
        return replace(self.repair, block=self.repair.block << min(number // WIDER, 10))


def searched(
    tuples: Tuples,
    starts: Sequence[Start],
    plan: Plan,
    over: Ending,
    *,
    seed: int,
    threads: int,
    progress: Callable[[int], None],
) -> LocalClasses:
    """The classes of the start that is best after some repair, repaired further and made anew."""
    shares = _Shares(len(tuples.records), len(starts) + 2, progress)
    # One of them takes one thread whatever it is given.
    made = each(lambda start: start.make(threads), starts, threads)
    best: Best | None = None
    for start, entries in zip(starts, made, strict=True):
        shares.one()
        if entries is None or (best is not None and over()):
            continue
        for turn, effort in enumerate(start.repairs):
            entries = repair_pass(tuples, entries, effort, turn, seed=seed, threads=threads, over=over)
        found = Best.of(tuples, entries)
        if best is None or found.loss < best.loss:
            best = found
            remark(f"loss {best.loss:.4f}")
    assert best is not None
    number, vain = 0, 0
    # Prices are of k records that share a box: where requirements make classes far larger they say nothing.
    most = LARGE * tuples.k * best.entries.count
    rounds = plan.rounds if len(tuples.records) <= most and may_price(tuples, plan.room) else 0
    while number < rounds and vain < plan.vain and best.loss > 0 and not over():
        number += 1
        some, pieces, rest = dearest(tuples, best.entries, plan.priced, turn=number, threads=threads)
        effort = plan.turn(number)
        other = priced(
            tuples, some, pieces, effort, turn=number, seed=seed, threads=threads, over=over, room=plan.room
        )  # fmt: skip
        if other is None:
            number -= 1
            break
        again, endless = other
        found = Best.of(tuples, joined([again, rest]))
        vain = 0 if found.loss < best.loss else vain + 1
        best = min(best, found, key=lambda one: one.loss)
        remark(f"loss {best.loss:.4f}")
        best = _anew(tuples, best, plan, number, over, endless=endless, seed=seed, threads=threads)
        # Where values are spread evenly, near classes find little and passes of repair a lot.
        best = _repaired(tuples, best, plan, number, over, seed=seed, threads=threads)
    if number == 0:
        best = _repaired(tuples, best, plan, number, over, seed=seed, threads=threads)
    shares.all()
    return best.found


def _repaired(tuples: Tuples, best: Best, plan: Plan, number: int, over: Ending, *, seed: int, threads: int) -> Best:
    """Classes after passes of repair, until one gains little, and after chains."""
    effort = plan.turn(number)
    for turn in range(1, effort.passes):
        if over() or best.loss == 0:
            break
        turned = number * effort.passes + turn
        entries = repair_pass(tuples, best.entries, effort, turned, seed=seed, threads=threads, over=over)
        before, best = best.loss, Best.of(tuples, entries)
        remark(f"loss {best.loss:.4f}")
        if before - best.loss <= plan.worth * best.loss:
            break
    best = Best.of(tuples, chained(tuples, best.entries, seed=seed, threads=threads, over=over))
    remark(f"loss {best.loss:.4f}")
    return best


def _anew(
    tuples: Tuples, best: Best, plan: Plan, number: int, over: Ending, *, endless: bool, seed: int, threads: int
) -> Best:
    """Classes after passes that make near ones anew by prices, the dearest of a large table, until some gain little.

    Where boxes have no end those of a few classes mostly gain nothing: a tenth of them is tried first.
    """
    vain = 0
    for turn in range(plan.near):
        if over() or best.loss == 0 or vain == plan.vain:
            break
        share = TRIED if turn == 0 and endless else 1.0
        effort = replace(plan.turn(number), steps=share)
        turned = number * effort.passes + turn
        entries, rest = best.entries, Entries.none()
        if len(tuples.records) > plan.priced:
            entries, _, rest = dearest(tuples, entries, plan.priced, turn=turned, threads=threads)
        entries = near_anew(
            tuples, entries, effort, turned, seed=seed, threads=threads, over=over, room=plan.room, endless=endless
        )  # fmt: skip
        before, best = best.loss, Best.of(tuples, joined([entries, rest]))
        vain = vain + 1 if before - best.loss <= share * plan.near_worth * best.loss else 0
        remark(f"loss {best.loss:.4f}")
        if vain and share < 1.0:
            break
    return best


class _Shares:
    """Progress in equal shares of all records."""

    def __init__(self, rows: int, parts: int, progress: Callable[[int], None]) -> None:
        self._each, self._left, self._progress = rows // max(parts, 1), rows, progress

    def one(self) -> None:
        """One share is done."""
        self._tell(min(self._each, self._left))

    def all(self) -> None:
        """Nothing is left to do."""
        self._tell(self._left)

    def _tell(self, records: int) -> None:
        self._left -= records
        self._progress(records)

"""The search for classes of little loss: several starts, the better of them repaired until little is left to gain.

Each start is repaired first, since repair gains more on some than on others; the one that then loses least goes on.
What is grown is repaired as ``effort: fast`` does, so that more effort never loses more. Repair never raises the
loss, so the search may end at any time with what it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from rothko.methods.classes import LocalClasses
from rothko.methods.cluster.repair import ALL, COMPARED, NEAREST, Effort, repair_pass
from rothko.methods.cluster.tuples import Entries, Tuples
from rothko.progress import Ending, each, remark

EFFORTS = ("fast", "default", "thorough")

USUAL = 100_000
"""Records of a table that efforts are measured by: larger ones get less for each record, smaller ones more."""
WIDER = 4
"""After so many passes without an end blocks are twice as large."""
IN_VAIN = 8
"""So many passes in a row that gain nothing end a search that has time left."""


class Start(NamedTuple):
    """One way to begin."""

    make: Callable[[int], Entries | None]
    """Makes classes with so many threads; None where it cannot."""
    repairs: Sequence[Effort]
    """The passes after which it is compared with others."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much a search spends."""

    repair: Effort
    """What each pass does, and how many there are at most."""
    patience: float
    """How often a tuple is looked at for the cheapest generalization."""
    worth: float
    """The share of the loss that a pass must gain for another one to follow."""
    endless: bool
    """Whether to go on as long as there is time, in blocks that grow."""

    @classmethod
    def for_table(cls, tuples: Tuples, effort: Literal["fast", "default", "thorough"], seconds: float | None) -> Plan:
        """What suits a table; it grows and falls smoothly with its records."""
        rows, k, lines = len(tuples.records), tuples.k, len(tuples.encoded.lines)
        more = 3 if effort == "thorough" else 1
        less = (USUAL / max(rows, 1)) ** 0.5
        # Some near classes of k records each are clustered anew at a time: their tuples are all compared.
        bearable = 20 * COMPARED / (NEAREST * NEAREST / 4 * max(rows, 1) * k * lines)
        repair = Effort(
            block=more * max(round(8_000 * min(1.0, less**0.5)), 40 * k),
            passes=max(2, round(more * min(10.0, 5 * less**0.5))),
            tries=ALL,
            steps=more * min(10.0, 3 * less, bearable),
        )
        worth = 0.0 if seconds is not None else 0.001 / more**2
        return cls(repair, more * 4_000 * min(1.0, less**1.5), worth, seconds is not None)

    def turn(self, number: int) -> Effort | None:
        """What the pass of a number does; None where there is none."""
        if not self.endless:
            return self.repair if number < self.repair.passes else None
        wider = 1 << min(number // WIDER, 10)
        return replace(self.repair, block=self.repair.block * wider)


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
    """The classes of the start that is best after some repair, repaired further."""
    rows = len(tuples.records)
    shares = _Shares(rows, len(starts) + plan.repair.passes, progress)
    made = each(lambda start: start.make(max(threads // len(starts), 1)), starts, threads)
    best: tuple[float, Entries, LocalClasses] | None = None
    for start, entries in zip(starts, made, strict=True):
        shares.one()
        if entries is None or (best is not None and over()):
            continue
        for turn, effort in enumerate(start.repairs):
            entries = repair_pass(tuples, entries, effort, turn, seed=seed, threads=threads, over=over)
        found = tuples.partition(entries)
        loss = found.gcp(tuples.encoded.lines)
        if best is None or loss < best[0]:
            best = (loss, entries, found)
            remark(f"loss {loss:.4f}")
    assert best is not None
    loss, entries, found = best
    number, vain = 1, 0
    while (wanted := plan.turn(number)) is not None and not over() and loss > 0:
        entries = repair_pass(tuples, entries, wanted, number, seed=seed, threads=threads, over=over)
        found = tuples.partition(entries)
        now = found.gcp(tuples.encoded.lines)
        gained, loss = loss - now, now
        remark(f"loss {loss:.4f}")
        vain = vain + 1 if gained <= 0 else 0
        shares.one()
        if gained < plan.worth * loss or vain == IN_VAIN:
            break
        number += 1
    shares.all()
    return found


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

"""What a search may keep in memory beside the records, and what each of its steps would.

An engine that keeps a limit says how many bytes there are. A step that would take more is left out or looks at less:
no step must be made, they only lose the less. What a step takes is foretold from the sizes of the table, and not
measured while it runs: so the same table and the same room give the same classes, whatever the machine has free and
however many threads there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rothko.data.line import Line

LEVELS = 7
"""Levels of a line of numbers; hierarchies with many values have about as many."""
OF_CODE = 24
"""Bytes of a code at each level while peeling: its group, and the number of that, which is copied once."""
OF_SLOT = 32
"""Bytes of a slot in the table of groups; it has two to four for each tuple."""
OF_LEVEL = 24
"""Bytes of a code at each level for prices: its group, counted once by itself and once among all, and its node."""
OF_BOX = 72
"""Bytes of a box beside its tuples: what it costs and where it begins, twice, and what is kept between sweeps."""
OF_MEMBER = 8
"""Bytes of a tuple of a box; what is found is copied once."""
OF_RECORD = 160
"""Bytes of a record of a block that boxes are opened in, beside its places: entries, lists of them and who holds it."""
OF_BEST = 100
"""Bytes of a record in the best classes so far, and in those that are compared with them."""


@dataclass(frozen=True, slots=True)
class Room:
    """So many bytes.

    >>> Room(1_000).without(300), Room().without(300)
    (Room(size=700), Room(size=None))
    """

    size: int | None = None
    """None: as many as a search asks for."""

    @property
    def limited(self) -> bool:
        """Whether there is an end to it."""
        return self.size is not None

    def fits(self, needed: int) -> bool:
        """Whether a step that takes so many bytes may be made."""
        return self.size is None or needed <= self.size

    def without(self, taken: int) -> Room:
        """What is left beside something."""
        return self if self.size is None else Room(max(self.size - taken, 0))

    def most(self, each: int, wanted: int) -> int:
        """How many things of so many bytes there is room for, of those that are wanted."""
        return wanted if self.size is None else min(wanted, self.size // each)


UNLIMITED = Room()
"""Where nobody keeps a limit."""


def of_peeling(tuples: int, lines: Sequence[Line]) -> int:
    """Bytes that peeling takes for so many tuples."""
    slots = 1 << max(2 * tuples - 1, 0).bit_length()
    codes = sum(line.size for line in lines)
    return tuples * (4 * len(lines) + 40) + slots * OF_SLOT + codes * LEVELS * OF_CODE


def of_levels(lines: Sequence[Line]) -> int:
    """Bytes that the levels of all lines take for prices: each has room for as many codes as the largest has."""
    return len(lines) * LEVELS * max(line.size for line in lines) * OF_LEVEL


def of_block(records: int, lines: int, k: int) -> int:
    """Bytes that a block of so many records takes in which boxes are looked for and opened."""
    holders = 128 * lines * records // max(k, 1)
    return records * (24 * lines + OF_RECORD) + holders


def of_member(k: int) -> int:
    """Bytes of each tuple of boxes: one of fewer than k tuples has k records of them all the same."""
    return OF_MEMBER + -(-OF_BOX // k)

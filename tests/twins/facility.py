"""Plain twin of opening boxes: classes as lists of entries, and what a box would take of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rothko.data.line import Kind
from tests.twins.cluster import Boxes, Group
from tests.twins.mondrian import Record, lowest_common_node, missing_code, path

NOWHERE, IN_VAIN = 2**40, 4


@dataclass(eq=False)
class Entry:
    """Some records of a tuple, and the class that they are in."""

    t: int
    n: int
    of: int | None


@dataclass(eq=False)
class Class:
    """Entries; what is known of it, and how often it has changed."""

    entries: list[Entry] = field(default_factory=list)
    size: int = 0
    version: int = 0
    parted: tuple[int, int] = (0, -1)


def contains(boxes: Boxes, members: Sequence[Record], one: Record) -> bool:
    """Whether the smallest box around some tuples has another one in it."""
    for a, line in enumerate(boxes.lines):
        codes, code, missing = {member[a] for member in members}, one[a], missing_code(line)
        if line.tree is not None:
            if lowest_common_node(line, codes) not in path(line, code):
                return False
        elif missing in codes or code == missing:
            if (codes == {missing} and code != missing) or missing not in codes:
                return False
        elif line.kind is Kind.ORDERED:
            places = [boxes.place(a, c) for c in codes]
            if not min(places) <= boxes.place(a, code) <= max(places):
                return False
        elif code not in codes:
            return False
    return True


class Opening:
    """Classes of tuples in which boxes are opened."""

    def __init__(
        self, boxes: Boxes, codes: Sequence[Record], k: int, holds: Callable[[Group], bool], given: Sequence[Group]
    ) -> None:
        self.boxes, self.codes, self.k, self.holds = boxes, codes, k, holds
        self.classes = [Class() for _ in given]
        self.costs: dict[tuple[int, ...], int] = {}
        self.cost: list[int] = []
        for c, group in enumerate(given):
            self.classes[c].entries = [Entry(t, n, c) for t, n in reversed(group)]
            self.classes[c].size = sum(n for _, n in group)
            self.cost.append(self.ncp(self.classes[c]))
        self.of_tuple: list[list[Entry]] = [[] for _ in codes]
        for one in self.classes:
            for entry in one.entries:
                self.of_tuple[entry.t].insert(0, entry)
        self.known: dict[int, list[tuple[int, int]]] = {}

    def ncp(self, one: Class) -> int:
        members = tuple(sorted({entry.t for entry in one.entries}))
        if members not in self.costs:
            self.costs[members] = self.boxes.ncp([self.codes[t] for t in members])
        return self.costs[members]

    def run(self, found: Sequence[tuple[list[int], int]]) -> list[Group]:
        """One look at all boxes, those first that save most: the classes that come of it."""
        saved = [self.weigh(box, cost)[1] if self.promising(box, cost) else 0 for box, cost in found]
        self.known.clear()  # each thread that asks has a memory of its own
        for one in self.classes:
            one.parted = (0, -1)
        vain = 0
        for b in sorted(range(len(found)), key=lambda b: -saved[b]):
            if saved[b] == 0 or vain > IN_VAIN * len(self.classes):
                break
            choices, still = self.weigh(*found[b])
            if still > 0:
                vain = 0 if self.open(found[b][0], choices) else vain + 1
        return [[(entry.t, entry.n) for entry in one.entries] for one in self.classes if one.size]

    def promising(self, box: list[int], cost: int) -> bool:
        return any(self.cost[entry.of] > cost for t in box for entry in self.of_tuple[t] if entry.of is not None)

    def otherwise(self, t: int, c: int) -> int:
        """What a record costs in the cheapest other class that holds it, of two that are remembered."""
        known = self.known.get(t)
        if known is None or any(self.classes[b].version != version for b, version in known):
            holders = [
                b for b, one in enumerate(self.classes)
                if one.size and contains(self.boxes, [self.codes[e.t] for e in one.entries], self.codes[t])
            ]  # fmt: skip
            holders.sort(key=lambda b: (self.cost[b], b))
            known = self.known[t] = [(b, self.classes[b].version) for b in holders[:2]]
        return next((self.cost[b] for b, _ in known[:2] if b != c), NOWHERE)

    def parted(self, c: int) -> int:
        one = self.classes[c]
        if one.parted[1] != one.version:
            saved = sum(entry.n * (self.cost[c] - self.otherwise(entry.t, c)) for entry in one.entries)
            one.parted = (saved, one.version)
        return one.parted[0]

    def weigh(self, box: list[int], cost: int) -> tuple[dict[int, int], int]:
        """How many records a box takes of each class, and what that saves."""
        within: dict[int, int] = {}
        elsewhere: dict[int, int] = {}
        for t in box:
            for entry in self.of_tuple[t]:
                c = entry.of
                assert c is not None
                within[c] = within.get(c, 0) + entry.n
                if self.cost[c] > cost:
                    other = self.otherwise(t, c)
                    elsewhere[c] = elsewhere.get(c, 0) + entry.n * (self.cost[c] - other)

        def spare(c: int) -> int:
            return min(within[c], max(self.classes[c].size - self.k, 0))

        def whole(c: int) -> int:
            saved = within[c] * (self.cost[c] - cost)
            return saved if within[c] == self.classes[c].size else saved + self.classes[c].parted[0] - elsewhere[c]

        choice = dict.fromkeys(within, 0)
        all_of: set[int] = set()
        saved, have = 0, 0
        for c in within:
            if self.cost[c] <= cost:
                continue
            self.parted(c)
            some, every = spare(c) * (self.cost[c] - cost), whole(c)
            if every > some:
                all_of.add(c)
            choice[c] = self.classes[c].size if every > some else spare(c)
            saved += max(some, every)
            have += within[c] if every > some else spare(c)
        asked = {c for c in within if self.cost[c] <= cost}
        while have < self.k and saved > 0:
            options = []
            for c in within:
                loss, more = 0, 0
                if c in asked:
                    more = min(spare(c), self.k - have)
                    loss = more * (cost - self.cost[c])
                elif c not in all_of and self.cost[c] > cost:
                    more = within[c] - spare(c)
                    loss = spare(c) * (self.cost[c] - cost) - whole(c)
                if more > 0:
                    options.append((loss / min(more, self.k - have), c, loss, more))
            if not options:
                return choice, 0
            _, c, loss, more = min(options, key=lambda option: option[0])
            saved, have = saved - loss, have + more
            if c in asked:
                asked.remove(c)
                choice[c] = more
            else:
                all_of.add(c)
                choice[c] = self.classes[c].size
        return choice, max(saved, 0)

    def open(self, box: list[int], choice: dict[int, int]) -> bool:
        """Make a class of a box, and let the rest of classes that are given up go elsewhere; undone where it loses."""
        new = next((c for c, one in enumerate(self.classes) if not one.size), len(self.classes))
        added = new == len(self.classes)
        if added:
            self.classes.append(Class())
            self.cost.append(0)
        self.classes[new].entries = []
        was = {new: 0}
        moved: list[tuple[Entry, int]] = []
        before = 0
        for c, some in choice.items():
            if some > 0:
                was[c] = self.classes[c].size
                before += self.classes[c].size * self.cost[c]
                self.take(box, c, new, some, moved)
        self.measure(was)
        fits = self.classes[new].size >= self.k
        for entry, _ in moved:
            if not fits or entry.of is not None:
                continue
            c = self.place(entry)
            if c not in was:
                was[c] = self.classes[c].size
                before += self.classes[c].size * self.cost[c]
            self.classes[c].entries.insert(0, entry)
            self.classes[c].size += entry.n
            entry.of = c
            self.cost[c] = self.ncp(self.classes[c])
        after = sum(self.classes[c].size * self.cost[c] for c in was)
        fits = fits and after < before and all(self.good(c) for c in was if self.classes[c].size)
        if not fits:
            for entry, c in reversed(moved):
                if entry.of is not None:
                    self.classes[entry.of].entries.remove(entry)
                self.classes[c].entries.insert(0, entry)
                entry.of = c
            for c, size in was.items():
                self.classes[c].size = size
            self.measure(was)
            if added:
                self.classes.pop()
                self.cost.pop()
            return False
        for c in was:
            self.classes[c].version += 1
        for t in box:
            self.known.pop(t, None)
        return True

    def measure(self, changed: dict[int, int]) -> None:
        for c in changed:
            if self.classes[c].size:
                self.cost[c] = self.ncp(self.classes[c])

    def good(self, c: int) -> bool:
        return self.holds([(entry.t, entry.n) for entry in self.classes[c].entries])

    def place(self, entry: Entry) -> int:
        def rise(c: int) -> int:
            one = self.classes[c]
            return (one.size + entry.n) * self.ncp(Class([*one.entries, entry])) - one.size * self.cost[c]

        return min((c for c, one in enumerate(self.classes) if one.size), key=lambda c: (rise(c), c))

    def take(self, box: list[int], c: int, to: int, some: int, moved: list[tuple[Entry, int]]) -> None:
        """So many records of a class that are in a box go to another one; where all go, those outside go to none."""
        one, all_leave, left = self.classes[c], some == self.classes[c].size, some
        entries, one.entries = one.entries, []
        for entry in entries:
            if entry.t not in box and all_leave:
                entry.of = None
                moved.append((entry, c))
            elif entry.t not in box or left == 0:
                one.entries.insert(0, entry)
            else:
                if entry.n > left:
                    part = Entry(entry.t, entry.n - left, c)
                    self.of_tuple[entry.t].insert(0, part)
                    one.entries.insert(0, part)
                    entry.n = left
                left -= entry.n
                one.size -= entry.n
                self.classes[to].entries.insert(0, entry)
                self.classes[to].size += entry.n
                entry.of = to
                moved.append((entry, c))
        if all_leave:
            one.size = 0

"""Boxes in whole numbers, tallies, grouping and repair against plain twins (`tests/twins/cluster.py`)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind
from rothko.data.typed import typed
from rothko.kernels import compiled
from rothko.kernels import rules as kr
from rothko.kernels.cluster import greedy as cluster
from rothko.kernels.cluster import hull
from rothko.kernels.cluster import repair as steps_of_repair
from rothko.kernels.cluster.lists import Block, Classes
from rothko.kernels.cluster.lists import box as box_of
from rothko.kernels.cluster.recluster import recluster
from rothko.methods.classes import LocalClasses
from rothko.methods.cluster.repair import ALL
from rothko.methods.cluster.tuples import WHOLE, Entries, Tuples, lay_out_whole
from rothko.methods.layout import rules_of
from rothko.policy.policy import Policy
from rothko.privacy import EntropyLDiversity, KAnonymity, Requirement, SquaredErrorDiversity, VarianceDiversity
from rothko.privacy.statistics import Statistics
from tests.compiled import Called
from tests.strategies import asked
from tests.strategies.tables import Case, cases, records, unhurried
from tests.twins import mondrian as plain
from tests.twins.cluster import Boxes, Group, Rules, group, helps

kr, hull = Called(kr), Called(hull)

SEED = np.uint64(1)


# ── boxes ────────────────────────────────────────────────────────────────────────────────────────


def odd_lines(n: int = 300) -> Encoded:
    """Lines at the edges: many labels, one code, nothing, weights, trees that are too large for a table, deep ones."""
    cells = random.Random(7)

    def labels(count: int, missing: float = 0.0) -> list[str | None]:
        pool = [f"v{i:04}" for i in range(count)]
        column = [*pool, *cells.choices(pool, k=n)][:n]
        return [None if cells.random() < missing else value for value in cells.sample(column, n)]

    deep: Any = ["d0", "d1"]
    for i in range(2, 40):
        deep = [f"d{i}", {f"node {i}": deep}]
    big = {f"group {i}": [f"v{j:04}" for j in range(i, 2000, 40)] for i in range(40)}
    columns: dict[str, list[Any]] = {
        "64 labels": labels(64),
        "65 labels": labels(65),
        "150 labels": labels(150, 0.3),
        "200 labels": labels(200),
        "one label": ["x"] * n,
        "one or none": [cells.choice(["x", None]) for _ in range(n)],
        "one number": [5] * n,
        "no number": [None] * n,
        "numbers": [cells.choice([None, *range(1000)]) for _ in range(n)],
        "real": [cells.expovariate(1) for _ in range(n)],
        "big tree": labels(2000, 0.1),
        "deep tree": [f"d{cells.randrange(40)}" for _ in range(n)],
        "leaf": ["a"] * n,
        "leaf or none": [cells.choice(["a", None]) for _ in range(n)],
    }
    hierarchies = {
        "big tree": {"tree": big},
        "deep tree": {"tree": deep},
        "leaf": {"tree": {"A": ["a"]}},
        "leaf or none": {"tree": {"A": ["a", "b"], "B": ["c"]}},
    }
    specs: dict[str, Any] = {name: {"role": "quasi-identifier"} for name in columns}
    for name, hierarchy in hierarchies.items():
        specs[name]["hierarchy"] = hierarchy
    specs["150 labels"]["weight"], specs["numbers"]["weight"], specs["deep tree"]["weight"] = 3, 0.25, 1.7
    policy = Policy(columns=specs, privacy=[KAnonymity(k=2)])
    return encode(typed(pa.table(columns), policy), policy)


class Laid:
    """A table as the kernels take it, with the boxes of some classes."""

    def __init__(self, encoded: Encoded, class_of: Sequence[int]) -> None:
        self.encoded, self.class_of = encoded, class_of
        self.tuples = records(encoded)
        self.plain = Boxes(encoded.lines)
        self.lines, self.x = lay_out_whole(encoded.lines, encoded.codes)
        self.classes = max(class_of) + 1
        self.members = [[t for t, c in zip(self.tuples, class_of, strict=True) if c == i] for i in range(self.classes)]
        self.boxes = hull.room(self.lines, self.classes + 1)
        begun = set()
        for t, c in enumerate(class_of):
            if c not in begun:
                begun.add(c)
                hull.begin(self.lines, self.boxes, c, self.x, t)
            else:
                hull.join_all(self.lines, self.boxes, c, self.x, t)
        self.size = np.array([len(group) for group in self.members], dtype=np.int64)

    def ncp(self, c: int) -> int:
        return int(hull.ncp(self.lines, self.boxes, c))

    def close_to_the_loss_that_is_measured(self) -> None:
        """NCP in whole numbers is Σ weight · NCP / Σ weight · 2^24, but for rounding."""
        found = LocalClasses.of(self.encoded, np.array(self.class_of), self.classes)
        lines = self.encoded.lines
        weights = np.array([line.weight for line in lines])
        measured = found.widths(lines) @ weights / weights.sum() * WHOLE
        loose = sum(2 + (line.size if line.kind is Kind.NOMINAL else 0) for line in lines)
        whole = np.array([self.ncp(c) for c in range(self.classes)])
        assert np.abs(whole - measured).max() <= loose

    def equal_to_the_twin(self) -> None:
        twin = self.plain
        n, d = len(self.tuples), len(self.encoded.lines)
        cost = np.array([twin.ncp(group) for group in self.members])
        assert [self.ncp(c) for c in range(self.classes)] == cost.tolist()
        together, chain = np.empty(self.classes, dtype=np.int32), hull.room_for_chain(self.lines)
        for c in range(self.classes):
            hull.unions(self.lines, self.boxes, c, self.classes, together, chain)
            both = [twin.ncp(self.members[c] + other) for other in self.members]
            assert together.tolist() == both
            for b in range(self.classes):
                assert hull.union(self.lines, self.boxes, c, self.boxes, b) == both[b]
        after = np.empty(self.classes, dtype=np.int32)
        some = random.Random(n).sample(range(n), min(n, 12))
        joining = {(t, c): twin.ncp([*self.members[c], self.tuples[t]]) for t in some for c in range(self.classes)}
        for t in some:
            amount, skip = t % 3 + 1, t % (self.classes + 1) - 1
            rises = [(self.size[c] + amount) * joining[t, c] - self.size[c] * cost[c] for c in range(self.classes)]
            others = [c for c in range(self.classes) if c != skip]
            found, rise = hull.least_rise(
                self.lines, self.boxes, self.classes, self.x, t, amount, self.size, cost, after, skip
            )
            best = min(others, key=rises.__getitem__, default=-1)
            assert (found, rise) == ((best, rises[best]) if others else (-1, 2**62))
        each, total = np.zeros((d, n), dtype=np.int32), np.zeros(n, dtype=np.int32)
        for c in range(self.classes):  # ``each`` and ``total`` go on from what they were for the class before
            for a in range(d):
                hull.weigh(self.lines, self.boxes, a, c, self.x, n, each, total, chain)
            assert [total[t] for t in some] == [joining[t, c] for t in some]
            assert (each.sum(axis=0) == total).all()


@given(case=cases(), parts=st.integers(1, 5), seed=st.integers(0, 99))
@settings(unhurried, max_examples=60)
def test_boxes_cost_what_is_measured_and_what_the_twin_says(case: Case, parts: int, seed: int) -> None:
    encoded = case.encoded()
    drawn = random.Random(seed).choices(range(parts), k=encoded.rows)
    held = sorted(set(drawn))
    laid = Laid(encoded, [held.index(c) for c in drawn])
    laid.close_to_the_loss_that_is_measured()
    laid.equal_to_the_twin()


@pytest.mark.parametrize("parts", [1, 3, 60, 300])
def test_boxes_on_odd_lines(parts: int) -> None:
    encoded = odd_lines()
    laid = Laid(encoded, np.random.default_rng(parts).permutation(np.arange(encoded.rows) % parts).tolist())
    laid.close_to_the_loss_that_is_measured()
    if parts <= 60:
        laid.equal_to_the_twin()


def test_the_odd_lines_are_odd() -> None:
    lines = {line.name: line for line in odd_lines().lines}
    assert [lines[f"{n} labels"].size for n in (64, 65, 200)] == [64, 65, 200]
    assert lines["150 labels"].size > 128
    assert lines["no number"].size == lines["leaf"].size == 1
    assert lines["big tree"].size > 200


def test_a_hierarchy_too_large_for_a_table_is_walked() -> None:
    names = [f"v{i:05}" for i in range(1200)]
    tree = {f"group {i}": names[i::30] for i in range(30)}
    policy = Policy.quick(["city"], qi=["city"], k=2, hierarchies={"city": {"tree": tree}})
    encoded = encode(typed(pa.table({"city": names}), policy), policy)
    laid = Laid(encoded, (np.arange(1200) // 240).tolist())
    assert laid.lines.spec[0, hull.TABLE] == -1
    laid.close_to_the_loss_that_is_measured()
    classes = [0, 1, 1, 0]
    members = [{0, 700}, {30, 60}]
    small = Laid(Encoded(encoded.lines, np.array([[0, 30, 60, 700]], dtype=np.int32), {}), classes)
    small.equal_to_the_twin()
    assert [small.ncp(c) for c in range(2)] == [small.plain.width(0, group) for group in members]


def test_a_copied_box_is_the_same() -> None:
    laid = Laid(odd_lines(), [i % 4 for i in range(300)])
    hull.copy_box(laid.boxes, 2, laid.boxes, 4)
    assert laid.ncp(4) == laid.ncp(2) > 0
    for part in laid.boxes:
        np.testing.assert_array_equal(part[:, 4], part[:, 2])


# ── tallies ──────────────────────────────────────────────────────────────────────────────────────


class Counted:
    """The records of a case that a tally has counted so far, some at a time, in an order of its own."""

    def __init__(self, case: Case) -> None:
        self.encoded = case.encoded()
        self.rows: list[np.ndarray] = []
        names: dict[str, int] = {}

        def add_row(name: str, codes: np.ndarray) -> int:
            if name not in names:
                names[name] = len(self.rows)
                self.rows.append(codes)
            return names[name]

        self.rules = rules_of(self.encoded, case.requirements, add_row)
        self.asked = [r for r in case.requirements if r.column and r.rule(self.encoded.sensitive[r.column].domain)]
        self.values = np.stack(self.rows) if self.rows else np.empty((0, self.encoded.rows), dtype=np.int32)
        self.tally = kr.room_for(self.rules, 1)
        self.held: list[int] = []

    def count(self, t: int, amount: int) -> None:
        kr.count(self.rules, self.tally, self.values, t, amount)
        self.held += [t] * amount

    def lacking(self) -> int:
        return int(kr.lacking(self.rules, self.tally))

    def helps(self, r: int, t: int) -> bool:
        row = self.rules.spec[r, kr.ROW]
        return bool(cluster.helps(self.values[row, t], r, self.rules, self.tally))

    def unmet(self) -> int:
        """The first requirement that NumPy finds wanting; -1 for none."""
        sensitive = {
            name: column._replace(codes=column.codes[self.held]) for name, column in self.encoded.sensitive.items()
        }
        stats = Statistics.count(np.zeros(len(self.held), dtype=np.int64), 1, sensitive, self.asked)
        for r, requirement in enumerate(self.asked):
            # Sizes are not a matter of tallies: of those that also ask for k, many records are taken.
            more = Statistics(stats.size, stats.domains, stats.histograms, stats.moments)
            if getattr(requirement, "k", None):
                more = Statistics(
                    stats.size * 8, stats.domains, {n: h * 8 for n, h in stats.histograms.items()}, stats.moments
                )
            if not requirement.satisfied(more)[0]:
                return r
        return -1


@pytest.mark.parametrize("name", sorted(set(asked.requirements()) - {"k-anonymity"}))
@given(data=st.data())
@settings(unhurried, max_examples=40)
def test_tallies_decide_as_the_requirements_do(name: str, data: st.DataObject) -> None:
    cells = random.Random(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.integers(1, 12))
    pool: list[int | None] = [*asked.NUMBERS, None][: cells.randint(1, 5)]
    column = [asked.NUMBERS[0], *cells.choices(pool, k=n - 1)]
    requirements = [data.draw(asked.requirements("s")[name]) for _ in range(data.draw(st.integers(1, 2)))]
    case = Case({"q": list(range(n)), "s": column}, {"q": {}}, tuple(requirements))
    counted = Counted(case)
    for again in range(2):
        kr.clear(counted.rules, counted.tally)
        counted.held = []
        for t in cells.sample(range(n), n):
            counted.count(t, 1 if again else cells.randint(1, 3))
            lacks = counted.lacking()
            assert lacks == counted.unmet()
            values = [column[i] for i in counted.held]
            for other in range(n) if lacks >= 0 else ():
                wanted = helps(counted.asked[lacks], column[other], values, column)
                if wanted is not None:
                    assert counted.helps(lacks, other) == wanted


# ── grouping ─────────────────────────────────────────────────────────────────────────────────────


def merged(entries: Entries) -> list[Group]:
    """The classes as sorted lists of tuples and their records."""
    found: list[Counter[int]] = [Counter() for _ in range(entries.count)]
    for t, c, amount in zip(entries.tuples, entries.classes, entries.amounts, strict=True):
        assert amount > 0
        if c >= 0:
            found[c][int(t)] += int(amount)
    return [sorted(one.items()) for one in found]


def loose(entries: Entries) -> Counter[int]:
    found: Counter[int] = Counter()
    for t, c, amount in zip(entries.tuples, entries.classes, entries.amounts, strict=True):
        if c < 0:
            found[int(t)] += int(amount)
    return found


def sums(groups: Sequence[Group]) -> Counter[int]:
    found: Counter[int] = Counter()
    for one in groups:
        for t, amount in one:
            found[t] += amount
    return found


class Table:
    """The tuples of a case, for the kernels and for the twins."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.encoded = case.encoded()
        self.tuples = Tuples.of(self.encoded, case.requirements, threads=1)
        first = self.tuples.records[self.tuples.starts[:-1]].tolist()
        rows = records(self.encoded)
        self.codes = [rows[i] for i in first]
        self.boxes = Boxes(self.encoded.lines)
        sensitive = [name for name in case.columns if name not in case.specs]
        ruled = [
            r for r in case.requirements if r.column and r.rule(self.encoded.sensitive[r.column].domain) is not None
        ]
        self.rules = Rules(ruled, [{name: case.columns[name][i] for name in sensitive} for i in first])
        self.rules.columns = {name: case.columns[name] for name in sensitive}

    def group(self, way: int) -> Entries:
        found = cluster.group_block(
            self.tuples.lines, self.tuples.x, self.tuples.counts, self.tuples.values, self.tuples.k,
            self.tuples.rules.asked, way, SEED,
        )  # fmt: skip
        return Entries(*found)

    def repair(self, entries: Entries, *, absorb: bool = False, passes: int = 1, steps: int = 0) -> Entries:
        return Entries(
            *steps_of_repair.repair(
                self.tuples.lines, self.tuples.x, self.tuples.values, self.tuples.k, self.tuples.rules.asked,
                entries.tuples, entries.classes, entries.amounts, entries.count, absorb, passes, ALL, steps, 6, SEED,
            )
        )  # fmt: skip

    def holds(self, one: Group) -> bool:
        return sum(amount for _, amount in one) >= self.tuples.k and self.rules.lacking(one) is None

    def loss(self, groups: Sequence[Group]) -> int:
        return self.boxes.loss(self.codes, groups)


def exact(requirement: Requirement) -> bool:
    """Whether all that is asked of it while a class grows is decided in whole numbers."""
    return not isinstance(requirement, (EntropyLDiversity, VarianceDiversity, SquaredErrorDiversity))


WAYS = [0, cluster.PARTLY, cluster.LIFTING, cluster.PARTLY | cluster.LIFTING]


@pytest.mark.parametrize("way", WAYS)
@given(case=cases(), k=st.integers(2, 9), alone=st.booleans())
@settings(unhurried, max_examples=40)
def test_grouping_equals_its_plain_twin(way: int, case: Case, k: int, alone: bool) -> None:
    requirements = [] if alone else [r for r in case.requirements if exact(r)]
    table = Table(Case(case.columns, case.specs, (*requirements, KAnonymity(k=k))))
    counts = table.tuples.counts.tolist()
    expected, left = group(
        table.boxes, table.codes, counts, table.tuples.k, table.rules,
        partly=bool(way & cluster.PARTLY), lifting=bool(way & cluster.LIFTING),
    )  # fmt: skip
    found = table.group(way)
    assert merged(found) == [sorted(sums([one]).items()) for one in expected]
    assert loose(found) == Counter(dict(left))


@pytest.mark.parametrize("way", range(8))
@given(case=cases())
@settings(unhurried, max_examples=20)
def test_grouping_leaves_no_record_out_and_its_classes_hold(way: int, case: Case) -> None:
    table = Table(case)
    found = table.group(way)
    groups = merged(found)
    assert sums(groups) + loose(found) == Counter(dict(enumerate(table.tuples.counts.tolist())))
    for one in groups:
        assert table.holds(one)
    if not table.rules.requirements and sum(table.tuples.counts) >= table.tuples.k:
        assert not loose(found)


# ── repair ───────────────────────────────────────────────────────────────────────────────────────


def any_classes(table: Table, seed: int) -> Entries | None:
    """Classes at random that hold; None where even the whole table does not."""
    chosen = random.Random(seed)
    counts = table.tuples.counts.tolist()
    left = [t for t, amount in enumerate(counts) for _ in range(amount)]
    chosen.shuffle(left)
    groups: list[Counter[int]] = []
    while left:
        one: Counter[int] = Counter()
        enough = chosen.randint(table.tuples.k, 3 * table.tuples.k)
        while left and (sum(one.values()) < enough or not table.holds(list(one.items()))):
            one[left.pop()] += 1
        groups.append(one)
    while len(groups) > 1 and not table.holds(list(groups[-1].items())):
        last = groups.pop()
        groups[-1] += last
    if not table.holds(list(groups[-1].items())):
        return None
    entries = [(t, c, amount) for c, one in enumerate(groups) for t, amount in sorted(one.items())]
    tuples, classes, amounts = np.array(entries, dtype=np.int64).T.copy()
    return Entries(tuples, classes, amounts, len(groups))


dissolve, move = steps_of_repair.dissolve, steps_of_repair.move


BOXES, DISSOLVE, MOVE, RECLUSTER = range(4)


@compiled
def take(step, block, classes, m, k, order, tries, free, seed):  # type: ignore[no-untyped-def]
    """One step of a repair by its number; how many classes there are then, and which entry is free.

    All are compiled as one: each by itself would have what they share compiled again.
    """
    if step == BOXES:
        for c in range(m):
            classes.cost[c] = box_of(block, classes, c)
    elif step == DISSOLVE:
        m = dissolve(block, classes, m, order)
    elif step == MOVE:
        move(block, classes, m, k, order, tries)
    else:
        m, free = recluster(block, classes, m, k, free, 10, 6, seed)
    return m, free


class Steps:
    """The classes of a table as the steps of a repair take them, one step at a time."""

    def __init__(self, table: Table, entries: Entries) -> None:
        self.table, t = table, table.tuples
        n, total = len(entries.tuples), int(entries.amounts.sum())
        room, most = n + total, max(entries.count, total // t.k) + 3
        self.m = entries.count
        boxes = hull.room(t.lines, most)
        self.size, self.cost = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        self.held, self.amounts = np.zeros(room, dtype=np.int64), np.zeros(room, dtype=np.int64)
        self.follow, self.head = np.full(room, -1, dtype=np.int64), np.full(most, -1, dtype=np.int64)
        self.held[:n], self.amounts[:n] = entries.tuples, entries.amounts
        for e, c in enumerate(entries.classes.tolist()):
            self.follow[e], self.head[c] = self.head[c], e
        self.follow[n:-1] = np.arange(n + 1, room)
        self.free = np.int64(n)
        self.size[: self.m] = np.bincount(entries.classes, weights=entries.amounts, minlength=self.m)
        self.block = Block(t.lines, t.x, t.values, t.rules.asked, kr.room_for(t.rules.asked, 1))
        self.classes = Classes(
            boxes, self.size, self.cost, self.head, self.held, self.amounts, self.follow, np.empty(most, dtype=np.int32)
        )
        self.take(BOXES)

    def take(self, step: int) -> None:
        order = np.argsort(-self.cost[: self.m])
        self.m, self.free = take(
            step, self.block, self.classes, self.m, self.table.tuples.k, order, ALL, self.free, np.array([SEED])
        )

    def groups(self) -> list[Group]:
        found = []
        for c in range(self.m):
            one, e = Counter[int](), int(self.head[c])
            while e >= 0:
                one[int(self.held[e])] += int(self.amounts[e])
                e = int(self.follow[e])
            found.append(sorted(one.items()))
        return found


@given(case=cases(), seed=st.integers(0, 2**32), only_k=st.booleans())
@settings(unhurried, max_examples=60)
def test_no_step_of_a_repair_loses_more_and_all_know_their_classes(case: Case, seed: int, only_k: bool) -> None:
    table = Table(Case(case.columns, case.specs, (KAnonymity(k=2 + seed % 3),)) if only_k else case)
    before = any_classes(table, seed)
    if before is None:
        return
    for first in (DISSOLVE, MOVE, RECLUSTER):
        steps = Steps(table, before)
        lost = table.loss(steps.groups())
        for step in (first, MOVE, RECLUSTER, DISSOLVE, MOVE):
            steps.take(step)
            groups = steps.groups()
            assert table.loss(groups) <= lost, step
            lost = table.loss(groups)
            assert sums(groups) == Counter(dict(enumerate(table.tuples.counts.tolist())))
            assert all(table.holds(one) for one in groups)
            assert steps.size[: steps.m].tolist() == [sum(n for _, n in one) for one in groups]
            wide = [table.boxes.ncp([table.codes[t] for t, _ in one]) for one in groups]
            assert steps.cost[: steps.m].tolist() == wide, step


@pytest.mark.parametrize("steps", [0, 1, 40])
@pytest.mark.parametrize("only_k", [False, True])
@given(case=cases(), seed=st.integers(0, 2**32))
@settings(unhurried, max_examples=30)
def test_repair_never_loses_more_and_keeps_what_holds(steps: int, only_k: bool, case: Case, seed: int) -> None:
    table = Table(Case(case.columns, case.specs, (KAnonymity(k=2 + seed % 3),)) if only_k else case)
    before = any_classes(table, seed)
    if before is None:
        return
    lost = table.loss(merged(before))
    for passes in (1, 3):
        after = table.repair(before, passes=passes, steps=steps)
        groups = merged(after)
        assert not loose(after)
        assert all(groups), "no class is empty"
        assert sums(groups) == Counter(dict(enumerate(table.tuples.counts.tolist())))
        assert all(table.holds(one) for one in groups)
        assert table.loss(groups) <= lost
        again = table.repair(before, passes=passes, steps=steps)
        assert merged(again) == groups


@given(case=cases(), seed=st.integers(0, 2**32), share=st.sampled_from((0.1, 0.5, 1.0)))
@settings(unhurried, max_examples=60)
def test_records_in_no_class_are_placed_or_absorbed(case: Case, seed: int, share: float) -> None:
    table = Table(case)
    before = any_classes(table, seed)
    if before is None:
        return
    chosen = random.Random(seed)
    gone = [c for c in range(before.count) if chosen.random() < share]
    kept = [c for c in range(before.count) if c not in gone]
    number = {c: i for i, c in enumerate(kept)} | dict.fromkeys(gone, -1)
    classes = np.array([number[c] for c in before.classes.tolist()], dtype=np.int64)
    given_ = Entries(before.tuples, classes, before.amounts, len(kept))
    everyone = Counter(dict(enumerate(table.tuples.counts.tolist())))
    placed = table.repair(given_, passes=0)
    assert placed.count == len(kept), "placing makes no classes and merges none"
    assert sums(merged(placed)) + loose(placed) == everyone
    assert all(table.holds(one) for one in merged(placed))
    if kept and not table.rules.requirements:
        assert not loose(placed), "a class of k records takes any other"
    absorbed = table.repair(given_, absorb=True, passes=0)
    assert not loose(absorbed)
    assert sums(merged(absorbed)) == everyone
    assert all(table.holds(one) for one in merged(absorbed))
    assert 1 <= absorbed.count <= len(kept) + 1


def test_a_record_moves_to_where_it_belongs() -> None:
    ages = [10, 11, 12, 90, 80, 81, 82]
    table = Table(Case({"age": ages}, {"age": {}}, (KAnonymity(k=3),)))
    order = table.tuples.records.tolist()
    classes = np.array([0 if i < 4 else 1 for i in order], dtype=np.int64)
    before = Entries(np.arange(7), classes, np.ones(7, dtype=np.int64), 2)
    after = merged(table.repair(before))
    assert sorted(sorted(ages[order[t]] for t, _ in one) for one in after) == [[10, 11, 12], [80, 81, 82, 90]]


def test_a_class_whose_records_belong_to_others_is_dissolved() -> None:
    ages = [10, 11, 12, 80, 81, 82, 9, 83, 10]
    table = Table(Case({"age": ages}, {"age": {}}, (KAnonymity(k=3),)))
    order = table.tuples.records.tolist()
    owner = [0, 0, 0, 1, 1, 1, 2, 2, 2]
    tuple_of = np.repeat(np.arange(table.tuples.count), table.tuples.counts)
    pairs = Counter((int(t), owner[i]) for t, i in zip(tuple_of, order, strict=True))
    tuples, classes, amounts = np.array([(*pair, n) for pair, n in pairs.items()], dtype=np.int64).T.copy()
    after = merged(table.repair(Entries(tuples, classes, amounts, 3)))
    assert sorted(sum(n for _, n in one) for one in after) == [4, 5]


def test_a_plain_requirement_is_met_exactly() -> None:
    """The twin's own check: what `Rules` finds wanting is what the definitions do."""
    column = [0, 0, 1, 5]
    case = Case({"q": [1, 2, 3, 4], "s": column}, {"q": {}}, (asked.DistinctLDiversity(l=2, of="s"),))
    table = Table(case)
    assert not plain.satisfies(case.requirements[0], [0, 1], {"s": column})
    lacks = [table.rules.lacking([(t, 1), (t, 1)]) for t in range(4)]
    assert lacks == [case.requirements[0]] * 4

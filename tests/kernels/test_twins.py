"""One table pairs every kernel with a twin in NumPy or plain Python; one test holds them equal on many inputs.

An entry is (kernel, twin, cases): both take the same arguments and return what is compared, so that a
kernel that writes to an array is wrapped to return it. Those of requirements are in `tests/privacy`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.numbered import Tree
from rothko.kernels import boxes as kb
from rothko.kernels import codes as kc
from rothko.kernels import numbers as knum
from rothko.kernels import order as ko
from rothko.kernels import rules as kr
from rothko.kernels import text as kt
from rothko.kernels.curve import chances as kchances
from rothko.kernels.curve import fields as kfields
from rothko.kernels.mondrian import allowed as kall
from rothko.kernels.mondrian import arrange as ka
from rothko.kernels.mondrian import descend as kd
from rothko.kernels.mondrian import gain as kg
from rothko.kernels.mondrian import grow as km
from rothko.kernels.mondrian import median as kmed
from rothko.kernels.mondrian import nodes as kn
from rothko.kernels.mondrian import selection as ks
from rothko.kernels.mondrian import target_cells as kcel
from rothko.methods.layout import lay_out
from rothko.workload.criteria import logarithms
from tests.compiled import Called
from tests.twins import mondrian as plain

ka, kall, kb, kg, km = Called(ka), Called(kall), Called(kb), Called(kg), Called(km)
kmed, kn, knum, kr, ks, kcel = Called(kmed), Called(kn), Called(knum), Called(kr), Called(ks), Called(kcel)

Arguments = tuple[Any, ...]

SIZES = (1, 2, 3, 7, 64, 255, 256, 257, 1000, 5000)
SPANS = (1, 2, 255, 256, 257, 2047, 2048, 2049, 70_000, 5_000_000)
"""Ranges of codes around the powers of two at which radix passes begin."""


def columns() -> Iterator[np.ndarray]:
    """Columns of codes of every size and span, ascending, falling, constant and random."""
    random = np.random.default_rng(0)
    for size in SIZES:
        for span in SPANS:
            yield random.integers(0, span, size).astype(np.int32) + np.int32(random.integers(0, 3))
        yield np.arange(size, dtype=np.int32)
        yield np.arange(size, dtype=np.int32)[::-1].copy()
        yield np.full(size, 9, dtype=np.int32)


BEFORE, AFTER = 3, 2
"""How many other records lie around those of a node in the table."""


def in_table(column: np.ndarray) -> tuple[np.ndarray, int, np.uint64, np.uint64]:
    """The column as line 1 of a table in which other records lie around it: table, line, start, end."""
    table = np.full((3, BEFORE + column.size + AFTER), -77, dtype=np.int32)
    table[1, BEFORE : BEFORE + column.size] = column
    return table, 1, np.uint64(BEFORE), np.uint64(BEFORE + column.size)


def extremes(column: np.ndarray) -> tuple[np.int64, np.int64]:
    return np.int64(column.min()), np.int64(column.max())


# ── codes ────────────────────────────────────────────────────────────────────────────────────────


def mark_dense(values: np.ndarray, present: np.ndarray, low: int, high: int) -> np.ndarray:
    marks = np.zeros(high - low + 1, dtype=np.int32)
    kc.mark_dense(values, present, low, marks)
    return marks


def mark_dense_twin(values: np.ndarray, present: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.isin(np.arange(low, high + 1), values[present])


def rank_dense(values: np.ndarray, present: np.ndarray, low: int, high: int) -> np.ndarray:
    codes = np.full(values.size, 99, dtype=np.int32)
    kc.rank_dense(values, present, low, np.arange(high - low + 1, dtype=np.int32)[::-1].copy(), codes)
    return codes


def rank_dense_twin(values: np.ndarray, present: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.where(present, high - values, -1)


def dense_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(1)
    for size in SIZES:
        for span in (1, 2, 100, 70_000):
            values = random.integers(-span, span, size)
            for share in (0.0, 0.5, 0.99):
                present = random.random(size) >= share
                present[random.integers(size)] = True
                # Where a value is absent, anything may stand: the engine fills in 0.
                held = np.where(present, values, 0)
                yield held, present, held[present].min(), held[present].max()


def rank_sorted(values: np.ndarray, order: np.ndarray) -> Arguments:
    ranks = np.full(values.size, 99, dtype=np.int32)
    firsts = kc.rank_sorted(values, order, ranks)
    return values[firsts], ranks


def rank_sorted_twin(values: np.ndarray, order: np.ndarray) -> Arguments:
    return np.unique(values, return_inverse=True)


def rank_sorted_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(2)
    for size in (0, *SIZES):
        for span in (1, 10, 2**62):
            values = random.integers(-span, span, size)
            yield values, np.argsort(values)
            numbers = np.round(random.normal(scale=min(span, 1e6), size=size), 1)
            numbers = np.where(numbers == 0, random.choice([0.0, -0.0], size), numbers)
            yield numbers, np.argsort(numbers)


def recode(codes: np.ndarray, table: np.ndarray) -> Arguments:
    codes = codes.copy()
    kc.recode(codes, table)
    return (codes,)


def recode_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(3)
    for size in (0, *SIZES):
        for distinct in (0, 1, 300):
            table = random.permutation(distinct + 1).astype(np.int32)
            yield random.integers(-1, distinct, size).astype(np.int32), table


def spread(of_class: np.ndarray, classes: np.ndarray) -> Arguments:
    out = np.full(classes.size, 99, dtype=np.int32)
    kc.spread(of_class, classes, out)
    return (out,)


def spread_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(4)
    for size in (0, *SIZES):
        of_class = random.integers(0, 50, 1 + size // 3).astype(np.int32)
        yield of_class, random.integers(0, len(of_class), size).astype(np.int32)


def pack(codes: np.ndarray, lines: list[int], fields: list[tuple[int, int]]) -> np.ndarray:
    words = np.zeros((2, codes.shape[1]), dtype=np.uint64)
    words[1] = np.uint64(5) << np.uint64(40)
    word_of, shift_of = np.array(fields, dtype=np.int64).reshape(-1, 2).T.copy()
    kfields.pack(codes, np.array(lines, dtype=np.int64), word_of, shift_of, words)
    return words


def pack_twin(codes: np.ndarray, lines: list[int], fields: list[tuple[int, int]]) -> np.ndarray:
    words = np.zeros((2, codes.shape[1]), dtype=np.uint64)
    words[1] = np.uint64(5) << np.uint64(40)
    for a, (word, shift) in zip(lines, fields, strict=True):
        words[word] |= codes[a].astype(np.uint64) << np.uint64(shift)
    return words


def pack_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(30)
    for size in (0, *SIZES, kfields.STRIDE, 2 * kfields.STRIDE + 1):
        codes = random.integers(0, [[2**31], [4], [2**31], [1]], (4, size)).astype(np.int32)
        yield codes, [0, 1, 2], [(0, 33), (0, 0), (1, 0)]
        yield codes[:, ::2], [2, 3], [(1, 1), (0, 63)]
        yield codes, [], []


# ── searching a column ───────────────────────────────────────────────────────────────────────────


def select(column: np.ndarray, rank: int) -> Arguments:
    # The work space as `grow` makes it, with rubbish in it.
    counts = np.full(max(256, min(column.size, 1 << 15)) + 1, 77, dtype=np.int32)
    return kmed._select(*in_table(column), *extremes(column), rank, counts)


def select_twin(column: np.ndarray, rank: int) -> Arguments:
    value = np.sort(column)[rank]
    return value, np.count_nonzero(column < value), np.count_nonzero(column == value)


def select_cases() -> Iterator[Arguments]:
    for column in columns():
        for rank in {0, column.size // 2, column.size - 1}:
            yield column, rank


def next_code_cases() -> Iterator[Arguments]:
    for column in columns():
        for code in (column.min() - 1, column.min(), np.median(column).astype(np.int64)):
            if code < column.max():
                yield column, np.int64(code)


def column_cases() -> Iterator[Arguments]:
    yield from ((column,) for column in columns())


def sorted_twin(column: np.ndarray) -> np.ndarray:
    return BEFORE + np.argsort(column, kind="stable")


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────


def arrange_two(column: np.ndarray, left: int, cut: int, ties: int) -> np.ndarray:
    order = np.full(column.size, 99, dtype=np.uint32)
    ka.arrange_two(*in_table(column), left, cut, ties, order)
    return order


def arrange_two_twin(column: np.ndarray, left: int, cut: int, ties: int) -> np.ndarray:
    equal = np.flatnonzero(column == cut)
    goes_left = (column < cut) | np.isin(np.arange(column.size), equal[:ties])
    return BEFORE + np.argsort(~goes_left, kind="stable")


def arrange_two_cases() -> Iterator[Arguments]:
    for column in columns():
        for cut in {int(column.min()), int(column[column.size // 2]), int(column.max())}:
            equal = np.count_nonzero(column == cut)
            for ties in {0, equal // 2, equal}:
                yield column, np.int64(np.count_nonzero(column < cut) + ties), np.int64(cut), np.int64(ties)


def arrange_many(child: np.ndarray, count: int) -> np.ndarray:
    order = np.full(child.size, 99, dtype=np.uint32)
    ka.arrange_many(child, np.uint64(BEFORE), count, np.bincount(child, minlength=count), order)
    return order


def arrange_many_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(5)
    for size in SIZES:
        for count in (1, 2, 5, 300):
            yield random.integers(0, count, size).astype(np.int32), count


def move(part: np.ndarray, order: np.ndarray, sizes: list[int]) -> Arguments:
    """Node 1 has the parts 2, 3, …; the two first columns are lines."""
    n, start = part.shape[1], np.uint64(BEFORE)
    table = np.full((part.shape[0], BEFORE + n + AFTER), -77, dtype=np.int32)
    table[:, BEFORE : BEFORE + n] = part
    nodes = np.zeros((2 + len(sizes), kn.NODE_WIDTH), dtype=np.int32)
    nodes[1, [kn.CHILD, kn.CHILDREN]] = 2, len(sizes)
    edges = BEFORE + np.cumsum([0, *sizes])
    nodes[2:, kn.START], nodes[2:, kn.END] = edges[:-1], edges[1:]
    low, high = np.full((2, len(nodes), 2), -5, dtype=np.int32)
    low[1], high[1] = part[:2].min(axis=1), part[:2].max(axis=1)
    spare = np.empty(n, dtype=np.int32)
    ka.move(table, start, start + np.uint64(n), (order + BEFORE).astype(np.uint32), spare, nodes, low, high, 1)
    assert np.all(np.delete(table, np.arange(BEFORE, BEFORE + n), axis=1) == -77), "other records stay as they are"
    return table[:, BEFORE : BEFORE + n], low[2:], high[2:]


def move_twin(part: np.ndarray, order: np.ndarray, sizes: list[int]) -> Arguments:
    moved = part[:, order]
    parts = np.split(moved[:2], np.cumsum(sizes)[:-1], axis=1)
    # A line with one value is in order already, and is left as it is.
    return moved, np.array([p.min(axis=1) for p in parts]), np.array([p.max(axis=1) for p in parts])


def move_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(6)
    for size in SIZES:
        for cuts in {1, min(size, 2), min(size, 5)}:
            edges = np.sort(random.choice(np.arange(1, size), cuts - 1, replace=False)) if size > 1 else []
            sizes = np.diff([0, *edges, size]).tolist()
            part = random.integers(0, 9, (4, size)).astype(np.int32)
            yield part, random.permutation(size), sizes
            part = part.copy()
            part[1] = 4  # a line of one value
            yield part, random.permutation(size), sizes


# ── trees ────────────────────────────────────────────────────────────────────────────────────────


def trees() -> Iterator[tuple[Tree, np.ndarray]]:
    """Trees, and as the kernels take them: a few rows of others before, so that offsets matter."""
    nested = (
        ["a"],
        list("abcdefg"),
        {"A": ["a", "b"], "B": {"C": ["c"], "D": {"E": ["d", "e", "f"]}}},
        {"A": {"B": {"C": ["a", "b", "c"]}}},
    )
    for tree in nested:
        for missing in (False, True):
            hierarchy = Hierarchy.from_nested(tree)
            t = hierarchy.restrict(hierarchy.leaves, column="c", missing=missing)
            rows = np.column_stack([t.parent, t.low, t.high, t.first_child, t.n_children]).astype(np.int32)
            yield t, np.concatenate([np.full((3, 5), -7, dtype=np.int32), rows])


def lowest_node_cases() -> Iterator[Arguments]:
    for tree, rows in trees():
        leaf = np.concatenate([[-9, -9], tree.leaf]).astype(np.int32)
        spec = np.array([[-9] * 6, [kb.TREE, len(tree.leaf), -1, 0, 3, 2]], dtype=np.int64)
        for low in range(len(tree.leaf)):
            for high in range(low, len(tree.leaf)):
                yield kb.Lines(spec, np.empty(0), np.empty((2, 2)), rows, leaf), 1, low, high


def lowest_node_twin(lines: kb.Lines, a: int, low: int, high: int) -> int:
    covering = np.flatnonzero((lines.tree[:, 1] <= low) & (high <= lines.tree[:, 2]))
    return covering.max()  # breadth first: the deepest of nodes inside each other comes last


def child_cases() -> Iterator[Arguments]:
    for tree, rows in trees():
        for node in np.flatnonzero(tree.n_children > 0):
            for code in range(tree.low[node], tree.high[node] + 1):
                yield rows, 3 + int(tree.first_child[node]), int(tree.n_children[node]), code


def child_twin(rows: np.ndarray, first: int, count: int, code: int) -> int:
    children = rows[first : first + count]
    return np.flatnonzero((children[:, 1] <= code) & (code <= children[:, 2]))[0]


# ── ranking anew, children, good positions ───────────────────────────────────────────────────────


def code_of(known: np.ndarray | None, rank: int) -> int:
    """Node 1, line 1; the codes stand from place 2 on."""
    maps = np.concatenate([[-5, -5], [] if known is None else known, [-5]]).astype(np.int32)
    maps_at = np.array([[-1, -1], [-1, -1 if known is None else 2]], dtype=np.int32)
    return kn.code_of(maps, maps_at, 1, 1, np.int32(rank))


def code_of_cases() -> Iterator[Arguments]:
    for rank in (0, 1, 2):
        yield None, rank
        yield np.array([4, 7, 9]), rank


def rank_anew(column: np.ndarray, known: np.ndarray | None, room: int) -> Arguments:
    """The ranks; the codes that they stand for; what stood in the maps before; the ends of the line in the node."""
    table, a, start, end = in_table(column)
    before = np.concatenate([[-5, -5], [] if known is None else known]).astype(np.int32)
    maps = np.concatenate([before, np.full(room, -6)]).astype(np.int32)
    maps_at = np.full((3, 3), -1, dtype=np.int32)
    maps_at[2, a] = -1 if known is None else 2
    low, high = np.full((2, 3, 3), -5, dtype=np.int32)
    low[2, a], high[2, a] = column.min(), column.max()
    maps, filled = ka.rank_anew(table, a, start, end, 2, low, high, maps, maps_at, np.int64(before.size))
    assert np.all(np.delete(table[a], np.arange(int(start), int(end))) == -77), "other records stay as they are"
    at = maps_at[2, a]
    return table[a, int(start) : int(end)], maps[at:filled], maps[: before.size], at, low[2, a], high[2, a]


def rank_anew_twin(column: np.ndarray, known: np.ndarray | None, room: int) -> Arguments:
    codes, ranks = np.unique(column, return_inverse=True)
    before = [-5, -5, *([] if known is None else known)]
    return ranks, codes if known is None else known[codes], before, len(before), 0, len(codes) - 1


def rank_anew_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(12)
    for column in columns():
        for room in (0, column.size):  # the maps must grow, or have room
            yield column, None, room
        if column.max() < 5000:  # ranked before: the codes are ranks of others
            known = np.sort(random.choice(70_000, column.max() + 1, replace=False))
            yield column, known.astype(np.int32), int(random.integers(9))


def split(column: np.ndarray, rows: np.ndarray, first: int, count: int) -> Arguments:
    child, sizes = np.full(column.size, 99, dtype=np.int32), np.full(count, 99, dtype=np.int64)
    ka.split(*in_table(column), first, count, rows, child, sizes)
    return child, sizes


def split_twin(column: np.ndarray, rows: np.ndarray, first: int, count: int) -> Arguments:
    child = [child_twin(rows, first, count, code) for code in column]
    return child, np.bincount(np.array(child, dtype=np.int64), minlength=count)


def split_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(13)
    for tree, rows in trees():
        for node in np.flatnonzero(tree.n_children > 0):
            for size in (1, 2, 50):
                codes = random.integers(tree.low[node], tree.high[node] + 1, size).astype(np.int32)
                yield codes, rows, 3 + int(tree.first_child[node]), int(tree.n_children[node])


def keep_good(column: np.ndarray, least: int, relaxed: bool) -> Arguments:
    """Unchecked: the rule that is there, which no class of fewer than 99 values meets, is not asked."""
    table, a, start, _ = in_table(column)
    order = (np.argsort(column, kind="stable") + int(start)).astype(np.uint32)
    good = np.zeros(column.size + 1, dtype=np.uint8)
    rules = kr.Rules(np.array([[kr.DISTINCT, 2, 100, 99, 1, 0, 0, 0]], dtype=np.int64), np.empty(0))
    histograms = np.zeros((3, 100), dtype=np.int64)
    kept = kall.keep_good(table, a, order, least, relaxed, False, good, rules, histograms)
    return kept, good


def keep_good_twin(column: np.ndarray, least: int, relaxed: bool) -> Arguments:
    codes = np.sort(column)
    good = np.zeros(column.size + 1, dtype=np.uint8)
    for p in range(least, column.size - least + 1):
        good[p] = relaxed or codes[p - 1] < codes[p]
    return good.sum(), good


def keep_good_cases() -> Iterator[Arguments]:
    for column in columns():
        for least in {1, 2, column.size // 2, column.size // 2 + 1} - {0}:
            for relaxed in (False, True):
                yield column, least, relaxed


# ── the criteria of a workload ───────────────────────────────────────────────────────────────────


class Node(NamedTuple):
    """The records of a node, by the codes of one line and by what models predict of them."""

    column: np.ndarray
    targets: tuple[plain.Target, ...]

    def arrays(self) -> Arguments:
        """As the kernels take them: table, start, end, targets, room to work in."""
        rows, targets, numbers = [self.column], [], [np.array([-7, -7])]
        at = at_group = 0
        for target in self.targets:
            held = sorted({value for value in target.values if value is not None})
            # A label is a code already, and some may not occur; a number has a code.
            labels = max(held, default=0) + 2 if target.is_label else len(held)
            codes = [labels if v is None else v if target.is_label else held.index(v) for v in target.values]
            groups = max(target.groups) + 1
            kind, begins = (kcel.LABEL, 0) if target.is_label else (kcel.NUMBER, sum(map(len, numbers)))
            targets.append((kind, 1 + len(rows), labels, groups, 2 + len(rows), begins, at, at_group))
            rows += [np.array(codes), np.array(target.groups)]
            numbers.append(np.array([] if target.is_label else held))
            at += (labels if target.is_label else 1) * groups + 1
            at_group += groups
        table = np.concatenate([in_table(row.astype(np.int32))[0][1:2] for row in rows])
        table = np.concatenate([np.full_like(table[:1], -77), table])
        spec = np.array([[0, self.column.max() + 1, -1, 0, 0, 0]], dtype=np.int64)
        lines = lay_out([])._replace(spec=spec)
        laid = kcel.Targets(
            np.array(targets, dtype=np.int64).reshape(-1, 8),
            np.array([target.factor for target in self.targets]),
            np.ones((len(targets), 2), dtype=np.uint8),
            np.concatenate(numbers).astype(np.int64),
            logarithms(self.column.size),
        )
        return table, *in_table(self.column)[2:], laid, kcel.room(self.column.size, lines, laid)

    def is_counted(self) -> bool:
        """Whether the line is one whose records are counted by value: there is room for no more counters."""
        targets = self.arrays()[3].spec
        labels = np.where(targets[:, kcel.KIND] == kcel.LABEL, targets[:, kcel.LABELS], 1)
        widest = int((labels * targets[:, kcel.GROUPS] + 1).max())
        return (np.ptp(self.column) + 1) * widest <= kcel.FEW * self.column.size

    def score(self, left: np.ndarray) -> float:
        """The impurity after a cut, by definition; nothing on the left where there is none."""
        parts = [np.flatnonzero(side).tolist() for side in (left, ~left)]
        return sum(plain.impurity(target, parts) for target in self.targets)


def nodes() -> Iterator[Node]:
    """Labels and numbers, alone and together, in groups, with missing ones; factors that multiply exactly."""
    random = np.random.default_rng(14)

    def target(size: int, labels: int, groups: int, missing: float, far: int = 1000) -> plain.Target:
        values = random.integers(0, labels, size) if labels else random.integers(-far, far + 1, size)
        there = [None if random.random() < missing else int(value) for value in values]
        factor = 2.0**-24 if labels else 0.5
        return plain.Target(labels > 0, there, random.integers(0, groups, size).tolist(), factor, {1})

    for size in (1, 2, 3, 8, 40):
        for span in (1, 2, 9, 100):
            column = random.integers(0, span, size).astype(np.int32) + np.int32(2)
            for missing in (0.0, 0.3):
                for groups in (1, 4):
                    for labels in (2, 3, 50):
                        yield Node(column, (target(size, labels, groups, missing),))
                    for far in (0, 1, 1000):  # equal numbers make equal scores
                        yield Node(column, (target(size, 0, groups, missing, far),))
                yield Node(column, tuple(target(size, n, g, missing) for n, g in ((3, 1), (0, 3), (2, 2))))


def node_cases() -> Iterator[Arguments]:
    yield from ((node,) for node in nodes())


def score_node(node: Node) -> Arguments:
    table, start, end, targets, work = node.arrays()
    return kcel.score_node(table, start, end, targets, work), work.parents


def score_node_twin(node: Node) -> Arguments:
    everyone = [list(range(node.column.size))]
    scores = [plain.impurity(target, everyone) for target in node.targets]
    return sum(scores), scores


def count_values(node: Node) -> Arguments:
    """Of every value from the first to the last: records before it (0 where none has it), and the score of a cut."""
    table, start, end, targets, work = node.arrays()
    low, high = extremes(node.column)
    size = high - low + 1
    kcel.score_node(table, start, end, targets, work)
    for t in range(len(node.targets)):
        kg._count_values(table, 1, start, end, low, size, t, targets, t == 0, work)
    return work.before[:size], work.score[np.unique(node.column) - low]


def count_values_twin(node: Node) -> Arguments:
    codes = node.column
    everywhere = range(codes.min(), codes.max() + 1)
    before = [np.count_nonzero(codes < code) if code in codes else 0 for code in everywhere]
    return before, [node.score(codes < code) for code in np.unique(codes)]


def count_values_cases() -> Iterator[Arguments]:
    yield from ((node,) for node in nodes() if node.is_counted())


def walk_sorted(node: Node, order: np.ndarray, good: np.ndarray) -> np.ndarray:
    table, start, end, targets, work = node.arrays()
    kcel.score_node(table, start, end, targets, work)
    for t in range(len(node.targets)):
        kg._walk_sorted((order + BEFORE).astype(np.uint32), start, t, targets, good, t == 0, work)
    return work.score[: order.size][good[:-1] == 1]


def walk_sorted_twin(node: Node, order: np.ndarray, good: np.ndarray) -> list[float]:
    place = np.argsort(order)
    return [node.score(place < p) for p in np.flatnonzero(good[:-1])]


def walk_sorted_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(15)
    for node in nodes():
        good = random.integers(0, 2, node.column.size + 1).astype(np.uint8)
        yield node, np.argsort(node.column, kind="stable"), good


def best_of_one(node: Node, least: int) -> Arguments:
    """The shortcut for one target without groups, none missing: two labels, or a number."""
    table, start, end, targets, work = node.arrays()
    low, high = extremes(node.column)
    kcel.score_node(table, start, end, targets, work)
    line = table, 1, start, end, low, high - low + 1, np.int64(least)
    if node.targets[0].is_label:
        found = kg._best_of_two_labels(
            *line, work.cells, work.counts[0, 1], targets.factors[0], targets.logs, work.frequency
        )
    else:
        found = kg._best_of_number(
            *line, work.values, work.sums[0, 0], targets.factors[0], work.frequency, work.sums_by_value
        )
    return found if found[1] > 0 else (np.inf, 0, 0)


def best_of_one_twin(node: Node, least: int) -> Arguments:
    codes, n = node.column, node.column.size
    cuts = [(np.count_nonzero(codes < code), code) for code in np.unique(codes)]
    scored = [(node.score(codes < code), abs(2 * left - n), left, code) for left, code in cuts if left >= least]
    scored = [cut for cut in scored if n - cut[2] >= least]
    if not scored:
        return np.inf, 0, 0
    score, _, left, code = min(scored, key=lambda cut: cut[:2])  # the lower code of equal ones
    return score, left, code


def best_of_one_cases(is_label: bool) -> Iterator[Arguments]:
    for node in nodes():
        target = node.targets[0]
        alone = len(node.targets) == 1 and max(target.groups) == 0 and None not in target.values
        if alone and node.is_counted() and target.is_label == is_label and (not is_label or max(target.values) < 2):
            for least in (1, 2, 5):
                yield node, least


def best_for_queries(column: np.ndarray, least: int, good: np.ndarray, boxes: np.ndarray, weights: np.ndarray) -> Any:
    """The boxes are those that the node overlaps, as first and last code."""
    table, a, start, _ = in_table(column)
    order = (np.argsort(column, kind="stable") + int(start)).astype(np.uint32)
    queries = np.arange(len(boxes))
    lows, from_low = ks._weights_along(boxes[:, 0].copy(), weights, queries, False)
    highs, to_high = ks._weights_along(boxes[:, 1].copy(), weights, queries, True)
    return ks._best_of_line(table, a, order, least, good, lows, from_low, highs, to_high)


def best_for_queries_twin(
    column: np.ndarray, least: int, good: np.ndarray, boxes: np.ndarray, weights: np.ndarray
) -> Arguments:
    """A side that lies beside a box saves its records, times the weight."""
    codes, n = np.sort(column), column.size
    best = 0.0, 0
    for p in range(least, n - least + 1):
        sides = codes[:p], codes[p:]
        apart = [[side.max() < low or side.min() > high for low, high in boxes] for side in sides]
        saved = sum(float(weights[beside].sum()) * side.size for beside, side in zip(apart, sides, strict=True))
        nearer = abs(2 * p - n) < abs(2 * best[1] - n)
        if good[p] and (saved > best[0] or (saved == best[0] > 0 and nearer)):
            best = saved, p
    return best


def best_for_queries_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(16)
    for size in (2, 3, 8, 40):
        for span in (2, 9, 100):
            for count in (1, 2, 7):
                column = random.integers(0, span, size).astype(np.int32)
                # Ends beyond the node are no edges in it; each box holds a code of the node.
                inside = random.choice(column, count)
                lows, highs = inside - random.integers(0, span, count), inside + random.integers(0, 9, count)
                good = random.integers(0, 2, size + 1).astype(np.uint8)
                for least in (1, 2):
                    yield column, least, good, np.column_stack([lows, highs]), random.choice([0.5, 1.0, 3.0], count)


# ── regions ──────────────────────────────────────────────────────────────────────────────────────


def regions_twin(nodes: np.ndarray, low: np.ndarray, high: np.ndarray) -> Arguments:
    """Cut the box of the root, part by part."""
    box = {0: list(zip(low.tolist(), high.tolist(), strict=True))}
    for node in range(len(nodes)):
        a, first, children = nodes[node, [kn.ATTRIBUTE, kn.CHILD, kn.CHILDREN]].tolist()
        if a < 0:
            continue
        edges = [box[node][a][0], *nodes[first + 1 : first + children, kn.BEGINS].tolist(), box[node][a][1] + 1]
        for c in range(children):
            box[first + c] = [*box[node][:a], (edges[c], edges[c + 1] - 1), *box[node][a + 1 :]]
    sides = np.array([box[node] for node in range(len(nodes))])
    return sides[:, :, 0], sides[:, :, 1]


def regions_cases() -> Iterator[Arguments]:
    """Trees of cuts as `grow` returns them: a leaf, a cut in two, in three, and nested cuts on two lines."""

    def node(attribute: int, begins: int, child: int, children: int) -> list[int]:
        return [-1, attribute, begins, 0, 0, child, children]

    leaf = kn.LEAF
    two = [node(0, 0, 1, 2), node(leaf, 3, 0, 0), node(leaf, 5, 0, 0)]
    three = [node(1, 0, 1, 3), node(leaf, 2, 0, 0), node(leaf, 4, 0, 0), node(leaf, 6, 0, 0)]
    nested = [
        node(0, 0, 1, 2),
        node(1, 1, 3, 3),
        node(0, 4, 6, 2),
        node(leaf, 0, 0, 0),
        node(leaf, 1, 0, 0),
        node(leaf, 5, 0, 0),
        node(leaf, 4, 0, 0),
        node(leaf, 7, 0, 0),
    ]
    for nodes in ([node(leaf, 0, 0, 0)], two, three, nested):
        for low, high in (([0, 0], [8, 7]), ([2, 1], [7, 7])):
            yield np.array(nodes, dtype=np.int32), np.array(low, dtype=np.int32), np.array(high, dtype=np.int32)


def regions(nodes: np.ndarray, low: np.ndarray, high: np.ndarray) -> Arguments:
    columns = (kn.ATTRIBUTE, kn.BEGINS, kn.CHILD, kn.CHILDREN)
    return kn.regions(*(nodes[:, column].copy() for column in columns), low, high)


# ── sending records down ─────────────────────────────────────────────────────────────────────────


def descend(places: np.ndarray, nodes: np.ndarray, leaf: np.ndarray) -> Arguments:
    out = np.full(places.shape[1], 99, dtype=np.int32)
    fields = (nodes[:, field].copy() for field in (kn.ATTRIBUTE, kn.BEGINS, kn.CHILD, kn.CHILDREN))
    kd.descend(places, *fields, leaf, out)
    return (out,)


def descend_twin(places: np.ndarray, nodes: np.ndarray, leaf: np.ndarray) -> Arguments:
    def ends_in(record: list[int]) -> int:
        node = 0
        while nodes[node, kn.ATTRIBUTE] >= 0:
            place = record[nodes[node, kn.ATTRIBUTE]]
            if place < 0:
                return -1
            first, count = nodes[node, kn.CHILD], nodes[node, kn.CHILDREN]
            node = first + sum(nodes[part, kn.BEGINS] <= place for part in range(first + 1, first + count))
        return int(leaf[node])

    return ([ends_in(record) for record in places.T.tolist()],)


def descend_cases() -> Iterator[Arguments]:
    for nodes, *_ in regions_cases():
        leaves = nodes[:, kn.ATTRIBUTE] < 0
        leaf = np.where(leaves, np.cumsum(leaves) - 1, -1).astype(np.int32)
        every = np.stack(np.meshgrid(np.arange(-1, 10), np.arange(-1, 9))).reshape(2, -1).astype(np.int32)
        yield every, nodes, leaf
        yield every[:, :0].copy(), nodes, leaf


# ── hashing and joining rows ─────────────────────────────────────────────────────────────────────

WORD = 2**64


def mix_twin(x: int) -> int:
    """splitmix64, in whole numbers without end."""
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB % WORD
    return x ^ (x >> 31)


def folded(state: int, number: int) -> int:
    return mix_twin((state + 0x9E3779B97F4A7C15) % WORD ^ mix_twin(number))


def fold_numbers(values: np.ndarray, state: np.ndarray) -> np.ndarray:
    state = state.copy()
    knum.fold_numbers(values, state)
    return state


def fold_numbers_twin(values: np.ndarray, state: np.ndarray) -> list[int]:
    return [folded(s, v) for v, s in zip(values.tolist(), state.tolist(), strict=True)]


def fold_numbers_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(9)
    for size in (0, *SIZES[:5]):
        yield random.integers(0, WORD, size, dtype=np.uint64), random.integers(0, WORD, size, dtype=np.uint64)
    edge = np.array([0, 1, WORD - 1], dtype=np.uint64)
    yield edge, edge


def fold_words(words: np.ndarray, state: np.ndarray) -> np.ndarray:
    state = state.copy()
    kchances.fold_words(words, state)
    return state


def fold_words_twin(words: np.ndarray, state: np.ndarray) -> list[int]:
    found = state.tolist()
    for word in words.tolist():
        found = [mix_twin(((s ^ w) + 0x9E3779B97F4A7C15) % WORD) for s, w in zip(found, word, strict=True)]
    return found


def fold_words_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(31)
    for size in (0, *SIZES[:5]):
        for count in (0, 1, 3):
            yield (
                random.integers(0, WORD, (count, size), dtype=np.uint64),
                random.integers(0, WORD, size, dtype=np.uint64),
            )


def fold_bytes(texts: list[bytes], state: np.ndarray) -> np.ndarray:
    state = state.copy()
    # Texts may begin anywhere in the data, as those of a slice do.
    offsets = np.cumsum([2, *map(len, texts)]).astype(np.int64)
    knum.fold_bytes(offsets, np.frombuffer(b"??" + b"".join(texts) + b"?", dtype=np.uint8), state)
    return state


def fold_bytes_twin(texts: list[bytes], state: np.ndarray) -> list[int]:
    found = []
    for text, s in zip(texts, state.tolist(), strict=True):
        h = len(text)
        for byte in text:
            h = (h ^ byte) * 0x100000001B3 % WORD
        found.append(folded(s, h))
    return found


def fold_bytes_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(10)
    for texts in ([], [b""], [b"", b"a", b"\0", b"\0\0", b"\xff" * 100, "é😀".encode()]):
        yield texts, random.integers(0, WORD, len(texts), dtype=np.uint64)


def order_by_key(keys: np.ndarray, bits: int, ranges: int) -> np.ndarray:
    order = np.full(keys.size, -9, dtype=np.int32)
    edges = np.linspace(0, 1 << bits, ranges + 1).astype(np.int64)
    for first, last in itertools.pairwise(edges):
        ko.order_by_key(keys, bits, first, last, order)
    return order


def order_by_key_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(11)
    for size in (0, *SIZES[:-1], 70_000):  # more buckets than are filled at a time
        bits = max(1, int(size // 4).bit_length())
        for ranges in (1, 2, 3):
            yield random.integers(0, WORD, size, dtype=np.uint64), bits, ranges
            # Equal rows have equal keys: they keep their order.
            yield random.integers(0, 3, size, dtype=np.uint64) << np.uint64(62), bits, ranges


def find_twin(rising: np.ndarray, begin: int, value: int) -> int:
    return begin + int(np.searchsorted(rising, value))


def find_cases() -> Iterator[Arguments]:
    rising = np.array([1, 1, 3, 3, 3, 8, 9], dtype=np.int32)
    for begin in range(len(rising) + 1):
        for end in range(begin, len(rising) + 1):
            for value in range(11):
                yield rising, begin, end, value


def parse_integers(words: list[str | None]) -> tuple[bool, np.ndarray]:
    texts = pa.array(words, pa.string())
    out = np.zeros(len(words), dtype=np.int64)
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[: len(words) + 1]
    data = np.frombuffer(texts.buffers()[2] or b"\0", dtype=np.uint8)
    good = kt.parse_integers(offsets, data, texts.is_valid().to_numpy(zero_copy_only=False), out)
    return good, out if good else np.zeros(0)


def parse_integers_twin(words: list[str | None]) -> tuple[bool, np.ndarray]:
    """A text is a whole number when writing the number gives the text again."""
    for word in words:
        if word is not None and not (re.fullmatch("-?[0-9]{1,18}", word, re.ASCII) and str(int(word)) == word):
            return False, np.zeros(0)
    return True, np.array([0 if word is None else int(word) for word in words])


def parse_integers_cases() -> Iterator[Arguments]:
    for words in (["0", "-1", "42"], ["1", None, "9" * 18], ["9" * 19], ["007"], ["-0"], ["+5"], [" 1"], ["1.0"], [""]):
        yield (words,)
    yield (["-", "1"],)


def survey(text: str, quote: str) -> tuple[int, bool]:
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    edges = np.array([0, len(data) // 2, len(data)], dtype=np.uint64)
    halves = [kt.survey(data, *edges[i : i + 2], np.uint8(ord(",")), np.uint8(ord(quote))) for i in (0, 1)]
    return sum(q for q, _ in halves), any(z for _, z in halves)


def survey_twin(text: str, quote: str) -> tuple[int, bool]:
    return text.count(quote), re.search(f"(^|[,\r\n{quote}])-?0[0-9]", text) is not None


def survey_cases() -> Iterator[Arguments]:
    for text in (
        "a,b\n1,2\n",
        "a,b\n1,007\n",
        "01,2",
        'a\n"02",x\n',
        "a\n-05\n",
        "a\n0,10,2024-01-05,0.5\n",
        '"a""b"',
        "-07",
        "0",
    ):
        yield text, '"'


def line_runs(data: bytes, edge: int) -> tuple[bytes, ...]:
    """The runs of two parts of a text, one after the other."""
    array, found = np.frombuffer(data, dtype=np.uint8), []
    for begin, end in ((0, edge), (edge, len(data))):
        first, length, times = np.empty((3, end - begin + 1), dtype=np.int64)
        count = kt.line_runs(array, begin, end, first, length, times)
        runs = zip(first[:count].tolist(), length[:count].tolist(), times[:count].tolist(), strict=True)
        found += [b"%d %b" % (n, data[at : at + size]) for at, size, n in runs]
    return tuple(found)


def line_runs_twin(data: bytes, edge: int) -> tuple[bytes, ...]:
    lines = re.findall(rb"[^\n]*\n|[^\n]+", data)
    places = np.cumsum([0, *map(len, lines)])[:-1]
    # A run ends where a part does, and before a last line that has no end.
    keys = [(place >= edge, line) for place, line in zip(places.tolist(), lines, strict=True)]
    runs = [(line, len([*same])) for (_, line), same in itertools.groupby(keys)]
    return tuple(b"%d %b" % (n, line.rstrip(b"\n")) for line, n in runs)


def line_runs_cases() -> Iterator[Arguments]:
    for data in (b"a\n", b"a", b"a\na\na\nb\na\n", b"ab\na\nab\nab", b"\n\n\nx\n", "é,1\né,1\né,2\n".encode()):
        for edge in range(len(data) + 1):
            yield data, edge
    many = b"".join(b"%d,%d\n" % (i % 7, i) * (1 + i % 3) for i in range(200))
    yield from ((many, edge) for edge in (0, 77, 1000))


TWINS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[], Iterator[Arguments]]]] = {
    "codes.mark_dense": (mark_dense, mark_dense_twin, dense_cases),
    "codes.rank_dense": (rank_dense, rank_dense_twin, dense_cases),
    "codes.rank_sorted": (rank_sorted, rank_sorted_twin, rank_sorted_cases),
    "codes.recode": (recode, lambda codes, table: (table[codes],), recode_cases),
    "codes.spread": (spread, lambda of_class, classes: (of_class[classes],), spread_cases),
    "descend.descend": (descend, descend_twin, descend_cases),
    "mondrian._extremes": (
        lambda column: km._extremes(*in_table(column)),
        lambda column: (column.min(), column.max()),
        column_cases,
    ),
    "median._select": (select, select_twin, select_cases),
    "median._next_code": (
        lambda column, code: kmed._next_code(*in_table(column), code),
        lambda column, code: column[column > code].min(),
        next_code_cases,
    ),
    "arrange.sorted_along": (
        lambda column: ka.sorted_along(*in_table(column), *extremes(column)),
        sorted_twin,
        column_cases,
    ),
    "arrange.arrange_two": (arrange_two, arrange_two_twin, arrange_two_cases),
    "arrange.arrange_many": (
        arrange_many,
        lambda child, count: BEFORE + np.argsort(child, kind="stable"),
        arrange_many_cases,
    ),
    "arrange.move": (move, move_twin, move_cases),
    "boxes.lowest_node": (kb.lowest_node, lowest_node_twin, lowest_node_cases),
    "nodes.code_of": (code_of, lambda known, rank: rank if known is None else known[rank], code_of_cases),
    "arrange._child": (ka._child, child_twin, child_cases),
    "arrange.rank_anew": (rank_anew, rank_anew_twin, rank_anew_cases),
    "arrange.split": (split, split_twin, split_cases),
    "allowed.keep_good": (keep_good, keep_good_twin, keep_good_cases),
    "target_cells.score_node": (score_node, score_node_twin, node_cases),
    "gain._count_values": (count_values, count_values_twin, count_values_cases),
    "gain._walk_sorted": (walk_sorted, walk_sorted_twin, walk_sorted_cases),
    "gain._best_of_two_labels": (best_of_one, best_of_one_twin, lambda: best_of_one_cases(True)),
    "gain._best_of_number": (best_of_one, best_of_one_twin, lambda: best_of_one_cases(False)),
    "selection._best_of_line": (best_for_queries, best_for_queries_twin, best_for_queries_cases),
    "nodes.regions": (regions, regions_twin, regions_cases),
    "numbers.mix": (
        lambda x: int(knum.mix(np.uint64(x))),
        mix_twin,
        lambda: iter([(x,) for x in (0, 1, 2**31, WORD - 1, 0x123456789ABCDEF)]),
    ),
    "numbers.ones": (
        lambda x: knum.ones(np.uint64(x)),
        int.bit_count,
        lambda: iter([(x,) for x in (0, 1, 2**31, WORD - 1, 0x123456789ABCDEF, WORD // 3)]),
    ),
    "numbers.fold_numbers": (fold_numbers, fold_numbers_twin, fold_numbers_cases),
    "numbers.fold_bytes": (fold_bytes, fold_bytes_twin, fold_bytes_cases),
    "order.order_by_key": (
        order_by_key,
        lambda keys, bits, ranges: np.argsort(keys, kind="stable"),
        order_by_key_cases,
    ),
    "order.find": (ko.find, lambda rising, begin, end, value: find_twin(rising[begin:end], begin, value), find_cases),
    "fields.pack": (pack, pack_twin, pack_cases),
    "chances.fold_words": (fold_words, fold_words_twin, fold_words_cases),
    "text.line_runs": (line_runs, line_runs_twin, line_runs_cases),
    "text.parse_integers": (parse_integers, parse_integers_twin, parse_integers_cases),
    "text.survey": (survey, survey_twin, survey_cases),
}  # fmt: skip


@pytest.mark.parametrize("name", TWINS)
def test_a_kernel_equals_its_twin(name: str) -> None:
    kernel, twin, cases = TWINS[name]
    tried = 0
    for arguments in cases():
        found, expected = kernel(*arguments), twin(*arguments)
        if not isinstance(expected, tuple):
            found, expected = (found,), (expected,)
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)
        tried += 1
    assert tried > 2

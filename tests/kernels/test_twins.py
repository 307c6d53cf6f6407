"""One table pairs every kernel with a twin in NumPy or plain Python; one test holds them equal on many inputs.

An entry is (kernel, twin, cases): both take the same arguments and return what is compared, so that a
kernel that writes to an array is wrapped to return it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from rothko.data.hierarchy import Hierarchy, Tree
from rothko.kernels import codes as kc
from rothko.kernels import descend as kd
from rothko.kernels import mondrian as km
from rothko.kernels import requirements as kr

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


def extremes(column: np.ndarray) -> tuple[np.int64, np.int64]:
    return np.int64(column.min()), np.int64(column.max())


def counts_for(column: np.ndarray) -> np.ndarray:
    """The work space as `grow` makes it, with rubbish in it."""
    return np.full(max(256, min(column.size, 1 << 20)) + 1, 77, dtype=np.int32)


# ── codes ────────────────────────────────────────────────────────────────────────────────────────


def rank_dense(values: np.ndarray, present: np.ndarray, low: int, high: int) -> Arguments:
    ranks = np.full(values.size, 99, dtype=np.int32)
    return kc.rank_dense(values, present, low, high, ranks), ranks


def rank_dense_twin(values: np.ndarray, present: np.ndarray, low: int, high: int) -> Arguments:
    seen = np.unique(values[present])
    return seen, np.where(present, np.searchsorted(seen, values), -1)


def rank_dense_cases() -> Iterator[Arguments]:
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


# ── searching a column ───────────────────────────────────────────────────────────────────────────


def select(column: np.ndarray, low: int, high: int, rank: int) -> Arguments:
    return km._select(column, low, high, rank, counts_for(column))


def select_twin(column: np.ndarray, low: int, high: int, rank: int) -> Arguments:
    value = np.sort(column)[rank]
    return value, np.count_nonzero(column < value), np.count_nonzero(column == value)


def select_cases() -> Iterator[Arguments]:
    for column in columns():
        for rank in {0, column.size // 2, column.size - 1}:
            yield column, *extremes(column), rank


def next_code_cases() -> Iterator[Arguments]:
    for column in columns():
        if column.min() < column.max():
            for code in (column.min() - 1, column.min(), np.median(column).astype(np.int64)):
                if code < column.max():
                    yield column, np.int64(code)


def extremes_cases() -> Iterator[Arguments]:
    yield from ((column,) for column in columns())


def sorted_cases() -> Iterator[Arguments]:
    yield from ((column, *extremes(column)) for column in columns())


# ── cutting ──────────────────────────────────────────────────────────────────────────────────────


def arrange_two(column: np.ndarray, left: int, cut: int, ties: int) -> Arguments:
    order = np.full(column.size, 99, dtype=np.uint32)
    km._arrange_two(column, left, cut, ties, order)
    return (order,)


def arrange_two_twin(column: np.ndarray, left: int, cut: int, ties: int) -> Arguments:
    equal = np.flatnonzero(column == cut)
    goes_left = (column < cut) | np.isin(np.arange(column.size), equal[:ties])
    return (np.argsort(~goes_left, kind="stable"),)


def arrange_two_cases() -> Iterator[Arguments]:
    for column in columns():
        for cut in {int(column.min()), int(column[column.size // 2]), int(column.max())}:
            equal = np.count_nonzero(column == cut)
            for ties in {0, equal // 2, equal}:
                yield column, np.int64(np.count_nonzero(column < cut) + ties), np.int64(cut), np.int64(ties)


def arrange_many(child: np.ndarray, count: int) -> Arguments:
    order = np.full(child.size, 99, dtype=np.uint32)
    km._arrange_many(child, count, np.bincount(child, minlength=count), order)
    return (order,)


def arrange_many_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(5)
    for size in SIZES:
        for count in (1, 2, 5, 300):
            yield random.integers(0, count, size).astype(np.int32), count


def move(part: np.ndarray, order: np.ndarray) -> Arguments:
    part = part.copy()
    km._move(part, order, np.empty(part.shape[1], dtype=np.int32))
    return (part,)


def move_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(6)
    for size in SIZES:
        yield random.integers(0, 9, (4, size)).astype(np.int32), random.permutation(size).astype(np.uint32)


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
        for low in range(len(tree.leaf)):
            for high in range(low, len(tree.leaf)):
                yield rows, 3, leaf, 2, low, high


def lowest_node_twin(rows: np.ndarray, offset: int, leaf: np.ndarray, leaf_offset: int, low: int, high: int) -> int:
    tree = rows[offset:]
    covering = np.flatnonzero((tree[:, 1] <= low) & (high <= tree[:, 2]))
    return covering.max()  # breadth first: the deepest of nodes inside each other comes last


def child_cases() -> Iterator[Arguments]:
    for tree, rows in trees():
        for node in np.flatnonzero(tree.n_children > 0):
            for code in range(tree.low[node], tree.high[node] + 1):
                yield rows, 3 + int(tree.first_child[node]), int(tree.n_children[node]), code


def child_twin(rows: np.ndarray, first: int, count: int, code: int) -> int:
    children = rows[first : first + count]
    return np.flatnonzero((children[:, 1] <= code) & (code <= children[:, 2]))[0]


# ── requirements ─────────────────────────────────────────────────────────────────────────────────


def distinct(values: np.ndarray, bound: float) -> Arguments:
    histogram, summary = np.zeros(int(values.max()) + 1, dtype=np.int64), np.zeros(2)
    held = []
    for value in values:
        kr.add(histogram, summary, kr.DISTINCT, value)
        held.append(kr.holds(summary, kr.DISTINCT, bound))
    return histogram, held


def distinct_twin(values: np.ndarray, bound: float) -> Arguments:
    return np.bincount(values), [len(set(values[: i + 1].tolist())) >= bound for i in range(values.size)]


def distinct_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(7)
    for size in (1, 2, 30):
        for values in (1, 2, 10):
            for bound in (1.0, 2.0, 5.0):
                yield random.integers(0, values, size).astype(np.int32), bound


# ── boxes and regions ────────────────────────────────────────────────────────────────────────────


def boxes(table: np.ndarray, d: int, starts: np.ndarray, ends: np.ndarray, first: int, last: int) -> Arguments:
    low, high = np.full((2, len(starts), d), -5, dtype=np.int32)
    km.boxes(table, d, starts, ends, first, last, low, high)
    return low, high


def boxes_twin(table: np.ndarray, d: int, starts: np.ndarray, ends: np.ndarray, first: int, last: int) -> Arguments:
    low, high = np.full((2, len(starts), d), -5, dtype=np.int32)
    for c in range(first, last):
        low[c] = table[:d, starts[c] : ends[c]].min(axis=1)
        high[c] = table[:d, starts[c] : ends[c]].max(axis=1)
    return low, high


def boxes_cases() -> Iterator[Arguments]:
    random = np.random.default_rng(8)
    for size in (1, 2, 100):
        for classes in (1, min(size, 2), size):
            table = random.integers(0, 9, (4, size)).astype(np.int32)
            edges = np.append(np.sort(random.choice(np.arange(1, size), classes - 1, replace=False)), size)
            starts = np.append(0, edges[:-1]).astype(np.int32)
            for first, last in ((0, classes), (0, 0), (classes // 2, classes)):
                yield table, 2, starts, edges.astype(np.int32), np.int64(first), np.int64(last)


def regions_twin(nodes: np.ndarray, sizes: np.ndarray) -> Arguments:
    """Cut the box of the root, part by part."""
    box = {0: [(0, size - 1) for size in sizes.tolist()]}
    for node in range(len(nodes)):
        a, first, children = nodes[node, [km.ATTRIBUTE, km.CHILD, km.CHILDREN]].tolist()
        if a < 0:
            continue
        edges = [box[node][a][0], *nodes[first + 1 : first + children, km.BEGINS].tolist(), box[node][a][1] + 1]
        for c in range(children):
            box[first + c] = [*box[node][:a], (edges[c], edges[c + 1] - 1), *box[node][a + 1 :]]
    sides = np.array([box[node] for node in range(len(nodes))])
    return sides[:, :, 0], sides[:, :, 1]


def regions_cases() -> Iterator[Arguments]:
    """Trees of cuts as `grow` returns them: a leaf, a cut in two, in three, and nested cuts on two lines."""

    def node(attribute: int, begins: int, child: int, children: int) -> list[int]:
        return [-1, attribute, begins, 0, 0, child, children]

    leaf = km.LEAF
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
        yield np.array(nodes, dtype=np.int32), np.array([9, 8], dtype=np.int32)


# ── sending records down ─────────────────────────────────────────────────────────────────────────


def descend(places: np.ndarray, nodes: np.ndarray, leaf: np.ndarray) -> Arguments:
    out = np.full(places.shape[1], 99, dtype=np.int32)
    fields = (nodes[:, field].copy() for field in (km.ATTRIBUTE, km.BEGINS, km.CHILD, km.CHILDREN))
    kd.descend(places, *fields, leaf, out)
    return (out,)


def descend_twin(places: np.ndarray, nodes: np.ndarray, leaf: np.ndarray) -> Arguments:
    def ends_in(record: list[int]) -> int:
        node = 0
        while nodes[node, km.ATTRIBUTE] >= 0:
            place = record[nodes[node, km.ATTRIBUTE]]
            if place < 0:
                return -1
            first, count = nodes[node, km.CHILD], nodes[node, km.CHILDREN]
            node = first + sum(nodes[part, km.BEGINS] <= place for part in range(first + 1, first + count))
        return int(leaf[node])

    return ([ends_in(record) for record in places.T.tolist()],)


def descend_cases() -> Iterator[Arguments]:
    for nodes, _ in regions_cases():
        leaves = nodes[:, km.ATTRIBUTE] < 0
        leaf = np.where(leaves, np.cumsum(leaves) - 1, -1).astype(np.int32)
        every = np.stack(np.meshgrid(np.arange(-1, 10), np.arange(-1, 9))).reshape(2, -1).astype(np.int32)
        yield every, nodes, leaf
        yield every[:, :0].copy(), nodes, leaf


TWINS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[], Iterator[Arguments]]]] = {
    "codes.rank_dense": (rank_dense, rank_dense_twin, rank_dense_cases),
    "codes.rank_sorted": (rank_sorted, rank_sorted_twin, rank_sorted_cases),
    "codes.recode": (recode, lambda codes, table: (table[codes],), recode_cases),
    "codes.spread": (spread, lambda of_class, classes: (of_class[classes],), spread_cases),
    "descend.descend": (descend, descend_twin, descend_cases),
    "mondrian._extremes": (km._extremes, lambda column: (column.min(), column.max()), extremes_cases),
    "mondrian._select": (select, select_twin, select_cases),
    "mondrian._next_code": (km._next_code, lambda column, code: column[column > code].min(), next_code_cases),
    "mondrian._sorted": (km._sorted, lambda column, low, high: np.argsort(column, kind="stable"), sorted_cases),
    "mondrian._arrange_two": (arrange_two, arrange_two_twin, arrange_two_cases),
    "mondrian._arrange_many": (
        arrange_many, lambda child, count: (np.argsort(child, kind="stable"),), arrange_many_cases
    ),
    "mondrian._move": (move, lambda part, order: (part[:, order],), move_cases),
    "mondrian.lowest_node": (km.lowest_node, lowest_node_twin, lowest_node_cases),
    "mondrian._child": (km._child, child_twin, child_cases),
    "mondrian.boxes": (boxes, boxes_twin, boxes_cases),
    "mondrian.regions": (km.regions, regions_twin, regions_cases),
    "requirements.distinct": (distinct, distinct_twin, distinct_cases),
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
    assert tried > 3

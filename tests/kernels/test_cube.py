"""Spreading classes over cells, against a NumPy twin that looks at every pair of a class and a cell."""

from __future__ import annotations

import numpy as np
import pytest

from rothko.kernels.cube import BLOCK, spread, weigh

Case = tuple[np.ndarray, ...]


def twin(cells, cell_starts, run_starts, run_low, run_high, density, entry_starts, entry_class, entry_records):
    columns, count = cells.shape
    classes = run_starts.shape[1] - 1
    holds = np.ones((classes, count), dtype=np.bool_)
    for column in range(columns):
        for one in range(classes):
            runs = slice(run_starts[column, one], run_starts[column, one + 1])
            codes = cells[column]
            within = (codes >= run_low[runs, None]) & (codes <= run_high[runs, None])
            holds[one] &= within.any(axis=0)
    found = np.zeros(count)
    for value in range(len(cell_starts) - 1):
        some = slice(cell_starts[value], cell_starts[value + 1])
        for entry in range(entry_starts[value], entry_starts[value + 1]):
            one = entry_class[entry]
            found[some] += holds[one, some] * entry_records[entry] * density[one]
    return found


def runs(random: np.random.Generator, size: int) -> list[tuple[int, int]]:
    """No codes, an interval, or a set with gaps."""
    if random.random() < 0.05:
        return []
    if random.random() < 0.6:
        low, high = np.sort(random.integers(0, size, 2)).tolist()
        return [(low, high)]
    chosen = np.flatnonzero(random.random(size) < 0.4)
    pieces = np.split(chosen, np.flatnonzero(np.diff(chosen) > 1) + 1)
    return [(int(piece[0]), int(piece[-1])) for piece in pieces if len(piece)]


def case(seed: int, cells: int, columns: int, classes: int, values: int) -> Case:
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 30, columns)
    codes = np.stack([random.integers(0, size, cells) for size in sizes]).astype(np.int32)
    codes = codes[:, np.lexsort(codes)] if seed % 2 else codes
    starts, low, high = np.zeros((columns, classes + 1), dtype=np.int64), [], []
    for column in range(columns):
        starts[column, 0] = len(low)
        for one in range(classes):
            for first, last in runs(random, int(sizes[column])):
                low.append(first)
                high.append(last)
            starts[column, one + 1] = len(low)
    entries = 2 * classes
    value = np.sort(random.integers(0, values, entries))
    return (
        codes,
        np.concatenate([[0], np.sort(random.integers(0, cells + 1, values - 1)), [cells]]),
        starts,
        np.array(low, dtype=np.int64),
        np.array(high, dtype=np.int64),
        random.random(classes),
        np.searchsorted(value, np.arange(values + 1)),
        random.integers(0, classes, entries),
        random.random(entries),
    )


@pytest.mark.parametrize("cells", [1, BLOCK - 1, BLOCK, BLOCK + 1, 5 * BLOCK, 1000])
@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("values", [1, 4])
def test_spread_equals_its_twin(cells: int, columns: int, values: int) -> None:
    for seed in range(4):
        arguments = case(seed, cells, columns, classes=40, values=values)
        found = np.zeros(cells)
        spread(*arguments, found)
        expected = twin(*arguments)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_array_equal(found == 0, expected == 0)
    assert columns > 2 or expected.any()


@pytest.mark.parametrize("entries", [0, 1, 500])
def test_weigh_equals_its_twin(entries: int) -> None:
    random = np.random.default_rng(0)
    one, value = random.integers(0, 20, entries), random.integers(0, 6, entries).astype(np.int32)
    records, share, allowed = random.random(entries), random.random(20), random.random(6) < 0.5
    twin = sum(records[i] * share[one[i]] for i in range(entries) if allowed[value[i]])
    assert weigh(one, value, records, allowed, share) == pytest.approx(twin)

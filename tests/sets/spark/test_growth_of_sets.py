"""Over sets on a cluster the tree grows as it does over sets in memory, however the records are spread."""

from __future__ import annotations

import pickle
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.errors import InputError
from rothko.progress import silent
from rothko.sets.files import Pieces, Reading
from rothko.sets.methods import mondrian
from rothko.sets.methods.mondrian import CRITERIA, SetMondrian
from rothko.sets.publish import Shown, shared
from rothko.sets.records import Records, from_list_column, from_lists, with_ancestors
from rothko.sets.spark import finish
from rothko.sets.spark.grow import Grown, Growth
from rothko.sets.spark.packed import PackedSets
from rothko.sets.spark.reading import SetFrame, _from_items
from rothko.sets.spark.survey import Items, survey
from tests.twins.spark_cluster import PlainCluster, PlainFrame

Lists = list[list[str]]
some_lists = st.lists(st.sets(st.sampled_from("abcdefgh")).map(sorted), min_size=4, max_size=60)


def spread(lists: Lists, parts: int, seed: int) -> SetFrame:
    """Records in an order and in partitions that are drawn; some are empty."""
    random = np.random.default_rng(seed)
    column = pa.array([lists[i] for i in random.permutation(len(lists))], pa.list_(pa.string()))
    edges = [0, *sorted(random.integers(0, len(lists), parts - 1).tolist()), len(lists)]
    frame = PlainFrame(tuple(pa.table({"items": column}).slice(a, b - a) for a, b in pairwise(edges)))
    return SetFrame(None, frame, Pieces(["items"], _from_items), "baskets", None)


def grown(
    lists: Lists, method: SetMondrian, k: int, *, fits: int, counts: int = 1000, parts: int = 3, seed: int = 0,
    utility: Any = None,
) -> tuple[Grown, Items, PlainCluster, SetFrame, np.ndarray]:  # fmt: skip
    cluster, sets = PlainCluster(), spread(lists, parts, seed)
    items, rows, _ = survey(cluster, sets, Reading(), utility, memory=10**6)
    records = PackedSets.of(cluster, sets.frame, items)
    growth = Growth(records, items, method, k, rows, fits, counts, silent)
    [frequencies] = growth.count([0])
    return growth.grow(frequencies), items, cluster, sets, frequencies


def published(shown: Shown) -> Counter[tuple[int, ...]]:
    found: Counter[tuple[int, ...]] = Counter()
    for (a, b), times in zip(pairwise(shown.starts), shown.times, strict=True):
        found[tuple(shown.items[a:b].tolist())] += int(times)
    return found


def finished(
    made: tuple[Grown, Items, PlainCluster, SetFrame, np.ndarray], method: SetMondrian, k: int
) -> Counter[Any]:
    """What is published when each leaf is finished."""
    found, items, _, sets, frequencies = made
    coded = items.code(sets.frame.toArrow())
    place = found.top.groups(coded, [leaf.node for leaf in found.leaves])
    ranks, total = method.ranks(items.utility, frequencies), Counter[Any]()
    whole = Records(*coded, items.names, items.utility)
    for i, leaf in enumerate(found.leaves):
        mine = np.flatnonzero(place == i)
        assert len(mine) == leaf.rows
        if leaf.whole is not None:
            total[tuple(leaf.whole.tolist())] += leaf.rows
        else:
            some = from_rows(whole, mine)
            total += published(shared(some, method.within(some, k, ranks, part=mondrian.PART)))
    return total


def from_rows(records: Records, rows: np.ndarray) -> Records:
    from rothko.kernels.sets.records import spread as taken

    return Records(*taken(rows.astype(np.int32), records.starts, records.items), records.names, records.utility)


@pytest.mark.parametrize("criterion", CRITERIA)
@settings(max_examples=40, deadline=None)
@given(
    lists=some_lists, k=st.integers(2, 5), fits=st.integers(1, 20), parts=st.integers(1, 5), seed=st.integers(0, 99),
    counts=st.sampled_from([64, 10_000]), worth=st.lists(st.integers(0, 9), min_size=8, max_size=8),
)  # fmt: skip
def test_the_sets_are_those_of_memory(
    criterion: str, lists: Lists, k: int, fits: int, parts: int, seed: int, counts: int, worth: list[int]
) -> None:
    method = SetMondrian(criterion=criterion)
    present = sorted({item for record in lists for item in record})
    utility = dict(zip(present, worth, strict=False)) or None
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mondrian, "PART", fits)
        records = from_lists(lists, utility=utility)
        made = grown(lists, method, k, fits=fits, counts=counts, parts=parts, seed=seed, utility=utility)
        # With k = 2, records that no item may cut are paired all the same: a release refuses that (prepare_spread).
        if not (
            criterion == "utility" and k == mondrian.PAIRS and any(leaf.whole is not None for leaf in made[0].leaves)
        ):
            in_memory = shared(records, method.group(records, k, seed=0, threads=1, progress=lambda _: None))
            assert finished(made, method, k) == published(in_memory)
    assert made[1].names.to_pylist() == records.names.to_pylist()
    assert made[1].utility.tolist() == records.utility.tolist()


def test_items_stand_for_their_ancestors() -> None:
    lists = [["Surgeon", "tea"], ["Cardiologist"], ["tea"], []]
    jobs = Hierarchy.from_nested({"Doctor": ["Surgeon", "Cardiologist"]})
    sets = spread(lists, 2, 1)
    items, rows, _ = survey(PlainCluster(), sets, Reading(hierarchy=jobs), {"Doctor": 3}, memory=10**6)
    wanted = with_ancestors(from_list_column(sets.frame.toArrow()["items"]), jobs)
    assert rows == 4
    assert items.names.to_pylist() == wanted.names.to_pylist()
    starts, numbers = items.code(sets.frame.toArrow())
    assert starts.tolist() == wanted.starts.tolist()
    assert numbers.tolist() == wanted.items.tolist()
    assert items.utility.tolist() == [1.0, 3.0, 1.0, 1.0]


def test_more_items_than_the_driver_holds_are_refused() -> None:
    lists = [[f"item {i}", f"item {i + 1}"] for i in range(200)]
    with pytest.raises(InputError, match="more different items than the driver can hold"):
        survey(PlainCluster(), spread(lists, 3, 0), Reading(), None, memory=1_000)
    with pytest.raises(InputError, match="entropy counts pairs of items"):
        grown([["a", "b"], ["a"], ["b"], []] * 9, SetMondrian(criterion="entropy"), 2, fits=4, counts=2)


def test_utilities_of_items_that_no_record_has_are_refused() -> None:
    with pytest.raises(InputError, match="1 of 1 items with a utility are in no record"):
        survey(PlainCluster(), spread([["a"], ["b"]], 2, 0), Reading(), {"nothing like it": 2}, memory=10**6)


def test_records_that_change_between_jobs_are_refused() -> None:
    cluster, sets = PlainCluster(), spread([["a"], ["b"]] * 4, 2, 0)
    items, _, _ = survey(cluster, sets, Reading(), None, memory=10**6)
    with pytest.raises(InputError, match="has changed while it was read"):
        items.code(pa.table({"items": [["z"]]}))


def test_what_comes_to_the_driver_does_not_grow_with_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many bytes for ten times the records; one job for a level, and of two parts one is counted."""
    real, sizes = PlainCluster.gather, list[int]()

    def gather(cluster: PlainCluster, *given: Any) -> dict[int, Any]:
        found = real(cluster, *given)
        sizes[-1] += len(pickle.dumps(found))
        return found

    monkeypatch.setattr(PlainCluster, "gather", gather)
    lists = [[item for item in "abcdefgh" if (i * (ord(item) - 90)) % 7 < 3] for i in range(40)]
    for criterion in CRITERIA:
        sizes.clear()
        made = []
        for times in (1, 10):
            sizes.append(0)
            made.append(grown(lists * times, SetMondrian(criterion=criterion), 2 * times, fits=10 * times))
        few, many = made
        assert len(few[0].leaves) == len(many[0].leaves) > 3
        assert sizes[1] <= sizes[0] + 8  # a longer number of records
        jobs = 2 if criterion == "entropy" else 1  # pairs are a job of their own
        assert few[2].collected.jobs == many[2].collected.jobs <= 2 + jobs * max_depth(few[0])


def max_depth(found: Grown) -> int:
    depth = {0: 0}
    for node, below in enumerate(found.top.below.tolist()):
        if below >= 0:
            depth |= {below: depth[node] + 1, below + 1: depth[node] + 1}
    return max(depth.values())


@pytest.mark.parametrize("block", [7, 1 << 20])
def test_rows_go_to_files_by_what_they_are_and_the_seed(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish, "BLOCK", block)
    random = np.random.default_rng(5)
    keys, times = random.integers(1 << 63, size=30, dtype=np.uint64), random.integers(2, 60, 30)

    def rows(order: np.ndarray, seed: int) -> Counter[tuple[int, int]]:
        found: Counter[tuple[int, int]] = Counter()
        for which, file, counts in finish.shares(keys[order], times[order], 4, seed):
            for place, number, count in zip(order[which].tolist(), file.tolist(), counts.tolist(), strict=True):
                found[place, number] += count
        return found

    first = rows(np.arange(30), 0)
    assert first == rows(np.arange(30)[::-1].copy(), 0) != rows(np.arange(30), 1)
    assert [sum(n for (place, _), n in first.items() if place == i) for i in range(30)] == times.tolist()
    in_files = [sum(n for (_, file), n in first.items() if file == i) for i in range(4)]
    assert min(in_files) > 0.7 * times.sum() / 4

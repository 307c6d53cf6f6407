"""set-cluster, set-iterative and set-k1 against plain twins, and their properties on random small records."""

from __future__ import annotations

import math
import threading
import time
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.errors import PolicyError
from rothko.methods.letter import Reading
from rothko.progress import watched
from rothko.sets.methods import k1 as sets_k1
from rothko.sets.methods import lsh
from rothko.sets.methods.cluster import SetCluster, SetIterative
from rothko.sets.methods.k1 import SetK1
from rothko.sets.methods.lsh import build_hash, count_bits, count_candidates, count_of_bucket, preprocess
from rothko.sets.methods.method import SetMethod
from rothko.sets.methods.mondrian import SetMondrian
from rothko.sets.methods.two_phase import SetTwoPhase
from rothko.sets.records import Records
from tests.twins import repair as plain

unhurried = settings(deadline=None, max_examples=60)
CLUSTERS: list[SetMethod] = [
    SetCluster(search="all"),
    SetCluster(search="random", candidates=1),
    SetCluster(candidates=1),
    SetCluster(query="shared"),
    SetIterative(search="all"),
    SetIterative(candidates=1),
    SetIterative(rounds=3),
    SetCluster(candidates=1, reading="paper"),
    SetIterative(search="all", reading="paper"),
    SetIterative(candidates=1, reading="paper"),
]
K1 = [
    SetK1(search="all"),
    SetK1(search="lsh", candidates=1, tables=2),
    SetK1(search="lsh", noise=0),
    SetK1(search="lsh", candidates=1, reading="paper"),
    SetK1(search="lsh", query="shared", noise=0, reading="paper"),
    SetK1(),
    SetK1(noise=0),
]


SEARCHES = [("all", "first"), ("random", "first"), ("lsh", "first"), ("lsh", "shared")]
"""What is looked at, and whose buckets are looked into."""


def records_of(lists: list[set[int]], utility: list[float]) -> Records:
    starts = np.concatenate(([0], np.cumsum([len(some) for some in lists], dtype=np.int64))).astype(np.int64)
    items = np.array([item for some in lists for item in sorted(some)], dtype=np.int32)
    return Records(starts, items, pa.array([f"i{i:03d}" for i in range(len(utility))]), np.array(utility, dtype=float))


def plainly(records: Records) -> plain.Data:
    parts = np.split(records.items, records.starts[1:-1])
    return plain.Data([frozenset(part.tolist()) for part in parts], records.utility.tolist())


@st.composite
def some_records(draw: st.DrawFn, most: int = 40) -> tuple[Records, int]:
    """Records with whole-number utilities, and k."""
    size = draw(st.integers(1, 12))
    lists = draw(st.lists(st.sets(st.integers(0, size - 1)), min_size=1, max_size=most))
    utility = draw(st.lists(st.integers(0, 9).map(float), min_size=size, max_size=size))
    return records_of(lists, utility), draw(st.integers(1, min(len(lists), 7)))


def random_records(n: int, size: int, seed: int, density: float = 0.3) -> Records:
    stream = np.random.default_rng(seed)
    share = density * stream.random(size) * 2
    held = stream.random((n, size)) < share
    return records_of(
        [set(np.flatnonzero(row).tolist()) for row in held], stream.integers(0, 20, size).astype(float).tolist()
    )


def grouped(method: SetMethod, records: Records, k: int, seed: int = 0, threads: int = 1) -> np.ndarray:
    return method.group(records, k, seed=seed, threads=threads, progress=lambda _: None)


def published(method: SetK1, records: Records, k: int, seed: int = 0, threads: int = 1) -> list[frozenset[int]]:
    starts, items = method.publish(records, k, seed=seed, threads=threads, progress=lambda _: None)
    assert starts.dtype == np.int64
    assert items.dtype == np.int32
    assert len(starts) == records.count + 1
    return [frozenset(part.tolist()) for part in np.split(items, starts[1:-1])]


def sets_of(classes: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(classes == c).tolist()) for c in range(int(classes.max()) + 1)}


def frozen(made: list[set[int]]) -> set[frozenset[int]]:
    return {frozenset(members) for members in made}


# ── Locality-sensitive hashing


@pytest.mark.parametrize("method", [*CLUSTERS, *K1], ids=str)
def test_progress_adds_up_to_all_records(method: Any) -> None:
    records, told = random_records(500, 20, 1), []
    if isinstance(method, SetK1):
        method.publish(records, 5, 0, progress=told.append)
    else:
        method.group(records, 5, seed=0, threads=1, progress=told.append)
    assert min(told) >= 0
    assert sum(told) == 500
    if isinstance(method, SetIterative):
        assert len(told) > 2 * 16  # in every pass, and there are two at least


def test_work_that_calls_nothing_back_is_watched() -> None:
    left, told = np.array([100]), []
    with watched(lambda: 100 - int(left[0]), told.append, every=0.001):
        for _ in range(5):
            left[0] -= 10
            time.sleep(0.01)
        left[0] = 0
    assert sum(told) == 100
    assert len(told) >= 2
    quiet = threading.active_count()
    with pytest.raises(ValueError, match="broken"), watched(lambda: 1, told.append):
        raise ValueError("broken")
    assert threading.active_count() == quiet


def test_bits_and_candidates_of_the_thesis() -> None:
    assert count_candidates(20_616_891) == int(50 * math.log(20_616_891))
    assert count_bits(100_000) == round(math.log2(5 * 100_000 / 575))
    assert count_bits(2) == 0
    assert (lsh.TABLES, lsh.CANDIDATES) == (5, 50)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 5))
@unhurried
def test_about_half_of_the_records_answer_yes(share: list[float], seed: int) -> None:
    masks = build_hash(np.array(share), 3, np.random.default_rng(seed))
    for bit in range(3):
        within = [p for p, mask in zip(share, masks.tolist(), strict=True) if mask >> bit & 1]
        none = math.prod(1 - p for p in within)
        # One more item, of those that are left, would not bring it nearer.
        left = [p for p, mask in zip(share, masks.tolist(), strict=True) if p > 0 and not mask >> bit & 1]
        assert none <= 0.5 or all(abs(none * (1 - p) - 0.5) >= abs(none - 0.5) - 1e-12 for p in left)
        # And none was taken that carried it further off.
        assert abs(none - 0.5) <= 0.5


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 5))
@unhurried
def test_thesis_takes_every_item_that_it_draws(share: list[float], seed: int) -> None:
    masks = build_hash(np.array(share), 2, np.random.default_rng(seed), every=True)
    stream = np.random.default_rng(seed)
    for bit in range(2):
        drawn = iter(stream.permutation(np.flatnonzero(share)).tolist())
        bitset: set[int] = set()
        while 1 - math.prod(1 - share[b] for b in bitset) < 0.5 and (item := next(drawn, None)) is not None:
            bitset.add(item)
        assert {i for i, mask in enumerate(masks.tolist()) if mask >> bit & 1} == bitset


@given(some_records(), st.integers(0, 5))
@unhurried
def test_buckets_equal_those_of_the_plain_twin(given_: tuple[Records, int], seed: int) -> None:
    records, _ = given_
    tables = preprocess(records, np.random.default_rng(seed), tables=3, candidates=1)
    stream = np.random.default_rng(seed)
    share = records.frequencies() / records.count
    masks = np.stack([build_hash(share, count_bits(records.count, 3, 1), stream) for _ in range(3)])
    twin = plain.Buckets(plainly(records), plain.bit_sets(masks))
    assert tables.keys.tolist() == twin.keys
    for t in range(3):
        for b, bucket in twin.tables[t].items():
            first = tables.begin[t, b]
            assert tables.order[t, first : first + tables.sizes[t, b]].tolist() == bucket


def twin_of(
    records: Records, seed: int, search: str, tables: int, candidates: int, full: int = 1, reading: str = "rothko"
) -> tuple[dict[str, Any], np.random.Generator]:
    """What the plain twins are given, and the stream after the tables were made."""
    data, stream = plainly(records), np.random.default_rng(seed)
    sets: list[list[set[int]]] = []
    if search == "lsh":
        share, bits = records.frequencies() / records.count, count_bits(records.count, tables, candidates)
        every = reading == "paper"
        sets = plain.bit_sets(np.stack([build_hash(share, bits, stream, every=every) for _ in range(tables)]))
    sample = count_candidates(records.count, candidates)
    most = count_of_bucket(full * sample, tables)
    return {"exact": search == "all", "sample": sample, "most": most, "buckets": plain.Buckets(data, sets)}, stream


# ── Twins


def equal_algorithm_4(records: Records, k: int, seed: int, method: SetCluster) -> None:
    asked, stream = twin_of(records, seed, method.search, method.tables, method.candidates, reading=method.reading)
    random = plain.Random(int(stream.integers(0, 2**63, 1, dtype=np.uint64)[0]))
    by_shared, thesis = method.query == "shared", method.reading == "paper"
    expected = plain.cluster(plainly(records), k, by_shared=by_shared, thesis=thesis, random=random, **asked)
    assert sets_of(grouped(method, records, k, seed)) == frozen(expected)


@pytest.mark.parametrize("reading", get_args(Reading))
@pytest.mark.parametrize(("search", "query"), SEARCHES)
@given(given_=some_records(), seed=st.integers(0, 3))
@unhurried
def test_cluster_equals_algorithm_4(
    search: Any, query: Any, reading: Any, given_: tuple[Records, int], seed: int
) -> None:
    records, k = given_
    method = SetCluster(search=search, query=query, candidates=1, tables=2, reading=reading)
    equal_algorithm_4(records, k, seed, method)


@pytest.mark.parametrize("reading", get_args(Reading))
@pytest.mark.parametrize(("search", "query"), SEARCHES[1:])
def test_samples_equal_algorithm_4_on_more_records(search: Any, query: Any, reading: Any) -> None:
    records = random_records(400, 25, seed=1)
    equal_algorithm_4(records, 3, 5, SetCluster(search=search, query=query, candidates=2, reading=reading))


@pytest.mark.parametrize("reading", get_args(Reading))
@pytest.mark.parametrize("search", ["all", "lsh"])
@given(given_=some_records(), seed=st.integers(0, 3))
@unhurried
def test_iterative_equals_algorithm_5(search: Any, reading: Any, given_: tuple[Records, int], seed: int) -> None:
    records, k = given_
    method = SetIterative(search=search, candidates=1, tables=2, reading=reading)
    asked, stream = twin_of(records, seed, search, 2, 1, lsh.FULL, reading)
    expected = plain.iterate(plainly(records), k, 4, stream=stream, thesis=reading == "paper", **asked)
    assert sets_of(grouped(method, records, k, seed)) == frozen(expected)


def equal_algorithm_9(records: Records, k: int, seed: int, method: SetK1) -> None:
    asked, stream = twin_of(records, seed, method.search, method.tables, method.candidates, lsh.FULL)
    drawn = int(stream.integers(0, 2**63, dtype=np.uint64))
    by_shared = method.query == "shared"
    expected = plain.gather_k(plainly(records), k, seed=drawn, noise=method.noise, by_shared=by_shared, **asked)
    assert published(method, records, k, seed) == expected


@pytest.mark.parametrize(("search", "query"), [("all", "first"), ("lsh", "first"), ("lsh", "shared")])
@given(given_=some_records(), seed=st.integers(0, 3), noise=st.sampled_from([0.0, 0.5]))
@unhurried
def test_k1_equals_algorithm_9(search: Any, query: Any, given_: tuple[Records, int], seed: int, noise: float) -> None:
    records, k = given_
    equal_algorithm_9(records, k, seed, SetK1(search=search, query=query, candidates=1, tables=2, noise=noise))


@pytest.mark.parametrize("query", ["first", "shared"])
def test_samples_equal_algorithm_9_on_more_records(query: Any) -> None:
    records = random_records(300, 25, seed=1)
    equal_algorithm_9(records, 8, 5, SetK1(search="lsh", query=query, candidates=2, noise=0))


def equal_algorithm_11(records: Records, k: int, seed: int, method: SetK1) -> None:
    asked, stream = twin_of(records, seed, "lsh", method.tables, method.candidates, reading="paper")
    drawn = int(stream.integers(0, 2**63, dtype=np.uint64))
    expected = plain.gather_anew(
        plainly(records), k, seed=drawn, noise=method.noise, by_shared=method.query == "shared",
        sample=asked["sample"], buckets=asked["buckets"],
    )  # fmt: skip
    worth = records.utility
    found = published(method, records, k, seed)
    for one, other in zip(found, expected, strict=True):
        assert {i for i in one if worth[i]} == {i for i in other if worth[i]}


@pytest.mark.parametrize("query", ["first", "shared"])
@given(given_=some_records(), seed=st.integers(0, 3), noise=st.sampled_from([0.0, 0.5]))
@unhurried
def test_k1_of_the_thesis_equals_algorithms_9_and_11(
    query: Any, given_: tuple[Records, int], seed: int, noise: float
) -> None:
    records, k = given_
    method = SetK1(search="lsh", query=query, candidates=1, tables=2, noise=noise, reading="paper")
    equal_algorithm_11(records, k, seed, method)


@pytest.mark.parametrize("query", ["first", "shared"])
def test_buckets_alone_equal_algorithms_9_and_11_on_more_records(query: Any) -> None:
    records = random_records(300, 25, seed=1)
    equal_algorithm_11(records, 8, 5, SetK1(search="lsh", query=query, candidates=2, noise=0, reading="paper"))


def test_items_that_share_a_bit_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets_k1, "WORDS", 1)
    records = random_records(300, 200, seed=2, density=0.1)
    bits = sets_k1._bits(records.frequencies())
    assert (bits.min(), bits.max(), np.bincount(bits).max()) == (0, 63, 4)
    equal_algorithm_9(records, 5, 3, SetK1(search="lsh", candidates=2))


def test_frequent_items_have_a_bit_of_their_own() -> None:
    frequencies = np.arange(1000)
    bits = sets_k1._bits(frequencies)
    own = bits < 64 * (sets_k1.WORDS - 1)
    assert np.bincount(bits[own]).tolist() == [1] * own.sum()
    assert frequencies[own].min() > frequencies[~own].max()


@pytest.mark.parametrize(("cap", "ratio"), [(8192, 4), (4, 2), (8, 1)])
@given(given_=some_records(60), seed=st.integers(0, 3), noise=st.sampled_from([0.0, 0.5]))
@unhurried
def test_topdown_equals_the_plain_twin(
    cap: int, ratio: int, given_: tuple[Records, int], seed: int, noise: float
) -> None:
    records, k = given_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sets_k1, "CAP", cap)
        patch.setattr(sets_k1, "RATIO", ratio)
        patch.setattr(sets_k1, "ROOM", 2)
        patch.setattr(sets_k1, "_keep_mondrian", lambda *_: None)
        found = published(SetK1(noise=noise), records, k, seed)
    drawn = int(np.random.default_rng(seed).integers(0, 2**63, dtype=np.uint64))
    expected = plain.descend(plainly(records), k, ratio=ratio, cap=max(cap, 2 * k), noise=noise, seed=drawn)
    assert found == expected


# ── Properties


@pytest.mark.parametrize("method", CLUSTERS)
@given(given_=some_records(), seed=st.integers(0, 3))
@unhurried
def test_every_record_is_in_one_class_of_at_least_k(method: SetMethod, given_: tuple[Records, int], seed: int) -> None:
    records, k = given_
    classes = grouped(method, records, k, seed)
    assert classes.dtype == np.int32
    assert classes.shape == (records.count,)
    sizes = np.bincount(classes)
    assert classes.min() == 0
    assert sizes.min() >= k
    assert np.array_equal(classes, grouped(method, records, k, seed, threads=2))


@pytest.mark.parametrize("method", K1)
@given(given_=some_records(), seed=st.integers(0, 3))
@unhurried
def test_at_least_k_records_contain_what_is_published(method: SetK1, given_: tuple[Records, int], seed: int) -> None:
    records, k = given_
    originals = plainly(records).records
    found = published(method, records, k, seed)
    for original, items in zip(originals, found, strict=True):
        assert items <= original
        assert sum(items <= other for other in originals) >= k
    assert found == published(method, records, k, seed, threads=2)


@pytest.mark.parametrize("cap", [8, 32])
def test_topdown_through_a_deep_tree_is_anonymous(cap: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets_k1, "CAP", cap)
    monkeypatch.setattr(sets_k1, "ROOM", 1)
    records = random_records(1_500, 40, seed=3)
    k = 5
    originals = plainly(records).records
    found = published(SetK1(), records, k)
    assert min(sum(items <= other for other in originals) for items in set(found)) >= k
    assert found == published(SetK1(), records, k, threads=2)
    assert sum(map(len, found)) > 0


def test_no_item_can_be_added_to_what_topdown_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets_k1, "_keep_mondrian", lambda *_: None)
    records = random_records(200, 20, seed=4)
    originals = plainly(records).records
    found = published(SetK1(), records, 5)
    for original, items in zip(originals, found, strict=True):
        for more in original - items:
            assert sum(items | {more} <= other for other in originals) < 5


@pytest.mark.parametrize("k", [2, 3, 5, 10, 25, 60, 150, 300])
@pytest.mark.parametrize("even", [False, True])
def test_topdown_keeps_at_least_as_much_as_mondrian(k: int, even: bool) -> None:
    records = random_records(300, 30, seed=k)
    if even:
        records = records_of([set(r) for r in plainly(records).records], [1.0] * 30)
    data = plainly(records)
    classes = grouped(SetMondrian(), records, k)
    shared = [data.common(np.flatnonzero(classes == c).tolist()) for c in range(int(classes.max()) + 1)]
    for c, items in zip(classes, published(SetK1(), records, k), strict=True):
        assert data.u(items) >= data.u(shared[c])


def test_another_seed_draws_other_sets() -> None:
    records = random_records(300, 30, seed=0)
    for search in ("topdown", "all", "lsh"):
        method: Any = SetK1(search=search)
        assert published(method, records, 5, seed=1) != published(method, records, 5, seed=2)


def test_lsh_keeps_more_than_random() -> None:
    # Forty kinds of people, each with items of their own: neighbours are worth finding.
    stream = np.random.default_rng(0)
    kinds = stream.integers(0, 40, 4_000)
    lists = [
        set(np.flatnonzero(stream.random(8) < 0.9) + 8 * kind) | set((320 + stream.integers(0, 80, 5)).tolist())
        for kind in kinds
    ]
    records = records_of([{int(item) for item in some} for some in lists], [1.0] * 400)
    data = plainly(records)

    def kept(method: SetMethod) -> float:
        classes = grouped(method, records, 5)
        members = [np.flatnonzero(classes == c).tolist() for c in range(int(classes.max()) + 1)]
        return sum(len(some) * data.u(data.common(some)) for some in members)

    assert kept(SetCluster(candidates=3)) > 1.1 * kept(SetCluster(search="random", candidates=3))


# ── Edges


EDGES = {
    "one record": ([{0, 1}], 1),
    "one record without items": ([set()], 1),
    "no items anywhere": ([set()] * 6, 3),
    "all alike": ([{0, 2}] * 9, 4),
    "k is all": ([{0, 1}, {1}, {1, 2}, {0, 1, 2}], 4),
    "nothing shared": ([{i % 3} for i in range(9)], 5),
    "all but one": ([{0}] * 5 + [{1, 2}], 5),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("method", [*CLUSTERS, *K1])
def test_edges(name: str, method: SetMethod) -> None:
    lists, k = EDGES[name]
    records = records_of([set(some) for some in lists], [1.0, 0.0, 3.0])
    if isinstance(method, SetK1):
        originals = plainly(records).records
        found = published(method, records, k)
        assert all(sum(items <= other for other in originals) >= k for items in found)
        if name == "all alike":
            assert found == originals
    else:
        assert np.bincount(grouped(method, records, k)).min() >= k


def test_items_that_nobody_has_change_nothing() -> None:
    records = random_records(200, 20, seed=2)
    wider = Records(
        records.starts, records.items, pa.array([f"i{i:04d}" for i in range(5000)]),
        np.concatenate((records.utility, np.ones(4980))),
    )  # fmt: skip
    for method in (SetCluster(search="all"), SetIterative(search="all")):
        assert np.array_equal(grouped(method, records, 4), grouped(method, wider, 4))
    assert published(SetK1(), records, 4) == published(SetK1(), wider, 4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: SetCluster(search="near"),
        lambda: SetCluster(query="near"),
        lambda: SetCluster(reading="thesis"),
        lambda: SetIterative(reading="thesis"),
        lambda: SetK1(reading="thesis"),
        lambda: SetCluster(tables=0),
        lambda: SetCluster(candidates=True),
        lambda: SetTwoPhase(close="never"),
        lambda: SetIterative(search="random"),
        lambda: SetIterative(rounds=1),
        lambda: SetK1(search="random"),
        lambda: SetK1(query="all"),
        lambda: SetK1(noise=-1),
        lambda: SetK1(noise=math.nan),
        lambda: SetK1(tables=1.5),
    ],
)
def test_refused_options(make: Any) -> None:
    with pytest.raises(PolicyError, match=r"^set-(cluster|iterative|k1|two-phase): \w+ must be"):
        make()


def test_progress_counts_every_record_once() -> None:
    records = random_records(300, 20, seed=6)
    for method in (SetCluster(), SetIterative(), SetK1(), SetK1(search="lsh")):
        told: list[int] = []
        if isinstance(method, SetK1):
            method.publish(records, 4, seed=0, threads=1, progress=told.append)
        else:
            method.group(records, 4, seed=0, threads=1, progress=told.append)
        assert sum(told) == 300

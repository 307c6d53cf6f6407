"""cluster, and the repair of other local methods: what always holds, what must not get worse, edge tables."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.errors import InfeasibleError, PolicyError
from rothko.generate.census import census, census_policy
from rothko.methods import METHODS, Cluster, Hilbert, HilbertFast, IDistance, IDistanceFast, TopDown
from rothko.methods.classes import LocalClasses
from rothko.methods.cluster import cluster, repair
from rothko.methods.cluster.tuples import WHOLE, Entries, Tuples
from rothko.methods.method import LocalMethod
from rothko.policy.policy import Policy
from rothko.privacy import DistinctLDiversity, EntropyLDiversity, FrequencyLDiversity, KAnonymity, TCloseness
from tests.strategies import asked
from tests.strategies.columns import encoded_of, heaped
from tests.strategies.tables import Case, boxes, cases, classes, unhurried
from tests.twins import mondrian as plain

WAYS = [
    Cluster(),
    Cluster(effort="fast"),
    Cluster(block=6),
    Cluster(repair=False),
    Cluster(block=2, repair=False),
]
names = pytest.mark.parametrize(
    "method", WAYS, ids=lambda method: f"block-{method.block}-repair-{method.repair}-{method.effort}"
)
OTHERS: list[type[LocalMethod]] = [Hilbert, HilbertFast, IDistance, IDistanceFast, TopDown]


def gcp(encoded: Encoded, found: LocalClasses) -> float:
    return found.gcp(encoded.lines)


def loose(encoded: Encoded) -> float:
    """How much NCP in whole numbers may differ from that which is measured."""
    return sum(line.size + 2 for line in encoded.lines) / WHOLE


def generated(rows: int) -> Encoded:
    policy = census_policy()
    return encode(typed(census(rows), policy), policy)


def check(encoded: Encoded, found: LocalClasses, allowed: plain.Allowed) -> None:
    """Every record is in one class, every class is the box around its records, and what is asked for holds."""
    assert sorted(found.order.tolist()) == list(range(encoded.rows))
    assert (found.sizes > 0).all()
    feasible = allowed(list(range(encoded.rows)))
    for c, numbers in enumerate(classes(found)):
        for a in range(len(encoded.lines)):
            codes = set(encoded.codes[a, numbers].tolist())
            assert (found.low[c, a], found.high[c, a]) == (min(codes), max(codes))
            if a in found.sets:
                assert found.sets[a].take(np.array([c])).codes.tolist() == sorted(codes)
        if feasible:
            assert allowed(numbers), "every class meets every requirement"


# ── what always holds ────────────────────────────────────────────────────────────────────────────


@names
@given(case=cases(), seed=st.integers(0, 9))
@settings(unhurried, max_examples=100)
def test_the_classes_are_a_partition_that_holds(method: Cluster, case: Case, seed: int) -> None:
    encoded = case.encoded()
    progress: list[int] = []
    found = method.partition(encoded, case.requirements, seed=seed, threads=1 + seed % 2, progress=progress.append)
    assert sum(progress) == encoded.rows
    check(encoded, found, case.allowed())


@pytest.mark.parametrize("name", sorted(asked.requirements()))
@given(data=st.data())
@settings(unhurried, max_examples=15)  # of each requirement, by two methods; brute force takes most of the time
def test_each_requirement_holds_in_larger_tables(name: str, data: st.DataObject) -> None:
    cells = random.Random(data.draw(st.integers(0, 2**32)))
    n = data.draw(st.integers(30, 120))
    requirement = data.draw(asked.requirements("s")[name])
    values = cells.choices([*asked.NUMBERS, *([None] if cells.random() < 0.5 else [])], k=n)
    ages = [cells.randrange(30) for _ in range(n)]
    if cells.random() < 0.5:  # near records have the same sensitive value: no block is diverse by itself
        values, ages = sorted(values, key=str), sorted(ages)
    columns = {"age": ages, "city": cells.choices("abcdefgh", k=n), "s": [0, *values[1:]]}
    case = Case(columns, {"age": {}, "city": {}}, (requirement, KAnonymity(k=cells.randint(2, 6))))
    encoded, allowed = case.encoded(), case.allowed()
    for method in (Cluster(), Cluster(block=12)):
        check(encoded, method.partition(encoded, case.requirements, threads=1), allowed)


@names
@given(case=cases())
@settings(unhurried, max_examples=40)
def test_neither_threads_nor_another_run_change_the_classes(method: Cluster, case: Case) -> None:
    encoded = case.encoded()
    first = method.partition(encoded, case.requirements, seed=3, threads=1)
    for threads in (1, 2):
        again = method.partition(encoded, case.requirements, seed=3, threads=threads)
        np.testing.assert_array_equal(first.order, again.order)
        np.testing.assert_array_equal(first.starts, again.starts)


def test_threads_do_not_matter_where_there_are_many_blocks() -> None:
    encoded = generated(1500)
    found = [
        Cluster(block=75).partition(encoded, [KAnonymity(k=5)], seed=1, threads=threads).order for threads in (1, 2)
    ]
    np.testing.assert_array_equal(*found)
    other = Cluster(block=75).partition(encoded, [KAnonymity(k=5)], seed=2, threads=2).order
    assert (found[0] != other).any()


@names
@given(case=cases(), seed=st.integers(0, 99))
@settings(unhurried, max_examples=80)
def test_the_order_of_the_records_does_not_change_the_boxes(method: Cluster, case: Case, seed: int) -> None:
    order = random.Random(seed).sample(range(len(case.columns["q0"])), len(case.columns["q0"]))
    before, after = case.encoded(), case.permuted(order).encoded()
    assert boxes(before, method.partition(before, case.requirements, threads=1)) == boxes(
        after, method.partition(after, case.requirements, threads=1)
    )


@pytest.mark.parametrize("asked_for", [(), (FrequencyLDiversity(l=3, of="occupation"),)])
def test_the_order_of_many_records_does_not_change_the_boxes(asked_for: tuple[rk.privacy.Requirement, ...]) -> None:
    policy, people = census_policy(), census(1000)
    shuffled = people.take(pa.array(np.random.default_rng(0).permutation(1000)))
    tables = [encode(typed(table, policy), policy) for table in (people, shuffled)]
    for method in (Cluster(), Cluster(block=100)):
        one, other = (boxes(e, method.partition(e, [KAnonymity(k=4), *asked_for], threads=2)) for e in tables)
        assert one == other


# ── what must not get worse ──────────────────────────────────────────────────────────────────────


@given(case=cases(), block=st.sampled_from((4, "auto")))
@settings(unhurried, max_examples=100)
def test_repair_never_loses_more(case: Case, block: Any) -> None:
    encoded = case.encoded()
    without, with_ = (
        Cluster(block=block, repair=repair).partition(encoded, case.requirements, threads=1) for repair in (False, True)
    )
    assert gcp(encoded, with_) <= gcp(encoded, without) + loose(encoded)


@pytest.mark.parametrize("method", OTHERS, ids=lambda method: method.name)
@given(case=cases(), seed=st.integers(0, 9))
@settings(unhurried, max_examples=60)
def test_other_methods_are_repaired_too(method: type[LocalMethod], case: Case, seed: int) -> None:
    encoded = case.encoded()
    progress: list[int] = []
    without = method().partition(encoded, case.requirements, seed=seed, threads=1)
    with_ = method(repair=True).partition(
        encoded, case.requirements, seed=seed, threads=1 + seed % 2, progress=progress.append
    )
    assert sum(progress) == encoded.rows
    check(encoded, with_, case.allowed())
    assert gcp(encoded, with_) <= gcp(encoded, without) + loose(encoded)
    assert with_.notes == without.notes


@pytest.mark.parametrize("method", OTHERS, ids=lambda method: method.name)
def test_repair_is_worth_it(method: type[LocalMethod]) -> None:
    encoded = generated(2000)
    for requirements in ([KAnonymity(k=10)], [KAnonymity(k=5), FrequencyLDiversity(l=3, of="occupation")]):
        without, with_ = (method(repair=r).partition(encoded, requirements, threads=2) for r in (False, True))
        assert gcp(encoded, with_) < 0.85 * gcp(encoded, without)


def test_it_loses_a_quarter_less_than_hilbert() -> None:
    encoded = generated(5000)
    lost = {
        method.name: gcp(encoded, method.partition(encoded, [KAnonymity(k=10)], threads=2))
        for method in (Hilbert(), Cluster())
    }
    assert lost["cluster"] < 0.75 * lost["hilbert"]


def test_larger_blocks_lose_less() -> None:
    encoded = generated(5000)
    lost = [
        gcp(encoded, Cluster(block=block, repair=False).partition(encoded, [KAnonymity(k=10)], threads=2))
        for block in (100, 700, 5000)
    ]
    assert lost[0] > 1.05 * lost[1] > 1.05**2 * lost[2]


def test_records_that_are_alike_stay_together() -> None:
    """Enough equal records cost nothing, whatever the order in which they come."""
    ages = [a for a in range(40) for _ in range(6)]
    random.Random(3).shuffle(ages)
    encoded = encoded_of({"age": ages, "city": [f"c{a % 7}" for a in ages]})
    for k in (2, 6):
        found = Cluster().partition(encoded, [KAnonymity(k=k)], threads=1)
        assert gcp(encoded, found) == 0
        assert found.classes == 40


# ── diversity ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("block", [2, 10, "auto"])
@pytest.mark.parametrize(
    ("counts", "l"),
    [
        ([10, 10, 10], 3),  # every value at exactly 1/l
        ([10, *[1] * 20], 3),  # one value at exactly 1/l
        ([11, 10, 10, 3], 3),  # a number of records that l does not divide
        ([20, 20, 1, 1, 1], 2),
        ([4, 4, 2], 2.5),  # l that is not whole, on the bound
        ([3, 3, 2, 2], 3.3),
        ([1, 1, 1], 3),
        ([50, *[1] * 51], 2),
    ],
)
@pytest.mark.parametrize("k", [2, 7])
def test_a_table_that_is_eligible_is_made_diverse(block: Any, counts: list[int], l: float, k: int) -> None:  # noqa: E741
    for seed in range(4):
        encoded = heaped(counts, seed)
        column = encoded.sensitive["disease"].codes
        requirements = [FrequencyLDiversity(l=l, of="disease"), *([KAnonymity(k=k)] if sum(counts) >= k else [])]
        found = Cluster(block=block).partition(encoded, requirements, seed=seed, threads=1)
        for numbers in classes(found):
            assert Counter(column[numbers].tolist()).most_common(1)[0][1] * plain.as_fraction(l) <= len(numbers)
            assert len(numbers) >= min(k, sum(counts))


def test_records_that_are_left_ask_near_classes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repair, "ASKED", 0)
    monkeypatch.setattr(repair, "PLACED", 60)
    encoded = heaped([90, 80, *[26] * 8], 3)
    requirements = [FrequencyLDiversity(l=4, of="disease")]
    column = encoded.sensitive["disease"].codes
    found = [Cluster(block=20, effort="fast").partition(encoded, requirements, threads=threads) for threads in (1, 2)]
    np.testing.assert_array_equal(found[0].order, found[1].order)
    assert sorted(i for numbers in classes(found[0]) for i in numbers) == list(range(encoded.rows))
    for numbers in classes(found[0]):
        assert Counter(column[numbers].tolist()).most_common(1)[0][1] * 4 <= len(numbers)


def test_values_that_follow_from_the_others_need_records_from_afar() -> None:
    """The sensitive value is the decade of the age: blocks of neighbours have one value each."""
    ages = sorted(random.Random(5).choices(range(20, 70), k=600))
    encoded = encoded_of({"age": ages, "city": ["x"] * 600}, {"decade": [f"d{age // 10}" for age in ages]})
    column = encoded.sensitive["decade"].codes
    for requirement in (
        DistinctLDiversity(l=2, of="decade"),
        FrequencyLDiversity(l=2, of="decade"),
        EntropyLDiversity(l=2, of="decade"),
        TCloseness(t=0.6, of="decade"),
    ):
        case = [requirement, KAnonymity(k=3)]
        sensitive = {"decade": [f"d{age // 10}" for age in ages]}
        for block in (6, 30, "auto"):
            found = Cluster(block=block).partition(encoded, case, threads=2)
            check(encoded, found, plain.all_of(case, sensitive))
            assert gcp(encoded, found) < 0.16, "classes of all ages lose 0.5"
            assert all(len(set(column[numbers].tolist())) > 1 for numbers in classes(found))


def test_diverse_classes_lose_less_than_those_along_a_curve() -> None:
    encoded = generated(3000)
    requirements = [KAnonymity(k=5), FrequencyLDiversity(l=3, of="occupation")]
    lost = [gcp(encoded, method.partition(encoded, requirements, threads=2)) for method in (Cluster(), Hilbert())]
    assert lost[0] < 0.8 * lost[1]


# ── edge tables ──────────────────────────────────────────────────────────────────────────────────


def long_texts() -> list[str]:
    """Texts of 300 characters, whose masks are 300 levels deep."""
    return ["".join("ab"[i >> (j // 60) & 1] for j in range(300)) for i in range(20)]


ODD: dict[str, tuple[dict[str, list[Any]], dict[str, Any]]] = {
    "one dimension": ({"a": list(range(20))}, {}),
    "duplicates": ({"a": [7] * 20}, {}),
    "constant": ({"a": [7] * 20, "b": ["x"] * 20, "c": [None] * 19 + [1]}, {}),
    "missing": ({"a": [None] * 20, "b": list(range(20))}, {}),
    "nothing": ({"a": [None] * 20}, {}),
    "half missing": ({"a": [1.0, None] * 10, "b": ["x", None] * 10}, {}),
    "70 dimensions": ({f"q{i}": [(i * j) % 5 for j in range(20)] for i in range(70)}, {}),
    "70 sets": ({f"q{i}": [f"{(i * j) % 5}" for j in range(20)] for i in range(70)}, {}),
    "labels": ({"a": [f"{i}" for i in range(20)], "b": [1, 2] * 10}, {}),
    "extremes": ({"a": [1e300, -1e300] * 10, "b": [1e-300 * i for i in range(20)]}, {}),
    "a single leaf": ({"a": ["x"] * 20, "b": list(range(20))}, {"a": {"tree": {"X": ["x"]}}}),
    "a leaf or missing": ({"a": ["x", None] * 10, "b": list(range(20))}, {"a": {"tree": {"X": ["x"]}}}),
    "flat": ({"a": list("abcd") * 5, "b": list(range(20))}, {"a": "flat"}),
    "300 levels": ({"a": long_texts()}, {"a": {"mask": "right"}}),
}
"""Tables of twenty records, with their hierarchies."""
KS, BLOCKS = (2, 9, 12, 20), (2, 7, 1000, "auto")


@pytest.mark.parametrize(
    ("table", "k", "block"),
    [(table, k, BLOCKS[(i + j) % len(BLOCKS)]) for i, table in enumerate(ODD) for j, k in enumerate(KS)],
)
def test_odd_tables(table: str, k: int, block: Any) -> None:
    """Pairwise: every table with every k and with every block, every k with every block; all of them were four times as
    many, and nothing hangs on three of them at once."""
    columns, hierarchies = ODD[table]
    policy = Policy.quick(list(columns), qi=list(columns), k=k, hierarchies=hierarchies)
    release = rk.anonymize(pa.table(columns), policy.but(method=Cluster(block=block)), threads=1)
    assert isinstance(release, rk.Release)
    sizes = release.classes["records"].to_pylist()
    assert sum(sizes) == 20
    assert min(sizes) >= k


def test_one_row() -> None:
    encoded = encoded_of({"age": [4], "city": ["x"]}, {"disease": ["flu"]})
    for method in WAYS:
        found = method.partition(encoded, [TCloseness(t=0.5, of="disease")], threads=2)
        assert found.order.tolist() == [0]
        assert found.classes == 1


def test_a_thousand_labels() -> None:
    chosen = random.Random(1)
    cities = [f"city {i:03}" for i in range(1000)] + chosen.choices([f"city {i:03}" for i in range(50)], k=1000)
    encoded = encoded_of({"city": cities, "age": [chosen.randrange(60) for _ in cities]})
    found = Cluster().partition(encoded, [KAnonymity(k=3)], threads=2)
    check(encoded, found, lambda numbers: len(numbers) >= 3)
    assert gcp(encoded, found) < gcp(encoded, Hilbert().partition(encoded, [KAnonymity(k=3)], threads=2))


def test_a_hierarchy_of_many_leaves_is_weighed_rightly() -> None:
    """Whole numbers of 32 bits do not hold 2^24 times 2,000 leaves."""
    chosen = random.Random(2)
    codes = [f"{i:04}" for i in range(2000)]
    policy = Policy.quick(["zip"], qi=["zip"], k=5, hierarchies={"zip": {"mask": "right"}})
    encoded = encode(typed(pa.table({"zip": chosen.sample(codes, 2000)}), policy), policy)
    found = Cluster().partition(encoded, [KAnonymity(k=5)], threads=1)
    assert gcp(encoded, found) == pytest.approx(10 / 2000)
    assert found.sizes.tolist() == [10] * 200 or set(found.sizes.tolist()) == {5}


def test_the_whole_flow_verifies_what_it_releases() -> None:
    policy = census_policy(k=8).but(
        method=Cluster(block=400), privacy=[KAnonymity(k=8), DistinctLDiversity(l=3, of="occupation")]
    )
    release = rk.anonymize(census(1500), policy, seed=4)
    assert isinstance(release, rk.Release)
    assert release.recoding is None
    certificate = release.certificate.to_dict()
    assert all(requirement["holds"] for requirement in certificate["requirements"])
    assert min(release.classes["records"].to_pylist()) >= 8
    assert release.table == rk.anonymize(census(1500), policy, seed=4).table


# ── bad input ────────────────────────────────────────────────────────────────────────────────────


def test_what_cannot_be_met_is_refused_with_what_can() -> None:
    people = pa.table({"age": [20, 30, 40, 50, 60], "disease": ["flu", "flu", "cold", "flu", "cough"]})
    policy = {
        "columns": {"age": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}},
        "privacy": [{"frequency-l-diversity": {"l": 2, "of": "disease"}}],
        "method": "cluster",
    }
    with pytest.raises(InfeasibleError, match=r"l = 2: all its 5 records together reach 1\.666; ask for no more"):
        rk.anonymize(people, policy)
    with pytest.raises(InfeasibleError, match="k = 6"):
        rk.anonymize(people, policy | {"privacy": [{"k-anonymity": {"k": 6}}]})
    with pytest.raises(PolicyError, match="illness"):
        rk.anonymize(people, policy | {"privacy": [{"frequency-l-diversity": {"l": 2, "of": "illness"}}]})
    with pytest.raises(PolicyError, match="global recoding"):
        rk.anonymize(people, policy | {"privacy": [{"k-anonymity": {"k": 2}}], "publish": "region"})
    with pytest.raises(PolicyError, match="cluster makes classes of near records"):
        rk.anonymize(people, policy | {"workload": [{"select": {"where": "age > 30"}}]})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": 1}, "cluster: block must be a whole number of at least 2, not 1"),
        ({"block": 2.5}, "cluster: block must be a whole number"),
        ({"block": "all"}, "cluster: block must be a whole number"),
        ({"repair": "no"}, "cluster: repair must be true or false"),
        ({"effort": "most"}, "cluster: effort must be fast, default or thorough, not 'most'"),
        ({"seconds": 0}, "cluster: seconds must be a number above 0, not 0"),
        ({"seconds": "long"}, "cluster: seconds must be a number above 0, not 'long'"),
        ({"seconds": 5, "effort": "default"}, "cluster: effort and seconds both say how long to search; give one"),
        ({"seconds": 5, "repair": False}, "cluster: without repair nothing is searched; leave out seconds"),
        ({"effort": "fast", "repair": False}, "cluster: without repair nothing is searched; leave out effort"),
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        METHODS["cluster"](**options)


def test_where_much_is_left_over_groups_along_the_curve_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that no cluster could take end in one class: here all of them do."""
    encoded = generated(400)
    asked = (KAnonymity(k=5), FrequencyLDiversity(l=5, of="occupation"))

    def one_class(tuples: Tuples, *_: object, **__: object) -> Entries:
        return Entries(np.arange(tuples.count), np.zeros(tuples.count, dtype=np.int64), tuples.counts, 1)

    monkeypatch.setattr(cluster, "_clustered", one_class)
    along = Hilbert().partition(encoded, asked)
    assert gcp(encoded, Cluster(repair=False).partition(encoded, asked)) == pytest.approx(gcp(encoded, along))
    monkeypatch.setattr(cluster, "REMAINS", 1_000)
    assert gcp(encoded, Cluster(repair=False).partition(encoded, asked)) > gcp(encoded, along)

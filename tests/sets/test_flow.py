"""Releases of sets: what is promised holds on the written bytes, whatever the records."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.errors import InfeasibleError, InputError, OutputError, PolicyError, PrivacyWarning, VerificationError
from rothko.generate.longtail import LongTail, longtail
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.privacy.k1anonymity import ADVERSARIES
from rothko.release.verify import Verification
from rothko.sets import write
from rothko.sets.methods.mondrian import SetMondrian
from rothko.sets.methods.two_phase import SetTwoPhase
from rothko.sets.publish import Shown
from rothko.sets.records import Records, from_lists
from rothko.sets.verify import verified_sets

METHODS = [SetMondrian(criterion="even"), SetMondrian(criterion="entropy"), SetMondrian(), SetTwoPhase()]
BASKETS = [["tea", "milk"], ["tea", "milk", "gin"], ["tea"], ["tea", "bread"], [], ["gin"]]

every_method = pytest.mark.parametrize(
    "method", METHODS, ids=lambda m: f"{m.name} {getattr(m, 'criterion', '')}".strip()
)
some_lists = st.lists(st.sets(st.sampled_from("abcdefgh")).map(sorted), min_size=2, max_size=60)


def silent(_: int) -> None:
    pass


# ── properties of the methods


@every_method
@settings(max_examples=50, deadline=None)
@given(lists=some_lists, k=st.integers(2, 5), seed=st.integers(0, 3), data=st.data())
def test_classes_are_a_partition_with_at_least_k_records(
    method: Any, lists: list[list[str]], k: int, seed: int, data: Any
) -> None:
    k = min(k, len(lists))
    worth = data.draw(st.lists(st.integers(0, 9), min_size=8, max_size=8))
    present = sorted({item for record in lists for item in record})
    records = from_lists(lists, utility=dict(zip(present, worth, strict=False)))
    starts, items = records.starts.copy(), records.items.copy()
    class_of = method.group(records, k, seed=seed, threads=1, progress=silent)
    assert class_of.dtype == np.int32
    assert len(class_of) == len(lists)
    sizes = np.bincount(class_of)
    assert sizes.min() >= k  # numbered without gaps, too
    assert np.array_equal(class_of, method.group(records, k, seed=seed, threads=2, progress=silent))
    assert np.array_equal(records.starts, starts)
    assert np.array_equal(records.items, items)


@every_method
@settings(max_examples=50, deadline=None)
@given(lists=some_lists, k=st.integers(2, 5), seed=st.integers(0, 3))
def test_releases_are_k_anonymous_and_say_nothing_new(method: Any, lists: list[list[str]], k: int, seed: int) -> None:
    k = min(k, len(lists))
    release = rk.sets.anonymize(lists, k=k, method=method, seed=seed)
    published = release.to_lists()
    times = Counter(map(tuple, published))
    assert len(published) == len(lists)
    assert min(times.values()) >= k
    assert release.certificate["requirement"] == {
        "name": "k-anonymity", "asked": k, "achieved": min(times.values()), "holds": True,
    }  # fmt: skip
    assert contained(published, lists)
    assert release.metrics.instances == sum(map(len, published))
    assert release.metrics.utility == sum(map(len, published))
    assert release.metrics.classes == len(times)
    assert published == rk.sets.anonymize(lists, k=k, method=method, seed=seed, threads=2).to_lists()


def contained(published: list[list[str]], lists: list[list[str]]) -> bool:
    """Whether there is a one-to-one way to say which record each published set came from."""
    taken = [-1] * len(lists)

    def place(i: int, tried: set[int]) -> bool:
        for j, record in enumerate(lists):
            if j not in tried and set(published[i]) <= set(record):
                tried.add(j)
                if taken[j] < 0 or place(taken[j], tried):
                    taken[j] = i
                    return True
        return False

    return all(place(i, set()) for i in range(len(published)))


@every_method
def test_records_in_several_parts_of_the_tree(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.sets.methods.mondrian.PART", 300)
    records = longtail(2_000, LongTail(items=40, mean=8, deviation=5, least=0.02))
    told: list[int] = []
    class_of = method.group(records, 5, seed=0, threads=2, progress=told.append)
    assert np.array_equal(class_of, method.group(records, 5, seed=0, threads=1, progress=silent))
    assert np.bincount(class_of).min() >= 5
    assert sum(told) == 2_000


@pytest.mark.parametrize("k", [2, 5])
def test_the_classes_of_mondrian_do_not_hang_on_the_order_of_the_records(
    k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where many records would gain alike by leaving their class."""
    monkeypatch.setattr("rothko.sets.methods.mondrian.PART", 300)
    lists = longtail(1_500, LongTail(items=30, mean=8, deviation=5, least=0.02)).to_lists()
    shuffled = [lists[i] for i in np.random.default_rng(0).permutation(len(lists))]
    first, second = (rk.sets.anonymize(some, k=k, method=METHODS[2]).to_lists() for some in (lists, shuffled))
    assert first == second


@pytest.mark.parametrize("k", [2, 10, 40])
def test_utility_keeps_most(k: int) -> None:
    """On the synthetic data of the thesis: more than 1.3 times as much as even, and no less than two-phase."""
    records = longtail(5_000)
    kept = {
        method: rk.sets.anonymize(records, k=k, method=method).metrics.utility_kept
        for method in (METHODS[0], METHODS[2], METHODS[3])
    }
    even, utility, two_phase = kept.values()
    assert utility >= 1.3 * even
    assert utility >= two_phase


def test_entropy_refuses_what_it_cannot_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.sets.methods.mondrian.MOST_PAIRS", 3)
    with pytest.raises(PolicyError, match="use the criterion even or utility"):
        rk.sets.anonymize(BASKETS * 3, k=2, method=METHODS[1])


# ── edges


@every_method
@pytest.mark.parametrize(
    "lists",
    [
        [[], []],
        [["a"], ["b"]],
        [["a"], []],
        [["a", "b"]] * 5,
        [["é", "日本"], ["é", "日本", "x"]],
        [["a"]] * 4 + [["b"]],
    ],
    ids=["nothing", "nothing shared", "one empty", "all equal", "unicode", "one alone"],
)
def test_edges(method: Any, lists: list[list[str]]) -> None:
    release = rk.sets.anonymize(lists, k=2, method=method)
    assert release.records.count == len(lists)
    assert min(Counter(map(tuple, release.to_lists())).values()) >= 2


def test_all_records_in_one_class() -> None:
    release = rk.sets.anonymize([["a", "b"], ["a"], ["a", "c"]], k=3)
    assert release.to_lists() == [["a"]] * 3
    assert release.classes.tolist() == [3]


@pytest.mark.parametrize("k", [1, 0, -3, 2.5, True, "3"])
def test_bad_k(k: Any) -> None:
    with pytest.raises(PolicyError, match="k must be a whole number"):
        rk.sets.anonymize(BASKETS, k=k)


def test_k_above_the_number_of_records() -> None:
    with pytest.raises(InfeasibleError, match="k = 7: there are 6"):
        rk.sets.anonymize(BASKETS, k=7)
    with pytest.raises(InputError, match="no records"):
        rk.sets.anonymize([], k=2)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("set-mondrain", "did you mean 'set-mondrian'"),
        ({"set-mondrian": {"criterium": "even"}}, "no option 'criterium'"),
        ({"set-mondrian": {"criterion": "evn"}}, "did you mean 'even'"),
        ({"set-mondrian": {}, "set-two-phase": {}}, "one method"),
    ],
)
def test_bad_methods(method: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        rk.sets.anonymize(BASKETS, k=2, method=method)


# ── the certificate, the order


def test_the_certificate_tells_no_item() -> None:
    release = rk.sets.anonymize(BASKETS, k=2, utility={"tea": 3})
    text = json.dumps(release.certificate)
    assert release.certificate["verified"]
    assert not any(item in text for item in ("tea", "milk", "bread"))
    assert release.certificate["notes"] == ["3 of 4 items have no utility of their own; it is 1."]


def test_only_published_items_are_left_in_memory() -> None:
    release = rk.sets.anonymize(BASKETS, k=2)
    published = {item for record in release.to_lists() for item in record}
    assert set(release.records.names.to_pylist()) == published
    assert "bread" not in published


def test_the_order_does_not_depend_on_that_of_the_input() -> None:
    records = [["a"]] * 10 + [["b"]] * 10 + [["c"]] * 10
    release = rk.sets.anonymize(records, k=2, seed=1)
    assert release.to_lists() == rk.sets.anonymize(records[::-1], k=2, seed=1).to_lists()
    assert release.to_lists() != rk.sets.anonymize(records, k=2, seed=2).to_lists()
    assert release.to_lists() not in (records, records[::-1])


# ── files


READERS: dict[str, Callable[[Path], list[list[str]]]] = {
    ".txt": lambda path: [line.split() for line in path.read_text("utf-8").splitlines()],
    ".txt.gz": lambda path: rk.sets.read_records(path).to_lists(),
    ".parquet": lambda path: pq.read_table(path).column("items").to_pylist(),
    ".arrow": lambda path: feather.read_table(path).column("items").to_pylist(),
    ".csv": lambda path: rk.sets.read_records(path, rk.sets.Reading(record="record", item="item")).to_lists(),
    ".tsv": lambda path: rk.sets.read_records(path, rk.sets.Reading(record="record", item="item")).to_lists(),
}


@pytest.mark.parametrize("ending", READERS)
def test_files_hold_what_was_published(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "ROWS", 4)
    release = rk.sets.anonymize(BASKETS * 2, k=2)
    assert [] in release.to_lists()
    saved = release.save(tmp_path / f"out{ending}")
    assert READERS[ending](saved.data) == release.to_lists()
    assert saved.certificate_path == tmp_path / "out.certificate.json"
    stored = json.loads(saved.certificate_path.read_text("utf-8"))
    assert stored == saved.certificate
    assert stored["requirement"]["holds"]
    assert stored["file"] == f"out{ending}"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([saved.data.name, "out.certificate.json"])
    again = rk.sets.anonymize(BASKETS * 2, k=2).save(tmp_path / f"again{ending}")
    assert again.certificate["file_sha256"] == stored["file_sha256"]
    with pytest.raises(OutputError, match="exists"):
        release.save(saved.data)
    release.save(saved.data, overwrite=True)


def test_items_that_do_not_fit_a_line(tmp_path: Path) -> None:
    release = rk.sets.anonymize([["green tea", "a,b"]] * 3, k=2)
    with pytest.raises(InputError, match="1 of 2 items contain what separates") as caught:
        release.save(tmp_path / "out.txt")
    assert "green" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    saved = release.save(tmp_path / "out.txt", delimiter=";")
    assert saved.data.read_text("utf-8") == "a,b;green tea\n" * 3
    assert rk.sets.read_records(release.save(tmp_path / "b.csv").data, rk.sets.Reading(record="record", item="item"))


def test_other_endings(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"a list column"):
        rk.sets.anonymize(BASKETS, k=2).save(tmp_path / "out.xlsx")
    with pytest.raises(OutputError, match="no folder"):
        rk.sets.anonymize(BASKETS, k=2).save(tmp_path / "none" / "out.txt")


def test_the_input_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "in.txt"
    path.write_text("a\na\n", "utf-8")
    with pytest.raises(OutputError, match="The output is the input"):
        rk.sets.anonymize(path, k=2).save(path, overwrite=True)


# ── verification


@pytest.mark.parametrize("ending", READERS)
def test_what_is_not_anonymous_is_not_released(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = rk.sets.prepare(BASKETS, k=2)
    honest = write.write_sets

    def broken(published: Records, path: Path, **options: Any) -> None:
        lists = published.to_lists()
        odd = next(i for i, record in enumerate(lists) if "tea" in record)
        lists[odd] = ["odd"]
        honest(from_lists(lists), path, **options)

    monkeypatch.setattr("rothko.sets.release.write_sets", broken)
    with pytest.raises(VerificationError, match="holds for k = 1 and not for 2"):
        release.save(tmp_path / f"out{ending}")
    assert list(tmp_path.iterdir()) == []


def test_what_a_release_prints_has_no_item_of_the_original() -> None:
    """A notebook or a log shows it without being asked."""
    release = rk.sets.anonymize([["tea", "poison"], ["tea"], ["tea"]], k=3)
    assert repr(release) == "SetRelease(3 records in 1 classes, verified: True)"


def test_records_that_are_lost_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = rk.sets.prepare([["a"]] * 6, k=2)
    honest = write.write_sets
    monkeypatch.setattr(
        "rothko.sets.release.write_sets",
        lambda published, path, **options: honest(from_lists([["a"]] * 5), path, **options),
    )
    with pytest.raises(VerificationError, match="5 records were written and not 6"):
        release.save(tmp_path / "out.txt")


def shown(published: Records) -> Shown:
    return Shown(published.starts, published.items, np.ones(published.count, dtype=np.int64), published.names)


def test_k1_is_counted_in_the_original() -> None:
    original = from_lists([["a", "b"], ["a", "b", "c"], ["a"], ["c"]])

    def verified(lists: list[list[str]]) -> Verification:
        published = from_lists(lists)
        return verified_sets(published, original, K1Anonymity(k=2), shown=shown(published))

    found = verified([["a", "b"], ["a"], ["a"], []])
    assert (found.findings[0].achieved, found.rows, found.classes) == (2, 4, 3)
    with pytest.raises(VerificationError, match="k1-anonymity holds for k = 1"):
        verified([["a", "b"], ["b", "c"], ["a"], []])
    with pytest.raises(VerificationError, match="no record has"):
        verified([["a"], ["d"], ["a"], ["a"]])


def test_sets_that_are_not_those_of_the_records_are_refused() -> None:
    """Each is there often enough, and yet another than was meant."""
    original = from_lists([["a", "b"]] * 4)
    meant = shown(from_lists([["a", "b"], ["a", "b"], ["a"], ["a"]]))
    with pytest.raises(VerificationError, match="not those that records have in common"):
        verified_sets(from_lists([["a", "b"], ["a", "b"], ["b"], ["b"]]), original, KAnonymity(k=2), shown=meant)


@pytest.mark.parametrize("ending", READERS)
def test_k1_is_verified_from_files(ending: str, tmp_path: Path) -> None:
    original = from_lists([["a", "b"], ["a", "b", "c"], ["a"], ["c"]])
    path = tmp_path / f"out{ending}"
    published = from_lists([["a", "b"], ["a"], ["c"], []])
    write.write_sets(published, path)
    found = verified_sets(path, original, K1Anonymity(k=2), shown=shown(published))
    assert (found.findings[0].achieved, found.classes) == (2, 4)


def test_the_seed_of_k1_is_secret() -> None:
    records = longtail(300, LongTail(items=40, mean=8, deviation=5, least=0.02))
    release = rk.sets.anonymize(records, k=5, method="set-k1")
    assert release.certificate["seed"] is None
    assert release.certificate["requirement"]["name"] == "k1-anonymity"
    assert release.certificate["adversary"] == ADVERSARIES["k1-anonymity"]
    assert len(release.classes) == 0
    assert release.to_lists() != rk.sets.anonymize(records, k=5, method="set-k1").to_lists()
    with pytest.warns(PrivacyWarning, match="whose set is whose"):
        once = rk.sets.anonymize(records, k=5, method="set-k1", seed=3)
    with pytest.warns(PrivacyWarning):
        assert rk.sets.anonymize(records, k=5, method="set-k1", seed=3).to_lists() == once.to_lists()
    assert rk.sets.anonymize(records, k=5).certificate["seed"] == 0


@pytest.mark.parametrize(
    "words",
    [
        "Weaker than k-anonymity",
        "At least k original records contain each published set",
        "knows all original records, but not what was published for the others",
        "also learns what was published for other people",
        "compares several releases of the same records",
        "knows the method and rules out people",
        "use a method that meets k-anonymity",
    ],
)
def test_the_certificate_of_k1_says_who_it_does_not_protect_against(words: str, tmp_path: Path) -> None:
    release = rk.sets.anonymize(BASKETS, k=2, method="set-k1")
    assert words in release.certificate["adversary"]
    saved = release.save(tmp_path / "out.txt")
    assert words in json.loads(saved.certificate_path.read_text("utf-8"))["adversary"]
    assert words not in rk.sets.anonymize(BASKETS, k=2).certificate["adversary"]


def test_dataframes_come_in() -> None:
    pandas = pytest.importorskip("pandas")
    people = pandas.DataFrame({"age": [31, 33, 58, 57], "job": ["cook", "cook", "nurse", "cook"]})
    release = rk.sets.anonymize(people, k=2, reading=rk.sets.Reading(form="table", bins={"age": 5}))
    assert sorted(release.to_lists()) == [["age=[30, 35)", "job=cook"]] * 2 + [["age=[55, 60)"]] * 2
    lists = rk.sets.anonymize(pa.array([["a"], ["a", "b"]]), k=2)
    assert lists.to_lists() == [["a"], ["a"]]


def test_people_are_counted_by_making_one_record_of_theirs() -> None:
    """No column says whose a set is; in long form the person may be the record."""
    visits = {
        "patient": ["a", "b", "a", "c", "d", "b"],
        "visit": [1, 2, 3, 4, 5, 6],
        "drug": ["x", "x", "y", "x", "x", "y"],
    }
    with pytest.raises(
        InputError, match=r"no column says whose they are, so of='patient' .*Reading\(record='patient'\)"
    ):
        rk.sets.anonymize(visits, k=2, of="patient", reading=rk.sets.Reading(record="visit", item="drug"))
    release = rk.sets.anonymize(visits, k=2, reading=rk.sets.Reading(record="patient", item="drug"))
    assert sorted(release.to_lists()) == [["x"], ["x"], ["x", "y"], ["x", "y"]]

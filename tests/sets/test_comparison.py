"""Methods for sets side by side: the numbers of a release, and no release."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.comparison.trials import as_csv
from rothko.errors import InputError, PolicyError, VerificationError
from rothko.generate.longtail import LongTail, longtail
from rothko.privacy import Requirement
from rothko.sets import SetFrontier, SetTrial
from rothko.sets.methods import SET_METHODS, SetMondrian, SetTwoPhase
from rothko.sets.records import Records

BASKETS = [["tea", "milk"], ["tea", "milk", "gin"], ["tea"], ["tea", "bread"], [], ["gin"]]
LONGTAIL = longtail(400, LongTail(items=40, mean=8, deviation=5, least=0.02))

some_lists = st.lists(st.sets(st.sampled_from("abcdefgh")).map(sorted), min_size=1, max_size=40)


@pytest.mark.filterwarnings("ignore::rothko.errors.PrivacyWarning")
@pytest.mark.parametrize("method", SET_METHODS)
@settings(max_examples=15, deadline=None)
@given(lists=some_lists, seed=st.integers(0, 3))
def test_the_numbers_are_those_of_a_release(method: str, lists: list[list[str]], seed: int) -> None:
    found = rk.sets.compare(lists, methods=[method], k=[2, 5], seed=seed)
    assert [trial.k for trial in found.trials] == [2, 5]
    for trial in found.trials:
        if trial.k > len(lists):
            assert trial.metrics is None
            assert trial.reason is not None
            assert f"there are {len(lists)}" in trial.reason
            continue
        release = rk.sets.anonymize(lists, k=trial.k, method=method, seed=seed)
        assert trial.metrics == release.metrics
        assert trial.achieved == release.certificate["requirement"]["achieved"] >= trial.k
        assert trial.requirement == release.certificate["requirement"]["name"]
        assert trial.reason is None


def test_every_method_at_every_k_in_order() -> None:
    methods = [{"set-mondrian": {"criterion": "even"}}, SetTwoPhase(), "set-two-phase", "set-k1"]
    found = rk.sets.compare(LONGTAIL, methods=methods, k=[9, 3, 9])
    names = ("set-mondrian criterion=even", "set-two-phase", "set-k1")
    assert found.methods == names
    assert [(trial.method, trial.k) for trial in found.trials] == [(name, k) for k in (3, 9) for name in names]
    assert (found.records, found.items, found.instances) == (400, 40, len(LONGTAIL.items))
    assert found.utility == LONGTAIL.total_utility()
    assert all(trial.seconds > trial.partition_seconds > 0 for trial in found.trials)  # type: ignore[operator]


def test_the_same_seed_gives_the_same_numbers_without_a_warning() -> None:
    """(k,1) too: warnings are errors in tests, and what it draws is not released."""
    kept = [
        [trial.metrics for trial in rk.sets.compare(LONGTAIL, methods=["set-k1"], k=[4], seed=seed).trials]
        for seed in (1, 1, 2)
    ]
    assert kept[0] == kept[1] != kept[2]


def test_real_files_with_utilities(tmp_path: Path) -> None:
    path, utility = tmp_path / "baskets.txt", tmp_path / "utility.csv"
    path.write_text("".join(" ".join(basket) + "\n" for basket in BASKETS), "utf-8")
    utility.write_text("item,utility\ntea,0\nmilk,5\n", "utf-8")
    found = rk.sets.compare(path, utility=utility, k=[2])
    assert found.notes == ("2 of 4 items have no utility of their own; it is 1.",)
    assert {trial.metrics and trial.metrics.utility for trial in found.trials} == {10.0}
    assert sorted(file.name for file in tmp_path.iterdir()) == ["baskets.txt", "utility.csv"]  # nothing is released


def test_nothing_tells_an_item() -> None:
    found = rk.sets.compare(BASKETS, k=[2, 9], methods=[*SET_METHODS])
    text = json.dumps(found.to_dict()) + as_csv(found.trials)
    assert not any(item in text for item in ("tea", "milk", "bread"))
    rows = list(csv.DictReader(io.StringIO(as_csv(found.trials))))
    assert [(row["method"], row["k"]) for row in rows] == [(trial.method, str(trial.k)) for trial in found.trials]
    assert {"utility_kept", "instances_kept", "items_kept", "average_class_size", "partition_seconds"} <= set(rows[0])


# ── what cannot run, and what is broken


def test_a_method_that_refuses_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.sets.methods.mondrian.MOST_PAIRS", 3)
    entropy, even = rk.sets.compare(
        LONGTAIL, methods=[{"set-mondrian": {"criterion": c}} for c in ("entropy", "even")], k=[5]
    ).trials
    assert entropy.reason is not None
    assert "use the criterion even or utility" in entropy.reason
    assert entropy.exit_code == 2
    assert even.metrics is not None


def test_a_bug_is_a_trial_without_items_in_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ValueError("tea")

    monkeypatch.setattr(SetMondrian, "group", broken)
    mondrian, two_phase = rk.sets.compare(BASKETS, k=[2]).trials
    assert (mondrian.exit_code, mondrian.reason) == (1, "Internal error (ValueError): a bug in rothko.")
    assert two_phase.metrics is not None


@pytest.mark.parametrize("method", ["set-mondrian", "set-k1"])
def test_what_does_not_hold_has_no_numbers(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every trial is verified by the requirement of its method, as a release is."""
    seen: list[Requirement] = []

    def unsatisfied(published: Records, original: Records, asked: Requirement, **_: Any) -> Any:
        assert published.count == original.count
        seen.append(asked)
        raise VerificationError(f"Verification failed: {asked.name}")

    monkeypatch.setattr("rothko.sets.release.verified_sets", unsatisfied)
    [trial] = rk.sets.compare(LONGTAIL, methods=[method], k=[5]).trials
    assert trial.metrics is None
    assert trial.exit_code == 4
    assert seen == [SET_METHODS[method].requirement(k=5)]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"k": [1, 5]}, "k must be a whole number of at least 2, not 1"),
        ({"k": [2.5]}, "k must be a whole number"),
        ({}, "give several k"),
        ({"k": [2], "methods": []}, "Name the methods"),
        ({"k": [2], "methods": "set-mondrian"}, "in a list"),
        ({"k": [2], "methods": ["mondrian"]}, "did you mean 'set-mondrian'"),
        ({"k": [2], "methods": [{"set-mondrian": {"criterium": "even"}}]}, "no option 'criterium'"),
    ],
)
def test_what_is_wrong_is_refused_before_the_records_are_read(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        rk.sets.compare("no-such-file.txt", **asked)


def test_no_records() -> None:
    with pytest.raises(InputError, match="no records"):
        rk.sets.compare([], k=[2])
    [trial] = rk.sets.compare([[], []], methods=["set-mondrian"], k=[2]).trials
    assert trial.metrics is not None
    assert trial.metrics.utility_kept == 1


# ── time and progress


def test_runs_are_repeated_for_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    honest = SetMondrian.group

    def counted(self: SetMondrian, records: Records, k: int, **asked: Any) -> Any:
        runs.append(k)
        return honest(self, records, k, **asked)

    monkeypatch.setattr(SetMondrian, "group", counted)
    rk.sets.compare(LONGTAIL, methods=["set-mondrian"], k=[3, 4])
    assert runs == [3, 3, 4]  # the first may compile
    runs.clear()
    rk.sets.compare(LONGTAIL, methods=["set-mondrian"], k=[3, 4], repeat=3)
    assert runs == [3, 3, 3, 4, 4, 4]
    runs.clear()
    monkeypatch.setattr("rothko.comparison.trials.COLD", 0)
    rk.sets.compare(LONGTAIL, methods=["set-mondrian"], k=[3, 4])
    assert runs == [3, 4]


def test_progress_reaches_the_end() -> None:
    told: list[tuple[str, int, int]] = []
    rk.sets.compare(BASKETS, k=[2, 3], progress=lambda *step: told.append(step))
    assert [stage for stage, _, _ in told[:2]] == ["read", "read"]
    steps = [(done, total) for stage, done, total in told if stage == "compare"]
    assert all(0 <= done <= total for done, total in steps)
    assert (24, 24) in steps  # six records, two methods, two k
    assert steps[-1] == (1, 1)


# ── the frontier

KEPT = rk.sets.anonymize(BASKETS, k=2).metrics


@given(
    st.lists(
        st.tuples(
            st.integers(2, 6), st.sampled_from([0.1, 0.2, 0.3]), st.sampled_from(["k-anonymity", "k1-anonymity"])
        ),
        max_size=8,
    )
)
def test_the_best_are_those_that_nothing_of_the_same_promise_beats(points: list[tuple[int, float, str]]) -> None:
    trials = tuple(
        SetTrial(method=f"m{i}", requirement=requirement, k=k, metrics=replace(KEPT, utility_kept=kept))
        for i, (k, kept, requirement) in enumerate(points)
    )
    found = SetFrontier(records=9, items=9, instances=9, utility=9.0, trials=trials, timings={}, seed=0, threads=1)
    best = {trial.method for trial in found.best}
    for i, (k, kept, requirement) in enumerate(points):
        beaten = any(r == requirement and ((a >= k and b > kept) or (a > k and b >= kept)) for a, b, r in points)
        assert (f"m{i}" in best) is not beaten

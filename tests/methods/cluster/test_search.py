"""The search for classes of little loss: its efforts, its time, and what a person may interrupt."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rothko.data.encode import Encoded
from rothko.methods import Cluster
from rothko.methods.classes import LocalClasses
from rothko.methods.cluster import cluster, price, search
from rothko.methods.cluster.repair import repair_pass
from rothko.methods.cluster.search import Plan, Start, searched
from rothko.methods.cluster.tuples import Entries, Tuples
from rothko.privacy import FrequencyLDiversity, KAnonymity
from rothko.progress import Ending, ending, remarks
from tests.strategies.columns import heaped
from tests.strategies.tables import Case

K = (KAnonymity(k=6),)
BRANCHES = {f"{a}": {f"{a}{b}": [f"{a}{b}{c}" for c in "xyz"] for b in "pqr"} for a in "ABC"}


@cache
def people(rows: int = 900) -> Encoded:
    """Four columns with hierarchies, in which some values are far more frequent than others."""
    rng = np.random.default_rng(1)
    leaves = [leaf for branch in BRANCHES.values() for twigs in branch.values() for leaf in twigs]
    share = 1 / np.arange(1, len(leaves) + 1)
    columns = {name: rng.choice(leaves, rows, p=share / share.sum()).tolist() for name in "abcd"}
    return Case(columns, {name: {"hierarchy": {"tree": BRANCHES}} for name in columns}, K).encoded()


@cache
def found_by(effort: str) -> LocalClasses:
    return Cluster(effort=effort).partition(people(), K)  # type: ignore[arg-type]


def gcp(found: LocalClasses) -> float:
    return found.gcp(people().lines)


def test_more_effort_loses_less() -> None:
    fast, default, thorough = (gcp(found_by(effort)) for effort in ("fast", "default", "thorough"))
    assert thorough <= 1.002 * default < default / 0.97 < fast, "three times the effort may end elsewhere, not far"
    for k in (3, 12, 40):
        asked = (KAnonymity(k=k),)
        assert gcp(Cluster().partition(people(), asked)) <= gcp(Cluster(effort="fast").partition(people(), asked))
    assert gcp(Cluster().partition(people(), K)) == default


@pytest.mark.parametrize("effort", ["default", "thorough"])
def test_the_number_of_threads_changes_nothing(effort: str) -> None:
    one, two = found_by(effort), Cluster(effort=effort).partition(people(), K, threads=3)  # type: ignore[arg-type]
    assert np.array_equal(one.order, two.order)
    assert np.array_equal(one.starts, two.starts)


def test_of_a_large_table_the_dearest_are_made_anew_and_the_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "BLOCK", 200)
    monkeypatch.setattr(price, "BLOCK", 200)
    found = Cluster().partition(people(), K)
    assert np.array_equal(np.sort(found.order), np.arange(900))
    assert np.diff(found.starts).min() >= 6
    assert gcp(found) <= gcp(found_by("fast"))


def test_effort_grows_and_falls_smoothly() -> None:
    """No table is repaired far less than one with a few records fewer."""
    tuples = Tuples.of(people(), K, threads=1)

    def plan(rows: int) -> Plan:
        records = np.broadcast_to(np.int32(0), rows)
        return Plan.for_table(replace(tuples, records=records), "default", None)

    sizes = [int(1000 * 1.05**i) for i in range(200)]
    for fewer, more in zip(map(plan, sizes), map(plan, sizes[1:]), strict=False):
        assert 0.94 * fewer.repair.steps <= more.repair.steps <= fewer.repair.steps
        assert fewer.repair.passes - 1 <= more.repair.passes <= fewer.repair.passes
        assert 0.94 * fewer.patience <= more.patience <= fewer.patience
        assert 0.94 * fewer.repair.block <= more.repair.block <= fewer.repair.block
        assert (fewer.rounds, fewer.priced) == (more.rounds, more.priced)


def test_it_ends_when_its_time_is_over_or_nothing_is_gained() -> None:
    began = time.monotonic()
    found = Cluster(seconds=0.001).partition(people(), K)
    assert (found.sizes >= 6).all()
    assert not found.notes
    longer = Cluster(seconds=60).partition(people(), K)
    assert gcp(longer) <= min(gcp(found), gcp(found_by("default")))
    assert time.monotonic() - began < 30, "passes in vain end it"


def test_the_better_start_is_taken_wherever_it_stands() -> None:
    tuples = Tuples.of(people(), K, threads=1)
    plan = Plan.for_table(tuples, "default", None)
    good = tuples.entries(found_by("default"))
    together = Entries(np.arange(tuples.count), np.zeros(tuples.count, dtype=np.int64), tuples.counts, 1)

    def run(*starts: Entries | None) -> float:
        told: list[int] = []
        made = [Start(lambda _, one=one: one, [plan.repair]) for one in starts]  # type: ignore[misc]
        found = searched(tuples, made, plan, Ending(), seed=0, threads=1, progress=told.append)
        assert sum(told) == people().rows, "all records are told of in the end"
        return gcp(found)

    assert run(good, together) == run(together, good) == run(good, None) <= gcp(found_by("default"))


def test_the_loss_is_told_as_it_falls() -> None:
    told: list[str] = []
    with remarks(told.append):
        found = Cluster().partition(people(), K)
    losses = [float(words.removeprefix("loss ")) for words in told]
    assert len(losses) > 1
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] == round(gcp(found), 4)


def test_blocks_stay_as_they_are_when_time_is_over() -> None:
    tuples = Tuples.of(people(), K, threads=1)
    entries = tuples.entries(found_by("fast"))
    effort = Plan.for_table(tuples, "default", None).repair
    kept = repair_pass(tuples, entries, effort, 1, seed=0, threads=1, over=lambda: True)
    assert gcp(tuples.partition(kept)) == gcp(found_by("fast"))


def test_requirements_hold_for_what_is_peeled() -> None:
    encoded = heaped([60, 50, 40, 30], seed=1)
    asked = (KAnonymity(k=5), FrequencyLDiversity(l=2, of="disease"))
    found = Cluster(effort="thorough").partition(encoded, asked)
    values = encoded.sensitive["disease"].codes[found.order]
    for begin, end in zip(found.starts, found.starts[1:], strict=False):
        assert end - begin >= 5
        assert np.bincount(values[begin:end]).max() * 2 <= end - begin


# ── Ctrl-C ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(autouse=True)
def _nobody_listens() -> Iterator[None]:
    """Libraries that tests have used before may listen for Ctrl-C still, as PySpark does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_ctrl_c_keeps_the_best_so_far_and_says_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., LocalClasses] = cluster.searched

    def interrupted(*given: object, **more: object) -> LocalClasses:
        press()
        return real(*given, **more)

    monkeypatch.setattr(cluster, "searched", interrupted)
    found = Cluster(effort="thorough").partition(people(), K)
    assert (found.sizes >= 6).all()
    assert found.notes == (cluster.INTERRUPTED,)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_twice_ends() -> None:
    with ending() as over:
        assert not over()
        press()
        assert over()
        with pytest.raises(KeyboardInterrupt):
            press()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_is_left_to_whoever_listens_already() -> None:
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        with ending() as over:
            press()
            assert came
            assert not over()
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_do_not_listen() -> None:
    asked: list[bool] = []

    def work() -> None:
        with ending(0.0) as over:
            asked.append(over())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert asked == [True], "its time counts nevertheless"

"""Which engine, how much memory, what is read and written: the model of the paper, and the choice that rests on it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from typer.testing import CliRunner

from rothko import calibrate
from rothko.cli import application
from rothko.engines import foretold, plan
from rothko.engines.options import RothkoS
from rothko.errors import InputError, PolicyError

GB = 10**9


# ── section 5.3, as it is printed


def by_the_paper(big_n: float, tm: int, k: int, alpha: float) -> int:
    """The recursion of 5.3.2."""
    if big_n <= tm:
        return 0
    p0, n = k / big_n, min(tm, big_n)
    bound = norm.isf(alpha / 2) * math.sqrt(p0 * (1 - p0) / (n - 1) * ((big_n - n) / big_n)) if p0 < 1 else math.inf
    levels = max((x for x in range(200) if 1 / 2**x - p0 >= bound), default=0)
    return 1 + by_the_paper(big_n / 2**levels, tm, k, alpha) if levels > 0 else 0


@given(rows=st.integers(1, 10**10), tuples=st.integers(2, 10**8), k=st.sampled_from((2, 10, 1000, 10**5)))
@settings(deadline=None)
def test_repartitions_of_rothko_s(rows: int, tuples: int, k: int) -> None:
    found, complete = plan.repartitions_s(rows, tuples, k, test="normal")
    # A part has a whole number of records here; the paper's have fractions of one.
    assert abs(found - by_the_paper(rows, tuples, k, 0.05)) <= (0 if tuples > 1000 else 1)
    assert complete or tuples < rows


@pytest.mark.parametrize("tuples", [100_000, 500_000, 1_000_000, 2_000_000])
@pytest.mark.parametrize("test", ["exact", "normal", "naive"])
def test_fifty_million_records_are_repartitioned_once(tuples: int, test: Any) -> None:
    """Section 6.3: for a wide range of sample sizes the data was repartitioned just once, k = 1000."""
    assert plan.repartitions_s(50_000_000, tuples, 1000, test=test) == (1, True)
    assert plan.reads_s(1) == 3


@pytest.mark.parametrize(("cache", "repartitions"), [(1, 5), (2, 3), (3, 3), (4, 2), (8, 2), (16, 1), (1000, 1)])
def test_repartitions_of_rothko_t(cache: int, repartitions: int) -> None:
    """50 million records, TM = 2 million: a tree of height 5."""
    assert plan.height(50_000_000, 2_000_000) == 5
    assert plan.repartitions_t(50_000_000, 2_000_000, cache) == repartitions
    assert plan.reads_t(50_000_000, 2_000_000, cache) == 5 + repartitions + 1


@pytest.mark.parametrize("rows", [0, 1, 999, 1000])
def test_a_table_that_fits_is_read_once(rows: int) -> None:
    assert plan.height(rows, 1000) == plan.repartitions_t(rows, 1000, 1) == 0
    assert plan.reads_t(rows, 1000, 1) == 1
    assert plan.repartitions_s(rows, 1000, 10) == (0, True)
    assert plan.reads_s(0) == 1


def test_a_sample_that_is_too_small_for_k_stops_rothko_s() -> None:
    assert plan.levels_s(1_000_000, 100, 500_000) == 0
    assert plan.repartitions_s(1_000_000, 100, 500_000) == (0, False)
    [cost] = [c for c in foretold.plan(10**8, columns=9, k=6 * 10**7, memory=GB).costs if c.engine == "rothko-s"]
    assert "no cut with confidence" in cost.note


# ── memory


@given(memory=st.integers(0, 10**12), row=st.integers(1, 10**5), group=st.integers(0, 10**10))
@settings(deadline=None)
def test_a_budget_keeps_to_its_limit_or_names_the_least(memory: int, row: int, group: int) -> None:
    try:
        found = plan.budget(memory, row_bytes=row, group_bytes=group)
    except InputError as error:
        least = int(str(error).split("needs ")[1].split(" MB")[0]) * 10**6
        assert least > memory
        found = plan.budget(least, row_bytes=row, group_bytes=group)
    assert found.tuples >= plan.LEAST_RECORDS
    assert found.frequency >= group
    assert found.buffers > 0
    taken = found.baseline + found.frequency + found.buffers + found.tuples * plan.WORKING * row
    assert taken <= found.memory


@pytest.mark.parametrize("wanted", [0, 10**7, 10**12])
def test_what_a_method_keeps_comes_off_its_records(wanted: int) -> None:
    shares = plan.budget(GB, row_bytes=44)
    free, fewer = GB - plan.BASELINE, shares.beside(wanted)
    assert shares.room(wanted) == min(wanted, free // 2)
    assert abs(fewer.tuples / shares.tuples + shares.room(wanted) / free - 1) < 1e-5
    assert (fewer.frequency, fewer.buffers) == (shares.frequency, shares.buffers)


def test_more_memory_means_more_of_everything() -> None:
    small, large = (plan.budget(memory * GB, row_bytes=44) for memory in (1, 4))
    assert small.frequency < large.frequency
    assert small.buffers < large.buffers
    assert small.tuples < large.tuples
    assert small.cache(10**6) < large.cache(10**6)
    assert small.cache(10**12) == 1


def test_free_memory_is_that_of_the_machine() -> None:
    assert 10**6 < plan.available_memory() < 10**15


def test_a_container_may_grant_less(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1500000\n")
    (tmp_path / "memory.stat").write_text("anon 1000000\ninactive_file 500000\n")
    monkeypatch.setattr(plan, "_control_groups", lambda: iter([(tmp_path, "memory.max", "memory.current")]))
    assert plan.available_memory() == 2_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert plan.available_memory() > 3_000_000


# ── the choice


def test_auto_takes_memory_while_the_table_fits() -> None:
    fits = (GB - plan.BASELINE) // plan.WORKING
    assert plan.choose_engine(10**6, fits, memory=GB) == ("memory", "the table fits in memory")
    engine, reason = plan.choose_engine(10**6, fits + 1, memory=GB)
    assert engine == "rothko-s"
    assert reason == "the table needs about 1.0 GB in memory and the limit is 1.0 GB"
    assert plan.choose_engine(2**31, 10**6, memory=GB)[0] == "rothko-s"


def test_without_a_limit_what_is_free_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "available_memory", lambda: 4 * GB)
    assert plan.choose_engine(10**6, 10**8) == ("memory", "the table fits in memory")
    engine, reason = plan.choose_engine(10**6, GB)
    assert (engine, reason) == (
        "rothko-s",
        "the table needs about 6.0 GB in memory and 3.0 GB of what is free may be taken",
    )
    assert plan.choose_engine(10**6, GB, asked="memory") == ("memory", "asked for")
    monkeypatch.setattr(plan, "available_memory", lambda: 10**8)
    assert plan.choose_engine(1000, 44_000)[0] == "memory", "a small table needs no disk on a small machine"


def test_what_is_asked_for_is_taken_or_refused() -> None:
    for name in ("rothko-t", "rothko-s", "memory"):
        assert plan.choose_engine(10, 440, memory=GB, asked=name) == (name, "asked for")
    with pytest.raises(InputError, match=r"^The table needs about 6.3 GB .* limit is 1.0 GB; raise memory=…, or use"):
        plan.choose_engine(10**6, GB, memory=GB, asked="memory")
    with pytest.raises(PolicyError, match=r"^'memry' is not an engine; did you mean 'memory'\?"):
        plan.choose_engine(10, 440, asked="memry")


# ── the plan and its command


def test_a_plan_counts_as_the_model_does() -> None:
    found = foretold.plan(10**9, columns=9, k=100, memory=2 * GB, distinct=10**6, options=RothkoS(test="normal"))
    memory, t, s = found.costs
    assert (found.row_bytes, found.size, found.group_bytes) == (44, 44 * GB, 8_000_000)
    assert found.cache == found.budget.frequency // 8_000_000
    assert found.sample == found.budget.tuples
    assert (memory.works, memory.reads, memory.writes) == (False, 1, 0)
    assert t.reads == plan.reads_t(10**9, found.budget.tuples, found.cache)
    assert t.writes == plan.repartitions_t(10**9, found.budget.tuples, found.cache)
    assert (s.reads, s.writes) == (3, 1)
    assert all(1 <= cost.source <= cost.reads for cost in found.costs)
    assert found.engine == "rothko-s"


def test_a_frequency_group_that_does_not_fit_rules_out_rothko_t() -> None:
    found = foretold.plan(10**9, columns=9, k=100, memory=GB, distinct=10**9)
    assert [cost.works for cost in found.costs] == [False, False, True]


def on_disk(method: str, rows: int = 10**8, k: int = 100, memory: int = GB) -> plan.Cost:
    _, t, s = foretold.plan(rows, columns=9, k=k, memory=memory, row_bytes=100, method=method).costs
    assert (t.engine, s.engine) == ("rothko-t", "rothko-s")
    assert replace(t, engine="") == replace(s, engine=""), "both do the same"
    return s


@pytest.mark.parametrize(
    ("method", "passes"),
    [
        ("hilbert", (2, 1, 1)),
        ("hilbert-fast", (2, 1, 1)),
        ("idistance-fast", (4, 1, 2)),
        ("cluster", (2, 1, 1)),
        ("refine", (4, 1, 2)),
    ],
)
def test_methods_without_a_tree(method: str, passes: tuple[int, int, int]) -> None:
    cost = on_disk(method)
    assert cost.works
    assert (cost.reads, cost.source, cost.writes) == passes


def test_a_segment_that_fits_as_codes_alone_is_read_twice_more_and_one_that_does_not_is_refused() -> None:
    tuples = plan.budget(GB, row_bytes=100).tuples
    cost = on_disk("hilbert", k=tuples // 256 + 100)
    assert (cost.works, cost.reads, cost.source, cost.writes) == (True, 4, 1, 2)
    assert "grouped by their codes" in cost.note
    cost = on_disk("hilbert", k=tuples // 50)
    assert not cost.works
    assert "must see" in cost.note


def test_what_no_engine_on_disk_can_do_is_told() -> None:
    assert not on_disk("topdown").works
    text = rothko("--rows", "1e9", "--columns", "9", "--memory", "2GB", "--method", "topdown", "--no-calibration")
    assert "topdown sees all records at once, in memory, so the run would be refused" in " ".join(text.split())
    with pytest.raises(PolicyError, match=r"^'hilbrt' is not a method; did you mean 'hilbert'\?"):
        foretold.plan(10, columns=1, k=2, memory=GB, method="hilbrt")


def test_time_grows_with_passes_and_records() -> None:
    speed = calibrate.Speed(read=1e-9, write=2e-9, code=1e-8, count=1e-9, level=1e-9, release=1e-7)
    small, large = (foretold.plan(rows, columns=9, k=100, memory=GB) for rows in (10**8, 10**9))
    times = [[speed.seconds(found, cost) for cost in found.costs] for found in (small, large)]
    assert all(a < b for a, b in zip(*times, strict=True))
    assert times[0][1] > times[0][2] > times[0][0]


def rothko(*words: str) -> str:
    result = CliRunner().invoke(application(), ["plan", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_command_prints_a_table_for_people_and_json_for_machines() -> None:
    words = ("--rows", "1e9", "--columns", "9", "--memory", "2GB", "--k", "100", "--no-calibration")
    text = rothko(*words)
    assert "auto: rothko-s, because the table needs about 264.3 GB in memory and the limit is 2.0 GB." in text
    lines = {line.split()[0]: line.split() for line in text.splitlines() if line.startswith(("memory", "rothko-"))}
    assert lines["memory"][1] == "no"
    assert lines["rothko-s"][1:9] == ["yes", "3", "132.0", "GB", "1", "44.0", "GB", "3,143,939"]
    data = json.loads(rothko(*words, "--json"))
    assert data["engine"] == "rothko-s"
    assert [cost["engine"] for cost in data["costs"]] == ["memory", "rothko-t", "rothko-s"]
    assert data["costs"][2]["bytes_read"] == 3 * data["bytes"] == 132 * GB
    assert data["costs"][2]["seconds"] is None


def test_the_command_tells_time_from_a_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "RECORDS", 2_000)
    monkeypatch.setattr(calibrate, "WRITTEN", 2_000_000)
    data = json.loads(rothko("--rows", "1e6", "--columns", "9", "--memory", "1GB", "--json"))
    assert all(cost["seconds"] > 0 for cost in data["costs"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--memory", "300MB"], "A memory limit of 300.0 MB is too small: an engine on disk needs 404 MB at least"),
        (["--rows", "few"], "--rows must be a whole number"),
        (["--k", "1"], "--k must be a whole number of at least 2"),
        (["--test", "t"], "test must be exact, normal or naive, not 't'"),
        (["--alpha", "0"], "alpha must be a number above 0 and at most 0.5"),
    ],
)
def test_bad_options_are_one_sentence(words: list[str], message: str) -> None:
    given = ["plan", "--rows", "1e6", "--columns", "9", "--no-calibration", *words]
    with pytest.raises((InputError, PolicyError)) as caught:
        CliRunner().invoke(application(), given, catch_exceptions=False)
    assert message in str(caught.value)

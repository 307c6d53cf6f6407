"""Random tables × random policies: whatever is released, the oracle accepts; whatever is refused, in one sentence.

The seeds are fixed, so that a run means the same for everybody; ``make fuzz`` looks for new ones.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import rothko as rk
from tests.attack import fuzz, oracle

BATCHES, CASES = 8, 20


@pytest.mark.parametrize("batch", range(BATCHES))
def test_what_is_released_is_what_was_promised(batch: int, tmp_path: Path) -> None:
    ends: Counter[bool] = Counter()
    findings = []
    for seed in range(batch * CASES, (batch + 1) * CASES):
        case = fuzz.draw(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            ends[fuzz.run(case, folder) is None] += 1
        except Exception as error:  # whatever it is, it is a finding
            findings.append(f"{case}\n    {type(error).__name__}: {error}")
    assert not findings, "\n".join(findings)
    assert ends[True] > CASES // 3, "hardly anything was released, so that hardly anything was checked"


def test_the_same_seed_draws_the_same_case() -> None:
    first, again = fuzz.draw(11), fuzz.draw(11)
    assert first.table.equals(again.table)
    assert str(first) == str(again)


# ── the oracle finds what it is for: a release that is damaged in each of its ways


def expected(**changes: object) -> oracle.Expected:
    rows = [{"name": f"person-{i}", "age": 20 + i, "s": "ab"[i % 2], "row": i} for i in range(8)]
    policy = rk.Policy.quick(
        ["name", "age", "s", "row"], drop=["name"], qi=["age"], sensitive=["s"], keep="row", k=4, l=2
    )
    whole = oracle.Expected(
        rows=rows,
        quasi={"age": oracle.Quasi(oracle.interval(int), ("age",))},
        sensitive=("s",),
        kept=("row",),
        names=("name", "age", "s", "row"),
        requirements=policy.privacy,
        secrets=["person-"],
    )
    return replace(whole, **changes)  # type: ignore[arg-type]


RIGHT = [("[20, 23]", "ab"[i % 2], i) for i in (2, 0, 3, 1)] + [("[24, 27]", "ab"[i % 2], i) for i in (5, 4, 7, 6)]
SWAPPED = [RIGHT[4][:1] + RIGHT[0][1:], *RIGHT[1:4], RIGHT[0][:1] + RIGHT[4][1:], *RIGHT[5:]]
WRONG = {
    "a row is gone": (RIGHT[1:], "a record is gone"),
    "a row is there twice": ([*RIGHT, RIGHT[0]], "a record is gone"),
    "two rows are one": ([RIGHT[1], *RIGHT[1:]], "of no record"),
    "kept values change classes": (SWAPPED, "of no record"),
    "a value that nobody has": ([("[20, 23]", "c", 2), *RIGHT[1:]], "of no record"),
    "a range that does not cover": ([("[21, 23]", *row[1:]) for row in RIGHT[:4]] + RIGHT[4:], "of no record"),
    "a class of one": ([("22", *RIGHT[0][1:]), *RIGHT[1:]], "k-anonymity"),
    "a class of one value": ([(row[0], "a", row[2]) for row in RIGHT], "distinct-l-diversity"),
    "the order of the input": ([("*", "ab"[i % 2], i) for i in range(64)], "order of the input"),
}


def write(path: Path, rows: list[tuple[str, str, int]], header: str = "age,s,row") -> Path:
    path.write_text("\n".join([header, *(f'"{age}",{s},{row}' for age, s, row in rows)]) + "\n", "utf-8")
    return path


def test_the_oracle_accepts_what_is_right(tmp_path: Path) -> None:
    oracle.check(write(tmp_path / "r.csv", RIGHT), expected())


@pytest.mark.parametrize(("rows", "finding"), WRONG.values(), ids=WRONG.keys())
def test_the_oracle_finds_what_is_wrong(rows: list[tuple[str, str, int]], finding: str, tmp_path: Path) -> None:
    many = [{"name": f"person-{i}", "age": 20 + i, "s": "ab"[i % 2], "row": i} for i in range(64)]
    told = expected(rows=many) if len(rows) == len(many) else expected()
    with pytest.raises(AssertionError, match=finding):
        oracle.check(write(tmp_path / "r.csv", rows), told)


def test_the_oracle_finds_columns_and_texts_that_must_not_leave(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="columns"):
        oracle.check(write(tmp_path / "r.csv", RIGHT, header="age,s,name"), expected())
    with pytest.raises(AssertionError, match="must not leave"):
        oracle.check(write(tmp_path / "r.csv", RIGHT), expected(secrets=["[20, 23]"]))


def test_the_oracle_sees_dictionaries_and_what_is_compressed(tmp_path: Path) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([2, 0, 2]), pa.array(["b", "person-9", "a"]))
    fuzz.pq.write_table(pa.table({"s": words}), tmp_path / "d.parquet", compression="zstd")
    with pytest.raises(AssertionError, match="must not leave"):
        oracle.check_secrets(tmp_path / "d.parquet", ["person-9"])
    with pytest.raises(AssertionError, match="more than the rows"):
        oracle.check_dictionaries(tmp_path / "d.parquet", [{"s": "a"}, {"s": "b"}, {"s": "a"}], ["s"])

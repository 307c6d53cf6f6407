"""Whole numbers and decimals of every type, up to the limits of the type: told exactly, or refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.domain import Domain
from rothko.data.encode import counted, encode
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.typed import typed, typed_column
from rothko.errors import InputError
from rothko.policy.policy import Policy
from rothko.privacy import DistinctLDiversity, TCloseness, VarianceDiversity
from rothko.release.recoding.recoding import Recoding
from rothko.release.verify import verify
from rothko.release.write import write_table
from tests.strategies.numbers import INTEGERS, KINDS, ends, near_limits, value

LARGE = 2**64 - 1


def policy(missing: tuple[str, ...] = (), **spec: Any) -> Policy:
    columns = {"q": {"role": "quasi-identifier"}, "s": {"role": "sensitive", **spec}}
    return Policy(columns=columns, privacy=[{"k-anonymity": {"k": 2}}], missing=missing)


def domain_of(values: pa.Array) -> Domain:
    return counted("s", typed_column("s", pa.chunked_array([values]), policy())).domain


def variance(values: list[Any]) -> Fraction:
    exact = list(map(Fraction, values))
    mean = sum(exact) / len(exact)
    return sum((x - mean) ** 2 for x in exact) / len(exact)


@settings(deadline=None)
@given(near_limits())
def test_widths_are_those_of_exact_numbers(drawn: tuple[pa.DataType, list[Any]]) -> None:
    kind, values = drawn
    asked = Policy(columns={"q": {"role": "quasi-identifier"}}, privacy=[{"k-anonymity": {"k": 2}}])
    line = encode(typed(pa.table({"q": pa.array(values, kind)}), asked), asked).lines[0]
    exact = sorted({*map(Fraction, values)})
    span = (exact[-1] - exact[0]) or 1
    assert line.values.to_pylist() == sorted({*values})
    low, high = np.triu_indices(len(exact))
    wanted = [float((exact[b] - exact[a]) / span) for a, b in zip(low, high, strict=True)]
    assert line.width(low, high).tolist() == pytest.approx(wanted, rel=1e-9, abs=1e-15)


@settings(deadline=None)
@given(near_limits())
def test_numbers_of_a_sensitive_column_keep_their_distance(drawn: tuple[pa.DataType, list[Any]]) -> None:
    """By type, and as the texts that a text file has for them."""
    kind, values = drawn
    assume(not pa.types.is_decimal256(kind))  # which is refused as a sensitive column
    array = pa.array(values, kind)
    for held in (array, typed_column("s", pa.chunked_array([array]), policy()).cast(pa.string()).combine_chunks()):
        domain = domain_of(held)
        exact = [Fraction(text) for text in domain.texts.to_pylist()]
        assert domain.ranks.tolist() == [sorted({*exact}).index(x) for x in exact]
        found = domain.deviations[:-1]
        span = float(max(exact) - min(exact))
        assert (found - found[0]).tolist() == pytest.approx([float(x - exact[0]) for x in exact], abs=1e-15 * span)


@settings(deadline=None)
@given(near_limits(), st.sampled_from([None, ".csv", ".parquet"]))
def test_the_verifier_measures_and_ranks_exactly(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[pa.DataType, list[Any]], ending: str | None
) -> None:
    kind, values = drawn
    assume(not pa.types.is_decimal256(kind))
    array = typed_column("s", pa.chunked_array([pa.array(values, kind)]), policy())
    table: Any = pa.table({"q": ["a"] * len(values), "s": array})
    if ending is not None:
        path = tmp_path_factory.mktemp("exact") / f"release{ending}"
        write_table(table, path)
        table = path
    asked = [VarianceDiversity(v=0, of="s"), DistinctLDiversity(l=2, of="s")]
    found = {f.requirement: f.achieved for f in verify(table, asked, {"q": ["q"]}, values=policy().columns).findings}
    assert found[asked[0]] == pytest.approx(float(variance(values)), rel=1e-9)
    assert found[asked[1]] == len({*values})


def test_far_classes_of_near_numbers_are_not_equally_close() -> None:
    """As floating-point numbers these are one, and every class is as close to the table as can be."""
    near = pa.array([LARGE - 1, LARGE, LARGE - 1, LARGE], pa.uint64())
    table = pa.table({"q": ["a", "b", "a", "b"], "s": near})
    [found] = verify(table, [TCloseness(t=0.9, of="s", distance="ordered")], {"q": ["q"]}).findings
    assert found.achieved == 0.5


@settings(deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from([0, 1]), st.integers(0, 9))
def test_a_token_stands_for_one_number_and_not_for_its_neighbours(kind: pa.DataType, end: int, at: int) -> None:
    assume(not pa.types.is_decimal256(kind))
    first = ends(kind)[end] + (1 - 2 * end) * at
    values = [value(first + (1 - 2 * end) * i, kind) for i in range(10)]
    token = str(values[3])
    array = typed_column("s", pa.chunked_array([pa.array(values, kind)]), policy())
    asked = policy(missing=(token,))
    assert typed_column("s", array, asked).to_pylist() == [None if v == values[3] else v for v in values]
    table = pa.table({"q": ["a"] * 10, "s": array})
    requirements = [DistinctLDiversity(l=2, of="s"), VarianceDiversity(v=0, of="s")]
    counted, spread = verify(table, requirements, {"q": ["q"]}, missing=(token,), values=asked.columns).findings
    assert counted.achieved == 10  # the nine that are there, and what is missing
    assert spread.achieved == pytest.approx(float(variance(values[:3] + values[4:])))


def test_a_token_of_a_narrow_column_is_the_number_nearest_to_it() -> None:
    column = pa.chunked_array([pa.array([0.1, 0.2], pa.float32())])
    asked = policy(missing=("0.1",))
    assert typed_column("s", column, asked).null_count == 1
    table = pa.table({"q": ["a", "a"], "s": column})
    [found] = verify(
        table, [VarianceDiversity(v=0, of="s")], {"q": ["q"]}, missing=("0.1",), values=asked.columns
    ).findings
    assert found.achieved == 0


@settings(deadline=None)
@given(near_limits(least=1), st.sampled_from([1, 3, 10, 0.5, 0.01, 10**15]), st.integers(2, 5))
def test_intervals_hold_the_numbers_they_are_the_label_of(
    drawn: tuple[pa.DataType, list[Any]], width: float, times: int
) -> None:
    kind, values = drawn
    column = typed_column("q", pa.chunked_array([pa.array(values, kind)]), policy()).unique()
    exact = {str(text): Fraction(text) for text in column.cast(pa.string()).to_pylist()}
    sorted_exact = sorted(exact.values())
    breaks = sorted({int(sorted_exact[0]), int(sorted_exact[-1]) - 1, int(sorted_exact[-1])})
    for hierarchy in (
        Hierarchy.intervals(column, widths=[width, Fraction(str(width)) * times if width < 1 else width * times]),
        Hierarchy.intervals(column, breaks=breaks),
    ):
        for leaf, *above in hierarchy.to_rows():
            assert len(above) > 1  # none is left directly under the root
            for label in above[:-1]:
                low, high = label[1:-1].split(", ")
                assert low == "-inf" or Fraction(low) <= exact[leaf]
                assert high == "inf" or exact[leaf] < Fraction(high)


@pytest.mark.parametrize("publish", ["range", "region", "bounds"])
@pytest.mark.parametrize("kind", [*INTEGERS, pa.decimal64(18, 4), pa.decimal128(38, 0), pa.float16()], ids=str)
def test_a_release_shows_its_numbers_and_its_recoding_finds_them_again(
    kind: pa.DataType, publish: str, tmp_path: Path
) -> None:
    top = ends(kind)[1] if kind != pa.float16() else 0
    units = [top - 3 * i for i in range(8) for _ in range(2)]
    values = [value(one, kind) for one in units] if top else [np.float16(65504 - 32 * i // 2) for i in range(16)]
    table = pa.table({"x": pa.array(values, kind)})
    asked = Policy.quick(table.column_names, qi=["x"], k=4, publish=publish)
    release = rk.anonymize(table, asked)
    release.recoding.save(tmp_path / "phi.json")
    again = Recoding.load(tmp_path / "phi.json").apply(table)
    names = again.column_names
    assert sorted(map(str, again.to_pylist())) == sorted(map(str, release.table.select(names).to_pylist()))
    if publish == "range":
        span = Fraction(max(values).item() if kind == pa.float16() else max(values)) - Fraction(
            min(values).item() if kind == pa.float16() else min(values)
        )
        ranges = [text[1:-1].split(", ") for text in release.table["x"].to_pylist()]
        lost = sum((Fraction(b) - Fraction(a)) / span for a, b in ranges) / len(ranges)
        assert release.certificate.loss.gcp == pytest.approx(float(lost), rel=1e-6)
        assert lost > 0.02


@pytest.mark.parametrize("kind", [pa.uint64(), pa.decimal32(9, 2), pa.decimal64(18, 4), pa.float16()], ids=str)
def test_engines_on_disk_tell_the_same_of_numbers_at_the_limit(kind: pa.DataType, tmp_path: Path) -> None:
    if kind == pa.float16():
        values: list[Any] = [np.float16(65504 - 32 * (i % 8)) for i in range(64)]
    else:
        values = [value(ends(kind)[1] - 3 * (i % 8), kind) for i in range(64)]
    table = pa.table({"x": pa.array(values, kind), "s": [str(i % 3) for i in range(64)]})
    found = []
    for engine in ("memory", "rothko-t", "rothko-s"):
        asked = Policy.quick(table.column_names, qi=["x"], sensitive=["s"], k=4, engine=engine)
        release = rk.anonymize(table, asked)
        found.append((release.certificate.loss.gcp, sorted(release.table["x"].to_pylist())))
    assert found[0] == found[1] == found[2]


def test_decimals_with_more_digits_than_can_be_compared_are_refused() -> None:
    for scale in (0, 10):
        table = pa.table({"x": pa.array([Decimal(10) ** (38 - scale), Decimal(2)], pa.decimal256(76, scale))})
        with pytest.raises(InputError, match=r"more than the 38 digits.*round") as refused:
            rk.anonymize(table, Policy.quick(["x"], qi=["x"], k=2))
        assert "1000" not in str(refused.value)


def test_whole_numbers_in_text_of_any_length_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("x\n" + "".join(f"{LARGE - i}\n" for i in range(8)))
    asked = Policy.quick(["x"], qi=["x"], k=2, types={"x": "number"})
    shown = sorted({*rk.anonymize(path, asked).table["x"].to_pylist()})
    assert shown == [f"[{LARGE - 1 - i}, {LARGE - i}]" for i in (6, 4, 2, 0)]


@pytest.mark.parametrize("other", ["0.5", "1e3"])
def test_numbers_in_text_that_would_be_rounded_are_refused(other: str, tmp_path: Path) -> None:
    path = tmp_path / "mixed.csv"
    path.write_text(f"x\n9007199254740993\n{other}\n")
    asked = Policy.quick(["x"], qi=["x"], k=2, types={"x": "number"})
    with pytest.raises(InputError, match=r"more digits.*type: text"):
        rk.anonymize(path, asked)
    # Where nothing is said of it, it stays the text that it is.
    assert rk.draft(path).policy.columns["x"].type == "auto"


def test_floats_of_sixteen_digits_that_are_exact_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "moments.csv"
    path.write_text("x\n1600000000000000.0\n1600000000000001.5\n")
    shown = rk.anonymize(path, Policy.quick(["x"], qi=["x"], k=2, publish="bounds")).table
    assert "1600000000000001.5" in str(pa.table(shown)["x_max"][0])


def test_loss_of_a_written_release_is_that_of_its_numbers(tmp_path: Path) -> None:
    """The release that told of no loss at all."""
    rng = np.random.default_rng(0)
    table = pa.table({"id": pa.array((2**63 + rng.integers(0, 500, 2000).astype(np.uint64)), pa.uint64())})
    pq.write_table(table, tmp_path / "ids.parquet")
    release = rk.anonymize(tmp_path / "ids.parquet", Policy.quick(["id"], qi=["id"], k=50))
    assert 0.01 < release.certificate.loss.gcp < 0.1
    assert rk.measure(tmp_path / "ids.parquet", release).gcp == pytest.approx(release.certificate.loss.gcp)

"""Values to codes: compared with `sorted(set(...))` in Python, for every type, through schema and encoder together."""

from __future__ import annotations

import datetime
import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind, Line
from rothko.data.typed import typed
from rothko.errors import InputError
from rothko.policy.policy import Policy

SECRET = "SECRET-4711"
DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 5)
NOON_UTC = NOON.replace(tzinfo=datetime.UTC)


def encoded(
    column: Any, spec: dict[str, Any] | None = None, *, missing: Sequence[str] = (), threads: int = 1
) -> Encoded:
    policy = Policy(
        columns={"q": {"role": "quasi-identifier", **(spec or {})}},
        privacy=[{"k-anonymity": {"k": 2}}],
        missing=tuple(missing),
    )
    return encode(typed(pa.table({"q": column}), policy), policy, threads=threads)


def line_and_codes(column: Any, spec: dict[str, Any] | None = None, **options: Any) -> tuple[Line, list[int]]:
    result = encoded(column, spec, **options)
    assert result.codes.dtype == np.int32
    return result.lines[0], result.codes[0].tolist()


def check_ranks(line: Line, codes: list[int], values: Sequence[Any]) -> None:
    """Codes are ranks among the distinct values, missing (None) is the last code."""
    distinct = sorted({value for value in values if value is not None})
    assert codes == [len(distinct) if value is None else distinct.index(value) for value in values]
    assert line.values.to_pylist() == distinct
    assert line.missing == (None in values)
    assert line.size == len(distinct) + (None in values)
    assert line.missing_code == (len(distinct) if None in values else -1)


def check_places(line: Line, numbers: Sequence[Any]) -> None:
    """Places are where each number lies between the first and the last."""
    exact = [Fraction(number) for number in numbers]
    span = exact[-1] - exact[0] if len(exact) > 1 else 1
    assert (line.places / line.span).tolist() == pytest.approx(
        [float((x - exact[0]) / (span or 1)) for x in exact], abs=1e-12
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("signed", [True, False])
def test_integers(bits: int, signed: bool, missing: bool) -> None:
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    values = [7, low, high, 7, 3, high, *([None] if missing else [])]
    kind = getattr(pa, f"{'' if signed else 'u'}int{bits}")()
    line, codes = line_and_codes(pa.array(values, kind))
    check_ranks(line, codes, values)
    check_places(line, sorted({v for v in values if v is not None}))
    assert line.kind is Kind.ORDERED
    assert line.texts.to_pylist() == [str(v) for v in sorted({v for v in values if v is not None})]


def test_large_unsigned_integers_that_differ_by_one_stay_apart() -> None:
    values = [2**64 - 1, 2**64 - 2, 5, None]
    line, codes = line_and_codes(pa.array(values, pa.uint64()))
    check_ranks(line, codes, values)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_floats(kind: pa.DataType, missing: bool) -> None:
    values = [1.5, -2.25, 1.5, 1000.0, 0.0]
    gaps = [float("nan"), None] if missing else []
    line, codes = line_and_codes(pa.array([*values, *gaps], kind))
    check_ranks(line, codes, [*values, *([None] * len(gaps))])
    check_places(line, sorted(set(values)))


@pytest.mark.parametrize("gap", [[], [None], [float("nan")]])
def test_negative_zero_is_zero(gap: list[float | None]) -> None:
    line, codes = line_and_codes(pa.array([0.0, -0.0, 1.0, *gap], pa.float64()))
    assert codes == [0, 0, 1, *([2] if gap else [])]
    assert len(line.values) == 2


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-20, 20)), min_size=1))
@settings(deadline=None)
def test_any_integers(values: list[int | None]) -> None:
    line, codes = line_and_codes(pa.array(values, pa.int64()))
    check_ranks(line, codes, values)


@given(st.lists(st.one_of(st.none(), st.floats(-1e300, 1e300)), min_size=1))
@settings(deadline=None)
def test_any_floats(values: list[float | None]) -> None:
    values = [None if value is None else value + 0.0 for value in values]  # −0.0 has its own test
    line, codes = line_and_codes(pa.array(values, pa.float64()))
    check_ranks(line, codes, values)


@given(st.lists(st.one_of(st.none(), st.text(min_size=1)), min_size=1))
@settings(deadline=None)
def test_any_text(values: list[str | None]) -> None:
    line, codes = line_and_codes(pa.array(values, pa.string()))
    distinct = sorted({value.encode() for value in values if value is not None})  # the order of UTF-8 bytes
    assert codes == [len(distinct) if value is None else distinct.index(value.encode()) for value in values]
    assert [text.encode() for text in line.values.to_pylist()] == distinct


TEMPORAL = [
    (pa.date32(), [DAY, datetime.date(1850, 1, 1), DAY, datetime.date(2600, 1, 1)]),
    (pa.date64(), [DAY, datetime.date(1850, 1, 1), DAY]),
    (pa.timestamp("s"), [NOON.replace(microsecond=0), datetime.datetime(1600, 1, 1), NOON.replace(microsecond=0)]),
    (pa.timestamp("ms"), [NOON.replace(microsecond=7000), datetime.datetime(1600, 1, 1)]),
    (pa.timestamp("us"), [NOON, NOON + datetime.timedelta(microseconds=1), datetime.datetime(1600, 1, 1)]),
    (pa.timestamp("us", tz="UTC"), [NOON_UTC, datetime.datetime(1600, 1, 1, tzinfo=datetime.UTC)]),
    (pa.timestamp("us", tz="Europe/Zurich"), [NOON_UTC, NOON_UTC.replace(year=2023, day=1)]),
    (pa.time32("s"), [datetime.time(3), datetime.time(1), datetime.time(3)]),
    (pa.time32("ms"), [datetime.time(3), datetime.time(1, 2, 3, 4000)]),
    (pa.time64("us"), [datetime.time(3), datetime.time(1, 2, 3, 4)]),
]  # fmt: skip
OTHERS = [
    (pa.bool_(), [True, False, True]),
    (pa.bool_(), [True, True]),
    (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("-2.00"), Decimal("1.50")]),
    (pa.decimal256(60, 2), [Decimal("1.50"), Decimal("-2.00"), Decimal(10) ** 30]),
    (pa.string(), ["b", "a", "b", "ä", "B"]),
    (pa.large_string(), ["b", "a", "b"]),
    (pa.string_view(), ["b", "a", "b"]),
    (pa.dictionary(pa.int8(), pa.string()), ["b", "a", "b"]),
    (pa.dictionary(pa.uint16(), pa.large_string()), ["b", "a", "b"]),
    (pa.dictionary(pa.int32(), pa.int64()), [5, 3, 5]),
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("kind", "values"), TEMPORAL + OTHERS, ids=lambda x: str(x) if isinstance(x, pa.DataType) else ""
)
def test_every_type_is_ranked(kind: pa.DataType, values: list[Any], missing: bool) -> None:
    values = [*values, None, values[0]] if missing else values
    line, codes = line_and_codes(pa.array(values, kind))
    check_ranks(line, codes, values)
    text = line.values.type == pa.string()
    assert line.kind is (Kind.NOMINAL if text else Kind.ORDERED)
    if not text:
        assert (line.places / line.span)[0] == 0.0
        assert (line.places / line.span)[-1] == (1.0 if len(line.values) > 1 else 0.0)


@pytest.mark.parametrize(
    ("kind", "values"), TEMPORAL + OTHERS, ids=lambda x: str(x) if isinstance(x, pa.DataType) else ""
)
def test_chunks_do_not_matter(kind: pa.DataType, values: list[Any]) -> None:
    whole = pa.array([*values, None], kind)
    parts = pa.chunked_array([whole[:1], whole[:0], whole[1:]])
    line, codes = line_and_codes(parts)
    expected, expected_codes = line_and_codes(whole)
    assert codes == expected_codes
    assert line.values.equals(expected.values)


@pytest.mark.parametrize("missing", [[], [1], [0, 4, 5, 6, 7]])
def test_blocks_do_not_matter(missing: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    values = [None if i in missing else v for i, v in enumerate([7, -3, 7, 900, 0, 1, 7, 1, 55, -3])]
    expected, expected_codes = line_and_codes(pa.array(values, pa.int16()))
    monkeypatch.setattr("rothko.data.encode.BLOCK", 2)
    line, codes = line_and_codes(pa.array(values, pa.int16()))
    assert codes == expected_codes
    assert line.values.equals(expected.values)
    check_ranks(line, codes, values)


def test_dates_lie_where_their_days_do() -> None:
    line, _ = line_and_codes(
        pa.array([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), datetime.date(2020, 1, 11)])
    )
    assert (line.places / line.span).tolist() == pytest.approx([0, 0.1, 1])


@pytest.mark.parametrize(
    "kind", [pa.null(), pa.int32(), pa.float64(), pa.string(), pa.date32(), pa.bool_(), pa.decimal128(5)]
)
def test_a_column_in_which_all_is_missing(kind: pa.DataType) -> None:
    line, codes = line_and_codes(pa.nulls(3, kind))
    assert codes == [0, 0, 0]
    assert (line.size, line.missing_code, len(line.values)) == (1, 0, 0)
    assert line.width(np.array([0]), np.array([0])).tolist() == [0.0]


@pytest.mark.parametrize("value", [5, 1.5, "x", True, DAY, NOON, Decimal("1.5")])
def test_a_column_of_one_value(value: Any) -> None:
    line, codes = line_and_codes(pa.array([value] * 3))
    assert codes == [0, 0, 0]
    assert line.values.to_pylist() == [value]
    assert line.size == 1


def test_a_dictionary_with_unused_entries_ranks_only_what_occurs() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([3, None, 1], pa.int8()), ["never", "b", SECRET, "a"])
    line, codes = line_and_codes(column)
    assert (codes, line.values.to_pylist()) == ([0, 2, 1], ["a", "b"])


def test_chunks_with_dictionaries_of_their_own() -> None:
    chunks = [pa.array(part).dictionary_encode() for part in (["b", "a"], ["c", None, "a"], ["a", "b"])]
    line, codes = line_and_codes(pa.chunked_array(chunks))
    assert (codes, line.values.to_pylist()) == ([1, 0, 2, 3, 0, 0, 1], ["a", "b", "c"])


def test_a_null_inside_a_dictionary_is_missing() -> None:
    """Arrow allows it, and `dictionary_encode(null_encoding="encode")` makes it."""
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["b", None, "a"]))
    line, codes = line_and_codes(column)
    assert (codes, line.values.to_pylist(), line.missing) == ([1, 2, 0], ["a", "b"], True)


def test_a_value_that_a_dictionary_lists_twice_is_one_value() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["b", "a", "b"]))
    line, codes = line_and_codes(column)
    assert (codes, line.values.to_pylist()) == ([1, 0, 1], ["a", "b"])


def test_a_dictionary_200_000_wide() -> None:
    n = 200_000
    numbers = list(range(n))
    random.Random(0).shuffle(numbers)
    texts = [f"v{i:06d}" for i in numbers]
    line, codes = line_and_codes(pa.array(texts))
    assert codes == numbers
    assert line.size == n
    line, codes = line_and_codes(pa.array(texts), {"hierarchy": "auto"})
    assert codes == numbers
    assert line.tree is not None
    assert line.tree.leaves.to_pylist() == sorted(texts)


@pytest.mark.parametrize(
    "values",
    [
        [2**60, 2**60 + 1, 2**60 + 3],
        [-1.7e308, 0.0, 1.7e308],
        [5e-324, 1e-323],
    ],
    ids=["large and close", "overflow", "denormal"],
)
def test_places_of_extreme_numbers_rise_from_0_to_1(values: list[Any]) -> None:
    line, codes = line_and_codes(pa.array(values))
    check_ranks(line, codes, values)
    assert np.all(np.isfinite(line.places / line.span))
    assert ((line.places / line.span)[0], (line.places / line.span)[-1]) == (0.0, 1.0)
    assert np.all(np.diff(line.places / line.span) > 0), "different values are at different places"


def test_nanoseconds_that_are_close() -> None:
    column = pa.array([1_700_000_000_000_000_000, 1_700_000_000_000_000_010]).view(pa.timestamp("ns"))
    line, codes = line_and_codes(column)
    assert codes == [0, 1]
    assert (line.places / line.span).tolist() == [0.0, 1.0]


# ── ordinal text ─────────────────────────────────────────────────────────────────────────────────


def test_an_ordinal_column_follows_its_order() -> None:
    values = ["high", "low", None, "mid", "low"]
    line, codes = line_and_codes(pa.array(values), {"order": ["low", "never", "mid", "high"]})
    assert line.kind is Kind.ORDERED
    assert (codes, line.values.to_pylist()) == ([2, 0, 3, 1, 0], ["low", "mid", "high"])
    assert (line.places / line.span).tolist() == [0.0, 0.5, 1.0]


def test_an_order_that_leaves_values_out_names_none() -> None:
    with pytest.raises(InputError) as caught:
        line_and_codes(pa.array(["low", SECRET, "mid"]), {"order": ["low", "mid"]})
    assert SECRET not in str(caught.value)
    assert "1 of its 3 values" in str(caught.value)
    assert caught.value.values == (SECRET,)


# ── hierarchies ──────────────────────────────────────────────────────────────────────────────────

HIERARCHIES: list[tuple[Any, list[Any], dict[str, list[str]]]] = [
    # (asked for, values, the labels above each value's text without the root)
    ("flat", ["a", "b", "c"], {"a": [], "b": [], "c": []}),
    ({"mask": "right"}, ["021", "027", "9"], {"021": ["02*", "0**"], "027": ["02*", "0**"], "9": []}),
    ({"mask": "left"}, ["021", "931"], {"021": ["*21", "**1"], "931": ["*31", "**1"]}),
    ({"mask": "right"}, [21, 27], {"21": ["2*"], "27": ["2*"]}),
    ({"intervals": [5, 10]}, [42, 37], {"42": ["[40, 45)", "[40, 50)"], "37": ["[35, 40)", "[30, 40)"]}),
    ({"intervals": [0.5]}, [1.25, 0.5], {"1.25": ["[1, 1.5)"], "0.5": ["[0.5, 1)"]}),
    ({"breaks": [18, 65]}, [17, 18, 70], {"17": ["(-inf, 18)"], "18": ["[18, 65)"], "70": ["[65, inf)"]}),
    ({"dates": ["month", "year"]}, [DAY], {"2024-02-29": ["2024-02", "2024"]}),
    ({"tree": {"X": ["b", "a"], "Y": ["c", "unused"]}}, ["a", "b", "c"], {"a": ["X"], "b": ["X"], "c": ["Y"]}),
    ({"tree": {"yes": ["true"], "no": ["false"]}}, [True, False], {"true": ["yes"], "false": ["no"]}),
]  # fmt: skip


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(("asked", "values", "above"), HIERARCHIES, ids=str)
def test_a_hierarchy_through_the_policy(
    asked: Any, values: list[Any], above: dict[str, list[str]], missing: bool
) -> None:
    line, codes = line_and_codes(pa.array([*values, values[0], *([None] if missing else [])]), {"hierarchy": asked})
    tree = line.tree
    assert line.kind is Kind.TREE
    assert tree is not None
    assert sorted(codes[: len(values)]) == list(range(len(values)))
    assert codes[len(values)] == codes[0]
    assert [line.values.to_pylist()[code] for code in codes[: len(values)]] == values
    labels = tree.labels.to_pylist()
    for code, text in zip(codes, line.texts.take(pa.array(codes[: len(values)])).to_pylist(), strict=False):
        node, path = int(tree.leaf[code]), []
        assert labels[node] == text
        while (node := int(tree.parent[node])) > 0:
            path.append(labels[node])
        assert path == above[text]
    if missing:
        assert codes[-1] == line.missing_code == len(values)
        node = tree.leaf[codes[-1]]
        assert (labels[node], tree.parent[node]) == (None, 0)


def test_an_automatic_hierarchy_follows_the_counts() -> None:
    line, codes = line_and_codes(pa.array(["e"] * 8 + list("abcd") * 2), {"hierarchy": "auto"})
    assert line.tree is not None
    assert line.values.to_pylist() == list("abcde")
    parent = line.tree.parent[line.tree.leaf]
    assert parent[4] == 0, "half of the records: a child of the root"
    assert codes[0] == 4


def test_a_hierarchy_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;X;*\nb;X;*\nc;Y;*\n", "utf-8")
    line, codes = line_and_codes(pa.array(["c", "a"]), {"hierarchy": str(tmp_path / "h.csv")})
    assert (codes, line.values.to_pylist()) == ([1, 0], ["a", "c"])


def test_a_value_without_a_leaf_is_counted_and_not_named() -> None:
    with pytest.raises(InputError) as caught:
        line_and_codes(pa.array(["a", SECRET]), {"hierarchy": {"tree": {"X": ["a", "b"]}}})
    assert SECRET not in str(caught.value)
    assert caught.value.values == (SECRET,)


@pytest.mark.parametrize("asked", [{"intervals": [5]}, {"breaks": [5]}, {"dates": ["year"]}])
def test_a_hierarchy_for_another_type_is_refused(asked: Any) -> None:
    with pytest.raises(InputError, match=r"^Column 'q': .* needs? (numbers|dates)") as caught:
        line_and_codes(pa.array([SECRET, "b"]), {"hierarchy": asked})
    assert SECRET not in str(caught.value)


# ── what cannot be ranked ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("infinite", [float("inf"), float("-inf")])
@pytest.mark.parametrize("gap", [[], [None]])
def test_infinite_numbers_are_refused(infinite: float, gap: list[None]) -> None:
    with pytest.raises(InputError, match="infinite numbers") as caught:
        line_and_codes(pa.array([1.5, infinite, 4711.25, *gap]))
    assert "4711" not in str(caught.value)


def test_infinite_numbers_can_be_declared_missing() -> None:
    line, codes = line_and_codes(pa.array([1.5, float("inf"), float("-inf")]), missing=["inf", "-inf"])
    assert (codes, line.values.to_pylist(), line.missing) == ([0, 1, 1], [1.5], True)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([[1], [2]]),
        pa.array([{"a": SECRET}]),
        pa.array([SECRET.encode()]),
        pa.array([SECRET.encode()], pa.large_binary()),
        pa.array([5], pa.duration("s")),
        pa.array([[(SECRET, 1)]], pa.map_(pa.string(), pa.int64())),
    ],
    ids=lambda column: str(column.type),
)
def test_a_type_that_cannot_be_ranked_is_refused(column: pa.Array) -> None:
    with pytest.raises(InputError, match=r"^Column 'q' holds .* which cannot be generalised") as caught:
        line_and_codes(column)
    assert SECRET not in str(caught.value)


# ── text that holds numbers and dates ────────────────────────────────────────────────────────────

NUMBER = {"type": "number"}


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        ([" 42", "42.0", "+7", "-3 "], [42, 42, 7, -3]),
        (["42.5", "1e3", ".5", "-1.", "+0.25"], [42.5, 1000.0, 0.5, -1.0, 0.25]),
        (["007", "7"], [7, 7]),
        (["5", "", None], [5, None, None]),
        (["", None], [None, None]),
    ],
)
def test_text_that_is_declared_a_number(texts: list[str | None], numbers: list[float | None]) -> None:
    line, codes = line_and_codes(pa.array(texts, pa.string()), NUMBER)
    check_ranks(line, codes, numbers)
    assert line.kind is Kind.ORDERED


def test_whole_numbers_in_text_keep_all_their_digits() -> None:
    line, codes = line_and_codes(pa.array(["123456789012345678", "123456789012345677"]), NUMBER)
    assert (codes, line.values.to_pylist()) == ([1, 0], [123456789012345677, 123456789012345678])


@pytest.mark.parametrize("as_dictionary", [False, True])
def test_numbers_in_text_may_be_whole_in_one_chunk_and_not_in_another(as_dictionary: bool) -> None:
    chunks = [pa.array(part) for part in (["1", "2"], ["2.5", "1"], [None])]
    chunks = [chunk.cast(pa.string()).dictionary_encode() for chunk in chunks] if as_dictionary else chunks[:2]
    line, codes = line_and_codes(pa.chunked_array(chunks), NUMBER)
    assert codes[:4] == [0, 1, 2, 0]
    assert line.values.to_pylist() == [1.0, 2.0, 2.5]


@pytest.mark.parametrize("bad", [SECRET, "4,5", "1 2", "0x1F", "--1", "1e", "nan", "inf", "٤٢", "12 kg"])
def test_text_that_is_no_number_is_counted_and_not_named(bad: str) -> None:
    with pytest.raises(InputError) as caught:
        line_and_codes(pa.array(["42", bad, bad, None]), NUMBER)
    assert str(caught.value).startswith("Column 'q': 1 distinct value(s) cannot be read as a number;")
    assert bad not in str(caught.value).removeprefix("Column 'q': 1 distinct")
    assert caught.value.values == (bad,)


def test_an_unused_dictionary_entry_is_not_read_as_a_number() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, 2, None]), [SECRET, "42", "7"])
    line, codes = line_and_codes(column, NUMBER)
    assert (codes, line.values.to_pylist()) == ([1, 0, 2], [7, 42])


@pytest.mark.parametrize(
    ("kind", "texts", "values"),
    [
        ("date", ["2024-02-29", " 2023-01-01", None], [DAY, datetime.date(2023, 1, 1), None]),
        ("timestamp", ["2024-02-29", ""], [datetime.datetime(2024, 2, 29), None]),
        ("timestamp", ["2024-02-29 10:30"], [datetime.datetime(2024, 2, 29, 10, 30)]),
        ("timestamp", ["2024-02-29T10:30:01.5", ""], [datetime.datetime(2024, 2, 29, 10, 30, 1, 500_000), None]),
        # The schema says that it takes a Z.
        ("timestamp", ["2024-02-29T10:30:00Z"], [datetime.datetime(2024, 2, 29, 10, 30)]),
    ],
)  # fmt: skip
def test_text_that_is_declared_a_date(kind: str, texts: list[str | None], values: list[Any]) -> None:
    line, codes = line_and_codes(pa.array(texts), {"type": kind})
    check_ranks(line, codes, values)


@pytest.mark.parametrize("kind", ["date", "timestamp"])
@pytest.mark.parametrize("bad", [SECRET, "29.02.2024", "2024-2-9", "2023-02-29", "2024-13-01"])
def test_text_that_is_no_date_is_not_named(kind: str, bad: str) -> None:
    with pytest.raises(InputError, match=r"^Column 'q'") as caught:
        line_and_codes(pa.array(["2024-02-29", bad]), {"type": kind})
    assert bad not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        (pa.array([NOON, None]), "date", [DAY, None]),
        (pa.array([DAY]), "timestamp", [datetime.datetime(2024, 2, 29)]),
        (pa.array([3, 10]), "text", ["3", "10"]),
        (pa.array([True]), "text", ["true"]),
        (pa.array([3, 10]), "number", [3, 10]),
    ],
)
def test_a_type_is_turned_into_the_one_that_is_declared(column: pa.Array, kind: str, values: list[Any]) -> None:
    line, codes = line_and_codes(column, {"type": kind})
    check_ranks(line, codes, values)
    assert line.kind is (Kind.NOMINAL if kind == "text" else Kind.ORDERED)


@pytest.mark.parametrize(
    ("column", "kind"), [(pa.array([4711]), "date"), (pa.array([DAY]), "number"), (pa.array([True]), "number")]
)
def test_a_type_that_does_not_fit_is_refused(column: pa.Array, kind: str) -> None:
    with pytest.raises(InputError, match=f"which is not a {kind}; correct its 'type'") as caught:
        line_and_codes(column, {"type": kind})
    assert "4711" not in str(caught.value)


# ── missing values ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("column", "tokens", "values"),
    [
        (pa.array(["a", "NA", "", "b", None]), ["NA", "?"], ["a", None, None, "b", None]),
        (pa.array(["a", "?", "b"]).dictionary_encode(), ["NA", "?"], ["a", None, "b"]),
        (pa.array(["a", " "]), ["NA"], ["a", " "]),
        (pa.array([5, -1, 999]), ["-1", "999"], [5, None, None]),
        (pa.array([5.5, -1.0, None]), ["-1"], [5.5, None, None]),
        (pa.array([True, False]), ["false"], [True, None]),
        (pa.array([DAY, datetime.date(1900, 1, 1)]), ["1900-01-01"], [DAY, None]),
        (pa.array([1, 2], pa.uint64()), ["2"], [1, None]),
        (pa.array([1, 2]), ["x"], [1, 2]),
    ],
)
def test_tokens_for_missing(column: pa.Array, tokens: list[str], values: list[Any]) -> None:
    line, codes = line_and_codes(column, missing=tokens)
    check_ranks(line, codes, values)


@pytest.mark.parametrize(
    ("column", "token"),
    [
        (pa.array([5.5, -9.0]), "-9.0"),
        (pa.array([5, -9]), "-9.0"),
        (pa.array([Decimal("5.50"), Decimal("-9.00")]), "-9"),
    ],
    ids=["float as in the file", "integer", "decimal"],
)
def test_a_token_that_is_a_number_means_the_number_however_it_is_written(column: pa.Array, token: str) -> None:
    """A file says −9.0, the column becomes a float whose text is −9: the token as it stands in the file must count."""
    line, codes = line_and_codes(column, missing=[token])
    assert (codes, line.missing) == ([0, 1], True)


def test_a_token_may_stand_between_numbers_in_text() -> None:
    line, codes = line_and_codes(pa.array(["42", "NA", "7"]), NUMBER, missing=["NA"])
    assert (codes, line.values.to_pylist()) == ([1, 2, 0], [7, 42])


# ── the whole table ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("threads", [1, 3])
def test_lines_come_in_the_order_of_the_policy_and_sensitive_columns_as_bins(threads: int) -> None:
    policy = Policy(
        columns={
            "s": {"role": "sensitive"},
            "b": {"role": "quasi-identifier", "weight": 2},
            "name": {"role": "identifier"},
            "a": {"role": "quasi-identifier"},
            "kept": {"role": "keep"},
            "t": {"role": "sensitive"},
        },
        privacy=[{"k-anonymity": {"k": 2}}],
        missing=("?",),
    )
    table = pa.table(
        {
            "a": [3, 1, 2],
            "b": ["y", "x", None],
            "s": ["flu", "?", "flu"],
            "t": [2.5, float("nan"), 1.0],
            "name": ["n"] * 3,
            "kept": [[1]] * 3,
        }
    )
    result = encode(typed(table, policy), policy, threads=threads)
    assert [line.name for line in result.lines] == ["b", "a"]
    assert [line.weight for line in result.lines] == [2, 1]
    assert result.codes.tolist() == [[1, 0, 2], [2, 0, 1]]
    assert result.rows == 3
    assert {name: (codes.tolist(), domain.size) for name, (codes, domain) in result.sensitive.items()} == {
        "s": ([0, 1, 0], 2),
        "t": ([1, 2, 0], 3),
    }


WIDTHS = [
    # (column, specification, low, high, normalised width)
    ([0, 5, 10, None], {}, 0, 1, 0.5),
    ([0, 5, 10, None], {}, 0, 2, 1.0),
    ([0, 5, 10, None], {}, 1, 1, 0.0),
    ([0, 5, 10, None], {}, 2, 3, 1.0),
    ([0, 5, 10, None], {}, 3, 3, 0.0),
    (["a", "b", "c", None], {}, 0, 1, 0.5),
    (["a", "b", "c", None], {}, 2, 3, 1.0),
    (["a", "b", "c"], {}, 0, 2, 1.0),
    (["a", "b", "c", "d"], {"hierarchy": {"tree": {"X": ["a", "b", "c"], "Y": ["d"]}}}, 0, 1, 0.75),
    (["a", "b", "c", "d"], {"hierarchy": {"tree": {"X": ["a", "b", "c"], "Y": ["d"]}}}, 3, 3, 0.0),
    (["a", "b", "c", None], {"hierarchy": {"tree": {"X": ["a", "b", "c"]}}}, 0, 1, 0.75),
    (["a", "b", "c", None], {"hierarchy": {"tree": {"X": ["a", "b", "c"]}}}, 2, 3, 1.0),
    ([None, None], {}, 0, 0, 0.0),
    ([7, 7, None], {}, 0, 1, 1.0),
]


@pytest.mark.parametrize(("column", "spec", "low", "high", "width"), WIDTHS)
def test_the_width_of_an_interval(column: list[Any], spec: dict[str, Any], low: int, high: int, width: float) -> None:
    line, _ = line_and_codes(pa.array(column), spec)
    assert line.width(np.array([low]), np.array([high])).tolist() == [width]

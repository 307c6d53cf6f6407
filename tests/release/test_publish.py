"""Published forms on small examples, and read back: every original value lies inside what is published for it."""

from __future__ import annotations

import csv
import datetime
import math
import re
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

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind, Line
from rothko.data.typed import typed
from rothko.errors import PolicyError
from rothko.methods import Mondrian
from rothko.methods.classes import Classes, LocalClasses
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from rothko.release import publish as publishing
from rothko.release.publish import ROOT, Published, published_names, range_labels, region_labels
from rothko.release.recoding.attribute import Attribute
from rothko.workload import Aggregate
from tests.twins import mondrian as plain

unhurried = settings(deadline=None, max_examples=100)


def encoded(columns: dict[str, Any], specs: dict[str, dict[str, Any]] | None = None) -> Encoded:
    policy = Policy(
        columns={name: {"role": "quasi-identifier", **(specs or {}).get(name, {})} for name in columns},
        privacy=[{"k-anonymity": {"k": 2}}],
    )
    return encode(typed(pa.table(columns), policy), policy)


def one_line(column: Any, **spec: Any) -> Line:
    return encoded({"q": column}, {"q": spec}).lines[0]


def labels(line: Line, *intervals: tuple[int, int], form: str = "range") -> list[str | None]:
    low, high = np.array(intervals, dtype=np.int64).T
    return (range_labels if form == "range" else region_labels)(line, low, high).to_pylist()


def grouped(data: Encoded, groups: Sequence[Sequence[int]]) -> Classes:
    """A partition given by hand."""
    order = np.array([i for group in groups for i in group], dtype=np.int32)
    low = np.array([[data.codes[a, list(g)].min() for a in range(len(data.lines))] for g in groups], dtype=np.int32)
    high = np.array([[data.codes[a, list(g)].max() for a in range(len(data.lines))] for g in groups], dtype=np.int32)
    return LocalClasses(order, np.append(0, np.cumsum([len(g) for g in groups])), low, high)


def publish(data: Encoded, partition: Classes, form: str) -> list[Published]:
    """All published columns in the order of the policy."""
    by_name = publishing.publish(data, partition, form)
    assert list(by_name) == [line.name for line in data.lines]
    for line in data.lines:
        assert tuple(column.name for column in by_name[line.name]) == published_names(line, form)
    return [column for columns in by_name.values() for column in columns]


def shown(column: Published) -> list[Any]:
    """What each class shows."""
    return [column.values.to_pylist()[i] for i in column.of_class]


# ── range ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("column", "spec", "interval", "label"),
    [
        ([20, 35, 40], {}, (0, 1), "[20, 35]"),
        ([20, 35, 40], {}, (1, 1), "35"),
        ([20, 35, 40], {}, (0, 2), "[20, 40]"),
        ([20, 35, None], {}, (0, 1), "[20, 35]"),
        ([20, 35, None], {}, (1, 2), "*"),
        ([20, 35, None], {}, (2, 2), None),
        ([1.5, -2.25], {}, (0, 1), "[-2.25, 1.5]"),
        ([True, False], {}, (0, 1), "[false, true]"),
        ([True, False], {}, (1, 1), "true"),
        ([datetime.date(2024, 2, 29), datetime.date(2023, 1, 1)], {}, (0, 1), "[2023-01-01, 2024-02-29]"),
        ([Decimal("1.50"), Decimal("2.00")], {}, (0, 1), "[1.50, 2.00]"),
        (["low", "high", "mid"], {"order": ["low", "mid", "high"]}, (0, 1), "[low, mid]"),
        (["a", "b", "c"], {}, (0, 1), "{a, b}"),
        (["a", "b", "c"], {}, (1, 1), "b"),
        (["a", "b", "c"], {}, (0, 2), "*"),
        (["a", "b", None], {}, (0, 1), "{a, b}"),
        (["a", "b", None], {}, (1, 2), "*"),
        (["a", "b", None], {}, (2, 2), None),
        (["a"], {}, (0, 0), "a"),
        (["a", None], {}, (0, 0), "a"),
        (["a", None], {}, (0, 1), "*"),
        ([None, None], {}, (0, 0), None),
        (["a", "b", "c"], {"hierarchy": {"tree": {"X": ["a", "b"], "Y": ["c"]}}}, (0, 1), "X"),
        (["a", "b", "c"], {"hierarchy": {"tree": {"X": ["a", "b"], "Y": ["c"]}}}, (2, 2), "c"),
        (["a", "b", "c"], {"hierarchy": {"tree": {"X": ["a", "b"], "Y": ["c"]}}}, (1, 2), "*"),
        (["a", "b", None], {"hierarchy": {"tree": {"X": ["a", "b"], "Y": ["c"]}}}, (0, 1), "X"),
        (["a", "b", None], {"hierarchy": {"tree": {"X": ["a", "b"], "Y": ["c"]}}}, (1, 2), "*"),
        (["a", "b", None], {"hierarchy": {"tree": {"X": ["a", "b"], "Y": ["c"]}}}, (2, 2), None),
        ([21, 27], {"hierarchy": {"mask": "right"}}, (0, 1), "2*"),
    ],
)
def test_range_labels(column: Any, spec: dict[str, Any], interval: tuple[int, int], label: str | None) -> None:
    line = one_line(column, **spec)
    assert labels(line, interval) == [label]
    assert range_labels(line, np.array([interval[0]]), np.array([interval[1]])).type == pa.string()


@pytest.mark.parametrize(
    ("words", "label"),
    [
        (["a, b", "c", "d"], '{"a, b", c}'),
        (['say "hi"', "t", "u"], '{"say ""hi""", t}'),
        (["{x}", "~", "~~"], '{"{x}", ~}'),
        (["two\nlines", "x", "y"], '{"two\nlines", x}'),
        (["ä", "😀", "😎"], "{ä, 😀}"),
    ],
)
def test_sets_quote_what_would_be_misread(words: list[str], label: str) -> None:
    line = one_line(words)
    assert line.values.to_pylist() == words, "the examples are sorted"
    assert labels(line, (0, 1)) == [label]
    assert members(label) == words[:2]


# ── region ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("column", "spec", "interval", "label"),
    [
        ([20, 40, 60], {}, (0, 0), "(-inf, 40)"),
        ([20, 40, 60], {}, (1, 1), "[40, 60)"),
        ([20, 40, 60], {}, (2, 2), "[60, inf)"),
        ([20, 40, 60], {}, (1, 2), "[40, inf)"),
        ([20, 40, 60], {}, (0, 2), "*"),
        ([20], {}, (0, 0), "*"),
        ([20, 40, None], {}, (0, 1), "*"),
        ([20, 40, None], {}, (0, 2), "*"),
        ([20, 40, None], {}, (1, 2), "*"),
        ([20, 40, None], {}, (2, 2), None),
        ([20, 40, None], {}, (1, 1), "[40, inf)"),
        ([None, None], {}, (0, 0), None),
        (["low", "high", "mid"], {"order": ["low", "mid", "high"]}, (1, 1), "[mid, high)"),
        (["a", "b", "c"], {}, (0, 1), "{a, b}"),
        (["a", "b", "c"], {}, (0, 2), "*"),
        ([datetime.date(2024, 2, 29), datetime.date(2023, 1, 1)], {}, (1, 1), "[2024-02-29, inf)"),
    ],
)
def test_region_labels(column: Any, spec: dict[str, Any], interval: tuple[int, int], label: str | None) -> None:
    assert labels(one_line(column, **spec), interval, form="region") == [label]


# ── mean and bounds ──────────────────────────────────────────────────────────────────────────────


def test_mean() -> None:
    data = encoded({"n": [1, 2, 6, 10, None, None, 4], "s": ["a", "b", "c", "a", "a", "b", "b"]})
    columns = publish(data, grouped(data, [[0, 1, 2], [3, 4], [5], [6]]), "mean")
    assert [column.name for column in columns] == ["n", "s"]
    assert columns[0].values.type == pa.float64()
    assert shown(columns[0]) == [3.0, None, None, 4.0]
    assert shown(columns[1]) == ["*", "a", "b", "b"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**53 + 1, 2**53 + 3, 5]),
        pa.array([2**64 - 1, 2**64 - 3, 5], pa.uint64()),
        pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("3")]),
        pa.array([0.1, 0.2, 0.3]),
        pa.array([1e300, 1.5e300, 2.0]),
    ],
    ids=lambda column: str(column.type),
)
def test_mean_of_numbers_of_any_size(column: pa.Array) -> None:
    data = encoded({"n": column})
    values = [float(value) for value in column.to_pylist()]
    result = shown(publish(data, grouped(data, [[0, 1], [2]]), "mean")[0])
    assert result == pytest.approx([math.fsum(values[:2]) / 2, values[2]])


def test_mean_of_large_close_numbers_keeps_its_digits() -> None:
    values = [1e9 + i / 8 for i in range(1000)]
    data = encoded({"n": values})
    assert shown(publish(data, grouped(data, [range(1000)]), "mean")[0]) == [math.fsum(values) / 1000]


def test_bounds() -> None:
    data = encoded(
        {
            "n": [1, 2, 6, 10, None, None],
            "d": [datetime.date(2024, 1, day) for day in range(1, 7)],
            "s": list("abcabc"),
            "o": ["lo", "hi"] * 3,
        },
        {"o": {"order": ["lo", "hi"]}},
    )
    columns = publish(data, grouped(data, [[0, 1, 2], [3, 4], [5]]), "bounds")
    assert [column.name for column in columns] == ["n_min", "n_max", "d_min", "d_max", "s", "o"]
    assert [name for line in data.lines for name in published_names(line, "bounds")] == [c.name for c in columns]
    n_min, n_max, d_min, d_max, s, o = columns
    assert (n_min.values.type, d_min.values.type) == (pa.int64(), pa.date32())
    assert list(zip(shown(n_min), shown(n_max), strict=True)) == [(1, 6), (None, None), (None, None)]
    assert [(a.day, b.day) for a, b in zip(shown(d_min), shown(d_max), strict=True)] == [(1, 3), (4, 5), (6, 6)]
    assert shown(s) == ["*", "{a, b}", "c"]
    assert shown(o) == ["[lo, hi]", "[lo, hi]", "hi"]


@pytest.mark.parametrize("form", ["range", "region", "mean"])
def test_other_forms_keep_the_names(form: str) -> None:
    assert published_names(one_line([1, 2]), form) == ("q",)


# ── statistics for aggregates ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("form", "functions", "names"),
    [
        ("range", ["min", "max"], ["n"]),
        ("range", ["avg"], ["n", "n_mean"]),
        ("range", ["count"], ["n"]),
        ("region", ["max"], ["n", "n_min", "n_max"]),
        ("region", ["sum", "min"], ["n", "n_min", "n_max", "n_mean"]),
        ("bounds", ["min", "sum"], ["n_min", "n_max", "n_mean"]),
        ("mean", ["avg"], ["n"]),
        ("mean", ["avg", "max"], ["n", "n_min", "n_max"]),
    ],
)
def test_statistics_that_the_form_does_not_show_are_added(form: str, functions: list[str], names: list[str]) -> None:
    data = encoded({"n": [1, 2, 6, 10, None, None, 4], "m": [1] * 7})
    result = Mondrian().partition(data, [KAnonymity(k=2)], threads=1)
    workload = [Aggregate("n", functions=tuple(functions))]
    columns = publishing.publish(data, result, form, workload=workload)
    assert [column.name for column in columns["n"]] == names
    assert [column.name for column in columns["m"]] == list(published_names(data.lines[1], form))
    assert published_names(data.lines[0], form, publishing.statistics_asked(workload)["n"]) == tuple(names)


def test_statistics_are_those_of_the_class_and_missing_where_it_has_missing_values() -> None:
    data = encoded({"n": [1, 2, 6, 10, None, None, 4]})
    groups = grouped(data, [[0, 1, 2], [3, 4], [5], [6]])
    _, low, high, mean = publishing.publish(data, groups, "region", workload=[Aggregate("n")])["n"]
    assert (low.values.type, mean.values.type) == (pa.int64(), pa.float64())
    assert list(zip(shown(low), shown(high), shown(mean), strict=True)) == [
        (1, 6, 3.0), (None, None, None), (None, None, None), (4, 4, 4.0),
    ]  # fmt: skip


def test_a_column_that_is_no_quasi_identifier_needs_no_statistics() -> None:
    data = encoded({"n": [1, 2]})
    with pytest.raises(PolicyError, match="'pay', which is no quasi-identifier"):
        publishing.check_statistics(data.lines, publishing.statistics_asked([Aggregate("pay")]))


# ── a nominal line in another order than that of its labels ──────────────────────────────────────


def guided(words: list[str], *, missing: bool = False) -> Line:
    """As `encode` puts the labels in the order of the target's mean."""
    return Line("q", Kind.NOMINAL, pa.array(words), np.empty(0), missing)


@pytest.mark.parametrize("form", ["range", "region"])
@pytest.mark.parametrize(
    ("interval", "label"),
    [((0, 1), "{a, d}"), ((0, 2), '{a, "b, c", d}'), ((1, 3), '{a, "b, c", "{e}"}'), ((2, 2), "b, c"), ((0, 3), "*")],
)
def test_sets_are_listed_in_natural_order(form: str, interval: tuple[int, int], label: str) -> None:
    line = guided(["d", "a", "b, c", "{e}"])
    assert labels(line, interval, form=form) == [label]


def test_missing_values_on_such_a_line() -> None:
    line = guided(["d", "a", "c"], missing=True)
    assert labels(line, (0, 2), (0, 1), (1, 3), (3, 3)) == ["{a, c, d}", "{a, d}", "*", None]


@given(st.permutations(["a", "b", "c, d", "é", '"']), st.integers(0, 3), st.integers(0, 4))
def test_an_order_does_not_show_in_the_sets(words: list[str], low: int, length: int) -> None:
    high = min(low + length, len(words) - 1)
    if high - low in (0, len(words) - 1):
        return
    [label] = labels(guided(words), (low, high))
    assert members(label) == sorted(words[low : high + 1])


def test_the_rules_of_a_recoding_list_labels_in_natural_order() -> None:
    attribute = Attribute.of(guided(["d", "a", "c", "b"]), np.array([2]), Column(role="quasi-identifier"))
    assert (attribute.labels.to_pylist(), attribute.part.tolist()) == (["a", "b", "c", "d"], [0, 1, 1, 0])
    assert (attribute.words(0, 0), attribute.words(1, 1)) == ("{a, d}", "{b, c}")
    placed = attribute.place(pa.chunked_array([["b", "d", "x"]]), Column(role="quasi-identifier"))
    assert placed.tolist() == [1, 0, -1]


# ── what is listed ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("form", ["range", "mean", "bounds"])
def test_only_what_a_class_shows_is_listed_and_only_once(form: str) -> None:
    data = encoded(
        {"n": [1, 2, 3, 4, 5, 6], "t": list("abcabd"), "s": list("uvwuvx")},
        {"t": {"hierarchy": {"tree": {"X": ["a", "b", "c"], "Y": ["d", "e"]}}}},
    )
    for column in publish(data, grouped(data, [[0, 1], [2, 3], [4, 5]]), form):
        values = column.values.to_pylist()
        assert len(set(values)) == len(values)
        assert set(column.of_class.tolist()) == set(range(len(values)))
        assert column.of_class.dtype == np.int32


def test_two_intervals_under_one_node_are_one_label() -> None:
    data = encoded({"t": list("abcabd")}, {"t": {"hierarchy": {"tree": {"X": ["a", "b", "c"], "Y": ["d", "e"]}}}})
    [column] = publish(data, grouped(data, [[0, 1], [2, 3], [4, 5]]), "range")
    assert (shown(column), column.values.to_pylist()) == (["X", "X", "*"], ["*", "X"])


# ── read back ────────────────────────────────────────────────────────────────────────────────────


def members(label: str) -> list[str]:
    """The labels of a published set."""
    assert label.startswith("{")
    assert label.endswith("}")
    [row] = csv.reader([label[1:-1]], skipinitialspace=True) if "\n" not in label else [_split(label[1:-1])]
    return row


def _split(inside: str) -> list[str]:
    return next(csv.reader(iter(inside.splitlines(keepends=True)), skipinitialspace=True))


def covers(line: Line, label: str | None, code: int) -> bool:
    """Whether a published label of any form holds the value of a code, read from the text alone."""
    value = None if code == plain.missing_code(line) else line.values.to_pylist()[code]
    text = None if value is None else line.texts.to_pylist()[code]
    if label is None or value is None:
        return label == ROOT or (label is None and value is None)
    if label in (ROOT, text):
        return True
    if line.kind is Kind.TREE:
        return label in {line.tree.labels.to_pylist()[node] for node in plain.path(line, code)}
    if line.kind is Kind.NOMINAL:
        return label.startswith("{") and text in members(label)
    closed = label[-1] == "]"
    low, high = (float(part) for part in label[1:-1].split(", "))
    assert label[0] in "[("
    return low <= value and (value <= high if closed else value < high)


NESTED = {"tree": {"X": ["a", {"W": ["b", "c"]}], "Y": ["d, e", 'f"g']}}
WORDS = ("a", "b", "c", "d, e", 'f"g', None)


@st.composite
def tables(draw: st.DrawFn) -> Encoded:
    n = draw(st.integers(2, 30))
    some = st.lists(st.sampled_from(WORDS), min_size=n, max_size=n)
    numbers = st.lists(st.one_of(st.none(), st.integers(-9, 9)), min_size=n, max_size=n)
    floats = st.lists(st.sampled_from([0.25, -1.5, 3.0, 1e6]), min_size=n, max_size=n)
    columns = {"i": pa.array(draw(numbers), pa.int64()), "f": draw(floats), "s": pa.array(draw(some), pa.string())}
    columns["t"] = pa.array(draw(some), pa.string())
    return encoded(columns, {"t": {"hierarchy": NESTED}})


@pytest.mark.parametrize("form", ["range", "region"])
@given(data=tables(), k=st.integers(2, 4))
@unhurried
def test_every_value_lies_in_what_is_published_for_it(form: str, data: Encoded, k: int) -> None:
    result = Mondrian().partition(data, [KAnonymity(k=k)], threads=1)
    of = result.class_of()
    for a, column in enumerate(publish(data, result, form)):
        assert column.values.type == pa.string()
        texts = shown(column)
        for i in range(data.rows):
            assert covers(data.lines[a], texts[of[i]], int(data.codes[a, i]))


@given(data=tables(), k=st.integers(2, 4))
@unhurried
def test_bounds_and_means_are_those_of_the_class(data: Encoded, k: int) -> None:
    result = Mondrian().partition(data, [KAnonymity(k=k)], threads=1)
    bounds = {column.name: shown(column) for column in publish(data, result, "bounds")}
    means = {column.name: shown(column) for column in publish(data, result, "mean")}
    for a, name in enumerate("if"):
        for c in range(result.classes):
            records = result.order[result.starts[c] : result.starts[c + 1]]
            codes = data.codes[a, records].tolist()
            if data.lines[a].missing_code in codes:
                assert (bounds[f"{name}_min"][c], bounds[f"{name}_max"][c], means[name][c]) == (None, None, None)
                continue
            values = [data.lines[a].values[code].as_py() for code in codes]
            assert (bounds[f"{name}_min"][c], bounds[f"{name}_max"][c]) == (min(values), max(values))
            assert means[name][c] == pytest.approx(sum(values) / len(values), abs=1e-14 * max(map(abs, values)) + 1e-14)


@given(data=tables(), k=st.integers(2, 4))
@unhurried
def test_regions_of_the_present_values_cover_each_line_without_overlap(data: Encoded, k: int) -> None:
    """Per cut: the parts of a node hold each code of its region once; what mixes in missing values shows the root."""
    result = Mondrian().partition(data, [KAnonymity(k=k)], threads=1)
    cuts = result.cuts
    sizes = np.array([line.size for line in data.lines], dtype=np.int32)
    low, high = {0: np.zeros_like(sizes)}, {0: sizes - 1}
    for node in np.flatnonzero(cuts.attribute >= 0).tolist():
        a, parts = int(cuts.attribute[node]), range(cuts.child[node], cuts.child[node] + cuts.children[node])
        edges = [int(low[node][a]), *(int(cuts.begins[part]) for part in parts[1:]), int(high[node][a]) + 1]
        for j, part in enumerate(parts):
            low[part], high[part] = low[node].copy(), high[node].copy()
            low[part][a], high[part][a] = edges[j], edges[j + 1] - 1
        line = data.lines[a]
        if line.kind is Kind.TREE:
            continue
        texts = labels(line, *((int(low[part][a]), int(high[part][a])) for part in parts), form="region")
        for code in range(edges[0], edges[-1]):
            holding = [covers(line, text, code) for text in texts]
            mixed = [text == ROOT for text in texts]
            assert sum(h and not m for h, m in zip(holding, mixed, strict=True)) + any(mixed) >= 1
            assert sum(h and not m for h, m in zip(holding, mixed, strict=True)) <= 1
            assert sum(mixed) <= 1


def test_labels_that_look_like_published_ones_are_told_apart() -> None:
    line = one_line(["*", "a", "b", "{a, b}"])
    every = labels(line, (0, 0), (1, 2), (3, 3), (0, 3))
    assert len(set(every)) == 4


# ── digits ───────────────────────────────────────────────────────────────────────────────────────


@unhurried
@given(st.lists(st.integers(-10_000, 10_000), min_size=2, max_size=40), st.integers(0, 4))
def test_a_mean_has_no_digits_that_only_floats_have(hundredths: list[int], places: int) -> None:
    """Where the true mean has few digits, it is published to the last of them; elsewhere near to it.

    It has fifteen digits, counted from the largest number.
    """
    values = [value / 10**places for value in hundredths]
    data = encoded({"n": values})
    [mean] = shown(publish(data, grouped(data, [range(len(values))]), "mean")[0])
    true = sum(Fraction(value, 10**places) for value in hundredths) / len(values)
    if (true * 10**8).denominator == 1:
        assert mean == float(true)
    assert mean == pytest.approx(float(true), rel=1e-13, abs=1e-14 * max(map(abs, values)))


@pytest.mark.parametrize("engine", ["memory", "rothko-t"])
def test_short_floats_are_published_as_they_are_written(engine: str, tmp_path: Path) -> None:
    heights = [round(1.5 + (i * 37 % 60) / 100, 2) for i in range(60)]
    table = pa.table({"h": pa.array(heights, pa.float32())})
    for form in ("range", "mean", "bounds"):
        policy = rk.Policy.parse(
            "columns: {h: {role: quasi-identifier}}\nprivacy: [{k-anonymity: {k: 7}}]\npublish: " + form
        )
        rk.anonymize(table, policy, engine=engine).save(tmp_path / f"{form}.csv")
        cells = (tmp_path / f"{form}.csv").read_text().split("\n", 1)[1]
        digits = [len(number.partition(".")[2]) for number in re.findall(r"[\d.]+", cells)]
        assert max(digits) <= 14 if form == "mean" else max(digits) <= 2, cells
    means = [float(line) for line in (tmp_path / "mean.csv").read_text().split()[1:]]
    assert math.fsum(means) == pytest.approx(math.fsum(heights), rel=1e-12)

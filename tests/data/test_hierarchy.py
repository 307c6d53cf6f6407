"""The oracle is the same everywhere: a naive walk over `to_rows`, whose rows are the paths from leaf to root."""

from __future__ import annotations

import datetime
import itertools
import json
import math
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.numbered import Tree
from rothko.errors import HierarchyError

# The first call of an Arrow function looks it up, which takes longer than Hypothesis grants an example.
unhurried = settings(deadline=None)

WORLD = {"Europe": ["France", {"Baltic": ["Latvia", "Estonia"]}], "Asia": {"East": ["Japan"], "South": ["India"]}}


def restrict_all(h: Hierarchy, missing: bool = False) -> Tree:
    return h.restrict(h.leaves, column="c", missing=missing)


def check_tree(tree: Tree, rows: list[list[str]], missing: bool) -> None:
    """Compare every array of the tree with what the paths of its leaves (in line order) say."""
    paths: list[list[str | None]] = [*rows, *([[None, "*"]] if missing else [])]
    labels = tree.labels.to_pylist()
    assert tree.leaves.to_pylist() == [row[0] for row in rows]
    assert [labels[node] for node in tree.leaf] == [path[0] for path in paths]
    assert len(set(labels)) == len(labels)
    assert set(labels) == {label for path in paths for label in path} | {"*"}
    assert labels[0] == "*"
    assert tree.parent[0] == -1
    for node, label in enumerate(labels):
        codes = [code for code, path in enumerate(paths) if label in path]
        if node or paths:
            assert codes == list(range(tree.low[node], tree.high[node] + 1)), "an interval is exactly its leaves"
        children = np.flatnonzero(tree.parent == node)
        assert tree.n_children[node] == len(children)
        if len(children):
            assert children.tolist() == list(range(tree.first_child[node], tree.first_child[node] + len(children)))
            assert tree.low[children[0]] == tree.low[node]
            assert tree.high[children[-1]] == tree.high[node]
            assert (tree.low[children[1:]] == tree.high[children[:-1]] + 1).all(), "children in line order, no gaps"
        else:
            assert tree.first_child[node] == 0
    assert (np.diff(tree.parent) >= 0).all(), "breadth first"
    for path in paths:
        for below, above in itertools.pairwise(path):
            assert labels[tree.parent[labels.index(below)]] == above
    for array in (tree.parent, tree.low, tree.high, tree.first_child, tree.n_children, tree.leaf):
        assert array.dtype == np.int32


def naive_lowest(tree: Tree, low: int, high: int) -> int:
    covering = [node for node in range(len(tree.parent)) if tree.low[node] <= low and high <= tree.high[node]]
    depth = dict.fromkeys(covering, 0)
    for node in covering:
        above = node
        while above >= 0:
            depth[node] += 1
            above = tree.parent[above]
    return max(covering, key=depth.__getitem__)


@st.composite
def nested(draw: st.DrawFn) -> object:
    """A random unbalanced tree with distinct labels, as YAML would give it."""
    names = (f"n{i}é" for i in itertools.count())
    shape = draw(st.recursive(st.none(), lambda below: st.lists(below, min_size=1, max_size=4), max_leaves=20))

    def name(node: object) -> object:
        return next(names) if node is None else {next(names): [name(child) for child in node]}  # type: ignore[attr-defined]

    return [name(shape)] if shape is None else [name(child) for child in shape]


# ── trees ────────────────────────────────────────────────────────────────────────────────────────


@unhurried
@given(nested(), st.data(), st.booleans())
def test_restricted_tree_is_what_the_paths_say(tree: object, data: st.DataObject, missing: bool) -> None:
    h = Hierarchy.from_nested(tree)
    rows = h.to_rows()
    present = data.draw(st.sets(st.sampled_from([row[0] for row in rows])))
    shuffled = data.draw(st.permutations(sorted(present)))
    restricted = h.restrict(pa.array(shuffled, pa.string()), column="c", missing=missing)
    check_tree(restricted, [row for row in rows if row[0] in present], missing)
    m = len(present) + missing
    pairs = [(low, high) for low in range(m) for high in range(low, m)]
    low, high = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    assert restricted.lowest(low, high).tolist() == [naive_lowest(restricted, *pair) for pair in pairs]


@unhurried
@given(nested())
def test_rows_round_trip_through_json(tree: object) -> None:
    h = Hierarchy.from_nested(tree)
    again = Hierarchy.from_rows(json.loads(json.dumps(h.to_rows())))
    assert again == h
    assert hash(again) == hash(h)
    assert h.leaves.to_pylist() == [row[0] for row in h.to_rows()]


@unhurried
@given(nested(), st.data())
def test_lowest_among_is_the_first_label_upwards(tree: object, data: st.DataObject) -> None:
    h = Hierarchy.from_nested(tree)
    rows = h.to_rows()
    nodes = data.draw(st.lists(st.sampled_from(h.labels), unique=True))
    expected = [next((nodes.index(label) for label in row if label in nodes), -1) for row in rows]
    asked = pa.array([row[0] for row in rows] + ["nowhere", None])
    assert h.lowest_among(asked, pa.array(nodes, pa.string())).tolist() == [*expected, -1, -1]


def test_order_is_of_first_appearance_even_when_rows_are_not_grouped() -> None:
    h = Hierarchy.from_rows([["US", "America"], ["KH", "Asia"], ["CA", "America"], ["XX"]])
    assert h.labels == ("*", "America", "Asia", "XX", "US", "CA", "KH")
    assert h.leaves.to_pylist() == ["US", "CA", "KH", "XX"]
    check_tree(restrict_all(h, missing=True), h.to_rows(), missing=True)


def test_a_column_without_values_and_a_constant_column() -> None:
    h = Hierarchy.from_nested(WORLD)
    nothing = pa.array([], pa.string())
    only_missing = h.restrict(nothing, column="c", missing=True)
    check_tree(only_missing, [], missing=True)
    assert only_missing.labels.to_pylist() == ["*", None]
    no_rows = h.restrict(nothing, column="c", missing=False)
    assert (no_rows.leaf.size, no_rows.low.tolist(), no_rows.high.tolist()) == (0, [0], [-1])
    assert no_rows.lowest([], []).size == 0
    constant = Hierarchy.flat(["x", "y"]).restrict(pa.array(["y"]), column="c", missing=False)
    assert constant.labels.to_pylist() == ["*", "y"]
    assert constant.lowest([0], [0]).tolist() == [1]


def test_restrict_takes_chunked_large_and_dictionary_text_with_nulls() -> None:
    h = Hierarchy.flat(["a", "b", "c"])
    for values in (
        pa.chunked_array([["c"], ["a", None]]),
        pa.array(["c", "a", None], pa.large_string()),
        pa.array(["c", "a", None]).dictionary_encode(),
    ):
        assert h.restrict(values, column="c", missing=True).leaves.to_pylist() == ["a", "c"]


def test_restrict_names_the_column_and_counts_but_shows_no_value() -> None:
    h = Hierarchy.from_nested(WORLD)
    with pytest.raises(HierarchyError) as caught:  # an inner node is no leaf either
        h.restrict(pa.array(["France", "Atlantis", "Europe"]), column="land", missing=False)
    message = str(caught.value)
    assert "2 of 3 distinct values of column 'land'" in message
    assert "`values` of this error lists them" in message
    assert "Atlantis" not in message
    assert "Europe" not in message
    assert caught.value.values == ("Atlantis", "Europe")


def test_the_constructor_accepts_only_trees_in_breadth_first_order() -> None:
    h = Hierarchy(("*", "a", "b", "c"), np.array([-1, 0, 0, 1]))
    assert h.leaves.to_pylist() == ["c", "b"]
    with pytest.raises(ValueError, match="read-only"):
        h.parents[1] = 2
    for labels, parents in [
        ((), []),
        (("x",), [-1]),
        (("*", "a"), [-1]),
        (("*", "a"), [0, 0]),
        (("*", "a"), [-1, 1]),
        (("*", "a"), [-1, -1]),
        (("*", "a", "b", "c"), [-1, 0, 1, 0]),
    ]:
        with pytest.raises(ValueError, match=r"root|breadth"):
            Hierarchy(labels, np.array(parents, dtype=np.int32))
    with pytest.raises(HierarchyError, match="1 of 2 labels") as caught:
        Hierarchy(("*", "a", "a"), np.array([-1, 0, 0]))
    assert caught.value.values == ("a",)
    assert h != "h"
    assert h != Hierarchy(("*", "a", "b", "c"), np.array([-1, 0, 0, 2]))


# ── files ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("root", ["*", '"*"', "* ", None])
def test_csv_in_every_delimiter_with_and_without_root(tmp_path, delimiter: str, root: str | None) -> None:
    lines = [["Paris", "France", "Europe"], ["Riga", "Baltic"], ["Ålesund", "Norge", "Europe"]]
    path = tmp_path / "h.csv"
    path.write_text("\n".join(delimiter.join([*line, *([root] if root else [])]) for line in lines), encoding="utf-8")
    h = Hierarchy.from_csv(path)
    assert h == Hierarchy.from_csv(str(path), delimiter=delimiter)
    assert h.to_rows() == [
        ["Paris", "France", "Europe", "*"],
        ["Ålesund", "Norge", "Europe", "*"],
        ["Riga", "Baltic", "*"],
    ]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('"a;b";"x ""y""";*\n', [["a;b", 'x "y"', "*"]]),
        ('"a\nb";x;*\n', [["a\nb", "x", "*"]]),
        ("0;[0, 1[;*\n5;[1, 9[;*\n", [["0", "[0, 1[", "*"], ["5", "[1, 9[", "*"]]),
        ("a;b,\tc;*\n", [["a", "b,\tc", "*"]]),
        ("Buyers, Farm;BUS\nBuyers, Other;BUS\nClerks;BUS\n", None),
        ("a \t;x ;*;;  \n\n  \nb;;x;*\n", [["a", "x", "*"], ["b", "x", "*"]]),
        ("a;x\r\nb;x\r\n", [["a", "x", "*"], ["b", "x", "*"]]),
        ("\ufeffa;*\n", [["a", "*"]]),
        ("a\nb\n", [["a", "*"], ["b", "*"]]),
        (";Unknown;*\n", [["", "Unknown", "*"]]),
        ("Other;Other;*\nx;X;X;*;*\n", [["Other", "*"], ["x", "X", "*"]]),
        ("a;x;*\na;x;*\na;x\n", [["a", "x", "*"]]),
        ("日本;アジア;*\n", [["日本", "アジア", "*"]]),
    ],
)
def test_csv_forms(tmp_path, text: str, rows: list[list[str]] | None) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(text.encode())
    expected = rows or [["Buyers, Farm", "BUS", "*"], ["Buyers, Other", "BUS", "*"], ["Clerks", "BUS", "*"]]
    assert Hierarchy.from_csv(path).to_rows() == expected


def test_csv_in_another_encoding(tmp_path) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes("Zoë;Ä;*\n".encode("latin-1"))
    assert Hierarchy.from_csv(path, encoding="latin-1").to_rows() == [["Zoë", "Ä", "*"]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\n ; ;\n", "is empty"),
        (b"Secret1;*\nSecret2;SecretB;SecretC;*\nSecret3;SecretB;*", r"line 3: a label has another parent .* line 2"),
        (b"Secret1;SecretA;*\nSecret2;SecretA;SecretC;*", r"line 2: a label has another parent .* line 1"),
        (b"Secret1;SecretA;SecretB;SecretA;*", "line 1: a label stands above itself"),
        (b"Secret1;SecretA;Secret1;*", "line 1: a label stands above itself"),
        (b"Secret1;*;SecretA", "line 1: a label stands above itself"),
        (b"Secret1;SecretA;SecretB;*\nSecret2;SecretB;SecretA;*", "line 2: a label has another parent"),
        (b"Secret1;SecretA;*\n\nSecret1;SecretB;*", r"line 3: the leaf has another path than on line 1"),
        (b"Secret1;SecretA;*\nSecretA;*", r"line 2: a label is a leaf here and an inner node on line 1"),
        (b"SecretA;SecretA;*\nSecret1;SecretA;*", r"line 2: a label is an inner node here and a leaf on line 1"),
        (b"Secret1;*\n*;*\n", "line 2: there is no leaf"),
        (b"Secret1;*\nSecret\xff;*\n", "line 2: the text is not utf-8"),
        (b'Secret1;*\n"Secret2;SecretA;*\n', r"line \d: not in CSV form"),
        (b'"Secret1"Secret2;*\n', "line 1: not in CSV form"),
    ],
)  # fmt: skip
def test_broken_files_are_told_by_file_and_line_and_never_by_label(tmp_path, data: bytes, message: str) -> None:
    path = tmp_path / "h.csv"
    path.write_bytes(data)
    with pytest.raises(HierarchyError, match=message) as caught:
        Hierarchy.from_csv(path)
    assert str(path) in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:  # a chained error would be printed as well
        assert "Secret" not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_files_that_cannot_be_read(tmp_path) -> None:
    with pytest.raises(HierarchyError, match=r"no hierarchy file .*nowhere\.csv"):
        Hierarchy.from_csv(tmp_path / "nowhere.csv")
    with pytest.raises(HierarchyError, match="cannot be read"):
        Hierarchy.from_csv(tmp_path)
    (tmp_path / "h.csv").write_text("a;*")
    with pytest.raises(HierarchyError, match="no encoding 'klingon'"):
        Hierarchy.from_csv(tmp_path / "h.csv", encoding="klingon")
    with pytest.raises(HierarchyError, match="one character"):
        Hierarchy.from_csv(tmp_path / "h.csv", delimiter=";;")


def test_rows_name_the_hierarchy_and_the_row() -> None:
    with pytest.raises(HierarchyError, match=r"^land, row 2: the leaf has another path than on row 1") as caught:
        Hierarchy.from_rows([["Secret", "A"], ["Secret", "B"]], where="land")
    assert "Secret" not in str(caught.value)
    assert caught.value.values == ("Secret",)
    for rows, message in [
        ([], "is empty"),
        ([[]], "no leaf"),
        ([["a", None]], "nothing"),
        ([["a", ["b"]]], "collection"),
    ]:
        with pytest.raises(HierarchyError, match=message):
            Hierarchy.from_rows(rows)


# ── nested ───────────────────────────────────────────────────────────────────────────────────────


def test_nested_from_yaml() -> None:
    text = """
    "*":
      numbers: [1, 2.5, 3.0, {big: 1000}]
      yes: [no]
      nothing:
      hollow: []
      2024-03-05: 2024-03-06
    """
    assert Hierarchy.from_nested(yaml.safe_load(text)).to_rows() == [
        ["1", "numbers", "*"],
        ["2.5", "numbers", "*"],
        ["3", "numbers", "*"],
        ["1000", "big", "numbers", "*"],
        ["false", "true", "*"],
        ["nothing", "*"],
        ["hollow", "*"],
        ["2024-03-06", "2024-03-05", "*"],
    ]
    assert Hierarchy.from_nested(WORLD) == Hierarchy.from_nested({"*": WORLD})
    assert Hierarchy.from_nested(["a", "b"]) == Hierarchy.flat(["a", "b"])
    assert Hierarchy.from_nested(WORLD).to_rows()[2] == ["Estonia", "Baltic", "Europe", "*"]


def test_nested_errors() -> None:
    endless: dict[str, object] = {}
    endless["Secret"] = endless
    for tree, message in [
        ({"A": ["Secret"], "B": ["Secret"]}, "leaf 2: the leaf has another path"),
        ({"A": {"Secret": ["x"]}, "B": {"Secret": ["y"]}}, "leaf 2: a label has another parent"),
        ({"Secret": [{"A": ["Secret"]}]}, "stands above itself"),
        ([["Secret"]], "list directly in a list"),
        (["Secret", None], "nothing where a label"),
        ({None: ["Secret"]}, "nothing where a label"),
        ({}, "is empty"),
        (endless, "holds itself"),
    ]:
        with pytest.raises(HierarchyError, match=message) as caught:
            Hierarchy.from_nested(tree, where="land")
        assert "land" in str(caught.value)
        assert "Secret" not in str(caught.value)


# ── flat and mask ────────────────────────────────────────────────────────────────────────────────


def test_flat() -> None:
    h = Hierarchy.flat(pa.array(["b", "a", None, "b", "", "ß"]))
    assert h.labels == ("*", "b", "a", "", "ß")
    check_tree(restrict_all(h), h.to_rows(), missing=False)
    assert Hierarchy.flat([]).labels == ("*",)
    with pytest.raises(HierarchyError, match="root"):
        Hierarchy.flat(["a", "*"])


def naive_mask(text: str, side: str, character: str) -> list[str]:
    levels = [text[:-n] + character * n if side == "right" else character * n + text[n:] for n in range(1, len(text))]
    return [text, *levels, "*"]


@unhurried
@given(st.lists(st.text("01é日", max_size=5), unique=True), st.sampled_from(["right", "left"]), st.sampled_from("*#"))
def test_mask_is_the_naive_mask(texts: list[str], side: str, character: str) -> None:
    h = Hierarchy.mask(texts, side=side, character=character)  # type: ignore[arg-type]
    rows = h.to_rows()
    assert sorted(rows) == sorted(naive_mask(text, side, character) for text in texts)
    if texts:
        assert h.labels == Hierarchy.from_rows(naive_mask(text, side, character) for text in texts).labels
        check_tree(restrict_all(h), rows, missing=False)


def test_mask_of_unequal_lengths() -> None:
    assert Hierarchy.mask(pa.array(["12", "123", "124"])).to_rows() == [
        ["12", "1*", "*"],
        ["123", "12*", "1**", "*"],
        ["124", "12*", "1**", "*"],
    ]
    assert Hierarchy.mask(["a-12", "b-12"], side="left").to_rows()[1] == ["b-12", "*-12", "**12", "***2", "*"]


def test_mask_errors() -> None:
    with pytest.raises(HierarchyError, match=r"1 of 2 values .*'\*' at the right end") as caught:
        Hierarchy.mask(["77*", "778"])
    assert "77" not in str(caught.value)
    assert caught.value.values == ("77*",)
    with pytest.raises(HierarchyError, match="left end"):
        Hierarchy.mask(["*77"], side="left")
    assert Hierarchy.mask(["*77"]).leaves.to_pylist() == ["*77"]
    with pytest.raises(HierarchyError, match="'right' or 'left'"):
        Hierarchy.mask(["a"], side="up")  # type: ignore[arg-type]
    with pytest.raises(HierarchyError, match="one character"):
        Hierarchy.mask(["a"], character="")
    with pytest.raises(HierarchyError, match="root"):
        Hierarchy.mask(["*"], character="#")


# ── intervals ────────────────────────────────────────────────────────────────────────────────────


def test_widths_of_integers() -> None:
    h = Hierarchy.intervals(pa.array([20, -1, 24, None, 25, -10]), widths=[5, 10])
    assert h.to_rows() == [
        ["-10", "[-10, -5)", "[-10, 0)", "*"],
        ["-1", "[-5, 0)", "[-10, 0)", "*"],
        ["20", "[20, 25)", "[20, 30)", "*"],
        ["24", "[20, 25)", "[20, 30)", "*"],
        ["25", "[25, 30)", "[20, 30)", "*"],
    ]
    check_tree(restrict_all(h), h.to_rows(), missing=False)
    assert Hierarchy.intervals(pa.array([], pa.int8()), widths=[5]).labels == ("*",)


def test_equal_widths_are_one_level() -> None:
    assert Hierarchy.intervals(pa.array([1]), widths=[5, 5, 10.0]).to_rows() == [["1", "[0, 5)", "[0, 10)", "*"]]


def test_widths_reckon_in_decimals() -> None:
    h = Hierarchy.intervals(pa.array([0.3, -0.05, 0.7, 1.1, 12345678901.5]), widths=[0.1, 1])
    assert [row[:3] for row in h.to_rows()] == [
        ["-0.05", "[-0.1, 0)", "[-1, 0)"],
        ["0.3", "[0.3, 0.4)", "[0, 1)"],
        ["0.7", "[0.7, 0.8)", "[0, 1)"],
        ["1.1", "[1.1, 1.2)", "[1, 2)"],
        ["1.23456789015e+10", "[1.23456789015e+10, 1.23456789016e+10)", "[12345678901, 12345678902)"],
    ]
    # 0.8999999999999999 · 10 rounds to 9, and yet it lies below 0.9; −0 is not written as such in a label.
    edge = Hierarchy.intervals(pa.array([0.8999999999999999, -0.0]), widths=[0.1])
    assert [row[1] for row in edge.to_rows()] == ["[0, 0.1)", "[0.8, 0.9)"]
    decimals = Hierarchy.intervals(pa.array([Decimal("0.30"), Decimal("2.00")]), widths=[0.1])
    assert decimals.to_rows() == [["0.30", "[0.3, 0.4)", "*"], ["2.00", "[2, 2.1)", "*"]]


@unhurried
@given(
    st.lists(st.integers(-2000, 2000), min_size=1, unique=True),
    st.sampled_from([1, 10, 100]),
    st.sampled_from([["0.1"], ["0.5", "2"], ["3"], ["0.25", "0.25", "1.5"], ["0.07"]]),
)
def test_widths_agree_with_exact_arithmetic(numerators: list[int], scale: int, widths: list[str]) -> None:
    values = [n / scale for n in numerators]
    h = Hierarchy.intervals(pa.array(values), widths=[float(width) for width in widths])
    rows = h.to_rows()
    assert [float(row[0]) for row in rows] == sorted(values)
    for row, n in zip(rows, sorted(numerators), strict=True):
        expected = [math.floor(Fraction(n, scale) / Fraction(w)) * Fraction(w) for w in dict.fromkeys(widths)]
        for label, low, width in zip(row[1:-1], expected, dict.fromkeys(widths), strict=True):
            ends = label.removeprefix("[").removesuffix(")").split(", ")
            assert [Fraction(end) for end in ends] == [low, low + Fraction(width)]


def test_extreme_numbers() -> None:
    top = 2**63 - 1
    h = Hierarchy.intervals(pa.array([top, -top - 1, 10**18 + 1]), widths=[10])
    assert h.to_rows() == [
        [str(-top - 1), "[-9223372036854775810, -9223372036854775800)", "*"],
        [str(10**18 + 1), f"[{10**18}, {10**18 + 10})", "*"],
        [str(top), "[9223372036854775800, 9223372036854775810)", "*"],
    ]
    floats = pa.array([math.inf, 3.0, -math.inf, math.nan, 1e308])
    assert Hierarchy.intervals(floats, widths=[0.5]).to_rows() == [
        ["-inf", "*"], ["3", "[3, 3.5)", "*"], ["1e+308", "*"], ["inf", "*"], ["nan", "*"],
    ]  # fmt: skip
    assert Hierarchy.intervals(floats, breaks=[3]).to_rows() == [
        ["-inf", "*"], ["3", "[3, inf)", "*"], ["1e+308", "[3, inf)", "*"], ["inf", "*"], ["nan", "*"],
    ]  # fmt: skip
    assert Hierarchy.intervals(pa.array([7]), widths=[1, 10**30]).to_rows()[0][1:2] == ["[7, 8)"]
    unsigned = Hierarchy.intervals(pa.array([2**64 - 1, 5], pa.uint64()), widths=[10])
    assert unsigned.to_rows()[0] == ["5", "[0, 10)", "*"]


def test_breaks() -> None:
    h = Hierarchy.intervals(pa.array([70, 18, 17, 40, 64, 65]), breaks=[18, 40, 65])
    assert [row[:2] for row in h.to_rows()] == [
        ["17", "(-inf, 18)"], ["18", "[18, 40)"], ["40", "[40, 65)"],
        ["64", "[40, 65)"], ["65", "[65, inf)"], ["70", "[65, inf)"],
    ]  # fmt: skip


def test_breaks_of_several_levels_share_equal_intervals() -> None:
    h = Hierarchy.intervals(pa.array([-3.5, 20.0, 35.0, 50.0, 80.0]), breaks=[[18, 30.5, 40, 65], [18.0, 65], []])
    assert h.to_rows() == [
        ["-3.5", "(-inf, 18)", "(-inf, inf)", "*"],
        ["20", "[18, 30.5)", "[18, 65)", "(-inf, inf)", "*"],
        ["35", "[30.5, 40)", "[18, 65)", "(-inf, inf)", "*"],
        ["50", "[40, 65)", "[18, 65)", "(-inf, inf)", "*"],
        ["80", "[65, inf)", "(-inf, inf)", "*"],
    ]
    check_tree(restrict_all(h), h.to_rows(), missing=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either widths or breaks"),
        ({"widths": [1], "breaks": [1]}, "either widths or breaks"),
        ({"widths": []}, "positive"),
        ({"widths": [0]}, "positive"),
        ({"widths": [math.inf]}, "positive"),
        ({"widths": [5, 12]}, "multiple"),
        ({"widths": [10, 5]}, "multiple"),
        ({"breaks": []}, "at least one"),
        ({"breaks": [[]]}, "at least one"),
        ({"breaks": [1, [2]]}, "not both"),
        ({"breaks": [3, 2]}, "ascending"),
        ({"breaks": [math.nan]}, "finite"),
        ({"breaks": [[1, 2], [1, 3]]}, "level before"),
    ],
)
def test_interval_errors(options: dict[str, list[float]], message: str) -> None:
    with pytest.raises(HierarchyError, match=message) as caught:
        Hierarchy.intervals(pa.array([987654]), **options)
    assert "987654" not in str(caught.value)


def test_intervals_of_text() -> None:
    with pytest.raises(HierarchyError, match="of type string"):
        Hierarchy.intervals(pa.array(["1"]), widths=[5])


# ── dates ────────────────────────────────────────────────────────────────────────────────────────


def test_dates() -> None:
    day = datetime.date
    values = pa.array([day(2024, 12, 31), None, day(1969, 1, 5), day(2024, 3, 5), day(985, 2, 1)])
    levels = ["day", "month", "quarter", "year", "decade"]
    for typed in (values, values.cast(pa.date64())):
        h = Hierarchy.dates(typed, levels=levels)
        assert h.to_rows() == [
            ["0985-02-01", "0985-02", "0985-Q1", "0985", "0980s", "*"],
            ["1969-01-05", "1969-01", "1969-Q1", "1969", "1960s", "*"],
            ["2024-03-05", "2024-03", "2024-Q1", "2024", "2020s", "*"],
            ["2024-12-31", "2024-12", "2024-Q4", "2024", "2020s", "*"],
        ]
        check_tree(restrict_all(h), h.to_rows(), missing=False)
    assert Hierarchy.dates(values).to_rows()[-1] == ["2024-12-31", "2024-12", "2024", "*"]


def test_timestamps() -> None:
    noon = datetime.datetime(2024, 3, 5, 12)
    values = pa.array([noon, noon - datetime.timedelta(hours=1)], pa.timestamp("s"))
    assert Hierarchy.dates(values, levels=["day"]).to_rows() == [
        ["2024-03-05 11:00:00", "2024-03-05", "*"],
        ["2024-03-05 12:00:00", "2024-03-05", "*"],
    ]


def test_date_errors() -> None:
    values = pa.array([datetime.date(2024, 3, 5)])
    for levels in (["year", "month"], ["month", "month"], ["week"]):
        with pytest.raises(HierarchyError, match="day, month, quarter, year, decade, in that order"):
            Hierarchy.dates(values, levels=levels)
    with pytest.raises(HierarchyError, match="of type string"):
        Hierarchy.dates(pa.array(["2024-03-05"]))


# ── auto ─────────────────────────────────────────────────────────────────────────────────────────


def best_split(counts: list[int], groups: int) -> int:
    """The least possible count of the largest group, over all contiguous splits."""
    cuts = itertools.combinations(range(1, len(counts)), groups - 1)
    return min(max(sum(counts[a:b]) for a, b in itertools.pairwise([0, *cut, len(counts)])) for cut in cuts)


@unhurried
@given(st.lists(st.integers(0, 50), max_size=12), st.integers(2, 4))
def test_auto_is_balanced(counts: list[int], fanout: int) -> None:
    values = [chr(ord("a") + i) for i in range(len(counts))]
    h = Hierarchy.auto(values, counts, fanout=fanout)
    assert h.leaves.to_pylist() == values
    tree = restrict_all(h)
    check_tree(tree, h.to_rows(), missing=False)
    assert (tree.n_children <= fanout).all()
    assert (tree.n_children[1:] != 1).all(), "no inner node with a single child"
    weights = [max(count, 1) for count in counts]
    for node in np.flatnonzero(tree.n_children):
        low, high = tree.low[node], tree.high[node]
        assert tree.n_children[node] == min(fanout, high - low + 1)
        if node:
            assert tree.labels[node].as_py() == f"{values[low]} … {values[high]}"
        children = range(tree.first_child[node], tree.first_child[node] + tree.n_children[node])
        largest = max(sum(weights[tree.low[child] : tree.high[child] + 1]) for child in children)
        assert largest <= 2 * best_split(weights[low : high + 1], tree.n_children[node])


def test_auto_equal_counts_make_a_full_tree() -> None:
    values = [f"{i:02}" for i in range(64)]
    tree = restrict_all(Hierarchy.auto(pa.array(values), np.full(64, 7)))
    assert set(tree.n_children[tree.n_children > 0]) == {4}
    assert len(tree.parent) == 1 + 4 + 16 + 64


def test_auto_isolates_a_value_with_most_of_the_records() -> None:
    rows = Hierarchy.auto(list("abcdefgh"), [1, 1, 1, 1000, 1, 1, 1, 1], fanout=4).to_rows()
    assert rows[3] == ["d", "*"]


@pytest.mark.parametrize(
    "counts", [np.ones(50_000), np.zeros(50_000), 1e6 / np.arange(1, 50_001), 2.0 ** (np.arange(50_000) % 40)]
)
def test_auto_of_many_values_is_quick_and_shallow(counts: np.ndarray) -> None:
    values = pa.array(np.arange(100_000, 150_000)).cast(pa.string())
    start = time.perf_counter()
    h = Hierarchy.auto(values, counts.astype(np.int64))
    assert time.perf_counter() - start < 2
    depth = max(map(len, h.to_rows())) - 1
    assert depth <= 2 * math.log2(max(counts.sum(), 50_000)), "logarithmic in the number of records"
    if counts.min() == counts.max():
        assert depth <= math.ceil(math.log(50_000, 4)) + 1


def test_auto_tells_equal_labels_apart() -> None:
    h = Hierarchy.auto(["a", "b", "a … b", "c"], [1, 1, 1, 1], fanout=2)
    assert h.labels == ("*", "a … b (2)", "a … b … c", "a", "b", "a … b", "c")
    assert h == Hierarchy.auto(["a", "b", "a … b", "c"], [1, 1, 1, 1], fanout=2)
    # "a … b" to "c" and "a" to "b … c" have the same name, which is also a value
    values = ["a … b", "c", "a", "b … c", "a … b … c", "z"]
    labels = Hierarchy.auto(values, np.ones(6), fanout=3).labels
    assert labels[1:4] == ("a … b … c (2)", "a … b … c (3)", "a … b … c … z")


def test_auto_edges() -> None:
    assert Hierarchy.auto([], []).labels == ("*",)
    assert Hierarchy.auto(["x"], [3]).to_rows() == [["x", "*"]]
    assert Hierarchy.auto(["x", "y"], [3, 1]).to_rows() == [["x", "*"], ["y", "*"]]
    with pytest.raises(HierarchyError, match="at least 2"):
        Hierarchy.auto(["x"], [1], fanout=1)
    with pytest.raises(ValueError, match="as many counts"):
        Hierarchy.auto(["x"], [1, 2])
    with pytest.raises(HierarchyError, match="1 of 2 labels"):
        Hierarchy.auto(["Secret", "Secret"], [1, 2])


# ── size ─────────────────────────────────────────────────────────────────────────────────────────


def test_many_leaves() -> None:
    n = 200_000
    values = pa.array(np.arange(n) + 1_000_000).cast(pa.string())
    start = time.perf_counter()
    h = Hierarchy.mask(values)
    tree = h.restrict(values[::2], column="zip", missing=True)
    tens = h.lowest_among(values, pa.array(["100000*", "100001*"]))
    nodes = tree.lowest(np.arange(n // 2 - 1), np.arange(1, n // 2))
    assert time.perf_counter() - start < 10
    assert tree.leaves == values[::2]
    assert tens[:22].tolist() == [0] * 10 + [1] * 10 + [-1] * 2
    assert tree.labels.take(pa.array(nodes[3:6])).to_pylist() == ["100000*", "10000**", "100001*"]


def test_deep_chain() -> None:
    h = Hierarchy.from_rows([[f"n{i}" for i in range(3000)]])
    tree = restrict_all(h)
    assert tree.low.tolist() == tree.high.tolist() == [0] * 3001
    assert tree.lowest([0], [0]).tolist() == [3000]

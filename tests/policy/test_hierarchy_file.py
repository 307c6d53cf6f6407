"""Hierarchies in files: what is written is read back, and mistakes are named by line."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rothko as rk
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.spec import HierarchySpec
from rothko.errors import HierarchyError
from rothko.policy.code_systems import levels, system_of
from rothko.policy.hierarchy_file import read_hierarchy, spec_of, written_hierarchy
from tests.data.test_hierarchy import nested
from tests.strategies.tables import unhurried


@unhurried
@given(nested(), st.sampled_from([".csv", ".yaml", ".yml"]))
def test_a_file_is_read_back(tmp_path_factory: pytest.TempPathFactory, tree: object, ending: str) -> None:
    hierarchy = Hierarchy.from_nested(tree)
    assert Hierarchy.from_nested(hierarchy.to_nested()) == hierarchy
    path = tmp_path_factory.mktemp("files") / f"h{ending}"
    path.write_text(written_hierarchy(hierarchy, path), encoding="utf-8")
    assert read_hierarchy(path) == hierarchy


@pytest.mark.parametrize(("encoding", "sign", "found"), [
    ("utf-8", ";", "utf-8"),
    ("utf-8-sig", ";", "utf-8"),
    ("cp1252", ";", "cp1252"),
    ("utf-16", "\t", "utf-16"),
])  # fmt: skip
def test_what_a_spreadsheet_saves_is_read(folder: Path, encoding: str, sign: str, found: str) -> None:
    """As it saves it: lines that end as on Windows, empty cells behind shorter lines, an empty line at the end."""
    towns = {"Köln": "Rheinland", "Düsseldorf": "Rheinland", "Lübeck": "Küste"}
    lines = [[town, group, "*", "", ""] for town, group in towns.items()] + [[""] * 5, [""]]
    Path("towns.csv").write_bytes("\r\n".join(map(sign.join, lines)).encode(encoding))
    hierarchy = read_hierarchy(Path("towns.csv"))
    assert hierarchy == Hierarchy.from_rows([[town, group, "*"] for town, group in towns.items()])
    spec = spec_of(Path("towns.csv"), hierarchy, Path("policy.yaml"))
    assert spec == HierarchySpec("csv", "towns.csv", encoding=found)


def test_what_is_written_for_a_spreadsheet_says_that_it_is_utf8() -> None:
    for label, mark in (("Köln", "\ufeff"), ("Bonn", "")):
        assert written_hierarchy(Hierarchy.flat([label]), Path("h.csv")) == f"{mark}{label};*\n"
    assert not written_hierarchy(Hierarchy.flat(["Köln"]), Path("h.yaml")).startswith("\ufeff")


@pytest.mark.parametrize(
    "label", ["no", "021", "1e3", "2024-01-01", "a: b", "- x", "#", "{", "'", '"', "null", "~", "ü;ü", "x\ny"]
)
def test_labels_come_back_as_they_are(folder: Path, label: str) -> None:
    hierarchy = Hierarchy.from_rows([[label, "above"], ["other", "above"]])
    for name in ("h.yaml", "h.csv"):
        Path(name).write_text(written_hierarchy(hierarchy, Path(name)), encoding="utf-8")
        assert read_hierarchy(Path(name)) == hierarchy


@pytest.mark.parametrize(
    ("text", "told"),
    {
        "a:\n  - b\n  - [c]\n": "line 3: a list stands directly in a list",
        "a: [b]\nc:\n  - b\n": "line 3: the leaf has another path than on line 1",
        "a: [b\n": "line 2: not valid YAML",
        "? [x]\n: y\n": "line 1: a label must be text",
        "": "is empty",
        "a: \x00": "not valid YAML",
        "a: &x\n  - b\n  - {c: *x}\n": "nested too deeply|holds itself|line",
    }.items(),
)
def test_a_mistake_is_named_by_line(folder: Path, text: str, told: str) -> None:
    Path("h.yaml").write_text(text)
    with pytest.raises(HierarchyError, match=told):
        read_hierarchy(Path("h.yaml"))


@unhurried
@given(
    st.lists(st.text("AB1.", min_size=1, max_size=6), min_size=1, unique=True), st.sets(st.integers(1, 5), min_size=1)
)
def test_a_level_of_prefixes_holds_what_begins_alike(values: list[str], kept: set[int]) -> None:
    lengths = sorted(kept, reverse=True)
    for row in Hierarchy.prefix(values, lengths=lengths).to_rows():
        assert row == [row[0], *(f"{row[0][:n]}*" for n in lengths if len(row[0]) >= n), "*"]


def test_a_mistake_shows_no_label(folder: Path) -> None:
    Path("h.yaml").write_text("town:\n  - *2139\n")
    with pytest.raises(HierarchyError, match="line 2: not valid YAML: found undefined alias") as found:
        read_hierarchy(Path("h.yaml"))
    assert "2139" not in str(found.value)


@pytest.mark.parametrize("lengths", [[], [0], [1, 3], [2, 2]])
def test_lengths_that_do_not_fall_are_refused(lengths: list[int]) -> None:
    with pytest.raises(HierarchyError, match="must fall"):
        Hierarchy.prefix(["abc"], lengths=lengths)


@pytest.mark.parametrize(
    ("name", "values", "title"),
    [
        ("diagnosis_icd", ["I21.4", "J45.0", "E119", "C50"], "ICD-10"),
        ("region", ["DE-BY", "AT-9", "FR-IDF"], "ISO 3166-2"),
        ("nuts3", ["DE712", "AT130", "FRK2"], "NUTS"),
        ("region", ["DE712", "ITC41", "UKC1"], "NUTS"),
        ("region", ["NORTH", "SOUTH"], None),
        ("nace", ["01.11", "62.0", "85"], "NACE"),
        ("nace", ["6201", "0111"], "NACE"),
        ("isco08", ["2411", "3120"], "ISCO"),
        ("isco08", ["2411", "engineer"], None),
        ("room", ["2411", "3120"], None),
        ("name", ["I21", "anna"], None),
        ("nace", [], None),
    ],
)
def test_codes_are_known_by_their_structure(name: str, values: list[str], title: str | None) -> None:
    texts = pa.array(values, pa.string())
    found = system_of(name, texts)
    assert (found.title if found else None) == title
    if found:
        assert levels(found, texts) == [n for n in found.lengths if n < max(map(len, values))]


def test_a_section_of_nace_is_a_level_of_its_own() -> None:
    """`A01.11` is group 01.1, division 01, section A: no level may keep half of a division."""
    codes = ["A01.11", "C10.1", "J62.01"]
    found = system_of("industry", pa.array(codes))
    assert found is not None
    assert found.lengths == (5, 3, 1)
    draft = rk.draft({"isco": ["2411", "3120"] * 30, "nace_code": ["J62.01", "A01.11"] * 30})
    assert {one.column.role.value for one in draft.proposals} == {"quasi-identifier"}
    assert not draft.policy.confirm

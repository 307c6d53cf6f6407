"""Diagnoses by category and chapter: where codes belong, what is no code, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rothko as rk
from rothko.data.hierarchy.icd10 import CHAPTERS, are_codes, by_chapter
from rothko.errors import HierarchyError
from tests.command import Rothko


def above(code: str) -> list[str]:
    """The groups of one code, finest first."""
    return by_chapter([code]).to_rows()[0][1:-1]


@pytest.mark.parametrize(
    ("codes", "groups"),
    [
        (("I21.4", "I214", "i21.4", " I21.4 ", "I21.4G", "I21.4 V", "I21.49"),
         ["I21.4-", "I21.-", "I20-I29", "I00-I99"]),
        (("G01", "G01*", "g01 *", "G01G", "G01 Z L"), ["G01.-", "G00-G09", "G00-G99"]),
        (("E10.30+", "E10.3"), ["E10.3-", "E10.-", "E10-E19", "E00-E90"]),
        (("U07.1!", "U07.1 ! G"), ["U07.1-", "U07.-", "U00-U09", "U00-U99"]),
        (("S72.001A", "S72.0"), ["S72.0-", "S72.-", "S70-S79", "S00-T98"]),
        (("C7A.0", "c7a0"), ["C7A.0-", "C7A.-", "C70-C79", "C00-D49"]),
        (("F32.A",), ["F32.-", "F30-F39", "F00-F99"]),
    ],
)  # fmt: skip
def test_however_a_code_is_written_it_is_in_its_groups(codes: tuple[str, ...], groups: list[str]) -> None:
    assert [above(code) for code in codes] == [groups] * len(codes)


def test_the_ends_of_chapters() -> None:
    """Every chapter holds its first and last category, and no category is in two."""
    for low, high in CHAPTERS:
        assert above(low)[-1] == above(high)[-1] == f"{low}-{high}"
    assert [above(code)[-1] for code in ("B99", "C00", "D48", "D50", "H59", "H60", "T14", "W19", "Y84")] == [
        "A00-B99", "C00-D49", "C00-D49", "D50-D89", "H00-H59", "H60-H95", "S00-T98", "V00-Y99", "V00-Y99",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "value",
    ["", "I", "I2", "21.4", "I21.", "I21.-", "I20-I25", "I21.45678", "II21", "I2C", "D90.1", "none", "I21,4", "I21\n"],
)
def test_what_is_no_code_has_no_leaf(value: str) -> None:
    assert are_codes(pa.array([value])).to_pylist() == [False]
    assert by_chapter([value]).to_rows() in ([], [["*"]])
    assert by_chapter([value, "I21"]).leaves.to_pylist() == ["I21"]


@given(st.lists(st.from_regex(r"[A-Z][0-9]{2}(\.?[0-9]{1,2})?[GV*!]?", fullmatch=True), min_size=1, unique=True))
def test_the_groups_of_a_code_hang_on_nothing_but_the_code(codes: list[str]) -> None:
    """A recoding sends codes that come later, one by one, to where they would have been."""
    rows = {row[0]: row[1:-1] for row in by_chapter(codes).to_rows() if row != ["*"]}
    assert rows == {code: above(code) for code in codes if are_codes(pa.array([code]))[0].as_py()}


POLICY = "columns: {dx: {role: quasi-identifier, hierarchy: icd-10}}\nprivacy: [{k-anonymity: {k: 2}}]\n"


def test_a_release_shows_groups_and_refuses_what_is_no_code(folder: Path, rothko: Rothko) -> None:
    codes = ["A49.9", "B20", "I21.0", "I21.4", "I50.1", "I50.9"]
    Path("p.yaml").write_text(POLICY)
    Path("d.csv").write_text("\n".join(["dx", *codes]) + "\n")
    assert rothko("anonymize", "d.csv", "-p", "p.yaml", "-o", "r.csv").code == 0
    assert sorted(Path("r.csv").read_text().split()[1:]) == ["A00-B99"] * 2 + ["I21.-"] * 2 + ["I50.-"] * 2
    Path("d.csv").write_text("\n".join(["dx", *codes, "secret", "secret"]) + "\n")
    refused = rothko("anonymize", "d.csv", "-p", "p.yaml", "-o", "q.csv")
    assert refused.code == 2
    assert "1 of 7 distinct values of column 'dx' are no ICD-10 codes" in refused.err
    assert "secret" not in refused.err
    assert not Path("q.csv").exists()
    shown = rothko("hierarchy", "show", "d.csv", "-c", "dx", "-p", "p.yaml")
    assert "  A00-B99  2" in shown.out.splitlines()
    assert "1 of 7 distinct values of the column have no leaf" in shown.err
    out = rothko("hierarchy", "export", "d.csv", "-c", "dx", "--hierarchy", "ICD10", "-o", "h.csv")
    assert out.code == 0
    assert "1 of 7 distinct values" in out.err
    assert Path("h.csv").read_text().splitlines()[1] == "B20;B20.-;B20-B29;A00-B99;*"


def test_diagnoses_are_shown_by_chapter_where_nothing_is_asked(folder: Path, rothko: Rothko) -> None:
    """A draft calls them sensitive, and sensitive values have no hierarchy."""
    Path("d.csv").write_text("icd,age\n" + "A49.9,3\nB20,4\n" * 20)
    assert "  A00-B99  40" in rothko("hierarchy", "show", "d.csv", "-c", "icd").out.splitlines()


def test_new_records_are_sent_to_their_group(folder: Path) -> None:
    table = pa.table({"dx": ["A49.9", "B20"] * 3 + ["I21.0", "I21.4"] * 3})
    recoding = rk.anonymize(table, rk.Policy.parse(POLICY, where="p")).recoding
    assert recoding is not None
    shown = recoding.apply(pa.table({"dx": ["b21.1 G", "I20", "never", "K35"]}))
    assert pa.table(shown)["dx"].to_pylist()[2:] == ["*", "*"]


@pytest.mark.parametrize(
    ("odd", "hierarchy", "told"),
    [
        (0, "icd-10", "ICD-10 codes, grouped by category and chapter"),
        (2, {"prefix": [3, 2, 1]}, "grouped by their first characters, since 2 of 202 values are none of them"),
    ],
)
def test_a_draft_proposes_chapters_where_all_are_codes(odd: int, hierarchy: object, told: str) -> None:
    codes = [f"{letter}{i:02}.{i % 10}" for letter in "AEIK" for i in range(50)] + ["none", "unclear"][:odd]
    drafted = rk.draft({"dx": codes * 2, "icd_code": codes * 2})
    found, sensitive = drafted.proposals
    assert ("'hierarchy: icd-10' groups" in sensitive.why) == (not odd)
    assert found.column.hierarchy is not None
    assert found.column.hierarchy.short() == hierarchy
    assert told in found.why


def test_a_column_of_other_values_is_told(folder: Path) -> None:
    with pytest.raises(HierarchyError, match="2 of 2 distinct values of column 'dx' are no ICD-10 codes"):
        rk.anonymize(pa.table({"dx": ["x", "y"] * 4}), rk.Policy.parse(POLICY, where="p"))

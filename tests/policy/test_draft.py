"""A draft is right when its roles are those that a steward would give, and when it works without a hand on it."""

from __future__ import annotations

import datetime
import json
import re
import warnings
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.schema import Role
from rothko.errors import InputError, PolicyError, PrivacyWarning
from rothko.flow import anonymize
from rothko.policy.appearance import UNKNOWN
from rothko.policy.column_names import words
from rothko.policy.draft import Draft, Proposal, draft
from rothko.policy.policy import Policy

ROWS = 200
rng = np.random.default_rng(7)


def some(n: int, rows: int = ROWS) -> list[int]:
    """Whole numbers, n of them distinct, in no order."""
    return rng.permutation(np.arange(rows) % n).tolist()


def look(name: str, values: Any, **options: Any) -> Proposal:
    """The proposal for one column, beside another that can always be generalised."""
    column = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
    found = draft(pa.table({name: column, "another": some(5, len(values))}), **options)
    works(pa.table({name: column, "another": some(5, len(values))}), found)
    return found.proposals[0]


def works(data: Any, found: Draft) -> None:
    """The policy as written is the policy, and a release under it goes through."""
    assert Policy.parse(found.to_yaml()) == found.policy
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "'.*' repeats", PrivacyWarning)  # an identifier, where records are counted
        release = anonymize(data, Policy.parse(found.to_yaml()), accept_draft=True, threads=1)
    assert release.certificate.verification.holds
    assert release.arrow.num_rows == found.rows


def role(name: str, values: Any) -> str:
    return str(look(name, values).column.role)


def named(name: str) -> Proposal:
    """The proposal for a column of which nothing but the name is telling."""
    return draft({name: some(4), "another": some(5)}).proposals[0]


# ── names ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        "name", "Surname", "first_name", "lastName", "FullName", "ssn", "social security no", "E-Mail", "email_2",
        "Phone", "mobile-number", "fax", "homeAddress", "street", "passport_no", "driving licence", "IBAN",
        "account", "URL", "ip", "IPAddress", "device id", "patient_id", "PatientID", "record id", "uuid", "mrn",
        "medical record number", "Nachname", "vorname", "nom", "Prénom", "apellidos", "correo", "teléfono", "comments",
    ],
)  # fmt: skip
def test_names_that_lead_to_one_person(name: str) -> None:
    assert named(name).column.role is Role.IDENTIFIER


@pytest.mark.parametrize(
    "name",
    ["capital-gain", "candidate", "zip", "phone_type", "country_name", "has_email", "residence", "nominal", "store_id",
     "humid", "aged", "hip", "accountant"],
)  # fmt: skip
def test_names_that_only_look_like_it(name: str) -> None:
    assert named(name).column.role is Role.QUASI_IDENTIFIER


@pytest.mark.parametrize(
    "name",
    ["disease", "Diagnosis", "icd10", "hiv_status", "religion", "sexual orientation", "salary-class", "Income",
     "wagePerHour", "credit score", "grade", "crimes", "party", "union", "labor_union_member", "disability", "symptoms",
     "test_result"],
)  # fmt: skip
def test_names_of_what_must_not_be_learnt(name: str) -> None:
    found = named(name)
    assert found.column.role is Role.SENSITIVE
    assert "by its name" in found.why


@pytest.mark.parametrize(
    "name", ["sex", "Race", "ethnicity", "age", "dateOfBirth", "city", "marital-status", "education"]
)
def test_names_of_what_others_know(name: str) -> None:
    found = named(name)
    assert found.column.role is Role.QUASI_IDENTIFIER
    assert "known from elsewhere" in found.why


def test_an_unknown_column_fails_closed() -> None:
    found = named("xyzzy")
    assert found.column.role is Role.QUASI_IDENTIFIER
    assert "not recognised" in found.why


@pytest.mark.parametrize("name", ["fnlwgt", "instance_weight", "PWGTP", "WGTP"])
def test_survey_weights_are_dropped(name: str) -> None:
    assert named(name).column.role is Role.IDENTIFIER


def testwords() -> None:
    assert words("HTTPServerURL") == "http server url"
    assert words("date_of-birth 2") == "date of birth"
    assert words("Größe") == "grosse"
    assert words("🙂") == ""


# ── values ───────────────────────────────────────────────────────────────────────────────────────


def test_unique_text_and_whole_numbers_lead_to_one_person() -> None:
    codes = [f"{7919 * i % 100_003}" for i in range(ROWS)]
    assert role("code", [f"x{c}y" for c in codes]) == "identifier"
    assert role("code", [int(c) + 5 for c in codes]) == "identifier"
    assert role("code", [None, *(float(c) for c in codes[1:])]) == "identifier", "pandas makes floats of them"
    assert role("code", codes) == "identifier", "numbers stored as text"
    assert role("code", [int(c) for c in codes[:40]]) == "quasi-identifier", "too few to tell"
    assert role("amount", [int(c) for c in codes]) == "quasi-identifier", "a measure by its name"
    assert role("code", [int(c) + 0.5 for c in codes]) == "quasi-identifier", "measured"
    assert role("zip", [int(c) for c in codes]) == "quasi-identifier", "known by its name"
    assert role("diagnosis", [f"long story {c}" for c in codes]) == "identifier", "free text"
    days = [datetime.date(1950, 1, 1) + datetime.timedelta(days=i) for i in range(ROWS)]
    assert role("code", days) == "quasi-identifier"
    assert role("treatment", days) == "quasi-identifier", "others may know when"


def test_row_numbers() -> None:
    assert role("x", rng.permutation(30).tolist()) == "identifier"
    assert role("x", list(range(1, 31))) == "identifier"
    assert role("x", list(range(2, 32))) == "quasi-identifier"
    assert role("x", list(range(5))) == "quasi-identifier", "too few to tell"


def test_an_id_need_not_be_quite_unique() -> None:
    assert role("id", [i // 2 * 7 for i in range(40)]) == "identifier"
    assert role("shop_id", some(5)) == "quasi-identifier"
    found = draft({"patient_id": some(50), "age": some(20)})
    assert any("'patient_id' repeats" in note for note in found.notes)


def test_emails_are_known_by_their_look() -> None:
    assert role("contact", [f"p{i}@example.org" for i in some(20)]) == "identifier"


def test_bank_accounts_are_known_by_their_look() -> None:
    iban = ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432", "NO9386011117947"] * 20
    assert role("konto", (iban * 4)[:ROWS]) == "identifier"
    assert role("code", ["AB12 CD34", "AB12 CD35"] * (ROWS // 2)) == "quasi-identifier"


def test_constant_columns_are_kept() -> None:
    assert role("x", ["same"] * ROWS) == "keep"
    assert role("x", pa.nulls(ROWS)) == "keep"
    assert role("x", ["same", None] * (ROWS // 2)) == "quasi-identifier", "who has it differs from who has not"
    assert role("x", ["?", "NA"] * (ROWS // 2)) == "quasi-identifier", "they differ as they stand"
    assert str(draft({"x": [1] * ROWS}).proposals[0].column.role) == "quasi-identifier", "a policy needs one"


def test_what_cannot_be_generalised_is_dropped() -> None:
    for values in ([[1], [2]] * 100, [{"a": 1}] * ROWS, [b"x", b"y"] * 100, [datetime.timedelta(1)] * ROWS):
        found = look("x", values)
        assert (found.column.role, found.distinct) == (Role.IDENTIFIER, 0)
        assert "cannot be generalised" in found.why


def test_nothing_to_generalise() -> None:
    with pytest.raises(InputError, match="no column to propose as a quasi-identifier"):
        draft({"name": ["a", "b"], "disease": ["c", "d"]})


# ── types and missing values ─────────────────────────────────────────────────────────────────────


def test_numbers_stored_as_text() -> None:
    found = look("x", [" 42", "42.0", "7", "?"] * 50)
    assert (found.column.type, found.type) == ("number", "whole numbers stored as text")
    assert (found.distinct, found.missing) == (2, 50)
    assert look("x", ["1.5", "2", "1e3"] * 20).type == "numbers stored as text"
    assert look("salary", ["100", "200", "NA"] * 20).column.type == "number", "sensitive columns, too"
    assert look("x", ["1e999", "2"] * 50).column.type == "auto", "infinite"


def test_dates_stored_as_text() -> None:
    days = [f"20{y:02}-0{m}-15" for y in range(20) for m in range(1, 6)] * 2
    found = look("x", days)
    assert (found.column.type, found.type) == ("date", "dates stored as text")
    assert found.column.hierarchy is not None
    assert found.column.hierarchy.short() == {"dates": ["month", "year", "decade"]}
    times = look("x", [f"{day} 12:30" for day in days])
    assert (times.column.type, times.type) == ("timestamp", "timestamps stored as text")
    assert times.column.hierarchy is not None
    assert times.column.hierarchy.short() == {"dates": ["day", "month", "year"]}
    assert look("x", ["2024-02-30", "2024-02-28"] * 50).column.type == "auto", "no date at all"
    assert look("x", ["2024-02-28", "unknown"] * 50).missing == 0, "one date is no column of dates"
    assert look("x", ["2024-02-28", "2024-02-27", "unknown"] * 50).missing == 50


def test_tokens_among_numbers() -> None:
    data = {"x": ["1", "2", "N"] * 40, "y": ["3", "4", "unknown"] * 40, "z": ["5", "6", "n.s."] * 40}
    found = draft(data)
    assert found.policy.missing == ("N", "n.s.", "unknown")
    assert [p.missing for p in found.proposals] == [40, 40, 40]
    assert any("'n.s.' is taken for missing in 'z'" in note for note in found.notes)
    works(data, found)


def test_a_token_that_another_column_has_as_a_value_is_none() -> None:
    data = {"x": ["1", "2", "N"] * 40, "y": ["Y", "N", "N"] * 40, "z": ["1", "2", "N"] * 40}
    found = draft(data)
    assert found.policy.missing == ()
    assert [p.column.type for p in found.proposals] == ["auto", "auto", "auto"]
    assert any("'x' would be numbers or dates but for 1" in note for note in found.notes)
    works(data, found)


def test_a_word_that_may_be_a_value_is_no_token() -> None:
    assert look("age", ["88", "89", "90+"] * 40).missing == 0
    assert look("age", ["88", "89"] * 40 + ["a person's name"]).missing == 0
    rare = draft({"age": [str(i % 60) for i in range(240)] + ["Smith"]})
    assert rare.policy.missing == ()
    assert not any("Smith" in text for text in (*rare.notes, rare.to_yaml()))
    assert any("'age' would be numbers or dates but for 1 distinct" in note for note in rare.notes)


def test_tokens_in_text() -> None:
    data = {"x": ["a", " ? ", "none", "  ", "*"] * 20, "name": ["NULL", "b"] * 50}
    found = draft(data, missing=["zz"])
    assert found.policy.missing == ("zz", "  ", " ? ", "*"), "as written; 'none' is a value, names are dropped"
    assert found.proposals[0].missing == 60
    works(data, found)
    assert look("result", ["+", "-"] * 50).missing == 0, "a minus"
    assert look("x", ["a", "b", "-"] * 50).missing == 50
    assert draft({"x": ["a", "zz"] * 50}, missing="zz").proposals[0].missing == 50


def test_infinite_numbers() -> None:
    data = {"x": [1.5, 2.5, np.inf, -np.inf, np.nan] * 20}
    found = draft(data)
    assert found.policy.missing == ("-inf", "inf")
    assert (found.proposals[0].distinct, found.proposals[0].missing) == (2, 60)
    assert any("infinite numbers in 'x'" in note for note in found.notes)
    works(data, found)


# ── hierarchies and requirements ─────────────────────────────────────────────────────────────────


def test_hierarchies() -> None:
    def short(name: str, values: Any) -> Any:
        hierarchy = look(name, values).column.hierarchy
        return None if hierarchy is None else hierarchy.short()

    assert short("zip", [f"0{2000 + i}" for i in some(5)]) == {"mask": "right"}
    assert short("area", [f"AB{10 + i}" for i in some(30)]) == {"mask": "right"}
    assert short("area", [f"0{100 + i}" for i in some(30)]) == {"mask": "right"}
    assert short("area", [f"{1000 + i}" for i in some(30)]) is None, "numbers"
    assert short("zip", [f"02{i}**" for i in some(5)]) is None, "masked already"
    assert short("zip", [f"a very long code {i}" for i in some(30)]) == "auto"
    assert look("zip", [f"{10**11 + i}" for i in some(30)]).column.type == "text", "as a file is read for the draft"
    assert short("city", [f"city {i}" for i in some(13)]) == "auto"
    assert short("city", [f"city {i}" for i in some(12)]) is None
    assert short("age", some(100)) is None
    assert short("birth", [datetime.date(1950 + i, 1, 1) for i in some(20)]) is None
    assert short("birth", [datetime.datetime(1950 + i, 1, 1) for i in some(60)]) == {"dates": ["day", "month", "year"]}


@pytest.mark.parametrize(
    "name", ["race", "SEX", "region", "state_code", "marital-status", "Familienstand", "occ industry"]
)
def test_whole_numbers_of_what_has_no_order_are_labels(name: str) -> None:
    found = look(name, some(9))
    assert found.column.type == "text"
    assert found.column.hierarchy is None
    assert "labels without an order" in found.why


@pytest.mark.parametrize("name", ["age", "children", "years_in_state", "region_population", "education"])
def test_whole_numbers_of_what_is_counted_keep_their_order(name: str) -> None:
    assert look(name, some(9)).column.type == "auto"


def test_many_whole_numbers_are_no_labels() -> None:
    assert look("region", some(101)).column.type == "auto"


def test_a_postal_code_keeps_its_zeros(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("zip,age\n" + "".join(f"0213{i % 7},{i % 30}\n" for i in range(ROWS)), encoding="utf-8")
    found = draft(path)
    assert found.proposals[0].type == "text"
    release = anonymize(path, found.confirm(), threads=1)
    assert set(release.table["zip"].to_pylist()) <= {*(f"0213{i}" for i in range(7)), "0213*", "*"}


def test_requirements() -> None:
    data = {"age": some(30), "disease": some(7), "hiv": some(2), "crime": ["none"] * ROWS, "grade": some(3)}
    asked = [r.describe() for r in draft(data).policy.privacy]
    assert asked == [
        "k-anonymity with k = 10",
        "distinct-l-diversity of disease with l = 3",
        "distinct-l-diversity of hiv with l = 2",
        "distinct-l-diversity of grade with l = 3",
    ]
    assert draft(data, k=4).policy.privacy[0].asked == 4
    with pytest.raises(PolicyError, match="at least 2"):
        draft("no such file", k=1)


def test_a_small_table_asks_for_less() -> None:
    for rows, k in [(2, 2), (59, 2), (60, 3), (200, 10), (400, 10)]:
        found = draft({"age": some(20, rows)})
        assert found.policy.privacy[0].asked == k
        assert any(f"k is {k} and not 10" in note for note in found.notes) == (k < 10)
    assert any("cannot be released" in note for note in draft({"age": [3]}).notes)


def test_notes_for_a_person() -> None:
    assert any("No column looks sensitive" in note for note in draft({"age": some(9)}).notes)
    wide = draft({f"q{'abcdefghijklmnop'[i]}": some(4) for i in range(16)})
    assert any(note.startswith("16 quasi-identifiers") and "'qh' and 8 more" in note for note in wide.notes)
    rare = draft({"age": some(9), "hiv": [1] + [0] * (ROWS - 1), "income": some(90)})
    assert any("Most records share a value of 'hiv': its l-diversity leaves 1 class" in note for note in rare.notes)
    assert any("'hiv', 'income' are sensitive" in note for note in rare.notes)


# ── the whole ────────────────────────────────────────────────────────────────────────────────────

CELLS = {
    "whole": st.integers(-3, 10**6),
    "decimal": st.floats(width=32),
    "exact": st.decimals(-99, 99, places=2).map(Decimal),
    "text": st.sampled_from(["", " ", "a", "b", "*", "?", "NA", "a, b", "{a}", "3", "4.0", "N", "ä", "'\"", "a\nb"]),
    "code": st.from_regex(r"[0-9]{5}", fullmatch=True),
    "truth": st.booleans(),
    "day": st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)),
    "moment": st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)),
    "clock": st.times(),
    "list": st.lists(st.integers(0, 3), max_size=2),
}
NAMES = [
    "age",
    "zip",
    "disease",
    "id",
    "a b",
    'quo"te',
    "it's",
    "🙂",
    "no",
    "a: b # c",
    "x\ny",
    "k" * 200,
    "🏠 address",
    "?",
]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(2, 60))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=5, unique=True))
    columns = []
    for _ in names:
        cells = CELLS[draw(st.sampled_from(sorted(CELLS)))]
        pool = draw(st.lists(st.none() | cells, min_size=1, max_size=20))
        columns.append(pa.array([pool[draw(st.integers(0, len(pool) - 1))] for _ in range(rows)]))
    return pa.table(columns, names=names)


@settings(deadline=None, max_examples=60)
@given(tables())
def test_any_draft_works_without_a_hand_on_it(table: pa.Table) -> None:
    table = table.append_column("another", pa.array(np.arange(table.num_rows) % 3))
    works(table, draft(table))


def test_uniqueness_is_that_of_a_count() -> None:
    # With the missing one 256 values each: a 64-bit key would lose the first of nine, the one that tells records apart.
    wide: dict[str, list[Any]] = {"q": [i // 2 for i in range(510)]}
    wide |= {f"q{'abcdefgh'[i]}": [j % 255 for j in range(510)] for i in range(8)}
    narrow: dict[str, list[Any]] = {
        "age": some(9),
        "sex": [None if i == 0 else "fm"[i % 2] for i in some(7)],
        "crime": some(50),
    }
    for data in (wide, narrow, {"age": [1, 1, 2], "sex": ["f", "f", None]}):
        found = draft(data)
        times = Counter(zip(*(data[name] for name in found.policy.quasi_identifiers), strict=True))
        assert found.unique == sum(n == 1 for n in times.values()) / found.rows
    assert draft(wide).unique == 1


def test_no_cell_value_is_told() -> None:
    data = {
        "age": [f"{917000 + i}" for i in some(30)] + ["Qq-secret", "?"] * 3,
        "town": [f"Qq-town-{i}" for i in some(40, 206)],
        "person": [f"Qq-person-{i}" for i in range(206)],
        "disease": [f"Qq-ill-{i}" for i in some(3, 206)],
        "fixed": ["Qq-fixed"] * 206,
        "measure": [917000.5 + i for i in some(99, 206)],
    }
    found = draft(data)
    told = "\n".join([*found.notes, *(f"{p.type} {p.why}" for p in found.proposals), found.to_yaml()])
    assert not re.search(r"Qq|917\d", told)
    assert "'?'" in told


def test_yaml_explains_each_column() -> None:
    data = {
        "age": some(30),
        "name": ["x"] * ROWS,
        "zip": [f"0{2000 + i}" for i in some(5)],
        "disease": ["a", None] * 100,
    }
    text = draft(data).to_yaml()
    lines = text.split("\n")
    assert lines[0].startswith("# A draft")
    at = lines.index("  zip: {role: quasi-identifier, hierarchy: {mask: right}}")
    assert (
        lines[at - 1]
        == "  # text, 5 distinct: a place, by its name; may be known from elsewhere; masked from the right"
    )
    assert "  # text, 1 distinct, 100 missing: health, by its name; must not be learnt about a person" in lines
    works(data, draft(data))


def test_plain_data_is_the_whole_draft() -> None:
    found = draft({"age": some(30), "disease": ["a", None] * 100})
    plain = json.loads(json.dumps(found.to_dict()))
    assert (plain["rows"], plain["unique"], plain["notes"]) == (found.rows, found.unique, list(found.notes))
    assert Policy.parse(plain["policy"]) == found.policy
    assert plain["columns"][1] == {
        "name": "disease", "role": "sensitive", "type": "text", "distinct": 1, "missing": 100,
        "why": found.proposals[1].why, "confirm": True,
    }  # fmt: skip


def test_files_and_options(tmp_path: Path) -> None:
    table = pa.table({"age": some(30), "Wohn ort": [f"Ort {i}" for i in some(20)], "diagnosis": some(4)})
    pq.write_table(table, tmp_path / "people.parquet")
    assert draft(tmp_path / "people.parquet").policy == draft(table).policy == draft(table.to_pandas()).policy
    path = tmp_path / "bare.csv"
    path.write_text("".join(f"{i % 9},b\n" for i in range(99)), encoding="utf-8")
    found = draft(path)
    assert any("has no header" in note for note in found.notes)
    works(path, found)
    path.write_text("age,sex\n", encoding="utf-8")
    with pytest.raises(InputError, match="no records"):
        draft(path)


def test_sensitive_values_that_look_alike_are_folded() -> None:
    """Two diseases in five spellings: the draft asks for two of them, and can be met."""
    spellings = ["HIV", "hiv", "HIV ", "flu", "Flu"]
    people = {"age": [i % 20 for i in range(100)], "disease": [spellings[i % 5] for i in range(100)]}
    found = draft(people)
    assert found.policy.columns["disease"].fold
    assert [r.asked for r in found.policy.privacy if r.column == "disease"] == [2]
    [proposal] = [p for p in found.proposals if p.name == "disease"]
    assert "count as one" in proposal.why
    assert not draft({**people, "disease": ["HIV", "flu"] * 50}).policy.columns["disease"].fold


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("koerpergroesse", "what can be seen, by its name; may be known from elsewhere"),
        ("Staatsangehoerigkeit", "origin, by its name; may be known from elsewhere"),
        ("strasse", "an address, by its name"),
        ("value", UNKNOWN),
    ],
)
def test_umlauts_may_be_written_in_two_letters(name: str, why: str) -> None:
    found, _ = draft({name: [150 + i % 40 for i in range(200)], "age": [i * i % 31 for i in range(200)]}).proposals
    assert found.why.partition("; whole numbers")[0] == why


@pytest.mark.parametrize("name", ["Gesamtbetrag", "Menge", "kaufpreis", "montant", "Flaeche"])
def test_measures_in_other_languages_are_no_identifiers(name: str) -> None:
    numbers = [i * 7919 % 100_003 for i in range(500)]
    found = draft({name: numbers, "asset_tag": numbers, "age": [1, 2] * 250})
    assert found.policy.columns[name].role == "quasi-identifier"
    assert found.policy.columns["asset_tag"].role == "identifier"

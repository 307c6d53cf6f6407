"""Numbers with a comma and dates in another order: found by ``draft`` where clear, and released in one form."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import jsonschema
import pandas as pd
import pyarrow as pa
import pytest
import yaml

import rothko as rk
from rothko.data.source.csv import CsvOptions
from rothko.errors import InputError, PolicyError
from rothko.policy.policy import Policy
from tests.command import Rothko
from tests.engine import small

DISEASES = ["grippe", "husten", "gicht", "fieber"]


def people(count: int = 240, *, seed: int = 0) -> dict[str, list[str]]:
    """A table as a spreadsheet writes it in much of the world."""
    draw = random.Random(seed)
    days = [datetime.date(1950, 1, 1) + datetime.timedelta(days=draw.randrange(15_000)) for _ in range(count)]
    return {
        "geburt": [f"{day:%d.%m.%Y}" if i % 9 else f"{day.day}.{day.month}.{day.year}" for i, day in enumerate(days)],
        "groesse": [f"{draw.randrange(150, 200)},{draw.randrange(10)}" for _ in days],
        "gehalt": [f"{draw.randrange(1000, 1040)},{draw.choice(['00', '50', '5'])}" for _ in days],
        "krankheit": [draw.choice(DISEASES) for _ in days],
        "plz": [f"{draw.randrange(1000, 1200):05}" for _ in days],
    }


def plain(table: dict[str, list[str]]) -> dict[str, list[str]]:
    """The same as rothko writes it, by code that shares nothing with it."""
    return {
        name: [datetime.datetime.strptime(text, "%d.%m.%Y").date().isoformat() for text in texts]
        if name == "geburt"
        else [text.replace(",", ".") for text in texts]
        for name, texts in table.items()
    }


def write(path: str | Path, table: dict[str, list[str]], delimiter: str = ";") -> None:
    rows = zip(*table.values(), strict=True)
    Path(path).write_text("\n".join(delimiter.join(row) for row in [tuple(table), *rows]) + "\n")


POLICY = """
columns:
  geburt: {role: quasi-identifier, type: {date: '%d.%m.%Y'}, hierarchy: {dates: [month, year, decade]}}
  groesse: {role: quasi-identifier}
  gehalt: {role: sensitive, type: number}
  krankheit: {role: sensitive}
  plz: {role: quasi-identifier, hierarchy: {mask: right}}
privacy:
  - k-anonymity: {k: 5}
  - distinct-l-diversity: {l: 3, of: gehalt}
input: {decimal: ','}
"""
IN_ONE_FORM = POLICY.replace("{date: '%d.%m.%Y'}", "date").replace("input: {decimal: ','}", "")


def test_no_command_needs_to_be_told_again(folder: Path, rothko: Rothko) -> None:
    write("people.csv", people())
    write("new.csv", people(60, seed=1))
    assert rothko("draft", "people.csv", "--out", "policy.yaml").code == 0
    policy = Policy.load("policy.yaml")
    assert policy.input.decimal == ","
    written = yaml.safe_load(Path("policy.yaml").read_text())["columns"]
    assert written["geburt"]["type"] == {"date": "%d.%m.%Y"}
    assert written["groesse"]["type"] == written["gehalt"]["type"] == "number"
    for command in (
        ["anonymize", "people.csv", "--out", "release.csv", "--recoding", "release-recoding", "--accept-draft"],
        ["check", "release.csv"],
        ["measure", "people.csv", "release.csv"],
        ["compare", "people.csv", "--method", "mondrian", "--k", "5"],
        ["evaluate", "people.csv", "--classify", "krankheit", "--rows", "200", "--folds", "2", "--models", "tree"],
    ):
        ran = rothko(*command, "--policy", "policy.yaml")
        assert ran.code == 0, (command, ran.out, ran.err)
    ran = rothko("apply", "release-recoding", "new.csv", "--out", "recoded.csv")
    assert ran.code == 0, ran.err
    assert rothko("check", "people.csv", "--policy", "policy.yaml").code == 4, "the original"


def test_a_release_is_that_of_the_same_table_in_one_form(engine: str, folder: Path) -> None:
    write("people.csv", people(1500))
    write("plain.csv", plain(people(1500)), ",")
    for name, policy in (("people.csv", POLICY), ("plain.csv", IN_ONE_FORM)):
        rk.anonymize(name, Policy.parse(policy).but(engine=small(engine))).save(f"{name}-release.csv")
    released = Path("people.csv-release.csv").read_bytes()
    assert released == Path("plain.csv-release.csv").read_bytes()
    for text in (b",00,", b",50,", b".19"):
        assert text not in released
    assert rk.check("people.csv-release.csv", POLICY)
    lost = rk.measure("people.csv", "people.csv-release.csv", policy=POLICY)
    assert lost.to_dict() == rk.measure("plain.csv", "plain.csv-release.csv", policy=IN_ONE_FORM).to_dict()


def test_new_records_are_read_as_the_first(folder: Path) -> None:
    write("people.csv", people())
    write("plain.csv", plain(people()), ",")
    number = ("groesse: {role: quasi-identifier", "groesse: {role: quasi-identifier, type: number")
    one = rk.anonymize("people.csv", POLICY.replace(*number)).recoding
    other = rk.anonymize("plain.csv", IN_ONE_FORM.replace(*number)).recoding
    assert one is not None
    assert other is not None
    new = people(60, seed=2)
    assert one.apply(pa.table(new)).to_pydict() == other.apply(pa.table(plain(new))).to_pydict()


def test_texts_of_a_dataframe_are_read_so_too() -> None:
    found = rk.draft(pd.DataFrame(people())).policy
    assert (found.input.decimal, found.columns["gehalt"].type) == (",", "number")
    release = rk.anonymize(pd.DataFrame(people()), found, accept_draft=True)
    assert sorted(release.table["gehalt"]) == sorted(plain(people())["gehalt"])
    model = rk.Anonymizer(POLICY).fit(pd.DataFrame(people()))
    again = rk.Anonymizer(IN_ONE_FORM).fit(pd.DataFrame(plain(people())))
    assert (model.transform(pd.DataFrame(people())) == again.transform(pd.DataFrame(plain(people())))).all()


def test_a_column_that_is_kept_leaves_in_one_form_where_its_type_is_said(folder: Path) -> None:
    write("people.csv", people())
    policy = POLICY.replace("gehalt: {role: sensitive", "gehalt: {role: keep").replace(
        "  - distinct-l-diversity: {l: 3, of: gehalt}\n", "workload: [{regress: {target: gehalt}}]\n"
    )
    assert sorted(rk.anonymize("people.csv", policy).table["gehalt"].to_pylist()) == sorted(plain(people())["gehalt"])


CLEAR = {
    "comma": (["0,5", "1,25", "7"], "number"),
    "comma and thousands alike": (["1,234", "2,500", "0,5"], "number"),
    "signs and missing": (["-1,5", "+2", "n.a.", ""], "number"),
    "day first": (["13.04.2024", "03.04.2024"], {"date": "%d.%m.%Y"}),
    "month first": (["04/13/2024", "04/03/2024"], {"date": "%m/%d/%Y"}),
    "year first": (["2024/02/29", "2023/02/28"], {"date": "%Y/%m/%d"}),
    "with a time": (["13.04.2024 09:30", "?"], {"timestamp": "%d.%m.%Y %H:%M"}),
}
UNCLEAR = {
    "thousands": ["1,234", "2,500"],
    "two days": ["03.04.2024", "04.03.2024"],
    "no such day": ["30.02.2024", "13.04.2024"],
    "two forms": ["13.04.2024", "04/13/2024"],
    "two-digit years": ["13.04.24", "14.04.24"],
    "codes": ["01,5", "0,5"],
    "lists": ["1,5", "1,5,7"],
}


@pytest.mark.parametrize("case", CLEAR)
def test_what_is_clear_is_written_into_the_draft(case: str) -> None:
    words, expected = CLEAR[case]
    policy = rk.draft({"age": ["20", "30"] * 30, "value": (words * 60)[:60]}).policy
    assert yaml.safe_load(policy.dump())["columns"]["value"]["type"] == expected
    assert Policy.parse(policy.dump()) == policy


@pytest.mark.parametrize("case", UNCLEAR)
def test_what_is_not_clear_stays_text(case: str) -> None:
    draft = rk.draft({"age": ["20", "30"] * 30, "value": (UNCLEAR[case] * 60)[:60]})
    assert (draft.policy.columns["value"].type, draft.policy.input.decimal) == ("auto", None)
    told = "\n".join(draft.notes)
    assert ("decimal: ','" in told) == (case == "thousands")
    assert ("%d.%m.%Y" in told and "%m.%d.%Y" in told) == (case == "two days")
    assert not any(word in told for word in UNCLEAR[case]), "cells"


ASKED = {
    "days": ("%d.%m.%Y", "%m.%d.%Y", ["03.04.2024", "04.03.2024"]),
    "days with slashes": ("%d/%m/%Y", "%m/%d/%Y", ["03/04/2024", "04/03/2024"]),
    "commas": ("{decimal: ','}", "{thousands: ','}", ["1,234", "2,500"]),
    "points": ("stand before decimals", "thousands: '.'", ["1.234", "2.500"]),
}


@pytest.mark.parametrize("case", ASKED)
def test_what_can_be_read_in_two_ways_waits_for_a_person(folder: Path, case: str, rothko: Rothko) -> None:
    one, other, words = ASKED[case]
    write("people.csv", {"age": ["20", "30"] * 30, "born": words * 30}, ";")
    assert rothko("draft", "people.csv", "--k", "3", "--out", "policy.yaml").code == 0
    text = Path("policy.yaml").read_text()
    assert Policy.parse(text).confirm == ("born",)
    reason = text.split("  born:")[0].splitlines()[-1]
    assert one in reason
    assert other in reason
    assert not any(word in text for word in words), "cells"
    asked = ("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out.csv")
    ran = rothko(*asked)
    assert ran.code == 2
    assert "'born'" in ran.err
    assert not Path("out.csv").exists()
    settled = text.replace("confirm:\n  - born\n", "")
    if "%" in one:
        settled = settled.replace("  born: {", f"  born: {{type: {{date: '{one}'}}, ")
    Path("policy.yaml").write_text(settled)
    ran = rothko(*asked)
    assert ran.code == 0, ran.err


def test_what_is_clear_does_not_wait(folder: Path) -> None:
    write("people.csv", {"age": ["20", "30"] * 30, "born": ["13.04.2024", "04.03.2024"] * 30}, ";")
    assert rk.draft("people.csv").policy.confirm == ()


def test_points_beside_commas_are_not_clear(folder: Path) -> None:
    write("people.csv", {"a": ["0,5", "1,5"] * 30, "b": ["1.500", "2.500"] * 30})
    draft = rk.draft("people.csv")
    assert draft.policy.input.decimal is None
    assert any("'a'" in note and "'b'" in note for note in draft.notes)


def test_a_point_is_no_number_where_a_comma_stands_before_decimals(folder: Path) -> None:
    """1.500 may be a thousand and a half: where the column must be a number, it is refused."""
    table = people()
    table["gehalt"][7] = "1.500"
    table["groesse"][7] = "1.500"
    write("people.csv", table)
    with pytest.raises(InputError, match="'gehalt' has numbers with a point") as told:
        rk.anonymize("people.csv", POLICY)
    assert list(told.value.values) == ["1.500"]
    with pytest.raises(InputError, match="'gehalt' has numbers with a point"):
        rk.check("people.csv", POLICY)
    policy = POLICY.replace("gehalt: {role: sensitive, type: number}", "gehalt: {role: sensitive}")
    labels = set(rk.anonymize("people.csv", policy).table["groesse"].to_pylist())
    assert not any(label.startswith("[") for label in labels), "text"


def test_an_option_says_it_without_a_policy(folder: Path, rothko: Rothko) -> None:
    write("people.csv", people())
    asked = ("anonymize", "people.csv", "--qi", "groesse", "--keep-rest", "--k", "5", "--out")
    assert rothko(*asked, "out.csv", "--decimal", ",").code == 0
    assert '"[1' in Path("out.csv").read_text()
    assert rothko(*asked, "text.csv").code == 0
    assert '"[1' not in Path("text.csv").read_text()
    ran = rothko(*asked, "none.csv", "--decimal", ";")
    assert ran.code == 2
    assert "a point or a comma" in ran.err
    read = rk.draft("people.csv", csv=CsvOptions(decimal=",")).policy
    assert read.columns["gehalt"].type == "number"


def test_the_form_of_a_type_given_in_words() -> None:
    table = {name: people()[name] for name in ("geburt", "krankheit")}
    release = rk.anonymize(table, qi="geburt", sensitive="krankheit", k=5, types={"geburt": {"date": "%d.%m.%Y"}})
    assert all("-" in label for label in release.table["geburt"])


WRONG = {
    "type: {date: '%d.%m.%y'}": "type.date: %y does not tell the century",
    "type: {date: '%d.%m'}": "type.date: a date has %Y, %m, %d, each once, and not %Y",
    "type: {date: '%d.%m.%Y %H'}": "type.date: %H is not a part of a date; there are %Y, %m, %d",
    "type: {date: '%Y-%d-%m'}": "type.date: %Y-%d-%m would be taken for %Y-%m-%d",
    "type: {timestamp: '%d.%m.%Y'}": "type.timestamp: a timestamp has %Y, %m, %d, %H, each once",
    "type: {timestamp: '%d.%m.%Y %H %S'}": "type.timestamp: a timestamp has each of its parts once, and no seconds",
    "type: {number: ','}": "type: a form is for a date or a timestamp",
    "type: {date: [1]}": "type.date: must be text such as '%d.%m.%Y'",
}


@pytest.mark.parametrize("text", WRONG)
def test_mistakes_are_told_with_their_line(text: str) -> None:
    policy = f"privacy: [{{k-anonymity: {{k: 2}}}}]\ncolumns:\n  a: {{role: quasi-identifier, {text}}}\n"
    with pytest.raises(PolicyError) as told:
        Policy.parse(policy)
    assert str(told.value).startswith(f"policy, line 3, columns.a.{WRONG[text]}"), told.value


def test_the_schema_takes_a_type_with_its_form() -> None:
    schema = jsonschema.Draft202012Validator(Policy.json_schema())
    schema.validate(yaml.safe_load(POLICY))
    for wrong in ("{date: 1}", "{number: x}", "{date: x, timestamp: y}"):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(yaml.safe_load(POLICY.replace("{date: '%d.%m.%Y'}", wrong)))


# ── thousands, words for nothing, encodings ──────────────────────────────────────────────────────

PARTED = """
columns:
  age: {role: quasi-identifier}
  income: {role: keep, type: number}
privacy:
  - k-anonymity: {k: 5}
"""


def incomes(folder: Path, words: list[str], encoding: str = "utf-8") -> Path:
    path = folder / "incomes.csv"
    path.write_text("age;income\n" + "".join(f"{20 + i % 9};{words[i % len(words)]}\n" for i in range(60)), encoding)
    return path


@pytest.mark.parametrize(
    ("words", "thousands", "decimal", "numbers"),
    [
        (["1.234,50", "987,25", "12"], ".", ",", {1234.5, 987.25, 12}),
        (["1.234.567", "1.234"], ".", ",", {1234567, 1234}),
        (["1,234.50", "12"], ",", None, {1234.5, 12}),
        (["1'234.50", "1\u2019000"], "'", None, {1234.5, 1000}),
        (["1\u202f234,50", "12,5", "1\u00a0000"], " ", ",", {1234.5, 12.5, 1000}),
    ],
)
def test_clear_thousands_are_written_into_the_draft(
    folder: Path, words: list[str], thousands: str, decimal: str | None, numbers: set[float], engine: str
) -> None:
    path = incomes(folder, words)
    found = rk.draft(path).policy
    assert (found.input.thousands, found.input.decimal) == (thousands, decimal)
    assert found.columns["income"].type == "number"
    assert Policy.parse(found.dump()).input == found.input
    policy = Policy.parse(PARTED).but(input=found.input, engine=small(engine))
    rk.anonymize(path, policy).save(folder / "out.parquet")
    assert {float(value) for value in pd.read_parquet(folder / "out.parquet")["income"]} == numbers


def test_decimals_beside_thousands_and_a_word_for_nothing(folder: Path) -> None:
    """Weights are too small to have thousands, and words among them keep the reader from taking them for numbers."""
    path = folder / "t.csv"
    weights = ["93,5", "61,0", "k.A."]
    path.write_text("age;income;weight\n" + "".join(f"{20 + i % 9};1.234,50;{weights[i % 3]}\n" for i in range(60)))
    found = rk.draft(path).policy
    assert {name: found.columns[name].type for name in ("income", "weight")} == {"income": "number", "weight": "number"}


def test_thousands_that_another_column_speaks_against(folder: Path) -> None:
    path = folder / "t.csv"
    path.write_text("age;income;height\n" + "".join(f"{20 + i % 9};1.234,50;1.{10 + i}\n" for i in range(60)))
    assert rk.draft(path).policy.input.thousands is None


@pytest.mark.parametrize("values", [["1e3", "2e5"], ["1", "inf"]])
def test_numbers_without_a_point_have_none_to_tell_of(folder: Path, values: list[str]) -> None:
    assert not [note for note in rk.draft(incomes(folder, values)).notes if "Three digits" in note]


def test_a_point_before_three_digits_is_told(folder: Path) -> None:
    draft = rk.draft(incomes(folder, ["1.234", "2.345"]))
    assert draft.policy.input.thousands is None
    [note] = [note for note in draft.notes if "Three digits" in note]
    assert "thousands: '.'" in note


def test_what_is_in_no_groups_of_three_is_refused(folder: Path) -> None:
    policy = Policy.parse(PARTED + "input: {thousands: ',', delimiter: ;}\n")
    policy = policy.but(columns={"age": {"role": "keep"}, "income": {"role": "quasi-identifier", "type": "number"}})
    with pytest.raises(InputError, match="cannot be read as a number"):
        rk.anonymize(incomes(folder, ["1,234", "1,23"]), policy)


def test_thousands_and_decimals_differ() -> None:
    with pytest.raises(PolicyError, match="write decimal: ','"):
        Policy.parse(PARTED + "input: {thousands: '.'}\n")
    with pytest.raises(PolicyError, match="must be"):
        Policy.parse(PARTED + "input: {thousands: x}\n")


def test_words_for_nothing_do_not_leave(folder: Path, engine: str) -> None:
    path = folder / "t.csv"
    path.write_text("age,n,note\n" + "".join(f"{20 + i % 9},{['7', '-99', 'k.A.'][i % 3]},{['x', 'k.A.'][i % 2]}\n"
                                             for i in range(60)))  # fmt: skip
    policy = Policy.parse(
        "columns: {age: {role: quasi-identifier}, n: {role: sensitive}, note: {role: keep}}\n"
        "privacy: [{k-anonymity: {k: 5}}]\ninput: {missing: [k.A., -99]}\n"
    ).but(engine=small(engine))
    rk.anonymize(path, policy).save(folder / "out.parquet")
    read = pd.read_parquet(folder / "out.parquet")
    assert set(read["n"].dropna()) == {7}
    assert set(read["note"].dropna()) == {"x"}
    frame = rk.anonymize(pd.read_csv(path), policy.but(engine="memory")).arrow
    assert set(frame["note"].to_pylist()) == {"x", None}


@pytest.mark.parametrize(
    ("encoding", "named"), [("cp1252", "cp1252"), ("utf-16-le", "utf-16-le"), ("utf-16", "utf-16")]
)
def test_an_encoding_is_found_and_told(folder: Path, encoding: str, named: str) -> None:
    path = folder / "t.csv"
    path.write_text(
        "größe,ort\n" + "".join(f"{150 + i % 9},{'Köln' if i % 2 else 'Bonn'}\n" for i in range(60)), encoding
    )
    draft = rk.draft(path)
    assert draft.policy.input.encoding == named
    assert list(draft.policy.columns) == ["größe", "ort"]
    assert any("not UTF-8" in note for note in draft.notes) == (encoding != "utf-16")

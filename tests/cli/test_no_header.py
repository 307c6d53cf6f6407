"""A file whose first line is a record: no message shows a cell of it; a typo is still told by its nearest name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PEOPLE = [
    ("Zadie Smith", "female", "Kilburn", "asthma"),
    ("Ann Nameless", "female", "Kilburn", "flu"),
    ("Bob Faceless", "male", "Camden", "flu"),
    ("Cid Doe", "male", "Camden", "asthma"),
]
CELLS = sorted({cell for row in PEOPLE for cell in row} | {"Zadie", "Smith"})
POLICY = """\
columns:
  name: {role: identifier}
  sex: {role: quasi-identifier}
  place: {role: quasi-identifier}
  disease: {role: sensitive}
privacy: [{k-anonymity: {k: 2}}]
"""
UTILITIES = f"{PEOPLE[0][0]},{PEOPLE[0][3]}\n"
COMMANDS = {
    "anonymize": "anonymize people.csv --policy policy.yaml --out out.csv",
    "anonymize on disk": "anonymize people.csv --policy policy.yaml --out out.csv --engine rothko-t",
    "without a policy": "anonymize people.csv --qi asthmaa,femal --sensitive Kilborn --k 2 --out out.csv",
    "nothing alike": "anonymize people.csv --qi age --drop id --k 2 --out out.csv",
    "check": "check people.csv --policy policy.yaml",
    "check without a policy": "check people.csv --qi femal --k 2",
    "compare": "compare people.csv --policy policy.yaml --k 2,3",
    "compare without a policy": "compare people.csv --qi femal --k 2,3",
    "measure": "measure people.csv people.csv --policy policy.yaml",
    "evaluate": "evaluate people.csv --policy policy.yaml --classify disease",
    "sets, long": "sets people.csv --form long --record nam --item asthmaa --k 2 --out out.txt",
    "sets, table": "sets people.csv --form table --columns asthmaa --k 2 --out out.txt",
    "sets, list": "sets people.csv --column asthmaa --k 2 --out out.txt",
    "utilities": "sets baskets.txt --utility utilities.csv --k 2 --out out.txt",
}


def lay_out(folder: Path, first: str = "") -> None:
    lines = "".join(",".join(row) + "\n" for row in PEOPLE * 5)
    (folder / "people.csv").write_text(first + lines)
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "baskets.txt").write_text("tea bread\n" * 4)
    (folder / "utilities.csv").write_text(UTILITIES * 2)


def seen(text: str) -> list[str]:
    return [cell for cell in CELLS if cell in text]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_message_shows_a_record_that_was_taken_for_names(command: str, rothko, folder: Path) -> None:
    lay_out(folder)
    ran = rothko(*COMMANDS[command].split())
    assert ran.code == 2
    assert ran.err.startswith("Error: ")
    assert ran.err.count("\n") == 1
    assert not seen(ran.out + ran.err)
    machine = rothko(*COMMANDS[command].split(), "--json")
    assert (machine.code, machine.err) == (2, "")
    assert json.loads(machine.out)["error"]["message"] == ran.err.removeprefix("Error: ").rstrip("\n")


def test_what_the_first_line_holds_is_listed_when_asked_for(rothko, folder: Path) -> None:
    lay_out(folder)
    ran = rothko(*COMMANDS["anonymize"].split(), "--show-values")
    assert "use --no-header" in ran.err
    assert seen(ran.err.split("\n", 1)[1])


def test_two_cells_that_are_alike(rothko, folder: Path) -> None:
    lay_out(folder, "Zadie Smith,flu,flu,Kilburn\n")
    ran = rothko(*COMMANDS["anonymize"].split())
    assert "the same name for its columns 2, 3" in ran.err
    assert not seen(ran.err)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("name,sex,place,disease", ""),
        ("name,sex,plaace,disease", "columns.place: people.csv has no such column; did you mean 'plaace'?"),
        ("name,sex,place,illness", "columns.disease: people.csv has no such column; there are 'name', 'sex'"),
    ],
)
def test_a_typo_is_told_by_the_names_there_are(header: str, said: str, rothko, folder: Path) -> None:
    """None of the columns holds a number; that the policy knows most of the names tells that they are names."""
    lay_out(folder, header + "\n")
    ran = rothko(*COMMANDS["anonymize"].split())
    assert ran.code == (2 if said else 0)
    assert said in ran.err


def test_a_column_that_the_policy_does_not_name_is_told(rothko, folder: Path) -> None:
    lay_out(folder, "name,sex,place,disease\n")
    (folder / "policy.yaml").write_text(POLICY.replace("  place: {role: quasi-identifier}\n", ""))
    assert "1 column(s) that the policy does not name: 'place'" in rothko(*COMMANDS["anonymize"].split()).err


@pytest.mark.parametrize(
    ("first", "below", "named"),
    [
        ("name,age", "Ann,30", True),
        ("name,born", "Ann,1999-01-01", True),
        ("Ann,NA", "Bob,30", False),
        ("Ann,unknown", "Bob,30", False),
        ("Ann,>90", "Bob,30", False),
        ("Ann,x", "Ann,30", False),
        ("Ann,x", "Bob,y", False),
        ("Ann,1999-01-01", "Bob,3", False),
    ],
)
def test_a_single_option_that_is_mistyped(first: str, below: str, named: bool, rothko, folder: Path) -> None:
    """Numbers below a word tell that it is a name, unless something speaks against it."""
    (folder / "people.csv").write_text(f"{first}\n" + f"{below}\n" * 5)
    ran = rothko(*f"anonymize people.csv --qi {first.split(',')[1][:2]}s --k 2 --out out.csv".split())
    assert ran.code == 2
    assert ("is not a column of the table" in ran.err) == named
    assert ("use --no-header" in ran.err) != named
    said = rothko(*["anonymize", "people.csv", "--qi", "agee", "--k", "2", "--out", "out.csv", "--header"])
    assert "is not a column of the table" in said.err, "a person has said that they are names"


def test_a_draft_says_that_the_first_line_may_be_a_record(rothko, folder: Path) -> None:
    lay_out(folder)
    assert "if it is a record, use --no-header" in rothko("draft", "people.csv").err
    (folder / "ages.csv").write_text("name,age\nAnn,30\nBob,40\n")
    assert "--no-header" not in rothko("draft", "ages.csv").err

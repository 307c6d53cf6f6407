"""``--show-values`` and ``--debug`` are options like any other: before the command, after it, and not inside words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import Rothko

CELL = "a cell"
POLICY = """
columns: {age: {role: quasi-identifier}, grade: {role: quasi-identifier, order: [low]}}
privacy: [{k-anonymity: {k: 2}}]
"""
COMMAND = ("anonymize", "people.csv", "--policy", "policy.yaml", "--out", "out.csv")


@pytest.fixture(autouse=True)
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text(f"age,grade\n1,low\n2,{CELL}\n3,low\n")
    Path("policy.yaml").write_text(POLICY)


@pytest.mark.parametrize("words", [(*COMMAND, "--show-values"), ("--show-values", *COMMAND)])
def test_values_are_shown_where_that_is_asked_for(words: tuple[str, ...], rothko: Rothko) -> None:
    ran = rothko(*words)
    assert ran.code == 2
    assert ran.err.splitlines()[1:] == [f"  {CELL}"]


def test_of_many_values_some_are_shown_and_all_are_counted(rothko: Rothko) -> None:
    grades = [f"grade {i:05}" for i in range(23_246)]
    Path("people.csv").write_text("age,grade\n" + "".join(f"1,{grade}\n" for grade in ["low", "x" * 5000, *grades]))
    ran = rothko(*COMMAND, "--show-values")
    _, *shown, last = ran.err.splitlines()
    assert shown == [f"  {grade}" for grade in grades[:50]]
    assert last == "  … and 23,197 more, 23,247 in all"
    Path("people.csv").write_text("age,grade\n1,low\n1," + "x" * 5000 + "\n")
    assert rothko(*COMMAND, "--show-values").err.splitlines()[1:] == ["  " + "x" * 200 + "…"]


def test_values_are_not_shown_for_a_word_that_only_looks_like_the_option(rothko: Rothko) -> None:
    Path("--show-values").mkdir()
    ran = rothko(*COMMAND[:-1], "--show-values/out.csv")
    assert ran.code == 2
    assert CELL not in ran.err
    ran = rothko("check", "people.csv", "--policy", "policy.yaml", "--delimiter", "--show-values")
    assert CELL not in ran.err


@pytest.mark.parametrize("words", [("draft", "people.csv", "--debug"), ("--debug", "draft", "people.csv")])
def test_a_bug_is_shown_where_that_is_asked_for(
    words: tuple[str, ...], rothko: Rothko, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError(CELL)

    monkeypatch.setattr("rothko.policy.draft.draft", fail)
    with pytest.raises(RuntimeError, match=CELL):
        rothko(*words)
    ran = rothko(*(word for word in words if word != "--debug"))
    assert ran.code == 1
    assert CELL not in ran.err

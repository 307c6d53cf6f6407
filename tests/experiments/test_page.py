"""The page of the experiments is what was saved, and a reader of a paper finds each of its figures there."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from experiments import claims, minimality, page
from experiments.parts import PARTS

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = (DOCS / "experiments.md").read_text("utf-8")
WITH_CLAIMS = [name for name, part in PARTS.items() if part.claims]


def saved(part: str) -> dict[str, Any]:
    return json.loads(page.saved_claims(part, DOCS).read_text("utf-8"))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", WITH_CLAIMS)
def test_the_table_is_that_of_the_saved_claims(name: str) -> None:
    part, rows = PARTS[name], saved(name)["claims"]
    assert page.with_table(PAGE, claims.table(rows), page.NAMES.get(name, f"claims of {name}")) == PAGE
    assert [(row["id"], row["claim"], row["where"]) for row in rows] == [(c.id, c.claim, c.where) for c in part.claims]
    assert all(row["reason"] for row in rows if row["holds"] is False)


def test_the_minimality_attack_is_that_of_the_saved_results() -> None:
    assert page.with_table(PAGE, minimality.table(saved("minimality")), "minimality") == PAGE


def test_what_opens_the_page_counts_the_saved_claims() -> None:
    rows = {name: saved(name)["claims"] for name in WITH_CLAIMS}
    assert page.with_table(PAGE, page.overview(rows), "overview") == PAGE
    assert page.with_table(PAGE, page.ran({name: saved(name)["ran"] for name in PARTS}), "ran") == PAGE


def test_claims_of_the_papers_and_ours_are_counted_apart() -> None:
    def row(where: str, holds: bool | None, reason: str = "") -> dict[str, Any]:
        return {"id": "12a", "where": where, "holds": holds, "reason": reason}

    rows = [row("§1", True), row("§2", False, "because"), row("§3", False, claims.NOT_KNOWN), row("§4", None)]
    rows += [row(claims.OURS, True), row(claims.OURS, False, "because")]
    [line] = [one for one in page.overview({"sets": rows}).splitlines() if one.startswith("| Podgursky")]
    assert line.split("|")[2:-1] == [f" {n} " for n in (4, 1, 2, 1, 1, 2, 1)]


def test_what_was_not_run_stays_as_it_was() -> None:
    def row(name: str, measured: str, claim: str = "so") -> dict[str, Any]:
        return {"id": name, "claim": claim, "where": "§1", "measured": measured}

    rows = [row("1a", "2 of 3"), row("1b", "not run: Fig. 1"), row("1c", "not run: Fig. 1", "other")]
    saved = [row("1a", "1 of 3"), row("1b", "5 of 6"), row("1c", "7 of 8")]
    assert page._with_saved(rows, saved) == [rows[0], saved[1], rows[2]]


@pytest.mark.parametrize("paper", page.NUMBERED)
def test_every_figure_and_table_of_a_paper_has_a_line(paper: str) -> None:
    begin = PAGE.index(f"### {paper}")
    lines = PAGE[begin : PAGE.index("\n## ", begin)].split("\n### ")[0].splitlines()
    told = {number for line in lines if line.startswith("| ") for number in named(line.split("|")[1])}
    assert told == set(page.NUMBERED[paper])


def named(cell: str) -> set[str]:
    """The figures and tables that a cell names: ``Figs. 1 to 3``, ``Table 2``."""
    found = set()
    for kind, rest in re.findall(r"(Fig|Table)s?\.? ([\d, toand]+)", cell):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", rest):
            found |= {f"{kind} {number}" for number in range(int(first), int(last or first) + 1)}
    return found


def test_every_picture_of_the_page_is_there() -> None:
    pictures = re.findall(r"figures/[\w.-]+\.svg", PAGE)
    assert len(pictures) == len(set(pictures))
    for name in pictures:
        assert (DOCS / name).exists()
        assert (DOCS / name).with_suffix(".png").stat().st_size <= 100_000

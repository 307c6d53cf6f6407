"""In a notebook objects are short tables; whatever they hold, nothing of it becomes markup."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser
from typing import Any

import pytest

import rothko as rk
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.policy.policy import Policy
from rothko.report.forms import Drawing

EVIL = "<script>alert('x')</script>&<img src=x onerror=y>"


class Reader(HTMLParser):
    """Collects the tags of a page, and sees that they are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    people = {"age": [20, 22, 25, 41, 44, 47] * 5, EVIL: [EVIL, "gout"] * 15}
    draft = rk.draft(people)
    policy = Policy.quick(list(people), qi=["age"], sensitive=EVIL, k=3, l=2)
    release = rk.anonymize(people, policy)
    return {
        "draft": draft,
        "policy": policy,
        "release": release,
        "stored": rk.anonymize(people, policy.but(engine="rothko-t")),
        "certificate": release.certificate,
        "check": rk.check(release.table, policy),
        "measure": rk.measure(people, release),
        "frontier": rk.compare(people, policy, methods=["mondrian", "cluster"], k=[2, 3]),
        "hierarchy": Hierarchy.from_nested({EVIL: [f"{EVIL}{i}" for i in range(70)], "other": ["x"]}),
    }


NAMES = ("draft", "policy", "release", "stored", "certificate", "check", "measure", "frontier", "hierarchy")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_tables_and_no_markup_of_the_data(objects: dict[str, Any], name: str) -> None:
    html = objects[name]._repr_html_()
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    assert reader.tags <= {
        "div",
        "p",
        "b",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
        "details",
        "summary",
        "pre",
    }
    if name not in ("measure", "frontier"):  # which tell of quasi-identifiers and methods alone
        assert EVIL in reader.words
    assert len(html) < 30_000


@pytest.mark.parametrize("name", NAMES)
def test_a_repr_is_one_short_line(objects: dict[str, Any], name: str) -> None:
    assert "\n" not in repr(objects[name])
    assert len(repr(objects[name])) < 300


def test_long_rows_of_nodes_are_cut(objects: dict[str, Any]) -> None:
    assert "and 20 more" in objects["hierarchy"]._repr_html_()
    assert objects["hierarchy"]._repr_html_().count(" open>") == 1
    small = Hierarchy.from_nested({"a": ["b", "c"], "d": ["e"]})
    assert small._repr_html_().count(" open>") == 3  # there is room for all of it


def test_a_trial_without_numbers_says_why() -> None:
    found = rk.compare({"age": [20, 30, 40]}, qi="age", methods=["mondrian"], k=[2, 9])
    assert "mondrian at k = 9: This table cannot meet k-anonymity" in found._repr_html_()


def test_a_report_is_a_page_in_the_page(objects: dict[str, Any]) -> None:
    report = objects["release"].report()
    reader = Reader()
    reader.feed(report._repr_html_())
    assert reader.open == []
    assert reader.tags == {"iframe"}
    assert 'sandbox="allow-scripts"' in report._repr_html_()
    assert unescape(report._repr_html_()).count(report.html) == 1


def test_a_painting_has_its_sides_and_keeps_its_colours_to_itself(objects: dict[str, Any]) -> None:
    html = Drawing(objects["release"].report().pictures[0])._repr_html_()
    assert ":root" not in html
    assert html.count("<svg") == 1
    assert ">age<" in html

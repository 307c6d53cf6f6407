"""Pages in a real browser: nothing is complained about, pointers and keys are answered, they look as they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import CHROMIUM, LEFT_OUT, Browser, opened
from tests.report.looks import LOOKS, NEAR, apart, kept, pictured

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=LEFT_OUT)

TIP = "(function(){var t=document.getElementById('tip');return [t.textContent,getComputedStyle(t).opacity]})()"
COLOURS = """(function () {
  var style = getComputedStyle(document.documentElement), mark = document.querySelector("figure:not(.painting) rect");
  return [style.backgroundColor, style.color, mark && getComputedStyle(mark).fill];
})()"""
each = pytest.mark.parametrize("name", ["report", "painting", "compare", "sets"])


@each
def test_a_pointer_is_told_what_lies_under_it(browser: Browser, pages: dict[str, Path], name: str) -> None:
    with opened(browser, pages[name]) as page:
        # The last one that has a height: what is painted later lies on what was painted before.
        wanted = page.run(
            "(function(e){e.id='last';return e.dataset.tip})([...document.querySelectorAll('svg [data-tip]')]"
            ".filter(e => e.getBoundingClientRect().height > 2).at(-1))"
        )
        page.point("#last")
        assert page.run(TIP) == [wanted, "1"]
        assert wanted
        page.point("h1")
        assert page.run(TIP)[1] == "0"
        assert page.run("document.querySelectorAll('svg rect > title').length") == 0  # they would come twice
        assert page.complaints == []


def test_day_and_night_have_their_colours(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["report"]) as page:
        day = page.run(COLOURS)
    with opened(browser, pages["report"], night=True) as page:
        night = page.run(COLOURS)
    assert all(one != other for one, other in zip(day, night, strict=True))
    assert day[0] == "rgb(251, 248, 243)"


@each
@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_nothing_is_wider_than_the_screen(browser: Browser, pages: dict[str, Path], name: str, width: int) -> None:
    with opened(browser, pages[name], width=width) as page:
        assert page.run("innerWidth") == width
        assert page.run("document.documentElement.scrollWidth") <= width
        assert page.complaints == []


def test_a_point_is_chosen_by_pointer_and_by_keyboard(browser: Browser, pages: dict[str, Path]) -> None:
    with opened(browser, pages["compare"]) as page:
        command = "document.querySelector('#chosen code').textContent"
        page.point("svg a:last-of-type", click=True)
        assert page.run(command) == "rothko anonymize patients.parquet --k 30 --method cluster"
        assert page.run("document.querySelectorAll('#frontier-title ~ a[aria-current]').length") == 1
        assert page.run("location.hash") == ""  # the plot stays where it is
        page.run("document.querySelector('svg a').focus()")
        page.press("Enter")
        assert page.run(command) == "rothko anonymize patients.parquet --k 3 --method mondrian"
        page.press("Tab")
        page.press("Enter")
        assert page.run(command) == "rothko anonymize patients.parquet --k 10 --method mondrian"
        page.point("#chosen button", click=True)
        told = "document.querySelector('#chosen button').textContent"
        assert page.run(f"new Promise(r => setTimeout(() => r({told}), 300))") in ("Copied", "Selected")
        assert page.complaints == []


def test_without_a_script_a_point_is_a_link_to_its_command(pages: dict[str, Path]) -> None:
    html = pages["compare"].read_text("utf-8")
    for at in range(1, 10):
        assert f'<a href="#trial-{at}" aria-label=' in html
        assert f'<div class="entry" id="trial-{at}">' in html


@pytest.mark.parametrize("look", LOOKS)
def test_pages_look_as_they_did(browser: Browser, pages: dict[str, Path], look: str) -> None:
    name, width, night = LOOKS[look]
    assert apart(pictured(browser, pages[name], width=width, night=night), kept(look)) <= NEAR


def test_what_counts_as_another_look(browser: Browser, pages: dict[str, Path]) -> None:
    """Another font is near; the night, a page without its style, and one without its plots are not."""
    day = kept("report-1000")

    def far(style: str, *, night: bool = False) -> float:
        return apart(pictured(browser, pages["report"], width=1000, night=night, style=style), day)

    assert far("html,svg{font-family:'DejaVu Serif',serif!important}") <= NEAR
    assert far("", night=True) > 2 * NEAR
    assert far("figure{display:none}") > NEAR
    assert far("*{all:revert!important}") > NEAR

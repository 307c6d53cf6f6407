"""Pages for everybody: what a screen reader reads out, what a keyboard reaches, what weak eyes can tell apart.

The browser says what each part is called and what it is; contrast is computed of what is on the screen (WCAG 2.2). Each
check is tried on a page with that very fault.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rothko.report.report import report
from tests.browser import CHROMIUM, LEFT_OUT, Browser, Page, opened

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=LEFT_OUT)

NAMED = {"link", "button", "image", "img", "table", "region", "navigation", "heading", "DisclosureTriangle"}
"""Parts that say nothing to whoever does not see them, unless they have a name."""
LOOK = r"""(function () {
  function each(selector) { return [...document.querySelectorAll(selector)]; }
  function light(colour) {
    var c = colour.match(/[\d.]+/g).map(Number).slice(0, 3).map(v => v / 255);
    c = c.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
  }
  function ground(e) {
    for (; e; e = e.parentElement) {
      var found = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$|transparent/.test(found)) return found;
    }
    return "rgb(255, 255, 255)";
  }
  var ids = each("[id]").map(e => e.id), faint = [], walker = document.createTreeWalker(document.body, 4);
  while (walker.nextNode()) {
    var e = walker.currentNode.parentElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
    if (!walker.currentNode.textContent.trim() || !box.width || e.closest("script,style,desc,title,#tip")) continue;
    var a = light(e.closest("svg") ? style.fill : style.color), b = light(ground(e));
    var contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faint.push([e.tagName, e.className, contrast]);
  }
  var levels = each("h1,h2,h3,h4").filter(e => e.getClientRects().length).map(e => +e.tagName[1]);
  return {
    faint: faint,
    twice: ids.filter((id, at) => ids.indexOf(id) !== at),
    skipped: levels.filter((level, at) => level > (at ? levels[at - 1] : 0) + 1),
    first: levels.filter(level => level === 1).length,
    headless: each("table").filter(t => !t.caption || !t.tHead).length
      + each("th").filter(t => !t.scope || !t.textContent.trim()).length,
    out_of_order: each("[tabindex]").filter(e => e.tabIndex > 0).length,
    unreached: each("*").filter(e => e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0
      && /auto|scroll/.test(getComputedStyle(e).overflowX)).length,
    language: document.documentElement.lang, title: document.title, main: each("main").length,
    unlabelled: each("svg").filter(s => !s.querySelector("#" + s.getAttribute("aria-labelledby").split(" ")[0])).length,
    lost: each('a[href^="#"]').filter(a => !document.getElementById(a.getAttribute("href").slice(1))).length,
  };
})()"""


def faults(page: Page) -> list[str]:
    """What somebody could not see, hear or reach."""
    found: dict[str, Any] = page.run(LOOK)
    told = [f"{what}: {found[what]}" for what in ("faint", "twice", "skipped") if found[what]]
    told += [what for what in ("headless", "out_of_order", "unreached", "unlabelled", "lost") if found[what]]
    told += [what for what in ("language", "title") if not found[what]]
    told += [f"{found[what]} {what}" for what in ("first", "main") if found[what] != 1]
    page.ask("Accessibility.enable")
    for node in page.ask("Accessibility.getFullAXTree")["nodes"]:
        role = node.get("role", {}).get("value")
        if not node["ignored"] and role in NAMED and not node.get("name", {}).get("value"):
            told.append(f"nameless {role}")
    return told


@pytest.fixture(scope="module")
def all_pages(hospital: Path, pages: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    steward = tmp_path_factory.mktemp("steward") / "steward.html"
    made = report(hospital / "release", audience="steward", original=hospital / "patients.parquet")
    steward.write_text(made.html, encoding="utf-8")
    return {**pages, "steward": steward}


@pytest.mark.parametrize("night", [False, True], ids=["day", "night"])
@pytest.mark.parametrize("name", ["report", "steward", "painting", "compare"])
def test_everybody_can_read_a_page(browser: Browser, all_pages: dict[str, Path], name: str, night: bool) -> None:
    with opened(browser, all_pages[name], width=400, night=night) as page:
        if name == "compare":
            page.point("svg a", click=True)
        page.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
        assert faults(page) == []


def test_the_keyboard_goes_from_top_to_bottom(browser: Browser, all_pages: dict[str, Path]) -> None:
    with opened(browser, all_pages["report"]) as page:
        seen = []
        for _ in range(14):
            page.press("Tab")
            seen.append(page.run("document.activeElement.getBoundingClientRect().top + scrollY"))
            assert page.run("getComputedStyle(document.activeElement).outlineStyle") != "none", "nobody sees it"
        assert seen == sorted(seen)
        assert page.run("document.activeElement.closest('main') !== null")


PLANTED = {
    "faint": "document.querySelector('p').style.color = '#ccc'",
    "twice": "document.querySelector('p').id = 'main'",
    "skipped": "document.querySelector('h2').outerHTML = '<h4>Deep</h4>'",
    "headless": "document.querySelector('table').tHead.remove()",
    "out_of_order": "document.querySelector('a').tabIndex = 5",
    "lost": "document.querySelector('nav a').href = '#nowhere'",
    "language": "document.documentElement.lang = ''",
    "nameless": "document.querySelector('nav a').textContent = ''",
    "unlabelled": "document.querySelector('figure svg > title').remove()",
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_fault_is_found(browser: Browser, all_pages: dict[str, Path], fault: str) -> None:
    with opened(browser, all_pages["report"]) as page:
        page.run(f"(function(){{{PLANTED[fault]}}})()")
        assert any(told.startswith(fault) for told in faults(page))

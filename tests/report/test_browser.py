"""Pages in a real browser: nothing is complained about, pointers are answered, day, night and narrow screens work."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from rothko.report.forms import formed
from rothko.report.painting import paint
from rothko.report.released import read_release
from tests.browser import CHROMIUM, LEFT_OUT

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=LEFT_OUT)

LOOK = """<script>
addEventListener("load", function () {
  var mark = document.querySelector("svg [data-tip]"), tip = document.getElementById("tip");
  mark.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: 50, clientY: 50}));
  var style = getComputedStyle(document.documentElement), told = {
    tip: tip.textContent, shown: getComputedStyle(tip).opacity, wanted: mark.getAttribute("data-tip"),
    titles: document.querySelectorAll("svg rect > title").length, ground: style.backgroundColor, ink: style.color,
    width: innerWidth, needed: document.documentElement.scrollWidth,
    bar: getComputedStyle(document.querySelector("figure:not(.painting) rect") || mark).fill,
  };
  parent.postMessage(JSON.stringify(told), "*");
});
</script>"""
FRAME = """<!doctype html><iframe src="page.html" width="{}" height="800" style="border:0"></iframe><script>
addEventListener("message", function (message) {{
  var found = document.createElement("pre");
  found.id = "found";
  found.textContent = message.data;
  document.body.appendChild(found);
}});
</script>"""
"""No window of a browser is as narrow as a phone: pages are opened in a frame."""


def opened(html: str, folder: Path, *, width: int = 1000, night: bool = False) -> dict[str, Any]:
    """What a page looks like from inside; an error where the browser complains of anything."""
    page = folder / "page.html"
    page.write_text(html.replace("</body>", f"{LOOK}</body>"), encoding="utf-8")
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--log-level=0"]
    options += [f"--user-data-dir={folder / 'profile'}", "--window-size=1700,900", "--virtual-time-budget=4000"]
    options += ["--blink-settings=preferredColorScheme=0"] if night else []
    ran = subprocess.run(
        [str(CHROMIUM), *options, "--dump-dom", frame.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    assert [line for line in ran.stderr.splitlines() if "CONSOLE" in line] == []
    found = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.DOTALL)
    assert found, ran.stderr[-2000:]
    told: dict[str, Any] = json.loads(unescape(found[1]))
    return told


@pytest.fixture(scope="module")
def pages(hospital: Path) -> dict[str, str]:
    release = read_release(hospital / "release")
    return {
        "report": (hospital / "release/report.html").read_text("utf-8"),
        "painting": formed(paint(release), ".html").decode(),
    }


@pytest.mark.parametrize("name", ["report", "painting"])
def test_a_pointer_is_told_what_lies_under_it(pages: dict[str, str], name: str, tmp_path: Path) -> None:
    found = opened(pages[name], tmp_path)
    assert found["tip"] == found["wanted"] != ""
    assert found["shown"] == "1"
    assert found["titles"] == 0  # the browser's own, slower ones would come twice


def test_day_and_night_have_their_colours(pages: dict[str, str], tmp_path: Path) -> None:
    day, night = (opened(pages["report"], tmp_path, night=night) for night in (False, True))
    for what in ("ground", "ink", "bar"):
        assert day[what] != night[what]
    assert day["ground"] == "rgb(251, 248, 243)"


@pytest.mark.parametrize("width", [400, 1600])
def test_nothing_is_wider_than_the_screen(pages: dict[str, str], width: int, tmp_path: Path) -> None:
    found = opened(pages["report"], tmp_path, width=width)
    assert found["width"] == width
    assert found["needed"] <= width

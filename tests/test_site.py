"""The site: it is built without a warning, its links lead somewhere, nothing comes from elsewhere, and its pictures are
those that are drawn."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import rothko
from pages import api, classes, draw
from pages.build import LIST, build, place
from rothko.methods import METHODS
from rothko.metrics.registry import METRICS
from rothko.privacy import REQUIREMENTS
from rothko.report.forms import formed
from rothko.sets.methods import SET_METHODS
from tests.browser import Browser, opened

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if "id" in told:
            self.places.add(told["id"])
        if tag == "a" and "href" in told:
            self.links.append(told["href"])
        if tag in ("link", "script", "img", "source", "iframe", "use") and ("src" in told or "href" in told):
            self.loads.append(told.get("src") or told["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of this version, in their place beside those of others."""
    folder = tmp_path_factory.mktemp("built")
    place(build(folder / "build"), folder / "site", rothko.__version__)
    return folder / "site" / rothko.__version__


@pytest.fixture(scope="module")
def html(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text("utf-8")) for path in site.rglob("*.html")}


def test_every_page_is_built_with_the_version_in_its_header(site: Path, html: dict[Path, Page]) -> None:
    built = {path.relative_to(site).with_suffix("").as_posix() for path in html}
    written = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert built - {"404"} == written | {f"reference/api/{name}" for name in ("index", *rothko.__all__)}
    for path in html:
        assert f"rothko {rothko.__version__}" in path.read_text("utf-8"), path


def test_links_lead_somewhere(site: Path, html: dict[Path, Page]) -> None:
    wrong = [
        (path.relative_to(site).as_posix(), link)
        for path, page in html.items()
        for link in page.links + page.loads
        if path.name != "404.html" and not leads(path, link, html)
    ]
    assert wrong == []


def leads(path: Path, link: str, html: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme in ("http", "https", "mailto", "data"):
        return True
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if there.is_dir():
        there /= "index.html"
    if not there.is_file():
        return False
    place = unquote(parts.fragment)
    return not place or there not in html or place in html[there].places


def test_no_markdown_is_left(html: dict[Path, Page]) -> None:
    """What GitHub reads as a list, a table or a block, the site must, too."""
    for path in html:
        [article] = re.findall(r"<article.*?</article>", path.read_text("utf-8"), re.DOTALL) or [""]
        text = re.sub(r"<[^>]+>", "", re.sub(r"<(pre|code|svg|script|style)\b.*?</\1>", "", article, flags=re.DOTALL))
        assert re.findall(r"^.*(?:```|\|---|\]\().*$|^\s*- .*$", text, re.MULTILINE) == [], path


def test_nothing_comes_from_elsewhere(site: Path, html: dict[Path, Page]) -> None:
    loaded = {load for page in html.values() for load in page.loads}
    assert [load for load in loaded if urlsplit(load).netloc] == []
    for style in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", style.read_text("utf-8")) == [], style
    assert (site / "search.js").stat().st_size > 100_000, "search works in the files themselves"


SEARCH = """new Promise((done) => {
  document.querySelector("[for=__search]").click();
  const found = [...document.querySelectorAll("*")].find((one) => one.shadowRoot).shadowRoot;
  const typed = () => {
    const input = found.querySelector("input");
    if (!input) return setTimeout(typed, 50);
    Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, "discernibility");
    input.dispatchEvent(new Event("input", {bubbles: true}));
    const looked = () => {
      const link = found.querySelector("a[href*=discern]");
      link ? done(link.href) : setTimeout(looked, 50);
    };
    looked();
  };
  typed();
})"""
GROUND = "getComputedStyle(document.body).backgroundColor"


FAINT = """(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = parts(colour).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    const colour = getComputedStyle(one).backgroundColor;
    return (parts(colour)[3] ?? 1) > 0.9 || !one.parentElement ? colour : ground(one.parentElement);
  };
  const texts = [...document.querySelectorAll("article *")].filter(
    (one) => one.getClientRects().length && [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
  );
  const solid = texts.filter((one) => (parts(getComputedStyle(one).color)[3] ?? 1) > 0.99);
  return solid.filter((one) => {
    const pair = [light(getComputedStyle(one).color), light(ground(one))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05) < 4.5;
  }).map((one) => one.outerHTML);
})()"""
"""Texts with less than 4.5 to 1 of contrast (WCAG 2.2); the theme fades what is beside the matter."""


def test_search_works_where_the_site_is_read_from_files(site: Path, browser: Browser) -> None:
    with opened(browser, site / "methods/mondrian.html") as page:
        assert page.run(SEARCH).partition("?")[0] == (site / "metrics/discernibility.html").as_uri()
        assert page.complaints == []


@pytest.mark.parametrize("name", ["index.html", "requirements/t-closeness.html", "how-to/compare-methods.html"])
def test_pages_fit_every_screen_by_day_and_by_night(name: str, site: Path, browser: Browser) -> None:
    grounds: dict[bool, set[str]] = {False: set(), True: set()}
    for width, night in ((1000, False), (400, True), (400, False), (1600, True)):
        with opened(browser, site / name, width=width, night=night) as page:
            assert page.run("document.documentElement.scrollWidth") <= width
            grounds[night].add(page.run(GROUND))
            assert page.complaints == []
    assert grounds == {False: {"rgb(251, 248, 243)"}, True: {"rgb(23, 17, 16)"}}


def test_what_is_wider_than_its_room_is_reached_by_keys(site: Path, browser: Browser) -> None:
    wide = "[...document.querySelectorAll('pre>code')].filter(e=>e.scrollWidth>e.clientWidth)"
    with opened(browser, site / "tutorial.html", width=400) as page:
        assert page.run(f"{wide}.length")
        assert page.run(f"{wide}.every(e=>e.tabIndex===0)")


@pytest.mark.parametrize("night", [False, True], ids=["day", "night"])
def test_texts_have_contrast(night: bool, site: Path, browser: Browser) -> None:
    with opened(browser, site / "tutorial.html", night=night) as page:
        assert page.run(FAINT) == []


def test_whoever_chooses_the_night_sees_pictures_of_the_night(site: Path, browser: Browser) -> None:
    with opened(browser, site / "metrics/gcp.html") as page:
        schemes = []
        for _ in range(3):  # light, dark, and as the system says, which stays for those who come after
            page.point("header form label:not([hidden])", click=True)
            schemes.append(page.run("getComputedStyle(document.querySelector('img[src*=people]')).colorScheme"))
        assert schemes == ["light", "dark", "light"]


def test_a_wrong_link_ends_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "pages", lambda: {"index.md": "# API\n\n[nowhere](nowhere.md)\n"})
    with pytest.raises(SystemExit, match=r"reference/api/index\.md:3(.|\n)*page does not exist"):
        build(tmp_path / "site")


def entries(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for one in nav.values() if isinstance(nav, dict) else nav:
            yield from entries(one)


def test_every_page_stands_in_the_navigation_once() -> None:
    text = (ROOT / "pages/zensical.toml").read_text("utf-8").replace('"API" = API', '"API" = []')
    listed = list(entries(tomllib.loads(text)["project"]["nav"]))
    assert sorted(listed) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


# ── the reference from docstrings


def test_the_reference_has_all_public_names_and_no_roles() -> None:
    made = api.pages()
    assert set(made) == {f"{name}.md" for name in ("index", *rothko.__all__)}
    for name, text in made.items():
        assert not re.search(r":(?:mod|func|class|data|meth|attr|exc):`", text), name
        assert "_truth" not in text, name
    assert "rk.anonymize(" in made["anonymize.md"]
    assert "| `threads` | All cores where it is None. |" in made["anonymize.md"]
    assert "## save" in made["Release.md"]
    assert "## KAnonymity" in made["privacy.md"]


# ── the pictures


def test_every_method_requirement_and_metric_shows_what_it_does_to_the_forty() -> None:
    shown = {"methods": [*METHODS, *SET_METHODS], "requirements": [*REQUIREMENTS], "metrics": [*METRICS]}
    for folder, names in shown.items():
        for name in names:
            text = (DOCS / folder / f"{name}.md").read_text("utf-8")
            assert f"](../figures/people/{folder}/{name}.svg)" in text, name


@pytest.mark.parametrize("name", classes.REQUIREMENTS)
def test_a_requirement_is_broken_before_and_holds_where_it_is_asked_for(name: str) -> None:
    before, after = (
        (draw.FIGURES / f"people/requirements/{name}{which}.svg").read_text("utf-8") for which in ("-before", "")
    )
    assert re.search("of which [1-9] break", before)
    assert "of which 0 break" in after


@pytest.mark.parametrize("folder", [".", "gallery", "people/methods", "people/requirements", "people/metrics"])
def test_pictures_are_those_that_are_drawn(folder: str) -> None:
    made = {Path(name): picture for name, picture in draw.pictures().items() if Path(name).parent == Path(folder)}
    kept = {path.relative_to(draw.FIGURES) for path in (draw.FIGURES / folder).glob("*.svg")}
    assert made.keys() == (kept if folder != "." else {Path("painting.svg")})
    differ = [name for name, picture in made.items() if formed(picture(), ".svg") != (draw.FIGURES / name).read_bytes()]
    assert differ == [], "python -m pages draw draws them anew"


def test_versions_lie_beside_each_other_and_are_chosen_in_files(site: Path, browser: Browser, tmp_path: Path) -> None:
    """Pages as small as they can be, with the script of every page."""
    script = (ROOT / "pages/versions-menu.js").read_text("utf-8")
    assert (site / "assets/versions-menu.js").read_text("utf-8") == script
    assert "assets/versions-menu.js" in (site / "tutorial.html").read_text("utf-8")
    there = tmp_path / "site"
    (there / "assets").mkdir(parents=True)  # as a site was before it had versions
    for version in ("0.9.0", "0.10.0", "0.10.0rc1"):
        built = tmp_path / "built"
        for name, at in (("index.html", "."), ("how-to/page.html", "..")):
            (built / name).parent.mkdir(parents=True, exist_ok=True)
            header = f"<title>{version}</title><div class='md-header__title'></div>"
            (built / name).write_text(f"{header}<script src='{at}/assets/versions-menu.js'></script>", "utf-8")
        (built / "assets").mkdir()
        (built / "assets/versions-menu.js").write_text(script, "utf-8")
        versions = place(built, there, version)
    assert versions == ["0.10.0", "0.10.0rc1", "0.9.0"]
    assert "url=0.10.0/index.html" in (there / "index.html").read_text("utf-8")
    assert not (there / "assets").exists()
    options = "[...document.querySelectorAll('.rothko-versions option')].map(o => [o.value, o.selected])"
    with opened(browser, there / "0.9.0/how-to/page.html") as page:
        assert page.run(options) == [["0.10.0", False], ["0.10.0rc1", False], ["0.9.0", True]]
        with page.leaving():
            page.run("(m => {m.value='0.10.0'; m.onchange()})(document.querySelector('select'))")
        assert page.run("document.title") == "0.10.0"
        assert page.complaints == []
    (there / LIST).unlink()
    with opened(browser, there / "0.9.0/index.html") as page:
        assert page.run(options) == []

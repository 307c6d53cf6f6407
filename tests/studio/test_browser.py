"""The studio in a real browser: a file dropped on the page becomes a release with the bytes of the command line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from rothko.data.schema import Role
from rothko.report.report import report
from rothko.studio.views import VIEWS
from tests.browser import CHROMIUM, LEFT_OUT, Browser, Page, opened
from tests.command import Rothko
from tests.studio.served import Client, served

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=LEFT_OUT)

NASTY = '"><img src=x onerror=window.hurt=1><script>window.hurt=1</script>'
"""A name of a column that would be run where it is not escaped."""


class At:
    """Where a page is, as the browser takes it."""

    def __init__(self, address: str) -> None:
        self.address = address

    def as_uri(self) -> str:
        return self.address


def page_at(browser: Browser, client: Client, place: str, **look: Any) -> Any:
    return opened(browser, At(f"{client.base}{place}"), **look)  # type: ignore[arg-type]


def let_in(browser: Browser, client: Client) -> None:
    """As a person is: by the address that was printed, which a page without the token leads away from."""
    with page_at(browser, client, f"/?token={client.studio.guard.token}") as page:
        until(page, lambda: page.run("location.pathname+location.search") in ("/open", "/roles"))


def until(page: Page, holds: Callable[[], Any], seconds: float = 60.0) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := holds():
                return found
        except AssertionError as error:
            if "navigated" not in str(error):  # a page that is on its way says nothing
                raise
        time.sleep(0.05)
    raise AssertionError(page.run("document.body.innerText"))


def shows(page: Page, words: str) -> None:
    until(page, lambda: page.run(f"document.body.innerText.includes({json.dumps(words)})"))


def go(page: Page, client: Client, view: str) -> None:
    page.go(f"{client.base}/{view}")


def dropped(page: Page, name: str, content: str) -> None:
    """Drop a file on the page."""
    page.run(
        f"""(function () {{
          var t = new DataTransfer();
          t.items.add(new File([{json.dumps(content)}], {json.dumps(name)}));
          var place = document.querySelector("label.drop");
          place.dispatchEvent(new DragEvent("drop", {{dataTransfer: t, bubbles: true, cancelable: true}}));
        }})()"""
    )


def chosen(control: str, value: str) -> str:
    """What gives a control another value, as a person does."""
    return (
        f"(function(e){{e.value='{value}';e.dispatchEvent(new Event('change',{{bubbles:true}}))}})"
        f"(document.getElementById('{control}'))"
    )


def test_from_a_dropped_file_to_the_bytes_of_the_command_line(
    browser: Browser, ward: Path, tmp_path: Path, rothko: Rothko
) -> None:
    with served(tmp_path) as client:
        let_in(browser, client)
        with page_at(browser, client, "/open") as page:
            page.ask("Network.enable")
            dropped(page, "patients.csv", (ward / "patients.csv").read_text())
            shows(page, "400 records and 6 columns")
            go(page, client, "roles")
            shows(page, "Counted in all 400 records")
            page.point("tr.waits .act button", click=True)
            shows(page, "Every role is agreed to")
            go(page, client, "requirements")
            page.run(chosen("k-0", "20"))
            shows(page, "at least 19 others")
            go(page, client, "purpose")
            page.run(chosen("method", "mondrian"))
            until(page, lambda: client.desk.policy.method.name == "mondrian")
            go(page, client, "run")
            page.point("#make", click=True)
            shows(page, "Made, and verified on its bytes")
            go(page, client, "result")
            until(page, lambda: page.run("document.querySelectorAll('#painting svg rect[data-tip]').length"))
            page.point("#painting-fields rect:last-child", click=True)
            shows(page, "Rows of what was chosen in the painting")
            until(page, lambda: page.run("document.querySelectorAll('#painting rect.chosen').length") == 1)
            told = page.run("document.querySelector('#painting rect.chosen').dataset.tip")
            shows(page, f"of {told.split(' · ')[-1].split(' records')[0]} rows, of 400 in all")
            page.point("#rows form.act button", click=True)
            until(page, lambda: page.run("document.querySelectorAll('#painting rect.chosen').length") == 0)
            shows(page, "What is not promised")
            shows(page, "before and after")
            shows(page, "What told records apart before")
            go(page, client, "take-away")
            shows(page, "Look at the report for the steward")
            page.point("#saving button", click=True)
            shows(page, "Saved.")
            sent = [one["params"] for one in browser.events if one["method"] == "Network.requestWillBeSent"]
            assert page.complaints == []
        policy = client.http.get("/file/take-away/policy").text
        told = client.http.get("/file/take-away/steward").text
        made = client.desk.made
        assert made is not None
        assert told == report(made.release, audience="steward", original=ward / "patients.csv").html
        assert made.for_steward.stat().st_mode & 0o077 == 0
        command = client.main("take-away").split("by the command line ")[1].split(" Copy")[0]
    assert {urlsplit(one["request"]["url"]).netloc for one in sent} <= {f"127.0.0.1:{client.studio.guard.port}", ""}
    addresses = [urlsplit(one["request"]["url"]) for one in sent]
    assert {word for one in addresses for word in parse_qs(one.query)} <= {"since"}  # no value of the table is in any
    assert command == "rothko anonymize patients.csv --policy policy.yaml --out release/"
    (tmp_path / "policy.yaml").write_text(policy)
    given = ["--policy", tmp_path / "policy.yaml", "--out", f"{tmp_path / 'by-command'}/"]
    out = rothko("anonymize", ward / "patients.csv", *given)
    assert out.code == 0
    assert (tmp_path / "release" / "release.csv").read_bytes() == (tmp_path / "by-command" / "release.csv").read_bytes()
    assert (tmp_path / "release" / "certificate.json").exists()
    assert not list(tmp_path.glob("release*/steward*"))


def test_markup_in_names_and_values_is_shown_and_not_run(browser: Browser, shared: Client) -> None:
    rows = "\n".join(f'{20 + i % 30},"{NASTY.replace(chr(34), chr(34) * 2)}{i % 3}",{i % 5}' for i in range(60))
    name = NASTY.replace('"', '""')
    shared.drop("nasty.csv", f'age,"{name}",ill\n{rows}\n'.encode())
    shared.looked()
    assert NASTY in shared.desk.policy.columns
    shared.done("roles/role", column=NASTY, role="quasi-identifier")
    shared.done("hierarchies/look", column=NASTY)
    shared.shows("hierarchies", "The tree")
    let_in(browser, shared)
    for view in VIEWS:
        with page_at(browser, shared, f"/{view}") as page:
            assert page.run("window.hurt") is None
            assert page.run("document.querySelectorAll('main img, main script').length") == 0
            assert page.complaints == []
    with page_at(browser, shared, "/roles") as page:
        assert NASTY in page.run("document.body.innerText")


LOOKS = [(1000, False), (2000, True)]


@pytest.mark.parametrize(("width", "night"), LOOKS)
def test_views_fit_and_speak(browser: Browser, studio: Client, width: int, night: bool) -> None:
    """Nothing is wider than the screen, every control has a name, nothing is complained about."""
    let_in(browser, studio)
    studio.shows("roles", "Counted in all")
    for view in VIEWS:
        with page_at(browser, studio, f"/{view}", width=width, night=night) as page:
            assert page.run("document.documentElement.scrollWidth") <= width, view
            nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
            silent = [
                node["role"]["value"]
                for node in nodes
                if not node.get("ignored") and node["role"]["value"] in NAMED and not node.get("name", {}).get("value")
            ]
            assert silent == [], view
            assert page.run("document.querySelectorAll('h1').length") == 1
            assert page.complaints == []


NAMED = {
    "link",
    "button",
    "combobox",
    "textbox",
    "spinbutton",
    "slider",
    "checkbox",
    "image",
    "table",
    "navigation",
    "heading",
}


ROLE = "document.getElementById('role-1').value"


def test_keys_undo_and_another_tab_follows(browser: Browser, studio: Client) -> None:
    let_in(browser, studio)
    with page_at(browser, studio, "/roles") as one, page_at(browser, studio, "/roles") as two:
        one.run(chosen("role-1", "keep"))
        until(two, lambda: two.run(ROLE) == "keep")
        one.run("document.dispatchEvent(new KeyboardEvent('keydown',{key:'z',ctrlKey:true,bubbles:true}))")
        until(two, lambda: two.run(ROLE) == "quasi-identifier")
        one.run("document.dispatchEvent(new KeyboardEvent('keydown',{key:'4',altKey:true,bubbles:true}))")
        until(one, lambda: one.run("location.pathname") == "/requirements")
        assert one.complaints == two.complaints == []


def test_what_changes_before_a_page_listens_reaches_it(browser: Browser, studio: Client) -> None:
    """As on a busy machine, where the page is there long before its stream of events."""
    let_in(browser, studio)
    with page_at(browser, studio, "/roles") as page:
        page.ask("Fetch.enable", patterns=[{"urlPattern": "*/events*"}])
        page.ask("Page.reload")
        held = page.wait("Fetch.requestPaused")
        page.wait("Page.loadEventFired")
        studio.done("roles/role", column="birth_date", role="keep")
        assert page.run(ROLE) == "quasi-identifier"
        page.ask("Fetch.continueRequest", requestId=held["requestId"])
        until(page, lambda: page.run(ROLE) == "keep")


def test_an_older_answer_that_comes_later_is_not_shown(browser: Browser, studio: Client) -> None:
    let_in(browser, studio)
    with page_at(browser, studio, "/roles") as page:
        page.ask("Fetch.enable", patterns=[{"urlPattern": "*/part/roles/main", "requestStage": "Response"}])

        def answered() -> str:
            return str(page.wait("Fetch.requestPaused")["requestId"])

        studio.done("roles/role", column="birth_date", role="keep")
        older = answered()
        studio.done("roles/role", column="birth_date", role="sensitive")
        page.ask("Fetch.continueRequest", requestId=answered())
        until(page, lambda: page.run(ROLE) == "sensitive")
        page.ask("Fetch.continueRequest", requestId=older)
        page.ask("Fetch.continueRequest", requestId=answered())  # it is asked for again
        page.ask("Fetch.disable")
        studio.done("requirements/set", at=0, name="k-anonymity", k=9)
        shows(page, "k = 9")
        assert page.run(ROLE) == "sensitive"


def test_more_tabs_than_a_browser_opens_connections(browser: Browser, studio: Client) -> None:
    let_in(browser, studio)
    with ExitStack() as tabs:
        pages = [tabs.enter_context(page_at(browser, studio, f"/{view}")) for view in VIEWS]
        go(pages[-1], studio, "roles")
        studio.done("roles/role", column="birth_date", role="keep")
        until(pages[-1], lambda: pages[-1].run(ROLE) == "keep")


def test_what_is_being_written_stays_while_the_page_follows(browser: Browser, studio: Client) -> None:
    let_in(browser, studio)
    with page_at(browser, studio, "/purpose") as page:
        page.run("document.querySelector('[name=where]').focus()")
        page.ask("Input.insertText", text="sex = ")
        page.run("document.querySelector('[name=method][value=refine]').click()")
        studio.done("purpose/how", method="mondrian", publish="range")
        until(page, lambda: page.run("document.querySelector('[name=where]').value") == "sex = ")
        page.run("document.activeElement.blur()")
        until(page, lambda: page.run("document.getElementById('method').value") == "mondrian")
        assert page.run("document.querySelector('[name=where]').value") == "sex = "
        assert page.run("document.querySelector('[name=method][value=refine]').checked")


def test_the_keyboard_keeps_its_place(browser: Browser, studio: Client) -> None:
    """What was replaced under somebody's hands is gone back to; what is gone leaves them in the view."""
    let_in(browser, studio)
    focused = "document.activeElement.id || document.activeElement.tagName"
    with page_at(browser, studio, "/roles") as page:
        page.run("document.getElementById('role-1').focus()")
        page.press("ArrowDown")
        until(page, lambda: studio.desk.policy.columns["birth_date"].role is Role.SENSITIVE)
        until(page, lambda: page.run(f"{ROLE} + {focused}") == "sensitiverole-1")
        studio.done("open/undo")
        until(page, lambda: page.run(f"{ROLE} + {focused}") == "quasi-identifierrole-1")
        page.run("document.querySelector('tr.waits .act button').focus()")
        page.press("Enter")
        shows(page, "Every role is agreed to")
        assert page.run(focused) == "main"
        assert page.complaints == []


def test_what_was_done_to_a_row_shows_before_the_page_is_fetched(browser: Browser, studio: Client) -> None:
    let_in(browser, studio)
    with page_at(browser, studio, "/roles") as page:
        page.ask("Fetch.enable", patterns=[{"urlPattern": "*/part/*"}])
        page.point("tr.waits .act button", click=True)
        until(page, lambda: page.run("document.querySelectorAll('tr.waits').length") == 0)
        assert page.run("document.querySelectorAll('.roles tbody tr').length") == len(studio.desk.policy.columns)


def test_a_node_is_dragged_onto_a_group(browser: Browser, studio: Client) -> None:
    """With the pointer, as a person does."""
    studio.done("hierarchies/look", column="education")
    studio.shows("hierarchies", "The tree")
    studio.done("hierarchies/edit", column="education", do="group", name="school", node=["none", "primary"])
    studio.shows("hierarchies", "What a level costs")
    let_in(browser, studio)
    with page_at(browser, studio, "/hierarchies") as page:
        page.ask("Page.bringToFront")
        page.ask("Input.setInterceptDrags", enabled=True)
        page.run("document.querySelector('[data-node=vocational]').scrollIntoView({block:'center'})")

        def place(node: str) -> tuple[float, float]:
            x, y = page.run(
                f"(function(b){{return [b.x+8,b.y+b.height/2]}})"
                f"(document.querySelector('[data-node={node}]').getBoundingClientRect())"
            )
            return x, y

        (x, y), (to_x, to_y) = place("vocational"), place("school")
        page.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        page.ask("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", clickCount=1)
        for share in (0.3, 0.7, 1.0):
            there = {"x": x + (to_x - x) * share, "y": y + (to_y - y) * share}
            page.ask("Input.dispatchMouseEvent", type="mouseMoved", button="left", buttons=1, **there)
        held = page.wait("Input.dragIntercepted")["data"]
        for kind in ("dragEnter", "dragOver", "drop"):
            page.ask("Input.dispatchDragEvent", type=kind, x=to_x, y=to_y, data=held)
        page.ask("Input.dispatchMouseEvent", type="mouseReleased", x=to_x, y=to_y, button="left", clickCount=1)

        def below() -> bool:
            tree = studio.desk.policy.columns["education"].hierarchy
            assert tree is not None
            return ("school", ("none", "primary", "vocational")) in tree.value

        until(page, below)
        until(page, lambda: page.run("!!document.querySelector('.tree details details [data-node=vocational]')"))
        assert page.complaints == []

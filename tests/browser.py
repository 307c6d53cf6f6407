"""The browser that pages are opened in, where there is one: Chromium without a window, spoken to through two pipes."""

from __future__ import annotations

import base64
import json
import os
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next((found for found in map(shutil.which, NAMES) if found), None)
LEFT_OUT = "Left out: no page was opened in a browser, for there is no Chromium on this machine."
PATIENCE = 60.0
"""Seconds for an answer."""
AS_THREE_AND_FOUR = """
import os, sys
asked, answered = (os.dup(os.dup(os.dup(int(number)))) for number in sys.argv[1:3])
os.dup2(asked, 3)
os.dup2(answered, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts what listens at the handles 3 and 4, and nowhere else; both ends are first brought above these."""
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowDown": 40}


class Browser:
    """A running Chromium."""

    def __init__(self, asks: int, answers: int) -> None:
        self._asks, self._answers = asks, answers
        self._number, self._rest = 0, b""
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, session: str | None = None, **given: Any) -> dict[str, Any]:
        """What a method of the DevTools protocol answers."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": given}
        message |= {} if session is None else {"sessionId": session}
        os.write(self._asks, json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                assert "error" not in told, f"{method}: {told['error']}"
                result: dict[str, Any] = told["result"]
                return result
            self.events.append(told)

    def wait(self, event: str, session: str) -> dict[str, Any]:
        """Until something has happened in a page; what is told of it."""
        while True:
            for one in self.events:
                if one.get("method") == event and one.get("sessionId") == session:
                    self.events.remove(one)
                    told: dict[str, Any] = one["params"]
                    return told
            self.events.append(self._next())

    def _next(self) -> dict[str, Any]:
        until = time.monotonic() + PATIENCE
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._answers, selectors.EVENT_READ)
            while b"\0" not in self._rest:
                assert waiting.select(until - time.monotonic()), "the browser does not answer"
                more = os.read(self._answers, 1 << 20)
                assert more, "the browser has ended"
                self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        told: dict[str, Any] = json.loads(line)
        return told


class Page:
    """A page that is open."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session

    def ask(self, method: str, **given: Any) -> dict[str, Any]:
        return self._browser.ask(method, self._session, **given)

    def wait(self, event: str) -> dict[str, Any]:
        """Until something has happened in it; what is told of it."""
        return self._browser.wait(event, self._session)

    def go(self, address: str) -> None:
        """To another page, until it is there."""
        with self.leaving():
            self.ask("Page.navigate", url=address)

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """What is done inside leads to another page, which is there afterwards."""
        events, loaded = self._browser.events, "Page.loadEventFired"
        events[:] = [one for one in events if (one.get("method"), one.get("sessionId")) != (loaded, self._session)]
        yield
        self.wait(loaded)

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def point(self, selector: str, *, click: bool = False) -> None:
        """Move the pointer to the middle of what a selector finds first, and click there."""
        x, y = self.run(
            f"(function(){{var e=document.querySelector({json.dumps(selector)});e.scrollIntoView({{block:'center'}});"
            "var b=e.getBoundingClientRect();return [b.x+b.width/2,b.y+b.height/2]})()"
        )
        self.ask("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        if click:
            for kind in ("mousePressed", "mouseReleased"):
                self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        """A key of the keyboard."""
        about = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        self.ask("Input.dispatchKeyEvent", type="keyDown", text="\r" if key == "Enter" else "", **about)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def picture(self, *, most: int = 6000) -> bytes:
        """The whole page as PNG, of its first so many pixels."""
        high = min(self.run("document.documentElement.scrollHeight"), most)
        wide = self.run("document.documentElement.clientWidth")
        clip = {"x": 0, "y": 0, "width": wide, "height": high, "scale": 1}
        return base64.b64decode(self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])

    @property
    def complaints(self) -> list[str]:
        """What the browser complained of: errors, refused resources, warnings."""
        found = []
        for one in self._browser.events:
            if one.get("sessionId") != self._session:
                continue
            if one["method"] == "Runtime.exceptionThrown" or one["method"] == "Log.entryAdded":
                found.append(json.dumps(one["params"]))
            if one["method"] == "Runtime.consoleAPICalled":
                found.append(json.dumps(one["params"]["args"]))
        return found


@contextmanager
def running(folder: Path) -> Iterator[Browser]:
    """A browser, with its profile in a folder."""
    (asked, asks), (answers, answered) = os.pipe(), os.pipe()
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb"]
    options += ["--disable-background-networking", "--no-first-run", "--remote-debugging-pipe"]
    line = [str(CHROMIUM), *options, f"--user-data-dir={folder}"]
    started = subprocess.Popen(
        [sys.executable, "-c", AS_THREE_AND_FOUR, str(asked), str(answered), *line], pass_fds=(asked, answered),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(asked)
    os.close(answered)
    try:
        yield Browser(asks, answers)
    finally:
        os.close(asks)
        os.close(answers)
        started.terminate()
        started.wait(timeout=20)


@contextmanager
def opened(browser: Browser, place: Path, *, width: int = 1000, night: bool = False) -> Iterator[Page]:
    """A page of so many pixels, by day or by night."""
    target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
    session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    page = Page(browser, session)
    for domain in ("Page", "Runtime", "Log"):
        page.ask(f"{domain}.enable")
    page.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if night else "light"}
    page.ask("Emulation.setEmulatedMedia", features=[scheme])
    page.go(place.as_uri())
    try:
        yield page
    finally:
        browser.ask("Target.closeTarget", targetId=target)

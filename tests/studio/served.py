"""A studio that is served for tests, in a thread of this process, and a client that was let in."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import httpx

from rothko.studio.server import Studio

PATIENCE = 120.0


class Client:
    """What a browser says to a studio."""

    def __init__(self, studio: Studio) -> None:
        self.studio, self.desk = studio, studio.desk
        self.base = f"http://127.0.0.1:{studio.guard.port}"
        self.http = httpx.Client(base_url=self.base, timeout=PATIENCE)
        assert self.http.get("/", params={"token": studio.guard.token}).status_code == 200
        self.http.headers["x-rothko-studio"] = studio.guard.changes

    def do(self, to: str, **given: Any) -> httpx.Response:
        return self.http.post(f"/do/{to}", data=given)

    def done(self, to: str, **given: Any) -> str:
        """What an action answers, as text; it must be done."""
        answer = self.do(to, **given)
        assert answer.status_code == 200, text(answer.text)
        return text(answer.text)

    def refused(self, to: str, **given: Any) -> str:
        """The sentence with which an action is refused."""
        answer = self.do(to, **given)
        assert answer.status_code == 422, text(answer.text)
        return text(answer.text)

    def main(self, view: str) -> str:
        answer = self.http.get(f"/part/{view}/main")
        assert answer.status_code == 200, answer.text
        return text(answer.text)

    def drop(self, name: str, content: bytes, what: str = "table") -> httpx.Response:
        return self.http.post("/drop", content=content, headers={"x-name": name, "x-for": what})

    def until(self, holds: Callable[[], Any], seconds: float = PATIENCE) -> Any:
        """Wait for something."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := holds():
                return found
            time.sleep(0.02)
        raise AssertionError(f"it did not happen: {self.desk.open_error}")

    def open(self, name: str) -> None:
        self.done("open/path", path=name)
        self.looked()

    def looked(self) -> None:
        self.until(lambda: self.desk.open_error or (self.desk.seen is not None and self.desk.seen.exact))
        assert self.desk.open_error is None, self.desk.open_error

    def shows(self, view: str, words: str) -> str:
        """Wait until a view shows some words."""
        found: str = self.until(lambda: shown if words in (shown := self.main(view)) else "")
        return found

    def made(self) -> Any:
        """Make the release, and wait for it."""
        self.done("run/make", engine="auto", memory="", seed="0")
        run = self.desk.runs[-1]
        self.until(lambda: not run.going)
        return run


def text(html: str) -> str:
    """A page as a person reads it."""
    return unescape(re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", html))).strip()


@contextmanager
def served(root: Path, **options: Any) -> Iterator[Client]:
    """A studio for a folder."""
    studio = Studio(root, **options)
    ready = threading.Event()

    async def serve() -> None:
        await studio.serve(ready=lambda address: ready.set())

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(PATIENCE)
    client = Client(studio)
    try:
        yield client
    finally:
        client.http.close()
        studio.stop()
        thread.join(20)
        assert not thread.is_alive()
        studio.close()

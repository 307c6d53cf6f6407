"""The server: pages, fragments, events and files, for one person on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import json
import mimetypes
import os
import shutil
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, unquote

from rothko import private
from rothko.errors import InputError, MissingExtraError, OutputError, RothkoError
from rothko.mistakes import speaking_of_fields
from rothko.report.page import Html
from rothko.studio import shell, unsaved
from rothko.studio.desk import Desk, Table
from rothko.studio.field_names import FIELDS
from rothko.studio.guard import HOST, Guard
from rothko.studio.markup import element, problem
from rothko.studio.unsaved import Kept
from rothko.studio.views import VIEWS
from rothko.studio.views.start import given_table
from rothko.studio.views.view import File, Given
from rothko.studio.worker import place_of

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

SHUT = "sandbox allow-scripts; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
"""For pages that are looked at by themselves, such as a report: they belong to nobody, and reach nothing."""
AWAKE = 15.0
"""Seconds after which a quiet stream of events says that it is still there."""
ROOM = 1 << 28
"""Bytes that a dropped file must leave free."""
STATIC: dict[str, Callable[[], str]] = {
    "studio.css": shell.stylesheet,
    "studio.js": lambda: shell.resource("studio.js"),
    "mark.svg": lambda: shell.resource("mark.svg"),
}


def need() -> None:
    """Say how to install what the studio needs, where it is not there."""
    try:
        import starlette
        import uvicorn
    except ImportError:
        raise MissingExtraError("The studio needs Starlette and uvicorn; pip install 'rothko[studio]'.") from None
    assert starlette
    assert uvicorn


def application(desk: Desk, changes: Callable[[], str]) -> Starlette:
    """The routes.

    Parameters
    ----------
    changes
        The secret that is written into pages, and that posts carry.
    """
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
    from starlette.routing import Route

    def made(*fragments: Html, status: int = 200) -> Response:
        """Fragments as they are now, with the version that they are of: an older answer may arrive later."""
        return HTMLResponse("".join(one.text for one in fragments), status, {"x-version": str(desk.version)})

    async def first(request: Request) -> Response:
        return RedirectResponse("/open" if desk.table is None else "/roles", status_code=303)

    async def page(request: Request) -> Response:
        view = VIEWS.get(request.path_params["view"])
        if view is None:
            return Response("There is no such page.", 404)
        return HTMLResponse(shell.page(desk, VIEWS, view, changes()))

    async def part(request: Request) -> Response:
        view, name = VIEWS.get(request.path_params["view"]), request.path_params["part"]
        if name == "bar":
            return made(shell.bar(desk))
        if view is None:
            return Response("There is no such page.", 404)
        if name == "main":
            return made(shell.main(desk, view))
        if name not in view.parts or (view.needs_table and desk.history.policy is None):
            return Response("There is no such part.", 404)
        return made(view.parts[name](desk))

    async def do(request: Request) -> Response:
        view = VIEWS.get(request.path_params["view"])
        action = None if view is None else view.actions.get(request.path_params["action"])
        if view is None or action is None:
            return Response("There is no such action.", 404)
        given = Given(parse_qs((await request.body()).decode(), keep_blank_values=True))
        shows = VIEWS.get(request.headers.get("x-view", ""), view)
        try:
            fragments = action(desk, given)
            if inspect.isawaitable(fragments):
                fragments = await fragments
        except RothkoError as error:
            return made(said(problem(str(error))), status=422)
        found = [shell.main(desk, shows)] if fragments is None else list(fragments)
        return made(*found, shell.bar(desk), said())

    async def drop(request: Request) -> Response:
        name = unquote(request.headers.get("x-name", ""))
        try:
            await _dropped(desk, name, unquote(request.headers.get("x-for", "table")), request.stream())
        except RothkoError as error:
            return made(said(problem(str(error))), status=422)
        shows = VIEWS.get(request.headers.get("x-view", ""), VIEWS["open"])
        return made(shell.main(desk, shows), shell.bar(desk), said())

    async def events(request: Request) -> Response:
        # A browser that connects again says by itself what it heard last.
        seen = request.headers.get("last-event-id") or request.query_params.get("since", "")
        return StreamingResponse(_events(desk, _version(seen)), media_type="text/event-stream")

    async def file(request: Request) -> Response:
        view = VIEWS.get(request.path_params["view"])
        give = None if view is None else view.files.get(request.path_params["file"])
        if give is None:
            return Response("There is no such file.", 404)
        try:
            given = give(desk, Given({name: [value] for name, value in request.query_params.items()}))
            found = await given if inspect.isawaitable(given) else given
        except RothkoError as error:
            return Response(str(error), 422)
        headers = _about(found)
        if isinstance(found.content, Path):
            return FileResponse(found.content, headers=headers, media_type=found.kind)
        return Response(found.content, headers=headers, media_type=found.kind)

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in STATIC:
            return Response("There is no such file.", 404)
        return Response(STATIC[name](), media_type=mimetypes.guess_type(name)[0])

    return Starlette(
        routes=[
            Route("/", _quiet(first)),
            Route("/events", _quiet(events)),
            Route("/drop", _quiet(drop), methods=["POST"]),
            Route("/static/{name}", _quiet(static)),
            Route("/part/{view}/{part}", _quiet(part)),
            Route("/do/{view}/{action}", _quiet(do), methods=["POST"]),
            Route("/file/{view}/{file}", _quiet(file)),
            Route("/{view}", _quiet(page)),
        ]
    )


def _quiet(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """An answer also where there is a bug: the kind of error and its place, for messages may quote cells."""
    from starlette.responses import Response

    async def answered(request: Request) -> Response:
        try:
            return await answer(request)
        except Exception as error:
            told = f"Internal error ({type(error).__name__}{place_of(error)}); this is a bug in rothko."
            return Response(told, 500, media_type="text/plain")

    return answered


def said(*inner: Html) -> Html:
    """What is said to the person, above the view; nothing where all is well."""
    return element("div", *inner, id="said", role="status", aria_live="polite")


async def _dropped(desk: Desk, name: str, what: str, content: AsyncIterator[bytes]) -> None:
    """Take a file that was dropped on the page, for whichever view takes it."""
    kind, _, rest = what.partition(":")
    takes = {kind: how for view in VIEWS.values() for kind, how in view.takes.items()}
    if kind not in takes:
        raise InputError(f"Nothing here takes a {kind!r}.")
    endings, take = takes[kind]
    plain = Path(name.replace("\\", "/")).name
    if not plain or plain.startswith(".") or not plain.lower().endswith(endings):
        raise InputError(f"{plain or 'This'!r} cannot be taken here: its name must end in {', '.join(endings)}.")
    path = desk.dropped(plain)
    with path.open("wb") as file:
        path.chmod(0o600)
        async for block in content:
            file.write(block)
            if shutil.disk_usage(desk.folder).free < ROOM:
                path.unlink()
                raise InputError("There is no room for the file on the disk for temporary files.")
    try:
        taken = take(desk, rest, path)
        if inspect.isawaitable(taken):
            await taken
    except RothkoError as error:  # which tells where the file lies, and that is nobody's business
        raise InputError(str(error).replace(str(path), plain)) from None


async def _events(desk: Desk, seen: int) -> AsyncIterator[str]:
    """Names of parts that have changed since a version, as long as the page is open; several at once are told once."""
    with desk.listening() as bell:
        yield "retry: 500\n\n"
        while True:
            if seen != desk.version:
                names, seen = desk.changed_since(seen), desk.version
                yield f"id: {seen}\ndata: {json.dumps(sorted(names))}\n\n"
            bell.clear()
            try:
                await asyncio.wait_for(bell.wait(), AWAKE)
            except TimeoutError:
                yield ": awake\n\n"
            else:
                await asyncio.sleep(0.03)


def _version(given: str) -> int:
    """Of which version a page says it is; of none where nobody can read it."""
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 16 else -1


def _about(file: File) -> dict[str, str]:
    if file.shown:
        return {"content-security-policy": SHUT}
    return {"content-disposition": f"attachment; filename*=UTF-8''{quote(file.name)}"}


class Studio:
    """A studio that can be served: its desk in a private folder, its guard, its socket on loopback.

    Parameters
    ----------
    root
        Where it was started.
    port
        0 for any that is free.
    ahead
        Whether the workers load what they need before it is needed.
    keep_in
        Where policies that are being edited are kept; None keeps them nowhere.
    """

    def __init__(
        self, root: Path, *, port: int = 0, writes: bool = True, ahead: bool = True, keep_in: Path | None = None
    ) -> None:
        need()
        self._folder, self._lock = private.make(Path(tempfile.gettempdir()), private.SPILL)
        self._owner = os.getpid()
        try:
            self.socket = _listening(port)
        except BaseException:
            private.remove(self._folder, self._lock, self._owner)
            raise
        self._server: Any = None
        self._ahead = ahead
        self.desk = Desk(root, self._folder, writes=writes, kept=None if keep_in is None else Kept(keep_in))
        self.guard = Guard(application(self.desk, lambda: self.guard.changes), self.socket.getsockname()[1])

    async def serve(self, *, first: Table | None = None, ready: Callable[[str], Any] = lambda address: None) -> None:
        """Serve until the process is told to end.

        Parameters
        ----------
        first
            The table to begin with.
        ready
            Told the address, with the token, when pages can be asked for.
        """
        import uvicorn

        settings = uvicorn.Config(
            self.guard,
            ws="none",
            log_config=None,
            log_level="critical",
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(settings, lambda: ready(self.guard.address))
        if self._ahead:
            self.desk.begin(_ready(self.desk))
        if first is not None:
            self.desk.open(first)
        try:
            await self._server.serve(sockets=[self.socket])
        finally:
            self.desk.end()

    def leads(self) -> Path:
        """A page that leads to the studio, for nobody else to read: what a browser is started with, others can list."""
        page = self._folder / "open.html"
        page.touch(mode=0o600)
        page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0;url={self.guard.address}">')
        return page

    def stop(self) -> None:
        """Let what serves come to its end."""
        self._server.should_exit = True

    def close(self) -> None:
        """Remove everything that was kept privately."""
        self.desk.end()
        self.socket.close()
        for name in ("looks", "makes", "runs", "dropped"):
            shutil.rmtree(self._folder / name, ignore_errors=True)
        private.remove(self._folder, self._lock, self._owner)


def _Server(settings: Any, ready: Callable[[], Any]) -> Any:  # noqa: N802 (a class, made when its base is there)
    import uvicorn

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            ready()

    return Server(settings)


async def _ready(desk: Desk) -> None:
    """Let both workers load what they need before it is needed, and this process what their answers are made of."""
    with contextlib.suppress(RothkoError):
        looks = desk.looks.ask("ready")
        for module in ("making", "trees"):
            await asyncio.to_thread(importlib.import_module, f"rothko.studio.jobs.{module}")
        await looks
        await desk.makes.ask("loaded")


def _listening(port: int) -> socket.socket:
    # Asyncio sends without delay over sockets that say they are TCP; an answer would wait 40 ms for the client's word.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except OSError as error:
        listening.close()
        raise OutputError(
            f"Port {port} cannot be listened at ({error.strerror}); choose another one with --port, or leave it out."
        ) from None
    except OverflowError:
        listening.close()
        raise InputError(f"--port must lie between 0 and 65535, not be {port}.") from None
    return listening


def run(
    data: str | None,
    root: Path,
    *,
    port: int = 0,
    writes: bool = True,
    browser: bool = True,
    say: Callable[[str], Any] = print,
) -> None:
    """Open a studio and serve it until Ctrl-C.

    Parameters
    ----------
    data
        The table to begin with: a path or an address.
    browser
        Whether to open it in the person's browser.
    say
        Told the address once.
    """
    studio = Studio(root, port=port, writes=writes, keep_in=unsaved.place())

    def ready(address: str) -> None:
        say(address)
        if browser:
            webbrowser.open(studio.leads().as_uri())

    try:
        first = None if data is None else given_table(data)
        with speaking_of_fields(FIELDS), contextlib.suppress(KeyboardInterrupt):
            asyncio.run(studio.serve(first=first, ready=ready))
    finally:
        studio.close()

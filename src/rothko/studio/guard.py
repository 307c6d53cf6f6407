"""Who may in: the person who started the studio, from a browser on this machine, and nobody through them.

Any page that a browser has open can send requests to loopback. So every request must

- be addressed to loopback by name: a name of an attacker that is made to point here (DNS rebinding) is another one;
- come from a page of the studio itself, where the browser says which it comes from (``Origin``, ``Sec-Fetch-Site``);
- carry the cookie that the address with the token gave, which no other site's request does (``SameSite=Strict``) and no
  script reads (``HttpOnly``);
- and, where it changes anything, a second secret in a header, which is written into the pages of the studio alone: a
  form of another site cannot set headers, and a script of another site cannot read our pages.

What leaves says that it may be framed by nobody, kept by no cache, and load nothing but what the studio itself serves.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HOST = "127.0.0.1"
CHANGES = "x-rothko-studio"
"""The header with the secret that whatever changes something must carry."""
CONTENT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types studio"
)
HEADERS = {
    "content-security-policy": CONTENT,
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
REFUSED = b"This is somebody's studio. Open it by the address that was printed where it was started.\n"


@dataclass(slots=True)
class Guard:
    """Lets in whoever knows the token, and asks every request whether it is theirs."""

    app: App
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """In the address that is printed."""
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """In the cookie."""
    changes: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    """In the pages, and in the header of what changes something."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a request may call us."""
        return f"{HOST}:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """Where the studio is, with the token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    @property
    def _cookie(self) -> str:
        return f"rothko-studio-{self.port}"  # cookies do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; those that are not ours are refused before anything looks at them."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # websockets: there are none here
            await send({"type": "websocket.close", "code": 1008})
            return
        given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if not self._addressed(given):
            await _refuse(send, 421, b"")
            return
        if "upgrade" in given or not self._from_here(given, scope):  # nothing here becomes a websocket
            await _refuse(send, 403, REFUSED)
            return
        token = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and token and scope["method"] == "GET":
            await (self._let_in(send) if _same(token, self.token) else _refuse(send, 403, REFUSED))
            return
        if not self._known(given):
            await _refuse(send, 403, REFUSED)
            return
        if scope["method"] not in ("GET", "HEAD") and not _same(given.get(CHANGES, ""), self.changes):
            await _refuse(send, 403, REFUSED)
            return
        await self.app(scope, receive, _with_headers(send))

    def _addressed(self, given: dict[str, str]) -> bool:
        return given.get("host", "") in self.hosts

    def _from_here(self, given: dict[str, str], scope: Scope) -> bool:
        """Whether the browser says that a page of ours, or the person themselves, sent it."""
        origin, site = given.get("origin"), given.get("sec-fetch-site")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return False
        # A link from elsewhere may lead here, for the cookie does not come along; nothing else may.
        typed = site == "none" or (scope["method"] == "GET" and scope["path"] == "/")
        return site in (None, "same-origin") or typed

    def _known(self, given: dict[str, str]) -> bool:
        try:
            found = SimpleCookie(given.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and _same(found.value, self.session)

    async def _let_in(self, send: Send) -> None:
        """Give the cookie, and take the token out of the address."""
        cookie = f"{self._cookie}={self.session}; Path=/; HttpOnly; SameSite=Strict"
        # A page, not a redirect: a browser that came from elsewhere would not send the new cookie along with one.
        page = (
            b'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>rothko</title>'
        )
        headers = [(b"set-cookie", cookie.encode()), (b"content-type", b"text/html; charset=utf-8")]
        await _with_headers(send)({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": page})


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


async def _refuse(send: Send, status: int, words: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await _with_headers(send)({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": words})


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            added = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in there]
            message = {**message, "headers": [*message["headers"], *added]}
        await send(message)

    return sent

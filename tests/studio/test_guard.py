"""Who may in: nobody without the token, nobody through another site's page, and nobody by another name of loopback."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from rothko.studio.guard import Guard
from tests.studio.served import Client

PLACES = ["/open", "/roles", "/events", "/part/open/main", "/file/take-away/policy", "/static/studio.js", "/nothing"]


@pytest.fixture
def stranger(shared: Client) -> Iterator[httpx.Client]:
    """Somebody on this machine who does not know the token."""
    with httpx.Client(base_url=shared.base) as client:
        yield client


@pytest.mark.parametrize("place", PLACES)
def test_nobody_without_the_token(stranger: httpx.Client, place: str) -> None:
    answer = stranger.get(place)
    assert answer.status_code == 403
    assert "token" not in answer.headers.get("set-cookie", "")
    assert "address that was printed" in answer.text


@pytest.mark.parametrize("token", ["", "wrong", "%00", "ä" * 43])
def test_a_wrong_token_gives_no_cookie(stranger: httpx.Client, token: str) -> None:
    answer = stranger.get("/", params={"token": token})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_the_token_gives_a_cookie_that_no_script_and_no_other_site_has(stranger: httpx.Client, shared: Client) -> None:
    answer = stranger.get("/", params={"token": shared.studio.guard.token})
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert shared.studio.guard.token not in cookie
    assert shared.studio.guard.token not in stranger.get("/open").text


@pytest.mark.parametrize("name", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example:{port}",
                                  "[::1]:{port}", "0.0.0.0:{port}", ""])  # fmt: skip
@pytest.mark.parametrize("place", ["/open", "/events", "/static/studio.js"])
def test_another_name_of_this_machine_is_refused(shared: Client, name: str, place: str) -> None:
    """DNS rebinding: a page of an attacker whose name was made to point here has our address, and not our name."""
    answer = shared.http.get(place, headers={"host": name.format(port=shared.studio.guard.port)})
    assert answer.status_code == 421
    assert answer.content == b""


@pytest.mark.parametrize("headers", [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": "http://127.0.0.1:1"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
])  # fmt: skip
@pytest.mark.parametrize(("method", "place"), [("POST", "/do/open/undo"), ("GET", "/events"), ("POST", "/drop")])
def test_other_sites_are_refused_though_they_had_cookie_and_secret(
    shared: Client, headers: dict[str, str], method: str, place: str
) -> None:
    answer = shared.http.request(method, place, headers=headers)
    assert answer.status_code == 403


@pytest.mark.parametrize("secret", [None, "", "wrong"])
@pytest.mark.parametrize("place", ["/do/open/undo", "/drop", "/do/take-away/save"])
def test_whatever_changes_something_needs_the_secret_of_the_page(
    shared: Client, secret: str | None, place: str
) -> None:
    """A form of another site has the address right, and at most a cookie."""
    headers = {} if secret is None else {"x-rothko-studio": secret}
    answer = httpx.post(f"{shared.base}{place}", cookies=dict(shared.http.cookies), headers=headers)
    assert answer.status_code == 403


def test_what_changes_something_is_no_link(shared: Client) -> None:
    assert shared.http.get("/do/open/undo").status_code == 405


@pytest.mark.parametrize("let_in", [False, True])
def test_websockets_are_refused(shared: Client, capfd: pytest.CaptureFixture[str], let_in: bool) -> None:
    cookie = "".join(f"Cookie: {name}={value}\r\n" for name, value in shared.http.cookies.items() if let_in)
    upgrade = (
        f"GET /events HTTP/1.1\r\nHost: 127.0.0.1:{shared.studio.guard.port}\r\nConnection: Upgrade\r\n"
        "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        f"{cookie}\r\n"
    )
    with socket.create_connection(("127.0.0.1", shared.studio.guard.port)) as raw:
        raw.sendall(upgrade.encode())
        raw.settimeout(5)
        status = raw.recv(100).split(b"\r\n")[0]
    assert b"101" not in status
    assert b"403" in status
    assert capfd.readouterr().err == ""


def test_every_answer_says_what_a_browser_may_do_with_it(shared: Client) -> None:
    for place in ("/open", "/static/studio.js", "/part/open/main", "/nothing"):
        headers = shared.http.get(place).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"


def test_it_listens_on_loopback_alone(shared: Client) -> None:
    assert shared.studio.socket.getsockname()[0] == "127.0.0.1"


def test_answers_are_sent_at_once(shared: Client) -> None:
    """Asyncio turns Nagle's delay off, 40 ms for each answer, where it is told that a socket is TCP."""
    assert shared.studio.socket.proto == socket.IPPROTO_TCP


def test_secrets_are_long_different_and_not_shown(shared: Client) -> None:
    one = Guard(None, 1)  # type: ignore[arg-type]
    assert len({one.token, one.session, one.changes}) == 3
    assert min(map(len, (one.token, one.session, one.changes))) >= 43
    assert one.token not in repr(one)
    assert one.session not in repr(one)


@pytest.mark.parametrize("path", ["../secret.csv", "/etc/passwd", "link.csv", "a/../../secret.csv"])
def test_files_outside_of_the_folder_are_not_opened(shared: Client, ward: Path, path: str) -> None:
    secret = ward.parent / "secret.csv"
    secret.write_text("a,b\n1,2\n")
    link = ward / "link.csv"
    if not link.is_symlink():
        link.symlink_to(secret)
    assert "outside of the folder" in shared.refused("open/path", path=path)
    assert "link.csv" not in shared.main("open")


def test_databases_that_are_files_must_lie_in_the_folder_too(shared: Client) -> None:
    told = shared.refused("open/address", address="sqlite:////etc/people.db?table=people")
    assert "outside of the folder" in told
    assert "begins with postgresql://" in shared.refused("open/address", address="s3://bucket/people.csv")


@pytest.mark.parametrize("name", ["../../x.csv", "..%2Fx.csv", ".bashrc", "x.sh", ""])
def test_dropped_files_stay_in_the_private_folder(shared: Client, ward: Path, name: str) -> None:
    before = set(ward.rglob("*"))
    shared.drop(name, b"a,b\n1,2\n")
    assert set(ward.rglob("*")) == before
    dropped = shared.desk.folder / "dropped"
    assert all(path.parent == dropped and path.suffix == ".csv" for path in dropped.rglob("*"))
    assert shared.desk.folder.stat().st_mode & 0o077 == 0


def test_files_are_saved_in_the_folder_alone(studio: Client) -> None:
    assert "outside of the folder" in studio.refused("take-away/policy", out="../policy.yaml")


def test_a_browser_is_started_without_the_token_in_its_arguments(shared: Client) -> None:
    page = shared.studio.leads()
    assert shared.studio.guard.token not in page.as_uri()
    assert shared.studio.guard.address in page.read_text()
    assert page.stat().st_mode & 0o077 == 0

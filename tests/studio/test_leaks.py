"""A whole session with values that can be searched for: what is left, told and logged afterwards has none of them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

NAMES = [f"Zebra{i:03d}q" for i in range(120)]
AGES = [f"{730_000 + 37 * i}" for i in range(120)]
TOWNS = [f"Quokka{i}x" for i in range(12)]
ILLNESSES = [f"Wombat{i}z" for i in range(4)]
TWICE = f"{{columns: {{town: {{role: quasi-identifier, hierarchy: {{tree: {{a: [{TOWNS[0]}], b: [{TOWNS[0]}]}}}}}}}}}}"
"""A policy with a label in two places."""
MARKERS = [*NAMES, *AGES, *TOWNS, *ILLNESSES]


class Session:
    """A studio that was started by the command, and somebody who was let in."""

    def __init__(self, address: str) -> None:
        self.http = httpx.Client(base_url=address.split("/?")[0], timeout=120)
        self.http.get(address)
        secret = re.search(r'name="studio" content="([^"]*)"', self.http.get("/open").text)
        assert secret is not None
        self.http.headers["x-rothko-studio"] = secret[1]

    def do(self, to: str, **given: Any) -> httpx.Response:
        return self.http.post(f"/do/{to}", data=given)

    def drop(self, name: str, content: str, what: str) -> httpx.Response:
        return self.http.post("/drop", content=content.encode(), headers={"x-name": name, "x-for": what})

    def shows(self, view: str, words: str) -> str:
        return until(lambda: page if words in (page := self.http.get(f"/part/{view}/main").text) else "")


def until(holds: Callable[[], str]) -> str:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def found_in(content: str | bytes, among: list[str] = MARKERS) -> list[str]:
    text = content if isinstance(content, str) else content.decode("latin-1")
    return [marker for marker in among if marker in text]


def test_nothing_of_a_table_is_left_told_or_logged(tmp_path: Path) -> None:
    folder, temporary, state = (tmp_path / name for name in ("folder", "temporary", "state"))
    for one in (folder, temporary):
        one.mkdir()
    rows = zip(NAMES, AGES, TOWNS * 10, ILLNESSES * 30, strict=True)
    (folder / "people.csv").write_text("name,age,town,illness\n" + "".join(f"{','.join(row)}\n" for row in rows))
    command = [sys.executable, "-m", "rothko", "studio", "people.csv", "--no-browser", "--debug"]
    environment = os.environ | {"TMPDIR": str(temporary), "XDG_STATE_HOME": str(state)}
    with (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
        )
    assert process.stdout is not None
    try:
        first = process.stdout.readline()
        session = Session(first.split()[-1])
        refused = _worked(session)
        assert found_in("".join(refused)) == []
        assert all(path.stat().st_mode & 0o077 == 0 for path in temporary.iterdir() if path.is_dir())
        session.http.close()
    finally:
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=60)[0]
    assert process.returncode == 0
    assert found_in(first + said) == []
    assert (tmp_path / "errors").read_bytes() == b""
    assert list(temporary.iterdir()) == []
    [kept] = (state / "rothko" / "studio").iterdir()
    assert found_in(kept.read_text(), [*NAMES, *AGES, *ILLNESSES]) == []  # towns were grouped by hand
    assert {path.name for path in folder.iterdir()} == {"people.csv", "release", "release-recoding"}
    for path in (folder / "release").iterdir():
        assert found_in(path.read_bytes(), NAMES) == [], path
        if path.name == "certificate.json":
            assert found_in(path.read_bytes(), [*AGES, *ILLNESSES]) == []


def _worked(session: Session) -> list[str]:
    """From the table to a saved release, with mistakes on the way; what was said about these."""
    session.shows("roles", "Counted in all")
    for column, role in (("name", "identifier"), ("age", "quasi-identifier"), ("town", "quasi-identifier")):
        assert session.do("roles/role", column=column, role=role).status_code == 200
    session.do("roles/role", column="illness", role="sensitive")
    session.do("hierarchies/look", column="town")
    session.shows("hierarchies", "The tree")
    assert session.do("hierarchies/edit", column="town", do="group", name="some", node=TOWNS[:4]).status_code == 200
    session.do("roles/agree", column="*")
    session.do("requirements/set", at="0", name="k-anonymity", k="5")
    session.do("purpose/how", method="mondrian", publish="range")
    session.do("run/make", engine="auto", memory="", seed="0")
    session.shows("run", "Made, and verified")
    session.shows("result", "before and after")
    session.do("result/filter", column="town", text=TOWNS[0])
    answers = [
        session.do("result/if", k="100000"),
        session.do("purpose/select", where=f"town = '{TOWNS[0]}"),
        session.do("purpose/select", where=f"agge > {AGES[0]}"),
        session.drop("town.csv", f"{TOWNS[0]};{TOWNS[0]};*\n{TOWNS[0]};a;b;*\n", "hierarchy:town"),
        session.drop("town.yaml", f"{{{TOWNS[0]}: [*{TOWNS[1]}]}}", "hierarchy:town"),
        session.drop("policy.yaml", TWICE, "policy"),
        session.drop("policy.yaml", f"{NAMES[0]}: [", "policy"),
        session.drop("people.sh", NAMES[0], "table"),
    ]
    until(lambda: "" if "making a release" in session.http.get("/part/run/bar").text else "done")
    assert session.do("take-away/save", out="release").status_code == 200
    refused = [answer.text for answer in answers if answer.status_code == 422]
    assert len(refused) == len(answers) - 1
    return refused

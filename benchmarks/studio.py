"""The studio as a person has it: how soon it shows live numbers, and how fast pages answer while a release is made.

Clocks, not ratios: what somebody waits for. The load of the machine stands beside each figure.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from benchmarks.timing import Case, report

FIRST, ANSWER = 3.0, 0.1
"""Seconds: to the first live numbers, and for a page while something is made."""
PAGES = (
    *("/open", "/roles", "/hierarchies", "/requirements", "/purpose", "/run", "/result", "/take-away"),
    *("/part/run/run", "/part/roles/numbers", "/part/hierarchies/tree"),
)


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    """Both."""
    cases = _first_numbers(folder, 100_000 if quick else 1_000_000)
    return cases + _answers(folder, 1_000_000 if quick else 10_000_000)


def _first_numbers(folder: Path, records: int) -> list[Case]:
    _generate(folder, records, "live.csv")
    begun = time.perf_counter()
    with _studio(folder, "live.csv") as (client, _):
        started = time.perf_counter()
        _until(client, "of records are unique")
        first = time.perf_counter()
        _until(client, "Counted in all")
        exact = time.perf_counter()
        _post(client, "open/path", path="live.csv")
        again = time.perf_counter()
        _until(client, "of records are unique")
        opened = time.perf_counter() - again
    detail = f"{records:,} records, {opened:.2f} s in a studio that runs, exact after {exact - begun:.2f} s; {_load()}"
    title = "studio: first live numbers, from the page"
    whole = f"with the start of the studio; {_load()}"
    return [
        report(title, first - started, FIRST, detail, " s"),
        report("studio: first live numbers, from the command", first - begun, FIRST, whole, " s"),
    ]


def _answers(folder: Path, records: int) -> list[Case]:
    """Pages that are asked for one after the other while a release is made, by the stage that it is in."""
    _generate(folder, records, "large.parquet")
    with _studio(folder, "large.parquet") as (client, _):
        _until(client, "Counted in all")
        _post(client, "roles/agree", column="*")
        _post(client, "purpose/how", method="mondrian", publish="range")
        _post(client, "requirements/set", at="0", name="k-anonymity", k="100")
        _post(client, "run/make", engine="auto", memory="", seed="0")
        taken: dict[str, list[tuple[float, str]]] = {}
        stage, at = "read", 0
        while True:
            page = PAGES[at % len(PAGES)]
            at += 1
            begun = time.perf_counter()
            answer = client.get(page)
            taken.setdefault(stage, []).append((time.perf_counter() - begun, page))
            if page == "/part/run/run":
                now = re.findall(r'<li class="now"><span>([^<]*)', answer.text)
                stage = now[-1] if now else stage
                if "Being made" not in answer.text:
                    assert "Made, and verified" in answer.text, answer.text
                    break
            time.sleep(0.02)
    cases = []
    for name, some in taken.items():
        slowest, page = max(some)
        times = sorted(seconds for seconds, _ in some)
        detail = (
            f"{len(some):,} answers, median {times[len(times) // 2] * 1000:.0f} ms, "
            f"{sum(one <= ANSWER for one in times) / len(times):.1%} within 100 ms, slowest {slowest * 1000:.0f} ms "
            f"({page}); {_load()}"
        )
        title = f"studio: 99 of 100 pages while: {name}"
        cases.append(report(title, times[int(len(times) * 0.99)], ANSWER, detail, " s"))
    return cases


def _generate(folder: Path, records: int, name: str) -> None:
    _command(folder, "generate", "agrawal", "-n", str(records), "-o", name)


def _command(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "rothko", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


@contextmanager
def _studio(folder: Path, data: str) -> Iterator[tuple[httpx.Client, str]]:
    """A studio that is started as a person starts it, and a client that was let in."""
    command = [sys.executable, "-m", "rothko", "studio", data, "--no-browser"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        with httpx.Client(base_url=address.split("/?")[0], timeout=60) as client:
            client.get(address)
            secret = re.search(r'name="studio" content="([^"]*)"', client.get("/open").text)
            assert secret is not None
            client.headers["x-rothko-studio"] = secret[1]
            try:
                yield client, address
            finally:
                process.terminate()


def _post(client: httpx.Client, to: str, **given: str) -> None:
    answer = client.post(f"/do/{to}", data=given)
    assert answer.status_code == 200, answer.text


def _until(client: httpx.Client, words: str) -> None:
    while words not in client.get("/part/roles/main").text:
        time.sleep(0.02)

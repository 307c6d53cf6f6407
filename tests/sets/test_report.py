"""The report of a release of sets: what stands in it, for whom, and what is refused."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rothko as rk
from rothko.errors import InputError
from rothko.plots.model import parse
from rothko.release.digest import sha256
from rothko.release.parts import MANIFEST, PartFile, part_name, write_manifest
from rothko.report import page
from rothko.sets.readable import read_sets
from rothko.sets.report import report
from tests.command import Rothko

CANARY = "a secret remedy"
"""An item that one record has, so that no release shows it."""


@pytest.fixture(scope="module")
def baskets() -> list[list[str]]:
    rng = np.random.default_rng(1)
    items = [f"item {i}" for i in range(12)]
    drawn = [[items[i] for i in np.flatnonzero(rng.random(12) < 0.5 / np.arange(1, 13) ** 0.5)] for _ in range(200)]
    return [[*drawn[0], CANARY], *drawn[1:]]


@pytest.fixture(scope="module")
def release(baskets: list[list[str]]) -> Any:
    return rk.sets.anonymize(baskets, k=4, method="set-mondrian")


@pytest.mark.parametrize("name", ["g.txt", "g.txt.gz", "g.parquet", "g.arrow", "g.csv", "g.tsv"])
def test_every_form_of_file_tells_the_same(release: Any, tmp_path: Path, name: str) -> None:
    delimiter = "|" if ".txt" in name else " "
    saved = release.save(tmp_path / name, delimiter=delimiter)
    told = read_sets(saved.data, delimiter=delimiter)
    truth = Counter(frozenset(one) for one in release.to_lists())
    assert told.records == 200
    assert {frozenset(told.set_at(i)): n for i, n in enumerate(told.times)} == truth
    items = Counter(item for one in release.to_lists() for item in one)
    assert dict(zip(told.names, told.frequencies.tolist(), strict=True)) == items
    assert [frozenset(row) for row in told.rows] == [frozenset(row) for row in release.to_lists()[:10]]
    memory, written = release.report(), report(saved.data, delimiter=delimiter)
    assert json.loads(memory.json)["pictures"] == json.loads(written.json)["pictures"]


def test_it_says_what_holds_and_how_to_check_it(release: Any, tmp_path: Path) -> None:
    saved = release.save(tmp_path / "g.parquet")
    html = unescape(report(saved.data).html)
    smallest = min(Counter(frozenset(one) for one in release.to_lists()).values())
    assert f"each by at least {smallest} records" in html
    assert f"{release.metrics.utility_kept:.2%}" in html
    assert saved.certificate["file_sha256"] in html
    [query] = re.findall(r"SELECT min[^;<]*;", html)
    counted = _asked(query.replace("'g.parquet'", f"'{saved.data}'"))
    assert counted == smallest


def _asked(query: str) -> int:
    import duckdb

    [(found,)] = duckdb.sql(query).fetchall()
    return int(found)


def test_public_and_steward_are_held_apart_by_bytes(release: Any, baskets: list[list[str]]) -> None:
    public, steward = release.report(), release.report(audience="steward", original=baskets)
    unique = sum(n for n in Counter(frozenset(one) for one in baskets).values() if n == 1)
    before = f"{unique} ({unique / 200:.2%})"
    for text in (public.html, public.json):
        assert CANARY not in text
        assert before not in text
    assert before in steward.html
    assert "told records apart before" in steward.html
    assert "told records apart before" not in public.html
    assert (
        CANARY in release.report(audience="steward", original=[[CANARY], *baskets[1:]]).html or CANARY in steward.json
    )
    for one in (public, steward):
        assert parse(one.json) == one.pictures
        assert all(page.shown(picture).text in one.html for picture in one.pictures)


def test_what_told_records_apart_is_counted_as_one_would(release: Any, baskets: list[list[str]]) -> None:
    html = release.report(audience="steward", original=baskets).html
    often = Counter(item for one in baskets for item in one)
    by_one = sum(any(often[item] == 1 for item in one) for one in baskets) / 200
    order = sorted(often)
    by_two = 0
    for one in baskets:
        rarest = sorted(one, key=lambda item: (often[item], order.index(item)))[:2]
        by_two += bool(rarest) and sum(set(rarest) <= set(other) for other in baskets) == 1
    assert f'<td class="n">{by_one:.2%}</td>' in html
    assert f'<td class="n">{by_two / 200:.2%}</td>' in html


def test_a_weaker_promise_is_told_as_such(baskets: list[list[str]], tmp_path: Path) -> None:
    weak = rk.sets.anonymize(baskets, k=4, method="set-k1")
    html = unescape(report(weak.save(tmp_path / "g.parquet").data).html)
    assert "(4,1)-anonymity holds" in html
    assert "Weaker than k-anonymity" in html
    assert "Prosecutor" not in html
    assert "a secret seed" in html


def test_several_files_are_reported_as_one(release: Any, baskets: list[list[str]], tmp_path: Path) -> None:
    saved = release.save(tmp_path / "one.txt", delimiter="|")
    lines = saved.data.read_text("utf-8").splitlines(keepends=True)
    data = tmp_path / "g.txt"
    data.mkdir()
    written = []
    for number, some in enumerate((lines[:50], lines[50:51], lines[51:])):
        name = part_name(number, ".txt")
        (data / name).write_text("".join(some), "utf-8")
        written.append(PartFile(name, sha256(data / name)))
    told = saved.certificate | {"file": "g.txt", "file_sha256": write_manifest(data, written)}
    (tmp_path / "g.certificate.json").write_text(json.dumps(told), "utf-8")
    html = report(data, delimiter="|").html
    assert f"sha256sum --check {MANIFEST}" in html
    assert "cat g.txt/part-* | sort" in unescape(html)
    one, other = report(data, delimiter="|"), report(saved.data, delimiter="|")
    assert one.pictures == other.pictures
    report(data, delimiter="|", audience="steward", original=baskets)
    (data / part_name(1, ".txt")).unlink()
    with pytest.raises(InputError, match="other bytes"):
        report(data, delimiter="|")


def test_what_cannot_be_told_is_refused_in_a_sentence(release: Any, baskets: list[list[str]], tmp_path: Path) -> None:
    saved = release.save(tmp_path / "g.txt", delimiter="|")
    with pytest.raises(InputError, match="what separates them"):
        report(saved.data, delimiter=";")
    with pytest.raises(InputError, match="has 199 records"):
        release.report(audience="steward", original=baskets[1:])
    with pytest.raises(InputError, match="in no record of the original"):
        release.report(audience="steward", original=[["other"]] * 200)
    with pytest.raises(InputError, match="not for the public"):
        release.report(original=baskets)
    saved.data.write_text("a\n", "utf-8")
    with pytest.raises(InputError, match="other bytes"):
        report(saved.data)
    table = rk.anonymize({"age": list(range(20))}, qi="age", k=5).save(tmp_path / "table.csv")
    with pytest.raises(InputError, match="has a table"):
        report(table.data)


def test_few_and_empty_sets(tmp_path: Path) -> None:
    for records in ([[]] * 4, [["a"]] * 4, [["a"], ["b"], ["c"], ["d"]]):
        told = rk.sets.anonymize(records, k=2)
        for one in (told.report(), told.report(audience="steward", original=records)):
            assert "NaN" not in one.html
            assert one.html.count("<svg") == len(one.pictures)


def test_hostile_items_are_text() -> None:
    bad = "<script>alert(1)</script>"
    html = rk.sets.anonymize([[bad, "x</style>"]] * 4, k=2).report().html
    assert "<script>alert" not in html
    assert html.count("</style>") == 1


def test_the_commands_know_sets(rothko: Rothko, baskets: list[list[str]], tmp_path: Path) -> None:
    data, out = tmp_path / "baskets.txt", tmp_path / "g.txt"
    data.write_text("".join(f"{'|'.join(one)}\n" for one in baskets), "utf-8")
    found = rothko("sets", data, "--delimiter", "|", "--k", "4", "--out", out, "--report")
    assert found.code == 0
    assert found.out.splitlines()[-1] == str(tmp_path / "g.report.html")
    written = (tmp_path / "g.report.html").read_text("utf-8")
    assert rothko("report", out, "--delimiter", "|").code == 2  # it is there
    assert rothko("report", out, "--delimiter", "|", "--overwrite").code == 0
    assert (tmp_path / "g.report.html").read_text("utf-8") == written
    steward = rothko("report", out, "--delimiter", "|", "--for", "steward", "--original", data)
    assert steward.code == 0
    assert (tmp_path / "g-steward/g.report.html").stat().st_mode & 0o077 == 0
    refused = rothko("report", out, "--policy", data, "--overwrite")
    assert refused.code == 2
    assert "--policy is about the columns of a table" in refused.err
    picture = tmp_path / "g.svg"
    assert rothko("paint", out, "--delimiter", "|", "-o", picture).code == 0
    assert picture.read_text("utf-8").count("<rect") > 5
    assert rothko("paint", out, "--x", "age", "-o", tmp_path / "h.svg").code == 2

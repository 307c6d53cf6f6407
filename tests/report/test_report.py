"""The report: what stands in it, for whom, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import InputError, PolicyError
from rothko.metrics.association import associations, spreads
from rothko.metrics.measure import tasks_of
from rothko.metrics.pair import read_pair
from rothko.metrics.risk import risk
from rothko.plots.model import Plot, parse
from rothko.plots.ticks import ticks
from rothko.privacy import REQUIREMENTS
from rothko.release.digest import sha256
from rothko.release.parts import MANIFEST, PartFile, part_name, write_manifest
from rothko.report import page
from rothko.report import released as released_module
from rothko.report.released import read_release
from rothko.report.report import report
from rothko.report.sentences import REQUIREMENTS as SAID
from rothko.report.steward import look_before, needed

VOID = {"meta", "br", "link"}


class Outline(HTMLParser):
    """Checks that tags are closed in order; remembers headings, ids and what is linked to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.ids += [str(found["id"])] if "id" in found else []
        for name in ("href", "aria-labelledby"):
            self.links += [word.lstrip("#") for word in (found.get(name) or "").split() if tag != "use" or "#" in word]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def outline(html: str) -> Outline:
    found = Outline()
    found.feed(html)
    assert found.open == []
    return found


@pytest.fixture(scope="module")
def public(hospital: Path) -> Any:
    return report(hospital / "release")


@pytest.fixture(scope="module")
def steward(hospital: Path) -> Any:
    return report(hospital / "release", audience="steward", original=hospital / "patients.parquet")


def test_a_folder_has_its_report_and_what_is_drawn(hospital: Path, public: Any) -> None:
    assert (hospital / "release/report.html").read_text("utf-8") == public.html
    assert (hospital / "release/report.json").read_text("utf-8") == public.json


def test_the_page_is_one_well_formed_file_that_fetches_nothing(public: Any, steward: Any) -> None:
    for html in (public.html, steward.html):
        found = outline(html)
        assert not re.search(r"https?://|@import|url\((?!#)|src=", html)
        assert len(set(found.ids)) == len(found.ids)
        assert set(found.links) <= set(found.ids)
        assert found.headings[0] == 1
        assert all(after <= before + 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
        for tag in ("header", "main", "nav", "footer"):
            assert sum(name == tag for name, _ in found.tags) == 1
        assert html.count("<caption>") == html.count("<table")
        assert all("aria-labelledby" in attributes for tag, attributes in found.tags if tag == "svg")


def test_everything_that_is_drawn_comes_from_the_json(public: Any, steward: Any) -> None:
    for one in (public, steward):
        pictures = parse(one.json)
        assert pictures == one.pictures
        assert [page.shown(picture).text in one.html for picture in pictures] == [True] * len(pictures)
        assert one.html.count("<svg") == len(pictures)


def test_the_risk_is_that_of_the_released_file(hospital: Path, public: Any) -> None:
    rows = pq_or_csv(hospital / "release/release.parquet").to_pylist()
    classes: dict[tuple[str, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in ("birth_date", "sex", "zip", "education"))
        classes[key] = classes.get(key, 0) + 1
    above = sum(size for size in classes.values() if 1 / size > 0.09)
    assert f"{1 / min(classes.values()):.4f}" in public.html
    assert f"{above:,} ({above / len(rows):.2%})" in public.html
    assert f"{len(classes) / len(rows):.4f}" in public.html


def pq_or_csv(path: Path) -> pa.Table:
    return pq.read_table(path)


def test_another_threshold_counts_other_records(hospital: Path) -> None:
    sizes = np.unique(
        pq_or_csv(hospital / "release/release.parquet")
        .select(["birth_date", "sex", "zip", "education"])
        .to_pandas()
        .astype(str)
        .agg("|".join, axis=1),
        return_counts=True,
    )[1]
    for threshold in (0.05, 0.2):
        found = risk(sizes, threshold)
        assert f"{found.above:,} ({found.share_above:.2%})" in report(hospital / "release", threshold=threshold).html


CANARY = 9.87654321e8
"""A number that the original has and no release of it shows."""


def planted() -> tuple[dict[str, Any], str]:
    """A table whose largest income, mean and uniques would be seen wherever they are told."""
    rng = np.random.default_rng(3)
    income = rng.integers(20, 40, 400) * 1000.0
    income[0] = CANARY
    table = {"age": rng.integers(20, 80, 400), "income": income, "illness": rng.choice(["flu", "cold", "gout"], 400)}
    policy = "{columns: {age: {role: quasi-identifier}, income: {role: quasi-identifier}, illness: {role: sensitive}}, "
    return table, policy + "privacy: [{k-anonymity: {k: 5}}], publish: region}"


def test_public_and_steward_are_held_apart_by_bytes() -> None:
    table, policy = planted()
    release = rk.anonymize(table, rk.Policy.parse(policy))
    public = release.report()
    steward = release.report(audience="steward", original=table)
    unique = risk(np.unique(np.stack([table["age"], table["income"]]), axis=1, return_counts=True)[1])
    before = f"{unique.unique:,} ({unique.share_unique:.2%})"
    canaries = [str(int(CANARY)), f"{CANARY:,.0f}", before]
    for bytes_ in (public.html, public.json):
        assert [word for word in canaries if word in bytes_] == []
    assert str(int(CANARY)) in steward.html.replace(",", "")
    assert before in steward.html
    for word in ("before and after", "most identifying", "Cramér"):
        assert word in steward.html
        assert word not in public.html


def test_the_public_report_is_a_function_of_the_public_files(hospital: Path, public: Any, tmp_path: Path) -> None:
    """Nothing but the two files is there, and the same page comes of them."""
    for name in ("release.parquet", "certificate.json"):
        shutil.copy(hospital / "release" / name, tmp_path)
    for place in (tmp_path, tmp_path / "release.parquet", tmp_path / "certificate.json"):
        assert report(place).html == public.html


def test_what_the_steward_gets_needs_the_original_and_the_public_none(hospital: Path) -> None:
    with pytest.raises(InputError, match="original"):
        report(hospital / "release", audience="steward")
    with pytest.raises(InputError, match="not for the public"):
        report(hospital / "release", original=hospital / "patients.parquet")
    with pytest.raises(InputError, match="public or for the steward"):
        report(hospital / "release", audience="boss")  # type: ignore[arg-type]
    for threshold in (0, 1, float("nan")):
        with pytest.raises(InputError, match="between 0 and 1"):
            report(hospital / "release", threshold=threshold)


def changed(text: str, **keys: Any) -> str:
    return json.dumps(json.loads(text) | keys)


def test_files_that_nobody_vouches_for_are_refused(hospital: Path, tmp_path: Path) -> None:
    for name in ("release.parquet", "certificate.json"):
        shutil.copy(hospital / "release" / name, tmp_path)
    data, certificate = tmp_path / "release.parquet", tmp_path / "certificate.json"
    told = certificate.read_text("utf-8")
    for text, words in (
        (changed(told, format="rothko certificate 2"), "no certificate that this version"),
        (changed(told, format="rothko sets certificate 1"), "records which are sets"),
        (changed(told, format="rothko certificate 0"), "no certificate that this version"),
        (changed(told, file_sha256="0" * 64), "other bytes"),
        (changed(told, file="../release.parquet"), "names no file"),
        (changed(told, file="gone.parquet"), "not beside it"),
        (changed(told, columns=["age"]), "no such column"),
        ("{", "cannot be read"),
    ):
        certificate.write_text(text, "utf-8")
        with pytest.raises((InputError, PolicyError), match=words):
            report(tmp_path)
    certificate.unlink()
    for place, words in ((tmp_path, "no certificate.json"), (data, "no certificate"), (tmp_path / "x", "no release")):
        with pytest.raises(InputError, match=words):
            report(place)


def test_one_value_no_number_and_missing_values() -> None:
    table = {
        "one": ["x"] * 60,
        "kind": ["a", "b", "c"] * 20,
        "gap": ["1", None, "3"] * 20,
        "illness": ["flu", "cold"] * 30,
    }
    release = rk.anonymize(table, qi=["one", "kind", "gap"], sensitive="illness", k=5)
    for told in (release.report(), release.report(audience="steward", original=table)):
        outline(told.html)
        assert told.html.count("<svg") == len(told.pictures)
    alone = rk.anonymize({"one": ["x"] * 10}, qi="one", k=5).report()
    outline(alone.html)
    assert "is published as it was" in alone.html  # and no plot of nothing
    assert "the same everywhere" in alone.html
    assert "ncp" not in {one.name for one in alone.pictures}
    sizes = next(one for one in alone.pictures if one.name == "class-sizes")
    assert isinstance(sizes, Plot)
    assert [text for _, text in ticks(sizes.x)] == ["10"]


def test_many_columns_are_lines_of_the_rows_that_are_shown() -> None:
    table = {f"of {i}": [j % 2 for j in range(40)] for i in range(20)}
    html = rk.anonymize(table, qi=list(table), k=5).report().html
    rows = html.partition('id="rows"')[2].partition("</table>")[0]
    assert rows.count("<tr>") == 21
    assert rows.count("<td>") == 20 * 11
    assert "<td>of 7</td>" in rows


@pytest.mark.parametrize("publish", ["range", "region", "mean", "bounds"])
def test_every_form_of_publishing_is_reported(publish: str) -> None:
    table, _ = planted()
    release = rk.anonymize(table, qi=["age", "income"], sensitive="illness", k=20, publish=publish)
    outline(release.report(audience="steward", original=table).html)
    outline(release.report().html)


def test_two_tables_say_that_they_show_quasi_identifiers_exactly() -> None:
    table = {"age": list(range(40)), "illness": ["flu", "cold", "gout", "pox"] * 10}
    policy = "{columns: {age: {role: quasi-identifier}, illness: {role: sensitive}}, privacy: [{frequency-l-diversity: {l: 2, of: illness}}], method: anatomy}"  # noqa: E501
    with pytest.warns(rk.errors.PrivacyWarning):
        release = rk.anonymize(table, rk.Policy.parse(policy))
    assert "published exactly" in release.report().html
    assert "40 (100.00%)" in release.report().html
    with pytest.raises(rk.errors.PolicyError, match="anatomy"):
        release.report(audience="steward", original=table)


def test_several_sets_of_quasi_identifiers_each_have_their_risk() -> None:
    rng = np.random.default_rng(0)
    table = {name: rng.integers(0, 9, 300) for name in ("a", "b", "c")} | {"label": rng.choice(["x", "y"], 300)}
    policy = """{columns: {a: {role: quasi-identifier}, b: {role: quasi-identifier}, c: {role: quasi-identifier}, label: {role: keep}},
      privacy: [{k-anonymity: {k: 10, over: [a, b]}}, {k-anonymity: {k: 20, over: [c]}}], method: refine,
      workload: [{classify: {target: label}}]}"""  # noqa: E501
    html = rk.anonymize(table, rk.Policy.parse(policy)).report().html
    assert "by a and b" in html
    assert ", by c" in html


def test_hostile_names_and_values_are_text() -> None:
    bad = "<script>alert(1)</script>"
    table = {bad: ["a&b", "<i>"] * 20, 'q"uote': list(range(40)), "illness": ["x</style>", "y"] * 20}
    release = rk.anonymize(table, qi=[bad, 'q"uote'], sensitive="illness", k=5)
    for told in (release.report(), release.report(audience="steward", original=table)):
        assert "<script>alert" not in told.html
        assert told.html.count("</style>") == 1
        outline(told.html)


def test_every_requirement_has_its_sentence() -> None:
    assert set(SAID) == set(REQUIREMENTS)


def test_a_report_is_saved_for_whom_it_is(tmp_path: Path, hospital: Path, steward: Any, public: Any) -> None:
    assert public.save(tmp_path / "public.html").stat().st_mode & 0o044 == 0o044
    assert steward.save(tmp_path / "mine.html").stat().st_mode & 0o077 == 0
    assert (tmp_path / "mine.json").stat().st_mode & 0o077 == 0
    with pytest.raises(rk.errors.OutputError, match="exists"):
        public.save(tmp_path / "public.html")
    public.save(tmp_path / "public.html", overwrite=True)


def test_a_release_stands_without_a_report_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    release = rk.anonymize({"age": list(range(20))}, qi="age", k=5)
    monkeypatch.setattr(type(release), "reporter", staticmethod(broken))
    saved = release.save(tmp_path / "out")
    assert (saved.report_path, saved.report_failed) == (None, "ZeroDivisionError")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["certificate.json", "release.parquet"]


def test_the_report_of_an_older_release_goes_with_it(tmp_path: Path) -> None:
    release = rk.anonymize({"age": list(range(20))}, qi="age", k=5)
    release.save(tmp_path / "out")
    assert (tmp_path / "out/report.html").exists()
    release.save(tmp_path / "out", report=False, overwrite=True)
    assert not (tmp_path / "out/report.html").exists()
    assert not (tmp_path / "out/report.json").exists()
    (tmp_path / "out/report.html").write_text("mine")
    release.save(tmp_path / "out", report=False, overwrite=True)
    assert (tmp_path / "out/report.html").read_text() == "mine"
    (tmp_path / "other.report.html").write_text("mine")
    with pytest.raises(rk.errors.OutputError, match=r"other\.report\.html"):
        release.save(tmp_path / "other.csv", report=True)
    assert release.save(tmp_path / "file.csv", report=True).report_path == tmp_path / "file.report.html"


@pytest.fixture
def several(hospital: Path, tmp_path: Path) -> Path:
    """The same release as a folder of three files, as tasks of a cluster write them."""
    rows = pq.read_table(hospital / "release/release.parquet")
    data = tmp_path / "release.parquet"
    data.mkdir()
    written = []
    for number, (first, last) in enumerate(((0, 100), (100, 101), (101, len(rows)))):
        name = part_name(number, ".parquet")
        pq.write_table(rows.slice(first, last - first), data / name)
        written.append(PartFile(name, sha256(data / name)))
    told = (hospital / "release/certificate.json").read_text("utf-8")
    (tmp_path / "certificate.json").write_text(changed(told, file_sha256=write_manifest(data, written)), "utf-8")
    return tmp_path


def test_a_release_in_several_files_is_reported_as_one(several: Path, public: Any) -> None:
    found = report(several)
    one, other = (json.loads(told.json)["pictures"] for told in (found, public))
    assert one == other
    assert f"sha256sum --check {MANIFEST}" in found.html
    assert "release.parquet/part-*" in unescape(found.html)
    by_name = report(several / "release.parquet")
    assert by_name.json == found.json


def test_the_steward_has_the_same_figures_of_several_files(several: Path, hospital: Path, steward: Any) -> None:
    found = report(several, audience="steward", original=hospital / "patients.parquet")
    one, other = (json.loads(told.json)["pictures"] for told in (found, steward))
    assert one == other
    assert f"sha256sum --check {MANIFEST}" in found.html


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_a_release_by_its_classes_is_measured_as_its_rows_are(ending: str, tmp_path: Path) -> None:
    """What a steward reads class by class says the same as the rows, whatever the file is."""
    rng = np.random.default_rng(5)
    table = {
        "age": rng.integers(20, 80, 300),
        "pay": rng.integers(1, 90, 300) / 4,
        "town": rng.choice(["=A", "b, c", "-d", 'e"'], 300),
        "illness": rng.choice(["flu", "=cold", None], 300),
        "label": rng.choice(["x", "y"], 300),
    }
    policy = """{columns: {age: {role: quasi-identifier}, pay: {role: quasi-identifier}, town: {role: quasi-identifier},
      illness: {role: sensitive}, label: {role: keep}}, privacy: [{k-anonymity: {k: 5}}], publish: bounds,
      workload: [{classify: {target: label}}]}"""
    saved = rk.anonymize(table, rk.Policy.parse(policy)).save(tmp_path / f"out.{ending}")
    released = read_release(saved.data, beside=needed)
    before = look_before(table, released, None, 0.09)
    pair = read_pair(table, saved.data, rk.Policy.parse(policy), beside=["illness"])
    assert before.tasks == tasks_of(pair)
    found, truth = (
        {one.names: [one.before, one.after] for one in some} for some in (before.associations, associations(pair))
    )
    assert found.keys() == truth.keys()
    np.testing.assert_allclose([found[name] for name in truth], list(truth.values()), atol=1e-12)
    for one, other in zip(before.spreads, spreads(pair), strict=True):
        assert (one.name, one.parts) == (other.name, other.parts)
        np.testing.assert_allclose(one.after, other.after, atol=1e-12)


@pytest.mark.parametrize("change", ["more", "fewer", "other", "list"])
def test_several_files_that_nobody_vouches_for_are_refused(several: Path, change: str) -> None:
    data = several / "release.parquet"
    if change == "more":
        shutil.copy(data / "part-00001.parquet", data / "part-00003.parquet")
    elif change == "fewer":
        (data / "part-00001.parquet").unlink()
    elif change == "other":
        shutil.copy(data / "part-00000.parquet", data / "part-00001.parquet")
    else:
        (data / MANIFEST).write_text("", "utf-8")
    with pytest.raises(InputError, match="other bytes"):
        report(several)


def test_pictures_of_very_many_classes_are_of_some_and_say_so(
    hospital: Path, public: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are those of all classes; what is drawn is near to what all of them draw."""
    classes = len(read_release(hospital / "release").sizes)
    monkeypatch.setattr(released_module, "MANY", 10)
    monkeypatch.setattr(released_module, "DRAWN", classes // 2)
    some = read_release(hospital / "release")
    assert 0.25 * classes < len(some.sizes) < 0.75 * classes
    assert len(some.whole) == classes
    assert some.records == 600
    told = report(hospital / "release")
    assert told.html == report(hospital / "release").html
    assert f"Drawn from {len(some.sizes):,} of the {classes:,} classes" in told.html
    assert "Drawn from" not in public.html
    assert re.findall(r"<td class=\"n\">[^<]*</td>", told.html) == re.findall(
        r"<td class=\"n\">[^<]*</td>", public.html
    )
    steward = report(hospital / "release", audience="steward", original=hospital / "patients.parquet")
    assert "Drawn from" not in steward.html

"""Sets on a real Spark: what memory would release, written and verified where the records lie."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import InfeasibleError, InputError, OutputError, PolicyError, VerificationError
from rothko.generate.longtail import LongTail, longtail
from rothko.release.parts import MANIFEST
from rothko.sets import Reading, prepare
from rothko.sets.methods import mondrian
from rothko.sets.spark.release import HeldSets, SpreadSets
from rothko.sets.write import free_place
from tests.command import Rothko
from tests.spark import spark

__all__ = ["spark"]

ROWS, FITS, K = 1_500, 500, 5
EVEN = {"set-mondrian": {"criterion": "even"}}
SMALL = {"spark": {"records_at_once": FITS}}
Lists = list[list[str]]


@pytest.fixture(scope="module")
def lists() -> Lists:
    """Records of the thesis's kind, and some without items."""
    return [*longtail(ROWS - 20, LongTail(items=30, mean=8, deviation=5, least=0.02)).to_lists(), *([[]] * 20)]


def as_frame(spark: Any, lists: Lists, parts: int) -> Any:
    return spark.createDataFrame(pa.table({"items": pa.array(lists, pa.list_(pa.string()))})).repartition(parts)


def counted(lists: Any) -> Counter[tuple[str, ...]]:
    return Counter(tuple(sorted(one)) for one in lists)


def written(data: Path, ending: str) -> list[list[str]]:
    """The sets of all files, read by code that knows nothing of Spark."""
    if ending == ".parquet":
        return pq.read_table(data)["items"].to_pylist()
    if ending == ".txt.gz":
        return [line.split() for path in data.glob("part-*") for line in gzip.open(path, "rt").read().splitlines()]
    rows = [line.split(",") for path in data.glob("part-*") for line in path.read_text().splitlines()[1:]]
    sets: dict[str, list[str]] = {}
    for record, item in rows:
        sets.setdefault(record, []).extend([item.strip('"')] if item else [])
    return list(sets.values())


@pytest.mark.parametrize(("criterion", "ending"), [("even", ".csv"), ("entropy", ".txt.gz"), ("utility", ".parquet")])
def test_the_sets_are_those_of_memory(
    criterion: str, ending: str, spark: Any, lists: Lists, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mondrian, "PART", FITS)
    method = {"set-mondrian": {"criterion": criterion}}
    prepared = prepare(as_frame(spark, lists, 3), k=K, method=method, engine=SMALL)
    assert isinstance(prepared, SpreadSets)
    assert len(prepared.grown.leaves) >= 4
    saved = prepared.save(f"out{ending}")
    in_memory = rk.sets.anonymize(lists, k=K, method=method)
    assert counted(written(saved.data, ending)) == counted(in_memory.to_lists())
    found, wanted = saved.certificate, in_memory.certificate
    assert found["metrics"] == pytest.approx(wanted["metrics"])
    same = ("requirement", "adversary", "rows", "classes", "method", "seed", "verified", "true_to_original")
    assert {name: found[name] for name in same} == {name: wanted[name] for name in same}
    assert found["engine"] == {"name": "spark", "reason": "asked for"}
    assert "engine" not in wanted
    # The files are those of the list, and no other; the certificate has the hash of the list.
    manifest = saved.data / MANIFEST
    assert hashlib.sha256(manifest.read_bytes()).hexdigest() == found["file_sha256"]
    subprocess.run(["sha256sum", "--check", "--quiet", MANIFEST], cwd=saved.data, check=True)
    names = sorted(path.name for path in saved.data.iterdir())
    assert names == [MANIFEST, *(f"part-{i:05d}{ending}" for i in range(ROWS // FITS))]
    assert json.loads(saved.certificate_path.read_text("utf-8")) == found
    assert sorted(path.name for path in folder.iterdir()) == ["out.certificate.json", saved.data.name]
    if criterion == "even":  # however the records are spread and ordered, the same files
        again = prepare(as_frame(spark, lists[::-1], 2), k=K, method=method, engine=SMALL).save(f"again{ending}")
        assert again.certificate["file_sha256"] == found["file_sha256"]
        # None of them tells the leaf that its rows are from.
        apart = [written(one, ending) for one in each_by_itself(saved.data)]
        common = set.intersection(*(set(counted(sets)) for sets in apart))
        assert len(common) > 0.1 * found["classes"]


def each_by_itself(data: Path) -> list[Path]:
    """Every file of a release in a folder of its own."""
    folders = []
    for path in sorted(data.glob("part-*")):
        folders.append(data.parent / path.stem)
        folders[-1].mkdir()
        shutil.copy(path, folders[-1])
    return folders


def test_a_release_is_held_in_a_folder_until_it_is_saved(spark: Any, folder: Path) -> None:
    """Records that no item may cut, and that no task can hold, are one class that is known by counts."""
    lists = [["tea", "milk"]] * 90 + [[]] * 60
    made = rk.sets.anonymize(as_frame(spark, lists, 2), k=9, method=EVEN, engine={"spark": {"records_at_once": 70}})
    with made:
        assert isinstance(made, HeldSets)
        assert counted(made.to_lists()) == {("milk", "tea"): 90, (): 60}
        assert made.table.count() == 150
        assert made.metrics.classes == 2
        assert "150 records in 2 classes, verified: True" in repr(made)
        saved = made.save("held.parquet")
        assert counted(written(saved.data, ".parquet")) == counted(lists)
        assert saved.certificate["io"]["passes"] > 3
        with pytest.raises(OutputError, match="exists"):
            made.save("held.parquet")
        with pytest.raises(OutputError, match="a folder of Parquet files"):
            made.save("other.txt")
        # What was changed since it was written is not released, nor is anything else.
        part = made._data / "part-00001.parquet"
        sets = pq.read_table(part)["items"].to_pylist()
        first = next(i for i, one in enumerate(sets) if one)
        pq.write_table(pa.table({"items": [*sets[:first], ["tea"], *sets[first + 1 :]]}), part)
        with pytest.raises(VerificationError, match="k-anonymity holds for k = 1 and not for 9"):
            made.save("damaged.parquet")
        pq.write_table(pa.table({"items": [*sets[:first], [], *sets[first + 1 :]]}), part)
        with pytest.raises(VerificationError, match="not those that records have in common"):
            made.save("damaged.parquet")
    assert sorted(path.name for path in folder.iterdir()) == ["held.certificate.json", "held.parquet"]
    with pytest.raises(InputError, match="closed"):
        made.to_lists()


def test_every_form_that_spark_reads(spark: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    baskets = [["tea", "milk"], ["tea"], [], ["gin", "tea"], ["milk"]] * 4
    lines = "".join(" ".join(items) + "\n" for items in baskets)
    Path("lines").mkdir()
    Path("lines/a.txt").write_bytes(b"\xef\xbb\xbf" + lines[: len(lines) // 2].encode())
    Path("lines/b.txt").write_text(lines[len(lines) // 2 :])
    rows = [(f"r{i}", item) for i, items in enumerate(baskets) for item in items or [None]]
    pq.write_table(pa.table({"who": [who for who, _ in rows], "what": [what for _, what in rows]}), "long.parquet")
    people = {"age": [31, 33, 58, 57] * 5, "job": ["Surgeon", "Cardiologist", "cook", None] * 5}
    jobs = rk.Hierarchy.from_nested({"Doctor": ["Surgeon", "Cardiologist"], "Service": ["cook"]})
    cells = Reading(form="table", bins={"age": 5}, hierarchies={"job": jobs})
    forms: list[tuple[Any, Any, Reading]] = [
        ("lines", baskets, Reading()),
        (f"file:{folder}/long.parquet", baskets, Reading(record="who", item="what")),
        (spark.createDataFrame(pa.table(people)), people, cells),
    ]
    for data, plain, reading in forms:
        wanted = rk.sets.read_records(plain, reading if plain is people else None)
        made = prepare(data, k=4, method=EVEN, reading=reading, engine="spark")
        assert isinstance(made, SpreadSets)
        assert made.rows == wanted.count
        assert made.items.names.to_pylist() == wanted.names.to_pylist()
        assert made.frequencies.tolist() == wanted.frequencies().tolist()
    # A frame that goes to memory is brought there as a whole, not only what is looked at.
    monkeypatch.setattr("rothko.data.source.spark.PIECE_ROWS", 3)
    assert rk.sets.read_records(as_frame(spark, baskets, 2)).count == len(baskets)
    Path("latin.txt").write_bytes("caf\xe9\n".encode("latin-1"))
    with pytest.raises(InputError, match="the text is not UTF-8"):
        prepare("latin.txt", k=2, method=EVEN, engine="spark")


def test_what_is_refused(spark: Any, lists: Lists, folder: Path) -> None:
    frame = as_frame(spark, lists[:40], 2)

    def refused(error: type[Exception], match: str, data: Any = frame, method: Any = EVEN, **given: Any) -> None:
        with pytest.raises(error, match=match):
            rk.sets.anonymize(data, method=method, **{"engine": "spark", "k": 5} | given)

    for name in ("set-two-phase", "set-cluster", "set-k1"):
        refused(PolicyError, f"{name} sees all records at once.*use set-mondrian, or engine memory", method=name)
    refused(PolicyError, "There is no engine 'rothko-t' for sets", engine="rothko-t")
    refused(PolicyError, "leave out algorithm", engine={"spark": {"algorithm": "rothko-s"}})
    refused(InputError, "takes a Spark DataFrame", data=lists)
    refused(InputError, "There is no file or folder 'nothing.txt'", data="nothing.txt")
    refused(InputError, "may be read in several ways", data=spark.range(9))
    refused(InputError, "no columns of lists; choose another form", data=spark.range(9), reading=Reading(form="list"))
    in_a_column = Reading(record="items", item="items", worth="items")
    refused(InputError, "takes no utilities from a column", reading=in_a_column)
    refused(InputError, "items have no name", data=as_frame(spark, [["a"], [" "]], 1))
    refused(InputError, "There are no records", data=frame.limit(0))
    refused(InfeasibleError, "there are 40", k=41)
    small = {"spark": {"records_at_once": 20}}
    refused(InputError, "parts of 40 records, and a task can hold 20", method="set-mondrian", engine=small)
    alike = as_frame(spark, [["a"]] * 30, 1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mondrian, "PART", 10)
        refused(InputError, "With k = 2 records are paired", data=alike, method="set-mondrian", k=2, engine=small)
    with pytest.raises(OutputError, match=r"engine spark writes .*, not \.arrow"):
        free_place("out.arrow", in_parts=True)
    assert list(folder.iterdir()) == []


def test_the_command(spark: Any, lists: Lists, folder: Path, rothko: Rothko) -> None:
    pq.write_table(pa.table({"items": pa.array(lists[:300], pa.list_(pa.string()))}), "baskets.parquet")
    asked = ("sets", "baskets.parquet", "--k", 5, "--method", "set-mondrian", "--out", "out.txt")
    ran = rothko(*asked, "--engine", "spark", "--memory", "2GB", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["engine"]["name"] == "spark"
    plain = rk.sets.anonymize(lists[:300], k=5, method="set-mondrian").to_lists()
    assert counted(line.split() for line in Path("out.txt/part-00000.txt").read_text().splitlines()) == counted(plain)
    again = rothko(*asked, "--engine", "spark")
    assert again.code == 2
    assert "exists" in again.err
    other = rothko("sets", "baskets.parquet", "--out", "out.arrow", "--engine", "spark")
    assert (other.code, "not .arrow" in other.err) == (2, True)

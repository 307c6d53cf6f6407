"""Whatever happens to a whole run on disk, nothing half-done is released, and nothing stays."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.engines.disk import run as disk
from rothko.flow import prepare
from rothko.release.staging import staging
from tests.command import Ran, Rothko
from tests.engine import ENGINES, FITS, small

ROWS = 6_000
RUNS = """
import importlib, json, os, signal, sys

from rothko import flow
from rothko.cli import main
from rothko.engines.disk import run

def to_be_ended(function, number):
    module, _, path = function.partition(":")
    *owner, name = path.split(".")
    at = importlib.import_module(module)
    for part in owner:
        at = getattr(at, part)
    whole = getattr(at, name)

    def ended(*args, **named):
        found = whole(*args, **named)
        signal.raise_signal(number)
        return found

    setattr(at, name, ended)

for line in sys.stdin:
    function, number, folder, *arguments = json.loads(line)
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        told = os.open("told", os.O_WRONLY | os.O_CREAT)
        os.dup2(told, 1)
        os.dup2(told, 2)
        to_be_ended(function, number)
        sys.argv = ["rothko", *arguments]
        main()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Commands that get a signal where a function ends, in a process of their own for each that is read."""


@pytest.fixture(scope="module")
def ended_after() -> Iterator[Callable[..., int]]:
    """Run a command in this folder, with a signal where a function ends; the exit code."""
    command = [sys.executable, "-c", RUNS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        says, hears = process.stdout, process.stdin
        assert says is not None
        assert hears is not None

        def run(function: str, number: int, *arguments: str) -> int:
            print(json.dumps([function, number, os.getcwd(), *arguments]), file=hears, flush=True)
            return int(says.readline())

        yield run
        hears.close()


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pa.Table:
    """A table, in a folder with a policy for each engine and folders for what is written."""
    monkeypatch.chdir(tmp_path)
    for name in ("out", "spill"):
        Path(name).mkdir()
    asked = (
        "columns: {a: {role: quasi-identifier}, b: {role: quasi-identifier}, s: {role: sensitive}, w: {role: keep}}\n"
        "privacy: [{k-anonymity: {k: 20}}, {distinct-l-diversity: {l: 2, of: s}}]\n"
    )
    for engine in ENGINES:
        Path(f"{engine}.yaml").write_text(f"{asked}engine: {json.dumps(small(engine))}\n")
    random = np.random.default_rng(3)
    return pa.table(
        {
            "a": random.integers(0, 500, ROWS),
            "b": random.integers(0, 90, ROWS),
            "s": pa.array(["flu", "cold", "asthma"] * (ROWS // 3)),
            "w": random.integers(0, 10**9, ROWS),
        }
    )


def arguments(source: str, engine: str, out: str = "out/release.parquet") -> list[str]:
    return ["anonymize", source, "--policy", f"{engine}.yaml", "--out", out, "--spill-dir", "spill", "--threads", "1"]


PHASES = {
    "survey": ("rothko-t", "mondrian", "rothko.engines.disk.run:survey"),
    "count": ("rothko-t", "mondrian", "rothko.engines.disk.store:count"),
    "repartition": ("rothko-t", "mondrian", "rothko.engines.disk.spilled:Writer.close"),
    "prune": ("rothko-s", "mondrian", "rothko.engines.rothko_s:prune"),
    "write": ("rothko-t", "mondrian", "rothko.release.stream:RowsFile.write"),
    "verify": ("rothko-s", "mondrian", "rothko.release.meant:verify"),
    "certify": ("rothko-t", "mondrian", "rothko.release.staging:write_content"),
    # Along a curve, in segments that fit in memory and in one that does not.
    "survey for a sample": ("rothko-s", "idistance-fast", "rothko.engines.disk.along:drawn_from"),
    "lay along the curve": ("rothko-t", "{hilbert-fast: {segment: 600}}", "rothko.engines.disk.laid:Laid.of"),
    "count segments": ("rothko-s", "{idistance: {segment: 600}}", "rothko.engines.disk.along:sums_of"),
    "group by codes": ("rothko-t", "hilbert", "rothko.engines.disk.windows:_grouped"),
    "write a window": ("rothko-s", "hilbert-fast", "rothko.release.stream:RowsFile.write"),
    "verify groups": ("rothko-t", "{idistance-fast: {segment: 600}}", "rothko.release.meant:verify"),
    "cluster a range": ("rothko-t", "{cluster: {effort: fast}}", "rothko.engines.divided:BySegment.finish_some"),
    # By counts.
    "tally": ("rothko-s", "refine", "rothko.engines.disk.counting_passes:DiskCounter.tally"),
    "refine": ("rothko-t", "refine", "rothko.engines.disk.counting_passes:refine_by_counts"),
    "recode": ("rothko-s", "refine", "rothko.release.recoder:Recoder.take"),
    "write what is recoded": ("rothko-t", "refine", "rothko.release.stream:RowsFile.write"),
    "certify what is recoded": ("rothko-t", "refine", "rothko.release.staging:write_content"),
}
"""What is going on → engine, method, and the function at whose end it is killed."""
SURVEYED = ("survey", "survey for a sample")
"""Before anything is put where the release is to be."""


def prepared(people: pa.Table, phase: str) -> tuple[str, str, str]:
    """Write the table and the policy of a phase; its engine, its method and its function."""
    pq.write_table(people, "people.parquet")
    engine, method, function = PHASES[phase]
    policy = Path(f"{engine}.yaml").read_text()
    # What is counted is not divided further: all different records over both columns must fit.
    room = policy.replace(f"{FITS}", f"{ROWS // 2}") if method == "refine" else policy
    Path(f"{engine}.yaml").write_text(f"{room}method: {method}\n")
    return engine, method, function


@pytest.mark.parametrize("phase", PHASES)
def test_a_run_that_is_killed_releases_nothing_and_the_next_start_cleans_up(
    rothko: Rothko, people: pa.Table, ended_after: Callable[..., int], phase: str
) -> None:
    engine, method, function = prepared(people, phase)
    recodes = method in ("mondrian", "refine")
    ended = ended_after(function, signal.SIGKILL, *arguments("people.parquet", engine))
    assert ended == -signal.SIGKILL, Path("told").read_text()
    assert len(os.listdir("spill")) == 1
    left = list(Path("out").iterdir())
    partial = [path for path in left if ".rothko-partial" in path.name]
    assert len(partial) == (phase not in SURVEYED)
    written = function.endswith((":verify", ":write_content"))
    assert len(left) - len(partial) == (written and recodes)  # the folder of the recoding
    for folder in (*left, *Path("spill").iterdir()):
        assert folder.is_dir()
        assert folder.stat().st_mode & 0o777 == 0o700
    if written or function.endswith(":RowsFile.write"):
        assert list(Path("out").glob(".rothko-partial*/release.parquet"))
    assert rothko(*arguments("people.parquet", engine)).code == 0
    assert {*os.listdir("out")} == {"release.parquet", "release.certificate.json", *["release-recoding"] * recodes}
    if recodes:
        assert os.listdir("out/release-recoding") == ["recoding.json"]
    assert os.listdir("spill") == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("phase", ["lay along the curve", "group by codes", "cluster a range", "recode"])
def test_a_run_that_is_stopped_leaves_nothing(
    people: pa.Table, ended_after: Callable[..., int], phase: str, number: int, code: int
) -> None:
    engine, _, function = prepared(people, phase)
    assert ended_after(function, number, *arguments("people.parquet", engine)) == code
    assert Path("told").read_text().endswith("Stopped; nothing was released.\n")
    assert os.listdir("out") == []
    assert os.listdir("spill") == []


MOVES = """
import os, signal, sys
from pathlib import Path
from rothko.release.commit import state
from rothko.release.staging import Claim, staging

def counted(step):
    def last(*args, **named):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*args, **named)
    return last

def move():
    data, *others = (Path("out") / f"release.{name}" for name in ("parquet", "certificate.json", "recoding.json"))
    stale = Path("out/release.tree.parquet")
    with staging(Claim({path: state(path) for path in (data, *others, stale)}, (stale,))) as stage:
        for path in (data, *others):
            stage.place_for(path).write_text("new")
        os.rename, os.link, Path.unlink = counted(os.rename), counted(os.link), counted(Path.unlink)
        stage.commit()

for line in sys.stdin:
    left = int(line)
    child = os.fork()
    if child == 0:
        move()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
"""Files that are moved into place, by a process of their own for each n that is read; killed before the n-th step."""
RELEASED = {f"release.{name}" for name in ("parquet", "certificate.json", "recoding.json")}


@pytest.fixture
def killed_at(people: pa.Table) -> Iterator[Callable[[int], int]]:
    """Move files into place, but for a kill before the n-th step; the exit code."""
    command = [sys.executable, "-c", MOVES]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        says, hears = process.stdout, process.stdin
        assert says is not None
        assert hears is not None

        def move(step: int) -> int:
            print(step, file=hears, flush=True)
            return int(says.readline())

        yield move
        hears.close()


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_kill_between_two_moves_leaves_no_data_without_what_vouches_for_it(
    killed_at: Callable[[int], int], overwrite: bool
) -> None:
    seen = []
    for step in range(1, 30):
        for path in Path("out").iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name in (*RELEASED, "release.tree.parquet") if overwrite else ():
            Path("out", name).write_text("old")
        ended = killed_at(step)
        there = {path.name: path.read_text() for path in Path("out").iterdir() if path.is_file()}
        data = there.get("release.parquet")
        if data is not None:
            assert {there[name] for name in RELEASED} == {data}
            assert ("release.tree.parquet" in there) == (data == "old")
        seen.append(data)
        if ended == 0:
            break
        assert ended == -signal.SIGKILL
    # The older release, or none; no data while files are moved; the release, while the private folder is removed too.
    assert len(seen) > (7 if overwrite else 3)
    assert [there for there, _ in itertools.groupby(seen)] == [*(["old"] if overwrite else []), None, "new"]


class Stop(BaseException):
    """Anything that may go wrong between two moves."""


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("engine", ["memory", "rothko-t", "stored"])
def test_every_release_moves_its_data_last_and_leaves_all_as_it_was_if_that_fails(
    people: pa.Table, monkeypatch: pytest.MonkeyPatch, engine: str, overwrite: bool
) -> None:
    def saved(records: pa.Table) -> None:
        chosen = "rothko-t" if engine == "stored" else engine
        if engine == "stored":
            with rk.anonymize(records, f"{chosen}.yaml") as release:
                release.save("out/release.parquet", overwrite=overwrite)
        else:
            prepare(records, f"{chosen}.yaml").save("out/release.parquet", overwrite=overwrite)

    def there() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in Path("out").rglob("*") if path.is_file()}

    def link_some(source: Path, target: Path, **named: Any) -> None:
        nonlocal left
        moved.append(Path(target).name)
        left -= 1
        if left == 0:
            raise Stop
        link(source, target, **named)

    if overwrite:
        saved(people.slice(0, 3000))
    before, link = there(), os.link
    for moves in range(1, 5):
        left, moved = moves, []
        with monkeypatch.context() as patched:
            patched.setattr("rothko.release.commit.os.link", link_some)
            if moves <= len(RELEASED):
                with pytest.raises(Stop):
                    saved(people)
                assert there() == before
            else:
                saved(people)
    assert moved == ["recoding.json", "release.certificate.json", "release.parquet"]
    assert {*os.listdir("out")} == {"release.parquet", "release.certificate.json", "release-recoding"}
    told = json.loads(Path("out/release.certificate.json").read_text())
    digest = hashlib.sha256(Path("out/release.parquet").read_bytes()).hexdigest()
    assert told["file_sha256"] == told["files"]["release.parquet"] == digest
    recoding = hashlib.sha256(Path("out/release-recoding/recoding.json").read_bytes()).hexdigest()
    assert told["recoding"] == {"recoding.json": recoding}


def test_two_may_write_to_one_folder(tmp_path: Path) -> None:
    with staging() as one, staging() as other:
        for stage, text in ((one, "one"), (other, "other")):
            stage.place_for(tmp_path / text).write_text(text)
        assert len(list(tmp_path.iterdir())) == 2
        one.commit()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["one"]


def test_what_is_written_has_the_usual_mode(rothko: Rothko, people: pa.Table) -> None:
    pq.write_table(people, "people.parquet")
    assert rothko(*arguments("people.parquet", "rothko-t", "new")).code == 0
    Path("usual").touch()
    assert {path.stat().st_mode for path in Path("new").iterdir()} == {Path("usual").stat().st_mode}
    # The recoding is nobody else's.
    assert Path("new-recoding").stat().st_mode & 0o777 == 0o700
    assert Path("new-recoding/recoding.json").stat().st_mode & 0o777 == 0o600


# ------------------------------------------------------------------------------------------------------- bad sources


def refused(ran: Ran) -> str:
    assert ran.code == 2, ran.err
    assert os.listdir("out") == []
    assert os.listdir("spill") == []
    return ran.err


@pytest.mark.parametrize("size", [0.5, 0.999])
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_that_is_cut_short(rothko: Rothko, people: pa.Table, disk_engine: str, ending: str, size: float) -> None:
    path = Path(f"people.{ending}")
    {"parquet": pq.write_table, "arrow": feather.write_feather}[ending](people, path)
    os.truncate(path, int(path.stat().st_size * size))
    assert "cut short" in refused(rothko(*arguments(path.name, disk_engine)))


def test_a_parquet_file_whose_last_rows_are_damaged(rothko: Rothko, people: pa.Table, disk_engine: str) -> None:
    pq.write_table(people, "people.parquet", row_group_size=1000, use_dictionary=False)
    last = pq.read_metadata("people.parquet").row_group(5).column(0)
    with open("people.parquet", "r+b") as file:
        file.seek(last.data_page_offset)
        file.write(b"\xff" * 64)
    assert "damaged" in refused(rothko(*arguments("people.parquet", disk_engine)))


@pytest.mark.parametrize("line", ["1,2,flu\n", "1,2,flu,3,4\n", '1,2,"flu,3\n'])
def test_a_csv_file_that_is_ragged_in_its_last_block(
    rothko: Rothko, people: pa.Table, disk_engine: str, line: str
) -> None:
    many = pa.concat_tables([people] * 50)  # more than what is looked at to find the dialect
    pcsv.write_csv(many, "people.csv")
    with open("people.csv", "a") as file:
        file.write(line)
    refused(rothko(*arguments("people.csv", disk_engine)))


def swapped(people: pa.Table) -> pa.Table:
    """The same values in every column, in other records."""
    return people.set_column(0, "a", people["a"].take(pa.array(range(ROWS - 1, -1, -1))))


CHANGES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "shorter": lambda people: people.slice(10),
    "swapped": swapped,
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_a_file_that_changes_between_passes(
    rothko: Rothko, people: pa.Table, monkeypatch: pytest.MonkeyPatch, disk_engine: str, ending: str, change: str
) -> None:
    write: Any = {"parquet": pq.write_table, "csv": pcsv.write_csv, "arrow": feather.write_feather}[ending]
    survey = disk.survey

    def then_changed(*args: Any, **named: Any) -> Any:
        found = survey(*args, **named)
        write(CHANGES[change](people), f"people.{ending}")
        return found

    write(people, f"people.{ending}")
    monkeypatch.setattr(disk, "survey", then_changed)
    assert "has changed while it was read" in refused(rothko(*arguments(f"people.{ending}", disk_engine)))


def test_a_file_that_is_removed_between_passes(
    rothko: Rothko, people: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = disk.survey

    def then_removed(*args: Any, **named: Any) -> Any:
        found = survey(*args, **named)
        Path("people.parquet").unlink()
        return found

    pq.write_table(people, "people.parquet")
    monkeypatch.setattr(disk, "survey", then_removed)
    assert "people.parquet is gone while it was read" in refused(rothko(*arguments("people.parquet", "rothko-t")))


# -------------------------------------------------------------------------------------------------------- full disks


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from rothko.cli import main
main()
"""


@pytest.mark.parametrize("method", ["mondrian", "hilbert-fast", "refine"])
def test_a_disk_that_fills_up(people: pa.Table, disk_engine: str, method: str) -> None:
    if method != "mondrian" and disk_engine == "rothko-s":
        pytest.skip("both engines do the same")
    with Path(f"{disk_engine}.yaml").open("a") as file:
        file.write(f"method: {method}\n")
    # Files may not grow beyond 20 kB: a write is cut short and the next one fails, as on a full disk.
    pq.write_table(people.set_column(3, "w", pa.array(["x" * 90] * ROWS)), "people.parquet")
    command = [sys.executable, "-c", LIMITED, *arguments("people.parquet", disk_engine)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.startswith("Error: The file system of the spill folder is too small")
    assert os.listdir("out") == []
    assert os.listdir("spill") == []

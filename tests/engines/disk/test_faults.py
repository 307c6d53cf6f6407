"""However a process ends, nothing is left of what it spilled, at the latest after the next start."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rothko.engines.disk.spill import Spill
from rothko.errors import OutputError

SCHEMA = pa.schema({"a": pa.int64()})
MEGABYTE = pa.table({"a": np.arange(1 << 17)})

START = """
import sys, time
from pathlib import Path
import numpy as np, pyarrow as pa
from rothko.engines.disk.spill import Spill

folder = Path(sys.argv[1])
megabyte = pa.table({"a": np.arange(1 << 17)})

def fill(spill, most=40):
    table = spill.table(megabyte.schema)
    for i in range(most):
        table.write(megabyte)
        if i == 3:
            print("ready", flush=True)
    return table
"""
COMMAND = """
from rothko import cli

def spill(place: Path) -> None:
    with Spill.open(place) as opened:
        {body}

application = cli.application

def with_spill(*names):
    app = application(*names)
    app.command("spill")(spill)
    return app

cli.application = with_spill
sys.argv = ["rothko", "spill", str(folder)]
cli.main()
"""
FILL_AND_WAIT = "fill(opened); time.sleep(60)"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that end with the test."""
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        process.kill()
        process.communicate()


def start(started: list[subprocess.Popen[str]], script: str, folder: Path) -> subprocess.Popen[str]:
    """Run a script in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", START + script, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    started.append(process)
    return process


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said == "ready\n", process.communicate()[1]


def data_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.05])
def test_a_killed_process_is_cleaned_up_after_by_the_next_start(
    tmp_path: Path, started: list[subprocess.Popen[str]], delay: float
) -> None:
    process = start(started, "with Spill.open(folder) as spill: fill(spill, 10**6)", tmp_path)
    ready(process)
    time.sleep(delay)
    process.kill()
    process.wait()
    assert data_files(tmp_path)
    with Spill.open(tmp_path) as spill:
        assert list(tmp_path.iterdir()) == [spill.folder]
    assert not any(tmp_path.iterdir())


def test_a_live_process_keeps_its_folder(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    script = """
with Spill.open(folder) as spill:
    table = fill(spill)
    input()
    print(sum(batch.num_rows for batch in table.batches()), flush=True)
"""
    process = start(started, script, tmp_path)
    ready(process)
    theirs = list(tmp_path.iterdir())
    with Spill.open(tmp_path) as spill:
        assert sorted(tmp_path.iterdir()) == sorted([*theirs, spill.folder])
    assert list(tmp_path.iterdir()) == theirs
    said, errors = process.communicate("\n")
    assert said == f"{40 << 17}\n", errors
    assert not any(tmp_path.iterdir())


def test_two_processes_at_once(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    script = """
for _ in range(10):
    with Spill.open(folder) as spill:
        table = fill(spill, 3)
        assert sum(pa.compute.sum(batch["a"]).as_py() for batch in table.batches()) == 3 * sum(range(1 << 17))
"""
    for process in [start(started, script, tmp_path) for _ in range(3)]:
        assert process.communicate()[1] == ""
        assert process.returncode == 0
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("body", [FILL_AND_WAIT, "fill(opened, 10**6)"], ids=["waiting", "writing"])
def test_the_command_cleans_up_when_it_is_stopped(
    tmp_path: Path, started: list[subprocess.Popen[str]], number: int, code: int, body: str
) -> None:
    process = start(started, COMMAND.format(body=body), tmp_path)
    ready(process)
    assert any(tmp_path.iterdir())
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert errors == "Stopped; nothing was released.\n"
    assert process.returncode == code
    assert not any(tmp_path.iterdir())


ENDINGS = {
    "outlives": "spill = Spill.open(folder); fill(spill)",
    "kept open": "with Spill.open(folder) as spill: spill.keep_open(); table = fill(spill)",
    "exit": "spill = Spill.open(folder); fill(spill); sys.exit(0)",
    "error": "spill = Spill.open(folder); fill(spill); raise ValueError",
    "cycle": "spill = Spill.open(folder); table = fill(spill); table.itself = [table]; spill.table_ = table; del spill",
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_end_of_the_interpreter_removes_what_is_left(
    tmp_path: Path, started: list[subprocess.Popen[str]], ending: str
) -> None:
    process = start(started, ENDINGS[ending], tmp_path)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == (ending == "error"), errors
    assert not any(tmp_path.iterdir())


def test_a_forked_child_leaves_its_parents_files(tmp_path: Path, started: list[subprocess.Popen[str]]) -> None:
    script = """
import os
with Spill.open(folder) as spill:
    table = fill(spill)
    child = os.fork()
    if child == 0:
        spill.close()
        sys.exit(0)
    os.waitpid(child, 0)
    print(sum(batch.num_rows for batch in table.batches()))
"""
    process = start(started, script, tmp_path)
    said, errors = process.communicate(timeout=30)
    assert said == f"ready\n{40 << 17}\n", errors
    assert not any(tmp_path.iterdir())


# --------------------------------------------------------------------------------------------------------- full disks


def test_a_full_disk_tells_how_much_is_needed(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")

    def work() -> None:
        with Spill.open(tmp_path) as spill:
            spill.require(50_000_000)
            first, second = spill.table(SCHEMA), spill.table(SCHEMA)
            first.write(MEGABYTE)
            (spill.folder / "2").symlink_to("/dev/full")
            second.write(MEGABYTE)

    with pytest.raises(OutputError) as caught:
        work()
    assert re.fullmatch(
        r"The file system of the spill folder is too small or its quota is used up: 1\.0 MB were written, \S+ [kMGT]B "
        r"are free and about 50\.0 MB are needed; nothing was released\. "
        r"Name a folder with more room with spill_dir=…\.",
        str(caught.value),
    )
    assert not any(tmp_path.iterdir())


def test_a_disk_that_is_too_small_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**9, 9 * 10**8, 10**8))
    with Spill.open(tmp_path) as spill:
        spill.require(10**8)
        with pytest.raises(OutputError, match=r"0 bytes were written, 100\.0 MB are free and about 3\.0 TB are needed"):
            spill.require(3 * 10**12)


@pytest.mark.parametrize("needed", [0, 80_000_000])
def test_the_command_ends_with_2_when_files_may_not_grow(
    tmp_path: Path, started: list[subprocess.Popen[str]], needed: int
) -> None:
    # The system limits files to 3 MB, so a write is cut short and the next one fails, as on a full disk.
    body = f"opened.require({needed}); fill(opened)"
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))\n"
    process = start(started, script + COMMAND.format(body=body), tmp_path)
    said, errors = process.communicate(timeout=30)
    assert (process.returncode, said) == (2, "")
    assert errors.startswith("Error: The file system of the spill folder is too small")
    assert "3.0 MB were written" in errors
    assert ("about 80.0 MB are needed" in errors) == bool(needed)
    assert "--spill-dir" in errors
    assert os.sep not in errors
    assert not any(tmp_path.iterdir())


def test_a_folder_that_somebody_removed_is_said_without_its_name(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as spill:
        table = spill.table(SCHEMA)
        table.write(MEGABYTE)
        for file in spill.folder.iterdir():
            file.unlink()
        spill.folder.rmdir()
        with pytest.raises(OutputError, match="it was removed") as caught:
            list(table.batches())
        assert str(tmp_path) not in str(caught.value)
        with pytest.raises(OutputError, match="it was removed"):
            spill.table(SCHEMA).write(MEGABYTE)


def test_a_file_that_was_cut_short_is_not_taken_for_all_of_it(tmp_path: Path) -> None:
    with Spill.open(tmp_path) as spill:
        table = spill.table(SCHEMA)
        table.write(MEGABYTE)
        os.truncate(spill.folder / "1", 100_000)
        with pytest.raises(OutputError, match="the disk fails"):
            list(table.batches())

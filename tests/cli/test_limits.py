"""``ulimit -v``: too little address space ends in exit code 2 and one sentence, never in a traceback or a crash."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from rothko.cli import limits
from rothko.comparison.trials import why
from rothko.errors import InputError, lacks_memory
from rothko.progress import count_threads

LEAST = limits.NEEDED + limits.EACH_CORE * count_threads(None)
COMMANDS = {
    "anonymize": "anonymize people.csv --qi age --sensitive disease --k 2 --out out.parquet",
    "check": "check people.csv --qi age --sensitive disease --k 2",
    "compare": "compare people.csv --qi age --sensitive disease --k 2,3",
    "sets": "sets baskets.txt --k 2 --out out.txt",
    "draft": "draft people.csv",
}


def limited(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def run(folder: Path, size: int, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "people.csv").write_text("age,disease\n" + "".join(f"{i % 9},{'ab'[i % 2]}\n" for i in range(90)))
    (folder / "baskets.txt").write_text("tea bread\nmilk tea\n" * 9)
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder, preexec_fn=limited(size), capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


MAIN = "from rothko.cli import main; main()"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("size", [300_000_000, LEAST - 1])
def test_a_hopeless_limit_is_refused_before_anything_is_loaded(command: str, size: int, tmp_path: Path) -> None:
    ran = run(tmp_path, size, MAIN, *COMMANDS[command].split())
    assert ran.returncode == 2
    assert ran.stderr.startswith("Error: The address space of this process is limited to ")
    assert ran.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["baskets.txt", "people.csv"]


def test_a_limit_that_is_nearly_enough_ends_in_order(tmp_path: Path) -> None:
    ran = run(tmp_path, LEAST + 10_000_000, MAIN, *COMMANDS["anonymize"].split())
    assert ran.returncode in (0, 2), ran.stderr
    assert ran.returncode == 0 or ran.stderr.splitlines()[-1].startswith("Error: "), ran.stderr


@pytest.mark.parametrize(("ending", "code"), [("os.abort()", 2), ("os.kill(os.getpid(), 11)", 2), ("os._exit(4)", 4)])
def test_the_end_of_the_child_is_told(ending: str, code: int, tmp_path: Path) -> None:
    ran = run(tmp_path, LEAST, f"import os\nfrom rothko.cli.limits import keep_address_space as k\nk()\n{ending}")
    assert ran.returncode == code
    assert ran.stderr.startswith("Error: the process ran out of address space, which is limited to") == (code == 2)
    assert ran.stderr.count("\n") == (code == 2)


def test_a_signal_is_passed_on(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\nfrom rothko.cli import limits\nlimits.keep_address_space()\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\nprint('there', flush=True)\ntime.sleep(60)"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, preexec_fn=limited(LEAST), stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "there\n"
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(30) == 143


def test_without_a_limit_there_is_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("a child"))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    limits.keep_address_space()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_000_000_000, resource.RLIM_INFINITY))
    with pytest.raises(InputError, match=r"limited to 1\.0 GB"):
        limits.keep_address_space()


def test_what_says_that_memory_ran_out() -> None:
    with pytest.raises(MemoryError) as array:
        np.empty(1 << 60, dtype=np.uint8)
    with pytest.raises(MemoryError) as arrow:
        pa.allocate_buffer(1 << 60)
    with (
        pytest.raises(duckdb.OutOfMemoryException) as sql,
        duckdb.connect(config={"memory_limit": "1MB"}) as connection,
    ):
        connection.execute("SET temp_directory = ''; SELECT list(i) FROM range(10000000) t(i)")
    wrapped = ValueError("x")
    wrapped.__cause__ = MemoryError()
    for error in (
        array.value, arrow.value, sql.value, wrapped, OSError(errno.ENOMEM, "mmap"),
        RuntimeError("can't start new thread"), ImportError("lib.so: failed to map segment from shared object"),
    ):  # fmt: skip
        assert lacks_memory(error)
        assert why(error) == ("It does not fit in memory.", 2)
    for error in (ValueError("x"), OSError(errno.ENOSPC, "full"), RuntimeError("x"), ImportError("no such module")):
        assert not lacks_memory(error)

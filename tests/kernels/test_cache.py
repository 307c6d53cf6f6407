"""Where compiled kernels are kept, what becomes of them where they cannot be, and that a run tells of compiling."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

import rothko
from rothko import kernels
from rothko.kernels import loading
from tests.rights import as_others, can_be_locked

PROGRAM = """
import numpy as np
from rothko.kernels import text
out = np.zeros(1, dtype=np.int64)
data = np.frombuffer(b"42", dtype=np.uint8)
assert text.parse_integers(np.array([0, 2], dtype=np.int32), data, np.array([True]), out)
assert out[0] == 42
print(text.parse_integers.stats.cache_path, sum(text.parse_integers.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package without what was compiled, and a home in which nothing can be written."""
    if not can_be_locked(tmp_path):
        pytest.skip("permissions mean nothing here")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(rothko.__file__).parent, tmp_path / "src" / "rothko", ignore=ignored)
    (tmp_path / "home").mkdir(mode=0o500)
    return tmp_path / "src"


class Ran(NamedTuple):
    kept: Path
    taken: bool
    """Whether it was compiled before."""
    said: str


FULL = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
"""No file can grow, as on a full disk."""


def run(package: Path, before: str = "", **more: str) -> Ran:
    temporary = package.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(package.parent / "home"), "PYTHONPATH": str(package),
        "TMPDIR": str(temporary),
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-B", "-c", f"{before}\n{PROGRAM}"],
        env=environment | more, preexec_fn=as_others, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    path, hits = ran.stdout.rsplit(maxsplit=1)
    return Ran(Path(path), hits == "1", ran.stderr)


def lock(folder: Path) -> None:
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        place.chmod(0o500)


def test_beside_the_kernels_until_one_of_them_changes(package: Path) -> None:
    beside = package / "rothko" / "kernels" / "__pycache__"
    first = run(package)
    assert first.kept.is_relative_to(beside)
    assert (first.taken, first.said) == (False, "")
    assert run(package).taken
    with (package / "rothko" / "kernels" / "boxes.py").open("a") as other:  # the kernel that is called does not change
        other.write("# changed\n")
    second = run(package)
    assert second.kept != first.kept
    assert not second.taken
    assert not first.kept.exists()


def test_a_read_only_package_and_no_home(package: Path) -> None:
    lock(package)
    first = run(package)
    assert first.kept.is_relative_to(package.parent / "tmp")
    assert first.said.count("compiled code is kept in") == 1
    assert "NUMBA_CACHE_DIR" in first.said
    assert not first.kept.parent.parent.stat().st_mode & 0o077
    assert run(package).taken


def test_a_disk_that_is_full(package: Path) -> None:
    """A kernel is run although it cannot be kept, and kept by the next process that can."""
    assert [run(package, before).taken for before in (FULL, FULL, "", "")] == [False, False, False, True]


def test_what_others_can_write_is_not_run(package: Path) -> None:
    lock(package)
    kept = run(package).kept
    parts = kept.relative_to(package.parent / "tmp").parts
    (package.parent / "tmp" / parts[0]).chmod(0o777)
    again = run(package)
    assert not again.taken
    assert "compiled anew by each process" in again.said
    assert not again.kept.exists()


def test_a_read_only_package_and_a_place_of_the_users(package: Path, tmp_path: Path) -> None:
    lock(package)
    for variable, place in (("XDG_CACHE_HOME", tmp_path / "theirs"), ("NUMBA_CACHE_DIR", tmp_path / "mine")):
        place.mkdir()
        ran = run(package, **{variable: str(place)})
        assert ran.kept.is_relative_to(place)
        assert ran.said == ""


@pytest.mark.parametrize("home", ["~", "."])
def test_nothing_is_kept_or_run_where_the_program_happens_to_run(package: Path, home: str) -> None:
    """Who has no home has ~ for one, a folder of the working directory, where anybody may have put code."""
    lock(package)
    ran = run(package, HOME=home)
    assert ran.kept.is_relative_to(package.parent / "tmp")


def test_an_image_that_was_warmed_by_its_builder(package: Path) -> None:
    """What was compiled before the package was locked is taken, though nothing can be added there."""
    run(package)
    lock(package)
    ran = run(package)
    assert ran.taken
    assert ran.kept.is_relative_to(package.parent / "tmp")


def test_two_processes_never_write_to_the_same_file(package: Path) -> None:
    """They may compile one function for different types at the same time."""
    cache = run(package).kept
    [index] = cache.glob("text.parse_integers*.nbi")
    first = set(cache.glob("text.parse_integers*.nbc"))
    index.unlink()  # as a process sees it that began before the other wrote
    run(package)
    assert len(first) == 1
    assert len(set(cache.glob("text.parse_integers*.nbc")) - first) == 1


AT_ONCE = """
import sys, time
import numpy as np
from numba.core.caching import IndexDataCacheFile
from rothko.kernels.lookup import count_values

load = IndexDataCacheFile._load_index
IndexDataCacheFile._load_index = lambda self: (load(self), time.sleep(0.3))[0]  # so others see the same
values, counts = (np.zeros(3, dtype=word) for word in sys.argv[1:])
count_values(values, np.zeros(0, dtype=np.bool_), 0, counts)
print(sum(count_values.stats.cache_hits.values()))
"""


def test_processes_that_compile_a_kernel_at_once_all_keep_what_they_made(package: Path) -> None:
    kinds = [(values, counts) for values in ("int32", "int64") for counts in ("int32", "int64")]

    def hits() -> list[int]:
        running = [
            subprocess.Popen(
                [sys.executable, "-c", AT_ONCE, *kind],
                env=os.environ | {"PYTHONPATH": str(package)}, stdout=subprocess.PIPE, text=True,
            )
            for kind in kinds
        ]  # fmt: skip
        return [int(process.communicate(timeout=120)[0]) for process in running]

    assert hits() == [0, 0, 0, 0]
    assert hits() == [1, 1, 1, 1]


def test_who_died_holding_an_index_holds_it_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PATIENCE", 0.05)
    (tmp_path / "kernel.held").touch()
    with loading.alone(tmp_path / "kernel.nbi"):
        assert (tmp_path / "kernel.held").exists()
    assert not any(tmp_path.iterdir())


COLD = """
import sys
from numba.core import event
import rothko as rk
from rothko.generate.census import census, census_policy

class Compiled(event.Listener):
    def on_start(self, event):
        kernel = event.data["dispatcher"].py_func
        names.append(f"{kernel.__module__}.{kernel.__name__}".removeprefix("rothko.kernels."))
    def on_end(self, event):
        pass

names, told = [], []
event.register("numba:compile", Compiled())
rk.anonymize(census(200), census_policy(k=5), progress=lambda *said: told.append(said))
print(sorted({name for name in names if not name.startswith("numba")}))
print([(done, total) for stage, done, total in told if stage == "compile"])
"""


def test_what_is_not_asked_for_is_not_compiled_and_the_rest_is_told(package: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", COLD],
        env=os.environ | {"PYTHONPATH": str(package)}, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    names, told = map(ast.literal_eval, ran.stdout.splitlines())
    assert "mondrian.median.choose" in names
    unasked = "rules.", "mondrian.gain.", "mondrian.target_cells.", "mondrian.selection."
    of_rules = [name for name in names if name.startswith(unasked)]
    assert of_rules == ["rules.widest"]
    assert "mondrian.allowed.keep_allowed" not in names
    assert told[0][0] == 0
    assert all(done <= total for done, total in told)
    assert told[-1][0] == told[-1][1] >= 20
    assert [total for _, total in told] == sorted(total for _, total in told)


def test_kernels_that_threads_import_at_once_are_kept_in_one_folder() -> None:
    def function(x: int) -> int:
        return x

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: kernels.compiled(function), range(200)))
    kept = {str(Path(kernel._cache._cache_path).parent) for kernel in made}
    assert kept == {str(kernels.KEPT_IN)}

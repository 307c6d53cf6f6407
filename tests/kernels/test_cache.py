"""Where compiled kernels are kept, and what becomes of them where they cannot be: a run goes on, with no old code."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import rothko

PROGRAM = """
import numpy as np
from rothko.kernels import text
out = np.zeros(1, dtype=np.int64)
data = np.frombuffer(b"42", dtype=np.uint8)
assert text.parse_integers(np.array([0, 2], dtype=np.int32), data, np.array([True]), out)
assert out[0] == 42
print(text.parse_integers.stats.cache_path)
"""


def as_others() -> None:
    """Give up root's right to write where permissions forbid it (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH)."""
    if os.geteuid() == 0:
        for right in (1, 2):
            ctypes.CDLL(None).prctl(24, right, 0, 0, 0)


def can_be_locked(folder: Path) -> bool:
    place = folder / "locked"
    place.mkdir(mode=0o500)
    program = f"open({str(place / 'x')!r}, 'w')"
    tried = subprocess.run([sys.executable, "-c", program], preexec_fn=as_others, capture_output=True, check=False)
    return tried.returncode != 0


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package without what was compiled, and a home in which nothing can be written."""
    if not can_be_locked(tmp_path):
        pytest.skip("permissions mean nothing here")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(rothko.__file__).parent, tmp_path / "src" / "rothko", ignore=ignored)
    (tmp_path / "home").mkdir(mode=0o500)
    return tmp_path / "src"


def run(package: Path, **more: str) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(package.parent / "home"), "PYTHONPATH": str(package)} | more
    ran = subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM],
        env=environment, preexec_fn=as_others, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def stale(package: Path, family: str = "", name: str = "text.parse_integers-13.py311.nbi") -> Path:
    """An index that is older than the kernels, as an update leaves it."""
    cache = package / "rothko" / "kernels" / family / "__pycache__"
    cache.mkdir()
    old = cache / name
    old.write_bytes(b"old")
    os.utime(old, (1, 1))
    return old


def lock(folder: Path) -> None:
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        place.chmod(0o500)


def test_old_code_is_dropped(package: Path) -> None:
    old = stale(package)
    assert run(package) == str(old.parent)
    assert not old.exists() or old.read_bytes() != b"old"


def test_old_code_of_a_family_is_dropped(package: Path) -> None:
    old = stale(package, "mondrian", "descend.descend-9.py311.nbi")
    run(package)
    assert not old.exists()


def test_a_read_only_package_and_no_home(package: Path) -> None:
    old = stale(package)
    lock(package)
    assert run(package) == "None"
    assert old.read_bytes() == b"old"


def test_a_read_only_package_and_a_place_of_the_users(package: Path, tmp_path: Path) -> None:
    stale(package)
    lock(package)
    (tmp_path / "mine").mkdir()
    assert run(package, NUMBA_CACHE_DIR=str(tmp_path / "mine")).startswith(str(tmp_path / "mine"))
    assert list((tmp_path / "mine").rglob("*.nbi"))


def test_old_code_that_cannot_be_removed_is_not_taken(package: Path) -> None:
    old = stale(package)
    old.unlink()
    old.mkdir()  # nobody can unlink a folder
    os.utime(old, (1, 1))
    assert run(package) == "None"


def test_two_processes_never_write_to_the_same_file(package: Path) -> None:
    """They may compile one function for different types at the same time."""
    run(package)
    cache = package / "rothko" / "kernels" / "__pycache__"
    [index] = cache.glob("text.parse_integers*.nbi")
    first = set(cache.glob("text.parse_integers*.nbc"))
    index.unlink()  # as a process sees it that began before the other wrote
    run(package)
    assert len(first) == 1
    assert len(set(cache.glob("text.parse_integers*.nbc")) - first) == 1

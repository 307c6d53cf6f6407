"""Compiling ahead."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rothko import warm
from rothko.errors import InputError
from rothko.kernels import KEPT_IN
from rothko.methods import METHODS
from rothko.methods.cluster import search
from rothko.sets.methods import SET_METHODS
from tests.command import Rothko


def test_every_method_has_a_recipe() -> None:
    assert {recipe.split(" ")[0] for recipe in warm.recipes()} == {*METHODS, *SET_METHODS}
    assert {"mondrian rothko-t", "mondrian classify", "mondrian diversity"} <= set(warm.recipes(["mondrian"]))


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'cluster'"):
        warm.recipes(["clusters"])


def test_it_compiles_in_processes_of_its_own(rothko: Rothko, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(warm, "recipes", lambda methods: ["set-mondrian sets"])
    done = rothko("warm", "--method", "set-mondrian")
    assert done.code == 0
    assert "set-mondrian" in done.out
    assert any(name.endswith(".nbi") for _, _, names in os.walk(tmp_path) for name in names)
    assert str(KEPT_IN) in done.out


def test_what_goes_wrong_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "recipes", lambda methods: ["nothing k"])
    with pytest.raises(RuntimeError, match="nothing"):
        warm.warm()


def test_cluster_searches_as_in_a_large_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels of prices are used above 10,000 records: an image that was warmed has them all the same."""
    passes = []
    monkeypatch.setattr(search, "near_anew", lambda tuples, entries, *rest, **more: passes.append(1) or entries)
    warm.run("cluster k")
    assert passes


KNOWN = """
import sys
import rothko as rk
from numba.core.dispatcher import Dispatcher
from rothko import warm
from rothko.generate.census import census_policy

def compiled():
    kernels = (one for name, module in list(sys.modules.items()) if name.startswith("rothko.kernels")
               for one in vars(module).values() if isinstance(one, Dispatcher))
    return {(kernel.py_func.__name__, str(types)) for kernel in kernels for types in kernel.overloads}

METHODS = ("mondrian", "refine", "hilbert", "idistance-fast")
for recipe in ("mondrian k", *(f"{method} rothko-s" for method in METHODS)):
    warm.run(recipe)
known = compiled()
for method in METHODS:
    some = 20_000 if method == "refine" else 8_000
    policy = census_policy(k=500).but(method=method, engine={"rothko-s": {"records_at_once": some}})
    rk.anonymize(sys.argv[1], policy, memory="600MB")
    print(method, sorted(compiled() - known))
"""


@pytest.mark.long
def test_what_is_warm_on_disk_compiles_nothing_more(rothko: Rothko, tmp_path: Path) -> None:
    """Files of other types, with columns of other ranges, go through the same kernels."""
    people = tmp_path / "people.parquet"
    assert rothko("generate", "census", "-n", "60000", "-o", str(people)).code == 0
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KNOWN, str(people)],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert {line.partition(" ")[2] for line in ran.stdout.splitlines()} == {"[]"}, ran.stdout

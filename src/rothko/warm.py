"""Compiling ahead, for images, executors and the impatient: small runs of methods, in processes of their own.

A kernel is compiled by its first call with some types of arguments, so the sure way to compile what a run will need is
a run. In memory these are of two hundred made-up records, with a quasi-identifier of every kind that goes a way of its
own; on disk of so many that they go through it in parts. Methods have little in common, and so each core has one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rothko.errors import InputError, PolicyError, nearest
from rothko.progress import Progress, count_threads, silent

if TYPE_CHECKING:
    import pyarrow as pa

    from rothko.policy.policy import Policy

RECORDS = 200
ON_DISK = 70_000
"""Records of a run on disk: more than are sorted or given keys in one piece,"""
AT_ONCE = 30_000
"""fewer of them in memory at once,"""
K_ON_DISK = 1_000
"""classes so large that refine is told them apart by fewer still,"""
MEMORY = "600MB"
"""and no more memory than there may be where images are built."""
ASKED: dict[str, dict[str, Any]] = {
    "k": {},
    "diversity": {"privacy": [{"frequency-l-diversity": {"l": 2, "of": "occupation"}}]},
    "others": {"privacy": [{"k-anonymity": {"k": 5}}, {"entropy-l-diversity": {"l": 2, "of": "occupation"}}]},
    "classify": {"workload": [{"classify": {"target": "salary_class"}}]},
    "select": {"workload": [{"select": {"where": "age between 30 and 50"}}]},
    "rothko-t": {"engine": {"rothko-t": {"records_at_once": AT_ONCE}}},
    "rothko-s": {"engine": {"rothko-s": {"records_at_once": AT_ONCE}}},
}
"""What is asked of a method beside k, for what is compiled for that alone."""
AS: dict[str, Any] = {"cluster": {"cluster": {"seconds": 600}}}
"""Options of methods that go a shorter way in small tables: cluster searches as in a large one, and ends by itself."""
QUICKLY: dict[str, Any] = {"cluster": {"cluster": {"effort": "fast"}}}
"""Options of methods that would take long on disk, and have compiled in memory what they do there."""
PEOPLE = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
"""Quasi-identifiers of the people of a run on disk."""
MORE = ("town", "income", "number")
"""Those of a run in memory beside the census's: labels without a hierarchy, decimals, and whole numbers far apart."""
SETS = [["a", "b"], ["a", "c"], ["b", "c", "d"], ["d", "e"], ["a", "e", "f"]] * 12


def recipes(methods: Iterable[str] | None = None) -> list[str]:
    """The small runs that compile what some methods need, all by default: method and what is asked of it.

    >>> recipes(["hilbert"])
    ['hilbert k', 'hilbert diversity', 'hilbert others', 'hilbert rothko-t', 'hilbert rothko-s']
    """
    from rothko.methods import METHODS
    from rothko.sets.methods import SET_METHODS

    known = [*METHODS, *SET_METHODS]
    found = []
    for method in known if methods is None else methods:
        if method not in known:
            raise InputError(f"{method!r} is not a method; {nearest(method, known)}")
        if method in SET_METHODS:
            found.append(f"{method} sets")
            continue
        for asked in ASKED:
            try:
                policy = _policy(method, asked)
                policy.method.check(policy)
                if policy.engine.name == asked:
                    policy.engine.check(policy, "")
            except PolicyError:
                continue
            found.append(f"{method} {asked}")
    return found


def run(recipe: str) -> None:
    """Make a small release."""
    import pyarrow.parquet as pq
    from pyarrow.csv import write_csv

    from rothko import sets
    from rothko.flow import prepare
    from rothko.generate.agrawal import agrawal
    from rothko.release.formats.csv_lines import lines_once

    method, asked = recipe.split(" ")
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if asked == "sets":
            sets.anonymize(SETS, k=3, method=method).save(Path(folder) / "sets.txt")
            return
        policy, path = _policy(method, asked), Path(folder) / "people.csv"
        write_csv(_people(), path)
        lines_once(path)  # verifies files whose lines repeat; those of so few records do not
        if policy.engine.name == asked:
            path = path.with_suffix(".parquet")
            pq.write_table(agrawal(ON_DISK), path)
        prepare(path, policy, memory=MEMORY).save(Path(folder) / "release")


def warm(methods: Iterable[str] | None = None, *, threads: int | None = None, progress: Progress = silent) -> Path:
    """Compile what some methods need (all by default), as many at a time as there are cores; where it is kept.

    Parameters
    ----------
    methods
        Their names, of tables and of sets.
    threads
        How many processes compile at a time; as many as there are cores by default.
    """
    from rothko.kernels import KEPT_IN

    waiting, running, done = recipes(methods), list[subprocess.Popen[str]](), 0
    total, most = len(waiting), count_threads(threads)
    progress("compile", 0, total)
    try:
        while waiting or running:
            while waiting and len(running) < most:
                running.append(_started(waiting.pop(0)))
            for process in [one for one in running if one.poll() is not None]:
                running.remove(process)
                _, said = process.communicate()
                if process.returncode != 0:
                    raise RuntimeError(f"A process that compiles ended with {process.returncode}: {said}")
                done += 1
                progress("compile", done, total)
            time.sleep(0.05)
    finally:
        for process in running:
            process.kill()
            process.communicate()
    return KEPT_IN


def _people() -> pa.Table:
    """A few people for a run in memory."""
    from rothko.generate.census import census

    people: pa.Table = census(RECORDS)
    places = range(RECORDS)
    values = ["abcde"[i % 5] for i in places], [i * 0.25 for i in places], [i * 1_003 for i in places]
    for name, column in zip(MORE, values, strict=True):
        people = people.append_column(name, [column])
    return people


def _policy(method: str, asked: str) -> Policy:
    from rothko.generate.census import census_policy
    from rothko.policy.policy import Policy

    if "engine" in ASKED[asked]:
        policy = Policy.quick((*PEOPLE, "class"), qi=PEOPLE, keep="class", k=K_ON_DISK)
        return policy.but(method=QUICKLY.get(method, method), **ASKED[asked])
    policy = census_policy(k=5)
    one_sensitive = {**policy.columns, "salary_class": {"role": "keep"}}  # anatomy takes no more
    columns = one_sensitive | {name: {"role": "quasi-identifier"} for name in MORE}
    return policy.but(method=AS.get(method, method), columns=columns, **ASKED[asked])


def _started(recipe: str) -> subprocess.Popen[str]:
    where = os.pathsep.join(path for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-m", "rothko.warm", recipe],
        env={**os.environ, "PYTHONPATH": where},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


if __name__ == "__main__":
    run(sys.argv[1])

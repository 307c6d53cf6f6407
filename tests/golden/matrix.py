"""The golden cases: what a run writes and says, kept as hashes, so that nobody changes it unawares.

    python -m tests.golden.matrix                    run all cases and say which differ from hashes.json
    python -m tests.golden.matrix cluster sets/      only those whose names contain one of these
    python -m tests.golden.matrix --keep FOLDER      also write what was hashed, to compare two versions with diff -r
    python -m tests.golden.matrix --record           write hashes.json anew; with names, only these cases

A case goes through the public surface alone (``import rothko as rk``, ``rk.sets``, the command line), so the same
cases run before and after anything inside is moved. ``test_golden.py`` runs the quick ones.

What is hashed:

- released data: the whole bytes, and for Parquet and Arrow also a canonical form, schema and rows in the order of the
  file as text. The bytes of those two hang on the versions of libraries, which are kept beside the hashes: they are
  compared where the versions are the same, the canonical form always;
- certificates, recodings and what ``--json`` prints, without what differs from run to run: seconds, versions, the salt
  of a recoding and the hashes of files that have one. Numbers are rounded to 10 digits: sums of floating-point numbers
  may be added in another order. Trees of cuts are walked, for threads number their nodes as they come. ``io`` of an
  engine on disk stands for itself, without bytes read and written;
- what is said: warnings, errors and exit codes, tables for people (with seconds as ``0 s``).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden import commands, data, releases, sets_cases
from tests.golden.ran import Case, Run, run

HASHES = Path(__file__).parent / "hashes.json"
LIBRARIES = ("duckdb", "numpy", "pandas", "polars", "pyarrow", "scikit-learn")


def cases() -> list[Case]:
    """All cases, by their names."""
    groups = (*releases.GROUPS, *commands.GROUPS, *sets_cases.GROUPS)
    made = [case for group in groups for case in group()]
    names = [case.name for case in made]
    assert len(set(names)) == len(names), sorted({name for name in names if names.count(name) > 1})
    return sorted(made, key=lambda case: case.name)


# ── running


def versions() -> dict[str, str]:
    """What the bytes of some formats hang on."""
    return {name: importlib.metadata.version(name) for name in LIBRARIES}


def recorded() -> dict[str, Any]:
    """The hashes that are kept."""
    kept: dict[str, Any] = json.loads(HASHES.read_text("utf-8"))
    return kept


def entry(done: Run) -> dict[str, dict[str, str]]:
    """What is kept of a run."""
    found = {"canonical": dict(sorted(done.canonical.items())), "bytes": dict(sorted(done.versioned.items()))}
    return {kind: hashes for kind, hashes in found.items() if hashes}


def differences(case: Case, done: Run, kept: Mapping[str, Any]) -> list[str]:
    """What of a run is not as it was recorded."""
    if case.name not in kept["cases"]:
        return ["was never recorded"]
    before, now, differ = kept["cases"][case.name], entry(done), []
    for kind in ("canonical", "bytes") if kept["versions"] == versions() else ("canonical",):
        old, new = before.get(kind, {}), now.get(kind, {})
        differ += [
            f"{name} ({kind}{'' if name in old and name in new else ', is new' if name in new else ', is gone'})"
            for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)
        ]  # fmt: skip
    return differ


def main() -> int:
    """Run cases; 1 where one differs."""
    parser = argparse.ArgumentParser(description="Run the golden cases, and say which differ from what was recorded.")
    parser.add_argument("names", nargs="*", help="only cases whose names contain one of these")
    parser.add_argument("--record", action="store_true", help="write hashes.json anew")
    parser.add_argument("--quick", action="store_true", help="only those of make test")
    parser.add_argument("--keep", type=Path, help="a folder for what was hashed, to look at")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--times", action="store_true", help="processor time of each case")
    parser.add_argument("--list", action="store_true", help="name the cases")
    asked = parser.parse_args()
    chosen = [case for case in cases() if not asked.names or any(name in case.name for name in asked.names)]
    chosen = [case for case in chosen if case.quick or not asked.quick]
    if asked.list:
        print("\n".join(f"{case.name}{' (quick)' * case.quick}" for case in chosen))
        return 0
    kept = recorded() if HASHES.exists() else {"versions": versions(), "cases": {}}
    if asked.record and kept["versions"] != versions() and asked.names:
        sys.exit("The versions of libraries are others than those of hashes.json: record all cases.")
    found: dict[str, Any] = dict(kept["cases"]) if asked.names or asked.quick else {}
    failed = 0
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        data.write_all(Path(folder))
        for case in chosen:
            start = time.process_time()
            try:
                done = run(case, Path(folder), threads=asked.threads)
            except Exception as error:
                failed += 1
                print(f"{case.name}: {type(error).__name__}: {error}", flush=True)
                continue
            if asked.keep is not None:
                _keep(done, asked.keep / case.name.replace("/", "~"))
            found[case.name] = entry(done)
            differ = [] if asked.record else differences(case, done, kept)
            failed += bool(differ)
            if differ:
                print(f"{case.name}: {', '.join(differ)}", flush=True)
            if asked.times:
                print(f"{time.process_time() - start:7.2f} s  {case.name}", flush=True)
    if asked.record:
        told = {"versions": versions(), "cases": dict(sorted(found.items()))}
        HASHES.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    did = "recorded" if asked.record else "run"
    print(f"{len(chosen)} cases {did} in {time.perf_counter() - began:.0f} s, {failed} failed or differ.")
    return 1 if failed else 0


def _keep(done: Run, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in done.shown.items():
        (folder / re.sub(r"[^\w.-]+", "_", name)).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

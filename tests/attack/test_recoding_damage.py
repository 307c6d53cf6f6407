"""Damaged recodings: each is refused in one sentence, or is still a recoding; none crashes, hangs or fails else."""

from __future__ import annotations

import copy
import json
import math
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.release.recoding import recoding as recodings

ODD = (-1, -2, 0, 1, 2**31 - 1, 2**31, 2**63, 10**30, 1.5, "NaN", "x", "", None, True, [], {}, [[]], "2**31")
RAW = ("NaN", "Infinity", "-Infinity", "1e999", "[" * 5000)
"""What may stand where a value stood: plain data, and what no JSON has."""
ROWS = 60
POLICY = """
columns:
  age: {role: quasi-identifier}
  sex: {role: quasi-identifier}
  zip: {role: quasi-identifier, hierarchy: {mask: right}}
  pay: {role: quasi-identifier, hierarchy: auto}
  job: {role: quasi-identifier, hierarchy: {tree: {office: [clerk, boss], field: [nurse, farmer]}}}
  when: {role: quasi-identifier, type: date}
  s: {role: sensitive}
privacy: [{k-anonymity: {k: 3}}]
"""


def people() -> pa.Table:
    """Lines of every kind, with missing values."""
    draw = random.Random(5)
    return pa.table(
        {
            "age": [None if i % 9 == 0 else i * 0.5 for i in range(ROWS)],
            "sex": [draw.choice("mfx") for _ in range(ROWS)],
            "zip": [f"02{draw.randrange(100):03}" for _ in range(ROWS)],
            "pay": [draw.randrange(40) for _ in range(ROWS)],
            "job": [draw.choice(["clerk", "boss", "nurse", "farmer"]) for _ in range(ROWS)],
            "when": [f"20{draw.randrange(10, 20)}-01-{draw.randrange(1, 28):02}" for _ in range(ROWS)],
            "s": [draw.choice(["flu", "cold"]) for _ in range(ROWS)],
        }
    )


def paths(data: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to everything in a document; of long lists to the first, the last and one between."""
    yield at
    if isinstance(data, dict):
        for key in data:
            yield from paths(data[key], (*at, key))
    elif isinstance(data, list):
        for i in sorted({0, len(data) // 2, len(data) - 1} & {*range(len(data))}):
            yield from paths(data[i], (*at, i))


def changed(data: Any, at: tuple[Any, ...], draw: random.Random) -> str:
    """The document with something else at one place: another value, nothing, the same twice, or no JSON at all."""
    data = copy.deepcopy(data)
    holder = data
    for key in at[:-1]:
        holder = holder[key]
    how = draw.randrange(5)
    if not at:
        return json.dumps(draw.choice(ODD))
    if how == 0:
        del holder[at[-1]]
    elif how == 1 and isinstance(holder, list):
        holder.insert(at[-1], holder[at[-1]])
    elif how == 2:
        holder[at[-1]] = "@"
        return json.dumps(data).replace('"@"', draw.choice(RAW), 1)
    elif how == 3 and isinstance(holder[at[-1]], list):
        draw.shuffle(holder[at[-1]])
    else:
        holder[at[-1]] = draw.choice(ODD)
    return json.dumps(data)


def flipped(raw: bytes, draw: random.Random) -> bytes:
    """Bytes of which some are others, or that end early."""
    if draw.random() < 0.2:
        return raw[: draw.randrange(len(raw))]
    found = bytearray(raw)
    for _ in range(draw.choice((1, 1, 1, 8))):
        found[draw.randrange(len(found))] = draw.randrange(256)
    return bytes(found)


def tree_damages(about: dict[str, Any]) -> Iterator[str]:
    """Trees that lead astray: cycles, indices past the end, sizes that overflow."""
    for name, values in about.get("tree", {}).items():
        for value in (-1, -7, 0, 1, len(values), len(values) - 1, 10**6, 2**31 - 1, -(2**31)):
            for i in (0, 1, len(values) // 2, len(values) - 1):
                other = copy.deepcopy(about)
                other["tree"][name][i] = value
                yield json.dumps(other)


def damages(folder: Path, count: int) -> Iterator[tuple[Path, bytes]]:
    """Files of a recoding, and what they are damaged to; the same in every run."""
    draw = random.Random(1)
    path = folder / "recoding.json"
    raw = path.read_bytes()
    about = json.loads(raw)
    for text in tree_damages(about) if isinstance(about.get("tree"), dict) else ():
        yield path, text.encode()
    places = list(paths(about))
    for _ in range(count):
        yield path, changed(about, draw.choice(places), draw).encode()
    for file in sorted(folder.iterdir()):
        for _ in range(count // 2):
            yield file, flipped(file.read_bytes(), draw)


def attack(folder: Path, count: int) -> dict[str, int]:
    """Use a recoding after every damage; what happened how often."""
    table, seen = people(), {"refused": 0, "used": 0}
    for number, (file, damaged) in enumerate(damages(folder, count)):
        whole = file.read_bytes()
        print(number, flush=True)
        # No handler: where compiled code runs for ever, the process ends.
        signal.setitimer(signal.ITIMER_REAL, 20)
        file.write_bytes(damaged)
        try:
            phi = rk.Recoding.load(folder)
            recoded, _ = phi.apply_table(table)
            rules = phi.rules()
            assert recoded.num_rows == ROWS
            assert rules.num_rows == phi.classes
            seen["used"] += 1
        except rk.errors.RothkoError as error:
            seen["refused" if "\n" not in str(error) else "in several lines"] += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            file.write_bytes(whole)
    return seen


METHODS = {"tree": "mondrian", "large tree": "mondrian", "columns": "refine", "large columns": "refine"}


@pytest.mark.parametrize("form", METHODS)
def test_no_damage_of_a_recoding_crashes_hangs_or_passes_for_a_bug(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recodings, "LARGE", 2 if "large" in form else 10_000)
    policy = rk.Policy.parse(POLICY).but(method=METHODS[form])
    release = rk.anonymize(people(), policy)
    saved = release.save(tmp_path / "out")
    assert saved.recoding_path is not None
    assert release.recoding is not None
    whole = rk.Recoding.load(saved.recoding_path.parent)
    assert whole.apply_table(people())[0].equals(release.recoding.apply_table(people())[0])
    # In a process of its own, which may crash.
    command = [sys.executable, "-X", "faulthandler", __file__, str(saved.recoding_path.parent), "90"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, (ended.stdout.splitlines()[-1:], ended.stderr[-2000:])
    seen = json.loads(ended.stdout.splitlines()[-1])
    assert seen["refused"] > seen["used"] > 0


def test_numbers_that_json_does_not_have_come_back(tmp_path: Path) -> None:
    table = pa.table({"x": [-math.inf] * 3 + [0.0] * 3 + [math.inf] * 3})
    policy = {
        "columns": {"x": {"role": "quasi-identifier", "hierarchy": "auto"}},
        "privacy": [{"k-anonymity": {"k": 3}}],
    }
    release = rk.anonymize(table, policy)
    saved = release.save(tmp_path / "out.csv")
    assert saved.recoding_path is not None

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    for path in (saved.recoding_path, saved.certificate_path):
        json.loads(path.read_text("utf-8"), parse_constant=refuse)
    found = rk.Recoding.load(saved.recoding_path).apply_table(table)[0]
    assert release.recoding is not None
    assert found.equals(release.recoding.apply_table(table)[0])
    assert len({*found["x"].to_pylist()}) == 3


def test_a_large_recoding_with_another_byte_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recodings, "LARGE", 2)
    rk.anonymize(people(), rk.Policy.parse(POLICY)).save(tmp_path / "out.csv")
    tree = tmp_path / "out-recoding/recoding.tree.parquet"
    column = pq.read_metadata(tree).row_group(0).column(1)
    raw = bytearray(tree.read_bytes())
    raw[column.data_page_offset + column.total_compressed_size - 2] ^= 1
    tree.write_bytes(bytes(raw))
    with pytest.raises(rk.errors.InputError, match="damaged"):
        rk.Recoding.load(tmp_path / "out-recoding")


if __name__ == "__main__":
    print(json.dumps(attack(Path(sys.argv[1]), int(sys.argv[2]))))

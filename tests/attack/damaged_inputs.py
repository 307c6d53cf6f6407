"""Damages files that rothko reads, one after the other, and says what became of each.

Run as a program in a process of its own (see ``test_input_damage.py``): a damage that brings the interpreter down
takes nobody else with it, and the last line that was printed tells which one it was::

    python damaged_inputs.py SEED FIRST COUNT SECONDS KIND...

Damage number i of a kind and a seed is always the same. Every line that is printed is JSON: the number of a damage
before it is tried, and what it came to. Most files are only read, which takes a few milliseconds, and every eighth
is given to a command; where there is time (SECONDS), or for a single damage, all are.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import gzip
import io
import json
import random
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from rothko import cli
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.source.open import open_source
from rothko.errors import RothkoError
from rothko.policy.policy import Policy
from rothko.sets.files import read_records, read_utility

SECRET = "Zx9-SECRET"
"""Part of many cells; it must be in no message."""
ROWS = 300
POLICY = f"""\
columns:
  name: {{role: identifier}}
  age: {{role: quasi-identifier}}
  sex: {{role: quasi-identifier}}
  city: {{role: quasi-identifier, hierarchy: city.csv}}
  disease: {{role: sensitive}}
  note: {{role: keep}}
privacy:
- k-anonymity: {{k: 5}}
- distinct-l-diversity: {{l: 2, of: disease}}
missing: ['{SECRET}?']
"""
HIERARCHY = "Berlin;Germany;*\nBonn;Germany;*\nParis;France;*\nNice;France;*\n"
Bytes = Callable[[random.Random], bytes]


@dataclass(frozen=True)
class Kind:
    """A file that is damaged, and the command that reads it."""

    file: str
    whole: Bytes
    commands: tuple[str, ...]
    """Damages take turns with them."""
    look: Callable[[str], object]
    """Reads the file and does nothing else."""


def people() -> dict[str, Any]:
    draw = random.Random(0)
    return {
        "name": [f"{SECRET}-{i}" for i in range(ROWS)],
        "age": [draw.randrange(20, 60) for _ in range(ROWS)],
        "sex": [draw.choice("mf") for _ in range(ROWS)],
        "city": [draw.choice(["Berlin", "Bonn", "Paris", "Nice"]) for _ in range(ROWS)],
        "disease": [draw.choice(["flu", "cold", SECRET]) for _ in range(ROWS)],
        "note": [f"{SECRET} {i % 7}" if i % 5 else None for i in range(ROWS)],
    }


def columns(draw: random.Random) -> pa.Table:
    """The people, each column in one of the types that it may arrive in."""
    plain = people()
    text: list[pa.DataType] = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
    nested = [
        [{"a": f"{SECRET}{i}", "b": [i, None]} for i in range(ROWS)],
        [[f"{SECRET}{i % 3}"] * (i % 3) for i in range(ROWS)],
        [decimal.Decimal(i) / 4 for i in range(ROWS)],
        [datetime.datetime(2020, 1, 1) + datetime.timedelta(hours=i) for i in range(ROWS)],
        [f"{SECRET}{i}".encode() for i in range(ROWS)],
    ]
    table = {
        "name": pa.array(plain["name"]),
        "age": pa.array(plain["age"], draw.choice([pa.int64(), pa.int8(), pa.float64(), pa.uint32()])),
        **{name: pa.array(plain[name]).cast(draw.choice(text)) for name in ("sex", "city", "disease")},
        "note": pa.array(draw.choice([plain["note"], *nested])),
    }
    return pa.table(table)


def arrow(draw: random.Random) -> bytes:
    sink = io.BytesIO()
    table = columns(draw)
    options = pa.ipc.IpcWriteOptions(compression=draw.choice([None, None, "lz4", "zstd"]), unify_dictionaries=True)
    with pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=draw.choice([ROWS, 70]))
    return sink.getvalue()


def parquet(draw: random.Random) -> bytes:
    sink = io.BytesIO()
    table = columns(draw)
    pq.write_table(
        table,
        sink,
        compression=draw.choice(["none", "snappy", "zstd"]),
        row_group_size=draw.choice([ROWS, 70]),
        use_dictionary=draw.choice([True, False]),
        store_schema=draw.choice([True, False]),
        data_page_version=draw.choice(["1.0", "2.0"]),
    )
    return sink.getvalue()


def csv(draw: random.Random) -> bytes:
    table = people()
    lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    # More than is read to tell the dialect, at times.
    return ("\n".join([",".join(table), *lines * draw.choice([1, 1, 9])]) + "\n").encode()


def baskets(_: random.Random) -> bytes:
    return "".join(f"tea {SECRET}{i % 4} bread{i % 3}\n" for i in range(ROWS)).encode()


def item_lists(_: random.Random) -> pa.Table:
    return pa.table({"items": [["tea", f"{SECRET}{i % 4}", f"bread{i % 3}"] for i in range(ROWS)]})


def item_arrow(draw: random.Random) -> bytes:
    sink = io.BytesIO()
    table = item_lists(draw)
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=70)
    return sink.getvalue()


def item_parquet(draw: random.Random) -> bytes:
    sink = io.BytesIO()
    pq.write_table(item_lists(draw), sink)
    return sink.getvalue()


def utilities(_: random.Random) -> bytes:
    return ("item,utility\ntea,2\n" + "".join(f"{SECRET}{i},{i}.5\n" for i in range(4))).encode()


def policy_as_json(_: random.Random) -> bytes:
    import yaml

    return json.dumps(yaml.safe_load(POLICY), indent=1).encode()


def packed(whole: Bytes) -> Bytes:
    return lambda draw: gzip.compress(whole(draw), mtime=0)


RELEASE = "anonymize {} --policy policy.yaml --out out.parquet --threads 1"
TABLE = (RELEASE, f"{RELEASE} --engine rothko-t", "check {} --policy policy.yaml --threads 1")
SETS = ("sets {} --k 3 --out out.txt --threads 1",)
PEOPLE = ("anonymize people.csv --policy {} --out out.csv --threads 1",)
UTILITIES = ("sets baskets.txt --utility {} --k 3 --out out.txt --threads 1",)


def read_table(file: str) -> None:
    """Read a table in both ways that there are."""
    source = open_source(file)
    source.read()
    for _ in source.batches(rows=100):
        pass


KINDS = {
    "arrow": Kind("people.arrow", arrow, TABLE, read_table),
    "parquet": Kind("people.parquet", parquet, TABLE, read_table),
    "csv": Kind("people.csv", csv, TABLE, read_table),
    "csv.gz": Kind("people.csv.gz", packed(csv), TABLE, read_table),
    "sets arrow": Kind("baskets.arrow", item_arrow, SETS, read_records),
    "sets parquet": Kind("baskets.parquet", item_parquet, SETS, read_records),
    "sets lines": Kind("baskets.txt", baskets, SETS, read_records),
    "sets lines.gz": Kind("baskets.txt.gz", packed(baskets), SETS, read_records),
    "utilities": Kind("utilities.csv", utilities, UTILITIES, read_utility),
    "policy": Kind("policy.yaml", lambda _: POLICY.encode(), PEOPLE, Policy.load),
    "policy as JSON": Kind("policy.json", policy_as_json, PEOPLE, Policy.load),
    "hierarchy": Kind("city.csv", lambda _: HIERARCHY.encode(), (PEOPLE[0].format("policy.yaml"),), Hierarchy.from_csv),
}


# ── damages

ODD = [0, 1, -1, 0x7F, 0x80, 0xFF, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, -(2**63), -(2**31), 1000]


def flip(raw: bytearray, draw: random.Random, at: int) -> None:
    raw[at] ^= 1 << draw.randrange(8)


def overwrite(raw: bytearray, draw: random.Random, at: int) -> None:
    raw[at] = draw.choice([0, 0xFF, 0x7F, 0x80, draw.randrange(256), ord("\n"), ord('"'), ord(",")])


def odd_number(raw: bytearray, draw: random.Random, at: int) -> None:
    """A number that a length, an offset or an index could be."""
    size = draw.choice([1, 2, 4, 8])
    at -= at % size
    raw[at : at + size] = (draw.choice(ODD) % (1 << 8 * size)).to_bytes(size, "little")[: len(raw) - at]


def cut_off(raw: bytearray, draw: random.Random, at: int) -> None:
    del raw[at:]


def take_out(raw: bytearray, draw: random.Random, at: int) -> None:
    del raw[at : at + draw.choice([1, 2, 8, 100])]


def put_in(raw: bytearray, draw: random.Random, at: int) -> None:
    raw[at:at] = draw.choice([b"\0", b"\xff" * 9, b'"', b"\n", b": ", b"\xc3", bytes(range(200)), raw[at : at + 50]])


def swap(raw: bytearray, draw: random.Random, at: int) -> None:
    size, other = draw.choice([1, 8, 64]), draw.randrange(len(raw))
    raw[at : at + size], raw[other : other + size] = raw[other : other + size], raw[at : at + size]


def blank(raw: bytearray, draw: random.Random, at: int) -> None:
    size = draw.choice([4, 16, 100, 1000])
    raw[at : at + size] = bytes([draw.choice([0, 0xFF])]) * len(raw[at : at + size])


def trail(raw: bytearray, draw: random.Random, at: int) -> None:
    raw += draw.choice([b"\0" * 10, b"garbage", bytes(raw), b"\xff" * 8])


DAMAGES = (
    flip,
    flip,
    flip,
    overwrite,
    odd_number,
    odd_number,
    odd_number,
    cut_off,
    take_out,
    put_in,
    swap,
    blank,
    trail,
)


def damage(raw: bytes, draw: random.Random) -> tuple[bytes, str]:
    """The bytes with something wrong, and what it is."""
    hurt = bytearray(raw)
    what = []
    for _ in range(draw.choice([1, 1, 1, 2, 3, 8])):
        if not hurt:
            break
        # Formats keep what describes the rest at the end, and some at the beginning; a blow there does most harm.
        near = draw.choice([None, None, min(len(hurt), 400), -min(len(hurt), 1200)])
        at = draw.randrange(len(hurt)) if near is None else draw.randrange(abs(near)) + (len(hurt) + near) * (near < 0)
        one = draw.choice(DAMAGES)
        one(hurt, draw, at)
        what.append(f"{one.__name__} at {at}")
    return bytes(hurt), ", ".join(what)


# ── what becomes of them


def run(arguments: list[str]) -> tuple[int, str]:
    """Run a command as a shell would, without starting Python anew: its exit code and what it said."""
    said = io.StringIO()
    sys.argv = ["rothko", *arguments]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), warnings.catch_warnings():
        try:
            cli.main()
        except SystemExit as stop:
            return int(stop.code or 0), said.getvalue()
    raise AssertionError("a command ends by its exit code")


def look(kind: Kind) -> tuple[int, str]:
    """Read a file; the exit code and the message as a command would have them."""
    try:
        kind.look(kind.file)
    except RothkoError as error:
        return error.exit_code, f"Error: {error}\n"
    return 0, ""


def lay_out(folder: Path) -> None:
    (folder / "policy.yaml").write_text(POLICY)
    (folder / "city.csv").write_text(HIERARCHY)
    (folder / "people.csv").write_bytes(csv(random.Random(0)))
    (folder / "baskets.txt").write_bytes(baskets(random.Random(0)))


def say(**what: Any) -> None:
    print(json.dumps(what), file=sys.__stdout__, flush=True)


def hurt_file(name: str, seed: int, number: int) -> tuple[bytes, str]:
    draw = random.Random(f"{name} {seed} {number}")
    return damage(KINDS[name].whole(draw), draw)


def go_through(name: str, seed: int, first: int, count: int, seconds: float) -> None:
    kind, began, number = KINDS[name], time.monotonic(), first
    while number < first + count or time.monotonic() - began < seconds:
        raw, what = hurt_file(name, seed, number)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            lay_out(Path(folder))
            Path(kind.file).write_bytes(raw)
            say(kind=name, number=number, what=what)
            command = kind.commands[number % len(kind.commands)].format(kind.file)
            whole = seconds or count == 1 or number % 8 == 0
            code, said = run(command.split()) if whole else look(kind)
            say(kind=name, number=number, code=code, said=said)
        number += 1


if __name__ == "__main__":
    built = typer.main.get_command(cli.application())  # once: Typer would read all commands anew for each run
    cli.application = lambda *names: built
    seed, first, count, seconds, *kinds = sys.argv[1:]
    for kind in kinds:
        go_through(kind, int(seed), int(first), int(count), float(seconds))

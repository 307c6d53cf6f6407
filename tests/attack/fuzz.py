"""Random small tables and policies, released and checked by the oracle: ``make fuzz SECONDS=600``.

A seed is a case: ``python -m tests.attack.fuzz --seed 17`` repeats it. What a case may end with is a release that the
oracle accepts, or a refusal in one sentence; anything else is a finding.
"""

from __future__ import annotations

import argparse
import datetime as dt
import math
import random
import secrets
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq

import rothko as rk
from rothko.errors import PrivacyWarning, RothkoError, WorkloadWarning
from tests.attack import oracle

TREE = {"Europe": ["France", "Spain", {"Baltic": ["Latvia", "Estonia"]}], "Asia": ["Japan", "India"], "Sea": ["Fiji"]}
LEAVES = ("France", "Spain", "Latvia", "Estonia", "Japan", "India", "Fiji")
GRADES = ("low", "middle", "high", "top")
CATEGORIES = {"0": "low", "1": "low", "5": "high", "10": "high"}
TOKEN = "?"
TEXT = (".csv", ".tsv")
DAY = dt.date(2020, 1, 1)
WORDS = [
    "a",
    "b",
    "é",
    "漢字",
    "🙂",
    "a, b",
    'say "x"',
    "{a, b}",
    "[1, 2]",
    "two\nlines",
    "=1+1",
    "e\u0301",
    "x y",
    "'",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of quasi-identifier."""

    spec: dict[str, Any]
    type: pa.DataType
    draw: Callable[[random.Random], Any]
    says: oracle.Says
    numeric: bool = False
    typed: bool = False
    """Whether ``publish: bounds`` gives it two columns."""


KINDS: dict[str, Kind] = {
    "int": Kind({}, pa.int64(), lambda r: r.randint(-5, 60), oracle.interval(int), numeric=True, typed=True),
    "small int": Kind({}, pa.int8(), lambda r: r.randint(-3, 3), oracle.interval(int), numeric=True, typed=True),
    "float": Kind(
        {}, pa.float64(), lambda r: r.randint(-400, 400) / 4, oracle.interval(float), numeric=True, typed=True
    ),
    "decimal": Kind(
        {}, pa.decimal128(8, 2), lambda r: Decimal(r.randint(-999, 999)) / 100, oracle.interval(Decimal),
        numeric=True, typed=True,
    ),
    "date": Kind(
        {}, pa.date32(), lambda r: DAY + dt.timedelta(r.randint(0, 400)), oracle.interval(dt.date.fromisoformat),
        typed=True,
    ),
    "timestamp": Kind(
        {}, pa.timestamp("us"), lambda r: dt.datetime(2020, 1, 1) + dt.timedelta(seconds=r.randint(0, 10**6)),
        oracle.interval(dt.datetime.fromisoformat), typed=True,
    ),
    "label": Kind({}, pa.string(), lambda r: r.choice(WORDS), oracle.one_of),
    "dictionary": Kind({}, pa.dictionary(pa.int32(), pa.string()), lambda r: r.choice(WORDS[:5]), oracle.one_of),
    "ordinal": Kind(
        {"order": list(GRADES)}, pa.string(), lambda r: r.choice(GRADES),
        lambda label, value: oracle.interval(GRADES.index)(label, GRADES.index(value)),
    ),
    "flat": Kind({"hierarchy": "flat"}, pa.string(), lambda r: r.choice("abcdef"), str.__eq__),
    "auto": Kind({"hierarchy": "auto"}, pa.string(), lambda r: r.choice("abcdefghij"), oracle.between(str)),
    "auto int": Kind({"hierarchy": "auto"}, pa.int64(), lambda r: r.randint(0, 30), oracle.between(int)),
    "mask": Kind(
        {"hierarchy": {"mask": "right"}}, pa.string(), lambda r: f"{r.randint(0, 2222):04d}", oracle.mask,
    ),
    "intervals": Kind(
        {"hierarchy": {"intervals": [5, 10, 20]}}, pa.int64(), lambda r: r.randint(-30, 70), oracle.interval(int)
    ),
    "breaks": Kind(
        {"hierarchy": {"breaks": [[0, 18, 65], [18]]}}, pa.float64(), lambda r: r.randint(-100, 400) / 4,
        oracle.interval(float),
    ),
    "dates": Kind(
        {"hierarchy": {"dates": ["month", "year"]}}, pa.date32(), lambda r: DAY + dt.timedelta(r.randint(0, 800)),
        oracle.calendar,
    ),
    "tree": Kind({"hierarchy": {"tree": TREE}}, pa.string(), lambda r: r.choice(LEAVES), oracle.below(TREE)),
}  # fmt: skip
KEPT: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "text": (pa.string(), lambda r: r.choice([*WORDS, ""])),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), lambda r: r.choice(WORDS[:6])),
    "int": (pa.int32(), lambda r: r.randint(-(2**31), 2**31 - 1)),
    "float": (pa.float64(), lambda r: r.choice([0.5, -1e300, 1e-300, math.nan, 3.0])),
    "bool": (pa.bool_(), lambda r: r.random() < 0.5),
    "date": (pa.date32(), lambda r: DAY + dt.timedelta(r.randint(0, 400))),
    "list": (pa.list_(pa.string()), lambda r: [r.choice(WORDS) for _ in range(r.randint(0, 2))]),
    "struct": (pa.struct({"x": pa.int64(), "y": pa.string()}), lambda r: {"x": r.randint(0, 9), "y": r.choice(WORDS)}),
}
NESTED = ("list", "struct")
ON_DISK = ("rothko-t", "rothko-s")
LOCAL = (
    "hilbert",
    "hilbert-fast",
    "idistance",
    "idistance-fast",
    "cluster",
    "topdown",
    {"mondrian": {"relaxed": True}},
)


@dataclass(frozen=True, slots=True)
class Case:
    """A table, what is asked for it, and how it comes and goes."""

    seed: int
    table: pa.Table
    policy: dict[str, Any]
    kinds: dict[str, str]
    engine: str
    source: str
    """The ending of the file that it comes from; empty for a table in memory."""
    ending: str

    def __str__(self) -> str:
        columns = ", ".join(f"{name} {kind}" for name, kind in self.kinds.items())
        return (
            f"seed {self.seed}: {self.table.num_rows} records ({columns}), {self.policy['method']}, "
            f"{self.policy['publish']}, {[*map(list, self.policy['privacy'])]}, engine {self.engine}, "
            f"{self.source or 'memory'} to {self.ending}"
        )


# ── drawing


def draw(seed: int) -> Case:
    """The case of a seed."""
    r = random.Random(seed)
    source = r.choice(["", "", "polars", ".csv", ".parquet", ".feather", ".tsv"])
    kinds = {f"q{i}": r.choice(list(KINDS)) for i in range(r.randint(1, 3))}
    method = _method(r)
    table, spec = _table(r, kinds, f"person-{seed}-", nested=source not in TEXT)
    tokens = r.random() < 0.2
    if tokens:
        table = _with_tokens(r, table, kinds)
    if method == "anatomy":
        spec["n"] = {"role": "identifier"}
    publish = "range" if method == "anatomy" else r.choice(["range", "range", "bounds", "mean", "region"])
    policy = {
        "columns": {name: spec[name] for name in table.column_names},
        "privacy": _requirements(r, anatomy=method == "anatomy"),
        "workload": _workload(r, kinds, method),
        "method": method,
        "publish": "range" if publish == "region" and method in LOCAL else publish,
        "missing": [TOKEN] if tokens else [],
        "order": "keep" if r.random() < 0.05 else "random",
    }
    engine = r.choice(["memory", *ON_DISK]) if method == "mondrian" else "memory"
    ending = r.choice([".csv", ".tsv", ".parquet", ".parquet", ".arrow", ".feather"])
    return Case(seed, table, policy, kinds, engine, source, ending)


def _table(
    r: random.Random, kinds: dict[str, str], person: str, *, nested: bool
) -> tuple[pa.Table, dict[str, dict[str, Any]]]:
    """A table, its columns in any order, and the role of each."""
    rows = r.choice([r.randint(1, 8), r.randint(8, 40), r.randint(20, 60)])
    columns: dict[str, pa.Array] = {"name": pa.array([f"{person}{i}" for i in range(rows)])}
    spec: dict[str, dict[str, Any]] = {"name": {"role": "identifier"}}
    for name, kind in kinds.items():
        columns[name] = _column(r, rows, KINDS[kind].type, KINDS[kind].draw)
        spec[name] = {"role": "quasi-identifier", **KINDS[kind].spec}
    text = r.choice([pa.string(), pa.dictionary(pa.int32(), pa.string())])
    columns["s"] = _column(r, rows, text, lambda r: r.choice(["flu", "cold", "asthma", "Ménière"]))
    columns["n"] = _column(r, rows, pa.int64(), lambda r: r.choice([0, 1, 5, 10]))
    spec |= {"s": {"role": "sensitive"}, "n": {"role": "sensitive"}}
    for i in range(r.randint(0, 2)):
        kind = r.choice([kind for kind in KEPT if nested or kind not in NESTED])
        columns[f"k{i}"] = _column(r, rows, *KEPT[kind])
        spec[f"k{i}"] = {"role": "keep"}
    if r.random() < 0.7:
        columns["row"] = pa.array(range(rows))
        spec["row"] = {"role": "keep"}
    order = list(columns)
    r.shuffle(order)
    return pa.table({name: columns[name] for name in order}), spec


def _with_tokens(r: random.Random, table: pa.Table, kinds: dict[str, str]) -> pa.Table:
    """Some texts are a token that stands for a missing value."""
    for name in (*kinds, "s"):
        if pa.types.is_string(table.schema.field(name).type):
            values = [TOKEN if r.random() < 0.1 else value for value in table[name].to_pylist()]
            table = table.set_column(table.column_names.index(name), name, pa.array(values, pa.string()))
    return table


def _workload(r: random.Random, kinds: dict[str, str], method: Any) -> list[dict[str, Any]]:
    """What a release may be for; few methods take it."""
    numeric = [name for name, kind in kinds.items() if KINDS[kind].numeric]
    drawn: list[dict[str, Any]] = [{"classify": {"target": "s"}}, {"regress": {"target": "n"}}]
    drawn += [
        {"aggregate": {"of": name, "functions": r.choice([["avg"], ["min", "max"], ["sum"]])}} for name in numeric
    ]
    return [r.choice(drawn)] if method in ("mondrian", "refine", "cluster") and r.random() < 0.3 else []


def _method(r: random.Random) -> Any:
    return "mondrian" if r.random() < 0.5 else r.choice([*LOCAL, "refine", "anatomy"])


def _column(r: random.Random, rows: int, kind: pa.DataType, draw: Callable[[random.Random], Any]) -> pa.Array:
    """Random values, often few of them, sometimes with missing ones."""
    few = [draw(r) for _ in range(r.randint(1, 4))] if r.random() < 0.5 else None
    values = [r.choice(few) if few else draw(r) for _ in range(rows)]
    if r.random() < 0.3:
        values = [None if r.random() < 0.2 else value for value in values]
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    array = pa.array(values, plain)
    return array.cast(kind) if plain is not kind else array


def _requirements(r: random.Random, *, anatomy: bool) -> list[dict[str, Any]]:
    if anatomy:
        return [{r.choice(["frequency-l-diversity", "distinct-l-diversity"]): {"l": r.choice([2, 3]), "of": "s"}}]
    drawn = [
        {"distinct-l-diversity": {"l": r.choice([2, 3]), "of": r.choice("sn")}},
        {"entropy-l-diversity": {"l": r.choice([1.5, 2, 2.5]), "of": "s"}},
        {"recursive-l-diversity": {"c": r.choice([1, 2, 3]), "l": 2, "of": "s"}},
        {"frequency-l-diversity": {"l": r.choice([1.5, 2]), "of": r.choice("sn")}},
        {"alpha-k": {"alpha": r.choice([0.5, 0.6, 0.75]), "k": 2, "of": "s"}},
        {"p-sensitive": {"p": 2, "k": r.choice([2, 4]), "of": "s"}},
        {"p-alpha": {"p": 2, "categories": CATEGORIES, "of": "n"}},
        {"t-closeness": {"t": r.choice([0.2, 0.3, 0.5]), "of": "s"}},
        {"t-closeness": {"t": r.choice([0.15, 0.3]), "of": "n", "distance": "ordered"}},
        {"variance-diversity": {"v": r.choice([0.25, 4]), "of": "n"}},
        {"squared-error-diversity": {"error": r.choice([0.5, 10]), "of": "n"}},
    ]
    return [{"k-anonymity": {"k": r.choice([2, 2, 3, 5])}}, *r.sample(drawn, r.choice([0, 0, 1, 1, 2]))]


# ── running


def run(case: Case, folder: Path) -> str | None:
    """Release a case, save it, and let the oracle look at it; the message where it is refused."""
    try:
        policy = rk.Policy(**case.policy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)  # anatomy's, and that of an order that is kept
            warnings.simplefilter("ignore", WorkloadWarning)
            release = rk.anonymize(written(case, folder), policy, engine=case.engine, seed=case.seed, threads=1)
        (folder / "out").mkdir()
        saved = release.save(folder / "out" / f"release{case.ending}", report=True)
    except RothkoError as refused:
        refused_well(str(refused), case)
        return str(refused)
    assert saved.report_path is not None, f"no report: {saved.report_failed}"
    assert f"person-{case.seed}-" not in saved.report_path.read_text("utf-8"), "a report that tells a cell"
    expected = expectation(case, policy)
    if saved.sensitive_path is not None:
        oracle.check_anatomy(saved.data, saved.sensitive_path, expected)
    else:
        oracle.check(saved.data, expected)
    return None


def written(case: Case, folder: Path) -> Any:
    """The table as it comes: as it is, or in a file."""
    if not case.source:
        return case.table
    if case.source == "polars":
        return pl.from_arrow(case.table)
    path = folder / f"people{case.source}"
    if case.source in TEXT:
        texts = pa.table({
            name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for name, column in zip(case.table.column_names, case.table.columns, strict=True)
        })  # fmt: skip
        pcsv.write_csv(texts, path, pcsv.WriteOptions(delimiter="\t" if case.source == ".tsv" else ","))
    elif case.source == ".parquet":
        pq.write_table(case.table, path)
    else:
        feather.write_feather(case.table, path)
    return path


def refused_well(message: str, case: Case) -> None:
    """A refusal is one sentence that tells no cell of a record."""
    assert len(message.split()) > 3, "a refusal that says nothing"
    assert "\n" not in message, "a refusal of several lines"
    assert "Traceback" not in message
    assert f"person-{case.seed}" not in message, "a refusal that tells a cell"
    assert "Verification failed" not in message, message


def expectation(case: Case, policy: rk.Policy) -> oracle.Expected:
    """What the oracle must find."""
    quasi = {name: _published(name, KINDS[kind], policy) for name, kind in case.kinds.items()}
    return oracle.Expected(
        rows=[{name: absent(value) for name, value in row.items()} for row in case.table.to_pylist()],
        quasi=quasi,
        sensitive=policy.sensitive,
        kept=policy.kept,
        names=case.table.column_names,
        requirements=policy.privacy,
        missing=policy.missing,
        keeps_order=policy.order == "keep",
        secrets=[f"person-{case.seed}-"],
        opaque=[f.name for f in case.table.schema if pa.types.is_nested(f.type)] if case.ending in TEXT else (),
        untyped=case.source in TEXT,
        by_column=policy.method.name == "refine",
    )


def _published(name: str, kind: Kind, policy: rk.Policy) -> oracle.Quasi:
    """The columns of a quasi-identifier: its form, then the statistics of aggregates that the form does not show."""
    form = "label"
    if (policy.publish == "bounds" and kind.typed) or (policy.publish == "mean" and kind.numeric):
        form = policy.publish
    columns = (f"{name}_min", f"{name}_max") if form == "bounds" else (name,)
    asked = {f for task in policy.workload if task.name == "aggregate" and name in task.of for f in task.functions}
    if asked & {"min", "max"} and policy.publish not in ("range", "bounds"):
        columns += (f"{name}_min", f"{name}_max")
    if asked & {"avg", "sum"} and policy.publish != "mean":
        columns += (f"{name}_mean",)
    return oracle.Quasi(kind.says, columns, form)


def absent(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def main() -> int:
    """Draw cases until the time is over, and say which failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="how long to look")
    parser.add_argument("--seed", type=int, help="repeat this case alone")
    asked = parser.parse_args()
    if asked.seed is not None:
        print(draw(asked.seed))
    begun, cases, refused, failed = time.monotonic(), 0, 0, []
    while time.monotonic() - begun < asked.seconds and (asked.seed is None or not cases):
        seed = secrets.randbits(40) if asked.seed is None else asked.seed
        try:
            with tempfile.TemporaryDirectory() as folder:
                refused += run(draw(seed), Path(folder)) is not None
        except Exception as error:  # whatever it is, it is a finding
            if asked.seed is not None:
                raise
            failed.append(seed)
            print(f"{draw(seed)}\n    {type(error).__name__}: {error}", flush=True)
        cases += 1
    print(f"{cases:,} cases, {refused:,} refused, {len(failed):,} failed")
    if failed:
        print(f"repeat one: python -m tests.attack.fuzz --seed {failed[0]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

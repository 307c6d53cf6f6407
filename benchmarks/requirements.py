"""What a requirement costs: a run with it against the same run with k-anonymity alone, Median Mondrian, k = 50.

The sensitive columns are 50 values of which the i-th is 1/i as frequent as the first, and pay in whole
units around 50,000. Every bound is one that many cuts miss: the search for other cuts is what takes time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.foundation import QUASI
from benchmarks.timing import Case, report, side_by_side
from rothko.flow import prepare
from rothko.generate.agrawal import agrawal
from rothko.policy.policy import Policy

VALUES = [f"d{i:02d}" for i in range(50)]
TREE = {f"g{a}": {f"g{a}{b}": VALUES[10 * a + 5 * b : 10 * a + 5 * b + 5] for b in range(2)} for a in range(5)}
NOMINAL: dict[str, dict[str, Any]] = {
    "distinct-l-diversity": {"l": 15},
    "entropy-l-diversity": {"l": 12},
    "recursive-l-diversity": {"c": 1, "l": 4},
    "frequency-l-diversity": {"l": 3.5},
    "alpha-k": {"alpha": 0.28, "k": 50},
    "p-sensitive": {"p": 15, "k": 50},
    "p-alpha": {"p": 8, "categories": {value: value[:2] + str(int(value[2]) // 5) for value in VALUES}},
    "t-closeness": {"t": 0.3},
    "t-closeness, hierarchy": {"t": 0.25, "distance": "hierarchy", "hierarchy": {"tree": TREE}},
}
NUMERIC: dict[str, dict[str, Any]] = {
    "variance-diversity": {"v": 2e8},
    "squared-error-diversity": {"error": 1.1e10},
    "t-closeness, ordered": {"t": 0.06, "distance": "ordered"},
}


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    n = 100_000 if quick else 1_000_000
    random = np.random.default_rng(1)
    weights = 1 / np.arange(1, 51)
    people = folder / "people.parquet"
    table = agrawal(n, seed=1)
    table = table.append_column(
        "disease", pa.array(np.array(VALUES)[random.choice(50, n, p=weights / weights.sum())].tolist())
    )
    pay = np.maximum(random.normal(50_000, 15_000, n), 0)
    # Whole thousands for the distance between ranks: what it costs depends on how many there are.
    table = table.append_column("pay", pa.array(np.rint(pay).astype(np.int64)))
    table = table.append_column("thousands", pa.array(np.rint(pay / 1000).astype(np.int64)))
    pq.write_table(table, people)
    cases = []
    for name, given in {**NOMINAL, **NUMERIC}.items():
        bound = 1.5 if name in ("variance-diversity", "squared-error-diversity") else 2.5
        of = "disease" if name in NOMINAL else "thousands" if "ordered" in name else "pay"
        cases += _against_none(people, name, {name.split(",")[0]: {**given, "of": of}}, bound)
    return cases


def _against_none(path: Path, name: str, asked: dict[str, Any], bound: float) -> list[Case]:
    """The whole run, and the search for cuts alone."""
    partition: dict[bool, list[float]] = {False: [], True: []}
    classes: dict[bool, int] = {}

    def release(more: bool) -> None:
        columns: dict[str, Any] = {q: {"role": "quasi-identifier"} for q in QUASI}
        columns |= {c: {"role": "sensitive"} for c in ("disease", "pay", "thousands")} | {"class": {"role": "keep"}}
        privacy = [{"k-anonymity": {"k": 50}}, *([asked] if more else [])]
        made = prepare(path, Policy(columns=columns, privacy=privacy))
        made.save(path.with_name("release.parquet"), overwrite=True)
        partition[more].append(made.certificate.timings["partition"])
        classes[more] = made.certificate.verification.classes

    without, with_it = side_by_side(lambda: release(False), lambda: release(True), runs=3)
    cut, cut_with = (min(partition[more]) for more in (False, True))
    counted = f"{classes[True]:,} classes, {classes[False]:,} without"
    return [
        report(name, with_it / without, bound, f"{with_it:.2f} s, {without:.2f} s; {counted}"),
        report("  the search for cuts alone", cut_with / cut, 2.5, f"{cut_with:.2f} s, {cut:.2f} s"),
    ]

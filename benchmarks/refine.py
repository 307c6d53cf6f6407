"""Top-Down Refinement against Median Mondrian, which partitions the same encoded table; and its growth.

From codes to classes. Money is in thousands, or as it is: then nearly every record is distinct, and a column has
hundreds of thousands of values to be told apart.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.timing import Case, report, side_by_side
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.generate.agrawal import agrawal
from rothko.methods import Mondrian, Refine
from rothko.methods.refine.keys import distinct, keys_of
from rothko.policy.policy import Policy
from rothko.progress import count_threads

QUASI = ("salary", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
MONEY = ("salary", "commission", "hvalue", "loan")
ALL: list[dict[str, Any]] = [{"k-anonymity": {"k": 50}}]
SETS: list[dict[str, Any]] = [
    {"k-anonymity": {"k": 50, "over": list(QUASI[:4])}},
    {"k-anonymity": {"k": 100, "over": list(QUASI[2:6])}},
    {"k-anonymity": {"k": 50, "over": list(QUASI[4:])}},
]


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    n = 100_000 if quick else 1_000_000
    coarse, fine = _table(n, thousands=True), _table(n, thousands=False)
    small = _table(n // 4, thousands=True)
    return [
        _against_mondrian("class label", coarse, ALL),
        _against_mondrian("class label, money as it is", fine, ALL),
        _against_mondrian("no class label", coarse, ALL, guided=False),
        _against_mondrian("three sets of quasi-identifiers", coarse, SETS),
        _growth("class label", coarse, small),
        _growth("no class label", coarse, small, guided=False),
    ]


def _table(rows: int, *, thousands: bool) -> tuple[Encoded, Policy]:
    table = agrawal(rows, seed=1)
    for name in MONEY if thousands else ():
        rounded = (table[name].to_numpy() // 1000 * 1000).astype(np.int64)
        table = table.set_column(table.column_names.index(name), name, pa.array(rounded))
    columns = {name: {"role": "quasi-identifier" if name in QUASI else "keep"} for name in table.column_names}
    policy = Policy(columns=columns, privacy=ALL, workload=[{"classify": {"target": "class"}}])
    return encode(typed(table, policy), policy, threads=count_threads(None)), policy


def _against_mondrian(
    title: str, asked: tuple[Encoded, Policy], privacy: list[dict[str, Any]], *, guided: bool = True
) -> Case:
    encoded, policy = asked
    workload = policy.workload if guided else ()
    wanted = policy.but(privacy=privacy).privacy
    threads = count_threads(None)
    classes: dict[str, int] = {}

    def work(method: Refine | Mondrian) -> None:
        refined = isinstance(method, Refine)
        found = method.partition(
            encoded,
            wanted if refined else policy.privacy,
            workload=workload if refined else (),
            threads=threads,
        )
        classes[method.name] = found.classes

    ours, theirs = side_by_side(lambda: work(Refine()), lambda: work(Mondrian()), runs=3)
    different = len(distinct(keys_of(list(encoded.codes), [line.size for line in encoded.lines]))[1])
    detail = (
        f"{ours:.2f} s, {theirs:.2f} s; {different:,} distinct records; "
        f"classes {classes['refine']:,}, {classes['mondrian']:,}"
    )
    return report(f"{title}, to Median Mondrian", ours / theirs, 6, detail)


def _growth(title: str, large: tuple[Encoded, Policy], small: tuple[Encoded, Policy], *, guided: bool = True) -> Case:
    def work(asked: tuple[Encoded, Policy]) -> None:
        encoded, policy = asked
        Refine().partition(encoded, policy.privacy, workload=policy.workload if guided else (), threads=1)

    much, little = side_by_side(lambda: work(large), lambda: work(small), runs=3)
    return report(f"{title}, 4 times the records", much / little, 4.5, f"{much:.2f} s, {little:.2f} s")

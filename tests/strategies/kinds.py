"""A column of every kind that a quasi-identifier may have, and new records for each."""

from __future__ import annotations

import datetime
import decimal
import random
from typing import Any

import pyarrow as pa

import rothko as rk

N = 400
CELLS = random.Random(4)
DAYS = [datetime.date(2020, 1, 1) + datetime.timedelta(days=CELLS.randrange(900)) for _ in range(N)]
DIAGNOSES = ["I21.4", "i21.0", "I219", "E11.40", "E11.41G", "E11.9 V", "D48.9", "D50", "G01*", "C7A.0", "U07.1!"]
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "whole numbers": (pa.array(CELLS.choices(range(60), k=N)), {}),
    "numbers": (pa.array([CELLS.choice([0.1, 2.5, -3.75, 1e10, float("nan")]) for _ in range(N)]), {}),
    "decimals": (pa.array([decimal.Decimal(CELLS.randrange(40)) / 8 for _ in range(N)], pa.decimal128(8, 3)), {}),
    "dates": (pa.array(DAYS), {}),
    "timestamps": (pa.array([datetime.datetime.combine(day, datetime.time(day.month)) for day in DAYS]), {}),
    "times of day": (pa.array([datetime.time(day.month, day.day) for day in DAYS], pa.time64("us")), {}),
    "truth": (pa.array(CELLS.choices([True, False, None], k=N)), {}),
    "ordinal": (pa.array(CELLS.choices(["low", "mid", "high"], k=N)), {"order": ["low", "mid", "high"]}),
    "labels": (pa.array(CELLS.choices(["a", "b's", 'c"', "⊥", "*", "", "{x, y}"], (9, 9, 9, 9, 1, 1, 1), k=N)), {}),
    "flat": (pa.array(CELLS.choices(["a", "b", "c"], k=N)), {"hierarchy": "flat"}),
    "auto": (pa.array(CELLS.choices(range(50), k=N)), {"hierarchy": "auto"}),
    "auto text": (pa.array(CELLS.choices("abcdefghij", k=N)), {"hierarchy": "auto"}),
    "mask right": (pa.array([f"{CELLS.choice((53, 54, 6))}{CELLS.randrange(9)}" for _ in range(N)]),
                   {"type": "text", "hierarchy": {"mask": "right"}}),
    "mask left": (pa.array([f"{CELLS.randrange(9)}{CELLS.choice('ab')}" for _ in range(N)]),
                  {"hierarchy": {"mask": "left"}}),
    "prefix": (pa.array([f"{CELLS.choice('ab')}{CELLS.randrange(3)}{CELLS.choice(('', '.1'))}" for _ in range(N)]),
               {"hierarchy": {"prefix": [2, 1]}}),
    "icd-10": (pa.array(CELLS.choices(DIAGNOSES, k=N)), {"hierarchy": "icd-10"}),
    "intervals": (pa.array(CELLS.choices(range(60), k=N)), {"hierarchy": {"intervals": [5, 20]}}),
    "breaks": (pa.array(CELLS.choices(range(60), k=N)), {"hierarchy": {"breaks": [18, 30, 45]}}),
    "periods": (pa.array(DAYS), {"hierarchy": {"dates": ["month", "quarter", "year", "decade"]}}),
    "days": (pa.array(DAYS), {"hierarchy": {"dates": ["day", "year"]}}),
    "tree": (pa.array(CELLS.choices(["Rome", "Lyon", "Kyoto"], k=N)),
             {"hierarchy": {"tree": {"Europe": ["Rome", "Lyon", "Oslo"], "Asia": ["Kyoto"]}}}),
}  # fmt: skip


def of_kind(kind: str, k: int, form: str = "range", method: str = "refine", **more: Any) -> tuple[pa.Table, rk.Policy]:
    column, spec = KINDS[kind]
    table = pa.table({"x": column, "name": [f"n{i}" for i in range(N)], "kept": list(range(N))})
    columns = {
        "x": {"role": "quasi-identifier", **spec},
        "name": {"role": "identifier"},
        "kept": {"role": "keep"},
    }
    privacy = [{"k-anonymity": {"k": k}}]
    return table, rk.Policy(columns=columns, privacy=privacy, method=method, publish=form, **more)


def new_rows(kind: str, table: pa.Table) -> pa.Table:
    """New records: some that are there, with values that are not, and with none."""
    new = table.slice(0, 40)
    values = new["x"].to_pylist()
    others: dict[str, list[Any]] = {
        "whole numbers": [-5, 99], "numbers": [7.25, -1e9], "dates": [datetime.date(2031, 3, 4)],
        "labels": ["unheard of"], "ordinal": ["unheard of"], "flat": ["unheard of"], "auto": [-1, 99],
        "mask right": ["5399", "88"], "prefix": ["a0.7", "b1x"], "icd-10": ["I21.48", "d45", "x"],
        "mask left": ["xx"], "intervals": [7, 99], "breaks": [-4, 99],
        "periods": [datetime.date(2020, 5, 30), datetime.date(2031, 3, 4)], "tree": ["Oslo", "unheard of"],
        "auto text": ["B", "ca"], "decimals": [decimal.Decimal("-1.125"), decimal.Decimal("3.001")],
    }  # fmt: skip
    values[:3] = [*others.get(kind, []), None, None, None][:3]
    return new.set_column(0, "x", pa.array(values, table["x"].type))

"""The tables of the golden cases: small, and the same on every machine, for they are drawn here."""

from __future__ import annotations

import csv
import datetime as dt
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

ROWS = 420
TREE = {
    "Health": [{"Doctors": ["Surgeon", "Dentist"]}, "Nurse"],
    "Craft": ["Baker", "Smith", {"Wood": ["Joiner", "Cooper"]}],
    "Office": ["Clerk"],
}
JOBS = ("Surgeon", "Dentist", "Nurse", "Baker", "Smith", "Joiner", "Cooper", "Clerk")
GRADES = ("School", "Bachelors", "Masters", "Doctorate")
TOWNS = ("Ærø", "Żary", "京都", "Bath, Spa", "München", "e\u0301vian", "007", 'say "x"')
DISEASES = ("flu", "cold", "asthma", "Ménière", "ulcer", "gout", "HIV")
ILLS = {"lung": ["flu", "cold", "asthma"], "other": ["Ménière", "ulcer", {"blood": ["gout", "HIV"]}]}
CATEGORY = {name: "lung" if name in ("flu", "cold", "asthma") else "other" for name in DISEASES}
NOTES = ("Flu", "HIV", "cold", "gout", "hiv", "none", " HIV", "flu", "ache")
CODES = ("007", "7", "=1+1", "-5", "@home", "ß", "two\nlines", "a, b", "", "漢字")
NESTED = ("tags", "place")
ITEMS = ("tea", "milk", "gin", "bread", "Käse", "egg", "oil", "rice", "salt", "jam", "fish", "nut", "plum", "rye")
LETTER = 3_000
"""Bytes of the text that makes the wide table larger than a small limit of memory leaves for records."""


class Draw:
    """Numbers from ``random()`` alone, the one method whose numbers every Python draws alike."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random

    def below(self, size: int) -> int:
        return int(self.random() * size)

    def one(self, values: Sequence[Any]) -> Any:
        """One of them, early ones more often."""
        return values[int(self.random() ** 1.6 * len(values))]

    def maybe(self, value: Any, share: float = 0.06) -> Any:
        return None if self.random() < share else value


def people(rows: int = ROWS, seed: int = 7) -> pa.Table:
    """Records of every kind of column that there is."""
    draw = Draw(seed)
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for i in range(rows):
        age = 18 + draw.below(60)
        disease = draw.one(DISEASES)
        record = {
            "name": f"person {i}",
            "age": draw.maybe(age),
            "height": round(150 + draw.below(400) / 8, 3),
            "born": draw.maybe(dt.date(2020 - age, 1, 1) + dt.timedelta(draw.below(365)), 0.03),
            "seen": dt.datetime(2023, 1, 1) + dt.timedelta(seconds=draw.below(10**7)),
            "zip": f"{draw.one(('00', '02', '10')):s}{draw.below(30):02d}7",
            "job": draw.maybe(JOBS[min(7, draw.below(4) + age // 20)], 0.04),
            "town": draw.maybe(draw.one(TOWNS)),
            "grade": draw.one(GRADES),
            "smoker": draw.maybe(draw.random() < 0.4, 0.05),
            "disease": disease,
            "cost": draw.maybe(age * 10 + 100 * DISEASES.index(disease) + draw.below(50), 0.02),
            "note": draw.one(NOTES),
            "code": draw.one(CODES),
            "score": draw.maybe(round(draw.random() * 8 - 4, 6)),
            "tags": draw.maybe([draw.one(ITEMS) for _ in range(draw.below(3))]),
            "place": {"x": draw.below(9), "y": draw.maybe(draw.one(TOWNS))},
        }
        for name, value in record.items():
            columns[name].append(value)
    return pa.table(columns, schema=SCHEMA)


SCHEMA = pa.schema({
    "name": pa.string(), "age": pa.int64(), "height": pa.float64(), "born": pa.date32(), "seen": pa.timestamp("us"),
    "zip": pa.string(), "job": pa.string(), "town": pa.dictionary(pa.int32(), pa.string()), "grade": pa.string(),
    "smoker": pa.bool_(), "disease": pa.string(), "cost": pa.int64(), "note": pa.string(), "code": pa.string(),
    "score": pa.float64(), "tags": pa.list_(pa.string()),
    "place": pa.struct({"x": pa.int64(), "y": pa.string()}),
})  # fmt: skip


def wide() -> pa.Table:
    """Few records of many bytes: an engine on disk with the smallest limit must divide them."""
    table = people(3_600, seed=11).drop_columns(["tags", "place", "code", "note"])
    draw = Draw(12)
    letters = [f"{draw.below(10**9):09d}" * (LETTER // 9) for _ in range(table.num_rows)]
    return table.append_column("letter", pa.array(letters))


def baskets(rows: int = 360) -> list[list[str]]:
    """Sets of items, some of them empty, one of them often."""
    draw = Draw(3)
    return [sorted({draw.one(ITEMS) for _ in range(draw.below(7))}) for _ in range(rows)]


def in_another_form(table: pa.Table) -> pa.Table:
    """Numbers with a comma, and dates with the day first."""
    height = [f"{x:.3f}".replace(".", ",") for x in table["height"].to_pylist()]
    born = [None if day is None else f"{day.day}.{day.month:02}.{day.year}" for day in table["born"].to_pylist()]
    score = ["?" if x is None else str(x).replace(".", ",") for x in table["score"].to_pylist()]
    return pa.table({"height": height, "born": born, "disease": table["disease"], "score": score})


UTILITY = {item: 1 + (5 * i) % 9 for i, item in enumerate(ITEMS[:-2])}
FOODS = {"drink": ["tea", "milk", "gin"], "food": list(ITEMS[3:9])}


def write_csv(table: pa.Table, path: Path, *, delimiter: str = ",", encoding: str = "utf-8", head: bool = True) -> None:
    """A text file, written by Python, so that no library's version is in it; missing values are empty fields."""
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        if head:
            writer.writerow(table.column_names)
        for row in table.to_pylist():
            writer.writerow([_field(value) for value in row.values()])


def _field(value: Any) -> Any:
    return {None: "", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else value


def write_all(folder: Path) -> None:
    """Every file that a case reads."""
    table = people()
    flat = table.drop_columns([*NESTED])
    fresh = people(90, seed=99)
    pq.write_table(table, folder / "people.parquet", row_group_size=150)
    feather.write_feather(table, folder / "people.feather")
    with pa.ipc.new_file(folder / "people.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    write_csv(flat, folder / "people.csv")
    write_csv(flat, folder / "people.tsv", delimiter="\t")
    write_csv(fresh.drop_columns([*NESTED]), folder / "fresh.csv")
    pq.write_table(fresh, folder / "fresh.parquet")
    few = table.select(["age", "job", "grade", "disease"])
    write_csv(few, folder / "semicolon.csv", delimiter=";")
    write_csv(few, folder / "utf16.csv", encoding="utf-16")
    write_csv(few, folder / "latin1.csv", encoding="latin-1")
    write_csv(few, folder / "headless.csv", head=False)
    write_csv(in_another_form(table), folder / "comma.csv", delimiter=";")
    tokens = few.set_column(3, "disease", pa.array([x if i % 9 else "?" for i, x in enumerate(_texts(few, "disease"))]))
    write_csv(tokens, folder / "tokens.csv")
    large = wide()
    pq.write_table(large, folder / "wide.parquet", row_group_size=500)
    write_csv(large, folder / "wide.csv")
    (folder / "jobs.csv").write_text("\n".join(_rows(TREE, ())) + "\n", encoding="utf-8")
    (folder / "key").write_bytes(bytes(range(32)))
    _write_sets(folder)


def _write_sets(folder: Path) -> None:
    sets = baskets()
    (folder / "baskets.txt").write_text("".join(" ".join(items) + "\n" for items in sets), encoding="utf-8")
    (folder / "commas.txt").write_text("".join(",".join(items) + "\n" for items in sets), encoding="utf-8")
    pq.write_table(pa.table({"items": pa.array(sets, pa.list_(pa.string()))}), folder / "baskets.parquet")
    pairs = [(i, item) for i, items in enumerate(sets) for item in items or [None]]
    long = pa.table({
        "who": [i for i, _ in pairs], "what": [item for _, item in pairs],
        "worth": [UTILITY.get(item, 1) for _, item in pairs],
    })  # fmt: skip
    write_csv(long, folder / "long.csv")
    pq.write_table(long, folder / "long.parquet")
    marks = pa.table({item: [int(item in items) for items in sets] for item in ITEMS})
    write_csv(marks, folder / "marks.csv")
    with (folder / "utility.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("item", "utility"), *UTILITY.items()])
    (folder / "foods.csv").write_text("\n".join(_rows(FOODS, ())) + "\n", encoding="utf-8")


def _texts(table: pa.Table, name: str) -> list[Any]:
    texts: list[Any] = table[name].to_pylist()
    return texts


def _rows(tree: Any, above: tuple[str, ...]) -> list[str]:
    """The lines of a hierarchy file: a leaf and what is above it."""
    if isinstance(tree, str):
        return [";".join((tree, *above))]
    if isinstance(tree, dict):
        return [line for label, below in tree.items() for line in _rows(below, (label, *above))]
    return [line for one in tree for line in _rows(one, above)]

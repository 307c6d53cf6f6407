"""A real census: the American Community Survey 2018 with the nine attributes of the paper's table.

Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007, Table 1: age and education are numbers, five attributes have hierarchies,
and the occupation is sensitive. The survey's education is a number of its 24 steps; the country is the place of birth,
and there are states of the United States beside it; of its 529 occupations neighbours by name are made one, 50 in all.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rothko.generate.census import COUNTRIES, QUASI_IDENTIFIERS

FILE = "acs_income_2018/acs_income_2018.parquet"
COLUMNS = ("Age", "Gender", "Education", "Marital Status", "Race", "Workclass", "Place of birth", "Occupation")
"""The survey's names of the quasi-identifiers, as :mod:`rothko.generate.census` orders them, and of the occupation."""
EDUCATION = (
    "No schooling completed", "Nursery school, preschool", "Kindergarten", *(f"Grade {i}" for i in range(1, 12)),
    "12th grade - no diploma", "Regular high school diploma", "GED or alternative credential",
    "Some college, but less than 1 year", "1 or more years of college credit, no degree", "Associate's degree",
    "Bachelor's degree", "Master's degree", "Professional degree beyond a bachelor's degree", "Doctorate degree",
)  # fmt: skip
MARRIED = {
    "married": ["Married", "Separated"],
    "no longer married": ["Divorced", "Widowed"],
    "never married": ["Never married or under 15 years old"],
}
WORK = {"Employee of a private": "private", "Self-employed": "own", "Federal": "government", "State": "government",
        "Local": "government"}  # fmt: skip
"""How the name of a class of workers begins → its kind."""
AMERICAN = ("Puerto Rico", "Guam", "US Virgin Islands", "American Samoa")
OCCUPATIONS = 50


@lru_cache(maxsize=1)
def whole(folder: Path) -> pa.Table:
    """All of its records in a random order."""
    table = pq.read_table(folder / FILE, columns=list(COLUMNS)).rename_columns([*QUASI_IDENTIFIERS, "occupation"])
    place = pa.array(EDUCATION)
    steps = pa.compute.index_in(table["education"], value_set=place)
    table = table.set_column(table.column_names.index("education"), "education", steps)
    table = grouped(table, OCCUPATIONS)
    return table.take(pa.array(np.random.default_rng(0).permutation(table.num_rows)))


def trees(folder: Path) -> dict[str, Any]:
    """Quasi-identifier → its hierarchy, as a policy has it."""
    table = whole(folder)
    return {
        "gender": "flat",
        "marital_status": {"tree": MARRIED},
        "race": "flat",
        "work_class": {"tree": _by(table, "work_class", _kind_of_work)},
        "country": {"tree": _by(table, "country", _part_of_the_world)},
    }


def _by(table: pa.Table, column: str, kind: Any) -> dict[str, list[str]]:
    """The values of a column by their kind."""
    found: dict[str, list[str]] = {}
    for value in sorted(table[column].unique().to_pylist()):
        found.setdefault(kind(value), []).append(value)
    return found


def _kind_of_work(name: str) -> str:
    return next((kind for begin, kind in WORK.items() if name.startswith(begin)), "without pay")


def _part_of_the_world(place: str) -> str:
    """States end with their letters; the made-up census knows where most countries lie."""
    if place in AMERICAN or place[-3:-2] == "/":
        return "in the United States"
    return next((f"in {part}" for part, countries in COUNTRIES.items() if place in countries), "elsewhere")


def grouped(table: pa.Table, values: int) -> pa.Table:
    """The table with fewer sensitive values: neighbours in the order of their names are made one."""
    codes = table["occupation"].combine_chunks().dictionary_encode()
    rank = np.argsort(np.argsort(codes.dictionary.to_pylist()))
    merged = rank[codes.indices.to_numpy()] * values // len(codes.dictionary)
    names = pa.array([f"group {i:02d}" for i in range(values)])
    return table.set_column(table.column_names.index("occupation"), "occupation", names.take(pa.array(merged)))

"""The tables of the experiments: Agrawal's generator, and real data from a folder that the user names.

LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 4.3. Their Census table (American Community Survey 2003) is not at
hand. UCI Adult stands for it, as the paper itself compares the two: income class for classification, hours per week for
regression. For regression there is also the income in a survey of 2018 with attributes like theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from rothko.generate.agrawal import agrawal, random_constants
from rothko.policy.policy import Policy
from rothko.workload import Classify, Regress

RECORDS = 1_000
"""Of a synthetic training table, and of its test table."""
Target = Literal["R7", "R10"]
ATTRIBUTES = ("salary", "commission", "age", "elevel", "car", "zipcode", "hvalue", "hyears", "loan")
# The paper constrains elevel and car by hierarchies that it does not print: neighbours in twos, and in fives.
TREES: dict[str, dict[str, list[str]]] = {
    "elevel": {"0-1": ["0", "1"], "2-3": ["2", "3"], "4 only": ["4"]},
    "car": {f"{first}-{first + 4}": [str(first + i) for i in range(5)] for first in (1, 6, 11, 16)},
}


@dataclass(frozen=True, slots=True)
class Dataset:
    """A table with what is asked of it; the policy's k is replaced by that of the experiment."""

    table: pa.Table
    policy: Policy
    target: str


# ── synthetic


def people(
    trial: int,
    functions: Sequence[int],
    *,
    varied: Iterable[int] = (),
    target: Target | None = None,
    n: int = 2 * RECORDS,
) -> pa.Table:
    """Synthetic people of one trial, with a label ``c2`` for function 2 and so on.

    Parameters
    ----------
    varied
        The functions whose constants are drawn at random, anew in every trial.
    target
        The regression target, R7 or R10, in a column ``target``.
    """
    table = agrawal(n, function=None, target=target, seed=trial)
    for function in functions:
        constants = random_constants(function, seed=trial) if function in varied else None
        labelled = agrawal(n, function=function, constants=constants, seed=trial)
        table = table.append_column(f"c{function}", labelled["class"])
    return table


def people_policy(table: pa.Table, *, k: int, workload: Iterable[Any] = ()) -> Policy:
    """All attributes are quasi-identifiers, and all else is kept."""
    hierarchies = {name: {"tree": tree} for name, tree in TREES.items()}
    return Policy.quick(
        table.column_names, qi=ATTRIBUTES, keep_rest=True, k=k, hierarchies=hierarchies, workload=workload
    )


# ── real

ADULT = (
    "age", "workclass", "education-num", "marital-status", "occupation", "relationship", "race", "sex",
    "capital-gain", "capital-loss", "hours-per-week", "native-country",
)  # fmt: skip
"""Without the sampling weight, and without ``education``, which says the same as its number."""
ADULT_TREES = ("workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country")
SURVEY = (
    "State", "Age", "Citizenship status", "Marital Status", "Education", "Gender", "Travel time to work",
    "Self-care difficulty", "Race",
)  # fmt: skip
"""Those of the paper's Census table, or the nearest to them: the hours of work are not there, the way to work is."""
SURVEY_RECORDS = 49_657
"""As many as the paper's Census table has."""


@lru_cache(maxsize=8)
def real(name: str, folder: Path, rows: int | None = None) -> Dataset:
    """One of the real tables; of so many records, drawn at random, where ``rows`` says so."""
    made = _REAL[name](folder)
    if rows is None or rows >= made.table.num_rows:
        return made
    drawn = np.random.default_rng(rows).permutation(made.table.num_rows)[:rows]
    return Dataset(made.table.take(pa.array(np.sort(drawn))), made.policy, made.target)


def _income(folder: Path) -> Dataset:
    """Adult with its income class."""
    return _adult(folder, ADULT, "salary-class", Classify)


def _hours(folder: Path) -> Dataset:
    """Adult with the hours of work as a number to predict."""
    return _adult(folder, [name for name in ADULT if name != "hours-per-week"], "hours-per-week", Regress)


def _adult(folder: Path, quasi: Sequence[str], target: str, task: Any) -> Dataset:
    table = pq.read_table(folder / "adult/adult_uci.parquet", columns=[*quasi, target])
    trees = {name: str(folder / f"adult/hierarchies/adult_hierarchy_{name}.csv") for name in ADULT_TREES}
    policy = Policy.quick(table.column_names, qi=quasi, keep=target, k=2, hierarchies=trees, workload=[task(target)])
    return Dataset(table, policy, target)


def _contraceptives(folder: Path) -> Dataset:
    """Contraceptive method choice: numbers and hierarchies as in the paper's Table IV."""
    table = csv.read_csv(folder / "cmc/cmc.csv")
    education = str(folder / "cmc/hierarchies/cmc_hierarchy_Weducation.csv")
    trees = {"Weducation": education, "Heducation": education}
    trees |= dict.fromkeys(("religion", "working", "occupation", "exposure"), "flat")
    quasi = [name for name in table.column_names if name != "method"]
    policy = Policy.quick(table.column_names, qi=quasi, keep="method", k=2, hierarchies=trees, classify="method")
    return Dataset(table, policy, "method")


def _survey(folder: Path) -> Dataset:
    """American Community Survey 2018 with the income as a number to predict."""
    table = pq.read_table(folder / "acs_income_2018/acs_income_2018.parquet", columns=[*SURVEY, "Income"])
    drawn = np.random.default_rng(0).permutation(table.num_rows)[:SURVEY_RECORDS]
    trees = {"State": str(folder / "acs_income_2018/hierarchies/acs_income_2018_hierarchy_State.csv")}
    policy = Policy.quick(table.column_names, qi=SURVEY, keep="Income", k=2, hierarchies=trees, regress="Income")
    return Dataset(table.take(pa.array(np.sort(drawn))), policy, "Income")


_REAL = {"income": _income, "hours": _hours, "contraceptives": _contraceptives, "survey": _survey}

"""Made-up patients, for the demo and the documentation: every kind of column that a policy has a word for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.errors import InputError

FIRST = ("Ada", "Alan", "Barbara", "Claude", "Donald", "Edsger", "Frances", "Grace", "Hedy", "Leslie", "Radia", "Tim")
LAST = (
    "Allen",
    "Borg",
    "Codd",
    "Floyd",
    "Hamilton",
    "Hoare",
    "Hopper",
    "Iverson",
    "Lamport",
    "Liskov",
    "Perlman",
    "Wu",
)
EDUCATION = ("none", "primary", "secondary", "vocational", "bachelor", "master", "doctorate")
DIAGNOSES = ("asthma", "diabetes", "flu", "fracture", "hepatitis", "hypertension", "migraine", "pneumonia")


def patients(n: int, *, seed: int = 0) -> pa.Table:
    """A table of ``n`` made-up patients.

    >>> patients(2).column_names
    ['name', 'birth_date', 'sex', 'zip', 'education', 'diagnosis', 'cost']
    """
    random = np.random.default_rng(seed)

    def pick(words: Sequence[str], weights: Sequence[float] | None = None) -> pa.Array:
        return pa.array(words).take(pa.array(random.choice(len(words), n, p=weights)))

    birth = random.integers(-14_000, 15_000, n).astype(np.int32)  # days since 1970: 1931 to 2011
    area = random.choice(12, n, p=np.arange(12, 0, -1) / 78)
    numbers = 1000 + area * 730 + random.integers(0, 40, n)
    frequency = [share / 36 for share in (8, 7, 6, 5, 4, 3, 2, 1)]
    return pa.table(
        {
            "name": pc.binary_join_element_wise(
                pa.array(FIRST).take(pa.array(random.integers(0, len(FIRST), n))),
                pa.array(LAST).take(pa.array(random.integers(0, len(LAST), n))),
                " ",
            ),
            "birth_date": pa.array(birth).cast(pa.date32()),
            "sex": pick(["female", "male"]),
            "zip": np.char.zfill(numbers.astype(str), 5),
            "education": pick(EDUCATION, [0.02, 0.10, 0.33, 0.20, 0.20, 0.12, 0.03]),
            "diagnosis": pick(DIAGNOSES, frequency),
            "cost": np.round(random.lognormal(7, 1, n)).astype(np.int64),
        }
    )


def visits(n: int, *, mean: float = 3.0, seed: int = 0) -> pa.Table:
    """The visits of ``n`` made-up patients: a record for each, with the patient's number and the date.

    Parameters
    ----------
    mean
        How often a patient comes on average; everybody comes once.

    Examples
    --------
    >>> visits(2).column_names
    ['patient_id', 'visit_date', 'name', 'birth_date', 'sex', 'zip', 'education', 'diagnosis', 'cost']
    """
    if not 1 <= mean < math.inf:
        raise InputError(f"A patient must come at least once on average, not {mean:g} times.")
    random = np.random.default_rng([seed, 1])
    who = np.repeat(np.arange(n), 1 + random.poisson(mean - 1, n))
    random.shuffle(who)
    of_person = patients(n, seed=seed).drop_columns(["diagnosis", "cost"]).take(pa.array(who))
    of_visit = patients(len(who), seed=seed + 1).select(["diagnosis", "cost"])
    numbers = random.permutation(n)[who] + 100_000
    days = random.integers(19_723, 20_089, len(who)).astype(np.int32)  # days since 1970: the year 2024
    columns = {"patient_id": pa.array(numbers), "visit_date": pa.array(days).cast(pa.date32())}
    for table in (of_person, of_visit):
        columns |= {name: table[name] for name in table.column_names}
    return pa.table(columns)

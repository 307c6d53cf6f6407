"""Made-up patients, for the demo and the documentation: every kind of column that a policy has a word for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

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
            "name": [
                f"{FIRST[i]} {LAST[j]}"
                for i, j in zip(random.integers(0, len(FIRST), n), random.integers(0, len(LAST), n), strict=True)
            ],
            "birth_date": pa.array(birth).cast(pa.date32()),
            "sex": pick(["female", "male"]),
            "zip": np.char.zfill(numbers.astype(str), 5),
            "education": pick(EDUCATION, [0.02, 0.10, 0.33, 0.20, 0.20, 0.12, 0.03]),
            "diagnosis": pick(DIAGNOSES, frequency),
            "cost": np.round(random.lognormal(7, 1, n)).astype(np.int64),
        }
    )

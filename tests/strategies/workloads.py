"""Random tasks about a random table."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.policy.policy import Policy
from rothko.workload import Classify, Regress, Task
from tests.strategies.tables import Case


@st.composite
def tasks(draw: st.DrawFn, case: Case) -> tuple[dict[str, list[Any]], tuple[Task, ...]]:
    """Columns to predict, and tasks about them, about sensitive columns, and about boxes of the quasi-identifiers."""
    cells = random.Random(draw(st.integers(0, 2**32)))
    n = len(next(iter(case.columns.values())))
    names = list(case.specs)
    sensitive = [name for name in case.columns if name not in case.specs]
    columns: dict[str, list[Any]] = {}
    workload: list[Task] = []
    for t in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from([Classify, Regress]))
        if sensitive and cells.random() < 0.3:
            name = cells.choice(sensitive)
        else:
            name = f"t{t}"
            column: list[Any] = cells.choices(range(cells.choice([2, 2, 3, 40])), k=n)
            if cells.random() < 0.5:  # a column that a quasi-identifier tells, so that nodes become pure
                told = [str(value) for value in case.columns[cells.choice(names)]]
                column = (
                    [int(value < cells.choice(told)) for value in told]
                    if cells.random() < 0.3
                    else [sorted(set(told)).index(value) % 2 for value in told]
                )
            column = [None if cells.random() < cells.choice([0, 0.2]) else value for value in column]
            columns[name] = column
        held = {value for value in (columns | case.columns)[name] if value is not None}
        if len(held) < 2:
            columns.pop(name, None)
            continue
        features = None
        if cells.random() < 0.4:
            beyond = {f"f{t}": cells.choices(range(4), k=n)} if cells.random() < 0.5 else {}
            columns |= beyond
            features = (*cells.sample(names, cells.randint(0, len(names))), *beyond) or None
        workload.append(kind(name, features))
    return columns, tuple(workload)


def encoded_with(case: Case, columns: dict[str, list[Any]], workload: tuple[Task, ...]) -> Encoded:
    specs = {name: {"role": "quasi-identifier", **spec} for name, spec in case.specs.items()}
    sensitive = {name: {"role": "sensitive"} for name in case.columns if name not in case.specs}
    kept = {name: {"role": "keep"} for name in columns}
    policy = Policy(columns={**specs, **sensitive, **kept}, privacy=case.requirements, workload=workload)
    return encode(typed(pa.table({**case.columns, **columns}), policy), policy)

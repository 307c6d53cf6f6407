"""Random tables with class labels, and requirements over sets of their quasi-identifiers."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import get_args

import pyarrow as pa
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.methods.refine.refine import Refine, Refined, refine
from rothko.methods.refine.requirements import sets_of
from rothko.methods.refine.standing import Criterion, Reading
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity
from tests.strategies.tables import Case, cases, records
from tests.twins import mondrian as plain
from tests.twins import refine as plain_refine


@dataclass(frozen=True)
class Asked:
    """A random table with class labels, and requirements over sets of its quasi-identifiers."""

    case: Case
    labels: dict[str, list[str | None]]
    criterion: str
    reading: str = "rothko"

    def method(self) -> Refine:
        return Refine(criterion=self.criterion, reading=self.reading)  # type: ignore[arg-type]

    def policy(self) -> Policy:
        specs = {name: {"role": "quasi-identifier", **spec} for name, spec in self.case.specs.items()}
        sensitive = {name: {"role": "sensitive"} for name in self.case.columns if name not in self.case.specs}
        kept = {name: {"role": "keep"} for name in self.labels}
        return Policy(
            columns={**specs, **sensitive, **kept},
            privacy=self.case.requirements,
            workload=[{"classify": {"target": name}} for name in self.labels],
        )

    def encoded(self) -> Encoded:
        policy = self.policy()
        return encode(typed(pa.table({**self.case.columns, **self.labels}), policy), policy)

    def run(self) -> Refined:
        return refine(self.encoded(), self.case.requirements, self.method(), self.policy().workload)

    def twin(self) -> plain_refine.Problem:
        encoded = self.encoded()
        names = [line.name for line in encoded.lines]
        sets = sets_of(self.case.requirements, names)[0]
        labels = []
        for name in self.labels:
            codes, domain = encoded.targets[name]
            labels.append([None if code == domain.size - 1 else code for code in codes.tolist()])
        required = [(tuple(names.index(name) for name in one.names), one.requirements) for one in sets]
        return plain_refine.Problem(
            encoded.lines, records(encoded), required, self.case.columns, labels, self.criterion, self.reading
        )

    def feasible(self) -> bool:
        everybody = list(range(len(self.case.columns["q0"])))
        return all(plain.satisfies(one, everybody, self.case.columns) for one in self.case.requirements)


def as_suppressed(found: Refined) -> list[set[tuple[int, ...]]]:
    """The suppressed values of each line."""
    return [{tuple(part.codes.tolist()) for part in parts if part.suppressed} for parts in found.parts]


@st.composite
def tables(draw: st.DrawFn) -> Asked:
    case = draw(cases())
    names = list(case.specs)
    n = len(case.columns["q0"])
    cells = random.Random(draw(st.integers(0, 2**32)))
    some = st.one_of(st.none(), st.lists(st.sampled_from(names), min_size=1, unique=True))
    over = [replace(one, over=draw(some)) for one in case.requirements]
    over += [KAnonymity(k=draw(st.integers(2, 5)), over=draw(some)) for _ in range(draw(st.integers(0, 2)))]
    labels: dict[str, list[str | None]] = {}
    for t in range(draw(st.integers(0, 2)) if n > 1 else 0):
        pool: list[str | None] = ["y", "n", "m", None][: cells.randint(2, 4)]
        # Labels that depend on a quasi-identifier: there is something to gain.
        by = case.columns[cells.choice(names)]
        labels[f"t{t}"] = [cells.choice(pool) if cells.random() < 0.3 else pool[ord(str(v)[-1]) % 2] for v in by]
        labels[f"t{t}"][:2] = ["y", "n"]
    criterion, reading = draw(st.sampled_from(get_args(Criterion))), draw(st.sampled_from(get_args(Reading)))
    return Asked(replace(case, requirements=tuple(over)), labels, criterion, reading)

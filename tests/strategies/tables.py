"""Random small tables with requirements, as the engines and the plain twins take them, and what came of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.methods.classes import Classes, TreeClasses
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity, Requirement
from tests.strategies import asked
from tests.twins import mondrian as plain

# A kernel is compiled by its first call, which takes longer than Hypothesis grants an example.
unhurried = settings(deadline=None, max_examples=150)

NUMBERS = (0, 1, 2, 3, 5, 8, 13, 16)
"""The extremes are a power of two apart, so that widths are exact in floating point, and ties are ties."""
LETTERS = ("a", "b", "c", "d", "e", "f", "g")
TREES: tuple[Any, ...] = (
    "flat",
    "auto",
    {"tree": {"A": ["a", "b"], "B": ["c", "d"], "C": ["e", "f", "g"]}},
    # Unbalanced, with a chain of only children and a leaf beside inner nodes.
    {"tree": {"A": {"AA": ["a", "b"]}, "B": ["c", {"BB": ["d", {"BBB": ["e", "f"]}]}], "g": None}},
    {"tree": {"Z": {"Y": {"X": ["g", "a"], "W": ["b", "c", "d"]}, "V": ["e"]}, "U": ["f"]}},
)


@dataclass(frozen=True)
class Case:
    """A random table, what is asked of it, and both as the engine and the twin take them."""

    columns: dict[str, list[Any]]
    specs: dict[str, dict[str, Any]]
    requirements: tuple[Requirement, ...]

    def encoded(self) -> Encoded:
        # A nested tree goes through {"tree": …}; a leaf without a list is written as None there.
        specs = {name: {"role": "quasi-identifier", **spec} for name, spec in self.specs.items()}
        sensitive = {name: {"role": "sensitive"} for name in self.columns if name not in self.specs}
        policy = Policy(columns={**specs, **sensitive}, privacy=self.requirements)
        return encode(typed(pa.table(self.columns), policy), policy)

    def allowed(self) -> plain.Allowed:
        return plain.all_of(self.requirements, self.columns)

    def permuted(self, order: Sequence[int]) -> Case:
        return Case({name: [c[i] for i in order] for name, c in self.columns.items()}, self.specs, self.requirements)


def listed(spec: Any) -> Any:
    """Write a leaf among branches as the policy takes it: in a list."""
    if not isinstance(spec, dict):
        return spec
    branches = [{key: below} if below is not None else key for key, below in spec["tree"].items()]
    return {"tree": branches}


def numbers(cells: random.Random, n: int) -> list[int | None]:
    if n == 1 or cells.random() < 0.15:
        return [cells.choice(NUMBERS)] * n
    column: list[int | None] = list(cells.choices(NUMBERS[: cells.randint(2, len(NUMBERS))], k=n))
    if cells.random() < 0.5:
        absent = cells.random()
        column = [None if cells.random() < absent else value for value in column]
    first, last = cells.sample(range(n), 2)
    column[first], column[last] = NUMBERS[0], NUMBERS[-1]
    return column


def labels(cells: random.Random, n: int) -> list[str | None]:
    pool: list[str | None] = list(cells.sample(LETTERS, cells.randint(1, len(LETTERS))))
    return cells.choices([*pool, None] if cells.random() < 0.5 else pool, k=n)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Hypothesis draws the shape, and shrinks it; the cells come from a seed, since drawn ones repeat too much."""
    n = draw(st.integers(1, 40))
    cells = random.Random(draw(st.integers(0, 2**32)))
    columns: dict[str, list[Any]] = {}
    specs: dict[str, dict[str, Any]] = {}
    for a, kind in enumerate(draw(st.lists(st.sampled_from(("ordered", "nominal", "tree")), min_size=1, max_size=4))):
        columns[f"q{a}"] = numbers(cells, n) if kind == "ordered" else labels(cells, n)
        specs[f"q{a}"] = {"weight": cells.choice((1, 1, 1, 2, 0.5))}
        if kind == "tree":
            specs[f"q{a}"]["hierarchy"] = listed(cells.choice(TREES))
    requirements: list[Requirement] = []
    if draw(st.booleans()):
        requirements.append(KAnonymity(k=draw(st.integers(2, 6))))
    for s in range(draw(st.integers(0 if requirements else 1, 2))):
        values = cells.sample((*asked.NUMBERS, None), cells.randint(1, 5))
        # At least one value: a column that is missing altogether is no column of numbers.
        held = [value for value in values if value is not None][:1] or [asked.NUMBERS[0]]
        drawn = cells.choices(values, weights=[cells.random() + 0.01 for _ in values], k=n)
        columns[f"s{s}"] = [held[0], *drawn[1:]]
        requirements += draw(st.lists(asked.any_requirement(f"s{s}"), min_size=1, max_size=2))
    return Case(columns, specs, tuple(requirements))


def classes(result: Classes) -> list[list[int]]:
    return [sorted(result.order[a:b].tolist()) for a, b in zip(result.starts, result.starts[1:], strict=False)]


def regions(result: Classes) -> list[tuple[tuple[int, int], ...]]:
    assert isinstance(result, TreeClasses)
    return [
        tuple(zip(low, high, strict=True))
        for low, high in zip(*(codes.tolist() for codes in result.cuts.regions()), strict=True)
    ]


def records(encoded: Encoded) -> list[plain.Record]:
    return [tuple(record) for record in encoded.codes.T.tolist()]


def boxes(encoded: Encoded, found: Classes) -> Counter[Any]:
    """What classes publish, and how many records each has."""
    return Counter(
        (len(numbers), *(tuple(sorted(set(row[numbers].tolist()))) for row in encoded.codes))
        for numbers in classes(found)
    )

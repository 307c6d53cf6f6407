"""Small tables and releases of them, made by plain Python: any grouping of the records, published class by class.

Of each class it is known which values its entries stand for, straight from the definitions.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import rothko as rk

TREE = {
    "Rome": ("Rome", "Italy", "Europe", "*"),
    "Milan": ("Milan", "Italy", "Europe", "*"),
    "Lyon": ("Lyon", "France", "Europe", "*"),
    "Osaka": ("Osaka", "Asia", "*"),
    "Kyoto": ("Kyoto", "Asia", "*"),
}
"""Leaf → the way up, of different lengths."""

POLICY = rk.Policy.parse(
    """
columns:
  age: {role: quasi-identifier, type: number}
  city:
    role: quasi-identifier
    hierarchy: {tree: {Europe: [{Italy: [Rome, Milan]}, {France: [Lyon]}], Asia: [Osaka, Kyoto]}}
  colour: {role: quasi-identifier, type: text}
  disease: {role: sensitive}
privacy:
  - k-anonymity: {k: 2}
"""
)
QUASI = ("age", "city", "colour")
Values = frozenset[Any]


@dataclass(frozen=True)
class Released:
    """A table and a grouping of its records."""

    table: dict[str, list[Any]]
    groups: tuple[int, ...]
    """The class of each record."""

    @property
    def rows(self) -> int:
        return len(self.groups)

    @property
    def classes(self) -> list[list[int]]:
        """Record numbers of each class."""
        return [[i for i in range(self.rows) if self.groups[i] == g] for g in sorted(set(self.groups))]

    def domain(self, name: str) -> Values:
        return frozenset(self.table[name])

    def stands_for(self, name: str, records: Sequence[int]) -> Values:
        """The values that what a class shows may stand for."""
        found, domain = {self.table[name][i] for i in records}, self.domain(name)
        if len(found) == 1 or (name == "colour" and None not in found):
            return frozenset(found)
        if None in found:
            return domain
        if name == "age":
            return frozenset(x for x in domain if x is not None and min(found) <= x <= max(found))
        node = lowest(found)
        return frozenset(x for x in domain if (node in TREE[x] if x is not None else node == "*"))

    def label(self, name: str, records: Sequence[int]) -> str | None:
        found = {self.table[name][i] for i in records}
        if found == {None}:
            return None
        if None in found:
            return "*"
        if len(found) == 1:
            return str(next(iter(found)))
        if name == "age":
            return f"[{min(found)}, {max(found)}]"
        return lowest(found) if name == "city" else "{" + ", ".join(sorted(found)) + "}"

    def shown(self, order: int = 0) -> dict[str, list[Any]]:
        """The release, its rows in another order."""
        rows = []
        for records in self.classes:
            labels = {name: self.label(name, records) for name in QUASI}
            rows += [labels | {"disease": self.table["disease"][i]} for i in records]
        random.Random(order).shuffle(rows)
        return {name: [row[name] for row in rows] for name in (*QUASI, "disease")}

    def merged(self) -> Released:
        """The same with the first two classes put together."""
        first = sorted(set(self.groups))[:2]
        return Released(self.table, tuple(first[0] if g in first else g for g in self.groups))


def lowest(found: set[Any]) -> str:
    """The lowest common node of some leaves."""
    one = next(iter(found))
    return next(node for node in TREE[one] if all(node in TREE[other] for other in found))


@st.composite
def releases(draw: st.DrawFn, missing: bool = True) -> Released:
    rows = draw(st.integers(1, 14))
    nothing = st.none() if missing else st.nothing()
    ages = st.sampled_from([17, 20, 30, 31, 60]) | nothing
    columns = {
        "age": ages,
        "city": st.sampled_from(list(TREE)) | nothing,
        "colour": st.sampled_from(["amber", "blue", "cyan", "dun", "ebony"]) | nothing,
        "disease": st.sampled_from(["flu", "cold", "gout"]) | nothing,
    }
    table = {name: draw(st.lists(values, min_size=rows, max_size=rows)) for name, values in columns.items()}
    groups = draw(st.lists(st.integers(0, 4), min_size=rows, max_size=rows))
    return Released(table, tuple(groups))


def exact(case: Released) -> Released:
    """Every record a class of its own."""
    return Released(case.table, tuple(range(case.rows)))


def one_class(case: Released) -> Released:
    return Released(case.table, (0,) * case.rows)

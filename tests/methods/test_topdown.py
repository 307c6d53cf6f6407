"""TopDown against a plain twin of it, and its properties on random small tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind, Line
from rothko.data.typed import typed
from rothko.errors import PolicyError
from rothko.methods import TopDown
from rothko.methods import topdown as module
from rothko.methods.classes import Classes
from rothko.policy.policy import Policy
from rothko.privacy import FrequencyLDiversity, KAnonymity, Requirement
from tests.strategies import asked
from tests.twins import mondrian as plain

unhurried = settings(deadline=None, max_examples=100)
Record = tuple[int, ...]


# ── the plain twin: groups are lists of record numbers, every NCP is taken anew


def ncp(lines: Sequence[Line], records: Sequence[Record]) -> float:
    total = 0.0
    for a, line in enumerate(lines):
        codes = {record[a] for record in records}
        low, high = min(codes), max(codes)
        if low == high:
            continue
        if high == line.missing_code:
            total += line.weight
        elif line.kind is Kind.ORDERED:
            total += max(line.weight * ((line.places[high] - line.places[low]) / line.span), 1e-300)
        elif line.kind is Kind.NOMINAL:
            total += line.weight * (len(codes) / line.size)
        else:
            tree = line.tree
            assert tree is not None
            node = tree.leaf[low]
            while tree.high[node] < high:
                node = tree.parent[node]
            total += line.weight * ((tree.high[node] - tree.low[node] + 1) / line.size)
    return total


class Twin:
    def __init__(self, encoded: Encoded, k: int, seed: int) -> None:
        self.k, self.lines = k, encoded.lines
        self.records = [tuple(map(int, row)) for row in encoded.codes.T]
        self.groups: list[list[int]] = []
        self.divide([int(i) for i in np.random.default_rng(seed).permutation(encoded.rows)])

    def ncp(self, group: Sequence[int]) -> float:
        return ncp(self.lines, [self.records[i] for i in group])

    def divide(self, group: list[int]) -> None:
        if len(group) < 2 * self.k:
            self.groups.append(group)
            return
        u = group[0]
        v = max(group, key=lambda r: self.ncp([u, r]))
        apart = self.ncp([u, v])
        if apart == 0:
            full = len(group) // self.k
            self.groups += [group[i * self.k : (i + 1) * self.k] for i in range(full - 1)] + [
                group[(full - 1) * self.k :]
            ]
            return
        for _ in range(2):
            w = max(group, key=lambda r: self.ncp([v, r]))
            if self.ncp([v, w]) <= apart:
                break
            u, v, apart = v, w, self.ncp([v, w])
        parts: tuple[list[int], list[int]] = ([u], [v])
        sides = {u: 0, v: 1}
        for r in group:
            if r not in (u, v):
                then = [self.ncp([*part, r]) for part in parts]
                now = [self.ncp(part) for part in parts]
                sides[r] = int(then[1] < then[0] or (then[0] == then[1] and now[1] > now[0]))
                parts[sides[r]].append(r)
        for side in range(2):
            self.divide([r for r in group if sides[r] == side])

    def adjust(self) -> None:
        waiting = [g for g, group in enumerate(self.groups) if len(group) < self.k] if len(self.groups) > 1 else []
        while waiting:
            g = waiting.pop(0)
            small = self.groups[g]
            if not 0 < len(small) < self.k:
                continue
            raised, partner, taken, lender = math.inf, -1, math.inf, -1
            for h, other in enumerate(self.groups):
                if h == g or not other:
                    continue
                if len(small) + len(other) < 2 * self.k:
                    cost = len(small + other) * self.ncp(small + other) - len(other) * self.ncp(other)
                    if cost < raised:
                        raised, partner = cost, h
                else:
                    cost = self.ncp(small + self.nearest(small, other))
                    if cost < taken:
                        taken, lender = cost, h
            if lender >= 0:
                other = self.groups[lender]
                lent = self.nearest(small, other)
                rest = [r for r in other if r not in lent]
                if self.k * taken + len(rest) * self.ncp(rest) - len(other) * self.ncp(other) < raised:
                    self.groups[g], self.groups[lender] = self.in_list(small, lent), rest
                    continue
            self.groups[g] = self.in_list(small, self.groups[partner])
            self.groups[partner] = []
            if len(self.groups[g]) < self.k:
                waiting.append(g)

    def nearest(self, small: list[int], other: list[int]) -> list[int]:
        return sorted(other, key=lambda r: self.ncp([*small, r]))[: self.k - len(small)]

    @staticmethod
    def in_list(small: list[int], new: list[int]) -> list[int]:
        """What comes to a group stands before what it has, the last one first."""
        return new[::-1] + small

    def join(self, allowed: plain.Allowed) -> None:
        for g in range(len(self.groups)):
            while self.groups[g] and not allowed(self.groups[g]):
                others = [h for h, other in enumerate(self.groups) if other and h != g]
                mine = self.groups[g]

                def raised(h: int, mine: list[int] = mine) -> float:
                    other = self.groups[h]
                    return len(mine + other) * self.ncp(mine + other) - len(other) * self.ncp(other)

                nearest = min(others, key=raised)
                self.groups[g] = self.in_list(mine, self.groups[nearest])
                self.groups[nearest] = []

    def classes(self) -> set[tuple[int, ...]]:
        return {tuple(sorted(group)) for group in self.groups if group}


# ── tables


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[Any]], Encoded]:
    n = draw(st.integers(1, 24))
    column = {
        "number": st.sampled_from((0, 1, 2, 3, 5, 8, 13, 16)),
        "letter": st.sampled_from(("a", "b", "c", "d", None)),
        "leaf": st.sampled_from(("a", "b", "c", "d", "e")),
    }
    tree = {"tree": {"A": ["a", "b"], "B": {"C": ["c", "d"], "D": ["e"]}}}
    specs: dict[str, Any] = {"number": {}, "letter": {}, "leaf": {"hierarchy": tree}}
    names = draw(st.lists(st.sampled_from(sorted(column)), min_size=1, max_size=3, unique=True))
    columns: dict[str, list[Any]] = {name: draw(st.lists(column[name], min_size=n, max_size=n)) for name in names}
    columns["s"] = draw(st.lists(st.sampled_from((*asked.NUMBERS, None)), min_size=n, max_size=n))
    roles = {name: {"role": "quasi-identifier", **specs[name]} for name in names}
    policy = Policy(columns={**roles, "s": {"role": "sensitive"}}, privacy=[{"k-anonymity": {"k": 2}}])
    kinds = {"s": pa.int64(), "number": pa.int64()}
    arrow = pa.table({name: pa.array(column, kinds.get(name, pa.string())) for name, column in columns.items()})
    return columns, encode(typed(arrow, policy), policy)


def made(encoded: Encoded, requirements: Sequence[Requirement], seed: int = 0, threads: int = 1) -> Classes:
    return TopDown().partition(encoded, requirements, seed=seed, threads=threads)


def classes(found: Classes) -> set[tuple[int, ...]]:
    return {tuple(sorted(found.order[a:b].tolist())) for a, b in zip(found.starts, found.starts[1:], strict=False)}


@unhurried
@given(tables(), st.integers(1, 5), st.integers(0, 3))
def test_it_is_the_plain_twin(case: tuple[dict[str, list[Any]], Encoded], k: int, seed: int) -> None:
    _, encoded = case
    k = min(k, encoded.rows)
    twin = Twin(encoded, k, seed)
    twin.adjust()
    assert classes(made(encoded, [KAnonymity(k=max(k, 2))] if k > 1 else [], seed)) == twin.classes()


@unhurried
@given(tables(), st.integers(2, 5), asked.any_requirement())
def test_requirements_beyond_the_size_are_met_by_merging_the_nearest(
    case: tuple[dict[str, list[Any]], Encoded], k: int, requirement: Requirement
) -> None:
    columns, encoded = case
    requirements = [KAnonymity(k=k), requirement]
    allowed = plain.all_of(requirements, columns)
    if not allowed(list(range(encoded.rows))):
        return
    found = made(encoded, requirements)
    assert all(allowed(list(group)) for group in classes(found))
    assert sorted(found.order.tolist()) == list(range(encoded.rows))
    twin = Twin(encoded, max(k, requirement.least), 0)
    twin.adjust()
    before = len(twin.classes())
    twin.join(allowed)
    assert classes(found) == twin.classes()
    assert bool(found.notes) == (len(twin.classes()) < before)


@unhurried
@given(tables(), st.integers(2, 5), st.integers(0, 9))
def test_every_record_is_in_one_class_of_k_to_2k_minus_1(
    case: tuple[dict[str, list[Any]], Encoded], k: int, seed: int
) -> None:
    _, encoded = case
    if encoded.rows < k:
        return
    found = made(encoded, [KAnonymity(k=k)], seed)
    assert sorted(found.order.tolist()) == list(range(encoded.rows))
    assert all(k <= size < 2 * k for size in found.sizes)
    assert not found.notes
    again = made(encoded, [KAnonymity(k=k)], seed, threads=2)
    assert again.order.tolist() == found.order.tolist()
    assert again.starts.tolist() == found.starts.tolist()


def people(n: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(1)
    return {
        "age": rng.integers(18, 90, n).tolist(),
        "city": rng.choice(list("abcdefgh"), n).tolist(),
        "disease": rng.choice(["flu", "cold", "asthma", "ulcer"], n).tolist(),
    }


def test_a_release_says_what_was_merged_and_holds_what_was_asked() -> None:
    table = people(600)
    policy = Policy.quick(table, qi=["age", "city"], sensitive=["disease"], k=5, method="topdown")
    policy = policy.but(privacy=(*policy.privacy, FrequencyLDiversity(l=2.5, of="disease")))
    release = rk.anonymize(table, policy)
    certificate = release.certificate
    assert certificate.verification.holds
    assert release.recoding is None
    [note] = certificate.notes
    assert note.startswith("topdown made ")
    assert f"left {certificate.loss.classes:,}." in note
    other = rk.anonymize(table, policy, seed=1)
    assert other.certificate.loss.gcp != certificate.loss.gcp


def test_lines_with_many_values_are_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1500
    table = {"x": list(range(n)), "y": [i * 7 % 1501 for i in range(n)]}
    policy = Policy.quick(table, qi=["x", "y"], k=5, method="topdown")
    release = rk.anonymize(table, policy)
    assert release.certificate.verification.holds
    assert release.certificate.loss.gcp < 0.1


def test_many_records_are_refused_unless_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 50)
    table = people(51)
    policy = Policy.quick(table, qi=["age"], sensitive=["disease"], keep="city", k=5, method="topdown")
    with pytest.raises(PolicyError, match=r"there are 51, more than 50; use hilbert or cluster.*'force': True"):
        rk.anonymize(table, policy)
    assert rk.anonymize(table, policy.but(method={"topdown": {"force": True}})).certificate.verification.holds


def test_options_are_flags() -> None:
    with pytest.raises(PolicyError, match="force must be true or false"):
        TopDown(force=1)  # type: ignore[arg-type]

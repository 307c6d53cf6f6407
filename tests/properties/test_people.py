"""Where a person has several records, people are counted: by every language of a requirement, and in every release."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import encode
from rothko.data.typed import typed
from rothko.engines.disk.store import DiskStore
from rothko.errors import InfeasibleError, InputError, PolicyError, PrivacyWarning
from rothko.policy.policy import Policy
from rothko.privacy import (
    AlphaK,
    EntropyLDiversity,
    FrequencyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    Requirement,
    TCloseness,
    VarianceDiversity,
)
from rothko.privacy.statistics import Statistics
from tests.strategies import asked
from tests.twins import mondrian, people

unhurried = settings(deadline=None)
WHO = "patient"


def policy_for(columns: dict[str, Any], privacy: list[Any], **more: Any) -> Policy:
    roles = {"a": "quasi-identifier", "b": "quasi-identifier", "s": "sensitive", WHO: "identifier"}
    return Policy(columns={name: {"role": roles[name]} for name in columns}, privacy=tuple(privacy), **more)


def table_of(seed: int, n: int, each: int) -> dict[str, list[Any]]:
    """Records of people who have about so many each, with values that a person tends to repeat."""
    cells = random.Random(seed)
    who = cells.choices(range(max(n // each, 1)), k=n)
    usual = {one: (cells.randrange(12), cells.choice("xyz"), cells.choice(asked.NUMBERS)) for one in who}
    mine = [[value if cells.random() < 0.7 else None for value in usual[one]] for one in who]
    return {
        "a": [cells.randrange(12) if a is None else a for a, _, _ in mine],
        "b": [b if b is not None else cells.choice(("x", None)) for _, b, _ in mine],
        "s": [s if s is not None else cells.choice((*asked.NUMBERS, None)) for _, _, s in mine],
        WHO: who,
    }


def classes_of(columns: dict[str, list[Any]], by: tuple[str, ...] = ("a", "b")) -> list[list[int]]:
    found: dict[Any, list[int]] = defaultdict(list)
    for i in range(len(columns[by[0]])):
        found[tuple(columns[name][i] for name in by)].append(i)
    return list(found.values())


tables = st.builds(table_of, st.integers(0, 2**32), st.integers(2, 60), st.integers(1, 6))


@given(columns=tables, requirement=asked.any_requirement(), k=st.integers(2, 4))
@unhurried
def test_people_are_counted_as_the_definition_says(
    columns: dict[str, list[Any]], requirement: Requirement, k: int
) -> None:
    """In SQL and in NumPy: what a person has counts once, and shares are of people."""
    policy = policy_for(columns, [KAnonymity(k=k, of=WHO), requirement])
    groups = classes_of(columns)
    findings = rk.check(columns, policy).verification.findings
    parts = [KAnonymity(k=k, of=WHO), *requirement.parts(WHO)]
    assert {finding.requirement for finding in findings} == set(parts)
    encoded = encode(typed(pa.table(columns), policy), policy)
    group = np.empty(encoded.rows, dtype=np.int64)
    for i, members in enumerate(groups):
        group[members] = i
    stats = Statistics.count(group, len(groups), encoded.sensitive, parts, encoded.owner)
    for finding in findings:
        one = finding.requirement
        held = [people.satisfies(one, members, columns, WHO) for members in groups]
        # Of what has a k of its own, that is a finding by itself.
        by_itself = [people.satisfies(one, members, columns, WHO, but_for_k=True) for members in groups]
        assert finding.violating_classes == by_itself.count(False)
        broken = [members for good, members in zip(by_itself, groups, strict=True) if not good]
        assert finding.violating_records == sum(map(len, broken))
        reached = [people.reaches(one, members, columns, WHO) for members in groups]
        assert finding.achieved == pytest.approx((max if one.falling else min)(reached), rel=1e-8, abs=1e-12)
        assert one.satisfied(stats).tolist() == held
        assert one.scores(stats) == pytest.approx(reached, rel=1e-8, abs=1e-12)


METHODS: tuple[Any, ...] = (
    "mondrian",
    {"mondrian": {"relaxed": True}},
    "refine",
    "hilbert",
    "hilbert-fast",
    "idistance",
    "idistance-fast",
    "topdown",
    "cluster",
    {"hilbert": {"repair": True}},
)


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_every_method_keeps_k_people_and_what_is_asked_of_their_values(method: Any) -> None:
    for seed in range(6):
        columns = table_of(seed, 150, 4)
        asked_for = [{"k-anonymity": {"k": 3, "of": WHO}}, {"distinct-l-diversity": {"l": 2, "of": "s"}}]
        policy = policy_for({**columns}, asked_for, method=method)
        # What is kept tells which record a row is.
        numbered = {**columns, "row": list(range(150))}
        policy = policy.but(columns=policy.columns | {"row": {"role": "keep"}})
        rows = rk.anonymize(pa.table(numbered), policy).arrow.to_pydict()
        assert WHO not in rows
        rows[WHO] = [columns[WHO][i] for i in rows["row"]]
        groups = classes_of(rows)
        assert len(groups) > 1
        for requirement in policy.privacy:
            assert all(people.satisfies(requirement, members, rows, WHO) for members in groups)


@given(columns=tables, k=st.integers(2, 4), relaxed=st.booleans())
@unhurried
def test_mondrian_cuts_for_people_as_its_twin_does(columns: dict[str, list[Any]], k: int, relaxed: bool) -> None:
    policy = policy_for(columns, [KAnonymity(k=k, of=WHO)], method={"mondrian": {"relaxed": relaxed}})
    if len(set(columns[WHO])) < k:
        with pytest.raises(InfeasibleError, match=f"k-anonymity of {WHO} with k = {k}"):
            rk.anonymize(columns, policy)
        return
    encoded = encode(typed(pa.table(columns), policy), policy)
    found = policy.method.partition(encoded, policy.privacy)
    records = list(zip(*encoded.codes.tolist(), strict=True))
    allowed = people.all_of(policy.privacy, columns, WHO)
    expected = mondrian.mondrian(encoded.lines, records, allowed, relaxed=relaxed)
    order, starts = found.order.tolist(), found.starts.tolist()
    assert [sorted(order[a:b]) for a, b in pairwise(starts)] == [one.records for one in expected]


SHARES: tuple[Requirement, ...] = (
    EntropyLDiversity(l=2.2, of="s"),
    RecursiveLDiversity(c=1.5, l=2, of="s"),
    FrequencyLDiversity(l=2, of="s"),
    AlphaK(alpha=0.5, k=4, of="s"),
    TCloseness(t=0.35, of="s", distance="ordered"),
    VarianceDiversity(v=12, of="s"),
)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "refine"], ids=str)
def test_every_method_keeps_shares_of_people(method: Any) -> None:
    for seed, requirement in enumerate(SHARES):
        columns = {**table_of(seed, 220, 4), "row": list(range(220))}
        policy = policy_for({n: c for n, c in columns.items() if n != "row"}, [KAnonymity(k=3, of=WHO), requirement])
        policy = policy.but(columns=policy.columns | {"row": {"role": "keep"}}, method=method)
        release = rk.anonymize(pa.table(columns), policy)
        rows = release.arrow.to_pydict()
        rows[WHO] = [columns[WHO][i] for i in rows["row"]]
        groups = classes_of(rows)
        assert len(groups) > 1
        assert all(people.satisfies(requirement, members, rows, WHO) for members in groups)
        assert len(release.classes) >= len(groups)
        if release.recoding is not None:  # and the tree that is left leads every record to its class
            again = release.recoding.apply(pa.table(columns))
            assert sorted(map(str, again.to_pylist())) == sorted(map(str, release.arrow.to_pylist()))


def test_refine_refuses_shares_of_people_and_names_what_takes_them() -> None:
    policy = policy_for(table_of(0, 50, 3), [KAnonymity(k=3, of=WHO), SHARES[0]], method="refine")
    with pytest.raises(
        PolicyError, match=r"entropy-l-diversity of s .* shares of people \(of: patient\).*use mondrian"
    ):
        rk.anonymize(table_of(0, 50, 3), policy)


# ── larger than memory ───────────────────────────────────────────────────────────────────────────


def on_disk(seed: int) -> tuple[dict[str, list[Any]], Policy]:
    """A table in which some people have far more records than others, so that few records may be of one."""
    cells = random.Random(seed)
    columns = table_of(seed, 400, 3)
    columns[WHO] = [who if cells.random() < 0.6 else who % 7 for who in columns[WHO]]
    columns["c"] = [cells.choice("pqrstuvw") for _ in columns["a"]]
    policy = policy_for(
        {name: column for name, column in columns.items() if name != "c"},
        [{"k-anonymity": {"k": 5, "of": WHO}}, {"p-sensitive": {"p": 2, "k": 3, "of": "s"}}],
    )
    tree = {"tree": {"left": {"p": ["p"], "qr": ["q", "r"]}, "right": ["s", "t", "u", "v", "w"]}}
    more = {"c": {"role": "quasi-identifier", "hierarchy": tree}}
    return columns, policy.but(columns=policy.columns | more)


def boxes(release: Any) -> list[tuple[Any, ...]]:
    return sorted(zip(*(map(str, column) for column in release.classes.to_pydict().values()), strict=True))


def test_rothko_t_makes_the_classes_of_people_that_memory_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[int] = []
    exactly = DiskStore.people
    monkeypatch.setattr(DiskStore, "people", lambda *given: asked_for.append(1) or exactly(*given))  # type: ignore[func-returns-value]
    for seed in range(8):
        columns, policy = on_disk(seed)
        expected = rk.anonymize(columns, policy, engine="memory")
        found = rk.anonymize(columns, policy.but(engine={"rothko-t": {"records_at_once": 25}}))
        assert boxes(found) == boxes(expected)
        assert found.certificate.to_dict()["requirements"] == expected.certificate.to_dict()["requirements"]
    assert asked_for  # the number of records does not always tell


def test_every_engine_keeps_k_people(disk_engine: str, tmp_path: Path) -> None:
    for seed in range(4):
        columns, policy = on_disk(seed)
        columns["row"] = list(range(len(columns["a"])))
        policy = policy.but(
            columns=policy.columns | {"row": {"role": "keep"}}, engine={disk_engine: {"records_at_once": 60}}
        )
        release = rk.anonymize(columns, policy)
        rows = release.arrow.to_pydict()
        rows[WHO] = [columns[WHO][i] for i in rows["row"]]
        groups = classes_of(rows, ("a", "b", "c"))
        assert len(groups) > 5
        for requirement in policy.privacy:
            assert all(people.satisfies(requirement, members, rows, WHO) for members in groups)
        # Written once more, they are counted once more.
        saved = release.save(tmp_path / f"{disk_engine}{seed}.csv").certificate
        assert saved.verification.findings == release.certificate.verification.findings


def test_shares_of_people_are_refused_on_disk_with_what_can_be_asked(disk_engine: str) -> None:
    columns, policy = on_disk(0)
    policy = policy.but(privacy=(*policy.privacy, {"entropy-l-diversity": {"l": 2, "of": "s"}}), engine=disk_engine)
    with pytest.raises(
        PolicyError, match=r"entropy-l-diversity of s with l = 2 is about shares of people \(of: patient"
    ):
        rk.anonymize(columns, policy)


# ── a table of visits ────────────────────────────────────────────────────────────────────────────


def visits() -> dict[str, list[Any]]:
    """Patients who come again and again, at about the same age and from the same place."""
    cells = random.Random(4)
    patients = [(cells.randrange(20, 90), cells.randrange(300), cells.choice("abcdef")) for _ in range(700)]
    came = [(one, *patients[one]) for one in range(700) for _ in range(cells.randrange(1, 9))]
    return {
        WHO: [f"P{one:04}" for one, *_ in came],
        "a": [age for _, age, _, _ in came],
        "b": [place for _, _, place, _ in came],
        "s": [illness for *_, illness in came],
    }


def people_in_classes(release: Any, columns: dict[str, list[Any]]) -> list[int]:
    rows = release.arrow.to_pydict()
    rows[WHO] = [columns[WHO][i] for i in rows["row"]]
    return [len({rows[WHO][i] for i in members}) for members in classes_of(rows)]


def test_classes_of_visits_that_are_a_single_patients_are_so_no_more() -> None:
    columns = {**visits(), "row": list(range(len(visits()["a"])))}
    policy = policy_for({n: c for n, c in columns.items() if n != "row"}, [{"k-anonymity": {"k": 4}}])
    policy = policy.but(columns=policy.columns | {"row": {"role": "keep"}})
    with pytest.warns(PrivacyWarning, match=r"^'patient' repeats: .*of: patient"):
        release = rk.anonymize(columns, policy)
    assert people_in_classes(release, columns).count(1) > 100
    [note] = release.certificate.to_dict()["notes"]
    assert "a class may be a single person's" in note
    counted = policy.but(privacy=({"k-anonymity": {"k": 4, "of": WHO}},))
    release = rk.anonymize(columns, counted)
    assert min(people_in_classes(release, columns)) >= 4
    [finding] = release.certificate.to_dict()["requirements"]
    assert finding["of"] == WHO
    assert finding["achieved"] == min(people_in_classes(release, columns))
    assert any("beside the original records" in note for note in release.certificate.to_dict()["notes"])


def test_a_release_cannot_be_checked_for_people_by_itself() -> None:
    columns = visits()
    policy = policy_for(columns, [{"k-anonymity": {"k": 4, "of": WHO}}])
    release = rk.anonymize(columns, policy)
    with pytest.raises(PolicyError, match=r"counts people by 'patient'.*no such column.*certificate"):
        rk.check(release.arrow, policy)
    by_records = policy.but(privacy=({"k-anonymity": {"k": 4}},))
    assert rk.check(release.arrow, by_records).holds


@pytest.mark.parametrize("nobody", [None, "", "?"])
def test_records_that_are_nobodys_are_refused(nobody: str | None) -> None:
    columns = visits()
    columns[WHO] = [nobody if i in (3, 70) else who for i, who in enumerate(columns[WHO])]
    policy = policy_for(columns, [{"k-anonymity": {"k": 4, "of": WHO}}], missing=("?",))
    with pytest.raises(InputError, match=r"'patient' says whose a record is, and 2 of [\d,]+ records have no value"):
        rk.anonymize(columns, policy)


@pytest.mark.parametrize(
    ("privacy", "wrong"),
    [
        ([{"k-anonymity": {"k": 4, "of": "s"}}], "must be identifier and is 'sensitive'; there are 'patient'"),
        ([{"k-anonymity": {"k": 4, "of": "patent"}}], "'patent' is not a column of the policy; did you mean 'patient'"),
        ([{"distinct-l-diversity": {"l": 2, "of": WHO}}], "must be sensitive and is 'identifier'"),
    ],
)
def test_only_an_identifier_says_whose_a_record_is(privacy: list[Any], wrong: str) -> None:
    with pytest.raises(PolicyError, match=wrong):
        policy_for(visits(), privacy)


def test_one_column_says_whose_all_records_are() -> None:
    columns = {"a": {"role": "quasi-identifier"}, "x": {"role": "identifier"}, "y": {"role": "identifier"}}
    privacy = ({"k-anonymity": {"k": 4, "of": "x"}}, {"k-anonymity": {"k": 4, "of": "y"}})
    with pytest.raises(PolicyError, match=r"privacy\[1\]\.k-anonymity\.of: people are counted by 'x' already"):
        Policy(columns=columns, privacy=privacy)

"""Top-Down Refinement: against its plain twin, the paper's example, what always holds, bad input."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind
from rothko.data.typed import typed
from rothko.errors import InputError, PolicyError
from rothko.methods.refine.refine import Refine, Refined, Step, refine
from rothko.methods.refine.requirements import implies, sets_of
from rothko.policy.policy import Policy
from rothko.privacy import AlphaK, DistinctLDiversity, KAnonymity, Requirement, TCloseness
from tests.strategies.labelled import Asked, as_suppressed, tables
from tests.strategies.tables import Case, records, unhurried
from tests.twins import mondrian as plain
from tests.twins import refine as plain_refine


def as_step(found: plain_refine.Found, kind: Kind) -> Step:
    if kind is Kind.NOMINAL:
        return Step(found.line, found.part, (found.order,))
    return Step(found.line, found.part, tuple(sorted(min(child) for child in found.children)))


def as_sets(found: Refined) -> list[set[frozenset[int]]]:
    return [
        {frozenset(part.codes.tolist() if part.suppressed else range(part.low, part.high + 1)) for part in parts}
        for parts in found.parts
    ]


def in_twin(masks: list[set[frozenset[int]]]) -> list[set[tuple[int, ...]]]:
    """The suppressed values of each line."""
    return [{tuple(sorted(p)) for p in mask if isinstance(p, plain_refine.Suppressed)} for mask in masks]


@given(asked=tables())
@settings(unhurried, max_examples=300)
def test_the_same_refinements_as_the_plain_twin(asked: Asked) -> None:
    if not asked.feasible():
        return
    found = asked.run()
    twin = asked.twin()
    steps, masks = twin.run()
    # To the letter the last suppressed value is disclosed by itself; here it was, with the last but one.
    assert list(found.steps()) == [
        as_step(step, twin.lines[step.line].kind) for step in steps if len(step.children) > 1
    ]
    assert as_sets(found) == masks
    if twin.letter:
        assert as_suppressed(found) == in_twin(masks)
    # Maximally refined: no single valid and beneficial refinement is left.
    assert not list(twin.candidates(masks))


@given(asked=tables(), seed=st.integers(0, 99))
@settings(unhurried, max_examples=60)
def test_the_order_of_the_records_does_not_change_the_parts(asked: Asked, seed: int) -> None:
    if not asked.feasible():
        return
    order = random.Random(seed).sample(range(len(asked.case.columns["q0"])), len(asked.case.columns["q0"]))
    labels = {name: [column[i] for i in order] for name, column in asked.labels.items()}
    other = replace(asked, case=asked.case.permuted(order), labels=labels)
    assert list(asked.run().steps()) == list(other.run().steps())


@given(asked=tables())
@settings(unhurried, max_examples=100)
def test_classes_are_the_records_that_show_the_same(asked: Asked) -> None:
    if not asked.feasible():
        return
    encoded = asked.encoded()
    progress: list[int] = []
    workload = asked.policy().workload
    found = Refine().partition(encoded, asked.case.requirements, workload=workload, threads=1, progress=progress.append)
    assert sum(progress) == encoded.rows
    assert sorted(found.order.tolist()) == list(range(encoded.rows))
    assert (found.sizes > 0).all()
    assert found.parts is not None
    classes = found.class_of()
    shown = [parts.of_code[codes] for parts, codes in zip(found.parts, encoded.codes, strict=True)]
    for parts, column in zip(found.parts, shown, strict=True):
        np.testing.assert_array_equal(parts.of_class[classes], column)
        np.testing.assert_array_equal(np.bincount(parts.of_code), parts.sizes)
    combined = np.stack(shown)
    assert len(np.unique(combined, axis=1).T) == found.classes
    for requirement in asked.case.requirements:
        over = requirement.over or tuple(asked.case.specs)
        columns = combined[[i for i, line in enumerate(encoded.lines) if line.name in over]]
        group = np.unique(columns, axis=1, return_inverse=True)[1].ravel()
        for g in range(int(group.max()) + 1):
            numbers = np.flatnonzero(group == g).tolist()
            assert plain.satisfies(requirement, numbers, asked.case.columns), requirement.describe()


# ── the paper's example ──────────────────────────────────────────────────────────────────────────

EXAMPLE = (
    # education, sex, work hours, Y, N
    ("10th", "M", 40, 20, 0),
    ("10th", "M", 30, 0, 4),
    ("9th", "M", 30, 0, 2),
    ("9th", "F", 30, 0, 4),
    ("9th", "F", 40, 0, 6),
    ("8th", "F", 30, 0, 2),
    ("8th", "F", 40, 0, 2),
)
"""A table like the example of the TKDE paper (section 3.3): the orders of refinements that its text tells come out."""


def example(k: int = 4) -> tuple[Encoded, Policy]:
    rows = [
        (education, sex, hours, label)
        for education, sex, hours, yes, no in EXAMPLE
        for label in ["Y"] * yes + ["N"] * no
    ]
    names = ("education", "sex", "hours", "class")
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    quasi = {"role": "quasi-identifier"}
    policy = Policy(
        columns={
            "education": {**quasi, "hierarchy": "flat"},
            "sex": {**quasi, "hierarchy": "flat"},
            "hours": quasi,
            "class": {"role": "keep"},
        },
        privacy=[{"k-anonymity": {"k": k}}],
        workload=[{"classify": {"target": "class"}}],
        method="refine",
    )
    return encode(typed(table, policy), policy), policy


def test_infogain_and_anonyloss_of_the_papers_example() -> None:
    encoded, policy = example()
    twin = plain_refine.Problem(
        encoded.lines, records(encoded), [((0, 1, 2), policy.privacy)], {}, [encoded.targets["class"].codes.tolist()]
    )
    begun = [twin.most_masked(line) for line in encoded.lines]
    found = {one.line: one for one in twin.candidates(begun)}
    assert [round(twin.gain(found[a]), 4) for a in range(3)] == [0.61, 0.4934, 0.3958]
    assert [twin.lost(found[a], begun) for a in range(3)] == [36, 26, 28]
    assert [round(twin.score(found[a], begun), 4) for a in range(3)] == [0.0165, 0.0183, 0.0136]


def test_infogain_ends_too_early_and_score_does_not() -> None:
    encoded, policy = example()
    by_gain = refine(encoded, policy.privacy, Refine(criterion="infogain"), policy.workload)
    assert [step.line for step in by_gain.steps()] == [0]
    by_score = refine(encoded, policy.privacy, Refine(), policy.workload)
    assert [step.line for step in by_score.steps()] == [1, 2]
    labels = encoded.targets["class"].codes

    def mistaken(method: Refine) -> int:
        classes = method.partition(encoded, policy.privacy, workload=policy.workload).class_of()
        counts = np.zeros((classes.max() + 1, 2), dtype=np.int64)
        np.add.at(counts, (classes, labels), 1)
        return int(counts.min(axis=1).sum())

    assert mistaken(Refine(criterion="infogain")) == 4, "4N stay with 20Y"
    assert mistaken(Refine()) == 0, "the two classes are separated"


# ── requirements over sets ───────────────────────────────────────────────────────────────────────


def test_what_follows_from_another_requirement_is_dropped_and_said() -> None:
    names = ["age", "sex", "zip"]
    asked: list[Requirement] = [
        KAnonymity(k=5),
        KAnonymity(k=10, over=["age", "sex"]),
        KAnonymity(k=4, over=["zip"]),
        KAnonymity(k=10, over=["sex"]),
        DistinctLDiversity(l=2, of="d", over=["sex"]),
        DistinctLDiversity(l=3, of="d", over=["age", "sex"]),
    ]
    sets, notes = sets_of(asked, names)
    assert [(one.names, one.requirements) for one in sets] == [
        (("age", "sex", "zip"), (asked[0],)),
        (("age", "sex"), (asked[1], asked[5])),
    ]
    assert len(notes) == 3
    assert notes[0] == (
        "k-anonymity with k = 4 over zip follows from k-anonymity with k = 5 over age, sex, zip, "
        "and is not asked by itself"
    )


def test_of_two_requirements_over_the_same_set_the_stricter_counts() -> None:
    asked = [KAnonymity(k=5, over=["sex", "age"]), KAnonymity(k=9, over=["age", "sex"]), KAnonymity(k=9)]
    sets, notes = sets_of(asked[:2], ["age", "sex", "zip"])
    assert [one.requirements for one in sets] == [(asked[1],)]
    assert notes == (
        "k-anonymity with k = 5 and k-anonymity with k = 9 are about the same quasi-identifiers (age, sex); "
        "the stricter one, the latter, counts",
    )
    assert [one.requirements for one in sets_of([asked[2], asked[2]], ["age"])[0]] == [(asked[2],)], "twice the same"


@pytest.mark.parametrize(
    ("one", "other", "follows"),
    [
        (AlphaK(alpha=0.5, k=5, of="d"), KAnonymity(k=5), True),
        (AlphaK(alpha=0.5, k=5, of="d"), AlphaK(alpha=0.6, k=4, of="d"), True),
        (AlphaK(alpha=0.5, k=5, of="d"), AlphaK(alpha=0.4, k=4, of="d"), False),
        (TCloseness(t=0.1, of="d"), TCloseness(t=0.2, of="d"), True),
        (TCloseness(t=0.2, of="d"), TCloseness(t=0.1, of="d"), False),
        (DistinctLDiversity(l=3, of="d"), DistinctLDiversity(l=2, of="e"), False),
        (KAnonymity(k=100), DistinctLDiversity(l=2, of="d"), False),
    ],
)
def test_which_requirement_follows_from_which(one: Requirement, other: Requirement, follows: bool) -> None:
    assert implies(one, other) is follows


def test_a_quasi_identifier_that_no_requirement_is_about_is_refined_to_the_end() -> None:
    encoded, policy = example()
    found = refine(encoded, [KAnonymity(k=4, over=["education"])], Refine(), policy.workload)
    assert [len(parts) for parts in found.parts] == [3, 2, 2]
    assert found.notes == ("no requirement is about sex, hours: refined without regard to anonymity",)


# ── edges ────────────────────────────────────────────────────────────────────────────────────────


def parts_of(columns: dict[str, list[Any]], k: int, labels: list[Any] | None = None, **specs: Any) -> list[list[int]]:
    """How many codes each part has, line by line."""
    named = {name: {"role": "quasi-identifier", **specs.get(name, {})} for name in columns}
    kept = {} if labels is None else {"class": {"role": "keep"}}
    workload = [] if labels is None else [{"classify": {"target": "class"}}]
    policy = Policy(columns={**named, **kept}, privacy=[{"k-anonymity": {"k": k}}], workload=workload)
    table = pa.table({**columns, **({} if labels is None else {"class": labels})})
    found = Refine().partition(encode(typed(table, policy), policy), policy.privacy, workload=policy.workload)
    assert found.parts is not None
    return [parts.sizes.tolist() for parts in found.parts]


def test_edge_tables() -> None:
    assert parts_of({"a": [1]}, 2) == [[1]]
    assert parts_of({"a": [1, 1, 1]}, 2) == [[1]], "one value"
    assert parts_of({"a": [1, 2]}, 2) == [[2]], "k = n"
    assert parts_of({"a": [1, 1, 2, 2]}, 2) == [[1, 1]]
    assert parts_of({"a": ["x", "x", "y", "y"]}, 2) == [[1, 1]], "the last value is disclosed with the last but one"
    assert parts_of({"a": [None, None, None, "x"]}, 2) == [[2]]
    assert parts_of({"a": pa.array([None, None, None], pa.int64())}, 2) == [[1]], "missing everywhere"
    assert parts_of({"a": [1, 1, None, None]}, 2) == [[1, 1]], "missing apart"
    assert parts_of({"a": [1, 1, 5, 5, None]}, 2) == [[1, 2]], "missing goes with the last"
    assert parts_of({"a": ["é", "é", "ß", "ß", "😀"]}, 2) == [[1, 2]], "unicode; ⊥ comes last"


def test_a_part_of_one_class_label_is_left_as_it_is() -> None:
    columns = {"a": [1, 1, 2, 2, 3, 3, 4, 4]}
    assert parts_of(columns, 2, ["y", "y", "y", "y", "n", "n", "n", "n"]) == [[2, 2]]
    assert parts_of(columns, 2) == [[1, 1, 1, 1]], "without a label certainty is what counts"


def test_a_column_of_many_labels() -> None:
    n = 200_000
    random_ = np.random.default_rng(1)
    wide = [f"v{i}" for i in range(n)]
    wide[: n // 2] = ["often"] * (n // 4) + ["sometimes"] * (n // 4)
    found = parts_of({"wide": wide, "a": random_.integers(0, 5, n).tolist()}, 50)
    assert found == [[1, 1, n // 2], [1, 1, 1, 1, 1]]


@pytest.mark.parametrize("labelled", [True, False])
def test_many_values_disclosed_one_after_the_other(labelled: bool) -> None:
    random_ = random.Random(3)
    a = [f"v{i % 30:02}" for i in range(120)]
    labels = [random_.choice("yn") if random_.random() < 0.5 else "yn"[int(v[1:]) % 2] for v in a]
    b = [random_.choice("uv") for _ in a]
    specs: dict[str, dict[str, Any]] = {"q0": {}, "q1": {}}
    case = Case({"q0": a, "q1": b}, specs, (KAnonymity(k=2, over=["q0"]), KAnonymity(k=30, over=["q1"])))
    asked = Asked(case, {"t": labels} if labelled else {}, "score")
    steps, masks = asked.twin().run()
    found = asked.run()
    assert len(steps) == 30
    assert list(found.steps()) == [as_step(step, Kind.NOMINAL) for step in steps]
    assert as_sets(found) == masks


def test_a_last_value_of_one_label_stays_suppressed_to_the_letter() -> None:
    """Random labels of few values, some of which have one label: as the twin, which discloses the last by itself."""
    stayed = 0
    for seed in range(40):
        random_ = random.Random(seed)
        columns = {name: [random_.choice("uvwx"[: 2 + seed % 3]) for _ in range(24)] for name in ("q0", "q1")}
        labels = ["y" if v in "uv" else random_.choice("yn") for v in columns["q0"]]
        labels[:2] = ["y", "n"]
        case = Case(columns, {"q0": {}, "q1": {}}, (KAnonymity(k=2, over=["q0"]), KAnonymity(k=2, over=["q1"])))
        criterion = ("score", "infogain", "tds")[seed % 3]
        found, (_, masks) = (one := Asked(case, {"t": labels}, criterion, "paper")).run(), one.twin().run()
        assert as_suppressed(found) == in_twin(masks)
        assert as_sets(found) == masks
        stayed += any(len(codes) == 1 for suppressed in as_suppressed(found) for codes in suppressed)
    assert stayed > 5


def test_the_best_split_of_all_may_never_be_valid() -> None:
    """To the letter an interval whose best split leaves one record stays whole; here it is split where it can be."""
    hours = [*range(1, 11)] * 2
    labels = ["y" if hour == 10 else "n" for hour in hours]
    case = Case({"q0": hours}, {"q0": {}}, (KAnonymity(k=4),))
    assert not list(Asked(case, {"t": labels}, "score", "paper").run().steps())
    assert [step.children for step in Asked(case, {"t": labels}, "score").run().steps()] == [(0, 8)]


# ── bad input ────────────────────────────────────────────────────────────────────────────────────


def test_bad_options() -> None:
    with pytest.raises(PolicyError, match="criterion must be 'score', 'infogain' or 'tds', not 'gain'"):
        Refine(criterion="gain")  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="reading must be 'rothko' or 'paper', not 'letter'"):
        Refine(reading="letter")  # type: ignore[arg-type]


def test_tasks_that_it_cannot_serve() -> None:
    encoded, policy = example()
    for task in ({"regress": {"target": "class"}}, {"select": {"where": "hours > 30"}}):
        workload = policy.but(workload=[task]).workload
        with pytest.raises(PolicyError, match=r"refine makes tables for classification .* use mondrian"):
            Refine().partition(encoded, policy.privacy, workload=workload, threads=1)


def test_a_class_label_must_not_be_a_quasi_identifier() -> None:
    with pytest.raises(PolicyError, match="'sex' is 'quasi-identifier', which is released generalised"):
        example()[1].but(workload=[{"classify": {"target": "sex"}}])


def test_over_must_name_quasi_identifiers() -> None:
    policy = example()[1]
    with pytest.raises(PolicyError, match="'sexx' is not a column of the policy; did you mean 'sex'"):
        policy.but(privacy=[{"k-anonymity": {"k": 4, "over": ["sexx"]}}])
    with pytest.raises(PolicyError, match="'class' must be quasi-identifier and is 'keep'"):
        policy.but(privacy=[{"k-anonymity": {"k": 4, "over": ["class"]}}])


def test_a_label_of_one_value_is_refused() -> None:
    encoded, policy = example()
    _, domain = encoded.targets["class"]
    alone = replace(domain, values=domain.values[:1], counts=np.array([40, 0]))
    target = encoded.targets["class"]._replace(codes=np.zeros(40, dtype=np.int32), domain=alone)
    with pytest.raises(InputError, match="one value throughout"):
        refine(replace(encoded, targets={"class": target}), policy.privacy, Refine(), policy.workload)

"""What holds for every release, whatever the table: checked in plain Python from the released rows alone."""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.typed import typed
from rothko.errors import InfeasibleError, PrivacyWarning
from rothko.release.recoding import recoding as recoding_module
from rothko.release.release import Release

settings.register_profile("releases", max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
releases = settings.get_profile("releases")

MISSING_TOKEN = "?"
KEPT = "row"
SENSITIVE = "disease"


# ── what a published value says, read by other code than the one that wrote it ───────────────────


def members(text: str) -> list[str]:
    """The labels of a published set: ``{a, "b, c"}``, quotes doubled inside quotes."""
    found, rest = [], text[1:-1]
    while rest:
        if rest[0] == '"':
            quoted = re.match(r'"((?:[^"]|"")*)"', rest, re.DOTALL)
            assert quoted, "a quote that is not closed"
            found.append(quoted[1].replace('""', '"'))
            rest = rest[quoted.end() :]
            assert rest == "" or rest.startswith(", ")
            rest = rest[2:]
        else:
            label, _, rest = rest.partition(", ")
            found.append(label)
    return found


def ends(label: str) -> tuple[str, str]:
    low, high = label[1:-1].split(", ")
    return low, high


def in_interval(parse: Callable[[str], Any]) -> Callable[[str, Any], bool]:
    """Numbers, dates and ordinal labels: one value, ``[a, b]`` or a region that is open at some end."""

    def says(label: str, value: Any) -> bool:
        if not label.startswith(("[", "(")):
            return bool(parse(label) == value)
        low, high = ends(label)
        above = low == "-inf" if label[0] == "(" else parse(low) <= value
        below = (high == "inf" or value < parse(high)) if label[-1] == ")" else value <= parse(high)
        return bool(above and below)

    return says


def in_set(label: str, value: str) -> bool:
    return label == value or (label.startswith("{") and label.endswith("}") and value in members(label))


def under_mask(label: str, value: str) -> bool:
    return len(label) == len(value) and all(a in (b, "*") for a, b in zip(label, value, strict=True))


def under_auto(parse: Callable[[str], Any]) -> Callable[[str, Any], bool]:
    def says(label: str, value: Any) -> bool:
        first, _, last = label.partition(" … ")
        return bool(parse(first) <= value <= parse(last or first))

    return says


def under_date(label: str, value: dt.date) -> bool:
    return label in (f"{value:%Y-%m-%d}", f"{value:%Y-%m}", f"{value:%Y}")


TREE = {
    "Europe": ["France", "Spain", {"Baltic": ["Latvia", "Estonia"]}],
    "Asia": ["Japan", "India"],
    "Oceania": ["Fiji"],
}
ABOVE = {
    **{leaf: {"Europe"} for leaf in ("France", "Spain")},
    **{leaf: {"Europe", "Baltic"} for leaf in ("Latvia", "Estonia")},
    **{leaf: {"Asia"} for leaf in ("Japan", "India")},
    "Fiji": {"Oceania"},
}
GRADES = ("low", "middle", "high", "top")


# ── tables and policies ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Kind:
    """A kind of quasi-identifier: what the policy says of it, its values, and how to read what is published of it."""

    spec: dict[str, Any]
    values: st.SearchStrategy[Any]
    type: pa.DataType
    says: Callable[[str, Any], bool]
    """Whether a label other than ``*`` holds for a value."""
    parse: Callable[[str], Any] | None = None
    """A label of one value as that value, for kinds that have an order."""
    numeric: bool = False
    bounded: bool = False
    """Whether ``publish: bounds`` gives it two columns."""
    covers: bool = False
    """Whether its regions cover every possible value, also unseen ones."""


# No ☺ is too odd for a label. Leading blanks and labels that look like sets or roots have tests of their own.
letters = st.text(st.sampled_from("abcé漢🙂 ,{\"'\n"), min_size=1, max_size=4)
LABELS = letters.filter(lambda text: text == text.lstrip() and text != MISSING_TOKEN)
QUARTERS = st.integers(-400, 400).map(lambda n: n / 4)  # sums of them are exact in any order
DATES = st.dates(dt.date(2019, 11, 1), dt.date(2021, 2, 28))
TIMES = st.datetimes(dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 3))
DECIMALS = st.decimals(Decimal("-99.99"), Decimal("99.99"), places=2).map(lambda d: d + 0)

KINDS = {
    "int": Kind({}, st.integers(-5, 40), pa.int64(), in_interval(int), int, numeric=True, bounded=True, covers=True),
    "small int": Kind({}, st.integers(-3, 3), pa.int8(), in_interval(int), int, True, True, True),
    "float": Kind({}, QUARTERS, pa.float64(), in_interval(float), float, True, True, True),
    "decimal": Kind({}, DECIMALS, pa.decimal128(8, 2), in_interval(Decimal), Decimal, True, True, True),
    "bool": Kind(
        {}, st.booleans(), pa.bool_(), in_interval("true".__eq__), "true".__eq__, bounded=True, covers=True
    ),
    "date": Kind(
        {}, DATES, pa.date32(), in_interval(dt.date.fromisoformat), dt.date.fromisoformat, bounded=True, covers=True
    ),
    "timestamp": Kind(
        {}, TIMES, pa.timestamp("us"), in_interval(dt.datetime.fromisoformat), dt.datetime.fromisoformat,
        bounded=True, covers=True,
    ),
    "nominal": Kind({}, LABELS, pa.string(), in_set),
    "few labels": Kind({}, st.sampled_from("abc"), pa.dictionary(pa.int32(), pa.string()), in_set),
    "ordinal": Kind(
        {"order": list(GRADES)}, st.sampled_from(GRADES), pa.string(),
        lambda label, value: in_interval(GRADES.index)(label, GRADES.index(value)),
        GRADES.index,
    ),
    "flat": Kind({"hierarchy": "flat"}, LABELS, pa.string(), str.__eq__),
    "flat int": Kind({"hierarchy": "flat"}, st.integers(0, 9), pa.int64(), lambda label, value: int(label) == value),
    "auto": Kind({"hierarchy": "auto"}, st.sampled_from("abcdefghij"), pa.string(), under_auto(str)),
    "auto int": Kind({"hierarchy": "auto"}, st.integers(0, 30), pa.int64(), under_auto(int)),
    "mask": Kind({"hierarchy": {"mask": "right"}}, st.text("012", min_size=1, max_size=4), pa.string(), under_mask),
    "mask left": Kind({"hierarchy": {"mask": "left"}}, st.text("01", min_size=1, max_size=3), pa.string(), under_mask),
    "intervals": Kind(
        {"hierarchy": {"intervals": [5, 10, 20]}}, st.integers(-30, 70), pa.int64(), in_interval(int), covers=False
    ),
    "breaks": Kind({"hierarchy": {"breaks": [[0, 18, 65], [18]]}}, QUARTERS, pa.float64(), in_interval(float)),
    "dates": Kind({"hierarchy": {"dates": ["month", "year"]}}, DATES, pa.date32(), under_date),
    "tree": Kind(
        {"hierarchy": {"tree": TREE}}, st.sampled_from(sorted(ABOVE)), pa.string(),
        lambda label, value: label == value or label in ABOVE[value],
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A table, and what is asked for it."""

    kinds: dict[str, str]
    columns: dict[str, list[Any]]
    k: int
    l: int | None  # noqa: E741 - the literature's name
    relaxed: bool = False
    publish: str = "range"
    order: str = "random"
    seed: int = 0
    missing: tuple[str, ...] = ()
    fresh: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return len(self.columns[SENSITIVE])

    def arrow(self, columns: dict[str, list[Any]] | None = None, order: list[int] | None = None) -> pa.Table:
        columns = self.columns if columns is None else columns
        types = {name: KINDS[kind].type for name, kind in self.kinds.items()}
        types |= {SENSITIVE: pa.string(), KEPT: pa.int64()}
        plain = {
            n: t.value_type if pa.types.is_dictionary(t) else pa.string() if self._tokens(n) else t
            for n, t in types.items()
        }
        table = pa.table({name: pa.array(values, plain[name]) for name, values in columns.items()})
        if order is not None:
            table = table.take(pa.array(order, pa.int64()))
        return pa.table(
            {n: table[n].cast(t) if pa.types.is_dictionary(t) else table[n] for n, t in types.items() if n in columns}
        )

    def _tokens(self, name: str) -> bool:
        return MISSING_TOKEN in self.columns[name]

    @property
    def policy(self) -> rk.Policy:
        quasi = {name: {"role": "quasi-identifier", **KINDS[kind].spec} for name, kind in self.kinds.items()}
        privacy: list[Any] = [{"k-anonymity": {"k": self.k}}]
        if self.l is not None:
            privacy.append({"distinct-l-diversity": {"l": self.l, "of": SENSITIVE}})
        return rk.Policy(
            columns={**quasi, SENSITIVE: {"role": "sensitive"}, KEPT: {"role": "keep"}},
            privacy=privacy,
            method={"mondrian": {"relaxed": self.relaxed}},
            publish=self.publish,
            order=self.order,
            missing=self.missing,
        )

    def release(self, order: list[int] | None = None, threads: int = 1) -> Release:
        # Relaxed cuts part equal records by a secret: with a key, the same way each time.
        return release_of(self.arrow(order=order), self.policy, seed=self.seed, key=bytes(16), threads=threads)

    @property
    def feasible(self) -> bool:
        return self.rows >= self.k and len(set(map(one_missing, self.columns[SENSITIVE]))) >= (self.l or 1)


def release_of(table: Any, policy: rk.Policy, **options: Any) -> Release:
    """Anonymize, and expect the warning where the order is kept."""
    if policy.order == "keep":
        with pytest.warns(PrivacyWarning):
            return rk.anonymize(table, policy, **options)
    return rk.anonymize(table, policy, **options)


def one_missing(value: Any) -> Any:
    absent = value is None or value in ("", MISSING_TOKEN) or (isinstance(value, float) and math.isnan(value))
    return None if absent else value


@st.composite
def cases(draw: st.DrawFn, *, kinds: list[str] | None = None, strict: bool | None = None, **given_: Any) -> Case:
    rows = draw(st.integers(1, 30))
    chosen = draw(st.lists(st.sampled_from(kinds or list(KINDS)), min_size=1, max_size=3))
    named = {f"q{i}": kind for i, kind in enumerate(chosen)}
    columns: dict[str, list[Any]] = {}
    for name, kind in named.items():
        values = KINDS[kind].values
        if draw(st.booleans()):  # duplicates are what classes are made of
            values = st.sampled_from(draw(st.lists(values, min_size=1, max_size=4)))
        if draw(st.booleans()):
            absent = [None, math.nan] if kind == "float" else [None]
            absent += [MISSING_TOKEN, ""] if KINDS[kind].type == pa.string() else []
            values = st.one_of(values, st.sampled_from(absent))
        columns[name] = draw(st.lists(values, min_size=rows, max_size=rows))
    illness = st.sampled_from(["flu", "cold", "asthma", "Ménière", None, MISSING_TOKEN])
    columns[SENSITIVE] = draw(st.lists(illness, min_size=rows, max_size=rows))
    columns[KEPT] = list(range(rows))
    relaxed = not strict if strict is not None else draw(st.booleans())
    forms = ["range", "mean", "bounds"] if relaxed else ["range", "mean", "bounds", "region"]
    fresh_rows = draw(st.integers(1, 5))
    fresh = {
        name: draw(st.lists(KINDS[kind].values, min_size=fresh_rows, max_size=fresh_rows))
        for name, kind in named.items()
    }
    fresh |= {SENSITIVE: ["flu"] * fresh_rows, KEPT: list(range(fresh_rows))}
    case = Case(
        named,
        columns,
        k=draw(st.integers(2, 5)),
        l=draw(st.sampled_from([None, None, 2, 3])),
        relaxed=relaxed,
        publish=draw(st.sampled_from(forms)),
        order=draw(st.sampled_from(["random", "keep"])),
        seed=draw(st.integers(0, 2**63)),
        missing=(MISSING_TOKEN,) if any(MISSING_TOKEN in values for values in columns.values()) else (),
        fresh=fresh,
    )
    return replace(case, **given_)


def published(release: Release, name: str) -> list[Any]:
    """What each row shows for a quasi-identifier: a label, a number, or a pair of bounds."""
    if name in release.arrow.column_names:
        return list(release.table[name].to_pylist())
    return list(zip(release.table[f"{name}_min"].to_pylist(), release.table[f"{name}_max"].to_pylist(), strict=True))


def shown_by_class(case: Case, release: Release) -> dict[tuple[Any, ...], list[int]]:
    """The row numbers of every published combination."""
    groups = defaultdict(list)
    for i, row in enumerate(zip(*(published(release, name) for name in case.kinds), strict=True)):
        groups[row].append(i)
    return groups


# ── what a release promises ──────────────────────────────────────────────────────────────────────


@given(cases())
@releases
def test_every_requirement_holds_in_the_released_rows(case: Case):
    assume(case.feasible)
    release = case.release()
    assert release.arrow.num_rows == case.rows
    assert sorted(release.table[KEPT].to_pylist()) == case.columns[KEPT]
    diseases = [one_missing(value) for value in release.table[SENSITIVE].to_pylist()]
    by_row = dict(zip(release.table[KEPT].to_pylist(), diseases, strict=True))
    assert [by_row[i] for i in range(case.rows)] == [one_missing(v) for v in case.columns[SENSITIVE]]
    classes = shown_by_class(case, release)
    for numbers in classes.values():
        assert len(numbers) >= case.k
        assert len({diseases[i] for i in numbers}) >= (case.l or 1)
    certified = release.certificate.verification
    assert certified.holds
    assert certified.classes == len(classes)
    assert certified.findings[0].achieved == min(map(len, classes.values()))


@given(cases())
@releases
def test_what_cannot_be_met_is_refused(case: Case):
    """Infeasible exactly where all records together do not meet what is asked; never an empty table."""
    if case.feasible:
        case.release()
    else:
        with pytest.raises(InfeasibleError, match="cannot meet"):
            case.release()


@given(cases(order="keep"))
@releases
def test_every_original_value_lies_inside_what_its_record_shows(case: Case):
    assume(case.feasible)
    release = case.release()
    classes = shown_by_class(case, release)
    for name, kind in ((name, KINDS[kind]) for name, kind in case.kinds.items()):
        originals = [one_missing(value) for value in case.columns[name]]
        shown = published(release, name)
        for numbers in classes.values():
            label = shown[numbers[0]]
            values = [originals[i] for i in numbers]
            present = [value for value in values if value is not None]
            if isinstance(label, tuple):
                if len(present) < len(values):
                    assert label == (None, None)
                else:
                    assert label == (min(values), max(values))
            elif kind.numeric and case.publish == "mean":
                if len(present) < len(values):
                    assert label is None
                else:
                    assert label == pytest.approx(float(sum(values)) / len(values), abs=1e-9)
            elif label is None:
                assert not present
            elif label != "*":
                assert len(present) == len(values)
                assert all(kind.says(label, value) for value in values)
                if case.publish == "range" and kind.parse is not None:
                    # The smallest box: both ends are somebody's.
                    held = sorted(kind.parse(v) if isinstance(v, str) else v for v in values)
                    low, high = ends(label) if label.startswith("[") else (label, label)
                    assert (held[0], held[-1]) == (kind.parse(low), kind.parse(high))
            elif case.publish == "range" and kind.parse is not None:
                assert 0 < len(present) < len(values), "a range says * only where missing and present are mixed"


@given(cases())
@releases
def test_the_same_seed_gives_the_same_table(case: Case):
    assume(case.feasible)
    first, again = case.release(), case.release(threads=2)
    assert first.arrow.equals(again.arrow)
    other = replace(case, seed=case.seed + 1).release()
    assert Counter(map(str, other.table.to_pylist())) == Counter(map(str, first.table.to_pylist()))


@given(cases(strict=True, order="random"), st.randoms(use_true_random=False))
@releases
def test_strict_mondrian_does_not_see_the_order_of_the_rows(case: Case, random: Any):
    """The same table to the last row, its order included: the order of the input leaves no trace."""
    assume(case.feasible)
    order = list(range(case.rows))
    random.shuffle(order)
    assert case.release().table.to_pylist() == case.release(order).table.to_pylist()


@given(cases())
@releases
def test_measure_reads_back_the_loss_of_the_certificate(case: Case):
    assume(case.feasible)
    # A mean says nothing of its class's width, and two missing bounds do not say whether all are missing.
    assume(case.publish in ("range", "bounds"))
    assume(not any(None in map(one_missing, case.columns[name]) for name in case.kinds))
    release = case.release()
    measured, certified = rk.measure(case.arrow(), release), release.certificate.loss
    assert measured.gcp == pytest.approx(certified.gcp, abs=1e-12)
    assert measured.ncp == pytest.approx(certified.ncp, abs=1e-12)
    assert 0 <= certified.gcp <= 1


# ── the recoding ─────────────────────────────────────────────────────────────────────────────────


@given(cases(strict=True, order="keep"))
@releases
def test_the_recoding_sends_the_original_rows_to_what_was_released(case: Case):
    assume(case.feasible)
    release = case.release()
    assert release.recoding is not None
    assert release.recoding.apply(case.arrow()).to_pylist() == release.table.to_pylist()


@given(cases(relaxed=True, publish="range"))
@releases
def test_a_local_recoding_has_no_function(case: Case):
    assume(case.feasible)
    assert case.release().recoding is None


@given(case=cases(strict=True, order="random"), large=st.booleans())
@releases
def test_a_recoding_survives_saving(case: Case, large: bool):
    """Also in the large form, whose arrays are Parquet files."""
    assume(case.feasible)
    phi = case.release().recoding
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(recoding_module, "LARGE", 0 if large else 1000)
        phi.save(Path(folder, "recoding.json"))
        assert len(os.listdir(folder)) == (3 if large else 1)
        loaded = rk.Recoding.load(Path(folder, "recoding.json"))
    assert loaded.policy == phi.policy
    assert loaded.classes == phi.classes
    assert loaded.rules().to_pylist() == phi.rules().to_pylist()
    for table in (case.arrow(), case.arrow(case.fresh)):
        assert loaded.apply(table).equals(phi.apply(table))
        assert loaded.apply(table).schema.equals(phi.apply(table).schema)


@given(cases(strict=True, order="random", kinds=[name for name, kind in KINDS.items() if kind.covers]))
@releases
def test_every_unseen_row_has_exactly_one_region(case: Case):
    """On lines whose regions reach to infinity: whatever comes, one region holds it and that is where it goes."""
    assume(case.feasible)
    assume(not any(None in map(one_missing, case.columns[name]) for name in case.kinds))
    phi = case.release().recoding
    rules = phi.rules().to_pylist()
    new = case.arrow(case.fresh)
    placed = phi.place(typed(new, case.policy)).tolist()
    for row, place in zip(new.to_pylist(), placed, strict=True):
        holding = [
            number
            for number, rule in enumerate(rules)
            if all(rule[name] == "*" or KINDS[kind].says(rule[name], row[name]) for name, kind in case.kinds.items())
        ]
        assert holding == [place]


@given(cases(strict=True, order="random"))
@releases
def test_only_a_value_that_nothing_knows_is_suppressed(case: Case):
    """Labels that neither data nor hierarchy has cannot be placed; every other row shows what one class shows."""
    assume(case.feasible)
    release = case.release()
    new = case.arrow(case.fresh)
    placed = release.recoding.place(typed(new, case.policy)).tolist()
    shown = release.recoding.apply(new).to_pylist()
    known = {name: set(map(one_missing, case.columns[name])) for name in case.kinds}
    classes = [tuple(c.items()) for c in release.classes.drop_columns("records").to_pylist()]
    for row, place, out in zip(new.to_pylist(), placed, shown, strict=True):
        unseen = [name for name in case.kinds if one_missing(row[name]) not in known[name]]
        if place < 0:
            assert any(not KINDS[case.kinds[name]].covers for name in unseen)
            continue
        assert all(KINDS[case.kinds[name]].spec.get("hierarchy") or KINDS[case.kinds[name]].covers for name in unseen)
        out = {name: value for name, value in out.items() if name not in (SENSITIVE, KEPT)}
        assert tuple(out.items()) == classes[place]


# ── numbers and labels that are hard to hold ─────────────────────────────────────────────────────

HARD = {
    "numbers that differ by less than a float tells": [2**60, 2**60 + 1] * 4,
    "the same, some missing": [2**60, 2**60 + 1, None, None] * 2,
    "the whole range of int64": [-(2**63), 2**63 - 1, 0, 1] * 2,
    "the whole range of float64": [-1.7e308, 1.7e308, 0.0, 1.0] * 2,
    "two zeros": [0.0, -0.0, 1.0, -1.0] * 2,
    "two zeros, some missing": [0.0, -0.0, None, None] * 2,
    "denormal numbers": [5e-324, 1e-323, 0.0, 1.0] * 2,
    "labels that differ by a blank": ["x", " x", "y", "z"] * 2,
    "a label that looks like a set": ["a", "b", "{a, b}", "c", "{a, b}"] * 2,
    "a label that looks like the root": ["*", "a", "b", "c"] * 2,
    "a carriage return": ["a\r", "b", "c\r\n", "d"] * 2,
    "commas in quotes": ['a, "b"', "a", '"b"', "c"] * 2,
    "all labels in one class, others missing": ["a", "b", None, None],
    "a label of 10,000 characters": ["a" * 10_000, "a" * 9_999 + "b", "c", "d"] * 2,
}


@pytest.mark.parametrize("publish", ["range", "bounds", "region", "mean"])
@pytest.mark.parametrize("values", HARD.values(), ids=HARD.keys())
def test_hard_values_are_released(values: list[Any], publish: str):
    table = pa.table({"q": values})
    policy = rk.Policy.quick(["q"], qi=["q"], k=2, publish=publish)
    release = rk.anonymize(table, policy, threads=1)
    shown = Counter(tuple(row.values()) for row in release.table.to_pylist())
    assert sum(shown.values()) == len(values)
    assert min(shown.values()) >= 2
    assert 0 <= release.certificate.loss.gcp <= 1
    turned = rk.anonymize(table.take(pa.array(range(len(values))[::-1])), policy, threads=1)
    assert turned.table.to_pylist() == release.table.to_pylist()


@pytest.mark.parametrize("values", HARD.values(), ids=HARD.keys())
def test_hard_values_are_measured_as_certified(values: list[Any]):
    table = pa.table({"q": values})
    release = rk.anonymize(table, rk.Policy.quick(["q"], qi=["q"], k=3 if len(values) > 4 else 2), threads=1)
    assert rk.measure(table, release).gcp == pytest.approx(release.certificate.loss.gcp, abs=1e-12)


def test_two_missing_bounds_count_as_if_nothing_was_said():
    """They stand for a class that is missing throughout and for one that mixes: the release does not tell which."""
    table = pa.table({"q": [1, 2, None, None]})
    release = rk.anonymize(table, rk.Policy.quick(["q"], qi=["q"], k=2, publish="bounds"), threads=1)
    assert (release.certificate.loss.gcp, rk.measure(table, release).gcp) == (0.5, 1.0)


@given(st.permutations([0.1, 0.2, 0.3, 0.7, 12.6, 8.4, 3.3, 1.1]))
@releases
def test_means_do_not_depend_on_the_order_of_the_rows(values: list[float]):
    """Sums of floats do; strict Mondrian promises not to."""
    policy = rk.Policy.quick(["q"], qi=["q"], k=8, publish="mean")
    table, ordered = pa.table({"q": values}), pa.table({"q": sorted(values)})
    means = [rk.anonymize(t, policy, threads=1).table["q"][0].as_py() for t in (table, ordered)]
    assert means[0] == means[1]


def test_a_disease_called_nan_is_a_disease():
    """The verifier must not take a text for a missing number: it would refuse a release that holds."""
    table = pa.table({"q": [1, 1, 2, 2], "s": ["nan", None, "nan", None]})
    policy = rk.Policy.quick(["q", "s"], qi=["q"], sensitive=["s"], k=2, l=2)
    assert rk.anonymize(table, policy, threads=1).certificate.verification.holds


@pytest.mark.parametrize("names", [("age", "Age"), ("size", "score0"), ("released", "rowid"), ("a", "A ")])
def test_columns_may_have_any_names_that_differ(names: tuple[str, str]):
    """SQL's names do not tell Age from age; a table's do."""
    table = pa.table({names[0]: [1, 1, 2, 2], names[1]: [5, 6, 7, 8]})
    release = rk.anonymize(table, rk.Policy.quick(names, qi=[names[0]], keep=[names[1]], k=2), threads=1)
    assert release.table.column_names == list(names)
    assert sorted(release.table[names[1]].to_pylist()) == [5, 6, 7, 8]


def test_order_keep_warns_and_random_does_not():
    table = pa.table({"q": [1, 1, 2, 2]})
    policy = rk.Policy.quick(["q"], qi=["q"], k=2)
    with pytest.warns(PrivacyWarning, match="order"):
        rk.anonymize(table, policy.but(order="keep"), threads=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rk.anonymize(table, policy, threads=1)


def test_a_label_in_a_column_that_was_missing_throughout_cannot_be_placed():
    """Found by chance: a line without labels took any label for its own."""
    table = pa.table({"q": pa.array([None, None], pa.string()), "age": [1, 1]})
    release = rk.anonymize(table, rk.Policy.quick(["q", "age"], qi=["q", "age"], k=2), threads=1)
    assert release.recoding.apply({"q": ["a"], "age": [1]})["q"].tolist() == ["*"]
    assert release.recoding.apply({"q": pa.nulls(1, pa.string()), "age": [1]})["q"].tolist() == [None]

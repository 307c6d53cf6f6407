"""Suppression: what is withheld spares the others more than it loses, and all that is promised holds."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import Encoded, encode
from rothko.errors import InfeasibleError, InputError, PolicyError, VerificationError
from rothko.methods.suppress import peel, tails
from rothko.release import rows as rows_module
from rothko.release.coverage import check_silence
from rothko.release.publish import Published
from tests.command import Rothko
from tests.strategies.asked import NUMBERS, requirements
from tests.twins import suppress as twin

KEY = b"sixteen or more!"
TREE = {"tree": {"north": ["a", "b"], "south": ["c", {"far": ["d", "e"]}]}}
COLUMNS: dict[str, Any] = {
    "age": {"role": "quasi-identifier", "weight": 2},
    "place": {"role": "quasi-identifier", "hierarchy": TREE},
    "label": {"role": "quasi-identifier"},
    "s": {"role": "sensitive"},
}
METHODS = ("mondrian", "hilbert", "cluster", "refine")
few = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def tables(draw: st.DrawFn, least: int = 6, most: int = 40) -> pa.Table:
    n = draw(st.integers(least, most))
    missing = st.none() if draw(st.booleans()) else st.nothing()

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values | missing, min_size=n, max_size=n))

    return pa.table(
        {
            "age": pa.array(column(st.sampled_from([20, 21, 22, 23, 60])), pa.int64()),
            "place": pa.array(column(st.sampled_from("aabbcde")), pa.string()),
            "label": pa.array(column(st.sampled_from("xxxyz")), pa.string()),
            "s": pa.array(draw(st.lists(st.sampled_from(NUMBERS), min_size=n, max_size=n)), pa.int64()),
        }
    )


def policy(**changes: Any) -> rk.Policy:
    return rk.Policy(**{"columns": COLUMNS, "privacy": [{"k-anonymity": {"k": 2}}], **changes})


def grouped(draw: st.DataObject, encoded: Encoded) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A class of each record, none of them empty."""
    found = draw.draw(st.lists(st.integers(0, 3), min_size=encoded.rows, max_size=encoded.rows))
    return np.unique(found, return_inverse=True)[1]


@few
@given(tables(), st.data(), st.integers(1, 4), st.booleans())
def test_the_best_tail_of_each_class(table: pa.Table, draw: st.DataObject, least: int, sets: bool) -> None:
    encoded = encode(table, policy())
    of = grouped(draw, encoded)
    records = np.argsort(of, kind="stable")
    gain, tail = tails(encoded, records, of[records], least=least, sets=sets)
    for one in range(len(gain)):
        mine = records[of[records] == one]
        codes = encoded.codes[:, mine].T.tolist()
        assert gain[one] == pytest.approx(twin.most_spared(encoded.lines, codes, least, sets))
        chosen = set(np.flatnonzero(tail[of[records] == one]).tolist())
        if gain[one] > 0:
            columns = list(zip(*codes, strict=True))
            same = [
                i
                for i, line in enumerate(encoded.lines)
                if chosen in twin.tails(line, columns[i], sets)
                and twin.spared(encoded.lines, codes, i, chosen, sets) == pytest.approx(gain[one])
            ]
            assert same, "what is withheld is a tail that spares so much"
        else:
            assert not chosen


@few
@given(tables(), st.data(), st.integers(1, 4), st.integers(0, 20))
def test_peeling_keeps_to_its_bounds(table: pa.Table, draw: st.DataObject, least: int, most: int) -> None:
    encoded = encode(table, policy())
    of = grouped(draw, encoded)
    gone = peel(encoded, of, int(of.max()) + 1, most=most, least=least, sets=True)
    assert gone.sum() <= most
    before, after = Counter(of.tolist()), Counter(of[~gone].tolist())
    assert all(after[one] in (size, *range(least, size)) for one, size in before.items())


@few
@given(
    tables(8),
    st.one_of(*requirements().values()),
    st.sampled_from(METHODS),
    st.sampled_from([0.1, 0.3, 3, 5]),
    st.sampled_from(["star", "left-out"]),
    st.sampled_from(["range", "bounds"]),
)
def test_all_that_is_promised_holds(
    table: pa.Table, asked: Any, method: str, records: float, becomes: str, publish: str
) -> None:
    plain = policy(privacy=[rk.privacy.KAnonymity(k=2), asked], method=method, publish=publish)
    sparing = plain.but(suppress={"records": records, "as": becomes})
    try:
        without = rk.anonymize(table, plain, key=KEY, threads=1)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            rk.anonymize(table, sparing, key=KEY, threads=1)
        return
    release = rk.anonymize(table, sparing, key=KEY, threads=1)
    certificate, limit = release.certificate, sparing.suppress.limit(table.num_rows)  # type: ignore[union-attr]
    assert certificate.verification.holds
    assert certificate.verification.true
    assert certificate.loss.gcp <= without.certificate.loss.gcp + 1e-12
    assert certificate.verification.rows + certificate.left_out == table.num_rows
    stars = certificate.loss.suppressed - without.certificate.loss.suppressed
    assert certificate.left_out <= limit
    assert stars <= limit or certificate.loss.suppressed <= limit
    if becomes == "left-out" or certificate.left_out:
        assert certificate.left_out == 0 or "left out" in certificate.notes[-1]
    again = rk.anonymize(table, sparing, key=KEY, threads=2)
    assert again.arrow.equals(release.arrow)
    if publish == "bounds":
        return  # which do not tell a class without values from one that mixes
    lost = rk.measure(table, release)
    assert lost.gcp == pytest.approx(certificate.loss.gcp)
    assert (lost.classes, lost.suppressed) == (certificate.loss.classes, certificate.loss.suppressed)


# Four crowds, and somebody between each two of them, who widens the class of one.
AGES = [age for crowd in (0, 100, 200, 300) for age in [*[crowd] * 12, crowd + 50]]
PEOPLE = {"age": AGES, "disease": [["flu", "cold", "asthma"][i % 3] for i in range(len(AGES))]}


def people(**words: Any) -> Any:
    return rk.anonymize(PEOPLE, qi="age", sensitive="disease", key=KEY, **{"k": 4, **words})


def test_outliers_no_longer_widen_their_classes() -> None:
    without, stars = people(), people(suppress=6)
    assert without.certificate.loss.gcp > 0.1
    assert stars.certificate.loss.gcp == pytest.approx(4 / 52)
    assert Counter(stars.table["age"].tolist()) == {"0": 12, "100": 12, "200": 12, "300": 12, "*": 4}
    assert stars.certificate.loss.suppressed == 4
    assert stars.certificate.left_out == 0
    left = people(suppress={"records": 6, "as": "left-out"})
    assert Counter(left.table["age"].tolist()) == {"0": 12, "100": 12, "200": 12, "300": 12}
    assert left.certificate.left_out == left.certificate.loss.suppressed == 4
    assert left.certificate.loss.gcp == pytest.approx(4 / 52)


@pytest.mark.parametrize("method", ["mondrian", "hilbert", "cluster"])
def test_suppressed_records_that_are_no_class_are_left_out(method: str) -> None:
    without, release = people(k=12, method=method), people(k=12, method=method, suppress=6)
    assert release.certificate.loss.gcp < without.certificate.loss.gcp
    assert release.certificate.left_out == 4
    assert "do not meet what is asked" in release.certificate.notes[-1]


def test_no_more_than_the_limit() -> None:
    release = people(suppress=2)
    assert release.certificate.left_out == 2
    assert people().certificate.loss.gcp > release.certificate.loss.gcp > 4 / 52


def test_the_recoding_is_that_of_the_rest() -> None:
    release = people(suppress=6)
    assert {*release.recoding.apply(PEOPLE)["age"].tolist()} <= {"0", "100", "200", "300"}


def test_a_limit_that_spares_nobody_says_so() -> None:
    release = rk.anonymize({"age": [20, 20, 30, 30]}, qi="age", k=2, suppress=0.5)
    assert release.certificate.loss.suppressed == 0
    assert "none of at most 2 records" in release.certificate.notes[-1]


def test_a_class_that_should_show_nothing_is_looked_at() -> None:
    age = Published("age", pa.array(["*", "20"]), np.array([1, 0], dtype=np.int32))
    check_silence({"age": [age]}, 1)
    with pytest.raises(VerificationError, match="'age'"):
        check_silence({"age": [age]}, 0)


def test_a_row_too_few_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is left out is known: nobody else may be."""
    assemble = rows_module.assemble

    def careless(*given: Any, **more: Any) -> Any:
        made = assemble(*given, **more)
        return rows_module.replace(made, classes=made.classes[1:], kept=made.kept.slice(1))

    monkeypatch.setattr("rothko.release.stream.assemble", careless)
    with pytest.raises(VerificationError):
        people(method="mondrian", suppress={"records": 6, "as": "left-out"})


# ── what is asked


@pytest.mark.parametrize("records", [1, 1.0, -0.1, 0, 1.5, True, "many", float("nan")])
def test_what_is_no_limit_is_refused(records: Any) -> None:
    with pytest.raises(PolicyError, match=r"suppress.*share of the records such as 0\.02, or a whole number"):
        policy(suppress=records)


def test_other_mistakes_are_told() -> None:
    with pytest.raises(PolicyError, match="unknown key 'record'; did you mean 'records'"):
        policy(suppress={"record": 0.1, "records": 0.2})
    with pytest.raises(PolicyError, match="'records' is missing"):
        policy(suppress={"as": "star"})
    with pytest.raises(PolicyError, match="'stars' is not what becomes of a record; did you mean 'star'"):
        policy(suppress={"records": 0.1, "as": "stars"})
    with pytest.raises(PolicyError, match=r"52 records may be suppressed, and the table has 52"):
        people(suppress=52)


@pytest.mark.parametrize("suppress", [0.02, 12, {"records": 0.02, "as": "left-out"}])
def test_a_policy_is_written_as_it_was_asked(suppress: Any) -> None:
    asked = policy(suppress=suppress)
    assert rk.Policy.parse(asked.dump()) == asked
    assert asked.but(suppress=None) != asked
    assert (
        f"suppress: {suppress if not isinstance(suppress, dict) else '{records: 0.02, as: left-out}'}" in asked.dump()
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ({"engine": "rothko-t"}, "in memory, and engine rothko-t was asked for; raise memory="),
        ({"method": "anatomy", "k": None, "l": 2}, "anatomy"),
        ({"classify": "disease"}, "a workload is asked for"),
        ({"publish": "region"}, "publish a range"),
    ],
)
def test_what_it_does_not_go_with_is_refused(words: dict[str, Any], why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        people(suppress=0.1, **words)


def test_people_are_not_records() -> None:
    table = {"id": [1, 1, 2, 3], "age": [20, 21, 22, 23]}
    with pytest.raises(PolicyError, match="people are counted here"):
        rk.anonymize(table, qi="age", of="id", k=2, suppress=0.3)


def test_compare_says_that_it_does_not_suppress() -> None:
    asked = policy(suppress=0.1)
    table = {"age": [1, 2, 3, 4], "place": list("abcd"), "label": list("xxyy"), "s": [0, 1, 5, 10]}
    [trial] = rk.compare(table, asked, methods=["mondrian"], k=[2]).trials
    assert "without suppression" in str(trial.reason)


def test_measure_takes_no_more_missing_rows_than_may_be() -> None:
    release = people(suppress={"records": 6, "as": "left-out"})
    short = release.arrow.slice(0, len(AGES) - 7)
    with pytest.raises(InputError, match="compares a table with its release"):
        rk.measure(PEOPLE, short, release.certificate.policy)


def test_the_command_line(rothko: Rothko, folder: Path) -> None:
    rows = zip(*PEOPLE.values(), strict=True)
    lines = [",".join(PEOPLE), *(",".join(map(str, row)) for row in rows)]
    (folder / "people.csv").write_text("\n".join(lines), "utf-8")
    words = ["anonymize", "people.csv", "--qi", "age", "--sensitive", "disease", "--k", "4", "--out", "out"]
    words += ["--method", "mondrian"]
    ran = rothko(*words, "--suppress", "0.1")
    assert ran.code == 0, ran.err
    told = json.loads((folder / "out/certificate.json").read_text("utf-8"))
    assert told["suppressed"] == 4
    assert "Suppressed: 4 of at most 5 records" in ran.out
    assert "records show nothing" in ran.out
    ran = rothko(*words, "--suppress", "6", "--suppress-as", "left-out", "--overwrite")
    assert ran.code == 0, ran.err
    told = json.loads((folder / "out/certificate.json").read_text("utf-8"))
    assert (told["left_out"], told["rows"]) == (4, 48)
    for wrong, says in (
        (("--suppress", "1"), "1 may mean one record or all of them"),
        (("--suppress", "-3"), "a share of the records"),
        (("--suppress", "few"), "not 'few'"),
        (("--suppress", "52"), "the table has 52"),
        (("--suppress-as", "star"), "goes with --suppress"),
    ):
        ran = rothko(*words, *wrong, "--overwrite")
        assert ran.code == 2
        assert says in ran.err
        assert len(ran.err.strip().splitlines()) == 1

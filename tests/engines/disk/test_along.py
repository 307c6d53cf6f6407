"""Along a curve under a memory limit: the classes of the memory engine; of cluster, classes within ranges."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import rothko as rk
from rothko.data.encode import Encoded
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.engines.along import finely
from rothko.engines.disk import along, curve_sample, laid
from rothko.engines.disk.run import run
from rothko.engines.engine import Run
from rothko.engines.options import RothkoT
from rothko.engines.part import LargeClass, Part
from rothko.errors import PolicyError
from rothko.methods import METHODS, Cluster
from rothko.methods.classes import LocalClasses
from rothko.methods.curve.curve import HilbertMapping
from rothko.methods.curve.segments import as_words, place
from rothko.methods.ties import with_hidden_ties
from rothko.policy.policy import Policy
from rothko.secret import Secret
from tests.strategies.tables import Case, cases, classes, unhurried

SECRET = Secret(bytes(16))
KEY = bytes(range(16))


names = pytest.mark.parametrize("name", ["hilbert", "hilbert-fast", "idistance", "idistance-fast"])


def policy_of(case: Case, engine: Any, method: Any = None) -> Policy:
    specs = {name: {"role": "quasi-identifier", **spec} for name, spec in case.specs.items()}
    others = {name: {"role": "sensitive"} for name in case.columns if name not in case.specs}
    columns = {**specs, **others, "record": {"role": "keep"}}
    method = {"cluster": {"effort": "fast"}} if method is None else method
    return Policy(columns=columns, privacy=case.requirements, method=method, engine=engine)


def numbered(case: Case, **more: Any) -> Source:
    return open_source(pa.table({**case.columns, "record": np.arange(len(case.columns["q0"])), **more}))


def numbers_of(parts: Iterable[Part | LargeClass]) -> list[list[int]]:
    """The classes, as the numbers of their records."""
    made: list[list[int]] = []
    for part in parts:
        if isinstance(part, Part):
            numbers = part.kept["record"].to_numpy()
            made += [sorted(numbers[of].tolist()) for of in classes(part.partition)]
        else:
            made.append(sorted(number for coded in part.batches() for number in coded.kept["record"].to_pylist()))
    return made


@names
@given(cases(), st.integers(2, 20), st.integers(4, 30), st.integers(1, 9), st.integers(0, 9))
@settings(unhurried, max_examples=60)
def test_the_classes_are_those_of_the_memory_engine_to_the_record(
    name: str, case: Case, segment: int, fits: int, finer: int, seed: int
) -> None:
    if not case.allowed()(list(range(len(case.columns["q0"])))):
        reject()
    method, encoded = METHODS[name](segment=segment), case.encoded()
    engine, policy = RothkoT(records_at_once=fits), policy_of(case, "auto", method)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(laid, "FINER", finer)
        patched.setattr(curve_sample, "TOGETHER", 7)
        try:
            found = run(engine, numbered(case), policy, check=lambda _: None, secret=SECRET, seed=seed)
            made = numbers_of(found.parts)
        except PolicyError:  # only more than memory holds meet what is asked
            reject()
    found.spill.close()
    wanted = with_hidden_ties(encoded, SECRET, lambda some: method.partition(some, case.requirements, seed=seed))
    assert sorted(made) == sorted(classes(wanted))


@given(cases(), st.integers(1, 12), st.integers(1, 9))
@settings(unhurried, max_examples=40)
def test_cells_of_a_sample_cover_the_curve(case: Case, most: int, every: int) -> None:
    encoded = case.encoded()
    keys = HilbertMapping(bits=3).keys(encoded, threads=1)
    words = keys.words[:, np.lexsort(keys.words[::-1])]
    cells = finely(words[:, ::every], keys.bits, most)
    edge = 0
    for cell in cells:
        assert cell.first(keys.bits) == edge
        edge = (cell.prefix + 1) << (keys.bits - cell.depth)
        assert cell.rows <= most or cell.depth == keys.bits
    assert edge == 1 << keys.bits
    firsts = np.stack([as_words(cell.first(keys.bits), keys.bits, len(words)) for cell in cells], axis=1)
    found = np.bincount(place(words[:, ::every], firsts), minlength=len(cells))
    assert found.tolist() == [cell.rows for cell in cells]


def parts_of(found: Run, fits: int) -> list[list[list[int]]]:
    parts = []
    for part in found.parts:
        if isinstance(part, Part):
            assert part.rows <= fits
        else:
            assert len({tuple(code) for coded in part.batches() for code in coded.codes.T.tolist()}) == 1
        parts.append(numbers_of([part]))
    return parts


@given(cases(), st.integers(12, 40))
@settings(unhurried, max_examples=30)
def test_classes_hold_within_ranges_that_memory_holds(case: Case, fits: int) -> None:
    encoded, allowed = case.encoded(), case.allowed()
    if not allowed(list(range(encoded.rows))):
        reject()
    engine = RothkoT(records_at_once=fits)
    found = run(engine, numbered(case), policy_of(case, "auto"), check=lambda _: None, secret=SECRET)
    try:
        parts = parts_of(found, fits)
    except PolicyError:  # only more than memory holds meet what is asked
        reject()
    made = [numbers for some in parts for numbers in some]
    assert sorted(i for numbers in made for i in numbers) == list(range(encoded.rows))
    assert all(map(allowed, made))
    told = [note for note in found.notes() if "ranges of the Hilbert curve" in note]
    assert (len(parts) > 1) == bool(told)
    assert all("went on to the next" in note or "none crosses" in note for note in told)
    assert found.top() is None
    found.spill.close()


def people(rows: int = 3_000) -> dict[str, list[Any]]:
    random = np.random.default_rng(1)
    return {
        "age": random.integers(18, 90, rows).tolist(),
        "zip": [f"{code:05}" for code in random.integers(0, 400, rows)],
        "disease": random.choice(["flu", "cold", "asthma"], rows).tolist(),
    }


def asked(**changes: Any) -> Policy:
    masked = {"zip": {"mask": "right"}}
    policy = Policy.quick(
        ["age", "zip", "disease"], qi=["age", "zip"], sensitive="disease", k=5, l=2, hierarchies=masked
    )
    return policy.but(method="cluster", engine={"rothko-s": {"records_at_once": 1_000}}, **changes)


def test_a_release_tells_its_ranges_and_leaves_no_recoding(tmp_path: Path) -> None:
    made = [rk.anonymize(people(), asked(), key=KEY, threads=threads) for threads in (1, 2)]
    for i, release in enumerate(made):
        assert release.recoding is None
        assert release.certificate.engine == "rothko-s"
        assert any("ranges of the Hilbert curve" in note for note in release.certificate.notes)
        io = release.certificate.io
        assert io is not None
        assert (io.passes, io.repartitions) == (2, 1)
        assert io.predicted_reads
        assert io.predicted_writes == 3_000 * (1 + 2 + 1), "a byte for age and disease, two for zip"
        assert all(check["holds"] for check in release.certificate.to_dict()["requirements"])
        release.save(tmp_path / f"{i}")
        assert not [path for path in tmp_path.rglob("*") if "recoding" in path.name]
    data = [(tmp_path / f"{i}" / "release.parquet").read_bytes() for i in range(2)]
    assert data[0] == data[1], "whatever the number of threads"
    whole = rk.anonymize(people(), asked().but(engine="memory"), key=KEY)
    lost, least = made[0].certificate.loss.gcp, whole.certificate.loss.gcp
    assert least <= lost <= 1.25 * least


@pytest.mark.parametrize("workload", [[], [{"classify": {"target": "again"}}]])
def test_records_of_dear_classes_go_on_to_the_next_range(workload: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    rows, rare = 6_000, [f"q{i}" for i in range(3)]
    table = {name: np.minimum(random.geometric(0.4, rows), 9).astype(str) for name in rare}
    table |= {"age": random.integers(18, 90, rows), "record": np.arange(rows)}
    table |= {"disease": random.choice(["flu", "cold", "asthma"], rows), "again": (table["age"] > 50).astype(str)}
    columns = {name: {"role": "quasi-identifier", "hierarchy": "flat"} for name in rare}
    columns |= {"age": {"role": "quasi-identifier"}, "disease": {"role": "sensitive"}}
    columns |= {"record": {"role": "keep"}, "again": {"role": "keep"}}
    policy = asked().but(columns=columns, method={"cluster": {"effort": "fast"}}, workload=workload)

    def made() -> tuple[float, list[list[int]]]:
        found = run(policy.engine, open_source(pa.table(table)), policy, check=lambda _: None, secret=SECRET)
        parts = [part for part in found.parts if isinstance(part, Part)]
        found.spill.close()
        assert max(part.rows for part in parts) <= 1_000
        return sum(part.partition.gcp(found.outline.lines) * part.rows for part in parts), numbers_of(parts)

    lost, some = made()
    assert sorted(number for members in some for number in members) == list(range(rows))
    assert all(len(members) >= 5 for members in some)
    assert all(len(set(table["disease"][members])) >= 2 for members in some)
    assert made() == (lost, some)
    monkeypatch.setattr(along, "rooms", lambda segments, tuples: {})
    assert lost < 0.95 * made()[0]


def test_a_search_is_told_how_much_of_the_limit_it_may_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[tuple[int | None, int]] = []
    partition = Cluster.partition

    def told(self: Cluster, encoded: Encoded, *given: Any, room: int | None = None, **more: Any) -> LocalClasses:
        rooms.append((room, encoded.rows))
        return partition(Cluster(effort="fast"), encoded, *given, room=room, **more)

    monkeypatch.setattr(Cluster, "partition", told)
    columns = {**asked().columns, "text": {"role": "keep"}}
    policy = asked().but(method="cluster", columns=columns, engine="rothko-t")
    table = open_source(pa.table({**people(), "text": ["x" * 4_000] * 3_000}))

    def parts(method: Any, memory: int) -> tuple[set[int | None], int]:
        rooms.clear()
        found = run(
            policy.engine, table, policy.but(method=method), check=lambda _: None, memory=memory, secret=SECRET
        )  # fmt: skip
        assert sum(part.rows for part in found.parts) == 3_000
        found.spill.close()
        return {room for room, _ in rooms}, max(rows for _, rows in rooms)

    values = 32 * (len(set(people()["age"])) + len(set(people()["zip"])))
    less, more = parts("cluster", 410_000_000), parts("cluster", 480_000_000)
    assert less[0] == {35_000_000 - values}, "half of what is free, without what is known of values"
    assert more[0] == {70_000_000 - values}
    assert less[1] < more[1]
    room, rows = parts({"cluster": {"effort": "fast"}}, 410_000_000)
    assert room == {None}
    assert rows > 1.3 * less[1], "what is not searched has all of it for records"


def test_more_equal_records_than_memory_holds_are_one_class() -> None:
    table = people()
    for name, value in {"age": 30, "zip": "00001"}.items():
        table[name][:1_500] = [value] * 1_500
    release = rk.anonymize(table, asked(), key=KEY)
    assert release.certificate.verification.rows == 3_000
    assert sum(value == "30" for value in release.table["age"].astype(str)) >= 1_500


def test_people_are_not_counted_in_ranges() -> None:
    policy = Policy(
        columns={"who": {"role": "identifier"}, "age": {"role": "quasi-identifier"}},
        privacy=[{"k-anonymity": {"k": 2, "of": "who"}}],
        method="cluster",
        engine="rothko-t",
    )
    table = {"who": ["a", "b", "c", "d"], "age": [1, 2, 3, 4]}
    with pytest.raises(PolicyError, match=r"cluster counts people \(of: who\) in memory alone.*or use mondrian"):
        rk.anonymize(table, policy)


def test_cluster_weighs_columns_for_a_model_as_in_memory() -> None:
    table = {**people(400), "again": ["y" if i % 7 < 3 else "n" for i in range(400)]}
    table["age"] = [20 + (50 if again == "y" else 0) + i % 9 for i, again in enumerate(table["again"])]
    policy = asked().but(
        columns={**asked().columns, "again": {"role": "keep"}}, method={"cluster": {"effort": "fast"}},
        workload=[{"classify": {"target": "again"}}],
    )  # fmt: skip
    found, memory = (rk.anonymize(table, policy.but(engine=engine), key=KEY) for engine in ("rothko-t", "memory"))
    assert found.certificate.loss.gcp == memory.certificate.loss.gcp, "it is one range"
    for name in ("age", "zip"):
        assert sorted(found.table[name].astype(str)) == sorted(memory.table[name].astype(str))
    told = "cluster weighed the quasi-identifiers by what 400 of 400 records, drawn at random, tell about 'again'."
    assert told in found.certificate.notes
    unweighed = rk.anonymize(table, policy.but(workload=[], engine="memory"), key=KEY)
    assert unweighed.certificate.loss.gcp != memory.certificate.loss.gcp

"""A release that comes part by part: one file, one loss, one recoding, as if it had been made in one piece.

The parts come from a toy driver: the table is cut by hand, and each piece partitioned in memory.
"""

from __future__ import annotations

import gc
import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.encode import encode
from rothko.data.line import as_text
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.survey.coded import Coded, Outline
from rothko.data.typed import typed
from rothko.engines.disk.spill import Spill
from rothko.engines.part import Part
from rothko.errors import InputError, PolicyError, VerificationError
from rothko.flow import prepare
from rothko.methods.classes import Cuts
from rothko.metrics.meter import LossMeter, Lost
from rothko.release import rows as rows_module
from rothko.release.certificate import Certificate, Io
from rothko.release.formats import parquet
from rothko.release.loss import Loss
from rothko.release.recoding import recoding as recoding_module
from rothko.release.recoding.apply import apply_file
from rothko.release.stream import Stream
from rothko.release.verify import Verification
from rothko.release.write import RowsFile, as_rows, write_table

ROWS = 600
ENDINGS = [".parquet", ".csv", ".tsv", ".arrow", ".feather"]
FORMS = ["range", "region", "mean", "bounds"]


def people(rows: int = ROWS, seed: int = 7) -> pa.Table:
    random = np.random.default_rng(seed)
    age = random.integers(18, 90, rows)
    return pa.table(
        {
            "name": [f"n{i}" for i in range(rows)],
            "age": pa.array(age, mask=random.random(rows) < 0.05),
            "height": random.normal(170, 9, rows).round(1),
            "zip": [f"{n:04d}" for n in random.integers(0, 300, rows)],
            "job": pa.array(random.choice(["cook", "nurse", "clerk", "smith"], rows)),
            "disease": random.choice(["flu", "cold", "asthma"], rows),
            "salary": (age * 100 + random.integers(0, 2000, rows)).astype(np.float64),
            "visits": [str(n) for n in random.integers(0, 9, rows)],
        }
    )


def policy(publish: str = "range", **changes: Any) -> rk.Policy:
    roles = {"name": "identifier", "disease": "sensitive", "salary": "keep", "visits": "keep"}
    columns: dict[str, Any] = {name: {"role": roles.get(name, "quasi-identifier")} for name in people(1).column_names}
    columns["zip"] |= {"hierarchy": {"mask": "right"}}
    asked = {"privacy": [{"k-anonymity": {"k": 5}}, {"distinct-l-diversity": {"l": 2, "of": "disease"}}]}
    return rk.Policy(columns=columns, publish=publish, **(asked | changes))


TASKS = [
    {"classify": {"target": "disease"}},
    {"regress": {"target": "salary"}},
    {"classify": {"target": "disease", "features": ["job", "zip"]}},
    {"regress": {"target": "salary", "features": ["age"]}},
    {"select": {"where": "age >= 40 and job = 'nurse'"}},
    {"aggregate": {"of": ["age", "height"]}},
]


class Driver:
    """Cuts a table at given codes, one line after the other, and makes a part of every piece."""

    def __init__(self, table: pa.Table, policy: rk.Policy, *at: tuple[int, int]) -> None:
        self.policy = policy
        self.source = open_source(table)
        self.encoded = encode(typed(table, policy), policy)
        self.kept = table.select([n for n in table.column_names if n in policy.sensitive + policy.kept])
        known = self.encoded.sensitive | self.encoded.targets
        self.outline = Outline(
            rows=table.num_rows,
            lines=self.encoded.lines,
            domains={name: one.domain for name, one in known.items()},
            sensitive=tuple(self.encoded.sensitive),
            targets=tuple(self.encoded.targets),
        )
        self.given = 0
        sizes = np.array([line.size for line in self.outline.lines], dtype=np.int32)
        # Each cut parts the last leaf: [attribute, begins, child, children]. The root was cut before, and that undone.
        self.nodes = [[-1, 0, 0, 0], [0, 0, 3, 2], [-1, 3, 0, 0], [-1, 0, 0, 0], [-1, 1, 0, 0]]
        self.leaves = [(0, np.zeros_like(sizes), sizes - 1)]
        for line, code in at:
            node, low, high = self.leaves.pop()
            left, right = len(self.nodes), len(self.nodes) + 1
            self.nodes[node] = [line, self.nodes[node][1], left, 2]
            self.nodes += [[-1, int(low[line]), 0, 0], [-1, code, 0, 0]]
            upper, lower = high.copy(), low.copy()
            upper[line], lower[line] = code - 1, code
            self.leaves += [(left, low, upper), (right, lower, high)]

    def top(self) -> Cuts:
        attribute, begins, child, children = np.array(self.nodes, dtype=np.int32).T.copy()
        sizes = np.array([line.size for line in self.outline.lines], dtype=np.int32)
        return Cuts(attribute, begins, child, children, np.flatnonzero(attribute < 0), sizes)

    def parts(self) -> Iterator[Part]:
        codes = self.encoded.codes
        values = {n: s.codes for n, s in (self.encoded.sensitive | self.encoded.targets).items()}
        whole = Coded(codes, values, self.kept)
        for leaf, low, high in self.leaves:
            inside = np.flatnonzero(((codes >= low[:, None]) & (codes <= high[:, None])).all(axis=0))
            coded = whole.take(inside)
            encoded = self.outline.encoded(coded)
            asked = self.policy
            found = asked.method.partition(encoded, asked.privacy, workload=asked.workload, threads=1)
            self.given += 1
            yield Part(encoded, found.within(low, high), coded.kept, leaf)

    def certify(self, verification: Verification, loss: Loss) -> Certificate:
        io = Io(passes=2, repartitions=1, reads=10, writes=5, predicted_reads=9, notes=("age on a grid",))
        return Certificate(self.policy, verification, loss, 0, "rothko-t", "asked for", io=io)

    def stream(self, spill: Spill, **changes: Any) -> Stream:
        given = self.policy, self.outline, self.source, self.certify, spill, LossMeter
        made = Stream(self.parts(), self.top, *given, memory=10**8)
        return replace(made, **changes)


@pytest.fixture
def spill(tmp_path: Path) -> Iterator[Spill]:
    (tmp_path / "spill").mkdir()
    with Spill.open(tmp_path / "spill") as spill:
        yield spill


def driver(asked: rk.Policy, table: pa.Table | None = None) -> Driver:
    return Driver(people() if table is None else table, asked, (0, 25), (1, 90), (0, 50))


def read(path: Path) -> pa.Table:
    source = open_source(path)
    return source.read(as_text=source.names)


def rows(table: pa.Table) -> Counter[tuple[Any, ...]]:
    """The rows as text, however often each is there."""
    plain = rows_module.decoded(table)
    listed = [[text or "" for text in as_text(column).to_pylist()] for column in plain.columns]
    return Counter(zip(*listed, strict=True))


def published(run: Driver) -> pa.Table:
    """What the parts publish, each by itself."""
    from rothko.release.stream import published_classes, released_rows

    tables = []
    for part in run.parts():
        made = published_classes(part.encoded, part.partition, part.kept, run.policy, threads=1)
        found = released_rows(*made, part.kept, run.source.names, run.policy, seed=0, threads=1)
        tables.append(rows_module.decoded(found.to_arrow()))
    return pa.concat_tables(tables)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("form", FORMS)
def test_the_file_has_the_rows_of_the_parts(form: str, ending: str, spill: Spill, tmp_path: Path):
    run = driver(policy(form))
    saved = run.stream(spill).save(tmp_path / f"out{ending}")
    assert run.given == 4
    expected = published(run)
    assert rows(read(saved.data)) == rows(expected)
    assert saved.certificate.verification.rows == ROWS
    assert saved.certificate.verification.holds
    assert saved.certificate.sha256 == hashlib.sha256(saved.data.read_bytes()).hexdigest()
    told = json.loads(saved.certificate_path.read_text())
    assert told["io"]["notes"] == ["age on a grid"]
    assert told["file"] == saved.data.name
    assert {"partition", "publish", "measure", "write", "verify"} <= set(told["seconds"])
    if ending in (".parquet", ".arrow"):
        schema = pq.read_schema(saved.data) if ending == ".parquet" else feather.read_table(saved.data).schema
        assert schema.equals(expected.schema)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["spill", f"out{ending}", "out.certificate.json", "out-recoding"]
    )


def test_the_order_of_the_input_has_no_influence(tmp_path: Path):
    table = people()
    shuffled = table.take(pa.array(np.random.default_rng(1).permutation(ROWS)))
    files = [
        driver(policy(), data).stream(Spill.open(tmp_path)).save(tmp_path / f"{i}.parquet").data
        for i, data in enumerate((table, shuffled))
    ]
    assert files[0].read_bytes() == files[1].read_bytes()
    other = driver(policy()).stream(Spill.open(tmp_path), seed=1).save(tmp_path / "2.parquet").data
    assert other.read_bytes() != files[0].read_bytes()
    assert rows(read(other)) == rows(read(files[0]))


def test_one_part_is_the_release_of_the_memory_engine(spill: Spill, tmp_path: Path):
    """The same code writes both: rows, bytes, loss and recoding are the same."""
    asked = policy(workload=TASKS)
    run = Driver(people(), asked)
    saved = run.stream(spill).save(tmp_path / "stream")
    whole = prepare(people(), asked, engine="memory", threads=1).save(tmp_path / "memory")
    assert saved.data.read_bytes() == whole.data.read_bytes()
    assert_same_loss(saved.certificate.loss, whole.certificate.loss)
    old, new = (json.loads(path.read_text()) for path in (whole.recoding_path, saved.recoding_path))  # type: ignore[union-attr]
    for key in ("policy", "classes", "attributes", "rules"):
        assert old[key] == new[key], key


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_a_large_table_is_written_in_pieces(ending: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Row groups are neither larger nor, but for the last, smaller than they should be."""
    monkeypatch.setattr(rows_module, "ROW_GROUP", 100)
    monkeypatch.setattr(parquet, "ROW_GROUP", 100)
    monkeypatch.setattr(parquet, "SMALL_GROUP", 40)
    path = tmp_path / f"out{ending}"
    table = people()
    with RowsFile(path) as file:
        for begin, count in ((0, 250), (250, 10), (260, 10), (270, 30), (300, 300)):
            file.write(as_rows(table.slice(begin, count)))
    assert rows(read(path)) == rows(table)
    if ending == ".parquet":
        found = pq.read_metadata(path)
        groups = [found.row_group(i).num_rows for i in range(found.num_row_groups)]
        assert groups == [100, 100, 50, 50, 100, 100, 100]


# ── what goes wrong ──────────────────────────────────────────────────────────────────────────────


def test_nothing_stays_when_a_part_fails(spill: Spill, tmp_path: Path):
    run = driver(policy())

    def failing() -> Iterator[Part]:
        yield next(run.parts())
        raise InputError("the disk fails")

    with pytest.raises(InputError, match="the disk fails"):
        run.stream(spill, parts=failing()).save(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["spill"]


def test_nothing_stays_when_verification_fails(spill: Spill, tmp_path: Path):
    """A part whose records were put into classes that are too small."""
    run = driver(policy())
    loose = Driver(people(), policy(privacy=[{"k-anonymity": {"k": 2}}]), (0, 25))
    with pytest.raises(VerificationError):
        run.stream(spill, parts=loose.parts(), top=loose.top).save(tmp_path / "out.parquet")
    assert [path.name for path in tmp_path.iterdir()] == ["spill"]
    assert not any((tmp_path / "spill").iterdir())
    with Spill.open(tmp_path / "spill") as another, pytest.raises(VerificationError):
        run.stream(another, parts=loose.parts(), top=loose.top).store()
    assert not any((tmp_path / "spill").iterdir())


def test_the_place_is_checked_before_any_part_is_made(spill: Spill, tmp_path: Path):
    (tmp_path / "out.parquet").touch()
    run = driver(policy())
    with pytest.raises(rk.errors.OutputError, match="exists"):
        run.stream(spill).save(tmp_path / "out.parquet")
    assert run.given == 0


def test_the_order_of_the_input_cannot_be_kept(spill: Spill, tmp_path: Path):
    with pytest.raises(PolicyError, match="order: keep"):
        driver(policy(order="keep")).stream(spill).save(tmp_path / "out")


# ── loss ─────────────────────────────────────────────────────────────────────────────────────────


def assert_same_loss(one: Loss, other: Loss) -> None:
    left, right = one.to_dict(), other.to_dict()
    assert len(left.pop("workload")) == len(right.pop("workload"))
    for a, b in zip(one.workload, other.workload, strict=True):
        mine, theirs = a.to_dict(), b.to_dict()
        for key in mine:
            if isinstance(mine[key], float):
                assert mine[key] == pytest.approx(theirs[key], rel=1e-5, abs=2e-6), (a.task, key)
            else:
                assert mine[key] == theirs[key], (a.task, key)
    for key in ("gcp", "average_class_size"):
        assert left.pop(key) == pytest.approx(right.pop(key), abs=1e-5)
    assert left.pop("ncp") == pytest.approx(right.pop("ncp"), abs=1e-5)
    assert left == right


@pytest.mark.parametrize("form", FORMS)
def test_loss_adds_up_to_that_of_the_whole(form: str, spill: Spill, tmp_path: Path):
    """The parts' classes, put into one partition, lose the same."""
    from rothko.methods.classes import TreeClasses
    from rothko.release.publish import publish

    asked = policy(form, workload=TASKS)
    run = driver(asked)
    lost = run.stream(spill).save(tmp_path / "out.parquet").certificate.loss
    codes = run.encoded.codes
    order, sizes, low, high, regions = [], [], [], [], []
    for part in run.parts():
        assert part.partition.cuts.root is not None
        first, last = part.partition.cuts.root
        inside = np.flatnonzero(((codes >= first[:, None]) & (codes <= last[:, None])).all(axis=0))
        order.append(inside[part.partition.order])
        sizes.append(part.partition.sizes)
        low.append(part.partition.low)
        high.append(part.partition.high)
        regions.append(part.partition.regions())

    class Joined(Cuts):
        def regions(self) -> Any:
            return tuple(np.concatenate([both[i] for both in regions]) for i in (0, 1))

    top = run.top()
    cuts = Joined(*(getattr(top, name) for name in ("attribute", "begins", "child", "children", "leaf", "sizes")))
    starts = np.concatenate([[0], np.cumsum(np.concatenate(sizes))])
    whole = TreeClasses(np.concatenate(order).astype(np.int32), starts, np.concatenate(low), np.concatenate(high), cuts)
    shown = publish(run.encoded, whole, form, workload=asked.workload)
    expected = Lost.by(run.encoded, whole, whole.class_of(), shown, asked).public()
    assert_same_loss(lost, expected)


# ── the recoding ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_recoding_sends_records_to_their_classes(
    form: str, large: bool, monkeypatch: pytest.MonkeyPatch, spill: Spill, tmp_path: Path
):
    monkeypatch.setattr(recoding_module, "LARGE", 3 if large else 10_000)
    table = people()
    run = driver(policy(form), table)
    saved = run.stream(spill).save(tmp_path / "out")
    assert saved.recoding_path is not None
    assert saved.recoding_path.with_suffix(".tree.parquet").exists() == large
    phi = rk.Recoding.load(saved.recoding_path)
    assert phi.classes == saved.certificate.loss.classes
    assert rows(phi.apply(table)) == rows(read(saved.data))
    assert phi.rules().num_rows == phi.classes
    # Node by node: classes of the tree are those of the parts, whatever their numbers.
    placed = phi.place(typed(table, run.policy))
    number = 0
    for part in run.parts():
        codes = run.encoded.codes
        assert part.partition.cuts.root is not None
        first, last = part.partition.cuts.root
        inside = np.flatnonzero(((codes >= first[:, None]) & (codes <= last[:, None])).all(axis=0))
        assert np.array_equal(placed[inside], part.partition.class_of() + number)
        number += part.partition.classes


def test_a_recoding_of_unseen_records_is_that_of_the_whole_tree(spill: Spill, tmp_path: Path):
    """A table that memory cuts first where the driver does: both recodings send anybody to the same class."""
    asked = policy("region")
    whole = prepare(people(), asked, engine="memory", threads=1)
    assert whole.recoding is not None
    tree = whole.recoding.tree
    encoded = Driver(people(), asked).encoded
    cuts = asked.method.partition(encoded, asked.privacy, threads=1).cuts
    assert cuts is not None
    assert cuts.children[0] == 2
    line, code = int(cuts.attribute[0]), int(cuts.begins[cuts.child[0] + 1])
    run = Driver(people(), asked, (line, code))
    saved = run.stream(spill).save(tmp_path / "out")
    phi = rk.Recoding.load(saved.recoding_path)  # type: ignore[arg-type]
    assert len(phi.tree["leaf"]) == len(tree["leaf"])
    unseen = people(500, seed=99)
    assert phi.apply(unseen).equals(whole.recoding.apply(unseen))


# ── a stored release ─────────────────────────────────────────────────────────────────────────────


def test_a_stored_release_is_asked_like_any_other(spill: Spill, tmp_path: Path):
    run = driver(policy("bounds"))
    with run.stream(spill).store() as release:
        assert repr(release).startswith("StoredRelease(600 records in ")
        assert release.certificate.file is None
        assert release.certificate.sha256 is None
        assert rows(release.table) == rows(published(run))
        assert sum(release.classes["records"].to_pylist()) == ROWS
        assert release.classes.num_rows == release.certificate.verification.classes
        assert release.recoding is not None
        assert rows(release.recoding.apply(people())) == rows(release.table)
        for ending in ENDINGS:
            saved = release.save(tmp_path / f"out{ending}", overwrite=True)
            assert rows(read(saved.data)) == rows(release.table)
            assert saved.certificate.verification.holds
            assert saved.certificate.sha256 == hashlib.sha256(saved.data.read_bytes()).hexdigest()
        assert rk.Recoding.load(saved.recoding_path).classes == release.recoding.classes  # type: ignore[arg-type]
    assert not spill.folder.exists()
    with pytest.raises(InputError, match="closed"):
        _ = release.arrow


def test_a_stored_release_takes_its_folder_along(tmp_path: Path):
    with Spill.open(tmp_path) as spill:
        release = driver(policy()).stream(spill).store()
        spill.keep_open()
    folder = spill.folder
    del spill
    gc.collect()
    assert release.arrow.num_rows == ROWS
    assert all(not path.is_dir() for path in folder.iterdir())
    del release
    gc.collect()
    assert not folder.exists()


def test_a_large_recoding_is_saved_under_another_name(monkeypatch: pytest.MonkeyPatch, spill: Spill, tmp_path: Path):
    monkeypatch.setattr(recoding_module, "LARGE", 3)
    with driver(policy()).stream(spill).store() as release:
        saved = release.save(tmp_path / "mine.parquet")
        assert saved.recoding_path is not None
        assert json.loads(saved.recoding_path.read_text())["tree"] == "recoding.tree.parquet"
        assert rows(rk.Recoding.load(saved.recoding_path).apply(people())) == rows(release.table)


def test_kept_columns_of_a_text_file_get_their_types_where_there_are_types(tmp_path: Path):
    """As the memory engine does: by all values, so that the first part does not decide."""
    table = people()
    late = ["7" if i < ROWS - 1 else "7.5" for i in range(ROWS)]
    table = table.set_column(table.column_names.index("visits"), "visits", pa.array(late))
    run = driver(policy(), table)
    run.source = replace(run.source, path=tmp_path / "people.csv", text=True)
    saved = run.stream(Spill.open(tmp_path)).save(tmp_path / "out.parquet")
    assert pq.read_schema(saved.data).field("visits").type == pa.float64()
    assert pq.read_schema(saved.data).field("disease").type == pa.string()
    saved = run.stream(Spill.open(tmp_path)).save(tmp_path / "1.csv")
    assert Counter(read(saved.data)["visits"].to_pylist()) == Counter(late)
    run.source = replace(run.source, path=tmp_path / "people.csv", text=True)
    with run.stream(Spill.open(tmp_path)).store() as release:
        assert release.arrow.schema.field("visits").type == pa.string()
        assert pq.read_schema(release.save(tmp_path / "2.parquet").data).field("visits").type == pa.float64()
        assert release.save(tmp_path / "3.csv").data.read_bytes() != b""


def test_no_file_of_sql_stays_in_the_folder(spill: Spill, tmp_path: Path):
    with driver(policy(workload=TASKS)).stream(spill).store():
        assert not [path for path in spill.folder.iterdir() if "duckdb" in path.name]


def test_a_stream_that_is_saved_leaves_no_folder(spill: Spill, tmp_path: Path):
    stream = driver(policy()).stream(spill)
    stream.save(tmp_path / "out.csv")
    assert not spill.folder.exists(), "while somebody still holds the stream"


# ── applying to a file larger than memory ────────────────────────────────────────────────────────


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("keep_order", [False, True])
def test_a_recoding_is_applied_some_records_at_a_time(
    ending: str, keep_order: bool, monkeypatch: pytest.MonkeyPatch, spill: Spill, tmp_path: Path
):
    saved = driver(policy("bounds")).stream(spill).save(tmp_path / "out")
    assert saved.recoding_path is not None
    unseen = people(300, seed=5)
    write_table(unseen, tmp_path / f"new{ending}")
    batches = Source.batches
    monkeypatch.setattr(Source, "batches", lambda *a, **o: batches(*a, **o, rows=64))
    placed: list[int] = []
    once = rk.Recoding.apply_table

    def counted(self: rk.Recoding, table: pa.Table) -> Any:
        placed.append(table.num_rows)
        return once(self, table)

    monkeypatch.setattr(rk.Recoding, "apply_table", counted)
    found = []
    for name, limit in (("whole", 10**12), ("pieces", 10)):
        placed.clear()
        applied = apply_file(
            saved.recoding_path,
            tmp_path / f"new{ending}",
            tmp_path / f"{name}{ending}",
            keep_order=keep_order,
            memory=limit,
        )
        assert (applied.rows, sum(placed)) == (300, 300)
        found.append(read(applied.path))
    assert rows(found[0]) == rows(found[1])
    assert found[0].equals(found[1]) == keep_order

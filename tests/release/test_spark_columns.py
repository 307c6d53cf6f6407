"""Recoding by column as tasks of a cluster do it, run here one after the other: what memory would release."""

from __future__ import annotations

import pickle
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import cloudpickle

import rothko as rk
from rothko.data.source.spark import open_spark
from rothko.data.source.written import Written
from rothko.engines.disk.spill import Spill
from rothko.engines.options import Spark
from rothko.engines.spark.cluster import read_message
from rothko.engines.spark.input_rows import FrameRows
from rothko.engines.spark.records import Records, unpacked
from rothko.engines.spark.refine import RefinedTable, refine_on
from rothko.engines.spark.run import look
from rothko.errors import InputError, VerificationError
from rothko.metrics.meter import LossMeter
from rothko.release.by_column import ByPart
from rothko.release.loss import Loss
from rothko.release.spark import columns
from rothko.release.spark.columns import Recode
from rothko.release.spark.part_files import Joined
from tests.engines.spark.test_growth import spread
from tests.twins.spark_cluster import PlainCluster

ROWS = 2_000


def people(rows: int = ROWS) -> pa.Table:
    random = np.random.default_rng(0)
    age = random.integers(18, 90, rows)
    return pa.table(
        {
            "age": pa.array(age, mask=random.random(rows) < 0.03),
            "note": random.choice(np.array(["x", "y", None], dtype=object), rows),
            "zip": random.integers(0, 60, rows),
            "town": random.choice(np.array(["Bonn", "Hof", "Jena", "Köln", "Trier", None], dtype=object), rows),
            "wage": random.integers(0, 400, rows) / 4 + age,
            "disease": random.choice(["flu", "cold", "asthma", "gout"], rows),
            "again": random.choice(np.array(["y", "n", None], dtype=object), rows),
        }
    )


def policy(**changes: Any) -> rk.Policy:
    quasi = {"role": "quasi-identifier"}
    asked: dict[str, Any] = {
        "columns": {
            "age": quasi,
            "zip": {**quasi, "hierarchy": {"intervals": [10, 30]}},
            "town": quasi,
            "wage": quasi,
            "disease": {"role": "sensitive"},
            "again": {"role": "keep"},
            "note": {"role": "keep"},
        },
        "privacy": [
            {"k-anonymity": {"k": 20, "over": ["age", "wage"]}},
            {"k-anonymity": {"k": 30, "over": ["zip", "town"]}},
            {"distinct-l-diversity": {"l": 2, "of": "disease", "over": ["age", "town"]}},
        ],
        "method": "refine",
    }
    return rk.Policy(**asked | changes)


def refined(table: pa.Table, asked: rk.Policy, parts: int = 3) -> RefinedTable:
    engine = Spark(records_at_once=800)
    found = look(engine, PlainCluster(), open_spark(spread(table, parts, parts)), asked, check=lambda _: None)
    return refine_on(engine, found, asked)


def recoded(found: RefinedTable, table: pa.Table, asked: rk.Policy, folder: Path) -> tuple[Joined, Loss]:
    """What Spark would do: records to their files, counts to their bins, everything to one task."""
    folder.mkdir()
    making = Recode.of(found, asked, table.column_names, LossMeter, folder, ".parquet")
    making = pickle.loads(cloudpickle.dumps(making))
    slots: dict[int, list[pa.RecordBatch]] = defaultdict(list)
    for part in found.records.frame.partitions:
        for batch in columns._routed(making, iter(part.to_batches())):
            slots[batch["slot"][0].as_py()].append(batch)
    done = [one for batches in slots.values() for one in columns._finished(making, iter(batches))]
    whole = pa.Table.from_batches(done)
    pairs = sorted(set(zip(whole["kind"].to_pylist(), whole["slot"].to_pylist(), strict=True)))

    def together() -> Iterator[pa.RecordBatch]:
        for kind, slot in pairs:
            mask = (whole["kind"].to_numpy() == kind) & (whole["slot"].to_numpy() == slot)
            yield from columns._together(making, whole.filter(pa.array(mask))).to_batches()

    [batch] = columns._joined(making, folder / ".." / "recoding.json", together())
    joined = read_message(batch["found"][0].as_py())
    with Spill.open() as spill:
        meter = LossMeter(asked, found.outline, spill)
        meter.take_in(joined.measured)
        return joined, meter.finish()


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.cast(pa.string()).to_pylist() for column in table.columns), strict=True))


LABELS = [{"classify": {"target": "again"}}]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"workload": LABELS},
        {"publish": "region"},
        {"publish": "bounds", "workload": [{"aggregate": {"of": ["age"]}}]},
        {"publish": "mean", "workload": [*LABELS, {"classify": {"target": "note"}}]},
        {"privacy": [{"k-anonymity": {"k": 200}}, {"entropy-l-diversity": {"l": 2, "of": "disease"}}]},
    ],
    ids=["ranges", "labels", "regions", "bounds", "means", "one set"],
)
def test_rows_recoding_and_loss_are_those_of_memory(changes: dict[str, Any], tmp_path: Path) -> None:
    table, asked = people(), policy(**changes)
    plain = rk.anonymize(table, asked)
    joined, lost = recoded(refined(table, asked), table, asked, tmp_path / "files")
    written = pq.read_table(tmp_path / "files")
    assert len(list((tmp_path / "files").glob("part-*"))) == 5
    assert written.column_names == plain.arrow.column_names
    assert rows_of(written) == rows_of(plain.arrow)
    assert joined.written.meant.fingerprint.rows == ROWS
    assert lost.to_dict() == plain.certificate.loss.to_dict()
    found = rk.Recoding.load(tmp_path / "recoding.json")
    np.testing.assert_array_equal(found.tree["shown"], plain.recoding.tree["shown"])
    assert found.apply(table).equals(plain.recoding.apply(table))


def test_bytes_hang_neither_on_partitions_nor_on_the_order(tmp_path: Path) -> None:
    table, asked = people(), policy()
    # A note is missing here and there, and in most partitions none is.
    notes = [None if i < 2 else note or "z" for i, note in enumerate(table["note"].to_pylist())]
    table = table.set_column(1, "note", pa.array(notes))
    manifests = [
        recoded(refined(table, asked, parts), table, asked, tmp_path / f"in {parts}")[0].manifest for parts in (1, 4)
    ]
    assert manifests[0] == manifests[1]


def test_where_a_row_goes_tells_nothing_of_what_was_recoded() -> None:
    table, asked = people(), policy()
    found = refined(table, asked)
    making = Recode.of(found, asked, table.column_names, LossMeter, Path(), ".parquet")
    [age] = [parts for line, parts in zip(found.outline.lines, found.parts, strict=True) if line.name == "age"]
    assert (age.sizes > 1).any()
    # Everybody as young as one can be who shows the same.
    line = found.outline.lines[0]
    codes = np.empty(len(table), dtype=np.int32)
    found.coder.lines["age"](table["age"], codes)
    youngest = age.low[age.of_code[codes]]
    other = table.set_column(0, "age", line.values.take(pa.array(youngest, mask=youngest == line.missing_code)))
    assert not other.equals(table)
    sent = [files_of(making, lying(found, one)) for one in (table, other)]
    assert sent[0] == sent[1]
    assert len({file for file, *_ in sent[0]}) == making.files > 1


def lying(found: RefinedTable, table: pa.Table) -> Records:
    """Other records in the place of those that were surveyed."""
    cluster = PlainCluster()
    return Records.of(cluster, FrameRows(cluster, spread(table, 2, 0), Written()), found.coder, found.records.packing)


def files_of(making: Recode, records: Records) -> Counter[tuple[Any, ...]]:
    """The file of each record, with all that is known of it but for its age."""
    sent: Counter[tuple[Any, ...]] = Counter()
    for part in records.frame.partitions:
        for batch in columns._routed(making, iter(part.to_batches())):
            [coded] = unpacked(making.packing, ROWS, iter([batch]))
            file = batch["slot"][0].as_py()
            known = [*coded.codes[1:].tolist(), *(column.to_pylist() for column in coded.kept.columns)]
            sent.update((file, *one) for one in zip(*known, strict=True))
    return sent


def test_rows_that_are_alike_are_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "RUN", 50)
    table = pa.table({"age": pa.array([30] * 1_500 + [50] * 500)})
    asked = rk.Policy(
        columns={"age": {"role": "quasi-identifier"}}, privacy=[{"k-anonymity": {"k": 5}}], method="refine"
    )
    joined, lost = recoded(refined(table, asked, 1), table, asked, tmp_path / "files")
    sizes = [pq.read_metadata(path).num_rows for path in sorted((tmp_path / "files").glob("part-*"))]
    assert sizes == [400] * 5
    assert lost.class_sizes == {"256-511": 1, "1024-2047": 1}
    assert joined.written.meant.rows == 2_000


def test_many_combinations_go_beside_the_recoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.release.recoding.recoding.LARGE", 10)
    table, asked = people(), policy()
    recoded(refined(table, asked), table, asked, tmp_path / "files")
    found = rk.Recoding.load(tmp_path / "recoding.json")
    plain = rk.anonymize(table, asked).recoding
    assert sorted(found.tree["shown"].tolist()) == plain.tree["shown"].tolist()
    assert (tmp_path / "recoding.classes.parquet").exists()


def test_what_does_not_hold_is_not_published() -> None:
    table, asked = people(), policy(publish="mean")
    found = refined(table, asked)
    wrong = [counts[::-1].copy() for counts in found.counts]
    right = ByPart.of(found.outline.lines, found.parts, found.counts, asked)
    assert {*right.published} == {"age", "zip", "town", "wage"}
    shifted = [replace(parts, of_code=np.roll(parts.of_code, 1)) for parts in found.parts]
    with pytest.raises(VerificationError, match="does not hold"):
        ByPart.of(found.outline.lines, tuple(shifted), wrong, asked)


def test_what_it_cannot_do_is_refused_with_what_can(tmp_path: Path) -> None:
    table = people()
    found = refined(table, policy())
    with pytest.raises(InputError, match="has changed while it was read"):
        recoded(replace(found, records=lying(found, table.slice(1))), table, policy(), tmp_path / "files")

"""Nothing of the input leaves but what is published: original values are looked for in the raw bytes.

The table is full of values that can be told at a glance. Whatever of them is found in a file that a
release consists of must be there by right: a bound of a published range, or a column that is kept.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.data.source.csv import CsvOptions
from rothko.release.formats import arrow
from rothko.release.release import Release

ROWS = 400
SECRET = "SECRET"
ENDINGS = [".parquet", ".csv", ".tsv", ".arrow", ".feather"]

random = np.random.default_rng(20240229)
NUMBERS = 100_000_000_000 + random.choice(899_999_999_999, ROWS, replace=False)
"""A quasi-identifier of 12 digits, different for everybody."""
PLACES = [f"Place-{n}" for n in random.choice(10**8, ROWS, replace=False)]
ZIPS = [f"{n:09d}" for n in random.choice(10**9, ROWS, replace=False)]


def secrets(kind: str) -> list[str]:
    return [f"{kind}{SECRET}{i}" for i in range(ROWS)]


def table() -> pa.Table:
    """Everything in which a value could hide: identifiers, dictionaries, metadata of schema and fields."""
    diseases = pa.DictionaryArray.from_arrays(
        pa.array(np.arange(ROWS) % 3), pa.array(["flu", "cold", "asthma", f"unused{SECRET}"])
    )
    # The dropped rows of a slice are still in its buffers.
    notes = pa.array([f"sliced{SECRET}", *(f"note {i % 7}" for i in range(ROWS)), f"sliced{SECRET}"]).slice(1, ROWS)
    columns = {
        "name": pa.array(secrets("name")),
        "number": pa.array(NUMBERS),
        "place": pa.array(PLACES).dictionary_encode(),
        "zip": pa.array(ZIPS),
        "disease": diseases,
        "note": notes,
    }
    fields = [pa.field(n, c.type, metadata={"comment": f"field{SECRET}"}) for n, c in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields, metadata={"origin": f"schema{SECRET}"}))


def policy(publish: str = "range", **changes: Any) -> rk.Policy:
    return rk.Policy(
        columns={
            "name": {"role": "identifier"},
            "number": {"role": "quasi-identifier"},
            "place": {"role": "quasi-identifier"},
            "zip": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}},
            "disease": {"role": "sensitive"},
            "note": {"role": "keep"},
        },
        privacy=[{"k-anonymity": {"k": 10}}, {"distinct-l-diversity": {"l": 2, "of": "disease"}}],
        publish=publish,
        **changes,
    )


@pytest.fixture(scope="module", params=["range", "bounds", "region", "mean"])
def release(request: pytest.FixtureRequest) -> Release:
    return rk.anonymize(table(), policy(request.param), seed=5)


def published(release: Release) -> set[str]:
    """Every text that the rows show for a quasi-identifier, and the numbers in it."""
    shown: set[str] = set()
    for name in release.arrow.column_names:
        if name.startswith(("number", "place", "zip")):
            shown.update(str(value) for value in release.table[name].unique().to_pylist())
    return shown


def texts_and_numbers(raw: bytes) -> bytes:
    """The bytes, and every 64-bit number in them as text: Parquet and Arrow write numbers as they are in memory."""
    words = [np.frombuffer(raw[shift : shift + (len(raw) - shift) // 8 * 8], dtype="<i8") for shift in range(8)]
    found = np.concatenate(words)
    found = found[(found >= NUMBERS.min()) & (found <= NUMBERS.max())]
    return raw + b" " + b" ".join(str(n).encode() for n in np.unique(found))


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files be written without compression, so that their bytes can be searched."""
    to_parquet, parquet_file = pq.write_table, pq.ParquetWriter
    monkeypatch.setattr(pq, "write_table", lambda *a, **o: to_parquet(*a, **{**o, "compression": "none"}))
    monkeypatch.setattr(pq, "ParquetWriter", lambda *a, **o: parquet_file(*a, **{**o, "compression": "none"}))
    monkeypatch.setattr(arrow, "OPTIONS", ipc.IpcWriteOptions())


def readable(path: Path) -> str:
    """The bytes of a file that was written without compression, numbers in them as text."""
    if path.suffix == ".parquet":
        groups = pq.ParquetFile(path).metadata
        columns = (
            groups.row_group(i).column(j) for i in range(groups.num_row_groups) for j in range(groups.num_columns)
        )
        assert {column.compression for column in columns} == {"UNCOMPRESSED"}
    raw = path.read_bytes()
    return (raw if path.suffix in (".csv", ".tsv", ".json") else texts_and_numbers(raw)).decode("latin-1")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.usefixtures("plain")
def test_only_published_values_are_in_the_bytes(ending: str, release: Release, tmp_path: Path):
    text = readable(release.save(tmp_path / f"out{ending}").data)
    shown = " ".join(published(release))
    assert SECRET not in text
    assert [n for n in map(str, NUMBERS.tolist()) if n in text and n not in shown] == []
    assert [value for value in PLACES + ZIPS if value in text and value not in shown] == []


@pytest.mark.usefixtures("plain")
def test_the_search_would_find_what_it_looks_for(tmp_path: Path):
    """A test that cannot fail is a defect: the original has it all."""
    pq.write_table(table(), tmp_path / "original.parquet")
    feather.write_feather(table(), tmp_path / "original.arrow", compression="uncompressed")
    for path in tmp_path.iterdir():
        text = readable(path)
        assert SECRET in text
        assert all(str(n) in text for n in NUMBERS.tolist())
        assert all(place in text for place in PLACES)


def test_most_original_values_are_not_published():
    """Classes of ten show two of their numbers at most; so a dictionary that survived would be seen."""
    release = rk.anonymize(table(), policy(), seed=5)
    shown = " ".join(published(release))
    assert sum(str(n) in shown for n in NUMBERS.tolist()) <= ROWS * 0.2
    assert sum(zip_ in shown for zip_ in ZIPS) == 0


def test_the_certificate_has_no_cell_value(release: Release, tmp_path: Path):
    saved = release.save(tmp_path / "out.csv")
    text = saved.certificate_path.read_text(encoding="utf-8")
    assert SECRET not in text
    assert not [n for n in map(str, NUMBERS.tolist()) if n in text]
    assert not [value for value in PLACES + ZIPS if value in text]
    assert not [word for word in ("flu", "cold", "asthma", "note 1") if f'"{word}"' in text]


def test_the_recoding_has_no_value_that_is_not_published(tmp_path: Path):
    """It lies beside the release, and goes where that goes: cuts yes, a dictionary of the original no."""
    release = rk.anonymize(table(), policy(), seed=5)
    text = release.save(tmp_path / "out.csv").recoding_path.read_text(encoding="utf-8")
    shown = " ".join(published(release))
    assert SECRET not in text
    assert [n for n in map(str, NUMBERS.tolist()) if n in text and n not in shown] == []
    assert [place for place in PLACES if place in text and place not in shown] == []
    assert [zip_ for zip_ in ZIPS if zip_ in text and zip_ not in shown] == []


def test_the_release_in_memory_has_no_value_that_is_not_published(release: Release):
    """Its buffers are as public as its rows: somebody will write them somewhere."""
    shown = published(release)
    for column in release.arrow.columns:
        for chunk in column.chunks:
            words = chunk.dictionary.to_pylist() if pa.types.is_dictionary(chunk.type) else chunk.to_pylist()
            assert not [word for word in words if SECRET in str(word)]
            assert not [word for word in words if word in PLACES and word not in shown]
            for buffer in (b for b in chunk.buffers() if b is not None):
                assert SECRET.encode() not in buffer.to_pybytes()
    assert release.arrow.schema.metadata is None
    assert all(field.metadata is None for field in release.arrow.schema)
    assert release.table.schema.metadata is None


def test_parquet_says_nothing_beyond_its_rows(release: Release, tmp_path: Path):
    file = pq.ParquetFile(release.save(tmp_path / "out.parquet").data)
    assert file.metadata.metadata is None
    assert re.fullmatch(r"parquet-cpp-arrow version \d+\.\d+\.\d+", file.metadata.created_by)
    for group in range(file.metadata.num_row_groups):
        for column in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(column)
            assert chunk.statistics is None
            assert not chunk.is_stats_set
    assert file.schema_arrow.metadata is None
    assert [f.name for f in file.schema_arrow] == release.arrow.column_names


@pytest.mark.parametrize("ending", [".arrow", ".feather"])
def test_arrow_says_nothing_beyond_its_rows(ending: str, release: Release, tmp_path: Path):
    with ipc.open_file(release.save(tmp_path / f"out{ending}").data) as file:
        assert file.schema.metadata is None
        assert all(field.metadata is None for field in file.schema)
        assert not any(pa.types.is_dictionary(field.type) for field in file.schema)


# ── every kind of table that comes in ────────────────────────────────────────────────────────────


def pandas_table() -> pd.DataFrame:
    frame = table().to_pandas()
    frame.index = pd.Index(secrets("index"), name=f"index{SECRET}")
    frame["disease"] = frame["disease"].astype(pd.CategoricalDtype(["flu", "cold", "asthma", f"unused{SECRET}"]))
    frame.attrs["origin"] = f"attrs{SECRET}"
    return frame


def polars_table() -> pl.DataFrame:
    frame = pl.DataFrame(table().replace_schema_metadata(None))
    return frame.with_columns(frame["disease"].cast(pl.Enum(["flu", "cold", "asthma", f"unused{SECRET}"])))


KINDS = {
    "arrow": table,
    "pandas": pandas_table,
    "polars": polars_table,
    "chunked": lambda: pa.concat_tables([table().slice(0, 150), table().slice(150)]),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["pandas", "polars", "chunked"])
@pytest.mark.usefixtures("plain")
def test_no_kind_of_table_leaks(kind: str, ending: str, tmp_path: Path):
    release = rk.anonymize(KINDS[kind](), policy(), seed=5)
    saved = release.save(tmp_path / f"out{ending}")
    for path in (saved.data, saved.certificate_path, saved.recoding_path):
        assert SECRET not in readable(path)
    if ending == ".parquet":
        assert b"pandas" not in saved.data.read_bytes()
        assert b"ARROW:schema" not in saved.data.read_bytes()


def test_pandas_loses_index_and_unused_categories():
    released = rk.anonymize(pandas_table(), policy(), seed=5).table
    assert isinstance(released, pd.DataFrame)
    assert list(released.index) == list(range(ROWS))
    assert released.index.name is None
    assert released.attrs == {}
    assert SECRET not in repr([getattr(released[c].dtype, "categories", None) for c in released])
    assert SECRET not in released.to_csv()


def test_polars_loses_unused_categories():
    released = rk.anonymize(polars_table(), policy(), seed=5).table
    assert isinstance(released, pl.DataFrame)
    assert SECRET not in str(released.schema)
    assert SECRET not in released.write_csv()


def test_every_kind_of_table_gives_the_same_file(tmp_path: Path):
    files = {}
    for kind in KINDS:
        saved = rk.anonymize(KINDS[kind](), policy(), seed=5).save(tmp_path / f"{kind}.csv")
        files[kind] = saved.data.read_bytes()
    assert len(set(files.values())) == 1


# ── order ────────────────────────────────────────────────────────────────────────────────────────


def spearman(a: np.ndarray, b: np.ndarray) -> float:
    ranks = [np.argsort(np.argsort(x, kind="stable")) for x in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_input_is_gone(seed: int):
    """Sorted by a column that is kept, as tables from databases are."""
    rows = 5000
    data = pa.table({"age": random.integers(20, 80, rows), "id": np.arange(rows)})
    released = rk.anonymize(
        data, rk.Policy.quick(["age", "id"], qi=["age"], keep="id", k=20), seed=seed, threads=1
    ).table
    order = released["id"].to_numpy()
    assert sorted(order.tolist()) == list(range(rows))
    assert abs(spearman(order, np.arange(rows))) < 0.1
    # Nor do neighbours stay neighbours, or classes together.
    assert np.mean(np.abs(np.diff(order)) == 1) < 0.01
    ages = released["age"].to_pylist()
    together = np.mean([a == b for a, b in itertools.pairwise(ages)])
    by_chance = sum((ages.count(age) / rows) ** 2 for age in set(ages))
    assert together < by_chance + 0.03


def test_whoever_knows_the_seed_cannot_undo_the_order():
    """The certificate names the seed, so the order must follow from the released rows alone."""
    data = pa.table({"age": random.integers(20, 80, 300), "id": np.arange(300)})
    policy = rk.Policy.quick(["age", "id"], qi=["age"], keep="id", k=20)
    turned = data.take(pa.array(random.permutation(300)))
    assert rk.anonymize(data, policy, seed=9).arrow.equals(rk.anonymize(turned, policy, seed=9).arrow)


# ── files and messages ───────────────────────────────────────────────────────────────────────────


def test_a_run_leaves_nothing_else_on_disk_and_says_no_value(tmp_path: Path):
    """In the working folder, the temporary folder, the output folder, on both outputs and in the certificate."""
    for folder in ("work", "temporary", "out", f"in{SECRET}"):
        (tmp_path / folder).mkdir()
    data = tmp_path / f"in{SECRET}" / f"file{SECRET}.parquet"
    pq.write_table(table(), data)
    policy().save(tmp_path / "policy.yaml")
    command = ["anonymize", str(data), "--policy", str(tmp_path / "policy.yaml"), "--out", str(tmp_path / "out")]
    ran = subprocess.run(
        [sys.executable, "-c", "from rothko.cli import main; main()", *command],
        cwd=tmp_path / "work",
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert sorted(os.listdir(tmp_path / "out")) == ["certificate.json", "release.parquet", "report.html", "report.json"]
    assert os.listdir(tmp_path / "work") == []
    assert os.listdir(tmp_path / "temporary") == []
    assert os.listdir(data.parent) == [data.name]
    printed = ran.stdout + ran.stderr
    assert SECRET not in printed
    assert not [n for n in map(str, NUMBERS.tolist()) if n in printed]
    assert not [value for value in PLACES + ZIPS if value in printed]
    certificate = (tmp_path / "out" / "certificate.json").read_text(encoding="utf-8")
    assert SECRET not in certificate
    assert str(tmp_path) not in certificate
    assert json.loads(certificate)["file"] == "release.parquet"


def test_the_certificate_does_not_name_the_input_file(tmp_path: Path):
    """Not in a note about its header either: a file may be called after whom it is about."""
    data = tmp_path / f"file{SECRET}.csv"
    data.write_text("".join(f"{age},{age % 7}\n" for age in range(20, 60)), encoding="utf-8")
    policy = rk.Policy.quick(["column0", "column1"], qi=["column0"], keep="column1", k=2)
    release = rk.anonymize(data, policy, csv=CsvOptions(header=None))
    saved = release.save(tmp_path / "out")
    assert release.certificate.notes, "the note that is the point of this test"
    assert SECRET not in saved.certificate_path.read_text(encoding="utf-8")


def test_errors_carry_their_values_apart(tmp_path: Path):
    """What --show-values lists is not in the message, nor in the chain of exceptions behind it."""
    data = table().set_column(5, "note", pa.array(secrets("note")))
    spec = policy().model_dump()["columns"] | {"note": {"role": "quasi-identifier", "type": "number"}}
    with pytest.raises(rk.errors.InputError) as raised:
        rk.anonymize(data, rk.Policy(columns=spec, privacy=[{"k-anonymity": {"k": 2}}]))
    assert len(raised.value.values) == ROWS
    assert SECRET in raised.value.values[0]
    error: BaseException | None = raised.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)

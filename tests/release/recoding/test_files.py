"""A recoding of several files: all are listed, and the one that is missing is named."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import InputError
from tests.command import Rothko

NAMES = ("recoding.json", "recoding.tree.parquet", "recoding.classes.parquet")


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, and a release of it with more regions than one file has."""
    folder = tmp_path_factory.mktemp("large")
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.random(30_000), "b": rng.random(30_000)})
    pq.write_table(table, folder / "people.parquet")
    policy = rk.Policy.quick(table.column_names, qi=["a", "b"], k=2)
    saved = rk.anonymize(folder / "people.parquet", policy).save(folder / "out.parquet")
    assert saved.recoding_files == tuple(folder / "out-recoding" / name for name in NAMES)
    assert json.loads(saved.certificate_path.read_text())["recoding"].keys() == {*NAMES}
    return folder


def copy(released: Path, to: Path, *names: str) -> Path:
    for name in names:
        (to / name).write_bytes((released / "out-recoding" / name).read_bytes())
    return to


def test_the_command_lists_every_file(rothko: Rothko, released: Path, tmp_path: Path) -> None:
    done = rothko(
        "anonymize", released / "people.parquet", "--method", "mondrian", "--qi", "a,b", "--k", "2",
        "--out", tmp_path / "out.parquet",
    )  # fmt: skip
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert [Path(line).name for line in lines[-4:-1]] == [*NAMES]
    assert lines[-1] == "The last 3 files are the recoding: keep them in one folder."


@pytest.mark.parametrize("absent", [NAMES[1:2], NAMES[2:3], NAMES[1:]])
def test_the_file_that_is_missing_is_named(
    rothko: Rothko, released: Path, tmp_path: Path, absent: tuple[str, ...]
) -> None:
    folder = copy(released, tmp_path, *(name for name in NAMES if name not in absent))
    done = rothko("apply", folder, released / "people.parquet", "--out", tmp_path / "new.csv")
    said = " ".join(done.err.split())
    assert done.code == 2
    assert "recoding.json is one of the 3 files of a recoding" in said
    for name in NAMES[1:]:
        assert (repr(name) in said) == (name in absent)
    assert "damaged" not in said


def test_files_keep_their_names_and_the_json_may_have_another(released: Path, tmp_path: Path) -> None:
    copy(released, tmp_path, *NAMES)
    (tmp_path / "recoding.json").rename(tmp_path / "phi.json")
    table = pq.read_table(released / "people.parquet").slice(0, 50)
    whole = rk.Recoding.load(released / "out-recoding").apply(table)
    assert rk.Recoding.load(tmp_path / "phi.json").apply(table).equals(whole)


def test_one_of_the_other_files_is_told_from_the_recoding(released: Path) -> None:
    with pytest.raises(InputError, match=r"one of several files of a recoding: give the \.json file, or their folder"):
        rk.Recoding.load(released / "out-recoding" / NAMES[1])


def test_a_file_elsewhere_is_not_read(released: Path, tmp_path: Path) -> None:
    folder = copy(released, tmp_path, *NAMES)
    about = json.loads((folder / NAMES[0]).read_text())
    about["tree"] = str(released / "out-recoding" / NAMES[1])
    (folder / NAMES[0]).write_text(json.dumps(about))
    with pytest.raises(InputError, match="names a file that does not lie beside it"):
        rk.Recoding.load(folder)

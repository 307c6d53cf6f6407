"""The place of a release: nobody's files are touched, and of an older release nothing is left."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rothko as rk
from rothko.errors import OutputError
from rothko.release import commit
from rothko.release.claims import claim_files
from rothko.release.place import Place
from rothko.release.recoding import recoding
from rothko.release.staging import staging

POLICY: dict[str, Any] = {
    "columns": {"age": {"role": "quasi-identifier"}, "s": {"role": "sensitive"}},
    "privacy": [{"k-anonymity": {"k": 2}}],
}


def table(rows: int = 40) -> pa.Table:
    return pa.table({"age": list(range(rows)), "s": ["flu", "cold", "gout", "cough"] * (rows // 4)})


def release(rows: int = 40, **changes: Any) -> Any:
    return rk.anonymize(table(rows), {**POLICY, **changes})


def there(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


ANATOMY = {"method": "anatomy", "privacy": [{"frequency-l-diversity": {"l": 2, "of": "s"}}]}


# ── names


@pytest.mark.parametrize("name", ["out-recoding/recoding.tree.parquet", "out-recoding/recoding.classes.parquet"])
def test_a_name_that_a_release_may_use_must_be_free(tmp_path: Path, name: str) -> None:
    (tmp_path / "out-recoding").mkdir()
    (tmp_path / name).write_text("mine")
    with pytest.raises(OutputError, match="exists; use overwrite=True"):
        release().save(tmp_path / "out.csv")
    assert there(tmp_path) == {name: b"mine"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_input_is_neither_overwritten_nor_removed_whatever_its_name(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "out-recoding").mkdir()
    source = tmp_path / "out-recoding/recoding.tree.parquet"
    pq.write_table(table(), source)
    whole = source.read_bytes()
    with pytest.raises(OutputError):
        rk.anonymize(source, POLICY).save(tmp_path / "out.csv", overwrite=overwrite)
    assert there(tmp_path) == {"out-recoding/recoding.tree.parquet": whole}


def test_a_release_that_is_the_input_of_the_next_is_kept(tmp_path: Path) -> None:
    first = release().save(tmp_path / "out.csv").data
    before = there(tmp_path)
    policy = {**POLICY, "columns": {"age": {"role": "keep"}, "s": {"role": "quasi-identifier"}}}
    with pytest.raises(OutputError, match="The output is the input"):
        rk.anonymize(first, policy).save(tmp_path / "out.parquet", overwrite=True)
    assert there(tmp_path) == before


def test_a_hierarchy_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("".join(f"{i};{i // 10}0s;*\n" for i in range(40)))
    columns = {**POLICY["columns"], "age": {"role": "quasi-identifier", "hierarchy": str(path)}}
    made = release(columns=columns)
    with pytest.raises(OutputError, match="The output is the input"):
        made.save(path, overwrite=True)
    assert path.read_text().startswith("0;00s;*\n")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("phi.json", "phi.json"),
        ("elsewhere", "elsewhere/recoding.json"),
        (True, "out-recoding/recoding.json"),
        (False, None),
    ],
)
def test_the_recoding_goes_where_it_is_asked_to(tmp_path: Path, asked: str | bool, expected: str | None) -> None:
    where = tmp_path / asked if isinstance(asked, str) else asked
    saved = release().save(tmp_path / "out", recoding=where)
    assert sorted(os.listdir(tmp_path / "out")) == ["certificate.json", "release.parquet", "report.html", "report.json"]
    assert saved.recoding_path == (None if expected is None else tmp_path / expected)
    listed = json.loads(saved.certificate_path.read_text())["recoding"]
    if saved.recoding_path is None:
        assert listed == {}
        assert os.listdir(tmp_path) == ["out"]
    else:
        assert [*listed] == [saved.recoding_path.name]
        assert saved.recoding_path.stat().st_mode & 0o777 == 0o600
        rk.Recoding.load(saved.recoding_path)
        assert rk.Recoding.load(saved.recoding_path).classes == release().recoding.classes


def test_a_saved_recoding_is_nobody_elses(tmp_path: Path) -> None:
    path = tmp_path / "phi.json"
    path.write_text("older")
    release().recoding.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["phi.json"]


def test_a_folder_by_its_dots_has_its_recoding_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    release().save(".")
    assert sorted(os.listdir(tmp_path)) == ["here", "here-recoding"]
    assert sorted(os.listdir()) == ["certificate.json", "release.parquet", "report.html", "report.json"]


def test_the_hash_of_a_recoding_confirms_no_guess(tmp_path: Path) -> None:
    """The same recoding twice: all of it is the same, but for what nobody can know."""
    made = release()
    saved = [made.save(tmp_path / name) for name in ("one", "two")]
    assert saved[0].certificate.recoding != saved[1].certificate.recoding
    one, two = (json.loads(each.recoding_path.read_text()) for each in saved)
    assert len(one.pop("salt")) == len(two.pop("salt")) == 32
    assert one == two


# ── an older release


@pytest.mark.filterwarnings("ignore::rothko.errors.PrivacyWarning")
def test_of_an_older_release_nothing_is_left_and_nothing_else_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = {"out.tsv": "mine", "out_sensitive.arrow": "mine", "out.txt": "mine", "out-recoding/mine": "mine"}
    with monkeypatch.context() as small:
        small.setattr(recoding, "LARGE", 2)
        release().save(tmp_path / "out.csv")
    assert (tmp_path / "out-recoding/recoding.tree.parquet").exists()
    for name, text in others.items():
        (tmp_path / name).write_text(text)
    mine = {name: text.encode() for name, text in others.items()}
    release(**ANATOMY).save(tmp_path / "out.parquet", overwrite=True)
    assert {*there(tmp_path)} == {*mine, "out.parquet", "out_sensitive.parquet", "out.certificate.json"}
    (tmp_path / "out-recoding/mine").unlink()
    del mine["out-recoding/mine"]
    release(80).save(tmp_path / "out.arrow", overwrite=True)
    left = there(tmp_path)
    assert {*left} == {*mine, "out.arrow", "out.certificate.json", "out-recoding/recoding.json"}
    assert {name: left[name] for name in mine} == mine
    rk.sets.anonymize([["a"], ["a"]], k=2).save(tmp_path / "out.dat", overwrite=True)
    left = there(tmp_path)
    assert {*left} == {*mine, "out.dat", "out.certificate.json"}
    assert not (tmp_path / "out-recoding").exists()


def test_a_file_that_has_changed_since_belongs_to_its_owner(tmp_path: Path) -> None:
    release().save(tmp_path / "out.csv")
    with (tmp_path / "out.csv").open("a") as file:
        file.write("1,flu\n")
    changed = (tmp_path / "out.csv").read_bytes()
    release().save(tmp_path / "out.parquet", overwrite=True)
    assert there(tmp_path)["out.csv"] == changed


@pytest.mark.parametrize("name", ["../victim.csv", "victim.csv", "out.certificate.json", "out/../victim.csv", "out.sh"])
def test_a_certificate_cannot_name_what_is_not_of_its_release(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "victim.csv").write_text("mine")
        (place / "out.sh").write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    listed = {name: digest, name.replace("/", "\0"): digest}
    (folder / "out.certificate.json").write_text(json.dumps({"files": listed, "recoding": listed}))
    before = there(tmp_path)
    release().save(folder / "out.csv", overwrite=True)
    left = there(tmp_path)
    assert all(left[path] == content for path, content in before.items() if "certificate" not in path)


# ── others at work


def test_what_others_make_meanwhile_is_never_replaced(tmp_path: Path) -> None:
    place = Place.of(tmp_path / "out.csv", suffix=".csv")
    (tmp_path / "out.csv").write_text("mine")
    with pytest.raises(OutputError, match="written by somebody else"):
        release().save(place)
    assert there(tmp_path) == {"out.csv": b"mine"}


def test_an_older_release_that_changes_meanwhile_is_kept(tmp_path: Path) -> None:
    release().save(tmp_path / "out.csv")
    place = Place.of(tmp_path / "out.csv", suffix=".csv", overwrite=True)
    release(80).save(tmp_path / "out.csv", overwrite=True)
    before = there(tmp_path)
    with pytest.raises(OutputError, match="written by somebody else"):
        release().save(place)
    assert there(tmp_path) == before


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_at_the_last_moment_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """Between the last look and the move, where a file system has links and where it has none."""
    create = commit._create

    def at_the_last_moment(temporary: Path, target: Path) -> None:
        if target.suffix == ".csv":
            target.write_text("mine")
        create(temporary, target)

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "no links here")

    release(80).save(tmp_path / "other.csv")
    monkeypatch.setattr(commit, "_create", at_the_last_moment)
    if not links:
        monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OutputError, match="written by somebody else"):
        release().save(tmp_path / "out.csv")
    left = there(tmp_path)
    assert {name: content for name, content in left.items() if "out" in name} == {"out.csv": b"mine"}


def test_without_links_files_are_moved_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    release().save(tmp_path / "out.csv")
    saved = release(80).save(tmp_path / "out.csv", overwrite=True)
    assert {*there(tmp_path)} == {"out.csv", "out.certificate.json", "out-recoding/recoding.json"}
    assert saved.recoding_path is not None
    assert saved.recoding_path.stat().st_mode & 0o777 == 0o600


def test_two_writers_never_mix_what_they_write(tmp_path: Path) -> None:
    """Whoever comes first has the place; the other is told."""
    told: list[object] = []

    def write(text: str) -> None:
        names = [tmp_path / name for name in ("out.csv", "out.certificate.json")]
        for _ in range(30):
            try:
                with staging(claim_files(names, overwrite=True)) as stage:
                    for name in names:
                        stage.place_for(name).write_text(text)
                    stage.commit()
                    told.append(True)
            except OutputError as error:
                told.append(str(error))

    def look() -> None:
        while not done.is_set():
            with commit.locked([tmp_path]):
                seen.add(tuple(sorted(p.read_text() for p in tmp_path.glob("out.*"))))

    done, seen = threading.Event(), set[tuple[str, ...]]()
    looking = threading.Thread(target=look)
    writers = [threading.Thread(target=write, args=(text,)) for text in "abc"]
    for thread in (looking, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    looking.join()
    assert seen <= {(), ("a", "a"), ("b", "b"), ("c", "c")}
    assert told.count(True) > 3
    assert all(one is True or "written by somebody else" in str(one) for one in told)
    assert {p.name for p in tmp_path.iterdir()} == {"out.csv", "out.certificate.json"}


def test_a_run_that_does_not_end_its_move_is_not_waited_for_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commit, "PATIENCE", 0.1)
    with commit.locked([tmp_path]), pytest.raises(OutputError, match="Another run"):
        release().save(tmp_path / "out.csv")
    assert os.listdir(tmp_path) == []


def test_a_failed_move_leaves_the_older_release_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release().save(tmp_path / "out.csv")
    before = there(tmp_path)
    create = commit._create

    def refuse(temporary: Path, target: Path) -> None:
        if target.suffix == ".csv" and "older" not in temporary.name:
            raise OSError(28, "No space left on device")
        create(temporary, target)

    monkeypatch.setattr(commit, "_create", refuse)
    with pytest.raises(OutputError, match="the disk is full; nothing was released"):
        release(80).save(tmp_path / "out.csv", overwrite=True)
    assert there(tmp_path) == before


# ── signals


def test_a_signal_counts_when_the_files_are_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, seen = os.link, list[Path]()

    def stopped(*args: Any, **named: Any) -> None:
        signal.raise_signal(signal.SIGINT)
        link(*args, **named)

    monkeypatch.setattr(os, "link", stopped)
    token = commit.IN_PLACE.set(seen)
    with staging() as stage:
        stage.place_for(tmp_path / "out.csv").write_text("new")
        with pytest.raises(KeyboardInterrupt):
            stage.commit()
    commit.IN_PLACE.reset(token)
    assert seen == [tmp_path / "out.csv"]
    assert os.listdir(tmp_path) == ["out.csv"]

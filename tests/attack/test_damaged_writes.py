"""Bytes that are damaged between writing and verification: whatever the writer got wrong, nothing is released.

The damages are drawn: values that change rows, classes or themselves, published values that no longer cover, rows that
are gone or there twice, columns with another name, type or place. The oracle decides whether a damage hurts: one that
leaves a true release that holds (two equal values change places) does not count.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

import rothko as rk
from rothko.errors import PrivacyWarning, VerificationError
from rothko.release.recoding.apply import apply_file
from rothko.release.rows import Rows
from rothko.release.write import RowsFile
from rothko.sets.records import Records, from_lists
from tests.attack import oracle

Damage = Callable[[pa.Table, random.Random], pa.Table]
ENDINGS = (".parquet", ".csv", ".arrow", ".tsv")
TYPED = (".parquet", ".arrow")
AGES = [20, 21, 22, 23, 40, 41, 42, 43, 60, 61, 62, 63, 64, 65, 66, 67]
PEOPLE = pa.table(
    {
        "name": [f"person-{i}" for i in range(16)],
        "age": AGES,
        "sex": list("ffmmfmfmffmmmfmf"),
        "disease": ["flu", "cold", "flu", "asthma"] * 4,
        "pay": [1000 + 10 * i for i in range(16)],
        "note": [f"n{i % 5}" for i in range(16)],
    }
)
POLICY = rk.Policy.quick(
    PEOPLE.column_names, drop=["name"], qi=["age", "sex"], sensitive=["disease"], keep=["pay", "note"], k=3, l=2
)  # fmt: skip
EXPECTED = oracle.Expected(
    rows=PEOPLE.to_pylist(),
    quasi={
        "age": oracle.Quasi(oracle.interval(int), ("age",)),
        "sex": oracle.Quasi(oracle.one_of, ("sex",)),
    },
    sensitive=("disease",),
    kept=("pay", "note"),
    names=PEOPLE.column_names,
    requirements=POLICY.privacy,
)


# ── damages


def swap(name: str) -> Damage:
    """Two rows exchange what they hold in a column."""

    def damage(table: pa.Table, r: random.Random) -> pa.Table:
        values = table[name].to_pylist()
        i, j = r.sample(range(len(values)), 2)
        values[i], values[j] = values[j], values[i]
        return with_column(table, name, values)

    return damage


def alter(name: str, *others: Any) -> Damage:
    """A row holds another value."""

    def damage(table: pa.Table, r: random.Random) -> pa.Table:
        values = table[name].to_pylist()
        values[r.randrange(len(values))] = r.choice(others)
        return with_column(table, name, values)

    return damage


def relabel(name: str, *others: Any) -> Damage:
    """All rows of a class show something else, so that k-anonymity still holds."""

    def damage(table: pa.Table, r: random.Random) -> pa.Table:
        values = table[name].to_pylist()
        shown = r.choice(sorted(set(values), key=str))
        other = r.choice([*others, *values])
        return with_column(table, name, [other if value == shown else value for value in values])

    return damage


def drop(table: pa.Table, r: random.Random) -> pa.Table:
    gone = r.randrange(table.num_rows)
    return table.take(pa.array([i for i in range(table.num_rows) if i != gone], pa.int64()))


def repeat(table: pa.Table, r: random.Random) -> pa.Table:
    return pa.concat_tables([table, table.slice(r.randrange(table.num_rows), 1)])


def replace_row(table: pa.Table, r: random.Random) -> pa.Table:
    return repeat(drop(table, r), r)


def with_column(table: pa.Table, name: str, values: Sequence[Any]) -> pa.Table:
    kind = table.schema.field(name).type
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(plain):
        values = [None if value is None else str(value) for value in values]
    return table.set_column(table.column_names.index(name), name, pa.array(values, plain).cast(kind))


VALUES: dict[str, Damage] = {
    "sensitive values change rows": swap("disease"),
    "kept values change rows": swap("pay"),
    "other kept values change rows": swap("note"),
    "a sensitive value is another": alter("disease", "flu", "cold", "asthma", "HIV", "Flu", "flu ", None),
    "a kept number is another": alter("pay", 0, 999, 1000, None),
    "a kept text is another": alter("note", "", "n0", "N0", None),
    "a class shows another age": relabel("age", "[20, 22]", "[21, 67]", "[0, 19]", "20", "[23, 20]", "", None),
    "a class shows another sex": relabel("sex", "f", "m", "{f, x}", "F", None),
    "a row shows another age": alter("age", "*", "20", "[20, 67]"),
    "a row is gone": drop,
    "a row is there twice": repeat,
    "a row stands for another": replace_row,
}


def hurts(table: pa.Table) -> bool:
    """Whether a damaged table is not a true release that holds: by the oracle."""
    rows = table.to_pylist()
    try:
        assert len(rows) == len(EXPECTED.rows)
        oracle.check_requirements(rows, oracle.by_class(rows, EXPECTED), EXPECTED)
        oracle.matched(rows, EXPECTED, text=True)
    except (AssertionError, ValueError, IndexError):  # or labels that cannot be read
        return True
    return False


class Writer:
    """Lets what is written be damaged once; notes whether anything was."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._write = RowsFile.write
        self.damage: Callable[[pa.Table], pa.Table | None] = lambda table: None
        self.damaged = False
        monkeypatch.setattr(RowsFile, "write", lambda file, rows: self._damaging(file, rows))

    def _damaging(self, file: RowsFile, rows: Rows) -> None:
        table = rows.to_arrow()
        other = None if self.damaged else self.damage(table)
        if other is None:
            self._write(file, rows)
            return
        self.damaged = True
        self._write(file, Rows(tuple(other.column_names), {}, np.zeros(other.num_rows, dtype=np.int32), other))


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Writer:
    return Writer(monkeypatch)


def drawn(damages: dict[str, Damage], times: int, seed: int = 0) -> Iterator[tuple[str, Callable[[pa.Table], Any]]]:
    """Damages of every kind, each with its own chance; what does not hurt becomes None."""
    for name, damage in damages.items():
        for i in range(times):
            r = random.Random(f"{name} {seed} {i}")

            def once(table: pa.Table, damage: Damage = damage, r: random.Random = r) -> pa.Table | None:
                other = damage(table, r)
                return other if hurts(other) else None

            yield f"{name}, {i}", once


def missed(
    writer: Writer, release: Callable[[Path], object], folder: Path, damages: Any, endings: Sequence[str] = ENDINGS
) -> tuple[list[str], int]:
    """The damages that were released, and how many there were in all."""
    released, count = [], 0
    for i, (name, damage) in enumerate(damages):
        out = folder / str(i)
        out.mkdir()
        writer.damage, writer.damaged = damage, False
        target = out / f"release{endings[i % len(endings)]}"
        try:
            release(target)
        except VerificationError:
            assert not list(out.iterdir()), f"{name}: something is left after a failed verification"
            count += 1
            continue
        if writer.damaged:
            released.append(f"{name}, {target.suffix}")
            count += 1
    return released, count


# ── one table


def test_no_damage_no_failure(writer: Writer, tmp_path: Path) -> None:
    """The damages are what fails: the same way without one is released."""
    released, count = missed(
        writer, rk.anonymize(PEOPLE, POLICY, threads=1).save, tmp_path, [("none", lambda table: None)] * len(ENDINGS)
    )
    assert (released, count) == ([], 0)
    oracle.check(tmp_path / "0" / "release.parquet", EXPECTED)


def test_damaged_values_are_not_released(writer: Writer, tmp_path: Path) -> None:
    release = rk.anonymize(PEOPLE, POLICY, threads=1)
    released, count = missed(writer, release.save, tmp_path, drawn(VALUES, 12))
    assert not released, "\n".join(released)
    assert count > 100


@pytest.mark.parametrize("engine", ["rothko-t", "rothko-s"])
def test_damaged_values_are_not_released_from_disk(engine: str, writer: Writer, tmp_path: Path) -> None:
    """Damaged as the parts are written, or as the stored release is written anew."""

    def release(target: Path) -> None:
        rk.anonymize(PEOPLE, POLICY, engine=engine, threads=1).save(target)

    released, count = missed(writer, release, tmp_path, drawn(VALUES, 3))
    assert not released, "\n".join(released)
    assert count > 25


COLUMNS: dict[str, Callable[[pa.Table], pa.Table]] = {
    "another name": lambda table: table.rename_columns([n.replace("pay", "ssn") for n in table.column_names]),
    "a name in capitals": lambda table: table.rename_columns([n.replace("pay", "Pay") for n in table.column_names]),
    "names change places": lambda table: table.rename_columns(
        [{"pay": "note", "note": "pay"}.get(name, name) for name in table.column_names]
    ),
    "another order": lambda table: table.select(table.column_names[::-1]),
    "one more": lambda table: table.append_column("row", pa.array(range(table.num_rows))),
    "one less": lambda table: table.drop_columns(["note"]),
}
TYPES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "numbers as floats": lambda table: _as(table, "pay", pa.float64()),
    "numbers as text": lambda table: _as(table, "pay", pa.string()),
    "narrower numbers": lambda table: _as(table, "pay", pa.int16()),
    "text as bytes": lambda table: _as(table, "note", pa.binary()),
}


def _as(table: pa.Table, name: str, kind: pa.DataType) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, table[name].cast(kind))


@pytest.mark.parametrize("engine", ["memory", "rothko-t"])
def test_damaged_columns_are_not_released(engine: str, writer: Writer, tmp_path: Path) -> None:
    release = rk.anonymize(PEOPLE, POLICY, engine=engine, threads=1)
    damages = [(name, damage) for name, damage in COLUMNS.items() for _ in ENDINGS]
    (tmp_path / "columns").mkdir()
    released, _ = missed(writer, release.save, tmp_path / "columns", damages)
    damages = [(name, damage) for name, damage in TYPES.items() for _ in TYPED]
    (tmp_path / "types").mkdir()
    released += missed(writer, release.save, tmp_path / "types", damages, TYPED)[0]
    assert not released, "\n".join(released)


def test_a_folder_is_not_a_column(writer: Writer, tmp_path: Path) -> None:
    """A reader that takes ``age=5`` of the path for the column would see one class of all."""

    def alone(table: pa.Table) -> pa.Table:
        return with_column(table, "age", [str(i) for i in range(table.num_rows)])

    folder = tmp_path / "age=5" / "sex=f"
    folder.mkdir(parents=True)
    for ending in ENDINGS:
        writer.damage, writer.damaged = alone, False
        with pytest.raises(VerificationError):
            rk.anonymize(PEOPLE, POLICY, threads=1).save(folder / f"release{ending}")
        assert not list(folder.iterdir())


def test_what_classes_publish_is_damaged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Before rows are put together: a class shows what another shows, which no count of rows gives away."""
    write = RowsFile.write
    release = rk.anonymize(PEOPLE, POLICY, threads=1)
    damaged = []

    def damaging(file: RowsFile, rows: Rows) -> None:
        [shown] = rows.published["age"]
        other = replace(shown, of_class=np.roll(shown.of_class, 1))
        wrong = replace(rows, published={**rows.published, "age": (other,)})
        damaged.append(hurts(wrong.to_arrow()))
        write(file, wrong)

    monkeypatch.setattr(RowsFile, "write", damaging)
    with pytest.raises(VerificationError):
        release.save(tmp_path / "release.parquet")
    assert damaged == [True]
    assert not list(tmp_path.iterdir())


# ── applied records


def test_damaged_applied_records_are_not_written(writer: Writer, tmp_path: Path) -> None:
    release = rk.anonymize(PEOPLE, POLICY, threads=1)
    release.recoding.save(tmp_path / "recoding.json")
    source = tmp_path / "new.csv"
    pcsv.write_csv(PEOPLE, source)

    def apply(target: Path) -> None:
        apply_file(tmp_path / "recoding.json", source, target)

    (tmp_path / "out").mkdir()
    released, count = missed(writer, apply, tmp_path / "out", drawn(VALUES, 3))
    assert not released, "\n".join(released)
    assert count > 20


# ── two tables


def test_damaged_groups_are_not_released(writer: Writer, tmp_path: Path) -> None:
    policy = POLICY.but(privacy=[{"frequency-l-diversity": {"l": 2, "of": "disease"}}], method="anatomy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        release = rk.anonymize(PEOPLE, policy, threads=1)
    value_of = dict(zip(PEOPLE["pay"].to_pylist(), PEOPLE["disease"].to_pylist(), strict=True))

    def other_group(table: pa.Table) -> pa.Table | None:
        """Two people with different values exchange their groups, so that both tables still add up."""
        if "pay" not in table.column_names:
            return None
        rows = table.to_pylist()
        i, j = next(
            (i, j)
            for i, one in enumerate(rows)
            for j, two in enumerate(rows)
            if value_of[one["pay"]] != value_of[two["pay"]] and one["group"] != two["group"]
        )
        groups = [row["group"] for row in rows]
        groups[i], groups[j] = groups[j], groups[i]
        return with_column(table, "group", groups)

    def exact(name: str, value: Any) -> Callable[[pa.Table], pa.Table | None]:
        def damage(table: pa.Table) -> pa.Table | None:
            if name not in table.column_names:
                return None
            return with_column(table, name, [value, *table[name].to_pylist()[1:]])

        return damage

    def hidden(table: pa.Table) -> pa.Table | None:
        """A sensitive value becomes one that nobody has."""
        if "count" not in table.column_names:
            return None
        return with_column(table, "disease", ["HIV", *table["disease"].to_pylist()[1:]])

    damages = [
        ("another group", other_group), ("another age", exact("age", 99)), ("another sex", exact("sex", "x")),
        ("another pay", exact("pay", 1)), ("another disease", hidden),
    ]  # fmt: skip
    released, count = missed(writer, release.save, tmp_path, [d for d in damages for _ in ENDINGS])
    assert not released, "\n".join(released)
    assert count == len(damages) * len(ENDINGS)


# ── sets


BASKETS = [["a", "b"], ["a", "b"], ["a", "b", "c"], ["c", "d"], ["c", "d"], ["c", "d"]]
WRONG_SETS: dict[str, list[list[str]]] = {
    "an item that nobody has": [["a", "b", "z"]] * 3 + [["c", "d"]] * 3,
    "an item that others have": [["a", "b", "d"]] * 3 + [["c", "d"]] * 3,
    "the set of others": [["a", "b"]] * 6,
    "a record is gone": [["a", "b"]] * 2 + [["c", "d"]] * 3,
    "a record is there twice": [["a", "b"]] * 4 + [["c", "d"]] * 3,
    "a record counts for another": [["a", "b"]] * 4 + [["c", "d"]] * 2,
    "a set of one": [["a", "b"], ["a", "b"], ["a"], ["c", "d"], ["c", "d"], ["c", "d"]],
}


@pytest.mark.parametrize("ending", [".txt", ".parquet", ".arrow", ".csv", ".dat.gz"])
@pytest.mark.parametrize("method", ["set-mondrian", "set-k1"])
def test_damaged_sets_are_not_released(
    method: str, ending: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from rothko.sets import release as sets_release

    release = rk.sets.anonymize(BASKETS, k=2, method=method, threads=1)
    write = sets_release.write_sets
    released = []
    for i, (name, sets) in enumerate(WRONG_SETS.items()):
        if method == "set-k1" and name == "a set of one":
            continue  # it may be: three records contain it
        wrong = from_lists(sets)

        def damaging(published: Records, path: Path, *, wrong: Records = wrong, **options: Any) -> None:
            write(wrong, path, **options)

        monkeypatch.setattr(sets_release, "write_sets", damaging)
        folder = tmp_path / f"items=a{i}"
        folder.mkdir()
        try:
            release.save(folder / f"sets{ending}")
        except VerificationError:
            assert not list(folder.iterdir()), f"{name}: something is left after a failed verification"
            continue
        released.append(name)
    assert not released, "\n".join(released)

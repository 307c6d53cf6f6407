"""What is published is true: other rows than those of the records, and classes that do not cover them, are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import rothko as rk
from rothko.data.source.open import open_source
from rothko.errors import VerificationError
from rothko.flow import prepare
from rothko.in_memory import in_memory
from rothko.release.coverage import Values, check_coverage
from rothko.release.publish import Published
from rothko.release.release import Release
from rothko.release.sql import connect
from rothko.release.verify import MODULUS, Fingerprint, fingerprint
from rothko.release.write import RowsFile

ROWS = 240


def people() -> pd.DataFrame:
    random = np.random.default_rng(7)
    ages: list[float | None] = random.integers(18, 90, ROWS).astype(float).tolist()
    for i in range(0, ROWS, 17):
        ages[i] = None
    return pd.DataFrame(
        {
            "age": ages,
            "height": random.normal(170, 9, ROWS).round(2),
            "born": pd.date_range("1950-01-01", periods=ROWS, freq="61D").date,
            "zip": [f"{n:05d}" for n in random.integers(0, 99999, ROWS)],
            "city": random.choice(['a, "b"', "{x}", "Rom", "*", "Köln", "New York"], ROWS),
            "school": random.choice(["none", "primary", "college, or so", "doctor"], ROWS),
            "job": random.choice(["clerk", "nurse", "cook"], ROWS),
            "disease": random.choice(["flu", "cold", "asthma"], ROWS),
            "note": [f"=n{i}" if i % 5 else None for i in range(ROWS)],
            "cost": random.normal(0, 1e3, ROWS),
        }
    )


def policy(**changes: Any) -> rk.Policy:
    quasi = {"role": "quasi-identifier"}
    columns: dict[str, Any] = {
        "age": quasi, "height": quasi, "born": quasi,
        "zip": quasi | {"hierarchy": {"mask": "right"}},
        "city": quasi,
        "school": quasi | {"order": ["none", "primary", "college, or so", "doctor"]},
        "job": quasi | {"hierarchy": {"tree": {"indoor": ["clerk", "nurse"], "outdoor": ["cook"]}}},
        "disease": {"role": "sensitive"}, "note": {"role": "keep"}, "cost": {"role": "keep"},
    }  # fmt: skip
    return rk.Policy(columns=columns, privacy=[{"k-anonymity": {"k": 8}}], **changes)


FORMS = [
    ("mondrian", "range"), ("mondrian", "region"), ("mondrian", "bounds"), ("mondrian", "mean"), ("hilbert", "range"),
    ("cluster", "range"), ("refine", "range"), ("refine", "region"),
]  # fmt: skip


def release(method: str = "mondrian", publish: str = "range") -> Release:
    workload = [{"classify": {"target": "disease"}}] if method == "refine" else []
    return in_memory(open_source(people()), policy(method=method, publish=publish, workload=workload))


def covers(made: Release, published: dict[str, tuple[Published, ...]] | None = None) -> None:
    truth = made._truth
    with connect(1) as connection:
        check_coverage(
            truth.values, truth.told.classes, truth.lines, published or truth.published, connection=connection
        )


@pytest.mark.parametrize(("method", "publish"), FORMS)
def test_every_form_is_read_as_it_is_meant(method: str, publish: str) -> None:
    covers(release(method, publish))


@pytest.mark.parametrize(("method", "publish"), FORMS)
def test_a_class_that_shows_what_another_does_is_refused(method: str, publish: str) -> None:
    """Each class in turn gets the label of another, column by column: what does not hold for it is noticed."""
    made = release(method, publish)
    truth = made._truth
    noticed = tried = 0
    for name, columns in truth.published.items():
        for place, column in enumerate(columns):
            for taken in range(0, len(column.of_class), 5):
                for other in range(0, len(column.values), 3):
                    shown = column.values[other]
                    if other == column.of_class[taken] or shown.as_py() in ("*", "⊥"):
                        continue
                    wrong = column.of_class.copy()
                    wrong[taken] = other
                    altered = [*columns[:place], replace(column, of_class=wrong), *columns[place + 1 :]]
                    right = holds(made, name, taken, column, shown.as_py())
                    tried += 1
                    noticed += not right
                    if right:
                        covers(made, {**truth.published, name: tuple(altered)})
                    else:
                        with pytest.raises(VerificationError, match=name):
                            covers(made, {**truth.published, name: tuple(altered)})
            if tried > 150:
                break
    assert noticed > 5


def holds(made: Release, name: str, number: int, column: Published, shown: Any) -> bool:
    """Whether a label holds for the records of a class, in plain Python."""
    truth = made._truth
    where = truth.told.classes == number
    values = [v for v, inside in zip(truth.values[name].low.to_pylist(), where, strict=True) if inside]
    present = [v for v in values if v is not None]
    if column.name.endswith(("_min", "_max")):
        if shown is None:
            return len(present) < len(values)
        return len(present) == len(values) and (
            shown <= min(present) if column.name.endswith("_min") else shown >= max(present)
        )
    if not isinstance(shown, str | None):
        return len(present) == len(values) and bool(np.isclose(np.mean(present), shown, rtol=1e-9))
    if shown is None:
        return not present
    if len(present) < len(values):
        return False
    texts = set(map(str, present))
    return texts <= members(name, shown, texts | {str(value) for value in people()[name]})


def members(name: str, shown: str, known: set[str]) -> set[str]:
    """The texts of all values that a label stands for."""
    if name in ("age", "height", "born"):
        read = float if name != "born" else str
        if shown[0] not in "[(":
            return {value for value in known if value != "None" and value != "nan" and read(value) == read(shown)}
        first, last = shown[1:-1].split(", ")
        return {
            value
            for value in known
            if value not in ("None", "nan")
            and (first == "-inf" or read(first) <= read(value))
            and (last == "inf" or (read(value) <= read(last) if shown[-1] == "]" else read(value) < read(last)))
        }
    if name == "zip":
        bare = shown.rstrip("*")
        return {value for value in known if value.startswith(bare)}
    if name == "job":
        return {"indoor": {"clerk", "nurse"}, "outdoor": {"cook"}}.get(shown, {shown})
    if name == "school":
        order = ["none", "primary", "college, or so", "doctor"]
        if shown[0] not in "[(":
            return {shown.strip('"')}
        ends = shown[1:-1].replace('"college, or so"', "C").split(", ")
        places = [
            -1 if e == "-inf" else 4 if e == "inf" else order.index("college, or so" if e == "C" else e) for e in ends
        ]
        return set(order[max(places[0], 0) : places[1] + (shown[-1] == "]")])
    quoted = {'"a, ""b"""': 'a, "b"', '"{x}"': "{x}", '"*"': "*"}
    inner = shown[1:-1] if shown.startswith("{") else shown
    for text, value in quoted.items():
        inner = inner.replace(text, f"<{value}>".replace(", ", ";"))
    return {w.strip("<>").replace(";", ", ") for w in inner.split(", ")}


def test_cells_of_a_grid_are_covered_as_a_whole() -> None:
    line = release()._truth.lines[1]
    held = Values(pa.array([1.0, 5.0]), pa.array([4.0, 9.0]))
    classes = np.zeros(2, dtype=np.int32)
    shown = Published(line.name, pa.array(["[1, 9]"]), np.zeros(1, dtype=np.int32))
    with connect(1) as connection:
        check_coverage({line.name: held}, classes, [line], {line.name: (shown,)}, connection=connection)
        narrow = replace(shown, values=pa.array(["[1, 8]"]))
        with pytest.raises(VerificationError):
            check_coverage({line.name: held}, classes, [line], {line.name: (narrow,)}, connection=connection)


# ── the rows of a file


def test_a_fingerprint_is_the_sum_of_products_by_the_modulus() -> None:
    random = np.random.default_rng(3)
    largest = 2**64 - 1
    edges = [0, 1, MODULUS - 1, MODULUS, MODULUS + 1, largest]
    hashes = [*edges, *random.integers(0, largest, 50, dtype=np.uint64).tolist()]
    # Sums over the rows of a class pass 64 bits.
    sums = [*edges, *(largest * n for n in random.integers(1, 2**40, 50).tolist())]
    pairs = [(h, s) for h in hashes for s in sums]
    with connect(1) as connection:
        rows = ", ".join(f"(2, {h}::UBIGINT, {s}::HUGEINT)" for h, s in pairs)
        connection.execute(f"CREATE TEMP TABLE class AS SELECT * FROM (VALUES {rows}) AS _(size, h, s)")
        found = fingerprint(connection, "class")
    assert found == Fingerprint(2 * len(pairs), sum(h * s for h, s in pairs) % MODULUS)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".arrow"])
@pytest.mark.parametrize("source", ["frame", "csv"])
@pytest.mark.parametrize("column", ["disease", "note", "cost"])
def test_one_altered_cell_is_refused(
    engine: str, ending: str, source: str, column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data: Any = people()
    if source == "csv":
        data.to_csv(tmp_path / "in.csv", index=False)
        data = tmp_path / "in.csv"
    prepare(data, policy(), engine=engine).save(tmp_path / f"right{ending}")
    write = RowsFile.write

    def damaged(self: RowsFile, rows: Any) -> None:
        values = rows.kept[column].to_pylist()
        values[0], values[1] = ("1.5" if isinstance(values[1], str | None) else 1.5), values[0]
        kept = rows.kept.set_column(
            rows.kept.column_names.index(column), column, pa.array(values, rows.kept[column].type)
        )
        write(self, replace(rows, kept=kept))

    monkeypatch.setattr(RowsFile, "write", damaged)
    with pytest.raises(VerificationError, match="rows are not those of the records"):
        prepare(data, policy(), engine=engine).save(tmp_path / f"wrong{ending}")
    assert not (tmp_path / f"wrong{ending}").exists()


@pytest.mark.parametrize("publish", ["bounds", "mean"])
def test_rows_of_nothing_but_zeros_count(publish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the hash of 0 is 0, whatever is multiplied by it would be hidden."""
    table = pa.table({"age": [0] * 6 + [9] * 6, "note": [0] * 6 + [1] * 6})
    asked = rk.Policy.quick(table.column_names, qi=["age"], keep="note", k=3, publish=publish)
    write = RowsFile.write

    def damaged(self: RowsFile, rows: Any) -> None:
        kept = rows.kept["note"].to_pylist()
        kept[kept.index(0)] = 5
        write(self, replace(rows, kept=pa.table({"note": pa.array(kept, pa.int64())})))

    monkeypatch.setattr(RowsFile, "write", damaged)
    with pytest.raises(VerificationError, match="rows are not those of the records"):
        prepare(table, asked).save(tmp_path / "wrong.parquet")


def test_bounds_of_a_part_that_has_a_missing_value_hold_for_classes_that_have_none() -> None:
    """Where columns are recoded by themselves, a class shows what its part of the column shows."""
    table = pa.table({"age": pa.array([None, 2, 3, 2, 5, 4]), "job": list("bbbbaa")})
    asked = rk.Policy.quick(table.column_names, qi=["age", "job"], k=2, method="refine", publish="bounds")
    shown = rk.anonymize(table, asked).arrow.to_pydict()
    assert shown["age_min"] == shown["age_max"] == [None] * 6
    assert sorted(shown["job"]) == list("aabbbb")

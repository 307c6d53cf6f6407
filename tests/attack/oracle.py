"""What a written release promises, checked in plain Python on its bytes and the original: no SQL, no code of rothko's.

Of the package only the names of the requirements are used, which :mod:`plain` checks by their definitions. Each check
raises :class:`AssertionError` with what is wrong. Tables are lists of dicts, and small.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from rothko.privacy import Requirement
from tests.twins import mondrian as plain

Row = dict[str, Any]
Says = Callable[[str, Any], bool]
"""Whether a label other than ``*`` holds for a value that is there."""
CHANCE = 5.0
"""Standard deviations: a rank correlation that is further from 0 is not chance (once in 1.7 million tables)."""


# ── what a published value says


def interval(parse: Callable[[str], Any]) -> Says:
    """Numbers, dates, ordinal labels: one value, ``[a, b]``, or a region that is open at an end."""

    def says(label: str, value: Any) -> bool:
        if label[0] not in "[(":
            return bool(parse(label) == value)
        low, high = label[1:-1].split(", ")
        above = low == "-inf" if label[0] == "(" else parse(low) <= value
        below = value <= parse(high) if label[-1] == "]" else high == "inf" or value < parse(high)
        return bool(above and below)

    return says


def one_of(label: str, value: str) -> bool:
    """A label, or a set of labels ``{a, "b, c"}``; a label that looks like something else is in quotes."""
    if label.startswith("{") and label.endswith("}"):
        return value in _members(label[1:-1])
    return value in (label, unquoted(label))


def unquoted(label: str) -> str:
    return label[1:-1].replace('""', '"') if re.fullmatch(r'"(?:[^"]|"")*"', label, re.DOTALL) else label


def _members(text: str) -> Iterator[str]:
    while text:
        found = re.match(r'("(?:[^"]|"")*"|[^"]*?)(?:, |$)', text, re.DOTALL)
        assert found, "a set that cannot be read"
        yield unquoted(found[1])
        text = text[found.end() :]


def mask(label: str, value: str) -> bool:
    return len(label) == len(value) and all(a in (b, "*") for a, b in zip(label, value, strict=True))


def between(parse: Callable[[str], Any]) -> Says:
    """The labels of ``hierarchy: auto``: a value, or ``first … last``."""

    def says(label: str, value: Any) -> bool:
        first, _, last = label.partition(" … ")
        return bool(parse(first) <= value <= parse(last or first))

    return says


def calendar(label: str, value: dt.date) -> bool:
    return label in (f"{value:%Y-%m-%d}", f"{value:%Y-%m}", f"{value:%Y}")


def below(tree: Any) -> Says:
    """The labels of a tree: a leaf, or a node that has it below."""
    above: dict[str, set[str]] = defaultdict(set)

    def walk(node: Any, path: tuple[str, ...]) -> None:
        if isinstance(node, str):
            above[node] |= {node, *path}
        elif isinstance(node, list):
            for child in node:
                walk(child, path)
        else:
            for name, child in node.items():
                walk(child, (*path, name))

    walk(tree, ())
    return lambda label, value: label in above[value]


# ── the original, and what is expected of its release


@dataclass(frozen=True, slots=True)
class Quasi:
    """A quasi-identifier: how its labels are read, and the columns that publish it."""

    says: Says
    columns: tuple[str, ...]
    """One of labels or means, or smallest and largest value; statistics may come after."""
    form: str = "label"
    """``label``, ``mean``, ``bounds``."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The original, and what was asked."""

    rows: Sequence[Row]
    """With all columns; what is missing is None."""
    quasi: Mapping[str, Quasi]
    sensitive: Sequence[str]
    kept: Sequence[str]
    names: Sequence[str]
    """The columns of the input, in order."""
    requirements: Sequence[Requirement]
    missing: Sequence[str] = ()
    """Tokens that stand for a missing value, in quasi-identifiers and where requirements are counted."""
    secrets: Sequence[str] = ()
    """Texts that must not be found anywhere in what leaves."""
    keeps_order: bool = False
    opaque: Sequence[str] = ()
    """Kept columns whose cells are not compared: nested values have no one form as text."""
    untyped: bool = False
    """Whether it came from a text file, whose columns have no types."""
    by_column: bool = False
    """Whether bounds and means are those of a part of a column, and not of a class."""

    @property
    def columns(self) -> list[str]:
        """The columns that leave."""
        as_is = {*self.sensitive, *self.kept}
        found = []
        for name in self.names:
            found += self.quasi[name].columns if name in self.quasi else [name] * (name in as_is)
        return found

    @property
    def compared(self) -> list[str]:
        """The columns that leave as they are, and tell which record a row stands for."""
        return [name for name in (*self.sensitive, *self.kept) if name not in self.opaque]


def check(path: Path, expected: Expected) -> None:
    """All that a release of one table promises."""
    columns, rows = read(path)
    assert columns == expected.columns, "other columns leave than should"
    assert len(rows) == len(expected.rows), "a record is gone, or there twice"
    text = expected.untyped or path.suffix in (".csv", ".tsv")
    check_requirements(rows, by_class(rows, expected), expected)
    pairs = matched(rows, expected, text=text)
    if not expected.by_column:
        check_classes(rows, pairs, expected, text=text)
    check_secrets(path, expected.secrets)
    if not expected.keeps_order:
        check_order(pairs)
        check_dictionaries(path, rows, [*expected.sensitive, *expected.kept])


def read(path: Path) -> tuple[list[str], list[Row]]:
    """The columns and rows of a written file; cells of a text file as text, empty ones as None."""
    if path.suffix in (".csv", ".tsv"):
        with path.open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
        # A blank line is a row of one column that is missing.
        lines = [line or [""] for line in lines]
        return header, [dict(zip(header, map(_text_cell, line), strict=True)) for line in lines]
    if path.suffix == ".parquet":
        table = pq.ParquetFile(path).read()
    else:
        with pa.OSFile(str(path)) as file:
            table = ipc.open_file(file).read_all()
    table.validate(full=True)
    return table.column_names, table.to_pylist()


def _text_cell(written: str) -> str | None:
    """A cell of a text file, without the quote that keeps a spreadsheet from running it."""
    return written[1:] if re.match(r"'[=+\-@\t\r]", written) else written or None


def by_class(rows: Sequence[Row], expected: Expected) -> list[list[int]]:
    """The row numbers of each combination of published values."""
    shown = [column for quasi in expected.quasi.values() for column in quasi.columns]
    groups = defaultdict(list)
    for number, row in enumerate(rows):
        groups[tuple(map(plain_cell, (row[column] for column in shown)))].append(number)
    return list(groups.values())


def check_requirements(rows: Sequence[Row], classes: Sequence[Sequence[int]], expected: Expected) -> None:
    """Every requirement, by its definition, in every class that the file shows."""
    numbers = {
        r.column for r in expected.requirements if r.needs == "moments" or getattr(r, "distance", "") == "ordered"
    }
    columns = {
        name: [counted(row[name], expected.missing, number=name in numbers) for row in rows]
        for name in expected.sensitive
    }
    for requirement in expected.requirements:
        failing = sum(not plain.satisfies(requirement, numbers, columns) for numbers in classes)
        assert not failing, f"{requirement.describe()} does not hold in {failing} of {len(classes)} classes"


def counted(value: Any, missing: Sequence[str] = (), *, number: bool = False) -> Any:
    """A sensitive value as requirements count it."""
    value = plain_cell(value)
    if value is None or value == "" or str(value) in missing:
        return None
    return int(value) if number else value


def plain_cell(value: Any) -> Any:
    """One thing for NaN and None; anything that cannot be hashed as its text."""
    if isinstance(value, float) and math.isnan(value):
        return None
    return repr(value) if isinstance(value, list | dict) else value


def covers(quasi: Quasi, row: Row, value: Any) -> bool:
    """Whether what a row publishes can be said of a record with this value."""
    shown = [plain_cell(row[column]) for column in quasi.columns]
    if quasi.form == "bounds":
        low, high = shown[:2]
        if low is None or high is None:
            return low is None and high is None
        return value is not None and like(low, value) <= value <= like(high, value)
    if quasi.form == "mean" or shown[0] in ("*", "⊥"):
        return True
    return value is None if shown[0] is None else value is not None and quasi.says(shown[0], value)


def like(cell: Any, value: Any) -> Any:
    """A cell of a text file, or of what came from one, in the type of a value."""
    if isinstance(value, Decimal):
        return Decimal(str(cell))
    if not isinstance(cell, str) or isinstance(value, str):
        return cell
    if isinstance(value, bool):
        return {"true": True, "false": False}[cell.lower()]
    if isinstance(value, dt.datetime | dt.date):
        return type(value).fromisoformat(cell)
    return type(value)(cell)


def matched(rows: Sequence[Row], expected: Expected, *, text: bool) -> list[int]:
    """For each released row an original record that it may stand for, each once: a perfect matching.

    A row may stand for a record where every kept and sensitive cell is the same, and every published one covers.
    """
    as_is = expected.compared
    candidates = defaultdict(list)
    for number, record in enumerate(expected.rows):
        candidates[tuple(cell(record[name], text=text) for name in as_is)].append(number)
    edges = [
        [
            number
            for number in candidates.get(tuple(cell(row[name], text=text) for name in as_is), [])
            if all(
                covers(quasi, row, counted(expected.rows[number][name], expected.missing))
                for name, quasi in expected.quasi.items()
            )
        ]
        for row in rows
    ]
    drawn = random.Random(0)
    for some in edges:  # which of several that are alike is anybody's guess, and no order of theirs
        drawn.shuffle(some)
    taken: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for number in edges[row]:
            if number not in seen:
                seen.add(number)
                if number not in taken or place(taken[number], seen):
                    taken[number] = row
                    return True
        return False

    missed = sum(not place(row, set()) for row in range(len(rows)))
    assert not missed, f"{missed} rows are of no record: a kept value was changed, or a published one does not cover"
    of_row = {row: number for number, row in taken.items()}
    return [of_row[row] for row in range(len(rows))]


def cell(value: Any, *, text: bool) -> Any:
    """A kept cell as it is compared: exactly, and in a text file as it is written there, nested ones as JSON."""
    if text and isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    value = plain_cell(value)
    if not text:
        return (isinstance(value, bool), value) if not isinstance(value, float) else (False, value)
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        try:
            return plain_cell(float(value))
        except ValueError:
            pass
        try:
            return dt.datetime.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return dt.datetime.combine(value, dt.time())
    return float(value) if isinstance(value, int | float | Decimal) else value


def check_classes(rows: Sequence[Row], pairs: Sequence[int], expected: Expected, *, text: bool) -> None:
    """Bounds and means are those of the class, where what is kept tells which records it has."""
    if not tells_apart(expected, expected.compared, text=text):
        return
    for numbers in by_class(rows, expected):
        for name, quasi in expected.quasi.items():
            values = [counted(expected.rows[pairs[i]][name], expected.missing) for i in numbers]
            labels = 1 if quasi.form == "label" else 0
            for column in quasi.columns[labels:]:
                check_statistic(column, plain_cell(rows[numbers[0]][column]), values)


def check_statistic(column: str, shown: Any, values: Sequence[Any]) -> None:
    """The smallest or largest value, or the mean, of a class; missing where one of its values is."""
    if None in values:
        assert shown is None, "a class with missing values shows a number"
    elif column.endswith(("_min", "_max")):
        end = min(values) if column.endswith("_min") else max(values)
        assert like(shown, values[0]) == end, "a bound that nobody has"
    else:
        mean = float(sum(values) / len(values))
        assert math.isclose(float(shown), mean, rel_tol=1e-9, abs_tol=1e-9), "not the mean of its class"


def tells_apart(expected: Expected, names: Sequence[str], *, text: bool) -> bool:
    """Whether no two records are alike in these columns, as they are compared."""
    told = {tuple(str(cell(record[name], text=text)) for name in names) for record in expected.rows}
    return len(told) == len(expected.rows)


def check_secrets(path: Path, secrets: Sequence[str]) -> None:
    """None of these texts is anywhere in the bytes, compressed or not, nor beside them."""
    places = [path, *path.parent.glob("*.json")]
    for raw in (everything(place) for place in places):
        for secret in secrets:
            assert secret.encode() not in raw, "what must not leave is in the bytes"


def everything(path: Path) -> bytes:
    """The bytes of a file, and of what is compressed in it: buffers, dictionaries, metadata."""
    raw = [path.read_bytes()]
    if path.suffix == ".parquet":
        file = pq.ParquetFile(path)
        raw += [repr(file.metadata.metadata).encode(), repr(file.schema_arrow).encode()]
        raw += list(_buffers(file.read()))
    elif path.suffix in (".arrow", ".feather"):
        with pa.OSFile(str(path)) as opened:
            table = ipc.open_file(opened).read_all()
        raw += [table.schema.to_string(show_field_metadata=True, show_schema_metadata=True).encode()]
        raw += list(_buffers(table))
    return b"\0".join(raw)


def _buffers(table: pa.Table) -> Iterator[bytes]:
    for column in table.columns:
        for chunk in column.chunks:
            yield from _buffers_of(chunk)


def _buffers_of(array: pa.Array) -> Iterator[bytes]:
    yield from (buffer.to_pybytes() for buffer in array.buffers() if buffer is not None)
    if pa.types.is_dictionary(array.type):
        yield from _buffers_of(array.dictionary)
    elif pa.types.is_nested(array.type) and pa.types.is_struct(array.type):
        for i in range(array.type.num_fields):
            yield from _buffers_of(array.field(i))
    elif pa.types.is_nested(array.type):
        yield from _buffers_of(array.values)


# ── order


def check_order(positions: Sequence[int]) -> None:
    """The order of the rows has nothing to do with that of the input."""
    strength = abs(rank_correlation(range(len(positions)), positions)) * math.sqrt(max(len(positions) - 1, 0))
    assert strength < CHANCE, f"the rows follow the order of the input: {strength:.1f} standard deviations"


def rank_correlation(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's, 0 where one of them is constant."""
    ranks = [_ranks(a), _ranks(b)]
    centred = [[x - (len(r) - 1) / 2 for x in r] for r in ranks]
    spread = math.prod(math.sqrt(sum(x * x for x in c)) for c in centred)
    return sum(x * y for x, y in zip(*centred, strict=True)) / spread if spread else 0.0


def _ranks(values: Sequence[float]) -> list[float]:
    order = sorted(values)
    first = {value: order.index(value) for value in set(order)}
    count = Counter(order)
    return [first[value] + (count[value] - 1) / 2 for value in values]


def check_dictionaries(path: Path, rows: Sequence[Row], names: Sequence[str]) -> None:
    """Dictionaries of kept columns are sorted, or in the order of the released rows: neither knows the input."""
    for name, words in dictionaries(path, names):
        used = {row[name] for row in rows}
        assert set(words) <= used, f"column {name}: a dictionary has more than the rows"
        shown = [word for word in dict.fromkeys(row[name] for row in rows) if word is not None]
        ordered = sorted(words, key=lambda word: word.encode()) if all(isinstance(w, str) for w in words) else words
        assert words in (ordered, shown), f"column {name}: the order of a dictionary is neither sorted nor released"


def dictionaries(path: Path, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    """The dictionaries of text columns as they stand in a file, by column."""
    if path.suffix == ".parquet":
        texts = {field.name for field in pq.read_schema(path) if pa.types.is_string(field.type)}
        table = pq.ParquetFile(path, read_dictionary=[name for name in names if name in texts]).read()
    elif path.suffix in (".arrow", ".feather"):
        with pa.OSFile(str(path)) as file:
            table = ipc.open_file(file).read_all()
    else:
        return
    for name in names:
        for chunk in table[name].chunks:
            if pa.types.is_dictionary(chunk.type):
                yield name, chunk.dictionary.to_pylist()


# ── two tables


def check_anatomy(path: Path, sensitive: Path, expected: Expected) -> None:
    """All that a release of two tables promises: exact records, and groups that meet what is asked."""
    (columns, rows), (hidden_columns, hidden) = read(path), read(sensitive)
    [of] = expected.sensitive
    assert columns == [name for name in expected.names if name in expected.quasi or name in expected.kept] + ["group"]
    assert hidden_columns == ["group", of, "count"]
    text = expected.untyped or path.suffix in (".csv", ".tsv")
    exact = Counter(tuple(cell(row[name], text=text) for name in columns[:-1]) for row in rows)
    assert exact == Counter(tuple(cell(row[name], text=text) for name in columns[:-1]) for row in expected.rows)
    told = [row for row in hidden for _ in range(int(row["count"]))]
    assert Counter(cell(row[of], text=text) for row in told) == Counter(cell(r[of], text=text) for r in expected.rows)
    assert Counter(int(row["group"]) for row in rows) == Counter(int(row["group"]) for row in told)
    groups = defaultdict(list)
    for number, row in enumerate(told):
        groups[int(row["group"])].append(number)
    check_requirements(told, list(groups.values()), expected)
    if tells_apart(expected, columns[:-1], text=text):
        value_of = {tuple(cell(r[n], text=text) for n in columns[:-1]): cell(r[of], text=text) for r in expected.rows}
        held = Counter(
            (int(row["group"]), value_of[tuple(cell(row[n], text=text) for n in columns[:-1])]) for row in rows
        )
        assert held == Counter((int(row["group"]), cell(row[of], text=text)) for row in told), (
            "a value in another group"
        )
    for place in (path, sensitive):
        check_secrets(place, expected.secrets)
    check_dictionaries(path, rows, [name for name in columns if name != "group"])
    check_dictionaries(sensitive, hidden, [of])

"""The first pass and later ones against `encode` of the whole table: the same lines, domains and codes."""

from __future__ import annotations

import datetime
import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.encode import Encoded, encode
from rothko.data.line import Kind, Line
from rothko.data.schema import left_as_text
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.survey import distinct as distinct_module
from rothko.data.survey import grid
from rothko.data.survey import survey as survey_module
from rothko.data.survey.coded import Coded, Records
from rothko.data.survey.distinct import Distinct
from rothko.data.survey.reservoir import Reservoir
from rothko.data.survey.survey import Survey, survey
from rothko.data.typed import typed
from rothko.errors import InputError, RothkoError
from rothko.generate.agrawal import agrawal_batches
from rothko.kernels import lookup as kl
from rothko.policy.policy import Policy
from rothko.release.publish import bounds_names, publish, range_labels

SECRET = "SECRET-4711"
PLENTY = 1 << 30
QI = {"role": "quasi-identifier"}
unhurried = settings(deadline=None, max_examples=60)


def policy_of(columns: dict[str, dict[str, Any]], **more: Any) -> Policy:
    return Policy(columns=columns, privacy=[{"k-anonymity": {"k": 2}}], **more)


def surveyed(data: Any, policy: Policy, **options: Any) -> tuple[Source, Survey]:
    source = data if isinstance(data, Source) else open_source(data)
    return source, survey(source, policy, **{"sample": 50, "seed": 0, "memory": PLENTY, **options})


def as_whole(source: Source, policy: Policy) -> tuple[pa.Table, Encoded]:
    """What the engine in memory makes of the same source."""
    names = [name for name in source.names if name not in policy.identifiers]
    table = source.read(names, as_text=left_as_text(policy))
    return table, encode(typed(table, policy), policy)


def check_line(found: Line, expected: Line) -> None:
    for part in ("name", "kind", "missing", "weight", "order", "hierarchy", "upper", "ends"):
        assert getattr(found, part) == getattr(expected, part), part
    assert found.values.type == expected.values.type
    assert found.values.equals(expected.values)
    np.testing.assert_array_equal(found.places, expected.places)
    assert (found.tree is None) == (expected.tree is None)
    if found.tree is not None and expected.tree is not None:
        assert found.tree.labels.equals(expected.tree.labels)
        assert found.tree.leaves.equals(expected.tree.leaves)
        for part in ("parent", "low", "high", "first_child", "n_children", "leaf"):
            np.testing.assert_array_equal(getattr(found.tree, part), getattr(expected.tree, part))


def together(batches: Sequence[Coded]) -> Coded:
    return Coded(
        np.concatenate([batch.codes for batch in batches], axis=1),
        {name: np.concatenate([batch.values[name] for batch in batches]) for name in batches[0].values},
        pa.concat_tables([batch.kept for batch in batches]),
    )


def check(data: Any, policy: Policy, **options: Any) -> Survey:
    """The survey of a source says what encoding the whole of it does."""
    table, expected = as_whole(open_source(data), policy)
    source, found = surveyed(data, policy, **options)
    assert found.outline.rows == found.stream.rows == table.num_rows
    assert len(found.outline.lines) == len(expected.lines)
    for line, other in zip(found.outline.lines, expected.lines, strict=True):
        check_line(line, other)
    held = {**expected.sensitive, **expected.targets}
    assert set(found.outline.domains) == set(held)
    assert set(found.outline.sensitive) == set(expected.sensitive)
    assert set(found.outline.targets) == set(expected.targets)
    stream: Records = found.stream
    for _ in range(2):
        coded = together(list(stream.batches()))
        assert coded.codes.dtype == np.int32
        np.testing.assert_array_equal(coded.codes, expected.codes)
        for name, (codes, domain) in held.items():
            assert found.outline.domains[name].values.equals(domain.values)
            assert found.outline.domains[name].values.type == domain.values.type
            np.testing.assert_array_equal(found.outline.domains[name].counts, domain.counts)
            np.testing.assert_array_equal(coded.values[name], codes)
        kept = [name for name in source.names if name in policy.kept + policy.sensitive]
        assert coded.kept.column_names == kept
        assert coded.kept.to_pydict() == table.select(kept).to_pydict()
        assert coded.kept.schema.equals(table.select(kept).schema)
    assert found.sample.rows == min(options.get("sample", 50), table.num_rows)
    again = found.outline.encoded(found.sample)
    assert again.lines == found.outline.lines
    return found


def refusal(work: Callable[[], object]) -> str | None:
    """The message with which something is refused, if it is."""
    try:
        work()
    except RothkoError as error:
        return f"{type(error).__name__}: {error}"
    return None


# ── every kind of column ─────────────────────────────────────────────────────────────────────────

WORDS = ("a", "b", "c", "d", "é", "ab")
DAYS = tuple(datetime.date(2023, 12, 29) + datetime.timedelta(days=9 * i) for i in range(12))
NOONS = tuple(datetime.datetime(2024, 2, 28, 12, 0, i, 5) for i in range(6))
TREE = {"tree": {"A": ["a", "b"], "B": ["c", "d"], "C": ["é", "ab"]}}

KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any], dict[str, Any]]] = {
    "int": (pa.int64(), st.integers(-5, 30), {}),
    "small": (pa.int8(), st.integers(-128, 127), {}),
    "unsigned": (pa.uint32(), st.integers(0, 2**32 - 1), {}),
    "wide": (pa.int64(), st.integers(-(2**63), 2**63 - 1), {}),
    "huge": (pa.uint64(), st.integers(0, 2**64 - 1), {}),
    "float": (pa.float64(), st.floats(allow_infinity=False), {}),
    "single": (pa.float32(), st.floats(width=32, allow_infinity=False), {}),
    "half": (pa.float16(), st.sampled_from([np.float16(0.5), np.float16(-0.0), np.float16(0), np.float16("nan")]), {}),
    "rounded": (pa.float64(), st.sampled_from([0.0, -0.0, 1.5, -9.0, float("nan")]), {"weight": 2.5}),
    "decimal": (pa.decimal128(6, 2), st.sampled_from([Decimal("1.50"), Decimal("-9.00"), Decimal("3.25")]), {}),
    "date": (pa.date32(), st.sampled_from(DAYS), {}),
    "date64": (pa.date64(), st.sampled_from(DAYS), {}),
    "stamp": (pa.timestamp("us"), st.sampled_from(NOONS), {}),
    "zoned": (pa.timestamp("ms", "Europe/Berlin"), st.sampled_from(NOONS), {}),
    "day": (pa.timestamp("us"), st.sampled_from(NOONS), {"type": "date"}),
    "time": (pa.time32("s"), st.sampled_from([datetime.time(i) for i in range(4)]), {}),
    "bool": (pa.bool_(), st.booleans(), {}),
    "null": (pa.null(), st.none(), {}),
    "text": (pa.string(), st.sampled_from([*WORDS, "", "?"]), {}),
    "any text": (pa.string(), st.text(max_size=3), {}),
    "large text": (pa.large_string(), st.sampled_from(WORDS), {}),
    "view": (pa.string_view(), st.sampled_from(WORDS), {}),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from([*WORDS, ""]), {}),
    "numbers": (pa.dictionary(pa.int32(), pa.int64()), st.integers(0, 5), {}),
    "number text": (pa.string(), st.sampled_from(["1", " 2", "2.0", "+3", "?"]), {"type": "number"}),
    "float text": (pa.string(), st.sampled_from(["1", "1.5", "1.50", "?", ""]), {"type": "number"}),
    "date text": (pa.string(), st.sampled_from(["2024-02-29", "2024-03-01 "]), {"type": "date"}),
    "number as text": (pa.int64(), st.integers(0, 12), {"type": "text"}),
    "ordinal": (pa.string(), st.sampled_from(WORDS), {"order": ["d", "c", "é", "x", "a", "b", "ab"]}),
    "flat": (pa.string(), st.sampled_from(WORDS), {"hierarchy": "flat"}),
    "auto": (pa.string(), st.sampled_from(WORDS), {"hierarchy": "auto"}),
    "auto int": (pa.int32(), st.integers(0, 40), {"hierarchy": "auto"}),
    "tree": (pa.string(), st.sampled_from(WORDS), {"hierarchy": TREE}),
    "mask": (pa.string(), st.from_regex(r"[01]{3}", fullmatch=True), {"hierarchy": {"mask": "right"}}),
    "intervals": (pa.int64(), st.integers(-20, 20), {"hierarchy": {"intervals": [5, 10]}}),
    "breaks": (pa.float64(), st.sampled_from([1.0, 2.5, 9.75]), {"hierarchy": {"breaks": [2, 3]}}),
    "dates": (pa.date32(), st.sampled_from(DAYS), {"hierarchy": {"dates": ["month", "year"]}}),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, Policy]:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))
    rows = draw(st.integers(1, 30))
    columns, specs = {}, {}
    for i, kind in enumerate(kinds):
        stored, values, spec = KINDS[kind]
        absent = draw(st.sampled_from([0, 0, 1]))
        held = st.one_of(values, *[st.none()] * absent)
        drawn = draw(st.lists(held, min_size=rows, max_size=rows))
        columns[f"{kind} {i}"] = pa.array(drawn, stored)
        specs[f"{kind} {i}"] = {**QI, **spec}
    columns["disease"] = pa.array(draw(st.lists(st.sampled_from(["flu", None, "cold"]), min_size=rows, max_size=rows)))
    columns["pay"] = pa.array(draw(st.lists(st.floats(0, 1), min_size=rows, max_size=rows)))
    columns["name"] = pa.array([SECRET] * rows)
    specs |= {"disease": {"role": "sensitive"}, "pay": {"role": "keep"}, "name": {"role": "identifier"}}
    asked = [("classify", "disease"), ("regress", "pay"), ("classify", "pay")]
    workload = draw(st.sampled_from([(), *([{task: {"target": target}}] for task, target in asked)]))
    tokens = draw(st.sampled_from([(), ("?",), ("-9", "flu", "1.5")]))
    return pa.table(columns), policy_of(specs, workload=workload, missing=tokens)


@given(tables(), st.sampled_from([1, 3, 7, 100]), st.sampled_from([1, 2]))
@unhurried
def test_a_table_is_coded_as_in_memory(case: tuple[pa.Table, Policy], rows: int, threads: int) -> None:
    table, policy = case
    refused = refusal(lambda: as_whole(open_source(table), policy))
    if refused is None:
        check(table, policy, rows=rows, threads=threads, sample=10)
    else:
        assert refusal(lambda: surveyed(table, policy, rows=rows, threads=threads)) == refused


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_a_file_is_coded_as_in_memory(kind: str, ending: str, tmp_path: Path) -> None:
    stored, values, spec = KINDS[kind]
    if kind == "half" and ending == "parquet":
        stored = pa.float32()
    drawn = [value for value in _examples(values) for _ in range(2)]
    column = pa.array([*drawn, None, *drawn], stored)
    if kind in ("view",) and ending == "parquet":
        column = column.cast(pa.string())
    table = pa.table({"q": column, "disease": pa.array(["flu", "cold", "flu"] * len(column)).slice(0, len(column))})
    path = tmp_path / f"people.{ending}"
    if ending == "parquet":
        pq.write_table(table, path, row_group_size=5)
    else:
        feather.write_feather(table, str(path), chunksize=5)
    policy = policy_of(
        {"q": {**QI, **spec}, "disease": {"role": "sensitive"}},
        missing=("?",),
        workload=[{"classify": {"target": "disease"}}],
    )
    check(path, policy, rows=4)


def _examples(values: st.SearchStrategy[Any]) -> list[Any]:
    """A dozen values of a strategy, always the same."""
    found: list[Any] = []

    @given(values)
    @settings(max_examples=12, derandomize=True, database=None, deadline=None)
    def collect(value: Any) -> None:
        found.append(value)

    collect()
    return found


# ── text files ───────────────────────────────────────────────────────────────────────────────────

CELLS = st.one_of(
    st.integers(-50, 50).map(str),
    st.sampled_from(["1.5", "2.50", "1e3", "nan", "INF", "007", "-0", "+1", " 5", "", "?", "x", '"a,b"', "0x1F"]),
    st.sampled_from(["2024-02-29", "2024-02-30", "2024-02-29 10:00", "2024-02-29T10:00:01.5", "123456789012345678901"]),
)


@given(
    st.integers(0, 130),
    st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=4, max_size=4),
    st.sampled_from([1, 64, 1000]),
    st.sampled_from(["5", "2.5", "2024-02-29", "2024-02-29 10:00", "", "x"]),
)
@unhurried
def test_the_types_of_a_text_file_are_those_of_all_its_values(
    tmp_path_factory: pytest.TempPathFactory, before: int, cells: list[list[str]], rows: int, first: str
) -> None:
    """The cells that decide come after many that look alike."""
    path = tmp_path_factory.mktemp("csv") / "people.csv"
    tail = list(itertools.islice(zip(*(itertools.cycle(column) for column in cells), strict=True), 3))
    lines = [*[(first, "1", first, "b")] * before, *tail]
    path.write_text("a,b,c,d\n" + "".join(",".join(line) + "\n" for line in lines))
    roles = {"a": QI, "b": QI, "c": {"role": "sensitive"}, "d": {"role": "keep"}}
    check(
        path, policy_of(roles, missing=("?",), workload=[{"classify": {"target": "c"}}]), rows=max(rows, before // 10)
    )


def test_a_text_file_in_many_blocks(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    count = 120_000
    table = pa.table(
        {
            "id": np.arange(count),
            "age": np.arange(count) % 97,
            "pay": np.arange(count) / 8,
            "city": pa.array([f"city {i % 31}" for i in range(count)]),
        }
    )
    pcsv.write_csv(table, path)
    with path.open("a") as file:
        file.write("7,forty,1,x\n")  # a column of whole numbers that is none in the last line
    policy = policy_of({"id": {"role": "identifier"}, "age": QI, "pay": QI, "city": {"role": "sensitive"}})
    found = check(path, policy, threads=2)
    assert [line.kind for line in found.outline.lines] == [Kind.NOMINAL, Kind.ORDERED]


# ── the sample ───────────────────────────────────────────────────────────────────────────────────


def sample_of(rows: int, size: int, seed: int, batch: int) -> list[int]:
    reservoir = Reservoir(size, seed)
    for start in range(0, rows, batch):
        reservoir.add(pa.table({"i": np.arange(start, min(start + batch, rows))}))
    assert reservoir.seen == rows
    found: list[int] = reservoir.result()["i"].to_pylist()
    return found


@pytest.mark.parametrize("size", [0, 1, 10, 9_999, 10_000, 20_000])
def test_a_sample_does_not_depend_on_the_batches(size: int) -> None:
    first = sample_of(10_000, size, 7, 10_000)
    assert first == sorted(set(first))
    assert len(first) == min(size, 10_000)
    assert first == sample_of(10_000, size, 7, 333) == sample_of(10_000, size, 7, 4_097)
    assert size in (0, 10_000, 20_000) or first != sample_of(10_000, size, 8, 333)


def test_every_record_has_the_same_chance() -> None:
    times = np.zeros(40)
    for seed in range(2_000):
        times[sample_of(40, 10, seed, 7)] += 1
    # Binomial(2000, 1/4): five standard deviations are 97.
    assert np.all(np.abs(times - 500) < 97)
    # Pairs as well: 2000 · (10 · 9) / (40 · 39) = 115 times together, five standard deviations are 53.
    pairs = sum(1 for seed in range(2_000) if {3, 33} <= set(sample_of(40, 10, seed, 7)))
    assert abs(pairs - 115) < 53


def test_the_sample_is_coded_as_the_stream() -> None:
    table = pa.table({"q": [f"w{i % 13}" for i in range(500)], "s": [i % 7 for i in range(500)], "i": np.arange(500)})
    policy = policy_of({"q": QI, "s": {"role": "sensitive"}, "i": {"role": "keep"}})
    _, found = surveyed(table, policy, sample=40, rows=64)
    all_of_it = together(list(found.stream.batches()))
    places = np.array(found.sample.kept["i"].to_pylist())
    assert len(places) == 40
    np.testing.assert_array_equal(found.sample.codes, all_of_it.codes[:, places])
    np.testing.assert_array_equal(found.sample.values["s"], all_of_it.values["s"][places])


# ── grids ────────────────────────────────────────────────────────────────────────────────────────

SMALL = 40_000
"""Bytes for one quasi-identifier and one sensitive column: some 800 distinct numbers each."""
MANY = 6_000
SEVERAL: dict[str, pa.Array] = {
    "int": pa.array(np.random.default_rng(0).permutation(MANY) * 7 - 50_000),
    "wide": pa.array(np.random.default_rng(1).integers(-(2**62), 2**62, MANY)),
    "float": pa.array(np.random.default_rng(2).normal(size=MANY)),
    "single": pa.array(np.random.default_rng(3).normal(size=MANY).astype(np.float32)),
    "date": pa.array(np.random.default_rng(4).permutation(MANY).astype(np.int32)).view(pa.date32()),
    "stamp": pa.array(np.random.default_rng(5).integers(0, 2**50, MANY)).view(pa.timestamp("us")),
}


@pytest.mark.parametrize("kind", sorted(SEVERAL))
@pytest.mark.parametrize("absent", [False, True])
def test_a_grid_holds_every_value_in_its_cell(kind: str, absent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid, "CELLS", 300)
    values = SEVERAL[kind]
    if absent:
        values = pa.array([None if i % 10 == 0 else v for i, v in enumerate(values.to_pylist())], values.type)
    table = pa.table({"q": values, "s": [i % 3 for i in range(MANY)]})
    policy = policy_of({"q": QI, "s": {"role": "sensitive"}})
    _, found = surveyed(table, policy, sample=2_000, memory=SMALL, rows=1_111)
    line = found.outline.lines[0]
    assert line.upper is not None
    assert found.notes == (
        f"Column 'q' has more distinct values than memory holds; it is cut between {line.size} cells.",
    )
    assert 250 <= len(line.values) <= 300
    assert line.missing == absent
    codes = together(list(found.stream.batches())).codes[0]
    numbers = values.to_pylist()
    first, last = line.values.to_pylist(), line.last.to_pylist()
    assert line.values.type == line.last.type == values.type
    for code, number in zip(codes.tolist(), numbers, strict=True):
        assert code == line.missing_code if number is None else first[code] <= number <= last[code]
    held = {number for number in numbers if number is not None}
    assert set(first) | set(last) <= held, "the ends of cells occur"
    assert all(a <= b < c for a, b, c in zip(first, last, first[1:], strict=False))
    assert found.outline.encoded(found.sample).rows == 2_000


def test_a_grid_publishes_ranges_that_hold_every_value(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(grid, "CELLS", 100)
    table = pa.table({"q": SEVERAL["float"]})
    policy = policy_of({"q": QI}, publish="bounds")
    _, found = surveyed(table, policy, sample=2_000, memory=SMALL)
    encoded = found.outline.encoded(together(list(found.stream.batches())))
    parts = policy.method.partition(encoded, policy.privacy, threads=1)
    low, high = (column.by(parts.class_of()).to_numpy() for column in publish(encoded, parts, "bounds")["q"])
    numbers = SEVERAL["float"].to_numpy()
    assert np.all((low <= numbers) & (numbers <= high))
    assert bounds_names("q") == ("q_min", "q_max")
    line = encoded.lines[0]
    labels = range_labels(line, np.array([0, 3]), np.array([0, 5])).to_pylist()
    first, last = line.values.cast(pa.string()).to_pylist(), line.last.cast(pa.string()).to_pylist()
    assert labels == [f"[{first[0]}, {last[0]}]", f"[{first[3]}, {last[5]}]"]
    width = line.width(np.array([0, 2]), np.array([line.size - 1, 2]))
    ends = [line.values.to_pylist()[2], line.last.to_pylist()[2], numbers.min(), numbers.max()]
    assert width.tolist() == pytest.approx([1.0, (ends[1] - ends[0]) / (ends[3] - ends[2])])


def test_whether_there_is_a_grid_does_not_depend_on_the_batches() -> None:
    for size in (400, 430, 1_000, 1_400):
        table = pa.table({"q": np.random.default_rng(0).permutation(np.repeat(np.arange(size) * 1_000_003, 5))})
        policy = policy_of({"q": QI})
        grids = {surveyed(table, policy, memory=20_000, rows=rows)[1].notes != () for rows in (10, 333, 10_000)}
        assert len(grids) == 1
        assert grids == {size > 416}


@given(data=st.data())
@unhurried
def test_which_columns_become_grids_does_not_depend_on_the_batches(data: st.DataObject) -> None:
    """Columns that grow at different times, by table and by hashing: which is the largest changes on the way."""
    rows, columns = 1_200, {}
    for name in "abc":
        random = np.random.default_rng(data.draw(st.integers(0, 1000)))
        reach = data.draw(st.sampled_from([5, 300, 1_000, 10**9]))
        numbers = random.integers(0, reach, rows)
        begin, end = sorted((data.draw(st.integers(0, rows)), data.draw(st.integers(0, rows))))
        numbers[begin:end] = 0  # nothing new for a while
        absent = random.random(rows) < data.draw(st.sampled_from([0.0, 0.1]))
        columns[name] = pa.array(numbers, pa.int64() if data.draw(st.booleans()) else pa.float64(), mask=absent)
    memory, look = data.draw(st.integers(20_000, 60_000)), data.draw(st.sampled_from([100, 256, 5_000]))
    policy = policy_of(dict.fromkeys("abc", QI))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(survey_module, "LOOK", look)
        patched.setattr(distinct_module, "LEAST_PENDING", 64)
        found = [
            surveyed(pa.table(columns), policy, memory=memory, rows=batch)[1].notes
            for batch in (data.draw(st.integers(1, 50)), data.draw(st.integers(51, 700)), rows)
        ]
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("column", "spec", "more"),
    [
        ([f"{SECRET} {i}" for i in range(MANY)], {}, {}),
        (list(range(MANY)), {"hierarchy": {"intervals": [10]}}, {}),
        (list(range(MANY)), {"type": "text"}, {}),
        (list(range(MANY)), {}, {"publish": "mean"}),
        (list(range(MANY)), {}, {"workload": [{"aggregate": {"of": "q", "functions": ["avg"]}}]}),
        (list(range(MANY)), {"role": "sensitive"}, {}),
    ],
)
def test_what_does_not_fit_and_takes_no_grid_is_refused(column: list[Any], spec: dict[str, Any], more: Any) -> None:
    table = pa.table({"q": column, "z": [0] * MANY})
    with pytest.raises(InputError, match="'q' has more distinct values than the memory limit") as caught:
        surveyed(table, policy_of({"q": {**QI, **spec}, "z": QI}, **more), memory=SMALL)
    assert "raise memory=…" in str(caught.value)
    assert SECRET not in str(caught.value)


def test_infinite_numbers_are_refused_in_a_grid() -> None:
    numbers = np.append(SEVERAL["float"].to_numpy(), np.inf)
    with pytest.raises(InputError, match="infinite"):
        surveyed(pa.table({"q": numbers}), policy_of({"q": QI}), memory=SMALL)


# ── what is refused ──────────────────────────────────────────────────────────────────────────────


def test_a_type_without_a_line_is_refused() -> None:
    with pytest.raises(InputError, match="cannot be generalised"):
        surveyed(pa.table({"q": [[1], [2]]}), policy_of({"q": QI}))


def test_a_file_that_changes_between_passes_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "people.arrow"
    feather.write_feather(pa.table({"q": [1, 2, 3, 4]}), str(path))
    _, found = surveyed(path, policy_of({"q": QI}))
    for changed in ([1, 2, 3], [1, 2, 3, 4, 4], [1, 2, 3, 5], [1, 2, 3, None]):
        feather.write_feather(pa.table({"q": changed}), str(path))
        with pytest.raises(InputError, match=r"people.arrow has changed while it was read"):
            list(found.stream.batches())


def test_progress_is_told_in_records() -> None:
    told: list[tuple[str, int, int]] = []
    surveyed(pa.table({"q": range(10)}), policy_of({"q": QI}), rows=4, progress=lambda *now: told.append(now))
    assert told == [("survey", 0, 10), ("survey", 4, 10), ("survey", 8, 10), ("survey", 10, 10)]


# ── distinct values ──────────────────────────────────────────────────────────────────────────────


@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.integers(-9, 9)), max_size=8)),
    st.sampled_from([64, 1 << 20, 1 << 30]),
)
@unhurried
def test_whole_numbers_are_counted_by_table_and_by_hashing_alike(batches: list[list[int | None]], limit: int) -> None:
    found = Distinct(limit)
    for batch in [[0], *batches]:
        found.add(pa.chunked_array([pa.array(batch, pa.int64())]))
    found.finish()
    values = [0, *(value for batch in batches for value in batch)]
    present = [value for value in values if value is not None]
    assert found.full == (24 * len(set(present)) > limit)
    if not found.full:
        counts = dict(zip(found.values.to_pylist(), found.counts.tolist(), strict=True))
        assert counts == {value: present.count(value) for value in present}
        assert found.nulls == values.count(None)


def test_rising_numbers_stay_in_the_table() -> None:
    found = Distinct(1 << 30)
    for start in (0, 10, 20, 1_000, -500):
        found.add(pa.chunked_array([pa.array(np.arange(start, start + 10))]))
    assert found._table is not None
    found.finish()
    assert sorted(found.values.to_pylist()) == [*range(-500, -490), *range(30), *range(1_000, 1_010)]
    assert found.counts.tolist() == [1] * 50


# ── kernels and their twins ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", range(5))
def test_kernels_equal_their_twins(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(-20, 20, 300)
    for present in (np.empty(0, dtype=np.bool_), random.random(300) < 0.7):
        there = present if present.size else np.ones(300, dtype=np.bool_)
        counts = np.ones(50, dtype=np.int64)
        kl.count_values(values, present, -25, counts)
        np.testing.assert_array_equal(counts, 1 + np.bincount(values[there] + 25, minlength=50))
        table = random.integers(0, 9, 30).astype(np.int32)
        codes = np.empty(300, dtype=np.int32)
        kl.look_up(values, present, -15, table, 77, codes)
        inside = (values >= -15) & (values < 15)
        expected = np.where(inside, table[np.clip(values + 15, 0, 29)], -1)
        np.testing.assert_array_equal(codes, np.where(there, expected, 77))

    labels, targets = random.integers(-1, 6, 300).astype(np.int32), random.integers(0, 5, 300).astype(np.int32)
    numbers = np.append(random.normal(size=4), np.nan)
    records, totals = np.zeros(6, dtype=np.int64), np.zeros(6)
    for start in range(0, 300, 70):
        kl.add_up(labels[start : start + 70], targets[start : start + 70], numbers, records, totals)
    used = (labels >= 0) & (targets < 4)
    np.testing.assert_array_equal(records, np.bincount(labels[used], minlength=6))
    np.testing.assert_array_equal(totals, np.bincount(labels[used], weights=numbers[targets[used]], minlength=6))

    first, last = np.full(6, np.inf), np.full(6, -np.inf)
    held = random.normal(size=300)
    kl.widen(labels, held, first, last)
    assert first.tolist() == [held[labels == cell].min() for cell in range(6)]
    assert last.tolist() == [held[labels == cell].max() for cell in range(6)]


# ── memory ───────────────────────────────────────────────────────────────────────────────────────

RUN = """
import resource, sys
import pyarrow as pa
from rothko.data.source.open import open_source
from rothko.data.survey.survey import survey
from rothko.policy.policy import Policy

def run(path):
    source = open_source(path)
    policy = Policy.quick(source.names, qi=source.names[:-1], sensitive=source.names[-1:], k=10)
    found = survey(source, policy, sample=1000, seed=0, memory=1 << 26, threads=2)
    return sum(coded.rows for coded in found.stream.batches())

run(sys.argv[1])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert run(sys.argv[2]) == 2_000_000
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak)
"""


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_memory_does_not_grow_with_the_file(ending: str, tmp_path: Path) -> None:
    """One group of rows, one batch: 100 bytes a record, and the file is larger than what a pass takes."""
    paths = [tmp_path / f"small.{ending}", tmp_path / f"large.{ending}"]
    for path, rows in zip(paths, (300_000, 2_000_000), strict=True):
        table = pa.Table.from_batches(agrawal_batches(rows)).combine_chunks()
        table = pa.table(
            {
                n: c.cast(pa.int64()) if pa.types.is_integer(c.type) else c
                for n, c in zip(table.column_names, table.columns, strict=True)
            }
        )
        if ending == "parquet":
            pq.write_table(table, path, row_group_size=rows, use_dictionary=False, compression="none")
        elif ending == "arrow":
            feather.write_feather(table, str(path), compression="uncompressed", chunksize=rows)
        else:
            pcsv.write_csv(table, path)
    assert paths[1].stat().st_size > 75_000_000
    result = subprocess.run([sys.executable, "-c", RUN, *map(str, paths)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert int(result.stdout) < 40_000, "kilobytes"

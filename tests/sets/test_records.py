"""Set-valued records from every form in which they come."""

from __future__ import annotations

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.errors import InputError
from rothko.sets import records as sets
from rothko.sets.files import Reading, read_records
from rothko.sets.records import Records
from rothko.sets.tables import from_long

BASKETS = [["milk", "tea"], [], ["bread", "tea"]]


def equal(records: Records, lists: list[list[str]]) -> None:
    assert records.to_lists() == lists
    for i in range(records.count):
        mine = records.items[records.starts[i] : records.starts[i + 1]]
        assert (np.diff(mine) > 0).all()
    assert records.starts.dtype == np.int64
    assert records.items.dtype == np.int32
    assert records.names.to_pylist() == sorted(records.names.to_pylist())
    assert len(records.utility) == records.size


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("tea milk tea\n\nbread tea\n", None),
        ("tea\tmilk\n  \n bread   tea", None),
        ("tea milk\r\n\r\ntea bread\r\n", None),
        ("tea, milk,tea\n\nbread,,tea,\n", ","),
        ("\ufefftea;milk\n;\ntea;bread\n", ";"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_a_record_a_line(text: str, delimiter: str | None, packed: bool, tmp_path: Path) -> None:
    path = tmp_path / ("baskets.txt.gz" if packed else "baskets.txt")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    equal(read_records(path, Reading(delimiter=delimiter)), BASKETS)


def test_items_with_blanks_need_a_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "baskets.dat"
    path.write_text("green tea,milk\n", "utf-8")
    equal(read_records(path, Reading(delimiter=",")), [["green tea", "milk"]])


def test_text_is_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.sets.files.BLOCK", 7)
    path = tmp_path / "baskets.txt"
    path.write_text("tea milk\n\nbread tea\n\n", "utf-8")
    equal(read_records(path), [*BASKETS, []])


def test_the_same_records_from_every_form(tmp_path: Path) -> None:
    lists = pa.table({"items": pa.array(BASKETS, pa.list_(pa.string()))})
    pq.write_table(lists, tmp_path / "baskets.parquet")
    long = pa.table({"who": [7, 7, 3, 9, 9], "what": ["tea", "milk", None, "tea", "bread"]})
    flags = pa.table({"tea": [True, False, True], "milk": [1, 0, None], "bread": [False, None, True]})
    forms: list[tuple[Any, Reading]] = [
        (BASKETS, Reading()),
        (tuple(BASKETS), Reading()),
        (lists.column(0), Reading()),
        (lists.column(0).chunk(0).cast(pa.large_list(pa.large_string())), Reading()),
        (lists, Reading()),
        (tmp_path / "baskets.parquet", Reading()),
        (str(tmp_path / "baskets.parquet"), Reading(column="items")),
        (long, Reading(record="who", item="what")),
        (flags, Reading(form="boolean")),
        (read_records(BASKETS), Reading()),
    ]
    for data, reading in forms:
        equal(read_records(data, reading), BASKETS)


@settings(deadline=None, max_examples=60)
@given(
    lists=st.lists(st.sets(st.sampled_from("abcde")).map(sorted), min_size=1, max_size=12),
    step=st.integers(1, 9),
    stream=st.randoms(use_true_random=False),
)
def test_pieces_of_any_size_make_the_same_records(lists: list[list[str]], step: int, stream: random.Random) -> None:
    owned = [(str(i), item) for i, record in enumerate(lists) for item in record or [None]]
    rows = sorted(owned, key=lambda row: (int(row[0]), stream.random()))
    first = {row[0]: i for i, row in reversed(list(enumerate(rows)))}
    mixed = [rows[i] for i in sorted(first.values())] + [row for i, row in enumerate(rows) if first[row[0]] != i]
    for some in (rows, mixed):  # record by record, and not
        long = pa.table({"who": [who for who, _ in some], "what": pa.array([what for _, what in some], pa.string())})
        pieces = [long.slice(begin, step) for begin in range(0, len(some), step)]
        equal(from_long(pieces, record="who", item="what"), lists)
    flags = pa.table({item: [item in record for record in lists] for item in "abcde"})
    cells = pa.table({item: pa.array([("1" if item in record else None) for record in lists]) for item in "abcde"})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("rothko.sets.files.CELLS", 5 * step)
        assert read_records(flags, Reading(form="boolean")).to_lists() == lists
        found = read_records(cells, Reading(form="table")).to_lists()
    assert found == [[f"{item}=1" for item in record] for record in lists]


def test_what_has_no_place_in_a_hierarchy_is_counted_over_all_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rothko.sets.files.CELLS", 1)
    jobs = Hierarchy.from_nested({"Employed": ["cook", "nurse"]})
    people = pa.table({"job": ["cook", "king", "nurse", "queen"]})
    with pytest.raises(InputError, match="2 values of the column 'job'"):
        read_records(people, Reading(hierarchies={"job": jobs}))
    with pytest.raises(InputError, match="no column 'jbo'; did you mean 'job'"):
        read_records(people, Reading(hierarchies={"jbo": jobs}))


def test_categories_that_no_row_has_are_no_records() -> None:
    who = pa.DictionaryArray.from_arrays(pa.array([2, 0]), pa.array(["b", "unused", "a"]))
    equal(
        read_records(pa.table({"who": who, "what": ["tea", "gin"]}), Reading(record="who", item="what")),
        [["tea"], ["gin"]],
    )


def test_long_form_from_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("who,what,price\n1,tea,2\n1,milk,3\n2,,\n3,tea,2\n3,bread,0.5\n", "utf-8")
    records = read_records(path, Reading(record="who", item="what"))
    equal(records, BASKETS)
    path.write_text("who,what,price\n1,tea,2\n1,milk,3\n3,tea,2\n3,bread,0.5\n", "utf-8")
    records = read_records(path, Reading(record="who", item="what", worth="price"))
    assert dict(zip(records.names.to_pylist(), records.utility, strict=True)) == {"tea": 2, "milk": 3, "bread": 0.5}


def test_scipy_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.array([[0, 2, 1], [0, 0, 0], [1, 0, 1]]))
    equal(read_records(matrix, Reading(columns=["bread", "milk", "tea"])), BASKETS)
    equal(read_records(matrix.tocoo()), [["1", "2"], [], ["0", "2"]])
    with pytest.raises(InputError, match="2 names for the 3 columns"):
        read_records(matrix, Reading(columns=["bread", "milk"]))


def test_a_table_becomes_items() -> None:
    people = pa.table(
        {"age": [37, 40, None], "hours": [40.0, 9.5, -1.0], "job": ["nurse", " ", "cook"], "id": [1, 2, 3]}
    )
    reading = Reading(form="table", columns=["age", "hours", "job"], bins={"age": 5, "hours": 10})
    found = read_records(people, reading)
    equal(
        found,
        [
            ["age=[35, 40)", "hours=[40, 50)", "job=nurse"],
            ["age=[40, 45)", "hours=[0, 10)"],
            ["hours=[-10, 0)", "job=cook"],
        ],
    )


def test_hierarchies_enumerate_ancestors() -> None:
    """Table 10 of the thesis."""
    jobs = Hierarchy.from_nested({"Employed": [{"Doctor": ["Cardiologist", "Surgeon"]}, {"Engineer": ["Civil"]}]})
    people = [["Doctor"], ["Surgeon"], ["Civil"], ["Employed"], ["tea", "Civil", "Surgeon"]]
    found = read_records(people, Reading(hierarchy=jobs))
    equal(
        found,
        [
            ["Doctor", "Employed"],
            ["Doctor", "Employed", "Surgeon"],
            ["Civil", "Employed", "Engineer"],
            ["Employed"],
            ["Civil", "Doctor", "Employed", "Engineer", "Surgeon", "tea"],
        ],
    )
    table = pa.table({"job": ["Surgeon", "Civil"], "sex": ["F", "M"]})
    found = read_records(table, Reading(form="table", hierarchies={"job": jobs}), utility={"job=Employed": 5})
    equal(
        found,
        [
            ["job=Doctor", "job=Employed", "job=Surgeon", "sex=F"],
            ["job=Civil", "job=Employed", "job=Engineer", "sex=M"],
        ],
    )
    assert found.utility[found.names.to_pylist().index("job=Employed")] == 5


def test_records_without_any_item() -> None:
    records = read_records([[], []])
    assert (records.count, records.size, records.total_utility()) == (2, 0, 0.0)


def test_utilities_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "utility.csv"
    path.write_text("item,utility\ntea,2.5\nmilk,0\n", "utf-8")
    records = read_records(BASKETS, utility=path)
    assert records.utility.tolist() == [1.0, 0.0, 2.5]
    assert records.total_utility() == 6.0
    assert records.notes == ("1 of 3 items have no utility of their own; it is 1.",)
    path.write_text("what;worth;utility;item\nx;1;4;tea\n", "utf-8")
    assert read_records(BASKETS, utility=str(path)).utility.tolist() == [1.0, 1.0, 4.0]


@pytest.mark.parametrize(
    ("utility", "message"),
    [
        ({"tea": -1}, "1 of 1 utilities are negative"),
        ({"tea": float("nan")}, "infinite or no number"),
        ({"tea": "secret"}, "infinite or no number"),
        ({"tea": float("inf")}, "infinite or no number"),
        ({"secret": 1, "tea": 2}, "1 of 2 items with a utility are in no record"),
    ],
)
def test_bad_utilities(utility: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_records(BASKETS, utility=utility)
    assert "secret" not in str(caught.value)


def test_a_catalogue_may_have_more_items_than_records_have() -> None:
    names = read_records(BASKETS).names.to_pylist()
    records = read_records(BASKETS, utility={**dict.fromkeys(names, 2.0), "rum": 9.0})
    assert records.utility.tolist() == [2.0] * len(names)
    assert records.notes == ()


def test_unknown_items_are_listed_only_when_asked_for() -> None:
    with pytest.raises(InputError) as caught:
        read_records(BASKETS, utility={"gin": 1.0})
    assert caught.value.values == ("gin",)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"tea milk\nsecret \x00\x01\n", "line 2: there are zero bytes"),
        (b"tea\nmilk\nsecr\xff\xfeet", "line 3: the text is not UTF-8"),
        (b"\x1f\x8bsecret", "not a gzip file"),
        (gzip.compress(b"secret tea\n" * 9000, mtime=0)[:60], "not a gzip file, or it is cut short"),
        (b"", "is empty"),
    ],
)
def test_binary_junk(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "junk.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        read_records(path)
    assert "secr" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "reading", "message"),
    [
        ([["tea"], "milk"], {}, "Record 2 is a text"),
        ([["tea", None]], {}, "Record 1 has a missing item"),
        ([["tea", " "]], {}, "Record 1 has an item without a name"),
        (pa.array([1, 2]), {}, "not a list of items"),
        (pa.array([["a", None]]), {}, "1 items are missing"),
        (pa.table({"a": [True]}), {}, "read in several ways"),
        (pa.table({"a": [2]}), {"form": "boolean"}, "numbers other than 0 and 1"),
        (pa.table({"a": ["x"]}), {"form": "boolean"}, "texts other than true and false"),
        (pa.table({"a": ["x"]}), {"form": "long"}, "Long form needs"),
        (pa.table({"a": ["x"]}), {"record": "a", "item": "b"}, "no column 'b'"),
        (pa.table({"a": [None, "x"], "b": ["y", "y"]}), {"record": "a", "item": "b"}, "1 rows have no 'a'"),
        (pa.table({"a": ["x"]}), {"bins": {"a": 5}}, "only numbers can be binned"),
        (pa.table({"a": [1.0]}), {"bins": {"a": 0}}, "wider than 0"),
        (pa.table({"a": [1.0]}), {"bins": {"b": 5}}, "no column 'b'"),
        (pa.table({"a": [1.0]}), {"form": "lines"}, "Only a file"),
        (pa.table({"a": [1.0]}), {"form": "list"}, "no columns of lists; choose another form"),
        (pa.table({"a": [["x"]], "b": [["y"]]}), {"form": "list"}, "has 2 columns of lists; name one of them"),
        ("nowhere.txt", {}, "There is no file"),
    ],
)
def test_bad_records(data: Any, reading: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_records(data, Reading(**reading))


@pytest.mark.parametrize("reading", [{"form": "line"}, {"delimiter": ""}, {"delimiter": "\n"}, {"record": "a"}])
def test_readings_that_make_no_sense(reading: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Reading(**reading)


def test_utilities_of_long_form_must_agree() -> None:
    rows = pa.table({"who": [1, 2], "what": ["tea", "tea"], "worth": [1.0, 2.0]})
    with pytest.raises(InputError, match="more than one utility for 1 of 1 items"):
        read_records(rows, Reading(record="who", item="what", worth="worth"))


@pytest.mark.parametrize(
    ("starts", "items", "names"),
    [
        ([1, 2], [0, 0], ["a"]),
        ([0, 2], [0], ["a"]),
        ([0, 1], [1], ["a"]),
        ([0, 2, 1], [0], ["a"]),
        ([0, 1], [0], ["a", "a"]),
    ],
)
def test_arrays_that_are_no_records(starts: list[int], items: list[int], names: list[str]) -> None:
    with pytest.raises(InputError):
        sets.from_arrays(np.array(starts), np.array(items), names)


def test_a_wide_dictionary_of_which_little_is_used() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([5, 3, 5]), pa.array([f"i{n}" for n in range(100_000)]))
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 3]), column)
    equal(read_records(lists), [["i3", "i5"], ["i5"]])


@pytest.mark.parametrize(
    "lines",
    ["tea,milk\ntrue,false\nfalse,true\n", "tea,milk\nTRUE,FALSE\nFALSE,TRUE\n", "tea,milk\n1,0\n0,1\n",
     "tea,milk\nTrue,\n,1\n", "tea,milk\n1.0,0\n0.0,true\n"],
)  # fmt: skip
def test_truth_values_of_text_files(lines: str, tmp_path: Path) -> None:
    (tmp_path / "baskets.csv").write_text(lines)
    equal(read_records(tmp_path / "baskets.csv", Reading(form="boolean")), [["tea"], ["milk"]])


def test_other_texts_are_no_truth_values(tmp_path: Path) -> None:
    (tmp_path / "baskets.csv").write_text("tea,milk\nyes,true\nno,true\n")
    with pytest.raises(InputError, match="'tea' has texts other than true and false"):
        read_records(tmp_path / "baskets.csv", Reading(form="boolean"))

"""Predicates on lines of every kind, against a plain evaluator that asks every combination of values."""

from __future__ import annotations

import datetime
import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rothko.data.encode import encode_line
from rothko.data.line import Line
from rothko.errors import InputError, PolicyError
from rothko.policy.column import Column
from rothko.workload.boxes import boxes
from rothko.workload.predicate import parse

WORLD = {"Europe": ["France", {"Baltic": ["Latvia", "Estonia"]}], "Asia": ["Japan", "Nepal"]}
SIGNS = {"=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def line_of(name: str, values: Any, *, kind: pa.DataType | None = None, **spec: Any) -> Line:
    column = pa.chunked_array([pa.array(values, kind)])
    return encode_line(name, column, Column(role="quasi-identifier", **spec), np.empty(len(column), dtype=np.int32))


def turned(line: Line, order: list[int]) -> Line:
    """A nominal line in another order, as a target gives it one."""
    return replace(line, values=line.values.take(pa.array(order)))


def selected(where: str, lines: list[Line]) -> set[tuple[int, ...]]:
    """The code vectors inside the boxes of a predicate."""
    low, high = boxes(parse(where), lines)
    assert low.dtype == high.dtype == np.int32
    assert low.shape == high.shape == (len(low), len(lines))
    assert (low <= high).all()
    for a, b in zip(low, high, strict=True):  # no box within another
        assert ((low <= a) & (high >= b)).all(axis=1).sum() == 1
    codes = itertools.product(*(range(line.size) for line in lines))
    return {c for c in codes if any((a <= c).all() and (b >= c).all() for a, b in zip(low, high, strict=True))}


def codes(where: str, line: Line) -> list[int]:
    return sorted(code for (code,) in selected(where, [line]))


def values(where: str, line: Line) -> list[Any]:
    return line.values.take(pa.array(codes(where, line), pa.int64())).to_pylist()


def intervals(where: str, line: Line) -> list[tuple[int, int]]:
    low, high = boxes(parse(where), [line])
    return list(zip(low[:, 0].tolist(), high[:, 0].tolist(), strict=True))


# ── every kind of line, told by an evaluator of its own


@dataclass(frozen=True)
class Kind:
    """A line, values to compare it with as they are written, and what they mean to a person."""

    line: Line
    written: list[str]
    meets: Callable[[Any, str, str], bool]
    """Whether a value of the line meets a sign and a written value."""
    ordered: bool = True


def by(reading: Callable[[str], Any]) -> Callable[[Any, str, str], bool]:
    return lambda value, sign, written: SIGNS[sign](value, reading(written))


def below(parents: dict[str, list[str]]) -> Callable[[Any, str, str], bool]:
    return lambda value, sign, written: written.strip("'") in (str(value), *parents[str(value)])


WHOLE = ["-1", "3", "4", "4.5", "5.0", "'7'", "99999999999999999999", "-1e300"]
GRADES = ["low", "mid", "high", "top"]
PARENTS = {
    "France": ["Europe", "*"], "Latvia": ["Baltic", "Europe", "*"], "Estonia": ["Baltic", "Europe", "*"],
    "Japan": ["Asia", "*"], "Nepal": ["Asia", "*"],
}  # fmt: skip


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text.strip("'"))


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.strip("'"))


def number(text: str) -> Decimal:
    return Decimal(text.strip("'"))


def number_or_node(value: int, sign: str, written: str) -> bool:
    if written.startswith("'["):
        low, high = written.strip("'[)").split(", ")
        return int(low) <= value < int(high)
    return bool(SIGNS[sign](value, number(written)))


KINDS = {
    "whole": Kind(line_of("whole", [3, 4, 5, 7, None]), WHOLE, by(number)),
    "floats": Kind(line_of("floats", [0.1, 0.3, 5]), ["0.1", "'0.3'", "1e400", "0.2"], by(lambda t: float(number(t)))),
    "singles": Kind(
        line_of("singles", [0.1, 0.2, None], kind=pa.float32()),
        ["0.1", "0.2", "1e300"],
        lambda value, sign, written: SIGNS[sign](value, float(np.float32(min(float(written), 3e38)))),
    ),
    "exact": Kind(
        line_of("exact", [Decimal("1.10"), Decimal("1.20"), None], kind=pa.decimal128(30, 2)),
        ["1.1", "1.10", "1.15", "1e200"],
        by(number),
    ),
    "day": Kind(
        line_of("day", [datetime.date(2024, 2, 29), datetime.date(2024, 3, 1), None]),
        ["'2024-02-28'", "'2024-02-29'", "'2024-03-01'"],
        by(day),
    ),
    "moment": Kind(
        line_of("moment", [datetime.datetime(2024, 2, 29, 12), datetime.datetime(2024, 3, 1)]),
        ["'2024-02-29'", "'2024-02-29 12:00'", "'2024-02-29T12:00:00.5'", "'2024-03-01'"],
        by(moment),
    ),
    "clock": Kind(
        line_of("clock", [datetime.time(8), datetime.time(9, 30), None]),
        ["'08:00'", "'09:30:00'", "'23:59:59'"],
        by(lambda t: datetime.time.fromisoformat(t.strip("'"))),
    ),
    "flag": Kind(
        line_of("flag", [True, False, None]),
        ["true", "'false'"],
        lambda value, sign, written: str(value).lower() == written.strip("'"),
        ordered=False,
    ),
    "grade": Kind(
        line_of("grade", ["top", "low", "high", None], order=GRADES),
        [f"'{grade}'" for grade in GRADES],
        lambda value, sign, written: SIGNS[sign](GRADES.index(value), GRADES.index(written.strip("'"))),
    ),
    "colour": Kind(
        turned(line_of("colour", ["blue", "green", "red", "it's", None]), [3, 0, 2, 1]),
        ["'blue'", "'green'", "'red'", "'it''s'"],
        lambda value, sign, written: value == written[1:-1].replace("''", "'"),
        ordered=False,
    ),
    "country": Kind(
        line_of("country", ["Latvia", "France", "Japan", None], hierarchy={"tree": WORLD}),
        [f"'{label}'" for label in ("*", "Europe", "Baltic", "Asia", "France", "Latvia", "Japan", "Estonia", "Nepal")],
        below(PARENTS),
        ordered=False,
    ),
    "age": Kind(
        line_of("age", [41, 38, 52, 57, None], hierarchy={"intervals": [5, 10]}),
        ["38", "41.0", "45", "'[40, 50)'", "'[50, 60)'", "'[55, 60)'", "99"],
        number_or_node,
    ),
    "mixed": Kind(
        line_of("mixed", [11, 12, 13, 14], hierarchy={"tree": {"odd": ["11", "13"], "even": ["12", "14"]}}),
        ["11", "12", "13", "14"],
        by(number),
    ),
}  # fmt: skip
LINES = {name: kind.line for name, kind in KINDS.items()}


def test_the_lines_are_what_they_should_be():
    assert LINES["mixed"].values.to_pylist() == [11, 13, 12, 14]  # not in the order of the numbers
    assert LINES["grade"].values.to_pylist() == ["low", "high", "top"]
    assert LINES["colour"].values.to_pylist() == ["red", "blue", "it's", "green"]
    assert {name for name, line in LINES.items() if line.missing} >= {"whole", "grade", "colour", "country", "age"}


@st.composite
def comparisons(draw, names):
    """A comparison as it is written, and a function that tells whether a record meets it."""
    name = draw(st.sampled_from(names))
    kind = KINDS[name]
    column = draw(st.sampled_from([name, f'"{name}"']))
    form = draw(st.sampled_from(["=", "in", "<", "<=", ">", ">=", "between"] if kind.ordered else ["=", "in"]))
    fitting = kind.written if form in ("=", "in") else [w for w in kind.written if not w.startswith("'[")]
    written = draw(st.lists(st.sampled_from(fitting), min_size=2, max_size=3))
    if form == "between":
        asked = [(">=", written[0]), ("<=", written[1])]
        text = f"{column} {draw(st.sampled_from(['between', 'BETWEEN']))} {written[0]} and {written[1]}"
        return text, lambda r: r[name] is not None and all(kind.meets(r[name], s, w) for s, w in asked)
    if form == "in":
        text = f"{column} in ({', '.join(written)})"
        return text, lambda r: r[name] is not None and any(kind.meets(r[name], "=", w) for w in written)
    value = written[0]
    text = f"{column}{draw(st.sampled_from([' ', '']))}{form} {value}"
    if draw(st.booleans()):
        text = f"{value} {form.translate(str.maketrans('<>', '><'))} {column}"
    return text, lambda r: r[name] is not None and kind.meets(r[name], form, value)


def joined(word: str, both: Callable[[Any], bool]) -> Callable[[list[Any]], Any]:
    return lambda parts: (
        f" {word} ".join(f"({text})" for text, _ in parts),
        lambda record: both(meets(record) for _, meets in parts),
    )


@st.composite
def questions(draw):
    names = draw(st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3, unique=True))
    predicate = draw(
        st.recursive(
            comparisons(names),
            lambda below: (
                st.lists(below, min_size=1, max_size=3).map(joined("and", all))
                | st.lists(below, min_size=1, max_size=3).map(joined("OR", any))
            ),
            max_leaves=5,
        )
    )
    return names, *predicate


@settings(deadline=None, max_examples=300)
@given(questions())
def test_boxes_hold_what_the_predicate_selects(question):
    names, where, meets = question
    lines = [LINES[name] for name in names]
    records = itertools.product(*([*line.values.to_pylist(), *[None] * line.missing] for line in lines))
    ranges = itertools.product(*(range(line.size) for line in lines))
    wanted = {c for c, r in zip(ranges, records, strict=True) if meets(dict(zip(names, r, strict=True)))}
    try:
        predicate = parse(where)
    except PolicyError as error:  # a part contradicts itself, perhaps beside others that do not
        assume("nothing can meet" not in str(error))
        raise
    try:
        boxes(predicate, lines)
    except PolicyError as error:
        if not str(error).startswith("workload: nothing can meet "):
            raise
        found = set()
    else:
        found = selected(where, lines)
    assert found == wanted


# ── one by one


def test_numbers_of_all_types_compare_as_numbers():
    assert values("whole >= 4.5", LINES["whole"]) == [5, 7]
    assert values("whole > 4 and whole <= 5.0", LINES["whole"]) == [5]
    assert values("whole < 99999999999999999999", LINES["whole"]) == [3, 4, 5, 7]
    assert values("whole = 4.5", LINES["whole"]) == []
    assert values("floats <= 0.1", LINES["floats"]) == [0.1]
    assert len(values("singles <= 0.1", LINES["singles"])) == 1
    assert values("exact = 1.1", LINES["exact"]) == [Decimal("1.10")]
    big = line_of("big", [2**60, 2**60 + 1])
    assert values(f"big > {2**60}", big) == [2**60 + 1]
    huge = line_of("huge", [2**64 - 1, 2**64 - 2], kind=pa.decimal128(20, 0))
    assert values(f"huge > {2**64 - 2}", huge) == [2**64 - 1]


def test_dates_are_iso_text():
    assert values("day >= '2024-03-01'", LINES["day"]) == [datetime.date(2024, 3, 1)]
    assert codes("moment > '2024-02-29'", LINES["moment"]) == [0, 1]
    assert codes("moment = '2024-02-29'", LINES["moment"]) == []  # midnight, not the day
    days = line_of("days", [datetime.date(2024, 2, 29)], kind=pa.date64())
    assert codes("days = '2024-02-29'", days) == [0]


def test_zones():
    noon = datetime.datetime(2024, 7, 1, 10, tzinfo=datetime.UTC)
    line = line_of("at", [noon], kind=pa.timestamp("us", "Europe/Berlin"))
    assert codes("at = '2024-07-01 12:00'", line) == [0]  # of the column, where none is given
    assert codes("at = '2024-07-01T10:00Z'", line) == [0]
    assert codes("at = '2024-07-01 10:00'", line) == []


def test_ordinal_text_follows_the_policy():
    line = LINES["grade"]
    assert values("grade >= 'high'", line) == ["high", "top"]
    assert values("grade > 'mid'", line) == ["high", "top"]  # a value that the data does not have
    assert values("grade <= 'mid'", line) == ["low"]
    assert values("grade = 'mid'", line) == []
    assert values("2 <= step", line_of("step", ["1", "2", "10"], order=["1", "2", "10"])) == ["2", "10"]


def test_labels_in_any_order():
    assert intervals("colour in ('blue', 'red')", LINES["colour"]) == [(0, 1)]
    assert intervals("colour in ('green', 'red')", LINES["colour"]) == [(0, 0), (3, 3)]
    assert values("zip = 02139", line_of("zip", ["02139", "2139"])) == ["02139"]


def test_nodes_of_a_hierarchy():
    line = LINES["country"]
    assert values("country = 'Europe'", line) == ["France", "Latvia"]
    assert values("country in ('Baltic', 'Asia')", line) == ["Latvia", "Japan"]
    assert intervals("country in ('France', 'Latvia')", line) == [(0, 1)]
    assert values("country = 'Europe' and country = 'Baltic'", line) == ["Latvia"]
    assert values("country = '*'", line) == ["France", "Latvia", "Japan"]
    assert values("country = 'Nepal'", line) == []  # in the hierarchy, not in the data
    assert values("country in ('Estonia', 'Japan')", line) == ["Japan"]


def test_numbers_on_a_hierarchy():
    assert values("age = '[40, 50)'", LINES["age"]) == [41]
    assert values("age >= 40 and age < 55", LINES["age"]) == [41, 52]
    assert values("age = '[50, 60)' and age > 52", LINES["age"]) == [57]
    assert intervals("mixed >= 12", LINES["mixed"]) == [(1, 3)]
    assert intervals("mixed <= 12", LINES["mixed"]) == [(0, 0), (2, 2)]
    assert values("mixed = 'odd' and mixed > 11", LINES["mixed"]) == [13]
    assert values("mixed in ('odd', 12.0)", LINES["mixed"]) == [11, 13, 12]
    born = line_of(
        "born", [datetime.date(2023, 5, 1), datetime.date(2024, 5, 1)], hierarchy={"dates": ["month", "year"]}
    )
    assert values("born = '2024'", born) == values("born = 2024", born) == values("born > '2023-12-31'", born)
    flag = line_of("flag", [True, False], hierarchy="flat")
    assert values("flag = true", flag) == [True]


def test_the_missing_value_is_in_no_box():
    line = LINES["whole"]
    assert line.missing_code == 4
    assert codes("whole < 5 or whole >= 5", line) == [0, 1, 2, 3]
    assert codes("whole = 3", line_of("whole", [None, None], kind=pa.int64())) == []


def test_lines_that_are_not_named_are_whole():
    low, high = boxes(parse("whole >= 5"), [LINES["colour"], LINES["whole"]])
    assert low.tolist() == [[0, 2]]
    assert high.tolist() == [[4, 3]]  # the missing colour too


def test_boxes_within_others_are_left_out():
    assert intervals("whole > 3 or whole > 4 or whole = 3 or whole > 3", LINES["whole"]) == [(0, 0), (1, 3)]


def test_a_table_without_values_that_are_selected():
    low, high = boxes(parse("whole > 100"), [LINES["whole"], LINES["colour"]])
    assert low.shape == high.shape == (0, 2)
    assert selected("whole > 3.2 and whole < 3.3 and colour = 'red'", [LINES["whole"], LINES["colour"]]) == set()


# ── refused


@pytest.mark.parametrize(
    ("where", "name", "message"),
    [
        (
            "colour < 'red'",
            "colour",
            "Column 'colour': colour < 'red' asks for an order, and its labels have none; use =",
        ),
        ("country >= 'Asia'", "country", "Column 'country': country >= 'Asia' asks for an order"),
        ("flag > false", "flag", "Column 'flag': flag > false asks for an order"),
        ("whole > 'many'", "whole", "Column 'whole': whole > 'many' compares it with 'many', and it takes a number"),
        ("day > 2024", "day", "compares it with 2024, and it takes a date in quotes, such as '2024-02-29'."),
        ("day > '2024-02-30'", "day", "and it takes a date in quotes"),
        ("day > '2024-02-29 12:00'", "day", "and it takes a date in quotes"),
        ("moment > '29.2.2024'", "moment", "and it takes a timestamp in quotes"),
        ("moment > '2024-02-29T12:00Z'", "moment", "and it takes a timestamp in quotes"),
        ("clock > 'noon'", "clock", "and it takes a time in quotes, such as '12:30:00'."),
        ("age < '[40, 50)'", "age", "compares it with '[40, 50)', and it takes a number"),
        (
            "colour = 'red' and colour = 'blue'",
            "colour",
            "workload: nothing can meet colour = 'red' and colour = 'blue'; c",
        ),
        ("country = 'Asia' and country = 'Baltic'", "country", "workload: nothing can meet country = 'Asia' and"),
        ("country = 'Nepal' and country = 'Baltic'", "country", "workload: nothing can meet"),
        ("grade > 'high' and grade < 'mid'", "grade", "workload: nothing can meet grade > 'high' and grade < 'mid'"),
        ("day > '2024-03-01' and day < '2024-02-01'", "day", "workload: nothing can meet day > '2024-03-01' and"),
        ("day between '2024-03-01' and '2024-02-01'", "day", "workload: nothing can meet day between"),
        ("whole > '9' and whole < '7'", "whole", "workload: nothing can meet"),
        ("age = '[40, 50)' and age = '[50, 60)'", "age", "workload: nothing can meet"),
        ("grade > 'top'", "grade", "workload: nothing can meet grade > 'top'"),
    ],
)
def test_what_does_not_fit_the_column(where, name, message):
    with pytest.raises(PolicyError) as caught:
        boxes(parse(where), [LINES[name]])
    assert message in str(caught.value)


def test_one_alternative_that_can_be_met_is_enough():
    assert values("colour = 'red' and colour = 'blue' or colour = 'red'", LINES["colour"]) == ["red"]


@pytest.mark.parametrize(
    ("where", "name", "message"),
    [
        (
            "colour = 'pink'",
            "colour",
            "Column 'colour': a predicate asks for 'pink', a label that no value has (`values`",
        ),
        ("colour in ('red', 'pink')", "colour", "asks for 'pink'"),
        (
            "country = 'Africa'",
            "country",
            "asks for 'Africa', a label that neither a value nor a node of its hierarchy has",
        ),
        ("age = '[40, 55)'", "age", "neither a value nor a node of its hierarchy"),
        ("flag = 'yes'", "flag", "a label that no value has"),
    ],
)
def test_labels_that_do_not_exist(where, name, message):
    with pytest.raises(InputError) as caught:
        boxes(parse(where), [LINES[name]])
    assert message in str(caught.value)
    labels = LINES[name].texts.to_pylist()
    assert set(labels) <= set(caught.value.values)
    assert not [label for label in labels if f"'{label}'" in str(caught.value).replace("pink", "")]


def test_labels_of_the_policy_may_be_told():
    with pytest.raises(InputError, match=r"asks for 'hihg', which is not in its 'order'; did you mean 'high'\?"):
        boxes(parse("grade > 'hihg'"), [LINES["grade"]])


def test_too_many_boxes():
    letters = [f"{i:04}" for i in range(2100)]
    line = line_of("label", letters)
    every_other = ", ".join(f"'{label}'" for label in letters[::2])
    with pytest.raises(PolicyError, match=r"falls into 1,050 boxes on this table, and a predicate may have 1,000"):
        boxes(parse(f"label in ({every_other})"), [line])
    assert len(intervals(f"label in ({', '.join(repr(x) for x in letters)})", line)) == 1

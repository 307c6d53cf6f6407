"""The language of ``where``: what it reads, what it refuses and why, and what nothing can meet."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rothko.errors import PolicyError
from rothko.workload.predicate import Predicate, as_number, can_hold, one_line, parse


def read(where: str) -> list[list[tuple[str, str, list[str]]]]:
    return [
        [(c.column, c.operator, [str(value) for value in c.values]) for c in comparisons]
        for comparisons in parse(where).alternatives
    ]


def told(where: str) -> str:
    with pytest.raises(PolicyError) as caught:
        parse(where)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ── what it reads


@pytest.mark.parametrize(
    ("where", "comparison"),
    [
        ("age = 40", ("age", "in", ["40"])),
        ("age == 40", ("age", "in", ["40"])),
        ("age<40", ("age", "<", ["40"])),
        ("age >=-1.5e3", ("age", ">=", ["-1.5e3"])),
        ("age > .5", ("age", ">", [".5"])),
        ("age > +5.", ("age", ">", ["+5."])),
        ("40 <= age", ("age", ">=", ["40"])),
        ("40 > age", ("age", "<", ["40"])),
        ("'Male' = sex", ("sex", "in", ["'Male'"])),
        ("sex IN ('Male', 'Female', 'Male')", ("sex", "in", ["'Male'", "'Female'"])),
        ("name = 'it''s'", ("name", "in", ["'it''s'"])),
        ("name = ''", ("name", "in", ["''"])),
        ("insured = TRUE", ("insured", "in", ["'true'"])),
        ("false = insured", ("insured", "in", ["'false'"])),
        ("hours-per-week > 3", ("hours-per-week", ">", ["3"])),
        ("capital.gain > 3", ("capital.gain", ">", ["3"])),
        ("größe > 3", ("größe", ">", ["3"])),
        ('"hours per week" > 3', ("hours per week", ">", ["3"])),
        ('"in" > 3', ("in", ">", ["3"])),
        ('"2019" > 3', ("2019", ">", ["3"])),
        ('"a""b" > 3', ('a"b', ">", ["3"])),
        ("like > 3", ("like", ">", ["3"])),
        ("((age > 3))", ("age", ">", ["3"])),
        ("\tage\n>\n3 ", ("age", ">", ["3"])),
    ],
)
def test_one_comparison(where, comparison):
    assert read(where) == [[comparison]]


def test_between_is_two_comparisons():
    assert read("age Between 40 AND 60 and sex = 'Male'") == [
        [("age", ">=", ["40"]), ("age", "<=", ["60"]), ("sex", "in", ["'Male'"])]
    ]


def test_and_binds_closer_than_or():
    assert read("a = 1 or b = 2 and c = 3") == [
        [("a", "in", ["1"])],
        [("b", "in", ["2"]), ("c", "in", ["3"])],
    ]


def test_or_inside_and_multiplies():
    alternatives = read("(a = 1 or b = 2) and (c = 3 or d = 4)")
    assert [[c[0] for c in comparisons] for comparisons in alternatives] == [list(x) for x in ("ac", "ad", "bc", "bd")]


def test_the_same_twice_is_once():
    assert read("a = 1 and a = 1 or a = 1") == [[("a", "in", ["1"])]]


def test_columns_in_the_order_of_the_text():
    assert parse("(b > 1 or a > 2) and b < 9").columns == ("b", "a")


def test_numbers_are_exact():
    assert parse("x = 0.1").alternatives[0][0].values[0].number == Decimal("0.1")
    assert parse("x = 02139").alternatives[0][0].values[0].text == "02139"
    assert parse("x = '40'").alternatives[0][0].values[0].number is None


def test_predicates_compare_by_what_they_ask():
    assert parse("age >= 40 and sex = 'M'") == parse(" 40<=age AND 'M' == sex")
    assert isinstance(hash(parse("age >= 40")), int)


def test_comparisons_keep_their_text_for_messages():
    [comparisons] = parse("age  between 1\nand 2 and 40 >=  age").alternatives
    assert [c.written for c in comparisons] == ["age between 1 and 2", "age between 1 and 2", "40 >= age"]


# ── what it refuses


REFUSED = {
    "": "is empty; write a predicate such as \"age >= 40 and sex = 'Male'\"",
    " \n": "is empty; write",
    # not a box
    "not age < 40": "character 1, 'not': this takes a box away, and what is left is not a box; write age >= 40",
    "not (age >= 40)": "write age < 40",
    "not age = 40": "write age < 40 or age > 40",
    "not sex = 'Male'": "list the other values, sex in ('…', '…')",
    "not (age < 40 or sex = 'Male')": "turn every comparison round, such as age >= 40 for not age < 40",
    "not not age < 40": "turn every comparison round",
    'not "in" < 40': 'write "in" >= 40',
    "age not between 3 and 5": "character 5, 'not': this takes a box away, and what is left is not a box; write age <",
    "sex not in ('Male')": "what is left is not a box; list the other values, sex in ('…', '…')",
    "sex not like 'M%'": "character 5, 'not': a pattern does not form a box",
    "sex not": "compare with = < <= > >= between in",
    "!(age < 40)": "character 1, '!': this takes a box away",
    "sex != 'Male'": "character 5, '!=': this takes a box away, and what is left is not a box; list the other",
    "age <> 40": "character 5, '<>': this takes a box away, and what is left is not a box; write age < 40 or age > 40",
    "age ≠ 40": "character 5, '≠': this takes a box away",
    "sex like 'M%'": "character 5, 'like': a pattern does not form a box; list the values with in (…), or select a",
    "sex ILIKE 'm%'": "character 5, 'ILIKE': a pattern",
    "sex ~ 'm'": "character 5, '~': a pattern",
    "age is null": "character 5, 'is': a missing value meets no comparison, so it cannot be selected",
    "age is not null": "character 5, 'is': a missing value",
    "age = null": "character 7, 'null': a missing value",
    "null = age": "character 1, 'null': a missing value",
    "upper(sex) = 'M'": "character 1, 'upper': a function does not form a box",
    "age + 1 > 40": "character 5, '+': arithmetic does not form a box",
    "age - 1 > 40": "character 5, '-': arithmetic",
    "age -1 > 40": "character 5, '-1': arithmetic",
    "age * 2 > 40": "character 5, '*': arithmetic",
    "age > 40 + 2": "character 10, '+': arithmetic",
    "age < height": "character 7, 'height': a comparison of two columns does not form a box; if this is a text",
    "sex = Male": "if this is a text, write 'Male'",
    'sex = "Male"': "if this is a text, write 'Male'",
    "40 <= age <= 60": "character 11, '<=': a chain of comparisons; write age between 40 and 60",
    "40 < age <= 60": "write age > 40 and age <= 60",
    "60 >= age >= 40": "write age <= 60 and age >= 40",
    "age > 40 > 30": "character 10, '>': a comparison has two sides; join comparisons with and, or use between",
    "40 = age = 40": "a comparison has two sides",
    # not a predicate
    "1 = 1": "character 5, '1': this compares two values; one side must be a column",
    "'age' > 40": "character 9, '40': this compares two values; one side must be a column, by its name or in \"name\"",
    "age": "at the end: expected a comparison of 'age': = < <= > >= between in",
    "age 40": "character 5, '40': expected a comparison of 'age'",
    "40": "at the end: expected a comparison of 40 with a column",
    "40 between age and sex": "character 4, 'between': expected a comparison of 40 with a column",
    "age >": "at the end: expected a value, such as 40 or 'Male'",
    "age = (40)": "character 7, '(': expected a value",
    "age = not sex": "character 7, 'not': expected a value",
    "age > 40 and": "at the end: expected a comparison, such as age >= 40",
    "and age > 40": "character 1, 'and': expected a comparison; a column of this name goes in double quotes, \"and\"",
    "or": "character 1, 'or': expected a comparison",
    "> 40": "character 1, '>': expected a comparison, such as age >= 40",
    "age > 40 sex = 'M'": "character 10, 'sex': expected and, or, or the end",
    "age > 40, sex = 'M'": "character 9, ',': expected and, or, or the end",
    "age > 40; x": "character 9, ';': a predicate is one expression",
    "(age > 40": "at the end: expected ) to close the parenthesis",
    "age > 40)": "character 9, ')': expected and, or, or the end",
    "(age, sex) = 3": "character 5, ',': expected a comparison of 'age'",
    "age in 40": "character 8, '40': expected ( before the values",
    "age in ()": "character 9, ')': expected a value",
    "age in (1 2)": "character 11, '2': expected ) or a comma after the value",
    "age in (1,": "at the end: expected a value",
    "age in (1": "at the end: expected ) or a comma",
    "age between 40": "at the end: expected and between the two values, as in between 40 and 60",
    "age between 40 or 50": "character 16, 'or': expected and between the two values",
    "sex = 'Male": 'character 7, "\'": this quote is not closed; a quote inside a text is written twice',
    '"sex = 1': "character 1, '\"': this quote is not closed; a column goes in double quotes",
    "sex = ‘Male’": "character 7, '‘': a text goes in single quotes, 'text', and a name in double quotes",
    "`age` > 40": "character 1, '`': a text goes in single quotes",
    "born > 2024-02-29": "character 8, '2024-02-29': a date goes in single quotes, '2024-02-29'",
    "5min > 3": "character 1, '5': what begins with a digit goes in quotes",
    "age > 40years": "character 7, '4': what begins with a digit goes in quotes",
    "age ≤ 40": "character 5, '≤': write <=",
    "age ≥ 40": "character 5, '≥': write >=",
    "a = 1 & b = 2": "character 7, '&': write and",
    "a = 1 || b = 2": "character 7, '|': write or",
    "age = @x": "character 7, '@': this is no part of a predicate",
    "age = 1e401": "character 7, '1e401': the number is beyond 1e400 or closer to 0 than 1e-400",
    "age = 1e-999999999999": "the number is beyond 1e400",
    "(" * 60 + "a = 1": "character 51, '(': parentheses are nested more than 50 deep",
}


@pytest.mark.parametrize(("where", "message"), REFUSED.items())
def test_refused(where, message):
    error = told(where)
    assert message in error
    assert error.startswith(("character ", "at the end: ", "is empty"))


@pytest.mark.parametrize("where", [where for where, message in REFUSED.items() if "write age" in message])
def test_what_is_proposed_instead_is_read(where):
    parse(told(where).split("write ")[1])


def test_or_that_multiplies_too_often():
    def either(count):
        return " and ".join(f"(a{i} = 1 or b{i} = 2)" for i in range(count))

    assert len(parse(either(9)).alternatives) == 512
    error = told(either(10))
    assert error.startswith("it falls into more than 1,000 boxes, since or inside and multiplies; use in (…)")
    assert told(" or ".join(f"a = {i}" for i in range(1001))) == error
    assert told(either(20_000)) == error


def test_long_texts_are_shortened_in_messages():
    values = ", ".join(map(str, range(1000)))
    error = told(f"age in ({values}) and age > 5000")
    assert len(error) < 200
    assert "…" in error


# ── what nothing can meet


@pytest.mark.parametrize(
    ("where", "clash"),
    [
        ("age < 20 and age > 30", "age < 20 and age > 30"),
        ("age < 20 and sex = 'M' and age > 30", "age < 20 and age > 30"),
        ("age between 5 and 3", "age between 5 and 3"),
        ("age < 20 and age >= 20", "age < 20 and age >= 20"),
        ("age > 20 and 20 > age", "age > 20 and 20 > age"),
        ("age = 3 and age = 4", "age = 3 and age = 4"),
        ("age in (3, 4) and age in (5, 6)", "age in (3, 4) and age in (5, 6)"),
        ("age = 3 and age > 3", "age = 3 and age > 3"),
        ("age in (1, 9) and age > 1 and age < 9", "age in (1, 9) and age > 1 and age < 9"),
        ("sex = 'M' or age = 3 and age = 4", "age = 3 and age = 4"),
        ("(age < 10 or age < 20) and (age > 30 or age > 40)", "age < 10 and age > 30"),
    ],
)
def test_contradictions(where, clash):
    assert told(where) == f"nothing can meet {clash}; correct it"


@pytest.mark.parametrize(
    "where",
    [
        "age <= 20 and age >= 20",
        "age between 3 and 3",
        "age = 3 and age = 3.0",
        "age in (1, 2, 9) and age > 1 and age < 9",
        "age > 30 and age < 31",  # of whole numbers, but who says that they are whole
        "sex = 'M' and sex = 'F'",  # may be nodes of a hierarchy
        "born > '2020-01-01' and born < '2010-01-01'",  # may be labels in any order
        "age = 3 and height = 4",
    ],
)
def test_what_the_text_alone_does_not_contradict(where):
    parse(where)


def test_alternatives_that_exclude_themselves_are_dropped():
    assert [len(comparisons) for comparisons in parse("(a < 1 or a > 6) and (a > 3 or b = 1)").alternatives] == [
        2,
        2,
        2,
    ]


numbers = st.integers(0, 3)
single = st.tuples(st.sampled_from(["<", "<=", ">", ">=", "="]), numbers)


@given(st.lists(single, min_size=1, max_size=4))
def test_can_hold_agrees_with_trying(comparisons):
    where = " and ".join(f"x {sign} {number}" for sign, number in comparisons)
    tried = any(
        all(eval(f"{x} {sign.replace('=', '==') if sign == '=' else sign} {n}") for sign, n in comparisons)
        for x in [i / 4 for i in range(-4, 20)]
    )
    try:
        predicate = parse(where)
    except PolicyError:
        assert not tried
    else:
        assert tried
        assert can_hold(predicate.alternatives[0], lambda value: value.number)


# ── anything at all


words = st.sampled_from(["a", "b-c", "and", "or", "not", "in", "between", "(", ")", ",", "=", "<", ">=", "!="])
words |= st.sampled_from(
    ["3", "-4", "'x'", '"y"', "'", '"', "like", "is", "null", "true", "1e9", ".", "-", "2024-02-29"]
)


@given(st.text(st.characters(codec="utf-8")) | st.lists(words).map(" ".join))
def test_any_text_is_read_or_refused(where):
    try:
        predicate = parse(where)
    except PolicyError:
        told(where)
    else:
        assert isinstance(predicate, Predicate)
        assert parse(one_line(where)) == predicate


def test_numbers_as_text():
    assert as_number("-1.50") == Decimal("-1.5")
    assert [as_number(text) for text in ("", "x", "nan", "inf", "1_000", " 1", "1e500")] == [None] * 7

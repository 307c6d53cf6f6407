"""Values that are written anew: against Python's own dates and decimals, as a whole and in pieces."""

from __future__ import annotations

import datetime as dt
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.written import Written, pattern_of
from rothko.errors import InputError
from rothko.policy.spelling import FORMS

DATES = [form for form in FORMS if form == "date"]
TIMES = [form for form in FORMS if form == "timestamp"]
COMMA = Written(numbers=frozenset(["n"]), decimal=",")


def rewritten(written: Written, words: list[str | None], name: str = "d") -> list[str | None]:
    found: list[str | None] = written.table(pa.table({name: pa.array(words, pa.string())}))[name].to_pylist()
    return found


@settings(deadline=None)
@given(st.sampled_from(DATES), st.lists(st.dates(min_value=dt.date(1, 1, 1))), st.booleans())
def test_dates_are_those_of_python(form: object, days: list[dt.date], padded: bool) -> None:
    kind = next(one for one in DATES if one is form)
    parts = {"%Y": "{0.year:04}", "%m": "{0.month:02}" if padded else "{0.month}", "%d": "{0.day}"}
    shape = kind.form
    for part, text in parts.items():
        shape = shape.replace(part, text)
    words = [shape.format(day) for day in days]
    assert rewritten(Written({"d": ("date", kind.form)}), words) == [day.isoformat() for day in days]


@given(st.sampled_from(TIMES), st.lists(st.datetimes(min_value=dt.datetime(1000, 1, 1))))
def test_timestamps_are_those_of_python(form: object, times: list[dt.datetime]) -> None:
    kind = next(one for one in TIMES if one is form)
    words = [time.strftime(kind.form) for time in times]
    expected = [time.strftime("%Y-%m-%d %H:%M" + ":%S" * ("%S" in kind.form)) for time in times]
    assert rewritten(Written({"d": ("timestamp", kind.form)}), words) == expected


@given(st.lists(st.from_regex(r"\A\d{1,2}\.\d{1,2}\.\d{3,4}\Z") | st.text(max_size=12)))
def test_what_is_no_date_stays_as_it_is(words: list[str]) -> None:
    def python(word: str) -> str:
        try:
            day, month, year = (part for part in word.split("."))
            plain = all(part.isascii() and part.isdigit() for part in (day, month, year)) and len(year) == 4
            return dt.date(int(year), int(month), int(day)).isoformat() if plain else word
        except ValueError:
            return word

    stripped = [word.strip() for word in words]
    assert rewritten(Written({"d": ("date", "%d.%m.%Y")}), stripped) == [python(word) for word in stripped]


def test_parts_side_by_side_have_all_their_digits() -> None:
    """1112024 would be the 11th of January, or the 1st of November."""
    assert rewritten(Written({"d": ("date", "%d%m%Y")}), ["1112024", "11012024"]) == ["1112024", "2024-01-11"]


@pytest.mark.parametrize("wrong", ["%y", "%d.%m", "%d.%m.%Y.%Y", "%Y-%d-%m", "%d.%m.%Y %H", "%", "d.m.Y", ""])
def test_a_form_that_says_no_date_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=r"%"):
        pattern_of("date", wrong)


NUMBERS = st.from_regex(r"\A[+-]?(0|[1-9][0-9]{0,20})(,[0-9]{1,20})?\Z", fullmatch=True)


@given(st.lists(NUMBERS))
def test_numbers_keep_all_their_digits(words: list[str]) -> None:
    found = rewritten(COMMA, list(words), "n")
    assert [Decimal(str(text)) for text in found] == [Decimal(word.replace(",", ".")) for word in words]
    assert [len(str(text)) for text in found] == [len(word) for word in words]


def test_tokens_and_missing_values_stay() -> None:
    written = Written({"d": ("date", "%d.%m.%Y")}, frozenset(), None, ("01.01.1900",))
    assert rewritten(written, ["01.01.1900", None, "02.01.1900"]) == ["01.01.1900", None, "1900-01-02"]


@settings(deadline=None)
@given(
    st.lists(
        st.from_regex(r"\A[+-]?\d{1,18}(,\d{0,6})?([eE]\d)?\Z", fullmatch=True)
        | st.sampled_from(["1.500", "007", "007,5", "x", ",5", "1,", "1,2,3", "1.5,2"]),
        min_size=1,
        max_size=8,
    )
)
def test_a_column_read_in_pieces_is_that_read_as_a_whole(words: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "n.csv"
        path.write_text("\n".join(["n;m", *(f"{word};1" for word in words)]) + "\n")
        source = open_source(path, csv=CsvOptions(delimiter=";", decimal=",", header=True))
        whole = source.read()["n"]
        assert whole.equals(pa.concat_tables(source.batches())["n"])
        if pa.types.is_floating(whole.type):
            assert whole.to_pylist() == [float(word.replace(",", ".")) for word in words]
        assert not pa.types.is_floating(whole.type) or not any("." in word for word in words), "a thousand, perhaps"


def test_points_are_found_in_a_later_piece() -> None:
    pieces = [pa.table({"n": ["1,5"]}), pa.table({"n": ["1.5"]})]
    with pytest.raises(InputError, match="numbers with a point"):
        list(Written(numbers=frozenset(["n"]), decimal=",", or_released=True)._anew(pieces))
    released = Written(numbers=frozenset(["n"]), decimal=",", or_released=True)
    assert released.table(pieces[1])["n"].to_pylist() == ["1.5"]


@pytest.mark.parametrize("kind", [pa.uint8(), pa.int16(), pa.int64(), pa.float64(), pa.string()])
def test_a_word_of_one_column_is_a_value_of_another(kind: pa.DataType) -> None:
    cells = pa.array([7, 99, 157, 255], pa.int64()).cast(kind)
    found = Written(absent_in={"a": ("99", "-99", "-1", "n/a")}).table(pa.table({"a": cells, "b": cells}))
    # -99 and -1 are no numbers of eight bits without a sign: 157 and 255, which are written so, stay.
    assert found["a"].to_pylist() == [None if i == 1 else cell for i, cell in enumerate(cells.to_pylist())]
    assert found["b"].to_pylist() == cells.to_pylist()

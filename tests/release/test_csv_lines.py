"""Text files told apart line by line: what is found is what reading all of it field by field finds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.privacy import DistinctLDiversity, KAnonymity, VarianceDiversity
from rothko.release.formats.csv_lines import lines_once, repeats
from rothko.release.verify import verify
from rothko.release.write import write_table

WORDS = st.text(st.sampled_from("ab,\"' é*[]{}\t=;"), max_size=4)
BREAKS = st.sampled_from(["two\nlines", "a\r\nb", "\r", '"\n"', "\x01", 'x"\n"y'])
ASKED = [KAnonymity(k=2), DistinctLDiversity(l=2, of="s"), VarianceDiversity(v=1, of="v")]


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(WORDS, WORDS, WORDS, st.integers(0, 9)), min_size=1, max_size=6),
    times=st.lists(st.integers(4, 9), min_size=6, max_size=6),
    odd=st.none() | BREAKS,
    name=st.sampled_from(["q", 'q "u"', "two\nlines"]),
)
@pytest.mark.parametrize("ending", [".csv", ".tsv"])
def test_lines_tell_what_fields_tell(
    tmp_path_factory: pytest.TempPathFactory,
    ending: str,
    rows: list[tuple[str, str, str, int]],
    times: list[int],
    odd: str | None,
    name: str,
) -> None:
    many = [row for row, n in zip(rows, times, strict=False) for _ in range(n)]
    if odd is not None:
        many.append((odd, *many[0][1:]))
    first, second, sensitive, numbers = zip(*many, strict=True)
    table = pa.table({name: first, "r": second, "s": sensitive, "v": [str(n) for n in numbers]})
    path = tmp_path_factory.mktemp("lines") / f"release{ending}"
    write_table(table, path, escape=False)
    shown = {"q": [name], "r": ["r"]}
    # In text, nothing and an empty text are the same, and so they are counted as missing.
    wanted, found = verify(table, ASKED, shown), verify(path, ASKED, shown)
    assert (found.rows, found.classes) == (wanted.rows, wanted.classes)
    for one, other in zip(found.findings, wanted.findings, strict=True):
        assert one.to_dict() == pytest.approx(other.to_dict())
    assert not [*path.parent.glob(".lines-*")]
    lines = lines_once(path)
    if lines is not None:
        assert sum(lines["times"].to_pylist()) == len(many)
    elif "\n" not in name:
        assert odd is not None


def test_what_repeats_is_condensed_and_what_does_not_is_read_as_it_is(tmp_path: Path) -> None:
    for name, column in (("alike", ["a"] * 50 + ["b"] * 50), ("different", list(map(str, range(100))))):
        write_table(pa.table({"q": column, "r": ["x"] * 100}), tmp_path / f"{name}.csv")
    assert repeats(tmp_path / "alike.csv")
    assert not repeats(tmp_path / "different.csv")
    lines = lines_once(tmp_path / "alike.csv")
    assert lines is not None
    assert sorted(lines.to_pylist(), key=str) == [{"line": b"a,x", "times": 50}, {"line": b"b,x", "times": 50}]


@pytest.mark.parametrize("word", ["two\nlines", "\r"])
def test_lines_that_are_no_records_are_not_taken_for_some(tmp_path: Path, word: str) -> None:
    write_table(pa.table({"q": ["a"] * 50 + [word], "r": ["x"] * 51}), tmp_path / "odd.csv")
    assert lines_once(tmp_path / "odd.csv") is None
    assert verify(tmp_path / "odd.csv", [KAnonymity(k=2)], {"q": ["q"]}).classes == 2

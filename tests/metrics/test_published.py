"""Labels are read as they were published, all at once or one by one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rothko.metrics.published import _ends, _ends_one_by_one, _unquoted, words_of

WORDS = st.text(st.sampled_from('ab1.,-"’ ()[]{}'), max_size=6)
PLAIN = st.one_of(st.integers(-9, 99).map(str), st.sampled_from(["-inf", "inf", "2024-02-29"]))


def ranges(words: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(st.sampled_from("[("), words, words, st.sampled_from("])")).map(
        lambda p: f"{p[0]}{p[1]}, {p[2]}{p[3]}"
    )


@settings(deadline=None)  # the first call loads what Arrow computes with
@given(st.lists(st.one_of(ranges(PLAIN), ranges(WORDS), WORDS), max_size=8))
def test_ends_of_ranges_are_those_that_are_read_one_by_one(labels: list[str]) -> None:
    for some in (labels, [one for one in labels if one.count(", ") == 1 and '"' not in one]):
        found, wanted = _ends(pa.array(some, pa.string())), _ends_one_by_one(pa.array(some, pa.string()))
        assert [end.to_pylist() for end in found] == [end.to_pylist() for end in wanted]


@settings(deadline=None)
@given(st.lists(WORDS, max_size=8))
def test_quotes_around_labels_are_taken_off(labels: list[str]) -> None:
    quoted = [len(text) > 1 and text[0] == text[-1] == '"' for text in labels]
    read = [(text, words_of(text)[:1] if q else [text]) for text, q in zip(labels, quoted, strict=True)]
    found = _unquoted(pa.array([text for text, words in read if words], pa.string()))
    assert found.to_pylist() == [word for _, words in read for word in words]


@pytest.mark.parametrize("label", ["[1, 2]", "(-inf, 2)", "[2024-01-01, 2024-02-29]"])
def test_ends_of_what_is_published_most(label: str) -> None:
    first, second = _ends(pa.array([label] * 3))
    assert np.unique(first.to_numpy(zero_copy_only=False)).tolist() == [label[1:-1].split(", ")[0]]
    assert np.unique(second.to_numpy(zero_copy_only=False)).tolist() == [label[1:-1].split(", ")[1]]

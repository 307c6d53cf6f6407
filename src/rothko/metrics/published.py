"""Reading published values back: how wide is what a release shows, on the lines of the original.

Works on any table whose quasi-identifiers are exact values, ranges, regions, sets, tree labels or pairs
of bounds, so also on releases that other tools made in these forms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import Kind, Line, as_text
from rothko.errors import InputError
from rothko.release.publish import ROOT


def published_widths(line: Line, columns: Sequence[pa.ChunkedArray]) -> NDArray[np.float64]:
    """The NCP of what each row shows for one quasi-identifier, given in one column or two bounds."""
    if len(columns) == 2:
        low, high = (pc.dictionary_encode(_joined(as_text(column))) for column in columns)
        pairs = [_with_last(_positions(line, ends.dictionary), ends.indices) for ends in (low, high)]
        nothing = (pairs[0] < 0) | (pairs[1] < 0)
        width = line.width(np.maximum(pairs[0], 0), np.maximum(pairs[1], 0))
        return np.where(nothing, 1.0, width)
    shown = pc.dictionary_encode(_joined(as_text(columns[0])))
    widths = _label_widths(line, shown.dictionary)
    return np.asarray(np.append(widths, 0.0)[_indices(shown.indices, len(widths))])


def _joined(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _with_last(positions: NDArray[np.int64], indices: pa.Array) -> NDArray[np.int64]:
    return np.asarray(np.append(positions, -1)[_indices(indices, len(positions))])


def _indices(indices: pa.Array, null: int) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(indices, null).to_numpy(zero_copy_only=False), dtype=np.int64)


def _label_widths(line: Line, labels: pa.Array) -> NDArray[np.float64]:
    """The NCP of each distinct label."""
    widths = np.full(len(labels), np.nan)
    texts = labels.to_pylist()
    quoted = [text is not None and len(text) > 1 and text[0] == text[-1] == '"' for text in texts]
    plain = pa.array([words_of(t)[0] if q else t for t, q in zip(texts, quoted, strict=True)], pa.string())
    exact = pc.fill_null(pc.index_in(plain, value_set=line.texts), -1).to_numpy(zero_copy_only=False) >= 0
    looks = np.array([text[:1] in ("{", "[", "(") for text in texts], dtype=np.bool_)
    root = np.array([text == ROOT for text in texts], dtype=np.bool_)
    # A label of another tool may look like a set and be a value; ours would be quoted.
    widths[exact & (~looks if line.kind is not Kind.TREE else True)] = 0.0
    widths[root] = 1.0
    rest = np.flatnonzero(np.isnan(widths))
    if len(rest):
        others = labels.take(pa.array(rest))
        if line.kind is Kind.TREE:
            widths[rest] = _tree_widths(line, others)
        elif line.kind is Kind.NOMINAL:
            widths[rest] = [_set_width(line, text) for text in others.to_pylist()]
        else:
            widths[rest] = _interval_widths(line, others)
    unknown = int(np.count_nonzero(np.isnan(widths)))
    if unknown:
        raise InputError(
            f"Column {line.name!r}: {unknown} of {len(labels)} published values are neither values of the original "
            "nor ranges, sets or labels of its hierarchy; a mean cannot be measured from the table alone.",
            values=labels.filter(pa.array(np.isnan(widths))).to_pylist(),
        )
    return widths


def _tree_widths(line: Line, labels: pa.Array) -> NDArray[np.float64]:
    assert line.tree is not None
    node = pc.fill_null(pc.index_in(labels, value_set=line.tree.labels), -1).to_numpy(zero_copy_only=False)
    width = line.width(line.tree.low[node], line.tree.high[node])
    return np.where(node >= 0, width, np.nan)


def _set_width(line: Line, text: str) -> float:
    """The size of a set ÷ all values; NaN for a text that is no set."""
    if not (text.startswith("{") and text.endswith("}")):
        return float("nan")
    return len(set(words_of(text[1:-1]))) / line.size


def _interval_widths(line: Line, labels: pa.Array) -> NDArray[np.float64]:
    """The range of an interval ÷ the range of the line; half-open ends stop at the value before."""
    texts = labels.to_pylist()
    ends = [words_of(text[1:-1]) if text[:1] in ("[", "(") and text[-1:] in ("]", ")") else [] for text in texts]
    fine = np.array([len(pair) == 2 for pair in ends])
    first = pa.array([pair[0] if len(pair) == 2 else None for pair in ends], pa.string())
    second = pa.array([pair[1] if len(pair) == 2 else None for pair in ends], pa.string())
    low = np.where(pc.equal(first, "-inf").fill_null(False), 0, _positions(line, first))
    high = np.where(pc.equal(second, "inf").fill_null(False), len(line.values) - 1, _positions(line, second))
    high = high - np.array([text.endswith(")") and not text.endswith("inf)") for text in texts])
    fine &= (low >= 0) & (high >= low)
    return np.where(fine, line.width(np.maximum(low, 0), np.maximum(high, 0)), np.nan)


def words_of(text: str) -> list[str]:
    r"""The words of a set or range; those in quotes may hold commas.

    >>> words_of('a, "b, c", "say \"\"hi"')
    ['a', 'b, c', 'say "hi']
    """
    found = re.findall(r'"((?:[^"]|"")*)"(?:, |$)|([^"].*?)(?:, |$)', text, re.DOTALL)
    return [plain or quoted.replace('""', '"') for quoted, plain in found]


def _positions(line: Line, words: pa.Array) -> NDArray[np.int64]:
    """The code of each text on the line; -1 for one that is not there."""
    found = pc.index_in(words, value_set=line.texts)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)

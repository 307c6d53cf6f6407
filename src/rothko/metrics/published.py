"""What a release shows, as intervals of codes on the lines of the original.

Known from the partition (:func:`shown_by`), or read back from the published values (:func:`read_shown`): exact
values, ranges, regions, sets, tree labels and pairs of bounds, so also those of releases that other tools made
in these forms. The two agree; a test holds them to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import Kind, Line, as_text
from rothko.errors import InputError
from rothko.methods.classes import Members
from rothko.release.publish import ROOT, SUPPRESSED, Statistic, bounds_names, is_numeric, published_names

Codes = NDArray[np.int64]
Truths = NDArray[np.bool_]
Scalar = TypeVar("Scalar", bound=np.generic)

FEWER = 4
"""So many times fewer words than values of a line are looked up the other way round."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What each class shows of one quasi-identifier."""

    low: Codes
    """The first code that the class may have; 0 where nothing is said, -1 where a mean is all that is shown."""
    high: Codes
    """The last code."""
    exact: Truths
    """Whether these are the smallest and the largest value of the class, and none is missing."""
    absent: Truths
    """Whether the class says that all its values are missing."""
    members: Members | None = None
    """The codes that each class may have, where they need not be all from the first to the last: sets of labels."""

    @property
    def known(self) -> bool:
        """Whether the classes say where they lie."""
        return not bool((self.low < 0).any())


def shown_by(
    line: Line,
    form: str,
    statistics: Collection[Statistic],
    box: tuple[NDArray[np.integer], NDArray[np.integer]],
    region: tuple[NDArray[np.integer], NDArray[np.integer]] | None,
    members: Members | None = None,
) -> Shown:
    """What classes show in a form of publishing, from their boxes and (for ``region``) regions on the line.

    ``members`` are the labels of each class where these are published rather than its box.
    """
    low, high = (np.asarray(ends, dtype=np.int64) for ends in box)
    names = published_names(line, form, statistics)
    absent = (low == line.missing_code) & line.missing
    clean = (high < line.missing_code) | (not line.missing)
    bounds = (np.where(clean, low, 0), np.where(clean, high, line.size - 1))
    no = np.zeros(len(low), dtype=np.bool_)
    if line.name not in names:
        return Shown(*bounds, exact=clean, absent=no)
    if form == "mean" and is_numeric(line):
        if bounds_names(line.name)[0] in names:
            return Shown(*bounds, exact=clean, absent=no)
        unknown = np.full(len(low), -1)
        return Shown(unknown, unknown, exact=no, absent=no)
    if line.kind is Kind.TREE:
        assert line.tree is not None
        node = line.tree.lowest(low, high)
        return Shown(line.tree.low[node].astype(np.int64), line.tree.high[node].astype(np.int64), no, absent)
    if region is None:
        mixed = ~clean & ~absent
        ends = np.where(mixed, 0, low), np.where(mixed, line.size - 1, high)
        if members is not None:
            members = _with_all(line, members, mixed)
        return Shown(*ends, exact=clean & (line.kind is Kind.ORDERED), absent=absent, members=members)
    first, last = (np.asarray(ends, dtype=np.int64) for ends in region)
    nothing = (first == line.missing_code) & line.missing
    mixed = (last == line.missing_code) & ~nothing & line.missing
    if line.kind is Kind.ORDERED:  # from -inf to inf, which shows as the root, as a mix with missing values does
        mixed |= (first == 0) & (last >= len(line.values) - 1) & ~nothing
    first, last = np.where(mixed, 0, first), np.where(mixed, line.size - 1, last)
    if bounds_names(line.name)[0] in names:
        return Shown(np.maximum(first, bounds[0]), np.minimum(last, bounds[1]), exact=clean, absent=nothing)
    return Shown(first, last, exact=no, absent=nothing)


def read_shown(
    line: Line,
    form: str,
    label: pa.ChunkedArray | None,
    bounds: Sequence[pa.ChunkedArray] | None,
    alone: Truths | None = None,
) -> tuple[Shown, NDArray[np.float64]]:
    """What classes show, and its NCP (NaN where it is not known), from published columns with a row per class.

    Parameters
    ----------
    form
        The form of publishing: a number may be a value or a mean, a range that of the class or a region.
    label
        The column with the name of the quasi-identifier; None where there are bounds only.
    bounds
        The columns of the smallest and the largest value, if there are any.
    alone
        The codes that the whole release shows by themselves (:func:`shown_alone`), where these are some of its classes.
    """
    if label is None:
        assert bounds is not None
        return _read_bounds(line, bounds)
    if form == "mean" and is_numeric(line):
        if bounds is not None:
            return _read_bounds(line, bounds)
        unknown, no = np.full(len(label), -1), np.zeros(len(label), dtype=np.bool_)
        return Shown(unknown, unknown, exact=no, absent=no), np.full(len(label), np.nan)
    shown, width = _read_labels(line, label, alone, is_range=form != "region")
    if bounds is None:
        return shown, width
    inner, inner_width = _read_bounds(line, bounds)
    low, high = np.maximum(shown.low, inner.low), np.minimum(shown.high, inner.high)
    return Shown(low, high, inner.exact, shown.absent), np.where(inner.exact, inner_width, width)


def _read_bounds(line: Line, columns: Sequence[pa.ChunkedArray]) -> tuple[Shown, NDArray[np.float64]]:
    """From two columns; both are missing where the class has missing values."""
    ends = []
    for column in columns:
        distinct = pc.dictionary_encode(_joined(as_text(column)))
        ends.append(_with_last(_positions(line, distinct.dictionary), -1, distinct.indices))
    exact = (ends[0] >= 0) & (ends[1] >= 0)
    low, high = np.where(exact, ends[0], 0), np.where(exact, ends[1], line.size - 1)
    width = np.where(exact, line.width(np.where(exact, low, 0), np.where(exact, high, 0)), 1.0)
    return Shown(low, high, exact, absent=np.zeros(len(low), dtype=np.bool_)), width


def _read_labels(
    line: Line, column: pa.ChunkedArray, alone: Truths | None, *, is_range: bool
) -> tuple[Shown, NDArray[np.float64]]:
    """From one column of labels; a missing one says that all is missing."""
    distinct = pc.dictionary_encode(_joined(as_text(column)))
    if alone is None:
        alone = shown_alone(line, distinct.dictionary, missing=distinct.null_count > 0)
    hidden = _suppressed(line, distinct.dictionary, alone)
    low, high, width = _label_intervals(line, distinct.dictionary, hidden)
    root = pc.equal(distinct.dictionary, ROOT).to_numpy(zero_copy_only=False)
    exact = np.full(len(low), is_range and line.kind is Kind.ORDERED) & ~root
    ends = (line.missing_code, line.missing_code) if line.missing else (0, line.size - 1)
    absent = pc.is_null(distinct.indices).to_numpy(zero_copy_only=False)
    members = None
    if line.kind is Kind.NOMINAL:
        listed = _listed(line, distinct.dictionary, np.append(low, ends[0]), np.append(high, ends[1]), hidden)
        members = listed.take(pc.fill_null(distinct.indices, len(low)).to_numpy(zero_copy_only=False))
    shown = Shown(
        _with_last(low, ends[0], distinct.indices),
        _with_last(high, ends[1], distinct.indices),
        _with_last(exact, False, distinct.indices),
        absent,
        members,
    )
    return shown, _with_last(width, 0.0, distinct.indices)


def _with_all(line: Line, members: Members, mixed: Truths) -> Members:
    """The same, and all codes of the line for classes that show the root."""
    everything = np.arange(line.size, dtype=np.int32)
    added = Members(np.append(members.starts, members.starts[-1] + line.size), np.append(members.codes, everything))
    return added.take(np.where(mixed, len(mixed), np.arange(len(mixed))))


def _listed(line: Line, labels: pa.Array, low: Codes, high: Codes, hidden: Codes) -> Members:
    """The codes of each distinct label, which is a value, a set or the root; one more at the end for what is missing.

    A set that names what the original has not keeps the rest of it.
    """
    texts = labels.to_pylist()
    masked = np.array([text == SUPPRESSED for text in texts] + [False], dtype=np.bool_)
    is_set = np.array([t.startswith("{") and t.endswith("}") for t in texts] + [False], dtype=np.bool_) & (low < high)
    words = [words_of(text[1:-1]) if found else [] for text, found in zip([*texts, ""], is_set, strict=True)]
    of_words = np.repeat(np.arange(len(words)), [len(found) for found in words])
    codes = _positions(line, pa.array([word for found in words for word in found], pa.string()))
    spans = np.where(is_set | masked, 0, high - low + 1)
    of_spans = np.repeat(np.arange(len(spans)), spans)
    within = np.arange(len(of_spans)) - np.repeat(np.cumsum(spans) - spans, spans) + low[of_spans]
    known = codes >= 0
    owner, codes = np.append(of_words[known], of_spans), np.append(codes[known], within)
    if masked.any():
        owner = np.append(owner, np.full(len(hidden), np.flatnonzero(masked)[0]))
        codes = np.append(codes, hidden)
    return Members.of(owner, codes, len(words))


def _joined(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _with_last(values: NDArray[Scalar], last: float, indices: pa.Array) -> NDArray[Scalar]:
    """The value of each index, ``last`` for a missing one."""
    places = pc.fill_null(indices, len(values)).to_numpy(zero_copy_only=False)
    return np.asarray(np.append(values, np.array([last], dtype=values.dtype))[places], dtype=values.dtype)


def shown_alone(line: Line, labels: pa.Array, *, missing: bool) -> Truths:
    """Which codes of a line some labels show by themselves.

    Parameters
    ----------
    missing
        Whether a class shows that all its values are missing.
    """
    there = np.zeros(line.size, dtype=np.bool_)
    position = _positions(line, _unquoted(labels.filter(pc.not_equal(labels, SUPPRESSED))))
    there[position[position >= 0]] = True
    if line.missing and missing:
        there[line.missing_code] = True
    return there


def _suppressed(line: Line, labels: pa.Array, alone: Truths) -> Codes:
    """The codes that ⊥ stands for: those that the column does not show by themselves; none where no label is ⊥."""
    if line.kind is not Kind.NOMINAL or not pc.any(pc.equal(labels, SUPPRESSED), min_count=0).as_py():
        return np.empty(0, dtype=np.int64)
    return np.flatnonzero(~alone)


def _unquoted(labels: pa.Array) -> pa.Array:
    """Labels without the quotes around them."""
    quoted = _and(pc.starts_with(labels, '"'), pc.ends_with(labels, '"'), pc.greater(pc.utf8_length(labels), 1))
    if not pc.any(quoted, min_count=0).as_py():
        return labels
    words = [words_of(text)[0] for text in labels.filter(quoted).to_pylist()]
    return pc.replace_with_mask(labels, quoted, pa.array(words, labels.type))


def _and(*truths: pa.Array) -> pa.Array:
    """Where all of them hold."""
    return reduce(pc.and_, truths)


def _truths(found: pa.Array) -> Truths:
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.bool_)


def _label_intervals(line: Line, labels: pa.Array, hidden: Codes) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """First code, last code and NCP of each distinct label."""
    low, high = np.full(len(labels), -1), np.full(len(labels), -1)
    widths = np.full(len(labels), np.nan)
    # A label of another tool may look like a set and be a value; ours would be quoted.
    looks = _truths(pc.is_in(pc.utf8_slice_codeunits(labels, 0, 1), value_set=pa.array(["{", "[", "("], labels.type)))
    plain = np.flatnonzero(~looks) if line.kind is not Kind.TREE else np.arange(len(labels))
    position = _positions(line, _unquoted(labels.take(pa.array(plain)))) if len(plain) else np.empty(0, dtype=np.int64)
    value, position = plain[position >= 0], position[position >= 0]
    low[value], high[value], widths[value] = position, position, 0.0
    root = _truths(pc.equal(labels, ROOT))
    low[root], high[root], widths[root] = 0, line.size - 1, 1.0
    if len(hidden):
        masked = _truths(pc.equal(labels, SUPPRESSED))
        mixed = line.missing and hidden[-1] == line.missing_code and len(hidden) > 1
        low[masked], high[masked] = hidden[0], hidden[-1]
        widths[masked] = 1.0 if mixed else len(hidden) / line.size if len(hidden) > 1 else 0.0
    rest = np.flatnonzero(np.isnan(widths))
    if len(rest):
        read = {Kind.TREE: _tree_intervals, Kind.NOMINAL: _set_intervals, Kind.ORDERED: _range_intervals}[line.kind]
        low[rest], high[rest], widths[rest] = read(line, labels.take(pa.array(rest)))
    unknown = int(np.count_nonzero(np.isnan(widths)))
    if unknown:
        raise InputError(
            f"Column {line.name!r}: {unknown} of {len(labels)} published values are neither values of the original "
            "nor ranges, sets or labels of its hierarchy; where they are means, the policy must say 'publish: mean'.",
            values=labels.filter(pa.array(np.isnan(widths))).to_pylist(),
        )
    return low, high, widths


def _tree_intervals(line: Line, labels: pa.Array) -> tuple[Codes, Codes, NDArray[np.float64]]:
    assert line.tree is not None
    node = pc.fill_null(pc.index_in(labels, value_set=line.tree.labels), -1).to_numpy(zero_copy_only=False)
    low, high = line.tree.low[node].astype(np.int64), line.tree.high[node].astype(np.int64)
    return low, high, np.where(node >= 0, line.width(low, high), np.nan)


def _set_intervals(line: Line, labels: pa.Array) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """The interval around a set, and its size ÷ all values; a set of another tool may have gaps on the line."""
    sets = [text[1:-1] if text.startswith("{") and text.endswith("}") else None for text in labels.to_pylist()]
    words = [[] if inside is None else list(dict.fromkeys(words_of(inside))) for inside in sets]
    sizes = np.array([len(found) for found in words])
    codes = _positions(line, pa.array([word for found in words for word in found], pa.string()))
    low, high = np.zeros(len(words), dtype=np.int64), np.full(len(words), line.size - 1)
    starts = np.cumsum(sizes) - sizes
    some = sizes > 0
    if some.any():
        low[some] = np.minimum.reduceat(np.where(codes < 0, line.size, codes), starts[some])
        high[some] = np.maximum.reduceat(codes, starts[some])
    nowhere = high < low
    low[nowhere], high[nowhere] = 0, line.size - 1
    return low, high, np.where(some, sizes / line.size, np.nan)


def _range_intervals(line: Line, labels: pa.Array) -> tuple[Codes, Codes, NDArray[np.float64]]:
    """The range of an interval ÷ the range of the line; half-open ends stop at the value before."""
    first, second = _ends(labels)
    fine = _truths(pc.is_valid(first))
    position = _positions(line, pa.concat_arrays([first, second]))
    low = np.where(pc.equal(first, "-inf").fill_null(False), 0, position[: len(labels)])
    high = np.where(pc.equal(second, "inf").fill_null(False), len(line.values) - 1, position[len(labels) :])
    high = high - _truths(_and(pc.ends_with(labels, ")"), pc.invert(pc.ends_with(labels, "inf)"))))
    fine &= (low >= 0) & (high >= low)
    return low, high, np.where(fine, line.width(np.maximum(low, 0), np.maximum(high, 0)), np.nan)


def _ends(labels: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Both ends of each range, missing for what is none.

    Where there are no quotes, all are parted at once: a label of a million takes a microsecond to be read by itself.
    """
    inner = pc.utf8_slice_codeunits(labels, 1, -1)
    parted = pc.split_pattern(inner, ", ")
    two = pc.equal(pc.list_value_length(parted), 2)
    simple = _and(two, pc.invert(pc.match_substring(labels, '"')), *_bracketed(labels))
    words = pc.list_flatten(parted.filter(simple))
    empty = pc.any(pc.equal(pc.utf8_length(words), 0), min_count=0).as_py()
    if empty or not pc.all(simple, min_count=0).as_py():
        return _ends_one_by_one(labels)
    return words.take(pa.array(np.arange(0, len(words), 2))), words.take(pa.array(np.arange(1, len(words), 2)))


def _bracketed(labels: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Whether labels begin and end as ranges do."""
    return (
        pc.or_(pc.starts_with(labels, "["), pc.starts_with(labels, "(")),
        pc.or_(pc.ends_with(labels, "]"), pc.ends_with(labels, ")")),
    )


def _ends_one_by_one(labels: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The same of labels with quotes, or of which some are no ranges."""
    bracketed = _truths(_and(*_bracketed(labels)))
    pairs = [words_of(text[1:-1]) if fine else [] for text, fine in zip(labels.to_pylist(), bracketed, strict=True)]
    ends = [[pair[at] if len(pair) == 2 else None for pair in pairs] for at in (0, 1)]
    return pa.array(ends[0], pa.string()), pa.array(ends[1], pa.string())


def words_of(text: str) -> list[str]:
    r"""The words of a set or range; those in quotes may hold commas.

    >>> words_of('a, "b, c", "say \"\"hi"')
    ['a', 'b, c', 'say "hi']
    """
    found = re.findall(r'"((?:[^"]|"")*)"(?:, |$)|([^"].*?)(?:, |$)', text, re.DOTALL)
    return [plain or quoted.replace('""', '"') for quoted, plain in found]


def _positions(line: Line, words: pa.Array) -> NDArray[np.int64]:
    """The code of each text on the line; -1 for one that is not there."""
    if not len(words):
        return np.empty(0, dtype=np.int64)
    if FEWER * len(words) < len(line.texts):
        # What is looked in is hashed, which takes longest: so the texts are looked for among the words.
        distinct = pc.dictionary_encode(words, null_encoding="encode")
        there = pc.index_in(line.texts, value_set=distinct.dictionary)
        known = pc.is_valid(there).to_numpy(zero_copy_only=False)
        codes = np.full(len(distinct.dictionary), -1)
        codes[there.drop_null().to_numpy()] = np.flatnonzero(known)
        return np.asarray(codes[distinct.indices.to_numpy()], dtype=np.int64)
    found = pc.index_in(words, value_set=line.texts)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False), dtype=np.int64)

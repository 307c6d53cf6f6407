"""Classes cover their records: every quasi-identifier lies in what its class publishes.

Published labels are read again as a reader reads them (``[20, 35]``, ``(-inf, 40)``, ``{a, b}``, the label of a tree,
``*``), and compared with the values of the records in the class, by SQL. Neither codes nor boxes are looked at: what
publishes a class may be wrong about both. Numbers and dates are compared by the extremes of each class, everything else
by the values that each label stands for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import Kind, Line, as_text
from rothko.errors import VerificationError
from rothko.release.publish import ROOT, SPECIAL, SUPPRESSED, Published, bounds_names

NEAR = 1e-9
"""How far a published mean may lie from that of the records, as a share of the largest of them."""
SPAN = r'^([\[(])("(?:[^"]|"")*"|[^,]*), ("(?:[^"]|"")*"|[^,]*)([\])])$'
"""A range or a region: where it begins and ends, and whether these values belong to it."""
PLAIN_SPAN = r"^[\[(](?P<first>[^,]*), (?P<last>[^,]*)(?P<end>[\])])$"
"""The same of values that need no quotes."""
WORD = re.compile(r'(?:^|, )(?:"((?:[^"]|"")*)"|([^,]*))(?=, |$)')
"""A label among others, in quotes where it needs them."""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of a quasi-identifier, record by record: where each begins and ends."""

    low: pa.Array
    high: pa.Array
    """Another array than :attr:`low` only where values are known by their cells."""

    @classmethod
    def of(cls, column: pa.ChunkedArray) -> Values:
        """The values of a column."""
        one = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        one = one.dictionary_decode() if pa.types.is_dictionary(one.type) else one
        return cls(one, one)

    @classmethod
    def at(cls, line: Line, codes: NDArray[np.int32]) -> Values:
        """The values that codes stand for."""
        places = pa.array(codes, mask=codes == line.missing_code)
        low = line.values.take(places)
        return cls(low, low if line.upper is None else line.last.take(places))


def check_coverage(
    values: Mapping[str, Values],
    classes: NDArray[np.int32],
    lines: Sequence[Line],
    published: Mapping[str, Sequence[Published]],
    *,
    by_column: bool = False,
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Refuse classes that publish something that does not hold for all of their records.

    Parameters
    ----------
    values
        Quasi-identifier → its values.
    classes
        The class of each record.
    by_column
        Whether every quasi-identifier is recoded by itself: a mean is then that of all records that show it, and bounds
        that are missing say that one of these has no value.
    """
    by_extent = [line for line in lines if line.kind is Kind.ORDERED and not pa.types.is_string(line.values.type)]
    if by_column:
        published = _without_numbers(values, classes, by_extent, published, connection)
    if any(published[line.name] for line in by_extent):
        _extents(values, classes, by_extent, published, connection)
        _refuse_outside(by_extent, published, connection)
    for line in lines:
        if line not in by_extent:
            for column in published[line.name]:
                _refuse(line.name, _strangers(values[line.name].low, classes, line, column, connection))


def _without_numbers(
    values: Mapping[str, Values],
    classes: NDArray[np.int32],
    lines: Sequence[Line],
    published: Mapping[str, Sequence[Published]],
    connection: duckdb.DuckDBPyConnection,
) -> dict[str, Sequence[Published]]:
    """What is published besides means and bounds, which are checked here: each against the records that show it."""
    others = dict(published)
    for line in lines:
        for column in published[line.name]:
            if not pa.types.is_string(column.values.type):
                alone = replace(column, of_class=np.arange(len(column.values), dtype=np.int32))
                shown = column.of_class[classes]
                check_coverage(values, shown, [line], {line.name: [alone]}, connection=connection)
        others[line.name] = [column for column in published[line.name] if pa.types.is_string(column.values.type)]
    return others


def _refuse(name: str, wrong: int) -> None:
    if wrong:
        raise VerificationError(
            f"Verification failed: what {wrong:,} classes publish of {name!r} does not hold for all of their "
            "records; nothing was released. Please report this."
        )


def _extents(
    values: Mapping[str, Values],
    classes: NDArray[np.int32],
    lines: Sequence[Line],
    published: Mapping[str, Sequence[Published]],
    connection: duckdb.DuckDBPyConnection,
) -> None:
    """Make ``extent``: of every class the extremes of each quasi-identifier, how many have none, and what is summed up.

    Numbers are divided by that of all records before, for the sum of two may be larger than any number.
    """
    columns: dict[str, pa.Array] = {"class": pa.array(classes)}
    asked = ["class"]
    for i, line in enumerate(lines):
        held = values[line.name]
        columns |= {f"low{i}": held.low} | ({} if held.high is held.low else {f"high{i}": held.high})
        last = f"low{i}" if held.high is held.low else f"high{i}"
        absent = f"count(*) - count(low{i})" if held.low.null_count else "0"
        asked += [f"min(low{i}) AS low{i}", f"max({last}) AS high{i}", f"{absent} AS absent{i}"]
        if any(_is_mean(line, column) for column in published[line.name]):
            # A short float is the number that it is written as.
            number = f"low{i}::VARCHAR::DOUBLE" if pa.types.is_float32(held.low.type) else f"low{i}::DOUBLE"
            asked.append(f"sum({number} / {len(classes)}.0) AS sum{i}, count(low{i}) / {len(classes)}.0 AS share{i}")
    connection.register("valued", pa.table(columns))
    connection.execute(f"CREATE OR REPLACE TEMP TABLE extent AS SELECT {', '.join(asked)} FROM valued GROUP BY class")
    connection.unregister("valued")


def _is_mean(line: Line, column: Published) -> bool:
    return not pa.types.is_string(column.values.type) and column.name not in bounds_names(line.name)


def _refuse_outside(
    lines: Sequence[Line], published: Mapping[str, Sequence[Published]], connection: duckdb.DuckDBPyConnection
) -> None:
    """Refuse classes that publish less than their records reach over."""
    kinds = connection.sql("SELECT * FROM extent LIMIT 0")
    types = dict(zip(kinds.columns, map(str, kinds.types), strict=True))
    columns = [(i, line, column) for i, line in enumerate(lines) for column in published[line.name]]
    labels: dict[str, Any] = {}
    for j, (_, _, column) in enumerate(columns):
        labels |= _read(f"shown{j}", column)
    connection.register("labels", pa.table({"class": np.arange(len(columns[0][2].of_class), dtype=np.int32), **labels}))
    holds = [_holds(f"shown{j}", i, line, column, types[f"low{i}"]) for j, (i, line, column) in enumerate(columns)]
    wrong = connection.execute(
        f"SELECT {', '.join(f'count(*) FILTER (NOT coalesce({one}, false))' for one in holds)} "
        "FROM extent JOIN labels USING (class)"
    ).fetchall()[0]
    connection.unregister("labels")
    for (_, line, _), count in zip(columns, wrong, strict=True):
        _refuse(line.name, count)


def _holds(shown: str, i: int, line: Line, column: Published, kind: str) -> str:
    """Whether what a class shows holds for its records."""
    first, last = bounds_names(line.name)
    if pa.types.is_string(column.values.type):
        return _within(shown, i, kind)
    if column.name in (first, last):
        reaches = f"{shown} <= low{i}" if column.name == first else f"{shown} >= high{i}"
    else:
        largest = f"greatest(abs(low{i}::DOUBLE), abs(high{i}::DOUBLE))"
        reaches = f"abs({shown} * share{i} - sum{i}) <= {NEAR} * {largest} * share{i}"
    return f"CASE WHEN {shown} IS NULL THEN absent{i} > 0 ELSE absent{i} = 0 AND {reaches} END"


def _read(shown: str, column: Published) -> dict[str, pa.Array]:
    """What each class shows; of a range or a region also where it begins and ends, and its last sign."""
    read = {shown: column.values}
    if pa.types.is_string(column.values.type):
        span = pc.extract_regex(column.values, PLAIN_SPAN)
        read |= {f"{shown}_{part}": pc.struct_field(span, part) for part in ("first", "last", "end")}
    places = pa.array(column.of_class)
    return {name: pa.DictionaryArray.from_arrays(places, values) for name, values in read.items()}


def _within(shown: str, i: int, kind: str) -> str:
    """Whether a class lies in its label: a value by itself, a range, a region, or the root."""
    begins, ends = f"TRY_CAST({shown}_first AS {kind})", f"TRY_CAST({shown}_last AS {kind})"
    region = f"({shown}_first = '-inf' OR {begins} <= low{i}) AND ({shown}_last = 'inf' OR {ends} > high{i})"
    return (
        f"CASE WHEN {shown} IS NULL THEN low{i} IS NULL WHEN {shown} = '{ROOT}' THEN true "
        f"WHEN absent{i} > 0 THEN false WHEN {shown}_end = ']' THEN {begins} <= low{i} AND {ends} >= high{i} "
        f"WHEN {shown}_end = ')' THEN {region} ELSE low{i} = high{i} AND low{i} = TRY_CAST({shown} AS {kind}) END"
    )


def _strangers(
    values: pa.Array, classes: NDArray[np.int32], line: Line, column: Published, connection: duckdb.DuckDBPyConnection
) -> int:
    """How many pairs of a label and a value there are that the label does not stand for."""
    distinct = values if pa.types.is_dictionary(values.type) else pc.dictionary_encode(values)
    texts = as_text(distinct.dictionary)
    count = len(texts) + 1  # the last one is the missing value
    codes = pc.fill_null(distinct.indices, count - 1).to_numpy(zero_copy_only=False)
    pairs = np.unique(column.of_class[classes].astype(np.int64) * count + codes)
    label, value = pairs // count, pairs % count
    labels = column.values
    there = value < count - 1
    named = pc.is_valid(labels).to_numpy(zero_copy_only=False)[label]
    everything = pc.fill_null(pc.is_in(labels, pa.array([ROOT, SUPPRESSED])), False).to_numpy(zero_copy_only=False)[
        label
    ]
    wrong = np.count_nonzero((there & ~named) | (~there & named & ~everything))
    asked = there & named & ~everything
    if not asked.any():
        return int(wrong)
    members = _members(line, labels, texts)
    connection.register("asked", pa.table({"label": label[asked], "value": texts.take(pa.array(value[asked]))}))
    connection.register("members", members)
    [(strangers,)] = connection.execute("SELECT count(*) FROM asked ANTI JOIN members USING (label, value)").fetchall()
    connection.unregister("asked")
    connection.unregister("members")
    return int(wrong) + int(strangers)


def _members(line: Line, labels: pa.Array, texts: pa.Array) -> pa.Table:
    """(label, value): which values each label stands for, by its place among the labels."""
    if line.kind is Kind.TREE:
        return _below(line, labels)
    if line.kind is Kind.ORDERED:
        return _between(line.texts.to_pylist(), labels)
    if pc.any(pc.match_substring_regex(texts, SPECIAL), min_count=0).as_py():
        return _listed([_words(label) for label in labels.to_pylist()])
    # No label needs quotes, so every comma is one between labels.
    inner = pc.utf8_trim(pc.fill_null(labels, ""), characters="{}")
    lists = pc.split_pattern(inner, ", ")
    return pa.table({"label": pc.list_parent_indices(lists), "value": pc.list_flatten(lists)})


def _below(line: Line, labels: pa.Array) -> pa.Table:
    """The values under each node that is published, climbing from every leaf to the root."""
    tree = line.tree
    assert tree is not None
    node = tree.leaf[: len(line.values)].astype(np.int64)
    values = np.arange(len(node))
    found: list[tuple[pa.Array, pa.Array]] = []
    place = pc.fill_null(pc.index_in(tree.labels, value_set=labels, skip_nulls=True), -1).to_numpy(zero_copy_only=False)
    texts = line.texts
    while len(node):
        shown = place[node] >= 0
        found.append((pa.array(place[node[shown]].astype(np.int64)), texts.take(pa.array(values[shown]))))
        node = tree.parent[node].astype(np.int64)
        node, values = node[node >= 0], values[node >= 0]
    return pa.table(
        {"label": pa.concat_arrays([a for a, _ in found]), "value": pa.concat_arrays([b for _, b in found])}
    )


def _between(order: Sequence[str], labels: pa.Array) -> pa.Table:
    """The values of each range of texts, which have an order of their own."""
    place = {text: i for i, text in enumerate(order)}
    lists: list[list[str]] = []
    for label in labels.to_pylist():
        span = None if label is None else re.match(SPAN, label)
        if span is None:
            lists.append(_words(label))
            continue
        first, last = _bare(span[2]), _bare(span[3])
        begin = 0 if span[1] == "(" else place.get(first, len(order))
        end = len(order) if last == "inf" and span[4] == ")" else place.get(last, -1) + (span[4] == "]")
        lists.append(list(order[begin:end]))
    return _listed(lists)


def _words(label: str | None) -> list[str]:
    """The values that a label names: itself, or those of a set."""
    if label is None:
        return []
    if not (label.startswith("{") and label.endswith("}")):
        return [_bare(label)]
    return [quoted.replace('""', '"') or bare for quoted, bare in WORD.findall(label[1:-1])]


def _bare(label: str) -> str:
    """A label without its quotes."""
    if len(label) > 1 and label.startswith('"') and label.endswith('"'):
        return label[1:-1].replace('""', '"')
    return label


def _listed(lists: Sequence[Sequence[str]]) -> pa.Table:
    sizes = [len(one) for one in lists]
    return pa.table(
        {
            "label": np.repeat(np.arange(len(lists)), sizes),
            "value": pa.array([word for one in lists for word in one], pa.string()),
        }
    )

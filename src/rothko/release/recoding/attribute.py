"""One quasi-identifier of a recoding: what tells between which cuts a value lies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import build_hierarchy
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.line import Kind, Line, as_text
from rothko.errors import InputError
from rothko.methods.classes import Parts
from rothko.policy.column import Column
from rothko.release.publish import ROOT
from rothko.release.recoding.checks import between, listed, numbers, sound, text, whole
from rothko.release.recoding.values import from_json, to_json, type_of


@dataclass(frozen=True, slots=True)
class Attribute:
    """One quasi-identifier of a recoding. Its cuts divide the line into parts, numbered from 0."""

    name: str
    kind: Kind
    type: pa.DataType
    parts: int
    """How many parts there are."""
    edges: pa.Array = field(repr=False)
    """Ordered lines: the values that begin the parts after the first. Groups made by ``auto``: their first values."""
    ends: pa.Array = field(repr=False)
    """Groups made by ``auto``: their last values."""
    labels: pa.Array = field(repr=False)
    """Nominal lines and ordinal text: the labels. Trees: the highest nodes that lie in one part."""
    part: NDArray[np.int32] = field(repr=False)
    """The part of each label or group."""
    missing_part: int
    """The part of missing values; -1 where there were none."""
    hierarchy: Hierarchy | None = field(default=None, repr=False)
    """Given trees, to find the nodes above a value; the others follow from the values by rule."""

    @classmethod
    def of(cls, line: Line, cut_codes: NDArray[np.integer], spec: Column) -> Attribute:
        """Keep of a line what its cuts need."""
        codes = np.unique(cut_codes)
        nothing = pa.array([], line.values.type)  # a slice of nothing would hold on to all values
        edges = ends = nothing
        labels, part = pa.array([], pa.string()), np.empty(0, dtype=np.int32)

        def parts_of(codes_of: NDArray[np.integer]) -> NDArray[np.int32]:
            return np.asarray(np.searchsorted(codes, codes_of, side="right"), dtype=np.int32)

        if line.tree is not None:
            low, high, above = parts_of(line.tree.low), parts_of(line.tree.high), line.tree.parent
            undivided = (low == high) & (above >= 0) & (line.tree.low < len(line.values))
            cover = np.flatnonzero(undivided & ((above == 0) | ~undivided[above]))
            cover, part = cover[np.argsort(line.tree.low[cover])], low[cover[np.argsort(line.tree.low[cover])]]
            if spec.hierarchy is not None and spec.hierarchy.kind == "auto":
                edges = line.values.take(pa.array(line.tree.low[cover]))
                ends = line.values.take(pa.array(line.tree.high[cover]))
            else:
                labels = line.tree.labels.take(pa.array(cover))
        elif line.kind is Kind.NOMINAL:
            # In their natural order: that of the line may be the order of the target's mean.
            order = pc.sort_indices(line.texts)
            labels, part = line.texts.take(order), parts_of(order.to_numpy())
        elif pa.types.is_string(line.values.type):
            labels, part = line.texts, parts_of(np.arange(len(line.values)))
        else:
            edges = line.values.take(pa.array(codes[codes < len(line.values)]))
        given = spec.hierarchy is not None and spec.hierarchy.kind in ("csv", "tree")
        return cls(
            name=line.name,
            kind=line.kind,
            type=line.values.type,
            parts=len(codes) + 1,
            edges=edges,
            ends=ends,
            labels=labels,
            part=part,
            missing_part=int(parts_of(np.array([line.missing_code]))[0]) if line.missing else -1,
            hierarchy=line.hierarchy if given else None,
        )

    @classmethod
    def of_parts(cls, line: Line, parts: Parts, spec: Column) -> Attribute:
        """What tells to which part of a line a value belongs, where the parts of a nominal one are sets."""
        if line.kind is not Kind.NOMINAL:
            return cls.of(line, parts.low[1:], spec)
        order = pc.sort_indices(line.texts)
        return replace(
            cls.of(line, np.empty(0, dtype=np.int32), spec),
            parts=len(parts.low),
            labels=line.texts.take(order),
            part=parts.of_code[order.to_numpy()],
            missing_part=int(parts.of_code[line.missing_code]) if line.missing else -1,
        )

    def place(self, column: pa.ChunkedArray, spec: Column) -> NDArray[np.int32]:
        """The part of each value; -1 where it cannot be placed."""
        one = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
        distinct = one if pa.types.is_dictionary(one.type) else pc.dictionary_encode(one)
        parts = np.append(self._parts_of(distinct.dictionary, spec), np.int32(self.missing_part))
        indices = pc.fill_null(distinct.indices, len(distinct.dictionary)).to_numpy(zero_copy_only=False)
        return np.asarray(parts[indices], dtype=np.int32)

    def _parts_of(self, values: pa.Array, spec: Column) -> NDArray[np.int32]:
        """The part of each distinct value."""
        if len(values) == 0:
            return np.empty(0, dtype=np.int32)
        if self.kind is Kind.TREE and len(self.ends):
            group = self._below(self.edges, values) - 1
            inside = (group >= 0) & (self._below(self.ends, values, strictly=True) == group)
            return np.where(inside, self.part[group], -1).astype(np.int32)
        if self.kind is Kind.TREE:
            texts = as_text(values)
            hierarchy = self.hierarchy or build_hierarchy(
                self.name, values, texts, np.ones(len(values), dtype=np.int64), spec
            )
            return self._part_at(hierarchy.lowest_among(texts, self.labels))
        if self.kind is Kind.NOMINAL or pa.types.is_string(self.type):
            known = pc.fill_null(pc.index_in(as_text(values), value_set=self.labels), -1)
            return self._part_at(known.to_numpy(zero_copy_only=False))
        return self._below(self.edges, values)

    def _part_at(self, index: NDArray[np.integer]) -> NDArray[np.int32]:
        """The part of the label at each index, -1 for an index of -1."""
        return np.asarray(np.append(self.part, np.int32(-1))[index], dtype=np.int32)

    def _below(self, edges: pa.Array, values: pa.Array, *, strictly: bool = False) -> NDArray[np.int32]:
        """How many of the rising edges lie at or below each value (or strictly below), for any type that sorts."""
        try:
            values = values if pa.types.is_floating(values.type) else values.cast(self.type)
            together = pa.concat_arrays([edges.cast(values.type), values])
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"Column {self.name!r} holds {values.type} and the recoding was made for {self.type}."
            ) from None
        ranks = pc.rank(together, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
        first, rest = ranks[: len(edges)], ranks[len(edges) :]
        count = np.searchsorted(first, rest, side="left") if strictly else np.searchsorted(first, rest, side="right")
        return np.asarray(count, dtype=np.int32)

    def words(self, low: int, high: int) -> str:
        """A region in words: the parts from ``low`` to ``high``."""
        if low == 0 and high == self.parts - 1:
            return ROOT
        if len(self.labels) or self.kind is Kind.TREE:
            inside = (self.part >= low) & (self.part <= high)
            if len(self.labels):
                return "{" + ", ".join(self.labels.filter(pa.array(inside)).to_pylist()) + "}"
            first, last = as_text(self.edges).filter(pa.array(inside)), as_text(self.ends).filter(pa.array(inside))
            return f"{first[0]} … {last[-1]}" if len(first) else "missing"
        texts = as_text(self.edges)
        begins = "(-inf" if low == 0 else f"[{texts[low - 1]}" if low <= len(texts) else "missing"
        ends = f"{texts[high]})" if high < len(texts) else "inf)"
        return begins if begins == "missing" else f"{begins}, {ends}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as the JSON of a recoding has it."""
        return {
            "name": self.name,
            "kind": self.kind.name.lower(),
            "type": str(self.type),
            "parts": self.parts,
            "edges": to_json(self.edges),
            "ends": to_json(self.ends),
            "labels": self.labels.to_pylist(),
            "part": self.part.tolist(),
            "missing_part": self.missing_part,
            "hierarchy": None if self.hierarchy is None else self.hierarchy.to_rows(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Attribute:
        """The reverse of :meth:`to_dict`."""
        kind = type_of(data["type"])
        rows = data["hierarchy"]
        return cls(
            name=text(data["name"]),
            kind=Kind[data["kind"].upper()],
            type=kind,
            parts=whole(data["parts"]),
            edges=from_json(data["edges"], kind),
            ends=from_json(data["ends"], kind),
            labels=from_json(data["labels"], pa.string()),
            part=numbers(data["part"]),
            missing_part=whole(data["missing_part"]),
            hierarchy=None
            if rows is None
            else Hierarchy.from_rows([[text(one) for one in listed(row)] for row in listed(rows)]),
        )

    def check(self, spec: Column) -> None:
        """Refuse what does not fit together, or not to what the policy says of the column."""
        wrong = f"what it says of column {self.name!r} does not fit together"
        asked = None if spec.hierarchy is None else spec.hierarchy.kind
        texts = self.kind is Kind.NOMINAL or (self.kind is Kind.ORDERED and pa.types.is_string(self.type))
        groups = self.kind is Kind.TREE and asked == "auto"
        sound((self.kind is Kind.TREE) == (asked is not None), wrong)
        sound((self.hierarchy is not None) == (asked in ("csv", "tree")), wrong)
        sound(self.kind is not Kind.NOMINAL or pa.types.is_string(self.type), wrong)
        sound(self.parts >= 1 and -1 <= self.missing_part < self.parts, wrong)
        sound(between(self.part, 0, self.parts), wrong)
        sound(len(self.part) == len(self.edges if groups else self.labels), wrong)
        sound(len(self.ends) == (len(self.edges) if groups else 0), wrong)
        sound(not self.labels.null_count and not self.edges.null_count and not self.ends.null_count, wrong)
        if groups:
            sound(not len(self.labels) and _rise(self.edges) and _rise(self.ends), wrong)
        elif texts or self.kind is Kind.TREE:
            sound(not len(self.edges), wrong)
            sound(pc.count_distinct(self.labels).as_py() == len(self.labels), wrong)
        else:
            # Missing values may be a part of their own, after all the others.
            sound(self.parts - 1 - len(self.edges) in ((0, 1) if self.missing_part >= 0 else (0,)), wrong)
            sound(not len(self.labels) and _rise(self.edges), wrong)
        if groups or texts or self.kind is Kind.TREE:
            there = np.unique(np.append(self.part, self.missing_part))
            sound(self.parts == len(there[there >= 0]), wrong)
        as_text(self.edges), as_text(self.ends)  # in words, too


def _rise(values: pa.Array) -> bool:
    """Whether values are sorted, each greater than the one before."""
    if not len(values):
        return True
    ranks = pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False)
    return bool((np.diff(ranks.astype(np.int64)) > 0).all())

"""The recoding function φ: from any value vector to the region it lies in, and to what that region publishes.

A recoding is the tree of cuts of a global method. It keeps, per quasi-identifier, only the values at
which something was cut (and the labels of nominal and hierarchical columns, which are published
anyway): every possible value vector falls in exactly one region. ``apply`` sends unseen records there:

- an unseen number or date falls in the region around it;
- an unseen leaf of a hierarchy goes where the first known leaf under its lowest known ancestor goes;
- a value with no known ancestor below the root cannot be placed: the record is suppressed
  (``*`` in every quasi-identifier) and counted.

A new record joins its class: it shows what the class shows. With ``range`` that is the box around the
records of the release, which may not reach to the new value; ``region`` shows labels that hold for all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rothko.data.encode import Encoded, build_hierarchy
from rothko.data.hierarchy import Hierarchy
from rothko.data.line import Kind, Line, as_text
from rothko.data.schema import match, typed, written_as_text
from rothko.data.source import open_source
from rothko.errors import InputError
from rothko.methods.partition import Partition
from rothko.policy import Column, Policy
from rothko.release.publish import ROOT, Published, region_of_class

FORMAT = "rothko recoding 1"
BY_RULE = ("mask", "intervals", "breaks", "dates")
"""Hierarchies that follow from the values, also from unseen ones."""
LARGE = 10_000
"""Above this many regions the arrays go to a Parquet file beside the JSON."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One quasi-identifier of a recoding: how to tell between which cuts a value lies."""

    name: str
    kind: Kind
    type: pa.DataType
    edges: pa.Array
    """Ordered lines: the values that begin a part, rising."""
    missing_part: int
    """The part that missing values lie in."""
    labels: pa.Array
    """Nominal and tree lines, and ordinal text: the known labels."""
    parts: NDArray[np.int32]
    """The part of each label."""
    hierarchy: Hierarchy | None = None

    @classmethod
    def of(cls, line: Line, cut_codes: NDArray[np.integer], *, by_rule: bool) -> Attribute:
        """Keep of a line what its cuts need; a hierarchy that a rule makes anew is not kept."""
        codes = np.unique(cut_codes)
        labelled = line.kind is not Kind.ORDERED or pa.types.is_string(line.values.type)
        inside = codes[codes < len(line.values)]
        known = np.searchsorted(codes, np.arange(len(line.values)), side="right").astype(np.int32)
        return cls(
            name=line.name,
            kind=line.kind,
            type=line.values.type,
            edges=line.values.slice(0, 0) if labelled else line.values.take(pa.array(inside)),
            missing_part=int(np.searchsorted(codes, len(line.values), side="right")),
            labels=line.texts if labelled else pa.array([], pa.string()),
            parts=known if labelled else np.empty(0, dtype=np.int32),
            hierarchy=None if by_rule else line.hierarchy,
        )

    def place(self, column: pa.ChunkedArray, spec: Column) -> NDArray[np.int32]:
        """The part of each value; -1 where it is unknown."""
        distinct = pc.dictionary_encode(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)
        if isinstance(distinct, pa.ChunkedArray):
            distinct = distinct.combine_chunks()
        values = distinct.dictionary
        parts = self._parts_of(values, spec)
        parts = np.append(parts, np.int32(self.missing_part))
        indices = pc.fill_null(distinct.indices, len(values)).to_numpy(zero_copy_only=False)
        return np.asarray(parts[indices])

    def _parts_of(self, values: pa.Array, spec: Column) -> NDArray[np.int32]:
        """The part of each distinct value."""
        if len(self.labels) or self.kind is not Kind.ORDERED:
            texts = as_text(values)
            known = pc.fill_null(pc.index_in(texts, value_set=self.labels), -1).to_numpy(zero_copy_only=False)
            parts = np.append(self.parts, np.int32(-1))[known]
            if self.kind is Kind.TREE:
                unseen = np.flatnonzero(known < 0)
                parts[unseen] = self._parts_under(values.take(pa.array(unseen)), spec)
            return np.asarray(parts, dtype=np.int32)
        try:
            values = values if pa.types.is_floating(values.type) else values.cast(self.type)
            return _below(self.edges.cast(values.type), values)
        except pa.ArrowInvalid:
            raise InputError(
                f"Column {self.name!r} holds {values.type} and the recoding was made for {self.type}."
            ) from None

    def _parts_under(self, unseen: pa.Array, spec: Column) -> NDArray[np.int32]:
        """Where unseen leaves go: to the first known leaf under their lowest known ancestor below the root."""
        nowhere = np.full(len(unseen), -1, dtype=np.int32)
        if len(unseen) == 0 or len(self.labels) == 0:
            return nowhere
        texts = as_text(unseen)
        hierarchy = self.hierarchy
        if hierarchy is None:
            # Made by rule from the values themselves: the same rule finds the nodes above new ones.
            every = pa.concat_arrays([_from_json(self.labels.to_pylist(), unseen.type), unseen])
            hierarchy = build_hierarchy(self.name, every, as_text(every), np.ones(len(every), dtype=np.int64), spec)
        tree = hierarchy.restrict(self.labels, column=self.name, missing=False)
        leaf = hierarchy.ancestor_of(texts, tree)
        place = pc.index_in(tree.leaves, value_set=self.labels).to_numpy(zero_copy_only=False)
        return np.where(leaf >= 0, self.parts[place[np.maximum(leaf, 0)]], nowhere)


def _below(edges: pa.Array, values: pa.Array) -> NDArray[np.int32]:
    """How many edges lie at or below each value, for any type that sorts."""
    together = pa.concat_arrays([edges, values])
    ranks = pc.rank(together, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64)
    return np.asarray(np.searchsorted(ranks[: len(edges)], ranks[len(edges) :], side="right"), dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Recoding:
    """φ: the tree of cuts, and what each region publishes."""

    policy: Policy
    attributes: tuple[Attribute, ...]
    tree: Mapping[str, NDArray[np.int32]]
    """attribute, begins (as a part), child, children, leaf (the class of a leaf node, -1 for others)."""
    published: Mapping[str, tuple[Published, ...]]
    """Quasi-identifier → its published columns, by class."""
    regions: Mapping[str, Published]
    """Quasi-identifier → the region of each class in words."""

    @classmethod
    def of(
        cls, encoded: Encoded, partition: Partition, published: Mapping[str, tuple[Published, ...]], policy: Policy
    ) -> Recoding | None:
        """The recoding behind a partition; None where the method is local and has none."""
        cuts = partition.cuts
        if cuts is None:
            return None
        parent = np.full(len(cuts.attribute), -1, dtype=np.int64)
        inner = np.flatnonzero(cuts.attribute >= 0)
        for offset in range(int(cuts.children.max(initial=0))):
            has = inner[cuts.children[inner] > offset]
            parent[cuts.child[has] + offset] = has
        later = np.flatnonzero((parent >= 0) & (np.arange(len(parent)) != cuts.child[parent]))
        line_of = cuts.attribute[parent[later]]
        begins = np.zeros(len(parent), dtype=np.int32)
        attributes = []
        for i, line in enumerate(encoded.lines):
            nodes = later[line_of == i]
            codes = cuts.begins[nodes]
            spec = policy.columns[line.name].hierarchy
            attributes.append(Attribute.of(line, codes, by_rule=spec is not None and spec.kind in BY_RULE))
            begins[nodes] = np.searchsorted(np.unique(codes), codes) + 1
        leaf = np.full(len(parent), -1, dtype=np.int32)
        leaf[cuts.leaf] = np.arange(partition.classes, dtype=np.int32)
        regions = {line.name: region_of_class(line, i, partition) for i, line in enumerate(encoded.lines)}
        tree = {
            "attribute": cuts.attribute,
            "begins": begins,
            "child": cuts.child,
            "children": cuts.children,
            "leaf": leaf,
        }
        return cls(policy, tuple(attributes), tree, published, regions)

    @property
    def classes(self) -> int:
        """How many regions there are."""
        return len(next(iter(self.regions.values())).of_class)

    def rules(self) -> pa.Table:
        """One box per class: the region of each quasi-identifier in words."""
        return pa.table({name: region.values.take(pa.array(region.of_class)) for name, region in self.regions.items()})

    def place(self, table: pa.Table) -> NDArray[np.int32]:
        """The class of each record of a typed table, -1 for one that cannot be placed."""
        from rothko.kernels.descend import descend

        places = np.stack([a.place(table[a.name], self.policy.columns[a.name]) for a in self.attributes])
        # A value that is unknown cannot be vouched for, even where no cut asks for it.
        unknown = (places < 0).any(axis=0)
        out = np.empty(table.num_rows, dtype=np.int32)
        t = self.tree
        descend(places, t["attribute"], t["begins"], t["child"], t["children"], t["leaf"], out)
        out[unknown] = -1
        return out

    def apply(self, data: Any) -> Any:
        """Recode unseen records: the same kind of table comes back, row for row, with identifiers dropped.

        Records that cannot be placed show ``*`` in every quasi-identifier.
        """
        source = open_source(data)
        table, _ = self.apply_table(source.read(as_text=written_as_text(self.policy)), source.label)
        return source.restore(table)

    def apply_table(self, table: pa.Table, label: str = "the table") -> tuple[pa.Table, int]:
        """The recoded rows of an Arrow table, and how many of them had to be suppressed."""
        match(table.column_names, self.policy, label)
        quasi = self.policy.quasi_identifiers
        classes = self.place(typed(table, self.policy))
        lost = classes < 0
        columns: dict[str, Any] = {}
        for name in table.column_names:
            if name in quasi:
                for column in self.published[name]:
                    columns[column.name] = _shown(column, classes)
            elif name not in self.policy.identifiers:
                columns[name] = table[name]
        return pa.table(columns), int(lost.sum())

    def save(self, path: str | Path) -> None:
        """Write the recoding as JSON; large ones keep their arrays in a Parquet file beside it."""
        path = Path(path)
        for target, content in self.files(path).items():
            if isinstance(content, pa.Table):
                pq.write_table(content, target)
            else:
                target.write_text(content, encoding="utf-8")

    def files(self, path: Path) -> dict[Path, str | pa.Table]:
        """What :meth:`save` writes: path → JSON text or table."""
        large = self.classes > LARGE
        head: dict[str, Any] = {
            "format": FORMAT,
            "policy": self.policy.dump(),
            "classes": self.classes,
            "attributes": [_attribute_to_dict(attribute) for attribute in self.attributes],
            "published": {
                name: [{"column": c.name, "type": str(c.values.type), "values": _to_json(c.values)} for c in columns]
                for name, columns in self.published.items()
            },
        }
        shown = {f"{name}/{c.name}": c.of_class for name, columns in self.published.items() for c in columns}
        if not large:
            head["tree"] = {key: array.tolist() for key, array in self.tree.items()}
            head["shown"] = {key: array.tolist() for key, array in shown.items()}
            head["rules"] = self.rules().to_pylist()
            return {path: json.dumps(head, ensure_ascii=False, indent=1)}
        nodes = path.with_suffix(".tree.parquet")
        rules = path.with_suffix(".rules.parquet")
        head["tree"], head["rules"] = nodes.name, rules.name
        table = self.rules()
        for key, array in shown.items():
            table = table.append_column(f"shown {key}", pa.array(array))
        return {path: json.dumps(head, ensure_ascii=False), nodes: pa.table(dict(self.tree)), rules: table}

    @classmethod
    def load(cls, path: str | Path) -> Recoding:
        """Read a recoding that :meth:`save` wrote."""
        path = Path(path)
        try:
            head = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"There is no file {str(path)!r}.") from None
        except (OSError, UnicodeDecodeError, json.JSONDecodeError):
            raise InputError(f"{path.name} is not a recoding: it cannot be read as JSON.") from None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise InputError(f"{path.name} is not a recoding of this version ({FORMAT!r}).")
        try:
            return cls._from_dict(head, path.parent)
        except (KeyError, ValueError, TypeError, OSError, pa.ArrowException):
            raise InputError(f"{path.name} is damaged, or a file that belongs to it is missing.") from None

    @classmethod
    def _from_dict(cls, head: dict[str, Any], folder: Path) -> Recoding:
        if isinstance(head["tree"], str):
            nodes = pq.read_table(folder / head["tree"])
            tree = {name: nodes[name].to_numpy() for name in nodes.column_names}
            rules = pq.read_table(folder / head["rules"])
            shown = {
                n.removeprefix("shown "): rules[n].to_numpy() for n in rules.column_names if n.startswith("shown ")
            }
            words = {name: rules[name].combine_chunks() for name in head["published"]}
        else:
            tree = {key: np.array(values, dtype=np.int32) for key, values in head["tree"].items()}
            shown = {key: np.array(values, dtype=np.int32) for key, values in head["shown"].items()}
            words = {name: pa.array([rule[name] for rule in head["rules"]], pa.string()) for name in head["published"]}
        published = {
            name: tuple(
                Published(c["column"], _from_json(c["values"], _type(c["type"])), shown[f"{name}/{c['column']}"])
                for c in columns
            )
            for name, columns in head["published"].items()
        }
        attributes = tuple(_attribute_from_dict(a) for a in head["attributes"])
        regions = {}
        for name, column in words.items():
            distinct = pc.dictionary_encode(column, null_encoding="encode")
            regions[name] = Published(name, distinct.dictionary, distinct.indices.to_numpy())
        return cls(Policy.parse(head["policy"]), attributes, tree, published, regions)


def _shown(column: Published, classes: NDArray[np.int32]) -> pa.Array:
    """What each record shows; the root, or nothing where the form is a number, for a suppressed one."""
    kind = column.values.type
    values = pa.concat_arrays([column.values, pa.array([ROOT if pa.types.is_string(kind) else None], kind)])
    indices = np.append(column.of_class, np.int32(len(column.values)))[classes]
    return values.take(pa.array(indices))


def _attribute_to_dict(attribute: Attribute) -> dict[str, Any]:
    return {
        "name": attribute.name,
        "kind": attribute.kind.name.lower(),
        "type": str(attribute.type),
        "edges": _to_json(attribute.edges),
        "missing_part": attribute.missing_part,
        "labels": attribute.labels.to_pylist(),
        "parts": attribute.parts.tolist(),
        "hierarchy": None if attribute.hierarchy is None else attribute.hierarchy.to_rows(),
    }


def _attribute_from_dict(data: dict[str, Any]) -> Attribute:
    kind = _type(data["type"])
    return Attribute(
        name=data["name"],
        kind=Kind[data["kind"].upper()],
        type=kind,
        edges=_from_json(data["edges"], kind),
        missing_part=data["missing_part"],
        labels=pa.array(data["labels"], pa.string()),
        parts=np.array(data["parts"], dtype=np.int32),
        hierarchy=None if data["hierarchy"] is None else Hierarchy.from_rows(data["hierarchy"]),
    )


def _to_json(values: pa.Array) -> list[Any]:
    """Numbers as numbers, everything else as text."""
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_string(values.type):
        listed: list[Any] = values.to_pylist()
        return listed
    texts: list[Any] = as_text(values).to_pylist()
    return texts


def _from_json(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_string(kind):
        return pa.array(values, kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if v is None else v == "true" for v in values], kind)
    return pa.array(values, pa.string()).cast(kind)


def _type(text: str) -> pa.DataType:
    """An Arrow type from its own name.

    >>> _type("timestamp[us, tz=UTC]"), _type("decimal128(5, 2)"), _type("date32[day]")
    (TimestampType(timestamp[us, tz=UTC]), Decimal128Type(decimal128(5, 2)), DataType(date32[day]))
    """
    name, _, rest = text.replace("(", "[").rstrip(")]").partition("[")
    parts = [part.strip() for part in rest.split(",")] if rest else []
    if name == "timestamp":
        return pa.timestamp(parts[0], tz=parts[1].removeprefix("tz=") if len(parts) > 1 else None)
    if name in ("time32", "time64"):
        return {"time32": pa.time32, "time64": pa.time64}[name](parts[0])
    if name.startswith("decimal"):
        return getattr(pa, name)(int(parts[0]), int(parts[1]))
    return pa.type_for_alias({"double": "float64", "float": "float32"}.get(name, name))

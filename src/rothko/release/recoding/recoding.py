"""The recoding function φ: from any value vector to the region it lies in, and to what that region publishes.

A recoding is the tree of cuts of a global method. Per quasi-identifier it keeps only what tells between
which cuts a value lies: the values at which an ordered line was cut, the labels of a nominal one (its sets
list them all), the highest nodes of a hierarchy that no cut divides. Every possible value vector falls in
exactly one region. ``apply`` sends unseen records there:

- an unseen number or date falls in the region around it;
- an unseen leaf of a hierarchy goes with the node above it;
- a value with no such node above it, a label that was not there, and a missing value where there was none
  cannot be placed: the record is suppressed (``*`` in every quasi-identifier) and counted.

A new record joins its class: it shows what the class shows. With ``range`` that is the box around the
records of the release, which may not reach to the new value; ``region`` shows labels that hold for all.

A method that treats every column by itself has a recoding of another form: :mod:`rothko.release.recoding.columns`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rothko import json_text
from rothko.data.encode import Encoded, build_hierarchy
from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.line import Kind, Line, as_text
from rothko.data.schema import match, written_as_text
from rothko.data.source.open import open_source
from rothko.data.typed import typed
from rothko.errors import InputError, PolicyError, RothkoError
from rothko.methods.classes import Cuts, TreeClasses
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.release.place import claim_files, large_files, recoding_file
from rothko.release.publish import ROOT, Published
from rothko.release.rebuilt import rebuilt
from rothko.release.recoding.checks import (
    DamageError,
    check_attributes,
    check_published,
    check_tree,
    listed,
    numbers,
    sound,
    text,
    whole,
)
from rothko.release.staging import staging
from rothko.release.write import Content

FORMAT = "rothko recoding 1"
LARGE = 10_000
"""Above this many regions the arrays go to Parquet files beside the JSON."""


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


@dataclass(frozen=True, slots=True)
class Recoding:
    """φ: the tree of cuts, and what each region publishes."""

    policy: Policy = field(repr=False)
    attributes: tuple[Attribute, ...]
    tree: Mapping[str, NDArray[np.int32]] = field(repr=False)
    """attribute, begins (as a part), child, children, leaf (the class of a leaf node, -1 for others)."""
    published: Mapping[str, tuple[Published, ...]] = field(repr=False)
    """Quasi-identifier → its published columns, by class."""

    @classmethod
    def of(
        cls, encoded: Encoded, partition: TreeClasses, published: Mapping[str, Sequence[Published]], policy: Policy
    ) -> Recoding:
        """The recoding behind classes that a tree of cuts made."""
        cuts = partition.cuts
        later, line_of = begin_at(cuts)
        begins = np.zeros(len(cuts.attribute), dtype=np.int32)
        attributes = []
        for i, line in enumerate(encoded.lines):
            nodes = later[line_of == i]
            codes = cuts.begins[nodes]
            attributes.append(Attribute.of(line, codes, policy.columns[line.name]))
            begins[nodes] = np.searchsorted(np.unique(codes), codes) + 1
        leaf = np.full(len(begins), -1, dtype=np.int32)
        leaf[cuts.leaf] = np.arange(partition.classes, dtype=np.int32)
        tree = {
            "attribute": cuts.attribute,
            "begins": begins,
            "child": cuts.child,
            "children": cuts.children,
            "leaf": leaf,
        }
        return cls(policy, tuple(attributes), tree, {name: tuple(shown) for name, shown in published.items()})

    @property
    def classes(self) -> int:
        """How many regions there are."""
        return int(np.count_nonzero(self.tree["leaf"] >= 0))

    @property
    def regions(self) -> int:
        """How many regions there are for new records; each is that of a class."""
        return self.classes

    def rules(self) -> pa.Table:
        """One box per class: the region of each quasi-identifier in words."""
        from rothko.kernels.mondrian.nodes import regions

        t = self.tree
        sizes = np.array([attribute.parts for attribute in self.attributes], dtype=np.int32)
        low, high = regions(t["attribute"], t["begins"], t["child"], t["children"], np.zeros_like(sizes), sizes - 1)
        leaves = np.flatnonzero(t["leaf"] >= 0)
        leaves = leaves[np.argsort(t["leaf"][leaves])]
        columns = {}
        for i, attribute in enumerate(self.attributes):
            pairs, of_class = np.unique(np.stack([low[leaves, i], high[leaves, i]]), axis=1, return_inverse=True)
            words = pa.array([attribute.words(a, b) for a, b in pairs.T.tolist()], pa.string())
            columns[attribute.name] = words.take(pa.array(of_class.ravel()))
        return pa.table(columns)

    def place(self, table: pa.Table) -> NDArray[np.int32]:
        """The class of each record of a typed table, -1 for one that cannot be placed."""
        from rothko.kernels.mondrian.descend import descend

        places = np.stack([a.place(table[a.name], self.policy.columns[a.name]) for a in self.attributes])
        out = np.empty(table.num_rows, dtype=np.int32)
        t = self.tree
        descend(places, t["attribute"], t["begins"], t["child"], t["children"], t["leaf"], out)
        # A value that is unknown cannot be vouched for, even where no cut asks for it.
        out[(places < 0).any(axis=0)] = -1
        return out

    def apply(self, data: Any) -> Any:
        """Recode unseen records: the same kind of table comes back, row for row, with identifiers dropped.

        Records that cannot be placed show ``*`` in every quasi-identifier.
        """
        source = open_source(data, asked=self.policy.columns)
        table, _ = self.apply_table(source.read(as_text=written_as_text(self.policy)), source.label)
        return source.restore(pa.table({name: rebuilt(column) for name, column in columns_of(table)}))

    def apply_table(self, table: pa.Table, label: str = "the table") -> tuple[pa.Table, int]:
        """The recoded rows of an Arrow table, and how many of them had to be suppressed."""
        match(table.column_names, self.policy, label)
        classes = self.place(typed(table, self.policy))
        columns: dict[str, Any] = {}
        for name in table.column_names:
            if name in self.published:
                columns |= {column.name: shown_as(column, classes) for column in self.published[name]}
            elif name not in self.policy.identifiers:
                columns[name] = table[name]
        return pa.table(columns), int(np.count_nonzero(classes < 0))

    def to_sql(self, table: str = "records") -> str:
        """The recoding as an SQL query; see :meth:`rothko.release.recoding.columns.ColumnRecoding.to_sql`."""
        raise PolicyError(self._not_by_column("SQL"))

    def to_hierarchies(self, folder: str | Path, data: Any) -> list[Path]:
        """Hierarchies; see :meth:`rothko.release.recoding.columns.ColumnRecoding.to_hierarchies`."""
        raise PolicyError(self._not_by_column("hierarchies"))

    def _not_by_column(self, what: str) -> str:
        return (
            f"a recoding by {self.policy.method.name} looks at several columns at once and cannot be written as "
            f"{what}; use refine, whose recoding is one function per column."
        )

    def save(self, path: str | Path) -> None:
        """Write the recoding as JSON; large ones keep their arrays in Parquet files beside it.

        Nobody else can read the files: a recoding is not for publication.
        """
        files = self.files(Path(path))
        with staging(claim_files(files, overwrite=True)) as stage:
            for target, content in files.items():
                stage.write_hidden(target, content)
            stage.commit()

    def files(self, path: Path) -> dict[Path, Content]:
        """What :meth:`save` writes: path → JSON text or table."""
        about = head(self.policy, self.classes, self.attributes)
        if self.classes <= LARGE:
            about["tree"] = {key: array.tolist() for key, array in self.tree.items()}
            about["published"] = {
                name: [
                    {
                        "column": c.name,
                        "type": str(c.values.type),
                        "values": to_json(c.values),
                        "of_class": c.of_class.tolist(),
                    }
                    for c in columns
                ]
                for name, columns in self.published.items()
            }
            about["rules"] = self.rules().to_pylist()
            return {path: json_text.dump(about)}
        nodes, shown = large_files(path)
        about["tree"] = nodes.name
        about["published"] = {
            name: [{"column": c.name, "type": str(c.values.type), "file": shown.name} for c in columns]
            for name, columns in self.published.items()
        }
        columns = {c.name: c.by() for columns in self.published.values() for c in columns}
        return {
            path: json_text.dump(about, indent=None),
            nodes: pa.table(dict(self.tree)),
            shown: pa.table(columns),
        }

    @classmethod
    def load(cls, path: str | Path) -> Recoding:
        """Read a recoding that :meth:`save` wrote, from its JSON file or from the folder that it lies in."""
        path = recoding_file(Path(path))
        try:
            head = json_text.parse(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise InputError(f"There is no file {str(path)!r}.") from None
        except (OSError, ValueError):
            raise InputError(f"{path.name} is not a recoding: it cannot be read as JSON.") from None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise InputError(f"{path.name} is not a recoding of this version ({FORMAT!r}).")
        try:
            if "kind" in head:
                from rothko.release.recoding.columns import ColumnRecoding

                return ColumnRecoding.from_dict(head, path)
            return cls._from_dict(head, path)
        except DamageError as damage:
            raise InputError(f"{path.name} is damaged: {damage}.") from None
        except (
            LookupError,
            ValueError,
            TypeError,
            AttributeError,
            OverflowError,
            OSError,
            RothkoError,
            pa.ArrowException,
        ):
            raise InputError(f"{path.name} is damaged, or a file that belongs to it is missing.") from None

    @classmethod
    def _from_dict(cls, head: dict[str, Any], path: Path) -> Recoding:
        large = isinstance(head["tree"], str)
        nodes, shown = large_files(path)
        tree = {name: numbers(array) for name, array in (read_columns(nodes) if large else head["tree"]).items()}
        table = read_columns(shown) if large else {}

        def read(column: dict[str, Any]) -> Published:
            if not large:
                return published_from_dict(column, "of_class")
            return by_class(text(column["column"]), table[column["column"]].cast(type_of(column["type"])))

        published = {name: tuple(map(read, listed(columns))) for name, columns in head["published"].items()}
        policy, attributes = head_from_dict(head)
        classes = check_tree(tree, [attribute.parts for attribute in attributes])
        sound(whole(head["classes"]) == classes, "it has another number of classes than it says")
        check_published(published, {attribute.name: classes for attribute in attributes}, policy)
        return cls(policy, attributes, tree, published)


def copied(stored: Path, path: Path) -> dict[Path, Content]:
    """What a stored recoding consists of under another name: path → JSON text or table, never whole in memory."""
    about = json_text.parse(stored.read_text(encoding="utf-8"))
    if not isinstance(about["tree"], str):
        return {path: stored.read_text(encoding="utf-8")}
    about["tree"] = large_files(path)[0].name
    for columns in about["published"].values():
        for column in columns:
            column["file"] = large_files(path)[1].name
    files: dict[Path, Content] = {path: json_text.dump(about, indent=None)}
    for old, new in zip(large_files(stored), large_files(path), strict=True):
        file = pq.ParquetFile(old)
        files[new] = pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches())
    return files


def head(policy: Policy, classes: int, attributes: Iterable[Attribute]) -> dict[str, Any]:
    """What the JSON of a recoding has beside the tree and what its classes publish."""
    return {
        "format": FORMAT,
        # Its hash is public: without it a guess at a small recoding could be confirmed.
        "salt": secrets.token_hex(16),
        "policy": policy.dump(),
        "classes": classes,
        "attributes": [_attribute_to_dict(attribute) for attribute in attributes],
    }


def head_from_dict(about: dict[str, Any]) -> tuple[Policy, tuple[Attribute, ...]]:
    """The policy and the quasi-identifiers that :func:`head` wrote."""
    policy = Policy.parse(text(about["policy"]))
    attributes = tuple(map(attribute_from_dict, listed(about["attributes"])))
    check_attributes(attributes, policy)
    return policy, attributes


def published_from_dict(column: dict[str, Any], of: str) -> Published:
    """A published column from what the JSON of a recoding has of it; ``of`` names what shows its values."""
    values = from_json(column["values"], type_of(column["type"]))
    return Published(text(column["column"]), values, numbers(column[of]))


def read_columns(path: Path) -> dict[str, pa.ChunkedArray]:
    """The columns of a Parquet file beside the JSON, every byte of which is looked at."""
    table = pq.read_table(path, page_checksum_verification=True, partitioning=None)
    table.validate(full=True)
    return dict(columns_of(table))


def begin_at(cuts: Cuts) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The nodes that begin at a code of their own, which are all parts of a cut but the first, and on which line."""
    inner = np.flatnonzero(cuts.attribute >= 0)
    times = cuts.children[inner].astype(np.int64)
    later = np.repeat(cuts.child[inner] + 1, times - 1) + _counting(times - 1)
    return later, np.repeat(cuts.attribute[inner], times - 1)


def by_class(name: str, column: pa.ChunkedArray) -> Published:
    """A published column from what it shows of each class."""
    distinct = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    return Published(name, distinct.dictionary, distinct.indices.to_numpy())


def columns_of(table: pa.Table) -> list[tuple[str, pa.ChunkedArray]]:
    """Names and columns of a table."""
    return list(zip(table.column_names, table.columns, strict=True))


def _counting(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 … n − 1 for each n, one after the other.

    >>> _counting(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)


def shown_as(column: Published, classes: NDArray[np.int32]) -> pa.Array:
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
        "parts": attribute.parts,
        "edges": to_json(attribute.edges),
        "ends": to_json(attribute.ends),
        "labels": attribute.labels.to_pylist(),
        "part": attribute.part.tolist(),
        "missing_part": attribute.missing_part,
        "hierarchy": None if attribute.hierarchy is None else attribute.hierarchy.to_rows(),
    }


def attribute_from_dict(data: dict[str, Any]) -> Attribute:
    """A quasi-identifier from what the JSON of a recoding has of it."""
    kind = type_of(data["type"])
    rows = data["hierarchy"]
    return Attribute(
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


def to_json(values: pa.Array) -> list[Any]:
    """Numbers as numbers, everything else as text; and so are numbers that JSON does not have.

    >>> to_json(pa.array([-math.inf, 0.5]))
    ['-inf', 0.5]
    """
    plain = pa.types.is_integer(values.type) or pa.types.is_floating(values.type) or pa.types.is_string(values.type)
    found: list[Any] = (values if plain else as_text(values)).to_pylist()
    if pa.types.is_floating(values.type):
        return [one if one is None or math.isfinite(one) else str(one) for one in found]
    return found


def from_json(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The reverse of :func:`to_json`."""
    if pa.types.is_floating(kind):
        return pa.array([float(one) if one in ("inf", "-inf", "nan") else one for one in listed(values)], kind)
    listed(values)
    if pa.types.is_integer(kind) or pa.types.is_string(kind):
        return pa.array(values, kind)
    if pa.types.is_boolean(kind):
        return pa.array([None if v is None else v == "true" for v in values], kind)
    return pa.array(values, pa.string()).cast(kind)


def type_of(name: str) -> pa.DataType:
    """An Arrow type from its own name.

    >>> type_of("timestamp[us, tz=UTC]"), type_of("decimal128(5, 2)"), type_of("date32[day]")
    (TimestampType(timestamp[us, tz=UTC]), Decimal128Type(decimal128(5, 2)), DataType(date32[day]))
    """
    name, _, rest = text(name).replace("(", "[").rstrip(")]").partition("[")
    parts = [part.strip() for part in rest.split(",")] if rest else []
    if name == "timestamp":
        return pa.timestamp(parts[0], tz=parts[1].removeprefix("tz=") if len(parts) > 1 else None)
    if name in ("time32", "time64"):
        return {"time32": pa.time32, "time64": pa.time64}[name](parts[0])
    if name.startswith("decimal"):
        return getattr(pa, name)(int(parts[0]), int(parts[1]))
    return pa.type_for_alias({"double": "float64", "float": "float32"}.get(name, name))

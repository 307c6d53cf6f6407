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

A method that treats every column by itself has a recoding of another form: :class:`ColumnRecoding`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko import json_text
from rothko.data.encode import Encoded
from rothko.data.schema import columns_read, match, written_as_text
from rothko.data.source.source import Source
from rothko.data.typed import typed
from rothko.errors import InputError, PolicyError, RothkoError
from rothko.methods.classes import ColumnClasses, Cuts, TreeClasses
from rothko.policy.opened import opened
from rothko.policy.policy import Policy
from rothko.release.claims import claim_files
from rothko.release.names import LARGE_ENDINGS, large_files, recoding_file
from rothko.release.publish import Published
from rothko.release.rebuilt import rebuilt
from rothko.release.recoding.attribute import Attribute
from rothko.release.recoding.checks import (
    AbsentError,
    DamageError,
    check_published,
    check_shown,
    check_tree,
    listed,
    numbers,
    sound,
    text,
    whole,
)
from rothko.release.recoding.document import (
    FORMAT,
    files_beside,
    head,
    head_from_dict,
    published_from_dict,
    published_to_dict,
    read_columns,
    shown_as,
)
from rothko.release.recoding.hierarchies import write_hierarchies
from rothko.release.recoding.query import column_query, tree_query, tree_rules
from rothko.release.recoding.values import type_of
from rothko.release.rows import columns_of
from rothko.release.staging import staging
from rothko.release.write import Content

KIND = "columns"
"""What the JSON says of a recoding by column."""
LARGE = 10_000
"""Above this many regions the arrays go to Parquet files beside the JSON."""


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
        columns = {}
        for attribute, reach in zip(self.attributes, self.reach(), strict=True):
            pairs, of_class = np.unique(np.stack(reach), axis=1, return_inverse=True)
            words = pa.array([attribute.words(a, b) for a, b in pairs.T.tolist()], pa.string())
            columns[attribute.name] = words.take(pa.array(of_class.ravel()))
        return pa.table(columns)

    def reach(self) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Of each quasi-identifier the first and the last part that the region of each class reaches over."""
        leaves = np.flatnonzero(self.tree["leaf"] >= 0)
        leaves = leaves[np.argsort(self.tree["leaf"][leaves])]
        low, high = self._regions()
        return list(zip(low[leaves].T, high[leaves].T, strict=True))

    def _regions(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """(nodes, quasi-identifiers): the first and the last part that each node of the tree reaches over."""
        from rothko.kernels.mondrian.nodes import regions

        t = self.tree
        sizes = np.array([attribute.parts for attribute in self.attributes], dtype=np.int32)
        low, high = regions(t["attribute"], t["begins"], t["child"], t["children"], np.zeros_like(sizes), sizes - 1)
        return low, high

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
        source = opened(data, self.policy)
        table, _ = self.apply_table(source.read(self.reads(source), as_text=written_as_text(self.policy)))
        return source.restore(pa.table({name: rebuilt(column) for name, column in columns_of(table)}))

    def reads(self, source: Source) -> tuple[str, ...]:
        """The columns of unseen records that are read, identifiers not; an error where others are there than were."""
        match(source.names, self.policy, source.label)
        return columns_read(source.names, self.policy)

    def apply_table(self, table: pa.Table) -> tuple[pa.Table, int]:
        """The recoded rows of an Arrow table, and how many of them had to be suppressed."""
        found = self._shown_to(typed(table, self.policy))
        columns: dict[str, Any] = {}
        for name in table.column_names:
            if name in found:
                columns |= {column.name: shown_as(column, found[name]) for column in self.published[name]}
            elif name not in self.policy.identifiers:
                columns[name] = table[name]
        return pa.table(columns), int(np.count_nonzero(next(iter(found.values())) < 0))

    def _shown_to(self, table: pa.Table) -> dict[str, NDArray[np.int32]]:
        """Quasi-identifier → which of what it publishes each record shows; -1 for one that is suppressed."""
        return dict.fromkeys(self.published, self.place(table))

    def to_sql(self, table: str = "records", *, rules: str = "rules") -> str:
        """A query that recodes the records of an SQL table as :meth:`apply` does, for DuckDB and PostgreSQL.

        Columns must have the types that the policy and the data gave them: numbers as numbers, dates as dates. Up to
        200 regions are a ``CASE`` in a ``CASE``; for more the query joins with a table of rules, which
        :meth:`sql_rules` gives.

        Parameters
        ----------
        table
            What the query calls the table.
        rules
            What it calls the table of rules.
        """
        return tree_query(self.attributes, self.tree, self.published, self.policy, table, rules)

    def sql_rules(self) -> pa.Table:
        """The table of rules that the query of :meth:`to_sql` joins with, where there are more than 200 regions.

        Like the recoding itself, it is not for publication.
        """
        return tree_rules(self.tree, *self._regions(), self.published)

    def to_hierarchies(self, folder: str | Path, data: Any) -> list[Path]:
        """Hierarchies; see :meth:`ColumnRecoding.to_hierarchies`."""
        raise PolicyError(
            f"a recoding by {self.policy.method.name} looks at several columns at once and cannot be written as "
            "hierarchies; use refine, whose recoding is one function per column."
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
            about["published"] = published_to_dict(self.published, "of_class")
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
            one = path.name.endswith(LARGE_ENDINGS)
            hint = " It is one of several files of a recoding: give the .json file, or their folder." if one else ""
            raise InputError(f"{path.name} is not a recoding: it cannot be read as JSON.{hint}") from None
        if not isinstance(head, dict) or head.get("format") != FORMAT:
            raise InputError(f"{path.name} is not a recoding of this version ({FORMAT!r}).")
        try:
            if "kind" in head:
                return ColumnRecoding.from_dict(head, path)
            return cls._from_dict(head, path)
        except AbsentError as absent:
            raise InputError(f"{path.name} {absent}.") from None
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
            raise InputError(f"{path.name}, or a file that belongs to it, is damaged.") from None

    @classmethod
    def _from_dict(cls, head: dict[str, Any], path: Path) -> Recoding:
        large = isinstance(head["tree"], str)
        nodes, table = head["tree"], {}
        if large:
            [shown] = {column["file"] for columns in head["published"].values() for column in columns}
            nodes, table = map(read_columns, files_beside(path, head["tree"], shown))
        tree = {name: numbers(array) for name, array in nodes.items()}

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


@dataclass(frozen=True, slots=True)
class ColumnRecoding(Recoding):
    """φ of a method that treats every quasi-identifier by itself: what every part of every one shows.

    A value shows the same wherever it stands, so φ is a table per column, which can be said in SQL and as hierarchies
    that other tools read. A new record may show a combination of parts that no record of the release shows; it is
    published as any other, and ``rothko apply`` tells how many records the smallest class of the new file has.

    ``tree`` has one array, ``shown``: (classes, quasi-identifiers), the parts of each class of the release.
    ``published`` is by part, and not by class.
    """

    @classmethod
    def of_columns(
        cls, encoded: Encoded, partition: ColumnClasses, published: Mapping[str, Sequence[Published]], policy: Policy
    ) -> ColumnRecoding:
        """The recoding behind a partition that treats every line by itself."""
        attributes, columns = [], {}
        for line, parts in zip(encoded.lines, partition.parts, strict=True):
            attributes.append(Attribute.of_parts(line, parts, policy.columns[line.name]))
            # Some class shows each part: the parts of a line are those of its records.
            of_part = np.empty(len(parts.low), dtype=np.int64)
            of_part[parts.of_class] = np.arange(partition.classes)
            columns[line.name] = tuple(
                replace(column, of_class=column.of_class[of_part]) for column in published[line.name]
            )
        shown = np.stack([parts.of_class for parts in partition.parts], axis=1)
        return cls(policy, tuple(attributes), {"shown": shown}, columns)

    @property
    def classes(self) -> int:
        """How many combinations the release shows."""
        return len(self.tree["shown"])

    @property
    def regions(self) -> int:
        """How many combinations there could be."""
        return math.prod(attribute.parts for attribute in self.attributes)

    def rules(self) -> pa.Table:
        """One box per class: the region of each quasi-identifier in words."""
        columns = {}
        for i, attribute in enumerate(self.attributes):
            words = pa.array([attribute.words(part, part) for part in range(attribute.parts)], pa.string())
            columns[attribute.name] = words.take(pa.array(self.tree["shown"][:, i]))
        return pa.table(columns)

    def reach(self) -> list[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Of each quasi-identifier its parts, each by itself."""
        alone = [np.arange(attribute.parts, dtype=np.int32) for attribute in self.attributes]
        return list(zip(alone, alone, strict=True))

    def parts(self, table: pa.Table) -> NDArray[np.int32]:
        """(quasi-identifiers, records) of a typed table: the part of each value; -1 throughout where one is unknown."""
        found = np.stack([a.place(table[a.name], self.policy.columns[a.name]) for a in self.attributes])
        # A value that is unknown cannot be vouched for, and the others beside it would tell the record apart.
        found[:, (found < 0).any(axis=0)] = -1
        return found

    def place(self, table: pa.Table) -> NDArray[np.int32]:
        """The class of the release that each record of a typed table joins, -1 for one that joins none."""
        found, shown = self.parts(table), self.tree["shown"]
        together = np.concatenate([shown.T, found], axis=1)
        _, place = np.unique(together, axis=1, return_inverse=True)
        place = place.ravel()
        number = np.full(int(place.max(initial=0)) + 1, -1, dtype=np.int32)
        number[place[: len(shown)]] = np.arange(len(shown), dtype=np.int32)
        return np.asarray(number[place[len(shown) :]], dtype=np.int32)

    def _shown_to(self, table: pa.Table) -> dict[str, NDArray[np.int32]]:
        return dict(zip((attribute.name for attribute in self.attributes), self.parts(table), strict=True))

    def files(self, path: Path) -> dict[Path, Content]:
        """What :meth:`save` writes: path → JSON text or table."""
        shown = self.tree["shown"]
        if self.classes <= LARGE:
            return {path: json_text.dump(self._about(self.classes) | {"shown": shown.tolist()})}
        return self.large_files(
            path, self.classes, pa.table({a.name: shown[:, i] for i, a in enumerate(self.attributes)})
        )

    def large_files(self, path: Path, classes: int, shown: Content) -> dict[Path, Content]:
        """The same with as many classes as are given, whatever it holds itself: a column for each quasi-identifier."""
        beside = large_files(path)[1]
        return {path: json_text.dump(self._about(classes) | {"shown": beside.name}, indent=None), beside: shown}

    def _about(self, classes: int) -> dict[str, Any]:
        published = published_to_dict(self.published, "of_part")
        return {**head(self.policy, classes, self.attributes), "kind": KIND, "published": published}

    @classmethod
    def from_dict(cls, about: dict[str, Any], path: Path) -> ColumnRecoding:
        """Read what :meth:`files` wrote."""
        sound(about["kind"] == KIND, "it is of a kind that this version does not know")
        policy, attributes = head_from_dict(about)
        if isinstance(about["shown"], str):
            [beside] = files_beside(path, about["shown"])
            table = read_columns(beside)
            shown = np.stack([numbers(table[attribute.name]) for attribute in attributes], axis=1)
        else:
            rows = [listed(row) for row in listed(about["shown"])]
            sound(rows and all(len(row) == len(attributes) for row in rows), "its classes show other columns")
            shown = numbers([part for row in rows for part in row]).reshape(len(rows), len(attributes))
        sound(whole(about["classes"]) == len(shown), "it has another number of classes than it says")
        published = {
            name: tuple(published_from_dict(column, "of_part") for column in listed(columns))
            for name, columns in about["published"].items()
        }
        parts = {attribute.name: attribute.parts for attribute in attributes}
        check_shown(shown, parts.values())
        check_published(published, parts, policy)
        return cls(policy, attributes, {"shown": shown}, published)

    def to_sql(self, table: str = "records", *, rules: str = "rules") -> str:
        """A query that recodes the records of an SQL table as :meth:`apply` does, by a ``CASE`` for every column.

        For DuckDB and PostgreSQL; see :meth:`Recoding.to_sql`. There are no rules to join with.
        """
        return column_query(self.attributes, self.published, self.policy, table)

    def sql_rules(self) -> pa.Table:
        """No rules: the query says all by itself."""
        raise PolicyError("a recoding by column is a CASE for every column in SQL, and needs no table of rules.")

    def to_hierarchies(self, folder: str | Path, data: Any) -> list[Path]:
        """Write a hierarchy per quasi-identifier for the values of a table, in the form of ARX: value;shown;*.

        Parameters
        ----------
        folder
            Gets a file ``column.csv`` for each quasi-identifier; it is made where there is none.
        data
            The table whose values are listed: the recoding itself keeps only what divides them.
        """
        return write_hierarchies(self.attributes, self.published, self.policy, Path(folder), data)


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


def _counting(times: NDArray[np.int64]) -> NDArray[np.int64]:
    """0 … n − 1 for each n, one after the other.

    >>> _counting(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(int(times.sum())) - np.repeat(np.cumsum(times) - times, times)

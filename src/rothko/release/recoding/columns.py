"""The recoding of a method that treats every quasi-identifier by itself: φ is one function per column.

A value shows the same wherever it stands, so the recoding is a table per column: which part a value belongs to, and
what the part shows. It can be said in SQL (:meth:`ColumnRecoding.to_sql`) and as hierarchies that other tools read
(:meth:`ColumnRecoding.to_hierarchies`).

A new record may show a combination of parts that no record of the release shows. It is published as any other;
``rothko apply`` tells how many records the smallest class of the new file has.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko import json_text
from rothko.data.encode import Encoded
from rothko.data.line import Kind, Line, as_text
from rothko.data.schema import written_as_text
from rothko.data.source.open import open_source
from rothko.data.typed import typed
from rothko.methods.classes import ColumnClasses, Parts
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.release.place import large_files
from rothko.release.publish import ROOT, Published
from rothko.release.recoding import recoding
from rothko.release.recoding.attribute import Attribute
from rothko.release.recoding.checks import check_published, check_shown, listed, numbers, sound, whole
from rothko.release.recoding.column_sql import condition, value_of
from rothko.release.recoding.document import (
    head,
    head_from_dict,
    published_from_dict,
    published_to_dict,
    read_columns,
)
from rothko.release.recoding.recoding import Recoding
from rothko.release.sql import name_of
from rothko.release.write import Content

KIND = "columns"
"""What the JSON says of such a recoding."""


@dataclass(frozen=True, slots=True)
class ColumnRecoding(Recoding):
    """φ: what every part of every quasi-identifier shows.

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
            attributes.append(_attribute(line, parts, policy.columns[line.name]))
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
        about = {**head(self.policy, self.classes, self.attributes), "kind": KIND}
        about["published"] = published_to_dict(self.published, "of_part")
        shown = self.tree["shown"]
        if self.classes <= recoding.LARGE:
            about["shown"] = shown.tolist()
            return {path: json_text.dump(about)}
        beside = large_files(path)[1]
        about["shown"] = beside.name
        columns = {a.name: shown[:, i] for i, a in enumerate(self.attributes)}
        return {path: json_text.dump(about, indent=None), beside: pa.table(columns)}

    @classmethod
    def from_dict(cls, about: dict[str, Any], path: Path) -> ColumnRecoding:
        """Read what :meth:`files` wrote."""
        sound(about["kind"] == KIND, "it is of a kind that this version does not know")
        policy, attributes = head_from_dict(about)
        if isinstance(about["shown"], str):
            table = read_columns(large_files(path)[1])
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

    def to_sql(self, table: str = "records") -> str:
        """A query that recodes the records of an SQL table as :meth:`apply` does, by a ``CASE`` for every column.

        Columns must have the types that the data had. In the dialect of DuckDB, which is near to the standard.

        Parameters
        ----------
        table
            What the query calls the table.
        """
        places, shows = [], []
        for i, attribute in enumerate(self.attributes):
            spec, column = self.policy.columns[attribute.name], name_of(attribute.name)
            whens = [
                f"WHEN {wanted} THEN {'NULL' if part < 0 else part}"
                for wanted, part in condition(attribute, column, spec, self.policy.missing)
            ]
            places.append(f"    CASE {' '.join(whens)} END AS part_{i}")
        unknown = " OR ".join(f"part_{i} IS NULL" for i in range(len(self.attributes)))
        at = {attribute.name: i for i, attribute in enumerate(self.attributes)}
        for name in self.policy.columns:
            if name in at:
                for c in self.published[name]:
                    suppressed = f"'{ROOT}'" if pa.types.is_string(c.values.type) else "NULL"
                    values = c.values.take(pa.array(c.of_class))
                    whens = [f"WHEN {part} THEN {value_of(value)}" for part, value in enumerate(values)]
                    known = f"CASE part_{at[name]} {' '.join(whens)} END"
                    shows.append(f"    CASE WHEN {unknown} THEN {suppressed} ELSE {known} END AS {name_of(c.name)}")
            elif name not in self.policy.identifiers:
                shows.append(f"    {name_of(name)}")
        inner = ",\n".join(places)
        outer = ",\n".join(shows)
        return f"SELECT\n{outer}\nFROM (\n  SELECT *,\n{inner}\n  FROM {name_of(table)}\n)\n"

    def to_hierarchies(self, folder: str | Path, data: Any) -> list[Path]:
        """Write a hierarchy per quasi-identifier for the values of a table, in the form of ARX: value;shown;*.

        Parameters
        ----------
        folder
            Gets a file ``column.csv`` for each quasi-identifier; it is made where there is none.
        data
            The table whose values are listed: the recoding itself keeps only what divides them.
        """
        source = open_source(data, asked=self.policy.columns)
        table = typed(source.read(as_text=written_as_text(self.policy)), self.policy)
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for attribute in self.attributes:
            values = table[attribute.name].unique().drop_null()
            values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
            if pa.types.is_dictionary(values.type):
                values = values.dictionary_decode()
            values = values.take(pc.array_sort_indices(values))
            parts = attribute.place(pa.chunked_array([values]), self.policy.columns[attribute.name])
            first = self.published[attribute.name][0]
            if pa.types.is_string(first.values.type):
                labels = recoding.shown_as(first, parts).to_pylist()
            else:
                words = [*(attribute.words(part, part) for part in range(attribute.parts)), ROOT]
                labels = [words[part] for part in parts.tolist()]
            path = target / f"{attribute.name.replace('/', '_')}.csv"
            with path.open("w", encoding="utf-8", newline="") as file:
                lines = csv.writer(file, delimiter=";", lineterminator="\n")
                for value, label in zip(as_text(values).to_pylist(), labels, strict=True):
                    if value != ROOT:  # which no leaf can be
                        lines.writerow([value, *([label] if label != ROOT else []), ROOT])
            written.append(path)
        return written


def _attribute(line: Line, parts: Parts, spec: Column) -> Attribute:
    """What tells to which part a value belongs."""
    if line.kind is not Kind.NOMINAL:
        return Attribute.of(line, parts.low[1:], spec)
    order = pc.sort_indices(line.texts)
    return replace(
        Attribute.of(line, np.empty(0, dtype=np.int32), spec),
        parts=len(parts.low),
        labels=line.texts.take(order),
        part=parts.of_code[order.to_numpy()],
        missing_part=int(parts.of_code[line.missing_code]) if line.missing else -1,
    )

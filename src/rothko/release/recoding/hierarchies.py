"""A recoding by column as hierarchies in the form of ARX, a file for each quasi-identifier: value;shown;*."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.line import as_text
from rothko.data.schema import written_as_text
from rothko.data.typed import typed
from rothko.policy.opened import opened
from rothko.policy.policy import Policy
from rothko.release.publish import ROOT, Published
from rothko.release.recoding.attribute import Attribute
from rothko.release.recoding.document import shown_as


def write_hierarchies(
    attributes: Sequence[Attribute],
    published: Mapping[str, Sequence[Published]],
    policy: Policy,
    target: Path,
    data: Any,
) -> list[Path]:
    """Write what the parts of each quasi-identifier show of the values of a table; the files."""
    source = opened(data, policy)
    table = typed(source.read(as_text=written_as_text(policy)), policy)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for attribute in attributes:
        values = table[attribute.name].unique().drop_null()
        values = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        values = values.take(pc.array_sort_indices(values))
        parts = attribute.place(pa.chunked_array([values]), policy.columns[attribute.name])
        first = published[attribute.name][0]
        if pa.types.is_string(first.values.type):
            labels = shown_as(first, parts).to_pylist()
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

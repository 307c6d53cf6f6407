"""What the files of a recoding say: a JSON document, and beside a large one its arrays as Parquet."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from rothko import json_text
from rothko.policy.policy import Policy
from rothko.release.names import large_files
from rothko.release.publish import ROOT, Published
from rothko.release.recoding.attribute import Attribute
from rothko.release.recoding.checks import AbsentError, listed, numbers, sound, text
from rothko.release.recoding.values import from_json, to_json, type_of
from rothko.release.rows import columns_of
from rothko.release.write import Content

FORMAT = "rothko recoding 1"


def copied(stored: Path, path: Path) -> dict[Path, Content]:
    """What a stored recoding consists of under another name: path → JSON text or table, never whole in memory."""
    about = json_text.parse(stored.read_text(encoding="utf-8"))
    field = "shown" if "shown" in about else "tree"  # by column, or not
    if not isinstance(about[field], str):
        return {path: stored.read_text(encoding="utf-8")}
    beside = list(zip(large_files(stored), large_files(path), strict=True))
    if field == "tree":
        about["tree"] = beside[0][1].name
        for columns in about["published"].values():
            for column in columns:
                column["file"] = beside[1][1].name
    else:
        beside = beside[1:]
        about["shown"] = beside[0][1].name
    files: dict[Path, Content] = {path: json_text.dump(about, indent=None)}
    for old, new in beside:
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
        "attributes": [attribute.to_dict() for attribute in attributes],
    }


def head_from_dict(about: dict[str, Any]) -> tuple[Policy, tuple[Attribute, ...]]:
    """The policy and the quasi-identifiers that :func:`head` wrote."""
    policy = Policy.parse(text(about["policy"]))
    attributes = tuple(map(Attribute.from_dict, listed(about["attributes"])))
    names = sorted(attribute.name for attribute in attributes)
    sound(names and names == sorted(policy.quasi_identifiers), "it has other quasi-identifiers than its policy")
    for attribute in attributes:
        attribute.check(policy.columns[attribute.name])
    return policy, attributes


def published_to_dict(published: Mapping[str, Sequence[Published]], of: str) -> dict[str, list[dict[str, Any]]]:
    """What is published, by its quasi-identifier; ``of`` names what shows the values."""
    return {
        name: [
            {"column": c.name, "type": str(c.values.type), "values": to_json(c.values), of: c.of_class.tolist()}
            for c in columns
        ]
        for name, columns in published.items()
    }


def published_from_dict(column: dict[str, Any], of: str) -> Published:
    """A published column that :func:`published_to_dict` wrote."""
    values = from_json(column["values"], type_of(column["type"]))
    return Published(text(column["column"]), values, numbers(column[of]))


def files_beside(path: Path, *names: str) -> tuple[Path, ...]:
    """The files that the JSON of a large recoding names; all that are not beside it are told at once."""
    sound(all(text(name) == Path(name).name for name in names), "it names a file that does not lie beside it")
    files = tuple(path.with_name(name) for name in names)
    absent = [repr(file.name) for file in files if not file.is_file()]
    if absent:
        there = "is" if len(absent) == 1 else "are"
        raise AbsentError(
            f"is one of the {1 + len(names)} files of a recoding, and {' and '.join(absent)} {there} not beside it; "
            "keep them in one folder, under their names"
        )
    return files


def read_columns(path: Path) -> dict[str, pa.ChunkedArray]:
    """The columns of a Parquet file beside the JSON, every byte of which is looked at."""
    table = pq.read_table(path, page_checksum_verification=True, partitioning=None)
    table.validate(full=True)
    return dict(columns_of(table))


def shown_as(column: Published, classes: NDArray[np.int32]) -> pa.Array:
    """What each record shows; the root, or nothing where the form is a number, for a suppressed one."""
    kind = column.values.type
    values = pa.concat_arrays([column.values, pa.array([ROOT if pa.types.is_string(kind) else None], kind)])
    indices = np.append(column.of_class, np.int32(len(column.values)))[classes]
    return values.take(pa.array(indices))

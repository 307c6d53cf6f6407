"""The last steps of every release: verify what was written, certify it, move it into place."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from rothko.errors import VerificationError
from rothko.policy.policy import Policy
from rothko.release.certificate import Certificate
from rothko.release.truth import Told, ToldHashes, check_rows, same
from rothko.release.verify import Fingerprint, Verification, check_schema, is_text_file, verify
from rothko.release.write import Content

if TYPE_CHECKING:
    from rothko.release.staging import Staging

TEXT = (".csv", ".tsv")
"""Endings of files whose columns have no types."""


class Saved(NamedTuple):
    """Where a release was written, and the certificate of the written bytes."""

    data: Path
    certificate_path: Path
    recoding_path: Path | None
    certificate: Certificate
    sensitive_path: Path | None = None
    """The second table, where the method releases two."""


def suffix_like(path: Path | None) -> str:
    """The ending of a release of this file, where none is asked for."""
    if path is None:
        return ".parquet"
    name = path.name.lower().removesuffix(".gz")
    endings = {
        ".tsv": ".tsv",
        ".csv": ".csv",
        ".txt": ".csv",
        ".arrow": ".arrow",
        ".feather": ".feather",
        ".ipc": ".arrow",
    }
    return endings.get(Path(name).suffix, ".parquet")


def is_text(path: Path | None) -> bool:
    """Whether the columns of a file have no types."""
    return path is not None and suffix_like(path) in TEXT


def verified(
    data: Path | pa.Table,
    rows: int,
    columns: Sequence[str],
    published: Mapping[str, Sequence[str]],
    policy: Policy,
    *,
    told: Told,
    wanted: Fingerprint,
    schema: pa.Schema | None = None,
    types: Mapping[str, pa.DataType] | None = None,
    threads: int,
    memory: int | None = None,
    spill: Path | None = None,
) -> Verification:
    """Verify, and fail closed: also when rows or columns are not those that were meant to leave.

    Parameters
    ----------
    published
        Quasi-identifier → the columns that publish it.
    told
        The columns of what every record should be shown as.
    wanted
        The fingerprint of that.
    schema
        The columns that a file should have, with their types.
    types
        Columns that were read as text, and have a type in the file.
    """
    if isinstance(data, Path) and schema is not None:
        check_schema(data, schema)
    hashes = ToldHashes(told, is_text_file(data), types)
    odd = bool(hashes.odd) and not is_text_file(data)
    if odd:  # read by Arrow, in a pass of its own
        check_rows(data, told, wanted, types=types, threads=threads, memory=memory, spill=spill)
    found = verify(
        data, policy.privacy, published, missing=policy.missing, values=policy.columns,
        hashes=None if odd else hashes, threads=threads, memory=memory, spill=spill,
    )  # fmt: skip
    if found.columns != tuple(columns) or found.rows != rows:
        raise VerificationError(
            "Verification failed: the written table has other rows or columns than it should; nothing was released."
        )
    for finding in found.findings:
        if not finding.holds:
            raise VerificationError(
                f"Verification failed: {finding.requirement.describe()} does not hold in {finding.violating_classes} "
                f"of {finding.classes} classes; nothing was released. Please report this."
            )
    if not odd:
        same(found.fingerprint, wanted)
    return replace(found, true=True)


def stage_recoding(files: Mapping[Path, Content], stage: Staging) -> dict[str, str]:
    """Write the files of a recoding, which is not for publication; the hash of each, by its name."""
    return {target.name: stage.write_hidden(target, content) for target, content in files.items()}


def sha256(path: Path) -> str:
    """The hash of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def timed(timings: dict[str, float], stage: str) -> Iterator[None]:
    """Add the time that something takes to a stage."""
    begun = time.perf_counter()
    yield
    timings[stage] = timings.get(stage, 0.0) + time.perf_counter() - begun

"""Applying a recoding to a file of new records.

The rows leave in random order, as those of a release do, unless the caller asks to keep it. What is
written shows nothing but what the recoding publishes; that is checked on the written bytes.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from rothko.data.csv_dialect import CsvOptions
from rothko.data.schema import written_as_text
from rothko.data.source import open_source
from rothko.errors import VerificationError
from rothko.privacy.kanonymity import KAnonymity
from rothko.release.publish import ROOT
from rothko.release.recoding import Recoding
from rothko.release.verify import verify
from rothko.release.write import output_file, staging, write_table


class Applied(NamedTuple):
    """What became of the new records."""

    path: Path
    rows: int
    suppressed: int
    classes: int
    """Distinct combinations that the file shows."""
    regions: int
    smallest: int | None
    """The fewest records that share what they show."""
    k: int
    """The k of the release that the recoding comes from (0: none was asked for)."""


def apply_file(
    recoding: Path,
    data: Path,
    out: Path,
    *,
    keep_order: bool = False,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
) -> Applied:
    """Recode the records of a file into another."""
    phi = Recoding.load(recoding)
    source = open_source(data, csv=csv)
    target = output_file(Path(out), source=source.path, overwrite=overwrite)
    as_text = written_as_text(phi.policy) | set(phi.policy.kept + phi.policy.sensitive)
    table, suppressed = phi.apply_table(source.read(as_text=as_text), source.label)
    if not keep_order:
        table = table.take(pa.array(np.random.default_rng(secrets.randbits(128)).permutation(table.num_rows)))
    names = {name: [column.name for column in columns] for name, columns in phi.published.items()}
    anonymity = next((r for r in phi.policy.privacy if isinstance(r, KAnonymity)), KAnonymity(k=2))
    with staging() as stage:
        temporary = stage.place_for(target)
        write_table(table, temporary)
        found = verify(temporary, [anonymity], names)
        if found.rows != table.num_rows or found.columns != tuple(table.column_names):
            raise VerificationError(
                "Verification failed: the written file has other rows or columns than it should; it was removed."
            )
        _only_known(table, phi)
        stage.commit()
    return Applied(
        path=target,
        rows=table.num_rows,
        suppressed=suppressed,
        classes=found.classes,
        regions=phi.classes,
        smallest=int(found.findings[0].achieved),
        k=max((r.k for r in phi.policy.privacy if isinstance(r, KAnonymity)), default=0),
    )


def _only_known(table: pa.Table, phi: Recoding) -> None:
    """Every published value must be one that the recoding publishes."""
    for columns in phi.published.values():
        for column in columns:
            known = (
                pa.concat_arrays([column.values, pa.array([ROOT], pa.string())])
                if pa.types.is_string(column.values.type)
                else column.values
            )
            shown = table[column.name].drop_null().unique()
            if not set(shown.to_pylist()) <= set(known.to_pylist()):
                raise VerificationError(
                    f"Verification failed: column {column.name!r} shows what no region publishes; the file was removed."
                )

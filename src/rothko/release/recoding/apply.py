"""Applying a recoding to a file of new records.

The rows leave in random order, as those of a release do, unless the caller asks to keep it. A file that is larger than
memory is recoded some records at a time, in random order among themselves; the recoding itself must fit. What is
written shows nothing but what the recoding publishes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.schema import written_as_text
from rothko.data.source.csv import CsvOptions
from rothko.data.source.formats import in_cells
from rothko.data.source.listing import files_named, paths_at
from rothko.engines.plan import BASELINE, as_bytes, available_memory
from rothko.errors import VerificationError
from rothko.policy.opened import opened
from rothko.privacy.kanonymity import KAnonymity
from rothko.release.meant import Meant
from rothko.release.names import LARGE_ENDINGS, recoding_file
from rothko.release.place import RowsPlace
from rothko.release.publish import ROOT
from rothko.release.recoding.recoding import Recoding
from rothko.release.sql import Limits, connect
from rothko.release.truth import Told, ToldHashes
from rothko.release.verify import Fingerprint, verify
from rothko.release.write import RowsFile, as_rows, said_of
from rothko.secret import Secret

LEAST = 100_000_000
"""With fewer bytes than these nothing can be verified."""


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
    notes: tuple[str, ...] = ()
    """What a person should know of the file."""


def apply_file(
    recoding: Path,
    data: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    keep_order: bool = False,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
    memory: int | str | None = None,
) -> Applied:
    """Recode the records of a table into another.

    Parameters
    ----------
    recoding
        The JSON file of a recoding, or the folder that it lies in.
    out
        A file, an address in an object store, or that of a new table in a database.
    memory
        The most bytes that the process may take, beside those of the recoding: a larger file is recoded some records
        at a time, and only within these the order is random. None: what is free on this machine, or within what its
        container grants. The records of a time are the same number however small the limit is (a quarter of a
        million), so a very small one is passed.
    """
    granted = as_bytes(memory)
    phi_file = recoding_file(Path(recoding))
    beside = [file for file in phi_file.parent.glob("*.parquet") if file.name.endswith(LARGE_ENDINGS)]
    at = files_named(data)
    inputs = (*(() if at is None else paths_at(at)), phi_file, *beside)
    place = RowsPlace.of(out, overwrite=overwrite, inputs=inputs)
    phi = Recoding.load(recoding)
    source = opened(data, phi.policy, csv=csv)
    read = phi.reads(source)
    limit = available_memory() if granted is None else granted
    as_text = written_as_text(phi.policy) | set(phi.policy.kept + phi.policy.sensitive)
    # Compressed files are several times larger in memory, and so are the copies on the way.
    at_once = 20 * source.bytes + (0 if granted is None else BASELINE) < limit
    tables = iter([source.read(read, as_text=as_text)]) if at_once else source.batches(read, as_text=as_text)
    names = {name: [column.name for column in columns] for name, columns in phi.published.items()}
    # Whose new records are is not asked, and would not be known of those that are there already.
    anonymity = [replace(r, of=None) for r in phi.policy.privacy if isinstance(r, KAnonymity)]
    secret = Secret.of(None)
    columns: tuple[str, ...] = ()
    rows = suppressed = 0
    wanted = Fingerprint()
    with place.staging() as stage:
        temporary = stage.place_for(place.target)
        labels = {name: labels for name, labels in source.labels.items() if name not in phi.published}
        with RowsFile(temporary, escape=phi.policy.csv.escape_formulas, labels=labels) as file:
            for table in tables:
                recoded, unknown = phi.apply_table(table)
                _only_known(recoded, phi)
                told = _told(recoded, table, phi)
                with connect() as connection:
                    wanted += ToldHashes(told, in_cells(temporary)).expected(connection)
                order = None if keep_order else secret.order(f"rows after {rows}", recoded.num_rows)
                leaving = as_rows(recoded, order)
                schema = leaving.schema
                file.write(leaving)
                columns = tuple(recoded.column_names)
                rows, suppressed = rows + recoded.num_rows, suppressed + unknown
        stage.settle([temporary], ())
        limits = Limits(memory=None if at_once else max((limit - BASELINE) // 2, LEAST))
        Meant(rows, columns, told.of_nobody(), wanted, names, schema).check_rows(temporary, limits)
        found = verify(temporary, anonymity or [KAnonymity(k=2)], names, limits=limits)
        if found.rows != rows or found.columns != columns:
            raise VerificationError(
                "Verification failed: the written file has other rows or columns than it should; it was removed."
            )
        stage.commit()
    # Of several, each over its own quasi-identifiers, the one that is missed most.
    weakest = min(found.findings, key=lambda finding: finding.achieved - finding.asked)
    return Applied(
        path=place.target,
        rows=rows,
        suppressed=suppressed,
        classes=found.classes,
        regions=phi.regions,
        smallest=int(weakest.achieved),
        k=int(weakest.asked) if anonymity else 0,
        notes=said_of(file.escaped),
    )


def _told(recoded: pa.Table, table: pa.Table, phi: Recoding) -> Told:
    """What the rows of some records must be: what the recoding shows of them, and what they came with."""
    shown = {column.name for columns in phi.published.values() for column in columns}
    columns = {name: recoded[name] if name in shown else table[name] for name in recoded.column_names}
    return Told(tuple(columns), pa.table(columns), np.zeros(table.num_rows, dtype=np.int32), ())


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
            if not pc.all(pc.is_in(shown, value_set=known), min_count=0).as_py():
                raise VerificationError(
                    f"Verification failed: column {column.name!r} shows what no region publishes; the file was removed."
                )

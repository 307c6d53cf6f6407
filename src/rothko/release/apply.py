"""Applying a recoding to a file of new records.

The rows leave in random order, as those of a release do, unless the caller asks to keep it. A file that is larger than
memory is recoded some records at a time, in random order among themselves; the recoding itself must fit. What is
written shows nothing but what the recoding publishes.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.csv_dialect import CsvOptions
from rothko.data.schema import written_as_text
from rothko.data.source import open_source
from rothko.engines.plan import BASELINE
from rothko.errors import VerificationError
from rothko.privacy.kanonymity import KAnonymity
from rothko.release.publish import ROOT
from rothko.release.recoding import Recoding
from rothko.release.verify import verify
from rothko.release.write import RowsFile, as_rows, output_file, said_of, staging

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
    data: Path,
    out: Path,
    *,
    keep_order: bool = False,
    overwrite: bool = False,
    csv: CsvOptions | None = None,
    memory: int | None = None,
) -> Applied:
    """Recode the records of a file into another.

    Parameters
    ----------
    memory
        The most bytes that the process may take, beside those of the recoding: a larger file is recoded some records
        at a time, and only within these the order is random. None: what the computer has free. The records of a time
        are the same number however small the limit is (a quarter of a million), so a very small one is passed.
    """
    phi = Recoding.load(recoding)
    source = open_source(data, csv=csv)
    target = output_file(Path(out), source=source.path, overwrite=overwrite)
    limit = _free_memory() if memory is None else memory
    as_text = written_as_text(phi.policy) | set(phi.policy.kept + phi.policy.sensitive)
    # Compressed files are several times larger in memory, and so are the copies on the way.
    at_once = 20 * source.bytes + (0 if memory is None else BASELINE) < limit
    tables = iter([source.read(as_text=as_text)]) if at_once else source.batches(as_text=as_text)
    names = {name: [column.name for column in columns] for name, columns in phi.published.items()}
    anonymity = [r for r in phi.policy.privacy if isinstance(r, KAnonymity)]
    random = np.random.default_rng(secrets.randbits(128))
    columns: tuple[str, ...] = ()
    rows = suppressed = 0
    with staging() as stage:
        temporary = stage.place_for(target)
        with RowsFile(temporary, escape=phi.policy.csv.escape_formulas) as file:
            for table in tables:
                recoded, unknown = phi.apply_table(table, source.label)
                _only_known(recoded, phi)
                if not keep_order:
                    recoded = recoded.take(pa.array(random.permutation(recoded.num_rows)))
                file.write(as_rows(recoded))
                columns = tuple(recoded.column_names)
                rows, suppressed = rows + recoded.num_rows, suppressed + unknown
        found = verify(
            temporary,
            anonymity or [KAnonymity(k=2)],
            names,
            memory=None if at_once else max((limit - BASELINE) // 2, LEAST),
        )
        if found.rows != rows or found.columns != columns:
            raise VerificationError(
                "Verification failed: the written file has other rows or columns than it should; it was removed."
            )
        stage.commit()
    # Of several, each over its own quasi-identifiers, the one that is missed most.
    weakest = min(found.findings, key=lambda finding: finding.achieved - finding.asked)
    return Applied(
        path=target,
        rows=rows,
        suppressed=suppressed,
        classes=found.classes,
        regions=phi.regions,
        smallest=int(weakest.achieved),
        k=int(weakest.asked) if anonymity else 0,
        notes=said_of(file.escaped),
    )


def _free_memory() -> int:
    """What the computer has free, or a thousand million bytes where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError):
        return 10**9


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

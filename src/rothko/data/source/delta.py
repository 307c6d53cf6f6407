"""A Delta table as a source: the version that is the last one when it is opened, whoever writes to it meanwhile.

The folder of such a table also holds files of records that were deleted; which files are the table, its log says. The
log is read by the package ``deltalake``, and the files by Arrow, in the types that the log declares. What that package
cannot honour, such as vectors of deleted records, it refuses, and so does this.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from rothko.data.source.source import Source, sound
from rothko.errors import InputError, MissingExtraError, RothkoError

LOG = "_delta_log"


def is_delta(path: Path) -> bool:
    """Whether this is the folder of a Delta table, on this machine."""
    return os.path.isdir(path / LOG)  # False where one may not look


def open_delta(path: Path) -> Source:
    """Open a Delta table by its folder."""
    label = path.resolve().name
    try:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaProtocolError
    except ImportError:
        raise MissingExtraError(
            f'{label} is a Delta table, which needs deltalake: pip install "rothko[delta]".'
        ) from None
    with _told(label):
        table = DeltaTable(str(path))
        try:
            dataset = table.to_pyarrow_dataset()
        except DeltaProtocolError:
            raise InputError(
                f"{label} is a Delta table with features that are not read here, such as deletion vectors or mapped "
                "columns; write it anew without them, or let Spark read it (engine: spark)."
            ) from None
        files = pa.table(table.get_add_actions(flatten=True))
        rows = dataset.count_rows()
    about = sum(files["size_bytes"].to_pylist())

    def pieces(columns: Sequence[str], _: Collection[str], rows: int, threads: int) -> Iterator[pa.RecordBatch]:
        # In the order of the log, and no more in memory than a reader of one file has.
        scan = dataset.scanner(
            list(columns), batch_size=rows, batch_readahead=1, fragment_readahead=1, use_threads=threads > 1
        )
        with _told(label):
            for batch in scan.to_batches():
                yield sound(batch)

    def read(columns: Sequence[str], _: Collection[str]) -> pa.Table:
        with _told(label):
            return sound(dataset.to_table(list(columns))).combine_chunks()

    note = f"{label} is a Delta table, read as its version {table.version()} is."
    return Source(
        label, tuple(dataset.schema.names), path, read, notes=(note,), _pieces=pieces, rows=rows,
        bytes=about, schema=dataset.schema,
    )  # fmt: skip


@contextmanager
def _told(label: str) -> Iterator[None]:
    """Say in one sentence what cannot be read; the package tells paths and where in its own code it stumbled."""
    from deltalake.exceptions import DeltaError

    try:
        yield
    except RothkoError:
        raise
    except FileNotFoundError:
        raise InputError(
            f"{label} lacks a file that its log names; if somebody has vacuumed it meanwhile, start again."
        ) from None
    except (DeltaError, pa.ArrowException, OSError, ValueError, UnicodeError):
        raise InputError(
            f"{label} cannot be read as a Delta table: its log or a file of it is damaged, or permission is denied."
        ) from None

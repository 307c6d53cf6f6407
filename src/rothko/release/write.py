"""Writing: to a temporary name beside the target, moved into place only when the caller says so.

What the file says beyond its rows is nothing: no schema of the input, no metadata, no statistics. The
format follows from the ending of the name.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.feather as feather
import pyarrow.parquet as pq

from rothko.errors import OutputError
from rothko.release.csv_writer import write_csv
from rothko.release.rows import Rows

ENDINGS = (".parquet", ".csv", ".tsv", ".arrow", ".feather")


def write_rows(rows: Rows, path: Path, *, threads: int = 1) -> None:
    """Write rows in the format of the path's ending."""
    name = path.name.lower()
    with _explained(path):
        if name.endswith((".csv", ".tsv")):
            write_csv(rows, path, delimiter="\t" if name.endswith(".tsv") else ",", threads=threads)
        elif name.endswith(".parquet"):
            _write_parquet(rows.to_arrow(threads=threads), path)
        else:
            feather.write_feather(decoded(rows.to_arrow(threads=threads)), path, compression="zstd")


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table in the format of the path's ending."""
    write_rows(Rows(tuple(table.column_names), {}, np.zeros(table.num_rows, dtype=np.int32), table), path)


def write_batches(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    """Write batches one after the other to a Parquet or CSV file, never all at once."""
    first = next(batches)
    csv = path.name.lower().endswith(".csv")
    with _explained(path):
        writer = pcsv.CSVWriter(path, first.schema) if csv else pq.ParquetWriter(path, first.schema)
        with writer:
            for batch in itertools.chain([first], batches):
                writer.write(batch) if csv else writer.write_batch(batch)


def _write_parquet(table: pa.Table, path: Path) -> None:
    # Published columns are dictionaries already: the writer stores them as they are, so they are cheap.
    # Statistics and the Arrow schema are left out: neither is needed, and both say more than the rows.
    # A dictionary that is too large for a page would be written as plain text, value by value; one that is
    # repeated in many small row groups would outweigh the rows.
    pq.write_table(
        table,
        path,
        compression="snappy",
        write_statistics=False,
        store_schema=False,
        row_group_size=1 << 20,
        dictionary_pagesize_limit=1 << 30,
    )


def decoded(table: pa.Table) -> pa.Table:
    """The table with plain values in place of dictionaries."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


@dataclass(slots=True)
class Staging:
    """Files on their way out: written under temporary names, then moved into place together or removed."""

    moves: list[tuple[Path, Path]] = field(default_factory=list)
    made: Path | None = None
    """The folder that was made for the release."""

    def place_for(self, target: Path) -> Path:
        """A temporary name in the target's folder, with the target's ending."""
        temporary = target.with_name(f".{secrets.token_hex(8)}.partial{target.suffix}")
        self.moves.append((temporary, target))
        return temporary

    def write(self, target: Path, content: str | pa.Table) -> None:
        """Write what goes with the data: text, or a table as Parquet."""
        temporary = self.place_for(target)
        with _explained(target):
            if isinstance(content, str):
                temporary.write_text(content, encoding="utf-8")
            else:
                pq.write_table(content, temporary, store_schema=False, write_statistics=False)

    def commit(self, *, stale: Iterable[Path] = ()) -> None:
        """Move everything into place, and remove what an older release left there that this one does not replace."""
        for path in set(stale) - {target for _, target in self.moves}:
            path.unlink(missing_ok=True)
        for temporary, target in self.moves:
            with _explained(target):
                os.replace(temporary, target)
        self.moves.clear()
        self.made = None


@contextlib.contextmanager
def staging(folder: Path | None = None) -> Iterator[Staging]:
    """Make the folder if need be; remove what was not committed, whatever happens."""
    stage = Staging()
    if folder is not None and not folder.exists():
        with _explained(folder):
            folder.mkdir(parents=True)
        stage.made = folder
    try:
        yield stage
    finally:
        for temporary, _ in stage.moves:
            temporary.unlink(missing_ok=True)
        if stage.made is not None:
            with contextlib.suppress(OSError):
                stage.made.rmdir()


def output_place(out: Path, *, source: Path | None, overwrite: bool, suffix: str) -> tuple[Path, Path | None]:
    """Where the data goes, and the folder for what goes with it (None where a file was asked for).

    Parameters
    ----------
    out
        A file with an ending that can be written, or a folder (made if need be).
    source
        The input file, which is never overwritten.
    suffix
        The ending of the data file in a folder.
    """
    if out.name.lower().endswith(ENDINGS):
        data, folder = out, None
    elif out.suffix and not out.is_dir():
        raise OutputError(
            f"{out.name} has an ending that rothko does not write; it writes {', '.join(ENDINGS)}, or a folder."
        )
    else:
        data, folder = out / f"release{suffix}", out
        with _explained(out):
            if out.exists() and not out.is_dir():
                raise OutputError(f"{str(out)!r} is a file; name a folder, or a file with one of {', '.join(ENDINGS)}.")
    for path in (data, *companions(data, folder)):
        _free(path, source, overwrite)
    _writable(
        data if folder is None or folder.is_dir() else next(p for p in folder.absolute().parents if p.is_dir()) / "x"
    )
    return data, folder


def output_file(out: Path, *, source: Path | None, overwrite: bool) -> Path:
    """The one file that is asked for, checked before any work is done."""
    if not out.name.lower().endswith(ENDINGS):
        raise OutputError(f"{out.name} has an ending that rothko does not write; it writes {', '.join(ENDINGS)}.")
    _free(out, source, overwrite)
    _writable(out)
    return out


def _free(path: Path, source: Path | None, overwrite: bool) -> None:
    with _explained(path):
        if path.is_dir():
            raise OutputError(f"{str(path)!r} is a folder.")
        if source is not None and path.exists() and path.resolve() == source.resolve():
            raise OutputError("The output is the input; choose another name.")
        if path.exists() and not overwrite:
            raise OutputError(f"{str(path)!r} exists; use --overwrite to replace it.")


def _writable(path: Path) -> None:
    if not path.parent.is_dir():
        raise OutputError(f"There is no folder {str(path.parent)!r}.")
    with _explained(path):
        probe = path.with_name(f".{secrets.token_hex(8)}.partial")
        probe.touch()
        probe.unlink()


def companions(data: Path, folder: Path | None) -> tuple[Path, Path]:
    """Certificate and recoding: in the folder, or beside the file under its name."""
    if folder is not None:
        return folder / "certificate.json", folder / "recoding.json"
    return data.with_name(f"{data.stem}.certificate.json"), data.with_name(f"{data.stem}.recoding.json")


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the quota is used up",
            errno.EACCES: "permission is denied",
            errno.EPERM: "permission is denied",
            errno.EROFS: "the file system is read-only",
            errno.EFBIG: "the file would be too large",
            errno.ENAMETOOLONG: "its name is too long",
            errno.ENOTDIR: "a part of its path is a file",
        }.get(error.errno or 0, "the file system refuses it")
        raise OutputError(f"{str(path)!r} cannot be written: {reason}; nothing was released.") from None

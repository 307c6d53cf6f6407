"""Addresses of object stores, and the few things that are asked of one.

An address travels as a path, which drops one of two slashes (`s3:/bucket/people`); :func:`address` gives it back. Keys
come from where the client of a store looks for them, the environment or its own files, and are never told.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rothko.errors import OutputError, RothkoError

ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""How the address of an object store or of a distributed file system begins."""
STORES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "abfs": "abfs", "abfss": "abfss"}
"""How the address of a store begins that is written to, and what Arrow calls it."""
STORE = re.compile(rf"(?:{'|'.join(STORES)}):(?:/|$)")
CONDITION = re.compile(r"(?:AWS Error|HTTP status|HttpStatus\w*|Error code:?) ([A-Z_]+|\d{3}|\w+)")
BUFFER = 1 << 23


def address(path: str | Path) -> str:
    """A path or an address as others are told it.

    >>> address(Path("s3a://bucket/people"))
    's3a://bucket/people'
    """
    return re.sub(r"^(?!file:|dbfs:)([A-Za-z][\w+.-]+):/(?=[^/])", r"\1://", str(path))


def is_store(path: str | Path) -> bool:
    """Whether it lies in an object store that can be written to.

    >>> is_store("s3://bucket/release/"), is_store(Path("s3://bucket/a.csv")), is_store("C:/release")
    (True, True, False)
    """
    return STORE.match(str(path)) is not None


@dataclass(frozen=True, slots=True)
class Store:
    """The object store that an address is of."""

    files: Any
    """A file system of Arrow."""
    label: str
    """How its addresses begin."""

    @classmethod
    def of(cls, path: str | Path) -> Store:
        """Open it; nothing is asked of it yet, but where a bucket lies."""
        from pyarrow import fs

        scheme, _, rest = address(path).partition(":")
        bucket = rest.lstrip("/").partition("/")[0]
        label = f"{scheme}://{bucket}"
        if not bucket:
            raise OutputError(f"{address(path)!r} names no bucket; an address is {scheme}://BUCKET/NAME.")
        with _asked(label):
            endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            if STORES[scheme] == "s3" and endpoint:
                kind, _, host = endpoint.rpartition("://")
                return cls(fs.S3FileSystem(endpoint_override=host, scheme=kind or "https"), label)
            return cls(fs.FileSystem.from_uri(f"{STORES[scheme]}://{bucket}")[0], label)

    def size(self, path: Path) -> int | None:
        """How large an object is, None where there is none."""
        with _asked(self.label):
            about = self.files.get_file_info(_key(path))
        return int(about.size) if about.is_file else None

    def under(self, path: Path) -> list[Path]:
        """The objects whose names begin with a folder's, in their order."""
        from pyarrow import fs

        with _asked(self.label):
            found = self.files.get_file_info(fs.FileSelector(_key(path), allow_not_found=True, recursive=True))
        scheme = self.label.partition("://")[0]
        return sorted(Path(f"{scheme}:/{one.path}") for one in found if one.is_file)

    def put(self, local: Path, path: Path) -> None:
        """Copy a file to it, and read it again: what is there must be what was copied."""
        with _asked(self.label):
            with local.open("rb") as file, self.files.open_output_stream(_key(path)) as stream:
                shutil.copyfileobj(file, stream, BUFFER)
            copied = hashlib.sha256()
            with self.files.open_input_stream(_key(path)) as stream:
                while piece := stream.read(BUFFER):
                    copied.update(piece)
        with local.open("rb") as file:
            if hashlib.file_digest(file, "sha256").digest() != copied.digest():
                raise OutputError(f"{address(path)!r} does not hold what was copied to it; nothing was released.")

    def remove(self, path: Path) -> None:
        """Remove an object; Arrow leaves an empty one that stands for the folder it was in."""
        with _asked(self.label):
            self.files.delete_file(_key(path))


def _key(path: Path) -> str:
    return address(path).partition("://")[2]


@contextmanager
def _asked(label: str) -> Iterator[None]:
    """Say in one sentence what a store refuses: its own words may hold more than one should tell."""
    try:
        yield
    except RothkoError:
        raise
    except Exception as error:  # of Arrow, which has none of its own for what a store says
        said = CONDITION.search(str(error))
        reason = said[1] if said else type(error).__name__
        raise OutputError(
            f"The object store at {label} does not do what it is asked ({reason}); look at the name of the bucket, at "
            "where it lies, and at your keys for it."
        ) from None

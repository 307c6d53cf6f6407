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

from rothko.errors import InputError, OutputError, RothkoError

ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""How the address of an object store or of a distributed file system begins."""
STORES = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "abfs", "abfs": "abfs", "abfss": "abfss"}
"""How the address of a store begins that is read and written to, and what Arrow calls it."""
STORE = re.compile(rf"(?:{'|'.join(STORES)}):(?:/|$)")
CONDITION = re.compile(r"(?:AWS Error|HTTP status|HttpStatus\w*|Error code:?) ([A-Z_]+|\d{3}|\w+)")
TAGS = ("etag", "x-goog-generation", "generation")
"""What a store calls what changes with an object."""
BUFFER = 1 << 23


class StoreError(InputError, OutputError):
    """An object store cannot be asked, by who reads it or by who writes to it."""


def address(path: str | Path) -> str:
    """A path or an address as others are told it: without keys, which none should have.

    >>> address(Path("s3a://bucket/people")), address("s3://key:secret@bucket/people")
    ('s3a://bucket/people', 's3://…@bucket/people')
    """
    whole = re.sub(r"^(?!file:|dbfs:)([A-Za-z][\w+.-]+):/(?=[^/])", r"\1://", str(path))
    return re.sub(r"^([A-Za-z][\w+.-]+://)[^/@]*:[^/@]*@", r"\1…@", whole)


def is_store(path: str | Path) -> bool:
    """Whether it lies in an object store that can be read and written to.

    >>> is_store("s3://bucket/release/"), is_store(Path("s3://bucket/a.csv")), is_store("C:/release")
    (True, True, False)
    """
    return STORE.match(str(path)) is not None


def is_within(path: str | Path, folder: str | Path) -> bool:
    """Whether an object is another one, or lies below it, whichever way their addresses are written.

    >>> is_within("s3a://bucket/in/people.csv", Path("s3://bucket/in")), is_within("s3://bucket/inner", "s3://bucket/in")
    (True, False)
    """
    one, other = (Path(STORES[str(at).partition(":")[0]], *_key(Path(at)).split("/")) for at in (path, folder))
    return one.is_relative_to(other)


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
        scheme, _, rest = address(path).partition(":")
        bucket = rest.lstrip("/").partition("/")[0]
        if bucket.startswith("…@"):
            raise StoreError(
                "The address holds a key, which a shell remembers and a list of processes shows: leave it out, and "
                "give it where the client of the store looks for it, in the environment or in its own files."
            )
        label = f"{scheme}://{bucket}"
        if not bucket:
            raise StoreError(f"{address(path)!r} names no bucket; an address is {scheme}://BUCKET/NAME.")
        with _asked(label):
            return cls(_file_system(STORES[scheme], bucket), label)

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
        scheme, _, bucket = self.label.partition("://")
        inside = (one.path.partition("/")[2] for one in found if one.is_file)
        return sorted(Path(f"{scheme}:/{bucket}/{name}") for name in inside)

    def ranges(self, path: Path) -> Any:
        """An object, to be read here and there."""
        with _asked(self.label, path):
            return self.files.open_input_file(_key(path))

    def stream(self, path: Path) -> Any:
        """An object, to be read from its beginning on."""
        with _asked(self.label, path):
            return self.files.open_input_stream(_key(path), compression=None)

    def stamp(self, path: Path) -> tuple[str | int, ...]:
        """What tells an object from what it is after a change; nothing where it is gone.

        A time alone does not: stores count in seconds.
        """
        with _asked(self.label):
            about = self.files.get_file_info(_key(path))
            if not about.is_file:
                return ()
            with self.files.open_input_stream(_key(path)) as stream:
                told = stream.metadata() or {}
        tag = next((str(value) for name, value in sorted(told.items()) if _text(name).lower() in TAGS), "")
        return int(about.size), int(about.mtime_ns or 0), tag

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
    bucket, _, name = address(path).partition("://")[2].partition("/")
    return f"{bucket.partition('@')[0]}/{name}"


def _text(name: str | bytes) -> str:
    return name.decode(errors="replace") if isinstance(name, bytes) else name


def _file_system(kind: str, bucket: str) -> Any:
    """A file system of Arrow; keys, and where a store is that is not its vendor's, are found in the environment."""
    from pyarrow import fs

    environment = os.environ
    if kind == "s3" and (endpoint := environment.get("AWS_ENDPOINT_URL_S3") or environment.get("AWS_ENDPOINT_URL")):
        scheme, _, host = endpoint.rpartition("://")
        return fs.S3FileSystem(endpoint_override=host, scheme=scheme or "https")
    if kind == "gs" and (endpoint := environment.get("STORAGE_EMULATOR_HOST")):
        scheme, _, host = endpoint.rpartition("://")
        return fs.GcsFileSystem(anonymous=True, endpoint_override=host, scheme=scheme or "http")
    if kind in ("s3", "gs"):
        return fs.FileSystem.from_uri(f"{kind}://{bucket}")[0]
    return fs.AzureFileSystem(**_azure(bucket.partition("@")[2]))


def _azure(host: str) -> dict[str, str]:
    """How an account at Azure is asked, as its own clients are told."""
    parts = os.environ.get("AZURE_STORAGE_CONNECTION_STRING", "").split(";")
    told = {name: value for name, _, value in (part.partition("=") for part in parts)}
    environment = {
        "account_name": host.partition(".")[0] or os.environ.get("AZURE_STORAGE_ACCOUNT") or told.get("AccountName"),
        "account_key": os.environ.get("AZURE_STORAGE_KEY") or told.get("AccountKey"),
        "sas_token": os.environ.get("AZURE_STORAGE_SAS_TOKEN") or told.get("SharedAccessSignature"),
    }
    if endpoint := told.get("BlobEndpoint"):
        scheme, _, authority = endpoint.partition("://")
        place = authority.partition("/")[0]
        environment |= {f"{one}_storage_{part}": value for one in ("blob", "dfs")
                        for part, value in (("authority", place), ("scheme", scheme))}  # fmt: skip
    if environment["account_name"] is None:
        raise InputError(
            "An address at Azure needs its account: az://CONTAINER@ACCOUNT.dfs.core.windows.net/NAME, or set "
            "AZURE_STORAGE_ACCOUNT."
        )
    return {name: value for name, value in environment.items() if value}


@contextmanager
def _asked(label: str, path: Path | None = None) -> Iterator[None]:
    """Say in one sentence what a store refuses: its own words may hold more than one should tell."""
    try:
        yield
    except RothkoError:
        raise
    except FileNotFoundError:
        what = f"bucket {label!r}" if path is None else f"object {address(path)!r}"
        raise StoreError(f"There is no {what}.") from None
    except Exception as error:  # of Arrow, which has none of its own for what a store says
        said = CONDITION.search(str(error))
        reason = said[1] if said else type(error).__name__
        raise StoreError(
            f"The object store at {label} does not do what it is asked ({reason}); look at the name of the bucket, at "
            "where it lies, and at your keys for it."
        ) from None

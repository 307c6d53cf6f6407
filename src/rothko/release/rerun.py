"""Runs that need not be done again: what a release was made from, kept where only its maker looks.

A hash of the input would confirm a guess of the whole input to whoever reads it, so it is not in the certificate, which
goes with the data. It lies in the folder of the recoding, which is not for publication, in a file that nobody else can
read. A run is the same where input, policy, its hierarchies, options and versions are, and where the files of the
release are still those that the certificate lists. Of tables in databases, records are hashed in the order in which
they come: in another order they count as changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rothko import json_text
from rothko.data.address import is_store
from rothko.data.schema import columns_read
from rothko.data.source.database.url import is_database
from rothko.data.source.delta import is_delta
from rothko.data.source.file_bytes import in_order, stamps
from rothko.data.source.listing import Files, files_named, paths_at
from rothko.data.source.open import open_source
from rothko.data.source.records import records_hash
from rothko.data.source.source import Source
from rothko.errors import InputError, OutputError
from rothko.policy.policy import Policy
from rothko.release.certificate import versions
from rothko.release.digest import sha256
from rothko.release.in_table import table_named
from rothko.release.names import names_at, names_of_table
from rothko.release.parts import MANIFEST
from rothko.release.write import explained

RECORD = "made-from.json"
"""The name of the file beside the recoding."""
FORMAT = "rothko made-from 1"
PIECE = 1 << 22


@dataclass(frozen=True, slots=True)
class Run:
    """What a release is made from, looked at before any work is done."""

    made_from: Mapping[str, str]
    """By what it is: the input, the policy, its hierarchies, the options, the versions; a hash of each."""
    record: Path
    certificate: Path
    inputs: tuple[Path, ...]
    stamped: tuple[tuple[str | int, ...], ...]
    """The state of the input, which must be the same when the release is in place; a database has one for the run."""
    table: str | None = None
    """The address of the release, where it is a table in a database."""

    @classmethod
    def of(
        cls,
        data: Any,
        policy: Policy,
        out: str | Path,
        *,
        source: Callable[[], Source],
        options: Mapping[str, Any],
        certificate: str | Path | None = None,
    ) -> Run:
        """Look at the input, which takes a pass over its bytes, or the records of a table in a database or a lake.

        Parameters
        ----------
        source
            Opens the table that will be released.
        certificate
            Where that of a table in a database is to go.
        """
        at = files_named(data)
        table = str(out) if is_database(out) else None
        names = names_at(out, at) if table is None else names_of_table(table_named(table)[-1], certificate)
        if is_store(names.data):
            raise OutputError(
                "--if-changed keeps what a release was made from in a private folder beside it, and an object store "
                "has none; write to this machine, or leave it out."
            )
        records = at is None or (isinstance(at, Path) and is_delta(at))
        inputs = () if at is None or records else paths_at(at)
        for path in inputs:
            if not is_store(path) and not path.is_file():
                raise InputError(f"--if-changed compares the bytes of files, and {str(path)!r} is none; leave it out.")
        stamped = tuple(stamps(inputs))
        made_from = {
            "input": _hash_of_records(source(), policy) if at is None or records else _hash_of_all(at, inputs),
            "policy": policy.digest,
            "hierarchies": _digest(json_text.dump([sha256(path) for path in policy.hierarchy_files])),
            "options": _digest(json_text.dump(dict(options))),
            "versions": _digest(json_text.dump(versions())),
        }
        return cls(made_from, names.private / RECORD, names.certificate, inputs, stamped, table)

    def unchanged(self) -> Mapping[str, Any] | None:
        """The certificate of the release that is there, if it was made from the same and is still what it was."""
        kept = _read(self.record)
        if kept is None or kept.get("format") != FORMAT or kept.get("made_from") != dict(self.made_from):
            return None
        certificate = _read(self.certificate)
        if certificate is None or kept.get("certificate_sha256") != sha256(self.certificate):
            return None
        released = {}
        if self.table is None:
            released = {self.certificate.with_name(name): digest for name, digest in certificate["files"].items()}
        elif kept.get("table_sha256") != _hash_of_release(self.table):
            return None
        recoded = {Path(path): digest for path, digest in kept["recoding"].items()}
        there = all(_holds(path, digest) for path, digest in (released | recoded).items())
        return certificate if there else None

    def keep(self, recoding: Mapping[Path, str]) -> None:
        """Keep what the release was made from, now that it is in place; not where the input was changed meanwhile."""
        if tuple(stamps(self.inputs)) != self.stamped:
            return
        told: dict[str, Any] = {
            "format": FORMAT,
            "made_from": dict(self.made_from),
            "certificate_sha256": sha256(self.certificate),
            "recoding": {str(path.resolve()): digest for path, digest in recoding.items()},
        }
        if self.table is not None:
            told["table_sha256"] = _hash_of_release(self.table)
        with explained(self.record):
            self.record.parent.mkdir(mode=0o700, exist_ok=True)
            partial = self.record.with_name(f".{RECORD}.{os.getpid()}")
            try:
                with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                    file.write(json_text.dump(told) + "\n")
                partial.replace(self.record)
            finally:
                partial.unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        told = json_text.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return told if isinstance(told, dict) else None


def _holds(path: Path, digest: str) -> bool:
    """Whether a file, or all files that the list in a folder of them names, have the bytes that were certified."""
    try:
        if not path.is_dir():
            return sha256(path) == digest
        parts = [line.split("  ", 1) for line in (path / MANIFEST).read_text(encoding="utf-8").splitlines()]
        return sha256(path / MANIFEST) == digest and all(sha256(path / name) == part for part, name in parts)
    except (OSError, ValueError):
        return False


def _hash_of_records(source: Source, policy: Policy) -> str:
    """One hash of the records of a table as far as they are read."""
    return records_hash(source, columns_read(source.names, policy))


def _hash_of_release(table: str) -> str | None:
    """One hash of the released rows as they are read from their database; None where they are not there."""
    try:
        source = open_source(table)
        return records_hash(source, source.names)
    except InputError:
        return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _hash_of_all(data: Files, paths: tuple[Path, ...]) -> str:
    """One hash of the bytes of all files; of several, with their names, which may hold values."""
    whole = hashlib.sha256()
    for path in paths:
        one = hashlib.sha256()
        with in_order(path) as file:
            while piece := file.read(PIECE):
                one.update(piece)
        name = str(path.relative_to(data)) if isinstance(data, Path) and data.is_dir() else str(path)
        name = "" if len(paths) == 1 else name
        whole.update(f"{name}\0{one.hexdigest()}\n".encode())
    return whole.hexdigest()

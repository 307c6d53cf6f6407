"""What a golden case leaves behind, and in which form it is hashed."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import math
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import rothko as rk

TEXT = (".csv", ".tsv", ".txt", ".dat", ".yaml", ".sql")
UNTOLD = ("seconds", "partition_seconds", "threads", "versions", "salt", "file_sha256")
HASHED = ("files", "recoding")
"""Fields of a certificate that map files to their hashes; the names are kept."""
TREE = {"attribute", "begins", "child", "children", "leaf"}
BYTES = ("reads", "writes", "predicted_reads", "predicted_writes")


@dataclass
class Run:
    """One run of one case: where it reads and writes, and what it made."""

    threads: int
    data: Path = Path()
    """The folder of what is read: the working folder, so that no path of a machine is in what is said."""
    out: Path = Path("out")
    canonical: dict[str, str] = field(default_factory=dict)
    versioned: dict[str, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)
    """What was hashed, as text."""

    def text(self, name: str, text: str) -> None:
        """Something that must be the same for ever."""
        text = text.replace(str(Path.cwd()), "FOLDER")
        assert name not in self.canonical, name
        self.canonical[name] = _hash(text.encode())
        self.shown[name] = text

    def json(self, name: str, value: Any) -> None:
        """Plain data, without what differs from run to run."""
        self.text(name, json.dumps(normal(value), indent=1, ensure_ascii=False))

    def table(self, name: str, table: pa.Table) -> None:
        self.text(name, canonical_text(table))

    def file(self, path: Path, *, ordered: bool = True) -> None:
        """A file that was written; without the order of its lines where that is drawn for each run."""
        name = path.name
        if not ordered:
            lines = path.read_text("utf-8") if name.endswith(TEXT) else canonical_text(pq.read_table(path))
            self.text(name, "\n".join(sorted(lines.splitlines())))
            return
        if name == "recoding.tree.parquet":
            self.json(name, walked(pq.read_table(path).to_pydict()))
            return
        if name.endswith(".gz"):
            self.text(name, gzip.decompress(path.read_bytes()).decode())
        elif name.endswith(".json"):
            self.json(name, json.loads(path.read_text("utf-8")))
        elif name.endswith(TEXT):
            self.canonical[name] = _hash(path.read_bytes())
            self.shown[name] = path.read_text("utf-8")
        else:
            self.table(name, pq.read_table(path) if name.endswith(".parquet") else feather.read_table(path))
            self.versioned[name] = _hash(path.read_bytes())

    def certificate(self, value: Mapping[str, Any]) -> None:
        if value.get("io") is not None:
            self.json("io", {key: told for key, told in value["io"].items() if key not in BYTES})
        self.json("certificate", {key: told for key, told in value.items() if key != "io"})

    def saved(self, saved: Any) -> None:
        """All files of a release."""
        self.file(saved.data)
        self.certificate(json.loads(saved.certificate_path.read_text("utf-8")))
        if getattr(saved, "sensitive_path", None) is not None:
            self.file(saved.sensitive_path)
        if getattr(saved, "recoding_path", None) is not None:
            for path in sorted(saved.recoding_path.parent.iterdir()):
                self.file(path)

    def command(self, name: str, *arguments: object) -> None:
        """A command of the command line, in this process: its exit code, and what it prints."""
        code, out, err = self._main([str(argument) for argument in arguments])
        self.text(f"{name}: said", f"exit code {code}\n{_told(err)}")
        try:
            printed = json.loads(out)
        except ValueError:
            self.text(f"{name}: printed", _told(out))
        else:
            if isinstance(printed, dict) and "certificate" in str(printed.get("format", "")):
                self.certificate(printed)
            else:
                self.json(f"{name}: printed", printed)

    @staticmethod
    def _main(arguments: list[str]) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        shows, argv = warnings.showwarning, sys.argv
        wide = mock.patch.dict(os.environ, COLUMNS="100")  # of the help, whatever the terminal
        with wide, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", category=rk.errors.PrivacyWarning)
            # Imported here, so that the width of its tables is not that of a terminal.
            from rothko.cli import main

            sys.argv = ["rothko", *arguments]
            try:
                main()
                code = 0
            except SystemExit as stopped:
                code = int(stopped.code or 0)
            finally:
                warnings.showwarning, sys.argv = shows, argv
        return code, out.getvalue(), err.getvalue()

    def refused(self, call: Callable[[], Any]) -> None:
        """An error that must stay as it is, to the letter."""
        try:
            call()
        except rk.errors.RothkoError as error:
            self.text("error", f"{type(error).__name__} ({error.exit_code}): {error}")
        else:
            raise AssertionError("this was refused when it was recorded")


@dataclass(frozen=True)
class Case:
    """A name, and what is run under it."""

    name: str
    make: Callable[[Run], None]
    quick: bool = False
    """Whether it belongs to ``make test``."""


def _hash(told: bytes) -> str:
    return hashlib.sha256(told).hexdigest()


def normal(value: Any) -> Any:
    """Plain data without what differs from run to run."""
    if isinstance(value, dict):
        if value.keys() >= TREE:
            return walked(value)
        kept = {key: sorted(told) if key in HASHED and isinstance(told, dict) else told for key, told in value.items()}
        return {key: normal(told) for key, told in kept.items() if key not in UNTOLD}
    if isinstance(value, list | tuple):
        return [normal(one) for one in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.10g}") + 0.0
    return value


def walked(tree: Mapping[str, list[int]]) -> list[list[int]]:
    """A tree of cuts in the order of a walk: threads number its nodes as they come to them."""
    lines, ahead = [], [0]
    while ahead:
        node = ahead.pop()
        first, many = tree["child"][node], tree["children"][node]
        lines.append([tree["attribute"][node], tree["begins"][node], many, tree["leaf"][node]])
        ahead += reversed(range(first, first + many))
    return lines


def canonical_text(table: pa.Table) -> str:
    """Schema and rows, in their order, as text."""
    lines = [f"{one.name}: {one.type}{'' if one.nullable else ' not null'}" for one in table.schema]
    lines.append(f"metadata: {table.schema.metadata}")
    columns = [column.to_pylist() for column in table.columns]
    return "\n".join([*lines, *(repr(row) for row in zip(*columns, strict=True))])


def plain(frame: Any) -> Any:
    """The rows of any dataframe."""
    if isinstance(frame, pa.Table):
        return frame.to_pylist()
    if isinstance(frame, dict):
        return {name: list(column) for name, column in frame.items()}
    if hasattr(frame, "to_dicts"):
        return frame.to_dicts()
    if hasattr(frame, "fetchall"):
        return frame.fetchall()
    return frame.to_dict("records")


def _told(text: str) -> str:
    """What a command prints for people, without the time that it took."""
    text = re.sub(r"\d[\d.,]* (?:µs|ms|s|min|h)\b", "0 s", text)
    return "\n".join(re.sub(r"[ ─━]{2,}", "  ", line).strip() for line in text.splitlines())


def run(case: Case, folder: Path, *, threads: int = 1) -> Run:
    """Run a case in the folder of what it reads; what it writes is removed."""
    done = Run(threads)
    with contextlib.chdir(folder), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        done.out.mkdir()
        try:
            case.make(done)
        finally:
            shutil.rmtree(done.out)
    ours = [f"{one.category.__name__}: {one.message}" for one in said if one.category.__module__.startswith("rothko")]
    if ours:
        done.text("warnings", "\n".join(ours))
    return done

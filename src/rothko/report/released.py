"""The public files of a release, read for those who look at it: its certificate and its rows, and nothing else.

What is drawn and told from here tells nobody more than these files do. A file that its certificate does not vouch for
is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko import json_text
from rothko.data.address import ELSEWHERE
from rothko.data.source.formats import is_text
from rothko.errors import InputError, PolicyError, nearest
from rothko.policy.policy import Policy
from rothko.progress import count_threads
from rothko.release.certificate import FORMAT, SET_FORMAT
from rothko.release.check import published_in
from rothko.release.digest import sha256
from rothko.release.formats.table import ENDINGS
from rothko.release.names import LINE_ENDINGS, certificate_of
from rothko.release.parts import MANIFEST
from rothko.release.release import TableRelease
from rothko.release.save import Staged
from rothko.release.sql import Limits
from rothko.release.verify import open_table, with_long_lines

DATA = (*ENDINGS, *LINE_ENDINGS)
"""Endings of data files."""
MANY, DRAWN = 400_000, 100_000
"""Of more classes than these, about so many are drawn to make pictures of; numbers are those of all."""
FEW = 10
"""Rows that are shown as they are."""


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A column that leaves as it is, by class."""

    name: str
    meaning: str
    """What its number says: a mean, or the share of records that have a label."""
    totals: NDArray[np.float64]
    """The sum over the records of each class."""
    counts: NDArray[np.float64]
    """Over how many records."""


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """A release, as anybody can read it."""

    file: str
    """The name of its data file."""
    certificate: Mapping[str, Any]
    policy: Policy
    columns: tuple[str, ...]
    shown: Mapping[str, tuple[str, ...]]
    """Quasi-identifier → the columns that show it."""
    classes: pa.Table
    """What each class shows, as text."""
    typed: pa.Table
    """The same in the types of the file, where other columns are known, too."""
    sizes: NDArray[np.int64]
    """Records in each of these classes."""
    whole: NDArray[np.int64]
    """Records in every class: the same, but where there are so many that some were drawn to make pictures of."""
    rows: pa.Table
    """The first few rows."""
    target: Target | None = None
    others: Mapping[str, pa.ChunkedArray] = field(default_factory=dict)
    """Columns that leave as they are, where they were asked for: of all records of the first class, of the second, …"""
    is_text: bool = False
    """Whether it is a text file, in which cells are escaped."""
    parts: str = ""
    """The names of its files, with a star, where it is a folder of several."""

    @property
    def records(self) -> int:
        """All of them."""
        return int(self.whole.sum())

    @property
    def drawn_from(self) -> str:
        """What is to be said below a picture."""
        if len(self.sizes) == len(self.whole):
            return ""
        return f" Drawn from {len(self.sizes):,} of the {len(self.whole):,} classes, which were chosen at random."

    def over(self, names: tuple[str, ...]) -> NDArray[np.int64]:
        """The sizes of the classes that some quasi-identifiers make."""
        if set(names) == set(self.shown):
            return self.whole
        columns = [column for name in names for column in self.shown[name]]
        counted = self.classes.select(columns).append_column("", pa.array(self.sizes)).group_by(columns)
        return np.asarray(counted.aggregate([("", "sum")])["_sum"].to_numpy(), dtype=np.int64)


Beside = Callable[[Policy], Sequence[str]]
"""Which columns that leave as they are must be known, too."""


def read_release(
    release: Any, *, target: str | None = None, beside: Beside | None = None, threads: int | None = None
) -> Released:
    """Read a release: its folder, its data file or its certificate, or one that is in memory.

    Parameters
    ----------
    target
        A column that leaves as it is, to be known by class too.
    beside
        Says of the policy which columns that leave as they are must be known with all of their values.
    """
    cores = count_threads(threads)
    wanted = _Wanted(target, beside)
    if isinstance(release, TableRelease):
        told = release.certificate.to_dict()
        return _read(release.arrow, told["file"] or "release", told, wanted, Limits(cores))
    if isinstance(release, Staged):
        limits = Limits(cores, release.memory)
        return _read(release.data, release.certificate["file"], release.certificate, wanted, limits)
    path, certificate = find_release(release)
    if certificate["format"] == SET_FORMAT:
        raise InputError(f"{path.name} has records which are sets, and not a table; rothko.sets.report tells of them.")
    check_bytes(path, certificate)
    return _read(path, path.name, certificate, wanted, Limits(cores))


def find_release(place: str | Path) -> tuple[Path, Mapping[str, Any]]:
    """The data file of a release and its certificate, from its folder, its file or its certificate."""
    place = Path(place)
    if ELSEWHERE.match(str(place)):
        raise InputError(
            "A report is made of the files of a release on this machine; what is released to an object store as a "
            "folder has one beside it, and a table in a database has none."
        )
    if place.is_dir() and (place / "certificate.json").is_file():
        folder, certificate = place, place / "certificate.json"
    elif place.name.lower().endswith(".json"):
        folder, certificate = place.parent, place
    elif place.name.lower().endswith(DATA):
        beside = [certificate_of(place, None), place.with_name("certificate.json")]
        folder, certificate = place.parent, next((one for one in beside if one.is_file()), beside[0])
    elif place.is_dir():
        raise InputError(f"{place.name} has no certificate.json; name a folder that rothko anonymize wrote.")
    else:
        raise InputError(f"There is no release {place.name!r}; name its folder, its data file or its certificate.")
    about = _certificate(certificate)
    data = folder / str(about["file"])
    if place.name.lower().endswith(DATA) and place.is_file() and data.name != place.name:
        raise InputError(f"{certificate.name} is that of {data.name}, not of {place.name}.")
    if not data.is_file() and not (data / MANIFEST).is_file():
        raise InputError(f"{certificate.name} is that of {data.name}, which is not beside it.")
    return data, about


def check_bytes(data: Path, certificate: Mapping[str, Any]) -> None:
    """Refuse a file, or a folder of several, that is not what its certificate vouches for."""
    if not _vouched_for(data, certificate["file_sha256"]):
        raise InputError(
            f"{data.name} has other bytes than its certificate vouches for; it was changed, or it is not the file that "
            "was certified."
        )


def files_of(data: Path) -> list[Path]:
    """The files of a release: one, or those of a folder."""
    if data.is_file():
        return [data]
    return sorted(path for path in data.iterdir() if not path.name.startswith(("_", ".")))


def _vouched_for(data: Path, digest: str) -> bool:
    """Whether a file has the hash that its certificate tells, or of a folder of several the list of theirs has it."""
    if data.is_file():
        return sha256(data) == digest
    listed = data / MANIFEST
    if sha256(listed) != digest:
        return False
    hashes = {name: told for told, _, name in (row.partition("  ") for row in listed.read_text("utf-8").splitlines())}
    there = files_of(data)
    return {path.name for path in there} == set(hashes) and all(sha256(one) == hashes[one.name] for one in there)


def _view(
    connection: duckdb.DuckDBPyConnection, data: Path | pa.Table, used: set[str], longest: int
) -> tuple[str, ...]:
    """Let a release be the table ``released``, of one file or of several; the names of its columns."""
    if isinstance(data, pa.Table) or data.is_file():
        return open_table(connection, data, used, longest=longest)
    files = files_of(data)
    names = {open_table(connection, one, used, f"part{at}", longest=longest) for at, one in enumerate(files)}
    if len(names) != 1:
        raise InputError(f"The files of {data.name} have different columns.")
    rows = " UNION ALL ".join(f"SELECT * FROM part{at}" for at in range(len(files)))
    connection.execute(f"CREATE TEMP VIEW released AS {rows}")
    return names.pop()


def _certificate(path: Path) -> Mapping[str, Any]:
    try:
        about: Any = json_text.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(
            f"There is no certificate {path.name} beside the release; without it nobody vouches for what would be told."
        ) from None
    except (OSError, ValueError):
        raise InputError(f"{path.name} cannot be read as a certificate.") from None
    form = about.get("format") if isinstance(about, dict) else None
    if form not in (FORMAT, SET_FORMAT):
        other = isinstance(form, str) and form.startswith("rothko")
        raise InputError(
            f"{path.name} is no certificate that this version of rothko reads"
            + (f": it is a {form!r}; report the release with the version that made it." if other else f", {FORMAT!r}.")
        )
    if not isinstance(about.get("file"), str) or Path(about["file"]).name != about["file"]:
        raise InputError(f"{path.name} names no file that it vouches for.")
    return dict(about)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is read beside the classes; see :func:`read_release`."""

    target: str | None
    beside: Beside | None


def _read(
    data: Path | pa.Table, file: str, certificate: Mapping[str, Any], wanted: _Wanted, limits: Limits
) -> Released:
    try:
        policy = Policy.parse(certificate["policy"], where="the policy of the certificate")
        columns = tuple(certificate["columns"])
    except (KeyError, TypeError):
        raise InputError("The certificate is damaged: it lacks its policy or its columns.") from None
    shown = {name: published_in(name, columns, file, policy) for name in policy.quasi_identifiers}
    target = wanted.target
    if target is not None and target not in policy.sensitive + policy.kept:
        told = nearest(target, policy.sensitive + policy.kept) if policy.sensitive + policy.kept else "there is none."
        raise PolicyError(f"{target!r} is no column that the release has as it is; {told}")
    beside = () if wanted.beside is None else tuple(dict.fromkeys(wanted.beside(policy)))
    for name in beside:
        if name not in columns:
            raise PolicyError(f"columns.{name}: {file} has no such column; {nearest(name, columns)}")

    def work(longest: int) -> Released:
        with limits.connect() as connection:
            # In the order of the file: the first rows are those that whoever opens it sees first.
            connection.execute("SET preserve_insertion_order = true")
            names = _view(connection, data, set(columns), longest)
            if names != columns:
                raise InputError(f"{file} has other columns than its certificate says.")
            keys = {column: f"c{names.index(column)}" for some in shown.values() for column in some}
            about = None if target is None else _target_sql(connection, target, f"c{names.index(target)}")
            besides = [f"c{names.index(name)}" for name in beside]
            # What is asked of some columns alone, and what is told beside classes, needs all of them.
            may_draw = about is None and wanted.beside is None and all(one.over is None for one in policy.privacy)
            counted, whole = _classes(connection, list(keys.values()), about, besides, may_draw=may_draw)
            rows = connection.sql(
                f"SELECT {', '.join(f'c{i}::VARCHAR' for i in range(len(names)))} FROM released LIMIT {FEW}"
            ).to_arrow_table()
        known = None
        if about is not None and target is not None:
            known = Target(target, about.meaning, *(_numbers(counted[name]) for name in ("total", "times")))
        return Released(
            file, certificate, policy, columns, shown,
            classes=counted.select([f"{key}_text" for key in keys.values()]).rename_columns(list(keys)),
            typed=pa.table({}) if may_draw else counted.select(list(keys.values())).rename_columns(list(keys)),
            sizes=_numbers(counted["size"]).astype(np.int64),
            whole=_numbers(whole["size"]).astype(np.int64),
            rows=rows.rename_columns(names), target=known,
            others={name: _flat(counted[f"{key}_all"]) for name, key in zip(beside, besides, strict=True)},
            is_text=isinstance(data, Path) and is_text(data),
            parts="" if isinstance(data, pa.Table) or data.is_file() else f"{file}/part-*",
        )  # fmt: skip

    return with_long_lines(work)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """A column of numbers; as one array, since several are joined by pandas, which takes long to be loaded."""
    return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False), dtype=np.float64)


def _flat(lists: pa.ChunkedArray) -> pa.ChunkedArray:
    """All that is in some lists, one after the other."""
    return pa.chunked_array([chunk.flatten() for chunk in lists.chunks], lists.type.value_type)


@dataclass(frozen=True, slots=True)
class _TargetSql:
    meaning: str
    total: str
    times: str


def _target_sql(connection: duckdb.DuckDBPyConnection, name: str, column: str) -> _TargetSql:
    """A number by its mean, anything else by the share of the label that most records have."""
    number = f"TRY_CAST({column} AS DOUBLE)"
    [(there, numbers, label)] = connection.execute(
        f"SELECT count({column}), count({number}), mode({column}::VARCHAR) FROM released"
    ).fetchall()
    if there and there == numbers:
        return _TargetSql(f"mean of {name}", f"coalesce(sum({number}), 0)", f"count({number})")
    quoted = "'" + str(label).replace("'", "''") + "'"
    return _TargetSql(f"share of {name} = {label}", f"count(*) FILTER ({column}::VARCHAR = {quoted})", "count(*)")


def _classes(
    connection: duckdb.DuckDBPyConnection, keys: list[str], about: _TargetSql | None, beside: list[str], *,
    may_draw: bool,
) -> tuple[pa.Table, pa.Table]:  # fmt: skip
    """What each class shows, in an order that says nothing, and how many records it has; and the sizes of all classes.

    Parameters
    ----------
    may_draw
        Whether some classes are enough where there are very many; their labels would take more memory than the rest.
    """
    sums = [f"list({name}) AS {name}_all" for name in beside]
    if about is not None:
        sums += [f"({about.total})::DOUBLE AS total", f"({about.times})::DOUBLE AS times"]
    texts = ", ".join(f"{key}::VARCHAR AS {key}_text" for key in keys)
    grouped = f"SELECT {', '.join([*keys, 'count(*) AS size', *sums])} FROM released GROUP BY {', '.join(keys)}"
    order = ", ".join(f"{key}_text" for key in keys)
    if not may_draw:
        found = connection.sql(f"SELECT *, {texts} FROM ({grouped}) ORDER BY {order}").to_arrow_table()
        return found, found
    connection.execute(f"CREATE OR REPLACE TEMP TABLE grouped AS {grouped}")
    [(count,)] = connection.execute("SELECT count(*) FROM grouped").fetchall()
    # By what they show, so that the same release has the same picture.
    some = f"WHERE hash({', '.join(keys)}) % {count} < {DRAWN}" if count > MANY else ""
    found = connection.sql(f"SELECT size, {texts} FROM grouped {some} ORDER BY {order}").to_arrow_table()
    return found, found if not some else connection.sql("SELECT size FROM grouped ORDER BY size").to_arrow_table()

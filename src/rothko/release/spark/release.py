"""A release on a cluster: made by executors, verified there, and moved into place as a folder of files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from rothko.data.source.source import Source
from rothko.data.source.spark import brought, quoted
from rothko.engines.engine import Io
from rothko.engines.growing import Holder, Tables
from rothko.engines.plan import as_bytes
from rothko.engines.spark.cluster import Cluster
from rothko.engines.spark.records import Records
from rothko.engines.spark.refine import RefinedTable
from rothko.engines.spark.run import Grown
from rothko.errors import OutputError, PolicyError
from rothko.policy.policy import Policy
from rothko.release.certificate import Certificate
from rothko.release.digest import sha256
from rothko.release.loss import Loss
from rothko.release.measured import Meter, NewMeter
from rothko.release.names import RECODING
from rothko.release.parts import MANIFEST, check_ending
from rothko.release.place import Place, place_of
from rothko.release.recoding.document import copied
from rothko.release.release import HEAD
from rothko.release.save import Outgoing, Saved, Unverified, save, timed
from rothko.release.spark.columns import Recode, recode
from rothko.release.spark.finish import Making, finish
from rothko.release.spark.part_files import Joined
from rothko.release.spark.verify import read_written, verify_written
from rothko.release.stored import HeldRelease, Written
from rothko.release.verify import Verification
from rothko.release.write import explained

Make = Callable[[Path, str, Path], tuple[Joined, Loss]]
"""Has the records recoded and written: a folder, the ending of its files, where the recoding goes → what was made."""


class OnCluster(Protocol):
    """A table on a cluster of which it is known how it is recoded."""

    @property
    def records(self) -> Records:
        """What lies there."""
        ...

    @property
    def io(self) -> Callable[[], Io]:
        """What was read so far."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know."""
        ...


@dataclass(frozen=True, slots=True)
class Spread:
    """A release whose records lie on a cluster, and of which it is known how they are recoded. It can be taken once."""

    grown: OnCluster
    policy: Policy
    source: Source
    certify: Callable[[Verification, Loss], Certificate]
    make: Make
    spill: Tables
    """A private folder that executors can reach, too."""

    def __post_init__(self) -> None:
        if self.policy.order == "keep":
            raise PolicyError("order: keep needs the engine memory: records on a cluster have no order; remove it.")

    def save(
        self, out: str | Path | Place, *, recoding: str | Path | bool = True, overwrite: bool = False
    ) -> Saved[Certificate]:
        """Have it written, verified and certified; see :meth:`rothko.release.release.TableRelease.save`."""
        place = place_of(
            out, self.source.path, self.policy, recoding=recoding if self._recodes else False, overwrite=overwrite,
            in_parts=True,
        )  # fmt: skip
        check_ending(place.data.suffix.lower())
        return save(place.staged_in(self.spill.folder), self._write)

    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        [data] = out.files
        ending, recoding = data.suffix.lower(), data.with_name(RECODING)
        with timed(out.timings, "write"):
            joined, lost = self._made(data, ending, recoding)
            if self._recodes:
                out.recode(partial(copied, recoding))
                out.recoded()
        return Unverified(
            lambda: verify_written(self.grown.records.cluster, data, ending, joined.written.meant, self.policy),
            lambda checked: self._certified(checked, lost, joined),
            joined.written.escaped,
            {data: joined.manifest},
        )

    def store(self) -> SpreadRelease:
        """Have everything written and verified in the private folder, which the release then holds."""
        timings: dict[str, float] = {}
        data, recoding = self.spill.folder / "release.parquet", self.spill.folder / RECODING
        cluster = self.grown.records.cluster
        try:
            with timed(timings, "write"):
                joined, lost = self._made(data, ".parquet", recoding)
            with timed(timings, "verify"):
                checked = verify_written(
                    self.grown.records.cluster, data, ".parquet", joined.written.meant, self.policy
                )
            certificate = self._certified(checked, lost, joined)
        except BaseException:
            self.spill.close()
            raise
        certificate = replace(certificate, timings=certificate.timings | timings)
        return SpreadRelease(
            certificate, recoding if self._recodes else None, data, self.source, self.spill, joined.written, cluster
        )  # fmt: skip

    @property
    def _recodes(self) -> bool:
        """Whether there is a recoding behind the classes."""
        return bool(self.policy.method.recodes)

    def _certified(self, checked: Verification, lost: Loss, joined: Joined) -> Certificate:
        made = self.certify(checked, lost)
        return replace(made, notes=(*made.notes, *joined.notes))

    def _made(self, data: Path, ending: str, recoding: Path) -> tuple[Joined, Loss]:
        with explained(data):
            data.mkdir()
        # Tasks work in folders of their own.
        return self.make(data.absolute(), ending, recoding.absolute())


def by_leaf(grown: Grown, policy: Policy, names: Sequence[str], meter: NewMeter, spill: Tables) -> Make:
    """How a table is recoded that is divided: its leaves are finished where their records are brought together."""

    def make(data: Path, ending: str, recoding: Path) -> tuple[Joined, Loss]:
        joined = finish(grown, Making.of(grown, policy, names, meter, data, ending), recoding)
        return joined, lost(joined, meter(policy, grown.outline, spill))

    return make


def by_column(table: RefinedTable, policy: Policy, names: Sequence[str], meter: NewMeter, spill: Tables) -> Make:
    """How a table is recoded that is refined: every record by itself."""

    def make(data: Path, ending: str, recoding: Path) -> tuple[Joined, Loss]:
        joined = recode(table, Recode.of(table, policy, names, meter, data, ending), recoding)
        return joined, lost(joined, meter(policy, table.outline, spill))

    return make


def lost(joined: Joined, meter: Meter) -> Loss:
    """What all tasks have lost together."""
    meter.take_in(joined.measured)
    return meter.finish()


class SpreadRelease(HeldRelease):
    """A release in a private folder of files."""

    def __init__(
        self,
        certificate: Certificate,
        recoding: Path | None,
        data: Path,
        source: Source,
        holder: Holder,
        written: Written,
        cluster: Cluster,
    ) -> None:
        super().__init__(certificate, recoding, data, source, holder, written)
        self._cluster = cluster

    @property
    def table(self) -> Any:
        """The released rows, as a DataFrame of Spark that reads the files."""
        data = self._there(self._data)
        return read_written(self._cluster.session, data, ".parquet", self._written.meant.columns)

    @property
    def arrow(self) -> pa.Table:
        """The released rows as an Arrow table, all of them brought here."""
        return brought(self.table)

    def _head(self) -> pa.Table:
        return brought(self.table.limit(HEAD))

    @property
    def classes(self) -> pa.Table:
        """What each class publishes, and how many records it has; classes that publish the same are one."""
        shown = [column for columns in self._written.meant.published.values() for column in columns]
        counted = self.table.groupBy(*map(quoted, shown)).count()
        return brought(counted).rename_columns([*shown, "records"])

    def save(
        self,
        out: str | Path | Place,
        *,
        recoding: str | Path | bool = True,
        report: bool | None = None,
        overwrite: bool = False,
        parts: int | str | None = None,
        certificate: str | Path | None = None,
    ) -> Saved[Certificate]:
        """Copy the files to a folder, and verify them there; there is no report of what is written in parts."""
        place = place_of(
            out, self._source.path, self.certificate.policy, recoding=recoding if self._recodes() else False,
            overwrite=overwrite, in_parts=True, parts=as_bytes(parts, "--parts"), certificate=certificate,
        )  # fmt: skip
        if place.data.suffix.lower() != ".parquet":
            raise OutputError(
                f"The release of a Spark DataFrame is a folder of Parquet files; name a folder, or {place.data.stem}"
                ".parquet. rothko anonymize writes other formats."
            )
        return save(place.staged_in(self._there(self._data).parent), self._write)

    def _write(self, out: Outgoing) -> Unverified[Certificate]:
        [data] = out.files
        with timed(out.timings, "write"), explained(data):
            shutil.copytree(self._there(self._data), data)
            self._recode(out)
        meant, policy = self._written.meant, self.certificate.policy
        return Unverified(
            lambda: verify_written(self._cluster, data, ".parquet", meant, policy), self._certified,
            self._written.escaped, {data: sha256(data / MANIFEST)},
        )  # fmt: skip

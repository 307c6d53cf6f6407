"""A release of sets on a cluster: made and written by executors, verified there, moved into place as a folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rothko.data.source.spark import brought
from rothko.engines.disk.spill import Spill
from rothko.engines.engine import Io
from rothko.engines.growing import Holder
from rothko.engines.options import Spark
from rothko.engines.plan import as_bytes, budget
from rothko.engines.spark.cluster import Cluster
from rothko.engines.spark.run import TASK
from rothko.errors import InputError, OutputError, PolicyError
from rothko.mistakes import said
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.progress import Progress, silent
from rothko.release.digest import sha256
from rothko.release.parts import MANIFEST
from rothko.release.place import Place
from rothko.release.save import Outgoing, Unverified, save, timed
from rothko.release.spark.verify import read_written
from rothko.release.stored import Holding
from rothko.release.verify import Verification
from rothko.release.write import explained
from rothko.sets.certificate import SavedSets, SetCertificate
from rothko.sets.files import Reading, Utility
from rothko.sets.methods import SetMethod, SetMondrian, mondrian
from rothko.sets.publish import Kept, SetMetrics, check_feasible
from rothko.sets.spark.finish import Joined, Making, finish
from rothko.sets.spark.grow import Grown, Growth
from rothko.sets.spark.packed import PackedSets
from rothko.sets.spark.reading import open_sets
from rothko.sets.spark.survey import Items, survey
from rothko.sets.spark.verify import verify_sets
from rothko.sets.write import data_ending, free_place

COUNT = 8
"""Bytes of a count."""


def prepare_spread(
    data: Any,
    asked: KAnonymity | K1Anonymity,
    method: SetMethod,
    engine: Spark,
    *,
    reading: Reading | None = None,
    utility: Utility = None,
    seed: int = 0,
    memory: int | str | None = None,
    spill_dir: str | Path | None = None,
    spark_master: str | None = None,
    progress: Progress = silent,
) -> SpreadSets:
    """The flow up to writing: the top of the tree is grown, and the records stay where they lie."""
    if not isinstance(method, SetMondrian) or not isinstance(asked, KAnonymity):
        raise PolicyError(
            f"{method.name} sees all records at once, in memory, and engine spark was asked for; use set-mondrian, or "
            "engine memory."
        )
    if engine != Spark(records_at_once=engine.records_at_once):
        raise PolicyError(
            "engine spark cuts sets by counts of all records; leave out algorithm, test and alpha, which are for "
            "samples of tables."
        )
    how, limit = reading or Reading(), as_bytes(memory) or TASK
    timings: dict[str, float] = {}
    sets = open_sets(data, how, spark_master)
    cluster = Cluster(sets.session)
    cluster.check()
    for_items = budget(limit, row_bytes=1).frequency
    with timed(timings, "read"):
        progress("survey", 0, 1)
        items, rows, notes = survey(cluster, sets, how, utility, memory=for_items // 2)
        progress("survey", 1, 1)
    check_feasible(rows, asked)
    if 2 * COUNT * items.size > for_items:
        raise InputError(
            f"{sets.label} has {items.size:,} different items, more than can be counted in {for_items / 1e6:,.0f} MB; "
            f"raise {said('--memory')}, or drop rare items before: what fewer than k records have is never published."
        )
    with timed(timings, "partition"):
        records = PackedSets.of(cluster, sets.frame, items)
        growth = Growth(records, items, method, asked.k, rows, 0, for_items // COUNT, progress)
        [frequencies] = growth.count([0])
        method.refuse_wide(items.size, int((frequencies >= asked.k).sum()))
        record = 4 * -(-int(frequencies.sum()) // rows) + 8
        growth.fits = budget(limit, row_bytes=record).within(engine.records_at_once).tuples
        _refuse_small(method, min(mondrian.PART, rows), growth.fits)
        grown = growth.grow(frequencies)
    whole = max((leaf.rows for leaf in grown.leaves if leaf.whole is not None), default=0)
    if whole and method.criterion == "utility" and asked.k == mondrian.PAIRS:
        raise InputError(
            f"With k = 2 records are paired, and {whole:,} that no item may cut are more than a task can hold "
            f"({growth.fits:,}); raise {said('--memory')}, or use the criterion even."
        )
    return SpreadSets(
        records=records, source=sets.path, items=items, rows=rows, frequencies=frequencies, grown=grown,
        fits=growth.fits, method=method, asked=asked, seed=seed, notes=notes, timings=timings,
        spill_dir=None if spill_dir is None else Path(spill_dir),
    )  # fmt: skip


def _refuse_small(method: SetMondrian, part: int, fits: int) -> None:
    if method.criterion == "utility" and fits < part:
        raise InputError(
            f"set-mondrian with utility improves classes within parts of {part:,} records, and a task can hold "
            f"{fits:,}; raise {said('--memory')} or records_at_once, or use the criterion even."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadSets:
    """A release whose tree is grown and whose records lie on a cluster."""

    records: PackedSets
    source: Path | None
    """Where the records lie, if that is a file or folder of this machine."""
    items: Items
    rows: int
    frequencies: NDArray[np.int64]
    """How many records have each item."""
    grown: Grown
    fits: int
    """Records that a task can hold."""
    method: SetMondrian
    asked: KAnonymity
    seed: int
    notes: tuple[str, ...]
    timings: Mapping[str, float]
    spill_dir: Path | None

    def save(self, out: str | Path | Place, *, delimiter: str = " ", overwrite: bool = False) -> SavedSets:
        """Have the sets written, verified and certified; see :meth:`rothko.sets.release.SetRelease.save`.

        Under the name of the file there will be a folder of files.
        """
        place = _place(out, self.source, overwrite)
        ending = data_ending(place.data)

        def write(outgoing: Outgoing) -> Unverified[SetCertificate]:
            [data] = outgoing.files
            with timed(outgoing.timings, "write"):
                joined = self._made(data, ending, delimiter)
            checked = Checked(self, joined)
            return Unverified(
                lambda: checked.verify(data, ending, delimiter), checked.certify, hashes={data: joined.manifest}
            )

        return SavedSets.of(save(place.staged_in(self.spill_dir), write))

    def store(self) -> HeldSets:
        """Have everything written and verified in a private folder, which the release then holds."""
        spill, timings = Spill.open(self.spill_dir), dict[str, float]()
        spill.keep_open()
        data = spill.folder / "release.parquet"
        try:
            with timed(timings, "write"):
                checked = Checked(self, self._made(data, ".parquet", " "))
            with timed(timings, "verify"):
                certificate = checked.certify(checked.verify(data, ".parquet", " "))
        except BaseException:
            spill.close()
            raise
        certificate = replace(certificate, timings=certificate.timings | timings)
        return HeldSets(certificate, data, checked, spill)

    def _made(self, data: Path, ending: str, delimiter: str) -> Joined:
        with explained(data):
            data.mkdir()
        making = Making(
            method=self.method, k=self.asked.k, seed=self.seed, rows=self.rows, items=self.items,
            ranks=self.method.ranks(self.items.utility, self.frequencies), part=mondrian.PART, top=self.grown.top,
            leaves=self.grown.leaves, files=-(-self.rows // self.fits), ending=ending, delimiter=delimiter,
            folder=data.absolute(),  # tasks work in folders of their own
        )  # fmt: skip
        joined = finish(self.records, making)
        self.records.held.close()
        return joined


@dataclass(slots=True)
class Checked:
    """What verifies files of a release, and certifies what was found in them."""

    release: SpreadSets
    joined: Joined
    kept: Kept | None = None

    def verify(self, data: Path, ending: str, delimiter: str) -> Verification:
        """Read the files again; an error where they are not what they should be."""
        made, items = self.release, self.release.items
        found, self.kept = verify_sets(
            made.records.cluster, data, ending, delimiter, self.joined, made.asked, items.names, items.utility
        )
        return found

    def certify(self, found: Verification) -> SetCertificate:
        """The certificate of what was found."""
        assert self.kept is not None
        made = self.release
        io = Io(passes=made.records.cluster.collected.jobs, repartitions=1, reads=None, writes=None)
        metrics = SetMetrics.of(self.kept, made.frequencies, made.items.utility)
        return SetCertificate(
            method=made.method, asked=made.asked, verification=found, metrics=metrics, seed=made.seed,
            notes=made.notes, timings=dict(made.timings), engine=Spark.name, io=io,
        )  # fmt: skip


class HeldSets(Holding):
    """Published sets in a private folder of files."""

    def __init__(self, certificate: SetCertificate, data: Path, checked: Checked, holder: Holder) -> None:
        super().__init__(holder)
        self._certificate, self._data, self._checked = certificate, data, checked

    def __repr__(self) -> str:
        found = self._certificate.verification
        return f"HeldSets({found.rows:,} records in {found.classes:,} classes, verified: {found.holds})"

    @property
    def certificate(self) -> dict[str, Any]:
        """What was asked, what was verified, what was lost; plain data without item texts."""
        return self._certificate.to_dict()

    @property
    def metrics(self) -> SetMetrics:
        """What is kept."""
        return self._certificate.metrics

    @property
    def table(self) -> Any:
        """The published sets, as a DataFrame of Spark that reads the files: a list column ``items``."""
        session = self._checked.release.records.cluster.session
        return read_written(session, self._there(self._data), ".parquet", ("items",))

    def to_lists(self) -> list[list[str]]:
        """The published sets as lists of texts, all of them brought here."""
        return cast("list[list[str]]", brought(self.table).column("items").to_pylist())

    def save(self, out: str | Path | Place, *, overwrite: bool = False) -> SavedSets:
        """Copy the files to a folder, and verify them there."""
        place = _place(out, self._checked.release.source, overwrite)
        if data_ending(place.data) != ".parquet":
            raise OutputError(
                f"The release of a Spark DataFrame is a folder of Parquet files; name {place.data.stem}.parquet. "
                "rothko sets writes other formats."
            )

        def write(outgoing: Outgoing) -> Unverified[SetCertificate]:
            [data] = outgoing.files
            with timed(outgoing.timings, "write"), explained(data):
                shutil.copytree(self._there(self._data), data)
            checked = self._checked
            return Unverified(
                lambda: checked.verify(data, ".parquet", " "), checked.certify, hashes={data: sha256(data / MANIFEST)}
            )

        return SavedSets.of(save(place.staged_in(self._there(self._data).parent), write))


def _place(out: str | Path | Place, source: Path | None, overwrite: bool) -> Place:
    if isinstance(out, Place):
        return out
    return free_place(out, inputs=[] if source is None else [source], overwrite=overwrite, in_parts=True)

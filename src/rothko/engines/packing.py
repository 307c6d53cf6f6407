"""Records as they are written to disk or sent over a cluster: Arrow record batches, without a schema.

Neither the names of columns nor dictionaries travel. Codes are in the narrowest type that their line or domain needs.
Codes and the columns that are kept are batches of their own, so that the former can go while the latter stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.survey.coded import Coded, Outline
from rothko.engines.kept import Stored


class Packed(NamedTuple):
    """Some records."""

    codes: pa.RecordBatch
    kept: pa.RecordBatch | None
    """The columns that are released as they are; None where there are none."""

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.codes.num_rows)

    def slice(self, begin: int, rows: int | None = None) -> Packed:
        """Some of them, side by side."""
        return Packed(self.codes.slice(begin, rows), None if self.kept is None else self.kept.slice(begin, rows))


class Packing:
    """How the records of a table are packed, and what they are again; plain data.

    Parameters
    ----------
    kept
        The columns that are released as they are, in the order of the source.
    """

    def __init__(self, outline: Outline, kept: pa.Schema) -> None:
        sizes = [line.size for line in outline.lines] + [domain.size for domain in outline.domains.values()]
        self._kinds = [np.min_scalar_type(max(size - 1, 0)) for size in sizes]
        self._lines = len(outline.lines)
        self._names = tuple(outline.domains)
        self._stored = Stored(kept) if kept.names else None
        self.codes = pa.schema([(str(i), pa.from_numpy_dtype(kind)) for i, kind in enumerate(self._kinds)])
        """The schema of batches of codes."""

    @property
    def kept(self) -> pa.Schema | None:
        """The schema of batches of the columns that are kept."""
        return None if self._stored is None else self._stored.stored

    def pack(self, coded: Coded) -> Packed:
        """Some records."""
        columns = [*coded.codes, *(coded.values[name] for name in self._names)]
        narrow = [column.astype(kind) for column, kind in zip(columns, self._kinds, strict=True)]
        kept = None if self._stored is None else self._stored.store(coded.kept)
        return Packed(pa.record_batch(narrow, schema=self.codes), kept)

    def unpack(self, rows: int, packed: Iterable[Packed]) -> Coded:
        """Records that were packed some at a time, so many in all, in one piece."""
        codes = np.empty((self._lines, rows), dtype=np.int32)
        values = {name: np.empty(rows, dtype=np.int32) for name in self._names}
        kept, begin = [], 0
        for some in packed:
            for place, column in zip((*codes, *values.values()), some.codes.columns, strict=True):
                place[begin : begin + some.rows] = column.to_numpy()
            if some.kept is not None:
                kept.append(some.kept)
            begin += some.rows
        return Coded(codes, values, pa.table({}) if self._stored is None else self._stored.restore(kept))


def by_part(packed: Packed, part_of: NDArray[np.int32], parts: int) -> tuple[Packed, NDArray[np.int32]]:
    """Records in the order of their parts, those of none (−1) left out; where each part begins, and the last one ends.

    >>> some = Packed(pa.record_batch({"0": [7, 8, 9]}), None)
    >>> found, begins = by_part(some, np.array([1, -1, 0], dtype=np.int32), 2)
    >>> found.codes["0"].to_pylist(), begins.tolist()
    ([9, 7], [0, 1, 2])
    """
    from rothko.kernels.mondrian.arrange import arrange_many

    after_none = part_of + np.int32(1)
    sizes = np.bincount(after_none, minlength=parts + 1)
    if len(sizes) > parts + 1:
        raise ValueError(f"there are {parts} parts, and a record is for part {len(sizes) - 2}")
    order = np.empty(len(part_of), dtype=np.int32)
    arrange_many(after_none, 0, parts + 1, sizes, order)
    places = pa.array(order[sizes[0] :])
    # The places are right by construction; checking them would double the time of this, the dearest step.
    taken = Packed(*(None if batch is None else pc.take(batch, places, boundscheck=False) for batch in packed))
    return taken, (np.cumsum(sizes) - sizes[0]).astype(np.int32)


def record_bytes(outline: Outline) -> int:
    """Bytes of the codes of one record, without the columns that are kept as they are."""
    return sum(kind.bit_width // 8 for kind in Packing(outline, pa.schema([])).codes.types)

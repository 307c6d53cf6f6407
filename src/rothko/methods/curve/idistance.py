"""idistance and idistance-fast: records by the nearest of some centres, then by their distance to it.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, sections 3 to 5, with
the mapping of Yu, Ooi, Tan, Jagadish: Indexing the Distance. VLDB 2001. Centres come from a tenth of the records and
are put in the order of the Hilbert curve. A record's place is that of its nearest centre, plus the distance.

Where the paper is silent: the sample is clustered by k-means, begun as k-means++ does, with a few rounds; distances are
Euclidean over coordinates from 0 to 1 (:func:`rothko.methods.curve.curve.coordinates`); centres lie so far apart on the
curve that the records of two of them never mix; records at the same distance are put in the order of their codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.classes import LocalClasses
from rothko.methods.curve.curve import BITS, Curve, coordinates, fields_for, pack_codes, pieces, sort_records
from rothko.methods.curve.onedim import group
from rothko.methods.method import LocalMethod, Progress, flag
from rothko.privacy.requirement import Requirement, whole_number
from rothko.progress import each

CENTRES = 512
SAMPLE = 10
"""One of so many records is in the sample that the centres come from."""
ROUNDS = 5
"""How often centres move to the mean of the records that they are nearest to."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class IDistance(LocalMethod):
    """Groups along iDistance that lose least, as their boxes tell (iDist in the paper).

    >>> IDistance(centres=64).name
    'idistance'
    """

    name: ClassVar[str] = "idistance"
    exact: ClassVar[bool] = True
    """Whether the loss of a group is that of its box, or how far it reaches along the curve."""

    centres: int = CENTRES
    """How many centres there are; fewer where the sample has not so many different records."""

    def __post_init__(self) -> None:
        flag(self.name, "repair", self.repair)
        whole_number(self.name, "centres", self.centres, least=1)

    def group(
        self, encoded: Encoded, requirements: Sequence[Requirement], *, seed: int, threads: int, progress: Progress
    ) -> LocalClasses:
        """Group the records along the curve."""
        curve = idistance_curve(encoded, centres=self.centres, seed=seed, threads=threads)
        found = group(encoded, curve, requirements, name=self.name, exact=self.exact, threads=threads)
        progress(encoded.rows)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class IDistanceFast(IDistance):
    """Groups along iDistance that reach least far along it (iDistFast in the paper): faster, and lose more."""

    name: ClassVar[str] = "idistance-fast"
    exact: ClassVar[bool] = False


def idistance_curve(encoded: Encoded, *, centres: int = CENTRES, seed: int, threads: int) -> Curve:
    """Put the records in the order of iDistance, with their distances along it."""
    from rothko.kernels.curve.idistance import place_points

    tables = coordinates(encoded.lines)
    starts, joined = np.cumsum([0, *map(len, tables)]), np.concatenate(tables).astype(np.float32)

    def points_of(records: NDArray[np.int64]) -> Floats:
        points = np.empty((len(records), len(tables)), dtype=np.float32)
        each(lambda piece: place_points(encoded.codes, joined, starts, records, *piece, points), pieces(len(records)),
             threads)  # fmt: skip
        return points

    random = np.random.default_rng(seed)
    sample = np.sort(random.choice(encoded.rows, -(-encoded.rows // SAMPLE), replace=False))
    found = in_hilbert_order(centres_of(points_of(sample), random.random(centres), threads))
    points = points_of(np.arange(encoded.rows))
    owner, distance = _nearest(points, found, threads)
    fields, below = fields_for([line.size for line in encoded.lines])
    words = np.zeros((1 + below, encoded.rows), dtype=np.uint64)
    words[0] = owner.astype(np.uint64) << np.uint64(32) | distance.view(np.uint32)
    pack_codes(encoded, range(len(tables)), fields, words[1:])
    order = sort_records(words, threads)
    # No record lies farther from a centre than the corners of the space from each other.
    along = owner[order] * np.sqrt(len(tables)) + distance[order]
    return Curve(order, np.diff(along, prepend=along[:1]))


def centres_of(points: Floats, draws: NDArray[np.float64], threads: int) -> Floats:
    """(dimensions, centres) of a sample, by k-means; ``draws`` are numbers between 0 and 1, one for each centre."""
    from rothko.kernels.curve.idistance import move_centres, seed_centres

    centres = np.ascontiguousarray(points[seed_centres(np.ascontiguousarray(points.T), draws)].T)
    for _ in range(ROUNDS):
        owner, _ = _nearest(points, centres, threads)
        move_centres(points, owner, centres)
    return centres


def in_hilbert_order(centres: Floats) -> Floats:
    """Centres in the order of the Hilbert curve."""
    from rothko.kernels.curve.hilbert import hilbert_keys

    dimensions, count = centres.shape
    most = (1 << BITS) - 1
    codes = np.rint(np.clip(centres, 0, 1) * most).astype(np.int32)
    keys = np.zeros((-(-dimensions * BITS // 64), count), dtype=np.uint64)
    same = np.arange(most + 1, dtype=np.uint16)
    hilbert_keys(codes, np.arange(dimensions), same, np.zeros(dimensions, dtype=np.int64), BITS, 0, count, keys)
    return np.ascontiguousarray(centres[:, sort_records(keys, 1)])


def _nearest(points: Floats, centres: Floats, threads: int) -> tuple[NDArray[np.int64], Floats]:
    """The nearest centre of each point, and how far it is."""
    from rothko.kernels.curve.idistance import nearest_centres

    owner, distance = np.empty(len(points), dtype=np.int64), np.empty(len(points), dtype=np.float32)
    each(lambda piece: nearest_centres(points, centres, *piece, owner, distance), pieces(len(points)), threads)
    return owner, distance

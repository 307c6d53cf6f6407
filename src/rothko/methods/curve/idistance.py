"""idistance and idistance-fast: records by the nearest of some centres, then by their distance to it.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, sections 3 to 5, with
the mapping of Yu, Ooi, Tan, Jagadish: Indexing the Distance. VLDB 2001. Centres come from a tenth of the records, or
65,536 if that is less (:mod:`rothko.methods.curve.sample`), and are put in the order of the Hilbert curve. A record's
place is that of its nearest centre, plus the distance.

Where the paper is silent: the sample is clustered by k-means, begun as k-means++ does, with a few rounds; distances are
Euclidean over coordinates from 0 to 1 (:func:`rothko.methods.curve.curve.coordinates`); centres lie so far apart on the
curve that the records of two of them never mix; records at the same distance are put in the order of their codes. By
the paper (``reading: paper``) a tenth of the records is drawn however many these are, coordinates are numbers
(:func:`rothko.methods.curve.curve.numbers_of`), and the place of a centre is its Hilbert value, which may be nearer to
that of the next one than their records are to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.methods.curve.curve import (
    BITS,
    Between,
    Keyed,
    Keys,
    coordinates,
    fields_for,
    gaps_of_keys,
    numbers_of,
    pack_codes,
    pieces,
    sort_records,
)
from rothko.methods.curve.method import CurveMethod
from rothko.methods.curve.segments import WORD, as_words
from rothko.methods.letter import Reading
from rothko.privacy.requirement import whole_number
from rothko.progress import each

CENTRES = 512
SAMPLE = 10
"""One of so many records is in the sample that the centres come from,"""
MOST_SAMPLED = 1 << 16
"""unless that is more than so many."""
ROUNDS = 5
"""How often centres move to the mean of the records that they are nearest to."""
FRACTION = 32
"""Bits behind the point of a place that is a Hilbert value plus a distance."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class IDistance(CurveMethod):
    """Groups along iDistance that lose least, as their boxes tell (iDist in the paper).

    >>> IDistance(centres=64).name
    'idistance'
    """

    name: ClassVar[str] = "idistance"
    centres: int = CENTRES
    """How many centres there are; fewer where the sample has not so many different records."""

    def __post_init__(self) -> None:
        CurveMethod.__post_init__(self)
        whole_number(self.name, "centres", self.centres, least=1)

    def sampled(self, rows: int) -> int:
        """How many of so many records centres come from."""
        share = -(-rows // SAMPLE)
        return share if self.reading == "paper" else min(share, MOST_SAMPLED)

    def mapping(self, sample: Encoded, *, seed: int, threads: int) -> IDistanceMapping | HilbertValueMapping:
        """The centres of a sample of the records."""
        points = Coordinates.of(sample.lines, self.reading).points(sample, threads)
        draws = np.random.default_rng(seed).random(self.centres)
        centres = centres_of(points, draws, threads)
        return (
            HilbertValueMapping.of(centres) if self.reading == "paper" else IDistanceMapping(in_hilbert_order(centres))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class IDistanceFast(IDistance):
    """Groups along iDistance that reach least far along it (iDistFast in the paper): faster, and lose more."""

    name: ClassVar[str] = "idistance-fast"
    exact: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, eq=False)
class IDistanceMapping:
    """Places by the nearest of some centres, then by the distance to it."""

    centres: Floats
    """(dimensions, centres), in their order along the curve."""

    @property
    def _bits(self) -> int:
        """Of the number of a centre."""
        return max(int(self.centres.shape[1] - 1).bit_length(), 1)

    def keys(self, encoded: Encoded, *, threads: int) -> Keys:
        """Centre and distance in one word, then the codes."""
        return self.on(encoded.lines)(encoded, threads)

    def on(self, lines: Sequence[Line]) -> Keyed:
        """The coordinate of each code of each line, looked up."""
        placed = Coordinates.of(lines)
        fields, below = fields_for([line.size for line in lines])

        def keyed(encoded: Encoded, threads: int, between: Between | None = None) -> Keys:
            first, last = self._among(between, 64 * (1 + below))
            centres = np.ascontiguousarray(self.centres[:, first : last + 1])
            owner, distance = _nearest(placed.points(encoded, threads), centres, threads)
            owner += first
            words = np.zeros((1 + below, encoded.rows), dtype=np.uint64)
            far = distance.view(np.uint32).astype(np.uint64)  # of numbers that are not negative, bits rise as they do
            words[0] = owner.astype(np.uint64) << np.uint64(64 - self._bits) | far << np.uint64(32 - self._bits)
            pack_codes(encoded, range(len(fields)), fields, words[1:])
            return Keys(words, 1, 64 * len(words))

        return keyed

    def _among(self, between: Between | None, bits: int) -> tuple[int, int]:
        """The first and the last centre that records may be nearest to, given what keys, of so many bits, they have."""
        last = self.centres.shape[1] - 1
        if between is None:
            return 0, last
        first, end = (min(key >> (bits - self._bits), last) for key in between)
        return first, end

    def gaps(self, keys: Keys, order: NDArray[np.int32], *, threads: int) -> NDArray[np.float64]:
        """How far records lie behind each other, where each centre begins behind all records of the one before it."""
        place = keys.words[0, order]
        owner = place >> np.uint64(64 - self._bits)
        distance = (place >> np.uint64(32 - self._bits)).astype(np.uint32).view(np.float32)
        # No record lies farther from a centre than the corners of the space from each other.
        along = owner * np.sqrt(len(self.centres)) + distance
        return np.diff(along, prepend=along[:1])


@dataclass(frozen=True, slots=True, eq=False)
class HilbertValueMapping:
    """Places by the Hilbert value of the nearest of some centres, plus the distance to it, as the paper has them."""

    centres: Floats
    """(dimensions, centres), in whole steps of the curve."""
    values: NDArray[np.uint64]
    """(words, centres): the Hilbert value of each, with so many bits behind the point at the end of the last word."""

    @classmethod
    def of(cls, centres: Floats) -> HilbertValueMapping:
        """What some centres come to."""
        dimensions, count = centres.shape
        bits = dimensions * BITS
        keys = _hilbert_keys(np.rint(np.clip(centres, 0, (1 << BITS) - 1)).astype(np.int32))
        # One bit more than a value has: no distance is larger than the largest of them.
        words = -(-(1 + bits + FRACTION) // WORD)
        found = np.empty((words, count), dtype=np.uint64)
        for c, key in enumerate(keys.T.tolist()):
            value = sum(word << WORD * (len(key) - 1 - i) for i, word in enumerate(key)) >> (WORD * len(key) - bits)
            found[:, c] = as_words(value << FRACTION, WORD * words, words)
        return cls(centres, found)

    def keys(self, encoded: Encoded, *, threads: int) -> Keys:
        """The place, then the codes."""
        return self.on(encoded.lines)(encoded, threads)

    def on(self, lines: Sequence[Line]) -> Keyed:
        """The coordinate of each code of each line, looked up."""
        placed = Coordinates.of(lines, "paper")
        fields, below = fields_for([line.size for line in lines])
        count = len(self.values)

        def keyed(encoded: Encoded, threads: int, between: Between | None = None) -> Keys:
            owner, distance = _nearest(placed.points(encoded, threads), self.centres, threads)
            words = np.zeros((count + below, encoded.rows), dtype=np.uint64)
            words[:count] = self.values[:, owner]
            carried = np.rint(distance.astype(np.float64) * 2.0**FRACTION).astype(np.uint64)
            for word in words[count - 1 :: -1]:
                word += carried
                carried = (word < carried).astype(np.uint64)
            pack_codes(encoded, range(len(fields)), fields, words[count:])
            return Keys(words, count, WORD * len(words))

        return keyed

    def gaps(self, keys: Keys, order: NDArray[np.int32], *, threads: int) -> NDArray[np.float64]:
        """Differences of places, as shares of what their words hold."""
        return gaps_of_keys(keys, order, threads)


class Coordinates(NamedTuple):
    """The coordinates of the codes of some lines, one line after the other."""

    values: Floats
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, lines: Sequence[Line], reading: Reading = "rothko") -> Coordinates:
        """Those of all codes: shares of the range of a line, or numbers, as in the paper."""
        tables = numbers_of(lines, BITS) if reading == "paper" else coordinates(lines)
        return cls(np.concatenate(tables).astype(np.float32), np.cumsum([0, *map(len, tables)]))

    def points(self, encoded: Encoded, threads: int) -> Floats:
        """(dimensions, records): the coordinates of records."""
        from rothko.kernels.curve.idistance import place_points

        points = np.empty((len(self.starts) - 1, encoded.rows), dtype=np.float32)

        def compute(piece: tuple[int, int]) -> None:
            place_points(encoded.codes, self.values, self.starts, *piece, points)

        each(compute, pieces(encoded.rows), threads)
        return points


def centres_of(points: Floats, draws: NDArray[np.float64], threads: int) -> Floats:
    """The centres of a sample, both (dimensions, points), by k-means.

    ``draws`` are numbers between 0 and 1, one for each centre.
    """
    from rothko.kernels.curve.idistance import move_centres, seed_centres

    centres = np.ascontiguousarray(points[:, seed_centres(points, draws)])
    for _ in range(ROUNDS):
        owner, _ = _nearest(points, centres, threads)
        move_centres(points, owner, centres)
    return centres


def in_hilbert_order(centres: Floats) -> Floats:
    """Centres in the order of the Hilbert curve."""
    cells = np.rint(np.clip(centres, 0, 1) * ((1 << BITS) - 1)).astype(np.int32)
    return np.ascontiguousarray(centres[:, sort_records(_hilbert_keys(cells), 1)])


def _hilbert_keys(cells: NDArray[np.int32]) -> NDArray[np.uint64]:
    """(words, cells): the keys of (dimensions, cells) along the Hilbert curve, from the top bit on."""
    from rothko.kernels.curve.hilbert import hilbert_keys

    dimensions, count = cells.shape
    keys = np.zeros((-(-dimensions * BITS // 64), count), dtype=np.uint64)
    same = np.arange(1 << BITS, dtype=np.uint16)
    hilbert_keys(cells, np.arange(dimensions), same, np.zeros(dimensions, dtype=np.int64), BITS, 0, count, keys)
    return keys


def _nearest(points: Floats, centres: Floats, threads: int) -> tuple[NDArray[np.int64], Floats]:
    """The nearest centre of each point, and how far it is."""
    from rothko.kernels.curve.idistance import nearest_centres

    count = points.shape[1]
    owner, distance = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.float32)
    each(lambda piece: nearest_centres(points, centres, *piece, owner, distance), pieces(count), threads)
    return owner, distance

"""Methods that map records to a curve and group them with the neighbours that they have there.

They differ in the mapping, and in what a group loses. A long row is grouped segment by segment
(:mod:`rothko.methods.curve.segments`), each by itself; so records that lie elsewhere are grouped alike, wherever each
segment is brought together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from rothko.data.encode import Encoded
from rothko.methods.classes import LocalClasses
from rothko.methods.curve.curve import Curve, Keys, Mapping, curve_of
from rothko.methods.curve.onedim import group, one_class, shares_of
from rothko.methods.curve.sample import draw
from rothko.methods.curve.segments import Segment, cut, held, sorted_counts
from rothko.methods.layout import fewest
from rothko.methods.letter import Reading, check_reading
from rothko.methods.method import LocalMethod, Progress, flag, silent
from rothko.privacy.requirement import Requirement, whole_number
from rothko.privacy.statistics import Statistics
from rothko.progress import each

SEGMENT = 1 << 18
"""Records of a segment, at most, where nobody says."""
CLASSES_IN_SEGMENT = 256
"""How many classes a segment has room for at least, where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveMethod(LocalMethod):
    """Base of the methods along a curve."""

    in_segments: ClassVar[Literal["exactly", "nearly", "no"]] = "exactly"
    exact: ClassVar[bool] = True
    """Whether the loss of a group is that of its box, or how far it reaches along the curve."""

    segment: int | Literal["auto"] = "auto"
    """Records along the curve that are grouped together, at most; longer rows are cut by their keys."""
    reading: Reading = "rothko"
    """How the paper is read: ``paper`` has its coordinates, its optimisation of groups for l, and one row of all."""

    def __post_init__(self) -> None:
        flag(self.name, "repair", self.repair)
        check_reading(self.name, self.reading)
        if self.segment != "auto":
            whole_number(self.name, "segment", self.segment, least=2)

    def longest(self, encoded: Encoded, requirements: Sequence[Requirement]) -> int | None:
        """Records of a segment, at most; None where all are one.

        Where people are counted they are: a person may have records in several. And where l-diverse groups are made of
        records that need not be neighbours, unless somebody says otherwise: a value that is frequent in one place goes
        into groups of another, and the row must be long enough for that. The paper knows no segments.
        """
        together = self.reading == "paper" or shares_of(encoded, requirements)
        if encoded.owner is not None or (self.segment == "auto" and together):
            return None
        k = fewest(requirements)
        return max(SEGMENT, CLASSES_IN_SEGMENT * k) if self.segment == "auto" else max(self.segment, 2 * k)

    def group(
        self, encoded: Encoded, requirements: Sequence[Requirement], *, seed: int, threads: int, progress: Progress
    ) -> LocalClasses:
        """Group the records along the curve, segment by segment."""
        size = self.sampled(encoded.rows)
        sample = draw(encoded, size, seed, threads=threads) if size else encoded
        keys, curve = curve_of(self.mapping(sample, seed=seed, threads=threads), encoded, threads=threads)
        segments = self._segments(encoded, keys, curve, requirements)
        del keys
        return self._by_segment(encoded, curve, segments, requirements, threads, progress)

    def within(
        self,
        encoded: Encoded,
        mapping: Mapping,
        requirements: Sequence[Requirement],
        *,
        segments: Sequence[Segment],
        seed: int,
        threads: int = 1,
        room: int | None = None,
    ) -> LocalClasses:
        """The classes of the records of some segments that follow each other."""
        _, curve = curve_of(mapping, encoded, threads=threads)
        return self._by_segment(encoded, curve, segments, requirements, threads, silent)

    def _by_segment(
        self,
        encoded: Encoded,
        curve: Curve,
        segments: Sequence[Segment],
        requirements: Sequence[Requirement],
        threads: int,
        progress: Progress,
    ) -> LocalClasses:
        """Group the records of each segment by themselves; they lie one segment after the other along the curve."""
        ends = np.cumsum([0, *(segment.rows for segment in segments)]).tolist()
        side_by_side = threads if len(segments) >= threads else 1

        def work(one: tuple[Segment, tuple[int, int]]) -> LocalClasses:
            segment, span = one
            within = 1 if side_by_side > 1 else threads
            found = self._along(encoded, curve.piece(*span), requirements, segment.alike, within)
            progress(segment.rows)
            return found

        return LocalClasses.joined(each(work, list(zip(segments, pairwise(ends), strict=True)), side_by_side))

    def _along(
        self, encoded: Encoded, curve: Curve, requirements: Sequence[Requirement], alike: bool, threads: int
    ) -> LocalClasses:
        if alike:
            return one_class(encoded, curve, threads=threads)
        by_paper = self.reading == "paper"
        return group(encoded, curve, requirements, name=self.name, exact=self.exact, by_paper=by_paper, threads=threads)

    def _segments(
        self, encoded: Encoded, keys: Keys, curve: Curve, requirements: Sequence[Requirement]
    ) -> list[Segment]:
        """The segments of all records."""
        most = self.longest(encoded, requirements)
        if most is None or encoded.rows <= most:
            return [Segment(0, encoded.rows)]
        segments = cut(encoded.rows, most, keys.bits, sorted_counts(keys.words, curve.order, keys.bits))
        of = np.empty(encoded.rows, dtype=np.int32)
        of[curve.order] = np.repeat(np.arange(len(segments), dtype=np.int32), [one.rows for one in segments])
        return held(segments, Statistics.count(of, len(segments), encoded.sensitive, requirements), requirements)

"""What a recipient has: the rows of a release to train on, and exact records to predict.

The rows are read back from what they publish (:func:`rothko.metrics.published.read_shown`), whatever method made them;
the target stands beside, as it is released. So nothing enters that a recipient would not have, but for the values that
a column can take, which are those of the training part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.line import Line
from rothko.data.typed import with_one_missing
from rothko.learn.encoding import Feature, Floats, Labels, Numbers
from rothko.learn.regions import Form, Original, Points, draw, is_label, line_numbers, middle, takes_whole_numbers
from rothko.metrics.published import Shown, read_shown


@dataclass(frozen=True, slots=True)
class Released:
    """The rows of a release as a model is shown them."""

    original: Original
    """What is known of the columns."""
    form: Form

    def view(self, table: pa.Table, *, seed: int | Sequence[int] = 0) -> list[Feature]:
        """The features of all rows; ``seed`` is for points that are drawn in a range."""
        stream = np.random.default_rng(seed)
        return [self._feature(point, table[point.name], stream) for point in self.original.points]

    def _feature(self, point: Points, column: pa.ChunkedArray, stream: np.random.Generator) -> Feature:
        line = self.original.lines.get(point.name)
        if line is None:
            return point.feature(with_one_missing(point.name, column, self.original.policy.missing))[0]
        # Each distinct text is read once.
        texts = column.cast(pa.string()).combine_chunks().dictionary_encode()
        shown, _ = read_shown(line, "range", pa.chunked_array([pa.concat_arrays([texts.dictionary, NOTHING])]), None)
        region = pc.fill_null(texts.indices, len(texts.dictionary)).to_numpy(zero_copy_only=False)
        if not is_label(line):
            return Numbers(self._numbers(line, shown, region, stream))
        if shown.members is not None:
            return Labels(line.size, shown.members, region)
        return Labels.between(line.size, shown.low[region], shown.high[region])

    def _numbers(self, line: Line, shown: Shown, region: NDArray[np.integer], stream: np.random.Generator) -> Floats:
        """Ranges as one number or two; what is published as ``*`` or as missing is the whole line."""
        numbers = np.append(line_numbers(line.values), np.nan)
        if len(numbers) == 1:
            return np.zeros((len(region), 2 if self.form == "corners" else 1))
        last = len(numbers) - 2
        whole = shown.absent | (shown.high > last)
        low = numbers[np.where(whole, 0, shown.low)][region]
        high = numbers[np.where(whole, last, shown.high)][region]
        if self.form == "corners":
            return np.column_stack([low, high])
        if self.form == "sample":
            return draw(low, high, takes_whole_numbers(line.values), stream)[:, None]
        return middle(low, high)[:, None]


NOTHING = pa.array([None], pa.string())
"""What a class publishes whose values are all missing."""

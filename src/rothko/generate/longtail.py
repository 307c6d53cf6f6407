"""Synthetic records with a long tail of items, as Podgursky made them.

"Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), chapter V, Synthetic Data: 100,000 records over 1,000
items with frequencies from 0.5 to 0.001 on the logarithmic curve of Figure 19, 40 items a record on average with a
standard deviation of 24, and utilities drawn uniformly from 1 to 100. The targeting dataset there has 20,616,891
records over 1,987 items; it is not public, and the same curve stands in for it.

The thesis gives the ends of the curve, not its formula. Neither a straight line over the logarithm of the rank (73
items a record) nor a geometric one (80) has a mean of 40, so the logarithm of the frequency falls with a power of the
rank that gives it. Items that were drawn one by one would leave a standard deviation of 6; so every record has an
activity, drawn from a gamma distribution, with which the rates of all items rise and fall. Items are independent given
the activity, and frequencies are exact: an item with frequency f under a gamma of shape a has the rate
a ((1 − f)^(−1/a) − 1).

Records are drawn in blocks of 65,536, each from its own random stream, so the first ones are the same however many are
asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.errors import InputError
from rothko.sets.records import Records, joined

BLOCK = 65_536
ALIKE = (1e-2, 1e4)
"""Shapes of the distribution of activity: from records of all lengths to records that are alike."""
TARGETING = (20_616_891, 1_987)
"""Records and items of the targeting dataset."""


@dataclass(frozen=True, slots=True)
class LongTail:
    """What records look like.

    >>> round(float(LongTail().frequencies().sum()), 6)
    40.0
    """

    items: int = 1_000
    """How many items there are."""
    most: float = 0.5
    """Frequency of the first item."""
    least: float = 0.001
    """Frequency of the last one."""
    mean: float = 40.0
    """Items of a record on average."""
    deviation: float = 24.0
    """Standard deviation of their number."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.items < 2:
            raise InputError(f"There must be at least 2 items, not {self.items}.")
        if not 0 < self.least < self.most < 1:
            raise InputError(f"Frequencies must fall between 1 and 0, not from {self.most} to {self.least}.")
        frequencies = self.frequencies()
        if abs(frequencies.sum() - self.mean) > 1e-6 * self.mean:
            low, high = self._curve(1e-3).sum(), self._curve(1e3).sum()
            raise InputError(
                f"{self.items:,} items with frequencies from {self.most} to {self.least} have between {low:.1f} and "
                f"{high:.1f} items in a record on average, not {self.mean:g}."
            )
        widest, narrowest = _deviation(ALIKE[0], frequencies), _deviation(ALIKE[1], frequencies)
        if not narrowest <= self.deviation <= widest:
            raise InputError(
                f"The deviation must lie between {narrowest:.1f} and {widest:.1f}, not be {self.deviation:g}."
            )

    def frequencies(self) -> NDArray[np.float64]:
        """The share of records that have each item, falling."""
        low, high = 1e-3, 1e3
        for _ in range(200):
            power = float(np.sqrt(low * high))
            low, high = (low, power) if self._curve(power).sum() > self.mean else (power, high)
        return self._curve(float(np.sqrt(low * high)))

    def utilities(self) -> NDArray[np.float64]:
        """Uniform between 1 and 100, to the cent."""
        random = np.random.default_rng([self.seed, 1])
        return np.round(random.uniform(1, 100, self.items), 2)

    def names(self) -> list[str]:
        """Items in the order of their frequency, which is that of their names, too."""
        return [f"i{number:0{len(str(self.items))}d}" for number in range(1, self.items + 1)]

    def shape(self) -> float:
        """Shape of the gamma distribution of activity: the larger, the more alike records are in length."""
        return _shape(self.frequencies().tobytes(), self.deviation)

    def _curve(self, power: float) -> NDArray[np.float64]:
        place = np.linspace(0, 1, self.items) ** power
        return self.most * (self.least / self.most) ** place

    def blocks(self, count: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Records as CSR, up to 65,536 at a time."""
        from rothko.kernels.sets.records import tidy

        shape = self.shape()
        edges = np.cumsum(_rates(shape, self.frequencies()))
        for number, begin in enumerate(range(0, count, BLOCK)):
            random = np.random.default_rng([self.seed, 2, number])
            activity = random.gamma(shape, 1 / shape, BLOCK)
            # So many events at these rates; an item is in the record where one of them is its own.
            starts = np.zeros(BLOCK + 1, dtype=np.int64)
            np.cumsum(random.poisson(activity * edges[-1]), out=starts[1:])
            drawn = random.random(starts[-1]) * edges[-1]
            items = np.minimum(np.searchsorted(edges, drawn, side="right"), self.items - 1).astype(np.int32)
            wanted = min(count - begin, BLOCK)
            tidy(starts, items)
            yield starts[: wanted + 1].copy(), items[: starts[wanted]].copy()


def _rates(shape: float, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
    """The rates that give these frequencies."""
    return shape * ((1 - frequencies) ** (-1 / shape) - 1)


def _deviation(shape: float, frequencies: NDArray[np.float64]) -> float:
    """Standard deviation of the number of items of a record under a gamma of this shape.

    Both of two items are absent with probability E[exp(−activity · (r + s))] = (1 + (r + s) / shape)^−shape.
    """
    rates = _rates(shape, frequencies) / shape
    absent = float((1 - frequencies).sum())
    pairs = float(np.exp(-shape * np.log1p(rates[:, None] + rates[None, :])).sum())
    same = float(((1 + 2 * rates) ** -shape).sum())
    return float(np.sqrt(max(pairs - same + absent - absent**2, 0.0)))


@lru_cache(maxsize=8)
def _shape(frequencies: bytes, deviation: float) -> float:
    """The shape under which the number of items deviates as asked."""
    falling = np.frombuffer(frequencies)
    low, high = ALIKE
    while high > low * (1 + 1e-6):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if _deviation(middle, falling) > deviation else (low, middle)
    return float(np.sqrt(low * high))


def longtail(count: int, shape: LongTail | None = None) -> Records:
    """Records with a long tail.

    >>> records = longtail(1000)
    >>> records.count, records.size
    (1000, 1000)
    """
    if count < 1:
        raise InputError(f"There must be at least 1 record, not {count}.")
    drawn = shape or LongTail()
    lengths, parts = [np.zeros(1, dtype=np.int64)], []
    for starts, items in drawn.blocks(count):
        lengths.append(np.diff(starts))
        parts.append(items)
    return Records(
        np.cumsum(np.concatenate(lengths)), joined(parts), pa.array(drawn.names(), pa.large_string()), drawn.utilities()
    )


def longtail_batches(count: int, shape: LongTail) -> Iterator[pa.RecordBatch]:
    """The records as batches of a list column, never all at once."""
    names = pa.array(shape.names())
    for starts, items in shape.blocks(count):
        texts = names.take(pa.array(items))
        lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), texts)
        yield pa.record_batch([lists], names=["items"])

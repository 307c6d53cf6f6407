"""The domain of a column that is counted: its distinct values, how often each occurs, and the numbers they stand for.

Sensitive columns and the targets of models are released as they are; what is asked of them adds up over codes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.exact import apart, is_exact, nearest, read_exact
from rothko.data.line import as_text
from rothko.errors import PolicyError

NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"


@dataclass(frozen=True, eq=False)
class Domain:
    """The values of a sensitive column. A code is the place of a value here; missing comes after all of them."""

    column: str
    values: pa.Array
    """The distinct values that occur, without the missing one."""
    counts: NDArray[np.int64]
    """How many records of the whole table have each code; missing last."""

    @property
    def size(self) -> int:
        """How many codes there are, with that of missing."""
        return len(self.values) + 1

    @cached_property
    def texts(self) -> pa.Array:
        """The values as text."""
        return as_text(self.values)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number of each code, NaN for missing; text counts as a number where all of it is."""
        kind = self.values.type
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            numbers = self.values.cast(pa.float64(), safe=False)
        elif pa.types.is_boolean(kind) or pa.types.is_temporal(kind):
            raise self._not_numeric(f"it holds {kind}")
        else:
            words = pc.utf8_trim_whitespace(self.texts)
            good = pc.match_substring_regex(words, NUMBER)
            if not pc.all(good, min_count=0).as_py():
                bad = len(words) - good.true_count
                raise self._not_numeric(f"{bad} of its {len(words)} distinct values are no numbers", words, good)
            numbers = pc.utf8_ltrim(words, "+").cast(pa.float64())
        found = np.append(numbers.to_numpy(zero_copy_only=False), np.nan)
        if np.isinf(found).any():
            raise PolicyError(
                f"Column {self.column!r} has infinite numbers, which have no variance; list them under 'missing'."
            )
        return found

    @cached_property
    def exact(self) -> pa.Array | None:
        """The values as whole numbers or decimals; None where floating-point numbers are as good."""
        if pa.types.is_floating(self.values.type) or len(self.values) == 0:
            return None
        numbers = self.numbers[:-1]
        exact = self.values if is_exact(self.values.type) else read_exact(pc.utf8_trim_whitespace(self.texts))
        whole = exact is not None and (pa.types.is_integer(exact.type) or exact.type.scale == 0)
        return None if whole and np.all(np.abs(numbers) < 2.0**53) else exact

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """The rank of the number of each code among all of them, without missing."""
        if self.exact is None:
            return np.asarray(np.unique(self.numbers[:-1], return_inverse=True)[1], dtype=np.int64)
        return np.asarray(pc.rank(self.exact, tiebreaker="dense").to_numpy().astype(np.int64) - 1)

    @cached_property
    def deviations(self) -> NDArray[np.float64]:
        """The number of each code minus the mean of the table (rounded where all are whole); NaN for missing."""
        numbers, counts = self.numbers[:-1], self.counts[:-1]
        if len(numbers) == 0:
            return self.numbers
        if self.exact is not None:
            start = self.exact[0].as_py()
            mean = float(np.dot(apart(self.exact, start), counts)) / max(int(counts.sum()), 1)
            return np.append(apart(self.exact, nearest(mean, start, self.exact.type)), np.nan)
        first = numbers[0]
        with np.errstate(over="ignore", invalid="ignore"):
            # From the first value on, so that the mean of equal values is that very value.
            centre = first + float(np.dot(numbers - first, counts)) / max(int(counts.sum()), 1)
        if not np.isfinite(centre):
            centre = 0.0
        if np.all(numbers == np.rint(numbers)):
            centre = np.rint(centre)
        return np.asarray(self.numbers - centre)

    @cached_property
    def whole(self) -> bool:
        """Whether all deviations are whole numbers."""
        present = self.deviations[:-1]
        return bool(np.all(present == np.rint(present)))

    def _not_numeric(self, why: str, words: pa.Array | None = None, good: pa.Array | None = None) -> PolicyError:
        shown = words.filter(pc.invert(good)).to_pylist() if words is not None else ()
        return PolicyError(
            f"Column {self.column!r} must hold numbers for what is asked of it, and {why}; ask for something "
            f"else of it, or list what stands for no number under 'missing'.",
            values=shown,
        )


class Sensitive(NamedTuple):
    """A sensitive column as codes."""

    codes: NDArray[np.int32]
    """The code of each record."""
    domain: Domain

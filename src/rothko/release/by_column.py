"""What is published where every quasi-identifier is recoded by itself, from counts: for a table that is never whole.

A part of a line shows the same wherever it stands. So what it shows, and that it covers its values, is known from how
many records have each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.methods.classes import ColumnClasses, Parts
from rothko.methods.refine.keys import codes_of, in_order, keys_of
from rothko.policy.policy import Policy
from rothko.release.coverage import Values, check_coverage
from rothko.release.large_class import mean_of, means_shown, numbers_of
from rothko.release.publish import Published, publish
from rothko.release.sql import connect

Shown = Mapping[str, Sequence[Published]]


@dataclass(frozen=True, slots=True)
class ByPart:
    """The recoding of every line, and what its parts show."""

    lines: tuple[Line, ...]
    parts: tuple[Parts, ...]
    published: dict[str, tuple[Published, ...]]
    """Quasi-identifier → its published columns, by part."""

    @classmethod
    def of(
        cls, lines: tuple[Line, ...], parts: tuple[Parts, ...], counts: Sequence[NDArray[np.int64]], policy: Policy
    ) -> ByPart:
        """What is published, given how many records have each code of each line; an error where it does not hold."""
        published: dict[str, tuple[Published, ...]] = {}
        with connect(1) as connection:
            for line, one, times in zip(lines, parts, counts, strict=True):
                shown = {line.name: _published(line, one, times, policy)}
                values = {line.name: Values.at(line, np.arange(line.size, dtype=np.int32))}
                check_coverage(
                    values, one.of_code, [line], shown, by_column=True, times=times, connection=connection
                )  # fmt: skip
                published |= shown
        return cls(lines, parts, published)

    def classes(self, encoded: Encoded) -> ColumnClasses:
        """The classes of some records, in the order of what they show."""
        keys = keys_of(list(encoded.codes), [len(one.low) for one in self.parts], [one.of_code for one in self.parts])
        order, starts, different = in_order(keys)
        return ColumnClasses.showing(order, starts, self.parts, codes_of(different))

    def shown(self, partition: ColumnClasses) -> dict[str, tuple[Published, ...]]:
        """What some classes publish."""
        return {
            line.name: tuple(
                replace(column, of_class=column.of_class[one.of_class]) for column in self.published[line.name]
            )
            for line, one in zip(self.lines, partition.parts, strict=True)
        }


def _published(line: Line, parts: Parts, counts: NDArray[np.int64], policy: Policy) -> tuple[Published, ...]:
    """What the parts of a line show."""
    from rothko.kernels.order import arrange

    count = len(parts.low)
    order, starts = arrange(parts.of_code, count)
    partition = ColumnClasses.showing(order, starts, (parts,), np.arange(count, dtype=np.int32)[None])
    each_value = Encoded((line,), np.arange(line.size, dtype=np.int32)[None], {})
    shown = publish(each_value, partition, policy.publish, workload=policy.workload)[line.name]
    mean = means_shown([line], policy).get(line.name)
    codes = np.split(order, starts[1:-1])
    return tuple(_means(column.name, line, codes, counts) if column.name == mean else column for column in shown)


def _means(name: str, line: Line, codes: Sequence[NDArray[np.int32]], counts: NDArray[np.int64]) -> Published:
    """The mean of each part, of which the codes are given, by how many records have each."""
    numbers = numbers_of(line)
    means = np.array([mean_of(numbers[some], counts[some]) for some in codes])
    values, of_part = np.unique(means, return_inverse=True, equal_nan=True)
    return Published(name, pa.array(values, from_pandas=True), of_part.astype(np.int32))

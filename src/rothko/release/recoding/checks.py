"""What a recoding that was read from a file must be before it is used.

Compiled code goes down its tree without looking: an index past the end would read foreign memory, and a node that is
its own descendant would keep it going for ever. So everything is checked once, when the file is read: types, lengths,
every index, and that the parts fit each other. Another edge or another label is not noticed: for that the certificate
has the hash of the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.policy.policy import Policy
from rothko.release.publish import Published

TREE = ("attribute", "begins", "child", "children", "leaf")
"""The arrays of a tree, one number per node."""


class DamageError(Exception):
    """A recoding is not what its ``save`` writes; the message ends a sentence about the file."""


class AbsentError(Exception):
    """A file of a recoding is not where it should be; the message ends a sentence about the JSON file."""


def sound(holds: object, otherwise: str) -> None:
    """Refuse a recoding for which something does not hold."""
    if not holds:
        raise DamageError(otherwise)


def listed(values: object) -> list[Any]:
    """A list, and nothing that merely can be gone through."""
    sound(isinstance(values, list), "it has something else where a list should be")
    return values  # type: ignore[return-value]


def text(value: object) -> str:
    """A text."""
    sound(isinstance(value, str), "it has something else where a text should be")
    return value  # type: ignore[return-value]


def whole(value: object) -> int:
    """A whole number."""
    sound(type(value) is int, "it has something else where a whole number should be")
    return value  # type: ignore[return-value]


def numbers(values: object) -> NDArray[np.int32]:
    """Whole numbers of 32 bits: a list, or a column of a table."""
    if isinstance(values, pa.ChunkedArray):
        sound(pa.types.is_integer(values.type) and not values.null_count, "a column has something else than numbers")
        found = values.to_numpy()
    else:
        found = np.array(listed(values) or np.empty(0, dtype=np.int32))
    sound(found.ndim == 1 and found.dtype.kind in "iu", "it has something else where whole numbers should be")
    limits = np.iinfo(np.int32)
    sound(not found.size or (found.min() >= limits.min and found.max() <= limits.max), "a number is too large")
    return np.asarray(found, dtype=np.int32)


def between(values: NDArray[np.integer], least: int, below: int) -> bool:
    """Whether all numbers are at least one and below another."""
    return not values.size or bool(values.min() >= least and values.max() < below)


def check_tree(tree: Mapping[str, NDArray[np.int32]], parts: Sequence[int]) -> int:
    """Refuse what is no tree of cuts over lines with so many parts; how many classes it has."""
    sound({*tree} == {*TREE}, "its tree has other fields than it should")
    attribute, begins, child, children, leaf = (tree[name] for name in TREE)
    count = len(attribute)
    sound(count and all(len(array) == count for array in tree.values()), "the fields of its tree differ in length")
    sound(between(attribute, -1, len(parts)), "its tree cuts a column that is not there")
    inner = np.flatnonzero(attribute >= 0)
    first, times = child[inner].astype(np.int64), children[inner].astype(np.int64)
    # Children after their parents: so nothing is its own descendant, and a way down always ends.
    sound((times >= 1).all() and (first > inner).all(), "a node of its tree stands above itself")
    sound((first + times <= count).all(), "a node of its tree has children that are not there")
    order = np.argsort(first, kind="stable")
    ends = np.cumsum(times[order])
    side_by_side = (first[order] == 1 + ends - times[order]).all()
    sound(side_by_side and times.sum() == count - 1, "the nodes of its tree do not hang together")
    line = np.full(count, -1, dtype=np.int32)
    line[1:] = np.repeat(attribute[inner][order], times[order])
    later = np.ones(count, dtype=np.bool_)
    later[0], later[first] = False, False
    after = np.flatnonzero(later)
    most = np.asarray(parts, dtype=np.int64)[line[after]]
    sound(((begins[after] >= 1) & (begins[after] < most)).all(), "a node of its tree begins where there is nothing")
    both = after[later[after - 1]]
    sound((begins[both] > begins[both - 1]).all(), "nodes of its tree are not in order")
    leaves = leaf[attribute < 0]
    sound((leaf[inner] == -1).all(), "a node of its tree is cut and a class")
    sound(np.array_equal(np.sort(leaves), np.arange(len(leaves))), "its classes are not numbered one after the other")
    return len(leaves)


def check_published(published: Mapping[str, Sequence[Published]], sizes: Mapping[str, int], policy: Policy) -> None:
    """Refuse published columns that are not those of the quasi-identifiers.

    Parameters
    ----------
    sizes
        Quasi-identifier → how many classes or parts show something of it.
    """
    sound({*published} == {*sizes} and all(published.values()), "it does not publish its quasi-identifiers")
    columns = list(chain.from_iterable(published.values()))
    names = [column.name for column in columns]
    sound(len({*names}) == len(names), "it publishes two columns of one name")
    sound(not {*names} & ({*policy.columns} - {*sizes}), "it publishes a column under the name of another")
    for name, shown in published.items():
        for column in shown:
            sound(len(column.of_class) == sizes[name], f"it does not say what all classes publish of column {name!r}")
            sound(between(column.of_class, 0, len(column.values)), f"a class publishes nothing of column {name!r}")


def check_shown(shown: NDArray[np.int32], parts: Iterable[int]) -> None:
    """Refuse classes that show a part which a column does not have."""
    for column, most in zip(shown.T, parts, strict=True):
        sound(between(column, 0, most), "a class shows a part that is not there")

"""Generalization hierarchies: a tree of labels over the values of a column.

The leaves are the values of the column, as text. Walking the tree numbers them, so that every node
owns a contiguous interval of leaf codes; that interval is all a method ever sees of a hierarchy.

Two types, both plain arrays with the nodes breadth first:

- :class:`Hierarchy` is what a person wrote down or a rule made, whatever the data holds;
- :class:`Tree` is the part of it that occurs in the data, with the intervals worked out.

Breadth first means that ``parents`` never falls. So the children of a node lie side by side, dropping
nodes keeps the order, and the order is checked by one comparison.

Files are those of ARX: one leaf a line, ``leaf;level 1;…;*``.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from rothko import notebook
from rothko.data.hierarchy.levels import balance, by_breaks, by_widths, join, nodes_of, period
from rothko.data.hierarchy.numbered import ROOT, Ints, Tree, grow
from rothko.data.hierarchy.paths import breadth_first, csv_paths, nested_form, nested_paths, read_text, sniff, text_of
from rothko.errors import HierarchyError
from rothko.mistakes import said

_PERIODS = ("day", "month", "quarter", "year", "decade")


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """A tree of labels whose leaves are the values of a column.

    Every label has one place in the tree. Build one with a class method; the constructor takes the
    arrays as they are, and rejects those that are not a tree in breadth-first order.

    Examples
    --------
    >>> h = Hierarchy.from_nested({"Europe": ["France", {"Baltic": ["Latvia"]}], "Asia": ["Japan"]})
    >>> h.leaves.to_pylist()
    ['France', 'Latvia', 'Japan']
    >>> h.to_rows()[1]
    ['Latvia', 'Baltic', 'Europe', '*']
    """

    labels: tuple[str, ...]
    """One per node; node 0 is the root, ``*``."""
    parents: Ints
    """Parent of each node, −1 for the root; never falls, and children keep the order in which they were given."""

    def __post_init__(self) -> None:
        labels = tuple(self.labels)
        parents = np.array(self.parents, dtype=np.int32)
        parents.setflags(write=False)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "parents", parents)
        if len(labels) != len(parents) or labels[:1] != (ROOT,) or parents[0] != -1:
            raise ValueError(f"a hierarchy needs a label and a parent per node, and the root {ROOT!r} first")
        above = parents[1:]
        if np.any(above < 0) or np.any(above > np.arange(len(above))) or np.any(np.diff(above) < 0):
            raise ValueError("the nodes of a hierarchy must be in breadth-first order")
        if len(set(labels)) < len(labels):
            times = Counter(labels)
            repeated = [label for label, n in times.items() if n > 1]
            raise HierarchyError(
                f"{len(repeated)} of {len(times)} labels stand at more than one place of the hierarchy; every label"
                f" must have one place, and {ROOT!r} is the root's",
                values=repeated,
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.parents, other.parents)

    def __hash__(self) -> int:
        return hash((self.labels, self.parents.tobytes()))

    def __repr__(self) -> str:
        leaves = len(self.leaves)
        return f"Hierarchy({leaves:,} leaves, {len(self.labels) - leaves - 1:,} groups)"

    def _repr_html_(self) -> str:
        leaves = len(self.leaves)
        about = f"Hierarchy: {leaves:,} leaves, {len(self.labels) - leaves - 1:,} groups"
        return notebook.shown(about, notebook.tree(self.labels, self.parents.tolist()))

    # ── what a person wrote ──────────────────────────────────────────────────────────────────────

    @classmethod
    def from_csv(
        cls, path: str | os.PathLike[str], *, delimiter: str | None = None, encoding: str = "utf-8"
    ) -> Hierarchy:
        """Read a file in the form of ARX: one leaf a line, ``leaf;level 1;…;*``, without a header.

        Lines may differ in length. Blanks after a label are dropped, as are lines and upper levels
        that are blank. A label repeated from one level to the next is one node.

        Parameters
        ----------
        path
            The file.
        delimiter
            What separates the labels; found among ``;``, ``,``, tab and ``|`` when not given.
        encoding
            How the text is encoded; a byte order mark is ignored.

        Raises
        ------
        HierarchyError
            If the file cannot be read or its lines do not make a tree.
        """
        where = os.fspath(path)
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
            raise HierarchyError(f"the delimiter of hierarchy {where} must be one character, not {delimiter!r}")
        text = read_text(where, encoding)
        return cls(*breadth_first(csv_paths(text, where, delimiter or sniff(text)), where=where, unit="line"))

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[object]], *, where: str = "hierarchy") -> Hierarchy:
        """Build from one row per leaf: the leaf first, then what it generalizes to, level by level.

        The root ``*`` may end a row or be left out. The same row twice is the same leaf.

        Parameters
        ----------
        rows
            The paths; cells that are not text are written as the data's would be.
        where
            What error messages call this hierarchy.

        Examples
        --------
        >>> Hierarchy.from_rows([["FR", "EU", "*"], ["JP"]]).to_rows()
        [['FR', 'EU', '*'], ['JP', '*']]
        """
        paths = ((number, [text_of(cell, where) for cell in row]) for number, row in enumerate(rows, start=1))
        return cls(*breadth_first(paths, where=where, unit="row"))

    @classmethod
    def from_nested(cls, tree: Any, *, where: str = "hierarchy") -> Hierarchy:
        """Build from mappings and lists as YAML gives them: a key stands above what it holds.

        Parameters
        ----------
        tree
            The children of the root, or one key ``*`` that holds them. A key that holds nothing is
            a leaf. Numbers and booleans become text as the data's would.
        where
            What error messages call this hierarchy.
        """
        try:
            paths = list(nested_paths(tree, (), where))
        except RecursionError:
            raise HierarchyError(f"{where} is nested too deeply, or holds itself") from None
        return cls(*breadth_first(enumerate(paths, start=1), where=where, unit="leaf"))

    # ── what a rule makes ────────────────────────────────────────────────────────────────────────

    @classmethod
    def flat(cls, values: pa.Array | Sequence[str]) -> Hierarchy:
        """Put every value directly under the root: a value is published as it is, or not at all.

        Parameters
        ----------
        values
            The values, in the order that they are to have on the line.
        """
        return cls(*nodes_of([_text_array(values).drop_null()]))

    @classmethod
    def mask(
        cls, values: pa.Array | Sequence[str], *, side: Literal["right", "left"] = "right", character: str = "*"
    ) -> Hierarchy:
        """Mask one more character a level: 02139, 0213*, 021**, …, and the root when none is left.

        Texts of different lengths share no masked label, so the length survives until the root.

        Parameters
        ----------
        values
            The values, in the order that they are to have on the line.
        side
            The end at which masking begins.
        character
            What a masked character becomes.

        Examples
        --------
        >>> Hierarchy.mask(["021", "7"]).to_rows()
        [['021', '02*', '0**', '*'], ['7', '*']]
        """
        if side not in ("right", "left"):
            raise HierarchyError(f"a mask goes in from 'right' or 'left', not from {side!r}")
        if len(character) != 1:
            raise HierarchyError(f"a mask needs one character, not {character!r}")
        texts = _text_array(values).drop_null()
        _no_character(texts, character, side)
        length = pc.utf8_length(texts)
        longest = pc.max(length).as_py() or 0
        masks = pa.array([character * n for n in range(longest + 1)], pa.string())
        levels = []
        # Level by level from the root down: the k-th keeps k characters, so texts of all lengths start together.
        for kept in range(1, longest):
            masked = masks.take(pc.if_else(pc.less(kept, length), pc.subtract(length, kept), None))
            if side == "right":
                levels.append(join(pc.utf8_slice_codeunits(texts, 0, kept), masked))
            else:
                levels.append(join(masked, pc.utf8_slice_codeunits(texts, -kept)))
        return cls(*nodes_of([*levels, texts]))

    @classmethod
    def prefix(cls, values: pa.Array | Sequence[str], *, lengths: Sequence[int]) -> Hierarchy:
        """Keep so many characters at the front, as codes with a structure are read: I21.4, I21*, I*.

        A text that has no more characters than a level keeps is passed over there: it is a leaf beside those that begin
        with it.

        Parameters
        ----------
        values
            The values, in the order that they are to have on the line.
        lengths
            How many characters each level keeps, finest first.

        Examples
        --------
        >>> Hierarchy.prefix(["I21", "I21.4", "J45.0"], lengths=[3, 1]).to_rows()
        [['I21', 'I21*', 'I*', '*'], ['I21.4', 'I21*', 'I*', '*'], ['J45.0', 'J45*', 'J*', '*']]
        """
        if not lengths or lengths[-1] < 1 or any(coarse >= fine for fine, coarse in itertools.pairwise(lengths)):
            raise HierarchyError(
                f"the lengths of a prefix hierarchy must fall from level to level to 1 at least, not {list(lengths)}"
            )
        texts = _text_array(values).drop_null()
        _no_character(texts, "*", "right")
        length = pc.utf8_length(texts)
        levels = []
        for kept in sorted(lengths):
            # A text of just so many characters is among those that begin with it.
            begins = pc.if_else(pc.greater_equal(length, kept), pc.utf8_slice_codeunits(texts, 0, kept), None)
            levels.append(join(begins, "*"))
        return cls(*nodes_of([*levels, texts]))

    @classmethod
    def intervals(
        cls,
        values: pa.Array,
        *,
        widths: Sequence[float] | None = None,
        breaks: Sequence[float] | Sequence[Sequence[float]] | None = None,
    ) -> Hierarchy:
        """Group numbers in half-open intervals, ascending.

        Values that are in no such interval (infinities, NaN, and floating-point numbers too large for
        their interval to be told from the next) are leaves directly under the root.

        Parameters
        ----------
        values
            Distinct numbers, in any order.
        widths
            Width of the intervals of each level, finest first, each a multiple of the one before.
            Intervals begin at multiples of their width, reckoned in decimals as written: 0.3 begins
            ``[0.3, 0.4)``.
        breaks
            Where one interval ends and the next begins, ascending; or a list of such lists, finest
            first, each a part of the one before. The outermost intervals are unbounded.

        Examples
        --------
        >>> Hierarchy.intervals(pa.array([42, 37]), widths=[5, 10]).to_rows()
        [['37', '[35, 40)', '[30, 40)', '*'], ['42', '[40, 45)', '[40, 50)', '*']]
        >>> Hierarchy.intervals(pa.array([42, 17]), breaks=[18, 65]).to_rows()
        [['17', '(-inf, 18)', '*'], ['42', '[18, 65)', '*']]
        """
        if (widths is None) == (breaks is None):
            raise HierarchyError("a hierarchy of intervals takes either widths or breaks, and one of them")
        column = _one_chunk(values).drop_null()
        if not (
            pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)
        ):
            raise HierarchyError(f"a hierarchy of intervals needs numbers, and the values are of type {column.type}")
        column = column.take(pc.array_sort_indices(column))
        levels = by_widths(column, widths) if widths is not None else by_breaks(column, breaks or ())
        return cls(*nodes_of([*reversed(levels), column.cast(pa.string())]))

    @classmethod
    def dates(cls, values: pa.Array, *, levels: Sequence[str] = ("month", "year")) -> Hierarchy:
        """Group dates or timestamps by calendar periods, ascending.

        Parameters
        ----------
        values
            Distinct dates or timestamps, in any order; those with a time zone are grouped by local time.
        levels
            Periods out of day, month, quarter, year and decade, finest first.

        Examples
        --------
        >>> import datetime
        >>> Hierarchy.dates(pa.array([datetime.date(2024, 3, 5)]), levels=["quarter", "decade"]).to_rows()
        [['2024-03-05', '2024-Q1', '2020s', '*']]
        """
        ranks = [_PERIODS.index(level) if level in _PERIODS else -1 for level in levels]
        if -1 in ranks or any(b <= a for a, b in itertools.pairwise(ranks)):
            raise HierarchyError(
                f"the levels of a date hierarchy are {', '.join(map(repr, levels))}; they must be some of"
                f" {', '.join(_PERIODS)}, in that order"
            )
        column = _one_chunk(values).drop_null()
        if not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
            raise HierarchyError(
                f"a date hierarchy needs dates or timestamps, and the values are of type {column.type}"
            )
        column = column.take(pc.array_sort_indices(column))
        return cls(*nodes_of([*(period(column, level) for level in reversed(levels)), column.cast(pa.string())]))

    @classmethod
    def auto(cls, values: pa.Array | Sequence[str], counts: ArrayLike, *, fanout: int = 4) -> Hierarchy:
        """Group neighbours so that the children of every node hold about the same number of records.

        Top down: the values under a node are cut into at most `fanout` runs, each cut where the
        running count is nearest to an equal share. No run then holds more than an equal share plus
        the count of one value. An inner node is called ``first … last``; where that is already the
        label of a value or of an earlier node (breadth first), `` (2)``, `` (3)`` and so on follow.

        Parameters
        ----------
        values
            Distinct values in their natural order.
        counts
            The number of records of each value.
        fanout
            The most children that a node may have, at least 2.

        Examples
        --------
        >>> Hierarchy.auto(["a", "b", "c"], [5, 1, 4], fanout=2).to_rows()
        [['a', '*'], ['b', 'b … c', '*'], ['c', 'b … c', '*']]
        """
        if fanout < 2:
            raise HierarchyError(f"the fanout of a hierarchy must be at least 2, not {fanout}")
        texts = _text_array(values)
        weights = np.asarray(counts, dtype=np.int64)
        if weights.shape != (len(texts),):
            raise ValueError(f"{len(texts)} values need as many counts, not an array of shape {weights.shape}")
        low, high, parents = balance(weights, fanout)
        first, last = texts.take(pa.array(low)), texts.take(pa.array(high))
        names = pc.if_else(pa.array(low == high), first, join(first, " … ", last)).to_pylist()
        taken = {ROOT, *texts.to_pylist()}
        for node in np.flatnonzero(low < high).tolist():
            name, tries = names[node], itertools.count(2)
            while names[node] in taken:
                names[node] = f"{name} ({next(tries)})"
            taken.add(names[node])
        return cls((ROOT, *names), np.append(-1, parents))

    # ── what it is for ───────────────────────────────────────────────────────────────────────────

    @property
    def leaves(self) -> pa.Array:
        """The labels of the leaves, in the order of the line."""
        return self._whole().leaves

    def to_rows(self) -> list[list[str]]:
        """Write one row per leaf, the leaf first and the root last; :meth:`from_rows` reads them back."""
        parents = self.parents.tolist()
        rows = []
        for node in self._whole().leaf.tolist():
            row = []
            while node >= 0:
                row.append(self.labels[node])
                node = parents[node]
            rows.append(row)
        return rows

    def to_csv(self, *, delimiter: str = ";") -> str:
        r"""Write the text of a file in the form of ARX, one leaf a line; :meth:`from_csv` reads it back.

        >>> Hierarchy.from_nested({"Europe": ["France"], "Asia": ["Japan"]}).to_csv()
        'France;Europe;*\nJapan;Asia;*\n'
        """
        text = io.StringIO(newline="")
        csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(self.to_rows())
        return text.getvalue()

    def to_nested(self) -> Any:
        """Write mappings and lists, as they stand in a policy; :meth:`from_nested` reads them back.

        >>> Hierarchy.from_rows([["FR", "EU"], ["LV", "Baltic", "EU"], ["JP"]]).to_nested()
        [{'EU': ['FR', {'Baltic': ['LV']}]}, 'JP']
        """
        return nested_form(self.labels, self.parents.tolist())

    def restrict(self, values: pa.Array, *, column: str, missing: bool) -> Tree:
        """Keep the nodes above the values that occur in the data.

        Parameters
        ----------
        values
            The distinct values of the column, as text; nulls are passed over.
        column
            The name of the column, for the error message.
        missing
            Whether the column has missing values, which then get the last leaf code.

        Raises
        ------
        HierarchyError
            If a value has no leaf.
        """
        whole = self._whole()
        texts = _text_array(values).drop_null()
        code = pc.index_in(texts, value_set=whole.leaves)
        if code.null_count:
            raise HierarchyError(
                f"{code.null_count} of {len(texts)} distinct values of column {column!r} have no leaf in its hierarchy;"
                f" add them to it ({said('--show-values')} lists them)",
                values=texts.filter(pc.is_null(code)).to_pylist(),
            )
        present = np.zeros(len(whole.leaf), dtype=np.int32)
        present[code.to_numpy()] = 1
        before = np.concatenate(([0], np.cumsum(present)))
        keep = before[whole.high + 1] > before[whole.low]
        keep[0] = True
        labels = whole.labels.filter(pa.array(keep))
        parent = np.append(-1, (np.cumsum(keep) - 1)[self.parents[keep][1:]])
        if missing:
            last = 1 + int(np.count_nonzero(parent == 0))
            parent = np.insert(np.where(parent >= last, parent + 1, parent), last, 0)
            labels = pa.concat_arrays([labels[:last], pa.nulls(1, pa.string()), labels[last:]])
        return grow(labels, parent)

    def lowest_among(self, values: pa.Array, nodes: pa.Array) -> Ints:
        """Find for each label the lowest of some nodes that it lies under.

        Parameters
        ----------
        values
            Labels, as text; not necessarily distinct.
        nodes
            Labels of nodes, as text.

        Returns
        -------
        For each label the index in ``nodes`` of itself or its lowest ancestor that is there; −1 where there is
        none, for nulls, and for labels that the hierarchy does not have.
        """
        labels = pa.array(self.labels, pa.string())
        wanted = pc.index_in(labels, value_set=nodes).fill_null(-1).to_numpy()
        node = pc.index_in(_text_array(values), value_set=labels).fill_null(-1).to_numpy().copy()
        climbing = np.flatnonzero((node >= 0) & (wanted[node] < 0))
        while climbing.size:
            node[climbing] = self.parents[node[climbing]]
            above = node[climbing]
            climbing = climbing[(above >= 0) & (wanted[above] < 0)]
        return np.where(node >= 0, wanted[node], -1).astype(np.int32)

    def _whole(self) -> Tree:
        return grow(pa.array(self.labels, pa.string()), self.parents)


def _no_character(texts: pa.Array, character: str, side: str) -> None:
    """Refuse values that would be taken for masked ones."""
    clash = pc.ends_with(texts, character) if side == "right" else pc.starts_with(texts, character)
    if pc.any(clash).as_py():
        raise HierarchyError(
            f"{clash.true_count} of {len(texts)} values have the mask character {character!r} at the {side} end"
            " and would be taken for masked ones; choose another character",
            values=texts.filter(clash).to_pylist(),
        )


def _one_chunk(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _text_array(values: pa.Array | Sequence[str]) -> pa.Array:
    if not isinstance(values, pa.Array | pa.ChunkedArray):
        return pa.array(values, pa.string())
    return _one_chunk(values).cast(pa.string())

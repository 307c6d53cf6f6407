"""Learning from regions: each region of φ as a point that any model takes (LeFevre et al. 2008, section 4.2).

``corners``   two numbers per quasi-identifier, where the region begins and ends (the paper's 2·d points)
``edges``     the same of φ's own region: where its cuts are, and at the outside where the line ends
``midpoint``  one number, half way between them
``mean``      one number, the mean of the training records in the region
``sample``    one number, drawn in the region for every record

The numbers are the attribute's own: dates count days, and what has no numbers (labels, trees of labels) counts its
place on the line. That assumes a total order on every attribute, as the paper does. A region is what the release
publishes for it: the smallest box around its training records, and the whole node of a hierarchy. Only ``edges`` are
those of ``publish: region``, which leave no gaps: a region ends where the next one begins. What is published
as ``*`` or as missing is the whole line, and so is everything about a record that φ cannot place.

Features that are released as they are go beside the regions, one number each.

That is how a recoding gives numbers by itself, as in :class:`rothko.learn.anonymizer.Anonymizer`. Where a model is
evaluated, labels have no place on a line: its *view* of records keeps them as labels, and
:mod:`rothko.learn.encoding` makes numbers of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import encode, rank
from rothko.data.line import Kind, Line, as_text
from rothko.data.typed import typed, with_one_missing
from rothko.errors import InputError, nearest
from rothko.learn.encoding import Feature, Floats, Labels, Numbers
from rothko.metrics.published import shown_by
from rothko.policy.policy import Policy
from rothko.release.recoding.recoding import ColumnRecoding, Recoding

Form = Literal["corners", "edges", "midpoint", "mean", "sample"]
FORMS: tuple[Form, ...] = get_args(Form)
PAIRS: tuple[Form, ...] = ("corners", "edges")
"""The forms with two numbers."""
Number = TypeVar("Number", bound=np.number)

_DAYS = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True, slots=True)
class Points:
    """A column as numbers, without any recoding."""

    name: str
    labels: pa.Array | None
    """The labels by place, where the number is the place; None where the values are numbers themselves."""
    low: float
    high: float
    """The smallest and the largest number in the training part."""
    ordered: bool = False
    """Whether labels have an order, so that their place is a number."""
    missing: bool = False
    """Whether there are missing values in the training part: one more label."""

    @classmethod
    def of(cls, name: str, values: pa.Array, *, ordered: bool = False, missing: bool = False) -> Points:
        """The numbers of a line, given its values in order."""
        numbers = line_numbers(values)
        labels = None if _own_numbers(values) is not None else as_text(values)
        return cls(name, labels, *_ends(numbers), ordered, missing)

    def numbers(self, column: pa.ChunkedArray) -> Floats:
        """The number of every record; the middle of the line for a missing or unknown value."""
        one = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
        if self.labels is None:
            if pa.types.is_dictionary(one.type) and one.null_count < len(one):
                raise InputError(f"Column {self.name!r} holds text, and numbers were learned.")
            found = np.full(len(one), np.nan) if one.null_count == len(one) else as_numbers(one)
        else:
            found = self._places(one).cast(pa.float64()).to_numpy(zero_copy_only=False)
        return np.where(np.isfinite(found), found, middle(self.low, self.high))

    def feature(self, column: pa.ChunkedArray) -> tuple[Feature, NDArray[np.bool_]]:
        """The same as a model is shown it, and which records have a label that is not known: any may be theirs."""
        if self.labels is None or self.ordered:
            return Numbers(self.numbers(column)[:, None]), np.zeros(len(column), dtype=np.bool_)
        one = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
        size = len(self.labels) + self.missing
        code = pc.fill_null(self._places(one), -1).to_numpy(zero_copy_only=False)
        absent = pc.is_null(one).to_numpy(zero_copy_only=False)
        if self.missing:
            code = np.where(absent, len(self.labels), code)
        unknown = code < 0
        low, high = np.where(unknown, 0, code), np.where(unknown, max(size - 1, 0), code)
        return Labels.between(max(size, 1), low, high), unknown & ~absent

    def _places(self, values: pa.Array) -> pa.Array:
        text = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
        return pc.index_in(as_text(text), value_set=self.labels)


@dataclass(frozen=True, slots=True)
class Original:
    """The features as they are: what a recoding is compared with."""

    policy: Policy
    points: tuple[Points, ...]
    lines: Mapping[str, Line]
    """Those of the quasi-identifiers."""

    @classmethod
    def of(cls, table: pa.Table, policy: Policy, features: Sequence[str]) -> Original:
        """Learn lines and labels from a training table."""
        lines = {line.name: line for line in encode(typed(table, policy), policy).lines}
        plain = _plain_points(table, policy, [name for name in features if name not in lines])
        points = plain | {name: _points_of(line) for name, line in lines.items()}
        return cls(policy, tuple(points[name] for name in features), lines)

    def view(self, table: pa.Table, *, corners: bool = False) -> tuple[list[Feature], int]:
        """What a model is shown of exact records, and how many of them have a label that was not there in training.

        With ``corners`` a number is a region that begins and ends with it.
        """
        quasi = typed(table, _only(self.policy, self.policy.quasi_identifiers))
        found: list[Feature] = []
        unknown = np.zeros(table.num_rows, dtype=np.bool_)
        for point in self.points:
            feature, strange = point.feature(_column(point, table, quasi, self.policy))
            if corners and isinstance(feature, Numbers) and point.name in self.lines:
                feature = Numbers(np.repeat(feature.values, 2, axis=1))
            found.append(feature)
            unknown |= strange
        return found, int(np.count_nonzero(unknown))

    def numbers(self, table: pa.Table) -> Floats:
        """(records, features)."""
        quasi = typed(table, _only(self.policy, self.policy.quasi_identifiers))
        return _beside([_points(point, table, quasi, self.policy) for point in self.points], table.num_rows)


@dataclass(frozen=True, slots=True)
class Ends:
    """Where regions begin and end, (classes + 1, names); by part where every column is recoded by itself."""

    low: Floats
    """The number at which each begins."""
    high: Floats
    """That at which it ends."""
    first: NDArray[np.int64]
    """The code of the first label that it leaves open."""
    last: NDArray[np.int64]
    """That of the last one."""

    @classmethod
    def beside(cls, columns: Sequence[tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]], rows: int) -> Ends:
        """From those of each column, of which the last, that of the whole line, is repeated up to so many."""
        return cls(
            _beside([_padded(low, rows) for low, _, _, _ in columns], rows),
            _beside([_padded(high, rows) for _, high, _, _ in columns], rows),
            _beside([_padded(first, rows) for _, _, first, _ in columns], rows),
            _beside([_padded(last, rows) for _, _, _, last in columns], rows),
        )


@dataclass(frozen=True, slots=True)
class Regions:
    """The regions of a recoding as numbers. The last row of each array is the whole table, for what φ cannot place."""

    recoding: Recoding
    names: tuple[str, ...]
    """The quasi-identifiers among the features."""
    boxes: Ends
    """Of the smallest boxes around the training records."""
    edges: Ends
    """Of φ's own regions."""
    mean: Floats
    """(classes + 1, names): the mean of its training records."""
    whole: NDArray[np.bool_]
    """Whether an attribute takes whole numbers only."""
    labels: NDArray[np.int64]
    """How many labels an attribute has, with that of missing; 0 where it is a number."""
    plain: tuple[Points, ...]
    """The features that are released as they are."""

    @classmethod
    def of(
        cls,
        table: pa.Table,
        recoding: Recoding,
        features: Sequence[str] | None = None,
        *,
        classes: NDArray[np.int32] | None = None,
    ) -> Regions:
        """The regions of a recoding that was made for a table, from the same table.

        Parameters
        ----------
        features
            What a model may look at; all quasi-identifiers where it is None.
        classes
            The region of each record, where it is known already.
        """
        policy = recoding.policy
        columns = typed(table, policy)
        encoded = encode(columns, policy)
        classes = recoding.place(columns) if classes is None else classes
        by_line = recoding.parts(columns) if isinstance(recoding, ColumnRecoding) else None
        counts = [a.parts if by_line is not None else recoding.classes for a in recoding.attributes]
        chosen = policy.quasi_identifiers if features is None else tuple(features)
        at = [i for i, line in enumerate(encoded.lines) if line.name in chosen]
        reach = recoding.reach()
        boxes, edges, means, rows = [], [], [], max(counts) + 1
        for i in at:
            line, codes, owner = encoded.lines[i], encoded.codes[i], classes if by_line is None else by_line[i]
            low, high = _boxes(codes, owner, counts[i])
            boxes.append((*_region(line, low, high), *_open(line, low, high)))
            edges.append(_edges(line, recoding, i, *reach[i]))
            means.append(_padded(_means(line, codes, owner, low, high), rows))
        names = tuple(encoded.lines[i].name for i in at)
        plain = _plain_points(table, policy, [name for name in chosen if name not in policy.quasi_identifiers])
        return cls(
            recoding=recoding,
            names=names,
            boxes=Ends.beside(boxes, rows),
            edges=Ends.beside(edges, rows),
            mean=_beside(means, rows),
            whole=np.array([takes_whole_numbers(encoded.lines[i].values) for i in at], dtype=np.bool_),
            labels=np.array([encoded.lines[i].size if is_label(encoded.lines[i]) else 0 for i in at], dtype=np.int64),
            plain=tuple(plain.values()),
        )

    def columns(self, form: Form) -> list[str]:
        """The names of the numbers: ``age_min`` and ``age_max`` for corners and edges, ``age`` otherwise."""
        ends = ("_min", "_max") if form in PAIRS else ("",)
        return [name + end for name in self.names for end in ends] + [point.name for point in self.plain]

    def place(self, table: pa.Table) -> NDArray[np.int32]:
        """The region of each record, -1 for one that cannot be placed."""
        return place(self.recoding, table)

    def numbers(
        self, table: pa.Table, form: Form, *, seed: int | Sequence[int] = 0, classes: NDArray[np.int32] | None = None
    ) -> Floats:
        """Every record of a table as the numbers of its region.

        Parameters
        ----------
        seed
            For ``sample``: the same rows and the same seed give the same points.
        classes
            The region of each record, where :meth:`place` has told it already.
        """
        rows, ends = self._rows(table, classes), self._ends(form)
        low, high = (
            _beside([end[rows[i], i] for i in range(len(rows))], table.num_rows) for end in (ends.low, ends.high)
        )
        columns: list[Floats]
        if form in PAIRS:
            columns = [end[:, i] for i in range(len(self.names)) for end in (low, high)]
        elif form == "sample":
            drawn = draw(low, high, self.whole, np.random.default_rng(seed))
            columns = [drawn[:, i] for i in range(len(self.names))]
        else:
            numbers = self.mean if form == "mean" else middle(ends.low, ends.high)
            columns = [numbers[rows[i], i] for i in range(len(self.names))]
        plain = [_points(point, table, table, self.recoding.policy) for point in self.plain]
        return _beside(columns + plain, table.num_rows)

    def view(
        self, table: pa.Table, form: Form, *, seed: int | Sequence[int] = 0, classes: NDArray[np.int32] | None = None
    ) -> list[Feature]:
        """What a model is shown of every record of a table; see :meth:`numbers`."""
        rows, ends = self._rows(table, classes), self._ends(form)
        numbers = self.numbers(table, form, seed=seed, classes=classes)
        width = 2 if form in PAIRS else 1
        found: list[Feature] = []
        for i, size in enumerate(self.labels.tolist()):
            if size:
                found.append(Labels.between(size, ends.first[rows[i], i], ends.last[rows[i], i]))
            else:
                found.append(Numbers(numbers[:, i * width : (i + 1) * width]))
        policy = self.recoding.policy
        return found + [point.feature(_column(point, table, table, policy))[0] for point in self.plain]

    def _ends(self, form: Form) -> Ends:
        return self.edges if form == "edges" else self.boxes

    def _rows(self, table: pa.Table, classes: NDArray[np.int32] | None) -> Sequence[NDArray[np.int32]]:
        """Of each quasi-identifier: where the region of every record stands; -1 for one that cannot be placed.

        A recoding of every column by itself has regions for combinations that no class has.
        """
        if not isinstance(self.recoding, ColumnRecoding):
            return [self.place(table) if classes is None else classes] * len(self.names)
        policy = self.recoding.policy
        found = self.recoding.parts(typed(table, _only(policy, policy.quasi_identifiers)))
        return [found[i] for i, attribute in enumerate(self.recoding.attributes) if attribute.name in self.names]


def draw(low: Floats, high: Floats, whole: NDArray[np.bool_] | bool, stream: np.random.Generator) -> Floats:
    """A point in the region of each record; a whole number where an attribute takes no others."""
    share = stream.random(low.shape)
    steps = np.minimum(np.floor(share * (high - low + 1)), high - low)
    return np.asarray(low + np.where(whole, steps, share * (high - low)))


def place(recoding: Recoding, table: pa.Table) -> NDArray[np.int32]:
    """The class of each record of a table that is not typed yet; -1 for one that cannot be placed."""
    return recoding.place(typed(table, _only(recoding.policy, recoding.policy.quasi_identifiers)))


def is_label(line: Line) -> bool:
    """Whether the values of a line have no order of their own, so that their place on it says nothing."""
    return line.kind is not Kind.ORDERED and _own_numbers(line.values) is None and line.size > 0


def known_form(form: str) -> Form:
    """One of the forms, or an error that names them."""
    for known in FORMS:
        if form == known:
            return known
    raise InputError(f"{form!r} is not a form of regions; {nearest(str(form), FORMS)}")


def line_numbers(values: pa.Array) -> Floats:
    """The number of each value of a line: its own where the line runs in their order, else its place.

    >>> line_numbers(pa.array([20, 35])).tolist(), line_numbers(pa.array(["b", "a"])).tolist()
    ([20.0, 35.0], [0.0, 1.0])
    """
    own = _own_numbers(values)
    return np.arange(len(values), dtype=np.float64) if own is None else own


def as_numbers(values: pa.Array) -> Floats:
    """Numbers as they are, dates and timestamps in days, times in seconds; NaN where there is none."""
    kind = values.type
    scale = 1.0
    if pa.types.is_date32(kind):
        values = values.view(pa.int32())
    elif pa.types.is_date64(kind):
        values, scale = values.view(pa.int64()), float(_DAYS["ms"])
    elif pa.types.is_timestamp(kind):
        values, scale = values.view(pa.int64()), float(_DAYS[kind.unit])
    elif pa.types.is_time(kind):
        values, scale = values.cast(pa.time64("ns")).cast(pa.int64()), 1e9
    elif pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(numbers) / scale if scale != 1 else np.asarray(numbers)


def middle(low: Floats | float, high: Floats | float) -> Floats:
    """Half way; by halves, since the sum of two huge numbers may be none."""
    return np.asarray(np.asarray(low) / 2 + np.asarray(high) / 2)


def _own_numbers(values: pa.Array) -> Floats | None:
    """The values as rising numbers; None for text, and for a hierarchy that puts them in another order."""
    if pa.types.is_string(values.type):
        return None
    numbers = as_numbers(values)
    return numbers if (numbers[1:] >= numbers[:-1]).all() else None


def takes_whole_numbers(values: pa.Array) -> bool:
    """Whether only whole numbers can occur: places, integers, days, and true or false."""
    kind = values.type
    counts = pa.types.is_integer(kind) or pa.types.is_date(kind) or pa.types.is_boolean(kind)
    return bool(counts) or _own_numbers(values) is None


def _ends(numbers: Floats) -> tuple[float, float]:
    finite = numbers[np.isfinite(numbers)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)


def _boxes(
    codes: NDArray[np.int32], classes: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The lowest and the highest code of every class."""
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(count))
    held = codes[order]
    return np.minimum.reduceat(held, starts), np.maximum.reduceat(held, starts)


def _padded(numbers: NDArray[Number], rows: int) -> NDArray[Number]:
    """Numbers of which the last, that of the whole line, is repeated up to so many."""
    return np.append(numbers, np.full(rows - len(numbers), numbers[-1], dtype=numbers.dtype))


def _open(line: Line, low: NDArray[np.int32], high: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last code that what a class shows leaves open, and those of the whole line after them."""
    shown = shown_by(line, "range", (), (low, high), None)
    return np.append(shown.low, 0), np.append(shown.high, max(line.size - 1, 0))


def _region(line: Line, low: NDArray[np.int32], high: NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Where each region begins and ends on a line, and the whole line after them."""
    numbers = line_numbers(line.values)
    first, last = _ends(numbers)
    shown = shown_by(line, "range", (), (low, high), None)
    starred = shown.high == line.missing_code
    padded = np.append(numbers, np.nan)
    begins, ends = np.where(starred, first, padded[shown.low]), np.where(starred, last, padded[shown.high])
    return np.append(begins, first), np.append(ends, last)


def _edges(
    line: Line, recoding: Recoding, i: int, low: NDArray[np.int32], high: NDArray[np.int32]
) -> tuple[Floats, Floats, NDArray[np.int64], NDArray[np.int64]]:
    """Where φ's own regions, from one part of a line to another, begin and end, and the whole line after them.

    A region of numbers ends where the next one begins, one of labels with its last label; what reaches over the missing
    value is the whole line.
    """
    attribute = recoding.attributes[i]
    codes = np.arange(len(line.values))
    part = attribute.place(pa.chunked_array([line.values]), recoding.policy.columns[line.name])
    begins, ends = np.full(attribute.parts, len(codes)), np.full(attribute.parts, -1)
    np.minimum.at(begins, part, codes)
    np.maximum.at(ends, part, codes)
    # Parts rise with the codes; some have none.
    first = np.append(np.minimum.accumulate(begins[::-1])[::-1][low], 0)
    last = np.append(np.maximum.accumulate(ends)[high], len(codes) - 1)
    absent = np.append((low <= attribute.missing_part) & (attribute.missing_part <= high), False) & line.missing
    numbers = line_numbers(line.values)
    outer = _ends(numbers)
    whole = absent | (first > last) | ((first == 0) & (last == len(codes) - 1))
    counts = line.kind is Kind.ORDERED and _own_numbers(line.values) is not None
    behind = np.append(numbers[1:], outer[1:]) if counts else numbers
    number = np.append(numbers, 0.0)
    return (
        np.where(whole, outer[0], number[np.where(whole, 0, first)]),
        np.where(whole, outer[1], np.append(behind, 0.0)[np.where(whole, 0, last)]),
        np.where(whole, 0, first),
        np.where(whole, max(line.size - 1, 0), last),
    )


def _means(
    line: Line, codes: NDArray[np.int32], classes: NDArray[np.int32], low: NDArray[np.int32], high: NDArray[np.int32]
) -> Floats:
    """The mean of the records of each class, and of the table after them."""
    numbers = line_numbers(line.values)
    present = codes != line.missing_code
    first = numbers[0] if len(numbers) else 0.0
    # Apart from the first number, so that large numbers that are close together keep their digits.
    apart = np.append(numbers - first, 0.0)[codes]
    table = float(apart[present].mean()) if present.any() else 0.0
    sums = np.bincount(classes, weights=np.where(present, apart, 0.0), minlength=len(low))
    means = sums / np.bincount(classes, minlength=len(low))
    return first + np.append(np.where(high == line.missing_code, table, means), table)


def _plain_points(table: pa.Table, policy: Policy, names: Sequence[str]) -> dict[str, Points]:
    """Columns that are released as they are, by their distinct values in order."""
    ranks, found = np.empty(table.num_rows, dtype=np.int32), {}
    for name in names:
        column = with_one_missing(name, table[name], policy.missing)
        found[name] = Points.of(name, rank(column, ranks), missing=column.null_count > 0)
    return found


def _points_of(line: Line) -> Points:
    return Points.of(line.name, line.values, ordered=line.kind is Kind.ORDERED, missing=line.missing)


def _points(point: Points, table: pa.Table, quasi: pa.Table, policy: Policy) -> Floats:
    return point.numbers(_column(point, table, quasi, policy))


def _column(point: Points, table: pa.Table, quasi: pa.Table, policy: Policy) -> pa.ChunkedArray:
    """The column of a feature, with null for every missing value."""
    if point.name in policy.quasi_identifiers:
        return quasi[point.name]
    return with_one_missing(point.name, table[point.name], policy.missing)


def _only(policy: Policy, names: Sequence[str]) -> Policy:
    """The policy of some of its columns, to type them: what it requires of the others is left out."""
    return policy.model_copy(update={"columns": {name: policy.columns[name] for name in names}})


def _beside(columns: Sequence[NDArray[Number]], rows: int) -> NDArray[Number]:
    return np.column_stack(columns) if columns else np.empty((rows, 0))  # type: ignore[return-value]

"""A release beside its original: what both say, in the same codes.

Records are not matched with rows, which leave in another order. The original is known by its codes, the release by its
classes: the rows that show the same of every quasi-identifier.

Anatomy (Xiao and Tao, VLDB 2006) releases two tables: the exact quasi-identifiers of each record with the number of
its group, and for each group how often it has which sensitive value. It is read as classes that show single values, one
for each combination of values in a group; what their records have of the sensitive column is the share of the group.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.encode import Encoded, counted, encode
from rothko.data.line import Line, as_text
from rothko.data.schema import written_as_text
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.typed import typed, with_one_missing
from rothko.errors import InputError, PolicyError, nearest
from rothko.metrics.extent import Extent
from rothko.metrics.published import Shown, read_shown
from rothko.metrics.workload import View, combined
from rothko.policy.draft import as_policy
from rothko.policy.opened import opened
from rothko.policy.policy import Policy
from rothko.progress import count_threads
from rothko.release.anatomy import COUNT, GROUP, AnatomyRelease
from rothko.release.check import published_in
from rothko.release.formulas import unescaped
from rothko.release.publish import bounds_names, mean_name, statistics_asked
from rothko.release.release import Release
from rothko.release.rows import columns_of, decoded
from rothko.release.stored import HeldRelease
from rothko.workload.tasks import models


@dataclass(frozen=True, slots=True, eq=False)
class Anatomy:
    """The two tables of a release by Anatomy.

    Examples
    --------
    >>> rows = {"age": [20, 30], "group": [1, 1]}
    >>> Anatomy(rows, {"group": [1, 1], "disease": ["flu", "cold"], "count": [1, 1]}).group
    'group'
    """

    records: Any
    """The quasi-identifiers of each record as they are, and the number of its group."""
    values: Any
    """Group, sensitive value, and how many records of the group have it."""
    group: str = "group"
    """The column of groups, in both tables."""
    count: str = "count"
    """The column of counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """A release that was read class by class, which takes a fraction of the time that its rows take."""

    label: str
    """What it is called in errors."""
    names: tuple[str, ...]
    """Its columns."""
    classes: pa.Table
    """What each class shows of the quasi-identifiers."""
    sizes: NDArray[np.int64]
    """Records of each class."""
    others: Mapping[str, pa.ChunkedArray]
    """Columns that leave as they are: of all records of the first class, of the second, and so on."""
    text: bool = False
    """Whether its cells were escaped, as in text files."""


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """A column that is not generalised, in the original and in the classes of the release."""

    name: str | None
    """The column; None for no column, as if all records had one value."""
    size: int
    """How many values there are; a missing one is a value too."""
    codes: NDArray[np.int32]
    """The value of each record of the original."""
    value: NDArray[np.int32]
    """Of pairs of a value and a class that has it, by value: the value."""
    of_class: NDArray[np.int64]
    """The class."""
    records: NDArray[np.float64]
    """How many records of the class have the value, as far as the release tells."""


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """An original and its release."""

    policy: Policy
    encoded: Encoded
    """The original."""
    others: Mapping[str, pa.ChunkedArray]
    """Targets of models, and what else is not generalised, of the released rows."""
    columns: Mapping[str, Sequence[str]]
    """Quasi-identifier → the columns that show it."""
    classes: NDArray[np.int32]
    """The class of each released row."""
    sizes: NDArray[np.int64]
    """Records in each class."""
    one_each: pa.Table
    """A released row of each class."""
    keys: Mapping[str, NDArray[np.int64]]
    """Quasi-identifier → a number for what each class shows, the same for the same."""
    shown: Mapping[str, Shown]
    """Quasi-identifier → what each class shows."""
    widths: NDArray[np.float64]
    """(classes, lines): the NCP of each class on each line, NaN where it is not known."""
    beside: Mapping[str, Beside]
    """The columns that were asked for."""

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the quasi-identifiers."""
        return self.encoded.lines

    @property
    def found(self) -> Classes:
        """The classes of the release."""
        return Classes(self.classes, self.sizes, self.one_each, self.keys, self.others)

    @property
    def left_out(self) -> int:
        """Records of the original that did not leave."""
        return self.encoded.rows - len(self.classes)

    def extents(self) -> list[Extent | None]:
        """What classes may have on each line; None where a mean is all that they show."""
        return [Extent.of(self.shown[line.name], line.size) for line in self.lines]

    def known_extents(self) -> list[Extent]:
        """The same, where every line is known."""
        found = self.extents()
        for line, extent in zip(self.lines, found, strict=True):
            if extent is None:
                raise InputError(
                    f"Column {line.name!r} is published as a mean, which does not tell where a class lies, so its "
                    "records cannot be spread over its values; publish ranges, or bounds beside the means."
                )
        return [extent for extent in found if extent is not None]

    def nothing_beside(self) -> Beside:
        """No column: one value that all records have."""
        classes = len(self.sizes)
        none = np.zeros(self.encoded.rows, dtype=np.int32)
        return Beside(None, 1, none, none[:classes], np.arange(classes), self.sizes.astype(np.float64))


def read_pair(
    original: Any,
    release: Any,
    policy: Any = None,
    *,
    beside: Sequence[str] = (),
    threads: int | None = None,
    csv: CsvOptions | None = None,
) -> Pair:
    """Read a release beside its original.

    Parameters
    ----------
    original
        The table that was released.
    release
        A :class:`~rothko.release.release.Release`, an :class:`~rothko.release.anatomy.AnatomyRelease` or two tables
        like it (:class:`Anatomy`), any table that publishes values, ranges, sets or tree labels, or one that was read
        already (:class:`Grouped`).
    policy
        Roles, hierarchies, weights and the workload; a Release brings its own.
    beside
        Columns that are not generalised, to be known by their classes too.
    csv
        How the original is written, where it is a CSV file.
    """
    policy = brought(release, policy)
    if isinstance(release, AnatomyRelease):
        release = Anatomy(decoded(release.arrow), decoded(release.sensitive_arrow), GROUP, COUNT)
    elif isinstance(release, Release | HeldRelease):
        release = release.arrow
    if policy is None:
        raise InputError("measure needs the policy that tells roles and hierarchies; give policy=.")
    policy = as_policy(policy)
    for name in beside:
        if name not in policy.sensitive + policy.kept:
            released = policy.sensitive + policy.kept
            raise PolicyError(
                f"{name!r} is no column that is released as it is; "
                + (f"{nearest(name, released)}" if released else "the policy has none.")
            )
    anatomy = release if isinstance(release, Anatomy) else None
    source = opened(original, policy, csv=csv)
    shown = release if isinstance(release, Grouped) else open_source(_rows_of(release), asked=policy.columns)
    table = _read_original(source, policy, beside)
    encoded = encode(typed(table, policy), policy, threads=count_threads(threads))
    columns = {name: published_in(name, shown.names, shown.label, policy) for name in policy.quasi_identifiers}
    targets = list(dict.fromkeys(task.target for task in models(policy.workload)))
    others = list(dict.fromkeys([*targets, *beside])) if anatomy is None else [anatomy.group]
    for name in targets if anatomy is None else ():
        if name not in shown.names:
            raise PolicyError(f"workload: {shown.label} has no column {name!r}; {nearest(name, shown.names)}")
    if isinstance(shown, Grouped):
        found = _grouped(shown, columns, others, policy)
    else:
        found = _gathered(shown, columns, others, policy, apart=None if anatomy is None else anatomy.group)
    allowed = 0 if policy.suppress is None else policy.suppress.limit(encoded.rows)
    if not 0 <= encoded.rows - len(found.classes) <= allowed:
        raise InputError(
            f"{source.label} has {encoded.rows} records and {shown.label} {len(found.classes)}; "
            "measure compares a table with its release."
        )
    seen, widths = read_classes(found, encoded.lines, columns, policy.publish)
    known = {}
    for name in beside:
        before = with_one_missing(name, table[name], policy.missing)
        if anatomy is None:
            known[name] = _counted(name, before, found.others[name], found.classes)
        else:
            known[name] = _shared(name, before, anatomy, found.one_each[anatomy.group], found.sizes, policy)
    return Pair(
        policy=policy,
        encoded=encoded,
        others=found.others,
        columns=columns,
        classes=found.classes,
        sizes=found.sizes,
        one_each=found.one_each,
        keys=found.keys,
        shown=seen,
        widths=widths,
        beside=known,
    )


def _rows_of(release: Any) -> Any:
    """The table that has a row for each record."""
    return release.records if isinstance(release, Anatomy) else release


class Classes(NamedTuple):
    """The classes of a release, by what its rows show; see :class:`Pair`."""

    classes: NDArray[np.int32]
    sizes: NDArray[np.int64]
    one_each: pa.Table
    keys: Mapping[str, NDArray[np.int64]]
    others: Mapping[str, pa.ChunkedArray]


def _gathered(
    shown: Source, columns: Mapping[str, Sequence[str]], others: list[str], policy: Policy, *, apart: str | None
) -> Classes:
    """Read all rows of a release, and group them.

    Parameters
    ----------
    apart
        A column that tells apart what shows the same.
    """
    published = _read_release(shown, [c for names in columns.values() for c in names], others, policy)
    return group_rows(published, columns, others, apart=apart)


def group_rows(
    published: pa.Table,
    columns: Mapping[str, Sequence[str]],
    others: Sequence[str],
    *,
    apart: str | None = None,
    times: NDArray[np.int64] | None = None,
) -> Classes:
    """Group released rows by what they show.

    Parameters
    ----------
    apart
        A column that tells apart what shows the same.
    times
        How often each row is there; once where it is None.
    """
    keys = _keys(published, columns)
    classes = combined([*keys.values(), *([] if apart is None else [_codes(published[apart])])])
    sizes, first = np.bincount(classes, weights=times).astype(np.int64), first_rows(classes)
    return Classes(
        classes, sizes, published.take(pa.array(first)), {name: key[first] for name, key in keys.items()},
        {name: published[name] for name in others},
    )  # fmt: skip


def read_classes(
    found: Classes,
    lines: Sequence[Line],
    columns: Mapping[str, Sequence[str]],
    form: str,
    alone: Mapping[str, NDArray[np.bool_]] | None = None,
) -> tuple[dict[str, Shown], NDArray[np.float64]]:
    """What classes show of each quasi-identifier, and (classes, lines) its NCP, NaN where it is not known.

    Parameters
    ----------
    form
        The form of publishing.
    alone
        Line → what its labels show by themselves in the whole release, where these are some of its classes.
    """
    read = {}
    for line in lines:
        label, bounds = _label_and_bounds(line.name, columns[line.name], found.one_each)
        read[line.name] = read_shown(line, form, label, bounds, (alone or {}).get(line.name))
    return {name: one for name, (one, _) in read.items()}, np.stack([width for _, width in read.values()], axis=1)


def view_of(
    lines: tuple[Line, ...],
    codes: NDArray[np.int32],
    columns: Mapping[str, Sequence[str]],
    found: Classes,
    shown: Mapping[str, Shown],
    policy: Policy,
    times: NDArray[np.int64] | None = None,
) -> View:
    """Some records of an original beside the classes of a release, as tasks see them."""
    return View(
        lines=lines,
        codes=codes,
        classes=found.classes,
        targets={task.target: counted(task.target, found.others[task.target]) for task in models(policy.workload)},
        shown=shown,
        keys=found.keys,
        means=_means(lines, columns, found.one_each, policy),
        sizes=found.sizes,
        times=times,
    )


def _means(
    lines: Sequence[Line], columns: Mapping[str, Sequence[str]], table: pa.Table, policy: Policy
) -> dict[str, NDArray[np.float64]]:
    """Quasi-identifier → the mean that each class shows, where it shows one."""
    asked, means = statistics_asked(policy.workload), {}
    for line in lines:
        beside = mean_name(line.name)
        column = beside if beside in columns[line.name] else line.name if policy.publish == "mean" else None
        if column is not None and line.name in asked:
            codes, domain = counted(column, table[column])
            means[line.name] = domain.numbers[codes]
    return means


def _grouped(shown: Grouped, columns: Mapping[str, Sequence[str]], others: list[str], policy: Policy) -> Classes:
    """Take a release as it was grouped when it was read."""
    table = {name: shown.classes[name] for names in columns.values() for name in names}
    table |= {name: shown.others[name] for name in others}
    found = _with_one_missing(table, others, policy, escaped=shown.text)
    one_each = pa.table({name: column for name, column in found.items() if name not in others})
    classes = np.repeat(np.arange(len(shown.sizes), dtype=np.int32), shown.sizes)
    return Classes(classes, shown.sizes, one_each, _keys(one_each, columns), {name: found[name] for name in others})


def _keys(published: pa.Table, columns: Mapping[str, Sequence[str]]) -> dict[str, NDArray[np.int64]]:
    """Quasi-identifier → a number for what each row shows, the same for the same."""
    return {name: combined([_codes(published[c]) for c in columns[name]]).astype(np.int64) for name in columns}


def brought(release: Any, policy: Any) -> Any:
    """The policy that was given, or else that which a release brings with it."""
    brings = isinstance(release, Release | HeldRelease | AnatomyRelease)
    return release.certificate.policy if policy is None and brings else policy


def _read_original(source: Source, policy: Policy, beside: Sequence[str]) -> pa.Table:
    """The columns that lines are made from: also what models predict, by which labels are put in order."""
    needed = (*policy.quasi_identifiers, *policy.sensitive, *policy.modelled, *beside)
    for name in needed:
        if name not in source.names:
            raise PolicyError(f"columns.{name}: {source.label} has no such column; {nearest(name, source.names)}")
    # As `anonymize` reads them: labels that are equally frequent come in the order of their text.
    as_text = written_as_text(policy) | set(policy.sensitive + policy.kept)
    return source.read(list(dict.fromkeys(needed)), as_text=as_text)


def _read_release(shown: Source, published: list[str], others: list[str], policy: Policy) -> pa.Table:
    """Published columns as they stand, and other columns with one missing value."""
    for name in others:
        if name not in shown.names:
            raise PolicyError(f"{shown.label} has no column {name!r}; {nearest(name, shown.names)}")
    names = [*published, *others]
    table = shown.read(names, as_text=names)
    found = dict(columns_of(table))
    return pa.table(_with_one_missing(found, others, policy, escaped=shown.text))


def _with_one_missing(
    table: Mapping[str, pa.ChunkedArray], others: list[str], policy: Policy, *, escaped: bool
) -> dict[str, pa.ChunkedArray]:
    """Columns as they were before they were written, with null for what is missing."""
    before = {name: unescaped(column) if escaped else column for name, column in table.items()}
    return {
        name: with_one_missing(name, column, policy.missing if name in others else ())
        for name, column in before.items()
    }


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for each value, the same for the same."""
    one = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    distinct = one if pa.types.is_dictionary(one.type) else pc.dictionary_encode(one)
    indices = pc.fill_null(distinct.indices, len(distinct.dictionary)).to_numpy(zero_copy_only=False)
    return np.asarray(indices, dtype=np.int64)


def first_rows(classes: NDArray[np.int32]) -> NDArray[np.int64]:
    """The first row of each class: it shows what all of them show."""
    rows = np.empty(int(classes.max()) + 1, dtype=np.int64)
    rows[classes[::-1]] = np.arange(len(classes))[::-1]  # the last to be written stays
    return rows


def _label_and_bounds(
    name: str, columns: Sequence[str], table: pa.Table
) -> tuple[pa.ChunkedArray | None, list[pa.ChunkedArray] | None]:
    bounds = bounds_names(name)
    label = table[name] if name in columns else None
    return label, [table[column] for column in bounds] if set(bounds) <= set(columns) else None


def _together(*columns: pa.ChunkedArray) -> tuple[list[NDArray[np.int32]], int]:
    """Columns in one coding of their texts, a missing value being one too; and how many codes there are."""
    texts = [as_text(c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c) for c in columns]
    whole = pa.chunked_array([chunk for text in texts for chunk in text.chunks], pa.string()).combine_chunks()
    distinct = pc.dictionary_encode(whole, null_encoding="encode")
    codes = np.asarray(distinct.indices.to_numpy(), dtype=np.int32)
    return np.split(codes, np.cumsum([len(c) for c in columns])[:-1]), len(distinct.dictionary)


def _counted(name: str, before: pa.ChunkedArray, after: pa.ChunkedArray, classes: NDArray[np.int32]) -> Beside:
    """A column that the release has row by row."""
    (codes, released), size = _together(before, after)
    count = int(classes.max()) + 1
    pairs, times = np.unique(released.astype(np.int64) * count + classes, return_counts=True)
    return Beside(name, size, codes, (pairs // count).astype(np.int32), pairs % count, times.astype(np.float64))


def _shared(
    name: str,
    before: pa.ChunkedArray,
    anatomy: Anatomy,
    group_of_class: pa.ChunkedArray,
    sizes: NDArray[np.int64],
    policy: Policy,
) -> Beside:
    """A column that the release has group by group: each record has the share of its group of every value."""
    source = open_source(anatomy.values)
    for column in (anatomy.group, name, anatomy.count):
        if column not in source.names:
            raise InputError(f"{source.label} has no column {column!r}; {nearest(column, source.names)}")
    table = source.read([anatomy.group, name, anatomy.count], as_text=[anatomy.group, name])
    (codes, values), size = _together(before, with_one_missing(name, table[name], policy.missing))
    (of_class, of_entry), groups = _together(
        group_of_class, with_one_missing(anatomy.group, table[anatomy.group], policy.missing)
    )
    times = table[anatomy.count].cast(pa.float64()).to_numpy()
    listed = np.bincount(of_entry, weights=times, minlength=groups)
    wrong = int(np.count_nonzero(listed != np.bincount(of_class, weights=sizes, minlength=groups)))
    if wrong:
        raise InputError(
            f"{wrong} of {groups} groups do not have as many records in one table of the release as in the other."
        )
    order = np.argsort(of_entry, kind="stable")
    starts = np.searchsorted(of_entry[order], np.arange(groups + 1))
    entries = np.diff(starts)[of_class]
    classes = np.repeat(np.arange(len(sizes)), entries)
    within = np.arange(len(classes)) - np.repeat(np.cumsum(entries) - entries, entries)
    entry = order[starts[of_class][classes] + within]
    records = sizes[classes] * times[entry] / listed[of_class][classes]
    by_value = np.argsort(values[entry], kind="stable")
    return Beside(name, size, codes, values[entry][by_value], classes[by_value], records[by_value])

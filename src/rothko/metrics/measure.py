"""Measure a release against its original, from what it publishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rothko.data.csv_dialect import CsvOptions
from rothko.data.encode import encode, rank
from rothko.data.line import Line
from rothko.data.schema import typed, with_one_missing, written_as_text
from rothko.data.source import Source, open_source
from rothko.errors import InputError, PolicyError, nearest
from rothko.flow import Release, as_policy
from rothko.metrics.loss import Loss, loss
from rothko.metrics.published import read_shown
from rothko.metrics.workload import View, combined, workload_loss
from rothko.policy import Policy
from rothko.privacy.statistics import Domain, Sensitive
from rothko.release.check import published_in
from rothko.release.publish import bounds_names, check_statistics, mean_name, statistics_asked
from rothko.release.stored import StoredRelease
from rothko.threads import count_threads
from rothko.workload.tasks import columns_of_models, models


def measure(
    original: Any,
    release: Any,
    policy: Any = None,
    *,
    threads: int | None = None,
    csv: CsvOptions | None = None,
) -> Loss:
    """What a release lost, read back from what it publishes.

    Parameters
    ----------
    original
        The table that was released.
    release
        A :class:`~rothko.flow.Release`, or any table that publishes values, ranges, sets or tree labels.
    policy
        Roles, hierarchies, weights and the workload; a Release brings its own.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [20, 30, 40, 60]}
    >>> release = {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}
    >>> rk.measure(people, release, rk.Policy.quick(people, qi=["age"], k=2)).gcp
    0.375

    With a workload it also answers its queries:

    >>> policy = rk.Policy.quick(people, qi=["age"], k=2).but(workload=[{"aggregate": {"of": "age"}}])
    >>> [task] = rk.measure(people, rk.anonymize(people, policy)).workload
    >>> [(one.function, one.truth, one.answer) for one in task.answers][1:3]
    [('sum', 150.0, 150.0), ('avg', 37.5, 37.5)]
    """
    if isinstance(release, Release | StoredRelease):
        policy = release.certificate.policy if policy is None else policy
        release = release.arrow
    if policy is None:
        raise InputError("measure needs the policy that tells roles and hierarchies; give policy=.")
    policy = as_policy(policy)
    source, shown = open_source(original, csv=csv), open_source(release)
    encoded = encode(typed(_read_original(source, policy), policy), policy, threads=count_threads(threads))
    columns = {name: published_in(name, shown.names, shown.label, policy) for name in policy.quasi_identifiers}
    targets = list(dict.fromkeys(task.target for task in models(policy.workload)))
    published = _read_release(shown, [c for names in columns.values() for c in names], targets, policy)
    if published.num_rows != encoded.rows:
        raise InputError(
            f"{source.label} has {encoded.rows} records and {shown.label} {published.num_rows}; "
            "measure compares a table with its release."
        )
    check_statistics(encoded.lines, statistics_asked(policy.workload))
    keys = {name: combined([_codes(published[c]) for c in columns[name]]) for name in columns}
    classes = combined(list(keys.values()))
    first = _first_rows(classes)
    one_each = published.take(pa.array(first))
    read = {
        line.name: read_shown(line, policy.publish, *_label_and_bounds(line.name, columns[line.name], one_each))
        for line in encoded.lines
    }
    lost = loss(encoded.lines, np.stack([width for _, width in read.values()], axis=1), np.bincount(classes))
    if not policy.workload:
        return lost
    view = View(
        lines=encoded.lines,
        codes=encoded.codes,
        classes=classes,
        targets={name: _target(name, published[name]) for name in targets},
        shown={name: one for name, (one, _) in read.items()},
        keys={name: key[first] for name, key in keys.items()},
        means=_means(encoded.lines, columns, one_each, policy),
    )
    return replace(lost, workload=workload_loss(view, policy.workload))


def _read_original(source: Source, policy: Policy) -> pa.Table:
    """The columns that lines are made from: also what models predict, by which labels are put in order."""
    needed = (*policy.quasi_identifiers, *policy.sensitive, *columns_of_models(policy.workload))
    for name in needed:
        if name not in source.names:
            raise PolicyError(f"columns.{name}: {source.label} has no such column; {nearest(name, source.names)}.")
    # As `anonymize` reads them: labels that are equally frequent come in the order of their text.
    as_text = written_as_text(policy) | set(policy.sensitive + policy.kept)
    return source.read(list(dict.fromkeys(needed)), as_text=as_text)


def _read_release(shown: Source, published: list[str], targets: list[str], policy: Policy) -> pa.Table:
    """Published columns as they stand, and targets with one missing value."""
    for name in targets:
        if name not in shown.names:
            raise PolicyError(f"workload: {shown.label} has no column {name!r}; {nearest(name, shown.names)}.")
    names = [*published, *targets]
    table = shown.read(names, as_text=names)
    return pa.table(
        {name: with_one_missing(name, table[name], policy.missing if name in targets else ()) for name in names}
    )


def _codes(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """A number for each value, the same for the same."""
    one = column.unify_dictionaries().combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    distinct = one if pa.types.is_dictionary(one.type) else pc.dictionary_encode(one)
    indices = pc.fill_null(distinct.indices, len(distinct.dictionary)).to_numpy(zero_copy_only=False)
    return np.asarray(indices, dtype=np.int64)


def _first_rows(classes: NDArray[np.int32]) -> NDArray[np.int64]:
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


def _means(
    lines: Sequence[Line], columns: Mapping[str, Sequence[str]], table: pa.Table, policy: Policy
) -> dict[str, NDArray[np.float64]]:
    """Quasi-identifier → the mean that each class shows, where it shows one."""
    asked, means = statistics_asked(policy.workload), {}
    for line in lines:
        beside = mean_name(line.name)
        column = beside if beside in columns[line.name] else line.name if policy.publish == "mean" else None
        if column is not None and line.name in asked:
            codes, domain = _target(column, table[column])
            means[line.name] = domain.numbers[codes]
    return means


def _target(name: str, column: pa.ChunkedArray) -> Sensitive:
    """A column as codes of its values."""
    codes = np.empty(len(column), dtype=np.int32)
    values = rank(column, codes)
    codes[codes < 0] = len(values)
    return Sensitive(codes, Domain(name, values, np.bincount(codes, minlength=len(values) + 1)))

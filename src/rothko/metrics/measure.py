"""Measure a release against its original, from what it publishes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from rothko.data.csv_dialect import CsvOptions
from rothko.data.encode import encode
from rothko.data.schema import typed, with_one_missing, written_as_text
from rothko.data.source import open_source
from rothko.errors import InputError
from rothko.flow import Release, as_policy, count_threads
from rothko.metrics.loss import Loss, loss
from rothko.metrics.published import published_widths
from rothko.release.check import published_in


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
        Roles, hierarchies and weights; a Release brings its own.

    Examples
    --------
    >>> import rothko as rk
    >>> people = {"age": [20, 30, 40, 60]}
    >>> release = {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"]}
    >>> rk.measure(people, release, rk.Policy.quick(people, qi=["age"], k=2)).gcp
    0.375
    """
    if isinstance(release, Release):
        policy = release.certificate.policy if policy is None else policy
        release = release.arrow
    if policy is None:
        raise InputError("measure needs the policy that tells roles and hierarchies; give policy=.")
    policy = as_policy(policy)
    source, shown = open_source(original, csv=csv), open_source(release)
    names = list(policy.quasi_identifiers)
    table = source.read(names + list(policy.sensitive), as_text=written_as_text(policy))
    encoded = encode(typed(table, policy), policy, threads=count_threads(threads))
    columns = {name: published_in(name, shown.names, shown.label) for name in names}
    flat = [column for pair in columns.values() for column in pair]
    published = shown.read(flat, as_text=flat)
    published = pa.table({name: with_one_missing(name, published[name], ()) for name in flat})
    if published.num_rows != encoded.rows:
        raise InputError(
            f"{source.label} has {encoded.rows} records and {shown.label} {published.num_rows}; "
            "measure compares a table with its release."
        )
    keys = published.group_by(flat, use_threads=False).aggregate([([], "count_all")])
    widths = np.stack([published_widths(line, [keys[c] for c in columns[line.name]]) for line in encoded.lines], axis=1)
    return loss(encoded.lines, widths, keys["count_all"].to_numpy())

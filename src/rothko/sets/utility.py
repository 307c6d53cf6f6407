"""Utilities of items: what publishing one once is worth, from a mapping or a file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.errors import InputError
from rothko.sets.cells import cells, numbers_of

if TYPE_CHECKING:
    from rothko.sets.records import Records

Utility = Mapping[str, float] | str | Path | None
"""Item → utility, a CSV file of both, or None for 1 each."""


def with_utility(records: Records, utility: Utility) -> Records:
    """The records with other utilities; items that are not named have 1.

    >>> from rothko.sets.records import from_lists
    >>> with_utility(from_lists([["tea", "milk"]]), {"tea": 7}).utility.tolist()
    [1.0, 7.0]
    """
    if utility is None:
        return replace(records, utility=np.ones(records.size))
    told = read_utility(utility) if isinstance(utility, str | Path) else dict(utility)
    names: list[str] = records.names.to_pylist()
    unknown = sorted(map(str, set(told) - set(names)))
    if unknown:
        raise InputError(
            f"{len(unknown):,} of {len(told):,} items with a utility are in no record; remove them, or correct their "
            "names (--show-values lists them).",
            values=unknown,
        )
    worth = np.array([_worth(told.get(name, 1.0)) for name in names], dtype=np.float64)
    bad = [names[i] for i in np.flatnonzero(~((worth >= 0) & np.isfinite(worth)))]
    if bad:
        raise InputError(
            f"{len(bad):,} of {len(told):,} utilities are negative, missing, infinite or no number; each must be 0 or "
            "more (--show-values lists the items).",
            values=bad,
        )
    notes = records.notes
    if len(told) < len(names):
        notes = (*notes, f"{len(names) - len(told):,} of {len(names):,} items have no utility of their own; it is 1.")
    return replace(records, utility=worth, notes=notes)


def _worth(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def read_utility(path: str | Path, *, encoding: str | None = None) -> dict[str, float]:
    """Utilities from a file with the columns ``item`` and ``utility``, or with an item and a number in each row."""
    source = open_source(path, csv=CsvOptions(encoding=encoding))
    if len(source.names) != 2 and not {"item", "utility"} <= set(source.names):
        raise InputError(f"{source.label} has {len(source.names)} columns; utilities need 'item' and 'utility'.")
    columns = ("item", "utility") if {"item", "utility"} <= set(source.names) else source.names
    table = source.read(columns, as_text=[columns[0]])
    items = cells(table.column(0), "item")  # by this name: without a header, what is taken for one is an item
    if items.null_count:
        raise InputError(f"{source.label} has {items.null_count:,} rows without an item; remove them.")
    names = items.to_pylist()
    values = numbers_of(table.column(1), "utility")
    again = [name for name, times in Counter(names).items() if times > 1]
    if again:
        raise InputError(
            f"{source.label} tells the utility of {len(again):,} items more than once; leave one row for each "
            "(--show-values lists them).",
            values=again,
        )
    return dict(zip(names, values.tolist(), strict=True))

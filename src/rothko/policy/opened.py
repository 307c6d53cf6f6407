"""The table that a policy is about, opened: in the form that its ``input`` says, its values written as in a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rothko.data.schema import Column, WrittenType
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_either, open_source
from rothko.data.source.source import Source
from rothko.data.source.written import Written
from rothko.policy.policy import Policy


def opened(data: Any, policy: Policy, *, csv: CsvOptions | None = None, or_release: bool = False) -> Source:
    """Open the table of a policy; what is open already, was opened so and comes back.

    Parameters
    ----------
    csv
        How a text file is written; wins over the policy's ``input``.
    or_release
        Whether the table may be a release, which is written as rothko writes, whatever the policy's ``input`` says.
    """
    if isinstance(data, Source):
        return data
    read = policy.input.options(csv)
    if or_release:
        source = open_either(data, [csv or CsvOptions(), read], list(policy.columns))
    else:
        source = open_source(data, csv=read, asked=policy.columns)
    return written_by(policy, read.decimal, or_release=or_release).opened(source)


def written_by(policy: Policy, decimal: str | None, *, or_release: bool = False) -> Written:
    """How the columns of a policy are written."""
    columns: Mapping[str, Column] = policy.columns
    return Written(
        dates={
            name: (str(column.type), column.type.form)
            for name, column in columns.items()
            if isinstance(column.type, WrittenType)
        },
        numbers=frozenset(name for name, column in columns.items() if column.type == "number"),
        decimal=decimal,
        missing=policy.missing,
        or_released=or_release,
    )

"""Identifiers that repeat: a sign that a person has several records, of which k-anonymity would count each."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.exact import DIGITS
from rothko.data.line import as_text
from rothko.data.schema import Role
from rothko.data.source.source import PIECE_ROWS, Source
from rothko.data.typed import WHOLE, stored_as_text, with_one_missing
from rothko.errors import InputError
from rothko.policy.appearance import ENOUGH
from rothko.policy.column_names import KNOWN, MEASURES, NUMBER_OF_A_PERSON, OF_A_PERSON, SHARED, named
from rothko.policy.policy import Policy

LONG = 5
"""Digits of numbers that are given to people, where they are not given in turn."""


def repeated(source: Source, policy: Policy) -> str:
    """What to tell of identifiers that repeat where records are counted; nothing where none does.

    Not how often: the certificate says it too, and how many values a column has that does not leave is nobody's affair.
    The first records are looked at, a quarter of a million: reading all of a large file once more would cost more than
    it tells.
    """
    told_apart = () if policy.owner is not None else _identifiers(policy)
    names = [name for name in told_apart if name not in source.unread]
    first = source.peek(names, rows=PIECE_ROWS) if names else None
    if first is None:
        return ""
    told = [name for name in names if _repeats(name, first[name], policy)]
    if not told:
        return ""
    which = ", ".join(f"{name!r} repeats" for name in told[:3])
    return (
        f"{which}: where a person has several records, records are counted and not people, and "
        "a class may be a single person's; to count people, say whose records are: "
        f"k-anonymity: {{k: …, of: {told[0]}}}."
    )


def _identifiers(policy: Policy) -> Iterator[str]:
    """The columns that may tell people apart: by their role, unless they are called as something that people share, a
    name or a place; or that are kept and are called as a number given to one person.
    """
    for name, column in policy.columns.items():
        shared = named(SHARED, name) or named(MEASURES, name) or named(KNOWN, name)
        own = column.role is Role.IDENTIFIER and (_is_called_so(name) or not shared)
        if own or (column.role is Role.KEEP and named(NUMBER_OF_A_PERSON, name)):
            yield name


def _is_called_so(name: str) -> bool:
    """Whether a column is called as one that tells people apart."""
    return bool(named(NUMBER_OF_A_PERSON, name) or named(OF_A_PERSON, name))


def _repeats(name: str, column: pa.ChunkedArray, policy: Policy) -> bool:
    """Whether a column tells people apart, as far as its values show, and some of them have several records.

    Many texts do, and numbers that people are given; a sex, a ward, amounts or dates were dropped for another reason.
    """
    try:
        present = with_one_missing(name, column, policy.missing).drop_null()
    except InputError:
        return False
    values, sure = present.unique(), _is_called_so(name)
    if not (2 if sure else ENOUGH) <= len(values) < len(present):
        return False
    if pa.types.is_dictionary(values.type):
        words = values.cast(pa.string())
        if (kind := stored_as_text(words)) != "number":
            return kind is None
        whole = pc.all(pc.match_substring_regex(words, WHOLE), min_count=0).as_py()
    else:
        words = as_text(values)
        whole = pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and values.type.scale == 0)
    return bool(whole) and (sure or _are_given(words))


def _are_given(words: pa.Array) -> bool:
    """Whether whole numbers look as if they were given to people: in turn, or all of one length."""
    lengths = pc.min_max(pc.utf8_length(pc.utf8_trim_whitespace(words))).as_py()
    if lengths["min"] == lengths["max"] >= LONG:
        return True
    ends = pc.min_max(pc.cast(words, pa.decimal128(DIGITS, 0))).as_py()
    return bool(ends["max"] - ends["min"] < 2 * len(words))

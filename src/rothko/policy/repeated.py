"""Identifiers that repeat: a sign that a person has several records, of which k-anonymity would count each."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.schema import Role
from rothko.data.source.source import PIECE_ROWS, Source
from rothko.data.typed import WHOLE, stored_as_text, with_one_missing
from rothko.errors import InputError
from rothko.policy.appearance import ENOUGH
from rothko.policy.column_names import MEASURES, NUMBER_OF_A_PERSON, OF_A_PERSON, SHARED, named
from rothko.policy.policy import Policy


def repeated(source: Source, policy: Policy) -> str:
    """What to tell of identifiers that repeat where records are counted; nothing where none does.

    Not how often: the certificate says it too, and how many values a column has that does not leave is nobody's affair.
    The first records are looked at, a quarter of a million: reading all of a large file once more would cost more than
    it tells.
    """
    names = () if policy.owner is not None else tuple(_identifiers(policy))
    first = source.peek(names, rows=PIECE_ROWS) if names else None
    if first is None:
        return ""
    told = []
    for name in names:
        values, records = _values(name, first[name], policy)
        if _least(name) <= values < records:
            told.append(name)
    if not told:
        return ""
    which = ", ".join(f"{name!r} repeats" for name in told[:3])
    return (
        f"{which}: where a person has several records, records are counted and not people, and "
        "a class may be a single person's; to count people, say whose records are: "
        f"k-anonymity: {{k: …, of: {told[0]}}}."
    )


def _identifiers(policy: Policy) -> Iterator[str]:
    """The columns that tell people apart: by their role, unless they are called as something that people share, such as
    a name; or that are kept and are called as a number given to one person.
    """
    for name, column in policy.columns.items():
        number, shared = named(NUMBER_OF_A_PERSON, name), named(SHARED, name) or named(MEASURES, name)
        if (column.role is Role.KEEP and number) or (column.role is Role.IDENTIFIER and (number or not shared)):
            yield name


def _least(name: str) -> int:
    """How many values a column has at least that tells people apart; few tell nobody, unless that is what it is called.

    A sex or a ward was dropped for another reason.
    """
    return 2 if named(NUMBER_OF_A_PERSON, name) or named(OF_A_PERSON, name) else ENOUGH


def _values(name: str, column: pa.ChunkedArray, policy: Policy) -> tuple[int, int]:
    """How many different values there are, and how many records have one; 0 where they do not tell people apart.

    Those are texts and whole numbers: a column of amounts or dates was dropped for another reason.
    """
    try:
        present = with_one_missing(name, column, policy.missing).drop_null()
    except InputError:
        return 0, 0
    values = present.unique()
    words = values.cast(pa.string()) if pa.types.is_dictionary(values.type) else values
    if pa.types.is_string(words.type):
        kind = stored_as_text(words)
        amounts = kind == "number" and not pc.all(pc.match_substring_regex(words, WHOLE), min_count=0).as_py()
        tells = kind not in ("date", "timestamp") and not amounts
    else:
        tells = pa.types.is_integer(words.type) or (pa.types.is_decimal(words.type) and words.type.scale == 0)
    return (len(values), len(present)) if tells else (0, 0)

"""Equal records, in an order that neither the input nor the seed tells.

A local method may send equal records to different classes. Were the input's order to decide which, the release would
tell about it: rows of a class show which of the equal records stood first, perhaps by name. So a local method is given
the records sorted by their codes, and equal ones in an order that hangs on a secret. What it makes of the table then
depends on the records and the seed; which of several equal records goes where, on the secret alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.classes import Classes
from rothko.methods.curve.curve import fields_for, pack_codes, sort_records
from rothko.secret import Secret


def with_hidden_ties(
    encoded: Encoded, secret: Secret, group: Callable[[Encoded], Classes], *, threads: int = 1
) -> Classes:
    """The partition that a method makes of the records in hidden order, in terms of the records as they came."""
    return with_ties(encoded, ties_of(secret, encoded.rows), group, threads=threads)


def with_ties(
    encoded: Encoded, ties: NDArray[np.uint64], group: Callable[[Encoded], Classes], *, threads: int = 1
) -> Classes:
    """The same, given what each record has drawn: some records of a table draw as all of them do."""
    order = hidden_order(encoded, ties, threads=threads)
    found = group(encoded.take(order, threads=threads))
    return replace(found, order=order[found.order])


def ties_of(secret: Secret, rows: int, first: int = 0) -> NDArray[np.uint64]:
    """What so many records of a table have drawn, from the record ``first`` on."""
    return secret.row("ties", rows, first)


def hidden_order(encoded: Encoded, ties: NDArray[np.uint64], *, threads: int = 1) -> NDArray[np.int32]:
    """Record numbers by rising codes; those of equal records by what they have drawn."""
    fields, count = fields_for([line.size for line in encoded.lines])
    words = np.zeros((count + 1, encoded.rows), dtype=np.uint64)
    pack_codes(encoded, range(len(fields)), fields, words)
    words[count] = ties
    return sort_records(words, threads)

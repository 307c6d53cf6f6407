"""Whole numbers and decimals without rounding.

A floating-point number keeps 53 bits; identifiers of 64 bits and decimals have more. So nothing that decides or is told
goes through one before it is subtracted: differences are exact, and only they are rounded. Decimals of more digits than
:data:`DIGITS` are refused (:mod:`rothko.data.typed`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
"""A number as people write it in a text column."""
NUMBER_OR_INFINITE = NUMBER[1:-1] + r"|[+-]?inf"
DIGITS = 38
"""The most digits of a number that is exact: those of SQL, which verifies."""
PLAIN = r"^[+-]?(\d+\.?\d*|\.\d+)$"
"""A number that is written with all its digits."""


def is_exact(kind: pa.DataType) -> bool:
    """Whether values of a type are whole numbers or decimals."""
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def apart(values: pa.Array, start: Decimal | int) -> NDArray[np.float64]:
    """How far whole numbers or decimals lie above one of their kind: subtracted exactly, and rounded then.

    >>> apart(pa.array([2**63, 2**63 + 1], pa.uint64()), 2**63).tolist()
    [0.0, 1.0]
    """
    scale = values.type.scale if pa.types.is_decimal(values.type) else 0
    wide = pa.decimal256(DIGITS + 2, scale)
    found = pc.subtract(_as_decimal(values).cast(wide), pa.scalar(Decimal(start), wide))
    return np.asarray(found.cast(pa.float64()).to_numpy(zero_copy_only=False))


def nearest(number: float, above: Decimal | int, kind: pa.DataType) -> Decimal:
    """The value of a type of whole numbers or decimals that is nearest to one that lies so far above another."""
    scale = kind.scale if pa.types.is_decimal(kind) else 0
    with localcontext(prec=4 * DIGITS):
        return (Decimal(above) + Decimal(number)).quantize(Decimal((0, (1,), -scale)))


def read_exact(texts: pa.Array) -> pa.Array | None:
    """Texts of numbers as decimals; None where one has an exponent, or they need more digits than there are.

    >>> read_exact(pa.array(["18446744073709551615", "+0.5"])).type
    Decimal128Type(decimal128(38, 1))
    """
    if not pc.all(pc.match_substring_regex(texts, PLAIN), min_count=0).as_py():
        return None
    parts = pc.extract_regex(texts, r"^[+-]?(?P<whole>\d*)\.?(?P<rest>\d*)$")
    before, after = (pc.max(pc.utf8_length(pc.struct_field(parts, i))).as_py() or 0 for i in (0, 1))
    return pc.cast(texts, pa.decimal128(DIGITS, after)) if before + after <= DIGITS else None


def rounded(texts: Iterable[str]) -> bool:
    """Whether numbers, as they are written, have whole parts that a floating-point number does not keep.

    >>> rounded(["9007199254740992.0"]), rounded(["9007199254740993"]), rounded(["1e300"])
    (False, True, False)
    """
    long = (text for text in texts if re.fullmatch(r"\s*[+-]?\d{16,}\.?\d*\s*", text))
    return any(Decimal(text) != Decimal(float(text)) for text in long)


def held(words: Iterable[str], kind: pa.DataType) -> list[Any]:
    """The numbers among some words that a column of a type can hold.

    By value: -9, -9.0 and -9.00 are the same number. A floating-point column holds the number nearest to a word.

    >>> held(["-9", "9.0", "0.5", "none"], pa.uint8()), held(["0.5", "0.05"], pa.decimal128(3, 1))
    ([9], [Decimal('0.5')])
    """
    found: list[Any] = []
    for word in words:
        if not re.fullmatch(NUMBER_OR_INFINITE, word.strip()):
            continue
        number = Decimal(word.strip())
        if pa.types.is_floating(kind):
            with np.errstate(over="ignore"):
                found.append(kind.to_pandas_dtype()(float(word)) + 0.0)  # −0 and 0 are one number
        elif number.is_finite() and abs(number.adjusted()) <= 2 * DIGITS:
            whole = number == int(number)
            if pa.types.is_integer(kind) and not whole:
                continue
            try:
                found.append(pa.scalar(int(number) if whole else number, kind).as_py())
            except (pa.ArrowException, OverflowError):
                continue  # beyond what the type holds, and so no value of it
    return found


def _as_decimal(values: pa.Array) -> pa.Array:
    return values if pa.types.is_decimal(values.type) else values.cast(pa.decimal128(20, 0))

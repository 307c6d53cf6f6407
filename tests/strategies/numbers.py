"""Columns of numbers near the limits of every type that holds whole numbers or decimals."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

INTEGERS = tuple(getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64))
DECIMALS = (
    pa.decimal32(9, 2), pa.decimal64(18, 4), pa.decimal128(20, 0), pa.decimal128(38, 0), pa.decimal128(38, 37),
    pa.decimal256(38, 10),
)  # fmt: skip
KINDS = (*INTEGERS, *DECIMALS)


def ends(kind: pa.DataType) -> tuple[int, int]:
    """The smallest and the largest value of a type, in its unit."""
    if pa.types.is_decimal(kind):
        return 1 - 10**kind.precision, 10**kind.precision - 1
    signed = pa.types.is_signed_integer(kind)
    return (-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1) if signed else (0, 2**kind.bit_width - 1)


def value(units: int, kind: pa.DataType) -> int | Decimal:
    """So many units of a type, exactly."""
    if not pa.types.is_decimal(kind):
        return units
    digits = tuple(map(int, str(abs(units))))
    return Decimal((int(units < 0), digits, -kind.scale))


@st.composite
def near_limits(draw: st.DrawFn, *, least: int = 2) -> tuple[pa.DataType, list[Any]]:
    """A type, and some of its values: near one of its limits, near both, and near nothing."""
    kind = draw(st.sampled_from(KINDS))
    low, high = ends(kind)
    near = draw(st.sampled_from([(low,), (high,), (low, high), (low, 0, high), (low // 3 + high // 2,)]))
    units = st.builds(lambda at, off: max(low, min(high, at + off)), st.sampled_from(near), st.integers(-40, 40))
    return kind, [value(one, kind) for one in draw(st.lists(units, min_size=least, max_size=16))]

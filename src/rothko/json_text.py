"""JSON as the standard has it: neither ``NaN`` nor ``Infinity``, which other readers refuse or misread."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn


def dump(data: Any, *, indent: int | None = 1, ascii_only: bool = False) -> str:
    """Plain data as JSON; a number that is none, or infinite, becomes null.

    >>> dump([0.5, float("inf")], indent=None)
    '[0.5, null]'
    """
    try:
        return json.dumps(data, ensure_ascii=ascii_only, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(data), ensure_ascii=ascii_only, indent=indent, allow_nan=False)


def parse(text: str) -> Any:
    """The reverse of :func:`dump`; ValueError where a number is infinite, or an object has a key twice.

    >>> parse('{"a": 1}')
    {'a': 1}
    """
    try:
        return json.loads(text, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_object)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _finite(data: Any) -> Any:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data


def _number(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits)


def _refuse(_: str) -> NoReturn:
    raise ValueError("not a finite number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in an object")
    return found

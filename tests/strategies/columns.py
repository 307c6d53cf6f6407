"""Tables from plain columns, as the methods take them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa

from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.policy.policy import Policy


def encoded_of(columns: dict[str, list[Any]], sensitive: dict[str, list[Any]] | None = None) -> Encoded:
    policy = Policy.quick([*columns, *(sensitive or {})], qi=list(columns), sensitive=list(sensitive or {}), k=2)
    return encode(typed(pa.table({**columns, **(sensitive or {})}), policy), policy)


def heaped(counts: list[int], seed: int) -> Encoded:
    """People of an age and a city, of whose sensitive values there are so many each."""
    chosen = random.Random(seed)
    values = [f"v{v}" for v, count in enumerate(counts) for _ in range(count)]
    if seed % 2:
        chosen.shuffle(values)
    ages = sorted(chosen.choices(range(20, 90), k=len(values)))
    return encoded_of({"age": ages, "city": chosen.choices("abcdef", k=len(values))}, {"disease": values})

"""How a method reads its paper: as rothko does, or to the letter where that leaves it.

The papers are the specification. Where a method does otherwise for a good reason, its page says so, and ``reading:
paper`` is what the paper says.
"""

from __future__ import annotations

from typing import Literal, get_args

from rothko.errors import PolicyError

Reading = Literal["rothko", "paper"]


def check_reading(method: str, reading: object) -> None:
    """Refuse what is no reading."""
    known = get_args(Reading)
    if reading not in known:
        raise PolicyError(f"{method}: reading must be {' or '.join(map(repr, known))}, not {reading!r}.")

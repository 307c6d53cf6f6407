"""Codes whose structure is known: how many of their first characters stand for a group.

Nothing of the classifications themselves is here, only how their codes are built. Systems whose codes look like any
number are known by the name of the column, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from rothko.data.hierarchy import icd10
from rothko.policy.column_names import named

MOST = 0.98
"""The share of values that must be built as a system's codes are."""


class System(NamedTuple):
    """A classification."""

    title: str
    pattern: str
    """Of its codes."""
    lengths: tuple[int, ...]
    """How many characters its levels keep, finest first."""
    names: str
    """Words in the name of a column that is about it."""
    telling: bool
    """Whether its codes are told by their form alone."""


NACE = r"nace|isic|industry|branche|sector|wirtschaftszweig"
SYSTEMS = (
    System("ICD-10", icd10.CODE, (3, 2, 1), r"icd\w*|diagnos\w+|dx", False),
    System("ISO 3166-2", r"^[A-Z]{2}-[A-Z0-9]{1,3}$", (2,), r"iso|region|province|state|subdivision|land", True),
    System("NUTS", r"^[A-Z]{2}[0-9A-Z]{1,3}$", (4, 3, 2), r"nuts\w*", False),
    System("NUTS", r"^[A-Z]{2}[0-9A-Z]?[0-9][0-9A-Z]?$", (4, 3, 2), r"region|gebiet|regio", False),
    System("NACE", r"^[A-U][0-9]{2}(\.[0-9]{1,2})?$", (5, 3, 1), NACE, False),
    System("NACE", r"^[0-9]{2}(\.[0-9]{1,2})?$", (4, 2), NACE, False),
    System("NACE", r"^[0-9]{4}$", (3, 2), r"nace|isic", False),
    System("ISCO", r"^[0-9]{4}$", (3, 2, 1), r"isco\w*|occupation|beruf|job", False),
)


def system_of(name: str, values: pa.Array) -> System | None:
    """The system that the codes of a column are of; none where that is not clear.

    >>> found = system_of("main_diagnosis_icd", pa.array(["I21.4", "J45", "E11.9"]))
    >>> found.title, found.lengths
    ('ICD-10', (3, 2, 1))
    >>> system_of("room", pa.array(["2411", "3120"]))
    """
    for system in SYSTEMS:
        if not system.telling and not named(system.names, name):
            continue
        like = pc.match_substring_regex(values, system.pattern)
        if len(values) and like.true_count >= MOST * len(values):
            return system
    return None


def all_diagnoses(name: str, values: pa.Array) -> bool:
    """Whether a column holds ICD-10 codes and nothing else."""
    system = system_of(name, values)
    return system is not None and system.title == "ICD-10" and bool(pc.all(icd10.are_codes(values)).as_py())


def levels(system: System, values: pa.Array) -> list[int]:
    """The levels of a system that group the codes of a column: none that keeps them as they are."""
    longest = pc.max(pc.utf8_length(values)).as_py() or 0
    return [length for length in system.lengths if length < longest]


def grouped(system: System, values: pa.Array) -> tuple[Any, str] | None:
    """A hierarchy for the codes of a column, and what is said of it; none where all of them are as short as a group.

    >>> grouped(SYSTEMS[0], pa.array(["I21.4", "J45"]))
    ('icd-10', 'ICD-10 codes, grouped by category and chapter')
    >>> grouped(SYSTEMS[0], pa.array(["I21.4", "none"]))[1]
    'ICD-10 codes, grouped by their first characters, since 1 of 2 values is none of them'
    """
    said = f"{system.title} codes, grouped by their first characters"
    if system.title == "ICD-10":
        others = len(values) - icd10.are_codes(values).true_count
        if not others:
            return "icd-10", "ICD-10 codes, grouped by category and chapter"
        said += f", since {others:,} of {len(values):,} values {'is' if others == 1 else 'are'} none of them"
    marked = pc.any(pc.ends_with(values, "*"), min_count=0).as_py()  # which a group would be taken for
    kept = levels(system, values)
    return ({"prefix": kept}, said) if kept and not marked else None

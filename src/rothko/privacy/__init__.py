"""Privacy requirements: what every class of a release must hold.

One file per family; :data:`REQUIREMENTS` names them as a policy does. To add one: a frozen
dataclass that follows :class:`~rothko.privacy.requirement.Requirement`, an entry here, its test
and its page.
"""

from __future__ import annotations

from rothko.privacy.categories import PAlpha
from rothko.privacy.closeness import TCloseness
from rothko.privacy.combined import AlphaK, PSensitive
from rothko.privacy.diversity import DistinctLDiversity, EntropyLDiversity, FrequencyLDiversity, RecursiveLDiversity
from rothko.privacy.k1anonymity import K1Anonymity
from rothko.privacy.kanonymity import KAnonymity
from rothko.privacy.moments import SquaredErrorDiversity, VarianceDiversity
from rothko.privacy.requirement import Requirement

REQUIREMENTS: dict[str, type[Requirement]] = {
    cls.name: cls
    for cls in (
        KAnonymity,
        DistinctLDiversity,
        EntropyLDiversity,
        RecursiveLDiversity,
        FrequencyLDiversity,
        AlphaK,
        PSensitive,
        PAlpha,
        TCloseness,
        VarianceDiversity,
        SquaredErrorDiversity,
    )
}
"""Policy name → requirement."""
SET_REQUIREMENTS: dict[str, type[Requirement]] = {cls.name: cls for cls in (KAnonymity, K1Anonymity)}
"""Name → requirement of records that are sets, which a method for them meets."""

__all__ = [
    "REQUIREMENTS",
    "SET_REQUIREMENTS",
    "AlphaK",
    "DistinctLDiversity",
    "EntropyLDiversity",
    "FrequencyLDiversity",
    "K1Anonymity",
    "KAnonymity",
    "PAlpha",
    "PSensitive",
    "RecursiveLDiversity",
    "Requirement",
    "SquaredErrorDiversity",
    "TCloseness",
    "VarianceDiversity",
]

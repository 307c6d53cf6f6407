"""Privacy requirements: what every class of a release must hold.

One file per family; :data:`REQUIREMENTS` names them as a policy does. To add one: a frozen
dataclass that follows :class:`~rothko.privacy.requirement.Requirement`, an entry here, its test
and its page.
"""

from __future__ import annotations

from rothko.privacy.diversity import DistinctLDiversity
from rothko.privacy.kanonymity import KAnonymity
from rothko.privacy.requirement import Requirement

REQUIREMENTS: dict[str, type[Requirement]] = {
    KAnonymity.name: KAnonymity,
    DistinctLDiversity.name: DistinctLDiversity,
}
"""Policy name → requirement."""

__all__ = ["REQUIREMENTS", "DistinctLDiversity", "KAnonymity", "Requirement"]

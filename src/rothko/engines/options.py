"""What a policy may say about the engine: its name, or its name and options.

Plain data: nothing that runs an engine is imported to read one of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from rothko.errors import PolicyError
from rothko.privacy.confidence import Test
from rothko.privacy.requirement import number


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto:
    """Memory while the table fits there, else Rothko-S."""

    name: ClassVar[str] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """The compiled loop over all cores, for tables that fit in memory."""

    name: ClassVar[str] = "memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class RothkoT:
    """On disk, exact: the classes are those of the memory engine."""

    name: ClassVar[str] = "rothko-t"


@dataclass(frozen=True, slots=True, kw_only=True)
class RothkoS:
    """On disk, by samples: cuts that a sample allows with confidence, and undoes those that all records do not.

    >>> RothkoS(alpha=0.01)
    RothkoS(test='exact', alpha=0.01)
    """

    name: ClassVar[str] = "rothko-s"

    test: Test = "exact"
    """How a sample is judged; see :mod:`rothko.privacy.confidence`."""
    alpha: float = 0.05
    """How often a cut that is not allowed may be made, to be undone later; above 0 and at most 0.5."""

    def __post_init__(self) -> None:
        if self.test not in get_args(Test):
            raise PolicyError(f"{self.name}: test must be exact, normal or naive, not {self.test!r}.")
        number(self.name, "alpha", self.alpha, above=0, most=0.5)

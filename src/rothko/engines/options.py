"""The engines that a policy may name, with their options.

Plain data: nothing that runs an engine is imported to read one of these. What runs it is in :mod:`rothko.engines.runs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, get_args

from rothko.engines.engine import Engine
from rothko.errors import PolicyError
from rothko.privacy.confidence import Test
from rothko.privacy.requirement import number, whole_number


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Engine):
    """Memory while the table fits there, else Rothko-S."""

    name: ClassVar[str] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(Engine):
    """The compiled loop over all cores, for tables that fit in memory."""

    name: ClassVar[str] = "memory"
    in_memory: ClassVar[bool] = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDisk(Engine):
    """Base of the engines that read a source in passes, and write parts of it to a private folder."""

    samples: ClassVar[bool]
    """Whether cuts are chosen in samples."""

    records_at_once: int | None = None
    """Take no more records into memory at once, though more might fit there; for trying out how a table is taken
    apart."""

    def __post_init__(self) -> None:
        if self.records_at_once is not None:
            whole_number(self.name, "records_at_once", self.records_at_once, least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RothkoT(OnDisk):
    """On disk, exact: the classes are those of the memory engine."""

    name: ClassVar[str] = "rothko-t"
    samples: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RothkoS(OnDisk):
    """On disk, by samples: cuts that a sample allows with confidence, and undoes those that all records do not.

    >>> RothkoS(alpha=0.01)
    RothkoS(records_at_once=None, test='exact', alpha=0.01)
    """

    name: ClassVar[str] = "rothko-s"
    samples: ClassVar[bool] = True

    test: Test = "exact"
    """How a sample is judged; see :mod:`rothko.privacy.confidence`."""
    alpha: float = 0.05
    """How often a cut that is not allowed may be made, to be undone later; above 0 and at most 0.5."""

    def __post_init__(self) -> None:
        OnDisk.__post_init__(self)
        if self.test not in get_args(Test):
            raise PolicyError(f"{self.name}: test must be exact, normal or naive, not {self.test!r}.")
        number(self.name, "alpha", self.alpha, above=0, most=0.5)

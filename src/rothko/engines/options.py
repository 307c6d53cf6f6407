"""The engines that a policy may name, with their options.

Plain data: nothing that runs an engine is imported to read one of these. What runs it is in :mod:`rothko.engines.runs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from rothko.engines.engine import Engine, Request
from rothko.errors import PolicyError
from rothko.methods.method import Method
from rothko.mistakes import said
from rothko.privacy.confidence import Test
from rothko.privacy.requirement import number, whole_number
from rothko.workload.tasks import models

Grow = Literal["memory", "confidence"]
ROOM = 2
"""Growth ends where a part is expected to have at most one of this many of the records that fit in memory."""


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
class InParts(Engine):
    """Base of the engines that never hold all records at once."""

    records_at_once: int | None = None
    """Take no more records into memory at once, though more might fit there; for trying out how a table is taken
    apart."""

    def __post_init__(self) -> None:
        if self.records_at_once is not None:
            whole_number(self.name, "records_at_once", self.records_at_once, least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnDisk(InParts):
    """Base of the engines that read a source in passes, and write parts of it to a private folder."""

    samples: ClassVar[bool]
    """Whether cuts are chosen in samples."""

    def can_run(self, method: Method) -> bool:
        """Also those whose classes are made segment by segment of a curve, each loaded by itself, or by counts."""
        return not method.needs_all_records or method.in_segments != "no" or method.by_counts

    def check(self, policy: Request, reason: str) -> None:
        """Refuse to count people along a curve, and to repair what lies there."""
        InParts.check(self, policy, reason)
        if policy.method.in_segments == "exactly" and policy.method.repair:
            raise PolicyError(
                f"repair of {policy.method.name} sees all records at once, in memory; with engine {self.name} leave it "
                "out, or use cluster, which repairs its classes range by range."
            )
        if policy.owner is not None and policy.method.needs_all_records:
            chosen = reason if reason == "asked for" else f"chosen: {reason}"
            raise PolicyError(
                f"{policy.method.name} counts people (of: {policy.owner}) in memory alone, and engine {self.name} was "
                f"{chosen}; raise {said('--memory')}, or use mondrian."
            )
        for task in models(policy.workload):
            if policy.method.by_counts and task.features is not None:
                raise PolicyError(
                    f"{task.describe()}: engine {self.name} measures models of all quasi-identifiers only where "
                    f"{policy.method.name} counts; leave out its features, or raise {said('--memory')}."
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class RothkoT(OnDisk):
    """On disk, exact: the classes are those of the memory engine."""

    name: ClassVar[str] = "rothko-t"
    samples: ClassVar[bool] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RothkoS(OnDisk):
    """On disk, by samples: cuts that a sample allows with confidence, and undoes those that all records do not.

    >>> RothkoS(alpha=0.01)
    RothkoS(records_at_once=None, test='exact', alpha=0.01, grow='memory')
    """

    name: ClassVar[str] = "rothko-s"
    samples: ClassVar[bool] = True

    test: Test = "exact"
    """How a sample is judged; see :mod:`rothko.privacy.confidence`."""
    alpha: float = 0.05
    """How often a cut that is not allowed may be made, to be undone later; above 0 and at most 0.5."""
    grow: Grow = "memory"
    """How far a tree grows in a sample: ``memory``, to parts that memory has room for, or ``confidence``, as in the
    paper, until the sample gives confidence in no cut."""

    def __post_init__(self) -> None:
        InParts.__post_init__(self)
        if self.test not in get_args(Test):
            raise PolicyError(f"{self.name}: test must be exact, normal or naive, not {self.test!r}.")
        number(self.name, "alpha", self.alpha, above=0, most=0.5)
        if self.grow not in get_args(Grow):
            raise PolicyError(f"{self.name}: grow must be memory or confidence, not {self.grow!r}.")

    def enough(self, fits: int) -> int:
        """Parts of no more records than this are not cut in a sample, where so many fit in memory.

        >>> RothkoS().enough(1_000), RothkoS(grow="confidence").enough(1_000)
        (500, 0)
        """
        return fits // ROOM if self.grow == "memory" else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark(InParts):
    """On a cluster: the records stay there, and so does the release.

    >>> Spark(algorithm="rothko-s").samples
    True
    """

    name: ClassVar[str] = "spark"
    on_cluster: ClassVar[bool] = True

    algorithm: str = RothkoT.name
    """``rothko-t``: the classes are those of the memory engine; ``rothko-s``: by samples, with fewer jobs."""
    test: Test = "exact"
    alpha: float = 0.05
    grow: Grow = "memory"
    """The same as of ``rothko-s``."""

    def __post_init__(self) -> None:
        InParts.__post_init__(self)
        if self.algorithm not in (RothkoT.name, RothkoS.name):
            raise PolicyError(f"{self.name}: algorithm must be rothko-t or rothko-s, not {self.algorithm!r}.")
        RothkoS(test=self.test, alpha=self.alpha, grow=self.grow)

    @property
    def samples(self) -> bool:
        """Whether cuts are chosen in samples."""
        return self.algorithm == RothkoS.name

    @property
    def sampling(self) -> RothkoS:
        """How samples are judged."""
        return RothkoS(test=self.test, alpha=self.alpha, grow=self.grow)

    def can_run(self, method: Method) -> bool:
        """Also those whose records are brought together segment by segment, or counted."""
        return not method.needs_all_records or method.in_segments != "no" or method.by_counts

    def _instead(self) -> str:
        """Nothing is gained by more memory."""
        return "use mondrian, hilbert-fast or cluster, or engine: memory"

    def check(self, policy: Request, reason: str) -> None:
        """Refuse what executors cannot do by themselves."""
        InParts.check(self, policy, reason)
        method = policy.method
        if method.in_segments == "exactly" and method.repair:
            raise PolicyError(
                f"repair of {method.name} sees all records at once, in memory; with engine {self.name} leave it out, "
                "or use cluster, which repairs its classes range by range."
            )
        if policy.owner is not None:
            raise PolicyError(
                f"engine {self.name} does not count people (of: {policy.owner}) yet; use engine: rothko-t or rothko-s."
            )
        for task in models(policy.workload):
            if method.in_segments == "nearly":
                raise PolicyError(
                    f"{task.describe()}: {method.name} weighs columns by all records at once, in memory; with engine "
                    f"{self.name} use mondrian, or leave the task to measure."
                )
            if task.features is not None:
                raise PolicyError(
                    f"{task.describe()}: engine {self.name} measures models of all quasi-identifiers only; leave out "
                    "its features, or use engine: rothko-t or rothko-s."
                )

"""What an engine is: a name and options, what it can, and a run that gives finished parts.

To bring one for tables larger than memory, write a store (:mod:`rothko.engines.store`) and a function (:class:`Runs`)
that surveys a source, makes the store of its records, and lets :class:`rothko.engines.driver.Driver` take it apart;
name both in :mod:`rothko.engines.options` and :mod:`rothko.engines.runs`. All requirements
and criteria are sums, which every store can count; what else a policy may ask for, an engine says of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from rothko.data.schema import Schema
from rothko.data.source.source import Source
from rothko.data.survey.coded import Outline
from rothko.engines.growing import Tables
from rothko.engines.part import AnyPart
from rothko.errors import PolicyError
from rothko.methods.classes import Cuts
from rothko.methods.method import Asked, Method
from rothko.mistakes import said
from rothko.progress import Progress, silent
from rothko.secret import Secret
from rothko.workload.tasks import models


@dataclass(frozen=True, slots=True)
class Io:
    """What an engine for tables larger than memory read and wrote, against what was predicted before it began."""

    passes: int
    """Times that the source was read from beginning to end."""
    repartitions: int
    """Times that records were written to disk by the leaves of the top of the tree, at most."""
    reads: int | None
    """Bytes read from the source and from what was spilled; None where a cluster reads."""
    writes: int | None
    """Bytes spilled."""
    predicted_reads: int | None = None
    predicted_writes: int | None = None
    sample: int | None = None
    """Records of the first sample (Rothko-S)."""
    pruned: int | None = None
    """Cuts that a sample allowed and all records did not, which were undone (Rothko-S)."""
    notes: tuple[str, ...] = ()
    """What the memory limit changed, such as columns that were laid on a grid."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"notes": list(self.notes)}


class Request(Schema, Asked, Protocol):
    """What an engine must know of a policy."""

    @property
    def method(self) -> Any:
        """How classes are made."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """A table that an engine takes apart: what is known of it, and its finished parts as they come."""

    outline: Outline
    parts: Iterator[AnyPart]
    """Taken one at a time; each is given up before the next is asked for."""
    top: Callable[[], Cuts | None]
    """The top of the tree, asked for when all parts are there; None where there is none."""
    io: Callable[[], Io]
    """What was read and written so far."""
    spill: Tables
    """A private folder for what does not fit in memory; whoever takes the run closes it."""
    memory: int
    """Bytes that are left for others while parts are made."""
    notes: Callable[[], tuple[str, ...]] = tuple
    """What a person should know, asked for when all parts are there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """Base of all engines; a subclass adds its options and validates them on construction."""

    name: ClassVar[str]
    """The name in a policy."""
    in_memory: ClassVar[bool] = False
    """Whether it holds all records at once: a method may see them together, in their order, with all their columns."""
    on_cluster: ClassVar[bool] = False
    """Whether the records, and the release, stay where others hold them."""

    def can_run(self, method: Method) -> bool:
        """Whether it need not hold all records at once for a method, or does."""
        return self.in_memory or not method.needs_all_records

    def _instead(self) -> str:
        """What to do where it cannot."""
        return f"raise {said('--memory')}, or use mondrian"

    def check(self, policy: Request, reason: str) -> None:
        """Refuse what it cannot do, with an engine or a method that can, given why it was chosen."""
        if self.in_memory:
            return
        method: Method = policy.method
        if not self.can_run(method):
            raise PolicyError(
                f"{method.name} sees all records at once, in memory, and engine {self.name} was "
                f"{reason if reason == 'asked for' else 'chosen: ' + reason}; {self._instead()}."
            )
        if method.needs_order:
            raise PolicyError(
                "relaxed Mondrian parts equal values by the order of records, which only the engine memory knows; "
                "set relaxed: false, or engine: memory."
            )
        for requirement in policy.privacy if policy.owner is not None else ():
            if not requirement.counts_alike:
                raise PolicyError(
                    f"{requirement.describe()} is about shares of people (of: {policy.owner}), which do not add up "
                    f"over parts of a table, and engine {self.name} was "
                    f"{reason if reason == 'asked for' else 'chosen: ' + reason}; raise {said('--memory')}, or ask for "
                    "distinct-l-diversity, p-sensitive or p-alpha."
                )
        for task in models(policy.workload):
            beyond = [name for name in task.features or () if name not in policy.quasi_identifiers]
            if beyond:
                raise PolicyError(
                    f"{task.describe()}: the feature {beyond[0]!r} is no quasi-identifier, and only the engine memory "
                    "looks at others; leave it out, or set engine: memory."
                )


class Runs(Protocol):
    """What runs an engine: surveys a source, and gets ready to take it apart."""

    def __call__(
        self,
        engine: Any,
        source: Source,
        policy: Request,
        *,
        check: Callable[[Outline], None],
        memory: int | None = None,
        spill_dir: Path | None = None,
        secret: Secret,
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
    ) -> Run:
        """Make a run of an engine, which is its options.

        Parameters
        ----------
        check
            Called with what the survey has found: refuses a table that cannot be released as asked.
        memory
            The limit in bytes; without one, a safe share of what is free.
        spill_dir
            Where the private folder is made.
        secret
            What decides which of several equal records goes where, for methods that may part them.
        """
        ...

"""What a method is: options that a policy names, what it can do, and the function that groups the records.

A *global* method has a recoding φ behind its classes, and new records can be sent through it. A *local* method groups
the very records that it is given: equal records may come to different classes, and there is no φ. Whoever runs a
method asks it (:attr:`Method.recodes`, :attr:`Method.needs_all_records`, …) and need not know which one it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from rothko.data.encode import Encoded
from rothko.data.line import Line
from rothko.errors import PolicyError
from rothko.methods.classes import Classes, LocalClasses
from rothko.methods.cluster.repair import Halves, repaired
from rothko.methods.cluster.tuples import Tuples
from rothko.methods.curve.curve import Mapping
from rothko.methods.curve.segments import Segment
from rothko.privacy.requirement import Requirement
from rothko.workload.tasks import Aggregate, Model, Task

Progress = Callable[[int], None]
"""Called with the number of records whose classes have just become final."""


def silent(records: int) -> None:
    """Tell nobody."""


class Asked(Protocol):
    """What a policy asks of a method."""

    @property
    def privacy(self) -> Sequence[Requirement]:
        """What every class must meet."""
        ...

    @property
    def workload(self) -> Sequence[Task]:
        """What the release is for."""
        ...

    @property
    def publish(self) -> str:
        """The form in which classes are shown."""
        ...

    @property
    def sensitive(self) -> Sequence[str]:
        """The sensitive columns."""
        ...

    @property
    def owner(self) -> str | None:
        """The identifier that says whose a record is, where people are counted and not records."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Base of all methods; a subclass adds its options and validates them on construction."""

    name: ClassVar[str]
    """The name in a policy."""
    needs_all_records: ClassVar[bool] = True
    """Whether it sees all records at once, and so runs in memory alone, unless it goes :attr:`in_segments` or
    :attr:`by_counts`."""
    by_counts: ClassVar[bool] = False
    """Whether counts of columns, and of sets of them, are enough for it where an engine makes these."""
    takes: ClassVar[tuple[type[Task], ...]] = (Task,)
    """The tasks of a workload that its classes can be made for."""
    keeps_sets: ClassVar[bool] = False
    """Whether requirements may be over different sets of quasi-identifiers, each by itself."""
    merges: ClassVar[bool] = True
    """Whether two of its classes can be made one without a change to others."""
    in_segments: ClassVar[Literal["exactly", "nearly", "no"]] = "no"
    """Whether its classes can be made segment by segment of a curve, each where its records are brought together: by
    :meth:`mapping` and :meth:`within`. Exactly: they are those of all records at once; nearly: none crosses a seam."""
    two_tables: ClassVar[bool] = False
    """Whether it releases the exact quasi-identifiers and, apart from them, the sensitive values: no classes."""

    @property
    def recodes(self) -> bool:
        """Whether there is a recoding behind its classes; otherwise equal records may be in different ones."""
        return False

    @property
    def needs_order(self) -> bool:
        """Whether it parts equal values by the order of records."""
        return False

    @property
    def without_recoding(self) -> str:
        """That it has no recoding, and what to do."""
        return f"{self.name} has none; publish a range, or use mondrian."

    @property
    def keeps(self) -> int:
        """How many bytes it keeps beside its records, at most, while it searches for better classes."""
        return 0

    def refuses(self, task: Task) -> str:
        """Why it cannot make classes for a task that it does not take, and what to do."""
        raise NotImplementedError

    def check(self, asked: Asked) -> None:
        """Refuse what it cannot honour, with a method that can."""
        if asked.publish == "region" and not self.recodes:
            raise PolicyError(f"publish: region needs a global recoding, and {self.without_recoding}")
        self.check_workload(asked.workload)
        over = {frozenset(one.over) for one in asked.privacy if one.over is not None}
        if len(over) > 1 and not self.keeps_sets:
            raise PolicyError(
                f"requirements are over {len(over)} different sets of quasi-identifiers, and {self.name} makes "
                "classes over all of them together; use refine, which keeps to each set by itself, or remove 'over'."
            )

        for requirement in asked.privacy if asked.owner is not None else ():
            if not (requirement.counts_alike or self.merges):
                raise PolicyError(
                    f"{requirement.describe()} is about shares of people (of: {asked.owner}), for which classes are "
                    f"merged, and those of {self.name} cannot be, since it recodes every column by itself; use "
                    "mondrian, or ask for distinct-l-diversity, p-sensitive or p-alpha."
                )

    def check_workload(self, workload: Sequence[Task]) -> None:
        """Refuse tasks that classes cannot be made for."""
        for task in workload:
            if not isinstance(task, self.takes):
                raise PolicyError(self.refuses(task))

    def sampled(self, rows: int) -> int:
        """How many of so many records :meth:`mapping` looks at."""
        return 0

    def mapping(self, sample: Encoded, *, seed: int, threads: int) -> Mapping:
        """The curve that segments are of, given a sample of the records in the order of their codes."""
        raise NotImplementedError

    def weighed(self, sample: Encoded, workload: Sequence[Task]) -> tuple[Line, ...]:
        """The lines as it weighs them for a workload, by some records; as they are, where it does not."""
        return sample.lines

    def longest(self, encoded: Encoded, requirements: Sequence[Requirement]) -> int | None:
        """Records of a segment, at most; None where all of them must be one. Of a method that is near: any number."""
        return None

    def within(
        self,
        encoded: Encoded,
        mapping: Mapping,
        requirements: Sequence[Requirement],
        *,
        segments: Sequence[Segment],
        seed: int,
        threads: int = 1,
        room: int | None = None,
    ) -> Classes:
        """The classes of the records of some segments that follow each other, none across two of them.

        A method that is near is given one at a time; see :meth:`partition`.
        """
        raise NotImplementedError

    def partition(
        self,
        encoded: Encoded,
        requirements: Sequence[Requirement],
        *,
        workload: Sequence[Task] = (),
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
        room: int | None = None,
    ) -> Classes:
        """Group the records into classes that satisfy every requirement.

        The whole table, as one class, is known to satisfy them.

        Parameters
        ----------
        room
            How many bytes a method that :attr:`keeps` what it finds may keep of it; as many as it wants where it is
            None.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMethod(Method):
    """Base of the methods that group the very records that they are given."""

    takes: ClassVar[tuple[type[Task], ...]] = (Aggregate,)

    repair: bool = False
    """Dissolve the classes whose records would cost less elsewhere, and cluster the worst anew."""

    def refuses(self, task: Task) -> str:
        """Classes are made of near records, whatever they are for."""
        able = "cluster or mondrian" if isinstance(task, Model) else "mondrian"
        return (
            f"{self.name} makes classes of near records and cannot make them for a workload "
            f"({task.describe()}); use {able}, or leave the task to measure."
        )

    def group(
        self, encoded: Encoded, requirements: Sequence[Requirement], *, seed: int, threads: int, progress: Progress
    ) -> LocalClasses:
        """Group the records into classes that satisfy every requirement, before any repair."""
        raise NotImplementedError

    def partition(
        self,
        encoded: Encoded,
        requirements: Sequence[Requirement],
        *,
        workload: Sequence[Task] = (),
        seed: int = 0,
        threads: int = 1,
        progress: Progress = silent,
        room: int | None = None,
    ) -> LocalClasses:
        """The classes, repaired where that is asked for: half of the progress each."""
        if not self.repair:
            return self.group(encoded, requirements, seed=seed, threads=threads, progress=progress)
        shown = Halves(encoded.rows, progress)
        found = self.group(encoded, requirements, seed=seed, threads=threads, progress=shown.made)
        tuples = Tuples.of(encoded, requirements, threads=threads)
        return repaired(tuples, found, seed=seed, threads=threads, shown=shown)


def flag(method: str, option: str, value: object) -> None:
    """Refuse an option that is not true or false."""
    if not isinstance(value, bool):
        raise PolicyError(f"{method}: {option} must be true or false, not {value!r}.")

"""What a method is: options that a policy names, and for local ones the function that groups the records.

A *global* method has a recoding φ behind its classes, and new records can be sent through it; Mondrian is one, and
runs on every engine. A *local* method groups the very records that it is given: equal records may come to different
classes, and there is no φ. It sees all records at once, so it runs in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rothko.data.encode import Encoded
from rothko.errors import PolicyError
from rothko.methods.classes import Partition
from rothko.privacy.requirement import Requirement
from rothko.workload.tasks import Aggregate, Task

Progress = Callable[[int], None]
"""Called with the number of records whose classes have just become final."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """Base of all methods; a subclass adds its options and validates them on construction."""

    name: ClassVar[str]
    """The name in a policy."""

    @property
    def local(self) -> bool:
        """Whether there is no recoding behind its classes."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalMethod(Method):
    """Base of the methods that group the very records that they are given."""

    repair: bool = False
    """Dissolve the classes whose records would cost less elsewhere, and cluster the worst anew."""

    def partition(
        self, encoded: Encoded, requirements: Sequence[Requirement], *, seed: int, threads: int, progress: Progress
    ) -> Partition:
        """Group the records into classes that satisfy every requirement.

        The whole table, as one class, is known to satisfy them.
        """
        raise NotImplementedError

    def refuse(self, workload: Sequence[Task]) -> None:
        """Refuse tasks that the classes would have to be made for."""
        for task in workload:
            if not isinstance(task, Aggregate):
                raise PolicyError(
                    f"{self.name} makes classes of near records and cannot make them for a workload "
                    f"({task.describe()}); use mondrian, or leave the task to measure."
                )


def flag(method: str, option: str, value: object) -> None:
    """Refuse an option that is not true or false."""
    if not isinstance(value, bool):
        raise PolicyError(f"{method}: {option} must be true or false, not {value!r}.")

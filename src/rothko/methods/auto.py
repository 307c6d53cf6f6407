"""auto: the method that loses least for what is asked, chosen before any work begins.

What is asked may leave no choice: several sets of quasi-identifiers take ``refine``; selections, a recoding for new
records, and a table that does not fit in memory take ``mondrian``. All else is for ``cluster``, which loses least, and
of whose releases models learn most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rothko.errors import PolicyError
from rothko.methods.cluster.cluster import Cluster
from rothko.methods.method import Asked, Method
from rothko.methods.mondrian.mondrian import Mondrian
from rothko.methods.refine.refine import Refine
from rothko.workload.tasks import Task, models


class Chosen(NamedTuple):
    """A method, and why it was chosen."""

    method: Method
    why: str

    @property
    def note(self) -> str:
        """What a person is told."""
        return f"Method {self.method.name}, chosen by auto: {self.why}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Method):
    """Choose the method that loses least for what is asked.

    It makes no classes itself: :func:`rothko.flow.decided` puts the method that it chooses in its place.
    """

    name: ClassVar[str] = "auto"

    def choose(self, asked: Asked, *, in_memory: bool = True, recoding: bool = False) -> Chosen:
        """The method for what is asked.

        Parameters
        ----------
        in_memory
            Whether all records are in memory at once.
        recoding
            Whether new records are to be sent through the same recoding.
        """
        sets = {frozenset(one.over) for one in asked.privacy if one.over is not None}
        if len(sets) > 1:
            return Chosen(Refine(), f"it keeps requirements over {len(sets)} sets of quasi-identifiers apart")
        if beyond := [task for task in asked.workload if not isinstance(task, Cluster.takes)]:
            return Chosen(Mondrian(), f"it makes classes for the workload ({beyond[0].describe()})")
        if recoding:
            return Chosen(Mondrian(), "it has a recoding for new records, as asked for")
        if not in_memory:
            return Chosen(Mondrian(), "it need not have all records in memory at once")
        try:
            Cluster().check(asked)
        except PolicyError:
            return Chosen(Mondrian(), "cluster cannot do what is asked")
        if tasks := models(asked.workload):
            return Chosen(Cluster(), f"models that are trained on its releases learn most ({tasks[0].describe()})")
        return Chosen(Cluster(), "it loses least for what is asked")

    def refuses(self, task: Task) -> str:
        """There is a method for every task."""
        raise AssertionError(task)

    def check(self, asked: Asked) -> None:
        """Refuse what the method that it would choose cannot honour."""
        self.choose(asked).method.check(asked)

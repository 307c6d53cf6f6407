"""Workload: what a release will be used for, so that it is good for that.

Paper: LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 3. :data:`TASKS` names the tasks as a policy does.
What they make of the choice of cuts is :mod:`rothko.workload.criteria`.
"""

from __future__ import annotations

from rothko.workload.tasks import Aggregate, Classify, Regress, Select, Task

TASKS: dict[str, type[Task]] = {cls.name: cls for cls in (Classify, Regress, Select, Aggregate)}
"""Policy name → task."""

__all__ = ["TASKS", "Aggregate", "Classify", "Regress", "Select", "Task"]

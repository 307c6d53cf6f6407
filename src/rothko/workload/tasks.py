"""The tasks of a workload: models to be trained on the release, and queries to be asked of it.

A mistake in a parameter is told with the path to it, so that a policy file can add the line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field as Bounded  # for the JSON Schema

from rothko.errors import PolicyError
from rothko.mistakes import MistakeError, hint, show
from rothko.workload.predicate import Predicate, one_line, parse

Function = Literal["count", "sum", "avg", "min", "max"]
FUNCTIONS: tuple[Function, ...] = get_args(Function)


@dataclass(frozen=True, slots=True)
class Task:
    """Base of all tasks; a subclass adds its parameters and validates them on construction."""

    name: ClassVar[str]
    """The name in a policy."""

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that each parameter names."""
        raise NotImplementedError

    def describe(self) -> str:
        """The task in a few words, as a person would write it."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Model(Task):
    """A model that predicts a column; common to classification and regression."""

    numeric: ClassVar[bool] = False
    """Whether what is predicted is a number."""

    target: str
    """The column that the model predicts: sensitive or kept, released as it is."""
    features: tuple[str, ...] | None = None
    """What the model may look at: quasi-identifiers, and columns that are released as they are; all
    quasi-identifiers where it is None."""

    def __post_init__(self) -> None:
        if not isinstance(self.target, str):
            raise MistakeError(f"must be the name of a column, not {show(self.target)}", at=(self.name, "target"))
        if self.features is None:
            return
        names = _names(self.features, "[age, sex]", at=(self.name, "features"))
        if self.target in names:
            raise MistakeError(
                f"{self.target!r} is what the model predicts, so it cannot be a feature; remove it",
                at=(self.name, "features"),
            )
        object.__setattr__(self, "features", names)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that each parameter names."""
        return {"target": (self.target,), "features": self.features or ()}

    def describe(self) -> str:
        """The task in a few words, as a person would write it."""
        return f"{self.name} {self.target}"


@dataclass(frozen=True, slots=True)
class Classify(Model):
    """Predict a class label: classes are cut to lower its entropy (LeFevre et al. 2008, eq. 3).

    >>> Classify("salary").describe()
    'classify salary'
    """

    name: ClassVar[str] = "classify"


@dataclass(frozen=True, slots=True)
class Regress(Model):
    """Predict a number: classes are cut to lower its squared error (LeFevre et al. 2008, eq. 4)."""

    name: ClassVar[str] = "regress"
    numeric: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Select(Task):
    """Select records by a predicate: classes are cut along its edges (LeFevre et al. 2008, eq. 7).

    >>> Select("age >= 40 and sex = 'Male'", weight=2).columns
    {'where': ('age', 'sex')}
    """

    name: ClassVar[str] = "select"

    where: str
    """The predicate; see :mod:`rothko.workload.predicate`."""
    weight: Annotated[float, Bounded(gt=0)] = 1
    """How much its imprecision counts beside that of the others."""
    predicate: Predicate = field(init=False, repr=False, compare=False)
    """The predicate, read."""

    def __post_init__(self) -> None:
        if not isinstance(self.where, str):
            raise MistakeError(f'must be text such as "age >= 40", not {show(self.where)}', at=(self.name, "where"))
        try:
            object.__setattr__(self, "predicate", parse(self.where))
        except PolicyError as error:
            raise MistakeError(str(error), at=(self.name, "where")) from None
        object.__setattr__(self, "where", one_line(self.where))
        weight = self.weight
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
            raise MistakeError(f"must be a number above 0, not {show(weight)}", at=(self.name, "weight"))

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that each parameter names."""
        return {"where": self.predicate.columns}

    def describe(self) -> str:
        """The task in a few words, as a person would write it."""
        return f"select {self.where}"


@dataclass(frozen=True, slots=True)
class Aggregate(Task):
    """Aggregate numeric quasi-identifiers: each class publishes range and mean (LeFevre et al. 2008, 3.3).

    >>> Aggregate("age", functions=["avg"]).of
    ('age',)
    """

    name: ClassVar[str] = "aggregate"

    of: tuple[str, ...] | str
    """The quasi-identifiers, which hold numbers."""
    functions: tuple[Function, ...] | Function = FUNCTIONS
    """What is asked for."""

    def __post_init__(self) -> None:
        of = (self.of,) if isinstance(self.of, str) else self.of
        object.__setattr__(self, "of", _names(of, "[age]", at=(self.name, "of")))
        functions = (self.functions,) if isinstance(self.functions, str) else self.functions
        asked = [name.lower() for name in _names(functions, "[sum, avg]", at=(self.name, "functions"))]
        for function in asked:
            if function not in FUNCTIONS:
                raise MistakeError(
                    f"{show(function)} is not a function; {hint(function, FUNCTIONS)}", at=(self.name, "functions")
                )
        # In one order, so that the same question is the same task however it is written.
        object.__setattr__(self, "functions", tuple(name for name in FUNCTIONS if name in asked))

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The columns that each parameter names."""
        return {"of": tuple(self.of)}

    def describe(self) -> str:
        """The task in a few words, as a person would write it."""
        return f"{', '.join(self.functions)} of {', '.join(self.of)}"


def models(workload: Iterable[Task]) -> list[Model]:
    """The tasks that predict a column."""
    return [task for task in workload if isinstance(task, Model)]


def _names(names: Any, example: str, *, at: tuple[str, str]) -> tuple[str, ...]:
    if not isinstance(names, list | tuple) or not names:
        empty = "an empty list" if names in ((), []) else show(names)
        raise MistakeError(f"must be a list of names such as {example}, not {empty}", at=at)
    for name in names:
        if not isinstance(name, str):
            raise MistakeError(f"must be a list of names such as {example}, and has {show(name)} in it", at=at)
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise MistakeError(f"has {show(twice)} twice; keep one of them", at=at)
    return tuple(names)

"""What a release lost, in numbers: as a certificate holds them and as ``measure`` tells them.

:mod:`rothko.metrics` computes them; a release that is made part by part asks a :class:`~rothko.release.measured.Meter`.

The losses for the tasks of a workload have two readers. The steward, who has the original, sees all of it. What goes
with the release (:meth:`TaskLoss.public`) has no answer of the original, nor what gives one away: whoever has the
release knows its answer, and with the error of that answer also the true one.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from rothko import notebook

WITHHELD = "withheld: beside the release and the other counts it could tell of fewer records than a class has"
"""Why a certificate does not tell a count."""


@dataclass(frozen=True, slots=True)
class TaskLoss:
    """What a release lost for one task."""

    task: ClassVar[str]
    """The name of the task in a policy."""

    def public(self, *, tell: bool = False) -> TaskLoss:
        """The part that may go with a release; counts under a predicate only where they are to be told."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ClassifyLoss(TaskLoss):
    """How well the classes tell a label."""

    task: ClassVar[str] = "classify"

    target: str
    conditional_entropy: float
    """Of the label within what the classes show of the features, in bits; 0 where they tell it for sure."""
    entropy: float
    """Of the label in the whole table: what it would be were there one class."""
    classification_metric: float
    """Share of records whose label is not the most frequent one of their class."""
    records: int = field(default=0, compare=False, repr=False)
    """How many records have a label: by that much a part of a table counts."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "task": self.task,
            "target": self.target,
            "conditional_entropy": round(self.conditional_entropy, 6),
            "entropy": round(self.entropy, 6),
            "classification_metric": round(self.classification_metric, 6),
        }


@dataclass(frozen=True, slots=True)
class RegressLoss(TaskLoss):
    """How well the classes tell a number."""

    task: ClassVar[str] = "regress"

    target: str
    wmse: float
    """Mean squared distance of the number to the mean of its class; 0 where the classes tell it for sure."""
    variance: float
    """Of the number in the whole table: what it would be were there one class."""
    records: int = field(default=0, compare=False, repr=False)
    """How many records have a number: by that much a part of a table counts."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "task": self.task,
            "target": self.target,
            "wmse": digits(self.wmse),
            "variance": digits(self.variance),
        }


@dataclass(frozen=True, slots=True)
class SelectLoss(TaskLoss):
    """How precisely a predicate can be asked."""

    task: ClassVar[str] = "select"

    where: str
    weight: float
    returned: int | None
    """Records of the classes that overlap the predicate; None where the release does not say where classes lie."""
    matching: int | None
    """Records of the original that satisfy it; None where that is not told."""
    imprecision: int | None
    """The difference."""
    why: str | None = None
    """Why something is not told."""

    def public(self, *, tell: bool = False) -> SelectLoss:
        """Without what the release does not say by itself, unless it is to be told."""
        return self if tell else replace(self, matching=None, imprecision=None, why=WITHHELD)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"task": self.task, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Answer:
    """An aggregate, as the original and the release answer it."""

    function: str
    of: str
    where: str | None
    """The predicate of a ``select`` task; None for all records."""
    truth: float | None
    """From the original, whose missing values are left out; None where there are no others."""
    answer: float | None
    """From the release; None where it has no answer."""
    error: float | None
    """|answer − truth| ÷ |truth|; None where one is None, or the truth is 0 and the answer is not."""
    unanswered: int
    """Records that the answer leaves out though they may have a value: their classes have missing values."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        error = None if self.error is None else digits(self.error)
        return asdict(self) | {"truth": _number(self.truth), "answer": _number(self.answer), "error": error}


@dataclass(frozen=True, slots=True)
class AggregateLoss(TaskLoss):
    """How well aggregates are answered: over all records, and over those that each ``select`` task asks for."""

    task: ClassVar[str] = "aggregate"

    answers: tuple[Answer, ...]

    @property
    def is_public(self) -> bool:
        """Whether answers and errors were left out."""
        return all(one.truth is None and one.answer is None for one in self.answers)

    def public(self, *, tell: bool = False) -> AggregateLoss:
        """Without answers and errors; what is left says of how many records the release knows nothing."""
        return AggregateLoss(tuple(replace(one, truth=None, answer=None, error=None) for one in self.answers))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"task": self.task, "answers": [one.to_dict() for one in self.answers]}


@dataclass(frozen=True, slots=True)
class Score:
    """What one metric says about a release."""

    name: str
    value: float
    """NaN where a column shows a mean and nothing else."""
    exact: float
    """What the original itself would give: no release gives less."""
    one_class: float
    """What one class over the whole table would give: no release gives more, but for the entropy, which may."""
    columns: dict[str, float]
    """The same for each quasi-identifier by itself."""
    reference: str
    direction: str

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": digits(self.value),
            "exact": digits(self.exact),
            "one_class": digits(self.one_class),
            "columns": {name: digits(value) for name, value in self.columns.items()},
            "direction": self.direction,
            "reference": self.reference,
        }


@dataclass(frozen=True, slots=True)
class Bound:
    """The least GCP that a release by boxes may have."""

    k: int
    """The fewest records of a class."""
    gcp: float
    """The mean, over records, of what the cheapest box around one costs that holds k."""
    error: float
    """Its standard error, where not all records were looked at; else 0."""
    records: int
    """How many were looked at."""
    exact: float
    """The share of them whose cheapest box was found; for the others something costs less than it."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: digits(value) if isinstance(value, float) else value for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Loss:
    """What a release lost."""

    gcp: float
    """Global certainty penalty, 0 (exact) … 1 (nothing is said); NaN where a mean is all that a column shows."""
    ncp: dict[str, float]
    """The same for each quasi-identifier by itself, without weights."""
    classes: int
    average_class_size: float
    discernibility: int
    """Σ over classes of their size squared: each record is indistinguishable from that many."""
    smallest_class: int
    largest_class: int
    class_sizes: dict[str, int]
    """How many classes there are of each size, in ranges that double."""
    suppressed: int = 0
    """Records that show nothing of any quasi-identifier (``*``, or the whole range), or are left out."""
    workload: tuple[TaskLoss, ...] = ()
    """What was lost for each task of the workload."""
    survey: tuple[Score, ...] = ()
    """Other metrics of the literature, which `measure` tells and a certificate does not."""
    bound: Bound | None = None
    """How little a release could lose at best; where `measure` is asked for it."""

    def __repr__(self) -> str:
        return (
            f"Loss(gcp={self.gcp:.4f}, {self.classes:,} classes of {self.smallest_class:,} to {self.largest_class:,})"
        )

    def _repr_html_(self) -> str:
        ncp = sorted(self.ncp.items(), key=lambda one: -one[1])
        sizes = max(self.class_sizes.values(), default=1)
        return notebook.shown(
            f"Loss: GCP {self.gcp:.4f}, from 0 (exact) to 1 (nothing is said)",
            notebook.table(
                ("column", "NCP"), [(name, f"{lost:.4f}") for name, lost in ncp], bars=[lost for _, lost in ncp]
            ),
            notebook.table(
                ("records of a class", "classes"),
                [(size, f"{count:,}") for size, count in self.class_sizes.items()],
                bars=[count / sizes for count in self.class_sizes.values()],
            ),
            notebook.words(
                f"Discernibility {self.discernibility:,}, {self.average_class_size:.1f} records on average."
            ),
        )

    def to_dict(self, *, digits: int = 6) -> dict[str, Any]:
        """Plain data; penalties with so many digits."""
        plain: dict[str, Any] = {
            "gcp": _rounded(self.gcp, digits),
            "ncp": {name: _rounded(value, digits) for name, value in self.ncp.items()},
            "classes": self.classes,
            "average_class_size": round(self.average_class_size, 3),
            "discernibility": self.discernibility,
            "smallest_class": self.smallest_class,
            "largest_class": self.largest_class,
            "class_sizes": self.class_sizes,
            "suppressed": self.suppressed,
            "workload": [task.to_dict() for task in self.workload],
        }
        if self.survey:
            plain["survey"] = {metric.name: metric.to_dict() for metric in self.survey}
        if self.bound is not None:
            plain["bound"] = self.bound.to_dict()
        return plain


def _rounded(penalty: float, digits: int) -> float | None:
    """A penalty as JSON has it, which knows no NaN."""
    return None if math.isnan(penalty) else round(penalty, digits)


def digits(number: float) -> float | None:
    """Six significant digits; None for what is no number in JSON."""
    return float(f"{number:.6g}") if math.isfinite(number) else None


def _number(number: float | None) -> float | int | None:
    return int(number) if number is not None and number.is_integer() else number

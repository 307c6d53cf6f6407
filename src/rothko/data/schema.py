"""The schema: a role for every column, and what is asked of it, as far as the data needs to know.

A policy is one (:mod:`rothko.policy.policy`); nothing here knows more of it than this.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rothko.data.hierarchy.spec import HierarchySpec
from rothko.errors import PolicyError, nearest


class Role(StrEnum):
    """What a column is to somebody who tries to find a person in the release."""

    IDENTIFIER = "identifier"
    """Names the person; dropped."""
    QUASI_IDENTIFIER = "quasi-identifier"
    """May be known from elsewhere, such as age or zip; generalised."""
    SENSITIVE = "sensitive"
    """What must not be learnt about a person; released as it is, under the requirements."""
    KEEP = "keep"
    """Neither; released as it is."""

    @classmethod
    def _missing_(cls, value: object) -> Role | None:
        """The words of ARX for the same."""
        return OTHER_WORDS.get(value) if isinstance(value, str) else None


OTHER_WORDS = {
    "identifying": Role.IDENTIFIER,
    "quasi-identifying": Role.QUASI_IDENTIFIER,
    "insensitive": Role.KEEP,
}
"""What people who know ARX write."""


class WrittenType(str):
    """The type of a column whose values are written in a form of their own: ``date``, written ``%d.%m.%Y``.

    >>> kind = WrittenType("date", "%d.%m.%Y")
    >>> kind == "date", kind.form
    (True, '%d.%m.%Y')
    """

    form: str

    def __new__(cls, kind: str, form: str = "") -> WrittenType:
        """A type, and the form."""
        made = super().__new__(cls, kind)
        made.form = form
        return made


class Column(Protocol):
    """What is asked of one column."""

    @property
    def role(self) -> Role:
        """What the column is to somebody who tries to find a person."""
        ...

    @property
    def type(self) -> str:
        """How the values are read; ``auto`` looks at the data. A :class:`WrittenType` says how they are written."""
        ...

    @property
    def hierarchy(self) -> HierarchySpec | None:
        """How the values are generalised; None ranks them on a line."""
        ...

    @property
    def order(self) -> tuple[str, ...] | None:
        """The values of an ordinal text column, from the first to the last."""
        ...

    @property
    def weight(self) -> float:
        """How much a loss in this column counts beside the others."""
        ...

    @property
    def fold(self) -> bool:
        """Whether texts that look alike are one value."""
        ...


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A column of which nothing is asked but the order of its values."""

    role: Role = Role.KEEP
    type: str = "auto"
    hierarchy: None = None
    order: None = None
    weight: float = 1.0
    fold: bool = False


class Model(Protocol):
    """What a model that will be trained on the release is about."""

    @property
    def target(self) -> str:
        """The column that it predicts."""
        ...

    @property
    def features(self) -> tuple[str, ...] | None:
        """What it looks at; None for all quasi-identifiers."""
        ...

    @property
    def numeric(self) -> bool:
        """Whether what it predicts is a number."""
        ...


class Schema(Protocol):
    """What must be known of a policy to read a table and to give it codes; columns come in the order of the policy."""

    @property
    def columns(self) -> Mapping[str, Column]:
        """Every column by its name."""
        ...

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that are generalised."""
        ...

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that must not be learnt about a person."""
        ...

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that are dropped."""
        ...

    @property
    def owner(self) -> str | None:
        """The identifier that says whose a record is, where people are counted and not records."""
        ...

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are released as they are, beside the sensitive ones."""
        ...

    @property
    def missing(self) -> tuple[str, ...]:
        """Values that stand for a missing one, beside the empty field."""
        ...

    @property
    def models(self) -> Sequence[Model]:
        """The models of the workload."""
        ...

    @property
    def modelled(self) -> Sequence[str]:
        """The columns that models predict or look at, each once."""
        ...

    @property
    def averaged(self) -> set[str]:
        """The quasi-identifiers whose mean is published or asked for."""
        ...


def match(names: Sequence[str], policy: Schema, label: str) -> None:
    """Check that policy and table speak of the same columns."""
    unknown = [name for name in policy.columns if name not in names]
    if unknown:
        raise PolicyError(f"columns.{unknown[0]}: {label} has no such column; {nearest(unknown[0], names)}")
    refuse_unnamed([name for name in names if name not in policy.columns], label)


def refuse_unnamed(unnamed: Sequence[str], label: str) -> None:
    """Refuse columns of a table that the policy does not name."""
    if unnamed:
        listed = ", ".join(repr(name) for name in unnamed[:5]) + (" …" if len(unnamed) > 5 else "")
        raise PolicyError(
            f"{label} has {len(unnamed)} column(s) that the policy does not name: {listed}; "
            "give each a role (identifier, quasi-identifier, sensitive or keep)."
        )


def columns_read(names: Sequence[str], policy: Schema) -> tuple[str, ...]:
    """The columns of a table that are read: identifiers are not, but for the one that says whose a record is."""
    return tuple(name for name in names if name not in policy.identifiers or name == policy.owner)


def written_as_text(policy: Schema) -> set[str]:
    """The quasi-identifiers of a text file whose values are labels as they are written, whatever they look like."""
    return {
        name
        for name in policy.quasi_identifiers
        if (column := policy.columns[name]).type == "text"
        or column.order is not None
        or (column.hierarchy is not None and column.hierarchy.kind in ("csv", "tree", "mask", "prefix", "icd-10"))
    }


def left_as_text(policy: Schema) -> set[str]:
    """The columns of a text file that are read as they are written: what is released as it is keeps its characters,
    and people are told apart by theirs.
    """
    owner = () if policy.owner is None else (policy.owner,)
    return written_as_text(policy) | {*policy.kept, *policy.sensitive, *owner}


def counts_texts(spec: Column) -> bool:
    """Whether the texts of a sensitive column are values as they are written, so that two that look alike are two."""
    return not spec.fold and spec.type in ("auto", "text")

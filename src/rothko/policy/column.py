"""What a policy says of one column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_validator,
)

from rothko.data.hierarchy.spec import HierarchySpec
from rothko.data.schema import Role, WrittenType
from rothko.mistakes import MistakeError, show
from rothko.policy.wording import FORMED, ColumnType, mistakes_of


def _read_type(written: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    """A type by its name, or with the form in which its values are written."""
    if not isinstance(written, Mapping):
        return written if isinstance(written, WrittenType) else handler(written)
    if len(written) != 1 or next(iter(written)) not in FORMED:
        raise MistakeError(f"a form is for a date or a timestamp, such as {{date: '%d.%m.%Y'}}, not {show(written)}")
    [(kind, form)] = written.items()
    if not isinstance(form, str):
        raise MistakeError(f"must be text such as '%d.%m.%Y', not {show(form)}", at=(kind,))
    from rothko.data.source.written import pattern_of  # importing a policy loads no Arrow

    try:
        pattern_of(kind, form)
    except ValueError as error:
        raise MistakeError(str(error), at=(kind,)) from None
    return WrittenType(kind, form)


def _write_type(kind: str) -> Any:
    return {str(kind): kind.form} if isinstance(kind, WrittenType) else kind


class Column(BaseModel):
    """What one column is, and how its values are read and generalised.

    Attributes
    ----------
    role
        What the column is to somebody who tries to find a person.
    type
        How the values are read; ``auto`` looks at the data. ``{date: "%d.%m.%Y"}`` also says how they are written.
    hierarchy
        How the values are generalised; None ranks them on a line.
    order
        The values of an ordinal text column, from the first to the last.
    weight
        How much a loss in this column counts beside the others.
    fold
        Count texts as one value that differ in case, blanks or Unicode form alone; they leave as they are.
    missing
        Words, or numbers, that stand for a missing value in this column; they are read as nothing.

    Examples
    --------
    >>> Column(role="quasi-identifier", hierarchy={"mask": "right"}).hierarchy
    HierarchySpec(kind='mask', value='right')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    type: Annotated[ColumnType, WrapValidator(_read_type), PlainSerializer(_write_type)] = "auto"
    hierarchy: (
        Annotated[HierarchySpec, PlainValidator(HierarchySpec.of), PlainSerializer(lambda spec: spec.short())] | None
    ) = None
    order: tuple[str, ...] | None = None
    weight: float = Field(default=1, gt=0, allow_inf_nan=False, strict=True)
    fold: bool = Field(default=False, strict=True)
    missing: tuple[str, ...] = ()

    if not TYPE_CHECKING:  # the signature that type checkers derive from the fields stays

        def __init__(self, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise MistakeError(mistakes=mistakes_of(error, list(Column.model_fields))) from None

    @field_validator("missing", mode="before")
    @classmethod
    def _words(cls, words: Any) -> Any:
        listed = words if isinstance(words, list | tuple) else [words]
        return tuple(
            str(word) if isinstance(word, int | float) and not isinstance(word, bool) else word for word in listed
        )

    @model_validator(mode="after")
    def _belongs_to_the_role(self) -> Self:
        takers = {key: [Role.QUASI_IDENTIFIER] for key in ("type", "hierarchy", "order", "weight")}
        takers["type"] = [Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.KEEP]
        takers["missing"] = takers["type"]
        takers["fold"] = [Role.SENSITIVE]
        for key, roles in takers.items():
            if self.role not in roles and getattr(self, key) != Column.model_fields[key].default:
                names = ", ".join(roles[:-1]) + " or " * (len(roles) > 1) + roles[-1]
                raise MistakeError(f"{key!r} is only for role: {names}, this column is {self.role.value!r}", key=key)
        return self

    @model_validator(mode="after")
    def _texts(self) -> Self:
        if self.fold and self.type not in ("auto", "text"):
            raise MistakeError(f"only text takes 'fold', this column is of type {self.type!r}", key="fold")
        return self

    @model_validator(mode="after")
    def _ordinal(self) -> Self:
        if self.order is None:
            return self
        if self.hierarchy is not None:
            raise MistakeError("'hierarchy' and 'order' exclude each other; keep one of them", key="order")
        if self.type not in ("auto", "text"):
            raise MistakeError(f"only text takes 'order', this column is of type {self.type!r}", key="order")
        if not self.order or len(set(self.order)) < len(self.order):
            raise MistakeError("must list every value once", at=("order",))
        return self

"""What a person asks for: a role for every column, the privacy required, and how to get there.

A policy is plain data, apart from the method and the engine that carry it out. It is written in YAML
or built in Python; either way the same rules hold, and what breaks them is told as one
:class:`~rothko.errors.PolicyError`: file and line, key, value, and what to write instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, replace
from dataclasses import Field as Parameter
from enum import StrEnum
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast, get_args, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rothko import hierarchy_spec, yaml_lines
from rothko.errors import OutputError, PolicyError
from rothko.hierarchy_spec import HierarchySpec, as_integer
from rothko.yaml_lines import Flow, KeyPath, Mistake, MistakeError, hint, show

if TYPE_CHECKING:
    from rothko.privacy import Requirement
else:  # importing a policy loads no requirement; pydantic leaves the checking to `_chosen` anyway
    Requirement = Any

ColumnType = Literal["auto", "number", "text", "date", "timestamp"]
Publish = Literal["range", "region", "mean", "bounds"]
RowOrder = Literal["random", "keep"]


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


# The registries are imported when they are needed: `import rothko.policy` stays light.


def _requirements() -> dict[str, Any]:
    from rothko.privacy import REQUIREMENTS

    return dict(REQUIREMENTS)


def _methods() -> dict[str, Any]:
    from rothko.methods import METHODS

    return dict(METHODS)


def _engines() -> tuple[str, ...]:
    from rothko.engines import ENGINES

    return ("auto", *ENGINES)


def _chosen(written: Any, known: dict[str, Any], noun: str) -> Any:
    """Make the requirement or method that was written as an object, a name, or a name and its parameters."""
    if isinstance(written, tuple(known.values())):
        return written
    entry = {written: {}} if isinstance(written, str) else written
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise MistakeError(
            f"a {noun} is one name and its parameters, {{name: {{parameter: value}}}}, not {show(written)}"
        )
    [(name, given)] = entry.items()
    if name not in known:
        raise MistakeError(f"{show(name)} is not a {noun}; {hint(name, known)}", key=str(name))
    parameters = {parameter.name: parameter for parameter in _parameters(known[name])}
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        first = next(iter(parameters), "parameter")
        raise MistakeError(f"the parameters are a mapping such as {{{first}: …}}, not {show(given)}", at=(name,))
    mistakes = [
        Mistake((name,), f"unknown parameter {show(key)}; {hint(key, parameters)}", str(key))
        for key in given
        if key not in parameters
    ]
    mistakes += [
        Mistake((name,), f"the parameter {key!r} is missing; write {{{name}: {{{key}: …}}}}")
        for key, parameter in parameters.items()
        if key not in given and _needed(parameter)
    ]
    if mistakes:
        raise MistakeError(mistakes=mistakes)
    try:
        return known[name](**{key: _frozen(value) for key, value in given.items()})
    except PolicyError as error:
        # The path already says which requirement it is.
        raise MistakeError(str(error).removeprefix(f"{name}: ").removesuffix("."), at=(name,)) from None


def _parameters(cls: Any) -> list[Parameter[Any]]:
    """List the parameters of a dataclass as a person would write them, the needed ones first."""
    return sorted((parameter for parameter in fields(cls) if parameter.init), key=lambda p: not _needed(p))


def _needed(parameter: Parameter[Any]) -> bool:
    return parameter.default is MISSING and parameter.default_factory is MISSING


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _written(chosen: Any) -> dict[str, Any]:
    """Write a requirement or method as its name and the parameters that are not the default."""
    given = {}
    for parameter in _parameters(chosen):
        value = getattr(chosen, parameter.name)
        default = parameter.default if parameter.default_factory is MISSING else parameter.default_factory()
        if value != default:
            given[parameter.name] = _plain(value)
    return {chosen.name: given}


def _written_method(method: Any) -> Any:
    written = _written(method)
    return written if written[method.name] else method.name


def _plain(value: Any) -> Any:
    if isinstance(value, HierarchySpec):
        return value.short()
    if isinstance(value, Mapping):
        return {key: _plain(below) for key, below in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else as_integer(value)


class Column(BaseModel):
    """What one column is, and how its values are read and generalised.

    Attributes
    ----------
    role
        What the column is to somebody who tries to find a person.
    type
        How the values are read; ``auto`` looks at the data.
    hierarchy
        How the values are generalised; None ranks them on a line.
    order
        The values of an ordinal text column, from the first to the last.
    weight
        How much a loss in this column counts beside the others.

    Examples
    --------
    >>> Column(role="quasi-identifier", hierarchy={"mask": "right"}).hierarchy
    HierarchySpec(kind='mask', value='right')
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    role: Role
    type: ColumnType = "auto"
    hierarchy: (
        Annotated[HierarchySpec, PlainValidator(HierarchySpec.of), PlainSerializer(lambda spec: spec.short())] | None
    ) = None
    order: tuple[str, ...] | None = None
    weight: float = Field(default=1, gt=0, allow_inf_nan=False, strict=True)

    if not TYPE_CHECKING:  # the signature that type checkers derive from the fields stays

        def __init__(self, **data: Any) -> None:
            try:
                super().__init__(**data)
            except ValidationError as error:
                raise MistakeError(mistakes=_mistakes(error, Column)) from None

    @model_validator(mode="after")
    def _belongs_to_the_role(self) -> Self:
        takers = {key: [Role.QUASI_IDENTIFIER] for key in ("type", "hierarchy", "order", "weight")}
        takers["type"] = [Role.QUASI_IDENTIFIER, Role.SENSITIVE]
        for key, roles in takers.items():
            if self.role not in roles and getattr(self, key) != Column.model_fields[key].default:
                names = " or ".join(roles)
                raise MistakeError(f"{key!r} is only for role: {names}, this column is {self.role.value!r}", key=key)
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


class Policy(BaseModel):
    """What a release must be.

    Two policies are equal when they ask for the same, with the columns in the same order.

    Attributes
    ----------
    columns
        Every column of the table by its name; one that is not here is an error, never passed through.
    privacy
        The requirements that every class must satisfy: objects of :mod:`rothko.privacy`, or mappings
        such as ``{"k-anonymity": {"k": 10}}``.
    workload
        What the release will be used for; not supported yet.
    method
        The algorithm and its options: an object of :mod:`rothko.methods`, its name, or a mapping.
    publish
        The form in which generalised values are written.
    engine
        Where the work is done; ``auto`` chooses.
    missing
        Values that stand for a missing one, beside the empty field.
    order
        The order of the released rows; ``keep`` weakens the protection.

    Raises
    ------
    PolicyError
        If anything is unknown, missing or does not fit together; the message tells the first mistake.

    Examples
    --------
    >>> policy = Policy.quick(["age", "disease"], qi=["age"], sensitive=["disease"], k=10)
    >>> print(policy.dump(), end="")
    columns:
      age: {role: quasi-identifier}
      disease: {role: sensitive}
    privacy:
      - k-anonymity: {k: 10}
    method: mondrian
    publish: range
    engine: auto
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: dict[str, Column]
    privacy: tuple[
        Annotated[
            Requirement, PlainValidator(lambda v: _chosen(v, _requirements(), "requirement")), PlainSerializer(_written)
        ],
        ...,
    ]
    workload: tuple[Any, ...] = ()
    method: Annotated[
        Any, PlainValidator(lambda v: _chosen(v, _methods(), "method")), PlainSerializer(_written_method)
    ] = Field(default_factory=lambda: _methods()["mondrian"]())
    publish: Publish = "range"
    engine: str = "auto"
    missing: tuple[str, ...] = ()
    order: RowOrder = "random"

    @field_validator("workload", mode="before")
    @classmethod
    def _no_workload_yet(cls, workload: Any) -> Any:
        if workload:
            raise MistakeError("this version cuts by the median and would ignore a workload; remove it")
        return ()

    @field_validator("engine")
    @classmethod
    def _known_engine(cls, engine: str) -> str:
        if engine not in _engines():
            raise MistakeError(f"{engine!r} is not an engine; {hint(engine, _engines())}")
        return engine

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        mistakes = []
        if not self.quasi_identifiers:
            mistakes.append(
                Mistake(("columns",), "no column is a quasi-identifier; give the role to those that may be known")
            )
        if not self.privacy:
            mistakes.append(Mistake(("privacy",), f"must hold at least one requirement, {_MISSING['privacy']}"))
        for i, requirement in enumerate(self.privacy):
            path: KeyPath = ("privacy", i, requirement.name)
            named = [("of", getattr(requirement, "of", None), Role.SENSITIVE)]
            named += [("over", name, Role.QUASI_IDENTIFIER) for name in getattr(requirement, "over", None) or ()]
            mistakes += [
                Mistake((*path, key), self._misnamed(name, role))
                for key, name, role in named
                if name is not None and name not in self._with_role(role)
            ]
        if mistakes:
            raise MistakeError(mistakes=mistakes)
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _one_sentence(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        # Defined last, so that it goes around every other check. PolicyError is no ValueError, so it
        # leaves pydantic as it is, whichever of pydantic's ways in was taken.
        try:
            return handler(data)
        except ValidationError as error:
            raise PolicyError(yaml_lines.sentence(_mistakes(error, Policy), info.context)) from None

    def _misnamed(self, name: object, role: Role) -> str:
        if not isinstance(name, str):
            return f"must be the name of a column, not {show(name)}"
        fitting = self._with_role(role)
        if name in self.columns:
            instead = f"there are {', '.join(map(repr, fitting))}" if fitting else f"give it role: {role.value}"
            return f"the column {name!r} must be {role.value} and is {self.columns[name].role.value!r}; {instead}"
        return f"{name!r} is not a column of the policy; {hint(name, fitting)}"

    def _with_role(self, role: Role) -> tuple[str, ...]:
        return tuple(name for name, column in self.columns.items() if column.role is role)

    @property
    def quasi_identifiers(self) -> tuple[str, ...]:
        """The columns that are generalised."""
        return self._with_role(Role.QUASI_IDENTIFIER)

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that must not be learnt about a person."""
        return self._with_role(Role.SENSITIVE)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that are dropped."""
        return self._with_role(Role.IDENTIFIER)

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are released as they are, beside the sensitive ones."""
        return self._with_role(Role.KEEP)

    @classmethod
    def quick(
        cls,
        names: Iterable[str],
        *,
        qi: Iterable[str],
        sensitive: Iterable[str] = (),
        identifiers: Iterable[str] = (),
        k: int | None = None,
        l: int | None = None,  # noqa: E741 - the literature's name
        method: Any = "mondrian",
        publish: str = "range",
        engine: str = "auto",
        missing: Iterable[str] = (),
        types: Mapping[str, str] | None = None,
        hierarchies: Mapping[str, Any] | None = None,
    ) -> Self:
        """Make a policy without a file, as the command line does.

        Parameters
        ----------
        names
            The columns of the table, in its order.
        qi, sensitive, identifiers
            Which of them have these roles; the others are kept.
        k, l
            Ask for k-anonymity, and for distinct-l-diversity of every sensitive column.
        method, publish, engine, missing
            As in the policy.
        types, hierarchies
            By column, as in the policy.
        """
        columns: dict[str, dict[str, Any]] = {name: {} for name in names}
        sensitive = tuple(sensitive)
        asked = {Role.QUASI_IDENTIFIER: qi, Role.SENSITIVE: sensitive, Role.IDENTIFIER: identifiers}
        for role, named in asked.items():
            for name in named:
                column = _column(columns, name)
                if column.setdefault("role", role) is not role:
                    raise PolicyError(f"the column {name!r} is asked for as {column['role'].value} and as {role.value}")
        for key, by_name in (("type", types), ("hierarchy", hierarchies)):
            for name, value in (by_name or {}).items():
                _column(columns, name)[key] = value
        if k is None and l is None:
            raise PolicyError("no privacy is asked for; give --k, for example --k 10, or --l")
        if l is not None and not sensitive:
            raise PolicyError(f"l-diversity with l = {l} needs a sensitive column; give --sensitive, or --k alone")
        privacy: list[Any] = [] if k is None else [{"k-anonymity": {"k": k}}]
        privacy += [{"distinct-l-diversity": {"l": l, "of": name}} for name in sensitive if l is not None]
        return cls(
            columns={name: {"role": Role.KEEP, **column} for name, column in columns.items()},
            privacy=tuple(privacy),
            method=method,
            publish=publish,
            engine=engine,
            missing=tuple(missing),
        )

    def but(self, **changes: Any) -> Self:
        """The same policy with other answers to some of its keys, checked anew."""
        return type(self)(**{name: getattr(self, name) for name in type(self).model_fields} | changes)

    @classmethod
    def parse(cls, text: str, *, where: str = "policy") -> Self:
        """Read a policy from YAML; `where` is what messages call it."""
        document = yaml_lines.read(text, where=where, as_text=_is_text)
        return cls.model_validate(document.data, context=document)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a policy file; csv hierarchies are looked for in its folder."""
        try:
            text = Path(path).read_text("utf-8-sig")
        except FileNotFoundError:
            raise PolicyError(f"the policy file {fspath(path)!r} does not exist; 'rothko draft' writes one") from None
        except OSError as error:
            raise PolicyError(f"the policy file {fspath(path)!r} cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise PolicyError(f"the policy file {fspath(path)!r} is not UTF-8 text; save it as UTF-8") from None
        policy = cls.parse(text, where=fspath(path))
        folder = Path(path).resolve().parent
        columns = {
            name: column
            if column.hierarchy is None
            else column.model_copy(update={"hierarchy": replace(column.hierarchy, folder=folder)})
            for name, column in policy.columns.items()
        }
        privacy = tuple(
            requirement
            if getattr(requirement, "hierarchy", None) is None
            else replace(requirement, hierarchy=replace(requirement.hierarchy, folder=folder))
            for requirement in cast("tuple[Any, ...]", policy.privacy)
        )
        return policy.model_copy(update={"columns": columns, "privacy": privacy})

    def _document(self) -> dict[str, Any]:
        """Say it as a person would in YAML: what differs from the default, and how the release is made."""
        columns = {name: column.model_dump(mode="json", exclude_defaults=True) for name, column in self.columns.items()}
        always = self.model_dump(mode="json", include={"privacy", "method", "publish", "engine"})
        if_asked = self.model_dump(mode="json", include={"missing", "order"}, exclude_defaults=True)
        return {"columns": _plain(columns), **always, **if_asked}

    def dump(self) -> str:
        """Write the policy as YAML, in its short forms; :meth:`parse` reads the same policy back."""
        document = self._document()
        document["columns"] = {name: Flow(column) for name, column in document["columns"].items()}
        document["privacy"] = [{name: Flow(given)} for entry in document["privacy"] for name, given in entry.items()]
        if isinstance(document["method"], dict):
            document["method"] = Flow(document["method"])
        return yaml_lines.write(document)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the policy to a file; relative csv paths stay as they are, so keep it beside them."""
        try:
            Path(path).write_text(self.dump(), "utf-8")
        except OSError as error:
            raise OutputError(f"the policy cannot be written to {fspath(path)!r}: {error.strerror}") from None

    @property
    def digest(self) -> str:
        """SHA-256 of what is asked for, however it was written down."""
        return hashlib.sha256(json.dumps(self._document(), separators=(",", ":")).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Policy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Describe the policy file as JSON Schema (draft 2020-12), for editors and other tools."""
        scalar = {"type": ["string", "number", "boolean", "null"], "description": "text as it is written"}
        properties = {
            "columns": {"type": "object", "additionalProperties": {"$ref": "#/$defs/column"}, "minProperties": 1},
            "privacy": {"type": "array", "items": _named_schema(_requirements()), "minItems": 1},
            "workload": {"type": ["array", "null"], "maxItems": 0, "description": "not supported yet"},
            "method": {"anyOf": [{"enum": list(_methods())}, _named_schema(_methods())]},
            "publish": {"enum": list(get_args(Publish))},
            "engine": {"enum": list(_engines())},
            "missing": {"type": "array", "items": scalar},
            "order": {"enum": list(get_args(RowOrder))},
        }
        column = {
            "role": {"enum": [role.value for role in Role]},
            "type": {"enum": list(get_args(ColumnType))},
            "hierarchy": hierarchy_spec.json_schema(),
            "order": {"anyOf": [{"type": "array", "items": scalar, "minItems": 1}, {"type": "null"}]},
            "weight": {"type": "number", "exclusiveMinimum": 0},
        }
        only_qi = {"hierarchy": {"type": "null"}, "order": {"type": "null"}, "weight": {"const": 1}}
        roles = [
            {"if": {"properties": {"role": {"const": "quasi-identifier"}}}, "else": {"properties": only_qi}},
            {
                "if": {"properties": {"role": {"enum": ["identifier", "keep"]}}},
                "then": {"properties": {"type": {"const": "auto"}}},
            },
        ]
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "rothko policy",
            **_object_schema(properties, ["columns", "privacy"]),
            "$defs": {
                "column": _object_schema(column, ["role"]) | {"allOf": roles},
                "branch": hierarchy_spec.BRANCH_SCHEMA,
            },
        }


def _column(columns: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in columns:
        raise PolicyError(f"{name!r} is not a column of the table; {hint(name, columns)}")
    return columns[name]


def _is_text(path: KeyPath) -> bool:
    """Tell whether a value names a column or stands for one of the data's own, and so is text as written."""
    match path:
        case ("missing", _) | ("columns", _, "order", _):
            return True
        case ("columns", _, "hierarchy", "tree" | "csv" | "delimiter", *_):
            return True
        case ("privacy", _, _, "hierarchy", "tree" | "csv" | "delimiter", *_):
            return True
        case ("privacy", _, _, "of") | ("privacy", _, _, "over" | "categories", _):
            return True
    return False


def _object_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _named_schema(known: dict[str, Any]) -> dict[str, Any]:
    """Describe a single-key mapping from a name to the parameters of its dataclass."""
    described = {}
    for name, cls in known.items():
        hints = get_type_hints(cls)
        required = [p.name for p in _parameters(cls) if _needed(p)]
        schemas = {
            p.name: hierarchy_spec.json_schema()
            if HierarchySpec in get_args(hints[p.name])
            else TypeAdapter(hints[p.name]).json_schema()
            for p in _parameters(cls)
        }
        described[name] = {"description": (cls.__doc__ or "").split("\n")[0], **_object_schema(schemas, required)}
    return _object_schema(described, []) | {"minProperties": 1, "maxProperties": 1}


# What pydantic finds wrong, in words that a person who has never heard of it can act on.

_CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "role": ("a role", tuple(role.value for role in Role)),
    "type": ("a type", get_args(ColumnType)),
    "publish": ("a published form", get_args(Publish)),
    "order": ("an order of rows", get_args(RowOrder)),
}
_MISSING = {
    "role": f"one of {', '.join(Role)}",
    "columns": "for example columns: {age: {role: quasi-identifier}}",
    "privacy": "for example privacy: [{k-anonymity: {k: 10}}]",
}
_MESSAGES = {
    "model_type": "a column is a mapping such as {role: keep}",
    "dict_type": "must be a mapping from names to what is asked of them",
    "tuple_type": "must be a list",
    "string_type": "must be text",
}


def _mistakes(error: ValidationError, model: type[BaseModel]) -> list[Mistake]:
    """Translate pydantic's findings about one model; those of its parts were translated by the parts."""
    mistakes = []
    for found in error.errors(include_url=False):
        path, kind = found["loc"], found["type"]
        inner = found.get("ctx", {}).get("error")
        if isinstance(inner, MistakeError):
            mistakes += [mistake._replace(path=path + mistake.path) for mistake in inner.mistakes]
        elif kind == "extra_forbidden":
            key = str(path[-1])
            mistakes.append(Mistake(path[:-1], f"unknown key {key!r}; {hint(key, model.model_fields)}", key))
        elif kind == "missing":
            key = str(path[-1])
            mistakes.append(Mistake(path[:-1], f"the key {key!r} is missing; add it, {_MISSING[key]}"))
        elif path[-1:] == ("[key]",):
            mistakes.append(Mistake(path[:-2], f"a name must be text, not {show(found['input'])}"))
        else:
            mistakes.append(Mistake(path, _message(kind, path, found["input"]) or found["msg"]))
    return mistakes


def _message(kind: str, path: KeyPath, value: Any) -> str | None:
    if not path:
        return f"a policy is a mapping that has 'columns' and 'privacy', not {show(value)}"
    if kind in ("enum", "literal_error"):
        noun, choices = _CHOICES[str(path[-1])]
        return f"{show(value)} is not {noun}; {hint(value, choices)}"
    if path[-1] == "weight":
        return f"must be a number above 0, not {show(value)}"
    return f"{_MESSAGES[kind]}, not {show(value)}" if kind in _MESSAGES else None

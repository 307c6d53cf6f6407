"""What a person asks for: a role for every column, the privacy required, and how to get there.

A policy is plain data, apart from the method and the engine that carry it out. It is written in YAML
or built in Python; either way the same rules hold, and what breaks them is told as one
:class:`~rothko.errors.PolicyError`: file and line, key, value, and what to write instead.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self, Unpack, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from rothko import notebook
from rothko.data.schema import Role
from rothko.errors import OutputError, PolicyError
from rothko.mistakes import KeyPath, Mistake, MistakeError, hint, sentence, show
from rothko.policy import entries as policy_entries
from rothko.policy import yaml as yaml_lines
from rothko.policy.column import Column
from rothko.policy.input import InputForm
from rothko.policy.json_schema import json_schema
from rothko.policy.suppression import Suppress
from rothko.policy.wording import EXAMPLES, Publish, RowOrder, mistakes_of
from rothko.policy.words import Words, fields_of, guessed, read_once, takes
from rothko.policy.yaml import Flow

if TYPE_CHECKING:
    from rothko.privacy import Requirement
    from rothko.workload import Task
    from rothko.workload.tasks import Model
else:  # importing a policy loads no requirement; pydantic leaves the checking to `policy_entries.read` anyway
    Requirement = Task = Any


class TextForm(BaseModel):
    """How text files (.csv, .tsv) are written.

    Attributes
    ----------
    escape_formulas
        Put an apostrophe before cells that spreadsheets would take for formulas; ``escape-formulas`` in a file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, validate_by_alias=True)

    escape_formulas: bool = Field(default=True, strict=True, alias="escape-formulas")


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
        What the release will be used for: objects of :mod:`rothko.workload`, or mappings such as
        ``{"classify": {"target": "salary"}}``.
    method
        The algorithm and its options: an object of :mod:`rothko.methods`, its name, or a mapping.
    suppress
        How many records may be suppressed so that the others lose less: a share of them, a number, or a mapping such as
        ``{"records": 0.02, "as": "left-out"}``.
    publish
        The form in which generalised values are written.
    engine
        Where the work is done, and its options: an object of :mod:`rothko.engines`, its name, or a mapping; ``auto``
        chooses.
    missing
        Values that stand for a missing one, beside the empty field.
    order
        The order of the released rows; ``keep`` weakens the protection.
    csv
        How text files are written.
    input
        How the table is read, where it is a text file; what a command or ``csv=`` says wins.
    confirm
        Columns whose role was guessed by a draft and waits for a person; nothing is released while there are any.

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
            Requirement,
            PlainValidator(policy_entries.read_requirement),
            PlainSerializer(policy_entries.write),
        ],
        ...,
    ]
    workload: tuple[
        Annotated[
            Task,
            PlainValidator(lambda v: policy_entries.read(v, policy_entries.tasks(), "task")),
            PlainSerializer(policy_entries.write),
        ],
        ...,
    ] = ()
    method: Annotated[
        Any,
        PlainValidator(lambda v: policy_entries.read(v, policy_entries.methods(), "method")),
        PlainSerializer(policy_entries.write_short),
    ] = Field(default_factory=lambda: policy_entries.methods()["mondrian"]())
    suppress: Annotated[Suppress | None, PlainSerializer(lambda v: None if v is None else v.short())] = None
    publish: Publish = "range"
    engine: Annotated[
        Any,
        PlainValidator(lambda v: policy_entries.read(v, policy_entries.engines(), "engine")),
        PlainSerializer(policy_entries.write_short),
    ] = Field(default_factory=lambda: policy_entries.engines()["auto"]())
    missing: tuple[str, ...] = ()
    order: RowOrder = "random"
    csv: TextForm = TextForm()
    input: InputForm = InputForm()
    confirm: tuple[str, ...] = ()

    @field_validator("workload", "confirm", mode="before")
    @classmethod
    def _none(cls, entries: Any) -> Any:
        return () if entries is None else entries  # the key alone, all that was below it deleted

    @model_validator(mode="after")
    def _names_fit(self) -> Self:
        mistakes = []
        if not self.quasi_identifiers:
            mistakes.append(
                Mistake(("columns",), "no column is a quasi-identifier; give the role to those that may be known")
            )
        if not self.privacy:
            mistakes.append(Mistake(("privacy",), f"must hold at least one requirement, {EXAMPLES['privacy']}"))
        for i, requirement in enumerate(self.privacy):
            path: KeyPath = ("privacy", i, requirement.name)
            named = [("of", requirement.column, Role.SENSITIVE), ("of", requirement.owner, Role.IDENTIFIER)]
            named += [("over", name, Role.QUASI_IDENTIFIER) for name in getattr(requirement, "over", None) or ()]
            mistakes += [
                Mistake((*path, key), self._misnamed(name, role))
                for key, name, role in named
                if name is not None and name not in self._with_role(role)
            ]
            if requirement.owner not in (None, self.owner):
                told = f"people are counted by {self.owner!r} already; one column says whose all records are"
                mistakes.append(Mistake((*path, "of"), told))
            mistakes += [
                Mistake(
                    (*path, key), f"names values as they are written, and {requirement.column!r} is folded; keep one"
                )
                for key in ("categories", "hierarchy")
                if getattr(requirement, key, None) and self._is_folded(requirement.column)
            ]
        for i, task in enumerate(self.workload):
            mistakes += [
                Mistake(("workload", i, task.name, parameter), wrong)
                for parameter, names in task.columns.items()
                for name in names
                if (wrong := self._unfit(parameter, name))
            ]
        mistakes += [
            Mistake(("confirm", i), f"{name!r} is not a column of the policy; {hint(name, self.columns)}")
            for i, name in enumerate(self.confirm)
            if name not in self.columns
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
            raise PolicyError(sentence(mistakes_of(error, list(Policy.model_fields)), info.context)) from None

    def _misnamed(self, name: object, role: Role) -> str:
        if not isinstance(name, str):
            return f"must be the name of a column, not {show(name)}"
        fitting = self._with_role(role)
        if name in self.columns:
            instead = f"there are {', '.join(map(repr, fitting))}" if fitting else f"give it role: {role.value}"
            return f"the column {name!r} must be {role.value} and is {self.columns[name].role.value!r}; {instead}"
        return f"{name!r} is not a column of the policy; {hint(name, fitting)}"

    def _unfit(self, parameter: str, name: str) -> str | None:
        """Why a task cannot take a column, or None where it can."""
        reasons = _UNFIT[parameter]
        if name not in self.columns:
            fitting = [known for known, column in self.columns.items() if column.role not in reasons]
            return f"{name!r} is not a column of the policy; {hint(name, fitting)}"
        role = self.columns[name].role
        return f"the column {name!r} is {role.value!r}, {reasons[role]}" if role in reasons else None

    def _is_folded(self, name: str | None) -> bool:
        return name in self.columns and self.columns[name].fold

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
    def owner(self) -> str | None:
        """The identifier that says whose a record is, where people are counted and not records."""
        return next((r.owner for r in self.privacy if r.owner is not None), None)

    @property
    def kept(self) -> tuple[str, ...]:
        """The columns that are released as they are, beside the sensitive ones."""
        return self._with_role(Role.KEEP)

    @property
    def hierarchy_files(self) -> list[Path]:
        """The files that its hierarchies are read from."""
        asked = [column.hierarchy for column in self.columns.values()]
        asked += [getattr(requirement, "hierarchy", None) for requirement in self.privacy]
        return [one.file for one in asked if one is not None and one.kind == "csv"]

    @property
    def models(self) -> list[Model]:
        """The tasks that predict a column."""
        from rothko.workload.tasks import models

        return models(self.workload)

    @property
    def modelled(self) -> list[str]:
        """The columns that models predict or look at, each once."""
        return list(dict.fromkeys(name for task in self.models for name in (task.target, *(task.features or ()))))

    @property
    def averaged(self) -> set[str]:
        """The quasi-identifiers whose mean is published or asked for."""
        from rothko.workload.tasks import Aggregate

        if self.publish == "mean":
            return {*self.quasi_identifiers}
        asked = [task for task in self.workload if isinstance(task, Aggregate)]
        return {name for task in asked if {"sum", "avg"} & {*task.functions} for name in task.of}

    @classmethod
    @takes(Words)
    def quick(cls, table: Any, *, engine: Any = "auto", **words: Unpack[Words]) -> Self:
        """Make a policy without a file, from words, as the command line does.

        Parameters
        ----------
        table
            A table as for ``anonymize``, or no more than the names of its columns. Of a table, text that holds numbers
            or dates is read as such, and what nobody names is looked at.
        qi, sensitive, drop, keep
            The columns with these roles: quasi-identifiers; sensitive; dropped; released as they are. A name, or
            several. Columns that are not named are refused, with what they look like.
        keep_rest
            Release what is not named as it is. What looks like an identifier must be named, in ``keep`` or ``drop``.
        k, l
            Ask for k-anonymity, and for distinct-l-diversity of every sensitive column.
        of
            The column that tells whose a record is, which is dropped: k counts people, not records.
        classify, regress, select, aggregate
            What the release will be used for: columns that models predict, selections, columns that are summed up.
        workload, method, publish, engine, missing
            As in the policy.
        types, hierarchies
            By column, as in the policy.
        """
        from rothko.policy.unnamed import as_source, refuse_unnamed

        words = read_once(words)
        source = as_source(table, words)
        names = list(table) if source is None else source.names
        policy = cls(**fields_of(names, words), engine=engine)
        refuse_unnamed(names if source is None else source, words)
        return policy if source is None else policy.typed(guessed(source, words))

    def typed(self, types: Mapping[str, str]) -> Self:
        """The same policy with other types of some columns."""
        changed = {name: self.columns[name].model_copy(update={"type": kind}) for name, kind in types.items()}
        return self.but(columns=self.columns | changed) if changed else self

    def but(self, **changes: Any) -> Self:
        """The same policy with other answers to some of its keys, checked anew."""
        return type(self)(**{name: getattr(self, name) for name in type(self).model_fields} | changes)

    def __repr__(self) -> str:
        asked = "; ".join(requirement.describe() for requirement in self.privacy)
        return f"Policy({len(self.quasi_identifiers)} quasi-identifiers of {len(self.columns)} columns; {asked})"

    def _repr_html_(self) -> str:
        rows = [
            (name, column.role.value, "" if column.hierarchy is None else str(column.hierarchy.kind))
            for name, column in self.columns.items()
        ]
        return notebook.shown(
            f"Policy: {'; '.join(requirement.describe() for requirement in self.privacy)}",
            notebook.table(("column", "role", "hierarchy"), rows, left=(0, 1, 2)),
            notebook.words(f"Method {self.method.name}, publish {self.publish}, engine {self.engine.name}."),
            notebook.folded("As a file", self.dump()),
        )

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
        if_asked = self.model_dump(
            mode="json",
            include={"workload", "suppress", "missing", "order", "csv", "input"},
            exclude_defaults=True,
            by_alias=True,
        )
        written = always | if_asked
        rest = {name: written[name] for name in type(self).model_fields if name in written}
        waiting = {"confirm": list(self.confirm)} if self.confirm else {}
        return {**waiting, "columns": policy_entries.plain(columns), **rest}

    def dump(self, *, ascii_only: bool = False) -> str:
        """Write the policy as YAML, in its short forms; :meth:`parse` reads the same policy back.

        Parameters
        ----------
        ascii_only
            Write all other characters as escapes, for a file or a terminal that is not UTF-8.
        """
        document = self._document()
        document["columns"] = {name: Flow(column) for name, column in document["columns"].items()}
        for key in ("privacy", "workload"):
            if key in document:
                document[key] = [{name: Flow(given)} for entry in document[key] for name, given in entry.items()]
        for key in ("method", "suppress", "engine", "csv", "input"):
            if isinstance(document.get(key), dict):
                document[key] = Flow(document[key])
        return yaml_lines.write(document, ascii_only=ascii_only)

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
        return self is other or self.digest == other.digest if isinstance(other, Policy) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Describe the policy file as JSON Schema (draft 2020-12), for editors and other tools."""
        return json_schema()


def _is_text(path: KeyPath) -> bool:
    """Tell whether a value names a column or stands for one of the data's own, and so is text as written."""
    match path:
        case ("input", "delimiter" | "quote" | "encoding" | "decimal" | "thousands" | "sheet" | "format"):
            return True
        case ("input", "missing", *_) | ("columns", _, "missing", *_) | ("columns", _, "type", _):
            return True
        case ("missing" | "confirm", _) | ("columns", _, "order", _):
            return True
        case ("columns", _, "hierarchy", "tree" | "csv" | "delimiter", *_):
            return True
        case ("privacy", _, _, "hierarchy", "tree" | "csv" | "delimiter", *_):
            return True
        case ("privacy", _, _, "of") | ("privacy", _, _, "over" | "categories", _):
            return True
        case ("workload", _, _, "target" | "of" | "where") | ("workload", _, _, "features" | "of" | "functions", _):
            return True
    return False


# Which roles the columns that a parameter of a task names cannot have, and why.

_DROPPED = "which is dropped; nothing can be asked of it"
_UNFIT: dict[str, dict[Role, str]] = {
    "target": {
        Role.IDENTIFIER: _DROPPED,
        Role.QUASI_IDENTIFIER: "which is released generalised; what a model predicts must be sensitive or keep",
    },
    "features": {Role.IDENTIFIER: _DROPPED},
    "where": {
        Role.IDENTIFIER: _DROPPED,
        Role.SENSITIVE: "which is released as it is and selects exactly without help; leave it out of the predicate",
        Role.KEEP: "which is released as it is and selects exactly without help; leave it out of the predicate",
    },
    "of": {
        Role.IDENTIFIER: _DROPPED,
        Role.SENSITIVE: "which is released as it is and needs no statistics; leave it out",
        Role.KEEP: "which is released as it is and needs no statistics; leave it out",
    },
}

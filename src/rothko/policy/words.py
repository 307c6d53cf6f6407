"""A policy without a file: the words that a person says instead, on the command line and in Python alike.

Every column must be spoken of: :mod:`rothko.policy.unnamed` refuses the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from rothko.data.schema import Role
from rothko.errors import PolicyError
from rothko.mistakes import hint, said

if TYPE_CHECKING:
    from rothko.data.source.source import Source
    from rothko.workload import Task

Names = str | Iterable[str]
"""One name, or several."""
Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS = {
    Role.IDENTIFIER: "--drop",
    Role.QUASI_IDENTIFIER: "--qi",
    Role.SENSITIVE: "--sensitive",
    Role.KEEP: "--keep",
}
"""Role → the option that gives it."""


class Roles(TypedDict, total=False):
    """What may be said of columns in place of a policy; a name stands for one column, a list for several."""

    qi: Names | None
    """Quasi-identifiers, which are generalised."""
    sensitive: Names | None
    """What must not be learnt about a person."""
    drop: Names | None
    """Identifiers, which are dropped."""
    keep: Names | None
    """Columns that are released as they are."""
    keep_rest: bool
    """Release what is not named as it is, but for what looks like an identifier."""
    missing: Names | None
    """Texts that stand for a missing value."""
    types: Mapping[str, str] | None
    """Column → its type, as in a policy."""
    hierarchies: Mapping[str, Any] | None
    """Column → its hierarchy, as in a policy."""


class Words(Roles, total=False):
    """What may be said in place of a policy.

    Tasks, ``method``, ``publish``, ``k`` and ``l`` go with a policy, too: the tasks are added to its own, the others
    take the place of its own.
    """

    k: int | None
    """Ask for k-anonymity; the k of a policy."""
    of: str | None
    """The column that tells whose a record is, which is dropped: k counts people, not records."""
    l: int | None  # noqa: E741 (the literature's letter)
    """Ask for distinct-l-diversity of every sensitive column; the l of a policy's l-diversity, of whichever kind."""
    classify: Names | None
    """Columns whose class models will predict."""
    regress: Names | None
    """Columns whose number models will predict."""
    select: Names | None
    """Selections that will be asked, such as ``age >= 40``."""
    aggregate: Names | None
    """Quasi-identifiers that will be summed up."""
    workload: Iterable[Any] | None
    """Tasks as in a policy."""
    method: Any
    """As in a policy: a name, or a mapping from it to its options."""
    suppress: Any
    """How many records may be suppressed, as in a policy: a share, a number, or a mapping."""
    publish: str | None
    """As in a policy."""


NAMING = ("qi", "sensitive", "drop", "keep", "missing", "classify", "regress", "select", "aggregate")
"""Words that stand for names, or other texts: one, or several."""
BESIDE_A_POLICY = ("classify", "regress", "select", "aggregate", "workload", "method", "suppress", "publish", "k", "l")
"""Words that go with a policy."""


def takes(words: type) -> Callable[[Function], Function]:
    """For a function that ends in ``**words``: each of them stands in its signature, for help() and for editors."""
    more = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False if kind == "bool" else None, annotation=kind)
        for name, kind in ((name, one.__forward_arg__) for name, one in words.__annotations__.items())
    ]

    def shown(function: Function) -> Function:
        plain = signature(function)
        own = [one for one in plain.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
        first = [one for one in own if one.kind is not Parameter.KEYWORD_ONLY]
        last = [one for one in own if one.kind is Parameter.KEYWORD_ONLY]
        vars(function)["__signature__"] = plain.replace(parameters=[*first, *more, *last])
        return function

    return shown


def listed(names: Names | None) -> list[str]:
    """One name or several as a list.

    >>> listed("age"), listed(("age", "sex")), listed(None)
    (['age'], ['age', 'sex'], [])
    """
    return [names] if isinstance(names, str) else [] if names is None else list(names)


def read_once(words: Words) -> Words:
    """The same words, with lists for names: an index of pandas is neither true nor false, an iterator goes by once."""
    several = {word: listed(cast("Names", words.get(word))) for word in NAMING if word in words}
    return cast("Words", {**words, **several})


def given(words: Words) -> list[str]:
    """The words that say something."""
    return [word for word, value in words.items() if value or (value == 0 and value is not False)]


def tasks(words: Words) -> list[Task]:
    """The tasks that are asked for, each once.

    >>> [task.describe() for task in tasks({"classify": ["salary", "disease"], "select": "age >= 40"})]
    ['classify salary', 'classify disease', 'select age >= 40']
    """
    from rothko.workload import Aggregate, Classify, Regress, Select

    found: list[Any] = [Classify(name) for name in listed(words.get("classify"))]
    found += [Regress(name) for name in listed(words.get("regress"))]
    found += [Select(where) for where in listed(words.get("select"))]
    found += [Aggregate(name) for name in listed(words.get("aggregate"))]
    return [*dict.fromkeys(found), *(words.get("workload") or ())]


def of_option(words: Words, option: str) -> list[str]:
    """The columns that are named with an option."""
    found: Any = dict(words).get(option.removeprefix("--"))
    return listed(found)


def named_in(words: Words) -> list[str]:
    """The columns that are given a role."""
    return [name for option in (*OPTIONS.values(), "--of") for name in of_option(words, option)]


def fields_of(names: Sequence[str], words: Words) -> dict[str, Any]:
    """The keys of the policy that words ask for, of a table with these columns; what they do not name is kept."""
    columns: dict[str, dict[str, Any]] = {name: {} for name in names}
    if owner := words.get("of"):
        _column(columns, owner)["role"] = Role.IDENTIFIER
    for role, option in OPTIONS.items():
        for name in of_option(words, option):
            column = _column(columns, name)
            if column.setdefault("role", role) is not role:
                raise PolicyError(f"the column {name!r} is asked for as {column['role'].value} and as {role.value}")
    for key, by_name in (("type", words.get("types")), ("hierarchy", words.get("hierarchies"))):
        for name, value in (by_name or {}).items():
            _column(columns, name)[key] = value
    fields = {
        "columns": {name: {"role": Role.KEEP, **column} for name, column in columns.items()},
        "privacy": _privacy(words),
        "workload": tuple(tasks(words)),
        "method": words.get("method") or "mondrian",
        "suppress": words.get("suppress"),
        "missing": tuple(listed(words.get("missing"))),
    }
    return fields | ({"publish": words["publish"]} if words.get("publish") else {})


def _privacy(words: Words) -> tuple[Any, ...]:
    k, diverse, sensitive = words.get("k"), words.get("l"), listed(words.get("sensitive"))
    if k is None and diverse is None:
        raise PolicyError(
            f"no privacy is asked for; give {said('--k')}, for example {said('--k', 10)}, or {said('--l')}"
        )
    if diverse is not None and not sensitive:
        raise PolicyError(
            f"l-diversity with l = {diverse} needs a sensitive column; give {said('--sensitive')}, or {said('--k')} "
            "alone"
        )
    owner = {"of": words["of"]} if words.get("of") else {}
    if owner and k is None:
        raise PolicyError(f"{said('--of')} goes with {said('--k')}: it says whose records are counted")
    privacy: list[Any] = [] if k is None else [{"k-anonymity": {"k": k, **owner}}]
    privacy += [{"distinct-l-diversity": {"l": diverse, "of": name}} for name in sensitive if diverse is not None]
    return tuple(privacy)


def _column(columns: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in columns:
        several = all(part.strip() in columns for part in name.split(",")) and "," in name
        raise PolicyError(
            f"{name!r} is not a column of the table; "
            + (f"give several as a list, {name.split(',')!r}" if several else hint(name, columns))
        )
    return columns[name]


def guessed(source: Source, words: Words) -> dict[str, str]:
    """The quasi-identifiers that are numbers or dates stored as text → what they hold; one pass over them."""
    from rothko.data.typed import guess_types

    told = {*(words.get("types") or ()), *(words.get("hierarchies") or ())}
    unsaid = [name for name in listed(words.get("qi")) if name not in told]
    return guess_types(source, unsaid, listed(words.get("missing")))

"""What pydantic finds wrong in a policy, in words that a person who has never heard of it can act on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from pydantic import ValidationError

from rothko.data.schema import Role
from rothko.mistakes import KeyPath, Mistake, MistakeError, hint, show

ColumnType = Literal["auto", "number", "text", "date", "timestamp"]
FORMED = ("date", "timestamp")
"""Types whose values may be written in a form of their own."""
Publish = Literal["range", "region", "mean", "bounds"]
RowOrder = Literal["random", "keep"]

_CHOICES: dict[str, tuple[str, tuple[str, ...]]] = {
    "role": ("a role", tuple(role.value for role in Role)),
    "type": ("a type", get_args(ColumnType)),
    "publish": ("a published form", get_args(Publish)),
    "order": ("an order of rows", get_args(RowOrder)),
}
EXAMPLES = {
    "role": f"one of {', '.join(Role)}",
    "columns": "for example columns: {age: {role: quasi-identifier}}",
    "privacy": "for example privacy: [{k-anonymity: {k: 10}}]",
    "records": "for example suppress: {records: 0.02}",
}
"""What a key that is missing or empty may hold."""
PARTS = {
    "csv": ["escape-formulas"],
    "input": ["delimiter", "quote", "encoding", "header", "decimal", "thousands", "missing", "sheet", "format"],
    "suppress": ["records", "as"],
}
"""Keys of the policy that are mappings → their own keys."""
_MESSAGES = {
    "model_type": "a column is a mapping such as {role: keep}",
    "dict_type": "must be a mapping from names to what is asked of them",
    "tuple_type": "must be a list",
    "string_type": "must be text",
}


def mistakes_of(error: ValidationError, keys: Sequence[str]) -> list[Mistake]:
    """Translate pydantic's findings about one model with these keys; its parts have translated theirs."""
    mistakes = []
    for found in error.errors(include_url=False):
        path, kind = found["loc"], found["type"]
        inner = found.get("ctx", {}).get("error")
        if isinstance(inner, MistakeError):
            mistakes += [mistake._replace(path=path + mistake.path) for mistake in inner.mistakes]
        elif kind == "extra_forbidden":
            key = str(path[-1])
            known = PARTS.get(str(path[0]), keys) if len(path) > 1 else keys
            mistakes.append(Mistake(path[:-1], f"unknown key {key!r}; {hint(key, known)}", key))
        elif kind == "missing":
            key = str(path[-1])
            mistakes.append(Mistake(path[:-1], f"the key {key!r} is missing; add it, {EXAMPLES[key]}"))
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
    if kind == "model_type" and path[0] in PARTS:
        such = {"csv": "{escape-formulas: true}", "input": "{encoding: latin-1}"}[str(path[0])]
        return f"must be a mapping such as {such}, not {show(value)}"
    if kind == "bool_type":
        return f"must be true or false, not {show(value)}"
    if path[-1] == "weight":
        return f"must be a number above 0, not {show(value)}"
    return f"{_MESSAGES[kind]}, not {show(value)}" if kind in _MESSAGES else None

"""The policy file as JSON Schema (draft 2020-12), so that editors check and complete it."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter

from rothko.policy import hierarchies as hierarchy_spec
from rothko.policy.entries import engines, is_needed, methods, parameters_of, requirements, tasks
from rothko.policy.hierarchies import HierarchySpec
from rothko.policy.policy import ColumnType, Publish, Role, RowOrder


def json_schema() -> dict[str, Any]:
    """Describe the policy file."""
    scalar = {"type": ["string", "number", "boolean", "null"], "description": "text as it is written"}
    properties = {
        "columns": {"type": "object", "additionalProperties": {"$ref": "#/$defs/column"}, "minProperties": 1},
        "privacy": {"type": "array", "items": _named_schema(requirements()), "minItems": 1},
        "workload": {"anyOf": [{"type": "array", "items": _named_schema(tasks())}, {"type": "null"}]},
        "method": {"anyOf": [{"enum": list(methods())}, _named_schema(methods())]},
        "publish": {"enum": list(get_args(Publish))},
        "engine": {"anyOf": [{"enum": list(engines())}, _named_schema(engines())]},
        "missing": {"type": "array", "items": scalar},
        "order": {"enum": list(get_args(RowOrder))},
        "csv": _object_schema({"escape-formulas": {"type": "boolean"}}, []),
    }
    column = {
        "role": {"enum": [role.value for role in Role]},
        "type": {"enum": list(get_args(ColumnType))},
        "hierarchy": hierarchy_spec.json_schema(),
        "order": {"anyOf": [{"type": "array", "items": scalar, "minItems": 1}, {"type": "null"}]},
        "weight": {"type": "number", "exclusiveMinimum": 0},
        "fold": {"type": "boolean"},
    }
    only_qi = {"hierarchy": {"type": "null"}, "order": {"type": "null"}, "weight": {"const": 1}}
    roles = [
        {"if": {"properties": {"role": {"const": "quasi-identifier"}}}, "else": {"properties": only_qi}},
        {
            "if": {"properties": {"role": {"enum": ["identifier", "keep"]}}},
            "then": {"properties": {"type": {"const": "auto"}}},
        },
        {"if": {"properties": {"role": {"const": "sensitive"}}}, "else": {"properties": {"fold": {"const": False}}}},
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


def _object_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _named_schema(known: dict[str, Any]) -> dict[str, Any]:
    """Describe a single-key mapping from a name to the parameters of its dataclass."""
    described = {}
    for name, cls in known.items():
        hints = get_type_hints(cls, include_extras=True)
        required = [p.name for p in parameters_of(cls) if is_needed(p)]
        schemas = {
            p.name: hierarchy_spec.json_schema()
            if HierarchySpec in get_args(hints[p.name])
            else TypeAdapter(hints[p.name]).json_schema()
            for p in parameters_of(cls)
        }
        described[name] = {"description": (cls.__doc__ or "").split("\n")[0], **_object_schema(schemas, required)}
    return _object_schema(described, []) | {"minProperties": 1, "maxProperties": 1}

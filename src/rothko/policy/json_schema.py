"""The policy file as JSON Schema (draft 2020-12), so that editors check and complete it."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter

from rothko.data.hierarchy.spec import EXAMPLES, WORDS, DateUnit, HierarchySpec
from rothko.data.schema import Role
from rothko.policy.entries import engines, is_needed, methods, parameters_of, requirements, tasks
from rothko.policy.suppression import Becomes
from rothko.policy.wording import FORMED, ColumnType, Publish, RowOrder


def json_schema() -> dict[str, Any]:
    """Describe the policy file."""
    scalar = {"type": ["string", "number", "boolean", "null"], "description": "text as it is written"}
    properties = {
        "confirm": {
            "description": "columns whose role a draft has guessed; delete each when you agree with it",
            "anyOf": [{"type": "array", "items": scalar}, {"type": "null"}],
        },
        "columns": {"type": "object", "additionalProperties": {"$ref": "#/$defs/column"}, "minProperties": 1},
        "privacy": {"type": "array", "items": _named_schema(requirements()), "minItems": 1},
        "workload": {"anyOf": [{"type": "array", "items": _named_schema(tasks())}, {"type": "null"}]},
        "method": {"anyOf": [{"enum": list(methods())}, _named_schema(methods())]},
        "suppress": {"anyOf": [_SHARE_OR_NUMBER, _object_schema(_SUPPRESSED, ["records"]), {"type": "null"}]},
        "publish": {"enum": list(get_args(Publish))},
        "engine": {"anyOf": [{"enum": list(engines())}, _named_schema(engines())]},
        "missing": {"type": "array", "items": scalar},
        "order": {"enum": list(get_args(RowOrder))},
        "csv": _object_schema({"escape-formulas": {"type": "boolean"}}, []),
        "input": _object_schema(
            {
                "delimiter": {"type": "string", "pattern": r"^(.|\\t|tab)$"},
                "quote": {"type": "string", "minLength": 1, "maxLength": 1},
                "encoding": {"type": "string"},
                "header": {"type": "boolean"},
                "decimal": {"enum": [".", ","]},
                "thousands": {"enum": [".", ",", " ", "'"]},
                "missing": {"anyOf": [{"type": "array", "items": scalar}, scalar]},
                "sheet": scalar,
                "format": {"enum": ["csv", "tsv", "parquet", "arrow"]},
            },
            [],
        ),
    }
    column = {
        "role": {"enum": [role.value for role in Role]},
        "type": {"anyOf": [{"enum": list(get_args(ColumnType))}, _dates_schema()]},
        "hierarchy": _hierarchy_schema(),
        "order": {"anyOf": [{"type": "array", "items": scalar, "minItems": 1}, {"type": "null"}]},
        "weight": {"type": "number", "exclusiveMinimum": 0},
        "fold": {"type": "boolean"},
        "missing": {"anyOf": [{"type": "array", "items": scalar}, scalar]},
    }
    only_qi = {"hierarchy": {"type": "null"}, "order": {"type": "null"}, "weight": {"const": 1}}
    roles = [
        {"if": {"properties": {"role": {"const": "quasi-identifier"}}}, "else": {"properties": only_qi}},
        {
            "if": {"properties": {"role": {"const": "identifier"}}},
            "then": {"properties": {"type": {"const": "auto"}, "missing": {"const": []}}},
        },
        {"if": {"properties": {"role": {"const": "sensitive"}}}, "else": {"properties": {"fold": {"const": False}}}},
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rothko policy",
        **_object_schema(properties, ["columns", "privacy"]),
        "$defs": {
            "column": _object_schema(column, ["role"]) | {"allOf": roles},
            "branch": _BRANCH_SCHEMA,
        },
    }


def _dates_schema() -> dict[str, Any]:
    """Describe a type with the form in which its values are written."""
    such = {"date": "%d.%m.%Y", "timestamp": "%d.%m.%Y %H:%M"}
    forms = {kind: {"type": "string", "description": f"such as {such[kind]}"} for kind in FORMED}
    return _object_schema(forms, []) | {"minProperties": 1, "maxProperties": 1}


def _object_schema(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _named_schema(known: dict[str, Any]) -> dict[str, Any]:
    """Describe a single-key mapping from a name to the parameters of its dataclass."""
    described = {}
    for name, cls in known.items():
        hints = get_type_hints(cls, include_extras=True)
        required = [p.name for p in parameters_of(cls) if is_needed(p)]
        schemas = {
            p.name: _hierarchy_schema()
            if HierarchySpec in get_args(hints[p.name])
            else TypeAdapter(hints[p.name]).json_schema()
            for p in parameters_of(cls)
        }
        described[name] = {"description": (cls.__doc__ or "").split("\n")[0], **_object_schema(schemas, required)}
    return _object_schema(described, []) | {"minProperties": 1, "maxProperties": 1}


def _hierarchy_schema() -> dict[str, Any]:
    """Describe the forms of a hierarchy as JSON Schema."""
    number = {"type": "number"}
    numbers = {"type": "array", "items": number, "minItems": 1}
    units = {"type": "array", "items": {"enum": list(get_args(DateUnit))}, "minItems": 1}
    branch = {"$ref": "#/$defs/branch"}
    forms: dict[str, dict[str, Any]] = {
        "mask": {"enum": ["right", "left"], "description": "the side whose characters are masked first"},
        "prefix": {
            "type": "array",
            "items": {"type": "integer", "minimum": 1},
            "minItems": 1,
            "description": "characters that are kept, falling",
        },
        "intervals": numbers | {"items": {"type": "number", "exclusiveMinimum": 0}, "description": "widths, rising"},
        "breaks": {"anyOf": [numbers, {"type": "array", "items": numbers, "minItems": 1}]},
        "dates": units,
        "tree": branch,
    }
    csv = {
        "csv": {"type": "string", "minLength": 1},
        "delimiter": {"type": "string", "minLength": 1, "maxLength": 1},
        "encoding": {"type": "string"},
    }
    return {
        "description": "how the values are generalised: a csv file, flat, auto, icd-10, or one of the forms",
        "anyOf": [
            {"enum": [*WORDS, None]},
            {"type": "string", "minLength": 1, "not": {"enum": list(EXAMPLES)}, "description": "a csv file"},
            {"type": "object", "properties": csv, "required": ["csv"], "additionalProperties": False},
            *(
                {"type": "object", "properties": {kind: form}, "required": [kind], "additionalProperties": False}
                for kind, form in forms.items()
            ),
        ],
    }


_SHARE_OR_NUMBER: dict[str, Any] = {
    "description": "a share of the records, or a number of them",
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        {"type": "integer", "minimum": 2},
    ],
}
_SUPPRESSED = {"records": _SHARE_OR_NUMBER, "as": {"enum": list(get_args(Becomes))}}
_BRANCH_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "object", "additionalProperties": {"$ref": "#/$defs/branch"}, "minProperties": 1},
        {
            "type": "array",
            "minItems": 1,
            "items": {"anyOf": [{"type": ["string", "number", "boolean", "null"]}, {"$ref": "#/$defs/branch"}]},
        },
    ]
}
"""What is below a label of a tree; refers to itself as ``#/$defs/branch``."""

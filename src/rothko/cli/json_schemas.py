"""What ``--json`` prints, as JSON Schema (draft 2020-12): one for each command, and one for errors.

Every document names its form, ``rothko check 1``. Within a number keys are only added; one that goes, or comes to mean
something else, is another number.
"""

from __future__ import annotations

from typing import Any

from rothko.errors import InputError, nearest

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXT_OR_NONE: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
COUNT_OR_NONE: Schema = {"type": ["integer", "null"]}
NUMBER: Schema = {"type": "number"}
NUMBER_OR_NONE: Schema = {"type": ["number", "null"]}
TRUTH: Schema = {"type": "boolean"}
SHARE: Schema = {"type": "number", "minimum": 0, "maximum": 1}
HASH: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
HASHES: Schema = {"type": "object", "additionalProperties": HASH}
SECONDS: Schema = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}}
NUMBERS: Schema = {"type": "object", "additionalProperties": NUMBER_OR_NONE}
ANY_OBJECT: Schema = {"type": "object"}


def _all(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None, *, open_: bool = False) -> Schema:
    """An object with these keys; ``open_`` where a part has more than is promised here."""
    keys = {"type": "object", "properties": required | (optional or {}), "required": list(required)}
    return keys if open_ else keys | {"additionalProperties": False}


def _document(name: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return _object({"format": {"const": name}} | required, optional)


FINDING = _object(
    {
        "requirement": TEXT, "of": TEXT_OR_NONE, "over": {"type": ["array", "null"], "items": TEXT}, "asked": NUMBER,
        "achieved": NUMBER_OR_NONE, "holds": TRUTH, "classes": COUNT, "violating_classes": COUNT,
        "violating_records": COUNT,
    },
    open_=True,
)  # fmt: skip
LOSS_KEYS = {
    "gcp": NUMBER_OR_NONE, "ncp": NUMBERS, "classes": COUNT, "average_class_size": NUMBER_OR_NONE,
    "discernibility": COUNT, "smallest_class": COUNT, "largest_class": COUNT,
    "class_sizes": {"type": "object", "additionalProperties": COUNT}, "suppressed": COUNT, "workload": _all(ANY_OBJECT),
}  # fmt: skip
WRITTEN = {"file": TEXT, "file_sha256": HASH, "files": HASHES, "recoding": HASHES}
MADE = {"notes": _all(TEXT), "versions": {"type": "object", "additionalProperties": TEXT}, "seconds": SECONDS}
PROPOSAL = _object(
    {
        "name": TEXT, "role": {"enum": ["identifier", "quasi-identifier", "sensitive", "keep"]}, "type": TEXT,
        "distinct": COUNT, "missing": COUNT, "why": TEXT, "confirm": TRUTH,
    }
)  # fmt: skip
TRIAL = _object({"method": TEXT, "k": COUNT_OR_NONE, "seconds": NUMBER_OR_NONE, "reason": TEXT_OR_NONE}, open_=True)
COMPARED = {
    "records": COUNT, "by": TEXT, "seed": {"type": "integer"}, "threads": COUNT, "seconds": SECONDS,
    "trials": _all(TRIAL), "best": _all(ANY_OBJECT),
}  # fmt: skip
SIZE = {"leaves": COUNT, "levels": COUNT}

SCHEMAS: dict[str, Schema] = {
    "draft": _document(
        "rothko draft 1",
        {"rows": COUNT, "unique": SHARE, "notes": _all(TEXT), "columns": _all(PROPOSAL), "policy": TEXT},
    ),
    "anonymize": _document(
        "rothko certificate 1",
        {
            "verified": TRUTH, "true_to_original": {"type": ["boolean", "null"]}, "requirements": _all(FINDING),
            "rows": COUNT, "classes": COUNT, "suppressed": COUNT, "left_out": COUNT, "columns": _all(TEXT),
            "loss": _object(LOSS_KEYS, open_=True), "method": TEXT, "publish": TEXT,
            "engine": _object({"name": TEXT, "reason": TEXT}), "io": {"type": ["object", "null"]},
            "seed": {"type": "integer"}, "key": TEXT_OR_NONE, "policy": TEXT, "policy_sha256": HASH, **WRITTEN, **MADE,
        },
        {"unchanged": TRUTH, "beside": HASHES},
    ),
    "check": _document(
        "rothko check 1",
        {
            "holds": TRUTH, "rows": COUNT, "classes": COUNT, "requirements": _all(FINDING),
            "identifiers_left": _all(TEXT),
        },
    ),
    "measure": _document(
        "rothko measure 1",
        LOSS_KEYS,
        {"survey": ANY_OBJECT, "cube": ANY_OBJECT, "queries": ANY_OBJECT, "bound": ANY_OBJECT},
    ),
    "report": _document("rothko report 1", {"audience": {"enum": ["public", "steward"]}, "pages": _all(TEXT)}),
    "paint": _document("rothko paint 1", {"path": TEXT}),
    "compare": _document(
        "rothko compare 1",
        COMPARED,
        {
            "quasi_identifiers": _all(TEXT), "items": COUNT, "instances": COUNT, "utility": NUMBER, "notes": _all(TEXT),
            "adversaries": {"type": "object", "additionalProperties": TEXT}, "largest": _all(ANY_OBJECT),
            "bounds": _all(ANY_OBJECT), "max_loss": NUMBER_OR_NONE, "found_by": TEXT,
        },
    ),
    "evaluate": _document(
        "rothko evaluate 1",
        {
            "tasks": _all(
                _object(
                    {
                        "task": TEXT, "target": TEXT, "records": COUNT, "left_out": COUNT, "folds": COUNT,
                        "seed": {"type": "integer"}, "scores": _all(ANY_OBJECT), "comparisons": _all(ANY_OBJECT),
                    },
                    open_=True,
                )
            )
        },
    ),
    "apply": _document(
        "rothko apply 1",
        {
            "path": TEXT, "rows": COUNT, "suppressed": COUNT, "classes": COUNT, "regions": COUNT,
            "smallest": COUNT_OR_NONE, "k": COUNT, "notes": _all(TEXT),
        },
    ),
    "sets": _document(
        "rothko sets certificate 1",
        {
            "verified": TRUTH, "true_to_original": {"type": ["boolean", "null"]},
            "requirement": _object({"name": TEXT, "asked": COUNT, "achieved": COUNT, "holds": TRUTH}, open_=True),
            "adversary": TEXT, "rows": COUNT, "classes": COUNT, "metrics": NUMBERS,
            "method": _object({"name": TEXT}, open_=True), "seed": {"type": "integer"},
            "file": TEXT, "file_sha256": HASH, "files": HASHES, **MADE,
        },
        {"engine": ANY_OBJECT, "key": TEXT_OR_NONE, "io": {"type": ["object", "null"]}, "recoding": HASHES},
    ),
    "plan": _document(
        "rothko plan 1",
        {
            "rows": COUNT, "columns": COUNT, "row_bytes": COUNT, "k": COUNT, "method": TEXT, "budget": NUMBERS,
            "group_bytes": COUNT, "cache": COUNT, "height": COUNT, "sample": COUNT,
            "costs": _all(_object({"engine": TEXT, "works": TRUTH, "seconds": NUMBER_OR_NONE}, open_=True)),
            "engine": TEXT, "reason": TEXT, "bytes": COUNT,
        },
        {"speed": {"type": ["object", "null"]}},
    ),
    "hierarchy show": _document("rothko hierarchy show 1", {"hierarchy": {}, "leaves": COUNT}),
    "hierarchy check": _document("rothko hierarchy check 1", {**SIZE, "unused": COUNT_OR_NONE}),
    "hierarchy export": _document("rothko hierarchy export 1", {"path": TEXT, **SIZE}),
    "hierarchy import": _document("rothko hierarchy import 1", {"policy": TEXT, "column": TEXT, **SIZE}),
    "generate": _document("rothko generate 1", {"records": COUNT, "path": TEXT, "beside": _all(TEXT)}),
    "warm": _document("rothko warm 1", {"methods": {"type": ["array", "null"], "items": TEXT}, "kept_in": TEXT}),
    "log": _object(
        {
            "time": {"type": "string", "format": "date-time"}, "level": {"enum": ["info", "warning", "error"]},
            "event": {"enum": ["stage", "warning", "in place", "error", "end"]},
        },
        {
            "stage": TEXT, "seconds": {"type": "number", "minimum": 0}, "records": COUNT, "warnings": COUNT,
            "command": TEXT, "message": TEXT, "kind": TEXT, "exit_code": COUNT,
        },
    ),
    "error": _document(
        "rothko error 1",
        {
            "error": _object(
                {"kind": TEXT, "message": TEXT, "exit_code": {"type": "integer", "minimum": 1}},
                {"values": _all(TEXT), "values_in_all": COUNT},
            )
        },
    ),
}  # fmt: skip
"""By command; ``error`` is what any of them prints where it fails, ``log`` a line of ``--log json``."""

CALLED = {"certificate": "anonymize", "sets certificate": "sets"}
"""What documents call themselves that are not called as their command."""


def json_schema_of(what: str) -> Schema:
    """The schema of what a command prints, or of a policy file."""
    if what == "policy":
        from rothko.policy.policy import Policy

        return Policy.json_schema()
    what = CALLED.get(what, what)
    if what not in SCHEMAS:
        raise InputError(f"--of takes a command, log, error or policy, not {what!r}; {nearest(what, SCHEMAS)}")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": {"error": "an error of rothko, --json", "log": "an event of rothko, --log json"}.get(
            what, f"rothko {what}, --json"
        ),
    }
    return head | SCHEMAS[what]

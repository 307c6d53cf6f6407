"""One entry of a policy file put in or replaced, with everything else left as a person wrote it, comments too."""

from __future__ import annotations

from typing import Any

import yaml

from rothko.errors import PolicyError
from rothko.mistakes import hint
from rothko.policy.yaml import as_yaml


def put(text: str, column: str, key: str, value: Any, *, where: str) -> str:
    r"""Set one key of a column in the text of a policy that can be read.

    Examples
    --------
    >>> put("columns:\n  zip: {role: keep}  # ours\n", "zip", "type", "text", where="p")
    'columns:\n  zip: {role: keep, type: text}  # ours\n'
    >>> put("columns:\n  zip:\n    role: keep\n    # why\n", "zip", "hierarchy", {"mask": "left"}, where="p")
    'columns:\n  zip:\n    role: keep\n    hierarchy: {mask: left}\n    # why\n'
    """
    written = as_yaml(value, on_one_line=True)
    columns = _entry(yaml.compose(text, yaml.SafeLoader), "columns")
    found = None if columns is None else _entry(columns[1], column)
    if found is None:
        names = [] if columns is None else [name.value for name, _ in columns[1].value]
        raise PolicyError(f"{where} has no column {column!r}; {hint(column, names)}")
    spec = found[1]
    if not isinstance(spec, yaml.MappingNode) or not spec.value:
        raise PolicyError(f"{where}: write column {column!r} as a mapping such as {{role: quasi-identifier}}.")
    there = _entry(spec, key)
    if there is not None:
        name, old = there
        # What stands in a block below its key is replaced by what stands beside it.
        begin = old.start_mark.index if _inline(old) else text.index(":", name.end_mark.index) + 1
        return f"{text[:begin]}{'' if _inline(old) else ' '}{written}{text[_end(old) :]}"
    if spec.flow_style:
        end = spec.end_mark.index - 1
        return f"{text[:end].rstrip()}, {key}: {written}{text[end:]}"
    indent, end = " " * spec.value[0][0].start_mark.column, _end(spec)
    return f"{text[:end]}\n{indent}{key}: {written}{text[end:]}"


def _entry(mapping: Any, key: str) -> tuple[yaml.Node, yaml.Node] | None:
    """The key and the value of an entry."""
    pairs = mapping.value if isinstance(mapping, yaml.MappingNode) else ()
    return next(((name, value) for name, value in pairs if name.value == key), None)


def _inline(node: yaml.Node) -> bool:
    return not isinstance(node, yaml.CollectionNode) or bool(node.flow_style)


def _end(node: yaml.Node) -> int:
    """Where an entry ends; YAML says of a block that it ends where the next thing begins."""
    if _inline(node) or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)

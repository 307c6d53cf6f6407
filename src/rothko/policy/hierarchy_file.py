"""Hierarchies in files that a person edits: lines as in ARX, or a tree in YAML; errors name the line.

The ending tells which: ``.yaml`` and ``.yml`` hold a tree, all others lines. Spreadsheets take a text for UTF-8 where
it begins with a mark, and many write the code page of their system, or UTF-16: lines with other letters than ASCII's
are written with the mark, and all of these are read. A wrong guess is no danger: values of the table then have no leaf.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from rothko.data.hierarchy.hierarchy import Hierarchy
from rothko.data.hierarchy.paths import breadth_first, read_text
from rothko.data.hierarchy.spec import HierarchySpec
from rothko.errors import HierarchyError
from rothko.policy.spelling import WESTERN
from rothko.policy.yaml import as_yaml

TREES = (".yaml", ".yml")
"""Endings of files that hold a tree."""


def encoding_of(path: Path) -> str:
    """What a text is in: UTF-8, UTF-16 where its mark says so, or else what spreadsheets of Western Europe write."""
    try:
        data = path.read_bytes()
        if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        data.decode("utf-8")
    except UnicodeDecodeError:
        return WESTERN if _decodes(data, WESTERN) else "utf-8"
    except OSError:
        return "utf-8"  # the reader says what is wrong
    return "utf-8"


def _decodes(data: bytes, encoding: str) -> bool:
    with contextlib.suppress(UnicodeDecodeError):
        return "\0" not in data.decode(encoding)
    return False


def read_hierarchy(path: Path, *, delimiter: str | None = None, encoding: str | None = None) -> Hierarchy:
    """Read a hierarchy from a file; an encoding that is not given is found."""
    encoding = encoding or encoding_of(path)
    if path.suffix.lower() not in TREES:
        return Hierarchy.from_csv(path, delimiter=delimiter, encoding=encoding)
    where, text = str(path), read_text(str(path), encoding)
    try:
        tree = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}" if mark else ""
        # A label that begins with a star is an alias to YAML, which quotes it; labels are values of the data.
        reason = re.sub(r"\s*'[^']{2,}'", "", str(error.problem or error.context))
        raise HierarchyError(f"{where}{at}: not valid YAML: {reason}") from None
    except yaml.reader.ReaderError:
        raise HierarchyError(f"{where}: not valid YAML: it holds a control character") from None
    if tree is None:
        raise HierarchyError(f"{where} is empty; it needs a leaf for every value of the column")
    try:
        return Hierarchy(*breadth_first(_paths(tree, (), where), where=where, unit="line"))
    except RecursionError:
        raise HierarchyError(f"{where} is nested too deeply, or holds itself") from None


def _paths(node: yaml.Node, above: tuple[str, ...], where: str) -> Iterator[tuple[int, list[str]]]:
    """The line and the path of each leaf, as it is written: 021 stays 021, and no stays no."""
    line = node.start_mark.line + 1
    if isinstance(node, yaml.ScalarNode):
        yield line, [node.value, *above]
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if isinstance(item, yaml.SequenceNode):
                raise HierarchyError(
                    f"{where}, line {item.start_mark.line + 1}: a list stands directly in a list; the inner one needs "
                    "a label above it"
                )
            yield from _paths(item, above, where)
    elif isinstance(node, yaml.MappingNode):
        for key, below in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise HierarchyError(f"{where}, line {key.start_mark.line + 1}: a label must be text")
            nothing = isinstance(below, yaml.ScalarNode) and not below.value and below.style is None
            if nothing or (not isinstance(below, yaml.ScalarNode) and not below.value):
                yield key.start_mark.line + 1, [key.value, *above]
            else:
                yield from _paths(below, (key.value, *above), where)


def written_hierarchy(hierarchy: Hierarchy, path: Path) -> str:
    """The text of a file with a hierarchy, by the ending of its name."""
    if path.suffix.lower() in TREES:
        return as_yaml(hierarchy.to_nested())
    lines = hierarchy.to_csv()
    return lines if lines.isascii() else f"\ufeff{lines}"


def spec_of(path: Path, hierarchy: Hierarchy, policy: Path) -> HierarchySpec:
    """How a policy asks for a hierarchy in a file: by its name, or, of a tree, by the tree itself."""
    if path.suffix.lower() in TREES:
        return HierarchySpec("tree", hierarchy.to_nested())
    folder = policy.resolve().parent
    file = path.resolve()
    name = file.relative_to(folder).as_posix() if file.is_relative_to(folder) else str(file)
    return HierarchySpec("csv", name, encoding=encoding_of(path))

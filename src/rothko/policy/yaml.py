"""YAML that knows its lines, so that a mistake is shown where it was made.

Differs from ``yaml.safe_load`` where that would change what a person wrote, or hide a slip: a key is
its text as written (``no``, ``2019`` and ``null`` are fine names of columns), so are the values that
the caller names, a key given twice is an error, and ``1e-3`` is a number. A number is written in digits:
``010``, which is 8 to some readers and 10 to others, ``0x10``, ``1_000`` and ``1:30`` (90) are refused where
a number may stand. Writing quotes what reading would otherwise change.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import yaml

from rothko.errors import PolicyError
from rothko.mistakes import KeyPath, show

_MOST_ENTRIES = 1_000_000
"""Aliases let a short text stand for an endless document; no honest policy comes near this."""


class _Loader(yaml.SafeLoader):
    pass


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)  # lists stand under their key, not beside it


for _class in (_Loader, _Dumper):
    # PyYAML follows YAML 1.1, where 1e-3 without a point is text; nobody who writes it means text.
    _class.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]+[eE][-+]?[0-9]+$"), list("-+0123456789")
    )


_NUMBERS = {
    "tag:yaml.org,2002:int": re.compile(r"[-+]?(0|[1-9][0-9]*)"),
    "tag:yaml.org,2002:float": re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?|[-+]?\.(?i:inf|nan)"),
}
"""Numbers that everybody reads alike, by the tag that YAML gives them."""


class Flow(dict[str, Any]):
    """A mapping that is written on one line: ``{role: keep}``."""


def _on_one_line(dumper: yaml.SafeDumper, data: Flow) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=True)


def _text(dumper: yaml.SafeDumper, data: str) -> yaml.Node:
    # PyYAML writes breaks other than \n so that it reads them back as \n; escaped they stay.
    style = '"' if any(mark in data for mark in "\n\r\x85\u2028\u2029") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style=style)


_Dumper.add_representer(Flow, _on_one_line)
_Dumper.add_representer(str, _text)


@dataclass(frozen=True, slots=True)
class Document:
    """What a YAML text says, and on which lines.

    Attributes
    ----------
    data
        Mappings, lists and scalars, as ``yaml.safe_load`` gives them but for the differences above.
    lines
        The line, counted from 1, on which the entry at each path begins.
    where
        What the text is called in messages, a file name as a rule.
    """

    data: Any
    lines: dict[KeyPath, int]
    where: str

    def line(self, path: KeyPath) -> int:
        """Find the line of the entry at `path`, or of the nearest entry around it where it does not exist."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


def read(text: str, *, where: str, as_text: Callable[[KeyPath], bool]) -> Document:
    r"""Read one YAML document whose root is a mapping.

    Parameters
    ----------
    text
        The YAML.
    where
        What the text is called in messages.
    as_text
        Whether the scalar at a path is text as it is written, whatever it looks like.

    Raises
    ------
    PolicyError
        If the text is not YAML, is not a mapping, or gives a key twice.

    Examples
    --------
    >>> document = read("a:\n  no: 1", where="example", as_text=lambda path: False)
    >>> document.data, document.line(("a", "no"))
    ({'a': {'no': 1}}, 2)
    """
    try:
        root = yaml.compose(text, _Loader)
        if not isinstance(root, yaml.MappingNode):
            raise PolicyError(f"{where}: expected a mapping that begins with 'columns:', found {_kind(root)}")
        reader = _Reader(where, as_text)
        return Document(reader.read(root), reader.lines, where)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}" if mark else ""
        raise PolicyError(f"{where}{at}: not valid YAML: {error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise PolicyError(f"{where}, line {line}: not valid YAML: it holds a control character") from None
    except RecursionError:
        raise PolicyError(f"{where}: not a policy: it is nested too deeply, or within itself") from None


def value(text: str, *, where: str) -> Any:
    """Read a single value, by the rules of a document; what is not YAML is text.

    >>> value("5", where="--option"), value("true", where="--option"), value("[lsh", where="--option")
    (5, True, '[lsh')
    """
    try:
        node = yaml.compose(text, _Loader)
        return text if node is None else _Reader(where, lambda _: False).read(node)
    except yaml.YAMLError:
        return text


def write(data: dict[str, Any], *, ascii_only: bool = False) -> str:
    """Write a mapping as YAML, one entry a line and each :class:`Flow` below it on one.

    Parameters
    ----------
    ascii_only
        Write all other characters as escapes, which mean the same in every encoding.

    Examples
    --------
    >>> print(write({"columns": {"no": Flow(role="keep")}}), end="")
    columns:
      'no': {role: keep}
    """
    return yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=not ascii_only, width=float("inf"),
        default_flow_style=False,
    )  # fmt: skip


def as_yaml(data: Any, *, on_one_line: bool = False) -> str:
    """Write mappings, lists and texts as YAML; labels that YAML would read otherwise are quoted.

    >>> print(as_yaml({"Europe": ["France", "no"]}, on_one_line=True))
    {Europe: [France, 'no']}
    """
    text = yaml.dump(
        data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"), default_flow_style=on_one_line
    )
    return text.removesuffix("...\n").rstrip("\n") if on_one_line else text


class _Reader:
    """Turns nodes into plain data and notes the line of each."""

    def __init__(self, where: str, as_text: Callable[[KeyPath], bool]) -> None:
        self.where = where
        self.as_text = as_text
        self.lines: dict[KeyPath, int] = {}
        self.constructor = _Loader("")

    def read(self, node: yaml.Node, path: KeyPath = ()) -> Any:
        self.lines.setdefault(path, _line(node))
        if len(self.lines) > _MOST_ENTRIES:
            raise PolicyError(f"{self.where}: not a policy: its aliases stand for over {_MOST_ENTRIES:,} entries")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, i)) for i, item in enumerate(node.value)]
        return self._characters(node) if self.as_text(path) else self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in node.value:
            at = f"{self.where}, line {_line(key)}"
            if not isinstance(key, yaml.ScalarNode):
                raise PolicyError(f"{at}: a key must be a name, found {_kind(key)}")
            name = self._characters(key)
            if name in result:
                first = self.lines[*path, name]
                raise PolicyError(f"{at}: the key {name!r} is already on line {first}; keep one of them")
            # The line of the key, not of the value, which may begin further down.
            self.lines[*path, name] = _line(key)
            result[name] = self.read(value, (*path, name))
        return result

    def _scalar(self, node: yaml.Node) -> Any:
        at = f"{self.where}, line {_line(node)}"
        text = self._characters(node)
        if node.tag in _NUMBERS and not _NUMBERS[node.tag].fullmatch(text):
            raise PolicyError(
                f"{at}: {show(text)} is not a number that everybody reads alike; write it in decimal digits, without "
                "leading zeros, or put it in quotes if it is text"
            )
        try:
            return text if node.tag == "tag:yaml.org,2002:str" else self.constructor.construct_object(node)
        except ValueError:  # 2019-02-31 looks like a date, !!int x says that it is a number
            raise PolicyError(f"{at}: not a valid date or number; put it in quotes if it is text") from None

    def _characters(self, node: yaml.Node) -> str:
        """The text of a node; JSON writes characters beyond the first 65,536 as two halves."""
        try:
            return str(node.value).encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise PolicyError(f"{self.where}, line {_line(node)}: a text holds half a character") from None


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _kind(node: yaml.Node | None) -> str:
    if node is None:
        return "nothing"
    if isinstance(node, yaml.ScalarNode):
        return "a single value"
    return "a list" if isinstance(node, yaml.SequenceNode) else "a mapping"

"""How a person asks for a hierarchy: the short forms of the policy file, understood and written back.

The specification knows nothing of the data; :mod:`rothko.data` builds the tree that it asks for.
"""

from __future__ import annotations

import codecs
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Self, get_args

from rothko.mistakes import KeyPath, MistakeError, hint, show

WORDS = ("flat", "auto", "icd-10")
"""Kinds that take no value."""
DateUnit = Literal["day", "month", "quarter", "year", "decade"]


@dataclass(frozen=True, slots=True)
class HierarchySpec:
    """How the values of a quasi-identifier are generalised, as asked for; the data layer builds it.

    ==========  ==========================================  ============================================
    kind        in YAML                                     value
    ==========  ==========================================  ============================================
    csv         ``education.csv`` or ``{csv: …}``           the path as written; open :attr:`file`
    flat        ``flat``                                    None: a value, or all of them
    auto        ``auto``                                    None: made from the data
    icd-10      ``icd-10``                                  None: categories and chapters of codes
    mask        ``{mask: right}``                           the side that is masked first
    prefix      ``{prefix: [3, 1]}``                        characters kept, falling
    intervals   ``{intervals: [5, 10, 20]}``                widths, rising
    breaks      ``{breaks: [18, 40]}`` or a list of them    levels, each a rising tuple
    dates       ``{dates: [month, year]}``                  units, rising
    tree        ``{tree: {Europe: [France, Spain]}}``       labels and (label, below) pairs; see `nested`
    ==========  ==========================================  ============================================

    Examples
    --------
    >>> HierarchySpec.of({"mask": "right"})
    HierarchySpec(kind='mask', value='right')
    """

    kind: str
    value: Any = None
    delimiter: str | None = field(default=None, kw_only=True, repr=False)
    """Between the fields of a csv file; None leaves it to the reader."""
    encoding: str = field(default="utf-8", kw_only=True, repr=False)
    folder: Path | None = field(default=None, kw_only=True, repr=False, compare=False)
    """What a relative path is relative to; None is the working folder."""

    def __post_init__(self) -> None:
        if self.kind not in _FORMS:
            raise MistakeError(f"{self.kind!r} is not a kind of hierarchy; {hint(self.kind, _FORMS)}")
        # Freezes what came as lists and mappings, so that equal specs compare and hash alike.
        object.__setattr__(self, "value", _FORMS[self.kind](self.value))
        if self.kind != "csv" and (self.delimiter, self.encoding) != (None, "utf-8"):
            raise MistakeError("'delimiter' and 'encoding' are only for a csv file")
        if self.delimiter is not None and not (isinstance(self.delimiter, str) and len(self.delimiter) == 1):
            raise MistakeError(f"must be one character, not {show(self.delimiter)}", at=("delimiter",))
        try:
            codecs.lookup(self.encoding)
        except (LookupError, TypeError, ValueError):
            raise MistakeError(f"{show(self.encoding)} is not a text encoding; try 'utf-8'", at=("encoding",)) from None

    @classmethod
    def of(cls, written: Any) -> Self:
        """Understand any of the forms in the table above."""
        if isinstance(written, cls):
            return written
        if isinstance(written, PathLike):
            return cls("csv", fspath(written))
        if isinstance(written, str):
            if written in WORDS:
                return cls(written)
            if re.fullmatch("icd[-_ ]?10", written, re.IGNORECASE):
                return cls("icd-10")
            if written in _FORMS and written != "csv":
                raise MistakeError(f"{written!r} needs a value; write {EXAMPLES[written]}")
            return cls("csv", written)
        if not isinstance(written, Mapping) or not written:
            raise MistakeError(
                "a hierarchy is a file name, flat, auto, icd-10 or a mapping such as {mask: right}, "
                f"not {show(written)}"
            )
        kind, options = _form(written)
        return cls(kind, written[kind], **options)

    def short(self) -> Any:
        """Write the shortest form that :meth:`of` understands as this."""
        if self.kind in WORDS:
            return self.kind
        if self.kind == "csv":
            options = {f.name: getattr(self, f.name) for f in fields(self)[2:4] if getattr(self, f.name) != f.default}
            return {"csv": self.value, **options} if options or self.value in _FORMS else self.value
        if self.kind == "mask":
            return {"mask": self.value}
        if self.kind == "tree":
            return {"tree": self.nested}
        if self.kind == "breaks":
            return {"breaks": [list(level) for level in self.value] if len(self.value) > 1 else list(self.value[0])}
        return {self.kind: list(self.value)}

    @property
    def nested(self) -> Any:
        """A tree as nested mappings and lists, as it was written."""
        return _thaw(self.value)

    @property
    def file(self) -> Path:
        """The csv file to open."""
        return Path(self.folder or "", self.value)


def _form(written: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Tell the kind from the options beside it."""
    kinds = [key for key in written if key in _FORMS]
    if not kinds:
        key = next(iter(written))
        raise MistakeError(f"unknown key {key!r}; {hint(key, _FORMS)}", key=key)
    options = {key: value for key, value in written.items() if key != kinds[0]}
    for key in options:
        if key in kinds:
            raise MistakeError(f"{kinds[0]!r} and {key!r} exclude each other; keep one of them", key=key)
        if key not in ("delimiter", "encoding"):
            raise MistakeError(f"unknown key {key!r}; {hint(key, ('delimiter', 'encoding'))}", key=key)
    return kinds[0], options


def _nothing(value: Any) -> None:
    if value is not None:
        raise MistakeError(f"flat, auto and icd-10 take no value, not {show(value)}")


def _path(value: Any) -> str:
    if not isinstance(value, str | PathLike) or not fspath(value):
        raise MistakeError(f"must be the name of a file, not {show(value)}", at=("csv",))
    return str(fspath(value))


def _side(value: Any) -> str:
    if value not in ("right", "left"):
        raise MistakeError(f"must be right or left, not {show(value)}", at=("mask",))
    return str(value)


def _lengths(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list | tuple) or not value or not all(type(x) is int and x >= 1 for x in value):
        raise MistakeError(f"must be a list of whole numbers above 0, not {show(value)}", at=("prefix",))
    if any(a <= b for a, b in itertools.pairwise(value)):
        raise MistakeError(f"must fall from each number to the next, not {show(list(value))}", at=("prefix",))
    return tuple(value)


def _rising(value: Any, at: KeyPath) -> tuple[float, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise MistakeError(f"must be a list of numbers, not {show(value)}", at=at)
    if not all(type(x) in (int, float) and math.isfinite(x) for x in value):
        raise MistakeError("must be finite numbers only", at=at)
    if any(a >= b for a, b in itertools.pairwise(value)):
        raise MistakeError(f"must rise from each number to the next, not {show(list(value))}", at=at)
    return tuple(map(as_integer, value))


def _widths(value: Any) -> tuple[float, ...]:
    widths = _rising(value, ("intervals",))
    if widths[0] <= 0:
        raise MistakeError(f"a width must be above 0, not {widths[0]}", at=("intervals",))
    return widths


def _levels(value: Any) -> tuple[tuple[float, ...], ...]:
    if isinstance(value, list | tuple) and value and all(isinstance(level, list | tuple) for level in value):
        return tuple(_rising(level, ("breaks", i)) for i, level in enumerate(value))
    return (_rising(value, ("breaks",)),)


def _units(value: Any) -> tuple[str, ...]:
    units = get_args(DateUnit)
    if not isinstance(value, list | tuple) or not value:
        raise MistakeError(f"must be a list of units such as [month, year], not {show(value)}", at=("dates",))
    for i, unit in enumerate(value):
        if unit not in units:
            raise MistakeError(f"{show(unit)} is not a unit; {hint(unit, units)}", at=("dates", i))
    if any(units.index(a) >= units.index(b) for a, b in itertools.pairwise(value)):
        raise MistakeError(f"must rise from short to long units, not {show(list(value))}", at=("dates",))
    return tuple(value)


def _tree(value: Any) -> tuple[Any, ...]:
    """Freeze nested mappings and lists; labels are the data's values, so no message shows one."""
    frozen = _branches(value)
    leaves = Counter(_leaves(frozen))
    if repeated := sum(times > 1 for times in leaves.values()):
        raise MistakeError(f"{repeated} of {len(leaves)} leaves stand at more than one place", at=("tree",))
    return frozen


def _branches(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Mapping):
        value = tuple(value.items())
    if not isinstance(value, list | tuple) or not value:
        raise MistakeError("a label must have a mapping or a list of labels below it", at=("tree",))
    nodes: list[Any] = []
    for item in value:
        if isinstance(item, Mapping):  # a branch among leaves: [France, {Iberia: [Spain, Portugal]}]
            nodes += _branches(item)
        elif isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            nodes.append((item[0], _branches(item[1])))
        elif isinstance(item, str):
            nodes.append(item)
        else:
            raise MistakeError("labels must be text", at=("tree",))
    labels = [node[0] for node in nodes if isinstance(node, tuple)]
    if len(set(labels)) < len(labels):
        raise MistakeError("two branches beside each other have the same label", at=("tree",))
    return tuple(nodes)


def _leaves(nodes: tuple[Any, ...]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            yield from _leaves(node[1])


def _thaw(nodes: tuple[Any, ...]) -> Any:
    if all(isinstance(node, tuple) for node in nodes):
        return {label: _thaw(below) for label, below in nodes}
    return [node if isinstance(node, str) else {node[0]: _thaw(node[1])} for node in nodes]


_FORMS: dict[str, Callable[[Any], Any]] = {
    "csv": _path,
    "flat": _nothing,
    "auto": _nothing,
    "icd-10": _nothing,
    "mask": _side,
    "prefix": _lengths,
    "intervals": _widths,
    "breaks": _levels,
    "dates": _units,
    "tree": _tree,
}
EXAMPLES = {
    "mask": "{mask: right}",
    "prefix": "{prefix: [3, 1]}",
    "intervals": "{intervals: [5, 10]}",
    "breaks": "{breaks: [18, 65]}",
    "dates": "{dates: [month, year]}",
    "tree": "{tree: {Europe: [France, Spain], Asia: [Japan]}}",
}


def as_integer(x: float) -> float:
    """Drop the point of a whole number, so that 2 and 2.0 are written, and hashed, alike."""
    return int(x) if isinstance(x, float) and x.is_integer() and abs(x) < 2**53 else x

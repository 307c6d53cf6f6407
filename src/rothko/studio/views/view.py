"""What a view is: a page of the studio, in one module."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rothko.errors import InputError
from rothko.report.page import Html
from rothko.studio.desk import Desk


class Given(dict[str, list[str]]):
    """What a form says."""

    def one(self, name: str, otherwise: str = "") -> str:
        """The only value of a field, without blanks around it."""
        return (self.get(name) or [otherwise])[-1].strip()

    def many(self, name: str) -> list[str]:
        """All values of a field."""
        return list(self.get(name, []))

    def whole(self, name: str, *, least: int | None = None) -> int:
        """A whole number."""
        text = self.one(name)
        try:
            value = int(text.replace(",", "").replace("_", ""))
        except ValueError:
            raise InputError(f"{name} must be a whole number, not {text!r}.") from None
        if least is not None and value < least:
            raise InputError(f"{name} must be at least {least}, not {value}.")
        return value

    def number(self, name: str) -> float:
        """A number."""
        text = self.one(name)
        try:
            value = float(text)
        except ValueError:
            raise InputError(f"{name} must be a number, not {text!r}.") from None
        return int(value) if value == int(value) and "." not in text else value


@dataclass(frozen=True, slots=True)
class File:
    """Something to be downloaded: bytes, or a file; or a page to be looked at, which is then shut in a sandbox."""

    name: str
    content: bytes | Path
    kind: str = "application/octet-stream"
    shown: bool = False


Fragments = Iterable[Html] | None
"""Elements with an id each, which replace those in the page; None: the whole view."""
Action = Callable[[Desk, Given], Fragments | Awaitable[Fragments]]


@dataclass(frozen=True, slots=True)
class View:
    """A page of the studio."""

    word: str
    """In addresses."""
    title: str
    body: Callable[[Desk], Html]
    actions: Mapping[str, Action] = field(default_factory=dict)
    """Word → what a post to ``/do/VIEW/WORD`` does."""
    parts: Mapping[str, Callable[[Desk], Html]] = field(default_factory=dict)
    """Id → the element, made anew when an event names it."""
    files: Mapping[str, Callable[[Desk, Given], File | Awaitable[File]]] = field(default_factory=dict)
    """Word → what ``/file/VIEW/WORD`` gives."""
    takes: Mapping[str, tuple[tuple[str, ...], Callable[[Desk, str, Path], Awaitable[None] | None]]] = field(
        default_factory=dict
    )
    """Kind of a dropped file → endings that its name may have, and what takes it from the private folder; what stands
    behind a colon in the kind is handed on."""
    about: str = ""
    """What is done there, for whoever comes before there is a table."""

    @property
    def needs_table(self) -> bool:
        """Whether it shows nothing without a table."""
        return bool(self.about)

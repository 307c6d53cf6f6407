"""Mistakes in what a person wrote: what is wrong, where, and what to write instead, as one sentence.

Whatever reads a parameter tells its mistakes with the path to it; a policy file adds the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from rothko.errors import PolicyError, nearest

KeyPath = tuple[str | int, ...]
"""Keys and list positions from the root of a document to one entry."""


class Text(Protocol):
    """What was written, as far as it is needed to tell a line of it."""

    @property
    def where(self) -> str:
        """What the text is called in messages."""
        ...

    def line(self, path: KeyPath) -> int:
        """The line of an entry, or of the nearest one around it."""
        ...


class Mistake(NamedTuple):
    """One thing that is wrong, and where.

    Attributes
    ----------
    path
        The entry that the message is about.
    message
        What is wrong and what to write instead.
    key
        A key below `path` that the message names itself; only the line is taken from it.
    """

    path: KeyPath
    message: str
    key: str | None = None


class MistakeError(PolicyError, ValueError):
    """Mistakes in a part of a policy; also a ValueError, so that pydantic carries them up to the whole."""

    def __init__(
        self, message: str = "", *, at: KeyPath = (), key: str | None = None, mistakes: Sequence[Mistake] = ()
    ) -> None:
        self.mistakes = tuple(mistakes) or (Mistake(at, message, key),)
        super().__init__(sentence(self.mistakes))


def sentence(mistakes: Sequence[Mistake], document: Text | None = None) -> str:
    """Tell the first mistake, with its line where there is a document, and how many more there are.

    >>> sentence([Mistake(("privacy", 0, "k-anonymity"), "k is missing"), Mistake((), "no columns")])
    'privacy[0].k-anonymity: k is missing (and 1 more mistake)'
    """
    place = []
    first = mistakes[0]
    if document is not None:
        lines = {m: document.line(m.path if m.key is None else (*m.path, m.key)) for m in mistakes}
        # What is missing has no line of its own; a wrong key further down is often the reason.
        first = min(mistakes, key=lambda m: ("is missing" in m.message and not m.path, lines[m]))
        place = [document.where, f"line {lines[first]}"]
    if first.path:
        place.append(_dotted(first.path))
    more = len(mistakes) - 1
    rest = f" (and {more} more mistake{'s' if more > 1 else ''})" if more else ""
    return (f"{', '.join(place)}: " if place else "") + first.message + rest


def hint(name: object, known: Iterable[str]) -> str:
    """End a message about an unknown name as :func:`~rothko.errors.nearest` does; a beginning counts as near.

    >>> hint("quasi", ["identifier", "quasi-identifier"])
    "did you mean 'quasi-identifier'?"
    """
    names = list(known)
    begun = [candidate for candidate in names if candidate.startswith(str(name))] if name else []
    return nearest(begun[0] if len(begun) == 1 else str(name), names)


def show(value: object) -> str:
    """Show a value of the policy in a message, as YAML would have it and no longer than a glance.

    >>> show("quasi"), show(None), show([1, 2])
    ("'quasi'", 'null', 'a list')
    """
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple | set):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _dotted(path: KeyPath) -> str:
    """Write a path as ``columns.age.role``, with the names that need it in quotes."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += "." * bool(text) + (step if re.fullmatch(r"[\w-]+", step) else repr(step))
    return text

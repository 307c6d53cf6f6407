"""Columns that nobody names, where there is no policy file: refused, with what each looks like and what to add.

Where the rest is kept on purpose, what looks as if it led to one person is refused still: nobody meant it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from rothko.data.schema import Role
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.data.survey.reservoir import Reservoir
from rothko.errors import PolicyError
from rothko.mistakes import said, said_together
from rothko.policy.appearance import UNKNOWN, look_at_all, names_one_person, role_of
from rothko.policy.column_names import POSTAL, named
from rothko.policy.words import OPTIONS, Words, listed, named_in, of_option

WHOLE_BYTES = 256_000_000
"""A table whose unnamed columns take more is looked at by a sample."""
SAMPLED = 200_000
"""Records of that sample."""
LOOKS = {
    Role.IDENTIFIER: "an identifier",
    Role.QUASI_IDENTIFIER: "a quasi-identifier",
    Role.SENSITIVE: "a sensitive column",
    Role.KEEP: "a column to keep",
}


def as_source(table: Any, words: Words) -> Source | None:
    """A table that can be looked at; None for one that is known by the names of its columns alone."""
    is_table = isinstance(table, str | Path | Mapping | Source)
    return open_source(table, asked=named_in(words)) if is_table or hasattr(table, "columns") else None


class Seen(NamedTuple):
    """What a column that nobody names looks like."""

    name: str
    role: Role | None
    """None where only its name is known, which says nothing."""
    why: str

    @property
    def looks(self) -> str:
        """What it looks like, for a person to read."""
        if self.role is None:
            return ""
        why = self.why.partition(";")[0]  # what follows is why the role fits, or how values would be generalised
        return "not recognised" if self.why == UNKNOWN else f"looks like {LOOKS[self.role]}: {why}"


def refuse_unnamed(table: Source | Sequence[str], words: Words) -> None:
    """Refuse a table with columns that the words do not name.

    With ``keep_rest`` only those that look like identifiers are refused, for nobody meant them.
    """
    names = table if isinstance(table, Sequence) else table.names
    said_of = named_in(words)
    unnamed = [name for name in names if name not in said_of]
    if not unnamed:
        return
    label = "the table" if isinstance(table, Sequence) else table.label
    seen = (
        _by_name(unnamed) if isinstance(table, Sequence) else _by_values(table, unnamed, listed(words.get("missing")))
    )
    telling = [one for one in seen if one.role is Role.IDENTIFIER]
    if not words.get("keep_rest"):
        raise PolicyError(_refusal(label, seen, words))
    if telling:
        kept = said("--keep", _all("--keep", telling, words))
        raise PolicyError(
            f"{label} has {_counted(len(telling))} that {said('--keep-rest', True)} does not release: "
            f"{_told(telling)}. Add {_added(telling, words)}, or {kept} if that may be released as it is."
        )


def _refusal(label: str, seen: Sequence[Seen], words: Words) -> str:
    begin = f"{label} has {_counted(len(seen))} that nothing is said of: {_told(seen)}. "
    if all(one.role is None for one in seen):
        kept = said("--keep", _all("--keep", seen, words))
        return (
            f"{begin}Say {kept} or {said('--keep-rest', True)} to release them as they are, or name them with "
            f"{said('--drop')}, {said('--qi')} or {said('--sensitive')}."
        )
    telling = [one for one in seen if one.role is Role.IDENTIFIER]
    rest = {"--drop": _all("--drop", telling, words)} if telling else {}
    others = f"{'the others' if telling else 'them'} as they are"
    instead = f", or {said_together({**rest, '--keep-rest': True})} to release {others}"
    if len(telling) == len(seen):
        instead = ""
    if any("," in one.name or one.name != one.name.strip() for one in seen):
        instead += "; names with commas or blanks around them need a policy file"
    return f"{begin}Add {_added(seen, words)} if that is what they are{instead}."


def _counted(columns: int) -> str:
    return f"{columns:,} column{'s' if columns > 1 else ''}"


def _told(seen: Sequence[Seen]) -> str:
    """Each column with what it looks like."""
    return ", ".join(f"{one.name!r} ({one.looks})" if one.looks else repr(one.name) for one in seen)


def _added(seen: Sequence[Seen], words: Words) -> str:
    """What to add, as the columns look; of those that only their names are known of, that they are kept."""
    by_option = {option: [one for one in seen if (one.role or Role.KEEP) is role] for role, option in OPTIONS.items()}
    return said_together({option: _all(option, some, words) for option, some in by_option.items() if some})


def _all(option: str, more: Sequence[Seen], words: Words) -> list[str]:
    """The columns that an option was given with, and more of them."""
    return [*of_option(words, option), *(one.name for one in more)]


def _by_name(names: Sequence[str]) -> list[Seen]:
    seen = [(name, names_one_person(name)) for name in names]
    return [Seen(name, Role.IDENTIFIER if why else None, why or "") for name, why in seen]


def _by_values(source: Source, names: Sequence[str], missing: Sequence[str]) -> list[Seen]:
    """What columns look like, as a draft would say it."""
    looks = look_at_all(_records(source, names), missing)
    return [Seen(look.name, (found := role_of(look)).role, found.why) for look in looks]


def _records(source: Source, names: Sequence[str]) -> pa.Table:
    """All records, or of a large table some of them, drawn at random."""
    postal = [name for name in names if named(POSTAL, name)]
    if source.in_memory or source.size(names) <= WHOLE_BYTES:
        return source.read(names, as_text=postal)
    drawn = Reservoir(SAMPLED, 0)
    for table in source.batches(names, as_text=postal):
        drawn.add(table)
    return drawn.result()

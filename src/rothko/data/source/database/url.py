"""The address of a table in a database, read once, and never shown again but for what may be told of it.

``postgresql://user@host/db?table=schema.people``, ``sqlite:///clinic.db?query=SELECT …``: up to the question mark it is
what the client of the database takes, behind it stand the table or the query, and what else the client takes. A path
would drop slashes of it, so it travels as text. Passwords are refused: whoever lists processes or a shell's history
would read them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from rothko.errors import InputError

SCHEMES = {"postgresql": "PostgreSQL", "postgres": "PostgreSQL", "sqlite": "SQLite", "duckdb": "DuckDB"}
"""How an address begins, and what the database is called."""
DATABASE = re.compile(rf"({'|'.join(SCHEMES)}):/", re.IGNORECASE)
SECRET = ("password", "sslpassword")
"""Parameters that a client of PostgreSQL takes, and that are not for the command line."""
NAME = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')
"""A part of the name of a table; one with a dot in it is quoted, as in SQL."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a table is; its representation shows neither who asks nor what."""

    kind: str
    """PostgreSQL, SQLite or DuckDB."""
    client: str = field(repr=False)
    """What the client of the database takes: an address, or the path of a file."""
    table: tuple[str, ...] | None = None
    """Schema and name, or the name alone."""
    query: str | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """What messages call it."""
        what = "the query" if self.table is None else f"the table {'.'.join(self.table)!r}"
        return f"{what} in {self.place}"

    @property
    def place(self) -> str:
        """What messages call the database: a file by its name, a server by its kind."""
        return self.kind if self.kind == "PostgreSQL" else Path(self.client).name

    @property
    def sql(self) -> str:
        """What is selected from."""
        if self.table is not None:
            return named(self.table)
        assert self.query is not None
        return f"({self.query}\n) AS asked"  # on a line of its own: a query may end in a comment


def named(table: tuple[str, ...]) -> str:
    """A table as SQL writes it.

    >>> named(("clinic", 'the "big" one'))
    '"clinic"."the ""big"" one"'
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in table)


def is_database(data: Any) -> bool:
    """Whether this is the address of a table in a database.

    >>> is_database("postgresql:///clinic?table=people"), is_database("sqlite.csv"), is_database("s3://bucket/a.csv")
    (True, False, False)
    """
    return isinstance(data, str | Path) and DATABASE.match(str(data)) is not None


def shown(data: str | Path) -> str:
    """What may be told of an address: the table, and not who asks for it, nor a query.

    >>> shown("postgresql://ann@host/clinic?table=people"), shown("duckdb:///a.db?query=SELECT 1")
    ('postgresql:…?table=people', 'duckdb:…?query=…')
    """
    table = read_address(data).table
    return f"{str(data).partition(':')[0]}:…?" + ("query=…" if table is None else f"table={'.'.join(table)}")


def read_address(data: str | Path) -> Address:
    """Take an address apart.

    >>> read_address('sqlite:///clinic.db?table="a.b".people').table
    ('a.b', 'people')
    """
    text = str(data)
    scheme, _, rest = text.partition(":")
    kind = SCHEMES[scheme.lower()]
    example = f"{scheme.lower()}://{'user@host/database' if kind == 'PostgreSQL' else '/file.db'}?table=people"
    if isinstance(data, Path) or not rest.startswith("//"):
        raise InputError(f"The address of a database is text with two slashes, which a path drops: {example!r}.")
    base, _, behind = rest.partition("?")
    given = [part.partition("=")[::2] for part in behind.split("&") if part]
    asked = {name: unquote(value) for name, value in given if name in ("table", "query") and value}
    if len(asked) != 1:
        raise InputError(f"The address of a database names a table or a query, one of them: {example!r}.")
    others = [(name, value) for name, value in given if name not in ("table", "query")]
    client = _server(base, others) if kind == "PostgreSQL" else _file(kind, base, others, example)
    table = asked.get("table")
    query = asked.get("query")
    return Address(
        kind,
        client,
        None if table is None else _parts(table),
        None if query is None else query.strip().rstrip("; \n\t"),
    )


def _server(base: str, others: list[tuple[str, str]]) -> str:
    """What libpq takes: the same without the table."""
    try:
        password = urlsplit(f"postgresql:{base}").password
    except ValueError:
        password = None
    if password or any(unquote(name).lower() in SECRET for name, _ in others):
        raise InputError(
            "The address holds a password, which a shell remembers and a list of processes shows: leave it out, and "
            "give it in PGPASSWORD, in the file of PGPASSFILE (~/.pgpass) or in a service (PGSERVICE, ?service=…)."
        )
    asked = "&".join(f"{name}={value}" for name, value in others)
    return f"postgresql:{base}{'?' if asked else ''}{asked}"


def _file(kind: str, base: str, others: list[tuple[str, str]], example: str) -> str:
    """The path of a file: one slash more for one from the root."""
    if others:
        raise InputError(
            f"The address of a table in {kind} has a part {others[0][0]!r} that is not known; in a query, & is "
            "written %26."
        )
    path = unquote(base.removeprefix("///"))
    if not base.startswith("///") or not path:
        raise InputError(f"The address of a table in {kind} names a file after three slashes: {example!r}.")
    return path


def _parts(table: str) -> tuple[str, ...]:
    """Schema and name."""
    found, at = [], 0
    while (part := NAME.match(table, at)) is not None:
        found.append(part[2] or part[1].replace('""', '"'))
        at = part.end()
        if at == len(table):
            break
        at += table[at] == "."
    if at != len(table) or table.endswith(".") or not 1 <= len(found) <= 3:
        raise InputError('?table= names a table as SQL does: people, clinic.people, or "with.dots".people.')
    return tuple(found)


def file_address(path: str, *, mode: str = "ro") -> str:
    """How SQLite is told of a file: that it is only read (ro), or written and made where it is not there (rwc)."""
    return f"file:{quote(str(Path(path).absolute()))}?mode={mode}"


def sql_text(value: str) -> str:
    """A text as SQL writes it.

    >>> sql_text("it's")
    "'it''s'"
    """
    return "'" + value.replace("'", "''") + "'"

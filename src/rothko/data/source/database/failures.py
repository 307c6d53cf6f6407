"""What databases say when they refuse, in one sentence that holds neither values, nor queries, nor who asked.

A server quotes what it stumbles over, and the client the whole query; of both, the five characters of SQLSTATE are
taken and the rest is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from rothko.data.source.database.url import Address
from rothko.errors import InputError, RothkoError

SQLSTATE = re.compile(r"SQLSTATE:? ?([0-9A-Z]{5})")
IN_USE = re.compile(r"SQLSTATE:? ?55P03|database (table )?is locked|set lock on file|different configuration")
"""What databases say where somebody else holds what is asked for."""
DENIED = re.compile(r"[Pp]ermission denied|readonly database|unable to open database file|failed to open '")
"""What they say of files that may not be opened; that there is one, is looked at before."""
DAMAGED = re.compile(
    r"not a database|not a valid DuckDB|malformed|unsupported file format|Corrupt database|Serialization|"
    r"Could not read enough bytes"
)
"""What they say of files that are none of theirs, or not whole."""
DISK = re.compile(r"disk I/O error|disk is full|Could not write|No space left")
"""What they say where a file cannot grow."""
LOST = "the connection was lost while it was read; start again"
REFUSED = {
    "Connection refused": "nobody listens there; look at the host and the port",
    "could not translate host name": "there is no such host",
    "No such file or directory": "nobody listens there; look at the host and the port",
    "timeout expired": "it does not answer in time",
    "no password supplied": "it asks for a password; give it in PGPASSWORD, PGPASSFILE or PGSERVICE",
    "password authentication failed": "the password is not the one of the user",
    "does not exist": "there is no such user or database",
    "permission denied": "the user may not use the database",
    "definition of service": "there is no such service in the files of PGSERVICEFILE",
    "invalid URI query parameter": "the address has a part that libpq does not know",
    "no pg_hba.conf entry": "it lets nobody in from here under this name",
    "too many clients": "it has no connection left",
}
"""What a client says of a connection that it does not get, and what is told of it."""
STATES = {
    "42501": "you may not do that: permission is denied",
    "42P01": "a table of it does not exist",
    "42703": "a column of it does not exist",
    "3F000": "there is no such schema",
    "25006": "it would change the database, which is only read",
    "57014": "the database has cancelled it, by its time limit or by hand",
    "22P02": "a value of it cannot be read as the type that it is asked for",
    "42P07": "there is a table of that name",
    "2BP01": "something is made from it, such as a view, and would go with it",
    "53100": "its disk is full",
    "25P02": LOST,
    "55000": "it is not in a state to be read",
}
CLASSES = {
    "08": LOST, "57": LOST, "58": LOST, "XX": LOST, "28": "the user is not let in",
    "42": "it is not a query that the database understands", "22": "it fails on a value of the table",
    "53": "the database has no room left for it", "40": "somebody else has changed what it is about",
}  # fmt: skip
"""The first two characters of SQLSTATE, where all five say no more."""


def driver_errors() -> tuple[type[Exception], ...]:
    """What the drivers raise, as far as they are installed."""
    try:
        from adbc_driver_manager import Error
    except ImportError:
        return (duckdb.Error, pa.ArrowException, OSError)
    return (Error, duckdb.Error, pa.ArrowException, OSError)


def reason(error: Exception) -> str:
    """Why a database does not do what it was asked."""
    text = str(error)
    state = getattr(error, "sqlstate", None) or (found[1] if (found := SQLSTATE.search(text)) else None)
    if state is not None:
        return STATES.get(state) or CLASSES.get(state[:2], "the database refuses it") + f" (SQLSTATE {state})"
    if "[libpq] Failed to connect" in text:
        return next((said for word, said in REFUSED.items() if word in text), "the connection is refused")
    if "no such table" in text or "Table with name" in text:
        return STATES["42P01"]
    if "no such column" in text or "Binder Error" in text:
        return STATES["42703"]
    if "syntax error" in text:
        return CLASSES["42"]
    if DAMAGED.search(text):
        return "the file is none of this kind, or it is damaged"
    if DISK.search(text):
        return "its disk is full, or fails"
    if DENIED.search(text):
        return "permission is denied"
    if IN_USE.search(text):
        return "somebody else is writing to it; try again when that is done"
    if "[PGRES_FATAL_ERROR]: ERROR:" in text:  # in the middle of a table there is no SQLSTATE
        return "it fails on a value of the table, or the database has cancelled it"
    if isinstance(error, duckdb.Error):
        return "the database refuses it"
    return LOST


@contextmanager
def told(address: Address) -> Iterator[None]:
    """Say in one sentence what a database refuses."""
    try:
        yield
    except RothkoError:
        raise
    except driver_errors() as error:
        raise InputError(f"{address.label[0].upper()}{address.label[1:]} cannot be read: {reason(error)}.") from None

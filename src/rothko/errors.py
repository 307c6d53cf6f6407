"""What can go wrong, and the exit code that the command line gives for it.

::

    RothkoError                     2   anything a person can put right
    ├── InputError                  2   the data cannot be read or used
    │   ├── HierarchyError          2   a hierarchy is broken or lacks values
    │   └── TooLargeError           2   the table does not fit in the memory that it may take
    ├── PolicyError                 2   the policy asks for something that does not exist or does not fit
    ├── OutputError                 2   the release cannot be written where it was asked for
    ├── MissingExtraError           2   an optional dependency is not installed
    ├── InfeasibleError             3   this table cannot meet the requirements, whatever the method
    └── VerificationError           4   the written release does not hold what was promised; nothing was released
    PrivacyWarning                      a choice that weakens what the release protects
    WorkloadWarning                     a task that the release can hardly be good for

Messages carry column names and counts, never cell values. Where a person may ask to see the
values (``--show-values``), they travel in :attr:`RothkoError.values`, apart from the message.
"""

from __future__ import annotations

import difflib
import errno
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import PurePath

_UNMAPPED = re.compile("failed to map segment|[Cc]annot allocate memory")
"""What the loader says of a library for which there is no room."""


class RothkoError(Exception):
    """Base of every error that is the caller's to put right; the message is one readable sentence."""

    exit_code = 2

    def __init__(self, message: str, *, values: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.values = tuple(values)
        """The cell values behind the message, shown only when asked for."""


class InputError(RothkoError):
    """The data cannot be read or used."""


class HierarchyError(InputError):
    """A hierarchy is not a tree, or lacks values that the data has."""


class TooLargeError(InputError):
    """The table does not fit in the memory that it may take."""

    def __init__(self, why: str, advice: str) -> None:
        super().__init__(f"{why[0].upper()}{why[1:]}; {advice}")
        self.why = why
        """What it needs and what there is, without the advice."""


class PolicyError(RothkoError):
    """The policy asks for something that does not exist or does not fit the data."""


class OutputError(RothkoError):
    """The release cannot be written where it was asked for."""


class MissingExtraError(RothkoError):
    """An optional dependency is not installed."""


class InfeasibleError(RothkoError):
    """The table as a whole does not meet a requirement, so no partition of it can."""

    exit_code = 3


class VerificationError(RothkoError):
    """The written release failed verification and was removed."""

    exit_code = 4


class PrivacyWarning(UserWarning):
    """A choice that weakens what the release protects."""


class WorkloadWarning(UserWarning):
    """A task that the release can hardly be good for."""


def lacks_memory(error: BaseException) -> bool:
    """Whether an error of any library says that memory, or address space for a thread or a library, ran out.

    >>> lacks_memory(MemoryError()), lacks_memory(OSError(errno.ENOMEM, "mmap")), lacks_memory(OSError())
    (True, True, False)
    """
    return (
        isinstance(error, MemoryError)
        or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        or type(error).__name__ == "OutOfMemoryException"  # DuckDB's, which is not imported here
        or (isinstance(error, RuntimeError) and "can't start new thread" in str(error))
        or (isinstance(error, ImportError | OSError) and _UNMAPPED.search(str(error)) is not None)
        or any(lacks_memory(other) for other in (error.__cause__, error.__context__) if other is not None)
    )


def unreadable_name(path: PurePath) -> str | None:
    """What is wrong with a name of a file whose bytes are no text here: Arrow and DuckDB take names as texts.

    >>> unreadable_name(PurePath("größe.csv"))
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        name = os.fsencode(path).decode(errors="replace")
        encoding = sys.getfilesystemencoding()
        hint = "" if encoding == "utf-8" else ", or set PYTHONUTF8=1"
        return f"The name {name!r} is not in the encoding of this system ({encoding}); choose another one{hint}."
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that ends an error about an unknown name: the nearest known one, or all of them.

    >>> nearest("agee", ["age", "sex"])
    "did you mean 'age'?"
    >>> nearest("zip", ["age", "sex"])
    "there are 'age', 'sex'."
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    if not names:
        return "there are none."
    shown = ", ".join(repr(n) for n in names[:20])
    return f"there are {shown}" + (f" and {len(names) - 20} more." if len(names) > 20 else ".")

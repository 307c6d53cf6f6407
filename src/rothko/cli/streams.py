"""Standard output and standard error of a command, which may be full, closed, or unable to show a character.

What becomes of a run hangs on its files alone: a report that cannot be printed is an error of its own kind, which
:func:`rothko.cli.main` tells from the others.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from rothko.errors import OutputError


class PrintError(OutputError):
    """The result of a command cannot be printed."""


PLAIN = {"…": "...", "–": "-", "−": "-", "±": "+/-", "×": "x", "Σ": "sum", "φ": "phi", "≥": ">=", "≤": "<="}
"""The signs that rothko itself prints, for terminals that do not have them."""


AT_ONCE = 1 << 20
"""Bytes that are sent at a time."""


class Printed:
    """A stream that shows what it cannot encode in plain signs or as ``?``, and has an error of its own.

    A reader that has seen enough (``| head``) is no error: what comes after goes nowhere.

    Parameters
    ----------
    silent
        Do without what cannot be printed.
    there
        Whether it leads anywhere: one that was closed does not.
    """

    def __init__(self, stream: TextIO, *, silent: bool, there: bool = True) -> None:
        self._stream, self._silent, self.there = stream, silent, there
        self._why = ""

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # Typer would write its bytes there where the encoding is ASCII, past all of this
            raise AttributeError(name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Print a text."""
        with self._told():
            self._stream.write(showable(text, self._stream.encoding))
        return len(text)

    def flush(self) -> None:
        """Print what is held back."""
        with self._told():
            self._stream.flush()

    def send(self, path: Path) -> None:
        """Print the bytes of a file as they are."""
        with self._told(), path.open("rb") as file:
            self._stream.flush()
            shutil.copyfileobj(file, self._stream.buffer, AT_ONCE)
            self._stream.buffer.flush()

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._silent = True
            _abandon(self._stream)
        except (OSError, ValueError) as error:
            full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            self._why = "the disk is full" if full else "standard output takes no more"
            _abandon(self._stream)
        # Of what comes later nothing would fail any more, and somebody may have passed over the first error.
        if self._why and not self._silent:
            raise PrintError(f"The result cannot be printed: {self._why}.")


def showable(text: str, encoding: str | None) -> str:
    """A text with plain signs for what an encoding does not have, and a question mark where there are none.

    >>> showable("Größe: 1 … 2", "ascii"), showable("Größe: 1 … 2", "cp1252")
    ('Gr??e: 1 ... 2', 'Größe: 1 … 2')
    """
    encoding = encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.encode(encoding, "rothko.plain").decode(encoding)
    return text


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


codecs.register_error("rothko.plain", _plain)


@contextlib.contextmanager
def printed() -> Iterator[None]:
    """Both streams as :class:`Printed`; one that is closed goes nowhere."""
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as nowhere:
        out, err = (one or nowhere.enter_context(open(os.devnull, "w", encoding="utf-8")) for one in before)
        sys.stdout = cast("TextIO", Printed(out, silent=False, there=before[0] is not None))
        sys.stderr = cast("TextIO", Printed(err, silent=True))
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def _abandon(stream: TextIO) -> None:
    """Send what the stream still holds nowhere: Python would try to print it again at the end, and fail."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)

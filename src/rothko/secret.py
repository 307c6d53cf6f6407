"""The secret of a run: what chance that hides something hangs on.

A certificate names the seed, so whatever follows from it can be computed again by anybody. Which of several equal
records goes to which class, and which records share a group of anatomy, must not be: it would tell about the order of
the input, or about who has which value. Such choices hang on a secret that is drawn for each run and not kept. Who
wants the same bytes again gives a key, and keeps it secret.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rothko.errors import InputError, PolicyError

LEAST = 16
"""The fewest bytes of a key: fewer could be tried out."""
MOST = 1 << 20
"""The most bytes of a file that is taken for a key."""
BLOCK = 1 << 16
"""Numbers of a long row that are drawn together."""


@dataclass(frozen=True, slots=True)
class Secret:
    """Chance that cannot be guessed: a key gives the same numbers for the same purpose, and nothing else tells them.

    >>> one = Secret(bytes(16))
    >>> bool((one.words("ties", 3) == Secret(bytes(16)).words("ties", 3)).all())
    True
    >>> one
    Secret(given=True)
    """

    key: bytes = field(repr=False)
    given: bool = True
    """Whether it was given, and not drawn for this run."""

    def __post_init__(self) -> None:
        if not isinstance(self.key, bytes):
            raise PolicyError(f"A key is bytes, not {type(self.key).__name__}; secrets.token_bytes(32) makes one.")
        if len(self.key) < LEAST:
            raise PolicyError(
                f"The key has {len(self.key)} bytes, and fewer than {LEAST} could be guessed; "
                "secrets.token_bytes(32) makes one."
            )

    @property
    def origin(self) -> str:
        """Where it comes from, as a certificate tells it."""
        return "given" if self.given else "drawn for this run"

    @classmethod
    def of(cls, key: bytes | None) -> Secret:
        """The secret behind a key; one that is drawn now and kept nowhere where there is none."""
        return cls(secrets.token_bytes(32), given=False) if key is None else cls(key)

    def words(self, purpose: str, count: int) -> NDArray[np.uint64]:
        """Random numbers of 64 bits (SHAKE-256): others for every purpose."""
        head = f"rothko {len(self.key)} ".encode() + self.key + f" {purpose}".encode()
        drawn = hashlib.shake_256(head).digest(8 * count)
        return np.frombuffer(drawn, dtype="<u8").astype(np.uint64, copy=False)

    def row(self, purpose: str, count: int, first: int = 0) -> NDArray[np.uint64]:
        """Some of an endless row of random numbers, from the number ``first`` on: whoever asks for a piece gets it.

        >>> one = Secret(bytes(16))
        >>> bool((one.row("ties", 100_000)[70_000:] == one.row("ties", 30_000, 70_000)).all())
        True
        """
        found = []
        for block in range(first // BLOCK, -(-(first + count) // BLOCK)):
            begin, end = max(first - block * BLOCK, 0), min(first + count - block * BLOCK, BLOCK)
            found.append(self.words(f"{purpose} {block}" if block else purpose, end)[begin:])
        return np.concatenate(found) if found else np.empty(0, dtype=np.uint64)

    def order(self, purpose: str, count: int) -> NDArray[np.int64]:
        """The numbers below ``count`` in a random order.

        >>> sorted(Secret(bytes(16)).order("rows", 4).tolist())
        [0, 1, 2, 3]
        """
        return np.argsort(self.words(purpose, count), kind="stable")


def read_key(path: Path) -> bytes:
    """The key in a file: its very bytes.

    Raises
    ------
    InputError
        Where there is none, or it has too few bytes or too many.
    """
    try:
        with path.open("rb") as file:
            key = file.read(MOST + 1)
    except OSError:
        raise InputError(f"The key file {str(path)!r} cannot be read.") from None
    if not LEAST <= len(key) <= MOST:
        raise InputError(
            f"The key file {path.name} has {'more than ' * (len(key) > MOST)}{min(len(key), MOST):,} bytes, and a key "
            f"has {LEAST} to {MOST:,}; head -c 32 /dev/urandom makes one."
        )
    return key

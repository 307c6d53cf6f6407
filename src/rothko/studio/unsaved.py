"""The policy that is being edited, kept for the person who opens the same table again after the studio has ended.

A policy and nothing else: it holds of the table what a policy file holds, such as the labels of hierarchies that were
edited, and no records. It lies where programs keep their state for one person, readable to them alone, until the policy
is saved, undone or forgotten, and no longer than a month.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from rothko.data.source.database.url import is_database
from rothko.errors import RothkoError
from rothko.policy.policy import Policy

LONGEST = 30 * 24 * 3600
"""Seconds that a policy is kept."""


def place() -> Path | None:
    """Where programs keep their state for this person; None for who has no home."""
    windows = os.name == "nt"
    said = os.environ.get("LOCALAPPDATA" if windows else "XDG_STATE_HOME")
    try:
        home = Path(said) if said else Path.home() / ("AppData/Local" if windows else ".local/state")
    except RuntimeError:
        return None
    return home / "rothko" / "studio" if home.is_absolute() else None


@dataclass(frozen=True, slots=True)
class Found:
    """A policy that was kept."""

    policy: Policy
    when: float
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Policies in a folder, by the tables that they are for."""

    folder: Path

    def _file(self, data: str) -> Path:
        """What is kept of a file is found by its path."""
        return self.folder / f"{hashlib.sha256(str(Path(data).resolve()).encode()).hexdigest()[:32]}.yaml"

    def keep(self, data: str, policy: str, *, dropped: bool) -> None:
        """Keep a policy, as it is written, in place of the one before; where that cannot be done, nothing is kept.

        Labels of hierarchies are values of the table. Those of a file lie on this machine anyway; those of a table that
        was dropped on the page, or that is in a database, must not stay here when the studio has ended.
        """
        if dropped or is_database(data):
            return
        file = self._file(data)
        with contextlib.suppress(OSError):
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh = file.with_suffix(f".{os.getpid()}")
            try:
                with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as text:
                    text.write(policy)
                fresh.replace(file)
            finally:
                fresh.unlink(missing_ok=True)

    def forget(self, data: str) -> None:
        """Keep nothing for a table."""
        with contextlib.suppress(OSError):
            self._file(data).unlink(missing_ok=True)

    def find(self, data: str, columns: Collection[str]) -> Found | None:
        """What was kept for a table, if it is for these columns; whatever is too old is removed on the way."""
        with contextlib.suppress(OSError):
            for old in self.folder.glob("*"):
                if old.stat().st_mtime < time.time() - LONGEST:
                    old.unlink()
        file = self._file(data)
        try:
            policy, when = Policy.parse(file.read_text("utf-8")), file.stat().st_mtime
        except (OSError, UnicodeDecodeError, RothkoError):  # none there, or of another version
            return None
        return Found(policy, when) if set(policy.columns) == set(columns) else None

"""What the environment says where nobody says otherwise: ``ROTHKO_THREADS``, ``ROTHKO_MEMORY`` and the like.

What is said to a command or a call wins over it. A variable that is empty says nothing.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from rothko.errors import InputError

THREADS, MEMORY, SPILL_DIR, LOG = "ROTHKO_THREADS", "ROTHKO_MEMORY", "ROTHKO_SPILL_DIR", "ROTHKO_LOG"


def said(name: str) -> str | None:
    """What a variable holds, if anything."""
    return os.environ.get(name, "").strip() or None


def threads() -> int | None:
    """How many cores to use."""
    text = said(THREADS)
    if text is None:
        return None
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise InputError(f"{THREADS} must be a whole number of at least 1, not {text!r}.")
    return int(text)


def spill_dir() -> Path | None:
    """Where engines on disk make their private folder."""
    text = said(SPILL_DIR)
    if text is None:
        return None
    if not Path(text).is_dir():
        raise InputError(f"{SPILL_DIR} must be a folder, and {text!r} is none.")
    return Path(text)

"""Engines: where a method runs. Adding one touches no method.

``memory`` is the compiled loop over all cores; the engines for data larger than memory and for
clusters go beside it, one file each.
"""

from __future__ import annotations

ENGINES: dict[str, str] = {"memory": "the compiled loop over all cores, for tables that fit in memory"}
"""Policy name → what it is; ``auto`` chooses among them."""

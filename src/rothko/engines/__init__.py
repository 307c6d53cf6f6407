"""Engines: where a method runs. Adding one touches no method.

``memory`` is the compiled loop over all cores; the engines for data larger than memory and for
clusters go beside it, one file each. :data:`ENGINES` names them as a policy does, each with the
dataclass of its options; :mod:`rothko.engines.plan` chooses one and predicts what it reads and writes.
"""

from __future__ import annotations

from rothko.engines.options import Auto, Memory, RothkoS, RothkoT

ENGINES: dict[str, type[Auto | Memory | RothkoT | RothkoS]] = {
    options.name: options for options in (Auto, Memory, RothkoT, RothkoS)
}
"""Policy name → options; ``auto`` chooses among the others."""

__all__ = ["ENGINES", "Auto", "Memory", "RothkoS", "RothkoT"]

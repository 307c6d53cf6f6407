"""Engines: where a method runs. Adding one touches no method.

``memory`` gives a method all records at once; the others take a table apart that does not fit there. :data:`ENGINES`
names them as a policy does, each a dataclass of its options (:mod:`rothko.engines.engine`);
:mod:`rothko.engines.plan` chooses one and predicts what it reads and writes.
"""

from __future__ import annotations

from rothko.engines.engine import Engine
from rothko.engines.options import Auto, Memory, RothkoS, RothkoT, Spark

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (Auto, Memory, RothkoT, RothkoS, Spark)}
"""Policy name → engine; ``auto`` chooses among the others."""

__all__ = ["ENGINES", "Auto", "Engine", "Memory", "RothkoS", "RothkoT", "Spark"]

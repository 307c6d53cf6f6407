"""Methods: pure functions of encoded data, requirements, workload and seed that group records into classes.

:data:`METHODS` names them as a policy does, each with the dataclass of its options.
"""

from __future__ import annotations

from rothko.methods.mondrian import Mondrian

METHODS: dict[str, type[Mondrian]] = {Mondrian.name: Mondrian}
"""Policy name → method."""

__all__ = ["METHODS", "Mondrian"]

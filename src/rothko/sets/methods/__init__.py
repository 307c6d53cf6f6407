"""Methods for set-valued records: :data:`SET_METHODS` names them, each with the dataclass of its options.

The base classes are in :mod:`rothko.sets.methods.method`, which the methods import from: importing from here would be a
circle.
"""

from __future__ import annotations

from rothko.sets.methods.cluster import SetCluster, SetIterative
from rothko.sets.methods.k1 import SetK1
from rothko.sets.methods.method import SetK1Method, SetMethod
from rothko.sets.methods.mondrian import SetMondrian
from rothko.sets.methods.two_phase import SetTwoPhase

SET_METHODS: dict[str, type[SetMethod]] = {
    method.name: method for method in (SetMondrian, SetTwoPhase, SetCluster, SetIterative, SetK1)
}
"""Name → method."""

__all__ = [
    "SET_METHODS",
    "SetCluster",
    "SetIterative",
    "SetK1",
    "SetK1Method",
    "SetMethod",
    "SetMondrian",
    "SetTwoPhase",
]

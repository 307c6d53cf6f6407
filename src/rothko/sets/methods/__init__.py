"""Methods for set-valued records: :data:`SET_METHODS` names them, each with the dataclass of its options.

The base classes are in :mod:`rothko.sets.methods.method`, which the methods import from: importing from here would be a
circle.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rothko.policy.entries import Said, read
from rothko.sets.methods.cluster import SetCluster, SetIterative
from rothko.sets.methods.k1 import SetK1
from rothko.sets.methods.method import SetK1Method, SetMethod
from rothko.sets.methods.mondrian import SetMondrian
from rothko.sets.methods.two_phase import SetTwoPhase

SET_METHODS: dict[str, type[SetMethod]] = {
    method.name: method for method in (SetMondrian, SetTwoPhase, SetCluster, SetIterative, SetK1)
}
"""Name → method."""
_SAID = Said(
    "Give one method: its name, or {{name: {{option: value}}}}.",
    "There is no method {name} for sets; {hint}",
    "{of} has no option {parameter}; {hint}",
    within=False,
)


def as_method(method: str | SetMethod | Mapping[str, Mapping[str, Any]]) -> SetMethod:
    """A method by its name, by its name with options, or as it is.

    >>> as_method({"set-mondrian": {"criterion": "entropy"}}).criterion  # type: ignore[attr-defined]
    'entropy'
    """
    chosen = method if isinstance(method, SetMethod) else read(method, SET_METHODS, "method", _SAID)
    assert isinstance(chosen, SetMethod)
    return chosen


__all__ = [
    "SET_METHODS",
    "SetCluster",
    "SetIterative",
    "SetK1",
    "SetK1Method",
    "SetMethod",
    "SetMondrian",
    "SetTwoPhase",
    "as_method",
]

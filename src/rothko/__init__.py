"""rothko turns tables about people into releases that are provably k-anonymous and still useful.

>>> import rothko as rk
>>> sorted(rk.__all__)[:3]
['Anonymizer', 'Certificate', 'CsvOptions']
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rothko import errors, privacy, sets, workload
    from rothko.comparison.compare import compare
    from rothko.data.hierarchy.hierarchy import Hierarchy
    from rothko.data.source.csv import CsvOptions
    from rothko.flow import anonymize
    from rothko.learn.anonymizer import Anonymizer
    from rothko.learn.evaluate import evaluate
    from rothko.metrics.measure import measure
    from rothko.policy.draft import draft
    from rothko.policy.policy import Policy
    from rothko.release.certificate import Certificate
    from rothko.release.check import check
    from rothko.release.recoding.recoding import Recoding
    from rothko.release.release import Release

_PLACES = {
    "Anonymizer": "rothko.learn.anonymizer",
    "Certificate": "rothko.release.certificate",
    "CsvOptions": "rothko.data.source.csv",
    "Hierarchy": "rothko.data.hierarchy.hierarchy",
    "Policy": "rothko.policy.policy",
    "Recoding": "rothko.release.recoding.recoding",
    "Release": "rothko.release.release",
    "anonymize": "rothko.flow",
    "check": "rothko.release.check",
    "compare": "rothko.comparison.compare",
    "draft": "rothko.policy.draft",
    "evaluate": "rothko.learn.evaluate",
    "measure": "rothko.metrics.measure",
}

__version__ = "0.1.0"
__all__ = [
    "Anonymizer",
    "Certificate",
    "CsvOptions",
    "Hierarchy",
    "Policy",
    "Recoding",
    "Release",
    "anonymize",
    "check",
    "compare",
    "draft",
    "errors",
    "evaluate",
    "measure",
    "privacy",
    "sets",
    "workload",
]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used: importing rothko loads no Numba and no engine."""
    if name in _PLACES:
        value = getattr(importlib.import_module(_PLACES[name]), name)
    elif name in ("errors", "privacy", "sets", "workload"):
        value = importlib.import_module(f"rothko.{name}")
    else:
        raise AttributeError(f"module 'rothko' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

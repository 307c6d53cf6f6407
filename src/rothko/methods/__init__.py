"""Methods: pure functions of encoded data, requirements, workload and seed that group records into classes.

:data:`METHODS` names them as a policy does, each with the dataclass of its options.
"""

from __future__ import annotations

from rothko.methods.anatomy import Anatomy
from rothko.methods.cluster.cluster import Cluster
from rothko.methods.curve.hilbert import Hilbert, HilbertFast
from rothko.methods.curve.idistance import IDistance, IDistanceFast
from rothko.methods.method import Method
from rothko.methods.mondrian.mondrian import Mondrian
from rothko.methods.refine.refine import Refine
from rothko.methods.topdown import TopDown

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (Mondrian, Refine, Hilbert, HilbertFast, IDistance, IDistanceFast, Cluster, TopDown, Anatomy)
}
"""Policy name → method."""

__all__ = [
    "METHODS",
    "Anatomy",
    "Cluster",
    "Hilbert",
    "HilbertFast",
    "IDistance",
    "IDistanceFast",
    "Mondrian",
    "Refine",
    "TopDown",
]

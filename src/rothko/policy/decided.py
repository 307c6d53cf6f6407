"""What is decided of a policy before work begins: the method that ``auto`` stands for, and whether records may be
suppressed.

Engines and methods never see ``auto``.
"""

from __future__ import annotations

from dataclasses import replace

from rothko.data.source.source import Source
from rothko.engines import ENGINES
from rothko.engines.options import Auto as AnyEngine
from rothko.engines.options import Memory
from rothko.errors import PolicyError
from rothko.methods.auto import Auto
from rothko.methods.method import Method
from rothko.mistakes import said
from rothko.policy.policy import Policy


def decided(policy: Policy, source: Source, engine: str, *, recoding: bool) -> tuple[Policy, Source]:
    """The policy with a method in place of ``auto``, and the source with a note that says which and why."""
    if not isinstance(policy.method, Auto):
        return policy, source
    chosen = policy.method.choose(policy, in_memory=ENGINES[engine].in_memory, recoding=recoding)
    return policy.but(method=chosen.method), replace(source, notes=(*source.notes, chosen.note))


def method_for(policy: Policy, engine: str | None, *, recoding: bool) -> Method:
    """The method that will make the classes, as far as that is known before the table is looked at."""
    method: Method = policy.method
    if not isinstance(method, Auto):
        return method
    in_memory = (engine or policy.engine.name) in (AnyEngine.name, Memory.name)
    return method.choose(policy, in_memory=in_memory, recoding=recoding).method


def refuse_suppression(policy: Policy, engine: str, reason: str) -> None:
    """Refuse what records cannot be suppressed for."""
    if policy.suppress is None:
        return
    why = None
    if not ENGINES[engine].in_memory:
        chosen = reason if reason == "asked for" else f"chosen: {reason}"
        why = f"looks at all records at once, in memory, and engine {engine} was {chosen}; raise {said('--memory')}"
    elif policy.method.two_tables:
        why = f"spares what classes show, and {policy.method.name} shows exact values; use another method"
    elif policy.owner is not None:
        why = f"counts records, and people are counted here (of: {policy.owner}); count records"
    elif policy.workload:
        why = f"spares what all quasi-identifiers lose, and a workload is asked for ({policy.workload[0].describe()})"
    elif policy.publish == "region":
        why = "hides values, and publish: region shows at which of all values regions begin; publish a range"
    if why is not None:
        raise PolicyError(f"suppress {why}, or leave out suppress.")

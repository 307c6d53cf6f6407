"""Policies changed by hand: what else must change so that they stay whole."""

from __future__ import annotations

from typing import Any

from rothko.data.schema import Role
from rothko.policy.appearance import default_k
from rothko.policy.column import Column
from rothko.policy.policy import Policy
from rothko.privacy import KAnonymity


def said_of(column: Column) -> dict[str, Any]:
    """What a policy says of a column, to be said again with a change."""
    return {key: getattr(column, key) for key in type(column).model_fields}


def with_role(policy: Policy, name: str, role: Role, proposed: Policy | None, *, rows: int) -> Policy:
    """The policy with another role of a column; whatever was asked of it in the role that it had goes.

    Parameters
    ----------
    proposed
        The draft: where it proposes the role, the column is read and generalised as it proposes.
    rows
        How many records there are, for the k that is asked for where nothing else is left.
    """
    before = policy.columns[name]
    if before.role is role:
        column = before
    elif proposed is not None and proposed.columns[name].role is role:
        column = proposed.columns[name]
    else:
        kind = before.type if role is not Role.IDENTIFIER else "auto"
        column = Column(role=role, type=kind)
    privacy = []
    for one in policy.privacy:
        if (one.column == name and role is not Role.SENSITIVE) or (one.owner == name and role is not Role.IDENTIFIER):
            continue
        if one.over is not None and name in one.over and role is not Role.QUASI_IDENTIFIER:
            continue
        privacy.append(one)
    columns = policy.columns | {name: column}
    confirm = tuple(other for other in policy.confirm if other != name)
    workload = tuple(task for task in policy.workload if _fits(task, name, role))
    if not privacy:
        privacy = [KAnonymity(k=default_k(rows))]
    return policy.but(columns=columns, privacy=tuple(privacy), confirm=confirm, workload=workload)


def _fits(task: Any, name: str, role: Role) -> bool:
    named = [parameter for parameter, names in task.columns.items() if name in names]
    return not named or (
        role is not Role.IDENTIFIER
        and (role is Role.QUASI_IDENTIFIER or not {"where", "of"} & {*named})
        and (role is not Role.QUASI_IDENTIFIER or "target" not in named)
    )

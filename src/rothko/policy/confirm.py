"""What a draft has guessed and a person has not agreed to, roles and how values are read: nothing is released until
somebody does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rothko.data.schema import Role
from rothko.errors import PolicyError
from rothko.mistakes import hint, said, some_of
from rothko.policy import yaml as yaml_lines
from rothko.policy.column import Column
from rothko.policy.policy import Policy


def confirmed(policy: Policy, roles: Mapping[str, Any]) -> Policy:
    """The policy with every role agreed to; with another role a column loses what was meant for the one it had."""
    unknown = [name for name in roles if name not in policy.columns]
    if unknown:
        raise PolicyError(f"{unknown[0]!r} is not a column of the draft; {hint(unknown[0], policy.columns)}")
    changed = {name: Column(role=role) for name, role in roles.items() if policy.columns[name].role != role}
    dropped = {name for name, column in changed.items() if column.role is not Role.SENSITIVE}
    privacy = tuple(one for one in policy.privacy if one.column not in dropped)
    return policy.but(columns=policy.columns | changed, privacy=privacy, confirm=())


def refuse_unconfirmed(policy: Policy, written: Any = None) -> None:
    """Refuse a policy with roles that nobody has agreed to.

    Parameters
    ----------
    written
        What the policy was made of; where that is a file, its lines are told.
    """
    if not policy.confirm:
        return
    where = _lines(written)
    how = f"delete its name in {where}" if where else "say draft.confirm(), or take its name out of 'confirm'"
    raise PolicyError(
        f"This is a draft, and columns in it wait for a person: {some_of(policy.confirm)}. Look at each; where you "
        f"agree, {how}. {said('--accept-draft', True)} releases by the draft as it is."
    )


def said_of_draft(policy: Policy) -> tuple[str, ...]:
    """What a certificate notes where roles were agreed to by nobody."""
    if not policy.confirm:
        return ()
    return (f"The draft was accepted as it is: nobody confirmed the roles of {len(policy.confirm)} column(s).",)


def _lines(written: Any) -> str:
    """Where the names stand that wait, or nothing where the policy is no file."""
    if isinstance(written, str) and "\n" in written:
        return ""
    if not isinstance(written, str | Path) or not Path(written).is_file():
        return ""
    document = yaml_lines.read(Path(written).read_text("utf-8-sig"), where=str(written), as_text=lambda path: True)
    lines = sorted({line for path, line in document.lines.items() if len(path) == 2 and path[0] == "confirm"})
    if not lines:
        return ""
    shown = f"line {lines[0]}" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]}"
    return f"{shown} of {str(written)!r}"

"""What was decided, step by step, to be undone and done again."""

from __future__ import annotations

from dataclasses import dataclass, field

from rothko.policy.policy import Policy

MOST = 200
"""Steps that can be undone."""


@dataclass(frozen=True, slots=True)
class Step:
    """A policy, and what was done to get there."""

    policy: Policy
    done: str


@dataclass(slots=True)
class History:
    """Policies one after the other, of which one is the present."""

    steps: list[Step] = field(default_factory=list)
    at: int = -1

    @property
    def policy(self) -> Policy | None:
        """The present one."""
        return self.steps[self.at].policy if self.steps else None

    @property
    def undone(self) -> str | None:
        """What would be undone."""
        return self.steps[self.at].done if self.at > 0 else None

    @property
    def redone(self) -> str | None:
        """What would be done again."""
        return self.steps[self.at + 1].done if self.at + 1 < len(self.steps) else None

    def begin(self, policy: Policy, done: str) -> None:
        """Forget what was, and begin with a policy."""
        self.steps, self.at = [Step(policy, done)], 0

    def add(self, policy: Policy, done: str) -> None:
        """Go on to another policy; what was undone before is forgotten."""
        self.steps[self.at + 1 :] = [Step(policy, done)]
        del self.steps[: max(len(self.steps) - MOST, 0)]
        self.at = len(self.steps) - 1

    def move(self, by: int) -> None:
        """One step back, or forward."""
        self.at = min(max(self.at + by, 0), len(self.steps) - 1)

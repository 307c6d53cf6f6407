"""What is asked of a table: its policy, or the words in place of one, once the table is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

from rothko.data.schema import Role
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.errors import PolicyError
from rothko.mistakes import said
from rothko.policy.column import Column
from rothko.policy.draft import Draft, as_policy
from rothko.policy.opened import opened, written_by
from rothko.policy.policy import Policy
from rothko.policy.unnamed import refuse_unnamed
from rothko.policy.varied import By, varied
from rothko.policy.words import BESIDE_A_POLICY, Words, fields_of, given, guessed, named_in, read_once, tasks

AnyPolicy = Policy | Draft | str | Path | Mapping[str, Any]
"""A policy, a path to one, its text, the same as plain data, or a draft."""


@dataclass(frozen=True)
class Asked:
    """A table, and what is asked of it; with a policy it is opened when it is needed, and mistakes are told before."""

    policy: Policy
    """As far as it is known without a look at the values: where words made it, what they do not name is kept."""
    words: Words | None
    """The words in place of a policy."""
    _open: Callable[[], Source]

    @classmethod
    def of(
        cls,
        data: Any,
        policy: AnyPolicy | None,
        words: Words,
        *,
        csv: CsvOptions | None = None,
        or_release: bool = False,
    ) -> Asked:
        """Read what is asked of a table: a policy, or words; not both, not neither.

        Parameters
        ----------
        csv
            How a text file is written; the policy's ``input`` says it, too.
        or_release
            Whether the table may be a release, which is written as rothko writes, whatever the policy's ``input`` says.
        """
        words = read_once(words)
        if policy is None:
            if not words.get("qi"):
                raise PolicyError(
                    f"Give a policy with {said('--policy')} (rothko draft makes one), or the quasi-identifiers with "
                    f"{said('--qi')}."
                )
            source = open_source(data, csv=csv, asked=named_in(words))
            told = Policy(**fields_of(source.names, words))
            written = written_by(told, csv, or_release=or_release)
            return cls(told, words, lambda: written.opened(source))
        beside = [word for word in given(words) if word not in BESIDE_A_POLICY]
        if beside:
            extra = said(f"--{beside[0].replace('_', '-')}")
            raise PolicyError(f"Give a policy, or {said('--qi')} and what goes with it, not both: leave out {extra}.")
        asked = _changed(as_policy(policy), words)
        return cls(asked, None, lambda: opened(data, asked, csv=csv, or_release=or_release))

    @cached_property
    def source(self) -> Source:
        """The table."""
        return self._open()

    def settled(self, *, released: bool = True) -> Policy:
        """The policy after a look at the values, which may take a pass over them.

        Without a policy file, text that holds numbers or dates is read so, and columns that nobody names are refused;
        where nothing is released, they are not read.
        """
        if self.words is None:
            return self.policy
        policy = self.policy
        if released:
            refuse_unnamed(self.source, self.words)
        else:
            needed = {*named_in(self.words), *policy.modelled}
            unread = {name: Column(role=Role.IDENTIFIER) for name in policy.columns if name not in needed}
            policy = policy.but(columns=policy.columns | unread)
        return policy.typed(guessed(self.source, self.words))


def _changed(policy: Policy, words: Words) -> Policy:
    """A policy with the tasks, the method, the published form, and the k and l that words ask for."""
    changes = {key: value for key in ("method", "suppress", "publish") if (value := dict(words).get(key)) is not None}
    more = [task for task in tasks(words) if task not in policy.workload]
    if more:
        changes["workload"] = (*policy.workload, *more)
    policy = policy.but(**changes) if changes else policy
    for by in get_args(By):
        if (value := dict(words).get(by)) is not None:
            policy = varied(policy, by, value)
    return policy

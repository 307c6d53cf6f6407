"""Anatomy (Xiao, Tao: Anatomy: Simple and Effective Privacy Preservation, VLDB 2006, section 5).

Nothing is generalised. Records are put into groups in which no sensitive value is frequent, and two tables leave: the
exact quasi-identifiers with the number of the group, and the sensitive values of each group with their counts. Whoever
knows a person's quasi-identifiers learns that the person is there and which group it is, and of the sensitive value no
more than the counts of that group say.

Groups (Figure 3 of the paper): records are hashed into buckets by their sensitive value; while at least l buckets are
not empty, one record from each of the l largest makes a group; every record that is left joins a group without its
value. A table in which no value has more than 1/l of the records always succeeds: each bucket then has at most one
record left, and there is a group for it. So all values of a group are different, there are at least l of them, and
frequency-l-diversity holds, which implies distinct-l-diversity.

Where the paper is silent, we decide: among buckets of the same size chance decides; groups are numbered at random. All
chance hangs on the secret of the run (:mod:`rothko.secret`). The certificate names the seed: were that enough to draw
the same numbers again, worlds could be tried out until one gives the very groups, which would tell who has which value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.errors import InfeasibleError, PolicyError
from rothko.methods.method import Asked, Method
from rothko.privacy import DistinctLDiversity, FrequencyLDiversity
from rothko.secret import Secret

WARNING = (
    "anatomy releases the exact quasi-identifiers: they tell who is in the table, and the release is not k-anonymous; "
    "only the link to the sensitive value is hidden."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anatomy(Method):
    """Anatomy has no options.

    >>> Anatomy().name
    'anatomy'
    """

    name: ClassVar[str] = "anatomy"
    two_tables: ClassVar[bool] = True

    def check(self, asked: Asked) -> None:
        """Refuse what it cannot honour, with a method that can."""
        Method.check(self, asked)
        self.asked(asked)

    def asked(self, policy: Asked) -> FrequencyLDiversity:
        """What the groups are made for; refuses a policy that two tables cannot fulfil."""
        if len(policy.sensitive) != 1:
            raise PolicyError(
                f"anatomy needs exactly one sensitive column, whose values it tells apart from the quasi-identifiers, "
                f"and the policy has {len(policy.sensitive)}; drop or keep the others, or use mondrian or cluster."
            )
        most = 0
        for requirement in policy.privacy:
            if not isinstance(requirement, FrequencyLDiversity | DistinctLDiversity):
                why = (
                    "releases exact quasi-identifiers, which are not k-anonymous"
                    if requirement.column is None
                    else "promises frequency-l-diversity and distinct-l-diversity alone"
                )
                raise PolicyError(
                    f"anatomy {why}, so it cannot meet {requirement.describe()}; use mondrian, hilbert or cluster, or "
                    f"ask for frequency-l-diversity of {policy.sensitive[0]} instead."
                )
            if requirement.over is not None:
                raise PolicyError(
                    f"anatomy does not generalise, so {requirement.name} cannot be over some quasi-identifiers; "
                    "remove 'over', or use mondrian."
                )
            if requirement.l != int(requirement.l):
                raise PolicyError(
                    f"anatomy makes groups of l records, so l must be a whole number, not {requirement.l}."
                )
            most = max(most, int(requirement.l))
        if policy.workload:
            raise PolicyError(
                f"anatomy draws its groups at random and cannot make them for a workload "
                f"({policy.workload[0].describe()}); use mondrian, or remove it."
            )
        if policy.publish != "range":
            raise PolicyError(
                f"anatomy releases exact quasi-identifiers, and publish: {policy.publish} has no meaning for them; "
                "remove it, or use mondrian."
            )
        return FrequencyLDiversity(l=most, of=policy.sensitive[0])


def refuse(method: Method, what: str) -> None:
    """Refuse what needs classes and their boxes, of which a release by anatomy has none."""
    if method.two_tables:
        raise PolicyError(
            f"{what} needs generalised quasi-identifiers, and anatomy releases two tables with exact ones; "
            "use another method, such as mondrian."
        )


def anatomize(codes: NDArray[np.integer], l: int, secret: Secret) -> NDArray[np.int32]:  # noqa: E741
    """The group of each record.

    Parameters
    ----------
    codes
        The sensitive value of each record, as a code from 0 on; missing is a value as any other.
    l
        No value may have more than 1/l of the records, nor will it in any group.

    Raises
    ------
    InfeasibleError
        If one has; the message tells the largest l that the table allows.

    Examples
    --------
    >>> groups = anatomize(np.array([0, 0, 1, 1, 2, 2, 2]), 2, Secret.of(None))
    >>> sorted(np.bincount(groups).tolist())
    [2, 2, 3]
    """
    from rothko.kernels.anatomy import create_groups

    counts = np.bincount(codes)
    _eligible(counts, l)
    records = secret.order("records of buckets", len(codes))
    records = records[np.argsort(codes[records], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(counts)])
    chances = (secret.words("buckets", len(codes)) >> np.uint64(11)) * 2.0**-53
    group, made = create_groups(records, starts, l, chances)
    left = np.flatnonzero(group < 0)
    for record, chance in zip(left, secret.words("left over", len(left)).tolist(), strict=True):
        without = np.ones(made, dtype=np.bool_)
        without[group[(codes == codes[record]) & (group >= 0)]] = False
        possible = np.flatnonzero(without)
        group[record] = possible[chance % len(possible)]
    numbers: NDArray[np.int32] = secret.order("numbers of groups", made).astype(np.int32)[group]
    return numbers


def _eligible(counts: Sequence[int] | NDArray[np.integer], l: int) -> None:  # noqa: E741
    """Refuse a table in which a value is too frequent."""
    rows, top = int(np.sum(counts)), int(np.max(counts, initial=0))
    if rows == 0 or top * l > rows:
        largest = rows // max(top, 1)
        rule = f"the most frequent sensitive value has {top:,} of {rows:,} records, more than 1/{l}"
        raise InfeasibleError(
            f"anatomy cannot make groups with l = {l}: {rule}; "
            + (f"ask for l = {largest} at most, or for more data." if largest > 1 else "no l above 1 is possible.")
        )

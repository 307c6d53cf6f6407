"""TopDown: top-down greedy search (Xu, Wang, Pei, Wang, Shi, Fu, KDD 2006).

Begin with one group of all records. Of a group take two records that are far apart in NCP: a random one, the one
farthest from it, the one farthest from that, and so on for three rounds. Every other record goes to the group of one of
the two, and the same again in both. In the end, groups of fewer than k records merge with others or borrow from them.

It is the baseline that Ghinita, Karras, Kalnis and Mamoulis compare with (VLDB 2007, section 2.2), by whose account a
group is divided as long as it has at least 2k records. For each group that is too small all others are looked at,
which is what makes it quadratic.

Where the papers are silent or differ, we decide:

- Records come in one random order, drawn from the seed and kept in every part; the first is the random start.
- A record goes to the group whose NCP is the lower one with the record in it; on a tie to the one that it raises less.
  (Always the one that it raises less was tried: the wider group takes everything, and single records split off.)
- A group of equal records is divided into groups of k.
- Groups that are too small are taken up as they come. Together with another group a small one has either fewer than 2k
  records, and they can merge; or at least 2k, and it can borrow from the other, which keeps k. The partner to merge
  with is the one with which Σ records · NCP rises least, the lender the one whose records, the nearest to the small
  group as it is, give it the lowest NCP. Whichever of both raises the sum less is done. So classes have between k and
  2k − 1 records, as Ghinita et al. say.
- Requirements beyond the size: a class that does not meet them merges with the one with which the sum rises least,
  until it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.errors import PolicyError
from rothko.methods.classes import LocalClasses
from rothko.methods.layout import Rows, fewest, lay_out, rules_of
from rothko.methods.method import LocalMethod, Progress, flag
from rothko.mistakes import said
from rothko.privacy.requirement import Requirement

if TYPE_CHECKING:
    from rothko.kernels.topdown.boxed_groups import Groups
    from rothko.kernels.topdown.records import Records

MOST = 100_000
"""Records that are taken without ``force``."""
STEP = 256
"""Groups that are taken up by one compiled call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopDown(LocalMethod):
    """Options of TopDown.

    >>> TopDown(force=True).name
    'topdown'
    """

    name: ClassVar[str] = "topdown"

    force: bool = False
    """Take more than 100,000 records: the time grows with their square."""

    def __post_init__(self) -> None:
        for option in ("repair", "force"):
            flag(self.name, option, getattr(self, option))

    def group(
        self, encoded: Encoded, requirements: Sequence[Requirement], *, seed: int, threads: int, progress: Progress
    ) -> LocalClasses:
        """Group the records, on one core whatever ``threads`` says."""
        if encoded.rows > MOST and not self.force:
            raise PolicyError(
                f"topdown takes time that grows with the square of the records, and there are {encoded.rows:,}, more "
                f"than {MOST:,}; use hilbert or cluster, which lose less, or ask for it with {said('--force', True)}."
            )
        from rothko.kernels.topdown.bisect import bisect
        from rothko.kernels.topdown.boxed_groups import class_of, open_groups
        from rothko.kernels.topdown.records import look_up

        k, drawn = fewest(requirements), np.random.default_rng(seed).permutation(encoded.rows)
        records = look_up(np.ascontiguousarray(encoded.codes.T[drawn]), lay_out(encoded.lines))
        places, starts = bisect(records, k)
        order, records = drawn[places], records._replace(codes=records.codes[places])
        groups = open_groups(records, starts)
        _adjust(records, groups, k, progress)
        made = np.count_nonzero(groups.head >= 0)
        _join(records, groups, encoded, order, requirements)
        of_place, classes = class_of(groups.head, groups.following)
        of_record = np.empty_like(of_place)
        of_record[order] = of_place
        partition = LocalClasses.of(encoded, of_record, classes)
        if classes == made:
            return partition
        note = (
            f"topdown made {made:,} classes of at least {k:,} records; those that did not meet every requirement were "
            f"merged with the nearest, which left {classes:,}."
        )
        return replace(partition, notes=(note,))


def _adjust(records: Records, groups: Groups, k: int, progress: Progress) -> None:
    """Give every group k records, some groups at a time."""
    from rothko.kernels.topdown.adjust import adjust

    rows = len(records.codes)
    small = np.flatnonzero(groups.size < k) if len(groups.size) > 1 else np.empty(0, dtype=np.int64)
    queue = np.concatenate([small, small])  # a group that is still too small waits once more, behind all others
    begin, end, told = 0, len(small), 0
    while begin < end:
        last = min(begin + STEP, end)
        end = adjust(records, groups, k, queue, begin, last, end)
        begin = last
        done = rows * begin // (end + 1)
        progress(max(done - told, 0))
        told = max(done, told)
    progress(rows - told)


def _join(
    records: Records, groups: Groups, encoded: Encoded, order: NDArray[np.int64], requirements: Sequence[Requirement]
) -> None:
    """Merge classes until each meets every requirement, some classes at a time."""
    from rothko.kernels.topdown.adjust import join

    rows = Rows()
    rules = rules_of(encoded, requirements, rows.add)
    if len(rules.spec) == 0:
        return
    sensitive, count = np.stack([codes[order] for codes in rows]), len(groups.head)
    for begin in range(0, count, STEP):
        join(records, groups, sensitive, rules, begin, min(begin + STEP, count))

"""What a report tells whoever may see the original: how things were before.

None of it may be published: counts of unique records and true distributions are facts of the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rothko.data.source.csv import CsvOptions
from rothko.methods.anatomy import refuse
from rothko.metrics.association import Association, Spread, associations, spreads
from rothko.metrics.measure import tasks_of
from rothko.metrics.pair import Grouped, read_pair
from rothko.metrics.uniqueness import Combination, Uniqueness, uniqueness
from rothko.policy.policy import Policy
from rothko.release.loss import TaskLoss
from rothko.report import figures, page
from rothko.report.page import Html
from rothko.report.public import Draw
from rothko.report.released import Released
from rothko.workload.tasks import models

CHANGED = 10
"""Pairs of columns that are listed."""


@dataclass(frozen=True, slots=True)
class Before:
    """The original, as a report asks for it."""

    unique: Uniqueness
    tasks: tuple[TaskLoss, ...]
    spreads: list[Spread]
    associations: list[Association]


def needed(policy: Policy) -> list[str]:
    """Columns that leave as they are and whose values are asked for: sensitive ones, and what models predict."""
    refuse(policy.method, "a report for the steward")
    return [*policy.sensitive, *(task.target for task in models(policy.workload))]


def look_before(
    original: Any, released: Released, policy: Policy | None, threshold: float, *,
    threads: int | None = None, csv: CsvOptions | None = None,
) -> Before:  # fmt: skip
    """Read the original beside its release.

    Parameters
    ----------
    released
        With the columns that are :func:`needed`.
    policy
        The policy with the files of its hierarchies; where it is None, that of the certificate.
    """
    asked = released.policy if policy is None else policy
    release = Grouped(
        released.file, released.columns, released.typed, released.sizes, released.others, text=released.is_text
    )
    pair = read_pair(original, release, asked, beside=asked.sensitive, threads=threads, csv=csv)
    return Before(
        uniqueness(pair.encoded, threshold=threshold, threads=threads),
        tasks_of(pair),
        spreads(pair),
        associations(pair),
    )


def told_apart(before: Before, draw: Draw) -> list[Html]:
    """What tells records of the original apart."""
    found = before.unique
    blocks = [page.heading("What told records apart before")]
    if not found.whole.unique:
        return [*blocks, page.text("No record of the original was unique by its quasi-identifiers.")]
    if any(found.adds.values()) or any(found.alone.values()):
        blocks.append(draw(figures.contributions(found)))
    else:
        blocks.append(
            page.text(
                "No quasi-identifier did it by itself: by one alone no record was unique, and without any one of them "
                "as many were."
            )
        )
    for title, some in (("pairs", found.pairs), ("triples", found.triples)):
        if some:
            blocks.append(
                page.table(f"The most identifying {title}", ["together", "unique records"], _combinations(some))
            )
    return blocks


def _combinations(found: Sequence[Combination]) -> list[list[str]]:
    return [[", ".join(one.names), f"{one.unique:.2%}"] for one in found]


def distributions(before: Before, draw: Draw) -> list[Html]:
    """Every quasi-identifier before and after, drawn on each other."""
    return [draw(figures.before_and_after(one)) for one in before.spreads]


def hangs_together(before: Before, draw: Draw) -> list[Html]:
    """Which associations were kept, and which are broken."""
    if not before.associations:
        return []
    rows = [
        [" – ".join(one.names), f"{one.before:.3f}", f"{one.after:.3f}", f"{one.after - one.before:+.3f}"]
        for one in before.associations[:CHANGED]
    ]
    return [
        page.heading("What hangs together"),
        draw(figures.kept_together(before.associations)),
        page.table("Pairs of columns that changed most (Cramér's V)", ["pair", "before", "after", "change"], rows),
    ]

"""The pictures of a report about sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rothko.plots.model import Axis, Bars, Cell, Painting, Plot
from rothko.report.figures import AFTER, BEFORE, round_up
from rothko.report.painting import MOST, short, squarified
from rothko.sets.readable import ToldSets

ITEMS = 15
"""Items that have a bar of their own."""
LONGEST = 24
"""Sets with more items than this share a bar."""
NOTHING = "no item"


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Of how many records something is told, before the release; what is told after comes from the release."""

    items: dict[str, int]
    """Item → records that have it."""
    lengths: NDArray[np.int64]
    """Records by how many items they have."""


def painted(told: ToldSets) -> Painting:
    """The different sets as a tree of rectangles: by their most frequent item, and each as large as its records."""
    lead = np.where(told.lengths > 0, np.append(told.items, 0)[told.starts[:-1]], len(told.names))
    kept = np.arange(min(MOST, len(told.times)))  # the most frequent come first
    whole = np.bincount(lead[kept], told.times[kept], len(told.names) + 1).astype(np.float64)
    groups = np.argsort(-whole, kind="stable")
    groups = groups[whole[groups] > 0]
    most = max(int(told.lengths[kept].max(initial=0)), 1)
    cells = []
    for group, room in zip(groups, squarified(whole[groups], (0.0, 0.0, 2.0, 1.0)), strict=True):
        mine = kept[lead[kept] == group]
        for at, (x, y, wide, high) in zip(mine, squarified(told.times[mine].astype(np.float64), room), strict=True):
            words = f"{short(', '.join(told.set_at(int(at))) or NOTHING)} · {int(told.times[at]):,} records"
            left, right, bottom, top = (round(end, 4) for end in (x / 2, (x + wide) / 2, y, y + high))
            cells.append(Cell(left, right, bottom, top, round(float(told.lengths[at]) / most, 3), words))
    beyond = len(told.times) - len(kept)
    return Painting(
        "painting", f"{told.records:,} records publish {len(told.times):,} different sets",
        "Every rectangle is a set that is published, as large as the number of records that publish it; sets with the "
        "same most frequent item lie together. "
        + (f"The {beyond:,} sets that fewest publish are left out. " if beyond else "")
        + "Colours: items of a set.",
        tuple(cells), legend=("items of a set", "0", f"{most:,}"),
    )  # fmt: skip


def most_frequent(told: ToldSets, before: Counts | None) -> Plot:
    """The items that most records have: of the original where it may be known, and of the release."""
    after = dict(zip(told.names, told.frequencies.tolist(), strict=True))
    counts = after if before is None else before.items
    names = sorted(counts, key=lambda name: (-counts[name], name))[:ITEMS][::-1]
    kinds = [("published", after, AFTER)] if before is None else [
        ("before", before.items, BEFORE), ("after", after, AFTER)
    ]  # fmt: skip
    wide = 0.72 / len(kinds)
    marks = tuple(
        Bars(
            "" if before is None else label,
            tuple((i + 0.86 - (at + 1) * wide, i + 0.86 - at * wide) for i in range(len(names))),
            tuple(float(of.get(name, 0)) for name in names),
            tuple(f"{name} {label}: {of.get(name, 0):,} records" for name in names), tone, across=True,
        )
        for at, (label, of, tone) in enumerate(kinds)
    )  # fmt: skip
    top = max([counts.get(name, 0) for name in names], default=1)
    about = (
        "Items are dropped where they would tell records apart, and never added: so many records have them at least."
        if before is None
        else "What is missing was dropped because it would have told records apart."
    )
    return Plot(
        "items", "The most frequent items", about, Axis("records", 0, round_up(float(top))),
        Axis("", 0, max(len(names), 1), "names", tuple(names)), marks,
        height=(96 if before is None else 114) + (22 if before is None else 30) * len(names),
    )  # fmt: skip


def how_many(told: ToldSets, before: Counts | None) -> Plot:
    """Records by how many items they have."""
    after = np.bincount(told.lengths, told.times).astype(np.float64)
    known = [after] if before is None else [after, before.lengths.astype(np.float64)]
    size = min(max(map(len, known)), LONGEST + 1)
    parts = [_cut(one, size) for one in known]
    longer = any(len(one) > size for one in known)
    names = [f"{i}" for i in range(size - 1)] + [f"{size - 1}{' and more' if longer else ''}"]
    marks = [_bars("after" if before is not None else "", names, parts[0], AFTER)]
    if before is not None:
        marks.append(_bars("before", names, parts[1], BEFORE))
    mean = float(told.times @ told.lengths) / max(told.records, 1)
    return Plot(
        "lengths", "Records by how many items they have",
        f"{mean:.1f} items are published for a record on average"
        + ("." if before is None else f", of {_mean(before.lengths):.1f} that it has."),
        Axis("items of a record", 0, size, "names", tuple(names)),
        Axis("records", 0, round_up(float(max(one.max(initial=0) for one in parts)))), tuple(marks),
    )  # fmt: skip


def _cut(counts: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The first few, the last of which stands for all that follow."""
    found = np.zeros(size)
    np.add.at(found, np.minimum(np.arange(len(counts)), size - 1), counts)
    return found


def _mean(lengths: NDArray[np.int64]) -> float:
    return float(np.arange(len(lengths)) @ lengths) / max(int(lengths.sum()), 1)


def _bars(label: str, names: Sequence[str], counts: NDArray[np.float64], tone: int) -> Bars:
    outline = tone == BEFORE
    gap = 0.0 if outline else 0.08
    said = f" {label}" if label else ""
    return Bars(
        label, tuple((i + gap, i + 1 - gap) for i in range(len(names))), tuple(counts.tolist()),
        tuple(f"{name} items{said}: {int(n):,} records" for name, n in zip(names, counts, strict=True)), tone,
        outline=outline,
    )  # fmt: skip

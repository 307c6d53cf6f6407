"""The plots of a report."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from rothko.metrics.association import Association, Spread
from rothko.metrics.uniqueness import Uniqueness
from rothko.plots.model import Axis, Bars, Mark, Plot, Rule
from rothko.plots.svg import stretches
from rothko.plots.ticks import number, whole_places
from rothko.report.painting import label_counts, short
from rothko.report.released import Released
from rothko.report.spans import Spans

BEFORE, AFTER = 1, 0
"""Their tones."""
PARTS = 28
"""Of an axis, at most."""
LABELS = 10
"""That have a bar of their own."""


def penalties(ncp: Mapping[str, float | None]) -> Plot:
    """NCP of every quasi-identifier."""
    known = sorted(((name, value) for name, value in ncp.items() if value is not None), key=lambda one: one[1])
    names = tuple(name for name, _ in known)
    bars = Bars(
        "", tuple((i + 0.16, i + 0.84) for i in range(len(names))), tuple(value for _, value in known),
        tuple(f"{name}: {value:.4f}" for name, value in known), across=True,
    )  # fmt: skip
    top = round_up(max((value for _, value in known), default=1.0))
    return Plot(
        "ncp", "Information lost by column",
        "NCP: 0 where a column is exact, 1 where nothing is said. The column that lost most stands first.",
        Axis("", 0, top), Axis("", 0, len(names), "names", names), (bars,), height=48 + 30 * len(names),
    )  # fmt: skip


def class_sizes(sizes: NDArray[np.int64], threshold: float) -> Plot:
    """How many records are in classes of which size."""
    low, high = int(sizes.min()), int(sizes.max())
    limit = 1 / threshold
    log = high >= 20 * low
    if not log:
        step = -(-(high - low + 1) // PARTS)
        edges = np.arange(low, high + 1 + step, step)
    else:
        edges = np.unique(np.geomspace(low, high + 1, PARTS).round().astype(np.int64))
    records = np.bincount(np.searchsorted(edges, sizes, side="right") - 1, weights=sizes, minlength=len(edges) - 1)
    tips = [
        f"{_from_to(a, b - 1)} records a class: {int(n):,} records"
        for (a, b), n in zip(stretches(edges.tolist()), records, strict=True)
    ]
    places = [float(at) for at in edges]
    if not log:  # a size has its middle where it stands, and the limit lies between two sizes
        places, limit = [at - 0.5 for at in places], math.ceil(limit) - 0.5
    first, last = places[0], places[-1]
    marks: list[Mark] = [Bars("records", stretches(places), tuple(records.tolist()), tuple(tips))]
    if limit <= last:
        first = min(first, limit * (0.8 if log else 0.95))
        marks.append(Rule(f"risk {threshold:g}", limit))
    marked = () if log else whole_places(first, last)
    return Plot(
        "class-sizes", "Records by the size of their class",
        f"A record in a class of n is found with a probability of 1 ÷ n. Classes have {low:,} to {high:,} records, "
        f"{sizes.sum() / len(sizes):.1f} on average.",
        Axis("records of a class", first, last, "log" if log else "linear", ticks=marked),
        Axis("records", 0, round_up(float(records.max()))), tuple(marks),
    )  # fmt: skip


def distribution(released: Released, name: str, spans: Spans | None) -> Plot:
    """What a release says about the values of a quasi-identifier: records spread evenly over what their class shows."""
    title = f"{name}, as published"
    about = "Records are spread evenly over what their class shows."
    if spans is None:
        labels, shares = _top_labels(released, name)
        about = f"Share of records with each published label.{released.drawn_from}"
        bars = _named("", labels, shares)
        return Plot(f"of-{_word(name)}", title, about, _names_axis(labels), _share_axis(shares), (bars,))
    axis = spans.axis
    steps = PARTS if spans.step == 0 else max(1, min(PARTS, round((axis.high - axis.low) / spans.step)))
    edges = np.linspace(axis.low, axis.high, steps + 1)
    there = ~np.isnan(spans.low)
    present = int(released.sizes[there].sum()) / int(released.sizes.sum())
    shares = np.diff(np.interp(edges, *spans.below(released.sizes))) * present
    tips = tuple(
        f"{spans.words(a, b)}: {share:.2%}" for (a, b), share in zip(stretches(edges.tolist()), shares, strict=True)
    )
    if not there.all():
        about += f" {1 - present:.1%} of the records have no value."
    about += released.drawn_from
    bars = Bars("", stretches(edges.tolist()), tuple(shares.tolist()), tips)
    return Plot(f"of-{_word(name)}", title, about, axis, _share_axis(shares), (bars,))


def before_and_after(spread: Spread) -> Plot:
    """A quasi-identifier in the original, and in the release."""
    both = np.concatenate([spread.before, spread.after])
    parts = [first if first == last else f"{first} to {last}" for first, last in spread.parts]
    marks = (
        _named("after", parts, spread.after, tone=AFTER),
        _named("before", parts, spread.before, tone=BEFORE, outline=True),
    )
    moved = float(np.abs(spread.before - spread.after).sum() / 2)
    return Plot(
        f"of-{_word(spread.name)}", f"{spread.name}, before and after",
        f"{moved:.1%} of the records lie in another part after the release than before.",
        _names_axis([first for first, _ in spread.parts]), _share_axis(both), marks,
    )  # fmt: skip


def contributions(found: Uniqueness) -> Plot:
    """How much each quasi-identifier adds to uniqueness."""
    names = tuple(sorted(found.adds, key=lambda name: found.adds[name]))
    spans = [(i + 0.14, i + 0.5, i + 0.86) for i in range(len(names))]
    marks = (
        Bars(
            "less without it", tuple((middle, end) for _, middle, end in spans),
            tuple(found.adds[name] for name in names),
            tuple(f"Without {name} {found.adds[name]:.2%} fewer records are unique" for name in names), across=True,
        ),
        Bars(
            "unique by it alone", tuple((start, middle) for start, middle, _ in spans),
            tuple(found.alone[name] for name in names),
            tuple(f"By {name} alone {found.alone[name]:.2%} of the records are unique" for name in names), tone=1,
            across=True,
        ),
    )  # fmt: skip
    top = round_up(max([*found.adds.values(), *found.alone.values(), 1e-4]))
    return Plot(
        "uniqueness", "What tells records of the original apart",
        "Share of records that are unique by one quasi-identifier alone, and by how much that share falls without it.",
        Axis("", 0, top, percent=True), Axis("", 0, len(names), "names", names), marks, height=72 + 36 * len(names),
    )  # fmt: skip


def kept_together(found: Sequence[Association], most: int = 12) -> Plot:
    """How far pairs of columns hang together, before and after; those that hung together most."""
    strongest = sorted(found, key=lambda one: -max(one.before, one.after))[:most][::-1]
    names = tuple(" – ".join(one.names) for one in strongest)
    marks = tuple(
        Bars(
            label, tuple((i + low, i + low + 0.36) for i in range(len(names))), tuple(values),
            tuple(f"{name} {label}: {value:.3f}" for name, value in zip(names, values, strict=True)), tone=tone,
            across=True,
        )
        for label, values, low, tone in (
            ("before", [one.before for one in strongest], 0.5, BEFORE),
            ("after", [one.after for one in strongest], 0.14, AFTER),
        )
    )  # fmt: skip
    top = round_up(max((max(one.before, one.after) for one in strongest), default=1.0))
    return Plot(
        "associations", "Pairs of columns, before and after",
        "Cramér's V: 0 where two columns are independent, 1 where one tells the other.",
        Axis("", 0, top), Axis("", 0, len(names), "names", names), marks, height=72 + 34 * len(names),
    )  # fmt: skip


def _named(
    label: str, names: Sequence[str], shares: NDArray[np.float64], *, tone: int = 0, outline: bool = False
) -> Bars:
    gap = 0.0 if outline or len(names) > 16 else 0.08
    spans = tuple((i + gap, i + 1 - gap) for i in range(len(names)))
    said = f" {label}" if label else ""
    tips = tuple(f"{name}{said}: {share:.2%}" for name, share in zip(names, shares, strict=True))
    return Bars(label, spans, tuple(float(share) for share in shares), tips, tone, outline=outline)


def _top_labels(released: Released, name: str) -> tuple[tuple[str, ...], NDArray[np.float64]]:
    """The most frequent labels and one for the rest, with their share of the records."""
    labels, records = label_counts(released, name)
    order = np.argsort(-records, kind="stable")
    few = order[: LABELS if len(order) <= LABELS else LABELS - 1]
    names = [short(labels[i]) for i in few]
    shares = [records[i] for i in few]
    if len(few) < len(order):
        names.append(f"{len(order) - len(few):,} others")
        shares.append(float(records[order[len(few) :]].sum()))
    return tuple(names), np.array(shares) / int(released.sizes.sum())


def _names_axis(names: Sequence[str]) -> Axis:
    return Axis("", 0, max(len(names), 1), "names", tuple(names))


def _share_axis(shares: NDArray[np.float64]) -> Axis:
    return Axis("", 0, round_up(float(shares.max(initial=0.0))), percent=True)


def round_up(value: float) -> float:
    """A round number that is no smaller.

    >>> round_up(0.073), round_up(1234), round_up(0)
    (0.08, 1500.0, 1.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    step = next(s for s in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if s * power >= value * (1 - 1e-9))
    return float(f"{step * power:.6g}")


def _from_to(first: float, last: float) -> str:
    return number(first) if first == last else f"{number(first)} to {number(last)}"


def _word(name: str) -> str:
    """A name as it stands in links."""
    return "".join(sign if sign.isascii() and sign.isalnum() else f"_{ord(sign):x}" for sign in name)

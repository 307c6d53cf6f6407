"""What a metric tells a person: rows of what, how much, and what that means."""

from __future__ import annotations

from typing import NamedTuple

from rothko.metrics.ranges import RangeCounts
from rothko.release.loss import AggregateLoss, Answer, Bound, ClassifyLoss, Loss, RegressLoss, SelectLoss

ROUNDING = 1e-12
"""A relative error below this comes from adding floating-point numbers in another order."""


class Row(NamedTuple):
    """A line of a table."""

    what: str
    number: str
    meaning: str = ""
    shares: tuple[float, ...] = ()
    """What may be drawn beside it: a share of a whole, or several numbers that make a line."""


def penalty(number: float) -> str:
    """Four digits after the point, a dash where it is not known."""
    return "–" if number != number else f"{number:.4f}"


def whole(number: float) -> str:
    """A whole number."""
    return f"{number:,}"


def average(number: float) -> str:
    """One digit after the point."""
    return f"{number:,.1f}"


def number(number: float | None) -> str:
    """A number as a person reads it, a dash for one that is not told.

    >>> number(1234567.0), number(0.5), number(None)
    ('1,234,567', '0.5000', '–')
    """
    if number is None:
        return "–"
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:,.4f}" if abs(number) >= 0.001 else f"{number:.4g}"


def short(number: float) -> str:
    """Four digits, a dash for what is not known.

    >>> short(0.123456), short(1400000.0), short(float("nan")), short(0.0)
    ('0.1235', '1,400,000', '–', '0')
    """
    if number != number:
        return "–"
    if number == float("inf"):
        return "∞"
    if float(number).is_integer() and abs(number) < 1e12:
        return f"{int(number):,}"
    return f"{number:.4g}" if abs(number) < 1000 or abs(number) >= 1e12 else f"{number:,.0f}"


def gcp(lost: Loss) -> list[Row]:
    """Of all quasi-identifiers."""
    return [Row("GCP", penalty(lost.gcp), "information lost: 0 exact … 1 nothing said", (lost.gcp,))]


def bound(found: Bound) -> list[Row]:
    """How little can be lost, with twice the standard error."""
    error = f" ± {2 * found.error:.4f}" if found.error else ""
    looked = f"{found.records:,} records looked at" if found.error else "all records looked at"
    return [Row("at best", f"{found.gcp:.4f}{error}", f"no release by boxes of {found.k:,} loses less; {looked}")]


def ncp(lost: Loss) -> list[Row]:
    """Of each quasi-identifier, the largest first."""
    known = sorted(lost.ncp.items(), key=lambda item: -item[1] if item[1] == item[1] else 1)
    return [Row(f"  {name}", penalty(value), shares=(value,)) for name, value in known]


def classes(lost: Loss) -> list[Row]:
    """How many there are, and how large."""
    sizes = f"{lost.smallest_class:,} to {lost.largest_class:,} records, {lost.average_class_size:.1f} on average"
    return [Row("classes", whole(lost.classes), sizes, tuple(lost.class_sizes.values()))]


def suppressed(lost: Loss) -> list[Row]:
    """Records of which nothing is said, where there are any."""
    told = "records show nothing: * or the whole range throughout"
    return [Row("suppressed", whole(lost.suppressed), told)] if lost.suppressed else []


def discernibility(lost: Loss) -> list[Row]:
    """Over all classes."""
    return [Row("discernibility", whole(lost.discernibility), "Σ of squared class sizes")]


def classify(lost: ClassifyLoss) -> list[Row]:
    """How well a label is told."""
    entropy = f"bits of entropy within classes; {lost.entropy:.4f} in the whole table"
    share = f"{100 * lost.classification_metric:.2f} %"
    return [
        Row(f"classify {lost.target}", f"{lost.conditional_entropy:.4f}", entropy),
        Row(
            "",
            share,
            "of records do not have the most frequent label of their class",
            (lost.classification_metric,),
        ),
    ]


def regress(lost: RegressLoss) -> list[Row]:
    """How well a number is told."""
    error = f"squared error within classes; {number(lost.variance)} in the whole table"
    return [Row(f"regress {lost.target}", number(lost.wmse), error)]


def select(lost: SelectLoss) -> list[Row]:
    """How precisely a predicate can be asked, or why that is not told."""
    told = f"records too many: {number(lost.returned)} are returned and {number(lost.matching)} satisfy it"
    return [Row(f"select {lost.where}", number(lost.imprecision), lost.why or told)]


def aggregate(lost: AggregateLoss) -> list[Row]:
    """The answers, where they are told."""
    if lost.is_public:
        told = "answers from published statistics; rothko measure tells how good they are"
        return [Row("aggregate", f"{len(lost.answers)}", told)]
    rows = []
    for one in lost.answers:
        where = f" where {one.where}" if one.where else ""
        rows.append(Row(f"{one.function} of {one.of}{where}", number(one.answer), _beside(one)))
    return rows


def _beside(one: Answer) -> str:
    """What there is to say about an answer."""
    told = f"the original says {number(one.truth)}"
    if one.error is not None:
        told += f", error {100 * one.error if one.error > ROUNDING else 0:.3g} %"
    if one.unanswered:
        told += f"; nothing is said about {one.unanswered:,} records"
    return told


def queries(found: RangeCounts) -> list[Row]:
    """How well random queries are answered."""
    of = f" and {found.of}" if found.of else ""
    bound = f"of the true count, or of {found.sanity:.2%} of all"
    return [
        Row("range counts", whole(found.queries), f"random queries over quasi-identifiers{of}"),
        Row("  median error", f"{100 * found.median:.3g} %", bound),
        Row("  mean error", f"{100 * found.mean:.3g} %", f"{100 * found.largest:.3g} % at most"),
    ]

"""Every metric, once: what it is called, which way is better, what it needs, how it is computed, what it tells.

``measure``, ``compare``, the certificate and the console read what they have to say from here. To add a metric is to
write its function, and its line below; one that a certificate shall hold is a field of
:class:`~rothko.release.loss.Loss`, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rothko.metrics import association, bound, cube, grouping, literature, ranges, risk, told, uniqueness, workload
from rothko.metrics.literature import summed

Needs = Literal["classes", "published", "task", "answers", "sizes", "original"]
"""The sizes and widths of classes; what they show, beside the original; the same for a task of the workload; or that,
and what to ask of it; the sizes of classes alone, those of a release or of its original; the original alone."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number, or some, about a release."""

    name: str
    """In JSON and in Python."""
    needs: Needs
    compute: Callable[..., Any]
    """From :class:`~rothko.metrics.grouping.Grouping`, from :class:`~rothko.metrics.literature.Entries`, from a
    :class:`~rothko.metrics.workload.View` and a task, from a :class:`~rothko.metrics.pair.Pair` and options, from an
    array of sizes, or from an encoded table."""
    add: Callable[[Any, Any], Any] | None = None
    """Of a table, from what its parts have: with their records, or for tasks with the targets of the whole table."""
    direction: str = "lower is better"
    bounds: tuple[float | None, float | None] = (0, None)
    """What exact data and one class for all give; None where that depends on the table."""
    told: Callable[[Any], Sequence[told.Row]] | None = None
    """What it tells a person: of a loss, of the loss for a task, or of the answers."""
    column: tuple[str, Callable[[Any], str]] | None = None
    """Title and form of the number, where methods are compared by it."""
    many: bool = False
    """Whether it is a number for each column or each size, rather than one."""
    reference: str = ""
    """Where it was defined."""


NO_DIRECTION = "neither is better"

METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric(
            "gcp", "classes", lambda classes: classes.gcp, grouping.mean, bounds=(0, 1), told=told.gcp,
            column=("GCP", told.penalty), reference="Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007",
        ),
        Metric(
            "discernibility", "classes", grouping.discernibility, lambda values, _: sum(values), bounds=(None, None),
            told=told.discernibility, column=("discernibility", told.whole), reference="Bayardo, Agrawal, ICDE 2005",
        ),
        Metric(
            "classes", "classes", lambda classes: len(classes.sizes), lambda values, _: sum(values),
            direction="higher is better", bounds=(None, 1), told=told.classes, column=("classes", told.whole),
        ),
        Metric(
            "average_class_size", "classes", grouping.average_class_size, grouping.mean_by_class, bounds=(1, None),
            column=("average", told.average), reference="LeFevre, DeWitt, Ramakrishnan, ICDE 2006",
        ),
        Metric(
            "smallest_class", "classes", lambda classes: int(classes.sizes.min()), lambda values, _: min(values),
            direction=NO_DIRECTION, bounds=(1, None), column=("smallest", told.whole),
        ),
        Metric(
            "largest_class", "classes", lambda classes: int(classes.sizes.max()), lambda values, _: max(values),
            bounds=(None, None),
        ),
        Metric(
            "suppressed", "classes", lambda classes: classes.suppressed, lambda values, _: sum(values),
            bounds=(0, None), told=told.suppressed,
        ),
        Metric(
            "ncp", "classes", lambda classes: classes.ncp, grouping.mean_by_column, bounds=(0, 1), told=told.ncp,
            many=True, reference="Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007",
        ),
        Metric(
            "class_sizes", "classes", grouping.class_sizes, grouping.histogram, direction=NO_DIRECTION,
            bounds=(None, None), many=True,
        ),
        Metric(
            "loss_metric", "published", summed(literature.loss_metric), literature.add_means,
            reference="Iyengar, KDD 2002",
        ),
        Metric(
            "ambiguity_metric", "published", literature.ambiguity, literature.add_means, bounds=(1, None),
            reference="Nergiz, Clifton, DKE 2007",
        ),
        Metric(
            "entropy", "published", summed(literature.entropy, mean=True), literature.add_means,
            reference="Gionis, Tassa, TKDE 2009",
        ),
        Metric(
            "monotone_entropy", "published", summed(literature.monotone_entropy, mean=True), literature.add_means,
            reference="Gionis, Tassa, TKDE 2009",
        ),
        Metric(
            "cluster_diameter", "published", summed(literature.diameter), literature.add_means,
            reference="Byun, Kamra, Bertino, Li, DASFAA 2007",
        ),
        Metric(
            "suppressed_entries", "published", summed(literature.suppressed, entries=True), literature.add_entries,
            reference="Meyerson, Williams, PODS 2004",
        ),
        Metric(
            "hierarchy_distance", "published", summed(literature.hierarchy_distance), literature.add_means,
            reference="Samarati, TKDE 2001",
        ),
        Metric("classify", "task", workload.classify_loss, workload.add_classify, told=told.classify),
        Metric("regress", "task", workload.regress_loss, workload.add_regress, told=told.regress),
        Metric("select", "task", workload.select_loss, workload.add_select, told=told.select),
        Metric("aggregate", "task", workload.aggregate_loss, workload.add_aggregate, told=told.aggregate),
        Metric("cube", "answers", cube.cube_of, reference="Ghinita, Karras, Kalnis, Mamoulis, VLDB 2007"),
        Metric(
            "queries", "answers", ranges.ranges_of, told=told.queries,
            reference="LeFevre, DeWitt, Ramakrishnan, ICDE 2006",
        ),
        Metric("associations", "answers", association.associations, direction=NO_DIRECTION, reference="Cramér, 1946"),
        Metric("risk", "sizes", risk.risk, bounds=(1, None), reference="Dankar, El Emam, TDP 2013"),
        Metric("bound", "original", bound.bound, direction=NO_DIRECTION, bounds=(0, None), told=told.bound),
        Metric("uniqueness", "original", uniqueness.uniqueness, bounds=(None, None), reference="Sweeney, 2000"),
    )
}  # fmt: skip

OF_CLASSES = {name: metric for name, metric in METRICS.items() if metric.needs == "classes"}
"""What can be told of classes before anything is published."""
OF_PUBLISHED = {name: metric for name, metric in METRICS.items() if metric.needs == "published"}
"""What can be told of what is published, beside the original."""
COMPARED = tuple(name for name, metric in OF_CLASSES.items() if not metric.many)
"""Those of them that are one number: what methods are compared by."""
COLUMNS = {name: metric.column for name, metric in METRICS.items() if metric.column is not None}
"""Title and form of those that a table of methods has."""

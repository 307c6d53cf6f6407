"""What a person sees: progress on standard error, results on standard output."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rothko import json_text
from rothko.cli.streams import showable
from rothko.errors import OutputError

if TYPE_CHECKING:
    from rothko.metrics.cube import Cube
    from rothko.metrics.ranges import RangeCounts
    from rothko.policy.draft import Draft
    from rothko.progress import Progress as Report
    from rothko.release.loss import Answer, Loss, TaskLoss
    from rothko.release.verify import Verification

WIDTH = 140
"""Of tables that go to a file or a pipe, which have no width of their own."""

ROUNDING = 1e-12
"""A relative error below this comes from adding floating-point numbers in another order."""

out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
err = Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else WIDTH)

STAGES = {
    "survey": "learning the values",
    "sample": "drawing a sample",
    "count": "counting values",
    "repartition": "writing parts",
    "load": "partitioning parts",
    "read": "reading",
    "encode": "encoding",
    "partition": "partitioning",
    "publish": "publishing",
    "save": "writing and verifying",
    "evaluate": "training and scoring",
    "compare": "comparing",
}


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Report]:
    """A progress bar for runs of more than a second, on a terminal only."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=err,
        transient=True,
    )
    tasks: dict[str, Any] = {}
    passes: Counter[str] = Counter()

    def report(stage: str, done: int, total: int) -> None:
        if stage not in tasks:
            tasks[stage] = bar.add_task(STAGES[stage], total=total if total > 1 else None)
        passes[stage] += done == 0
        finished = done >= total
        bar.update(
            tasks[stage],
            description=STAGES[stage] + (f", pass {passes[stage]}" if passes[stage] > 1 else ""),
            completed=1 if finished and total <= 1 else done,
            total=1 if finished and total <= 1 else None if total <= 1 else total,
        )

    timer = threading.Timer(1.0, bar.start)
    timer.daemon = True
    if err.is_terminal and not quiet:
        timer.start()
    try:
        yield report
    finally:
        timer.cancel()
        if bar.live.is_started:
            bar.stop()


def json(data: Any) -> None:
    """Print plain data as JSON that is valid in the encoding of standard output."""
    text = json_text.dump(data)
    exact(text if _can_show(text) else json_text.dump(data, ascii_only=True))


def exact(text: str) -> None:
    """Print a text that somebody may save and use, character for character."""
    if not _can_show(text):
        raise OutputError(
            f"Standard output has not all characters of the result in its encoding ({sys.stdout.encoding}); write it "
            "to a file with --out, or set PYTHONIOENCODING=utf-8."
        )
    print(text, flush=True)


def _can_show(text: str) -> bool:
    return showable(text, sys.stdout.encoding) == text


def requirements(found: Verification) -> Table:
    """Asked, achieved, holds: one row per requirement."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("requirement", "asked", "achieved", "holds"):
        table.add_column(title, justify="left" if title in ("requirement", "holds") else "right")
    for finding in found.findings:
        of = f" of {finding.requirement.column}" if finding.requirement.column else ""
        over = f" over {', '.join(finding.requirement.over)}" if finding.requirement.over else ""
        verdict = (
            Text("yes", "green")
            if finding.holds
            else Text(
                f"no: {finding.violating_classes:,} of {finding.classes:,} classes, "
                f"{finding.violating_records:,} records",
                "red",
            )
        )
        table.add_row(
            Text(f"{finding.requirement.name}{of}{over}"), f"{finding.asked:g}", f"{finding.achieved:g}", verdict
        )
    return table


def losses(lost: Loss) -> Table:
    """Loss in numbers."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("what")
    table.add_column("number", justify="right")
    table.add_column("meaning", style="dim")
    table.add_row("GCP", _penalty(lost.gcp), "information lost: 0 exact … 1 nothing said")
    table.add_row(
        "classes",
        f"{lost.classes:,}",
        f"{lost.smallest_class:,} to {lost.largest_class:,} records, {lost.average_class_size:.1f} on average",
    )
    table.add_row("discernibility", f"{lost.discernibility:,}", "Σ of squared class sizes")
    for name, value in sorted(lost.ncp.items(), key=lambda item: -item[1] if item[1] == item[1] else 1):
        table.add_row(Text(f"  {name}"), _penalty(value), "")
    for task in lost.workload:
        _add_task(table, task)
    return table


def survey(lost: Loss) -> Table:
    """The other metrics of the literature: a column each, with what exact data and one class would give."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("lower is better")
    for metric in lost.survey:
        table.add_column(metric.name.replace("_", " "), justify="right")
    table.add_row("release", *(_short(metric.value) for metric in lost.survey))
    table.add_row("exact data", *(_short(metric.exact) for metric in lost.survey), style="dim")
    table.add_row("one class for all", *(_short(metric.one_class) for metric in lost.survey), style="dim")
    for name in lost.ncp:
        table.add_row(Text(f"  {name}"), *(_short(metric.columns[name]) for metric in lost.survey))
    return table


def cube(found: Cube) -> Table:
    """How far group-bys of the release are from those of the original: one row per level."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("level", "group-bys", "divergence", "least", "most", "of"):
        table.add_column(title, justify="left" if title == "of" else "right")
    for level in found.levels:
        worst = max(level.group_bys, key=lambda one: one.divergence)
        least = min(one.divergence for one in level.group_bys)
        table.add_row(
            str(level.level),
            f"{len(level.group_bys):,}",
            *(_short(number) for number in (level.divergence, least, worst.divergence)),
            Text(f"{', '.join(worst.columns)} by {found.of}"),
        )
    return table


def range_counts(found: RangeCounts) -> Table:
    """How well random queries are answered."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("what")
    table.add_column("number", justify="right")
    table.add_column("meaning", style="dim")
    of = f" and {found.of}" if found.of else ""
    table.add_row("range counts", f"{found.queries:,}", Text(f"random queries over quasi-identifiers{of}"))
    table.add_row(
        "  median error", f"{100 * found.median:.3g} %", f"of the true count, or of {found.sanity:.2%} of all"
    )
    table.add_row("  mean error", f"{100 * found.mean:.3g} %", f"{100 * found.largest:.3g} % at most")
    return table


def set_requirement(found: dict[str, Any]) -> Table:
    """Asked, achieved, holds of a release of sets."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("requirement", "asked", "achieved", "holds"):
        table.add_column(title, justify="left" if title in ("requirement", "holds") else "right")
    verdict = Text("yes", "green") if found["holds"] else Text("no", "red")
    table.add_row(found["name"], f"{found['asked']:,}", f"{found['achieved']:,}", verdict)
    return table


def set_metrics(found: dict[str, Any]) -> Table:
    """What a release of sets keeps."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("what")
    table.add_column("number", justify="right")
    table.add_column("meaning", style="dim")
    table.add_row("utility kept", f"{100 * found['utility_kept']:.2f} %", f"{_number(found['utility'])} in all")
    table.add_row(
        "instances kept", f"{100 * found['instances_kept']:.2f} %", f"{found['instances']:,} items of records"
    )
    table.add_row("items kept", f"{100 * found['items_kept']:.2f} %", f"{found['items']:,} are published for somebody")
    table.add_row("different sets", f"{found['classes']:,}", f"{found['average_class_size']:.1f} records on average")
    table.add_row("empty", f"{found['empty']:,}", "records publish nothing")
    return table


def _short(number: float) -> str:
    """Four digits, a dash for what is not known.

    >>> _short(0.123456), _short(1400000.0), _short(float("nan")), _short(0.0)
    ('0.1235', '1,400,000', '–', '0')
    """
    if number != number:
        return "–"
    if number == float("inf"):
        return "∞"
    if float(number).is_integer() and abs(number) < 1e12:
        return f"{int(number):,}"
    return f"{number:.4g}" if abs(number) < 1000 or abs(number) >= 1e12 else f"{number:,.0f}"


def _add_task(table: Table, task: TaskLoss) -> None:
    """The rows of one task of the workload."""
    from rothko.release.loss import AggregateLoss, ClassifyLoss, RegressLoss, SelectLoss

    match task:
        case ClassifyLoss():
            whole = f"bits of entropy within classes; {task.entropy:.4f} in the whole table"
            table.add_row(Text(f"classify {task.target}"), f"{task.conditional_entropy:.4f}", whole)
            share = f"{100 * task.classification_metric:.2f} %"
            table.add_row("", share, "of records do not have the most frequent label of their class")
        case RegressLoss():
            whole = f"squared error within classes; {_number(task.variance)} in the whole table"
            table.add_row(Text(f"regress {task.target}"), _number(task.wmse), whole)
        case SelectLoss():
            told = f"records too many: {_number(task.returned)} are returned and {_number(task.matching)} satisfy it"
            table.add_row(Text(f"select {task.where}"), _number(task.imprecision), Text(task.why or told))
        case AggregateLoss() if task.is_public:
            told = "answers from published statistics; rothko measure tells how good they are"
            table.add_row("aggregate", f"{len(task.answers)}", told)
        case AggregateLoss():
            for one in task.answers:
                where = f" where {one.where}" if one.where else ""
                table.add_row(Text(f"{one.function} of {one.of}{where}"), _number(one.answer), _told(one))


def _told(one: Answer) -> str:
    """What there is to say about an answer."""
    told = f"the original says {_number(one.truth)}"
    if one.error is not None:
        told += f", error {100 * one.error if one.error > ROUNDING else 0:.3g} %"
    if one.unanswered:
        told += f"; nothing is said about {one.unanswered:,} records"
    return told


def _penalty(penalty: float) -> str:
    return "–" if penalty != penalty else f"{penalty:.4f}"


def _number(number: float | None) -> str:
    """A number as a person reads it, a dash for one that is not told.

    >>> _number(1234567.0), _number(0.5), _number(None)
    ('1,234,567', '0.5000', '–')
    """
    if number is None:
        return "–"
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:,.4f}" if abs(number) >= 0.001 else f"{number:.4g}"


def proposals(found: Draft) -> Table:
    """What was proposed for each column, and why."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("column", "role", "values", "distinct", "missing", "why"):
        table.add_column(title, justify="right" if title in ("distinct", "missing") else "left", overflow="fold")
    for one in found.proposals:
        table.add_row(
            Text(one.name),
            one.column.role.value,
            one.type,
            f"{one.distinct:,}",
            f"{one.missing:,}" if one.missing else "",
            Text(one.why),
        )
    return table

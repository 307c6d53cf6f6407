"""What a person sees: progress on standard error, results on standard output."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console, OverflowMethod
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rothko import json_text
from rothko.bar import drawn
from rothko.cli import bars, log
from rothko.cli.options import asked
from rothko.cli.streams import showable

if TYPE_CHECKING:
    from rothko.metrics.cube import Cube
    from rothko.metrics.told import Row
    from rothko.policy.draft import Draft
    from rothko.progress import Progress as Report
    from rothko.release.loss import Loss
    from rothko.release.verify import Verification

WIDTH = 140
"""Of tables that go to a file or a pipe, which have no width of their own."""
ROOMY = 100
"""A terminal that is so wide has room for bars beside texts that are folded anyway."""
GAP, READABLE = 2, 24
"""Letters between two columns, and letters of a line that a reason can be read in."""


class Talk(Console):
    """A console that says nothing where that is asked for; standard error is for events alone where these are."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print, unless there is to be quiet."""
        if not asked("quiet") and not (self.stderr and asked("log")):
            super().print(*objects, **options)


out = Talk(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
err = Talk(stderr=True, highlight=False, width=None if sys.stderr.isatty() else WIDTH)


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Report]:
    """A progress bar for runs of more than a second, on a terminal; elsewhere a line for each stage, if asked for."""
    from rothko.kernels.compiling import told

    if asked("log"):
        with log.stages() as stages, told(stages):
            yield stages
        return
    quiet = quiet or asked("quiet")
    lines = asked("verbose") and not err.is_terminal and not quiet
    since = time.monotonic()

    def begun(stage: str) -> None:
        if lines:
            err.print(f"{time.monotonic() - since:6.1f} s  {stage}", markup=False)

    with drawn(err, shown=err.is_terminal and not quiet, begun=begun) as report, told(report):
        yield report


def json(data: Any, form: str | None = None) -> None:
    """Print plain data as JSON that is valid in the encoding of standard output.

    Parameters
    ----------
    form
        What it is called in :mod:`rothko.cli.json_schemas`, where the data does not say it itself.
    """
    data = data if form is None else {"format": f"rothko {form} 1", **data}
    text = json_text.dump(data)
    can_show = showable(text, sys.stdout.encoding) == text
    print(text if can_show else json_text.dump(data, ascii_only=True), flush=True)


def policy(found: Draft) -> None:
    """Print the policy of a draft as a file that any editor saves as it is: policies are read as UTF-8."""
    unicode = (sys.stdout.encoding or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8")
    print(found.to_yaml(ascii_only=not unicode), end="", flush=True)


def paragraphs(*, quiet: bool = False) -> Callable[[Table], None]:
    """Prints tables one after the other, with an empty line between them."""
    printed = 0

    def show(table: Table) -> None:
        nonlocal printed
        if quiet:
            return
        if printed:
            out.print()
        out.print(table)
        printed += 1

    return show


def headed(*titles: str, left: Collection[str], overflow: OverflowMethod = "ellipsis") -> Table:
    """A table without lines; its columns stand on the right, but for those that are named ``left``."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in titles:
        table.add_column(Text(title), justify="left" if title in left else "right", overflow=overflow)
    return table


def facts(rows: Iterable[Row]) -> Table:
    """What, how much, and what that means; with bars on a terminal."""
    told = list(rows)
    plain = bars.plainly(out)

    def make(barred: bool) -> Table:
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column("what")
        table.add_column("number", justify="right")
        if barred:
            table.add_column("drawn")
        table.add_column("meaning", style="dim")
        for row in told:
            drawn = [bars.beside(row.shares, plain=plain)] if barred else []
            table.add_row(Text(row.what), Text(row.number), *drawn, Text(row.meaning))
        return table

    return bars.drawn(out, make) if any(row.shares for row in told) else make(False)


def requirements(found: Verification) -> Table:
    """Asked, achieved, holds: one row per requirement; on a terminal with the share of records that it holds for."""
    return bars.drawn(out, lambda barred: _requirements(found, barred))


def _requirements(found: Verification, barred: bool) -> Table:
    plain = bars.plainly(out)
    table = headed("requirement", "asked", "achieved", *[""] * barred, "holds", left=("requirement", "", "holds"))
    for finding in found.findings:
        verdict = (
            Text("yes", "green")
            if finding.holds
            else Text(
                f"no: {finding.violating_classes:,} of {finding.classes:,} classes, "
                f"{finding.violating_records:,} records",
                "red",
            )
        )
        drawn = [bars.bar(1 - finding.violating_records / max(found.rows, 1), plain=plain)] if barred else []
        table.add_row(Text(finding.subject), f"{finding.asked:g}", f"{finding.achieved:g}", *drawn, verdict)
    return table


def losses(lost: Loss) -> Table:
    """Loss in numbers."""
    from rothko.metrics.registry import METRICS

    tellers = [METRICS[name].told for name in ("gcp", "classes", "suppressed", "discernibility", "ncp")]
    rows = [row for told in tellers if told is not None for row in told(lost)]
    teller = METRICS["bound"].told
    if lost.bound is not None and teller is not None:
        rows[1:1] = teller(lost.bound)
    for task in lost.workload:
        told = METRICS[task.task].told
        rows += told(task) if told is not None else []
    return facts(rows)


def survey(lost: Loss) -> Iterator[Table]:
    """The other metrics of the literature: a column each, with what exact data and one class would give.

    Where a terminal has no room for all columns, there are several tables: a number that is cut is none.
    """
    from rothko.metrics.told import short

    first = "lower is better"
    names = {"release": "", "exact data": "dim", "one class for all": "dim"} | {f"  {name}": "" for name in lost.ncp}
    columns = []
    for one in lost.survey:
        title = one.name.replace("_", " ") + ("" if one.direction == first else ", higher")
        numbers = [one.value, one.exact, one.one_class, *(one.columns[name] for name in lost.ncp)]
        columns.append([title, *map(short, numbers)])
    labels = [first, *names]
    if out.is_terminal and _width([labels, *columns]) > out.width:
        columns = [[title.replace(" ", "\n"), *cells] for title, *cells in columns]
    while columns:
        some = len(columns)
        while some > 1 and out.is_terminal and _width([labels, *columns[:some]]) > out.width:
            some -= 1
        now, columns = columns[:some], columns[some:]
        table = headed(labels[0], *(column[0] for column in now), left=(labels[0],))
        for (name, style), *cells in zip(names.items(), *(column[1:] for column in now), strict=True):
            table.add_row(Text(name), *cells, style=style)
        yield table


def _width(columns: Iterable[Sequence[str]]) -> int:
    """Letters that a table takes whose cells may be of several lines."""
    return sum(2 + max(len(line) for cell in cells for line in cell.split("\n")) for cells in columns) - 2


def cube(found: Cube) -> Table:
    """How far group-bys of the release are from those of the original: one row per level."""
    return bars.drawn(out, lambda barred: _cube(found, barred))


def _cube(found: Cube, barred: bool) -> Table:
    from rothko.metrics.told import short

    plain = bars.plainly(out)
    table = headed("level", "group-bys", "divergence", *[""] * barred, "least", "most", "of", left=("", "of"))
    largest = max((level.divergence for level in found.levels), default=0.0) or 1.0
    for level in found.levels:
        worst = max(level.group_bys, key=lambda one: one.divergence)
        least = min(one.divergence for one in level.group_bys)
        drawn = [bars.bar(level.divergence / largest, plain=plain)] if barred else []
        table.add_row(
            str(level.level),
            f"{len(level.group_bys):,}",
            short(level.divergence),
            *drawn,
            *(short(number) for number in (least, worst.divergence)),
            Text(f"{', '.join(worst.columns)} by {found.of}"),
        )
    return table


def set_requirement(found: dict[str, Any]) -> Table:
    """Asked, achieved, holds of a release of sets."""
    table = headed("requirement", "asked", "achieved", "holds", left=("requirement", "holds"))
    verdict = Text("yes", "green") if found["holds"] else Text("no", "red")
    table.add_row(found["name"], f"{found['asked']:,}", f"{found['achieved']:,}", verdict)
    return table


def set_metrics(found: dict[str, Any]) -> Table:
    """What a release of sets keeps."""
    from rothko.metrics.told import Row, number

    shares = {
        "utility kept": (found["utility_kept"], f"{number(found['utility'])} in all"),
        "instances kept": (found["instances_kept"], f"{found['instances']:,} items of records"),
        "items kept": (found["items_kept"], f"{found['items']:,} are published for somebody"),
    }
    return facts(
        [
            *(Row(what, f"{100 * share:.2f} %", meaning, (share,)) for what, (share, meaning) in shares.items()),
            Row("different sets", f"{found['classes']:,}", f"{found['average_class_size']:.1f} records on average"),
            Row("empty", f"{found['empty']:,}", "records publish nothing"),
        ]
    )


def proposals(found: Draft, to: Console) -> Table:
    """What was proposed for each column, and why; on a terminal with how many records have a value of their own."""
    if to.is_terminal and not _has_room(found, to.width):
        return _listed(found)
    return _proposals(found, to.is_terminal and to.width >= ROOMY, plain=bars.plainly(to))


def _has_room(found: Draft, width: int) -> bool:
    """Whether reasons have a column's room beside all that stands before them."""
    cells = [(one.name, one.column.role.value, one.type) for one in found.proposals]
    before = sum(max(map(len, column)) for column in zip(*cells, strict=True)) + len("distinctmissing")
    return before + 5 * GAP + READABLE <= width


def _listed(found: Draft) -> Table:
    """The same for a narrow terminal: a line for each column, and its reason below."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(overflow="fold")
    for one in found.proposals:
        missing = f", {one.missing:,} missing" if one.missing else ""
        about = f"  {one.column.role.value}: {one.type}, {one.distinct:,} distinct{missing}"
        table.add_row(Text.assemble((one.name, "bold"), about))
        table.add_row(Padding(Text(one.why, "dim"), (0, 0, 0, 2)))
    return table


def _proposals(found: Draft, barred: bool, *, plain: bool) -> Table:
    left = ("column", "role", "values", "", "why")
    titles = ("column", "role", "values", "distinct", *[""] * barred, "missing", "why")
    table = headed(*titles, left=left, overflow="fold")
    for one in found.proposals:
        drawn = [bars.bar(one.distinct / max(found.rows, 1), plain=plain)] if barred else []
        table.add_row(
            Text(one.name),
            one.column.role.value,
            one.type,
            f"{one.distinct:,}",
            *drawn,
            f"{one.missing:,}" if one.missing else "",
            Text(one.why),
        )
    return table

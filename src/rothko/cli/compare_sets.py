"""``rothko compare --sets``: what methods for records that are sets keep at several k."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from rothko.sets.comparison import SetFrontier, SetTrial


def run(data: Path, *, quiet: bool, **asked: Any) -> SetFrontier:
    """Methods on records that are sets, with progress."""
    from rothko.cli import console
    from rothko.sets.comparison import compare

    with console.progress(quiet=quiet) as report:
        return compare(data, progress=report, **asked)


def show(found: SetFrontier) -> None:
    """What was found, and what its requirements promise where that is less than k-anonymity."""
    from rothko.cli import compare, console
    from rothko.sets.flow import ADVERSARIES

    console.out.print(
        f"{found.records:,} records, {found.items:,} items, {found.instances:,} items of records", markup=False
    )
    console.out.print()
    console.out.print(_trials(found))
    for reason in compare.reasons(found):
        console.out.print(reason, markup=False)
    for name in found.requirements:
        if name != "k-anonymity":
            console.out.print(f"{name}: {ADVERSARIES[name]}", markup=False, style="dim")
    for note in found.notes:
        console.out.print(note, markup=False, style="dim")


def _trials(found: SetFrontier) -> Table:
    """A row for each trial; the most utility at each k is bold, for each requirement."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method")
    table.add_column("requirement")
    for title in ("k", "utility kept", "instances kept", "items kept", "average", "partition", "whole"):
        table.add_column(title, justify="right")
    highest: dict[tuple[str, int], float] = {}
    for trial in found.trials:
        if trial.metrics is not None:
            at = trial.requirement, trial.k
            highest[at] = max(highest.get(at, 0.0), trial.metrics.utility_kept)
    for trial in found.trials:
        kept = None if trial.metrics is None else trial.metrics.utility_kept
        best = kept is not None and kept == highest[trial.requirement, trial.k]
        numbers = [Text(text, "bold" if best and i == 0 else "") for i, text in enumerate(_numbers(trial))]
        table.add_row(Text(trial.method), trial.requirement, f"{trial.k:,}", *numbers)
    return table


def _numbers(trial: SetTrial) -> list[str]:
    kept = trial.metrics
    if kept is None or trial.partition_seconds is None or trial.seconds is None:
        return ["–"] * 6
    return [
        *(f"{100 * part:.2f} %" for part in (kept.utility_kept, kept.instances_kept, kept.items_kept)),
        f"{kept.average_class_size:,.1f}", f"{trial.partition_seconds:.2f} s",
        f"{trial.seconds:.2f} s",
    ]  # fmt: skip

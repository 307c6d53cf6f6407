"""A comparison as a page: points that can be chosen, by pointer or by keyboard, for the command behind each of them.

The numbers are about the records, so the page is for whoever may see these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rothko.comparison.pictures import plots
from rothko.comparison.trials import Frontier, Trial
from rothko.plots.model import Plot, Points
from rothko.report import page
from rothko.report.page import Html, Section


@dataclass(frozen=True, slots=True)
class Making:
    """How the release of a trial is made."""

    command: str
    """What to type."""
    policy: str | None = None
    """What must stand in the policy file that the command names, where it is not there yet."""


def sheet(found: Frontier[Any], making: Callable[[Any], Making]) -> str:
    """The page of a comparison.

    Parameters
    ----------
    making
        Trial → how its release is made.
    """
    words = {id(trial): f"trial-{at}" for at, trial in enumerate(found.trials, 1)}
    frontier, *others = sorted(plots(found), key=lambda plot: plot.name != "frontier")
    opening = [page.figure(linked(found, frontier, words)), page.chosen("Choose a point: its command stands here.")]
    ran = [trial for trial in found.trials if trial.lost is not None]
    commands = [block for trial in ran for block in _command(found, trial, making(trial), words[id(trial)])]
    drawn = page.side_by_side(page.figure(linked(found, one, words)) for one in others)
    sections = [
        Section("trials", "Every trial", [_table(found, words), *_reasons(found)]),
        Section("more", "Loss and time", [drawn]),
    ]
    if commands:
        sections.append(Section("commands", "The command of each trial", commands))
    title = f"{len(found.trials)} trials on {found.records:,} records"
    lead = (
        f"Every point is a method at one {found.by}. On the broad line nothing that was tried loses less at as large a "
        f"{found.by}. Nothing is released yet: choose a point, and type its command."
    )
    footer = ["These numbers are about the records, and so are themselves information: for whoever may see these."]
    return page.page(title, lead, Html("".join(one.text for one in opening)), sections, footer, mark="", chooses=True)


def linked(found: Frontier[Any], plot: Plot, words: dict[int, str]) -> Plot:
    """The plot with every point leading to its trial; points stand in the order of the trials of their method.

    It is smaller than a file by itself, so that its letters can be read on a phone.
    """
    places = {
        method: tuple(words[id(one)] for one in found.trials if one.method == method and one.lost is not None)
        for method in found.methods
    }
    marks = [replace(mark, links=places[mark.label]) if isinstance(mark, Points) else mark for mark in plot.marks]
    return replace(plot, marks=tuple(marks), width=480, height=300)


def _table(found: Frontier[Any], words: dict[int, str]) -> Html:
    best = set(map(id, found.best))
    rows = []
    for trial in found.trials:
        name = trial.told(found.by)
        ran = trial.lost is not None
        rows.append(
            [
                page.link(words[id(trial)], name) if ran else name,
                f"{trial.lost:.4f}" if trial.lost is not None else "–",
                f"{trial.partition_seconds:.2f} s" if trial.partition_seconds is not None else "–",
                "unbeaten" if id(trial) in best else "",
            ]
        )
    titles = ["trial", found.loss_name, "partition", "standing"]
    return page.table("Methods, what they lose, and how long they take", titles, rows, texts=(3,))


def _reasons(found: Frontier[Any]) -> list[Html]:
    """Why some could not be run."""
    told = found.reasons
    return [page.heading("What could not be run"), page.bullets(told)] if told else []


def _command(found: Frontier[Any], trial: Trial, making: Making, word: str) -> list[Html]:
    about = [f"{found.loss_name} {trial.lost:.4f}."]
    if making.policy is not None:
        about.append("Save the policy under the name that the command has for it, first.")
    blocks = [page.text(*about), page.code(making.command)]
    if making.policy is not None:
        blocks.append(page.folded("The policy", page.code(making.policy)))
    return [page.entry(word, trial.told(found.by), blocks)]

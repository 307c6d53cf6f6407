"""Plots of a comparison: loss against k or l, the frontier of privacy and loss, and time.

The same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

from rothko.plots.model import Axis, Band, Mark, Plot, Points, Rule, dump
from rothko.plots.png import need as need
from rothko.plots.png import png
from rothko.plots.svg import drawn
from rothko.policy.varied import By

Shows = Literal["loss", "frontier", "time"]
"""The plots of a comparison."""


class Tried(Protocol):
    """What is drawn of a trial."""

    @property
    def method(self) -> str:
        """What it is called."""

    @property
    def lost(self) -> float | None:
        """What is lost, from 0 to 1; None where it could not be run."""

    @property
    def partition_seconds(self) -> float | None:
        """Time to group the records."""

    def at(self, by: By) -> float:
        """Its k, or its l."""

    def told(self, by: By) -> str:
        """Which trial it is, in words."""


class Found(Protocol):
    """What is drawn of a comparison, of methods on a table or on sets: GCP is lost, or utility."""

    @property
    def loss_name(self) -> str:
        """What is lost."""

    @property
    def records(self) -> int:
        """How many there are."""

    @property
    def by(self) -> By:
        """What varies."""

    @property
    def trials(self) -> Sequence[Tried]:
        """All of them."""

    @property
    def methods(self) -> Sequence[str]:
        """In the order in which they were asked for."""

    @property
    def fronts(self) -> Mapping[str, Sequence[Tried]]:
        """Requirement → the trials that no other one beats."""

    @property
    def max_loss(self) -> float | None:
        """The bound on what is lost, where there is one."""


FRONTS = (6, 4)
"""Tones of the best of all methods, or of those that meet the same requirement."""
FAR = 8
"""A scale of ratios is taken where the largest is so many times the smallest."""


def plots(found: Found) -> tuple[Plot, ...]:
    """Every plot of a comparison."""
    return tuple(plot(found) for plot in (_loss, _frontier, _time))


def draw(found: Found) -> dict[str, bytes]:
    """Name of the file → its bytes, for every plot, and for the plain data that all are drawn from."""
    made = plots(found)
    files = {"plots.json": dump(made).encode()}
    for plot in made:
        svg = drawn(plot, alone=True)
        files |= {f"{plot.name}.svg": f"{svg}\n".encode(), f"{plot.name}.png": png(svg)}
    return files


def _of(found: Found, method: str) -> list[Tried]:
    """The trials of a method that have a loss."""
    return [trial for trial in found.trials if trial.method == method and trial.lost is not None]


def _points(
    found: Found, x: Callable[[Tried], float], y: Callable[[Tried], float], *, joined: bool = True
) -> list[Mark]:
    """A line for each method that could be run, in a tone and with a sign of its own."""
    marks: list[Mark] = []
    for at, method in enumerate(found.methods):
        some = _of(found, method)
        if not some:
            continue
        tips = tuple(f"{one.told(found.by)}: {found.loss_name} {_lost(one):.4f}" for one in some)
        marks.append(Points(method, tuple(map(x, some)), tuple(map(y, some)), tips, at, at, joined))
    return marks


def _loss(found: Found) -> Plot:
    marks = _points(found, lambda one: one.at(found.by), _lost)
    if found.max_loss is not None:
        marks.append(Rule("bound", found.max_loss, across=True))
    about = f"What methods lose at each {found.by}: {_axis(found)}."
    return _plot("loss", f"{found.records:,} records", about, _asked(found), _losses(found), marks)


def _frontier(found: Found) -> Plot:
    marks: list[Mark] = []
    for (name, front), tone in zip(found.fronts.items(), FRONTS, strict=False):
        best = sorted(front, key=lambda trial: (trial.at(found.by), _lost(trial)))
        places = tuple(map(_lost, best)), tuple(trial.at(found.by) for trial in best)
        marks.append(Band(f"best of {name}", *places, tone))
    marks += _points(found, _lost, lambda one: one.at(found.by), joined=False)
    if found.max_loss is not None:
        marks.append(Rule("bound", found.max_loss))
    about = f"{found.by} against what is lost; nothing that was tried loses less at its {found.by} than the broad line."
    return _plot("frontier", "Privacy against loss", about, _losses(found), _asked(found), marks)


def _time(found: Found) -> Plot:
    marks = _points(found, lambda one: one.at(found.by), _seconds)
    times = [_seconds(trial) for trial in found.trials if trial.lost is not None] or [0.1, 1.0]
    axis = Axis("seconds", 0.8 * min(times), 1.25 * max(times), "log")
    about = f"Seconds to partition {found.records:,} records at each {found.by}."
    return _plot("time", f"Partitioning {found.records:,} records", about, _asked(found), axis, marks)


def _plot(name: str, title: str, about: str, x: Axis, y: Axis, marks: Sequence[Mark]) -> Plot:
    return Plot(name, title, about, x, y, tuple(marks), width=620, height=360)


def _asked(found: Found) -> Axis:
    """K or l: on a scale of ratios where they reach far, with the values that were run as its marks."""
    ran = [trial for trial in found.trials if trial.lost is not None] or found.trials
    values = sorted({trial.at(found.by) for trial in ran})
    low, high = values[0], values[-1]
    far = low > 0 and high / low >= FAR
    room = (0.9, 1.1) if far else (1.0, 1.0)
    edge = 0.0 if far else max((high - low) * 0.04, 0.5)
    ticks = tuple(values) if len(values) <= 12 else ()
    return Axis(found.by, low * room[0] - edge, high * room[1] + edge, "log" if far else "linear", ticks=ticks)


def _losses(found: Found) -> Axis:
    most = max([trial.lost for trial in found.trials if trial.lost is not None] or [1.0])
    return Axis(_axis(found), 0, max(1.05 * max(most, found.max_loss or 0.0), 1e-6))


def _axis(found: Found) -> str:
    return f"{found.loss_name}: 0 exact … 1 nothing said"


def _lost(trial: Tried) -> float:
    assert trial.lost is not None
    return trial.lost


def _seconds(trial: Tried) -> float:
    return max(trial.partition_seconds or 0.0, 1e-6)

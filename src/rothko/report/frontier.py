"""Plots of a comparison: loss against k or l, the frontier of privacy and loss, and time.

Drawn by matplotlib, which the extra ``report`` brings: it renders to SVG and PNG by itself, without a browser or a
network. The same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from rothko.comparison.trials import Frontier, Trial
from rothko.errors import MissingExtraError

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter
except ModuleNotFoundError:
    raise MissingExtraError(
        'Plots need matplotlib: pip install "rothko[report]", or leave them out with --no-plots'
    ) from None

STYLE: Any = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "svg.hashsalt": "rothko",
}
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#8C6D31")
"""Okabe and Ito's colours, which remain apart for those who do not see all colours; markers say the same again."""
FRONTS = ("#999999", "#DDCC99")
"""Behind the points: the best of all methods, or of those that meet the same requirement."""
MARKERS = "osD^vPX*"

Found = Frontier[Any]
"""Of methods on a table, or on sets: GCP is lost, or utility."""


def draw(found: Found) -> dict[str, bytes]:
    """Name of the file → its bytes, for every plot."""
    drawn = {}
    with rc_context(STYLE):
        for name, plot in PLOTS.items():
            figure = Figure(figsize=(6.4, 3.8), layout="constrained")
            plot(figure.add_subplot(), found)
            for ending, options in ENDINGS.items():
                file = BytesIO()
                figure.savefig(file, format=ending, **options)
                drawn[f"{name}.{ending}"] = file.getvalue()
    return drawn


def _of(found: Found, method: str) -> list[Trial]:
    """The trials of a method that have a loss."""
    return [trial for trial in found.trials if trial.method == method and trial.lost is not None]


def _ink(found: Found, method: str) -> dict[str, Any]:
    at = found.methods.index(method)
    return {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)], "label": method}


def _loss(axes: Axes, found: Found) -> None:
    for method in found.methods:
        some = _of(found, method)
        axes.plot([trial.at(found.by) for trial in some], [_lost(trial) for trial in some], **_ink(found, method))
    if found.max_loss is not None:
        axes.axhline(found.max_loss, color="#000000", linestyle="--", linewidth=1, label="bound")
    axes.set(title=f"{found.records:,} records", xlabel=found.by, ylabel=_axis(found))
    axes.set_ylim(0)
    _scale(axes, found, "x")
    axes.legend()


def _frontier(axes: Axes, found: Found) -> None:
    for (name, front), colour in zip(found.fronts.items(), FRONTS, strict=False):
        best = sorted(front, key=lambda trial: (trial.at(found.by), _lost(trial)))
        axes.plot(
            [_lost(trial) for trial in best], [trial.at(found.by) for trial in best], color=colour, linewidth=4,
            alpha=0.5, label=f"best of {name}", solid_capstyle="round",
        )  # fmt: skip
    for method in found.methods:
        some = _of(found, method)
        ink = _ink(found, method) | {"linestyle": "none"}
        axes.plot([_lost(trial) for trial in some], [trial.at(found.by) for trial in some], **ink)
    if found.max_loss is not None:
        axes.axvline(found.max_loss, color="#000000", linestyle="--", linewidth=1, label="bound")
    axes.set(title="privacy against loss", xlabel=_axis(found), ylabel=found.by)
    axes.set_xlim(0)
    _scale(axes, found, "y")
    axes.legend()


def _time(axes: Axes, found: Found) -> None:
    for method in found.methods:
        some = _of(found, method)
        times = [trial.partition_seconds or 0.0 for trial in some]
        axes.plot([trial.at(found.by) for trial in some], times, **_ink(found, method))
    axes.set(title=f"partitioning {found.records:,} records", xlabel=found.by, ylabel="seconds", yscale="log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    _scale(axes, found, "x")
    axes.legend()


def _axis(found: Found) -> str:
    return f"{found.loss_name}: 0 exact … 1 nothing said"


def _lost(trial: Trial) -> float:
    assert trial.lost is not None
    return trial.lost


def _scale(axes: Axes, found: Found, side: str) -> None:
    """Put k and l on a scale of ratios where they reach far, with the values that were run as its marks."""
    values = sorted({trial.at(found.by) for trial in found.trials})
    axis = axes.xaxis if side == "x" else axes.yaxis
    if len(values) > 1 and values[0] > 0 and values[-1] / values[0] >= 8:
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
        axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(ScalarFormatter())
    if len(values) <= 12:
        (axes.set_xticks if side == "x" else axes.set_yticks)(values, [f"{value:g}" for value in values])
    elif axis.get_scale() == "linear":
        axis.set_major_locator(MaxNLocator(integer=True))


PLOTS: dict[str, Callable[[Axes, Found], None]] = {"loss": _loss, "frontier": _frontier, "time": _time}
ENDINGS: dict[str, dict[str, Any]] = {
    "svg": {"metadata": {"Date": None}},
    "png": {"dpi": 120, "metadata": {"Software": None}},
}

"""Workload-aware anonymization: the experiments of LeFevre, DeWitt, Ramakrishnan, TODS 2008, section 4.

Figs. 6 to 13. The same experiments are in their KDD 2006 paper. What they compare with, Top-Down Specialization, has
its column from :mod:`experiments.refine`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from experiments import real, synthetic
from experiments.protocol import Settings, Spread, spread_over
from experiments.runs import Keep, Results, Running, keep_nothing, processes


def _figure_9(settings: Settings, spread: Spread) -> dict[str, Any]:
    """Regression on synthetic people, and on real ones where there are any."""
    found = synthetic.regression(settings, spread)
    return found if settings.data is None else real.figure_9(settings, spread) | found


FIGURES: dict[str, tuple[str, Callable[[Settings, Spread], dict[str, Any]]]] = {
    "6": ("classification, synthetic", synthetic.figure_6),
    "edges": ("Fig. 6 by corners of regions", synthetic.edges),
    "letter": ("Fig. 6 by InfoGain to the end", synthetic.letter),
    "7": ("classification, real", real.figure_7),
    "8": ("measures without a model", real.figure_8),
    "9": ("regression", _figure_9),
    "10": ("several targets", synthetic.figure_10),
    "11": ("diversity of the label", real.figure_11),
    "12": ("selection, imprecision", synthetic.figure_12),
    "13": ("selection and projection", real.figure_13),
}
"""Number in the paper → what it shows, and what runs it; ``edges`` are Fig. 6 in another form of learning, ``letter``
with cuts to the letter of the paper."""
NEED_DATA = {"7", "8", "11", "13"}


def run(
    settings: Settings, figures: Iterable[str] = FIGURES, *, workers: int = 0, keep: Keep = keep_nothing
) -> Results:
    """Run figures; the results are plain data. Those that need real data are left out where there is none.

    ``keep`` is called with what there is after each figure.
    """
    runs = Running(settings, keep)
    with processes(workers) as pool:
        for number in figures:
            title, figure = FIGURES[number]
            runs.figure(
                number,
                f"Fig. {number:<3} {title}",
                lambda show, figure=figure: figure(settings, spread_over(pool, show)),
                needs_data=number in NEED_DATA,
            )
    return runs.results

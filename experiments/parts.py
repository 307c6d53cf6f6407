"""The parts of the experiments: what runs each, what it claims, and what draws it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from experiments import (
    claims,
    curve_claims,
    curves,
    minimality,
    refine,
    refine_claims,
    scale,
    scale_claims,
    sets,
    sets_claims,
    workload,
)
from experiments.claims import Claim
from experiments.protocol import Settings
from experiments.provenance import code_of, modules_of
from experiments.runs import Keep, Results, read
from rothko.warm import warm


@dataclass(frozen=True, slots=True)
class Part:
    """Figures that are run together, on tables of one kind."""

    name: str
    about: str
    module: str
    """What its results hang on, with all that it imports."""
    figures: Collection[str]
    settings: Callable[[Namespace], Any]
    """How much is run, as the command line asks for it."""
    run: Callable[..., Results]
    claims: Sequence[Claim] = ()
    prefix: str = ""
    """What the files of its figures are called; nothing where none is drawn."""
    side_by_side: bool = True
    """Whether it takes processes; otherwise it is one run at a time, for its times."""
    unused: tuple[str, ...] = ()
    """Modules that it loads with all methods and does not run, so that no result hangs on them."""
    compiled: tuple[str, ...] = ()
    """Methods that are compiled before: those of runs whose memory is measured, which compiling would add to."""

    def saved(self, folder: Path) -> Path:
        """Where its results are kept."""
        return folder / f"{self.name}.json"

    def code(self) -> str:
        """A hash of what its results hang on."""
        return code_of(self.module, self.unused)

    def modules(self) -> dict[str, str]:
        """What its results hang on, a hash of each module."""
        return modules_of(self.module, self.unused)

    def results(self, folder: Path) -> Results:
        """Its results as they were saved, with the column of Top-Down Specialization where that was run, too."""
        found = read(self.saved(folder))
        column = read(folder / "refine.json") if self.name == "workload" and found else {}
        return refine.with_tds(found, column) if column else found

    def __call__(self, asked: Namespace, figures: Sequence[str], keep: Keep) -> Results:
        """Run some of its figures."""
        if self.compiled:
            warm(self.compiled, threads=max(1, asked.workers))
        workers = {"workers": asked.workers} if self.side_by_side else {}
        return self.run(self.settings(asked), figures, keep=keep, **workers)

    @property
    def drawn(self) -> Mapping[str, Any]:
        """What draws each of its figures; not loaded by the processes that run trials."""
        from experiments import curve_figures, figures, refine_figures, scale_figures, sets_figures

        return {
            "figure": figures.DRAWN | scale_figures.DRAWN,
            "curve": curve_figures.DRAWN,
            "survey": curve_figures.DRAWN,
            "sets": sets_figures.DRAWN,
            "refine": refine_figures.DRAWN,
        }.get(self.prefix, {})


SEARCH = (
    "rothko.methods.cluster.peel", "rothko.methods.cluster.price", "rothko.methods.cluster.room",
    "rothko.methods.cluster.search", "rothko.kernels.cluster.chains", "rothko.kernels.cluster.facility",
    "rothko.kernels.cluster.peel", "rothko.kernels.cluster.price", "rothko.kernels.cluster.reprice",
    "rothko.kernels.cluster.sieve", "rothko.kernels.cluster.walk",
)  # fmt: skip
"""What ``cluster`` does above ``effort: fast``, which is all that the curves compare with."""
CLUSTER = ("rothko.methods.cluster.cluster", *SEARCH)
"""The method ``cluster``, but for the repair that others may ask for, too."""
CURVES = ("rothko.kernels.curve", "rothko.methods.curve")
"""The methods along a curve."""


def _workload(asked: Namespace) -> Settings:
    if asked.quick:
        return Settings.quick(asked.trials or 5, asked.data)
    return Settings(asked.trials or Settings().trials, data=asked.data)


def _scale(asked: Namespace) -> scale.Scale:
    size = scale.Scale.quick(asked.data) if asked.quick else scale.Scale(asked.data)
    return replace(size, rows=tuple(asked.rows)) if asked.rows else size


def _curves(asked: Namespace) -> curves.Curves:
    return curves.Curves.quick(asked.data) if asked.quick else curves.Curves(asked.data)


def _survey(asked: Namespace) -> curves.Curves:
    if asked.quick:
        return replace(curves.Curves.quick(asked.data), census="survey")
    return curves.Curves.on_survey(asked.data)


def _sets(asked: Namespace) -> sets.Sets:
    many = sets.Sets.quick(asked.data) if asked.quick else sets.Sets(asked.data)
    return replace(many, targeting=asked.targeting) if asked.targeting else many


def _refine(asked: Namespace) -> refine.Refinement:
    return refine.Refinement.quick(asked.data) if asked.quick else refine.Refinement(asked.data)


def _minimality(asked: Namespace) -> minimality.Setup:
    return minimality.Setup.quick() if asked.quick else minimality.Setup()


PARTS = {
    part.name: part
    for part in (
        Part("workload", "Figs. 6 to 13 of LeFevre et al.", "experiments.workload", workload.FIGURES, _workload,
             workload.run, claims.CLAIMS, "figure", unused=(*CLUSTER, *CURVES)),
        Part("scale", "Figs. 17 to 24 of LeFevre et al.", "experiments.scale", scale.FIGURES, _scale,
             scale.run, scale_claims.CLAIMS, "figure", unused=(*CLUSTER, *CURVES), compiled=("mondrian",)),
        Part("curves", "Figs. 12 to 20 of Ghinita et al., Adult and a made-up census", "experiments.curves",
             curves.FIGURES, _curves, curves.run, curve_claims.CLAIMS, "curve", side_by_side=False, unused=SEARCH),
        Part("survey", "Figs. 13 to 20 of Ghinita et al. on a real census", "experiments.curves",
             curves.SURVEYED, _survey, curves.run, curve_claims.SURVEYED, "survey", side_by_side=False, unused=SEARCH),
        Part("sets", "Figs. 7 to 18, 20, 21, Tables 13 to 15 of Podgursky", "experiments.sets", sets.FIGURES, _sets,
             sets.run, sets_claims.CLAIMS, "sets", side_by_side=False),
        Part("refine", "Top-Down Refinement, and its column in Figs. 6, 7, 13", "experiments.refine",
             refine.FIGURES, _refine, refine.run, refine_claims.CLAIMS, "refine", unused=(*CLUSTER, *CURVES)),
        Part("minimality", "the minimality attack, in all worlds of six people", "experiments.minimality",
             tuple(minimality.LAYOUTS), _minimality, minimality.run,
             unused=CLUSTER),
    )
}  # fmt: skip
"""In the order in which they are run."""

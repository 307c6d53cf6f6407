"""What takes long and may be stopped: a release, and methods side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rothko.comparison.compare import TableFrontier
from rothko.comparison.compare import compare as run_trials
from rothko.comparison.pictures import plots
from rothko.comparison.sheet import linked
from rothko.data.source.csv import CsvOptions
from rothko.flow import prepare, reported
from rothko.kernels.compiling import told
from rothko.policy.decided import method_for
from rothko.policy.policy import Policy
from rothko.release.place import place_of
from rothko.report.page import figure
from rothko.studio.jobs import Telling


@dataclass(frozen=True, slots=True)
class Made:
    """A release in a private folder, verified on its bytes."""

    certificate: dict[str, Any]
    files: tuple[Path, ...]
    """The data, its certificate, and what else everybody may have."""
    recoding: tuple[Path, ...]
    """What is not for publication."""
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compared:
    """Methods side by side."""

    frontier: TableFrontier
    plot: str
    """The frontier as HTML, its points linked to ``#trial-1``, …, in the order of the trials."""


def loaded(telling: Telling) -> None:
    """Nothing: the process has loaded what it needs when it answers."""


def make(
    telling: Telling,
    *,
    data: Any,
    policy: Policy,
    out: Path,
    seed: int = 0,
    engine: str | None = None,
    memory: str | None = None,
    csv: CsvOptions | None = None,
) -> Made:
    """Make a release in a folder, as ``rothko anonymize`` does."""
    method = method_for(policy, engine, recoding=False)
    path = Path(data) if isinstance(data, str | Path) and Path(data).exists() else None
    place = place_of(
        out,
        path,
        policy,
        recoding=method.recodes,
        two_tables=method.two_tables,
        reporter=reported,
        report=True,
    )
    with told(telling.stage):
        release = prepare(
            data,
            policy,
            engine=engine,
            seed=seed,
            memory=memory,
            spill_dir=out.parent,
            csv=csv,
            progress=telling.stage,
        )
        telling.stage("save", 0, 1)
        saved = release.save(place)
        telling.stage("save", 1, 1)
    others = (saved.sensitive_path, saved.certificate_path, saved.report_path)
    files = (saved.data, *(path for path in others if path is not None))
    pictures = () if saved.report_path is None else (saved.report_path.with_suffix(".json"),)
    return Made(saved.certificate.to_dict(), files + pictures, saved.recoding_files, tuple(telling.warnings))


def compare(
    telling: Telling,
    *,
    data: Any,
    policy: Policy,
    methods: Sequence[str],
    k: Sequence[int],
    seed: int = 0,
    csv: CsvOptions | None = None,
) -> Compared:
    """What methods lose at several k."""
    found = run_trials(data, policy, methods=methods, k=k, seed=seed, csv=csv, progress=telling.stage)
    words = {id(trial): f"trial-{at}" for at, trial in enumerate(found.trials, 1)}
    frontier = next(plot for plot in plots(found) if plot.name == "frontier")
    drawn = figure(linked(found, frontier, words)).text
    return Compared(replace(found, trials=tuple(found.trials)), drawn)

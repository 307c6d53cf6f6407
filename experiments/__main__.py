"""``python -m experiments workload``, ``scale``, ``curves``, ``sets``, ``refine``: run experiments, check claims, draw.

``python -m experiments minimality`` enumerates the minimality attack. ``python -m experiments page`` checks and draws
again from saved results, and refreshes the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
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
from experiments.protocol import Settings
from experiments.runs import save

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs"
CLAIMS = {
    "workload": claims.CLAIMS,
    "scale": scale_claims.CLAIMS,
    "curves": curve_claims.CLAIMS,
    "sets": sets_claims.CLAIMS,
    "refine": refine_claims.CLAIMS,
}
"""Part of a paper → what it claims there."""


def main() -> None:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    on_workload = commands.add_parser("workload", help="run Figs. 6 to 13")
    on_workload.add_argument("--data", type=Path, help="folder of real tables; without it their figures are left out")
    on_workload.add_argument("--trials", type=int, default=100, help="synthetic tables for each figure")
    on_scale = commands.add_parser("scale", help="run Figs. 17 to 24")
    on_scale.add_argument("--rows", type=int, nargs="+", help="records of the tables of Figs. 17 to 21")
    on_curves = commands.add_parser("curves", help="run Figs. 12 to 20 of Ghinita et al.")
    on_curves.add_argument("--data", type=Path, help="folder of real tables; without it Fig. 12 is left out")
    on_sets = commands.add_parser("sets", help="run Figs. 7 to 18, 20, 21, Tables 13 to 15 of Podgursky")
    on_sets.add_argument("--data", type=Path, help="folder of real tables; without it Figs. 7 to 18 are left out")
    on_sets.add_argument("--targeting", type=int, metavar="RECORDS", help="of Tables 13 to 15; the thesis has 20616891")
    on_refine = commands.add_parser("refine", help="run accuracy and time of Top-Down Refinement, and its column")
    on_refine.add_argument("--data", type=Path, help="folder of real tables; without it Fig. 1 is left out")
    running = {
        on_workload: workload.FIGURES, on_scale: scale.FIGURES, on_curves: curves.FIGURES, on_sets: sets.FIGURES,
        on_refine: refine.FIGURES,
    }  # fmt: skip
    for command, figures in running.items():
        command.add_argument("--quick", action="store_true", help="fewer of everything: does it run?")
        command.add_argument("--figures", nargs="+", choices=figures, default=list(figures), help="which to run")
        if command not in (on_curves, on_sets):  # their times are of one run at a time
            command.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    page = commands.add_parser("page", help="refresh the documentation from saved results")
    on_minimality = commands.add_parser("minimality", help="attack all worlds of six people and four values")
    on_minimality.add_argument("--quick", action="store_true", help="two values: does it run?")
    for command in (*running, page, on_minimality):
        command.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    if arguments.command == "minimality":
        print(minimality.table(attacked(arguments.quick, arguments.out)))
        return
    if arguments.command == "page":
        if (saved := arguments.out / "minimality.json").exists():
            refresh_minimality(json.loads(saved.read_text("utf-8")), DOCS)
        for part in CLAIMS:
            if (saved := arguments.out / f"{part}.json").exists():
                refresh(part, _beside(part, json.loads(saved.read_text("utf-8")), arguments.out), DOCS)
        return
    saved = arguments.out / f"{arguments.command}.json"
    asked: dict[str, Any] = {"keep": lambda results: save(results, saved)}
    if arguments.command == "curves":
        much = curves.Curves.quick(arguments.data) if arguments.quick else curves.Curves(arguments.data)
        found = curves.run(much, arguments.figures, **asked)
    elif arguments.command == "sets":
        many = sets.Sets.quick(arguments.data) if arguments.quick else sets.Sets(arguments.data)
        many = replace(many, targeting=arguments.targeting) if arguments.targeting else many
        found = sets.run(many, arguments.figures, **asked)
    elif arguments.command == "refine":
        some = refine.Refinement.quick(arguments.data) if arguments.quick else refine.Refinement(arguments.data)
        found = refine.run(some, arguments.figures, workers=arguments.workers, **asked)
    elif arguments.command == "workload":
        most = (arguments.trials, arguments.data)
        settings = Settings.quick(*most) if arguments.quick else Settings(most[0], data=most[1])
        found = workload.run(settings, arguments.figures, workers=arguments.workers, **asked)
    else:
        size = scale.Scale.quick() if arguments.quick else scale.Scale()
        size = replace(size, rows=tuple(arguments.rows)) if arguments.rows else size
        found = scale.run(size, arguments.figures, workers=arguments.workers, **asked)
    found = _beside(arguments.command, save(found, saved), arguments.out)
    _draw(arguments.command, found, arguments.out)
    print(claims.table(claims.checked(found, CLAIMS[arguments.command])))


def attacked(quick: bool, folder: Path) -> dict[str, Any]:
    """What the minimality attack gains, kept layout by layout."""
    setup = minimality.Setup.quick() if quick else minimality.Setup()
    saved = folder / "minimality.json"
    return save(minimality.run(setup, keep=lambda results: save(results, saved)), saved)


def _beside(part: str, results: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Results of the workload experiments with the column of Top-Down Specialization, where that was run."""
    column = folder / "refine.json"
    if part != "workload" or not column.exists():
        return results
    return refine.with_tds(results, json.loads(column.read_text("utf-8")))


def refresh(part: str, results: dict[str, Any], docs: Path) -> None:
    """Write figures, the claims as JSON, and the table of claims in the page."""
    rows = claims.checked(results, CLAIMS[part])
    _draw(part, results, docs / "figures")
    summary = {"settings": results["settings"], "claims": rows}
    saved_claims(part, docs).write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
    _refresh_table(docs, claims.table(rows), part)


def _refresh_table(docs: Path, table: str, part: str) -> None:
    page = docs / "experiments.md"
    page.write_text(with_table(page.read_text("utf-8"), table, part), "utf-8")


def refresh_minimality(results: dict[str, Any], docs: Path) -> None:
    """Keep what the minimality attack gained, without times, and write its table in the page."""
    kept = {name: results[name] for name in ("settings", "figures")}
    (docs / "figures/minimality.json").write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    _refresh_table(docs, minimality.table(kept), "minimality")


def saved_claims(part: str, docs: Path) -> Path:
    """Where the claims are kept as JSON."""
    return docs / ("figures/claims.json" if part == "workload" else f"figures/claims-{part}.json")


def _draw(part: str, results: dict[str, Any], folder: Path) -> None:
    # Not loaded by the processes that run the trials.
    from experiments import curve_figures, figures, refine_figures, scale_figures, sets_figures

    if part == "curves":  # another paper, whose figures have the same numbers
        figures.draw(results, folder, curve_figures.DRAWN, prefix="curve")
    elif part == "sets":
        figures.draw(results, folder, sets_figures.DRAWN, prefix="sets")
    elif part == "refine":
        figures.draw(results, folder, refine_figures.DRAWN, prefix="refine")
    else:
        figures.draw(results, folder, figures.DRAWN | scale_figures.DRAWN)


def with_table(page: str, table: str, part: str = "workload") -> str:
    """The page with another table between its marks."""
    name = {"workload": "claims", "minimality": "minimality"}.get(part, f"claims of {part}")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, rest = page.split(begin)
    return f"{before}{begin}\n{table}\n{end}{rest.split(end)[1]}"


if __name__ == "__main__":
    main()

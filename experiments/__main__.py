"""``python -m experiments workload``: run the paper's experiments, check its claims, draw its figures.

``python -m experiments page`` does the last two again from saved results, and refreshes the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from experiments import claims
from experiments.protocol import Settings
from experiments.workload import FIGURES, run, save

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- claims: begin -->", "<!-- claims: end -->"


def main() -> None:
    """Read the command line and do what it asks."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    workload = commands.add_parser("workload", help="run Figs. 6 to 13")
    workload.add_argument("--data", type=Path, help="folder of real tables; without it their figures are left out")
    workload.add_argument("--trials", type=int, default=100, help="synthetic tables for each figure")
    workload.add_argument("--quick", action="store_true", help="fewer folds, records and values of k")
    workload.add_argument("--figures", nargs="+", choices=FIGURES, default=list(FIGURES), help="which to run")
    workload.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    page = commands.add_parser("page", help="refresh the documentation from saved results")
    for command in (workload, page):
        command.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    saved = arguments.out / "workload.json"
    if arguments.command == "page":
        refresh(json.loads(saved.read_text("utf-8")), DOCS)
        return
    asked = (arguments.trials, arguments.data)
    settings = Settings.quick(*asked) if arguments.quick else Settings(asked[0], data=asked[1])
    found = run(settings, arguments.figures, workers=arguments.workers, keep=lambda results: save(results, saved))
    found = save(found, saved)
    _draw(found, arguments.out)
    print(claims.table(claims.checked(found)))


def refresh(results: dict[str, Any], docs: Path) -> None:
    """Write figures, the claims as JSON, and the table of claims in the page."""
    rows = claims.checked(results)
    _draw(results, docs / "figures")
    summary = {"settings": results["settings"], "claims": rows}
    (docs / "figures/claims.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", "utf-8")
    page = docs / "experiments.md"
    page.write_text(with_table(page.read_text("utf-8"), claims.table(rows)), "utf-8")


def _draw(results: dict[str, Any], folder: Path) -> None:
    # Not loaded by the processes that run the trials.
    from experiments.figures import draw

    draw(results, folder)


def with_table(page: str, table: str) -> str:
    """The page with another table between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    main()

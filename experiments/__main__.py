"""``python -m experiments all``: run the papers' experiments, check their claims, draw, and refresh the page.

Parts are run by their names: ``python -m experiments workload``. What this code has run with these settings is not run
again, so that whoever stops a run can go on with it; ``--again`` runs it all the same. ``python -m experiments page``
checks and draws again from saved results; ``python -m experiments code`` tells which figures of it this code made.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from experiments import claims, minimality, page
from experiments.parts import PARTS, Part
from experiments.runs import Forecast, Results, known, read, save, spelled

RESULTS = Path(__file__).parent / "results"
DOCS = Path(__file__).parent.parent / "docs"


def main(words: Sequence[str] | None = None) -> None:
    """Read the command line and do what it asks."""
    asked = _parser().parse_args(words)
    if asked.command == "code":
        print(page.compared(DOCS))
        return
    asked.out = asked.out or (RESULTS / "quick" if asked.quick else RESULTS)
    parts = list(PARTS.values()) if asked.command in ("all", "page") else [PARTS[asked.command]]
    if asked.command != "page":
        run(parts, asked)
    if asked.command == "all" and asked.quick:
        print("The page is left as it is: this was a quick run.")
    elif asked.command in ("all", "page"):
        for part in parts:
            _refresh(part, asked.out)
        page.refresh_overview(DOCS)
    else:
        _tell(parts[0], asked.out)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="all | page | code | a part")
    made = {"all": commands.add_parser("all", help="all of them, then the page")}
    made |= {name: commands.add_parser(name, help=part.about) for name, part in PARTS.items()}
    made["page"] = commands.add_parser("page", help="refresh the documentation from saved results")
    commands.add_parser("code", help="which figures of the documentation this very code made")
    for name, command in made.items():
        command.add_argument("--out", type=Path, help="folder of the results")
        command.set_defaults(quick=False, figures=None, rows=None, targeting=None, trials=None)
        if name == "page":
            continue
        command.add_argument("--data", type=Path, help="folder of real tables; without it their figures are left out")
        command.add_argument("--quick", action="store_true", help="fewer of everything: does it run?")
        command.add_argument("--again", action="store_true", help="run what was run before, too")
        command.add_argument("--workers", type=int, default=os.cpu_count(), help="processes, where times do not count")
        if name != "all":
            command.add_argument("--figures", nargs="+", choices=list(PARTS[name].figures), help="which to run")
        if name in ("all", "workload"):
            command.add_argument("--trials", type=int, help="synthetic tables for each figure")
        if name == "scale":
            command.add_argument("--rows", type=int, nargs="+", help="records of the tables of Figs. 17 to 21")
        if name == "sets":
            command.add_argument("--targeting", type=int, help="records of Tables 13 to 15; the thesis has 20616891")
    return parser


def run(parts: Sequence[Part], asked: argparse.Namespace) -> None:
    """Run what was not run before, part by part, and say how long it may take."""
    todo = {part.name: _unknown(part, asked) for part in parts}
    left = [f"{name} {figure}" for name, figures in todo.items() for figure in figures]
    forecast = Forecast(_seconds(parts, asked))
    before = sum(len(asked.figures or part.figures) for part in parts) - len(left)
    print(f"{len(left)} figures to run, {before} known; about {spelled(forecast.left(left))}", flush=True)
    for part in parts:
        by = {"code": part.code(), "date": f"{date.today():%Y-%m-%d}"}
        waiting = list(todo[part.name])

        def keep(results: Results, part: Part = part, by: dict[str, str] = by, waiting: list[str] = waiting) -> None:
            made = {"ran": dict.fromkeys(results["figures"], by), "code": {by["code"]: part.modules()}}
            save(results | made, part.saved(asked.out))
            for figure in [one for one in waiting if one in results["figures"]]:
                waiting.remove(figure)
                left.remove(f"{part.name} {figure}")
                forecast.finish(f"{part.name} {figure}")
            print(f"{'':<8}{len(left)} figures left, about {spelled(forecast.left(left))}", flush=True)

        if waiting:
            part(asked, todo[part.name], keep)
        for figure in waiting:  # those that need data which are not there
            left.remove(f"{part.name} {figure}")


def _unknown(part: Part, asked: argparse.Namespace) -> list[str]:
    """The figures that are to be run."""
    ran = set() if asked.again else known(read(part.saved(asked.out)), part.settings(asked), part.code())
    return [figure for figure in asked.figures or part.figures if figure not in ran]


def _seconds(parts: Sequence[Part], asked: argparse.Namespace) -> dict[str, float]:
    """How long figures took before: on this machine, or where the page was made."""
    found: dict[str, float] = {}
    for part in parts:
        places = [part.saved(asked.out)] if asked.quick else [page.saved_claims(part.name, DOCS), part.saved(asked.out)]
        for place in places:
            found |= {f"{part.name} {figure}": took for figure, took in read(place).get("seconds", {}).items()}
    return found


def _tell(part: Part, folder: Path) -> None:
    """Draw what there is of a part, and print its claims."""
    results = part.results(folder)
    if not results:
        return
    page.draw(part, results, folder)
    print(claims.table(claims.checked(results, part.claims)) if part.claims else minimality.table(results))


def _refresh(part: Part, folder: Path) -> None:
    results = part.results(folder)
    missing = [figure for figure in part.figures if figure not in results.get("figures", {})]
    if missing:
        print(f"{part.name}: the page keeps what it has of {', '.join(missing)}, which was not run")
    if results:
        page.refresh(part, results, DOCS)


if __name__ == "__main__":
    main()

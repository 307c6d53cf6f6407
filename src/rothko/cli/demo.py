"""``rothko demo``: all of it on generated data."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from rothko.cli import options


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


Step = tuple[str, str]
"""What a step shows, and its command."""

STEPS: tuple[Step, ...] = (
    ("A hospital's table. What is in it, and how many patients stand alone?", "draft patients.csv --out policy.yaml"),
    (
        "Release it: at least 10 patients in every class, at least 3 diagnoses.",
        "anonymize patients.csv --policy policy.yaml --accept-draft --out release --recoding release-recoding",
    ),
    ("The original does not hold what the release holds.", "check patients.csv --policy policy.yaml"),
    (
        "Anybody can check the release, without trusting the tool that made it.",
        "check release/release.csv --policy policy.yaml",
    ),
    (
        "What was it like before? A page for the steward alone; that for everybody is in the release.",
        "report release --for steward --original patients.csv",
    ),
    ("Every class is a rectangle.", "paint release --x birth_date --y zip --out painting.svg"),
    ("What did it cost?", "measure patients.csv release/release.csv --policy policy.yaml"),
    (
        "Next month's patients join the classes of the release.",
        "apply release-recoding new.csv --out new-recoded.csv",
    ),
    (
        "How would another method do on this table, and at another k?",
        "compare patients.csv --policy policy.yaml --method mondrian,hilbert --k 5,10 --no-plots",
    ),
    (
        "Were it fifty million patients, in 512 MB of memory: what would each engine read and write?",
        "plan -n 5e7 --columns 4 --memory 512MB --no-calibration",
    ),
)

USE: tuple[Step, ...] = (
    ("Other people, of two classes.", "generate agrawal -n 4000 --out people.csv"),
    (
        "Models will predict the class: say so, and the release is cut for them.",
        "anonymize people.csv --policy people.yaml --classify class --out people",
    ),
)
SETS: tuple[Step, ...] = (
    (
        "Records that are sets of items.",
        "generate longtail -n 3000 --items 100 --mean 12 --deviation 6 --least 0.01 --out baskets.txt",
    ),
    ("Each publishes what it shares with others.", "sets baskets.txt --k 10 --method set-two-phase --out shared.txt"),
)
LEARN: Step = (
    "What does a decision tree learn from the original, from this release, and from one that was cut for no use?",
    "evaluate people.csv --policy people.yaml --classify class --models tree --folds 3",
)
PEOPLE = """
columns:
  salary: {role: quasi-identifier}
  age: {role: quasi-identifier}
  elevel: {role: quasi-identifier}
  loan: {role: quasi-identifier}
  commission: {role: identifier}
  car: {role: identifier}
  zipcode: {role: identifier}
  hvalue: {role: identifier}
  hyears: {role: identifier}
  class: {role: sensitive}
privacy:
  - k-anonymity: {k: 25}
"""


def demo(
    rows: Annotated[str, typer.Option("-n", "--rows", help="Patients to make up.")] = "10000",
    seed: options.Seed = 0,
    debug: options.Debug = False,
) -> None:
    """Run every command on made-up patients, in a folder that is removed afterwards."""
    import contextlib
    import importlib.util

    import pyarrow.csv as pcsv

    from rothko.cli import console
    from rothko.generate.patients import patients

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pcsv.write_csv(patients(options.count("-n", rows), seed=seed), "patients.csv")
        pcsv.write_csv(patients(500, seed=seed + 1), "new.csv")
        Path("people.yaml").write_text(PEOPLE, encoding="utf-8")
        for step in STEPS:
            _show(*step)
        console.out.print("\n[bold]Five rows of the release.[/bold]")
        lines = Path("release/release.csv").read_text(encoding="utf-8").splitlines()[:6]
        console.out.print("\n".join(lines), markup=False)
        for step in USE + SETS:
            _show(*step)
        if importlib.util.find_spec("sklearn") is not None:
            _show(*LEARN)
        else:
            console.out.print(
                '\nWhat models learn from it, rothko evaluate tells; it needs pip install "rothko[learn]"', markup=False
            )


def _show(title: str, command: str) -> None:
    from rothko.cli import application, console

    console.out.print(f"\n[bold]{title}[/bold]")
    console.out.print(f"[cyan]$ rothko {command}[/cyan]")
    application()(shlex.split(command), prog_name="rothko", standalone_mode=False)

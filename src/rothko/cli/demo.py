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


STEPS = (
    ("A hospital's table. What is in it, and how many patients stand alone?", "draft patients.csv --out policy.yaml"),
    (
        "Release it: at least 10 patients in every class, at least 3 diagnoses.",
        "anonymize patients.csv --policy policy.yaml --out release",
    ),
    ("The original does not hold what the release holds.", "check patients.csv --policy policy.yaml"),
    (
        "Anybody can check the release, without trusting the tool that made it.",
        "check release/release.csv --policy policy.yaml",
    ),
    ("What did it cost?", "measure patients.csv release/release.csv --policy policy.yaml"),
    (
        "Next month's patients join the classes of the release.",
        "apply release/recoding.json new.csv --out new-recoded.csv",
    ),
)


def demo(
    rows: Annotated[str, typer.Option("-n", "--rows", help="Patients to make up.")] = "10000",
    seed: options.Seed = 0,
    debug: options.Debug = False,
) -> None:
    """Run every command on made-up patients, in a folder that is removed afterwards."""
    import contextlib

    import pyarrow.csv as pcsv

    from rothko.cli import app, console
    from rothko.data.patients import patients

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pcsv.write_csv(patients(options.count("-n", rows), seed=seed), "patients.csv")
        pcsv.write_csv(patients(500, seed=seed + 1), "new.csv")
        for title, command in STEPS:
            console.out.print(f"\n[bold]{title}[/bold]")
            console.out.print(f"[cyan]$ rothko {command}[/cyan]")
            app(shlex.split(command), standalone_mode=False)
        console.out.print("\n[bold]Five rows of the release.[/bold]")
        lines = Path("release/release.csv").read_text(encoding="utf-8").splitlines()[:6]
        console.out.print("\n".join(lines), markup=False)

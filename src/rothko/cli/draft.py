"""``rothko draft``: look at the data, propose a policy."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from rothko.cli import log, options, pipes
from rothko.cli.groups import grouped


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("draft")(grouped(draft))


def draft(
    data: options.Data,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="Where to write the policy; printed by default, and with -.",
            show_default=False,
        ),
    ] = None,
    k: options.K = None,
    missing: options.Missing = "",
    *,
    text: options.TextFile,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    debug: options.Debug = False,
) -> None:
    """Look at the data and propose roles, types, hierarchies and requirements, with the reason for each.

    A draft is a start: read it, correct it, then anonymize.
    """
    from rothko.cli import console
    from rothko.mistakes import some_of
    from rothko.policy.draft import draft as propose
    from rothko.release.claims import claim_files
    from rothko.release.staging import staging

    csv = text.options()
    out = None if out == "-" else out
    claim = claim_files([] if out is None else [out], overwrite=overwrite, inputs=pipes.files(*data))
    found = propose(pipes.table_of(data), csv=csv, missing=options.names(missing) or None, k=options.whole("--k", k, 2))
    if out is not None:
        with staging(claim) as stage:
            stage.write(Path(out), found.to_yaml())
            stage.commit()
    log.counted(found.rows)
    if as_json:
        console.json(found.to_dict(), "draft")
    elif out is None:
        console.policy(found)
    if not as_json:
        # The reasons go to standard error where the policy itself is on standard output.
        to = console.out if out is not None else console.err
        to.print(console.proposals(found, to))
        to.print(f"\n{found.unique:.1%} of {found.rows:,} records are unique on the proposed quasi-identifiers.")
        for note in found.notes:
            to.print(note, markup=False)
        if out is not None:
            asked = ["rothko", "anonymize", *map(pipes.named, data), "--policy", str(out), "--out", "release/"]
            waiting = found.policy.confirm
            if waiting:
                wait = f"look at {some_of(waiting)}; where you agree, delete the name from 'confirm' in {out}"
                to.print(f"\nFirst: {wait}", markup=False, soft_wrap=True)
            to.print(f"{'' if waiting else chr(10)}Next: {shlex.join(asked)}", markup=False, soft_wrap=True)

"""``rothko report``: a page about a release, for everybody or for the steward."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from rothko.cli import options
from rothko.cli.groups import grouped
from rothko.cli.pipes import files
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.release.staging import Claim
    from rothko.report.report import Audience, Report


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(grouped(report))


def report(
    releases: Annotated[
        list[Path],
        typer.Argument(
            metavar="RELEASE...",
            help="Folders, data files or certificates of releases.",
            show_default=False,
        ),
    ],
    audience: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="<who>",
            help="public: what certificate and release tell; steward: how things were before, too.",
            autocompletion=lambda: ["public", "steward"],
        ),
    ] = "public",
    original: Annotated[
        str | None,
        typer.Option(
            "--original", metavar="<path>", help="The table that was released, for the steward.", show_default=False
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            "-p",
            help="The policy, where hierarchies are files beside it.",
            show_default="the certificate's",
        ),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option("--threshold", help="Count records whose risk is above this.", show_default="0.09"),
    ] = None,
    x: options.PaintX = None,
    y: options.PaintY = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="The page (.html); beside the release by default, the steward's in a folder of its own.",
            show_default=False,
        ),
    ] = None,
    overwrite: options.Overwrite = False,
    threads: options.Threads = None,
    *,
    text: options.TextFile,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Write a report about a release: what was asked and holds, what risk remains, what was lost, how to check it.

    One HTML file that needs nothing else, and the JSON of all that is drawn in it. For the public it is made from the
    certificate and the released file alone. For the steward, who gives the original, it has facts of the original, and
    is not for publication.
    """
    from rothko.cli import console
    from rothko.metrics.risk import THRESHOLD
    from rothko.release.certificate import SET_FORMAT
    from rothko.report.released import find_release
    from rothko.report.report import AUDIENCES

    if out is not None and len(releases) > 1:
        raise InputError("--out names one page; leave it out, and every report goes beside its release.")
    if audience not in AUDIENCES:
        raise InputError(f"--for must be {' or '.join(AUDIENCES)}, not {audience!r}.")
    if original is not None and len(releases) > 1:
        raise InputError("--original is the table of one release; report the others by themselves.")
    limit = options.number("--threshold", threshold, 0)
    known = "steward" if audience == "steward" else "public"
    pages = []
    for release in releases:
        data, about = find_release(release)
        read = files(data, original, policy)
        claim = _claim(release, data, out, known, overwrite, read)
        shared = _Shared(cast("Audience", audience), original, THRESHOLD if limit is None else limit, threads)
        if about["format"] == SET_FORMAT:
            told = _of_sets(release, shared, text, {"--policy": policy, "--x": x, "--y": y})
        else:
            told = _of_table(release, shared, policy=policy, x=x, y=y, csv=text.options())
        pages.append(str(told.write(claim)))
        if not as_json:
            console.out.print(pages[-1], markup=False)
    if as_json:
        console.json({"audience": audience, "pages": pages}, "report")


class _Shared(NamedTuple):
    """What is asked of every report."""

    audience: Audience
    original: str | Path | None
    threshold: float
    threads: int | None


def _of_table(release: Path, shared: _Shared, **asked: Any) -> Report:
    from rothko.report.report import report as make

    return make(release, **shared._asdict(), **asked)


def _of_sets(release: Path, shared: _Shared, text: options.TextFile, of_tables: dict[str, Any]) -> Report:
    """A report of records that are sets, which have no columns."""
    from rothko.sets.files import Reading
    from rothko.sets.report import report as make

    for name, value in of_tables.items():
        if value is not None:
            raise InputError(f"{name} is about the columns of a table, and {release.name} has records that are sets.")
    between = text.options().delimiter
    reading = Reading(delimiter=between, encoding=text.encoding)
    return make(release, **shared._asdict(), reading=reading, delimiter=between)


def _claim(release: Path, data: Path, out: str | None, audience: str, overwrite: bool, read: list[Path]) -> Claim:
    """The names of a report, looked at before any work is done."""
    from rothko.release.claims import claim_files, claim_folder
    from rothko.release.names import report_files, steward_folder

    if out is not None:
        return claim_files([out, Path(out).with_suffix(".json")], overwrite=overwrite, inputs=read, endings=(".html",))
    folder = release if (release / "certificate.json").is_file() else None  # not one of several data files
    names = report_files(data, folder)
    if audience == "public":
        return claim_files(names, overwrite=overwrite, inputs=read)
    return claim_folder(
        steward_folder(data if folder is None else folder), [name.name for name in names], overwrite=overwrite,
        inputs=read,
    )  # fmt: skip

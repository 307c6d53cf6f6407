"""``rothko compare``: what methods lose at several k or l, and the largest k or l within a bound on loss.

Of tables here, of sets in :mod:`rothko.cli.compare_sets`; both are written to the same files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rothko import json_text
from rothko.cli import options, set_options
from rothko.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from rothko.comparison.compare import Frontier, Trial
    from rothko.comparison.trials import By
    from rothko.data.source.csv import CsvOptions
    from rothko.policy.policy import Policy
    from rothko.release.staging import Claim
    from rothko.sets.comparison import SetFrontier

FILES = ("results.json", "results.csv")
PLOTS = tuple(f"{name}.{ending}" for name in ("loss", "frontier", "time") for ending in ("svg", "png"))
TABLE_METHODS = "mondrian,hilbert,cluster"
SETS_METHODS = "set-mondrian,set-two-phase"
"""Methods that are compared where none are named."""
OF_TABLES = (
    "policy", "qi", "sensitive", "l", "max_loss", "by", "missing", "memory", "quote", "header",
)  # fmt: skip
"""What only tables have."""
OF_SETS = ("utility", "form", "column", "record", "item", "worth", "columns", "bins", "hierarchy")
"""What only sets have."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare)


def compare(
    ctx: typer.Context,
    data: Annotated[
        Path,
        typer.Argument(
            help="A CSV, TSV, Parquet or Arrow file; sets also as text with a record a line.", show_default=False
        ),
    ],
    policy: options.PolicyFile = None,
    qi: options.Quasi = "",
    sensitive: options.Sensitive = "",
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="Methods, separated by commas; options after the name, as 'set-mondrian criterion=even'.",
            show_default=f"{TABLE_METHODS}; of sets {SETS_METHODS}",
        ),
    ] = None,
    k: Annotated[str, typer.Option("--k", help="Several k, separated by commas: 2,5,10.", show_default=False)] = "",
    l: Annotated[  # noqa: E741 (the literature's letter)
        str, typer.Option("--l", help="Several l of l-diversity, separated by commas.", show_default=False)
    ] = "",
    max_loss: Annotated[
        str | None,
        typer.Option("--max-loss", help="Find the largest k or l whose GCP is at most this.", show_default=False),
    ] = None,
    by: Annotated[str, typer.Option("--by", help="What --max-loss looks for: k or l.")] = "k",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A folder for results.json, results.csv and plots.", show_default=False),
    ] = None,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw plots into the folder.")] = True,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Run each this often; the best time counts.")] = 1,
    missing: options.Missing = "",
    seed: options.Seed = 0,
    threads: options.Threads = None,
    memory: Annotated[
        str | None, typer.Option("--memory", help="What the table may take, such as 2GB.", show_default=False)
    ] = None,
    delimiter: options.Delimiter = None,
    quote: options.Quote = None,
    encoding: options.Encoding = None,
    header: options.Header = None,
    sets: Annotated[
        bool, typer.Option("--sets", help="Records are sets of items; methods such as set-mondrian say so, too.")
    ] = False,
    utility: set_options.Utility = None,
    form: set_options.Form = "auto",
    column: set_options.Column = None,
    record: set_options.Record = None,
    item: set_options.Item = None,
    worth: set_options.Worth = None,
    columns: set_options.Columns = "",
    bins: set_options.Bins = None,
    hierarchy: set_options.Hierarchies = None,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Compare methods on a table at several k, or several l: loss, classes, time. Nothing is released.

    With --max-loss 0.1, find for each method the largest k (or l, with --by l) that loses no more, by real runs.
    With --sets, compare methods for records that are sets of items: what they keep, classes, time.
    The numbers are about the table, and so are themselves information: they are for whoever may see it.
    """
    from rothko.cli import compare_sets, console

    are_sets = sets or _name_sets(method)
    _refuse(ctx, are_sets)
    methods = options.methods("--method", method if method is not None else SETS_METHODS if are_sets else TABLE_METHODS)
    ks, ls = options.wholes("--k", k, 2), options.wholes("--l", l, 2)
    read = [path for path in (data, policy, utility) if path is not None]
    claim = None if out is None else _targets(out, plots, overwrite, read)
    found: Frontier | SetFrontier
    if are_sets:
        reading = set_options.reading(
            form=form, delimiter=delimiter, encoding=encoding, column=column, record=record, item=item,
            worth=worth, columns=columns, bins=bins, hierarchy=hierarchy,
        )  # fmt: skip
        found = compare_sets.run(
            data, methods=methods, k=ks, utility=utility, reading=reading, repeat=repeat, seed=seed, threads=threads,
            quiet=as_json,
        )  # fmt: skip
    else:
        csv = options.csv_options(delimiter, quote, encoding, header)
        options.either(policy, qi, sensitive, missing)
        asked = _policy(data, csv, policy, qi, sensitive, missing, ks, ls, by if max_loss is not None else None)
        found = _run(
            data, asked, ks, ls, max_loss, by, quiet=as_json, repeat=repeat, methods=methods, seed=seed,
            threads=threads, memory=options.size("--memory", memory), csv=csv,
        )  # fmt: skip
    written = [] if claim is None else _save(found, claim, plots)
    if as_json:
        console.json(found.to_dict())
    else:
        _show(found, written)
    code = _exit_code(found)
    if code:
        raise typer.Exit(code)


def _name_sets(method: str | None) -> bool:
    """Whether methods are named that are for sets."""
    if method is None:
        return False
    from rothko.sets.methods import SET_METHODS

    return any(part.split()[0] in SET_METHODS for part in options.names(method))


def _refuse(ctx: typer.Context, are_sets: bool) -> None:
    """Options that only tables have, for sets, and the other way round."""
    opts = {parameter.name: parameter.opts[0] for parameter in ctx.command.params}
    for name in OF_TABLES if are_sets else OF_SETS:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"{opts[name]} is for tables, and records that are sets are compared; leave it out."
                if are_sets
                else f"{opts[name]} is for records that are sets; add --sets, or name methods such as set-mondrian."
            )


def _run(
    data: Path, policy: Policy, ks: list[int], ls: list[int], max_loss: str | None, by: str, *, quiet: bool,
    repeat: int, **common: Any,
) -> Frontier:  # fmt: skip
    """Methods on a table: at several k or l, or looking for the largest within a bound."""
    from rothko.cli import console
    from rothko.comparison.compare import compare as run
    from rothko.comparison.compare import most_private

    with console.progress(quiet=quiet) as report:
        if max_loss is None:
            return run(data, policy, k=ks, l=ls, repeat=repeat, progress=report, **common)
        bound = options.number("--max-loss", max_loss, 0)
        assert bound is not None
        if by not in ("k", "l"):
            raise InputError(f"--by must be k or l, not {by!r}.")
        fixed = {"k": _one("--k", ks), "l": _one("--l", ls)}
        return most_private(
            data, policy, max_loss=bound, by=cast("By", by), k=fixed["k"], l=fixed["l"], progress=report, **common
        )


def _policy(
    data: Path, csv: CsvOptions, policy: Path | None, qi: str, sensitive: str, missing: str, ks: list[int],
    ls: list[int], sought: str | None,
) -> Policy:  # fmt: skip
    """The policy of the file, or one from the options; either way its k and l are replaced by those that vary."""
    from rothko.cli.anonymize import without_file
    from rothko.comparison.compare import asking
    from rothko.policy.policy import Policy
    from rothko.privacy import KAnonymity

    if policy is not None:
        return Policy.load(policy)
    parts = options.quick(qi=qi, sensitive=sensitive, identifiers="", k="2", l=None, missing=missing)
    made = without_file(data, csv, parts, quiet=True)
    if ks or sought == "k" or not (ls or sought):
        return made
    diverse = asking(made, "l", 2)
    return diverse.but(privacy=tuple(r for r in diverse.privacy if not isinstance(r, KAnonymity)))


def _one(option: str, values: list[int]) -> int | None:
    if len(values) > 1:
        raise InputError(f"{option} has {len(values)} values; with --max-loss it holds one number fixed.")
    return values[0] if values else None


def _targets(out: Path, plots: bool, overwrite: bool, read: list[Path]) -> Claim:
    """The files that a comparison may have, checked before any work is done."""
    from rothko.release.place import claim_folder

    if plots:
        from rothko.report import frontier as frontier  # tells at once where what draws is not installed

    return claim_folder(out, FILES + PLOTS, overwrite=overwrite, inputs=read)


def _save(found: Frontier | SetFrontier, claim: Claim, plots: bool) -> list[Path]:
    """Write all files, or none."""
    from rothko.comparison.trials import as_csv
    from rothko.release.staging import staging
    from rothko.release.write import explained

    drawn: dict[str, bytes] = {}
    if plots:
        from rothko.report import frontier

        drawn = frontier.draw(found)
    with staging(claim) as stage:
        for path in claim.before:
            if path.name in drawn:
                place = stage.place_for(path)
                with explained(path):
                    place.write_bytes(drawn[path.name])
            elif path.name.endswith(".csv"):
                stage.write(path, as_csv(found.trials))
            elif path.name.endswith(".json"):
                stage.write(path, json_text.dump(found.to_dict()) + "\n")
        written = [target for _, target in stage.moves]
        stage.commit()
    return written


def _exit_code(found: Frontier | SetFrontier) -> int:
    """That of a bug, in a method or found by verification; where nothing could be run, that of the first reason."""
    codes = [trial.exit_code for trial in found.trials]
    bugs = [code for code in codes if code in (1, 4)]
    return bugs[0] if bugs else codes[0] if all(codes) else 0


def _show(found: Frontier | SetFrontier, written: list[Path]) -> None:
    from rothko.cli import compare_sets, console
    from rothko.comparison.compare import Frontier

    if isinstance(found, Frontier):
        _show_table(found)
    else:
        compare_sets.show(found)
    for path in written:
        console.out.print(str(path), markup=False)


def _show_table(found: Frontier) -> None:
    from rothko.cli import console

    names = ", ".join(found.quasi_identifiers)
    console.out.print(f"{found.records:,} records, quasi-identifiers {names}", markup=False)
    console.out.print()
    if found.max_loss is not None:
        console.out.print(_largest(found))
        console.out.print()
        console.out.print(
            f"GCP at most {found.max_loss:g}: the largest {found.by} that {len(found.trials)} runs found by bisection. "
            "Loss need not rise with every step, so more may be possible.",
            markup=False,
        )
        for one in found.largest:
            if one.reason:
                console.out.print(f"{one.method}: {one.reason}", markup=False)
    else:
        console.out.print(_trials(found))
        for reason in reasons(found):
            console.out.print(reason, markup=False)
    notes = dict.fromkeys(f"{trial.method}: {note}" for trial in found.trials for note in trial.notes)
    for note in notes:
        console.out.print(note, markup=False, style="dim")


def _trials(found: Frontier) -> Table:
    """A row for each trial; the lowest loss at each k or l is bold."""
    from rich.table import Table
    from rich.text import Text

    letters = [letter for letter in ("k", "l") if any(getattr(trial, letter) is not None for trial in found.trials)]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method")
    for title in (*letters, "GCP", "discernibility", "classes", "average", "smallest", "partition", "whole"):
        table.add_column(title, justify="right")
    lowest: dict[float, float] = {}
    for trial in found.trials:
        if trial.loss is not None:
            at = trial.at(found.by)
            lowest[at] = min(lowest.get(at, trial.loss.gcp), trial.loss.gcp)
    for trial in found.trials:
        asked = ["–" if getattr(trial, letter) is None else f"{getattr(trial, letter):g}" for letter in letters]
        best = trial.loss is not None and trial.loss.gcp == lowest[trial.at(found.by)]
        numbers = [Text(text, "bold" if best and i == 0 else "") for i, text in enumerate(_numbers(trial))]
        table.add_row(Text(trial.method), *asked, *numbers)
    return table


def reasons(found: Frontier | SetFrontier) -> list[str]:
    """Why some trials have no numbers, a line for each reason."""
    named: dict[str, list[str]] = {}
    for trial in found.trials:
        if trial.reason:
            named.setdefault(trial.reason, []).append(f"{trial.method} at {found.by} = {trial.at(found.by):g}")
    return [f"{', '.join(names)}: {reason}" for reason, names in named.items()]


def _numbers(trial: Trial) -> list[str]:
    lost = trial.loss
    if lost is None or trial.partition_seconds is None or trial.seconds is None:
        return ["–"] * 7
    return [
        f"{lost.gcp:.4f}", f"{lost.discernibility:,}", f"{lost.classes:,}", f"{lost.average_class_size:,.1f}",
        f"{lost.smallest_class:,}", f"{trial.partition_seconds:.2f} s", f"{trial.seconds:.2f} s",
    ]  # fmt: skip


def _largest(found: Frontier) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("method")
    for title in (f"largest {found.by}", "GCP", "next tested", "its GCP"):
        table.add_column(title, justify="right")
    lost = {(trial.method, trial.at(found.by)): trial.loss for trial in found.trials}
    for one in found.largest:
        above = None if one.above is None else lost[one.method, one.above]
        table.add_row(
            Text(one.method),
            "–" if one.value is None else f"{one.value:,}",
            "–" if one.gcp is None else f"{one.gcp:.4f}",
            "–" if one.above is None else f"{one.above:,}",
            "–" if above is None else f"{above.gcp:.4f}",
        )
    return table

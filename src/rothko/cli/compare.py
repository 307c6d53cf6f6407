"""``rothko compare``: what methods lose at several k or l, and the largest k or l within a bound on loss.

Tables and records that are sets have options of their own, and are compared, written and shown by the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from rothko import json_text
from rothko.cli import options
from rothko.cli.groups import grouped
from rothko.cli.pipes import files, piped_tables, table_of
from rothko.cli.set_options import SetOptions
from rothko.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from rothko.comparison.compare import TableFrontier, TableTrial
    from rothko.comparison.trials import Frontier, T
    from rothko.policy.varied import By
    from rothko.release.staging import Claim
    from rothko.sets import SetFrontier, SetTrial

PAGE = "compare.html"
FILES = ("results.json", "results.csv", PAGE)
PLOTS = (*(f"{name}.{ending}" for name in ("loss", "frontier", "time") for ending in ("svg", "png")), "plots.json")
TABLE_METHODS = "mondrian,hilbert,cluster"
SETS_METHODS = "set-mondrian,set-two-phase"
"""Methods that are compared where none are named."""
MANY = 3
"""Values of k or l that make a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """What only tables have."""

    policy: options.PolicyFile = None
    qi: options.Quasi = ""
    sensitive: options.Sensitive = ""
    l: Annotated[  # noqa: E741 (the literature's letter)
        str, typer.Option("--l", help="Several l of l-diversity, separated by commas.", show_default=False)
    ] = ""
    max_loss: Annotated[
        str | None,
        typer.Option("--max-loss", help="Find the largest k or l whose GCP is at most this.", show_default=False),
    ] = None
    by: Annotated[str, typer.Option("--by", help="What --max-loss looks for: k or l.")] = "k"
    missing: options.Missing = ""
    memory: Annotated[
        str | None, typer.Option("--memory", help="What the table may take, such as 2GB.", show_default=False)
    ] = None
    quote: options.Quote = None
    header: options.Header = None
    decimal: options.Decimal = None
    thousands: options.Thousands = None
    sheet: options.Sheet = None
    input_format: options.InputFormat = None
    bound: Annotated[bool, typer.Option("--bound", help="Also find how little any release could lose at each k.")] = (
        False
    )

    def run(
        self,
        data: str | list[Path],
        delimiter: str | None,
        encoding: str | None,
        *,
        k: list[int],
        repeat: int,
        **common: Any,
    ) -> TableFrontier:
        """Methods on a table: at several k or l, or looking for the largest within a bound."""
        from rothko.comparison.compare import compare as run
        from rothko.comparison.compare import most_private

        csv = options.TextFile(
            delimiter=delimiter, quote=self.quote, encoding=encoding, header=self.header, decimal=self.decimal,
            thousands=self.thousands, sheet=self.sheet, input_format=self.input_format,
        ).options()  # fmt: skip
        ls = options.wholes("--l", self.l, 2)
        common |= {"memory": self.memory, "csv": csv, "qi": options.names(self.qi)}
        common |= {"sensitive": options.names(self.sensitive), "missing": options.names(self.missing)}
        if self.max_loss is None:
            return run(data, self.policy, k=k, l=ls, repeat=repeat, bound=self.bound, **common)
        if self.bound:
            raise InputError("--bound goes with --k or --l, not with --max-loss, which tries as many k as it needs.")
        bound = options.number("--max-loss", self.max_loss, 0)
        if self.by not in ("k", "l"):
            raise InputError(f"--by must be k or l, not {self.by!r}.")
        common |= {"k": _one("--k", k), "l": _one("--l", ls)}
        return most_private(data, self.policy, max_loss=bound, by=cast("By", self.by), **common)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(grouped(compare))


def compare(
    ctx: typer.Context,
    data: Annotated[
        list[str],
        typer.Argument(
            help="A CSV, TSV, Parquet or Arrow file, or several; sets also as text with a record a line; - is standard "
            "input.",
            callback=piped_tables(".txt"),  # which tables are read from, too
            show_default=False,
        ),
    ],
    of_tables: TableOptions,
    of_sets: SetOptions,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="Methods, separated by commas; options after the name, as 'set-mondrian criterion=even'.",
            show_default=f"{TABLE_METHODS}; of sets {SETS_METHODS}",
        ),
    ] = None,
    k: Annotated[str, typer.Option("--k", help="Several k, separated by commas: 2,5,10.", show_default=False)] = "",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="<path>",
            help="A folder for results.json, results.csv, compare.html and plots; or the page alone (.html).",
            show_default=False,
        ),
    ] = None,
    plots: Annotated[bool, typer.Option("--plots/--no-plots", help="Draw plots into the folder.")] = True,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Run each this often; the best time counts.")] = 1,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    delimiter: options.Delimiter = None,
    encoding: options.Encoding = None,
    sets: Annotated[
        bool, typer.Option("--sets", help="Records are sets of items; methods such as set-mondrian say so, too.")
    ] = False,
    overwrite: options.Overwrite = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    log: options.Log = None,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Compare methods on a table at several k, or several l: loss, classes, time. Nothing is released.

    With --max-loss 0.1, find for each method the largest k (or l, with --by l) that loses no more, by real runs.
    With --sets, compare methods for records that are sets of items: what they keep, classes, time.
    The numbers are about the table, and so are themselves information: they are for whoever may see it.
    """
    from rothko.cli import console

    are_sets = sets or _name_sets(method)
    _refuse(ctx, are_sets)
    methods = options.methods("--method", method if method is not None else SETS_METHODS if are_sets else TABLE_METHODS)
    asked: dict[str, Any] = {
        "methods": methods,
        "k": options.wholes("--k", k, 2),
        "repeat": repeat,
        "seed": seed,
        "threads": threads,
    }
    table = table_of(data)
    read = files(*data, of_tables.policy, of_sets.utility)
    claim = None if out is None else _targets(out, plots, overwrite, read)
    found: TableFrontier | SetFrontier
    with console.progress(quiet=as_json) as report:
        if are_sets:
            from rothko.sets import compare as compare_sets

            if not isinstance(table, str):
                raise InputError("Records that are sets are read from one file; put them into one, and name that.")
            reading = of_sets.reading(delimiter, encoding)
            found = compare_sets(table, utility=of_sets.utility, reading=reading, progress=report, **asked)
        else:
            found = of_tables.run(table, delimiter, encoding, progress=report, **asked)
    written = [] if claim is None else _save(found, claim, _page(ctx, found, data), plots)
    if as_json:
        console.json(found.to_dict(), "compare")
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
    for name in (field.name for field in fields(TableOptions if are_sets else SetOptions)):
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(
                f"{opts[name]} is for tables, and records that are sets are compared; leave it out."
                if are_sets
                else f"{opts[name]} is for records that are sets; add --sets, or name methods such as set-mondrian."
            )


def _one(option: str, values: list[int]) -> int | None:
    if len(values) > 1:
        raise InputError(f"{option} has {len(values)} values; with --max-loss it holds one number fixed.")
    return values[0] if values else None


def _targets(out: str, plots: bool, overwrite: bool, read: list[Path]) -> Claim:
    """The files that a comparison may have, checked before any work is done."""
    from rothko.release.claims import claim_files, claim_folder

    if out.lower().endswith(".html"):
        return claim_files([out], overwrite=overwrite, inputs=read)
    if plots:
        from rothko.comparison.pictures import need

        need()
    return claim_folder(out, FILES + PLOTS, overwrite=overwrite, inputs=read)


def _page(ctx: typer.Context, found: TableFrontier | SetFrontier, data: list[str]) -> str:
    """The page of a comparison, with the command behind each of its points."""
    from rothko.cli import again
    from rothko.comparison.compare import TableFrontier
    from rothko.comparison.sheet import sheet

    if isinstance(found, TableFrontier):
        return sheet(found, again.of_table(ctx, data, found.by))
    return sheet(found, again.of_sets(ctx, data[0]))


def _save(found: Frontier[Any], claim: Claim, page: str, plots: bool) -> list[Path]:
    """Write all files, or none."""
    from rothko.comparison.trials import as_csv
    from rothko.release.staging import staging
    from rothko.release.write import explained

    drawn: dict[str, bytes] = {}
    if plots and len(claim.before) > 1:  # a page alone has its plots in it
        from rothko.comparison.pictures import draw

        drawn = draw(found)
    with staging(claim) as stage:
        for path in claim.before:
            if path.name in drawn:
                place = stage.place_for(path)
                with explained(path):
                    place.write_bytes(drawn[path.name])
            elif path.name == "results.csv":
                stage.write(path, as_csv(found.trials))
            elif path.name == "results.json":
                stage.write(path, json_text.dump(found.to_dict()) + "\n")
            elif path.suffix.lower() == ".html":
                stage.write(path, page)
        written = [target for _, target in stage.moves]
        stage.commit()
    return written


def _exit_code(found: Frontier[Any]) -> int:
    """That of a bug, in a method or found by verification; where nothing could be run, that of the first reason."""
    codes = [trial.exit_code for trial in found.trials]
    bugs = [code for code in codes if code in (1, 4)]
    return bugs[0] if bugs else codes[0] if all(codes) else 0


def _show(found: TableFrontier | SetFrontier, written: list[Path]) -> None:
    from rothko.cli import console
    from rothko.comparison.compare import TableFrontier

    about, table, after, dim = _of_table(found) if isinstance(found, TableFrontier) else _of_sets(found)
    console.out.print(about, markup=False)
    console.out.print()
    console.out.print(table)
    for drawn in _lines(found):
        console.out.print(drawn)
    for line in after:
        console.out.print(line, markup=False)
    for line in dim:
        console.out.print(line, markup=False, style="dim")
    for path in written:
        console.out.print(str(path), markup=False)


def _of_table(found: TableFrontier) -> tuple[str, Table, list[str], list[str]]:
    """What to say before the results of a table, the results, and what to say after them."""
    from rothko.metrics.registry import COLUMNS

    about = f"{found.records:,} records, quasi-identifiers {', '.join(found.quasi_identifiers)}"
    notes = list(dict.fromkeys(f"{trial.method}: {note}" for trial in found.trials for note in trial.notes))
    if found.max_loss is not None:
        bound = (
            f"GCP at most {found.max_loss:g}: the largest {found.by} that {len(found.trials)} runs found by bisection. "
            "Loss need not rise with every step, so more may be possible."
        )
        why = [f"{one.method}: {one.reason}" for one in found.largest if one.reason]
        return about, _largest(found), ["", bound, *why], notes
    letters = [letter for letter in ("k", "l") if any(getattr(trial, letter) is not None for trial in found.trials)]

    def asked(trial: TableTrial) -> list[str]:
        return [_number(getattr(trial, letter), "g") for letter in letters]

    def numbers(trial: TableTrial) -> list[str]:
        return [form(getattr(trial.loss, name)) for name, (_, form) in COLUMNS.items()]

    titles = (*letters, *(title for title, _ in COLUMNS.values()))
    return about, _trials(found, titles, asked, numbers), [*found.reasons, *_bounds(found)], notes


def _bounds(found: TableFrontier) -> list[str]:
    """How little any release could lose, a line for each k."""
    from rothko.metrics.told import bound

    rows = [row for one in found.bounds for row in bound(one)]
    return ["", *(f"GCP {row.what}: {row.number} ({row.meaning})" for row in rows)] if rows else []


def _of_sets(found: SetFrontier) -> tuple[str, Table, list[str], list[str]]:
    """The same of sets, with what their requirements promise where that is less than k-anonymity."""
    from rothko.privacy.k1anonymity import ADVERSARIES

    def asked(trial: SetTrial) -> list[str]:
        return [trial.requirement, f"{trial.k:,}"]

    def numbers(trial: SetTrial) -> list[str]:
        kept = trial.metrics
        assert kept is not None
        shares = (kept.utility_kept, kept.instances_kept, kept.items_kept)
        return [*(f"{100 * share:.2f} %" for share in shares), f"{kept.average_class_size:,.1f}"]

    about = f"{found.records:,} records, {found.items:,} items, {found.instances:,} items of records"
    titles = ("requirement", "k", "utility kept", "instances kept", "items kept", "average")
    weaker = [f"{name}: {ADVERSARIES[name]}" for name in found.requirements if name != "k-anonymity"]
    return about, _trials(found, titles, asked, numbers), list(found.reasons), [*weaker, *found.notes]


def _trials(
    found: Frontier[T], titles: Sequence[str], asked: Callable[[T], list[str]], numbers: Callable[[T], list[str]]
) -> Table:
    """A row for each trial: what was asked, and what came of it. The lowest loss at each k or l is bold."""
    from rothko.cli import bars, console

    return bars.drawn(console.out, lambda barred: _rows(found, titles, asked, numbers, barred))


def _rows(
    found: Frontier[T],
    titles: Sequence[str],
    asked: Callable[[T], list[str]],
    numbers: Callable[[T], list[str]],
    barred: bool,
) -> Table:
    """The same, with a bar for what is lost, or without."""
    from rich.text import Text

    from rothko.cli import bars, console

    plain = bars.plainly(console.out)
    most = max((trial.lost for trial in found.trials if trial.lost is not None), default=0.0) or 1.0
    table = _table("method", *titles, "partition", "whole", *["lost"] * barred)
    lowest: dict[tuple[str, float], float] = {}
    for trial in found.trials:
        if trial.lost is not None:
            at = trial.promise, trial.at(found.by)
            lowest[at] = min(lowest.get(at, trial.lost), trial.lost)
    for trial in found.trials:
        before = asked(trial)
        cells = ["–"] * (len(titles) - len(before) + 2)
        if trial.lost is not None:
            cells = [*numbers(trial), f"{trial.partition_seconds:.2f} s", f"{trial.seconds:.2f} s"]
        best = trial.lost is not None and trial.lost == lowest[trial.promise, trial.at(found.by)]
        drawn = [bars.bar(None if trial.lost is None else trial.lost / most, plain=plain)] if barred else []
        table.add_row(Text(trial.method), *before, Text(cells[0], "bold" if best else ""), *cells[1:], *drawn)
    return table


def _lines(found: Frontier[Any]) -> Iterator[Text]:
    """What each method loses from the smallest k or l to the largest, drawn on a terminal."""
    from rich.text import Text

    from rothko.cli import bars, console

    values = sorted({trial.at(found.by) for trial in found.trials if trial.lost is not None})
    if not console.out.is_terminal or len(values) < MANY or found.max_loss is not None:
        return
    plain = bars.plainly(console.out)
    most = max((trial.lost for trial in found.trials if trial.lost is not None), default=None)
    for method in found.methods:
        lost = {trial.at(found.by): trial.lost for trial in found.trials if trial.method == method}
        drawn = bars.line([lost.get(value) for value in values], plain=plain, most=most)
        yield Text.assemble(drawn, f"  {method}, {found.by} = {values[0]:g} to {values[-1]:g}")


def _largest(found: TableFrontier) -> Table:
    from rich.text import Text

    table = _table("method", f"largest {found.by}", "GCP", "next tested", "its GCP")
    lost = {(trial.method, trial.at(found.by)): trial.lost for trial in found.trials}
    for one in found.largest:
        above = None if one.above is None else lost[one.method, one.above]
        numbers = _number(one.value, ","), _number(one.gcp, ".4f"), _number(one.above, ","), _number(above, ".4f")
        table.add_row(Text(one.method), *numbers)
    return table


def _table(*titles: str) -> Table:
    from rothko.cli.console import headed

    return headed(*titles, left=("method", "requirement", "lost"))


def _number(number: float | None, form: str) -> str:
    return "–" if number is None else format(number, form)

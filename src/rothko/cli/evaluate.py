"""``rothko evaluate``: what models that learn from a release are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rothko.cli import options
from rothko.cli.groups import grouped
from rothko.cli.pipes import piped_table
from rothko.errors import PolicyError

if TYPE_CHECKING:
    from rich.table import Table

    from rothko.learn.scores import Evaluation
    from rothko.policy.policy import Policy

SIGNIFICANT = 0.05
MARKS = "*†‡§"
"""For a score that differs from that of the first method, of the second, and so on."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("evaluate")(grouped(evaluate))


def evaluate(
    original: Annotated[
        str,
        typer.Argument(help="The table to be released.", callback=piped_table(), show_default=False),
    ],
    *,
    policy: options.PolicyFile = None,
    unfiled: options.InPlaceOfPolicy,
    models: Annotated[
        str,
        typer.Option(
            "--models", help="Of tree, bayes, forest, svm, linear, boosting; all by default.", show_default=False
        ),
    ] = "",
    folds: Annotated[int, typer.Option("--folds", help="Parts of the cross-validation.")] = 10,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            help="Train and test on regions, or train on the release and test on exact records: regions or release.",
            show_default="regions where there is a recoding",
        ),
    ] = None,
    regions: Annotated[
        str | None,
        typer.Option(
            "--regions",
            help="Ranges as numbers: corners, edges, midpoint, mean or sample.",
            show_default="corners; with release, midpoint",
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            help="The algorithm, with its options: 'cluster effort=fast'.",
            autocompletion=options.method_names,
            show_default="auto",
        ),
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", help="One of the policy's targets; all by default.", show_default=False)
    ] = None,
    classify: Annotated[
        str | None, typer.Option("--classify", help="Predict the labels of this column.", show_default=False)
    ] = None,
    regress: Annotated[
        str | None, typer.Option("--regress", help="Predict the numbers of this column.", show_default=False)
    ] = None,
    rows: Annotated[
        str | None, typer.Option("--rows", help="Draw so many records, also as 1e5.", show_default=False)
    ] = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    text: options.TextFile,
    as_json: options.Json = False,
    verbose: options.Verbose = False,
    log: options.Log = None,
    show_values: options.ShowValues = False,
    debug: options.Debug = False,
) -> None:
    """Train models on the original and on releases of it, and score them on records that neither has seen."""
    from rothko.cli import console
    from rothko.learn.evaluate import evaluate as train_and_score
    from rothko.learn.evaluate import known_protocol
    from rothko.learn.regions import known_form
    from rothko.policy.policy import Policy

    words = unfiled.words() | {"method": _method(method, named=policy is not None)}
    asked: Policy | None = None
    chosen = target
    if policy is not None:
        asked, chosen = _with_task(Policy.load(policy), classify, regress, target)
    else:
        words |= {"classify": classify, "regress": regress}
    with console.progress(quiet=as_json) as progress:
        found = train_and_score(
            original,
            asked,
            **words,
            models=options.names(models) or None,
            folds=folds,
            protocol=known_protocol(protocol),
            regions=None if regions is None else known_form(regions),
            target=chosen,
            rows=None if rows is None else options.count("--rows", rows),
            seed=seed,
            threads=threads,
            csv=text.options(),
            progress=progress,
        )
    if as_json:
        console.json({"tasks": [one.to_dict() for one in found]}, "evaluate")
        return
    for i, one in enumerate(found):
        if i:
            console.out.print()
        console.out.print(_headline(one), markup=False)
        console.out.print(_scores(one))
        for note in _notes(one):
            console.out.print(note, markup=False, style="dim")


def _with_task(
    policy: Policy, classify: str | None, regress: str | None, target: str | None
) -> tuple[Policy, str | None]:
    """The policy with the task that was asked for on the command line, and the target to evaluate."""
    from rothko.workload import Classify, Regress

    if classify is None and regress is None:
        return policy, target
    if target is not None or (classify is not None and regress is not None):
        raise PolicyError("Give one of --target, --classify and --regress.")
    task: Any = Classify(classify) if classify is not None else Regress(str(regress))
    known = [other for other in policy.workload if getattr(other, "target", None) != task.target]
    return policy.but(workload=(*known, task)), task.target


def _method(text: str | None, *, named: bool) -> Any:
    """The method that is asked for; where neither an option nor a policy names one, what anonymize would choose."""
    if text is None:
        return None if named else "auto"
    found = options.methods("--method", text)
    if len(found) > 1:
        raise PolicyError("evaluate makes the release of one method; give one to --method.")
    return found[0]


def _headline(found: Evaluation) -> str:
    of = f"{found.task} {found.target}: {found.folds} folds of {found.records:,} records"
    if found.protocol == "regions":
        return f"{of}, regions as {found.regions}"
    return f"{of}, trained on the release, tested on exact records, ranges as {found.regions}"


def _scores(found: Evaluation) -> Table:
    """One row for each metric and model, one column for each method: mean ± sd."""
    from rich.text import Text

    from rothko.cli.console import headed

    titles = ("metric", "model", *found.methods)
    table = headed(*titles, left=titles)
    for metric in found.metrics:
        for i, model in enumerate(found.models):
            cells = [_cell(found, model, metric, j) for j in range(len(found.methods))]
            table.add_row(Text(metric if i == 0 else ""), model, *cells)
    return table


def _cell(found: Evaluation, model: str, metric: str, at: int) -> str:
    """A mean and its deviation, with a mark for every method before it from which it differs."""
    method = found.methods[at]
    mean, sd = found.mean(model, method, metric), found.sd(model, method, metric)
    digits = 4 if metric != "MAE" or abs(mean) < 100 else 1
    marks = [
        mark
        for mark, other in zip(MARKS, found.methods[:at], strict=False)
        if found.compare(model, metric, method, other).p < SIGNIFICANT
    ]
    return f"{mean:,.{digits}f} ± {sd:,.{digits}f} {''.join(marks)}".rstrip()


def _notes(found: Evaluation) -> list[str]:
    """What the marks mean, and what was left out."""
    marks = [f"{mark} from {other}" for mark, other in zip(MARKS, found.methods[:-1], strict=False)]
    notes = [f"differs, p < {SIGNIFICANT} (paired t-test over the folds): {'; '.join(marks)}"]
    if found.left_out:
        notes.append(f"{found.left_out:,} records without {found.target} were left out")
    for method, count in found.unplaced.items():
        if count:
            share = count / found.records
            notes.append(f"{method}: {count:,} test records ({share:.1%}) had values that were not there in training")
    return notes

"""The command line that makes the release of a trial of ``rothko compare``."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rothko.cli import options
from rothko.cli.pipes import named
from rothko.mistakes import OF_FILES

if TYPE_CHECKING:
    from rothko.comparison.compare import TableTrial
    from rothko.comparison.sheet import Making
    from rothko.policy.policy import Policy
    from rothko.policy.varied import By
    from rothko.sets import SetTrial

OF_TABLES = (*OF_FILES, "seed", "threads", "memory")
OF_SETS = (
    "utility", "form", "column", "record", "item", "worth", "columns", "bins", "hierarchy", "delimiter", "encoding",
    "seed", "threads",
)  # fmt: skip
"""Parameters of a comparison that a release takes, too."""
ENDINGS = (".txt", ".dat", ".parquet", ".arrow", ".feather", ".csv", ".tsv")
"""Of files of sets."""


def of_table(ctx: typer.Context, data: Sequence[str], by: By) -> Callable[[TableTrial], Making]:
    """How the release of a trial on a table is made: as the comparison was asked for, with one method and one k or l.

    What no options say goes into a policy file of its own.
    """
    from rothko.comparison.sheet import Making
    from rothko.policy.draft import as_policy

    place = ctx.params["policy"]
    file = None if place is None else as_policy(place)
    letters: list[By] = [letter for letter in ("k", "l") if ctx.params[letter] or letter == by]

    def making(trial: TableTrial) -> Making:
        asked = trial.policy
        assert asked is not None
        name = _name(trial.method, f"{by}{trial.at(by):g}")
        words = _words(asked, trial, letters) if file is None else _changes(file, asked, trial, letters)
        if file is not None and words is not None:
            words = ["--policy", str(place), *words]
        saved = [] if words is not None else ["--policy", f"{name}.yaml"]
        line = ["rothko", "anonymize", *map(named, data), *(words or saved), *_given(ctx, OF_TABLES), "--out", name]
        return Making(shlex.join(line), asked.dump() if saved else None)

    return making


def of_sets(ctx: typer.Context, data: str) -> Callable[[SetTrial], Making]:
    """How the release of a trial on sets is made."""
    from rothko.comparison.sheet import Making

    ending = Path(data).suffix.lower()
    kind = ending if ending in ENDINGS else ".txt"

    def making(trial: SetTrial) -> Making:
        line = ["rothko", "sets", named(data), "--k", str(trial.k), *_method(trial.method)]
        out = f"{_name(trial.method, f'k{trial.k}')}{kind}"
        return Making(shlex.join([*line, *_given(ctx, OF_SETS), "--out", out]))

    return making


def _changes(file: Policy, asked: Policy, trial: TableTrial, letters: Sequence[By]) -> list[str] | None:
    """What to say beside the policy file for what the trial was asked; None where that does not say it."""
    from rothko.errors import PolicyError
    from rothko.policy.varied import varied

    line: list[str] = []
    policy = file
    try:
        for letter in letters:
            policy = varied(policy, letter, getattr(trial, letter))
            line += [f"--{letter}", f"{getattr(trial, letter):g}"]
        if asked.method != file.method:
            [method] = options.methods("--method", trial.method)
            policy = policy.but(method=method)
            line += _method(trial.method)
    except PolicyError:
        return None
    return line if policy == asked else None


def _words(asked: Policy, trial: TableTrial, letters: Sequence[By]) -> list[str] | None:
    """The same where there is no policy file: columns that were not read are dropped."""
    roles = {"--qi": asked.quasi_identifiers, "--sensitive": asked.sensitive, "--drop": asked.identifiers}
    roles |= {"--missing": asked.missing}
    said = {option: names for option, names in roles.items() if names}
    if letters != ["k"] or any("," in name for names in said.values() for name in names):
        return None  # a comparison adds another l-diversity than words do
    line = [part for option, names in said.items() for part in (option, ",".join(names))]
    return [*line, "--k", str(trial.k), *_method(trial.method)]


def _method(label: str) -> list[str]:
    """A method with its options, as results call it."""
    name, *given = label.split()
    return ["--method", name, *(part for one in given for part in ("--option", one))]


def _given(ctx: typer.Context, names: Sequence[str]) -> Iterator[str]:
    """Options that were given to the comparison, as they are given to a release."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if parameter.name not in names or source is None or source.name != "COMMANDLINE":
            continue
        value: Any = ctx.params[parameter.name]
        if isinstance(value, bool):
            yield parameter.opts[0] if value else parameter.secondary_opts[0]
        else:
            for one in value if isinstance(value, list | tuple) else [value]:
                yield from (parameter.opts[0], named(one) if isinstance(one, Path) else str(one))


def _name(method: str, at: str) -> str:
    """What the release is called.

    >>> _name("set-mondrian criterion=even", "k10")
    'set-mondrian-criterion-even-k10'
    """
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', method).strip('-')}-{at}"

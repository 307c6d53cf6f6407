"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import math
import re
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, overload

import typer

from rothko.cli.pipes import piped_tables
from rothko.errors import InputError

if TYPE_CHECKING:
    from rothko.data.source.csv import CsvOptions
    from rothko.policy.words import Words


EVENTS = ("json",)
"""In what form events are written."""
ASKED: ContextVar[set[str]] = ContextVar("asked")
"""What was asked for that concerns more than one command, in a run: names of parameters."""


def asked(name: str) -> bool:
    """Whether an option was given, before the command or after it."""
    return name in ASKED.get(set())


def _noted(parameter: typer.CallbackParam, given: bool) -> bool:
    """Note what whoever prints must know, wherever on the line it was asked for."""
    if given:
        ASKED.get(set()).add(parameter.name or "")
    return given


def _logged(given: str | None) -> str | None:
    """Note that events are asked for, wherever on the line."""
    if given is not None:
        if given not in EVENTS:
            raise InputError(f"--log must be {' or '.join(EVENTS)}, not {given!r}.")
        ASKED.get(set()).add("log")
    return given


def method_names() -> list[str]:
    """What a shell completes ``--method`` to."""
    from rothko.methods import METHODS
    from rothko.methods.auto import Auto

    return [Auto.name, *METHODS]


def set_method_names() -> list[str]:
    """The same for sets."""
    from rothko.sets.methods import SET_METHODS

    return list(SET_METHODS)


Data = Annotated[
    list[str],
    typer.Argument(
        help="A CSV, TSV, Parquet, Arrow, Excel or statistics file, also through a pipe (-), several that are one "
        "table, or a table in a database.",
        callback=piped_tables(),
        show_default=False,
    ),
]
PolicyFile = Annotated[Path | None, typer.Option("--policy", "-p", help="A policy file (YAML).", show_default=False)]
Json = Annotated[
    bool, typer.Option("--json", callback=_noted, is_eager=True, help="Print JSON, for machines; errors, too.")
]
Quiet = Annotated[
    bool,
    typer.Option("--quiet", "-q", callback=_noted, is_eager=True, help="Print nothing but warnings and errors."),
]
Verbose = Annotated[
    bool,
    typer.Option("--verbose", "-v", callback=_noted, is_eager=True, help="Say each stage, also without a terminal."),
]
Log = Annotated[
    str | None,
    typer.Option(
        "--log",
        callback=_logged,
        is_eager=True,
        metavar="json",
        help="A line of JSON for each event on standard error, and nothing else there.",
        show_default=False,
    ),
]
Output = Annotated[str, typer.Option("--out", "-o", metavar="<path>", help="The file to write.", show_default=False)]
Form = Annotated[
    str | None,
    typer.Option("--format", help="What goes to standard output: csv, tsv, parquet or arrow.", show_default="csv"),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace output that exists.")]
ShowValues = Annotated[
    bool,
    typer.Option("--show-values", callback=_noted, is_eager=True, help="List cell values behind an error, 50 at most."),
]
Debug = Annotated[
    bool, typer.Option("--debug", callback=_noted, is_eager=True, help="Show where an internal error happened.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Cores to use; all by default.", show_default=False)
]
Counting = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="<name>",
        help="spark, to have it counted by Spark where it lies: a file, a folder, an address or a table.",
        show_default="that of the policy",
    ),
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        "--spark-master",
        metavar="<url>",
        help="Where engine spark runs: local[*], spark://…, yarn, k8s://…, or sc://… for Spark Connect.",
        show_default="local[*]",
    ),
]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same bytes.")]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key-file",
        help="At least 16 secret bytes: the same key and seed give the same bytes where equal records are parted.",
        show_default="a secret drawn for the run",
    ),
]
Quasi = Annotated[str, typer.Option("--qi", help="Quasi-identifiers, separated by commas.", show_default=False)]
Sensitive = Annotated[
    str, typer.Option("--sensitive", help="Sensitive columns, separated by commas.", show_default=False)
]
Drop = Annotated[str, typer.Option("--drop", help="Identifiers to drop, separated by commas.", show_default=False)]
Keep = Annotated[
    str, typer.Option("--keep", help="Columns released as they are, separated by commas.", show_default=False)
]
KeepRest = Annotated[
    bool, typer.Option("--keep-rest", help="Release columns that are not named as they are, but for identifiers.")
]
K = Annotated[str | None, typer.Option("--k", help="k-anonymity: records in a class at least.", show_default=False)]
Of = Annotated[
    str | None,
    typer.Option("--of", help="The column that tells whose a record is: k counts people.", show_default=False),
]
L = Annotated[
    str | None, typer.Option("--l", help="Distinct l-diversity of each sensitive column.", show_default=False)
]
Classify = Annotated[
    list[str] | None,
    typer.Option(
        "--classify", help="Columns whose class models will predict, separated by commas.", show_default=False
    ),
]
Regress = Annotated[
    list[str] | None,
    typer.Option(
        "--regress", help="Columns whose number models will predict, separated by commas.", show_default=False
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", help="A selection: \"age >= 40 and sex = 'Male'\"; may be repeated.", show_default=False),
]
Aggregate = Annotated[
    list[str] | None,
    typer.Option("--aggregate", help="Quasi-identifiers to be summed up, separated by commas.", show_default=False),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option("--option", help="An option of the method: name=value; may be repeated.", show_default=False),
]
MinimumGain = Annotated[
    str | None,
    typer.Option("--minimum-gain", help="Where no cut gains a model more, cut at the median.", show_default="0.01"),
]
Missing = Annotated[
    str, typer.Option("--missing", help="Texts that mean missing, separated by commas.", show_default=False)
]
Delimiter = Annotated[
    str | None, typer.Option("--delimiter", help="Of a CSV file; sniffed by default.", show_default=False)
]
Quote = Annotated[str | None, typer.Option("--quote", help="The quote of a CSV file.", show_default=False)]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Such as utf-16 or latin-1; utf-8 by default.", show_default=False),
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether a CSV file has one; sniffed.", show_default=False)
]

Decimal = Annotated[
    str | None,
    typer.Option("--decimal", help="What stands before decimals, a comma or a point.", show_default="a point"),
]
Thousands = Annotated[
    str | None,
    typer.Option("--thousands", help="What parts thousands: . , ' or a blank; nothing by default.", show_default=False),
]
Sheet = Annotated[
    str | None,
    typer.Option("--sheet", help="Of a workbook; the only one that is not hidden by default.", show_default=False),
]


InputFormat = Annotated[
    str | None,
    typer.Option(
        "--input-format",
        metavar="<name>",
        help="Of a file whose ending does not say it: csv, tsv, parquet or arrow.",
        show_default=False,
    ),
]
PaintX = Annotated[
    str | None,
    typer.Option("--x", metavar="<column>", help="The quasi-identifier along the painting.", show_default="chosen"),
]
PaintY = Annotated[
    str | None,
    typer.Option("--y", metavar="<column>", help="The one up its side.", show_default="chosen"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFile:
    """How a text file is written."""

    delimiter: Delimiter = None
    quote: Quote = None
    encoding: Encoding = None
    header: Header = None
    decimal: Decimal = None
    thousands: Thousands = None
    sheet: Sheet = None
    input_format: InputFormat = None

    def options(self) -> CsvOptions:
        r"""As those who read it take them; ``\t`` means a tab."""
        from rothko.data.source.csv import CsvOptions

        delimiter = "\t" if self.delimiter in ("\\t", "tab") else self.delimiter
        if self.thousands not in (None, ".", ",", " ", "'") or self.thousands == (self.decimal or "."):
            raise InputError("--thousands is . , ' or a blank, and not what stands before decimals (--decimal).")
        return CsvOptions(
            delimiter, self.quote, self.encoding, self.header, self.decimal, self.thousands,
            sheet=None if self.sheet is None else typed(self.sheet), format=self.input_format,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class InPlaceOfPolicy:
    """What is said in place of a policy file."""

    qi: Quasi = ""
    sensitive: Sensitive = ""
    drop: Drop = ""
    keep: Keep = ""
    keep_rest: KeepRest = False
    k: K = None
    of: Of = None
    l: L = None  # noqa: E741 (the literature's letter)
    missing: Missing = ""

    def words(self) -> Words:
        """As :mod:`rothko.policy.words` takes them."""
        return {
            "qi": names(self.qi),
            "sensitive": names(self.sensitive),
            "drop": names(self.drop),
            "keep": names(self.keep),
            "keep_rest": self.keep_rest,
            "k": whole("--k", self.k, 2),
            "of": None if self.of is None else typed(self.of),
            "l": whole("--l", self.l, 2),
            "missing": names(self.missing),
        }


def workload(
    classify: list[str] | None, regress: list[str] | None, select: list[str] | None, aggregate: list[str] | None
) -> Words:
    """The tasks that are asked for, as :mod:`rothko.policy.words` takes them."""
    return {
        "classify": _columns("--classify", classify),
        "regress": _columns("--regress", regress),
        "select": [typed(where) for where in select or ()],
        "aggregate": _columns("--aggregate", aggregate),
    }


def _columns(option: str, texts: list[str] | None) -> list[str]:
    found = [names(text) for text in texts or ()]
    if not all(found):
        raise InputError(f"{option} needs the name of a column.")
    return [name for some in found for name in some]


def names(text: str) -> list[str]:
    """A list separated by commas.

    >>> names("age, sex")
    ['age', 'sex']
    """
    return [part.strip() for part in typed(text).split(",") if part.strip()]


def typed(text: str) -> str:
    r"""What was typed, though the locale has no such characters (POSIX): columns are named in UTF-8.

    >>> typed("gr\udcc3\udcb6\udcc3\udc9fe"), typed("größe")
    ('größe', 'größe')
    """
    if not any("\udc80" <= sign <= "\udcff" for sign in text):
        return text
    try:
        return text.encode("utf-8", "surrogateescape").decode()
    except UnicodeDecodeError:
        return text


def pairs(option: str, texts: list[str]) -> list[tuple[str, str]]:
    """Names with values.

    >>> pairs("--bin", ["age=5"])
    [('age', '5')]
    """
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise InputError(f"{option} must be a name and a value, such as a=1, not {text!r}.")
        found.append((name.strip(), value.strip()))
    return found


def parameters(option: str, texts: list[str] | None, **flags: Any) -> dict[str, Any]:
    """Options of a method, with values as YAML would read them: 5 is a number, true a truth value.

    Parameters
    ----------
    flags
        What options of the command say by themselves; None where one is not given.

    Examples
    --------
    >>> parameters("--option", ["tables=5", "search=lsh"], relaxed=True, force=None)
    {'tables': 5, 'search': 'lsh', 'relaxed': True}
    """
    from rothko.policy.yaml import value

    told = {name: value(text, where=option) for name, text in pairs(option, texts or [])}
    return told | {name: flag for name, flag in flags.items() if flag is not None}


def methods(option: str, text: str) -> list[Any]:
    """Methods separated by commas, each with its options after its name, as results call them.

    >>> methods("--method", "set-two-phase, set-mondrian criterion=even")
    ['set-two-phase', {'set-mondrian': {'criterion': 'even'}}]
    """
    found: list[Any] = []
    for part in names(text):
        name, *given = part.split()
        found.append({name: parameters(option, given)} if given else name)
    return found


@overload
def whole(option: str, text: str, least: int) -> int: ...
@overload
def whole(option: str, text: str | None, least: int) -> int | None: ...
def whole(option: str, text: str | None, least: int) -> int | None:
    """A whole number of at least ``least``, with a sentence for anything else."""
    if text is None:
        return None
    if not re.fullmatch(r"[+-]?\d+", text) or int(text) < least:
        raise InputError(f"{option} must be a whole number of at least {least}, not {text!r}.")
    return int(text)


def wholes(option: str, text: str, least: int) -> list[int]:
    """Whole numbers, separated by commas: sorted, each once.

    >>> wholes("--k", "10, 2,5,5", 2)
    [2, 5, 10]
    """
    return sorted({whole(option, part, least) for part in names(text)})


@overload
def number(option: str, text: str, least: float) -> float: ...
@overload
def number(option: str, text: str | None, least: float) -> float | None: ...
def number(option: str, text: str | None, least: float) -> float | None:
    """A number of at least ``least``, with a sentence for anything else.

    >>> number("--minimum-gain", "1e-3", 0)
    0.001
    """
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf:
        raise InputError(f"{option} must be a number of at least {least}, not {text!r}.")
    return value


def suppressed(records: str | None, becomes: str | None) -> Any:
    """What may be suppressed, as a policy says it.

    >>> suppressed("0.02", None), suppressed("100", "left-out")
    ({'records': 0.02}, {'records': 100, 'as': 'left-out'})
    """
    if records is None:
        if becomes is not None:
            raise InputError("--suppress-as goes with --suppress, which says how many records.")
        return None
    try:
        number: float = int(records) if re.fullmatch(r"[+-]?\d+", records) else float(records)
    except ValueError:
        raise InputError(
            f"--suppress must be a share of the records such as 0.02, or a whole number of them, not {records!r}."
        ) from None
    return {"records": number} | ({} if becomes is None else {"as": becomes})


def count(option: str, text: str) -> int:
    """A number of things, also as 1e6.

    >>> count("-n", "1e6"), count("-n", "1_000")
    (1000000, 1000)
    """
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        number = -1.0
    if number < 1 or number != int(number):
        raise InputError(f"{option} must be a whole number such as 1000 or 1e6, not {text!r}.")
    return int(number)


def key(path: Path | None) -> bytes | None:
    """The key in a file, where one is given."""
    from rothko.secret import read_key

    return None if path is None else read_key(path)

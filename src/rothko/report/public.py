"""What a report tells everybody: nothing that the certificate and the released file do not tell already."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rothko.metrics.registry import METRICS
from rothko.metrics.risk import Risk, risk
from rothko.metrics.told import Row, penalty
from rothko.plots.model import Picture
from rothko.policy.policy import Policy
from rothko.privacy.combined import AlphaK, PSensitive
from rothko.privacy.diversity import DistinctLDiversity
from rothko.privacy.kanonymity import KAnonymity
from rothko.release.loss import AggregateLoss, Answer, ClassifyLoss, RegressLoss, SelectLoss, TaskLoss
from rothko.release.parts import MANIFEST
from rothko.release.sql import literal, name_of
from rothko.report import figures, page
from rothko.report.page import Html, Section
from rothko.report.painting import short
from rothko.report.released import Released
from rothko.report.sentences import asked, listed, not_promised, sentences

TASKS: dict[str, type[TaskLoss]] = {
    "classify": ClassifyLoss, "regress": RegressLoss, "select": SelectLoss, "aggregate": AggregateLoss,
}  # fmt: skip

WIDE = 12
"""Columns that a row has beside each other, at most."""
LONGEST = 120
"""Letters of a cell that is shown."""

WHO_LOOKS = (
    "A prosecutor knows that somebody is in the table and looks for their record; a journalist looks for anybody, and "
    "finds them no more often, so without a register of the population the same numbers are told; a marketer wants as "
    "many as possible, and finds this share on average."
)
NOT_BEFORE = (
    "What the risk was before the release is a fact of the original, and stands in the report for the steward alone."
)
CHECKED = "All of this was computed again from the released bytes, by other code than that which made them"

Draw = Callable[[Picture], Html]
"""Puts a picture into the page, and remembers it."""


def holds(released: Released) -> Section:
    """What was asked and what was achieved."""
    certificate = released.certificate
    said = {
        (r.name, r.owner or r.column, None if r.over is None else tuple(r.over)): r for r in released.policy.privacy
    }
    rows = []
    for one in certificate["requirements"]:
        over = None if one["over"] is None else tuple(one["over"])
        known = said.get((one["requirement"], one["of"], over))
        about = (
            asked(known) if known is not None else f"A part of what is asked, over {listed(over or released.shown)}."
        )
        rows.append(
            [one["requirement"], page.verdict(one["holds"]), _plain(one["asked"]), _plain(one["achieved"]), about]
        )
    loss = certificate["loss"]
    numbers = [
        (f"{certificate['rows']:,}", "records"),
        (f"{certificate['classes']:,}", "classes"),
        (f"{loss['smallest_class']:,}", "records in the smallest class"),
        (penalty(float("nan") if loss["gcp"] is None else loss["gcp"]), "information lost (GCP), of 1"),
    ]
    method = f"Made by {certificate['method']}, published as {certificate['publish']}"
    blocks = [
        page.tiles(numbers),
        page.table("Requirements", ["requirement", "holds", "asked", "achieved", "what it asks"], rows, texts=(4,)),
        page.text(
            CHECKED
            + (
                ", and every row was compared with the record that it stands for."
                if certificate["true_to_original"]
                else "."
            ),
            f"{method}"
            + (
                f"; {certificate['suppressed']:,} records show nothing of any quasi-identifier."
                if certificate["suppressed"]
                else "."
            ),
        ),
        *(page.note(note) for note in certificate["notes"]),
    ]
    return Section("holds", "What was asked, and what holds", blocks)


def risk_section(
    released: Released, threshold: float, draw: Draw, more: Sequence[Html], before: Risk | None
) -> Section:
    """How likely anybody is found again.

    Parameters
    ----------
    more, before
        What is told of the original, to whoever may know it.
    """
    blocks = []
    for over in _sets(released):
        sizes = released.over(over)
        after = risk(sizes, threshold)
        whole = set(over) == set(released.shown)
        where = "" if whole else f", by {listed(over)}"
        blocks.append(risks(f"Risk of being found again{where}", after, before if whole else None))
        if whole or len(blocks) == 1:
            plot = figures.class_sizes(sizes, threshold)
    if released.policy.owner is not None:
        achieved = [
            one["achieved"] for one in released.certificate["requirements"] if one["requirement"] == "k-anonymity"
        ]
        blocks.append(
            page.note(
                "These are numbers of records, and people have several. Of people, whom the release does not tell "
                f"apart, every class has at least {min(achieved):,}: nobody is found with a probability above "
                f"{1 / min(achieved):.4f}."
            )
        )
    blocks.append(page.text(WHO_LOOKS, faint=True))
    blocks.append(draw(plot))
    return Section("risk", "How likely is anybody found again?", [*blocks, *more])


def risks(caption: str, after: Risk, before: Risk | None) -> Html:
    """Who may find how many, after the release and, where it may be known, before."""
    both = [after] if before is None else [before, after]
    titles = ["who looks", "after"] if before is None else ["who looks", "before", "after"]
    lines: list[tuple[str, Callable[[Risk], str]]] = [
        ("Unique records", lambda one: f"{one.unique:,} ({one.share_unique:.2%})"),
        ("Prosecutor: highest risk", lambda one: f"{one.highest:.4f}"),
        ("Prosecutor: average risk", lambda one: f"{one.average:.4f}"),
        (f"Prosecutor: records above {after.threshold:g}", lambda one: f"{one.above:,} ({one.share_above:.2%})"),
        ("Journalist: highest risk, at most", lambda one: f"{one.highest:.4f}"),
        ("Journalist: average risk, at most", lambda one: f"{one.average:.4f}"),
        ("Marketer: expected share found", lambda one: f"{one.average:.4f}"),
    ]
    return page.table(caption, titles, [[title, *(tell(one) for one in both)] for title, tell in lines])


def found_by_class(policy: Policy) -> bool:
    """Whether the size of a class says how likely somebody in it is found."""
    everything = all(one.over is None for one in policy.privacy)
    return everything and policy.owner is None and not policy.method.two_tables


def _sets(released: Released) -> list[tuple[str, ...]]:
    """The sets of quasi-identifiers that something is asked of; all of them, where that is one."""
    everything = tuple(released.shown)
    found = [
        everything if r.over is None else tuple(q for q in everything if q in r.over) for r in released.policy.privacy
    ]
    return list(dict.fromkeys(found))


def lost(
    released: Released,
    draw: Draw,
    distributions: Sequence[Html],
    more: Sequence[Html],
    tasks: Sequence[TaskLoss] | None,
) -> Section:
    """What the release no longer says.

    Parameters
    ----------
    distributions
        Plots of every quasi-identifier.
    more, tasks
        What is told of the original, to whoever may know it; None: what the certificate tells of tasks.
    """
    loss = released.certificate["loss"]
    blocks = []
    if loss["gcp"] is not None:
        blocks.append(
            page.text(
                f"On average a published value leaves {loss['gcp']:.1%} of the range of its column open (GCP); the sum "
                f"of squared class sizes (discernibility) is {loss['discernibility']:,}."
            )
        )
        if any(loss["ncp"].values()):
            blocks.append(draw(figures.penalties(loss["ncp"])))
        else:
            blocks.append(page.text("Every value of every quasi-identifier is published as it was."))
    else:
        blocks.append(page.text("How much was lost cannot be told from what is published."))
    rows = [row for task in (_tasks(loss["workload"]) if tasks is None else tasks) for row in _told(task)]
    if rows:
        blocks.append(
            page.table(
                "What the release is for",
                ["task", "number", "what it means"],
                [[r.what, r.number, r.meaning] for r in rows],
                texts=(2,),
            )
        )
    if distributions:
        blocks += [page.heading("Column by column"), page.side_by_side(distributions)]
    blocks += more
    return Section("lost", "What was lost", blocks)


def _told(task: TaskLoss) -> Sequence[Row]:
    told = METRICS[task.task].told
    assert told is not None
    return told(task)


def _tasks(listed_tasks: Sequence[dict[str, Any]]) -> Iterator[TaskLoss]:
    """The losses for tasks as a certificate has them."""
    for one in listed_tasks:
        given = {name: value for name, value in one.items() if name != "task"}
        if one["task"] == "aggregate":
            given["answers"] = tuple(Answer(**answer) for answer in given["answers"])
        yield TASKS[one["task"]](**given)


def rows(released: Released) -> Section:
    """The first rows, as they are."""
    shown = released.rows
    cells = [["" if cell is None else short(str(cell), LONGEST) for cell in row.values()] for row in shown.to_pylist()]
    caption = f"The first {len(cells)} of {released.records:,} rows of {released.file}"
    if len(shown.column_names) > WIDE:  # neither a screen nor paper has room: a record goes down, not across
        titles, cells = (
            ["column", *map(str, range(1, len(cells) + 1))],
            [[name, *column] for name, column in zip(shown.column_names, zip(*cells, strict=True), strict=True)],
        )
        table = page.table(caption, titles, cells, rows_are_data=True)
    else:
        table = page.table(caption, shown.column_names, cells, rows_are_data=True)
    return Section("rows", "What was published", [table])


def policy(released: Released) -> Section:
    """The policy in sentences, and as it was written."""
    yaml = page.folded("The policy as it was written", page.code(released.certificate["policy"]))
    return Section("policy", "The policy, in sentences", [page.bullets(sentences(released.policy)), yaml])


def limits(released: Released) -> Section:
    """What is not promised."""
    return Section("limits", "What is not promised", [page.bullets(not_promised(released.policy))])


def checked(released: Released) -> Section:
    """How anybody can check it, with other tools than ours."""
    blocks = bytes_checked(released.file, released.certificate, in_parts=bool(released.parts))
    blocks.append(page.text("Every requirement can be computed from the file with any database. In DuckDB:"))
    blocks.append(page.code("\n".join(_queries(released))))
    if released.policy.owner is not None:
        blocks.append(
            page.note(
                "The release does not say whose a record is, so people cannot be counted in it; that was done beside "
                "the original."
            )
        )
    blocks.append(page.text("With rothko itself, and the policy above in a file:"))
    blocks.append(page.code(f"$ rothko check {released.file} --policy policy.yaml"))
    return Section("check", "How to check it without us", blocks)


def bytes_checked(file: str, certificate: Mapping[str, Any], *, in_parts: bool) -> list[Html]:
    """How anybody sees that they have what was certified."""
    digest = certificate["file_sha256"] or "(the release is not saved yet)"
    if in_parts:
        return [
            page.text("The files are those that were certified if their list has this hash, and they theirs:"),
            page.code(f"$ cd {file}\n$ sha256sum {MANIFEST}\n{digest}\n$ sha256sum --check {MANIFEST}"),
        ]
    return [
        page.text("The file is the one that was certified if its hash is this one:"),
        page.code(f"$ sha256sum {file}\n{digest}"),
    ]


def _queries(released: Released) -> Iterator[str]:
    """SQL for the requirements that one line of it can answer."""
    source, everything = literal(released.parts or released.file), set(released.shown)
    for over in _sets(released):
        by = ", ".join(name_of(column) for name in over for column in released.shown[name])
        here = [one for one in released.policy.privacy if set(one.over or everything) == set(over)]
        least = max((one.k for one in here if isinstance(one, KAnonymity | AlphaK | PSensitive)), default=0)
        if least:
            yield f"-- at least {least:,}:"
        yield f"SELECT min(n) FROM (SELECT count(*) AS n FROM {source} GROUP BY {by});"
        for one in here:
            if isinstance(one, DistinctLDiversity):
                counted = f"count(DISTINCT {name_of(one.of)})"
                yield f"-- at least {one.l:,} (a missing value counts as one more):"
                yield f"SELECT min(n) FROM (SELECT {counted} AS n FROM {source} GROUP BY {by});"


def _plain(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "–" if value is None else f"{value:,}"

"""Open: a file below the folder where the studio was started or one that is dropped, a database, an example."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rothko.data.source.database.url import is_database, read_address, shown
from rothko.data.source.formats import FORMATS, ending_of
from rothko.errors import InputError, PolicyError
from rothko.policy.policy import Policy
from rothko.report.page import Html, bullets, text
from rothko.studio.desk import Desk, Table
from rothko.studio.markup import act, button, element, field, form, joined, part, problem, waiting
from rothko.studio.sparks import spark
from rothko.studio.views import how_read
from rothko.studio.views.view import Fragments, Given, View

ENDINGS = tuple(ending for known in FORMATS for ending in known.endings)
DEEP, LISTED = 3, 60
"""Folders that are looked into for files, and files that are offered."""
SHOWN = 100
"""Columns that are told of at once."""
EXAMPLES = {
    "patients": "2,000 patients of a hospital: names, dates of birth, zips, diagnoses, costs",
    "census": "5,000 people of a census: ages, countries, education, work, occupations",
}


def given_table(data: str, label: str | None = None) -> Table:
    """The table that a command names."""
    return Table(data, label or (shown(data) if is_database(data) else data))


def body(desk: Desk) -> Html:
    """The view."""
    if desk.table is None:
        head = [
            element("h1", "Open a table"),
            element(
                "p",
                "It stays on this machine. The studio looks at it, proposes a policy, and shows what every decision "
                "means before anything is released.",
                class_="lead",
            ),
        ]
        return joined([*head, _ways(desk)])
    return joined(
        [
            _seen(desk),
            element("details", element("summary", "Open another table"), _ways(desk), class_="more", id="another"),
        ]
    )


# ── what can be opened ───────────────────────────────────────────────────────────────────────────


def _ways(desk: Desk) -> Html:
    drop = element(
        "label",
        element("input", type="file", data_drop="table", accept=",".join(ENDINGS), class_="file"),
        element("b", "Drop a file here"),
        element(
            "span", " or choose one. It is kept in a private folder and removed when the studio ends.", class_="faint"
        ),
        class_="drop",
        data_drop="table",
    )
    found = list(files_below(desk.root))
    offered = [
        element(
            "li",
            act("open/path", element("span", path), kind="link", values={"path": path}),
            element("span", size, class_="faint"),
        )
        for path, size in found[:LISTED]
    ]
    here = element("ul", *offered, class_="files") if offered else text("There is no table in this folder.", faint=True)
    if len(found) > LISTED:
        here = joined([here, text("and more; write the path of the one that you mean.", faint=True)])
    by_path = form(
        "open/path",
        field("path", label="Path below this folder", placeholder="data/people.csv", required=True),
        button("Open"),
        class_="row",
    )
    address = form(
        "open/address",
        field(
            "address",
            label="Table in a database",
            placeholder="postgresql://ann@host/clinic?table=visits",
            required=True,
        ),
        button("Open"),
        class_="row",
    )
    others = text("or sqlite:///clinic.db?table=visits, duckdb:///clinic.duckdb?table=visits", faint=True)
    examples = element(
        "ul",
        *(
            element(
                "li",
                act("open/example", name, kind="link", values={"name": name}),
                element("span", about, class_="faint"),
            )
            for name, about in EXAMPLES.items()
        ),
        class_="files",
    )
    policy = (
        element(
            "label",
            element("input", type="file", data_drop="policy", accept=".yaml,.yml", class_="file"),
            element("b", "Load a policy"),
            element("span", " (policy.yaml) for the table that is open.", class_="faint"),
            class_="drop small",
            data_drop="policy",
        )
        if desk.history.policy is not None
        else None
    )
    return element(
        "div",
        element("section", element("h2", "Your file"), drop, policy, by_path, address, others),
        element(
            "section", element("h2", f"In {desk.root.name or desk.root}"), here, element("h2", "An example"), examples
        ),
        class_="ways",
    )


def files_below(root: Path) -> Iterator[tuple[str, str]]:
    """Tables below a folder, with their sizes; nothing that is hidden, and nothing that leads elsewhere."""
    count = 0
    for folder, folders, names in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(name for name in folders if not name.startswith((".", "_"))) if depth < DEEP else []
        tables = [Path(folder) / name for name in sorted(names) if _is_offered(Path(folder) / name)]
        if depth and len(tables) > 1 and len({ending_of(path) for path in tables}) == 1:
            yield f"{tables[0].parent.relative_to(root).as_posix()}/", f"{len(tables):,} files as one table"
            count += 1
        for path in tables:
            yield path.relative_to(root).as_posix(), _size(path)
            count += 1
            if count > LISTED:
                return


def _is_offered(path: Path) -> bool:
    return not path.name.startswith(".") and path.name.lower().endswith(ENDINGS) and not path.is_symlink()


def _size(path: Path) -> str:
    try:
        size = float(path.stat().st_size)
    except OSError:
        return ""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    return ""


def open_path(desk: Desk, given: Given) -> Fragments:
    """Open a file below the folder."""
    path = given.one("path")
    if is_database(path):
        return open_address(desk, Given(address=[path]))
    found = desk.below(path)
    if not found.exists():
        raise InputError(f"There is no file {path!r} below {desk.root.name or str(desk.root)!r}.")
    shown_as = found.relative_to(desk.root).as_posix()
    # As it would be named on the command line, in the folder where the studio was started.
    desk.open(Table(str(found), shown_as))
    return None


def open_address(desk: Desk, given: Given) -> Fragments:
    """Open a table of a database; one that is a file must lie below the folder, too."""
    address = given.one("address")
    if not is_database(address):
        raise InputError(
            "The address of a table begins with postgresql://, sqlite:// or duckdb:// and ends in ?table=…; a "
            "file is opened by "
            "its path."
        )
    read = read_address(address)
    if read.kind != "PostgreSQL":
        desk.below(read.client)
    desk.open(Table(address, shown(address)))
    return None


def open_example(desk: Desk, given: Given) -> Fragments:
    """Make an example in the private folder, and open it."""
    name = given.one("name")
    if name not in EXAMPLES:
        raise InputError(f"There is no example {name!r}; there are {', '.join(EXAMPLES)}.")
    import pyarrow.csv

    if name == "patients":
        from rothko.generate.patients import patients

        table = patients(2000)
    else:
        from rothko.generate.census import census

        table = census(5000)
    path = desk.dropped(f"{name}.csv")
    pyarrow.csv.write_csv(table, path)
    desk.open(Table(str(path), path.name, dropped=True))
    return None


def take_table(desk: Desk, rest: str, path: Path) -> None:
    """A table that was dropped on the page; it stays in the private folder."""
    desk.open(Table(str(path), path.name, dropped=True))


async def take_policy(desk: Desk, rest: str, path: Path) -> None:
    """A policy that was dropped on the page; a long one takes a while to read, and the page goes on."""
    try:
        load(desk, await asyncio.to_thread(Policy.load, path), path.name)
    finally:
        path.unlink(missing_ok=True)


def load(desk: Desk, policy: Policy, name: str) -> None:
    """Take a policy that was written before for the table that is open."""
    missing = [column for column in desk.policy.columns if column not in policy.columns]
    extra = [column for column in policy.columns if column not in desk.policy.columns]
    if missing or extra:
        told = (
            f"it does not name {missing[0]!r}" if missing else f"it names {extra[0]!r}, which the table does not have"
        )
        raise PolicyError(f"{name} is not a policy for this table: {told}.")
    if files := policy.hierarchy_files:
        raise PolicyError(
            f"{name} reads a hierarchy from {files[0].name}, which did not come with it: load the policy, then "
            f"the hierarchy "
            "beside its column, or start the studio where the file lies."
        )
    desk.edit(policy, f"load {name}")


# ── what is in it ────────────────────────────────────────────────────────────────────────────────


def _seen(desk: Desk) -> Html:
    assert desk.table is not None
    head = element("h1", desk.table.shown)
    if desk.open_error is not None:
        return joined([head, problem(desk.open_error), how_read.reading(desk)])
    seen = desk.seen
    if seen is None:
        return joined([head, part("seen", waiting("The first records are being read."))])
    draft = seen.draft
    told = (
        f"{draft.rows:,} records and {len(seen.names):,} columns."
        if seen.exact
        else f"The first {draft.rows:,} records were looked at; the others are being read."
    )
    blocks = [
        head,
        element("p", told, class_="lead"),
        None if seen.exact else waiting("All records are being looked at."),
    ]
    blocks += [how_read.asks(desk), _columns(desk), _preview(seen)]
    if draft.notes:
        blocks.append(element("section", element("h2", "What to know about it"), bullets(draft.notes)))
    blocks += [how_read.reading(desk), how_read.missing(desk)]
    go = element("p", element("a", "Next: the roles of its columns", href="/roles", class_="go"))
    return joined([*blocks, go])


def _columns(desk: Desk) -> Html:
    seen = desk.seen
    rows = [
        element(
            "tr",
            element("th", one.name, scope="row"),
            element("td", one.type),
            element("td", f"{one.distinct:,}", class_="n"),
            element("td", f"{one.missing:,}" if one.missing else "", class_="n"),
            element("td", spark(seen.bars.get(one.name))),
        )
        for one in seen.draft.proposals[:SHOWN]
    ]
    heads = ["column", "values", "distinct", "missing", "how they lie"]
    head = element(
        "tr",
        *(element("th", one, scope="col", class_="n" if one in ("distinct", "missing") else None) for one in heads),
    )
    table = element(
        "table", element("caption", "Columns"), element("thead", head), element("tbody", *rows), class_="columns unseen"
    )
    left = len(seen.draft.proposals) - len(rows)
    more = text(f"and {left:,} more, which Roles lists.", faint=True) if left else None
    return element(
        "section",
        element("h2", "Columns"),
        element("div", table, class_="scroll", tabindex="0", role="region", aria_label="Columns"),
        more,
    )


def _preview(seen: Any) -> Html:
    names = seen.names[:SHOWN]
    head = element("tr", *(element("th", name, scope="col") for name in names))
    rows = [
        element(
            "tr",
            *(
                element("td", cell if cell is not None else "", class_=None if cell is not None else "absent")
                for cell in row[: len(names)]
            ),
        )
        for row in seen.rows
    ]
    table = element(
        "table",
        element("caption", f"The first {len(rows)} records"),
        element("thead", head),
        element("tbody", *rows),
        class_="rows",
    )
    return element(
        "section",
        element("h2", "The first records"),
        element("div", table, class_="scroll", tabindex="0", role="region", aria_label="The first records"),
    )


def undo(desk: Desk, given: Given) -> Fragments:
    """One step back."""
    desk.move(-1)
    return None


def redo(desk: Desk, given: Given) -> Fragments:
    """One step forward."""
    desk.move(1)
    return None


def offer(desk: Desk) -> Html | None:
    """What was being edited for this table when the studio ended, to go on with or to forget."""
    found = desk.offered
    if found is None:
        return None
    when = time.strftime("%d %B %Y, %H:%M", time.localtime(found.when))
    return element(
        "section",
        element("p", f"A policy for this table was being edited when the studio ended ({when}), and was not saved."),
        element(
            "div",
            act("open/go-on", "Go on with it", kind="quiet"),
            act("open/forget", "Forget it", kind="quiet"),
            class_="row",
        ),
        class_="note",
    )


def go_on(desk: Desk, given: Given) -> Fragments:
    """Go on with what was being edited when the studio ended."""
    if desk.offered is None:
        raise InputError("Nothing was kept for this table.")
    found, desk.offered = desk.offered, None
    load(desk, found.policy, "the policy that was kept")
    desk.tell("page")
    return None


def forget(desk: Desk, given: Given) -> Fragments:
    """Forget what was being edited when the studio ended."""
    desk.forget_kept()
    return None


VIEW = View(
    "open",
    "Open",
    body,
    actions={
        "path": open_path,
        "address": open_address,
        "example": open_example,
        "read": how_read.read,
        "dates": how_read.dates,
        "numbers": how_read.numbers,
        "missing": how_read.set_missing,
        "undo": undo,
        "redo": redo,
        "go-on": go_on,
        "forget": forget,
    },
    takes={"table": (ENDINGS, take_table), "policy": ((".yaml", ".yml"), take_policy)},
)

"""Take away: the release and what goes with it, and the commands and the lines of Python that do the same."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

from rothko.data.source.database.url import is_database
from rothko.errors import InputError, OutputError
from rothko.policy.policy import Policy
from rothko.release.claims import claim_files
from rothko.release.digest import sha256
from rothko.release.staging import Claim, staging
from rothko.report.page import Html, text
from rothko.studio.desk import Desk, Run
from rothko.studio.edits import said_of
from rothko.studio.markup import button, element, field, form, joined, part, problem, waiting
from rothko.studio.views.result import looked_before
from rothko.studio.views.view import File, Fragments, Given, View

READ = 300
"""Labels of a tree that are shown with the policy."""
ABOUT = {
    "certificate.json": "what was asked and what holds, with the hash of the file",
    "report.html": "a page for everybody",
    "report.json": "what is drawn in it, as data",
}


def body(desk: Desk) -> Html:
    """The view."""
    run = desk.made
    blocks = [element("h1", "Take away")]
    if run is None:
        blocks.append(element("p", "There is no release yet. ", element("a", "Make one", href="/run"), class_="lead"))
    else:
        blocks += [_files(desk, run), saving(desk), before(desk)]
    blocks += [_policy(desk), _same(desk)]
    return joined(blocks)


def _files(desk: Desk, run: Run) -> Html:
    lines = [
        element(
            "li",
            element("a", path.name, href=f"/file/take-away/release?name={path.name}", download=path.name),
            " ",
            element("span", ABOUT.get(path.name, "the released rows"), class_="faint"),
        )
        for path in run.made.files
    ]
    if run.made.recoding:
        lines += [
            element(
                "li",
                element("a", path.name, href=f"/file/take-away/recoding?name={path.name}", download=path.name),
                " ",
                element("span", "sends new records to the same regions; not for publication", class_="faint"),
            )
            for path in run.made.recoding
        ]
    look = element(
        "p", element("a", "Look at the report", href="/file/take-away/look", target="_blank", rel="noopener")
    )
    told = (
        "The policy has changed since this was made: these files are those of the policy as it was."
        if run.policy != desk.policy
        else None
    )
    return element(
        "section",
        element("h2", "The release"),
        element("p", told, class_="note") if told else None,
        element("ul", *lines, class_="files"),
        look,
    )


def before(desk: Desk) -> Html:
    """The report for the steward, which is made of the original, too."""
    run = desk.made
    assert run is not None
    if run.policy.method.two_tables:
        return part("before")
    fact = looked_before(desk, run)
    if fact.error:
        inner = problem(fact.error)
    elif not fact.fresh:
        inner = waiting("Reading the original beside the release.")
    else:
        to = "/file/take-away/steward"
        inner = element(
            "p",
            element("a", "Look at the report for the steward", href=f"{to}?look=yes", target="_blank", rel="noopener"),
            " or ",
            element("a", "take it", href=to, download="steward.html"),
        )
    line = shlex.join(["rothko", "report", "release", "--for", "steward", "--original", _data(desk)])
    return part(
        "before",
        element("h2", "For you alone"),
        text(
            "How things were before, what could be found and what changed: facts of the original, not for publication."
        ),
        inner,
        element("pre", element("code", line), tabindex="0"),
        tag="section",
    )


def saving(desk: Desk) -> Html:
    """Save all of it to a folder."""
    run = desk.made
    assert run is not None
    if not desk.writes:
        return part(
            "saving",
            text("The studio was started with --no-write: files can be downloaded, and nothing is saved.", faint=True),
        )
    saved = desk.saved.get(run.number)
    told = (
        element(
            "p", element("b", "Saved. ", class_="yes"), f"{saved.relative_to(desk.root).as_posix()}/", class_="sentence"
        )
        if saved is not None
        else None
    )
    return part(
        "saving",
        told,
        form(
            "take-away/save",
            field(
                "out", "release", label=f"Save all of it to a folder in {desk.root.name or desk.root}", required=True
            ),
            element(
                "label",
                element("input", type="checkbox", name="overwrite", value="yes"),
                "replace an older release",
                class_="box",
            ),
            button("Save", kind="go"),
            class_="row",
        ),
    )


def save(desk: Desk, given: Given) -> Fragments:
    """Copy the files of the release to a folder, all of them or none."""
    desk.refuse_writing()
    run = desk.made
    if run is None:
        raise InputError("There is no release yet; make one first.")
    folder = desk.below(given.one("out"))
    if folder == desk.root or folder.suffix:
        raise OutputError(f"Name a folder, such as release, not {given.one('out')!r}.")
    recoding = folder.with_name(f"{folder.name}-recoding")
    hidden = [(path, recoding / path.name) for path in run.made.recoding]
    public = [(path, folder / path.name) for path in run.made.files]
    source = [] if run.table.path is None else [run.table.path]
    made = [one for one in dict.fromkeys(target.parent for _, target in (*public, *hidden)) if not one.exists()]
    try:
        for one in made:
            one.mkdir(parents=True)
        names = [str(target) for _, target in (*public, *hidden)]
        claim = claim_files(names, overwrite=bool(given.one("overwrite")), inputs=source)
        _copy(claim, public, hidden)
    finally:
        for one in made:
            with contextlib.suppress(OSError):
                one.rmdir()  # only where nothing came of it
    desk.saved[run.number] = folder
    return [saving(desk)]


def _copy(claim: Claim, public: list[tuple[Path, Path]], hidden: list[tuple[Path, Path]]) -> None:
    with staging(claim) as stage:
        for pairs, private in ((public, False), (hidden, True)):
            for path, target in pairs:
                place = stage.place_for(target, hidden=private)
                shutil.copyfile(path, place)
                if private:
                    place.chmod(0o600)
                if sha256(place) != sha256(path):
                    raise OutputError(f"{target.name} was not written as it is; nothing was saved.")
        stage.commit()


def _policy(desk: Desk) -> Html:
    short = shortened(desk.policy)
    keep = (
        form(
            "take-away/policy",
            field("out", "policy.yaml", label="Save it as", required=True),
            element(
                "label", element("input", type="checkbox", name="overwrite", value="yes"), "replace it", class_="box"
            ),
            button("Save"),
            class_="row",
        )
        if desk.writes
        else None
    )
    return element(
        "section",
        element("h2", "The policy"),
        element("pre", element("code", short.dump()), tabindex="0", id="policy-text"),
        None if short is desk.policy else text("Trees of very many labels stand in the file alone.", faint=True),
        element("p", element("a", "Download policy.yaml", href="/file/take-away/policy", download="policy.yaml")),
        keep,
        text("It can be loaded again in Open, and is all that the command line needs.", faint=True),
        text(
            f"Until it is saved it is kept in {desk.kept.folder}, for you alone and for a month at most, so that you "
            "can go on with it when the studio has ended.",
            faint=True,
        )
        if desk.kept is not None
        else None,
    )


def shortened(policy: Policy) -> Policy:
    """The policy with no tree of more labels than a person reads; itself, where it has none."""
    columns: dict[str, Any] = {}
    for name, column in policy.columns.items():
        tree = column.hierarchy if column.hierarchy is not None and column.hierarchy.kind == "tree" else None
        if tree is not None and (many := _labels(tree.value)) > READ:
            columns[name] = said_of(column) | {"hierarchy": {"tree": [f"… {many:,} labels …"]}}
    return policy.but(columns={**policy.columns, **columns}) if columns else policy


def _labels(nested: Any) -> int:
    return sum(1 if isinstance(one, str) else 1 + _labels(one[1]) for one in nested)


async def save_policy(desk: Desk, given: Given) -> Fragments:
    """Write the policy to a file."""
    desk.refuse_writing()
    path = desk.below(given.one("out"))
    written = await asyncio.to_thread(desk.policy.dump)
    claim = claim_files([str(path)], overwrite=bool(given.one("overwrite")), endings=(".yaml", ".yml"))
    with staging(claim) as stage:
        stage.write(path, written)
        stage.commit()
    desk.forget_kept()
    return [element("div", element("p", f"Saved: {path.relative_to(desk.root).as_posix()}"), id="said", role="status")]


def _same(desk: Desk) -> Html:
    lines = commands(desk)
    return element(
        "section",
        element("h2", "The same by the command line"),
        element("pre", element("code", "\n".join(lines)), tabindex="0", id="command"),
        act_copy("command"),
        element("h2", "The same in Python"),
        element("pre", element("code", python(desk)), tabindex="0", id="python"),
        act_copy("python"),
        text(_why_not_the_same(desk), faint=True),
    )


def act_copy(of: str) -> Html:
    """A button that copies a text."""
    return element("button", "Copy", type="button", data_copy=of, class_="small")


def _why_not_the_same(desk: Desk) -> str:
    run = desk.made
    method = None if run is None else run.made.certificate["method"]
    if method in (None, "mondrian", "refine"):
        return "The same table, policy and seed give the same bytes."
    return (
        f"Which of several equal records goes to which class hangs on a secret that {method} draws for each "
        f"run, so that nobody can "
        "guess it: another run has the same classes, as good, with other bytes. With --key-file the bytes are "
        "the same, too."
    )


def _data(desk: Desk) -> str:
    assert desk.table is not None
    return desk.table.data if is_database(desk.table.data) else desk.table.shown


def commands(desk: Desk) -> list[str]:
    """What to type for the same release."""
    options = (desk.made.options if desk.made is not None else desk.notes.get("options")) or {}
    line = ["rothko", "anonymize", _data(desk), "--policy", "policy.yaml", "--out", "release/"]
    for name in ("engine", "memory"):
        if options.get(name):
            line += [f"--{name}", str(options[name])]
    if options.get("seed"):
        line += ["--seed", str(options["seed"])]
    return [shlex.join(line)]


def python(desk: Desk) -> str:
    """The same in Python."""
    options = (desk.made.options if desk.made is not None else desk.notes.get("options")) or {}
    words = {name: json.dumps(options[name]) for name in ("engine", "memory", "seed") if options.get(name)}
    given = "".join(f", {name}={value}" for name, value in words.items())
    made = f'release = rk.anonymize({json.dumps(_data(desk), ensure_ascii=False)}, "policy.yaml"{given})'
    return f'import rothko as rk\n\n{made}\nrelease.save("release/")'


def _given(desk: Desk, given: Given, paths: tuple[Path, ...]) -> File:
    """A file of the release by its name; no other is given."""
    found = next((path for path in paths if path.name == given.one("name")), None)
    if found is None:
        raise InputError("There is no such file in the release.")
    return File(found.name, found)


def give_release(desk: Desk, given: Given) -> File:
    """A file of the release."""
    return _given(desk, given, desk.made.made.files if desk.made is not None else ())


def give_recoding(desk: Desk, given: Given) -> File:
    """A file of the recoding."""
    return _given(desk, given, desk.made.made.recoding if desk.made is not None else ())


async def give_policy(desk: Desk, given: Given) -> File:
    """The policy."""
    return File("policy.yaml", (await asyncio.to_thread(desk.policy.dump)).encode(), "application/yaml")


def look(desk: Desk, given: Given) -> File:
    """The report, to be looked at."""
    paths = desk.made.made.files if desk.made is not None else ()
    found = next((path for path in paths if path.suffix == ".html"), None)
    if found is None:
        raise InputError("There is no report.")
    return File(found.name, found, "text/html", shown=True)


def give_steward(desk: Desk, given: Given) -> File:
    """The report for the steward, to be looked at or taken."""
    run = desk.made
    if run is None or not run.for_steward.exists():
        raise InputError("There is no report for the steward yet.")
    return File("steward.html", run.for_steward, "text/html", shown=bool(given.one("look")))


VIEW = View(
    "take-away",
    "Take away",
    body,
    actions={"save": save, "policy": save_policy},
    parts={"saving": saving, "before": before},
    files={
        "release": give_release,
        "recoding": give_recoding,
        "policy": give_policy,
        "look": look,
        "steward": give_steward,
    },
    about="Here you take the release, its certificate, its report and the policy, and the command for the same.",
)

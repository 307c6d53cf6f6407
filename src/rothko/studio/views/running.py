"""Run: make the release, by stages that are seen and can be stopped."""

from __future__ import annotations

import time

from rothko.engines import ENGINES
from rothko.engines.plan import as_bytes
from rothko.errors import InputError
from rothko.mistakes import some_of
from rothko.report.page import Html, text, tiles
from rothko.report.sentences import sentences
from rothko.studio.desk import Desk, Run
from rothko.studio.field_names import FIELDS
from rothko.studio.markup import act, button, chosen, element, field, form, joined, part, problem
from rothko.studio.views.view import Fragments, Given, View

STAGES = ("read", "encode", "partition", "publish", "save")
WORDS = {
    "read": "read the table",
    "encode": "put its columns on lines",
    "survey": "look through the table",
    "compile": "compile what is used for the first time",
    "partition": "group the records into classes",
    "grow": "cut the table",
    "publish": "put classes in words",
    "save": "write, verify and certify",
}
"""Stage → what is done in it."""


def body(desk: Desk) -> Html:
    """The view."""
    return joined(
        [
            element("h1", "Run"),
            element(
                "details",
                element("summary", "What is asked for, in sentences"),
                element("ul", *(element("li", one) for one in sentences(desk.policy))),
                open=desk.run is None or None,
                class_="more",
                id="sentences",
            ),
            ask(desk),
            progress(desk),
        ]
    )


def ask(desk: Desk) -> Html:
    """What is left to say, and the button."""
    options = desk.notes.get("options", {})
    waits = desk.policy.confirm
    if waits:
        return element(
            "section",
            element(
                "p",
                f"{len(waits)} columns wait for you before anything can be released: {some_of(waits)}. ",
                element("a", "Look at their roles", href="/roles"),
            ),
            class_="note",
            id="ask",
        )
    engines = [(name, name) for name in ("auto", *(one for one in ENGINES if one not in ("auto", "spark")))]
    inner = form(
        "run/make",
        chosen("engine", engines, options.get("engine") or desk.policy.engine.name, label="Engine", shown=True),
        field("memory", options.get("memory") or "", label=FIELDS["--memory"], placeholder="what is free", size=12),
        field("seed", str(options.get("seed", 0)), label="Seed", kind="number", min=0, size=8),
        button("Make the release", kind="go", disabled=desk.makes_now or None, id="make"),
        class_="row",
    )
    return element("section", inner, id="ask")


def progress(desk: Desk) -> Html:
    """How far the run is, or what became of it."""
    run = desk.run
    if run is None:
        return part(
            "run", text("Nothing was made yet. It is made in a process of its own: the page stays awake.", faint=True)
        )
    return part("run", *(_going(desk, run) if run.going else _ended(desk, run)))


def _going(desk: Desk, run: Run) -> list[Html]:
    memory = desk.makes.memory
    seconds = time.monotonic() - run.began
    known = [
        (f"{seconds:.0f} s", "so far"),
        (run.options.get("engine") or run.policy.engine.name, "engine that is asked for"),
        (run.policy.method.name, "method"),
    ]
    if memory is not None:
        known.append(
            (f"{memory / 1e9:.2f} GB", f"memory of the process, of {run.options.get('memory') or 'what is free'}")
        )
    return [
        element("h2", "Being made"),
        stages(run.stages),
        tiles(known),
        act("run/cancel", "Cancel", kind="quiet", about="Cancel the run: nothing of it stays"),
    ]


def stages(known: dict[str, tuple[int, int]]) -> Html:
    """Stages with how far each is."""
    lines = []
    names = list(known) + [name for name in STAGES if name not in known]
    for name in names:
        done, total = known.get(name, (0, 0))
        words = WORDS.get(name, name)
        if name not in known:
            lines.append(element("li", words, class_="later"))
            continue
        over = total > 0 and done >= total
        bar = element("progress", max=max(total, 1), value=None if total <= 1 and not over else done, aria_label=words)
        share = "done" if over else f"{done / total:.0%}" if total > 1 else ""
        lines.append(
            element(
                "li", element("span", words), bar, element("span", share, class_="n"), class_="done" if over else "now"
            )
        )
    return element("ol", *lines, class_="stages")


def _ended(desk: Desk, run: Run) -> list[Html]:
    if run.stopped and not run.cancelled:
        told = (
            "The process that made it was ended from outside: by the system where memory ran out, perhaps, so that "
            "less memory or an engine on disk may help. Nothing of it stays, and the policy is as it was."
        )
        return [element("h2", "Stopped"), problem(told)]
    if run.stopped:
        return [
            element("h2", "Cancelled"),
            text("The run was stopped, and nothing of it stays. The policy is as it was."),
        ]
    if run.error is not None:
        return [element("h2", "Not made"), problem(run.error), text("Nothing was released.", faint=True)]
    told = run.made.certificate
    engine = told["engine"]
    changed = run.policy != desk.policy
    return [
        element("h2", "Made, and verified on its bytes"),
        tiles(
            [
                (f"{told['rows']:,}", "records"),
                (f"{told['classes']:,}", "classes"),
                (f"{run.seconds:.1f} s", "from the click to the certificate"),
                (engine["name"], f"engine: {engine['reason']}"),
                (told["method"], "method"),
            ]
        ),
        element("p", "The policy has changed since; make it again to see what that does.", class_="note")
        if changed
        else Html(""),
        *(element("p", one, class_="note") for one in run.made.warnings),
        element("p", element("a", "Next: look at the result", href="/result", class_="go")),
    ]


def make(desk: Desk, given: Given) -> Fragments:
    """Begin."""
    if desk.policy.confirm:
        raise InputError(f"{len(desk.policy.confirm)} columns wait for you; look at their roles first.")
    engine, memory = given.one("engine", "auto"), given.one("memory") or None
    as_bytes(memory)
    if engine not in ENGINES:
        raise InputError(f"{engine!r} is no engine here; there are {', '.join(ENGINES)}.")
    options = {
        "seed": given.whole("seed", least=0) if given.one("seed") else 0,
        "engine": None if engine == desk.policy.engine.name else engine,
        "memory": memory,
    }
    desk.notes["options"] = options
    desk.make(desk.policy, options)
    return None


def cancel(desk: Desk, given: Given) -> Fragments:
    """Stop it."""
    desk.cancel()
    return None


VIEW = View(
    "run",
    "Run",
    body,
    actions={"make": make, "cancel": cancel},
    parts={"run": progress, "ask": ask},
    about="Here the release is made, stage by stage, and verified on its bytes.",
)

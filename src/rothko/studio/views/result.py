"""Result: the report, alive: what holds, the painting over any two columns, rows, columns before and after, another
k beside it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from rothko.errors import InputError
from rothko.policy.varied import varied
from rothko.report.page import Html, text
from rothko.studio.desk import Desk, Fact, Run
from rothko.studio.jobs.made import Place
from rothko.studio.markup import act, button, chosen, element, field, form, joined, part, problem, strict, waiting
from rothko.studio.views.running import stages
from rothko.studio.views.view import Fragments, Given, View

COLOURS = {"density": "density of records", "size": "size of classes", "loss": "what is lost"}


def body(desk: Desk) -> Html:
    """The view."""
    run = desk.made
    if run is None:
        return joined(
            [
                element("h1", "Result"),
                element("p", "There is no release yet. ", element("a", "Make one", href="/run"), class_="lead"),
            ]
        )
    told = run.made.certificate
    old = (
        element(
            "p",
            "The policy has changed since this was made. ",
            element("a", "Make it again", href="/run"),
            class_="note",
        )
        if run.policy != desk.policy
        else None
    )
    return joined(
        [
            element("h1", "Result"),
            element(
                "p",
                f"{told['rows']:,} records in {told['classes']:,} classes, the smallest with "
                f"{told['loss']['smallest_class']:,}, by {told['method']}.",
                class_="lead",
            ),
            old,
            *(
                [_no_painting()]
                if run.policy.method.two_tables
                else [
                    _sides(desk, run),
                    element("div", painting(desk), what_if(desk), class_="easels"),
                    _ask_what_if(desk, run),
                ]
            ),
            element("section", element("h2", "Released rows"), _filter(desk, run), rows(desk), id="rows-of"),
            told_of(desk),
            element(
                "section",
                element("h2", "Before and after"),
                text("Before is a fact of the original: this is for you, not for publication.", faint=True),
                before(desk),
            ),
            element("p", element("a", "Next: take it away", href="/take-away", class_="go")),
        ]
    )


def _no_painting() -> Html:
    return text(
        "This method publishes quasi-identifiers as they are, in a table of their own: there are no classes to paint.",
        faint=True,
    )


# ── the painting ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Painted:
    """What a painting is of: a run, and what it is painted over."""

    run: int
    x: str | None
    y: str | None

    @property
    def word(self) -> str:
        """By which a page names it."""
        return json.dumps([self.run, self.x, self.y])


def _painted(desk: Desk) -> dict[str, str]:
    found: dict[str, str] = desk.notes.setdefault("painted", {"x": "", "y": "", "by": "density"})
    return found


def _sides(desk: Desk, run: Run) -> Html:
    now = _painted(desk)
    names = [("", "chosen for you"), *((name, name) for name in run.policy.quasi_identifiers)]
    colours = [*COLOURS.items(), *((name, name) for name in (*run.policy.sensitive, *run.policy.kept))]
    return form(
        "result/paint",
        chosen("x", names, now["x"], label="Across", shown=True),
        chosen("y", names, now["y"], label="Up", shown=True),
        chosen("by", colours, now["by"], label="Colours", shown=True),
        live=True,
        class_="row",
        id="sides",
    )


def painting(desk: Desk) -> Html:
    """The painting of the release."""
    run = desk.made
    assert run is not None
    return part("painting", _canvas(desk, run, "painting"))


def _canvas(desk: Desk, run: Run, name: str, *, like: Run | None = None) -> Html:
    now = _painted(desk)
    by = now["by"] if now["by"] in (*COLOURS, *run.policy.sensitive, *run.policy.kept) else "density"
    sides = [now[side] if now[side] in run.policy.quasi_identifiers else None for side in ("x", "y")]
    fact = desk.fact(
        name,
        "painting",
        (run.number, *sides, by, like and like.number),
        release=run.release,
        x=sides[0],
        y=sides[1],
        by=by,
        name=name,
        like=None if like is None else like.release,
    )
    if fact.error:
        return problem(fact.error)
    if fact.value is None:
        return waiting("Painting.")
    inner = strict(Html(fact.value))
    if not fact.fresh:
        return element("div", inner, class_="stale")
    if name != "painting":
        return element("div", inner)
    here = Painted(run.number, *sides)
    place = desk.notes.get("place")
    chosen_at = place[1] if place is not None and place[0] == here else None
    return element("div", inner, data_fields="result/class", data_painted=here.word, data_chosen=chosen_at)


def paint(desk: Desk, given: Given) -> Fragments:
    """Paint over two other columns."""
    if given.one("x") and given.one("x") == given.one("y"):
        raise InputError(f"Both sides are {given.one('x')!r}; choose another quasi-identifier for one of them.")
    _painted(desk).update({side: given.one(side) for side in ("x", "y")} | {"by": given.one("by", "density")})
    return [painting(desk), *([what_if(desk)] if _other(desk) else [])]


# ── another k ────────────────────────────────────────────────────────────────────────────────────


def _other(desk: Desk) -> Run | None:
    run = desk.made
    return next(
        (
            one
            for one in reversed(desk.runs)
            if run is not None
            and one.why
            and one.options.get("seed") == run.options.get("seed")
            and one.number > run.number
        ),
        None,
    )


def _ask_what_if(desk: Desk, run: Run) -> Html:
    k = max((one.k for one in run.policy.privacy if hasattr(one, "k")), default=10)
    return form(
        "result/if",
        field("k", str(2 * k), label="What if k were", kind="number", min=2, size=6),
        button("Show it beside", kind="quiet", disabled=desk.makes_now or None),
        class_="row",
        id="ask-if",
    )


def what_if(desk: Desk) -> Html:
    """The same release at another k, beside it."""
    other, run = _other(desk), desk.made
    if other is None or run is None:
        return part("whatif", data_also="run")
    if other.going:
        return part(
            "whatif",
            element("h2", f"If {other.why}"),
            stages(other.stages),
            act("result/cancel", "Cancel", kind="quiet"),
            data_also="run",
        )
    if other.stopped or other.error:
        return part(
            "whatif", element("h2", f"If {other.why}"), problem(other.error or "It was stopped."), data_also="run"
        )
    one, two = run.made.certificate, other.made.certificate
    lines = [
        ("classes", f"{one['classes']:,}", f"{two['classes']:,}"),
        ("records in the smallest class", f"{one['loss']['smallest_class']:,}", f"{two['loss']['smallest_class']:,}"),
        ("information lost (GCP), of 1", _gcp(one), _gcp(two)),
    ]
    head = element(
        "tr",
        element("th", "release", scope="col"),
        element("th", "now", scope="col", class_="n"),
        element("th", f"if {other.why}", scope="col", class_="n"),
    )
    table = element(
        "table",
        element("thead", head),
        element(
            "tbody",
            *(
                element("tr", element("th", a, scope="row"), element("td", b, class_="n"), element("td", c, class_="n"))
                for a, b, c in lines
            ),
        ),
        aria_label="Now, and at another k",
    )
    return part(
        "whatif",
        element("h2", f"If {other.why}"),
        element(
            "div",
            element("div", _canvas(desk, other, "whatif", like=run)),
            element("div", table, act("result/take", f"Take {other.why}", kind="quiet", values={"run": other.number})),
            class_="column",
        ),
        data_also="run",
    )


def _gcp(certificate: dict[str, object]) -> str:
    loss = certificate["loss"]
    assert isinstance(loss, dict)
    return "–" if loss["gcp"] is None else f"{loss['gcp']:.4f}"


def ask_if(desk: Desk, given: Given) -> Fragments:
    """Make the release at another k, to be looked at beside."""
    run = desk.made
    if run is None:
        raise InputError("There is no release yet; make one first.")
    k = given.whole("k", least=2)
    desk.make(varied(run.policy, "k", k), run.options, why=f"k = {k:,}")
    return [what_if(desk)]


def take(desk: Desk, given: Given) -> Fragments:
    """Let the policy have the other k; the release that was looked at is that of the policy then."""
    number = given.whole("run", least=1)
    other = next((one for one in desk.runs if one.number == number and one.made is not None), None)
    if other is None:
        raise InputError("That release is gone; make it again.")
    desk.edit(other.policy, other.why)
    other.why = ""
    desk.tell("page")
    return None


def cancel(desk: Desk, given: Given) -> Fragments:
    """Stop it."""
    desk.cancel()
    return None


# ── numbers, rows, columns ───────────────────────────────────────────────────────────────────────


def told_of(desk: Desk) -> Html:
    """What holds, what the risk is, what was lost."""
    run = desk.made
    assert run is not None
    fact = desk.fact("told", "told", run.number, release=run.release)
    if fact.error:
        return part("told", problem(fact.error))
    if not fact.fresh:
        return part("told", waiting("Reading the release."))
    titles = {
        "holds": "What was asked, and what holds",
        "risk": "How likely anybody is found",
        "lost": "What was lost",
        "limits": "What is not promised",
    }
    return part(
        "told",
        *(element("section", element("h2", title), strict(Html(fact.value[name]))) for name, title in titles.items()),
    )


def _filter(desk: Desk, run: Run) -> Html:
    where = desk.notes.setdefault("where", {})
    shown = [name for name in run.policy.columns if name not in run.policy.identifiers]
    name = next(iter(where), shown[0] if shown else "")
    return form(
        "result/filter",
        chosen("column", [(one, one) for one in shown], name, label="Rows whose", shown=True),
        field("text", where.get(name, ""), label="shows", placeholder="anything", size=14),
        button("Filter", kind="quiet"),
        class_="row",
        id="filter",
    )


def _place(desk: Desk, run: Run) -> Place | None:
    """The rectangle whose rows are shown, where one was chosen in the painting of this release."""
    found: tuple[Painted, int] | None = desk.notes.get("place")
    if found is None or found[0].run != run.number:
        return None
    return Place(found[1], found[0].x, found[0].y)


def rows(desk: Desk) -> Html:
    """Released rows."""
    run = desk.made
    assert run is not None
    where, start, place = desk.notes.get("where", {}), desk.notes.get("start", 0), _place(desk, run)
    key = (run.number, tuple(where.items()), start, place)
    fact = desk.fact("rows", "rows", key, release=run.release, where=where, start=start, place=place)
    if fact.error:
        return part("rows", problem(fact.error))
    if fact.value is None:
        return part("rows", waiting("Reading rows."))
    found = fact.value
    head = element("tr", *(element("th", name, scope="col") for name in found.names))
    lines = [element("tr", *(element("td", cell or "") for cell in row)) for row in found.rows]
    last = start + len(found.rows)
    caption = f"{start + 1:,} to {last:,} of {found.found:,} rows" if found.rows else "No row shows that"
    if found.found < found.all:
        caption += f", of {found.all:,} in all"
    chosen_class = (
        element(
            "p",
            "Rows of what was chosen in the painting. ",
            act("result/class", "Show all rows", kind="small", values={"at": "", "painted": ""}),
            class_="sentence",
        )
        if place is not None
        else None
    )
    table = element(
        "table", element("caption", caption), element("thead", head), element("tbody", *lines), class_="rows"
    )
    pages = element(
        "div",
        act("result/page", "Earlier", values={"start": max(start - 50, 0)}, kind="small", disabled=start == 0 or None),
        act("result/page", "Later", values={"start": start + 50}, kind="small", disabled=last >= found.found or None),
        class_="row",
    )
    return part(
        "rows",
        chosen_class,
        element("div", table, class_="scroll tall", tabindex="0", role="region", aria_label="Released rows"),
        pages,
        class_=None if fact.fresh else "stale",
    )


def narrow(desk: Desk, given: Given) -> Fragments:
    """Show rows that show something."""
    column, wanted = given.one("column"), given.one("text")
    desk.notes["where"], desk.notes["start"] = ({column: wanted} if wanted else {}), 0
    return [rows(desk)]


def choose(desk: Desk, given: Given) -> Fragments:
    """Show the rows of a rectangle of the painting, or of all."""
    run = desk.made
    if run is None:
        raise InputError("There is no release yet; make one first.")
    desk.notes["start"] = 0
    if not given.one("at"):
        desk.notes.pop("place", None)
        return [rows(desk), painting(desk)]
    now = _painted(desk)
    sides = [now[side] if now[side] in run.policy.quasi_identifiers else None for side in ("x", "y")]
    here = Painted(run.number, *sides)
    if given.one("painted") != here.word:
        raise InputError("The painting has changed since this page was made; look at it again.")
    desk.notes["place"] = (here, given.whole("at", least=0))
    return [rows(desk), painting(desk)]


def turn(desk: Desk, given: Given) -> Fragments:
    """Show other rows."""
    desk.notes["start"] = given.whole("start", least=0)
    return [rows(desk)]


def looked_before(desk: Desk, run: Run) -> Fact:
    """How things were before a release, as far as it is known."""
    return desk.fact(
        "before",
        "before",
        run.number,
        lane="slow",
        release=run.release,
        data=run.table.data,
        policy=run.policy,
        out=run.for_steward,
        csv=run.table.csv,
    )


def before(desk: Desk) -> Html:
    """The risk, what tells records apart, the columns and what hangs together, before and after."""
    run = desk.made
    assert run is not None
    if run.policy.method.two_tables:
        return part("before", text("The quasi-identifiers are released as they are.", faint=True))
    fact = looked_before(desk, run)
    if fact.error:
        return part("before", problem(fact.error))
    if not fact.fresh:
        return part("before", waiting("Reading the original beside the release."))
    found = {name: strict(Html(html)) for name, html in fact.value.items()}
    return part(
        "before",
        element("div", found["risk"], found["apart"]),
        element("h3", "Column by column"),
        found["columns"],
        found["together"],
    )


VIEW = View(
    "result",
    "Result",
    body,
    actions={
        "paint": paint,
        "if": ask_if,
        "take": take,
        "cancel": cancel,
        "filter": narrow,
        "class": choose,
        "page": turn,
    },
    parts={"painting": painting, "whatif": what_if, "told": told_of, "rows": rows, "before": before},
    about="Here you look at the release: its rows, its classes, what risk remains and what was lost.",
)

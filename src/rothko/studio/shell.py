"""The page around a view: the way through the work, what stands now, undo and redo."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from rothko.plots.palette import DARK, FIELDS, LIGHT, style
from rothko.report.page import Html
from rothko.studio.desk import Desk
from rothko.studio.markup import act, element, joined, part
from rothko.studio.views.start import offer
from rothko.studio.views.view import View


def page(desk: Desk, views: Mapping[str, View], view: View, changes: str) -> str:
    """The whole page.

    Parameters
    ----------
    changes
        The secret that posts carry.
    """
    title = f"{view.title} · rothko studio"
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">'
        f"{element('meta', name='studio', content=changes, data_version=desk.version).text.removesuffix('</meta>')}"
        f'<link rel="stylesheet" href="/static/studio.css"><link rel="icon" href="/static/mark.svg">'
        f"<title>{title}</title>"
        f'<script src="/static/studio.js" defer></script>'
    )
    body = joined(
        [
            element("a", "To the text", class_="skip", href="#main"),
            bar(desk),
            way(desk, views, view),
            element("div", id="said", role="status", aria_live="polite"),
            main(desk, view),
            element("div", id="tip", aria_hidden="true"),
        ]
    )
    return f'<!doctype html><html lang="en"><head>{head}</head><body data-view="{view.word}">{body.text}</body></html>'


def main(desk: Desk, view: View) -> Html:
    """The view itself."""
    if view.needs_table and desk.history.policy is None:
        waits = desk.table is not None and desk.open_error is None
        told = "The table is being looked at." if waits else desk.open_error or "There is no table yet."
        words = element("p", told, " ", element("a", "Open a table", href="/open"), class_="lead")
        inner = joined([element("h1", view.title), words, element("p", view.about, class_="faint")])
    else:
        inner = joined([offer(desk), view.body(desk)])
    return element("main", inner, id="main", tabindex="-1")


def bar(desk: Desk) -> Html:
    """What is worked on, and the way back."""
    table = desk.table
    name = element("b", "No table" if table is None else table.shown, class_="table")
    about = ""
    if desk.seen is not None:
        rows = desk.seen.records
        about = (
            f"{len(desk.seen.names):,} columns"
            if rows is None
            else f"{rows:,} records, {len(desk.seen.names):,} columns"
        )
    history = desk.history
    back = act(
        "open/undo",
        "Undo",
        about=f"Undo: {history.undone}" if history.undone else "Undo",
        disabled=history.undone is None or None,
        title=history.undone,
        id="undo",
    )
    forth = act(
        "open/redo",
        "Redo",
        about=f"Redo: {history.redone}" if history.redone else "Redo",
        disabled=history.redone is None or None,
        title=history.redone,
        id="redo",
    )
    going = desk.going
    working = (
        element(
            "a", element("span", class_="dot", aria_hidden="true"), "making a release", href="/run", class_="working"
        )
        if going is not None
        else None
    )
    shut = element("span", "nothing is saved", class_="tag") if not desk.writes else None
    mark = element(
        "a",
        Html('<img src="/static/mark.svg" alt="" width="26" height="26">'),
        element("b", "rothko"),
        " studio",
        href="/open",
        class_="mark",
    )
    return part(
        "bar",
        mark,
        element("span", name, " ", element("span", about, class_="faint"), class_="what"),
        shut,
        working,
        element("span", back, forth, class_="history"),
        tag="header",
    )


def way(desk: Desk, views: Mapping[str, View], view: View) -> Html:
    """The views, in the order of the work."""
    links = []
    for at, one in enumerate(views.values(), 1):
        here = "page" if one is view else None
        number = element("span", str(at), class_="step", aria_hidden="true")
        links.append(
            element("li", element("a", number, one.title, href=f"/{one.word}", aria_current=here, data_key=at))
        )
    return element("nav", element("ol", *links), aria_label="The way to a release", class_="way")


@cache
def stylesheet() -> str:
    """Colours by day and by night, the style of every report, and what the studio adds."""
    night = f"@media (prefers-color-scheme:dark){{:root{{color-scheme:dark;{style(DARK)}}}}}"
    colours = f":root{{color-scheme:light;{style(LIGHT)}}}{night}"
    key = f".key i{{background:linear-gradient(90deg,{','.join(FIELDS)})}}"
    report = (files("rothko.report") / "page.css").read_text("utf-8")
    return f"{colours}\n{report}\n{key}\n{resource('studio.css')}"


@cache
def resource(name: str) -> str:
    """A file of the studio."""
    return (files("rothko.studio") / name).read_text("utf-8")

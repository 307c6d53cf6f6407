"""HTML of the studio: elements whose texts and attributes are escaped, and the controls that its pages are made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from rothko.report.page import Html

Inner = str | Html | None
"""What stands in an element: text, which is escaped, HTML, or nothing."""
VOID = {"input", "br", "img", "hr"}


def element(tag: str, *inner: Inner, **attributes: Any) -> Html:
    """An element; ``class_`` is its class, and an underscore in the name of an attribute a hyphen.

    >>> element("b", "<x>", class_="loud", data_at=3, hidden=False).text
    '<b class="loud" data-at="3">&lt;x&gt;</b>'
    """
    given = []
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        written = name.rstrip("_").replace("_", "-")
        given.append(f" {written}" if value is True else f' {written}="{escape(str(value))}"')
    start = f"<{tag}{''.join(given)}>"
    return Html(start) if tag in VOID else Html(f"{start}{joined(inner).text}</{tag}>")


def joined(inner: Iterable[Inner]) -> Html:
    """Pieces one after the other."""
    return Html("".join(one.text if isinstance(one, Html) else escape(one) for one in inner if one is not None))


def form(to: str, *inner: Inner, live: bool = False, **attributes: Any) -> Html:
    """A form that posts to an action of a view, ``view/action``; a live one does when anything in it changes."""
    return element("form", *inner, data_post=f"/do/{to}", data_live=live, **attributes)


def hidden(**values: Any) -> Html:
    """What a form says without being asked."""
    return joined(element("input", type="hidden", name=name, value=value) for name, value in values.items())


def button(words: Inner, *, kind: str = "", **attributes: Any) -> Html:
    """A button that sends its form."""
    return element("button", words, type="submit", class_=kind or None, **attributes)


def act(
    to: str,
    words: Inner,
    *,
    kind: str = "",
    about: str | None = None,
    values: Mapping[str, Any] | None = None,
    **attributes: Any,
) -> Html:
    """A button by itself that posts to an action.

    Parameters
    ----------
    about
        What it does, for whoever does not see what stands around it.
    """
    return form(to, hidden(**values or {}), button(words, kind=kind, aria_label=about, **attributes), class_="act")


def chosen(
    name: str,
    options: Sequence[tuple[str, str]],
    value: str | None,
    *,
    label: str,
    id_: str | None = None,
    shown: bool = False,
    **attributes: Any,
) -> Html:
    """A list of which one is chosen.

    Parameters
    ----------
    shown
        Whether the label is seen, not only heard.
    """
    inner = [element("option", words, value=word, selected=word == value or None) for word, words in options]
    select = element("select", *inner, name=name, id=id_, aria_label=None if shown else label, **attributes)
    return element("label", element("span", label), select, class_="field") if shown else select


def field(name: str, value: Any = "", *, label: str, kind: str = "text", shown: bool = True, **attributes: Any) -> Html:
    """One line to write in."""
    written = element(
        "input",
        type=kind,
        name=name,
        value=value,
        aria_label=None if shown else label,
        autocomplete="off",
        spellcheck="false",
        **attributes,
    )
    return element("label", element("span", label), written, class_="field") if shown else written


def part(name: str, *inner: Inner, tag: str = "div", **attributes: Any) -> Html:
    """A fragment that is fetched again when something of its name was found."""
    return element(tag, *inner, id=name, data_part=name, **attributes)


def waiting(words: str) -> Html:
    """Something that is being found out."""
    return element("p", element("span", class_="dot", aria_hidden="true"), words, class_="waiting")


def problem(words: str) -> Html:
    """What went wrong, in a sentence."""
    return element("p", words, class_="problem", role="alert")


def strict(made: Html) -> Html:
    """What was made for a report, without attributes of style: the content policy refuses them.

    >>> strict(Html('<i style="color:red">a</i>')).text
    '<i>a</i>'
    """
    return Html(re.sub(r' style="[^"]*"', "", made.text))  # in texts quotes are escaped

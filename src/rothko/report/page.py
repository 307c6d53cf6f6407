"""A page: sections of texts, tables and figures as one HTML file that needs nothing else, by day, by night, on paper.

Whatever comes from a release is escaped here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

from rothko.plots.canvas import painted
from rothko.plots.model import Bars, Painting, Panels, Picture, Plot, Points
from rothko.plots.palette import DARK, FIELDS, LIGHT, style
from rothko.plots.panels import arranged
from rothko.plots.svg import drawn


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already."""

    text: str


Cellular = str | Html
"""What stands in a cell: text, which is escaped, or HTML."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page, with a heading that can be linked to."""

    word: str
    """Its name in links."""
    title: str
    blocks: Sequence[Html]

    def html(self) -> str:
        """As it stands in the page."""
        inner = "".join(block.text for block in self.blocks)
        head = f'<h2 id="{self.word}-h">{escape(self.title)}</h2>'
        return f'<section id="{self.word}" aria-labelledby="{self.word}-h">{head}{inner}</section>'


def page(
    title: str,
    lead: str,
    opening: Html,
    sections: Sequence[Section],
    footer: Iterable[str],
    *,
    mark: str,
    chooses: bool = False,
) -> str:
    """The whole page.

    Parameters
    ----------
    opening
        What is seen before all sections: the painting.
    mark
        The hash of the released file, by which the page says what it is about.
    chooses
        Whether the opening has points that lead to entries: the words stand above it then.
    """
    links = "".join(f'<li><a href="#{one.word}">{escape(one.title)}</a></li>' for one in sections)
    contents = f'<nav aria-label="Contents"><ol>{links}</ol></nav>' if links else ""
    night = f"@media (prefers-color-scheme:dark){{:root{{color-scheme:dark;{style(DARK)}}}}}"
    # On paper it is always day.
    colours = f":root{{color-scheme:light;{style(LIGHT)}}}{night}@media print{{:root{{{style(LIGHT)}}}}}"
    script = _resource("choose.js") if chooses else ""
    words = f'<h1>{escape(title)}</h1><p class="lead">{escape(lead)}</p>'
    head = words + opening.text if chooses else opening.text + words
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:\">"
        f'<meta name="rothko-release" content="{escape(mark)}"><meta name="color-scheme" content="light dark">'
        f"<title>{escape(title)}</title><style>{colours}{_resource('page.css')}</style></head><body>"
        '<a class="skip" href="#main">To the text</a>'
        f"<header>{head}</header>"
        f'<main id="main">{contents}'
        + "".join(one.html() for one in sections)
        + f"</main><footer>{''.join(f'<p>{escape(line)}</p>' for line in footer)}</footer>"
        f'<div id="tip" aria-hidden="true"></div><script>{_resource("page.js")}{script}</script></body></html>\n'
    )


@cache
def _resource(name: str) -> str:
    return (files("rothko.report") / name).read_text("utf-8").replace("\n", "")


def text(*sentences: str, faint: bool = False) -> Html:
    """A paragraph."""
    return Html(f"<p{' class=faint' if faint else ''}>{escape(' '.join(sentences))}</p>")


def note(*sentences: str) -> Html:
    """A paragraph that must not be missed."""
    return Html(f'<p class="note">{escape(" ".join(sentences))}</p>')


def heading(words: str) -> Html:
    """A heading within a section."""
    return Html(f"<h3>{escape(words)}</h3>")


def bullets(lines: Iterable[Cellular]) -> Html:
    """A list."""
    return Html(f"<ul>{''.join(f'<li>{_cell(line)}</li>' for line in lines)}</ul>")


def code(source: str) -> Html:
    """Something to be typed."""
    return Html(f'<pre tabindex="0"><code>{escape(source)}</code></pre>')


def folded(title: str, inner: Html) -> Html:
    """What is shown when somebody asks for it."""
    return Html(f"<details><summary>{escape(title)}</summary>{inner.text}</details>")


def link(word: str, words: str) -> Html:
    """Words that lead to another place of the page."""
    return Html(f'<a href="#{escape(word)}">{escape(words)}</a>')


def entry(word: str, title: str, blocks: Sequence[Html]) -> Html:
    """A part of a section that links lead to."""
    inner = "".join(block.text for block in blocks)
    return Html(f'<div class="entry" id="{escape(word)}"><h3>{escape(title)}</h3>{inner}</div>')


def chosen(words: str) -> Html:
    """Where the entry is shown that a point in a plot leads to, without leaving the plot."""
    return Html(f'<div id="chosen" role="status"><p class="faint">{escape(words)}</p></div>')


def tiles(numbers: Iterable[tuple[str, str]]) -> Html:
    """A few numbers, large."""
    inner = "".join(f"<li><b>{escape(number)}</b>{escape(about)}</li>" for number, about in numbers)
    return Html(f'<ul class="tiles">{inner}</ul>')


def table(
    caption: str,
    titles: Sequence[str],
    rows: Iterable[Sequence[Cellular]],
    *,
    texts: Collection[int] = (),
    rows_are_data: bool = False,
) -> Html:
    """A table.

    Parameters
    ----------
    texts
        The places of columns that are text, beside the first; the others are numbers.
    rows_are_data
        All cells are data, and of text; otherwise the first of a row is its heading.
    """

    def kind(at: int) -> str:
        return "" if at == 0 or rows_are_data else ' class="t"' if at in texts else ' class="n"'

    head = "".join(f'<th scope="col"{kind(at)}>{escape(title)}</th>' for at, title in enumerate(titles))
    body = []
    for row in rows:
        plain = rows_are_data or not row[0]
        first = f"<td>{_cell(row[0])}</td>" if plain else f'<th scope="row">{_cell(row[0])}</th>'
        body.append(f"<tr>{first}{''.join(f'<td{kind(at)}>{_cell(c)}</td>' for at, c in enumerate(row[1:], 1))}</tr>")
    look = ' class="rows"' if rows_are_data else ""
    return Html(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table{look}>'
        f"<caption>{escape(caption)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def verdict(holds: bool) -> Html:
    """Yes or no, in words and in colour."""
    return Html('<span class="yes">yes</span>' if holds else '<span class="no">no</span>')


def _cell(content: Cellular) -> str:
    return content.text if isinstance(content, Html) else escape(content)


def figure(plot: Plot | Panels) -> Html:
    """A plot with its caption and, for whoever does not see it, its numbers."""
    numbers = _numbers(plot)
    return Html(
        f"<figure>{plotted(plot)}<figcaption><b>{escape(plot.title)}</b>{escape(plot.about)}</figcaption>"
        f"<details><summary>The numbers</summary>{numbers.text}</details></figure>"
    )


def plotted(plot: Plot | Panels) -> str:
    """A plot, or several as one, as SVG in a page."""
    return arranged(plot) if isinstance(plot, Panels) else drawn(plot)


def width_of(picture: Picture) -> int:
    """How wide a picture is by itself."""
    return sum(plot.width for plot in picture.plots) if isinstance(picture, Panels) else picture.width


def side_by_side(pictures: Iterable[Html]) -> Html:
    """Figures beside each other, where there is room."""
    return Html(f'<div class="two">{"".join(one.text for one in pictures)}</div>')


def _numbers(plot: Plot | Panels) -> Html:
    plots = plot.plots if isinstance(plot, Panels) else (plot,)
    lines = [tip for one in plots for mark in one.marks if isinstance(mark, Bars | Points) for tip in mark.tips]
    return bullets(lines)


def hung(painting: Painting) -> Html:
    """A painting with its sides and colours written around it, in letters that stay as large as the page's."""
    across, up = painting.x, painting.y
    svg = painted(painting)
    parts = []
    if up[0]:
        parts.append(f'<div class="side up">{_ends(up)}</div>')
    parts.append(f"<div>{svg}</div>" if up[0] else f'<div class="along">{svg}</div>')
    if across[0]:
        parts.append(f'<div class="side along">{_ends(across)}</div>')
    title, low, high = map(escape, painting.legend)
    key = f'<i style="background:linear-gradient(90deg,{",".join(FIELDS)})"></i>' if high else ""
    return Html(
        f'<figure class="painting"><div class="hung">{"".join(parts)}</div>'
        f'<figcaption class="key"><span>{title}:</span><span>{low}</span>{key}<span>{high}</span>'
        "</figcaption></figure>"
    )


def _ends(side: tuple[str, str, str]) -> str:
    title, low, high = side
    return f"<span>{escape(low)}</span><span>{escape(title)}</span><span>{escape(high)}</span>"


def shown(picture: Picture) -> Html:
    """Whatever is drawn."""
    return hung(picture) if isinstance(picture, Painting) else figure(picture)

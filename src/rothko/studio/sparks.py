"""Small pictures within a line of text: a histogram, a share."""

from __future__ import annotations

from rothko.report.page import Html
from rothko.studio.jobs.looking import Bars
from rothko.studio.markup import element

WIDE, HIGH = 112.0, 28.0


def spark(bars: Bars | None) -> Html:
    """A small histogram, with what stands at its ends for whoever points at it or does not see it."""
    if bars is None:
        return element("span", "–", class_="faint")
    top = max(max(bars.counts), 1)
    step = min(WIDE / max(len(bars.counts), 1), 18.0)  # two values are no wall
    gap = 1.0 if step > 3 else 0.0
    drawn = []
    for at, count in enumerate(bars.counts):
        high = max(HIGH * count / top, 1.0 if count else 0.0)
        drawn.append(
            f'<rect x="{at * step + gap / 2:.1f}" y="{HIGH - high:.1f}" width="{max(step - gap, 0.8):.1f}" '
            f'height="{high:.1f}"/>'
        )
    low, last = bars.ends
    words = f"from {low} to {last}" if bars.ordered else f"most often {low}; {last}"
    label = element("title", words).text
    return Html(
        f'<svg class="spark{"" if bars.ordered else " labels"}" viewBox="0 0 {WIDE:g} {HIGH:g}" role="img" '
        f'width="{WIDE:g}" height="{HIGH:g}" preserveAspectRatio="none">{label}{"".join(drawn)}</svg>'
    )


def share(value: float, words: str, *, tone: str = "") -> Html:
    """A share as a bar, with its number."""
    width = min(max(value, 0.0), 1.0) * 100
    return Html(
        f'<span class="share {tone}"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="ground" width="100" height="8" rx="1"/><rect width="{width:.2f}" height="8" rx="1"/></svg>'
        f"{element('span', words).text}</span>"
    )

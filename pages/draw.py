"""All pictures of the pages: where each lies, and what draws it. ``python -m pages draw`` writes them, always the same
bytes; a test compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from pages import baskets, classes, numbers
from pages.gallery import PAINTINGS
from rothko.methods import METHODS
from rothko.metrics.registry import METRICS
from rothko.plots.model import Picture
from rothko.privacy import REQUIREMENTS
from rothko.report.forms import formed
from rothko.sets.methods import SET_METHODS

FIGURES = Path(__file__).parent.parent / "docs/figures"


def pictures() -> dict[str, Callable[[], Picture]]:
    """Path below ``docs/figures`` → the picture."""
    return {**PAINTINGS, **dict(_people())}


def _people() -> Iterator[tuple[str, Callable[[], Picture]]]:
    """The forty."""
    for name in METHODS:
        draw = classes.by_anatomy if name == "anatomy" else partial(classes.by_method, name)
        yield f"people/methods/{name}.svg", draw
    for name in SET_METHODS:
        yield f"people/methods/{name}.svg", partial(baskets.by_method, name)
    yield "people/requirements/nothing.svg", classes.alone
    for name in REQUIREMENTS:
        if name != "k-anonymity":
            yield f"people/requirements/{name}-before.svg", partial(classes.by_requirement, name, asked=False)
        yield f"people/requirements/{name}.svg", partial(classes.by_requirement, name, asked=True)
    for name in METRICS:
        yield f"people/metrics/{name}.svg", partial(numbers.by_metric, name)


def main() -> None:
    """Write all of them."""
    made = pictures()
    for name, draw in made.items():
        place = FIGURES / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(formed(draw(), ".svg"))
    print(f"{len(made)} pictures: {FIGURES}")

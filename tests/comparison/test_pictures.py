"""Plots of a comparison."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest

from rothko.cli.compare import PLOTS
from rothko.comparison.compare import TableFrontier, compare, most_private
from rothko.comparison.pictures import draw
from rothko.generate.census import census, census_policy
from rothko.plots.model import Plot, parse
from rothko.plots.svg import drawn as svg
from rothko.sets import compare as compare_sets

PEOPLE = census(300)
POLICY = census_policy()


@pytest.fixture(scope="module")
def found() -> TableFrontier:
    return compare(PEOPLE, POLICY, methods=["mondrian", "hilbert"], k=[2, 10, 400])


def test_every_plot_in_both_forms_with_every_method(found: TableFrontier) -> None:
    drawn = draw(found)
    assert set(drawn) == set(PLOTS)
    for name, content in drawn.items():
        if name.endswith(".svg"):
            text = " ".join(ElementTree.fromstring(content).itertext())
            assert "hilbert" in text or b"hilbert" in content
        elif name.endswith(".png"):
            assert content.startswith(b"\x89PNG")
    for plot in parse(drawn["plots.json"].decode()):
        assert isinstance(plot, Plot)
        assert svg(plot, alone=True).encode() == drawn[f"{plot.name}.svg"].rstrip()


def test_the_same_results_give_the_same_bytes(found: TableFrontier) -> None:
    assert draw(found) == draw(found)


def test_bounds_and_single_values_are_drawn() -> None:
    assert draw(most_private(PEOPLE, POLICY, methods=["mondrian"], max_loss=0.5))
    assert draw(compare(PEOPLE, POLICY, methods=["mondrian"], k=[400]))  # nothing ran
    assert draw(compare(PEOPLE, POLICY, methods=["mondrian"], l=[2, 3]))


def test_sets_are_drawn_too() -> None:
    baskets = [["tea", "milk"], ["tea", "milk", "gin"], ["tea"], ["tea", "bread"]]
    drawn = draw(compare_sets(baskets, methods=["set-two-phase", "set-k1"], k=[2, 3, 9]))
    assert set(drawn) == set(PLOTS)
    for words in (b"utility lost", b"best of k-anonymity", b"best of k1-anonymity"):
        assert words in drawn["frontier.svg"]


def test_without_resvg_the_command_to_install_it_is_told() -> None:
    code = (
        "import sys; sys.modules['resvg_py'] = None\n"
        "from rothko.errors import MissingExtraError\n"
        "try:\n    from rothko.comparison.pictures import need; need()\n"
        "except MissingExtraError as error:\n    print(error)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "rothko[report]"' in ran.stdout

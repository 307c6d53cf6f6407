"""The model of plots and what draws it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from rothko.errors import InputError
from rothko.plots.model import Axis, Band, Bars, Boxes, Entries, Panels, Plot, Points, Rule, dump, parse
from rothko.plots.palette import DARK, LIGHT
from rothko.plots.panels import arranged
from rothko.plots.png import png
from rothko.plots.svg import Frame, drawn
from rothko.plots.ticks import ticks

PLOT = Plot(
    "all", "Every <mark>", "What & why", Axis("x", 1, 100, "log"), Axis("y", 0, 10),
    (
        Bars("bars", ((1, 10), (10, 100)), (4, 10), ("one", "<two>")),
        Bars("line", ((1, 10), (10, 100)), (5, 8), ("a", "b"), tone=1, outline=True),
        *(Points(f"points {i}", (1, 10, 100), (0, 5, 10), ("", "tip", ""), i, i) for i in range(7)),
        Band("band", (1, 100), (2, 3), 4),
        Boxes("boxes", ((1, 10, 0, 5), (10, 100, 5, 10)), ("three", "four"), 5),
        Boxes("filled", ((1, 10, 5, 10),), ("five",), 6, filled=True),
        Rule("rule", 50),
        Rule("flat", 5, across=True),
    ),
)  # fmt: skip


def test_a_plot_is_well_formed_and_says_what_it_is() -> None:
    root = ElementTree.fromstring(drawn(PLOT, alone=True))
    assert root.attrib["role"] == "img"
    assert root.find("{*}title").text == "Every <mark>"  # type: ignore[union-attr]
    assert root.find("{*}desc").text == "What & why"  # type: ignore[union-attr]
    ground = root.find("{*}rect")
    assert ground is not None
    assert (ground.attrib["width"], ground.attrib["fill"]) == ("440", "var(--panel)")
    tips = [title.text for title in root.findall(".//{*}rect/{*}title")]
    assert tips == ["one", "<two>", "three", "four", "five"]


def test_bars_reach_to_their_values() -> None:
    plot = Plot("p", "", "", Axis("", 0, 2), Axis("", 0, 10), (Bars("", ((0, 1), (1, 2)), (5, 10), ("a", "b")),))
    bars = [one for one in ElementTree.fromstring(drawn(plot)).iter("rect") if "x" in one.attrib]
    half, whole = (float(bar.attrib["height"]) for bar in bars)
    assert whole == pytest.approx(2 * half, abs=0.2)


def test_boxes_lie_between_both_axes() -> None:
    plot = Plot("p", "", "", Axis("", 0, 4), Axis("", 0, 4), (Boxes("", ((0, 2, 0, 4), (2, 4, 0, 2)), ("a", "b")),))
    boxes = [one for one in ElementTree.fromstring(drawn(plot)).iter("rect") if "x" in one.attrib]
    tall, low = ({side: float(one.attrib[side]) for side in ("x", "y", "width", "height")} for one in boxes)
    assert tall["width"] == pytest.approx(low["width"], abs=0.2)
    assert tall["height"] == pytest.approx(2 * low["height"], abs=4)
    assert tall["x"] + tall["width"] < low["x"]
    assert tall["y"] + tall["height"] == pytest.approx(low["y"] + low["height"], abs=0.2)


def test_the_model_survives_json() -> None:
    assert parse(dump([PLOT])) == (PLOT,)
    assert drawn(parse(dump([PLOT]))[0]) == drawn(PLOT)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "[]", '{"format": "rothko plots 1", "pictures": [{}]}', '{"format": "other"}'])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse(text)


def test_it_is_drawn_as_png() -> None:
    assert png(drawn(PLOT, alone=True)).startswith(b"\x89PNG")


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["day", "night"])
def test_colours_have_contrast(colours: dict[str, str]) -> None:
    for ground in ("ground", "panel"):
        for text in ("ink", "faint", "accent", "good", "bad"):
            assert contrast(colours[text], colours[ground]) >= 4.5, text
        for number in range(8):
            assert contrast(colours[f"tone-{number}"], colours[ground]) >= 3, number


@pytest.mark.parametrize(
    ("axis", "most"),
    [
        (Axis("", 0, 1), 6), (Axis("", -1e9, 1e9), 6), (Axis("", 3, 3), 6), (Axis("", 0.001, 5000, "log"), 6),
        (Axis("", 9, 11, "log"), 6), (Axis("", -20000, 20000, "date"), 5), (Axis("", 100, 160, "date"), 5),
        (Axis("", 0, 99999, digits=5), 4), (Axis("", 0, 1e-12), 5),
    ],
)  # fmt: skip
def test_ticks_lie_on_the_axis_and_are_few(axis: Axis, most: int) -> None:
    found = ticks(axis, most)
    assert 1 <= len(found) <= most + 2
    assert all(axis.low - 1e-9 <= at <= axis.high + 1e-9 or axis.scale == "date" for at, _ in found)
    assert len({text for _, text in found}) == len(found)


def test_panels_have_one_key_and_survive_json() -> None:
    """Marks with the same name stand in the key once; a text in a table is dark on light cells."""
    names = Axis("k", 0, 2, "names", ("2", "5"))
    line = Points("ours", (0.5, 1.5), (1, 2), ("a", "b"), 1, 2, reach=((0.5, 1.5), (1, 3)), dashed=True)
    table = Entries("", (("1", "2\n<3>"), ("4", "5")), ((0.0, 0.3), (0.7, 1.0)))
    panels = Panels(
        "p", "Two & more", "About", (
            Plot("a", "left", "", names, Axis("y", 0, 4), (line, Rule("level", 3, across=True)), width=300),
            Plot("b", "right", "", names, Axis("y", 0, 4), (line,), width=300),
            Plot("c", "below", "", names, Axis("", 0, 2, "names", ("x", "y")), (table,), width=300),
        ),
    )  # fmt: skip
    svg = arranged(panels, alone=True)
    root = ElementTree.fromstring(svg)
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("ours") == 1
    assert [one for one in texts if one in ("left", "right", "below")] == ["left", "right", "below"]
    assert {"2", "<3>"} <= set(texts)
    assert root.attrib["viewBox"].split()[2] == "600"
    inks = [one.attrib["fill"] for one in root.iter("{http://www.w3.org/2000/svg}text") if one.text in ("1", "4")]
    assert inks[-2:] == ["#ffffff", "#221a17"]
    assert svg.count('stroke-dasharray="6 4"') == 2
    assert parse(dump([panels])) == (panels,)
    assert arranged(parse(dump([panels]))[0], alone=True) == svg  # type: ignore[arg-type]
    assert png(svg).startswith(b"\x89PNG")


def test_what_a_point_may_be_is_drawn_from_end_to_end() -> None:
    one = Points("", (1,), (5,), ("",), reach=((2, 8),), joined=False)
    frame = Frame(Plot("p", "", "", Axis("", 0, 2), Axis("", 0, 10), (one,)))
    [bar] = [part for part in frame.mark(one) if part.startswith("<path")]
    assert f"M{frame.x(1):.1f},{frame.y(2):.1f} {frame.x(1):.1f},{frame.y(8):.1f}" in bar

"""Paintings: rectangles that are the classes, from public files."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import rothko as rk
from rothko.errors import InputError, PolicyError
from rothko.plots.canvas import painted
from rothko.plots.model import Painting
from rothko.plots.palette import FIELDS
from rothko.plots.png import png
from rothko.report import painting as painting_module
from rothko.report.painting import alike, classes_painted, paint, squarified
from rothko.report.released import read_release
from rothko.report.spans import ends_of, spans_of

RNG = np.random.default_rng(5)
PEOPLE = {
    "age": RNG.integers(18, 90, 500),
    "zip": [f"{number:05d}" for number in RNG.integers(1000, 3000, 500)],
    "colour": RNG.choice(["red", "blue", "green", "grey"], 500),
    "shape": RNG.choice(["round", "square"], 500),
    "cost": RNG.integers(1, 900, 500),
    "illness": RNG.choice(["flu", "cold"], 500),
}


def released(*, target: str | None = None, **words: Any) -> Any:
    asked: dict[str, Any] = {"qi": ["age", "zip"], "k": 10, "drop": [], "keep_rest": True} | words
    table = {name: values for name, values in PEOPLE.items() if name in (*asked["qi"], "cost", "illness")}
    return read_release(rk.anonymize(table, **asked), target=target)


def area(painting: Painting) -> float:
    return sum((cell.right - cell.left) * (cell.top - cell.bottom) for cell in painting.cells)


def test_rectangles_lie_where_their_classes_do() -> None:
    found = released(qi=["age", "cost"])
    painting = paint(found, x="age", y="cost")
    wanted = set()
    for age, cost in zip(found.classes["age"].to_pylist(), found.classes["cost"].to_pylist(), strict=True):
        wanted.add((*placed("age", age), *placed("cost", cost)))
    assert {(cell.left, cell.right, cell.bottom, cell.top) for cell in painting.cells} == wanted


def placed(name: str, label: str) -> tuple[float, float]:
    """Where a published range lies between the smallest value and one beyond the largest."""
    first, last = (int(end) for end in ends_of(label) or ())
    low, high = int(PEOPLE[name].min()), int(PEOPLE[name].max()) + 1
    return round((first - low) / (high - low), 4), round((last + 1 - low) / (high - low), 4)


def test_regions_of_two_numbers_tile_the_canvas() -> None:
    assert area(paint(released(qi=["age", "cost"], publish="region"))) == pytest.approx(1, abs=0.02)


def test_labels_share_the_canvas_by_their_records() -> None:
    found = released(qi=["colour", "shape"])
    painting = paint(found)
    assert area(painting) == pytest.approx(1)
    for cell in painting.cells:
        records = int(cell.tip.rpartition("· ")[2].partition(" ")[0])
        assert (cell.right - cell.left) * (cell.top - cell.bottom) == pytest.approx(records / 500, abs=0.002)
    # Room is records there, and its density would be one colour.
    assert painting.legend[0] == "records of a class"
    assert len({cell.value for cell in painting.cells}) > 1


@pytest.mark.parametrize("qi", [["age", "cost"], ["colour", "shape"], ["age", "colour"], ["age"]])
@pytest.mark.parametrize("most", [1600, 5])
def test_a_rectangle_knows_its_classes(monkeypatch: pytest.MonkeyPatch, qi: list[str], most: int) -> None:
    """What the classes of a rectangle show has as many records as the rectangle says, and no other shows it."""
    found = released(qi=qi, k=3)
    monkeypatch.setattr(painting_module, "MOST", most)
    seen = set()
    for at, cell in enumerate(paint(found).cells):
        shown = classes_painted(found, at)
        mine = set(zip(*(shown[name].to_pylist() for name in shown.column_names), strict=True))
        every = zip(*(found.classes[name].to_pylist() for name in shown.column_names), strict=True)
        records = sum(int(size) for one, size in zip(every, found.sizes, strict=True) if one in mine)
        assert records == int(cell.tip.rpartition("· ")[2].partition(" ")[0])
        assert not mine & seen
        seen |= mine
    assert classes_painted(found, 10_000).num_rows == classes_painted(found, -1).num_rows == 0


def test_squares_fill_their_room_without_overlap() -> None:
    for count in (1, 2, 7, 40):
        areas = np.sort(RNG.random(count))[::-1]
        boxes = squarified(areas, (0.0, 0.0, 2.0, 1.0))
        assert sum(w * h for _, _, w, h in boxes) == pytest.approx(2)
        grid = [(x, y) for x in np.linspace(0.013, 1.987, 41) for y in np.linspace(0.011, 0.989, 23)]
        for px, py in grid:
            assert sum(x <= px < x + w and y <= py < y + h for x, y, w, h in boxes) == 1


def test_colours_follow_what_they_stand_for() -> None:
    found = released(qi=["age", "zip"], target="cost")
    for by in ("density", "size", "loss", "target"):
        values = [cell.value for cell in paint(found, by=by).cells]
        assert min(values) == 0
        assert max(values) == 1
    assert paint(found, by="target").legend[0] == "mean of cost"
    assert paint(released(target="illness"), by="target").legend[0].startswith("share of illness = ")
    bright = max(paint(found, by="size").cells, key=lambda cell: cell.value)
    assert str(int(found.sizes.max())) in bright.tip


def test_many_classes_are_painted_as_fewer_rectangles(monkeypatch: pytest.MonkeyPatch) -> None:
    found = released(k=2, qi=["age", "cost"])
    assert len(paint(found).cells) == len(found.sizes) > 150
    monkeypatch.setattr(painting_module, "MOST", 40)
    painting = paint(found)
    assert len(painting.cells) < len(found.sizes) / 1.5
    told = [cell.tip.rpartition("· ")[2] for cell in painting.cells]
    assert sum(int(text.partition(" ")[0]) for text in told) == 500
    assert sum(int(text.split()[3]) if "classes" in text else 1 for text in told) == len(found.sizes)


def test_what_is_dense_keeps_its_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(painting_module, "MOST", 10)
    corner = np.array([[0.0, 0.01, 0.0, 0.02]] * 5)
    rest = np.sort(RNG.random((300, 2, 2)), axis=2).reshape(300, 4)
    of_field, count = alike(np.concatenate([corner, rest]), np.array([100] * 5 + [2] * 300))
    assert len(set(of_field[:5].tolist())) == 1
    assert of_field[0] not in of_field[5:]
    assert set(of_field.tolist()) == set(range(count))
    assert count <= 10 + 225  # of the coarsest grid, fifteen stretches of either side


def test_what_cannot_be_painted_is_said() -> None:
    found = released()
    with pytest.raises(PolicyError, match="no quasi-identifier"):
        paint(found, x="aeg")
    with pytest.raises(InputError, match="Both sides"):
        paint(found, x="age", y="age")
    with pytest.raises(InputError, match="density, size, loss"):
        paint(found, by="mood")
    with pytest.raises(PolicyError, match="as it is"):
        released(target="age")


def test_ends_are_read_from_the_text_of_labels() -> None:
    spans = spans_of(released(), "zip")
    assert spans is not None
    assert spans.axis.digits == 5
    assert spans.words(1000, 1001) == "01000"
    assert spans_of(released(qi=["age", "colour"]), "colour") is None


def test_periods_of_dates_lie_on_an_axis() -> None:
    """Months, years and decades, one beside the other, each as far as it reaches."""
    born = RNG.integers(-14_000, 15_000, 600).astype("datetime64[D]")
    columns = {"born": {"role": "quasi-identifier", "hierarchy": {"dates": ["month", "year", "decade"]}}}
    found = read_release(rk.anonymize({"born": born}, rk.Policy(columns=columns, privacy=[{"k-anonymity": {"k": 8}}])))
    spans = spans_of(found, "born")
    assert spans is not None
    assert spans.axis.scale == "date"
    low, high = (one.astype("datetime64[D]") for one in (spans.low, spans.high))
    labels = found.classes["born"].to_pylist()
    assert {len(label) for label in labels} == {4, 5}
    for label, first, end in zip(labels, low, high, strict=True):
        assert first == np.datetime64(label[:4], "D")
        assert end == (np.datetime64(label[:4], "Y") + (10 if label.endswith("s") else 1)).astype("datetime64[D]")


def test_a_painting_is_drawn_as_svg_and_png() -> None:
    painting = paint(released())
    svg = painted(painting, alone=True)
    root = ElementTree.fromstring(svg)
    assert len(root.findall(".//{*}rect/{*}title")) == len(painting.cells)
    assert png(svg, zoom=0.2).startswith(b"\x89PNG")
    assert painted(painting, alone=True) == svg


def test_lighter_is_more() -> None:
    def light(colour: str) -> float:
        return sum(part * int(colour[at : at + 2], 16) for at, part in ((1, 0.2126), (3, 0.7152), (5, 0.0722)))

    assert sorted(FIELDS, key=light) == list(FIELDS)

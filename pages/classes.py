"""Pictures of methods and requirements: forty people by age and zip, and the boxes of their classes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import rothko as rk
from pages.people import AGES, DISEASES, KEY, TABLE, ZIPS, K, released
from rothko.errors import PrivacyWarning
from rothko.plots.model import Axis, Boxes, Mark, Plot, Points

Box: TypeAlias = tuple[float, float, float, float]

X, Y = Axis("age", *AGES), Axis("zip", *ZIPS, digits=5)
HIGH = 320
ROOM = (0.9, 1.3)
"""By how much a box is larger than what it publishes, so that people on its edge are seen in it."""
L = 3

REQUIREMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "distinct-l-diversity": ({"l": 2, "of": "disease"}, "l = 2"),
    "entropy-l-diversity": ({"l": 2, "of": "disease"}, "l = 2"),
    "recursive-l-diversity": ({"c": 2, "l": 2, "of": "disease"}, "c = 2, l = 2"),
    "frequency-l-diversity": ({"l": 2, "of": "disease"}, "l = 2"),
    "alpha-k": ({"alpha": 0.6, "k": K, "of": "disease"}, "α = 0.6, k = 4"),
    "p-sensitive": ({"p": 3, "k": K, "of": "disease"}, "p = 3, k = 4"),
    "p-alpha": (
        {
            "p": 2,
            "of": "disease",
            "categories": {"flu": "infection", "cold": "infection", "asthma": "chronic", "cancer": "chronic"},
        },
        "p = 2 categories: infections (flu, cold) and chronic diseases",
    ),
    "t-closeness": ({"t": 0.45, "of": "disease"}, "t = 0.45"),
    "variance-diversity": ({"v": 50, "of": "pay"}, "v = 50"),
    "squared-error-diversity": ({"error": 250, "of": "pay"}, "error = 250"),
}
"""What is asked of the forty beside 4-anonymity, and how the picture says it."""


def boxes(table: Mapping[str, Sequence[Any]]) -> list[Box]:
    """The box of each row, as ``publish: bounds`` shows it."""
    columns = [list(table[name]) for name in ("age_min", "age_max", "zip_min", "zip_max")]
    return [
        (float(a) - ROOM[0], float(b) + ROOM[0], float(c) - ROOM[1], float(d) + ROOM[1])
        for a, b, c, d in zip(*columns, strict=True)
    ]


def in_order(make: Callable[[], Any]) -> Any:
    """A release whose rows are still in the order of the forty, which no release for others should be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        return make()


def members(of: Sequence[Any]) -> list[tuple[Any, list[int]]]:
    """The rows that share a value, in the order in which the values come."""
    found: dict[Any, list[int]] = {}
    for row, value in enumerate(of):
        found.setdefault(value, []).append(row)
    return list(found.items())


def points(label: str, rows: Iterable[int], tone: int, shape: int, *, joined: bool = False) -> Points:
    """Some of the forty."""
    rows = list(rows)
    age, place = ([TABLE[name][row] for row in rows] for name in ("age", "zip"))
    tips = [
        f"{TABLE['age'][row]}, {TABLE['zip'][row]}: {TABLE['disease'][row]}, pay {TABLE['pay'][row]}" for row in rows
    ]
    return Points(label, tuple(age), tuple(place), tuple(tips), tone, shape, joined)


def by_method(name: str) -> Plot:
    """What a method makes of the forty: a colour for every class."""
    release = in_order(lambda: released(method=name, publish="bounds", order="keep"))
    classes = members(boxes(release.table))
    marks: list[Mark] = []
    for tone, (box, rows) in enumerate(classes):
        marks.append(Boxes("", (box,), (f"{len(rows)} people",), tone))
        marks.append(points("", rows, tone, tone))
    loss = release.certificate.loss
    return _plot(
        f"method-{name}", f"Forty people by {name}, k = {K}",
        f"{len(classes)} classes of {loss.smallest_class} to {loss.largest_class} people; GCP {loss.gcp:.3f}.", marks,
    )  # fmt: skip


def by_anatomy() -> Plot:
    """Groups of anatomy: nobody's quasi-identifiers change, and a line joins those of a group."""
    table = {name: TABLE[name] for name in ("age", "zip", "disease")}
    asked = [{"frequency-l-diversity": {"l": L, "of": "disease"}}]
    columns = {"age": "quasi-identifier", "zip": "quasi-identifier", "disease": "sensitive"}
    policy = rk.Policy(
        columns={name: {"role": role} for name, role in columns.items()}, privacy=asked, method="anatomy", order="keep"
    )
    release = in_order(lambda: rk.anonymize(table, policy, key=KEY, threads=1))
    groups = members(list(release.table["group"]))
    marks = [
        points("", sorted(rows, key=lambda row: TABLE["age"][row]), tone, tone, joined=True)
        for tone, (_, rows) in enumerate(groups)
    ]
    return _plot(
        "method-anatomy", f"Forty people by anatomy, l = {L}",
        f"{len(groups)} groups; a line joins the people of each, who stay where they are.", marks,
    )  # fmt: skip


def alone() -> Plot:
    """The forty as they are: everybody is the only one at their place."""
    return _plot(
        "requirement-nothing", "Forty people, nothing asked", "All forty are unique by age and zip.",
        [points(disease, _having(disease), tone, tone) for tone, disease in enumerate(DISEASES)],
    )  # fmt: skip


def by_requirement(name: str, *, asked: bool) -> Plot:
    """Classes of 4-anonymity alone, and which of them break a requirement; or classes that meet it."""
    privacy: list[Any] = [{"k-anonymity": {"k": K}}]
    if name == "k-anonymity":
        about, only = f"k = {K}", []
    else:
        parameters, about = REQUIREMENTS[name]
        only = [{name: parameters}]
    release = in_order(lambda: released([*privacy, *only] if asked else privacy, publish="bounds", order="keep"))
    classes = members(boxes(release.table))
    broken = [box for box, rows in classes if only and not _holds(only, rows)]
    kept = [box for box, _ in classes if box not in broken]
    sizes = {box: f"{len(rows)} people" for box, rows in classes}
    marks: list[Mark] = []
    if broken:
        marks.append(Boxes("breaks it", tuple(broken), tuple(sizes[box] for box in broken), 0))
    if kept:
        marks.append(Boxes("holds", tuple(kept), tuple(sizes[box] for box in kept), 2))
    marks += _pays() if only and only[0][name]["of"] == "pay" else _diseases()
    how = f"{name} with {about}" if asked else f"{K}-anonymity alone, looked at by {name} with {about}"
    return _plot(
        f"requirement-{name}-{'asked' if asked else 'before'}", f"Forty people, {how}",
        f"{len(classes)} classes, of which {len(broken)} break the requirement.", marks,
    )  # fmt: skip


def _holds(asked: list[Any], rows: list[int]) -> bool:
    """Whether one class meets a requirement, by the verifier: beside it, all others are one class."""
    mine = set(rows)
    shown = {**TABLE, "age": ["here" if row in mine else "there" for row in range(len(TABLE["age"]))]}
    policy = rk.Policy.quick(list(TABLE), qi="age", drop="zip", sensitive=["disease", "pay"], k=2).but(privacy=asked)
    [finding] = rk.check(shown, policy, threads=1).verification.findings[:1]
    return finding.violating_records not in (len(rows), len(TABLE["age"]))


def _having(disease: str) -> list[int]:
    return [row for row, value in enumerate(TABLE["disease"]) if value == disease]


def _diseases() -> list[Mark]:
    return [
        points(disease, _having(disease), tone, shape)
        for disease, tone, shape in zip(DISEASES, (4, 1, 3, 6), range(4), strict=True)
    ]


def _pays() -> list[Mark]:
    ends = ((0, 30, "pay below 30"), (30, 45, "30 to 44"), (45, 100, "45 and more"))
    return [
        points(label, [row for row, pay in enumerate(TABLE["pay"]) if low <= pay < high], tone, shape)
        for (low, high, label), tone, shape in zip(ends, (4, 1, 3), range(3), strict=True)
    ]


def _plot(name: str, title: str, about: str, marks: Sequence[Mark]) -> Plot:
    return Plot(name, title, about, X, Y, tuple(marks), height=HIGH)

"""Pictures of methods for sets: the hobbies of the forty, and which of them are published."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from pages.people import HOBBIES, PEOPLE, K
from rothko.plots.model import Axis, Boxes, Mark, Plot, Rule
from rothko.sets import read_records
from rothko.sets.methods import SetK1Method, as_method

HIGH = 430
SEED = 0


def by_method(name: str) -> Plot:
    """A row for each of the forty, those of a class side by side; what all of a class have is published."""
    class_of, shown = grouped(name)
    held = [{HOBBIES.index(hobby) for hobby in one} for one in PEOPLE["hobbies"]]
    order = sorted(range(len(held)), key=lambda row: (-len(shown[row]), class_of[row], row))
    published: list[tuple[float, float, float, float]] = []
    hidden: list[tuple[float, float, float, float]] = []
    for place, row in enumerate(order):
        for at in sorted(held[row]):
            box = (at + 0.08, at + 0.92, place + 0.12, place + 0.88)
            (published if at in shown[row] else hidden).append(box)
    ends = [place for place in range(1, len(order)) if class_of[order[place]] != class_of[order[place - 1]]]
    count = len(set(class_of))
    apart = [] if count == len(order) else [Rule("", place, across=True) for place in ends]
    marks: tuple[Mark, ...] = (
        Boxes("published", tuple(published), ("",) * len(published), 1, filled=True),
        Boxes("not published", tuple(hidden), ("",) * len(hidden), 0),
        *apart,
    )
    said = f"{count} classes" if apart else "every record by itself"
    return Plot(
        f"method-{name}", f"The hobbies of forty people by {name}, k = {K}",
        f"{said}; {len(published)} of {len(published) + len(hidden)} hobbies are published.",
        Axis("", 0, len(HOBBIES), "names", HOBBIES), Axis("people", 0, len(order)), marks, width=700, height=HIGH,
    )  # fmt: skip


def quiet(_: int) -> None:
    """Nobody waits for forty records."""


def grouped(name: str) -> tuple[list[int], list[set[int]]]:
    """The class of each of the forty, and the hobbies that are published of each."""
    records = read_records(PEOPLE["hobbies"])
    at = [HOBBIES.index(text) for text in records.names.to_pylist()]
    method: Any = as_method(name)
    if isinstance(method, SetK1Method):
        starts, items = method.publish(records, K, SEED, threads=1, progress=quiet)
        sets = [{at[item] for item in items[a:b]} for a, b in pairwise(starts.tolist())]
        return list(range(records.count)), sets
    class_of = np.asarray(method.group(records, K, seed=SEED, threads=1, progress=quiet)).tolist()
    held = [{HOBBIES.index(hobby) for hobby in one} for one in PEOPLE["hobbies"]]
    common = {one: set.intersection(*(held[row] for row, c in enumerate(class_of) if c == one)) for one in class_of}
    return class_of, [common[one] for one in class_of]

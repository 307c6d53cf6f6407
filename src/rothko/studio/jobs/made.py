"""What is looked at in a release that was made: its numbers, its painting, its rows, its columns before and after.

Pages are made of the files, as the report is, and of the original where the steward sees both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from rothko.data.source.csv import CsvOptions
from rothko.errors import PolicyError, nearest
from rothko.metrics.risk import THRESHOLD, risk
from rothko.policy.policy import Policy
from rothko.release.verify import open_table, with_long_lines
from rothko.report import page, public, report, steward
from rothko.report.painting import chosen_sides, classes_painted, paint
from rothko.report.released import Released, find_release, read_release
from rothko.report.report import Drawn
from rothko.report.steward import look_before, needed
from rothko.studio.jobs import Telling

MEANINGS = ("density", "size", "loss")
SHOWN = 50
"""Rows that are shown at once."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Some rows of a release."""

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    found: int
    """How many there are."""
    all: int


_READ: dict[Any, Released] = {}
"""The releases that were read last."""


def _released(release: Path, target: str | None = None) -> Released:
    key = (release, target)
    if key not in _READ:
        while len(_READ) >= 6:
            del _READ[next(iter(_READ))]
        _READ[key] = read_release(release, target=target)
    return _READ[key]


def told(telling: Telling, *, release: Path) -> dict[str, str]:
    """What holds, and how likely anybody is found: the sections of the report, as HTML."""
    released = _released(release)
    draw = Drawn()
    inner = {
        "holds": public.holds(released).blocks,
        "risk": public.risk_section(released, THRESHOLD, draw, [], None).blocks,
        "limits": public.limits(released).blocks,
    }
    lost = public.lost(released, draw, [], [], None).blocks
    return {name: "".join(block.text for block in blocks) for name, blocks in (*inner.items(), ("lost", lost))}


def painting(
    telling: Telling, *, release: Path, x: str | None, y: str | None, by: str, name: str, like: Path | None = None
) -> str:
    """The painting over two columns, as HTML.

    Parameters
    ----------
    name
        What tells it from other paintings on the page.
    like
        The release beside it: what is not chosen is chosen as for that one.
    """
    from dataclasses import replace

    target = None if by in MEANINGS else by
    if like is not None:
        x, y = chosen_sides(_released(like), x, y)
    found = paint(_released(release, target), x=x, y=y, by="target" if target else by)
    return page.hung(replace(found, name=name)).text


@dataclass(frozen=True, slots=True)
class Place:
    """A rectangle of a painting."""

    at: int
    x: str | None
    y: str | None


def rows(
    telling: Telling, *, release: Path, where: Mapping[str, str], start: int = 0, place: Place | None = None
) -> Rows:
    """Rows that show some texts in some columns, and those of the classes that are painted at a place."""
    data, _ = find_release(release)
    classes = None
    if place is not None:
        classes = classes_painted(_released(release), place.at, x=place.x, y=place.y)
    connection = duckdb.connect(":memory:")

    def found(longest: int) -> Rows:
        from rothko.data.source.open import open_source

        named = open_source(data).names
        names = open_table(connection, data, set(named), longest=longest)
        unknown = [name for name in where if name not in names]
        if unknown:
            raise PolicyError(f"{unknown[0]!r} is no column of the release; {nearest(unknown[0], names)}")
        texts = [f"CAST(c{at} AS VARCHAR)" for at in range(len(names))]
        wanted = [f"contains(lower({texts[names.index(name)]}), lower(?))" for name in where]
        if classes is not None:
            shown = [f"s{at}" for at in range(classes.num_columns)]
            connection.register("painted", classes.rename_columns(shown))
            alike = [
                f"{texts[names.index(name)]} IS NOT DISTINCT FROM {one}"
                for name, one in zip(classes.column_names, shown, strict=True)
            ]
            wanted.append(f"EXISTS (FROM painted WHERE {' AND '.join(alike)})")
        which, given = " AND ".join(wanted) or "TRUE", list(where.values())
        counted = connection.execute(
            f"SELECT (SELECT count(*) FROM released), (SELECT count(*) FROM released WHERE {which})", given
        ).fetchone()
        assert counted is not None
        some = connection.execute(
            f"SELECT {', '.join(texts)} FROM released WHERE {which} LIMIT {SHOWN} OFFSET {int(start)}", given
        ).fetchall()
        return Rows(tuple(names), tuple(some), int(counted[1]), int(counted[0]))

    try:
        return with_long_lines(found)
    finally:
        connection.close()


def before(
    telling: Telling, *, release: Path, data: Any, policy: Policy, out: Path, csv: CsvOptions | None = None
) -> dict[str, str]:
    """How things were before the release, as HTML: what could be found, each column, what hangs together.

    Parameters
    ----------
    out
        Where the report for the steward is written, for nobody else.
    """
    released = read_release(release, beside=lambda _: needed(policy))
    found = look_before(data, released, policy, THRESHOLD, csv=csv)
    out.touch(0o600)
    out.write_text(report.told(released, found, THRESHOLD).html, "utf-8")
    draw = Drawn()
    after = risk(released.over(tuple(released.shown)), THRESHOLD)
    inner = {
        "risk": [public.risks("Risk before and after", after, found.unique.whole)],
        "apart": steward.told_apart(found, draw),
        "columns": [page.side_by_side(steward.distributions(found, draw))],
        "together": steward.hangs_together(found, draw),
    }
    return {name: "".join(block.text for block in blocks) for name, blocks in inner.items()}

"""Where the marks of an axis stand, and what is written beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import takewhile

from rothko.plots.model import Axis

EPOCH = date(1970, 1, 1)
YEAR = 365.2425


def ticks(axis: Axis, most: int = 6) -> list[tuple[float, str]]:
    """Places along an axis with their texts, ``most`` of them at most where it is for us to choose.

    >>> [text for _, text in ticks(Axis("age", 17, 90))]
    ['20', '40', '60', '80']
    >>> [text for _, text in ticks(Axis("born", -7000, 11000, "date"))]
    ['1960', '1970', '1980', '1990', '2000']
    """
    if axis.scale == "names":
        return [(i + 0.5, name) for i, name in enumerate(axis.names)]
    if axis.ticks:
        return [(at, written(axis, at)) for at in axis.ticks]
    if axis.scale == "log":
        return [(at, written(axis, at)) for at in _log_places(axis.low, axis.high, most)]
    if axis.scale == "date" and axis.high - axis.low > 2 * YEAR:
        years = _places(1970 + axis.low / YEAR, 1970 + axis.high / YEAR, most, least=1)
        return [((date(int(year), 1, 1) - EPOCH).days, f"{int(year)}") for year in years if 1 <= year <= 9999]
    whole = axis.scale == "date" or axis.digits > 0
    return [(at, written(axis, at)) for at in _places(axis.low, axis.high, most, least=1 if whole else 0)]


def written(axis: Axis, at: float) -> str:
    """A place of an axis, as a person reads it.

    >>> written(Axis("zip", 0, 1, digits=5), 2139), written(Axis("share", 0, 1, percent=True), 0.25)
    ('02139', '25 %')
    """
    if axis.scale == "names":
        return axis.names[min(max(int(at), 0), len(axis.names) - 1)]
    if axis.scale == "date":
        days = min(max(at, (date.min - EPOCH).days), (date.max - EPOCH).days)
        return (EPOCH + timedelta(days=math.floor(days))).isoformat()
    if axis.digits:
        return f"{round(at):0{axis.digits}d}"
    if axis.percent:
        return f"{100 * at:.3g} %"
    return number(at)


def number(value: float) -> str:
    """A number with as many digits as it takes.

    >>> number(1200000.0), number(0.0731), number(30.0), number(1e15)
    ('1,200,000', '0.0731', '30', '1e+15')
    """
    if abs(value) >= 1e12:
        return f"{value:.3g}"
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 1000 else f"{value:.3g}"


def shortened(names: Sequence[str], longest: int) -> list[str]:
    """Names of so many letters at most; where their beginnings are alike, what tells them apart stays.

    >>> shortened(["label number 1", "label number 27", "another"], 8)
    ['…1', '…27', 'another']
    """

    def cut(name: str, most: int) -> str:
        return name if len(name) <= most else f"{name[: most - 1]}…"

    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        alike.setdefault(cut(name, longest), []).append(name)
    found = {}
    for short, some in alike.items():
        shared = "".join(signs[0] for signs in takewhile(lambda signs: len(set(signs)) == 1, zip(*some, strict=False)))
        same = shared.rfind(" ") + 1 or len(shared)  # a word is left out whole
        for name in some:
            found[name] = short if len(some) == 1 else f"…{cut(name[same:], longest - 1)}"
    return [found[name] for name in names]


def whole_places(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """Where marks of an axis stand that has whole numbers alone.

    >>> whole_places(9.5, 12.5), whole_places(9.5, 10.5)
    ((10.0, 11.0, 12.0), (10.0,))
    """
    return tuple(_places(low, high, most, least=1))


def _places(low: float, high: float, most: int, *, least: float = 0) -> list[float]:
    """Round numbers in a range, at equal distances."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * (1 - 1e-9))
    step = max(step, least) if least == 0 or step == int(step) else max(math.ceil(step), least)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


def _log_places(low: float, high: float, most: int) -> list[float]:
    """1, 2 and 5 times powers of ten, or fewer of them where there is no room."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [s * 10.0**power for power in range(first, last + 1) for s in steps]
        inside = [at for at in found if low * (1 - 1e-9) <= at <= high * (1 + 1e-9)]
        if 2 <= len(inside) <= most:
            return inside
    return inside[:: max(1, math.ceil(len(inside) / most))] if len(inside) > 1 else [low, high]

"""How what section 6 of the paper on curves claims is judged by what was measured.

Claims are in :mod:`experiments.curve_claims`. One about a method that was not run is not measured, unless those that
were run belie it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from scipy.stats import spearmanr

from experiments.findings import Figures, Finding
from experiments.widest import WIDEST

Series = Mapping[str, float]
"""A parameter, such as k → a number."""
Measure = Callable[[Figures], Finding]
Place = tuple[str, ...]
"""Where series by method are in the results: the figure, and the part of it."""

FAST = ("hilbert-fast", "idistance-fast")
CURVES = ("hilbert", "idistance")
QUERIES = ("l", "level", "d", "rows")
"""What Fig. 20 varies."""


def _by_method(figures: Figures, place: Place) -> dict[str, Series]:
    found: Any = figures
    for name in place:
        found = found[name]
    return dict(found)


def _range(numbers: Iterable[float], digits: int = 2) -> str:
    some = list(numbers)
    low, high = min(some), max(some)
    return (
        f"{low:.{digits}f}" if f"{low:.{digits}f}" == f"{high:.{digits}f}" else f"{low:.{digits}f} to {high:.{digits}f}"
    )


def _course(series: Series, digits: int = 3) -> str:
    return ", ".join(f"{number:,.0f}" if number >= 1000 else f"{number:.{digits}f}" for number in series.values())


def _missing(series: Mapping[str, Series], methods: Iterable[str]) -> str:
    absent = _absent(series, methods)
    told = f"; without {', '.join(absent)}, which did not run here" if absent else ""
    every = sorted({x for some in series.values() for x in some}, key=int)
    for method in methods:
        left_out = [x for x in every if x not in series.get(method, {})]
        told += f"; {method} not at {', '.join(left_out)}" if left_out and method not in absent else ""
    return told


def _absent(series: Mapping[str, Series], methods: Iterable[str]) -> list[str]:
    return [method for method in methods if not series.get(method)]


def _judged(measured: str, held: bool, absent: Sequence[str]) -> Finding:
    """What those that were run say: no more than that they do not belie it, where others were not."""
    return Finding(f"not measured: {measured}") if held and absent else Finding(measured, held)


def _ratios(
    series: Mapping[str, Series], methods: Sequence[str], others: Sequence[str]
) -> dict[tuple[str, str], Series]:
    """(method, other) → what one has for one of the other's, wherever both were run."""
    found = {}
    for method in methods:
        for other in others:
            both = [x for x in series.get(method, {}) if x in series.get(other, {})]
            if both and method != other:
                found[method, other] = {x: _ratio(series[method][x], series[other][x]) for x in both}
    return found


def _ratio(one: float, other: float) -> float:
    """One for the other; 1 where both are nothing."""
    if other > 0:
        return one / other
    return 1.0 if one == 0 else math.inf


def _beside(series: Mapping[str, Series], methods: Sequence[str], others: Sequence[str]) -> str:
    """The same for rothko's own Mondrian, where it was asked of the paper's."""
    asked = WIDEST in others and "mondrian" not in others
    ratios = _ratios(series, methods, ["mondrian"]) if asked else {}
    told = "".join(f"; {m} {_range(some.values())} of {o}'s" for (m, o), some in ratios.items())
    return told + _by_letter(series, methods, others)


def _by_letter(series: Mapping[str, Series], methods: Sequence[str], others: Sequence[str]) -> str:
    """The same for the paper's own mapping, where that was run; it is held against itself, not against rothko's."""
    found: dict[tuple[str, str], Series] = {}
    for method in methods:
        for other in [o for o in others if o not in FAST] if method in CURVES else ():  # of FAST rothko's alone ran
            against = f"{other}-paper" if other in CURVES else other
            for some in _ratios(series, [f"{method}-paper"], [against]).values():
                found[method, other] = some
    listed = "; ".join(f"{m} {_range(some.values())} of {o}'s" for (m, o), some in found.items())
    return f"; by the paper's mapping {listed}" if listed else ""


# ── kinds of claims


def below(place: Place, methods: Sequence[str], others: Sequence[str], bound: float = 1.0) -> Measure:
    """Each of the methods has less than the bound times as much as each of the others, wherever both were run."""

    def finding(figures: Figures) -> Finding:
        series = _by_method(figures, place)
        ratios = _ratios(series, methods, others)
        if not ratios:
            return Finding(f"not run: {', '.join([*methods, *others])}")
        listed = "; ".join(f"{m} {_range(some.values())} of {o}'s" for (m, o), some in ratios.items())
        held = all(ratio < bound for some in ratios.values() for ratio in some.values())
        every = [*methods, *others]
        told = listed + _beside(series, methods, others) + _missing(series, every)
        return _judged(told, held, _absent(series, every))

    return finding


def at_most(place: Place, methods: Sequence[str], others: Sequence[str], bound: float) -> Measure:
    """The same, the bound included, where it is a factor that may be reached."""
    return below(place, methods, others, bound + 1e-9)


def within(place: Place, method: str, other: str, factor: float) -> Measure:
    """Two methods have the same but for a factor, either way."""

    def finding(figures: Figures) -> Finding:
        ratios = _ratios(_by_method(figures, place), [method], [other])
        if not ratios:
            return Finding(f"not run: {method}, {other}")
        [some] = ratios.values()
        held = all(1 / factor <= ratio <= factor for ratio in some.values())
        return Finding(f"{method} {_range(some.values())} of {other}'s", held)

    return finding


def falls(place: Place, methods: Sequence[str], *, rises: bool = False, slack: float = 0.0) -> Measure:
    """The numbers of each method fall (or rise) along the parameter, from step to step."""

    def finding(figures: Figures) -> Finding:
        series = {m: s for m, s in _by_method(figures, place).items() if m in methods and len(s) > 1}
        if not series:
            return Finding(f"not run: {', '.join(methods)}")
        listed = "; ".join(f"{method} {_course(some)}" for method, some in series.items())
        steps = [(a, b) if not rises else (b, a) for some in series.values() for a, b in pairwise(some.values())]
        held = all(a * (1 + slack) > b for a, b in steps)
        return _judged(listed + _missing(series, methods), held, _absent(series, methods))

    return finding


def steady(place: Place, methods: Sequence[str], factor: float) -> Measure:
    """The largest number of each method along the parameter is at most so many times its smallest."""

    def finding(figures: Figures) -> Finding:
        series = {m: s for m, s in _by_method(figures, place).items() if m in methods and s}
        if not series:
            return Finding(f"not run: {', '.join(methods)}")
        spread = {m: max(s.values()) / max(min(s.values()), 1e-12) for m, s in series.items()}
        listed = "; ".join(f"{m} {spread[m]:.2f} times" for m in series)
        return Finding(f"largest for one of the smallest: {listed}", all(one <= factor for one in spread.values()))

    return finding


# ── claims of their own


def small_classes(figures: Figures) -> Finding:
    found = figures["12"]
    methods = [m for m in (*CURVES, "topdown") if found["gcp"].get(m)]
    if not methods:
        return Finding(f"not run: {', '.join(CURVES)}")
    most = {m: max(found["largest"][m][k] / (2 * int(k) - 1) for k in found["largest"][m]) for m in methods}
    least = {m: min(found["smallest"][m][k] / int(k) for k in found["smallest"][m]) for m in methods}
    listed = "; ".join(f"{m} from {least[m]:.2f} k to {most[m]:.2f} (2k − 1)" for m in methods)
    held = all(most[m] <= 1 and least[m] >= 1 for m in methods)
    every = (*CURVES, "topdown")
    return _judged(listed + _missing(found["gcp"], every), held, _absent(found["gcp"], every))


def sizes_say_little(figures: Figures) -> Finding:
    """Discernibility is the same within a tenth where loss differs by more than that."""
    found = figures["12"]
    ratios = _ratios(found["dm"], ["topdown", "idistance"], ["hilbert"])
    if not ratios:
        return Finding("not run: hilbert, idistance, topdown")
    losses = _ratios(found["gcp"], ["topdown", "idistance"], ["hilbert"])
    listed = "; ".join(
        f"{m}: discernibility {_range(some.values())} of {o}'s, loss {_range(losses[m, o].values())}"
        for (m, o), some in ratios.items()
    )
    alike = all(0.75 <= ratio <= 1.33 for some in ratios.values() for ratio in some.values())
    apart = all(
        abs(losses[pair][k] - 1) > abs(some[k] - 1) for pair, some in ratios.items() for k in some
    )  # fmt: skip
    return Finding(listed, alike and apart)


def grows_linearly(figures: Figures) -> Finding:
    series = {m: s for m, s in figures["14"]["seconds"].items() if m in (*CURVES, *FAST) and len(s) > 1}
    if not series:
        return Finding("not run: hilbert, idistance")
    times = {}
    for method, some in series.items():
        (first, begun), *_, (last, ended) = some.items()
        times[method] = (ended / max(begun, 1e-9)) / (int(last) / int(first))
    listed = "; ".join(f"{m} {one:.2f}" for m, one in times.items())
    return Finding(f"times as long for one time the records, largest to smallest table: {listed}",
                   all(one <= 1.25 for one in times.values()))  # fmt: skip


def near_zero(figures: Figures) -> Finding:
    series = {m: s for m, s in figures["15"]["gcp"].items() if m in CURVES and "1" in s}
    if not series:
        return Finding("not run: hilbert, idistance")
    listed = "; ".join(f"{m} {s['1']:.4f}" for m, s in series.items())
    return Finding(f"at d = 1: {listed}", all(s["1"] < 0.01 for s in series.values()))


def lead_grows(other: str, shown: str) -> Measure:
    """What a method loses for one of Hilbert's rises with the dimensions."""

    def finding(figures: Figures) -> Finding:
        ratios = _ratios(figures["15"]["gcp"], [other], ["hilbert"])
        if not ratios:
            return Finding(f"not run: {other}")
        [some] = ratios.values()
        from_two = {d: ratio for d, ratio in some.items() if int(d) > 1}
        if len(from_two) < 3:
            return Finding("not run: three numbers of dimensions from two on")
        order = float(spearmanr([int(d) for d in from_two], list(from_two.values()))[0])
        return Finding(
            f"{shown}'s loss for one of Hilbert's at d = {', '.join(some)}: {_course(some, 2)}; rank correlation with "
            f"d from 2 on {order:.2f}", order > 0.5,
        )  # fmt: skip

    return finding


def wavers(figures: Figures) -> Finding:
    by_l, by_rows = figures["16"]["gcp"][WIDEST], figures["17"]["gcp"][WIDEST]
    rising = all(a <= b for a, b in pairwise(by_l.values()))
    falling = all(a >= b for a, b in pairwise(by_rows.values()))
    return Finding(
        f"by l: {_course(by_l)} ({'always rises' if rising else 'does not always rise'}); by records: "
        f"{_course(by_rows)} ({'always falls' if falling else 'does not always fall'})",
        not (rising and falling),
    )


def falls_off(figures: Figures) -> Finding:
    """Mondrian's loss rises with d by more than Hilbert's does, and steeply."""
    series = figures["18"]["gcp"]
    if not series.get("hilbert"):
        return Finding("not run: hilbert")
    ds = list(series[WIDEST])
    first, last = ds[0], ds[-1]
    rises = {m: series[m][last] - series[m][first] for m in (WIDEST, "mondrian", "hilbert")}
    return Finding(
        f"from d = {first} to {last}: {', '.join(f'{m} {rise:+.3f}' for m, rise in rises.items())}",
        rises[WIDEST] > 2 * rises["hilbert"],
    )


def small_l(figures: Figures) -> Finding:
    """Divergence at the two smallest l."""
    series = figures["20"]["l"]
    few = {m: dict(list(s.items())[:2]) for m, s in series.items()}
    ratios = _ratios(few, CURVES, (WIDEST, "anatomy"))
    if not ratios:
        return Finding(f"not run: {', '.join((*CURVES, 'anatomy'))}")
    listed = "; ".join(f"{m} {_range(some.values())} of {o}'s" for (m, o), some in ratios.items())
    at = ", ".join(few[WIDEST])
    held = all(ratio < 1 for some in ratios.values() for ratio in some.values())
    listed += _beside(few, CURVES, [WIDEST])
    return Finding(f"l = {at}: {listed}" + _missing(series, (*CURVES, "anatomy")), held)


def at_l(which: int, other: str, bound: float, method: str = "hilbert") -> Measure:
    """What a method's divergence is for one of another's, at the smallest (0) or the largest l (-1)."""

    def finding(figures: Figures) -> Finding:
        ratios = _ratios(figures["20"]["l"], [method], [other])
        if not ratios:
            return Finding(f"not run: {method}, {other}")
        [some] = ratios.values()
        at, ratio = list(some.items())[which]
        series = {m: {at: s[at]} for m, s in figures["20"]["l"].items()}
        beside = _beside(series, [method], [other])
        return Finding(f"l = {at}: {method} {ratio:.3f} of {other}'s{beside}", ratio <= bound)

    return finding


def by_level(other: str, *, top: bool, bound: float) -> Measure:
    """The same at the two lowest levels of the lattice, or at the two highest."""

    def finding(figures: Figures) -> Finding:
        series = figures["20"]["level"]
        some_levels = {m: dict(list(s.items())[-2:] if top else list(s.items())[:2]) for m, s in series.items()}
        ratios = _ratios(some_levels, CURVES, [other])
        if not ratios:
            return Finding(f"not run: {', '.join((*CURVES, other))}")
        levels = ", ".join(next(iter(ratios.values())))
        listed = "; ".join(f"{m} {_range(some.values())} of {o}'s" for (m, o), some in ratios.items())
        return Finding(f"levels {levels}: {listed}", all(r < bound for some in ratios.values() for r in some.values()))

    return finding


def mostly_ahead(figures: Figures) -> Finding:
    """In how many of the cases of Fig. 20 Hilbert answers better than Anatomy."""
    parts = {name: _ratios(some, ["hilbert"], ["anatomy"]) for name, some in figures["20"].items() if name in QUERIES}
    cases = {name: list(some.values()) for name, ratios in parts.items() for some in ratios.values()}
    if not cases:
        return Finding("not run: hilbert, anatomy")
    ahead = {name: sum(ratio < 1 for ratio in some) for name, some in cases.items()}
    listed = ", ".join(f"by {name} {ahead[name]} of {len(some)}" for name, some in cases.items())
    return Finding(f"ahead {listed}", 2 * sum(ahead.values()) > sum(map(len, cases.values())))


def elsewhere(text: str) -> Measure:
    """What no figure has numbers for."""
    return lambda figures: Finding(f"not measured: {text}")


def rises_then_falls(figures: Figures) -> Finding:
    series = {m: s for m, s in figures["20"]["d"].items() if m in CURVES and len(s) > 2}
    if not series:
        return Finding("not run: hilbert, idistance")
    peaks = {m: max(s, key=lambda d: s[d]) for m, s in series.items()}
    listed = "; ".join(f"{m} {_course(s)}, largest at d = {peaks[m]}" for m, s in series.items())
    return Finding(f"at d = {', '.join(next(iter(series.values())))}: {listed}", set(peaks.values()) == {"4"})


def both(one: Finding, other: Finding) -> Finding:
    """Two findings as one."""
    held = None if None in (one.holds, other.holds) else bool(one.holds and other.holds)
    return Finding(f"{one.measured}; {other.measured}", held)

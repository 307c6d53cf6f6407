"""What section 6 of the paper claims about curves, what was measured, and whether it holds.

Ghinita, Karras, Kalnis, Mamoulis, *Fast Data Anonymization with Low Information Loss*, VLDB 2007. Each claim is in our
words; where the paper gives no bound, ours stands in the claim. The bounds were set before any of the paper's methods
had been run. Loss is compared with the paper's Mondrian (:mod:`experiments.widest`); what rothko's own has stands
beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from scipy.stats import spearmanr

from experiments.claims import Claim
from experiments.curve_reasons import MADE_UP, SURVEY
from experiments.findings import Figures, Finding
from experiments.widest import WIDEST

Series = Mapping[str, float]
"""A parameter, such as k → a number."""
Measure = Callable[[Figures], Finding]
Place = tuple[str, ...]
"""Where series by method are in the results: the figure, and the part of it."""

FAST = ("hilbert-fast", "idistance-fast")
CURVES = ("hilbert", "idistance")


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
    absent = [method for method in methods if not series.get(method)]
    return f"; without {', '.join(absent)}, which did not run here" if absent else ""


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
    return "".join(f"; {m} {_range(some.values())} of {o}'s" for (m, o), some in ratios.items())


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
        return Finding(listed + _beside(series, methods, others) + _missing(series, [*methods, *others]), held)

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
        return Finding(listed + _missing(series, methods), all(a * (1 + slack) > b for a, b in steps))

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
    return Finding(listed + _missing(found["gcp"], (*CURVES, "topdown")), held)


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


def lead_grows(figures: Figures) -> Finding:
    ratios = _ratios(figures["15"]["gcp"], [WIDEST], ["hilbert"])
    if not ratios:
        return Finding("not run: hilbert")
    [some] = ratios.values()
    from_two = {d: ratio for d, ratio in some.items() if int(d) > 1}
    if len(from_two) < 3:
        return Finding("not run: three numbers of dimensions from two on")
    order = float(spearmanr([int(d) for d in from_two], list(from_two.values()))[0])
    return Finding(
        f"Mondrian's loss for one of Hilbert's at d = {', '.join(some)}: {_course(some, 2)}; rank correlation with d "
        f"from 2 on {order:.2f}", order > 0.5,
    )  # fmt: skip


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


def at_l(which: int, other: str, bound: float) -> Measure:
    """What Hilbert's divergence is for one of another's, at the smallest (0) or the largest l (-1)."""

    def finding(figures: Figures) -> Finding:
        ratios = _ratios(figures["20"]["l"], ["hilbert"], [other])
        if not ratios:
            return Finding(f"not run: hilbert, {other}")
        [some] = ratios.values()
        at, ratio = list(some.items())[which]
        series = {m: {at: s[at]} for m, s in figures["20"]["l"].items()}
        beside = _beside(series, ["hilbert"], [other])
        return Finding(f"l = {at}: hilbert {ratio:.3f} of {other}'s{beside}", ratio <= bound)

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


def rises_then_falls(figures: Figures) -> Finding:
    series = {m: s for m, s in figures["20"]["d"].items() if m in CURVES and len(s) > 2}
    if not series:
        return Finding("not run: hilbert, idistance")
    peaks = {m: max(s, key=lambda d: s[d]) for m, s in series.items()}
    listed = "; ".join(f"{m} {_course(s)}, largest at d = {peaks[m]}" for m, s in series.items())
    return Finding(f"at d = {', '.join(next(iter(series.values())))}: {listed}", set(peaks.values()) == {"4"})


def _claim(
    name: str, where: str, text: str, measure: Measure, place: Place, also: tuple[str, ...] = ()
) -> Claim:  # fmt: skip
    return Claim(name, where, text, tuple(dict.fromkeys((place[0], *also))), measure)


def _loss(number: str) -> Place:
    return number, "gcp"


def _time(number: str) -> Place:
    return number, "seconds"


OLD = (WIDEST, "topdown")
ALL = (WIDEST, "mondrian", *CURVES, *FAST, "topdown")
DIVERSE = (WIDEST, "mondrian", *CURVES)
"""The paper's methods, and rothko's own Mondrian."""
TIMED, TIMED_DIVERSE = ALL[1:], DIVERSE[1:]
"""Those whose times are compared: the paper's Mondrian is plain Python here, and rothko's stands for it."""

_CLAIMED = (
    _claim("12a", "§6.1, Fig. 12", "Adult: hilbert and idistance lose less than mondrian and topdown at every k",
           below(_loss("12"), CURVES, OLD), _loss("12")),
    _claim("12b", "§6.1, Fig. 12", "Adult: hilbert loses no more than idistance",
           at_most(_loss("12"), ["hilbert"], ["idistance"], 1), _loss("12")),
    _claim("12c", "§6.1, Fig. 12", "Mondrian's discernibility is an order of magnitude above (ten times hilbert's)",
           below(("12", "dm"), ["hilbert"], [WIDEST], 0.1), ("12", "dm")),
    _claim("12d", "§6.1", "hilbert, idistance and topdown make classes of k to 2k − 1 records", small_classes,
           ("12", "largest")),
    _claim("12e", "§6.1", "So their discernibility is alike (within a third), and says less than their loss",
           sizes_say_little, ("12", "dm")),
    _claim("12f", "ours", "cluster loses less than every other method at every k",
           below(_loss("12"), ["cluster"], ("mondrian", "topdown", *CURVES, *FAST)), _loss("12")),
    _claim("13a", "§6.1, Fig. 13", "Census: hilbert and idistance lose less than mondrian and topdown at every k",
           below(_loss("13"), CURVES, OLD), _loss("13")),
    _claim("13b", "§6.1, Fig. 13", "mondrian is faster than hilbert and idistance",
           below(_time("13"), ["mondrian"], CURVES), _time("13")),
    _claim("13c", "§6.1, Fig. 13", "idistance takes longer than hilbert",
           below(_time("13"), ["hilbert"], ["idistance"]), _time("13")),
    _claim("13d", "§6.1, Fig. 13", "but only a little (at most twice as long)",
           at_most(_time("13"), ["idistance"], ["hilbert"], 2), _time("13")),
    _claim("13e", "§6.1, Fig. 13", "hilbert-fast loses less than mondrian and topdown",
           below(_loss("13"), ["hilbert-fast"], OLD), _loss("13")),
    _claim("13f", "§6.1, §6.4", "hilbert-fast is as fast as mondrian (at most 1.5 times as long)",
           at_most(_time("13"), ["hilbert-fast"], ["mondrian"], 1.5), _time("13")),
    _claim("13g", "§6.4", "hilbert-fast loses only slightly more than hilbert (at most 1.25 times)",
           at_most(_loss("13"), ["hilbert-fast"], ["hilbert"], 1.25), _loss("13")),
    _claim("13h", "§6.1", "Fast variants lose more than those that look at the true space",
           lambda figures: _both(below(_loss("13"), ["hilbert"], ["hilbert-fast"])(figures),
                                 below(_loss("13"), ["idistance"], ["idistance-fast"])(figures)), _loss("13")),
    _claim("13i", "§6.4", "Census: hilbert loses no more than idistance",
           at_most(_loss("13"), ["hilbert"], ["idistance"], 1), _loss("13")),
    _claim("13j", "ours", "cluster loses less than every other method at every k",
           below(_loss("13"), ["cluster"], ("mondrian", *CURVES, *FAST)), _loss("13")),
    _claim("14a", "§6.1, Fig. 14", "Every method loses less the more records there are",
           falls(_loss("14"), ALL), _loss("14")),
    _claim("14b", "§6.1, Fig. 14", "hilbert and idistance lose less than mondrian and topdown for every size",
           below(_loss("14"), CURVES, OLD), _loss("14")),
    _claim("14c", "§6.1, Fig. 13", "idistance-fast loses about what topdown loses (within 20 %)",
           within(_loss("14"), "idistance-fast", "topdown", 1.2), _loss("14")),
    _claim("14d", "§6.1, Fig. 14", "Time rises with the records", falls(_time("14"), TIMED, rises=True), _time("14")),
    _claim("14e", "§6.4", "Curves take time in proportion to the records (at most 1.25 times as long for each)",
           grows_linearly, _time("14")),
    _claim("14f", "§6.1", "topdown takes far longer than hilbert (ten times)",
           below(_time("14"), ["hilbert"], ["topdown"], 0.1), _time("14")),
    _claim("15a", "§6.1, Fig. 15", "With one quasi-identifier hilbert and idistance lose nearly nothing (below 0.01)",
           near_zero, _loss("15")),
    _claim("15b", "§6.1, Fig. 15", "hilbert's lead over mondrian grows with the dimensions, as a factor (rank "
           "correlation above 0.5)", lead_grows, _loss("15")),
    _claim("15c", "§6.1, Fig. 15", "Time depends only slightly on the dimensions (at most by a factor of two)",
           steady(_time("15"), (*TIMED_DIVERSE, *FAST), 2), _time("15")),
    _claim("16a", "§6.2, Fig. 16", "l-diversity: hilbert loses least of the three at every l",
           at_most(_loss("16"), ["hilbert"], ["idistance", WIDEST], 1), _loss("16")),
    _claim("16b", "§6.2, Fig. 16", "idistance follows closely (at most 1.25 times hilbert's loss)",
           at_most(_loss("16"), ["idistance"], ["hilbert"], 1.25), _loss("16")),
    _claim("16c", "§6.2, §6.4", "hilbert is far ahead of mondrian (at most half its loss)",
           at_most(_loss("16"), ["hilbert"], [WIDEST], 0.5), _loss("16")),
    _claim("16d", "§6.2, Fig. 16", "hilbert takes about as long as mondrian (at most twice)",
           at_most(_time("16"), ["hilbert"], ["mondrian"], 2), _time("16")),
    _claim("16e", "§6.2, Fig. 16", "idistance takes longer than hilbert",
           below(_time("16"), ["hilbert"], ["idistance"]), _time("16")),
    _claim("16f", "ours", "cluster loses less than the others at every l",
           below(_loss("16"), ["cluster"], DIVERSE), _loss("16")),
    _claim("17a", "§6.2, Fig. 17", "l-diversity: hilbert and idistance lose less the more records there are",
           falls(_loss("17"), CURVES), _loss("17")),
    _claim("17b", "§6.2, Fig. 17", "hilbert takes about as long as mondrian (at most twice) for every size",
           at_most(_time("17"), ["hilbert"], ["mondrian"], 2), _time("17")),
    _claim("17c", "§6.2, Fig. 17", "hilbert is far ahead of mondrian in loss (at most half) for every size",
           at_most(_loss("17"), ["hilbert"], [WIDEST], 0.5), _loss("17")),
    _claim("17d", "§6.2", "Mondrian's loss does not always rise with l, or does not always fall with the records",
           wavers, _loss("16"), ("17",)),
    _claim("18a", "§6.2, Fig. 18", "l-diversity: hilbert and idistance lose less than mondrian for all dimensions",
           below(_loss("18"), CURVES, [WIDEST]), _loss("18")),
    _claim("18b", "§6.2, Fig. 18", "Mondrian's loss rises sharply with the dimensions (more than twice as much as "
           "hilbert's)", falls_off, _loss("18")),
    _claim("18c", "§6.2, Fig. 18", "Time hardly depends on the dimensions (at most by a factor of 1.5)",
           steady(_time("18"), TIMED_DIVERSE, 1.5), _time("18")),
    _claim("19a", "§6.2, Fig. 19", "All methods lose less the more sensitive values there are",
           falls(_loss("19"), DIVERSE), _loss("19")),
    _claim("19b", "§6.2, Fig. 19", "Time does not depend on the number of sensitive values (factor of 1.5 at most)",
           steady(_time("19"), TIMED_DIVERSE, 1.5), _time("19")),
    _claim("20a", "§6.3, Fig. 20", "For small l, hilbert and idistance answer better than mondrian and anatomy",
           small_l, ("20", "l")),
    _claim("20b", "§6.3, Fig. 20", "hilbert is two orders of magnitude ahead of mondrian (a hundredth, smallest l)",
           at_l(0, WIDEST, 0.01), ("20", "l")),
    _claim("20c", "§6.3, Fig. 20", "and one order of magnitude ahead of anatomy (a tenth, smallest l)",
           at_l(0, "anatomy", 0.1), ("20", "l")),
    _claim("20d", "§6.3, Fig. 20", "For large l, hilbert is still an order of magnitude ahead of mondrian (a tenth)",
           at_l(-1, WIDEST, 0.1), ("20", "l")),
    _claim("20e", "§6.3, Fig. 20", "and hardly worse than anatomy (at most 1.5 times)",
           at_l(-1, "anatomy", 1.5), ("20", "l")),
    _claim("20f", "§6.3, Fig. 20", "hilbert and idistance answer better than mondrian at every level of the lattice",
           below(("20", "level"), CURVES, [WIDEST]), ("20", "level")),
    _claim("20g", "§6.3, Fig. 20", "and better than anatomy at low levels",
           by_level("anatomy", top=False, bound=1), ("20", "level")),
    _claim("20h", "§6.3, Fig. 20", "At high levels anatomy answers as well (curves at most 1.5 times as far off)",
           by_level("anatomy", top=True, bound=1.5), ("20", "level")),
    _claim("20i", "§6.3, Fig. 20", "Divergence rises with the dimensions up to four, then falls", rises_then_falls,
           ("20", "d")),
    _claim("20j", "§6.3, Fig. 20", "hilbert and idistance stay ahead of mondrian and anatomy for all dimensions",
           below(("20", "d"), CURVES, [WIDEST, "anatomy"]), ("20", "d")),
    _claim("20k", "§6.3, Fig. 20", "anatomy does not depend on the dimensions (factor of 1.5 at most)",
           steady(("20", "d"), ["anatomy"], 1.5), ("20", "d")),
    _claim("20l", "§6.3, Fig. 20", "All answer better the more records there are",
           falls(("20", "rows"), (*DIVERSE, "anatomy")), ("20", "rows")),
    _claim("20m", "ours", "cluster answers better than hilbert at every l",
           below(("20", "l"), ["cluster"], ["hilbert"]), ("20", "l")),
)  # fmt: skip


def _both(one: Finding, other: Finding) -> Finding:
    """Two findings as one."""
    held = None if None in (one.holds, other.holds) else bool(one.holds and other.holds)
    return Finding(f"{one.measured}; {other.measured}", held)


def explained(by: Mapping[str, str]) -> tuple[Claim, ...]:
    """The claims with what was found about those that do not hold, for one of the tables that they are measured on."""
    return tuple(replace(claim, reason=by.get(claim.id)) for claim in _CLAIMED)


CLAIMS = explained(MADE_UP)
SURVEYED = tuple(claim for claim in explained(SURVEY) if claim.figures[0] != "12")
"""What is asked of a real census; Fig. 12 is about Adult."""

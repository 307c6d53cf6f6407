"""What section 6 of the paper claims about curves, what was measured, and whether it holds.

Ghinita, Karras, Kalnis, Mamoulis, *Fast Data Anonymization with Low Information Loss*, VLDB 2007. Each claim is in our
words; where the paper gives no bound, ours stands in the claim. The bounds were set before any of the paper's methods
had been run. Loss is compared with the paper's Mondrian (:mod:`experiments.widest`); what rothko's own has stands
beside it. Curves are rothko's; what they come to by the paper's mapping (``reading: paper``) stands beside, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from experiments.claims import Claim
from experiments.curve_measures import (
    CURVES,
    FAST,
    Measure,
    Place,
    at_l,
    at_most,
    below,
    both,
    by_level,
    elsewhere,
    falls,
    falls_off,
    grows_linearly,
    lead_grows,
    mostly_ahead,
    near_zero,
    rises_then_falls,
    sizes_say_little,
    small_classes,
    small_l,
    steady,
    wavers,
    within,
)
from experiments.curve_reasons import MADE_UP, SURVEY
from experiments.widest import WIDEST


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

ON_DISK = "[engines](engines.md#along-a-curve-under-a-limit) has what both read and write of tables that are larger"

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
           lambda figures: both(below(_loss("13"), ["hilbert"], ["hilbert-fast"])(figures),
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
    _claim("14g", "§6.1, Fig. 13", "idistance-fast is much faster than topdown (ten times)",
           below(_time("14"), ["idistance-fast"], ["topdown"], 0.1), _time("14")),
    _claim("15a", "§6.1, Fig. 15", "With one quasi-identifier hilbert and idistance lose nearly nothing (below 0.01)",
           near_zero, _loss("15")),
    _claim("15b", "§6.1, Fig. 15", "hilbert's lead over mondrian grows with the dimensions, as a factor (rank "
           "correlation above 0.5)", lead_grows(WIDEST, "Mondrian"), _loss("15")),
    _claim("15c", "§6.1, Fig. 15", "Time depends only slightly on the dimensions (at most by a factor of two)",
           steady(_time("15"), (*TIMED_DIVERSE, *FAST), 2), _time("15")),
    _claim("15d", "§6.1, Fig. 15", "hilbert's lead over topdown grows with the dimensions, too (the same bound)",
           lead_grows("topdown", "TopDown"), _loss("15")),
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
    _claim("16g", "§6.4", "hilbert is as fast as its competitors (at most 1.5 times as long as mondrian, whose time "
           "alone is known)", at_most(_time("16"), ["hilbert"], ["mondrian"], 1.5), _time("16")),
    _claim("17a", "§6.2, Fig. 17", "l-diversity: hilbert and idistance lose less the more records there are",
           falls(_loss("17"), CURVES), _loss("17")),
    _claim("17b", "§6.2, Fig. 17", "hilbert takes about as long as mondrian (at most twice) for every size",
           at_most(_time("17"), ["hilbert"], ["mondrian"], 2), _time("17")),
    _claim("17c", "§6.2, Fig. 17", "hilbert is far ahead of mondrian in loss (at most half) for every size",
           at_most(_loss("17"), ["hilbert"], [WIDEST], 0.5), _loss("17")),
    _claim("17d", "§6.2", "Mondrian's loss does not always rise with l, or does not always fall with the records",
           wavers, _loss("16"), ("17",)),
    _claim("17e", "§6.2", "Of a table larger than memory Mondrian reads far more, since it scans it at each cut",
           elsewhere(f"all tables are in memory here; {ON_DISK}"), _loss("17")),
    _claim("17f", "§6.2, §6.4", "Curves need one scan of sorted records there, and constant memory",
           elsewhere(f"all tables are in memory here; {ON_DISK}"), _loss("17")),
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
    _claim("20n", "§6.4", "hilbert answers better than anatomy in most cases (more than half of those of Fig. 20)",
           mostly_ahead, ("20", "l")),
    _claim("20o", "§6.3, Fig. 20", "For large l, idistance is an order of magnitude ahead of mondrian, too (a tenth)",
           at_l(-1, WIDEST, 0.1, "idistance"), ("20", "l")),
    _claim("20p", "§6.3, Fig. 20", "and hardly worse than anatomy (at most 1.5 times)",
           at_l(-1, "anatomy", 1.5, "idistance"), ("20", "l")),
)  # fmt: skip


def explained(by: Mapping[str, str]) -> tuple[Claim, ...]:
    """The claims with what was found about those that do not hold, for one of the tables that they are measured on."""
    return tuple(replace(claim, reason=by.get(claim.id)) for claim in _CLAIMED)


CLAIMS = explained(MADE_UP)
SURVEYED = tuple(claim for claim in explained(SURVEY) if claim.figures[0] != "12")
"""What is asked of a real census; Fig. 12 is about Adult."""

"""What the papers on Top-Down Refinement claim, what was measured, and whether it holds.

B. C. M. Fung, K. Wang, P. S. Yu, Anonymizing Classification Data for Privacy Preservation, TKDE 19(5), 2007: their
summary and section 3.3, in our words. Bounds that they do not give are ours.
"""

from __future__ import annotations

from experiments.baselines import METRICS
from experiments.claims import Claim
from experiments.findings import Figures, Finding
from experiments.protocol import ORIGINAL, TDS, one_sided
from experiments.refine import BY_GAIN, MASKED
from experiments.refine_baselines import GENETIC

CLOSE = 0.03
"""How much accuracy may be lost where k is at most 100."""
COMPARABLE = 0.01
"""How much less accurate it may be than the genetic algorithm."""
FASTER = 10
"""How many times as fast it must be."""


def _mean(scores: list[float]) -> float:
    return sum(scores) / len(scores)


def _course(series: dict[str, list[float]]) -> str:
    return ", ".join(f"{100 * _mean(scores):.1f}" for scores in series.values())


def close_to_the_original(figures: Figures) -> Finding:
    told, holds = [], True
    for model in ("tree", "bayes"):
        by_method = figures["1"][model]
        whole = _mean(by_method[ORIGINAL]["1"])
        told.append(f"{model} {100 * whole:.1f} on the original, {_course(by_method[TDS])}")
        holds = holds and all(whole - _mean(s) <= CLOSE for k, s in by_method[TDS].items() if int(k) <= 100)
    ks = ", ".join(figures["1"]["tree"][TDS])
    return Finding(f"% at k = {ks}: {'; '.join(told)}", holds)


def above_the_most_masked(figures: Figures) -> Finding:
    tree = figures["1"]["tree"]
    tests = {k: one_sided(scores, tree[MASKED]["1"]) for k, scores in tree[TDS].items()}
    clear = [k for k, (_, p) in tests.items() if p < 0.05]
    gains = [difference for difference, _ in tests.values()]
    return Finding(
        f"tree: better with p < .05 at {len(clear)} of {len(tests)} k, by {100 * min(gains):+.1f} to "
        f"{100 * max(gains):+.1f} points",
        len(clear) == len(tests),
    )


def score_against_gain(figures: Figures) -> Finding:
    tree = figures["1"]["tree"]
    tests = {k: one_sided(scores, tree[BY_GAIN][k]) for k, scores in tree[TDS].items()}
    higher = [k for k, (difference, _) in tests.items() if difference > 0]
    told = ", ".join(f"{100 * difference:+.1f}" for difference, _ in tests.values())
    return Finding(
        f"points of Score above InfoGain at k = {', '.join(tests)}: {told}; higher at {len(higher)} of {len(tests)}",
        len(higher) > len(tests) / 2,
    )


def linear_in_records(figures: Figures) -> Finding:
    told, holds = [], True
    for name, series in figures["2"].items():
        if name == "mondrian":
            continue
        sizes = sorted(map(int, series))
        for few in sizes:
            if str(4 * few) in series:
                ratio = series[str(4 * few)] / series[str(few)]
                told.append(f"{name}, {few:,} to {4 * few:,}: {ratio:.2f} times")
                holds = holds and ratio <= 4.5
    most = str(max(map(int, figures["2"]["refine"])))
    beside = figures["2"]["refine"][most] / figures["2"]["mondrian"][most]
    return Finding(f"{'; '.join(told)}; {beside:.1f} times Median Mondrian's time at {int(most):,}", holds)


def few_seconds_for_more_sets(figures: Figures) -> Finding:
    series = figures["3"]["refine"]
    counts = list(series)
    ratio = series[counts[-1]] / series[counts[0]]
    told = ", ".join(f"{seconds:.2f}" for seconds in series.values())
    return Finding(
        f"seconds for {', '.join(counts)} sets: {told}; {ratio:.1f} times", ratio <= int(counts[-1]) / int(counts[0])
    )


def as_accurate_and_faster(figures: Figures) -> Finding:
    found = figures["4"]
    tree, seconds = found["accuracy"]["tree"], found["seconds"]
    behind = {k: _mean(tree[GENETIC][k]) - _mean(scores) for k, scores in tree[TDS].items()}
    times = [_mean(seconds[GENETIC][k]) / _mean(one) for k, one in seconds[TDS].items()]
    return Finding(
        f"tree, % at k = {', '.join(behind)}: TDR {_course(tree[TDS])}; genetic {_course(tree[GENETIC])}, which takes "
        f"{min(times):.0f} to {max(times):.0f} times as long",
        max(behind.values()) <= COMPARABLE and min(times) >= FASTER,
    )


def above_the_optimum(figures: Figures) -> Finding:
    tree = figures["4"]["accuracy"]["tree"]
    told, holds = [f"TDR {_course(tree[TDS])}"], True
    for metric in METRICS:
        higher = [k for k, scores in tree[TDS].items() if _mean(scores) > _mean(tree[metric][k])]
        told.append(f"optimal by {metric} {_course(tree[metric])} (TDR higher at {len(higher)} of {len(tree[TDS])})")
        holds = holds and len(higher) > len(tree[TDS]) / 2
    return Finding(f"tree, % at k = {', '.join(tree[TDS])}: {'; '.join(told)}", holds)


def spent_on_two_alike(_: Figures) -> str:
    return (
        "it fails at k = 2, 5 and 10, where less is refined than at k = 25. On all of Adult the sequence at k = 10 is "
        "marital status and relationship, down to their leaves, and nothing else: the two say nearly the same, "
        "refining one after the other is still valid, and leaves a group so small that no third column can be refined. "
        "At k = 25 that is not valid any more, and education, capital gain and hours are refined instead. All twelve "
        "quasi-identifiers are one set here; the greedy choice does not look ahead."
    )


def out_of_the_cache(_: Figures) -> str:
    return (
        "profiled on a table like this one, with 250,000 and with a million records, the compiled loop takes 5.0 "
        "times as long for 4 times the records (26 and 129 ms), with nearly as many steps, and so do plain passes "
        "over columns (gathering codes: 6 and 36 ms). The smaller table fits in the processor's cache, the larger "
        "does not; from 125,000 to 500,000 it is linear."
    )


def greedy_beside_bred(_: Figures) -> str:
    return (
        "it is as accurate at k = 10 and 25, and two to three points behind from k = 50 on: what it refines first, it "
        "cannot take back. At k = 100, in three of the folds, it tells 8 to 10 ranges of age, 3 groups of occupations "
        "and 2 of marital status apart; the genetic algorithm leaves age nearly or wholly alone and tells 8 or 9 kinds "
        "of education or of occupations apart. That it may suppress records is not the reason: it suppresses none "
        "there, and at k = 50, without those 30 that it does, TDR makes the same refinements as with them"
    )


def optimum_for_the_label(_: Figures) -> str:
    return (
        "it holds against the optimum by discernibility, which knows no label, at every k, by 2 to 7 points; not "
        "against that by the classification metric, which is made for it. As in 2b, greedy refinements are two to "
        "three points behind from k = 50 on. The search here is over full-domain recodings; that of Bayardo and "
        "Agrawal has more to choose from"
    )


CLAIMS = (
    Claim("1a", "§5, summary", "Usefulness for classification is not sacrificed significantly over a broad range of "
          "requirements (at most 3 points lost up to k = 100)", ("1",), close_to_the_original,
          reason=spent_on_two_alike),
    Claim("1b", "§5", "A classifier learns more from the refined table than from the most masked one, at every k "
          "(p < .05)", ("1",), above_the_most_masked),
    Claim("1c", "§3.3", "Score makes a more desirable sequence of refinements than InfoGain alone (tree, at most k)",
          ("1",), score_against_gain),
    Claim("2a", "§5, summary", "It scales well with large data sets (4 times the records, at most 4.5 times the time)",
          ("2",), linear_in_records, reason=out_of_the_cache),
    Claim("2b", "§5, summary", "It is much more efficient than the genetic algorithm of Iyengar (at least ten times as "
          "fast), and as accurate (tree, at most one point less at every k)", ("4",), as_accurate_and_faster,
          reason=greedy_beside_bred),
    Claim("2c", "§5, summary", "It is better for classification than an optimal k-anonymization (tree, at most k, "
          "against the optimum by each cost)", ("4",), above_the_optimum, reason=optimum_for_the_label),
    Claim("3a", "§5, summary", "and with complex anonymity requirements (time grows at most as the number of sets)",
          ("3",), few_seconds_for_more_sets),
)  # fmt: skip

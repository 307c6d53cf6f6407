"""What the results say about a claim: one function for each kind of claim.

p is one-sided, of a paired t-test over trials or folds, as in the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from experiments.protocol import GUIDED, MEDIAN, ORIGINAL, one_sided
from experiments.synthetic import SELECTION

Figures = Mapping[str, Any]
"""Number of a figure → its results."""
Series = Mapping[str, Sequence[float]]
"""A parameter, such as k → what the trials found."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was measured for a claim."""

    measured: str
    holds: bool | None = None
    """None where it could not be measured."""


# ── how numbers are written


def mean(scores: Sequence[float]) -> float:
    """Of the trials or folds."""
    return float(np.mean(scores))


def chance(p: float) -> str:
    """How likely a difference is by chance."""
    return "p < 1e-6" if p < 1e-6 else f"p = {p:.1g}"


def points(low: float, high: float | None = None) -> str:
    """A difference of accuracies, or the range of some, in points of a hundred."""
    if high is None:
        return f"{100 * low:+.1f} points"
    return f"{100 * low:+.1f} to {100 * high:+.1f} points"


def _course(series: Series, scale: float = 100, digits: int = 1) -> str:
    return ", ".join(f"{scale * mean(scores):.{digits}f}" for scores in series.values())


# ── Fig. 6


def better_everywhere(figures: Figures) -> Finding:
    found = figures["6"]["accuracy"]
    tests = [
        one_sided(by_method[GUIDED][function], by_method[MEDIAN][function])
        for by_method in found.values()
        for function in by_method[GUIDED]
    ]
    better = sum(p < 0.001 for _, p in tests)
    differences = [difference for difference, _ in tests]
    return Finding(
        f"better with p < .001 in {better} of {len(tests)} cases, by {points(min(differences), max(differences))}; "
        f"largest {chance(max(p for _, p in tests))}",
        better == len(tests),
    )


def boxes_teach_as_much(model: str, bound: float) -> Callable[[Figures], Finding]:
    """A model by the corners of the smallest boxes beside those of regions; others are told."""

    def measure(figures: Figures) -> Finding:
        boxes, regions = figures["6"]["accuracy"], figures["edges"]["accuracy"]
        told, held = [], True
        for name, by_method in regions.items():
            gaps = {f: mean(boxes[name][GUIDED][f]) - mean(scores) for f, scores in by_method[GUIDED].items()}
            told.append(f"{name} {', '.join(f'C{f} {100 * gap:+.1f}' for f, gap in gaps.items())}")
            held = held and (name != model or min(gaps.values()) >= -bound)
        return Finding(f"points of boxes above regions: {'; '.join(told)}", held)

    return measure


def ends_alike(model: str, bound: float) -> Callable[[Figures], Finding]:
    """A model of InfoGain to the end beside one with the switch to the median; others are told."""

    def measure(figures: Figures) -> Finding:
        switched, found = figures["6"]["accuracy"], figures["letter"]
        told, held = [], True
        for name, by_method in found["accuracy"].items():
            gaps = {f: mean(scores) - mean(switched[name][GUIDED][f]) for f, scores in by_method[GUIDED].items()}
            told.append(f"{name} {', '.join(f'C{f} {100 * gap:+.1f}' for f, gap in gaps.items())}")
            held = held and (name != model or all(abs(gap) <= bound for gap in gaps.values()))
        sizes = {name: mean([one for some in by_f.values() for one in some]) for name, by_f in found["classes"].items()}
        classes = f"classes: {sizes['to the end']:.1f} to the end, {sizes['switch']:.1f} with the switch"
        return Finding(f"points to the end above the switch: {'; '.join(told)}; {classes}", held)

    return measure


def svm_gains(figures: Figures) -> Finding:
    svm = figures["6"]["accuracy"]["svm"]
    tests = {f: one_sided(svm[GUIDED][f], svm[ORIGINAL][f]) for f in ("2", "4", "5", "6")}
    gains = ", ".join(f"C{f} {100 * difference:+.1f}" for f, (difference, _) in tests.items())
    return Finding(f"points: {gains}; largest {chance(max(p for _, p in tests.values()))}", _all_below(tests, 0.001))


def _all_below(tests: Mapping[str, tuple[float, float]], bound: float) -> bool:
    return all(p < bound for _, p in tests.values())


# ── Figs. 7 and 8


def better_at(model: str, k: str, bound: float, table: str = "income") -> Callable[[Figures], Finding]:
    def measure(figures: Figures) -> Finding:
        by_method = figures["7"][table]["accuracy"][model]
        if k not in by_method[GUIDED]:
            return Finding(f"not run: k = {k}")
        difference, p = one_sided(by_method[GUIDED][k], by_method[MEDIAN][k])
        means = f"{100 * mean(by_method[GUIDED][k]):.1f} % against {100 * mean(by_method[MEDIAN][k]):.1f} %"
        return Finding(f"{means}: {points(difference)}, {chance(p)}", p < bound)

    return measure


def better_for(models: Sequence[str], k: str, bound: float, table: str) -> Callable[[Figures], Finding]:
    """InfoGain above Median for some models."""

    def measure(figures: Figures) -> Finding:
        found = [better_at(model, k, bound, table)(figures) for model in models]
        told = "; ".join(f"{model} {one.measured}" for model, one in zip(models, found, strict=True))
        return Finding(told, None if any(one.holds is None for one in found) else all(one.holds for one in found))

    return measure


def higher_at_every_k(table: str) -> Callable[[Figures], Finding]:
    """InfoGain above Median on average over the folds."""

    def measure(figures: Figures) -> Finding:
        told, holds = [], True
        for model, by_method in figures["7"][table]["accuracy"].items():
            gaps = {k: mean(scores) - mean(by_method[MEDIAN][k]) for k, scores in by_method[GUIDED].items()}
            lower = [k for k, gap in gaps.items() if gap <= 0]
            where = f" (not at k = {', '.join(lower)})" if lower else ""
            told.append(f"{model} at {len(gaps) - len(lower)} of {len(gaps)} k{where}, {points(*_span(gaps))}")
            holds = holds and not lower
        return Finding("; ".join(told), holds)

    return measure


def _span(gaps: Mapping[str, float]) -> tuple[float, float]:
    return min(gaps.values()), max(gaps.values())


def better_at_every_k(figures: Figures) -> Finding:
    found = figures["7"]["income"]["accuracy"]
    told = []
    holds = True
    for model, by_method in found.items():
        tests = {k: one_sided(scores, by_method[MEDIAN][k]) for k, scores in by_method[GUIDED].items()}
        clear = [k for k, (_, p) in tests.items() if p < 0.02]
        differences = [difference for difference, _ in tests.values()]
        told.append(f"{model} at {len(clear)} of {len(tests)} k, {points(min(differences), max(differences))}")
        holds = holds and len(clear) == len(tests)
    return Finding("with p < .02: " + "; ".join(told), holds)


def folds_alike(figures: Figures) -> Finding:
    spreads = [
        float(np.std(scores, ddof=1))
        for by_method in figures["7"]["income"]["accuracy"].values()
        for by_k in by_method.values()
        for scores in by_k.values()
    ]
    return Finding(
        f"standard deviations of {100 * min(spreads):.1f} to {100 * max(spreads):.1f} points, "
        f"median {100 * float(np.median(spreads)):.1f}",
        float(np.median(spreads)) < 0.01,
    )


def forest_overfits(figures: Figures) -> Finding:
    found = figures["7"]["income"]
    train, test = mean(found["training"]["forest"]), mean(found["accuracy"]["forest"][ORIGINAL]["1"])
    return Finding(f"{100 * train:.1f} % on training records, {100 * test:.1f} % on test records", train > test + 0.1)


def forest_gains(figures: Figures) -> Finding:
    forest = figures["7"]["income"]["accuracy"]["forest"]
    tests = {k: one_sided(scores, forest[ORIGINAL]["1"]) for k, scores in forest[GUIDED].items()}
    better = [k for k, (_, p) in tests.items() if p < 0.05]
    best = max(tests, key=lambda k: tests[k][0])
    told = f"best at k = {best}: {points(tests[best][0])}, {chance(tests[best][1])}"
    return Finding(f"{told}; better with p < .05 at k = {', '.join(better) or 'none'}", bool(better))


def selected_features(figures: Figures) -> Finding:
    found = figures["7"]["feature selection"]
    every = str(len(found))
    tests = {count: one_sided(scores, found[every]) for count, scores in found.items() if count != every}
    best = max(tests, key=lambda count: tests[count][0])
    told = f"best with {best} of {every} attributes: {points(tests[best][0])}, {chance(tests[best][1])}"
    return Finding(told, all(p >= 0.05 for _, p in tests.values()))


def sizes_comparable(figures: Figures) -> Finding:
    sizes = figures["8"]["class size"]
    ratios = [mean(sizes[GUIDED][k]) / mean(sizes[MEDIAN][k]) for k in sizes[GUIDED]]
    return Finding(
        f"InfoGain's are {min(ratios):.2f} to {max(ratios):.2f} times as large as Median's",
        all(0.5 <= ratio <= 2 for ratio in ratios),
    )


def entropy_tells(figures: Figures) -> Finding:
    ks = [k for k in figures["8"]["entropy"][GUIDED] if k in figures["7"]["income"]["accuracy"]["tree"][GUIDED]]
    tree = figures["7"]["income"]["accuracy"]["tree"]

    def right(measure: str) -> int:
        """At how many k the method with the lower measure has the more accurate tree."""
        by = figures["8"][measure]
        return sum(
            (mean(by[GUIDED][k]) < mean(by[MEDIAN][k])) == (mean(tree[GUIDED][k]) > mean(tree[MEDIAN][k])) for k in ks
        )

    entropy, size = right("entropy"), right("class size")
    return Finding(
        f"the lower one has the more accurate tree at {entropy} of {len(ks)} k by entropy, at {size} by size",
        entropy > size and entropy == len(ks),
    )


def entropy_orders(figures: Figures) -> Finding:
    """Over methods and k together."""
    tree = figures["7"]["income"]["accuracy"]["tree"]
    pairs = [(method, k) for method in (GUIDED, MEDIAN) for k in figures["8"]["entropy"][method] if k in tree[method]]
    accuracy = [mean(tree[method][k]) for method, k in pairs]

    def correlation(measure: str) -> float:
        by = figures["8"][measure]
        return float(spearmanr([mean(by[method][k]) for method, k in pairs], accuracy).statistic)

    entropy, size = correlation("entropy"), correlation("class size")
    return Finding(
        f"rank correlation with the accuracy of the tree: {entropy:.2f} for entropy, {size:.2f} for size",
        entropy < -0.5 and entropy < size,
    )


# ── Fig. 9


def error_falls(table: str, model: str) -> Callable[[Figures], Finding]:
    def measure(figures: Figures) -> Finding:
        if table not in figures["9"]:
            return Finding("not run: needs --data")
        by_method = figures["9"][table][model]
        tests = {k: one_sided(by_method[MEDIAN][k], scores) for k, scores in by_method[GUIDED].items()}
        shares = [difference / mean(by_method[MEDIAN][k]) for k, (difference, _) in tests.items()]
        clear = [k for k, (_, p) in tests.items() if p < 0.05]
        worse = [k for k, (difference, _) in tests.items() if difference <= 0]
        told = f"lower with p < .05 at {len(clear)} of {len(tests)} k"
        told += f", by {100 * min(shares):.1f} to {100 * max(shares):.1f} %"
        told += f"; not lower at k = {', '.join(worse)}" if worse else ""
        return Finding(told, len(clear) > len(tests) / 2)

    return measure


def linear_errs_more(figures: Figures) -> Finding:
    if "survey" not in figures["9"]:
        return Finding("not run: needs --data")
    found = figures["9"]["survey"]
    tests = {k: one_sided(found["linear"][GUIDED][k], scores) for k, scores in found["tree"][GUIDED].items()}
    more = [k for k, (difference, _) in tests.items() if difference > 0]
    told = f"survey, Regression Mondrian: linear errs more than the tree at k = {', '.join(more) or 'none'}"
    return Finding(f"{told} (of {len(tests)})", len(more) > len(tests) / 2)


# ── Fig. 10


def included_better(model: str) -> Callable[[Figures], Finding]:
    def measure(figures: Figures) -> Finding:
        rows = figures["10"]["accuracy"][model]
        tests = {}
        for place in range(2, len(rows) + 1):
            inside = np.mean([rows[n][str(place)] for n in rows if int(n) >= place], axis=0)
            outside = np.mean([rows[n][str(place)] for n in rows if int(n) < place], axis=0)
            tests["ABCDEFG"[place - 1]] = one_sided(inside, outside)
        lowest = min(difference for difference, _ in tests.values())
        highest = max(difference for difference, _ in tests.values())
        return Finding(
            f"columns B to G: {points(lowest, highest)}; largest {chance(max(p for _, p in tests.values()))}",
            _all_below(tests, 0.05),
        )

    return measure


def diluted(model: str) -> Callable[[Figures], Finding]:
    def measure(figures: Figures) -> Finding:
        rows = figures["10"]["accuracy"][model]
        last = str(len(rows))
        tests = {n: one_sided(rows[n][n], rows[last][n]) for n in rows if n != last}
        steps = [
            mean(rows[str(n)][place]) - mean(rows[str(n + 1)][place])
            for place in rows
            for n in range(int(place), len(rows))
        ]
        falls = sum(step > 0 for step in steps)
        told = ", ".join(f"{'ABCDEFG'[int(n) - 1]} {-100 * difference:+.1f}" for n, (difference, _) in tests.items())
        return Finding(
            f"from the first release that includes it to that for all, points: {told}; "
            f"{falls} of {len(steps)} steps go down",
            sum(difference > 0 for difference, _ in tests.values()) > len(tests) / 2 and falls > len(steps) / 2,
        )

    return measure


# ── Fig. 11


def entropy_rises(figures: Figures) -> Finding:
    series = figures["11"]["entropy"]
    means = [mean(scores) for scores in series.values()]
    return Finding(f"bits at l = {', '.join(series)}: {_course(series, 1, 2)}", all(a < b for a, b in pairwise(means)))


def accuracy_falls(figures: Figures) -> Finding:
    series = figures["11"]["accuracy"]["tree"]
    first, last = next(iter(series)), list(series)[-1]
    difference, p = one_sided(series[first], series[last])
    order = float(spearmanr(range(len(series)), [mean(scores) for scores in series.values()]).statistic)
    return Finding(
        f"tree, % at the same l: {_course(series)}; in all {points(-difference)}, {chance(p)}; "
        f"rank correlation {order:.2f}",
        p < 0.05 and order < -0.5,
    )


def alike_but_labels(figures: Figures) -> Finding:
    return Finding(
        f"{mean(figures['11']['entropy']['1']):.3f} bits among records that are alike",
        mean(figures["11"]["entropy"]["1"]) > 0,
    )


# ── Fig. 12


def grows_with_k(figures: Figures) -> Finding:
    found = figures["12"]["boxes"]
    told = "; ".join(f"{name}: {_course(series, 1, 0)}" for name, series in found.items())
    rising = {name: all(a <= b for a, b in pairwise(map(mean, series.values()))) for name, series in found.items()}
    return Finding(f"records at k = {', '.join(next(iter(found.values())))}. {told}", all(rising.values()))


def selection_helps(shown: str) -> Callable[[Figures], Finding]:
    def measure(figures: Figures) -> Finding:
        found = figures["12"][shown]
        tests = {
            f"{name}, k = {k}": one_sided(scores, found[SELECTION][k])
            for name, series in found.items()
            if name != SELECTION
            for k, scores in series.items()
        }
        unclear = [case for case, (_, p) in tests.items() if p >= 0.001]
        differences = [difference for difference, _ in tests.values()]
        told = f"lower with p < .001 in {len(tests) - len(unclear)} of {len(tests)} cases, "
        told += f"by {min(differences):.0f} to {max(differences):.0f} records"
        return Finding(told + (f"; not against {'; '.join(unclear)}" if unclear else ""), not unclear)

    return measure


# ── Fig. 13


def groups_cost(model: str) -> Callable[[Figures], Finding]:
    def measure(figures: Figures) -> Finding:
        found = figures["13"]["selection"].get(model)
        if found is None:
            return Finding(f"not run: {model}")
        told, holds = [], True
        for method, name in ((GUIDED, "InfoGain"), (MEDIAN, "Median")):
            series = found[method]
            _, p = one_sided(series["1"], list(series.values())[-1])
            told.append(f"{name} {_course(series)} ({chance(p)})")
            holds = holds and p < 0.05
        return Finding(f"% for n = {', '.join(found[GUIDED])}: {'; '.join(told)}", holds)

    return measure


def groups_cost_little(figures: Figures) -> Finding:
    found = figures["13"]["selection"]["tree"]
    several = next((n for n in ("5", "10") if n in found[GUIDED]), None)
    if several is None:
        return Finding("not run: n = 5")
    losses = {
        name: mean(found[m]["1"]) - mean(found[m][several]) for m, name in ((GUIDED, "InfoGain"), (MEDIAN, "Median"))
    }
    told = ", ".join(f"{name} {points(-loss)}" for name, loss in losses.items())
    return Finding(f"n = {several} against n = 1: {told}", all(loss < 0.02 for loss in losses.values()))


def fewer_attributes(model: str) -> Callable[[Figures], Finding]:
    def measure(figures: Figures) -> Finding:
        found = figures["13"]["projection"][model]
        told, holds = [], True
        for method, name in ((ORIGINAL, "original"), (GUIDED, "InfoGain"), (MEDIAN, "Median")):
            means = [mean(scores) for scores in found[method].values()]
            order = float(spearmanr(range(len(means)), means).statistic)
            told.append(f"{name} {100 * means[0]:.1f} to {100 * means[-1]:.1f} % (rank correlation {order:.2f})")
            holds = holds and means[-1] < means[0] and order < -0.5
        return Finding("; ".join(told), holds)

    return measure

"""What the results say about InfoGain and Median beside Top-Down Specialization.

The column of Top-Down Specialization comes from :mod:`experiments.refine`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from experiments.findings import Figures, Finding, chance, mean, points
from experiments.protocol import GUIDED, MEDIAN, ORIGINAL, TDR, TDS, one_sided

NOT_RUN = Finding("not run: python -m experiments refine")


def _beside_refine(judge: Callable[[str], Finding]) -> Finding:
    """Judged by TDS to the letter of its paper; what refine comes to as it is is told beside."""
    found, beside = judge(TDS), judge(TDR)
    told = beside.holds is not None and found.holds is not None
    return Finding(f"{found.measured}. Beside refine as it is: {beside.measured}", found.holds) if told else found


def above_tds_everywhere_for(*models: str) -> Callable[[Figures], Finding]:
    """InfoGain above TDS for some models and every function."""

    def judge(figures: Figures, rival: str) -> Finding:
        found = figures["6"]["accuracy"]
        if any(rival not in found.get(model, {}) for model in models):
            return NOT_RUN
        told, every = [], []
        for model in models:
            tests = {f: one_sided(found[model][GUIDED][f], scores) for f, scores in found[model][rival].items()}
            gains = ", ".join(f"C{f} {100 * difference:+.1f}" for f, (difference, _) in tests.items())
            told.append(f"{model} {gains}")
            every += [p for _, p in tests.values()]
        better = sum(p < 0.001 for p in every)
        return Finding(
            f"points: {'; '.join(told)}; with p < .001 in {better} of {len(every)}; largest {chance(max(every))}",
            better == len(every),
        )

    return lambda figures: _beside_refine(partial(judge, figures))


def above_tds_at_every_k(figures: Figures) -> Finding:
    return _beside_refine(partial(_above_at_every_k, figures))


def _above_at_every_k(figures: Figures, rival: str) -> Finding:
    found = {m: by for m, by in figures["7"]["income"]["accuracy"].items() if GUIDED in by}
    if any(rival not in by_method for by_method in found.values()):
        return NOT_RUN
    told, holds = [], True
    for model, by_method in found.items():
        both = {k: scores for k, scores in by_method[rival].items() if k in by_method[GUIDED]}
        tests = {k: one_sided(by_method[GUIDED][k], scores) for k, scores in both.items()}
        unclear = [k for k, (_, p) in tests.items() if p >= 0.02]
        gains = [difference for difference, _ in tests.values()]
        where = f" (not at k = {', '.join(unclear)})" if unclear else ""
        span = points(min(gains), max(gains))
        told.append(f"{model} at {len(tests) - len(unclear)} of {len(tests)} k{where}, {span}")
        holds = holds and not unclear
    return Finding("with p < .02: " + "; ".join(told), holds)


def above_tds_at(table: str, wanted: Mapping[str, str], bound: float) -> Callable[[Figures], Finding]:
    """InfoGain above TDS for some models, each at its k."""

    def judge(figures: Figures, rival: str) -> Finding:
        found = figures["7"][table]["accuracy"]
        told, holds = [], True
        for model, k in wanted.items():
            by_k = found[model].get(rival, {})
            if k not in by_k or k not in found[model][GUIDED]:
                return NOT_RUN
            guided = found[model][GUIDED][k]
            difference, p = one_sided(guided, by_k[k])
            means = f"{100 * mean(guided):.1f} % against {100 * mean(by_k[k]):.1f} %"
            told.append(f"{model}, k = {k}: {means}, {points(difference)}, {chance(p)}")
            holds = holds and p < bound
        return Finding("; ".join(told), holds)

    return lambda figures: _beside_refine(partial(judge, figures))


def falls_fastest_for_tds(figures: Figures) -> Finding:
    """By how much accuracy is below that with all attributes, on average over all numbers of attributes left out."""
    return _beside_refine(partial(_falls_fastest, figures))


def _falls_fastest(figures: Figures, rival: str) -> Finding:
    found = figures["13"]["projection"]["tree"]
    if rival not in found:
        return NOT_RUN
    names = {ORIGINAL: "original", GUIDED: "InfoGain", MEDIAN: "Median", rival: "TDS" if rival == TDS else "refine"}
    falls = {}
    for method in names:
        means = [mean(scores) for scores in found[method].values()]
        falls[method] = means[0] - float(np.mean(means[1:]))
    told = "; ".join(f"{name} {100 * falls[method]:.1f}" for method, name in names.items())
    fastest = max(falls, key=falls.__getitem__)
    return Finding(f"tree, points below the accuracy with all attributes, on average: {told}", fastest == rival)


def exact_attributes(figures: Figures) -> Finding:
    found = figures["13"].get("exact", {})
    if TDS not in found:
        return NOT_RUN
    names = {GUIDED: "InfoGain", MEDIAN: "Median", TDS: "TDS"}
    told = ", ".join(f"{name} {mean(found[method]['100']):.1f}" for method, name in names.items())
    fewest = min(names, key=lambda method: mean(found[method]["100"]))
    return Finding(f"attributes of which a record shows the exact value, on average, k = 100: {told}", fewest == TDS)

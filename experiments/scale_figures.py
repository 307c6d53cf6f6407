"""Draw Figs. 17 to 24."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from experiments.figures import Ink, Panel, Results, mean, sharing, spelled, together
from experiments.scale_claims import PAPER, cells
from rothko.plots.model import Axis, Entries, Panels, Plot

INK = {"memory": Ink(6, 5), "rothko-t": Ink(1, 0), "rothko-s": Ink(4, 1)}
TIMES = {"user": "CPU, user", "system": "CPU, system", "wait": "waiting for the processor, or the disk"}
KS = (Ink(1, 0), Ink(4, 1), Ink(2, 3), Ink(3, 2))


def _millions(numbers: Any) -> list[float]:
    return [int(number) / 1e6 for number in numbers]


def _figure_17(found: Results) -> Panels:
    time = Panel("time, file to verified release", "records, millions", "seconds of the processor", zero=True)
    peak = Panel("peak of memory", "records, millions", "MB", zero=True)
    for engine, runs in found["runs"].items():
        time.line(engine, _millions(runs), [run["user"] + run["system"] for run in runs.values()], INK[engine])
        peak.line(engine, _millions(runs), [run["peak"] / 1e6 for run in runs.values()], INK[engine])
    peak.level("limit of engines on disk", found["limit"] / 1e6)
    return together([time, peak], 2)


def _io(title: str, label: str, names: list[str], runs: list[Mapping[str, Any]]) -> Panel:
    """Bytes read and written, beside those of the model."""
    panel = Panel(title, label, "MB", names, zero=True, width=340)
    for first, prefix, tones in ((0.1, "", (1, 4)), (0.52, "predicted_", (5, 7))):
        parts = {
            f"{kind}, {'model' if prefix else 'measured'}": [run["io"][prefix + kind] / 1e6 for run in runs]
            for kind in ("reads", "writes")
        }
        panel.pile(parts, tones, first=first, last=first + 0.38)
    return panel


def _figure_18(found: Results) -> Panels:
    above = [
        _io("Rothko-T by F_CACHE", "F_CACHE", list(found["cache"]), list(found["cache"].values())),
        _io(
            "Rothko-S by sample size", "records in the sample", list(spelled(found["sample"])),
            list(found["sample"].values()),
        ),
    ]  # fmt: skip
    below = [
        _io(f"Rothko-{name}", "records, millions", [f"{one:g}" for one in _millions(runs)], list(runs.values()))
        for name, runs in found["rows"].items()
    ]
    sharing(above)
    sharing(below)
    return together([*above, *below], 2)


def _times(found: Results, names: Callable[[str], str], label: str) -> Panels:
    """Time in its components, a panel for each engine."""
    panels = []
    for engine, runs in found.items():
        panel = Panel(f"Rothko-{engine}", label, "seconds", [names(one) for one in runs], zero=True, width=300)
        panel.pile({about: [run[kind] for run in runs.values()] for kind, about in TIMES.items()}, (1, 5, 4))
        panels.append(panel)
    sharing(panels)
    return together(panels, len(panels))


def _by_rows(found: Results) -> Panels:
    return _times(found, lambda rows: f"{int(rows) / 1e6:g}", "records, millions")


def _figure_20(found: Results) -> Panels:
    return _times(found, lambda k: f"{int(k):,}", "k")


def _quality(label: str, unit: float) -> Callable[[Results], Panels]:
    def draw(found: Results) -> Panels:
        panels = []
        for target, by_k in found["score"].items():
            panel = Panel(target, "records in the sample", label, zero=True, width=480, height=320)
            for (k, by_n), ink in zip(by_k.items(), KS, strict=False):
                panel.names = spelled(by_n)
                means = [mean(some) / unit for some in by_n.values()]
                panel.line(f"k = {int(k):,}", range(len(means)), means, ink)
                unsure = [i for i, n in enumerate(by_n) if max(found["nonminimal"][target][k][n])]
                if unsure:
                    panel.line("possibly not minimal", unsure, [means[i] for i in unsure], Ink(6, 5), joined=False)
            panels.append(panel)
        return together(panels, len(panels))

    return draw


TITLES = {
    "k": "k-anonymity: k",
    "l": "recursive (1, l)-diversity of zipcode: l",
    "uniform": "variance diversity, uniform salary: v",
    "normal": "variance diversity, normal salary: v",
}


def _figure_24(found: Results) -> Panels:
    """The table of the paper: nodes undone with the tests, and without in brackets; x where possibly not minimal."""
    held = {(part, bound, sample): by_test for part, bound, sample, by_test in cells(found)}
    plots = []
    for part, title in TITLES.items():
        bounds, samples = list(found["pruned"][part]), _samples(found, part)
        rows = []
        for sample in samples:
            printed = PAPER[part].get(int(sample), "").split(", ")
            row = []
            for place, bound in enumerate(bounds):
                of = {t: f"{n:,}" if sure else "x" for t, (n, sure) in held[part, bound, sample].items()}
                ours = " | ".join(of[test] for test in ("exact", "normal") if test in of)
                paper = printed[place] if len(printed) > place else "–"
                row.append(f"{ours} ({of['naive']})\n{paper}")
            rows.append(tuple(row))
        across = Axis(title, 0, len(bounds), "names", tuple(f"{float(b):g}" for b in bounds))
        up = Axis("", 0, len(samples), "names", tuple(f"n = {int(n):,}" for n in reversed(samples)))
        entries = Entries("", tuple(reversed(rows)))
        plots.append(Plot("panel", title, "", across, up, (entries,), width=560, height=90 + 40 * len(samples)))
    return Panels("figure", "", "", tuple(plots), 2)


def _samples(found: Results, part: str) -> list[str]:
    return list(next(iter(found["pruned"][part].values())))


DRAWN: dict[str, Callable[[Results], Panels]] = {
    "17": _figure_17,
    "18": _figure_18,
    "19": _by_rows,
    "20": _figure_20,
    "21": _by_rows,
    "22": _quality("conditional entropy, bits", 1),
    "23": _quality("weighted squared error, millions", 1e6),
    "22-census": _quality("conditional entropy, bits", 1),
    "23-census": _quality("weighted squared error, billions", 1e9),
    "24": _figure_24,
}

"""Methods along a curve, and clusters, against Median Mondrian, which partitions the same encoded census; their growth.

From codes to classes, with mapping and sorting.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import Case, report, side_by_side
from rothko.data.encode import Encoded, encode
from rothko.data.typed import typed
from rothko.generate.census import census, census_policy
from rothko.methods import Cluster, Hilbert, HilbertFast, IDistance, IDistanceFast, Mondrian
from rothko.methods.method import LocalMethod
from rothko.privacy import FrequencyLDiversity, KAnonymity, Requirement
from rothko.progress import count_threads

SENSITIVE = "occupation"


def run(folder: Path, *, quick: bool = False) -> list[Case]:
    few = 10 if quick else 1
    large, small, middle = (_encoded(n // few) for n in (400_000, 100_000, 200_000))
    k = [KAnonymity(k=50)]
    diverse = [FrequencyLDiversity(l=5, of=SENSITIVE)]
    return [
        _against_mondrian("hilbert-fast, k = 50", large, k, HilbertFast(), 1.5),
        _against_mondrian("hilbert, k = 50", large, k, Hilbert(), 2),
        _against_mondrian("hilbert, k = 1,000", large, [KAnonymity(k=1_000)], Hilbert(), 4),
        _against_mondrian("idistance-fast, k = 50", large, k, IDistanceFast(), 5),
        _against_mondrian("idistance, k = 50", large, k, IDistance(), 6),
        _against_mondrian("cluster, effort fast, k = 50", large, k, Cluster(effort="fast"), 15),
        _against_mondrian("the same in blocks of 1,000", large, k, Cluster(block=1_000, effort="fast"), 15),
        _against_mondrian("hilbert, l = 5", middle, diverse, Hilbert(), 3),
        _against_mondrian("idistance, l = 5", middle, diverse, IDistance(), 5),
        _growth("hilbert-fast", large, small, k, HilbertFast()),
        _growth("hilbert", large, small, k, Hilbert()),
        _growth("idistance", large, small, k, IDistance()),
        _growth("cluster", large, small, k, Cluster()),
        _growth("hilbert, l = 5", large, small, diverse, Hilbert()),
    ]


def _encoded(rows: int) -> Encoded:
    policy = census_policy()
    return encode(typed(census(rows), policy), policy, threads=count_threads(None))


def _against_mondrian(
    title: str, encoded: Encoded, privacy: Sequence[Requirement], method: LocalMethod, bound: float
) -> Case:
    threads = count_threads(None)
    lost: dict[str, float] = {}

    def work(method: LocalMethod | Mondrian) -> None:
        found = method.partition(encoded, privacy, threads=threads)
        lost[method.name] = found.gcp(encoded.lines)

    ours, theirs = side_by_side(lambda: work(method), lambda: work(Mondrian()))
    detail = f"{ours:.2f} s, {theirs:.2f} s; GCP {lost[method.name]:.3f}, {lost['mondrian']:.3f}"
    return report(f"{title}, to Median Mondrian", ours / theirs, bound, detail)


def _growth(title: str, large: Encoded, small: Encoded, privacy: Sequence[Requirement], method: LocalMethod) -> Case:
    threads = count_threads(None)
    much, little = side_by_side(
        lambda: method.partition(large, privacy, threads=threads),
        lambda: method.partition(small, privacy, threads=threads),
    )
    return report(f"{title}, 4 times the records", much / little, 4.6, f"{much:.2f} s, {little:.2f} s")

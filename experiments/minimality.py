"""The minimality attack, enumerated: R. C.-W. Wong, A. W.-C. Fu, K. Wang, J. Pei, VLDB 2007.

A method cuts wherever a requirement lets it, so that a class which was not cut tells that a cut was not allowed. Here
the attacker knows everything but the sensitive values: who is in the table, all quasi-identifiers, the policy and the
method. Every world, that is every way to give few people one of few values, is released by the real method; worlds that
give the same multiset of published rows cannot be told apart, and what they have in common is what the attacker knows:

    posterior of a value for a person  =  worlds of the release in which the person has it  ÷  worlds of the release

All worlds are as likely before. That is the same as all permutations of the released values being as likely: a release
shows its values, so that worlds with the same release are permutations of each other. Beside it stands what the release
says by itself to a reader who does not know how it was made: every way to give the published rows to people whose
quasi-identifiers they cover is as likely. Worlds that no release can be made of are left out, as nobody sees any.

The numbers are exact counts; there is no chance in them.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from experiments.runs import Keep, Results, Running, Show, keep_nothing, processes
from rothko.data.source.open import open_source
from rothko.errors import InfeasibleError
from rothko.in_memory import in_memory
from rothko.policy.policy import Policy

VALUES = ("a", "b", "c", "d")
"""What a person may have."""
CATEGORIES = {"a": "low", "b": "low", "c": "high", "d": "high"}
SENSITIVE = "disease"
LAYOUTS: dict[str, dict[str, list[int]]] = {
    "a line": {"age": [1, 2, 3, 4, 5, 6]},
    "a plane": {"age": [1, 2, 3, 4, 5, 6], "zip": [2, 5, 1, 6, 3, 4]},
    "pairs": {"age": [1, 1, 2, 2, 3, 3]},
}
"""Quasi-identifiers of six people. A local method parts those who are alike by chance, so that it has no pairs here."""
METHODS = ("mondrian", "hilbert", "topdown")

Box = tuple[int, ...]
"""What a row publishes: smallest and largest value of each quasi-identifier."""
Published = tuple[tuple[Box, str, int], ...]
"""A multiset of rows: box, sensitive value, how many of them."""
Beliefs = list[dict[str, Fraction]]
"""For each person, how likely each value is."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A requirement, and the largest share of a value in a class that it promises (None: it bounds no share)."""

    requirement: Mapping[str, Any]
    share: Fraction | None = None
    categories: Mapping[str, str] | None = None
    """What must not be learnt is the category of the value, where there are any."""


HALF = Fraction(1, 2)
REQUIREMENTS: dict[str, Asked] = {
    "distinct-l-diversity, l = 2": Asked({"distinct-l-diversity": {"l": 2}}),
    "entropy-l-diversity, l = 2": Asked({"entropy-l-diversity": {"l": 2}}),
    "recursive-l-diversity, c = 1, l = 2": Asked({"recursive-l-diversity": {"c": 1, "l": 2}}, HALF),
    "recursive-l-diversity, c = 2, l = 2": Asked({"recursive-l-diversity": {"c": 2, "l": 2}}, Fraction(2, 3)),
    "frequency-l-diversity, l = 2": Asked({"frequency-l-diversity": {"l": 2}}, HALF),
    "alpha-k, alpha = 0.5, k = 2": Asked({"alpha-k": {"alpha": 0.5, "k": 2}}, HALF),
    "p-sensitive, p = 2, k = 2": Asked({"p-sensitive": {"p": 2, "k": 2}}),
    "p-alpha, p = 2": Asked({"p-alpha": {"p": 2, "categories": CATEGORIES}}, categories=CATEGORIES),
    "t-closeness, t = 0.3": Asked({"t-closeness": {"t": 0.3}}),
}
"""How a row of the table is called → what is asked for, beside k-anonymity with k = 2."""


@dataclass(frozen=True, slots=True)
class Setup:
    """How much is enumerated."""

    values: tuple[str, ...] = VALUES
    layouts: tuple[str, ...] = tuple(LAYOUTS)
    methods: tuple[str, ...] = METHODS

    @classmethod
    def quick(cls) -> Setup:
        """Enough to see that everything runs."""
        return cls(values=VALUES[1:3], layouts=("a line",), methods=("mondrian",))


@dataclass(frozen=True, slots=True)
class Attacked:
    """What the attacker gains over all worlds of one policy."""

    worlds: int
    released: int
    """Worlds of which a release can be made; the shares are of these."""
    surer: float
    """Share of worlds in which somebody's value is more likely than the release says by itself."""
    broken: float | None
    """Share of worlds in which somebody's value is more likely than what is promised; None where nothing is."""
    certain: float
    """Share of worlds in which somebody's value is known, and the release by itself leaves it open."""
    largest: float
    """The largest posterior among those that are above what the release says by itself; 0 where none is."""
    said: float
    """What the release says by itself of that value of that person."""


def run(setup: Setup, layouts: Sequence[str] | None = None, *, workers: int = 0, keep: Keep = keep_nothing) -> Results:
    """Attack every requirement under every method; the figures are the layouts."""
    running = Running(setup, keep)
    with processes(workers) as pool:
        for layout in layouts or setup.layouts:
            running.figure(layout, f"Minimality, {layout}", partial(_all_attacks, layout, setup, pool))
    return running.results


def _all_attacks(layout: str, setup: Setup, pool: Executor | None, show: Show) -> Results:
    points = list(zip(*LAYOUTS[layout].values(), strict=True))
    methods = setup.methods if len(set(points)) == len(points) else ("mondrian",)
    asked = [(layout, name, method, setup.values) for method in methods for name in REQUIREMENTS]
    found: Results = {method: {} for method in methods}
    answers = (map if pool is None else pool.map)(_one_attack, *zip(*asked, strict=True))
    for done, ((_, name, method, _), gained) in enumerate(zip(asked, answers, strict=True)):
        found[method][name] = gained
        show(done + 1, len(asked))
    return found


def _one_attack(layout: str, name: str, method: str, values: Sequence[str]) -> Results:
    return asdict(attack(LAYOUTS[layout], REQUIREMENTS[name], method, values))


def attack(people: Mapping[str, list[int]], asked: Asked, method: Any, values: Sequence[str] = VALUES) -> Attacked:
    """Release every world, and compare what an attacker knows with what each release says."""
    by_release = worlds(people, asked, method, values)
    facts = asked.categories or {value: value for value in values}
    released = sum(map(len, by_release.values()))
    surer = broken = certain = 0
    best = (Fraction(0), Fraction(0))
    for published, possible in by_release.items():
        known = merged(posteriors(possible), facts)
        said = merged(by_itself(people, published), facts)
        gains = [
            (likely, said[person].get(fact, Fraction(0)))
            for person, belief in enumerate(known)
            for fact, likely in belief.items()
            if likely > said[person].get(fact, 0)
        ]
        surer += len(possible) * bool(gains)
        certain += len(possible) * any(likely == 1 for likely, _ in gains)
        if asked.share is not None:
            broken += len(possible) * any(likely > asked.share for belief in known for likely in belief.values())
        best = max([best, *gains], key=lambda gain: (gain[0], gain[0] - gain[1]))
    return Attacked(
        worlds=len(values) ** len(next(iter(people.values()))),
        released=released,
        surer=surer / max(released, 1),
        broken=None if asked.share is None else broken / max(released, 1),
        certain=certain / max(released, 1),
        largest=float(best[0]),
        said=float(best[1]),
    )


def worlds(
    people: Mapping[str, list[int]], asked: Asked, method: Any, values: Sequence[str] = VALUES
) -> dict[Published, list[tuple[str, ...]]]:
    """Release → the worlds that give it."""
    policy = policy_of(people, asked, method)
    found: dict[Published, list[tuple[str, ...]]] = defaultdict(list)
    for world in itertools.product(values, repeat=len(next(iter(people.values())))):
        table = pa.table({**people, SENSITIVE: pa.array(world)})
        try:
            rows = in_memory(open_source(table), policy).arrow.to_pylist()
        except InfeasibleError:
            continue
        shown = Counter((tuple(v for name, v in row.items() if name != SENSITIVE), row[SENSITIVE]) for row in rows)
        found[tuple(sorted((box, value, count) for (box, value), count in shown.items()))].append(world)
    return dict(found)


def policy_of(people: Mapping[str, list[int]], asked: Asked, method: Any) -> Policy:
    """What is asked for: bounds are published, which need no reading."""
    [(name, parameters)] = asked.requirement.items()
    return Policy(
        columns={**{name: {"role": "quasi-identifier"} for name in people}, SENSITIVE: {"role": "sensitive"}},
        privacy=[{"k-anonymity": {"k": 2}}, {name: {**parameters, "of": SENSITIVE}}],
        method=method,
        publish="bounds",
    )


def posteriors(possible: Sequence[tuple[str, ...]]) -> Beliefs:
    """How likely each value of each person is, where every world is as likely."""
    return [
        {value: Fraction(count, len(possible)) for value, count in Counter(person).items()}
        for person in zip(*possible, strict=True)
    ]


def by_itself(people: Mapping[str, list[int]], published: Published) -> Beliefs:
    """What a release says to a reader who knows the quasi-identifiers and not how it was made."""
    sizes: Counter[Box] = Counter()
    for box, _, count in published:
        sizes[box] += count
    points = list(zip(*people.values(), strict=True))
    placed = list(_placements(points, sizes))
    beliefs: Beliefs = []
    for person in range(len(points)):
        belief: dict[str, Fraction] = defaultdict(Fraction)
        for box, times in Counter(placement[person] for placement in placed).items():
            for other, value, count in published:
                if other == box:
                    belief[value] += Fraction(times, len(placed)) * Fraction(count, sizes[box])
        beliefs.append(dict(belief))
    return beliefs


def _placements(points: Sequence[tuple[int, ...]], left: Counter[Box]) -> Iterator[tuple[Box, ...]]:
    """Every way to give people to boxes that cover them, as many to each as it has rows."""
    if not points:
        yield ()
        return
    for box in [box for box, count in left.items() if count and _covers(box, points[0])]:
        for rest in _placements(points[1:], left - Counter([box])):
            yield (box, *rest)


def _covers(box: Box, point: tuple[int, ...]) -> bool:
    return all(low <= x <= high for low, x, high in zip(box[::2], point, box[1::2], strict=True))


def merged(beliefs: Beliefs, facts: Mapping[str, str]) -> Beliefs:
    """The same about facts that several values may share."""
    found: Beliefs = []
    for belief in beliefs:
        about: dict[str, Fraction] = defaultdict(Fraction)
        for value, likely in belief.items():
            about[facts[value]] += likely
        found.append(dict(about))
    return found


def table(results: Results) -> str:
    """The results as a Markdown table: for each requirement and method, the range over the layouts."""
    lines = [
        "| asked for, with k = 2 | method | surer | promised | broken | known | largest posterior |",
        "|---|---|---|---|---|---|---|",
    ]
    layouts = list(results["figures"].values())
    for name, method in itertools.product(REQUIREMENTS, results["settings"]["methods"]):
        found = [Attacked(**layout[method][name]) for layout in layouts if method in layout]
        share = REQUIREMENTS[name].share
        most = max(found, key=lambda one: (one.largest, one.largest - one.said))
        lines.append(
            f"| {name} | {method} | {shares([one.surer for one in found])} | "
            f"{'' if share is None else f'{float(share):.2f}'} | "
            f"{'' if share is None else shares([one.broken or 0.0 for one in found])} | "
            f"{shares([one.certain for one in found])} | "
            f"{f'{most.largest:.2f} for {most.said:.2f}' if most.largest else 'none'} |"
        )
    return "\n".join(lines)


def shares(found: Sequence[float]) -> str:
    """The range of some shares as it is written."""
    low, high = (f"{100 * share:.1f}" for share in (min(found), max(found)))
    return f"{low} %" if low == high else f"{low} to {high} %"

"""Methods for sets side by side on the same records: what each keeps at each k.

Each combination runs as a release does, up to its verification: what would be published is grouped and counted, or
looked for in the original records, as the method's requirement has it.

Methods that meet (k,1)-anonymity promise less than those that meet k-anonymity, so that the same k is not the same
privacy: no trial beats one of the other requirement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rothko.comparison.trials import Bench, Frontier, Trial, each_once
from rothko.errors import InputError, PolicyError
from rothko.policy.varied import By
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.privacy.k1anonymity import ADVERSARIES
from rothko.progress import Progress, count_threads, silent
from rothko.release.save import timed
from rothko.sets.files import Reading, Utility, read_records
from rothko.sets.methods import SetMethod, as_method
from rothko.sets.publish import SetMetrics, Shown, check_feasible, group
from rothko.sets.release import released

Asked = tuple[SetMethod, KAnonymity | K1Anonymity]
"""A method, and what it is to meet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetTrial(Trial):
    """One method for sets at one k."""

    requirement: str
    """What the method meets: k-anonymity or k1-anonymity."""
    metrics: SetMetrics | None = None
    """What would be published; None where nothing would."""
    achieved: int | None = None
    """The k that was found in it."""

    @property
    def lost(self) -> float | None:
        """The share of the utility that is lost."""
        return None if self.metrics is None else 1.0 - self.metrics.utility_kept

    @property
    def promise(self) -> str:
        """The requirement of its method."""
        return self.requirement

    def named(self, by: By) -> dict[str, Any]:
        """Which trial it is."""
        return {"method": self.method, "requirement": self.requirement, by: self.k}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no items, only numbers about them."""
        kept = dict.fromkeys(SetMetrics.__slots__) if self.metrics is None else self.metrics.to_dict()
        return {
            "method": self.method,
            "requirement": self.requirement,
            "k": self.k,
            "achieved": self.achieved,
            **{name: round(value, 6) if isinstance(value, float) else value for name, value in kept.items()},
            **self._times,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SetFrontier(Frontier[SetTrial]):
    """The trials of several methods on the same sets."""

    loss_name: ClassVar[str] = "utility lost"

    items: int
    """Different items of the original."""
    instances: int
    """Σ over records of their items."""
    utility: float
    """Σ over records of the utilities of their items."""
    notes: tuple[str, ...] = ()
    """What was assumed in reading the records."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """What the methods meet."""
        return tuple(self.fronts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no items, only numbers about them."""
        return self._plain(
            {"items": self.items, "instances": self.instances, "utility": self.utility},
            {"notes": list(self.notes), "adversaries": {name: ADVERSARIES[name] for name in self.requirements}},
        )


def compare(
    data: Any,
    *,
    methods: Sequence[str | SetMethod | Mapping[str, Mapping[str, Any]]] = ("set-mondrian", "set-two-phase"),
    k: Iterable[int] = (),
    utility: Utility = None,
    reading: Reading | None = None,
    repeat: int = 1,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | bool = silent,
) -> SetFrontier:
    """Run methods at several k on the same records, and measure what each keeps. Nothing is released.

    Parameters
    ----------
    data, utility, reading
        As in :func:`rothko.sets.anonymize`.
    methods
        Names, names with options as ``{name: {option: value}}``, or methods.
    repeat
        How often each trial is run; the best time counts.
    progress
        True for a bar, as for :func:`rothko.sets.anonymize`.
    seed
        The same seed gives the same numbers, also for (k,1)-anonymity: what is drawn is not released.

    Examples
    --------
    >>> baskets = [["tea", "milk"], ["tea", "milk", "gin"], ["tea"], ["tea", "bread"]]
    >>> found = compare(baskets, methods=["set-mondrian", "set-k1"], k=[2, 5])
    >>> [(trial.method, trial.k, trial.metrics and trial.metrics.utility_kept) for trial in found.trials]
    [('set-mondrian', 2, 0.75), ('set-k1', 2, 0.75), ('set-mondrian', 5, None), ('set-k1', 5, None)]
    >>> found.trials[-1].reason
    'These records cannot meet k1-anonymity with k = 5: there are 4; choose a smaller k.'
    """
    values = sorted(set(k))
    for value in values:
        SetMethod().meeting(value)
    if not values:
        raise PolicyError("Nothing varies; give several k, such as k = 2, 5, 10.")
    chosen: dict[str, SetMethod] = each_once(methods, as_method, "set-mondrian and set-two-phase")
    timings: dict[str, float] = {}
    cores = count_threads(threads)
    from rothko.kernels.compiling import told

    with told(progress) as report:
        report("read", 0, 1)
        with timed(timings, "read"):
            records = read_records(data, reading, utility=utility)
        report("read", 1, 1)
        if records.count == 0:
            raise InputError("There are no records.")

        def run(asked: Asked, more: Callable[[int], None]) -> Shown:
            method, requirement = asked
            return group(method, records, requirement.k, seed=seed, threads=cores, progress=more)

        def measure(asked: Asked, shown: Shown) -> Mapping[str, Any]:
            release = released(records, *asked, shown, seed=seed, threads=cores, timings={}).verified()
            return {"metrics": release.metrics, "achieved": release.certificate["requirement"]["achieved"]}

        bench: Bench[Asked, Shown, SetTrial] = Bench(
            rows=records.count, timings=timings, check=lambda asked: check_feasible(records.count, asked[1]), group=run,
            measure=measure, repeat=repeat,
        )  # fmt: skip
        trials = [
            (SetTrial(method=name, requirement=method.requirement.name, k=value), (method, method.meeting(value)))
            for value in values
            for name, method in chosen.items()
        ]
        return SetFrontier(
            records=records.count, items=int((records.frequencies() > 0).sum()), instances=len(records.items),
            utility=records.total_utility(), trials=bench.run(trials, report), timings=timings, seed=seed,
            threads=cores, notes=records.notes,
        )  # fmt: skip

"""Methods for sets side by side on the same records: what each keeps at each k.

The records are read once. Each combination then runs as a release does, up to its verification: what would be published
is grouped and counted, or looked for in the original records, as the method's requirement has it. Nothing is written.
What cannot run is a trial with a reason and hides no other.

Methods that meet (k,1)-anonymity promise less than those that meet k-anonymity, so that the same k is not the same
privacy: no trial beats one of the other requirement.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from rothko.comparison.trials import By, label, unbeaten, why
from rothko.errors import InputError, PolicyError
from rothko.progress import Progress, count_threads, silent
from rothko.release.save import timed
from rothko.sets.files import Reading, read_records
from rothko.sets.flow import ADVERSARIES, SetRelease, as_method, check_k, publish
from rothko.sets.methods.method import SetMethod
from rothko.sets.records import Records
from rothko.sets.utility import Utility
from rothko.sets.verify import SetMetrics

COLD = 60
"""The first run of a method may load or compile kernels, which hardly counts where it takes more seconds than this."""


@dataclass(frozen=True, slots=True)
class SetTrial:
    """One method at one k: what was kept, or why it could not be run."""

    method: str
    """The name of the method, with the options that are not its default."""
    requirement: str
    """What the method meets: k-anonymity or k1-anonymity."""
    k: int
    metrics: SetMetrics | None = None
    """What would be published; None where nothing would."""
    achieved: int | None = None
    """The k that was found in it."""
    partition_seconds: float | None = None
    """Time to group the records, the best run where there were several."""
    seconds: float | None = None
    """The same with reading the records, publishing and verifying: from the file to this trial."""
    reason: str | None = None
    """Why there are no metrics."""
    exit_code: int = 0
    """That of the error behind the reason; 1 for a bug."""

    @property
    def lost(self) -> float | None:
        """The share of the utility that is lost; None where it could not be run."""
        return None if self.metrics is None else 1.0 - self.metrics.utility_kept

    def at(self, by: By) -> float:
        """Its k; sets have no l."""
        return self.k if by == "k" else 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no items, only numbers about them."""
        names = SetMetrics.__slots__
        kept = dict.fromkeys(names) if self.metrics is None else self.metrics.to_dict()
        return {
            "method": self.method,
            "requirement": self.requirement,
            "k": self.k,
            "achieved": self.achieved,
            **{name: round(value, 6) if isinstance(value, float) else value for name, value in kept.items()},
            "partition_seconds": self.partition_seconds,
            "seconds": None if self.seconds is None else round(self.seconds, 4),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class SetFrontier:
    """The trials of several methods on the same records."""

    by: ClassVar[By] = "k"
    max_loss: ClassVar[None] = None
    loss_name: ClassVar[str] = "utility lost"

    records: int
    items: int
    """Different items of the original."""
    instances: int
    """Σ over records of their items."""
    utility: float
    """Σ over records of the utilities of their items."""
    trials: tuple[SetTrial, ...]
    """By k, and at each in the order in which the methods were asked for."""
    timings: Mapping[str, float]
    """Seconds to read the records, once for all trials."""
    seed: int
    threads: int
    notes: tuple[str, ...] = ()
    """What was assumed in reading the records."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in the order in which they were asked for."""
        return tuple(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def requirements(self) -> tuple[str, ...]:
        """What the methods meet."""
        return tuple(dict.fromkeys(trial.requirement for trial in self.trials))

    @property
    def fronts(self) -> dict[str, tuple[SetTrial, ...]]:
        """Requirement → the trials that no other one of the same requirement beats."""
        return {
            name: unbeaten([trial for trial in self.trials if trial.requirement == name], self.by)
            for name in self.requirements
        }

    @property
    def best(self) -> tuple[SetTrial, ...]:
        """The trials that no other one of the same requirement beats."""
        return tuple(trial for front in self.fronts.values() for trial in front)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no items, only numbers about them."""
        return {
            "records": self.records,
            "items": self.items,
            "instances": self.instances,
            "utility": self.utility,
            "by": self.by,
            "seed": self.seed,
            "threads": self.threads,
            "seconds": {stage: round(seconds, 4) for stage, seconds in self.timings.items()},
            "notes": list(self.notes),
            "adversaries": {name: ADVERSARIES[name] for name in self.requirements},
            "trials": [trial.to_dict() for trial in self.trials],
            "best": [
                {"method": trial.method, "requirement": trial.requirement, self.by: trial.k} for trial in self.best
            ],
        }


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
    progress: Progress = silent,
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
        check_k(value)
    if not values:
        raise PolicyError("Nothing varies; give several k, such as k = 2, 5, 10.")
    if isinstance(methods, str) or not methods:
        raise PolicyError("Name the methods to compare in a list, such as set-mondrian and set-two-phase.")
    chosen = {label(method): method for method in map(as_method, methods)}
    timings: dict[str, float] = {}
    cores = count_threads(threads)
    progress("read", 0, 1)
    with timed(timings, "read"):
        records = read_records(data, reading, utility=utility)
    progress("read", 1, 1)
    if records.count == 0:
        raise InputError("There are no records.")
    bench = _Bench(records, timings["read"], seed, cores, repeat)
    asked = [(value, name, method) for value in values for name, method in chosen.items()]
    trials = tuple(
        bench.trial(method, name, value, _share(progress, i, len(asked)))
        for i, (value, name, method) in enumerate(asked)
    )
    progress("compare", 1, 1)
    return SetFrontier(
        records.count, int((records.frequencies() > 0).sum()), len(records.items), records.total_utility(), trials,
        timings, seed, cores, records.notes,
    )  # fmt: skip


@dataclass(slots=True)
class _Bench:
    """Records on which trials are run."""

    records: Records
    reading: float
    """Seconds to read them."""
    seed: int
    threads: int
    repeat: int
    _warm: set[str] = field(default_factory=set)
    """Methods that have run before."""

    def trial(self, method: SetMethod, name: str, k: int, progress: Progress) -> SetTrial:
        """Run one method at one k and verify what it would publish; an error becomes a trial without metrics."""
        empty = SetTrial(name, method.model, k)
        try:
            release, fastest = self.fastest(method, name, k, progress)
            certificate = release.verified().certificate
        except Exception as error:
            reason, code = why(error)
            return replace(empty, reason=reason, exit_code=code)
        seconds = certificate["seconds"]
        return replace(
            empty,
            metrics=release.metrics,
            achieved=certificate["requirement"]["achieved"],
            partition_seconds=fastest,
            seconds=self.reading + fastest + seconds["publish"] + seconds["verify"],
        )

    def fastest(self, method: SetMethod, name: str, k: int, progress: Progress) -> tuple[SetRelease, float]:
        """What would be published, and the seconds of grouping in the best run."""
        release, taken = self.once(method, k, progress)
        cold = self.repeat == 1 and name not in self._warm and taken < COLD
        self._warm.add(name)
        for _ in range(1 if cold else self.repeat - 1):
            taken = min(taken, self.once(method, k, progress)[1])
        return release, taken

    def once(self, method: SetMethod, k: int, progress: Progress) -> tuple[SetRelease, float]:
        """One run; the same seed gives the same sets."""
        release = publish(self.records, method, k, seed=self.seed, threads=self.threads, progress=progress)
        return release, release.certificate["seconds"]["partition"]


def _share(progress: Progress, i: int, trials: int) -> Progress:
    """Reports how far one of several trials has come."""
    return lambda _, done, records: progress("compare", i * records + done, trials * records)

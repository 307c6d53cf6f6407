"""Methods side by side on one table: what each loses at each k or l, and the most that a bound on loss leaves.

``compare`` runs every method at every k (or l): the privacy-utility frontier of a table. ``most_private`` asks the
other way round, which Ghinita, Karras, Kalnis and Mamoulis (VLDB 2007, section 7) call the dual problem: given the most
information that may be lost, how much privacy can there be?

The table is read and encoded once, then each combination is run by the memory engine and measured as a certificate
would. Nothing is released: there are classes and numbers about them, and no published values. What cannot run, because
the table does not allow it or the method refuses, is a trial with a reason and hides no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from rothko.comparison.trials import By, label, unbeaten, why
from rothko.data.encode import Encoded
from rothko.data.schema import match
from rothko.data.source.csv import CsvOptions
from rothko.data.source.open import open_source
from rothko.errors import PolicyError
from rothko.flow import feasible, grouped, read_encoded
from rothko.methods.anatomy import refuse
from rothko.methods.classes import Classes
from rothko.metrics.loss import loss
from rothko.policy.draft import Draft, as_policy
from rothko.policy.policy import Policy
from rothko.privacy import FrequencyLDiversity, KAnonymity
from rothko.privacy.requirement import Requirement, number
from rothko.privacy.statistics import Statistics
from rothko.progress import Progress, count_threads, silent
from rothko.release.loss import Loss
from rothko.secret import Secret

CELLS = 1 << 24
"""Numbers of a histogram that are held at a time while classes are checked."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One method at one k or l: what was lost, or why it could not be run."""

    method: str
    """The name of the method, with the options that are not its default."""
    k: int | None
    """The k of k-anonymity; None where there is none."""
    l: float | None  # noqa: E741 (the literature's letter)
    """The l of l-diversity; None where there is none."""
    loss: Loss | None = None
    """What the classes lose; None where there are none."""
    partition_seconds: float | None = None
    """Time to group the records, the best run where there were several."""
    seconds: float | None = None
    """The same with reading and encoding the table, and measuring: from the file to this trial."""
    notes: tuple[str, ...] = ()
    """What the method says of how the classes came about."""
    reason: str | None = None
    """Why there is no loss."""
    exit_code: int = 0
    """That of the error behind the reason; 1 for a bug."""

    @property
    def lost(self) -> float | None:
        """Its GCP; None where it could not be run."""
        return None if self.loss is None else self.loss.gcp

    def at(self, by: By) -> float:
        """Its k, or its l; 0 where there is none."""
        return (self.k if by == "k" else self.l) or 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no values of the table, only numbers about classes."""
        lost = self.loss
        return {
            "method": self.method,
            "k": self.k,
            "l": self.l,
            "gcp": None if lost is None else round(lost.gcp, 6),
            "discernibility": None if lost is None else lost.discernibility,
            "classes": None if lost is None else lost.classes,
            "average_class_size": None if lost is None else round(lost.average_class_size, 3),
            "smallest_class": None if lost is None else lost.smallest_class,
            "largest_class": None if lost is None else lost.largest_class,
            "partition_seconds": None if self.partition_seconds is None else round(self.partition_seconds, 4),
            "seconds": None if self.seconds is None else round(self.seconds, 4),
            "notes": list(self.notes),
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest k or l of a method that was found to stay within a bound on loss."""

    method: str
    value: int | None
    """None where not even 2 does."""
    gcp: float | None
    """The loss there."""
    above: int | None
    """The smallest tested value above it, which does not stay within the bound or cannot be met."""
    reason: str | None = None
    """Why there is none."""

    def to_dict(self, by: By) -> dict[str, Any]:
        """Plain data."""
        lost = None if self.gcp is None else round(self.gcp, 6)
        return {"method": self.method, by: self.value, "gcp": lost, "above": self.above, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class Frontier:
    """The trials of several methods on one table."""

    loss_name: ClassVar[str] = "GCP"

    records: int
    quasi_identifiers: tuple[str, ...]
    by: By
    """What varies from trial to trial of a method."""
    trials: tuple[Trial, ...]
    """By k or l, and at each in the order in which the methods were asked for."""
    timings: Mapping[str, float]
    """Seconds to read and to encode the table, once for all trials."""
    seed: int
    threads: int
    max_loss: float | None = None
    """The bound on GCP, where the trials look for the largest k or l within it."""
    largest: tuple[Largest, ...] = ()
    """What was found, by bisection, for each method; only where there is a bound."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in the order in which they were asked for."""
        return tuple(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def best(self) -> tuple[Trial, ...]:
        """The trials that no other one beats: none has as much privacy and loses less, or more and loses no more."""
        return unbeaten(self.trials, self.by)

    @property
    def fronts(self) -> dict[str, tuple[Trial, ...]]:
        """The same under a name: all methods meet the same requirements."""
        return {"all": self.best}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no values of the table, only numbers about classes."""
        plain: dict[str, Any] = {
            "records": self.records,
            "quasi_identifiers": list(self.quasi_identifiers),
            "by": self.by,
            "seed": self.seed,
            "threads": self.threads,
            "seconds": {stage: round(seconds, 4) for stage, seconds in self.timings.items()},
            "trials": [trial.to_dict() for trial in self.trials],
            "best": [{"method": trial.method, self.by: trial.at(self.by)} for trial in self.best],
        }
        if self.max_loss is not None:
            plain["max_loss"] = self.max_loss
            plain["found_by"] = "bisection over real runs; loss need not rise with every step, so more may be possible"
            plain["largest"] = [found.to_dict(self.by) for found in self.largest]
        return plain


def compare(
    data: Any,
    policy: Policy | Draft | str | Path | Mapping[str, Any],
    *,
    methods: Sequence[Any] = ("mondrian", "hilbert", "cluster"),
    k: Iterable[int] = (),
    l: Iterable[int] = (),  # noqa: E741 (the literature's letter)
    repeat: int = 1,
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    csv: CsvOptions | None = None,
    progress: Progress = silent,
) -> Frontier:
    """Run methods at several k, or several l, on one table, and measure what each loses.

    Parameters
    ----------
    data
        Anything that :func:`rothko.anonymize` takes.
    policy
        The roles and hierarchies of the columns, and the requirements beside those that vary.
    methods
        Names, or anything that a policy takes as its method. The policy's own method keeps its options.
    k
        Takes the place of the k in the policy; where the policy has none, k-anonymity is added.
    l
        Takes the place of the l in the policy's l-diversity, of whichever kind; where the policy has none,
        frequency-l-diversity of every sensitive column is added. One of k and l may have several values.
    repeat
        How often each trial is run; the best time counts.

    Examples
    --------
    >>> people = {"age": [23, 27, 31, 35, 52, 54, 56, 58]}
    >>> policy = Policy.quick(people, qi=["age"], k=2)
    >>> found = compare(people, policy, methods=["mondrian"], k=[2, 4, 9])
    >>> [(trial.k, trial.loss and round(trial.loss.gcp, 2)) for trial in found.trials]
    [(2, 0.09), (4, 0.26), (9, None)]
    >>> found.trials[-1].reason.partition(":")[0]
    'This table cannot meet k-anonymity with k = 9'
    """
    asked = as_policy(policy)
    values: dict[By, list[int]] = {"k": sorted(set(k)), "l": sorted(set(l))}
    if not values["k"] and not values["l"]:
        raise PolicyError("Nothing varies; give several k, such as k = 2, 5, 10, or several l.")
    if len(values["k"]) > 1 and len(values["l"]) > 1:
        raise PolicyError("Several k and several l at a time cannot be shown side by side; give one k, or one l.")
    by: By = "l" if len(values["l"]) > 1 or not values["k"] else "k"
    other: By = "k" if by == "l" else "l"
    fixed = asking(asked, other, values[other][0]) if values[other] else asked
    varied = [asking(fixed, by, value) for value in values[by]]
    chosen = _methods(asked, methods)
    policies = [(one, name, method) for one in varied for name, method in chosen.items()]
    bench = Bench.of(data, asked, seed=seed, threads=threads, memory=memory, repeat=repeat, csv=csv, progress=progress)
    trials = []
    for i, (one, name, method) in enumerate(policies):
        report = _share(progress, i, len(policies), bench.encoded.rows)
        trials.append(bench.trial(one.but(method=method), name, report))
    return bench.frontier(by, trials)


def most_private(
    data: Any,
    policy: Policy | Draft | str | Path | Mapping[str, Any],
    *,
    max_loss: float,
    by: By = "k",
    methods: Sequence[Any] = ("mondrian", "hilbert", "cluster"),
    k: int | None = None,
    l: int | None = None,  # noqa: E741
    seed: int = 0,
    threads: int | None = None,
    memory: int | None = None,
    csv: CsvOptions | None = None,
    progress: Progress = silent,
) -> Frontier:
    """Find, for each method, the largest k (or l) whose GCP stays within a bound.

    By real runs: k doubles from 2 until the loss passes the bound, then the last step is bisected. Loss need not rise
    with every step of k, so a larger k than the one that is found may stay within the bound too. All runs are among the
    trials of what is returned.

    Parameters
    ----------
    max_loss
        The bound on GCP, from 0 to 1.
    by
        What to look for: the largest k, or the largest l.
    k, l
        The other one of the two, where it is to be held fixed at another value than the policy's.

    Examples
    --------
    >>> people = {"age": list(range(20, 60))}
    >>> found = most_private(people, Policy.quick(people, qi=["age"], k=2), methods=["mondrian"], max_loss=0.25)
    >>> found.largest[0].value, found.largest[0].above
    (10, 11)
    """
    asked = as_policy(policy)
    number("max_loss", "the bound on GCP", max_loss, least=0, most=1)
    if by not in ("k", "l"):
        raise PolicyError(f"by must be k or l, not {by!r}.")
    given: dict[By, int | None] = {"k": k, "l": l}
    other: By = "k" if by == "l" else "l"
    if given[by] is not None:
        raise PolicyError(f"The largest {by} is looked for, so no {by} can be asked for; leave it out.")
    value = given[other]
    fixed = asked if value is None else asking(asked, other, value)
    asking(fixed, by, 2)
    chosen = _methods(asked, methods)
    bench = Bench.of(
        data, asked, seed=seed, threads=threads, memory=memory, warm_up=False, csv=csv, progress=progress
    )  # fmt: skip
    trials: list[Trial] = []
    largest = []
    for i, (name, method) in enumerate(chosen.items()):
        progress("compare", i * bench.encoded.rows, len(chosen) * bench.encoded.rows)
        found, tried = bench.largest(fixed.but(method=method), name, by, max_loss)
        trials += tried
        largest.append(_largest(name, by, found, tried))
    progress("compare", 1, 1)
    order = {name: i for i, name in enumerate(chosen)}
    trials.sort(key=lambda trial: (trial.at(by), order[trial.method]))
    return replace(bench.frontier(by, trials), max_loss=float(max_loss), largest=tuple(largest))


def bisect(holds: Callable[[int], bool], most: int) -> int | None:
    """The largest number from 2 to ``most`` that is found to hold; None where 2 does not.

    The number doubles until it does not hold, and the last step is bisected.

    >>> bisect(lambda k: k <= 37, 1000), bisect(lambda k: True, 10), bisect(lambda k: False, 10)
    (37, 10, None)
    """
    low, high = 1, 2
    while high <= most and holds(high):
        low, high = high, 2 * high
    if low == 1:
        return None
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def asking(policy: Policy, by: By, value: int) -> Policy:
    """The policy with another k, or another l.

    k is that of k-anonymity, which is added where nothing asks for a k. l is that of every l-diversity, and
    frequency-l-diversity of every sensitive column is added where there is none.

    >>> policy = Policy.quick(["age", "disease"], qi=["age"], sensitive=["disease"], k=2)
    >>> [requirement.describe() for requirement in asking(policy, "l", 3).privacy]
    ['k-anonymity with k = 2', 'frequency-l-diversity of disease with l = 3']
    """
    privacy = tuple(policy.privacy)
    if by == "k":
        has = [r for r in privacy if r.name == KAnonymity.name] or [r for r in privacy if hasattr(r, "k")]
        added: tuple[Requirement, ...] = (KAnonymity(k=value),)
    else:
        has = [r for r in privacy if hasattr(r, "l")]
        added = tuple(FrequencyLDiversity(l=value, of=name) for name in policy.sensitive)
        if not added:
            raise PolicyError(f"l-diversity with l = {value} needs a sensitive column; name one, or vary k.")
    if not has:
        return policy.but(privacy=(*privacy, *added))
    changed: dict[str, Any] = {by: value}
    return policy.but(privacy=tuple(replace(r, **changed) if r in has else r for r in privacy))


@dataclass(slots=True)
class Bench:
    """A table, encoded, on which trials are run."""

    encoded: Encoded
    timings: Mapping[str, float]
    seed: int
    threads: int
    repeat: int = 1
    """How often each trial is run; the best time counts."""
    warm_up: bool = True
    """Run the first trial of a method twice, for its time."""
    _warm: set[str] = field(default_factory=set)
    """Methods that have run before."""

    @classmethod
    def of(
        cls,
        data: Any,
        policy: Policy,
        *,
        seed: int = 0,
        threads: int | None = None,
        memory: int | None = None,
        repeat: int = 1,
        warm_up: bool = True,
        csv: CsvOptions | None = None,
        progress: Progress = silent,
    ) -> Bench:
        """Read and encode a table."""
        source = open_source(data, csv=csv, asked=policy.columns)
        match(source.names, policy, source.label)
        timings: dict[str, float] = {}
        cores = count_threads(threads)
        _, _, encoded = read_encoded(source, policy, timings, threads=cores, memory=memory, progress=progress)
        return cls(encoded, timings, seed, cores, repeat, warm_up)

    def trial(self, policy: Policy, name: str, progress: Callable[[int], None] = lambda _: None) -> Trial:
        """Run one method with the requirements of one policy; an error becomes a trial without a loss."""
        empty = Trial(name, _asked(policy, "k"), _asked(policy, "l"))
        try:
            partition, seconds = self.partition(policy, progress)
            measuring = perf_counter()
            lost = loss(self.encoded.lines, partition.widths(self.encoded.lines), partition.sizes)
            broken = unmet(self.encoded, partition, policy.privacy)
        except Exception as error:
            reason, code = why(error)
            return replace(empty, reason=reason, exit_code=code)
        finally:
            progress(self.encoded.rows)
        if broken:
            reason = f"The classes do not satisfy {broken[0].describe()}: a bug in rothko."
            return replace(empty, reason=reason, exit_code=1)
        whole = sum(self.timings.values()) + seconds + perf_counter() - measuring
        return replace(empty, loss=lost, partition_seconds=seconds, seconds=whole, notes=partition.notes)

    def partition(self, policy: Policy, progress: Callable[[int], None]) -> tuple[Classes, float]:
        """The classes, and the seconds of the best run."""
        refuse(policy.method, "compare")
        policy.method.check(policy)
        feasible(self.encoded, self.encoded.rows, policy)
        best = np.inf
        # The first run of a method may load or compile kernels.
        cold = self.warm_up and self.repeat == 1 and policy.method.name not in self._warm
        self._warm.add(policy.method.name)
        for _ in range(self.repeat + cold):
            begun = perf_counter()
            found = grouped(
                self.encoded, policy, seed=self.seed, secret=Secret.of(None), threads=self.threads, progress=progress
            )
            best = min(best, perf_counter() - begun)
        return found, best

    def largest(self, policy: Policy, name: str, by: By, max_loss: float) -> tuple[int | None, list[Trial]]:
        """The largest k or l that is found to stay within a bound, and the trials that looked for it."""
        tried: list[Trial] = []

        def within(value: int) -> bool:
            tried.append(self.trial(asking(policy, by, value), name))
            lost = tried[-1].loss
            return lost is not None and lost.gcp <= max_loss

        return bisect(within, self.encoded.rows), tried

    def frontier(self, by: By, trials: Iterable[Trial]) -> Frontier:
        """What the trials found."""
        names = tuple(line.name for line in self.encoded.lines)
        return Frontier(self.encoded.rows, names, by, tuple(trials), dict(self.timings), self.seed, self.threads)


def unmet(encoded: Encoded, partition: Classes, requirements: Sequence[Requirement]) -> list[Requirement]:
    """The requirements that some class does not satisfy: none, unless a method is broken."""
    parts = [part for requirement in requirements for part in requirement.parts]
    widest = max((encoded.sensitive[part.column].domain.size for part in parts if part.column is not None), default=1)
    step = max(1, CELLS // widest)
    broken = []
    for first in range(0, partition.classes, step):
        last = min(first + step, partition.classes)
        records = partition.order[partition.starts[first] : partition.starts[last]]
        group = np.repeat(np.arange(last - first), partition.sizes[first:last])
        columns = {name: column._replace(codes=column.codes[records]) for name, column in encoded.sensitive.items()}
        counted = Statistics.count(group, last - first, columns, parts)
        broken += [part for part in parts if part not in broken and not part.satisfied(counted).all()]
    return broken


def _methods(policy: Policy, asked: Sequence[Any]) -> dict[str, Any]:
    """What each method is called in the results → the method, each once."""
    if isinstance(asked, str) or not asked:
        raise PolicyError("Name the methods to compare in a list, such as mondrian and hilbert.")
    found = {}
    for one in asked:
        method = policy.method if one == policy.method.name else policy.but(method=one).method
        found[label(method)] = method
    return found


def _asked(policy: Policy, by: By) -> Any:
    """The k or l that a policy asks for; the largest where there are several."""
    return max((getattr(r, by) for r in policy.privacy if hasattr(r, by)), default=None)


def _largest(method: str, by: By, value: int | None, tried: Sequence[Trial]) -> Largest:
    """What the runs of one method say."""
    above = min((int(trial.at(by)) for trial in tried if trial.at(by) > (value or 0)), default=None)
    if value is None:
        first = tried[0]
        lost = None if first.loss is None else first.loss.gcp
        reason = first.reason or f"at {by} = 2 the loss is {lost:.4f} already"
        return Largest(method, None, None, above, reason)
    at = next(trial for trial in tried if trial.at(by) == value)
    assert at.loss is not None
    return Largest(method, value, at.loss.gcp, above)


def _share(progress: Progress, i: int, trials: int, rows: int) -> Callable[[int], None]:
    """Reports how far one of several trials has come."""
    done = 0

    def report(records: int) -> None:
        nonlocal done
        done = min(done + records, rows)
        progress("compare", i * rows + done, trials * rows)

    report(0)
    return report

"""Methods side by side on one table: what each loses at each k or l, and the most that a bound on loss leaves.

``compare`` runs every method at every k (or l): the privacy-utility frontier of a table. ``most_private`` asks the
other way round, which Ghinita, Karras, Kalnis and Mamoulis (VLDB 2007, section 7) call the dual problem: given the most
information that may be lost, how much privacy can there be?

The table is read and encoded once, then each combination is run by the memory engine and measured as a certificate
would. There are classes and numbers about them, and no published values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Unpack, cast

from rothko.comparison.trials import Bench, Frontier, Trial, each_once, rounded
from rothko.data.encode import Encoded
from rothko.data.schema import match
from rothko.data.source.csv import CsvOptions
from rothko.engines.plan import as_bytes
from rothko.errors import PolicyError, RothkoError
from rothko.in_memory import feasible, grouped, read_encoded
from rothko.methods.anatomy import refuse
from rothko.methods.auto import Auto
from rothko.methods.classes import Classes
from rothko.methods.layout import fewest
from rothko.methods.unmet import unmet
from rothko.metrics.loss import loss
from rothko.metrics.registry import COMPARED, METRICS
from rothko.policy.asked import AnyPolicy, Asked
from rothko.policy.opened import opened
from rothko.policy.policy import Policy
from rothko.policy.varied import By, varied
from rothko.policy.words import Roles, Words, takes
from rothko.privacy import FrequencyLDiversity, KAnonymity
from rothko.privacy.requirement import number
from rothko.progress import Progress, count_threads, silent
from rothko.release.loss import Bound, Loss
from rothko.release.publish import alike, publish
from rothko.secret import Secret


class UnkeptError(RothkoError):
    """The classes of a method do not satisfy what was asked of it."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTrial(Trial):
    """One method at one k or l on a table."""

    l: float | None = None  # noqa: E741 (the literature's letter)
    """The l of l-diversity; None where there is none."""
    loss: Loss | None = None
    """What the classes lose; None where there are none."""
    notes: tuple[str, ...] = ()
    """What the method says of how the classes came about."""
    policy: Policy | None = field(default=None, repr=False)
    """What was asked for; None where nobody said it."""

    @property
    def lost(self) -> float | None:
        """Its GCP."""
        return None if self.loss is None else self.loss.gcp

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no values of the table, only numbers about classes."""
        lost = {} if self.loss is None else self.loss.to_dict()
        return {
            "method": self.method,
            "k": self.k,
            "l": self.l,
            **{name: lost.get(name) for name in COMPARED},
            **self._times,
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
        told = {"method": self.method, by: self.value, "gcp": rounded(self.gcp, 6)}
        return {**told, "above": self.above, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TableFrontier(Frontier[TableTrial]):
    """The trials of several methods on one table."""

    loss_name: ClassVar[str] = "GCP"

    quasi_identifiers: tuple[str, ...]
    largest: tuple[Largest, ...] = ()
    """What was found, by bisection, for each method; only where there is a bound."""
    bounds: tuple[Bound, ...] = ()
    """How little any release could lose at each k; where that was asked for."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no values of the table, only numbers about classes."""
        plain = self._plain({"quasi_identifiers": list(self.quasi_identifiers)}, {})
        if self.max_loss is not None:
            plain["max_loss"] = self.max_loss
            plain["found_by"] = "bisection over real runs; loss need not rise with every step, so more may be possible"
            plain["largest"] = [found.to_dict(self.by) for found in self.largest]
        if self.bounds:
            plain["bounds"] = [one.to_dict() for one in self.bounds]
        return plain


@takes(Roles)
def compare(
    data: Any,
    policy: AnyPolicy | None = None,
    *,
    methods: Sequence[Any] = ("mondrian", "hilbert", "cluster"),
    k: int | Iterable[int] = (),
    l: int | Iterable[int] = (),  # noqa: E741 (the literature's letter)
    repeat: int = 1,
    bound: bool = False,
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    csv: CsvOptions | None = None,
    progress: Progress | bool = silent,
    **words: Unpack[Roles],
) -> TableFrontier:
    """Run methods at several k, or several l, on one table, and measure what each loses.

    Parameters
    ----------
    data
        Anything that :func:`rothko.anonymize` takes.
    policy
        The roles and hierarchies of the columns, and the requirements beside those that vary. Or none, and in its
        place:
    qi, sensitive, drop, keep, keep_rest, missing, types, hierarchies
        As for :func:`rothko.anonymize`. Nothing is released: what is not named is not read.
    methods
        Names, or anything that a policy takes as its method. The policy's own method keeps its options.
    k
        Takes the place of the k in the policy; where the policy has none, k-anonymity is added.
    l
        Takes the place of the l in the policy's l-diversity, of whichever kind; where the policy has none,
        frequency-l-diversity of every sensitive column is added. One of k and l may have several values.
    repeat
        How often each trial is run; the best time counts.
    bound
        Also find how little any release could lose at each k; see :mod:`rothko.metrics.bound`.
    progress
        As for :func:`rothko.anonymize`: True is a bar.

    Examples
    --------
    >>> people = {"age": [23, 27, 31, 35, 52, 54, 56, 58]}
    >>> found = compare(people, qi="age", methods=["mondrian"], k=[2, 4, 9])
    >>> [(trial.k, trial.loss and round(trial.loss.gcp, 2)) for trial in found.trials]
    [(2, 0.09), (4, 0.26), (9, None)]
    >>> found.trials[-1].reason.partition(":")[0]
    'This table cannot meet k-anonymity with k = 9'
    """
    values: dict[By, list[int]] = {"k": _several(k), "l": _several(l)}
    if not values["k"] and not values["l"]:
        raise PolicyError("Nothing varies; give several k, such as k = 2, 5, 10, or several l.")
    if len(values["k"]) > 1 and len(values["l"]) > 1:
        raise PolicyError("Several k and several l at a time cannot be shown side by side; give one k, or one l.")
    by: By = "l" if len(values["l"]) > 1 or not values["k"] else "k"
    other: By = "k" if by == "l" else "l"
    asked = _asked(data, policy, words, csv, {letter for letter, some in values.items() if some})

    def varied(policy: Policy) -> list[tuple[str, Policy]]:
        fixed = asking(policy, other, values[other][0]) if values[other] else policy
        some = [asking(fixed, by, value) for value in values[by]]
        chosen = _methods(policy, methods)
        return [(name, one.but(method=method)) for one in some for name, method in chosen.items()]

    varied(asked.policy)  # what is wrong is told before the table is read
    from rothko.kernels.compiling import told

    with told(progress) as report:
        settled = asked.settled(released=False)
        bench = TableBench.of(
            asked.source, settled, seed=seed, threads=threads, memory=memory, repeat=repeat, progress=report
        )
        policies = varied(settled)
        found = bench.frontier(by, bench.run([(empty(name, one), one) for name, one in policies], report))
        return replace(found, bounds=bench.bounds([one for _, one in policies])) if bound else found


@takes(Roles)
def most_private(
    data: Any,
    policy: AnyPolicy | None = None,
    *,
    max_loss: float,
    by: By = "k",
    methods: Sequence[Any] = ("mondrian", "hilbert", "cluster"),
    k: int | None = None,
    l: int | None = None,  # noqa: E741 (the literature's letter)
    seed: int = 0,
    threads: int | None = None,
    memory: int | str | None = None,
    csv: CsvOptions | None = None,
    progress: Progress | bool = silent,
    **words: Unpack[Roles],
) -> TableFrontier:
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
    >>> found = most_private(people, qi="age", methods=["mondrian"], max_loss=0.25)
    >>> found.largest[0].value, found.largest[0].above
    (10, 11)
    """
    number("max_loss", "the bound on GCP", max_loss, least=0, most=1)
    if by not in ("k", "l"):
        raise PolicyError(f"by must be k or l, not {by!r}.")
    given: dict[By, int | None] = {"k": k, "l": l}
    other: By = "k" if by == "l" else "l"
    if given[by] is not None:
        raise PolicyError(f"The largest {by} is looked for, so no {by} can be asked for; leave it out.")
    value = given[other]
    asked = _asked(data, policy, words, csv, {by} | ({other} if value is not None else set()))

    def varied(policy: Policy) -> tuple[Policy, dict[str, Any]]:
        fixed = policy if value is None else asking(policy, other, value)
        asking(fixed, by, 2)
        return fixed, _methods(policy, methods)

    varied(asked.policy)  # what is wrong is told before the table is read
    from rothko.kernels.compiling import told

    trials: list[TableTrial] = []
    largest = []
    with told(progress) as report:
        settled = asked.settled(released=False)
        fixed, chosen = varied(settled)
        bench = TableBench.of(
            asked.source, settled, seed=seed, threads=threads, memory=memory, warm_up=False, progress=report
        )
        for i, (name, method) in enumerate(chosen.items()):
            report("compare", i * bench.rows, len(chosen) * bench.rows)
            found, tried = bench.largest(name, fixed.but(method=method), by, max_loss)
            trials += tried
            largest.append(found)
        report("compare", 1, 1)
    order = {name: i for i, name in enumerate(chosen)}
    trials.sort(key=lambda trial: (trial.at(by), order[trial.method]))
    return replace(bench.frontier(by, trials), max_loss=float(max_loss), largest=tuple(largest))


def _several(values: int | Iterable[int]) -> list[int]:
    """One number or several, sorted, each once."""
    return [values] if isinstance(values, int) else sorted(set(values))


def _asked(data: Any, policy: AnyPolicy | None, roles: Roles, csv: CsvOptions | None, letters: set[By]) -> Asked:
    """A table with the policy whose k or l is to vary; where words stand for it, it asks for these letters alone."""
    words = cast("Words", roles if policy is not None else {**roles, "k": 2})
    asked = Asked.of(data, policy, words, csv=csv)
    if policy is not None or "k" in letters:
        return asked
    diverse = asking(asked.policy, "l", 2)
    alone = tuple(r for r in diverse.privacy if not isinstance(r, KAnonymity))
    return replace(asked, policy=diverse.but(privacy=alone))


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
    if by == "l" and not any(hasattr(r, "l") for r in policy.privacy):
        added = tuple(FrequencyLDiversity(l=value, of=name) for name in policy.sensitive)
        if not added:
            raise PolicyError(f"l-diversity with l = {value} needs a sensitive column; name one, or vary k.")
        return policy.but(privacy=(*policy.privacy, *added))
    return varied(policy, by, value)


@dataclass(slots=True, kw_only=True)
class TableBench(Bench[Policy, Classes, TableTrial]):
    """A table, encoded, on which trials are run, each with a policy."""

    encoded: Encoded
    seed: int
    threads: int

    @classmethod
    def of(
        cls,
        data: Any,
        policy: Policy,
        *,
        seed: int = 0,
        threads: int | None = None,
        memory: int | str | None = None,
        progress: Progress = silent,
        **repeated: Any,
    ) -> TableBench:
        """Read and encode a table; how often trials are run is said as for any bench."""
        source = opened(data, policy)
        match(source.names, policy, source.label)
        timings: dict[str, float] = {}
        cores = count_threads(threads)
        _, _, encoded = read_encoded(source, policy, timings, threads=cores, memory=as_bytes(memory), progress=progress)

        def check(asked: Policy) -> None:
            refuse(asked.method, "compare")
            if asked.suppress is not None:
                raise PolicyError("compare runs methods without suppression; leave out suppress.")
            asked.method.check(asked)
            feasible(encoded, encoded.rows, asked)

        def group(asked: Policy, report: Callable[[int], None]) -> Classes:
            return grouped(encoded, asked, seed=seed, secret=Secret.of(None), threads=cores, progress=report)

        def measure(asked: Policy, made: Classes) -> Mapping[str, Any]:
            shown = publish(encoded, made, asked.publish, workload=asked.workload, threads=cores)
            lost = loss(encoded.lines, made.widths(encoded.lines), made.sizes, alike(shown))
            broken = unmet(encoded, made, asked.privacy)
            if broken:
                raise UnkeptError(f"The classes do not satisfy {broken[0].describe()}: a bug in rothko.")
            return {"loss": lost, "notes": made.notes}

        return cls(
            rows=encoded.rows, timings=timings, check=check, group=group, measure=measure, encoded=encoded, seed=seed,
            threads=cores, **repeated,
        )  # fmt: skip

    def largest(self, name: str, policy: Policy, by: By, max_loss: float) -> tuple[Largest, list[TableTrial]]:
        """The largest k or l that is found to stay within a bound, and the trials that looked for it."""
        tried: list[TableTrial] = []

        def within(value: int) -> bool:
            asked = asking(policy, by, value)
            tried.append(self.trial(empty(name, asked), asked))
            lost = tried[-1].lost
            return lost is not None and lost <= max_loss

        value = bisect(within, max(self.rows, 2))
        above = min((int(trial.at(by)) for trial in tried if trial.at(by) > (value or 0)), default=None)
        if value is None:
            reason = tried[0].reason or f"at {by} = 2 the loss is {tried[0].lost:.4f} already"
            return Largest(name, None, None, above, reason), tried
        return Largest(name, value, next(trial.lost for trial in tried if trial.at(by) == value), above), tried

    def bounds(self, policies: Iterable[Policy]) -> tuple[Bound, ...]:
        """How little any release could lose at each k that is asked for and that the table can meet."""
        asked = {fewest(policy.privacy): policy.privacy for policy in policies}
        compute = METRICS["bound"].compute
        return tuple(
            compute(self.encoded, privacy, seed=self.seed, threads=self.threads)
            for k, privacy in sorted(asked.items(), key=lambda one: one[0])
            if k <= self.rows
        )

    def frontier(self, by: By, trials: Iterable[TableTrial]) -> TableFrontier:
        """What the trials found."""
        return TableFrontier(
            records=self.rows, quasi_identifiers=tuple(line.name for line in self.encoded.lines), by=by,
            trials=tuple(trials), timings=dict(self.timings), seed=self.seed, threads=self.threads,
        )  # fmt: skip


def empty(name: str, policy: Policy) -> TableTrial:
    """The trial of a policy, before it is run: its k and its l, the largest where there are several."""

    def asked(by: By) -> Any:
        return max((getattr(r, by) for r in policy.privacy if hasattr(r, by)), default=None)

    return TableTrial(method=name, k=asked("k"), l=asked("l"), policy=policy)


def _methods(policy: Policy, asked: Sequence[Any]) -> dict[str, Any]:
    """What each method is called in the results → the method; the policy's own keeps its options."""

    def read(one: Any) -> Any:
        method = policy.method if one == policy.method.name else policy.but(method=one).method
        return method.choose(policy).method if isinstance(method, Auto) else method

    return each_once(asked, read, "mondrian and hilbert")

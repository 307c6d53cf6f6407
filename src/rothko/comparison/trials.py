"""Methods side by side on the same records, whatever these are: trials, the bench that runs them, their frontier.

A bench holds records that were read once. A trial runs one method at one k or l and measures what came of it. What
cannot run, because the records do not allow it or the method refuses, is a trial with a reason and hides no other.
Nothing is released.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, Generic, TypeVar

from rothko import notebook
from rothko.comparison.pictures import Shows, plots
from rothko.comparison.tabular import Backend, as_frame
from rothko.errors import InputError, PolicyError, RothkoError, lacks_memory, nearest
from rothko.policy.entries import write
from rothko.policy.varied import By
from rothko.progress import Progress, counted
from rothko.report.forms import Drawing

COLD = 60
"""The first run of a method may load or compile kernels, which hardly counts where it takes more seconds than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One method at one k or l: what came of it, or why it could not be run."""

    method: str
    """The name of the method, with the options that are not its default."""
    k: int | None = None
    """The k that was asked for; None where there is none."""
    partition_seconds: float | None = None
    """Time to group the records, the best run where there were several."""
    seconds: float | None = None
    """The same with reading the records and measuring what came of it: from the file to this trial."""
    reason: str | None = None
    """Why nothing came of it."""
    exit_code: int = 0
    """That of the error behind the reason; 1 for a bug."""

    @property
    def lost(self) -> float | None:
        """What is lost, from 0 to 1; None where it could not be run."""
        raise NotImplementedError

    @property
    def promise(self) -> str:
        """The requirement that is met, where not all trials meet the same: the same k is not the same privacy then."""
        return "all"

    def at(self, by: By) -> float:
        """Its k, or its l; 0 where there is none."""
        return getattr(self, by, None) or 0

    def told(self, by: By) -> str:
        """Which trial it is, in words."""
        return f"{self.method} at {by} = {self.at(by):g}"

    def named(self, by: By) -> dict[str, Any]:
        """Which trial it is."""
        return {"method": self.method, by: self.at(by)}

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no values of the records, only numbers about them."""
        raise NotImplementedError

    @property
    def _times(self) -> dict[str, float | None]:
        return {"partition_seconds": rounded(self.partition_seconds, 4), "seconds": rounded(self.seconds, 4)}


T = TypeVar("T", bound=Trial)
Asked = TypeVar("Asked")
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier(Generic[T]):
    """The trials of several methods on the same records."""

    loss_name: ClassVar[str]
    """What is lost."""

    records: int
    by: By = "k"
    """What varies from trial to trial of a method."""
    trials: tuple[T, ...]
    """By k or l, and at each in the order in which the methods were asked for."""
    timings: Mapping[str, float]
    """Seconds of what was done once for all trials."""
    seed: int
    threads: int
    max_loss: float | None = None
    """The bound on what is lost, where the trials look for the largest k or l within it."""

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in the order in which they were asked for."""
        return tuple(dict.fromkeys(trial.method for trial in self.trials))

    @property
    def fronts(self) -> dict[str, tuple[T, ...]]:
        """Requirement → the trials that no other one of the same requirement beats; all, where it is one for all."""
        promises = dict.fromkeys(trial.promise for trial in self.trials)
        return {
            promise: unbeaten([trial for trial in self.trials if trial.promise == promise], self.by)
            for promise in promises
        }

    @property
    def best(self) -> tuple[T, ...]:
        """The trials that no other one of the same requirement beats."""
        return tuple(trial for front in self.fronts.values() for trial in front)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why some trials have no numbers, a sentence for each reason."""
        named: dict[str, list[str]] = {}
        for trial in self.trials:
            if trial.reason:
                named.setdefault(trial.reason, []).append(trial.told(self.by))
        return tuple(f"{', '.join(names)}: {reason}" for reason, names in named.items())

    def __repr__(self) -> str:
        about = f"{len(self.trials)} trials of {len(self.methods)} methods, {len(self.best)} unbeaten"
        return f"{type(self).__name__}({about})"

    def _repr_html_(self) -> str:
        most = max((trial.lost for trial in self.trials if trial.lost is not None), default=0.0) or 1.0
        best = set(map(id, self.best))
        rows = [
            (
                trial.method,
                f"{trial.at(self.by):g}",
                "unbeaten" if id(trial) in best else "",
                "" if trial.seconds is None else f"{trial.seconds:.2f} s",
                "" if trial.lost is None else f"{trial.lost:.4f}",
            )
            for trial in self.trials
        ]
        titles = ("method", self.by, "frontier", "time", self.loss_name)
        return notebook.shown(
            f"{len(self.trials)} trials on {self.records:,} records",
            notebook.table(titles, rows, left=(0, 2), bars=[(trial.lost or 0.0) / most for trial in self.trials]),
            *map(notebook.words, self.reasons),
        )

    def plot(self, name: Shows = "frontier") -> Drawing:
        """Draw the comparison; in a notebook it shows itself, ``save("frontier.svg")`` writes it.

        Parameters
        ----------
        name
            ``frontier``: k or l against what is lost; ``loss``: what methods lose at each k or l; ``time``.
        """
        drawn = {plot.name: plot for plot in plots(self)}
        if name not in drawn:
            raise InputError(f"There is no plot {name!r} of a comparison; {nearest(str(name), drawn)}")
        return Drawing(drawn[name])

    def to_frame(self, backend: Backend | None = None) -> Any:
        """The trials as a table, a row each, with whether one is among the best.

        Parameters
        ----------
        backend
            ``pandas``, ``polars`` or ``pyarrow``; the first of these that is installed where it is None.
        """
        best = set(map(id, self.best))
        return as_frame([{**trial.to_dict(), "best": id(trial) in best} for trial in self.trials], backend)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: no values of the records, only numbers about them."""
        raise NotImplementedError

    def _plain(self, about: Mapping[str, Any], remarks: Mapping[str, Any]) -> dict[str, Any]:
        """The same, with more about the records, and what a person should know of the trials."""
        return {
            "records": self.records,
            **about,
            "by": self.by,
            "seed": self.seed,
            "threads": self.threads,
            "seconds": {stage: round(seconds, 4) for stage, seconds in self.timings.items()},
            **remarks,
            "trials": [trial.to_dict() for trial in self.trials],
            "best": [trial.named(self.by) for trial in self.best],
        }


@dataclass(slots=True, kw_only=True)
class Bench(Generic[Asked, Made, T]):
    """Records on which trials are run."""

    rows: int
    """How many there are."""
    timings: Mapping[str, float]
    """Seconds of what was done once for all trials."""
    check: Callable[[Asked], None]
    """Refuses what cannot be run."""
    group: Callable[[Asked, Callable[[int], None]], Made]
    """Groups the records, which is timed; reports how many were."""
    measure: Callable[[Asked, Made], Mapping[str, Any]]
    """What came of it, as fields of a trial; an error where it is not what was asked for."""
    repeat: int = 1
    """How often each trial is run; the best time counts."""
    warm_up: bool = True
    """Run the first trial of a method twice, for its time."""
    _warm: set[str] = field(default_factory=set)
    """Methods that have run before."""

    def run(self, asked: Sequence[tuple[T, Asked]], progress: Progress) -> tuple[T, ...]:
        """Trials, each with what is asked of it."""
        from rothko.kernels.compiling import told

        trials = []
        for i, (empty, one) in enumerate(asked):

            def share(stage: str, done: int, rows: int, i: int = i) -> None:
                progress(stage, i * rows + done, len(asked) * rows)

            with told(progress):
                trials.append(self.trial(empty, one, counted(share, "compare", self.rows)))
        progress("compare", 1, 1)
        return tuple(trials)

    def trial(self, empty: T, asked: Asked, progress: Callable[[int], None] = lambda _: None) -> T:
        """Run one method; an error becomes a trial with a reason."""
        try:
            self.check(asked)
            made, seconds = self._fastest(empty.method, asked, progress)
            begun = perf_counter()
            found = self.measure(asked, made)
        except Exception as error:  # whatever goes wrong in one trial must not hide the others
            reason, code = why(error)
            return replace(empty, reason=reason, exit_code=code)
        finally:
            progress(self.rows)
        whole = sum(self.timings.values()) + seconds + perf_counter() - begun
        return replace(empty, partition_seconds=seconds, seconds=whole, **found)

    def _fastest(self, name: str, asked: Asked, progress: Callable[[int], None]) -> tuple[Made, float]:
        """What a method makes of the records, and the seconds of its best run."""

        def once() -> tuple[Made, float]:
            begun = perf_counter()
            return self.group(asked, progress), perf_counter() - begun

        made, best = once()
        cold = self.warm_up and self.repeat == 1 and name not in self._warm and best < COLD
        self._warm.add(name)
        for _ in range(1 if cold else self.repeat - 1):
            best = min(best, once()[1])
        return made, best


def unbeaten(trials: Sequence[T], by: By) -> tuple[T, ...]:
    """The trials that no other one beats: none has as much privacy and loses less, or more and loses no more."""
    held = [(trial.at(by), trial.lost, trial) for trial in trials if trial.lost is not None]
    return tuple(
        trial
        for value, lost, trial in held
        if not any(other >= value and beaten <= lost and (other > value or beaten < lost) for other, beaten, _ in held)
    )


def each_once(methods: Any, read: Callable[[Any], Any], such_as: str) -> dict[str, Any]:
    """What each method is called in the results → the method, each once."""
    if isinstance(methods, str) or not methods:
        raise PolicyError(f"Name the methods to compare in a list, such as {such_as}.")
    return {label(method): method for method in map(read, methods)}


def label(method: Any) -> str:
    """What a method is called in the results: its name, with the options that are not its default.

    >>> from rothko.methods import METHODS
    >>> label(METHODS["mondrian"](relaxed=True))
    'mondrian relaxed=True'
    """
    [(name, options)] = write(method).items()
    return " ".join([name, *(f"{option}={value}" for option, value in options.items())])


def as_csv(trials: Iterable[Trial]) -> str:
    """The trials as CSV, a row each."""
    file = io.StringIO()
    rows = [
        {name: " ".join(value) if isinstance(value, list) else value for name, value in trial.to_dict().items()}
        for trial in trials
    ]
    writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def why(error: Exception) -> tuple[str, int]:
    """The reason why a trial has no numbers, and the exit code that goes with it; 1 for a bug."""
    if isinstance(error, RothkoError):
        return str(error), error.exit_code
    if lacks_memory(error):
        return "It does not fit in memory.", 2
    # Messages of other libraries quote cell values, so only the kind of error is told.
    return f"Internal error ({type(error).__name__}): a bug in rothko.", 1


def rounded(value: float | None, digits: int) -> float | None:
    """So many digits of a number, where there is one."""
    return None if value is None else round(value, digits)

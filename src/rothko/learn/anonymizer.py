"""The recoding as a scikit-learn transformer: learned from X in ``fit``, applied to any X in ``transform``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from rothko.data.schema import Role
from rothko.data.source.open import open_source
from rothko.data.source.source import Source
from rothko.errors import InputError, PolicyError
from rothko.in_memory import in_memory
from rothko.learn.regions import FORMS, Form, Regions, known_form
from rothko.policy.column import Column
from rothko.policy.confirm import refuse_unconfirmed
from rothko.policy.draft import as_policy
from rothko.policy.opened import written_by
from rothko.policy.policy import Policy
from rothko.policy.varied import By, varied
from rothko.progress import count_threads
from rothko.release.recoding.recoding import Recoding
from rothko.workload import Classify, Regress
from rothko.workload.tasks import models

if TYPE_CHECKING:
    from rothko.policy.confirm import refuse_unconfirmed
from rothko.policy.draft import Draft

K = 10
"""What is asked for where neither a policy nor ``k`` says it."""


class Anonymizer(TransformerMixin, BaseEstimator):  # type: ignore[misc] # scikit-learn has no types
    """Learn a recoding from records, and give any records as the regions that they fall in.

    ``transform`` neither adds nor drops rows, and leaves them in their order: its output is for models on the trusted
    side, not a release. A record that the recoding cannot place (a label that was not there in ``fit``) is given the
    whole table as its region.

    Parameters
    ----------
    policy
        A policy, a path to one, the same as plain data, or a draft. Where it is None, every column of X is a
        quasi-identifier, and classes have at least ``k`` records.
    k, l
        Take the place of every ``k`` and ``l`` in the policy's requirements. With neither ``k`` nor a policy, k is 10.
    regions
        How a region becomes numbers: ``corners``, ``edges``, ``midpoint``, ``mean`` or ``sample`` (see
        :mod:`rothko.learn.regions`); ``published`` gives a table of what a release shows, of the kind of X.
    task
        What y is for: to ``classify`` or to ``regress``; ``auto`` looks at y, and takes whole numbers for labels. It
        is asked only where the policy has no such task; None leaves y aside.
    verify
        Verify the release of the training records, as :func:`rothko.anonymize` does.
    seed
        For ``sample``.
    threads
        Cores to use in ``fit``; all where it is None.
    accept_draft
        Take a draft as it is, though it has roles that nobody has agreed to.

    Attributes
    ----------
    recoding_
        φ, as a :class:`~rothko.release.recoding.recoding.Recoding`.
    certificate_
        What the release of the training records holds; its findings are empty with ``verify=False``.
    regions_
        The regions as numbers.
    policy_
        The policy that was carried out.
    n_features_in_, feature_names_in_
        As for any estimator.

    Examples
    --------
    >>> import numpy as np, rothko as rk
    >>> ages = np.array([[23], [27], [31], [35]])
    >>> rk.Anonymizer(k=2).fit(ages).transform([[20], [90]]).tolist()
    [[23.0, 27.0], [31.0, 35.0]]
    """

    def __init__(
        self,
        policy: Policy | Draft | str | Path | Mapping[str, Any] | None = None,
        *,
        k: int | None = None,
        l: float | None = None,  # noqa: E741 - the literature's name
        regions: Form | Literal["published"] = "corners",
        task: Literal["auto", "classify", "regress"] | None = "auto",
        verify: bool = True,
        seed: int = 0,
        threads: int | None = None,
        accept_draft: bool = False,
    ) -> None:
        self.policy = policy
        self.k = k
        self.l = l
        self.regions = regions
        self.task = task
        self.verify = verify
        self.seed = seed
        self.threads = threads
        self.accept_draft = accept_draft

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the recoding from X; with y, one that keeps what a model of y needs."""
        form = None if self.regions == "published" else _form(self.regions)
        table = self._table(X, reset=True)
        self._names = table.column_names
        policy, table = self._asked(table, y)
        table = written_by(policy).table(table)
        release = in_memory(open_source(table), policy, seed=self.seed, threads=count_threads(self.threads))
        if self.verify:
            release = release.verified()
        if release.recoding is None:
            raise PolicyError(
                f"{policy.method.name} with these options has no recoding, and new records could not be placed; "
                "choose a method that has one, such as mondrian with relaxed: false."
            )
        self.policy_ = policy
        self.certificate_ = release.certificate
        self.recoding_ = _to_keep(release.recoding)
        self.regions_ = Regions.of(table, self.recoding_, _features(policy))
        # φ of the columns of X alone: what was given as y is not there when records are placed.
        self._placing = _restricted(self.recoding_, self._names)
        self._columns = self._shown(self._names) if form is None else self.regions_.columns(form)
        return self

    def transform(self, X: Any) -> Any:
        """The regions of records: numbers, or with ``regions="published"`` what a release shows."""
        check_is_fitted(self)
        table = self._table(X, reset=False).rename_columns(self._names)
        table = written_by(self.policy_).table(table)
        if self.regions == "published":
            return _like(X, self._placing.apply_table(table)[0].select(self._columns))
        regions = replace(self.regions_, recoding=self._placing)
        return regions.numbers(table, _form(self.regions), seed=self.seed)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The names of what ``transform`` gives: ``age_min`` and ``age_max`` for corners and edges."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self._columns, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _table(self, X: Any, *, reset: bool) -> pa.Table:
        """X as an Arrow table, checked against what ``fit`` saw."""
        least = 2 if reset else 1
        if nw.dependencies.is_into_dataframe(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            source = open_source(X)
        else:
            X = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_samples=least)
            source = _open_array(X)
        return source.read()

    def _asked(self, table: pa.Table, y: Any) -> tuple[Policy, pa.Table]:
        """The policy to carry out, and the table with y in the columns that it is to have."""
        names = table.column_names
        policy = Policy.quick(names, qi=names, k=K) if self.policy is None else as_policy(self.policy)
        if not self.accept_draft:
            refuse_unconfirmed(policy, self.policy)
        policy = _with(_with(policy, "k", self.k), "l", self.l)
        gone = {name for name in policy.identifiers if name not in names}
        if policy.owner in gone:
            raise PolicyError(
                f"People are counted by {policy.owner!r}, which is not a column of X; give it, or no 'of'."
            )
        if gone:
            waiting = tuple(name for name in policy.confirm if name not in gone)
            policy = policy.but(columns={n: c for n, c in policy.columns.items() if n not in gone}, confirm=waiting)
        return self._with_target(policy, table, y)

    def _with_target(self, policy: Policy, table: pa.Table, y: Any) -> tuple[Policy, pa.Table]:
        predicting = models(policy.workload)
        absent = [name for name in policy.columns if name not in table.column_names]
        if absent and {task.target for task in predicting}.issuperset(absent):
            given = _outputs(table, y)
            if len(given) != len(absent):
                raise PolicyError(
                    f"The policy's target {absent[0]!r} is not a column of X; give {len(absent)} column(s) as y, "
                    f"not {len(given)}."
                )
            return policy, _append(table, dict(zip(absent, given, strict=True)))
        if y is None or predicting or self.task is None:
            return policy, table
        if self.task not in ("auto", "classify", "regress"):
            raise InputError(f"task must be 'auto', 'classify', 'regress' or None, not {self.task!r}.")
        outputs = _outputs(table, y)
        names = _names_for(len(outputs), [*policy.columns, *table.column_names])
        tasks = [_task(self.task, name, output) for name, output in zip(names, outputs, strict=True)]
        columns = policy.columns | {name: Column(role=Role.KEEP) for name in names}
        added = policy.but(columns=columns, workload=(*policy.workload, *tasks))
        return added, _append(table, dict(zip(names, outputs, strict=True)))

    def _shown(self, names: list[str]) -> list[str]:
        """The columns of a release that come from X."""
        published = self.recoding_.published
        return [
            shown
            for name in names
            if name not in self.policy_.identifiers
            for shown in ([column.name for column in published[name]] if name in published else [name])
        ]


def _form(regions: str) -> Form:
    if regions not in FORMS:
        raise InputError(f"regions must be one of {', '.join(map(repr, (*FORMS, 'published')))}, not {regions!r}.")
    return known_form(regions)


def _with(policy: Policy, by: By, value: float | None) -> Policy:
    """The policy with another k or l, where one is asked for, which may be of any type as it comes from a grid."""
    return policy if value is None else varied(policy, by, value.item() if isinstance(value, np.generic) else value)


def _features(policy: Policy) -> list[str]:
    """What the models of the workload look at, together; all quasi-identifiers where one does not say."""
    predicting = models(policy.workload)
    named = {name for task in predicting for name in task.features or ()}
    if not predicting or any(task.features is None for task in predicting):
        named |= set(policy.quasi_identifiers)
    targets = {task.target for task in predicting}
    return [name for name in policy.columns if name in named and name not in targets]


def _to_keep(recoding: Recoding) -> Recoding:
    """The recoding in arrays of its own: a slice is pickled with all of what it was cut from, the training values."""
    attributes = tuple(
        replace(a, **{name: pa.concat_arrays([getattr(a, name)]) for name in ("edges", "ends", "labels")})
        for a in recoding.attributes
    )
    return replace(recoding, attributes=attributes)


def _restricted(recoding: Recoding, names: list[str]) -> Recoding:
    """The recoding for tables that have some of its columns only."""
    columns = {name: column for name, column in recoding.policy.columns.items() if name in names}
    return replace(recoding, policy=recoding.policy.model_copy(update={"columns": columns}))


def _open_array(X: NDArray[Any]) -> Source:
    columns = {}
    for i in range(X.shape[1]):
        column = X[:, i]
        # Through Python objects, so that a column of a mixed array gets the type of its own values.
        columns[f"x{i}"] = column.tolist() if column.dtype.kind in "OUS" else np.ascontiguousarray(column)
    return open_source(columns)


def _outputs(table: pa.Table, y: Any) -> list[pa.Array]:
    """The columns of y."""
    if y is None:
        return []
    check_consistent_length(table, y)
    array = np.asarray(y)
    return [_output(column) for column in ([array] if array.ndim == 1 else array.T)]


def _output(values: NDArray[Any]) -> pa.Array:
    """A column of y; what pandas takes for missing is missing."""
    try:
        return pa.array(values.tolist() if values.dtype.kind in "OUS" else values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError("y cannot be turned into a column: it mixes types.") from None


def _task(asked: str, name: str, output: pa.Array) -> Classify | Regress:
    """What is asked for; whole numbers are labels, as they are for scikit-learn."""
    if asked == "auto":
        fractions = pa.types.is_floating(output.type) and not pc.all(pc.equal(output, pc.round(output))).as_py()
        asked = "regress" if fractions else "classify"
    return Regress(name) if asked == "regress" else Classify(name)


def _names_for(count: int, taken: list[str]) -> list[str]:
    """Names for the columns of y that no other column has."""
    name = "target"
    while any(other.startswith(name) for other in taken):
        name = f"_{name}"
    return [name] if count == 1 else [f"{name}{i}" for i in range(count)]


def _append(table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def _like(X: Any, table: pa.Table) -> Any:
    """A table of the kind of X: the same rows, so a pandas index stays."""
    if not nw.dependencies.is_into_dataframe(X):
        return np.column_stack([np.asarray(column.to_pylist(), dtype=object) for column in table.columns])
    frame = open_source(X).restore(table)
    if nw.dependencies.is_pandas_dataframe(X):
        frame.index = X.index
    return frame

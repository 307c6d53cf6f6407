"""Synthetic people: the generator of Agrawal, Imielinski and Swami.

"Database Mining: A Performance Perspective", IEEE TKDE 5(6), 1993, as used by LeFevre, DeWitt and
Ramakrishnan, TODS 2008: attributes (Table I), classification functions (Table II; 1, 3, 8 and 10
from the 1993 paper) and regression targets (Table VI).

Money is in whole dollars, so every attribute is an int32. The papers do not say so, but it agrees
with section 6.1: 44 bytes a tuple (nine attributes, class, target), and about two million distinct
values of 4 bytes in all where the paper reports an AV group of 8.1 MB.

Rows are drawn in blocks of 65,536, each from its own random stream and always in full. Hence the
first m rows are the same however many are asked for, a table of any size can be streamed, and the
attributes do not depend on the function, the target or the noise.

Perturbation makes the borders of the classes fuzzy (Agrawal et al. 1993): after class and target
are told, a value v of an attribute whose values span a becomes v + r · p · a, with r uniform in
-0.5 to 0.5. Education, car and zip code are no quantities and stay, as does a commission of 0; what
a home is worth spans 100,000 dollars for each step of its zip code. What falls out of the range of
Table I is put on its edge, of which the papers say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rothko.errors import InputError

__all__ = ["CONSTANTS", "AgeGroups", "Disposable", "agrawal", "agrawal_batches", "random_constants"]

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Interval = tuple[int, int]

BLOCK = 65_536

AGE: Interval = (20, 80)
SALARY: Interval = (20_000, 150_000)
COMMISSION: Interval = (10_000, 75_000)
"""Of those who have one."""
HYEARS: Interval = (1, 30)
LOAN: Interval = (0, 500_000)
INCOME: Interval = (30_000, 150_000)
"""salary + commission: a commission of at least 10,000 comes with every salary below 75,000."""

COEFFICIENT_SPREAD = 0.25
"""Random constants multiply each coefficient of functions 7 to 10 by a factor in 1 ± this."""


# ── The attributes (Table I)


@dataclass(frozen=True, slots=True)
class People:
    """One block of records, a column per attribute."""

    salary: Ints
    commission: Ints
    age: Ints
    elevel: Ints
    car: Ints
    zipcode: Ints
    hvalue: Ints
    hyears: Ints
    loan: Ints


def _draw(stream: np.random.Generator) -> People:
    def uniform(low: int, high: int) -> Ints:
        return stream.integers(low, high, size=BLOCK, dtype=np.int32, endpoint=True)

    salary = uniform(*SALARY)
    commission = np.where(salary >= 75_000, np.int32(0), uniform(*COMMISSION))
    age = uniform(*AGE)
    elevel = uniform(0, 4)
    car = uniform(1, 20)
    zipcode = uniform(0, 9)
    h = stream.uniform(0.5, 1.5, size=BLOCK)
    hvalue = np.rint(zipcode * h * 100_000).astype(np.int32)
    hyears = uniform(*HYEARS)
    loan = uniform(*LOAN)
    return People(salary, commission, age, elevel, car, zipcode, hvalue, hyears, loan)


def _perturbed(people: People, part: float, stream: np.random.Generator) -> People:
    """Move every quantity at random, by up to half of this part of its span."""

    def moved(values: Ints, low: int | Ints, high: int | Ints) -> Ints:
        steps = stream.uniform(-0.5, 0.5, size=BLOCK) * part * (np.asarray(high, dtype=np.float64) - low)
        return np.clip(np.rint(values + steps), low, high).astype(np.int32)

    home = people.zipcode * np.int32(50_000)
    return replace(
        people,
        salary=moved(people.salary, *SALARY),
        commission=np.where(people.commission == 0, np.int32(0), moved(people.commission, *COMMISSION)),
        age=moved(people.age, *AGE),
        hvalue=moved(people.hvalue, home, 3 * home),
        hyears=moved(people.hyears, *HYEARS),
        loan=moved(people.loan, *LOAN),
    )


# ── The constants of the functions


@dataclass(frozen=True, slots=True)
class AgeGroups:
    """Constants of functions 1 to 6, which ask something else of the young, the middle and the old.

    Intervals are closed and stand in the order in which the paper writes them.
    """

    ages: Interval = (40, 60)
    """The first age of the middle group, and of the old."""
    income: tuple[Interval, ...] = ()
    """Intervals of salary; of salary + commission in function 6."""
    loan: tuple[Interval, ...] = ()
    """Intervals of loan, in function 5."""

    def split(self, age: Ints) -> tuple[Mask, Mask, Mask]:
        """Who is young, who is in the middle, who is old."""
        middle, old = self.ages
        return age < middle, (middle <= age) & (age < old), age >= old


@dataclass(frozen=True, slots=True)
class Disposable:
    """Coefficients of the disposable income in functions 7 to 10."""

    income: float = 0.67
    """Share of salary + commission."""
    elevel: float = 0.0
    """Dollars less for each level of education."""
    loan: float = 0.0
    """Share of the loan that is taken off."""
    equity: float = 0.0
    """Share of the home's equity that is added."""
    fixed: float = 10_000.0
    """Dollars taken off from everyone."""


Constants = AgeGroups | Disposable

_25_75, _50_100, _75_125 = (25_000, 75_000), (50_000, 100_000), (75_000, 125_000)
_100_300, _200_400, _300_500 = (100_000, 300_000), (200_000, 400_000), (300_000, 500_000)

CONSTANTS: dict[int, Constants] = {
    1: AgeGroups(),
    2: AgeGroups(income=(_50_100, _75_125, _25_75)),
    3: AgeGroups(),
    4: AgeGroups(income=(_25_75, _50_100, _50_100, _75_125, _50_100, _25_75)),
    5: AgeGroups(
        income=(_50_100, _75_125, _25_75),
        loan=(_100_300, _200_400, _200_400, _300_500, _300_500, _100_300),
    ),
    6: AgeGroups(income=(_50_100, _75_125, _25_75)),
    7: Disposable(loan=0.2, fixed=20_000),
    8: Disposable(elevel=5_000, fixed=20_000),
    9: Disposable(elevel=5_000, loan=0.2),
    10: Disposable(elevel=5_000, equity=0.2),
}
"""The constants that the papers print, for each function."""


def random_constants(function: int, *, seed: int = 0) -> AgeGroups | Disposable:
    """Constants for a function, drawn at random (TODS 2008, section 4.4).

    Every pair of ends (the two ages, each interval of salary, income or loan) is two different whole
    numbers drawn uniformly over the range of the attribute, in rising order, independently of all
    others. The paper varies functions 2 to 6 so; function 1 is treated likewise. The sets of
    education levels in functions 3 and 4 stay. The coefficients of functions 7 to 10 have no
    attribute whose range would bound them: each is multiplied by a factor uniform in 0.75 to 1.25.

    >>> random_constants(1, seed=7) == random_constants(1, seed=7)
    True
    """
    _check_function(function)
    check_seed(seed)
    paper = CONSTANTS[function]
    stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1, function)))

    def interval(domain: Interval) -> Interval:
        low, high = domain
        ends = stream.choice(high - low + 1, size=2, replace=False, shuffle=False)
        return low + int(ends.min()), low + int(ends.max())

    if isinstance(paper, Disposable):
        factors = stream.uniform(1 - COEFFICIENT_SPREAD, 1 + COEFFICIENT_SPREAD, size=len(fields(paper)))
        return Disposable(*(float(c * f) for c, f in zip(astuple(paper), factors, strict=True)))
    return replace(
        paper,
        ages=interval(AGE),
        income=tuple(interval(INCOME if function == 6 else SALARY) for _ in paper.income),
        loan=tuple(interval(LOAN) for _ in paper.loan),
    )


# ── The classification functions (Table II): who belongs to class A


def _within(x: Ints, interval: Interval) -> Mask:
    low, high = interval
    return (low <= x) & (x <= high)


def _function_1(p: People, c: AgeGroups) -> Mask:
    young, _, old = c.split(p.age)
    return young | old


def _function_2(p: People, c: AgeGroups) -> Mask:
    young, middle, old = c.split(p.age)
    return (
        (young & _within(p.salary, c.income[0]))
        | (middle & _within(p.salary, c.income[1]))
        | (old & _within(p.salary, c.income[2]))
    )


def _function_3(p: People, c: AgeGroups) -> Mask:
    young, middle, old = c.split(p.age)
    return (
        (young & np.isin(p.elevel, (0, 1)))
        | (middle & np.isin(p.elevel, (1, 2, 3)))
        | (old & np.isin(p.elevel, (2, 3, 4)))
    )


def _function_4(p: People, c: AgeGroups) -> Mask:
    young, middle, old = c.split(p.age)
    salary = [_within(p.salary, interval) for interval in c.income]
    return (
        (young & np.where(np.isin(p.elevel, (0, 1)), salary[0], salary[1]))
        | (middle & np.where(np.isin(p.elevel, (1, 2, 3)), salary[2], salary[3]))
        | (old & np.where(np.isin(p.elevel, (2, 3, 4)), salary[4], salary[5]))
    )


def _function_5(p: People, c: AgeGroups) -> Mask:
    young, middle, old = c.split(p.age)
    loan = [_within(p.loan, interval) for interval in c.loan]
    return (
        (young & np.where(_within(p.salary, c.income[0]), loan[0], loan[1]))
        | (middle & np.where(_within(p.salary, c.income[1]), loan[2], loan[3]))
        | (old & np.where(_within(p.salary, c.income[2]), loan[4], loan[5]))
    )


def _function_6(p: People, c: AgeGroups) -> Mask:
    young, middle, old = c.split(p.age)
    income = p.salary + p.commission
    return (
        (young & _within(income, c.income[0]))
        | (middle & _within(income, c.income[1]))
        | (old & _within(income, c.income[2]))
    )


def _disposable(p: People, c: Disposable) -> Floats:
    equity = np.where(p.hyears < 20, 0.0, 0.1 * p.hvalue * (p.hyears - 20))
    disposable: Floats = c.income * (p.salary + p.commission) - c.elevel * p.elevel - c.loan * p.loan
    return disposable + c.equity * equity - c.fixed


def _function_7_to_10(p: People, c: Disposable) -> Mask:
    return _disposable(p, c) > 0


_FUNCTIONS: dict[int, Callable[[People, Any], Mask]] = {
    1: _function_1,
    2: _function_2,
    3: _function_3,
    4: _function_4,
    5: _function_5,
    6: _function_6,
    7: _function_7_to_10,
    8: _function_7_to_10,
    9: _function_7_to_10,
    10: _function_7_to_10,
}

_CLASSES = pa.array(["B", "A"])

# The regression targets (Table VI): the disposable income of functions 7 and 10, whatever constants label the classes.
_TARGETS = {"R7": Disposable(loan=0.2, fixed=20_000), "R10": Disposable(elevel=5_000, equity=0.2)}


# ── Tables


def agrawal(
    n: int,
    *,
    function: int | None = 2,
    target: Literal["R7", "R10"] | None = None,
    noise: float = 0.0,
    perturb: float = 0.0,
    constants: Literal["random"] | AgeGroups | Disposable | None = None,
    seed: int = 0,
) -> pa.Table:
    """Generate a table of n synthetic people.

    The first m rows are the same for every n ≥ m, and the attributes are the same for every function,
    target, noise and constants. Classes and targets are the same with and without perturbation.

    Parameters
    ----------
    n
        How many records.
    function
        The classification function, 1 to 10, that fills the column `class` with A or B; None for no such column.
    target
        The regression target, R7 or R10, that fills the column `target`, in whole dollars.
    noise
        The chance of each record, independently, to get the other class.
    perturb
        The perturbation factor p: after class and target are told, every quantity moves at random by up to p/2 of what
        its values span.
    constants
        None for those of the papers; ``"random"`` for `random_constants` with the same seed; or an object
        from `random_constants`, so that tables with different seeds (training, testing) share them.
    seed
        The same seed gives the same table.

    >>> people = agrawal(1_000, function=2, target="R7", seed=1)
    >>> people.num_rows, people.column_names[-3:]
    (1000, ['loan', 'class', 'target'])
    >>> agrawal(100, function=2, target="R7", seed=1) == people.slice(0, 100)
    True
    """
    return pa.Table.from_batches(_blocks(n, function, target, noise, perturb, constants, seed))


def agrawal_batches(
    n: int,
    *,
    batch: int = 1_000_000,
    function: int | None = 2,
    target: Literal["R7", "R10"] | None = None,
    noise: float = 0.0,
    perturb: float = 0.0,
    constants: Literal["random"] | AgeGroups | Disposable | None = None,
    seed: int = 0,
) -> Iterator[pa.RecordBatch]:
    """Generate the table that `agrawal` gives, in pieces of `batch` records (the last may be shorter).

    At most one piece and one block are in memory. The other parameters are those of `agrawal`.

    >>> [piece.num_rows for piece in agrawal_batches(250, batch=100)]
    [100, 100, 50]
    """
    check_count(batch, "batch")
    return rebatch(_blocks(n, function, target, noise, perturb, constants, seed), batch)


def _blocks(
    n: int, function: int | None, target: str | None, noise: float, perturb: float,
    constants: str | Constants | None, seed: int,
) -> Iterator[pa.RecordBatch]:  # fmt: skip
    """Draw the table block by block, after checking at once what was asked."""
    check_count(n, "n")
    check_seed(seed)
    if not 0 <= noise <= 1:
        raise InputError(f"noise is a share of the records, between 0 and 1, not {noise}.")
    if not 0 <= perturb <= 1:
        raise InputError(f"perturb is a part of what an attribute's values span, between 0 and 1, not {perturb}.")
    if target is not None and target not in _TARGETS:
        raise InputError(f"There is no regression target {target!r}: choose R7 or R10.")
    if function is None and (noise or constants is not None):
        raise InputError("noise and constants change class labels, so they need a function from 1 to 10.")
    chosen = None if function is None else _choose_constants(function, constants, seed)

    def draw(index: int) -> pa.RecordBatch:
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, index)))
        people = _draw(stream)
        shown = people
        if perturb:
            steps = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2, index)))
            shown = _perturbed(people, perturb, steps)
        columns = {field.name: pa.array(getattr(shown, field.name)) for field in fields(shown)}
        if function is not None:
            in_a = _FUNCTIONS[function](people, chosen)
            if noise:
                in_a ^= stream.random(BLOCK) < noise
            columns["class"] = _CLASSES.take(pa.array(in_a.astype(np.int8)))
        if target is not None:
            columns["target"] = pa.array(np.rint(_disposable(people, _TARGETS[target])).astype(np.int32))
        return pa.record_batch(columns).slice(0, n - index * BLOCK)

    return (draw(index) for index in range(-(-n // BLOCK)))


def rebatch(blocks: Iterator[pa.RecordBatch], batch: int) -> Iterator[pa.RecordBatch]:
    """The same records in pieces of ``batch``; the last may be shorter."""
    pieces: list[pa.RecordBatch] = []
    missing = batch
    for block in blocks:
        start = 0
        while start < block.num_rows:
            pieces.append(block.slice(start, missing))
            start += pieces[-1].num_rows
            missing -= pieces[-1].num_rows
            if not missing:
                yield pa.concat_batches(pieces)
                pieces, missing = [], batch
    if pieces:
        yield pa.concat_batches(pieces)


def _choose_constants(function: int, constants: str | Constants | None, seed: int) -> Constants:
    _check_function(function)
    paper = CONSTANTS[function]
    if constants is None:
        return paper
    if constants == "random":
        return random_constants(function, seed=seed)
    if isinstance(constants, str):
        raise InputError(f"constants is None, 'random' or an object from random_constants, not {constants!r}.")
    if _shape(constants) != _shape(paper):
        raise InputError(f"These constants are not for function {function}; see random_constants.")
    return constants


def _shape(constants: Constants) -> tuple[type, int, int]:
    if isinstance(constants, AgeGroups):
        return AgeGroups, len(constants.income), len(constants.loan)
    return type(constants), 0, 0


def _check_function(function: int) -> None:
    if function not in _FUNCTIONS:
        raise InputError(f"There is no classification function {function}: choose one from 1 to 10.")


def check_count(value: int, name: str) -> None:
    """Refuse what is no number of records."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number of records, at least 1, not {value}.")


def check_seed(seed: int) -> None:
    """Refuse what is no seed."""
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed must be a whole number that is not negative, not {seed}.")

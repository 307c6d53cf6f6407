"""What a method for set-valued records is: options, and the function that groups the records.

Two kinds, after the two models of Podgursky, "Practical k-Anonymity on Large Datasets" (Vanderbilt, 2011), chapter III:
a :class:`SetMethod` makes classes, and all records of a class publish the items that they share; a
:class:`SetK1Method` publishes a set of its own for every record, which at least k original records contain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rothko.errors import PolicyError, nearest
from rothko.privacy import K1Anonymity, KAnonymity
from rothko.sets.records import Records

Progress = Callable[[int], None]
"""Called with the number of records whose classes have just become final, or that stand for the work just done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMethod:
    """Base of the methods for sets; a subclass adds its options and validates them on construction."""

    name: ClassVar[str]
    """The name on the command line and in Python."""
    requirement: ClassVar[type[KAnonymity] | type[K1Anonymity]] = KAnonymity
    """What it meets."""

    def meeting(self, k: object) -> KAnonymity | K1Anonymity:
        """What it meets with this k; an error where that is none."""
        try:
            return self.requirement(k=k)  # type: ignore[arg-type]
        except PolicyError as error:
            raise PolicyError(str(error).removeprefix(f"{self.requirement.name}: ")) from None

    def group(self, records: Records, k: int, *, seed: int, threads: int, progress: Progress) -> NDArray[np.int32]:
        """The class of each record, numbered from 0 without gaps; every class has at least k records.

        There are at least k records.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SetK1Method(SetMethod):
    """Base of the methods that publish a set of its own for every record."""

    requirement = K1Anonymity

    def publish(
        self, records: Records, k: int, seed: int, *, threads: int = 1, progress: Progress = lambda _: None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The published sets in the order of the records, as CSR; at least k records contain each of them."""
        raise NotImplementedError


def one_of(method: str, option: str, value: object, known: tuple[str, ...]) -> None:
    """Refuse an option that is not one of some words."""
    if value not in known:
        raise PolicyError(
            f"{method}: {option} must be one of {', '.join(known)}, not {value!r}; {nearest(str(value), known)}"
        )

"""Who adds up what the parts of a release lose: asked by a release that comes part by part, and made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.data.survey.coded import Outline
from rothko.engines.growing import Tables
from rothko.engines.part import LargeClass
from rothko.methods.classes import Classes
from rothko.policy.policy import Policy
from rothko.release.loss import Loss
from rothko.release.publish import Published

if TYPE_CHECKING:
    from rothko.release.large_class import Sums

Shown = Mapping[str, Sequence[Published]]
"""Quasi-identifier → the columns that publish it."""


class Meter(Protocol):
    """Adds up what parts of a table lose; no class lies in two of them."""

    def add(self, encoded: Encoded, partition: Classes, classes: NDArray[np.int32], published: Shown) -> None:
        """Take in some classes: their records, the class of each, and what the classes show."""
        ...

    def add_counted(self, encoded: Encoded, partition: Classes, times: NDArray[np.int64], published: Shown) -> None:
        """Take in some classes by their different records, class by class, and how often each occurs."""
        ...

    def add_class(self, part: LargeClass, sums: Sums, published: Shown) -> None:
        """Take in a class whose records do not fit in memory."""
        ...

    def add_piece(self, part: LargeClass, sums: Sums, published: Shown) -> None:
        """Take in some records of such a class, the others of which are elsewhere."""
        ...

    def measured(self) -> Any:
        """What was taken in so far, as plain data that another meter of the table can take in."""
        ...

    def take_in(self, measured: Any) -> None:
        """Add what another meter has measured."""
        ...

    def finish(self) -> Loss:
        """What all parts lost together, as it may go with the release."""
        ...


class NewMeter(Protocol):
    """Makes a meter for a table; what it cannot hold in memory it writes down in ``tables``."""

    def __call__(
        self, policy: Policy, outline: Outline, tables: Tables, *, threads: int = 1, memory: int | None = None
    ) -> Meter:
        """A meter that has seen no part."""
        ...

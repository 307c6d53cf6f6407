"""hilbert and hilbert-fast: records along the Hilbert curve, grouped with the neighbours that they have there.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, sections 3 to 5. The
curve is :func:`rothko.methods.curve.curve.hilbert_curve`, the groups are :mod:`rothko.methods.curve.onedim`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rothko.data.encode import Encoded
from rothko.errors import PolicyError
from rothko.methods.classes import LocalClasses
from rothko.methods.curve.curve import BITS, hilbert_curve
from rothko.methods.curve.onedim import group
from rothko.methods.method import LocalMethod, Progress, flag
from rothko.privacy.requirement import Requirement, whole_number

MOST_BITS = 16
"""What the kernel has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hilbert(LocalMethod):
    """Groups along the Hilbert curve that lose least, as their boxes tell (Hilb in the paper).

    >>> Hilbert(bits=8).name
    'hilbert'
    """

    name: ClassVar[str] = "hilbert"
    exact: ClassVar[bool] = True
    """Whether the loss of a group is that of its box, or how far it reaches along the curve."""

    bits: int = BITS
    """How finely the curve divides each dimension: into 2^bits parts."""

    def __post_init__(self) -> None:
        flag(self.name, "repair", self.repair)
        whole_number(self.name, "bits", self.bits, least=1)
        if self.bits > MOST_BITS:
            raise PolicyError(f"{self.name}: bits must be at most {MOST_BITS}, not {self.bits}.")

    def group(
        self, encoded: Encoded, requirements: Sequence[Requirement], *, seed: int, threads: int, progress: Progress
    ) -> LocalClasses:
        """Group the records along the curve."""
        curve = hilbert_curve(encoded, threads=threads, bits=self.bits)
        found = group(encoded, curve, requirements, name=self.name, exact=self.exact, threads=threads)
        progress(encoded.rows)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class HilbertFast(Hilbert):
    """Groups along the Hilbert curve that reach least far along it (HilbFast in the paper): faster, and lose more."""

    name: ClassVar[str] = "hilbert-fast"
    exact: ClassVar[bool] = False

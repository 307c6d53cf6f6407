"""hilbert and hilbert-fast: records along the Hilbert curve, grouped with the neighbours that they have there.

Ghinita, Karras, Kalnis, Mamoulis: Fast Data Anonymization with Low Information Loss. VLDB 2007, sections 3 to 5. The
curve is :class:`rothko.methods.curve.curve.HilbertMapping`, the groups are :mod:`rothko.methods.curve.onedim`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rothko.data.encode import Encoded
from rothko.errors import PolicyError
from rothko.methods.curve.curve import BITS, HilbertMapping
from rothko.methods.curve.method import CurveMethod
from rothko.privacy.requirement import whole_number

MOST_BITS = 16
"""What the kernel has room for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hilbert(CurveMethod):
    """Groups along the Hilbert curve that lose least, as their boxes tell (Hilb in the paper).

    >>> Hilbert(bits=8).name
    'hilbert'
    """

    name: ClassVar[str] = "hilbert"
    bits: int = BITS
    """How finely the curve divides each dimension: into 2^bits parts."""

    def __post_init__(self) -> None:
        CurveMethod.__post_init__(self)
        whole_number(self.name, "bits", self.bits, least=1)
        if self.bits > MOST_BITS:
            raise PolicyError(f"{self.name}: bits must be at most {MOST_BITS}, not {self.bits}.")

    def mapping(self, sample: Encoded, *, seed: int, threads: int) -> HilbertMapping:
        """The curve, which is the same for all tables of these lines."""
        return HilbertMapping(self.bits, reading=self.reading)


@dataclass(frozen=True, slots=True, kw_only=True)
class HilbertFast(Hilbert):
    """Groups along the Hilbert curve that reach least far along it (HilbFast in the paper): faster, and lose more."""

    name: ClassVar[str] = "hilbert-fast"
    exact: ClassVar[bool] = False

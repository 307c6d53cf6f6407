"""A finished part of a table that does not fit in memory: its records in classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rothko.data.encode import Encoded
from rothko.methods.partition import Partition


@dataclass(frozen=True, slots=True)
class Part:
    """What one leaf of the top of the tree became, once it fitted in memory."""

    encoded: Encoded
    partition: Partition
    kept: pa.Table
    """The columns that are released as they are, record by record."""
    leaf: int
    """The node of the top of the tree that the part hangs from."""
    low: NDArray[np.int32]
    """The region of that node: its first code on every line."""
    high: NDArray[np.int32]
    """Its last code on every line."""

"""Records of a table as codes on its lines, some at a time, once a survey has settled what the lines are.

Plain data and functions: a coder can be sent to where the records lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from rothko.data.encode import Codes
from rothko.data.survey.coded import Coded
from rothko.data.survey.lookup import Lookup
from rothko.errors import InputError

SideBySide = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]


@dataclass(frozen=True, slots=True)
class Coder:
    """What gives records their codes."""

    label: str
    """What messages call the table."""
    kept: tuple[str, ...]
    """The columns that are released as they are, in the order of the source."""
    lines: dict[str, Lookup]
    """By quasi-identifier, in the order of the policy."""
    domains: dict[str, Lookup]

    def code(self, table: pa.Table, run: SideBySide = map) -> Coded:
        """Some records as codes."""
        codes = np.empty((len(self.lines), table.num_rows), dtype=np.int32)
        values = {name: np.empty(table.num_rows, dtype=np.int32) for name in self.domains}
        on_lines = [(name, look, out) for (name, look), out in zip(self.lines.items(), codes, strict=True)]
        in_domains = [(name, look, values[name]) for name, look in self.domains.items()]

        def look_up(job: tuple[str, Lookup, Codes]) -> bool:
            name, look, out = job
            look(table[name], out)
            return bool(out.min(initial=0) >= 0)

        if not all(run(look_up, [*on_lines, *in_domains])):
            raise self.changed()
        return Coded(codes, values, table.select(list(self.kept)))

    def changed(self) -> InputError:
        """What is said where a later pass finds other records than the first."""
        return InputError(f"{self.label} has changed while it was read; start again.")


@contextmanager
def side_by_side(threads: int) -> Iterator[SideBySide]:
    """A way to do some work on each of some things, kept for all batches of a pass."""
    if threads == 1:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map

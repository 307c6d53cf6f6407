"""What runs the engines for tables that do not fit in memory."""

from __future__ import annotations

from rothko.engines.disk.run import run as run_on_disk
from rothko.engines.engine import Runs
from rothko.engines.options import RothkoS, RothkoT

RUNS: dict[str, Runs] = {RothkoT.name: run_on_disk, RothkoS.name: run_on_disk}
"""Engine → what runs it; the memory engine is none of them, for it holds all records at once."""

"""Every engine, and how to make memory so small that a small table takes several passes on disk."""

from __future__ import annotations

from typing import Any

import pytest

ENGINES = ("memory", "rothko-t", "rothko-s")
FITS = 700
"""Records that fit in memory, where it is small."""


def small(engine: str, **options: Any) -> Any:
    """An engine as a policy says it, which takes no more than a few hundred records into memory at once."""
    return engine if engine == "memory" else {engine: {"records_at_once": FITS, **options}}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    """The name of an engine: a test that takes it holds for all of them."""
    return str(request.param)


@pytest.fixture(params=ENGINES[1:])
def disk_engine(request: pytest.FixtureRequest) -> str:
    """One of those on disk, for what only a run in several passes can do."""
    return str(request.param)

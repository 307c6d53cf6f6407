"""Every engine, with so little memory that a small table takes several passes on disk."""

from __future__ import annotations

import pytest

from rothko.engines.plan import Budget

ENGINES = ("memory", "rothko-t", "rothko-s")
FITS = 700
"""Records that fit in memory, where it is little."""


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> int:
    """Parts of a few hundred records, so that a small table takes several passes; how many fit in memory."""
    small = Budget(memory=10**9, baseline=0, frequency=4_000_000, buffers=1 << 20, tuples=FITS)
    monkeypatch.setattr("rothko.engines.disk.run.budget", lambda *_, **__: small)
    return FITS


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, little_memory: int) -> str:
    """What a policy or a call may say of the engine: a test that takes it holds for all of them."""
    return str(request.param)


@pytest.fixture(params=ENGINES[1:])
def disk_engine(request: pytest.FixtureRequest, little_memory: int) -> str:
    """Those on disk, for what only a run in several passes can do."""
    return str(request.param)

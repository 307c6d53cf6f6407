from __future__ import annotations

import pytest

from rothko.engines.plan import Budget


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> int:
    """Parts of a few hundred records, so that a small table takes several passes; how many fit in memory."""
    small = Budget(memory=10**9, baseline=0, frequency=4_000_000, buffers=1 << 20, tuples=700)
    monkeypatch.setattr("rothko.engines.disk.stream.budget", lambda *_, **__: small)
    return small.tuples

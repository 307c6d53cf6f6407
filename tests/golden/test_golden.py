"""What a release was when it was recorded, it still is: the quick cases of ``python -m tests.golden.matrix``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.golden import data, matrix
from tests.golden.ran import Case, run

CASES = matrix.cases()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("golden")
    data.write_all(folder)
    return folder


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return matrix.recorded()


@pytest.mark.parametrize("case", [case for case in CASES if case.quick], ids=lambda case: case.name)
def test_nothing_changed(case: Case, source: Path, kept: dict[str, Any]) -> None:
    differ = matrix.differences(case, run(case, source), kept)
    assert not differ, f"{case.name}: {', '.join(differ)}; python -m tests.golden.matrix --keep FOLDER shows it"


def test_every_case_was_recorded(kept: dict[str, Any]) -> None:
    assert sorted(kept["cases"]) == [case.name for case in CASES]

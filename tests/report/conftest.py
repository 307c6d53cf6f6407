"""A release with its files, and pages about it, shared by all who look at them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.looks import made_hospital, made_pages


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``patients.parquet``, its release in ``release`` and the policy in ``policy.yaml``."""
    return made_hospital(tmp_path_factory.mktemp("hospital"))


@pytest.fixture(scope="session")
def pages(hospital: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages that are opened in a browser."""
    return made_pages(hospital, tmp_path_factory.mktemp("pages"))

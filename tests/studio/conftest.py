"""A folder with tables, and studios that are served for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow.csv
import pytest

from rothko.generate.patients import patients
from tests.studio.served import Client, served


@pytest.fixture(scope="session")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``patients.csv``."""
    folder = tmp_path_factory.mktemp("ward")
    pyarrow.csv.write_csv(patients(400).drop_columns(["cost"]), folder / "patients.csv")
    return folder


@pytest.fixture(scope="session")
def shared(ward: Path) -> Iterator[Client]:
    """One studio for all who only look, or put back what they change."""
    with served(ward) as client:
        yield client


@pytest.fixture
def studio(shared: Client) -> Client:
    """The same with its table, and the policy as it was drafted."""
    desk = shared.desk
    if desk.table is None or desk.table.shown != "patients.csv" or desk.seen is None or not desk.seen.exact:
        shared.open("patients.csv")
    desk.history.begin(desk.seen.draft.policy, "draft")
    desk.notes.clear()
    return shared

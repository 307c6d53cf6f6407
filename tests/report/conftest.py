"""A release with its files, shared by all who look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

import rothko as rk
from rothko.generate.patients import patients

POLICY = """
columns:
  name: {role: identifier}
  birth_date: {role: quasi-identifier, type: date}
  sex: {role: quasi-identifier}
  zip: {role: quasi-identifier, hierarchy: auto}
  education: {role: quasi-identifier, order: [none, primary, secondary, vocational, bachelor, master, doctorate]}
  diagnosis: {role: sensitive}
  cost: {role: keep}
privacy:
  - k-anonymity: {k: 10}
  - distinct-l-diversity: {l: 3, of: diagnosis}
workload:
  - classify: {target: diagnosis}
"""


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``patients.parquet``, its release in ``release`` and the policy in ``policy.yaml``."""
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("hospital")
    (folder / "policy.yaml").write_text(POLICY)
    pq.write_table(patients(600), folder / "patients.parquet")
    rk.anonymize(folder / "patients.parquet", folder / "policy.yaml").save(folder / "release")
    return folder

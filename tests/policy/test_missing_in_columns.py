"""What stands for a missing value in one column, and is a value of another."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

import rothko as rk
from rothko.errors import PolicyError
from rothko.policy.json_schema import json_schema

LINES = [
    f"{99 if i % 8 == 0 else 20 + i % 5},{99 if i % 4 == 0 else i % 7},{'flu' if i % 3 else 'k.A.'}" for i in range(160)
]
POLICY = """
columns:
  age: {role: quasi-identifier, missing: [99]}
  rooms: {role: quasi-identifier}
  disease: {role: sensitive, missing: k.A.}
privacy:
  - k-anonymity: {k: 4}
"""


@pytest.mark.parametrize("engine", ["memory", "rothko-t"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_it_is_read_as_nothing_there_and_nowhere_else(folder: Path, engine: str, ending: str) -> None:
    Path("people.csv").write_text("\n".join(["age,rooms,disease", *LINES]) + "\n")
    policy = rk.Policy.parse(POLICY)
    release = rk.anonymize("people.csv", policy, engine=engine, method="mondrian")
    saved = release.save(f"out{ending}", recoding="r/")
    table = rk.anonymize("people.csv", policy.but(method="mondrian")).table
    assert release.table.sort_by([(name, "ascending") for name in table.column_names]).equals(
        table.sort_by([(name, "ascending") for name in table.column_names])
    )
    assert table["disease"].null_count == 54  # and the word does not leave
    assert {text for text in table["rooms"].to_pylist() if "99" in str(text)}
    assert not any("99" in str(text) for text in table["age"].to_pylist())
    assert rk.check(saved.data, policy).holds
    phi = rk.Recoding.load("r/")
    new = phi.apply({"age": [99, 22], "rooms": [99, 3], "disease": ["k.A.", "flu"]})
    assert new["disease"].tolist() == [None, "flu"]
    assert rk.Policy.parse(policy.dump()) == policy


def test_a_mistake_is_told() -> None:
    asked = {"columns": {"age": {"role": "keep", "missing": [99]}}, "privacy": [{"k-anonymity": {"k": 4}}]}
    jsonschema.validate(asked, json_schema())
    assert rk.Policy.parse(POLICY).columns["age"].missing == ("99",)
    assert rk.Policy.parse(POLICY).but(columns={"age": {"role": "quasi-identifier", "missing": 99}}).columns[
        "age"
    ].missing == ("99",)
    with pytest.raises(PolicyError, match="'missing' is only for role: quasi-identifier, sensitive or keep"):
        rk.Policy.parse(POLICY.replace("age: {role: quasi-identifier", "age: {role: identifier"))

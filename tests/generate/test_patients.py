"""The patients of the README, and their visits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest

from rothko.errors import InputError
from rothko.generate.patients import patients, visits
from tests.command import Rothko

README = Path(__file__).parents[2] / "README.md"


def test_the_first_patients_are_those_of_the_readme(rothko: Rothko, folder: Path) -> None:
    assert rothko("generate", "patients", "--out", "patients.csv").code == 0
    lines = Path("patients.csv").read_text().splitlines()
    assert len(lines) == 10_001
    shown = "".join(f"    {line}\n" for line in lines[:4])
    assert shown in README.read_text()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".arrow", ".feather"])
def test_every_format_that_is_written(ending: str, rothko: Rothko, folder: Path) -> None:
    assert rothko("generate", "patients", "-n", 20, "--out", f"p{ending}").code == 0
    ran = rothko("draft", f"p{ending}")
    assert (ran.code, "of 20 records" in ran.err) == (0, True), ran.err


def test_everybody_comes_and_stays_the_same_person() -> None:
    table = visits(500, mean=3, seed=1)
    of_person = table.select(["patient_id", "name", "birth_date", "sex", "zip", "education"])
    assert of_person.group_by(of_person.column_names).aggregate([]).num_rows == 500
    assert pc.count_distinct(table["patient_id"]).as_py() == 500
    assert 2.7 < table.num_rows / 500 < 3.3
    assert np.unique(table["visit_date"].cast("int32").to_numpy()).min() == 19_723
    assert visits(500, mean=3, seed=1).equals(table)
    assert not visits(500, mean=3, seed=2).equals(table)
    with pytest.raises(InputError, match="at least once"):
        visits(5, mean=0.5)


def test_visits_on_the_command_line(rothko: Rothko, folder: Path) -> None:
    assert rothko("generate", "patients", "-n", 30, "--visits", 2, "--out", "visits.parquet").code == 0
    assert pq.read_table("visits.parquet").equals(visits(30, mean=2))
    assert rothko("generate", "patients", "-n", 30, "--out", "p.csv", "--seed", 4).code == 0
    assert pcsv.read_csv("p.csv")["cost"].equals(patients(30, seed=4)["cost"])

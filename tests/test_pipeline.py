"""The examples for pipelines run, and the page shows them as they are; the image is made of what is there."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rothko.methods import METHODS
from tests.documented import fenced

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples/pipeline"
POLICY = """
columns: {age: {role: quasi-identifier}, disease: {role: sensitive}}
privacy: [{k-anonymity: {k: 5}}]
"""


@pytest.fixture
def hospital(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rows = [f"{20 + i % 30},{'xyz'[i % 3]}\n" for i in range(90)]
    (tmp_path / "people.csv").write_text("age,disease\n" + "".join(rows))
    (tmp_path / "policy.yaml").write_text(POLICY)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path


def loaded(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_shows_the_examples() -> None:
    shown = {body.strip() for language, body in fenced((ROOT / "docs/how-to/in-a-pipeline.md").read_text()) if language}
    assert {path.read_text().strip() for path in EXAMPLES.iterdir() if path.is_file()} <= shown


def test_cron(hospital: Path) -> None:
    run = [EXAMPLES / "nightly.sh", hospital]
    assert subprocess.run(run, check=False).returncode == 0
    assert json.loads((hospital / "run.json").read_text())["unchanged"] is False
    assert subprocess.run(run, check=False).returncode == 0
    assert json.loads((hospital / "run.json").read_text())["unchanged"] is True
    events = [json.loads(line) for line in (hospital / "nightly.log").read_text().splitlines()]
    assert [one["exit_code"] for one in events if one["event"] == "end"] == [0, 0]
    (hospital / "policy.yaml").write_text(POLICY.replace("5", "500"))
    failed = subprocess.run(run, check=False, capture_output=True, text=True)
    assert (failed.returncode, failed.stderr.split(";")[1]) == (3, " the older release stays\n")
    assert (hospital / "public/release.csv").exists()


def test_airflow(hospital: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow is not here: its decorators leave functions as they are, and the task is called."""
    sdk, exceptions = types.ModuleType("airflow.sdk"), types.ModuleType("airflow.exceptions")
    sdk.task = lambda **options: lambda function: function  # type: ignore[attr-defined]
    sdk.dag = lambda **options: lambda function: lambda: None  # type: ignore[attr-defined]
    exceptions.AirflowFailException = type("AirflowFailException", (Exception,), {})  # type: ignore[attr-defined]
    for module in (types.ModuleType("airflow"), sdk, exceptions):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    dag = loaded("airflow_dag")
    told = dag.release(str(hospital))
    assert (told["rows"], told["verified"], told["unchanged"]) == (90, True, False)
    (hospital / "policy.yaml").write_text(POLICY.replace("5", "500"))
    with pytest.raises(dag.AirflowFailException, match="cannot meet k-anonymity with k = 500"):
        dag.release(str(hospital))


def test_dbt(hospital: Path) -> None:
    class Config:
        def __call__(self, **options: Any) -> None:
            assert options == {"materialized": "table"}

        def get(self, name: str) -> Path:
            return hospital / f"{name}.yaml"

    with duckdb.connect() as session:
        dbt = types.SimpleNamespace(config=Config(), ref=lambda name: session.read_csv(hospital / f"{name}.csv"))
        released = loaded("dbt_model").model(dbt, session)
    assert released.num_rows == 90
    assert set(released.column_names) == {"age", "disease"}


def test_the_image_is_made_of_what_is_there() -> None:
    text = (ROOT / "Dockerfile").read_text()
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = [word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()]
    assert set(copied) == let_in
    assert all((ROOT / name).exists() for name in copied)
    assert set(re.findall(r"--method (\S+?)[\"\s]", text)) <= set(METHODS)
    users = re.findall(r"^USER (\d+)", text, re.MULTILINE)
    assert users
    assert users[-1] != "0"

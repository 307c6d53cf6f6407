"""In a notebook: a real kernel, without ipywidgets. One kernel for all cells, since each start takes seconds."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

PREPARE = """
import sys
import duckdb
import rothko as rk
assert "ipywidgets" not in sys.modules
table = {"age": list(range(40)) * 3, "disease": ["flu", "cold", "gout"] * 40}
policy = rk.Policy.parse('''
columns: {age: {role: quasi-identifier}, disease: {role: sensitive}}
privacy: [{k-anonymity: {k: 3}}]
''')
connection = duckdb.connect()
try:
    connection.execute("SET enable_progress_bar = false")
except duckdb.InvalidInputException as error:
    print("ipywidgets" in str(error))
"""
CELLS = {
    PREPARE: "True\n",  # DuckDB takes this for a notebook: otherwise nothing below would be tested
    "rk.check(table, policy).holds": "True",
    "rk.anonymize(table, policy)": "Release(120 records in 40 classes, verified: True)",
    "rk.anonymize(table, policy, engine='rothko-t', memory=1_000_000_000)": (
        "StoredRelease(120 records in 40 classes, verified: True)"
    ),
    "saved = rk.anonymize(table, policy).save('release')\nrk.check(saved.data, policy).holds": "True",
    "rk.anonymize(str(saved.data), policy).save('again').certificate.verification.holds": "True",
}


def test_a_notebook_without_ipywidgets_shows_results_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(folder / "jupyter"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=300, allow_errors=True).execute(cwd=str(folder))
    shown = [
        [
            out.get("evalue") or out.get("text") or out["data"]["text/plain"]
            for out in cell.outputs
            if "compiling for this machine, once" not in out.get("text", "")
        ]
        for cell in notebook.cells
    ]
    assert shown == [[text] for text in CELLS.values()]

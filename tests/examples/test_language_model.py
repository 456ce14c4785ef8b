"""The recipe from a language model to a labelled forest, on a small random model."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordforest as wf

pytest.importorskip("torch")
recipe = pytest.importorskip("examples.language_model")

from tests.examples.test_smollm2 import Letters, V, small  # noqa: E402 not without PyTorch

SMALL = {"trees": 2, "branching": (2,), "active": 2}


class Names(Letters):
    """Letters that also have names."""

    def id_to_token(self, row: int) -> str:
        return "Ġ" + chr(96 + row) if row else "<|endoftext|>"


def model() -> Any:
    made = small()
    weights = {name: value.float() for name, value in made.weights.items()}
    return replace(made, weights=weights, tokenizer=Names())


def test_embeddings_become_a_run_that_can_be_read(tmp_path: Path) -> None:
    run = recipe.of_embeddings(model(), **SMALL)
    assert len(run.words) == V
    assert (np.diff(run.codes.indptr) <= 2).all()
    wf.save_run(tmp_path / "run", run)
    assert wf.load_run(tmp_path / "run").vectors.n_dimensions == 6


def test_activations_become_a_run_with_contexts(tmp_path: Path) -> None:
    letters = np.random.default_rng(0).integers(1, V, (60, 12))
    lines = ["".join(chr(96 + letter) for letter in line) for line in letters]
    run = recipe.of_activations(model(), lines, 1, tmp_path / "run", **SMALL)
    wf.save_run(tmp_path / "run", run)
    kept = wf.load_run(tmp_path / "run")
    assert 0 < len(kept.words) < V
    remarks = [note.remark for note in kept.labels.values()]
    assert remarks
    assert all("[" in remark for remark in remarks)
    assert (tmp_path / "run" / "sae" / "cfg.json").is_file()
    assert len(wf.interop.load_coder(tmp_path / "run" / "coder").forest_) == 6

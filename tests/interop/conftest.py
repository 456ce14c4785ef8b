"""Two small models of the same corpus: one that documents can be placed on, and the paper's."""

from __future__ import annotations

from pathlib import Path

import pytest

import wordforest as wf


@pytest.fixture(scope="session")
def readable(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose forest is additive, so that cosines are of ``comparable`` vectors."""
    folder = tmp_path_factory.mktemp("interop") / "readable"
    wf.train(corpus, preset="readable", trees=4, branching=(2,), min_count=1, out=folder)
    return folder


@pytest.fixture(scope="session")
def plain(corpus: Path) -> wf.Run:
    """A run of the paper's method, with signs."""
    return wf.train(corpus, trees=3, branching=(2,), min_count=1, epochs=2)

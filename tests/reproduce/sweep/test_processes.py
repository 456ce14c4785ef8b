"""X of a source: thinned counts, unit rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from wordforest.jobs.count import count_corpus
from wordforest.reproduce.sweep.processes import make_rows, thinned
from wordforest.runtime.machine import Threads


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    folder = tmp_path_factory.mktemp("counts") / "counts"
    count_corpus(str(corpus), folder, min_count=5)
    return folder


def test_thinned_counts_keep_about_their_share_and_no_zeros() -> None:
    counts = sparse.csr_array(np.random.default_rng(0).poisson(3, (60, 50)))
    found = thinned(counts, 0.25)
    assert found.sum() == pytest.approx(0.25 * counts.sum(), rel=0.05)
    assert found.data.min() > 0
    assert (counts - found).toarray().min() >= 0
    assert (thinned(counts, 0.25) != found).nnz == 0  # the same draw


def test_rows_are_the_associations_of_train(counts: Path, corpus: Path) -> None:
    X = make_rows(counts, 1, "raw", "cpu", 13, Threads(1)).pairs()
    assert (wf.pmi(wf.count(str(corpus), min_count=5)) != X).nnz == 0


def test_unit_rows_have_length_one(counts: Path) -> None:
    raw, unit = (make_rows(counts, 1, kind, "cpu", 13, Threads(1)) for kind in ("raw", "unit"))
    np.testing.assert_allclose(unit.squares(), 1, rtol=1e-6)
    np.testing.assert_allclose(unit.row(3) * raw.lengths()[3], raw.row(3), rtol=1e-6)

"""SC and NNSE: the flat forest, and codes that are never negative."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from wordforest.baselines.sparse_coding import SparseCodingSettings
from wordforest.coder.fit import fit
from wordforest.coder.rows import as_rows
from wordforest.errors import InputError


def sparse_matrix(rows: int, columns: int, seed: int = 0) -> sparse.csr_array:
    """Return a matrix with a falling spectrum, a tenth of it stored."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((rows, columns), density=0.1, rng=rng, format="csr")
    return sparse.csr_array(X * (1 + 10 / (1 + np.arange(columns))[None, :]))


class TestSparseCoding:
    def test_sc_is_the_flat_forest(self):
        X = sparse_matrix(200, 60)
        ours = fit(as_rows(X), SparseCodingSettings(dimensions=8, lam=0.3).plan)
        flat = wf.coder.learn_online(X, wf.coder.ForestL2(wf.Forest.flat(8), 0.3), 8)
        assert np.allclose(ours.A, flat.A, atol=1e-6)

    def test_nnse_codes_are_never_negative_and_some_are_zero(self):
        X = sparse_matrix(200, 60)
        A = fit(as_rows(X), SparseCodingSettings(dimensions=8, lam=0.3, nonnegative=True).plan).A
        assert A.min() == 0
        assert A.max() > 0

    def test_bad_settings(self):
        with pytest.raises(InputError, match="lam = -1"):
            SparseCodingSettings(lam=-1)

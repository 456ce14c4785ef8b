"""word2vec: the vectors of gensim called directly, progress, bad settings."""

from __future__ import annotations

import numpy as np
import pytest

from wordforest.baselines.word2vec import Word2VecSettings, learn_word2vec
from wordforest.errors import InputError


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
            corpus_file=str(tmp_path / "text.txt"),
            vector_size=6,
            sg=int(skip_gram),
            hs=int(hierarchical),
            negative=0 if hierarchical else 5,
            min_count=1,
            epochs=2,
            seed=3,
            workers=1,
        )
        assert np.allclose(ours, [theirs.wv[str(i)] for i in range(20)], atol=1e-6)

    def test_a_word_that_never_occurs_has_zeros(self):
        assert not learn_word2vec(made_up_ids(), 22, Word2VecSettings(dimensions=4, epochs=1))[20:].any()

    def test_progress_is_reported_after_every_epoch(self):
        seen: list[float] = []
        learn_word2vec(made_up_ids(), 20, Word2VecSettings(dimensions=4, epochs=4), on_progress=seen.append)
        assert seen == [0.25, 0.5, 0.75, 1.0]

    @pytest.mark.parametrize("bad", [{"eta": 0}, {"subsample": 1}, {"epochs": 0}, {"seed": 2**32}])
    def test_bad_settings(self, bad):
        with pytest.raises(InputError, match=next(iter(bad))):
            Word2VecSettings(**bad)

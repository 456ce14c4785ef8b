"""scikit-learn: shares of nodes as features, in a pipeline, cloned, pickled, checked."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

import wordforest as wf
from tests.documents.collection import collection
from wordforest.jobs.documents import place_documents

TEXTS = ["The king sees his crown.", "A train runs from Paris to Rome", "", "qwert zuiop", "a dog eats"]


def test_shares_are_those_of_a_documents_folder(readable: Path, tmp_path: Path):
    shares = wf.WordForestVectorizer(readable).fit_transform(TEXTS)
    assert shares.format == "csr"
    assert shares.dtype == np.float32
    expected = place_documents(readable, TEXTS, out=tmp_path / "documents").shares.toarray()
    np.testing.assert_array_equal(shares.toarray(), expected)
    roots = wf.load_run(readable).forest.roots
    np.testing.assert_allclose(shares.toarray()[[0, 1, 4]][:, roots].sum(axis=1), 1, atol=1e-6)
    assert not shares.toarray()[2].any()


def test_any_number_of_jobs_gives_the_same_bits(readable: Path):
    texts = TEXTS * 2000
    one, two = (wf.WordForestVectorizer(readable, n_jobs=n).transform(texts) for n in (1, 2))
    assert (one.toarray() == two.toarray()).all()
    assert one.shape[0] == len(texts)


def test_tokens_are_taken_as_texts_are(readable: Path):
    ours = wf.WordForestVectorizer(readable, sparse_output=False)
    tokens = [["The", "king", "sees", "his", "crown"], ["A", "train", "runs", "from", "Paris", "to", "Rome"]]
    np.testing.assert_array_equal(ours.transform(tokens), ours.transform(TEXTS[:2]))
    assert ours.transform([]).shape == (0, len(ours.get_feature_names_out()))


def test_without_an_additive_forest_shares_are_the_mean_of_words():
    vectors = wf.Vectors(["a", "b", "none"], [[1, -1, 0], [0, 0, 2], [0, 0, 0]], forest=wf.Forest([-1, 0, -1]))
    shares = wf.WordForestVectorizer(vectors, sparse_output=False).transform(["a", "a b", "B none", "none", "a a a b"])
    times = 1 + np.log(3)
    expected = [[1, 0.5, 0], [0.5, 0.25, 0.5], [0, 0, 1], [0, 0, 0], [times, times / 2, 1] / (times + 1)]
    np.testing.assert_allclose(shares, expected, atol=1e-6)


def test_frequent_words_weigh_less(plain: wf.Run):
    vectors = plain.vectors
    ours = wf.WordForestVectorizer(plain, sparse_output=False)
    the, king, both = ours.transform(["the", "king", "the king"])
    alike = wf.WordForestVectorizer(vectors, sparse_output=False).transform(["the king"])[0]
    np.testing.assert_allclose(alike, (the + king) / 2, atol=1e-6)
    assert np.abs(both - king).sum() < np.abs(alike - king).sum()


def test_words_with_capitals_stay_apart():
    vectors = wf.Vectors(["Rome", "rome"], [[1.0, 0], [0, 1]])
    assert wf.WordForestVectorizer(vectors).transform(["Rome"]).toarray().tolist() == [[1, 0]]


def by_commas(text: str) -> list[str]:
    return text.split(",")


def test_the_function_that_split_the_text_of_a_run_is_given_again(tmp_path: Path):
    wf.train(["red wine,cheese", "cheese,bread"] * 9, out=tmp_path, trees=1, min_count=1, tokenizer=by_commas)
    with pytest.raises(wf.InputError, match="Pass it again in Python, as in tokenizer=my_function"):
        wf.WordForestVectorizer(tmp_path).transform(["red wine"])
    vectorizer = wf.WordForestVectorizer(tmp_path, tokenizer=by_commas, sparse_output=False)
    assert vectorizer.transform(["red wine", "red,wine"]).any(axis=1).tolist() == [True, False]


def test_phrases_of_the_run_are_joined(tmp_path: Path):
    texts = ["she sails to the harbour at dawn", "a ship leaves the harbour late", "the cook bakes bread at dawn"] * 60
    wf.train(texts, phrases=True, trees=2, branching=(2,), min_count=1, epochs=1, out=tmp_path / "run")
    ours = wf.WordForestVectorizer(tmp_path / "run", sparse_output=False)
    phrase, tokens = ours.transform(["Bread at Dawn"]), ours.transform([["bread_at_dawn"]])
    assert "bread_at_dawn" in ours.vectors_.key_to_index
    np.testing.assert_array_equal(phrase, tokens)
    assert phrase.any()


def test_names_are_labels_from_the_root_down(readable: Path):
    ours = wf.WordForestVectorizer(readable)
    names = ours.get_feature_names_out()
    vectors = wf.read_vectors(readable)
    assert len({*names}) == vectors.n_dimensions
    root = int(vectors.forest.roots[1])
    assert names[root] == f"1.{vectors.labels[root][0]}"


def test_what_was_hidden_and_named_stays_so(tmp_path: Path):
    texts, _ = collection()
    topics = wf.TopicForest(levels=(4,), min_df=2).fit(texts)
    topics.hide_topics([1])
    topics.set_topic_labels({0: "first"})
    wf.save_topics(tmp_path / "topics", topics)
    ours = wf.WordForestVectorizer(tmp_path / "topics").fit()
    np.testing.assert_array_equal(ours.transform(texts).toarray(), topics.transform(texts).toarray())
    assert ours.get_feature_names_out()[0] == "0.first"


def test_it_is_a_step_of_a_pipeline():
    texts, names = collection()
    topics = wf.TopicForest(levels=(4,), min_df=2).fit(texts)
    vectors = topics.vectors_
    steps = make_pipeline(wf.WordForestVectorizer(vectors), LogisticRegression())
    assert cross_val_score(steps, texts, names, cv=2).mean() > 0.8
    assert clone(steps).fit(texts, names).predict(["bread dough loaf"]).tolist() == ["bread"]
    assert clone(steps)[0].model is vectors


def test_a_pickle_needs_no_folder(readable: Path):
    ours = wf.WordForestVectorizer(readable).fit()
    again = pickle.loads(pickle.dumps(ours))
    again.model = None
    assert (again.transform(TEXTS) != ours.transform(TEXTS)).nnz == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # of checks with numbers for documents
def test_scikit_learn_checks_it(plain: wf.Run):
    ours = wf.WordForestVectorizer(plain.vectors)
    check_estimator(ours)
    for check in (
        estimator_checks.check_estimator_cloneable,
        estimator_checks.check_estimator_repr,
        estimator_checks.check_valid_tag_types,
        estimator_checks.check_no_attributes_set_in_init,
        estimator_checks.check_parameters_default_constructible,
        estimator_checks.check_get_params_invariance,
        estimator_checks.check_set_params,
        estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
        estimator_checks.check_mixin_order,
    ):
        check("WordForestVectorizer", clone(ours))


def test_what_is_wrong_is_told():
    with pytest.raises(wf.InputError, match="Put it into a list"):
        wf.WordForestVectorizer(wf.Vectors(["a"], [[1.0]])).transform("a")
    with pytest.raises(wf.InputError, match="which model"):
        wf.WordForestVectorizer().fit()
    with pytest.raises(wf.InputError, match="nowhere"):
        wf.WordForestVectorizer("nowhere").fit()

"""Topics from documents: found, the same every time, none left over, and what a person does with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import v_measure_score
from sklearn.pipeline import make_pipeline

import wordforest as wf
from tests.documents.collection import collection
from wordforest.documents.shares import DocumentShares
from wordforest.documents.space import Space
from wordforest.documents.topics import TopicSettings, usual_levels
from wordforest.errors import InputError
from wordforest.jobs.documents import DocumentColumns, learn_topics_of

TEXTS, SUBJECTS = collection()


@pytest.fixture(scope="module")
def topics() -> wf.TopicForest:
    return wf.TopicForest(levels=(4, 8), min_df=2).fit(TEXTS)


def test_trees_are_the_subjects(topics: wf.TopicForest) -> None:
    assert v_measure_score(SUBJECTS, topics.documents_.main_path()[:, 0]) > 0.95


def test_two_trees_are_the_two_kinds_of_subjects_and_their_children_the_subjects() -> None:
    topics = wf.TopicForest(levels=(2, 4), min_df=2).fit(TEXTS)
    path = topics.documents_.main_path()
    kinds = [name in ("bikes", "cars") for name in SUBJECTS]
    assert v_measure_score(kinds, path[:, 0]) > 0.95
    assert v_measure_score(SUBJECTS, path[:, 1]) > 0.9


def test_roots_share_a_document_out_and_parents_have_what_children_have(topics: wf.TopicForest) -> None:
    shares, forest = topics.documents_.shares.toarray(), topics.forest_
    np.testing.assert_allclose(shares[:, forest.roots].sum(1), 1, atol=1e-5)
    for node in range(len(forest)):
        children = forest.children(node)
        assert (shares[:, node] >= shares[:, children].sum(1) - 1e-5).all()


def test_words_are_not_alike_because_they_differ_from_documents() -> None:
    rows = 3 + np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)
    space = Space(rows, np.ones(200, np.float32), mean=np.zeros(8, np.float32))
    assert np.linalg.norm(space.word_rows().mean(axis=0)) < 0.2  # 0.95 if the mean of documents is taken away


def test_no_document_is_left_over_however_high_lam_is(topics: wf.TopicForest) -> None:
    from dataclasses import replace

    from wordforest.documents.bags import count_words
    from wordforest.text.documents import read_documents

    coder = replace(topics.topics_.coder, lam=1e3)
    bags = next(iter(count_words(read_documents(TEXTS), topics.topics_.vocabulary)))
    shares = coder.shares(bags.counts).matrix.toarray()
    roots = topics.forest_.roots
    assert (shares[:, roots].sum(1) == 1).all()
    assert v_measure_score(SUBJECTS, roots[shares[:, roots].argmax(1)]) > 0.95


def test_documents_without_known_words_have_a_row_and_no_shares(topics: wf.TopicForest) -> None:
    placed = topics.place(["", "xyzzy plugh", "bread and flour", "!?"])
    assert placed.ids == ["0", "1", "2", "3"]
    assert np.diff(placed.shares.indptr).tolist()[:2] == [0, 0]
    assert placed.main_path()[0].tolist() == [-1, -1]
    assert placed.main_path()[2, 0] >= 0


def test_new_documents_are_coded_without_learning_and_alone_as_together(topics: wf.TopicForest) -> None:
    new = collection(40, seed=5)[0]
    together = topics.transform(new).toarray()
    alone = np.vstack([topics.transform([text]).toarray() for text in new])
    np.testing.assert_array_equal(alone, together)  # last bits of a product by BLAS would depend on the number of rows
    np.testing.assert_array_equal(topics.transform(TEXTS).toarray(), topics.documents_.shares.toarray())


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_bits_do_not_depend_on_workers(topics: wf.TopicForest, n_jobs: int) -> None:
    again = wf.TopicForest(levels=(4, 8), min_df=2, n_jobs=n_jobs).fit(TEXTS)
    assert again.documents_.shares.data.tobytes() == topics.documents_.shares.data.tobytes()
    assert again.documents_.labels == topics.documents_.labels


def test_a_generator_and_token_lists_give_the_same(topics: wf.TopicForest) -> None:
    again = wf.TopicForest(levels=(4, 8), min_df=2).fit(text.split() for text in TEXTS)
    assert (again.documents_.shares != topics.documents_.shares).nnz == 0


def test_words_lie_on_the_forest_of_documents(topics: wf.TopicForest) -> None:
    root = topics.transform(["yeast dough"]).toarray()[0].argmax()
    assert {"yeast", "dough", "loaf", "crust", "knead", "bread"} & {word for word, _ in topics.get_topic(root)}
    assert len(topics.get_feature_names_out()) == len(topics.forest_)


def test_it_is_an_estimator_of_scikit_learn(topics: wf.TopicForest) -> None:
    same = clone(topics)
    assert same.get_params()["levels"] == (4, 8)
    model = make_pipeline(wf.TopicForest(levels=(4, 8), min_df=2), LogisticRegression())
    new, subjects = collection(60, seed=9)
    assert model.fit(TEXTS, SUBJECTS).score(new, subjects) > 0.95


def test_stability_is_near_one_where_any_half_has_the_subjects() -> None:
    topics = wf.TopicForest(levels=(4,), min_df=2, stability=True).fit(TEXTS)
    stability = topics.documents_.stability
    assert stability is not None
    assert stability.min() > 0.9


def test_levels_that_the_documents_cannot_fill_are_cut() -> None:
    with pytest.warns(ConvergenceWarning, match="nodes by depth, not 3, 60, 500"):
        topics = wf.TopicForest(levels=(3, 60, 500), min_df=1).fit(TEXTS[:40])
    assert 3 < len(topics.forest_) <= 3 + 8 + 8


def test_one_level_may_be_a_number_and_levels_an_array() -> None:
    assert len(wf.TopicForest(levels=4, min_df=2).fit(TEXTS).forest_) == 4
    assert wf.TopicForest(levels=np.array([2, 4]), min_df=2).fit(TEXTS).settings_.levels == (2, 4)


def test_random_states_are_those_of_scikit_learn() -> None:
    def seed(given: Any) -> int:
        return wf.TopicForest(levels=(4,), min_df=2, random_state=given).fit(TEXTS).settings_.seed

    assert seed(np.int64(7)) == 7
    assert seed(np.random.RandomState(3)) == seed(np.random.RandomState(3)) != 3
    assert seed(None) >= 0
    with pytest.raises(InputError, match="seed = -1"):
        seed(-1)


def test_stop_words_are_a_list() -> None:
    with pytest.raises(InputError, match="list of words"):
        wf.TopicForest(levels=(4,), min_df=2, stop_words="english").fit(TEXTS)


@pytest.mark.parametrize("levels", [(), (0,), (4, 4), (8, 4), "6,20", (2.5,)])
def test_levels_must_grow(levels: Any) -> None:
    with pytest.raises(InputError, match="grow"):
        wf.TopicForest(levels=levels).fit(TEXTS)


@pytest.mark.parametrize("lam", ["much", -1.0, None])
def test_lam_is_auto_or_a_number(lam: Any) -> None:
    with pytest.raises(wf.InputError, match="lam = "):
        wf.TopicForest(lam=lam).fit(["a"])


def test_a_notebook_shows_the_forest_with_shares_of_documents(topics: wf.TopicForest) -> None:
    pages = [wf.TopicForest()._repr_mimebundle_()["text/html"], topics._repr_mimebundle_()["text/html"]]
    assert ["<details" in page and "wordforest" in page for page in pages] == [False, True]
    shares = topics.documents_.shares.mean(axis=0)
    assert f"{topics.documents_.labels[0]} <i>{float(np.ravel(shares)[0]):.1%}</i>" in pages[1]
    assert len(repr(topics)) < 120
    assert len(repr(topics.documents_)) < 120


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(InputError, match="documents"):
        wf.TopicForest(min_df=1).fit(["a cat eats fish", "a dog eats meat"])


def test_embeddings_decide_where_words_cannot() -> None:
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, len(TEXTS))
    E = rng.standard_normal((2, 16))[side] + 0.1 * rng.standard_normal((len(TEXTS), 16))
    texts = [" ".join(rng.choice(["one", "two", "three", "four", "five", "six"], 6)) for _ in TEXTS]
    topics = wf.TopicForest(levels=(2,), min_df=2, embeddings=E).fit(texts)
    assert v_measure_score(side, topics.documents_.main_path()[:, 0]) > 0.95
    assert v_measure_score(side, topics.transform(texts, E).toarray().argmax(1)) > 0.95
    with pytest.raises(InputError, match="learned with embeddings"):
        topics.transform(texts)
    with pytest.raises(InputError, match="rows, one for each document"):
        topics.transform(texts, E[:5])
    with pytest.raises(InputError, match=r"embeddings came for 5 documents"):
        topics.transform(texts[:5], E)


def test_topics_are_saved_and_loaded(topics: wf.TopicForest, tmp_path: Path) -> None:
    word = topics.documents_.labels[-1].split()[0]  # that names no node now
    edited = (
        clone(topics)
        .set_params(stop_words=[word])
        .fit(TEXTS)
        .merge_topics(topics.forest_.roots[:2].tolist())
        .set_topic_labels({0: "first"})
    )
    wf.save_topics(tmp_path / "run", edited)
    loaded = wf.load_topics(tmp_path / "run")
    assert (loaded.transform(TEXTS) != edited.transform(TEXTS)).nnz == 0
    assert loaded.place(TEXTS[:1]).labels == edited.place(TEXTS[:1]).labels
    assert loaded.place(TEXTS[:1]).labels[0] == "first"


def test_topics_without_documents_have_tables(topics: wf.TopicForest, tmp_path: Path) -> None:
    wf.save_topics(tmp_path / "run", topics)
    loaded = wf.load_topics(tmp_path / "run")
    info = loaded.get_topic_info()
    assert info.label.tolist() == topics.get_topic_info().label.tolist()
    assert info.share.isna().all()
    assert len(loaded.get_document_info()) == len(loaded.get_document_info([])) == 0


def test_merging_adds_shares_and_moves_children(topics: wf.TopicForest) -> None:
    a, b = topics.forest_.roots[:2].tolist()
    merged = clone(topics).fit(TEXTS).merge_topics([a, b])
    before, after = topics.documents_.shares.toarray(), merged.documents_.shares.toarray()
    np.testing.assert_allclose(after[:, 0], before[:, a] + before[:, b], rtol=1e-6)
    assert len(merged.forest_) == len(topics.forest_) - 1
    assert len(merged.forest_.children(0)) == len(topics.forest_.children(a)) + len(topics.forest_.children(b))
    np.testing.assert_array_equal(merged.transform(TEXTS).toarray(), after)
    words = [{word for word, _ in one.get_topic(node, 5)} for one, node in ((topics, a), (topics, b), (merged, 0))]
    assert words[2] & words[0]
    assert words[2] & words[1]


def test_what_it_does_not_take_is_refused() -> None:
    with pytest.raises(TypeError, match="embeddings"):
        wf.TopicForest().fit_transform(TEXTS, embeddings=np.ones((len(TEXTS), 2)))


def test_hiding_takes_a_node_and_all_below(topics: wf.TopicForest) -> None:
    root = int(topics.forest_.roots[1])
    hidden = clone(topics).fit(TEXTS).hide_topics([root])
    assert len(hidden.forest_) == len(topics.forest_) - (topics.forest_.end[root] - root)
    assert len(hidden.forest_.roots) == 3
    after = int(topics.forest_.roots[2])  # whose number is smaller now
    assert hidden.get_topic(root, 1)[0][0] == topics.get_topic(after, 1)[0][0]


def test_frames_are_those_of_bertopic(topics: wf.TopicForest) -> None:
    pytest.importorskip("pandas")
    info = topics.get_topic_info()
    assert [*info.columns[:4]] == ["node", "parent", "depth", "label"]
    assert len(topics.get_document_info()) == len(TEXTS)
    years = [1990 + i % 3 for i in range(len(TEXTS))]
    assert {*topics.topics_over_time(years)["time"]} == {1990, 1991, 1992}
    per_class = topics.topics_per_class(SUBJECTS)
    strongest = per_class[per_class.node.isin(topics.forest_.roots)].groupby("group").share.max()
    assert (strongest > 0.7).all()


def test_the_main_path_goes_from_the_strongest_root_to_its_strongest_child() -> None:
    from scipy import sparse

    forest = wf.Forest.complete(2, (2,))
    shares = sparse.csr_array(np.array([[0.4, 0.1, 0.3, 0.6, 0, 0.2], [1, 0, 0, 0, 0, 0], [0] * 6], dtype=np.float32))
    placed = DocumentShares(["a", "b", "c"], shares, forest, [""] * 6)
    assert placed.main_path().tolist() == [[3, 5], [0, -1], [-1, -1]]
    assert placed.typical(0, 5) == [1, 0]


def test_levels_follow_the_number_of_documents() -> None:
    assert [usual_levels(n) for n in (10, 235, 7000, 20_000)] == [(2,), (20,), (20, 60), (20, 60, 180)]


def test_vectors_of_words_decide_where_documents_cannot() -> None:
    colours, tools = ["red", "blue", "green", "pink"], ["saw", "drill", "plane", "rasp"]
    rng = np.random.default_rng(1)
    side = rng.integers(0, 2, 120)
    texts = [" ".join(rng.choice((colours, tools)[s], 1)) + " thing of mine" for s in side]
    vectors = wf.Vectors([*colours, *tools], np.repeat(np.eye(2), 4, axis=0) + 0.05)
    topics = wf.TopicForest(levels=(2,), min_df=2, embeddings=vectors).fit(texts)
    assert v_measure_score(side, topics.transform(texts).toarray().argmax(1)) > 0.95
    with pytest.raises(InputError, match="none of the words"):
        wf.TopicForest(levels=(2,), min_df=2, embeddings=wf.Vectors(["xyzzy"], [[1.0]])).fit(texts)


def test_what_was_learned_in_a_folder_is_complete_and_knows_its_column(tmp_path: Path) -> None:
    settings = TopicSettings((4,), 2)
    table = [{"body": text} for text in TEXTS]

    def learned(column: str) -> Any:
        columns = DocumentColumns(column)
        return learn_topics_of(table, out=tmp_path / "run", columns=columns, settings=settings, resume=True)

    config = learned("body").config
    assert (config["text"], config["n_counted"], config["n_documents"]) == ("body", len(TEXTS), settings.n_documents)
    assert learned("body").config["lam"] == config["lam"]
    with pytest.raises(InputError, match="complete, but with text = body"):
        learned("other")

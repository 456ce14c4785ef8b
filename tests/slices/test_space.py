"""The space of contexts: views against their definition, directions scaled by the words, usages where they belong."""

from __future__ import annotations

import numpy as np
import pytest

from tests.slices.made import MOVES, SEA, SKY, STEADY, documents, sliced
from wordforest.runtime.machine import Threads
from wordforest.slices import Slices
from wordforest.slices.space import ALL, VIEWS, Space, _directions, _views, learn_space, with_usages, word_vectors


def learned(slices: Slices) -> Space:
    return with_usages(learn_space(slices, word_vectors(slices, Threads(1)), Threads(1)), slices, Threads(1))


def test_views_are_the_means_of_the_words_near() -> None:
    slices = sliced(["a b c. D a e"], ["b b f"])
    row = {word: i for i, word in enumerate(slices.words)}
    V, weight = len(row), np.linspace(0.2, 1, len(row)).astype(np.float32)
    at = np.flatnonzero(slices.ids == row["d"]).astype(np.int32)
    views, number = _views(slices, at, weight, ALL)
    found = views.toarray().reshape(VIEWS, V)
    right = {"a": 1.0, "e": 0.5}  # by nearness; left of d the sentence ends
    around = {"a": 2 * weight[row["a"]], **{word: weight[row[word]] for word in "bce"}}
    for view, wanted in enumerate(({}, right, around, around)):
        total = sum(wanted.values()) + 0.5
        expected = [wanted.get(word, 0) / total for word in slices.words]
        np.testing.assert_allclose(found[view], expected, rtol=1e-5)
    assert number.tolist() == [[0, 2, 5, 5]]


def test_no_more_words_are_looked_at_than_asked_for_the_nearest_first() -> None:
    slices = sliced(["a b c d e f g"], ["a b"])
    at = np.flatnonzero(slices.ids == slices.words.index("d")).astype(np.int32)
    views, number = _views(slices, at, np.ones(len(slices.words), np.float32), np.array([1, 1, 2, 4]))
    seen = [{slices.words[i] for i in np.flatnonzero(row)} for row in views.toarray().reshape(VIEWS, -1)]
    assert seen == [{"c"}, {"e"}, {"c", "e"}, {"b", "c", "e", "f"}]
    assert number.tolist() == [[1, 1, 2, 4]]


def test_a_slice_of_short_documents_says_how_many_words_are_looked_at() -> None:
    old, new = documents(40)
    short = [" ".join(text.split()[:8]) for text in new]
    most = learned(sliced(old, short)).most
    assert most[3] <= 8 < learned(sliced(old, new)).most[3]


def test_occurrences_of_a_word_vary_by_one_along_every_direction() -> None:
    rng = np.random.default_rng(0)
    classes = [rng.normal(size=5) + rng.normal(size=(400, 5)) * [1, 2, 3, 0.5, 1] for _ in range(30)]
    within = sum((X - X.mean(axis=0)).T @ (X - X.mean(axis=0)) for X in classes)
    n = np.full(30, 400.0)
    P = _directions(within, np.stack([X.mean(axis=0) for X in classes]), n)
    W = within / (n - 1).sum()
    W += np.eye(5) * 1e-3 * np.trace(W) / 5  # the ridge
    np.testing.assert_allclose(P.T @ W @ P, np.eye(5), atol=1e-4)
    spread = np.var(np.stack([X.mean(axis=0) for X in classes]) @ P, axis=0)
    assert (np.diff(spread) < 0).all()  # those that tell words apart best come first


def test_an_occurrence_lies_nearest_to_the_words_that_could_stand_there() -> None:
    slices = sliced(*documents())
    space, (starts, positions) = learned(slices), slices.positions
    word = slices.words.index(MOVES)
    at = positions[starts[word] : starts[word + 1]]
    X, _ = space.place(slices, at)
    place = {slices.words[row]: mean for row, mean in zip(space.words, space.usages, strict=True)}
    sea, sky = (np.mean([place[w] for w in words], axis=0) for words in ((STEADY, *SEA), ("plane", *SKY)))
    nearer_sky = ((X - sky) ** 2).sum(axis=1) < ((X - sea) ** 2).sum(axis=1)
    later = slices.code[slices.document[at]] == slices.number("new")
    assert np.mean(nearer_sky == later) > 0.9


def test_style_is_what_all_usages_have_more_in_a_slice() -> None:
    slices = sliced(*documents(40, moved=False))
    space, (starts, positions) = learned(slices), slices.positions
    beyond = np.zeros_like(space.style)
    number = np.zeros(len(slices.names))
    for word, mean in zip(space.words, space.usages, strict=True):
        at = positions[starts[word] : starts[word + 1]]
        code = slices.code[slices.document[at]]
        X = space._replace(style=np.zeros_like(space.style)).place(slices, at)[0]
        np.add.at(beyond, code, X - mean)
        np.add.at(number, code, 1)
    assert (np.bincount(slices.ids[slices.ids >= 0]) <= 500).all()  # so all occurrences were looked at
    np.testing.assert_allclose(space.style, beyond / number[:, None], atol=1e-4)


def test_words_of_like_contexts_have_like_vectors() -> None:
    slices = sliced(*documents(moved=False))
    E = word_vectors(slices, Threads(1))
    np.testing.assert_allclose(np.linalg.norm(E, axis=1), 1, rtol=1e-5)
    sea, sky = ([slices.words.index(word) for word in words] for words in (SEA, SKY))
    alike = E @ E.T
    assert alike[np.ix_(sea, sea)].mean() > alike[np.ix_(sea, sky)].mean() + 0.3


def test_too_few_words_have_no_directions() -> None:
    assert _directions(np.zeros((3, 3)), np.zeros((1, 3)), np.ones(1)).shape == (3, 0)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_space_does_not_depend_on_the_workers(workers: int) -> None:
    slices = sliced(*documents(20))
    one, other = (learn_space(slices, word_vectors(slices, Threads(n)), Threads(n)) for n in (1, workers))
    np.testing.assert_array_equal(one.table, other.table)

"""The company of words: what moved is found, chance is not, and the statistic is what its definition says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import kstest

from tests.slices.made import COMMON, MOVES, SEA, SKY, STEADY, documents, sliced
from wordforest.runtime.machine import Threads
from wordforest.slices import Slices
from wordforest.slices.company import Scene, _fewest, _permuted, _residuals, _scaled


def scene_of(slices: Slices, executor: Threads | None = None) -> Scene:
    """Return a scene with three trees of one node: sea, sky and all else."""
    place = {**dict.fromkeys(SEA, 0), **dict.fromkeys(SKY, 1)}
    nodes = [place.get(word, 2) for word in slices.words]
    ones = (np.ones(len(nodes), np.float32), (np.arange(len(nodes)), nodes))
    return Scene(slices, sparse.csr_array(ones, shape=(len(nodes), 3)), executor=executor)


def test_a_word_that_moved_is_found_and_one_that_stayed_is_not() -> None:
    slices = sliced(*documents())
    rows = [slices.words.index(word) for word in (MOVES, STEADY, "plane")]
    found = scene_of(slices).changes(rows)
    assert found.p[0] < 1e-6
    assert found.effect[0] > 0.3
    assert (found.p[1:] > 0.01).all()


def test_a_word_that_moved_is_found_where_words_lie_far_apart() -> None:
    """Sentences that come again and again: no occurrence of a word is near another word."""
    old = ["the ship sails the sea with its sailors", "sailors load the ship in the harbour"] * 20
    new = ["the ship flies to the moon with rockets", "rockets lift the ship into the sky"] * 20
    slices = sliced(old, new)
    assert scene_of(slices).changes([slices.words.index("ship")]).p[0] < 1e-6


def test_being_more_frequent_is_no_change_of_company() -> None:
    old, new = documents(moved=False)
    slices = sliced(old, [*new, *(text for text in new if STEADY in text)])
    assert scene_of(slices).changes([slices.words.index(STEADY)]).p[0] > 0.01


def test_p_is_uniform_where_nothing_differs() -> None:
    """60 random halves of the same documents, seed 1; Kolmogorov's test at a level of 0.001."""
    old, new = documents(60, moved=False)
    slices, rng, p = sliced(old, new), np.random.default_rng(1), []
    row = slices.words.index(STEADY)
    for seed in range(60):
        code = (rng.permutation(len(slices.code)) % 2).astype(np.int32)
        halves = Slices(slices.words, slices.ids, slices.borders, code, ("a", "b"), slices.documents)
        p.append(scene_of(halves).changes([row], seed=seed, permutations=300).p[0])
    assert kstest(p, "uniform").pvalue > 0.001


def test_t_is_the_power_mean_of_the_sums_of_squares_between_slices() -> None:
    rng = np.random.default_rng(0)
    R, sizes = rng.normal(size=(12, 5)).astype(np.float32), np.array([3, 4, 5])
    R -= R.mean(axis=0)
    observed, above, drawn = _permuted(R, sizes, 1.0, 400, 7)
    q = sum(part.sum(axis=0) ** 2 / len(part) for part in np.split(R, [3, 7]))
    assert observed == pytest.approx(np.mean(q**4) ** 0.25, rel=1e-5)
    assert above == (drawn >= observed).sum()
    # of one usage, the mean of T over all permutations: (S - 1) / (N - 1) of the squares about the mean
    one = np.ascontiguousarray(R[:, :1])
    draws = np.concatenate([_permuted(one, sizes, 1.0, 400, seed)[2] for seed in range(40)])
    assert draws.mean() == pytest.approx((one**2).sum() * 2 / 11, rel=0.1)


def test_any_number_of_workers_gives_the_same_bits() -> None:
    slices = sliced(*documents())
    rows = np.arange(len(slices.words))
    one, three = (scene_of(slices, Threads(n)).changes(rows) for n in (1, 3))
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_word_that_one_slice_alone_has_is_not_tested() -> None:
    old, new = documents()
    slices = sliced(old, [text.replace(STEADY, "ferry") for text in new])
    assert np.isnan(scene_of(slices).changes([slices.words.index("ferry")]).p[0])


def test_lift_says_where_the_word_went() -> None:
    slices = sliced(*documents())
    lift, z = scene_of(slices).company(slices.words.index(MOVES), (slices.number("old"),), (slices.number("new"),))
    assert lift[0, 0] > 1 > lift[1, 0]  # at sea before, not after
    assert lift[0, 1] < 1 < lift[1, 1]
    assert z[0] < -3
    assert z[1] > 3


def test_a_slice_that_uses_a_node_more_in_all_its_text_changes_no_company() -> None:
    """Half as many words of grammar, in all documents alike: shares of sea and sky rise for all words."""
    rng = np.random.default_rng(3)
    old, new = documents(60, moved=False)
    fewer = [" ".join(w for w in text.split() if w not in COMMON or rng.random() < 0.5) for text in new]
    slices = sliced(old, fewer)
    assert scene_of(slices).changes([slices.words.index(STEADY)]).effect[0] < 0.05


def test_the_contrast_of_times_is_where_company_changes() -> None:
    old, new = documents(60)
    slices = sliced(old, new)
    code = np.where(slices.code == slices.number("old"), 0, 2)
    code = code + np.random.default_rng(0).integers(0, 2, len(code))
    names = (1900, 1910, 1920, 1930)
    four = Slices(slices.words, slices.ids, slices.borders, code.astype(np.int32), names, slices.documents, True)
    assert scene_of(four).contrast(slices.words.index(MOVES)) == ((0, 1), (2, 3))


def test_residuals_of_documents_add_up_to_nothing() -> None:
    rng = np.random.default_rng(0)
    U, n = rng.random((6, 4)), rng.integers(1, 5, 6)
    R = _residuals(U, n)
    np.testing.assert_allclose(R.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose((_scaled(R) ** 2).sum(axis=0), 1)


def independent(rng: np.random.Generator, n: int, length: int, sentence: int) -> list[str]:
    """Return documents of words that depend on nothing."""
    words = np.array([*SEA, *SKY, *COMMON, STEADY])
    found = []
    for _ in range(n):
        drawn = rng.choice(words, length)
        parts = [" ".join(drawn[i : i + sentence]) for i in range(0, length, sentence)]
        found.append(". ".join(part.capitalize() for part in parts))
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [((200, 60, 60), (200, 12, 12)), ((100, 60, 20), (100, 60, 5)), ((12, 800, 800), (250, 40, 40))],
)
def test_longer_documents_or_sentences_are_no_change_of_company(
    first: tuple[int, int, int], second: tuple[int, int, int]
) -> None:
    """Words that depend on nothing, in documents and sentences of other lengths: few p below 0.05, seed 0."""
    rng = np.random.default_rng(0)
    slices = sliced(independent(rng, *first), independent(rng, *second))
    p = scene_of(slices).changes(np.arange(len(slices.words)), permutations=300).p
    assert np.nanmean(p < 0.05) < 0.15


def test_the_least_p_is_one_over_the_ways_to_deal() -> None:
    assert _fewest(np.array([3, 3, 3])) == pytest.approx(6 / 1680)
    assert _fewest(np.array([2, 3])) == pytest.approx(1 / 10)

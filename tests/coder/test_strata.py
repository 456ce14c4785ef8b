"""The stored pairs cut into blocks: draws follow |x|, and blocks of a round share no rows."""

from typing import Any

import numpy as np
import scipy.stats

from tests.coder.shared import low_rank_matrix as matrix
from wordforest.coder.rows.pairs import stored_pairs
from wordforest.coder.strata import Strata, cut
from wordforest.runtime.machine import Threads


def strata(X: Any, *, zeros: float = 0.0, proportional: bool = True, blocks: int = 4) -> Strata:
    return cut(stored_pairs(X), zeros, blocks=blocks, proportional=proportional, seed=0, executor=Threads(1))


def drawn(cuts: Strata, passes: int) -> Any:
    """How often each (word, context), in the numbers of X, is drawn."""
    counts = np.zeros((len(cuts.words.order), len(cuts.contexts.order)))
    for epoch in range(passes):
        for i, j in (block for blocks in cuts.rounds((0, epoch)) for block in blocks):
            entries, order = cuts.visits(i, j, (0, epoch))
            chosen = entries[order]
            np.add.at(counts, (cuts.words.order[chosen["word"]], cuts.contexts.order[chosen["context"]]), 1)
    return counts


def test_draws_follow_the_absolute_value() -> None:
    X = matrix(40, 30)
    counts = drawn(strata(X), passes=400)
    expected = abs(X.toarray()) / abs(X.data).mean() * 400
    assert counts[expected == 0].sum() == 0
    inside = expected > 20
    errors = (counts - expected)[inside] / np.sqrt(expected[inside])  # about normal
    assert abs(errors).max() < 5
    assert 0.8 < errors.std() < 1.2


def test_draws_pass_a_chi_square_test() -> None:
    X = matrix(30, 20)
    counts = drawn(strata(X, blocks=1), passes=500)[X.toarray() != 0]
    expected = abs(X.toarray()[X.toarray() != 0]).astype(float)
    p = scipy.stats.chisquare(counts, expected / expected.sum() * counts.sum()).pvalue
    assert p > 0.001  # of a fixed seed; the number of draws is a little less random than the test assumes


def test_uniform_draws_meet_every_entry_once() -> None:
    X = matrix(40, 30)
    np.testing.assert_array_equal(drawn(strata(X, proportional=False), passes=1), X.toarray() != 0)


def test_blocks_of_a_round_share_no_rows() -> None:
    cuts = strata(matrix())
    for blocks in cuts.rounds((0, 1)):
        for name, n in (("word", 300), ("context", 200)):
            seen = np.concatenate([np.unique(cuts.block(i, j)[name]) for i, j in blocks])
            assert len(np.unique(seen)) == len(seen) <= n


def test_blocks_are_balanced() -> None:
    cuts = strata(matrix(1000, 800))
    assert cuts.block_mass.max() < 1.2 * cuts.block_mass.mean()
    for side in (0, 1):  # the greedy rule balances both sides to within a light row
        totals = cuts.block_mass.sum(side)
        assert totals.max() < 1.01 * totals.min()

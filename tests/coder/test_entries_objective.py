"""What the entry learner goes down is the paper's second objective, and with all weights 1 the first."""

import numpy as np
import pytest
from scipy import sparse

from tests.coder.plain import entry_objective
from tests.coder.shared import low_rank_matrix as matrix
from wordforest.coder.entries_objective import EntryObjective
from wordforest.coder.forest import Forest
from wordforest.coder.objectives import objective
from wordforest.coder.penalties import ForestL2, NoPenalty
from wordforest.coder.rows.pairs import stored_pairs
from wordforest.runtime.machine import Threads

FOREST = Forest.complete(2)
M = len(FOREST)


def test_the_objective_is_the_paper_s_second_one() -> None:
    X, penalty = matrix(), ForestL2(FOREST, 0.3)
    rng = np.random.default_rng(1)
    D, A = (rng.standard_normal((n, M)).astype(np.float32) for n in (200, 300))
    value = EntryObjective(stored_pairs(X, np.ones(X.nnz)), penalty, 0.2, 0.0, (1.0, 1.0), 0)(D, A, Threads(1))
    assert value == pytest.approx(entry_objective(X, D, A, penalty, 0.2), rel=1e-12)


def test_the_objective_of_many_pairs_is_exact_and_its_estimate_near() -> None:
    X = sparse.random_array((3000, 2000), density=0.25, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    rng = np.random.default_rng(1)
    D, A = (rng.standard_normal((n, 4)).astype(np.float32) for n in (2000, 3000))
    pairs = stored_pairs(X, np.ones(X.nnz))
    assert len(pairs) > 1 << 20  # more than the sample
    value = EntryObjective(pairs, NoPenalty(), 0.0, 0.0, (1.0, 1.0), 0)
    exact = entry_objective(X, D, A, NoPenalty(), 0.0)
    assert value(D, A, Threads(2)) == pytest.approx(exact, rel=1e-12)
    estimate = value.estimate(D, A, Threads(2))
    assert estimate == pytest.approx(exact, rel=0.01)  # a million pairs: a standard error of about 0.2 %
    assert estimate != value(D, A, Threads(2))


def test_the_objective_with_all_weights_1_is_the_full_one() -> None:
    X, penalty = matrix(), ForestL2(FOREST, 0.3)
    rng = np.random.default_rng(1)
    D, A = (rng.standard_normal((n, M)).astype(np.float32) for n in (200, 300))
    value = EntryObjective(stored_pairs(X, np.ones(X.nnz)), penalty, 0.0, 1.0, (1.0, 1.0), 0)(D, A, Threads(1))
    assert value == pytest.approx(objective(X, D, A, penalty), rel=1e-6)

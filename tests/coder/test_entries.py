"""The entry learner: the objective falls, unstored pairs count, a step size that is too large is halved."""

from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

from tests.coder.plain import entry_objective
from tests.coder.shared import low_rank_matrix as matrix
from wordforest.coder.entries import EntryObjective, EntrySettings, learn_from_entries
from wordforest.coder.forest import Forest
from wordforest.coder.learn import Learned, State
from wordforest.coder.losses import objective
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import L1, ForestL2, NonNegativeL1, NoPenalty, Penalty
from wordforest.coder.rows.pairs import stored_pairs
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

FOREST = Forest.complete(2)
M = len(FOREST)


def learn(X: Any, penalty: Penalty | None = None, workers: int = 1, **more: Any) -> Learned:
    keywords = {name: more.pop(name) for name in ("weights", "resume", "on_step") if name in more}
    settings = EntrySettings(**{"blocks": 8, **more})  # X is small
    return learn_from_entries(X, penalty or ForestL2(FOREST, 0.01), M, settings, executor=Threads(workers), **keywords)


@pytest.mark.parametrize("sampling", ["proportional", "uniform"])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_the_objective_falls(sampling: Any, zeros: float) -> None:
    learned = learn(matrix(), sampling=sampling, zeros=zeros, epochs=6, tol=0.0)
    history = learned.history
    assert history[-1].objective < 0.6 * (history[0].objective + history[0].gain)
    assert all(after.objective < 1.05 * before.objective for before, after in pairwise(history))


def test_the_logged_gain_is_the_fall_of_the_objective() -> None:
    history = learn(matrix(), epochs=3, tol=0.0).history
    assert [step.gain for step in history[1:]] == [a.objective - b.objective for a, b in pairwise(history)]


def test_the_seed_decides() -> None:
    X = matrix()
    np.testing.assert_array_equal(learn(X, seed=1, epochs=1).A, learn(X, seed=1, epochs=1).A)
    assert not np.array_equal(learn(X, seed=1, epochs=1).A, learn(X, seed=2, epochs=1).A)


def test_codes_have_exact_zeros_closed_under_the_tree() -> None:
    A = learn(matrix(), ForestL2(FOREST, 0.3), epochs=4).A
    assert 0.02 < np.mean(A == 0) < 0.98
    child = np.flatnonzero(FOREST.parent >= 0)
    assert not ((A[:, child] != 0) & (A[:, FOREST.parent[child]] == 0)).any()


def test_words_and_contexts_without_entries_are_zero() -> None:
    learned = learn(matrix(), epochs=1)
    assert not learned.A[::50].any()
    assert not learned.D[7].any()
    assert learned.A[1].any()


@pytest.mark.parametrize("penalty", [L1(0.02), NonNegativeL1(0.02), NoPenalty(), ForestL2(FOREST, 0.02, None, True)])
def test_other_penalties(penalty: Penalty) -> None:
    learned = learn(matrix(), penalty, epochs=5)
    assert learned.history[-1].objective < 0.9 * (learned.history[0].objective + learned.history[0].gain)
    if penalty.nonnegative:
        assert learned.A.min() >= 0


def test_all_pairs_with_weight_1_lead_to_the_full_objective() -> None:
    """Without penalty and ridge both learners look for the best matrix of rank M."""
    X = matrix()
    full = learn_online(X, NoPenalty(), M, OnlineSettings(epochs=200, tol=1e-6), executor=Threads(1))
    best = objective(X, full.D, full.A, NoPenalty())
    settings: dict[str, Any] = {"sampling": "uniform", "tau": 0.0, "tol": 0.0}
    learned = learn(X, NoPenalty(), zeros=1.0, weights=np.ones(X.nnz), epochs=60, **settings)
    stored_only = learn(X, NoPenalty(), zeros=0.0, weights=np.ones(X.nnz), epochs=20, **settings)
    energy = float(X.data @ X.data)
    assert objective(X, learned.D, learned.A, NoPenalty()) < best + 0.05 * (energy - best)  # noise of 60 passes: 0.03
    assert objective(X, stored_only.D, stored_only.A, NoPenalty()) > energy


def test_lam_means_what_it_means_to_the_learner_online() -> None:
    """With the same weights both go down the same objective; were lam paid at every visit, all codes would be zero."""
    X, penalty = matrix(), ForestL2(FOREST, 3.0)
    online = learn_online(X, penalty, M, OnlineSettings(epochs=200, tol=1e-6), executor=Threads(1))
    learned = learn(X, penalty, weights=np.ones(X.nnz), sampling="uniform", epochs=60, tol=0.0)
    reached = objective(X, learned.D, learned.A, penalty)
    assert reached == pytest.approx(objective(X, online.D, online.A, penalty), rel=0.02)  # 0.01: other local optima
    assert reached == pytest.approx(learned.history[-1].objective, rel=1e-6)
    assert reached < 0.95 * float(X.data @ X.data)  # where all codes are zero


def test_atoms_have_length_one_in_the_mean_square_unless_a_ridge_is_given() -> None:
    sizes = [float(np.sum(learn(matrix(), tau=tau, epochs=3).D ** 2)) for tau in (None, 0.01)]
    assert sizes[0] == pytest.approx(M, rel=1e-5)  # float32
    assert sizes[1] > 2 * M


def test_both_samplings_go_down_the_same_objective() -> None:
    ends = [
        learn(matrix(), sampling=sampling, zeros=0.3, epochs=30, tol=0.0).history[-1].objective
        for sampling in ("proportional", "uniform")
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)


def test_a_huge_step_is_halved_until_learning_holds() -> None:
    learned = learn(matrix(), eta=50.0, epochs=3)
    assert learned.facts["eta"] < 1
    assert all("diverged" in notice for notice in learned.notices)
    assert len(learned.notices) == round(np.log2(50.0 / learned.facts["eta"]))
    assert np.isfinite(learned.A).all()
    assert learned.history[-1].objective < learned.history[0].objective + learned.history[0].gain


@pytest.mark.parametrize("zeros", [0.0, 3.0])
@pytest.mark.parametrize("sampling", ["proportional", "uniform"])
def test_no_step_size_leaves_anything_that_is_not_finite(sampling: Any, zeros: float) -> None:
    X = matrix(60, 40)
    halved = []
    for eta in 10.0 ** np.arange(-4, 7):
        learned = learn(X, eta=eta, epochs=2, tol=0.0, sampling=sampling, zeros=zeros, blocks=4)
        assert np.isfinite(learned.A).all()
        assert np.isfinite(learned.D).all()
        assert all(np.isfinite(step.objective) for step in learned.history)
        assert learned.history[-1].objective < 1.25**2 * (learned.history[0].objective + learned.history[0].gain)
        assert learned.facts["eta"] == eta / 2 ** len(learned.notices)  # every halving is said, and nothing else
        halved.append(len(learned.notices))
    assert halved[0] == 0
    assert halved[-1] > 10


def test_a_step_that_no_halving_mends_is_an_error() -> None:
    with pytest.raises(InputError, match="diverges even with eta"):
        learn(matrix(60, 40), eta=1e30, epochs=1, blocks=4)


def planted(forest: Forest, V: int, C: int, noise: float) -> tuple[Any, Any, sparse.csr_array]:
    """Atoms of norm 1, codes where a word uses one tree and a node at most where its parent is used, and X of both."""
    rng = np.random.default_rng(0)
    D = rng.standard_normal((C, len(forest)))
    D /= np.linalg.norm(D, axis=0)
    used = rng.random((V, len(forest))) < 1 / 3
    roots = np.flatnonzero(forest.parent < 0)
    used[:, roots] = np.eye(len(roots), dtype=bool)[rng.integers(len(roots), size=V)]
    for node in np.flatnonzero(forest.parent >= 0):  # parents come first
        used[:, node] &= used[:, forest.parent[node]]
    A = np.where(used, rng.choice((-1, 1), used.shape) * rng.uniform(1, 2, used.shape), 0)
    X = A @ D.T + noise * rng.standard_normal((V, C))
    return D, A, sparse.csr_array(np.where(rng.random((V, C)) < 0.7, X, 0).astype(np.float32))


def test_a_planted_forest_is_found() -> None:
    forest, noise = Forest.complete(3, (3,)), 0.05
    D, A, X = planted(forest, 1500, 40, noise)
    settings = EntrySettings(epochs=400, tol=0.0, zeros=0.0, blocks=4)
    found = learn_from_entries(X, ForestL2(forest, 0.05), len(forest), settings)
    match = abs(D.T @ (found.D / np.linalg.norm(found.D, axis=0)))  # (planted, found)
    best = match.argmax(axis=1)
    assert np.mean(match.max(axis=1) > 0.95) > 0.7  # the problem is not convex: a few atoms may mix
    np.testing.assert_array_equal(forest.depth[best], forest.depth)
    codes = abs(found.A[:, best]) / found.A[:, best].std(axis=0)
    assert roc_auc_score((A != 0).ravel(), codes.ravel()) > 0.98  # large where planted, small elsewhere
    errors = X.data - (found.A @ found.D.T)[X.nonzero()]
    assert np.mean(errors**2) < 2 * noise**2  # what is left is noise, and a little shrinkage


def test_the_search_scales_with_the_data() -> None:
    X = matrix()
    small, large = (learn(x, NoPenalty(), zeros=0.0, epochs=1).facts["eta"] for x in (X, X * 64))
    assert small == pytest.approx(64 * large)


def test_learning_stops_when_the_objective_settles_and_a_resumed_run_stays_there() -> None:
    states: list[State] = []
    learned = learn(matrix(), epochs=50, tol=0.05, on_step=lambda step, state: states.append(deepcopy(state)))
    assert learned.converged
    assert 1 < len(learned.history) < 50
    resumed = learn(matrix(), epochs=50, tol=0.05, resume=states[-1])
    assert resumed.history == learned.history


def test_the_callers_matrix_is_left_alone() -> None:
    X = matrix()
    before = X.copy()
    learn(X, epochs=1)
    assert (before != X).nnz == 0


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"epochs": 0}, "epochs"),
        ({"blocks": 0}, "blocks"),
        ({"eta": 0.0}, "eta"),
        ({"eta": float("nan")}, "eta"),
        ({"tau": -1.0}, "tau"),
        ({"zeros": float("inf")}, "zeros"),
        ({"seed": -1}, "seed"),
        ({"sampling": "all"}, "sampling"),
    ],
)
def test_bad_settings(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        EntrySettings(**settings)


class Unknown:
    """A penalty of which the visits know nothing."""

    lam = 0.1


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"X": sparse.csr_array((5, 4), dtype=np.float32)}, "nothing to learn"),
        ({"X": matrix() * np.float32(np.nan)}, "NaN"),
        ({"penalty": ForestL2(Forest.flat(3), 0.1)}, "3 nodes"),
        ({"penalty": Unknown()}, "Unknown"),
        ({"X": matrix() * np.float32(np.inf)}, "infinity"),
        ({"X": matrix() * 0, "weights": np.ones(matrix().nnz)}, "nothing to learn"),
        ({"weights": np.zeros(matrix().nnz)}, "nothing to learn"),
        ({"weights": np.ones(3)}, "shape"),
        ({"weights": -np.ones(matrix().nnz)}, "negative"),
    ],
)
def test_bad_input(change: dict[str, Any], match: str) -> None:
    arguments = {"X": matrix(), "penalty": ForestL2(FOREST, 0.1)} | change
    weights = arguments.pop("weights", None)
    with pytest.raises(InputError, match=match):
        learn_from_entries(arguments["X"], arguments["penalty"], M, weights=weights)


def test_the_objective_is_the_paper_s_second_one() -> None:
    X, penalty = matrix(), ForestL2(FOREST, 0.3)
    rng = np.random.default_rng(1)
    D, A = (rng.standard_normal((n, M)).astype(np.float32) for n in (200, 300))
    value = EntryObjective(stored_pairs(X, np.ones(X.nnz)), penalty, 0.2, 0.0, 0)(D, A, Threads(1))
    assert value == pytest.approx(entry_objective(X, D, A, penalty, 0.2), rel=1e-12)


def test_the_objective_of_many_pairs_is_exact_and_its_estimate_near() -> None:
    X = sparse.random_array((3000, 2000), density=0.25, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
    rng = np.random.default_rng(1)
    D, A = (rng.standard_normal((n, 4)).astype(np.float32) for n in (2000, 3000))
    pairs = stored_pairs(X, np.ones(X.nnz))
    assert len(pairs) > 1 << 20  # more than the sample
    value = EntryObjective(pairs, NoPenalty(), 0.0, 0.0, 0)
    exact = entry_objective(X, D, A, NoPenalty(), 0.0)
    assert value(D, A, Threads(2)) == pytest.approx(exact, rel=1e-12)
    estimate = value.estimate(D, A, Threads(2))
    assert estimate == pytest.approx(exact, rel=0.01)  # a million pairs: a standard error of about 0.2 %
    assert estimate != value(D, A, Threads(2))


def test_the_objective_with_all_weights_1_is_the_full_one() -> None:
    X, penalty = matrix(), ForestL2(FOREST, 0.3)
    rng = np.random.default_rng(1)
    D, A = (rng.standard_normal((n, M)).astype(np.float32) for n in (200, 300))
    value = EntryObjective(stored_pairs(X, np.ones(X.nnz)), penalty, 0.0, 1.0, 0)(D, A, Threads(1))
    assert value == pytest.approx(objective(X, D, A, penalty), rel=1e-6)

"""The entry learner: a visit is Algorithm 1, draws follow |x|, bits ignore the workers, unstored pairs count."""

from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import roc_auc_score
from wordforest.coder.pairs import stored_pairs
from wordforest.coder.walk import tree_of

from tests.strategies import forests_with_rows
from wordforest.coder.entries import EntrySettings, EntryState, LearnedFromEntries, learn_from_entries
from wordforest.coder.entries_objective import EntryObjective
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import plain
from wordforest.coder.kernels.entries import ENTRY, Rule, Side, prox_row, visit
from wordforest.coder.objectives import entry_objective, objective
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import L1, ForestL2, ForestLInf, NonNegativeL1, NoPenalty, Penalty
from wordforest.coder.strata import Strata, cut
from wordforest.errors import InputError
from wordforest.runtime.threads import Threads

FOREST = Forest.complete(2)
M = len(FOREST)


def matrix(V: int = 300, C: int = 200, seed: int = 0) -> sparse.csr_array:
    """A sparse matrix with a few strong directions, some rows and one column empty."""
    rng = np.random.default_rng(seed)
    low_rank = rng.standard_normal((V, 8)) @ rng.standard_normal((8, C)) / 2
    X = np.where(rng.random((V, C)) < 0.15, low_rank + 0.3 * rng.standard_normal((V, C)), 0)
    X[::50] = 0
    X[:, 7] = 0
    return sparse.csr_array(X.astype(np.float32))


def learn(X: Any, penalty: Penalty | None = None, workers: int = 1, **more: Any) -> LearnedFromEntries:
    keywords = {name: more.pop(name) for name in ("weights", "resume", "on_step") if name in more}
    return learn_from_entries(
        X, penalty or ForestL2(FOREST, 0.01), M, EntrySettings(**more), executor=Threads(workers), **keywords
    )


def visited_plainly(
    d: Any, a: Any, *, value: float, keep: float, mass: float, eta: float, lam: float, tau: float, pulls: Any
) -> tuple[Any, Any]:
    """One visit as in Algorithm 1: first d_c, then a_v with the new d_c, then the prox with threshold eta * lam."""
    d = d + 2 * eta * mass * (a * (value - keep * d @ a) - tau * d - pulls[0])
    a = a + 2 * eta * mass * (d * (value - keep * d @ a) - pulls[1])
    return d, plain.forest_prox(a[None], FOREST, eta * mass * lam)[0]


@pytest.mark.parametrize("by_mass", [False, True])
@pytest.mark.parametrize("with_pull", [False, True])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-6), (np.float64, 1e-12)])  # rounding of the type
def test_a_visit_is_algorithm_1(by_mass: bool, with_pull: bool, dtype: Any, tolerance: float) -> None:
    rng = np.random.default_rng(0)
    tree = walk(ForestL2(FOREST, 3.0), M)
    D, A, pull = (rng.standard_normal((3, M)).astype(dtype)[:, tree.columns] for _ in range(3))
    D, A, pull = map(np.ascontiguousarray, (D, A, pull))
    entries = np.array([(1, 2, 1.5, 0.75, 2.0, 0)], dtype=ENTRY)
    none = np.empty((0, M), dtype=dtype), np.empty(0, dtype=dtype)
    back = np.argsort(tree.columns)
    d, a = visited_plainly(
        D[2, back].astype(float), A[1, back].astype(float), value=1.5, keep=0.75, mass=2.0 if by_mass else 1.0,
        eta=0.05, lam=3.0, tau=0.2, pulls=(pull[2, back], pull[1, back]) if with_pull else (0, 0),
    )  # fmt: skip
    sides = [
        Side(rows, np.full((3, 2), (0.05, charge), dtype=dtype), pull if with_pull else none[0], none[1])
        for rows, charge in ((A, 3.0), (D, 0.2))
    ]
    untouched = D[:2].copy(), A[[0, 2]].copy()
    assert visit(entries, np.zeros(1, np.int32), *sides, tree, Rule(by_mass, 1, 1e3))
    np.testing.assert_allclose(D[2, back], d, atol=tolerance)
    np.testing.assert_allclose(A[1, back], a, atol=tolerance)
    np.testing.assert_array_equal(D[:2], untouched[0])
    np.testing.assert_array_equal(A[[0, 2]], untouched[1])


def walk(penalty: Penalty, n: int) -> Any:
    """The tree of a penalty for codes that are not padded."""
    tree = tree_of(penalty, n)
    return tree._replace(leaf=tree.leaf[:, :n].copy())


def prox_rows(A: Any, tree: Any, threshold: float) -> Any:
    """The prox of a visit on every row; columns in the order of the forest go in and come out."""
    rows = np.ascontiguousarray(A[:, tree.columns])
    for v in range(len(A)):
        prox_row(rows, v, np.float32(threshold), *tree[1:], *np.empty((2, len(tree.weights)), dtype=A.dtype))
    return rows[:, np.argsort(tree.columns)]


@given(forests_with_rows(), st.floats(0, 5))
def test_the_prox_of_a_visit_is_the_plain_one(case: tuple[Forest, Any], threshold: float) -> None:
    forest, rows = case
    A = rows.astype(np.float32)
    expected = plain.forest_prox(A.astype(float), forest, threshold)
    tree = walk(ForestL2(forest, 1.0), len(forest))
    np.testing.assert_allclose(
        prox_rows(A, tree, threshold), expected, atol=1e-4
    )  # near a threshold the square root magnifies float32's rounding


def test_node_weights_reach_the_prox() -> None:
    weights = tuple(np.linspace(0.5, 2, M))
    tree = walk(ForestL2(FOREST, 1.0, weights=weights), M)
    A = np.random.default_rng(0).standard_normal((1, M)).astype(np.float32)
    expected = ForestL2(FOREST, 1.0, weights=weights).prox(A.astype(float), 0.3)
    np.testing.assert_allclose(prox_rows(A, tree, 0.3), expected, atol=1e-6)


def strata(X: Any, *, zeros: float = 0.0, proportional: bool = True, blocks: int = 4) -> Strata:
    return cut(stored_pairs(X), zeros, blocks=blocks, proportional=proportional, seed=0, executor=Threads(1))


def drawn(cuts: Strata, passes: int) -> Any:
    """How often each (word, context), in the numbers of X, is drawn."""
    counts = np.zeros((len(cuts.words), len(cuts.contexts)))
    for epoch in range(passes):
        for i, j in (block for blocks in cuts.rounds((0, epoch)) for block in blocks):
            entries, order = cuts.visits(i, j, (0, epoch))
            chosen = entries[order]
            np.add.at(counts, (cuts.words[chosen["word"]], cuts.contexts[chosen["context"]]), 1)
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


@pytest.mark.parametrize("sampling", ["proportional", "uniform"])
@pytest.mark.parametrize("schedule", ["constant", "inverse", "linear", "adagrad"])
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_the_objective_falls(sampling: Any, schedule: Any, zeros: float) -> None:
    learned = learn(matrix(), sampling=sampling, schedule=schedule, zeros=zeros, epochs=6, tol=0.0)
    history = learned.history
    assert history[-1].objective < 0.6 * (history[0].objective + history[0].gain)
    assert all(after.objective < 1.05 * before.objective for before, after in pairwise(history))


@pytest.mark.parametrize("share", ["visit", "pass"])
def test_the_logged_gain_is_the_fall_of_the_objective(share: Any) -> None:
    history = learn(matrix(), share=share, epochs=3, tol=0.0).history
    assert [step.gain for step in history[1:]] == [a.objective - b.objective for a, b in pairwise(history)]


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("sampling", ["proportional", "uniform"])
def test_the_bits_do_not_depend_on_the_number_of_workers(zeros: float, sampling: Any) -> None:
    X = matrix(800, 600)
    one, *others = (learn(X, workers=n, epochs=2, zeros=zeros, sampling=sampling, blocks=8) for n in (1, 2, 4))
    for other in others:
        np.testing.assert_array_equal(other.A, one.A)
        np.testing.assert_array_equal(other.D, one.D)
        assert [step.objective for step in other.history] == [step.objective for step in one.history]


def test_the_seed_decides() -> None:
    X = matrix()
    np.testing.assert_array_equal(learn(X, seed=1, epochs=1).A, learn(X, seed=1, epochs=1).A)
    assert not np.array_equal(learn(X, seed=1, epochs=1).A, learn(X, seed=2, epochs=1).A)


@pytest.mark.parametrize("schedule", ["linear", "adagrad"])
def test_resume_goes_on_to_the_same_bits(schedule: Any) -> None:
    X, states = matrix(), []

    def keep(step: Any, state: EntryState) -> None:
        states.append(deepcopy(state))

    whole = learn(X, schedule=schedule, epochs=4, tol=0.0, on_step=keep)
    resumed = learn(X, schedule=schedule, epochs=4, tol=0.0, resume=states[1])
    np.testing.assert_array_equal(resumed.A, whole.A)
    assert resumed.history == whole.history


@pytest.mark.parametrize("lazy", [1, 4])
def test_codes_have_exact_zeros_closed_under_the_tree(lazy: int) -> None:
    A = learn(matrix(), ForestL2(FOREST, 0.3), lazy=lazy, epochs=4).A
    assert 0.02 < np.mean(A == 0) < 0.98
    child = np.flatnonzero(FOREST.parent >= 0)
    assert not ((A[:, child] != 0) & (A[:, FOREST.parent[child]] == 0)).any()


def test_words_and_contexts_without_entries_are_zero() -> None:
    learned = learn(matrix(), epochs=1)
    assert not learned.A[::50].any()
    assert not learned.D[7].any()
    assert learned.A[1].any()


def test_lazy_prox_ends_near_the_exact_one() -> None:
    exact, lazy = (learn(matrix(), ForestL2(FOREST, 0.05), lazy=k, eta=0.02, tol=0.0).history[-1] for k in (1, 4))
    assert lazy.objective == pytest.approx(exact.objective, rel=0.05)


@pytest.mark.parametrize("penalty", [L1(0.02), NonNegativeL1(0.02), NoPenalty(), ForestL2(FOREST, 0.02, None, True)])
def test_other_penalties(penalty: Penalty) -> None:
    learned = learn(matrix(), penalty, epochs=5)
    assert learned.history[-1].objective < 0.9 * (learned.history[0].objective + learned.history[0].gain)
    if not isinstance(penalty, L1 | NoPenalty):
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


def test_both_samplings_go_down_the_same_objective() -> None:
    ends = [
        learn(matrix(), sampling=sampling, zeros=0.3, epochs=30, tol=0.0).history[-1].objective
        for sampling in ("proportional", "uniform")
    ]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)


def test_a_huge_step_is_halved_until_learning_holds() -> None:
    learned = learn(matrix(), eta=50.0, epochs=3)
    assert learned.eta < 1
    assert all("diverged" in notice for notice in learned.notices)
    assert len(learned.notices) == round(np.log2(50.0 / learned.eta))
    assert np.isfinite(learned.A).all()
    assert learned.history[-1].objective < learned.history[0].objective + learned.history[0].gain


@pytest.mark.parametrize("zeros", [0.0, 3.0])
@pytest.mark.parametrize("sampling", ["proportional", "uniform"])
@pytest.mark.parametrize("schedule", ["constant", "inverse", "linear", "adagrad"])
def test_no_step_size_leaves_anything_that_is_not_finite(schedule: Any, sampling: Any, zeros: float) -> None:
    X = matrix(60, 40)
    halved = []
    for eta in 10.0 ** np.arange(-4, 7):
        learned = learn(
            X, eta=eta, epochs=2, tol=0.0, schedule=schedule, sampling=sampling, zeros=zeros, share="pass", blocks=4
        )
        assert np.isfinite(learned.A).all()
        assert np.isfinite(learned.D).all()
        assert all(np.isfinite(step.objective) for step in learned.history)
        assert learned.history[-1].objective < 1.25**2 * (learned.history[0].objective + learned.history[0].gain)
        assert learned.eta == eta / 2 ** len(learned.notices)  # every halving is said, and nothing else
        halved.append(len(learned.notices))
    assert halved[0] == 0
    assert halved[-1] > 10 or (schedule == "adagrad" and zeros > 0)  # where curvature and past gradients cut the step


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
    settings = EntrySettings(epochs=400, tol=0.0, tau=0.003, blocks=4)
    found = learn_from_entries(X, ForestL2(forest, 0.02), len(forest), settings)
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
    small, large = learn(X, NoPenalty(), tau=0.0, epochs=1).eta, learn(X * 64, NoPenalty(), tau=0.0, epochs=1).eta
    assert small == pytest.approx(64 * large)


def test_learning_stops_when_the_objective_settles_and_a_resumed_run_stays_there() -> None:
    states: list[EntryState] = []
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
        ({"lazy": 0}, "lazy"),
        ({"eta": 0.0}, "eta"),
        ({"eta": float("nan")}, "eta"),
        ({"tau": -1.0}, "tau"),
        ({"zeros": float("inf")}, "zeros"),
        ({"seed": -1}, "seed"),
        ({"schedule": "cosine"}, "schedule"),
        ({"sampling": "all"}, "sampling"),
        ({"share": "none"}, "share"),
    ],
)
def test_bad_settings(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        EntrySettings(**settings)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"X": matrix().toarray()}, "sparse"),
        ({"X": sparse.csr_array((5, 4), dtype=np.float32)}, "nothing to learn"),
        ({"X": matrix() * np.float32(np.nan)}, "NaN"),
        ({"penalty": ForestL2(Forest.flat(3), 0.1)}, "3 nodes"),
        ({"penalty": ForestLInf(FOREST, 0.1)}, "ForestLInf"),
        ({"X": matrix().astype(np.float64) * 1e39}, "infinity"),  # float64, but visits see float32
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

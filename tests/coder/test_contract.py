"""One contract for every learner on every home of X.

The objective never rises, bits depend on the seed alone, learning resumes from any step to the same bits, nothing
becomes NaN, atoms that nobody uses do no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from tests.coder.shared import HOMES, ON_CLUSTER, low_rank_matrix, marks_of
from wordforest.coder import online
from wordforest.coder.additive import Additive, AdditiveSettings, mean_direction
from wordforest.coder.dictionary import random_columns
from wordforest.coder.entries import Entries, EntrySettings
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import density, on_host
from wordforest.coder.lam import lam_for_training
from wordforest.coder.learn import Learned, Learner, State, learn
from wordforest.coder.online import Online, OnlineSettings
from wordforest.coder.penalties import ForestL2, MostActive, NonNegativeL1, Penalty
from wordforest.coder.rows import Rows, base
from wordforest.coder.rows.base import Loss
from wordforest.coder.weighted import Weighted, WeightedSettings
from wordforest.errors import InputError
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.machine import Threads, one_blas_thread

FOREST = Forest.complete(1)
M = len(FOREST)
C = 30
V = 300
UNSTORED = 0.3  # weight of pairs that are not stored, for the learners that have one
GREEDY = 1.02  # codes that are found greedily may get a little worse where the dictionary gets better
GUARD = 1.25  # a pass of the entry learner is taken back where the objective is more than this times that before

# Weights are of stored pairs, so X must be where pairs are: no dense tensor, nothing streamed. The entry learner visits
# its pairs on this machine.
EXISTS = {
    "online": list(HOMES),
    "active": list(HOMES),  # the same with a bound on the nodes that are on
    "priced": list(HOMES),  # and with a price for each
    "weighted": ["csr", "array", "device", "device-cuda", "cluster-csr", "cluster-array"],
    "additive": list(HOMES),
    "entries": ["csr", "array"],
}


def cases(exists: bool = True, **only: Any) -> Any:
    """All pairs of a learner and a home that exist, or those that do not."""
    learners, homes = only.get("learners", EXISTS), only.get("homes", HOMES)
    found = [
        pytest.param(learner, home, id=f"{learner}-{home}", marks=marks_of(home))
        for learner in learners
        for home in homes
        if (home in EXISTS[learner]) == exists
    ]
    return pytest.mark.parametrize(("learner", "home"), found)


every_type = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A Dask cluster of two workers in this process: what they say to each other takes half of the time.

    A worker holds BLAS to a thread while it works, for the whole process; held here too, the first to end leaves that.
    """
    distributed = pytest.importorskip("distributed")
    here = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0")
    with one_blas_thread(), here, distributed.Client(here, set_as_default=False) as client:
        yield Cluster(client)


@pytest.fixture(scope="module")
def processes() -> Iterator[Cluster]:
    """A Dask cluster of two processes on this machine."""
    pytest.importorskip("distributed")
    with Cluster.connect("local:2") as started:
        yield started


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even this X is cut into three shards, so that their order matters, four ranges of contexts, and two batches."""
    monkeypatch.setattr(base, "_SHARD_COST", 19_000)
    monkeypatch.setattr(base, "_CONTEXT_RANGES", 4)
    monkeypatch.setattr(online, "_SMALLEST_BATCH", V // 2)


def matrix(dtype: Any = np.float32) -> sparse.csr_array:
    """Some rows and a column are empty."""
    return low_rank_matrix(V, C, dtype=dtype)


def pair_weights(X: sparse.csr_array) -> Any:
    """A weight for every pair, (V, C)."""
    return np.random.default_rng(3).uniform(0.1, 2, X.shape).astype(X.dtype)


class Case:
    """A learner on a home."""

    def __init__(self, learner: str, home: str, request: Any, X: Any = None, cluster: str = "cluster") -> None:
        self.learner, self.home, self.request, self.cluster = learner, HOMES[home], request, cluster
        self.X = matrix() if X is None else X
        table = pair_weights(self.X)
        self.weights = table.ravel() if self.home.dense else table[self.X.tocoo().coords]

    @property
    def loss(self) -> Loss:
        plain = self.learner in ("online", "active", "priced", "additive")
        return Loss() if plain else Loss(self.weights, UNSTORED)

    def rows(self, workers: int = 1) -> Rows:
        on_cluster = self.home.shares == "cluster"
        return self.home.put(self.X, self.request.getfixturevalue(self.cluster) if on_cluster else Threads(workers))

    def make(self, *, workers: int = 1, lam: float = 0.1, start: Any = None, epochs: int = 3, **more: Any) -> Learner:
        rows, penalty = self.rows(workers), ForestL2(FOREST, lam)
        if self.learner == "online":
            return Online(rows, penalty, M, OnlineSettings(epochs=epochs, tol=0.0), start)
        if self.learner == "active":
            return Online(rows, MostActive(FOREST, 3), M, OnlineSettings(epochs=epochs, tol=0.0), start)
        if self.learner == "priced":
            return Online(rows, MostActive(FOREST, 9, price=lam), M, OnlineSettings(epochs, 0.0, **more), start)
        if self.learner == "additive":
            settings = AdditiveSettings(epochs=epochs, tol=0.0, n_rows=250, **more)
            start = random_columns((C, M), 0) if start is None else start
            return Additive(rows, FOREST, NonNegativeL1(lam), settings, start, mean_direction(rows))
        if self.learner == "weighted":
            begun = None if start is None else (start, None)
            return Weighted(rows, self.loss, penalty, M, WeightedSettings(epochs=epochs, tol=0.0), begun)
        settings = EntrySettings(epochs=epochs, tol=0.0, blocks=4, zeros=UNSTORED, **more)
        return Entries(rows, penalty, M, settings, self.weights)

    def learn(self, *, resume: State | None = None, on_step: Any = None, **more: Any) -> Learned:
        return learn(self.make(**more), resume=resume, on_step=on_step)

    def states(self, **more: Any) -> tuple[Learned, list[State]]:
        """Learn, and keep a copy of what every step leaves."""
        kept: list[State] = []

        def keep(_: Any, state: State) -> None:
            arrays = {name: np.array(on_host(values)) for name, values in state.arrays.items()}
            kept.append(State(arrays, list(state.history)))

        return self.learn(on_step=keep, **more), kept

    def objective(self, learned: Learned, penalty: Penalty) -> float:
        """What the learner says it goes down, over dense matrices."""
        D, A = (on_host(part).astype(np.float64) for part in (learned.D, learned.A))
        X = self.X.toarray().astype(np.float64)
        if self.learner == "additive":  # own activations of rows of length one
            lengths = np.linalg.norm(X, axis=1)[:, None]
            X = np.divide(X, lengths, out=np.zeros_like(X), where=lengths > 0)
            return float(((X - A @ D.T) ** 2).sum() + NonNegativeL1(penalty.lam).per_word(A).sum())
        squares = (X - A @ D.T) ** 2
        if self.learner == "active":
            return float(squares.sum())
        if self.learner == "priced":
            return float(squares.sum() + penalty.lam * np.count_nonzero(A))
        if self.learner == "online":
            return float(squares.sum() + penalty.per_word(A).sum())
        w, stored = np.full(squares.shape, UNSTORED), np.ones(squares.shape, bool)
        if not self.home.dense:
            stored = self.X.toarray() != 0
        w[stored] = self.weights
        return float((w * squares).sum() + penalty.per_word(A).sum())


def same_bits(one: Learned, other: Learned) -> None:
    for name in ("D", "A"):
        np.testing.assert_array_equal(on_host(getattr(other, name)), on_host(getattr(one, name)))
    assert other.history == one.history


def check_finite(learned: Learned) -> None:
    for part in (learned.D, learned.A):
        assert np.isfinite(on_host(part)).all()
    assert all(np.isfinite(step.objective) for step in learned.history)


@cases()
@every_type
def test_the_objective_never_rises_and_is_the_objective(learner: str, home: str, dtype: Any, request: Any) -> None:
    case = Case(learner, home, request, matrix(dtype))
    learned = case.learn()
    objectives = [step.objective for step in learned.history]
    rounding = 1e-5 if dtype == np.float32 else 1e-10
    most = {"entries": GUARD, "active": GREEDY, "priced": GREEDY}.get(learner, 1 + rounding)
    assert all(after <= most * before for before, after in pairwise(objectives))
    assert objectives[-1] < objectives[0]
    assert objectives[-1] == pytest.approx(case.objective(learned, ForestL2(FOREST, 0.1)), rel=10 * rounding)
    assert on_host(learned.A).dtype == on_host(learned.D).dtype == dtype
    sizes = abs(on_host(learned.A))
    visited = learner == "entries" and case.home.dense  # pairs of value 0: their rows shrink from visit to visit
    assert sizes[::50].max() <= (0.1 * sizes.max() if visited else 0)  # rows without entries


@cases()
def test_the_bits_depend_on_nothing_but_the_seed(learner: str, home: str, request: Any) -> None:
    case = Case(learner, home, request, cluster="processes")
    if home in ON_CLUSTER:  # those of one machine
        one = Case(learner, home.removeprefix("cluster-"), request).learn()
        same_bits(one, case.learn())
        return
    one = case.learn()
    for workers in (2, 3) if case.home.shares == "threads" else (1,):
        same_bits(one, case.learn(workers=workers))


@cases()
def test_learning_resumes_from_any_step_to_the_same_bits(learner: str, home: str, request: Any) -> None:
    case = Case(learner, home, request)
    whole, states = case.states()
    assert len(states) == len(whole.history) >= 3
    for state in states[:: 3 if home in ON_CLUSTER else 1]:
        same_bits(whole, case.learn(resume=state, workers=2))


@cases(learners=["online", "active", "priced", "weighted", "additive"], homes=ON_CLUSTER)
def test_a_cluster_resumes_what_one_machine_began(learner: str, home: str, request: Any) -> None:
    whole, states = Case(learner, home.removeprefix("cluster-"), request).states()
    same_bits(whole, Case(learner, home, request).learn(resume=states[1]))


@cases(exists=False)
def test_what_does_not_exist_is_refused_with_advice(learner: str, home: str, request: Any) -> None:
    with pytest.raises(InputError, match=r"Use the device cpu, or a sparse|Give a SciPy sparse matrix and the"):
        Case(learner, home, request).make()


@cases(homes=["csr", "tensor", "device", "streamed"])
@every_type
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e18])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # what is too large is reported in the end
def test_extreme_values_give_numbers_or_an_error(
    learner: str, home: str, dtype: Any, scale: float, request: Any
) -> None:
    X = matrix(dtype)
    X.data *= dtype(scale)
    case = Case(learner, home, request, X)
    try:
        check_finite(case.learn(lam=min(0.1 * scale, 1e30), epochs=2))
    except InputError as error:
        assert any(advice in str(error) for advice in ("Scale", "scale", "Mend", "nothing to learn from"))  # noqa: PT017
        assert dtype == np.float32 or learner == "entries"


@cases(learners=["online", "active", "weighted"])
def test_atoms_that_no_word_uses_are_revived(learner: str, home: str, request: Any) -> None:
    start = np.zeros((C, M), dtype=np.float32)
    start[:, 0] = 1 / np.sqrt(C)  # all other atoms are zero: no word can use them
    learned = Case(learner, home, request).learn(start=start)
    assert learned.revived >= M - 1
    assert on_host(learned.D).any(axis=0).all()
    check_finite(learned)


@cases(learners=["online", "priced", "weighted", "additive", "entries"])
def test_a_huge_lam_gives_codes_of_zeros_and_a_notice(learner: str, home: str, request: Any) -> None:
    every_pair = {"sampling": "uniform"} if learner == "entries" else {}  # else words may never be drawn
    learned = Case(learner, home, request).learn(lam=1e6, **every_pair)
    assert not on_host(learned.A).any()
    assert any("all codes are zero: lam = 1e+06" in notice for notice in learned.notices)
    check_finite(learned)


@cases(learners=["additive"], homes=["csr", "tensor", "device", "streamed", *ON_CLUSTER])
def test_additive_trees_find_lam_for_a_density(learner: str, home: str, request: Any) -> None:
    case = Case(learner, home, request)
    learned, states = case.states(density=0.4, epochs=4)
    assert learned.history[-1].nonzeros == pytest.approx(0.4, abs=0.04)
    same_bits(learned, case.learn(density=0.4, epochs=4, resume=states[2]))


@cases(learners=["priced"])
def test_a_price_is_found_for_so_many_nodes_on_average(learner: str, home: str, request: Any) -> None:
    case = Case(learner, home, request)
    whole, states = case.states(density=2.5 / M)
    assert whole.history[-1].nonzeros * M == pytest.approx(2.5, rel=0.02)  # all rows are judges; a hundredth is near
    assert whole.facts["lam"] == states[-1].arrays["lam"][0]
    for state in states:  # also between batches of a pass, where some codes are of the price before
        priced = MostActive(FOREST, 9, price=float(state.arrays["lam"][0]))
        stands = replace(whole, D=state.arrays["D"], A=state.arrays["A"])
        assert state.history[-1].objective == pytest.approx(case.objective(stands, priced), rel=1e-4)
    same_bits(whole, case.learn(density=2.5 / M, workers=2))
    for state in states[:: 3 if home in ON_CLUSTER else 1]:
        same_bits(whole, case.learn(density=2.5 / M, resume=state))


@cases(homes=["array"], learners=["weighted", "entries"])
def test_a_dense_matrix_is_a_sparse_one_that_stores_all_pairs(learner: str, home: str, request: Any) -> None:
    case = Case(learner, home, request)
    full = sparse.csr_array(np.ones(case.X.shape, case.X.dtype))
    full.data = case.X.toarray().ravel()  # zeros, too
    other = Case(learner, "csr", request, full)
    assert len(other.weights) == full.nnz == case.X.shape[0] * C
    same_bits(case.learn(), other.learn())


@cases(learners=["online", "weighted"], homes=["csr", "array", "device", *ON_CLUSTER])
def test_lam_can_be_chosen_for_a_density(learner: str, home: str, request: Any) -> None:
    case = Case(learner, home, request)
    lam = lam_for_training(case.rows(2), ForestL2(FOREST, 1.0), M, 0.3, loss=case.loss)
    found = density(on_host(case.learn(lam=lam, epochs=6).A))
    assert found == pytest.approx(0.3, abs=0.1)  # of a dictionary that learned a little longer


@pytest.mark.parametrize("home", [pytest.param(home, marks=marks_of(home)) for home in ("tensor", "streamed")])
def test_lam_for_weights_where_there_are_none_is_refused_with_advice(home: str, request: Any) -> None:
    case = Case("weighted", home, request)
    with pytest.raises(InputError, match="Give lam as a number"):
        lam_for_training(case.rows(), ForestL2(FOREST, 1.0), M, 0.3, loss=case.loss)

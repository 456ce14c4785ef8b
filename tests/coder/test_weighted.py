"""Confidence weights: the family of losses, its learner, its solver and its start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from wordforest.coder.kernels.forms import Quadratic
from wordforest.coder.sides import Side, host_sides
from wordforest.coder.spectral import SpectralStart, with_spectrum

import wordforest as wf
from wordforest.coder.descent import descend, in_unit_balls
from wordforest.coder.losses import weighing
from wordforest.coder.penalties import ForestL2, NoPenalty
from wordforest.coder.rows.base import Loss
from wordforest.coder.weighted import WeightedSettings, encode_weighted, learn_weighted
from wordforest.errors import InputError
from wordforest.runtime.machine import Threads

Array = Any
FOREST = wf.Forest.complete(1, (3, 3))


def problem(seed: int = 0, shape: tuple[int, int] = (60, 40), dtype: Any = np.float64) -> tuple[Any, Array]:
    """Return a sparse matrix and weights of its pairs."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array(shape, density=0.3, rng=rng, format="csr").astype(dtype)
    X.data = rng.standard_normal(X.nnz).astype(dtype)
    return X, (2 * rng.random(X.nnz)).astype(dtype)


def reference(X: Any, w: Array, W: float, D: Array, A: Array, penalty: Any) -> float:
    """The objective over a dense matrix of weights."""
    dense = np.full(X.shape, float(W))
    rows, columns = X.tocoo().coords
    dense[rows, columns] = w
    residuals = X.toarray() - A.astype(np.float64) @ D.astype(np.float64).T
    return float((dense * residuals**2).sum() + penalty.per_word(A).sum())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), W=st.sampled_from([0.0, 0.1, 1.0, 3.0]), lam=st.sampled_from([0.0, 0.1, 2.0]))
def test_the_logged_objective_is_that_of_the_dense_reference(seed: int, W: float, lam: float) -> None:
    X, w = problem(seed, (20, 15))
    penalty = ForestL2(FOREST, lam)
    learned = learn_weighted(X, Loss(w, W), penalty, 13, WeightedSettings(epochs=2, exact_iter=5))
    expected = reference(X, w, W, learned.D, learned.A, penalty)
    assert learned.history[-1].objective == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("W", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("tau", [None, 0.3])
def test_the_objective_never_rises(dtype: Any, W: float, tau: float | None) -> None:
    X, w = problem(1, dtype=dtype)
    settings = WeightedSettings(epochs=15, tol=0.0, tau=tau)
    steps = learn_weighted(X, Loss(w, W), ForestL2(FOREST, 0.2), 13, settings).history
    objectives = np.array([step.objective for step in steps])
    assert (np.diff(objectives) <= 1e-6 * objectives[:-1]).all()  # float32 products round at 1e-7


def test_all_weights_one_is_the_plain_learner() -> None:
    X, _ = problem(2)
    penalty = ForestL2(FOREST, 0.1)
    plain = wf.coder.learn_online(X, penalty, 13, wf.coder.OnlineSettings(epochs=4000, tol=1e-10))
    exact = WeightedSettings(epochs=1, exact_iter=4000, exact_tol=1e-10)
    codes = encode_weighted(X, Loss(), plain.D, penalty, exact)
    assert np.abs(codes - wf.coder.encode(X, plain.D, penalty).A).max() < 1e-6
    there = learn_weighted(X, Loss(np.ones(X.nnz)), penalty, 13, exact, start=(plain.D, plain.A))
    assert there.history[-1].objective == pytest.approx(plain.history[-1].objective, rel=1e-6)


def test_weight_zero_is_as_if_a_pair_had_any_value() -> None:
    X, w = problem(3)
    w[::2] = 0
    Y = X.copy()
    Y.data[::2] = 7.0
    settings = WeightedSettings(epochs=3)
    one, other = (learn_weighted(Z, Loss(w, 0.5), ForestL2(FOREST, 0.1), 13, settings) for Z in (X, Y))
    assert np.array_equal(one.A, other.A)


def test_codes_are_the_minimum() -> None:
    X, w = problem(4, (10, 30))
    D = np.random.default_rng(5).standard_normal((30, 13)) / 5
    penalty = ForestL2(FOREST, 0.3)
    A = encode_weighted(X, Loss(w, 0.2), D, penalty, WeightedSettings(exact_iter=5000, exact_tol=1e-12))
    best = reference(X, w, 0.2, D, A, penalty)
    rng = np.random.default_rng(6)
    for scale in (1e-1, 1e-3, 1e-5):
        near = A + scale * rng.standard_normal(A.shape)
        assert reference(X, w, 0.2, D, near, penalty) >= best
    assert (A == 0).any()


def test_the_dictionary_stays_in_the_unit_balls() -> None:
    X, w = problem(5)
    D = learn_weighted(X, Loss(w, 0.1), ForestL2(FOREST, 0.1), 13, WeightedSettings(epochs=5)).D
    assert np.linalg.norm(D, axis=0).max() <= 1 + 1e-12


def test_a_nonnegative_dictionary_has_no_negatives() -> None:
    X, w = problem(6)
    penalty = ForestL2(FOREST, 0.1, nonnegative=True)
    learned = learn_weighted(abs(X), Loss(w, 0.1), penalty, 13, WeightedSettings(epochs=4, nonnegative=True))
    assert learned.D.min() == 0
    assert learned.A.min() == 0


def test_the_point_in_the_unit_balls_is_the_nearest_by_the_metric() -> None:
    rng = np.random.default_rng(7)
    U, L = 3 * rng.standard_normal((20, 4)), rng.random((20, 1)) + 0.1
    U[:, 3] /= 100  # inside already

    def sums(U: Array, L: Array, mu: Array) -> tuple[Array, Array]:
        d = L * U / (L + mu)
        return (d * d).sum(0), (d * d / (L + mu)).sum(0)

    D = in_unit_balls(U, L, sums)
    assert np.linalg.norm(D, axis=0) == pytest.approx([1, 1, 1, np.linalg.norm(U[:, 3])], abs=1e-9)
    distance = (L * (D - U) ** 2).sum(0)
    for _ in range(200):
        other = D + 0.05 * rng.standard_normal(D.shape)
        other /= np.maximum(1, np.linalg.norm(other, axis=0))
        assert ((L * (other - U) ** 2).sum(0) >= distance - 1e-6).all()  # Newton's method stops at about 1e-9


@pytest.mark.parametrize("n_products", [0, 10**6])
def test_both_ways_to_take_products_agree_with_the_definition(n_products: int) -> None:
    X, w = problem(8)
    rng = np.random.default_rng(9)
    D, A = rng.standard_normal((40, 13)), rng.standard_normal((60, 13))
    words, _ = host_sides(X, Loss(w, 0.3))
    rows = np.array([5, 0, 59])
    form = words.quadratic(rows, words.factor(D, D.T @ D), n_products)
    for r, v in enumerate(rows):
        stored = slice(X.indptr[v], X.indptr[v + 1])
        F, own = D[X.indices[stored]], w[stored]
        H = 0.3 * D.T @ D + (F * (own - 0.3)[:, None]).T @ F
        assert form.times(A[rows])[r] == pytest.approx(H @ A[v])
        assert form.linear[r] == pytest.approx((own * X.data[stored]) @ F)


def test_the_contexts_side_is_the_transpose() -> None:
    X, w = problem(10)
    _, contexts = host_sides(X, Loss(w, 0.3))
    turned = sparse.csr_array((contexts.target, contexts.indices, contexts.starts), shape=X.shape[::-1])
    weighted = sparse.csr_array((w * X.data, X.indices, X.indptr), shape=X.shape)
    assert abs(turned - weighted.T).max() == 0


def test_no_row_gets_worse_from_any_curvature() -> None:
    rng = np.random.default_rng(11)
    roots = rng.standard_normal((8, 13, 13))
    H = roots @ roots.transpose(0, 2, 1)
    b, A = rng.standard_normal((8, 13)), rng.standard_normal((8, 13))
    form = Quadratic(b, lambda A: np.einsum("rij,rj->ri", H, A))

    def values(A: Array) -> Array:
        return np.einsum("ri,rij,rj->r", A, H, A) - 2 * (A * b).sum(1)

    for curvature in (1e-6, 1.0, 1e6):
        found, _ = descend(form, NoPenalty(), A, np.full(8, curvature), 10)
        assert (values(found) <= values(A) + 1e-12).all()


@pytest.mark.parametrize("M", [13, 52])
def test_the_same_bits_for_any_number_of_workers(M: int) -> None:
    X, w = problem(12, (300, 200), np.float32)
    penalty = ForestL2(wf.Forest.complete(M // 13, (3, 3)), 0.1)
    runs = [
        learn_weighted(X, Loss(w, 0.1), penalty, M, WeightedSettings(epochs=3, tol=0.0), executor=Threads(n))
        for n in (1, 2, 3)
    ]
    for other in runs[1:]:
        assert np.array_equal(runs[0].D, other.D)
        assert np.array_equal(runs[0].A, other.A)


def test_it_goes_on_to_the_same_bits() -> None:
    X, w = problem(13, dtype=np.float32)
    states: list[Any] = []

    def keep(step: Any, state: Any) -> None:
        if step.epoch == 2:
            parts = (state.D, state.A, state.word_curvatures, state.context_curvatures)
            states.append(type(state)(*(part.copy() for part in parts), list(state.history)))

    args = (X, Loss(w, 0.1), ForestL2(FOREST, 0.1), 13, WeightedSettings(epochs=5, tol=0.0))
    whole = learn_weighted(*args, on_step=keep)
    rest = learn_weighted(*args, resume=states[0])
    assert np.array_equal(whole.A, rest.A)
    assert [step.objective for step in whole.history] == [step.objective for step in rest.history]


def test_tensors_give_the_same_as_arrays() -> None:
    pytest.importorskip("torch")
    from wordforest.coder.kernels import DeviceRows

    X, w = problem(14)
    settings = WeightedSettings(epochs=4, tol=0.0)
    args = (Loss(w, 0.1), ForestL2(FOREST, 0.1), 13, settings)
    arrays, tensors = learn_weighted(X, *args), learn_weighted(DeviceRows.put(X, "cpu"), *args)
    assert tensors.history[-1].objective == pytest.approx(arrays.history[-1].objective, rel=1e-7)
    assert np.abs(tensors.A.numpy() - arrays.A).max() < 1e-5


@pytest.mark.gpu
def test_a_card_gives_the_same_as_the_processor_and_the_same_bits_twice() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA card here")
    from wordforest.coder.kernels import DeviceRows

    X, w = problem(15, (3000, 2000), np.float32)
    args = (Loss(w, 0.1), ForestL2(wf.Forest.complete(4, (3, 3)), 0.1), 52, WeightedSettings(epochs=3, tol=0.0))
    host, one, two = (learn_weighted(Z, *args) for Z in (X, *(DeviceRows.put(X, "cuda") for _ in range(2))))
    assert one.history[-1].objective == pytest.approx(host.history[-1].objective, rel=1e-4)
    assert torch.equal(one.A, two.A)


@pytest.mark.parametrize("text", ["none", "abs", "count:0.5", "glove:10,0.75"])
def test_weights_by_name(text: str) -> None:
    values, counts = np.array([-1.0, 2.0, 0.5]), np.array([1.0, 20.0, 9.0])
    found = weighing(text)(values, counts)
    expected = {
        "none": None, "abs": abs(values), "count:0.5": np.sqrt(counts / 10),
        "glove:10,0.75": np.minimum(1, counts / 10) ** 0.75,
    }[text]  # fmt: skip
    assert (found is None and expected is None) or found == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "count", "count:x", "count:-1", "glove:10", "glove:10,0", "abs:1", "other"])
def test_unknown_weights_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"count:0\.25"):
        weighing(text)


@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(5), np.array([1, 1, np.nan, 1, 1]), np.full(5, np.inf)])
def test_weights_that_do_not_fit_are_refused(weights: Array) -> None:
    X = sparse.csr_array(np.eye(5))
    with pytest.raises(InputError, match="weight"):
        learn_weighted(X, Loss(weights), ForestL2(FOREST, 0.1), 13)


def test_dense_data_are_refused() -> None:
    with pytest.raises(InputError, match="sparse"):
        learn_weighted(np.eye(5), Loss(zeros=0.5), ForestL2(FOREST, 0.1), 13)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_other_factors_of_the_same_product(power: float) -> None:
    rng = np.random.default_rng(16)
    A, D = rng.standard_normal((50, 6)), rng.standard_normal((40, 6))
    B, E = with_spectrum(A, D, power)
    S = np.linalg.svd(A @ D.T, compute_uv=False)[:6]
    assert np.abs(B @ E.T - A @ D.T).max() < 1e-10
    assert np.linalg.svd(B, compute_uv=False) == pytest.approx(S**power)
    C, F = with_spectrum(A, D, power, np.random.default_rng(0))
    assert np.abs(C @ F.T - A @ D.T).max() < 1e-10
    assert np.linalg.norm(F, axis=0) == pytest.approx(np.ones(6))


def test_a_spectral_start_is_better_than_a_random_one_under_weights() -> None:
    X, w = problem(17)
    loss = Loss(w, 0.1)
    begun = SpectralStart(0.5, loss)(X, FOREST)
    settings = WeightedSettings(epochs=1)
    from_start, from_random = (
        learn_weighted(X, loss, ForestL2(FOREST, 0.05), 13, settings, start=start)
        for start in ((begun.D, begun.A), None)
    )
    assert from_start.history[-1].objective < from_random.history[-1].objective


def test_the_estimator_takes_weights() -> None:
    X, w = problem(18)
    matrix = sparse.csr_array((w, X.indices, X.indptr), shape=X.shape)
    given, called = (
        wf.ForestCoder(1, weights=weights, zeros=0.1, epochs=200, random_state=0).fit_transform(X)
        for weights in (matrix, lambda Z: w)
    )
    assert np.array_equal(given, called)
    with pytest.raises(InputError, match="function of X"):
        wf.ForestCoder(1, weights=matrix, zeros=0.1, epochs=200, random_state=0).fit(X).transform(X)


def test_the_estimator_codes_new_rows_under_weights() -> None:
    X, _ = problem(19)
    coder = wf.ForestCoder(1, weights=lambda Z: abs(Z.data), zeros=0.1, epochs=200, init="spectral", random_state=0)
    A = coder.fit_transform(X)
    assert np.abs(coder.transform(X) - A).max() < 0.05 * np.abs(A).max()  # both stop at 1e-3 of a row's length


@pytest.mark.parametrize("weights", [sparse.csr_array(np.eye(60, 40)), np.ones(3)])
def test_the_estimator_refuses_weights_of_other_pairs(weights: Any) -> None:
    with pytest.raises(InputError, match="weights"):
        wf.ForestCoder(1, weights=weights).fit(problem()[0])


def test_a_side_is_never_all_gram_matrices_at_once() -> None:
    X, w = problem(20)
    words: Side = host_sides(X, Loss(w, 0.1))[0]
    for M in (13, 52, 520):
        rows = words.block_values(M, 100) // M
        assert rows * M * M * 4 <= 1 << 24

"""Proximal steps of a weighted loss: no row gets worse, and atoms come back into their unit balls the shortest way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordforest.coder.descent import Quadratic, conjugate, descend, in_unit_balls
from wordforest.coder.penalties import NoPenalty
from wordforest.runtime.machine import Threads

Array = Any


def test_the_point_in_the_unit_balls_is_the_nearest_by_the_metric() -> None:
    rng = np.random.default_rng(7)
    U, L = 3 * rng.standard_normal((20, 4)), rng.random((20, 1)) + 0.1
    U[:, 3] /= 100  # inside already
    D = in_unit_balls(U, L, Threads(1))
    assert np.linalg.norm(D, axis=0) == pytest.approx([1, 1, 1, np.linalg.norm(U[:, 3])], abs=1e-9)
    distance = (L * (D - U) ** 2).sum(0)
    for _ in range(200):
        other = D + 0.05 * rng.standard_normal(D.shape)
        other /= np.maximum(1, np.linalg.norm(other, axis=0))
        assert ((L * (other - U) ** 2).sum(0) >= distance - 1e-6).all()  # Newton's method stops at about 1e-9


def forms() -> tuple[Quadratic, Array, Array]:
    """Return eight forms of thirteen values, their matrices H, and where to begin."""
    rng = np.random.default_rng(11)
    roots = rng.standard_normal((8, 13, 13))
    H = roots @ roots.transpose(0, 2, 1)
    b, A = rng.standard_normal((8, 13)), rng.standard_normal((8, 13))
    return Quadratic(b, lambda A: np.einsum("rij,rj->ri", H, A)), H, A


def test_no_row_gets_worse_from_any_curvature() -> None:
    form, H, A = forms()
    b = form.linear

    def values(A: Array) -> Array:
        return np.einsum("ri,rij,rj->r", A, H, A) - 2 * (A * b).sum(1)

    for curvature in (1e-6, 1.0, 1e6):
        found, _ = descend(form, NoPenalty(), A, np.full(8, curvature), 10)
        assert (values(found) <= values(A) + 1e-12).all()


def test_conjugate_gradients_end_where_the_equations_do() -> None:
    form, H, A = forms()
    best = np.linalg.solve(H, form.linear[:, :, None])[:, :, 0]
    scales = H.mean(0).diagonal()

    def steps(A: Array, n: int, tol: float = 0.0) -> Array:
        found, product = conjugate(form, A, form.times(A), scales, n, tol)
        assert abs(product - form.times(found)).max() < 1e-9
        return found

    errors = [abs(steps(A, n) - best).max() for n in (0, 6, 40)]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-8
    assert abs(steps(best, 40) - best).max() < 1e-8  # what is solved stays
    few = steps(A, 1000, tol=0.1)
    assert 1e-8 < abs(few - best).max() < errors[0]

"""A start that says how strong the directions of the codes are beside each other.

With a small penalty the objective hardly tells one basis of the same subspace from another, but similarity does: codes
whose few first directions are as strong as the data's do worse than codes with a flatter spectrum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.forest import Forest
from wordforest.coder.losses import Loss
from wordforest.coder.online import OnlineSettings, Step, learn_online
from wordforest.coder.penalties import NoPenalty
from wordforest.coder.start import Begun
from wordforest.coder.weighted import WeightedSettings, learn_weighted
from wordforest.errors import InputError
from wordforest.runtime.threads import Executor

Array = Any  # a NumPy array or a PyTorch tensor

_FAINT = 1e-6  # singular values below this share of the largest are noise
_BALANCED = 0.5  # power at which both halves of a pass are equally well conditioned


@dataclass(frozen=True)
class SpectralStart:
    """The best factors without a penalty, ``A D' = U S V'``, as ``A = U S^power R`` and ``D = V S^(1 - power) R``.

    R is a random rotation; the columns of D are then divided by their lengths, which go to A. ``power`` 1 keeps the
    spectrum of the data in the codes, as PCA does; 0 makes it flat. Under a weighted ``loss`` the factors come from
    ``passes`` passes at most of the weighted learner.
    """

    power: float = 0.5
    loss: Loss = field(default_factory=Loss)
    passes: int = 4
    steps: int = 6  # of each half of a pass
    on_step: Callable[[Step], None] | None = None  # called after every step of learning the factors

    def __post_init__(self) -> None:
        if not 0 <= self.power <= 1:
            raise InputError(f"power = {self.power}, but the power of the singular values must lie between 0 and 1.")

    def __call__(
        self, X: Any, forest: Forest, *, nonnegative: bool = False, seed: int = 0, executor: Executor | None = None
    ) -> Begun:
        """Return a dictionary and codes for the rows of X (V, C)."""
        if nonnegative:
            raise InputError("a spectral start has negative values. Use the start random, rows or nested.")
        found = learn_online(
            X, NoPenalty(), len(forest), OnlineSettings(seed=seed, exact_tol=1e-3), executor=executor,
            on_step=lambda step, _: self._tell(step),
        )  # fmt: skip
        A, D = found.A, found.D
        if not self.loss.is_plain:
            settings = WeightedSettings(
                epochs=self.passes, tol=5e-3, code_iter=self.steps, dictionary_iter=self.steps, exact_iter=1, tau=0.0
            )
            A, D = with_spectrum(A, D, _BALANCED)
            weighted = learn_weighted(
                X, self.loss, NoPenalty(), len(forest), settings, start=(D, A), executor=executor,
                on_step=lambda step, _: self._tell(step),
            )  # fmt: skip
            A, D = weighted.A, weighted.D
        A, D = with_spectrum(A, D, self.power, np.random.default_rng((seed, 4)))
        return Begun(D, forest, A)

    def _tell(self, step: Step) -> None:
        if self.on_step:
            self.on_step(step)


def with_spectrum(A: Array, D: Array, power: float, rng: np.random.Generator | None = None) -> tuple[Array, Array]:
    """Return other factors of ``A D'``: with singular values S, codes ``U S^power R`` and atoms ``V S^(1 - power) R``.

    With ``rng`` R is a random rotation and the lengths of the columns of D go to A; else R is the identity.
    """
    root_A, back_A = _root(A)
    root_D, back_D = _root(D)
    u, s, v = np.linalg.svd(root_A @ root_D.T)
    s = np.maximum(s, _FAINT * s[0])
    rotation = np.eye(len(s)) if rng is None else np.linalg.qr(rng.standard_normal((len(s), len(s))))[0]
    to_A, to_D = back_A @ u * s**power @ rotation, back_D @ v.T * s ** (1 - power) @ rotation
    if rng is not None:
        lengths = np.sqrt(np.maximum(((root_D @ to_D) ** 2).sum(0), np.finfo(np.float64).tiny))
        to_A, to_D = to_A * lengths, to_D / lengths
    return A @ _like(to_A, A), D @ _like(to_D, D)


def _root(F: Array) -> tuple[Array, Array]:
    """Return a square root B of ``F'F = B'B`` and a matrix that undoes it, (M, M) each, float64 on the host."""
    products = kernels.on_host(F.T @ F).astype(np.float64)
    values, basis = np.linalg.eigh(products)
    roots = np.sqrt(np.maximum(values, _FAINT**2 * max(float(values[-1]), np.finfo(np.float64).tiny)))
    return roots[:, None] * basis.T, basis / roots


def _like(matrix: Array, like: Array) -> Array:
    if isinstance(like, np.ndarray):
        return matrix.astype(like.dtype)
    return kernels.placed(matrix, like).to(like.dtype)

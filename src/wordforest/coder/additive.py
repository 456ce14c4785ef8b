"""The additive forest: a parent has what it has itself plus all that its children have.

Own activations ``Z >= 0`` (V, M) add up along the trees to activations ``A = Z T``, where ``T[k, j] = 1`` if j is k or
above k. So no node is on under a parent that is off, whatever the data. A row is coded as

    x / |x| = b m + D a + rest,    minimising |rest|^2 + lam sum_k z_k  over b and z >= 0, a = T' z.

``m`` (C,) is the mean of all rows, of length one; its coefficient b is free. Without it one tree would take what all
rows share: it would be on for most of them. Taking b out leaves a non-negative lasso with the dictionary
``W = P D T'``, ``P = I - m m'``, so codes, certificate and lam are those of ``NonNegativeL1``. The sum of z is the sum
over the roots of a: as a penalty on A, this is ``lam * sum of roots``, under ``a_parent >= sum of its children``. A
bound on the nodes that are on (``MostActive``) may take the place of lam.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordforest.coder import kernels
from wordforest.coder.coding import Codes, Solver, coordinate_descent, encode, pursuit
from wordforest.coder.density import lam_for_density
from wordforest.coder.dictionary import CodeStats
from wordforest.coder.forest import Forest
from wordforest.coder.online import Online, OnlineSettings
from wordforest.coder.penalties import MostActive, NonNegativeL1
from wordforest.coder.rows import Rows
from wordforest.errors import InputError

Array = Any  # a NumPy array or a PyTorch tensor

_FEW = 1000  # rows that are all learned from, rare or not
_JUDGES = 3000  # rows at most whose density is looked at
_JUDGE_ITER = 20
_NOTHING = 100  # times the rounding of a row of length one
_LEAST_LAM = 1e-4  # share of lam_max below which no density is looked for: a first dictionary may be too coarse for it


@dataclass(frozen=True)
class AdditiveSettings:
    """How to learn. ``n_rows`` are learned from, all are coded; ``density`` finds lam, or a price, before every pass.

    With ``n_rows`` None all rows are learned from, batch by batch, as in a forest that is not additive.
    """

    epochs: int = 3
    tol: float = 2e-4  # stop when moving the dictionary lowers the objective by less than this share
    n_rows: int | None = 20_000  # at most: the first, of few the first half, or drawn at random
    drawn: bool = False
    density: float | None = None  # of A; None: lam stays as it is
    seed: int = 0
    nonnegative: bool = False  # atoms without negative values

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise InputError("epochs = 0, but an additive forest is learned in passes. Give 1 or more.")

    def learned(self, n: int) -> Array:
        """Return which of n rows are learned from, in order: what is rare adds little but noise."""
        most = n if self.n_rows is None else self.n_rows
        if self.drawn or self.n_rows is None:
            return np.sort(np.random.default_rng((self.seed, 3)).permutation(n)[:most])
        return np.arange(min(n, most, max(_FEW, n // 2)))


def ancestors(forest: Forest) -> Array:
    """Return T (M, M): 1 at (k, j) where j is k or above k."""
    T = np.eye(len(forest))
    for node, parent in enumerate(forest.parent):
        if parent >= 0:
            T[node] += T[parent]
    return T


def own_parts(forest: Forest) -> Array:
    """Return the inverse of T (M, M): 1 on the diagonal, -1 at (child, parent)."""
    back = np.eye(len(forest))
    for node, parent in enumerate(forest.parent):
        if parent >= 0:
            back[node, parent] = -1
    return back


def mean_direction(rows: Rows, weights: Array | None = None) -> Array:
    """Return the weighted mean of all rows, each divided by its length, itself of length one, (C,); zeros if it is."""
    shares = (1.0 if weights is None else np.asarray(weights)) / rows.lengths()
    mean = kernels.zeros((rows.shape[1], 1), rows.like)
    rows.add_transposed(rows.numbers(rows.shape[0]), rows.own(shares[:, None]), mean)
    length = float((kernels.wide(mean) ** 2).sum()) ** 0.5
    return mean[:, 0] / (length or 1.0)


class Additive(Online):
    """Learns as the plain learner does, in own activations Z and the dictionary ``W = P D T'`` that codes them.

    The atoms D move by the plain dictionary step for A: with b at its best, what D has to explain is ``X - b m'``.
    """

    def __init__(
        self,
        rows: Rows,
        forest: Forest,
        penalty: NonNegativeL1 | MostActive,
        settings: AdditiveSettings,
        start: Array,
        mean: Array,
        weights: Array | None = None,
    ) -> None:
        online = OnlineSettings(
            epochs=settings.epochs,
            tol=settings.tol,
            solver=_solver(penalty),
            seed=settings.seed,
            nonnegative=settings.nonnegative,
            revive=False,
            density=settings.density,
        )
        super().__init__(rows, penalty, len(forest), online, start, weights, rows.lengths())
        self.additive, self.mean = settings, rows.own(mean)
        self.T = kernels.as_type(ancestors(forest), rows.like)
        V = rows.shape[0]
        self.learned = settings.learned(V)
        if settings.density is not None:
            self.anneals = True  # lam moves, and with it the objective
            if not isinstance(penalty, MostActive):
                self.judges = np.arange(V)[:: -(-V // _JUDGES)]

    @property
    def atoms(self) -> Array:
        """D (C, M), of which W is made."""
        return self._atoms

    def begin(self) -> None:
        """Start from atoms and codes of zeros."""
        super().begin()
        self._atoms = self.D
        self.D = self._combined()
        self.atoms_moved()

    def load(self, arrays: dict[str, Array]) -> None:
        """Start from what an earlier learner saved."""
        self._atoms = self.rows.own(arrays["atoms"])
        super().load(arrays)

    def saved(self) -> dict[str, Array]:
        """Return what ``load`` needs."""
        return {**super().saved(), "atoms": self._atoms}

    def batches(self, epoch: int) -> list[Array]:
        """Return the rows that are learned from, as one batch where they are some of all."""
        return [self.learned] if self.additive.n_rows else super().batches(epoch)

    def n_nonzeros(self) -> int:
        """Return how many activations are not zero."""
        blocks = self.rows.all_blocks(self.M)
        return sum(int(kernels.uses(self.seen(self.A[block])).sum()) for block in blocks)

    def seen(self, codes: Array) -> Array:
        """Return activations (n, M) of own activations."""
        return codes @ self.T

    def facts(self) -> dict[str, float]:
        """Return the worst gap and lam."""
        return {**super().facts(), "lam": self.penalty.lam}

    def _updated(self, D: Array, stats: CodeStats, DD: Array) -> Array:  # noqa: ARG002 what is known of W
        """Move the atoms for the activations as they are; return the dictionary of own activations."""
        T = kernels.wide(self.T)
        AA = T.T @ stats.AA @ T
        XA = kernels.tall_times(stats.XA, self.T, self.rows.executor)
        XA -= self.mean[:, None] * (self.mean @ XA - kernels.as_type((kernels.wide(self.mean @ self._atoms)) @ AA, XA))
        products = None if self.nonnegative else kernels.inner_products(self._atoms, self._atoms, self.rows.executor)[0]
        self._atoms = super()._updated(self._atoms, CodeStats(AA, XA), products)
        return self._combined()

    def _combined(self) -> Array:
        """Return ``W = P D T'`` (C, M)."""
        W = kernels.tall_times(self._atoms, kernels.transposed(self.T), self.rows.executor)
        return W - self.mean[:, None] * (self.mean @ W)

    def _lam_for(self, XD: Array, density: float) -> float:
        if not float(abs(XD).max()) > _NOTHING * kernels.namespace(XD).finfo(XD.dtype).eps:
            raise InputError(
                "nothing is left of the rows beside their mean: they are alike but for their length, or there is only "
                "one. Give other data, or learn without additive trees."
            )
        if isinstance(self.penalty, MostActive):
            return super()._lam_for(XD, density)
        return lam_for_density(
            XD,
            self.gram,
            self.penalty,
            density,
            solver=coordinate_descent,
            max_iter=_JUDGE_ITER,
            smallest=_LEAST_LAM,
            density_of=lambda Z: kernels.density(self.seen(Z)),
        )


def activations(Z: Array, forest: Forest, lengths: Array | None = None) -> Array:
    """Return ``A = Z T`` (V, M), times the lengths of the rows."""
    A = Z @ kernels.as_type(ancestors(forest), Z)
    return A if lengths is None else A * kernels.as_type(lengths, A)[:, None]


def encode_additive(
    X: Rows, D: Array, forest: Forest, lam: float, tol: float | None = None, *, active: int | None = None
) -> Codes:
    """Code all rows of X (V, C) with the atoms D (C, M), at right angles to the mean, of an additive forest.

    Every row is solved to a duality gap of ``tol * |x|^2``; what the default is, ``encode`` says. With ``active`` at
    most so many nodes are on in a row instead, and lam is the price of each.
    """
    lengths = X.lengths()
    W = D @ ancestors(forest).T.astype(D.dtype)
    penalty = additive_penalty(forest, lam, active)
    codes = encode(X, W, penalty, solver=_solver(penalty), tol=tol, lengths=lengths)
    return replace(codes, A=activations(codes.A, forest, lengths))


def additive_penalty(forest: Forest, lam: float, active: int | None = None) -> NonNegativeL1 | MostActive:
    """Return what keeps own activations few: lam, or a bound on nodes with all above them, and lam for each."""
    return NonNegativeL1(lam) if active is None else MostActive(forest, active, nonnegative=True, price=lam)


def _solver(penalty: NonNegativeL1 | MostActive) -> Solver:
    return pursuit if isinstance(penalty, MostActive) else coordinate_descent

"""Where the dictionary begins: random directions, rows of the data, nested clusters of them, or rotated factors.

A start is an object that takes the rows and a forest and returns a dictionary, and the forest it is for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from wordforest.coder import clusters, kernels
from wordforest.coder.dictionary import random_columns
from wordforest.coder.forest import Forest
from wordforest.coder.penalties import NoPenalty
from wordforest.coder.rows import Rows, as_rows
from wordforest.coder.rows.base import Loss
from wordforest.coder.rows.weighted import Factor
from wordforest.errors import InputError
from wordforest.options import default
from wordforest.runtime.machine import Executor, Threads, one_blas_thread

Array = Any  # a NumPy array or a PyTorch tensor

_DIRECTIONS = (52, 52, 200)  # in which trees are told apart, their children, and all below: finer parts need finer ones
_FAINT_DIRECTION = 1e-3  # singular values below this share of the largest are noise
_FEW = 1000  # rows that are all clustered, rare or not
_SPARE = 20  # directions more than are wanted, so that these are right
_POWERS = 3  # times that rows are multiplied to tell strong directions from faint ones
_FEW_POWERS = 1  # the same for factors that go on to be improved
_FAINT = 1e-6  # the same for factors
_BALANCED = 0.5  # power at which both halves of a weighted pass are equally well conditioned


@dataclass(frozen=True)
class Asked:
    """What is asked of a start beside a forest: no negative values, a seed, the loss, and who hears of rows seen.

    ``weights`` (V,) says how much each row counts, ``keys`` (V,), uint64, tells rows apart wherever they stand, and
    ``mean`` (C,), of length one, is a direction that needs no atom.
    """

    nonnegative: bool = False
    seed: int = 0
    loss: Loss = field(default_factory=Loss)
    on_rows: Callable[[int], None] = lambda _: None
    weights: Any = None
    keys: Any = None
    mean: Array | None = None


_NOTHING = Asked()


@dataclass(frozen=True, eq=False)
class Begun:
    """A first dictionary D (C, M), the forest over its columns, and first codes A (V, M) where they are known."""

    D: Array
    forest: Forest
    A: Array | None = None


class Start(Protocol):
    """Chooses the first dictionary."""

    about: str  # what it begins with, in words
    shapes: bool  # whether the forest comes out in another order or shape than it was asked for

    def __call__(self, X: Any, forest: Forest, asked: Asked = _NOTHING) -> Begun:
        """Return atoms of length one for the rows of X (V, C), a matrix or Rows."""
        ...


@dataclass(frozen=True)
class RandomStart:
    """Random directions: what the paper does.

    Called with X (V, C) and a forest of M nodes, a start returns the first dictionary ``D`` (C, M), with columns of
    length one, and its ``forest``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.array([[4, 2, 0, 0], [5, 3, 0, 0], [0, 0, 4, 3], [0, 0, 2, 3]], float)
        >>> begun = wf.coder.RandomStart()(X, wf.Forest.flat(2))
        >>> begun.D.shape, np.linalg.norm(begun.D, axis=0).round(6)
        ((4, 2), array([1., 1.], dtype=float32))
    """

    about = "random directions"
    shapes = False

    def __call__(self, X: Any, forest: Forest, asked: Asked = _NOTHING) -> Begun:
        """Return random directions (C, M)."""
        rows = as_rows(X)
        return Begun(_random_atoms(rows, len(forest), asked.seed, asked.nonnegative), forest)


@dataclass(frozen=True)
class RowStart:
    """Rows of the data, drawn at random and divided by their lengths; random directions where the data have too few.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.array([[4, 0], [0, 5]], float)
        >>> D = wf.coder.RowStart()(X, wf.Forest.flat(2)).D
        >>> D.sum(axis=0)
        array([1., 1.])
    """

    about = "words"
    shapes = False

    def __call__(self, X: Any, forest: Forest, asked: Asked = _NOTHING) -> Begun:
        """Return drawn rows, divided by their lengths, (C, M)."""
        rows = as_rows(X)
        D = rows.own(_random_atoms(rows, len(forest), asked.seed, asked.nonnegative))
        filled = np.flatnonzero(kernels.on_host(rows.squares()) > 0)
        drawn = np.random.default_rng((asked.seed, 1)).permutation(filled)[: len(forest)]
        for atom, row in enumerate(drawn):
            set_atom(D, atom, rows.row(row), asked.nonnegative)
        return Begun(D, forest)


@dataclass(frozen=True)
class NestedStart:
    """Nested clusters: a node stands for a set of rows, its children for a partition of that set.

    Rows are compared by their directions in the subspace that explains X best, its spectrum flattened to the square
    root. k-means, with rows weighed by their length, cuts them into as many clusters as there are trees, each of these
    into as many as its root has children, and so on. A root's atom is the mean of its rows, each divided by its length.
    A child's atom is what its mean adds to the atoms above it: the part that points elsewhere.

    ``n_rows`` rows are clustered at most: the first (words come by frequency), of few the first third, or drawn at
    random if ``drawn``. The rest is rare: in a cluster of its own it would make a node for everything.
    ``grow`` finds the shape: the forest given says how many trees and nodes, not where the nodes are. The node whose
    split lowers the squared distance of the rows to their centres most for every new node is split next, into two up
    to ``most_children`` parts, until all nodes are spent or no cluster with ``least_rows`` rows a part is left.
    ``levels`` gives the number of nodes at each depth instead; nodes that are spread wide get more children.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.array([[4, 2, 0, 0], [5, 3, 0, 0], [0, 0, 4, 3], [0, 0, 2, 3]], float)
        >>> begun = wf.coder.NestedStart()(X, wf.Forest([-1, -1]))
        >>> (begun.D > 0.1).sum(axis=0).tolist()  # two columns of X for each tree
        [2, 2]
    """

    n_rows: int = 8000
    drawn: bool = False
    grow: bool = False
    most_children: int = 6
    least_rows: int = 12
    levels: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("n_rows", 1), ("most_children", 2), ("least_rows", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} = {getattr(self, name)}, but it must be a whole number >= {least}.")

    about = "nested clusters"
    shapes = True

    def __call__(self, X: Any, forest: Forest, asked: Asked = _NOTHING) -> Begun:
        """Return the atoms (C, M) of nested clusters, and the forest, grown if asked."""
        home, seed, nonnegative = as_rows(X), asked.seed, asked.nonnegative
        squares = kernels.on_host(home.squares())
        rows = self._rows(squares, seed)
        Z = directions(home, seed)[rows]
        spaces = [unit_rows(Z[:, :n]) for n in _DIRECTIONS]
        keys = None if asked.keys is None else asked.keys[rows]
        executor = home.executor if isinstance(home.like, np.ndarray) else Threads()  # clusters are found here
        points = clusters.Points(spaces, np.sqrt(squares[rows]), keys, seed, executor)
        if self.levels:
            forest, members = clusters.grow_levels(points, self.levels, self.least_rows)
        elif self.grow:
            forest, members = clusters.grow(
                points,
                trees=len(forest.roots),
                n_nodes=len(forest),
                most_children=self.most_children,
                least_rows=self.least_rows,
            )
        else:
            members = clusters.nest(points, forest)
        D = _means(home, [rows[part] for part in members], squares, asked)  # (C, M)
        for node in range(len(forest)):  # parents before their children, which are measured against them
            above: list[int] = []
            while (parent := int(forest.parent[above[-1] if above else node])) >= 0:
                above.append(parent)
            added = D[:, node] + 0
            for one in reversed(above):
                added -= D[:, one] * (D[:, one] @ added)
            if not set_atom(D, node, added, nonnegative):
                own = members[node] if len(members[node]) else np.arange(len(rows))
                row = np.random.default_rng((seed, node)).choice(rows[own])
                if not set_atom(D, node, home.row(row), nonnegative):
                    D[:, node] = _random_atoms(home, 1, seed + node, nonnegative)[:, 0]
        return Begun(D, forest)

    def _rows(self, squares: Array, seed: int) -> Array:
        """Return the rows to cluster, in order."""
        filled = np.flatnonzero(squares > 0)
        if not len(filled):
            raise InputError("X holds only zeros, so there is nothing to cluster. Give other data.")
        if self.drawn:
            return np.sort(np.random.default_rng((seed, 2)).permutation(filled)[: self.n_rows])
        return filled[: min(self.n_rows, max(_FEW, len(filled) // 3))]


def directions(rows: Rows, seed: int) -> Array:
    """Return every row of X (V, C), divided by its length, in the directions that explain X best, (V, K) on the host.

    The strongest come first; their singular values are flattened to their square roots: as they are, the first few
    would decide alone.
    """
    V, C = rows.shape
    n = min(max(_DIRECTIONS), V, C)
    lengths = kernels.as_type(rows.lengths(), rows.like)[:, None]
    A, _ = _subspace(rows, n + _SPARE, seed, _POWERS, lengths)
    values, basis = np.linalg.eigh(kernels.on_host(kernels.wide_gram(A, rows.executor)))  # ascending
    values, basis = values[::-1][:n], basis[:, ::-1][:, :n]
    kept = values > _FAINT_DIRECTION**2 * values[0]
    turn = basis[:, kept] / values[kept] ** 0.25
    return np.asarray(kernels.on_host(A @ kernels.as_type(turn, A)))


def _subspace(rows: Rows, n: int, seed: int, powers: int, lengths: Array | float = 1.0) -> tuple[Array, Array]:
    """Return ``X Q`` (V, n) and Q (C, n), at right angles, for rows of X (V, C) divided by their ``lengths`` (V, 1).

    Q is found by powers of X'X on random directions (Halko et al. 2011); it is all of them where C <= n.
    """
    C, numbers = rows.shape[1], rows.numbers(rows.shape[0])
    if n >= C:
        Q = rows.own(np.eye(C))
        return rows.all_times(Q) / lengths, Q
    Q = random_columns((C, n), seed, like=rows.like)
    for _ in range(powers):
        back = kernels.zeros(tuple(Q.shape), rows.like)
        rows.add_transposed(numbers, rows.all_times(rows.own(Q)) / lengths / lengths, back)
        Q = _orthogonal(back, rows.executor)
    return rows.all_times(Q) / lengths, Q


def _orthogonal(Q: Array, executor: Executor) -> Array:
    """Return an orthogonal basis of the columns of a tall matrix (C, K), by its inner products alone."""
    _, back = _root(kernels.wide_gram(Q, executor))
    return kernels.tall_times(Q, kernels.as_type(back, Q), executor)


def unit_rows(Z: Array) -> Array:
    """Divide rows by their lengths; rows of zeros stay."""
    lengths = np.sqrt((Z * Z).sum(1))[:, None]
    return np.asarray(np.divide(Z, lengths, out=np.zeros_like(Z), where=lengths > 0))


def _random_atoms(rows: Rows, n: int, seed: int, nonnegative: bool) -> Array:
    """Return D (C, n) with random directions of length one as columns, float32."""
    return random_columns((rows.shape[1], n), seed, nonnegative=nonnegative, like=rows.like)


def _means(rows: Rows, members: list[Any], squares: Array, asked: Asked) -> Array:
    """Return the weighted mean of the rows of every set, each divided by its length, as columns (C, M)."""
    chosen = np.unique(np.concatenate(members))
    weights = np.ones(len(squares)) if asked.weights is None else np.asarray(asked.weights)
    shares = np.zeros((len(chosen), len(members)), dtype=rows.dtype)
    for node, own in enumerate(members):
        share = weights[own] / np.sqrt(squares[own])
        shares[np.searchsorted(chosen, own), node] = share / max(weights[own].sum(), np.finfo(np.float64).tiny)
    D = kernels.zeros((rows.shape[1], len(members)), rows.like)
    rows.add_transposed(kernels.placed(chosen, rows.like), rows.own(shares), D)
    if asked.mean is None:
        return D
    mean = kernels.as_type(asked.mean, rows.like)
    D -= mean[:, None] * (mean @ D)
    return kernels.namespace(D).clip(D, 0, None) if asked.nonnegative else D


def set_atom(D: Array, atom: int, direction: Array, nonnegative: bool) -> bool:
    """Set a column of D to a direction, divided by its length; say whether there is one."""
    xp = kernels.namespace(direction)
    direction = xp.clip(direction, 0, None) if nonnegative else direction
    length = float(xp.linalg.norm(direction))
    exists = length > float(xp.finfo(D.dtype).eps)
    if exists:
        D[:, atom] = direction / length
    return exists


@dataclass(frozen=True)
class SpectralStart:
    """The best factors without a penalty, ``A D' = U S V'``, as ``A = U S^power R`` and ``D = V S^(1 - power) R``.

    A is (V, M), D (C, M), R (M, M) a random rotation; the columns of D are then divided by their lengths, which go to
    A. ``power`` 1 keeps the spectrum of the data in the codes, as PCA does; 0 makes it flat. The factors are the
    singular vectors of X; under a weighted loss they are improved in ``passes`` passes by ``steps`` steps of conjugate
    gradients on either side.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.array([[4, 2, 0, 0], [5, 3, 0, 0], [0, 0, 4, 3], [0, 0, 4, 3]], float)
        >>> begun = wf.coder.SpectralStart(power=1.0)(X, wf.Forest.flat(3))
        >>> np.allclose(begun.A @ begun.D.T, X, atol=1e-4)  # X has rank 3
        True
    """

    power: float = default("spectrum")
    passes: int = 2
    steps: int = 3
    about = "the best factors without a penalty"
    shapes = False

    def __post_init__(self) -> None:
        if not 0 <= self.power <= 1:
            raise InputError(f"power = {self.power}, but the power of the singular values must lie between 0 and 1.")

    def __call__(self, X: Any, forest: Forest, asked: Asked = _NOTHING) -> Begun:
        """Return a dictionary (C, M) and codes (V, M) for the rows of X (V, C)."""
        if asked.nonnegative:
            raise InputError("a spectral start has negative values. Use the start random, rows or nested.")
        rows, M, seed = as_rows(X), len(forest), asked.seed
        asked.on_rows(0)
        with one_blas_thread():
            A, D = singular_factors(rows, M, seed, _POWERS if asked.loss.is_plain else _FEW_POWERS)
            asked.on_rows(rows.shape[0])
            if not asked.loss.is_plain:
                A, D = self._weighted(rows, asked, A, D)
            A, D = with_spectrum(A, D, self.power, rows.executor, np.random.default_rng((seed, 4)))
        return Begun(D, forest, A)

    def _weighted(self, rows: Rows, asked: Asked, A: Array, D: Array) -> tuple[Array, Array]:
        words, contexts = rows.weighted(asked.loss, A.shape[1])
        for _ in range(self.passes):
            for side, own, other in ((words, A, D), (contexts, D, A)):
                factor = Factor.of(other, rows.executor, rough=True)
                side.improve(own, own[:, 0] * 0, factor, NoPenalty(), self.steps, 0.0)
            A, D = with_spectrum(A, D, _BALANCED, rows.executor)
            asked.on_rows(rows.shape[0])
        return A, D


def singular_factors(rows: Rows, n: int, seed: int, powers: int) -> tuple[Array, Array]:
    """Return factors (V, n) and (C, n) of the rows: their first singular vectors, with the roots of their values.

    What the data have too few directions for is filled with codes of zeros and random atoms.
    """
    V, C = rows.shape
    A, D = with_spectrum(*_subspace(rows, min(n + _SPARE, V, C), seed, powers), _BALANCED, rows.executor)
    found = min(n, A.shape[1])
    codes, atoms = kernels.zeros((V, n), rows.like), rows.own(_random_atoms(rows, n, seed, nonnegative=False))
    codes[:, :found], atoms[:, :found] = A[:, :found], D[:, :found]
    return codes, atoms


def with_spectrum(
    A: Array, D: Array, power: float, executor: Executor, rng: np.random.Generator | None = None
) -> tuple[Array, Array]:
    """Return other factors of ``A D'``: with singular values S, codes ``U S^power R`` and atoms ``V S^(1 - power) R``.

    With ``rng`` R is a random rotation and the lengths of the columns of D go to A; else R is the identity, and columns
    come in the order of their values.
    """
    root, back = _root(kernels.wide_gram(A, executor))
    products = kernels.wide_gram(D, executor)
    xp = kernels.namespace(products)
    squares, u = xp.linalg.eigh(root @ products @ root.T)  # of A D' = (A back) (root D'), whose first part is a basis
    squares, u = xp.flip(squares, (0,)), xp.flip(u, (1,))
    s = xp.sqrt(xp.clip(squares, _least(squares[0]), None))
    to_D = root.T @ u  # D times this is V S
    u, to_D = (by * xp.where(D.sum(0) @ kernels.as_type(to_D, D) < 0, -1.0, 1.0) for by in (u, to_D))
    to_A, to_D = back @ u * s**power, to_D / s**power
    if rng is not None:
        rotation = kernels.placed(np.linalg.qr(rng.standard_normal((len(s), len(s))))[0], products)
        to_A, to_D = to_A @ rotation, to_D @ rotation
        lengths = xp.sqrt(xp.clip((to_D * (products @ to_D)).sum(0), np.finfo(np.float64).tiny, None))
        to_A, to_D = to_A * lengths, to_D / lengths
    turned = ((A, to_A), (D, to_D))
    A, D = (kernels.tall_times(F, kernels.as_type(by, F), executor) for F, by in turned)
    return A, D


def _root(products: Array) -> tuple[Array, Array]:
    """Return a square root B of ``F'F = B'B`` and a matrix that undoes it, (M, M) each, float64."""
    values, basis = kernels.namespace(products).linalg.eigh(products)
    roots = kernels.namespace(values).clip(values, _least(values[-1]), None) ** 0.5
    return roots[:, None] * basis.T, basis / roots


def _least(square: Array) -> float:
    """Return what squares beside the largest one are taken to be at least."""
    return _FAINT**2 * max(float(square), float(np.finfo(np.float64).tiny))

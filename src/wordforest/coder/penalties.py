"""Omega: small objects with a value and a prox, combined freely with every solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from wordforest.coder import kernels
from wordforest.coder.forest import Forest
from wordforest.coder.kernels import namespace
from wordforest.errors import InputError

Array = Any  # a NumPy array or a PyTorch tensor

_LARGEST_LAM = 1e30  # products with it still fit into float32


class Penalty(Protocol):
    """``lam * Omega`` over the rows of A, shape (V, M)."""

    @property
    def lam(self) -> float:
        """The weight of the penalty."""
        ...

    @property
    def nonnegative(self) -> bool:
        """Whether codes are kept from being negative."""
        ...

    def per_word(self, A: Array) -> Array:
        """Return ``lam * Omega(a_v)`` of every row, shape (V,), float64."""
        ...

    def prox(self, A: Array, step: float) -> Array:
        """Return ``argmin_B |B - A|^2 / 2 + step * lam * Omega(B)``, shape (V, M); A is left alone."""
        ...


P = TypeVar("P", bound=Penalty)


def with_lam(penalty: P, lam: float) -> P:
    """Return the same penalty with another weight."""
    changed: P = replace(cast(Any, penalty), **{"price" if isinstance(penalty, MostActive) else "lam": lam})
    return changed


def depth_weights(forest: Forest, by_depth: Sequence[float] | None) -> tuple[float, ...] | None:
    """Return the weight of every node, (M,), given one for each depth, the roots' first, the last going for all below.

    None, for all 1, if none are given.

    Examples:
        >>> import wordforest as wf
        >>> wf.coder.depth_weights(wf.Forest([-1, 0, 0, -1]), (0.5, 1.0))
        (0.5, 1.0, 1.0, 0.5)
    """
    if by_depth is None or not len(by_depth):
        return None
    return tuple(float(by_depth[min(depth, len(by_depth) - 1)]) for depth in forest.depth)


@dataclass(frozen=True)
class ForestL2:
    """The paper's penalty: ``Omega(a) = sum over nodes i of w_i | a_i and all its descendants |_2``.

    ``weights`` (M,) holds a positive w for each node (None: all 1). With signed codes a node is non-zero only if its
    parent is. ``nonnegative`` adds the constraint a >= 0: the value is infinite where a code is negative. There a
    parent may be zero above a node that is not: the constraint holds it.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> penalty = wf.coder.ForestL2(wf.Forest([-1, 0, -1]), lam=1.0)
        >>> A = np.array([[3.0, 4.0, 0.5]])
        >>> penalty.per_word(A)  # 5 for the first tree, 4 for its leaf, 0.5 for the other tree
        array([9.5])
        >>> penalty.prox(A, step=1.0).round(2)  # the other tree is gone
        array([[2.29, 2.29, 0.  ]])
    """

    forest: Forest
    lam: float
    weights: Sequence[float] | NDArray[Any] | None = None
    nonnegative: bool = False

    def __post_init__(self) -> None:
        _check_lam(self.lam)
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, self.forest))

    @cached_property
    def _per_node(self) -> Any:
        return 1.0 if self.weights is None else np.array(self.weights)

    def per_word(self, A: Array) -> Array:
        """Return ``lam * Omega(a_v)`` of every row of A (V, M), shape (V,), float64."""
        values = self.lam * kernels.forest_norms(A, self.forest, self._per_node)
        return _forbid_negative(values, A) if self.nonnegative else values

    def prox(self, A: Array, step: float) -> Array:
        """Return the exact prox of every row, (V, M): ``argmin_b |b - a|^2 / 2 + step * lam * Omega(b)``.

        Block thresholding of every group, leaves before roots, negatives cut before all.
        """
        A = namespace(A).clip(A, 0, None) if self.nonnegative else A
        return kernels.forest_prox(A, self.forest, step * self.lam * self._per_node)


def forest_penalty(
    forest: Forest, lam: float, by_depth: Sequence[float] | None = None, *, nonnegative: bool = False
) -> ForestL2:
    """Return the penalty over a forest with a weight for each depth, the last going for all below."""
    return ForestL2(forest, lam, depth_weights(forest, by_depth), nonnegative)


@dataclass(frozen=True)
class L1:
    """The lasso, ``Omega(a) = sum |a_i|``: the paper's SC, and the forest penalty of single nodes.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> penalty = wf.coder.L1(lam=1.0)
        >>> penalty.per_word(np.array([[3.0, -4.0, 0.5]]))
        array([7.5])
        >>> penalty.prox(np.array([[3.0, -4.0, 0.0]]), step=1.0)
        array([[ 2., -3.,  0.]])
    """

    lam: float
    nonnegative: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_lam(self.lam)

    def per_word(self, A: Array) -> Array:
        """Return ``lam * |a_v|_1`` of every row of A (V, M), shape (V,), float64."""
        return self.lam * kernels.wide(abs(A)).sum(1)

    def prox(self, A: Array, step: float) -> Array:
        """Return soft thresholding, ``sign(a) max(|a| - step * lam, 0)``, shape (V, M)."""
        xp = namespace(A)
        return A - xp.clip(A, -step * self.lam, step * self.lam)


@dataclass(frozen=True)
class NonNegativeL1(L1):
    """The lasso over non-negative codes (Murphy et al. 2012); the value is infinite where a code is negative.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> penalty = wf.coder.NonNegativeL1(lam=1.0)
        >>> penalty.prox(np.array([[3.0, -4.0, 0.5]]), step=1.0)
        array([[2., 0., 0.]])
        >>> penalty.per_word(np.array([[3.0, 4.0], [3.0, -4.0]]))
        array([ 7., inf])
    """

    nonnegative: ClassVar[bool] = True

    def per_word(self, A: Array) -> Array:
        """Return ``lam * sum a_v`` of every row of A (V, M), shape (V,), float64; infinite with a negative one."""
        return _forbid_negative(super().per_word(A), A)

    def prox(self, A: Array, step: float) -> Array:
        """Return ``max(A - step * lam, 0)``, shape (V, M)."""
        return namespace(A).clip(A - step * self.lam, 0, None)


@dataclass(frozen=True)
class NoPenalty:
    """Plain least squares: ``Omega(a) = 0``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> wf.coder.NoPenalty().per_word(np.array([[3.0, 4.0], [0.0, 1.0]]))
        array([0., 0.])
    """

    lam: float = 0.0
    nonnegative: ClassVar[bool] = False

    def per_word(self, A: Array) -> Array:
        """Return zeros, shape (V,)."""
        return kernels.wide(A[:, 0] * 0)

    def prox(self, A: Array, step: float) -> Array:  # noqa: ARG002 the protocol's signature
        """Return A (V, M)."""
        return A


@dataclass(frozen=True)
class MostActive:
    """At most ``most`` nodes are on in a row, none under a node that is off, and each costs ``price``.

    So ``lam Omega(a)`` is ``price`` times the number of nodes that are on: those that are not zero, or have one below
    them that is not. A node is on where that lowers ``|x - D a|^2`` by more than its price, and codes are not shrunk.
    It is not convex: ``pursuit`` finds good codes, and nothing certifies them. ``nonnegative`` keeps codes at or above
    zero.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> bound = wf.coder.MostActive(wf.Forest([-1, 0, -1]), most=1)
        >>> bound.prox(np.array([[1.0, 5.0, 2.0]]), step=1.0).round(3)  # the leaf would need its root, too
        array([[0., 0., 2.]])
        >>> priced = wf.coder.MostActive(wf.Forest([-1, 0, -1]), most=3, price=8.0)
        >>> priced.prox(np.array([[1.0, 5.0, 2.0]]), step=0.5).round(3)  # 26 for two nodes, 4 for the third
        array([[1., 5., 0.]])
        >>> priced.per_word(np.array([[1.0, 5.0, 0.0]]))
        array([16.])
    """

    forest: Forest
    most: int
    nonnegative: bool = False
    price: float = 0.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.price) and self.price >= 0):
            raise InputError(f"price = {self.price}, but what a node costs must be a finite number >= 0.")
        if not 1 <= self.most <= len(self.forest):
            raise InputError(
                f"active = {self.most}, but between 1 and {len(self.forest)} nodes, as many as the forest has, can be "
                "on in a row."
            )

    @property
    def lam(self) -> float:
        """The price of a node: the weight of the penalty."""
        return self.price

    def per_word(self, A: Array) -> Array:
        """Return the price of all nodes that are on in every row of A (V, M), shape (V,), float64."""
        if self.price == 0:
            return kernels.wide(A[:, 0] * 0)
        return self.price * kernels.wide(kernels.nodes_on(A, self.forest))

    def prox(self, A: Array, step: float) -> Array:
        """Return codes near those of A (V, M) that keep the bound and are worth the price, found greedily."""
        identity = kernels.placed(np.eye(len(self.forest), dtype=kernels.on_host(A[:0]).dtype), A)
        price = 2 * step * self.price
        return kernels.pursue(A, identity, self.forest, self.most, nonnegative=self.nonnegative, price=price)


def _forbid_negative(values: Array, A: Array) -> Array:
    values[(A < 0).any(1)] = np.inf
    return values


def _checked_weights(weights: Sequence[float] | NDArray[Any], forest: Forest) -> tuple[float, ...]:
    if np.shape(weights) != (len(forest),):
        raise InputError(
            f"weights of shape {np.shape(weights)}, but the forest has {len(forest)} nodes. "
            "Give one number for each node; depth_weights() makes them from one for each depth."
        )
    for i, weight in enumerate(weights):
        if not (np.isfinite(weight) and weight > 0):
            raise InputError(f"weights[{i}] = {weight}, but the weight of a node must be a finite number > 0.")
    return tuple(float(weight) for weight in weights)


def _check_lam(lam: float) -> None:
    if not (np.isfinite(lam) and 0 <= lam <= _LARGEST_LAM):
        raise InputError(
            f"lam = {lam}, but the penalty weight must be a finite number >= 0, at most {_LARGEST_LAM:g}. "
            "The paper uses 0.1."
        )

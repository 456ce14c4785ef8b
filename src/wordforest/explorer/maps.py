"""Words as points of a plane: amid the nodes that they use, or on the two principal axes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.vectors import Dense

Points: TypeAlias = NDArray[np.float32]  # (n, 2), nearly all in [-1, 1]
_BLOCK = 8192  # words at a time: the sums stay small


def pca_points(unit: Dense) -> Points:
    """Return the words (V, M) on the two axes along which unit vectors vary most: (V, 2)."""
    from sklearn.decomposition import PCA

    points = np.zeros((len(unit), 2))
    if np.ptp(unit, axis=0).any():
        axes = min(2, *unit.shape)
        points[:, :axes] = PCA(axes, svd_solver="covariance_eigh").fit_transform(unit)
    return _fitted(points)


def forest_points(dense: Dense, forest: Forest) -> Points:
    """Return words (V, 2) amid the nodes that they use: nodes stand on a plane, a word pulls to its strong ones.

    p_v = sum_i w_vi q_i / sum_i w_vi  with  w_vi = (|a_vi| / s_i)^3, where q_i is the point of node i and s_i the root
    mean square of its coefficients, so that no node wins by its scale. Words without a node stand at the middle.
    """
    q = node_points(forest)
    scale = np.sqrt(np.mean(np.square(dense, dtype=np.float64), axis=0))  # (M,)
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0).astype(np.float32)
    points = np.zeros((len(dense), 2), np.float32)
    for start in range(0, len(dense), _BLOCK):
        weight = np.abs(dense[start : start + _BLOCK] * inverse) ** 3  # (b, M)
        total = weight.sum(axis=1, keepdims=True)
        np.divide(weight @ q, total, out=points[start : start + _BLOCK], where=total > 0)
    return _fitted(points)


def node_points(forest: Forest) -> Points:
    """Return a point for every node (M, 2): trees on a sunflower, children on a ring around their parent."""
    points = np.zeros((len(forest), 2), np.float64)
    n = len(forest.roots)
    turn = np.pi * (3 - np.sqrt(5))  # the golden angle: neighbours on the spiral are never in line
    reach = np.zeros(len(forest))
    for t, root in enumerate(forest.roots):
        radius = np.sqrt((t + 0.5) / n)
        points[root] = radius * np.cos(t * turn), radius * np.sin(t * turn)
        reach[root] = 0.75 / np.sqrt(n)
    for node in range(len(forest)):
        children = forest.children(node)
        out = np.arctan2(*points[node][::-1])  # the first child points away from the middle
        for i, child in enumerate(children):
            angle = out + 2 * np.pi * i / len(children)
            points[child] = points[node] + reach[node] * 0.62 * np.array([np.cos(angle), np.sin(angle)])
            reach[child] = reach[node] * 0.5
    return points.astype(np.float32)


def _fitted(points: NDArray[np.floating]) -> Points:
    """Return points moved and scaled, each axis for itself, so that 99 of 100 words fill [-1, 1].

    Axes of a map have no unit. Words further out are drawn in to 1.25 at most; an axis without spread becomes 0.
    """
    low, middle, high = np.quantile(points, [0.005, 0.5, 0.995], axis=0)
    half = np.maximum(high - middle, middle - low)
    if (half == 0).any():  # nearly all words at one point: what spread there is counts
        half = np.where(half > 0, half, np.abs(points - middle).max(axis=0))
    scaled = np.divide(points - middle, half, out=np.zeros(points.shape), where=half > 0)
    return np.asarray(np.clip(scaled, -1.25, 1.25), dtype=np.float32)

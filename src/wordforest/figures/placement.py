"""Label placement: each label beside its point, off other points and labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SWEEPS = 12
_RINGS = np.array([0.0, 3.0, 7.0, 12.0, 18.0])  # points between a label's nearest position and this one
_ANGLES = 24
_TOUCH = 1.5  # points of free space around a label
_HIDING = 20.0  # cost of a square point of a dot or a label under a label, in points of distance
_LED = 3.0  # points from which a label needs a line to its point


class Placement(NamedTuple):
    """Centres of labels (n, 2), whether each hides nothing (n,), and whether it needs a line to its point (n,)."""

    centres: Floats
    free: NDArray[np.bool_]
    led: NDArray[np.bool_]


def place_labels(points: Floats, sizes: Floats, frame: tuple[float, float], radius: float) -> Placement:
    """Return where labels of these widths and heights (n, 2) stand for points (n, 2) within a frame.

    ``frame`` is its width and height, ``radius`` that of a dot, all in typographic points. Each label in turn takes the
    position that hides least of dots, other labels and the frame's border, near its point if it can, until none moves.
    """
    n = len(points)
    offsets, cost = _candidates(sizes, radius)  # (n, c, 2), (c,)
    centres = points[:, None, :] + offsets
    dots = np.full((n, 2), 2 * radius)
    hidden = np.stack([_overlap(centres[i], sizes[i], points, dots).sum(axis=1) for i in range(n)])  # (n, c)
    half = sizes[:, None, :] / 2 + 2
    outside = (np.maximum(half - centres, 0) + np.maximum(centres + half - np.array(frame), 0)).sum(axis=2)
    fixed = cost + _HIDING * (hidden + 20 * outside)
    rows = np.arange(n)
    chosen = fixed.argmin(axis=1)
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    crowded = np.argsort(-np.exp(-distance / 25).sum(axis=1), kind="stable")
    for _ in range(_SWEEPS):
        before = chosen.copy()
        for i in crowded:
            others = rows != i
            taken = centres[rows, chosen][others]
            overlap = _overlap(centres[i], sizes[i] + _TOUCH, taken, sizes[others] + _TOUCH).sum(axis=1)
            chosen[i] = (fixed[i] + _HIDING * overlap).argmin()
        if (chosen == before).all():
            break
    final = centres[rows, chosen]
    free = _apart(final, sizes) & (hidden[rows, chosen] < radius**2)
    return Placement(final, free, _RINGS[chosen // _ANGLES] >= _LED)


def _candidates(sizes: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return offsets (n, c, 2) of label centres from their points, ring after ring, and the cost of each (c,)."""
    angles = 2 * np.pi * np.arange(_ANGLES) / _ANGLES
    direction = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (a, 2), the right side first
    half = sizes[:, None, :] / 2 + radius + 1  # (n, 1, 2)
    # on the rectangle around the dot in which the label just touches it
    reach = np.min(half / np.maximum(np.abs(direction), 1e-9), axis=2)  # (n, a)
    offsets = (reach[:, None, :] + _RINGS[:, None])[..., None] * direction  # (n, rings, a, 2)
    # beside is easier to read than above, right than left
    taste = 1.5 * (1 - np.abs(direction[:, 0])) + 0.5 * (direction[:, 0] < -0.5)
    return offsets.reshape(len(sizes), -1, 2), (taste + 2 * _RINGS[:, None]).ravel()


def _overlap(centres: Floats, size: Floats, others: Floats, sizes: Floats) -> Floats:
    """Return the common area of a box at each of c centres with each of n boxes, (c, n)."""
    apart = np.abs(centres[:, None, :] - others)  # (c, n, 2)
    area: Floats = np.clip((size + sizes) / 2 - apart, 0, np.minimum(size, sizes)).prod(axis=2)
    return area


def _apart(centres: Floats, sizes: Floats) -> NDArray[np.bool_]:
    """Return which labels to keep so that no two of them overlap; of two that do, the first stays."""
    free = np.ones(len(centres), dtype=bool)
    for i in range(1, len(centres)):
        overlap = _overlap(centres[i : i + 1], sizes[i], centres[:i], sizes[:i])[0]
        free[i] = not (overlap > 0.5)[free[:i]].any()
    return free

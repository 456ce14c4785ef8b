"""Where the labels of points stand so that they can be read: beside their point, off other points and labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SWEEPS = 12
_RINGS = (0.0, 3.0, 7.0, 12.0, 18.0)  # points between a label's nearest place and this one
_ANGLES = 24
_TOUCH = 1.5  # points of free space around a label
_HIDING = 20.0  # cost of a square point of a dot or a label under a label, in points of distance
_LED = 3.0  # points from which a label needs a line to its point


class Labels(NamedTuple):
    """Centres of the labels (n, 2), whether each hides nothing (n,), and whether it needs a line to its point (n,)."""

    centres: Floats
    free: NDArray[np.bool_]
    led: NDArray[np.bool_]


def place_labels(points: Floats, sizes: Floats, frame: tuple[float, float], radius: float) -> Labels:
    """Return places for labels of these widths and heights (n, 2) at points (n, 2) within a frame.

    ``frame`` is its width and height, ``radius`` that of a dot, all in typographic points. Each label in turn
    takes the place that hides least of dots, other labels and the frame's border, near its point if it can,
    until none moves.
    """
    n = len(points)
    offsets, cost = _candidates(sizes, radius)  # (n, c, 2), (n, c)
    places = points[:, None, :] + offsets
    dots = np.full((n, 2), 2 * radius)
    hidden = np.stack([_overlap(places[i], sizes[i], points, dots).sum(axis=1) for i in range(n)])  # (n, c)
    fixed = cost + _HIDING * (hidden + _outside(places, sizes, frame))
    chosen = fixed.argmin(axis=1)
    crowded = np.argsort(-_crowding(points), kind="stable")
    for _ in range(_SWEEPS):
        before = chosen.copy()
        for i in crowded:
            others = np.arange(n) != i
            centres = places[np.arange(n), chosen][others]
            overlap = _overlap(places[i], sizes[i] + _TOUCH, centres, sizes[others] + _TOUCH).sum(axis=1)
            chosen[i] = (fixed[i] + _HIDING * overlap).argmin()
        if (chosen == before).all():
            break
    centres = places[np.arange(n), chosen]
    free = _apart(centres, sizes) & (hidden[np.arange(n), chosen] < radius**2)
    return Labels(centres, free, np.array(_RINGS)[chosen // _ANGLES] >= _LED)


def line_end(point: Floats, centre: Floats, size: Floats) -> Floats:
    """Return where a line from a point (2,) meets the box of its label."""
    nearest: Floats = np.clip(point, centre - size / 2, centre + size / 2)
    return nearest


def _candidates(sizes: Floats, radius: float) -> tuple[Floats, Floats]:
    """Return offsets of label centres from their points, all around, ring after ring, and the cost of each."""
    angles = 2 * np.pi * np.arange(_ANGLES) / _ANGLES
    direction = np.stack([np.cos(angles), np.sin(angles)], axis=1)  # (a, 2), the right side first
    half = sizes[:, None, :] / 2 + radius + 1  # (n, 1, 2)
    # on the rectangle around the dot in which the label just touches it
    reach = np.min(half / np.maximum(np.abs(direction), 1e-9), axis=2)  # (n, a)
    rings = [(reach + ring)[..., None] * direction for ring in _RINGS]
    # beside is easier to read than above, right than left
    taste = 1.5 * (1 - np.abs(direction[:, 0])) + 0.5 * (direction[:, 0] < -0.5)
    cost = [np.broadcast_to(taste + 2 * ring, reach.shape) for ring in _RINGS]
    return np.concatenate(rings, axis=1), np.concatenate(cost, axis=1)


def _overlap(places: Floats, size: Floats, centres: Floats, sizes: Floats) -> Floats:
    """Return the common area of a box at each of c places with each of n boxes, (c, n)."""
    apart = np.abs(places[:, None, :] - centres)  # (c, n, 2)
    common = np.clip((size + sizes) / 2 - apart, 0, np.minimum(size, sizes))
    area: Floats = common.prod(axis=2)
    return area


def _outside(places: Floats, sizes: Floats, frame: tuple[float, float]) -> Floats:
    """Return by how many points a label at each place leaves the frame, with a large factor, (n, c)."""
    half = sizes[:, None, :] / 2 + 2
    beyond = np.maximum(half - places, 0) + np.maximum(places + half - np.array(frame), 0)
    cost: Floats = 20 * beyond.sum(axis=2)
    return cost


def _crowding(points: Floats) -> Floats:
    distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    crowding: Floats = np.exp(-distance / 25).sum(axis=1)
    return crowding


def _apart(centres: Floats, sizes: Floats) -> NDArray[np.bool_]:
    """Return which labels to keep so that no two of them overlap; of two that do, the first stays."""
    overlap = np.stack([_overlap(c[None], s, centres, sizes)[0] for c, s in zip(centres, sizes, strict=True)])
    free = np.ones(len(centres), dtype=bool)
    for i in range(len(centres)):
        free[i] = not (overlap[i, :i] > 0.5)[free[:i]].any()
    return free

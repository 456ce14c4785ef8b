"""What tests of figures share: vectors to draw, and the pixels, circles and texts of a drawn figure."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.vectors import Vectors

WHITE = [255, 255, 255]


def two_words() -> Vectors:
    """Means over up and down are 0, 2, -2 and 0.5e-6: the columns that they use are shown in the order 2, 3, 1."""
    rows = [[0, 1, -1, 1e-6], [0, 3, -3, 0], [0, -1, 1, 2]]
    return Vectors(["up", "down", "other"], np.array(rows, dtype=np.float32))


def pixels(figure: Any) -> NDArray[np.uint8]:
    """Return the drawn figure, (height, width, 3)."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def pixel(figure: Any, axes: Any, x: float, y: float) -> list[int]:
    """Return the colour at a point given in the data coordinates of the axes."""
    image = pixels(figure)
    column, row = axes.transData.transform((x, y))
    return [int(channel) for channel in image[image.shape[0] - 1 - int(row), int(column)]]


def circles(figure: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centres (n, 2) and the colours (n, 3) of all nodes that a figure of trees shows, in order."""
    nodes = [c for c in figure.axes[0].collections if type(c).__name__ == "PatchCollection"]
    centres = [(path.vertices.min(axis=0) + path.vertices.max(axis=0)) / 2 for c in nodes for path in c.get_paths()]
    return np.array(centres), np.concatenate([c.get_facecolor()[:, :3] for c in nodes])


def written(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def is_red(color: list[int]) -> bool:
    return color[0] > color[1] and color[0] > color[2]


def is_blue(color: list[int]) -> bool:
    return color[2] > color[0] and color[2] > color[1]


def planted(n: int = 12, M: int = 10, seed: int = 0) -> Vectors:
    """Return n words a0, a1, ... around one direction and n words b0, ... around another, far apart."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(np.eye(M)[:2], n, axis=0)
    words = [f"{letter}{i}" for letter in "ab" for i in range(n)]
    return Vectors(words, centres + 0.1 * rng.standard_normal((2 * n, M)))


def groups_of(vectors: Vectors) -> dict[str, list[str]]:
    return {letter: [word for word in vectors.words if word.startswith(letter)] for letter in "ab"}

"""What pictures of a whole forest share: a hue for each tree with shades for its nodes, and labels where they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.figures._matplotlib import text_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

_GOLDEN = 137.5  # degrees: hues of neighbouring trees are far apart, however many there are
_CHROMA = 0.105
_LIGHT = 0.52, 0.93  # of a root, and at most
_SMALLEST = 5.0  # points of letters
_LINE = 1.25  # height of a line, in letters
# Ottosson's Oklab to cone responses, and these to linear sRGB
_CONES = np.array([[1, 0.3963, 0.2158], [1, -0.1056, -0.0639], [1, -0.0895, -1.2915]])
_RGB = np.array([[4.0767, -3.3077, 0.2310], [-1.2684, 2.6098, -0.3413], [-0.0042, -0.7034, 1.7076]])


class Nested(NamedTuple):
    """Sizes (M,) of nodes, none below zero nor smaller than the sum of its children; and the words of their labels."""

    forest: Forest
    sizes: Floats
    labels: list[list[str]]

    def parts(self, node: int) -> list[int]:
        """Return the children of a node that have a size, or the roots for -1, largest first."""
        nodes = self.forest.roots.tolist() if node < 0 else self.forest.children(node)
        return sorted((i for i in nodes if self.sizes[i] > 0), key=lambda i: (-self.sizes[i], i))


def nested(forest: Forest, sizes: Sequence[float], labels: Sequence[str], depth: int | None) -> Nested:
    """Return what a picture down to a depth shows; children that are more than their parent are scaled down."""
    if not len(forest) == len(sizes) == len(labels):
        raise InputError(
            f"expected a size and a label for each of {len(forest)} nodes, but {len(sizes)} and {len(labels)} came."
        )
    shown = np.array(sizes, dtype=np.float64)
    if not (np.isfinite(shown).all() and shown.min() >= 0 and shown[forest.roots].sum() > 0):
        raise InputError("expected sizes of nodes from 0 on, some root above it, but others came. Draw another folder.")
    for node in range(len(forest)):
        children = forest.children(node)
        below = shown[children].sum()
        if below > shown[node]:
            shown[children] *= shown[node] / below
    if depth is not None:
        shown[forest.depth > depth] = 0.0
    return Nested(forest, shown, [label.replace(",", " ").split() for label in labels])


def tree_colors(forest: Forest) -> Floats:
    """Return a colour for every node, (M, 3): one hue a tree, lighter the deeper, siblings in slightly other shades."""
    low, high = _LIGHT
    tree = np.cumsum(forest.parent < 0) - 1
    light = low + (high - low) * forest.depth / (forest.depth.max() + 1)
    for node in range(len(forest)):
        for k, child in enumerate(forest.children(node)):
            light[child] += (0.0, 0.035, -0.02)[k % 3]
    hue = np.deg2rad(25 + _GOLDEN * tree)
    lab = np.stack([light, _CHROMA * np.cos(hue), _CHROMA * np.sin(hue)], axis=1)
    linear = np.clip((lab @ _CONES.T) ** 3 @ _RGB.T, 0, 1)
    colors: Floats = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return colors


def fitted(
    axes: Axes, words: Sequence[str], room: tuple[float, float], points: float, weight: str = "normal"
) -> tuple[list[str], float]:
    """Return the first words in lines that fit into a width and a height in inches, and the size of their letters.

    Letters are of ``points`` or, if the first word is too wide so, smaller; no line where even that does not help.
    """
    width, height = room
    if not words or height < _LINE * _SMALLEST / 72 or width <= 0:
        return [], points
    widths = [text_size(axes, word, points, weight)[0] for word in words]
    size = min(points, points * width / widths[0], 72 * height / _LINE)
    if size < _SMALLEST:
        return [], points
    lines, ends, most = [words[0]], widths[0], int(72 * height / (_LINE * size))
    for word, w in zip(words[1:], widths[1:], strict=True):
        if (ends + 0.3 * points / 72 + w) * size / points <= width:
            lines[-1] += " " + word
            ends += 0.3 * points / 72 + w
        elif len(lines) < most and w * size / points <= width:
            lines.append(word)
            ends = w
        else:
            break
    return lines, size

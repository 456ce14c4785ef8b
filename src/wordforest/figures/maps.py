"""Words on a plane by t-SNE, coloured by group: do words of one kind stand together?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError
from wordforest.figures._matplotlib import drawing, matplotlib, new_figure, text_size
from wordforest.figures.colors import INK, LINE
from wordforest.figures.labels import Floats, Labels, line_end, place_labels
from wordforest.figures.look import GROUP_COLORS, GROUP_MARKERS, SCREEN, Look
from wordforest.figures.tsne import RUNS, OnRun, Projection, project
from wordforest.figures.words import shortened
from wordforest.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 6.2  # inches of a map for a screen
_DOT = 2.2  # points, radius
_SIDE = 0.08  # inches left and right of a map
_SHRINK = (1.0, 0.93, 0.86, 0.79, 0.72)  # of the letters, until all labels have a place near their dots
_LED = 0.04  # share of labels away from their dots that is still easy to read


class _Words(NamedTuple):
    """Labels of n words and the group of each, (n,)."""

    labels: list[str]
    group: NDArray[np.intp]


def word_map(
    models: Mapping[str, Vectors],
    groups: Mapping[str, Sequence[str]],
    *,
    runs: int = RUNS,
    seed: int = 0,
    look: Look = SCREEN,
    on_run: OnRun | None = None,
) -> Figure:
    """Return the words of all groups on a plane, a map for each model, by title, side by side.

    Each map is the best of ``runs`` runs of t-SNE over vectors of length one; its error is written below. It
    is turned so that it is widest from left to right with the first group on the left: t-SNE leaves that
    open. Groups differ in colour and mark. Words that one of the models lacks are left out of all; labels
    that find no free place are left out, and counted below.
    """
    shown = shared_groups(models, groups)
    words = [word for group in shown.values() for word in group]
    of_group = np.repeat(np.arange(len(shown)), [len(group) for group in shown.values()])  # (n,)
    best: list[Projection] = []
    for index, vectors in enumerate(models.values()):
        X = vectors.unit[[vectors.index(word) for word in words]]
        best.append(project(X, runs=runs, seed=seed, on_run=_counted(on_run, index * runs, len(models) * runs)))
    places = [turned(found.places, of_group == 0) for found in best]
    notes = [f"KL divergence {found.error:.3f}" + f", lowest of {runs} runs" * (runs > 1) for found in best]
    with drawing():
        titles = list(shown) if len(shown) > 1 else []
        figure, panels = _panels(places, titles, look)
        labelled = _Words([shortened(word) for word in words], of_group)
        letters = _letters(panels, places, labelled, look)
        for title, axes, at, note in zip(models, panels, places, notes, strict=True):
            left_out = _draw(axes, at, labelled, letters)
            axes.set_title(shortened(title, 50), fontsize=look.text + 1, loc="left", color=INK, pad=4)
            note += f"; {left_out} of {len(words)} words without a label" if left_out else ""
            axes.set_xlabel(note, fontsize=look.small, color="#666666", labelpad=3, loc="left")
    return figure


def shared_groups(models: Mapping[str, Vectors], groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the groups with the words that all models have, each word once, in its first group; none is empty."""
    if not models:
        raise InputError("expected at least one model to draw, but none came.")
    seen: set[str] = set()
    shown: dict[str, list[str]] = {}
    for title, words in groups.items():
        kept = [w for w in dict.fromkeys(words) if w not in seen and all(w in v for v in models.values())]
        seen.update(kept)
        if kept:
            shown[title] = kept
    if not shown:
        some = [word for words in groups.values() for word in words][:10]
        what = f"found none for: {', '.join(some)}" if some else "the list is empty"
        raise InputError(
            f"expected at least one word with a vector to draw, but {what}. "
            "Choose among the words that all models have."
        )
    if len(shown) > len(GROUP_COLORS):
        raise InputError(f"expected at most {len(GROUP_COLORS)} groups of words, but {len(shown)} came. Draw fewer.")
    return shown


def turned(places: Floats, first: NDArray[np.bool_]) -> Floats:
    """Return places (n, 2) around zero, widest along x, with those of ``first`` (n,) on the left, higher up."""
    if len(places) == 1:
        return np.zeros((1, 2))
    centred = places - places.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    y = centred @ axes.T
    lead = y[first].mean(axis=0) if first.any() and not first.all() else y[0]
    return np.asarray(y * np.where(lead * [1, -1] > 0, -1.0, 1.0))


def _counted(on_run: OnRun | None, before: int, total: int) -> OnRun | None:
    return None if on_run is None else lambda done, _: on_run(before + done, total)


def _panels(places: list[Floats], titles: list[str], look: Look) -> tuple[Figure, list[Axes]]:
    """Return a figure with axes side by side, as high as the maps need, below a line that explains the marks."""
    n = len(places)
    above = ((look.text + 1) * 1.7 + look.text * 1.9 * bool(titles)) / 72  # inches
    below = look.small * 2 / 72
    width = look.size[0] if look.size else min(_WIDTH * n, look.width)
    inner = width / n - 2 * _SIDE
    spreads = [np.ptp(at, axis=0) for at in places]
    steepest = max((float(dy / dx) if dx > 0 else 0.0 for dx, dy in spreads), default=0.0)
    high = min(max(0.95 * inner * steepest, 0.45 * inner), 1.0 * inner)
    height = look.size[1] if look.size else high + above + below
    if min(inner, height - above - below) < 0.5:
        raise InputError(f"size = {width:g} x {height:g} inches is too small for {n} maps. Give more.")
    figure = new_figure(width, height)
    figure.set_layout_engine("none")  # labels are placed in inches, so the axes may not move afterwards
    share = (inner / width, 1 - (above + below) / height)
    lefts = [(index / n) + _SIDE / width for index in range(n)]
    axes = [figure.add_axes((left, below / height, *share)) for left in lefts]
    _explain(figure, titles, look)
    return figure, axes


def _placed(axes: Axes, places: Floats, words: _Words, letters: float) -> tuple[Floats, Floats, Labels]:
    """Return points (n, 2), sizes of labels (n, 2) and their places, in typographic points from the lower left."""
    box = axes.get_window_extent()
    frame = (72 * box.width / axes.figure.dpi, 72 * box.height / axes.figure.dpi)
    axes.set(xlim=(0, frame[0]), ylim=(0, frame[1]), xticks=[], yticks=[])
    sizes = 72 * np.array([text_size(axes, label, letters) for label in words.labels])
    points = _scaled(places, frame, margin=(min(float(sizes[:, 0].max()), frame[0] / 5) / 2 + 8, 14.0))
    return points, sizes, place_labels(points, sizes, frame, _DOT)


def _letters(panels: list[Axes], places: list[Floats], words: _Words, look: Look) -> float:
    """Return the size of letters, the same for all maps, at which all labels stand near their dots."""
    for share in _SHRINK[:-1]:
        tried = [_placed(axes, at, words, share * look.text)[2] for axes, at in zip(panels, places, strict=True)]
        if all(labels.free.all() and labels.led.mean() <= _LED for labels in tried):
            return share * look.text
    return _SHRINK[-1] * look.text


def _draw(axes: Axes, places: Floats, words: _Words, letters: float) -> int:
    """Draw dots and labels; return how many labels had no place."""
    points, sizes, placed = _placed(axes, places, words, letters)
    for group in range(int(words.group.max()) + 1):
        mine = points[words.group == group]
        axes.plot(mine[:, 0], mine[:, 1], GROUP_MARKERS[group], color=GROUP_COLORS[group], markersize=2 * _DOT,
                  markeredgewidth=0)  # fmt: skip
    for i in np.flatnonzero(placed.free):
        x, y = placed.centres[i]
        color = GROUP_COLORS[words.group[i]]
        if placed.led[i]:
            end = line_end(points[i], placed.centres[i], sizes[i])
            axes.plot(*zip(points[i], end, strict=True), color=color, linewidth=0.4, alpha=0.6, zorder=0.5)
        axes.text(x, y, words.labels[i], fontsize=letters, color=color, ha="center", va="center")
    axes.spines[:].set(color=LINE, linewidth=0.6)
    return int((~placed.free).sum())


def _scaled(places: Floats, frame: tuple[float, float], margin: tuple[float, float]) -> Floats:
    """Return places scaled alike in x and y and centred in a frame, with room for labels at its sides."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.maximum(np.array(frame) - 2 * np.array(margin), 1.0)
    scale = min((r / s for r, s in zip(room, high - low, strict=True) if s > 0), default=1.0)
    return np.asarray((places - (low + high) / 2) * scale + np.array(frame) / 2)


def _explain(figure: Figure, titles: list[str], look: Look) -> None:
    mpl = matplotlib()
    marks = [
        mpl.lines.Line2D([], [], marker=m, color=c, linestyle="", markersize=5, markeredgewidth=0, label=shortened(t))
        for m, c, t in zip(GROUP_MARKERS, GROUP_COLORS, titles, strict=False)
    ]
    if marks:
        figure.legend(
            handles=marks, loc="upper left", ncols=len(marks), frameon=False, fontsize=look.text,
            labelcolor="linecolor", handletextpad=0, handlelength=1.2, columnspacing=1.2, borderaxespad=0,
        )  # fmt: skip

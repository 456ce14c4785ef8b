"""Words on a plane by t-SNE (openTSNE), coloured by group: do words of one kind stand together?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError, MissingExtraError
from wordforest.figures._matplotlib import drawing, new_figure, text_size
from wordforest.figures.placement import Floats, Placement, place_labels
from wordforest.figures.style import GROUP_COLORS, GROUP_MARKERS, INK, LINE, SCREEN, Style
from wordforest.figures.words import drawable, shortened
from wordforest.vectors import Vectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RUNS = 10  # as in the paper
_EXACT = 300  # words up to which forces are not approximated
_MAX_WORDS = 3000
_WIDTH = 6.2  # inches of a map for a screen
_DOT = 2.2  # points, radius
_SIDE = 0.08  # inches left and right of a map
_SHRINK = (1.0, 0.93, 0.86, 0.79, 0.72)  # of the letters, until all labels have a place near their dots
_LED = 0.04  # share of labels away from their dots that is still easy to read


class Projection(NamedTuple):
    """Points (n, 2) and their error, the Kullback-Leibler divergence.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> wf.figures.Projection(np.zeros((3, 2)), error=0.5).points.shape
        (3, 2)
    """

    points: NDArray[np.float64]
    error: float


class _Map(NamedTuple):
    """Dots (n, 2), sizes of labels (n, 2) and their placement, in typographic points from the lower left."""

    dots: Floats
    sizes: Floats
    placed: Placement

    @property
    def is_easy_to_read(self) -> bool:
        return bool(self.placed.free.all() and self.placed.led.mean() <= _LED)


def word_map(
    models: Mapping[str, Vectors],
    groups: Mapping[str, Sequence[str]],
    *,
    runs: int = RUNS,
    seed: int = 0,
    style: Style = SCREEN,
    on_run: Callable[[int, int], None] = lambda *_: None,
) -> Figure:
    """Return the words of all groups on a plane, a map for each model, by title, side by side.

    Each map is the best of ``runs`` runs of t-SNE over vectors of length one; its error is written below. It is turned
    so that it is widest from left to right with the first group on the left: t-SNE leaves that open. Groups differ in
    colour and mark. Words that one of the models lacks are left out of all; labels that find no free place are left
    out, and counted below.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf  # needs: matplotlib openTSNE
        >>> words = ["cat", "dog", "cow", "hen", "paris", "rome", "oslo", "bern"]
        >>> vectors = wf.Vectors(words, np.eye(8) + np.kron(np.eye(2), np.ones((4, 4))))
        >>> groups = {"animals": words[:4], "cities": words[4:]}
        >>> wf.figures.word_map({"mine": vectors}, groups, runs=1).savefig("map.png")
    """
    shown = _shared_groups(models, groups)
    words = [word for group in shown.values() for word in group]
    group = np.repeat(np.arange(len(shown)), [len(group) for group in shown.values()])  # (n,)
    done, best = count(1), []
    for vectors in models.values():
        X = vectors.unit[[vectors.index(word) for word in words]]
        best.append(project(X, runs=runs, seed=seed, on_run=lambda: on_run(next(done), len(models) * runs)))
    points = [turned(found.points, group == 0) for found in best]
    labels = [shortened(word) for word in words]
    with drawing():
        figure, panels = _panels(points, style, has_marks=len(shown) > 1)
        for share in _SHRINK:  # the same letters on all maps
            letters = share * style.text
            maps = [_place(axes, at, labels, letters) for axes, at in zip(panels, points, strict=True)]
            if all(one.is_easy_to_read for one in maps):
                break
        for title, axes, found, one in zip(models, panels, best, maps, strict=True):
            _draw(axes, one, labels, group, letters)
            note = f"KL divergence {found.error:.3f}" + (f", lowest of {runs} runs" if runs > 1 else "")
            if left_out := int((~one.placed.free).sum()):
                note += f"; {left_out} of {len(words)} words without a label"
            axes.set_title(shortened(title, 50), fontsize=style.text + 1, loc="left", color=INK, pad=4)
            axes.set_xlabel(note, fontsize=style.small, color="#666666", labelpad=3, loc="left")
        if len(shown) > 1:
            spaces = {"handletextpad": 0, "handlelength": 1.2, "columnspacing": 1.2, "borderaxespad": 0}
            look = {"fontsize": style.text, "labelcolor": "linecolor", "ncols": len(shown), "frameon": False}
            marks = panels[0].lines[: len(shown)]
            figure.legend(marks, map(shortened, shown), loc="upper left", markerscale=1.15, **look, **spaces)
    return figure


def project(
    X: NDArray[np.floating], *, runs: int = RUNS, seed: int = 0, on_run: Callable[[], None] = lambda: None
) -> Projection:
    """Return points (n, 2) for the rows of X (n, M), which have length one: the run with the lowest error.

    t-SNE is not convex, so it starts from ``runs`` random layouts, drawn from ``seed``. For fewer than 91 words the
    perplexity shrinks from 30 to a third of the other words, for fewer than 120 the early exaggeration from 12 to a
    tenth of them: few words under full exaggeration fall into one point and never part again.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf  # needs: openTSNE
        >>> rows = np.eye(8)[np.arange(24) % 8] + 0.1
        >>> rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        >>> found = wf.figures.project(rows, runs=1)
        >>> found.points.shape
        (24, 2)
    """
    n = len(X)
    if runs < 1:
        raise InputError(f"runs = {runs}, but at least one run is needed. The paper has {RUNS}.")
    if n > _MAX_WORDS:
        raise InputError(f"expected at most {_MAX_WORDS} words on a map, but {n} came. Choose fewer.")
    best = Projection(np.stack([np.arange(n) - (n - 1) / 2, np.zeros(n)], axis=1), 0.0 if n < 3 else np.inf)
    for start in np.random.SeedSequence(seed).generate_state(runs):
        if n >= 3:  # one point, or two: any distance between two has no error
            best = min(best, _descend(np.asarray(X, np.float64), int(start)), key=lambda found: found.error)
        on_run()
    return best


def _descend(X: NDArray[np.float64], seed: int) -> Projection:
    try:
        from openTSNE import TSNE
    except ImportError as error:
        raise MissingExtraError("a map", "figures") from error
    n = len(X)
    tsne = TSNE(
        perplexity=min(30.0, (n - 1) / 3),
        initialization="random",
        early_exaggeration=min(12.0, max(1.0, n / 10)),
        n_iter=750,
        neighbors="exact",
        negative_gradient_method="bh",
        theta=0.0 if n <= _EXACT else 0.5,
        n_jobs=1,
        random_state=seed,
    )
    found = tsne.fit(X)
    return Projection(np.array(found, dtype=np.float64), float(found.kl_divergence))


def turned(points: Floats, first: NDArray[np.bool_]) -> Floats:
    """Return points (n, 2) around zero, widest along x, with those of ``first`` (n,) on the left, higher up."""
    if len(points) == 1:
        return np.zeros((1, 2))
    centred = points - points.mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    y = centred @ axes.T
    lead = y[first].mean(axis=0) if first.any() and not first.all() else y[0]
    return np.asarray(y * np.where(lead * [1, -1] > 0, -1.0, 1.0))


def _shared_groups(models: Mapping[str, Vectors], groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the groups with the words that all models have, each word once, in its first group; none is empty."""
    if not models:
        raise InputError("expected at least one model to draw, but none came.")
    known = drawable((word for words in groups.values() for word in words), *models.values())
    home = {word: title for title, words in reversed(list(groups.items())) for word in words}  # the first group wins
    shown = {title: [word for word in known if home[word] == title] for title in groups}
    shown = {title: words for title, words in shown.items() if words}
    if len(shown) > len(GROUP_COLORS):
        raise InputError(f"expected at most {len(GROUP_COLORS)} groups of words, but {len(shown)} came. Draw fewer.")
    return shown


def _panels(points: list[Floats], style: Style, *, has_marks: bool) -> tuple[Figure, list[Axes]]:
    """Return a figure with axes side by side, as high as the maps need, below room for a line about the marks."""
    n = len(points)
    above = ((style.text + 1) * 1.7 + style.text * 1.9 * has_marks) / 72  # inches
    below = style.small * 2 / 72
    width = min(_WIDTH * n, style.width)
    inner = width / n - 2 * _SIDE
    steepest = max(float(dy / dx) if dx > 0 else 0.0 for dx, dy in (np.ptp(at, axis=0) for at in points))
    height = min(max(0.95 * steepest, 0.45), 1.0) * inner + above + below
    if min(inner, height - above - below) < 0.5:
        raise InputError(f"{n} maps side by side do not fit into {width:g} inches. Draw fewer.")
    figure = new_figure(width, height)
    figure.set_layout_engine("none")  # labels are placed in inches, so the axes may not move afterwards
    lefts = [index / n + _SIDE / width for index in range(n)]
    share = (inner / width, 1 - (above + below) / height)
    return figure, [figure.add_axes((left, below / height, *share)) for left in lefts]


def _place(axes: Axes, points: Floats, labels: list[str], letters: float) -> _Map:
    box = axes.get_window_extent()
    frame = (72 * box.width / axes.figure.dpi, 72 * box.height / axes.figure.dpi)
    axes.set(xlim=(0, frame[0]), ylim=(0, frame[1]), xticks=[], yticks=[])
    sizes = 72 * np.array([text_size(axes, label, letters) for label in labels])
    margin = np.array([min(float(sizes[:, 0].max()), frame[0] / 5) / 2 + 8, 14.0])  # room for labels at the sides
    low, high = points.min(axis=0), points.max(axis=0)
    room = np.maximum(np.array(frame) - 2 * margin, 1.0)
    scale = min((r / s for r, s in zip(room, high - low, strict=True) if s > 0), default=1.0)
    dots = (points - (low + high) / 2) * scale + np.array(frame) / 2
    return _Map(dots, sizes, place_labels(dots, sizes, frame, _DOT))


def _draw(axes: Axes, one: _Map, labels: list[str], group: NDArray[np.intp], letters: float) -> None:
    """Draw dots and labels, and lines between those that stand apart."""
    for g in range(int(group.max()) + 1):
        x, y = one.dots[group == g].T
        axes.plot(x, y, GROUP_MARKERS[g], color=GROUP_COLORS[g], markersize=2 * _DOT, markeredgewidth=0)
    for i in np.flatnonzero(one.placed.free):
        dot, centre, color = one.dots[i], one.placed.centres[i], GROUP_COLORS[group[i]]
        if one.placed.led[i]:
            end = np.clip(dot, centre - one.sizes[i] / 2, centre + one.sizes[i] / 2)  # the border of the label
            axes.plot(*zip(dot, end, strict=True), color=color, linewidth=0.4, alpha=0.6, zorder=0.5)
        axes.text(centre[0], centre[1], labels[i], fontsize=letters, color=color, ha="center", va="center")
    axes.spines[:].set(color=LINE, linewidth=0.6)

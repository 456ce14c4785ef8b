"""Places of words on a plane: two principal axes at once, t-SNE for those who wait."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from wordforest.errors import InputError, MissingExtraError
from wordforest.explorer.model import Model
from wordforest.store import replace_file
from wordforest.vectors import Dense

Kind: TypeAlias = Literal["auto", "forest", "pca", "tsne"]
Places: TypeAlias = NDArray[np.float32]  # (V, 2), nearly all in [-1, 1]
_BLOCK = 8192  # words at a time: the sums stay small
_SPARSE = 0.3  # share of non-zeros below which a word has a place of its own amid the nodes
_SMALL = 5000  # words up to which threads cost more than they bring
_TSNE_AXES = 50  # principal axes that t-SNE starts from


def pca_places(unit: Dense) -> Places:
    """Return the words (V, M) on the two axes along which unit vectors vary most, signs fixed: (V, 2)."""
    axes = _principal_axes(unit, 2)
    return _fitted((unit - unit.mean(axis=0)) @ axes)


def forest_places(model: Model) -> Places:
    """Return words (V, 2) amid the nodes that they use: nodes stand on a plane, a word pulls to its strong ones.

    p_v = sum_i w_vi q_i / sum_i w_vi  with  w_vi = (|a_vi| / s_i)^3, where q_i is the place of node i and s_i the root
    mean square of its coefficients, so that no node wins by its scale. Words without a node stand at the middle.
    """
    q = node_places(model)
    dense = model.vectors.dense
    scale = np.sqrt(np.mean(np.square(dense, dtype=np.float64), axis=0))  # (M,)
    inverse = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0).astype(np.float32)
    places = np.zeros((len(dense), 2), np.float32)
    for start in range(0, len(dense), _BLOCK):
        weight = np.abs(dense[start : start + _BLOCK] * inverse) ** 3  # (b, M)
        total = weight.sum(axis=1, keepdims=True)
        np.divide(weight @ q, total, out=places[start : start + _BLOCK], where=total > 0)
    return _fitted(places)


def node_places(model: Model) -> Places:
    """Return a place for every node (M, 2): trees on a sunflower, children on a ring around their parent."""
    forest = model.forest
    places = np.zeros((len(forest), 2), np.float64)
    n = len(forest.roots)
    turn = np.pi * (3 - np.sqrt(5))  # the golden angle: neighbours on the spiral are never in line
    reach = np.zeros(len(forest))
    for t, root in enumerate(forest.roots):
        radius = np.sqrt((t + 0.5) / n)
        places[root] = radius * np.cos(t * turn), radius * np.sin(t * turn)
        reach[root] = 0.75 / np.sqrt(n)
    for node in range(len(forest)):
        children = forest.children(node)
        out = np.arctan2(*places[node][::-1])  # the first child points away from the middle
        for i, child in enumerate(children):
            angle = out + 2 * np.pi * i / len(children)
            places[child] = places[node] + reach[node] * 0.62 * np.array([np.cos(angle), np.sin(angle)])
            reach[child] = reach[node] * 0.5
    return places.astype(np.float32)


def tsne_places(unit: Dense) -> Places:
    """Return the words (V, 2) by t-SNE of cosine distances, started from the principal axes; seconds to minutes."""
    try:
        from openTSNE import TSNE
    except ImportError as error:
        raise MissingExtraError("a t-SNE map", "figures") from error
    if len(unit) < 10:
        return pca_places(unit)
    axes = _principal_axes(unit, min(_TSNE_AXES, unit.shape[1]))
    data = np.ascontiguousarray((unit - unit.mean(axis=0)) @ axes)
    first = _fitted(data[:, :2]) * np.float32(1e-4)
    jobs = 1 if len(unit) < _SMALL else (os.cpu_count() or 1)
    tsne = TSNE(perplexity=min(30, (len(unit) - 1) / 3), n_jobs=jobs, random_state=0, initialization=first)
    return _fitted(np.asarray(tsne.fit(data)))


def quick_places(model: Model, kind: Kind) -> Places:
    """Return the map that takes no longer than a few seconds: amid the nodes, or by principal axes.

    ``auto`` takes the nodes where few of them are set, since in a dense model every word is amid all of them.
    """
    sparse = model.used.sum() < _SPARSE * len(model.words) * len(model.forest)
    if kind == "forest" or (kind == "auto" and sparse):
        return forest_places(model)
    return pca_places(model.vectors.unit)


class MapMaker:
    """Computes a model's map in the background, the quick one first; ``current`` never waits."""

    def __init__(self, model: Model, kind: Kind, cache: Path | None = None) -> None:
        if kind not in get_args(Kind):
            raise InputError(f"map = {kind!r}, but it must be one of {', '.join(get_args(Kind))}.")
        self._model, self._kind, self._cache = model, kind, cache
        self._places: Places | None = None
        self._hurry, self._final = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def start(self, after: float = 0.0) -> None:
        """Begin in a thread of its own, once, after some seconds or as soon as another call does not want to wait."""
        with self._lock:
            if not after:
                self._hurry.set()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(after,), name="wordforest-map", daemon=True)
                self._thread.start()

    def current(self) -> tuple[Places | None, bool]:
        """Return the best places so far, if any, and whether they are final; the first call starts the work."""
        self.start()
        return self._places, self._final.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until the map is final, at most some seconds; return whether it is."""
        self.start()
        return self._final.wait(seconds)

    def _run(self, after: float) -> None:
        self._hurry.wait(after)
        try:
            self._places = quick_places(self._model, self._kind)
            if self._kind == "tsne":
                self._places = _cached_tsne(self._model.vectors.unit, self._cache)
        finally:
            self._final.set()  # after an error the quick map stays


def cache_folder() -> Path:
    """Return where maps that took long are kept: wordforest/maps in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "wordforest" / "maps"


def _cached_tsne(unit: Dense, cache: Path | None) -> Places:
    """Return the t-SNE of unit vectors, from the cache where the same vectors were mapped before."""
    if cache is None:
        return tsne_places(unit)
    path = cache / f"tsne-{hashlib.sha256(np.ascontiguousarray(unit).data).hexdigest()[:32]}.npy"
    if path.is_file():
        places = np.load(path, allow_pickle=False)
        if places.shape == (len(unit), 2) and places.dtype == np.float32:
            return np.asarray(places)
    places = tsne_places(unit)
    cache.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, places, allow_pickle=False)
    return places


def _principal_axes(unit: Dense, k: int) -> NDArray[np.float32]:
    """Return the first k principal axes (M, k) by the covariance, each with its largest entry positive."""
    mean = unit.mean(axis=0, dtype=np.float64)
    second = np.zeros((unit.shape[1], unit.shape[1]))
    for start in range(0, len(unit), _BLOCK):
        block = unit[start : start + _BLOCK]
        second += block.T @ block
    _, axes = np.linalg.eigh(second / len(unit) - np.outer(mean, mean))
    axes = axes[:, ::-1][:, :k]
    if axes.shape[1] < k:
        axes = np.pad(axes, ((0, 0), (0, k - axes.shape[1])))
    sign = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(k)])
    return (axes * np.where(sign == 0, 1.0, sign)).astype(np.float32)


def _fitted(places: NDArray[np.floating]) -> Places:
    """Return places moved and scaled, each axis for itself, so that 99 of 100 words fill [-1, 1].

    Axes of a map have no unit. Words further out are drawn in to 1.25 at most; an axis without spread becomes 0.
    """
    low, middle, high = np.quantile(places, [0.005, 0.5, 0.995], axis=0)
    half = np.maximum(high - middle, middle - low)
    if (half == 0).any():  # nearly all words at one place: what spread there is counts
        half = np.where(half > 0, half, np.abs(places - middle).max(axis=0))
    scaled = np.divide(places - middle, half, out=np.zeros(places.shape), where=half > 0)
    return np.asarray(np.clip(scaled, -1.25, 1.25), dtype=np.float32)

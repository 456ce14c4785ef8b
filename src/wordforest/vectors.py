"""Words and their vectors, read-only: lookup, similarity, nearest words, analogies, sparsity."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError

if TYPE_CHECKING:
    from wordforest.reading import Labels, WordPath

Dense: TypeAlias = NDArray[np.float32]
CSR: TypeAlias = "sparse.csr_array[np.float32, tuple[int, int]]"
Neighbors: TypeAlias = list[tuple[str, float]]

_ROUNDING = 1e-4  # of a parent's value: what sums of its children in few digits may be off
_LEAST_USE = 1e-6  # a node that no word uses has no say
_SUGGEST_FROM = 50_000  # first rows searched for a close spelling: all of a large vocabulary takes seconds


class NodeNote(NamedTuple):
    """What somebody wrote about a node: its name, whether it is hidden with all below it, and a remark."""

    name: str = ""
    hidden: bool = False
    remark: str = ""


def as_notes(labels: Mapping[int, str | NodeNote]) -> dict[int, NodeNote]:
    """Return notes by node; a text is the name of one."""
    return {node: NodeNote(note) if isinstance(note, str) else note for node, note in labels.items()}


class UnknownWordError(InputError, KeyError):
    """A word without a vector; the message offers close spellings among the first rows."""

    def __init__(self, word: object, words: Sequence[str]) -> None:
        super().__init__(word)
        self.word = word
        self._words = words

    def __str__(self) -> str:
        # searched only when somebody reads the message: callers that skip unknown words stay quick
        near = _close_spellings(str(self.word), self._words[:_SUGGEST_FROM])
        hint = f"Did you mean {', '.join(near)}?" if near else "Choose a word of the vocabulary."
        return f"no vector for {self.word!r}. {hint}"


class Vectors:
    """V words and their vectors, a row each: ``matrix`` (V, M), dense or any SciPy sparse matrix.

    ``nodes`` has what is known of every dimension, (M,) each: ``use``, the share of words that used a node of an
    additive forest when it was learned, makes cosines those of ``comparable``; ``stability`` is shown beside labels.

    Kept as write-protected float32, as an ndarray or as CSR without stored zeros. The caller's arrays
    are left alone; they are shared, not copied, where they are protected float32 already. ``labels`` are names that
    somebody gave to nodes, or all that they noted of them; names go before the words that a node is named by else.

    >>> Vectors(["hot", "warm", "cold"], [[2, 0], [1, 1], [-1, 0]]).most_similar("hot", k=1)
    [('warm', 0.7071067690849304)]
    """

    def __init__(
        self,
        words: Sequence[str],
        matrix: Any,
        *,
        forest: Forest | None = None,
        labels: Mapping[int, str | NodeNote] | None = None,
        nodes: Mapping[str, Any] | None = None,
    ) -> None:
        self.words: tuple[str, ...] = tuple(words)
        self.matrix: Dense | CSR = _protected_csr(matrix) if sparse.issparse(matrix) else _protected(matrix)
        self.forest = forest
        self.notes = as_notes(labels or {})
        self.nodes = {name: np.asarray(values, dtype=np.float64) for name, values in (nodes or {}).items()}
        self._row = _rows_by_word(self.words)
        self._check()

    def _check(self) -> None:
        rows, columns = self.matrix.shape
        if rows != len(self.words):
            raise InputError(f"{len(self.words)} words came with {rows} rows, but each word needs one row.")
        if self.forest is not None and len(self.forest) != columns:
            raise InputError(
                f"the forest has {len(self.forest)} nodes, but the matrix has {columns} columns. "
                "Give the forest that these vectors were learned with, or none."
            )
        for node in self.notes:
            self.check_node(node)
        for name, values in self.nodes.items():
            if values.shape != (columns,) or not np.isfinite(values).all():
                raise InputError(f"nodes: {name} has shape {values.shape}, but {columns} finite numbers are needed.")
        row = first_non_finite_row(self.matrix)
        if row is not None:
            raise InputError(
                f"the vector of {self.words[row]!r} (row {row}) holds a value that is not finite in float32. "
                "Remove the word or repair its vector."
            )

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._row

    def __getitem__(self, word: str) -> Dense:
        """Return the vector of a word, shape (M,), read-only."""
        return _dense_row(self.matrix, self.index(word))

    def __repr__(self) -> str:
        return f"Vectors({len(self)} words, {self.n_dimensions} dimensions, forest={self.forest!r})"

    @property
    def n_dimensions(self) -> int:
        """M, the length of a vector."""
        return int(self.matrix.shape[1])

    @property
    def given_labels(self) -> dict[int, str]:
        """Names that somebody gave to nodes."""
        return {node: note.name for node, note in self.notes.items() if note.name}

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Nodes that somebody hid, and all below them, (M,): left out where a forest is read, never from numbers."""
        forest, found = forest_of(self), np.zeros(self.n_dimensions, dtype=np.bool_)
        for node, note in self.notes.items():
            found[node : forest.end[node]] |= note.hidden
        return found

    def index(self, word: str) -> int:
        """Return the row of a word."""
        try:
            return self._row[word]
        except KeyError:
            raise UnknownWordError(word, self.words) from None

    @cached_property
    def dense(self) -> Dense:
        """All vectors as one read-only array, shape (V, M)."""
        return self.matrix if isinstance(self.matrix, np.ndarray) else _frozen(self.matrix.toarray())

    def first(self, n: int) -> Vectors:
        """Return the first n words, with all that is known of the dimensions."""
        return Vectors(self.words[:n], self.matrix[:n], forest=self.forest, labels=self.notes, nodes=self.nodes)

    @cached_property
    def comparable(self) -> Vectors:
        """These vectors, or where nodes have a ``use``: ``sqrt(a_j log(1 / use_j))``, whose cosines say more.

        In an additive forest a root is used by many words, and strongly; roots and logarithms give leaves their say.
        """
        if self.weights is None:
            return self
        weights = self.weights.astype(np.float32)
        matrix: Any = self.matrix
        if isinstance(matrix, np.ndarray):
            matrix = np.sqrt(np.maximum(matrix, 0)) * weights
        else:
            values = np.sqrt(np.maximum(matrix.data, 0)) * weights[matrix.indices]
            matrix = sparse.csr_array((values, matrix.indices, matrix.indptr), shape=matrix.shape)
        return Vectors(self.words, matrix, forest=self.forest, labels=self.notes)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """``sqrt(log(1 / use))`` of every node, (M,), where its use is known."""
        use = self.nodes.get("use")
        return None if use is None else np.asarray(np.sqrt(np.log(1 / np.clip(use, _LEAST_USE, 1.0))))

    @cached_property
    def unit(self) -> Dense:
        """All ``comparable`` vectors divided by their norm, read-only, shape (V, M); a zero vector stays zero."""
        dense = self.comparable.dense
        size = np.sqrt(np.einsum("ij,ij->i", dense, dense, dtype=np.float64))[:, None]
        unit = np.zeros(dense.shape, np.float32)
        return _frozen(np.divide(dense, size, out=unit, where=size > 0, casting="same_kind"))

    @cached_property
    def own(self) -> Dense | CSR:
        """What each word has at each node itself, shape (V, M): ``matrix``, but less in an additive forest.

        There no value is below zero and a parent has at least what its children have together; its own part is what
        it has more.
        """
        if self.forest is None or self.has_negatives:
            return self.matrix
        A: Any = self.matrix
        children = np.flatnonzero(self.forest.parent >= 0)
        to_parent = (np.ones(len(children), np.float32), (children, self.forest.parent[children]))
        below = A @ sparse.csr_array(to_parent, shape=(len(self.forest), len(self.forest)))
        if not below.sum() or ((1 + _ROUNDING) * A - below).min() < 0:
            return self.matrix
        own = A - below
        own = own * (own > _ROUNDING * A)
        return _protected_csr(own) if sparse.issparse(own) else _frozen(own)

    def own_row(self, word: str) -> Dense:
        """Return what a word has at each node itself, shape (M,), read-only."""
        return _dense_row(self.own, self.index(word))

    @cached_property
    def labels(self) -> Labels:
        """A few words that name each node, best first; or the name that somebody gave to it."""
        from wordforest.reading import label_nodes

        return label_nodes(self)

    def path(self, word: str) -> WordPath:
        """Return the way of a word through the trees that it uses, strongest first; printed, it is an outline."""
        from wordforest.reading import word_path

        return word_path(self, word, labels=self.labels)

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of the ``comparable`` vectors of two words; 0 where one of them is a zero vector."""
        u, v = (self.comparable[word].astype(np.float64) for word in (a, b))
        size = np.sqrt(u @ u) * np.sqrt(v @ v)
        return float(np.clip(u @ v / size, -1.0, 1.0)) if size > 0 else 0.0

    def most_similar(self, word_or_vector: str | Any, k: int = 10) -> Neighbors:
        """Return the k words of largest cosine with a word (itself left out) or with a vector of shape (M,).

        Equal scores keep the order of the rows. Everything is equally far (0) from a zero vector.
        """
        if isinstance(word_or_vector, str):
            row = self.index(word_or_vector)
            return self._nearest(self.comparable[word_or_vector], [row], k)
        vector = np.asarray(word_or_vector, dtype=np.float64)
        if vector.shape != (self.n_dimensions,) or not np.isfinite(vector).all():
            raise InputError(
                f"expected a word or a finite vector of shape ({self.n_dimensions},), "
                f"but a vector of shape {vector.shape} came. Pass one row of these vectors' space."
            )
        if self.weights is not None:
            vector = np.sqrt(np.maximum(vector, 0)) * self.weights
        return self._nearest(vector, [], k)

    def analogy(self, a: str, b: str, c: str, k: int = 10) -> Neighbors:
        """Return the k words d for which a is to b as c is to d: nearest to b - a + c in unit vectors."""
        i, j, m = rows = [self.index(word) for word in (a, b, c)]
        return self._nearest(self.unit[j] - self.unit[i] + self.unit[m], rows, k)

    @cached_property
    def has_negatives(self) -> bool:
        """Whether any value is below zero."""
        return bool((self._values()[0] < 0).any())

    def density(self) -> float:
        """Return the share of values that are not exactly zero; 0 where there are no values."""
        return self._share(self.uses())

    def density_by_depth(self) -> list[float]:
        """Return the density of the dimensions at each depth of the forest, roots first."""
        used = self.uses()
        if self.forest is None:
            return [self._share(used)]
        depth = self.forest.depth
        return [self._share(used[depth == d]) for d in range(int(depth.max()) + 1)]

    def top_words(self, node: int, k: int = 10) -> tuple[Neighbors, Neighbors]:
        """Return the k words of largest positive and the k of most negative value in a dimension."""
        self.check_node(node)
        column = self.dense[:, node]
        high, low = np.flatnonzero(column > 0), np.flatnonzero(column < 0)
        return self._named(_largest(column, high, k), column), self._named(_largest(-column, low, k), column)

    def check_node(self, node: int) -> None:
        """Refuse a dimension that there is not."""
        if not 0 <= node < self.n_dimensions:
            raise InputError(f"node {node} does not exist: choose one from 0 to {self.n_dimensions - 1}.")

    def scaled(self, power: float) -> Vectors:
        """Return vectors whose dimensions have their norms s raised to a power, ``a_j s_j^(power - 1)``; zeros stay.

        1 changes nothing, 0 makes all dimensions equally strong: for a PCA ``U S`` it gives ``U S^power``.
        """
        if not np.isfinite(power):
            raise InputError(f"power = {power}, but it must be a finite number: 1 changes nothing, 0 is flat.")
        values, columns = self._values()
        squares = np.bincount(columns, values.astype(np.float64) ** 2, minlength=self.n_dimensions)
        size = np.sqrt(squares)
        factor = np.power(size, power - 1, out=np.zeros_like(size), where=size > 0)
        if isinstance(self.matrix, np.ndarray):
            return Vectors(self.words, self.matrix * factor, forest=self.forest)
        parts = (values * factor[columns], columns, self.matrix.indptr)
        return Vectors(self.words, sparse.csr_array(parts, shape=self.matrix.shape), forest=self.forest)

    def _values(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the stored values and the dimension of each."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix.ravel(), np.tile(np.arange(self.n_dimensions), len(self))
        return self.matrix.data, self.matrix.indices

    def _nearest(self, vector: NDArray[Any], excluded: Sequence[int], k: int) -> Neighbors:
        size = np.linalg.norm(vector.astype(np.float64))
        query = (vector / size).astype(np.float32) if size > 0 else np.zeros(len(vector), np.float32)
        # einsum, not BLAS: equal rows get equal scores wherever they stand, with any number of threads
        score = np.einsum("ij,j->i", self.unit, query)  # (V,)
        rows = np.delete(np.arange(len(self)), excluded)
        return self._named(_largest(score, rows, k), score)

    def _named(self, rows: NDArray[np.intp], value: NDArray[Any]) -> Neighbors:
        return [(self.words[row], float(value[row])) for row in rows]

    def uses(self) -> NDArray[np.int64]:
        """Return how many words use each dimension, shape (M,): those whose value is not exactly zero."""
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(np.count_nonzero(self.matrix, axis=0), dtype=np.int64)
        return np.bincount(self.matrix.indices, minlength=self.n_dimensions).astype(np.int64)

    def _share(self, used: NDArray[np.int64]) -> float:
        values = len(used) * len(self)
        return float(used.sum() / values) if values else 0.0


def forest_of(vectors: Vectors) -> Forest:
    """Return the forest of vectors; without one every dimension is a tree."""
    return vectors.forest or Forest.flat(vectors.n_dimensions)


def is_marker(word: str) -> bool:
    """Say whether a row stands for no word of its own, such as ``#rare#`` and ``#number#``."""
    return len(word) > 2 and word.startswith("#") and word.endswith("#")


def first_non_finite_row(matrix: Any) -> int | None:
    """Return the first row of an ndarray or CSR matrix that holds NaN or infinity, or None."""
    if isinstance(matrix, np.ndarray):
        bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
        return int(bad[0]) if len(bad) else None
    entries = np.flatnonzero(~np.isfinite(matrix.data))
    return int(np.searchsorted(matrix.indptr, entries[0], side="right")) - 1 if len(entries) else None


def _close_spellings(word: str, words: Sequence[str]) -> list[str]:
    """Return up to three words spelled like ``word``, closest first and of equals the first rows."""
    near = difflib.get_close_matches(word, words, n=100)
    closeness = {w: difflib.SequenceMatcher(None, w, word).ratio() for w in near}
    return sorted(near, key=lambda w: (-closeness[w], words.index(w)))[:3]


def _largest(score: NDArray[Any], rows: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """Return those k of ``rows`` (ascending) with the largest score, largest first, ties in row order."""
    if k < 1:
        raise InputError(f"k = {k}, but at least one word must be asked for.")
    if k < len(rows):
        chosen = score[rows]
        kth = chosen[np.argpartition(-chosen, k - 1)[k - 1]]
        rows = rows[chosen >= kth]  # all that tie with the k-th, so that row order can decide
    return rows[np.argsort(-score[rows], kind="stable")][:k]


def _rows_by_word(words: tuple[str, ...]) -> dict[str, int]:
    rows: dict[str, int] = {}
    for row, word in enumerate(words):
        first = rows.setdefault(word, row)
        if first != row:
            raise InputError(f"the word {word!r} stands in rows {first} and {row}. Keep one of them.")
    return rows


def _protected(matrix: Any) -> Dense:
    given = np.asarray(matrix)
    if given.ndim != 2:
        raise InputError(f"expected a matrix (words, dimensions), but an array of shape {given.shape} came.")
    with np.errstate(over="ignore"):  # too large for float32: reported with its word
        return _frozen(given.astype(np.float32, copy=_is_writable(given)))


def _protected_csr(matrix: Any) -> CSR:
    with np.errstate(over="ignore"):
        csr: CSR = sparse.csr_array(matrix, dtype=np.float32)
    if csr.ndim != 2:
        raise InputError(f"expected a matrix (words, dimensions), but one of shape {csr.shape} came.")
    parts = (csr.data, csr.indices, csr.indptr)
    if any(map(_is_writable, parts)) or not csr.has_canonical_format or not csr.data.all():
        csr = csr.copy()
        csr.sum_duplicates()
        csr.eliminate_zeros()
    for part in (csr.data, csr.indices, csr.indptr):
        part.setflags(write=False)
    return csr


def _is_writable(array: NDArray[Any]) -> bool:
    base: object = array
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return True
        base = base.base
    return False


def _dense_row(matrix: Dense | CSR, row: int) -> Dense:
    if isinstance(matrix, np.ndarray):
        view: Dense = matrix[row]
        return view
    vector = np.zeros(matrix.shape[1], np.float32)
    stored = slice(matrix.indptr[row], matrix.indptr[row + 1])
    vector[matrix.indices[stored]] = matrix.data[stored]
    return _frozen(vector)


def _frozen(array: Dense) -> Dense:
    array.setflags(write=False)
    return array

"""Words and their vectors, read-only: lookup, similarity, nearest words, analogies, sparsity, and how nodes read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from numbers import Real
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.vectors.matrices import CSR, Dense, dense_row, dense_rows, first_non_finite_row, frozen, protected
from wordforest.vectors.notes import NodeNote, as_notes
from wordforest.vectors.spelling import UnknownWordError, WordIndex

if TYPE_CHECKING:
    from wordforest.reading import Node, NodeLabels, WordPath

_ROWS = 4096  # of a dense matrix that are squared at a time
Neighbors: TypeAlias = list[tuple[str, float]]
Query: TypeAlias = "str | NDArray[Any] | Iterable[Any]"  # a word, a vector, or several, perhaps in pairs with a weight

_ROUNDING = 1e-4  # of a parent's value: what sums of its children in few digits may be off
_LEAST_USE = 1e-6  # a node that no word uses has no say


class Vectors:
    """V words and their vectors, a row each: ``matrix`` (V, M), dense or any SciPy sparse matrix.

    ``nodes`` has what is known of every dimension, (M,) each: ``use``, the share of words that used a node of an
    additive forest when it was learned, makes cosines those of ``comparable``; ``stability`` is shown beside labels.

    Kept as write-protected float32, as an ndarray or as CSR without stored zeros. The caller's arrays are left alone;
    they are shared, not copied, where they are protected float32 already. ``labels`` are names that somebody gave to
    nodes, or all that they noted of them; names go before the words that a node is named by else.

    The examples of the methods go on from this one.

    Examples:
        >>> import wordforest as wf
        >>> words = ["sport", "tennis", "football", "music", "guitar"]
        >>> A = [
        ...     [4, 1, 1, 0, 0],
        ...     [2, 3, 0, 0, 0],
        ...     [2, 0, 3, 0, 0],
        ...     [0, 0, 0, 4, 1],
        ...     [0, 0, 0, 1, 3],
        ... ]
        >>> vectors = wf.Vectors(words, A, forest=wf.Forest([-1, 0, 0, -1, 3]))
        >>> vectors
        Vectors(5 words, 5 dimensions, forest=Forest(5 nodes, 2 trees, depth 2))
        >>> vectors["tennis"]
        array([2., 3., 0., 0., 0.], dtype=float32)
        >>> "piano" in vectors
        False
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
        self.lookup = WordIndex(words)
        self.matrix: Dense | CSR = protected(matrix)
        self.forest = forest
        self.notes = as_notes(labels or {})
        self.nodes = {name: np.asarray(values, dtype=np.float64) for name, values in (nodes or {}).items()}
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

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.words, self.matrix, self.forest, self.notes, self.nodes)

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return self.lookup.find(word) is not None

    def __getitem__(self, words: str | Iterable[str]) -> Dense:
        """Return the vector of a word, shape (M,), or those of several, (n, M), read-only."""
        if isinstance(words, str) or not isinstance(words, Iterable):
            return dense_row(self.matrix, self.index(words))
        return dense_rows(self.matrix, self.lookup.rows(words))

    def __repr__(self) -> str:
        return f"Vectors({len(self)} words, {self.n_dimensions} dimensions, forest={self.forest!r})"

    def _repr_html_(self) -> str:
        return self.to_html()

    @property
    def words(self) -> tuple[str, ...]:
        """All words, in the order of the rows; those of a run stand from frequent to rare.

        Examples:
            >>> vectors.words[:2]
            ('sport', 'tennis')
        """
        return self.lookup.words

    index_to_key = words  # gensim's name

    @property
    def key_to_index(self) -> Mapping[str, int]:
        """The row of every word, as it is written; ``index`` also finds other spellings.

        Examples:
            >>> vectors.key_to_index["tennis"]
            1
        """
        return MappingProxyType(self.lookup.exact)

    @property
    def n_dimensions(self) -> int:
        """M, the length of a vector.

        Examples:
            >>> vectors.n_dimensions
            5
        """
        return int(self.matrix.shape[1])

    vector_size = n_dimensions  # gensim's name

    @property
    def given_labels(self) -> dict[int, str]:
        """Names that somebody gave to nodes, by the number of the node.

        Examples:
            >>> wf.Vectors(["sea"], [[1, 0]], labels={0: "water"}).given_labels
            {0: 'water'}
        """
        return {node: note.name for node, note in self.notes.items() if note.name}

    @property
    def hidden(self) -> NDArray[np.bool_]:
        """Nodes that somebody hid, and all below them, (M,): left out where a forest is read, never from numbers.

        Examples:
            >>> vectors.hidden.tolist()
            [False, False, False, False, False]
        """
        forest, found = forest_of(self), np.zeros(self.n_dimensions, dtype=np.bool_)
        for node, note in self.notes.items():
            found[node : forest.end[node]] |= note.hidden
        return found

    def index(self, word: str) -> int:
        """Return the row of a word; what is not there as it is written is read as text is (``WordIndex``).

        Examples:
            >>> vectors.index("Tennis")
            1
        """
        row = self.lookup.find(word)
        if row is None:
            raise UnknownWordError([word], self.lookup)
        return row

    @cached_property
    def dense(self) -> Dense:
        """All vectors as one read-only array, shape (V, M).

        Examples:
            >>> vectors.dense.shape
            (5, 5)
        """
        return self.matrix if isinstance(self.matrix, np.ndarray) else frozen(self.matrix.toarray())

    @property
    def vectors(self) -> Dense:
        """``dense``, by gensim's name.

        Examples:
            >>> vectors.vectors is vectors.dense
            True
        """
        return self.dense

    def first(self, n: int) -> Vectors:
        """Return the first n words, with all that is known of the dimensions.

        Examples:
            >>> vectors.first(2).words
            ('sport', 'tennis')
        """
        return Vectors(self.words[:n], self.matrix[:n], forest=self.forest, labels=self.notes, nodes=self.nodes)

    @cached_property
    def comparable(self) -> Vectors:
        """These vectors, or where nodes have a ``use``: ``sqrt(a_j log(1 / use_j))``, whose cosines say more.

        In an additive forest a root is used by many words, and strongly; roots and logarithms give leaves their say.

        Examples:
            >>> known = wf.Vectors(["sea", "ship"], [[4, 0], [4, 1]], nodes={"use": [1, 0.5]})
            >>> known.comparable["ship"].round(2)
            array([0.  , 0.83], dtype=float32)
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
        """``sqrt(log(1 / use))`` of every node, (M,), where its use is known.

        Examples:
            >>> known = wf.Vectors(["sea", "ship"], [[4, 0], [4, 1]], nodes={"use": [1, 0.5]})
            >>> known.weights.round(2)
            array([0.  , 0.83])
        """
        use = self.nodes.get("use")
        return None if use is None else np.asarray(np.sqrt(np.log(1 / np.clip(use, _LEAST_USE, 1.0))))

    @cached_property
    def unit(self) -> Dense:
        """All ``comparable`` vectors divided by their norm, ``a / |a|``, read-only, shape (V, M); zero rows stay zero.

        Examples:
            >>> vectors.unit[1].round(2)
            array([0.55, 0.83, 0.  , 0.  , 0.  ], dtype=float32)
        """
        dense = self.comparable.dense
        size = np.sqrt(np.einsum("ij,ij->i", dense, dense, dtype=np.float64))[:, None]
        unit = np.zeros(dense.shape, np.float32)
        return frozen(np.divide(dense, size, out=unit, where=size > 0, casting="same_kind"))

    @cached_property
    def own(self) -> Dense | CSR:
        """What each word has at each node itself, shape (V, M): ``matrix``, but less in an additive forest.

        There no value is below zero and a parent has at least what its children have together; its own part is what
        it has more.

        Examples:
            >>> tree = wf.Vectors(["sport", "tennis"], [[3, 1], [2, 2]], forest=wf.Forest([-1, 0]))
            >>> tree.own  # less what the child has
            array([[2., 1.],
                   [0., 2.]], dtype=float32)
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
        return protected(own)

    def own_row(self, word: str) -> Dense:
        """Return what a word has at each node itself, shape (M,), read-only.

        Examples:
            >>> vectors.own_row("tennis")
            array([2., 3., 0., 0., 0.], dtype=float32)
        """
        return dense_row(self.own, self.index(word))

    @cached_property
    def labels(self) -> NodeLabels:
        """A few words that name each node, best first; or the name that somebody gave to it.

        Examples:
            >>> vectors.labels[3]
            ('music', 'guitar')
            >>> print(vectors.labels)
            0 sport tennis football
              1 tennis sport
              2 football sport
            3 music guitar
              4 guitar music
        """
        from wordforest.reading import label_nodes

        return label_nodes(self)

    def path(self, word: str) -> WordPath:
        """Return the way of a word through the trees that it uses, strongest first; printed, it is an outline.

        Examples:
            >>> print(vectors.path("guitar"))
            guitar
              tree 1, 100.0%
                3 music guitar    100.0%  +1
                  4 guitar music   75.0%  +3
        """
        from wordforest.reading import word_path

        return word_path(self, word, labels=self.labels)

    def node(self, node: int, k: int = 10) -> Node:
        """Return a node with its label, its place in the forest and its k strongest words; printed, a few lines.

        Examples:
            >>> print(vectors.node(1))
            1 tennis sport
              depth 1, used by 2 words (40.0%)
              above: 0 sport tennis football
              words: tennis 3, sport 1
        """
        from wordforest.reading import read_node

        return read_node(self, node, k=k, labels=self.labels)

    def get_vector(self, word: str, norm: bool = False) -> Dense:
        """Return the vector of a word, (M,), read-only; with ``norm`` the ``comparable`` one, of length 1.

        Examples:
            >>> vectors.get_vector("guitar", norm=True).round(2)
            array([0.  , 0.  , 0.  , 0.32, 0.95], dtype=float32)
        """
        row: Dense = self.unit[self.index(word)] if norm else self[word]
        return row

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of two words, ``a . b / (|a| |b|)`` of ``comparable`` vectors; 0 where one of them is zero.

        Examples:
            >>> round(vectors.similarity("sport", "tennis"), 2)
            0.72
        """
        return _cosine(*self.comparable[[a, b]])

    def n_similarity(self, a: Query, b: Query) -> float:
        """Return the cosine of the sums of the ``comparable`` vectors of two sets of words.

        Examples:
            >>> round(vectors.n_similarity(["sport", "tennis"], ["football"]), 2)
            0.57
        """
        return _cosine(*(self._sum(_weighted(words, 1.0), self.comparable.matrix)[0] for words in (a, b)))

    def most_similar(self, positive: Query | None = (), negative: Query | None = (), topn: int = 10) -> Neighbors:
        """Return the words of largest cosine with a word or vector (M,), or with several added up.

        Both take a word, a vector, a list of them, or pairs with a weight, else 1 and -1. Words count with length 1,
        vectors as they are; all are ``comparable`` first. Words that were asked for are left out. Equal scores keep the
        order of the rows. Everything is equally far (0) from a zero vector.

        Examples:
            >>> [word for word, cosine in vectors.most_similar("tennis", topn=2)]
            ['sport', 'football']
            >>> rows = [[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 1]]
            >>> royal = wf.Vectors(["man", "king", "woman", "queen"], rows)
            >>> royal.most_similar(positive=["king", "woman"], negative=["man"], topn=1)[0][0]
            'queen'
        """
        terms = [*_weighted(positive, 1.0), *_weighted(negative, -1.0)]
        vector, rows = self._sum(terms, self.unit)
        return self._nearest(vector, rows, topn)

    def similar_by_word(self, word: str, topn: int = 10) -> Neighbors:
        """Return ``most_similar`` of a word.

        Examples:
            >>> vectors.similar_by_word("guitar", topn=1)[0][0]
            'music'
        """
        return self.most_similar(word, topn=topn)

    def similar_by_vector(self, vector: Any, topn: int = 10) -> Neighbors:
        """Return ``most_similar`` of a vector, (M,).

        Examples:
            >>> vectors.similar_by_vector([0, 0, 0, 0, 1], topn=1)[0][0]
            'guitar'
        """
        return self.most_similar([vector], topn=topn)

    def analogy(self, a: str, b: str, c: str, topn: int = 10) -> Neighbors:
        """Return the words d for which a is to b as c is to d: nearest to ``b - a + c`` in unit vectors.

        Examples:
            >>> rows = [[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 1]]
            >>> royal = wf.Vectors(["man", "king", "woman", "queen"], rows)
            >>> royal.analogy("man", "king", "woman", topn=1)[0][0]
            'queen'
        """
        return self.most_similar([b, c], [a], topn)

    def doesnt_match(self, words: Iterable[str]) -> str:
        """Return the word that is farthest from the mean of all, each of length 1; of equals the first.

        Examples:
            >>> vectors.doesnt_match(["tennis", "football", "guitar"])
            'guitar'
        """
        listed = words.split() if isinstance(words, str) else list(words)
        unit = self.unit[self.lookup.rows(listed)].astype(np.float64)
        if not listed:
            raise InputError("no words came, but one of them should be named. Give some.")
        return listed[int(np.argmin(np.einsum("ij,j->i", unit, unit.mean(axis=0))))]

    def rank(self, a: str, b: str) -> int:
        """Return the place of b among the words nearest to a: 1 if no other is nearer.

        Examples:
            >>> vectors.rank("music", "guitar")
            1
        """
        i, j = self.lookup.rows([a, b])
        score = self._scores(self.unit[i])
        return 1 + int(np.count_nonzero(np.delete(score, i) > score[j]))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the vectors in the format that the name asks for, see ``wordforest.write_vectors``.

        Examples:
            >>> vectors.save("vectors.npz")
        """
        from wordforest.store import write_vectors

        write_vectors(path, self)

    @staticmethod
    def load(path: str | PathLike[str]) -> Vectors:
        """Read vectors of any format, see ``wordforest.read_vectors``.

        Examples:
            >>> vectors.save("vectors.npz")
            >>> wf.Vectors.load("vectors.npz").similarity("tennis", "tennis")
            1.0
        """
        from wordforest.store import read_vectors

        return read_vectors(path)

    def to_html(self, title: str = "Vectors") -> str:
        """Return size and forest as notebooks show them: trees that fold.

        Examples:
            >>> "<details" in vectors.to_html()
            True
        """
        from wordforest.reading.html import vectors_as_html

        return vectors_as_html(self, title)

    def to_frame(self) -> Any:
        """Return a DataFrame of pandas, (V, M): words by nodes, with columns named as in ``reading.feature_names``.

        Examples:
            >>> vectors.to_frame().loc["tennis"].astype(int).to_dict()  # needs: pandas
            {'0.sport': 2, '0.sport.tennis': 3, '0.sport.football': 0, '1.music': 0, '1.music.guitar': 0}
        """
        from wordforest.reading import as_frame

        return as_frame(self)

    @cached_property
    def has_negatives(self) -> bool:
        """Whether any value is below zero.

        Examples:
            >>> vectors.has_negatives
            False
        """
        values = self.matrix if isinstance(self.matrix, np.ndarray) else self.matrix.data
        return bool((values < 0).any())

    def density(self) -> float:
        """Return the share of values that are not exactly zero; 0 where there are no values.

        Examples:
            >>> vectors.density()
            0.44
        """
        return self._share(self.uses())

    def density_by_depth(self) -> list[float]:
        """Return the density of the dimensions at each depth of the forest, roots first.

        Examples:
            >>> [round(share, 2) for share in vectors.density_by_depth()]
            [0.5, 0.4]
        """
        used = self.uses()
        if self.forest is None:
            return [self._share(used)]
        depth = self.forest.depth
        return [self._share(used[depth == d]) for d in range(int(depth.max()) + 1)]

    def top_words(self, node: int, k: int = 10) -> tuple[Neighbors, Neighbors]:
        """Return the k words of largest positive and the k of most negative value in a dimension.

        Examples:
            >>> vectors.top_words(0, k=2)
            ([('sport', 4.0), ('tennis', 2.0)], [])
        """
        self.check_node(node)
        check_k(k)
        column = self._column(node)
        high, low = np.flatnonzero(column > 0), np.flatnonzero(column < 0)
        best, worst = high[largest(column[high], k)], low[largest(-column[low], k)]
        return self._named(best, column), self._named(worst, column)

    def _column(self, node: int) -> Dense:
        """Return the values of a dimension, (V,)."""
        matrix = self.matrix if isinstance(self.matrix, np.ndarray) else self._by_dimension
        return dense_row(matrix.T, node)

    @cached_property
    def _by_dimension(self) -> Any:
        """The stored values of a sparse matrix, dimension by dimension: to ask for one must not fill in all zeros."""
        return sparse.csc_array(self.matrix)

    def check_node(self, node: int) -> None:
        """Raise InputError for a dimension that there is not.

        Examples:
            >>> vectors.check_node(5)
            Traceback (most recent call last):
                ...
            wordforest.errors.InputError: node 5 does not exist: choose one from 0 to 4.
        """
        if not 0 <= node < self.n_dimensions:
            raise InputError(f"node {node} does not exist: choose one from 0 to {self.n_dimensions - 1}.")

    def scaled(self, power: float) -> Vectors:
        """Return vectors whose dimensions have their norms s raised to a power, ``a_j s_j^(power - 1)``; zeros stay.

        1 changes nothing, 0 makes all dimensions equally strong: for a PCA ``U S`` it gives ``U S^power``.

        Examples:
            >>> vectors.scaled(0)["guitar"].round(2)
            array([0.  , 0.  , 0.  , 0.24, 0.95], dtype=float32)
        """
        if not np.isfinite(power):
            raise InputError(f"power = {power}, but it must be a finite number: 1 changes nothing, 0 is flat.")
        size = np.sqrt(self._squares())
        factor = np.power(size, power - 1, out=np.zeros_like(size), where=size > 0)
        if isinstance(self.matrix, np.ndarray):
            scaled = np.multiply(self.matrix, factor, out=np.empty_like(self.matrix), casting="same_kind")
            return Vectors(self.words, scaled, forest=self.forest)
        parts = (self.matrix.data * factor[self.matrix.indices], self.matrix.indices, self.matrix.indptr)
        return Vectors(self.words, sparse.csr_array(parts, shape=self.matrix.shape), forest=self.forest)

    def _squares(self) -> NDArray[np.float64]:
        """Return the squared norm of every dimension, (M,), summed word by word."""
        if not isinstance(self.matrix, np.ndarray):
            squares: NDArray[np.float64] = self.matrix.data.astype(np.float64) ** 2
            return np.bincount(self.matrix.indices, weights=squares, minlength=self.n_dimensions).astype(np.float64)
        total = np.zeros(self.n_dimensions)
        for first in range(0, len(self), _ROWS):
            part = np.square(self.matrix[first : first + _ROWS], dtype=np.float64)
            part[:1] += total
            total = part.sum(axis=0)
        return total

    def _sum(self, terms: Sequence[tuple[Any, float]], of: Dense | CSR) -> tuple[NDArray[np.float64], list[int]]:
        """Return rows ``of`` a matrix for words, and vectors, added up by weight, (M,), and the rows of the words."""
        if not terms:
            raise InputError("expected a word or a vector, but none came. Give one, as in most_similar('king').")
        rows = self.lookup.rows(item for item, _ in terms if isinstance(item, str))
        parts = iter(dense_rows(of, rows))
        total = np.zeros(self.n_dimensions)
        for item, weight in terms:
            total += weight * (next(parts) if isinstance(item, str) else self._checked(item))
        return total, rows

    def _checked(self, given: Any) -> NDArray[np.float64]:
        """Return a vector of this space as ``comparable`` has it."""
        vector = np.asarray(given, dtype=np.float64)
        if vector.shape != (self.n_dimensions,) or not np.isfinite(vector).all():
            raise InputError(
                f"expected a word or a finite vector of shape ({self.n_dimensions},), "
                f"but a vector of shape {vector.shape} came. Pass one row of these vectors' space."
            )
        return vector if self.weights is None else np.sqrt(np.maximum(vector, 0)) * self.weights

    def _nearest(self, vector: NDArray[Any], excluded: Sequence[int], topn: int) -> Neighbors:
        check_k(topn, "topn")
        score = self._scores(vector)
        rows = np.delete(np.arange(len(self)), excluded)
        return self._named(rows[largest(score[rows], topn)], score)

    def _scores(self, vector: NDArray[Any]) -> Dense:
        """Return the cosine of every word with a vector that is ``comparable``, (V,)."""
        size = np.linalg.norm(vector.astype(np.float64))
        query = (vector / size).astype(np.float32) if size > 0 else np.zeros(len(vector), np.float32)
        # einsum, not BLAS: equal rows get equal scores wherever they stand, with any number of threads
        return np.asarray(np.einsum("ij,j->i", self.unit, query))

    def _named(self, rows: NDArray[np.intp], value: NDArray[Any]) -> Neighbors:
        return [(self.words[row], float(value[row])) for row in rows]

    def uses(self) -> NDArray[np.int64]:
        """Return how many words use each dimension, shape (M,): those whose value is not exactly zero.

        Examples:
            >>> vectors.uses().tolist()
            [3, 2, 2, 2, 2]
        """
        if isinstance(self.matrix, np.ndarray):
            return np.asarray(np.count_nonzero(self.matrix, axis=0), dtype=np.int64)
        return np.bincount(self.matrix.indices, minlength=self.n_dimensions).astype(np.int64)

    def _share(self, used: NDArray[np.int64]) -> float:
        values = len(used) * len(self)
        return float(used.sum() / values) if values else 0.0


def forest_of(vectors: Vectors) -> Forest:
    """Return the forest of vectors; without one every dimension is a tree."""
    return vectors.forest or Forest.flat(vectors.n_dimensions)


def largest(score: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Return the places of the k largest scores, largest first, of equals the first."""
    chosen = np.arange(len(score))
    if k < len(score):
        kth = np.partition(score, len(score) - k)[len(score) - k]
        chosen = np.flatnonzero(score >= kth)  # all that tie with the k-th, so that the order can decide
    return chosen[np.argsort(-score[chosen], kind="stable")][:k]


def check_k(k: int, name: str = "k") -> None:
    """Refuse to look for fewer than one word."""
    if k < 1:
        raise InputError(f"{name} = {k}, but at least one word must be asked for.")


def _weighted(asked: Any, weight: float) -> list[tuple[Any, float]]:
    """Return words and vectors with their weights; gensim's None is nothing."""
    if asked is None:
        return []
    if not isinstance(asked, Iterable):
        raise InputError(f"expected a word, a vector, or several of them, but {asked!r:.80} came.")
    items: list[Any] = [asked] if isinstance(asked, str) or _is_pair(asked) else list(asked)
    if items and isinstance(items[0], Real):
        items = [items]  # the numbers of one vector
    return [item if _is_pair(item) else (item, weight) for item in items]


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Real) and not isinstance(item[0], Real)


def _cosine(a: NDArray[Any], b: NDArray[Any]) -> float:
    u, v = a.astype(np.float64), b.astype(np.float64)
    size = np.sqrt(u @ u) * np.sqrt(v @ v)
    return float(np.clip(u @ v / size, -1.0, 1.0)) if size > 0 else 0.0


def _restored(words: Any, matrix: Any, forest: Forest | None, labels: Any, nodes: Any) -> Vectors:
    return Vectors(words, matrix, forest=forest, labels=labels, nodes=nodes)

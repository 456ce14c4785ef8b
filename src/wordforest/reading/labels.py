"""A few words for each node that tell it from its parent and its siblings."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.reading.columns import Columns, Rows
from wordforest.vectors import Neighbors, Vectors, check_k, is_marker, largest

Label: TypeAlias = tuple[str, ...]
Labels: TypeAlias = Sequence[Label]
"""A label for each of the M nodes: some words, best first."""

# Characters that would break a line or turn its reading direction: controls, separators, bidi marks that open or
# close a run, lone surrogates. Joiners stay: many scripts and emoji need them.
_BREAKING = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_COMMON = 500  # ranks of function words and the most general ones: among them frequency says little
_TAKEN = 6  # words that a node takes from those below, asked for or not: short labels are the start of longer ones
_ENOUGH = 3  # good words, from which on a label needs no others
_LETTERS = 3  # of a good word, where the script has capitals: two are mostly initials and marks
_AT_HOME = 0.4  # share of a good word in its strongest tree, over that of the median word
# English only; other languages have --stop-words.
_GRAMMAR = (
    "a an the this that these those each every either neither some any all both no such another other one",
    "i me my myself we us our ourselves you your yourself he him his himself she her hers herself it its itself",
    "they them their theirs themselves who whom whose which what",
    "of in to for on with at by from as into about between through over after under against during without before",
    "among within upon per via than toward towards",
    "and or but nor so yet if because although though while whereas unless until since when where why how whether",
    "is am are was were be been being do does did has have had having can could may might must shall should will would",
    "not also then there here only just very too even more most much many however therefore thus etc",
)
_FUNCTION_WORDS = frozenset(word for line in _GRAMMAR for word in line.split())


class NodeLabels(list[Label]):
    """The label of every node, M tuples of words, by its number; an outline of the forest when printed.

    Examples:
        >>> import wordforest as wf
        >>> forest = wf.Forest([-1, 0, -1])
        >>> labels = wf.reading.NodeLabels([("sport", "ball"), ("tennis",), ("music",)], forest)
        >>> labels[0]
        ('sport', 'ball')
        >>> print(labels)
        0 sport ball
          1 tennis
        2 music
    """

    def __init__(self, labels: Iterable[Label], forest: Forest) -> None:
        super().__init__(labels)
        self.forest = forest

    def __repr__(self) -> str:
        first = ", ".join(f"{node} {' '.join(label)!r}" for node, label in enumerate(self[:2]))
        return f"NodeLabels({len(self)} nodes in {len(self.forest.roots)} trees: {first}, ...)"

    def __str__(self) -> str:
        depths = self.forest.depth.tolist()
        return "\n".join(f"{'  ' * depths[i]}{i} {label_text(label)}" for i, label in enumerate(self))

    def _repr_html_(self) -> str:
        from wordforest.reading.html import forest_as_html

        return forest_as_html("Labels", f"{len(self)} nodes", self.forest, list(map(label_text, self)))


class _Scored(NamedTuple):
    node: int
    rows: Rows  # (n,), ascending: the words on the node's side
    score: NDArray[np.float32]  # (n,)


def label_nodes(vectors: Vectors, k: int = 5, *, rarity: float = 2.0, stop_words: Collection[str] = ()) -> NodeLabels:
    """Return up to k words for every node, best first; none for a node that no word uses.

    With z what words have at nodes themselves (``Vectors.own``), word v at rank r_v scores at a node i that it uses

        s_vi = b_vi  *  b_vi / b_v  *  cos(p_vi, p_i)  /  log2(r_v + 500)^rarity

    - ``b_vi`` is the sum of |z_vj| over the node and all below it, in an additive forest a_vi: how much of the node
      the word has. ``b_v`` is the sum over all nodes, so that the second factor is the share of the word that lies
      here: words at home in another tree or in a sibling lose.
    - ``p_vi`` lists what the word has at the node itself and in the branch of each child, ``p_i`` is the mean of that
      over the words that use the node, weighed by their shares. So a parent is named by what its children have in
      common (music songs band), not by the words of one child. At a leaf the factor is 1.
    - ``log2(r_v + 500)`` is about the information of the word in bits (Zipf, flat among the first few hundred ranks,
      so that function words gain nothing): everyday words make better labels. Rows are expected in order of
      frequency; ``rarity=0`` ignores their order.

    Then, from the roots down, a node takes its best words, but none that a node above it takes (six or k) or that
    scores higher at a sibling. Good words come first: of letters only, three or more where the script has capitals
    (two are mostly initials), and with a home: words of many uses have less than 0.4 of the median word's share in
    their strongest tree. Only where fewer than three are good, other words of letters follow, then any. Words of
    English grammar stand only in labels of which they would be more than half. A node left without words takes
    its best ones though they stand elsewhere; ``stop_words``, in any case, and markers such as ``#rare#`` stand only
    where nothing else uses the node. A signed dimension is labelled by its positive side, and by the negative one where
    nothing is positive. Scores are compared in float32, equal ones in row order.

    A name that somebody gave to a node (``Vectors.given_labels``) is its label, and the words it would have had are
    still not repeated below it.

    Examples:
        >>> import wordforest as wf
        >>> A = [[4, 1, 1], [2, 3, 0], [2, 0, 3]]
        >>> vectors = wf.Vectors(["sport", "tennis", "football"], A, forest=wf.Forest([-1, 0, 0]))
        >>> print(wf.reading.label_nodes(vectors, k=1))
        0 sport
          1 tennis
          2 football
    """
    check_k(k)
    if not (np.isfinite(rarity) and rarity >= 0):
        raise InputError(f"rarity = {rarity}, but it must be a finite number of at least 0, such as 2; 0 ignores rank.")
    columns = Columns(vectors)
    bits = np.log2(np.arange(len(vectors)) + _COMMON) ** rarity  # (V,)
    quality = _quality(columns, stop_words)
    grammar = np.array([is_grammar(word) for word in vectors.words], dtype=bool)
    chosen: list[list[int]] = [[] for _ in range(len(columns.forest))]
    taken = max(k, _TAKEN)
    for parent in range(-1, len(columns.forest)):
        family = [_scored(columns, node, bits) for node in columns.forest.children(parent)]
        best = _best_of(family, len(vectors))
        for node in family:
            fresh = ~np.isin(node.rows, _words_above(columns, chosen, node.node)) & (node.score >= best[node.rows])
            chosen[node.node] = _choose(node, fresh, quality[node.rows], grammar[node.rows], taken)
    found = [tuple(vectors.words[row] for row in rows[:k]) for rows in chosen]
    given = {node: (name,) for node, name in vectors.given_labels.items()}
    return NodeLabels((given.get(i, label) for i, label in enumerate(found)), columns.forest)


def node_words(vectors: Vectors, node: int, k: int = 20) -> Neighbors:
    """Return the k words that say most of a node, with their scores: s_vi of ``label_nodes``, however rare they are.

    Markers such as ``#rare#`` are no words.

    Examples:
        >>> import wordforest as wf
        >>> A = [[4, 1, 1], [2, 3, 0], [2, 0, 3]]
        >>> vectors = wf.Vectors(["sport", "tennis", "football"], A, forest=wf.Forest([-1, 0, 0]))
        >>> [word for word, score in wf.reading.node_words(vectors, 1)]
        ['tennis', 'sport']
    """
    check_k(k)
    vectors.check_node(node)
    rows, score = _scored(Columns(vectors), node, np.ones(len(vectors)))[1:]
    score = np.where([is_marker(vectors.words[row]) for row in rows], 0, score)
    return [(vectors.words[rows[i]], float(score[i])) for i in largest(score, k) if score[i] > 0]


def is_grammar(word: str) -> bool:
    """Say whether a word is one of English grammar, such as *the*."""
    return word.casefold() in _FUNCTION_WORDS


def given_or_made(vectors: Vectors, labels: Labels | None, k: int) -> list[Label]:
    """Return the first k words of the labels that came, after a check of their number, or labels made here."""
    check_k(k)
    if labels is None:
        return label_nodes(vectors, k)
    if len(labels) != vectors.n_dimensions:
        raise InputError(
            f"expected a label for each of {vectors.n_dimensions} nodes, but {len(labels)} came. "
            "Give what label_nodes returns for these vectors."
        )
    return [tuple(label)[:k] for label in labels]


def label_text(label: Label) -> str:
    """Return the words of a label on one line."""
    return " ".join(map(one_line, label)) or "(no words)"


def one_line(text: str) -> str:
    r"""Return the text with control characters and the like written as escapes, so that a line stays a line.

    Examples:
        >>> import wordforest as wf
        >>> wf.reading.one_line("two\nlines")
        'two\\nlines'
    """
    return _BREAKING.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _scored(columns: Columns, node: int, bits: NDArray[np.float64]) -> _Scored:
    rows, values = columns.used(node)
    side = 1 if (values > 0).any() else -1
    rows = rows[side * values > 0]
    group = columns.group(node, rows)  # (g, n)
    strength = np.abs(group).sum(axis=0)  # (n,)
    share = strength / columns.strength[rows]
    branches = np.array([node, *columns.forest.children(node)]) - node
    profiles = np.add.reduceat(group, branches, axis=0)  # (1 + children, n): the node itself, and each branch
    # einsum, not BLAS: equal words get equal scores wherever they stand, with any number of threads
    profile = np.einsum("n,cn->c", share, profiles)
    sizes = np.sqrt(np.einsum("cn,cn->n", profiles, profiles) * (profile @ profile))
    typical = np.einsum("c,cn->n", profile, profiles) / np.where(sizes > 0, sizes, 1.0)
    return _Scored(node, rows, (strength * share * typical / bits[rows]).astype(np.float32))


def _quality(columns: Columns, stop_words: Iterable[str]) -> NDArray[np.int8]:
    """Return how well each word would do in a label, (V,): 3 good, 2 of letters, 1 a word, 0 a stop word or marker."""
    home = _largest_share(columns)
    at_home = home >= _AT_HOME * np.median(home[home > 0]) if home.any() else home > 0
    if isinstance(stop_words, str):
        raise InputError(f"stop_words = {stop_words!r}, but they must be a list of words.")
    stopped = {word.casefold() for word in stop_words}
    quality = np.ones(len(columns.words), dtype=np.int8)
    for row, word in enumerate(columns.words):
        if is_marker(word) or word.casefold() in stopped:
            quality[row] = 0
        elif _is_lettered(word):
            is_long = len(word) >= _LETTERS or word.upper() == word.lower()
            quality[row] = 3 if is_long and at_home[row] else 2
    return quality


def _largest_share(columns: Columns) -> NDArray[np.float64]:
    """Return the share of every word that lies in its strongest tree, (V,)."""
    strongest, tree = np.zeros((2, len(columns.words)))
    for root in columns.forest.roots.tolist():
        tree[:] = 0
        for node in range(root, int(columns.forest.end[root])):
            rows, own = columns.own(node)
            tree[rows] += np.abs(own)
        np.maximum(strongest, tree, out=strongest)
    return np.asarray(np.divide(strongest, columns.strength, out=strongest, where=columns.strength > 0))


def _is_lettered(word: str) -> bool:
    """Return whether a word is made of letters and their marks, hyphens and apostrophes inside allowed."""
    letters = word.replace("'", "").replace("’", "").replace("-", "")
    return letters.isalpha() or (letters != "" and all(unicodedata.category(c)[0] in "LM" for c in letters))


def _best_of(family: list[_Scored], n_words: int) -> NDArray[np.float32]:
    """Return the highest score of every word among siblings, (V,)."""
    best = np.full(n_words, -np.inf, np.float32)
    for node in family:
        best[node.rows] = np.maximum(best[node.rows], node.score)
    return best


def _words_above(columns: Columns, chosen: list[list[int]], node: int) -> list[int]:
    taken: list[int] = []
    while (node := int(columns.forest.parent[node])) >= 0:
        taken += chosen[node]
    return taken


def _choose(
    node: _Scored, fresh: NDArray[np.bool_], quality: NDArray[np.int8], grammar: NDArray[np.bool_], k: int
) -> list[int]:
    """Return the k best rows: fresh ones if there are any, and words of grammar only where they are most of them."""
    words = quality > 0
    usable = next((wish for wish in (fresh & words, words) if wish.any()), ~words)
    places = _best_places(node, usable, quality, k)
    if 2 * grammar[places].sum() <= len(places):
        places = _best_places(node, usable & ~grammar, quality, k) or places
    return [int(row) for row in node.rows[places]]


def _best_places(node: _Scored, usable: NDArray[np.bool_], quality: NDArray[np.int8], k: int) -> list[int]:
    """Return the places of the k best rows: good ones first, and others only where few are good."""
    found: list[int] = []
    for grade in (3, 2, 1, 0):
        if len(found) < _ENOUGH:
            places = np.flatnonzero(usable & (quality == grade))
            found += places[largest(node.score[places], k - len(found))].tolist()
    return found

"""The path of a word through the forest, where words meet, and the words of a subtree.

Shares are of what a word has at all nodes itself (``Vectors.own``, by size): those of all nodes add up to 1, and that
of a node with all below it is the sum of theirs. In an additive forest the latter is the node's value over the sum of
the roots' values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.reading.columns import Columns
from wordforest.reading.html import path_as_html
from wordforest.reading.labels import Label, Labels, given_or_made, label_text, one_line
from wordforest.vectors import Vectors, check_k, forest_of, largest

_PARTINGS = 3  # shown to a reader; an object has all


@dataclass(frozen=True)
class PathNode:
    """A node on the path of a word: its value, and shares of the word.

    ``share`` is that of the node alone, ``within`` that of its group: the node and its descendants.
    """

    node: int
    depth: int
    label: Label
    value: float
    share: float
    within: float


@dataclass(frozen=True)
class TreePath:
    """What a word uses of one tree, in preorder: nodes that are not zero, and those between them and the root."""

    tree: int
    share: float
    steps: tuple[PathNode, ...]


@dataclass(frozen=True, repr=False)
class WordPath:
    """All trees that a word uses, the one with the largest share of it first. As a string it is an outline of them.

    Examples:
        >>> import wordforest as wf
        >>> forest = wf.Forest([-1, 0, -1])
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1, 0], [2, 3, 1]], forest=forest)
        >>> path = vectors.path("tennis")
        >>> path
        WordPath('tennis', 2 trees, most in 'sport tennis')
        >>> [(tree.tree, round(tree.share, 2)) for tree in path.trees]
        [(0, 0.83), (1, 0.17)]
    """

    word: str
    strength: float  # what the word has at all nodes, by size
    trees: tuple[TreePath, ...]

    def __repr__(self) -> str:
        most = f", most in {label_text(self.trees[0].steps[0].label)!r}" if self.trees else ""
        return f"WordPath({self.word!r}, {len(self.trees)} trees{most})"

    def _repr_html_(self) -> str:
        return path_as_html(self)

    def __str__(self) -> str:
        return paths_as_text([self]).rstrip("\n")


@dataclass(frozen=True)
class CommonNode:
    """A node where words meet, with the share of each word in the group of the node."""

    node: int
    depth: int
    label: Label
    shares: tuple[float, ...]


@dataclass(frozen=True)
class SubtreeWord:
    """A word of a subtree: how much it has there, the share of it, and the node where it has most of its own."""

    word: str
    strength: float
    share: float
    node: int


def word_path(vectors: Vectors, word: str, *, k: int = 3, labels: Labels | None = None) -> WordPath:
    """Return the path of a word through the trees that it uses. An unknown word raises UnknownWordError.

    Examples:
        >>> import wordforest as wf
        >>> forest = wf.Forest([-1, 0, -1])
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1, 0], [2, 3, 1]], forest=forest)
        >>> print(wf.reading.word_path(vectors, "tennis"))
        tennis
          tree 0, 83.3%
            0 sport tennis     83.3%  +2
              1 tennis sport   50.0%  +3
          tree 1, 16.7%
            2 tennis   16.7%  +1
    """
    a = vectors[word]  # (M,)
    named = given_or_made(vectors, labels, k)
    forest = forest_of(vectors)
    shares, within, strength = _shares(vectors, forest, word)
    found = []
    for tree, root in enumerate(forest.roots.tolist()):
        steps = tuple(
            PathNode(i, int(forest.depth[i]), named[i], float(a[i]), float(shares[i]), float(within[i]))
            for i in range(root, int(forest.end[root]))
            if a[i : forest.end[i]].any()
        )
        if steps:
            found.append(TreePath(tree, steps[0].within, steps))
    return WordPath(vectors.words[vectors.index(word)], strength, tuple(sorted(found, key=lambda tree: -tree.share)))


def common_nodes(
    vectors: Vectors, words: Sequence[str], *, k: int = 3, labels: Labels | None = None, least: float = 0.01
) -> tuple[CommonNode, ...]:
    """Return where words part: the deepest node of each branch in which all of them still meet.

    They meet in a node if each has a share of at least ``least`` in the node's group and their values at the node
    itself have no opposite signs. The node where they have most in common comes first: the largest share of the word
    that has least there. Nothing is returned for words that meet nowhere.

    Examples:
        >>> import wordforest as wf
        >>> A = [[4, 1, 1], [2, 3, 0], [2, 0, 3]]
        >>> vectors = wf.Vectors(["sport", "tennis", "football"], A, forest=wf.Forest([-1, 0, 0]))
        >>> [common.node for common in wf.reading.common_nodes(vectors, ["tennis", "football"])]
        [0]
    """
    if len(words) < 2:
        raise InputError(f"expected two words or more, but {len(words)} came. Name the words that should be compared.")
    a = np.sign([vectors[word] for word in words])  # (words, M)
    named = given_or_made(vectors, labels, k)
    forest = forest_of(vectors)
    within = np.array([_shares(vectors, forest, word)[1] for word in words])  # (words, M)
    fewest = within.min(axis=0)  # (M,)
    meet = (fewest > 0) & (fewest >= least) & (a.max(axis=0) * a.min(axis=0) >= 0)
    found = [
        CommonNode(node, int(forest.depth[node]), named[node], tuple(float(share) for share in within[:, node]))
        for node in np.flatnonzero(meet).tolist()
        if not meet[node + 1 : forest.end[node]].any()
    ]
    return tuple(sorted(found, key=lambda common: -min(common.shares)))


def subtree_words(vectors: Vectors, node: int, k: int = 20) -> list[SubtreeWord]:
    """Return the k words that have most in the group of a node: itself and its descendants.

    Each comes with the node of the group where it has most of its own, of equals the deepest. Words that use nothing
    of the group are left out.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> members = wf.reading.subtree_words(vectors, 1)
        >>> [(member.word, member.strength, member.share) for member in members]
        [('tennis', 3.0, 0.6), ('sport', 1.0, 0.2)]
    """
    check_k(k)
    vectors.check_node(node)
    columns = Columns(vectors)
    end = int(columns.forest.end[node])
    rows = np.unique(np.concatenate([columns.own(i)[0] for i in range(node, end)]))
    group = np.abs(columns.group(node, rows))  # (g, n)
    strength = group.sum(axis=0)
    depth = columns.forest.depth[node:end]
    found = []
    for i in largest(strength, k):
        strongest = node + int(np.lexsort((-depth, -group[:, i]))[0])
        share = float(strength[i] / columns.strength[rows[i]])
        found.append(SubtreeWord(vectors.words[rows[i]], float(strength[i]), share, strongest))
    return found


def paths_as_text(
    found: Sequence[WordPath], common: Sequence[CommonNode] = (), *, trees: int = 3, least: float = 0.01
) -> str:
    """Return the strongest trees of every word as indented lines, then where the words part.

    Behind each node stand the share of the word that lies in it and below, and its value; a dash where the word does
    not use the node itself, only nodes below. Branches that hold less than ``least`` of the word are left out.

    Examples:
        >>> import wordforest as wf
        >>> forest = wf.Forest([-1, 0, -1])
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1, 0], [2, 3, 1]], forest=forest)
        >>> words = ["sport", "tennis"]
        >>> common = wf.reading.common_nodes(vectors, words)
        >>> paths = [vectors.path(word) for word in words]
        >>> print(wf.reading.paths_as_text(paths, common), end="")
        sport
          tree 0, 100.0%
            0 sport tennis    100.0%  +4
              1 tennis sport   20.0%  +1
        tennis
          tree 0, 83.3%
            0 sport tennis     83.3%  +2
              1 tennis sport   50.0%  +3
          tree 1, 16.7%
            2 tennis   16.7%  +1
        sport, tennis part below
          1 tennis sport  (20.0%, 50.0%)
    """
    rows: list[str] = []
    for one in found:
        rows.append(one_line(one.word) if one.trees else f"{one_line(one.word)}: uses no node")
        shown = [tree for tree in one.trees[:trees] if tree.share >= least]
        rows += [row for tree in shown for row in _tree_as_rows(tree, least)]
        if rest := one.trees[len(shown) :]:
            count = f"{len(rest)} more tree{'s' if len(rest) > 1 else ''}"
            rows.append(f"  {count}, {sum(tree.share for tree in rest):.1%}")
    if len(found) > 1:
        rows += _parting_as_rows([one.word for one in found], common)
    return "".join(row + "\n" for row in rows)


def paths_as_object(found: Sequence[WordPath], common: Sequence[CommonNode] = ()) -> dict[str, Any]:
    """Return paths and common nodes ready for JSON.

    Examples:
        >>> import wordforest as wf
        >>> forest = wf.Forest([-1, 0, -1])
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1, 0], [2, 3, 1]], forest=forest)
        >>> found = wf.reading.paths_as_object([vectors.path("sport")])
        >>> found["words"][0]["trees"][0]["share"]
        1.0
    """
    return {"words": [asdict(one) for one in found], "common": [asdict(one) for one in common]}


def subtree_as_text(members: Sequence[SubtreeWord], labels: Labels) -> str:
    """Return a line for each word of a subtree: the share of it that lies there, and its strongest node.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> members = wf.reading.subtree_words(vectors, 1)
        >>> print(wf.reading.subtree_as_text(members, vectors.labels), end="")
        tennis   60.0%  1 tennis sport
        sport    20.0%  1 tennis sport
    """
    words = [one_line(member.word) for member in members]
    width = max(map(len, words), default=0)
    rows = [
        f"{word:<{width}}  {member.share:>6.1%}  {member.node} {label_text(labels[member.node])}"
        for word, member in zip(words, members, strict=True)
    ]
    return "".join(row + "\n" for row in rows)


def _shares(vectors: Vectors, forest: Forest, word: str) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the share of a word at each node (M,) and in each node's group (M,), and what they are shares of."""
    sizes = np.abs(vectors.own_row(word)).astype(np.float64)
    strength = float(sizes.sum())
    shares = sizes / (strength or 1.0)
    return shares, np.array([shares[i:end].sum() for i, end in enumerate(forest.end.tolist())]), strength


def _tree_as_rows(tree: TreePath, least: float) -> list[str]:
    steps = [step for step in tree.steps if step.within >= least]
    texts = ["  " * step.depth + f"{step.node} {label_text(step.label)}" for step in steps]
    width = max(map(len, texts))
    values = [f"{step.value:+.3g}" if step.value else "-" for step in steps]
    rows = [
        f"    {text:<{width}}  {step.within:>6.1%}  {value}"
        for text, step, value in zip(texts, steps, values, strict=True)
    ]
    return [f"  tree {tree.tree}, {tree.share:.1%}", *rows]


def _parting_as_rows(words: Sequence[str], common: Sequence[CommonNode]) -> list[str]:
    names = ", ".join(one_line(word) for word in words)
    if not common:
        return [f"{names}: they meet in no node"]
    rows = [f"{names} part below"]
    for one in common[:_PARTINGS]:
        shares = ", ".join(f"{share:.1%}" for share in one.shares)
        rows.append(f"  {one.node} {label_text(one.label)}  ({shares})")
    return rows

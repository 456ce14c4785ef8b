"""One node to read: its label, its place in the forest, and its words."""

from __future__ import annotations

from dataclasses import dataclass, field

from wordforest.reading.html import node_as_html
from wordforest.reading.labels import Labels, given_or_made, one_line
from wordforest.reading.outline import Line, lines_of
from wordforest.vectors import Neighbors, NodeNote, Vectors, forest_of, is_marker

_MARKERS = 2  # rows such as #rare# and #number#, which are no words of a node


@dataclass(frozen=True, repr=False)
class Node(Line):
    """A node with those above it, from the root down, all those below, and its words of largest size of either sign.

    As a string it is a few lines.

    Examples:
        >>> import wordforest as wf
        >>> A = [[4, 1, 1], [2, 3, 0], [2, 0, 3]]
        >>> vectors = wf.Vectors(["sport", "tennis", "football"], A, forest=wf.Forest([-1, 0, 0]))
        >>> node = vectors.node(0)
        >>> node.children, node.positive[0]
        ((1, 2), ('sport', 4.0))
        >>> print(node)
        0 sport tennis football
          depth 0, used by 3 words (100.0%)
          below: 1 tennis sport · 2 football sport
          words: sport 4, tennis 2, football 2
    """

    remark: str = ""  # what somebody wrote about it
    above: tuple[Line, ...] = ()
    below: tuple[Line, ...] = ()
    positive: Neighbors = field(default_factory=list)
    negative: Neighbors = field(default_factory=list)

    @property
    def children(self) -> tuple[int, ...]:
        """The nodes right below."""
        return tuple(line.node for line in self.below if line.parent == self.node)

    @property
    def facts(self) -> str:
        """How many words use the node, and how stable it is where that is known."""
        known = "" if self.stability is None else f", stability {self.stability:.2f}"
        return f"depth {self.depth}, used by {self.words} words ({self.share:.1%}){known}"

    def __repr__(self) -> str:
        return f"Node({self.node} {self.text!r}, {self.facts})"

    def __str__(self) -> str:
        children = [line for line in self.below if line.parent == self.node]
        parts = {
            "remark": one_line(self.remark),
            "above": " > ".join(f"{line.node} {line.text}" for line in self.above),
            "below": " · ".join(f"{line.node} {line.text}" for line in children),
            "words": ", ".join(f"{one_line(word)} {value:.3g}" for word, value in self.positive),
            "negative": ", ".join(f"{one_line(word)} {value:.3g}" for word, value in self.negative),
        }
        lines = [f"  {name}: {text}" for name, text in parts.items() if text]
        return "\n".join([f"{self.node} {self.text}", f"  {self.facts}", *lines])

    def _repr_html_(self) -> str:
        return node_as_html(self)


def read_node(vectors: Vectors, node: int, *, k: int = 10, labels: Labels | None = None) -> Node:
    """Return a node with its k words of largest positive and of most negative value.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> print(wf.reading.read_node(vectors, 1))
        1 tennis sport
          depth 1, used by 2 words (100.0%)
          above: 0 sport tennis
          words: tennis 3, sport 1
    """
    both = vectors.top_words(node, k + _MARKERS)
    positive, negative = ([one for one in words if not is_marker(one[0])][:k] for words in both)
    forest, hidden, named = forest_of(vectors), vectors.hidden, given_or_made(vectors, labels, 5)
    up = [i for i in range(node) if forest.end[i] > node]  # preorder: those above come before, from the root down
    down = [i for i in range(node + 1, int(forest.end[node])) if not hidden[i]]
    own, *others = lines_of(vectors, [node, *up, *down], named)
    above, below = tuple(others[: len(up)]), tuple(others[len(up) :])
    remark = vectors.notes.get(node, NodeNote()).remark
    return Node(**vars(own), remark=remark, above=above, below=below, positive=positive, negative=negative)

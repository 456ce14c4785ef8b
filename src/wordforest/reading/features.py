"""Codes as features for other programs: a sparse matrix and a name for each of its columns."""

from __future__ import annotations

import re
from typing import Any

from scipy import sparse

from wordforest.errors import MissingExtraError
from wordforest.reading.labels import Labels, given_or_made, one_line
from wordforest.vectors import CSR, Vectors, forest_of

_NOT_A_NAME = re.compile(r"\W+")
_K = 5


def as_features(vectors: Vectors, *, labels: Labels | None = None) -> tuple[CSR, list[str]]:
    """Return the codes as CSR (V, M) and a name for each column, see feature_names. The matrix may be written to.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> codes, names = wf.reading.as_features(vectors)
        >>> codes.shape, names
        ((2, 2), ['0.sport', '0.sport.tennis'])
    """
    return sparse.csr_array(vectors.matrix, copy=True), feature_names(vectors, labels=labels)


def as_frame(vectors: Vectors) -> Any:
    """Return a DataFrame of pandas, (V, M): words by nodes, in sparse columns where the vectors are, see feature_names.

    Without a forest columns have numbers.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> wf.reading.as_frame(vectors).loc["tennis"].to_dict()  # needs: pandas
        {'0.sport': 2.0, '0.sport.tennis': 3.0}
    """
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError("a data frame", "frames") from error
    make: Any = pandas.DataFrame.sparse.from_spmatrix if sparse.issparse(vectors.matrix) else pandas.DataFrame
    names = None if vectors.forest is None else feature_names(vectors, labels=vectors.labels)
    return make(vectors.matrix, index=pandas.Index(vectors.words, name="word"), columns=names)


def feature_names(vectors: Vectors, *, labels: Labels | None = None) -> list[str]:
    """Return a name for every node: the number of its tree, then the first label word of each node from the root down.

    Such as ``12.sport.baseball.pitcher``. Names hold letters and digits of any script, underscores and dots, and are
    unique: a name that would come twice ends in the number of its node. A node without a label is called by its number.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> wf.reading.feature_names(vectors)
        ['0.sport', '0.sport.tennis']
    """
    forest = forest_of(vectors)
    words = [label[0] if label else "" for label in given_or_made(vectors, labels, _K)]
    names: list[str] = []
    taken: set[str] = set()
    tree = -1
    for node, parent in enumerate(forest.parent.tolist()):
        tree += parent < 0
        part = _NOT_A_NAME.sub("_", words[node]).strip("_") or f"node{node}"
        name = f"{names[parent] if parent >= 0 else tree}.{part}"
        while name in taken:
            name += f"_{node}"
        names.append(name)
        taken.add(name)
    return names


def names_as_tsv(vectors: Vectors, *, labels: Labels | None = None) -> str:
    r"""Return a table of the columns: node, name, parent, depth, stability, and the label's words with spaces between.

    Stability is left empty where it is not known.

    Examples:
        >>> import wordforest as wf
        >>> vectors = wf.Vectors(["sport", "tennis"], [[4, 1], [2, 3]], forest=wf.Forest([-1, 0]))
        >>> wf.reading.names_as_tsv(vectors).splitlines()[0].split("\t")
        ['node', 'name', 'parent', 'depth', 'stability', 'label']
    """
    forest = forest_of(vectors)
    made = given_or_made(vectors, labels, _K)
    names = feature_names(vectors, labels=made)
    known = vectors.nodes.get("stability")
    rows = ["node\tname\tparent\tdepth\tstability\tlabel"]
    for node, (name, label) in enumerate(zip(names, made, strict=True)):
        place = f"{forest.parent[node]}\t{forest.depth[node]}\t{'' if known is None else f'{known[node]:.3f}'}"
        rows.append(f"{node}\t{name}\t{place}\t{' '.join(one_line(word) for word in label)}")
    return "\n".join(rows) + "\n"

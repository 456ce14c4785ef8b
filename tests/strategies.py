"""Hypothesis strategies: forests and matrices."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from wordforest.coder.forest import Forest


@st.composite
def forests(draw: st.DrawFn, max_size: int = 12) -> Forest:
    """Any forest: each node's parent is -1 or on the path from its root to the node before it."""
    parent: list[int] = []
    for i in range(draw(st.integers(1, max_size))):
        path = [-1]
        above = i - 1
        while above >= 0:
            path.append(above)
            above = parent[above]
        parent.append(draw(st.sampled_from(path)))
    return Forest(parent)


def rows(n_columns: int, max_rows: int = 4) -> st.SearchStrategy[np.ndarray]:
    """Matrices of moderate numbers, exact zeros among them."""
    values = st.floats(-10, 10, allow_nan=False, width=64).map(lambda x: 0.0 if abs(x) < 1e-6 else x)
    shape = st.integers(1, max_rows).map(lambda n: (n, n_columns))
    return shape.flatmap(lambda s: hnp.arrays(np.float64, s, elements=values))


@st.composite
def forests_with_rows(draw: st.DrawFn) -> tuple[Forest, np.ndarray]:
    """A forest and a matrix with a column for each of its nodes."""
    forest = draw(forests())
    return forest, draw(rows(len(forest)))


@st.composite
def weighted_forests_with_rows(draw: st.DrawFn) -> tuple[Forest, np.ndarray, np.ndarray]:
    """A forest, a matrix with a column for each of its nodes, and a weight for each node."""
    forest, A = draw(forests_with_rows())
    weights = hnp.arrays(np.float64, len(forest), elements=st.floats(0.05, 5))
    return forest, A, draw(weights)

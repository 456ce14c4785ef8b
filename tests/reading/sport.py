"""A small forest about sport and music, odd words, and strategies for vectors: what tests of reading share."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.strategies import forests
from wordforest.coder.forest import Forest
from wordforest.vectors import Vectors

# sport (0): ball games (1) with tennis (2) and football (3), athletics (4); music (5), which has a leaf nobody uses (6)
SPORT = Forest([-1, 0, 1, 1, 0, -1, 5])
WORDS = ("sport", "ball", "racket", "goal", "sprint", "piano", "fan", "#rare#")
A = np.array(
    [
        [2, 1, 0, 0, 1, 0, 0],
        [1, 3, 1, 1, 0, 0, 0],
        [1, 1, 4, 0, 0, 0, 0],
        [1, 1, 0, 4, 0, 0, 0],
        [1, 0, 0, 0, 4, 0, 0],
        [0, 0, 0, 0, 0, 5, 0],
        [2, 0, 0, 0, 0, 2, 0],
        [9, 9, 9, 9, 9, 9, 0],
    ],
    dtype=np.float64,
)
NASTY = (
    '"<script>',
    "back\\slash",
    "a\nb\tc",
    "👩‍🚀",
    "שלום",
    "#quot;",
    "&lt;",
    "1. list",
    "`x`",
    "]};-->",
    "\u202eevil",
    "\\",
)
LABELS = [("sport",), ("ball", "goal"), ("racket",), ("goal",), ("sprint",), ("piano",), ()]
printable = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=12)


def named(matrix: np.ndarray, forest: Forest | None = None) -> Vectors:
    return Vectors([f"w{i}" for i in range(len(matrix))], matrix, forest=forest)


# a coarse grid: many exact zeros, many ties
@st.composite
def readable(draw: st.DrawFn, least: int = -2) -> Vectors:
    forest = draw(forests())
    shape = (draw(st.integers(1, 8)), len(forest))
    return named(draw(hnp.arrays(np.float32, shape, elements=st.integers(least, 2).map(float))), forest)


@st.composite
def additive(draw: st.DrawFn) -> Vectors:
    """Vectors in which a parent has what it has itself, and all that its children have."""
    own = draw(readable(least=0))
    ends = own.forest.end.tolist()
    return named(np.array([[row[i:end].sum() for i, end in enumerate(ends)] for row in own.dense]), own.forest)

"""Draw the method in pictures: docs/pictures/how-*.svg, legible on a telephone, and on dark and on light pages.

python benchmarks/drawings.py [FOLDER]

Values are made up to be seen; the prox is the one of the package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

import numpy as np

from wordforest.coder import ForestL2
from wordforest.coder.forest import Forest

INK, FAINT, LINE, TEAL, ORANGE, PAPER = "#1d2b29", "#5d6f6c", "#9db5b0", "#00796b", "#c75100", "#f7faf9"


def text(
    x: float, y: float, words: str, *, size: int = 15, color: str = INK, anchor: str = "middle", bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}"'
    return f'<text {place} fill="{color}"{weight}>{escape(words)}</text>'


def line(
    x1: float, y1: float, x2: float, y2: float, *, color: str = LINE, width: float = 2, arrow: bool = False
) -> str:
    head = ' marker-end="url(#head)"' if arrow else ""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}" stroke-width="{width:g}"{head}/>'


def box(
    x: float, y: float, w: float, h: float, *, fill: str = "none", stroke: str = LINE, r: float = 3, width: float = 1.5
) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{r:g}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="{width:g}"/>'
    )


def shade(value: float) -> str:
    """Return white for 0, teal for 1, and what lies between."""
    white, teal = np.array([255, 255, 255]), np.array([0, 121, 107])
    r, g, b = np.rint(white + (teal - white) * min(max(value, 0), 1)).astype(int)
    return f"#{r:02x}{g:02x}{b:02x}"


def grid(x: float, y: float, values: Sequence[Sequence[float]], *, cell: float = 24, numbers: bool = False) -> str:
    """Return a matrix, its cells the darker the larger they are."""
    top = max(max(row) for row in values)
    cells = []
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            cells.append(
                box(x + j * cell, y + i * cell, cell, cell, fill=shade(value / top), stroke=LINE, r=0, width=1)
            )
            if numbers:
                color = "#ffffff" if value / top > 0.5 else INK
                cells.append(text(x + (j + 0.5) * cell, y + (i + 0.68) * cell, f"{value:g}", size=13, color=color))
    return "".join(cells)


def svg(width: int, height: int, parts: Iterable[str]) -> str:
    tip = f'<path d="M0,0 L8,4 L0,8 z" fill="{FAINT}"/>'
    head = f'<marker id="head" orient="auto" markerWidth="9" markerHeight="9" refX="7" refY="4">{tip}</marker>'
    card = box(0, 0, width, height, fill=PAPER, stroke="none", r=10)
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" viewBox="0 0 {width} {height}"'
    return f'{opening} font-family="Helvetica, Arial, sans-serif"><defs>{head}</defs>{card}{"".join(parts)}</svg>\n'


def counts() -> str:
    """A window over a sentence, and the counts of words by contexts that come of it."""
    words, at = ["the", "king", "wears", "a", "golden", "crown"], [38, 88, 148, 192, 240, 318]
    parts = [box(16, 20, 264, 34, fill="#d7ece8", stroke=TEAL, r=8)]
    parts += [
        text(x, 43, w, size=17, bold=w == "wears", color=TEAL if w == "wears" else INK)
        for w, x in zip(words, at, strict=True)
    ]
    parts += [text(180, 76, "a window: who stands near “wears”?", size=14, color=FAINT)]
    parts += [line(180, 86, 180, 112, color=FAINT, arrow=True)]
    rows, columns = ["king", "queen", "train"], ["the", "crown", "wears", "rails"]
    table = [[90, 12, 9, 0], [70, 9, 8, 0], [80, 0, 0, 14]]
    parts += [text(156 + 56 * j, 134, c, size=14, color=FAINT) for j, c in enumerate(columns)]
    parts += [text(118, 163 + 34 * i, r, size=15, anchor="end") for i, r in enumerate(rows)]
    for i, row in enumerate(table):
        for j, n in enumerate(row):
            parts.append(box(128 + 56 * j, 142 + 34 * i, 56, 34, fill=shade(n / 90), r=0, width=1))
            parts.append(text(156 + 56 * j, 164 + 34 * i, str(n), color="#ffffff" if n > 45 else INK))
    return svg(420, 262, parts)


def pmi() -> str:
    """The same table, more than chance: frequent contexts lose, telling ones win."""
    n = np.array([[90, 12, 9, 0], [70, 9, 8, 0], [80, 0, 0, 14]], dtype=float)
    chance = n.sum(1, keepdims=True) * n.sum(0) / n.sum()
    with np.errstate(divide="ignore"):
        x = np.where(n > 0, np.log(n / chance), 0)
    columns = ["the", "crown", "wears", "rails"]
    parts = []
    for k, (title, table) in enumerate([("counted", n), ("more than chance: X", np.maximum(x, 0))]):
        left = 66 + 270 * k
        parts.append(text(left + 88, 28, title, bold=True))
        parts += [text(left + 22 + 44 * j, 56, c, size=14, color=FAINT) for j, c in enumerate(columns)]
        parts.append(grid(left, 64, table.round(1).tolist(), cell=44, numbers=True))
    parts += [text(58, 92 + 44 * i, w, anchor="end") for i, w in enumerate(["king", "queen", "train"])]
    parts.append(line(252, 130, 322, 130, color=FAINT, arrow=True))
    return svg(530, 212, parts)


def codes() -> str:
    """X is about A times D transposed, and a row of A hangs in trees."""
    rng = np.random.default_rng(3)
    A = np.zeros((6, 7))
    for row, on in enumerate([(0, 1, 2), (0, 1), (0, 4, 5), (0, 4, 6), (0, 1, 3), (0, 4)]):
        A[row, list(on)] = rng.uniform(0.4, 1, len(on))
    D = rng.uniform(0, 1, (9, 7)) * (rng.random((9, 7)) > 0.5)
    X = A @ D.T
    parts = [
        grid(24, 60, X.tolist(), cell=20),
        text(114, 46, "X", size=18, bold=True),
        text(114, 204, "words × contexts", size=13, color=FAINT),
    ]
    parts += [text(226, 126, "≈", size=26)]
    parts += [
        grid(252, 60, A.tolist(), cell=20),
        text(322, 46, "A", size=18, bold=True),
        text(322, 204, "words × nodes", size=13, color=FAINT),
    ]
    parts += [
        box(250, 98, 144, 24, stroke=ORANGE, width=2.5),
        text(322, 228, "a row: the vector of a word", size=13, color=ORANGE),
    ]
    parts += [text(406, 126, "·", size=26)]
    parts += [
        grid(420, 50, D.T.tolist(), cell=20),
        text(510, 40, "D′", size=18, bold=True),
        text(510, 208, "nodes × contexts", size=13, color=FAINT),
    ]
    return svg(620, 246, parts)


# A tree of ten nodes in preorder: a root, three branches, two leaves on each.
TREE = Forest([-1, 0, 1, 1, 0, 4, 4, 0, 7, 7])
PLACES = [
    (150, 46),
    (52, 120),
    (28, 188),
    (76, 188),
    (150, 120),
    (126, 188),
    (174, 188),
    (248, 120),
    (224, 188),
    (272, 188),
]


def tree(x: float, y: float, values: Sequence[float], *, names: Sequence[str] = ()) -> str:
    parts = [
        line(x + PLACES[p][0], y + PLACES[p][1], x + PLACES[i][0], y + PLACES[i][1])
        for i, p in enumerate(TREE.parent)
        if p >= 0
    ]
    for i, value in enumerate(values):
        at, up = x + PLACES[i][0], y + PLACES[i][1]
        fill, ink = (TEAL, "#ffffff") if value > 0 else ("#ffffff", FAINT)
        parts.append(f'<circle cx="{at:g}" cy="{up:g}" r="19" fill="{fill}" stroke="{TEAL}" stroke-width="2"/>')
        parts.append(
            text(at, up + 5, names[i] if names else (f"{value:.1f}" if value > 0 else "0"), size=14, color=ink)
        )
    return "".join(parts)


def groups() -> str:
    """What a leaf costs: it lies in three groups."""
    parts = [
        box(10, 12, 316, 210, stroke=ORANGE, r=16, width=2.5),
        box(19, 94, 110, 122, stroke=ORANGE, r=14, width=2.5),
        box(27, 163, 46, 48, stroke=ORANGE, r=12, width=2.5),
        tree(22, 0, [0.9, 0.7, 0.6, 0, 0, 0, 0, 0, 0, 0]),
    ]
    says = [
        "this leaf lies in three groups:",
        "its own, its branch, its root.",
        "",
        "Omega adds up the lengths of",
        "all groups, so opening another",
        "branch costs more than using",
        "more of one that is open.",
    ]
    parts += [text(340, 58 + 24 * n, s, anchor="start", size=15) for n, s in enumerate(says)]
    return svg(570, 234, parts)


def prox() -> str:
    """The prox from the leaves up: what is worth less than its price becomes exactly zero."""
    a = np.array([[0.9, 0.7, 0.6, 0.1, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1]])
    leaf = np.array([i == end - 1 for i, end in enumerate(TREE.end)])
    leaves = np.where(leaf, np.maximum(a - 0.2, 0), a)
    done = np.asarray(ForestL2(TREE, 0.2).prox(a.copy(), 1.0))
    parts = []
    for x, y, title, values in [
        (0, 0, "before", a),
        (300, 0, "leaves shrink", leaves),
        (0, 236, "branches and root, too", done),
    ]:
        parts += [text(x + 152, y + 22, title, bold=True), tree(x, y + 10, values[0].tolist())]
    says = [
        "A branch that is worth less",
        "than its price becomes",
        "exactly zero, with all below.",
        "",
        "What is left is a path from",
        "the root: these are the",
        "zeros of the codes.",
    ]
    parts += [text(322, 290 + 24 * n, s, anchor="start") for n, s in enumerate(says)]
    return svg(600, 470, parts)


def additive() -> str:
    """A parent is the sum of its own part and of its children."""
    own = np.array([0.1, 0.2, 0.4, 0, 0, 0, 0, 0, 0.3, 0])
    total = own.copy()
    for i in reversed(range(len(TREE))):
        if TREE.parent[i] >= 0:
            total[TREE.parent[i]] += total[i]
    parts = [text(152, 22, "z: own part of each node", bold=True), tree(0, 10, own.tolist())]
    parts += [text(452, 22, "a: with all below it", bold=True), tree(300, 10, total.tolist())]
    parts += [line(282, 90, 318, 90, color=FAINT, arrow=True)]
    parts.append(
        text(300, 240, "a parent is on whenever a child is, so its words are those of its branch", size=15, color=FAINT)
    )
    return svg(600, 258, parts)


def cluster() -> str:
    """Who holds what on a cluster."""
    parts = [
        box(210, 16, 180, 62, fill="#d7ece8", stroke=TEAL, r=10),
        text(300, 42, "client", bold=True),
        text(300, 64, "D, sums, a file of codes", size=14),
    ]
    for k in range(3):
        x = 20 + 195 * k
        parts += [box(x, 170, 170, 70, fill="#ffffff", r=10), text(x + 85, 196, f"worker {k + 1}", bold=True)]
        parts += [text(x + 85, 218, f"rows {k + 1} of X, and codes", size=14)]
        parts += [
            line(280 + 20 * k, 82, x + 75, 164, color=FAINT, arrow=True),
            line(x + 105, 166, 300 + 20 * k, 86, color=ORANGE, width=1.5),
        ]
    parts += [
        text(110, 116, "D goes out", size=14, color=FAINT),
        text(500, 98, "codes and sums come back", size=14, color=ORANGE),
    ]
    return svg(600, 258, parts)


PICTURES = {
    "how-counts": counts,
    "how-pmi": pmi,
    "how-codes": codes,
    "how-groups": groups,
    "how-prox": prox,
    "how-additive": additive,
    "how-cluster": cluster,
}


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/pictures")
    for name, draw in PICTURES.items():
        (folder / f"{name}.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main()

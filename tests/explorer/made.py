"""A run for tests of the page: words that are hard to show, and a forest of three shapes."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.explorer.documents import Collection, open_collection
from wordforest.store import Run, save_documents

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "o'neill",
    "a/b,c?d#e%2F",
    "..",
    "{{7*7}}",
    "שלום",
    "👩‍🚀",
    "\\",
    "=1+1",
    "<b>bold</b>",
)
FOREST = Forest([-1, 0, 1, 1, 0, -1, 5, 5, -1])  # a tree of five nodes, one of three, one of a single node


def made_run(n_words: int = 120, seed: int = 0) -> Run:
    """A run with a quarter of its coefficients set, node 7 unused, and words that are hard to show."""
    rng = np.random.default_rng(seed)
    words = ("king", "queen", "kings", "man", "woman", *HOSTILE)
    words += tuple(f"word{i:03d}" for i in range(n_words - len(words)))
    codes = rng.standard_normal((n_words, len(FOREST))) * (rng.random((n_words, len(FOREST))) < 0.25)
    codes[:2, :3] = [[2.0, 1.5, 1.0], [2.0, 1.5, -1.0]]  # king and queen part at node 2
    codes[:, 7] = 0
    dictionary = rng.standard_normal((n_words, len(FOREST))).astype(np.float32)
    counts = np.arange(n_words, 0, -1) * 10
    return Run(words, counts, sparse.csr_array(codes.astype(np.float32)), dictionary, FOREST)


def address_of(kind: str, *words: str) -> str:
    """The address of a page about words; browsers take . and .. for folders, so these stand in the query."""
    if words[0] in (".", ".."):
        return f"/{kind}?w={words[0]}"
    return f"/{kind}/" + ",".join(quote(word, safe="") for word in words)


DOCUMENTS = (
    "The king and the queen met a man. <script>alert(1)</script> Then the KING left.\n\nA woman stayed.",
    '"><img src=x onerror=alert(1)> word020 word021 word022 king',
    "שלום עולם 👩‍🚀 king\u2028next",
    "",
    *(f"word{20 + i:03d} and word{40 + i:03d} saw the king number {i}." for i in range(36)),
)
NAMES = ("first", "<b>second</b>", "a/b?c#d%2F", "", *(f"doc {i}" for i in range(36)))


def made_documents(folder: Path, *, texts: bool = True) -> Collection:
    """A documents folder of 40 documents in three groups and five years, one without words, some hard to show."""
    rng = np.random.default_rng(0)
    own = rng.random((len(DOCUMENTS), len(FOREST))) * (rng.random((len(DOCUMENTS), len(FOREST))) < 0.5)
    own[3] = 0
    own[0, 3] = 5  # most of the first document is node 3, so its path is 0, 1, 3
    shares = own.copy()
    for node in reversed(range(len(FOREST))):
        if (parent := FOREST.parent[node]) >= 0:
            shares[:, parent] += shares[:, node]
    total = shares[:, FOREST.roots].sum(axis=1, keepdims=True)
    shares = (shares / np.where(total > 0, total, 1)).astype(np.float32)
    records = [
        {"id": name, "text": text, "year": 1990 + i % 5, "group": f"g{i % 3}<i>"}
        for i, (name, text) in enumerate(zip(NAMES, DOCUMENTS, strict=True))
    ]
    nodes = range(len(FOREST))
    save_documents(
        folder,
        ids=NAMES,
        shares=sparse.csr_array(shares),
        config={},
        documents={
            "document": NAMES,
            **{f"depth{d}": [(0, 1, 3)[d], *[-1] * (len(NAMES) - 1)] for d in range(3)},
            "share0": shares[:, 0],
        },
        nodes={
            **{"node": [*nodes], "parent": FOREST.parent.tolist(), "label": ["x"] * len(nodes)},
            **{"share": shares.mean(axis=0), "typical": [["doc 5", "first"], *([] for _ in nodes[1:])]},
        },
        by_group=_table("group", [f"g{i}<i>" for i in range(3)]),
        over_time=_table("time", [str(1990 + i) for i in range(5)]),
        texts=records if texts else None,
    )
    return open_collection(folder, made_run().vectors, {})


TIMES = ("1990", "2000", "2010", "2020")


def made_comparison(folder: Path, names: tuple[str, ...] = TIMES) -> Path:
    """What `compare` writes of four slices, of time if they are TIMES; some of its words are hard to show.

    Node 1 grows from 2 % to 16 %, surely; node 2 shrinks, but its intervals overlap; all others stay. A node is told by
    its label, and node 7 is known in no slice but the first.
    """
    share = np.full((len(FOREST), 4), 0.1)
    share[1], share[2] = [0.02, 0.04, 0.08, 0.16], [0.1, 0.09, 0.08, 0.07]
    low, high = 0.9 * share, 1.1 * share
    low[2], high[2] = 0.01, 0.2
    known: list[list[float | None]] = [table.ravel().tolist() for table in (share, low, high)]
    for column in known:
        column[29:32] = [None] * 3
    is_time = names == TIMES
    nodes = {
        "node": np.repeat(np.arange(len(FOREST)), 4).tolist(),
        "label": [f"label {node}" for node in range(len(FOREST)) for _ in names],
        "parent": np.repeat(FOREST.parent, 4).tolist(),
        "slice": [*names] * len(FOREST),
        **dict(zip(("share", "low", "high"), known, strict=True)),
    }
    words: dict[str, list[object]] = {
        "word": ["king", HOSTILE[0]],
        **{"effect": [0.2, 0.1], "p": [1e-9, 0.012], "moved": [True, False]},
        **{"before": [f"{names[0]} to {names[1]}"] * 2, "after": [f"{names[2]} to {names[3]}"] * 2},
        **{"count_before": [1200, 30], "count_after": [900, 40], "node_before": [3, 6], "node_after": [8, 6]},
        **{"contexts_before": [["man", "queen"], []], "contexts_after": [["woman"], [HOSTILE[1]]]},
        "example_before": [["doc 1: then the [king] left"], [f"a/b: x [{HOSTILE[0]}] <i>y</i>"]],
        "example_after": [["doc 2: a [king] size bed"], []],
        **{"gained": [["label 8", "label 5"], []], "lost": [["label 1"], []]},
        "frequency": [[100.0, 90.5, 60.0, 0.0], [1.0, 2.0, 3.0, 4.0]],
    }
    rows = [(name, names[1 + i % 3], kind) for i, name in enumerate(["queen", *HOSTILE]) for kind in ("came", "less")]
    vocabulary = dict(zip(("word", "slice", "kind"), zip(*rows, strict=True), strict=True))
    vocabulary |= {"before": [0.0, 50.0] * (len(rows) // 2), "after": [1234.5, 5.0] * (len(rows) // 2)}
    changes = {"node": [1, 1], "slice": [names[1], names[3]], "before": [0.02, 0.05], "after": [0.09, 0.16]}
    found = {"slices": names, "is_time": is_time, "documents": [10] * 4, "n_tested": 50, "nodes": nodes, "words": words}
    found |= {"vocabulary": vocabulary, "changes": changes if is_time else {name: [] for name in changes}}
    folder.mkdir(exist_ok=True)
    (folder / "compare.json").write_text(json.dumps(found), encoding="utf-8")
    return folder


def _table(name: str, values: list[str]) -> dict[str, list[object]]:
    """Shares of every node that grow from value to value; of the second nothing is known."""
    rows = [(node, value, i) for node in range(len(FOREST)) for i, value in enumerate(values)]
    share = [None if i == 1 else 0.1 * (i + 1) for _, _, i in rows]
    low, high = ([None if x is None else x + gap for x in share] for gap in (-0.05, 0.05))
    return {"node": [row[0] for row in rows], name: [row[1] for row in rows], "share": share, "low": low, "high": high}

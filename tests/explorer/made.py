"""A run for tests of the page: words that are hard to show, and a forest of three shapes."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
from scipy import sparse

from wordforest.coder.forest import Forest
from wordforest.store import Run

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

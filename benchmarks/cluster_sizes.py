"""How large a cluster must be: pairs, memory, traffic and time, computed from tokens, words and dimensions.

The formulas follow what learning and counting on a cluster send and hold. Times of one core were measured on an AMD
EPYC (Zen 4), 2026-11-15. ``python benchmarks/cluster.py sizes`` prints the table of docs/cluster.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np

# Words keep to their company: pairs are as few as if there were so much less text. Fits 26, 65 M tokens of Wikipedia.
_CLUMP = 0.27
_OFFSET = 2.7  # of Zipf's law: frequency ~ 1 / (rank + offset)
_BINS = 600
_BATCHES = 8  # steps of a pass
_PASSES = 2
_VALUE = 4  # bytes of a number
_PAIR = 16  # bytes of a pair on workers: by rows and by columns
_SHARDS = 128

TOKEN_SECONDS = 2e-7  # reading twice and counting, a token
ENTRY_SECONDS = (15e-9, 8e-11)  # of XD or X'A for a pair: at any M, and for each dimension
ROW_SECONDS = (2e-6, 4.4e-10)  # of solving for a word: at any M, and for each square of a dimension
SWEEP_SECONDS = 4e-11  # of moving D, for each context and square of a dimension


@dataclass(frozen=True)
class Size:
    """What a run needs. Bytes and seconds; a step codes an eighth of the words."""

    pairs: float
    worker_memory: float
    client_memory: float
    from_client: float  # bytes of a step that leave the client,
    to_client: float  # that come back,
    between: float  # and that workers send each other
    parts: dict[str, float]  # seconds of a step
    counting: float  # seconds

    @property
    def step(self) -> float:
        """Seconds of a step."""
        return sum(self.parts.values())

    @property
    def learning(self) -> float:
        """Seconds of two passes and the last, exact one, which is about a pass of coding."""
        return _PASSES * _BATCHES * self.step + _BATCHES * self.parts["code"]


def expected_pairs(n_tokens: float, n_words: int, window: int = 5, clump: float = _CLUMP) -> float:
    """Return how many distinct pairs a text has: words by Zipf's law, pairs at random but for ``clump``.

    ``sum over v, c of 1 - exp(-clump 2 window n p_v p_c)``, over bins of ranks.
    """
    edges = np.unique(np.concatenate(([0], np.geomspace(1, n_words, _BINS))).round().astype(np.int64))
    sizes = np.diff(edges)
    p = 1 / ((edges[:-1] + edges[1:] + 1) / 2 + _OFFSET)
    p /= (p * sizes).sum()
    met = clump * 2 * window * n_tokens * np.outer(p, p)
    return float((np.outer(sizes, sizes) * -np.expm1(-met)).sum())


def size_of(
    n_tokens: float,
    n_words: int,
    n_components: int,
    workers: int,
    *,
    bandwidth: float = 1.25e9,
    pairs: float | None = None,
) -> Size:
    """Return what a run needs on so many workers of one core; ``bandwidth`` is that of a link, in bytes a second."""
    V, M = n_words, n_components
    nnz = expected_pairs(n_tokens, V) if pairs is None else pairs
    D = V * M * _VALUE + 2 * M * M * _VALUE  # and the inner products of its atoms, and their inverse
    batch = -(-V // _BATCHES)
    rows = batch * (M * _VALUE + 8)  # codes, or their change, and numbers of words
    sums = min(_SHARDS, max(1.0, (nnz + 5 * M * V) / (1 << 22))) * 8 * M * M
    entry, row = (a + b * x for (a, b), x in ((ENTRY_SECONDS, M), (ROW_SECONDS, M * M)))
    rounds = 1 + ceil(log2(workers)) if workers > 1 else 1
    return Size(
        pairs=nnz,
        worker_memory=_PAIR * nnz / workers + 2 * D + 3 * rows,
        client_memory=3 * D + 6 * rows + sums + 48 * V,
        from_client=D + rows + 8 * batch,
        to_client=batch * (M * _VALUE + 16) + sums + V * M * _VALUE,
        between=(workers - 1) * (D + rows) + (1 - 1 / workers) * rows,
        parts={
            "send D": rounds * D / bandwidth,
            "code": (nnz / _BATCHES * entry + batch * row) / workers,
            "send changes": (2 + rounds) * rows / bandwidth + sums / bandwidth,
            "add": nnz / _BATCHES * entry / workers,
            "return XA": V * M * _VALUE / bandwidth,
            "move D": V * M * M * SWEEP_SECONDS,
        },
        counting=n_tokens * TOKEN_SECONDS / workers,
    )


def table() -> list[str]:
    """Return the table of docs/cluster.md."""
    lines = [
        "| tokens | words | M | workers | pairs | worker | client | a step moves | a step | counting | learning |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    runs = [(26e6, 62_110, 2), (1e9, 300_000, 8), (1e10, 600_000, 32), (1e11, 1_000_000, 128), (1e12, 2_000_000, 256)]
    for n_tokens, n_words, workers in runs:
        for M in (52, 520):
            size = size_of(n_tokens, n_words, M, workers)
            moved = size.from_client + size.to_client + size.between
            counts = (_number(n_tokens), f"{n_words:,}", str(M), str(workers), _number(size.pairs))
            memory = map(_bytes, (size.worker_memory, size.client_memory, moved))
            times = map(_time, (size.step, size.counting, size.learning))
            cells = [*counts, *memory, *times]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _number(value: float) -> str:
    return f"{value:.2g}".replace("e+0", "e").replace("e+", "e")


def _bytes(size: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.2g} {name}" if size < 99.5 * unit else f"{size / unit:.0f} {name}"
    return f"{size / 1e3:.0f} kB"


def _time(seconds: float) -> str:
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.2g} {name}" if seconds < 99.5 * unit else f"{seconds / unit:.0f} {name}"
    return f"{seconds:.2g} s"

"""Analogies on a graphics card: the answers of ``analogy.py``, from products of all question words with the vocabulary.

A card adds up in another order, so two words whose scores are equal but for rounding could change places. Questions
where the best two are that close, a handful, are answered by the processor.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.evaluation.analogy import OFFSET, Method, answers_here
from wordforest.runtime.gpu import free_unused, memory_told, out_of_memory
from wordforest.vectors import Vectors

Tensor = Any

_CELLS = 1 << 28  # question words, or questions, x a block of the vocabulary: a gigabyte in float32
_SMALLEST = 1 << 16
_CLOSE = 1e-5  # more than rounding may change in a sum of a few hundred products
_CLOSE_RATIO = 1e-3  # the same over the smallest number that methods but the offset divide by


def answers_on(
    device: str, vectors: Vectors, asked: NDArray[np.int64], method: Method, *, cells: int = _CELLS
) -> NDArray[np.int64]:
    """Return the row of highest score for every question (a, b, c), (Q, 3) -> (Q,); ``cells`` bounds the memory."""
    if not len(asked):
        return np.zeros(0, dtype=np.int64)
    with memory_told("the vectors", "Use the device cpu."):
        while True:
            try:
                best, close = _answered(device, vectors, asked, method, cells)
                break
            except RuntimeError as error:
                if not out_of_memory(error) or cells <= _SMALLEST:
                    raise
            cells //= 2
            free_unused()
    if close.any():
        best[close] = answers_here(vectors, asked[close], method)
    return best


def _answered(
    device: str, vectors: Vectors, asked: NDArray[np.int64], method: Method, cells: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the best rows, and where the second best is as good but for rounding."""
    import torch

    words, places = np.unique(asked, return_inverse=True)
    there = torch.as_tensor(places.reshape(asked.shape)).to(device)  # (Q, 3) into words
    rows = torch.as_tensor(asked).to(device)
    asked_unit = torch.tensor(vectors.unit[words], device=device)  # (W, M)
    best = torch.zeros(len(asked), dtype=torch.int64, device=device)
    scores = torch.full((2, len(asked)), -torch.inf, device=device)  # of the best and of the second
    width = max(1, cells // len(words))
    height = max(1, cells // min(width, len(vectors)))
    for start in range(0, len(vectors), width):
        unit = torch.tensor(vectors.unit[start : start + width], device=device)
        near, far = method.tables(asked_unit @ unit.T)  # (W, width) each
        for first in range(0, len(asked), height):
            part = slice(first, first + height)
            found = _joined(near, far, there[part], method)
            _exclude(found, rows[part] - start)
            _keep_best(found, start, best[part], scores[:, part])
    first_score, second = scores
    margin = _CLOSE if method == OFFSET else _CLOSE_RATIO
    close = ~(first_score - second > margin * (1 + first_score.abs()))  # true where both are infinite
    return best.cpu().numpy(), close.cpu().numpy()


def _joined(near: Tensor, far: Tensor, places: Tensor, method: Method) -> Tensor:
    """Return the scores of a block of questions, (q, width)."""
    import torch

    join = getattr(torch, method.join.__name__)
    a, b, c = places.T
    scores = near[b]
    join(scores, far[a], out=scores)
    return join(scores, near[c], out=scores)


def _exclude(scores: Tensor, columns: Tensor) -> None:
    """Rule out the words of the questions, (q, 3), as far as they are columns of this block."""
    import torch

    question, which = torch.nonzero((columns >= 0) & (columns < scores.shape[1]), as_tuple=True)
    scores[question, columns[question, which]] = -torch.inf


def _keep_best(found: Tensor, start: int, best: Tensor, scores: Tensor) -> None:
    """Put the best word of a block in its place if it is better, and the two best scores so far."""
    import torch

    top = found.topk(min(2, found.shape[1]), dim=1)
    better = top.values[:, 0] > scores[0]
    best[better] = top.indices[:, 0][better] + start
    both = torch.cat([scores, top.values.T]).sort(0, descending=True).values
    scores.copy_(both[:2])

"""What depth does to related words: where their signs part, and where they use the same nodes.

The paper remarks that of animal, horse and elephant the coefficients that differ in sign are mostly at leaves, since
upper nodes hold what is general. Here this is measured over many words and their nearest neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.evaluation.bootstrap import Array, generator
from wordforest.evaluation.meaning.averages import TASK, mean_score, ratio
from wordforest.evaluation.meaning.cooccurrence import Places
from wordforest.evaluation.meaning.node_words import candidate_rows
from wordforest.evaluation.scores import Score
from wordforest.evaluation.word_rows import dense_rows, unit_rows
from wordforest.vectors import Vectors, forest_of

_SAMPLE = 1000
_AMONG = 20_000  # first candidates searched for neighbours
_BLOCK = 256


class Agreement(NamedTuple):
    """For each of W words and each depth, over its pairs with some other words, (W, depths) each.

    ``signs``: of the nodes that both words use, the share whose signs agree (1 for vectors without negatives).
    ``use``: of the nodes that at least one of them uses, the share that both do. nan where there are none.
    """

    signs: Array
    use: Array


def agreement(
    vectors: Vectors, candidates: Sequence[str], *, k: int = 10, n_words: int = _SAMPLE, seed: int = 0
) -> tuple[Agreement, Agreement]:
    """Return how ``n_words`` seeded words agree with their k nearest candidates by cosine, and with k random ones.

    Of more than 20,000 candidates the first, commonest ones are used.
    """
    candidates = candidates[:_AMONG]
    if not 1 <= k < len(candidates):
        raise InputError(f"k = {k}: expected from 1 to {len(candidates) - 1} neighbours among the candidates.")
    forest = forest_of(vectors)
    rng = generator(seed, TASK, "agreement")
    rows = candidate_rows(vectors, candidates)
    chosen = np.sort(rng.permutation(len(rows))[:n_words])  # places of the words among the candidates
    signs = np.sign(dense_rows(vectors, rows)).astype(np.int8)  # (K, M)
    near = _nearest(unit_rows(vectors, rows), chosen, k)
    step = rng.integers(1, len(rows), size=near.shape)  # never a whole turn, so never the word itself
    far = (chosen[:, None] + step) % len(rows)
    return _agreement(signs, chosen, near, forest), _agreement(signs, chosen, far, forest)


def hierarchy_scores(
    vectors: Vectors, candidates: Sequence[str], *, k: int = 10, n_words: int = _SAMPLE, seed: int = 0
) -> list[Score]:
    """Return by depth how often neighbours, and for comparison random words, agree in sign and in use.

    The paper's remark holds where signs of neighbours agree less at leaves than above. Intervals over words.
    """
    near, far = agreement(vectors, candidates, k=k, n_words=n_words, seed=seed)
    scores = []
    for measure in ("signs", "use"):
        for who, found in (("of neighbours", near), ("of random words", far)):
            values: Array = getattr(found, measure)
            for depth in range(values.shape[1]):
                name = f"{measure} {who} depth {depth}"
                scores.append(mean_score(name, "share", values[:, depth], seed=seed))
    return scores


def _nearest(unit: Array, chosen: Places, k: int) -> Places:
    """Return the k rows of largest cosine with each chosen row, itself left out, (W,) -> (W, k)."""
    near = np.empty((len(chosen), k), dtype=np.int64)
    for start in range(0, len(chosen), _BLOCK):
        block = chosen[start : start + _BLOCK]
        cosine = unit[block] @ unit.T  # (b, K)
        cosine[np.arange(len(block)), block] = -np.inf
        near[start : start + _BLOCK] = np.argsort(-cosine, axis=1, kind="stable")[:, :k]
    return near


def _agreement(signs: NDArray[np.int8], chosen: Places, others: Places, forest: Forest) -> Agreement:
    depths = np.arange(int(forest.depth.max()) + 1)
    level = (forest.depth[:, None] == depths[None]).astype(np.float64)  # (M, depths)
    same, both, either = (np.zeros((len(chosen), len(depths))) for _ in range(3))
    own = signs[chosen]  # (W, M)
    for other in others.T:
        product = own * signs[other]
        same += (product > 0) @ level
        both += (product != 0) @ level
        either += ((own != 0) | (signs[other] != 0)) @ level
    return Agreement(ratio(same, both), ratio(both, either))

"""How stable are nodes? The forest is learned again from either half of the rows, and nodes are matched."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.additive import AdditiveSettings, encode_additive
from wordforest.coder.fit import Fitted, Plan, fit
from wordforest.coder.forest import matched_nodes
from wordforest.coder.kernels import on_host
from wordforest.coder.rows import Rows

Array = NDArray[Any]

_PASSES = 2  # over the rows; more change little


def node_stability(rows: Rows, plan: Plan, fitted: Fitted) -> Array:
    """Return for every node of an additive forest the mean cosine with its match in two forests, (M,), 0 to 1.

    Each is learned from one half of the rows that the forest was learned from, as drawn by the seed, and then codes all
    of them. So a figure is of the words: a node that any half of them shows has 1.
    """
    chosen = AdditiveSettings(seed=plan.seed, drawn=getattr(plan.start, "drawn", False)).learned(rows.shape[0])
    sample, A = rows.take(chosen), fitted.A[chosen]
    order = np.random.default_rng((plan.seed, 5)).permutation(len(chosen))
    settings = {**plan.settings, "epochs": _PASSES}
    cosines = np.zeros((2, len(fitted.forest)))
    for number, half in enumerate(np.array_split(order, 2)):
        half = np.sort(half)
        own = replace(
            plan,
            seed=plan.seed + 1 + number,
            settings=settings,
            word_weights=None if plan.word_weights is None else plan.word_weights[chosen[half]],
            keys=None if plan.keys is None else plan.keys[chosen[half]],
        )
        found = fit(sample.take(half), own)
        codes = encode_additive(sample, found.D, found.forest, found.penalty.lam)
        first, _, cosine = matched_nodes(A, on_host(codes.A))
        cosines[number, first] = cosine
    return np.asarray(cosines.mean(0))

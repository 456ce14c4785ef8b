"""Training under confidence weights: how much pairs count, the start, and the weighted learner put in a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace as changed
from typing import Any

import numpy as np
from scipy import sparse

from wordforest.coder import kernels
from wordforest.coder.encode import check_learning_fits
from wordforest.coder.forest import Forest
from wordforest.coder.losses import Loss, weighing
from wordforest.coder.online import Learned
from wordforest.coder.spectral import SpectralStart
from wordforest.coder.weighted import OnPass, WeightedSettings, WeightedState, learn_weighted
from wordforest.counts import Counts, harmonic_weights
from wordforest.counts.association import counts_at
from wordforest.jobs.job import starting
from wordforest.runtime.gpu import memory_told
from wordforest.runtime.progress import Reporter
from wordforest.runtime.threads import Threads
from wordforest.settings import TrainSettings

_COUNTED = ("count", "glove")  # kinds of weights that look at counts


def pair_weights(X: sparse.csr_array, counts: Counts, kind: str, counting: Mapping[str, Any]) -> Any:
    """Return the weights (nnz,) of the stored pairs of X for ``--weights KIND``; None stands for 1.

    With a dynamic window counts are those of pairs at distance one.
    """
    seen = np.empty(0, dtype=X.dtype)
    if kind.startswith(_COUNTED):
        unit = int(harmonic_weights(int(counting["window"]))[0]) if counting.get("dynamic_window") else 1
        seen = counts_at(X, counts) / X.dtype.type(unit)
    return weighing(kind)(X.data, seen)


def learn_with_weights(
    X: sparse.csr_array, settings: TrainSettings, begun: WeightedState | None, report: Reporter, on_step: OnPass,
    *, executor: Threads, weights: Any,
) -> tuple[Learned, Forest, dict[str, Any]]:  # fmt: skip
    """Learn under the loss of the settings; return what was learned, the forest, and what was found."""
    loss, forest = Loss(weights, float(settings.zeros or 0)), settings.forest
    loss.check(X)
    check_learning_fits(X.shape[0], X.shape[1], len(forest))
    start = settings.start
    if isinstance(start, SpectralStart) and begun is None:
        start = changed(start, loss=loss, on_step=starting(report, X.shape[0]))
    advice = "Use fewer trees, or the device cpu."
    with memory_told(f"{X.nnz:,} pairs and {len(forest)} components", advice):
        placed = X if settings.device == "cpu" else kernels.DeviceRows.put(X, settings.device)
        first = None
        if start and begun is None:
            report.say(f"starting from {settings.begins_with}")
            rows = placed if isinstance(start, SpectralStart) else X
            found = start(rows, forest, nonnegative=settings.nonnegative, seed=settings.seed, executor=executor)
            first = found.D, found.A
        learned = learn_weighted(
            placed, loss, settings.penalty, len(forest),
            WeightedSettings(
                epochs=settings.epochs or 1, tol=settings.tol or 0.0, seed=settings.seed,
                nonnegative=settings.nonnegative,
            ),
            start=first, resume=begun, executor=executor, on_step=on_step,
        )  # fmt: skip
    learned = changed(learned, D=kernels.on_host(learned.D), A=kernels.on_host(learned.A))
    return learned, forest, {}

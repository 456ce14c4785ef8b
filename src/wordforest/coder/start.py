"""Where the dictionary begins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_atoms(n_contexts: int, n_components: int, seed: int) -> NDArray[np.float32]:
    """Return D (C, M) with random directions of length one as columns."""
    D = np.random.default_rng(seed).standard_normal((n_contexts, n_components), dtype=np.float32)
    return np.asarray(D / np.linalg.norm(D, axis=0))

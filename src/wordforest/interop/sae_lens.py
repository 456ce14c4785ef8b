"""SAELens: a folder that its ``SAE.load_from_disk`` takes, with a linear encoder in place of our solvers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest.coder.estimator import ForestCoder
from wordforest.errors import InputError
from wordforest.store.files import replaced, write_text
from wordforest.store.tensors import write_tensors

_RIDGE = 1e-3  # share of the mean square of a column
_WEIGHTS, _CONFIG = "sae_weights.safetensors", "cfg.json"


def write_sae_lens(coder: ForestCoder, X: Any, folder: str | Path, **metadata: Any) -> dict[str, float]:
    """Write a fitted coder as a JumpReLU autoencoder for SAELens; return what the linear encoder costs.

    Our codes come from a solver, those of SAELens from a product and a threshold. So the encoder is the one that
    foretells the codes of the rows X (n, C) best (ridge regression), and every threshold lets a latent be on in as many
    rows as its node is. Signed codes have two latents a node: M of them where the node is positive, M more where it is
    negative. ``metadata`` such as ``hook_name`` and ``model_name`` goes into ``cfg.json``, where ``parent`` also has
    the tree.

    What comes back: the share of the variance of X that is left ``unexplained`` by our codes and ``by_encoder``, and
    how many latents are ``active`` in a row and are so ``active_by_encoder``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> X = np.random.default_rng(0).standard_normal((500, 8))
        >>> coder = wf.ForestCoder(trees=2, branching=(2,), active=3, center=True, random_state=0).fit(X)
        >>> cost = wf.interop.write_sae_lens(coder, X, "sae", hook_name="blocks.14.hook_resid_post")
        >>> cost["unexplained"] < cost["by_encoder"]
        True
    """
    X = np.asarray(X)
    if X.ndim != 2 or len(X) < 2:
        raise InputError(f"X has shape {X.shape}, but the encoder is fitted to at least two rows, (n, C).")
    A, D = coder.transform(X), coder.components_
    if (A < 0).any():
        A, D = np.hstack((np.maximum(A, 0), np.maximum(-A, 0))), np.vstack((D, -D))
    offset = (X - A @ D).mean(axis=0)  # what is best added to all rows
    encoder, bias = _encoder(X - offset, A)
    before = (X - offset) @ encoder + bias
    threshold = _thresholds(before, A)
    codes = np.where(before > threshold, before, 0)
    arrays = {"W_enc": encoder, "b_enc": bias, "W_dec": D, "b_dec": offset, "threshold": threshold}
    config = {
        "architecture": "jumprelu",
        "d_in": X.shape[1],
        "d_sae": len(D),
        "dtype": "float32",
        "device": "cpu",
        "apply_b_dec_to_input": True,
        "normalize_activations": "none",
        "reshape_activations": "none",
        "metadata": {**metadata, "parent": coder.forest_.parent.tolist()},
    }
    with replaced(Path(folder), (_WEIGHTS, _CONFIG), _CONFIG) as staging:
        write_tensors(staging / _WEIGHTS, {name: array.astype(np.float32) for name, array in arrays.items()})
        write_text(staging / _CONFIG, json.dumps(config))
    energy = float(((X - X.mean(axis=0)) ** 2).sum())
    left = [float(((X - offset - one @ D) ** 2).sum()) / energy if energy > 0 else 0.0 for one in (A, codes)]
    active = [float((one != 0).sum(axis=1).mean()) for one in (A, codes)]
    return dict(zip(("unexplained", "by_encoder", "active", "active_by_encoder"), (*left, *active), strict=True))


def _encoder(X: NDArray[Any], A: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the matrix (C, M) and the bias (M,) that foretell codes A (n, M) from rows X (n, C) best."""
    mean, own = X.mean(axis=0), A.mean(axis=0)
    centred = (X - mean).astype(np.float64)
    products = centred.T @ centred
    products[np.diag_indices_from(products)] += _RIDGE * max(float(np.diag(products).mean()), np.finfo(float).tiny)
    encoder = np.linalg.solve(products, centred.T @ (A - own))
    return encoder, own - mean @ encoder


def _thresholds(before: NDArray[Any], A: NDArray[Any]) -> NDArray[Any]:
    """Return thresholds (M,), at or above zero, that let each latent be on in as many rows as in A (n, M)."""
    ordered = np.sort(before, axis=0)[::-1]  # the largest first
    on, columns = np.count_nonzero(A, axis=0), np.arange(A.shape[1])
    last, next_one = ordered[np.maximum(on - 1, 0), columns], ordered[np.minimum(on, len(A) - 1), columns]
    between = np.where(on == len(A), 0.0, np.where(on == 0, last, (last + next_one) / 2))  # no row is at a threshold
    return np.maximum(between, 0.0)

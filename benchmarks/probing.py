"""Can labels of texts be told from few latents? The probing of sae-probes 0.4, for benchmarks/language_models.py.

sae-probes carries 113 sets of texts with two classes each. Of these every EVERY-th is taken, in the order of their
numbers, and of a set TRAIN texts to learn from and TEST to judge by, drawn by sae-probes's own function, half of either
class. A text is the border token and its last LENGTH tokens; its row is what SmolLM2 has after LAYER layers at the
last one. Methods are learned from activations of a corpus, as examples/smollm2.py makes them, not from these texts.

Probes are sae-probes's: the n latents whose means differ most between the classes, each latent divided by its mean
where it is not zero, and a logistic regression on them, its ridge chosen by a fifth of the texts to learn from. The
score is the area under the curve in the texts to judge by.
"""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordforest.evaluation.bootstrap import N_RESAMPLES, interval

sys.path.append(str(Path(__file__).parents[1]))  # examples

EVERY, TRAIN, TEST = 9, 256, 144
LENGTH, LAYER = 64, 15
PROBED = (1, 16, None)  # latents of a probe; None: all
BATCH = 32


class Texts(NamedTuple):
    """A set of texts: their rows X (n, C) and classes y (n,); the first TRAIN are learned from."""

    name: str
    X: np.ndarray
    y: np.ndarray


def made(corpus: str, n_rows: int, folder: Path) -> tuple[np.ndarray, list[Texts]]:
    """Return activations (n_rows, C) of a corpus and the sets of texts, from the folder if they are there."""
    path = folder / f"rows-{n_rows}.npz"
    if not path.exists():
        from examples import smollm2

        model = smollm2.load()
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {"corpus": corpus_rows(model, corpus, n_rows)}
        for name in set_names():
            texts, arrays[f"y {name}"] = drawn(name)
            arrays[f"X {name}"] = last_rows(model, texts)
        np.savez(path.with_suffix(".part.npz"), **arrays)
        path.with_suffix(".part.npz").replace(path)
    with np.load(path) as kept:
        names = [key[2:] for key in kept.files if key.startswith("X ")]
        return kept["corpus"], [Texts(name, kept[f"X {name}"], kept[f"y {name}"]) for name in names]


def set_names() -> list[str]:
    from sae_probes.utils_data import get_numbered_binary_tags

    return sorted(get_numbered_binary_tags(), key=lambda name: int(name.split("_")[0]))[::EVERY]


def drawn(name: str) -> tuple[list[str], np.ndarray]:
    """Return the texts of a set and their classes, those to learn from first."""
    from sae_probes.utils_data import get_train_test_indices, get_yvals, read_numbered_dataset_df

    y = get_yvals(name)
    chosen = np.concatenate(get_train_test_indices(y, TRAIN, TEST))
    texts = read_numbered_dataset_df(name)["prompt"].tolist()
    return [texts[i] for i in chosen], y[chosen]


def corpus_rows(model: Any, corpus: str, n: int) -> np.ndarray:
    """Return the activations of the first n tokens of a corpus, (n, C), without those that smollm2 leaves out."""
    import fsspec

    from examples import smollm2

    blocks, found = [], 0
    with fsspec.open(corpus, "rt", compression="infer", encoding="utf-8") as lines:
        for block in smollm2.activations(model, lines, LAYER):
            blocks.append(block.X)
            if (found := found + len(block.X)) >= n:
                break
    return np.concatenate(blocks)[:n]


def last_rows(model: Any, texts: Sequence[str], layer: int = LAYER) -> np.ndarray:
    """Return the activation of the last token of every text, (n, C). What comes behind it changes nothing."""
    import torch

    from examples import smollm2

    border = model.tokenizer.token_to_id(smollm2.BORDER)
    ids = [[border, *model.tokenizer.encode(text).ids[-LENGTH:]] for text in texts]
    order = iter(sorted(range(len(ids)), key=lambda i: len(ids[i])))
    X = np.empty((len(ids), model.embeddings.shape[1]), dtype=np.float32)
    while batch := list(islice(order, BATCH)):
        longest = max(len(ids[i]) for i in batch)
        tokens = torch.tensor([ids[i] + [border] * (longest - len(ids[i])) for i in batch])
        found = smollm2.residuals(model, tokens, layer).numpy()
        for place, i in enumerate(batch):
            X[i] = found[place, len(ids[i]) - 1]
    return X


def scores(code: Callable[[np.ndarray], np.ndarray], sets: Sequence[Texts]) -> dict[str, list[float]]:
    """Return the area under the curve of every set, by the number of latents probed."""
    import torch
    from sae_probes.run_sae_evals import get_sorted_indices, mean_act_normalization
    from sae_probes.utils_training import find_best_reg

    found: dict[str, list[float]] = {named(n): [] for n in PROBED}
    for texts in sets:
        A, y = torch.as_tensor(np.asarray(code(texts.X), dtype=np.float32)), torch.as_tensor(texts.y)
        order = get_sorted_indices(A[:TRAIN], y[:TRAIN], mean_act_normalization)
        for n in PROBED:
            own = A[:, order[:n]].numpy()
            with contextlib.redirect_stdout(io.StringIO()):
                best = find_best_reg(own[:TRAIN], texts.y[:TRAIN], own[TRAIN:], texts.y[TRAIN:])
            found[named(n)].append(best.metrics.test_auc)
    return found


def named(n: int | None) -> str:
    return "all" if n is None else str(n)


def cells(found: dict[str, list[float]], beside: dict[str, list[float]]) -> dict[str, str]:
    """Return mean areas over sets with intervals, and how much more that is than the first method's, set by set."""
    own = {f"probe of {n}": with_interval(np.array(values), ".3f") for n, values in found.items()}
    more = {f"{n}, less the first": with_interval(np.array(values) - beside[n], "+.3f") for n, values in found.items()}
    return own | ({} if found is beside else more)


def with_interval(values: np.ndarray, form: str) -> str:
    """Return the mean of sets with its 95 % interval, sets drawn anew."""
    drawn_again = np.random.default_rng(0).integers(len(values), size=(10 * N_RESAMPLES, len(values)))
    low, high = interval(values[drawn_again].mean(1))
    return f"{values.mean():{form}} [{low:{form}}, {high:{form}}]"

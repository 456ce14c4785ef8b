"""A made-up collection: four subjects with words of their own, two of them alike, and words that all share."""

from __future__ import annotations

import numpy as np

SUBJECTS = {
    "bikes": "bike chain wheel ride pedal saddle gear brake helmet tyre",
    "cars": "car engine clutch wheel drive gear brake petrol tyre bonnet",
    "bread": "bread flour yeast oven bake dough loaf crust salt knead",
    "cakes": "cake sugar egg oven bake butter flour cream icing salt",
}
_SHARED = ["the", "a", "of", "and", "to", "in", "it", "that", "was", "for", "on", "with", "as", "by", "at", "from"]


def collection(n: int = 200, seed: int = 0) -> tuple[list[str], list[str]]:
    """Return n documents and their subjects."""
    rng = np.random.default_rng(seed)
    names = rng.choice([*SUBJECTS], n)
    texts = [" ".join([*rng.choice(SUBJECTS[name].split(), 12), *rng.choice(_SHARED, 8)]) for name in names]
    return texts, names.tolist()

"""A small experiment, and a reporter that remembers: what tests of reproduce share."""

from __future__ import annotations

from wordforest.runtime.progress import Reporter

SMALL = """
title = "A small table"
reference = "FOREST"
halves = true

[count]
min_count = 5

[[model]]
name = "PCA"
method = "pca"
sizes = [13]
seeds = [0, 1]

[[model]]
name = "PCA, flat"
method = "pca"
sizes = [13]
seeds = [0, 1]
scale = 0.0

[[model]]
name = "FOREST"
method = "forest"
sizes = [13]
options = { lam = 0.05 }

[paper.13]
FOREST = { similarity = 0.52, syntactic = 24.38 }

[quick]
corpus = "demo"
sizes = [13]
[quick.options]
forest = { epochs = 1 }
"""


class Said(Reporter):
    """Remembers what was said."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)

    @property
    def commands(self) -> list[str]:
        return [line for line in self.lines if line.startswith("wordforest ")]

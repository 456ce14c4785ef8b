"""Which neighbours are phrases: words that stand side by side far more often than by chance.

The measure is the normalised PMI, ``ln(p(ab) / p(a) p(b)) / -ln p(ab)``: 0 by chance, 1 for words that never go alone,
whatever their frequency. Very frequent words, those of grammar above all, need more of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordforest.counts.windows import WindowRules
from wordforest.text.phrases import Phrase
from wordforest.text.tokens import NUMBER, RARE

LEVELS = 2
LEAST = 10  # times that words stand side by side
NEIGHBOURS = WindowRules(window=1, mark_sides=True)  # what is counted: the second half of the columns are right ones
_NPMI = 0.5
_FREQUENT, _NPMI_FREQUENT = 1 / 500, 0.7  # has_been, of_the and their like are below, united_states is above


def choose_phrases(tally: Any, level: int, least: int) -> tuple[Phrase, ...]:
    """Return the phrases among neighbours that were counted, the most frequent first.

    A ``tally`` has a vocabulary, ``indptr``, and ``parts()``, which yields columns and counts of rows in order.
    """
    words, times = tally.vocabulary.words, tally.vocabulary.counts
    total, n_words, done = times.sum(), len(words), 0
    share = times / total
    barred = np.array([word in (RARE, NUMBER) for word in words])
    found = []
    for columns, counts in tally.parts():
        rows = np.searchsorted(tally.indptr, np.arange(done, done + len(columns)), side="right") - 1
        done += len(columns)
        kept = np.flatnonzero((columns >= n_words) & (counts >= least))
        a, b, p = rows[kept], columns[kept] - n_words, counts[kept] / total
        npmi = np.log(p / (share[a] * share[b])) / -np.log(p)
        needed = np.where(np.maximum(share[a], share[b]) > _FREQUENT, _NPMI_FREQUENT, _NPMI)
        taken = (npmi >= needed) & ~barred[a] & ~barred[b]
        found += [
            Phrase(level, words[i], words[j], int(n), round(float(score), 4))
            for i, j, n, score in zip(a[taken], b[taken], counts[kept][taken], npmi[taken], strict=True)
        ]
    return tuple(sorted(found, key=lambda one: (-one.times, one.first, one.second)))

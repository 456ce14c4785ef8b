"""Token ids to sparse window counts: what a pair of words is, and counting pairs of any corpus in bounded memory."""

from wordforest.counts.tally import Counts, Tally, add_counts, count, count_windows, tally_corpus
from wordforest.counts.thinning import keep_probability
from wordforest.counts.windows import WindowRules, harmonic_weights

__all__ = [
    "Counts", "Tally", "WindowRules", "add_counts", "count", "count_windows", "harmonic_weights", "keep_probability",
    "tally_corpus",
]  # fmt: skip

"""Token ids to sparse window counts: what a pair of words is, and counting pairs of any corpus in bounded memory."""

from wordforest.counts.tally import Counts, Tally, count, tally_corpus
from wordforest.counts.windows import WindowRules, harmonic_weights, keep_probability

__all__ = ["Counts", "Tally", "WindowRules", "count", "harmonic_weights", "keep_probability", "tally_corpus"]

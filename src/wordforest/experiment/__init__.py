"""Jobs: a corpus and frozen settings in, a run or counts out."""

from wordforest.experiment.baselines import METHODS, baseline
from wordforest.experiment.counting import associate, count_corpus, held_out
from wordforest.experiment.encoding import encode_counts
from wordforest.experiment.extending import count_extendable
from wordforest.experiment.forest import train
from wordforest.settings import CountSettings, TrainSettings

__all__ = [
    "METHODS", "CountSettings", "TrainSettings", "associate", "baseline", "count_corpus", "count_extendable",
    "encode_counts", "held_out", "train",
]  # fmt: skip

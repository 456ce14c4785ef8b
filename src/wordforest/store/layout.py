"""What lies in RUN and COUNTS folders."""

RUN_FILES = (
    "config.json",
    "vocab.tsv",
    "codes.safetensors",
    "dictionary.safetensors",
    "forest.json",
    "history.jsonl",
)
COUNTS_FILES = ("config.json", "vocab.tsv", "counts.safetensors")
ALL_WORDS = "all"  # inside COUNTS: counts of all words, so that text can be added
COUNTS = "counts"  # inside RUN: the counts it was made of, where it counted text itself; a new run leaves them
CHECKPOINT = "checkpoint"  # inside both, while they are made
RESULTS = (*dict.fromkeys(("codes.safetensors", "counts.safetensors", *RUN_FILES, *COUNTS_FILES, ALL_WORDS)),)

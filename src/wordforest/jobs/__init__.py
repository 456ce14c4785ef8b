"""Jobs: a corpus and frozen settings in, a run or counts out; each owns its folder."""

"""A corpus as vocabulary rows, sentence after sentence, for baselines that read text in order."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest import store
from wordforest.errors import InputError
from wordforest.jobs.count import reading
from wordforest.jobs.job import Job
from wordforest.runtime.progress import Event
from wordforest.settings import CountSettings
from wordforest.text import Vocabulary, choose_words, read_tokens
from wordforest.text.reader import find_sources, total_bytes

_PIECE = 1 << 22  # ids renumbered at a time


@dataclass(frozen=True, eq=False)
class Sentences:
    """``ids`` are rows of the vocabulary, on disk, -1 between sentences; ``config`` is how they were read."""

    ids: NDArray[np.int32]
    vocabulary: Vocabulary
    config: dict[str, Any]

    @property
    def n_tokens(self) -> int:
        """Number of tokens, sentence borders not counted."""
        return int(self.vocabulary.counts.sum())


def read_sentences(job: Job, names: list[str], settings: CountSettings) -> Sentences:
    """Return the text as rows of its vocabulary."""
    if len(names) == 1 and store.is_counts_folder(Path(names[0])):
        raise InputError(f"{names[0]}: this baseline reads sentences, but counts have none. Give the text itself.")
    sources = find_sources(names)
    on_progress = reading(total_bytes(sources), job.report)
    tokens = read_tokens(
        sources,
        settings.rules,
        executor=job.executor,
        scratch_folder=job.folder,
        on_progress=lambda *at: on_progress("read", *at),
    )
    job.report(Event("read", tokens.n_tokens, tokens.n_tokens, "tokens"))
    vocabulary, rows = choose_words(tokens.words, tokens.counts, settings.words)
    lookup = np.append(rows, np.int32(-1))  # a sentence border, -1, finds the last
    with tempfile.TemporaryFile(dir=job.folder) as spool:  # the ids mapped from it outlive the handle
        for start in range(0, len(tokens.ids), _PIECE):
            spool.write(lookup[tokens.ids[start : start + _PIECE]].tobytes())
        spool.flush()
        ids = np.memmap(spool, dtype=np.int32, mode="r")
    config = {**asdict(settings.words), **asdict(settings.rules), "corpus": names, "fingerprint": tokens.fingerprint}
    return Sentences(ids, vocabulary, config)

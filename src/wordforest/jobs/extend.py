"""Adding text to counts, exactly: the counts of all words, rare ones too, are kept beside those of the vocabulary.

Pairs of a word that has become ``#rare#`` cannot be told apart again. So a folder that text may be added to has a
folder ``all`` inside, counted without a least count. Its words are pooled into ``#rare#`` only at the end, by their
counts in all the text: a word that crosses the least count later has all its pairs, from the first text on.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from wordforest import store
from wordforest.counts import Counts, Tally
from wordforest.counts.joining import Addend, joined
from wordforest.errors import InputError
from wordforest.jobs.count import count_config, count_into, load_counts
from wordforest.jobs.job import Job
from wordforest.runtime.disk import ScratchFiles
from wordforest.settings import CountSettings
from wordforest.store.files import ALL_WORDS
from wordforest.store.folders import save_counts
from wordforest.text import Vocabulary, choose_words

_SHAPING = ("window", "dynamic_window", "mark_sides", "tokenizer", "lowercase", "numbers")
_NEW = "new"  # folder inside a checkpoint: counts of all words of the text to add


def corpus_before(add: Path | None, asked: CountSettings) -> list[str]:
    """Return the corpus of counts that text is to be added to, after checking that it can be."""
    if asked.subsample:
        raise InputError("subsample depends on all the text, so none can be added later. Leave one of the two out.")
    if add is None:
        return []
    if not store.is_counts_folder(add / ALL_WORDS):
        raise InputError(
            f"{add}: text can be added only to counts made with --extendable: the pairs of rare words are needed, "
            "which other counts do not have. Count all the text again, with --extendable."
        )
    config = store.read_json(add / ALL_WORDS / "config.json")
    for name in _SHAPING:
        if config.get(name) != getattr(asked, name):
            raise InputError(
                f"{name} = {getattr(asked, name)}, but {add} was counted with {name} = {config.get(name)}. "
                "Use the same settings to add to it."
            )
    return list(config["corpus"])


def extend_into(job: Job, names: list[str], asked: CountSettings, add: Path | None) -> None:
    """Count text, add it to the counts of ``add``, and write counts of all words and, pooled, of the vocabulary."""
    assert job.folder  # noqa: S101 counts go there
    if add is not None and job.folder.resolve() == add.resolve():
        raise InputError(f"{job.folder}: the counts to add to would be replaced. Choose another --out.")
    job.begin({"corpus": names, "add": None if add is None else str(add), **asdict(asked)})
    checkpoint = store.checkpoint_folder(job.folder)
    everything = replace(asked, min_count=1, max_vocab=None, keep_words=(), max_contexts=None)
    if not store.is_counts_folder(checkpoint / _NEW) or store.has_checkpoint(checkpoint / _NEW):
        with job.inside(checkpoint / _NEW) as part:
            count_into(part, names, everything)
    parts = [load_counts(checkpoint / _NEW, 0, checked=False).counts]
    if add is not None:
        parts.insert(0, load_counts(add / ALL_WORDS, job.memory // 2).counts)
    corpus = [*corpus_before(add, asked), *names]
    with closing(ScratchFiles(checkpoint, job.memory)) as scratch:
        whole, all_words = _joined(parts, asked, scratch, job), checkpoint / ALL_WORDS
        _save(all_words, whole, corpus, everything)
        counts = pooled(load_counts(all_words, 0, checked=False).counts, asked, scratch, job)
        _save(job.folder, counts, corpus, asked, all_words)


def pooled(whole: Counts, settings: CountSettings, scratch: ScratchFiles, job: Job) -> Tally:
    """Return the counts of the vocabulary that the settings choose from counts of all words."""
    vocabulary, rows = choose_words(list(whole.vocabulary.words), whole.vocabulary.counts, settings.words)
    n_contexts, n_columns = settings.windows.contexts(len(vocabulary)), settings.windows.columns(len(vocabulary))
    columns = np.where(rows < n_contexts, rows, -1).astype(np.int32)
    if settings.mark_sides:
        columns = np.concatenate((columns, np.where(columns < 0, -1, columns + n_contexts))).astype(np.int32)
    part = Addend(whole.matrix, rows, columns)
    return joined([part], vocabulary, whole.fingerprint, (n_columns, 2 * settings.window), scratch, job.executor)


def _joined(parts: list[Counts], asked: CountSettings, scratch: ScratchFiles, job: Job) -> Tally:
    """Add up counts of all words of several corpora."""
    totals = Counter[str]()
    for part in parts:
        totals.update(dict(zip(part.vocabulary.words, part.vocabulary.counts.tolist(), strict=True)))
    words = sorted(totals, key=lambda word: (-totals[word], word))
    vocabulary, sides = Vocabulary(words, [totals[word] for word in words]), 2 if asked.mark_sides else 1
    moved = []
    for part in parts:
        rows = np.array([vocabulary.index[word] for word in part.vocabulary.words], dtype=np.int32)
        columns = np.concatenate([rows + side * len(words) for side in range(sides)]).astype(np.int32)
        moved.append(Addend(part.matrix, rows, columns))
    prints = [part.fingerprint for part in parts]
    fingerprint = prints[0] if len(prints) == 1 else hashlib.sha256(" ".join(prints).encode()).hexdigest()
    size = (sides * len(words), 2 * asked.window)
    return joined(moved, vocabulary, fingerprint, size, scratch, job.executor)


def _save(
    folder: Path, tally: Tally, corpus: list[str], settings: CountSettings, all_words: Path | None = None
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = count_config(corpus, settings, tally.fingerprint)
    save_counts(folder, tally.vocabulary.words, tally.vocabulary.counts, tally, config, all_words=all_words)

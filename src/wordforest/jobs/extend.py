"""Adding text to counts, exactly: the counts of all words, rare ones too, are kept beside those of the vocabulary.

Pairs of a word that has become ``#rare#`` cannot be told apart again. So a folder that text may be added to has a
folder ``all`` inside, counted without a least count. Its words are pooled into ``#rare#`` only at the end, by their
counts in all the text: a word that crosses the least count later has all its pairs, from the first text on.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import asdict
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import numpy as np

from wordforest import store
from wordforest.counts import Counts, Tally
from wordforest.counts.joining import Addend, joined
from wordforest.errors import InputError
from wordforest.jobs.count import (
    Corpus,
    Counted,
    check_readable_again,
    count_config,
    count_into,
    load_counts,
    names_of,
)
from wordforest.jobs.job import Job
from wordforest.options import check_known
from wordforest.runtime.progress import Reporter
from wordforest.runtime.scratch import ScratchFiles
from wordforest.runtime.threads import Threads
from wordforest.settings import CountSettings
from wordforest.store.counts import save_counts
from wordforest.store.layout import ALL_WORDS
from wordforest.text import Vocabulary, choose_words

_SHAPING = ("window", "dynamic_window", "mark_sides", "tokenizer", "lowercase", "numbers")
_NEW = "new"  # folder inside a checkpoint: counts of all words of the text to add


def count_extendable(
    corpus: Corpus,
    out: str | Path,
    *,
    add: str | Path | None = None,
    force: bool = False,
    resume: bool = False,
    workers: int | None = None,
    memory: int | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Counts:
    """Count a corpus into a folder that text can be added to; ``add`` names such a folder, whose text is counted too.

    The result, mapped from its file, is what counting all the text at once would give. ``memory`` and ``resume`` are
    those of ``count_corpus``.
    """
    check_known(settings, [*CountSettings.__dataclass_fields__])
    asked = CountSettings(**settings)
    if asked.subsample:
        raise InputError("subsample depends on all the text, so none can be added later. Leave one of the two out.")
    names = names_of(corpus)
    with Job(out, force=force, resume=resume, workers=workers, memory=memory, report=report) as job:
        old = None if add is None else _before(Path(add), asked, job.memory)
        corpora = [*(old.config["corpus"] if old else []), *names]
        if not job.is_complete(store.is_counts_folder, {"corpus": corpora, **asdict(asked)}):
            check_readable_again(names, resume)
            if add is not None and Path(out).resolve() == Path(add).resolve():
                raise InputError(f"{out}: the counts to add to would be replaced. Choose another --out.")
            job.begin({"corpus": names, "add": None if add is None else str(add), **asdict(asked)})
            _extend(job, Path(out), names, asked, old)
        return load_counts(Path(out), 0, checked=False).counts


def _extend(job: Job, folder: Path, names: list[str], asked: CountSettings, old: Counted | None) -> None:
    """Count new text, add up, and write counts of all words and, pooled, of the vocabulary."""
    new = _count_all(job, folder, names, asked)
    with closing(ScratchFiles(store.checkpoint_folder(folder), job.memory)) as place:
        whole, config = _joined([part for part in (old, new) if part], asked, place, job.threads)
        all_words = store.checkpoint_folder(folder) / ALL_WORDS
        _save(all_words, whole, config)
        counts = pooled(load_counts(all_words, 0, checked=False).counts, asked, place, job.threads)
        _save(folder, counts, count_config(config["corpus"], asked, str(config["fingerprint"])), all_words)
    job.end(f"{len(counts.vocabulary)} words, {int(counts.indptr[-1])} pairs")


def pooled(whole: Counts, settings: CountSettings, place: ScratchFiles, executor: Threads) -> Tally:
    """Return the counts of the vocabulary that the settings choose from counts of all words."""
    vocabulary, rows = choose_words(list(whole.vocabulary.words), whole.vocabulary.counts, settings.words)
    n_contexts, n_columns = settings.windows.contexts(len(vocabulary)), settings.windows.columns(len(vocabulary))
    columns = np.where(rows < n_contexts, rows, -1).astype(np.int32)
    if settings.mark_sides:
        columns = np.concatenate((columns, np.where(columns < 0, -1, columns + n_contexts))).astype(np.int32)
    part = Addend(whole.matrix, rows, columns)
    return joined([part], vocabulary, whole.fingerprint, (n_columns, 2 * settings.window), place, executor)


def _before(folder: Path, asked: CountSettings, memory: int) -> Counted:
    if not store.is_counts_folder(folder / ALL_WORDS):
        raise InputError(
            f"{folder}: text can be added only to counts made with --extendable: the pairs of rare words are needed, "
            "which other counts do not have. Count all the text again, with --extendable."
        )
    found = load_counts(folder / ALL_WORDS, memory // 2)
    for name in _SHAPING:
        if found.config.get(name) != getattr(asked, name):
            raise InputError(
                f"{name} = {getattr(asked, name)}, but {folder} was counted with {name} = {found.config.get(name)}. "
                "Use the same settings to add to it."
            )
    return found


def _count_all(job: Job, folder: Path, names: list[str], asked: CountSettings) -> Counted:
    """Count all words of the new text inside the checkpoint, unless an earlier try has done so."""
    everything = changed(asked, min_count=1, max_vocab=None, keep_words=(), max_contexts=None)
    place = store.checkpoint_folder(folder) / _NEW
    if not store.is_counts_folder(place) or store.has_checkpoint(place):
        with job.inside(place) as part:
            count_into(part, names, everything)
    return load_counts(place, 0, checked=False)


def _joined(
    parts: list[Counted], asked: CountSettings, place: ScratchFiles, executor: Threads
) -> tuple[Tally, dict[str, Any]]:
    """Add up counts of all words of several corpora."""
    totals: dict[str, int] = {}
    for counts in (part.counts for part in parts):
        for word, n in zip(counts.vocabulary.words, counts.vocabulary.counts.tolist(), strict=True):
            totals[word] = totals.get(word, 0) + n
    words = sorted(totals, key=lambda word: (-totals[word], word))
    vocabulary, sides = Vocabulary(words, [totals[word] for word in words]), 2 if asked.mark_sides else 1
    prints = [part.counts.fingerprint for part in parts]
    fingerprint = prints[0] if len(prints) == 1 else hashlib.sha256(" ".join(prints).encode()).hexdigest()
    moved = []
    for counts in (part.counts for part in parts):
        rows = np.array([vocabulary.index[word] for word in counts.vocabulary.words], dtype=np.int32)
        columns = np.concatenate([rows + side * len(words) for side in range(sides)]).astype(np.int32)
        moved.append(Addend(counts.matrix, rows, columns))
    size = (sides * len(words), 2 * asked.window)
    whole = joined(moved, vocabulary, fingerprint, size, place, executor)
    corpora = [name for part in parts for name in part.config["corpus"]]
    return whole, {**parts[-1].config, "corpus": corpora, "fingerprint": fingerprint}


def _save(folder: Path, tally: Tally, config: dict[str, Any], all_words: Path | None = None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_counts(folder, tally.vocabulary.words, tally.vocabulary.counts, tally, config, all_words=all_words)

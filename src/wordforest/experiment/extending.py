"""Adding text to counts, exactly: the counts of all words, rare ones too, are kept beside those of the vocabulary.

Pairs of a word that has become ``#rare#`` cannot be told apart again. So a folder that text may be added to has a
folder ``all`` inside, counted without a least count. Its words are pooled into ``#rare#`` only at the end, by their
counts in all the text: a word that crosses the least count later has all its pairs, from the first text on.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest import store
from wordforest.counts import Counts, add_counts
from wordforest.errors import InputError
from wordforest.execution import Threads
from wordforest.experiment.counting import (
    Corpus,
    count_config,
    count_names,
    load_counts,
    names_of,
    threads,
)
from wordforest.experiment.output import output
from wordforest.experiment.output import replace as make_room
from wordforest.progress import Reporter
from wordforest.settings import CountSettings, check_known
from wordforest.store.names import ALL_WORDS
from wordforest.text import Vocabulary, choose_words
from wordforest.text.windows import narrow

_SHAPING = ("window", "dynamic_window", "mark_sides", "tokenizer", "lowercase", "numbers")


def count_extendable(
    corpus: Corpus,
    out: str | Path,
    *,
    add: str | Path | None = None,
    force: bool = False,
    workers: int | None = None,
    report: Reporter | None = None,
    **settings: Any,
) -> Counts:
    """Count a corpus into a folder that text can be added to; ``add`` names such a folder, whose text is counted too.

    The result is what counting all the text at once would give. All of it is in memory meanwhile.
    """
    report = report or Reporter()
    check_known(settings, [*CountSettings.__dataclass_fields__])
    asked = CountSettings(**settings)
    if asked.subsample:
        raise InputError("subsample depends on all the text, so none can be added later. Leave one of the two out.")
    names, executor = names_of(corpus), threads(workers)
    old = None if add is None else _before(Path(add), asked)
    with output(out, force) as folder:
        assert folder  # noqa: S101 out was given
        if add is not None and folder.resolve() == Path(add).resolve():
            raise InputError(f"{folder}: the counts to add to would be replaced. Choose another --out.")
        whole, config = _count_all(names, asked, executor, folder, report)
        if old:
            whole, config = _joined(*old, whole, config, sides=asked.mark_sides)
        counts = pooled(whole, asked)
        make_room(folder, force)
        named = count_config(config["corpus"], asked, str(config["fingerprint"]))
        store.save_counts(folder, *_parts(counts), named, all_words=(*_parts(whole), config))
        report.say(f"wrote {folder}: {len(counts.vocabulary)} words, {counts.matrix.nnz} pairs")
    return counts


def pooled(whole: Counts, settings: CountSettings) -> Counts:
    """Return the counts of the vocabulary that the settings choose from counts of all words."""
    words = list(whole.vocabulary.words)
    vocabulary, rows = choose_words(words, whole.vocabulary.counts, settings.words)
    n_contexts, n_all = settings.windows.contexts(len(vocabulary)), len(words)
    pairs = whole.matrix.tocoo()
    right, context = np.divmod(pairs.col, n_all)  # right is 1 where sides are marked and the context is on the right
    column = rows[context]
    counted = column < n_contexts
    columns = (column + right * n_contexts)[counted]
    shape = (len(vocabulary), settings.windows.columns(len(vocabulary)))
    return Counts(_summed(rows[pairs.row[counted]], columns, pairs.data[counted], shape), vocabulary, whole.fingerprint)


def _before(folder: Path, asked: CountSettings) -> tuple[Counts, dict[str, Any]]:
    if not store.is_counts_folder(folder / ALL_WORDS):
        raise InputError(
            f"{folder}: text can be added only to counts made with --extendable: the pairs of rare words are needed, "
            "which other counts do not have. Count all the text again, with --extendable."
        )
    counts, config = load_counts(folder / ALL_WORDS)
    for name in _SHAPING:
        if config.get(name) != getattr(asked, name):
            raise InputError(
                f"{name} = {getattr(asked, name)}, but {folder} was counted with {name} = {config.get(name)}. "
                "Use the same settings to add to it."
            )
    return counts, config


def _count_all(
    names: list[str], asked: CountSettings, executor: Threads, folder: Path, report: Reporter
) -> tuple[Counts, dict[str, Any]]:
    everything = replace(asked, min_count=1, max_vocab=None, keep_words=(), max_contexts=None)
    return count_names(names, everything, executor, folder, report)


def _joined(
    old: Counts, old_config: dict[str, Any], new: Counts, config: dict[str, Any], *, sides: bool
) -> tuple[Counts, dict[str, Any]]:
    """Add up counts of all words of two corpora."""
    totals: dict[str, int] = {}
    for part in (old, new):
        for word, n in zip(part.vocabulary.words, part.vocabulary.counts.tolist(), strict=True):
            totals[word] = totals.get(word, 0) + n
    words = sorted(totals, key=lambda word: (-totals[word], word))
    vocabulary = Vocabulary(words, [totals[word] for word in words])
    matrices = [_renumbered(part, vocabulary, sides=sides) for part in (old, new)]
    fingerprint = hashlib.sha256(f"{old.fingerprint} {new.fingerprint}".encode()).hexdigest()
    joined = Counts(add_counts(*matrices), vocabulary, fingerprint)
    return joined, {**config, "corpus": [*old_config["corpus"], *config["corpus"]], "fingerprint": fingerprint}


def _renumbered(counts: Counts, vocabulary: Vocabulary, *, sides: bool) -> Any:
    rows = np.array([vocabulary.index[word] for word in counts.vocabulary.words], dtype=np.int64)
    pairs, n = counts.matrix.tocoo(), len(vocabulary)
    right, context = np.divmod(pairs.col, len(rows))
    return _summed(rows[pairs.row], rows[context] + right * n, pairs.data, (n, n * (2 if sides else 1)))


def _summed(rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], shape: tuple[int, int]) -> Any:
    """Return a matrix of integers in which equal places are added up."""
    matrix = sparse.coo_array((values.astype(np.int64), (rows, columns)), shape=shape).tocsr()
    matrix.sum_duplicates()
    matrix.data = narrow(matrix.data)
    return matrix


def _parts(counts: Counts) -> tuple[Any, Any, Any]:
    return counts.vocabulary.words, counts.vocabulary.counts, counts.matrix

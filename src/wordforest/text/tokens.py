"""A corpus as one stream of word ids on disk, with the words and how often each occurs."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordforest.errors import InputError
from wordforest.options import COMPILED, Checked, default
from wordforest.runtime.disk import ScratchFiles, read_at, write_at
from wordforest.runtime.machine import Executor, Threads, kernel
from wordforest.text.corpus import as_corpus
from wordforest.text.phrases import Joiner, Phrase
from wordforest.text.reader import CHUNK_BYTES, Chunk, Corpus, Errors, read_chunks
from wordforest.text.scripts import unsegmented, warn
from wordforest.text.tokenizer import BREAK, Forms, FormTable, Tokenizer, split_forms

_MOST_FORMS = 1 << 19  # that a worker remembers before it begins anew, with little memory
_FORM_BYTES = 1 << 12  # with more, a form for each so many bytes: about a fiftieth of them, for several workers
PIECE = 1 << 20  # ids read at a time
_LEAST_MEMORY = 64 << 20  # that words may take in any case
_WORD_BYTES = 250  # of one word with all that is kept of it, in memory; with care


@dataclass(frozen=True)
class TextRules(Checked):
    """How text becomes words. The defaults are the paper's.

    Args:
        tokenizer: What a word is: ``"words"``, ``"whitespace"``, the name of another tokeniser, or a function.
        lowercase: Read all in lower case.
        numbers: Numbers become ``#number#``.
        errors: What to do with bytes that are not UTF-8: ``"strict"``, ``"replace"`` or ``"skip"``.
        text: The column of tables.
        known_phrases: Phrases that are joined.

    Examples:
        >>> import wordforest as wf
        >>> wf.text.read_tokens(["Café No. 7"], wf.text.TextRules(numbers=False)).words
        ['café', 'no', '7']
        >>> wf.text.read_tokens(["Café No. 7"], wf.text.TextRules(lowercase=False)).words
        ['Café', 'No', '#number#']
    """

    tokenizer: Tokenizer = default("tokenizer")
    lowercase: bool = default("lowercase")
    numbers: bool = default("numbers")
    errors: Errors = default("errors")
    text: str | None = default("text")
    known_phrases: tuple[Phrase, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "known_phrases", tuple(Phrase(*one) for one in self.known_phrases))

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> TextRules:
        """Return the rules by which a run or counts were made, from what its config says.

        Examples:
            >>> wf.text.TextRules.of({"lowercase": False}).lowercase
            False
        """
        return cls(**{one.name: config[one.name] for one in fields(cls) if one.name in config})


class IdFile:
    """Ids in a file, four bytes each; they are read in pieces, so that they may be more than memory holds."""

    def __init__(self, scratch: ScratchFiles, name: str) -> None:
        self._scratch, self._file = scratch, scratch.file(name)
        self._length = self._file.tell() // 4

    def __len__(self) -> int:
        return self._length

    def append(self, ids: NDArray[np.int32]) -> None:
        """Write ids behind the last."""
        self._scratch.reserve(ids.nbytes)
        write_at(self._file, ids.view(np.uint8), 4 * self._length)
        self._length += len(ids)

    def __getitem__(self, part: slice) -> NDArray[np.int32]:
        """Read ids[start:stop]."""
        start, stop, _ = part.indices(self._length)
        return read_at(self._file, 4 * start, 4 * max(stop - start, 0)).view(np.int32)


@dataclass(frozen=True, eq=False)
class Tokens:
    """A corpus in ids: ``ids`` (tokens + breaks,) index ``words``, -1 stands between sentences.

    ``counts`` (words,) says how often each word occurs, ``fingerprint`` is the SHA-256 of the text.

    Examples:
        >>> import wordforest as wf
        >>> tokens = wf.text.read_tokens(["the cat eats", "the dog"])
        >>> tokens.words, tokens.counts.tolist()
        (['the', 'cat', 'eats', 'dog'], [2, 1, 1, 1])
        >>> tokens.n_tokens
        5
    """

    words: list[str]
    counts: NDArray[np.int64]
    ids: Any  # an IdFile or an array
    fingerprint: str

    @property
    def n_tokens(self) -> int:
        """Number of tokens, sentence borders not counted."""
        return int(self.counts.sum())


def read_tokens(
    corpus: Any,
    rules: TextRules | None = None,
    *,
    executor: Executor | None = None,
    scratch_folder: str | Path | None = None,
    scratch: ScratchFiles | None = None,
    on_progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] = warn,
) -> Tokens:
    """Read a corpus, paths or texts, once and keep it as ids in a file, so that it may be larger than memory.

    ``on_progress`` is called with tokens and bytes read so far, ``notice`` with what a person should know. The file is
    one of ``scratch``, by default one without a name in ``scratch_folder`` (or the system's for temporary files) that
    goes away with the result. It needs four bytes a token. Named scratch files that hold all that an earlier try has
    found are taken up again.

    Examples:
        >>> import wordforest as wf
        >>> tokens = wf.text.read_tokens(["The cat eats. The dog, too!"])
        >>> tokens.words
        ['the', 'cat', 'eats', 'dog', 'too']
        >>> tokens.ids[0:6].tolist()
        [0, 1, 2, -1, 0, 3]
    """
    rules, scratch = rules or TextRules(), scratch or ScratchFiles(scratch_folder)
    corpus = corpus if isinstance(corpus, Corpus) else as_corpus(corpus, rules.text)
    if corpus.tokenised:
        rules = replace(rules, tokenizer="whitespace")
    sources = corpus.sources()
    if (before := _read_before(scratch, sources, rules)) is not None:
        return before
    memory = scratch.memory
    most = min(max(_MOST_FORMS, memory // _FORM_BYTES), 8 * _MOST_FORMS)
    # With little memory chunks are small: a few of them, with their ids and words, are on their way at a time.
    size = min(CHUNK_BYTES, max(memory // 128, 1 << 16))
    tables = threading.local()

    def split(chunk: Chunk) -> tuple[Chunk, Forms]:
        if getattr(tables, "own", None) is None or tables.own.n_forms > most:
            tables.own = FormTable()
        return chunk, split_forms(chunk.data, rules.tokenizer, tables.own)

    ids, words, digest, n_bytes = IdFile(scratch, "ids.bin"), WordIds(rules), hashlib.sha256(), 0
    for chunk, forms in (executor or Threads()).map(split, read_chunks(sources, rules.errors, size, rules.text)):
        ids.append(words.take(forms, last=chunk.last))
        digest.update(chunk.data)
        n_bytes += len(chunk.data)
        if len(words.index) * _WORD_BYTES > max(memory, _LEAST_MEMORY):
            raise InputError(
                f"{len(words.index)} different words alone take more than the memory of {memory >> 20} MiB "
                "that counting may use. Give more, as in --memory 8G."
            )
        if on_progress:
            on_progress(words.n_tokens, n_bytes)
    if not words.n_tokens:
        raise InputError(f"{_named(sources)}: the corpus holds no words. Check the path and the --tokenizer.")
    tokens = Tokens([*words.index], words.counts[: len(words.index)].copy(), ids, digest.hexdigest())
    tell_clauses(tokens.words, tokens.counts, rules, notice)
    if scratch.named:
        listed = "".join(word + "\n" for word in tokens.words).encode()
        write_at(scratch.file("words.txt"), np.frombuffer(listed, dtype=np.uint8), 0)
        scratch.note({"read": [len(ids), len(listed), tokens.fingerprint]})
    return tokens


def joined_tokens(tokens: Tokens, phrases: Sequence[Phrase], scratch: ScratchFiles, name: str) -> Tokens:
    """Return a corpus with phrases joined, its ids in another file."""
    scratch.cut(name, 0)
    ids = IdFile(scratch, name)
    return Tokens(*join_ids(tokens.words, tokens.ids, phrases, ids.append), ids, tokens.fingerprint)


def join_ids(
    words: list[str], ids: Any, phrases: Sequence[Phrase], append: Callable[[NDArray[np.int32]], None]
) -> tuple[list[str], NDArray[np.int64]]:
    """Join phrases in ids, which come in pieces; return the words, new ones behind the others, and their counts."""
    joiner = Joiner(phrases)
    words, part_of, id_of = joiner.within(words)
    counts = np.zeros(len(words), dtype=np.int64)
    for piece in joiner.pieces(ids, part_of, id_of):
        append(piece)
        counts += np.bincount(piece[piece >= 0], minlength=len(counts))
    return words, counts


def tell_clauses(words: list[str], counts: NDArray[np.int64], rules: TextRules, notice: Callable[[str], None]) -> None:
    """Give notice where words are too long for their script: text that nobody has segmented."""
    if rules.tokenizer in COMPILED and not all(map(str.isascii, words)) and (found := unsegmented(words, counts)):
        notice(found)


def _read_before(scratch: ScratchFiles, sources: list[str], rules: TextRules) -> Tokens | None:
    """Return what an earlier try has read of the same text, if it came to the end; counts follow from the ids."""
    n_ids, n_bytes, fingerprint = next((note["read"] for note in scratch.notes() if "read" in note), (0, 0, ""))
    if scratch.named:
        scratch.cut("ids.bin", 4 * n_ids)
    if not n_ids:
        return None
    digest = hashlib.sha256()
    for chunk in read_chunks(sources, rules.errors, text=rules.text):
        digest.update(chunk.data)
    if digest.hexdigest() != fingerprint:
        raise InputError(f"{_named(sources)}: the text has changed since counting began. Begin again, with --force.")
    words = read_at(scratch.file("words.txt"), 0, n_bytes).tobytes().decode().split("\n")[:-1]
    ids, counts = IdFile(scratch, "ids.bin"), np.zeros(len(words), dtype=np.int64)
    for start in range(0, n_ids, PIECE):
        piece = ids[start : start + PIECE]
        counts += np.bincount(piece[piece >= 0], minlength=len(words))
    return Tokens(words, counts, ids, fingerprint)


def normalise(form: str, rules: TextRules) -> str:
    """Return the word that a form as written stands for: one apostrophe, NFC, lower case, ``#number#``."""
    if form.isascii():
        if rules.numbers and form[-1:].isdigit() and is_number(form):  # every number ends in a digit
            return NUMBER
        return form.lower() if rules.lowercase else form
    form = form.replace("\u2019", "'").replace("\u00ad", "") or form
    if rules.numbers and is_number(form):
        return NUMBER
    if rules.lowercase:
        form = form.lower()
    return unicodedata.normalize("NFC", form)  # last: lower case may bring forth what can be composed


def is_number(form: str) -> bool:
    """Say whether a form is digits, with points or commas between them and perhaps a sign in front.

    >>> [is_number(form) for form in ("1,000.5", "-3", "20th", "٣٤", "½", "+", "三")]
    [True, True, False, True, True, False, False]
    """
    digits = form[1:] if form[:1] in ("+", "-", "−") else form
    return all(part.isnumeric() and not any(map(str.isalpha, part)) for part in re.split("[.,]", digits))


class WordIds:
    """The words met so far, numbered in order of first appearance, how often each came, and ids for text that comes."""

    def __init__(self, rules: TextRules) -> None:
        self._rules = rules
        self.index: dict[str, int] = {}
        self.counts = np.zeros(1 << 16, dtype=np.int64)  # (at least the words,)
        self.n_tokens = 0
        self._border = True  # nothing since the last border, or nothing at all
        self._rows: WeakKeyDictionary[FormTable, NDArray[np.int32]] = WeakKeyDictionary()  # word of each form

    def take(self, forms: Forms, *, last: bool) -> NDArray[np.int32]:
        """Return the ids of a chunk, with one border between sentences and one behind the last of a source.

        So a file cut in two at a border changes nothing.
        """
        rows = self.words_of(forms)
        ids = _renumbered(forms.ids, rows, self.counts, self._border, last)
        self._border = bool(ids[-1] == BREAK) if len(ids) else self._border
        self.n_tokens += int(np.count_nonzero(ids >= 0))
        return ids

    def words_of(self, forms: Forms) -> NDArray[np.int32]:
        """Return the word of every form that the table of a chunk has met so far, (forms,)."""
        new = np.fromiter(map(self._row, forms.forms), dtype=np.int32, count=len(forms.forms))
        rows = self._rows[forms.table] = np.concatenate((self._rows.get(forms.table, new[:0]), new))
        while len(self.counts) < len(self.index):
            self.counts = np.concatenate((self.counts, np.zeros_like(self.counts)))
        return rows

    def _row(self, form: bytes) -> int:
        word = normalise(form.decode(), self._rules)
        return self.index.setdefault(word, len(self.index))


@kernel
def _renumbered(
    ids: NDArray[np.int32], rows: NDArray[np.int32], counts: NDArray[np.int64], border: bool, last: bool
) -> NDArray[np.int32]:
    """Return the words of forms and add them to the counts; a border follows no other, and the ``last`` word."""
    words = np.empty(len(ids) + 1, dtype=np.int32)
    n = 0
    for form in ids:
        if form >= 0:
            words[n] = rows[form]
            counts[words[n]] += 1
        elif border:
            continue
        else:
            words[n] = BREAK
        border = form < 0
        n += 1
    if last and not border:
        words[n] = BREAK
        n += 1
    return words[:n]


def _named(sources: list[str]) -> str:
    return sources[0] if len(sources) == 1 else f"{sources[0]} and {len(sources) - 1} more"


RARE = "#rare#"
"""What stands for all words that are not kept."""

NUMBER = "#number#"
"""What stands for all numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Words in row order (most frequent first, ties in code point order) with their counts, shape (V,).

    ``phrases`` are those that were joined before words were counted.

    Examples:
        >>> import wordforest as wf
        >>> vocabulary = wf.Vocabulary(["the", "cat"], [7, 2])
        >>> len(vocabulary), "cat" in vocabulary
        (2, True)
    """

    words: tuple[str, ...]
    counts: NDArray[np.int64]
    phrases: tuple[Phrase, ...] = ()

    def __init__(self, words: Iterable[str], counts: ArrayLike, phrases: Sequence[Phrase] = ()) -> None:
        frozen = np.array(counts, dtype=np.int64)
        frozen.setflags(write=False)
        object.__setattr__(self, "words", tuple(words))
        object.__setattr__(self, "counts", frozen)
        object.__setattr__(self, "phrases", tuple(phrases))
        if len(self.words) != len(frozen):
            raise InputError(f"{len(self.words)} words but {len(frozen)} counts. Give one count for each word.")

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words: {', '.join(self.words[:5])}, ...)"

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self.index

    @cached_property
    def index(self) -> dict[str, int]:
        """Row of every word.

        Examples:
            >>> vocabulary.index["cat"]
            1
        """
        return {word: row for row, word in enumerate(self.words)}


class FormRows:
    """The rows that forms of texts have in a vocabulary, kept with a table of the forms met so far, for one thread."""

    def __init__(self, index: Mapping[str, int], rules: TextRules) -> None:
        self._index, self._rules, self._rare = index, rules, index.get(RARE, -1)
        self._table, self._rows = FormTable(), np.empty(0, dtype=np.int32)
        self._joiner = Joiner(rules.known_phrases)
        self._parts = self._rows
        self._row_of_part = np.array([index.get(word, self._rare) for word in self._joiner.words], dtype=np.int32)

    @property
    def table(self) -> FormTable:
        """Where the next forms get their numbers; one that has grown too large begins anew."""
        if self._table.n_forms > _MOST_FORMS:
            self._table, self._rows, self._parts = FormTable(), self._rows[:0], self._parts[:0]
        return self._table

    def of(self, forms: Forms) -> NDArray[np.int32]:
        """Return the row of every form of the table: of ``#rare#``, or -1, for words outside of the vocabulary."""
        words = [normalise(form.decode("utf-8", "surrogatepass"), self._rules) for form in forms.forms]
        self._rows = self._with(self._rows, [self._index.get(word, self._rare) for word in words])
        if self._joiner.words:
            self._parts = self._with(self._parts, [self._joiner.index.get(word, -1) for word in words])
        return self._rows

    @staticmethod
    def _with(known: NDArray[np.int32], new: list[int]) -> NDArray[np.int32]:
        return np.concatenate((known, np.array(new, dtype=np.int32)))

    def joined(self, forms: Forms) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the rows of tokens with phrases joined, -1 at a border, too, and which token each began with."""
        rows = np.append(self.of(forms), np.int32(-1))[forms.ids]
        if not self._joiner.words:
            return rows, np.arange(len(rows))
        return self._joiner.join(np.append(self._parts, np.int32(-1))[forms.ids], rows, self._row_of_part)


@dataclass(frozen=True)
class WordRules(Checked):
    """Which words are kept. The defaults are the paper's.

    Args:
        min_count: Rarer words become ``#rare#``.
        max_vocab: Words at most; the most frequent are kept.
        keep_words: Kept if they occur at all, before all others.
        phrases: Phrases are found and joined first.

    Examples:
        >>> import wordforest as wf
        >>> wf.text.WordRules(min_count=5, max_vocab=100_000)
        WordRules(min_count=5, max_vocab=100000, keep_words=(), phrases=False)
    """

    min_count: int = default("min_count")
    max_vocab: int | None = default("max_vocab")
    keep_words: tuple[str, ...] = default("keep_words")
    phrases: bool = default("phrases")


def choose_words(
    words: list[str],
    counts: NDArray[np.int64],
    rules: WordRules,
    fit: Callable[[int], bool] = lambda _: True,
    phrases: Sequence[Phrase] = (),
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Keep words by the rules that ``fit``, a function of their number; all others become ``#rare#``.

    Returns the vocabulary and, for each of the ``words`` given, its row in it, shape (len(words),). The words of a list
    come first: the most frequent of the others fill up the places left by ``max_vocab``.

    Examples:
        >>> import numpy as np
        >>> import wordforest as wf
        >>> rules = wf.text.WordRules(min_count=2)
        >>> words, counts = ["cat", "the", "emu"], np.array([2, 9, 1])
        >>> vocabulary, rows = wf.text.choose_words(words, counts, rules)
        >>> vocabulary.words, rows
        (('the', 'cat', '#rare#'), array([1, 0, 2], dtype=int32))
    """
    listed = frozenset(rules.keep_words) - {RARE}
    times = counts.tolist()
    kept = [
        i
        for i, word in enumerate(words)
        if word != RARE and (times[i] >= 1 if word in listed else times[i] >= rules.min_count and fit(i))
    ]
    if rules.max_vocab is not None and len(kept) > rules.max_vocab:
        kept.sort(key=lambda i: (words[i] not in listed, -times[i], words[i]))
        kept = kept[: max(rules.max_vocab, sum(words[i] in listed for i in kept))]
    if not kept:
        raise InputError(
            f"no word occurs {rules.min_count} times or more (the most frequent of {len(words)} words occurs "
            f"{max(times, default=0)} times). Give more text or a smaller --min-count."
        )
    ranked = [(-times[i], words[i], i) for i in kept]
    n_rare = sum(times) - sum(times[i] for i in kept)
    if n_rare:
        ranked.append((-n_rare, RARE, len(words)))
    ranked.sort()
    ranks = np.full(len(words) + 1, -1, dtype=np.int32)  # of each word, and of those that are not kept
    ranks[[i for *_, i in ranked]] = np.arange(len(ranked))
    rows = np.where(ranks[:-1] < 0, ranks[-1], ranks[:-1])
    return Vocabulary([word for _, word, _ in ranked], [-n for n, *_ in ranked], phrases), rows

"""Character n-grams of words as more columns of X, as fastText has them: words that are spelled alike are alike.

    s_vg = S log(V / df_g)      where the word v, written <v>, has the n-gram g of two to five characters

df_g is the number of words that have g, V that of all words that are spelled: names such as ``#rare#`` are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.counts.association import Allocate, assembled
from wordforest.errors import InputError
from wordforest.runtime.machine import kernel

_SIZES = range(2, 6)  # characters of an n-gram
_LEAST = 5  # words that share one
_MOST = 30_000  # n-grams


def spell(words: Sequence[str], scale: float) -> tuple[sparse.csr_array, dict[str, int]]:
    """Return the values of words and n-grams, (V, G) float32, and the number of words that have each n-gram.

    Columns go from n-grams of many words to those of few; n-grams of as many words go by their text.
    """
    names, has = _ngrams(words, _LEAST)
    shared = np.bincount(has.indices, minlength=len(names)).tolist()
    kept = sorted((g for g, n in enumerate(shared) if n >= _LEAST), key=lambda g: (-shared[g], names[g]))[:_MOST]
    if not kept:
        raise InputError(
            f"no two letters stand in {_LEAST} words, so spelling has nothing to tell. Give more text, or leave out "
            "--spelling."
        )
    ngrams = {names[g]: shared[g] for g in kept}
    return _values(names, has, ngrams, words, scale), ngrams


def spell_as(
    words: Sequence[str], ngrams: Mapping[str, int], their_words: Sequence[str], scale: float
) -> sparse.csr_array:
    """Return the values of new words for the n-grams that ``spell`` has found in other ones, (V, G) float32."""
    return _values(*_ngrams(words), ngrams, their_words, scale)


def _values(
    names: list[str], has: sparse.csr_array, ngrams: Mapping[str, int], words: Sequence[str], scale: float
) -> sparse.csr_array:
    """Return the values of pairs of word and n-gram; ``words`` are those that the numbers of ``ngrams`` are of."""
    place = {name: column for column, name in enumerate(ngrams)}
    known = [row for row, name in enumerate(names) if name in place]
    chosen = np.ones(len(known), np.float32), (known, [place[names[row]] for row in known])
    found = sparse.csr_array(has @ sparse.csr_array(chosen, shape=(len(names), len(ngrams))))
    found.sort_indices()
    n_words = len(words) - sum(map(_is_name, words))
    values = scale * np.log(n_words / np.array([*ngrams.values()]))
    found.data = values.astype(np.float32)[found.indices]
    return found


def _ngrams(words: Sequence[str], least: int = 1) -> tuple[list[str], sparse.csr_array]:
    """Return the n-grams that stand in ``least`` places, and which words have them, (V, n-grams) of ones.

    The number of an n-gram is found from that of the one without its last character, and from that character. What
    begins with a rare one is rare.
    """
    written = ["" if _is_name(word) else f"<{word}>" for word in words]
    text, lengths = "".join(written), np.array([*map(len, written)], dtype=np.int64)
    row = np.repeat(np.arange(len(words), dtype=np.int32), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(text))  # characters up to the end of the word
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    letters, number = np.unique(points, return_inverse=True)
    begun = number.copy()
    names: list[str] = []
    pairs = [(row[:0], row[:0])]
    start = np.arange(len(text))
    for n in _SIZES:
        start = start[left[start] >= n]
        keys = begun[start] * len(letters) + number[start + n - 1]
        _, first, begun[start], places = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        often = places >= least
        new = [text[i : i + n] for i in start[first[often]].tolist()]
        start = start[often[begun[start]]]
        column = np.cumsum(often) - 1 + len(names)
        pairs.append((row[start], column[begun[start]].astype(np.int32)))
        names += new
    rows, columns = map(np.concatenate, zip(*pairs, strict=True))
    has = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(len(words), len(names)))
    has.data[:] = 1  # a word may have one twice
    return names, has


def _is_name(word: str) -> bool:
    """Say whether this stands for other words, as #rare# and #number# do."""
    return word.startswith("#") and word.endswith("#")


def beside(X: sparse.csr_array, S: sparse.csr_array, allocate: Allocate = np.empty) -> sparse.csr_array:
    """Return X and S side by side; X loses its values on the way, so that memory need not hold them twice."""
    indptr = X.indptr.astype(np.int64) + S.indptr
    indptr = indptr.astype(np.int32 if indptr[-1] < 2**31 else np.int64)
    data = by_rows(X, S, X.data, S.data, allocate)
    X.data = data[:0]
    indices = by_rows(X, S, X.indices, S.indices.astype(X.indices.dtype) + X.indices.dtype.type(X.shape[1]), allocate)
    return assembled(data, indices, indptr, (X.shape[0], X.shape[1] + S.shape[1]))


def by_rows(
    X: sparse.csr_array, S: sparse.csr_array, of_X: NDArray[Any], of_S: NDArray[Any], allocate: Allocate = np.empty
) -> NDArray[Any]:
    """Return what the stored pairs of two matrices have in the order of those of ``beside``."""
    out = allocate(X.nnz + S.nnz, of_X.dtype)
    _by_rows(of_X, X.indptr, of_S, S.indptr, out)
    return out


@kernel
def _by_rows(
    first: NDArray[Any], starts: NDArray[Any], second: NDArray[Any], others: NDArray[Any], out: NDArray[Any]
) -> None:
    done = 0
    for v in range(len(starts) - 1):
        for i in range(starts[v], starts[v + 1]):
            out[done] = first[i]
            done += 1
        for i in range(others[v], others[v + 1]):
            out[done] = second[i]
            done += 1

"""Sentiment: can a linear model tell from the mean vector of a sentence whether it praises or blames?"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordforest.evaluation.bootstrap import Array
from wordforest.evaluation.files import bad_line, nothing_in, read_bytes
from wordforest.evaluation.scores import Outcome, numbered
from wordforest.evaluation.word_rows import dense_rows, token_rows
from wordforest.runtime.machine import one_thread
from wordforest.vectors import Vectors

STRENGTHS = tuple(float(10 ** (power / 2)) for power in range(-10, 7))
"""The values of C that are tried, 1e-5 to 1e3 by half decades: strongest penalty first."""

_TOLERANCE = 1e-6  # largest slope of the mean loss where a fit ends


class Review(NamedTuple):
    """A sentence, its words parted by white space, and whether it praises (1) or blames (0)."""

    label: int
    sentence: str


class Reviews(NamedTuple):
    """The three parts: to learn from, to choose the strength of the penalty with, and to count right answers in."""

    train: tuple[Review, ...]
    dev: tuple[Review, ...]
    test: tuple[Review, ...]


def read_reviews(path: str | Path) -> tuple[Review, ...]:
    """Read ``label SPACE sentence`` from each line; a line that is not UTF-8 is taken for Latin-1."""
    reviews = []
    for number, line in enumerate(read_bytes(path).split(b"\n"), start=1):
        try:
            text = line.decode("utf-8-sig").strip()
        except UnicodeDecodeError:
            text = line.decode("latin-1").strip()
        label, _, sentence = text.partition(" ")
        if text and (label not in ("0", "1") or not sentence.strip()):
            raise bad_line(path, number, "'label SPACE sentence' with label 0 or 1", text)
        if text:
            reviews.append(Review(int(label), sentence.strip()))
    if not reviews:
        raise nothing_in(path, "lines of 'label SPACE sentence'")
    return tuple(reviews)


def judge_sentiment(vectors: Vectors, reviews: Reviews, name: str = "SST-2") -> Outcome:
    """Return which test sentences a logistic regression labels right.

    A sentence is the mean of the vectors of its words that have one, repeated words included; a sentence without
    any is skipped in all three parts. The model minimises |w|^2 / 2 + C sum log(1 + exp(-y (<w, x> + b))) over the
    train part; the C of highest accuracy on the dev part is taken, the smallest of equal ones. All features are
    divided by one number, their standard deviation over the train part, so that C means the same for long and
    short vectors. Nothing is scored where train sentences with vectors lack a label or no dev sentence has one.
    """
    train, dev, test = (_features(vectors, part) for part in reviews)
    n_total = len(reviews.test)
    if len(np.unique(train.labels)) < 2 or not len(dev.labels) or not len(test.labels):
        return Outcome("sentiment", name, "accuracy", (), np.empty(0), n_total)
    # the intercept bears no penalty, so taking the mean away changes no prediction; it spares digits
    centre = train.X.mean(axis=0)
    scale = float(np.sqrt(np.square(train.X - centre).mean())) or 1.0
    train, dev, test = (part._replace(X=(part.X - centre) / scale) for part in (train, dev, test))
    right = _accurate(test, *_tuned(train, dev)).astype(np.float64)
    keys = numbered(review.sentence for review in reviews.test)
    return Outcome("sentiment", name, "accuracy", tuple(keys[i] for i in test.places), right, n_total)


class _Features(NamedTuple):
    X: Array  # (n, M)
    labels: NDArray[np.int64]  # (n,) 0 or 1
    places: NDArray[np.int64]  # (n,) which sentences of the part these are


def _features(vectors: Vectors, reviews: Sequence[Review]) -> _Features:
    """Return the mean vector of every sentence that has one."""
    rows = [token_rows(vectors, review.sentence.split()) for review in reviews]
    places = np.array([i for i, found in enumerate(rows) if found], dtype=np.int64)
    kept = [rows[i] for i in places]
    words, columns = np.unique([row for found in kept for row in found], return_inverse=True)
    lengths = np.array([len(found) for found in kept], dtype=np.int64)
    shares = np.repeat(1 / np.maximum(lengths, 1), lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    mean = sparse.csr_array((shares, columns, starts), shape=(len(kept), len(words)))  # (n, words), rows sum to 1
    X = np.asarray(mean @ dense_rows(vectors, words.astype(np.int64)))
    return _Features(X, np.array([reviews[i].label for i in places], dtype=np.int64), places)


def _tuned(train: _Features, dev: _Features) -> tuple[Array, float]:
    """Return the coefficients (M,) and the intercept of the model that does best on the dev part."""
    from scipy.linalg import LinAlgWarning
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    # Newton's steps reach the minimum in two or three for each C; lbfgs takes hundreds where features are correlated
    model: Any = LogisticRegression(solver="newton-cholesky", warm_start=True, tol=_TOLERANCE)
    best, chosen = -1, (np.empty(0), 0.0)
    # one thread: the same sums, so the same answers, on any number of cores
    with warnings.catch_warnings(), one_thread():
        # a fit that is stopped early is one more candidate: its accuracy on the dev part decides
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", LinAlgWarning)
        for C in STRENGTHS:
            model.set_params(C=C).fit(train.X, train.labels)
            coefficients, intercept = model.coef_[0].copy(), float(model.intercept_[0])
            n_right = int(_accurate(dev, coefficients, intercept).sum())
            if n_right > best:
                best, chosen = n_right, (coefficients, intercept)
    return chosen


def _accurate(part: _Features, coefficients: Array, intercept: float) -> NDArray[np.bool_]:
    """Return which sentences get their label, (n,)."""
    # einsum, not BLAS: the same sums with any number of threads
    praises = np.einsum("ij,j->i", part.X, coefficients) + intercept > 0
    return np.asarray(praises == (part.labels == 1), dtype=np.bool_)

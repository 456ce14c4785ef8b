"""Numbers at the edge: a right result, or an error that says what is wrong. Never NaN without a word."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from wordforest.coder.coding import encode
from wordforest.coder.dictionary import random_columns
from wordforest.coder.entries import EntrySettings, learn_from_entries
from wordforest.coder.forest import Forest
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows.base import Loss
from wordforest.coder.weighted import WeightedSettings, encode_weighted, learn_weighted
from wordforest.errors import InputError

FOREST = Forest.complete(2)  # M = 26
M = len(FOREST)
V, C = 40, 12
rng = np.random.default_rng(0)
BASE = (rng.standard_normal((V, C)) * (rng.random((V, C)) < 0.5)).astype(np.float32)
Learn = Callable[[Any], Any]


def fit(X: Any) -> Any:
    return wf.ForestCoder(trees=2, random_state=0, epochs=40).fit_transform(X)


def fit_partly(X: Any) -> Any:
    return wf.ForestCoder(trees=2, random_state=0).partial_fit(X).components_


def online(X: Any, lam: float = 0.1) -> Any:
    return learn_online(X, ForestL2(FOREST, lam), M, OnlineSettings(epochs=3)).A


def entries(X: Any, lam: float = 0.1) -> Any:
    return learn_from_entries(as_pairs(X), ForestL2(FOREST, lam), M, EntrySettings(epochs=2)).A


def as_pairs(X: Any) -> Any:
    if not sparse.issparse(X) and X.dtype == np.float16:  # SciPy makes no sparse matrix of it
        X = X.astype(np.float32)
    return X if sparse.issparse(X) else sparse.csr_array(X)


def weighted(X: Any, lam: float = 0.1) -> Any:
    return learn_weighted(as_pairs(X), Loss(None, 0.5), ForestL2(FOREST, lam), M, WeightedSettings(epochs=3)).A


def encoded_weighted(X: Any, lam: float = 0.1) -> Any:
    return encode_weighted(as_pairs(X), Loss(None, 0.5), random_columns((X.shape[1], M), 0), ForestL2(FOREST, lam))


def encoded(X: Any, lam: float = 0.1) -> Any:
    return encode(X, random_columns((X.shape[1], M), 0), ForestL2(FOREST, lam)).A


LEARNERS: dict[str, Learn] = {
    "fit": fit,
    "partial_fit": fit_partly,
    "online": online,
    "entries": entries,
    "encode": encoded,
    "weighted": weighted,
    "encode_weighted": encoded_weighted,
}
learners = pytest.mark.parametrize("learn", LEARNERS.values(), ids=LEARNERS)
forms = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
quietly = pytest.mark.filterwarnings("ignore:the objective still falls", "ignore:all codes are zero")


def changed(value: float) -> Any:
    X = BASE.copy()
    X[3, np.flatnonzero(X[3])[0]] = value
    return X


@learners
@forms
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(learn: Learn, form: Any, value: float) -> None:
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        learn(form(changed(value)))


@learners
@forms
def test_what_is_too_large_for_float32_is_refused(learn: Learn, form: Any) -> None:
    with pytest.raises(InputError, match=r"too large|diverges"):
        learn(form(changed(1e30)))


def test_what_weights_make_too_large_for_float32_is_refused() -> None:
    X = as_pairs(BASE)
    loss = Loss(np.full(X.nnz, 1e37, dtype=np.float32), 0.5)
    with pytest.raises(InputError, match="too large to square and weigh"):
        learn_weighted(X, loss, ForestL2(FOREST, 0.1), M)


@learners
@forms
@quietly
@pytest.mark.parametrize("case", ["row", "column"])
def test_a_row_or_column_of_zeros_is_learned_from(learn: Learn, form: Any, case: str) -> None:
    X = BASE.copy()
    X[3 if case == "row" else slice(None), slice(None) if case == "row" else 3] = 0
    assert np.isfinite(learn(form(X))).all()


@pytest.mark.parametrize("learn", [fit, online, entries, encoded, weighted, encoded_weighted])
def test_the_code_of_a_row_of_zeros_is_zero(learn: Learn) -> None:
    X = BASE.copy()
    X[3] = 0
    assert not learn(X)[3].any()


@learners
@forms
@quietly
def test_one_row_is_enough(learn: Learn, form: Any) -> None:
    assert np.isfinite(learn(form(BASE[:1]))).all()


@learners
@forms
@quietly
def test_one_column_is_enough(learn: Learn, form: Any) -> None:
    assert np.isfinite(learn(form(BASE[:, :1]))).all()


@pytest.mark.parametrize("learn", [online, encoded])
@pytest.mark.parametrize("X", [BASE[0], BASE[None], BASE.astype(complex), BASE.astype(str)], ids=["1", "3", "i", "s"])
def test_what_is_no_matrix_of_numbers_is_refused(learn: Learn, X: Any) -> None:
    with pytest.raises(InputError, match="a matrix of numbers is needed"):
        learn(X) if X.ndim == 2 or learn is online else encode(X, random_columns((C, M), 0), ForestL2(FOREST, 0.1))


@pytest.mark.parametrize("shape", [(0, C), (V, 0)])
def test_nothing_to_learn_from_is_refused(shape: tuple[int, int]) -> None:
    for learn in (fit, fit_partly, online, entries):
        with pytest.raises(ValueError, match=r"at least one|minimum of 1|nothing to learn"):
            learn(np.zeros(shape, np.float32))


def test_no_rows_have_no_codes() -> None:
    assert encoded(np.zeros((0, C), np.float32)).shape == (0, M)


@pytest.mark.parametrize("learn", [online, encoded, entries, weighted])
def test_without_a_penalty_there_are_no_zeros_and_with_a_huge_one_nothing_else(learn: Any) -> None:
    assert np.count_nonzero(learn(sparse.csr_array(BASE), 0.0)) == V * M
    assert not learn(sparse.csr_array(BASE), 1e30).any()


@pytest.mark.parametrize("lam", [np.nan, np.inf, -0.1, 1e31])
def test_a_penalty_that_cannot_be_is_refused(lam: float) -> None:
    with pytest.raises(InputError, match="must be a finite number >= 0"):
        ForestL2(FOREST, lam)


def test_a_perfect_fit_raises_no_alarm() -> None:
    notices = learn_online(BASE, ForestL2(FOREST, 0.0), M, OnlineSettings(epochs=20)).notices
    assert [notice for notice in notices if "rose" in notice] == []


@quietly
def test_more_dimensions_than_rows_and_columns() -> None:
    assert np.isfinite(wf.ForestCoder(trees=20, random_state=0, epochs=5).fit_transform(BASE)).all()
    assert np.isfinite(wf.ForestCoder.readable(trees=20, random_state=0, epochs=5).fit_transform(abs(BASE))).all()


def whole_numbers(dtype: type) -> Any:
    """Small numbers that every type can hold, zeros and ones of bool."""
    return np.rint(abs(BASE) * 3).astype(dtype)


@cache
def learned_in_floats(learn: Learn, form: Any, *, ones: bool) -> Any:
    """What their values give in float64."""
    return learn(form(whole_numbers(bool if ones else np.float64).astype(np.float64)))


@learners
@forms
@quietly
@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.int64, np.uint8, bool])
def test_any_type_of_number_gives_what_its_values_give_in_floats(learn: Learn, form: Any, dtype: type) -> None:
    X = whole_numbers(dtype)
    given = form(X.astype(np.float32) if dtype == np.float16 and form is sparse.csr_array else X)
    if sparse.issparse(given):
        given.data = given.data.astype(dtype)  # SciPy makes no sparse matrix of float16 by itself
    wide = learned_in_floats(learn, form, ones=dtype is bool)
    assert learn(given) == pytest.approx(
        wide, abs=2e-3 * float(abs(wide).max())
    )  # codes are exact to 1e-6 |x|^2 in float32


def unsorted() -> sparse.csr_array:
    """The rows of X from right to left."""
    X = sparse.csr_array(BASE)
    for row in range(V):
        part = slice(X.indptr[row], X.indptr[row + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)


def doubled() -> sparse.csr_array:
    """Every value of X in two halves at the same place."""
    X = sparse.csr_array(BASE)
    return sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape)


def wide_indices() -> sparse.csr_array:
    X = sparse.csr_array(BASE)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@learners
@quietly
@pytest.mark.parametrize("make", [unsorted, doubled, wide_indices])
def test_any_form_of_csr_gives_the_same_bits_and_is_left_alone(learn: Learn, make: Any) -> None:
    X, untouched = make(), make()
    assert np.array_equal(learn(X), learn(sparse.csr_array(BASE)))
    assert np.array_equal(X.indices, untouched.indices)
    assert np.array_equal(X.data, untouched.data)


@pytest.mark.parametrize("learn", [fit, fit_partly, online, entries, weighted])
def test_columns_beyond_31_bits_are_refused_for_their_memory_not_cut(learn: Learn) -> None:
    indices = np.array([0, 2**31 + 5], dtype=np.int64)
    X = sparse.csr_array((np.ones(2, np.float32), indices, np.arange(3)), shape=(2, 2**31 + 10))
    with pytest.raises(InputError, match=r"needs at least .* GB of memory, but this machine has"):
        learn(X)


@pytest.mark.parametrize("trees", [10_000, 60_000, 100_000, 10**12])
def test_more_trees_than_memory_are_refused_at_once(trees: int) -> None:
    for learn in (wf.ForestCoder(trees=trees).fit, wf.ForestCoder(trees=trees).partial_fit):
        with pytest.raises(InputError, match=r"memory"):
            learn(BASE)

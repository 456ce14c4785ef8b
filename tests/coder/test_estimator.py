import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import wordforest as wf


def matrix(seed: int = 0) -> sparse.csr_array:
    return sparse.random_array((200, 80), density=0.2, rng=np.random.default_rng(seed), format="csr")


def test_fit_transform_gives_codes_of_the_forest() -> None:
    coder = wf.ForestCoder(trees=2, lam=0.2, random_state=0)
    A = coder.fit_transform(matrix())
    assert A.shape == (200, 26)
    assert coder.components_.shape == (26, 80)
    assert coder.forest_ == wf.Forest.complete(2)
    assert coder.objective_ == coder.history_[-1].objective


def test_transform_codes_new_rows() -> None:
    coder = wf.ForestCoder(trees=1, lam=0.2, random_state=0).fit(matrix())
    new = matrix(seed=1)
    A = coder.transform(new)
    better = wf.coder.objective(new, coder.components_.T, A, wf.coder.ForestL2(coder.forest_, 0.2))
    assert better < wf.coder.objective(new, coder.components_.T, 0 * A, wf.coder.ForestL2(coder.forest_, 0.2))


def test_transform_of_the_training_rows_gives_their_codes() -> None:
    coder = wf.ForestCoder(trees=1, lam=0.2, random_state=0)
    A = coder.fit_transform(matrix())
    np.testing.assert_allclose(coder.transform(matrix()), A, atol=1e-4)


def test_inverse_transform_reconstructs() -> None:
    coder = wf.ForestCoder(trees=2, lam=0.01, random_state=0)
    X = matrix()
    A = coder.fit_transform(X)
    assert np.linalg.norm(coder.inverse_transform(A) - X.toarray()) < np.linalg.norm(X.toarray())


def test_any_forest_may_be_given() -> None:
    coder = wf.ForestCoder(forest=[-1, 0, 0, -1], lam=0.1, random_state=0).fit(matrix())
    assert coder.components_.shape[0] == 4


def test_it_works_in_a_pipeline_and_can_be_cloned() -> None:
    pipeline = make_pipeline(Normalizer(), wf.ForestCoder(trees=1, random_state=0))
    assert clone(pipeline).fit_transform(matrix()).shape == (200, 13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_input_is_kept(dtype: type) -> None:
    assert wf.ForestCoder(trees=1, random_state=0).fit_transform(matrix().astype(dtype)).dtype == dtype


def test_scikit_learns_own_checks_pass() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit far too few rows on purpose
        results = check_estimator(wf.ForestCoder(random_state=0), on_fail=None)
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped")] == []


def test_partial_fit_learns_from_row_after_row() -> None:
    X = matrix()
    coder = wf.ForestCoder(trees=1, lam=0.05, random_state=0)
    shares = [coder.partial_fit(X[i : i + 50]).score(X) for i in (0, 50, 100, 150, 0, 50, 100, 150)]
    assert shares[-1] > shares[0] > 0


def test_the_score_is_the_share_explained() -> None:
    coder = wf.ForestCoder(trees=2, lam=0.01, random_state=0)
    X = matrix()
    A = coder.fit_transform(X)
    left = np.linalg.norm(coder.inverse_transform(A) - X.toarray()) ** 2
    assert coder.score(X) == pytest.approx(1 - left / (X.data**2).sum(), abs=1e-4)


def test_feature_names_and_data_frames() -> None:
    coder = wf.ForestCoder(trees=1, random_state=0).set_output(transform="pandas")
    frame = coder.fit_transform(matrix().toarray())
    assert list(frame.columns) == list(coder.get_feature_names_out())
    assert frame.shape == (200, 13)


def test_grid_search_chooses_a_lam() -> None:
    search = GridSearchCV(wf.ForestCoder(trees=1, random_state=0), {"lam": [0.01, 1.0]}, cv=2)
    assert search.fit(matrix()).best_params_ == {"lam": 0.01}  # it explains more


def test_non_negative_codes_and_weights_by_depth() -> None:
    coder = wf.ForestCoder(trees=2, lam=0.05, nonnegative=True, depth_weights=(0.5, 0.8, 1.0), random_state=0)
    A = coder.fit_transform(matrix())
    assert A.min() == 0
    assert A.max() > 0


def test_the_gap_is_reported() -> None:
    assert 0 <= wf.ForestCoder(trees=1, random_state=0).fit(matrix()).dual_gap_ <= 1e-9


@pytest.mark.parametrize("n_jobs", [1, 2, -1, -2])
def test_the_bits_do_not_depend_on_n_jobs(n_jobs: int) -> None:
    one = wf.ForestCoder(trees=1, random_state=0, n_jobs=1).fit_transform(matrix())
    np.testing.assert_array_equal(wf.ForestCoder(trees=1, random_state=0, n_jobs=n_jobs).fit_transform(matrix()), one)

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import wordforest as wf


def matrix(seed: int = 0) -> sparse.csr_array:
    return sparse.random_array((200, 80), density=0.2, rng=np.random.default_rng(seed), format="csr")


def test_fit_transform_gives_codes_of_the_forest() -> None:
    coder = wf.ForestCoder(n_trees=2, lam=0.2, random_state=0)
    A = coder.fit_transform(matrix())
    assert A.shape == (200, 26)
    assert coder.components_.shape == (26, 80)
    assert coder.forest_ == wf.Forest.complete(2)
    assert coder.objective_ == coder.history_[-1].objective


def test_transform_codes_new_rows() -> None:
    coder = wf.ForestCoder(n_trees=1, lam=0.2, random_state=0).fit(matrix())
    new = matrix(seed=1)
    A = coder.transform(new)
    better = wf.objective(new, coder.components_.T, A, wf.ForestL2(coder.forest_, 0.2))
    assert better < wf.objective(new, coder.components_.T, 0 * A, wf.ForestL2(coder.forest_, 0.2))


def test_transform_of_the_training_rows_gives_their_codes() -> None:
    coder = wf.ForestCoder(n_trees=1, lam=0.2, random_state=0)
    A = coder.fit_transform(matrix())
    np.testing.assert_allclose(coder.transform(matrix()), A, atol=1e-4)


def test_inverse_transform_reconstructs() -> None:
    coder = wf.ForestCoder(n_trees=2, lam=0.01, random_state=0)
    X = matrix()
    A = coder.fit_transform(X)
    assert np.linalg.norm(coder.inverse_transform(A) - X.toarray()) < np.linalg.norm(X.toarray())


def test_any_forest_may_be_given() -> None:
    coder = wf.ForestCoder(forest=[-1, 0, 0, -1], lam=0.1, random_state=0).fit(matrix())
    assert coder.components_.shape[0] == 4


def test_it_works_in_a_pipeline_and_can_be_cloned() -> None:
    pipeline = make_pipeline(Normalizer(), wf.ForestCoder(n_trees=1, random_state=0))
    assert clone(pipeline).fit_transform(matrix()).shape == (200, 13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_type_of_the_input_is_kept(dtype: type) -> None:
    assert wf.ForestCoder(n_trees=1, random_state=0).fit_transform(matrix().astype(dtype)).dtype == dtype

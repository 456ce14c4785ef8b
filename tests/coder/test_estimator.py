import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import wordforest as wf
from tests.coder.shared import DEVICES, uneven_matrix
from tests.coder.test_weighted import problem as weighted_problem
from wordforest.errors import InputError


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
        results = check_estimator(wf.ForestCoder(trees=1, random_state=0), on_fail=None)
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


def test_columns_are_named_by_their_node_and_its_strongest_contexts() -> None:
    coder = wf.ForestCoder(trees=1, random_state=0).fit(matrix())
    coder.components_[:] = 0
    coder.components_[3, [7, 5, 6]] = [1, 3, 2]
    coder.components_[4, [1, 0]] = [2, -5]  # what is below zero names nothing
    names = coder.get_feature_names_out([f"c{i}" for i in range(80)])
    assert names[3:6].tolist() == ["3.c5.c6", "4.c1", "5"]
    assert coder.get_feature_names_out()[3] == "forestcoder3"
    with pytest.raises(ValueError, match="input_features should have length equal to"):
        coder.get_feature_names_out(["one"])


def test_a_data_frame_gives_its_names_to_the_codes() -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(matrix().toarray(), columns=[f"c{i}" for i in range(80)])
    coder = wf.ForestCoder(trees=1, random_state=0).set_output(transform="pandas")
    columns = list(coder.fit_transform(X).columns)
    best = np.argsort(-coder.components_[2])[:2]
    assert columns[2] == f"2.c{best[0]}.c{best[1]}"


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


def test_the_estimator_takes_weights() -> None:
    X, w = weighted_problem(18)
    matrix = sparse.csr_array((w, X.indices, X.indptr), shape=X.shape)
    given, called = (
        wf.ForestCoder(1, weights=weights, zeros=0.1, epochs=200, random_state=0).fit_transform(X)
        for weights in (matrix, lambda Z: w)
    )
    assert np.array_equal(given, called)
    with pytest.raises(InputError, match="function of X"):
        wf.ForestCoder(1, weights=matrix, zeros=0.1, epochs=200, random_state=0).fit(X).transform(X)


def test_the_estimator_codes_new_rows_under_weights() -> None:
    X, _ = weighted_problem(19)
    coder = wf.ForestCoder(1, weights=lambda Z: abs(Z.data), zeros=0.1, epochs=200, init="spectral", random_state=0)
    A = coder.fit_transform(X)
    assert np.abs(coder.transform(X) - A).max() < 0.05 * np.abs(A).max()  # both stop at 1e-3 of a row's length


@pytest.mark.parametrize("weights", [sparse.csr_array(np.eye(60, 40)), np.ones(3)])
def test_the_estimator_refuses_weights_of_other_pairs(weights: Any) -> None:
    with pytest.raises(InputError, match="weights"):
        wf.ForestCoder(1, weights=weights).fit(weighted_problem()[0])


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_lam_is_chosen_under_weights_too(form: Any) -> None:
    X = form(weighted_problem(20, (200, 40))[0])
    settings = {"lam": "auto", "density": 0.3, "zeros": 0.1, "epochs": 50, "random_state": 0}
    coder = wf.ForestCoder(1, weights=lambda Z: abs(Z.data if sparse.issparse(Z) else Z) + 0.1, **settings)
    A = coder.fit_transform(X)
    assert np.count_nonzero(A) / A.size == pytest.approx(0.3, abs=0.075)  # else it warns
    assert coder.lam_ > 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_the_entry_learner_learns_in_the_type_of_x(dtype: Any, form: Any) -> None:
    X = form(matrix().astype(dtype))
    one, two = (
        wf.ForestCoder(1, lam=0.01, learner="entries", epochs=4, random_state=0, n_jobs=n).fit_transform(X)
        for n in (1, 2)
    )
    assert one.dtype == dtype
    assert np.isfinite(one).all()
    assert one.any()
    np.testing.assert_array_equal(one, two)


def test_the_entry_learner_goes_down_its_objective_and_codes_new_rows() -> None:
    coder = wf.ForestCoder(1, lam=0.01, learner="entries", epochs=4, random_state=0).fit(matrix())
    objectives = [step.objective for step in coder.history_]
    assert objectives[-1] < objectives[0]
    assert coder.transform(matrix(seed=1)).shape == (200, 13)
    with pytest.raises(InputError, match="learner online"):
        coder.partial_fit(matrix())


@pytest.mark.filterwarnings("ignore:the objective still falls")
def test_a_row_of_weight_two_counts_like_two_rows() -> None:
    X = matrix().toarray()
    weights = np.arange(200) % 3
    weighted = wf.ForestCoder(1, lam=0.2, epochs=3, random_state=0).fit(X, sample_weight=weights)
    repeated = wf.ForestCoder(1, lam=0.2, epochs=3, random_state=0).fit(X.repeat(weights, axis=0))
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-8)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)


@pytest.mark.parametrize("settings", [{"zeros": 0.5}, {"learner": "entries"}])
def test_weights_of_rows_beside_weights_of_pairs_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="Multiply the weights of a row's pairs"):
        wf.ForestCoder(1, **settings).fit(matrix(), sample_weight=np.ones(200))


def test_learning_goes_on_until_a_pass_gains_little_beside_the_penalty() -> None:
    shorter, longer = (
        wf.ForestCoder(1, lam=0.01, tol_of=unit, random_state=0).fit(matrix()) for unit in ("objective", "penalty")
    )
    assert longer.n_iter_ > shorter.n_iter_
    with pytest.raises(InputError, match="tol_of = 'loss', but it must be one of objective, penalty"):
        wf.ForestCoder(1, tol_of="loss").fit(matrix())
    with pytest.raises(InputError, match="tol_of = 'penalty' is for the learner online without additive"):
        wf.ForestCoder(1, tol_of="penalty", learner="entries").fit(matrix())


def test_an_unknown_learner_is_refused() -> None:
    with pytest.raises(InputError, match="must be one of online, entries"):
        wf.ForestCoder(1, learner="offline").fit(matrix())


@pytest.mark.parametrize("device", DEVICES[1:])
@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.toarray()], ids=["sparse", "dense"])
def test_a_gpu_gives_the_dictionary_of_the_processor(device: str, form: Any) -> None:
    X = form(uneven_matrix())
    here, there = (
        wf.ForestCoder(2, lam=0.3, epochs=3, tol=1.0, random_state=0, device=where).fit(X) for where in ("cpu", device)
    )
    np.testing.assert_allclose(there.components_, here.components_, atol=1e-5)
    np.testing.assert_allclose(there.transform(X), here.transform(X), atol=1e-4)

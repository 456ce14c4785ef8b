"""X made on a device is X made in memory, for every measure, weight and spelling; here the device is PyTorch's CPU."""

import numpy as np
import pytest
from scipy import sparse

from wordforest.counts import Counts
from wordforest.counts.spelling import spell
from wordforest.errors import InputError
from wordforest.jobs.count import Counted
from wordforest.jobs.job import Job
from wordforest.jobs.rows import Matrix, rows_of_counts
from wordforest.settings import AssociationSettings
from wordforest.text.tokens import Vocabulary

pytest.importorskip("torch")

WORDS = ("the", "they", "then", "than", "there", "thesis", "other", "mother", "another", "theme")
CONFIG = {"window": 5, "dynamic_window": True}


def counted(matrix):
    V = matrix.shape[0]
    return Counted(Counts(matrix, Vocabulary(WORDS[:V], np.arange(V, 0, -1))), CONFIG, None)


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    values = rng.poisson(40, (10, 12)) * (rng.random((10, 12)) < 0.6)
    values[3] = 0  # a word without a pair
    return sparse.csr_array(values.astype(np.int32))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spelling", [0.0, 1.1])
@pytest.mark.parametrize(
    "weights", ["none", "abs", "count:0.5", "count:0.6,0.05", "count:0.6,0.05,0.2", "glove:30,0.75"]
)
@pytest.mark.parametrize(("measure", "shift"), [("pmi", 0.0), ("ppmi", 0.0), ("sppmi", 0.1)])
def test_is_the_same_as_in_memory(counts, measure, shift, weights, spelling, dtype):
    from wordforest.jobs.device_rows import device_rows

    settings = AssociationSettings(measure=measure, shift=shift, smoothing=0.9)
    S = spell(WORDS, spelling)[0] if spelling else None
    matrix = Matrix(settings, 3, weights, 0.5, dtype, spelling=S)
    expected, loss = rows_of_counts(Job(None), counted(counts.copy()), matrix)
    found, own = device_rows(counts, matrix, 60)
    X, rows = expected.pairs(), found.rows
    assert found.shape == expected.shape
    assert rows.values.numpy().dtype == dtype
    np.testing.assert_array_equal(rows.starts.numpy(), X.indptr)
    np.testing.assert_array_equal(rows.indices.numpy(), X.indices)
    np.testing.assert_allclose(rows.values.numpy(), X.data, rtol=1e-5, atol=1e-6)
    assert (own.weights is None) == (loss.weights is None)
    assert own.zeros == loss.zeros
    if loss.weights is not None:
        np.testing.assert_allclose(own.weights.numpy(), loss.weights, rtol=1e-5)


def test_refuses_counts_of_which_nothing_is_left(counts):
    from wordforest.jobs.device_rows import device_rows

    with pytest.raises(InputError, match="Lower the shift"):
        device_rows(counts, Matrix(AssociationSettings(measure="sppmi", shift=50.0), 3), 1)

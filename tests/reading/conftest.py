"""The forest about sport, dense and sparse."""

from __future__ import annotations

import pytest
from scipy import sparse

from tests.reading.sport import SPORT, WORDS, A
from wordforest.vectors import Vectors


@pytest.fixture(params=["dense", "sparse"])
def sport(request: pytest.FixtureRequest) -> Vectors:
    return Vectors(WORDS, A if request.param == "dense" else sparse.csr_array(A), forest=SPORT)

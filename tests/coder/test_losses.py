"""The family of squared losses: weights by name, and weights that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wordforest.coder.losses import weighing
from wordforest.coder.rows.base import HELD, Loss
from wordforest.errors import InputError


def test_only_equal_weights_everywhere_are_plain() -> None:
    assert Loss().is_plain
    assert not Loss(zeros=0.5).is_plain
    assert not Loss(np.ones(3)).is_plain


def test_the_heaviest_weight_is_at_least_one() -> None:
    assert [Loss(weights).heaviest for weights in (None, HELD, [0.5], np.array([7.0]))] == [1, 1, 1, 7]


@pytest.mark.parametrize("zeros", [-1.0, np.nan, np.inf])
def test_a_weight_of_unstored_pairs_that_is_none_is_refused(zeros: float) -> None:
    with pytest.raises(InputError, match="zeros"):
        Loss(zeros=zeros)


@pytest.mark.parametrize("weights", [np.ones(3), -np.ones(5), np.array([1, 1, np.nan, 1, 1]), np.full(5, np.inf)])
def test_weights_that_do_not_fit_are_refused(weights: Any) -> None:
    with pytest.raises(InputError, match="weight"):
        Loss(weights).check(5)


@pytest.mark.parametrize("text", ["none", "abs", "count:0.5", "glove:10,0.75"])
def test_weights_by_name(text: str) -> None:
    values, counts = np.array([-1.0, 2.0, 0.5]), np.array([1.0, 20.0, 9.0])
    found = weighing(text)(values, counts)
    expected = {
        "none": None,
        "abs": abs(values),
        "count:0.5": np.sqrt(counts / 10),
        "glove:10,0.75": np.minimum(1, counts / 10) ** 0.75,
    }[text]
    assert (found is None and expected is None) or found == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "count", "count:x", "count:-1", "glove:10", "glove:10,0", "abs:1", "other"])
def test_unknown_weights_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"count:0\.25"):
        weighing(text)

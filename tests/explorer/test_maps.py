"""Words as points of a plane."""

from __future__ import annotations

import numpy as np
import pytest

from wordforest.coder.forest import Forest
from wordforest.explorer import maps
from wordforest.explorer.model import build_model
from wordforest.vectors import Vectors


def test_the_pca_map_has_the_two_axes_of_largest_variance(model):
    unit = model.vectors.unit
    ours = maps.pca_points(unit)
    _, _, axes = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    for axis in range(2):  # same axis up to sign, shift and scale; a few outer words are drawn in
        inside = np.abs(ours[:, axis]) < 1.2
        assert abs(np.corrcoef(ours[inside, axis], (unit @ axes[axis])[inside])[0, 1]) > 0.9999


def test_the_map_is_amid_the_nodes_where_few_are_set_and_by_pca_where_many_are(model):
    assert np.array_equal(model.points, maps.forest_points(model.vectors.dense, model.forest))
    dense = build_model("m", Vectors(["a", "b", "c"], [[1, 2], [3, 1], [2, 2]]))
    assert np.array_equal(dense.points, maps.pca_points(dense.vectors.unit))


def test_a_word_of_one_node_stands_at_that_node():
    forest = Forest.complete(3, (2,))
    model = build_model("m", Vectors([f"w{i}" for i in range(9)], np.eye(9), forest=forest))
    nodes, words = maps.node_points(forest), maps.forest_points(model.vectors.dense, forest)
    for axis in range(2):  # the map is moved and scaled as a whole
        assert abs(np.corrcoef(nodes[:, axis], words[:, axis])[0, 1]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    "place", [lambda m: maps.pca_points(m.vectors.unit), lambda m: maps.forest_points(m.vectors.dense, m.forest)]
)
def test_maps_of_odd_models_are_finite(place):
    for matrix in ([[0.0, 0.0]], [[1.0], [0.0], [2.0]], [[1.0, 1.0], [1.0, 1.0]]):
        model = build_model("m", Vectors([f"w{i}" for i in range(len(matrix))], matrix))
        places = place(model)
        assert places.shape == (len(matrix), 2)
        assert np.isfinite(places).all()

"""Codes as features with names."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.reading.sport import LABELS, NASTY, WORDS, A, named, printable
from tests.strategies import forests
from wordforest.coder.forest import Forest
from wordforest.reading import (
    as_features,
    feature_names,
    names_as_tsv,
)
from wordforest.vectors import Vectors


def test_features_have_the_codes_and_a_name_for_each_column(sport: Vectors) -> None:
    matrix, names = as_features(sport, labels=LABELS)
    assert (matrix.toarray() == A).all()
    assert names == [
        "0.sport",
        "0.sport.ball",
        "0.sport.ball.racket",
        "0.sport.ball.goal",
        "0.sport.sprint",
        "1.piano",
        "1.piano.node6",
    ]


def test_features_can_be_written_to_and_leave_the_vectors_alone(sport: Vectors) -> None:
    matrix, _ = as_features(sport)
    matrix.data[:] = 0
    assert (sport.dense == A).all()


@given(st.lists(printable | st.sampled_from([*NASTY, "a.b", "a_b", "a-b"]), min_size=1, max_size=5), forests(5))
def test_names_are_unique_and_safe(words: list[str], forest: Forest) -> None:
    labels = [(words[i % len(words)],) for i in range(len(forest))]
    names = feature_names(named(np.ones((1, len(forest))), forest), labels=labels)
    assert len(set(names)) == len(forest)
    assert all(re.fullmatch(r"\d+(\.\w+)+", name) for name in names)
    assert [name.count(".") for name in names] == [depth + 1 for depth in forest.depth]


def test_names_as_a_table(sport: Vectors) -> None:
    table = names_as_tsv(sport, labels=LABELS).splitlines()
    assert table[:3] == [
        "node\tname\tparent\tdepth\tstability\tlabel",
        "0\t0.sport\t-1\t0\t\tsport",
        "1\t0.sport.ball\t0\t1\t\tball goal",
    ]
    known = Vectors(sport.words, sport.matrix, forest=sport.forest, nodes={"stability": np.linspace(0, 1, 7)})
    assert names_as_tsv(known, labels=LABELS).splitlines()[2] == "1\t0.sport.ball\t0\t1\t0.167\tball goal"


def test_a_table_of_nasty_names_has_six_columns_in_every_row() -> None:
    rows = names_as_tsv(Vectors(NASTY, np.eye(len(NASTY)))).rstrip("\n").split("\n")
    assert [row.count("\t") for row in rows] == [5] * (len(NASTY) + 1)


def test_frames_have_words_as_rows_and_nodes_as_columns(sport: Vectors) -> None:
    pandas = pytest.importorskip("pandas")
    frame = sport.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert (frame.index.name, tuple(frame.index)) == ("word", WORDS)
    assert frame.columns[:3].tolist() == ["0.ball", "0.ball.ball", "0.ball.ball.racket"]
    np.testing.assert_array_equal(frame.to_numpy(), A)
    assert Vectors(["a"], [[1.0, 2.0]]).to_frame().columns.tolist() == [0, 1]

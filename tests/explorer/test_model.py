"""What the page knows of a model: completion, summary, names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.explorer.made import made_run
from wordforest.errors import InputError
from wordforest.explorer.model import build_model, complete, open_models, summary
from wordforest.store import save_run
from wordforest.vectors import Vectors


def test_completion_takes_frequent_words_first_in_any_case(model):
    assert complete(model, "KIN") == ["king", "kings"]
    assert complete(model, "kings") == ["kings"]
    assert complete(model, " ") == []
    assert complete(model, "word", k=3) == ["word000", "word001", "word002"]


@given(
    st.lists(st.text("abAB", min_size=1, max_size=4), min_size=1, max_size=30, unique=True), st.text("abAB", max_size=3)
)
def test_completion_finds_what_a_search_through_all_words_finds(words, prefix):
    model = build_model("m", Vectors(words, np.ones((len(words), 1))))
    wanted = [word for word in words if prefix and word.casefold().startswith(prefix.casefold())]
    assert sorted(complete(model, prefix, k=30)) == sorted(wanted)


def test_the_summary_counts_nodes_and_words_by_depth(model):
    told = summary(model)
    assert [level["nodes"] for level in told["depths"]] == [3, 4, 2]
    assert told["depths"][1]["unused"] == 1
    assert told["labels"][7] == []


def test_vectors_without_a_forest_are_shown_as_single_nodes():
    model = build_model("m", Vectors(["a", "b"], [[1, 0], [0, 1]]))
    assert not summary(model)["drawn"]
    assert model.forest.parent.tolist() == [-1, -1]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    save_run(folder, made_run())
    return folder


def test_models_of_one_name_are_told_apart(run_folder):
    names = [model.name for model in open_models([str(run_folder), str(run_folder)])]
    assert names == [str(run_folder)] * 2
    with pytest.raises(InputError, match="1 to 4"):
        open_models([str(run_folder)] * 5)

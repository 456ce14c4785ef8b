"""What the page knows of a model: completion, summary, names."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.explorer.made import made_run
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.explorer.examples import find_examples
from wordforest.explorer.model import build_model, complete, open_models, spelled, summary
from wordforest.reading import label_nodes
from wordforest.store import Run, save_run
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


def test_a_word_is_known_in_any_case_and_the_exact_one_comes_first():
    model = build_model("m", Vectors(["Kings", "KING", "king", "Ähre"], np.ones((4, 1))))
    assert [spelled(model, word) for word in ("king", "King", "kings ", "ÄHRE", "kin")] == [
        *("king", "KING", "Kings", "Ähre", "kin")
    ]
    assert complete(model, "King")[0] == "KING"
    assert complete(model, "king")[0] == "king"


def of_grammar(first: list[str], n_words: int = 30) -> Run:
    """A run with one tree that its first words use most."""
    words = (*first, *(f"content{'abcdefghijklmnopqrstuvwxyz'[i % 26]}{i}x" for i in range(n_words - len(first))))
    codes = np.linspace(2, 1, n_words, dtype=np.float32)[:, None]
    return Run(words, np.arange(n_words, 0, -1), sparse.csr_array(codes), None, Forest([-1]))


def test_titles_skip_function_words_of_english_and_the_most_frequent_words_of_other_languages():
    english = of_grammar(["the", "of", "and", "to", "in", "with"])
    assert set(label_nodes(english.vectors)[0]) & {"the", "of", "and"}  # without the page they are its label
    assert not set(build_model("m", english).labels[0]) & {*english.words[:6]}
    german = of_grammar(["der", "die", "und", "wald", "haus", "baum"], 600)
    assert not set(build_model("m", german).labels[0]) & {"der", "die", "und"}
    assert "wald" in build_model("m", german).labels[0]
    alone = build_model("m", Vectors(["the", "of"], [[1], [2]]))
    assert set(alone.labels[0]) == {"the", "of"}


def test_examples_are_words_of_all_models_known_ones_first():
    axes = {"king": (1, 0.1), "queen": (1, -0.1), "gold": (0, 1), "silver": (0.5, 1), "the": (3, 3), "x1": (3, 3)}
    model = build_model("m", Vectors([*axes], list(axes.values())))
    assert find_examples([model]).compare == ("king", "queen")
    other = build_model("m", Vectors(["gold", "silver"], np.ones((2, 2))))
    assert find_examples([model, other]).compare == ("gold", "silver")
    assert find_examples([other, build_model("m", Vectors(["gold"], [[1]]))]) == ((), ())


def test_examples_of_unknown_words_are_near_pairs_that_differ_alike():
    words = ["Hund", "Welpe", "Katze", "Junges", "Stein", "Fels"]
    places = [[1, 0, 0, 0], [1, 0.3, 0, 0], [0, 0, 1, 0], [0, 0.3, 1, 0], [0, 0, 0, 1], [0, 0, 0.2, 1]]
    model = build_model("m", Vectors(words, places))
    compare, (a, b, c) = find_examples([model])
    assert compare in {("Hund", "Welpe"), ("Katze", "Junges"), ("Stein", "Fels")}
    assert model.vectors.analogy(a, b, c, topn=1)[0][0] in words
    assert {(a, b), (c,)} in [{("Hund", "Welpe"), ("Katze",)}, {("Katze", "Junges"), ("Hund",)}]


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

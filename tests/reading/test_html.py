"""What a notebook shows: trees that fold, escaped, small, without a script; and one line where text is shown."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from tests.reading.sport import NASTY, SPORT, WORDS, A
from wordforest.reading import label_nodes
from wordforest.vectors import Vectors


class Page(HTMLParser):
    """The elements of a page, after a check that each is closed; and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, int]] = []  # with how deep they are
        self.text, self._open = "", list[str]()
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.elements.append((tag, len(self._open)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if self._open[-1:] != ["style"] else ""

    def count(self, tag: str) -> int:
        return sum(one == tag for one, _ in self.elements)


def large(trees: int = 100) -> Vectors:
    """Vectors with 13 nodes a tree, and long words."""
    forest = wf.Forest.complete(trees)
    rng = np.random.default_rng(0)
    words = [f"{'abcdefgh'[i % 8] * 5}{i:04d}" for i in range(4000)]
    return Vectors(words, np.maximum(rng.normal(size=(4000, len(forest))) - 2, 0), forest=forest)


def test_the_forest_of_vectors_folds(sport: Vectors) -> None:
    page = Page(sport._repr_html_())
    assert page.text.startswith(
        "Vectors 8 words, 7 dimensions, 42.9% not zero; behind a node the share of words that use it"
    )
    assert page.count("details") == 3  # sport, ball games within it, music
    assert sorted(depth for tag, depth in page.elements if tag == "details") == [1, 1, 2]
    assert "2 racket" in page.text
    assert "script" not in {tag for tag, _ in page.elements}


def test_without_a_forest_the_first_words_are_shown() -> None:
    page = Page(Vectors(["hot", "<b>"], [[1.0], [2.0]])._repr_html_())
    assert page.text == "Vectors 2 words, 1 dimensions, 100.0% not zerohot <b>"


def test_odd_words_stay_words() -> None:
    vectors = Vectors(NASTY, np.eye(len(NASTY)), forest=wf.Forest([-1, *[0] * (len(NASTY) - 1)]))
    for shown in (vectors, vectors.labels, vectors.node(0), vectors.path(NASTY[0])):
        page = Page(shown._repr_html_())
        assert {tag for tag, _ in page.elements} <= {"style", "div", "b", "i", "details", "summary"}
        assert '"<script>' in page.text


@pytest.mark.parametrize("trees", [100, 400])
def test_a_large_forest_is_cut_at_a_tree_and_says_so(trees: int) -> None:
    vectors = large(trees)
    for shown in (vectors, vectors.labels):
        html = shown._repr_html_()
        assert len(html.encode()) < 60_000
        page = Page(html)
        roots = sum((tag, depth) == ("details", 1) for tag, depth in page.elements)
        assert page.text.endswith(f"and {trees - roots} more trees, not shown here") or roots == trees


def test_labels_print_as_an_outline_and_show_in_one_line(sport: Vectors) -> None:
    labels = label_nodes(sport, 2)
    assert repr(labels) == "NodeLabels(7 nodes in 2 trees: 0 'ball racket', 1 'ball racket', ...)"
    assert str(labels).splitlines()[:3] == ["0 ball racket", "  1 ball racket", "    2 racket ball"]
    assert labels == [tuple(label) for label in labels]  # a list of tuples
    assert "2 racket" in Page(labels._repr_html_()).text


def test_the_path_of_a_word_unfolds_its_strongest_tree(sport: Vectors) -> None:
    path = sport.path("fan")
    assert repr(path) == "WordPath('fan', 2 trees, most in 'ball racket goal')"
    page = Page(path._repr_html_())
    assert page.text.startswith("fan ")
    assert "50.0%, +2" in page.text
    assert Page(Vectors(["void"], [[0.0]]).path("void")._repr_html_()).text == "void uses no node"


def test_a_node_shows_what_is_above_and_below(sport: Vectors) -> None:
    page = Page(sport.node(1)._repr_html_())
    assert page.text.startswith("1 ball racket goal sport depth 1, used by 5 words (62.5%)0 ball racket goal")
    assert page.text.endswith("3 goal ball")


def test_everything_large_is_one_line_of_text() -> None:
    words = [f"w{i}" for i in range(500)]
    counts = wf.count([" ".join(words)] * 2, min_count=1)
    run = wf.Run(tuple(words), np.ones(500, int), wf.pmi(counts)[:, :500].astype(np.float32), None, wf.Forest.flat(500))
    for shown in (counts, counts.vocabulary, run, run.vectors, run.forest, run.vectors.labels, run.vectors.path("w0")):
        assert len(repr(shown)) < 120
        assert "\n" not in repr(shown)
    assert repr(run) == "Run(500 words, Forest(500 nodes, 500 trees, depth 1))"


def test_a_run_shows_its_forest(sport: Vectors) -> None:
    run = wf.Run(WORDS, np.ones(8, int), sparse.csr_array(A.astype(np.float32)), None, SPORT)
    assert run._repr_html_() == sport.to_html("Run")

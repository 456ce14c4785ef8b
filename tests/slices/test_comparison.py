"""All of it: a comparison of made-up slices says what was made up, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from tests.slices.made import MOVES, STEADY, documents
from wordforest.slices import Comparison
from wordforest.slices.comparison import node_shares


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run trained with two slices, in which the word that moves has more pairs than are added of the whole."""
    old, new = documents()
    out = tmp_path_factory.mktemp("compare") / "run"
    settings = {"trees": 2, "branching": (), "min_count": 3, "measure": "ppmi", "nonnegative": True, "init": "nested"}
    wf.train(slices={"old": old, "new": new}, out=out, additive=True, lam="auto", density=0.9, **settings)
    return out


@pytest.fixture(scope="module")
def found(run: Path) -> Comparison:
    return wf.compare(run, between=["old", "new"])


def test_the_word_that_moved_comes_first(found: Comparison) -> None:
    words = found.tables["words"]
    assert words["word"][0] == MOVES
    assert words["before"][0] == "old"
    assert words["after"][0] == "new"
    assert words["q"][0] < 1e-4
    effect = dict(zip(words["word"], words["effect"], strict=True))
    assert effect[MOVES] > 3 * effect.get(STEADY, 0)  # which has the same company, but for the word that left


def test_its_contexts_and_examples_show_why(found: Comparison) -> None:
    words = found.tables["words"]
    assert {"wave", "anchor", "storm", "sail", "deck", "coast", "harbour", "sailor"} >= {*words["contexts_before"][0]}
    assert {"rocket", "pilot", "orbit", "moon", "engine", "star", "launch", "cloud"} >= {*words["contexts_after"][0]}
    assert all(f"[{MOVES}]" in line for line in words["example_before"][0])


def test_it_has_a_path_before_and_after(found: Comparison) -> None:
    words = found.tables["words"]
    assert words["moved"][0]
    assert words["node_before"][0] != words["node_after"][0]
    assert all(words["path_before"][0])


def test_a_word_of_one_slice_alone_has_come(tmp_path: Path) -> None:
    old, new = documents()
    new = [text.replace("storm", "tempest") for text in new]
    wf.train(slices={"old": old, "new": new}, out=tmp_path / "run", trees=2, branching=(2,), min_count=3)
    table = wf.compare(tmp_path / "run", between=["old", "new"]).tables["vocabulary"]
    kinds = {(w, s): kind for w, s, kind in zip(table["word"], table["slice"], table["kind"], strict=True)}
    assert kinds["tempest", "new"] == "came"
    assert kinds["storm", "new"] == "went"
    assert kinds["storm", "old"] == "came"


def test_tables_are_tidy_frames(found: Comparison) -> None:
    nodes = found.nodes
    assert len(nodes) == 2 * 2
    assert {"node", "label", "slice", "share", "low", "high", "log_odds", "p", "q"} <= {*nodes.columns}
    shares = nodes[nodes.parent < 0].groupby("slice").share.sum()
    assert (shares <= 1 + 1e-6).all()


def test_it_can_be_written_as_json(found: Comparison) -> None:
    assert json.loads(json.dumps(found.as_object(), allow_nan=False))["slices"] == ["old", "new"]


def test_the_same_seed_gives_the_same_tables_with_any_workers(run: Path, found: Comparison) -> None:
    again = wf.compare(run, between=["old", "new"], workers=1)
    assert again.as_object() == found.as_object()


def test_roots_of_a_word_share_it_out(run: Path) -> None:
    vectors = wf.load_run(run).vectors
    shares = node_shares(vectors)
    roots = shares[:, vectors.forest.roots].sum(axis=1)
    coded = np.asarray(shares.sum(axis=1)) > 0
    np.testing.assert_allclose(roots[coded], 1, atol=1e-4)


def test_a_run_of_the_paper_is_compared_too(tmp_path: Path) -> None:
    old, new = documents()
    out = tmp_path / "run"
    wf.train(slices={"old": old, "new": new}, out=out, trees=1, min_count=3)
    assert wf.compare(out, between=["old", "new"]).tables["words"]["word"][0] == MOVES


def test_a_run_of_best_has_no_paths_by_slice(tmp_path: Path) -> None:
    old, new = documents()
    out = tmp_path / "run"
    wf.train(slices={"old": old, "new": new}, out=out, preset="best", trees=1, min_count=3)
    words = wf.compare(out, between=["old", "new"]).tables["words"]
    assert words["word"][0] == MOVES
    assert words["path_before"][0] is None

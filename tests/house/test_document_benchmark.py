"""The judge of benchmarks/documents.py on cases worked by hand; rows that are kept are taken and not made again."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(str(FOLDER))
    return runpy.run_path(str(FOLDER / "documents.py"))


def test_what_is_kept_is_taken_and_what_is_not_installed_is_named(tmp_path: Path) -> None:
    posts, work = tmp_path / "posts.jsonl", tmp_path / "work"
    post = {"id": 0, "text": "a word", "group": "g", "field": "f", "part": "train"}
    posts.write_text(json.dumps(post), encoding="utf-8")
    work.mkdir()
    level = {"level": "", "clusters": 20, "v_group": 0.5, "v_field": 0.25, "left_over": 0.4}
    row = {"seed": 0, "levels": [level], "accuracy": 0.125, "features": 20, "seconds": 7.0, "memory_mb": 300.0}
    (work / "lsa-0.json").write_text(json.dumps(row), encoding="utf-8")
    np.savez(work / "lsa-0.npz", **{"level ": np.zeros(1)}, seconds=7.0, memory=300.0)
    command = [sys.executable, FOLDER / "documents.py", posts, "--work", work, "--ways", "lsa", "bertopic"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "| LSA + k-means (20) | 20 | 0.500 | 0.250 | 40.0% |  | 12.5 | 20 | 7 | 300 |  |" in told
    assert "Left out: bertopic (bertopic is not installed)" in told


def test_accuracy_is_that_of_posts_not_learned_from(judge: dict[str, Any]) -> None:
    judge["linear_accuracy"].__globals__["available_cores"] = lambda: 1
    group = np.array(["a", "b"] * 30)
    features = np.column_stack([group == "a", group == "b"]).astype(float)
    features[50:] = features[50:, ::-1]  # the last ten say the opposite
    train = np.arange(60) < 40
    assert judge["linear_accuracy"](features, group, train)["accuracy"] == 0.5


def test_posts_left_over_are_counted_and_are_one_cluster(judge: dict[str, Any]) -> None:
    group, field = np.array(["a", "a", "b", "b"]), np.array(["x"] * 4)
    row = judge["judge_level"]("", np.array([3, 3, -1, -1]), group, field)
    assert (row["clusters"], row["v_group"], row["left_over"]) == (1, 1.0, 0.5)


def test_parents_match_only_where_they_are_matched_to_each_other(judge: dict[str, Any]) -> None:
    # root 0 with children 1, 2 and root 3 with child 4, on both sides; the second's trees come in the other order
    first, second = np.arange(5), np.array([2, 3, 1, 0, 4])
    above, theirs = np.array([-1, 0, 0, -1, 3]), np.array([-1, 0, -1, 2, 2])
    # node 1 -> 3, whose parent 2 is the match of 0; 2 -> 1 and 4 -> 4 have gone to the other tree
    assert judge["parents_match"](first, second, above, theirs).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix])
def test_scaling_is_the_same_for_sparse_and_dense_features(judge: dict[str, Any], make: Any) -> None:
    features = make(np.array([[9.0, 16.0], [0.0, -4.0]]))
    roots = judge["scaled"](features, "roots", np.array([True, True]))
    dense = roots.toarray() if sp.issparse(roots) else roots
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0.0, -1.0]], atol=1e-12)


def test_one_way_is_forgotten_with_its_halves_and_no_other(judge: dict[str, Any], tmp_path: Path) -> None:
    own = ["forest-0.npz", "forest-0.json", "halves-forest-0.json", "halves-forest with levels 20, 60-0.json"]
    other = ["forest-minilm-0.npz", "halves-forest-minilm-0.json", "minilm.npy"]
    for name in (*own, *other):
        (tmp_path / name).touch()
    judge["forget"](tmp_path, ["forest"])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(other)

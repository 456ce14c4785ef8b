"""Commands that show a forest to people: inspect, path, export, evaluate meaning. Real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf


def wordforest(*args: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wordforest", *map(str, args)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120)


def done(*args: Any) -> str:
    result = wordforest(*args)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(*args: Any) -> str:
    result = wordforest(*args)
    assert result.returncode == 2
    assert "Traceback" not in result.stderr
    return result.stderr


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("readable") / "run"
    wf.train(corpus, preset="readable", trees=2, min_count=2, out=folder)
    return folder


def test_inspect_names_nodes_and_tells_their_use(run: Path) -> None:
    lines = done("inspect", run, "-k", 2).splitlines()
    assert lines[1].startswith("non-zero: ")
    assert lines[2].startswith("0 ")
    assert lines[2].endswith("%)")


@pytest.mark.parametrize(("form", "first"), [("mermaid", "flowchart"), ("dot", "digraph"), ("json", "{")])
def test_inspect_writes_other_forms(run: Path, form: str, first: str) -> None:
    assert done("inspect", run, "--tree", 1, "--tree", 1, "--format", form).startswith(first)


def test_inspect_of_a_node_lists_its_words_as_asked(run: Path) -> None:
    members = json.loads(done("inspect", run, "--node", 0, "-k", 3, "--json"))
    assert len(members) == 3
    assert {"word", "length", "share", "node"} <= set(members[0])


def test_inspect_of_a_node_is_no_graph(run: Path) -> None:
    assert "neither --tree nor a graph" in refused("inspect", run, "--node", 0, "--format", "dot")


def test_inspect_refuses_a_missing_tree_before_it_prints(run: Path) -> None:
    result = wordforest("inspect", run, "--tree", 99)
    assert (result.returncode, result.stdout) == (2, "")


def test_path_shows_as_many_words_of_a_node_as_asked(run: Path) -> None:
    labels = [step["label"] for tree in json.loads(done("path", run, "king", "-k", 6, "--json"))["words"][0]["trees"]
              for step in tree["steps"]]  # fmt: skip
    assert max(map(len, labels)) > 3


def test_path_tells_where_words_part(run: Path) -> None:
    assert "king, queen" in done("path", run, "king", "queen")


def test_export_writes_features_with_their_names(run: Path, tmp_path: Path) -> None:
    done("export", run, tmp_path / "features.npz")
    features = sparse.load_npz(tmp_path / "features.npz")
    names = (tmp_path / "features.tsv").read_text(encoding="utf-8").splitlines()
    assert features.shape[1] == len(names) - 1 == 26


@pytest.mark.parametrize("name", ["forest.ttl", "forest.jsonld", "FOREST.TTL"])
def test_export_writes_a_thesaurus(run: Path, tmp_path: Path, name: str) -> None:
    done("export", run, tmp_path / name, "-k", 2)
    assert "ConceptScheme" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tasks", "meaning"), "by --held"),
        (("--tasks", "similarity", "--held", "TEXT"), "for the task meaning"),
        (("--tasks", "meaning", "--held", "TEXT", "--half", "test"), "not for the task meaning"),
        (("--tasks", "meening"), "meaning"),
    ],
)
def test_evaluate_refuses_what_it_would_ignore(run: Path, corpus: Path, options: tuple[str, ...], message: str) -> None:
    assert message in refused("evaluate", run, *(corpus if option == "TEXT" else option for option in options))


def test_evaluate_judges_meaning_node_by_node_and_over_runs(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    topics = [[f"{topic}{chr(97 + i)}" for i in range(12)] for topic in ("sea", "sky", "war", "art")]
    rows = [" ".join(rng.choice(topics[i % 4], 12)) for i in range(4000)]
    letters = [chr(97 + i) for i in range(26)]
    rare = [" ".join("x" + "".join(rng.choice(letters, 3)) for _ in range(12)) for _ in range(24_000)]
    (tmp_path / "train.txt").write_text("\n".join(rows[:3000]) + "\n")
    (tmp_path / "held.txt").write_text("\n".join(rows[3000:] + rare) + "\n")
    runs = [tmp_path / f"run{seed}" for seed in range(2)]
    for seed, out in enumerate(runs):
        wf.train(tmp_path / "train.txt", preset="readable", trees=2, min_count=2, seed=seed, out=out)
    text = done("evaluate", *runs, "--tasks", "meaning", "--held", tmp_path / "held.txt", "--json")
    found = [json.loads(line) for line in text.splitlines()]
    assert any(row.get("set") == "stability" for row in found)
    assert sum("coherence" in row for row in found) == 2 * 26


def test_quiet_keeps_warnings(corpus: Path, tmp_path: Path) -> None:
    result = wordforest("train", corpus, "--lam", 1e6, "--out", tmp_path / "zero", "--quiet")
    assert result.returncode == 0
    assert "warning: all codes are zero" in result.stderr

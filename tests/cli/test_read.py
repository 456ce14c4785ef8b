"""inspect, path, neighbors, analogy, export, convert: what they show and write."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from tests.cli.shell import RUN_FILES, done, refused
from tests.commands import run_command


class TestVectors:
    def test_neighbors_share_contexts(self, run):
        result = done("neighbors", run, "cat", "paris", "-k", 3)
        lines = [line.split() for line in result.stdout.splitlines()]
        assert [line[0] for line in lines if len(line) == 1] == ["cat", "paris"]
        assert {line[0] for line in lines[1:4]} == {"dog", "horse", "cow"}
        assert {line[0] for line in lines[5:8]} <= {"london", "berlin", "madrid", "rome"}

    def test_neighbors_as_json(self, run):
        cat, paris = map(json.loads, done("neighbors", run, "cat", "paris", "-k", 3, "--json").stdout.splitlines())
        assert (cat["query"], paris["query"]) == ("cat", "paris")
        assert {found["word"] for found in cat["neighbors"]} == {"dog", "horse", "cow"}
        assert all(0.5 < found["cosine"] <= 1 + 1e-6 for found in cat["neighbors"])

    def test_words_without_a_vector_are_named_and_the_rest_answered(self, run):
        result = done("neighbors", run, "Cat", "cta", "paris", "-k", 1)
        assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == ["cat", "paris"]
        assert "note: no vector for 'cta'. Did you mean cat" in result.stderr
        *found, last = map(json.loads, done("neighbors", run, "cat", "cta", "--json").stdout.splitlines())
        assert [one["query"] for one in found] == ["cat"]
        assert (last["unknown"], last["did_you_mean"][0]) == ("cta", "cat")

    def test_a_path_names_unknown_words_and_shows_the_rest(self, run):
        result = done("path", run, "Cat", "cta")
        assert result.stdout.startswith("cat\n")
        assert "no vector for 'cta'" in result.stderr
        found = json.loads(done("path", run, "cat", "cta", "paris", "--json").stdout)
        assert [word["word"] for word in found["words"]] == ["cat", "paris"]
        assert found["unknown"][0]["unknown"] == "cta"

    @pytest.mark.parametrize("name", ["neighbors", "path"])
    def test_where_no_word_is_known_all_are_named(self, run, name):
        message = refused(name, run, "cta", "xyzzy")
        assert "no vector for 'cta' (cat" in message
        assert "'xyzzy'" in message

    def test_an_analogy_reads_words_as_text_and_names_all_that_are_unknown(self, run):
        assert done("analogy", run, "Man", "King", "Woman", "-k", 1).stdout.startswith("man : king :: woman :")
        assert "'xyzzy', 'yzzyx'" in refused("analogy", run, "man", "xyzzy", "yzzyx")

    def test_analogy(self, run):
        found = json.loads(done("analogy", run, "man", "king", "woman", "-k", 1, "--json").stdout)
        assert found["neighbors"][0]["word"] == "queen"

    def test_inspect_shows_size_sparsity_and_every_node(self, run):
        text = done("inspect", run, "-k", 2).stdout
        words = len((run / "vocab.tsv").read_text().splitlines())
        first, second, third, *nodes = text.splitlines()
        assert first.endswith(f": {words} words, 26 dimensions")
        assert "depth 0:" in second
        assert "depth 2:" in second
        assert third == "strongest words of both signs:"
        assert len(nodes) == 26
        assert all(" | " in node for node in nodes)

    def test_inspect_as_json(self, run):
        value = json.loads(done("inspect", run, "-k", 2, "--json").stdout)
        assert value["dimensions"] == len(value["nodes"]) == 26
        assert [node["parent"] for node in value["nodes"]] == wf.Forest.complete(2, (3, 3)).parent.tolist()
        assert len(value["density_by_depth"]) == 3

    @pytest.mark.parametrize("name", ["v.txt", "v.bin", "v.glove", "v.txt.gz"])
    def test_convert_there_and_back_keeps_every_value(self, run, tmp_path, name):
        done("convert", run, tmp_path / name)
        done("convert", tmp_path / name, tmp_path / "back")
        there, back = wf.read_vectors(run), wf.read_vectors(tmp_path / "back")
        assert back.words == there.words
        assert np.array_equal(back.dense, there.dense)

    @pytest.mark.parametrize("name", ["v.txt", "v.vec.gz", "v.bin", "v.glove", "v.tsv", "v.npz", "v.parquet", "copy"])
    def test_convert_says_where_the_forest_is_lost(self, run, tmp_path, name):
        done("convert", run, tmp_path / name)
        is_kept = wf.read_vectors(tmp_path / name).forest is not None
        other = tmp_path / f"again{name}"
        assert ("no place for the forest" in done("convert", run, other).stderr) is not is_kept

    def test_convert_says_nothing_of_a_forest_that_is_flat(self, tmp_path):
        wf.write_vectors(tmp_path / "flat", wf.Vectors(["a", "b"], np.eye(2)))
        assert "forest" not in done("convert", tmp_path / "flat", tmp_path / "v.txt").stderr

    @pytest.mark.parametrize("name", ["copy", "v.npz", "v.safetensors", "v.parquet"])
    def test_convert_keeps_labels_where_it_keeps_the_forest(self, run, tmp_path, name):
        own = shutil.copytree(run, tmp_path / "own")
        (own / "labels.tsv").write_text("1\tmine, größer\n", encoding="utf-8")
        done("convert", own, tmp_path / name)
        assert wf.read_vectors(tmp_path / name).given_labels == {1: "mine, größer"}

    def test_convert_overwrites_only_with_force(self, run, tmp_path):
        target = tmp_path / "v.txt"
        target.write_text("mine")
        refused = run_command("convert", run, target)
        assert (refused.returncode, target.read_text()) == (2, "mine")
        done("convert", run, target, "--force")
        assert len(wf.read_vectors(target)) == len(wf.read_vectors(run))

    def test_convert_onto_itself_is_refused(self, run):
        result = run_command("convert", run, run, "--force")
        assert result.returncode == 2
        assert "same" in result.stderr
        assert {path.name for path in run.iterdir()} == RUN_FILES | {"counts"}

    def test_convert_leaves_nothing_of_the_counts_it_replaces(self, run, counts, tmp_path):
        target = shutil.copytree(counts, tmp_path / "target")
        done("convert", run, target, "--force")
        assert not (target / "counts.safetensors").exists()


def test_inspect_names_nodes_and_tells_their_use(readable: Path) -> None:
    lines = done("inspect", readable, "-k", 2).stdout.splitlines()
    assert lines[1].startswith("non-zero: ")
    assert lines[2].startswith("0 ")
    assert lines[2].endswith("%)")


def test_labels_leave_out_stop_words_and_take_names_from_the_run(readable: Path, tmp_path: Path) -> None:
    run = shutil.copytree(readable, tmp_path / "run")
    word = json.loads(done("inspect", run, "--json").stdout)["nodes"][0]["label"][0]
    (tmp_path / "stop.txt").write_text(f"\n{word.upper()}\n")
    (run / "labels.tsv").write_text("1\tMy own name\n")
    stop = ("--stop-words", tmp_path / "stop.txt")
    first, second = json.loads(done("inspect", run, "--json", *stop).stdout)["nodes"][:2]
    assert word not in first["label"]
    assert second["label"] == ["My own name"]
    assert "My own name" in done("inspect", run).stdout
    done("export", run, tmp_path / "features.npz", *stop)
    names = (tmp_path / "features.tsv").read_text(encoding="utf-8").splitlines()
    assert names[2].split("\t")[1] == f"0.{first['label'][0]}.My_own_name"
    done("explore", run, "--export", tmp_path / "page.html", *stop)
    packed = re.search(r'id="data">([^<]+)<', (tmp_path / "page.html").read_text(encoding="utf-8"))
    assert packed
    assert b'["My own name"]' in zlib.decompress(base64.b64decode(packed[1]))
    users = [word for word, _ in second["positive"]]
    assert "My own name" in done("path", run, *users, *stop).stdout


def test_hidden_nodes_are_left_out_where_the_forest_is_read(readable: Path, tmp_path: Path) -> None:
    run = shutil.copytree(readable, tmp_path / "run")
    (run / "labels.tsv").write_text("1\tMine\thidden\tnot of interest\n")
    shown = done("inspect", run).stdout
    assert "hidden by labels.tsv: " in shown
    assert "Mine" not in shown
    assert 1 not in [node["node"] for node in json.loads(done("inspect", run, "--json").stdout)["nodes"]]
    done("convert", run, tmp_path / "v.npz")
    assert wf.read_vectors(tmp_path / "v.npz").notes[1] == ("Mine", True, "not of interest")


def test_a_bad_file_of_labels_is_told_by_every_command_that_shows_them(readable: Path, tmp_path: Path) -> None:
    run = shutil.copytree(readable, tmp_path / "run")
    (run / "labels.tsv").write_text("1 no tab\n")
    for command in (["inspect"], ["path", "king"], ["explore", "--export", tmp_path / "page.html"]):
        assert "labels.tsv, line 1: expected the number of a node from 0 to 25, a tab" in refused(
            command[0], run, *command[1:]
        )


@pytest.mark.parametrize(("form", "first"), [("mermaid", "flowchart"), ("dot", "digraph"), ("json", "{")])
def test_inspect_writes_other_forms(readable: Path, form: str, first: str) -> None:
    assert done("inspect", readable, "--tree", 1, "--tree", 1, "--format", form).stdout.startswith(first)


def test_inspect_of_a_node_lists_its_words_as_asked(readable: Path) -> None:
    members = json.loads(done("inspect", readable, "--node", 0, "-k", 3, "--format", "json").stdout)
    assert len(members) == 3
    assert {"word", "strength", "share", "node"} <= set(members[0])


def test_inspect_of_a_node_is_no_graph(readable: Path) -> None:
    assert "neither --tree nor a graph" in refused("inspect", readable, "--node", 0, "--format", "dot")


def test_inspect_refuses_a_missing_tree_before_it_prints(readable: Path) -> None:
    result = run_command("inspect", readable, "--tree", 99)
    assert (result.returncode, result.stdout) == (2, "")


def test_path_shows_as_many_words_of_a_node_as_asked(readable: Path) -> None:
    found = json.loads(done("path", readable, "king", "-k", 6, "--json").stdout)
    labels = [step["label"] for tree in found["words"][0]["trees"] for step in tree["steps"]]
    assert max(map(len, labels)) > 3


def test_path_tells_where_words_part(readable: Path) -> None:
    assert "king, queen" in done("path", readable, "king", "queen").stdout


def test_export_writes_features_with_their_names(readable: Path, tmp_path: Path) -> None:
    done("export", readable, tmp_path / "features.npz")
    features = sparse.load_npz(tmp_path / "features.npz")
    with np.load(tmp_path / "features.npz") as file:
        words, names = file["words"].tolist(), file["names"].tolist()
    assert words == [*wf.load_run(readable).words]
    assert names == [line.split("\t")[1] for line in (tmp_path / "features.tsv").read_text().splitlines()[1:]]
    names = (tmp_path / "features.tsv").read_text(encoding="utf-8").splitlines()
    assert features.shape[1] == len(names) - 1 == 26


@pytest.mark.parametrize("name", ["forest.ttl", "forest.jsonld", "FOREST.TTL"])
def test_export_writes_a_thesaurus(readable: Path, tmp_path: Path, name: str) -> None:
    done("export", readable, tmp_path / name, "-k", 2)
    assert "ConceptScheme" in (tmp_path / name).read_text(encoding="utf-8")

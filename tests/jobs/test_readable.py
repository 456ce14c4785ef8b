"""Readable trees through train and the command line: non-negative, nested, grown, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordforest as wf
from tests.commands import run_command
from wordforest.coder.additive import own_parts
from wordforest.coder.forest import Forest
from wordforest.errors import InputError
from wordforest.jobs import job
from wordforest.jobs.count import associate
from wordforest.options import PRESETS
from wordforest.runtime.progress import Event, Reporter
from wordforest.settings import AssociationSettings, TrainSettings, split_settings

WAYS = {"nested": {"grow": False}, "grown": {"grow": True}}
FAST = {"preset": "readable", "trees": 3, "epochs": 4, "min_count": 1, "density": 0.2}
RESULTS = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")


def uses_every_branch(A: np.ndarray, forest: Forest) -> bool:
    """Say whether every node or one below it is used; a parent may be zero where its sum with others is negative."""
    return all(A[:, i:end].any() for i, end in enumerate(forest.end))


def check_strengths_fall(A: np.ndarray, forest: Forest) -> None:
    Z = A @ own_parts(forest)  # what every node has beside its children
    home = np.bincount(Z[A.any(1)].argmax(1), minlength=len(forest))  # rows that are most at home in a node
    worth = np.array([home[i:end].sum() for i, end in enumerate(forest.end)])
    for siblings in [forest.roots, *map(forest.children, range(len(forest)))]:
        assert (np.diff(worth[list(siblings)]) <= 1e-9 * worth.max()).all()


class Breaks(Reporter):
    """Breaks a run off at a step of learning."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, event: Event) -> None:
        if event.stage == "learn" and event.done:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt


def same_results(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in RESULTS)


def check_readable(run: wf.Run, *, grow: bool) -> None:
    A = run.codes.toarray()
    assert run.codes.data.min() > 0
    children = np.flatnonzero(run.forest.parent >= 0)
    assert not ((A[:, children] > 0) & (A[:, run.forest.parent[children]] == 0)).any()
    assert run.nodes["use"] == pytest.approx((A > 0).mean(0), abs=1e-6)
    check_strengths_fall(A, run.forest)
    assert run.dictionary.shape[1] == len(run.forest)
    if grow:
        assert uses_every_branch(A, run.forest)
        assert len(run.forest) <= 39
    else:
        assert run.forest == Forest.complete(3)


@pytest.mark.parametrize("way", WAYS)
def test_train_gives_ordered_non_negative_trees(corpus: Path, way: str) -> None:
    check_readable(wf.train(corpus, **FAST, **WAYS[way]), **WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_a_broken_run_goes_on_to_the_same_bits(
    large_corpus: Path, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**FAST, **WAYS[way], "max_vocab": 700, "tol": 0.0}
    monkeypatch.setattr(job, "_SHARE", 1e9)  # a checkpoint after every step
    whole = wf.train(large_corpus, out=tmp_path / "whole", **settings)
    assert len(whole.history) == 5  # four passes, and the last one
    for at in (0, 3):
        run = tmp_path / str(at)
        with pytest.raises(KeyboardInterrupt):
            wf.train(large_corpus, out=run, report=Breaks(at), **settings)
        assert not (run / "forest.json").exists()
        again = wf.train(large_corpus, out=run, resume=True, workers=1, **settings)
        assert same_results(run, tmp_path / "whole")
        assert [row["objective"] for row in again.history] == [row["objective"] for row in whole.history]


def test_another_preset_is_refused_when_going_on(
    large_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {**FAST, "max_vocab": 600, "density": None}
    monkeypatch.setattr(job, "_SHARE", 1e9)
    with pytest.raises(KeyboardInterrupt):
        wf.train(large_corpus, out=tmp_path / "run", report=Breaks(1), **settings)
    with pytest.raises(InputError, match="was begun with"):
        wf.train(large_corpus, out=tmp_path / "run", resume=True, **{**settings, "preset": "paper"})


def test_words_of_the_nested_start_find_their_neighbours(corpus: Path) -> None:
    vectors = wf.train(corpus, **{**FAST, "epochs": 20}).vectors
    animals = {"cat", "dog", "horse", "cow"}
    assert all({word for word, _ in vectors.most_similar(animal, topn=3)} <= animals for animal in animals)


def test_frequent_words_count_more_with_a_power(corpus: Path, tmp_path: Path) -> None:
    counts = wf.count_corpus(corpus, tmp_path / "counts", min_count=1)

    def share_left(power: float) -> np.ndarray:
        run = wf.train(
            corpus, measure="ppmi", nonnegative=True, init="nested", lam=0.8, trees=1, min_count=1, word_power=power
        )
        X = associate(counts, AssociationSettings("ppmi")).toarray()
        return np.asarray(((X - run.codes.toarray() @ run.dictionary.T) ** 2).sum(1) / (X**2).sum(1))

    even, weighted = share_left(0.0), share_left(1.0)
    assert weighted[:10].mean() < 0.95 * even[:10].mean()  # words come by frequency
    assert weighted[-10:].mean() > even[-10:].mean()


def test_a_preset_gives_way_to_what_is_asked_for() -> None:
    _, preset = split_settings({"preset": "readable"})
    _, asked = split_settings({"preset": "readable", "lam": 0.1, "nonnegative": False, "init": "rows"})
    assert {name: getattr(preset, name) for name in PRESETS["readable"].settings} == PRESETS["readable"].settings
    assert (asked.lam, asked.nonnegative, asked.init) == (0.1, False, "rows")
    assert asked.measure == "ppmi"


def test_the_paper_is_the_preset_of_those_who_name_none() -> None:
    assert split_settings({}) == split_settings({"preset": "paper"})
    assert split_settings({})[1] == TrainSettings()


def test_the_last_depth_weight_goes_for_all_below() -> None:
    settings = TrainSettings(depth_weights=(0.5, 2.0))
    assert settings.penalty_over(Forest([-1, 0, 1, 2, -1])).weights == (0.5, 2.0, 2.0, 2.0, 0.5)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"grow": True}, "grow needs nested clusters, but init = random"),
        ({"grow": True, "init": "rows"}, "grow needs nested clusters, but init = rows"),
        ({"init": "best"}, "init = 'best'.*random, rows, nested"),
        ({"preset": "fast"}, "preset = 'fast'.*paper, best, readable"),
        ({"word_power": -1.0}, "word_power = -1.0"),
        ({"word_power": float("nan")}, "word_power = nan"),
        ({"depth_weights": (1.0, 0.0)}, r"weights\[1\] = 0.0"),
        ({"learner": "entries", "preset": "readable"}, "learner online"),
        ({"preset": "readable", "weights": "count:0.5"}, "weights = count:0.5 does not go with additive = True"),
        ({"preset": "readable", "zeros": 0.5}, "zeros = 0.5 does not go with additive = True"),
        ({"learner": "entries", "init": "nested"}, "init = nested is for the learner online alone"),
        ({"learner": "entries", "nonnegative": True}, "nonnegative = True is for the learner online alone"),
        ({"learner": "entries", "word_power": 0.5}, "word_power = 0.5 is for the learner online alone"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        split_settings(wrong)


def trained(corpus: Path, out: Path, *options: Any) -> Path:
    fast = ["--trees", 3, "--epochs", 4, "--min-count", 1, "--quiet"]
    fast += [] if "--lam" in options else ["--density", 0.2]
    result = run_command("train", corpus, "--out", out, "--preset", "readable", *fast, *options)
    assert result.returncode == 0, result.stderr
    return out


@pytest.mark.parametrize("way", WAYS)
def test_the_command_gives_what_train_gives_for_any_number_of_workers(corpus: Path, tmp_path: Path, way: str) -> None:
    options = ["--grow"] if way == "grown" else []
    one = trained(corpus, tmp_path / "one", "--workers", 1, *options)
    wf.train(corpus, out=tmp_path / "two", workers=2, **FAST, **WAYS[way])
    assert same_results(one, tmp_path / "two")
    check_readable(wf.load_run(one), **WAYS[way])
    config = json.loads((one / "config.json").read_text())
    preset = {**PRESETS["readable"].settings, "trees": 3, **WAYS[way], "lam": config["lam"]}
    assert config["lam"] > 0
    assert config["density"] == 0.2
    assert {name: config[name] for name in preset} == json.loads(json.dumps(preset))


def test_options_go_before_the_preset(corpus: Path, tmp_path: Path) -> None:
    run = trained(
        corpus,
        tmp_path / "run",
        "--lam",
        0.3,
        "--measure",
        "pmi",
        "--no-additive",
        "--no-nonnegative",
        "--init",
        "rows",
        "--word-power",
        0,
        "--depth-weights",
        "1,2",
        "--tol",
        0.5,
    )
    config = json.loads((run / "config.json").read_text())
    asked = {
        "lam": 0.3,
        "measure": "pmi",
        "nonnegative": False,
        "init": "rows",
        "word_power": 0.0,
        "depth_weights": [1.0, 2.0],
        "tol": 0.5,
    }
    assert {name: config[name] for name in asked} == asked
    assert wf.load_run(run).codes.data.min() < 0


def test_the_options_need_no_preset(corpus: Path, tmp_path: Path) -> None:
    options = ("--measure", "ppmi", "--nonnegative", "--init", "nested", "--grow", "--additive")
    more = ("--lam", "auto", "--density", 0.2, "--word-power", 0.2)
    result = run_command(
        "train",
        corpus,
        "--out",
        tmp_path / "run",
        "--trees",
        3,
        "--epochs",
        4,
        "--min-count",
        1,
        "--quiet",
        *options,
        *more,
    )
    assert result.returncode == 0, result.stderr
    wf.train(corpus, out=tmp_path / "preset", **FAST, grow=True)
    assert same_results(tmp_path / "run", tmp_path / "preset")


def test_a_grown_run_has_trees_of_its_own_shapes(large_corpus: Path, tmp_path: Path) -> None:
    run = wf.load_run(trained(large_corpus, tmp_path / "run", "--grow", "--max-vocab", 500))
    forest = run.forest
    sizes = {int(forest.end[root] - root) for root in forest.roots}
    assert len(sizes) > 1
    assert uses_every_branch(run.codes.toarray(), forest)
    assert json.loads((tmp_path / "run" / "forest.json").read_text())["parent"] == forest.parent.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--learner", "entries", "--preset", "readable"), "learner online"),
        (("--grow",), "grow needs nested clusters, but init = random"),
        (
            ("--preset", "readable", "--depth-weights", "a,b"),
            "depth_weights = 'a,b', but it must be numbers with commas",
        ),
        (("--depth-weights", "1,-1"), "must be a finite number > 0"),
        (("--preset", "readable", "--depth-weights", "1,2"), "does not go with additive = True. Leave one of them out"),
        (("--preset", "quick"), "readable"),
    ],
)
def test_the_command_refuses_with_two_and_says_why(
    corpus: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    result = run_command("train", corpus, "--out", tmp_path / "run", *options)
    assert result.returncode == 2
    assert words in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()


def test_cosines_are_the_same_in_a_run_in_what_it_is_converted_to_and_in_evaluate(corpus: Path, tmp_path: Path) -> None:
    run = wf.train(corpus, out=tmp_path / "run", **FAST)
    wf.write_vectors(tmp_path / "vectors.txt", run.vectors)
    wf.write_vectors(tmp_path / "copy", run.vectors)
    there, copy = (wf.read_vectors(tmp_path / name) for name in ("vectors.txt", "copy"))
    for word in ("cat", "dog", "king"):
        near = run.vectors.most_similar(word, topn=5)
        assert copy.most_similar(word, topn=5) == near
        assert [w for w, _ in there.most_similar(word, topn=5)] == [w for w, _ in near]
        assert there.similarity(word, "cow") == pytest.approx(run.vectors.similarity(word, "cow"), abs=1e-5)
    pairs = tmp_path / "data" / "wordsim" / "EN-OWN.txt"
    pairs.parent.mkdir(parents=True)
    pairs.write_text("cat\tdog\t9\ncat\tking\t2\nking\tqueen\t8\ndog\tqueen\t1\n")
    scores = [
        [score.value for score in wf.evaluate(vectors, tmp_path / "data", tasks=["similarity"])]
        for vectors in (run.vectors, there)
    ]
    assert scores[0] == pytest.approx(scores[1])


def test_stability_of_nodes_is_kept_in_the_run_and_shown(corpus: Path, tmp_path: Path) -> None:
    run = wf.train(corpus, out=tmp_path / "run", stability=True, **FAST)
    figures = wf.load_run(tmp_path / "run").nodes["stability"]
    assert figures == pytest.approx(run.nodes["stability"], abs=1e-6)
    assert figures.shape == (39,)
    assert 0 <= figures.min() <= figures.max() <= 1
    shown = run_command("inspect", tmp_path / "run")
    assert f"stability {figures[0]:.2f}" in shown.stdout
    again = wf.train(corpus, workers=1, stability=True, **FAST)
    np.testing.assert_array_equal(again.nodes["stability"], run.nodes["stability"])
    encoded = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts", tmp_path / "more")
    assert encoded.nodes["use"] == pytest.approx(run.nodes["use"], abs=1e-6)


def test_encoding_the_same_text_gives_the_codes_of_the_run(corpus: Path, tmp_path: Path) -> None:
    run = wf.train(corpus, out=tmp_path / "run", **FAST)
    encoded = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts")
    np.testing.assert_allclose(encoded.codes.toarray(), run.codes.toarray(), atol=1e-3 * run.codes.max())


@pytest.mark.parametrize("name", ["vectors.npz", "vectors.safetensors", "vectors.parquet", "copy"])
def test_formats_that_keep_the_forest_keep_activations_use_and_stability(
    corpus: Path, tmp_path: Path, name: str
) -> None:
    run = wf.train(corpus, stability=True, **FAST)
    wf.write_vectors(tmp_path / name, run.vectors)
    again = wf.read_vectors(tmp_path / name)
    np.testing.assert_array_equal(again.dense, run.vectors.dense)
    assert again.nodes.keys() == run.nodes.keys()
    assert again.most_similar("cat") == run.vectors.most_similar("cat")


def test_any_seed_will_do(corpus: Path) -> None:
    assert wf.train(corpus, **FAST, seed=2**62).codes.nnz


def test_neighbours_of_a_word_without_a_node_are_none(corpus: Path, tmp_path: Path) -> None:
    run = wf.train(corpus, out=tmp_path / "run", **{**FAST, "density": 0.02})
    empty = [word for word in run.words if not run.vectors[word].any()]
    assert "none: its vector is zero" in run_command("neighbors", tmp_path / "run", empty[0]).stdout

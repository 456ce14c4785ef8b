"""The readable way through learner, estimator, train and command line: non-negative, nested, grown, in order."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import wordforest as wf
from wordforest.coder.forest import Forest
from wordforest.coder.objectives import objective
from wordforest.coder.online import Learned, OnlineSettings, learn_online, random_atoms
from wordforest.coder.penalties import L1, ForestL2
from wordforest.coder.starts import NestedStart, RowStart
from wordforest.errors import InputError
from wordforest.jobs import job as resume
from wordforest.jobs.count import associate
from wordforest.options import PRESETS
from wordforest.runtime.machine import Threads
from wordforest.runtime.progress import Event, Reporter
from wordforest.settings import TrainSettings, split_settings

FOREST = Forest.complete(2)
PENALTY = ForestL2(FOREST, 0.8, nonnegative=True)
WAYS = {"nested": {"grow": False}, "grown": {"grow": True}}
FAST = {"preset": "readable", "trees": 3, "epochs": 4, "min_count": 1}
RESULTS = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")


def matrix(V: int = 300, C: int = 120, seed: int = 0, dtype: Any = np.float64) -> sparse.csr_array:
    """Non-negative rows around eight topics, each row with few of the contexts, some rows empty."""
    rng = np.random.default_rng(seed)
    topics = abs(rng.standard_normal((8, C))) * (rng.random((8, C)) < 0.3)
    X = topics[rng.integers(0, 8, V)] * rng.uniform(0.5, 2, (V, C)) * (rng.random((V, C)) < 0.7)
    X[::50] = 0
    return sparse.csr_array(X.astype(dtype))


def learn(X: Any, *, start: Any = None, workers: int = 1, penalty: Any = PENALTY, **settings: Any) -> Learned:
    settings = {"nonnegative": True, "epochs": 4, "tol": 0.0, **settings}
    return learn_online(X, penalty, 26, OnlineSettings(**settings), start=start, executor=Threads(workers))


def uses_every_branch(A: np.ndarray, forest: Forest) -> bool:
    """Say whether every node or one below it is used; a parent may be zero where its sum with others is negative."""
    return all(A[:, i:end].any() for i, end in enumerate(forest.end))


def check_strengths_fall(A: np.ndarray, forest: Forest) -> None:
    home = np.bincount(abs(A[A.any(1)]).argmax(1), minlength=len(forest))  # rows whose largest value a node has
    worth = np.array([home[i:end].sum() for i, end in enumerate(forest.end)])
    for siblings in [forest.roots, *map(forest.children, range(len(forest)))]:
        assert (np.diff(worth[list(siblings)]) <= 1e-9 * worth.max()).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [None, "nested"])
def test_dictionary_and_codes_have_no_negative_value(dtype: Any, start: str | None) -> None:
    X = matrix(dtype=dtype)
    learned = learn(X, start=start and NestedStart()(X, FOREST, nonnegative=True).D)
    for part in (learned.D, learned.A):
        assert part.min() == 0
        assert part.max() > 0
    assert np.linalg.norm(learned.D, axis=0).max() <= 1 + 1e-6


def test_signed_data_have_non_negative_atoms_as_well() -> None:
    X = matrix().toarray() * np.random.default_rng(1).choice((-1, 1), (300, 120))
    assert learn(X, penalty=ForestL2(FOREST, 0.8)).D.min() >= 0


def test_the_non_negative_objective_falls_and_is_the_objective() -> None:
    X = matrix(V=1500)
    learned = learn(X)
    values = [step.objective for step in learned.history]
    assert all(after <= before * (1 + 1e-10) for before, after in pairwise(values))
    assert values[-1] < 0.9 * values[0]
    assert values[-1] == pytest.approx(objective(X, learned.D, learned.A, PENALTY), rel=1e-10)


def test_a_constraint_costs() -> None:
    X = matrix().toarray() * np.random.default_rng(1).choice((-1, 1), (300, 120))
    free = ForestL2(FOREST, 0.8)
    bound, unbound = (learn(X, penalty=free, nonnegative=n, epochs=60).history[-1].objective for n in (True, False))
    assert bound > 1.02 * unbound


def test_going_on_from_any_step_ends_with_the_same_bits() -> None:
    X, states = matrix(V=1500), []
    start = NestedStart()(X, FOREST, nonnegative=True).D
    settings = OnlineSettings(epochs=3, tol=0.0, nonnegative=True, revive=False)
    keep = lambda step, state: states.append(deepcopy(state))  # noqa: E731
    whole = learn_online(X, PENALTY, 26, settings, start=start, on_step=keep)
    assert len(states) > 5
    for state in states[:-1]:
        again = learn_online(X, PENALTY, 26, settings, resume=state)
        np.testing.assert_array_equal(again.A, whole.A)
        np.testing.assert_array_equal(again.D, whole.D)
        assert again.history == whole.history


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_bits_do_not_depend_on_the_number_of_workers(dtype: Any) -> None:
    X = matrix(V=1500, dtype=dtype)
    one, *others = (learn(X, workers=n, epochs=2) for n in (1, 2, 3))
    for other in others:
        np.testing.assert_array_equal(other.A, one.A)
        np.testing.assert_array_equal(other.D, one.D)


@pytest.mark.parametrize("revive", [False, True])
def test_atoms_without_use_start_anew_only_if_asked(revive: bool) -> None:
    start = np.zeros((120, 26))
    start[:, 0] = 1 / np.sqrt(120)  # all other atoms are zero: no word can use them
    learned = learn(matrix(), start=start, revive=revive, penalty=L1(0.5))
    assert (learned.revived > 0) == revive
    assert learned.D[:, 1:].any() == revive
    assert learned.D.min() >= 0


def test_random_atoms_without_negatives_have_length_one() -> None:
    D = random_atoms(50, 7, 0, nonnegative=True)
    assert D.min() > 0
    np.testing.assert_allclose(np.linalg.norm(D, axis=0), 1, atol=1e-6)


def coder(**changes: Any) -> wf.ForestCoder:
    return wf.ForestCoder.readable(3, **{"nonnegative_dictionary": True, "random_state": 0, "epochs": 5, **changes})


def quietly(function: Any, *args: Any) -> Any:
    """Call without the warning that a few passes are not enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def test_the_readable_coder_has_the_settings_of_the_preset() -> None:
    params, preset = wf.ForestCoder.readable().get_params(), PRESETS["readable"].settings
    same = ("trees", "lam", "depth_weights", "nonnegative", "init")
    assert {name: params[name] for name in same} == {name: preset[name] for name in same}


def test_the_readable_coder_takes_other_settings() -> None:
    params = wf.ForestCoder.readable(5, (2,), 0.1, init="grown", nonnegative=False, n_jobs=2).get_params()
    assert (params["trees"], params["branching"], params["lam"]) == (5, (2,), 0.1)
    assert (params["init"], params["nonnegative"], params["n_jobs"]) == ("grown", False, 2)


def test_subclasses_are_readable_too() -> None:
    class Own(wf.ForestCoder):
        pass

    assert type(Own.readable()) is Own


@pytest.mark.parametrize("init", ["nested", "grown", RowStart(), NestedStart(n_rows=50, grow=True)])
def test_a_clone_learns_the_same(init: Any) -> None:
    first = coder(init=init)
    second = clone(first)
    assert second.get_params() == first.get_params()
    np.testing.assert_array_equal(quietly(second.fit_transform, matrix()), quietly(first.fit_transform, matrix()))


@pytest.mark.parametrize("init", ["nested", "grown"])
@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.toarray()])
def test_the_readable_coder_gives_ordered_non_negative_trees(init: str, form: Any) -> None:
    X, ours = form(matrix()), coder(init=init)
    A = quietly(ours.fit_transform, X)
    assert A.shape == (300, len(ours.forest_)) == (300, len(ours.components_))
    assert A.min() == ours.components_.min() == 0
    check_strengths_fall(A, ours.forest_)
    # relative to |x|^2 codes are exact to 1e-9, and the objective is about as curved as its loss
    np.testing.assert_allclose(ours.transform(X), A, atol=1e-3)


def test_a_nested_coder_keeps_the_shape_asked_for() -> None:
    ours = quietly(coder(branching=(2, 4)).fit, matrix())
    assert ours.forest_ == Forest.complete(3, (2, 4))


def test_a_grown_coder_has_no_node_that_no_row_uses() -> None:
    ours = coder(init=NestedStart(grow=True, least_rows=2), lam=8.0)
    A = quietly(ours.fit_transform, matrix())
    assert len(ours.forest_) < 35  # the start has 38 nodes
    assert uses_every_branch(A, ours.forest_)


def test_order_and_pruning_leave_the_objective_as_it_was() -> None:
    ours = coder(init="grown", lam=2.0)
    A = quietly(ours.fit_transform, matrix())
    assert objective(matrix(), ours.components_.T, A, ours._penalty()) == pytest.approx(ours.objective_, rel=1e-9)


@pytest.mark.parametrize("init", ["random", "nested", "grown"])
def test_partial_fit_keeps_to_non_negative_values(init: str) -> None:
    X, ours = matrix(), coder(init=init)
    shares = [ours.partial_fit(X[i : i + 100]).score(X) for i in (0, 100, 200, 0, 100, 200)]
    assert ours.components_.min() >= 0
    assert shares[-1] > 0.1
    assert init != "random" or shares[-1] > shares[0]


def test_partial_fit_goes_on_after_a_grown_fit() -> None:
    ours = quietly(coder(init="grown").fit, matrix())
    forest = ours.forest_
    ours.partial_fit(matrix(seed=1))
    assert ours.forest_ == forest
    assert ours.components_.min() >= 0


@pytest.mark.parametrize("init", ["nested", "grown"])
def test_bits_of_the_readable_coder_do_not_depend_on_n_jobs(init: str) -> None:
    X = matrix(V=1100, dtype=np.float32)
    one, two = (quietly(coder(init=init, n_jobs=n, epochs=2).fit_transform, X) for n in (1, 2))
    np.testing.assert_array_equal(two, one)


def test_an_unknown_start_is_refused() -> None:
    with pytest.raises(InputError, match=r"init = 'best'.*random, rows, nested, grown"):
        wf.ForestCoder(init="best").fit(matrix())


def test_no_weights_for_the_depths_are_refused_or_all_alike() -> None:
    weighted, plain = (
        wf.ForestCoder(1, depth_weights=w, random_state=0).fit_transform(matrix()) for w in ((), (1, 1, 1))
    )
    np.testing.assert_array_equal(weighted, plain)


# A start that looks at rows sees a row of weight two once
UNWEIGHTED = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "the start of the dictionary knows no weights",
)


@pytest.mark.parametrize("init", ["nested", "grown"])
def test_scikit_learns_own_checks_pass(init: str) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    # one small tree: with more atoms than contexts, codes are not unique and need not repeat
    ours = wf.ForestCoder(1, (2,), nonnegative=True, nonnegative_dictionary=True, init=init, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks fit far too few rows on purpose
        results = check_estimator(ours, on_fail=None, expected_failed_checks=UNWEIGHTED)
    assert [r["check_name"] for r in results if r["status"] not in ("passed", "skipped", "xfail")] == []


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
    assert run.dictionary.min() >= 0
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
    settings = {**FAST, **WAYS[way], "max_vocab": 1100, "tol": 0.0}
    monkeypatch.setattr(resume, "_SHARE", 1e9)  # a checkpoint after every step
    whole = wf.train(large_corpus, out=tmp_path / "whole", **settings)
    assert len(whole.history) == 9  # two batches in each of four passes, and the last one
    for at in (0, 5):
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
    settings = {**FAST, "max_vocab": 600}
    monkeypatch.setattr(resume, "_SHARE", 1e9)
    with pytest.raises(KeyboardInterrupt):
        wf.train(large_corpus, out=tmp_path / "run", report=Breaks(1), **settings)
    with pytest.raises(InputError, match="was begun with"):
        wf.train(large_corpus, out=tmp_path / "run", resume=True, **{**settings, "preset": "paper"})


def test_words_of_the_nested_start_find_their_neighbours(corpus: Path) -> None:
    vectors = wf.train(corpus, **{**FAST, "epochs": 20}).vectors
    animals = {"cat", "dog", "horse", "cow"}
    assert all({word for word, _ in vectors.most_similar(animal, 3)} <= animals for animal in animals)


def test_frequent_words_count_more_with_a_power(corpus: Path, tmp_path: Path) -> None:
    counts = wf.count_corpus(corpus, tmp_path / "counts", min_count=1)

    def share_left(power: float) -> np.ndarray:
        run = wf.train(corpus, **{**FAST, "trees": 1, "epochs": 20}, word_power=power)
        X = associate(counts, "ppmi").toarray()
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
        ({"learner": "entries", "init": "nested"}, "init = nested is for the learner online alone"),
        ({"learner": "entries", "nonnegative": True}, "nonnegative = True is for the learner online alone"),
        ({"learner": "entries", "word_power": 0.5}, "word_power = 0.5 is for the learner online alone"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        split_settings(wrong)


def wordforest(*args: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "wordforest", *map(str, args)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=False)


def trained(corpus: Path, out: Path, *options: Any) -> Path:
    fast = ("--trees", 3, "--epochs", 4, "--min-count", 1, "--quiet")
    result = wordforest("train", corpus, "--out", out, "--preset", "readable", *fast, *options)
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
    preset = {**PRESETS["readable"].settings, "trees": 3, **WAYS[way]}
    assert {name: config[name] for name in preset} == json.loads(json.dumps(preset))


def test_options_go_before_the_preset(corpus: Path, tmp_path: Path) -> None:
    run = trained(
        corpus, tmp_path / "run", "--lam", 0.3, "--measure", "pmi", "--no-nonnegative", "--init", "rows",
        "--word-power", 0, "--depth-weights", "1,2", "--tol", 0.5,
    )  # fmt: skip
    config = json.loads((run / "config.json").read_text())
    asked = {
        "lam": 0.3, "measure": "pmi", "nonnegative": False, "init": "rows", "word_power": 0.0,
        "depth_weights": [1.0, 2.0], "tol": 0.5,
    }  # fmt: skip
    assert {name: config[name] for name in asked} == asked
    assert wf.load_run(run).codes.data.min() < 0


def test_the_options_need_no_preset(corpus: Path, tmp_path: Path) -> None:
    options = ("--measure", "ppmi", "--nonnegative", "--init", "nested", "--grow", "--lam", 0.8)
    more = (
        "--depth-weights",
        "0.5,0.8,1",
        "--word-power",
        0.2,
        "--tol",
        TrainSettings(**PRESETS["readable"].settings).tol,
    )
    result = wordforest(
        "train", corpus, "--out", tmp_path / "run", "--trees", 3, "--epochs", 4, "--min-count", 1, "--quiet",
        *options, *more,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    wf.train(corpus, out=tmp_path / "preset", **FAST, grow=True)
    assert same_results(tmp_path / "run", tmp_path / "preset")


def test_a_grown_run_has_trees_of_its_own_shapes(large_corpus: Path, tmp_path: Path) -> None:
    run = wf.load_run(trained(large_corpus, tmp_path / "run", "--grow", "--max-vocab", 500, "--lam", 5))
    forest = run.forest
    sizes = {int(forest.end[root] - root) for root in forest.roots}
    assert len(sizes) > 1
    assert len(forest) < 30  # of 39: lam is too large for the others
    assert uses_every_branch(run.codes.toarray(), forest)
    assert json.loads((tmp_path / "run" / "forest.json").read_text())["parent"] == forest.parent.tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--learner", "entries", "--preset", "readable"), "learner online"),
        (("--grow",), "grow needs nested clusters, but init = random"),
        (("--preset", "readable", "--depth-weights", "a,b"), "--depth-weights a,b: expected numbers"),
        (("--preset", "readable", "--depth-weights", "1,-1"), "must be a finite number > 0"),
        (("--preset", "quick"), "readable"),
    ],
)
def test_the_command_refuses_with_two_and_says_why(
    corpus: Path, tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    result = wordforest("train", corpus, "--out", tmp_path / "run", *options)
    assert result.returncode == 2
    assert words in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "run").exists()

from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

import wordforest as wf
from wordforest.errors import ForestError, InputError
from wordforest.runtime.progress import Event, Reporter
from wordforest.settings import CountSettings, TrainSettings

FAST = {"trees": 1, "branching": (2,), "epochs": 2}


class Recorder(Reporter):
    """Remembers what it is told."""

    def __init__(self):
        self.events: list[Event] = []

    def __call__(self, event):
        self.events.append(event)

    def stage(self, name):
        return [event for event in self.events if event.stage == name]


@pytest.fixture(scope="module")
def counted(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("counted") / "counts"
    return folder, wf.count_corpus(corpus, folder, window=3)


@pytest.fixture
def in_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def equal(a: wf.Run, b: wf.Run) -> bool:
    return bool((a.codes != b.codes).nnz == 0 and np.array_equal(a.dictionary, b.dictionary) and a.words == b.words)


def test_train_returns_a_run_and_without_out_writes_nothing(corpus, in_empty_folder):
    run = wf.train(corpus, **FAST)
    assert isinstance(run, wf.Run)
    assert run.codes.shape == (len(run.words), 3)
    assert run.dictionary.shape == (len(run.words), 3)
    assert list(in_empty_folder.iterdir()) == []


def test_out_holds_what_train_returns(corpus, tmp_path):
    run = wf.train(corpus, out=tmp_path / "a" / "run", **FAST)
    loaded = wf.load_run(tmp_path / "a" / "run")
    assert equal(run, loaded)
    assert loaded.config["lam"] == 0.1
    assert loaded.history == run.history


def test_a_list_of_files_is_one_corpus(corpus, tmp_path):
    lines = corpus.read_text().splitlines(keepends=True)
    parts = [tmp_path / "1.txt", tmp_path / "2.txt"]
    parts[0].write_text("".join(lines[:1000]))
    parts[1].write_text("".join(lines[1000:]))
    assert equal(wf.train(parts, **FAST), wf.train(str(corpus), **FAST))


def test_names_that_can_be_read_once_are_still_in_the_config(corpus):
    run = wf.train((name for name in [corpus]), **FAST)
    assert run.config["corpus"] == [str(corpus)]


def test_the_callers_settings_stay_as_they_were(corpus):
    settings = {**FAST, "window": 3}
    before = dict(settings)
    wf.train(corpus, **settings)
    assert settings == before


@pytest.mark.parametrize("call", [wf.train, lambda *a, **k: wf.count_corpus(*a, "out", **k)], ids=["train", "count"])
def test_an_unknown_setting_lists_the_known_ones(call, corpus, in_empty_folder):
    with pytest.raises(InputError, match=r"unknown setting windw.*window, min_count"):
        call(corpus, windw=3)
    assert list(in_empty_folder.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"window": 0},
        {"min_count": 0},
        {"max_vocab": 0},
        {"tokenizer": "split"},
        {"errors": "ignore"},
        {"measure": "mi"},
        {"epochs": -1},
        {"epochs": 0, "learner": "entries"},
        {"tol": -1.0},
        {"tol": float("inf")},
        {"tol": float("nan")},
        {"tol_of": "loss"},
        {"learner": "entries", "tol_of": "penalty"},
        {"additive": True, "tol_of": "penalty"},
        {"seed": -1},
        {"smoothing": -0.5},
        {"smoothing": float("inf")},
        {"shift": 1.0},
        {"measure": "sppmi", "shift": float("nan")},
        {"lam": -0.1},
        {"lam": float("nan")},
        {"trees": 0},
        {"branching": (3, 0)},
        {"workers": 0},
        {"workers": -1},
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_by_name_before_anything_is_read(wrong):
    name = [*wrong][-1]
    with pytest.raises(InputError, match=name):
        wf.train("no-such-file.txt", **wrong)


def test_a_branching_that_is_no_forest_is_a_forest_error():
    with pytest.raises(ForestError, match="at least one child"):
        TrainSettings(branching=(0,))


def test_the_stopping_rule_in_units_of_the_penalty_is_one_of_train_and_of_sparse_coding(counted):
    for learn in (partial(wf.train, trees=1, branching=(2,)), partial(wf.baseline, "sc", dimensions=3)):
        shorter, longer = (learn(counted[0], lam=0.01, tol_of=unit) for unit in ("objective", "penalty"))
        assert longer.history[-1]["epoch"] > shorter.history[-1]["epoch"]
        assert longer.config["tol_of"] == "penalty"
        assert 0 < longer.history[-1]["penalty"] < longer.history[-1]["objective"]


def test_defaults_are_the_papers():
    counting, training = CountSettings(), TrainSettings()
    assert (counting.window, counting.min_count, counting.numbers) == (5, 10, True)
    assert (training.lam, training.measure, len(training.forest)) == (0.1, "pmi", 52)


@pytest.mark.parametrize("as_list", [False, True])
def test_counts_take_the_place_of_text(counted, corpus, as_list):
    folder, counts = counted
    run = wf.train([folder] if as_list else folder, **FAST)
    assert equal(run, wf.train(corpus, window=3, **FAST))
    assert run.config["window"] == 3
    assert run.config["fingerprint"] == counts.fingerprint


def test_a_setting_that_the_counts_cannot_follow_is_refused(counted):
    with pytest.raises(InputError, match=r"window = 4, by a setting or a preset, but .* was counted with window = 3"):
        wf.train(counted[0], window=4, **FAST)
    assert wf.train(counted[0], window=3, **FAST).config["window"] == 3


def test_counts_are_never_replaced_by_the_run_made_from_them(counted):
    folder = counted[0]
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(InputError, match="Choose another --out"):
        wf.train(folder, out=folder / ".." / folder.name, force=True, **FAST)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_counts_cannot_be_counted_again(counted, tmp_path):
    with pytest.raises(InputError, match="this is a counts folder, not text"):
        wf.count_corpus(counted[0], tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_force_keeps_the_old_run_until_there_is_a_new_one(corpus, tmp_path):
    run = wf.train(corpus, out=tmp_path / "run", **FAST)
    with pytest.raises(InputError, match="no such file"):
        wf.train("no-such-file.txt", out=tmp_path / "run", force=True)
    assert equal(wf.load_run(tmp_path / "run"), run)


def test_force_leaves_no_file_of_the_old_result(corpus, tmp_path):
    wf.count_corpus(corpus, tmp_path / "out")
    wf.train(corpus, out=tmp_path / "out", force=True, **FAST)
    assert not (tmp_path / "out" / "counts.safetensors").exists()


def test_folders_made_for_nothing_go_away(tmp_path):
    with pytest.raises(InputError):
        wf.train("no-such-file.txt", out=tmp_path / "a" / "b" / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_of_the_user_stays(tmp_path):
    with pytest.raises(InputError):
        wf.train("no-such-file.txt", out=tmp_path)
    assert tmp_path.is_dir()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_rights_fails_before_the_work(counted, tmp_path):
    tmp_path.chmod(0o500)
    recorder = Recorder()
    with pytest.raises(PermissionError):
        wf.train(counted[0], out=tmp_path, report=recorder)
    assert recorder.events == []


@pytest.mark.parametrize("measure", ["pmi", "ppmi", "sppmi"])
def test_the_measure_chosen_is_the_one_learned_from(counted, measure):
    folder, counts = counted
    shift = {"shift": 0.5} if measure == "sppmi" else {}
    X = wf.pmi(counts) if measure == "pmi" else wf.ppmi(counts, **shift)
    # the objective of the first step lies below that of all-zero codes, |X|^2, and above 0
    first = wf.train(folder, measure=measure, **shift, **FAST).history[0]["objective"]
    assert 0.5 * (X.data**2).sum() < first < (X.data**2).sum()


def test_a_shift_above_every_pair_is_refused(counted):
    with pytest.raises(InputError, match="no pair of words has a sppmi above 0"):
        wf.train(counted[0], measure="sppmi", shift=50.0, **FAST)


@pytest.mark.parametrize("variant", ["plain", "byte order mark", "invalid bytes"])
def test_reading_ends_exactly_when_counting_begins(corpus, tmp_path, variant):
    """The size on disk only estimates the end: marks are dropped, invalid bytes become three, .gz is unknown."""
    data = corpus.read_bytes()
    data = {"plain": data, "byte order mark": b"\xef\xbb\xbf" + data, "invalid bytes": data + b" \xff" * 2000}[variant]
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    recorder = Recorder()
    wf.train(path, errors="replace", report=recorder, **FAST)
    assert [event.finished for event in recorder.stage("read")][-2:] == [False, True]
    stages = [event.stage for event in recorder.events]
    assert stages == sorted(stages, key=["read", "count", "learn"].index)
    assert all(recorder.stage(stage)[-1].finished for stage in ("count", "learn"))


def test_learning_is_finished_only_by_its_last_step(corpus):
    recorder = Recorder()
    wf.train(corpus, report=recorder, **FAST)
    assert [event.finished for event in recorder.stage("learn")][-2:] == [False, True]


class TestLearners:
    def test_lam_may_be_found_in_python_as_in_the_shell(self, corpus):
        dense, thin = (wf.train(corpus, trees=1, lam="auto", density=share, epochs=5).config for share in (0.5, 0.1))
        assert 0 < dense["lam"] < thin["lam"]

    def test_entries_learn_neighbours_and_say_their_settings(self, corpus):
        run = wf.train(corpus, learner="entries", trees=1, lam=0.001, zeros=0.3, weights="none")
        assert run.config["learner"] == "entries"
        assert run.config["zeros"] == 0.3
        assert run.config["eta"] > 0
        assert {word for word, _ in run.vectors.most_similar("cat", topn=3)} <= {"dog", "horse", "cow", "the", "hay"}

    def test_defaults_are_those_of_the_learner(self):
        online, entries = TrainSettings(), TrainSettings(learner="entries")
        assert (online.epochs, online.tol, online.weights, online.zeros) == (100, 5e-3, "none", 1.0)
        assert (entries.epochs, entries.tol, entries.weights, entries.zeros) == (10, 1e-3, "abs", 1.0)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"tau": 1.0}, "tau = 1.0 is for the learner entries"),
            ({"learner": "entries", "device": "cuda"}, "device = cuda is for the learner online alone"),
            ({"learner": "entries", "lam": "auto"}, "needs a number for lam"),
            ({"learner": "entries", "eta": -1.0}, "eta = -1.0"),
            ({"learner": "batch"}, "must be one of online, entries"),
        ],
    )
    def test_settings_that_do_not_go_together(self, settings, message):
        with pytest.raises(InputError, match=message):
            TrainSettings(**settings)

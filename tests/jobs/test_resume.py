"""A run that was killed goes on to the same bits."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wordforest as wf
from wordforest import store
from wordforest.errors import InputError
from wordforest.jobs import checkpoint as resume

KILLED = """
import os, signal, sys
import wordforest.jobs.checkpoint as resume
from wordforest.coder import online
from wordforest.jobs.train import train
resume._SHARE = 1e9  # write a checkpoint after every step
steps = 0
record = online._Learner._record
def counted(self, *args):
    global steps
    steps += 1
    if steps > int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return record(self, *args)
online._Learner._record = counted
train(sys.argv[1], out=sys.argv[2], trees=2, min_count=1, epochs=4, tol=0.0)
"""
SETTINGS = {"trees": 2, "min_count": 1, "epochs": 4, "tol": 0.0}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(1500)]
    lines = [" ".join(rng.choice(words, size=12)) + "\n" for _ in range(2000)]
    path = tmp_path_factory.mktemp("resume") / "corpus.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def whole(corpus: Path) -> Path:
    wf.train(corpus, out=corpus.parent / "whole", **SETTINGS)
    return corpus.parent / "whole"


def same_bits(a: Path, b: Path) -> bool:
    names = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in names)


def kill_after(corpus: Path, run: Path, steps: int) -> None:
    command = [sys.executable, "-c", KILLED, str(corpus), str(run), str(steps)]
    assert subprocess.run(command, check=False, capture_output=True, timeout=120).returncode == -9


@pytest.mark.parametrize("steps", [0, 1, 3, 8])
def test_a_killed_run_goes_on_to_the_same_bits(corpus: Path, whole: Path, tmp_path: Path, steps: int) -> None:
    run = tmp_path / "run"
    kill_after(corpus, run, steps)
    assert store.has_checkpoint(run)
    again = wf.train(corpus, out=run, resume=True, **SETTINGS)
    assert same_bits(run, whole)
    assert [row["objective"] for row in again.history] == [row["objective"] for row in wf.load_run(whole).history]
    assert not (run / "checkpoint").exists()


KILLED_ENTRIES = """
import os, signal, sys
import wordforest.jobs.checkpoint as resume
from wordforest.coder import entries
from wordforest.jobs.train import train
resume._SHARE = 1e9  # write a checkpoint after every pass
passes = 0
bounded = entries.EntryLearner._pass_within_bounds
def counted(self, *args):
    global passes
    passes += 1
    if passes > int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    return bounded(self, *args)
entries.EntryLearner._pass_within_bounds = counted
train(sys.argv[1], out=sys.argv[2], learner="entries", zeros=0.5, schedule=sys.argv[4], trees=2, min_count=1,
      epochs=4, tol=0.0)
"""


@pytest.mark.parametrize(("schedule", "passes"), [("linear", 0), ("linear", 2), ("adagrad", 3)])
def test_learning_from_entries_goes_on_to_the_same_bits(corpus, tmp_path, schedule, passes):
    settings = {**SETTINGS, "learner": "entries", "zeros": 0.5, "schedule": schedule}
    wf.train(corpus, out=tmp_path / "whole", **settings)
    command = [sys.executable, "-c", KILLED_ENTRIES, str(corpus), str(tmp_path / "run"), str(passes), schedule]
    assert subprocess.run(command, check=False, capture_output=True, timeout=120).returncode == -9
    wf.train(corpus, out=tmp_path / "run", resume=True, **settings)
    assert same_bits(tmp_path / "run", tmp_path / "whole")


def test_going_on_does_not_repeat_finished_steps(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    kill_after(corpus, run, 3)
    _, history = store.load_state(run) or ({}, [])
    assert len(history) == 3
    again = wf.train(corpus, out=run, resume=True, **SETTINGS)
    assert [row["seconds"] for row in again.history[:3]] == [row["seconds"] for row in history]


def test_counts_of_the_killed_run_are_used(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    kill_after(corpus, run, 1)
    monkeypatch.setattr("wordforest.jobs.reuse.count_into", None)  # would fail if it counted again
    assert len(wf.train(corpus, out=run, resume=True, **SETTINGS).words) == 1500


def test_other_settings_are_refused(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    kill_after(corpus, run, 1)
    with pytest.raises(InputError, match=r"begun with trees = 2, but now it is 3.*--force"):
        wf.train(corpus, out=run, resume=True, **{**SETTINGS, "trees": 3})


def test_without_resume_the_message_offers_it(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    kill_after(corpus, run, 1)
    with pytest.raises(InputError, match="--resume"):
        wf.train(corpus, out=run, **SETTINGS)


def test_a_complete_run_is_returned_as_it_is(corpus: Path, whole: Path) -> None:
    before = (whole / "codes.safetensors").stat().st_mtime_ns
    assert len(wf.train(corpus, out=whole, resume=True, **SETTINGS).words) == 1500
    assert (whole / "codes.safetensors").stat().st_mtime_ns == before


def test_resume_without_anything_to_resume_begins(corpus: Path, whole: Path, tmp_path: Path) -> None:
    wf.train(corpus, out=tmp_path / "run", resume=True, **SETTINGS)
    assert same_bits(tmp_path / "run", whole)


def test_checkpoints_take_less_than_two_percent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    writes: list[float] = []

    def slow_write(*_: object) -> None:
        now[0] += 3.0
        writes.append(now[0])

    monkeypatch.setattr(resume.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(resume.store, "save_state", slow_write)
    checkpoint = resume.Checkpoint(tmp_path)
    arrays = {name: np.zeros((1000, 1000), np.float32) for name in "ABCD"}
    for _ in range(20_000):
        now[0] += 0.1
        checkpoint.save(arrays, [])
    assert 0 < 3.0 * len(writes) < 0.02 * now[0]

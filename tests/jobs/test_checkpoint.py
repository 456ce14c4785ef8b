"""A run that was killed is resumed to the same bits."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordforest as wf
from tests.jobs.killed import KillAfter, killed
from wordforest import store
from wordforest.errors import InputError
from wordforest.jobs import job as checkpoint

SETTINGS: dict[str, Any] = {"trees": 2, "min_count": 1, "epochs": 4, "tol": 0.0}
LEARNERS: dict[str, dict[str, Any]] = {
    "online": {},
    "weighted": {"weights": "count:0.5", "zeros": 0.5},
    "entries": {"learner": "entries", "zeros": 0.5},
}
FILES = ("codes.safetensors", "dictionary.safetensors", "vocab.tsv", "forest.json")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(1500)]
    lines = [" ".join(rng.choice(words, size=12)) + "\n" for _ in range(2000)]
    path = tmp_path_factory.mktemp("resume") / "corpus.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def unbroken(corpus: Path) -> Callable[[str], Path]:
    """Return what makes a run of a learner that nobody killed, once."""

    @cache
    def train(learner: str) -> Path:
        wf.train(corpus, out=corpus.parent / learner, **SETTINGS, **LEARNERS[learner])
        return corpus.parent / learner

    return train


@pytest.fixture(scope="module")
def whole(unbroken: Callable[[str], Path]) -> Path:
    return unbroken("online")


def train_and_die(corpus: Path, run: Path, steps: int, **more: Any) -> None:
    """Train in another process that is killed after so many steps, each with a checkpoint."""

    def train() -> None:
        checkpoint._SHARE = 1e9
        wf.train(corpus, out=run, report=KillAfter(steps), **SETTINGS, **more)

    killed(train)


@pytest.fixture(scope="module")
def begun(corpus: Path) -> Path:
    """A run with counts of its own that was killed after its third step."""
    run = corpus.parent / "alone" / "begun"
    train_and_die(corpus, run, 3)
    return run


@pytest.fixture
def run(begun: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(begun, tmp_path / "run"))


def same_bits(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in FILES)


@pytest.mark.parametrize(
    ("learner", "steps"), [("online", 0), ("online", 1), ("online", 8), ("weighted", 2), ("entries", 0), ("entries", 2)]
)
def test_a_killed_run_is_resumed_to_the_same_bits(
    corpus: Path, unbroken: Callable[[str], Path], learner: str, steps: int
) -> None:
    whole, more = unbroken(learner), LEARNERS[learner]
    run = whole.with_name(f"{learner}-{steps}")
    train_and_die(corpus, run, steps, **more)
    assert store.has_checkpoint(run)
    again = wf.train(corpus, out=run, resume=True, **SETTINGS, **more)
    assert same_bits(run, whole)
    assert [row["objective"] for row in again.history] == [row["objective"] for row in wf.load_run(whole).history]
    assert not (run / "checkpoint").exists()


def test_resuming_repeats_no_finished_step_and_does_not_count_again(
    corpus: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, history = checkpoint.Checkpoint(run).load() or ({}, [])
    assert len(history) == 3
    monkeypatch.setattr("wordforest.jobs.count.count_into", None)  # would fail if it counted again
    again = wf.train(corpus, out=run, resume=True, **SETTINGS)
    assert [row["seconds"] for row in again.history[:3]] == [row["seconds"] for row in history]


def test_other_settings_are_refused(corpus: Path, run: Path) -> None:
    with pytest.raises(InputError, match=r"begun with trees = 2, but now it is 3.*--force"):
        wf.train(corpus, out=run, resume=True, **{**SETTINGS, "trees": 3})
    assert store.has_checkpoint(run)


def test_without_resume_the_message_offers_it(corpus: Path, run: Path) -> None:
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

    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoint, "write_tensors", slow_write)
    written = checkpoint.Checkpoint(tmp_path)
    arrays = {name: np.zeros((1000, 1000), np.float32) for name in "ABCD"}
    for _ in range(20_000):
        now[0] += 0.1
        written.save(arrays, [])
    assert 0 < 3.0 * len(writes) < 0.02 * now[0]

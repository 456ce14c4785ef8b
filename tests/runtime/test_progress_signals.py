"""Being told to stop, going on, and ending with a parent that is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

import wordforest as wf
from wordforest import store
from wordforest.errors import InputError
from wordforest.jobs.job import Checkpoint
from wordforest.runtime import progress as interrupts
from wordforest.runtime.disk import opened

WORDFOREST = [sys.executable, "-m", "wordforest"]
SETTINGS = {"trees": 2, "epochs": 4, "tol": 0.0, "min_count": 1}


def told(number: int) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize(
    ("number", "kind"), [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, interrupts.Terminated)]
)
def test_a_signal_stops_at_once(number, kind):
    with pytest.raises(kind), interrupts.listening(print):
        told(number)


def test_between_steps_a_first_signal_waits_and_is_reported():
    said: list[str] = []
    with interrupts.listening(said.append), interrupts.step_by_step():
        interrupts.end_step()
        told(signal.SIGTERM)
        assert interrupts.is_stopping()
        assert said == [interrupts.PATIENT]
        with pytest.raises(interrupts.Terminated):
            interrupts.end_step()


def test_before_the_first_step_there_is_nothing_to_wait_for():
    with pytest.raises(KeyboardInterrupt), interrupts.listening(print), interrupts.step_by_step():
        told(signal.SIGINT)


def test_a_signal_that_is_lost_in_a_callback_comes_again(capfd):
    class Thing:
        pass

    def stop() -> None:
        thing = Thing()
        _ = weakref.ref(thing, lambda _: told(signal.SIGTERM))  # Python takes no exception from there
        del thing
        time.sleep(5)

    with pytest.raises(interrupts.Terminated), interrupts.listening(print):
        stop()
    assert "Exception ignored" not in capfd.readouterr().err


def test_a_second_signal_does_not_wait():
    with interrupts.listening(lambda _: None), interrupts.step_by_step():
        interrupts.end_step()
        told(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            told(signal.SIGINT)


def test_a_signal_in_a_finaliser_is_heard_after_it():
    class Final:
        ended = False

        def __del__(self) -> None:
            told(signal.SIGINT)
            Final.ended = True

    def finalise() -> None:
        Final()
        assert Final.ended  # where it would have been ignored
        time.sleep(5)

    with pytest.raises(KeyboardInterrupt), interrupts.listening(print):
        finalise()


def test_handlers_are_put_back_and_what_is_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with interrupts.listening(print):
            told(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_run_that_is_stopped_keeps_what_was_done_and_can_be_resumed(large_corpus, tmp_path, number, code, word):
    endless = ["train", str(large_corpus), "--trees", "4", "--epochs", "100000", "--tol", "0", "--json"]
    command = [*WORDFOREST, *endless, "--out", str(tmp_path / "run")]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    ) as process:
        steps = 0
        for line in process.stderr:
            steps += bool(json.loads(line).get("facts"))
            if steps == 3:
                break
        process.send_signal(number)
        last = process.stderr.read().splitlines()[-1]
    assert process.returncode == code
    assert last.startswith(f"{word}. ")
    assert "--resume" in last
    _, history = Checkpoint(tmp_path / "run").load() or ({}, [])
    assert len(history) >= 3


def is_running(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and " Z " not in stat.read_text()


PARENT = """
import os, subprocess, sys, time
environment = {**os.environ, sys.argv[1]: "1"}
job = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, process_group=0, env=environment)
print(job.pid, flush=True)
time.sleep(100)
"""


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 90
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert is_so()


def test_a_job_ends_when_its_parent_is_killed(large_corpus, tmp_path):
    run = tmp_path / "run"
    job = [*WORDFOREST, "train", str(large_corpus), "--out", str(run), "--epochs", "100000", "--tol", "0"]
    command = [sys.executable, "-c", PARENT, interrupts.ENDS_WITH_STDIN, *job]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as parent:
        pid = int(parent.stdout.readline())
        wait_until(run.exists)
        parent.kill()
    wait_until(lambda: not is_running(pid))


def test_resume_does_not_take_a_complete_run_for_another(corpus, tmp_path):
    wf.train(corpus, out=tmp_path / "run", **SETTINGS)
    wf.train(corpus, out=tmp_path / "run", resume=True, **SETTINGS)
    with pytest.raises(InputError, match=r"complete, but with seed = 0, and now it is 1.*--force"):
        wf.train(corpus, out=tmp_path / "run", resume=True, **SETTINGS, seed=1)


def test_resume_does_not_go_on_with_another_text(corpus, tmp_path, monkeypatch):
    text = tmp_path / "text.txt"
    text.write_text(corpus.read_text())
    monkeypatch.setattr("wordforest.jobs.job._SHARE", 1e9)  # a checkpoint after every step
    monkeypatch.setattr("wordforest.store.save_run", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wf.train(text, out=tmp_path / "run", **SETTINGS)
    monkeypatch.undo()
    text.write_text(corpus.read_text() + "one more line\n")
    with pytest.raises(InputError, match="the text has changed since learning began"):
        wf.train(text, out=tmp_path / "run", resume=True, **SETTINGS)
    assert store.has_checkpoint(tmp_path / "run")


def test_a_file_that_shrinks_while_it_is_read_is_an_error(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("some words here\n" * 100_000)
    stream = opened(str(path))
    handle = stream.__enter__()
    handle.read(10)
    os.truncate(path, 100)
    with pytest.raises(InputError, match=r"it shrank from 1600000 to 100 bytes while it was read"):
        stream.__exit__(None, None, None)


def test_a_file_that_grows_or_is_replaced_is_read_as_it_was(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("some words here\n")
    with opened(str(path)) as handle:
        with path.open("a") as end:
            end.write("more\n")
        (tmp_path / "new").write_text("x")
        (tmp_path / "new").replace(path)
        assert handle.read().startswith(b"some words")

"""Running the commands of an experiment, each in a process of its own, and only those whose result is not there.

Every job is a command that a person could type, so its time and its peak memory are those of a user, and the report
can say how to repeat it.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from wordforest import store
from wordforest.errors import InputError
from wordforest.options import OPTIONS
from wordforest.reproduce.plan import BRANCHING, FOREST, FROM_COUNTS, Job, Options, tree_size
from wordforest.runtime.progress import ENDS_WITH_STDIN, Event, Reporter

_READING = ("min_count", "max_vocab", "tokenizer", "no_lowercase", "keep_numbers", "errors")  # not of counting pairs
_PATIENCE = 10.0  # seconds that a job has to end
NOTE = "job.json"  # beside the result: what made it, and what it took


@dataclass(frozen=True)
class JobResult:
    """What a job left: its folder, the command, seconds and peak memory in bytes."""

    folder: Path
    command: str
    seconds: float
    peak: int
    counting: float = 0.0  # seconds of the counts it began from, which other jobs share


class FailedJobError(InputError):
    """A command of the experiment that ended with an error."""


class JobRunner:
    """The folder of an experiment: ``counts/`` shared by jobs, ``runs/`` one folder a job."""

    def __init__(
        self, folder: Path, corpus: list[str], workers: int | None, report: Reporter, device: str = "cpu"
    ) -> None:
        self.folder, self.corpus, self.report, self.device = folder, corpus, report, device
        self.workers, self._workers = workers, {} if workers is None else {"workers": workers}
        self.fingerprint = _fingerprint(corpus)

    def run(self, job: Job) -> JobResult:
        """Return the result of a job, made now if it is not there or was made with other settings or another text."""
        folder = self.folder / "runs" / job.name
        if job.method not in FROM_COUNTS:
            windowed = ("window",) if job.method != "rnn" else ()
            reading = {name: value for name, value in job.count.items() if name in (*_READING, *windowed)}
            return self._made(folder, self._command(job, self.corpus, reading))
        counts = self.count(job.count)
        made = self._made(folder, self._command(job, [str(counts.folder)], {}))
        return replace(made, peak=max(made.peak, counts.peak), counting=counts.seconds)

    def count(self, options: Options) -> JobResult:
        """Return the counts of the corpus, made now if need be."""
        name = hashlib.sha256(json.dumps(options, sort_keys=True).encode()).hexdigest()[:8]
        counting = ["count", *self.corpus, *_flags({**options, **self._workers})]
        return self._made(self.folder / "counts" / name, counting)

    def shown(self, text: str) -> str:
        """Return a command with CORPUS and OUT in place of paths of this machine."""
        for name in self.corpus:
            text = text.replace(name, "CORPUS")
        return text.replace(str(self.folder), "OUT")

    def _command(self, job: Job, corpus: list[str], reading: Options) -> list[str]:
        size: Options = {"dimensions": job.size}
        if job.method == FOREST:
            size = {"trees": job.size // tree_size(str(job.options.get("branching", BRANCHING)))}
        start = ["train"] if job.method == FOREST else ["baseline", job.method]
        options = {**reading, **self._where(job), **job.options}
        return [*start, *corpus, *_flags({**size, **options, "seed": job.seed, **self._workers})]

    def _where(self, job: Job) -> Options:
        """Return the device for those who can compute on more than one."""
        learner = str(job.options.get("learner", "online")) if job.method == FOREST else job.method
        return {} if self.device == "cpu" or learner not in OPTIONS["device"].takers else {"device": self.device}

    def _made(self, folder: Path, command: list[str]) -> JobResult:
        made_by = {"command": command, "corpus": self.fingerprint}
        if folder.is_dir():
            store.remove_leftovers(folder)
        note = store.read_json(folder / NOTE) if (folder / NOTE).is_file() else {}
        if note.get("made_by") == made_by:
            return JobResult(folder, note["typed"], note["seconds"], note["peak"])
        folder.parent.mkdir(parents=True, exist_ok=True)
        arguments = [*command, "--out", str(folder)]
        typed = self.shown(" ".join(arguments))
        self.report.say("wordforest " + typed)
        if folder.is_dir():
            with store.locked(folder, patience=_PATIENCE):
                pass  # a job whose parent was killed has ended, too
        begun = not note and command[0] == "train" and store.has_checkpoint(folder)
        (folder / NOTE).unlink(missing_ok=True)
        seconds, peak = run_command([*arguments, "--resume" if begun else "--force"], self.report)
        facts = {"made_by": made_by, "typed": typed, "seconds": seconds, "peak": peak}
        store.write_json(folder / NOTE, {**facts, "when": time.strftime("%Y-%m-%d")})
        return JobResult(folder, typed, seconds, peak)


def run_command(arguments: list[str], report: Callable[[Event], None]) -> tuple[float, int]:
    """Run ``wordforest ARGUMENTS``, pass its progress on, and return its seconds and its peak memory in bytes."""
    started = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 our own program, and a list of arguments, no shell
        [sys.executable, "-m", "wordforest", *arguments, "--json"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stdin=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, ENDS_WITH_STDIN: "1"},
        process_group=0,  # Ctrl-C comes to us alone, and we pass it on once
    )
    last = ""
    assert process.stderr is not None  # noqa: S101 a pipe was asked for
    assert process.stdin is not None  # noqa: S101 a pipe was asked for
    try:
        with process.stderr:
            for line in process.stderr:
                last = _forward(line, report) or last
        _, status, usage = os.wait4(process.pid, 0)
    except BaseException:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # a job in the background does not hear it
            process.kill()
            process.wait()
        raise
    finally:
        process.stdin.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode in (130, 143):
        raise KeyboardInterrupt
    if process.returncode:
        reason = last.removeprefix("error: ") or process.returncode
        raise FailedJobError(f"wordforest {' '.join(arguments)} failed: {reason}")
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    return time.monotonic() - started, usage.ru_maxrss * unit


def _forward(line: str, report: Callable[[Event], None]) -> str:
    """Pass an event on; return a line that is none."""
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return line.strip()
    if isinstance(value, dict) and "stage" in value:
        report(Event(**value))
    return ""


def _flags(options: Options) -> list[str]:
    """Return options as arguments: {min_count: 5, dynamic_window: true} -> --min-count 5 --dynamic-window."""
    flags: list[str] = []
    for name, value in options.items():
        if value is False:
            raise InputError(f"option {name} = false: leave an option out instead of turning it off.")
        flags += ["--" + name.replace("_", "-"), *([] if value is True else [str(value)])]
    return flags


def _fingerprint(corpus: list[str]) -> list[list[Any]]:
    """Return name, size and time of change of every local file: a text that was edited makes its jobs run again."""
    found = []
    for name in corpus:
        path = Path(name)
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [[str(file), file.stat().st_size, file.stat().st_mtime_ns] for file in files if file.is_file()]
    return found

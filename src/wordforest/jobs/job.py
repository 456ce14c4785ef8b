"""One job: a folder to write to, a checkpoint to resume from, who does the work, and progress.

All commands that write results begin and end by the same lines::

    with Job(out, force=force, resume=resume, workers=workers, report=report) as job:
        job.begin(settings)
        ...
        job.save_run(run)

What the folder holds stays until there is something to replace it. If nothing comes of the job, folders made for it go
away again; if there is a checkpoint, the error gets a note how to resume.

A checkpoint is written only when it costs less than two percent of the work it saves, so short runs write none; after a
crash they begin again and end with the same bits.
"""

from __future__ import annotations

import json
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import asdict
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordforest import store
from wordforest.coder.kernels import on_host
from wordforest.coder.learn import Step
from wordforest.errors import FullDiskError, InputError, MissingExtraError
from wordforest.options import OPTIONS
from wordforest.runtime.cluster import Cluster
from wordforest.runtime.machine import Threads, compiling_told, three_quarters
from wordforest.runtime.progress import Reporter, as_reporter, end_step, is_stopping
from wordforest.store.files import TEMPORARY
from wordforest.store.tensors import read_metadata, read_tensors, write_tensors


class Job(ExitStack):
    """A context for one job; without ``out`` nothing is written.

    ``cluster`` is the address of a Dask scheduler, ``local:N``, or a ``Cluster``; ``workers`` is then the number of
    threads of every process there. ``memory`` is a ceiling in bytes, three quarters of the machine's if left out.
    ``is_result`` says whether a folder holds what such a job makes; with ``resume`` nothing else is replaced.
    """

    folder: Path | None = None  # inside the context, what may be written to

    def __init__(
        self,
        out: str | Path | None,
        *,
        force: bool = False,
        resume: bool = False,
        workers: int | None = None,
        cluster: str | Cluster | None = None,
        memory: int | str | None = None,
        report: Reporter | bool | None = None,
        is_result: Callable[[Path], bool] = store.is_run_folder,
    ) -> None:
        super().__init__()
        OPTIONS["workers"].check(workers)
        self._out = None if out is None else Path(out)
        self._force, self.resume, self._is_result = force, resume, is_result
        self._cluster, self.threads = cluster, Threads(workers if cluster is None else workers or 1)
        self._executor: Threads | Cluster | None = None
        self.memory: int = OPTIONS["memory"].check(memory) or three_quarters()
        self.report = as_reporter(report)
        self._started = time.monotonic()
        self.checkpoint = Checkpoint(self._out)

    def __enter__(self) -> Job:
        self.enter_context(compiling_told(self.report.say))
        if self._out is not None:
            self.enter_context(self._writing(self._out))
            self.folder = self._out
        return self

    def inside(self, folder: Path) -> Job:
        """Return a job for a part of this one's work, which has a folder and a checkpoint of its own."""
        part = copy(self)
        ExitStack.__init__(part)  # what the whole has entered is not left with the part
        part._executor = self.executor
        part._out, part._force, part.checkpoint = folder, True, Checkpoint(folder)
        return part

    @property
    def executor(self) -> Threads | Cluster:
        """Who does the work; a cluster given by its address is connected to at first use, and left with the job."""
        if self._executor is None:
            self._executor = self.threads if self._cluster is None else self._connected(self._cluster)
        return self._executor

    def begin(self, settings: dict[str, Any], *, resumable: bool = True) -> None:
        """Begin the checkpoint, or resume the one in the folder, whose settings must be the same."""
        self.checkpoint.begin(plain(settings), resume=self.resume and resumable)

    def is_complete(self, settings: dict[str, Any], found: tuple[str | None, ...] = ()) -> bool:
        """Return whether a job to resume has nothing left to do; a result with other settings is an error.

        Values ``found`` stand for what the job was to find.
        """
        folder = self.folder
        if not (self.resume and folder and self._is_result(folder)) or store.has_checkpoint(folder):
            return False
        config = store.read_json(folder / "config.json")
        for name, value in plain(settings).items():
            if value not in found and config.get(name, value) != value:
                raise InputError(
                    f"{folder} is complete, but with {name} = {config[name]}, and now it is {value}. "
                    "Use the same settings, --force to begin again, or another --out."
                )
        self.checkpoint.remove()
        self.report.say(f"{folder} is complete already")
        return True

    def save_run(self, run: store.Run, codes: Path | None = None) -> None:
        """Write a run in place of what the folder holds; ``codes`` is a file that has its codes already."""
        if self.folder:
            store.save_run(self.folder, run, codes)
            zeros = 1 - run.codes.nnz / max(len(run.words) * len(run.forest), 1)
            self.end(words=len(run.words), dimensions=len(run.forest), zeros=zeros)

    def end(self, *, zeros: float | None = None, **sizes: int) -> None:
        """Remove the checkpoint and report what was written: how much of what, the share of zeros, seconds."""
        self.checkpoint.remove()
        seconds = time.monotonic() - self._started
        parts = [
            *(f"{size:,} {name}" for name, size in sizes.items()),
            *([] if zeros is None else [f"{zeros:.1%} zeros"]),
        ]
        facts = {"wrote": str(self.folder), **sizes, **({} if zeros is None else {"zeros": round(float(zeros), 4)})}
        self.report.tell(
            {**facts, "seconds": round(seconds, 3)}, f"wrote {self.folder}: {', '.join(parts)}, {seconds:.1f} s"
        )

    @contextmanager
    def _writing(self, folder: Path) -> Iterator[None]:
        """Lock a folder, after checking that it may be written to."""
        store.check_free(folder, force=True)
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with store.locked(folder):
            if self.resume:
                store.remove_leftovers(folder)
            can_resume = self.resume and (store.was_begun(folder) or self._is_result(folder))
            store.check_free(folder, force=self._force or can_resume)
            try:
                tempfile.TemporaryFile(dir=folder).close()  # a folder without rights fails now, not after hours
                store.remove_leftovers(folder)
                yield
            except BaseException as error:
                self._leave(folder, made, error)
                raise

    def _leave(self, folder: Path, made: list[Path], error: BaseException) -> None:
        """Leave the folder as it was, but for what can be resumed. Bad input cannot, if it is not a full disk."""
        is_bad = isinstance(error, InputError | MissingExtraError) and not isinstance(error, FullDiskError)
        self.checkpoint.settle(is_bad)
        if store.has_checkpoint(folder):
            if not isinstance(error, InputError):
                note = f"Resume it with --resume, in Python resume=True: {folder} keeps what was done."
                error.__notes__ = [note]  # of the outermost folder, where one job works inside another
            return
        with suppress(OSError):  # not empty
            for path in made:
                path.rmdir()

    def _connected(self, where: str | Cluster) -> Cluster:
        if isinstance(where, Cluster):
            return where
        cluster = self.enter_context(Cluster.connect(where, threads=self.threads.n_workers))
        cluster.wait(self.report.say)
        self.report.say(f"cluster of {cluster.n_workers} workers; dashboard: {cluster.dashboard}")
        for warning in cluster.differences():
            self.report.say(f"warning: {warning}")
        return cluster


def versions(*more: str) -> dict[str, str]:
    """Return the versions that a result depends on; ``more`` names packages beyond the usual ones."""
    packages = ("wordforest", "numpy", "scipy", "numba", *more)
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings as they are read back from JSON, which has lists for tuples."""
    as_read: dict[str, Any] = json.loads(json.dumps(settings))
    return as_read


_SHARE = 0.01  # of the time that writing may take; its true cost is known only afterwards, so half of what is allowed
_BYTES_PER_SECOND = 4e8  # a careful guess until a first checkpoint was written
_STATE = "state.safetensors"
History = list[dict[str, Any]]


class Checkpoint:
    """The checkpoint of a job: its settings, and named arrays with their history; without a folder it does nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._text = ""
        self._is_new = False  # begun by this job
        self._last = time.monotonic()
        self._seconds_per_byte = 1 / _BYTES_PER_SECOND

    def begin(self, settings: dict[str, Any], *, resume: bool) -> None:
        """Begin the checkpoint; with ``resume`` keep the one that is there, whose settings must be the same."""
        if self._folder is None:
            return
        self._is_new = not (resume and store.has_checkpoint(self._folder))
        file = store.checkpoint_folder(self._folder) / "settings.json"
        if self._is_new:
            self.remove()
            file.parent.mkdir(parents=True)
            store.write_json(file, settings)
            return
        begun = store.read_json(file)
        for name in settings.keys() | begun.keys():
            if settings.get(name) != begun.get(name):
                raise InputError(
                    f"{self._folder} was begun with {name} = {begun.get(name)}, but now it is {settings.get(name)}. "
                    "Use the same settings to resume, or --force to begin again."
                )

    def load(self, text: str = "") -> tuple[dict[str, NDArray[Any]], History] | None:
        """Return the arrays and the history that an earlier try wrote, if it did.

        ``text`` is the fingerprint of what is learned from; arrays of another text are an error.
        """
        self._text = text
        if self._folder is None or not (path := store.checkpoint_folder(self._folder) / _STATE).is_file():
            return None
        found = read_metadata(path)
        if text and found.get("text", text) != text:
            raise InputError(f"{self._folder}: the text has changed since learning began. Begin again, with --force.")
        return read_tensors(path), json.loads(found["history"])

    def save(self, arrays: Mapping[str, Any], history: History) -> None:
        """Write arrays, of any device, if the last time was long ago, or a signal asks to stop; then stop."""
        size = sum(array.nbytes for array in arrays.values())
        is_due = size * self._seconds_per_byte <= _SHARE * (time.monotonic() - self._last)
        if self._folder and (is_due or is_stopping()):
            started = time.monotonic()
            tensors = {name: np.asarray(on_host(array)) for name, array in arrays.items()}
            metadata = {"history": json.dumps(history), "text": self._text}
            write_tensors(store.checkpoint_folder(self._folder) / _STATE, tensors, metadata)
            self._last = time.monotonic()
            self._seconds_per_byte = (self._last - started) / max(size, 1)
        end_step()

    def settle(self, is_bad: bool) -> None:
        """Remove what cannot be resumed from: an empty checkpoint, or one begun with input that is bad."""
        if self._folder and store.has_checkpoint(self._folder):
            kept = (file.name for file in store.checkpoint_folder(self._folder).iterdir())
            is_empty = all(name == "settings.json" or fnmatch(name, TEMPORARY) for name in kept)
            if is_empty or (is_bad and self._is_new):
                self.remove()

    def remove(self) -> None:
        """Remove the checkpoint: the job is complete."""
        if self._folder:
            store.remove_checkpoint(self._folder)


def history_row(step: Step, seconds: float) -> dict[str, Any]:
    """Return a step as a line of history.jsonl."""
    return {"seconds": round(seconds, 3), **asdict(step)}

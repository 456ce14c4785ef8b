"""The processes of a sweep: some learn, all on the one device, the others score what these have made.

Codes go from the ones to the others through files, a few at a time: a learner that is too quick waits. All end with
the process that started them, however it ended.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from multiprocessing import connection, get_context, parent_process
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
from scipy import sparse

from wordforest.coder import kernels
from wordforest.coder.rows import Rows, place_rows
from wordforest.errors import InputError
from wordforest.evaluation import Data
from wordforest.jobs.count import associate, load_counts
from wordforest.reproduce.sweep.learn import learn_task
from wordforest.reproduce.sweep.plan import Source, Task, as_record
from wordforest.reproduce.sweep.score import Judge
from wordforest.runtime.machine import Threads, one_thread, sleep_while_gpu_works
from wordforest.settings import AssociationSettings

_AHEAD = 1  # codes that wait for each process that scores
_PATIENT = 10  # how much those who score give way
_PAUSE = 0.2  # seconds between two looks at whether all processes live
_THINNED = 0  # seed of the draw of counts


@dataclass(frozen=True)
class Setup:
    """All that the processes need to know: a folder of counts by source, the data, a place for codes, the machine."""

    counts: dict[Source, Path]
    data: Data
    tasks: tuple[str, ...]
    halves: bool
    scratch: Path
    device: str
    n_learners: int
    n_scorers: int
    threads: int  # of a learner


def run_tasks(setup: Setup, tasks: Sequence[Task]) -> Generator[dict[str, Any]]:
    """Yield the record of every missing cell of the tasks, scored, in any order; all processes have ended then.

    Where a task or a cell fails, its record has the first cell and the ``failure``.
    """
    if not tasks:
        return
    context = get_context("spawn")
    todo, coded, done = context.Queue(), context.Queue(_AHEAD * setup.n_scorers), context.Queue()
    for task in tasks:
        todo.put(task)
    makers = [context.Process(target=_learn, args=(setup, todo, coded, done)) for _ in range(setup.n_learners)]
    judges = [context.Process(target=_score, args=(setup, coded, done)) for _ in range(setup.n_scorers)]
    processes = [*makers, *judges]
    try:
        for process in processes:
            process.start()
        for some, taken in ((makers, todo), (judges, coded)):
            for _ in some:
                taken.put(None)  # nothing more comes
            while any(process.is_alive() for process in some):
                yield from _heard(done, _PAUSE)
                _check(processes)
        yield from _heard(done, 0.0)
    finally:
        for process in (one for one in processes if one.pid):
            process.terminate()
            process.join()


def _heard(done: Any, wait: float) -> Iterator[dict[str, Any]]:
    with suppress(Empty):
        while True:
            yield done.get(timeout=wait)


def _check(processes: Sequence[Any]) -> None:
    """Refuse to wait for what a process that is gone would have done."""
    for process in processes:
        if process.exitcode:
            raise InputError(
                f"a process of the sweep ended with code {process.exitcode}: it was killed, or memory was too small. "
                "What is done is kept. Run the command again, with fewer processes in the file if it ends again."
            )


def _begin() -> None:
    """End with the parent, and leave it to the parent to hear Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None  # noqa: S101 we were started by one

    def wait() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _learn(setup: Setup, todo: Any, coded: Any, done: Any) -> None:
    """Learn tasks, and hand codes on with all that is known of them."""
    _begin()
    if setup.device == "cuda":
        sleep_while_gpu_works()  # those who score need the cores
    threads = Threads(setup.threads)

    @lru_cache(maxsize=1)
    def rows_of(source: Source, kind: str, size: int) -> Rows:
        return make_rows(setup.counts[source], source.thin, kind, setup.device, size, threads)

    for task in iter(todo.get, None):
        first = task.first
        try:
            for number, made in enumerate(learn_task(rows_of(first.source, first.rows, first.size), task)):
                path = setup.scratch / f"{os.getpid()}-{id(task)}-{number}.npy"
                np.save(path, kernels.on_host(made.A))
                coded.put((made.cell, made.facts, path))
        except Exception as error:  # it is told, and other tasks go on
            done.put({**as_record(first), "failure": f"{type(error).__name__}: {error}"})


def _score(setup: Setup, coded: Any, done: Any) -> None:
    """Score codes and report their cells; those who learn go first, or a GPU would wait."""
    _begin()
    os.nice(_PATIENT)

    @cache
    def judge_of(source: Source) -> Judge:
        words = load_counts(setup.counts[source], 0, checked=False).vocabulary.words
        return Judge(words, setup.data, setup.tasks, setup.halves)

    with one_thread():
        for cell, facts, path in iter(coded.get, None):
            try:
                scores = judge_of(cell.source).score(np.load(path))
                done.put({**as_record(cell), **facts, "device": setup.device, "scores": scores})
            except Exception as error:  # it is told, and other cells go on
                done.put({**as_record(cell), "failure": f"{type(error).__name__}: {error}"})
            path.unlink()


def make_rows(counts: Path, thin: float, kind: str, device: str, size: int, threads: Threads) -> Rows:
    """Return X of a folder of counts where learning computes: PMI, of thinned counts, as it is or of unit rows."""
    loaded = load_counts(counts, checked=False).counts
    if thin < 1:
        loaded = replace(loaded, matrix=thinned(loaded.matrix, thin))
    X = associate(loaded, AssociationSettings(), executor=threads)
    X.data = X.data.astype(np.float32, copy=False)
    if kind == "unit":
        lengths = np.sqrt(kernels.row_squares(X))
        X.data = (X.data / np.repeat(np.where(lengths > 0, lengths, 1), np.diff(X.indptr))).astype(np.float32)
    return place_rows(X, device, size, threads)


def thinned(counts: Any, keep: float) -> sparse.csr_array:
    """Return counts of which each was kept with a probability, one draw for all seeds; pairs that have none go."""
    drawn = np.random.default_rng(_THINNED).binomial(counts.data, keep).astype(counts.dtype)
    found = sparse.csr_array((drawn, counts.indices.copy(), counts.indptr.copy()), shape=counts.shape)
    found.eliminate_zeros()
    return found

"""Threads of this process: results in order, and the same bits for any number of them."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np  # noqa: F401 loads the BLAS that is limited here

from wordforest.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_MOST_WORKERS = 16  # for each core, and cores that are taken for granted: more threads than that only take memory


class Executor(Protocol):
    """Maps a function over blocks and yields the results in the order of the blocks."""

    @property
    def n_workers(self) -> int:
        """How many work at the same time."""
        ...

    def map(self, function: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """Yield ``function(block)`` for every block, order kept."""
        ...


class Threads:
    """Threads of this process; the kernels release the GIL. One worker runs without any thread."""

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers is not None and n_workers < 1:
            raise InputError(f"n_workers = {n_workers}, but it must be at least 1. Leave it out to use all cores.")
        self.n_workers = min(n_workers or available_cores(), _MOST_WORKERS * max(available_cores(), _MOST_WORKERS))
        self._pool: ThreadPoolExecutor | None = None  # started once: a start takes longer than many a block

    def map(self, function: Callable[[T], R], blocks: Iterable[T]) -> Iterator[R]:
        """Yield results in order; blocks are taken only a few ahead, so that a stream stays a stream.

        BLAS gets one thread for each worker: threads never multiply, and a block's bits never depend on them.
        """
        with one_blas_thread():
            if self.n_workers == 1:
                for block in blocks:
                    yield function(block)
                return
            self._pool = self._pool or ThreadPoolExecutor(self.n_workers)
            yield from _map_ahead(self._pool, function, blocks, ahead=2 * self.n_workers)


def _map_ahead(pool: ThreadPoolExecutor, function: Callable[[T], R], blocks: Iterable[T], ahead: int) -> Iterator[R]:
    waiting: deque[Future[R]] = deque()
    try:
        for block in blocks:
            waiting.append(pool.submit(function, block))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()
        wait(waiting)


def on_this_machine(executor: Executor | None, what: str) -> Threads:
    """Return who works here, all cores if nobody is named; ``what`` shares memory, which a cluster does not."""
    executor = executor or Threads()
    if not isinstance(executor, Threads):
        came = type(executor).__name__
        raise InputError(f"{what} needs one machine, but a {came} came. Use Threads, or leave the executor out.")
    return executor


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread inside a block: bits must not depend on the number of cores."""
    limits: AbstractContextManager[object] = blas_libraries().limit(limits=1, user_api="blas")
    return limits


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS and OpenMP to one thread, for libraries whose sums depend on the number of threads."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


def blas_libraries() -> Any:
    """Return what limits the BLAS of NumPy, and that of SciPy once it is loaded."""
    return _found_blas("scipy.linalg" in sys.modules)


@lru_cache(maxsize=2)
def _found_blas(with_scipy: bool) -> Any:  # noqa: ARG001 the key: a library loaded since has to be looked for
    """Look through all loaded libraries, which takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

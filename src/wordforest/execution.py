"""Who does the work: blocks are mapped in order over threads. The result never depends on how many there are."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np  # noqa: F401 loads the BLAS that is limited here

from wordforest.errors import InputError

T = TypeVar("T")
R = TypeVar("R")

_MOST_WORKERS = 16  # for each core, and cores that are taken for granted: more threads than that only take memory
_CGROUP = Path("/sys/fs/cgroup/memory.max")


class Executor(Protocol):
    """Maps a function over blocks and yields the results in the order of the blocks."""

    n_workers: int

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


def one_blas_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread inside a block: bits must not depend on the number of cores."""
    limits: AbstractContextManager[object] = _blas().limit(limits=1, user_api="blas")
    return limits


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS and OpenMP to one thread, for libraries whose sums depend on the number of threads."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


@lru_cache(maxsize=1)
def _blas() -> Any:
    """Find the BLAS of NumPy, once: looking through all loaded libraries takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def check_room(what: str, n_bytes: float) -> None:
    """Refuse what needs more memory than this machine has, before it takes the machine down."""
    if n_bytes > (memory := available_memory()):
        raise InputError(
            f"{what} needs at least {n_bytes / 1e9:,.1f} GB of memory, but this machine has {memory / 1e9:,.1f}. "
            "Ask for less, or use a larger machine."
        )


def available_memory() -> int:
    """Return the bytes of memory that this machine, or the container around this process, has."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _CGROUP.read_text().strip() if _CGROUP.is_file() else ""
    return min(memory, int(limit)) if limit.isdigit() else memory


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""This machine: its threads, its memory, and one GPU.

Results come in order and have the same bits for any number of threads.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache, partial, wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from wordforest.errors import InputError, MissingExtraError

T = TypeVar("T")
R = TypeVar("R")
_MPS_FOLDER = "CUDA_MPS_PIPE_DIRECTORY"
_BLOCKING_SYNC = 4  # CU_CTX_SCHED_BLOCKING_SYNC of the CUDA driver
_MOST_WORKERS = 16  # for each core, and cores that are taken for granted: more threads than that only take memory


class Executor(Protocol):
    """Maps a function over blocks and yields the results in the order of the blocks."""

    @property
    def n_workers(self) -> int:
        """How many work at the same time."""
        ...

    def map(self, function: Callable[..., R], blocks: Iterable[Any], *shared: Any) -> Iterator[R]:
        """Yield ``function(*shared, block)`` for every block, order kept."""
        ...


class Threads:
    """Threads of this process; the kernels release the GIL. One worker runs without any thread.

    Handed over as ``executor``, it says how many threads a function may use: ``n_workers``, all cores if None.

    Examples:
        >>> import wordforest as wf
        >>> threads = wf.Threads(2)
        >>> list(threads.map(len, ["a", "bb", "ccc"]))
        [1, 2, 3]
    """

    def __init__(self, n_workers: int | None = None) -> None:
        if n_workers is not None and n_workers < 1:
            raise InputError(f"n_workers = {n_workers}, but it must be at least 1. Leave it out to use all cores.")
        self.n_workers = min(n_workers or available_cores(), _MOST_WORKERS * max(available_cores(), _MOST_WORKERS))
        self._pool: ThreadPoolExecutor | None = None  # started once: a start takes longer than many a block

    def map(self, function: Callable[..., R], blocks: Iterable[Any], *shared: Any) -> Iterator[R]:
        """Yield ``function(*shared, block)`` in order; blocks are taken a few ahead, so that a stream stays a stream.

        BLAS gets one thread for each worker: threads never multiply, and a block's bits never depend on them.
        """
        function = partial(function, *shared) if shared else function
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
    limits: AbstractContextManager[object] = blas_libraries().limit(limits=1, user_api="blas")
    return limits


def one_thread() -> AbstractContextManager[object]:
    """Keep BLAS and OpenMP to one thread, for libraries whose sums depend on the number of threads."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(limits=1)
    return limits


def blas_libraries() -> Any:
    """Return what limits every BLAS that is loaded: NumPy's, SciPy's, and those of other packages."""
    return _found_blas(len(sys.modules))


@lru_cache(maxsize=1)
def _found_blas(n_modules: int) -> Any:  # noqa: ARG001 the key: a package imported since may have brought its own
    """Look through all loaded libraries, which takes a millisecond."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def available_cores() -> int:
    """Return the number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_CGROUP = Path("/sys/fs/cgroup/memory.max")


def available_memory() -> int:
    """Return the bytes of memory that this machine, or the container around this process, has."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _CGROUP.read_text().strip() if _CGROUP.is_file() else ""
    return min(memory, int(limit)) if limit.isdigit() else memory


def three_quarters() -> int:
    """Return three quarters of the memory, in bytes: what a job may take if nobody says how much."""
    return available_memory() * 3 // 4


def check_room(what: str, n_bytes: float) -> None:
    """Refuse what needs more memory than this machine has, before it takes the machine down."""
    if n_bytes > (memory := available_memory()):
        raise InputError(
            f"{what} needs at least {n_bytes / 1e9:,.1f} GB of memory, but this machine has {memory / 1e9:,.1f}. "
            "Ask for less, or use a larger machine."
        )


F = TypeVar("F", bound=Callable[..., Any])


def check_device(device: str, what: str = "the device cuda", extra: str = "gpu") -> None:
    """Refuse a device that is not there; ``what`` needs it, and ``extra`` brings PyTorch."""
    if device not in ("cpu", "cuda"):
        raise InputError(f"device = {device!r}, but it must be cpu or cuda.")
    if device == "cpu":
        return
    try:
        import torch
    except ImportError:
        raise MissingExtraError(what, extra) from None
    if not torch.cuda.is_available():
        raise InputError("device = 'cuda', but PyTorch sees no CUDA GPU. Use the device cpu.")


@lru_cache
def wake_device(device: str) -> Callable[[], None]:
    """Begin to import PyTorch and to wake a GPU, seconds in which other things can be done, in a thread.

    Returns what waits for its end, and raises what ``check_device`` has to say. It begins once.
    """

    def wake() -> None:
        check_device(device)
        sys.modules["torch"].zeros(1, device=device)

    return ThreadPoolExecutor(1).submit(wake).result


@contextmanager
def shared_gpu(device: str) -> Iterator[bool]:
    """Let processes that are begun within the block compute on a GPU at the same time; yield whether they can.

    A GPU takes processes in turns, unless NVIDIA's service for many (MPS) hands their work over. It comes with the
    driver; where it does not, or does not begin, nothing changes. One that runs already is left alone.
    """
    if device != "cuda" or _MPS_FOLDER in os.environ:
        yield device == "cuda"
        return
    with tempfile.TemporaryDirectory(prefix="wordforest-", ignore_cleanup_errors=True) as folder:  # short: for a socket
        settings = {_MPS_FOLDER: folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        if not _asked_mps(settings, "-d"):
            yield False
            return
        os.environ.update(settings)
        try:
            yield True
        finally:
            for name in settings:
                del os.environ[name]
            _asked_mps(settings, told="quit\n")


def _asked_mps(settings: dict[str, str], *arguments: str, told: str = "") -> bool:
    """Run the control program of MPS; return whether it is there and did what it was asked for."""
    program = shutil.which("nvidia-cuda-mps-control")
    if program is None:
        return False
    done = subprocess.run(  # noqa: S603 the driver's own program, and a list of arguments, no shell
        [program, *arguments],
        input=told.encode(),
        env=os.environ | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return done.returncode == 0


def sleep_while_gpu_works() -> None:
    """Let this process sleep while it waits for a GPU, where it would spin: others then have its core.

    To be called before anything uses the GPU. Without NVIDIA's driver nothing changes.
    """
    device = ctypes.c_int()
    with suppress(OSError, AttributeError):  # no driver, or one from long ago
        driver = ctypes.CDLL("libcuda.so.1")
        if driver.cuInit(0) == 0 and driver.cuDeviceGet(ctypes.byref(device), 0) == 0:
            driver.cuDevicePrimaryCtxSetFlags_v2(device, _BLOCKING_SYNC)


@lru_cache(maxsize=1)
def has_triton() -> bool:
    """Say whether kernels of our own can be compiled for a GPU; without, PyTorch's operations take their place."""
    return find_spec("triton") is not None


def out_of_memory(error: BaseException) -> bool:
    """Say whether a GPU ran out of memory, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(error, torch.cuda.OutOfMemoryError)


def free_unused() -> None:
    """Give memory that PyTorch keeps for later back to the GPU."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


def by_halves(join: Callable[[Any, Any], Any]) -> Callable[[F], F]:
    """Let a function of rows, its last argument, take every second row and then the others if the memory is too small.

    ``join`` puts the two results together. What the function changes, it must change when all else is done.
    """

    def decorate(function: F) -> F:
        @wraps(function)
        def run(*args: Any) -> Any:
            try:
                return function(*args)
            except RuntimeError as error:
                if not out_of_memory(error) or len(args[-1]) < 2:
                    raise
            free_unused()
            *others, rows = args
            return join(run(*others, rows[::2]), run(*others, rows[1::2]))

        return cast(F, run)

    return decorate


@contextmanager
def gpu_memory_explained(what: str, advice: str) -> Iterator[None]:
    """Turn a GPU's lack of memory, where nothing smaller helped, into a sentence for a person."""
    try:
        yield
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        raise InputError(f"the GPU has too little memory for {what}, even in small blocks. {advice}") from error


# No nnan and ninf: the guards against non-finite values must stay true.
_FAST = {"nsz", "arcp", "contract", "afn", "reassoc"}


COMPILING = "compiling kernels, once on this machine: some ten seconds"


def kernel(function: F) -> F:
    """Compile a function over contiguous arrays by Numba, once, and cache it; threads run it in parallel.

    No kernel is handed over as a pointer to C, and the wrapper for that would be a tenth of the compiling.
    """
    import numba

    compiled: F = numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", no_cfunc_wrapper=True)(
        function
    )
    return compiled


_told: list[str] = []


@contextmanager
def compiling_told(say: Callable[[str], None]) -> Iterator[None]:
    """Say once that kernels are compiled, if within the block one is that the cache on the disk does not have."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, _: Any) -> None:
            if not _told:
                _told.append(COMPILING)
                say(COMPILING)

        def on_end(self, _: Any) -> None:
            pass

    with event.install_listener("numba:compile", Listener()):
        yield


def part_of_kernel(function: F) -> F:
    """Compile a function that kernels call in their innermost loops: it is put in place of every call.

    A call that stays a call hands over seven numbers for every array, which takes longer than small loops do.
    """
    import numba

    compiled: F = numba.njit(nogil=True, fastmath=_FAST, error_model="numpy", inline="always")(function)
    return compiled

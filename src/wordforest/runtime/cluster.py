"""A Dask cluster: the only file that imports Dask. It knows nothing of what is computed."""

from __future__ import annotations

import logging
import re
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import Any, TypeVar

from wordforest.errors import ClusterError, InputError, MissingExtraError
from wordforest.runtime.machine import blas_libraries

T = TypeVar("T")
R = TypeVar("R")
Handle = Any  # of a value on the cluster: a future of Dask

_ATTEMPTS = 10  # at a piece of work whose input went away with a worker
_PATIENCE = 10  # seconds for a scheduler to answer
# Parts stay where they are, nobody looks at every thread a hundred times a second, and workers do not give memory back
# at every turn, only to ask for it again (which took as long as all else).
_CALM: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": 1, "MKL_NUM_THREADS": 1, "OPENBLAS_NUM_THREADS": 1},
}
_TASKS_PER_WORKER = 2  # so that one that is quicker, or new, can take more


class Sized:
    """Tells Dask how large it is, so that it is left where it is rather than moved, and counted in full."""

    def __sizeof__(self) -> int:
        return sum(map(_size, vars(self).values()))


def _size(value: Any) -> int:
    if hasattr(value, "indptr"):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    if isinstance(value, list | tuple) and value:
        return len(value) * _size(value[0])
    return int(getattr(value, "nbytes", 0)) or sys.getsizeof(value)


class Cluster:
    """Processes of a Dask cluster, given by a client of it; ``threads`` work on each task.

    Tasks are pure functions, so Dask may run one again when a worker dies. What it cannot make again is what was put
    there from here; ``attempt`` then repeats the piece of work that needed it.

    Examples:
        >>> import wordforest as wf
        >>> with wf.Cluster.connect("local:1") as cluster:  # needs: distributed
        ...     list(cluster.map(len, ["a", "bb", "ccc"]))
        [1, 2, 3]
    """

    def __init__(self, client: Any, *, threads: int = 1) -> None:
        self.client, self.threads = client, threads
        self._address = client.scheduler.address  # which the client forgets when it is closed
        self._closing: list[Any] = []
        self._homes: dict[Any, str | None] = {}  # workers to which results were spread

    @classmethod
    def connect(cls, where: str, *, threads: int = 1) -> Cluster:
        """Return the cluster at an address, as in tcp://host:8786, or start one of N processes here: ``local:N``.

        In a script, do so below ``if __name__ == "__main__":``, since the processes import it.
        """
        try:
            import distributed
        except ImportError:
            raise MissingExtraError("a cluster", "cluster") from None
        if not re.search(r"^(local:|inproc://)|:\d+$", where):  # with such a client Dask would wait for a minute
            raise InputError(
                f"--cluster {where}: expected the address of a scheduler with its port, as in tcp://host:8786, or "
                "local:N for N processes here."
            )
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)  # we tell what it would log with tracebacks
        local = _started(where.removeprefix("local:")) if where.startswith("local:") else None
        try:
            client = distributed.Client(local or where, set_as_default=False, direct_to_workers=True if local else None)
        except (OSError, ValueError, TypeError) as error:
            raise InputError(
                f"--cluster {where}: no scheduler of Dask can be reached there ({error}). Start one by dask scheduler, "
                "or use local:N."
            ) from error
        cluster = cls(client, threads=threads)
        cluster._closing = [client, local] if local else [client]
        return cluster

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the cluster; end it if it was started here. A client that was handed in stays open."""
        for part in self._closing:
            with suppress(Exception):  # of one whose scheduler died, which whoever asked it was told
                part.close()
        self._closing = []

    @property
    def dashboard(self) -> str:
        """Address of Dask's page about this cluster."""
        return str(self.client.dashboard_link)

    @property
    def n_workers(self) -> int:
        """Processes there now, at least one; more may come and some may go."""
        return max(1, len(self._asked(self.client.nthreads)))

    def wait(self, on_wait: Callable[[str], None]) -> None:
        """Wait until there is a worker; say so if there is none yet."""
        if not self._asked(self.client.nthreads):
            on_wait("waiting for the first worker of the cluster")
            self._asked(lambda: self.client.wait_for_workers(1))

    @property
    def n_parts(self) -> int:
        """Into how many parts to cut what the workers hold."""
        return _TASKS_PER_WORKER * self.n_workers

    def least_memory(self) -> int | None:
        """Return the bytes that the smallest worker may use, None where no limit is set."""
        workers = self._asked(lambda: self.client.scheduler_info(n_workers=-1))["workers"].values()
        return min((int(worker["memory_limit"]) for worker in workers if worker.get("memory_limit")), default=None)

    def differences(self) -> list[str]:
        """Say where workers differ from this process in what bits depend on: versions, and the kernels of BLAS."""
        here, there = _kind(), self._asked(lambda: self.client.run(_kind))
        return [
            f"worker {address} has {name} {found.get(name)}, here it is {own}: the bits may differ."
            for address, found in there.items()
            for name, own in here.items()
            if found.get(name) != own
        ]

    def map(self, function: Callable[..., R], blocks: Iterable[Any], *shared: Any) -> Iterator[R]:
        """Yield ``function(*shared, block)`` in the order of the blocks, a few ahead; blocks travel with their task."""
        waiting: deque[Handle] = deque()
        handles = self.put([*shared]) if shared else []
        for block in blocks:
            waiting.append(self.submit(function, *handles, block))
            if len(waiting) > 2 * self.n_parts:
                yield self.get(waiting.popleft())
        while waiting:
            yield self.get(waiting.popleft())

    def put(self, values: list[Any]) -> list[Handle]:
        """Put values into the memory of workers, from which others fetch them. They are gone if these all die."""
        handles: list[Handle] = self.attempt(lambda: self._asked(lambda: self.client.scatter(values, hash=False)))
        return handles

    def submit(self, function: Callable[..., Any], *arguments: Any, near: Handle = None) -> Handle:
        """Have a pure function run on a worker; handles among the arguments become their values.

        ``near`` is a handle that came from ``spread``: the task goes to where that was sent, while that worker lives.
        Without it Dask may rather copy a large part to a worker that is free.
        """
        return self._submit(function, arguments, self._homes.get(near.key) if near is not None else None)

    def spread(self, function: Callable[..., Any], arguments: list[tuple[Any, ...]]) -> list[Handle]:
        """Have a function run for each of some arguments, evenly spread over the workers, where results then stay.

        Neighbours come to the same worker, so that what joins some of them finds them there.
        """
        workers, n = sorted(self._asked(self.client.nthreads)) or [None], len(arguments)
        homes = [workers[i * len(workers) // n] for i in range(n)]
        handles = [self._submit(function, own, home) for own, home in zip(arguments, homes, strict=True)]
        self._homes |= {handle.key: home for handle, home in zip(handles, homes, strict=True)}
        return handles

    def _submit(self, function: Callable[..., Any], arguments: tuple[Any, ...], home: str | None) -> Handle:
        where = {"workers": home, "allow_other_workers": True} if home else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what travels with a task is large where X is held here
            return self.client.submit(function, *arguments, pure=False, **where)

    def get(self, handle: Handle) -> Any:
        """Return a value from the cluster; asked for again if the worker that has it dies meanwhile."""
        for _ in range(_ATTEMPTS):
            try:
                return self._asked(handle.result)
            except _LostError:
                if handle.cancelled():
                    raise
        return self._asked(handle.result)

    def each(self, handles: list[Handle]) -> Iterator[tuple[int, Any]]:
        """Yield number and value of every handle as they are done; each is let go before the next."""
        from distributed import as_completed

        number = {handle.key: i for i, handle in enumerate(handles)}
        done = as_completed(handles, loop=self.client.loop)
        for _ in range(len(handles)):
            handle = self._asked(lambda: next(done))
            yield number[handle.key], self.get(handle)

    def collect(self, handles: list[Handle], on_done: Callable[[int], object] = lambda _: None) -> list[Any]:
        """Return the values of all handles, fetched as they are done; ``on_done`` hears the number of each."""
        values: list[Any] = [None] * len(handles)
        for i, value in self.each(handles):
            values[i] = value
            on_done(i)
        return values

    def attempt(self, work: Callable[[], R]) -> R:
        """Do a piece of work, again and again as long as what it put on the cluster is lost to dead workers."""
        for _ in range(_ATTEMPTS):
            try:
                return work()
            except _LostError as error:
                reason = str(error)
        raise ClusterError(
            f"workers were lost {_ATTEMPTS} times during one step ({reason}). Look into their logs; then add --resume."
        )

    def _asked(self, question: Callable[[], R]) -> R:
        """Ask the cluster; say what its errors mean to the one who runs it."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            return question()
        except KilledWorker as error:
            raise ClusterError(
                f"the workers died one after the other at the same task ({error.task}), the last at "
                f"{error.last_worker.address}. Most often such a task needs more memory than a worker has: give "
                "workers more, or more workers. docs/cluster.md says how much is needed. Then add --resume."
            ) from error
        except (CancelledError, OSError) as error:
            is_of_dask = isinstance(error, CancelledError | CommClosedError | TimeoutError | ConnectionError)
            if not is_of_dask and getattr(error, "errno", None) is not None:  # of a task, as a full disk
                raise
            if self._alive():
                raise _LostError(f"workers died, and what a task needed with them ({error}). Run it again.") from error
            raise ClusterError(
                f"the scheduler of Dask at {self._address} does not answer any more. Start it and its "
                "workers again, and add --resume."
            ) from error

    def _alive(self) -> bool:
        """Whether the scheduler still answers."""
        try:
            self.client.sync(self.client.scheduler.identity, callback_timeout=_PATIENCE)
        except Exception:  # of whatever kind: it does not answer
            return False
        return bool(self.client.status == "running")


def _started(number: str) -> Any:
    """Return a cluster of so many processes on this machine."""
    import dask
    import distributed

    if not number.isdecimal() or int(number) < 1:
        raise InputError(f"--cluster local:{number}: expected a number of processes, as in local:4.")
    with dask.config.set(_CALM), _unheard():
        return distributed.LocalCluster(
            n_workers=int(number),
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        )


@contextmanager
def _unheard() -> Iterator[None]:
    """Have processes that start here ignore Ctrl-C, which a terminal sends to them, too: a step must be able to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _kind() -> dict[str, str]:
    """Return what the bits of a result depend on beside the input."""
    kernels = sorted({str(name) for library in blas_libraries().info() if (name := library.get("architecture"))})
    return {
        "BLAS for": ", ".join(kernels),
        **{name: version(name) for name in ("numpy", "scipy", "numba", "wordforest")},
    }


class _LostError(ClusterError):
    """What a task needed went away with the workers that had it."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from wordforest.errors import InputError
from wordforest.runtime.machine import Threads, available_cores, one_blas_thread, shared_gpu

every_size = pytest.mark.parametrize("n_workers", [1, 2, 3])


def blas_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def alive_workers() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread is not threading.main_thread()}


def all_ended(before: set[threading.Thread]) -> bool:
    """Say whether workers end by themselves once nobody holds their executor."""
    for _ in range(500):
        gc.collect()
        if alive_workers() <= before:
            return True
        time.sleep(0.01)
    return False


@every_size
def test_order_is_kept_when_early_blocks_are_slow(n_workers: int) -> None:
    def slow_at_first(i: int) -> int:
        time.sleep(0.02 if i == 0 else 0)
        return -i

    assert list(Threads(n_workers).map(slow_at_first, range(20))) == [-i for i in range(20)]


@given(st.lists(st.integers()), st.integers(1, 4))
@settings(deadline=None)
def test_any_number_of_workers_is_the_plain_map(blocks: list[int], n_workers: int) -> None:
    assert list(Threads(n_workers).map(str, blocks)) == [str(block) for block in blocks]


@every_size
def test_a_stream_is_taken_only_a_few_blocks_ahead(n_workers: int) -> None:
    taken = []

    def endless() -> Iterator[int]:
        for i in count():
            taken.append(i)
            yield i

    results = Threads(n_workers).map(str, endless())
    assert taken == []
    assert list(islice(results, 5)) == ["0", "1", "2", "3", "4"]
    assert len(taken) <= 5 + 2 * n_workers


def test_workers_run_at_the_same_time() -> None:
    together = threading.Barrier(2, timeout=10)  # breaks if one block waits for the other
    assert sorted(Threads(2).map(lambda _: together.wait(), range(2))) == [0, 1]


def test_one_worker_starts_no_thread() -> None:
    assert set(Threads(1).map(lambda _: threading.current_thread(), range(3))) == {threading.current_thread()}


@every_size
@pytest.mark.parametrize("error", [KeyError, StopIteration])
def test_an_error_in_a_worker_comes_through_and_ends_all(n_workers: int, error: type[Exception]) -> None:
    before = alive_workers()
    done = []

    def fail_at_three(i: int) -> int:
        if i == 3:
            raise error("block 3")
        done.append(i)
        return i

    results = Threads(n_workers).map(fail_at_three, count())
    assert list(islice(results, 3)) == [0, 1, 2]
    with pytest.raises((KeyError, RuntimeError)):  # a StopIteration must not pass for the end of the blocks
        next(results)
    assert all_ended(before)
    assert len(done) <= 4 + 2 * n_workers


def test_an_error_in_a_worker_cancels_the_blocks_not_begun() -> None:
    begun = []

    def fail_at_zero(i: int) -> None:
        begun.append(i)
        if i == 0:
            raise KeyError("block 0")
        time.sleep(0.1)

    with pytest.raises(KeyError, match="block 0"):
        list(Threads(2).map(fail_at_zero, range(100)))
    assert len(begun) < 5  # five were handed over; two threads had begun at most one more each


@every_size
@pytest.mark.parametrize("at", [0, 1, 20])
def test_an_error_in_the_blocks_comes_through_and_ends_all(n_workers: int, at: int) -> None:
    before = alive_workers()

    def broken() -> Iterator[int]:
        yield from range(at)
        raise InputError("line 7")

    with pytest.raises(InputError, match="line 7"):
        list(Threads(n_workers).map(str, broken()))
    assert all_ended(before)


@every_size
def test_a_caller_that_stops_early_ends_all(n_workers: int) -> None:
    before = alive_workers()
    results = Threads(n_workers).map(str, count())
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert all_ended(before)


@every_size
def test_blas_has_one_thread_in_a_block_and_its_own_number_after(n_workers: int) -> None:
    with threadpool_limits(2):
        assert list(Threads(n_workers).map(lambda _: blas_threads(), range(3))) == [{1}] * 3
        assert blas_threads() == {2}


def test_one_blas_thread_ends_with_its_block() -> None:
    with threadpool_limits(2):
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {2}


def test_all_cores_are_the_default() -> None:
    assert Threads().n_workers == Threads(None).n_workers == available_cores() >= 1


@pytest.mark.parametrize("n_workers", [0, -1])
def test_fewer_than_one_worker_is_an_error(n_workers: int) -> None:
    with pytest.raises(InputError, match=rf"n_workers = {n_workers}, but it must be at least 1"):
        Threads(n_workers)


def service(folder: Path, *, fails: bool = False) -> Path:
    """Write a program that stands in for NVIDIA's, and notes what it is asked for."""
    told = folder / "told"
    program = folder / "nvidia-cuda-mps-control"
    heard = f'echo "$1 $CUDA_MPS_PIPE_DIRECTORY" >> {told}; [ "$1" = -d ] || cat >> {told}'
    program.write_text(f"#!/bin/sh\n{heard}\nexit {int(fails)}\n")
    program.chmod(0o755)
    return told


def test_a_gpu_is_shared_while_the_block_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = service(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    with shared_gpu("cuda") as shared:
        assert shared
        folder = os.environ["CUDA_MPS_PIPE_DIRECTORY"]
        assert Path(folder).is_dir()
        assert told.read_text() == f"-d {folder}\n"
        with shared_gpu("cuda") as again:  # one runs: it is left alone
            assert again
    assert told.read_text() == f"-d {folder}\n {folder}\nquit\n"
    assert "CUDA_MPS_PIPE_DIRECTORY" not in os.environ
    assert not Path(folder).exists()


@pytest.mark.parametrize(
    ("device", "there", "fails"), [("cpu", True, False), ("cuda", False, False), ("cuda", True, True)]
)
def test_a_gpu_is_not_shared_where_nothing_does_it(
    device: str, there: bool, fails: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if there:
        service(tmp_path, fails=fails)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_MPS_PIPE_DIRECTORY", raising=False)
    with shared_gpu(device) as shared:
        assert not shared
        assert "CUDA_MPS_PIPE_DIRECTORY" not in os.environ

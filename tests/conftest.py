import gc
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from wordforest.runtime import machine

# Several processes share the cores (make test), so a BLAS with threads of its own in each would only get in the way.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

# A shell that starts tests in the background has them ignore Ctrl-C: tests of signals would fail or hang.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Kernels compile on first use, so a first example may take seconds; derandomised, so that a run can be repeated.
settings.register_profile("wordforest", deadline=None, derandomize=True)
settings.load_profile("wordforest")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Spare the collector what is loaded before the first test, some 600,000 objects that stay to the end."""
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put files with long tests first: the last ones to run are then short, and no process waits for another."""
    marks = ("cluster", "browser", "slow")
    long = {item.path for item in items if any(item.get_closest_marker(mark) for mark in marks)}
    items.sort(key=lambda item: item.path not in long)


def _sentence(rng: random.Random) -> str:
    """Return a sentence of a tiny grammar: words of one list share all their contexts, so they are neighbours."""
    pick = rng.choice
    kind = rng.randrange(3)
    if kind == 0:
        animal, food = pick(("cat", "dog", "horse", "cow")), pick(("grass", "hay", "corn"))
        return f"The {animal} {pick(('eats', 'finds', 'likes'))} {food} in the {pick(('field', 'barn', 'yard'))}."
    if kind == 1:
        cities = ("paris", "london", "berlin", "madrid", "rome")
        return f"A train {pick(('goes', 'runs'))} from {pick(cities)} to {pick(cities)} at {rng.randrange(1, 24)}:00."
    word, whose, who, royal = pick(
        (("king", "his", "he", 1), ("queen", "her", "she", 1), ("man", "his", "he", 0), ("woman", "her", "she", 0))
    )
    place = pick(("palace", "throne", "crown") if royal else ("house", "street", "garden"))
    return f"My {word} sees {whose} {place} where {who} {pick(('rules', 'reigns') if royal else ('walks', 'works'))}."


@pytest.fixture(scope="session", autouse=True)
def _no_sync() -> Iterator[None]:
    """Have no test wait for the disk, some milliseconds a file: a test can kill a process, but not the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _compiled_before() -> None:
    """Have commands say the same on a machine on which they run for the first time."""
    machine._told.append(machine.COMPILING)


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have one of several processes compile a kernel: the others wait, and load what it has put into the cache."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        yield
        return
    import fcntl

    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    folder, usual = tmp_path_factory.getbasetemp().parent, Dispatcher.compile  # the parent is that of all processes

    def compile_once(self: Dispatcher, signature: Any) -> Any:
        if self._cache.cache_path is None:
            return usual(self, signature)
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}.lock"
        with global_compiler_lock, (folder / name).open("w") as lock:  # in this order: then no threads wait in a circle
            fcntl.flock(lock, fcntl.LOCK_EX)
            return usual(self, signature)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatcher, "compile", compile_once)
        yield


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 3,000 sentences whose neighbours are known beforehand."""
    rng = random.Random(0)
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_text("".join(_sentence(rng) + "\n" for _ in range(3000)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def large_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of 300,000 tokens and about 3,000 made-up words: many blocks, so that workers have a choice."""
    rng = random.Random(1)
    words = [f"w{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}{chr(97 + i // 676)}" for i in range(3000)]
    weights = [1 / (i + 10) for i in range(3000)]
    tokens = rng.choices(words, weights, k=300_000)
    path = tmp_path_factory.mktemp("large") / "large.txt"
    path.write_text("\n".join(" ".join(tokens[i : i + 20]) for i in range(0, len(tokens), 20)) + "\n")
    return path

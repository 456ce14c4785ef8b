"""Many clients at once on the page, learning that never ends, and inputs that are giants: memory stays where it is."""

from __future__ import annotations

import http.client
import os
import random
import re
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

Row = dict[str, Any]
CLIENTS = 50
GROWTH = 24  # MiB that a process may grow by after it is warm: what an allocator keeps, not a leak of every request
BAD_PATHS = ("/../../etc/passwd", "/assets/..%2f..%2fetc/passwd", "/word/nothere", "/node/9999", "/data/7/words")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MEASURED = """
import atexit, re, sys
from pathlib import Path
peak = lambda: re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]
atexit.register(lambda: sys.stderr.write("peak " + peak()))
from wordforest.cli import main
main()
"""
_SERVE = "import wordforest.cli.explore; from wordforest.cli import main; main()"


def torture_load(folder: Path, seed: int, short: bool) -> Iterator[Row]:
    """Yield a row for the page, one for learning, and one for each giant."""
    folder.mkdir(parents=True, exist_ok=True)
    yield explorer_under_load(folder, seed, 2 if short else 60)
    yield soak(seed, 1 if short else 60)
    yield from giants(folder, 32 << 20 if short else 1 << 30, short=short)


# ---- the page


def explorer_under_load(folder: Path, seed: int, seconds: float) -> Row:
    """Ask the page from many clients at once: every answer is the one expected, and the server does not grow."""
    n_words = _write_run(folder / "run", seed)
    with _served(folder / "run") as (process, port):
        _ask_all(port, seed, max(1.0, seconds / 5), n_words)  # until it is warm
        before, files = _memory(process.pid), _open_files(process.pid)
        asked, times = _ask_all(port, seed + 1, seconds, n_words)
        time.sleep(0.5)
        after, left = _memory(process.pid), _open_files(process.pid)
        process.send_signal(signal.SIGTERM)
        code = process.wait(10)
    if after - before > GROWTH or left > files + 5 or code != 0:
        raise AssertionError(f"the page grew from {before} to {after} MiB, {files} to {left} files, ended with {code}")
    slowest = statistics.quantiles(times, n=100)[98]
    return {
        "load": f"the page, {CLIENTS} clients",
        "seconds": seconds,
        "requests": asked,
        "errors": 0,
        "median_ms": round(1e3 * statistics.median(times), 1),
        "p99_ms": round(1e3 * slowest, 1),
        "memory_mib": [before, after],
        "losses": 0,
    }


def _write_run(folder: Path, seed: int) -> int:
    from scipy import sparse

    from wordforest.coder.forest import Forest
    from wordforest.store import Run, save_run

    rng = np.random.default_rng(seed)
    forest, n = Forest.complete(4), 3000
    codes = rng.standard_normal((n, len(forest)), dtype=np.float32) * (rng.random((n, len(forest))) < 0.2)
    words = tuple(f"w{i}" for i in range(n))
    save_run(folder, Run(words, np.arange(n, 0, -1), sparse.csr_array(codes.astype(np.float32)), None, forest))
    return n


@contextmanager
def _served(run: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, "-c", _SERVE, "explore", str(run), "--port", "0"]
    plain = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "TORTURE_SHIM")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8", env=plain) as process:
        try:
            line = process.stderr.readline() if process.stderr else ""
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if not found:
                raise AssertionError(f"the page did not start: {line}")
            yield process, int(found[1])
        finally:
            process.kill()


def _ask_all(port: int, seed: int, seconds: float, n_words: int) -> tuple[int, list[float]]:
    times: list[float] = []
    wrong: list[str] = []
    until = time.monotonic() + seconds

    def client(number: int) -> None:
        rng = random.Random(f"{seed} {number}")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        while time.monotonic() < until and not wrong:
            path, headers, expected = _question(rng, n_words)
            started = time.monotonic()
            try:
                connection.request("GET", path, headers=headers)
                answer = connection.getresponse()
                answer.read()
            except Exception as error:
                wrong.append(f"GET {path}: {error!r}")
                return
            times.append(time.monotonic() - started)
            if answer.status not in expected:
                wrong.append(f"GET {path}: {answer.status}, expected {expected}")
            if answer.getheader("Content-Security-Policy") is None:
                wrong.append(f"GET {path}: no content security policy")

    clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    if wrong:
        raise AssertionError(f"{len(wrong)} wrong answers, as in {wrong[0]}")
    return len(times), times


def _question(rng: random.Random, n_words: int) -> tuple[str, dict[str, str], tuple[int, ...]]:
    """Return a request, good or bad, and the status that belongs to it."""
    word, node = f"w{rng.randrange(n_words)}", rng.randrange(52)
    kind = rng.randrange(10)
    if kind < 4:
        address = rng.choice((f"/word/{word}", f"/node/{node}", f"/compare/{word},w1,w2", f"/analogy/{word},w1,w2"))
        return f"/data/complete?prefix={word[:2]}" if kind == 3 else f"/data/view?address={address}", {}, (200,)
    if kind < 8:
        path = rng.choice((f"/word/{word}", "/", f"/data/0/node/{node}", "/data/0/points", f"/map?node={node}"))
        return path, {}, (200,)
    bad = rng.choice(
        ("/../../etc/passwd", "/assets/..%2f..%2fetc/passwd", "/word/nothere", "/node/9999", "/data/7/words")
    )
    headers = {"Host": "evil.example"} if kind == 9 else {}
    return bad, headers, (403,) if kind == 9 else (400, 404)


def _open_files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _memory(pid: int | str = "self") -> int:
    """Return the memory of a process in MiB."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() >> 20


# ---- learning without end


def soak(seed: int, seconds: float) -> Row:
    """Go on learning with ever new rows: memory stays what it was."""
    from scipy import sparse

    import wordforest as wf

    rng = np.random.default_rng(seed)
    coder = wf.ForestCoder(trees=4, lam=0.1, random_state=0, n_jobs=2)

    def batches() -> Iterator[Any]:
        while True:
            yield sparse.random_array((256, 500), density=0.05, rng=rng, dtype=np.float32, format="csr")

    calls, before, until = 0, 0, time.monotonic() + seconds
    for X in batches():
        coder.partial_fit(X)
        calls += 1
        if calls == 20:
            before = _memory()
        if calls > 20 and time.monotonic() > until:
            break
    after = _memory()
    if after - before > GROWTH or not np.isfinite(coder.components_).all():
        raise AssertionError(f"partial_fit grew from {before} to {after} MiB in {calls} calls")
    return {
        "load": "partial_fit, 256 new rows each",
        "seconds": seconds,
        "requests": calls,
        "errors": 0,
        "memory_mib": [before, after],
        "losses": 0,
    }


# ---- giants


def giants(folder: Path, size: int, *, short: bool = False) -> list[Row]:
    """Read lines of a gigabyte, and a million words in one: within bounds of memory, or refused."""
    gib = size / (1 << 30)
    cases: list[tuple[str, str, Callable[[Path], None], int, int]] = [
        ("text: one line of words", "count {file} --out {out} --min-count 1 --quiet", _words_in_a_line(size), 0, 1200),
        ("text: one line without a space", "count {file} --out {out} --quiet", _fill(b"x", size + (64 << 20)), 2, 4600),
        (
            "text: a million words in one line",
            "count {file} --out {out} --min-count 1 --quiet",
            _distinct_words(1_000_000),
            0,
            1800,
        ),
        ("GloVe: one line", "inspect {file}.glove", _fill(b"word 1 ", size), 2, 500),
        ("word2vec text: one line", "inspect {file}.vec", _fill(b"1 1 ", size), 2, 500),
        ("word2vec binary: no space", "inspect {file}.bin", _fill(b"1 1\\n" + b"x" * 60, size), 2, 500),
        ("vocab.tsv: one line", "train {file} --out {out} --quiet", _vocab(size), 2, 4600),
        ("npz: zeros, packed a thousandfold", "inspect {file}.npz", _zeros(size), 2, 1200 + 2 * (size >> 20)),
    ]
    return [_giant(folder, *case, gib) for case in cases if not (short and case[0].startswith("text"))]


def _giant(folder: Path, name: str, line: str, make: Callable[[Path], None], code: int, bound: int, gib: float) -> Row:
    out = folder / "giant-out"
    words = line.split()
    file = folder / ("giant" + next((word.removeprefix("{file}") for word in words if "{file}" in word), ""))
    make(file)
    arguments = [word.replace("{file}", str(folder / "giant")).replace("{out}", str(out)) for word in words]
    plain = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "TORTURE_SHIM")}
    started = time.monotonic()
    ended = subprocess.run([sys.executable, "-c", _MEASURED, *arguments], capture_output=True, text=True, env=plain)
    said, _, peak_kib = ended.stderr.rpartition("peak ")
    peak = int(peak_kib or 0) >> 10
    _remove(file, out)
    if ended.returncode != code or "Traceback" in said or peak > bound:
        raise AssertionError(f"{name}: ended with {ended.returncode} at {peak} MiB of {bound}: {said[-500:]}")
    return {
        "load": name,
        "gib": round(gib, 2),
        "seconds": round(time.monotonic() - started, 1),
        "requests": 1,
        "errors": 0,
        "peak_mib": peak,
        "bound_mib": bound,
        "exit": code,
        "losses": 0,
    }


def _remove(*places: Path) -> None:
    import shutil

    for place in places:
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


def _fill(pattern: bytes, size: int) -> Callable[[Path], None]:
    """Return what writes a pattern again and again; what is before a line end in it comes once."""

    def make(path: Path) -> None:
        head, _, again = pattern.rpartition(b"\\n")
        block = again * ((1 << 20) // len(again))
        with path.open("wb") as file:
            file.write(head + b"\n" if head else b"")
            for _ in range(-(-size // len(block))):
                file.write(block)

    return make


def _words_in_a_line(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        rng = random.Random(0)
        block = " ".join(f"w{chr(97 + rng.randrange(26))}{chr(97 + rng.randrange(26))}" for _ in range(200_000)) + " "
        with path.open("wb") as file:
            for _ in range(-(-size // len(block))):
                file.write(block.encode())

    return make


def _distinct_words(n: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        words = ("".join(_LETTERS[i // 26**k % 26] for k in range(5)) for i in range(n))
        path.write_text(" ".join(words), encoding="utf-8")

    return make


def _vocab(size: int) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        from scipy import sparse

        from wordforest.store import save_counts

        save_counts(folder, ("a",), np.array([1]), sparse.csr_array(np.array([[1]])), {})
        _fill(b"x", size)(folder / "vocab.tsv")

    return make


def _zeros(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        n = size // 400
        np.savez_compressed(path, words=np.array(["a"]), matrix=np.zeros((n, 100), np.float32))

    return make

"""A million damaged files for the readers: each ends with a result or with an InputError, soon and in little memory.

Guided by coverage where atheris is installed (each reader in a process of its own, instrumented as it is imported), by
chance alone elsewhere. ``python -m torture.fuzz READER FOLDER RUNS SEED`` is one such process.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LONGEST = 4096  # bytes of an input
SLOWEST = 10  # seconds for one input
MEMORY = 3 << 30  # bytes of address space that a reader may grow by
REPORT_EVERY = 1000
ODD = (b"\0", b"\r", b"\n", b"\t", b" ", b"\xed\xa0\x80", b"\xff", b"nan", b"-1", b"1e999")

INSTRUMENTED = ("wordforest", "tomllib", "zipfile")

# What is fuzzed: a name, the file name under which bytes are given, and who reads them. A reader is a line.
READERS: dict[str, tuple[str, str]] = {
    "text": ("fuzz.txt", "text"),
    "vocab.tsv": ("vocab.tsv", "vocab"),
    "word2vec text": ("fuzz.vec", "vectors"),
    "word2vec binary": ("fuzz.bin", "vectors"),
    "GloVe text": ("fuzz.glove", "vectors"),
    "npz": ("fuzz.npz", "vectors"),
    "safetensors": ("fuzz.safetensors", "vectors"),
    "CSR in safetensors": ("counts.safetensors", "csr"),
    "TOML": ("fuzz.toml", "toml"),
    "JSON": ("config.json", "json"),
    "addresses of the page": ("address", "route"),
}


def torture_fuzz(folder: Path, seed: int, inputs: int, only: str = "") -> Iterator[dict[str, Any]]:
    """Fuzz all readers, ``inputs`` in all; yield a row for each."""
    chosen = [name for name in READERS if only in name]
    runs = -(-inputs // len(chosen))
    for name in chosen:
        yield _fuzz_reader(name, folder / name.replace(" ", "-"), runs, seed)


def is_guided() -> bool:
    """Return whether atheris is here."""
    return importlib.util.find_spec("atheris") is not None


def _fuzz_reader(name: str, folder: Path, runs: int, seed: int) -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "torture.fuzz", name, str(folder), str(runs), str(seed)]
    plain = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "TORTURE_SHIM")}
    with (folder / "log.txt").open("wb") as log:
        ended = subprocess.run(command, stdout=log, stderr=log, env=plain)
    found = json.loads((folder / "found.json").read_text()) if (folder / "found.json").exists() else {"inputs": 0}
    if ended.returncode or found["inputs"] < runs:
        tail = (folder / "log.txt").read_text(errors="replace")[-3000:]
        raise AssertionError(f"{name}: ended with {ended.returncode} after {found['inputs']} inputs:\n{tail}")
    return {"reader": name, **found, "guided": is_guided(), "crashes": 0, "losses": 0}


def reader(kind: str) -> Callable[[Path], object]:
    """Return what reads a file of a kind."""
    if kind == "text":
        from wordforest.runtime.machine import Threads
        from wordforest.text import TextRules, read_tokens

        one = Threads(1)

        def read_text(path: Path) -> object:
            tokenizer: Any = "words" if path.stat().st_size % 2 else "whitespace"
            return read_tokens(path, TextRules(tokenizer), executor=one, scratch_folder=path.parent).n_tokens

        return read_text
    if kind == "vectors":
        from wordforest.store import read_vectors

        return read_vectors
    if kind == "csr":
        from wordforest.store.tensors import read_csr

        return lambda path: (read_csr(path, ("int32", "int64")), read_csr(path, ("int32", "int64"), mapped=True))
    if kind == "route":
        from wordforest.explorer.views import parse_route

        return lambda path: parse_route(path.read_bytes().decode("latin-1"), 2)
    from wordforest.reproduce.plan import read_experiment, trials_of
    from wordforest.store.files import read_json
    from wordforest.store.folders import parse_forest, read_history, read_vocab

    def read_any_json(path: Path) -> object:
        text = path.read_bytes()
        if len(text) % 3 == 0:
            return read_json(path)
        return read_history(path) if len(text) % 3 == 1 else parse_forest(path, read_json(path).get("parent"))

    readers: dict[str, Callable[[Path], object]] = {
        "vocab": read_vocab,
        "json": read_any_json,
        "toml": lambda path: trials_of(read_experiment(path, quick=path.stat().st_size % 2 == 0)),
    }
    return readers[kind]


def seeds_of(name: str, folder: Path) -> list[bytes]:
    """Return good and bad files of a format to begin from."""
    from torture.bad_input import CASES, make_desk

    desk = folder / "desk"
    if not desk.exists():
        make_desk(desk)
    file, kind = READERS[name]
    suffix = Path(file).suffix
    good = [path for path in desk.rglob("*") if path.is_file() and (path.suffix == suffix or path.name == file)]
    if suffix == ".vec":
        good += [desk / "good.txt"]
    found = [path.read_bytes() for path in good]
    for case in CASES:
        for wrong, content in case.files.items():
            if Path(wrong).suffix == suffix or (suffix == ".vec" and wrong == "bad.txt"):
                found.append(content(desk) if callable(content) else content)
    if kind == "route":
        found += [b"/word/king?model=1", b"/compare/a,b,c", b"/map?node=3", b"/analogy/a,b,%2e", b"/word/?w=.."]
    experiments = Path(__file__).parent.parent / "experiments"
    found += [path.read_bytes() for path in experiments.glob("*.toml")] if kind == "toml" else []
    return [seed[:LONGEST] for seed in found]


class _Target:
    """Takes bytes, has them read, and counts what came of it."""

    def __init__(self, name: str, folder: Path, runs: int) -> None:
        from wordforest.errors import InputError

        file, kind = READERS[name]
        self.path, self.read, self.expected = folder / file, reader(kind), InputError
        self.found, self.runs = folder / "found.json", runs
        self.counts = {"inputs": 0, "read": 0, "refused": 0}
        self.slowest = 0.0

    def __call__(self, data: bytes) -> None:
        """Have some bytes read."""
        self.path.write_bytes(data)
        signal.alarm(SLOWEST)
        started = time.monotonic()
        try:
            self.read(self.path)
            self.counts["read"] += 1
        except self.expected as error:
            self.counts["refused"] += 1
            if len(str(error)) < 20:
                raise AssertionError(f"an error without a word: {error!r}") from error
        finally:
            signal.alarm(0)
            self.slowest = max(self.slowest, time.monotonic() - started)
            self.counts["inputs"] += 1
            if self.counts["inputs"] % REPORT_EVERY == 0 or self.counts["inputs"] >= self.runs:
                self.tell()

    def tell(self) -> None:
        """Write down how far this came."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        self.found.write_text(json.dumps({**self.counts, "slowest_ms": round(1e3 * self.slowest), "peak_mib": peak}))


def _compiled() -> list[str]:
    """Return the modules with code for Numba, which cannot be instrumented."""
    import wordforest

    home = Path(wordforest.__file__).parent
    files = [
        path for path in home.rglob("*.py") if re.search(r"compile import|numba", path.read_text(encoding="utf-8"))
    ]
    return [".".join(("wordforest", *path.relative_to(home).with_suffix("").parts)) for path in files]


def _limit_memory() -> None:
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))


def mutated(seeds: list[bytes], rng: random.Random) -> bytes:
    """Return a seed with a few changes: bytes flipped, cut, repeated, spliced, numbers made large."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 5)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            data[at : at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            del data[at : at + rng.randint(1, 40)]
        elif kind == 2:
            data[at:at] = data[at : at + rng.randint(1, 60)] * rng.randint(1, 4)
        elif kind == 3:
            other = rng.choice(seeds)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        elif kind == 4:
            data[at:at] = rng.choice(ODD)
        else:
            data[at:at] = str(rng.choice([0, -1, 2**31, 2**63, 10**12, 10**30])).encode()
    return bytes(data[:LONGEST])


def main(name: str, folder: Path, runs: int, seed: int) -> None:
    """Fuzz one reader."""
    if is_guided():
        import atheris

        with atheris.instrument_imports(include=list(INSTRUMENTED), exclude=_compiled()):
            target = _Target(name, folder, runs)
    else:
        target = _Target(name, folder, runs)
    seeds = seeds_of(name, folder)
    for data in seeds:  # so that all is loaded and compiled before memory is bounded
        target(data)
    _limit_memory()
    signal.signal(signal.SIGALRM, _hang)
    if not is_guided():
        rng = random.Random(f"{seed} {name}")
        for _ in range(runs):
            target(mutated(seeds, rng))
        return
    corpus = folder / "corpus"
    corpus.mkdir(exist_ok=True)
    for number, data in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(data)
    options = [
        f"-runs={runs}",
        f"-seed={seed + 1}",
        f"-max_len={LONGEST}",
        "-len_control=20",
        "-print_final_stats=0",
        "-rss_limit_mb=0",
        f"-artifact_prefix={folder}/",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *options], target, enable_python_coverage=True)
    atheris.Fuzz()


def _hang(*_: object) -> None:
    raise AssertionError(f"no answer within {SLOWEST} s")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))

"""FOREST on one GPU: a Zipf matrix of the paper's size made on the GPU, learned, with seconds by stage beside what the
GPU's memory and arithmetic allow.

python benchmarks/gpu.py [learn] [--words 180834] [--pairs 140e6] [--components 520] [--stages] [--twice]
python benchmarks/gpu.py stream [--room 1e9]       the same with X in the processor's memory, sent in blocks
python benchmarks/gpu.py corpus --corpus TEXT [--data DIR]    text, with scores
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from scipy import sparse

from wordforest.coder import coding, online
from wordforest.coder.forest import Forest
from wordforest.coder.online import Online, OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2
from wordforest.coder.rows.device import DeviceCSR, DeviceRows
from wordforest.coder.rows.streamed import StreamedRows


def zipf_matrix(n_words: int, n_pairs: int, device: str, seed: int) -> DeviceRows:
    """Draw pairs of words by Zipf's law until about n_pairs are distinct; values like PMI."""
    rng = torch.Generator(device=device).manual_seed(seed)
    keys = torch.empty(0, dtype=torch.int64, device=device)
    while len(keys) < n_pairs:
        n = int(min(2 * (n_pairs - len(keys)) + 1000, 1 << 28))
        ranks = [torch.rand(n, device=device, generator=rng, dtype=torch.float64) for _ in range(2)]
        v, c = ((n_words**r).long().clamp_(1, n_words) - 1 for r in ranks)
        keys = torch.unique(torch.cat([keys, v * n_words + c]))
    if len(keys) > n_pairs:
        keys = keys[torch.randperm(len(keys), device=device, generator=rng)[:n_pairs].sort().values]
    values = 1 + 1.5 * torch.randn(len(keys), device=device, generator=rng)
    rows = keys // n_words
    starts = torch.searchsorted(rows, torch.arange(n_words + 1, device=rows.device))
    csr = DeviceCSR(starts, (keys % n_words).int(), values)
    return DeviceRows(csr, csr.transposed(n_words))


def as_scipy(X: DeviceRows) -> sparse.csr_array:
    starts, indices, values = (part.cpu().numpy() for part in X.rows.parts)
    kind = np.int32 if len(values) < 2**31 else np.int64
    return sparse.csr_array((values, indices.astype(kind), starts.astype(kind)), shape=X.shape)


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds_of(function: Callable[[], Any]) -> tuple[float, Any]:
    wait()
    started = time.perf_counter()
    result = function()
    wait()
    return time.perf_counter() - started, result


class Stages:
    """Seconds of functions, those of others inside them left out, beside bytes moved and operations done."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.floor: dict[str, float] = defaultdict(float)
        self.inner: list[float] = []
        self.bandwidth, self.rate = ceilings()

    def watch(self, owner: Any, name: str, cost: Callable[..., tuple[float, float]] | None, label: str) -> None:
        """Time a function; ``cost`` gives the bytes and operations of a call from its arguments."""
        function = getattr(owner, name)

        def run(*args: Any, **kwargs: Any) -> Any:
            self.inner.append(0.0)
            spent, result = seconds_of(lambda: function(*args, **kwargs))
            self.seconds[label] += spent - self.inner.pop()
            if self.inner:
                self.inner[-1] += spent
            if cost:
                n_bytes, operations = cost(*args)
                self.floor[label] += max(n_bytes / self.bandwidth, operations / self.rate)
            return result

        setattr(owner, name, run)

    def show(self, total: float) -> None:
        """Print all stages of a run that took so long."""
        print("\n## Each stage waited for\n\n| stage | seconds | floor | share |\n|---|---|---|---|")
        for label, spent in sorted(self.seconds.items(), key=lambda item: -item[1]):
            floor = self.floor.get(label)
            beside = f"{floor:.3f} | {floor / spent:.0%}" if floor else " | "
            print(f"| {label} | {spent:.3f} | {beside} |")
        print(f"| the rest | {total - sum(self.seconds.values()):.3f} | | |\n| all | {total:.3f} | | |")


def ceilings() -> tuple[float, float]:
    """Bytes a second of a large copy, read and written, and operations a second of a large product in float32."""
    if not torch.cuda.is_available():
        return 1e10, 1e11
    one, other = torch.randn(2, 1 << 28, device="cuda")
    A = torch.randn(8192, 8192, device="cuda")
    best = []
    for work in (lambda: other.copy_(one), lambda: A @ A):
        work()
        best.append(min(seconds_of(work)[0] for _ in range(5)))
    rates = 2 * one.nbytes / best[0], 2 * 8192**3 / best[1]
    print(f"this GPU: {rates[0] / 1e12:.2f} TB/s, {rates[1] / 1e12:.1f} TFLOP/s in float32")
    return rates


def watched(X: DeviceRows) -> Stages:
    """Watch all that learning does."""
    stages = Stages()
    nnz, C = len(X.rows.values), X.shape[1]
    counts = (X.rows.starts[1:] - X.rows.starts[:-1]).double()

    def times(_: Any, rows: Any, D: Any) -> tuple[float, float]:
        n = float(counts[rows].sum())
        return n * (8 + 4 * D.shape[1]) + 4 * len(rows) * D.shape[1], 2 * n * D.shape[1]

    def transposed(_: Any, rows: Any, A: Any, out: Any) -> tuple[float, float]:
        n = float(counts[rows].sum())
        return n * (8 + 4 * A.shape[1]) + 4 * nnz + 8 * out.numel(), 2 * n * A.shape[1]

    def sweep(D: Any, *_: Any) -> tuple[float, float]:
        M = D.shape[1]
        return 4 * C * M * (M / 64 + 4), 2 * C * M * M + 8 * C * M * 64

    def gram(learner: Any) -> tuple[float, float]:
        return 8 * learner.D.numel(), 2 * C * learner.D.shape[1] ** 2

    def codes(_: Any, A: Any, *__: Any) -> tuple[float, float]:
        return 2 * A.element_size() * A.numel(), 0

    def values(_: Any, A: Any) -> tuple[float, float]:
        return A.element_size() * A.numel(), 0

    watch = stages.watch
    watch(DeviceRows, "times", times, "X D")
    watch(DeviceRows, "add_transposed", transposed, "X' A of what changed")
    watch(ForestL2, "prox", codes, "prox")
    watch(ForestL2, "per_word", values, "value of the penalty")
    watch(online, "update_dictionary", sweep, "dictionary sweeps")
    watch(Online, "atoms_moved", gram, "D'D")
    watch(coding, "duality_gaps", None, "certificate, its prox left out")
    watch(coding, "solve_exactly", None, "products of the last pass")
    watch(coding, "_code_block", None, "products of ADMM")
    watch(online, "code_batch", None, "codes, all else")
    watch(Online, "finish", None, "last pass, all else")
    watch(Online, "begin", None, "start")
    watch(Online, "__init__", None, "squares of rows")
    for name in ("_extremes", "inverse"):
        inner = coding.Gram.__dict__[name].func
        holder = type("Holder", (), {"run": staticmethod(once(inner, name))})
        watch(holder, "run", None, f"Gram.{name}")
        setattr(coding.Gram, name, property(holder.run))
    return stages


def once(function: Any, name: str) -> Any:
    def run(self: Any) -> Any:
        if f"_kept{name}" not in self.__dict__:
            self.__dict__[f"_kept{name}"] = function(self)
        return self.__dict__[f"_kept{name}"]

    return run


HEADER = "| run | seconds | passes | objective | non-zeros | gap |\n|---|---|---|---|---|---|"


def tell(name: str, learned: Any, seconds: float, scores: str = "") -> None:
    last = learned.history[-1]
    figures = (f"{seconds:.2f}", last.epoch - 1, f"{last.objective:.8g}", f"{last.nonzeros:.1%}", f"{learned.gap:.1e}")
    print(f"| {name} | {' | '.join(map(str, figures))} |{scores}", flush=True)


def made(options: argparse.Namespace) -> DeviceRows:
    X = zipf_matrix(options.words, int(options.pairs), options.device, seed=0)
    print(f"X {X.shape}, {len(X.rows.values):,} pairs, M = {options.components}\n\n{HEADER}", flush=True)
    return X


def run(X: Any, options: argparse.Namespace, **more: Any) -> tuple[float, Any]:
    forest = Forest.complete(options.components // 13)
    penalty = ForestL2(forest, options.lam)
    return seconds_of(lambda: learn_online(X, penalty, len(forest), OnlineSettings(seed=0, **more)))


def learn(options: argparse.Namespace) -> None:
    X = made(options)
    results = []
    for number in range(3 if options.twice else 2):
        seconds, learned = run(X, options)
        tell(("first run", "second run", "third run")[number], learned, seconds)
        results.append((learned.D, learned.A) if number else ())
        torch.cuda.reset_peak_memory_stats() if torch.cuda.is_available() and not number else None
    if options.twice:
        same = all(torch.equal(a, b) for a, b in zip(results[-1], results[-2], strict=True))
        print("\nsame bits twice:", same)
    if torch.cuda.is_available():
        print(f"\n| what | figure |\n|---|---|\n| peak memory | {torch.cuda.max_memory_allocated() / 1e9:.1f} GB |")
    if options.stages:
        stages = watched(X)
        seconds, _ = run(X, options)
        stages.show(seconds)


def stream(options: argparse.Namespace) -> None:
    X = made(options)
    here = as_scipy(X)
    _, resident = run(X, options)
    seconds, resident = run(X, options)
    tell("on the GPU", resident, seconds)
    del X
    streamed = StreamedRows(here, options.device, int(options.room))
    for turn in ("first", "second"):
        seconds, learned = run(streamed, options)
        tell(f"streamed, {options.room / 1e9:g} GB of room, {turn}", learned, seconds)
    passes = learned.history[-1].epoch - 1
    print(f"\nblocks of {streamed.capacity:,} pairs, sent {8 * here.nnz * (2 * passes + 1) / 1e9:.1f} GB")
    print("same bits as on the GPU:", torch.equal(learned.A, resident.A) and torch.equal(learned.D, resident.D))


def corpus(options: argparse.Namespace) -> None:
    import wordforest as wf

    seconds, counts = seconds_of(lambda: wf.count(options.corpus, min_count=10))
    X = wf.pmi(counts)
    print(f"counted in {seconds:.1f} s: V = {X.shape[0]:,}, {X.nnz:,} pairs", flush=True)

    def judged(A: Any) -> str:
        vectors = wf.Vectors(counts.vocabulary.words, np.asarray(A.cpu()))
        if not options.data:
            return ""
        scores = wf.evaluate(vectors, options.data, tasks=("similarity", "analogy"))
        names = ("weighted mean", "syntactic", "semantic")
        return "".join(f" {s.value:.3f} |" for name in names for s in scores if s.set == name)

    first, line = HEADER.splitlines()
    print(f"\n{first} similarity | syntactic | semantic |\n{line}---|---|---|" if options.data else f"\n{HEADER}")
    for M in (52, 520):
        options.components = M
        there = DeviceRows.put(X, options.device)
        run(there, options)
        seconds, learned = run(there, options)
        tell(f"M = {M}", learned, seconds, judged(learned.A))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    jobs = {job.__name__: job for job in (learn, stream, corpus)}
    parser.add_argument("job", nargs="?", choices=jobs, default="learn")
    parser.add_argument("--words", type=int, default=180_834)
    parser.add_argument("--pairs", type=float, default=140e6)
    parser.add_argument("--components", type=int, default=520)
    parser.add_argument("--lam", type=float, default=0.1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--room", type=float, default=1e9, help="stream: bytes of the GPU for X")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--corpus", help="corpus: text")
    parser.add_argument("--data", help="corpus: folder of the evaluation data")
    parser.add_argument("--twice", action="store_true", help="learn again and compare the bits")
    parser.add_argument("--stages", action="store_true", help="time the stages, which costs some overlap")
    options = parser.parse_args()
    jobs[options.job](options)


if __name__ == "__main__":
    main()

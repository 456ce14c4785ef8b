"""FOREST on one GPU: a Zipf matrix of the paper's size made on the card, learned, with seconds by stage.

python benchmarks/gpu.py [--words 180834] [--pairs 140e6] [--components 520] [--lam 0.1] [--device cuda] [--twice]
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from typing import Any

import torch

from wordforest.coder import online
from wordforest.coder.forest import Forest
from wordforest.coder.kernels.device import DeviceCSR, DeviceRows
from wordforest.coder.online import OnlineSettings, learn_online
from wordforest.coder.penalties import ForestL2


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
    rows = _csr(keys // n_words, keys % n_words, values, n_words)
    order = ((keys % n_words) * n_words + keys // n_words).sort().indices
    return DeviceRows(rows, _csr((keys % n_words)[order], (keys // n_words)[order], values[order], n_words))


def _csr(rows: Any, columns: Any, values: Any, n: int) -> DeviceCSR:
    starts = torch.searchsorted(rows, torch.arange(n + 1, device=rows.device))
    return DeviceCSR(starts, columns.int(), values)


def timed(totals: dict[str, float], name: str, function: Any) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        wait()
        started = time.perf_counter()
        result = function(*args, **kwargs)
        wait()
        totals[name] += time.perf_counter() - started
        return result

    return run


def once(function: Any, name: str) -> Any:
    def run(self: Any) -> Any:
        if f"_kept{name}" not in self.__dict__:
            self.__dict__[f"_kept{name}"] = function(self)
        return self.__dict__[f"_kept{name}"]

    return run


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=180_834)
    parser.add_argument("--pairs", type=float, default=140e6)
    parser.add_argument("--components", type=int, default=520)
    parser.add_argument("--lam", type=float, default=0.1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--twice", action="store_true", help="learn again and compare the bits")
    parser.add_argument("--stages", action="store_true", help="time the stages, which costs some overlap")
    options = parser.parse_args()
    X = zipf_matrix(options.words, int(options.pairs), options.device, seed=0)
    print(f"X {X.shape}, {len(X.rows.values):,} pairs", flush=True)
    forest = Forest.complete(options.components // 13)
    totals: dict[str, float] = defaultdict(float)
    if options.stages:
        for name in ("_code", "_measure", "_finish", "_revive"):
            setattr(online._Learner, name, timed(totals, name, getattr(online._Learner, name)))
        online.update_dictionary = timed(totals, "update_dictionary", online.update_dictionary)
        from wordforest.coder.encode import Gram

        for name in ("_eigenvalues", "inverse"):
            inner = Gram.__dict__[name].func
            setattr(Gram, name, property(timed(totals, f"Gram.{name}", once(inner, name))))
        online._Learner._record = timed(totals, "_record", online._Learner._record)
        for name in ("add_transposed", "times"):
            setattr(DeviceRows, name, timed(totals, f"DeviceRows.{name}", getattr(DeviceRows, name)))
    results = []
    for _ in range(3 if options.twice else 2):
        totals.clear()
        started = time.perf_counter()
        learned = learn_online(X, ForestL2(forest, options.lam), len(forest), OnlineSettings(seed=0))
        wait()
        seconds = time.perf_counter() - started
        last = learned.history[-1]
        print(f"M = {options.components}: {seconds:.2f} s, {last.epoch - 1} passes, objective {last.objective:.8g}, "
              f"non-zeros {last.nonzeros:.3f}, gap {learned.gap:.1e} {learned.notices}", flush=True)  # fmt: skip
        for name, spent in sorted(totals.items(), key=lambda item: -item[1]):
            print(f"  {name:<28} {spent:.3f} s")
        results.append((learned.D, learned.A))
    if options.twice:
        same = all(torch.equal(a, b) for a, b in zip(results[-1], results[-2], strict=True))
        print("same bits twice:", same)
    if torch.cuda.is_available():
        print(f"peak memory {torch.cuda.max_memory_allocated() / 1e9:.1f} GB")


if __name__ == "__main__":
    main()

"""What checkpoints cost, and whether a killed run is resumed to the same bits.

python benchmarks/checkpoints.py --counts COUNTS [--trees 40] [--epochs 10]

Trains once, and once more with SIGKILL after --kill of the seconds that took, then with --resume. Seconds of a
checkpoint are those from its begin to the file in its place.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import wordforest as wf
from wordforest.jobs import job


def timed_training(counts: Path, out: Path, settings: dict[str, int]) -> tuple[float, list[float]]:
    """Train; return the seconds of the whole, and of every checkpoint that was written."""
    written: list[float] = []
    write = job.write_tensors

    def timed(*arguments: Any) -> None:
        started = time.perf_counter()
        write(*arguments)
        written.append(time.perf_counter() - started)

    job.write_tensors = timed
    started = time.perf_counter()
    wf.train(counts, out=out, tol=0, **settings)
    return time.perf_counter() - started, written


def killed_training(counts: Path, out: Path, settings: dict[str, int], seconds: float) -> float:
    """Train in another process, kill it after some seconds, resume, and return the seconds that resuming took."""
    options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "wordforest", "train", str(counts), "--out", str(out), "--tol", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
        else:
            sys.exit(f"training ended within {seconds:.0f} s, before it was killed: give a smaller --kill")
    started = time.perf_counter()
    subprocess.run([*command, "--resume"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counts", type=Path, required=True)
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--kill", type=float, default=0.9, help="share of the seconds of the whole run")
    asked = parser.parse_args()
    settings = {"trees": asked.trees, "epochs": asked.epochs}
    with tempfile.TemporaryDirectory() as work:
        runs = [Path(work) / name for name in ("whole", "killed")]
        seconds, written = timed_training(asked.counts, runs[0], settings)
        left = killed_training(asked.counts, runs[1], settings, asked.kill * seconds)
        learned = [[(run / f"{name}.safetensors").read_bytes() for name in ("codes", "dictionary")] for run in runs]
    print("| what | figure |\n|---|---|")
    print(f"| all | {seconds:.0f} s |\n| checkpoints | {len(written)} |")
    if written:
        print(f"| one checkpoint | {sum(written) / len(written):.2f} s |")
    print(f"| share of the time | {sum(written) / seconds:.1%} |")
    print(f"| what was left after the kill | {left:.0f} s |")
    print(f"| bits as without the kill | {'the same' if learned[0] == learned[1] else 'OTHERS'} |")


if __name__ == "__main__":
    main()

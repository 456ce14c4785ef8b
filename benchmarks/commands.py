"""Whole commands, each a process of its own: seconds by the clock and of the processor, and peak memory.

python benchmarks/commands.py memory|readable --counts COUNTS            from finished counts
python benchmarks/commands.py phrases|billion --text TEXT                what joining phrases costs; counting in 2 GB
python benchmarks/commands.py topics|million --documents DOCUMENTS       from documents to a forest, and their shares

Kernels are compiled before. Processor seconds are disturbed less by other programs on the machine.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path

from wordforest.reproduce.commands import run_command

Commands = dict[str, list[str]]
COLUMNS = "| command | seconds | processor seconds | peak MB |\n|---|---:|---:|---:|"
DOCUMENTS = ["DOCUMENTS", "--text", "text"]
PARTS: dict[str, Commands] = {
    "memory": {f"M = {13 * n}": ["train", "COUNTS", "--trees", str(n)] for n in (4, 40)},
    "readable": {
        "train --preset readable": ["train", "COUNTS", "--preset", "readable"],
        "train --preset readable --stability": ["train", "COUNTS", "--preset", "readable", "--stability"],
    },
    "phrases": {"count --phrases": ["count", "TEXT", "--phrases"], "count": ["count", "TEXT"]},
    "billion": {"count --memory 2G": ["count", "TEXT", "--tokenizer", "whitespace", "--memory", "2G"]},
    "topics": {
        "topics": ["topics", *DOCUMENTS],
        "documents": ["documents", "topics", *DOCUMENTS, "--group", "group"],
    },
    "million": {
        "topics --memory 4G": ["topics", *DOCUMENTS, "--memory", "4G"],
        "topics": ["topics", *DOCUMENTS],
        "documents --group": ["documents", "topics", *DOCUMENTS, "--group", "group"],
    },
}


def measured(command: list[str]) -> tuple[float, float, int]:
    """Run a command and return its seconds, those of the processor, and its peak memory in bytes."""
    print("wordforest", *(Path(part).name for part in command), file=sys.stderr, flush=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, peak = run_command(command, lambda _: None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--counts", type=Path)
    parser.add_argument("--text", type=Path)
    parser.add_argument("--documents", type=Path)
    asked = parser.parse_args()
    given = {name.upper(): str(path) for name, path in vars(asked).items() if name != "part" and path}
    with tempfile.TemporaryDirectory() as work:
        print(COLUMNS, flush=True)
        for name, command in PARTS[asked.part].items():
            places = given | ({"topics": f"{work}/topics"} if command[0] == "documents" else {})
            typed = [command[0], *(places.get(word, word) for word in command[1:])]
            if missing := {"COUNTS", "TEXT", "DOCUMENTS"} & {*typed}:
                parser.error(f"{asked.part} needs --{missing.pop().lower()}")
            seconds, processor, peak = measured([*typed, "--out", f"{work}/{command[0]}", "--force"])
            print(f"| {name} | {seconds:.1f} | {processor:.1f} | {peak / 1e6:.0f} |", flush=True)


if __name__ == "__main__":
    main()

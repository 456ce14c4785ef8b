"""Reading text, splitting it into words and numbering them: ours beside what pyarrow and polars offer.

python benchmarks/readers.py TEXT [--tokens FILE] [--workers 2] [--repeat 2]      needs pyarrow and polars

All give lower-case words, how often each occurs, and the id of every token. ``whitespace`` splits at white space the
text that --tokens names (see count.py tokens), by default TEXT; ``words`` looks for runs of letters, marks and digits
with apostrophes inside. Ours also finds the ends of sentences,
turns numbers into #number#, composes characters (NFC), and keeps ids in a file; the others do not, and keep ids in
memory. Each row is measured in a process of its own, the best of --repeat runs, kernels compiled before; processor
seconds are disturbed less by other programs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

BLOCK = 8 << 20  # bytes that pyarrow reads at a time
WORD = r"[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}\p{N}]+)*"


def ours(text: str, kind: Any, workers: int) -> tuple[int, int]:
    """Return tokens and distinct words by way of the package."""
    from wordforest.runtime.machine import Threads
    from wordforest.text import TextRules, read_tokens

    tokens = read_tokens(text, TextRules(kind), executor=Threads(workers))
    return tokens.n_tokens, len(tokens.words)


def pyarrow(text: str, kind: str, workers: int) -> tuple[int, int]:
    """Return the same with pyarrow: lines by its CSV reader, then compute functions over batches in threads."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyarrow import csv

    pa.set_cpu_count(workers)

    def split(batch: Any) -> Any:
        lines = pc.utf8_lower(batch.column(0))
        found = pc.utf8_split_whitespace(lines) if kind == "whitespace" else _cut(pc, lines)
        words = found.flatten()
        return words.filter(pc.greater(pc.binary_length(words), 0)).dictionary_encode()

    lines = csv.open_csv(
        text,
        csv.ReadOptions(block_size=BLOCK, column_names=["line"]),
        csv.ParseOptions(delimiter="\x01", quote_char=False),
        csv.ConvertOptions(column_types={"line": pa.string()}),
    )
    with ThreadPoolExecutor(workers) as pool:
        ids = pa.chunked_array(list(pool.map(split, lines))).unify_dictionaries()
    words = ids.chunk(0).dictionary
    pc.value_counts(pa.chunked_array([chunk.indices for chunk in ids.chunks]))
    return len(ids), len(words)


def _cut(pc: Any, lines: Any) -> Any:
    """Cut at what is no letter, mark, digit or apostrophe: pyarrow cannot list the matches of a pattern."""
    return pc.split_pattern_regex(lines, pattern=r"[^\pL\pM\pN'’]+")


def polars(text: str, kind: str, workers: int) -> tuple[int, int]:  # noqa: ARG001 POLARS_MAX_THREADS has them
    """Return the same with polars, streaming."""
    import polars as pl

    lines = pl.scan_csv(text, separator="\x01", quote_char=None, has_header=False, new_columns=["line"])
    lower = pl.col("line").str.to_lowercase()
    words = lower.str.split(" ") if kind == "whitespace" else lower.str.extract_all(WORD)
    found = lines.select(words.alias("word")).explode("word").filter(pl.col("word") != "")
    ids = found.select(pl.col("word").cast(pl.Categorical)).collect(engine="streaming")
    return len(ids), len(ids["word"].value_counts())


READERS: dict[str, Callable[[str, str, int], tuple[int, int]]] = {"ours": ours, "pyarrow": pyarrow, "polars": polars}


def one(reader: str, text: str, kind: str, workers: str) -> None:
    """Measure one row and print it as JSON."""
    if reader == "ours":
        from wordforest.text import TextRules, read_tokens

        read_tokens(__file__, TextRules(kind))  # type: ignore[arg-type]
    started, before = time.perf_counter(), time.process_time()
    tokens, words = READERS[reader](text, kind, int(workers))
    wall, cpu = time.perf_counter() - started, time.process_time() - before
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(json.dumps({"tokens": tokens, "words": words, "wall": wall, "cpu": cpu, "peak": peak}))


def main() -> None:
    """Print the table."""
    if sys.argv[1:2] == ["one"]:
        one(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    parser.add_argument("--tokens")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    print("| reader | words by | M tokens | distinct | M tokens/s | seconds | processor seconds | peak MB |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in ("whitespace", "words"):
        for reader in READERS:
            text = options.tokens if kind == "whitespace" and options.tokens else options.text
            command = [sys.executable, __file__, "one", reader, text, kind, str(options.workers)]
            env = {**os.environ, "POLARS_MAX_THREADS": str(options.workers)}
            runs = [
                json.loads(subprocess.run(command, check=True, capture_output=True, env=env).stdout)
                for _ in range(options.repeat)
            ]
            best = min(runs, key=lambda run: run["wall"])
            cpu = min(run["cpu"] for run in runs)
            print(
                f"| {reader} | {kind} | {best['tokens'] / 1e6:.2f} | {best['words']:,} | "
                f"{best['tokens'] / best['wall'] / 1e6:.2f} | {best['wall']:.2f} | {cpu:.2f} | "
                f"{best['peak'] / 1e6:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()

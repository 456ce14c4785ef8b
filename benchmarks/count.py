"""Counting: tokens a second and peak memory, vocabulary and window counts together, beside gensim and GloVe.

python benchmarks/count.py TEXT [--tokens FILE] [--memory 512M ...] [--glove DIR] [--repeat 3]
python benchmarks/count.py tokens TEXT FILE     the words of a text, a sentence a line, for --tokens
python benchmarks/count.py tokenizers TEXT [--megabytes 64]    tokens a second of every tokeniser, on one core
python benchmarks/count.py generate FILE [--n-tokens 1e9] [--vocabulary 400000]    made-up text, words drawn as by Zipf

TEXT is raw text for the tokeniser ``words``; --tokens names text with a sentence a line and white space between words,
by default TEXT itself. Each row is measured in a process of its own, the best of --repeat runs: seconds from the call
to the end, with the counts folder written; processor seconds, which other programs on the machine disturb less; peak
resident memory. gensim builds its vocabulary only, from the same file. GloVe is not part of this package: --glove names
a folder with its compiled ``vocab_count`` and ``cooccur``, which count without the shuffle that they need afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from wordforest.counts.windows import uniform
from wordforest.options import OPTIONS
from wordforest.runtime.machine import Threads, available_cores, kernel

PHRASE, SENTENCE = 10, 20  # words, of made-up text
UNIT = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss, in bytes


def speed(options: argparse.Namespace) -> None:
    """Print a table of all ways to count."""
    tokens = options.tokens or options.text
    jobs = [
        (f"{kind}, {n} workers", ["ours", text, kind, str(n), ""])
        for kind, text in (("whitespace", tokens), ("words", options.text))
        for n in (1, 2)
    ]
    jobs += [
        (f"whitespace, 2 workers, {memory}", ["ours", tokens, "whitespace", "2", memory]) for memory in options.memory
    ]
    jobs += [(f"gensim, vocabulary only, {n} workers", ["gensim", tokens, str(n)]) for n in (1, 2)]
    jobs += [("GloVe", ["glove", tokens, options.glove])] if options.glove else []
    print("| counting | M tokens/s | seconds | processor seconds | peak MB |\n|---|---|---|---|---|")
    n_tokens = 0.0
    for name, job in jobs:
        runs = [measured(job) for _ in range(options.repeat)]
        best = min(runs, key=lambda run: run["wall"])
        n_tokens = best.get("tokens", n_tokens)
        cpu = min(run["cpu"] for run in runs)
        rate = n_tokens / best["wall"] / 1e6
        print(f"| {name} | {rate:.2f} | {best['wall']:.2f} | {cpu:.2f} | {best['peak'] / 1e6:.0f} |", flush=True)


def measured(job: list[str]) -> dict[str, float]:
    """Run one row in a process of its own."""
    command = [sys.executable, __file__, "one", *job]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]))


def one(kind: str, text: str, *rest: str) -> None:
    """Measure one row and print it as JSON."""
    result = {"ours": ours, "gensim": gensim, "glove": glove}[kind](text, *rest)
    who = resource.RUSAGE_CHILDREN if kind == "glove" else resource.RUSAGE_SELF
    print(json.dumps({**result, "peak": resource.getrusage(who).ru_maxrss * UNIT}))


def ours(text: str, tokenizer: str, workers: str, memory: str) -> dict[str, float]:
    """Count into a folder, kernels loaded before."""
    import wordforest as wf

    options = {"tokenizer": tokenizer, "workers": int(workers)}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        small = Path(folder) / "small.txt"
        small.write_text("a b c. A d\n" * 10)
        wf.count_corpus(small, Path(folder) / "small", min_count=1, memory=1 << 16, **options)
        started, before = time.perf_counter(), os.times()
        counts = wf.count_corpus(
            text, Path(folder) / "counts", memory=OPTIONS["memory"].check(memory or None), **options
        )
        wall, after = time.perf_counter() - started, os.times()
    cpu = after.user + after.system - before.user - before.system
    return {"wall": wall, "cpu": cpu, "tokens": int(counts.vocabulary.counts.sum()), "pairs": counts.matrix.nnz}


def gensim(text: str, workers: str) -> dict[str, float]:
    """Build the vocabulary of gensim's Word2Vec, which is a small part of the work above."""
    from gensim.models import Word2Vec

    model = Word2Vec(min_count=10, workers=int(workers))
    started, before = time.perf_counter(), os.times()
    model.build_vocab(corpus_file=text)
    wall, after = time.perf_counter() - started, os.times()
    return {"wall": wall, "cpu": after.user + after.system - before.user - before.system}


def glove(text: str, folder: str) -> dict[str, float]:
    """Run GloVe's two programs."""
    started, before = time.perf_counter(), os.times()
    with tempfile.TemporaryDirectory() as scratch, Path(text).open("rb") as source:
        vocabulary = Path(scratch) / "vocab.txt"
        count = [str(Path(folder) / "vocab_count"), "-min-count", "10", "-verbose", "0"]
        vocabulary.write_bytes(subprocess.run(count, check=True, stdin=source, capture_output=True).stdout)
        source.seek(0)
        pairs = [str(Path(folder) / "cooccur"), "-window-size", "5", "-vocab-file", str(vocabulary), "-verbose", "0"]
        with (Path(scratch) / "pairs.bin").open("wb") as out:
            subprocess.run(pairs, check=True, stdin=source, stdout=out, stderr=subprocess.DEVNULL, cwd=scratch)
    wall, after = time.perf_counter() - started, os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {"wall": wall, "cpu": cpu}


def tokens(text: str, file: str) -> None:
    """Write what the tokeniser ``words`` finds, as text that is tokenised already."""
    from wordforest.text import read_tokens

    found = read_tokens(text)
    words = np.array([*found.words, "\n"], dtype=object)  # a border, -1, finds the last
    with Path(file).open("w", encoding="utf-8") as out:
        for start in range(0, len(found.ids), 1 << 20):
            piece = " ".join(words[found.ids[start : start + (1 << 20)]].tolist()) + " "
            out.write(piece.replace(" \n ", "\n"))


def tokenizers(options: argparse.Namespace) -> None:
    """Print tokens a second of reading alone on one core, the best of three; a tokeniser that is not here is left out.

    jieba has made-up Chinese: words of its own dictionary, drawn by their frequencies.
    """
    from wordforest.text import TextRules, read_tokens
    from wordforest.text.reader import read_chunks

    size = options.megabytes << 20
    pieces = zip(read_chunks([options.text], size=1 << 20), range(options.megabytes), strict=False)
    english = b"".join(chunk.data for chunk, _ in pieces).decode(errors="ignore")
    with tempfile.TemporaryDirectory() as model:
        ways: dict[str, Any] = {
            "words": "words",
            "whitespace": "whitespace",
            "regex": r"regex:\w+",
            "a function": str.split,
            "jieba": "jieba",
            "spacy, by language": "spacy:en",
            "spacy, by model": f"spacy:{saved_model(model)}",
        }
        print("| tokenizer | tokens a second, one core | text |\n|---|---:|---|", flush=True)
        for name, tokenizer in ways.items():
            text = english if name in ("words", "whitespace") else english[: size >> 3]
            best = 0.0
            try:
                text = chinese(size >> 3) if name == "jieba" else text
                for _ in range(3):
                    started = time.perf_counter()
                    n_tokens = read_tokens([text], TextRules(tokenizer=tokenizer), executor=Threads(1)).n_tokens
                    best = max(best, n_tokens / (time.perf_counter() - started))
            except (ImportError, ValueError) as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
                continue
            print(f"| {name} | {float(f'{best:.2g}'):,.0f} | {'made-up' if name == 'jieba' else 'real'} |", flush=True)


def saved_model(folder: str) -> str:
    """Return a folder with spaCy's English tokeniser, as an installed model has it, or nothing without spaCy."""
    if find_spec("spacy"):
        import spacy

        spacy.blank("en").to_disk(folder)
    return folder


def chinese(size: int) -> str:
    """Return sentences of words of jieba's dictionary, drawn by their frequencies, of about so many bytes."""
    import jieba

    with jieba.get_dict_file() as file:
        rows = [line.decode().split() for line in file]
    shares = np.array([float(row[1]) for row in rows])
    words = np.array([row[0] for row in rows], dtype=object)
    drawn = np.random.default_rng(0).choice(words, size=size // 6, p=shares / shares.sum())
    return "".join("".join(drawn[i : i + SENTENCE]) + "。" for i in range(0, len(drawn), SENTENCE))


def generate(options: argparse.Namespace) -> None:
    """Write sentences of two phrases; phrase r is always the same ten words.

    Words are drawn as by Zipf: word r has a share of about 1 / (r + 2.7). Were all words drawn on their own, pairs of
    words would hardly repeat, as they do in natural text. So phrases are drawn from an endless library, number r with a
    share of about (r + q)^-4/3: the number of different phrases, and so of pairs, grows like tokens^3/4.
    """
    letters = [f"{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(676)]
    names = [letters[i % 676] + letters[i // 676 % 676] * (i >= 676) for i in range(options.vocabulary)]
    ends = np.cumsum([0] + [len(name) for name in names])
    letters_of = np.frombuffer("".join(names).encode(), dtype=np.uint8)
    n, at_once = int(float(options.n_tokens)) // SENTENCE, 1 << 16
    with Path(options.file).open("wb") as out:
        for first in range(0, n, at_once):
            out.write(_sentences(first, min(first + at_once, n), letters_of, ends, options.common).tobytes())


@kernel
def _sentences(first: int, last: int, letters: Any, ends: Any, common: int) -> Any:
    """Return the bytes of sentences first .. last - 1; ``common`` is the q of ``generate``."""
    text = np.empty((last - first) * SENTENCE * 8, dtype=np.uint8)
    n = 0
    for i in range(first * SENTENCE, last * SENTENCE):
        # random numbers below 2^62 choose the phrase, those above it its words
        drawn = common * ((1 - uniform(i // PHRASE)) ** -3.0 - 1)
        place = np.int64(min(drawn, 2.0**56)) * PHRASE + i % PHRASE
        word = int(2.7 * ((len(ends) - 1) / 2.7 + 1) ** uniform(place + (1 << 62)) - 2.7)
        for k in range(ends[word], ends[word + 1]):
            text[n] = letters[k]
            n += 1
        text[n] = 10 if (i + 1) % SENTENCE == 0 else 32  # line end or space
        n += 1
    return text[:n]


def main() -> None:
    """Read the command line."""
    if sys.argv[1:2] == ["one"]:
        one(*sys.argv[2:])
        return
    if sys.argv[1:2] == ["tokens"]:
        tokens(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    if sys.argv[1:2] == ["generate"]:
        parser.add_argument("what")
        parser.add_argument("file")
        parser.add_argument("--n-tokens", default="1e9")
        parser.add_argument("--vocabulary", type=int, default=400_000)
        parser.add_argument("--common", type=int, default=1000, help="how many phrases are about equally frequent")
        generate(parser.parse_args())
        return
    if sys.argv[1:2] == ["tokenizers"]:
        parser.add_argument("what")
        parser.add_argument("text")
        parser.add_argument("--megabytes", type=int, default=64, help="of the compiled ones; others have an eighth")
        tokenizers(parser.parse_args())
        return
    parser.add_argument("text")
    parser.add_argument("--tokens")
    parser.add_argument("--memory", nargs="*", default=["512M"])
    parser.add_argument("--glove")
    parser.add_argument("--repeat", type=int, default=3)
    print(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {available_cores()} cores\n")
    speed(parser.parse_args())


if __name__ == "__main__":
    main()

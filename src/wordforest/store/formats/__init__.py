"""Files of word vectors: those of other tools, as they were published, and our own; what a name or a content means."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
from scipy import sparse

from wordforest.errors import InputError
from wordforest.runtime.disk import COMPRESSION, opened
from wordforest.store.folders import Run, load_run, save_run
from wordforest.store.formats import arrays, text
from wordforest.store.formats.common import AGAIN, BOM, CHUNK, VectorFile, format_suffix
from wordforest.vectors import Vectors, forest_of

__all__ = ["keeps_forest", "read_vectors", "run_of", "vector_files", "write_vectors"]

StrPath: TypeAlias = str | os.PathLike[str]
Read: TypeAlias = Callable[[VectorFile], Vectors]
Write: TypeAlias = Callable[[Path, Vectors], None]

_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_FASTTEXT = (793712314).to_bytes(4, "little")
_SAVE_AGAIN = "In gensim save them with model.wv.save_word2vec_format('vectors.bin', binary=True), and give that file."


def read_vectors(path: StrPath, *, limit: int | None = None, on_notice: Callable[[str], None] | None = None) -> Vectors:
    r"""Return the vectors (V, M) of a RUN folder or file; ``limit`` asks for the first rows only.

    Text (word2vec, GloVe, fastText, or any ``word f1 .. fM``) and word2vec binary, each plain or compressed; two files
    with equal lines, as ``WORDS+VECTORS`` or as numbers with a file of words beside them; ``.npz``, ``.safetensors``,
    ``.parquet``, and ``.tsv`` of the Embedding Projector. A name in ``.bin`` is binary, one in ``.glove`` or
    ``.glove.txt`` has no header; else the content tells. What is odd but usable (repeated words, Latin-1) goes to
    ``on_notice`` in words; what is damaged is an InputError.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> _ = Path("vectors.txt").write_text("hot 2 0\nwarm 1 1\ncold -1 0\n")
        >>> wf.read_vectors("vectors.txt", limit=2)
        Vectors(2 words, 2 dimensions, forest=None)
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit = {limit}, but at least one word must be asked for.")
    source = VectorFile(os.fspath(path), limit, on_notice)
    if Path(source.name).is_dir():
        return _read_run(source)
    if (pair := text.pair_of(source.name)) is not None:
        return text.read_pair(source, *pair)
    with opened(source.name) as handle:
        head = handle.read(CHUNK)
    _refuse(source.name, head)
    kind = format_suffix(source.name)
    read = _ARRAYS.get(kind) or _BY_CONTENT.get(head[:4])
    if read is not None:
        if not Path(source.name).is_file() or Path(source.name).suffix.lower() in COMPRESSION:
            raise InputError(f"{source.name}: this format is read from plain local files. Copy or unpack it first.")
        return read(source)
    if kind == ".bin" or (kind != ".glove" and text.looks_binary(head)):
        return text.read_binary(source)
    return text.read_text(source, head.removeprefix(BOM), has_words=kind == ".glove")


def write_vectors(path: StrPath, vectors: Vectors) -> None:
    """Write vectors in the format that the name asks for; float32 values come back exactly.

    ``.bin`` word2vec binary; ``.txt``, ``.vec``, ``.w2v`` word2vec text; ``.glove``, ``.glove.txt`` GloVe text;
    ``.tsv`` numbers for the Embedding Projector with the words in ``NAME.metadata.tsv`` (each also with ``.gz``,
    ``.bz2``, ``.xz`` or ``.zst``). These lose the forest. ``.npz``, ``.safetensors``, ``.parquet`` and, without a
    suffix, a RUN folder keep it.

    Examples:
        >>> from pathlib import Path
        >>> import wordforest as wf
        >>> wf.write_vectors("vectors.txt", wf.Vectors(["hot", "warm"], [[2, 0], [1, 1]]))
        >>> Path("vectors.txt").read_text().splitlines()
        ['2 2', 'hot 2 0', 'warm 1 1']
    """
    target = Path(path)
    is_compressed = target.suffix.lower() in COMPRESSION
    write = (_STREAMS if is_compressed else _STREAMS | _WHOLE).get(format_suffix(target.name))
    if write is None:
        raise InputError(
            f"{target}: no format goes by this name. Use {', '.join(_STREAMS)}, perhaps followed "
            f"by {', '.join(COMPRESSION)}; {', '.join(filter(None, _WHOLE))}; or no suffix for a run folder."
        )
    write(target, vectors if write in _WHOLE.values() else vectors.comparable)


def vector_files(path: StrPath) -> tuple[Path, ...]:
    """Return the files or folders that ``write_vectors`` puts in place for a name."""
    target = Path(path)
    return (target, text.metadata_of(target)) if format_suffix(target.name) == ".tsv" else (target,)


def keeps_forest(path: StrPath) -> bool:
    """Return whether the format that a name asks for has a place for the forest."""
    return format_suffix(Path(path).name) in _WHOLE


def _read_run(source: VectorFile) -> Vectors:
    run, limit = load_run(Path(source.name)), source.limit
    if limit is None:
        return run.vectors
    return run.vectors.first(limit)


def run_of(vectors: Vectors) -> Run:
    """Return vectors as a run, of which no more is known; counts are zero."""
    codes, counts = sparse.csr_array(vectors.matrix), np.zeros(len(vectors), dtype=np.int64)
    config = {"source": "write_vectors", "counts": "unknown"}
    return Run(
        vectors.words, counts, codes, None, forest_of(vectors), config, labels=vectors.notes, nodes=vectors.nodes
    )


def _write_run(target: Path, vectors: Vectors) -> None:
    save_run(target, run_of(vectors))


def _refuse(name: str, head: bytes) -> None:
    """Stop at what is no file of vectors, or none that may be opened."""
    if not head:
        raise InputError(f"{name}: expected word vectors, but the file is empty. {AGAIN}")
    if _PICKLE.match(head) and format_suffix(name) != ".safetensors":
        raise InputError(f"{name}: this is a pickle, as gensim's own files, and could run any code. {_SAVE_AGAIN}")
    if head.startswith(_FASTTEXT):
        raise InputError(f"{name}: this is a model of fastText. Give its vectors, the file in .vec.")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in head[:64]:
        raise InputError(f"{name}: this is UTF-16. Convert the file to UTF-8.")


_ARRAYS: dict[str, Read] = {
    ".npz": arrays.read_npz,
    ".safetensors": arrays.read_safetensors,
    ".parquet": arrays.read_parquet,
}
_BY_CONTENT: dict[bytes, Read] = {b"PK\x03\x04": arrays.read_npz, b"PAR1": arrays.read_parquet}
_WHOLE: dict[str, Write] = {
    ".npz": arrays.write_npz,
    ".safetensors": arrays.write_safetensors,
    ".parquet": arrays.write_parquet,
    "": _write_run,
}
_STREAMS: dict[str, Write] = {  # each may be compressed
    ".bin": text.write_binary,
    ".txt": text.write_word2vec,
    ".vec": text.write_word2vec,
    ".w2v": text.write_word2vec,
    ".glove": text.write_glove,
    ".tsv": text.write_projector,
}

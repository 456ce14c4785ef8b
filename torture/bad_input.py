"""What can be wrong with what a command is given, by table: CASES is the table, ``run_case`` shows what the user sees.

A case is a kind of input, what is wrong with it, and a command line; ``files`` are what only it needs, made from those
of a desk that has a corpus, counts, a run and vectors in every format. tests/house/test_bad_input.py runs every case
and compares with docs/messages.md, whose rows ``python -m torture.table`` writes.
"""

from __future__ import annotations

import io
import re
import shutil
import struct
import zipfile
from collections.abc import Callable
from contextlib import chdir
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import numpy as np

from tests.commands import run_command

Files = dict[str, bytes | Callable[[Path], bytes]]


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    given: str
    wrong: str
    line: str
    files: Files = field(default_factory=dict)
    code: int = 2
    keeps: tuple[str, ...] = ()  # what stays of it: finished counts, for a try with other settings

    @property
    def name(self) -> str:
        """What names the case among the others."""
        return f"{self.given}: {self.wrong}"


def make_desk(desk: Path) -> None:
    """Make the good inputs that cases begin from."""
    from wordforest.jobs.count import count_corpus
    from wordforest.jobs.train import train
    from wordforest.store import read_vectors, write_vectors

    desk.mkdir(parents=True, exist_ok=True)
    lines = ["the king sees his crown\n", "the queen sees her crown\n", "a cat eats fish\n", "a dog eats meat\n"] * 9
    (desk / "corpus.txt").write_text("".join(lines), encoding="utf-8")
    (desk / "empty").mkdir()
    with chdir(desk):
        count_corpus("corpus.txt", "counts", min_count=1)
        train("counts", out="run", trees=1, epochs=3)
        for name in ("good.txt", "good.bin", "good.glove", "good.npz", "good.safetensors", "good.parquet", "good.tsv"):
            write_vectors(name, read_vectors("run"))


def run_case(case: Case, desk: Path) -> tuple[CompletedProcess[str], list[str]]:
    """Run a case at the desk, in this process; return how the command ended, and the names of what it left there."""
    before = {*desk.iterdir()}
    for name, content in case.files.items():
        place = desk / name
        if not place.parent.exists():
            origin = _ORIGIN.get(name.partition("/")[0])
            shutil.copytree(desk / origin, place.parent) if origin else place.parent.mkdir()
        place.write_bytes(content(desk) if callable(content) else content)
    ended = run_command(*case.line.split(), cwd=desk)
    given = {desk / name.partition("/")[0] for name in case.files}
    left = sorted(path.name for path in {*desk.iterdir()} - before - given)
    for place in {*desk.iterdir()} - before:
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    return ended, left


def shown(message: str) -> str:
    """Return a message as the table has it: what libraries say differs by version, so it is left out."""
    line = " ".join(message[max(message.find("error: "), 0) :].split())
    while (shorter := re.sub(r"\((?:[^()]|\(\.\.\.\))*\)", "(...)", line)) != line:
        line = shorter
    line = re.sub(r"^error: .* (Try: wordforest)", r"error: ... \1", line)  # of Typer
    return re.sub(r"at least [\d,.]+ GB(.*?)has [\d,.]+\.", r"at least N GB\1has N.", line)


_ORIGIN = {"badcounts": "counts", "badrun": "run"}


def _cut(name: str, share: float = 0.5) -> Callable[[Path], bytes]:
    return lambda desk: (lambda data: data[: int(len(data) * share)])((desk / name).read_bytes())


def _edit(name: str, old: bytes, new: bytes) -> Callable[[Path], bytes]:
    def edited(desk: Path) -> bytes:
        data = (desk / name).read_bytes()
        assert old in data, (name, old)
        return data.replace(old, new, 1)

    return edited


def _npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _zip(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return buffer.getvalue()


def _npy_header(shape: str) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def _bomb() -> bytes:
    """An archive of a few kilobytes whose directory promises a petabyte."""
    data = bytearray(_zip("matrix.npy", _npy_header("(250000000000000,)") + bytes(1 << 16)))
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 0xFFFFFFFE)
    return bytes(data)


def _safetensors(**tensors: Any) -> bytes:
    from safetensors.numpy import save

    return save({name: np.asarray(value) for name, value in tensors.items()})


def _csr(**changes: Any) -> Callable[[Path], bytes]:
    """Return counts.safetensors of the desk with some of its tensors changed."""

    def changed(desk: Path) -> bytes:
        from safetensors.numpy import load

        tensors = {
            name: array.copy() for name, array in load((desk / "counts/counts.safetensors").read_bytes()).items()
        }
        for name, change in changes.items():
            tensors[name] = np.asarray(change(tensors[name]))
        return _safetensors(**tensors)

    return changed


def _set(index: int, value: int) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[index] = value
        return array

    return change


TABLE = b"title,t\nOn ships,A ship at sea\n"
TRAIN, SEE = "train corpus.txt --out new --quiet", "inspect"
FROM_COUNTS = "train badcounts --out new --quiet"
_WORDS = np.array(["a", "b"])
_TOML = b'[[model]]\nname = "A"\nmethod = "pca"\n'


def _cases(given: str, line: str, name: str, contents: Files) -> list[Case]:
    """Return cases that differ in what is wrong with one file."""
    return [Case(given, wrong, line, {name: content}) for wrong, content in contents.items()]


CASES = (
    Case("text", "no such file", "count missing.txt --out new --quiet"),
    Case("text", "one of two files is missing", "count corpus.txt missing.txt --out new --quiet"),
    Case("text", "an empty folder", "count empty --out new --quiet"),
    Case("text", "standard input is empty", "count - --out new --quiet"),
    Case("text", "a run in its place", "count run --out new --quiet"),
    *_cases(
        "text",
        "count bad.txt --out new --quiet",
        "bad.txt",
        {
            "an empty file": b"",
            "white space alone": b" \n\t\r\n" * 9,
            "NUL bytes": b"one\ntwo\0three\n",
            "a lone surrogate in UTF-8": b"one\ntwo \xed\xa0\x80\n",
            "Latin-1": b"na\xefve\n",
            "UTF-16": "text".encode("utf-16"),
        },
    ),
    *_cases(
        "text",
        "count bad.txt.gz --out new --quiet",
        "bad.txt.gz",
        {
            "cut gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\3KL",
            "no gzip at all": b"plain text\n",
        },
    ),
    *_cases("text", "count bad.txt.bz2 --out new --quiet", "bad.txt.bz2", {"damaged bzip2": b"BZh9garbage"}),
    *_cases("text", "count bad.txt.xz --out new --quiet", "bad.txt.xz", {"damaged xz": b"\xfd7zXZ\0garbage"}),
    *_cases(
        "text",
        "count bad.txt.zst --out new --quiet",
        "bad.txt.zst",
        {
            "damaged Zstandard": b"\x28\xb5\x2f\xfdgarbage",
        },
    ),
    Case("text", "vectors in its place", "count good.bin --out new --quiet"),
    Case("text", "a table without the column", "count a.csv --text body --out new --quiet", {"a.csv": TABLE}),
    Case("text", "a table with two columns of text", "count a.csv --out new --quiet", {"a.csv": TABLE}),
    Case(
        "text", "a table with a field too many", "count a.csv --text t --out new --quiet", {"a.csv": TABLE + b"1,2,3\n"}
    ),
    Case("text", "a column, but no table", "count corpus.txt --text body --out new --quiet"),
    Case("text", "an unknown protocol", "count xyz://host/file --out new --quiet"),
    Case("text", "an unknown tokenizer", "count corpus.txt --out new --quiet --tokenizer chinese"),
    Case("text", "a pattern that is none", "count corpus.txt --out new --quiet --tokenizer regex:[a"),
    Case("text", "a language that spaCy lacks", "count corpus.txt --out new --quiet --tokenizer spacy:qq"),
    Case("text", "a function as tokenizer", "count corpus.txt --out new --quiet --tokenizer python:os.system"),
    Case("text", "phrases of what has none", "count corpus.txt --out new --quiet --phrases-of run"),
    Case("text", "no word is frequent enough", TRAIN + " --min-count 999"),
    Case(
        "text",
        "one word, no neighbour",
        "train bad.txt --out new --quiet --min-count 1",
        {"bad.txt": b"word\n"},
        keeps=("new",),
    ),
    *_cases(
        "counts",
        FROM_COUNTS,
        "badcounts/config.json",
        {
            "config.json is cut": _cut("counts/config.json"),
            "config.json is a list": b"[1]",
            "config.json nests a million deep": b"[" * 1_000_000,
        },
    ),
    *_cases(
        "counts",
        FROM_COUNTS,
        "badcounts/vocab.tsv",
        {
            "vocab.tsv without its last line end": b"a\t1",
            "vocab.tsv without a tab": b"a 1\n",
            "vocab.tsv with a negative count": b"a\t-1\n",
            "vocab.tsv with a count above 2^63": b"a\t9223372036854775808\n",
            "vocab.tsv repeats a word": b"a\t2\na\t1\n",
            "vocab.tsv is not UTF-8": b"\xff\t1\n",
            "vocab.tsv of other counts": b"a\t2\nb\t1\n",
        },
    ),
    *_cases(
        "counts",
        FROM_COUNTS,
        "badcounts/counts.safetensors",
        {
            "the matrix is cut": _cut("counts/counts.safetensors"),
            "a header of 10^18 bytes": struct.pack("<Q", 10**18) + b"{}",
            "a tensor is missing": _safetensors(data=np.ones(2)),
            "counts are floats": _csr(data=lambda a: a.astype(np.float32)),
            "a count is negative": _csr(data=_set(0, -5)),
            "a column outside the matrix": _csr(indices=_set(-1, 99)),
            "columns out of order": _csr(indices=lambda a: a[::-1].copy()),
            "rows that run backwards": _csr(indptr=_set(1, 10**6)),
            "a negative size": _csr(shape=_set(1, -3)),
        },
    ),
    Case("counts", "counted with another window", "train counts --out new --quiet --window 2"),
    Case("counts", "text is to be added, but rare words are gone", "count corpus.txt --add counts --out new --quiet"),
    Case("counts", "the result would replace them", "train counts --out counts --force --quiet"),
    Case("run", "not there", SEE + " missing"),
    Case("run", "counts in its place", SEE + " counts"),
    *_cases("run", SEE + " badrun", "badrun/codes.safetensors", {"codes are cut": _cut("run/codes.safetensors")}),
    *_cases(
        "run",
        SEE + " badrun",
        "badrun/forest.json",
        {
            "forest.json is no forest": b'{"parent": [-1, 5, 0]}',
            "forest.json of another run": b'{"parent": [-1, 0]}',
            "forest.json without parents": b"{}",
        },
    ),
    *_cases(
        "run",
        SEE + " badrun",
        "badrun/dictionary.safetensors",
        {
            "dictionary.safetensors in float64": _safetensors(D=np.ones((3, 13))),
        },
    ),
    *_cases("run", SEE + " badrun", "badrun/vocab.tsv", {"vocab.tsv with a count in letters": b"the\t5\ncat\tfive\n"}),
    *_cases(
        "run",
        SEE + " badrun",
        "badrun/ngrams.tsv",
        {
            "ngrams.tsv with a count in letters": b"th\tfive\n",
            "ngrams.tsv with an n-gram of no word": b"th\t0\n",
        },
    ),
    *_cases("run", SEE + " badrun", "badrun/history.jsonl", {"a line of history.jsonl is cut": b'{"a": 1}\n{"b": \n'}),
    *_cases(
        "run",
        SEE + " badrun",
        "badrun/labels.tsv",
        {
            "a line of labels.tsv without a tab": b"3\tships\n4 seas\n",
            "a third column of labels.tsv that is not hidden": b"3\tships\tgone\n",
        },
    ),
    Case("run", "it exists already", "train corpus.txt --out run --quiet"),
    Case("run", "complete, with other settings", "train counts --out run --resume --quiet --trees 2"),
    *_cases(
        "word2vec text",
        SEE + " bad.txt",
        "bad.txt",
        {
            "an empty file": b"",
            "a header that promises 10^12 vectors": b"1000000000000 3\na 1 2 3\n",
            "a header that promises 10^12 dimensions": b"1 1000000000000\na 1 2 3\n",
            "negative sizes": b"-1 -3\na 1 2 3\n",
            "a row is short": b"2 3\na 1 2 3\nb 1 2\n",
            "a row is long": b"2 3\na 1 2 3\nb 1 2 3 4\n",
            "letters for a number": b"2 2\na 1 2\nb 1 x\n",
            "1_0 for a number": b"2 2\na 1 2\nb 1 1_0\n",
            "NaN": b"2 2\na 1 2\nb 1 nan\n",
            "a number beyond float32": b"2 2\na 1 2\nb 1 1e99\n",
            "UTF-16": "1 1\na 1\n".encode("utf-16"),
        },
    ),
    Case("word2vec text", "text in its place", SEE + " corpus.txt"),
    *_cases("word2vec text", SEE + " bad.kv", "bad.kv", {"a pickle": b"\x80\x04\x95garbage"}),
    *_cases(
        "word2vec text",
        SEE + " bad.model",
        "bad.model",
        {
            "a model of fastText": (793712314).to_bytes(4, "little") + bytes(99),
        },
    ),
    *_cases(
        "word2vec binary",
        SEE + " bad.bin",
        "bad.bin",
        {
            "a header that promises 10^12 vectors": b"1000000000000 1\na \0\0\0\0",
            "a header that promises 10^12 dimensions": b"1 1000000000000\na \0\0\0\0",
            "negative sizes": b"-2 4\n",
            "no header": b"\xff" * 200,
            "cut": _cut("good.bin"),
            "no space for a megabyte": b"1 1\n" + b"x" * 3_000_000,
            "more than the header promises": b"1 1\na \0\0\0\0b \0\0\0\0",
            "infinity": b"1 1\na " + struct.pack("<f", np.inf),
        },
    ),
    *_cases(
        "GloVe text",
        SEE + " bad.glove",
        "bad.glove",
        {
            "a word without numbers": b"word\n",
            "rows of different length": b"a 1 2\nb 1\n",
            "a line of more than 16 MiB": b"a" + b" 1" * (9 << 20),
        },
    ),
    *_cases("GloVe text", SEE + " bad.txt", "bad.txt", {"numbers without words": b"1.5 2 3\n" * 12}),
    Case(
        "two files",
        "words and numbers of different length",
        SEE + " w.lst+v.lst",
        {"w.lst": b"a\nb\n", "v.lst": b"1.5 2 3\n"},
    ),
    Case("two files", "an empty word", SEE + " w.lst+v.lst", {"w.lst": b"a\n\nb\n", "v.lst": b"1 2 3\n" * 3}),
    Case("two files", "one is missing", SEE + " missing.lst+corpus.txt"),
    *_cases(
        "npz",
        SEE + " bad.npz",
        "bad.npz",
        {
            "no archive": b"PK\x03\x04garbage",
            "cut": _cut("good.npz"),
            "pickled objects": _npz(words=np.array([{}], dtype=object), matrix=np.ones((1, 1))),
            "an array that promises 10^12 numbers": _zip("matrix.npy", _npy_header("(1000000000000,)")),
            "a negative shape": _zip("matrix.npy", _npy_header("(-4, 2)")),
            "a bomb": lambda _: _bomb(),
            "a name that leads elsewhere": _zip("../../evil.sh", b"x"),
            "no words": _npz(matrix=np.ones((1, 2), np.float32)),
            "numbers for words": _npz(words=np.ones(2), matrix=np.ones((2, 2))),
            "fewer words than rows": _npz(words=_WORDS, matrix=np.ones((3, 2))),
            "whole numbers for vectors": _npz(words=_WORDS, matrix=np.ones((2, 2), int)),
            "a matrix of one dimension": _npz(words=_WORDS, matrix=np.ones(2)),
            "CSR with a column outside": _npz(
                words=_WORDS, data=np.ones(1), indices=[7], indptr=[0, 1, 1], shape=[2, 2]
            ),
            "CSR whose rows run backwards": _npz(
                words=_WORDS, data=np.ones(1), indices=[7], indptr=[0, 1, 0], shape=[2, 2]
            ),
            "CSR of a negative shape": _npz(
                words=_WORDS, data=np.ones(1), indices=[0], indptr=[0, 1, 1], shape=[2, -2]
            ),
            "parents that are no forest": _npz(words=_WORDS, matrix=np.ones((2, 2)), parent=[1, 0]),
        },
    ),
    *_cases(
        "safetensors",
        SEE + " bad.safetensors",
        "bad.safetensors",
        {
            "cut": _cut("good.safetensors"),
            "a header of 10^18 bytes": struct.pack("<Q", 10**18) + b"{}",
            "a header that is no JSON": struct.pack("<Q", 8) + b"notjson!",
            "a pickle in its place": b"\x80\x04\x95garbage",
            "no words": _safetensors(matrix=np.ones((2, 2), np.float32)),
            "words that are no JSON": _safetensors(matrix=np.ones((2, 2)), words=np.frombuffer(b"[oh", np.uint8)),
            "words that are numbers": _safetensors(matrix=np.ones((2, 2)), words=np.frombuffer(b"[1, 2]", np.uint8)),
        },
    ),
    *_cases(
        "Parquet",
        SEE + " bad.parquet",
        "bad.parquet",
        {
            "cut": _cut("good.parquet"),
            "no table": b"PAR1garbagePAR1",
        },
    ),
    Case("experiment", "not there", "reproduce missing.toml --out new"),
    *_cases(
        "experiment",
        "reproduce bad.toml --out new",
        "bad.toml",
        {
            "no TOML": b"[[model\n",
            "not UTF-8": b"title = '\xff'\n",
            "no model": b"title = 'x'\n",
            "an unknown key": b"colour = 'red'\n" + _TOML,
            "an unknown method": b"[[model]]\nname = 'A'\nmethod = 'lsa'\n",
            "two models of one name": _TOML * 2,
            "a sweep over no multiple of a tree": b"[[sweep]]\nsize = [50]\n",
            "a sweep over a number": b"[[sweep]]\nlam = 1\n",
            "models and a sweep": _TOML + b"[[sweep]]\n",
        },
    ),
    *_cases(
        "experiment",
        "reproduce bad.toml --corpus corpus.txt --out new",
        "bad.toml",
        {
            "a size in letters": _TOML + b"sizes = ['big']\n",
            "a size of a table": _TOML + b"[model.sizes]\nx = 1\n",
            "a seed in letters": _TOML + b"seeds = ['a']\n",
            "a scale in letters": _TOML + b"scale = 'x'\n",
        },
    ),
    *_cases(
        "experiment",
        "reproduce bad.toml --out new",
        "bad.toml",
        {
            "a corpus that is a number": b"corpus = 5\n" + _TOML,
        },
    ),
    *_cases(
        "experiment",
        "reproduce bad.toml --corpus corpus.txt --out new",
        "bad.toml",
        {
            "paper values in letters": _TOML + b"[paper.52]\nA = 'x'\n",
        },
    ),
    *_cases("experiment", "reproduce bad.toml --out new", "bad.toml", {"no corpus": _TOML}),
    *_cases("experiment", "reproduce bad.toml --corpus - --out new", "bad.toml", {"standard input as corpus": _TOML}),
    *_cases(
        "experiment",
        "reproduce bad.toml --corpus corpus.txt --out new --skip B",
        "bad.toml",
        {
            "no such model to skip": _TOML,
        },
    ),
    *_cases(
        "experiment",
        "reproduce bad.toml --out new --vectors nowhere",
        "bad.toml",
        {
            "no file of vectors in its folder": b'[[model]]\nname = "A"\npath = "a.txt"\n',
        },
    ),
    Case("train", "100,000 trees", TRAIN + " --trees 100000"),
    Case("train", "50,000 trees", TRAIN + " --trees 50000"),
    Case("train", "a branching of a billion", TRAIN + " --branching 1000,1000,1000"),
    Case("train", "a negative branching", TRAIN + " --branching -3"),
    Case("train", "a level without children", TRAIN + " --branching 3,0"),
    Case("train", "a branching in letters", TRAIN + " --branching 3,x"),
    Case("train", "a branching with a hole", TRAIN + " --branching 3,,3"),
    Case("train", "no tree", TRAIN + " --trees 0"),
    Case("train", "lam is not a number", TRAIN + " --lam nan"),
    Case("train", "lam is infinite", TRAIN + " --lam inf"),
    Case("train", "lam is negative", TRAIN + " --lam -1"),
    Case("train", "lam in letters", TRAIN + " --lam much"),
    Case("train", "depth weights in letters", TRAIN + " --depth-weights a,b"),
    Case("train", "negative depth weights", TRAIN + " --depth-weights -1,1,1"),
    Case("train", "a window of 0", TRAIN + " --window 0"),
    Case("train", "a dynamic window of 17", TRAIN + " --dynamic-window --window 17"),
    Case("train", "no word to keep", TRAIN + " --max-vocab 0"),
    Case("train", "no workers", TRAIN + " --workers 0"),
    Case("train", "an unknown measure", TRAIN + " --measure mi"),
    Case("train", "memory in letters", TRAIN + " --memory lots"),
    Case("train", "no memory", TRAIN + " --memory 0"),
    Case("train", "a negative seed", TRAIN + " --seed -1"),
    Case("train", "no epochs of entries", TRAIN + " --learner entries --epochs 0"),
    Case("train", "a tolerance that is not a number", TRAIN + " --tol nan"),
    Case("train", "a tolerance of something unknown", TRAIN + " --tol-of loss"),
    Case("train", "a tolerance of the penalty for entries", TRAIN + " --learner entries --tol-of penalty"),
    Case("train", "a density of 2", TRAIN + " --lam auto --density 2"),
    Case("train", "a density beside a lam", TRAIN + " --density 0.2"),
    Case("train", "a spectrum of another start", TRAIN + " --spectrum 0.9"),
    Case("train", "a negative shift", TRAIN + " --measure sppmi --shift -1"),
    Case("train", "a shift beyond all PMI", TRAIN + " --measure sppmi --shift 1e6 --min-count 1", keeps=("new",)),
    Case("train", "weights of no kind", TRAIN + " --weights much"),
    Case("train", "pairs not stored weigh less than nothing", TRAIN + " --zeros -1"),
    Case("train", "an infinite smoothing", TRAIN + " --smoothing inf"),
    Case("train", "spelling below nothing", TRAIN + " --spelling -1"),
    Case("train", "spelling of too few words", TRAIN + " --spelling 1", keeps=("new",)),
    Case("train", "an infinite step size", TRAIN + " --learner entries --eta inf"),
    Case("train", "an option of the other learner", TRAIN + " --eta 0.1"),
    Case("train", "an option of an additive forest", TRAIN + " --stability"),
    Case("train", "options that exclude each other", TRAIN + " --preset readable --weights count:0.5"),
    Case("train", "a cluster without a port", TRAIN + " --cluster nowhere"),
    Case("train", "words to keep are missing", TRAIN + " --keep-words missing.txt"),
    Case("train", "the folder is in a file", "train corpus.txt --out corpus.txt/new --quiet"),
    Case("train", "the folder is a file", "train corpus.txt --out corpus.txt --quiet"),
    Case("count", "standard input cannot be read twice", "count - --out new --resume --quiet"),
    Case("count", "a subsample of 1", "count corpus.txt --out new --quiet --subsample 1"),
    Case("baseline", "an unknown method", "baseline lsa corpus.txt --out new --quiet"),
    Case("baseline", "more dimensions than contexts", "baseline pca counts --out new --quiet --dimensions 1000"),
    Case("baseline", "sentences from counts", "baseline sg counts --out new --quiet"),
    Case("baseline", "an option of another method", "baseline pca counts --out new --quiet --negative 5"),
    Case("baseline", "a GPU for a method without", "baseline pca counts --out new --quiet --device cuda"),
    Case(
        "baseline",
        "dimensions beyond memory",
        "baseline nce corpus.txt --out new --quiet --min-count 1 --dimensions 1000000000",
    ),
    Case("encode", "counts in place of a run", "encode counts counts --out new --quiet"),
    Case("encode", "a run in place of counts", "encode run run --out new --quiet"),
    Case("encode", "onto the run", "encode run counts --out run --force --quiet"),
    Case("neighbors", "an unknown word", "neighbors run kign"),
    Case("neighbors", "words that are all unknown", "neighbors run kign xyzzy"),
    Case("neighbors", "no neighbour asked for", "neighbors run king -k 0"),
    Case("analogy", "an unknown word", "analogy run king queen wmoan"),
    Case("compare", "a run without slices", "compare run"),
    Case("compare", "documents without slices", "compare run corpus.txt"),
    Case("compare", "no such column", "compare run d.jsonl --slices party", {"d.jsonl": b'{"text": "a"}\n'}),
    Case("compare", "one slice", "compare run d.jsonl --slices s", {"d.jsonl": b'{"text": "a king", "s": "x"}\n'}),
    Case("compare", "a slice without a path", "compare run --slice old"),
    Case("concordance", "an unknown word", "concordance run corpus.txt kign"),
    Case("concordance", "no such node", "concordance run corpus.txt 9999"),
    Case("concordance", "no such documents", "concordance run nowhere king"),
    Case("concordance", "no such column", "concordance run d.jsonl king --text body", {"d.jsonl": b'{"text": "a"}\n'}),
    Case("topics", "levels that do not grow", "topics corpus.txt --levels 6,6 --out new"),
    Case("topics", "levels that are no numbers", "topics corpus.txt --levels many --out new"),
    Case("topics", "one document", "topics one.txt --min-df 1 --out new", {"one.txt": b"a cat eats fish and meat\n"}),
    Case("topics", "no words in enough documents", "topics corpus.txt --min-df 99 --out new"),
    Case("topics", "embeddings that are none", "topics corpus.txt --out new --embeddings corpus.txt"),
    Case("topics", "no such column", "topics d.jsonl --text body --out new", {"d.jsonl": b'{"text": "a"}\n'}),
    Case("documents", "a forest of another kind", "documents run corpus.txt --out new"),
    Case("documents", "bins of no times", "documents run corpus.txt --bins decade --out new"),
    Case("documents", "no such embeddings", "documents run corpus.txt --embeddings missing.npy --out new"),
    Case("documents", "no such run", "documents nowhere corpus.txt --out new"),
    Case("inspect", "a node that is not there", "inspect run --node 999"),
    Case("inspect", "a node as a graph", "inspect run --node 0 --format dot"),
    Case("inspect", "a tree that is not there", "inspect run --tree 99"),
    *_cases("inspect", "inspect run --stop-words stop.txt", "stop.txt", {"a file of stop words without any": b"\n"}),
    Case("path", "an unknown word", "path run qeen"),
    Case("path", "stop words that are not there", "path run king --stop-words nowhere.txt"),
    Case("export", "an unknown suffix", "export run forest.doc"),
    Case("export", "the file exists", "export run corpus.txt"),
    Case("export", "an unknown tool", "export run out --format excel"),
    Case("export", "another suffix than a tool reads", "export run atlas.csv --format atlas"),
    Case("export", "no model where a tool needs one", "export missing out --format huggingface"),
    Case("convert", "an unknown suffix", "convert run vectors.doc"),
    Case("convert", "the file exists", "convert run good.bin"),
    *_cases(
        "convert",
        "convert bad.bin new.glove",
        "bad.bin",
        {
            "a word with a tab, to text": b"1 1\na\tb \0\0\x80?",
            "a word with a line end, to text": b"1 1\na\nb \0\0\x80?",
        },
    ),
    *_cases(
        "convert",
        "convert bad.bin new",
        "bad.bin",
        {
            "a word with a tab, to a run folder": b"1 1\na\tb \0\0\x80?",
        },
    ),
    Case("convert", "onto itself", "convert run run --force"),
    Case("convert", "into a folder that is not there", "convert run nowhere/vectors.bin"),
    Case("evaluate", "no such data", "evaluate run --data nowhere"),
    Case("evaluate", "an unknown task", "evaluate run --tasks parsing"),
    Case("evaluate", "one run to compare", "evaluate run --compare"),
    Case("evaluate", "the file exists", "evaluate run --out corpus.txt"),
    Case("evaluate", "meaning without other text", "evaluate run --tasks meaning"),
    Case("evaluate", "other text without meaning", "evaluate run --tasks similarity --held corpus.txt"),
    Case("evaluate", "meaning on half of a set", "evaluate run --tasks meaning --held corpus.txt --half test"),
    *_cases(
        "evaluate",
        "evaluate run --data . --tasks similarity",
        "wordsim/EN-BAD.txt",
        {
            "similarities that are no numbers": b"king\tqueen\tvery\n",
        },
    ),
    *_cases(
        "evaluate",
        "evaluate run --data . --tasks analogy",
        "analogy/questions-words.txt",
        {
            "analogies with a word too few": b": x\nking queen man\n",
        },
    ),
    Case("draw", "words that are not there", "draw heatmap run --words missing.lst --out a.png"),
    Case("draw", "an unknown suffix", "draw heatmap run --words king --out a.gif"),
    Case("explore", "a port that is none", "explore run --port 99999"),
    Case("explore", "an address that is none", "explore run --host 999.1.1.1 --port 0"),
    Case("explore", "a folder without documents", "explore run --documents counts --port 0"),
    Case("explore", "five models", "explore run run run run run --port 0"),
    Case("data", "an unknown set", "data fetch wordsym --data here"),
    Case("any command", "an unknown option", "train corpus.txt --out new --colour red"),
    Case("any command", "letters for a number", "train corpus.txt --out new --window five"),
    Case("any command", "an argument is missing", "neighbors run"),
    Case("any command", "an option is missing", "train corpus.txt"),
    Case("any command", "no such command", "trian corpus.txt"),
)

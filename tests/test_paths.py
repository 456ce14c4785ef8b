"""A path may be a ``str`` or a ``Path`` wherever one goes: every public parameter that takes one is tried with both."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import wordforest as wf
from wordforest import evaluation
from wordforest.text import read_tokens

NAMED = ("corpus", "documents", "data", "path", "folder", "out", "source", "model")  # that take other things, too
FEW: dict[str, Any] = {"trees": 1, "epochs": 1, "min_count": 1}


@pytest.fixture(scope="module")
def here(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, extendable counts, runs, topics, vectors and data of the evaluation."""
    folder = tmp_path_factory.mktemp("here")
    (folder / "corpus.txt").write_text(corpus.read_text(encoding="utf-8"), encoding="utf-8")
    wf.count_corpus(folder / "corpus.txt", folder / "counts", min_count=1, extendable=True)
    run = wf.train(folder / "corpus.txt", out=folder / "run", preset="readable", trees=1, min_count=1)
    wf.write_vectors(folder / "v.npz", run.vectors)
    lines = (folder / "corpus.txt").read_text(encoding="utf-8").splitlines()
    rows = [{"slice": "ab"[i % 2], "text": line} for i, line in enumerate(lines)]
    (folder / "slices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wf.train(folder / "slices.jsonl", slices="slice", out=folder / "sliced", trees=1, min_count=1)
    (folder / "data" / "wordsim").mkdir(parents=True)
    (folder / "data" / "wordsim" / "EN-MC-30.txt").write_text("cat\tdog\t9\ncat\tparis\t1\nking\tqueen\t8\n")
    return folder


def vectors(given: Path) -> wf.Vectors:
    return wf.load_run(given / "run").vectors


def topics(given: Path) -> wf.TopicForest:
    return wf.load_topics(given / "run")


def written(make: Callable[[str | Path], Any]) -> Callable[[str | Path], list[str]]:
    """Return the files that a function writes to a path."""

    def files(path: str | Path) -> list[str]:
        make(path)
        place = Path(path)
        return sorted(str(one.relative_to(place)) for one in place.rglob("*")) if place.is_dir() else [place.suffix]

    return files


# By parameter: the name in ``here``, or a new one, and what is done with it.
USES: dict[str, tuple[str, Callable[[Path, Any], Any]]] = {
    "count(corpus)": ("corpus.txt", lambda _, p: wf.count(p).matrix.nnz),
    "count(scratch_folder)": ("", lambda h, p: wf.count(h / "corpus.txt", scratch_folder=p).matrix.nnz),
    "text.read_tokens(corpus)": ("corpus.txt", lambda _, p: read_tokens(p).n_tokens),
    "text.read_tokens(scratch_folder)": ("", lambda h, p: read_tokens(h / "corpus.txt", scratch_folder=p).n_tokens),
    "text.read_documents(source)": ("corpus.txt", lambda _, p: len([*wf.text.read_documents(p)])),
    "train(corpus)": ("corpus.txt", lambda _, p: wf.train(p, **FEW).codes.nnz),
    "train(out)": ("new", lambda h, p: written(lambda out: wf.train(h / "counts", out=out, trees=1, epochs=1))(p)),
    "baseline(corpus)": ("corpus.txt", lambda _, p: wf.baseline("pca", p, dimensions=3).codes.nnz),
    "baseline(out)": (
        "new",
        lambda h, p: written(lambda out: wf.baseline("pca", h / "counts", dimensions=3, out=out))(p),
    ),
    "count_corpus(corpus)": ("corpus.txt", lambda h, p: wf.count_corpus(p, h / "made", force=True).matrix.nnz),
    "count_corpus(out)": ("new", lambda h, p: written(lambda out: wf.count_corpus(h / "corpus.txt", out))(p)),
    "count_corpus(add)": (
        "counts",
        lambda h, p: wf.count_corpus(h / "corpus.txt", h / "made", add=p, min_count=1, force=True).matrix.sum(),
    ),
    "count_corpus(phrases_of)": (
        "phrases",
        lambda h, p: wf.count_corpus(h / "corpus.txt", h / "made", phrases_of=p, force=True).matrix.sum(),
    ),
    "encode_counts(run)": ("run", lambda h, p: wf.encode_counts(p, h / "counts").codes.nnz),
    "encode_counts(counts)": ("counts", lambda h, p: wf.encode_counts(h / "run", p).codes.nnz),
    "encode_counts(out)": (
        "new",
        lambda h, p: written(lambda out: wf.encode_counts(h / "run", h / "counts", out=out))(p),
    ),
    "evaluate(data)": ("data", lambda h, p: len(wf.evaluate(vectors(h), data=p))),
    "evaluation.evaluate(data)": ("data", lambda h, p: len(evaluation.evaluate(vectors(h), data=p))),
    "evaluation.judge(data)": ("data", lambda h, p: len(evaluation.judge(vectors(h), p))),
    "evaluation.find_data(data)": ("data", lambda _, p: [*evaluation.find_data(p).files]),
    "evaluation.find_data(cache)": ("data", lambda _, p: [*evaluation.find_data(None, p).files]),
    "load_run(folder)": ("run", lambda _, p: len(wf.load_run(p).words)),
    "save_run(folder)": ("new", lambda h, p: written(lambda out: wf.save_run(out, wf.load_run(h / "run")))(p)),
    "save_run(codes)": ("codes.safetensors", lambda h, p: wf.save_run(h / "made_of_codes", wf.load_run(h / "run"), p)),
    "read_vectors(path)": ("v.npz", lambda _, p: len(wf.read_vectors(p))),
    "write_vectors(path)": ("new.npz", lambda h, p: written(lambda out: wf.write_vectors(out, vectors(h)))(p)),
    "Vectors.load(path)": ("v.npz", lambda _, p: len(wf.Vectors.load(p))),
    "Vectors.save(path)": ("new.npz", lambda h, p: written(vectors(h).save)(p)),
    "load_topics(folder)": ("run", lambda _, p: len(wf.load_topics(p).topics_.vocabulary)),
    "save_topics(folder)": ("new", lambda h, p: written(lambda out: wf.save_topics(out, topics(h)))(p)),
    "compare(run)": ("sliced", lambda _, p: wf.compare(p).n_tested),
    "compare(documents)": ("slices.jsonl", lambda h, p: wf.compare(h / "run", p, slices="slice").n_tested),
    "compare(out)": ("new", lambda h, p: written(lambda out: wf.compare(h / "sliced", out=out))(p)),
    "concordance(documents)": ("corpus.txt", lambda h, p: wf.concordance(p, vectors(h), "cat").n_found),
    "TopicForest.fit(documents)": (
        "corpus.txt",
        lambda _, p: wf.TopicForest(levels=(2, 4)).fit(p).documents_.shares.nnz,
    ),
    "TopicForest.fit_transform(documents)": (
        "corpus.txt",
        lambda _, p: wf.TopicForest(levels=(2,)).fit_transform(p).nnz,
    ),
    "TopicForest.transform(documents)": ("corpus.txt", lambda h, p: topics(h).transform(p).nnz),
    "TopicForest.place(documents)": ("corpus.txt", lambda h, p: len(topics(h).place(p).ids)),
    "TopicForest.get_document_info(documents)": ("corpus.txt", lambda h, p: len(topics(h).get_document_info(p))),
}


def public() -> Iterator[tuple[str, Any]]:
    """Yield all public functions, classes and methods by their names."""
    modules = {"": wf, **{name: one for name in wf.__all__ if isinstance(one := getattr(wf, name), ModuleType)}}
    for module, holder in modules.items():
        for name in getattr(holder, "__all__", ()):
            found, full = getattr(holder, name), f"{module}.{name}".lstrip(".")
            yield full, found
            methods = inspect.getmembers(found, callable) if inspect.isclass(found) and not module else ()
            yield from ((f"{full}.{one}", method) for one, method in methods if one[0] != "_")


def parameters() -> Iterator[str]:
    """Yield all public parameters that take a path, by their annotation or by their name."""
    for full, found in public():
        if isinstance(found, ModuleType) or full.startswith("InputError") or full.split(".")[-1].startswith("set_"):
            continue
        for one in (
            inspect.signature(found).parameters.values() if inspect.isroutine(found) or inspect.isclass(found) else ()
        ):
            kind = str(one.annotation)
            if "Path" in kind.replace("WordPath", "").replace("TreePath", "") or (kind == "Any" and one.name in NAMED):
                yield f"{full}({one.name})"


def test_every_public_parameter_that_takes_a_path_is_tried():
    elsewhere = {"evaluation.Data(files)"}  # which find_data fills
    plugs = {one for one in parameters() if one.startswith(("interop.", "WordForestVectorizer"))}  # in tests/interop
    assert {*parameters()} - elsewhere - plugs - {*USES} == set()


@pytest.mark.parametrize("name", USES)
def test_a_string_and_a_path_are_alike(here, tmp_path, name):
    given, use = USES[name]
    if name == "count_corpus(phrases_of)":
        wf.count_corpus(here / "corpus.txt", here / "phrases", phrases=True, force=True)
    results = []
    for number, kind in enumerate((Path, str)):
        is_new = given.startswith("new")
        if given == "codes.safetensors":
            (here / given).write_bytes((here / "run" / given).read_bytes())
        place = tmp_path / f"{number}{given}" if is_new else here / given
        results.append(use(here, kind(place)))
    assert results[0] == results[1]
    assert np.all(results[0]) or given == "codes.safetensors"

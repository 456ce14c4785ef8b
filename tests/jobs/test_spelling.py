"""Training with spelling, as a user would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import wordforest as wf
from tests.jobs.killed import KillAfter, killed
from wordforest.errors import InputError
from wordforest.explorer.model import build_model
from wordforest.jobs import job
from wordforest.jobs.rows import Matrix, spelled_weights, with_spelling
from wordforest.settings import AssociationSettings

SMALL: dict[str, Any] = {"trees": 1, "min_count": 5, "spelling": 1.0, "epochs": 2}
SETTINGS: list[dict[str, Any]] = [
    {},
    {"preset": "best", "subsample": 0.0, "weights": "count:0.6,1e-2"},
    {"weights": "abs", "zeros": 0.1, "dtype": "float64"},
    {"learner": "entries"},
    {"preset": "readable", "trees": 1},
    {"lam": "auto", "max_contexts": 20},
]


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_ngrams_are_the_last_contexts_of_every_learner(corpus: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    run = wf.train(corpus, out=tmp_path / "run", **{**SMALL, **options})
    back = wf.load_run(tmp_path / "run")
    assert back.ngrams == run.ngrams
    assert back.ngrams["s>"] == sum(word.endswith("s") for word in run.words)
    contexts = min(len(run.words), options.get("max_contexts", len(run.words)))
    sides = 2 if run.config["mark_sides"] else 1
    assert len(back.dictionary) == sides * contexts + len(run.ngrams)
    assert np.any(back.dictionary[-len(run.ngrams) :])


def test_words_that_are_spelled_alike_come_nearer(corpus: Path) -> None:
    pairs = [("finds", "runs"), ("eats", "works"), ("likes", "goes")]  # of other sentences
    near = []
    for scale in (0.0, 3.0):
        vectors = wf.train(corpus, **{**SMALL, "spelling": scale}).vectors
        near.append(np.mean([vectors.similarity(*pair) for pair in pairs]))
    assert near[1] > near[0] + 0.1


@pytest.mark.parametrize("options", SETTINGS[:2] + SETTINGS[4:], ids=str)
def test_the_counts_of_a_run_get_its_codes(corpus: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    run = wf.train(corpus, out=tmp_path / "run", **{**SMALL, "epochs": 20, **options})
    again = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts", tmp_path / "again")
    assert np.allclose(run.codes.toarray(), again.codes.toarray(), atol=0.02 * np.abs(run.codes.data).max())
    assert wf.load_run(tmp_path / "again").ngrams == {}  # they belong to a dictionary, which it has not


def test_new_words_with_the_same_neighbours_are_told_apart_by_their_spelling(corpus: Path, tmp_path: Path) -> None:
    lines = corpus.read_text().splitlines(keepends=True)
    (tmp_path / "new.txt").write_text(
        "".join(line.replace("cat", "zzings" if i % 2 else "zzinge") for i, line in enumerate(lines))
    )
    wf.count_corpus(tmp_path / "new.txt", tmp_path / "new")
    near = {}
    for scale in (0.0, 3.0):
        wf.train(corpus, out=tmp_path / f"run{scale}", **{**SMALL, "spelling": scale})
        vectors = wf.encode_counts(tmp_path / f"run{scale}", tmp_path / "new").vectors
        near[scale] = vectors.similarity("zzings", "zzinge")
    assert near[0.0] > 0.95 > near[3.0]


@pytest.mark.parametrize("name", ["pca", "sc", "nnse"])
def test_baselines_over_x_take_it(corpus: Path, tmp_path: Path, name: str) -> None:
    run = wf.baseline(name, corpus, out=tmp_path / "run", dimensions=4, spelling=1.0)
    assert len(run.dictionary) == len(run.words) + len(run.ngrams)
    if name != "pca":
        again = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts")
        assert np.allclose(run.codes.toarray(), again.codes.toarray(), atol=0.02 * np.abs(run.codes.data).max())


def test_a_killed_run_resumes_to_the_same_bits(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {**SMALL, "epochs": 5, "tol": 0.0}
    whole = wf.train(corpus, out=tmp_path / "whole", **settings)
    monkeypatch.setattr(job, "_SHARE", 1e9)  # a checkpoint after every step
    killed(lambda: wf.train(corpus, out=tmp_path / "run", report=KillAfter(2), **settings))
    with pytest.raises(InputError, match="spelling"):
        wf.train(corpus, out=tmp_path / "run", resume=True, **{**settings, "spelling": 2.0})
    resumed = wf.train(corpus, out=tmp_path / "run", resume=True, **settings)
    assert np.array_equal(whole.codes.data, resumed.codes.data)


def test_the_same_bits_for_any_number_of_workers(large_corpus: Path) -> None:
    options = {**SMALL, "weights": "count:0.5,1e-3", "zeros": 0.1}
    one, two = (wf.train(large_corpus, workers=n, **options) for n in (1, 2))
    assert np.array_equal(one.codes.data, two.codes.data)


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("none", None, None),
        ("abs", [2.0, 4.0], [2.0, 5.0, 4.0, 6.0]),
        ("count:1,1e-3", [0.5, 1.5], [0.5, 1.0, 1.5, 1.0]),
        ("glove:5,1", [0.2, 0.4], [0.2, 1.0, 0.4, 1.0]),
    ],
)
def test_an_ngram_weighs_one_or_what_it_is(kind: str, given: Any, expected: Any) -> None:
    X, S = (sparse.csr_array(np.array(rows, np.float32)) for rows in ([[0, -2], [4, 0]], [[5], [6]]))
    weights = None if given is None else np.array(given, np.float32)
    matrix = Matrix(AssociationSettings(), 1, kind, spelling=S)
    weights = spelled_weights(X, weights, matrix)
    assert with_spelling(X, matrix).toarray().tolist() == [[0, -2, 5], [4, 0, 6]]
    assert weights is None if expected is None else weights == pytest.approx(expected)


def test_parts_that_do_not_agree_are_refused(corpus: Path, tmp_path: Path) -> None:
    wf.train(corpus, out=tmp_path / "run", **SMALL)
    file = tmp_path / "run" / "ngrams.tsv"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(InputError, match=r"the dictionary has \d+ rows, but there are \d+ contexts and \d+ n-grams"):
        wf.load_run(tmp_path / "run")
    file.unlink()
    with pytest.raises(InputError, match="contexts and 0 n-grams"):
        wf.load_run(tmp_path / "run")


def test_the_page_shows_words_as_contexts(corpus: Path) -> None:
    run = wf.train(corpus, **SMALL)
    model = build_model("run", run)
    np.testing.assert_array_equal(model.dictionary, run.dictionary[: len(run.words)])

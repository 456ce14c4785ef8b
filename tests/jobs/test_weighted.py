"""Training under confidence weights, as a user would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordforest as wf
from tests.commands import run_command
from tests.jobs.killed import KillAfter, killed
from wordforest.counts import association
from wordforest.counts.association import counts_at
from wordforest.errors import InputError
from wordforest.jobs import job
from wordforest.jobs.rows import _unit, weighed
from wordforest.runtime.machine import Threads
from wordforest.settings import TrainSettings, split_settings

SMALL: dict[str, Any] = {"trees": 1, "min_count": 5}


@pytest.mark.parametrize("weights", ["none", "abs", "count:0.5", "count:0.5,1e-3", "glove:10,0.75"])
@pytest.mark.parametrize("learner", ["online", "entries"])
def test_all_weights_with_both_learners(corpus: Path, weights: str, learner: str) -> None:
    run = wf.train(corpus, learner=learner, weights=weights, zeros=0.1, epochs=3, **SMALL)
    assert np.isfinite(run.codes.data).all()
    assert run.config["weights"] == weights


def test_the_preset_best_makes_unit_vectors_with_zeros(corpus: Path, tmp_path: Path) -> None:
    run = wf.train(corpus, out=tmp_path / "run", preset="best", lam=3.0, subsample=0.0, **SMALL)
    lengths = np.sqrt(run.codes.multiply(run.codes).sum(axis=1))
    assert np.allclose(lengths[lengths > 0], 1, atol=1e-6)
    assert run.codes.nnz < run.codes.shape[0] * run.codes.shape[1]
    assert run.dictionary is not None
    assert len(run.dictionary) == 2 * len(run.words) + len(run.ngrams)  # left and right contexts, and spelling
    vectors = wf.Vectors(run.words, run.codes)
    assert vectors.similarity("cat", "dog") > vectors.similarity("cat", "train")


@pytest.mark.parametrize("lam", [0.0, 0.1])
def test_a_run_with_a_penalty_says_how_far_its_codes_may_be_from_the_best(
    corpus: Path, tmp_path: Path, lam: float
) -> None:
    run = wf.train(corpus, out=tmp_path / "run", preset="best", lam=lam, subsample=0.0, **SMALL)
    assert ("gap" in run.config) == (lam > 0)


@pytest.mark.parametrize("weights", ["count:0.6", "count:0.6,1e-3"])
def test_new_counts_are_coded_under_the_weights_of_the_run(corpus: Path, tmp_path: Path, weights: str) -> None:
    run = wf.train(corpus, out=tmp_path / "run", preset="best", weights=weights, subsample=0.0, **SMALL)
    again = wf.encode_counts(tmp_path / "run", tmp_path / "run" / "counts", tmp_path / "again")
    assert np.allclose(run.codes.toarray(), again.codes.toarray(), atol=0.02)  # of unit vectors; both stop at 1e-3


def test_a_killed_run_resumes_to_the_same_bits(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {**SMALL, "weights": "count:0.5", "zeros": 0.1, "epochs": 5, "tol": 0.0}
    whole = wf.train(corpus, out=tmp_path / "whole", **settings)
    monkeypatch.setattr(job, "_SHARE", 1e9)  # a checkpoint after every step
    killed(lambda: wf.train(corpus, out=tmp_path / "run", report=KillAfter(2), **settings))
    resumed = wf.train(corpus, out=tmp_path / "run", resume=True, **settings)
    assert np.array_equal(whole.codes.data, resumed.codes.data)
    assert [row["objective"] for row in whole.history] == [row["objective"] for row in resumed.history]


def test_the_same_bits_for_any_number_of_workers(large_corpus: Path) -> None:
    one, two = (wf.train(large_corpus, preset="best", workers=n, **SMALL) for n in (1, 2))
    assert np.array_equal(one.codes.data, two.codes.data)


@pytest.mark.parametrize("measure", [wf.pmi, wf.ppmi])
def test_counts_are_found_at_the_pairs_of_x(corpus: Path, measure: Any) -> None:
    counts = wf.count(corpus)
    X = measure(counts)
    rows, columns = X.tocoo().coords
    assert np.array_equal(counts_at(X, counts), counts.matrix.toarray()[rows, columns])


def test_counts_of_a_dynamic_window_are_in_pairs(corpus: Path) -> None:
    counts = wf.count(corpus, window=2, dynamic_window=True)  # a pair at distance one counts twice
    X = wf.pmi(counts)
    _, found = weighed(X, counts.matrix, "glove:1000000,1", _unit({"window": 2, "dynamic_window": True}))
    assert found == pytest.approx(counts.matrix.data / 2 / 1e6)


@pytest.mark.parametrize("measure", [wf.pmi, wf.ppmi])
def test_frequent_words_and_contexts_count_less_under_a_threshold(
    corpus: Path, monkeypatch: pytest.MonkeyPatch, measure: Any
) -> None:
    counts = wf.count(corpus)
    X, table, T = measure(counts), counts.matrix.toarray(), 0.02
    p_v, p_c = (table.sum(axis=axis, keepdims=True) / table.sum() for axis in (1, 0))
    n = table * np.sqrt(np.minimum(1, T / p_v) * np.minimum(1, T / p_c))
    rows, columns = X.tocoo().coords
    seen = n[rows, columns]
    assert 0 < np.count_nonzero(seen < table[rows, columns]) < X.nnz
    _, found = weighed(X, counts.matrix, f"count:0.5,{T}", 1)
    assert found == pytest.approx((seen / seen.mean()) ** 0.5, rel=1e-5)
    monkeypatch.setattr(association, "_PAIRS", 100)  # many parts
    assert weighed(X, counts.matrix, f"count:0.5,{T}", 1, Threads(2))[1] == pytest.approx(found, rel=1e-6)
    least = float(np.median(seen))
    for executor in (Threads(1), Threads(2)):
        fewer, weights = weighed(X, counts.matrix, f"count:0.5,{T},{least}", 1, executor)
        kept = seen >= least
        assert 0 < fewer.nnz < X.nnz
        assert np.array_equal(fewer.data, X.data[kept])
        assert np.array_equal(np.array(fewer.tocoo().coords), np.array((rows, columns))[:, kept])
        assert weights == pytest.approx((seen[kept] / seen[kept].mean()) ** 0.5, rel=1e-5)


def test_what_is_given_goes_before_the_preset() -> None:
    count, train = split_settings({"preset": "best", "mark_sides": False, "zeros": 1.0, "weights": "none"})
    assert (count.mark_sides, count.dynamic_window, train.kind, train.init) == (False, True, "online", "spectral")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"weights": "count"}, "count:P"),
        ({"zeros": -1.0}, "zeros"),
        ({"zeros": 0.1, "word_power": 0.2}, "word_power"),
        ({"init": "spectral", "nonnegative": True}, "negative"),
        ({"init": "spectral", "spectrum": 2.0}, "at least 0 and at most 1"),
        ({"learner": "entries", "spectrum": 0.1}, "spectrum"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        TrainSettings(**settings)


def test_finished_counts_of_another_kind_are_refused_unless_asked_for(corpus: Path, tmp_path: Path) -> None:
    wf.count_corpus(corpus, tmp_path / "counts", min_count=5)
    command = ["train", str(tmp_path / "counts"), "--out", str(tmp_path / "run"), "--preset", "best", "--trees", "1"]

    def run(*more: str) -> Any:
        return run_command(*command, *more)

    assert "by a setting or a preset" in run().stderr
    done = run("--no-dynamic-window", "--subsample", "0", "--no-mark-sides")
    assert done.returncode == 0
    assert "start" in done.stderr
